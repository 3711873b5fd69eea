/* eliminate.cu: ILU(0), IC(0) and DILU on packed factors, in place, by the skewed wavefront.
 *
 * METHOD. That of the CPU's eliminate.c, operation by operation: a row reads the scaled upper rows
 * u' = U / d of its neighbours and their reciprocal pivots, and makes its own. Since a scaled row
 * is all that anyone reads of a row, a row's values can be replaced by the factor's at once, and
 * one pass over both parts does everything: it reads and writes each coefficient and diagonal
 * once, 2 (lower + 1 + upper) values a point. The neighbours' values come on top, but they were
 * written some steps before and are still in the L2 cache. Arithmetic is in double; what is kept
 * between rows is rounded to the factor's type.
 *
 * UNIT OF WORK. One row, by one thread: a block has threads for the lanes of some pencils and for
 * the lines of each lane. TIME orders the steps of all pencils: step s of pencil (j, k) belongs to
 * time  s + j*later_y + k*later_z.  A launch covers DEPTH times and the pencils that have steps in
 * them, which stand side by side in the table, because it is in the order of their starts.
 *
 * WHY WHAT IS READ IS THERE. Nobody waits for anybody within a launch, except the block for itself.
 *   - Own pencil: the neighbour was made in an earlier step (back >= 1), before the block's barrier
 *     or in an earlier launch.
 *   - A pencil n >= 1 tiles before in y' (z is alike): the point stands n*tile_y*skew_y - back
 *     steps later in its own pencil. The last step of a launch asks for at most
 *     DEPTH - 1 + n*tile_y*skew_y - 1 steps after the launch's first one, and later_y is the
 *     smallest multiple of DEPTH that brings the steps of the neighbour up to there into earlier
 *     launches. For both directions together the two add up to no less than is needed.
 *   - Launches of one stream follow each other, and a kernel sees all that earlier ones wrote. Its
 *     own writes are read by no other block of the same launch.
 * Where all pencils fit in one block, one launch does everything; times are then those of the
 * hyperplanes themselves (DEPTH = 1), with a barrier after each.
 *
 * A pencil reads other lines' values only from the upper part and only where the neighbour lies in
 * the grid along x and in a pencil that is used. What else it may meet are places that belong to no
 * point, which nobody writes; the row's coefficient for such a neighbour is zero. */
#include <stdlib.h>

#include "cuda/eliminate.cuh"

