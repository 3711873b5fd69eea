/* relax.cu: stencil loops with ghost zones (contract/relax_ops.h).
 *
 * One sweep alone: a thread takes a point.
 *
 * Several sweeps: a block takes a tile and passes through it layer by layer along its longest axis,
 * z in 3D and y in 2D. Sweep s works on the layer that lies s reaches behind the newest one, so all
 * sweeps of the pass follow each other through the tile like a wave. Shared memory holds rings of
 * layers: x before each sweep; and the coefficients, b, the reciprocal diagonal and p of the layers
 * that are under way. So every value is read from memory once per tile, whatever the height.
 *
 * Rings. At step t, sweep 1 reads layers t - 2 reach .. t of x, and sweep s reads 2 reach + 1
 * layers of what sweep s - 1 wrote, of which the newest was written in this step: a barrier comes
 * between. A copy into a ring begins after the step's first barrier. What it overwrites was last
 * read in the step before: by sweep 1 (x), and by the last sweep (coefficients).
 *
 * Points outside the grid hold 0 in all rings, and coefficients of couplings that leave the grid
 * count as 0. A product of two zeros, subtracted, does not change any sum, not even -0. */
#include <cuda_pipeline.h>
#include <string.h>

#include "cuda/launch.cuh"
#include "cuda/relax.cuh"
#include "geometry/named_shapes.h"

namespace {

/* ---- the named stencils, in the kernel's axes: x, then the other axis of a layer, then the axis
 * along which layers follow each other ---- */

struct step_to {
    int dx, dy, dz;
};

template <int name> struct lower_of;
#define LOWER_OFFSET(dx, dy, dz) {dx, dy, dz},
#define LOWER_OF(name, lower)                                                                      \
    template <> struct lower_of<SHAPE_##name> {                                                    \
        static constexpr int count = SHAPE_TERMS_##name;                                           \
        static constexpr bool flat = SHAPE_FLAT_##name;                                            \
        static __host__ __device__ constexpr step_to at(int j) {                                   \
            constexpr step_to table[] = {lower{-1, 0, 0}};                                         \
            return table[j];                                                                       \
        }                                                                                          \
    };
GSW_NAMED_STENCILS(LOWER_OF, LOWER_OFFSET)
#undef LOWER_OF
#undef LOWER_OFFSET

template <int name> struct stencil_of {
    using lower = lower_of<name>;
    static constexpr int center = lower::count, terms = 2 * lower::count + 1;
    static constexpr bool flat = lower::flat;
    /* layers whose copies are under way */
    static constexpr int ahead = flat ? 3 : 1;

    static __host__ __device__ constexpr step_to at(int e) {
        const step_to o = e < center   ? lower::at(e)
                          : e > center ? lower::at(terms - 1 - e)
                                       : step_to{0, 0, 0};
        const int sign = e < center ? 1 : -1;
        return flat ? step_to{sign * o.dx, 0, sign * o.dy}
                    : step_to{sign * o.dx, sign * o.dy, sign * o.dz};
    }
    static __host__ __device__ constexpr int find_reach(int axis) {
        int reach = 0;
        for (int e = 0; e < terms; e++) {
            const int d = axis == 0 ? at(e).dx : axis == 1 ? at(e).dy : at(e).dz;
            reach = d > reach ? d : reach;
        }
        return reach;
    }
    static constexpr int reach_x = find_reach(0), reach_y = find_reach(1), reach = find_reach(2);
    static constexpr int window = 2 * reach + 1; /* layers that a sweep reads */
};

/* ---- a pass ---- */

constexpr int HEIGHTS = GSW_RELAX_HEIGHT_MAX;
constexpr int64_t BLOCKS_MOST = int64_t{1} << 30;

template <int terms> struct relax_job {
    const double *a[terms];
    const double *b, *x, *p;
    double *y, *q;
    int64_t stride_y, stride_z;     /* rows from one line, and from one layer, to the next */
    int32_t nx, ny, nz;             /* the grid, */
    int32_t tile_x, tile_y, tile_z; /* a tile, */
    int32_t tiles_x, tiles_y;       /* and the tiles */
    int32_t sweeps, zero;
    double alpha[HEIGHTS], beta[HEIGHTS];
};

__device__ __forceinline__ bool within(int i, int extent) {
    return static_cast<unsigned>(i) < static_cast<unsigned>(extent);
}

/* p and x after a sweep at one point. */
struct stepped {
    double p, x;
};

