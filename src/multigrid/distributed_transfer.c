/* distributed_transfer.c: see distributed_transfer.h. */
#include "distributed_transfer.h"
#include <string.h>
#include "contract/allocate.h"
#include "contract/backend.h"
#include "contract/context.h"
#include "contract/error.h"
#include "hierarchy.h"
#include "core/reserve.h"
#include "matrix/stencil_facts.h"

/* The width of frames in a cycle. Fine points of the box interpolate from coarse points at most one
 * fine point away. On devices the frame of x also serves products (gsw_slab_rest). */
static int64_t cycle_width(const gsw_distributed_matrix *matrix) {
    return matrix->partition->context->ops->slab && gsw_stencil_beyond(&matrix->local.stencil, 1)
               ? 2
               : 1;
}

/* A coarse row of the upper part may stand one coarse point, two fine ones, before the box. It
 * reads the weights of fine points up to two away. These need rows up to one farther. A row's
 * symmetric part and its lumps read what is a stencil's reach away, and so do the tests for
 * isolated points. */
int64_t gsw_distributed_rows_width(const gsw_stencil *stencil) {
    const int reach = gsw_stencil_beyond(stencil, 1) ? 2 : 1;
    return 5 + 2 * reach;
}

static int64_t points_of(const gsw_grid *g) {
    return g->nx * g->ny * g->nz;
}

/* Memory of the backend for arrays of `count` values; what overflows is refused. */
static gsw_status reserve(gsw_context *context, size_t arrays, size_t count, gsw_dtype type,
                          void **memory) {
    size_t values;
    *memory = NULL;
    if (!gsw_mul_size(arrays, count, &values) || values > SIZE_MAX / 2 / sizeof(double))
        return gsw_fail(context, GSW_ERROR_OVERFLOW, "multigrid: a level's size exceeds 64 bits");
    return context->ops->reserve(context, values * gsw_dtype_size(type), memory);
}

/* Zeroed memory for arrays of weights, with margins of zeros that kernels may read. */
static gsw_status alloc_weights(gsw_context *context, int32_t sets, const gsw_transfer *t,
                                gsw_dtype type, void **block, void *weights[2][GSW_WEIGHTS_MAX]) {
    const size_t size = gsw_dtype_size(type);
    const size_t pitch = ((size_t)points_of(&t->coarse) + GSW_WEIGHTS_PAD) * size;
    const size_t arrays = (size_t)(sets * t->weights) + 1; /* the last one is a margin */
    GSW_TRY(reserve(context, arrays, pitch / size, type, block));
    GSW_TRY(context->ops->set(context, *block, 0, arrays * pitch));
    for (int32_t w = 0; w < t->weights; w++) {
        char *first = (char *)*block + GSW_WEIGHTS_PAD * size + (size_t)w * pitch;
        weights[0][w] = first;
        weights[1][w] = sets == 1 ? first : first + (size_t)t->weights * pitch;
    }
    return GSW_SUCCESS;
}

/* ---- Set-up -----------------------------------------------------------------------------------
 */

/* Whether a process computes the upper part of coarse rows only, and mirrors the own rows. */
static int mirrors_itself(const gsw_distributed_product *product) {
    return product->tables.symmetric && !product->context->ops->slab;
}

/* The coarse rows of the wide frame. */
static gsw_status compute_product(const gsw_distributed_rows *rows, int axes, int symmetric,
                                  int isolated, gsw_distributed_product *product) {
    gsw_context *context = product->context;
    const gsw_multigrid_ops *ops = context->ops->multigrid;
    gsw_transfer *t = &product->tables;
    double *own[GSW_STENCIL_MAX];
    int64_t degenerate;
    gsw_transfer_make(t, &rows->matrix.grid, &rows->matrix.stencil, axes, symmetric);
    gsw_transfer_extend(context, t);
    if (ops->transfer_open)
        GSW_TRY(ops->transfer_open(context, t));
    product->points = points_of(&t->coarse);
    GSW_TRY(alloc_weights(context, symmetric ? 1 : 2, t, product->type, &product->block,
                          product->weights));
    GSW_TRY(reserve(context, (size_t)t->coarse_stencil.count, (size_t)product->points, GSW_F64,
                    &product->rows));
    for (int32_t e = 0; e < t->coarse_stencil.count; e++) {
        product->coarse[e] = (double *)product->rows + e * product->points;
        own[e] =
            mirrors_itself(product) && e < t->coarse_stencil.center ? NULL : product->coarse[e];
    }
    GSW_TRY(ops->interpolate(context, t, &rows->matrix, GSW_ROWS_OF_MATRIX, product->type,
                             product->weights[0], &degenerate));
    if (!symmetric)
        GSW_TRY(
            ops->interpolate(context, t, &rows->matrix,
                             isolated ? GSW_ROWS_OF_SYMMETRIC_PART_CUT : GSW_ROWS_OF_SYMMETRIC_PART,
                             product->type, product->weights[1], &degenerate));
    return ops->triple(context, t, &rows->matrix, product->type, product->weights[0],
                       product->weights[1], own);
}

