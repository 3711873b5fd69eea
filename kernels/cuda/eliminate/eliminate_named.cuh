/* eliminate_named.cuh: elimination for named shapes: a pencil's records pass through shared memory.
 * Here are the proof, the kernel and the choice of kernels. The roles are in eliminate_movers.cuh
 * and eliminate_compute.cuh; eliminate_layout.cuh describes the layout of the values.
 *
 * UNIT OF WORK. A pencil (tiles.h). A block takes the next one by a ticket.
 * Bulk copies bring the records of both parts, some steps ahead. One warp computes the steps in
 * place, and bulk copies take the records back. The upper part's record of step s is record
 * (nx - 1 + delay - s) mod records. It holds the same points as the lower part's record, mirrored
 * within the record. Warps have roles:
 *
 *   compute    eliminates the rows; a lane takes one point of each of its lines per step
 *   loader     bulk copies from device memory (one thread)
 *   storers    bulk copies to device memory; they publish the pencil's steps (a thread each)
 *   receivers  bring what this pencil reads of the ones before it
 *
 * Storers take chunks (some steps) in turns, and so do receivers.
 *
 * THE RING. A row of the ring is a step: the record of the lower part, that of the upper part, and
 * the halo. The halo is a record of its own. It holds lanes of the upper part's records of the
 * pencils before. They are in the row of the step that would compute them if their lines belonged
 * to this pencil. So a neighbour that was computed `back` steps ago is in row step - back, in the
 * upper record or in the halo. The lane alone determines which one. The ring keeps the rows that
 * are still read.
 *
 * WHY THE NEIGHBOUR IS THERE. The pencil's own warp computed it in an earlier step (back >= 1).
 * The pencil before in y' (z) computes a point tile_y * skew_y (tile_z * skew_z) steps
 * later; so a receiver copies a row once that pencil has published so many steps more.
 * steps[] are counters (handover.cuh): a storer publishes after its copies have ended, and a
 * receiver polls relaxed, then acquires by a fence. A record is written twice, because the lines
 * that a pencil ends later share it with the lines that it began earlier. It is loaded again only
 * after the first copy has ended. A line's values are the same bytes in both copies.
 *
 * PROGRESS. Between blocks: as in handover.cuh, since tickets are in the order of dependences.
 * Inside a block, receivers and loader wait for free rows. The storers free rows in order, after
 * compute has completed the `held` chunks that read them. The loader also waits until an earlier
 * chunk with the same records has been written; its storers wait only for compute and each other.
 * When the elimination is abandoned, receivers stop waiting, so all blocks run to their end.
 *
 * NOT A NUMBER. A zero coefficient must not be multiplied by NaN or infinity. A coupling that
 * leaves the grid has coefficient zero, and its read may go to any place. Compute does not check
 * for this at first; a step that yields a NaN is computed again by the definition. */
#ifndef GSW_CUDA_ELIMINATE_NAMED_CUH
#define GSW_CUDA_ELIMINATE_NAMED_CUH

#include "eliminate_compute.cuh"
#include "eliminate_kernel.cuh"
#include "eliminate_movers.cuh"

namespace {

/* threadIdx.x: compute, loader, storers, receivers: a warp each. */
template <class Real, int Name, bool Dilu, int Members>
__global__ void __launch_bounds__(ELIMINATE_THREADS, Members)
    eliminate_named_pencils(const __grid_constant__ eliminate_plan plan) {
#if __CUDA_ARCH__ >= 900
    using layout = named_layout<Real, Name, Dilu, Members>;
    using movers = named_movers<Real, Name, Dilu, Members>;
    extern __shared__ __align__(128) char named_memory[];
    __shared__ named_control control;
    const typename layout::rings ring = layout::rings_of(plan, named_memory);
    const int32_t thread = (int32_t)threadIdx.x;
    if (thread < ELIMINATE_STAGES)
        barrier_init(shared_address(control.full + thread), 1 + 32);
    if (thread == ELIMINATE_STAGES) {
        control.completed = control.stored = control.written = 0;
        control.ticket = take_ticket(&plan.state->next);
    }
    fence_bulk();
    /* Where there is no neighbour, compute must still read a number. */
    for (int32_t i = thread; i < plan.stages * layout::steps * layout::upper_values;
         i += ELIMINATE_THREADS)
        ring.halo[i] = 0;
    __syncthreads();
    const int role = __shfl_sync(~0u, thread >> 5, 0);
    constexpr int storer = 2, receiver = storer + ELIMINATE_STORERS;
    if (role == 0)
        named_compute<Real, Name, Dilu, Members>::compute(plan, &control, ring);
    else if (role == 1 && (thread & 31) == 0)
        movers::load(plan, &control, ring);
    else if (role >= storer && role < receiver && (thread & 31) == 0)
        movers::store(plan, &control, ring, role - storer);
    else if (role >= receiver)
        movers::receive(plan, &control, ring, role - receiver);
#endif
}

/* ---- Choice -----------------------------------------------------------------------------------
 */

template <class Real, int Name> eliminate_kernel named_kernel(int dilu) {
    if constexpr (is_coarse(Name)) {
        return {(const void *)eliminate_pencils<Real>, 0};
    } else {
        constexpr int members = lines_of_a_lane(Name, true);
        using ilu = named_layout<Real, Name, false, members>;
        using diagonal = named_layout<Real, Name, true, members>;
        return dilu ? eliminate_kernel{(const void *)
                                           eliminate_named_pencils<Real, Name, true, members>,
                                       diagonal::row_bytes}
                    : eliminate_kernel{
                          (const void *)eliminate_named_pencils<Real, Name, false, members>,
                          ilu::row_bytes};
    }
}

template <class Real> eliminate_kernel kernel_for(gsw_shape_name shape, int dilu) {
    switch (shape) {
#define ELIMINATE_CASE(name, lower)                                                                \
    case SHAPE_##name:                                                                             \
        return named_kernel<Real, SHAPE_##name>(dilu);
        GSW_NAMED_STENCILS(ELIMINATE_CASE, GSW_NO_OFFSET)
#undef ELIMINATE_CASE
    case SHAPE_OTHER:
    case SHAPE_COUNT:
        break;
    }
    return {(const void *)eliminate_pencils<Real>, 0};
}

} // namespace

#endif
