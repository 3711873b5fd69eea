/* sweep_compute.cuh: the compute role of the packed sweep for named shapes: a warp per right-hand
 * side, one point of each of a lane's lines per step.
 *
 * A step's critical path begins when the step before it is stored: only then are the values of
 * other lanes from that step added. Everything else is ready earlier. Coefficients are loaded two
 * steps ahead, neighbours of earlier steps as soon as they are there, and the lane's own values
 * stay in registers. All loops over steps of a chunk, terms and neighbours are unrolled, so that
 * arrays are registers.
 *
 * PIVOTS. With `pivots` a step's result is the reciprocal of its sum: the reciprocal pivot of an
 * elimination that changes the diagonal alone (diagonal.cu). Where there is no plain reciprocal the
 * result is 0, and the plan's report says so. So no result is a NaN. */
#ifndef GSW_CUDA_SWEEP_COMPUTE_CUH
#define GSW_CUDA_SWEEP_COMPUTE_CUH

#include "reciprocal.cuh"
#include "sweep_block.cuh"

namespace {

/* Keeps the compiler from loading a constant of the plan again and again. */
__device__ __forceinline__ uint32_t in_register(uint32_t value) {
    asm volatile("mov.u32 %0, %0;" : "+r"(value));
    return value;
}

/* The value is computed before the asm statements that follow. */
__device__ __forceinline__ void compute_here(double &v) {
    asm volatile("" : "+d"(v));
}
__device__ __forceinline__ void compute_here(float &v) {
    asm volatile("" : "+f"(v));
}

/* A sum that the compiler does not join with a product. For D3N13 it would do so in some kernels
 * and not in others, whose bits must be the same. */
__device__ __forceinline__ double sum_of(double a, double b) {
    return __dadd_rn(a, b);
}
__device__ __forceinline__ float sum_of(float a, float b) {
    return __fadd_rn(a, b);
}

/* `diagonal`: the records hold the reciprocal diagonal. With that the length of a record is a
 * constant, and the places of its values are offsets in the instructions. `keeps`: chunks may have
 * the same coefficients. */
template <int name, typename Real, typename Value, int Rhs, bool diagonal, bool pivots, bool keeps>
struct compute_warp {
    using S = shape_of<name>;
    /* Lines per lane, couplings per line, neighbours outside the lane. */
    static constexpr int M = S::members, T = S::terms, N = S::sources();
    static constexpr int NEIGHBOURS = N > 0 ? N : 1;
    /* Values in 16 bytes, and those of a lane's coefficients that fill such vectors. */
    static constexpr int VECTOR = 16 / (int)sizeof(Value), WHOLE = T * M / VECTOR * VECTOR;
    /* Bytes from right-hand side to right-hand side, and from row to row. */
    static constexpr uint32_t X_STRIDE = (uint32_t)sweep_row_stride(S::row_values, sizeof(Real));
    static constexpr uint32_t B_STRIDE = (uint32_t)sweep_row_stride(S::own_values, sizeof(Real));
    static constexpr uint32_t X_PITCH = (uint32_t)sweep_row_pitch(S::row_values, sizeof(Real), Rhs);
    static constexpr uint32_t B_PITCH = (uint32_t)sweep_row_pitch(S::own_values, sizeof(Real), Rhs);
    /* The step of a chunk that asks whether the next chunk is ready. The step after it loads the
     * next chunk's records. */
    static constexpr int ASKS_READY = SWEEP_CHUNK - 3;
    static constexpr int STAGE_STEPS = BULK_COPIES ? (int)SWEEP_CHUNK : (int)SWEEP_SLICE;
    static constexpr uint32_t RECORD_BYTES = (T + diagonal) * M * 32 * (uint32_t)sizeof(Value);

    const sweep_plan &plan;
    sweep_control *control;
    const int32_t *ready;
    int32_t lane;

    /* Steps at which the lines are in the grid: s - delay[m] < nx, unsigned. */
    int32_t delay[M];
    bool ragged; /* some lane's line is outside the grid */