/* Copies the own rows of one entry from the frame. Where there is a `shift`, they are those of
 * points that far away, or zeros outside the frame. */
static void copy_rows(const gsw_grid *frame, const double *from, const int64_t low[3],
                      gsw_offset shift, const gsw_grid *own, double *to) {
    for (int64_t z = low[2] + shift.dz; z < low[2] + shift.dz + own->nz; z++) {
        for (int64_t y = low[1] + shift.dy; y < low[1] + shift.dy + own->ny; y++) {
            for (int64_t x = low[0] + shift.dx; x < low[0] + shift.dx + own->nx; x++) {
                const int exists =
                    x >= 0 && x < frame->nx && y >= 0 && y < frame->ny && z >= 0 && z < frame->nz;
                *to++ = exists ? from[gsw_grid_row(frame, x, y, z)] : 0;
            }
        }
    }
}

/* The own rows of the coarse matrix, from those of the frame; in the lower part of a symmetric
 * matrix the mirror images of the upper part, if they are not there. */
static gsw_status keep_rows(const gsw_distributed_product *product, const int64_t low[3],
                            gsw_distributed_matrix *matrix) {
    gsw_context *context = product->context;
    const gsw_stencil *stencil = &matrix->local.stencil;
    const gsw_grid *frame = &product->tables.coarse;
    for (int32_t e = 0; e < stencil->count; e++) {
        const gsw_offset o = stencil->offsets[e], none = {0, 0, 0};
        const int mirrored = mirrors_itself(product) && e < stencil->center;
        const double *from =
            product->coarse[mirrored ? gsw_stencil_find(stencil, (gsw_offset){-o.dx, -o.dy, -o.dz})
                                     : e];
        double *to = (double *)matrix->moved + e * matrix->points;
        if (context->ops->slab)
            GSW_TRY(context->ops->copy(context, matrix->points,
                                       from + frame->nx * frame->ny * low[2], to));
        else
            copy_rows(frame, from, low, mirrored ? o : none, &matrix->local.grid, to);
    }
    return GSW_SUCCESS;
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
    return keep_rows(product, low, matrix);
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

/* Frames of a cycle on both levels. Collective. */
static gsw_status open_frames(const gsw_distributed_rows *rows, gsw_partition *coarse, int axes,
                              gsw_distributed_transfer *transfer) {
    gsw_partition *p = rows->of->partition;
    const int64_t width = cycle_width(rows->of);
    GSW_TRY(gsw_partition_agree(p, gsw_frames_open(p, p, 0, width, 1, &transfer->fine)));
    return gsw_frames_open(coarse, p, axes, width, 1, &transfer->coarse);
}

/* The weights of a cycle. On devices they are those of the wide frame, of which the narrow one has
 * some planes; their memory passes to the transfer. */
static gsw_status take_weights(const gsw_distributed_rows *rows, gsw_partition *coarse,
                               gsw_distributed_product *product,
                               gsw_distributed_transfer *transfer) {
    gsw_context *context = product->context;
    const gsw_transfer *wide = &product->tables, *t = &transfer->tables;
    int64_t shift[3];
    find_low(rows, coarse, wide->axes, shift);
    for (int axis = 0; axis < 3; axis++)
        shift[axis] -= transfer->coarse.frame.low[axis];
    if (context->ops->slab) {
        const size_t first =
            (size_t)(wide->coarse.nx * wide->coarse.ny * shift[2]) * gsw_dtype_size(product->type);
        for (int32_t w = 0; w < t->weights; w++) {
            transfer->prolongation[w] = (char *)product->weights[0][w] + first;
            transfer->restriction[w] = (char *)product->weights[1][w] + first;
        }
        transfer->block = product->block;
        product->block = NULL;
        return GSW_SUCCESS;
    }
    void *weights[2][GSW_WEIGHTS_MAX];
    GSW_TRY(alloc_weights(context, wide->symmetric ? 1 : 2, t, GSW_F64, &transfer->block, weights));
    memcpy(transfer->prolongation, weights[0], sizeof weights[0]);
    memcpy(transfer->restriction, weights[1], sizeof weights[1]);
    crop_weights(wide, product->weights[0], shift, t, transfer->prolongation);
    if (!wide->symmetric)
        crop_weights(wide, product->weights[1], shift, t, transfer->restriction);
    return GSW_SUCCESS;
}

static gsw_status open_cycle(const gsw_distributed_rows *rows, gsw_partition *coarse,
                             gsw_distributed_product *product, gsw_distributed_transfer *transfer) {
    gsw_context *context = product->context;
    const int64_t *e = transfer->fine.frame.e;
    const gsw_grid grid = {e[0], e[1], e[2]};
    const gsw_transfer *wide = &product->tables;
    void *memory;
    gsw_transfer_make(&transfer->tables, &grid, &wide->fine_stencil, wide->axes, wide->symmetric);
    GSW_TRY(take_weights(rows, coarse, product, transfer));
    if (context->ops->slab)
        return GSW_SUCCESS;
    const size_t fine_points = (size_t)points_of(&transfer->tables.fine);
    const size_t points = fine_points + (size_t)points_of(&transfer->tables.coarse);
    GSW_TRY(reserve(context, 1, points, GSW_F64, &memory));
    transfer->fine_frame = memory;
    transfer->coarse_frame = transfer->fine_frame + fine_points;
    return context->ops->set(context, memory, 0, points * sizeof(double));
}

gsw_status gsw_distributed_transfer_open(const gsw_distributed_rows *rows, gsw_partition *coarse,
                                         int axes, int symmetric, int isolated, gsw_dtype type,
                                         gsw_distributed_transfer *transfer,
                                         gsw_distributed_product *product,
                                         gsw_distributed_matrix **matrix) {
    int64_t low[3];
    *transfer = (gsw_distributed_transfer){.type = type};
    *product = (gsw_distributed_product){.context = rows->of->partition->context, .type = type};
    *matrix = NULL;
    gsw_status status = open_frames(rows, coarse, axes, transfer);
    transfer->fine.value = transfer->coarse.value = gsw_dtype_size(type);
    if (status == GSW_SUCCESS)
        status = compute_product(rows, axes, symmetric, isolated, product);
    if (status == GSW_SUCCESS)
        status = open_cycle(rows, coarse, product, transfer);
    if (status == GSW_SUCCESS)
        status = gsw_distributed_matrix_reserve(coarse, &product->tables.coarse_stencil, matrix);
    find_low(rows, coarse, axes, low);
    if (status == GSW_SUCCESS)
        status = keep_rows(product, low, *matrix);
    return gsw_distributed_matrix_end(coarse, status, *matrix, matrix);
}

void gsw_distributed_transfer_close(gsw_distributed_transfer *transfer) {
    if (!transfer->fine.partition)
        return;
    gsw_context *context = transfer->fine.partition->context;
    gsw_unreserve(context, transfer->block);
    gsw_unreserve(context, transfer->fine_frame);
    gsw_ghosts_close(&transfer->fine);
    if (transfer->coarse.partition)
        gsw_ghosts_close(&transfer->coarse);
    *transfer = (gsw_distributed_transfer){.block = NULL};
}

void gsw_distributed_product_close(gsw_distributed_product *product) {
    gsw_context *context = product->context;
    if (!context)
        return;
    gsw_unreserve(context, product->block);
    gsw_unreserve(context, product->rows);
    if (context->ops->multigrid->transfer_close)
        context->ops->multigrid->transfer_close(context, &product->tables);
    *product = (gsw_distributed_product){.block = NULL};
}

/* ---- Transfers --------------------------------------------------------------------------------
 */

void *gsw_distributed_frame(const gsw_ghosts *ghosts, void *own) {
    const gsw_frame *f = &ghosts->frame;
    return (char *)own - (size_t)(f->e[0] * f->e[1] * f->low[2]) * ghosts->value;
}

/* The frame that the own part of a vector is in, or the one that it is copied to. */
static void *frame_for(const gsw_ghosts *ghosts, void *own, double *copy) {
    return ghosts->partition->context->ops->slab ? gsw_distributed_frame(ghosts, own) : copy;
}

gsw_status gsw_distributed_restrict(gsw_distributed_transfer *t, void *fine, void *coarse) {
    gsw_context *context = t->fine.partition->context;
    void *from = frame_for(&t->fine, fine, t->fine_frame);
    void *to = frame_for(&t->coarse, coarse, t->coarse_frame);
    GSW_TRY(gsw_ghosts_update(&t->fine, fine, from));
    GSW_TRY(context->ops->multigrid->restrict_vector(context, &t->tables, t->type, t->restriction,
                                                     from, to));
    return gsw_ghosts_take_own(&t->coarse, to, coarse);
}

gsw_status gsw_distributed_prolong_add(gsw_distributed_transfer *t, void *coarse, int known,
                                       void *fine) {
    gsw_context *context = t->fine.partition->context;
    void *from = frame_for(&t->coarse, coarse, t->coarse_frame);
    void *to = frame_for(&t->fine, fine, t->fine_frame);
    if (!known)
        GSW_TRY(gsw_ghosts_update(&t->coarse, coarse, from));
    GSW_TRY(gsw_ghosts_put_own(&t->fine, fine, to));
    GSW_TRY(context->ops->multigrid->prolong_add(context, &t->tables, t->type, t->prolongation,
                                                 from, to));
    return gsw_ghosts_take_own(&t->fine, to, fine);
}
