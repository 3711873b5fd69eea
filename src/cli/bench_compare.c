/* bench_compare.c: triangular solves with one part of a matrix as CSR: the library's algorithms on
 * any backend, rivals, and the steps of the ablation. An ILU(0) apply with packed factors goes the
 * same way, from the CSR of the whole matrix and without rivals; so does a step of symmetric
 * Gauss-Seidel, from the arrays of the problem's stencil.
 *
 * Parts of a system are made one after the other on the host, brought to the backend, solved by
 * every method in turn, and freed. Each method: set up, warm up, a short run to learn how long it
 * takes and to compare x, the timed runs, compare x again. x is poisoned before every run (before
 * every batch where the host's clock is used). A smoothing step starts every run from the same
 * guess, and its workspace is poisoned instead. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "bench.h"

#define MIN_REPEATS   10
#define MAX_REPEATS   200
#define MIN_TIME_MS   200.0
#define TRIAL_REPEATS 3
#define HOST_REPEATS  3                          /* rivals that run on the CPU take long */
#define HOST_POINTS   ((int64_t)128 * 128 * 128) /* and are left out beyond, unless named */
#define FLUSH_BYTES   ((size_t)256 << 20)        /* more than the L2 cache of any GPU */

/* The step that does not wait for its neighbours: a lower bound whose answers are wrong. */
#define WITHOUT_WAITING "state-none"

typedef struct compare_run {
    const bench_plan *plan;
    const cli_place *place;
    bench_device *device;
    bench_table table;
    double host_copy_gb_s; /* of the CPU, where that is the backend */
    void *flush;           /* what is overwritten for a cold cache without events */
    cJSON *results, *skipped;
    int own_wrong, rival_wrong; /* results that differ from the reference */
    bool has_bound;             /* a result without waiting was shown */
} compare_run;

/* ---- Groups: one part in one precision ------------------------------------------------------- */

static int no_memory(const cli_options *options) {
    cli_error(options, "out of memory; try a smaller --size");
    return CLI_INPUT;
}

/* x = T^-1 x with the reference sweep, T a part of `csr`. */
static gsw_status sweep_reference(gsw_context *host, const bench_group *group, const gsw_csr *csr,
                                  gsw_part part, bool unit, double *x) {
    gsw_sptrsv_options plain = {.size = sizeof plain,
                                .part = part,
                                .unit_diagonal = unit,
                                .algorithm = GSW_ALGORITHM_REFERENCE};
    gsw_matrix view;
    gsw_status status = gsw_matrix_from_csr(host, &group->grid, &group->stencil, csr, &view);
    return status == GSW_SUCCESS
               ? gsw_sptrsv(host, &view, &plain, 1, x, group->rows, x, group->rows)
               : status;
}

/* The same with L, then U of ILU(0) in fp64, one of them in memory at a time. */
static gsw_status apply_reference(gsw_context *host, const bench_group *group, double *x) {
    gsw_itype index = group->host.csr.index_type;
    gsw_factor *factor = NULL;
    gsw_csr lower = {0}, upper = {0};
    gsw_status status = gsw_factor_create(host, &group->host, NULL, &factor);
    if (status == GSW_SUCCESS)
        status = gsw_factor_extract(host, factor, index, &lower, NULL);
    if (status == GSW_SUCCESS)
        status = sweep_reference(host, group, &lower, GSW_LOWER, true, x);
    gsw_csr_free(&lower);
    if (status == GSW_SUCCESS)
        status = gsw_factor_extract(host, factor, index, NULL, &upper);
    if (status == GSW_SUCCESS)
        status = sweep_reference(host, group, &upper, GSW_UPPER, false, x);
    gsw_csr_free(&upper);
    gsw_factor_destroy(factor);
    return status;
}

/* x_i = (b_i - sum of a_ij x_j over j != i) / a_ii with x as it is: row i of Gauss-Seidel. */
static void relax(const gsw_matrix *matrix, int64_t row, const double *b, double *x) {
    const gsw_grid *grid = &matrix->grid;
    const gsw_stencil *stencil = &matrix->stencil;
    const double *diagonal = matrix->array.values[stencil->center];
    double sum = b[row];
    for (int32_t e = 0; e < stencil->count; e++) {
        gsw_offset o = stencil->offsets[e];
        const double *a = matrix->array.values[e];
        int64_t px = row % grid->nx + o.dx, py = row / grid->nx % grid->ny + o.dy;
        int64_t pz = row / (grid->nx * grid->ny) + o.dz;
        if (e != stencil->center && px >= 0 && px < grid->nx && py >= 0 && py < grid->ny &&
            pz >= 0 && pz < grid->nz)
            sum -= a[row] * x[px + grid->nx * (py + grid->ny * pz)];
    }
    x[row] = sum / diagonal[row];
}

