/* sweep_receivers.cuh: the roles of the packed sweep that wait for other blocks: opener (when may
 * this pencil's faces be written?) and receivers (values that the pencils before have published).
 *
 * PROTOCOL. Face values are flags (handover.cuh). A receiver takes a value, fills its cell in the
 * ring and puts the sentinel back. done[ticket] is a counter: once it holds the solve's epoch, the
 * pencil has put back the sentinels of all faces that it reads. sweep_kernel.cuh says when a slot
 * of faces may be used again, why every wait ends, and what differs for faces of other processes.
 */
#ifndef GSW_CUDA_SWEEP_RECEIVERS_CUH
#define GSW_CUDA_SWEEP_RECEIVERS_CUH

#include "sweep_block.cuh"

namespace {

/* ---- Slots --------------------------------------------------------------------------------------
 */

__device__ __forceinline__ abandonment<uint64_t> abandonment_of(const sweep_block &block) {
    return {&block.plan->state->abandon, SWEEP_ABANDONED | block.control->epoch, block.plan->report,
            block.plan->wait_limit_ns, GSW_CUDA_PENCIL};
}

/* Whether a wait for another block must end because the solve is abandoned. Asks when is_due(). */
__device__ __forceinline__ bool is_in_vain(const sweep_block &block, bounded_wait &wait) {
    return is_over(&wait, abandonment_of(block), block.control->ticket);
}

/* Waits until face `side` (of each lane) of pencil `ticket` is free of earlier values: its slot's
 * last reader is done. If it had no reader, the slot's last owner is done. False: the solve is
 * abandoned. */
__device__ __forceinline__ bool await_slot(const sweep_block &block, int32_t ticket, int side) {
    const sweep_plan &plan = *block.plan;
    const int32_t earlier = ticket - plan.slots;
    if (earlier < 0)
        return true;
    const int32_t reader = plan.table[earlier].after[side];
    const bool read_here = reader >= 0 && reader < plan.pencils;
    const uint32_t *done = block.done + (read_here ? reader : earlier);
    bounded_wait wait = {0, 0};
    while (__any_sync(~0u, load_acquire<scope::device>(done) != block.control->epoch)) {
        if (!is_due<256>(&wait))
            continue;
        if (__any_sync(~0u, is_in_vain(block, wait)))
            return false;
    }
    return true;
}

/* Each role that has waited for a slot or read faces calls this when it has finished with them. The
 * last role then informs the pencils that use those faces next. */
__device__ __forceinline__ void release_faces(const sweep_block &block) {
    const sweep_plan &plan = *block.plan;
    if (plan.slots >= plan.pencils)
        return;
    __threadfence();
    __syncwarp();
    if (block.lane == 0 && atomicSub_block(&block.control->face_users, 1) == 1) {
        __threadfence();
        store_release<scope::device>(block.done + block.control->ticket, block.control->epoch);
    }
}

/* ---- Opener -------------------------------------------------------------------------------------
 */

/* Whether an abandoned solve may have left values in faces. The first blocks may start before the
 * previous solve has ended. Each later block starts when a block of this launch has ended; by then
 * the previous solve has ended too. */
__device__ __forceinline__ bool maybe_dirty(const sweep_block &block) {
    const sweep_control *control = block.control;
    return control->ticket * block.plan->groups + control->group < block.plan->resident ||
           (control->abandoned != 0 && control->abandoned != (SWEEP_ABANDONED | control->epoch));
}

/* Whether faces hold values of an abandoned solve, whose mark *left receives. An acquire: when the
 * mark is gone, the faces are clean. */
__device__ __forceinline__ bool are_faces_dirty(const sweep_block &block, uint64_t *left) {
    *left = load_acquire<scope::device>(&block.plan->state->abandon);
    return __any_sync(~0u, *left != 0 && *left != (SWEEP_ABANDONED | block.control->epoch));
}

/* Returns when the faces hold nothing of an abandoned solve. The first block resets all of them,
 * without waiting; the others wait for it. */
template <typename Real> __device__ __forceinline__ void clean_faces(const sweep_block &block) {
    const sweep_plan &plan = *block.plan;
    const bool cleans = block.control->ticket == 0 && block.control->group == 0;
    bounded_wait wait = {0, 0};
    uint64_t left;
    bool dirty;
    do {
        dirty = are_faces_dirty(block, &left);
        if (dirty && !cleans && is_due<256>(&wait) && __any_sync(~0u, is_in_vain(block, wait)))
            return;
    } while (dirty && !cleans);
    if (!dirty)
        return;
    Real *faces = (Real *)plan.faces;
    for (int64_t i = block.lane; i < plan.all_values; i += 32)
        faces[i] = unpublished_value<Real>();
    __threadfence();
    __syncwarp();
    /* If a block has waited too long for this, its mark stays, and the next solve cleans again. */
    if (block.lane == 0) {
        __threadfence();
        atomicCAS((unsigned long long *)&plan.state->abandon, left, 0ull);
    }
}

/* Lets compute begin once this pencil's faces may be written. Receivers that have found dirty faces
 * may then begin, too. */
template <typename Real> __device__ __forceinline__ void open_faces(const sweep_block &block) {
    if (maybe_dirty(block))
        clean_faces<Real>(block);
    (void)await_slot(block, block.control->ticket, min(block.lane, 2));
    __syncwarp();
    if (block.lane == 0) {
        store_release<scope::block>(&block.control->faces_open, 1);
        store_release<scope::block>(&block.control->faces_clean, 1);
    }
    release_faces(block);
}

/* ---- Receivers ----------------------------------------------------------------------------------
 *
 * A lane polls two neighbouring values of one step, or one value if a step has an odd number. Then
 * it polls those `span` steps later, and so on, independently of the other lanes. It empties the
 * cell of its next row before it fills the cell of this one. So when compute has read the cell of
 * this row, it does not find an old value in the cell of the next row. `known_values`: face values
 * per step and right-hand side; 0: the plan has their number. */
template <typename Real, int known_values, int Rhs> struct receiver {
    const sweep_block &block;
    const sweep_plan &plan;
    const int32_t values;     /* per step, of all right-hand sides */
    const int32_t width;      /* values that a lane polls: 1 or 2 */
    int32_t span;             /* steps that the warp polls at once */
    int32_t row;              /* the step that the lane polls */
    int32_t end, first, last; /* steps before `end` have a row, those of first..last-1 a value */
    Real *from;               /* where the row's value is in the face */
    uint32_t to;              /* and its cell */
    uint32_t step, ring_bytes, ring_end;
    const bool remote;   /* from another process */
    int32_t slack, room; /* rows before `room` may be filled; slack: beyond what is completed */
    const int32_t *steps_completed;
    uint64_t policy;
    bool abandoned;
    bounded_wait wait;

    static __device__ __forceinline__ int32_t values_per_rhs(const sweep_face &face) {
        return known_values > 0 ? known_values : face.values;
    }

    __device__ __forceinline__ receiver(const sweep_block &of, int side)
        : block(of), plan(*of.plan), values(Rhs * values_per_rhs(of.plan->face[side])),
          width(values_per_rhs(of.plan->face[side]) % 2 == 0 ? 2 : 1),
          remote(of.remote && of.control->pencil.before[side] < -1), wait{0, 0} {
        const sweep_face face = plan.face[side];
        const int32_t per_rhs = values_per_rhs(face);
        const int32_t before = block.control->pencil.before[side];
        int32_t shift = 0; /* 2^shift lanes poll a step */
        while ((width << shift) < values)
            shift++;
        span = min(32 >> shift, (int)SWEEP_CHUNK);
        /* Of a step: [right-hand side][value]. */
        const int32_t entry = (block.lane & ((1 << shift) - 1)) * width;
        const int32_t ahead = block.lane >> shift;
        const bool works = ahead < span && entry < values;
        const int32_t rhs = works ? entry / per_rhs : 0;
        const int32_t rows = plan.ring * SWEEP_CHUNK;
        end = works ? plan.chunks * SWEEP_CHUNK : INT32_MIN;
        first = -face.later;
        last = plan.chunks * SWEEP_CHUNK - face.later;
        const uint32_t pitch = (uint32_t)plan.x_pitch;
        ring_bytes = (uint32_t)rows * pitch;
        ring_end = block.x + ring_bytes;
        step = (uint32_t)span * pitch;
        row = ahead - plan.lead;
        from =
            face_before<Real>(block, before, side) + entry + (int64_t)(row + face.later) * values;
        to = block.x + (uint32_t)(row + rows) * pitch + (uint32_t)(rhs * plan.x_stride) +
             (uint32_t)(face.cell + entry - rhs * per_rhs) * (uint32_t)sizeof(Real);
        to -= to >= ring_end ? ring_bytes : 0;
        steps_completed = block.control->steps_completed + rhs;
        slack = rows - plan.lead - span;
        room = slack;
        policy = evict_last();
        uint64_t left;
        if (maybe_dirty(block) && are_faces_dirty(block, &left))
            await_counter(&block.control->faces_clean, 1);
        abandoned = !remote && !await_slot(block, before, side);
    }

    template <scope at> __device__ __forceinline__ void load(Real *v, const Real *at_row) const {
        if (width == 2)
            load_kept<at, 2>(v, at_row, policy);
        else
            load_kept<at, 1>(v, at_row, policy);
    }

    /* Polls the values of row `row` + i `span`, which are 0 where the face has none; returns
     * whether it has. */
    __device__ __forceinline__ bool poll(Real *v, int32_t i) const {
        const int32_t r = row + i * span;
        const bool polled =
            r < end && (Rhs == 1 || r < room) && r >= first && r < last && !abandoned;
        v[0] = v[1] = 0;
        if (polled && remote)
            load<scope::system>(v, from + i * span * values);
        else if (polled)
            load<scope::device>(v, from + i * span * values);
        return polled;
    }

    /* Moves the row's values from the face to the ring; `next` is the cell of the lane's next row.
     */
    template <int n>
    __device__ __forceinline__ void take(const Real *v, bool polled, uint32_t next) const {
        const Real empty[2] = {empty_value<Real>(), empty_value<Real>()};
        const Real unpublished[2] = {unpublished_value<Real>(), unpublished_value<Real>()};
        store_shared<n>(next, empty);
        store_shared<n>(to, v);
        if (polled && remote)
            store_kept<scope::system, n>(from, unpublished, policy);
        else if (polled)
            store_kept<scope::device, n>(from, unpublished, policy);
    }

    __device__ __forceinline__ uint32_t next_cell() const {
        uint32_t next = to + step;
        next -= next >= ring_end ? ring_bytes : 0;
        return next;
    }

    /* Looks for more room, if the lane's next rows need it. With one right-hand side that is after
     * a poll, which has taken long. With several, most values are there long before there is room,
     * so those without room are not polled. */
    template <int Rows> __device__ __forceinline__ void find_room() {
        if (row + (Rows - 1) * span >= room)
            room = *(const volatile int32_t *)steps_completed + slack;
    }

    /* `Rows`: the rows that a lane polls at once. */
    template <int Rows> __device__ __forceinline__ void run() {
        int32_t seen = row;
        while (__any_sync(~0u, row < end)) {
            Real v[Rows][2];
            bool polled[Rows];
            if constexpr (Rhs > 1)
                find_room<Rows>();
#pragma unroll
            for (int i = 0; i < Rows; i++)
                polled[i] = poll(v[i], i);
            if constexpr (Rhs == 1)
                find_room<Rows>();
            bool there = true;
#pragma unroll
            for (int i = 0; i < Rows; i++) {
                there = there && row < end && row < room && !is_quiet_nan(v[i][0]) &&
                        !is_quiet_nan(v[i][1]);
                if (there) {
                    const uint32_t next = next_cell();
                    if (width == 2)
                        take<2>(v[i], polled[i], next);
                    else
                        take<1>(v[i], polled[i], next);
                    row += span;
                    from += span * values;
                    to = next;
                }
            }
            if ((wait.polls & 255u) == 0 && __any_sync(~0u, row != seen)) {
                seen = row;
                wait.since = 0;
            }
            if (is_due<256>(&wait) && is_in_vain(block, wait))
                abandoned = true;
        }
    }
};

/* Fills the halo of every row with zeros: no pencil stands before this one. The rows before the
 * first step come first. */
template <typename Real, int known_values, int Rhs>
__device__ __forceinline__ void fill_halo(const sweep_block &block, const sweep_face &face) {
    const sweep_plan &plan = *block.plan;
    const int32_t values = known_values > 0 ? known_values : face.values;
    const int32_t rows = plan.ring * SWEEP_CHUNK;
    const Real zero = 0;
#pragma unroll 4
    for (int32_t i = block.lane; i < rows * Rhs * values; i += 32) {
        const int32_t row = i / values / Rhs - plan.lead, rhs = i / values % Rhs;
        store_shared<1>(block.x + (uint32_t)((row < 0 ? row + rows : row) * plan.x_pitch) +
                            (uint32_t)(rhs * plan.x_stride) +
                            (uint32_t)((face.cell + i % values) * (int32_t)sizeof(Real)),
                        &zero);
    }
}

/* Direction `side`: 0 from y', 1 from z, 2 from both. `Rows`: polled at once, or one. */
template <typename Real, int known_values, int Rhs, int Rows>
__device__ __forceinline__ void receive_halo(const sweep_block &block, int side) {
    using role = receiver<Real, known_values, Rhs>;
    const sweep_face &face = block.plan->face[side];
    if (role::values_per_rhs(face) == 0)
        return;
    if (block.control->pencil.before[side] == -1) {
        fill_halo<Real, known_values, Rhs>(block, face);
        return;
    }
    await_kernels_before();
    role warp(block, side);
    if (Rhs > 1 || block.plan->polls_several)
        warp.template run<Rows>();
    else
        warp.template run<1>();
    release_faces(block);
}

} // namespace

#endif