    /* Where the values of step 0 of this chunk go in the faces, and whether they are published. */
    Real *face_y[M], *face_z[M], *face_c[M];
    bool publishes_y[M], publishes_z[M], publishes_c[M];
    const uint64_t kept = Rhs > 1 ? evict_last() : 0; /* cache policy */

    uint32_t cell[NEIGHBOURS]; /* of the neighbours, in bytes from the beginning of a row */
    uint32_t cell_before[NEIGHBOURS], cell_here[NEIGHBOURS];

    Value a[2][T * M], d[2][M] = {}; /* coefficients of this step and the next */
    Real b[2][M];
    Real h[NEIGHBOURS][8] = {}; /* neighbours' values, by the step of their row mod 8 */
    Real own[M][8] = {};        /* the lane's own */
    Real scaled[M], sum[M];     /* b times the reciprocal diagonal; a step's sum so far */
    /* Shared addresses: rows of the chunk before and of this one, records, b. */
    uint32_t before = 0, here = 0;
    uint32_t record, next_record, b_here, b_next;

    /* Constants of the rings. */
    uint32_t records_begin, records_end, x_begin, x_end, b_begin, b_bytes;
    int32_t chunks;
    int32_t kept_begin, kept_end; /* chunks whose coefficients stay in registers */

    /* Where records come in slices. */
    int32_t slice = 0;    /* the first one of this chunk */
    int32_t *slices_read; /* those that this warp has loaded */

    /* ---- Places */

    __device__ __forceinline__ compute_warp(const sweep_block &block, int rhs)
        : plan(*block.plan), control(block.control),
          ready(block.control->ready + rhs / sweep_warps<Rhs>::rhs_per_mover), lane(block.lane),
          slices_read(block.control->slices_read + rhs) {
        const int32_t ly = lane % S::lanes_y * S::lines_y, lz = lane / S::lanes_y * S::lines_z;
        find_lines(block, ly, lz);
        find_faces(block, rhs, ly, lz);
        find_neighbours(ly, lz);
    }

    static __device__ __forceinline__ int32_t member_y(int m) {
        return S::lines_y == 2 ? m : 0;
    }
    static __device__ __forceinline__ int32_t member_z(int m) {
        return S::lines_z == 2 ? m : 0;
    }

    __device__ __forceinline__ void find_lines(const sweep_block &block, int32_t ly, int32_t lz) {
        ragged = false;
#pragma unroll
        for (int m = 0; m < M; m++) {
            const int32_t my = ly + member_y(m), mz = lz + member_z(m);
            const bool inside = has_line(block, my, mz);
            delay[m] = inside ? S::skew_y * my + S::skew_z * mz : INT32_MIN / 2;
            ragged = ragged || !inside;
        }
        ragged = __any_sync(~0u, ragged);
    }

    /* y' and corner take the lines from tile_y - halo_y on, z those from tile_z - halo_z. */
    __device__ __forceinline__ void find_faces(const sweep_block &block, int rhs, int32_t ly,
                                               int32_t lz) {
        Real *const to[3] = {face_of<Real>(block, 0), face_of<Real>(block, 1),
                             face_of<Real>(block, 2)};
        const bool publishes = control->ticket != plan.withheld;
        const int32_t from_y = S::tile_y - S::halo_y, from_z = S::tile_z - S::halo_z;
#pragma unroll
        for (int m = 0; m < M; m++) {
            const int32_t my = ly + member_y(m), mz = lz + member_z(m);
            publishes_y[m] = publishes && control->pencil.after[0] >= 0 && my >= from_y;
            publishes_z[m] =
                publishes && S::face_z > 0 && control->pencil.after[1] >= 0 && mz >= from_z;
            publishes_c[m] = publishes && S::corner && control->pencil.after[2] >= 0 &&
                             my >= from_y && mz >= from_z;
            face_y[m] = to[0] + rhs * S::face_y + (my - from_y) * S::tile_z + mz;
            face_z[m] = to[1] + rhs * S::face_z + my * S::halo_z + mz - from_z;
            face_c[m] = to[2] + rhs * S::face_c + (my - from_y) * S::halo_z + mz - from_z;
        }
    }