/* One step of symmetric Gauss-Seidel as the textbook has it, without the library: all rows upwards,
 * then all downwards. */
static void smooth_reference(const gsw_matrix *matrix, int64_t rows, const double *b, double *x) {
    for (int64_t row = 0; row < rows; row++)
        relax(matrix, row, b, x);
    for (int64_t row = rows - 1; row >= 0; row--)
        relax(matrix, row, b, x);
}

/* A guess that is not zero, and what a step makes of it. */
static int make_guess(const cli_options *options, bench_group *group) {
    group->guess = malloc(group->vector_bytes);
    if (group->guess == NULL)
        return no_memory(options);
    gsw_random_vector(3, group->rows, group->guess);
    memcpy(group->reference, group->guess, group->vector_bytes);
    smooth_reference(&group->host, group->rows, group->b, group->reference);
    return CLI_OK;
}

/* A right-hand side of the group's type; the reference solution in fp64 with exactly the numbers
 * that the methods get. */
static int make_vectors(const cli_options *options, gsw_context *host, bench_group *group) {
    size_t count = (size_t)group->rows;
    bool f32 = group->type == GSW_F32 && !group->smooth; /* a smoothing step is in f64 throughout */
    group->vector_bytes = count * gsw_dtype_size(group->type);
    group->b = malloc(group->vector_bytes);
    group->x = malloc(group->vector_bytes);
    group->reference = malloc(count * sizeof(double));
    group->wide = f32 ? malloc(count * sizeof(double)) : group->x;
    if (group->b == NULL || group->x == NULL || group->reference == NULL || group->wide == NULL)
        return no_memory(options);
    gsw_random_vector(2, group->rows, group->reference);
    for (size_t i = 0; f32 && i < count; i++) {
        ((float *)group->b)[i] = (float)group->reference[i];
        group->reference[i] = ((float *)group->b)[i];
    }
    if (!f32)
        memcpy(group->b, group->reference, group->vector_bytes);
    memset(group->x, 0xff, group->vector_bytes);
    if (group->smooth)
        return make_guess(options, group);
    gsw_status status =
        group->part == GSW_FULL
            ? apply_reference(host, group, group->reference)
            : sweep_reference(host, group, &group->host.csr, group->part, false, group->reference);
    return status == GSW_SUCCESS ? CLI_OK : cli_status(options, host, status, CLI_FROM_OPTION);
}

/* Vectors for a group whose matrix is there, and all of it in the backend's memory. */
static int make_group(const cli_options *options, const compare_run *run, bench_group *group) {
    const cli_place *place = run->place;
    int code = make_vectors(options, place->host, group);
    if (code == CLI_OK)
        code = cli_upload(options, place, &group->host, group->b, group->x, group->vector_bytes,
                          &group->arrays);
    if (code != CLI_OK || !group->smooth)
        return code;
    gsw_status status = gsw_memory_alloc(place->run, group->vector_bytes, &group->work);
    return status == GSW_SUCCESS ? CLI_OK
                                 : cli_status(options, place->run, status, CLI_FROM_OPTION);
}

static void free_group(const compare_run *run, bench_group *group) {
    gsw_memory_free(run->place->run, group->work);
    cli_arrays_free(run->place, &group->arrays);
    free(group->guess);
    if (group->wide != group->x)
        free(group->wide);
    free(group->reference);
    free(group->x);
    free(group->b);
}

/* max |x - reference| / max |reference| of what is in group->x. */
static double host_error(bench_group *group) {
    if (group->type == GSW_F32)
        for (int64_t i = 0; i < group->rows; i++)
            group->wide[i] = ((const float *)group->x)[i];
    return cli_max_error(group->wide, group->reference, group->rows);
}

/* The larger one; NaN where either is, which is worse than any number. */
static double worse(double a, double b) {
    return isnan(a) || isnan(b) ? NAN : fmax(a, b);
}

/* ---- One method ------------------------------------------------------------------------------ */

/* A method at work on a group. */
typedef struct solver {
    const compare_run *run;
    const bench_method *method;
    bench_group *group;
    gsw_context *context; /* whose clock is taken: the place's, or the host's */
    gsw_factor *factor;   /* of the packed algorithm */
    void *state;          /* of a rival */
    const void *b;
    void *x, *poison; /* `poison` is filled with NaNs before each run */
    bool device, cold;
    gsw_status status; /* of the library's last call */
    char reason[256];  /* of a rival's failure */
} solver;

