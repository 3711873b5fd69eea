/* eliminate_kernel.cuh: the elimination of one row, and the kernel that runs pencils for some
 * steps. The rows are host and device code. */
#ifndef GSW_CUDA_ELIMINATE_KERNEL_CUH
#define GSW_CUDA_ELIMINATE_KERNEL_CUH

#include <float.h>
#include <math.h>

#include "cuda/eliminate.cuh"

namespace {

#define ELIMINATE_HD __host__ __device__ __forceinline__

/* For rows in registers; the host's compiler does not know the pragma. */
#ifdef __CUDA_ARCH__
#define ELIMINATE_UNROLL _Pragma("unroll")
#else
#define ELIMINATE_UNROLL
#endif

/* ---- Where values lie -------------------------------------------------------------------------
 */

/* A line of a pencil, for one thread. */
struct eliminate_line {
    int64_t start;        /* time of the pencil's step 0 */
    int64_t row;          /* of x = 0, the user's */
    int64_t record;       /* first record of the pencil in the lower part */
    const int32_t *near;  /* tickets of the pencils before it, */
    int32_t ticket[2][2]; /* and those one tile before it at most: [z][y] */
    int32_t ly, lz;
    int32_t lane, member;
    int32_t trail; /* steps by which it trails the pencil's first line */
    int32_t inside;
};

/* One point's values in one part. */
struct eliminate_spot {
    int64_t record;
    int32_t lane, member;
};

ELIMINATE_HD eliminate_line line_of(const eliminate_plan &plan, int64_t index, int32_t lane,
                                    int32_t member) {
    const eliminate_pencil pencil = plan.pencil[index];
    eliminate_line line;
    const int32_t lane_y = lane & ((1 << plan.lanes_bits) - 1), lane_z = lane >> plan.lanes_bits;
    line.ly = (lane_y << plan.lines_y_bits) + (member & ((1 << plan.lines_y_bits) - 1));
    line.lz = (lane_z << plan.lines_z_bits) + (member >> plan.lines_y_bits);
    const int64_t z = (int64_t)pencil.k * plan.tile_z + line.lz;
    const int64_t y = (int64_t)pencil.j * plan.tile_y + line.ly - plan.shear * z;
    line.start = pencil.start;
    line.row = y * plan.stride[1] + z * plan.stride[2];
    line.record = (int64_t)pencil.ticket * plan.records;
    line.near = plan.near + index * plan.near_y * plan.near_z;
    for (int32_t i = 0; i < 2; i++) {
        for (int32_t j = 0; j < 2; j++)
            line.ticket[i][j] = line.near[i * plan.near_y + j];
    }
    line.lane = lane;
    line.member = member;
    line.trail = plan.skew_y * line.ly + plan.skew_z * line.lz;
    line.inside = y >= 0 && y < plan.ny && z < plan.nz;
    return line;
}

/* step mod records, without a division: the quotient is too small by 1 at most. */
ELIMINATE_HD int32_t record_of(const eliminate_plan &plan, int32_t step) {
#ifdef __CUDA_ARCH__
    const uint32_t quotient = __umulhi((uint32_t)step, plan.per_record);
#else
    const uint32_t quotient = (uint32_t)((uint64_t)(uint32_t)step * plan.per_record >> 32);
#endif
    const int32_t rest = step - (int32_t)quotient * plan.records;
    return rest < plan.records ? rest : rest - plan.records;
}

/* Point x of line (ly, lz) of a pencil, as the upper part keeps it: see MIRROR in geometry.h. */
ELIMINATE_HD eliminate_spot upper_spot(const eliminate_plan &plan, int32_t ticket, int32_t x,
                                       int32_t ly, int32_t lz) {
    const int32_t step = plan.nx - 1 - x + plan.skew_y * (plan.tile_y - 1 - ly) +
                         plan.skew_z * (plan.tile_z - 1 - lz);
    const int32_t lane = (ly >> plan.lines_y_bits) + (lz >> plan.lines_z_bits << plan.lanes_bits);
    const int32_t member = (ly & ((1 << plan.lines_y_bits) - 1)) +
                           ((lz & ((1 << plan.lines_z_bits) - 1)) << plan.lines_y_bits);
    return {(int64_t)ticket * plan.records + record_of(plan, step), GSW_TILE_LANES - 1 - lane,
            plan.members - 1 - member};
}

/* How many tiles before its own a line lies: `line` counts from its own tile's first one. */
ELIMINATE_HD int32_t tiles_before(int32_t line, int32_t tile) {
    if (line >= 0)
        return 0;
    return line >= -tile ? 1 : (-line - 1) / tile + 1;
}

/* The neighbour's values in the upper part. Where there is no such point the row's coefficient for
 * it is zero and nothing depends on what is read: then, the row's own. */
ELIMINATE_HD eliminate_spot neighbour_spot(const eliminate_plan &plan, const eliminate_line &line,
                                           int32_t x, eliminate_coupling to) {
    const int32_t y = line.ly + to.dl, z = line.lz + to.dz;
    const int32_t before_y = tiles_before(y, plan.tile_y), before_z = tiles_before(z, plan.tile_z);
    const int32_t ticket = line.near[before_z * plan.near_y + before_y];
    if (ticket < 0 || x + to.dx < 0 || x + to.dx >= plan.nx)
        return upper_spot(plan, line.ticket[0][0], x, line.ly, line.lz);
    return upper_spot(plan, ticket, x + to.dx, y + before_y * plan.tile_y,
                      z + before_z * plan.tile_z);
}

/* The same where no neighbour is more than one tile away, and without branches: the loads of all
 * neighbours can then be on their way together. */
ELIMINATE_HD eliminate_spot close_spot(const eliminate_plan &plan, const eliminate_line &line,
                                       int32_t x, eliminate_coupling to) {
    const int32_t y = line.ly + to.dl, z = line.lz + to.dz;
    const bool before_y = to.dl < 0 && y < 0, before_z = to.dz < 0 && z < 0;
    const int32_t same_z = before_y ? line.ticket[0][1] : line.ticket[0][0];
    const int32_t other_z = before_y ? line.ticket[1][1] : line.ticket[1][0];
    const int32_t ticket = before_z ? other_z : same_z;
    const bool there =
        ticket >= 0 && (to.dx >= 0 || x + to.dx >= 0) && (to.dx <= 0 || x + to.dx < plan.nx);
    return upper_spot(plan, there ? ticket : line.ticket[0][0], there ? x + to.dx : x,
                      there ? (before_y ? y + plan.tile_y : y) : line.ly,
                      there ? (before_z ? z + plan.tile_z : z) : line.lz);
}

/* ---- Pivots -----------------------------------------------------------------------------------
 */

ELIMINATE_HD void note_bad(gsw_cuda_pivots *pivots, int64_t row) {
#ifdef __CUDA_ARCH__
    atomicMin((long long *)&pivots->bad, (long long)row);
#else
    if (row < pivots->bad)
        pivots->bad = row;
#endif
}

ELIMINATE_HD void note_shifted(gsw_cuda_pivots *pivots) {
#ifdef __CUDA_ARCH__
    atomicAdd((unsigned long long *)&pivots->shifted, 1ull);
#else
    pivots->shifted++;
#endif
}

ELIMINATE_HD bool is_bad_pivot(const eliminate_plan &plan, double pivot) {
    const double size = fabs(pivot);
    return !(size >= DBL_MIN && size <= DBL_MAX) || (plan.positive && pivot < 0);
}

/* What takes the place of a bad pivot: a multiple of the largest of the row's `count` coefficients,
 * as the updates have left them. */
template <int Count>
ELIMINATE_HD double mend_pivot(const eliminate_plan &plan, const double *row, int32_t count,
                               double pivot, int64_t number) {
    if (!(plan.pivot_shift > 0)) {
        note_bad(plan.pivots, number);
        return pivot;
    }
    double largest = 0;
    ELIMINATE_UNROLL for (int32_t e = 0; e < (Count > 0 ? Count : count); e++) {
        const double size = fabs(row[e]);
        if (size > largest && size <= DBL_MAX)
            largest = size;
    }
    note_shifted(plan.pivots);
    const double shift = plan.pivot_shift * (largest > 0 ? largest : 1);
    return pivot < 0 && !plan.positive ? -shift : shift;
}

/* v where c is not zero, else 0. */
ELIMINATE_HD double where_nonzero(double c, double v) {
    return c != 0 ? v : 0;
}

/* ---- Rows of named shapes: everything in registers --------------------------------------------
 */

template <int Name> struct eliminate_shape;

/* `last` is the neighbour at x - 1, which OFFSETS_ leaves out. */
#define ELIMINATE_COUPLING(index, x, l, p) {x, l, -(p)},
#define ELIMINATE_COUNT(index, x, l, p)    +1
#define ELIMINATE_SHAPE(name, halo)                                                                \
    template <> struct eliminate_shape<SHAPE_##name> {                                             \
        static constexpr int terms = 1 OFFSETS_##name(ELIMINATE_COUNT);                            \
        static constexpr __host__ __device__ eliminate_coupling at(int term) {                     \
            const eliminate_coupling list[] = {OFFSETS_##name(ELIMINATE_COUPLING){-1, 0, 0}};      \
            return list[term];                                                                     \
        }                                                                                          \
    };
NAMED_SHAPES(ELIMINATE_SHAPE)
#undef ELIMINATE_SHAPE
#undef ELIMINATE_COUNT
#undef ELIMINATE_COUPLING

/* gsw_find_updates() for a shape whose parts are mirror images: the target of lower coupling k and
 * the neighbour's upper coupling u, or -1. */
template <class Shape> constexpr __host__ __device__ int update_target(bool dilu, int k, int u) {
    const eliminate_coupling a = Shape::at(k), b = Shape::at(u);
    const int dx = a.dx - b.dx, dl = a.dl - b.dl, dz = a.dz - b.dz;
    if (dx == 0 && dl == 0 && dz == 0)
        return Shape::terms;
    for (int j = 0; !dilu && j < Shape::terms; j++) {
        const eliminate_coupling c = Shape::at(j);
        if (c.dx == dx && c.dl == dl && c.dz == dz)
            return j;
        if (c.dx == -dx && c.dl == -dl && c.dz == -dz)
            return Shape::terms + 1 + j;
    }
    return -1;
}

/* One point's values in one part, as gsw_packed_value() places them: what depends on the thread
 * apart from what the compiler knows. */
template <class Real, int Terms, int Members> struct eliminate_record {
    static constexpr int vector = 16 / (int)sizeof(Real);
    static constexpr int whole = Terms * Members / vector * vector; /* values in whole vectors */
    static_assert(Members <= vector && vector % Members == 0, "a lane's lines share a vector");

    Real *in_vectors, *behind_them, *diagonal;

    ELIMINATE_HD eliminate_record(void *values, int64_t record_values, eliminate_spot spot) {
        Real *record = static_cast<Real *>(values) + spot.record * record_values;
        in_vectors = record + spot.lane * vector + spot.member;
        behind_them = record + spot.member * GSW_TILE_LANES + spot.lane;
        diagonal = record + Terms * Members * GSW_TILE_LANES + spot.lane * Members + spot.member;
    }

    ELIMINATE_HD Real *at(int term) const {
        const int v = term * Members;
        return v < whole ? in_vectors + v / vector * vector * GSW_TILE_LANES + v % vector
                         : behind_them + v * GSW_TILE_LANES;
    }
};

template <class Real, int Name, bool Dilu, int Members> struct eliminate_named {
    using shape = eliminate_shape<Name>;
    using record = eliminate_record<Real, shape::terms, Members>;
    static constexpr int terms = shape::terms;

    /* The updates that upper coefficients U.. of the neighbour at coupling K make. */
    template <int K, int U>
    static ELIMINATE_HD void update(const record &neighbour, double a, double *row) {
        constexpr int target = update_target<shape>(Dilu, K, U);
        if constexpr (target >= 0)
            row[target] = fma(-a, where_nonzero(a, (double)*neighbour.at(U)), row[target]);
        if constexpr (U + 1 < terms)
            update<K, U + 1>(neighbour, a, row);
    }

    /* Couplings K.. in ascending order; multipliers[k] becomes a_ik / d_k. */
    template <int K>
    static ELIMINATE_HD void eliminate_from(const eliminate_plan &plan, const eliminate_line &line,
                                            int32_t x, double *row, double *multipliers) {
        constexpr eliminate_coupling coupling = shape::at(K);
        const record neighbour(plan.upper, plan.upper_record, close_spot(plan, line, x, coupling));
        const double a = row[K];
        if constexpr (!Dilu)
            multipliers[K] = where_nonzero(a, a * (double)*neighbour.diagonal);
        update<K, 0>(neighbour, a, row);
        if constexpr (K + 1 < terms)
            eliminate_from<K + 1>(plan, line, x, row, multipliers);
    }

    static ELIMINATE_HD void eliminate(const eliminate_plan &plan, const eliminate_line &line,
                                       int32_t step) {
        const int32_t x = step - line.trail;
        const record lower(plan.lower, plan.lower_record,
                           {line.record + record_of(plan, step), line.lane, line.member});
        const record upper(plan.upper, plan.upper_record,
                           upper_spot(plan, line.ticket[0][0], x, line.ly, line.lz));
        Real *const diagonal = Dilu ? lower.diagonal : upper.diagonal;
        double row[2 * terms + 1], multipliers[terms];
        ELIMINATE_UNROLL for (int j = 0; j < terms; j++) {
            row[j] = (double)*lower.at(j);
            row[terms + 1 + j] = (double)*upper.at(j);
        }
        row[terms] = (double)*diagonal;
        eliminate_from<0>(plan, line, x, row, multipliers);

        double pivot = row[terms];
        if (is_bad_pivot(plan, pivot))
            pivot = mend_pivot<2 * terms + 1>(plan, row, 0, pivot, line.row + x * plan.stride[0]);
        const double reciprocal = 1 / pivot;
        *diagonal = (Real)reciprocal;
        ELIMINATE_UNROLL for (int j = 0; j < terms; j++) {
            const double u = row[terms + 1 + j];
            const double l = Dilu ? where_nonzero(row[j], row[j] * reciprocal) : multipliers[j];
            *lower.at(j) = (Real)l;
            *upper.at(j) = (Real)where_nonzero(u, u * reciprocal);
        }
    }
};

/* ---- Rows of any shape ------------------------------------------------------------------------
 */

template <class Real> struct eliminate_listed {
    static ELIMINATE_HD Real *at(const eliminate_plan &plan, void *values, int32_t terms,
                                 int32_t record_values, eliminate_spot spot, int32_t term) {
        return static_cast<Real *>(values) + spot.record * record_values +
               gsw_packed_value(terms, plan.members, plan.vector, term, spot.member, spot.lane);
    }

    static ELIMINATE_HD Real *lower_at(const eliminate_plan &plan, eliminate_spot spot,
                                       int32_t term) {
        return at(plan, plan.lower, plan.lower_terms, plan.lower_record, spot, term);
    }

    static ELIMINATE_HD Real *upper_at(const eliminate_plan &plan, eliminate_spot spot,
                                       int32_t term) {
        return at(plan, plan.upper, plan.upper_terms, plan.upper_record, spot, term);
    }

    static ELIMINATE_HD void eliminate(const eliminate_plan &plan, const eliminate_line &line,
                                       int32_t step) {
        const gsw_updates &updates = plan.lists->updates;
        const int32_t below = plan.lower_terms, above = plan.upper_terms;
        const int32_t x = step - line.trail;
        const eliminate_spot lower = {line.record + record_of(plan, step), line.lane, line.member};
        const eliminate_spot upper = upper_spot(plan, line.ticket[0][0], x, line.ly, line.lz);
        Real *const diagonal =
            plan.dilu ? lower_at(plan, lower, below) : upper_at(plan, upper, above);
        double row[GSW_STENCIL_MAX];
        for (int32_t j = 0; j < below; j++)
            row[j] = (double)*lower_at(plan, lower, j);
        row[below] = (double)*diagonal;
        for (int32_t j = 0; j < above; j++)
            row[below + 1 + j] = (double)*upper_at(plan, upper, j);

        for (int32_t k = 0; k < below; k++) {
            const eliminate_coupling c = plan.lists->lower[k];
            const double a = row[k];
            const eliminate_spot neighbour = neighbour_spot(plan, line, x, c);
            if (!plan.dilu)
                *lower_at(plan, lower, k) =
                    (Real)where_nonzero(a, a * (double)*upper_at(plan, neighbour, above));
            for (int32_t i = updates.first[k]; a != 0 && i < updates.first[k + 1]; i++) {
                const gsw_update to = updates.update[i];
                row[to.target] =
                    fma(-a, (double)*upper_at(plan, neighbour, to.upper), row[to.target]);
            }
        }

        double pivot = row[below];
        if (is_bad_pivot(plan, pivot))
            pivot =
                mend_pivot<0>(plan, row, below + 1 + above, pivot, line.row + x * plan.stride[0]);
        const double reciprocal = 1 / pivot;
        *diagonal = (Real)reciprocal;
        for (int32_t j = 0; plan.dilu && j < below; j++)
            *lower_at(plan, lower, j) = (Real)where_nonzero(row[j], row[j] * reciprocal);
        for (int32_t j = 0; j < above; j++) {
            const double u = row[below + 1 + j];
            *upper_at(plan, upper, j) = (Real)where_nonzero(u, u * reciprocal);
        }
    }
};

/* ---- The kernel -------------------------------------------------------------------------------
 */

/* What a line does at one time. */
template <class Rows>
ELIMINATE_HD void eliminate_at(const eliminate_plan &plan, const eliminate_line &line,
                               int64_t time) {
    const int64_t x = time - line.start - line.trail;
    if (line.inside && x >= 0 && x < plan.nx)
        Rows::eliminate(plan, line, (int32_t)(time - line.start));
}

/* Asks for a record, `bytes` long, to come into the L2 cache. */
__device__ __forceinline__ void ask_for(const void *values, int64_t record, int32_t bytes,
                                        int32_t thread, int32_t threads) {
    const char *from = static_cast<const char *>(values) + record * bytes;
    for (int32_t i = thread * 128; i < bytes; i += threads * 128)
        asm volatile("prefetch.global.L2 [%0];" ::"l"(from + i));
}

/* Asks for what a pencil's lines will need some steps later. */
template <class Real>
__device__ __forceinline__ void ask_ahead(const eliminate_plan &plan, const eliminate_line &line,
                                          int64_t time) {
    const int64_t step = time - line.start + ELIMINATE_AHEAD;
    if (step < 0 || step >= plan.nx + plan.delay)
        return;
    const int32_t thread = line.member * GSW_TILE_LANES + line.lane;
    const int32_t threads = plan.members * GSW_TILE_LANES;
    const int64_t mirrored = (int64_t)line.ticket[0][0] * plan.records;
    ask_for(plan.lower, line.record + record_of(plan, (int32_t)step),
            plan.lower_record * (int32_t)sizeof(Real), thread, threads);
    ask_for(plan.upper, mirrored + record_of(plan, plan.nx - 1 + plan.delay - (int32_t)step),
            plan.upper_record * (int32_t)sizeof(Real), thread, threads);
}

/* Pencils first.. (up to last), times time.. (up to end). threadIdx: lane, member, pencil. */
template <class Real, class Rows>
__global__ void __launch_bounds__(ELIMINATE_WARPS *GSW_TILE_LANES)
    eliminate_steps(eliminate_plan plan, int32_t first, int32_t last, int64_t time, int64_t end) {
    const int64_t index = first + (int64_t)blockIdx.x * blockDim.z + threadIdx.z;
    const bool used = index < last;
    const eliminate_line line =
        line_of(plan, used ? index : first, (int32_t)threadIdx.x, (int32_t)threadIdx.y);
    for (; time < end; time++) {
        if (used) {
            ask_ahead<Real>(plan, line, time);
            eliminate_at<Rows>(plan, line, time);
        }
        if (time + 1 < end)
            __syncthreads(); /* the pencil's next step reads what this one has made */
    }
}

/* ---- Choice -----------------------------------------------------------------------------------
 */

template <class Real, int Name> const void *named_kernel(int dilu, int members) {
    if (members == 1)
        return dilu ? (const void *)eliminate_steps<Real, eliminate_named<Real, Name, true, 1>>
                    : (const void *)eliminate_steps<Real, eliminate_named<Real, Name, false, 1>>;
    return dilu ? (const void *)eliminate_steps<Real, eliminate_named<Real, Name, true, 2>>
                : (const void *)eliminate_steps<Real, eliminate_named<Real, Name, false, 2>>;
}

template <class Real> const void *kernel_for(gsw_shape_name shape, int dilu, int members) {
    if (members <= ELIMINATE_MEMBERS) {
        switch (shape) {
#define ELIMINATE_CASE(name, halo)                                                                 \
    case SHAPE_##name:                                                                             \
        return named_kernel<Real, SHAPE_##name>(dilu, members);
            NAMED_SHAPES(ELIMINATE_CASE)
#undef ELIMINATE_CASE
        case SHAPE_OTHER:
            break;
        }
    }
    return (const void *)eliminate_steps<Real, eliminate_listed<Real>>;
}

} // namespace

#endif
