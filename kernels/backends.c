/* backends.c: see backends.h. A new backend adds its row here. */
#include "backends.h"
#include "cpu/backend.h"
#ifdef GSW_HAVE_CUDA
#include "cuda/backend.h"
#include "cuda/device/device.h"
#endif

const gsw_backend_row gsw_backends[] = {
#ifdef GSW_HAVE_CUDA
    {GSW_BACKEND_CUDA, "cuda", "CUDA", gsw_backend_cuda, gsw_cuda_device_count,
     gsw_cuda_device_name},
#else
    {GSW_BACKEND_CUDA, "cuda", "CUDA", NULL, NULL, NULL},
#endif
    {GSW_BACKEND_CPU, "cpu", "CPU", gsw_backend_cpu, NULL, NULL},
};

const int gsw_backend_count = (int)(sizeof gsw_backends / sizeof gsw_backends[0]);