static gsw_status solve_once(void *user) {
    solver *s = user;
    bench_group *group = s->group;
    if (s->method->kind != KIND_GRIDSWEEP)
        return bench_rival_solve(s->method, s->state, s->b, s->x, s->reason, sizeof s->reason)
                   ? GSW_SUCCESS
                   : GSW_ERROR_DEVICE;
    if (group->smooth)
        return gsw_smooth(s->context, &group->arrays.matrix, s->factor, 1, 0, s->b, s->x,
                          group->work);
    if (s->factor != NULL)
        return gsw_factor_solve(s->context, s->factor, 1, s->b, group->rows, s->x, group->rows);
    gsw_sptrsv_options wanted = {.size = sizeof wanted,
                                 .part = group->part,
                                 .vector_type = group->type,
                                 .algorithm = s->method->algorithm};
    return gsw_sptrsv(s->context, &group->arrays.matrix, &wanted, 1, s->b, group->rows, s->x,
                      group->rows);
}

/* The same as gsw_device_time() wants it. */
static int solve_event(void *user) {
    solver *s = user;
    s->status = solve_once(s);
    return s->status == GSW_SUCCESS ? 0 : -1;
}

/* A smoothing step overwrites the guess that it starts from. */
static gsw_status restore_guess(const solver *s) {
    return s->group->smooth
               ? gsw_memory_upload(s->context, s->x, s->group->guess, s->group->vector_bytes)
               : GSW_SUCCESS;
}

static gsw_status prepare(void *user) {
    solver *s = user;
    gsw_status status = restore_guess(s);
    if (status == GSW_SUCCESS)
        status = gsw_memory_set(s->context, s->poison, 0xff, s->group->vector_bytes);
    if (status == GSW_SUCCESS && s->cold && s->run->flush != NULL)
        status = gsw_memory_set(s->context, s->run->flush, 1, FLUSH_BYTES);
    return status;
}

static int repeats_of(const cli_options *options, double milliseconds) {
    if (options->repeats > 0)
        return (int)options->repeats;
    double count = ceil(MIN_TIME_MS / fmax(milliseconds, 1e-3));
    return count < MIN_REPEATS ? MIN_REPEATS : count > MAX_REPEATS ? MAX_REPEATS : (int)count;
}

/* Whatever a solve on the device ran into shows here. */
static gsw_status fetch_error(solver *s, double *error) {
    gsw_status status = GSW_SUCCESS;
    if (s->x != s->group->x)
        status = gsw_memory_download(s->context, s->group->x, s->x, s->group->vector_bytes);
    if (status == GSW_SUCCESS)
        *error = worse(*error, host_error(s->group));
    return status;
}

/* Runs between events; smoothing steps one at a time, for each is given the guess anew. */
static bool take_samples(solver *s, int warm_up, int repeats, double *samples) {
    const bench_device *device = s->run->device;
    size_t bytes = s->group->vector_bytes;
    s->status = GSW_SUCCESS;
    if (!s->group->smooth)
        return bench_device_time(device, solve_event, s, warm_up, repeats, s->cold, s->poison,
                                 bytes, samples);
    for (int i = -warm_up; i < repeats; i++) {
        s->status = restore_guess(s);
        if (s->status != GSW_SUCCESS ||
            !bench_device_time(device, solve_event, s, 0, 1, s->cold, s->poison, bytes,
                               &samples[i < 0 ? 0 : i]))
            return false;
    }
    return true;
}

/* Between events: a trial, then the timed runs; x is compared after both. */
static gsw_status time_events(const cli_options *options, solver *s, cli_result *result) {
    double trial[TRIAL_REPEATS];
    if (!take_samples(s, 2, TRIAL_REPEATS, trial))
        return s->status != GSW_SUCCESS ? s->status : GSW_ERROR_DEVICE;
    gsw_status status = fetch_error(s, &result->max_rel_error);
    if (status != GSW_SUCCESS)
        return status;
    int repeats = repeats_of(options, cli_summarise(trial, TRIAL_REPEATS).median);
    double *samples = malloc((size_t)repeats * sizeof *samples);
    if (samples == NULL)
        return GSW_ERROR_OUT_OF_MEMORY;
    if (take_samples(s, 1, repeats, samples))
        result->time = cli_summarise(samples, repeats);
    else
        status = s->status != GSW_SUCCESS ? s->status : GSW_ERROR_DEVICE;
    free(samples);
    return status == GSW_SUCCESS ? fetch_error(s, &result->max_rel_error) : status;
}

