/* sweep_kernel.cuh: one sweep of a packed factor: skewed pencils, a block per pencil. Here are the
 * proof and the kernel; the roles are in sweep_movers.cuh, sweep_receivers.cuh, sweep_compute.cuh
 * and sweep_careful.cuh.
 *
 * UNIT OF WORK. A pencil (tiles.h). A block takes the next one by a ticket.
 * Its warps have roles, which pass work on through shared memory, chunk by chunk (8 steps):
 *
 *   compute    solves: a warp per right-hand side, one point of each of a lane's lines per step
 *   loader     copies packed records into a ring of stages (one thread; BEFORE 9.0: several warps)
 *   stager     copies b, from lines in natural order to steps; publishes the chunks that are ready:
 *              their records and b are there, and the rows of their x are free
 *   storer     copies x, from steps to lines in natural order; in some sweeps it also adds, and
 *              there are two (sweep_sum.cu)
 *   opener     waits until the pencil's faces may be written; with several right-hand sides the
 *              first compute warp does so before it begins
 *   receivers  a warp per direction: bring the values that the pencils before have published
 *
 * RIGHT-HAND SIDES. A block sweeps one right-hand side, or several that share the records. Rows of
 * rings and faces hold the right-hand sides of a step one after the other; each stager and storer
 * serves some of them. A launch may have several groups of right-hand sides. Then each pencil has a
 * block per group, with successive tickets. Each group has its own faces and its own done[], and
 * groups do not touch each other. Below, "ticket" means the pencil's.
 *
 * THE RING. x of the last steps lies in shared memory, one row per step. A row holds the pencil's
 * own values, lane by lane, then the halo: the lines before the pencil in y', in z, in both. A halo
 * value lies in the row of the step that would compute it if its line belonged to the pencil. So a
 * neighbour that was computed `back` steps ago is in row step - back, whichever block computed it.
 * Its cell depends on the lane only. Lines outside the grid are 0. Couplings that leave the grid
 * have coefficient 0.
 *
 * FACES. A pencil publishes its last lines in device memory: [step][line], where the producer
 * counts the steps. There is one face for each of the (up to three) pencils that read it, so each
 * value has one reader. Values are flags (handover.cuh): a quiet NaN means "not published", and the
 * reader puts one back. In the ring the sentinel is a signalling NaN, which arithmetic never
 * yields. Between solves every face value that has a reader is a quiet NaN. The reader asks the L2
 * cache to keep a face longer than the streams; with several right-hand sides the writer does so,
 * too.
 *
 * NaN AND INFINITY. A zero coefficient must not be multiplied by them: 0 * infinity and 0 * NaN are
 * NaN. A result that is a number, or infinite, contains no such product and is right. A quiet NaN
 * may be right or wrong; in a face it means "not published" in either case. After the first NaN,
 * all later values of the line are NaN. So compute checks for quiet NaNs at the end of each chunk.
 * Where it finds one, it leaves that chunk and the rest of the pencil to make_careful_steps(). That
 * function skips zeros as the definition does, and publishes the values that are not yet published.
 * It writes a NaN that is right as another signalling NaN.
 *
 * MEMORY ORDER IN THE BLOCK. Each writer stores rows before the counter that publishes them;
 * readers read the counter before the rows. A warp's accesses to shared memory take effect in
 * program order, because the accesses are volatile and the votes of every step keep the compute
 * warp together. One lane empties and fills a halo cell. Before it fills the cell of one row, it
 * empties the cell of its next row, `span` rows later. It does so only when compute has completed
 * the steps that read the old value. Compute reads a cell only after the cell `span` rows before
 * it. The lane filled that one after it had emptied the later one. At first all cells are empty.
 * Where no pencil stands before this one, its receiver fills the halo of all rows with zeros and
 * ends; they stay. mbarriers count chunks (arriving releases, waiting acquires) and also order bulk
 * copies.
 *
 * MEMORY ORDER BETWEEN BLOCKS. Face values: relaxed loads, and relaxed or volatile stores.
 * done[ticket] is a counter: a fence and a release after the roles concerned, an acquire by the
 * waiting role. The opener's acquire reaches compute through faces_open and, for the first chunk,
 * ready: both are released and acquired in the block.
 *
 * SLOTS. Pencils `slots` tickets apart share a slot of faces, so that faces stay in the cache. A
 * slot's next pencil writes a face, and its reader polls it, only when the last reader of the old
 * values has finished. If the old values have no reader, both wait for the old pencil itself, which
 * has waited for the pencils before it. There are more slots than any reader's distance in tickets,
 * so these waits are for smaller tickets.
 *
 * SLABS. Where the grid is cut along z (contract/slab_ops.h), the first pencils along z read the
 * faces of the process before it from the inbox. The last ones publish theirs in the outbox, which
 * is the inbox of the process after it, in the memory of its device. An inbox has a slot for each
 * pencil, so no slot is used twice in a sweep, and nobody waits for one. Values are flags there as
 * well, at the scope of the system: volatile stores, relaxed loads. The reader puts the sentinels
 * back. The process before writes the inbox again only when this sweep has ended
 * (distributed_slabs.c).
 *
 * DEALT ROWS. Where the rows of tiles are dealt out to processes (deal.cu), each row reads the
 * inbox and publishes in the outbox, in the same way. An inbox has a slot for each pencil there as
 * well.
 *
 * PROGRESS. Between processes: with slabs, a process waits only for the one before it in the sweep.
 * The first one waits for nobody, so its sweep ends, then that of the next one. With dealt rows
 * processes wait for each other. There is one list of all pencils, in which each one comes after
 * those it depends on, and each process takes its own pencils in the order of the list. So the
 * first pencil of the list that is not finished waits for nobody. Its process has taken it or takes
 * it next, because those that it has taken before are finished. Both need kernels of all processes
 * to run at the same time, or in turns.
 *
 * Between blocks: as in handover.cuh, since tickets are in the order of dependences.
 *
 * Inside a block every wait leads to an earlier chunk. Loader, stager and receivers wait for room
 * that compute makes by completing an earlier chunk. The storer waits for compute. Compute waits
 * for what stager and receivers bring for the next chunk. The stager publishes chunk c when three
 * things have happened. Its records have come; the loader asked for them at the beginning, or when
 * compute had completed c - stages < c - 1. The stager has asked for b up to chunk a = c + ahead -
 * 1, for which compute must have completed a + lag - staged < c - 1. The storer has read chunk c -
 * ring, for which compute must have completed c - ring + lag < c - 1, or one more where x is stored
 * in pairs of chunks. Rings are long enough for that, and for a receiver's lanes to bring a whole
 * chunk while compute has completed the one before (sweep.cu).
 *
 * FAULTS. Only receivers and opener wait for other blocks. When the solve is abandoned
 * (handover.cuh), a receiver takes 0 for each value that has not arrived, and the opener lets
 * compute begin. So all blocks run to their end. The next solve finds the mark of this one, and its
 * first block resets all faces before any block polls or writes them. It does not reset an inbox:
 * after a timeout the library refuses the partition (partition.h).
 *
 * COEFFICIENTS THAT REPEAT. Pencils may share records (plan.shared). Where a line's coefficients
 * are constant, too, chunks in its middle are not loaded (plan.kept_begin): their records are those
 * of the chunk before them, which stay in their stage, and compute keeps the values in registers.
 * The loader overwrites that stage when compute has completed the last of these chunks, and the
 * chunk after them needs another stage, since there are two at least. Compute may be many chunks
 * ahead of the loader then, more than a barrier's parity tells; so the loader reads the count of
 * its steps.
 *
 * BEFORE 9.0 there are no bulk copies. Then several loaders bring the records through registers, in
 * turns, in stages of a SLICE: two steps. Compute asks whether a slice is there one step before it
 * loads it, and publishes when it has loaded it. The loader of slice k waits until compute has
 * loaded slice k - stages. So the loader's wait leads to an earlier step, and compute's wait leads
 * to a loader that waits for nothing else. The stager's chunk is ready when its b is there and the
 * rows of its x are free. Careful steps read records from device memory, because a slice is gone
 * before its chunk is completed. Before 8.0, b of one chunk waits in the stager's registers on its
 * way to shared memory (movers.cuh). Barriers are counters in shared memory. Everything else is the
 * same code, so results are the same bits.
 *
 * THE KERNEL BEFORE. From 9.0 on, blocks may start while the kernel before this one ends
 * (launch.cuh). Tickets are safe: by then all blocks of that kernel have taken theirs. In the same
 * way the blocks of each earlier kernel had taken theirs when the kernel after it started. The
 * loader does not wait for that kernel's end: coefficients and the table have been there since
 * gsw_cuda_factor_await(), which waits for the stream. (A sweep that computes pivots reads records
 * of the kernel before it, so it is launched to start after its end.) All other roles wait for it
 * before they read b or touch faces or x. The mark of an abandoned solve may be read too early: see
 * maybe_dirty(). */
