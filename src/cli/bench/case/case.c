/* case.c: what all cases have: vectors, copies on the device, packed factors, errors and rates. */
#include "case.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <gridsweep/memory.h>

/* The step that does not wait for its neighbours: a lower bound whose answers are wrong. */
#define WITHOUT_WAITING "state-none"

int bench_no_memory(const cli_options *options) {
    return cli_error(options, "out of memory; try a smaller --%s",
                     options->whole_solve ? "problem" : "size");
}

/* ---- Systems -------------------------------------------------------------------------------- */

int bench_make_system(const cli_options *options, gsw_context *host, const gsw_stencil *stencil,
                      const gsw_grid *grid, bench_system *system) {
    const char *name = options->hpcg ? "hpcg" : options->problem;
    *system =
        (bench_system){.grid = *grid, .stencil = *stencil, .rows = grid->nx * grid->ny * grid->nz};
    return cli_status(options, host,
                      gsw_problem_create(host, name != NULL ? name : "random:1", grid,
                                         name != NULL ? NULL : stencil, &system->problem),
                      CLI_FROM_OPTION);
}

int bench_system_csr(const cli_options *options, gsw_context *host, bench_part part, bool last,
                     bench_system *system) {
    static const gsw_part parts[] = {GSW_LOWER, GSW_UPPER, GSW_FULL}; /* of bench_part */
    if (system->csr.row_ptr != NULL && system->part == part)
        return CLI_OK;
    const gsw_matrix *matrix = gsw_problem_matrix(system->problem);
    const int64_t entries = cli_count_entries(matrix, parts[part]);
    gsw_csr_free(&system->csr);
    system->csr = (gsw_csr){0};
    system->part = part;
    gsw_status status = gsw_matrix_to_csr(host, matrix, parts[part],
                                          entries <= INT32_MAX ? GSW_I32 : GSW_I64, &system->csr);
    if (last) {
        gsw_problem_destroy(system->problem);
        system->problem = NULL;
    }
    return cli_status(options, host, status, CLI_FROM_OPTION);
}

int bench_system_f32(const cli_options *options, gsw_context *host, bench_system *system) {
    const gsw_matrix *matrix = gsw_problem_matrix(system->problem);
    int32_t offsets = matrix->stencil.count;
    size_t rows = (size_t)system->rows;
    if (system->values_f32 != NULL)
        return CLI_OK;
    system->values_f32 = malloc(rows * (size_t)offsets * sizeof *system->values_f32);
    if (system->values_f32 == NULL)
        return bench_no_memory(options);
    for (int32_t e = 0; e < offsets; e++) {
        const double *from = matrix->array.values[e];
        float *to = system->values_f32 + rows * (size_t)e;
        system->pointers_f32[e] = to;
        for (size_t row = 0; row < rows; row++)
            to[row] = from != NULL ? (float)from[row] : 0.0F;
    }
    gsw_stencil_array array = {.values = system->pointers_f32, .value_type = GSW_F32};
    gsw_status status =
        gsw_matrix_from_stencil(host, &matrix->grid, &matrix->stencil, &array, &system->f32);
    return cli_status(options, host, status, CLI_FROM_OPTION);
}

void bench_free_system(bench_system *system) {
    free(system->values_f32);
    gsw_csr_free(&system->csr);
    gsw_problem_destroy(system->problem);
    *system = (bench_system){0};
}

/* ---- Making and freeing --------------------------------------------------------------------- */

int bench_make_vectors(const cli_options *options, bench_case *made) {
    size_t count = (size_t)made->rows;
    bool f32 = made->type == GSW_F32;
    made->vector_bytes = count * gsw_dtype_size(made->type);
    made->b = malloc(made->vector_bytes);
    made->x = malloc(made->vector_bytes);
    made->reference = malloc(count * sizeof(double));
    made->wide = f32 ? malloc(count * sizeof(double)) : made->x;
    if (made->b == NULL || made->x == NULL || made->reference == NULL || made->wide == NULL)
        return bench_no_memory(options);
    gsw_random_vector(2, made->rows, made->reference);
    for (size_t i = 0; f32 && i < count; i++) {
        ((float *)made->b)[i] = (float)made->reference[i];
        made->reference[i] = ((float *)made->b)[i];
    }
    if (!f32)
        memcpy(made->b, made->reference, made->vector_bytes);
    memset(made->x, 0xff, made->vector_bytes);
    return CLI_OK;
}