    __device__ __forceinline__ void find_neighbours(int32_t ly, int32_t lz) {
        repeat<N>([&](auto i) {
            constexpr int k = decltype(i)::v;
            constexpr source s = S::source_at(k);
            cell[k] = (uint32_t)sizeof(Real) *
                      (uint32_t)cell_of(plan, tile_of<name>(plan), S::halo_y, S::halo_z,
                                        ly + s.lane_y * S::lines_y + member_y(s.member),
                                        lz + s.lane_z * S::lines_z + member_z(s.member));
        });
    }

    __device__ __forceinline__ void find_cells() {
        repeat<N>([&](auto i) {
            constexpr int k = decltype(i)::v;
            cell_before[k] = before + cell[k];
            cell_here[k] = here + cell[k];
        });
    }

    __device__ __forceinline__ void find_rings(const sweep_block &block, int rhs) {
        records_begin = block.coefficients;
        records_end =
            in_register(block.coefficients + (uint32_t)(plan.stages * STAGE_STEPS) * RECORD_BYTES);
        x_begin = in_register(block.x + (uint32_t)rhs * X_STRIDE);
        x_end = in_register(x_begin + (uint32_t)(plan.ring * SWEEP_CHUNK) * X_PITCH);
        b_bytes = in_register((uint32_t)(plan.staged * SWEEP_CHUNK) * B_PITCH);
        chunks = (int32_t)in_register((uint32_t)plan.chunks);
        if constexpr (keeps) {
            kept_begin = (int32_t)in_register((uint32_t)plan.kept_begin);
            kept_end = (int32_t)in_register((uint32_t)plan.kept_end);
        }
        b_begin =
            block.b + (uint32_t)rhs * B_STRIDE + (uint32_t)(lane * M) * (uint32_t)sizeof(Real);
    }

    /* ---- Loads */

    /* Coefficients of the step whose record is at `at`. */
    __device__ __forceinline__ void load_coefficients_of(int p, uint32_t at) {
        repeat<WHOLE / VECTOR>([&](auto i) {
            constexpr int k = decltype(i)::v;
            load_shared<VECTOR>(&a[p][k * VECTOR], at + (uint32_t)(k * 512 + lane * 16));
        });
        repeat<T * M - WHOLE>([&](auto i) {
            constexpr int k = WHOLE + decltype(i)::v;
            load_shared<1>(&a[p][k], at + (uint32_t)((k * 32 + lane) * (int)sizeof(Value)));
        });
    }

    /* Loads b and, unless it is `kept`, the reciprocal diagonal of a step two steps ahead; computes
     * their product one step ahead. */
    template <bool kept = false>
    __device__ __forceinline__ void load_right_side(int p, uint32_t record_at, uint32_t b_at) {
        if constexpr (diagonal && !kept)
            load_shared<M>(d[p],
                           record_at + (uint32_t)((T * M * 32 + lane * M) * (int)sizeof(Value)));
        load_shared<M>(b[p], b_at);
    }
    __device__ __forceinline__ void scale_right_side(int p) {
#pragma unroll
        for (int m = 0; m < M; m++)
            scaled[m] = diagonal ? b[p][m] * (Real)d[p][m] : b[p][m];
    }

    /* ---- Slices: steps u + 2 and u + 3 of a chunk, for even u, are in one */

    /* Whether the slice that step u + 1 begins to load is still missing. Odd steps ask this. */
    __device__ __forceinline__ bool is_slice_late(int u) const {
        const int next =
            (u + 1) / SWEEP_SLICE + 1; /* slices of a chunk are a multiple of loaders */
        const int32_t filled =
            *(const volatile int32_t *)&control->slices_filled[next % SWEEP_LOADERS];
        return filled <= (slice + next) / SWEEP_LOADERS;
    }

