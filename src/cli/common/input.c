/* input.c: the matrix, the right-hand side and the context that the options ask for. */
#define _POSIX_C_SOURCE 200809L
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#ifdef _OPENMP
#include <omp.h>
#endif
#include "gzip.h"
#include "input.h"
#include "points.h"
#include "processes.h"

#define REASON_SIZE 512

/* What the log of a new context said last: an error, and a warning. */
static char reason[REASON_SIZE], warning[REASON_SIZE];

/* A gsw_log_fn. It keeps why a context could not be created: no other function reports it. What
 * comes with GSW_SUCCESS is a warning. */
static void hear(void *user, gsw_status status, const char *message) {
    (void)user;
    (void)snprintf(status == GSW_SUCCESS ? warning : reason, REASON_SIZE, "%s", message);
}

/* Whether gsw_tune() could write the context's tuning file anew: it cannot replace a folder. */
static bool is_replaceable(const gsw_context *context) {
    struct stat info;
    return stat(gsw_context_tuning_file(context), &info) != 0 || S_ISREG(info.st_mode);
}

/* Says what the log of a new context has warned of: its tuning file, whose warning comes at once.
 * Contexts that follow each other say the same: it is said once. */
static void pass_warning(const cli_options *options, const gsw_context *context) {
    static char passed[REASON_SIZE];
    if (options->quiet || warning[0] == '\0' || strcmp(warning, passed) == 0)
        return;
    memcpy(passed, warning, sizeof passed);
    if (strcmp(options->command->name, "tune") == 0 || !is_replaceable(context))
        cli_error(options, "warning: %s; the program takes the built-in table", warning);
    else
        cli_error(options, "warning: %s; 'gridsweep tune' writes it anew", warning);
}

/* Says where the system lets fewer threads start than a context shall have. The program's own loops
 * have no more than a context on the CPU. */
static void take_threads(const cli_options *options, const gsw_context *context) {
    warning[0] = '\0';
    const int threads = gsw_context_threads(context);
#ifdef _OPENMP
    if (gsw_context_backend(context) == GSW_BACKEND_CPU && threads < omp_get_max_threads())
        omp_set_num_threads(threads);
#else
    (void)threads;
#endif
    if (warning[0] != '\0' && !options->quiet)
        cli_error(options, "warning: %s", warning);
}

/* The rows of a file are counted from 1 by its format. */
static int row_base(const cli_options *options) {
    return options->file != NULL ? 1 : 0;
}

void cli_row_text(const cli_options *options, const gsw_grid *grid, int64_t row, char *text,
                  size_t size) {
    int base = row_base(options);
    (void)snprintf(text, size, "%lld (%d-based), (x, y, z) = (%lld, %lld, %lld)",
                   (long long)row + base, base, (long long)(row % grid->nx),
                   (long long)(row / grid->nx % grid->ny), (long long)(row / grid->nx / grid->ny));
}

/* Messages of the context count rows from 1, as a Matrix Market file does, or from 0 where there is
 * none. */
gsw_status cli_create_context(const cli_options *options, gsw_backend backend, void *stream,
                              gsw_context **context) {
    const gsw_context_options wanted = {.size = sizeof wanted,
                                        .backend = backend,
                                        .threads = (int)options->threads,
                                        .device = cli_device(options),
                                        .stream = stream,
                                        .log = hear};
    reason[0] = warning[0] = '\0';
    const gsw_status status = gsw_context_create(&wanted, context);
    pass_warning(options, *context);
    if (status == GSW_SUCCESS) {
        (void)gsw_context_set_row_base(*context, row_base(options));
        take_threads(options, *context);
    }
    return status;
}

int cli_open_context(const cli_options *options, gsw_backend backend, void *stream,
                     gsw_context **context) {
    const gsw_status status = cli_create_context(options, backend, stream, context);
    if (status == GSW_SUCCESS)
        return CLI_OK;
    if (status != GSW_ERROR_NO_BACKEND)
        return cli_status(options, NULL, status, CLI_FROM_OPTION);
    cli_error(options, "backend %s: %s; see 'gridsweep info'", gsw_backend_name(backend), reason);
    return CLI_BACKEND;
}

/* ---- Matrix --------------------------------------------------------------------------------- */

