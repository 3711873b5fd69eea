/* eliminate_compute.cuh: the compute role of an elimination of a named shape: a warp; a lane
 * eliminates one point of each of its lines per step. eliminate_named.cuh has the proof. */
#ifndef GSW_CUDA_ELIMINATE_COMPUTE_CUH
#define GSW_CUDA_ELIMINATE_COMPUTE_CUH

#include "eliminate_layout.cuh"
#include "cuda/sweep/reciprocal.cuh"

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900

namespace {

/* gsw_find_updates() for a shape whose parts are mirror images: the target of lower coupling k and
 * the neighbour's upper coupling u, or -1. */
template <class Shape> constexpr __host__ __device__ int update_target(bool dilu, int k, int u) {
    const coupling a = Shape::table::at(k), b = Shape::table::at(u);
    const int dx = a.dx - b.dx, dl = a.dl - b.dl, plane = a.plane - b.plane;
    if (dx == 0 && dl == 0 && plane == 0)
        return Shape::terms;
    for (int j = 0; !dilu && j < Shape::terms; j++) {
        const coupling c = Shape::table::at(j);
        if (c.dx == dx && c.dl == dl && c.plane == plane)
            return j;
        if (c.dx == -dx && c.dl == -dl && c.plane == -plane)
            return Shape::terms + 1 + j;
    }
    return -1;
}

template <class Real, int Name, bool Dilu, int Members>
struct named_compute : named_layout<Real, Name, Dilu, Members> {
    using layout = named_layout<Real, Name, Dilu, Members>;
    using shape = typename layout::shape;
    using place = typename layout::place;
    using rings = typename layout::rings;
    using layout::lower_values;
    using layout::place_at;
    using layout::steps;
    using layout::terms;
    using layout::turned;
    using layout::upper_values;
    using layout::value_at;

    using values = double[2 * terms + 1]; /* lower coefficients, diagonal, upper ones */

    /* Where a lane reads its neighbours' values, counted from the ring of upper parts. */
    struct neighbours {
        place of[Members][terms];
    };

    static __device__ __forceinline__ neighbours find_neighbours(const eliminate_plan &plan,
                                                                 rings ring, int32_t lane) {
        const halo_lanes halo = halo_of(plan);
        neighbours near;
#pragma unroll
        for (int m = 0; m < Members; m++) {
            const eliminate_line line = line_of(plan, 0, lane, m);
#pragma unroll
            for (int k = 0; k < terms; k++) {
                const coupling to = shape::table::at(k);
                const int32_t ly = line.ly + to.dl, lz = line.lz - to.plane;
                const int32_t y = ly >> plan.lines_y_bits, z = lz >> plan.lines_z_bits;
                const int32_t member = (ly & ((1 << plan.lines_y_bits) - 1)) +
                                       ((lz & ((1 << plan.lines_z_bits) - 1)) << plan.lines_y_bits);
                const bool before = y < 0 || z < 0;
                near.of[m][k] = place_at(before ? (int32_t)(ring.halo - ring.upper) : 0,
                                         before ? halo_lane(halo, y, z)
                                                : GSW_TILE_LANES - 1 - (y + (z << plan.lanes_bits)),
                                         Members - 1 - member);
            }
        }
        return near;
    }

    /* Careful: a zero coefficient is not multiplied by the value in the neighbour's place. Where
     * there is no neighbour, that value may be anything; 0 times a number changes nothing. */
    template <bool Careful, int K, int U>
    static __device__ __forceinline__ void update(const Real *neighbour, const place &p, double a,
                                                  values &row) {
        constexpr int target = update_target<shape>(Dilu, K, U);
        if constexpr (target >= 0) {
            const double u = (double)neighbour[value_at(p, U)];
            row[target] = fma(-a, Careful ? where_nonzero(a, u) : u, row[target]);
        }
        if constexpr (U + 1 < terms)
            update<Careful, K, U + 1>(neighbour, p, a, row);
    }

    /* The rows of the ring of upper parts that a step reads, by how many steps back they are. */
    static constexpr int reach = shape::find_reach();
    struct rows_back {
        const Real *row[reach + 1];
    };
    static __device__ __forceinline__ rows_back find_rows_back(const eliminate_plan &plan,
                                                               rings ring, int32_t number) {
        rows_back back;
#pragma unroll
        for (int i = 1; i <= reach; i++) {
            const int32_t r = number < i ? number - i + plan.stages * steps : number - i;
            back.row[i] = ring.upper + turned(r) * upper_values;
        }
        return back;
    }