    __device__ __forceinline__ void load_slice_ahead(int u) {
        if (u % SWEEP_SLICE == 0) {
            record += SWEEP_SLICE * RECORD_BYTES;
            record = record == records_end ? records_begin : record;
        }
        const uint32_t at = record + (uint32_t)(u % SWEEP_SLICE) * RECORD_BYTES;
        load_coefficients_of(u & 1, at);
        load_right_side(u & 1, at,
                        u < SWEEP_CHUNK - 2 ? b_here + (uint32_t)(u + 2) * B_PITCH
                                            : b_next + (uint32_t)(u + 2 - SWEEP_CHUNK) * B_PITCH);
        if (u % SWEEP_SLICE == SWEEP_SLICE - 1 && lane == 0)
            *(volatile int32_t *)slices_read = slice + (u + 1) / SWEEP_SLICE + 1;
    }

    /* Loads what step u + 2 needs. That step may be in the next chunk. */
    template <bool kept> __device__ __forceinline__ void load_ahead(int u) {
        if constexpr (!BULK_COPIES) {
            load_slice_ahead(u);
            return;
        }
        const bool in_chunk = u < SWEEP_CHUNK - 2;
        const uint32_t v = (uint32_t)(in_chunk ? u + 2 : u + 2 - SWEEP_CHUNK);
        const uint32_t at = (in_chunk ? record : next_record) + v * RECORD_BYTES;
        if constexpr (!kept)
            load_coefficients_of(u & 1, at);
        load_right_side<kept>(u & 1, at, (in_chunk ? b_here : b_next) + v * B_PITCH);
    }

    /* The row that step u loads of a neighbour whose nearest reader is `nearest` steps later. If
     * step u itself reads the row before, it is that row; else the row that step u + 1 reads first.
     */
    static __device__ __forceinline__ int loaded_row(int u, int nearest) {
        return nearest == 1 ? u - 1 : u + 1 - nearest;
    }

    /* `near`: neighbours that step u itself reads; else the others. */
    template <bool near> __device__ __forceinline__ void load_neighbours(int u) {
        repeat<N>([&](auto i) {
            constexpr int k = decltype(i)::v;
            constexpr int nearest = S::source_at(k).nearest;
            constexpr bool second = k > 0 && S::pair(k > 0 ? k - 1 : 0);
            if constexpr (!second && (nearest == 1) == near) {
                const int r = loaded_row(u, nearest);
                const uint32_t at =
                    (r < 0 ? cell_before[k] : cell_here[k]) + (uint32_t)(r & 7) * X_PITCH;
                constexpr int width = S::pair(k) ? 2 : 1;
                Real v[width];
                load_shared<width>(v, at);
                for (int w = 0; w < width; w++)
                    h[k + w][r & 7] = v[w];
            }
        });
    }

    /* Whether a neighbour that step u loads is not there yet. */
    __device__ __forceinline__ bool is_neighbour_late(int u) const {
        bool late = false;
        repeat<N>([&](auto i) {
            constexpr int k = decltype(i)::v;
            constexpr int nearest = S::source_at(k).nearest;
            late |= is_empty(h[k][loaded_row(u, nearest) & 7]);
        });
        return late;
    }

    /* Waits for those of rows -8 .. -1 that step 0 and the next steps read. */
    __device__ __forceinline__ void await_rows_before() {
        bool late;
        do {
            late = false;
            repeat<N>([&](auto i) {
                constexpr int k = decltype(i)::v;
                repeat<8>([&](auto r) {
                    constexpr int row = decltype(r)::v, back = 8 - row;
                    if constexpr (back >= S::source_at(k).nearest && back <= S::farthest(k)) {
                        load_shared<1>(&h[k][row], before + (uint32_t)row * X_PITCH + cell[k]);
                        late = late || is_empty(h[k][row]);
                    }
                });
            });
        } while (__any_sync(~0u, late));
    }

    /* ---- Arithmetic */

