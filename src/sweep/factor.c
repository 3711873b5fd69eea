/* factor.c: packed factors: validation, life cycle, solves and extraction. The backend does the
 * work. */
#include <gridsweep/factor.h>
#include <gridsweep/memory.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "contract/allocate.h"
#include "contract/backend.h"
#include "contract/check.h"
#include "contract/context.h"
#include "contract/error.h"
#include "contract/row.h"
#include "factor.h"
#include "matrix/matrix_row.h"
#include "core/options.h"
#include "core/reserve.h"
#include "matrix/stencil_facts.h"

GSW_ENDS_WITH(gsw_factor_options, pivot_shift);
GSW_ENDS_WITH(gsw_factor_info, first_bad_row);

/* Checks the options and resolves their defaults. */
static gsw_status resolve(gsw_context *context, const gsw_factor_options *given,
                          gsw_factor_options *options) {
    GSW_TRY(gsw_options_take(context, "gsw_factor_options", given, sizeof *options, options));
    GSW_REQUIRE(context, (unsigned)options->kind <= GSW_FACTOR_LU, "options->kind %d is unknown",
                (int)options->kind);
    GSW_REQUIRE(context, (unsigned)options->factor_type <= GSW_F32,
                "options->factor_type %d is unknown", (int)options->factor_type);
    GSW_REQUIRE(context, (unsigned)options->vector_type <= GSW_F32,
                "options->vector_type %d is unknown", (int)options->vector_type);
    GSW_REQUIRE(context, options->omega >= 0 && options->omega < 2,
                "options->omega %g is not in (0, 2)", options->omega);
    GSW_REQUIRE(context, options->pivot_shift >= 0 && isfinite(options->pivot_shift),
                "options->pivot_shift %g is negative or not finite", options->pivot_shift);
    if (options->omega == 0)
        options->omega = 1;
    if (options->kind != GSW_FACTOR_LOWER && options->kind != GSW_FACTOR_UPPER &&
        options->kind != GSW_FACTOR_LU)
        options->unit_diagonal = 0;
    if (options->kind == GSW_IC0)
        options->transpose = 0; /* symmetric */
    if (options->vector_type == GSW_F32 && options->factor_type == GSW_F64)
        return gsw_fail(context, GSW_ERROR_UNSUPPORTED,
                        "fp64 factors with fp32 vectors are not supported");
    return GSW_SUCCESS;
}

/* Checks that the factor can take values from this matrix. */
static gsw_status check_matrix(gsw_context *context, const gsw_factor *factor,
                               const gsw_matrix *matrix, const char *name) {
    GSW_REQUIRE(context, matrix, "%s is NULL", name);
    GSW_TRY(gsw_matrix_check(context, matrix));
    GSW_REQUIRE(context, gsw_grid_is_same(&matrix->grid, &factor->info.grid),
                "%s: its grid is not the factor's", name);
    GSW_REQUIRE(context, gsw_stencil_is_same(&matrix->stencil, &factor->stencil),
                "%s: its stencil is not the factor's", name);
    return GSW_SUCCESS;
}

static gsw_status fill(gsw_context *context, gsw_factor *factor, const gsw_matrix *matrix,
                       const gsw_matrix *upper) {
    GSW_TRY(check_matrix(context, factor, matrix, "matrix"));
    if (factor->options.kind == GSW_FACTOR_LU)
        GSW_TRY(check_matrix(context, factor, upper, "upper"));
    else
        GSW_REQUIRE(context, !upper, "upper must be NULL, except for kind LU");
    factor->usable = 0;
    factor->row_base = gsw_matrix_row_base(matrix);
    return context->ops->factor_fill(context, factor, matrix, upper);
}

gsw_status gsw_factor_await(gsw_context *context, gsw_factor *factor) {
    GSW_REQUIRE(context, factor, "factor is NULL");
    if (context->ops->factor_await != NULL)
        GSW_TRY(context->ops->factor_await(context, factor));
    factor->usable = 1;
    return GSW_SUCCESS;
}

