/* host_device.h: functions in headers that are compiled for the host and, by a CUDA compiler, for
 * the device as well. */
#ifndef GSW_HOST_DEVICE_H
#define GSW_HOST_DEVICE_H

#ifdef __CUDACC__
#define GSW_HD static inline __host__ __device__
#else
#define GSW_HD static inline
#endif

#endif
