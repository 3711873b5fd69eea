/* multigrid_interpolate.cu: weights of the interpolation between two levels, by tables: for levels
 * that multigrid_slot_weights.cu does not serve. A thread computes the weights of one fine point.
 * Edges come first, then faces, then centres, because each class uses the weights of smaller ones.
 */
#include "multigrid_tables.cuh"

namespace {

enum { THREADS = 128 };

/* The classes of a launch, one per row of blocks. */
struct class_list {
    int count;
    int class_[3];
};

/* A thread's values in shared memory lie THREADS apart. */
__device__ double &own(double *values, int i) {
    return values[i * THREADS + threadIdx.x];
}

/* A class of `size` axes, in shared memory. It has for each slot its place among those that differ
 * along these axes, and its side along each of them. */
template <int size> struct class_of_size {
    static constexpr int slots = size == 1 ? 3 : size == 2 ? 9 : 27;
    static constexpr int center = slots / 2, subsets = 1 << size;
    int8_t place[GSW_SLOTS], side[size][GSW_SLOTS];

    /* Called by the threads of a block, all of the same class; the first ones fill the tables. */
    __device__ void fill(int class_) {
        const int slot = (int)threadIdx.x;
        int at = 0, k = size;
        if (slot >= GSW_SLOTS)
            return;
        for (int axis = 2; axis >= 0; axis--)
            if (class_ >> axis & 1) {
                side[--k][slot] = (int8_t)gsw_slot_offset(slot, axis);
                at = 3 * at + gsw_slot_offset(slot, axis) + 1;
            }
        place[slot] = (int8_t)at;
    }
};

/* A fine point's row, collapsed over the axes outside its class. */
template <int size> struct collapsed {
    double diagonal, total, coupled;
    double side[2 * size]; /* before and after along each axis of the class */
};

template <int size, typename Value>
__device__ collapsed<size> collapse(const gsw_transfer *t, const level_matrix &m, row_view view,
                                    const class_of_size<size> &of, point p, double *slots) {
    using room = class_of_size<size>;
    collapsed<size> sum = {};
#pragma unroll
    for (int slot = 0; slot < room::slots; slot++)
        own(slots, slot) = 0;
    add_row<Value>(t, m, view, p, [&](int32_t slot, double value) {
        own(slots, of.place[slot]) += value;
        sum.total += value;
        if (slot == GSW_SLOT_CENTER)
            sum.diagonal += value;
#pragma unroll
        for (int k = 0; k < size; k++) {
            const int side = of.side[k][slot];
            if (side < 0)
                sum.side[2 * k] += value;
            if (side > 0)
                sum.side[2 * k + 1] += value;
        }
    });
#pragma unroll
    for (int slot = 0; slot < room::slots; slot++)
        sum.coupled += slot != room::center ? own(slots, slot) : 0;
    return sum;
}

/* The mean of the coarse neighbours that exist. */
__device__ void take_mean(const gsw_transfer *t, int class_, point at, double *w) {
    int exist = 0;
    for (int subset = 0; subset < GSW_CLASSES; subset++)
        if (!(subset & ~class_))
            exist += gsw_subset_exists(&t->coarse, subset, at.x, at.y, at.z);
    for (int subset = 0; subset < GSW_CLASSES; subset++)
        if (!(subset & ~class_))
            own(w, gsw_subset_index(class_, subset)) =
                gsw_subset_exists(&t->coarse, subset, at.x, at.y, at.z) ? 1.0 / exist : 0;
}

template <int size, typename Weight, typename Value>
__global__ void __launch_bounds__(THREADS)
    weigh(const transfer_tables *tables, const __grid_constant__ level_matrix m, row_view view,
          const __grid_constant__ weight_arrays<Weight> weights, const level_grid coarse,
          const class_list classes, int64_t points, unsigned long long *degenerate) {
    using room = class_of_size<size>;
    constexpr int subsets = room::subsets;
    __shared__ double slots[room::slots * THREADS], w[subsets * THREADS];
    __shared__ room of;
    const gsw_transfer *t = &tables->transfer;
    const int class_ = classes.class_[blockIdx.y];
    of.fill(class_);
    __syncthreads();
    for (int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x; i < points;
         i += (int64_t)gridDim.x * THREADS) {
        const point at = point_of(coarse, i);
        const point p = {at.x * (1 + (t->axes & 1)) + (class_ & 1),
                         at.y * (1 + (t->axes >> 1 & 1)) + (class_ >> 1 & 1),
                         at.z * (1 + (t->axes >> 2 & 1)) + (class_ >> 2 & 1)};
        for (int k = 0; k < subsets; k++)
            own(w, k) = 0;
        if (is_inside(m, p)) {
            const collapsed<size> row = collapse<size, Value>(t, m, view, of, p, slots);
            for (int32_t k = t->first_term[class_]; k < t->first_term[class_ + 1]; k++) {
                const gsw_weight_term term = t->weight_term[k];
                const double coupling = own(slots, of.place[term.slot]);
                if (coupling == 0)
                    continue;
                const point from = {at.x + term.shift[0], at.y + term.shift[1],
                                    at.z + term.shift[2]};
                if (!is_inside(coarse, from))
                    continue;
                const double weight = term.weight == GSW_WEIGHT_ONE
                                          ? 1
                                          : weights.values[term.weight][row_of(coarse, from)];
                own(w, term.to) = fma(coupling, weight, own(w, term.to));
            }
            const double divisor =
                gsw_weight_divisor(row.diagonal, row.total, row.coupled, row.side, 2 * size);
            if (gsw_divisor_serves(divisor, row.diagonal)) {
                for (int k = 0; k < subsets; k++)
                    own(w, k) = -own(w, k) / divisor;
            } else {
                take_mean(t, class_, at, w);
                atomicAdd(degenerate, 1ULL);
            }
        }
        for (int k = 0; k < subsets; k++)
            weights.values[t->first[class_] + k][i] = (Weight)own(w, k);
    }
}

template <typename Weight, typename Value>
gsw_status launch(gsw_context *context, const gsw_transfer *t, const gsw_matrix *matrix,
                  row_view view, void *const *weights, unsigned long long *degenerate) {
    const gsw_grid *g = &t->coarse;
    const int64_t points = g->nx * g->ny * g->nz, blocks = (points + THREADS - 1) / THREADS;
    for (int size = 1; size <= gsw_class_size(t->axes); size++) {
        class_list classes = {};
        for (int class_ = 1; class_ < GSW_CLASSES; class_++)
            if (gsw_class_size(class_) == size && !(class_ & ~t->axes))
                classes.class_[classes.count++] = class_;
        const auto kernel = size == 1   ? weigh<1, Weight, Value>
                            : size == 2 ? weigh<2, Weight, Value>
                                        : weigh<3, Weight, Value>;
        kernel<<<dim3((unsigned)blocks, (unsigned)classes.count), THREADS, 0,
                 gsw_cuda_of(context)->stream>>>(tables_of(t), level_matrix_of(matrix), view,
                                                 weights_of<Weight>(t, weights), level_grid_of(g),
                                                 classes, points, degenerate);
        GSW_TRY(gsw_cuda_check_launch(context, "interpolating"));
    }
    return GSW_SUCCESS;
}

} // namespace

