/* sweep.cu: sweeps of packed factors: launch shapes, state, and the launch. */
#include <stdlib.h>

#include "cuda/device/launch.cuh"
#include "sweep.cuh"
#include "sweep_plan.cuh"

namespace {

/* ---- Launch shapes ----------------------------------------------------------------------------
 */

/* How the rings of a pencil are cut. The figures were measured on an H200 (perf/DECISIONS.md, Rings
 * of a pencil). They are safe on other devices, because rings that do not fit are cut smaller. */
constexpr int32_t MOST_STAGES = 8; /* chunks of coefficients in flight */
/* Chunks of the ring beyond what a pencil's delay needs. */
constexpr int32_t MOST_SPARE = 4, FEWEST_SPARE = 2;

/* Static shared memory of the kernels, plus the part of a block's share that the device reserves.
 */
constexpr int32_t RESERVED_SHARED = 2048;

/* Coefficients of 4 bytes come faster than one block uses them, and steps that compute reciprocals
 * take longer. So two blocks share a multiprocessor where each has at least STAGES_FOR_TWO chunks
 * in flight, and there are at least PENCILS_FOR_TWO pencils per multiprocessor. */
constexpr int32_t STAGES_FOR_TWO = 3;
constexpr int32_t PENCILS_FOR_TWO = 4;

/* Lines of so many points, or fewer, are short: see two_block_kernel(). */
constexpr int32_t SHORT_LINE = 16;

/* Chunks in flight that a block with several right-hand sides needs at least. Its chunks take
 * longer, so fewer of them cover the latency of memory. */
constexpr int32_t FEWEST_STAGES = 2;

/* Pencils times right-hand sides, per multiprocessor, that are few, or fewer: see area_for(). For
 * blocks of 2 and of 4. */
constexpr int64_t FEW_FOR_2 = 4, FEW_FOR_4 = 32;

/* Stages at least and at most in slices, without bulk copies: one that compute loads, and some on
 * their way. */
constexpr int32_t FEWEST_SLICES = 3, MOST_SLICES = 12;

/* Chunks of b's ring beyond a pencil's delay: those on their way from memory, and slack. Slack is
 * neither on its way nor read by compute; a `tight` ring has only one chunk of it. */
template <int Rhs> int32_t chunks_of_b(int capability, bool tight) {
    using warps = sweep_warps<Rhs>;
    /* Without asynchronous copies one chunk is on its way, in registers. */
    const bool queued = capability < ASYNC_COPIES_SINCE;
    return (queued ? 1 : warps::ahead) + (tight ? 1 : queued ? 2 : warps::slack);
}
int32_t chunks_of_b(int capability, int32_t rhs, bool tight) {
    return rhs == 1   ? chunks_of_b<1>(capability, tight)
           : rhs == 2 ? chunks_of_b<2>(capability, tight)
                      : chunks_of_b<SWEEP_RHS_MAX>(capability, tight);
}

/* Finds which chunks are kept (sweep_plan). Where lines are constant, chunks whose points are all
 * `reach` or more from the ends of their lines have equal records. The first of them and the last
 * are loaded, because steps load the records of steps two ahead. */
void keep_chunks(sweep_plan *plan) {
    const int32_t first = (plan->delay + plan->reach + SWEEP_CHUNK - 1) / SWEEP_CHUNK;
    const int32_t last = (plan->nx - plan->reach) / SWEEP_CHUNK - 1;
    const bool some = plan->constant_lines && plan->loads == plan->chunks && first + 1 < last;
    plan->kept_begin = some ? first + 1 : plan->chunks;
    plan->kept_end = some ? last : plan->chunks;
    plan->loads -= plan->kept_end - plan->kept_begin;
}

/* Cuts the rings of a block with `rhs` right-hand sides and `most` bytes. False where not even the
 * smallest rings fit. */
bool cut_rings_to(int capability, gsw_shape_name shape, int32_t most, int32_t real, int32_t rhs,
                  bool tight, sweep_plan *plan, int32_t *shared) {
    const int32_t lag = (plan->delay + SWEEP_CHUNK - 1) / SWEEP_CHUNK;
    const int32_t reach = (plan->lead + SWEEP_CHUNK - 1) / SWEEP_CHUNK;
    const int32_t values = plan->tile_y * plan->tile_z;
    const int32_t of_row =
        values + plan->face[0].values + plan->face[1].values + plan->face[2].values;
    const bool slices = capability < BULK_COPIES_SINCE;
    /* Without bulk copies only named shapes keep records in shared memory. */
    const int32_t stage_steps = !slices ? SWEEP_CHUNK : shape != SHAPE_OTHER ? SWEEP_SLICE : 0;
    const int32_t stage = stage_steps * plan->record_bytes;
    const int32_t most_stages = slices ? MOST_SLICES : MOST_STAGES;
    const int32_t fewest_stages = slices ? FEWEST_SLICES : FEWEST_STAGES;
    plan->x_stride = sweep_row_stride(of_row, real);
    plan->b_stride = sweep_row_stride(values, real);
    plan->x_pitch = sweep_row_pitch(of_row, real, rhs);
    plan->b_pitch = sweep_row_pitch(values, real, rhs);
    plan->staged = lag + chunks_of_b(capability, rhs, tight);
    /* Pairs of chunks stay one chunk longer, until both are stored. */
    const int32_t pair = stores_pairs(rhs, plan->unit);
    const int32_t fewest_spare = FEWEST_SPARE + pair;
    for (int32_t spare = MOST_SPARE + pair; spare >= fewest_spare; spare--) {
        plan->ring = (lag > reach ? lag : reach) + spare;
        const int32_t rings =
            SWEEP_CHUNK * (plan->ring * plan->x_pitch + plan->staged * plan->b_pitch);
        if (rings >= most)
            continue;
        plan->stages = most_stages;
        if (rings + most_stages * stage > most)
            plan->stages = (most - rings) / stage;
        /* A record serves several steps where lines are shorter than a pencil's delay. */
        const int32_t kept = plan->records / SWEEP_CHUNK;
        const bool once = !slices && kept <= plan->stages;
        plan->loads = once ? kept : plan->chunks;
        keep_chunks(plan);
        if (once)
            plan->stages = kept;
        if (once ||
            (plan->stages >= fewest_stages && (plan->stages >= 4 || spare == fewest_spare))) {
            plan->b_offset = (plan->stages * stage + 127) / 128 * 128;
            plan->x_offset = plan->b_offset + SWEEP_CHUNK * plan->staged * plan->b_pitch;
            *shared = plan->x_offset + SWEEP_CHUNK * plan->ring * plan->x_pitch;
            return plan->ring <= SWEEP_BARRIERS && plan->staged - lag <= SWEEP_BARRIERS;
        }
    }
    return false;
}

/* What a sweep does besides solving. */
enum sweep_purpose { SWEEP_ALONE, SWEEP_FOR_PIVOTS, SWEEP_FOR_SUMS };

/* Room for what a storer adds: two values for each that it stores. */
int32_t bytes_of_sums(const gsw_cuda *cuda, const gsw_factor *factor) {
    const int32_t ahead = cuda->capability < ASYNC_COPIES_SINCE ? 1 : SWEEP_SUM_AHEAD;
    const int32_t values = SWEEP_CHUNK * GSW_TILE_LANES * factor->packed->view[0].members;
    return ahead * 2 * values * (int32_t)sizeof(double);
}

bool allows_two_blocks(const gsw_cuda *cuda, const gsw_factor *factor) {
    return cuda->capability >= BULK_COPIES_SINCE &&
           factor->packed->view[0].pencils >= PENCILS_FOR_TWO * cuda->multiprocessors;
}

/* Whether points of a line that are `reach` or more from its ends have the same coefficients. */
bool has_constant_lines(const gsw_factor *factor) {
    const gsw_packed *packed = factor->packed;
    return (packed->view[0].shared || packed->view[1].shared) && factor->constant_lines;
}

/* The kernel for sweeps of one right-hand side that have two blocks on a multiprocessor for a
 * reason of their own; NULL: none. Pencils with short lines spend most of their time beginning.
 * Constant coefficients are not waited for, so that one block cannot use up a multiprocessor. */
const void *two_block_kernel(const gsw_cuda *cuda, const gsw_factor *factor) {
    if (!allows_two_blocks(cuda, factor) || factor->options.factor_type != GSW_F64 ||
        gsw_cuda_is_remote(factor))
        return NULL;
    if (has_constant_lines(factor))
        return sweep_constant_kernel(factor->packed->shape);
    return factor->packed->view[0].tiles.records <= SHORT_LINE
               ? sweep_brief_kernel(factor->packed->shape)
               : NULL;
}

/* With one line a lane and fp32 throughout, one block is faster. `pivots`: see sweep_compute.cuh.
 */
bool two_blocks(const gsw_cuda *cuda, const gsw_factor *factor, bool pivots) {
    const bool quick =
        factor->options.factor_type == GSW_F32 &&
        (factor->packed->view[0].members > 1 || factor->options.vector_type == GSW_F64);
    return ((quick || pivots) && allows_two_blocks(cuda, factor)) || two_block_kernel(cuda, factor);
}

/* Cuts the rings of a sweep, and chooses how its receivers poll. False where they do not fit.
 *
 * Receivers whose lanes poll one row at a time bring eight rows per poll. That is usually enough
 * and causes less traffic. Two kinds of pencils need more rows at once. In some, lanes hold two
 * lines, and a multiprocessor two blocks. Others have many chunks, and there are so many pencils
 * that they run at the speed of memory. */
bool cut_rings(const gsw_cuda *cuda, const gsw_factor *factor, int32_t rhs, sweep_purpose purpose,
               sweep_plan *plan, int32_t *shared) {
    const int32_t real = (int32_t)gsw_dtype_size(factor->options.vector_type);
    const bool pivots = purpose == SWEEP_FOR_PIVOTS;
    const int32_t sums = purpose == SWEEP_FOR_SUMS ? bytes_of_sums(cuda, factor) : 0;
    plan->polls_several = plan->chunks > factor->context->tuning.polled_chunks &&
                          factor->packed->view[0].pencils > cuda->multiprocessors;
    if (rhs == 1 && sums == 0 && two_blocks(cuda, factor, pivots) &&
        cut_rings_to(cuda->capability, factor->packed->shape,
                     cuda->shared_per_multiprocessor / 2 - RESERVED_SHARED, real, rhs, false, plan,
                     shared) &&
        (plan->stages >= STAGES_FOR_TWO || plan->loads < plan->chunks)) {
        if (factor->packed->view[0].members > 1)
            plan->polls_several = true;
        return true;
    }
    bool fits = false;
    for (int tight = 0; !fits && tight <= (rhs == 1); tight++)
        fits = cut_rings_to(cuda->capability, factor->packed->shape,
                            cuda->shared_per_block - RESERVED_SHARED - sums, real, rhs, tight, plan,
                            shared);
    if (!fits)
        return false;
    plan->sum_offset = *shared;
    *shared += sums;
    return true;
}

/* ---- The plan ---------------------------------------------------------------------------------
 */

const sweep_kernels *kernels_of(const gsw_factor *factor) {
    return factor->options.vector_type == GSW_F32   ? sweep_kernels_f32()
           : factor->options.factor_type == GSW_F32 ? sweep_kernels_mixed()
                                                    : sweep_kernels_f64();
}

const void *kernel_of(const gsw_factor *factor, bool several) {
    const sweep_kernels *kernels = kernels_of(factor);
    const int shape = factor->packed->shape;
    return several                      ? kernels->several[shape]
           : gsw_cuda_is_remote(factor) ? kernels->remote[shape]
                                        : kernels->single[shape];
}

void plan_grid(const gsw_packed_view *view, sweep_plan *plan) {
    const gsw_tiles *t = &view->tiles;
    const int direction = view->upper ? -1 : 1;
    plan->nx = (int32_t)t->nx;
    plan->ny = (int32_t)t->ny;
    plan->nz = (int32_t)t->nz;
    plan->shear = t->shear;
    plan->skew_y = t->skew_y;
    plan->skew_z = t->skew_z;
    plan->delay = t->delay;
    plan->lanes_y = t->tile.lanes_y;
    plan->lines_y = t->tile.lines_y;
    plan->lines_z = t->tile.lines_z;
    plan->tile_y = t->tile_y;
    plan->tile_z = t->tile_z;
    int64_t y, z;
    gsw_tile_origin(t, view->upper, 0, 0, &y, &z);
    plan->pad_y = (int32_t)-y;
    plan->pad_z = (int32_t)-z;
    plan->unit = 0;
    for (int a = 0; a < 3; a++) {
        if (t->stride[a] == 1)
            plan->unit = a;
    }
    /* moved_value() takes lines along the unit axis in groups of eight. */
    if ((plan->unit == 1 && t->tile_y % 8 != 0) || (plan->unit == 2 && t->tile_z != 8))
        plan->unit = 0;
    plan->stride[0] = direction * t->stride[0];
    plan->stride[1] = direction * t->stride[1];
    plan->stride[2] = direction * (t->stride[2] - t->shear * t->stride[1]);
}

void plan_faces(const gsw_tiles *t, int32_t rhs, sweep_plan *plan) {
    bool corner = false;
    for (int p = 0; p < 2; p++) {
        for (int32_t j = 0; j < t->part[p].count; j++)
            corner = corner || (t->part[p].dl[j] < 0 && t->part[p].offset[j].dz < 0);
    }
    const int32_t values[3] = {t->halo_y * t->tile_z, t->halo_z * t->tile_y,
                               corner ? t->halo_y * t->halo_z : 0};
    const int32_t later[3] = {t->skew_y * t->tile_y, t->skew_z * t->tile_z,
                              t->skew_y * t->tile_y + t->skew_z * t->tile_z};
    int32_t cell = t->tile_y * t->tile_z;
    int64_t offset = 0;
    for (int f = 0; f < 3; f++) {
        plan->face[f] = {values[f], cell, later[f], (int32_t)offset};
        cell += values[f];
        offset += rhs * values[f] * t->steps;
        offset += offset % 2; /* pairs stay aligned */
    }
    plan->slot_values = (offset + 15) / 16 * 16;
}

void plan_couplings(const gsw_packed_view *view, sweep_plan *plan) {
    const gsw_tiles *t = &view->tiles;
    const gsw_shape *shape = &t->part[view->upper];
    plan->terms = view->terms;
    plan->lead = t->skew_y * t->halo_y + t->skew_z * t->halo_z;
    for (int32_t j = 0; j < view->terms; j++) {
        plan->dl[j] = (int16_t)shape->dl[j];
        plan->plane[j] = (int16_t)-shape->offset[j].dz;
        plan->back[j] = (int16_t)shape->back[j];
    }
    for (int p = 0; p < 2; p++) {
        if (t->part[p].reach > plan->lead)
            plan->lead = (int32_t)t->part[p].reach;
    }
    plan->lead = (plan->lead + SWEEP_CHUNK - 1) / SWEEP_CHUNK * SWEEP_CHUNK;
}

void make_plan(const gsw_cuda *cuda, const gsw_factor *factor, int part, int32_t rhs,
               sweep_plan *plan) {
    const gsw_packed_view *view = &factor->packed->view[part];
    *plan = {};
    plan_grid(view, plan);
    plan_faces(&view->tiles, rhs, plan);
    plan_couplings(view, plan);
    plan->values = view->values;
    plan->records = (int32_t)view->tiles.records;
    plan->record_bytes =
        (int32_t)(gsw_record_values(view) * (int64_t)gsw_dtype_size(factor->options.factor_type));
    plan->diagonal = view->diagonal;
    plan->shared = view->shared;
    plan->constant_lines = rhs == 1 && has_constant_lines(factor) && two_block_kernel(cuda, factor);
    for (int p = 0; p < 2; p++)
        for (int32_t j = 0; j < view->tiles.part[p].count; j++)
            if (plan->reach < abs(view->tiles.part[p].offset[j].dx))
                plan->reach = abs(view->tiles.part[p].offset[j].dx);
    plan->pencils = view->pencils;
    plan->chunks = (int32_t)(view->tiles.steps / SWEEP_CHUNK);
    plan->table = view->table;
    plan->report = cuda->report;
    plan->inbox = factor->packed->faces[part].inbox;
    plan->outbox = factor->packed->faces[part].outbox;
    const int64_t limit = factor->packed->faces[part].wait_limit_ns;
    plan->wait_limit_ns = limit > 0 ? limit : cuda->wait_limit_ns;
    plan->withheld = cuda->withheld_line;
}

/* The vectors of a dealt factor's sweep. */
void plan_dealt(const gsw_factor *factor, int part, sweep_plan *plan) {
    const gsw_deal *deal = factor->deal;
    const gsw_packed_view *view = &factor->packed->view[part];
    const gsw_dealt_vectors *vectors = &factor->packed->vectors;
    const int64_t plane = factor->grid.nx * factor->grid.ny;
    const int64_t first = view->upper ? view->tiles.points - 1 : 0;
    plan->owners = deal->processes;
    for (int32_t i = 0; i < deal->processes; i++) {
        const int32_t p = view->upper ? deal->processes - 1 - i : i;
        const int64_t end =
            view->upper ? deal->begin[deal->processes] - deal->begin[p] : deal->begin[p + 1];
        plan->owner_end[i] = (int32_t)gsw_ceil_div(end, view->tiles.tile_z);
        plan->owner_b[i] = vectors->b[p] + first - deal->begin[p] * plane;
        plan->owner_x[i] = vectors->x[p] + first - deal->begin[p] * plane;
    }
    plan->b_gathered = vectors->gathered_b != NULL;
    plan->x_gathered = vectors->gathered_x != NULL;
    plan->b = vectors->gathered_b + first;
    plan->x = vectors->gathered_x + first;
    plan->first_row = view->upper ? (int32_t)view->tiles.tiles_z - 1 : 0;
    plan->row_step = view->upper ? -1 : 1;
    plan->row_values = view->tiles.tile_z * plane;
}

/* ---- State ------------------------------------------------------------------------------------
 */

/* Slots of faces for each of `groups` groups: as many as its share of the resident blocks can use,
 * plus more than a reader's distance in tickets; at most one per pencil. Sweeps that compute pivots
 * have more. More slots would keep less of the faces in the cache. */
int32_t count_slots(const gsw_cuda *cuda, const gsw_factor *factor, bool pivots, int32_t groups) {
    const gsw_packed *packed = factor->packed;
    const int32_t lower = packed->view[0].distance, upper = packed->view[1].distance;
    const int64_t blocks =
        (int64_t)cuda->multiprocessors * (two_blocks(cuda, factor, pivots) ? 2 : 1);
    const int64_t wanted = gsw_ceil_div(blocks, groups) + (lower > upper ? lower : upper) + 8;
    return wanted < packed->view[0].pencils ? (int32_t)wanted : packed->view[0].pencils;
}

/* Bytes of counters before the faces. */
size_t face_offset(const gsw_sweep_area *area, int32_t pencils) {
    return (sizeof(gsw_sweep_state) + (size_t)area->groups * (size_t)pencils * sizeof(uint32_t) +
            255) /
           256 * 256;
}

/* Allocates and resets what a launch of `groups` groups of `rhs` right-hand sides needs. */
gsw_status open_area(gsw_context *context, gsw_factor *factor, int32_t rhs, int32_t groups,
                     gsw_sweep_area *area) {
    const gsw_cuda *cuda = gsw_cuda_of(context);
    const int32_t pencils = factor->packed->view[0].pencils;
    sweep_plan plan;
    plan_faces(&factor->packed->view[0].tiles, rhs, &plan);
    *area = {NULL, rhs, groups,
             count_slots(cuda, factor, rhs == 1 && factor->packed->diagonal_alone, groups)};
    const size_t counters = face_offset(area, pencils);
    const size_t faces = (size_t)groups * (size_t)area->slots * (size_t)plan.slot_values *
                         gsw_dtype_size(factor->options.vector_type);
    void *state;
    GSW_TRY(gsw_cuda_reserve(context, counters + faces, "the sweep's faces", &state));
    cudaError_t error = cudaMemsetAsync(state, 0, counters, cuda->stream);
    /* All bits: the quiet NaN of handover.cuh that means "not published". */
    if (error == cudaSuccess)
        error = cudaMemsetAsync((char *)state + counters, 0xff, faces, cuda->stream);
    if (error != cudaSuccess) {
        gsw_cuda_unreserve(context, state);
        return gsw_cuda_check(context, error, "the sweep's state");
    }
    area->state = static_cast<gsw_sweep_state *>(state);
    factor->info.work_bytes += (int64_t)(counters + faces);
    return GSW_SUCCESS;
}

/* Whether the rings of all sweeps fit, for a block with `rhs` right-hand sides. */
bool rings_fit(const gsw_cuda *cuda, const gsw_factor *factor, int32_t rhs, sweep_purpose purpose) {
    bool fit = true;
    for (int i = 0; i < factor->packed->layout.sweeps; i++) {
        sweep_plan plan;
        int32_t shared;
        make_plan(cuda, factor, factor->packed->layout.upper[i], rhs, &plan);
        /* Places in faces are 32 bits wide; for one right-hand side gsw_cuda_sweep_open() asks. */
        fit = fit && (rhs == 1 || plan.slot_values <= INT32_MAX) &&
              cut_rings(cuda, factor, rhs, purpose, &plan, &shared);
    }
    return fit;
}

/* Opens the areas for several right-hand sides at their first solve. *open is false where a graph
 * is being captured then, so that nothing can be allocated. */
gsw_status open_several(gsw_context *context, gsw_factor *factor, bool *open) {
    const gsw_cuda *cuda = gsw_cuda_of(context);
    gsw_sweep_area *singles = &factor->packed->area[AREA_OF_SINGLES];
    gsw_sweep_area *blocks = &factor->packed->area[AREA_OF_BLOCKS];
    const void *kernel = kernel_of(factor, true);
    cudaStreamCaptureStatus capture = cudaStreamCaptureStatusNone;
    *open = singles->state != NULL;
    if (*open)
        return GSW_SUCCESS;
    GSW_TRY(gsw_cuda_check(context, cudaStreamIsCapturing(cuda->stream, &capture),
                           "the sweep's faces"));
    *open = capture == cudaStreamCaptureStatusNone;
    if (!*open)
        return GSW_SUCCESS;
    const int32_t rhs = rhs_of_blocks(factor->packed->shape);
    if (kernel && !blocks->state && rings_fit(cuda, factor, rhs, SWEEP_ALONE)) {
        GSW_TRY(gsw_cuda_allow_shared(context, kernel, "the sweep"));
        GSW_TRY(open_area(context, factor, rhs, SWEEP_RHS_OF_ALL / rhs, blocks));
    }
    const int32_t groups = blocks->state ? (int32_t)SWEEP_RHS_MAX : (int32_t)SWEEP_RHS_OF_ALL;
    GSW_TRY(open_area(context, factor, 1, groups, singles));
    /* The kernel takes its tickets without waiting for what was queued before it. */
    return gsw_cuda_check(context, cudaStreamSynchronize(cuda->stream), "the sweep's state");
}

/* Blocks that share coefficients wait for the slowest of their right-hand sides. Where these are
 * few, or pencils are, blocks with one each are faster: the L2 cache shares the coefficients. */
gsw_sweep_area_name area_for(const gsw_cuda *cuda, const gsw_factor *factor, int64_t count) {
    const gsw_packed *packed = factor->packed;
    const gsw_sweep_area *blocks = &packed->area[AREA_OF_BLOCKS];
    const int64_t few = (blocks->rhs == 2 ? FEW_FOR_2 : FEW_FOR_4) * (int64_t)cuda->multiprocessors;
    const bool single =
        count < blocks->rhs || (count <= SWEEP_RHS_MAX && count * packed->view[0].pencils <= few);
    return single || !blocks->state ? AREA_OF_SINGLES : AREA_OF_BLOCKS;
}

} // namespace