    /* Adds all terms of step u except values of the step before, in two chains of sums where there
     * are many terms. */
    __device__ __forceinline__ void begin_sum(int u) {
        repeat<M>([&](auto member) {
            constexpr int m = decltype(member)::v;
            Real t[2] = {scaled[m], 0};
            repeat<T>([&](auto term) {
                constexpr int j = decltype(term)::v, back = S::back(j);
                constexpr source from = S::of(j, m);
                constexpr int i = S::source_index(j, m);
                constexpr int chain = T * M > 8 && j % 2 == 0 ? 1 : 0;
                const Real c = -(Real)a[u & 1][j * M + m];
                if constexpr (back > 1 && S::own(from))
                    t[chain] = fma(c, own[from.member][(u - back) & 7], t[chain]);
                else if constexpr (back > 1)
                    t[chain] = fma(c, h[i < 0 ? 0 : i][(u - back) & 7], t[chain]);
            });
            sum[m] = T * M > 8 ? sum_of(t[0], t[1]) : t[0];
        });
    }

    /* Adds the lane's own values of the step before step u: first that of x - 1, then that of its
     * other line, if it has two. So a sum's order does not depend on how many lines a lane has. */
    __device__ __forceinline__ void add_own(int u) {
        repeat<M>([&](auto member) {
            constexpr int m = decltype(member)::v;
            repeat<T>([&](auto term) {
                constexpr int j = T - 1 - decltype(term)::v;
                constexpr source from = S::of(j, m);
                if constexpr (S::back(j) == 1 && S::own(from))
                    sum[m] = fma(-(Real)a[u & 1][j * M + m], own[from.member][(u - 1) & 7], sum[m]);
            });
        });
    }

    /* Adds the values of other lanes. Then step u is complete. */
    __device__ __forceinline__ void add_near(int u, const Value *near, Real *r) const {
        repeat<M>([&](auto member) {
            constexpr int m = decltype(member)::v;
            r[m] = sum[m];
            repeat<T>([&](auto term) {
                constexpr int j = decltype(term)::v;
                constexpr int i = S::source_index(j, m);
                if constexpr (S::back(j) == 1 && !S::own(S::of(j, m)))
                    r[m] = fma(-(Real)near[j * M + m], h[i < 0 ? 0 : i][(u - 1) & 7], r[m]);
            });
            compute_here(r[m]);
        });
    }

    /* ---- Steps */

    /* With several right-hand sides fewer pencils are swept at a time, so a face's reader comes
     * long after its writer. With one, keeping the face in the cache would only make steps longer.
     */
    template <int n>
    __device__ __forceinline__ void store_in_face(bool wanted, Real *to, const Real *v) const {
        if constexpr (Rhs > 1)
            store_kept_if<n>(wanted, to, v, kept);
        else
            store_now_if<n>(wanted, to, v);
    }

    /* Publishes the values of step u. A quiet NaN does not count as published; run() has the chunk
     * computed again. */
    __device__ __forceinline__ void publish(int u, const Real *r) const {
        if constexpr (M == 2 && S::lines_z == 2) {
            store_in_face<2>(publishes_y[0], face_y[0] + u * Rhs * S::face_y, r);
            if constexpr (S::halo_z >= 2)
                store_in_face<2>(publishes_z[0], face_z[0] + u * Rhs * S::face_z, r);
            else
                store_in_face<1>(publishes_z[1], face_z[1] + u * Rhs * S::face_z, r + 1);
        } else {
            repeat<M>([&](auto member) {
                constexpr int m = decltype(member)::v;
                if constexpr (m >= M - S::halo_y || S::lines_y == 1)
                    store_in_face<1>(publishes_y[m], face_y[m] + u * Rhs * S::face_y, r + m);
                if constexpr (S::face_z > 0)
                    store_in_face<1>(publishes_z[m], face_z[m] + u * Rhs * S::face_z, r + m);
                if constexpr (S::corner)
                    store_in_face<1>(publishes_c[m], face_c[m] + u * Rhs * S::face_c, r + m);
            });
        }
    }