#ifndef GSW_CUDA_SWEEP_KERNEL_CUH
#define GSW_CUDA_SWEEP_KERNEL_CUH

#include "cuda/device/launch.cuh"
#include "sweep_careful.cuh"
#include "sweep_compute.cuh"
#include "sweep_movers.cuh"
#include "sweep_receivers.cuh"

namespace {

/* ---- Registers ----------------------------------------------------------------------------------
 *
 * Two blocks a multiprocessor leave a thread 128 registers. Compute for boxes needs more. So the
 * warps that wait for other blocks give theirs up, and the others take them. The instruction
 * concerns groups of four warps, and the first four are those up to `behind`. Only code for 9.0
 * itself has it (sweep_brief.cu). */

#ifdef __CUDA_ARCH_FEAT_SM90_ALL
constexpr bool CAN_MOVE_REGISTERS = true;
#else
constexpr bool CAN_MOVE_REGISTERS = false;
#endif

enum { TAKEN_REGISTERS = 168, KEPT_REGISTERS = 2 * 128 - TAKEN_REGISTERS };

/* Waits until the block's other group has given up as many. */
__device__ __forceinline__ void take_registers(void) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
    asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"((int)TAKEN_REGISTERS));
#endif
}

__device__ __forceinline__ void give_up_registers(void) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
    asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"((int)KEPT_REGISTERS));
