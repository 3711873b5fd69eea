/* validate.cuh: checks of arguments in device memory, for the table of operations. */
#ifndef GSW_CUDA_VALIDATE_CUH
#define GSW_CUDA_VALIDATE_CUH

#include "cuda/device/context.cuh"

gsw_status gsw_cuda_validate(gsw_context *context, const gsw_matrix *matrix);
gsw_status gsw_cuda_check_place(gsw_context *context, const char *name, const void *pointer);

#endif
