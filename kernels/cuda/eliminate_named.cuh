/* eliminate_named.cuh: elimination for named shapes: a pencil's records pass through shared memory.
 *
 * UNIT OF WORK. A pencil (tiles.h), by one block; blocks take the next one
 * from a ticket. Records of both parts come by bulk copies, some steps ahead; one warp makes the
 * steps in place; the records go back by bulk copies. The record of the upper part that belongs to
 * step s, (nx - 1 + delay - s) mod records, holds the same points as that of the lower part,
 * mirrored within the record. Warps have roles:
 *
 *   compute   makes the rows; a lane makes one point of each of its lines a step
 *   loader    bulk copies from device memory (one thread)
 *   storers   bulk copies to device memory, and tell how far the pencil is (a thread each)
 *   fetchers  what this pencil reads of the ones before it
 *
 * Storers take chunks (some steps) in turns, and so do fetchers.
 *
 * THE RING. A row of the ring is a step: the record of the lower part, that of the upper part, and
 * the halo: lanes of the upper part's records of pencils before, in a record of their own, in the
 * row of the step at which these lines would be made if they belonged to this pencil. What a line
 * reads of a neighbour `back` steps ago is therefore in row step - back, in the upper record or in
 * the halo, which depends on the lane only. The ring holds back the rows that are still read.
 *
 * WHY WHAT IS READ IS THERE. In its own pencil the neighbour was made in an earlier step
 * (back >= 1), by the same warp. In the pencil before in y' (z), a point stands tile_y * skew_y
 * (tile_z * skew_z) steps later, so a fetcher copies a row once that pencil has told so many steps
 * more. A storer tells steps when its copies have ended, and releases; a fetcher polls, then
 * acquires. A record is written twice, since the lines that a pencil ends later share it with those
 * that it began earlier; the second time it is loaded after the first time's copy has ended, and a
 * line's values are the same bytes in both.
 *
 * PROGRESS. Tickets are in the order of dependences, so the block that holds an awaited pencil is
 * running or finished. Inside a block, fetchers and loader wait for rows that are free, which the
 * storers free in order, after compute has made the `held` chunks that read them. A wait that lasts
 * plan.wait_limit_ns is reported as TIMEOUT; from then on nobody waits for other pencils.
 *
 * NOT A NUMBER. A zero coefficient must not meet what is not a number, and where it leaves the grid
 * it meets whatever lies there. Steps are made without regard to that; a step in which a NaN comes
 * out is made again, with care. */
#ifndef GSW_CUDA_ELIMINATE_NAMED_CUH
#define GSW_CUDA_ELIMINATE_NAMED_CUH

#include "cuda/bulk.cuh"
#include "cuda/eliminate_kernel.cuh"
#include "cuda/shape.cuh"

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

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900

/* ---- The ring ---------------------------------------------------------------------------------
 */

struct named_control {
    uint64_t full[ELIMINATE_STAGES]; /* loader and fetchers: the chunk is there */
    int32_t made;                    /* chunks, by compute */
    int32_t stored;                  /* chunks that a storer has taken out of the ring, */
    int32_t written;                 /* and that are in device memory */
    int32_t ticket;
};

/* The lanes of the halo: so many before the first lane in y and in z, and their corner. */
struct halo_lanes {
    int32_t lanes_y, lanes_z; /* of a pencil */
    int32_t y, z;             /* before it */
};

__device__ __forceinline__ halo_lanes halo_of(const eliminate_plan &plan) {
    const int32_t lanes_y = 1 << plan.lanes_bits;
    return {lanes_y, GSW_TILE_LANES / lanes_y, plan.halo_lanes_y, plan.halo_lanes_z};
}

__device__ __forceinline__ int32_t halo_count(const halo_lanes &h) {
    return h.y * h.lanes_z + h.z * h.lanes_y + h.y * h.z;
}