static gsw_status check_stencil(gsw_context *context, const gsw_stencil *stencil,
                                gsw_factor_kind kind) {
    if (kind == GSW_IC0 && !gsw_stencil_is_symmetric(stencil))
        return gsw_fail(context, GSW_ERROR_UNSUPPORTED,
                        "ic0 needs a symmetric stencil: one that has -o for each offset o");
    return GSW_SUCCESS;
}

/* Opens a factor without values. The options are resolved. `ghosts` is NULL, except for the factor
 * of a process. */
static gsw_status begin(gsw_context *context, const gsw_matrix *matrix,
                        const gsw_factor_options *options, int64_t section, const int64_t ghosts[2],
                        int axis, gsw_factor **factor) {
    gsw_factor *made;
    int64_t points;
    GSW_TRY(gsw_matrix_check(context, matrix));
    GSW_TRY(gsw_matrix_check_place(context, matrix));
    GSW_TRY(gsw_grid_points(&matrix->grid, &points));
    GSW_TRY(check_stencil(context, &matrix->stencil, options->kind));
    GSW_TRY(gsw_alloc(context, 1, sizeof *made, "a factor", (void **)&made));
    memset(made, 0, sizeof *made);
    made->context = context;
    made->options = *options;
    made->section = section;
    made->grid = matrix->grid;
    if (ghosts != NULL) {
        int64_t *const extent[3] = {&made->grid.nx, &made->grid.ny, &made->grid.nz};
        *extent[axis] += ghosts[0] + ghosts[1];
        memcpy(made->ghosts, ghosts, sizeof made->ghosts);
        made->as_slab = 1;
    }
    made->stencil = matrix->stencil;
    made->points = points;
    made->info.size = sizeof made->info;
    made->info.kind = options->kind;
    made->info.factor_type = options->factor_type;
    made->info.vector_type = options->vector_type;
    made->info.grid = matrix->grid;
    made->info.stencil = matrix->stencil;
    made->info.first_bad_row = -1;
    const gsw_status status = context->ops->factor_open(context, made);
    if (status == GSW_SUCCESS)
        *factor = made;
    else
        free(made);
    return status;
}

/* Takes values and waits for them. */
static gsw_status take(gsw_context *context, gsw_factor *factor, const gsw_matrix *matrix,
                       const gsw_matrix *upper) {
    const gsw_quiet quiet = gsw_quiet_begin(context);
    gsw_status status = fill(context, factor, matrix, upper);
    if (status == GSW_SUCCESS)
        status = gsw_factor_await(context, factor);
    const int64_t row = upper != NULL ? -1 : factor->info.first_bad_row;
    return gsw_matrix_explain(context, &quiet, matrix, row, factor->options.kind == GSW_IC0,
                              status);
}

static gsw_status create(gsw_context *context, const gsw_matrix *matrix, const gsw_matrix *upper,
                         const gsw_factor_options *options, gsw_factor **factor) {
    gsw_factor *made = NULL;
    if (upper) {
        GSW_TRY(gsw_matrix_check(context, upper));
        GSW_TRY(gsw_matrix_check_place(context, upper));
    }
    GSW_TRY(begin(context, matrix, options, 0, NULL, 0, &made));
    const gsw_status status = take(context, made, matrix, upper);
    if (status == GSW_SUCCESS)
        *factor = made;
    else
        gsw_factor_destroy(made);
    return status;
}

gsw_status gsw_factor_open(gsw_context *context, const gsw_matrix *matrix,
                           const gsw_factor_options *options, int64_t section,
                           gsw_factor **factor) {
    gsw_factor_options resolved;
    GSW_TRY(resolve(context, options, &resolved));
    return begin(context, matrix, &resolved, section, NULL, 0, factor);
}

