/* vector.cu: fp64 vector operations for the Krylov solvers.
 *
 * All functions except dot() only queue work on the stream. They allocate nothing and do not wait,
 * so they can be captured in a graph. Sums have two stages whose shape depends only on the length.
 * So the bits are the same in every run and on every device. Each block leaves one partial sum. The
 * block that finishes last adds them up in a fixed order and uses the sums. */
#include "cuda/device/launch.cuh"
#include "cuda/device/sums.cuh"
#include "vector.cuh"

namespace {

/* A segment is the piece of a vector that a block works on at a time. Each thread starts several
 * loads before it needs the first value, in order to use the memory's whole bandwidth. Kernels that
 * read many vectors take fewer values of each. */
enum { THREADS = SUM_THREADS };

__host__ __device__ constexpr int values_of(int vectors) {
    return vectors > 3 ? 2 : 4;
}

/* Far more blocks than can run at a time. If there are more segments, blocks take them in rounds.
 */
constexpr int64_t BLOCKS_MAX = int64_t{1} << 30;

/* At least one block: a sum over nothing is 0. */
template <int values> unsigned blocks_for(int64_t n, int64_t most) {
    constexpr int64_t segment = THREADS * values;
    const int64_t segments = n > 0 ? (n - 1) / segment + 1 : 1;
    return static_cast<unsigned>(segments < most ? segments : most);
}

/* The beginning of the block's first segment, and the distance to its next one. */
template <int values> __device__ int64_t first_segment() {
    return int64_t{blockIdx.x} * THREADS * values;
}

template <int values> __device__ int64_t next_segment() {
    return int64_t{gridDim.x} * THREADS * values;
}

/* Where the thread's k-th value of a segment lies. */
__device__ int64_t place(int64_t segment, int k) {
    return segment + k * THREADS + threadIdx.x;
}

/* The thread's values of a segment; 0 beyond the end. */
template <int values, typename Value>
__device__ void load(int64_t n, int64_t segment, const Value *from, double (&to)[values]) {
#pragma unroll
    for (int k = 0; k < values; k++)
        to[k] = place(segment, k) < n ? static_cast<double>(from[place(segment, k)]) : 0.0;
}

template <int values, typename Value>
__device__ void store(int64_t n, int64_t segment, const double (&from)[values], Value *to) {
#pragma unroll
    for (int k = 0; k < values; k++)
        if (place(segment, k) < n)
            to[place(segment, k)] = static_cast<Value>(from[k]);
}

/* to = a from + b to. Where b is 0, the old value of `to` has no effect, even if it is NaN. */
template <int values>
__device__ void update(double a, const double (&from)[values], double b, double (&to)[values]) {
#pragma unroll
    for (int k = 0; k < values; k++)
        to[k] = b == 0 ? __dmul_rn(a, from[k]) : fma(a, from[k], __dmul_rn(b, to[k]));
}

template <typename Sum, int values>
__device__ void add_products(const double (&x)[values], const double (&y)[values], Sum &sum) {
#pragma unroll
    for (int k = 0; k < values; k++)
        add_product(sum, x[k], y[k]);
}

/* ---- Elementwise ---- */

__global__ void __launch_bounds__(THREADS) fill(int64_t n, double a, double *x) {
    take_turn();
    constexpr int values = values_of(1);
    const double all[values] = {a, a, a, a};
    for (int64_t segment = first_segment<values>(); segment < n; segment += next_segment<values>())
        store(n, segment, all, x);
}

/* y = a x + b y. x may be y, so all loads of a thread come before its stores. */
template <bool reads_y>
__global__ void __launch_bounds__(THREADS)
    axpby(int64_t n, double a, const double *x, double b, double *y) {
    take_turn();
    constexpr int values = values_of(2);
    for (int64_t segment = first_segment<values>(); segment < n;
         segment += next_segment<values>()) {
        double from[values], to[values] = {};
        load(n, segment, x, from);
        if (reads_y)
            load(n, segment, y, to);
        update(a, from, reads_y ? b : 0, to);
        store(n, segment, to, y);
    }
}

/* z_i = y_i + d_i x_i. z may be x or y, so all loads of a thread come before its stores. */
template <bool reads_y>
__global__ void __launch_bounds__(THREADS)
    add_scaled(int64_t n, const double *d, const double *x, const double *y, double *z) {
    take_turn();
    constexpr int values = values_of(3);
    for (int64_t segment = first_segment<values>(); segment < n;
         segment += next_segment<values>()) {
        double factor[values], from[values], to[values] = {};
        load(n, segment, d, factor);
        load(n, segment, x, from);
        if (reads_y)
            load(n, segment, y, to);
#pragma unroll
        for (int k = 0; k < values; k++)
            to[k] = reads_y ? fma(factor[k], from[k], to[k]) : __dmul_rn(factor[k], from[k]);
        store(n, segment, to, z);
    }
}

__global__ void __launch_bounds__(THREADS) change_signs(int64_t n, const double *x, double *y) {
    take_turn();
    constexpr int values = values_of(2);
    for (int64_t segment = first_segment<values>(); segment < n;
         segment += next_segment<values>()) {
        double held[values];
        load(n, segment, x, held);
#pragma unroll
        for (int k = 0; k < values; k++)
            held[k] = gsw_changes_sign(place(segment, k)) ? -held[k] : held[k];
        store(n, segment, held, y);
    }
}

/* ---- Sums ---- */

/* Products of so many vectors, `stride` apart, with y: at most `most` of them. */
template <int most>
__global__ void __launch_bounds__(THREADS)
    project(int64_t n, int count, const double *x, int64_t stride, const double *y,
            const sum_scratch scratch, double *products) {
    take_turn();
    constexpr int values = values_of(most + 1);
    double sum[most] = {};
    for (int64_t segment = first_segment<values>(); segment < n;
         segment += next_segment<values>()) {
        double left[most][values] = {}, right[values];
        load(n, segment, y, right);
#pragma unroll
        for (int j = 0; j < most; j++)
            if (j < count)
                load(n, segment, x + j * stride, left[j]);
#pragma unroll
        for (int j = 0; j < most; j++)
            add_products(left[j], right, sum[j]);
    }
    if (sum_of_grid(scratch, sum) && threadIdx.x == 0)
        for (int j = 0; j < most; j++)
            if (j < count)
                products[j] = sum[j];
}

/* Subtracts multiples of `count` vectors from y, one after the other, and computes y'y. A thread
 * keeps its values of y until all are subtracted. */
__global__ void __launch_bounds__(THREADS)
    subtract(int64_t n, int64_t count, const double *c, const double *x, int64_t stride, double *y,
             const sum_scratch scratch, double *square) {
    take_turn();
    constexpr int values = values_of(2);
    double sum[1] = {};
    for (int64_t segment = first_segment<values>(); segment < n;
         segment += next_segment<values>()) {
        double to[values];
        load(n, segment, y, to);
#pragma unroll 4
        for (int64_t j = 0; j < count; j++) {
            double from[values];
            load(n, segment, x + j * stride, from);
            update(-c[j], from, 1, to);
        }
        store(n, segment, to, y);
        add_products(to, to, sum[0]);
    }
    if (sum_of_grid(scratch, sum) && threadIdx.x == 0)
        *square = sum[0];
}

/* ---- Many systems: a part of a vector for each -------------------------------------------------
 */

/* A block takes a system. */
__global__ void __launch_bounds__(THREADS)
    squares_of_systems(int64_t n, const double *x, int64_t ldx, double *squares) {
    take_turn();
    constexpr int values = values_of(1);
    const double *own = x + blockIdx.x * ldx;
    double sum[1] = {};
    for (int64_t segment = 0; segment < n; segment += THREADS * values) {
        double held[values];
        load(n, segment, own, held);
        add_products(held, held, sum[0]);
    }
    sum_of_block(sum);
    if (threadIdx.x == 0)
        squares[blockIdx.x] = sum[0];
}

/* `each` blocks take a system. */
__global__ void __launch_bounds__(THREADS)
    scale_systems(int64_t n, unsigned each, const double *a, const double *x, int64_t ldx,
                  double *y, int64_t ldy) {
    take_turn();
    constexpr int values = values_of(2);
    const int64_t system = blockIdx.x / each;
    const double factor = a[system];
    if (isnan(factor))
        return;
    const int64_t segment = int64_t{blockIdx.x % each} * THREADS * values;
    double held[values] = {};
    if (factor != 0)
        load(n, segment, x + system * ldx, held);
#pragma unroll
    for (int k = 0; k < values; k++)
        held[k] *= factor;
    store(n, segment, held, y + system * ldy);
}

/* ---- Passes of CG and BiCGSTAB (krylov_passes.h) ---- */

struct pass_vectors {
    void *of[GSW_PASS_VECTORS];
};

/* A thread's values of the vectors of a pass. All indices are constants, so the values stay in
 * registers from the load through all updates and products to the store. */
template <gsw_pass which> struct pass_segment {
    static constexpr gsw_pass_shape shape = gsw_pass_shapes[which];
    static constexpr int values = values_of(shape.vectors);
    static constexpr int sums = shape.products > 0 ? shape.products : 1;

    double held[shape.vectors][values];

    __host__ __device__ static constexpr bool is_narrow(int v) {
        return v >= shape.vectors - shape.narrow;
    }

    /* An fp32 vector that the pass writes is not read. */
    template <int v = 0>
    __device__ void load_all(int64_t n, int64_t segment, const pass_vectors &vectors) {
        if constexpr (v < shape.vectors) {
            if constexpr (!is_narrow(v))
                load(n, segment, static_cast<const double *>(vectors.of[v]), held[v]);
            else if constexpr (!writes(v))
                load(n, segment, static_cast<const float *>(vectors.of[v]), held[v]);
            load_all<v + 1>(n, segment, vectors);
        }
    }

    __host__ __device__ static constexpr bool writes(int v) {
        for (int u = 0; u < shape.updates; u++)
            if (shape.update[u].to == v)
                return true;
        return false;
    }

    /* A vector is stored after the last of its updates. */
    template <int u = 0>
    __device__ void update_all(int64_t n, int64_t segment, const pass_vectors &vectors,
                               const double (&coefficient)[GSW_COEFFICIENTS]) {
        if constexpr (u < shape.updates) {
            constexpr int to = shape.update[u].to, from = shape.update[u].from;
            constexpr int a = shape.update[u].a, b = shape.update[u].b;
            constexpr bool again = u + 1 < shape.updates && shape.update[u + 1].to == to;
            update(coefficient[a], held[from], coefficient[b], held[to]);
            if constexpr (is_narrow(to))
                store(n, segment, held[to], static_cast<float *>(vectors.of[to]));
            else if constexpr (!again)
                store(n, segment, held[to], static_cast<double *>(vectors.of[to]));
            update_all<u + 1>(n, segment, vectors, coefficient);
        }
    }

    template <int d = 0> __device__ void multiply_all(threefold (&sum)[sums]) const {
        if constexpr (d < shape.products) {
            constexpr int left = shape.product[d].left, right = shape.product[d].right;
            add_products(held[left], held[right], sum[d]);
            multiply_all<d + 1>(sum);
        }
    }
};

/* Vectors of the list may be the same one: all loads of a thread come before its stores.
 *
 * If the method has ended, all blocks leave at once. Only a step changes the state, and a step runs
 * when all blocks have read the state. */
template <gsw_pass which>
__global__ void __launch_bounds__(THREADS)
    pass(int64_t n, const pass_vectors vectors, gsw_krylov_state *state,
         const sum_scratch scratch) {
    take_turn();
    using segment_type = pass_segment<which>;
    constexpr int values = segment_type::values, sums = segment_type::sums;
    if (state->ended != GSW_END_NOT)
        return;
    double coefficient[GSW_COEFFICIENTS];
    threefold sum[sums] = {};
#pragma unroll
    for (int c = 0; c < GSW_COEFFICIENTS; c++)
        coefficient[c] = c == GSW_ONE ? 1 : c == GSW_ZERO ? 0 : state->coefficient[c];
    for (int64_t segment = first_segment<values>(); segment < n;
         segment += next_segment<values>()) {
        segment_type own;
        own.load_all(n, segment, vectors);
        own.update_all(n, segment, vectors, coefficient);
        own.multiply_all(sum);
    }
    if constexpr (segment_type::shape.products > 0)
        if (sum_of_grid(scratch, sum) && threadIdx.x == 0)
            gsw_krylov_end_pass(state, which, sum, sums);
}

template <gsw_pass which>
cudaError_t launch_pass(gsw_context *context, int64_t n, const pass_vectors &vectors,
                        gsw_krylov_state *state) {
    const int64_t most =
        gsw_pass_shapes[which].products > 0 ? int64_t{GSW_CUDA_PARTIALS} : BLOCKS_MAX;
    const unsigned blocks = blocks_for<pass_segment<which>::values>(n, most);
    return launch_kernel(gsw_cuda_of(context), pass<which>, blocks, THREADS, 0, n, vectors, state,
                         scratch_of(context));
}

/* Writes copies of states into host memory, one per thread. The host reads them when the kernel has
 * ended. */
__global__ void post(const gsw_krylov_state *states, gsw_krylov_state *to) {
    take_turn();
    to[threadIdx.x] = states[threadIdx.x];
}

} // namespace

