/* pack_rows.cuh: where the coefficients of packed factors come from: points and couplings in the
 * tiles' own axes, and the reading of stencil arrays and CSR. */
#ifndef GSW_CUDA_PACK_ROWS_CUH
#define GSW_CUDA_PACK_ROWS_CUH

#include <float.h>
#include <math.h>

#include "common/pivot.h"
#include "cuda/sweep/movers.cuh"
#include "cuda/sweep/packed.cuh"

/* A coupling of a row, along the tiles' axes. */
struct pack_tap {
    int64_t step; /* from the row to the neighbour's row */
    int16_t dx, dy, dz;
};

/* A point, in the grid's own order for both parts (not mirrored), along the tiles' axes. */
struct pack_point {
    int32_t x, y, z;
    int32_t deep; /* all couplings stay in the grid */
    int64_t row;
};

/* The parameters for packing one part. They are passed by value, so they are kept small. */
struct pack_plan {
    int32_t upper;
    int32_t nx, ny, nz;
    int64_t stride[3];
    /* Pencils: see gsw_tiles. */
    int32_t lanes_y, lanes_bits; /* lanes_y == 1 << lanes_bits */
    int32_t lines_y, lines_z;    /* 1 and 1, or 1 and 2, or 2 and 1 */
    int32_t pad_y, pad_z;        /* lines before the first one that fill up the first tile */
    int32_t tile_y, tile_z;
    int32_t shear, skew_y, skew_z;
    int32_t records;
    int32_t pencils;
    const gsw_pencil *table;
    void *values;
    int32_t terms, members, vector; /* members: 1 or 2 */
    int32_t diagonal;               /* the (reciprocal) diagonal is stored */
    int32_t scale;                  /* coefficients are multiplied by it */
    int32_t bounded;                /* coefficients that overflow are reported */
    /* The work of a block: one pencil, 1 << run_bits records, `pass` coefficients at a time. */
    int32_t run_bits;
    int32_t pass;
    uint32_t runs; /* of a pencil */
    uint32_t jobs; /* pencils times runs */
    /* Arithmetic. */
    int32_t raw;     /* an elimination follows: the diagonal stays as it is */
    int32_t guard;   /* bad pivots are mended or reported */
    int32_t narrows; /* to fp32, which may not hold all values: rows of such values are reported */
    int32_t counts;  /* ... and counted: in one of two parts */
    double pivot_shift;
    double diagonal_factor; /* of the reciprocal diagonal that is stored */
    double scale_factor;    /* of the one that coefficients are multiplied by */
    gsw_cuda_pivots *pivots;
    /* All couplings that fit into the grid, ascending: lower part, diagonal, upper part. */
    int32_t taps, center;
    int32_t margin[3]; /* points further inside than this have all of them */
    pack_tap tap[GSW_STENCIL_MAX];
    /* The coupling of each coefficient of the part, and the other way round (`terms` for couplings
     * of the other part): coefficients ascend along the tiles' axes, and in the mirror. */
    uint8_t tap_of[GSW_STENCIL_MAX], term_of[GSW_STENCIL_MAX];
};

__device__ inline bool pack_within(int32_t i, int32_t extent) {
    return (uint32_t)i < (uint32_t)extent;
}

/* Does the coupling stay in the grid? */
__device__ inline bool pack_stays(const pack_plan &plan, const pack_point &point,
                                  const pack_tap &tap) {
    return (int)pack_within(point.x + tap.dx, plan.nx) &
           (int)pack_within(point.y + tap.dy, plan.ny) &
           (int)pack_within(point.z + tap.dz, plan.nz);
}

__device__ inline bool pack_exists(const pack_plan &plan, const pack_point &point, int32_t t) {
    return point.deep || pack_stays(plan, point, plan.tap[t]);
}

/* Do all couplings of the points at index `i` along an axis stay in the grid along that axis? */
__device__ inline bool pack_is_deep_along(const pack_plan &plan, int axis, int32_t i,
                                          int32_t extent) {
    return i >= plan.margin[axis] && i < extent - plan.margin[axis];
}

__device__ inline bool pack_is_deep(const pack_plan &plan, int32_t x, int32_t y, int32_t z) {
    return pack_is_deep_along(plan, 0, x, plan.nx) && pack_is_deep_along(plan, 1, y, plan.ny) &&
           pack_is_deep_along(plan, 2, z, plan.nz);
}

/* Loads a value that does not change while a kernel runs, so that loads may be under way together.
 */
template <typename Value> __device__ inline Value pack_load(const Value *from) {
    return __ldg(from);
}

__device__ inline int32_t pack_bits(uint64_t mask) {
    return __popcll(mask);
}

/* Bits of the mask below a given one. */
__device__ inline int32_t pack_bits_below(uint64_t mask, int32_t bit) {
    return pack_bits(mask & ((UINT64_C(1) << bit) - 1));
}

/* ---- Diagonals ---- */

/* The row's coefficient at coupling t. */
template <typename Source>
__device__ inline double pack_coefficient(const pack_plan &plan, const Source &source,
                                          const pack_point &point, int32_t t) {
    return pack_exists(plan, point, t) ? source.entry(plan, point, t) : 0;
}

