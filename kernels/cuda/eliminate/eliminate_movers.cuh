/* eliminate_movers.cuh: the roles that move data between device memory and the ring of a block that
 * eliminates a pencil of a named shape: loader, storers, receivers. eliminate_named.cuh has the
 * protocols and their proof. */
#ifndef GSW_CUDA_ELIMINATE_MOVERS_CUH
#define GSW_CUDA_ELIMINATE_MOVERS_CUH

#include "eliminate_layout.cuh"

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900

namespace {

__device__ __forceinline__ void start_copy_of_any(uint32_t shared, const void *global,
                                                  int32_t bytes) {
    if (bytes == 16)
        start_copy_of<16>(shared, global);
    else if (bytes == 8)
        start_copy_of<8>(shared, global);
    else
        start_copy_of<4>(shared, global);
}

template <class Real, int Name, bool Dilu, int Members>
struct named_movers : named_layout<Real, Name, Dilu, Members> {
    using layout = named_layout<Real, Name, Dilu, Members>;
    using rings = typename layout::rings;
    using layout::lower_values;
    using layout::rest;
    using layout::steps;
    using layout::terms;
    using layout::turned;
    using layout::upper_values;
    using layout::vector;
    using layout::whole;

    /* ---- Loader and storers */

    /* Calls copy(record, row, count) for the upper part's records of a chunk. A pencil's records
     * form a circle, so they lie in one piece or in two. */
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
                await_counter<ELIMINATE_NAP>(&control->stored, c - plan.stages + plan.held + 1);
                if (c >= kept)
                    await_counter(&control->written, c - kept + 1);
                barrier_expect(full,
                               steps * (lower_values + upper_values) * (uint32_t)sizeof(Real));
                bulk_load(shared_address(ring.lower + slot * steps * lower_values),
                          lower + record * lower_values,
                          steps * lower_values * (uint32_t)sizeof(Real), full, policy);
                for_upper_records(plan, c, slot, [&](int32_t from, int32_t row, int32_t count) {
                    bulk_load(shared_address(ring.upper + row * upper_values),
                              upper + from * upper_values,
                              (uint32_t)(count * upper_values) * (uint32_t)sizeof(Real), full,
                              policy);
                });
                record = record + steps == plan.records ? 0 : record + steps;
            }
            slot = slot + 1 == plan.stages ? 0 : slot + 1;
        }
    }

    /* Storer `turn`: the storers take chunks in turns and publish them in order. */
    static __device__ void store(const eliminate_plan &plan, named_control *control, rings ring,
                                 int32_t turn) {
        Real *lower = static_cast<Real *>(plan.lower) +
                      (int64_t)control->ticket * plan.records * lower_values;
        Real *upper =
            static_cast<Real *>(plan.upper) +
            (int64_t)plan.near[(int64_t)control->ticket * 4].upper * plan.records * upper_values;
        int32_t slot = (plan.held + turn) % plan.stages;
        for (int32_t c = turn; c < plan.chunks; c += ELIMINATE_STORERS) {
            await_counter<ELIMINATE_NAP>(&control->completed, c + 1);
            bulk_store(lower + c * steps % plan.records * lower_values,
                       shared_address(ring.lower + slot * steps * lower_values),
                       steps * lower_values * (uint32_t)sizeof(Real));
            for_upper_records(plan, c, slot, [&](int32_t to, int32_t row, int32_t count) {
                bulk_store(upper + to * upper_values,
                           shared_address(ring.upper + row * upper_values),
                           (uint32_t)(count * upper_values) * (uint32_t)sizeof(Real));
            });
            await_bulk_reads();
            await_counter(&control->stored, c);
            store_release<scope::block>(&control->stored, c + 1);
            await_bulk_stores();
            await_counter(&control->written, c);
            if (control->ticket != plan.withheld)
                store_release<scope::device>(&plan.state->steps[control->ticket], (c + 1) * steps);
            store_release<scope::block>(&control->written, c + 1);
            slot = (slot + ELIMINATE_STORERS) % plan.stages;
        }
    }

    /* ---- Receivers */

    static constexpr int items = whole + rest + !Dilu; /* copies per lane of the halo */

    /* One of them. */

    struct share {
        int32_t side;     /* -1: nothing */
        int32_t from, to; /* values from the beginning of the records */
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

    /* The sources of a lane's copies, and the steps that their pencils have published. */
    struct source {
        share mine[items];     /* of a step: the halo has at most 32 lanes */
        const Real *pencil[3]; /* by side: its upper part, where there is one */
        int32_t later[3];      /* by side: steps by which a point is computed later there */
        /* Lanes 0, 1, 2 watch a side each. */
        int32_t watched; /* ticket; -1: none */
        int32_t shift;   /* later[] of that side */
        int32_t known;   /* steps that it has published */
        bool abandoned;
    };

    static __device__ __forceinline__ source source_of(const eliminate_plan &plan,
                                                       const named_control *control) {
        const halo_lanes halo = halo_of(plan);
        const int32_t lane = (int32_t)threadIdx.x & 31;
        const eliminate_near *near = plan.near + (int64_t)control->ticket * 4;
        const int32_t by_y = plan.tile_y * plan.skew_y, by_z = plan.tile_z * plan.skew_z;
        source from;
        from.later[0] = by_y;
        from.later[1] = by_z;
        from.later[2] = by_y + by_z;
#pragma unroll
        for (int i = 0; i < items; i++)
            from.mine[i] = share_of(plan, halo, near, lane + i * GSW_TILE_LANES);
        for (int side = 0; side < 3; side++)
            from.pencil[side] = static_cast<const Real *>(plan.upper) +
                                (int64_t)near[side + 1].upper * plan.records * upper_values;
        const bool reads = lane == 0   ? halo.y > 0
                           : lane == 1 ? halo.z > 0
                                       : lane == 2 && halo.y > 0 && halo.z > 0;
        from.watched = reads ? near[lane + 1].lower : -1;
        from.shift = lane == 0 ? by_y : lane == 1 ? by_z : by_y + by_z;
        from.known = from.watched >= 0 ? 0 : plan.nx + plan.delay;
        from.abandoned = false;
        return from;
    }

    /* Waits until all watched pencils have published the values that this one's steps before `end`
     * read. */
    static __device__ __forceinline__ void await_steps(const eliminate_plan &plan,
                                                       const named_control *control, source &from,
                                                       int32_t end) {
        const int32_t needed = min(plan.nx + plan.delay, end + from.shift);
        if (!__any_sync(~0u, from.known < needed))
            return;
        bounded_wait wait = {0, 0};
        while (__any_sync(~0u, from.known < needed && !from.abandoned)) {
            if (from.known < needed)
                from.known = load_relaxed<scope::device>(&plan.state->steps[from.watched]);
            if (is_due<256>(&wait))
                from.abandoned =
                    __any_sync(~0u, is_over(&wait, abandonment_of(plan), control->ticket));
        }
        acquire_fence<scope::device>(); /* for all that was written when the steps were published */
        __syncwarp();
    }

    /* Starts copying the halo of chunk c to its rows in the ring. */
    static __device__ __forceinline__ void copy_halo(const eliminate_plan &plan, rings ring,
                                                     const source &from, int32_t c, int32_t slot) {
        int32_t record[3];
#pragma unroll
        for (int side = 0; side < 3; side++)
            record[side] =
                modulo(plan.nx - 1 + plan.delay - c * steps - from.later[side], plan.records);
#pragma unroll
        for (int u = 0; u < steps; u++) {
            Real *row = ring.halo + turned(slot * steps + u) * upper_values;
#pragma unroll
            for (int i = 0; i < items; i++) {
                const share part = from.mine[i];
                if (part.side < 0)
                    continue;
                const int32_t r = part.side == 0   ? record[0]
                                  : part.side == 1 ? record[1]
                                                   : record[2];
                const Real *pencil = part.side == 0   ? from.pencil[0]
                                     : part.side == 1 ? from.pencil[1]
                                                      : from.pencil[2];
                start_copy_of_any(shared_address(row + part.to),
                                  pencil + r * upper_values + part.from, part.bytes);
            }
#pragma unroll
            for (int side = 0; side < 3; side++)
                record[side] = record[side] == 0 ? plan.records - 1 : record[side] - 1;
        }
    }

    /* Receiver `turn`: the receivers take chunks in turns. */
    static __device__ void receive(const eliminate_plan &plan, named_control *control, rings ring,
                                   int32_t turn) {
        source from = source_of(plan, control);
        int32_t slot = turn % plan.stages;
        for (int32_t c = turn - plan.held; c < plan.chunks; c += ELIMINATE_RECEIVERS) {
            await_counter<ELIMINATE_NAP>(&control->stored, c - plan.stages + plan.held + 1);
            await_steps(plan, control, from, (c + 1) * steps);
            copy_halo(plan, ring, from, c, slot);
            barrier_arrive_after_copies(shared_address(control->full + slot));
            slot = (slot + ELIMINATE_RECEIVERS) % plan.stages;
        }
    }
};

} // namespace

#endif

#endif