gsw_tile_shape gsw_cuda_tile_shape(gsw_context *context, gsw_shape_name name,
                                   const gsw_tiles *tiles) {
    if (name != SHAPE_OTHER)
        return tile_of_shape(name, gsw_cuda_of(context)->capability >= BULK_COPIES_SINCE);
    /* A pencil reads only the tiles next to its own. */
    int32_t lanes_y = tiles->nz == 1 ? 32 : 8;
    while (lanes_y > 1 && lanes_y / 2 >= tiles->halo_y && GSW_TILE_LANES / lanes_y < tiles->halo_z)
        lanes_y /= 2;
    while (lanes_y < 32 && lanes_y < tiles->halo_y)
        lanes_y *= 2;
    return gsw_tile_shape{lanes_y, 1, 1};
}

int64_t gsw_cuda_slot_values(const gsw_factor *factor) {
    sweep_plan plan;
    plan_faces(&factor->packed->view[0].tiles, 1, &plan);
    return plan.slot_values;
}

template <int Rhs, bool sums = false> static unsigned threads_of_blocks(const gsw_cuda *cuda) {
    return cuda->capability >= BULK_COPIES_SINCE ? sweep_roles<Rhs, sums, true>::threads
                                                 : sweep_roles<Rhs, sums, false>::threads;
}
static unsigned threads_of(const gsw_cuda *cuda, int32_t rhs) {
    return rhs == 1   ? threads_of_blocks<1>(cuda)
           : rhs == 2 ? threads_of_blocks<2>(cuda)
                      : threads_of_blocks<SWEEP_RHS_MAX>(cuda);
}

