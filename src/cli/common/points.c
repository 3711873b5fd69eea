/* points.c: see points.h. */
#include <stdlib.h>
#include <string.h>
#include "gzip.h"
#include "points.h"

int cli_read_text(const cli_options *options, const char *path, cli_input_file *file) {
    file->name = strcmp(path, "-") == 0 ? "standard input" : path;
    const char *problem = cli_read_file(path, &file->bytes, &file->size);
    if (problem == NULL)
        return CLI_OK;
    return cli_error(options, "cannot read %s: %s", file->name, problem);
}

/* ---- Masks ---------------------------------------------------------------------------------- */

/* Copies the values of an array whose shape is (nz, ny, nx), (ny, nx) or (points,). */
static int take_npy(const cli_options *options, const cli_input_file *file, cli_mask *mask) {
    cli_npy array;
    const char *problem = cli_parse_npy(file->bytes, file->size, false, &array);
    if (problem == NULL && array.fortran && array.axes > 1)
        problem = "it is in Fortran's order; save numpy.ascontiguousarray() of it";
    if (problem != NULL)
        return cli_error(options, "cannot read %s: %s", file->name, problem);
    mask->active = malloc((size_t)array.count + 1);
    if (mask->active == NULL)
        return cli_error(options, "out of memory for the mask");
    memcpy(mask->active, array.values, (size_t)array.count);
    memcpy(mask->shape, array.shape, sizeof mask->shape);
    mask->axes = array.axes;
    mask->count = array.count;
    return CLI_OK;
}

static int take_values(const cli_options *options, gsw_context *context, const cli_input_file *file,
                       cli_mask *mask) {
    double *values = NULL;
    const gsw_status status = gsw_mm_parse_finite_vector(context, file->name, file->bytes,
                                                         file->size, &values, &mask->count);
    if (status != GSW_SUCCESS)
        return cli_status(options, context, status, CLI_FROM_FILE);
    mask->axes = 1;
    mask->active = malloc((size_t)mask->count);
    for (int64_t i = 0; mask->active != NULL && i < mask->count; i++)
        mask->active[i] = values[i] != 0;
    free(values);
    return mask->active != NULL ? CLI_OK : cli_error(options, "out of memory for the mask");
}

int cli_read_mask(const cli_options *options, gsw_context *context, cli_mask *mask) {
    cli_input_file file;
    int code = cli_read_text(options, options->mask, &file);
    if (code != CLI_OK)
        return code;
    mask->name = file.name;
    code = cli_is_npy(file.bytes, file.size) ? take_npy(options, &file, mask)
                                             : take_values(options, context, &file, mask);
    free(file.bytes);
    for (int64_t i = 0; mask->active != NULL && i < mask->count; i++)
        mask->active_count += mask->active[i] != 0;
    return code;
}

/* ---- Coordinates ---------------------------------------------------------------------------- */

static double value_at(const cli_npy *array, int64_t i) {
    double wide;
    float narrow;
    if (array->size == sizeof wide) {
        memcpy(&wide, array->values + (size_t)i * sizeof wide, sizeof wide);
        return wide;
    }
    memcpy(&narrow, array->values + (size_t)i * sizeof narrow, sizeof narrow);
    return narrow;
}

int cli_read_coordinates(const cli_options *options, gsw_context *context, int64_t rows, int *axes,
                         double **coordinates) {
    cli_input_file file;
    double *columns = NULL;
    cli_npy array = {.fortran = true};
    const char *problem = NULL;
    gsw_status status = GSW_SUCCESS;
    int code = cli_read_text(options, options->coordinates, &file);
    if (code != CLI_OK)
        return code;
    if (cli_is_npy(file.bytes, file.size))
        problem = cli_parse_npy(file.bytes, file.size, true, &array);
    else
        status = gsw_mm_parse_array(context, file.name, file.bytes, file.size, &columns,
                                    &array.shape[0], &array.shape[1]);
    const int64_t width = columns != NULL || array.axes == 2 ? array.shape[1] : 1;
    if (problem != NULL)
        code = cli_error(options, "cannot read %s: %s", file.name, problem);
    else if (status != GSW_SUCCESS)
        code = cli_status(options, context, status, CLI_FROM_FILE);
    else if (array.axes == 3 || array.shape[0] != rows || width < 1 || width > 3)
        code = cli_error(options,
                         "%s: its shape must be (%lld, 2) or (%lld, 3): the matrix has "
                         "%lld rows",
                         file.name, (long long)rows, (long long)rows, (long long)rows);
    double *made = code == CLI_OK ? malloc((size_t)(rows * width) * sizeof *made) : NULL;
    if (code == CLI_OK && made == NULL)
        code = cli_error(options, "out of memory for the coordinates");
    for (int64_t i = 0; made != NULL && i < rows * width; i++) {
        const int64_t k = array.fortran ? i % width * rows + i / width : i;
        made[i] = columns != NULL ? columns[k] : value_at(&array, k);
    }
    *coordinates = made;
    *axes = (int)width;
    free(columns);
    free(file.bytes);
    return code;
}
