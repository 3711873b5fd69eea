/* sweep.c: triangular solves as tasks: with one part of a matrix, and with L, then U of ILU(0).
 *
 * Without packing an apply is one sweep with each factor, extracted as a CSR. */
#include "tasks.h"
#include <math.h>
#include <stdlib.h>

/* ---- Making --------------------------------------------------------------------------------- */

static gsw_part part_of(const bench_case *work) {
    return work->part == PART_LOWER ? GSW_LOWER : GSW_UPPER;
}

/* One sweep with a part of `matrix`, from and to vectors of that type. */
static gsw_status sweep(gsw_context *context, const gsw_matrix *matrix, gsw_part part, bool unit,
                        gsw_dtype type, gsw_algorithm algorithm, const void *b, void *x) {
    gsw_sptrsv_options wanted = {.size = sizeof wanted,
                                 .part = part,
                                 .unit_diagonal = unit,
                                 .vector_type = type,
                                 .algorithm = algorithm};
    int64_t rows = matrix->grid.nx * matrix->grid.ny * matrix->grid.nz;
    return gsw_sptrsv(context, matrix, &wanted, 1, b, rows, x, rows);
}

/* x = T^-1 x with the reference sweep, T a triangular CSR. */
static gsw_status sweep_factor(gsw_context *host, const bench_case *made, const gsw_csr *factor,
                               gsw_part part, double *x) {
    gsw_matrix view;
    const gsw_matrix *exact = &made->exact;
    gsw_status status = gsw_matrix_from_csr(host, &exact->grid, &exact->stencil, factor, &view);
    return status == GSW_SUCCESS
               ? sweep(host, &view, part, part == GSW_LOWER, GSW_F64, GSW_ALGORITHM_REFERENCE, x, x)
               : status;
}

/* The reference of an apply with the factors of `wanted`. Each factor is freed before the next is
 * extracted unless it is to be kept: at large sizes they are the largest arrays here. */
static gsw_status refer_apply(gsw_context *host, const gsw_factor_options *wanted, bool keep,
                              bench_case *made) {
    gsw_factor *factor = NULL;
    gsw_itype index = made->entries <= INT32_MAX ? GSW_I32 : GSW_I64;
    gsw_status status = gsw_factor_create(host, &made->exact, wanted, &factor);
    for (int i = 0; i < 2 && status == GSW_SUCCESS; i++) {
        gsw_csr *csr = &made->factors[i];
        status = gsw_factor_extract(host, factor, index, i == 0 ? csr : NULL, i == 1 ? csr : NULL);
        if (status == GSW_SUCCESS)
            status = sweep_factor(host, made, csr, i == 0 ? GSW_LOWER : GSW_UPPER, made->reference);
        if (!keep)
            gsw_csr_free(csr);
    }
    gsw_factor_destroy(factor);
    return status;
}

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

/* A CSR in the precision of the case as a matrix on the grid of the system. *f32 receives values
 * that had to be narrowed. */
static int view_csr(const cli_options *options, gsw_context *host, const bench_system *system,
                    const bench_case *made, gsw_csr csr, float **f32, gsw_matrix *view) {
    if (made->factor_type == GSW_F32) {
        *f32 = narrow(&csr);
        if (*f32 == NULL)
            return bench_no_memory(options);
        csr.values = *f32;
        csr.value_type = GSW_F32;
    }
    return cli_status(options, host,
                      gsw_matrix_from_csr(host, &system->grid, &system->stencil, &csr, view),
                      CLI_FROM_OPTION);
}

/* The arrays of the stencil: the reference is that of the matrix in fp64, and the tolerance allows
 * for coefficients that are rounded. */
static int take_arrays(const cli_options *options, gsw_context *host, bench_system *system,
                       bench_case *made) {
    bool f32 = made->factor_type == GSW_F32;
    int code = f32 ? bench_system_f32(options, host, system) : CLI_OK;
    made->exact = *gsw_problem_matrix(system->problem);
    made->host = f32 ? system->f32 : made->exact;
    if (made->part == PART_BOTH)
        made->entries = cli_count_entries(&made->exact, GSW_FULL);
    else
        made->entries = cli_count_entries(&made->exact, part_of(made));
    made->tolerance = f32 ? 1e-4 : 1e-12;
    return code;
}

/* A CSR of what is solved with: the reference is computed in fp64 with exactly the numbers that the
 * contestants get. */
static int take_csr(const cli_options *options, gsw_context *host, bench_system *system,
                    bench_case *made) {
    int code = bench_system_csr(options, host, made->part, made->last_part, system);
    if (code != CLI_OK)
        return code;
    made->entries = system->csr.nonzeros;
    made->tolerance = made->factor_type == GSW_F32 ? 1e-5 : 1e-13;
    code = view_csr(options, host, system, made, system->csr, &made->values_f32, &made->host);
    made->exact = made->host;
    return code;
}

