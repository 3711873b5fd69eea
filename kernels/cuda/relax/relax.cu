/* relax.cu: stencil loops with ghost zones (contract/relax_ops.h).
 *
 * One sweep alone: a thread takes a point. The named stencils have kernels of their own, which load
 * all entries of a row before the first product. Other stencils and grids beyond 32 bits share a
 * kernel with offsets that are known at run time.
 *
 * Several sweeps: a block takes a tile and passes through it layer by layer along one axis, z in 3D
 * and y in 2D. A thread owns a column, the points of the tile with one place in every layer. At a
 * step, sweep s works on the layer that lies s reaches behind the newest one, so all sweeps of the
 * pass follow each other through the tile like a wave.
 *
 * The coefficients of a layer stay in the registers of the threads that own its points, from the
 * first sweep to the last: they are read from memory once per tile, whatever the height. So does x
 * in the thread's own column. Values of other columns come through shared memory, which holds a
 * ring of layers of x before each sweep.
 *
 * Order. A barrier comes before each sweep of a step. Sweep s reads layers that sweep s - 1 wrote
 * in this step or earlier ones, before the barrier. A layer of a ring is overwritten window or more
 * steps after it was written. Its last readers were there one step earlier, and at least one
 * barrier lies between, as height is 2 at least.
 *
 * Points outside the grid hold 0 in all rings, and coefficients of couplings that leave the grid
 * count as 0. A product of two zeros, subtracted, does not change any sum, not even -0. A column of
 * the ghost zone is exact for fewer sweeps the nearer it lies to the edge; then it holds 0, which
 * nobody reads who is exact longer. */
#include "cuda/device/launch.cuh"
#include "cuda/vector/near_terms.cuh"
#include "relax.cuh"
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

/* A named stencil, by its SHAPE_. */
template <int id> struct stencil_of {
    using lower = lower_of<id>;
    static constexpr int center = lower::count, terms = 2 * center + 1;
    static constexpr bool flat = lower::flat;

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
            reach = d > reach ? d : -d > reach ? -d : reach;
        }
        return reach;
    }
    static constexpr int reach_x = find_reach(0), reach_y = find_reach(1), reach = find_reach(2);
};

/* ---- a pass ---- */

constexpr int HEIGHTS = GSW_RELAX_HEIGHT_MAX;
constexpr int64_t BLOCKS_MOST = int64_t{1} << 30;

template <typename Value, int terms> struct relax_job {
    const Value *a[terms];
    const Value *b, *x, *p;
    Value *y, *q;
    int64_t stride_y, stride_z;     /* rows from one line, and from one layer, to the next */
    int32_t nx, ny, nz;             /* the grid, */
    int32_t tile_x, tile_y, tile_z; /* a tile, */
    int32_t tiles_x, tiles_y;       /* and the tiles */
    int32_t sweeps, zero;
    Value alpha[HEIGHTS], beta[HEIGHTS];
};

template <typename Value, int id> using job_of = relax_job<Value, stencil_of<id>::terms>;

__device__ __forceinline__ bool within(int i, int extent) {
    return static_cast<unsigned>(i) < static_cast<unsigned>(extent);
}

__device__ __forceinline__ double product(double a, double b) {
    return __dmul_rn(a, b);
}

__device__ __forceinline__ float product(float a, float b) {
    return __fmul_rn(a, b);
}

__device__ __forceinline__ double total(double a, double b) {
    return __dadd_rn(a, b);
}

__device__ __forceinline__ float total(float a, float b) {
    return __fadd_rn(a, b);
}

__device__ __forceinline__ double inverse(double a) {
    return __drcp_rn(a);
}

__device__ __forceinline__ float inverse(float a) {
    return __frcp_rn(a);
}

/* p and x after a sweep at one point. */
template <typename Value> struct stepped { Value p, x; };

/* Products are rounded before they are added. */
template <typename Value>
__device__ __forceinline__ stepped<Value> step_of(Value sum, Value reciprocal, Value alpha,
                                                  Value beta, Value p, Value x, bool from_zero) {
    const Value t = product(sum, reciprocal);
    const Value next = beta != 0 ? multiply_add(alpha, t, product(beta, p)) : product(alpha, t);
    return {next, from_zero ? next : total(x, next)};
}

