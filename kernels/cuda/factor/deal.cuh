/* deal.cuh: factors whose rows of tiles are dealt out to processes, as the table has them
 * (contract/slab_ops.h). */
#ifndef GSW_CUDA_DEAL_CUH
#define GSW_CUDA_DEAL_CUH

#include "cuda/sweep/packed.cuh"

int gsw_cuda_deals(const gsw_factor *slab);
size_t gsw_cuda_deal_bytes(const gsw_factor *dealt, int process);
uint64_t gsw_cuda_deal_order(const gsw_factor *dealt);
int64_t gsw_cuda_deal_sent(const gsw_factor *dealt);
void gsw_cuda_deal_connect(gsw_factor *dealt, double limit);
gsw_status gsw_cuda_deal_fill(gsw_context *context, const gsw_factor *slab, gsw_factor *dealt);
gsw_status gsw_cuda_deal_give(gsw_context *context, const gsw_factor *dealt, const double *b);
gsw_status gsw_cuda_deal_sweep(gsw_context *context, gsw_factor *dealt, int which, const double *b,
                               double *x);
gsw_status gsw_cuda_deal_take(gsw_context *context, const gsw_factor *dealt, double *x);

#endif
