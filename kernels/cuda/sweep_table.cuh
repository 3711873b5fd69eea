/* sweep_table.cuh: the table of a sweep's kernels for one pair of types. */
#ifndef GSW_CUDA_SWEEP_TABLE_CUH
#define GSW_CUDA_SWEEP_TABLE_CUH

#include "cuda/sweep_kernel.cuh"

#define SWEEP_KERNELS(type, Real, Value)                                                           \
    const sweep_kernels *sweep_kernels_##type(void) {                                              \
        static const sweep_kernels kernels = {{                                                    \
            (const void *)sweep_pencils<SHAPE_OTHER, Real, Value>,                                 \
            (const void *)sweep_pencils<SHAPE_D2N5, Real, Value>,                                  \
            (const void *)sweep_pencils<SHAPE_D2N9, Real, Value>,                                  \
            (const void *)sweep_pencils<SHAPE_D3N7, Real, Value>,                                  \
            (const void *)sweep_pencils<SHAPE_D3N13, Real, Value>,                                 \
            (const void *)sweep_pencils<SHAPE_D3N19, Real, Value>,                                 \
            (const void *)sweep_pencils<SHAPE_D3N27, Real, Value>,                                 \
            (const void *)sweep_pencils<SHAPE_D3N33, Real, Value>,                                 \
        }};                                                                                        \
        return &kernels;                                                                           \
    }

#endif
