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
#include "distributed_internal.h"
#include "packed.h"
#include "domain/masked.h"
#include "matrix/matrix_row.h"
#include "core/options.h"
#include "core/reserve.h"
#include "geometry/stencil_facts.h"

GSW_ENDS_WITH(gsw_factor_options, overlap);
GSW_ENDS_WITH(gsw_factor_info, sent_bytes);

const char *gsw_scope_name(gsw_scope scope) {
    return scope == GSW_SCOPE_LOCAL ? "local" : scope == GSW_SCOPE_GLOBAL ? "global" : "unknown";
}

/* ---- With a mask ------------------------------------------------------------------------------
 */

static void forget_mask(gsw_factor *factor) {
    if (factor->masked)
        gsw_masked_close(factor->context, factor->masked);
    free(factor->masked);
    factor->masked = NULL;
}

static gsw_status open_mask(gsw_factor *factor) {
    if (factor->masked)
        return GSW_SUCCESS;
    GSW_TRY(
        gsw_alloc(factor->context, 1, sizeof *factor->masked, "a mask", (void **)&factor->masked));
    *factor->masked = (gsw_masked){0};
    return GSW_SUCCESS;
}

/* Whether a factor is one of the matrix without the couplings around a periodic grid. */
static int is_of_box(gsw_factor_kind kind) {
    return kind != GSW_FACTOR_LOWER && kind != GSW_FACTOR_UPPER && kind != GSW_FACTOR_LU;
}

/* A matrix as its factor is opened for: the copy of one with a mask has all values. */
static gsw_matrix opened_for(const gsw_matrix *matrix, gsw_factor_kind kind) {
    gsw_matrix opened = *matrix;
    if (matrix->grid.periodic && matrix->format == GSW_FORMAT_CSR && is_of_box(kind))
        return gsw_matrix_of_box(matrix);
    opened.grid.periodic = 0;
    if (matrix->active)
        opened.array.repeat = GSW_REPEAT_NONE;
    return opened;
}

/* The status of a matrix that a factor of that kind does not take. */
static gsw_status check_kind(gsw_context *context, const gsw_matrix *matrix, gsw_factor_kind kind) {
    GSW_TRY(gsw_matrix_check(context, matrix));
    return is_of_box(kind) ? GSW_SUCCESS : gsw_wrapped_check_exact(context, matrix);
}

/* Takes the values of a matrix without a mask. */
static gsw_status take_box(gsw_context *context, gsw_factor *factor, const gsw_matrix *matrix,
                           const gsw_matrix *upper) {
    gsw_masked masked = {0};
    gsw_matrix plain;
    gsw_status status =
        gsw_masked_take(context, matrix, is_of_box(factor->options.kind), &masked, &plain);
    if (status == GSW_SUCCESS)
        status = gsw_packed_take(context, factor, &plain, upper);
    gsw_masked_close(context, &masked);
    return status;
}

/* Takes the values of matrices, without their inactive points, and the mask of the first one. What
 * is refused leaves the factor as it was. */
static gsw_status take(gsw_context *context, gsw_factor *factor, const gsw_matrix *matrix,
                       const gsw_matrix *upper) {
    const gsw_factor_kind kind = factor->options.kind;
    gsw_masked of_upper = {0};
    gsw_matrix plain, plain_upper;
    const gsw_matrix seen = opened_for(matrix, kind);
    if (upper) {
        plain_upper = opened_for(upper, kind);
        plain_upper.active = NULL;
    }
    GSW_TRY(gsw_packed_check(context, factor, &seen, upper ? &plain_upper : NULL));
    factor->usable = 0; /* from here on the mask may be another one than that of its values */
    if (!matrix->active) {
        forget_mask(factor);
        return take_box(context, factor, matrix, upper ? &plain_upper : NULL);
    }
    GSW_TRY(open_mask(factor));
    gsw_status status = gsw_masked_take(context, matrix, is_of_box(kind), factor->masked, &plain);
    if (status == GSW_SUCCESS && upper) {
        gsw_matrix given = *upper;
        given.active = matrix->active;
        status = gsw_masked_take(context, &given, is_of_box(kind), &of_upper, &plain_upper);
    }
    if (status == GSW_SUCCESS)
        status = gsw_packed_take(context, factor, &plain, upper ? &plain_upper : NULL);
    gsw_masked_close(context, &of_upper);
    gsw_masked_drop_arrays(context, factor->masked);
    return status;
}