static int make_reference(const cli_options *options, const bench_plan *plan, gsw_context *host,
                          const bench_system *system, bench_case *made) {
    bool keep = false;
    gsw_status status;
    if (made->part == PART_BOTH) {
        gsw_factor_options wanted = {.size = sizeof wanted, .kind = GSW_ILU0};
        if (made->mode == MODE_ARRAYS) {
            wanted.factor_type = made->factor_type;
            wanted.vector_type = made->type;
            for (int i = 0; i < plan->algorithms.count; i++)
                keep |= plan->algorithms.values[i] != GSW_ALGORITHM_PENCIL;
        }
        status = refer_apply(host, &wanted, keep, made);
    } else {
        status = sweep(host, &made->exact, part_of(made), false, GSW_F64, GSW_ALGORITHM_REFERENCE,
                       made->reference, made->reference);
    }
    int code = cli_status(options, host, status, CLI_FROM_OPTION);
    for (int i = 0; i < 2 && keep && code == CLI_OK; i++)
        code = view_csr(options, host, system, made, made->factors[i], &made->factors_f32[i],
                        &made->factor_views[i]);
    return code;
}

static int make(const cli_options *options, const bench_plan *plan, const bench_site *site,
                bench_system *system, bench_case *made) {
    gsw_context *host = site->place.host;
    made->factor_type = made->precision == PRECISION_F64 ? GSW_F64 : GSW_F32;
    made->type = made->precision == PRECISION_F32 ? GSW_F32 : GSW_F64;
    made->rows = system->rows;
    int code = made->mode == MODE_ARRAYS ? take_arrays(options, host, system, made)
                                         : take_csr(options, host, system, made);
    if (code == CLI_OK)
        code = bench_make_vectors(options, made);
    if (code == CLI_OK)
        code = make_reference(options, plan, host, system, made);
    return code == CLI_OK ? bench_upload(options, site, made) : code;
}

/* ---- Running -------------------------------------------------------------------------------- */

/* What the library's own algorithms need before the first solve: nothing, unless packed. */
static gsw_status open_task(bench_worker *worker) {
    static const gsw_factor_kind kinds[] = {GSW_FACTOR_LOWER, GSW_FACTOR_UPPER, GSW_ILU0};
    const bench_case *work = worker->work;
    if (worker->who->algorithm == GSW_ALGORITHM_PENCIL)
        return bench_open_factor(worker, kinds[work->part]);
    worker->row->setup_ms = work->mode == MODE_ARRAYS ? NAN : 0;
    /* A device's workspace is the library's secret. */
    worker->row->buffer_bytes = worker->device ? NAN : 0;
    return GSW_SUCCESS;
}

static gsw_status solve(bench_worker *worker) {
    const bench_case *work = worker->work;
    const gsw_algorithm algorithm = worker->who->algorithm;
    gsw_context *context = worker->context;
    if (worker->factor != NULL)
        return gsw_factor_solve(context, worker->factor, 1, worker->b, work->rows, worker->x,
                                work->rows);
    if (work->part != PART_BOTH)
        return sweep(context, &work->arrays.matrix, part_of(work), false, work->type, algorithm,
                     worker->b, worker->x);
    gsw_status status = sweep(context, &work->factor_views[0], GSW_LOWER, true, work->type,
                              algorithm, worker->b, worker->x);
    return status == GSW_SUCCESS ? sweep(context, &work->factor_views[1], GSW_UPPER, false,
                                         work->type, algorithm, worker->x, worker->x)
                                 : status;
}

/* ---- Figures -------------------------------------------------------------------------------- */

/* Bytes as the literature counts them: a CSR of so many entries and both vectors. */
static double effective_bytes(const bench_case *work, int64_t entries) {
    return cli_effective_bytes(entries, work->rows, (int)gsw_dtype_size(work->factor_type),
                               (int)gsw_dtype_size(work->type));
}

/* Bytes that a run must move at least: coefficients, b and x once. In an apply the diagonal is in
 * both factors; without packing, indices and row pointers must move as well. A packed factor counts
 * its own: its coefficients, and for each sweep a vector read and one written. */
static void finish(bench_worker *worker) {
    const bench_case *work = worker->work;
    gsw_factor_info info = {.size = sizeof info};
    double effective = effective_bytes(work, work->entries);
    double moved = (double)work->entries * (double)gsw_dtype_size(work->factor_type) +
                   2 * (double)gsw_dtype_size(work->type) * (double)work->rows;
    if (work->part == PART_BOTH) {
        effective = effective_bytes(work, work->entries + work->rows) + effective_bytes(work, 0);
        moved = effective;
        worker->row->precond = gsw_factor_kind_name(GSW_ILU0);
    }
    if (bench_factor_info(worker, &info))
        moved = (double)info.moved_bytes;
    bench_finish_rates(worker, effective, moved);
}

const bench_task bench_sweep = {.make = make,
                                .own = {.open = open_task, .solve = solve},
                                .start = bench_poison,
                                .check = bench_check_error,
                                .finish = finish};
