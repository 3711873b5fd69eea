/* backend.cu: CUDA's table of operations: opens a device, keeps its memory, and hands work to the
 * kernels. */
#include <stdio.h>
#include <stdlib.h>

#include <cuda.h>

#include "cuda/backend.h"
#include "cuda/device/context.cuh"
#include "cuda/factor/factors.cuh"
#include "cuda/factor/diagonal.cuh"
#include "cuda/line/line.cuh"
#include "cuda/multigrid/multigrid.cuh"
#include "cuda/factor/pack.cuh"
#include "cuda/sweep/slab.cuh"
#include "cuda/relax/relax.cuh"
#include "cuda/vector/mask.cuh"
#include "cuda/vector/wraps.cuh"
#include "cuda/vector/spmv.cuh"
#include "cuda/device/sums.cuh"
#include "cuda/vector/vector.cuh"

namespace {

constexpr int OLDEST_CAPABILITY = 70; /* threads of a warp that make progress on their own */
constexpr int64_t WAIT_LIMIT_NS = INT64_C(10000000000);

/* For launches that overlap (launch.cuh): the capability that has the instructions, and the driver
 * whose graphs have edges for them. */
constexpr int FIRST_OVERLAPPING = 90;
constexpr int FIRST_OVERLAPPING_DRIVER = 12030;

/* The host queues an iteration in less time than the device needs to compute one. So one queued
 * iteration keeps the device busy. Each further one would be wasted at the end of a solve. */
constexpr int KRYLOV_AHEAD = 1;

/* A context reads this kernel's attributes when it opens: they show whether this build holds code
 * for the device. */
__global__ void probe() {
}

/* ---- The device of the calling thread ---------------------------------------------------------
 */

/* Whether a device has its context already. Only the driver can answer this. It is called through
 * the runtime, because a program must start where no driver is installed. */
bool has_context(int device) {
    using get_state = CUresult (*)(CUdevice, unsigned *, int *);
    const char *name = "cuDevicePrimaryCtxGetState";
    void *function = NULL;
    unsigned flags;
    int active = 0;
#if CUDART_VERSION >= 12050
    cudaDriverEntryPointQueryResult found;
    cudaError_t error =
        cudaGetDriverEntryPointByVersion(name, &function, 11000, cudaEnableDefault, &found);
#else
    cudaError_t error = cudaGetDriverEntryPoint(name, &function, cudaEnableDefault);
#endif
    if (error != cudaSuccess || !function) {
        (void)cudaGetLastError();
        return false;
    }
    return reinterpret_cast<get_state>(function)(device, &flags, &active) == CUDA_SUCCESS && active;
}

/* Restores the calling thread's current device when the scope ends, so that nothing changes for a
 * program with several devices. A device without a context is not restored: it is current only by
 * default, and setting it again would take memory on it. */
class device_scope {
  public:
    device_scope() {
        if (cudaGetDevice(&device) != cudaSuccess) {
            (void)cudaGetLastError();
            device = -1;
        }
    }
    ~device_scope() {
        int now;
        if (device >= 0 && cudaGetDevice(&now) == cudaSuccess && now != device &&
            has_context(device))
            (void)cudaSetDevice(device);
    }
    device_scope(const device_scope &) = delete;
    device_scope &operator=(const device_scope &) = delete;

