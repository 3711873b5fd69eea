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
#include "npy.h"
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
    const char *inputs[] = {options->file, options->rhs, options->x0, options->mask};
    int standard = 0;
    for (int i = 0; i < 4; i++)
        standard += inputs[i] != NULL && strcmp(inputs[i], "-") == 0;
    if (standard > 1)
        return cli_usage(options,
                         "only one of FILE.mtx, --rhs, --x0 and --mask can be standard input");
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
    return CLI_OK;
}

/* A Matrix Market file in memory. `name` is for messages. */
typedef struct file_text {
    const char *name;
    char *bytes;
    size_t size;
} file_text;

/* "-" is standard input. Returns an exit code. */
static int read_text(const cli_options *options, const char *path, file_text *file) {
    file->name = strcmp(path, "-") == 0 ? "standard input" : path;
    const char *problem = cli_read_file(path, &file->bytes, &file->size);
    if (problem == NULL)
        return CLI_OK;
    return cli_error(options, "cannot read %s: %s", file->name, problem);
}

static int read_matrix(const cli_options *options, gsw_context *context, gsw_csr *csr) {
    file_text file;
    int code = read_text(options, options->file, &file);
    if (code != CLI_OK)
        return code;
    gsw_status status = gsw_mm_parse_matrix(context, file.name, file.bytes, file.size, csr);
    free(file.bytes);
    return cli_status(options, context, status, CLI_FROM_FILE);
}

