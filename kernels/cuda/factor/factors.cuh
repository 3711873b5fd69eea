/* factors.cuh: packed factors on the device: filled, checked and applied. */
#ifndef GSW_CUDA_FACTORS_CUH
#define GSW_CUDA_FACTORS_CUH

#include "cuda/sweep/packed.cuh"
#include "cuda/device/context.cuh"

/* ---- packed factors, as the table has them. */

gsw_status gsw_cuda_factor_open(gsw_context *context, gsw_factor *factor);
gsw_status gsw_cuda_factor_fill(gsw_context *context, gsw_factor *factor, const gsw_matrix *matrix,
                                const gsw_matrix *upper);
gsw_status gsw_cuda_factor_await(gsw_context *context, gsw_factor *factor);
gsw_status gsw_cuda_factor_sweep(gsw_context *context, gsw_factor *factor, int which, int64_t count,
                                 const void *b, int64_t ldb, void *x, int64_t ldx);
void gsw_cuda_factor_close(gsw_context *context, gsw_factor *factor);

/* ---- what a factorisation has found. */

/* Resets packed->pivots, asynchronously; and reads it. Reading waits for the stream. Sweeps need
 * that, because they read coefficients before the kernels queued before them have ended. */
gsw_status gsw_cuda_forget_pivots(gsw_context *context, const gsw_factor *factor);
gsw_status gsw_cuda_await_pivots(gsw_context *context, const gsw_factor *factor,
                                 gsw_cuda_pivots *found);

/* ---- checks of arguments in device memory, for the table of operations. */

gsw_status gsw_cuda_validate(gsw_context *context, const gsw_matrix *matrix);
gsw_status gsw_cuda_check_place(gsw_context *context, const char *name, const void *pointer);

/* ---- JACOBI on the device. */

/* Fills packed->reciprocal from the matrix's diagonal. Reports into packed->pivots, which has been
 * reset. Asynchronous. */
gsw_status gsw_cuda_jacobi_fill(gsw_context *context, gsw_factor *factor, const gsw_matrix *matrix);

/* x = b / diagonal for `count` right-hand sides in device memory, ldb and ldx values apart; x may
 * be b. Asynchronous. */
gsw_status gsw_cuda_jacobi_apply(gsw_context *context, gsw_factor *factor, int64_t count,
                                 const void *b, int64_t ldb, void *x, int64_t ldx);

/* ---- Eisenstat's form (struct gsw_split), as the table has it. */

gsw_status gsw_cuda_split_fill(gsw_context *context, const gsw_factor *factor,
                               const gsw_matrix *matrix, const gsw_split *split, int *fits);
gsw_status gsw_cuda_split_apply(gsw_context *context, const gsw_split *split, const double *v,
                                double *t, double *y);

/* ---- factors whose rows of tiles are dealt out to processes, as the table has them
 * (contract/slab_ops.h). */

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
