/* sweep_block.cuh: what the roles of a block of the packed sweep share: where lines lie in a row of
 * the rings, the block's counters and barriers, and waits for them. sweep_kernel.cuh explains the
 * roles and proves that the waits end. */
#ifndef GSW_CUDA_SWEEP_BLOCK_CUH
#define GSW_CUDA_SWEEP_BLOCK_CUH

#include "cuda/device/handover.cuh"
#include "cuda/device/launch.cuh"
#include "movers.cuh"
#include "shape.cuh"
#include "sweep_plan.cuh"

namespace {

/* ---- Loops whose index is a constant ------------------------------------------------------------
 */

template <int value> struct number { static constexpr int v = value; };

/* function(number<0>()) ... function(number<n - 1>()). */
template <int n, int i = 0, typename Function>
__device__ __forceinline__ void repeat(Function &&function) {
    if constexpr (i < n) {
        function(number<i>());
        repeat<n, i + 1>(function);
    }
}

/* ---- Cells of a row of the rings ----------------------------------------------------------------
 */

/* A pencil's tile: for named shapes it is a constant. */
struct pencil_tile {
    int32_t lanes_y, lines_y, lines_z, tile_y, tile_z, skew_y, skew_z;
};

template <int name> __device__ __forceinline__ pencil_tile tile_of(const sweep_plan &plan) {
    if constexpr (name == SHAPE_OTHER) {
        return {plan.lanes_y, plan.lines_y, plan.lines_z, plan.tile_y,
                plan.tile_z,  plan.skew_y,  plan.skew_z};
    } else {
        using S = shape_of<name>;
        return {S::lanes_y, S::lines_y, S::lines_z, S::tile_y, S::tile_z, S::skew_y, S::skew_z};
    }
}

/* The cell of line (ly, lz) of the pencil. */
__device__ __forceinline__ int32_t own_cell(const pencil_tile &tile, int32_t ly, int32_t lz) {
    const int32_t by_y = tile.lines_y - 1, by_z = tile.lines_z - 1; /* a lane has 1 or 2 lines */
    const int32_t lane = (ly >> by_y) + tile.lanes_y * (lz >> by_z);
    const int32_t member = (ly & by_y) + (lz & by_z);
    return (lane << (by_y + by_z)) + member;
}

/* The same for a line of the pencil or one before it, where ly or lz is negative. */
__device__ __forceinline__ int32_t cell_of(const sweep_plan &plan, const pencil_tile &tile,
                                           int32_t halo_y, int32_t halo_z, int32_t ly, int32_t lz) {
    if (ly >= 0 && lz >= 0)
        return own_cell(tile, ly, lz);
    if (lz >= 0)
        return plan.face[0].cell + (ly + halo_y) * tile.tile_z + lz;
    if (ly >= 0)
        return plan.face[1].cell + ly * halo_z + lz + halo_z;
    return plan.face[2].cell + (ly + halo_y) * halo_z + lz + halo_z;
}

/* ---- A block ------------------------------------------------------------------------------------
 */

/* In shared memory. Each counter and barrier names the role that writes it. */
struct sweep_control {
    union {
        uint64_t full[SWEEP_STAGES_MAX]; /* loader: the stage's records are there */
        struct {                         /* the same without bulk copies: counts of slices */
            int32_t slices_filled[SWEEP_LOADERS]; /* loaders, each of its own */
            int32_t slices_read[SWEEP_RHS_MAX];   /* compute, by right-hand side */
        };
    };
    uint64_t completed[SWEEP_BARRIERS]; /* compute, all of its warps: the chunk is completed */
    uint64_t stored[SWEEP_BARRIERS];    /* storer: the chunk's rows are free */
    int32_t ready[2];                   /* stagers: chunks whose records, b and room are there */
    int32_t steps_completed[SWEEP_RHS_MAX]; /* compute, by right-hand side: whole chunks */
    uint32_t epoch;
    int32_t group; /* of right-hand sides */
    int32_t ticket;
    int32_t faces_clean; /* opener: no face is dirty */
    int32_t faces_open;  /* opener: this pencil's faces may be written */
    int32_t face_users;  /* roles that still use other pencils' faces */
    uint64_t abandoned;  /* what state->abandon held when the block began */
    gsw_pencil pencil;
    uint64_t last; /* nobody reads it: see begin_next_epoch() */
};

/* The state that all roles share. */
struct sweep_block {
    const sweep_plan *plan;
    sweep_control *control;
    uint32_t coefficients, b, x; /* shared addresses */
    int32_t y0, z0;              /* y' and z of the pencil's first line */
    int32_t lane;
    int32_t rhs;    /* first right-hand side of the block's group */
    uint32_t *done; /* of the group, as in the plan */
    void *faces;
    /* Known to the compiler: some faces or vectors may be those of other processes; chunks may be
     * kept (sweep_plan). */
    bool remote, keeps;
};

/* Waits until the block's pencil is known and its memory is prepared; all warps call it once. */
template <typename Real, int Rhs>
__device__ __forceinline__ sweep_block await_pencil(const sweep_plan &plan, sweep_control *control,
                                                    const char *memory, bool remote, bool keeps) {
    asm volatile("barrier.sync 0;" ::: "memory");
    let_next_kernel_start();
    return {&plan,
            control,
            shared_address(memory),
            shared_address(memory + plan.b_offset),
            shared_address(memory + plan.x_offset),
            control->pencil.j * plan.tile_y - plan.pad_y,
            control->pencil.k * plan.tile_z - plan.pad_z,
            (int32_t)threadIdx.x & 31,
            control->group * Rhs,
            plan.done + (int64_t)control->group * plan.pencils,
            (Real *)plan.faces + (int64_t)control->group * plan.slots * plan.slot_values,
            remote,
            keeps};
}

/* The pencil's records in device memory. */
__device__ __forceinline__ const char *records_of(const sweep_block &block) {
    const sweep_plan &plan = *block.plan;
    int64_t stored = block.control->ticket;
    if (plan.shared)
        stored = plan.shared[stored];
    return (const char *)plan.values + stored * plan.records * (int64_t)plan.record_bytes;
}

/* The number of the load that brings the records of a chunk. */
__device__ __forceinline__ int32_t load_of(const sweep_block &block, int32_t chunk) {
    const sweep_plan &plan = *block.plan;
    if (!block.keeps || chunk < plan.kept_begin)
        return chunk;
    return chunk < plan.kept_end ? plan.kept_begin - 1 : chunk - (plan.kept_end - plan.kept_begin);
}

/* Whether a load brings records for this chunk alone. */
__device__ __forceinline__ bool is_loaded(const sweep_block &block, int32_t chunk) {
    const sweep_plan &plan = *block.plan;
    if (!block.keeps)
        return chunk < plan.loads;
    return chunk < plan.kept_begin ? chunk < plan.loads : chunk >= plan.kept_end;
}

/* ---- Lines --------------------------------------------------------------------------------------
 */

/* Whether line (ly, lz) of the pencil is in the grid. */
__device__ __forceinline__ bool has_line(const sweep_block &block, int32_t ly, int32_t lz) {
    const sweep_plan &plan = *block.plan;
    const int32_t z = block.z0 + lz, y = block.y0 + ly - plan.shear * z;
    return (uint32_t)y < (uint32_t)plan.ny && (uint32_t)z < (uint32_t)plan.nz;
}

/* Whether all its lines are, as in most pencils. */
__device__ __forceinline__ bool has_all_lines(const sweep_block &block, const pencil_tile &tile) {
    const sweep_plan &plan = *block.plan;
    const int32_t least = block.y0 - plan.shear * (block.z0 + tile.tile_z - 1);
    const int32_t most = block.y0 - plan.shear * block.z0 + tile.tile_y - 1;
    return block.z0 >= 0 && block.z0 + tile.tile_z <= plan.nz && least >= 0 && most < plan.ny;
}

/* ---- Vectors ------------------------------------------------------------------------------------
 */

/* The process, in sweep order, whose slab has the rows of a dealt pencil. */
__device__ __forceinline__ int32_t owner_of_rows(const sweep_block &block) {
    int32_t owner = 0;
    while (block.control->pencil.k >= block.plan->owner_end[owner])
        owner++;
    return owner;
}

/* The values of other processes that a gathered vector leaves out before the pencil's rows. */
__device__ __forceinline__ int64_t values_left_out(const sweep_block &block) {
    const sweep_plan &plan = *block.plan;
    const int32_t row = plan.first_row + block.control->pencil.k * plan.row_step;
    return (row - row / plan.owners) * plan.row_values;
}

template <typename Real>
__device__ __forceinline__ const Real *b_of_block(const sweep_block &block) {
    const sweep_plan &plan = *block.plan;
    if (!block.remote || plan.owners == 0)
        return (const Real *)plan.b;
    return plan.b_gathered ? (const Real *)plan.b - values_left_out(block)
                           : (const Real *)plan.owner_b[owner_of_rows(block)];
}

template <typename Real> __device__ __forceinline__ Real *x_of_block(const sweep_block &block) {
    const sweep_plan &plan = *block.plan;
    if (!block.remote || plan.owners == 0)
        return (Real *)plan.x;
    return plan.x_gathered ? (Real *)plan.x - values_left_out(block)
                           : (Real *)plan.owner_x[owner_of_rows(block)];
}

/* ---- Faces --------------------------------------------------------------------------------------
 */

/* Where this pencil publishes face `side`: its slot, or the outbox where another process reads it.
 */
template <typename Real>
__device__ __forceinline__ Real *face_of(const sweep_block &block, int side) {
    const sweep_plan &plan = *block.plan;
    const int32_t reader = block.control->pencil.after[side];
    Real *slot = block.remote && reader >= plan.pencils
                     ? (Real *)plan.outbox + (int64_t)(reader - plan.pencils) * plan.slot_values
                     : (Real *)block.faces +
                           (int64_t)(block.control->ticket % plan.slots) * plan.slot_values;
    return slot + plan.face[side].offset;
}

/* Where pencil `before` has published it for this one. */
template <typename Real>
__device__ __forceinline__ Real *face_before(const sweep_block &block, int32_t before, int side) {
    const sweep_plan &plan = *block.plan;
    Real *slot = block.remote && before < -1
                     ? (Real *)plan.inbox + (int64_t)gsw_remote_place(before) * plan.slot_values
                     : (Real *)block.faces + (int64_t)(before % plan.slots) * plan.slot_values;
    return slot + plan.face[side].offset;
}

/* ---- Waits inside the block ---------------------------------------------------------------------
 */

/* Waits for phase chunk / count of the chunk's barrier. */
__device__ __forceinline__ void await_chunk(const uint64_t *barriers, int32_t count,
                                            int32_t chunk) {
    await_phase(shared_address(barriers + chunk % count), (uint32_t)(chunk / count) & 1u);
}

/* Waits, with all lanes, until a stager has published that more than `chunk` chunks are ready. An
 * acquire: for chunk 0 the opener's acquire of `done` reaches compute through it. */
__device__ __forceinline__ void await_ready(const int32_t *ready, int32_t chunk) {
    while (__any_sync(~0u, load_acquire<scope::block>(ready) <= chunk))
        ;
}

/* Waits, with all lanes, for the first two slices. Compute asks for the later ones as it goes on.
 */
__device__ __forceinline__ void await_first_slices(const sweep_control *control) {
    for (int i = 0; i < 2; i++) {
        while (__any_sync(~0u, *(volatile const int32_t *)&control->slices_filled[i] == 0))
            ;
    }
}

/* One lane of a compute warp publishes that a chunk is completed. */
__device__ __forceinline__ void complete_chunk(sweep_control *control, int rhs, int32_t chunk) {
    barrier_arrive(shared_address(control->completed + chunk % SWEEP_BARRIERS));
    *(volatile int32_t *)&control->steps_completed[rhs] = (chunk + 1) * SWEEP_CHUNK;
}

} // namespace

#endif