/* "DX,DY,DZ" at *text, which is moved behind it. */
static bool parse_offset(const char **text, gsw_offset *offset) {
    int32_t *components[] = {&offset->dx, &offset->dy, &offset->dz};
    for (int i = 0; i < 3; i++) {
        char *end;
        if (i > 0 && *(*text)++ != ',')
            return false;
        long value = strtol(*text, &end, 10);
        if (end == *text || labs(value) > GSW_OFFSET_MAX)
            return false;
        *components[i] = (int32_t)value;
        *text = end;
    }
    return true;
}

bool cli_parse_stencil(const char *text, gsw_stencil *stencil) {
    if (isalpha((unsigned char)text[0]))
        return gsw_stencil_named(text, stencil) == GSW_SUCCESS;
    gsw_offset offsets[GSW_STENCIL_MAX];
    int32_t count = 0;
    do {
        if (count == GSW_STENCIL_MAX || !parse_offset(&text, &offsets[count]))
            return false;
        count++;
    } while (*text++ == ';');
    return text[-1] == '\0' && gsw_stencil_from_offsets(offsets, count, stencil) == GSW_SUCCESS;
}

static int check_sources(const cli_options *options) {
    if (options->file != NULL && options->problem != NULL)
        return cli_usage(options, "give either %s or --problem, not both",
                         options->command->operand);
    if (options->file == NULL && options->problem == NULL)
        return cli_usage(options, options->command->operand != NULL
                                      ? "give a matrix: FILE.mtx or --problem"
                                      : "--problem is needed");
    if (options->constant && (options->problem == NULL || options->stencil != NULL))
        return cli_usage(options, "--constant is for a --problem with a stencil of its own");
    if (options->problem != NULL && options->grid != NULL)
        return cli_usage(options, "--grid is for a file; the name of a problem contains its grid");
    if (options->file != NULL && options->stencil != NULL)
        return cli_usage(options, "--stencil is for random problems; a file has its own stencil");
    if (options->coordinates != NULL && (options->problem != NULL || options->grid != NULL))
        return cli_usage(options, "--coordinates is for a file, without --grid");
    if (options->coordinates != NULL && options->mask != NULL)
        return cli_usage(options, "give either --mask or --coordinates, not both");
    const char *inputs[] = {options->file, options->rhs, options->x0, options->mask,
                            options->coordinates};
    int standard = 0;
    for (int i = 0; i < 5; i++)
        standard += inputs[i] != NULL && strcmp(inputs[i], "-") == 0;
    if (standard > 1)
        return cli_usage(options, "only one of FILE.mtx, --rhs, --x0, --mask and --coordinates can "
                                  "be standard input");
    return CLI_OK;
}

static int load_problem(const cli_options *options, gsw_context *context, cli_input *input) {
    gsw_stencil stencil;
    if (options->stencil != NULL && !cli_parse_stencil(options->stencil, &stencil))
        return cli_usage(options,
                         "'%s' is not a stencil: give a name such as D3N7, or distinct offsets "
                         "'DX,DY,DZ;...' with 0,0,0 among them",
                         options->stencil);
    gsw_status status =
        options->constant
            ? gsw_problem_parse_constant(context, options->problem, &input->problem)
            : gsw_problem_parse(context, options->problem,
                                options->stencil != NULL ? &stencil : NULL, &input->problem);
    if (status != GSW_SUCCESS)
        return cli_status(options, context, status, CLI_FROM_OPTION);
    input->matrix = *gsw_problem_matrix(input->problem);
    const gsw_grid *grid = &input->matrix.grid;
    input->active_points = grid->nx * grid->ny * grid->nz;
    for (int64_t i = input->active_points - 1; input->matrix.active != NULL && i >= 0; i--)
        input->active_points -= input->matrix.active[i] == 0;
    /* Rows of inactive points are the identity's. Several processes and rivals take no mask. */
    if (cli_processes() > 1 || options->whole_solve)
        input->matrix.active = NULL;
    return CLI_OK;
}

static int read_matrix(const cli_options *options, gsw_context *context, gsw_csr *csr) {
    cli_input_file file;
    int code = cli_read_text(options, options->file, &file);
    if (code != CLI_OK)
        return code;
    gsw_status status = gsw_mm_parse_matrix(context, file.name, file.bytes, file.size, csr);
    free(file.bytes);
    return cli_status(options, context, status, CLI_FROM_FILE);
}

/* ---- Rows for some points, or in another order ---------------------------------------------- */

