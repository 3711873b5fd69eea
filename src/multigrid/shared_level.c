/* shared_level.c: see shared_level.h. */
#include "shared_level.h"
#include <stdlib.h>
#include <string.h>
#include "contract/allocate.h"
#include "core/reserve.h"
#include "geometry/stencil_facts.h"

static gsw_context *context_of(const gsw_level *level) {
    return level->shared->partition->context;
}

static int on_device(const gsw_level *level) {
    return !context_of(level)->ops->link->on_host;
}

static int64_t points_of(const gsw_grid *g) {
    return g->nx * g->ny * g->nz;
}

/* Adds `points` values of `size` bytes to a pointer. */
static void *advanced(void *pointer, int64_t points, size_t size) {
    return (char *)pointer + points * (int64_t)size;
}

/* ---- Rows -------------------------------------------------------------------------------------
 */

/* The width of wide frames. A coarse row of the upper part may stand one coarse point, two fine
 * ones, before the box. It reads the weights of fine points up to two away. These need rows up to
 * one farther. A row's symmetric part and its lumps read what is a stencil's reach away, and so do
 * the tests for isolated points. */
static int64_t wide_width(const gsw_stencil *stencil) {
    const int reach = gsw_stencil_beyond(stencil, 1) ? 2 : 1;
    return 5 + 2 * reach;
}

/* The width of frames in a cycle. Fine points of the box interpolate from coarse points at most one
 * fine point away. On devices the frame of x also serves products (gsw_slab_rest). */
static int64_t narrow_width(const gsw_level *level) {
    return on_device(level) && gsw_stencil_beyond(&level->shared->own->local.stencil, 1) ? 2 : 1;
}

gsw_status gsw_shared_open(const gsw_multigrid *mg, gsw_partition *partition,
                           gsw_distributed_matrix *own, gsw_level *level) {
    gsw_shared_level *made;
    const gsw_status status =
        gsw_alloc(mg->context, 1, sizeof *made, "a shared level", (void **)&made);
    if (status != GSW_SUCCESS) {
        gsw_distributed_matrix_destroy(own);
        if (partition != mg->partition)
            gsw_partition_destroy(partition);
        return status;
    }
    memset(made, 0, sizeof *made);
    made->partition = partition;
    made->own = own;
    level->shared = made;
    return GSW_SUCCESS;
}

/* Whether all processes take a level whole: its share of the work is small. */
static int is_small(const gsw_multigrid *mg, const gsw_grid *grid, int number) {
    enum { SHARE = 16 /* of the finest level's work */ };
    const double points = (double)grid->nx * (double)grid->ny * (double)grid->nz;
    const double all = (double)mg->grid.nx * (double)mg->grid.ny * (double)mg->grid.nz;
    /* fp32: what all processes take whole is larger than a level that is solved directly. */
    if (mg->options.cycle_type == GSW_F32 &&
        points <= 8.0 * (double)mg->context->ops->multigrid->coarsest_points)
        return 1;
    if (mg->options.whole_points > 0)
        return points <= (double)mg->options.whole_points;
    return points <= (double)mg->context->ops->multigrid->together_points ||
           (number > 0 && points * mg->partition->transport.processes <= all / SHARE);
}

/* Whether the boxes of a level are smoothed exactly, but have too few planes for that. */
static int is_thin(const gsw_multigrid *mg, const gsw_partition *p) {
    const int64_t extent[3] = {p->grid.nx, p->grid.ny, p->grid.nz};
    return mg->options.scope == GSW_SCOPE_GLOBAL && mg->options.smoother != GSW_SMOOTHER_JACOBI &&
           mg->options.smoother != GSW_SMOOTHER_CHEBYSHEV &&
           extent[gsw_partition_last_axis(p)] < p->transport.processes;
}

/* Whether a periodic axis has an odd number of points: beyond its ends even points would be odd. */
static int is_odd(const gsw_partition *p) {
    const int64_t extent[3] = {p->grid.nx, p->grid.ny, p->grid.nz};
    for (int axis = 0; axis < 3; axis++)
        if ((p->grid.periodic >> axis & 1) && extent[axis] % 2 == 1)
            return 1;
    return 0;
}

