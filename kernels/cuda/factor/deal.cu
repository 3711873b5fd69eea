/* deal.cu: factors whose rows of tiles are dealt out to processes (contract/slab_ops.h).
 *
 * WINDOW of a process, part by part, each aligned:
 *
 *   a counter per process | values of its pencils: lower, upper | inbox: lower, upper
 *   | shared: a vector of its slab | between: a vector of its pencils, where there are two sweeps
 *
 * An inbox has a slot for each pencil of the process before it.
 *
 * VECTORS. The first sweep reads rows of its own slab from the user's b, and others from `shared`
 * of the process that has them. The last sweep writes the same way, to the user's x and to
 * `shared`. A row of `shared` is read and written by the process that sweeps it alone; the same
 * pencil reads its b before it writes its x. Between two sweeps a process keeps the rows of its
 * pencils in `between`, gathered.
 *
 * PROGRESS. sweep_kernel.cuh. */
#include <stdlib.h>

#include "cuda/factor/factors.cuh"
#include "common/hash.h"
#include "cuda/device/launch.cuh"
#include "cuda/sweep/sweep.cuh"

namespace {

constexpr size_t ALIGNMENT = 256;

size_t aligned(size_t bytes) {
    return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

/* Where the parts of a process's window begin, in bytes. */
struct window_layout {
    size_t values[2], inbox[2], shared, between, bytes;
};

size_t bytes_of_pencil(const gsw_factor *factor, int part) {
    return (size_t)gsw_pencil_values(&factor->packed->view[part]) *
           gsw_dtype_size(factor->options.factor_type);
}

/* The process whose pencils come before those of `process` in the sweep of a part, and after. */
int32_t process_next_to(const gsw_deal *deal, int part, int process, int step) {
    return (process + (part ? -step : step) + deal->processes) % deal->processes;
}

/* Bytes of a pencil's faces. */
size_t bytes_of_slot(const gsw_factor *dealt) {
    return (size_t)gsw_cuda_slot_values(dealt) * gsw_dtype_size(dealt->options.vector_type);
}

window_layout layout_of(const gsw_factor *dealt, int process) {
    const gsw_packed *packed = dealt->packed;
    const gsw_deal *deal = dealt->deal;
    const gsw_tiles *t = &packed->view[0].tiles;
    const int64_t slab = deal->begin[process + 1] - deal->begin[process];
    const int64_t dealt_planes = gsw_ceil_div(t->tiles_z - process, deal->processes) * t->tile_z;
    const size_t plane = (size_t)(dealt->grid.nx * dealt->grid.ny) * sizeof(double);
    window_layout at = {};
    size_t next = aligned((size_t)deal->processes * sizeof(uint64_t));
    for (int part = 0; part < 2; part++) {
        at.values[part] = next;
        if (packed->layout.present[part])
            next +=
                aligned((size_t)packed->view[part].dealt[process] * bytes_of_pencil(dealt, part));
    }
    for (int part = 0; part < 2; part++) {
        const int32_t before = process_next_to(deal, part, process, -1);
        at.inbox[part] = next;
        if (packed->layout.present[part])
            next += aligned((size_t)packed->view[part].dealt[before] * bytes_of_slot(dealt));
    }
    at.shared = next;
    at.between = at.shared + aligned((size_t)slab * plane);
    at.bytes =
        at.between + (packed->layout.sweeps == 2 ? aligned((size_t)dealt_planes * plane) : 0);
    return at;
}

char *window_of(const gsw_factor *dealt, int process) {
    return static_cast<char *>(dealt->deal->window[process]);
}

double *shared_of(const gsw_factor *dealt, int process) {
    return reinterpret_cast<double *>(window_of(dealt, process) + layout_of(dealt, process).shared);
}

/* ---- Values -----------------------------------------------------------------------------------
 */

/* A block per pencil, 16 bytes per thread and turn. */
__global__ void __launch_bounds__(256)
    copy_pencils(const int4 *from, int4 *const *to, int64_t pieces) {
    const int4 *source = from + blockIdx.x * pieces;
    int4 *target = to[blockIdx.x];
    for (int64_t i = threadIdx.x; i < pieces; i += 256)
        target[i] = source[i];
}

/* Where the pencils of the slab go, in the order of its tickets; `table` is on the host. Tiles of
 * the slab continue those of the whole grid: seen from the first one of the lower part they are
 * moved by whole tiles. */
void find_targets(const gsw_factor *slab, const gsw_factor *dealt, int part,
                  const gsw_pencil *table, void **target) {
    const gsw_packed_view *view = &slab->packed->view[part], *whole = &dealt->packed->view[part];
    const gsw_tiles *t = &view->tiles, *w = &whole->tiles;
    const gsw_deal *deal = dealt->deal;
    const int64_t planes = deal->begin[deal->rank] - slab->ghosts[GSW_BELOW];
    const int64_t move_j = planes * t->shear / t->tile_y, move_k = planes / t->tile_z;
    const size_t bytes = bytes_of_pencil(dealt, part);
    size_t values[GSW_DEAL_MAX];
    for (int32_t p = 0; p < deal->processes; p++)
        values[p] = layout_of(dealt, p).values[part];
    for (int32_t i = 0; i < view->pencils; i++) {
        const int64_t j =
            part ? w->tiles_y - t->tiles_y + table[i].j - move_j : table[i].j + move_j;
        const int64_t k =
            part ? w->tiles_z - t->tiles_z + table[i].k - move_k : table[i].k + move_k;
        const int32_t process = gsw_dealt_to(whole, deal, k);
        target[i] = window_of(dealt, process) + values[process] +
                    (size_t)whole->tickets[k * w->tiles_y + j] * bytes;
    }
}

/* Copies the pencils of a part. `room` is on the device, for their addresses. */
gsw_status copy_part(gsw_context *context, const gsw_factor *slab, const gsw_factor *dealt,
                     int part, gsw_pencil *table, void **target, void *room) {
    const gsw_packed_view *view = &slab->packed->view[part];
    const size_t count = (size_t)view->pencils;
    const int64_t pieces = (int64_t)(bytes_of_pencil(slab, part) / sizeof(int4));
    GSW_TRY(context->ops->memory->download(context, table, view->table, count * sizeof *table));
    find_targets(slab, dealt, part, table, target);
    GSW_TRY(context->ops->memory->upload(context, room, target, count * sizeof *target));
    copy_pencils<<<(unsigned)count, 256, 0, gsw_cuda_of(context)->stream>>>(
        static_cast<const int4 *>(view->values), static_cast<int4 *const *>(room), pieces);
    return gsw_cuda_check_launch(context, "the copy of pencils");
}

/* ---- Vectors ----------------------------------------------------------------------------------
 */

/* Copies rows of so many bytes that lie `pitch` apart. Longer pitches than CUDA takes belong to
 * rows that are worth a call each. */
gsw_status copy_rows(gsw_context *context, const double *from, double *to, size_t bytes,
                     size_t pitch, int64_t rows) {
    const cudaStream_t stream = gsw_cuda_of(context)->stream;
    cudaError_t error = cudaSuccess;
    if (pitch <= INT32_MAX) {
        error = cudaMemcpy2DAsync(to, pitch, from, pitch, bytes, (size_t)rows,
                                  cudaMemcpyDeviceToDevice, stream);
        rows = 0;
    }
    for (int64_t i = 0; error == cudaSuccess && i < rows; i++)
        error =
            cudaMemcpyAsync((char *)to + (size_t)i * pitch, (const char *)from + (size_t)i * pitch,
                            bytes, cudaMemcpyDeviceToDevice, stream);
    return gsw_cuda_check(context, error, "the planes of other processes");
}

/* Copies the planes of the own slab that other processes sweep, from or to a vector of the own
 * window. */
gsw_status copy_others(gsw_context *context, const gsw_factor *dealt, const double *from,
                       double *to) {
    const gsw_deal *deal = dealt->deal;
    const gsw_tiles *t = &dealt->packed->view[0].tiles;
    const int64_t plane = dealt->grid.nx * dealt->grid.ny;
    const int64_t begin = deal->begin[deal->rank], end = deal->begin[deal->rank + 1];
    const size_t width = (size_t)(t->tile_z * plane) * sizeof(double);
    const cudaStream_t stream = gsw_cuda_of(context)->stream;
    const int64_t first = begin / t->tile_z, whole = end / t->tile_z; /* rows of tiles */
    for (int64_t k = first; k < first + deal->processes && k * t->tile_z < end; k++) {
        const int64_t rows = gsw_ceil_div(whole - k, deal->processes);
        const int64_t at = (k * t->tile_z - begin) * plane;
        if (k % deal->processes == deal->rank || rows <= 0)
            continue;
        GSW_TRY(
            copy_rows(context, from + at, to + at, width, (size_t)deal->processes * width, rows));
    }
    /* The last row of tiles may have fewer planes. */
    const int64_t at = (whole * t->tile_z - begin) * plane;
    if (whole * t->tile_z == end || whole % deal->processes == deal->rank)
        return GSW_SUCCESS;
    return gsw_cuda_check(
        context,
        cudaMemcpyAsync(to + at, from + at,
                        (size_t)((end - whole * t->tile_z) * plane) * sizeof(double),
                        cudaMemcpyDeviceToDevice, stream),
        "the planes of other processes");
}

} // namespace

/* Tiles without shear hand over from slab to slab soon enough. For measuring, and for tests:
 * GSW_CUDA_DEAL=0 or 1 decides. */
int gsw_cuda_deals(const gsw_factor *slab) {
    const char *text = getenv("GSW_CUDA_DEAL");
    return text ? atoi(text) > 0 : slab->packed->view[0].tiles.shear > 0;
}

size_t gsw_cuda_deal_bytes(const gsw_factor *dealt, int process) {
    return layout_of(dealt, process).bytes;
}

uint64_t gsw_cuda_deal_order(const gsw_factor *dealt) {
    uint64_t mark = GSW_HASH_BEGIN;
    for (int part = 0; part < 2; part++) {
        const gsw_packed_view *view = &dealt->packed->view[part];
        const int64_t tiles = view->tickets ? view->tiles.tiles_y * view->tiles.tiles_z : 0;
        mark = gsw_hash(mark, view->tickets, (size_t)tiles * sizeof *view->tickets);
    }
    return mark;
}

int64_t gsw_cuda_deal_sent(const gsw_factor *dealt) {
    const gsw_packed *packed = dealt->packed;
    const gsw_deal *deal = dealt->deal;
    const gsw_tiles *t = &packed->view[0].tiles;
    int64_t planes = 0; /* of other slabs, swept here */
    for (int64_t k = deal->rank; k < t->tiles_z; k += deal->processes) {
        const int64_t z = k * t->tile_z, left = t->nz - z;
        if (z < deal->begin[deal->rank] || z >= deal->begin[deal->rank + 1])
            planes += left < t->tile_z ? left : t->tile_z;
    }
    const int64_t vectors =
        2 * planes * dealt->grid.nx * dealt->grid.ny * (int64_t)sizeof(double); /* b and x */
    return vectors +
           packed->layout.sweeps * packed->view[0].pencils * (int64_t)bytes_of_slot(dealt);
}

void gsw_cuda_deal_connect(gsw_factor *dealt, double limit) {
    gsw_packed *packed = dealt->packed;
    const gsw_deal *deal = dealt->deal;
    for (int part = 0; part < 2; part++) {
        const int32_t after = process_next_to(deal, part, deal->rank, 1);
        const window_layout own = layout_of(dealt, deal->rank);
        packed->view[part].values = window_of(dealt, deal->rank) + own.values[part];
        packed->faces[part] = {window_of(dealt, deal->rank) + own.inbox[part],
                               window_of(dealt, after) + layout_of(dealt, after).inbox[part],
                               (int64_t)(1e9 * limit)};
    }
}

gsw_status gsw_cuda_deal_fill(gsw_context *context, const gsw_factor *slab, gsw_factor *dealt) {
    const size_t count = (size_t)slab->packed->view[0].pencils;
    void *table = NULL, *target = NULL, *room = NULL;
    gsw_status status;
    GSW_TRY_GOTO(gsw_alloc(context, count, sizeof(gsw_pencil), "the table of pencils", &table),
                 cleanup);
    GSW_TRY_GOTO(gsw_alloc(context, count, sizeof(void *), "the table of pencils", &target),
                 cleanup);
    GSW_TRY_GOTO(gsw_cuda_reserve(context, count * sizeof(void *), "the table of pencils", &room),
                 cleanup);
    for (int part = 0; part < 2; part++) {
        if (slab->packed->layout.present[part])
            GSW_TRY_GOTO(copy_part(context, slab, dealt, part, static_cast<gsw_pencil *>(table),
                                   static_cast<void **>(target), room),
                         cleanup);
    }
    status = GSW_SUCCESS;
cleanup:
    gsw_cuda_unreserve(context, room);
    free(target);
    free(table);
    return status;
}

gsw_status gsw_cuda_deal_give(gsw_context *context, const gsw_factor *dealt, const double *b) {
    return copy_others(context, dealt, b, shared_of(dealt, dealt->deal->rank));
}

gsw_status gsw_cuda_deal_sweep(gsw_context *context, gsw_factor *dealt, int which, const double *b,
                               double *x) {
    const int32_t rank = dealt->deal->rank;
    gsw_dealt_vectors *vectors = &dealt->packed->vectors;
    double *between =
        reinterpret_cast<double *>(window_of(dealt, rank) + layout_of(dealt, rank).between);
    for (int32_t p = 0; p < dealt->deal->processes; p++) {
        vectors->b[p] = p == rank ? b : shared_of(dealt, p);
        vectors->x[p] = p == rank ? x : shared_of(dealt, p);
    }
    vectors->gathered_b = which > 0 ? between : NULL;
    vectors->gathered_x = which < dealt->packed->layout.sweeps - 1 ? between : NULL;
    return gsw_cuda_sweep(context, dealt, dealt->packed->layout.upper[which], 1, NULL, 0, NULL, 0);
}

gsw_status gsw_cuda_deal_take(gsw_context *context, const gsw_factor *dealt, double *x) {
    return copy_others(context, dealt, shared_of(dealt, dealt->deal->rank), x);
}