  private:
    int device;
};

/* An operation as the table holds it: it enters the device, runs, and leaves. */
template <auto operation> struct entry;
template <typename... Arguments, gsw_status (*operation)(gsw_context *, Arguments...)>
struct entry<operation> {
    static gsw_status call(gsw_context *context, Arguments... arguments) {
        device_scope scope;
        GSW_TRY(gsw_cuda_enter(context));
        return operation(context, arguments...);
    }
};

/* ---- Opening and closing -----------------------------------------------------------------------
 */

gsw_status refuse_device(gsw_context *context, int device, cudaError_t error) {
    (void)cudaGetLastError();
    return gsw_fail(context, GSW_ERROR_NO_BACKEND, "CUDA device %d cannot be used: %s", device,
                    cudaGetErrorString(error));
}

gsw_status find_device(gsw_context *context, int device) {
    int count = 0;
    cudaError_t error = cudaGetDeviceCount(&count);
    if (error != cudaSuccess) {
        (void)cudaGetLastError();
        return gsw_fail(context, GSW_ERROR_NO_BACKEND, "no CUDA device answers: %s",
                        cudaGetErrorString(error));
    }
    if (count == 0)
        return gsw_fail(context, GSW_ERROR_NO_BACKEND, "this machine has no CUDA device");
    if (device < 0 || device >= count)
        return gsw_fail(context, GSW_ERROR_NO_BACKEND,
                        "there is no CUDA device %d; the devices are numbered from 0 to %d", device,
                        count - 1);
    error = cudaSetDevice(device);
    return error == cudaSuccess ? GSW_SUCCESS : refuse_device(context, device, error);
}

/* Builds for tests have no more shared memory than the oldest devices (toolkit.cmake). */
void limit_shared_memory(gsw_cuda *cuda) {
#ifdef GSW_CUDA_SHARED_KIB
    if (cuda->shared_per_block > GSW_CUDA_SHARED_KIB * 1024)
        cuda->shared_per_block = GSW_CUDA_SHARED_KIB * 1024;
#else
    (void)cuda;
#endif
}

/* Fills the properties of the current device. */
gsw_status describe_device(gsw_context *context, gsw_cuda *cuda) {
    const struct {
        cudaDeviceAttr attribute;
        int *value;
    } wanted[] = {
        {cudaDevAttrMultiProcessorCount, &cuda->multiprocessors},
        {cudaDevAttrMaxSharedMemoryPerBlockOptin, &cuda->shared_per_block},
        {cudaDevAttrMaxSharedMemoryPerMultiprocessor, &cuda->shared_per_multiprocessor},
    };
    cudaDeviceProp properties;
    cudaError_t error = cudaGetDeviceProperties(&properties, cuda->device);
    for (const auto &attribute : wanted)
        if (error == cudaSuccess)
            error = cudaDeviceGetAttribute(attribute.value, attribute.attribute, cuda->device);
    if (error != cudaSuccess)
        return refuse_device(context, cuda->device, error);
    limit_shared_memory(cuda);
    cuda->capability = 10 * properties.major + properties.minor;
    snprintf(context->device, sizeof context->device, "%.120s (sm_%d)", properties.name,
             cuda->capability);
    return GSW_SUCCESS;
}

/* Refuses devices that are too old for the kernels or that no kernel was compiled for. Finds the
 * capability of the compiled code. */
gsw_status check_capability(gsw_context *context, gsw_cuda *cuda) {
    if (cuda->capability < OLDEST_CAPABILITY)
        return gsw_fail(context, GSW_ERROR_NO_BACKEND,
                        "CUDA device %d, %s, is too old: compute capability %d.%d or newer is "
                        "needed",
                        cuda->device, context->device, OLDEST_CAPABILITY / 10,
                        OLDEST_CAPABILITY % 10);
    cudaFuncAttributes attributes;
    cudaError_t error = cudaFuncGetAttributes(&attributes, probe);
    if (error == cudaErrorNoKernelImageForDevice || error == cudaErrorInvalidDeviceFunction ||
        error == cudaErrorUnsupportedPtxVersion) {
        (void)cudaGetLastError();
        return gsw_fail(context, GSW_ERROR_NO_BACKEND,
                        "this build has no code for CUDA device %d, %s (%s); build it with "
                        "-DCMAKE_CUDA_ARCHITECTURES=%d",
                        cuda->device, context->device, cudaGetErrorString(error), cuda->capability);
    }
    int driver = 0;
    if (error == cudaSuccess)
        error = cudaDriverGetVersion(&driver);
    if (error != cudaSuccess)
        return refuse_device(context, cuda->device, error);
    /* The driver may compile code for an older architecture, which then lacks newer features. */
    if (attributes.ptxVersion < cuda->capability)
        cuda->capability = attributes.ptxVersion;
    cuda->overlaps = cuda->capability >= FIRST_OVERLAPPING && driver >= FIRST_OVERLAPPING_DRIVER;
    return GSW_SUCCESS;
}

gsw_status allocate_scratch(gsw_context *context, gsw_cuda *cuda) {
    GSW_TRY(gsw_cuda_check(context,
                           cudaHostAlloc(reinterpret_cast<void **>(&cuda->report),
                                         sizeof *cuda->report, cudaHostAllocMapped),
                           "allocating the report of kernels"));
    *cuda->report = {};
    GSW_TRY(gsw_cuda_check(context,
                           cudaHostAlloc(reinterpret_cast<void **>(&cuda->sum),
                                         GSW_CUDA_SUMS * sizeof *cuda->sum, cudaHostAllocMapped),
                           "allocating the result of sums"));
    GSW_TRY(gsw_cuda_check(context,
                           cudaMalloc(reinterpret_cast<void **>(&cuda->partial),
                                      GSW_CUDA_PARTIAL_VALUES * sizeof *cuda->partial),
                           "allocating partial sums"));
    GSW_TRY(gsw_cuda_check(context,
                           cudaMalloc(reinterpret_cast<void **>(&cuda->done), sizeof *cuda->done),
                           "allocating the counter of sums"));
    return gsw_cuda_check(context, cudaMemsetAsync(cuda->done, 0, sizeof *cuda->done, cuda->stream),
                          "setting the counter of sums");
}

/* A pool that keeps released memory until the context closes. The system takes longer to allocate
 * memory than the set-up of a hierarchy takes. */
gsw_status make_pool(gsw_context *context, gsw_cuda *cuda) {
    int supported = 0;
    GSW_TRY(gsw_cuda_check(
        context, cudaDeviceGetAttribute(&supported, cudaDevAttrMemoryPoolsSupported, cuda->device),
        "asking for memory pools"));
    if (!supported)
        return GSW_SUCCESS;
    cudaMemPoolProps wanted = {};
    wanted.allocType = cudaMemAllocationTypePinned;
    wanted.location.type = cudaMemLocationTypeDevice;
    wanted.location.id = cuda->device;
    uint64_t kept = UINT64_MAX;
    GSW_TRY(
        gsw_cuda_check(context, cudaMemPoolCreate(&cuda->pool, &wanted), "making a memory pool"));
    return gsw_cuda_check(
        context, cudaMemPoolSetAttribute(cuda->pool, cudaMemPoolAttrReleaseThreshold, &kept),
        "making a memory pool");
}

/* The host's means of following a Krylov method. */
gsw_status allocate_slots(gsw_context *context, gsw_cuda *cuda) {
    GSW_TRY(
        gsw_cuda_check(context,
                       cudaHostAlloc(reinterpret_cast<void **>(&cuda->state),
                                     GSW_KRYLOV_SLOTS * sizeof *cuda->state, cudaHostAllocMapped),
                       "allocating the states of solvers"));
    for (cudaEvent_t &event : cuda->posted)
        GSW_TRY(gsw_cuda_check(context, cudaEventCreateWithFlags(&event, cudaEventDisableTiming),
                               "making an event"));
    return GSW_SUCCESS;
}

/* The second stream, for work aside. */
gsw_status make_aside(gsw_context *context, gsw_cuda *cuda) {
    GSW_TRY(gsw_cuda_check(context, cudaStreamCreateWithFlags(&cuda->aside, cudaStreamNonBlocking),
                           "making a stream"));
    return gsw_cuda_check(context, cudaEventCreateWithFlags(&cuda->marked, cudaEventDisableTiming),
                          "making an event");
}

/* Frees all that a context holds, also after a failed open(). */
void free_all(gsw_cuda *cuda) {
    gsw_cuda_line_release(cuda);
    for (cudaEvent_t event : cuda->posted)
        if (event)
            (void)cudaEventDestroy(event);
    if (cuda->marked)
        (void)cudaEventDestroy(cuda->marked);
    if (cuda->aside)
        (void)cudaStreamDestroy(cuda->aside);
    (void)cudaFreeHost(cuda->state);
    (void)cudaFree(cuda->done);
    (void)cudaFree(cuda->partial);
    (void)cudaFreeHost(cuda->sum);
    (void)cudaFreeHost(cuda->report);
    if (cuda->pool)
        (void)cudaMemPoolDestroy(cuda->pool);
    (void)cudaGetLastError();
    free(cuda);
}

gsw_status open_context(gsw_context *context, const gsw_context_options *options) {
    gsw_status status;
    device_scope scope;
    GSW_TRY(find_device(context, options->device));
    gsw_cuda *cuda = static_cast<gsw_cuda *>(calloc(1, sizeof *cuda));
    if (!cuda)
        return gsw_fail(context, GSW_ERROR_OUT_OF_MEMORY, "no memory for a CUDA context");
    cuda->device = options->device;
    cuda->stream = static_cast<cudaStream_t>(options->stream);
    cuda->wait_limit_ns = WAIT_LIMIT_NS;
    cuda->withheld_line = -1;
    GSW_TRY_GOTO(describe_device(context, cuda), fail);
    GSW_TRY_GOTO(check_capability(context, cuda), fail);
    GSW_TRY_GOTO(make_pool(context, cuda), fail);
    GSW_TRY_GOTO(allocate_scratch(context, cuda), fail);
    GSW_TRY_GOTO(allocate_slots(context, cuda), fail);
    GSW_TRY_GOTO(make_aside(context, cuda), fail);
    context->threads = 1;
    context->backend_data = cuda;
    return GSW_SUCCESS;

fail:
    free_all(cuda);
    context->device[0] = '\0';
    return status;
}

void close_context(gsw_context *context) {
    device_scope scope;
    gsw_cuda *cuda = gsw_cuda_of(context);
    (void)cudaSetDevice(cuda->device);
    (void)cudaStreamSynchronize(cuda->stream); /* kernels may still write reports and sums */
    free_all(cuda);
    context->backend_data = NULL;
}

/* ---- Memory ------------------------------------------------------------------------------------
 */

gsw_status synchronize(gsw_context *context) {
    GSW_TRY(gsw_cuda_check(context, cudaStreamSynchronize(gsw_cuda_of(context)->stream),
                           "waiting for the device"));
    return gsw_cuda_reported(context);
}

gsw_status alloc(gsw_context *context, size_t bytes, void **pointer) {
    *pointer = NULL;
    cudaError_t error = cudaMalloc(pointer, bytes > 0 ? bytes : 1);
    if (error == cudaErrorMemoryAllocation && gsw_cuda_of(context)->pool) {
        (void)cudaGetLastError();
        (void)cudaMemPoolTrimTo(gsw_cuda_of(context)->pool, 0);
        error = cudaMalloc(pointer, bytes > 0 ? bytes : 1);
    }
    if (error != cudaErrorMemoryAllocation)
        return gsw_cuda_check(context, error, "allocating device memory");
    (void)cudaGetLastError();
    return gsw_fail(context, GSW_ERROR_OUT_OF_MEMORY, "no device memory for %zu bytes", bytes);
}

gsw_status reserve(gsw_context *context, size_t bytes, void **pointer) {
    gsw_status status = gsw_cuda_reserve(context, bytes, "reserving device memory", pointer);
    if (status != GSW_ERROR_OUT_OF_MEMORY)
        return status;
    return gsw_fail(context, status, "no device memory for %zu bytes", bytes);
}

/* Cannot fail: the next operation returns the device's error. */
void release(gsw_context *context, void *pointer) {
    device_scope scope;
    (void)cudaSetDevice(gsw_cuda_of(context)->device);
    (void)cudaStreamSynchronize(gsw_cuda_of(context)->stream);
    (void)cudaFree(pointer);
    (void)cudaGetLastError();
}

void unreserve(gsw_context *context, void *pointer) {
    device_scope scope;
    (void)cudaSetDevice(gsw_cuda_of(context)->device);
    gsw_cuda_unreserve(context, pointer);
}

gsw_status upload(gsw_context *context, void *to, const void *from_host, size_t bytes) {
    cudaStream_t stream = gsw_cuda_of(context)->stream;
    GSW_TRY(gsw_cuda_check(context,
                           cudaMemcpyAsync(to, from_host, bytes, cudaMemcpyHostToDevice, stream),
                           "uploading"));
    return gsw_cuda_check(context, cudaStreamSynchronize(stream), "uploading");
}

gsw_status download(gsw_context *context, void *to_host, const void *from, size_t bytes) {
    cudaStream_t stream = gsw_cuda_of(context)->stream;
    GSW_TRY(gsw_cuda_check(context,
                           cudaMemcpyAsync(to_host, from, bytes, cudaMemcpyDeviceToHost, stream),
                           "downloading"));
    return synchronize(context);
}

gsw_status set(gsw_context *context, void *pointer, int value, size_t bytes) {
    return gsw_cuda_check(
        context, cudaMemsetAsync(pointer, value, bytes, gsw_cuda_of(context)->stream), "setting");
}

/* ---- Solves ------------------------------------------------------------------------------------
 */

gsw_status sptrsv(gsw_context *context, const gsw_matrix *matrix, const gsw_sptrsv_options *options,
                  const void *b, void *x) {
    if (options->algorithm != GSW_ALGORITHM_LINE)
        return gsw_fail(context, GSW_ERROR_UNSUPPORTED,
                        "algorithm %s does not run on the CUDA backend",
                        gsw_algorithm_name(options->algorithm));
    return gsw_cuda_line(context, matrix, options, b, x);
}

void close_factor(gsw_context *context, gsw_factor *factor) {
    device_scope scope;
    (void)cudaSetDevice(gsw_cuda_of(context)->device);
    gsw_cuda_factor_close(context, factor);
}

void close_window(gsw_context *context, void *memory) {
    device_scope scope;
    (void)cudaSetDevice(gsw_cuda_of(context)->device);
    gsw_cuda_window_close(context, memory);
}

void detach_window(gsw_context *context, const gsw_window_name *name, void *memory) {
    device_scope scope;
    (void)cudaSetDevice(gsw_cuda_of(context)->device);
    gsw_cuda_window_detach(context, name, memory);
}

} // namespace

