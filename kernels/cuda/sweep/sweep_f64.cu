/* sweep_f64.cu: the sweep's kernels for fp64 factors and vectors. */
#include "sweep_table.cuh"

SWEEP_KERNELS(f64, double, double)
