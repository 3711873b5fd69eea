/* relax.c: the public interface of stencil loops with ghost zones: arguments, values, vectors. */
#include <gridsweep/relax.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "contract/allocate.h"
#include "contract/backend.h"
#include "contract/check.h"
#include "contract/context.h"
#include "common/csr.h"
#include "contract/error.h"
#include "contract/relax_ops.h"
#include "geometry/squeeze.h"
#include "core/options.h"
#include "relax_loop.h"
#include "core/reserve.h"
#include "domain/masked.h"
#include "geometry/stencil_facts.h"

GSW_ENDS_WITH(gsw_relax_options, highest);
GSW_ENDS_WITH(gsw_relax_info, work_bytes);

struct gsw_relax {
    gsw_context *context; /* its creator */
    gsw_grid grid;        /* of the matrix that was given, */
    gsw_stencil stencil;
    gsw_matrix matrix; /* on its box: stencil arrays in fp64, all there */
    gsw_format format; /* of the matrix that was given, */
    gsw_dtype type;    /* and its values' type */
    const void *arrays[GSW_STENCIL_MAX];
    void *copies; /* what the arrays point to; NULL: the user's arrays */
    int usable;
    int64_t points;
    gsw_masked masked;     /* its mask */
    double *masked_b;      /* room for b without inactive points; NULL: there was no mask */
    gsw_squeezed squeezed; /* the matrix as the loop has it */
    gsw_relax_loop loop;
    void *sheared;      /* on a periodic grid: the loop's b - W x */
    double *other;      /* x of every second pass */
    void *direction[2]; /* Chebyshev's p, likewise; else NULL */
    void *work;         /* the passes'; NULL: they need none */
    int64_t bytes;
};

static const char *const method_names[] = {"jacobi", "chebyshev"};

const char *gsw_relax_method_name(gsw_relax_method method) {
    return method == GSW_RELAX_JACOBI || method == GSW_RELAX_CHEBYSHEV ? method_names[method]
                                                                       : "unknown";
}

static gsw_status resolve(gsw_context *context, const gsw_relax_options *given,
                          gsw_relax_options *options) {
    GSW_TRY(gsw_options_take(context, "gsw_relax_options", given, sizeof *options, options));
    GSW_REQUIRE(context,
                options->method == GSW_RELAX_JACOBI || options->method == GSW_RELAX_CHEBYSHEV,
                "options->method %d is unknown", (int)options->method);
    GSW_REQUIRE(context, options->height >= 0 && options->height <= GSW_RELAX_HEIGHT_MAX,
                "options->height is %d; it must be 0..%d", (int)options->height,
                GSW_RELAX_HEIGHT_MAX);
    GSW_REQUIRE(context, isfinite(options->weight), "options->weight is %g; it must be finite",
                options->weight);
    if (options->weight == 0)
        options->weight = 1;
    if (options->method == GSW_RELAX_CHEBYSHEV)
        GSW_REQUIRE(context,
                    options->lowest > 0 && options->highest > options->lowest &&
                        isfinite(options->highest),
                    "options: the interval of eigenvalues is %g..%g; it must be 0 < lowest < "
                    "highest",
                    options->lowest, options->highest);
    return GSW_SUCCESS;
}

/* ---- Values -----------------------------------------------------------------------------------
 */

/* The loop works along x, so a grid that is 1 wide there is seen as one of two dimensions. */
static void squeeze(gsw_relax *relax) {
    if (relax->matrix.grid.nx == 1)
        gsw_squeeze(&relax->matrix, &relax->squeezed);
    else
        relax->squeezed = (gsw_squeezed){.matrix = relax->matrix, .axis = {0, 1, 2}};
}

/* A factor of kind JACOBI refuses bad diagonals, and rows that do not fit. */
static gsw_status check_diagonal(gsw_context *context, const gsw_matrix *matrix) {
    const gsw_factor_options options = {.size = sizeof options, .kind = GSW_JACOBI};
    gsw_factor *factor = NULL;
    GSW_TRY(gsw_factor_create(context, matrix, &options, &factor));
    gsw_factor_destroy(factor);
    return GSW_SUCCESS;
}

/* Whether the loop can read the user's own arrays. */
static int can_view(const gsw_matrix *matrix) {
    return matrix->active == NULL && gsw_matrix_has_f64_arrays(matrix);
}

/* Takes the couplings around a periodic grid. */
static gsw_status take_around(gsw_relax *relax, const gsw_matrix *matrix) {
    gsw_context *context = relax->context;
    gsw_wrapped *around = &relax->masked.around;
    gsw_squeezed given = {.matrix = *matrix};
    if (relax->matrix.grid.nx == 1)
        gsw_squeeze(matrix, &given);
    GSW_TRY(gsw_wrapped_take(context, &given.matrix, around));
    if (around->block == NULL)
        return GSW_SUCCESS;
    if (matrix->active != NULL)
        GSW_TRY(context->ops->wrap->cut(context, &around->wraps, relax->masked.active));
    relax->loop.around = around;
    relax->loop.sheared = relax->sheared;
    return GSW_SUCCESS;
}