static int check_shape(const cli_options *options, const cli_mask *mask, const gsw_grid *grid) {
    const int64_t shape[] = {grid->nz, grid->ny, grid->nx};
    for (int axis = 0; mask->axes > 1 && axis < mask->axes; axis++)
        if (mask->shape[axis] != shape[axis + 3 - mask->axes])
            return cli_error(options,
                             "%s: its shape is not (nz, ny, nx) of the grid %lld x %lld x %lld; "
                             "if the grid is wrong, give --grid",
                             mask->name, (long long)grid->nx, (long long)grid->ny,
                             (long long)grid->nz);
    return CLI_OK;
}

/* The grid that the options or the shape of a mask give. */
static int grid_of_mask(const cli_options *options, const cli_mask *mask, const gsw_grid *given,
                        gsw_grid *grid) {
    *grid = (gsw_grid){1, 1, 1};
    int64_t *extents[] = {&grid->nx, &grid->ny, &grid->nz};
    if (given == NULL && mask->axes < 2)
        return cli_usage(options,
                         "--grid is needed: %s has one axis, and the matrix rows for its "
                         "active points alone",
                         mask->name);
    for (int axis = 0; axis < mask->axes && axis < CLI_NPY_AXES; axis++)
        *extents[axis] = mask->shape[mask->axes - 1 - axis];
    if (given != NULL)
        *grid = *given;
    if (grid->nx * grid->ny * grid->nz != mask->count)
        return cli_error(
            options, "%s has %lld values, but the grid %lld x %lld x %lld other points", mask->name,
            (long long)mask->count, (long long)grid->nx, (long long)grid->ny, (long long)grid->nz);
    return check_shape(options, mask, grid);
}

/* Makes the matrix of all points. The status is that of the library. */
static int embed(const cli_options *options, gsw_context *context, const gsw_grid *given,
                 const cli_mask *mask, cli_input *input, gsw_status *status) {
    gsw_grid grid;
    double *coordinates = NULL;
    int axes = 0, code;
    input->context = context;
    input->rows = input->csr.rows;
    if (options->coordinates != NULL) {
        code = cli_read_coordinates(options, context, input->rows, &axes, &coordinates);
        if (code == CLI_OK)
            *status = gsw_embedding_create_from_coordinates(context, input->rows, axes, coordinates,
                                                            &input->embedding);
        free(coordinates);
    } else {
        code = grid_of_mask(options, mask, given, &grid);
        if (code == CLI_OK)
            *status = gsw_embedding_create(context, &grid, mask->active, &input->embedding);
    }
    if (code == CLI_OK && *status == GSW_SUCCESS)
        *status =
            gsw_matrix_from_active(context, &input->csr, input->embedding, NULL, &input->matrix);
    return code;
}

/* Takes a row and a column for the mean off the matrix. The status is that of the library. */
static gsw_status take_border(gsw_context *context, cli_input *input) {
    gsw_csr inner;
    const gsw_status status = gsw_border_create(context, &input->csr, &inner, &input->border);
    if (input->border == NULL)
        return status;
    input->context = context;
    input->nonzeros = input->csr.nonzeros;
    gsw_csr_free(&input->csr);
    input->csr = inner;
    return status;
}

/* The right-hand side of what is left, in place of that of all rows, which is kept. */
static int take_border_off(const cli_options *options, gsw_context *context, cli_input *input,
                           double **b) {
    if (input->border == NULL)
        return CLI_OK;
    input->border_b = *b;
    *b = malloc(input->vector_bytes);
    if (*b == NULL)
        return cli_error(options, "out of memory for the right-hand side");
    const gsw_status status =
        gsw_border_right_side(context, input->border, input->border_b, *b, &input->share);
    return cli_status(options, context, status, CLI_FROM_FILE);
}

/* Replaces a vector of the rows by one of the points. */
static int spread(const cli_options *options, gsw_context *context, const cli_input *input,
                  double **vector) {
    if (input->embedding == NULL)
        return CLI_OK;
    double *rows = *vector;
    *vector = malloc(input->vector_bytes);
    if (*vector == NULL) {
        free(rows);
        return cli_error(options, "out of memory for a vector");
    }
    const gsw_status status =
        gsw_embedding_spread(context, input->embedding, GSW_F64, rows, *vector);
    free(rows);
    return cli_status(options, context, status, CLI_FROM_FILE);
}

