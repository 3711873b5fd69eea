/* slab.cu: windows between devices, ghost planes in products, and what passes between the factors
 * of neighbouring slabs.
 *
 * WINDOWS are device memory that the driver lets other processes of the machine map, or that
 * another device of the same process can reach. Stores to a window go over the link between the
 * devices. The reader polls its own memory.
 *
 * COUNTERS. A process copies planes to a window, then sets a counter there: a release at the scope
 * of the system, in stream order. The reader acquires the counter before the kernel that reads the
 * planes. The wait is one thread, so it keeps no multiprocessor from other work. It is bounded: it
 * reports TIMEOUT after the limit.
 *
 * PROGRESS. A wait ends when the neighbour's stream has come to the post of the same product. Each
 * process queues its own post before its wait, so no two wait for each other. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/hash.h"
#include "cuda/device/handover.cuh"
#include "cuda/device/launch.cuh"
#include "slab.cuh"
#include "sweep.cuh"

namespace {

/* ---- Windows ----------------------------------------------------------------------------------
 */

/* What a gsw_window_name holds. */
struct window_name {
    cudaIpcMemHandle_t handle;
    void *memory; /* in the process that owns it */
    int64_t process;
    uint64_t machine; /* hash of the host's name */
    int32_t device;   /* number in its process */
    char bus[16];     /* of the device */
};
static_assert(sizeof(window_name) <= GSW_WINDOW_NAME, "a name fits");

uint64_t this_machine(void) {
    char name[256] = "";
    (void)gethostname(name, sizeof name - 1);
    return gsw_hash(GSW_HASH_BEGIN, name, strlen(name));
}

window_name read_name(const gsw_window_name *name) {
    window_name read;
    memcpy(&read, name->bytes, sizeof read);
    return read;
}

/* Lets this context's device write the memory of another device of the same process. */
gsw_status reach_device(gsw_context *context, int device) {
    int can = 0;
    const int own = gsw_cuda_of(context)->device;
    if (device == own)
        return GSW_SUCCESS;
    GSW_TRY(gsw_cuda_check(context, cudaDeviceCanAccessPeer(&can, own, device), "a window"));
    if (!can)
        return gsw_fail(context, GSW_ERROR_UNSUPPORTED,
                        "CUDA device %d cannot write the memory of device %d", own, device);
    const cudaError_t error = cudaDeviceEnablePeerAccess(device, 0);
    if (error == cudaErrorPeerAccessAlreadyEnabled) {
        (void)cudaGetLastError();
        return GSW_SUCCESS;
    }
    return gsw_cuda_check(context, error, "a window");
}

/* ---- Kernels ----------------------------------------------------------------------------------
 */

__global__ void set_counter(uint64_t *counter, uint64_t value) {
    store_release<scope::system>(counter, value);
}

__global__ void await_count(const uint64_t *counter, uint64_t least, int64_t limit_ns,
                            gsw_cuda_report *report) {
    const int64_t began = device_clock();
    while (load_acquire<scope::system>(counter) < least) {
        __nanosleep(200);
        if (device_clock() - began < limit_ns)
            continue;
        volatile gsw_cuda_report *written = report;
        written->row = 0;
        written->what = GSW_CUDA_PROCESS;
        written->wait_limit_ns = limit_ns;
        __threadfence_system();
        written->status = GSW_ERROR_TIMEOUT;
        return;
    }
}

/* Passed by value. */
enum { PATCHES = 3 };
struct couple_plan {
    int64_t nx, ny;            /* of the slab */
    int64_t begin[3], rows[3]; /* first row, and rows along each axis */
    gsw_patch patch[PATCHES];
    double *y;
    int32_t patches, count;
    gsw_offset offset[GSW_STENCIL_MAX];
    const void *values[GSW_STENCIL_MAX];
};