/* ---- one sweep ---- */

enum { POINTS = 256 };

template <typename Value, int id>
__global__ void __launch_bounds__(POINTS) sweep_once(const job_of<Value, id> job) {
    using stencil = stencil_of<id>;
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
        const Value diagonal = job.a[stencil::center][row];
        const Value own = job.zero ? 0 : job.x[row];
        Value sum = job.b[row];
        if (!job.zero) {
            Value a[stencil::terms], x[stencil::terms];
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
                sum = multiply_add(-a[e], x[e], sum);
        }
        const Value before = job.beta[0] != 0 ? job.p[row] : 0;
        const stepped<Value> after =
            step_of(sum, inverse(diagonal), job.alpha[0], job.beta[0], before, own, job.zero != 0);
        job.y[row] = after.x;
        if (job.q)
            job.q[row] = after.p;
    }
}

/* What one sweep needs besides the terms of any stencil. */
template <typename Value> struct any_job {
    const Value *diagonal, *b, *x, *p;
    Value *y, *q;
    Value alpha, beta;
    int32_t zero;
};

template <typename Value, typename Terms>
__global__ void __launch_bounds__(POINTS) sweep_any(const Terms terms, const any_job<Value> job) {
    take_turn();
    for (int64_t row = int64_t{blockIdx.x} * POINTS + threadIdx.x; row < terms.points;
         row += int64_t{gridDim.x} * POINTS) {
        subtracted<Value> sum[1] = {{job.b[row]}};
        if (!job.zero)
            any_row(terms, row, job.x, sum);
        const Value before = job.beta != 0 ? job.p[row] : 0, own = job.zero ? 0 : job.x[row];
        const stepped<Value> after = step_of(sum[0].value, inverse(job.diagonal[row]), job.alpha,
                                             job.beta, before, own, job.zero != 0);
        job.y[row] = after.x;
        if (job.q)
            job.q[row] = after.p;
    }
}

/* ---- several sweeps ---- */

/* A pass of `height` sweeps as a wave. A record is what a sweep needs of a layer besides x. */
template <typename Value, int id, int height> struct wave_of {
    using stencil = stencil_of<id>;
    enum : int {
        reach = stencil::reach,
        window = 2 * reach + 1,
        /* records: of the layers under way, and of the one whose loads are */
        records = (height - 1) * reach + 2,
        /* layers of a ring in shared memory: a power of two */
        ring = reach == 1 ? 4 : 8,
        /* registers, roughly, and the threads that they leave room for */
        registers = sizeof(Value) / 4 * (records * (stencil::terms + 3) + height * window) + 40,
        /* multigrid's polynomials in fp32 have degree 2 */
        most = sizeof(Value) == 4 ? 2
               : stencil::flat    ? HEIGHTS
                                  : 4,
        threads = stencil::flat      ? 256
                  : registers <= 124 ? 512
                  : registers <= 164 ? 384
                                     : 256,
        fits = registers <= 250 && height <= most
    };
};

template <typename Value, int terms> struct record { Value a[terms], b, reciprocal, p; };

/* A thread's column: the points of the tile with its x and y. */
struct column {
    int64_t row;     /* of the tile's first layer, which may lie outside the grid */
    uint32_t lacked; /* neighbours that it lacks along x and y (near.cuh) */
    bool inside;     /* of the grid, along x and y */
    int sweeps;      /* after which its value is still exact */
    int at;          /* in a layer of a ring */
};

/* Loads what the first sweep needs of layer z of the grid, which is inside. */
template <typename Value, int id>
__device__ __forceinline__ void load_record(const job_of<Value, id> &job, const column &mine,
                                            int64_t row, int z,
                                            record<Value, stencil_of<id>::terms> &to) {
    using stencil = stencil_of<id>;
    const uint32_t lacked =
        mine.lacked | lacks(static_cast<uint32_t>(z), static_cast<uint32_t>(job.nz)) << 8;
#pragma unroll
    for (int e = 0; e < stencil::terms; e++) {
        constexpr step_to none = {0, 0, 0};
        const step_to o = e == stencil::center ? none : stencil::at(e);
        to.a[e] = (lacked & all_needs(o.dx, o.dy, o.dz)) == 0 ? job.a[e][row] : 0;
    }
    to.b = job.b[row];
    if (job.beta[0] != 0)
        to.p = job.p[row];
}