/* Up to this number of points, a level takes longer to smooth than to multiply by its inverse. */
constexpr int64_t COARSEST_POINTS = 520;

/* Larger levels are shared by several devices. */
constexpr int64_t TOGETHER_POINTS = 1 << 20;

/* A sweep takes the time of its path of hand-overs from tile to tile, or that of the level's bytes.
 * A coarse level of up to CUT_POINTS is cut into few tiles of its stencil, a larger one between
 * planes alone. Cuts cost the finest level more. It is cut as far as the path counts
 * (perf/DECISIONS.md, Sections of levels). */
gsw_sections sections_of(const gsw_grid *grid, int finest) {
    constexpr int64_t CUT_POINTS = int64_t{1} << 21;
    constexpr int64_t SMALL_POINTS = int64_t{1} << 22, LARGE_POINTS = int64_t{1} << 24;
    const int64_t points = grid->nx * grid->ny * grid->nz;
    if (!finest)
        return {4, points <= CUT_POINTS ? 16 : 0, 0};
    if (points <= SMALL_POINTS)
        return {16, 32, 0};
    return points <= LARGE_POINTS ? gsw_sections{64, 64, 0} : gsw_uncut();
}

/* Every step is taken, also after a kernel has reported an error: the next call returns that. Else
 * the context would keep the wrong stream, or memory would be released too soon. */
