/* sweep_careful.cuh: the compute role of the packed sweep by the definition, for a tile of any
 * shape: it adds couplings in ascending order and skips zero coefficients. Shapes without code of
 * their own use it, and so do pencils that meet infinities or NaNs. */
#ifndef GSW_CUDA_SWEEP_CAREFUL_CUH
#define GSW_CUDA_SWEEP_CAREFUL_CUH

#include "sweep_block.cuh"

namespace {

/* Where a step's record is: with bulk copies in the ring of stages, else in device memory, because
 * slices are overwritten before their chunk is completed. */
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
typedef uint32_t record_place;

__device__ __forceinline__ record_place record_of(const sweep_block &block, int32_t s) {
    const int32_t c = s / SWEEP_CHUNK;
    const int32_t stage_row =
        load_of(block, c) % block.plan->stages * SWEEP_CHUNK + s % SWEEP_CHUNK;
    return block.coefficients + (uint32_t)(stage_row * block.plan->record_bytes);
}
#else
typedef const char *record_place;

__device__ __forceinline__ record_place record_of(const sweep_block &block, int32_t s) {
    return records_of(block) + (int64_t)(s % block.plan->records) * block.plan->record_bytes;
}
#endif

template <typename Value>
__device__ __forceinline__ void load_coefficient(Value *c, uint32_t from) {
    load_shared<1>(c, from);
}
template <typename Value>
__device__ __forceinline__ void load_coefficient(Value *c, const char *from) {
    load_global<1>(c, reinterpret_cast<const Value *>(from));
}

/* Computes one line's point of a step. `record` is where the step's record is, `b` and `x` are the
 * shared addresses of the lane's b, and of the ring's first row. */
template <typename Real, typename Value>
__device__ __forceinline__ Real careful_row(const sweep_block *block, int32_t ring_row,
                                            record_place record, uint32_t b, uint32_t x,
                                            int32_t member) {
    const sweep_plan &plan = *block->plan;
    const int32_t members = plan.lines_y * plan.lines_z;
    const int32_t halo_y = plan.face[0].values / plan.tile_z;
    const int32_t halo_z = plan.face[1].values / plan.tile_y;
    const pencil_tile tile = tile_of<SHAPE_OTHER>(plan);
    const int32_t rows = plan.ring * SWEEP_CHUNK;
    const int32_t ly = block->lane % plan.lanes_y * plan.lines_y + (plan.lines_y == 2 ? member : 0);
    const int32_t lz = block->lane / plan.lanes_y * plan.lines_z + (plan.lines_z == 2 ? member : 0);
    auto coefficient = [&](int32_t term) {
        Value c;
        load_coefficient(&c, record + (uint32_t)sizeof(Value) *
                                          (uint32_t)gsw_packed_value(plan.terms, members,
                                                                     16 / (int32_t)sizeof(Value),
                                                                     term, member, block->lane));
        return c;
    };
    Real r;
    load_shared<1>(&r, b + (uint32_t)member * (uint32_t)sizeof(Real));
    if (plan.diagonal)
        r *= (Real)coefficient(plan.terms);
    for (int32_t j = 0; j < plan.terms; j++) {
        const Value c = coefficient(j);
        int32_t row = ring_row - plan.back[j];
        while (row < 0)
            row += rows;
        const int32_t cell =
            cell_of(plan, tile, halo_y, halo_z, ly + plan.dl[j], lz - plan.plane[j]);
        const uint32_t at =
            x + (uint32_t)(row * plan.x_pitch) + (uint32_t)sizeof(Real) * (uint32_t)cell;
        Real value;
        do {
            load_shared<1>(&value, at);
        } while (is_empty(value));
        r = c == 0 ? r : fma(-(Real)c, value, r);
    }
    return quiet(r);
}

/* The work of a compute warp from step `first` on. It reads every value from the ring. `published`
 * has a bit for each value of the first chunk, [line][step], that has been published already. */
template <typename Real, typename Value, int Rhs>
__device__ __forceinline__ void make_careful_steps(const sweep_block &block, int rhs, int32_t first,
                                                   uint32_t published) {
    const sweep_plan &plan = *block.plan;
    sweep_control *control = block.control;
    const int32_t members = plan.lines_y * plan.lines_z;
    const int32_t halo_y = plan.face[0].values / plan.tile_z;
    const int32_t halo_z = plan.face[1].values / plan.tile_y;
    const int32_t rows = plan.ring * SWEEP_CHUNK, staged_rows = plan.staged * SWEEP_CHUNK;
    const uint32_t x_begin = block.x + (uint32_t)(rhs * plan.x_stride);
    const uint32_t b_begin = block.b + (uint32_t)(rhs * plan.b_stride);
    Real *const to[3] = {face_of<Real>(block, 0), face_of<Real>(block, 1), face_of<Real>(block, 2)};
    if (!BULK_COPIES && block.lane == 0) /* loaders need not wait any more */
        *(volatile int32_t *)&control->slices_read[rhs] = INT32_MAX;
    for (int32_t s = first; s < plan.chunks * SWEEP_CHUNK; s++) {
        const int32_t c = s / SWEEP_CHUNK;
        const record_place record = record_of(block, s);
        await_ready(control->ready + rhs / sweep_warps<Rhs>::rhs_per_mover, c);
        for (int32_t m = 0; m < members; m++) {
            const int32_t ly =
                block.lane % plan.lanes_y * plan.lines_y + (plan.lines_y == 2 ? m : 0);
            const int32_t lz =
                block.lane / plan.lanes_y * plan.lines_z + (plan.lines_z == 2 ? m : 0);
            const int32_t x = s - plan.skew_y * ly - plan.skew_z * lz;
            const bool inside = has_line(block, ly, lz) && x >= 0 && x < plan.nx;
            const uint32_t cell = (uint32_t)(block.lane * members * (int)sizeof(Real));
            const Real made = careful_row<Real, Value>(
                &block, s % rows, record,
                b_begin + (uint32_t)(s % staged_rows * plan.b_pitch) + cell, x_begin, m);
            const Real r = inside ? made : (Real)0;
            store_shared<1>(x_begin + (uint32_t)(s % rows * plan.x_pitch) + cell +
                                (uint32_t)(m * (int)sizeof(Real)),
                            &r);
            const int32_t fy = ly - (plan.tile_y - halo_y), fz = lz - (plan.tile_z - halo_z);
            const int32_t entry[3] = {fy * plan.tile_z + lz, ly * halo_z + fz, fy * halo_z + fz};
            const bool published_before =
                s < first + SWEEP_CHUNK && (published >> (SWEEP_CHUNK * m + s - first) & 1u);
            const Real face_value = is_quiet_nan(r) ? published_nan<Real>() : r;
            const bool on[3] = {fy >= 0, fz >= 0, fy >= 0 && fz >= 0};
            for (int side = 0; side < 3; side++)
                store_now_if<1>(
                    on[side] && !published_before && plan.face[side].values > 0 &&
                        control->pencil.after[side] >= 0 && control->ticket != plan.withheld,
                    to[side] + ((int64_t)s * Rhs + rhs) * plan.face[side].values + entry[side],
                    &face_value);
        }
        __syncwarp();
        if (s % SWEEP_CHUNK == SWEEP_CHUNK - 1 && block.lane == 0)
            complete_chunk(control, rhs, c);
    }
}

} // namespace

#endif