template <typename Value, int id, int height>
__global__ void __launch_bounds__(wave_of<Value, id, height>::threads)
    sweep_wave(const job_of<Value, id> job, int wide) {
    using stencil = stencil_of<id>;
    using wave = wave_of<Value, id, height>;
    constexpr int reach = wave::reach, window = wave::window, records = wave::records;
    extern __shared__ double memory[];
    Value *shared = reinterpret_cast<Value *>(memory); /* [height][ring][layer] */
    const int area = static_cast<int>(blockDim.x), high = area / wide;
    const int lx = static_cast<int>(threadIdx.x) % wide, ly = static_cast<int>(threadIdx.x) / wide;
    const int number = static_cast<int>(blockIdx.x);
    const int plane = number / job.tiles_x, tz = plane / job.tiles_y;
    const int gx = (number - plane * job.tiles_x) * job.tile_x - height * stencil::reach_x + lx;
    const int gy = (plane - tz * job.tiles_y) * job.tile_y - height * stencil::reach_y + ly;
    const int first = tz * job.tile_z - height * reach; /* layer of the grid */
    const int most = job.nz - tz * job.tile_z < job.tile_z ? job.nz - tz * job.tile_z : job.tile_z;
    const int layers = most + 2 * height * reach;
    column mine;
    mine.inside = within(gx, job.nx) && within(gy, job.ny);
    mine.row = gx + gy * job.stride_y + first * job.stride_z;
    mine.lacked = lacks(static_cast<uint32_t>(gx), static_cast<uint32_t>(job.nx)) |
                  lacks(static_cast<uint32_t>(gy), static_cast<uint32_t>(job.ny)) << 4;
    mine.sweeps = mine.inside ? height : 0;
    for (int s = 1; s <= height; s++)
        if (lx < s * stencil::reach_x || lx >= wide - s * stencil::reach_x ||
            ly < s * stencil::reach_y || ly >= high - s * stencil::reach_y)
            mine.sweeps = mine.sweeps < s - 1 ? mine.sweeps : s - 1;
    mine.at = static_cast<int>(threadIdx.x);
    for (int k = 0; k < height * wave::ring; k++)
        shared[k * area + mine.at] = 0;
    take_turn();

    record<Value, stencil::terms> kept[records] = {};
    Value own[height][window] = {}; /* x before each sweep in this column */
    Value arriving = !job.zero && mine.inside && within(first, job.nz) ? job.x[mine.row] : 0;
    for (int begin = 0; begin < layers; begin += records) {
#pragma unroll
        for (int u = 0; u < records; u++) {
            const int at = begin + u; /* the newest layer of x */
            if (at >= layers)
                break;
#pragma unroll
            for (int k = 1; k < window; k++)
                own[0][k - 1] = own[0][k];
            own[0][window - 1] = arriving;
            shared[(at & (wave::ring - 1)) * area + mine.at] = arriving;
            const int next = at + 1, next_a = next - reach;
            arriving = 0;
            if (next < layers && within(first + next, job.nz) && mine.inside && !job.zero)
                arriving = job.x[mine.row + next * job.stride_z];
            if (next_a >= reach && next_a < layers - reach && within(first + next_a, job.nz) &&
                mine.sweeps > 0)
                load_record<Value, id>(job, mine, mine.row + next_a * job.stride_z, first + next_a,
                                       kept[(u + 1) % records]);
#pragma unroll
            for (int s = 1; s <= height; s++) {
                const int done = at - s * reach;
                record<Value, stencil::terms> &its =
                    kept[(u - (s - 1) * reach + height * records) % records];
                const Value *ring = shared + (s - 1) * wave::ring * area + mine.at;
                Value value = 0;
                __syncthreads();
                const bool active = done >= s * reach && done < layers - s * reach &&
                                    within(first + done, job.nz) && mine.sweeps >= s;
                if (active) {
                    Value sum = its.b;
                    if (s > 1 || !job.zero) {
#pragma unroll
                        for (int e = 0; e < stencil::terms; e++) {
                            const step_to o = stencil::at(e);
                            const Value x = o.dx == 0 && o.dy == 0
                                                ? own[s - 1][reach + o.dz]
                                                : ring[((done + o.dz) & (wave::ring - 1)) * area +
                                                       o.dy * wide + o.dx];
                            sum = multiply_add(-its.a[e], x, sum);
                        }
                    }
                    if (s == 1)
                        its.reciprocal = inverse(its.a[stencil::center]);
                    const stepped<Value> after =
                        step_of(sum, its.reciprocal, job.alpha[s - 1], job.beta[s - 1], its.p,
                                own[s - 1][reach], s == 1 && job.zero);
                    value = after.x;
                    its.p = after.p;
                    if (s == height) {
                        job.y[mine.row + done * job.stride_z] = value;
                        if (job.q)
                            job.q[mine.row + done * job.stride_z] = after.p;
                    }
                }
                if (s < height) {
#pragma unroll
                    for (int k = 1; k < window; k++)
                        own[s][k - 1] = own[s][k];
                    own[s][window - 1] = value;
                    shared[(s * wave::ring + (done & (wave::ring - 1))) * area + mine.at] = value;
                }
            }
        }
    }
}

