/* packed.c: packed factors of one process: validation and life cycle. The backend does the work. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "common/elements.h"
#include "contract/allocate.h"
#include "contract/backend.h"
#include "contract/check.h"
#include "contract/context.h"
#include "contract/error.h"
#include "contract/row.h"
#include "core/options.h"
#include "matrix/matrix_row.h"
#include "geometry/stencil_facts.h"
#include "packed.h"

gsw_status gsw_factor_resolve(gsw_context *context, const gsw_factor_options *given,
                              gsw_factor_options *options) {
    GSW_TRY(gsw_options_take(context, "gsw_factor_options", given, sizeof *options, options));
    GSW_REQUIRE(context, (unsigned)options->kind <= GSW_FACTOR_LU, "options->kind %d is unknown",
                (int)options->kind);
    GSW_REQUIRE(context, gsw_is_element(options->factor_type), "options->factor_type %d is unknown",
                (int)options->factor_type);
    GSW_REQUIRE(context, gsw_is_element(options->vector_type), "options->vector_type %d is unknown",
                (int)options->vector_type);
    GSW_REQUIRE(context, options->omega >= 0 && options->omega < 2,
                "options->omega %g is not in (0, 2)", options->omega);
    GSW_REQUIRE(context, options->pivot_shift >= 0 && isfinite(options->pivot_shift),
                "options->pivot_shift %g is negative or not finite", options->pivot_shift);
    GSW_REQUIRE(context, (unsigned)options->scope <= GSW_SCOPE_GLOBAL,
                "options->scope %d is unknown", (int)options->scope);
    GSW_REQUIRE(context, options->overlap >= 0, "options->overlap %lld is negative",
                (long long)options->overlap);
    GSW_REQUIRE(context, options->overlap == 0 || options->scope == GSW_SCOPE_LOCAL,
                "options->overlap is for the scope local");
    if (options->omega == 0)
        options->omega = 1;
    if (options->kind != GSW_FACTOR_LOWER && options->kind != GSW_FACTOR_UPPER &&
        options->kind != GSW_FACTOR_LU)
        options->unit_diagonal = 0;
    if (options->kind == GSW_IC0)
        options->transpose = 0; /* symmetric */
    if (gsw_dtype_size(options->factor_type) > gsw_dtype_size(options->vector_type))
        return gsw_fail(context, GSW_ERROR_UNSUPPORTED,
                        "fp64 factors with fp32 vectors are not supported");
    return GSW_SUCCESS;
}

gsw_status gsw_factor_check_system(gsw_context *context, const gsw_factor *factor,
                                   const gsw_matrix *matrix, const char *name) {
    GSW_REQUIRE(context, matrix, "%s is NULL", name);
    GSW_REQUIRE(context, gsw_grid_is_same(&matrix->grid, &factor->info.grid),
                "%s: its grid is not the factor's", name);
    GSW_REQUIRE(context, gsw_stencil_is_same(&matrix->stencil, &factor->stencil),
                "%s: its stencil is not the factor's", name);
    return GSW_SUCCESS;
}

static gsw_status check_matrix(gsw_context *context, const gsw_factor *factor,
                               const gsw_matrix *matrix, const char *name) {
    GSW_REQUIRE(context, matrix, "%s is NULL", name);
    GSW_TRY(gsw_matrix_check(context, matrix));
    GSW_TRY(gsw_matrix_check_kind(context, matrix));
    return gsw_factor_check_system(context, factor, matrix, name);
}

gsw_status gsw_packed_check(gsw_context *context, const gsw_factor *factor,
                            const gsw_matrix *matrix, const gsw_matrix *upper) {
    GSW_TRY(check_matrix(context, factor, matrix, "matrix"));
    if (factor->options.kind == GSW_FACTOR_LU)
        GSW_TRY(check_matrix(context, factor, upper, "upper"));
    else
        GSW_REQUIRE(context, !upper, "upper must be NULL, except for kind LU");
    GSW_REQUIRE(context,
                factor->repeat == GSW_REPEAT_NONE ||
                    (matrix->format == GSW_FORMAT_STENCIL &&
                     gsw_repeat_of(matrix) == factor->repeat &&
                     gsw_has_constant_lines(matrix) >= factor->constant_lines),
                "matrix: its values do not repeat like those of the factor's first matrix");
    return GSW_SUCCESS;
}