gsw_status gsw_factor_open_ghosts(gsw_context *context, const gsw_matrix *matrix,
                                  const gsw_factor_options *options, const int64_t ghosts[2],
                                  int axis, gsw_factor **factor) {
    gsw_factor_options resolved;
    GSW_TRY(resolve(context, options, &resolved));
    return begin(context, matrix, &resolved, 0, ghosts, axis, factor);
}

gsw_status gsw_factor_queue(gsw_context *context, gsw_factor *factor, const gsw_matrix *matrix) {
    return fill(context, factor, matrix, NULL);
}

gsw_status gsw_factor_create(gsw_context *context, const gsw_matrix *matrix,
                             const gsw_factor_options *options, gsw_factor **factor) {
    gsw_factor_options resolved;
    GSW_REQUIRE(context, context, "context is NULL");
    GSW_REQUIRE(context, factor, "factor is NULL");
    *factor = NULL;
    GSW_REQUIRE(context, matrix, "matrix is NULL");
    GSW_TRY(resolve(context, options, &resolved));
    GSW_REQUIRE(context, resolved.kind != GSW_FACTOR_LU,
                "options->kind is LU: call gsw_factor_create_lu()");
    return create(context, matrix, NULL, &resolved, factor);
}

gsw_status gsw_factor_create_lu(gsw_context *context, const gsw_matrix *lower,
                                const gsw_matrix *upper, const gsw_factor_options *options,
                                gsw_factor **factor) {
    gsw_factor_options resolved;
    GSW_REQUIRE(context, context, "context is NULL");
    GSW_REQUIRE(context, factor, "factor is NULL");
    *factor = NULL;
    GSW_REQUIRE(context, lower, "lower is NULL");
    GSW_REQUIRE(context, upper, "upper is NULL");
    gsw_factor_options lu;
    GSW_TRY(gsw_options_take(context, "gsw_factor_options", options, sizeof lu, &lu));
    lu.kind = GSW_FACTOR_LU;
    GSW_TRY(resolve(context, &lu, &resolved));
    return create(context, lower, upper, &resolved, factor);
}

gsw_status gsw_factor_refactor(gsw_context *context, gsw_factor *factor, const gsw_matrix *matrix,
                               const gsw_matrix *upper) {
    GSW_REQUIRE(context, context, "context is NULL");
    GSW_REQUIRE(context, factor, "factor is NULL");
    GSW_REQUIRE(context, factor->context == context, "factor belongs to another context");
    return take(context, factor, matrix, upper);
}

/* ---- Solving ----------------------------------------------------------------------------------
 */

static gsw_status check_solve(gsw_context *context, const gsw_factor *factor, int64_t count,
                              const void *b, int64_t ldb, const void *x, int64_t ldx) {
    GSW_REQUIRE(context, context, "context is NULL");
    GSW_REQUIRE(context, factor, "factor is NULL");
    GSW_REQUIRE(context, factor->context == context, "factor belongs to another context");
    GSW_REQUIRE(context, factor->usable, "factor holds no values: its last factorisation failed");
    const gsw_vector vectors[] = {{.name = "b", .data = b, .ld = ldb},
                                  {.name = "x", .data = x, .ld = ldx, .written = 1, .may_be = "b"}};
    return gsw_check_vectors(context, factor->points, factor->options.vector_type, count, vectors,
                             2);
}

int gsw_factor_sweeps(const gsw_factor *factor) {
    if (!factor || factor->options.kind == GSW_JACOBI)
        return 0;
    return factor->options.kind == GSW_FACTOR_LOWER || factor->options.kind == GSW_FACTOR_UPPER ? 1
                                                                                                : 2;
}

gsw_status gsw_factor_solve(gsw_context *context, gsw_factor *factor, int64_t count, const void *b,
                            int64_t ldb, void *x, int64_t ldx) {
    GSW_TRY(check_solve(context, factor, count, b, ldb, x, ldx));
    if (count == 0)
        return GSW_SUCCESS;
    GSW_TRY(context->ops->factor_sweep(context, factor, 0, count, b, ldb, x, ldx));
    if (gsw_factor_sweeps(factor) == 2)
        GSW_TRY(context->ops->factor_sweep(context, factor, 1, count, x, ldx, x, ldx));
    return GSW_SUCCESS;
}