int bench_make_problem(const cli_options *options, const bench_plan *plan, const bench_site *site,
                       bench_system *system, bench_case *made) {
    (void)plan;
    const bench_task *task = made->task;
    gsw_context *context = site->place.run;
    made->tolerance = task->tolerance;
    made->rows = system->rows;
    made->host = *gsw_problem_matrix(system->problem);
    made->host.active = NULL; /* rows of inactive points are the identity's */
    made->exact = made->host;
    made->entries = cli_count_entries(&made->host, GSW_FULL);
    int code = bench_make_vectors(options, made);
    if (code == CLI_OK && task->guess) {
        made->guess = malloc(made->vector_bytes);
        if (made->guess == NULL)
            return bench_no_memory(options);
        gsw_random_vector(3, made->rows, made->guess);
    }
    if (code == CLI_OK && task->refer != NULL)
        task->refer(made);
    if (code == CLI_OK)
        code = bench_upload(options, site, made);
    if (code == CLI_OK && task->workspace)
        code =
            cli_status(options, context, gsw_memory_alloc(context, made->vector_bytes, &made->work),
                       CLI_FROM_OPTION);
    return code;
}

int bench_upload(const cli_options *options, const bench_site *site, bench_case *made) {
    return cli_upload(options, &site->place, &made->host, made->b, made->x, made->vector_bytes,
                      &made->arrays);
}

void bench_free_case(const bench_site *site, bench_case *made) {
    if (made->boxes.place == NULL) /* else they have the arrays */
        cli_arrays_free(&site->place, &made->arrays);
    cli_boxes_close(&made->boxes);
    if (made->work != NULL)
        gsw_memory_free(site->place.run, made->work);
    gsw_matrix_release(site->place.run, &made->device_csr);
    gsw_csr_free(&made->csr);
    cli_input_free(&made->input);
    free(made->guess);
    for (int i = 0; i < 2; i++) {
        free(made->factors_f32[i]);
        gsw_csr_free(&made->factors[i]);
    }
    if (made->wide != made->x)
        free(made->wide);
    free(made->reference);
    free(made->x);
    free(made->b);
    free(made->values_f32);
}

/* ---- Packed factors ------------------------------------------------------------------------- */

bool bench_factor_info(const bench_worker *worker, gsw_factor_info *info) {
    return worker->factor != NULL && gsw_factor_get_info(worker->factor, info) == GSW_SUCCESS;
}

gsw_status bench_open_factor(bench_worker *worker, gsw_factor_kind kind) {
    const bench_case *work = worker->work;
    gsw_factor_options wanted = {.size = sizeof wanted,
                                 .kind = kind,
                                 .factor_type = work->factor_type,
                                 .vector_type = work->type};
    const gsw_matrix *matrix = worker->device ? &work->arrays.matrix : &work->exact;
    gsw_factor_info info = {.size = sizeof info};
    double start = cli_now_ms();
    gsw_status status = gsw_factor_create(worker->context, matrix, &wanted, &worker->factor);
    if (status == GSW_SUCCESS)
        status = gsw_context_synchronize(worker->context);
    worker->row->setup_ms = cli_now_ms() - start;
    if (bench_factor_info(worker, &info))
        worker->row->buffer_bytes = (double)(info.packed_bytes + info.work_bytes);
    return status;
}

double bench_plain_row(const gsw_matrix *matrix, int64_t row, const double *b, const double *x) {
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
            sum -= a[row] * x[gsw_grid_row(grid, px, py, pz)];
    }
    return sum / diagonal[row];
}

/* ---- Errors and rates ----------------------------------------------------------------------- */

gsw_status bench_poison(bench_worker *worker) {
    return gsw_memory_set(worker->context, worker->x, 0xff, worker->work->vector_bytes);
}

/* The larger one; NaN where either is, which is worse than any number. */
static double worse(double a, double b) {
    return isnan(a) || isnan(b) ? NAN : fmax(a, b);
}

/* Whatever a solve on the device ran into shows here. */
gsw_status bench_check_error(bench_worker *worker) {
    bench_case *work = worker->work;
    double *error = &worker->row->max_rel_error;
    gsw_status status = GSW_SUCCESS;
    if (worker->x != work->x)
        status = gsw_memory_download(worker->context, work->x, worker->x, work->vector_bytes);
    if (status != GSW_SUCCESS)
        return status;
    for (int64_t i = 0; work->type == GSW_F32 && i < work->rows; i++)
        work->wide[i] = ((const float *)work->x)[i];
    *error = worse(*error, cli_max_error(work->wide, work->reference, work->rows));
    return GSW_SUCCESS;
}

void bench_finish_rates(bench_worker *worker, double effective_bytes, double moved_bytes) {
    bench_row *row = worker->row;
    double ms = row->time.median;
    bool away = cli_on_device(&worker->site->place) && !worker->device;
    row->solve_ms = ms;
    row->effective_gb_s = effective_bytes / (ms * 1e6);
    row->moved_gb_s = moved_bytes / (ms * 1e6);
    row->copy_gb_s = away ? NAN : worker->site->copy_gb_s;
    row->fraction_of_copy = row->moved_gb_s / row->copy_gb_s;
    row->checked = strcmp(row->algorithm, WITHOUT_WAITING) != 0;
    if (row->checked)
        row->wrong = !(row->max_rel_error <= worker->work->tolerance);
    else
        row->max_rel_error = NAN;
}