/* With the host's clock; a rival on the CPU gets few repeats. */
static gsw_status time_host(const cli_options *options, solver *s, cli_result *result) {
    bool slow = s->method->kind != KIND_GRIDSWEEP;
    int64_t repeats = options->repeats;
    if (slow && (repeats == 0 || repeats > HOST_REPEATS))
        repeats = HOST_REPEATS;
    cli_task task = {.prepare = prepare,
                     .run = solve_once,
                     .user = s,
                     .context = s->context,
                     .single = s->cold || s->group->smooth,
                     .repeats = repeats};
    gsw_status status = cli_time(&task, &result->time);
    return status == GSW_SUCCESS ? fetch_error(s, &result->max_rel_error) : status;
}

static gsw_status open_factor(solver *s, cli_result *result) {
    static const gsw_factor_kind kinds[] = {GSW_FACTOR_LOWER, GSW_FACTOR_UPPER, GSW_ILU0};
    gsw_factor_options wanted = {.size = sizeof wanted,
                                 .kind = s->group->smooth ? GSW_SSOR : kinds[s->group->part],
                                 .factor_type = s->group->factor_type,
                                 .vector_type = s->group->type};
    gsw_factor_info info = {.size = sizeof info};
    double start = cli_now_ms();
    gsw_status status =
        gsw_factor_create(s->context, &s->group->arrays.matrix, &wanted, &s->factor);
    if (status == GSW_SUCCESS)
        status = gsw_context_synchronize(s->context);
    result->setup_ms = cli_now_ms() - start;
    if (status == GSW_SUCCESS)
        status = gsw_factor_get_info(s->factor, &info);
    if (status == GSW_SUCCESS)
        result->buffer_bytes = (double)(info.packed_bytes + info.work_bytes);
    return status;
}

/* What the library's own algorithms need before the first solve: nothing, unless packed. */
static gsw_status open_own(solver *s, cli_result *result) {
    if (s->method->algorithm == GSW_ALGORITHM_PENCIL)
        return open_factor(s, result);
    result->setup_ms = 0;
    /* A device's workspace is the library's secret. */
    result->buffer_bytes = s->device ? NAN : 0;
    return GSW_SUCCESS;
}

/* Bytes as the literature counts them: the CSR of the part and both vectors; those of L and of U
 * for an ILU(0) apply, where the diagonal is in both; the whole CSR twice for a smoothing step, as
 * two loops over its rows read it. */
static double effective_bytes(const bench_group *group) {
    int64_t nonzeros = group->entries;
    int value = (int)gsw_dtype_size(group->factor_type), vector = (int)gsw_dtype_size(group->type);
    if (group->part != GSW_FULL)
        return cli_effective_bytes(nonzeros, group->rows, value, vector);
    if (group->smooth)
        return 2 * cli_effective_bytes(nonzeros, group->rows, value, vector);
    return cli_effective_bytes(nonzeros + group->rows, group->rows, value, vector) +
           cli_effective_bytes(0, group->rows, value, vector);
}

/* Bytes that a run must move at least: coefficients, b and x once. A packed factor counts its own:
 * its coefficients, and for each sweep a vector read and one written.
 *
 * A smoothing step, gsw_smooth() with one sweep from a guess, makes three passes:
 *   r = b - A x     the matrix's coefficients; reads x and b, writes r
 *   r = M^-1 r      what the factor counts, in place: two sweeps, each reads and writes r
 *   x = x + r       reads x and r, writes x
 * Besides the factor's bytes these are the matrix and six vectors. */
static double moved_bytes(const solver *s) {
    const bench_group *group = s->group;
    double values = (double)group->entries * (double)gsw_dtype_size(group->factor_type);
    double vector = (double)gsw_dtype_size(group->type) * (double)group->rows;
    gsw_factor_info info = {.size = sizeof info};
    if (s->factor == NULL || gsw_factor_get_info(s->factor, &info) != GSW_SUCCESS)
        return values + 2 * vector;
    return (double)info.moved_bytes + (group->smooth ? values + 6 * vector : 0);
}

static void fill_rates(const compare_run *run, const solver *s, cli_result *result) {
    double ms = result->time.median;
    result->solve_ms = ms;
    result->effective_gb_s = effective_bytes(s->group) / (ms * 1e6);
    result->moved_gb_s = moved_bytes(s) / (ms * 1e6);
    result->copy_gb_s = s->device                   ? run->device->copy_gb_s
                        : cli_on_device(run->place) ? NAN
                                                    : run->host_copy_gb_s;
    result->fraction_of_copy = result->moved_gb_s / result->copy_gb_s;
}

