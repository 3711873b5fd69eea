/* multigrid_tables.cuh: a transfer's tables on the device, and the rows of a fine matrix in the
 * form that interpolation and triple product use. */
#ifndef GSW_CUDA_MULTIGRID_TABLES_CUH
#define GSW_CUDA_MULTIGRID_TABLES_CUH

#include "multigrid_rows.cuh"

/* gsw_product_term, ready for use: one load of eight bytes. */
struct alignas(8) product_term {
    int32_t step;  /* of the shift, in coarse rows */
    int8_t weight; /* GSW_WEIGHT_ONE: 1 */
    int8_t to;     /* coarse slot */
    int8_t from;   /* place of the coupling: its number where the view is plain, else its slot */
    int8_t ends;   /* the last of its row that goes to this slot */
};

/* In device memory. */
struct transfer_tables {
    gsw_transfer transfer;                        /* a copy; its own ->tables is not used */
    product_term term[GSW_PRODUCT_TERMS_MAX + 8]; /* read in eights */
};

namespace {

inline const transfer_tables *tables_of(const gsw_transfer *transfer) {
    return static_cast<const transfer_tables *>(transfer->tables);
}

/* Arrays of weights. A parameter of kernels. */
template <typename Weight> struct weight_arrays { Weight *values[GSW_WEIGHTS_MAX]; };

template <typename Weight>
weight_arrays<Weight> weights_of(const gsw_transfer *transfer, void *const *weights) {
    weight_arrays<Weight> arrays = {};
    for (int32_t i = 0; i < transfer->weights; i++)
        arrays.values[i] = static_cast<Weight *>(weights[i]);
    return arrays;
}

/* How couplings become slots: see geometry/multigrid.h. */
enum row_view {
    ROW_PLAIN,             /* each coupling has a slot of its own */
    ROW_LUMPED,            /* row by row */
    ROW_SYMMETRIC_LUMPS,   /* shared by the rows that they couple */
    ROW_SYMMETRIC_PART,    /* of (A + A^T) / 2 */
    ROW_SYMMETRIC_PART_CUT /* without couplings to rows that have none themselves */
};

inline row_view view_of_rows(const gsw_transfer *t, gsw_rows rows) {
    return rows == GSW_ROWS_OF_SYMMETRIC_PART_CUT ? ROW_SYMMETRIC_PART_CUT
           : rows == GSW_ROWS_OF_SYMMETRIC_PART   ? ROW_SYMMETRIC_PART
           : t->plain                             ? ROW_PLAIN
           : t->symmetric                         ? ROW_SYMMETRIC_LUMPS
                                                  : ROW_LUMPED;
}

/* Whether the row of a point inside the grid has an entry besides its diagonal. */
template <typename Value> __device__ bool is_coupled(const level_matrix &m, point p) {
    const level_row r = level_row_at(m, p);
    for (int32_t e = 0; e < m.count; e++)
        if (e != m.center && entry_of<Value>(m, e, r) != 0)
            return true;
    return false;
}

/* Calls add(slot, value) for all that coupling e contributes to the row of point p, which is inside
 * the grid. */
template <typename Value, typename Add>
__device__ void add_coupling(const gsw_transfer *t, const level_matrix &m, row_view view, int32_t e,
                             point p, const level_row &r, Add add) {
    const int32_t lumps = t->lumps[e];
    double value = entry_of<Value>(m, e, r);
    const point o = offset_of(m, e);
    const bool cut = view == ROW_SYMMETRIC_PART_CUT && e != m.center;
    if (cut && value != 0 && !is_coupled<Value>(m, p + o))
        value = 0;
    if (view == ROW_SYMMETRIC_LUMPS)
        add(GSW_SLOT_CENTER, value);
    for (int32_t i = 0; i < lumps; i++) {
        const int32_t slot = t->lump[e][i].slot;
        const double factor = t->lump[e][i].factor;
        if (view == ROW_LUMPED) {
            add(slot, factor * value);
        } else if (view == ROW_SYMMETRIC_PART || view == ROW_SYMMETRIC_PART_CUT) {
            double returned = entry_at<Value>(m, e, {p.x - o.x, p.y - o.y, p.z - o.z});
            if (cut && returned != 0 && !is_coupled<Value>(m, p))
                returned = 0;
            add(slot, 0.5 * factor * value);
            add(gsw_slot_mirror(slot), 0.5 * factor * returned);
        } else if (slot != GSW_SLOT_CENTER) {
            const double own = 0.5 * factor * value;
            const double theirs =
                0.5 * factor *
                entry_at<Value>(m, e,
                                {p.x - gsw_slot_offset(slot, 0), p.y - gsw_slot_offset(slot, 1),
                                 p.z - gsw_slot_offset(slot, 2)});
            add(slot, own);
            add(gsw_slot_mirror(slot), theirs);
            add(GSW_SLOT_CENTER, -own - theirs);
        }
    }
}

/* The same for a whole row. */
template <typename Value, typename Add>
__device__ void add_row(const gsw_transfer *t, const level_matrix &m, row_view view, point p,
                        Add add) {
    const level_row r = level_row_at(m, p);
    if (view != ROW_PLAIN) {
        for (int32_t e = 0; e < m.count; e++)
            if (t->lumps[e] > 0)
                add_coupling<Value>(t, m, view, e, p, r, add);
        return;
    }
    for (int32_t first = 0; first < m.count; first += ROW_BATCH) {
        double value[ROW_BATCH];
#pragma unroll
        for (int k = 0; k < ROW_BATCH; k++)
            value[k] = entry_of<Value>(m, first + k, r);
#pragma unroll
        for (int k = 0; k < ROW_BATCH; k++)
            if (has_entry(m, first + k, r))
                add(gsw_slot_of(m.dx[first + k], m.dy[first + k], m.dz[first + k]), value[k]);
    }
}

} // namespace

#endif
