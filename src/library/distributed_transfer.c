/* distributed_transfer.c: see distributed_transfer.h. */
#include "distributed_transfer.h"
#include <stdlib.h>
#include <string.h>
#include "contract/allocate.h"
#include "contract/backend.h"
#include "contract/context.h"
#include "contract/error.h"
#include "stencil_facts.h"

/* Frames of the weights that a cycle uses. Fine points of the box interpolate from coarse points at
 * most one fine point away. */
enum { CYCLE_WIDTH = 1 };

/* A coarse row of the upper part may stand one coarse point, two fine ones, before the box. It
 * reads the weights of fine points up to two away. These need rows up to one farther. A row's
 * symmetric part and its lumps read what is a stencil's reach away, and so do the tests for
 * isolated points. */
int64_t gsw_distributed_rows_width(const gsw_stencil *stencil) {
    const int reach = gsw_stencil_beyond(stencil, 1) ? 2 : 1;
    return 5 + 2 * reach;
}

static gsw_grid grid_of(const gsw_box *box) {
    return (gsw_grid){box->end[0] - box->begin[0], box->end[1] - box->begin[1],
                      box->end[2] - box->begin[2]};
}

/* The coarse points of a box that begins at even points. */
static gsw_box coarse_box(const gsw_box *fine, int axes) {
    gsw_box coarse = *fine;
    for (int axis = 0; axis < 3; axis++) {
        if (!(axes >> axis & 1))
            continue;
        coarse.begin[axis] = fine->begin[axis] / 2;
        coarse.end[axis] = (fine->end[axis] + 1) / 2;
    }
    return coarse;
}

static int64_t points_of(const gsw_grid *g) {
    return g->nx * g->ny * g->nz;
}

/* Zeroed memory for arrays of weights, with margins of zeros that kernels may read. */
static gsw_status alloc_weights(gsw_context *context, int32_t sets, const gsw_transfer *t,
                                double **block, void *weights[2][GSW_WEIGHTS_MAX]) {
    const size_t pitch = (size_t)points_of(&t->coarse) + GSW_WEIGHTS_PAD;
    size_t values;
    void *memory;
    if (!gsw_mul_size(pitch, (size_t)(sets * t->weights), &values) ||
        values > SIZE_MAX / 2 - GSW_WEIGHTS_PAD)
        return gsw_fail(context, GSW_ERROR_OVERFLOW, "multigrid: a level's size exceeds 64 bits");
    GSW_TRY(gsw_alloc(context, values + GSW_WEIGHTS_PAD, sizeof **block, "weights", &memory));
    *block = memory;
    memset(memory, 0, (values + GSW_WEIGHTS_PAD) * sizeof **block);
    for (int32_t w = 0; w < t->weights; w++) {
        weights[0][w] = *block + GSW_WEIGHTS_PAD + (size_t)w * pitch;
        weights[1][w] =
            sets == 1 ? weights[0][w] : *block + GSW_WEIGHTS_PAD + (size_t)(t->weights + w) * pitch;
    }
    return GSW_SUCCESS;
}

/* ---- Set-up -----------------------------------------------------------------------------------
 */

/* The coarse rows of the wide frame. */
static gsw_status compute_product(const gsw_distributed_rows *rows, int axes, int symmetric,
                                  int isolated, gsw_distributed_product *product) {
    gsw_context *context = rows->of->partition->context;
    const gsw_multigrid_ops *ops = context->ops->multigrid;
    gsw_transfer *t = &product->tables;
    double *block, *own[GSW_STENCIL_MAX];
    int64_t degenerate;
    size_t values;
    gsw_transfer_make(t, &rows->matrix.grid, &rows->matrix.stencil, axes, symmetric);
    product->points = points_of(&t->coarse);
    GSW_TRY(alloc_weights(context, symmetric ? 1 : 2, t, &product->block, product->weights));
    if (!gsw_mul_size((size_t)product->points, (size_t)t->coarse_stencil.count, &values))
        return gsw_fail(context, GSW_ERROR_OVERFLOW, "multigrid: a level's size exceeds 64 bits");
    GSW_TRY(gsw_alloc(context, values, sizeof *block, "coarse rows", (void **)&block));
    for (int32_t e = 0; e < t->coarse_stencil.count; e++) {
        product->coarse[e] = block + e * product->points;
        own[e] = symmetric && e < t->coarse_stencil.center ? NULL : product->coarse[e];
    }
    GSW_TRY(ops->interpolate(context, t, &rows->matrix, GSW_ROWS_OF_MATRIX, GSW_F64,
                             product->weights[0], &degenerate));
    if (!symmetric)
        GSW_TRY(
            ops->interpolate(context, t, &rows->matrix,
                             isolated ? GSW_ROWS_OF_SYMMETRIC_PART_CUT : GSW_ROWS_OF_SYMMETRIC_PART,
                             GSW_F64, product->weights[1], &degenerate));
    return ops->triple(context, t, &rows->matrix, GSW_F64, product->weights[0], product->weights[1],
                       own);
}