/* A step adds M^-1 r to the guess, which rounds otherwise than the plain loops do. */
static double tolerance(const bench_group *group) {
    if (group->smooth)
        return 1e-12;
    return group->factor_type == GSW_F64 ? 1e-13 : 1e-5;
}

static void judge(const bench_group *group, bench_row *row) {
    row->checked = strcmp(row->result.algorithm, WITHOUT_WAITING) != 0;
    if (row->checked)
        row->wrong = !(row->result.max_rel_error <= tolerance(group));
    else
        row->result.max_rel_error = NAN;
}

static void start_row(const cli_options *options, const solver *s, bench_row *row) {
    static const char *const kinds[] = {"gridsweep", "rival", "ablation"};
    const bench_group *group = s->group;
    const bench_device *device = s->run->device;
    *row = (bench_row){.kind = s->method->kind};
    row->result = cli_result_init(options, s->context, &group->host);
    row->result.part = bench_part_names[group->smooth ? PART_SYMGS : (bench_part)group->part];
    row->result.kind = kinds[s->method->kind];
    row->result.algorithm = s->method->name;
    row->result.dtype = group->type == GSW_F32 ? "f32" : "f64";
    row->result.factor_dtype = group->factor_type == GSW_F32 ? "f32" : "f64";
    if (group->part == GSW_FULL)
        row->result.precond = gsw_factor_kind_name(group->smooth ? GSW_SSOR : GSW_ILU0);
    row->result.max_rel_error = 0;
    if (s->device && device->described) {
        row->result.driver = device->driver;
        row->result.toolkit = device->toolkit;
    }
    if (s->method->kind != KIND_GRIDSWEEP && !s->device)
        row->result.threads = 1;
}

/* Sets the solver up; false with a reason in the row where a rival cannot run. */
static int open_solver(const cli_options *options, solver *s, bench_row *row) {
    if (s->method->kind == KIND_GRIDSWEEP) {
        gsw_status status = open_own(s, &row->result);
        return status == GSW_SUCCESS ? CLI_OK
                                     : cli_status(options, s->context, status, CLI_FROM_OPTION);
    }
    if (!bench_rival_open(s->method, s->group, cli_on_device(s->run->place), s->run->device->stream,
                          &s->state, &row->result, row->reason, sizeof row->reason))
        s->state = NULL;
    return CLI_OK;
}

/* A rival that fails is shown with its reason; the library's own failure ends the run. */
static int failed(const cli_options *options, solver *s, gsw_status status, bench_row *row) {
    if (s->method->kind == KIND_GRIDSWEEP) {
        if (status == GSW_ERROR_OUT_OF_MEMORY)
            return no_memory(options);
        return cli_status(options, s->context, status, CLI_FROM_OPTION);
    }
    (void)gsw_context_synchronize(s->context);
    (void)snprintf(row->reason, sizeof row->reason, "%s",
                   s->reason[0] != '\0' ? s->reason : "its runs on the device fail");
    return CLI_OK;
}

/* Times a solver that is open with one state of the cache. */
static int run_solver(const cli_options *options, solver *s, bench_row *row) {
    const compare_run *run = s->run;
    gsw_status status = s->device && run->device->stream != NULL
                            ? time_events(options, s, &row->result)
                            : time_host(options, s, &row->result);
    if (status != GSW_SUCCESS)
        return failed(options, s, status, row);
    fill_rates(run, s, &row->result);
    judge(s->group, row);
    return CLI_OK;
}

static void start_solver(const compare_run *run, bench_group *group, const bench_method *method,
                         solver *s) {
    bool own = method->kind == KIND_GRIDSWEEP;
    bool device = cli_on_device(run->place) && (own || method->on_device);
    *s = (solver){.run = run,
                  .method = method,
                  .group = group,
                  .context = device ? run->place->run : run->place->host,
                  .b = device ? group->arrays.b : group->b,
                  .x = device ? group->arrays.x : group->x,
                  .device = device};
    s->poison = group->smooth ? group->work : s->x;
}

static void close_solver(solver *s) {
    if (s->state != NULL)
        bench_rival_close(s->method, s->state);
    gsw_factor_destroy(s->factor);
}

/* Rivals that run on the CPU: slow, and the cache of a device is nothing to them. */
static bool is_host_rival(const bench_method *method) {
    return method->kind == KIND_RIVAL && !method->on_device;
}