int cli_collect(const cli_options *options, const cli_input *input, double *x) {
    if (input->border != NULL)
        return cli_status(options, input->context,
                          gsw_border_solution(input->context, input->border, input->border_b, x),
                          CLI_FROM_FILE);
    if (input->embedding == NULL)
        return CLI_OK;
    double *points = malloc(input->vector_bytes);
    if (points == NULL)
        return cli_error(options, "out of memory for the solution");
    memcpy(points, x, input->vector_bytes);
    const gsw_status status =
        gsw_embedding_collect(input->context, input->embedding, GSW_F64, points, x);
    free(points);
    return cli_status(options, input->context, status, CLI_FROM_FILE);
}

int cli_refuse_embedding(const cli_options *options, const cli_input *input) {
    if (input->embedding == NULL && input->border == NULL)
        return CLI_OK;
    return cli_error(options, "%s has %s, which only 'solve' and 'detect' take", options->file,
                     input->border != NULL ? "a row for the mean"
                                           : "rows for the active points of --mask alone");
}

/* The bit set of axes such as "xy". Returns 0 where the text is something else. */
static int read_axes(const char *text, int32_t *axes) {
    *axes = 0;
    for (; *text == 'x' || *text == 'y' || *text == 'z'; text++)
        *axes |= 1 << (*text - 'x');
    return *text == '\0' && *axes != 0;
}

static int load_file(const cli_options *options, gsw_context *context, const cli_mask *mask,
                     cli_input *input) {
    gsw_grid extents, *given = NULL;
    if (options->grid != NULL) {
        gsw_status status = gsw_grid_parse(context, options->grid, &extents);
        if (status != GSW_SUCCESS)
            return cli_status(options, context, status, CLI_FROM_OPTION);
        given = &extents;
    }
    if (options->periodic != NULL && given == NULL)
        return cli_usage(options, "--periodic needs --grid");
    if (options->periodic != NULL && !read_axes(options->periodic, &extents.periodic))
        return cli_usage(options, "--periodic: %s does not name axes, such as x or xy",
                         options->periodic);
    gsw_csr copy = {0};
    char remark[256] = "";
    gsw_status status = GSW_SUCCESS;
    int code = read_matrix(options, context, &input->csr);
    if (code != CLI_OK)
        return code;
    const int64_t rows = input->csr.rows;
    if (options->coordinates == NULL && options->mask == NULL)
        status = take_border(context, input);
    if (status != GSW_SUCCESS)
        return cli_status(options, context, status, CLI_FROM_FILE);
    if (options->coordinates != NULL ||
        (mask->active != NULL && mask->count != rows && mask->active_count == rows))
        code = embed(options, context, given, mask, input, &status);
    else
        status = gsw_matrix_fit(context, &input->csr, given, NULL, &input->matrix, &copy);
    if (code != CLI_OK)
        return code;
    if (status == GSW_SUCCESS && copy.rows > 0) {
        gsw_csr_free(&input->csr);
        input->csr = copy;
    }
    if (status == GSW_SUCCESS)
        status = gsw_matrix_remark(context, &input->matrix, remark, sizeof remark);
    if (status != GSW_SUCCESS)
        return cli_status(options, context, status, CLI_FROM_FILE);
    if (remark[0] != '\0' && !options->quiet)
        cli_error(options, "warning: %s", remark);
    return CLI_OK;
}

/* ---- Mask ----------------------------------------------------------------------------------- */

static int refuse_count(const cli_options *options, const cli_input *input, const char *name,
                        int64_t count) {
    return cli_error(options, "%s has %lld values, but the matrix has %lld rows", name,
                     (long long)count, (long long)input->rows);
}

/* Gives the mask to a matrix of all points. */
static int take_mask(const cli_options *options, const cli_mask *mask, cli_input *input) {
    if (mask->count != input->rows)
        return cli_error(options,
                         "%s has %lld values, but the matrix has %lld rows; %lld of the "
                         "values are active",
                         mask->name, (long long)mask->count, (long long)input->rows,
                         (long long)mask->active_count);
    const uint8_t *own = input->matrix.active; /* of a problem */
    input->matrix.active = mask->active;
    input->active_points = mask->active_count;
    for (int64_t i = 0; own != NULL && i < mask->count; i++) {
        input->active_points -= mask->active[i] != 0 && own[i] == 0;
        mask->active[i] = mask->active[i] != 0 && own[i] != 0;
    }
    return check_shape(options, mask, &input->matrix.grid);
}