__device__ __forceinline__ stepped step_of(double sum, double reciprocal, double alpha, double beta,
                                           double p, double x, bool from_zero) {
    const double t = __dmul_rn(sum, reciprocal);
    const double next = beta != 0 ? fma(alpha, t, __dmul_rn(beta, p)) : __dmul_rn(alpha, t);
    return {next, from_zero ? next : __dadd_rn(x, next)};
}

/* ---- one sweep ---- */

enum { POINTS = 256 };

template <int name>
__global__ void __launch_bounds__(POINTS) sweep_once(const relax_job<stencil_of<name>::terms> job) {
    using stencil = stencil_of<name>;
    take_turn();
    const int64_t points = int64_t{job.nx} * job.ny * job.nz;
    const bool narrow = points <= int64_t{UINT32_MAX};
    const bool y_first = job.stride_y <= job.stride_z; /* which axis a row number counts first */
    const int middle = y_first ? job.ny : job.nz;
    for (int64_t row = int64_t{blockIdx.x} * POINTS + threadIdx.x; row < points;
         row += int64_t{gridDim.x} * POINTS) {
        const int64_t line =
            narrow ? static_cast<uint32_t>(row) / static_cast<uint32_t>(job.nx) : row / job.nx;
        const int64_t far =
            narrow ? static_cast<uint32_t>(line) / static_cast<uint32_t>(middle) : line / middle;
        const int px = static_cast<int>(row - line * job.nx);
        const int near_axis = static_cast<int>(line - far * middle);
        const int py = y_first ? near_axis : static_cast<int>(far);
        const int pz = y_first ? static_cast<int>(far) : near_axis;
        const double diagonal = job.a[stencil::center][row];
        const double own = job.zero ? 0 : job.x[row];
        double sum = job.b[row];
        if (!job.zero) {
            double a[stencil::terms], x[stencil::terms];
#pragma unroll
            for (int e = 0; e < stencil::terms; e++) {
                const step_to o = stencil::at(e);
                const bool inside = (o.dx == 0 || within(px + o.dx, job.nx)) &&
                                    (o.dy == 0 || within(py + o.dy, job.ny)) &&
                                    (o.dz == 0 || within(pz + o.dz, job.nz));
                a[e] = e == stencil::center ? diagonal : inside ? job.a[e][row] : 0;
                x[e] = e == stencil::center ? own
                       : inside ? job.x[row + o.dx + o.dy * job.stride_y + o.dz * job.stride_z]
                                : 0;
            }
#pragma unroll
            for (int e = 0; e < stencil::terms; e++)
                sum = fma(-a[e], x[e], sum);
        }
        const double before = job.beta[0] != 0 ? job.p[row] : 0;
        const stepped after = step_of(sum, __drcp_rn(diagonal), job.alpha[0], job.beta[0], before,
                                      own, job.zero != 0);
        job.y[row] = after.x;
        if (job.q)
            job.q[row] = after.p;
    }
}

/* ---- several sweeps ---- */

/* Where things lie in shared memory, in values. Coefficients are kept for the points that the first
 * sweep computes. */
template <int name> struct rings {
    using stencil = stencil_of<name>;
    int wide, high, layer; /* points of a layer of x */
    int wide_a, layer_a;   /* and of the coefficients' */
    int arrays, depth;     /* arrays of a record: coefficients, b, reciprocal, p; layers */
    static constexpr int depth_x = stencil::window + stencil::ahead;
    int between; /* values of the ring before the first sweep */

    __host__ __device__ rings(int tile_x, int tile_y, int sweeps, bool directed)
        : wide(tile_x + 2 * sweeps * stencil::reach_x),
          high(tile_y + 2 * sweeps * stencil::reach_y), layer(wide * high),
          wide_a(wide - 2 * stencil::reach_x), layer_a(wide_a * (high - 2 * stencil::reach_y)),
          arrays(stencil::terms + 2 + (directed ? 1 : 0)),
          depth((sweeps - 1) * stencil::reach + 1 + stencil::ahead), between(depth_x * layer) {
    }

    __host__ __device__ int record(int at) const {
        return at % depth * arrays * layer_a;
    }
    __host__ __device__ int x_before(int sweep, int at) const {
        return sweep == 1
                   ? at % depth_x * layer
                   : between + ((sweep - 2) * stencil::window + at % stencil::window) * layer;
    }
    __host__ __device__ int64_t values_x(int sweeps) const {
        return between + int64_t{sweeps - 1} * stencil::window * layer;
    }
    __host__ __device__ int64_t bytes(int sweeps) const {
        return 8 * (values_x(sweeps) + int64_t{depth} * arrays * layer_a);
    }
};