namespace {

/* Times of a launch. More of them make fewer launches, but let neighbours start later. */
constexpr int64_t DEPTH = 4;

/* Warps of a block where a launch has many. */
constexpr int32_t BLOCK_WARPS = 2;

/* packed->eliminate_work. */
struct work {
    eliminate_plan plan;
    int64_t *start; /* of each pencil, ascending; host */
    int32_t pencils;
    int32_t whole; /* all pencils fit in one block */
    int64_t times; /* from 0 to the end of the last pencil */
};

int64_t later(const work *w, int64_t steps) {
    return w->whole ? steps : DEPTH * (gsw_floor_div(steps + DEPTH - 2, DEPTH) + 1);
}

int32_t bits_of(int32_t power_of_two) {
    int32_t bits = 0;
    while (1 << bits < power_of_two)
        bits++;
    return bits;
}

int earlier(const void *left, const void *right) {
    const eliminate_pencil *a = static_cast<const eliminate_pencil *>(left);
    const eliminate_pencil *b = static_cast<const eliminate_pencil *>(right);
    if (a->start != b->start)
        return a->start < b->start ? -1 : 1;
    return (a->ticket > b->ticket) - (a->ticket < b->ticket);
}

/* Copies `count` values of `size` bytes to new device memory. */
gsw_status upload(gsw_context *context, gsw_factor *factor, const void *host, size_t count,
                  size_t size, const void **device) {
    void *memory;
    GSW_TRY(gsw_cuda_check(context, cudaMalloc(&memory, count * size), "the elimination's tables"));
    *device = memory;
    factor->info.work_bytes += (int64_t)(count * size);
    return gsw_cuda_check(context, cudaMemcpy(memory, host, count * size, cudaMemcpyHostToDevice),
                          "the elimination's tables");
}

gsw_status download(gsw_context *context, void *host, const void *device, size_t bytes) {
    return gsw_cuda_check(context, cudaMemcpy(host, device, bytes, cudaMemcpyDeviceToHost),
                          "the table of pencils");
}

/* Tiles that a pencil reads along one direction, its own included; 2 at least. */
int32_t tiles_within(int32_t halo, int32_t tile) {
    const int32_t tiles = (int32_t)gsw_ceil_div(halo, tile) + 1;
    return tiles > 2 ? tiles : 2;
}

/* Everything of the plan but its tables. */
void describe(work *w, const gsw_factor *factor) {
    const gsw_packed *packed = factor->packed;
    const gsw_packed_view *lower = &packed->view[0], *upper = &packed->view[1];
    const gsw_tiles *t = &lower->tiles;
    eliminate_plan *plan = &w->plan;
    plan->ny = t->ny;
    plan->nz = t->nz;
    memcpy(plan->stride, t->stride, sizeof plan->stride);
    plan->nx = (int32_t)t->nx;
    plan->delay = t->delay;
    plan->records = (int32_t)t->records;
    plan->per_record = (uint32_t)(((uint64_t)1 << 32) / (uint64_t)t->records);
    plan->shear = t->shear;
    plan->skew_y = t->skew_y;
    plan->skew_z = t->skew_z;
    plan->tile_y = t->tile_y;
    plan->tile_z = t->tile_z;
    plan->lanes_bits = bits_of(t->tile.lanes_y);
    plan->lines_y_bits = bits_of(t->tile.lines_y);
    plan->lines_z_bits = bits_of(t->tile.lines_z);
    plan->members = lower->members;
    plan->vector = lower->vector;
    plan->lower_terms = lower->terms;
    plan->upper_terms = upper->terms;
    plan->lower_record = (int32_t)gsw_record_values(lower);
    plan->upper_record = (int32_t)gsw_record_values(upper);
    plan->lower = lower->values;
    plan->upper = upper->values;
    plan->near_y = tiles_within(t->halo_y, t->tile_y);
    plan->near_z = tiles_within(t->halo_z, t->tile_z);
    plan->dilu = factor->options.kind == GSW_DILU;
    plan->positive = factor->options.kind == GSW_IC0;
    plan->pivot_shift = factor->options.pivot_shift;
    plan->pivots = packed->pivots;
    w->pencils = lower->pencils;
    w->whole = (int64_t)lower->pencils * lower->members <= ELIMINATE_WARPS;
}

/* The pencils in the order of their starts. `from` is their table in ticket order. */
void order_pencils(work *w, const gsw_tiles *t, const gsw_pencil *from, eliminate_pencil *to) {
    const int64_t later_y = later(w, (int64_t)t->skew_y * t->tile_y);
    const int64_t later_z = later(w, (int64_t)t->skew_z * t->tile_z);
    for (int32_t i = 0; i < w->pencils; i++)
        to[i] = {from[i].j * later_y + from[i].k * later_z, from[i].j, from[i].k, i, 0};
    qsort(to, (size_t)w->pencils, sizeof *to, earlier);
    for (int32_t i = 0; i < w->pencils; i++)
        w->start[i] = to[i].start;
    w->times = w->start[w->pencils - 1] + t->nx + t->delay;
}

/* Which pencils lie before each one. `ticket` has room for all tiles. */
void find_near(const work *w, const gsw_tiles *t, const int32_t *mirror,
               const eliminate_pencil *pencil, int32_t *ticket, int32_t *near) {
    for (int64_t i = 0; i < t->tiles_y * t->tiles_z; i++)
        ticket[i] = -1;
    for (int32_t i = 0; i < w->pencils; i++)
        ticket[pencil[i].k * t->tiles_y + pencil[i].j] = mirror[pencil[i].ticket];
    for (int32_t i = 0; i < w->pencils; i++) {
        for (int32_t z = 0; z < w->plan.near_z; z++) {
            for (int32_t y = 0; y < w->plan.near_y; y++) {
                const int64_t j = pencil[i].j - y, k = pencil[i].k - z;
                *near++ = j < 0 || k < 0 ? -1 : ticket[k * t->tiles_y + j];
            }
        }
    }
}

gsw_status make_tables(gsw_context *context, gsw_factor *factor, work *w) {
    const gsw_packed_view *view = &factor->packed->view[0];
    const gsw_tiles *t = &view->tiles;
    const size_t pencils = (size_t)w->pencils;
    const size_t all_near = pencils * (size_t)(w->plan.near_y * w->plan.near_z);
    const char *const what = "the elimination's tables";
    void *table = NULL, *mirror = NULL, *pencil = NULL, *ticket = NULL, *near = NULL;
    gsw_status status;
    GSW_TRY_GOTO(gsw_alloc(context, pencils, sizeof(gsw_pencil), what, &table), cleanup);
    GSW_TRY_GOTO(gsw_alloc(context, pencils, sizeof(int32_t), what, &mirror), cleanup);
    GSW_TRY_GOTO(gsw_alloc(context, pencils, sizeof(eliminate_pencil), what, &pencil), cleanup);
    GSW_TRY_GOTO(
        gsw_alloc(context, (size_t)(t->tiles_y * t->tiles_z), sizeof(int32_t), what, &ticket),
        cleanup);
    GSW_TRY_GOTO(gsw_alloc(context, all_near, sizeof(int32_t), what, &near), cleanup);
    GSW_TRY_GOTO(download(context, table, view->table, pencils * sizeof(gsw_pencil)), cleanup);
    GSW_TRY_GOTO(download(context, mirror, view->mirror, pencils * sizeof(int32_t)), cleanup);

    order_pencils(w, t, static_cast<gsw_pencil *>(table), static_cast<eliminate_pencil *>(pencil));
    find_near(w, t, static_cast<int32_t *>(mirror), static_cast<eliminate_pencil *>(pencil),
              static_cast<int32_t *>(ticket), static_cast<int32_t *>(near));
    GSW_TRY_GOTO(upload(context, factor, pencil, pencils, sizeof(eliminate_pencil),
                        (const void **)&w->plan.pencil),
                 cleanup);
    GSW_TRY_GOTO(
        upload(context, factor, near, all_near, sizeof(int32_t), (const void **)&w->plan.near),
        cleanup);
cleanup:
    free(near);
    free(ticket);
    free(pencil);
    free(mirror);
    free(table);
    return status;
}

gsw_status make_lists(gsw_context *context, gsw_factor *factor, work *w) {
    const gsw_shape *shape = &factor->packed->view[0].tiles.part[0];
    void *memory;
    GSW_TRY(gsw_alloc(context, 1, sizeof(eliminate_lists), "the elimination's updates", &memory));
    memset(memory, 0, sizeof(eliminate_lists));
    eliminate_lists *lists = static_cast<eliminate_lists *>(memory);
    for (int32_t j = 0; j < shape->count; j++)
        lists->lower[j] = {shape->offset[j].dx, shape->lane[j], shape->offset[j].dz};
    lists->updates = factor->packed->updates;
    const gsw_status status =
        upload(context, factor, lists, 1, sizeof *lists, (const void **)&w->plan.lists);
    free(lists);
    return status;
}

/* The kernel, and how many pencils a block of it takes. Those of named shapes look one tile far. */
const void *kernel_of(const gsw_factor *factor, const work *w, int32_t *pencils) {
    const bool close = w->plan.near_y == 2 && w->plan.near_z == 2;
    const gsw_shape_name shape = close ? factor->packed->shape : SHAPE_OTHER;
    const int32_t most = (w->whole ? ELIMINATE_WARPS : BLOCK_WARPS) / w->plan.members;
    *pencils = most < 1 ? 1 : most < w->pencils ? most : w->pencils;
    return factor->options.factor_type == GSW_F32
               ? gsw_cuda_eliminate_kernel_f32(shape, w->plan.dilu, w->plan.members)
               : gsw_cuda_eliminate_kernel_f64(shape, w->plan.dilu, w->plan.members);
}

/* Pencils first..last - 1, times time..end - 1. */
gsw_status launch(gsw_context *context, const work *w, const void *kernel, int32_t block_pencils,
                  int32_t first, int32_t last, int64_t time, int64_t end) {
    eliminate_plan plan = w->plan;
    void *arguments[] = {&plan, &first, &last, &time, &end};
    const dim3 threads(GSW_TILE_LANES, (unsigned)plan.members, (unsigned)block_pencils);
    const dim3 blocks((unsigned)gsw_ceil_div(last - first, block_pencils));
    return gsw_cuda_check(
        context,
        cudaLaunchKernel(kernel, blocks, threads, arguments, 0, gsw_cuda_of(context)->stream),
        "the elimination");
}

} // namespace

