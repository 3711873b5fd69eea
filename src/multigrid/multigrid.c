/* multigrid.c: the public interface of hierarchies: arguments, creation and destruction,
 * application, reports. */
#include <gridsweep/multigrid.h>
#include <stdlib.h>
#include <string.h>
#include "contract/allocate.h"
#include "contract/check.h"
#include "distributed_cycle.h"
#include "hierarchy.h"
#include "core/options.h"
#include "krylov/preconditioner.h"
#include "matrix/stencil_facts.h"

GSW_ENDS_WITH(gsw_multigrid_options, whole_points);
GSW_ENDS_WITH(gsw_multigrid_info, scope);

/* Whether a matrix is that of the hierarchy, but for its values. */
static gsw_status check_system(gsw_context *context, const gsw_multigrid *multigrid,
                               const gsw_matrix *matrix) {
    GSW_REQUIRE(context, gsw_grid_is_same(&matrix->grid, &multigrid->grid),
                "matrix: its grid is not the hierarchy's");
    GSW_REQUIRE(context, gsw_stencil_is_same(&matrix->stencil, &multigrid->stencil),
                "matrix: its stencil is not the hierarchy's");
    return GSW_SUCCESS;
}

/* gsw_multigrid_create() of a matrix on a partition. */
static gsw_status create_shared(gsw_context *context, const gsw_matrix *matrix,
                                const gsw_multigrid_options *options, gsw_multigrid **multigrid) {
    gsw_distributed_matrix *rows = NULL;
    gsw_multigrid *made = NULL;
    gsw_status status = gsw_partition_check_result(matrix->partition, multigrid, "multigrid");
    if (status == GSW_SUCCESS) {
        *multigrid = NULL;
        status = gsw_alloc(context, 1, sizeof *made, "a multigrid hierarchy", (void **)&made);
    }
    if (status == GSW_SUCCESS) {
        memset(made, 0, sizeof *made);
        made->context = context;
        made->grid = matrix->grid;
        made->stencil = matrix->stencil;
        status = gsw_multigrid_resolve(context, options, &made->options);
    }
    status = gsw_partition_agree(matrix->partition, status);
    if (status == GSW_SUCCESS)
        status = gsw_distributed_matrix_open(matrix, &rows);
    if (status == GSW_SUCCESS && made != NULL)
        status = gsw_distributed_multigrid_create(rows, &made->options, &made->shared);
    if (status == GSW_SUCCESS && made != NULL) {
        made->usable = 1;
        *multigrid = made;
        return status;
    }
    gsw_distributed_matrix_destroy(rows);
    free(made);
    return status;
}

static gsw_status refactor_shared(gsw_context *context, gsw_multigrid *multigrid,
                                  const gsw_matrix *matrix) {
    gsw_distributed_matrix *rows = multigrid->shared->level[0].matrix;
    gsw_partition *p = multigrid->shared->partition;
    const gsw_status own = check_system(context, multigrid, matrix);
    GSW_TRY(gsw_distributed_matrix_check_next(rows, matrix, own, "hierarchy"));
    const int symmetric = multigrid->shared->symmetric;
    multigrid->usable = 0;
    GSW_TRY(gsw_partition_agree(p, gsw_distributed_matrix_take(rows, matrix)));
    GSW_TRY(gsw_distributed_multigrid_refactor(multigrid->shared));
    GSW_REQUIRE(context, !symmetric || multigrid->shared->symmetric,
                "matrix is not symmetric, but the hierarchy's first matrix was");
    multigrid->usable = 1;
    return GSW_SUCCESS;
}

/* Points of the vectors of this process. */
static int64_t points_of(const gsw_multigrid *multigrid) {
    return multigrid->shared ? multigrid->shared->level[0].points : multigrid->level[0]->points;
}

gsw_status gsw_multigrid_create(gsw_context *context, const gsw_matrix *matrix,
                                const gsw_multigrid_options *options, gsw_multigrid **multigrid) {
    if (context && matrix && gsw_partition_of(matrix))
        return create_shared(context, matrix, options, multigrid);
    GSW_REQUIRE(context, multigrid, "multigrid is NULL");
    *multigrid = NULL;
    GSW_REQUIRE(context, context, "context is NULL");
    GSW_REQUIRE(context, matrix, "matrix is NULL");
    return gsw_hierarchy_create(context, matrix, options, 0, multigrid);
}

gsw_status gsw_multigrid_refactor(gsw_context *context, gsw_multigrid *multigrid,
                                  const gsw_matrix *matrix) {
    GSW_REQUIRE(context, context, "context is NULL");
    GSW_REQUIRE(context, multigrid, "multigrid is NULL");
    GSW_REQUIRE(context, multigrid->context == context, "multigrid belongs to another context");
    GSW_REQUIRE(context, matrix, "matrix is NULL");
    if (multigrid->shared)
        return refactor_shared(context, multigrid, matrix);
    GSW_TRY(gsw_matrix_check(context, matrix));
    GSW_TRY(gsw_matrix_check_place(context, matrix));
    GSW_TRY(check_system(context, multigrid, matrix));
    GSW_REQUIRE(context,
                (matrix->format == GSW_FORMAT_CSR) == (multigrid->level[0]->setup.block != NULL),
                "matrix: its format is not that of the hierarchy's first matrix");
    multigrid->usable = 0;
    GSW_TRY(gsw_hierarchy_take(multigrid, matrix, gsw_multigrid_fill));
    multigrid->usable = 1;
    return GSW_SUCCESS;
}