/* ---- which kernel, and its tiles ---- */

/* The kernel of a height, without its types. */
struct wave_kernel {
    const void *kernel;  /* NULL: there is none */
    int threads, layers; /* at most so many threads; layers of values in shared memory */
};

/* What a stencil's kernels are, without its type. */
struct stencil_kernels {
    int32_t reach[3]; /* in the kernels' axes */
    bool flat;
    wave_kernel wave[HEIGHTS + 1];
    cudaError_t (*launch)(const gsw_cuda *cuda, const gsw_relax_pass *pass, int32_t wide,
                          int32_t high);
};

/* An extent in the kernels' axes, and back. */
void turn(bool flat, const int64_t from[3], int64_t to[3]) {
    to[0] = from[0];
    to[1] = from[flat ? 2 : 1];
    to[2] = from[flat ? 1 : 2];
}

int32_t tiles_along(int64_t extent, int64_t tile) {
    return static_cast<int32_t>(extent / tile + (extent % tile != 0));
}

unsigned blocks_for(const gsw_grid *g) {
    const int64_t points = g->nx * g->ny * g->nz, blocks = (points + POINTS - 1) / POINTS;
    return static_cast<unsigned>(blocks < BLOCKS_MOST ? blocks : BLOCKS_MOST);
}

template <typename Value, int id, int height>
cudaError_t launch_wave(const gsw_cuda *cuda, const job_of<Value, id> &job, unsigned blocks,
                        int32_t wide, int32_t high) {
    if constexpr (height > HEIGHTS) {
        return cudaErrorInvalidValue;
    } else {
        if (job.sweeps != height)
            return launch_wave<Value, id, height + 1>(cuda, job, blocks, wide, high);
        using wave = wave_of<Value, id, height>;
        if constexpr (wave::fits) {
            const size_t values = static_cast<size_t>(height) * wave::ring * wide * high;
            return launch_kernel(cuda, sweep_wave<Value, id, height>, blocks,
                                 static_cast<unsigned>(wide * high), values * sizeof(Value), job,
                                 wide);
        }
        return cudaErrorInvalidValue;
    }
}