#endif
}

/* ---- The beginning of a block -------------------------------------------------------------------
 */

/* One thread takes a ticket. */
__device__ __forceinline__ void take_pencil(const sweep_plan &plan, sweep_control *control) {
    const epoch_ticket taken = take_epoch_ticket(&plan.state->next);
    const int32_t expected = (int32_t)blockIdx.x / plan.groups;
    const gsw_pencil guess = plan.table[expected]; /* usually right, and here with the ticket */
    const int32_t ticket = (int32_t)taken.ticket / plan.groups;
    const gsw_pencil pencil = ticket == expected ? guess : plan.table[ticket];
    control->group = (int32_t)taken.ticket % plan.groups;
    control->epoch = taken.epoch;
    control->pencil = pencil;
    control->ticket = ticket;
    int32_t users = 1; /* the opener, and each receiver of values of other pencils */
    for (int side = 0; side < 3; side++)
        users += pencil.before[side] != -1 && plan.face[side].values > 0;
    control->face_users = users;
    const int32_t blocks = plan.pencils * plan.groups;
    /* The next kernel may start as soon as this block lets it: the volatile store waits until the
     * counter is ready for that. */
    if ((int32_t)taken.ticket == blocks - 1)
        *(volatile uint64_t *)&control->last = begin_next_epoch(&plan.state->next, blocks);
}

