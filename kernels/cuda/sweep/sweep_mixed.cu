/* sweep_mixed.cu: the sweep's kernels for fp32 factors and fp64 vectors. */
#include "sweep_table.cuh"

SWEEP_KERNELS(mixed, double, float)