gsw_status aside(gsw_context *context, gsw_aside step) {
    device_scope scope;
    (void)cudaSetDevice(gsw_cuda_of(context)->device);
    return gsw_cuda_aside(context, step);
}

static const gsw_link_ops link_ops = {
    .on_host = 0,
    .tile_planes = 8,
    .window_open = entry<gsw_cuda_window_open>::call,
    .window_close = close_window,
    .window_attach = entry<gsw_cuda_window_attach>::call,
    .window_detach = detach_window,
    .post = entry<gsw_cuda_post>::call,
    .await = entry<gsw_cuda_await_post>::call,
    .timeouts = gsw_cuda_timeouts,
    .copy_box = entry<gsw_cuda_copy_box>::call,
};

static const gsw_packed_gauss_seidel_ops gauss_seidel_ops = {
    .ops = GSW_PACKED_GAUSS_SEIDEL,
    .rest = entry<gsw_cuda_sweep_rest>::call,
    .restrict_rest = entry<gsw_cuda_restrict_rest>::call,
};

static const gsw_multigrid_ops multigrid_ops = {
    .shares_mirrored = 1,
    .survey = entry<gsw_cuda_survey>::call,
    .copy_arrays = entry<gsw_cuda_copy_arrays>::call,
    .interpolate = entry<gsw_cuda_interpolate>::call,
    .triple = entry<gsw_cuda_triple>::call,
    .mend_diagonal = entry<gsw_cuda_mend_diagonal>::call,
    .sections = sections_of,
    .restrict_residual = entry<gsw_cuda_restrict_residual>::call,
    .restrict_vector = entry<gsw_cuda_restrict_vector>::call,
    .prolong_add = entry<gsw_cuda_prolong_add>::call,
    .gauss_seidel = &gauss_seidel_ops.ops,
    .narrow = entry<gsw_cuda_narrow>::call,
    .widen = entry<gsw_cuda_widen>::call,
    .combine = entry<gsw_cuda_combine>::call,
    .dense_invert = entry<gsw_cuda_dense_invert>::call,
    .dense_apply = entry<gsw_cuda_dense_apply>::call,
    .inject = entry<gsw_cuda_inject>::call,
    .color_sweep = entry<gsw_cuda_color_sweep>::call,
    .transfer_open = entry<gsw_cuda_transfer_open>::call,
    .transfer_close = gsw_cuda_transfer_close,
    .aside = aside,
    .reads_margins = 0,
    .named_stencils = 1,
    .prefers_colors = gsw_cuda_prefers_colors,
    .coarse_sweeps_are_slow = 1,
    .coarsest_points = COARSEST_POINTS,
    .together_points = TOGETHER_POINTS,
};