bool gsw_cuda_sweep_fits(gsw_context *context, const gsw_factor *factor) {
    const gsw_tiles *t = &factor->packed->view[0].tiles;
    return t->halo_y <= t->tile_y && t->halo_z <= t->tile_z &&
           rings_fit(gsw_cuda_of(context), factor, 1, SWEEP_ALONE);
}

gsw_status gsw_cuda_sweep_open(gsw_context *context, gsw_factor *factor) {
    gsw_packed *packed = factor->packed;
    const gsw_cuda *cuda = gsw_cuda_of(context);
    const gsw_tiles *t = &packed->view[0].tiles;
    sweep_plan plan;
    make_plan(cuda, factor, 0, 1, &plan);
    if (!gsw_cuda_sweep_fits(context, factor))
        return gsw_fail(context, GSW_ERROR_UNSUPPORTED,
                        "factors on CUDA cannot hold a stencil whose couplings reach %d lines and "
                        "%d planes",
                        t->halo_y, t->halo_z);
    if (plan.slot_values > INT32_MAX) /* places in faces are 32 bits wide */
        return gsw_fail(context, GSW_ERROR_UNSUPPORTED,
                        "factors on CUDA cannot hold lines of %lld points", (long long)t->nx);
    GSW_TRY(gsw_cuda_allow_shared(context, kernel_of(factor, false), "the sweep"));
    if (two_block_kernel(cuda, factor))
        GSW_TRY(gsw_cuda_allow_shared(context, two_block_kernel(cuda, factor), "the sweep"));
    return open_area(context, factor, 1, 1, &packed->area[AREA_OF_1]);
}