template <typename Value, int id>
cudaError_t launch(const gsw_cuda *cuda, const gsw_relax_pass *pass, int32_t wide, int32_t high) {
    using stencil = stencil_of<id>;
    const gsw_grid *g = &pass->matrix->grid;
    const int64_t extent[3] = {g->nx, g->ny, g->nz};
    int64_t n[3], tile[3];
    job_of<Value, id> job = {};
    turn(stencil::flat, extent, n);
    turn(stencil::flat, pass->tile->extent, tile);
    for (int e = 0; e < stencil::terms; e++)
        job.a[e] = static_cast<const Value *>(pass->matrix->array.values[e]);
    job.b = static_cast<const Value *>(pass->b);
    job.x = static_cast<const Value *>(pass->x);
    job.p = static_cast<const Value *>(pass->p);
    job.y = static_cast<Value *>(pass->y);
    job.q = static_cast<Value *>(pass->q);
    job.stride_y = stencil::flat ? g->nx * g->ny : g->nx;
    job.stride_z = stencil::flat ? g->nx : g->nx * g->ny;
    job.nx = static_cast<int32_t>(n[0]);
    job.ny = static_cast<int32_t>(n[1]);
    job.nz = static_cast<int32_t>(n[2]);
    job.sweeps = pass->sweeps;
    job.zero = pass->zero;
    for (int s = 0; s < pass->sweeps; s++) {
        job.alpha[s] = static_cast<Value>(pass->alpha[s]);
        job.beta[s] = static_cast<Value>(pass->beta[s]);
    }
    if (pass->sweeps == 1)
        return launch_kernel(cuda, sweep_once<Value, id>, blocks_for(g), POINTS, 0, job);
    job.tile_x = static_cast<int32_t>(tile[0]);
    job.tile_y = static_cast<int32_t>(tile[1]);
    job.tile_z = static_cast<int32_t>(tile[2]);
    job.tiles_x = tiles_along(n[0], tile[0]);
    job.tiles_y = tiles_along(n[1], tile[1]);
    const int64_t blocks = int64_t{job.tiles_x} * job.tiles_y * tiles_along(n[2], tile[2]);
    return launch_wave<Value, id, 2>(cuda, job, static_cast<unsigned>(blocks), wide, high);
}

template <typename Value, int id, int height> wave_kernel wave_kernel_of() {
    using wave = wave_of<Value, id, height>;
    if constexpr (wave::fits)
        return {(const void *)sweep_wave<Value, id, height>, wave::threads, height * wave::ring};
    return {nullptr, 0, 0};
}

template <typename Value, int id> stencil_kernels kernels_of() {
    using stencil = stencil_of<id>;
    return {{stencil::reach_x, stencil::reach_y, stencil::reach},
            stencil::flat,
            {{nullptr, 0, 0},
             {nullptr, 0, 0},
             wave_kernel_of<Value, id, 2>(),
             wave_kernel_of<Value, id, 3>(),
             wave_kernel_of<Value, id, 4>(),
             wave_kernel_of<Value, id, 5>(),
             wave_kernel_of<Value, id, 6>(),
             wave_kernel_of<Value, id, 7>(),
             wave_kernel_of<Value, id, 8>()},
            launch<Value, id>};
}

/* One sweep of a stencil without kernels of its own. */
template <typename Value> cudaError_t launch_any(const gsw_cuda *cuda, const gsw_relax_pass *pass) {
    const gsw_matrix *matrix = pass->matrix;
    const stencil_terms<Value> terms = gather_terms<Value>(matrix);
    const any_job<Value> job = {
        static_cast<const Value *>(matrix->array.values[matrix->stencil.center]),
        static_cast<const Value *>(pass->b),
        static_cast<const Value *>(pass->x),
        static_cast<const Value *>(pass->p),
        static_cast<Value *>(pass->y),
        static_cast<Value *>(pass->q),
        static_cast<Value>(pass->alpha[0]),
        static_cast<Value>(pass->beta[0]),
        pass->zero};
    const unsigned blocks = blocks_for(&matrix->grid);
    if (all_near(terms))
        return launch_kernel(cuda, sweep_any<Value, near_terms<Value>>, blocks, POINTS, 0,
                             narrow_terms<BATCH>(terms), job);
    return launch_kernel(cuda, sweep_any<Value, stencil_terms<Value>>, blocks, POINTS, 0, terms,
                         job);
}

