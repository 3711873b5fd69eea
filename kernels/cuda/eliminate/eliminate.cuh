/* eliminate.cuh: the elimination of packed factors. */
#ifndef GSW_CUDA_ELIMINATE_CUH
#define GSW_CUDA_ELIMINATE_CUH

#include "cuda/sweep/packed.cuh"

/* ILU0, IC0, DILU: turns the packed matrix of gsw_cuda_pack() into the factor, in place. Reports
 * into packed->pivots. Asynchronous. */
gsw_status gsw_cuda_eliminate(gsw_context *context, gsw_factor *factor);

/* Creates packed->eliminate_work for the kinds that eliminate, from the finished tables of pencils;
 * adds to factor->info.work_bytes. Waits for the device. */
gsw_status gsw_cuda_eliminate_open(gsw_context *context, gsw_factor *factor);
void gsw_cuda_eliminate_close(struct gsw_packed *packed);

#endif