/* On slabs: where the box begins in a vector of the frame of these ghosts. */
static int64_t first_of(const gsw_ghosts *ghosts) {
    const gsw_frame *f = &ghosts->frame;
    return f->e[0] * f->e[1] * f->low[2];
}

/* The vectors that all processes have of a level that is brought together. */
static gsw_status open_together(const gsw_multigrid *mg, gsw_level *level) {
    gsw_shared_level *s = level->shared;
    const size_t size = gsw_dtype_size(mg->options.cycle_type);
    GSW_TRY(
        gsw_reserve_counted(mg->context, (size_t)level->points, size, &level->bytes, &level->b));
    GSW_TRY(
        gsw_reserve_counted(mg->context, (size_t)level->points, size, &level->bytes, &level->x));
    return on_device(level) ? GSW_SUCCESS
                            : gsw_reserve_counted(mg->context, (size_t)s->own->points, size,
                                                  &level->bytes, &s->b);
}

static gsw_status open_rows(gsw_level *level) {
    gsw_shared_level *s = level->shared;
    const gsw_frame_reach whole = {.width = -1};
    const gsw_frame_reach wide = {
        .width = wide_width(&s->own->local.stencil), .even = 1, .around = 1};
    const gsw_status status =
        gsw_distributed_rows_reserve(s->own, s->together ? &whole : &wide, &s->rows);
    level->matrix = s->rows.matrix;
    level->points = s->together ? points_of(&s->partition->grid) : s->own->points;
    return status;
}

/* On devices the own rows of coarse levels are part of the frame's: those of `before` move there.
 */
static gsw_status place_own(const gsw_multigrid *mg, const gsw_level *level,
                            const gsw_distributed_rows *before) {
    gsw_shared_level *s = level->shared;
    if (level == mg->level[0] || !on_device(level))
        return GSW_SUCCESS;
    for (int32_t e = 0; e < s->own->local.stencil.count; e++) {
        double *to = s->rows.values[e] + first_of(&s->rows.ghosts);
        if (before)
            GSW_TRY(
                mg->context->ops->vector->copy(mg->context, s->own->points, s->own->values[e], to));
        s->own->values[e] = to;
    }
    return GSW_SUCCESS;
}

gsw_status gsw_shared_open_rows(const gsw_multigrid *mg, int number) {
    gsw_level *level = mg->level[number];
    const gsw_partition *p = level->shared->partition;
    level->shared->together = is_small(mg, &p->grid, number) || is_thin(mg, p) || is_odd(p) ||
                              number + 1 == mg->options.max_levels;
    GSW_TRY(open_rows(level));
    return place_own(mg, level, NULL);
}

gsw_status gsw_shared_bring_together(const gsw_multigrid *mg, int number) {
    gsw_level *level = mg->level[number];
    gsw_distributed_rows before = level->shared->rows;
    level->shared->together = 1;
    gsw_status status = open_rows(level);
    if (status == GSW_SUCCESS)
        status = place_own(mg, level, &before);
    if (status == GSW_SUCCESS && number > 0)
        status = open_together(mg, level);
    status = gsw_partition_agree(mg->partition, status);
    gsw_distributed_rows_close(&before);
    return status == GSW_SUCCESS ? gsw_distributed_rows_fetch(&level->shared->rows) : status;
}

void gsw_shared_find_product(const gsw_multigrid *mg, gsw_level *level) {
    gsw_shared_level *s = level->shared;
    level->product = s->own->local;
    if (mg->options.cycle_type == GSW_F64)
        return;
    for (int32_t e = 0; e < level->matrix.stencil.count; e++)
        s->values[e] = (float *)level->cycle.values[e] + first_of(&s->rows.ghosts);
    level->product.array = (gsw_stencil_array){.values = s->values, .value_type = GSW_F32};
}

/* ---- Vectors ----------------------------------------------------------------------------------
 */