__device__ __forceinline__ void copy_value(double *to, const double *from, bool there) {
    __pipeline_memcpy_async(to, from, sizeof *to, there ? 0 : sizeof *to);
}

/* The tile of a block, and the points of a layer that a thread takes. Layers count from the first
 * one that the tile reads. */
struct tile_of {
    int x, y, z;      /* the first point that it reads, */
    int layers;       /* and its layers */
    int lx, ly, rows; /* x of the thread's points; y of the first one, and from one to the next */
};

/* Begins to copy layer `at` of x, and layer `at` - reach of what the first sweep needs besides. */
template <int name>
__device__ __forceinline__ void begin_layer(const relax_job<stencil_of<name>::terms> &job,
                                            const rings<name> &r, const tile_of &tile, int at,
                                            double *x, double *a) {
    using stencil = stencil_of<name>;
    const int lx = tile.lx, gx = tile.x + lx;
    const bool in_x = within(gx, job.nx);
    const int at_a = at - stencil::reach;
    const bool layer_x = !job.zero && at < tile.layers && within(tile.z + at, job.nz);
    const bool layer_a = at_a >= stencil::reach && at_a < tile.layers - stencil::reach &&
                         within(tile.z + at_a, job.nz);
    double *to_x = x + r.x_before(1, at);
    double *to_a = a + (at_a < 0 ? 0 : r.record(at_a));
    for (int ly = tile.ly; ly < r.high; ly += tile.rows) {
        const int gy = tile.y + ly;
        const bool in = in_x && within(gy, job.ny);
        const int64_t line = gx + gy * job.stride_y;
        if (at < tile.layers) {
            const bool there = in && layer_x;
            const int64_t row = there ? line + (tile.z + at) * job.stride_z : 0;
            copy_value(to_x + ly * r.wide + lx, job.x + row, there);
        }
        const int ax = lx - stencil::reach_x, ay = ly - stencil::reach_y;
        if (!(in && layer_a) || !within(ax, r.wide_a) || !within(ay, r.high - 2 * stencil::reach_y))
            continue;
        const int64_t row = line + (tile.z + at_a) * job.stride_z;
        double *to = to_a + ay * r.wide_a + ax;
#pragma unroll
        for (int e = 0; e < stencil::terms; e++) {
            const step_to o = stencil::at(e);
            const bool there = (o.dx == 0 || within(gx + o.dx, job.nx)) &&
                               (o.dy == 0 || within(gy + o.dy, job.ny)) &&
                               (o.dz == 0 || within(tile.z + at_a + o.dz, job.nz));
            copy_value(to + e * r.layer_a, job.a[e] + row, there);
        }
        copy_value(to + stencil::terms * r.layer_a, job.b + row, true);
        if (job.beta[0] != 0)
            copy_value(to + (stencil::terms + 2) * r.layer_a, job.p + row, true);
    }
}