    /* Couplings K.. in ascending order; multipliers[k] becomes a_ik / d_k. */
    template <bool Careful, int K>
    static __device__ __forceinline__ void
    eliminate_from(const rows_back &back, const neighbours &near, values (&rows)[Members],
                   double (&multipliers)[Members][terms]) {
        const Real *neighbour = back.row[shape::back(K)];
#pragma unroll
        for (int m = 0; m < Members; m++) {
            const double a = rows[m][K];
            if constexpr (!Dilu) {
                const double e = (double)neighbour[near.of[m][K].diagonal()];
                multipliers[m][K] = Careful ? where_nonzero(a, a * e) : a * e;
            }
            update<Careful, K, 0>(neighbour, near.of[m][K], a, rows[m]);
        }
        if constexpr (K + 1 < terms)
            eliminate_from<Careful, K + 1>(back, near, rows, multipliers);
    }

    /* The row's own coefficients. */
    static __device__ __forceinline__ void load_row_of(const Real *lower_row, const Real *upper_row,
                                                       const place &lower, const place &upper,
                                                       values &row) {
#pragma unroll
        for (int j = 0; j < terms; j++) {
            row[j] = (double)lower_row[value_at(lower, j)];
            row[terms + 1 + j] = (double)upper_row[value_at(upper, j)];
        }
        row[terms] = (double)(Dilu ? lower_row[lower.diagonal()] : upper_row[upper.diagonal()]);
    }

    template <bool Careful>
    static __device__ __forceinline__ void
    write_row(Real *lower_row, Real *upper_row, const place &lower, const place &upper,
              const values &row, const double (&multipliers)[terms], double reciprocal) {
        (Dilu ? lower_row[lower.diagonal()] : upper_row[upper.diagonal()]) = (Real)reciprocal;
#pragma unroll
        for (int j = 0; j < terms; j++) {
            const double below = row[j], above = row[terms + 1 + j];
            const double scaled = below * reciprocal, result = above * reciprocal;
            lower_row[value_at(lower, j)] = (Real)(!Dilu     ? multipliers[j]
                                                   : Careful ? where_nonzero(below, scaled)
                                                             : scaled);
            upper_row[value_at(upper, j)] = (Real)(Careful ? where_nonzero(above, result) : result);
        }
    }

    /* A sum that is NaN if any value is NaN. It adds two halves, so that the chain of additions is
     * short. */
    template <int Begin, int End>
    static __device__ __forceinline__ double sum_of(const values &row,
                                                    const double (&multipliers)[terms]) {
        if constexpr (End - Begin == 1) {
            return (Dilu ? row[Begin] : multipliers[Begin]) + row[terms + 1 + Begin];
        } else {
            constexpr int half = (Begin + End) / 2;
            return sum_of<Begin, half>(row, multipliers) + sum_of<half, End>(row, multipliers);
        }
    }

    /* A lane's lines. */
    struct lines {
        eliminate_line of[Members];
        place lower[Members], upper[Members];

        __device__ __forceinline__ bool inside(const eliminate_plan &plan, int m,
                                               int32_t step) const {
            const int32_t x = step - of[m].trail;
            return of[m].inside && x >= 0 && x < plan.nx;
        }
    };
    static __device__ __forceinline__ lines lines_of(const eliminate_plan &plan, int32_t ticket,
                                                     int32_t lane) {
        lines own;
#pragma unroll
        for (int m = 0; m < Members; m++) {
            own.of[m] = line_of(plan, ticket, lane, m);
            own.lower[m] = place_at(0, lane, m);
            own.upper[m] = place_at(0, GSW_TILE_LANES - 1 - lane, Members - 1 - m);
        }
        return own;
    }

    /* Whether the type of the factor does not hold a row. */
    static __device__ __forceinline__ bool
    is_beyond(const values &row, const double (&multipliers)[terms], double pivot) {
        bool beyond = gsw_pivot_is_beyond_f32(pivot);
        for (int j = 0; j < terms; j++)
            beyond = beyond || gsw_is_beyond_f32(Dilu ? row[j] / pivot : multipliers[j]) ||
                     gsw_is_beyond_f32(row[terms + 1 + j] / pivot);
        return beyond && sizeof(Real) == sizeof(float);
    }

