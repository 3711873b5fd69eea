/* bench_case.c: systems for `gridsweep bench`, their reference solutions, and the timing.
 *
 * The order of work for one result: poison x, run, compare with the reference (this is a warm-up as
 * well), warm up again, take the times, compare what the last run left. */
#include <math.h>
#include <stdlib.h>
#include "bench.h"

static int no_memory(const cli_options *options) {
    cli_error(options, "out of memory; try a smaller --size");
    return CLI_INPUT;
}

/* ---- Systems -------------------------------------------------------------------------------- */

static gsw_status make_f32(gsw_context *context, bench_system *system) {
    const gsw_matrix *matrix = &system->matrix;
    int32_t offsets = matrix->stencil.count;
    size_t rows = (size_t)system->rows;
    system->values_f32 = malloc(rows * (size_t)offsets * sizeof *system->values_f32);
    if (system->values_f32 == NULL)
        return GSW_ERROR_OUT_OF_MEMORY;
    for (int32_t e = 0; e < offsets; e++) {
        const double *from = matrix->array.values[e];
        float *to = system->values_f32 + rows * (size_t)e;
        system->pointers_f32[e] = to;
        for (size_t row = 0; row < rows; row++)
            to[row] = from != NULL ? (float)from[row] : 0.0F;
    }
    gsw_stencil_array array = {system->pointers_f32, GSW_F32};
    return gsw_matrix_from_stencil(context, &matrix->grid, &matrix->stencil, &array,
                                   &system->matrix_f32);
}

int bench_make_system(const cli_options *options, gsw_context *context, const gsw_grid *grid,
                      const gsw_stencil *stencil, bool need_f32, bench_system *system) {
    gsw_status status = gsw_problem_create(context, "random:1", grid, stencil, &system->problem);
    if (status != GSW_SUCCESS)
        return cli_status(options, context, status, CLI_FROM_OPTION);
    system->matrix = *gsw_problem_matrix(system->problem);
    system->rows = grid->nx * grid->ny * grid->nz;
    status = need_f32 ? make_f32(context, system) : GSW_SUCCESS;
    if (status == GSW_ERROR_OUT_OF_MEMORY)
        return no_memory(options);
    return status == GSW_SUCCESS ? CLI_OK : cli_status(options, context, status, CLI_FROM_OPTION);
}

void bench_free_system(bench_system *system) {
    free(system->values_f32);
    gsw_problem_destroy(system->problem);
}

/* ---- Cases ---------------------------------------------------------------------------------- */

static gsw_dtype vector_type(bench_precision precision) {
    return precision == PRECISION_F32 ? GSW_F32 : GSW_F64;
}

static gsw_dtype factor_type(bench_precision precision) {
    return precision == PRECISION_F64 ? GSW_F64 : GSW_F32;
}

/* The coefficients in the precision of the case. */
static const gsw_matrix *case_matrix(const bench_case *bench) {
    return bench->precision == PRECISION_F64 ? &bench->system->matrix : &bench->system->matrix_f32;
}

