/* wraps.cuh: periodic grids, for the table of operations. */
#ifndef GSW_CUDA_WRAPS_CUH
#define GSW_CUDA_WRAPS_CUH

#include "geometry/seam_level.h"
#include "cuda/device/context.cuh"

gsw_status gsw_cuda_wraps_open(gsw_context *context, const gsw_wraps *wraps);
gsw_status gsw_cuda_wraps_take(gsw_context *context, const gsw_matrix *matrix,
                               const gsw_wraps *wraps);
gsw_status gsw_cuda_wraps_move(gsw_context *context, const gsw_wraps *wraps, double *const *arrays,
                               int back);
gsw_status gsw_cuda_turn(gsw_context *context, const gsw_grid *grid, const int64_t by[3],
                         gsw_dtype type, const void *from, void *to);
gsw_status gsw_cuda_wraps_cut(gsw_context *context, const gsw_wraps *wraps, const uint8_t *active);
gsw_status gsw_cuda_wraps_multiply(gsw_context *context, const gsw_wraps *wraps, gsw_dtype type,
                                   double sign, const void *x, void *y, double *saved);
gsw_status gsw_cuda_wraps_restore(gsw_context *context, const gsw_wraps *wraps, gsw_dtype type,
                                  const double *saved, void *y);
gsw_status gsw_cuda_seam_weigh(gsw_context *context, const gsw_seam *seam,
                               const gsw_seam_level *level, int which, gsw_rows rows);
gsw_status gsw_cuda_seam_triple(gsw_context *context, const gsw_seam *seam,
                                const gsw_seam_level *level);
gsw_status gsw_cuda_seam_prepare(gsw_context *context, const gsw_seam_level *level);
gsw_status gsw_cuda_seam_restrict(gsw_context *context, const gsw_wraps *wraps,
                                  const gsw_seam_level *level, const void *b, const void *x,
                                  double *residual, void *to);
gsw_status gsw_cuda_seam_prolong(gsw_context *context, const gsw_seam_level *level,
                                 const void *from, void *to);

#endif