/* b without its values at inactive points, in x. */
static gsw_status mask_vectors(gsw_factor *factor, int64_t count, const void **b, int64_t *ldb,
                               void *x, int64_t ldx) {
    const gsw_dtype type = factor->options.vector_type;
    const int64_t size = (int64_t)gsw_dtype_size(type);
    if (!factor->masked)
        return GSW_SUCCESS;
    for (int64_t r = 0; r < count; r++)
        GSW_TRY(gsw_masked_vector(factor->context, factor->masked, type, factor->points,
                                  (const char *)*b + r * *ldb * size, (char *)x + r * ldx * size));
    *b = x;
    *ldb = ldx;
    return GSW_SUCCESS;
}

/* ---- Creation on one process ------------------------------------------------------------------
 */

static gsw_status create(gsw_context *context, const gsw_matrix *matrix, const gsw_matrix *upper,
                         const gsw_factor_options *options, gsw_factor **factor) {
    gsw_factor *made = NULL;
    if (upper) {
        GSW_TRY(check_kind(context, upper, options->kind));
        GSW_TRY(gsw_matrix_check_place(context, upper));
    }
    GSW_TRY(check_kind(context, matrix, options->kind));
    GSW_TRY(gsw_matrix_check_place(context, matrix));
    const gsw_matrix opened = opened_for(matrix, options->kind);
    GSW_TRY(gsw_packed_open(context, &opened, options, gsw_uncut(), &made));
    const gsw_status status = take(context, made, matrix, upper);
    if (status == GSW_SUCCESS)
        *factor = made;
    else
        gsw_factor_destroy(made);
    return status;
}

/* ---- On several processes ---------------------------------------------------------------------
 */

/* Describes a factor that has values. */
static gsw_status describe_shared(gsw_factor *factor) {
    gsw_partition *p = factor->shared->partition;
    int64_t shifted;
    gsw_distributed_factor_describe(factor->shared, &factor->info);
    GSW_TRY(gsw_partition_gather(p, &factor->info.shifted_pivots, sizeof shifted));
    factor->info.shifted_pivots = 0;
    for (int process = 0; process < p->transport.processes; process++) {
        memcpy(&shifted, p->answers + (size_t)process * sizeof shifted, sizeof shifted);
        factor->info.shifted_pivots += shifted;
    }
    return GSW_SUCCESS;
}

/* Takes the mask of the own box. */
static gsw_status take_own_mask(gsw_factor *factor, const gsw_matrix *matrix) {
    const gsw_matrix box = gsw_matrix_of_own_box(matrix);
    gsw_status status = matrix->active ? open_mask(factor) : GSW_SUCCESS;
    if (status == GSW_SUCCESS && matrix->active)
        status = gsw_masked_take_mask(factor->context, &box, factor->masked);
    return gsw_partition_agree(matrix->partition, status);
}

static gsw_status open_shared(gsw_factor *made, const gsw_matrix *matrix) {
    gsw_distributed_matrix *rows;
    made->points = gsw_box_points(&matrix->partition->own);
    GSW_TRY(take_own_mask(made, matrix));
    GSW_TRY(gsw_distributed_matrix_open(matrix, &rows));
    const gsw_status status =
        gsw_distributed_factor_create_as(rows, &made->options, 0, GSW_F64, &made->shared);
    if (status != GSW_SUCCESS) {
        gsw_distributed_matrix_destroy(rows);
        return status;
    }
    made->usable = 1;
    return describe_shared(made);
}

/* gsw_factor_create() of a matrix on a partition. */
static gsw_status create_shared(gsw_context *context, const gsw_matrix *matrix,
                                const gsw_factor_options *options, gsw_factor **factor) {
    gsw_factor *made = NULL;
    gsw_status status = gsw_partition_check_result(matrix->partition, factor, "factor");
    if (status == GSW_SUCCESS) {
        *factor = NULL;
        status = gsw_alloc(context, 1, sizeof *made, "a factor", (void **)&made);
    }
    if (status == GSW_SUCCESS) {
        memset(made, 0, sizeof *made);
        made->context = context;
        status = gsw_factor_resolve(context, options, &made->options);
    }
    if (status == GSW_SUCCESS && matrix->grid.periodic && !is_of_box(made->options.kind))
        status = gsw_fail(context, GSW_ERROR_UNSUPPORTED,
                          "matrix: on several processes exact triangular solves take no periodic "
                          "grid");
    status = gsw_partition_agree(matrix->partition, status);
    if (status == GSW_SUCCESS && made != NULL) {
        gsw_factor_name_system(made, matrix);
        status = open_shared(made, matrix);
    }
    if (status == GSW_SUCCESS)
        *factor = made;
    else
        gsw_factor_destroy(made);
    return status;
}