/* One thread of a warp prepares barriers and counters, where `turn` is its place among so many. */
template <int Rhs, bool sums>
__device__ __forceinline__ void prepare_counters(const sweep_plan &plan, sweep_control *control,
                                                 int turn, int warps) {
    for (int i = turn; i < SWEEP_BARRIERS; i += warps) {
        barrier_init(shared_address(control->completed + i), Rhs);
        barrier_init(shared_address(control->stored + i), sweep_roles<Rhs, sums>::storers);
        if (BULK_COPIES && i < SWEEP_STAGES_MAX)
            barrier_init(shared_address(control->full + i), 1);
    }
    fence_bulk();
    if (turn != 0)
        return;
    for (int i = 0; i < Rhs; i++)
        control->steps_completed[i] = 0;
    if constexpr (!BULK_COPIES) {
        for (int i = 0; i < Rhs; i++)
            control->slices_read[i] = 0;
        for (int i = 0; i < SWEEP_LOADERS; i++)
            control->slices_filled[i] = 0;
    }
    control->ready[0] = control->ready[1] = 0;
    control->faces_clean = control->faces_open = 0;
    /* An acquire: where the first block has removed the mark, its resets come before our polls. */
    control->abandoned = load_acquire<scope::device>(&plan.state->abandon);
}

/* Empties the halo of every row. The rows before the first step hold zeros, so that the pencil's
 * own values are there. Rows are dealt out to the warps. */
template <typename Real, int Rhs>
__device__ __forceinline__ void prepare_ring(const sweep_plan &plan, char *x_ring, int turn,
                                             int warps) {
    const int32_t lane = (int)threadIdx.x & 31, rows = plan.ring * SWEEP_CHUNK;
    const int32_t own = plan.face[0].cell, all = plan.face[2].cell + plan.face[2].values;
    for (int32_t i = turn; i < rows * Rhs; i += warps) {
        const int32_t row = i / Rhs;
        Real *cells = (Real *)(x_ring + row * plan.x_pitch + i % Rhs * plan.x_stride);
        for (int32_t c = lane + (row < rows - plan.lead ? own : 0); c < all; c += 32)
            cells[c] = c < own ? (Real)0 : empty_value<Real>();
    }
}

/* Takes a pencil. The ticket takes some 1000 cycles, in which the other warps prepare the block's
 * memory. Nothing of that depends on the pencil. */
template <typename Real, int Rhs, bool sums>
__device__ __forceinline__ void begin_block(const sweep_plan &plan, sweep_control *control,
                                            char *x_ring, int warp) {
    constexpr int others = sweep_roles<Rhs, sums>::warps - 1;
    if (warp > 0) {
        if ((threadIdx.x & 31) == 0)
            prepare_counters<Rhs, sums>(plan, control, warp - 1, others);
        prepare_ring<Real, Rhs>(plan, x_ring, warp - 1, others);
    } else if (threadIdx.x == 0) {
        take_pencil(plan, control);
    }
}

/* Compute, by right-hand side; the first warp is the opener too where `opens`. */
template <int name, typename Real, typename Value, int Rhs, bool pivots, bool keeps>
__device__ __forceinline__ void compute(const sweep_block &block, int rhs, bool opens) {
    int32_t first = 0;
    uint32_t published = 0;
    if (opens)
        open_faces<Real>(block);
    if constexpr (name != SHAPE_OTHER)
        first = make_steps<name, Real, Value, Rhs, pivots, keeps>(block, rhs, &published);
    if constexpr (!pivots) /* reciprocals are never NaN */
        make_careful_steps<Real, Value, Rhs>(block, rhs, first, published);
}

template <int name, typename Real, int Rhs, int Rows>
__device__ __forceinline__ void receive(const sweep_block &block, int side) {
    if constexpr (name == SHAPE_OTHER) {
        receive_halo<Real, 0, Rhs, Rows>(block, side);
    } else {
        using S = shape_of<name>;
        if (side == 0)
            receive_halo<Real, S::face_y, Rhs, Rows>(block, 0);
        else if (side == 1)
            receive_halo<Real, S::face_z, Rhs, Rows>(block, 1);
        else if constexpr (S::face_c > 0)
            receive_halo<Real, S::face_c, Rhs, Rows>(block, 2);
    }
}

