/* backend.h: CUDA's table of operations. Its open() fails with NO_BACKEND where no device answers.
 */
#ifndef GSW_CUDA_BACKEND_H
#define GSW_CUDA_BACKEND_H

#ifdef __cplusplus
extern "C" {
#endif

#include "contract/backend.h"

const gsw_backend_ops *gsw_backend_cuda(void);

#ifdef __cplusplus
}
#endif

#endif
