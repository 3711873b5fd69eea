/* vector.cuh: the scratch that sums over vectors need. */
#ifndef GSW_CUDA_VECTOR_CUH
#define GSW_CUDA_VECTOR_CUH

/* Values in gsw_cuda.partial: most blocks of a sum. A constant, so that the order of the additions,
 * and with it the result's bits, are the same on every device. */
enum { GSW_CUDA_PARTIALS = 1024 };

#endif