/* NULL: the matrix has no kernels of its own (see above). */
const stencil_kernels *find_kernels(const gsw_matrix *matrix) {
#define KERNELS_OF(name, lower)                                                                    \
    {kernels_of<double, SHAPE_##name>(), kernels_of<float, SHAPE_##name>()},
    static const stencil_kernels all[][2] = {GSW_NAMED_STENCILS(KERNELS_OF, GSW_NO_OFFSET)};
#undef KERNELS_OF
    const gsw_grid *g = &matrix->grid;
    const char *name = gsw_stencil_name(&matrix->stencil);
    if (g->nx >= INT32_MAX / 2 || g->ny >= INT32_MAX / 2 || g->nz >= INT32_MAX / 2)
        return nullptr;
    for (int32_t k = 0; k < GSW_NAMED_COUNT; k++) {
        if (name == gsw_named_stencils[k].name)
            return &all[k][matrix->array.value_type == GSW_F32];
    }
    return nullptr;
}

/* ---- tiles ---- */

/* Threads of a block along x and the other axis of a layer: the tile and its ghost zone there. */
struct layer_shape {
    int32_t wide, high;
};
constexpr layer_shape FLAT_LAYERS[] = {{64, 1}, {128, 1}, {256, 1}};
constexpr layer_shape LAYERS[] = {{32, 16}, {64, 8}, {32, 12}, {64, 6}, {32, 8}, {64, 4}, {16, 16}};
constexpr int32_t ROUNDS[] = {1, 2, 3, 4, 6, 8, 12, 16}; /* in which the tiles fill the device */

template <typename Type, size_t count> constexpr int32_t length_of(const Type (&)[count]) {
    return static_cast<int32_t>(count);
}

/* The layer whose tile along x and the other axis that is; the reverse of what a tile says. */
layer_shape layer_of(const stencil_kernels *kernels, int32_t sweeps, const int64_t tile[3]) {
    return {static_cast<int32_t>(tile[0]) + 2 * sweeps * kernels->reach[0],
            static_cast<int32_t>(tile[1]) + 2 * sweeps * kernels->reach[1]};
}

/* How many blocks a device holds at a time, and what that means. Where registers do not suffice,
 * values go to memory: each byte costs half a percent (fitted like the model's constants). */
gsw_status fit(gsw_context *context, const void *kernel, int32_t threads, size_t bytes,
               gsw_relax_tile *tile) {
    cudaFuncAttributes attributes;
    int blocks = 0;
    GSW_TRY(gsw_cuda_check(
        context, cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, threads, bytes),
        "a pass of sweeps"));
    GSW_TRY(
        gsw_cuda_check(context, cudaFuncGetAttributes(&attributes, kernel), "a pass of sweeps"));
    blocks = blocks < 1 ? 1 : blocks;
    tile->workers = int64_t{blocks} * gsw_cuda_of(context)->multiprocessors;
    tile->load = blocks * ((threads + 31) / 32);
    tile->effort = 1 + 0.005 * static_cast<double>(attributes.localSizeBytes);
    return GSW_SUCCESS;
}

} // namespace

gsw_status gsw_cuda_relax_tile(gsw_context *context, const gsw_matrix *matrix, int32_t height,
                               int32_t k, gsw_relax_tile *tile) {
    const gsw_cuda *cuda = gsw_cuda_of(context);
    const stencil_kernels *kernels = find_kernels(matrix);
    const gsw_grid *g = &matrix->grid;
    const int64_t extent[3] = {g->nx, g->ny, g->nz};
    int64_t n[3], own[3];
    *tile = {};
    if (height == 1) {
        tile->height = k == 0;
        tile->stream = -1;
        tile->workers = 1;
        turn(false, extent, tile->extent);
        return GSW_SUCCESS;
    }
    if (!kernels)
        return GSW_SUCCESS;
    const wave_kernel *wave = &kernels->wave[height];
    const layer_shape *shapes = kernels->flat ? FLAT_LAYERS : LAYERS;
    const int32_t count = kernels->flat ? length_of(FLAT_LAYERS) : length_of(LAYERS);
    turn(kernels->flat, extent, n);
    for (int32_t shape = 0, first = 0; wave->kernel && shape < count; shape++) {
        const layer_shape layer = shapes[shape];
        const int32_t threads = layer.wide * layer.high;
        const size_t bytes =
            gsw_dtype_size(matrix->array.value_type) * static_cast<size_t>(wave->layers) * threads;
        own[0] = layer.wide - 2 * height * kernels->reach[0];
        own[1] = layer.high - 2 * height * kernels->reach[1];
        if (threads > wave->threads || own[0] < 1 || own[1] < 1 ||
            bytes > static_cast<size_t>(cuda->shared_per_block))
            continue;
        if (k >= first + length_of(ROUNDS)) {
            first += length_of(ROUNDS);
            continue;
        }
        GSW_TRY(fit(context, wave->kernel, threads, bytes, tile));
        const int64_t across = int64_t{tiles_along(n[0], own[0])} * tiles_along(n[1], own[1]);
        const int64_t along = ROUNDS[k - first] * tile->workers / across;
        own[2] = along < 1 ? n[2] : (n[2] + along - 1) / along;
        turn(kernels->flat, own, tile->extent);
        tile->stream = kernels->flat ? 1 : 2;
        tile->height = height;
        return GSW_SUCCESS;
    }
    return GSW_SUCCESS;
}

