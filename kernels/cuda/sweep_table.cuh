/* sweep_table.cuh: the table of a sweep's kernels for one pair of types. */
#ifndef GSW_CUDA_SWEEP_TABLE_CUH
#define GSW_CUDA_SWEEP_TABLE_CUH

#include "cuda/sweep_kernel.cuh"

#define SWEEP_KERNEL(shape, Real, Value, rhs)                                                      \
    (const void *)sweep_pencils<SHAPE_##shape, Real, Value, rhs>

#define SWEEP_KERNELS(type, Real, Value)                                                           \
    const sweep_kernels *sweep_kernels_##type(void) {                                              \
        static const sweep_kernels kernels = {                                                     \
            {SWEEP_KERNEL(OTHER, Real, Value, 1), SWEEP_KERNEL(D2N5, Real, Value, 1),              \
             SWEEP_KERNEL(D2N9, Real, Value, 1), SWEEP_KERNEL(D3N7, Real, Value, 1),               \
             SWEEP_KERNEL(D3N13, Real, Value, 1), SWEEP_KERNEL(D3N19, Real, Value, 1),             \
             SWEEP_KERNEL(D3N27, Real, Value, 1), SWEEP_KERNEL(D3N33, Real, Value, 1)},            \
            {NULL, NULL, NULL, SWEEP_KERNEL(D3N7, Real, Value, SWEEP_RHS),                         \
             SWEEP_KERNEL(D3N13, Real, Value, SWEEP_RHS),                                          \
             SWEEP_KERNEL(D3N19, Real, Value, SWEEP_RHS),                                          \
             SWEEP_KERNEL(D3N27, Real, Value, SWEEP_RHS),                                          \
             SWEEP_KERNEL(D3N33, Real, Value, SWEEP_RHS)}};                                        \
        return &kernels;                                                                           \
    }

#endif
