/* sweep.cuh: sweeps with packed factors. */
#ifndef GSW_CUDA_SWEEP_CUH
#define GSW_CUDA_SWEEP_CUH

#include "packed.cuh"

/* Allocates and resets what sweeps with one right-hand side need; adds to factor->info.work_bytes.
 */
gsw_status gsw_cuda_sweep_open(gsw_context *context, gsw_factor *factor);
void gsw_cuda_sweep_close(gsw_context *context, struct gsw_packed *packed);

/* Values of a pencil's faces, for one right-hand side. */
int64_t gsw_cuda_slot_values(const gsw_factor *factor);

/* Whether pencils of the factor's tiles fit the device. Their tables need not exist yet. */
bool gsw_cuda_sweep_fits(gsw_context *context, const gsw_factor *factor);

/* The tile that the sweep's kernels on the context's device want for a shape. */
gsw_tile_shape gsw_cuda_tile_shape(gsw_context *context, gsw_shape_name name,
                                   const gsw_tiles *tiles);

/* One sweep with part `part`, asynchronous; b and x are device vectors in natural order. The first
 * sweep with several right-hand sides allocates. */
gsw_status gsw_cuda_sweep(gsw_context *context, gsw_factor *factor, int part, int64_t count,
                          const void *b, int64_t ldb, void *x, int64_t ldx);

/* The vectors of a sweep that also adds: x solves with right-hand side b, and z = add + factor x.
 * All are device vectors of all points in natural order. `factor` NULL: 1; x NULL: it is not
 * stored. z may be b or add, and nothing else overlaps what is written. */
typedef struct gsw_sweep_sum {
    const double *b, *add, *factor;
    double *x, *z;
} gsw_sweep_sum;

/* Such a sweep with part `part`, for an fp64 factor of one process, asynchronous; and what must be
 * called once before the first one. *fits: the device has the shared memory for it. */
gsw_status gsw_cuda_sweep_sum_open(gsw_context *context, const gsw_factor *factor, int *fits);
gsw_status gsw_cuda_sweep_sum(gsw_context *context, const gsw_factor *factor, int part,
                              const gsw_sweep_sum *sum);

/* A sweep upwards that computes reciprocal pivots, asynchronous:
 * reciprocal = 1 / (diagonal - sum of c * reciprocal of the point before), where
 * gsw_cuda_pack_products() has written the coefficients c. Both vectors are in natural order. Where
 * a pivot or its reciprocal is not finite or near the ends of the range, or not positive in an IC0,
 * it stores 0 and sets packed->pivots->unfit. For named shapes in fp64 that sweep_pivot_kernel()
 * knows. */
gsw_status gsw_cuda_sweep_pivots(gsw_context *context, const gsw_factor *factor,
                                 const double *diagonal, double *reciprocal);

#endif