/* Sweep number `sweep` of layer `at`. */
template <int name>
__device__ __forceinline__ void sweep_layer(const relax_job<stencil_of<name>::terms> &job,
                                            const rings<name> &r, const tile_of &tile, int sweep,
                                            int at, double *x, double *a) {
    using stencil = stencil_of<name>;
    const bool last = sweep == job.sweeps, from_zero = job.zero && sweep == 1;
    const double alpha = job.alpha[sweep - 1], beta = job.beta[sweep - 1];
    const double *from[stencil::window];
#pragma unroll
    for (int k = 0; k < stencil::window; k++)
        from[k] = x + r.x_before(sweep, at - stencil::reach + k);
    double *to = x + r.x_before(last ? 1 : sweep + 1, at); /* not used by the last one */
    double *record = a + r.record(at);
    const int lx = tile.lx, gx = tile.x + lx, gz = tile.z + at;
    if (lx < sweep * stencil::reach_x || lx >= r.wide - sweep * stencil::reach_x)
        return;
    for (int ly = tile.ly; ly < r.high; ly += tile.rows) {
        if (ly < sweep * stencil::reach_y || ly >= r.high - sweep * stencil::reach_y)
            continue;
        const int gy = tile.y + ly, own = ly * r.wide + lx;
        if (!within(gx, job.nx) || !within(gy, job.ny) || !within(gz, job.nz)) {
            if (!last)
                to[own] = 0;
            continue;
        }
        double *mine = record + (ly - stencil::reach_y) * r.wide_a + lx - stencil::reach_x;
        double sum = mine[stencil::terms * r.layer_a];
        if (!from_zero) {
#pragma unroll
            for (int e = 0; e < stencil::terms; e++) {
                const step_to o = stencil::at(e);
                sum = fma(-mine[e * r.layer_a],
                          from[o.dz + stencil::reach][own + o.dy * r.wide + o.dx], sum);
            }
        }
        double *reciprocal = mine + (stencil::terms + 1) * r.layer_a;
        double *p = mine + (stencil::terms + 2) * r.layer_a;
        const double scale =
            sweep == 1 ? __drcp_rn(mine[stencil::center * r.layer_a]) : *reciprocal;
        const stepped after = step_of(sum, scale, alpha, beta, beta != 0 ? *p : 0,
                                      from[stencil::reach][own], from_zero);
        if (last) {
            const int64_t row = gx + gy * job.stride_y + gz * job.stride_z;
            job.y[row] = after.x;
            if (job.q)
                job.q[row] = after.p;
            continue;
        }
        if (sweep == 1)
            *reciprocal = scale;
        if (job.beta[sweep] != 0)
            *p = after.p;
        to[own] = after.x;
    }
}

enum { THREADS_MOST = 512 };

template <int name>
__global__ void __launch_bounds__(THREADS_MOST)
    sweep_tile(const relax_job<stencil_of<name>::terms> job) {
    using stencil = stencil_of<name>;
    extern __shared__ double shared[];
    const bool directed = job.q != nullptr || job.beta[0] != 0 || job.beta[1] != 0;
    const rings<name> r(job.tile_x, job.tile_y, job.sweeps, directed);
    double *x = shared, *a = shared + r.values_x(job.sweeps);
    const int number = static_cast<int>(blockIdx.x);
    const int layer = number / job.tiles_x, tz = layer / job.tiles_y;
    const int first_z = tz * job.tile_z;
    const int most = job.nz - first_z < job.tile_z ? job.nz - first_z : job.tile_z;
    const tile_of tile = {(number - layer * job.tiles_x) * job.tile_x -
                              job.sweeps * stencil::reach_x,
                          (layer - tz * job.tiles_y) * job.tile_y - job.sweeps * stencil::reach_y,
                          first_z - job.sweeps * stencil::reach,
                          most + 2 * job.sweeps * stencil::reach,
                          static_cast<int>(threadIdx.x) % r.wide,
                          static_cast<int>(threadIdx.x) / r.wide,
                          static_cast<int>(blockDim.x) / r.wide};
    take_turn();
    for (int at = 0; at < stencil::ahead; at++) {
        begin_layer<name>(job, r, tile, at, x, a);
        __pipeline_commit();
    }
    for (int at = 0; at < tile.layers; at++) {
        __pipeline_wait_prior(stencil::ahead - 1);
        __syncthreads();
        begin_layer<name>(job, r, tile, at + stencil::ahead, x, a);
        __pipeline_commit();
        for (int sweep = 1; sweep <= job.sweeps; sweep++) {
            const int done = at - sweep * stencil::reach;
            if (sweep > 1)
                __syncthreads();
            if (done >= sweep * stencil::reach && done < tile.layers - sweep * stencil::reach)
                sweep_layer<name>(job, r, tile, sweep, done, x, a);
        }
    }
}

/* ---- which kernel, and its tiles ---- */

/* What a stencil's kernels are, without its type. */
struct stencil_kernels {
    const void *once, *tile;
    int32_t reach[3]; /* in the kernel's axes */
    bool flat;
    size_t (*bytes)(const gsw_relax_tile *tile, int32_t sweeps, bool directed);
    cudaError_t (*launch)(const gsw_cuda *cuda, const gsw_relax_pass *pass);
};

/* The tile in the kernel's axes. */
template <int name> void to_kernel(const int64_t from[3], int32_t to[3]) {
    constexpr bool flat = stencil_of<name>::flat;
    to[0] = static_cast<int32_t>(from[0]);
    to[1] = static_cast<int32_t>(from[flat ? 2 : 1]);
    to[2] = static_cast<int32_t>(from[flat ? 1 : 2]);
}