/* x at a point; false: it is in no patch. */
__device__ __forceinline__ bool value_at(const couple_plan &plan, int64_t x, int64_t y, int64_t z,
                                         double *value) {
    for (int k = 0; k < plan.patches; k++) {
        const gsw_patch &p = plan.patch[k];
        if (x < p.begin[0] || x >= p.end[0] || y < p.begin[1] || y >= p.end[1] || z < p.begin[2] ||
            z >= p.end[2])
            continue;
        *value = p.x[x - p.begin[0] +
                     (p.end[0] - p.begin[0]) *
                         (y - p.begin[1] + (p.end[1] - p.begin[1]) * (z - p.begin[2]))];
        return true;
    }
    return false;
}

/* A thread per row. The terms are added in the order of the offsets, as spmv.cu does. */
template <typename Value>
__global__ void __launch_bounds__(256) multiply_border(const __grid_constant__ couple_plan plan) {
    const int64_t i = (int64_t)blockIdx.x * 256 + threadIdx.x;
    if (i >= plan.rows[0] * plan.rows[1] * plan.rows[2])
        return;
    const int64_t x = plan.begin[0] + i % plan.rows[0];
    const int64_t y = plan.begin[1] + i / plan.rows[0] % plan.rows[1];
    const int64_t z = plan.begin[2] + i / plan.rows[0] / plan.rows[1];
    const int64_t row = x + plan.nx * (y + plan.ny * z);
    double sum = 0;
    for (int32_t e = 0; e < plan.count; e++) {
        const gsw_offset o = plan.offset[e];
        double neighbour;
        if (value_at(plan, x + o.dx, y + o.dy, z + o.dz, &neighbour))
            sum = fma((double)static_cast<const Value *>(plan.values[e])[row], neighbour, sum);
    }
    plan.y[row] = sum;
}

/* ---- Borders ----------------------------------------------------------------------------------
 */

/* Bytes of a pencil's upper rows. */
size_t border_of_pencil(const gsw_factor *factor) {
    return gsw_eliminates(factor->options.kind)
               ? (size_t)gsw_pencil_values(&factor->packed->view[1]) *
                     gsw_dtype_size(factor->options.factor_type)
               : 0;
}

} // namespace

/* ---- Windows ----------------------------------------------------------------------------------
 */

gsw_status gsw_cuda_window_open(gsw_context *context, size_t bytes, int value, void **memory,
                                gsw_window_name *name) {
    const gsw_cuda *cuda = gsw_cuda_of(context);
    window_name made = {};
    *memory = NULL;
    GSW_TRY(context->ops->memory->alloc(context, bytes, memory));
    GSW_TRY(
        gsw_cuda_check(context, cudaMemsetAsync(*memory, value, bytes, cuda->stream), "a window"));
    GSW_TRY(gsw_cuda_check(context, cudaStreamSynchronize(cuda->stream), "a window"));
    /* Where the driver cannot share memory, others stage. */
    if (cudaIpcGetMemHandle(&made.handle, *memory) != cudaSuccess)
        (void)cudaGetLastError();
    if (cudaDeviceGetPCIBusId(made.bus, sizeof made.bus, cuda->device) != cudaSuccess)
        (void)cudaGetLastError();
    made.memory = *memory;
    made.process = getpid();
    made.machine = this_machine();
    made.device = cuda->device;
    memset(name, 0, sizeof *name);
    memcpy(name->bytes, &made, sizeof made);
    return GSW_SUCCESS;
}

void gsw_cuda_window_close(gsw_context *context, void *memory) {
    (void)context;
    (void)cudaFree(memory);
    (void)cudaGetLastError();
}