/* Which lane of the halo (y, z) is, where one of them is negative. */
__device__ __forceinline__ int32_t halo_lane(const halo_lanes &h, int32_t y, int32_t z) {
    if (z >= 0)
        return (y + h.y) * h.lanes_z + z;
    if (y >= 0)
        return h.y * h.lanes_z + (z + h.z) * h.lanes_y + y;
    return h.y * h.lanes_z + h.z * h.lanes_y + (y + h.y) * h.z + z + h.z;
}

/* And back: side 0, 1, 2: before in y, in z, in both; `lane` is that of the pencil there. */
struct halo_place {
    int32_t side, lane;
};
__device__ __forceinline__ halo_place place_of_halo(const halo_lanes &h, int32_t i) {
    int32_t side = 0, y, z;
    if (i < h.y * h.lanes_z) {
        y = i / h.lanes_z + h.lanes_y - h.y;
        z = i % h.lanes_z;
    } else if ((i -= h.y * h.lanes_z) < h.z * h.lanes_y) {
        side = 1;
        y = i % h.lanes_y;
        z = i / h.lanes_y + h.lanes_z - h.z;
    } else {
        i -= h.z * h.lanes_y;
        side = 2;
        y = i / h.z + h.lanes_y - h.y;
        z = i % h.z + h.lanes_z - h.z;
    }
    return {side, y + z * h.lanes_y};
}

__device__ __forceinline__ int32_t modulo(int32_t v, int32_t n) {
    v %= n;
    return v < 0 ? v + n : v;
}

/* Neither v nor its reciprocal is near the ends of the range, or NaN. */
__device__ __forceinline__ bool has_plain_reciprocal(double v) {
    const uint32_t size = (uint32_t)__double2hiint(v) & 0x7fffffffu;
    return size >= 0x00300000u && size < 0x7fb00000u;
}
/* For such values, without a branch: Newton's iteration from an approximation of 20 bits. */
__device__ __forceinline__ double plain_reciprocal(double v) {
    double r;
    asm("rcp.approx.ftz.f64 %0, %1;" : "=d"(r) : "d"(v));
    const double e = fma(-v, r, 1.0);
    r = fma(r, fma(e, e, e), r);
    return fma(r, fma(-v, r, 1.0), r);
}

__device__ __forceinline__ void start_copy_of(uint32_t shared, const void *global, int32_t bytes) {
    if (bytes == 16)
        start_copy_16(shared, global);
    else if (bytes == 8)
        asm volatile("cp.async.ca.shared.global [%0], [%1], 8;" ::"r"(shared), "l"(global)
                     : "memory");
    else
        asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(shared), "l"(global)
                     : "memory");
}

