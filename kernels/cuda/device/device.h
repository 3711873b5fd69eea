/* device.h: which CUDA devices this machine has. Safe to call where no driver is installed. */
#ifndef GSW_CUDA_DEVICE_H
#define GSW_CUDA_DEVICE_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Number of devices; 0 where there is no driver, no device, or one too old for this build. */
int gsw_cuda_device_count(void);

/* Writes the name of a device, cut to size - 1 characters, into name[size], and returns 1. Where
 * there is no such device, name is "" and the result 0. size must be at least 1. */
int gsw_cuda_device_name(int device, char *name, size_t size);

#ifdef __cplusplus
}
#endif

#endif
