/* device.cu: which CUDA devices this machine has. */
#include <cstdio>

#include <cuda_runtime.h>

#include "device.h"

/* A failed call leaves its code as the runtime's last error, where the next launch check would find
 * it. Reading that error clears it. */
static bool succeeded(cudaError_t error) {
    if (error != cudaSuccess)
        (void)cudaGetLastError();
    return error == cudaSuccess;
}

int gsw_cuda_device_count(void) {
    int count = 0;
    return succeeded(cudaGetDeviceCount(&count)) ? count : 0;
}

int gsw_cuda_device_name(int device, char *name, size_t size) {
    cudaDeviceProp properties;
    name[0] = '\0';
    if (!succeeded(cudaGetDeviceProperties(&properties, device)))
        return 0;
    std::snprintf(name, size, "%s", properties.name);
    return 1;
}