/* SSOR: a diagonal that is not a valid divisor. */
template <typename Source>
__device__ inline double pack_mend_pivot(const pack_plan &plan, const Source &source,
                                         const pack_point &point, double d) {
    if (!(plan.pivot_shift > 0)) {
        note_lowest(&plan.pivots->bad, point.row);
        return d;
    }
    double largest = 0;
    for (int32_t t = 0; t < plan.taps; t++)
        largest = gsw_pivot_larger(largest, pack_coefficient(plan, source, point, t));
    if (plan.counts)
        note_one(&plan.pivots->shifted);
    return gsw_pivot_shifted(d, plan.pivot_shift, largest, 0);
}

/* The value that is kept for a diagonal: itself before an elimination, else its reciprocal. */
template <typename Source>
__device__ inline double pack_finish_diagonal(const pack_plan &plan, const Source &source,
                                              const pack_point &point, double d) {
    if (plan.guard && gsw_pivot_is_bad(d, 0))
        d = pack_mend_pivot(plan, source, point, d);
    if (plan.narrows && (plan.raw ? gsw_is_beyond_f32(d) : gsw_pivot_is_beyond_f32(d)))
        note_lowest(&plan.pivots->beyond, point.row);
    return plan.raw ? d : 1 / d;
}

/* ---- Sources ----
 *
 * A source brings coefficients to shared memory in two steps, start() and finish(), so that the
 * loads of several points are under way together. Copies that continue by themselves need no second
 * step; the thread waits for them at the end. A coefficient that is not `there` is 0. */

/* What start() has read, if anything. */
struct pack_started {
    double a, b;
};

/* Starts copying a value, if it is there. */
template <typename Value>
__device__ __forceinline__ void pack_start_copy(Value *to, const Value *from, bool there) {
    if (there)
        start_copy(to, from);
    else
        *to = 0;
}

/* ---- Stencil arrays ---- */

template <typename Value> struct pack_arrays {
    using type = Value;
    static constexpr int32_t points = 4, terms = 1; /* that are brought together */
    /* Of the plan's couplings, so that a row's coefficient is values[t][row]; NULL: zeros. */
    const Value *values[GSW_STENCIL_MAX];

    /* The row's coefficient at coupling t, which stays in the grid. */
    __device__ double entry(const pack_plan &plan, const pack_point &point, int32_t t) const {
        (void)plan;
        return values[t] ? (double)pack_load(values[t] + point.row) : 0;
    }

    __device__ pack_started start(const pack_plan &plan, const pack_point &point, int32_t t,
                                  bool there, Value *to) const {
        (void)plan;
        pack_start_copy(to, values[t] + point.row, there && values[t]);
        return {};
    }

    __device__ void finish(const pack_plan &plan, const pack_started &started, Value *to) const {
        (void)plan, (void)started, (void)to;
    }

    __device__ double diagonal(const pack_plan &plan, const pack_point &point) const {
        return pack_finish_diagonal(plan, *this, point, entry(plan, point, plan.center));
    }
};

/* Stencil arrays whose values repeat, of either type. They are few. */
struct pack_repeated {
    using type = double;
    static constexpr int32_t points = 4, terms = 1;
    const void *values[GSW_STENCIL_MAX]; /* of the plan's couplings; NULL: zeros */
    int64_t step[3];                     /* along the tiles' axes */
    int32_t f32;

    __device__ double entry(const pack_plan &, const pack_point &point, int32_t t) const {
        const int64_t at = point.x * step[0] + point.y * step[1] + point.z * step[2];
        if (!values[t])
            return 0;
        return f32 ? (double)static_cast<const float *>(values[t])[at]
                   : static_cast<const double *>(values[t])[at];
    }

    __device__ pack_started start(const pack_plan &plan, const pack_point &point, int32_t t,
                                  bool there, double *) const {
        return {there ? entry(plan, point, t) : 0, 0};
    }

    __device__ void finish(const pack_plan &, const pack_started &started, double *to) const {
        *to = started.a;
    }

    __device__ double diagonal(const pack_plan &plan, const pack_point &point) const {
        return pack_finish_diagonal(plan, *this, point, entry(plan, point, plan.center));
    }
};

/* ---- Products of stencil arrays ---- */

/* Is it finite, and not below the smallest normal number? */
__device__ inline bool pack_is_normal(double v) {
    const uint32_t size = (uint32_t)__double2hiint(v) & 0x7fffffffu;
    return size - 0x00100000u < 0x7fe00000u;
}

/* The stencils of named shapes have no more couplings. */
enum { PACK_PRODUCTS_MAX = 40 };

/* For factors whose elimination changes the diagonal alone (diagonal.cu). A product that overflows
 * or underflows sets plan.pivots->unfit. */
struct pack_products {
    using type = double;
    static constexpr int32_t points = 4, terms = 1;
    /* Of the plan's couplings: a row's coefficient is first[t][row] * second[t][row]; NULL: 0. */
    const double *first[PACK_PRODUCTS_MAX], *second[PACK_PRODUCTS_MAX];

