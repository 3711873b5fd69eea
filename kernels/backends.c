/* backends.c: see backends.h. A new backend adds its row here. */
#include "backends.h"
#include "cpu/backend.h"
#ifdef GSW_HAVE_CUDA
#include "cuda/backend.h"
#include "cuda/device/device.h"
#endif
#include "reference/backend.h"

const gsw_backend_row gsw_backends[] = {
    {GSW_BACKEND_REFERENCE, "reference", "reference", 1, gsw_backend_reference, NULL, NULL},
#ifdef GSW_HAVE_CUDA
    {GSW_BACKEND_CUDA, "cuda", "CUDA", 0, gsw_backend_cuda, gsw_cuda_device_count,
     gsw_cuda_device_name},
#else
    {GSW_BACKEND_CUDA, "cuda", "CUDA", 0, NULL, NULL, NULL},
#endif
    {GSW_BACKEND_CPU, "cpu", "CPU", 0, gsw_backend_cpu, NULL, NULL},
};

const int gsw_backend_count = (int)(sizeof gsw_backends / sizeof gsw_backends[0]);