void gsw_cuda_sweep_close(gsw_context *context, struct gsw_packed *packed) {
    for (gsw_sweep_area &area : packed->area)
        gsw_cuda_unreserve(context, area.state);
}

/* The plan of a launch, except b, x and what belongs to several right-hand sides. */
static gsw_status plan_launch(gsw_context *context, const gsw_factor *factor, int part,
                              const gsw_sweep_area *area, sweep_purpose purpose, sweep_plan *plan,
                              int32_t *shared) {
    const gsw_cuda *cuda = gsw_cuda_of(context);
    const bool pivots = purpose == SWEEP_FOR_PIVOTS;
    make_plan(cuda, factor, part, area->rhs, plan);
    if (pivots) { /* the records of gsw_cuda_pack_products() */
        plan->record_bytes -= plan->diagonal * GSW_TILE_LANES * factor->packed->view[part].members *
                              (int32_t)sizeof(double);
        plan->diagonal = 0;
    }
    if (!cut_rings(cuda, factor, area->rhs, purpose, plan, shared))
        return gsw_fail(context, GSW_ERROR_UNSUPPORTED, "the sweep's rings do not fit the device");
    plan->state = area->state;
    plan->done = (uint32_t *)(area->state + 1);
    plan->faces = (char *)area->state + face_offset(area, factor->packed->view[part].pencils);
    plan->all_values = area->groups * area->slots * plan->slot_values;
    plan->resident = cuda->multiprocessors * (cuda->shared_per_multiprocessor / *shared);
    return GSW_SUCCESS;
}