/* Sets a method up once and times it with each state of the cache; adds its rows. */
static int run_method(const cli_options *options, const compare_run *run, bench_group *group,
                      const bench_method *method, bench_row *rows, int *used) {
    const bench_list *caches = &run->plan->caches;
    solver s;
    bench_row first;
    char size[80];
    bench_short_size(&group->grid, size, sizeof size);
    start_solver(run, group, method, &s);
    start_row(options, &s, &first);
    bench_show(options, "%s %s %s %s: %s", gsw_stencil_name(&group->stencil), size,
               first.result.part, first.result.dtype, method->name);
    int code = open_solver(options, &s, &first);
    for (int i = 0; i < caches->count && code == CLI_OK; i++) {
        if (is_host_rival(method) && i > 0)
            continue;
        bench_row *row = &rows[*used];
        s.cold = caches->values[i] == CACHE_COLD && !is_host_rival(method);
        *row = first;
        row->result.cache = bench_cache_names[s.cold ? CACHE_COLD : CACHE_WARM];
        if (row->reason[0] == '\0')
            code = run_solver(options, &s, row);
        if (code == CLI_OK)
            *used += 1;
    }
    close_solver(&s);
    return code;
}

/* ---- All methods on a group ------------------------------------------------------------------ */

/* Whether a method takes part in a group. Rivals know one part and one precision. */
static bool takes_part(const bench_group *group, const bench_method *method) {
    if (method->kind == KIND_GRIDSWEEP)
        return group->part != GSW_FULL || method->algorithm == GSW_ALGORITHM_PENCIL;
    if (group->part == GSW_FULL || group->factor_type != group->type)
        return false;
    if (method->kind == KIND_ABLATION)
        return group->part == GSW_LOWER && group->type == GSW_F64;
    return !is_host_rival(method) || method->named || group->rows <= HOST_POINTS;
}

static void count_row(compare_run *run, const bench_row *row) {
    if (row->wrong)
        *(row->kind == KIND_GRIDSWEEP ? &run->own_wrong : &run->rival_wrong) += 1;
    if (row->reason[0] == '\0' && !row->checked)
        run->has_bound = true;
}

static void store_row(compare_run *run, const bench_row *row) {
    cJSON *json = cli_result_json(&row->result);
    if (row->reason[0] != '\0') {
        cJSON_AddItemToObject(json, "reason", cJSON_CreateString(row->reason));
        cJSON_AddItemToArray(run->skipped, json);
    } else {
        cJSON_AddItemToArray(run->results, json);
    }
}

static int run_methods(const cli_options *options, const compare_run *run, bench_group *group,
                       const bench_method *methods, int count, bench_row *rows, int *used) {
    int code = CLI_OK;
    for (int i = 0; i < count && code == CLI_OK; i++)
        if (takes_part(group, &methods[i]))
            code = run_method(options, run, group, &methods[i], rows, used);
    return code;
}

static int run_group(const cli_options *options, compare_run *run, bench_group *group) {
    static const bench_list packed = {1, {GSW_ALGORITHM_PENCIL}};
    const bench_plan *plan = run->plan;
    const bench_list *algorithms = group->smooth ? &packed : &plan->algorithms;
    bench_method own[BENCH_LIST_MAX];
    int used = 0, total = (algorithms->count + plan->rivals) * plan->caches.count;
    bench_row *rows = calloc((size_t)total, sizeof *rows);
    int code = rows != NULL ? make_group(options, run, group) : no_memory(options);
    for (int i = 0; i < algorithms->count; i++) {
        gsw_algorithm algorithm = (gsw_algorithm)algorithms->values[i];
        own[i] = (bench_method){.name = gsw_algorithm_name(algorithm), .algorithm = algorithm};
    }
    if (code == CLI_OK)
        code = run_methods(options, run, group, own, algorithms->count, rows, &used);
    if (code == CLI_OK)
        code = run_methods(options, run, group, plan->rival, plan->rivals, rows, &used);
    bench_show(options, NULL);
    bench_table_rows(options, &run->table, rows, used);
    for (int i = 0; i < used; i++) {
        count_row(run, &rows[i]);
        store_row(run, &rows[i]);
    }
    free(rows);
    free_group(run, group);
    int written = cli_write_results(options, run->results, run->skipped, false);
    return code == CLI_OK ? written : code;
}

/* ---- All groups of a system ------------------------------------------------------------------ */

/* The values of a CSR in fp32; NULL without memory. */
static float *narrow(const gsw_csr *csr) {
    const double *from = csr->values;
    float *to = malloc((size_t)csr->nonzeros * sizeof *to);
    if (to == NULL)
        return NULL;
#ifdef _OPENMP
#pragma omp parallel for schedule(static)
#endif
    for (int64_t k = 0; k < csr->nonzeros; k++)
        to[k] = (float)from[k];
    return to;
}