static gsw_status refactor_shared(gsw_context *context, gsw_factor *factor,
                                  const gsw_matrix *matrix) {
    gsw_distributed_factor *f = factor->shared;
    const gsw_status own = gsw_factor_check_system(context, factor, matrix, "matrix");
    GSW_TRY(gsw_distributed_matrix_check_next(f->matrix, matrix, own, "factor"));
    factor->usable = 0;
    GSW_TRY(take_own_mask(factor, matrix));
    GSW_TRY(gsw_distributed_matrix_take(f->matrix, matrix));
    GSW_TRY(gsw_distributed_factor_refactor(f));
    factor->usable = 1;
    return describe_shared(factor);
}

static gsw_status solve_shared(gsw_factor *factor, int64_t count, const double *b, int64_t ldb,
                               double *x, int64_t ldx) {
    for (int64_t r = 0; r < count; r++)
        GSW_TRY(gsw_distributed_factor_solve(factor->shared, b + r * ldb, x + r * ldx));
    return GSW_SUCCESS;
}

static gsw_status refuse_shared(gsw_context *context, const gsw_factor *factor, const char *call) {
    return factor->shared ? gsw_fail(context, GSW_ERROR_UNSUPPORTED,
                                     "%s() is not for a factor on several processes", call)
                          : GSW_SUCCESS;
}

/* ---- Creation ---------------------------------------------------------------------------------
 */

gsw_status gsw_factor_create(gsw_context *context, const gsw_matrix *matrix,
                             const gsw_factor_options *options, gsw_factor **factor) {
    gsw_factor_options resolved;
    GSW_REQUIRE(context, context, "context is NULL");
    if (matrix && gsw_partition_of(matrix))
        return create_shared(context, matrix, options, factor);
    GSW_REQUIRE(context, factor, "factor is NULL");
    *factor = NULL;
    GSW_REQUIRE(context, matrix, "matrix is NULL");
    GSW_TRY(gsw_factor_resolve(context, options, &resolved));
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
    GSW_TRY(gsw_factor_resolve(context, &lu, &resolved));
    return create(context, lower, upper, &resolved, factor);
}

gsw_status gsw_factor_refactor(gsw_context *context, gsw_factor *factor, const gsw_matrix *matrix,
                               const gsw_matrix *upper) {
    GSW_REQUIRE(context, context, "context is NULL");
    GSW_REQUIRE(context, factor, "factor is NULL");
    GSW_REQUIRE(context, factor->context == context, "factor belongs to another context");
    if (factor->shared)
        return refactor_shared(context, factor, matrix);
    GSW_REQUIRE(context, matrix, "matrix is NULL");
    GSW_TRY(check_kind(context, matrix, factor->options.kind));
    GSW_TRY(gsw_matrix_check_place(context, matrix));
    const gsw_matrix seen = opened_for(matrix, factor->options.kind);
    GSW_TRY(gsw_factor_check_system(context, factor, &seen, "matrix"));
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

gsw_status gsw_factor_solve(gsw_context *context, gsw_factor *factor, int64_t count, const void *b,
                            int64_t ldb, void *x, int64_t ldx) {
    GSW_TRY(check_solve(context, factor, count, b, ldb, x, ldx));
    if (count == 0)
        return GSW_SUCCESS;
    GSW_TRY(mask_vectors(factor, count, &b, &ldb, x, ldx));
    return factor->shared ? solve_shared(factor, count, b, ldb, x, ldx)
                          : gsw_packed_solve(context, factor, count, b, ldb, x, ldx);
}

gsw_status gsw_factor_sweep(gsw_context *context, gsw_factor *factor, int which, int64_t count,
                            const void *b, int64_t ldb, void *x, int64_t ldx) {
    GSW_TRY(check_solve(context, factor, count, b, ldb, x, ldx));
    GSW_TRY(refuse_shared(context, factor, "gsw_factor_sweep"));
    GSW_REQUIRE(context, which >= 0 && which < gsw_factor_sweeps(factor),
                "which %d: a factor of kind %s has %d sweeps", which,
                gsw_factor_kind_name(factor->options.kind), gsw_factor_sweeps(factor));
    if (count == 0)
        return GSW_SUCCESS;
    GSW_TRY(mask_vectors(factor, count, &b, &ldb, x, ldx));
    return context->ops->factor->sweep(context, factor, which, count, b, ldb, x, ldx);
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
    GSW_TRY_GOTO(context->ops->factor->unpack(context, factor, which, values), fail);
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
        GSW_TRY(context->ops->memory->download(context, host->values + e * points,
                                               triangle->array.values[e],
                                               (size_t)points * sizeof(double)));
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
    GSW_TRY(refuse_shared(context, factor, "gsw_factor_extract"));
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
    if (factor->shared) {
        gsw_distributed_matrix *rows = factor->shared->matrix;
        gsw_distributed_factor_destroy(factor->shared);
        gsw_distributed_matrix_destroy(rows);
    }
    forget_mask(factor);
    gsw_packed_close(factor);
}
