/* multigrid_slots.cuh: levels whose couplings each have a slot of their own, for kernels that are
 * unrolled over slots. Such a kernel sees the axes in an order of its own: those of one set come
 * first. So one kernel serves all sets of as many axes. */
#ifndef GSW_CUDA_MULTIGRID_SLOTS_CUH
#define GSW_CUDA_MULTIGRID_SLOTS_CUH

#include "multigrid_tables.cuh"

namespace {

/* The two grids of a transfer, by the kernel's axes. */
struct ordered_grids {
    int32_t axis[3]; /* of the grids */
    int32_t nx, ny;  /* of the coarse grid, in its own order */
    int32_t fine[3], coarse[3];
    int64_t fine_step[3], coarse_step[3]; /* from a point to the next one, in rows */
};

inline ordered_grids order_grids(const gsw_transfer *t, int first_axes) {
    const int64_t fine[3] = {1, t->fine.nx, t->fine.nx * t->fine.ny};
    const int64_t coarse[3] = {1, t->coarse.nx, t->coarse.nx * t->coarse.ny};
    ordered_grids g = {};
    int k = 0;
    for (int of_set = 1; of_set >= 0; of_set--)
        for (int axis = 0; axis < 3; axis++)
            if ((first_axes >> axis & 1) == of_set)
                g.axis[k++] = axis;
    g.nx = (int32_t)t->coarse.nx;
    g.ny = (int32_t)t->coarse.ny;
    for (k = 0; k < 3; k++) {
        g.fine[k] = (int32_t)gsw_extent(&t->fine, g.axis[k]);
        g.coarse[k] = (int32_t)gsw_extent(&t->coarse, g.axis[k]);
        g.fine_step[k] = fine[g.axis[k]];
        g.coarse_step[k] = coarse[g.axis[k]];
    }
    return g;
}

/* The grids' own slot, or set of axes, for one of the kernel's. */
inline int32_t slot_of_order(const ordered_grids &g, int32_t slot) {
    int d[3];
    for (int k = 0; k < 3; k++)
        d[g.axis[k]] = gsw_slot_offset(slot, k);
    return gsw_slot_of(d[0], d[1], d[2]);
}

inline int set_of_order(const ordered_grids &g, int set) {
    int own = 0;
    for (int k = 0; k < 3; k++)
        own |= (set >> k & 1) << g.axis[k];
    return own;
}

/* The arrays of a level's couplings, by the kernel's slots. NULL: zeros. */
struct slot_arrays {
    const double *values[GSW_SLOTS];
};

inline slot_arrays arrays_by_slot(const gsw_transfer *t, const gsw_matrix *matrix,
                                  const ordered_grids &g) {
    const double *own[GSW_SLOTS] = {};
    slot_arrays a = {};
    for (int32_t e = 0; e < t->fine_stencil.count; e++)
        if (t->lumps[e])
            own[t->lump[e][0].slot] = static_cast<const double *>(array_of(matrix, e));
    for (int32_t slot = 0; slot < GSW_SLOTS; slot++)
        a.values[slot] = own[slot_of_order(g, slot)];
    return a;
}

/* Whether all couplings lie on the axes. */
inline bool is_on_axes(const gsw_transfer *t) {
    uint32_t near = 1U << GSW_SLOT_CENTER;
    for (int distance = 1; distance <= 9; distance *= 3)
        near |= 1U << (GSW_SLOT_CENTER - distance) | 1U << (GSW_SLOT_CENTER + distance);
    return !(t->slots & ~near);
}

/* Place of the weight of a subset of a class, both by the kernel's axes, in ordered_weights: all
 * seven classes follow each other. */
__host__ __device__ constexpr int ordered_weight(int class_, int subset) {
    const int first = class_ <= 3 ? 2 * class_ - 2 : class_ <= 5 ? 2 * class_ : 4 * class_ - 10;
    return first + ((subset & 1) | (subset >> 1 & 1) << (class_ & 1) |
                    (subset >> 2) << ((class_ & 1) + (class_ >> 1 & 1)));
}

template <typename Weight> struct ordered_weights { Weight *values[GSW_WEIGHTS_MAX]; };

template <typename Weight>
ordered_weights<Weight> weights_by_order(const gsw_transfer *t, const ordered_grids &g,
                                         void *const *weights) {
    ordered_weights<Weight> w = {};
    for (int class_ = 1; class_ < GSW_CLASSES; class_++)
        for (int subset = 0; subset < GSW_CLASSES; subset++)
            if (!(subset & ~class_) && !(set_of_order(g, class_) & ~t->axes))
                w.values[ordered_weight(class_, subset)] = static_cast<Weight *>(
                    weights[gsw_weight_of(t, set_of_order(g, class_), set_of_order(g, subset))]);
    return w;
}

/* The coarse point of row i, by the kernel's axes. */
struct ordered_point {
    int32_t at[3];
};

__device__ inline ordered_point ordered_point_of(const ordered_grids &g, int64_t i) {
    const point p = point_of(g, i);
    ordered_point o;
#pragma unroll
    for (int k = 0; k < 3; k++)
        o.at[k] = g.axis[k] == 0 ? p.x : g.axis[k] == 1 ? p.y : p.z;
    return o;
}

/* What a fine point lacks: see near.cuh. */
__device__ inline uint32_t ordered_lacks(const ordered_grids &g, const int32_t (&at)[3]) {
    return all_lacks((uint32_t)at[0], (uint32_t)at[1], (uint32_t)at[2], (uint32_t)g.fine[0],
                     (uint32_t)g.fine[1], (uint32_t)g.fine[2]);
}

/* From a point to another, in rows. */
__device__ inline int64_t distance_by(const int64_t *step, int a, int b, int c) {
    return a * step[0] + b * step[1] + c * step[2];
}

} // namespace

#endif