/* `rhs` right-hand sides in blocks of `of_block`. No value is in a face between launches, so each
 * may have other slots. */
static void plan_columns(const gsw_cuda *cuda, const gsw_factor *factor, bool pivots,
                         int32_t of_block, int64_t rhs, sweep_plan *plan) {
    plan->rhs = (int32_t)rhs;
    plan->groups = (int32_t)gsw_ceil_div(rhs, of_block);
    plan->slots = count_slots(cuda, factor, pivots, plan->groups);
}

gsw_status gsw_cuda_sweep(gsw_context *context, gsw_factor *factor, int part, int64_t count,
                          const void *b, int64_t ldb, void *x, int64_t ldx) {
    const gsw_cuda *cuda = gsw_cuda_of(context);
    const gsw_packed *packed = factor->packed;
    const gsw_packed_view *view = &packed->view[part];
    const size_t real = gsw_dtype_size(factor->options.vector_type);
    bool together = count > 1 && !gsw_cuda_is_remote(factor);
    if (together)
        GSW_TRY(open_several(context, factor, &together));
    const gsw_sweep_area *area =
        &packed->area[together ? area_for(cuda, factor, count) : AREA_OF_1];
    const void *own = area->rhs == 1 ? two_block_kernel(cuda, factor) : NULL;
    const void *kernel = own ? own : kernel_of(factor, area->rhs > 1);
    const unsigned threads = threads_of(cuda, area->rhs);
    sweep_plan plan;
    int32_t shared;
    GSW_TRY(plan_launch(context, factor, part, area, SWEEP_ALONE, &plan, &shared));
    plan.ldb = ldb;
    plan.ldx = ldx;
    /* The grid begins with the ghosts below, which the vectors do not have. */
    const int64_t ghosts = gsw_points_below(factor);
    const int64_t last = (view->upper ? view->tiles.points - 1 : 0) - ghosts;
    const int64_t at_once = area->rhs * area->groups;
    for (int64_t r = 0; r < count; r += at_once) {
        plan.b = (const char *)b + (r * ldb + last) * (int64_t)real;
        plan.x = (char *)x + (r * ldx + last) * (int64_t)real;
        plan_columns(cuda, factor, false, area->rhs, count - r < at_once ? count - r : at_once,
                     &plan);
        if (factor->deal)
            plan_dealt(factor, part, &plan);
        void *arguments[] = {&plan};
        GSW_TRY(gsw_cuda_check(context,
                               launch_kernel_of(cuda, kernel,
                                                (unsigned)view->pencils * (unsigned)plan.groups,
                                                threads, (size_t)shared, arguments),
                               "the sweep"));
    }
    return GSW_SUCCESS;
}

