/* launch.cuh: kernels that begin before the previous kernel in the stream has ended.
 *
 * A kernel that is launched from here may start once every block of the kernel before it has called
 * let_next_kernel_start() or has ended. Its work before await_kernels_before() overlaps with that
 * kernel. So that work may only touch memory that nothing queued before it writes: its own shared
 * memory, a factor's coefficients, and counters that the previous kernel no longer changes
 * (sweep_kernel.cuh). Every such kernel calls await_kernels_before() in each block; otherwise the
 * next kernel would not wait for the kernels before it. The same rule holds for the caller's own
 * kernels that are launched in this way on a context's stream. Ordinary launches, copies and events
 * keep their order. Only code for compute capability 9.0 and newer contains these calls. Code for
 * older devices does not overlap on any device (gsw_cuda.overlaps). */
#ifndef GSW_CUDA_LAUNCH_CUH
#define GSW_CUDA_LAUNCH_CUH

#include "context.cuh"

namespace {

/* Waits until everything queued before this kernel has ended and its writes are visible. */
__device__ __forceinline__ void await_kernels_before(void) {
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

__device__ __forceinline__ void let_next_kernel_start(void) {
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

/* Both calls in one: for kernels without any work before. */
__device__ __forceinline__ void take_turn(void) {
    let_next_kernel_start();
    await_kernels_before();
}

/* `arguments`: addresses of the kernel's arguments. */
inline cudaError_t launch_kernel_of(const gsw_cuda *cuda, const void *kernel, unsigned blocks,
                                    unsigned threads, size_t shared, void **arguments) {
    if (!cuda->overlaps) /* older drivers have no other way */
        return cudaLaunchKernel(kernel, dim3(blocks), dim3(threads), arguments, shared,
                                cuda->stream);
    cudaLaunchAttribute early = {};
    early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    early.val.programmaticStreamSerializationAllowed = 1;
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3(blocks);
    config.blockDim = dim3(threads);
    config.dynamicSmemBytes = shared;
    config.stream = cuda->stream;
    config.attrs = &early;
    config.numAttrs = 1;
    return cudaLaunchKernelExC(&config, kernel, arguments);
}

/* The same for a kernel whose type is known. */
template <typename Type> struct given_type { using type = Type; };
template <typename... Parameters>
cudaError_t launch_kernel(const gsw_cuda *cuda, void (*kernel)(Parameters...), unsigned blocks,
                          unsigned threads, size_t shared,
                          typename given_type<Parameters>::type... parameters) {
    void *arguments[] = {&parameters...};
    return launch_kernel_of(cuda, (const void *)kernel, blocks, threads, shared, arguments);
}

} // namespace

#endif
