/* cmd_detect.c: `gridsweep detect`: the grid and the stencil of a Matrix Market file. */
#include <string.h>
#include "cmd.h"
#include "common/input.h"
#include "output/output.h"
#include "common/place.h"
#include "output/result.h"

static void print_geometry(const cli_options *options, const gsw_matrix *matrix) {
    char axes[CLI_AXES_TEXT];
    gsw_stencil near;
    gsw_matrix_near_stencil(matrix, &near);
    const char *name = gsw_stencil_name(&near);
    cli_print(options, "grid %lld %lld %lld\n", (long long)matrix->grid.nx,
              (long long)matrix->grid.ny, (long long)matrix->grid.nz);
    if (matrix->grid.periodic)
        cli_print(options, "periodic %s\n", cli_axes_text(&matrix->grid, axes));
    cli_print(options, "stencil %s\n", name);
    for (int32_t e = 0; strcmp(name, "custom") == 0 && e < near.count; e++)
        cli_print(options, "offset %d %d %d\n", (int)near.offsets[e].dx, (int)near.offsets[e].dy,
                  (int)near.offsets[e].dz);
}

static cJSON *offsets_array(const gsw_stencil *stencil) {
    cJSON *array = cJSON_CreateArray();
    for (int32_t e = 0; e < stencil->count; e++) {
        const gsw_offset *offset = &stencil->offsets[e];
        int components[3] = {offset->dx, offset->dy, offset->dz};
        cJSON_AddItemToArray(array, cJSON_CreateIntArray(components, 3));
    }
    return array;
}

/* The same check as on the host, by the device on its copy. */
static int check_on_device(const cli_options *options, const cli_input *input) {
    cli_place place = {0};
    cli_arrays arrays = {0};
    int code = cli_open_place(options, &(cli_work){0}, &place);
    if (code == CLI_OK)
        code = cli_upload(options, &place, &input->matrix, NULL, NULL, 0, &arrays);
    if (code == CLI_OK) {
        gsw_status status = gsw_matrix_validate(place.run, &arrays.matrix);
        if (status == GSW_SUCCESS)
            status = gsw_context_synchronize(place.run);
        code = cli_status(options, place.run, status, CLI_FROM_FILE);
    }
    if (code == CLI_OK)
        cli_print(options, "checked on %s\n", gsw_context_device(place.run));
    cli_arrays_free(&place, &arrays);
    cli_close_place(&place);
    return code;
}

int cmd_detect(const cli_options *options) {
    gsw_context *context = NULL;
    cli_input input = {0};
    int code = cli_check_outputs(options);
    if (code == CLI_OK)
        code = cli_open_context(options, GSW_BACKEND_CPU, NULL, &context);
    if (code == CLI_OK)
        code = cli_load(options, context, &input);
    if (code == CLI_OK && options->backend == GSW_BACKEND_CUDA)
        code = check_on_device(options, &input);
    if (code == CLI_OK) {
        print_geometry(options, &input.matrix);
        cJSON *json = cli_json(options, CLI_DETECT);
        cli_set_matrix(json, &input.matrix);
        gsw_stencil near;
        gsw_matrix_near_stencil(&input.matrix, &near);
        cli_set(json, "offsets", offsets_array(&near));
        code = cli_finish(options, &(cli_outputs){0}, CLI_OK, json);
    }
    cli_input_free(&input);
    gsw_context_destroy(context);
    return code;
}
