/* line.cuh: the direct sweep, for the table of operations, and the release of its workspace. */
#ifndef GSW_CUDA_LINE_CUH
#define GSW_CUDA_LINE_CUH

#include "cuda/device/context.cuh"

gsw_status gsw_cuda_line(gsw_context *context, const gsw_matrix *matrix,
                         const gsw_sptrsv_options *options, const void *b, void *x);
void gsw_cuda_line_release(gsw_cuda *cuda);

#endif