gsw_status gsw_cuda_fill(gsw_context *context, int64_t n, double a, double *x) {
    if (n == 0)
        return GSW_SUCCESS;
    return gsw_cuda_check(context,
                          launch_kernel(gsw_cuda_of(context), fill,
                                        blocks_for<values_of(1)>(n, BLOCKS_MAX), THREADS, 0, n, a,
                                        x),
                          "filling a vector");
}

gsw_status gsw_cuda_copy(gsw_context *context, int64_t n, const double *x, double *y) {
    if (n == 0)
        return GSW_SUCCESS;
    return gsw_cuda_check(context,
                          cudaMemcpyAsync(y, x, static_cast<size_t>(n) * sizeof *x,
                                          cudaMemcpyDeviceToDevice, gsw_cuda_of(context)->stream),
                          "copying a vector");
}

gsw_status gsw_cuda_axpby(gsw_context *context, int64_t n, double a, const double *x, double b,
                          double *y) {
    const unsigned blocks = blocks_for<values_of(2)>(n, BLOCKS_MAX);
    if (n == 0)
        return GSW_SUCCESS;
    return gsw_cuda_check(context,
                          launch_kernel(gsw_cuda_of(context), b == 0 ? axpby<false> : axpby<true>,
                                        blocks, THREADS, 0, n, a, x, b, y),
                          "adding vectors");
}