static int load_file(const cli_options *options, gsw_context *context, cli_input *input) {
    gsw_grid extents, *given = NULL;
    if (options->grid != NULL) {
        gsw_status status = gsw_grid_parse(context, options->grid, &extents);
        if (status != GSW_SUCCESS)
            return cli_status(options, context, status, CLI_FROM_OPTION);
        given = &extents;
    }
    gsw_csr copy;
    char remark[256] = "";
    int code = read_matrix(options, context, &input->csr);
    if (code != CLI_OK)
        return code;
    gsw_status status = gsw_matrix_fit(context, &input->csr, given, NULL, &input->matrix, &copy);
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

/* Copies the values of an array whose shape is (nz, ny, nx), (ny, nx) or (points,). */
static int take_npy(const cli_options *options, const file_text *file, cli_input *input) {
    const gsw_grid *grid = &input->matrix.grid;
    const int64_t shape[] = {grid->nz, grid->ny, grid->nx};
    cli_npy array;
    const char *problem = cli_parse_npy(file->bytes, file->size, &array);
    if (problem != NULL)
        return cli_error(options, "cannot read %s: %s", file->name, problem);
    if (array.count != input->rows)
        return refuse_count(options, input, file->name, array.count);
    for (int axis = 0; array.axes > 1 && axis < array.axes; axis++)
        if (array.shape[axis] != shape[axis + 3 - array.axes])
            return cli_error(options,
                             "%s: its shape is not (nz, ny, nx) of the grid %lld x %lld x %lld; "
                             "if the grid is wrong, give --grid",
                             file->name, (long long)grid->nx, (long long)grid->ny,
                             (long long)grid->nz);
    memcpy(input->active, array.values, (size_t)input->rows);
    return CLI_OK;
}

static int take_values(const cli_options *options, gsw_context *context, const file_text *file,
                       cli_input *input) {
    double *values = NULL;
    int64_t count;
    const gsw_status status =
        gsw_mm_parse_finite_vector(context, file->name, file->bytes, file->size, &values, &count);
    if (status != GSW_SUCCESS)
        return cli_status(options, context, status, CLI_FROM_FILE);
    for (int64_t i = 0; i < count && count == input->rows; i++)
        input->active[i] = values[i] != 0;
    free(values);
    return count == input->rows ? CLI_OK : refuse_count(options, input, file->name, count);
}

static int load_mask(const cli_options *options, gsw_context *context, cli_input *input) {
    file_text file;
    input->active_points = input->rows;
    if (options->mask == NULL)
        return CLI_OK;
    int code = read_text(options, options->mask, &file);
    if (code != CLI_OK)
        return code;
    input->active = calloc((size_t)input->rows, 1);
    if (input->active == NULL)
        code = cli_error(options, "out of memory for the mask");
    else if (cli_is_npy(file.bytes, file.size))
        code = take_npy(options, &file, input);
    else
        code = take_values(options, context, &file, input);
    free(file.bytes);
    for (int64_t i = 0; input->active != NULL && i < input->rows; i++)
        input->active_points -= input->active[i] == 0;
    input->matrix.active = input->active;
    return code;
}

int cli_load(const cli_options *options, gsw_context *context, cli_input *input) {
    *input = (cli_input){0};
    int code = check_sources(options);
    if (code == CLI_OK)
        code = options->problem != NULL ? load_problem(options, context, input)
                                        : load_file(options, context, input);
    const gsw_grid *grid = &input->matrix.grid;
    input->rows = grid->nx * grid->ny * grid->nz;
    if (code == CLI_OK)
        code = load_mask(options, context, input);
    if (code != CLI_OK) {
        cli_input_free(input);
        return code;
    }
    input->nonzeros = cli_count_entries(&input->matrix, GSW_FULL);
    input->vector_bytes = (size_t)input->rows * sizeof(double);
    return CLI_OK;
}

void cli_input_free(cli_input *input) {
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

static int64_t remaining(int64_t extent, int64_t offset) {
    int64_t left = extent - (offset < 0 ? -offset : offset);
    return left > 0 ? left : 0;
}

int64_t cli_count_entries(const gsw_matrix *matrix, gsw_part part) {
    if (matrix->format == GSW_FORMAT_CSR)
        return count_csr(&matrix->csr, part);
    const gsw_stencil *stencil = &matrix->stencil;
    int64_t count = 0;
    for (int32_t e = 0; e < stencil->count; e++)
        if (in_part(stencil->center, e, part))
            count += remaining(matrix->grid.nx, stencil->offsets[e].dx) *
                     remaining(matrix->grid.ny, stencil->offsets[e].dy) *
                     remaining(matrix->grid.nz, stencil->offsets[e].dz);
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
    const uint8_t *active = input->active;
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
    file_text file;
    int64_t count;
    int code = read_text(options, path, &file);
    if (code != CLI_OK)
        return code;
    gsw_status status =
        gsw_mm_parse_finite_vector(context, file.name, file.bytes, file.size, vector, &count);
    free(file.bytes);
    if (status != GSW_SUCCESS)
        return cli_status(options, context, status, CLI_FROM_FILE);
    if (count == input->rows)
        return CLI_OK;
    free(*vector);
    *vector = NULL;
    return refuse_count(options, input, file.name, count);
}

int cli_load_guess(const cli_options *options, gsw_context *context, const cli_input *input,
                   double **x) {
    if (options->x0 != NULL)
        return read_vector(options, context, options->x0, input, x);
    *x = calloc((size_t)input->rows, sizeof **x);
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

int cli_load_rhs(const cli_options *options, gsw_context *context, const cli_input *input,
                 double **b) {
    const char *rhs = options->rhs != NULL ? options->rhs : "ones";
    if (cli_rhs_is_file(rhs))
        return read_vector(options, context, rhs, input, b);
    bool random = is_random(rhs);
    uint64_t seed = 0;
    if (random && !parse_seed(rhs + strlen(random_prefix), &seed))
        return cli_usage(options, "--rhs random:SEED needs a seed that is a number, not '%s'",
                         rhs + strlen(random_prefix));
    *b = malloc(input->vector_bytes);
    if (*b == NULL)
        return cli_error(options, "out of memory for the right-hand side");
    if (random)
        gsw_random_vector(seed, input->rows, *b);
    for (int64_t i = 0; !random && i < input->rows; i++)
        (*b)[i] = 1;
    return CLI_OK;
}
