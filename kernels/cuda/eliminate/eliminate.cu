/* eliminate.cu: ILU(0), IC(0) and DILU on packed factors, in place, by the skewed wavefront.
 *
 * METHOD. The same as the CPU's eliminate.c, operation by operation. A row reads the scaled upper
 * rows u' = U / d of its neighbours and their reciprocal pivots, and computes its own. No other row
 * reads anything else of it. So the factor's values can replace a row's values at once, and one
 * pass over both parts is enough. The pass reads and writes each coefficient and diagonal once: 2
 * (lower + 1 + upper) values per point. Arithmetic is in double; values kept between rows are
 * rounded to the factor's type.
 *
 * eliminate_named.cuh explains the kernels for named shapes. The rest of this comment explains the
 * generic kernel (eliminate_kernel.cuh), which favours clarity over speed.
 *
 * UNIT OF WORK. A pencil (tiles.h). A block takes the next one by a ticket and
 * eliminates it step by step. Roles: compute, a thread per line; a receiver warp, which polls the
 * steps that other pencils have completed; a publisher thread, which publishes those of this
 * pencil.
 *
 * WHY THE NEIGHBOUR IS THERE. The block's own pencil computed it in an earlier step (back >= 1),
 * before the block's barrier. A pencil ny tiles before in y' and nz in z computes a point
 * ny*tile_y*skew_y + nz*tile_z*skew_z - back steps later. So before a block begins step s, it has
 * seen that this pencil has completed s + ny*tile_y*skew_y + nz*tile_z*skew_z steps. steps[] are
 * counters (handover.cuh). The stores of compute are released, after its barrier, to the publisher,
 * then to the receivers of other blocks, then to compute there.
 *
 * PROGRESS. As in handover.cuh, since tickets are in the order of dependences. When the elimination
 * is abandoned, receivers stop waiting, so all blocks run to their end.
 *
 * SLABS. The first pencils of a slab also read those of the slab below, which another process has
 * eliminated. Their upper rows are there before the kernel starts (gsw_slab_ops.border_take), and
 * their counters say so from the beginning.
 *
 * A pencil reads other lines' values only from the upper part. It uses them only if the neighbour
 * lies in the grid along x and in a pencil that is used. Other places that it may read belong to no
 * point, and no block writes them. The row's coefficient for such a neighbour is zero. */
#include <stdlib.h>

#include "eliminate.cuh"
#include "eliminate_plan.cuh"

namespace {

/* packed->eliminate_work. */
struct work {
    eliminate_plan plan;
    int32_t pencils;
    int32_t ghosts; /* pencils of the slab below; their numbers follow those of the own ones */
    size_t state_bytes;
};

int32_t bits_of(int32_t power_of_two) {
    int32_t bits = 0;
    while (1 << bits < power_of_two)
        bits++;
    return bits;
}

/* Copies `count` values of `size` bytes to new device memory. */
gsw_status upload(gsw_context *context, gsw_factor *factor, const void *host, size_t count,
                  size_t size, const void **device) {
    void *memory;
    GSW_TRY(gsw_cuda_check(context, cudaMalloc(&memory, count * size), "the elimination's tables"));
    *device = memory;
    factor->info.work_bytes += (int64_t)(count * size);
    return gsw_cuda_check(context,
                          cudaMemcpyAsync(memory, host, count * size, cudaMemcpyHostToDevice,
                                          gsw_cuda_of(context)->stream),
                          "the elimination's tables");
}

/* Tiles that a pencil reads along one direction, including its own; at least 2. */
int32_t tiles_within(int32_t halo, int32_t tile) {
    const int32_t tiles = (int32_t)gsw_ceil_div(halo, tile) + 1;
    return tiles > 2 ? tiles : 2;
}

/* Everything in the plan except its tables. */
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
    plan->halo_lanes_y = (int32_t)gsw_ceil_div(t->halo_y, t->tile.lines_y);
    plan->halo_lanes_z = (int32_t)gsw_ceil_div(t->halo_z, t->tile.lines_z);
    plan->dilu = factor->options.kind == GSW_DILU;
    plan->positive = factor->options.kind == GSW_IC0;
    plan->pivot_shift = factor->options.pivot_shift;
    plan->pivots = packed->pivots;
    plan->table = lower->table;
    w->pencils = lower->pencils;
    w->ghosts = lower->remote_before;
    w->state_bytes = sizeof(eliminate_state) + (size_t)(w->pencils + w->ghosts) * sizeof(int32_t);
}

