/* vector.cuh: the scratch that sums over vectors need. */
#ifndef GSW_CUDA_VECTOR_CUH
#define GSW_CUDA_VECTOR_CUH

/* Most blocks of a sum: a constant, so that the order of the additions, and with it the result's
 * bits, are the same on every device; and most sums that one kernel takes. gsw_cuda.partial holds a
 * value for each of both. */
enum { GSW_CUDA_PARTIALS = 1024, GSW_CUDA_SUMS = 8 };

#endif