template <int name> size_t bytes_of(const gsw_relax_tile *tile, int32_t sweeps, bool directed) {
    int32_t extent[3];
    to_kernel<name>(tile->extent, extent);
    return static_cast<size_t>(rings<name>(extent[0], extent[1], sweeps, directed).bytes(sweeps));
}

/* Threads of a block: whole rows of a layer. */
template <int name> unsigned threads_of(const rings<name> &r) {
    const int rows = THREADS_MOST / r.wide;
    return static_cast<unsigned>(r.wide * (rows < r.high ? rows : r.high));
}

int32_t tiles_along(int32_t extent, int32_t tile) {
    return extent / tile + (extent % tile != 0);
}

template <int name> cudaError_t launch(const gsw_cuda *cuda, const gsw_relax_pass *pass) {
    using stencil = stencil_of<name>;
    const gsw_grid *g = &pass->matrix->grid;
    const int64_t extent[3] = {g->nx, g->ny, g->nz};
    int32_t n[3], tile[3];
    relax_job<stencil::terms> job = {};
    to_kernel<name>(extent, n);
    to_kernel<name>(pass->tile->extent, tile);
    for (int e = 0; e < stencil::terms; e++)
        job.a[e] = static_cast<const double *>(pass->matrix->array.values[e]);
    job.b = pass->b;
    job.x = pass->zero ? pass->b : pass->x;
    job.p = pass->p;
    job.y = pass->y;
    job.q = pass->q;
    job.stride_y = stencil::flat ? g->nx * g->ny : g->nx;
    job.stride_z = stencil::flat ? g->nx : g->nx * g->ny;
    job.nx = n[0], job.ny = n[1], job.nz = n[2];
    job.tile_x = tile[0], job.tile_y = tile[1], job.tile_z = tile[2];
    job.tiles_x = tiles_along(n[0], tile[0]);
    job.tiles_y = tiles_along(n[1], tile[1]);
    job.sweeps = pass->sweeps;
    job.zero = pass->zero;
    for (int s = 0; s < pass->sweeps; s++) {
        job.alpha[s] = pass->alpha[s];
        job.beta[s] = pass->beta[s];
    }
    if (pass->sweeps == 1) {
        const int64_t points = g->nx * g->ny * g->nz, blocks = (points + POINTS - 1) / POINTS;
        return launch_kernel(cuda, sweep_once<name>,
                             static_cast<unsigned>(blocks < BLOCKS_MOST ? blocks : BLOCKS_MOST),
                             POINTS, 0, job);
    }
    const bool directed = job.q != nullptr || job.beta[0] != 0 || job.beta[1] != 0;
    const rings<name> r(tile[0], tile[1], pass->sweeps, directed);
    const int64_t blocks = int64_t{job.tiles_x} * job.tiles_y * tiles_along(n[2], tile[2]);
    return launch_kernel(cuda, sweep_tile<name>, static_cast<unsigned>(blocks), threads_of(r),
                         static_cast<size_t>(r.bytes(pass->sweeps)), job);
}

template <int name> stencil_kernels kernels_of() {
    using stencil = stencil_of<name>;
    return {(const void *)sweep_once<name>,
            (const void *)sweep_tile<name>,
            {stencil::reach_x, stencil::reach_y, stencil::reach},
            stencil::flat,
            bytes_of<name>,
            launch<name>};
}

/* NULL: the stencil has no name. */
const stencil_kernels *find_kernels(const gsw_stencil *stencil) {
#define KERNELS_OF(name, lower) kernels_of<SHAPE_##name>(),
    static const stencil_kernels all[] = {GSW_NAMED_STENCILS(KERNELS_OF, GSW_NO_OFFSET)};
#undef KERNELS_OF
    const char *name = gsw_stencil_name(stencil);
    for (int32_t k = 0; k < GSW_NAMED_COUNT; k++)
        if (strcmp(gsw_named_stencils[k].name, name) == 0)
            return &all[k];
    return nullptr;
}

/* Layers of tiles, their ghost zone included, and lengths along the axis of layers. */
struct layer_shape {
    int32_t wide, high;
};
constexpr layer_shape FLAT_LAYERS[] = {{128, 1}, {256, 1}, {512, 1}};
constexpr layer_shape LAYERS[] = {{32, 8}, {32, 12}, {32, 16}, {48, 10}, {48, 14},
                                  {64, 6}, {64, 8},  {64, 10}, {64, 12}, {64, 14}};