int cli_load(const cli_options *options, gsw_context *context, cli_input *input) {
    cli_mask mask = {0};
    *input = (cli_input){.share = 1};
    int code = check_sources(options);
    if (code == CLI_OK && options->mask != NULL)
        code = cli_read_mask(options, context, &mask);
    input->active = mask.active;
    if (code == CLI_OK)
        code = options->problem != NULL ? load_problem(options, context, input)
                                        : load_file(options, context, &mask, input);
    const gsw_grid *grid = &input->matrix.grid;
    const int64_t points = grid->nx * grid->ny * grid->nz;
    if (input->embedding == NULL)
        input->rows = points + (input->border != NULL);
    if (options->problem == NULL)
        input->active_points = input->rows;
    if (code == CLI_OK && options->mask != NULL && input->embedding == NULL)
        code = take_mask(options, &mask, input);
    if (code != CLI_OK) {
        cli_input_free(input);
        return code;
    }
    if (input->border == NULL)
        input->nonzeros = input->embedding != NULL ? input->csr.nonzeros
                                                   : cli_count_entries(&input->matrix, GSW_FULL);
    input->vector_bytes = (size_t)points * sizeof(double);
    return CLI_OK;
}

void cli_input_free(cli_input *input) {
    if (input->embedding != NULL)
        gsw_matrix_release(input->context, &input->matrix);
    gsw_embedding_destroy(input->embedding);
    gsw_border_destroy(input->border);
    free(input->border_b);
    gsw_problem_destroy(input->problem);
    gsw_csr_free(&input->csr);
    free(input->active);
    *input = (cli_input){0};
}

/* ---- What is in a matrix -------------------------------------------------------------------- */

int64_t cli_csr_index(const gsw_csr *csr, const void *indices, int64_t i) {
    return (csr->index_type == GSW_I64 ? ((const int64_t *)indices)[i]
                                       : ((const int32_t *)indices)[i]) -
           csr->base;
}

static bool in_part(int64_t row, int64_t column, gsw_part part) {
    return part == GSW_FULL || (part == GSW_LOWER ? column <= row : column >= row);
}

static int64_t count_csr(const gsw_csr *csr, gsw_part part) {
    int64_t count = 0;
    for (int64_t row = 0; row < csr->rows; row++)
        for (int64_t k = cli_csr_index(csr, csr->row_ptr, row);
             k < cli_csr_index(csr, csr->row_ptr, row + 1); k++)
            count += in_part(row, cli_csr_index(csr, csr->columns, k), part);
    return count;
}

static int64_t remaining(int64_t extent, int64_t offset, int periodic) {
    int64_t left = periodic ? extent : extent - (offset < 0 ? -offset : offset);
    return left > 0 ? left : 0;
}

int64_t cli_count_entries(const gsw_matrix *matrix, gsw_part part) {
    if (matrix->format == GSW_FORMAT_CSR)
        return count_csr(&matrix->csr, part);
    const gsw_stencil *stencil = &matrix->stencil;
    const gsw_grid *grid = &matrix->grid;
    int64_t count = 0;
    for (int32_t e = 0; e < stencil->count; e++)
        if (in_part(stencil->center, e, part))
            count += remaining(grid->nx, stencil->offsets[e].dx, grid->periodic & GSW_PERIODIC_X) *
                     remaining(grid->ny, stencil->offsets[e].dy, grid->periodic & GSW_PERIODIC_Y) *
                     remaining(grid->nz, stencil->offsets[e].dz, grid->periodic & GSW_PERIODIC_Z);
    return count;
}

/* a(row, column) of an fp64 CSR by bisection; 0 where nothing is stored. */
static double csr_value(const gsw_csr *csr, int64_t row, int64_t column) {
    int64_t low = cli_csr_index(csr, csr->row_ptr, row),
            high = cli_csr_index(csr, csr->row_ptr, row + 1);
    while (low < high) {
        int64_t middle = low + (high - low) / 2, found = cli_csr_index(csr, csr->columns, middle);
        if (found == column)
            return ((const double *)csr->values)[middle];
        if (found < column)
            low = middle + 1;
        else
            high = middle;
    }
    return 0;
}

/* Whether a row has no coupling. */
static bool is_alone(const gsw_csr *csr, int64_t row) {
    for (int64_t k = cli_csr_index(csr, csr->row_ptr, row);
         k < cli_csr_index(csr, csr->row_ptr, row + 1); k++)
        if (cli_csr_index(csr, csr->columns, k) != row && ((const double *)csr->values)[k] != 0)
            return false;
    return true;
}