gsw_status gsw_factor_sweep(gsw_context *context, gsw_factor *factor, int which, int64_t count,
                            const void *b, int64_t ldb, void *x, int64_t ldx) {
    GSW_TRY(check_solve(context, factor, count, b, ldb, x, ldx));
    GSW_REQUIRE(context, which >= 0 && which < gsw_factor_sweeps(factor),
                "which %d: a factor of kind %s has %d sweeps", which,
                gsw_factor_kind_name(factor->options.kind), gsw_factor_sweeps(factor));
    return count == 0 ? GSW_SUCCESS
                      : context->ops->factor_sweep(context, factor, which, count, b, ldb, x, ldx);
}

/* ---- Extraction -------------------------------------------------------------------------------
 */

/* L or U as stencil arrays in the context's memory, but L1 and D L1^T for IC0. The stencil has the
 * offsets of the triangle alone. Free the matrix with gsw_matrix_release(). */
static gsw_status unpack_triangle(gsw_context *context, const gsw_factor *factor, int upper,
                                  gsw_matrix *triangle) {
    const gsw_stencil *whole = &factor->stencil;
    const int32_t first = upper ? whole->center : 0;
    const int32_t end = upper ? whole->count : whole->center + 1;
    const int which = factor->options.kind == GSW_FACTOR_UPPER ? 0 : upper;
    double *values[GSW_STENCIL_MAX];
    const void **arrays;
    size_t bytes;
    gsw_status status;
    *triangle = (gsw_matrix){.grid = factor->grid, .format = GSW_FORMAT_STENCIL};
    GSW_TRY(gsw_vector_bytes(context, factor->points, &bytes));
    GSW_TRY(gsw_stencil_from_offsets(whole->offsets + first, end - first, &triangle->stencil));
    GSW_TRY(gsw_alloc(context, (size_t)(end - first), sizeof *arrays,
                      "the pointers to stencil arrays", (void **)&arrays));
    for (int32_t e = first; e < end; e++)
        arrays[e - first] = NULL;
    triangle->array = (gsw_stencil_array){.values = arrays, .value_type = GSW_F64};
    for (int32_t e = first; e < end; e++) {
        GSW_TRY_GOTO(gsw_memory_alloc(context, bytes, (void **)&values[e]), fail);
        arrays[e - first] = values[e];
    }
    GSW_TRY_GOTO(context->ops->factor_unpack(context, factor, which, values), fail);
    return GSW_SUCCESS;

fail:
    gsw_matrix_release(context, triangle);
    return status;
}

/* L or U on the host. */
typedef struct host_triangle {
    double *values;    /* [offset of the triangle][row]; NULL: none */
    gsw_matrix matrix; /* of these */
    const void *arrays[GSW_STENCIL_MAX];
} host_triangle;

static gsw_status download(gsw_context *context, const gsw_matrix *triangle, int64_t points,
                           host_triangle *host) {
    const int32_t count = triangle->stencil.count;
    GSW_TRY(gsw_alloc(context, (size_t)points, (size_t)count * sizeof(double), "extracted factors",
                      (void **)&host->values));
    host->matrix = *triangle;
    host->matrix.array.values = host->arrays;
    for (int32_t e = 0; e < count; e++) {
        host->arrays[e] = host->values + e * points;
        GSW_TRY(context->ops->download(context, host->values + e * points,
                                       triangle->array.values[e], (size_t)points * sizeof(double)));
    }
    return GSW_SUCCESS;
}

