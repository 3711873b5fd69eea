/* HEAD */
#ifndef GSW_CUDA_ELIMINATE_NAMED_CUH
#define GSW_CUDA_ELIMINATE_NAMED_CUH

#include "cuda/eliminate_compute.cuh"
#include "cuda/eliminate_kernel.cuh"
#include "cuda/eliminate_movers.cuh"

namespace {

/* threadIdx.x: compute, loader, storers, fetchers: a warp each. */
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
    /* What is read where there is no neighbour is a number. */
    for (int32_t i = thread; i < plan.stages * layout::steps * layout::upper_values;
         i += ELIMINATE_THREADS)
        ring.halo[i] = 0;
    __syncthreads();
    const int role = __shfl_sync(~0u, thread >> 5, 0);
    constexpr int storer = 2, fetcher = storer + ELIMINATE_STORERS;
    if (role == 0)
        named_compute<Real, Name, Dilu, Members>::compute(plan, &control, ring);
    else if (role == 1 && (thread & 31) == 0)
        movers::load(plan, &control, ring);
    else if (role >= storer && role < fetcher && (thread & 31) == 0)
        movers::store(plan, &control, ring, role - storer);
    else if (role >= fetcher)
        movers::fetch(plan, &control, ring, role - fetcher);
#endif
}

/* ---- Choice -----------------------------------------------------------------------------------
 */

template <class Real, int Name> eliminate_kernel named_kernel(int dilu) {
    constexpr int members = lines_of_a_lane(Name);
    using ilu = named_layout<Real, Name, false, members>;
    using diagonal = named_layout<Real, Name, true, members>;
    return dilu
               ? eliminate_kernel{(const void *)eliminate_named_pencils<Real, Name, true, members>,
                                  diagonal::row_bytes}
               : eliminate_kernel{(const void *)eliminate_named_pencils<Real, Name, false, members>,
                                  ilu::row_bytes};
}

template <class Real> eliminate_kernel kernel_for(gsw_shape_name shape, int dilu) {
    switch (shape) {
#define ELIMINATE_CASE(name, halo)                                                                 \
    case SHAPE_##name:                                                                             \
        return named_kernel<Real, SHAPE_##name>(dilu);
        NAMED_SHAPES(ELIMINATE_CASE)
#undef ELIMINATE_CASE
    case SHAPE_OTHER:
        break;
    }
    return {(const void *)eliminate_pencils<Real>, 0};
}

} // namespace

#endif