bool cli_is_symmetric(const cli_input *input, bool lifted) {
    if (input->problem != NULL)
        return gsw_problem_symmetric(input->problem) != 0;
    const gsw_csr *csr = &input->csr;
    const uint8_t *active = input->embedding == NULL ? input->active : NULL;
    for (int64_t row = 0; row < csr->rows; row++) {
        for (int64_t k = cli_csr_index(csr, csr->row_ptr, row);
             k < cli_csr_index(csr, csr->row_ptr, row + 1); k++) {
            const int64_t column = cli_csr_index(csr, csr->columns, k);
            if (active != NULL && (active[row] == 0 || active[column] == 0))
                continue;
            double a = ((const double *)csr->values)[k];
            double b = csr_value(csr, column, row);
            if (fabs(a - b) > 1e-12 * fmax(fabs(a), fabs(b)) &&
                !(lifted && (is_alone(csr, row) || is_alone(csr, column))))
                return false;
        }
    }
    return true;
}

void cli_warn_if_not_symmetric(const cli_options *options, const cli_input *input, int precond) {
    bool cg = options->method == GSW_CG, ic0 = precond == GSW_IC0;
    if (options->quiet || !(cg || ic0) || cli_is_symmetric(input, true))
        return;
    cli_error(options, "warning: the matrix is not symmetric; %s%s%s needs a symmetric one",
              cg ? "cg" : "", cg && ic0 ? " with " : "", ic0 ? "ic0" : "");
}

/* ---- Right-hand side ------------------------------------------------------------------------ */

static const char random_prefix[] = "random:";

static bool is_random(const char *rhs) {
    return strncmp(rhs, random_prefix, strlen(random_prefix)) == 0;
}

bool cli_rhs_is_file(const char *rhs) {
    return rhs != NULL && strcmp(rhs, "ones") != 0 && !is_random(rhs);
}

/* A vector with a value for each row. */
static int read_vector(const cli_options *options, gsw_context *context, const char *path,
                       const cli_input *input, double **vector) {
    cli_input_file file;
    int64_t count;
    int code = cli_read_text(options, path, &file);
    if (code != CLI_OK)
        return code;
    gsw_status status =
        gsw_mm_parse_finite_vector(context, file.name, file.bytes, file.size, vector, &count);
    free(file.bytes);
    if (status != GSW_SUCCESS)
        return cli_status(options, context, status, CLI_FROM_FILE);
    if (count == input->rows)
        return spread(options, context, input, vector);
    free(*vector);
    *vector = NULL;
    return refuse_count(options, input, file.name, count);
}

int cli_load_guess(const cli_options *options, gsw_context *context, const cli_input *input,
                   double **x) {
    if (options->x0 != NULL)
        return read_vector(options, context, options->x0, input, x);
    *x = calloc(1, input->vector_bytes + sizeof **x);
    if (*x != NULL)
        return CLI_OK;
    return cli_error(options, "out of memory for the solution");
}

static bool parse_seed(const char *text, uint64_t *seed) {
    char *end;
    if (!isdigit((unsigned char)text[0]))
        return false;
    errno = 0;
    *seed = strtoull(text, &end, 10);
    return *end == '\0' && errno == 0;
}

/* On all points; with a value more where there is a border. */
static int make_rhs(const cli_options *options, gsw_context *context, const cli_input *input,
                    double **b) {
    const char *rhs = options->rhs != NULL ? options->rhs : "ones";
    if (cli_rhs_is_file(rhs))
        return read_vector(options, context, rhs, input, b);
    bool random = is_random(rhs);
    uint64_t seed = 0;
    if (random && !parse_seed(rhs + strlen(random_prefix), &seed))
        return cli_usage(options, "--rhs random:SEED needs a seed that is a number, not '%s'",
                         rhs + strlen(random_prefix));
    *b = malloc(input->vector_bytes + sizeof **b);
    if (*b == NULL)
        return cli_error(options, "out of memory for the right-hand side");
    if (random)
        gsw_random_vector(seed, input->rows, *b);
    for (int64_t i = 0; !random && i < input->rows; i++)
        (*b)[i] = 1;
    return spread(options, context, input, b);
}

int cli_load_rhs(const cli_options *options, gsw_context *context, cli_input *input, double **b) {
    const int code = make_rhs(options, context, input, b);
    return code == CLI_OK ? take_border_off(options, context, input, b) : code;
}