constexpr int32_t LENGTHS[] = {16, 32, 64, 128, 256, 512};

template <typename Type, size_t count> constexpr int32_t length_of(const Type (&)[count]) {
    return static_cast<int32_t>(count);
}

/* Tiles that a device holds at a time, by shared memory and threads. */
int64_t resident(const gsw_cuda *cuda, size_t bytes, int32_t threads) {
    const int64_t reserved = 1024; /* bytes of each block, for the system */
    const int64_t by_memory =
        cuda->shared_per_multiprocessor / (static_cast<int64_t>(bytes) + reserved);
    const int64_t by_threads = 2048 / ((threads + 31) / 32 * 32);
    const int64_t both = by_memory < by_threads ? by_memory : by_threads;
    return cuda->multiprocessors * (both < 1 ? 1 : both);
}

} // namespace

int gsw_cuda_relax_tile(gsw_context *context, const gsw_matrix *matrix, int32_t height,
                        int directed, int32_t k, gsw_relax_tile *tile) {
    const gsw_cuda *cuda = gsw_cuda_of(context);
    const stencil_kernels *kernels = find_kernels(&matrix->stencil);
    const gsw_grid *g = &matrix->grid;
    if (!kernels || g->nx >= INT32_MAX / 2 || g->ny >= INT32_MAX / 2 || g->nz >= INT32_MAX / 2)
        return 0;
    *tile = {};
    tile->height = height;
    tile->stream = -1;
    tile->workers = 1;
    if (height == 1) {
        tile->extent[0] = g->nx, tile->extent[1] = g->ny, tile->extent[2] = g->nz;
        return k == 0;
    }
    const int32_t layers = kernels->flat ? length_of(FLAT_LAYERS) : length_of(LAYERS);
    for (int32_t number = 0, found = 0; number < layers * length_of(LENGTHS); number++) {
        const layer_shape layer =
            (kernels->flat ? FLAT_LAYERS : LAYERS)[number / length_of(LENGTHS)];
        const int32_t length = LENGTHS[number % length_of(LENGTHS)];
        const int32_t wide = layer.wide - 2 * height * kernels->reach[0];
        const int32_t high = layer.high - 2 * height * kernels->reach[1];
        if (wide < 1 || high < 1)
            continue;
        const int64_t tall = kernels->flat ? g->ny : g->nz;
        if (length > LENGTHS[0] && length >= 2 * tall)
            continue;
        tile->extent[0] = wide < g->nx ? wide : g->nx;
        tile->extent[kernels->flat ? 2 : 1] = kernels->flat || high < g->ny ? high : g->ny;
        tile->extent[kernels->flat ? 1 : 2] = length < tall ? length : tall;
        const size_t bytes = kernels->bytes(tile, height, directed != 0);
        if (bytes > static_cast<size_t>(cuda->shared_per_block) || found++ < k)
            continue;
        tile->stream = kernels->flat ? 1 : 2;
        const int32_t rows = THREADS_MOST / layer.wide;
        tile->workers = resident(cuda, bytes, layer.wide * (rows < layer.high ? rows : layer.high));
        return 1;
    }
    return 0;
}

gsw_status gsw_cuda_relax_prepare(gsw_context *context, const gsw_matrix *matrix) {
    const stencil_kernels *kernels = find_kernels(&matrix->stencil);
    if (!kernels)
        return gsw_fail(context, GSW_ERROR_UNSUPPORTED,
                        "relax: stencils without a name need the CPU backend");
    return gsw_cuda_allow_shared(context, kernels->tile, "a pass of sweeps");
}

gsw_status gsw_cuda_relax_pass(gsw_context *context, const gsw_relax_pass *pass) {
    const stencil_kernels *kernels = find_kernels(&pass->matrix->stencil);
    return gsw_cuda_check(context, kernels->launch(gsw_cuda_of(context), pass), "a pass of sweeps");
}

const gsw_relax_machine *gsw_cuda_relax_machine(gsw_context *context) {
    static const gsw_relax_machine machine = {
        .start = 3e-6,
        .bandwidth = 3e12,
        .ghost = 0.5,
        .point = 0,
        .term = 0,
        .line = 0,
        .synchronise = 3e-7,
        .cache_bytes = 0,
        .overlap = 1,
        .device_point = 1e-12,
        .device_term = 1e-12,
    };
    (void)context;
    return &machine;
}