static gsw_status take_triangle(gsw_context *context, const gsw_factor *factor, int upper,
                                host_triangle *host) {
    gsw_matrix triangle;
    GSW_TRY(unpack_triangle(context, factor, upper, &triangle));
    const gsw_status status = download(context, &triangle, factor->points, host);
    gsw_matrix_release(context, &triangle);
    return status;
}

/* IC0: turns L1 (unit) and D L1^T into L = L1 sqrt(D) and L^T. */
static void balance(const gsw_factor *factor, host_triangle *lower, host_triangle *upper) {
    const gsw_stencil *stencil = &lower->matrix.stencil;
    const int64_t points = factor->points;
    double *const root = lower->values + stencil->center * points;
    for (int64_t row = 0; row < points; row++)
        root[row] = sqrt(upper->values[row]);
    for (int32_t e = 0; e < stencil->center; e++) {
        const gsw_offset o = stencil->offsets[e];
        const int64_t step = gsw_grid_row(&factor->grid, o.dx, o.dy, o.dz);
        double *const values = lower->values + e * points;
        for (int64_t row = 0; row < points; row++) {
            if (values[row] != 0)
                values[row] *= root[row + step];
        }
    }
    for (int32_t e = 0; e < upper->matrix.stencil.count; e++) {
        for (int64_t row = 0; row < points; row++)
            upper->values[e * points + row] /= root[row];
    }
}

gsw_status gsw_factor_extract(gsw_context *context, const gsw_factor *factor, gsw_itype index_type,
                              gsw_csr *lower, gsw_csr *upper) {
    gsw_status status;
    host_triangle part[2] = {{.values = NULL}, {.values = NULL}};
    gsw_csr made[2] = {{0}, {0}};
    GSW_REQUIRE(context, context, "context is NULL");
    GSW_REQUIRE(context, factor, "factor is NULL");
    const gsw_factor_kind kind = factor->options.kind;
    if (kind == GSW_JACOBI || kind == GSW_SSOR || factor->options.transpose)
        return gsw_fail(context, GSW_ERROR_UNSUPPORTED,
                        "L and U cannot be extracted from a %sfactor of kind %s",
                        factor->options.transpose ? "transposed " : "", gsw_factor_kind_name(kind));
    GSW_REQUIRE(context, kind != GSW_FACTOR_UPPER || !lower, "kind upper has no L");
    GSW_REQUIRE(context, kind != GSW_FACTOR_LOWER || !upper, "kind lower has no U");
    GSW_REQUIRE(context, factor->usable, "factor holds no values: its last factorisation failed");

    gsw_csr *const wanted[2] = {lower, upper};
    for (int k = 0; k < 2; k++) {
        if (wanted[k] || kind == GSW_IC0)
            GSW_TRY_GOTO(take_triangle(context, factor, k, &part[k]), cleanup);
    }
    if (kind == GSW_IC0)
        balance(factor, &part[0], &part[1]);
    for (int k = 0; k < 2; k++) {
        if (wanted[k])
            GSW_TRY_GOTO(
                gsw_matrix_to_csr(context, &part[k].matrix, GSW_FULL, index_type, &made[k]),
                cleanup);
    }
    for (int k = 0; k < 2; k++) {
        if (wanted[k])
            *wanted[k] = made[k];
    }
    memset(made, 0, sizeof made);
    status = GSW_SUCCESS;

cleanup:
    gsw_csr_free(&made[1]);
    gsw_csr_free(&made[0]);
    free(part[1].values);
    free(part[0].values);
    return status;
}

gsw_status gsw_factor_get_info(const gsw_factor *factor, gsw_factor_info *info) {
    if (!factor || !info)
        return GSW_ERROR_INVALID_ARGUMENT;
    GSW_TRY(gsw_result_check(factor->context, "gsw_factor_info", info));
    gsw_result_give(info, &factor->info, sizeof factor->info);
    return GSW_SUCCESS;
}

void gsw_factor_destroy(gsw_factor *factor) {
    if (!factor)
        return;
    factor->context->ops->factor_close(factor->context, factor);
    free(factor);
}