static gsw_status make_factor(gsw_context *context, const bench_case *bench, gsw_factor **factor) {
    static const gsw_factor_kind kinds[] = {GSW_FACTOR_LOWER, GSW_FACTOR_UPPER, GSW_ILU0};
    gsw_factor_options wanted = {.size = sizeof wanted,
                                 .kind = kinds[bench->part],
                                 .factor_type = factor_type(bench->precision),
                                 .vector_type = vector_type(bench->precision)};
    return gsw_factor_create(context, &bench->system->matrix, &wanted, factor);
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

/* One sweep with an extracted factor; `values_f32` replaces its values where it is not NULL. */
static gsw_status sweep_csr(gsw_context *context, const bench_case *bench, const gsw_csr *factor,
                            const float *values_f32, gsw_part part, gsw_dtype type,
                            gsw_algorithm algorithm, const void *b, void *x) {
    gsw_csr csr = *factor;
    gsw_matrix view;
    if (values_f32 != NULL) {
        csr.values = values_f32;
        csr.value_type = GSW_F32;
    }
    const gsw_matrix *matrix = &bench->system->matrix;
    gsw_status status = gsw_matrix_from_csr(context, &matrix->grid, &matrix->stencil, &csr, &view);
    if (status != GSW_SUCCESS)
        return status;
    return sweep(context, &view, part, part == GSW_LOWER, type, algorithm, b, x);
}

/* Reference sweeps with L, then U. Each factor is freed before the next is extracted unless it is
 * to be kept: at large sizes they are the largest arrays here. */
static gsw_status reference_both(gsw_context *context, bench_case *bench, bool keep) {
    gsw_factor *factor = NULL;
    int64_t offsets = bench->system->matrix.stencil.count;
    gsw_itype index = bench->system->rows < INT32_MAX / offsets ? GSW_I32 : GSW_I64;
    gsw_status status = make_factor(context, bench, &factor);
    if (status == GSW_SUCCESS)
        status = gsw_factor_extract(context, factor, index, &bench->lower, NULL);
    if (status == GSW_SUCCESS)
        status = sweep_csr(context, bench, &bench->lower, NULL, GSW_LOWER, GSW_F64,
                           GSW_ALGORITHM_REFERENCE, bench->b, bench->reference);
    if (!keep)
        gsw_csr_free(&bench->lower);
    if (status == GSW_SUCCESS)
        status = gsw_factor_extract(context, factor, index, NULL, &bench->upper);
    if (status == GSW_SUCCESS)
        status = sweep_csr(context, bench, &bench->upper, NULL, GSW_UPPER, GSW_F64,
                           GSW_ALGORITHM_REFERENCE, bench->reference, bench->reference);
    if (!keep)
        gsw_csr_free(&bench->upper);
    gsw_factor_destroy(factor);
    return status;
}

static gsw_status reference_part(gsw_context *context, bench_case *bench) {
    gsw_part part = bench->part == PART_LOWER ? GSW_LOWER : GSW_UPPER;
    return sweep(context, &bench->system->matrix, part, false, GSW_F64, GSW_ALGORITHM_REFERENCE,
                 bench->b, bench->reference);
}

/* CSR values in fp32; NULL without memory. */
static float *narrow(const gsw_csr *csr) {
    const double *from = csr->values;
    float *to = malloc((size_t)csr->nonzeros * sizeof *to);
    for (int64_t k = 0; to != NULL && k < csr->nonzeros; k++)
        to[k] = (float)from[k];
    return to;
}

/* Right-hand side, in both precisions the same numbers, and room for the results. */
static bool make_vectors(bench_case *bench) {
    int64_t rows = bench->system->rows;
    size_t bytes = (size_t)rows * sizeof(double);
    bench->b = malloc(bytes);
    bench->x = malloc(bytes);
    bench->reference = malloc(bytes);
    if (bench->b == NULL || bench->x == NULL || bench->reference == NULL)
        return false;
    gsw_random_vector(2, rows, bench->b);
    if (vector_type(bench->precision) == GSW_F64)
        return true;
    bench->b_f32 = malloc(bytes / 2);
    bench->x_f32 = malloc(bytes / 2);
    if (bench->b_f32 == NULL || bench->x_f32 == NULL)
        return false;
    for (int64_t i = 0; i < rows; i++) {
        bench->b_f32[i] = (float)bench->b[i];
        bench->b[i] = bench->b_f32[i];
    }
    return true;
}

int bench_make_case(const cli_options *options, gsw_context *context, const bench_system *system,
                    bench_part part, bench_precision precision, bool keep_factors,
                    bench_case *bench) {
    *bench = (bench_case){.system = system, .part = part, .precision = precision};
    if (!make_vectors(bench))
        return no_memory(options);
    gsw_status status = part == PART_BOTH ? reference_both(context, bench, keep_factors)
                                          : reference_part(context, bench);
    if (status != GSW_SUCCESS)
        return cli_status(options, context, status, CLI_FROM_OPTION);
    if (part == PART_BOTH && keep_factors && precision != PRECISION_F64) {
        bench->lower_f32 = narrow(&bench->lower);
        bench->upper_f32 = narrow(&bench->upper);
        if (bench->lower_f32 == NULL || bench->upper_f32 == NULL)
            return no_memory(options);
    }
    return CLI_OK;
}

void bench_free_case(bench_case *bench) {
    free(bench->upper_f32);
    free(bench->lower_f32);
    gsw_csr_free(&bench->upper);
    gsw_csr_free(&bench->lower);
    free(bench->x_f32);
    free(bench->b_f32);
    free(bench->reference);
    free(bench->x);
    free(bench->b);
}

double bench_tolerance(bench_precision precision) {
    return precision == PRECISION_F64 ? 1e-12 : 1e-4;
}

/* ---- Measurement ---------------------------------------------------------------------------- */

/* What is timed. `factor` is NULL for the algorithms without packing. */
static gsw_status apply(gsw_context *context, bench_case *bench, gsw_algorithm algorithm,
                        gsw_factor *factor) {
    gsw_dtype type = vector_type(bench->precision);
    int64_t rows = bench->system->rows;
    const void *b = type == GSW_F32 ? (const void *)bench->b_f32 : bench->b;
    void *x = type == GSW_F32 ? (void *)bench->x_f32 : bench->x;
    if (factor != NULL)
        return gsw_factor_solve(context, factor, 1, b, rows, x, rows);
    if (bench->part != PART_BOTH)
        return sweep(context, case_matrix(bench), bench->part == PART_LOWER ? GSW_LOWER : GSW_UPPER,
                     false, type, algorithm, b, x);
    gsw_status status = sweep_csr(context, bench, &bench->lower, bench->lower_f32, GSW_LOWER, type,
                                  algorithm, b, x);
    if (status == GSW_SUCCESS)
        status = sweep_csr(context, bench, &bench->upper, bench->upper_f32, GSW_UPPER, type,
                           algorithm, x, x);
    return status;
}

static void poison(bench_case *bench) {
    for (int64_t i = 0; i < bench->system->rows; i++) {
        bench->x[i] = NAN;
        if (bench->x_f32 != NULL)
            bench->x_f32[i] = NAN;
    }
}

static double current_error(bench_case *bench) {
    if (bench->x_f32 != NULL)
        for (int64_t i = 0; i < bench->system->rows; i++)
            bench->x[i] = bench->x_f32[i];
    return cli_max_error(bench->x, bench->reference, bench->system->rows);
}

/* The larger one; NaN where either is. */
static double worse(double a, double b) {
    return isnan(a) || isnan(b) ? NAN : fmax(a, b);
}

/* What cli_time() runs. */
typedef struct timed_case {
    gsw_context *context;
    bench_case *bench;
    gsw_algorithm algorithm;
    gsw_factor *factor;
} timed_case;

static gsw_status apply_timed(void *user) {
    timed_case *timed = user;
    return apply(timed->context, timed->bench, timed->algorithm, timed->factor);
}

static gsw_status take_times(const cli_options *options, gsw_context *context, bench_case *bench,
                             gsw_algorithm algorithm, gsw_factor *factor, cli_times *times) {
    timed_case timed = {context, bench, algorithm, factor};
    cli_task task = {
        .run = apply_timed, .user = &timed, .context = context, .repeats = options->repeats};
    return cli_time(&task, times);
}

/* Bytes that one sweep with a part must move without packing: from stencil arrays the coefficients,
 * from CSR factors indices and row pointers as well; b and x. */
static double direct_bytes(const bench_case *bench, gsw_part part) {
    double rows = (double)bench->system->rows;
    double entries = (double)cli_count_entries(&bench->system->matrix, part);
    double value = (double)gsw_dtype_size(factor_type(bench->precision));
    double vectors = 2.0 * (double)gsw_dtype_size(vector_type(bench->precision)) * rows;
    if (bench->part == PART_BOTH)
        return entries * (value + 4) + 4 * (rows + 1) + vectors;
    return entries * value + vectors;
}

static double effective_bytes(const bench_case *bench, gsw_part part) {
    return cli_effective_bytes(cli_count_entries(&bench->system->matrix, part), bench->system->rows,
                               (int)gsw_dtype_size(factor_type(bench->precision)),
                               (int)gsw_dtype_size(vector_type(bench->precision)));
}

static void fill_rates(const bench_case *bench, const gsw_factor *factor, cli_result *result) {
    double effective = 0, moved = 0, ms = result->time.median;
    gsw_factor_info info = {.size = sizeof info};
    if (bench->part != PART_UPPER) {
        effective += effective_bytes(bench, GSW_LOWER);
        moved += direct_bytes(bench, GSW_LOWER);
    }
    if (bench->part != PART_LOWER) {
        effective += effective_bytes(bench, GSW_UPPER);
        moved += direct_bytes(bench, GSW_UPPER);
    }
    result->buffer_bytes = 0;
    if (factor != NULL && gsw_factor_get_info(factor, &info) == GSW_SUCCESS) {
        moved = (double)info.moved_bytes;
        result->buffer_bytes = (double)(info.packed_bytes + info.work_bytes);
    }
    result->effective_gb_s = effective / (ms * 1e6);
    result->moved_gb_s = moved / (ms * 1e6);
}

static void fill_names(const bench_case *bench, gsw_algorithm algorithm, cli_result *result) {
    result->part = bench_part_names[bench->part];
    result->algorithm = gsw_algorithm_name(algorithm);
    result->kind = "gridsweep";
    result->cache = bench_cache_names[CACHE_WARM];
    result->dtype = vector_type(bench->precision) == GSW_F32 ? "f32" : "f64";
    result->factor_dtype = factor_type(bench->precision) == GSW_F32 ? "f32" : "f64";
    result->precond = bench->part == PART_BOTH ? "ilu0" : NULL;
}

int bench_measure(const cli_options *options, gsw_context *context, bench_case *bench,
                  gsw_algorithm algorithm, cli_result *result) {
    gsw_factor *factor = NULL;
    gsw_status status = GSW_SUCCESS;
    fill_names(bench, algorithm, result);
    if (algorithm == GSW_ALGORITHM_PENCIL) {
        double start = cli_now_ms();
        status = make_factor(context, bench, &factor);
        result->setup_ms = cli_now_ms() - start;
    }
    poison(bench);
    if (status == GSW_SUCCESS)
        status = apply(context, bench, algorithm, factor);
    result->max_rel_error = current_error(bench);
    if (status == GSW_SUCCESS)
        status = take_times(options, context, bench, algorithm, factor, &result->time);
    if (status == GSW_SUCCESS) {
        result->max_rel_error = worse(result->max_rel_error, current_error(bench));
        result->solve_ms = result->time.median;
        fill_rates(bench, factor, result);
    }
    gsw_factor_destroy(factor);
    return status == GSW_SUCCESS ? CLI_OK : cli_status(options, context, status, CLI_FROM_OPTION);
}