    __device__ pack_started start(const pack_plan &plan, const pack_point &point, int32_t t,
                                  bool there, double *to) const {
        (void)plan, (void)to;
        there = there && first[t] && second[t];
        return {there ? pack_load(first[t] + point.row) : 0,
                there ? pack_load(second[t] + point.row) : 0};
    }

    __device__ void finish(const pack_plan &plan, const pack_started &started, double *to) const {
        const double product = started.a * started.b;
        if (!pack_is_normal(product) && started.a != 0 && started.b != 0)
            plan.pivots->unfit = 1;
        *to = product;
    }

    /* Parts of products have no diagonal, and are not scaled. */
    __device__ double diagonal(const pack_plan &plan, const pack_point &point) const {
        (void)plan, (void)point;
        return 1;
    }
};

/* The same for a slab: second[t] lacks the rows before border[t], whose neighbours are ghosts. */
struct pack_products_of_slab : pack_products {
    const double *ghost[PACK_PRODUCTS_MAX]; /* for these rows; NULL: 0 */
    int64_t border[PACK_PRODUCTS_MAX];

    __device__ pack_started start(const pack_plan &plan, const pack_point &point, int32_t t,
                                  bool there, double *to) const {
        (void)plan, (void)to;
        const double *factor = point.row < border[t] ? ghost[t] : second[t];
        there = there && first[t] && factor;
        return {there ? pack_load(first[t] + point.row) : 0,
                there ? pack_load(factor + point.row) : 0};
    }
};

/* For parts that are scaled by rows and columns (split.cu): `second` has the columns' factors, and
 * the "diagonal" the rows'. */
struct pack_scaled : pack_products {
    const double *left; /* by rows */

    __device__ double diagonal(const pack_plan &plan, const pack_point &point) const {
        (void)plan;
        return pack_load(left + point.row);
    }
};

/* Stencil arrays, with a diagonal whose reciprocals are known, by rows. */
struct pack_pivoted : pack_arrays<double> {
    const double *reciprocal;

    __device__ double diagonal(const pack_plan &plan, const pack_point &point) const {
        (void)plan;
        return pack_load(reciprocal + point.row);
    }
};

/* ---- CSR ---- */

template <typename Index, typename Value> struct pack_csr {
    using type = Value;
    static constexpr int32_t points = 1, terms = 4;
    const Index *row_ptr;
    const Index *columns;
    const Value *values;
    int64_t nonzeros;
    int32_t base;
    int32_t transposed;
    int32_t check; /* columns are checked also where the row's length implies them */
    /* The couplings that a row is expected to hold, of all those of the user's stencil that fit
     * into the grid: all, or one part. Only a guess. */
    int32_t first, last;

    /* The entries of a row. Pointers that leave the arrays are reported, and then there are none.
     */
    __device__ void row_entries(const pack_plan &plan, int64_t row, int64_t *begin,
                                int64_t *end) const {
        *begin = (int64_t)pack_load(row_ptr + row) - base;
        *end = (int64_t)pack_load(row_ptr + row + 1) - base;
        if (*begin < 0 || *end < *begin || *end > nonzeros) {
            note_lowest(&plan.pivots->misfit, row);
            *begin = *end = 0;
        }
    }

    __device__ int64_t column(int64_t k) const {
        return (int64_t)pack_load(columns + k) - base;
    }

    /* An entry by its column; `rank` is the place of the row that is read first. */
    __device__ double find(const pack_plan &plan, int64_t row, int64_t wanted, int32_t rank) const {
        int64_t low, high;
        row_entries(plan, row, &low, &high);
        if (rank >= 0 && low + rank < high && column(low + rank) == wanted)
            return (double)pack_load(values + low + rank);
        while (low < high) {
            const int64_t middle = low + (high - low) / 2;
            const int64_t found = column(middle);
            if (found == wanted)
                return (double)pack_load(values + middle);
            if (found < wanted)
                low = middle + 1;
            else
                high = middle;
        }
        return 0;
    }

    __device__ pack_started start(const pack_plan &plan, const pack_point &point, int32_t t,
                                  bool there, Value *to) const {
        (void)to;
        return {there ? entry(plan, point, t) : 0, 0};
    }

    __device__ void finish(const pack_plan &plan, const pack_started &started, Value *to) const {
        (void)plan;
        *to = (Value)started.a;
    }

    /* The row's coefficient at coupling t, which stays in the grid. */
    __device__ double entry(const pack_plan &plan, const pack_point &point, int32_t t) const {
        const pack_tap &tap = plan.tap[t];
        if (!transposed)
            return find(plan, point.row, point.row + tap.step, -1);
        const bool deep = pack_is_deep(plan, point.x + tap.dx, point.y + tap.dy, point.z + tap.dz);
        const int32_t back = plan.taps - 1 - t; /* the neighbour's coupling to this point */
        const bool expected = deep && back >= first && back < last;
        return find(plan, point.row + tap.step, point.row, expected ? back - first : -1);
    }

    __device__ double diagonal(const pack_plan &plan, const pack_point &point) const {
        return pack_finish_diagonal(plan, *this, point,
                                    pack_coefficient(plan, *this, point, plan.center));
    }
};

#endif