gsw_status gsw_cuda_sweep_sum_open(gsw_context *context, const gsw_factor *factor, int *fits) {
    *fits = rings_fit(gsw_cuda_of(context), factor, 1, SWEEP_FOR_SUMS);
    return gsw_cuda_allow_shared(context, sweep_sum_kernel(factor->packed->shape), "the sweep");
}

gsw_status gsw_cuda_sweep_sum(gsw_context *context, const gsw_factor *factor, int part,
                              const gsw_sweep_sum *sum) {
    const gsw_cuda *cuda = gsw_cuda_of(context);
    const gsw_packed_view *view = &factor->packed->view[part];
    const int64_t last = view->upper ? view->tiles.points - 1 : 0;
    sweep_plan plan;
    int32_t shared;
    GSW_TRY(plan_launch(context, factor, part, &factor->packed->area[AREA_OF_1], SWEEP_FOR_SUMS,
                        &plan, &shared));
    plan_columns(cuda, factor, false, 1, 1, &plan);
    plan.b = sum->b + last;
    plan.x = sum->x ? sum->x + last : NULL;
    plan.add = sum->add + last;
    plan.factor = sum->factor ? sum->factor + last : NULL;
    plan.z = sum->z + last;
    void *arguments[] = {&plan};
    return gsw_cuda_check(context,
                          launch_kernel_of(cuda, sweep_sum_kernel(factor->packed->shape),
                                           (unsigned)plan.pencils, threads_of_blocks<1, true>(cuda),
                                           (size_t)shared, arguments),
                          "the sweep");
}

