/* sweep_f32.cu: the sweep's kernels for fp32 factors and vectors. */
#include "sweep_table.cuh"

SWEEP_KERNELS(f32, float, float)