    /* Replaces pivots by their reciprocals. Sets *wrong where there is no plain one. */
    __device__ __forceinline__ void invert(Real *r, const bool *inside, bool *wrong) const {
#pragma unroll
        for (int m = 0; m < M; m++) {
            const bool good = has_plain_reciprocal(r[m]) && (r[m] > 0 || !plan.positive);
            *wrong |= !good && inside[m];
            r[m] = good ? near_reciprocal(r[m]) : 0;
        }
    }

    /* Step u of chunk c. `masked`: lines may be outside the grid. `kept`: coefficients are those of
     * the step before. Sets *wrong if a result is a quiet NaN, or a pivot has no plain reciprocal.
     */
    template <bool masked, bool kept>
    __device__ __forceinline__ void make_step(int u, int32_t c, int32_t needed, bool *wrong) {
        Real r[M];
        bool late;
        int32_t chunks_ready = 0;
        if (u == ASKS_READY)
            chunks_ready = *(const volatile int32_t *)ready;
        load_neighbours<true>(u);
        load_neighbours<false>(u);
        begin_sum(u);
        add_own(u);
        Value near[T * M]; /* the coefficients of add_near(): load_ahead() replaces them */
#pragma unroll
        for (int i = 0; i < T * M; i++)
            near[i] = a[u & 1][i];
        load_ahead<kept>(u);
        scale_right_side((u + 1) & 1);
        add_near(u, near, r);
        late = is_neighbour_late(u);
        if (u == ASKS_READY)
            late |= chunks_ready < needed;
        if (!BULK_COPIES && u % SWEEP_SLICE == SWEEP_SLICE - 1)
            late |= is_slice_late(u);
        if (__any_sync(~0u, late)) {
            do {
                load_neighbours<true>(u);
                load_neighbours<false>(u);
                late = is_neighbour_late(u);
                if (u == ASKS_READY)
                    late |= *(const volatile int32_t *)ready < needed;
                if (!BULK_COPIES && u % SWEEP_SLICE == SWEEP_SLICE - 1)
                    late |= is_slice_late(u);
            } while (__any_sync(~0u, late));
            add_near(u, near, r);
        }
        bool inside[M];
#pragma unroll
        for (int m = 0; m < M; m++)
            inside[m] = !masked || (uint32_t)(c * SWEEP_CHUNK + u - delay[m]) < (uint32_t)plan.nx;
        if constexpr (pivots)
            invert(r, inside, wrong);
#pragma unroll
        for (int m = 0; m < M; m++)
            r[m] = inside[m] ? r[m] : (Real)0;
        store_shared<M>(here + (uint32_t)u * X_PITCH + (uint32_t)(lane * M * (int)sizeof(Real)), r);
        publish(u, r);
        /* After a NaN, or infinity with a coefficient 0, all later values of the line are NaN. So
         * the last step shows it, except for lines that have ended. */
#pragma unroll
        for (int m = 0; m < M; m++) {
            own[m][u] = r[m];
            if (!pivots && (masked || u == SWEEP_CHUNK - 1))
                *wrong |= is_quiet_nan(r[m]);
        }
    }

    /* As make_step() sets *wrong. */
    template <bool masked, bool kept = false>
    __device__ __forceinline__ bool make_chunk(int32_t c) {
        const int32_t needed = min(c + 2, chunks);
        bool wrong = false;
#pragma unroll
        for (int u = 0; u < SWEEP_CHUNK; u++)
            make_step<masked, kept>(u, c, needed, &wrong);
        return wrong;
    }

    /* Loads what the first steps need. */
    __device__ __forceinline__ void begin() {
        await_ready(ready, 0);
        if constexpr (!BULK_COPIES)
            await_first_slices(control);
        before = x_begin + (uint32_t)((plan.ring - 1) * SWEEP_CHUNK) * X_PITCH;
        here = x_begin;
        record = records_begin;
        b_here = b_begin;
        load_coefficients_of(0, record);
        load_coefficients_of(1, record + RECORD_BYTES);
        load_right_side(0, record, b_here);
        load_right_side(1, record + RECORD_BYTES, b_here + B_PITCH);
        scale_right_side(0);
        await_rows_before();
        find_cells();
    }