gsw_status gsw_cuda_add_scaled(gsw_context *context, int64_t n, const double *d, const double *x,
                               const double *y, double *z) {
    const unsigned blocks = blocks_for<values_of(3)>(n, BLOCKS_MAX);
    if (n == 0)
        return GSW_SUCCESS;
    return gsw_cuda_check(context,
                          launch_kernel(gsw_cuda_of(context),
                                        y == NULL ? add_scaled<false> : add_scaled<true>, blocks,
                                        THREADS, 0, n, d, x, y, z),
                          "scaling a vector");
}

gsw_status gsw_cuda_change_signs(gsw_context *context, int64_t n, const double *x, double *y) {
    const unsigned blocks = blocks_for<values_of(2)>(n, BLOCKS_MAX);
    if (n == 0)
        return GSW_SUCCESS;
    return gsw_cuda_check(
        context, launch_kernel(gsw_cuda_of(context), change_signs, blocks, THREADS, 0, n, x, y),
        "changing signs of a vector");
}

gsw_status gsw_cuda_squares(gsw_context *context, int64_t n, int64_t count, const double *x,
                            int64_t ldx, double *squares) {
    return gsw_cuda_check(context,
                          launch_kernel(gsw_cuda_of(context), squares_of_systems,
                                        static_cast<unsigned>(count), THREADS, 0, n, x, ldx,
                                        squares),
                          "squares of systems");
}