static const gsw_relax_ops relax_ops = {
    .machine = gsw_cuda_relax_machine,
    .tile = entry<gsw_cuda_relax_tile>::call,
    .prepare = entry<gsw_cuda_relax_prepare>::call,
    .pass = entry<gsw_cuda_relax_pass>::call,
};

static const gsw_slab_ops slab_ops = {
    .unit = gsw_cuda_slab_unit,
    .rest = entry<gsw_cuda_slab_rest>::call,
    .face_bytes = gsw_cuda_face_bytes,
    .connect = gsw_cuda_connect,
    .has_steps = gsw_cuda_diagonal_suits,
    .step_bytes = gsw_cuda_diagonal_step_bytes,
    .step = entry<gsw_cuda_diagonal_step>::call,
    .steps_await = entry<gsw_cuda_diagonal_await>::call,
    .border_bytes = gsw_cuda_border_bytes,
    .border_give = entry<gsw_cuda_border_give>::call,
    .border_take = entry<gsw_cuda_border_take>::call,
    .deals = gsw_cuda_deals,
    .deal_bytes = gsw_cuda_deal_bytes,
    .deal_order = gsw_cuda_deal_order,
    .deal_sent = gsw_cuda_deal_sent,
    .deal_connect = gsw_cuda_deal_connect,
    .deal_fill = entry<gsw_cuda_deal_fill>::call,
    .deal_give = entry<gsw_cuda_deal_give>::call,
    .deal_sweep = entry<gsw_cuda_deal_sweep>::call,
    .deal_take = entry<gsw_cuda_deal_take>::call,
};