gsw_status gsw_cuda_window_attach(gsw_context *context, const gsw_window_name *name,
                                  void **memory) {
    const window_name read = read_name(name);
    *memory = NULL;
    if (read.machine != this_machine())
        return gsw_fail(context, GSW_ERROR_UNSUPPORTED, "the process is on another machine");
    /* For tests, and for machines on which devices reach each other badly. */
    if (getenv("GSW_CUDA_STAGED"))
        return gsw_fail(context, GSW_ERROR_UNSUPPORTED, "GSW_CUDA_STAGED is set");
    if (read.process == getpid()) {
        GSW_TRY(reach_device(context, read.device));
        *memory = read.memory;
        return GSW_SUCCESS;
    }
    const cudaError_t error =
        cudaIpcOpenMemHandle(memory, read.handle, cudaIpcMemLazyEnablePeerAccess);
    if (error == cudaSuccess)
        return GSW_SUCCESS;
    (void)cudaGetLastError();
    return gsw_fail(context, GSW_ERROR_UNSUPPORTED,
                    "the memory of the device at %.15s cannot be mapped: %s", read.bus,
                    cudaGetErrorString(error));
}

void gsw_cuda_window_detach(gsw_context *context, const gsw_window_name *name, void *memory) {
    (void)context;
    if (memory && read_name(name).process != getpid())
        (void)cudaIpcCloseMemHandle(memory);
    (void)cudaGetLastError();
}

gsw_status gsw_cuda_put(gsw_context *context, void *to, const void *from, size_t bytes) {
    return gsw_cuda_check(
        context, cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, gsw_cuda_of(context)->stream),
        "a copy for another slab");
}

gsw_status gsw_cuda_post(gsw_context *context, uint64_t *counter, uint64_t value) {
    set_counter<<<1, 1, 0, gsw_cuda_of(context)->stream>>>(counter, value);
    return gsw_cuda_check_launch(context, "a window's counter");
}

gsw_status gsw_cuda_await_post(gsw_context *context, const uint64_t *counter, uint64_t least,
                               double limit) {
    const gsw_cuda *cuda = gsw_cuda_of(context);
    await_count<<<1, 1, 0, cuda->stream>>>(counter, least, (int64_t)(1e9 * limit), cuda->report);
    return gsw_cuda_check_launch(context, "a window's counter");
}

/* The box is whole planes. */
gsw_status gsw_cuda_copy_box(gsw_context *context, const gsw_box *box, const gsw_box_array *place,
                             void *array, void *dense, int to_dense) {
    const size_t plane = (size_t)(place->extent[0] * place->extent[1]) * place->value;
    char *first = (char *)array + (size_t)(box->begin[2] - place->origin[2]) * plane;
    void *to = to_dense ? dense : first;
    const void *from = to_dense ? first : dense;
    return to == from
               ? GSW_SUCCESS
               : gsw_cuda_put(context, to, from, (size_t)(box->end[2] - box->begin[2]) * plane);
}

int64_t gsw_cuda_timeouts(gsw_context *context) {
    return gsw_cuda_of(context)->timeouts;
}

gsw_status gsw_cuda_couple(gsw_context *context, const gsw_couple *job) {
    const cudaStream_t stream = gsw_cuda_of(context)->stream;
    const gsw_matrix *matrix = job->matrix;
    couple_plan plan = {};
    int64_t points = 1;
    plan.nx = matrix->grid.nx;
    plan.ny = matrix->grid.ny;
    plan.y = job->y;
    for (int axis = 0; axis < 3; axis++) {
        plan.begin[axis] = job->begin[axis];
        plan.rows[axis] = job->end[axis] - job->begin[axis];
        points *= plan.rows[axis];
    }
    for (; plan.patches < job->patches && plan.patches < PATCHES; plan.patches++)
        plan.patch[plan.patches] = job->patch[plan.patches];
    for (int32_t e = 0; e < matrix->stencil.count; e++) {
        if (!matrix->array.values[e])
            continue;
        plan.offset[plan.count] = matrix->stencil.offsets[e];
        plan.values[plan.count++] = matrix->array.values[e];
    }
    const unsigned blocks = (unsigned)gsw_ceil_div(points, 256);
    if (matrix->array.value_type == GSW_F64)
        multiply_border<double><<<blocks, 256, 0, stream>>>(plan);
    else
        multiply_border<float><<<blocks, 256, 0, stream>>>(plan);
    return gsw_cuda_check_launch(context, "the couplings to other slabs");
}