static gsw_status take_values(gsw_relax *relax, const gsw_matrix *matrix) {
    gsw_context *context = relax->context;
    const gsw_status status = check_diagonal(context, matrix);
    relax->usable =
        relax->usable && status != GSW_ERROR_ZERO_PIVOT && status != GSW_ERROR_NOT_A_GRID;
    GSW_TRY(status);
    relax->usable = 0;
    if (matrix->active == NULL)
        gsw_masked_drop_mask(context, &relax->masked);
    GSW_TRY(gsw_masked_take_mask(context, matrix, &relax->masked));
    if (matrix->active != NULL && relax->masked_b == NULL)
        GSW_TRY(gsw_reserve_vector(context, relax->points, &relax->masked_b));
    if (relax->copies) {
        void *const *arrays = (void *const *)(uintptr_t)relax->arrays;
        gsw_matrix cut = relax->matrix;
        cut.active = matrix->active;
        GSW_TRY(gsw_wrapped_copy_box(context, matrix, GSW_F64, arrays));
        if (matrix->active != NULL)
            GSW_TRY(context->ops->mask->cut(context, &cut, GSW_F64, arrays));
    } else {
        memcpy(relax->arrays, matrix->array.values,
               (size_t)matrix->stencil.count * sizeof relax->arrays[0]);
    }
    squeeze(relax); /* it copies pointers */
    return take_around(relax, matrix);
}

static gsw_status open_copies(gsw_relax *relax) {
    const int32_t count = relax->matrix.stencil.count;
    GSW_TRY(gsw_reserve_counted(relax->context, (size_t)relax->points,
                                (size_t)count * sizeof(double), &relax->bytes, &relax->copies));
    for (int32_t e = 0; e < count; e++)
        relax->arrays[e] = (double *)relax->copies + e * relax->points;
    return GSW_SUCCESS;
}

/* ---- Creating ---------------------------------------------------------------------------------
 */

static gsw_status open_vectors(gsw_relax *relax) {
    gsw_context *context = relax->context;
    const size_t points = (size_t)relax->points, size = sizeof(double);
    if (relax->grid.periodic)
        GSW_TRY(gsw_reserve_counted(context, points, size, &relax->bytes, &relax->sheared));
    const int vectors = relax->loop.options.method == GSW_RELAX_CHEBYSHEV ? 2 : 0;
    GSW_TRY(gsw_reserve_counted(context, points, size, &relax->bytes, (void **)&relax->other));
    for (int k = 0; k < vectors; k++)
        GSW_TRY(gsw_reserve_counted(context, points, size, &relax->bytes, &relax->direction[k]));
    if (relax->loop.tile.work_bytes == 0)
        return GSW_SUCCESS;
    relax->bytes += (int64_t)relax->loop.tile.work_bytes;
    return gsw_alloc(context, relax->loop.tile.work_bytes, 1, "the tiles of a stencil loop",
                     &relax->work);
}

gsw_status gsw_relax_create(gsw_context *context, const gsw_matrix *matrix,
                            const gsw_relax_options *options, gsw_relax **relax) {
    gsw_relax_options resolved;
    gsw_relax *made;
    gsw_status status;
    int64_t points;
    GSW_REQUIRE(context, context, "context is NULL");
    GSW_REQUIRE(context, relax, "relax is NULL");
    *relax = NULL;
    GSW_REQUIRE(context, matrix, "matrix is NULL");
    GSW_TRY(resolve(context, options, &resolved));
    GSW_TRY(gsw_matrix_check(context, matrix));
    GSW_TRY(gsw_matrix_check_place(context, matrix));
    GSW_TRY(gsw_grid_points(&matrix->grid, &points));
    GSW_TRY(gsw_alloc(context, 1, sizeof *made, "a stencil loop", (void **)&made));
    memset(made, 0, sizeof *made);
    made->context = context;
    made->points = points;
    made->format = matrix->format;
    made->type = gsw_matrix_value_type(matrix);
    made->grid = matrix->grid;
    made->stencil = matrix->stencil;
    made->matrix = gsw_matrix_of_box(matrix);
    made->matrix.array = (gsw_stencil_array){.values = made->arrays, .value_type = GSW_F64};
    squeeze(made);
    if (matrix->grid.periodic)
        resolved.height = 1;
    GSW_TRY_GOTO(gsw_relax_loop_open(context, &made->squeezed.matrix, &resolved,
                                     GSW_RELAX_HEIGHT_MAX, &made->loop),
                 fail);
    if (!can_view(matrix))
        GSW_TRY_GOTO(open_copies(made), fail);
    GSW_TRY_GOTO(open_vectors(made), fail);
    GSW_TRY_GOTO(take_values(made, matrix), fail);
    made->usable = 1;
    *relax = made;
    return GSW_SUCCESS;

fail:
    gsw_relax_destroy(made);
    return status;
}

