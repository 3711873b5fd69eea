/* relax.c: stencil loops with ghost zones: arguments, passes, and the methods' factors. */
#include <gridsweep/relax.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "contract/allocate.h"
#include "contract/backend.h"
#include "contract/check.h"
#include "contract/context.h"
#include "contract/csr.h"
#include "contract/error.h"
#include "contract/relax_ops.h"
#include "options.h"
#include "relax_model.h"
#include "reserve.h"
#include "stencil_facts.h"

GSW_ENDS_WITH(gsw_relax_options, highest);
GSW_ENDS_WITH(gsw_relax_info, work_bytes);

struct gsw_relax {
    gsw_context *context; /* its creator */
    gsw_relax_options options;
    gsw_matrix matrix; /* stencil arrays in fp64, all there */
    gsw_format format; /* of the matrix that was given, */
    gsw_dtype type;    /* and its values' type */
    const void *arrays[GSW_STENCIL_MAX];
    void *copies; /* what the arrays point to; NULL: the user's arrays */
    int usable;
    int64_t points;
    gsw_relax_tile tile;
    gsw_relax_cost cost;
    double *other;        /* x of every second pass */
    double *direction[2]; /* Chebyshev's p, likewise; else NULL */
    void *work;           /* the passes'; NULL: they need none */
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

/* A factor of kind JACOBI refuses bad diagonals, and rows that do not fit. */
static gsw_status check_diagonal(gsw_context *context, const gsw_matrix *matrix) {
    const gsw_factor_options options = {.size = sizeof options, .kind = GSW_JACOBI};
    gsw_factor *factor = NULL;
    GSW_TRY(gsw_factor_create(context, matrix, &options, &factor));
    gsw_factor_destroy(factor);
    return GSW_SUCCESS;
}

static gsw_status take_values(gsw_relax *relax, const gsw_matrix *matrix) {
    gsw_context *context = relax->context;
    const gsw_status status = check_diagonal(context, matrix);
    relax->usable =
        relax->usable && status != GSW_ERROR_ZERO_PIVOT && status != GSW_ERROR_NOT_A_GRID;
    GSW_TRY(status);
    relax->usable = 0;
    if (relax->copies)
        return context->ops->multigrid->copy_arrays(context, matrix, GSW_F64,
                                                    (void *const *)(uintptr_t)relax->arrays);
    memcpy(relax->arrays, matrix->array.values,
           (size_t)matrix->stencil.count * sizeof relax->arrays[0]);
    return GSW_SUCCESS;
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
    const int vectors = relax->options.method == GSW_RELAX_CHEBYSHEV ? 2 : 0;
    GSW_TRY(gsw_reserve_counted(context, points, size, &relax->bytes, (void **)&relax->other));
    for (int k = 0; k < vectors; k++)
        GSW_TRY(gsw_reserve_counted(context, points, size, &relax->bytes,
                                    (void **)&relax->direction[k]));
    if (relax->tile.work_bytes == 0)
        return GSW_SUCCESS;
    relax->bytes += (int64_t)relax->tile.work_bytes;
    return gsw_alloc(context, relax->tile.work_bytes, 1, "the tiles of a stencil loop",
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
    GSW_TRY(context->ops->relax->prepare(context, matrix));
    GSW_TRY(gsw_alloc(context, 1, sizeof *made, "a stencil loop", (void **)&made));
    memset(made, 0, sizeof *made);
    made->context = context;
    made->options = resolved;
    made->points = points;
    made->format = matrix->format;
    made->type = gsw_matrix_value_type(matrix);
    made->matrix.grid = matrix->grid;
    made->matrix.stencil = matrix->stencil;
    made->matrix.format = GSW_FORMAT_STENCIL;
    made->matrix.array = (gsw_stencil_array){made->arrays, GSW_F64};
    GSW_TRY_GOTO(gsw_relax_choose(context, &made->matrix, resolved.method == GSW_RELAX_CHEBYSHEV,
                                  resolved.height, &made->tile, &made->cost),
                 fail);
    if (!gsw_matrix_has_f64_arrays(matrix))
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
    GSW_REQUIRE(context, gsw_grid_is_same(&matrix->grid, &relax->matrix.grid),
                "matrix: its grid is not the loop's");
    GSW_REQUIRE(context, gsw_stencil_is_same(&matrix->stencil, &relax->matrix.stencil),
                "matrix: its stencil is not the loop's");
    GSW_REQUIRE(context,
                matrix->format == relax->format && gsw_matrix_value_type(matrix) == relax->type,
                "matrix: its format or type is not that of the loop's first matrix");
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
    free(relax);
}

gsw_status gsw_relax_get_info(const gsw_relax *relax, gsw_relax_info *info) {
    GSW_REQUIRE(NULL, relax != NULL, "relax is NULL");
    GSW_REQUIRE(relax->context, info != NULL, "info is NULL");
    GSW_TRY(gsw_result_check(relax->context, "gsw_relax_info", info));
    const double h = relax->tile.height, points = (double)relax->points;
    const gsw_relax_info made = {
        .size = sizeof made,
        .method = relax->options.method,
        .height = relax->tile.height,
        .tile = {relax->tile.extent[0], relax->tile.extent[1], relax->tile.extent[2]},
        .predicted_ms = 1e3 * relax->cost.seconds / h,
        .moved_bytes = relax->cost.moved / h,
        .redundant = relax->cost.computed / (h * points),
        .work_bytes = relax->bytes};
    gsw_result_give(info, &made, sizeof made);
    return GSW_SUCCESS;
}

/* ---- Running ----------------------------------------------------------------------------------
 */

/* The factors of the next sweep. Chebyshev's recurrence is Saad's algorithm 12.1. */
typedef struct recurrence {
    double center, half, rho;
    int32_t sweep;
} recurrence;

static void next_factors(const gsw_relax_options *options, recurrence *at, double *alpha,
                         double *beta) {
    *alpha = options->weight;
    *beta = 0;
    if (options->method == GSW_RELAX_JACOBI)
        return;
    const double sigma = at->center / at->half;
    if (at->sweep++ == 0) {
        at->rho = 1 / sigma;
        *alpha = 1 / at->center;
        return;
    }
    const double next = 1 / (2 * sigma - at->rho);
    *alpha = 2 * next / at->half;
    *beta = next * at->rho;
    at->rho = next;
}

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
        return zero_guess ? ops->fill(context, relax->points, 0, x) : GSW_SUCCESS;

    const gsw_relax_options *options = &relax->options;
    recurrence at = {.center = (options->highest + options->lowest) / 2,
                     .half = (options->highest - options->lowest) / 2};
    const int32_t height = relax->tile.height, passes = (sweeps - 1) / height + 1;
    /* x and the other vector by turns, so that the last pass writes x */
    double *turns[2] = {x, relax->other};
    if (passes % 2 == 1 && !zero_guess)
        GSW_TRY(ops->copy(context, relax->points, x, relax->other));
    for (int32_t pass = 0; pass < passes; pass++) {
        const int32_t left = passes - pass, count = (sweeps - 1) / left + 1;
        gsw_relax_pass job = {.matrix = &relax->matrix,
                              .tile = &relax->tile,
                              .sweeps = count,
                              .zero = zero_guess && pass == 0,
                              .b = b,
                              .x = turns[left % 2],
                              .y = turns[(left - 1) % 2],
                              .p = relax->direction[left % 2],
                              .q = left > 1 ? relax->direction[(left - 1) % 2] : NULL,
                              .work = relax->work};
        for (int32_t s = 0; s < count; s++)
            next_factors(options, &at, &job.alpha[s], &job.beta[s]);
        GSW_TRY(ops->relax->pass(context, &job));
        sweeps -= count;
    }
    return GSW_SUCCESS;
}