static gsw_status fill(gsw_context *context, gsw_factor *factor, const gsw_matrix *matrix,
                       const gsw_matrix *upper) {
    GSW_TRY(gsw_packed_check(context, factor, matrix, upper));
    factor->usable = 0;
    factor->row_base = gsw_matrix_row_base(matrix);
    return context->ops->factor->fill(context, factor, matrix, upper);
}

gsw_status gsw_packed_await(gsw_context *context, gsw_factor *factor) {
    GSW_REQUIRE(context, factor, "factor is NULL");
    GSW_TRY(context->ops->factor->await(context, factor));
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
                        const gsw_factor_options *options, gsw_sections sections,
                        const int64_t ghosts[2], int axis, gsw_factor **factor) {
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
    made->sections = sections;
    if (matrix->format == GSW_FORMAT_STENCIL &&
        (options->kind == GSW_FACTOR_LOWER || options->kind == GSW_FACTOR_UPPER ||
         options->kind == GSW_SSOR)) {
        made->repeat = gsw_repeat_of(matrix);
        made->constant_lines = gsw_has_constant_lines(matrix);
    }
    gsw_factor_name_system(made, matrix);
    if (ghosts != NULL) {
        int64_t *const extent[3] = {&made->grid.nx, &made->grid.ny, &made->grid.nz};
        *extent[axis] += ghosts[0] + ghosts[1];
        memcpy(made->ghosts, ghosts, sizeof made->ghosts);
        made->as_slab = 1;
    }
    made->points = points;
    const gsw_status status = context->ops->factor->open(context, made);
    if (status == GSW_SUCCESS)
        *factor = made;
    else
        free(made);
    return status;
}

gsw_status gsw_packed_open(gsw_context *context, const gsw_matrix *matrix,
                           const gsw_factor_options *options, gsw_sections sections,
                           gsw_factor **factor) {
    gsw_factor_options resolved;
    GSW_TRY(gsw_factor_resolve(context, options, &resolved));
    return begin(context, matrix, &resolved, sections, NULL, 0, factor);
}

gsw_status gsw_packed_open_ghosts(gsw_context *context, const gsw_matrix *matrix,
                                  const gsw_factor_options *options, const int64_t ghosts[2],
                                  int axis, gsw_factor **factor) {
    gsw_factor_options resolved;
    GSW_TRY(gsw_factor_resolve(context, options, &resolved));
    return begin(context, matrix, &resolved, gsw_uncut(), ghosts, axis, factor);
}

gsw_status gsw_packed_queue(gsw_context *context, gsw_factor *factor, const gsw_matrix *matrix) {
    return fill(context, factor, matrix, NULL);
}

gsw_status gsw_packed_take(gsw_context *context, gsw_factor *factor, const gsw_matrix *matrix,
                           const gsw_matrix *upper) {
    const gsw_quiet quiet = gsw_quiet_begin(context);
    gsw_status status = fill(context, factor, matrix, upper);
    if (status == GSW_SUCCESS)
        status = gsw_packed_await(context, factor);
    const int64_t row = upper != NULL ? -1 : factor->info.first_bad_row;
    return gsw_matrix_explain(context, &quiet, matrix, row, factor->options.kind == GSW_IC0,
                              status);
}

int gsw_factor_sweeps(const gsw_factor *factor) {
    if (!factor || factor->options.kind == GSW_JACOBI)
        return 0;
    return factor->options.kind == GSW_FACTOR_LOWER || factor->options.kind == GSW_FACTOR_UPPER ? 1
                                                                                                : 2;
}

gsw_status gsw_packed_solve(gsw_context *context, gsw_factor *factor, int64_t count, const void *b,
                            int64_t ldb, void *x, int64_t ldx) {
    GSW_TRY(context->ops->factor->sweep(context, factor, 0, count, b, ldb, x, ldx));
    return gsw_factor_sweeps(factor) == 2
               ? context->ops->factor->sweep(context, factor, 1, count, x, ldx, x, ldx)
               : GSW_SUCCESS;
}