static const gsw_memory_ops memory_ops = {
    .alloc = entry<alloc>::call,
    .release = release,
    .reserve = entry<reserve>::call,
    .unreserve = unreserve,
    .upload = entry<upload>::call,
    .download = entry<download>::call,
    .set = entry<set>::call,
    .check_place = entry<gsw_cuda_check_place>::call,
};

static const gsw_vector_ops vector_ops = {
    .fill = entry<gsw_cuda_fill>::call,
    .copy = entry<gsw_cuda_copy>::call,
    .axpby = entry<gsw_cuda_axpby>::call,
    .add_scaled = entry<gsw_cuda_add_scaled>::call,
    .dot = entry<gsw_cuda_dot>::call,
    .change_signs = entry<gsw_cuda_change_signs>::call,
    .project = entry<gsw_cuda_project>::call,
    .subtract = entry<gsw_cuda_subtract>::call,
    .squares = entry<gsw_cuda_squares>::call,
    .scale = entry<gsw_cuda_scale>::call,
};

static const gsw_matrix_ops matrix_ops = {
    .kinds = 1 << GSW_KIND_CSR | 1 << GSW_KIND_ARRAYS | 1 << GSW_KIND_REPEAT,
    .validate = entry<gsw_cuda_validate>::call,
    .spmv = entry<gsw_cuda_spmv>::call,
    .multiply = entry<gsw_cuda_multiply>::call,
    .couple = entry<gsw_cuda_couple>::call,
    .sptrsv = entry<sptrsv>::call,
    .packs_faster = 1,
};