gsw_status gsw_cuda_eliminate_open(gsw_context *context, gsw_factor *factor) {
    if (!gsw_eliminates(factor->options.kind))
        return GSW_SUCCESS;
    void *memory;
    GSW_TRY(gsw_alloc(context, 1, sizeof(work), "the elimination's tables", &memory));
    memset(memory, 0, sizeof(work));
    work *w = static_cast<work *>(memory);
    factor->packed->eliminate_work = w; /* gsw_cuda_eliminate_close() frees what there is */
    describe(w, factor);
    GSW_TRY(gsw_alloc(context, (size_t)w->pencils, sizeof *w->start, "the elimination's tables",
                      (void **)&w->start));
    GSW_TRY(make_tables(context, factor, w));
    return make_lists(context, factor, w);
}

void gsw_cuda_eliminate_close(struct gsw_packed *packed) {
    work *w = static_cast<work *>(packed->eliminate_work);
    if (!w)
        return;
    (void)cudaFree((void *)w->plan.lists);
    (void)cudaFree((void *)w->plan.near);
    (void)cudaFree((void *)w->plan.pencil);
    free(w->start);
    free(w);
    packed->eliminate_work = NULL;
}

gsw_status gsw_cuda_eliminate(gsw_context *context, gsw_factor *factor) {
    const work *w = static_cast<const work *>(factor->packed->eliminate_work);
    const int64_t span = w->plan.nx + (int64_t)w->plan.delay;
    int32_t block_pencils;
    const void *kernel = kernel_of(factor, w, &block_pencils);
    if (w->whole)
        return launch(context, w, kernel, block_pencils, 0, w->pencils, 0, w->times);
    int32_t first = 0, last = 0; /* pencils that have steps in this launch */
    for (int64_t time = 0; time < w->times; time += DEPTH) {
        while (last < w->pencils && w->start[last] < time + DEPTH)
            last++;
        while (first < last && w->start[first] + span <= time)
            first++;
        if (first < last)
            GSW_TRY(launch(context, w, kernel, block_pencils, first, last, time, time + DEPTH));
    }
    return GSW_SUCCESS;
}