gsw_status gsw_shared_open_vectors(const gsw_multigrid *mg, gsw_level *level) {
    gsw_context *context = mg->context;
    gsw_shared_level *s = level->shared;
    const gsw_grid *g = &s->partition->grid;
    const int64_t size = (int64_t)gsw_dtype_size(mg->options.cycle_type);
    const int64_t margin = on_device(level) ? GSW_MARGIN * g->nx * g->ny : 0;
    const int64_t pitch = level->points + 2 * margin;
    void **const vector[] = {&level->x, &level->residual, &level->b, &level->direction};
    const int count = sizeof vector / sizeof *vector;
    if (s->block)
        return GSW_SUCCESS;
    GSW_TRY(gsw_reserve_counted(context, (size_t)(count * pitch), (size_t)size, &level->bytes,
                                &s->block));
    GSW_TRY(context->ops->memory->set(context, s->block, 0, (size_t)(count * pitch * size)));
    for (int i = 0; i < count; i++)
        *vector[i] = advanced(s->block, i * pitch + margin, (size_t)size);
    return GSW_SUCCESS;
}

/* On devices: the frame around the own part of a vector. */
static void *frame_around(const gsw_ghosts *ghosts, const void *own) {
    return advanced((void *)(uintptr_t)own, -first_of(ghosts), ghosts->value);
}

/* All processes get b of a level that is brought together. */
static gsw_status gather(const gsw_multigrid *mg, gsw_shared_level *s, const void *own,
                         void *whole) {
    s->rows.ghosts.value =
        gsw_dtype_size(mg->level[0]->shared == s ? GSW_F64 : mg->options.cycle_type);
    return gsw_ghosts_update(&s->rows.ghosts, own, whole);
}

gsw_status gsw_shared_gather(const gsw_multigrid *mg, const double *b, double **whole_b,
                             double **whole_x) {
    const gsw_level *finest = mg->level[0];
    *whole_b = finest->shared->block;
    *whole_x = *whole_b + finest->points;
    return gather(mg, finest->shared, b, *whole_b);
}

gsw_status gsw_shared_keep(const gsw_multigrid *mg, const double *whole_x, double *x) {
    return gsw_ghosts_take_own(&mg->level[0]->shared->rows.ghosts, whole_x, x);
}

gsw_status gsw_shared_scale(const gsw_multigrid *mg, const double *b, float *narrowed) {
    gsw_partition *p = mg->partition;
    gsw_context *context = mg->context;
    const int64_t points = mg->level[0]->points;
    double own[2], common = 0;
    GSW_TRY(context->ops->memory->download(context, &own[0], mg->scale, sizeof own[0]));
    GSW_TRY(context->ops->vector->dot(context, points, b, b, &own[1]));
    GSW_TRY(gsw_partition_gather(p, own, sizeof own));
    for (int i = 0; i < p->transport.processes; i++) {
        double other[2];
        memcpy(other, p->answers + (size_t)i * sizeof other, sizeof other);
        /* Processes whose b is 0 do not count. The square of a small b may be 0, but then the
         * factor is not 1. */
        if ((other[1] != 0 || other[0] != 1) && other[0] > common)
            common = other[0];
    }
    if (common == 0 || common == own[0])
        return GSW_SUCCESS;
    GSW_TRY(context->ops->memory->upload(context, mg->scale, &common, sizeof common));
    return context->ops->multigrid->combine(context, GSW_F32, points, own[0] / common, narrowed, 0,
                                            narrowed);
}

/* ---- Set-up of a transfer ---------------------------------------------------------------------
 */

gsw_status gsw_shared_coarsen(const gsw_level *level, int axes, gsw_partition **coarse) {
    gsw_partition *p = level->shared->partition;
    *coarse = NULL;
    if (axes == 0)
        return GSW_SUCCESS;
    const gsw_status status = gsw_partition_agree(p, gsw_partition_coarsen(p, axes, coarse));
    if (status != GSW_SUCCESS) {
        gsw_partition_destroy(*coarse);
        *coarse = NULL;
    }
    return status;
}

gsw_status gsw_shared_open_product(const gsw_multigrid *mg, gsw_level *level) {
    const gsw_transfer *t = level->transfer;
    gsw_level_arrays *product = &level->shared->product;
    GSW_TRY(gsw_level_alloc_arrays(mg->context, t->coarse_stencil.count, points_of(&t->coarse), 0,
                                   GSW_F64, &level->bytes, product));
    /* CPU: the upper part of a symmetric product is enough; the own rows are mirrored. */
    product->mirrored = mg->symmetric && !on_device(level) ? t->coarse_stencil.center : 0;
    return GSW_SUCCESS;
}