template <class Real, int Name, bool Dilu, int Members> struct named_pencil {
    using shape = shape_of<Name>;
    static constexpr int terms = shape::terms, steps = ELIMINATE_STEPS;
    static constexpr int vector = 16 / (int)sizeof(Real);
    static constexpr int whole = terms * Members / vector; /* vectors of a lane */
    static constexpr int rest = terms * Members - whole * vector;
    static constexpr int lower_values = (terms + Dilu) * Members * GSW_TILE_LANES;
    static constexpr int upper_values = (terms + !Dilu) * Members * GSW_TILE_LANES;
    static constexpr int row_bytes = (lower_values + 2 * upper_values) * (int)sizeof(Real);
    static_assert(Members <= vector && vector % Members == 0, "a lane's lines share a vector");

    /* One lane's values in a record that is `from` values on. */
    struct place {
        int32_t in_vectors, behind_them, with_diagonals;
        __device__ __forceinline__ int32_t diagonal() const {
            return terms * Members * GSW_TILE_LANES + with_diagonals;
        }
    };
    static __device__ __forceinline__ place place_at(int32_t from, int32_t lane, int32_t member) {
        return {from + lane * vector + member, from + member * GSW_TILE_LANES + lane,
                from + lane * Members + member};
    }
    static __device__ __forceinline__ int32_t value_at(const place &p, int term) {
        const int v = term * Members;
        return v < whole * vector ? p.in_vectors + v / vector * vector * GSW_TILE_LANES + v % vector
                                  : p.behind_them + v * GSW_TILE_LANES;
    }

    /* The ring: records of the lower part, of the upper part, halos. Records of the upper part
     * follow on in memory as steps go back, so a chunk's rows of those and of halos are in this
     * order too. */
    struct rings {
        Real *lower, *upper, *halo;
    };
    static __device__ __forceinline__ rings rings_of(const eliminate_plan &plan, char *memory) {
        Real *lower = reinterpret_cast<Real *>(memory);
        Real *upper = lower + plan.stages * steps * lower_values;
        return {lower, upper, upper + plan.stages * steps * upper_values};
    }
    static __device__ __forceinline__ int32_t turned(int32_t row) {
        return row ^ (steps - 1);
    }

    /* ---- Loader and storers */

    /* copy(record, row, count) for the upper part's records of a chunk: a pencil's records follow
     * each other in a circle, so they lie in one piece or in two. */
    template <typename Copy>
    static __device__ __forceinline__ void
    for_upper_records(const eliminate_plan &plan, int32_t chunk, int32_t slot, Copy &&copy) {
        const int32_t first = modulo(plan.nx + plan.delay - (chunk + 1) * steps, plan.records);
        const int32_t count = min((int32_t)steps, plan.records - first);
        copy(first, slot * steps, count);
        if (count < steps)
            copy(0, slot * steps + count, steps - count);
    }

    static __device__ void load(const eliminate_plan &plan, named_control *control, rings ring) {
        const Real *lower = static_cast<const Real *>(plan.lower) +
                            (int64_t)control->ticket * plan.records * lower_values;
        const Real *upper =
            static_cast<const Real *>(plan.upper) +
            (int64_t)plan.near[(int64_t)control->ticket * 4].upper * plan.records * upper_values;
        const uint64_t policy = evict_first();
        const int32_t kept = plan.records / steps;
        int32_t slot = 0, record = 0;
        for (int32_t c = -plan.held; c < plan.chunks; c++) {
            const uint32_t full = shared_address(control->full + slot);
            if (c < 0) {
                barrier_arrive(full);
            } else {
                while (load_acquire_block(&control->stored) < c - plan.stages + plan.held + 1)
                    __nanosleep(ELIMINATE_NAP);
                while (c >= kept && load_acquire_block(&control->written) < c - kept + 1)
                    ;
                barrier_expect(full,
                               steps * (lower_values + upper_values) * (uint32_t)sizeof(Real));
                bulk_copy(shared_address(ring.lower + slot * steps * lower_values),
                          lower + record * lower_values,
                          steps * lower_values * (uint32_t)sizeof(Real), full, policy);
                for_upper_records(plan, c, slot, [&](int32_t from, int32_t row, int32_t count) {
                    bulk_copy(shared_address(ring.upper + row * upper_values),
                              upper + from * upper_values,
                              (uint32_t)(count * upper_values) * (uint32_t)sizeof(Real), full,
                              policy);
                });
                record = record + steps == plan.records ? 0 : record + steps;
            }
            slot = slot + 1 == plan.stages ? 0 : slot + 1;
        }
    }

    /* Storer `turn` of two, which take chunks in turns and report them in order. */
    static __device__ void store(const eliminate_plan &plan, named_control *control, rings ring,
                                 int32_t turn) {
        Real *lower = static_cast<Real *>(plan.lower) +
                      (int64_t)control->ticket * plan.records * lower_values;
        Real *upper =
            static_cast<Real *>(plan.upper) +
            (int64_t)plan.near[(int64_t)control->ticket * 4].upper * plan.records * upper_values;
        int32_t slot = (plan.held + turn) % plan.stages;
        for (int32_t c = turn; c < plan.chunks; c += ELIMINATE_STORERS) {
            while (load_acquire_block(&control->made) <= c)
                __nanosleep(ELIMINATE_NAP);
            bulk_store(lower + c * steps % plan.records * lower_values,
                       shared_address(ring.lower + slot * steps * lower_values),
                       steps * lower_values * (uint32_t)sizeof(Real));
            for_upper_records(plan, c, slot, [&](int32_t to, int32_t row, int32_t count) {
                bulk_store(upper + to * upper_values,
                           shared_address(ring.upper + row * upper_values),
                           (uint32_t)(count * upper_values) * (uint32_t)sizeof(Real));
            });
            await_bulk_reads();
            while (load_acquire_block(&control->stored) < c)
                ;
            store_release_block(&control->stored, c + 1);
            await_bulk_stores();
            while (load_acquire_block(&control->written) < c)
                ;
            if (control->ticket != plan.withheld)
                store_release_device(&plan.state->steps[control->ticket], (c + 1) * steps);
            store_release_block(&control->written, c + 1);
            slot = (slot + ELIMINATE_STORERS) % plan.stages;
        }
    }

    /* ---- Fetchers */

    static constexpr int items = whole + rest + !Dilu; /* copies for a lane of the halo */

    struct share {
        int32_t side;     /* -1: nothing */
        int32_t from, to; /* values from the records' first ones */
        int32_t bytes;
    };

    static __device__ __forceinline__ share share_of(const eliminate_plan &plan,
                                                     const halo_lanes &halo,
                                                     const eliminate_near *near, int32_t i) {
        const int32_t lanes = halo_count(halo);
        if (i >= lanes * items)
            return {-1, 0, 0, 0};
        const int32_t to = i % lanes, item = i / lanes;
        const halo_place place = place_of_halo(halo, to);
        const int32_t from = GSW_TILE_LANES - 1 - place.lane;
        const int32_t side = near[place.side + 1].upper >= 0 ? place.side : -1;
        if (item < whole) {
            const int32_t at = item * vector * GSW_TILE_LANES;
            return {side, at + from * vector, at + to * vector, 16};
        }
        const bool diagonal = item == whole + rest;
        const int32_t at = diagonal ? terms * Members * GSW_TILE_LANES
                                    : (whole * vector + item - whole) * GSW_TILE_LANES;
        const int32_t values = diagonal ? Members : 1;
        return {side, at + from * values, at + to * values, values * (int32_t)sizeof(Real)};
    }

    static __device__ void fetch(const eliminate_plan &plan, named_control *control, rings ring,
                                 int32_t turn) {
        const halo_lanes halo = halo_of(plan);
        const int32_t lane = (int32_t)threadIdx.x & 31, all = plan.nx + plan.delay;
        const eliminate_near *near = plan.near + (int64_t)control->ticket * 4;
        const int32_t by_y = plan.tile_y * plan.skew_y, by_z = plan.tile_z * plan.skew_z;
        const int32_t later[3] = {by_y, by_z, by_y + by_z};
        share mine[items]; /* of a step: the halo has 32 lanes at most */
#pragma unroll
        for (int i = 0; i < items; i++)
            mine[i] = share_of(plan, halo, near, lane + i * GSW_TILE_LANES);
        const Real *pencil[3]; /* where there is one */
        for (int side = 0; side < 3; side++)
            pencil[side] = static_cast<const Real *>(plan.upper) +
                           (int64_t)near[side + 1].upper * plan.records * upper_values;
        /* Lanes 0, 1, 2 watch a side each. */
        const bool reads = lane == 0   ? halo.y > 0
                           : lane == 1 ? halo.z > 0
                                       : lane == 2 && halo.y > 0 && halo.z > 0;
        const int32_t watched = reads ? near[lane + 1].lower : -1;
        const int32_t shift = lane == 0 ? by_y : lane == 1 ? by_z : by_y + by_z;
        int32_t known = watched >= 0 ? 0 : all; /* steps that the pencil there has told */
        bool given = false;
        int32_t slot = turn % plan.stages;
        for (int32_t c = turn - plan.held; c < plan.chunks; c += ELIMINATE_FETCHERS) {
            while (load_acquire_block(&control->stored) < c - plan.stages + plan.held + 1)
                __nanosleep(ELIMINATE_NAP);
            const int32_t needed = min(all, (c + 1) * steps + shift);
            if (__any_sync(~0u, known < needed)) {
                uint32_t turns = 0;
                int64_t since = 0;
                while (__any_sync(~0u, known < needed && !given)) {
                    if (known < needed)
                        known = load_relaxed_device(&plan.state->steps[watched]);
                    if ((++turns & 255u) == 0) {
                        since = since == 0 ? device_clock() : since;
                        given = __any_sync(~0u, given_up(plan, control->ticket, since));
                    }
                }
                acquire_device(); /* what had been stored when the steps were told */
                __syncwarp();
            }
            int32_t record[3];
#pragma unroll
            for (int side = 0; side < 3; side++)
                record[side] =
                    modulo(plan.nx - 1 + plan.delay - c * steps - later[side], plan.records);
#pragma unroll
            for (int u = 0; u < steps; u++) {
                Real *row = ring.halo + turned(slot * steps + u) * upper_values;
#pragma unroll
                for (int i = 0; i < items; i++) {
                    if (mine[i].side < 0)
                        continue;
                    const int32_t side = mine[i].side;
                    const int32_t r = side == 0 ? record[0] : side == 1 ? record[1] : record[2];
                    const Real *from = side == 0 ? pencil[0] : side == 1 ? pencil[1] : pencil[2];
                    start_copy_of(shared_address(row + mine[i].to),
                                  from + r * upper_values + mine[i].from, mine[i].bytes);
                }
#pragma unroll
                for (int side = 0; side < 3; side++)
                    record[side] = record[side] == 0 ? plan.records - 1 : record[side] - 1;
            }
            arrive_after_copies(shared_address(control->full + slot));
            slot = (slot + ELIMINATE_FETCHERS) % plan.stages;
        }
    }

    /* ---- Compute */

    using values = double[2 * terms + 1]; /* lower coefficients, diagonal, upper ones */

    /* What a lane reads of the neighbours, counted from the ring of upper parts. */
    struct sight {
        place of[Members][terms];
    };

    static __device__ __forceinline__ sight look(const eliminate_plan &plan, rings ring,
                                                 int32_t lane) {
        const halo_lanes halo = halo_of(plan);
        sight near;
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

    /* Careful: a zero coefficient does not meet what lies in the neighbour's place. Where there is
     * no neighbour that is anything; but 0 times a number changes nothing. */
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

    /* The rows that a step reads of the ring of upper parts, by how many steps back they are. */
    static constexpr int reach = shape::find_reach();
    struct rows_back {
        const Real *row[reach + 1];
    };
    static __device__ __forceinline__ rows_back look_back(const eliminate_plan &plan, rings ring,
                                                          int32_t number) {
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
    static __device__ __forceinline__ void eliminate_from(const rows_back &back, const sight &near,
                                                          values (&rows)[Members],
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

    /* Has something become NaN? The sum of all tells, in halves so that it takes few steps. */
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

    /* A step with care, for pivots of any kind. */
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
        eliminate_from<true, 0>(look_back(plan, ring, number), look(plan, ring, lane), rows,
                                multipliers);
        for (int m = 0; m < Members; m++) {
            if (!own.inside(plan, m, step))
                continue;
            double pivot = rows[m][terms];
            if (is_bad_pivot(plan, pivot))
                pivot = mend_pivot<2 * terms + 1>(plan, rows[m], 0, pivot,
                                                  own.of[m].row +
                                                      (step - own.of[m].trail) * plan.stride[0]);
            write_row<true>(lower_row, upper_row, own.lower[m], own.upper[m], rows[m],
                            multipliers[m], 1 / pivot);
        }
    }

    /* One step in the usual way; false, and nothing is written, where some lane needs care. */
    static __device__ __forceinline__ bool make(const eliminate_plan &plan, const lines &own,
                                                const sight &near, rings ring, int32_t number,
                                                int32_t step) {
        Real *lower_row = ring.lower + number * lower_values;
        Real *upper_row = ring.upper + turned(number) * upper_values;
        values rows[Members];
        double multipliers[Members][terms], reciprocal[Members];
        bool usual = true;
#pragma unroll
        for (int m = 0; m < Members; m++)
            load_row_of(lower_row, upper_row, own.lower[m], own.upper[m], rows[m]);
        eliminate_from<false, 0>(look_back(plan, ring, number), near, rows, multipliers);
#pragma unroll
        for (int m = 0; m < Members; m++) {
            const double pivot = rows[m][terms], sum = sum_of<0, terms>(rows[m], multipliers[m]);
            const bool good =
                has_plain_reciprocal(pivot) && (pivot > 0 || !plan.positive) && sum == sum;
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
        const sight near = look(plan, ring, lane);
        int32_t slot = 0, phase = 0;
        for (int32_t c = -plan.held; c < plan.chunks; c++) {
            while (!barrier_passed(shared_address(control->full + slot), (uint32_t)phase))
                ;
#pragma unroll 1
            for (int u = 0; u < steps && c >= 0; u++) {
                if (!make(plan, own, near, ring, slot * steps + u, c * steps + u))
                    make_carefully(plan, control->ticket, ring, slot * steps + u, c * steps + u);
                __syncwarp();
            }
            if (c >= 0) {
                fence_proxy();
                __syncwarp();
                if (lane == 0)
                    store_release_block(&control->made, c + 1);
            }
            if (++slot == plan.stages) {
                slot = 0;
                phase ^= 1;
            }
        }
    }
};

#endif

/* threadIdx.x: compute, loader, storers, fetchers: a warp each. */
template <class Real, int Name, bool Dilu, int Members>
__global__ void __launch_bounds__(ELIMINATE_THREADS, Members)
    eliminate_named_pencils(const __grid_constant__ eliminate_plan plan) {
#if __CUDA_ARCH__ >= 900
    using pencil = named_pencil<Real, Name, Dilu, Members>;
    extern __shared__ __align__(128) char named_memory[];
    __shared__ named_control control;
    const typename pencil::rings ring = pencil::rings_of(plan, named_memory);
    const int32_t thread = (int32_t)threadIdx.x;
    if (thread < ELIMINATE_STAGES)
        barrier_init(shared_address(control.full + thread), 1 + 32);
    if (thread == ELIMINATE_STAGES) {
        control.made = control.stored = control.written = 0;
        control.ticket = atomicAdd(&plan.state->next, 1);
    }
    fence_proxy();
    /* What is read where there is no neighbour is a number. */
    for (int32_t i = thread; i < plan.stages * pencil::steps * pencil::upper_values;
         i += ELIMINATE_THREADS)
        ring.halo[i] = 0;
    __syncthreads();
    const int role = __shfl_sync(~0u, thread >> 5, 0);
    constexpr int storer = 2, fetcher = storer + ELIMINATE_STORERS;
    if (role == 0)
        pencil::compute(plan, &control, ring);
    else if (role == 1 && (thread & 31) == 0)
        pencil::load(plan, &control, ring);
    else if (role >= storer && role < fetcher && (thread & 31) == 0)
        pencil::store(plan, &control, ring, role - storer);
    else if (role >= fetcher)
        pencil::fetch(plan, &control, ring, role - fetcher);
#endif
}

/* ---- Choice -----------------------------------------------------------------------------------
 */

template <class Real, int Name> eliminate_kernel named_kernel(int dilu) {
    constexpr int members = lines_of_a_lane(Name);
    using ilu = named_pencil<Real, Name, false, members>;
    using diagonal = named_pencil<Real, Name, true, members>;
    return dilu
               ? eliminate_kernel{(const void *)eliminate_named_pencils<Real, Name, true, members>,
                                  diagonal::row_bytes}
               : eliminate_kernel{(const void *)eliminate_named_pencils<Real, Name, false, members>,
                                  ilu::row_bytes};
}

template <class Real> eliminate_kernel kernel_for(gsw_shape_name shape, int dilu) {
    switch (shape) {
#define ELIMINATE_CASE(name, lower)                                                                \
    case SHAPE_##name:                                                                             \
        return named_kernel<Real, SHAPE_##name>(dilu);
        GSW_NAMED_STENCILS(ELIMINATE_CASE, GSW_NO_OFFSET)
#undef ELIMINATE_CASE
    case SHAPE_OTHER:
    case SHAPE_COUNT:
        break;
    }
    return {(const void *)eliminate_pencils<Real>, 0};
}

} // namespace

#endif
