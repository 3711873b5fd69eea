/* host_device.h: functions in headers that are compiled for the host and, by a CUDA compiler, for
 * the device as well. */
#ifndef GSW_HOST_DEVICE_H
#define GSW_HOST_DEVICE_H

#ifdef __CUDACC__
#define GSW_HD static inline __host__ __device__
#else
#define GSW_HD static inline
#endif

/* Before a loop: a CUDA compiler unrolls it, where loads should be under way side by side. */
#define GSW_PRAGMA(text) _Pragma(#text)
#ifdef __CUDA_ARCH__
#define GSW_UNROLL(times) GSW_PRAGMA(unroll times)
#else
#define GSW_UNROLL(times)
#endif

#endif