/* ---- Applying ---------------------------------------------------------------------------------
 */

/* x = M^-1 b for the finest level's own vectors. */
static gsw_status cycle_on_own(void *self, gsw_context *context) {
    gsw_multigrid *multigrid = self;
    (void)context;
    if (multigrid->shared)
        return gsw_distributed_multigrid_apply_narrow(multigrid->shared);
    return gsw_hierarchy_cycle_on_own(multigrid);
}

gsw_status gsw_multigrid_apply(gsw_context *context, gsw_multigrid *multigrid, const double *b,
                               double *x) {
    GSW_REQUIRE(context, context, "context is NULL");
    GSW_REQUIRE(context, multigrid, "multigrid is NULL");
    GSW_REQUIRE(context, multigrid->context == context, "multigrid belongs to another context");
    GSW_REQUIRE(context, multigrid->usable, "multigrid holds no values: its last refactor failed");
    const int64_t n = points_of(multigrid);
    const gsw_vector vectors[] = {{.name = "b", .data = b},
                                  {.name = "x", .data = x, .written = 1, .may_be = "b"}};
    GSW_TRY(gsw_check_vectors(context, n, GSW_F64, 1, vectors, 2));
    if (multigrid->shared)
        return gsw_distributed_multigrid_apply(multigrid->shared, b, x);
    return gsw_hierarchy_apply(multigrid, b, x);
}

gsw_status gsw_multigrid_get_info(const gsw_multigrid *multigrid, gsw_multigrid_info *info) {
    if (!multigrid || !info)
        return GSW_ERROR_INVALID_ARGUMENT;
    GSW_TRY(gsw_result_check(NULL, "gsw_multigrid_info", info));
    return multigrid->shared ? gsw_distributed_multigrid_get_info(multigrid->shared, info)
                             : gsw_hierarchy_get_info(multigrid, info);
}

/* ---- As a preconditioner ----------------------------------------------------------------------
 */

static gsw_status apply_cycle(void *self, gsw_context *context, const double *b, double *x) {
    return gsw_multigrid_apply(context, self, b, x);
}

/* The finest level's own vectors. */
static int own_vectors(void *self, float **b, float **x) {
    const gsw_multigrid *multigrid = self;
    if (multigrid->shared)
        return gsw_distributed_multigrid_narrow(multigrid->shared, b, x);
    if (multigrid->options.cycle_type != GSW_F32)
        return 0;
    *b = multigrid->own_b;
    *x = multigrid->own_x;
    return 1;
}

static const char *name_of(const void *self) {
    (void)self;
    return "mg";
}

static int is_costly(const void *self) {
    const gsw_multigrid *multigrid = self;
    return !multigrid->shared;
}

static int is_judged(const void *self) {
    const gsw_multigrid *multigrid = self;
    return multigrid->options.smoother == GSW_SMOOTHER_AUTO && multigrid->judged < 2 &&
           multigrid->levels > 1 && multigrid->options.interpolation == GSW_INTERPOLATION_BLACK_BOX;
}

static int judge(void *self, double rate) {
    return gsw_smoother_judge(self, rate);
}

static gsw_status change(void *self, gsw_context *context) {
    (void)context;
    return gsw_smoother_change(self);
}

static gsw_status check_values(const void *self, gsw_context *context) {
    const gsw_multigrid *multigrid = self;
    GSW_REQUIRE(context, multigrid->usable, "multigrid holds no values: its last refactor failed");
    return GSW_SUCCESS;
}

gsw_status gsw_preconditioner_from_multigrid(gsw_context *context, gsw_multigrid *multigrid,
                                             gsw_preconditioner **preconditioner) {
    static const gsw_preconditioner_ops ops = {.in_place = 1,
                                               .costly = is_costly,
                                               .apply = apply_cycle,
                                               .narrow = own_vectors,
                                               .apply_narrow = cycle_on_own,
                                               .name = name_of,
                                               .is_judged = is_judged,
                                               .judge = judge,
                                               .change = change,
                                               .check = check_values};
    GSW_REQUIRE(context, context, "context is NULL");
    GSW_REQUIRE(context, preconditioner, "preconditioner is NULL");
    *preconditioner = NULL;
    GSW_REQUIRE(context, multigrid, "multigrid is NULL");
    GSW_REQUIRE(context, multigrid->context == context, "multigrid belongs to another context");
    return gsw_preconditioner_make(context, points_of(multigrid), &ops, multigrid, preconditioner);
}

void gsw_multigrid_destroy(gsw_multigrid *multigrid) {
    if (!multigrid)
        return;
    if (multigrid->shared) {
        gsw_distributed_matrix *rows = multigrid->shared->level[0].matrix;
        gsw_distributed_multigrid_destroy(multigrid->shared);
        gsw_distributed_matrix_destroy(rows);
    }
    gsw_hierarchy_close(multigrid);
}