gsw_status gsw_cuda_relax_prepare(gsw_context *context, const gsw_matrix *matrix) {
    const stencil_kernels *kernels = find_kernels(matrix);
    if (!kernels)
        return GSW_SUCCESS;
    for (const wave_kernel &wave : kernels->wave)
        if (wave.kernel)
            GSW_TRY(gsw_cuda_allow_shared(context, wave.kernel, "a pass of sweeps"));
    return GSW_SUCCESS;
}

gsw_status gsw_cuda_relax_pass(gsw_context *context, const gsw_relax_pass *pass) {
    const stencil_kernels *kernels = find_kernels(pass->matrix);
    const gsw_cuda *cuda = gsw_cuda_of(context);
    int64_t tile[3];
    if (!kernels)
        return gsw_cuda_check(context,
                              pass->matrix->array.value_type == GSW_F32
                                  ? launch_any<float>(cuda, pass)
                                  : launch_any<double>(cuda, pass),
                              "a pass of sweeps");
    turn(kernels->flat, pass->tile->extent, tile);
    const layer_shape layer = layer_of(kernels, pass->sweeps, tile);
    return gsw_cuda_check(context, kernels->launch(cuda, pass, layer.wide, layer.high),
                          "a pass of sweeps");
}

/* What the device's memory could move per second at most. The driver takes long to tell its clock,
 * so it is asked once. */
static double peak_of(gsw_cuda *cuda) {
    int clock_khz = 0, width_bits = 0;
    if (cuda->peak != 0)
        return cuda->peak;
    const bool known = cudaDeviceGetAttribute(&clock_khz, cudaDevAttrMemoryClockRate,
                                              cuda->device) == cudaSuccess &&
                       cudaDeviceGetAttribute(&width_bits, cudaDevAttrGlobalMemoryBusWidth,
                                              cuda->device) == cudaSuccess &&
                       clock_khz > 0 && width_bits > 0;
    cuda->peak = known ? 2e3 * clock_khz * width_bits / 8 : -1; /* two transfers per clock */
    return cuda->peak;
}

/* Constants of the model, fitted to the times of 700 tiles on an H100 (perf/DECISIONS.md, Model of
 * stencil loops). A unit of load is a warp of a multiprocessor. Of other devices only the memory's
 * peak is known. Those of fp64 serve fp32, too: there only the bytes are half as many. */
void gsw_cuda_relax_machine(gsw_context *context, gsw_dtype type, gsw_relax_machine *machine) {
    const double peak_share = 0.928; /* that sweeps move */
    const double stream_share = 1.22;
    const double copy_share = 0.88; /* and a copy; it counts where the peak is not known */
    const double copy = 1e6 * (double)context->tuning.copy_mb_s;
    const double known = peak_of(gsw_cuda_of(context));
    const double peak = known > 0 ? known : copy > 0 ? copy / copy_share : 1e12;
    int l2 = 0;
    (void)type;
    *machine = {};
    if (cudaDeviceGetAttribute(&l2, cudaDevAttrL2CacheSize, gsw_cuda_of(context)->device) ==
        cudaSuccess)
        machine->near_bytes = 0.5 * l2;
    machine->bandwidth = peak_share * peak;
    machine->stream_bandwidth = stream_share * peak;
    machine->latency = 5.2e-7;
    machine->ghost = 0.63;
    machine->synchronise = 1.12e-7;
    machine->point = 3.4e-9;
    machine->term = 6.5e-10;
    machine->overlap = 1;
}