/* The own rows of the coarse matrix, from those of the frame; in the lower part of a symmetric
 * matrix the mirror images of the upper part. */
static void keep_rows(const gsw_distributed_product *product, const int64_t low[3],
                      gsw_distributed_matrix *matrix) {
    const gsw_stencil *stencil = &matrix->local.stencil;
    const gsw_grid *g = &matrix->local.grid, *frame = &product->tables.coarse;
    for (int32_t e = 0; e < stencil->count; e++) {
        const gsw_offset o = stencil->offsets[e];
        const int mirrored = product->tables.symmetric && e < stencil->center;
        const double *from =
            product->coarse[mirrored ? gsw_stencil_find(stencil, (gsw_offset){-o.dx, -o.dy, -o.dz})
                                     : e];
        double *to = matrix->block + e * matrix->points;
        for (int64_t z = 0; z < g->nz; z++) {
            for (int64_t y = 0; y < g->ny; y++) {
                for (int64_t x = 0; x < g->nx; x++) {
                    const int64_t at[3] = {x + low[0] + (mirrored ? o.dx : 0),
                                           y + low[1] + (mirrored ? o.dy : 0),
                                           z + low[2] + (mirrored ? o.dz : 0)};
                    const int exists = at[0] >= 0 && at[0] < frame->nx && at[1] >= 0 &&
                                       at[1] < frame->ny && at[2] >= 0 && at[2] < frame->nz;
                    *to++ = exists ? from[gsw_grid_row(frame, at[0], at[1], at[2])] : 0;
                }
            }
        }
    }
}

/* Where the coarse box begins in the coarse frame. */
static void find_low(const gsw_distributed_rows *rows, const gsw_partition *coarse, int axes,
                     int64_t low[3]) {
    const gsw_partition *p = rows->of->partition;
    for (int axis = 0; axis < 3; axis++) {
        const int64_t begin = p->own.begin[axis] - rows->ghosts.frame.low[axis];
        low[axis] = coarse->own.begin[axis] - (axes >> axis & 1 ? begin / 2 : begin);
    }
}

gsw_status gsw_distributed_product_mend(const gsw_distributed_rows *rows,
                                        const gsw_distributed_product *product,
                                        gsw_distributed_matrix *matrix) {
    gsw_context *context = rows->of->partition->context;
    int64_t low[3];
    GSW_TRY(context->ops->multigrid->mend_diagonal(
        context, &product->tables, &rows->matrix,
        product->coarse[product->tables.coarse_stencil.center]));
    find_low(rows, matrix->partition, product->tables.axes, low);
    keep_rows(product, low, matrix);
    return GSW_SUCCESS;
}

/* Copies the weights of the wide frame into those of a narrow one. `shift`: where its coarse points
 * begin in the wide one. Weights of points outside the narrow frame stay 0. */
static void crop_weights(const gsw_transfer *wide, void *const *from, const int64_t shift[3],
                         const gsw_transfer *narrow, void *const *to) {
    const gsw_grid *g = &narrow->coarse, *fine = &narrow->fine;
    for (int class_ = 1; class_ < GSW_CLASSES; class_++) {
        for (int subset = 0; subset < GSW_CLASSES; subset++) {
            if ((class_ & ~narrow->axes) || (subset & ~class_))
                continue;
            const int32_t w = gsw_weight_of(narrow, class_, subset);
            const double *values = from[w];
            double *cropped = to[w];
            for (int64_t row = 0; row < points_of(g); row++) {
                const int64_t x = row % g->nx, y = row / g->nx % g->ny, z = row / g->nx / g->ny;
                const int exists = gsw_subset_exists(g, subset, x, y, z) &&
                                   (!(class_ & 1) || 2 * x + 1 < fine->nx) &&
                                   (!(class_ & 2) || 2 * y + 1 < fine->ny) &&
                                   (!(class_ & 4) || 2 * z + 1 < fine->nz);
                if (exists)
                    cropped[row] = values[gsw_grid_row(&wide->coarse, x + shift[0], y + shift[1],
                                                       z + shift[2])];
            }
        }
    }
}