/* ---- Factors ----------------------------------------------------------------------------------
 */

/* Tiles of named shapes are 8 wide in y' and 4 or 8 in z. Those of other shapes are powers of 2 up
 * to 32. */
int64_t gsw_cuda_slab_unit(gsw_context *context, const gsw_grid *grid, const gsw_stencil *stencil) {
    gsw_tiles tiles;
    (void)context;
    gsw_tiles_derive(&tiles, grid, stencil, 0);
    if (tiles.halo_z == 0)
        return 1;
    if (tiles.nx != grid->nx || tiles.ny != grid->ny || tiles.nz != grid->nz)
        return 0; /* an extent of 1: the tiles' axes are others */
    const gsw_shape_name shape = gsw_name_shape(&tiles.part[0]);
    return shape != SHAPE_OTHER && shape == gsw_name_shape(&tiles.part[1]) ? 8 : 32;
}

void gsw_cuda_face_bytes(const gsw_factor *factor, int which, size_t *inbox, size_t *outbox) {
    const gsw_packed *packed = factor->packed;
    const gsw_packed_view *view = &packed->view[packed->layout.upper[which]];
    const size_t slot =
        (size_t)gsw_cuda_slot_values(factor) * gsw_dtype_size(factor->options.vector_type);
    *inbox = (size_t)view->remote_before * slot;
    *outbox = (size_t)view->remote_after * slot;
}

void gsw_cuda_connect(gsw_factor *factor, int which, void *inbox, void *outbox, double limit) {
    gsw_packed *packed = factor->packed;
    packed->faces[packed->layout.upper[which]] = {inbox, outbox, (int64_t)(1e9 * limit)};
}

void gsw_cuda_border_bytes(const gsw_factor *factor, size_t *given, size_t *taken) {
    const gsw_packed_view *view = factor->packed->view;
    *given = (size_t)view[0].remote_after * border_of_pencil(factor);
    *taken = (size_t)view[0].remote_before * border_of_pencil(factor);
}

/* The pencils of the last row of tiles, in the order in which the slab above numbers them. The
 * upper part counts tiles from the other end. */
gsw_status gsw_cuda_border_give(gsw_context *context, const gsw_factor *factor, void *bytes) {
    const gsw_packed_view *view = &factor->packed->view[1];
    const size_t size = border_of_pencil(factor), count = (size_t)view->pencils;
    const int64_t row = gsw_ghost_rows(factor, view, 0);
    char *to = static_cast<char *>(bytes);
    const char *from = static_cast<const char *>(view->values);
    void *table;
    gsw_status status;
    GSW_TRY(gsw_alloc(context, count, sizeof(gsw_pencil), "the table of pencils", &table));
    const gsw_pencil *pencil = static_cast<const gsw_pencil *>(table);
    GSW_TRY_GOTO(
        context->ops->memory->download(context, table, view->table, count * sizeof(gsw_pencil)),
        cleanup);
    for (int64_t j = view->tiles.tiles_y - 1; j >= 0; j--) {
        for (size_t i = 0; i < count; i++) {
            if (pencil[i].k != row || pencil[i].j != j)
                continue;
            GSW_TRY_GOTO(gsw_cuda_put(context, to, from + i * size, size), cleanup);
            to += size;
        }
    }
    status = context->ops->synchronize(context);
cleanup:
    free(table);
    return status;
}

gsw_status gsw_cuda_border_take(gsw_context *context, gsw_factor *factor, const void *bytes) {
    const gsw_packed_view *view = factor->packed->view;
    const size_t size = border_of_pencil(factor);
    GSW_TRY(gsw_cuda_put(context,
                         static_cast<char *>(view[1].values) + (size_t)view[1].pencils * size,
                         bytes, (size_t)view[0].remote_before * size));
    return context->ops->synchronize(context);
}