/* Writes the tickets of a part's tiles: of[j + tiles_y * k]; -1: not used. */
gsw_status find_tickets(gsw_context *context, const gsw_packed_view *view, gsw_pencil *table,
                        int32_t *of) {
    const gsw_tiles *t = &view->tiles;
    const char *const what = "the table of pencils";
    cudaStream_t stream = gsw_cuda_of(context)->stream;
    GSW_TRY(gsw_cuda_check(context,
                           cudaMemcpyAsync(table, view->table,
                                           (size_t)view->pencils * sizeof(gsw_pencil),
                                           cudaMemcpyDeviceToHost, stream),
                           what));
    GSW_TRY(gsw_cuda_check(context, cudaStreamSynchronize(stream), what));
    for (int64_t i = 0; i < t->tiles_y * t->tiles_z; i++)
        of[i] = -1;
    for (int32_t i = 0; i < view->pencils; i++)
        of[table[i].k * t->tiles_y + table[i].j] = i;
    return GSW_SUCCESS;
}

/* The pencils of the slab below: their numbers, and their places in the upper part. */
void number_ghosts(const work *w, const gsw_factor *factor, int32_t *lower, int32_t *upper) {
    const gsw_packed_view *view = factor->packed->view;
    const gsw_tiles *t = &view[0].tiles;
    const int64_t k = gsw_ghost_rows(factor, &view[0], 0) - 1;
    const int64_t last = t->tiles_y * t->tiles_z - 1;
    int32_t place = 0;
    for (int64_t j = 0; j < t->tiles_y && w->ghosts > 0; j++) {
        const int64_t tile = k * t->tiles_y + j;
        if (!gsw_tile_used(t, 0, j, k))
            continue;
        lower[tile] = w->pencils + place;
        upper[last - tile] = view[1].pencils + place++;
    }
}

/* Finds which pencils lie before each one, and their places in the upper part, whose tiles count
 * from the other end. */
void find_near(const work *w, const gsw_tiles *t, const gsw_pencil *pencil, const int32_t *lower,
               const int32_t *upper, eliminate_near *near) {
    const int64_t last = t->tiles_y * t->tiles_z - 1;
    for (int32_t i = 0; i < w->pencils; i++) {
        for (int32_t z = 0; z < w->plan.near_z; z++) {
            for (int32_t y = 0; y < w->plan.near_y; y++) {
                const int64_t j = pencil[i].j - y, k = pencil[i].k - z;
                const int64_t tile = k * t->tiles_y + j;
                const int32_t found = j < 0 || k < 0 ? -1 : lower[tile];
                *near++ = {found, found < 0 ? -1 : upper[last - tile]};
            }
        }
    }
}

gsw_status make_tables(gsw_context *context, gsw_factor *factor, work *w) {
    const gsw_packed_view *view = factor->packed->view;
    const gsw_tiles *t = &view[0].tiles;
    const size_t pencils = (size_t)w->pencils, tiles = (size_t)(t->tiles_y * t->tiles_z);
    const size_t all_near = pencils * (size_t)(w->plan.near_y * w->plan.near_z);
    const char *const what = "the elimination's tables";
    void *table = NULL, *lower = NULL, *upper = NULL, *near = NULL;
    gsw_status status;
    GSW_TRY_GOTO(gsw_alloc(context, pencils, sizeof(gsw_pencil), what, &table), cleanup);
    GSW_TRY_GOTO(gsw_alloc(context, tiles, sizeof(int32_t), what, &lower), cleanup);
    GSW_TRY_GOTO(gsw_alloc(context, tiles, sizeof(int32_t), what, &upper), cleanup);
    GSW_TRY_GOTO(gsw_alloc(context, all_near, sizeof(eliminate_near), what, &near), cleanup);
    GSW_TRY_GOTO(find_tickets(context, &view[1], static_cast<gsw_pencil *>(table),
                              static_cast<int32_t *>(upper)),
                 cleanup);
    GSW_TRY_GOTO(find_tickets(context, &view[0], static_cast<gsw_pencil *>(table),
                              static_cast<int32_t *>(lower)),
                 cleanup);
    number_ghosts(w, factor, static_cast<int32_t *>(lower), static_cast<int32_t *>(upper));
    find_near(w, t, static_cast<gsw_pencil *>(table), static_cast<int32_t *>(lower),
              static_cast<int32_t *>(upper), static_cast<eliminate_near *>(near));
    GSW_TRY_GOTO(upload(context, factor, near, all_near, sizeof(eliminate_near),
                        (const void **)&w->plan.near),
                 cleanup);
    GSW_TRY_GOTO(gsw_cuda_check(context, cudaMalloc((void **)&w->plan.state, w->state_bytes),
                                "the elimination's progress"),
                 cleanup);
    factor->info.work_bytes += (int64_t)w->state_bytes;
cleanup:
    free(near);
    free(upper);
    free(lower);
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
        lists->lower[j] = {shape->offset[j].dx, shape->dl[j], shape->offset[j].dz};
    lists->updates = factor->packed->updates;
    const gsw_status status =
        upload(context, factor, lists, 1, sizeof *lists, (const void **)&w->plan.lists);
    free(lists);
    return status;
}