gsw_status gsw_cuda_scale(gsw_context *context, int64_t n, int64_t count, const double *a,
                          const double *x, int64_t ldx, double *y, int64_t ldy) {
    const unsigned each = blocks_for<values_of(2)>(n, BLOCKS_MAX);
    return gsw_cuda_check(context,
                          launch_kernel(gsw_cuda_of(context), scale_systems,
                                        static_cast<unsigned>(count) * each, THREADS, 0, n, each, a,
                                        x, ldx, y, ldy),
                          "scaling systems");
}

gsw_status gsw_cuda_dot(gsw_context *context, int64_t n, const double *x, const double *y,
                        double *result) {
    gsw_cuda *cuda = gsw_cuda_of(context);
    const unsigned blocks = blocks_for<values_of(2)>(n, GSW_CUDA_PARTIALS);
    GSW_TRY(gsw_cuda_check(context,
                           launch_kernel(cuda, project<1>, blocks, THREADS, 0, n, 1, x, 0, y,
                                         scratch_of(context), cuda->sum),
                           "a dot product"));
    GSW_TRY(gsw_cuda_check(context, cudaStreamSynchronize(cuda->stream), "a dot product"));
    GSW_TRY(gsw_cuda_reported(context));
    *result = *cuda->sum;
    return GSW_SUCCESS;
}

