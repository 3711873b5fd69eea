/* sptrsv.c: validates and dispatches the direct triangular solve. */
#include "contract/backend.h"
#include "contract/check.h"
#include "contract/context.h"
#include "contract/error.h"
#include "domain/masked.h"
#include "matrix/matrix_row.h"
#include "core/options.h"

GSW_ENDS_WITH(gsw_sptrsv_options, workspace);

static gsw_status check_options(gsw_context *context, const gsw_matrix *matrix,
                                const gsw_sptrsv_options *options) {
    GSW_REQUIRE(context, options->part == GSW_LOWER || options->part == GSW_UPPER,
                "part must be GSW_LOWER or GSW_UPPER");
    GSW_TRY(gsw_check_vector_type(context, matrix, options->vector_type));
    GSW_REQUIRE(context,
                options->algorithm >= GSW_ALGORITHM_AUTO &&
                    options->algorithm <= GSW_ALGORITHM_PENCIL,
                "algorithm %d is unknown", (int)options->algorithm);
    return GSW_SUCCESS;
}

static gsw_factor_options packed_options(const gsw_sptrsv_options *options) {
    return (gsw_factor_options){
        .size = sizeof(gsw_factor_options),
        .kind = options->part == GSW_LOWER ? GSW_FACTOR_LOWER : GSW_FACTOR_UPPER,
        .factor_type = options->vector_type, /* rounds nothing that the vectors do not round */
        .vector_type = options->vector_type,
        .transpose = options->transpose,
        .unit_diagonal = options->unit_diagonal,
    };
}

/* Its grid and stencil are checked when it takes the matrix. */
static gsw_status check_workspace(gsw_context *context, const gsw_sptrsv_options *options) {
    if (options->workspace == NULL)
        return GSW_SUCCESS;
    const gsw_factor_options wanted = packed_options(options);
    const gsw_factor_options *given = &options->workspace->options;
    GSW_REQUIRE(context, options->workspace->context == context,
                "workspace belongs to another context");
    GSW_REQUIRE(context, given->kind == wanted.kind, "workspace is a factor of kind %s, not %s",
                gsw_factor_kind_name(given->kind), gsw_factor_kind_name(wanted.kind));
    GSW_REQUIRE(context,
                given->factor_type == wanted.factor_type &&
                    given->vector_type == wanted.vector_type,
                "workspace: its factor_type and vector_type must equal vector_type of the solve");
    GSW_REQUIRE(context,
                !given->transpose == !wanted.transpose &&
                    !given->unit_diagonal == !wanted.unit_diagonal,
                "workspace: its transpose or unit_diagonal differs from the solve's");
    return GSW_SUCCESS;
}

/* Packs the part and sweeps, through the workspace or through a temporary factor. */
static gsw_status solve_packed(gsw_context *context, const gsw_matrix *matrix,
                               const gsw_sptrsv_options *options, int64_t count, const void *b,
                               int64_t ldb, void *x, int64_t ldx) {
    const gsw_factor_options packed = packed_options(options);
    gsw_factor *factor = options->workspace;
    if (factor != NULL)
        GSW_TRY(gsw_factor_refactor(context, factor, matrix, NULL));
    else
        GSW_TRY(gsw_factor_create(context, matrix, &packed, &factor));
    const gsw_status status = gsw_factor_solve(context, factor, count, b, ldb, x, ldx);
    if (options->workspace == NULL)
        gsw_factor_destroy(factor);
    return status;
}

/* From stencil arrays, packing and one sweep took 0.5 to 0.98 of the time of LINE on one H200, D3N7
 * and D3N27, 64^3 to 256^3 (perf/DECISIONS.md, Packing for one solve). From CSR it has not been
 * measured to be faster. */
static gsw_algorithm choose(const gsw_context *context, const gsw_matrix *matrix,
                            const gsw_sptrsv_options *options) {
    if (options->algorithm != GSW_ALGORITHM_AUTO)
        return options->algorithm;
    return options->workspace != NULL && context->ops->matrix->packs_faster &&
                   matrix->format == GSW_FORMAT_STENCIL
               ? GSW_ALGORITHM_PENCIL
               : GSW_ALGORITHM_LINE;
}

/* The direct solve, one right-hand side after the other. */
static gsw_status solve_direct(gsw_context *context, const gsw_matrix *matrix,
                               const gsw_sptrsv_options *options, int64_t points, int64_t count,
                               const void *b, int64_t ldb, void *x, int64_t ldx) {
    const size_t size = gsw_dtype_size(options->vector_type);
    const gsw_quiet quiet = gsw_quiet_begin(context);
    gsw_masked masked = {0};
    gsw_matrix plain;
    gsw_status status = gsw_masked_take(context, matrix, 0, &masked, &plain);
    for (int64_t r = 0; r < count && status == GSW_SUCCESS; r++) {
        const void *from = (const char *)b + (size_t)(r * ldb) * size;
        void *to = (char *)x + (size_t)(r * ldx) * size;
        if (masked.active != NULL) {
            status = gsw_masked_vector(context, &masked, options->vector_type, points, from, to);
            from = to;
        }
        if (status == GSW_SUCCESS)
            status = context->ops->matrix->sptrsv(context, &plain, options, from, to);
    }
    gsw_masked_close(context, &masked);
    return gsw_matrix_explain(context, &quiet, matrix, -1, 0, status);
}

gsw_status gsw_sptrsv(gsw_context *context, const gsw_matrix *matrix,
                      const gsw_sptrsv_options *options, int64_t count, const void *b, int64_t ldb,
                      void *x, int64_t ldx) {
    const gsw_vector vectors[] = {{.name = "b", .data = b, .ld = ldb},
                                  {.name = "x", .data = x, .ld = ldx, .written = 1, .may_be = "b"}};
    gsw_sptrsv_options chosen;
    int64_t points;

    GSW_REQUIRE(context, context != NULL, "context is NULL");
    GSW_TRY(gsw_options_take(context, "gsw_sptrsv_options", options, sizeof chosen, &chosen));
    GSW_TRY(gsw_matrix_check(context, matrix));
    GSW_TRY(gsw_matrix_check_kind(context, matrix));
    GSW_TRY(check_options(context, matrix, &chosen));
    GSW_TRY(gsw_wrapped_check_exact(context, matrix));
    GSW_TRY(gsw_grid_points(&matrix->grid, &points));
    GSW_TRY(gsw_check_vectors(context, points, chosen.vector_type, count, vectors, 2));

    GSW_TRY(check_workspace(context, &chosen));
    chosen.algorithm = choose(context, matrix, &chosen);
    if (chosen.algorithm == GSW_ALGORITHM_PENCIL)
        return solve_packed(context, matrix, &chosen, count, b, ldb, x, ldx);
    return solve_direct(context, matrix, &chosen, points, count, b, ldb, x, ldx);
}