    /* Where the next chunk's records (unless they come in slices) and b are. */
    __device__ __forceinline__ void find_next(int32_t c) {
        next_record = record + SWEEP_CHUNK * RECORD_BYTES;
        next_record = next_record == records_end ? records_begin : next_record;
        if (keeps && c + 1 >= kept_begin && c + 1 < kept_end)
            next_record = record; /* it has the same values */
        b_next = b_here + SWEEP_CHUNK * B_PITCH;
        b_next -= b_next == b_begin + b_bytes ? b_bytes : 0;
    }

    __device__ __forceinline__ void advance() {
#pragma unroll
        for (int m = 0; m < M; m++) {
            face_y[m] += SWEEP_CHUNK * Rhs * S::face_y;
            face_z[m] += SWEEP_CHUNK * Rhs * S::face_z;
            face_c[m] += SWEEP_CHUNK * Rhs * S::face_c;
        }
        if constexpr (BULK_COPIES)
            record = next_record;
        else
            slice += SWEEP_CHUNK / SWEEP_SLICE;
        b_here = b_next;
        before = here;
        here += SWEEP_CHUNK * X_PITCH;
        here = here == x_end ? x_begin : here;
        find_cells();
    }

    /* Bits of the values of this chunk that have been published, [line][step]. */
    __device__ __forceinline__ uint32_t published() const {
        uint32_t bits = 0;
#pragma unroll
        for (int i = 0; i < M * SWEEP_CHUNK; i++)
            bits |= (uint32_t)!is_quiet_nan(own[i / SWEEP_CHUNK][i % SWEEP_CHUNK]) << i;
        return bits;
    }

    __device__ __forceinline__ int32_t run(int rhs, uint32_t *published_bits) {
        /* Chunks in which every lane's lines are in the grid. */
        const int32_t whole = ragged ? INT32_MAX : (plan.delay + SWEEP_CHUNK - 1) / SWEEP_CHUNK;
        const int32_t end_whole = plan.nx / SWEEP_CHUNK;
        int32_t c = 0;
        for (; c < chunks; c++) {
            find_next(c);
            bool wrong;
            if (keeps && c >= kept_begin && c < kept_end && !ragged)
                wrong = make_chunk<false, keeps>(c);
            else if (c >= whole && c < end_whole)
                wrong = make_chunk<false>(c);
            else
                wrong = make_chunk<true>(c);
            if (__builtin_expect(__any_sync(~0u, wrong), 0)) {
                if constexpr (pivots) {
                    plan.pivots->unfit = 1;
                } else {
                    *published_bits = published();
                    break; /* the chunk is computed again, carefully */
                }
            }
            if (lane == 0)
                complete_chunk(control, rhs, c);
            advance();
        }
        return c * SWEEP_CHUNK;
    }
};

/* Computes steps of one right-hand side until a result needs care. Returns the first step that is
 * not complete, or the number of all steps. *published has a bit for each value of that step's
 * chunk, [line][step], that has been published already. */
template <int name, typename Real, typename Value, int Rhs, bool diagonal, bool pivots, bool keeps>
__device__ __forceinline__ int32_t make_steps_of(const sweep_block &block, int rhs,
                                                 uint32_t *published) {
    compute_warp<name, Real, Value, Rhs, diagonal, pivots, keeps> warp(block, rhs);
    warp.find_rings(block, rhs);
    warp.begin();
    return warp.run(rhs, published);
}

template <int name, typename Real, typename Value, int Rhs, bool pivots, bool keeps>
__device__ __forceinline__ int32_t make_steps(const sweep_block &block, int rhs,
                                              uint32_t *published) {
    if constexpr (!pivots) {
        if (block.plan->diagonal)
            return make_steps_of<name, Real, Value, Rhs, true, false, keeps>(block, rhs, published);
    }
    return make_steps_of<name, Real, Value, Rhs, false, pivots, keeps>(block, rhs, published);
}

} // namespace

#endif