/* Brings the pencil's records. */
template <int name, typename Value, int Rhs>
__device__ __forceinline__ void load(const sweep_block &block, int turn) {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
    if (block.lane == 0)
        load_coefficients<Rhs>(block);
#else
    load_slices<name, Value, Rhs>(block, turn);
#endif
}

template <int name, typename Real, int members, int Rhs, bool sums>
__device__ __forceinline__ void store(const sweep_block &block, int mover) {
    if constexpr (sums) {
        store_sum<name, members>(block, mover);
    } else {
        if constexpr (stores_pairs(Rhs, 0)) {
            if (stores_pairs(Rhs, block.plan->unit)) {
                store_pairs<name, Real, Rhs>(block, mover);
                return;
            }
        }
        store_x<name, Real, members, Rhs>(block, mover);
    }
}

/* The roles of the warps that compute and move data. */
template <int name, typename Real, typename Value, int Rhs, bool pivots, bool sums, bool keeps>
__device__ __forceinline__ void sweep(const sweep_block &block, int warp) {
    using roles = sweep_roles<Rhs, sums>;
    constexpr int members = lines_of_a_lane(name, BULK_COPIES);
    const bool loads = warp >= roles::loader && warp < roles::stager;
    if (!loads)
        await_kernels_before();
    if (warp < Rhs) {
        compute<name, Real, Value, Rhs, pivots, keeps>(block, warp, warp == roles::opener);
    } else if (loads) {
        load<name, Value, Rhs>(block, warp - roles::loader);
    } else if (warp < roles::storer) {
        stage_b<name, Real, members, Rhs>(block, warp - roles::stager);
    } else {
        store<name, Real, members, Rhs, sums>(block, warp - roles::storer);
    }
}

/* The roles of the warps that wait for other blocks. */
template <int name, typename Real, int Rhs, bool pivots, bool sums>
__device__ __forceinline__ void hand_over(const sweep_block &block, int warp) {
    using roles = sweep_roles<Rhs, sums>;
    if (warp >= roles::receiver) {
        receive<name, Real, Rhs, polled_rows<Rhs, pivots>>(block, warp - roles::receiver);
        return;
    }
    await_kernels_before();
    open_faces<Real>(block);
}

/* `remote`: for factors of which other processes have a part. What only they need makes the others'
 * sweeps 2 us longer, so it is left out there. `pivots`: see sweep_compute.cuh. `sums`: the storer
 * also adds (sweep_plan). `brief`, `keeps`: see sweep_brief.cu. */
template <int name, typename Real, typename Value, int Rhs, bool remote, bool pivots,
          bool sums = false, bool brief = false, bool keeps = false>
__global__ void __launch_bounds__(sweep_roles<Rhs, sums>::threads,
                                  BULK_COPIES && (sizeof(Value) == 4 || pivots || brief) && Rhs == 1
                                      ? 2
                                      : 1) sweep_pencils(const __grid_constant__ sweep_plan plan) {
    extern __shared__ __align__(128) char memory[];
    __shared__ sweep_control control;
    /* The compiler sees that `warp` is uniform, so a role's branches are uniform too. */
    const int warp = __shfl_sync(~0u, (int)threadIdx.x >> 5, 0);
    begin_block<Real, Rhs, sums>(plan, &control, memory + plan.x_offset, warp);
    constexpr bool moves = brief && CAN_MOVE_REGISTERS;
    if (warp < sweep_roles<Rhs, sums>::behind) {
        if constexpr (moves)
            take_registers();
        sweep<name, Real, Value, Rhs, pivots, sums, keeps>(
            await_pencil<Real, Rhs>(plan, &control, memory, remote, keeps), warp);
    } else {
        if constexpr (moves)
            give_up_registers();
        hand_over<name, Real, Rhs, pivots, sums>(
            await_pencil<Real, Rhs>(plan, &control, memory, remote, keeps), warp);
    }
}

} // namespace

#endif