gsw_status gsw_cuda_sweep_pivots(gsw_context *context, const gsw_factor *factor,
                                 const double *diagonal, double *reciprocal) {
    const gsw_cuda *cuda = gsw_cuda_of(context);
    const gsw_packed *packed = factor->packed;
    const void *kernel = sweep_pivot_kernel(packed->shape, gsw_cuda_is_remote(factor));
    sweep_plan plan;
    int32_t shared;
    GSW_TRY(plan_launch(context, factor, 0, &packed->area[AREA_OF_1], SWEEP_FOR_PIVOTS, &plan,
                        &shared));
    const int64_t ghosts = gsw_points_below(factor);
    plan.b = diagonal - ghosts;
    plan.x = reciprocal - ghosts;
    plan_columns(cuda, factor, true, 1, 1, &plan);
    plan.pivots = packed->pivots;
    plan.positive = factor->options.kind == GSW_IC0;
    void *arguments[] = {&plan};
    GSW_TRY(gsw_cuda_allow_shared(context, kernel, "the sweep"));
    /* It reads records that the kernel before it writes: it must not begin before that one ends. */
    return gsw_cuda_check(context,
                          cudaLaunchKernel(kernel, dim3((unsigned)plan.pencils),
                                           dim3(threads_of_blocks<1>(cuda)), arguments,
                                           (size_t)shared, cuda->stream),
                          "the sweep");
}