gsw_status gsw_cuda_project(gsw_context *context, int64_t n, int64_t count, const double *x,
                            int64_t stride, const double *y, double *products) {
    constexpr int most = GSW_CUDA_SUMS, values = values_of(most + 1);
    const unsigned blocks = blocks_for<values>(n, GSW_CUDA_PARTIALS);
    for (int64_t j = 0; j < count; j += most) {
        const int some = static_cast<int>(count - j < most ? count - j : most);
        GSW_TRY(gsw_cuda_check(context,
                               launch_kernel(gsw_cuda_of(context), project<most>, blocks, THREADS,
                                             0, n, some, x + j * stride, stride, y,
                                             scratch_of(context), products + j),
                               "products with a basis"));
    }
    return GSW_SUCCESS;
}

gsw_status gsw_cuda_subtract(gsw_context *context, int64_t n, int64_t count, const double *c,
                             const double *x, int64_t stride, double *y, double *square) {
    const unsigned blocks = blocks_for<values_of(2)>(n, GSW_CUDA_PARTIALS);
    return gsw_cuda_check(context,
                          launch_kernel(gsw_cuda_of(context), subtract, blocks, THREADS, 0, n,
                                        count, c, x, stride, y, scratch_of(context), square),
                          "subtracting vectors of a basis");
}

gsw_status gsw_cuda_krylov_pass(gsw_context *context, gsw_pass which, int64_t n,
                                void *const *vectors, gsw_krylov_state *state) {
    pass_vectors list = {};
    cudaError_t error = cudaSuccess;
    for (int v = 0; v < gsw_pass_shapes[which].vectors; v++)
        list.of[v] = vectors[v];
    switch (which) {
#define LAUNCH(pass)                                                                               \
    case pass:                                                                                     \
        error = launch_pass<pass>(context, n, list, state);                                        \
        break;
        LAUNCH(GSW_CG_NORM)
        LAUNCH(GSW_CG_RZ)
        LAUNCH(GSW_CG_NORM_RZ)
        LAUNCH(GSW_CG_DIRECTION)
        LAUNCH(GSW_CG_PW)
        LAUNCH(GSW_CG_UPDATE)
        LAUNCH(GSW_CG_UPDATE_NORM)
        LAUNCH(GSW_CG_NORM_PLAIN)
        LAUNCH(GSW_CG_UPDATE_PLAIN)
        LAUNCH(GSW_CG_NARROW)
        LAUNCH(GSW_CG_RZ_WIDEN)
        LAUNCH(GSW_CG_DIRECTION_WIDEN)
        LAUNCH(GSW_CG_UPDATE_NARROW)
        LAUNCH(GSW_BICGSTAB_START)
        LAUNCH(GSW_BICGSTAB_ALPHA)
        LAUNCH(GSW_BICGSTAB_HALF)
        LAUNCH(GSW_BICGSTAB_OMEGA)
        LAUNCH(GSW_BICGSTAB_UPDATE)
        LAUNCH(GSW_BICGSTAB_DIRECTION)
#undef LAUNCH
    case GSW_PASSES:
        break;
    }
    return gsw_cuda_check(context, error, "a pass over the vectors of a solver");
}

gsw_status gsw_cuda_krylov_post(gsw_context *context, int slot, int count,
                                const gsw_krylov_state *states, gsw_krylov_state *to) {
    gsw_cuda *cuda = gsw_cuda_of(context);
    (void)to; /* only for krylov_collect: a device cannot write there */
    GSW_TRY(gsw_cuda_check(
        context,
        launch_kernel(cuda, post, 1, static_cast<unsigned>(count), 0, states, cuda->state[slot]),
        "reading the state of a solver"));
    return gsw_cuda_check(context, cudaEventRecord(cuda->posted[slot], cuda->stream),
                          "reading the state of a solver");
}

gsw_status gsw_cuda_krylov_collect(gsw_context *context, int slot, int count,
                                   gsw_krylov_state *to) {
    gsw_cuda *cuda = gsw_cuda_of(context);
    GSW_TRY(gsw_cuda_check(context, cudaEventSynchronize(cuda->posted[slot]),
                           "waiting for an iteration"));
    GSW_TRY(gsw_cuda_reported(context));
    for (int i = 0; i < count; i++)
        to[i] = cuda->state[slot][i];
    return GSW_SUCCESS;
}