gsw_status gsw_relax_refactor(gsw_context *context, gsw_relax *relax, const gsw_matrix *matrix) {
    GSW_REQUIRE(context, context, "context is NULL");
    GSW_REQUIRE(context, relax, "relax is NULL");
    GSW_REQUIRE(context, relax->context == context, "relax belongs to another context");
    GSW_REQUIRE(context, matrix, "matrix is NULL");
    GSW_TRY(gsw_matrix_check(context, matrix));
    GSW_TRY(gsw_matrix_check_place(context, matrix));
    GSW_REQUIRE(context, gsw_grid_is_same(&matrix->grid, &relax->grid),
                "matrix: its grid is not the loop's");
    GSW_REQUIRE(context, gsw_stencil_is_same(&matrix->stencil, &relax->stencil),
                "matrix: its stencil is not the loop's");
    GSW_REQUIRE(context,
                matrix->format == relax->format && gsw_matrix_value_type(matrix) == relax->type,
                "matrix: its format or type is not that of the loop's first matrix");
    GSW_REQUIRE(context, relax->copies || matrix->active == NULL,
                "matrix: it has a mask, but the loop's first matrix had none");
    GSW_REQUIRE(context, relax->copies || gsw_matrix_has_f64_arrays(matrix),
                "matrix: the loop's first matrix had all arrays, but one of these is NULL");
    GSW_TRY(take_values(relax, matrix));
    relax->usable = 1;
    return GSW_SUCCESS;
}

void gsw_relax_destroy(gsw_relax *relax) {
    if (relax == NULL)
        return;
    free(relax->work);
    for (int k = 1; k >= 0; k--)
        gsw_unreserve(relax->context, relax->direction[k]);
    gsw_unreserve(relax->context, relax->other);
    gsw_unreserve(relax->context, relax->copies);
    gsw_unreserve(relax->context, relax->masked_b);
    gsw_unreserve(relax->context, relax->sheared);
    gsw_masked_close(relax->context, &relax->masked);
    free(relax);
}

gsw_status gsw_relax_get_info(const gsw_relax *relax, gsw_relax_info *info) {
    GSW_REQUIRE(NULL, relax != NULL, "relax is NULL");
    GSW_REQUIRE(relax->context, info != NULL, "info is NULL");
    GSW_TRY(gsw_result_check(relax->context, "gsw_relax_info", info));
    const gsw_relax_tile *tile = &relax->loop.tile;
    const gsw_relax_cost *cost = &relax->loop.cost;
    const double h = tile->height, points = (double)relax->points;
    gsw_relax_info made = {.size = sizeof made,
                           .method = relax->loop.options.method,
                           .height = tile->height,
                           .predicted_ms = 1e3 * cost->seconds / h,
                           .moved_bytes = cost->moved / h,
                           .redundant = cost->computed / (h * points),
                           .work_bytes = relax->bytes};
    for (int a = 0; a < 3; a++)
        made.tile[relax->squeezed.axis[a]] = tile->extent[a];
    gsw_result_give(info, &made, sizeof made);
    return GSW_SUCCESS;
}

/* ---- Running ----------------------------------------------------------------------------------
 */

gsw_status gsw_relax_run(gsw_context *context, gsw_relax *relax, int32_t sweeps, int zero_guess,
                         const double *b, double *x) {
    GSW_REQUIRE(context, context, "context is NULL");
    GSW_REQUIRE(context, relax, "relax is NULL");
    GSW_REQUIRE(context, relax->context == context, "relax belongs to another context");
    GSW_REQUIRE(context, relax->usable, "relax holds no values: its last refactor failed");
    GSW_REQUIRE(context, sweeps >= 0, "sweeps is %d; it must be >= 0", (int)sweeps);
    const gsw_vector vectors[] = {{.name = "b", .data = b}, {.name = "x", .data = x, .written = 1}};
    GSW_TRY(gsw_check_vectors(context, relax->points, GSW_F64, 1, vectors, 2));
    const gsw_backend_ops *ops = context->ops;
    if (sweeps == 0)
        return zero_guess ? ops->vector->fill(context, relax->points, 0, x) : GSW_SUCCESS;

    if (relax->masked.active != NULL) {
        GSW_TRY(
            gsw_masked_vector(context, &relax->masked, GSW_F64, relax->points, b, relax->masked_b));
        if (!zero_guess)
            GSW_TRY(gsw_masked_vector(context, &relax->masked, GSW_F64, relax->points, x, x));
        b = relax->masked_b;
    }

    /* a pass goes from one vector to the other, and the last one writes x */
    const int odd = gsw_relax_loop_passes(&relax->loop, sweeps) % 2;
    void *const turns[2] = {odd ? relax->other : x, odd ? x : relax->other};
    if (odd && !zero_guess)
        GSW_TRY(ops->vector->copy(context, relax->points, x, relax->other));
    return gsw_relax_loop_run(&relax->loop, sweeps, zero_guess, b, turns, relax->direction,
                              relax->work);
}