eliminate_kernel kernel_of(const gsw_factor *factor, gsw_shape_name shape) {
    const int dilu = factor->options.kind == GSW_DILU;
    return factor->options.factor_type == GSW_F32 ? gsw_cuda_eliminate_kernel_f32(shape, dilu)
                                                  : gsw_cuda_eliminate_kernel_f64(shape, dilu);
}

/* Shared memory that the kernels and the device take besides the ring. */
constexpr int32_t RESERVED_SHARED = 2048;

/* Chunks beyond those that are still read: compute works on one, and another is on its way. A block
 * that shares its multiprocessor with another needs more. */
constexpr int32_t FEWEST_FREE = 2, FREE_FOR_TWO = 4;

/* Cuts the ring of a kernel for a named shape, which reads only neighbouring tiles. False: it does
 * not fit. */
bool cut_ring(const gsw_cuda *cuda, const gsw_packed *packed, int32_t row_bytes,
              eliminate_plan *plan) {
    const gsw_shape *shape = &packed->view[0].tiles.part[0];
    const int32_t chunk = ELIMINATE_STEPS * row_bytes;
    const int32_t of_two = (cuda->shared_per_multiprocessor / 2 - RESERVED_SHARED) / chunk;
    const int32_t of_one = (cuda->shared_per_block - RESERVED_SHARED) / chunk;
    int64_t reach = 0;
    for (int32_t j = 0; j < shape->count; j++) {
        if (shape->back[j] > reach)
            reach = shape->back[j];
    }
    plan->chunks = (int32_t)gsw_ceil_div(plan->nx + plan->delay, ELIMINATE_STEPS);
    plan->held = (int32_t)gsw_ceil_div(reach, ELIMINATE_STEPS);
    plan->stages = of_two >= plan->held + FREE_FOR_TWO ? of_two : of_one;
    if (plan->stages > ELIMINATE_STAGES)
        plan->stages = ELIMINATE_STAGES;
    /* Places in a pencil's records are 32 bits wide. */
    const int64_t record =
        plan->lower_record > plan->upper_record ? plan->lower_record : plan->upper_record;
    return plan->near_y == 2 && plan->near_z == 2 && plan->stages >= plan->held + FEWEST_FREE &&
           plan->records * record <= INT32_MAX;
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
    if (w->plan.near_y * w->plan.near_z > GSW_TILE_LANES)
        return gsw_fail(
            context, GSW_ERROR_UNSUPPORTED,
            "factors on CUDA cannot hold a stencil that reaches so many lines and planes");
    GSW_TRY(make_tables(context, factor, w));
    return make_lists(context, factor, w);
}

void gsw_cuda_eliminate_close(struct gsw_packed *packed) {
    work *w = static_cast<work *>(packed->eliminate_work);
    if (!w)
        return;
    (void)cudaFree((void *)w->plan.lists);
    (void)cudaFree((void *)w->plan.near);
    (void)cudaFree(w->plan.state);
    free(w);
    packed->eliminate_work = NULL;
}

gsw_status gsw_cuda_eliminate(gsw_context *context, gsw_factor *factor) {
    const work *w = static_cast<const work *>(factor->packed->eliminate_work);
    const gsw_cuda *cuda = gsw_cuda_of(context);
    eliminate_plan plan = w->plan;
    plan.report = cuda->report;
    plan.wait_limit_ns = cuda->wait_limit_ns;
    plan.withheld = cuda->withheld_line;
    /* The kernels for named shapes move records by bulk copies. Older devices use the kernel for
     * any shape; its arithmetic is the same. */
    eliminate_kernel kernel = kernel_of(factor, factor->packed->shape);
    if (kernel.row_bytes > 0 && (cuda->capability < BULK_COPIES_SINCE ||
                                 !cut_ring(cuda, factor->packed, kernel.row_bytes, &plan)))
        kernel = kernel_of(factor, SHAPE_OTHER);
    const int shared = kernel.row_bytes * ELIMINATE_STEPS * plan.stages;
    const dim3 threads = kernel.row_bytes > 0 ? dim3(ELIMINATE_THREADS)
                                              : dim3(GSW_TILE_LANES, (unsigned)plan.members, 3);
    void *arguments[] = {&plan};
    GSW_TRY(gsw_cuda_allow_shared(context, kernel.kernel, "the elimination"));
    GSW_TRY(gsw_cuda_check(context, cudaMemsetAsync(plan.state, 0, w->state_bytes, cuda->stream),
                           "the elimination's progress"));
    /* The pencils of the slab below have completed all steps: a large number. */
    GSW_TRY(gsw_cuda_check(context,
                           cudaMemsetAsync(plan.state->steps + w->pencils, 0x3f,
                                           (size_t)w->ghosts * sizeof(int32_t), cuda->stream),
                           "the elimination's progress"));
    return gsw_cuda_check(context,
                          cudaLaunchKernel(kernel.kernel, dim3((unsigned)w->pencils), threads,
                                           arguments, (size_t)shared, cuda->stream),
                          "the elimination");
}