    /* Whether a row needs no care: its pivot and the reciprocal are ordinary numbers, and so are
     * its values in the type of the factor. */
    static __device__ __forceinline__ bool is_usual(double pivot, double sum) {
        if (sizeof(Real) == sizeof(double))
            return has_plain_reciprocal(pivot) && sum == sum;
        return has_narrow_reciprocal(pivot) && fabs(sum) <= (double)FLT_MAX &&
               fabs(sum) <= 0x1p127 * fabs(pivot);
    }

    /* A step by the definition, for pivots of any kind. */
    static __device__ __noinline__ void make_carefully(const eliminate_plan &plan, int32_t ticket,
                                                       rings ring, int32_t number, int32_t step) {
        const int32_t lane = (int32_t)threadIdx.x & 31;
        const lines own = lines_of(plan, ticket, lane);
        Real *lower_row = ring.lower + number * lower_values;
        Real *upper_row = ring.upper + turned(number) * upper_values;
        values rows[Members];
        double multipliers[Members][terms];
        for (int m = 0; m < Members; m++)
            load_row_of(lower_row, upper_row, own.lower[m], own.upper[m], rows[m]);
        eliminate_from<true, 0>(find_rows_back(plan, ring, number),
                                find_neighbours(plan, ring, lane), rows, multipliers);
        for (int m = 0; m < Members; m++) {
            if (!own.inside(plan, m, step))
                continue;
            const int64_t row = own.of[m].row + (step - own.of[m].trail) * plan.stride[0];
            double pivot = rows[m][terms];
            if (gsw_pivot_is_bad(pivot, plan.positive))
                pivot = mend_pivot<2 * terms + 1>(plan, rows[m], 0, pivot, row);
            if (is_beyond(rows[m], multipliers[m], pivot))
                note_lowest(&plan.pivots->beyond, row);
            write_row<true>(lower_row, upper_row, own.lower[m], own.upper[m], rows[m],
                            multipliers[m], 1 / pivot);
        }
    }

    /* One step in the usual way. False: a lane needs care, and nothing has been written. */
    static __device__ __forceinline__ bool make(const eliminate_plan &plan, const lines &own,
                                                const neighbours &near, rings ring, int32_t number,
                                                int32_t step) {
        Real *lower_row = ring.lower + number * lower_values;
        Real *upper_row = ring.upper + turned(number) * upper_values;
        values rows[Members];
        double multipliers[Members][terms], reciprocal[Members];
        bool usual = true;
#pragma unroll
        for (int m = 0; m < Members; m++)
            load_row_of(lower_row, upper_row, own.lower[m], own.upper[m], rows[m]);
        eliminate_from<false, 0>(find_rows_back(plan, ring, number), near, rows, multipliers);
#pragma unroll
        for (int m = 0; m < Members; m++) {
            const double pivot = rows[m][terms], sum = sum_of<0, terms>(rows[m], multipliers[m]);
            const bool good = is_usual(pivot, sum) && (pivot > 0 || !plan.positive);
            usual = usual && (good || !own.inside(plan, m, step));
            reciprocal[m] = plain_reciprocal(pivot);
        }
        if (!__all_sync(~0u, usual))
            return false;
#pragma unroll
        for (int m = 0; m < Members; m++) {
            if (own.inside(plan, m, step))
                write_row<false>(lower_row, upper_row, own.lower[m], own.upper[m], rows[m],
                                 multipliers[m], reciprocal[m]);
        }
        return true;
    }

    static __device__ void compute(const eliminate_plan &plan, named_control *control, rings ring) {
        const int32_t lane = (int32_t)threadIdx.x & 31;
        const lines own = lines_of(plan, control->ticket, lane);
        const neighbours near = find_neighbours(plan, ring, lane);
        int32_t slot = 0, phase = 0;
        for (int32_t c = -plan.held; c < plan.chunks; c++) {
            await_phase(shared_address(control->full + slot), (uint32_t)phase);
#pragma unroll 1
            for (int u = 0; u < steps && c >= 0; u++) {
                if (!make(plan, own, near, ring, slot * steps + u, c * steps + u))
                    make_carefully(plan, control->ticket, ring, slot * steps + u, c * steps + u);
                __syncwarp();
            }
            if (c >= 0) {
                fence_bulk();
                __syncwarp();
                if (lane == 0)
                    store_release<scope::block>(&control->completed, c + 1);
            }
            if (++slot == plan.stages) {
                slot = 0;
                phase ^= 1;
            }
        }
    }
};

} // namespace

#endif

#endif