static const gsw_mask_ops mask_ops = {
    .select = entry<gsw_cuda_select>::call,
    .take = entry<gsw_cuda_take_mask>::call,
    .cut = entry<gsw_cuda_cut>::call,
    .cut_box = entry<gsw_cuda_cut_box>::call,
    .is_cut = entry<gsw_cuda_is_cut>::call,
    .find_fixed = entry<gsw_cuda_find_fixed>::call,
    .list = entry<gsw_cuda_list_active>::call,
    .spread = entry<gsw_cuda_spread>::call,
    .collect = entry<gsw_cuda_collect>::call,
    .shorten = entry<gsw_cuda_shorten>::call,
    .extend = entry<gsw_cuda_extend>::call,
    .couplings = entry<gsw_cuda_couplings>::call,
    .extend_faces = entry<gsw_cuda_extend_faces>::call,
    .find_basins = entry<gsw_cuda_find_basins>::call,
    .mark_basins = entry<gsw_cuda_mark_basins>::call,
    .sum_rows = entry<gsw_cuda_sum_rows>::call,
    .add_means = entry<gsw_cuda_add_means>::call,
};

static const gsw_wrap_ops wrap_ops = {
    .open = entry<gsw_cuda_wraps_open>::call,
    .take = entry<gsw_cuda_wraps_take>::call,
    .move = entry<gsw_cuda_wraps_move>::call,
    .turn = entry<gsw_cuda_turn>::call,
    .cut = entry<gsw_cuda_wraps_cut>::call,
    .multiply = entry<gsw_cuda_wraps_multiply>::call,
    .restore = entry<gsw_cuda_wraps_restore>::call,
    .weigh = entry<gsw_cuda_seam_weigh>::call,
    .triple = entry<gsw_cuda_seam_triple>::call,
    .prepare = entry<gsw_cuda_seam_prepare>::call,
    .restrict_residual = entry<gsw_cuda_seam_restrict>::call,
    .prolong_add = entry<gsw_cuda_seam_prolong>::call,
};

static const gsw_krylov_ops krylov_ops = {
    .pass = entry<gsw_cuda_krylov_pass>::call,
    .multiply_pass = entry<gsw_cuda_multiply_pass>::call,
    .judge = entry<gsw_cuda_judge>::call,
    .ahead = KRYLOV_AHEAD,
    .post = entry<gsw_cuda_krylov_post>::call,
    .collect = entry<gsw_cuda_krylov_collect>::call,
};

static const gsw_factor_ops factor_ops = {
    .open = entry<gsw_cuda_factor_open>::call,
    .fill = entry<gsw_cuda_factor_fill>::call,
    .await = entry<gsw_cuda_factor_await>::call,
    .sweep = entry<gsw_cuda_factor_sweep>::call,
    .unpack = entry<gsw_cuda_unpack>::call,
    .close = close_factor,
};

static const gsw_split_ops split_ops = {
    .fill = entry<gsw_cuda_split_fill>::call,
    .apply = entry<gsw_cuda_split_apply>::call,
    .saves_time = 1,
};

extern "C" const gsw_backend_ops *gsw_backend_cuda(void) {
    static const gsw_backend_ops operations = {
        .open = open_context,
        .close = close_context,
        .synchronize = entry<synchronize>::call,
        .memory = &memory_ops,
        .vector = &vector_ops,
        .matrix = &matrix_ops,
        .mask = &mask_ops,
        .wrap = &wrap_ops,
        .krylov = &krylov_ops,
        .factor = &factor_ops,
        .split = &split_ops,
        .multigrid = &multigrid_ops,
        .relax = &relax_ops,
        .link = &link_ops,
        .box = nullptr,
        .slab = &slab_ops,
    };
    return &operations;
}