/* Ghosts and weights of a cycle. */
static gsw_status open_cycle(const gsw_distributed_rows *rows, gsw_partition *coarse,
                             const gsw_distributed_product *product,
                             gsw_distributed_transfer *transfer) {
    gsw_partition *p = rows->of->partition;
    gsw_context *context = p->context;
    const gsw_transfer *wide = &product->tables;
    const int processes = p->transport.processes, rank = p->transport.rank, axes = wide->axes;
    gsw_box *wanted;
    GSW_TRY(gsw_alloc(context, (size_t)processes, 2 * sizeof *wanted, "boxes", (void **)&wanted));
    gsw_box *wanted_coarse = wanted + processes;
    for (int process = 0; process < processes; process++) {
        wanted[process] = gsw_frame_around(p, process, CYCLE_WIDTH, 1);
        wanted_coarse[process] = coarse_box(&wanted[process], axes);
    }
    const gsw_box frame = wanted[rank], coarse_frame = wanted_coarse[rank];
    gsw_status status = gsw_ghosts_open_boxes(p, wanted, &transfer->fine);
    if (status == GSW_SUCCESS)
        status = gsw_ghosts_open_boxes(coarse, wanted_coarse, &transfer->coarse);
    free(wanted);
    GSW_TRY(status);

    const gsw_grid grid = grid_of(&frame);
    void *weights[2][GSW_WEIGHTS_MAX];
    int64_t shift[3];
    gsw_transfer_make(&transfer->tables, &grid, &wide->fine_stencil, axes, wide->symmetric);
    GSW_TRY(alloc_weights(context, wide->symmetric ? 1 : 2, &transfer->tables, &transfer->block,
                          weights));
    memcpy(transfer->prolongation, weights[0], sizeof weights[0]);
    memcpy(transfer->restriction, weights[1], sizeof weights[1]);
    find_low(rows, coarse, axes, shift);
    for (int axis = 0; axis < 3; axis++)
        shift[axis] -= coarse->own.begin[axis] - coarse_frame.begin[axis];
    crop_weights(wide, product->weights[0], shift, &transfer->tables, transfer->prolongation);
    if (!wide->symmetric)
        crop_weights(wide, product->weights[1], shift, &transfer->tables, transfer->restriction);
    const size_t fine_points = (size_t)points_of(&transfer->tables.fine);
    const size_t coarse_points = (size_t)points_of(&transfer->tables.coarse);
    GSW_TRY(gsw_alloc(context, fine_points + coarse_points, sizeof(double), "vectors of a transfer",
                      (void **)&transfer->fine_frame));
    memset(transfer->fine_frame, 0, (fine_points + coarse_points) * sizeof(double));
    transfer->coarse_frame = transfer->fine_frame + fine_points;
    return GSW_SUCCESS;
}

gsw_status gsw_distributed_transfer_open(const gsw_distributed_rows *rows, gsw_partition *coarse,
                                         int axes, int symmetric, int isolated,
                                         gsw_distributed_transfer *transfer,
                                         gsw_distributed_product *product,
                                         gsw_distributed_matrix **matrix) {
    int64_t low[3];
    *transfer = (gsw_distributed_transfer){.block = NULL};
    *product = (gsw_distributed_product){.block = NULL};
    *matrix = NULL;
    gsw_status status = compute_product(rows, axes, symmetric, isolated, product);
    if (status == GSW_SUCCESS)
        status = open_cycle(rows, coarse, product, transfer);
    if (status == GSW_SUCCESS)
        status = gsw_distributed_matrix_begin(coarse, &product->tables.coarse_stencil, GSW_F64,
                                              NULL, matrix);
    GSW_TRY(gsw_partition_agree(coarse, status));
    GSW_TRY(status);
    find_low(rows, coarse, axes, low);
    keep_rows(product, low, *matrix);
    return GSW_SUCCESS;
}

void gsw_distributed_transfer_close(gsw_distributed_transfer *transfer) {
    if (transfer->fine.partition)
        gsw_ghosts_close(&transfer->fine);
    if (transfer->coarse.partition)
        gsw_ghosts_close(&transfer->coarse);
    free(transfer->block);
    free(transfer->fine_frame);
    *transfer = (gsw_distributed_transfer){.block = NULL};
}

void gsw_distributed_product_close(gsw_distributed_product *product) {
    free(product->block);
    free(product->coarse[0]);
    *product = (gsw_distributed_product){.block = NULL};
}

/* ---- Transfers --------------------------------------------------------------------------------
 */

gsw_status gsw_distributed_restrict(gsw_distributed_transfer *t, const double *fine,
                                    double *coarse) {
    gsw_context *context = t->fine.partition->context;
    /* The residual of a matrix without couplings is the vector itself. */
    const gsw_matrix nothing = {
        .grid = t->tables.fine, .format = GSW_FORMAT_STENCIL, .array = {.value_type = GSW_F64}};
    GSW_TRY(gsw_ghosts_update(&t->fine, fine, t->fine_frame));
    GSW_TRY(context->ops->multigrid->restrict_residual(context, &t->tables, &nothing, GSW_F64,
                                                       t->restriction, t->fine_frame, t->fine_frame,
                                                       NULL, t->coarse_frame));
    gsw_ghosts_take_own(&t->coarse, t->coarse_frame, coarse);
    return GSW_SUCCESS;
}

gsw_status gsw_distributed_prolong_add(gsw_distributed_transfer *t, const double *coarse,
                                       double *fine) {
    gsw_context *context = t->fine.partition->context;
    GSW_TRY(gsw_ghosts_update(&t->coarse, coarse, t->coarse_frame));
    gsw_ghosts_put_own(&t->fine, fine, t->fine_frame);
    GSW_TRY(context->ops->multigrid->prolong_add(context, &t->tables, GSW_F64, t->prolongation,
                                                 t->coarse_frame, t->fine_frame));
    gsw_ghosts_take_own(&t->fine, t->fine_frame, fine);
    return GSW_SUCCESS;
}