/* Where the coarse box begins in the wide coarse frame. */
static void find_low(const gsw_level *level, const gsw_partition *coarse, int64_t low[3]) {
    const gsw_shared_level *s = level->shared;
    for (int axis = 0; axis < 3; axis++) {
        const int64_t begin = s->partition->own.begin[axis] - s->rows.ghosts.frame.low[axis];
        low[axis] =
            coarse->own.begin[axis] - (level->transfer->axes >> axis & 1 ? begin / 2 : begin);
    }
}

/* On devices the weights of the narrow frame are some planes of the wide one's. */
static gsw_status open_narrow(const gsw_multigrid *mg, gsw_level *level,
                              const gsw_partition *coarse) {
    gsw_shared_level *s = level->shared;
    const gsw_transfer *wide = level->transfer, *t = &s->tables;
    const gsw_dtype type = mg->options.cycle_type;
    const int64_t *f = s->fine.frame.e, *c = s->coarse.frame.e;
    const int64_t fine_points = f[0] * f[1] * f[2], points = c[0] * c[1] * c[2];
    gsw_transfer_make(&s->tables, &(gsw_grid){f[0], f[1], f[2]}, &wide->fine_stencil, wide->axes,
                      wide->symmetric);
    if (on_device(level)) {
        int64_t low[3];
        find_low(level, coarse, low);
        const int64_t first = wide->coarse.nx * wide->coarse.ny * (low[2] - s->coarse.frame.low[2]);
        for (int32_t w = 0; w < t->weights; w++) {
            s->prolongation[w] =
                advanced(level->prolongation.values[w], first, gsw_dtype_size(type));
            s->restriction[w] = advanced(level->restriction.values[w], first, gsw_dtype_size(type));
        }
        return GSW_SUCCESS;
    }
    for (int i = 0; i < (wide->symmetric ? 1 : 2); i++) {
        GSW_TRY(gsw_level_alloc_arrays(mg->context, t->weights, points, GSW_WEIGHTS_PAD, type,
                                       &level->bytes, &s->narrow[i]));
        for (int32_t w = 0; w < t->weights; w++)
            memset(s->narrow[i].values[w], 0, (size_t)points * sizeof(double));
    }
    memcpy(s->prolongation, s->narrow[0].values, sizeof s->prolongation);
    memcpy(s->restriction, s->narrow[!wide->symmetric].values, sizeof s->restriction);
    GSW_TRY(gsw_reserve_counted(mg->context, (size_t)(fine_points + points), sizeof(double),
                                &level->bytes, &s->frames));
    memset(s->frames, 0, (size_t)(fine_points + points) * sizeof(double));
    s->fine_frame = s->frames;
    s->coarse_frame = s->fine_frame + fine_points;
    return GSW_SUCCESS;
}

/* The own rows of the next level. On devices they are part of its wide frame, which is not there
 * yet. */
static gsw_status open_own(const gsw_level *level, gsw_partition *coarse,
                           gsw_distributed_matrix **own) {
    const gsw_stencil *stencil = &level->transfer->coarse_stencil;
    const gsw_status status =
        on_device(level)
            ? gsw_distributed_matrix_begin(coarse, stencil, GSW_F64,
                                           (const void *const *)level->shared->product.values, own)
            : gsw_distributed_matrix_reserve(coarse, stencil, own);
    return gsw_distributed_matrix_end(coarse, status, *own, own);
}

