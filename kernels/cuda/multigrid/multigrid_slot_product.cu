/* multigrid_slot_product.cu: the triple product R A P where each coupling has a slot of its own.
 *
 * A thread computes a coarse row. Offsets here are of fine points, from the coarse point's own, by
 * the kernel's axes, of which the first `halved` ones are coarsened. R A at the fine point g is the
 * sum over the fine rows f of R(f) A(f, g); that is computed plane by plane, and each plane is then
 * multiplied by the weights of P. All loops are unrolled: a plane and the sums are in registers.
 * Memory is read and written once, at best: the fine matrix, the weights, and the coarse matrix. */
#include "multigrid_slots.cuh"

namespace {

enum { THREADS = 128 };
constexpr int64_t PARTED_POINTS = int64_t{1} << 15; /* coarse points that warps share */
constexpr int64_t SLOT_POINTS = int64_t{1} << 29;   /* bytes of an array in 32 bits */

template <typename Weight> struct slot_product {
    ordered_grids grids;
    slot_arrays a;
    uint32_t missing; /* bit set of slots without an array */
    ordered_weights<const Weight> p, r;
    double *coarse[GSW_SLOTS]; /* by slot; NULL: another array shows these values, too */
};

/* The fine points around a coarse one, where the first `halved` axes are coarsened. */
template <int halved> struct around {
    /* Offsets of the rows that restrict to the point, and of their couplings, at most. */
    static constexpr __device__ int rows(int k) {
        return k < halved ? 1 : 0;
    }
    static constexpr __device__ int reach(int k) {
        return rows(k) + 1;
    }
    static constexpr __device__ int odd(int offset, int k) {
        return k < halved ? offset & 1 : 0;
    }
    /* The coarse point at or before a fine one. */
    static constexpr __device__ int before(int offset, int k) {
        return k < halved ? (offset - (offset & 1)) / 2 : offset;
    }
    static constexpr __device__ int class_of(int x, int y, int z) {
        return odd(x, 0) | odd(y, 1) << 1 | odd(z, 2) << 2;
    }
    static constexpr __device__ int last_slot(int x, int y, int z) {
        return GSW_SLOT_CENTER + before(x, 0) + odd(x, 0) + 3 * (before(y, 1) + odd(y, 1)) +
               9 * (before(z, 2) + odd(z, 2));
    }
    static constexpr __device__ int is_beyond(int offset, int k) {
        return offset < -rows(k) || offset > rows(k);
    }
    /* Whether some row has a coupling to g: with couplings along the axes alone, g lies beyond the
     * rows along one axis at most. */
    static constexpr __device__ bool is_reached(bool on_axes, int x, int y, int z) {
        return !on_axes || is_beyond(x, 0) + is_beyond(y, 1) + is_beyond(z, 2) <= 1;
    }
};

/* A thread's coarse point. Rows have 32 bits, and so have distances in bytes: an address is then
 * one addition to a pointer that all threads share. */
struct place {
    uint32_t fine, coarse; /* rows */
    uint32_t lacked;       /* of the fine row: near.cuh */
};

template <typename Value> __device__ Value value_at(const Value *values, uint32_t row) {
    return *reinterpret_cast<const Value *>(reinterpret_cast<const char *>(values) +
                                            (uint32_t)sizeof(Value) * row);
}

template <int halved>
__device__ place place_of(const ordered_grids &g, const ordered_point &p, int64_t i) {
    int32_t at[3];
    place own = {0, (uint32_t)i, 0};
#pragma unroll
    for (int k = 0; k < 3; k++) {
        at[k] = k < halved ? 2 * p.at[k] : p.at[k];
        own.fine += (uint32_t)at[k] * (uint32_t)g.fine_step[k];
    }
    own.lacked = ordered_lacks(g, at);
    return own;
}

/* The weight between a fine point and a coarse one; 0 where the fine one is outside. */
template <int halved, typename Weight>
__device__ double weight_at(const ordered_grids &g, const ordered_weights<const Weight> &w,
                            const place &own, int x, int y, int z, int subset) {
    using to = around<halved>;
    const int class_ = to::class_of(x, y, z);
    if (class_ == 0)
        return 1;
    Weight weight = 0;
    if ((own.lacked & all_needs(x, y, z)) == 0)
        weight = value_at(w.values[ordered_weight(class_, subset)],
                          own.coarse + (uint32_t)distance_by(g.coarse_step, to::before(x, 0),
                                                             to::before(y, 1), to::before(z, 2)));
    return (double)weight;
}

/* R A at the points of plane z, whose products go to slots from `lowest` on. */
template <int halved, bool on_axes, int lowest, typename Weight>
__device__ void restrict_plane(const slot_product<Weight> &s, const place &own, int z,
                               double (&plane)[5][5]) {
    using to = around<halved>;
#pragma unroll
    for (int fz = -to::rows(2); fz <= to::rows(2); fz++)
#pragma unroll
        for (int fy = -to::rows(1); fy <= to::rows(1); fy++)
#pragma unroll
            for (int fx = -to::rows(0); fx <= to::rows(0); fx++) {
                if (z - fz < -1 || z - fz > 1)
                    continue;
                const int subset = (to::before(fx, 0) < 0 ? 1 : 0) |
                                   (to::before(fy, 1) < 0 ? 2 : 0) |
                                   (to::before(fz, 2) < 0 ? 4 : 0);
                const double weight = weight_at<halved>(s.grids, s.r, own, fx, fy, fz, subset);
                const uint32_t row =
                    own.fine + (uint32_t)distance_by(s.grids.fine_step, fx, fy, fz);
#pragma unroll
                for (int y = fy - 1; y <= fy + 1; y++)
#pragma unroll
                    for (int x = fx - 1; x <= fx + 1; x++) {
                        const int slot = gsw_slot_of(x - fx, y - fy, z - fz);
                        const bool off = (x != fx) + (y != fy) + (z != fz) > 1;
                        if ((on_axes && off) || to::last_slot(x, y, z) < lowest)
                            continue;
                        const uint32_t needed = all_needs(fx, fy, fz) | all_needs(x, y, z);
                        double value = 0;
                        if (((own.lacked & needed) | (s.missing & 1U << slot)) == 0)
                            value = value_at(s.a.values[slot], row);
                        plane[y + 2][x + 2] = fma(weight, value, plane[y + 2][x + 2]);
                    }
            }
}

/* Multiplies a plane by the weights of P. */
template <int halved, bool on_axes, int lowest, typename Weight>
__device__ void prolong_plane(const slot_product<Weight> &s, const place &own, int z,
                              const double (&plane)[5][5], double (&sum)[GSW_SLOTS]) {
    using to = around<halved>;
#pragma unroll
    for (int y = -to::reach(1); y <= to::reach(1); y++)
#pragma unroll
        for (int x = -to::reach(0); x <= to::reach(0); x++) {
            if (!to::is_reached(on_axes, x, y, z))
                continue;
#pragma unroll
            for (int subset = 0; subset < GSW_CLASSES; subset++) {
                const int slot = gsw_slot_of(to::before(x, 0) + (subset & 1),
                                             to::before(y, 1) + (subset >> 1 & 1),
                                             to::before(z, 2) + (subset >> 2));
                if (!(subset & ~to::class_of(x, y, z)) && slot >= lowest)
                    sum[slot] =
                        fma(plane[y + 2][x + 2],
                            weight_at<halved>(s.grids, s.p, own, x, y, z, subset), sum[slot]);
            }
        }
}

/* Adds what planes `first` to `last` contribute. */
template <int halved, bool on_axes, int lowest, int first, int last, typename Weight>
__device__ void add_planes(const slot_product<Weight> &s, const place &own,
                           double (&sum)[GSW_SLOTS]) {
#pragma unroll
    for (int z = first; z <= last; z++) {
        double plane[5][5] = {};
        restrict_plane<halved, on_axes, lowest>(s, own, z, plane);
        prolong_plane<halved, on_axes, lowest>(s, own, z, plane, sum);
    }
}

/* Stores a coarse row's coupling, zeros where it leaves the grid; `both`: and its mirror image. */
template <typename Weight>
__device__ void store(const slot_product<Weight> &s, const ordered_point &at, int64_t i, int slot,
                      bool both, double value) {
    bool inside = true, behind = true; /* the coupling's point, and the one opposite */
    int64_t there = i;
#pragma unroll
    for (int k = 0; k < 3; k++) {
        const int offset = gsw_slot_offset(slot, k);
        inside = inside && (uint32_t)(at.at[k] + offset) < (uint32_t)s.grids.coarse[k];
        behind = behind && (uint32_t)(at.at[k] - offset) < (uint32_t)s.grids.coarse[k];
        there += offset * s.grids.coarse_step[k];
    }
    if (s.coarse[slot])
        s.coarse[slot][i] = inside ? value : 0;
    double *mirror = s.coarse[gsw_slot_mirror(slot)];
    if (!both || slot == GSW_SLOT_CENTER || !mirror)
        return;
    if (inside)
        mirror[there] = value;
    if (!behind)
        mirror[i] = 0;
}

template <int halved, bool on_axes, bool symmetric, typename Weight>
__global__ void __launch_bounds__(THREADS)
    multiply_slots(const __grid_constant__ slot_product<Weight> s, int64_t points) {
    constexpr int lowest = symmetric ? (int)GSW_SLOT_CENTER : 0;
    using to = around<halved>;
    const int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    if (i >= points)
        return;
    const ordered_point at = ordered_point_of(s.grids, i);
    const place own = place_of<halved>(s.grids, at, i);
    double sum[GSW_SLOTS] = {};
    add_planes<halved, on_axes, lowest, -to::reach(2), to::reach(2)>(s, own, sum);
#pragma unroll
    for (int slot = lowest; slot < GSW_SLOTS; slot++)
        store(s, at, i, slot, symmetric, sum[slot]);
}

/* The same by a warp for each of PARTS groups of planes: few coarse points take as long as one
 * thread's instructions, most of which come from memory. */
enum { PARTS = 3, LANES = 32 };

template <int halved, bool on_axes, bool symmetric, typename Weight>
__global__ void __launch_bounds__(PARTS *LANES)
    multiply_slots_parted(const __grid_constant__ slot_product<Weight> s, int64_t points) {
    constexpr int lowest = symmetric ? (int)GSW_SLOT_CENTER : 0, last = around<halved>::reach(2);
    __shared__ double sums[PARTS][GSW_SLOTS][LANES];
    const int lane = (int)threadIdx.x % LANES, part = (int)threadIdx.x / LANES;
    const int64_t i = (int64_t)blockIdx.x * LANES + lane, row = i < points ? i : 0;
    const ordered_point at = ordered_point_of(s.grids, row);
    const place own = place_of<halved>(s.grids, at, row);
    double sum[GSW_SLOTS] = {};
    if (part == 0)
        add_planes<halved, on_axes, lowest, -last, -1>(s, own, sum);
    else if (part == 1)
        add_planes<halved, on_axes, lowest, 0, 0>(s, own, sum);
    else
        add_planes<halved, on_axes, lowest, 1, last>(s, own, sum);
#pragma unroll
    for (int slot = lowest; slot < GSW_SLOTS; slot++)
        sums[part][slot][lane] = sum[slot];
    __syncthreads();
    for (int slot = lowest + part; slot < GSW_SLOTS && i < points; slot += PARTS)
        store(s, at, i, slot, symmetric,
              sums[0][slot][lane] + sums[1][slot][lane] + sums[2][slot][lane]);
}

template <bool on_axes, typename Weight> auto kernel_for(int halved, bool symmetric) {
    return symmetric     ? halved == 1   ? multiply_slots<1, on_axes, true, Weight>
                           : halved == 2 ? multiply_slots<2, on_axes, true, Weight>
                                         : multiply_slots<3, on_axes, true, Weight>
               : halved == 1 ? multiply_slots<1, on_axes, false, Weight>
           : halved == 2 ? multiply_slots<2, on_axes, false, Weight>
                         : multiply_slots<3, on_axes, false, Weight>;
}

template <typename Weight>
gsw_status launch(gsw_context *context, const gsw_transfer *t, const gsw_matrix *matrix,
                  void *const *prolongation, void *const *restriction, double *const *coarse) {
    const int64_t points = t->coarse.nx * t->coarse.ny * t->coarse.nz;
    const int halved = gsw_class_size(t->axes);
    slot_product<Weight> s = {};
    s.grids = order_grids(t, t->axes);
    s.a = arrays_by_slot(t, matrix, s.grids);
    s.p = weights_by_order<const Weight>(t, s.grids, prolongation);
    s.r = weights_by_order<const Weight>(t, s.grids, restriction);
    for (int32_t slot = 0; slot < GSW_SLOTS; slot++) {
        const int32_t e = t->coarse_entry[slot_of_order(s.grids, slot)];
        s.coarse[slot] = e < 0 ? NULL : coarse[e];
        s.missing |= (uint32_t)(s.a.values[slot] == NULL) << slot;
    }
    const gsw_cuda *cuda = gsw_cuda_of(context);
    if (halved == 3 && !is_on_axes(t) && points <= PARTED_POINTS) {
        const auto kernel = t->symmetric ? multiply_slots_parted<3, false, true, Weight>
                                         : multiply_slots_parted<3, false, false, Weight>;
        kernel<<<(unsigned)((points + LANES - 1) / LANES), PARTS * LANES, 0, cuda->stream>>>(
            s, points);
    } else {
        const auto kernel = is_on_axes(t) ? kernel_for<true, Weight>(halved, t->symmetric)
                                          : kernel_for<false, Weight>(halved, t->symmetric);
        kernel<<<(unsigned)((points + THREADS - 1) / THREADS), THREADS, 0, cuda->stream>>>(s,
                                                                                           points);
    }
    return gsw_cuda_check_launch(context, "the triple product");
}

} // namespace

bool gsw_cuda_has_slots(const gsw_transfer *transfer, const gsw_matrix *matrix) {
    const gsw_grid *g = &transfer->fine;
    return transfer->plain && !holds_f32(matrix) && g->nx * g->ny * g->nz < SLOT_POINTS;
}

gsw_status gsw_cuda_multiply_slots(gsw_context *context, const gsw_transfer *transfer,
                                   const gsw_matrix *matrix, gsw_dtype type,
                                   void *const *prolongation, void *const *restriction,
                                   double *const *coarse) {
    const auto make = type == GSW_F64 ? launch<double> : launch<float>;
    return make(context, transfer, matrix, prolongation, restriction, coarse);
}