static int run_precisions(const cli_options *options, compare_run *run, const gsw_grid *grid,
                          const gsw_stencil *stencil, gsw_part part, const gsw_csr *csr) {
    const bench_list *precisions = &run->plan->precisions;
    gsw_context *host = run->place->host;
    int code = CLI_OK;
    for (int i = 0; i < precisions->count && code == CLI_OK; i++) {
        bench_precision precision = (bench_precision)precisions->values[i];
        bench_group group = {.grid = *grid,
                             .stencil = *stencil,
                             .part = part,
                             .factor_type = precision == PRECISION_F64 ? GSW_F64 : GSW_F32,
                             .type = precision == PRECISION_F32 ? GSW_F32 : GSW_F64,
                             .rows = csr->rows,
                             .entries = csr->nonzeros};
        gsw_csr typed = *csr;
        float *values = NULL;
        if (precision != PRECISION_F64) {
            values = narrow(csr);
            if (values == NULL)
                return no_memory(options);
            typed.values = values;
            typed.value_type = GSW_F32;
        }
        gsw_status status = gsw_matrix_from_csr(host, grid, stencil, &typed, &group.host);
        code = status == GSW_SUCCESS ? run_group(options, run, &group)
                                     : cli_status(options, host, status, CLI_FROM_OPTION);
        free(values);
    }
    return code;
}

static int run_smoothing(const cli_options *options, compare_run *run, const gsw_matrix *matrix) {
    bench_group group = {.grid = matrix->grid,
                         .stencil = matrix->stencil,
                         .part = GSW_FULL,
                         .smooth = true,
                         .factor_type = GSW_F64,
                         .type = GSW_F64,
                         .rows = matrix->grid.nx * matrix->grid.ny * matrix->grid.nz,
                         .entries = cli_count_entries(matrix, GSW_FULL),
                         .host = *matrix};
    return run_group(options, run, &group);
}

/* The problem is needed until the last part has been taken out of it. */
static int run_system(const cli_options *options, compare_run *run, const gsw_grid *grid,
                      const gsw_stencil *stencil) {
    static const gsw_part kinds[] = {GSW_LOWER, GSW_UPPER, GSW_FULL}; /* of bench_part */
    const bench_list *parts = &run->plan->parts;
    gsw_context *host = run->place->host;
    gsw_problem *problem = NULL;
    char size[80];
    bench_short_size(grid, size, sizeof size);
    bench_show(options, "%s %s: making the matrix", gsw_stencil_name(stencil), size);
    const char *name = options->problem != NULL ? options->problem : "random:1";
    gsw_status status =
        gsw_problem_create(host, name, grid, options->problem != NULL ? NULL : stencil, &problem);
    int code = status == GSW_SUCCESS ? CLI_OK : cli_status(options, host, status, CLI_FROM_OPTION);
    for (int i = 0; i < parts->count && code == CLI_OK; i++) {
        const gsw_matrix *matrix = gsw_problem_matrix(problem);
        if (parts->values[i] == PART_SYMGS) {
            code = run_smoothing(options, run, matrix);
            continue;
        }
        gsw_part part = kinds[parts->values[i]];
        gsw_csr csr = {0};
        gsw_itype index = cli_count_entries(matrix, part) <= INT32_MAX ? GSW_I32 : GSW_I64;
        status = gsw_matrix_to_csr(host, matrix, part, index, &csr);
        if (i == parts->count - 1) {
            gsw_problem_destroy(problem);
            problem = NULL;
        }
        code = status == GSW_SUCCESS ? run_precisions(options, run, grid, stencil, part, &csr)
                                     : cli_status(options, host, status, CLI_FROM_OPTION);
        gsw_csr_free(&csr);
    }
    gsw_problem_destroy(problem);
    bench_show(options, NULL);
    return code;
}

static int run_systems(const cli_options *options, compare_run *run) {
    const bench_plan *plan = run->plan;
    int code = CLI_OK;
    for (int i = 0; i < plan->stencils; i++)
        for (int j = 0; j < plan->sizes && code == CLI_OK; j++) {
            gsw_grid grid;
            gsw_status status = bench_parse_size(plan->size[j], &plan->stencil[i], &grid);
            code = status == GSW_SUCCESS ? run_system(options, run, &grid, &plan->stencil[i])
                                         : cli_status(options, NULL, status, CLI_FROM_OPTION);
        }
    return code;
}

/* ---- Begin and end --------------------------------------------------------------------------- */

static bool has_rival(const bench_plan *plan, const char *name) {
    for (int i = 0; i < plan->rivals; i++)
        if (strcmp(plan->rival[i].name, name) == 0)
            return true;
    return false;
}