gsw_status gsw_cuda_interpolate(gsw_context *context, const gsw_transfer *transfer,
                                const gsw_matrix *matrix, gsw_rows rows, gsw_dtype type,
                                void *const *weights, int64_t *degenerate) {
    gsw_cuda *cuda = gsw_cuda_of(context);
    const row_view view = view_of_rows(transfer, rows);
    unsigned long long *count = reinterpret_cast<unsigned long long *>(cuda->partial), found;
    GSW_TRY(gsw_cuda_check(context, cudaMemsetAsync(count, 0, sizeof *count, cuda->stream),
                           "interpolating"));
    const bool f32 = holds_f32(matrix);
    const auto make = type == GSW_F64 ? f32 ? launch<double, float> : launch<double, double>
                      : f32 ? launch<float, float>
                                      : launch<float, double>;
    const bool in_slots = gsw_cuda_has_slots(transfer, matrix) && view != ROW_SYMMETRIC_PART_CUT;
    GSW_TRY(in_slots ? gsw_cuda_weigh_slots(context, transfer, matrix, view == ROW_SYMMETRIC_PART,
                                            type, weights, count)
                     : make(context, transfer, matrix, view, weights, count));
    GSW_TRY(context->ops->memory->download(context, &found, count, sizeof found));
    *degenerate = (int64_t)found;
    return GSW_SUCCESS;
}
