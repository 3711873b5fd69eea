/* multigrid_slot_weights.cu: weights of the interpolation where each coupling has a slot of its
 * own. A thread computes the weights of one fine point. Classes of few axes come first, because
 * larger ones use their weights. The kernel's first axes are those of the class. */
#include "multigrid_slots.cuh"

namespace {

enum { THREADS = 128, CLASSES = 3 };

/* A class of fine points. */
template <typename Weight> struct slot_class {
    ordered_grids grids;
    int32_t halved; /* bit set of the kernel's axes that are coarsened */
    slot_arrays a;
    ordered_weights<Weight> weights;
};

/* The classes of a launch, one per row of blocks. */
template <typename Weight> struct slot_classes { slot_class<Weight> of[CLASSES]; };

struct fine_point {
    int64_t row;
    uint32_t lacked; /* near.cuh */
    bool inside;
};

template <int size>
__device__ fine_point fine_point_of(const ordered_grids &g, int32_t halved,
                                    const ordered_point &p) {
    int32_t at[3];
    fine_point own = {0, 0, true};
#pragma unroll
    for (int k = 0; k < 3; k++) {
        at[k] = (halved >> k & 1 ? 2 * p.at[k] : p.at[k]) + (k < size ? 1 : 0);
        own.row += at[k] * g.fine_step[k];
        own.inside = own.inside && at[k] < g.fine[k];
    }
    own.lacked = ordered_lacks(g, at);
    return own;
}

/* A fine point's row, collapsed over the axes outside its class. */
template <int size> struct collapsed_row {
    static constexpr int slots = size == 1 ? 3 : size == 2 ? 9 : 27, center = slots / 2;
    double diagonal, total, coupled;
    double slot[slots];
    double side[2 * size]; /* before and after along each axis of the class */
};

template <int size, bool on_axes, bool mean, typename Weight>
__device__ void collapse(const slot_class<Weight> &s, const fine_point &own,
                         collapsed_row<size> &row) {
    using collapsed = collapsed_row<size>;
#pragma unroll
    for (int slot = 0; slot < GSW_SLOTS; slot++) {
        const int x = slot % 3 - 1, y = slot / 3 % 3 - 1, z = slot / 9 - 1;
        const bool has = (own.lacked & all_needs(x, y, z)) == 0;
        if (on_axes && (x != 0) + (y != 0) + (z != 0) > 1)
            continue;
        double value = 0;
        if (has && s.a.values[slot])
            value = s.a.values[slot][own.row];
        if (mean && has) {
            const double *mirror = s.a.values[GSW_SLOTS - 1 - slot];
            const double theirs =
                mirror ? mirror[own.row + distance_by(s.grids.fine_step, x, y, z)] : 0;
            value = 0.5 * value + 0.5 * theirs;
        }
        row.total += value;
        if (slot == GSW_SLOT_CENTER)
            row.diagonal = value;
        row.slot[slot % collapsed::slots] += value;
    }
#pragma unroll
    for (int slot = 0; slot < collapsed::slots; slot++) {
        if (slot == collapsed::center)
            continue;
        row.coupled += row.slot[slot];
#pragma unroll
        for (int k = 0; k < size; k++)
            if (gsw_slot_offset(slot, k) != 0)
                row.side[2 * k + (gsw_slot_offset(slot, k) > 0)] += row.slot[slot];
    }
}

/* Adds the couplings, times the weights of the points that they lead to. */
template <int size, typename Weight>
__device__ void add_weights(const slot_class<Weight> &s, const fine_point &own, int64_t i,
                            const collapsed_row<size> &row, double (&w)[1 << size]) {
#pragma unroll
    for (int slot = 0; slot < collapsed_row<size>::slots; slot++) {
        int class_ = 0, shift = 0; /* of the neighbour; from this coarse point to its own */
#pragma unroll
        for (int k = 0; k < size; k++) {
            class_ |= (gsw_slot_offset(slot, k) == 0) << k;
            shift |= (gsw_slot_offset(slot, k) > 0) << k;
        }
        if (class_ == (1 << size) - 1 ||
            (own.lacked & all_needs(gsw_slot_offset(slot, 0),
                                    size > 1 ? gsw_slot_offset(slot, 1) : 0,
                                    size > 2 ? gsw_slot_offset(slot, 2) : 0)) != 0)
            continue;
        const int64_t from =
            i + distance_by(s.grids.coarse_step, shift & 1, shift >> 1 & 1, shift >> 2);
#pragma unroll
        for (int subset = 0; subset < 1 << size; subset++) {
            if (subset & ~class_)
                continue;
            double weight = 1;
            if (class_ != 0)
                weight = (double)s.weights.values[ordered_weight(class_, subset)][from];
            w[shift | subset] = fma(row.slot[slot], weight, w[shift | subset]);
        }
    }
}

/* The mean of the coarse neighbours that exist. */
template <int size>
__device__ void take_mean(const ordered_grids &g, const ordered_point &p, double (&w)[1 << size]) {
    const auto exists = [&](int subset) {
        bool all = true;
#pragma unroll
        for (int k = 0; k < size; k++)
            all = all && p.at[k] + (subset >> k & 1) < g.coarse[k];
        return all;
    };
    int count = 0;
#pragma unroll
    for (int subset = 0; subset < 1 << size; subset++)
        count += exists(subset);
#pragma unroll
    for (int subset = 0; subset < 1 << size; subset++)
        w[subset] = exists(subset) ? 1.0 / count : 0;
}

template <int size, bool on_axes, bool mean, typename Weight>
__global__ void __launch_bounds__(THREADS)
    weigh_slots(const __grid_constant__ slot_classes<Weight> classes, int64_t points,
                unsigned long long *degenerate) {
    const slot_class<Weight> &s = classes.of[blockIdx.y];
    const int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    if (i >= points)
        return;
    const ordered_point p = ordered_point_of(s.grids, i);
    const fine_point own = fine_point_of<size>(s.grids, s.halved, p);
    double w[1 << size] = {};
    if (own.inside) {
        collapsed_row<size> row = {};
        collapse<size, on_axes, mean>(s, own, row);
        add_weights<size>(s, own, i, row, w);
        const double divisor =
            gsw_weight_divisor(row.diagonal, row.total, row.coupled, row.side, 2 * size);
        if (gsw_divisor_serves(divisor, row.diagonal)) {
#pragma unroll
            for (int subset = 0; subset < 1 << size; subset++)
                w[subset] = -w[subset] / divisor;
        } else {
            take_mean<size>(s.grids, p, w);
            atomicAdd(degenerate, 1ULL);
        }
    }
#pragma unroll
    for (int subset = 0; subset < 1 << size; subset++)
        s.weights.values[ordered_weight((1 << size) - 1, subset)][i] = (Weight)w[subset];
}

template <int size, typename Weight> auto kernel_for(bool on_axes, bool mean) {
    return on_axes ? mean ? weigh_slots<size, true, true, Weight>
                          : weigh_slots<size, true, false, Weight>
           : mean ? weigh_slots<size, false, true, Weight>
                   : weigh_slots<size, false, false, Weight>;
}

template <typename Weight>
gsw_status launch(gsw_context *context, const gsw_transfer *t, const gsw_matrix *matrix, bool mean,
                  void *const *weights, unsigned long long *degenerate) {
    const int64_t points = t->coarse.nx * t->coarse.ny * t->coarse.nz;
    const bool on_axes = is_on_axes(t);
    for (int size = 1; size <= gsw_class_size(t->axes); size++) {
        slot_classes<Weight> classes = {};
        unsigned count = 0;
        for (int class_ = 1; class_ < GSW_CLASSES; class_++) {
            if (gsw_class_size(class_) != size || (class_ & ~t->axes))
                continue;
            slot_class<Weight> *s = &classes.of[count++];
            s->grids = order_grids(t, class_);
            for (int k = 0; k < 3; k++)
                s->halved |= (t->axes >> s->grids.axis[k] & 1) << k;
            s->a = arrays_by_slot(t, matrix, s->grids);
            s->weights = weights_by_order<Weight>(t, s->grids, weights);
        }
        const auto kernel = size == 1   ? kernel_for<1, Weight>(on_axes, mean)
                            : size == 2 ? kernel_for<2, Weight>(on_axes, mean)
                                        : kernel_for<3, Weight>(on_axes, mean);
        kernel<<<dim3((unsigned)((points + THREADS - 1) / THREADS), count), THREADS, 0,
                 gsw_cuda_of(context)->stream>>>(classes, points, degenerate);
        GSW_TRY(gsw_cuda_check_launch(context, "interpolating"));
    }
    return GSW_SUCCESS;
}

} // namespace

gsw_status gsw_cuda_weigh_slots(gsw_context *context, const gsw_transfer *transfer,
                                const gsw_matrix *matrix, bool mean, gsw_dtype type,
                                void *const *weights, unsigned long long *degenerate) {
    const auto make = type == GSW_F64 ? launch<double> : launch<float>;
    return make(context, transfer, matrix, mean, weights, degenerate);
}