/* What speeds are relative to. */
static const char *choose_baseline(const compare_run *run) {
    static const char *const candidates[] = {"cusparse", "tasks", "serial"};
    for (int i = cli_on_device(run->place) ? 0 : 2; i < 3; i++)
        if (has_rival(run->plan, candidates[i]))
            return candidates[i];
    return NULL;
}

static int check_place(const cli_options *options, const compare_run *run) {
    if (cli_on_device(run->place))
        return CLI_OK;
    bool cold = false;
    for (int i = 0; i < run->plan->caches.count; i++)
        cold |= run->plan->caches.values[i] == CACHE_COLD;
    if (!cold && options->ablation == NULL)
        return CLI_OK;
    cli_error(options, "%s needs a GPU, and the work would run on the CPU%s%s",
              cold ? "--cache cold" : "--ablation", run->place->note[0] != '\0' ? ": " : "",
              run->place->note);
    return CLI_BACKEND;
}

static int prepare_place(const cli_options *options, compare_run *run) {
    bench_show(options, "measuring the copy bandwidth");
    if (!cli_on_device(run->place)) {
        run->host_copy_gb_s = cli_copy_bandwidth(gsw_context_threads(run->place->host));
        return CLI_OK;
    }
    bench_device_measure(run->device);
    bool cold = false;
    for (int i = 0; i < run->plan->caches.count; i++)
        cold |= run->plan->caches.values[i] == CACHE_COLD;
    if (!cold || run->device->stream != NULL)
        return CLI_OK;
    gsw_status status = gsw_memory_alloc(run->place->run, FLUSH_BYTES, &run->flush);
    return status == GSW_SUCCESS ? CLI_OK
                                 : cli_status(options, run->place->run, status, CLI_FROM_OPTION);
}

static void print_footer(const cli_options *options, const compare_run *run) {
    bool device = cli_on_device(run->place);
    double copy = device ? run->device->copy_gb_s : run->host_copy_gb_s;
    if (isfinite(copy))
        cli_print(options, "\ncopy bandwidth %.1f GB/s%s", copy, device ? " on the device" : "");
    else
        cli_print(options, "\ncopy bandwidth not measured: that needs a build with GSW_BUILD_PERF");
    if (run->table.baseline != NULL)
        cli_print(options, "; x %.4s: speed relative to %s", run->table.baseline,
                  run->table.baseline);
    cli_print(options, "\n%s", gsw_context_device(run->place->run));
    if (device && run->device->described)
        cli_print(options, ", driver %s, toolkit %s", run->device->driver, run->device->toolkit);
    cli_print(options, "; gridsweep %s, commit %s\n", gsw_version(), gsw_commit());
    if (run->place->note[0] != '\0')
        cli_print(options, "backend cpu, not cuda: %s\n", run->place->note);
    if (device)
        cli_print(options, "times %s; L2 %s\n",
                  run->device->stream != NULL ? "between events on the stream"
                                              : "by the host's clock, short runs in batches",
                  run->plan->caches.count > 1 ? "as the column says"
                                              : bench_cache_names[run->plan->caches.values[0]]);
    if (run->has_bound)
        cli_print(options, WITHOUT_WAITING " does not wait for its neighbours: its answers are "
                                           "wrong, its time is a lower bound\n");
}

static int finish(const cli_options *options, const compare_run *run) {
    print_footer(options, run);
    int code = cli_write_results(options, run->results, run->skipped, true);
    if (run->rival_wrong > 0)
        cli_error(options, "warning: %d result%s from the reference", run->rival_wrong,
                  run->rival_wrong == 1 ? " of another solver differs"
                                        : "s of other solvers differ");
    if (run->own_wrong == 0)
        return code;
    cli_error(options, "%d result%s from the reference", run->own_wrong,
              run->own_wrong == 1 ? " differs" : "s differ");
    return CLI_BREAKDOWN;
}

int bench_compare(const cli_options *options, const bench_plan *plan, const cli_place *place,
                  bench_device *device) {
    compare_run run = {.plan = plan, .place = place, .device = device, .host_copy_gb_s = NAN};
    int code = check_place(options, &run);
    if (code != CLI_OK)
        return code;
    run.results = cJSON_CreateArray();
    run.skipped = cJSON_CreateArray();
    code = prepare_place(options, &run);
    bench_show(options, NULL);
    if (code == CLI_OK) {
        bench_table_start(options, plan, choose_baseline(&run), &run.table);
        code = run_systems(options, &run);
    }
    if (code == CLI_OK)
        code = finish(options, &run);
    gsw_memory_free(place->run, run.flush);
    cJSON_Delete(run.skipped);
    cJSON_Delete(run.results);
    return code;
}