gsw_status gsw_shared_open_transfer(const gsw_multigrid *mg, int number, gsw_partition *coarse) {
    gsw_level *level = mg->level[number], *next = mg->level[number + 1];
    gsw_shared_level *s = level->shared;
    gsw_partition *p = s->partition;
    gsw_distributed_matrix *own = NULL;
    gsw_status status = open_own(level, coarse, &own);
    if (status == GSW_SUCCESS && own != NULL)
        status = gsw_partition_agree(p, gsw_shared_open(mg, coarse, own, next));
    else
        gsw_partition_destroy(coarse);
    GSW_TRY(status);
    const gsw_frame_reach narrow = {.width = narrow_width(level), .even = 1, .around = 1};
    GSW_TRY(gsw_frames_open(p, p, 0, &narrow, &s->fine));
    GSW_TRY(gsw_frames_open(coarse, p, level->transfer->axes, &narrow, &s->coarse));
    s->fine.value = s->coarse.value = gsw_dtype_size(mg->options.cycle_type);
    GSW_TRY(gsw_partition_agree(p, open_narrow(mg, level, coarse)));
    GSW_TRY(gsw_shared_open_rows(mg, number + 1));
    return gsw_partition_agree(p, next->shared->together ? open_together(mg, next) : GSW_SUCCESS);
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

/* The own rows of the next level, from those of the frame; in the lower part of a symmetric matrix
 * the mirror images of the upper part, if they are not there. */
static gsw_status keep_rows(const gsw_level *level, const gsw_distributed_matrix *to) {
    gsw_context *context = context_of(level);
    const gsw_level_arrays *product = &level->shared->product;
    const gsw_stencil *stencil = &to->local.stencil;
    const gsw_grid *frame = &level->transfer->coarse;
    int64_t low[3];
    find_low(level, to->partition, low);
    for (int32_t e = 0; e < stencil->count; e++) {
        const gsw_offset o = stencil->offsets[e], none = {0, 0, 0};
        const int mirrored = e < product->mirrored;
        const double *from =
            product->values[mirrored ? gsw_stencil_find(stencil, (gsw_offset){-o.dx, -o.dy, -o.dz})
                                     : e];
        double *own = (double *)(uintptr_t)to->values[e];
        if (on_device(level))
            GSW_TRY(context->ops->vector->copy(context, to->points,
                                               from + frame->nx * frame->ny * low[2], own));
        else
            copy_rows(frame, from, low, mirrored ? o : none, &to->local.grid, own);
    }
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

gsw_status gsw_shared_take_product(const gsw_level *level, const gsw_level *next) {
    const gsw_shared_level *s = level->shared;
    int64_t shift[3];
    if (!on_device(level)) {
        find_low(level, next->shared->partition, shift);
        for (int axis = 0; axis < 3; axis++)
            shift[axis] -= s->coarse.frame.low[axis];
        crop_weights(level->transfer, level->prolongation.values, shift, &s->tables,
                     s->prolongation);
        if (!level->transfer->symmetric)
            crop_weights(level->transfer, level->restriction.values, shift, &s->tables,
                         s->restriction);
    }
    return keep_rows(level, next->shared->own);
}

/* ---- Cycles -----------------------------------------------------------------------------------
 */

gsw_status gsw_shared_rest(const gsw_multigrid *mg, const gsw_level *level, gsw_slab_part part,
                           const void *b, void *y) {
    gsw_context *context = mg->context;
    gsw_shared_level *s = level->shared;
    const gsw_frame *f = &s->fine.frame;
    if (!on_device(level)) {
        GSW_TRY(gsw_distributed_matrix_multiply(s->own, level->x, y));
        return context->ops->multigrid->combine(context, GSW_F64, level->points, 1, b, -1, y);
    }
    const gsw_slab_rest job = {.matrix = &level->product,
                               .type = mg->options.cycle_type,
                               .part = part,
                               .planes = s->planes,
                               .below = f->low[2],
                               .above = f->e[2] - f->n[2] - f->low[2],
                               .b = b,
                               .x = level->x,
                               .y = y};
    GSW_TRY(gsw_ghosts_update(&s->fine, level->x, frame_around(&s->fine, level->x)));
    return context->ops->slab->rest(context, &job);
}

gsw_status gsw_shared_restrict(const gsw_multigrid *mg, const gsw_level *level,
                               const gsw_level *next) {
    const gsw_multigrid_ops *ops = mg->context->ops->multigrid;
    const int device = on_device(level);
    gsw_shared_level *s = level->shared, *t = next->shared;
    const size_t size = gsw_dtype_size(mg->options.cycle_type);
    void *b = !t->together ? next->b
              : device     ? advanced(next->b, first_of(&t->rows.ghosts), size)
                           : t->b;
    void *from = device ? frame_around(&s->fine, level->residual) : s->fine_frame;
    void *to = device ? frame_around(&s->coarse, b) : s->coarse_frame;
    GSW_TRY(gsw_ghosts_update(&s->fine, level->residual, from));
    GSW_TRY(ops->restrict_vector(mg->context, &s->tables, mg->options.cycle_type, s->restriction,
                                 from, to));
    GSW_TRY(gsw_ghosts_take_own(&s->coarse, to, b));
    return t->together ? gather(mg, t, b, next->b) : GSW_SUCCESS;
}

static int64_t turned_in(int64_t at, int64_t extent) {
    return (at % extent + extent) % extent;
}

/* The values of a frame from those of the whole grid; it may go on beyond periodic ends. */
static void copy_around(const gsw_partition *p, const gsw_frame *f, const double *whole,
                        double *framed) {
    const gsw_grid *g = &p->grid;
    int64_t first[3];
    for (int axis = 0; axis < 3; axis++)
        first[axis] = p->own.begin[axis] - f->low[axis];
    for (int64_t z = 0; z < f->e[2]; z++)
        for (int64_t y = 0; y < f->e[1]; y++) {
            const double *line = whole + gsw_grid_row(g, 0, turned_in(first[1] + y, g->ny),
                                                      turned_in(first[2] + z, g->nz));
            int64_t at = turned_in(first[0], g->nx), run;
            for (int64_t left = f->e[0]; left > 0; left -= run, framed += run, at = 0) {
                run = left < g->nx - at ? left : g->nx - at;
                memcpy(framed, line + at, (size_t)run * sizeof *framed);
            }
        }
}

/* The narrow coarse frame with x of the next level. */
static gsw_status find_coarse(const gsw_multigrid *mg, const gsw_level *level,
                              const gsw_level *next, void **frame) {
    gsw_shared_level *s = level->shared;
    const gsw_shared_level *t = next->shared;
    const int device = on_device(level);
    const size_t size = gsw_dtype_size(mg->options.cycle_type);
    *frame = s->coarse_frame;
    if (!t->together) {
        if (device)
            *frame = frame_around(&s->coarse, next->x);
        return gsw_ghosts_update(&s->coarse, next->x, *frame);
    }
    if (device) {
        *frame = frame_around(&s->coarse, advanced(next->x, first_of(&t->rows.ghosts), size));
        return GSW_SUCCESS;
    }
    copy_around(t->partition, &s->coarse.frame, next->x, s->coarse_frame);
    return GSW_SUCCESS;
}

gsw_status gsw_shared_prolong_add(const gsw_multigrid *mg, const gsw_level *level,
                                  const gsw_level *next) {
    gsw_shared_level *s = level->shared;
    void *to = on_device(level) ? frame_around(&s->fine, level->x) : s->fine_frame, *from;
    GSW_TRY(find_coarse(mg, level, next, &from));
    GSW_TRY(gsw_ghosts_put_own(&s->fine, level->x, to));
    GSW_TRY(mg->context->ops->multigrid->prolong_add(
        mg->context, &s->tables, mg->options.cycle_type, s->prolongation, from, to));
    return gsw_ghosts_take_own(&s->fine, to, level->x);
}

/* ---- Closing ----------------------------------------------------------------------------------
 */

void gsw_shared_close_transfer(gsw_level *level) {
    gsw_shared_level *s = level->shared;
    if (s->fine.partition)
        gsw_ghosts_close(&s->fine);
    if (s->coarse.partition)
        gsw_ghosts_close(&s->coarse);
}

void gsw_shared_drop_factors(gsw_shared_level *s) {
    if (s->after != s->before)
        gsw_distributed_factor_destroy(s->after);
    gsw_distributed_factor_destroy(s->before);
    s->before = s->after = NULL;
    s->takes_rest = 0;
}

void gsw_shared_close(gsw_level *level, int number) {
    gsw_shared_level *s = level->shared;
    gsw_context *context = context_of(level);
    gsw_shared_drop_factors(s);
    gsw_distributed_rows_close(&s->rows);
    void *const memory[] = {s->block,           s->frames,          s->product.block,
                            s->narrow[0].block, s->narrow[1].block, s->together ? s->b : NULL};
    for (size_t i = 0; i < sizeof memory / sizeof *memory; i++)
        gsw_unreserve(context, memory[i]);
    gsw_distributed_matrix_destroy(s->own);
    if (number > 0)
        gsw_partition_destroy(s->partition);
    free(s);
    level->shared = NULL;
}
