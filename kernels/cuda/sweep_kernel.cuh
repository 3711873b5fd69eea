/* sweep_kernel.cuh: one sweep of a packed factor: skewed pencils, a block each.
 *
 * UNIT OF WORK. A pencil (tiles.h). A block takes the next one from a ticket.
 * Its warps have roles, and hand on through shared memory, chunk by chunk (8 steps):
 *
 *   compute  makes the steps; a lane makes one point of each of its lines a step; a warp a column
 *   loader   bulk copies of packed records into a ring of stages (one thread)
 *   stager   b, from lines in natural order to steps; announces chunks whose records, b and room
 *            for x are there
 *   storer   x, from steps to lines in natural order
 *   usher    waits until the pencil's faces may be written; with several columns the first warp of
 *            compute does that before it begins
 *   halos    a warp for each direction: values that the pencils before have handed over
 *
 * COLUMNS. A block sweeps one right-hand side or several, which share the records. Rings and faces
 * hold the columns of a step one after the other; stagers and storers have some columns each. A
 * launch may have several groups of columns, and then so many blocks for each pencil, one ticket
 * after the other; groups have faces and done[] of their own, and nothing else to do with each
 * other. "Ticket" in what follows is the pencil's.
 *
 * THE RING. x of the last steps lies in shared memory, one row a step: first the pencil's own
 * values, lane by lane, then the halo: the lines before it in y', in z, in both. A halo value lies
 * in the row of the step at which that line would have been made if it belonged to the pencil. So a
 * neighbour `back` steps ago is found in the row step - back, at a column that depends on the lane
 * only, wherever it was made. Lanes outside the grid make 0, and couplings that leave the grid have
 * coefficient 0.
 *
 * FACES. A pencil hands its last lines over through device memory: [step][line], steps counted by
 * the producer, one array for each of the (up to three) pencils that read it, so that each value
 * has one reader. A value is its own flag: a quiet NaN means not yet, and the reader puts one back.
 * In the ring that is EMPTY, a signalling NaN, which no arithmetic makes. Nothing else rests on a
 * value's arrival, so relaxed accesses of the device's scope are enough. Between solves all entries
 * that anybody reads are quiet NaNs. Its reader asks the L2 cache to keep a face longer than what
 * streams through it.
 *
 * NaN AND INFINITY. A zero coefficient must not meet them: 0 * infinity and 0 * NaN are NaN. What
 * comes out as a number, infinity included, has met no such thing and is right. A quiet NaN may be
 * right or not, so in a face it means not yet, too. A line that has made one makes NaNs from there
 * on; compute looks for them at the end of each chunk, and where it finds one, goes over to
 * make_careful_steps() for that chunk and the rest of the pencil: that skips zeros as the
 * definition does, hands over what has not been handed over, and writes a NaN that is meant as
 * another signalling one.
 *
 * MEMORY ORDER. In shared memory: rows are written before the counter that announces them, and read
 * after it; a warp's accesses to shared memory take effect in the order of its program (they are
 * volatile, and the votes of every step keep the compute warp together). A halo's cells are emptied
 * and filled by one lane: it empties the cell of its next row, `span` rows on, before it fills this
 * one, and only when compute has made the steps that read what lay there. Compute reads a cell of a
 * row only after the one `span` rows before it, which the lane filled after emptying this one. At
 * first all cells are EMPTY. Chunks are counted by mbarriers (arrive releases, wait acquires),
 * which also order bulk copies. Between blocks: values as flags; and done[ticket] (fence and
 * release after the roles concerned, acquire), which says that a pencil has emptied the faces that
 * it has read.
 *
 * SLOTS. Faces lie in slots that pencils `slots` tickets apart share, so that they stay in the
 * cache. Before a slot's next pencil writes a face, and before anybody looks there for what that
 * pencil writes, the one who read the face last must be done with it; where nobody reads, the
 * pencil itself, which then has waited for those before it.
 *
 * PROGRESS. Tickets are in the order of dependences, so whatever pencil a block waits for is held
 * by a block that took its ticket earlier and is running, or is finished; the same is true of those
 * who must be done with a slot, because slots are more than any reader's distance in tickets. So
 * the unfinished pencil with the smallest ticket waits for nobody, whatever the number of resident
 * blocks. Inside a block every wait leads to an earlier chunk: the loader, the stager and the halos
 * wait for room that compute makes in an earlier chunk, the storer for compute, compute for what
 * stager and halos bring for the next chunk; the stager announces c once b has come, which it asked
 * for while compute was at c - staged + lag or later, and once the storer has read c - ring, for
 * which compute must have made c - ring + lag < c - 1. Rings are long enough for that, and for a
 * halo's lanes to bring a whole chunk while compute has made the one before (sweep.cu).
 *
 * FAULTS. Only halos and usher wait for other blocks. One that has waited for plan.wait_limit_ns
 * reports TIMEOUT and marks the solve as given up; others find the mark. From then on a halo takes
 * 0 for what has not come, and the usher lets compute begin, so that all blocks run to their end.
 * The next solve finds the mark of this one, and its first block empties all faces before any
 * looks there or hands over.
 *
 * THE KERNEL BEFORE. Blocks may start while the kernel before this one ends (launch.cuh). Tickets
 * are safe: all blocks of that kernel have theirs then, and so had those of each kernel before it
 * when the next one started. The loader does not wait for its end: coefficients and the table have
 * been there since gsw_cuda_factor_fill(), which waits for the stream. All others do, so nothing is
 * read of b, and nothing in faces or x is touched, before it. */
#ifndef GSW_CUDA_SWEEP_KERNEL_CUH
#define GSW_CUDA_SWEEP_KERNEL_CUH

#include "cuda/bulk.cuh"
#include "cuda/launch.cuh"
#include "cuda/order.cuh"
#include "cuda/shape.cuh"
#include "cuda/sweep.cuh"

namespace {

/* ---- Places -------------------------------------------------------------------------------------
 */

/* A pencil's tile: for named shapes the compiler knows it. */
struct pencil_tile {
    int32_t lanes_y, lines_y, lines_z, tile_y, tile_z, skew_y, skew_z;
};

template <int name> __device__ __forceinline__ pencil_tile tile_of(const sweep_plan &plan) {
    if constexpr (name == SHAPE_OTHER) {
        return {plan.lanes_y, plan.lines_y, plan.lines_z, plan.tile_y,
                plan.tile_z,  plan.skew_y,  plan.skew_z};
    } else {
        using S = shape_of<name>;
        return {S::lanes_y, S::lines_y, S::lines_z, S::tile_y, S::tile_z, S::skew_y, S::skew_z};
    }
}

/* Column of one of its lines in a row of the rings, in values. */
__device__ __forceinline__ int32_t cell_of(const pencil_tile &tile, int32_t ly, int32_t lz) {
    const int32_t by_y = tile.lines_y - 1, by_z = tile.lines_z - 1; /* a lane has 1 or 2 lines */
    const int32_t lane = (ly >> by_y) + tile.lanes_y * (lz >> by_z);
    const int32_t member = (ly & by_y) + (lz & by_z);
    return (lane << (by_y + by_z)) + member;
}

template <int value> struct number { static constexpr int v = value; };

/* function(number<0>()) ... function(number<n - 1>()): a loop whose index is a constant. */
template <int n, int i = 0, typename Function>
__device__ __forceinline__ void repeat(Function &&function) {
    if constexpr (i < n) {
        function(number<i>());
        repeat<n, i + 1>(function);
    }
}

/* ---- Values -----------------------------------------------------------------------------------
 */

__device__ __forceinline__ uint32_t high_word(double v) {
    return (uint32_t)__double2hiint(v);
}
__device__ __forceinline__ uint32_t high_word(float v) {
    return __float_as_uint(v);
}
template <typename Real> __device__ __forceinline__ Real empty_value();
template <> __device__ __forceinline__ double empty_value<double>() {
    return __longlong_as_double(SWEEP_EMPTY_F64);
}
template <> __device__ __forceinline__ float empty_value<float>() {
    return __uint_as_float(SWEEP_EMPTY_F32);
}
__device__ __forceinline__ bool is_empty(double v) {
    return high_word(v) == (uint32_t)(SWEEP_EMPTY_F64 >> 32);
}
__device__ __forceinline__ bool is_empty(float v) {
    return high_word(v) == SWEEP_EMPTY_F32;
}
/* Every NaN that arithmetic makes is quiet. */
__device__ __forceinline__ bool is_quiet_nan(double v) {
    return (high_word(v) & 0x7ff80000u) == 0x7ff80000u;
}
__device__ __forceinline__ bool is_quiet_nan(float v) {
    return (high_word(v) & 0x7fc00000u) == 0x7fc00000u;
}
/* A quiet NaN for any NaN. */
template <typename Real> __device__ __forceinline__ Real quiet(Real v) {
    return v != v ? (Real)__int_as_float(0x7fffffff) : v;
}
/* What a face holds for a NaN that is meant: a signalling one. */
template <typename Real> __device__ __forceinline__ Real meant_nan();
template <> __device__ __forceinline__ double meant_nan<double>() {
    return __hiloint2double(0x7ff2600d, 0);
}
template <> __device__ __forceinline__ float meant_nan<float>() {
    return __uint_as_float(0x7f92600du);
}
/* What the reader of a face puts back: as all of it is at first, a quiet NaN. */
template <typename Real> __device__ __forceinline__ Real not_yet();
template <> __device__ __forceinline__ double not_yet<double>() {
    return __hiloint2double(-1, -1);
}
template <> __device__ __forceinline__ float not_yet<float>() {
    return __int_as_float(-1);
}

/* So that a constant of the plan is not loaded again and again. */
__device__ __forceinline__ uint32_t in_register(uint32_t value) {
    asm volatile("mov.u32 %0, %0;" : "+r"(value));
    return value;
}

/* The value is made before the asm statements that follow. */
__device__ __forceinline__ void compute_here(double &v) {
    asm volatile("" : "+d"(v));
}
__device__ __forceinline__ void compute_here(float &v) {
    asm volatile("" : "+f"(v));
}

/* Loads and stores of n values side by side. */
template <int n> __device__ __forceinline__ void load_row(double *v, uint32_t address) {
    if constexpr (n == 2)
        asm volatile("ld.volatile.shared.v2.f64 {%0, %1}, [%2];"
                     : "=d"(v[0]), "=d"(v[1])
                     : "r"(address));
    else
        asm volatile("ld.volatile.shared.f64 %0, [%1];" : "=d"(v[0]) : "r"(address));
}
template <int n> __device__ __forceinline__ void load_row(float *v, uint32_t address) {
    if constexpr (n == 4)
        asm volatile("ld.volatile.shared.v4.f32 {%0, %1, %2, %3}, [%4];"
                     : "=f"(v[0]), "=f"(v[1]), "=f"(v[2]), "=f"(v[3])
                     : "r"(address));
    else if constexpr (n == 2)
        asm volatile("ld.volatile.shared.v2.f32 {%0, %1}, [%2];"
                     : "=f"(v[0]), "=f"(v[1])
                     : "r"(address));
    else
        asm volatile("ld.volatile.shared.f32 %0, [%1];" : "=f"(v[0]) : "r"(address));
}
template <int n> __device__ __forceinline__ void store_row(uint32_t address, const double *v) {
    if constexpr (n == 2)
        asm volatile("st.volatile.shared.v2.f64 [%0], {%1, %2};" ::"r"(address), "d"(v[0]),
                     "d"(v[1])
                     : "memory");
    else
        asm volatile("st.volatile.shared.f64 [%0], %1;" ::"r"(address), "d"(v[0]) : "memory");
}
template <int n> __device__ __forceinline__ void store_row(uint32_t address, const float *v) {
    if constexpr (n == 2)
        asm volatile("st.volatile.shared.v2.f32 [%0], {%1, %2};" ::"r"(address), "f"(v[0]),
                     "f"(v[1])
                     : "memory");
    else
        asm volatile("st.volatile.shared.f32 [%0], %1;" ::"r"(address), "f"(v[0]) : "memory");
}

/* Face values, as their reader takes them and puts others in their place. */
template <int n>
__device__ __forceinline__ void load_face(double *v, const double *face, uint64_t policy) {
    if constexpr (n == 2)
        asm volatile("ld.relaxed.gpu.global.L2::cache_hint.v2.f64 {%0, %1}, [%2], %3;"
                     : "=d"(v[0]), "=d"(v[1])
                     : "l"(face), "l"(policy));
    else
        asm volatile("ld.relaxed.gpu.global.L2::cache_hint.f64 %0, [%1], %2;"
                     : "=d"(v[0])
                     : "l"(face), "l"(policy));
}
template <int n>
__device__ __forceinline__ void load_face(float *v, const float *face, uint64_t policy) {
    if constexpr (n == 2)
        asm volatile("ld.relaxed.gpu.global.L2::cache_hint.v2.f32 {%0, %1}, [%2], %3;"
                     : "=f"(v[0]), "=f"(v[1])
                     : "l"(face), "l"(policy));
    else
        asm volatile("ld.relaxed.gpu.global.L2::cache_hint.f32 %0, [%1], %2;"
                     : "=f"(v[0])
                     : "l"(face), "l"(policy));
}
template <int n>
__device__ __forceinline__ void put_back(double *face, const double *v, uint64_t policy) {
    if constexpr (n == 2)
        asm volatile("st.relaxed.gpu.global.L2::cache_hint.v2.f64 [%0], {%1, %2}, %3;" ::"l"(face),
                     "d"(v[0]), "d"(v[1]), "l"(policy)
                     : "memory");
    else
        asm volatile("st.relaxed.gpu.global.L2::cache_hint.f64 [%0], %1, %2;" ::"l"(face),
                     "d"(v[0]), "l"(policy)
                     : "memory");
}
template <int n>
__device__ __forceinline__ void put_back(float *face, const float *v, uint64_t policy) {
    if constexpr (n == 2)
        asm volatile("st.relaxed.gpu.global.L2::cache_hint.v2.f32 [%0], {%1, %2}, %3;" ::"l"(face),
                     "f"(v[0]), "f"(v[1]), "l"(policy)
                     : "memory");
    else
        asm volatile("st.relaxed.gpu.global.L2::cache_hint.f32 [%0], %1, %2;" ::"l"(face),
                     "f"(v[0]), "l"(policy)
                     : "memory");
}
/* And as the producer hands them over: volatile, because relaxed stores are put off to the end of a
 * chunk by the compiler. */
template <int n>
__device__ __forceinline__ void store_face_if(bool wanted, double *face, const double *v) {
    if constexpr (n == 2)
        asm volatile("{\n\t.reg .pred p;\n\tsetp.ne.u32 p, %3, 0;\n\t"
                     "@p st.volatile.global.v2.f64 [%0], {%1, %2};\n\t}" ::"l"(face),
                     "d"(v[0]), "d"(v[1]), "r"((uint32_t)wanted));
    else
        asm volatile("{\n\t.reg .pred p;\n\tsetp.ne.u32 p, %2, 0;\n\t"
                     "@p st.volatile.global.f64 [%0], %1;\n\t}" ::"l"(face),
                     "d"(v[0]), "r"((uint32_t)wanted));
}
template <int n>
__device__ __forceinline__ void store_face_if(bool wanted, float *face, const float *v) {
    if constexpr (n == 2)
        asm volatile("{\n\t.reg .pred p;\n\tsetp.ne.u32 p, %3, 0;\n\t"
                     "@p st.volatile.global.v2.f32 [%0], {%1, %2};\n\t}" ::"l"(face),
                     "f"(v[0]), "f"(v[1]), "r"((uint32_t)wanted));
    else
        asm volatile("{\n\t.reg .pred p;\n\tsetp.ne.u32 p, %2, 0;\n\t"
                     "@p st.volatile.global.f32 [%0], %1;\n\t}" ::"l"(face),
                     "f"(v[0]), "r"((uint32_t)wanted));
}

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900

/* ---- A block ----------------------------------------------------------------------------------
 */

struct block_control {
    uint64_t full[SWEEP_STAGES_MAX];    /* loader: the stage's records have come */
    uint64_t made[SWEEP_BARRIERS];      /* compute, all of its warps: the chunk is made */
    uint64_t stored[SWEEP_BARRIERS];    /* storer: the chunk's rows are free */
    int32_t announced[2];               /* by the stagers: chunks whose records and b are there */
    alignas(16) unsigned char ones[16]; /* values 1, in place of a diagonal */
    int32_t steps_made[4];              /* by each warp of compute: whole chunks */
    uint32_t epoch;
    int32_t group; /* of right-hand sides */
    int32_t ticket;
    int32_t slot_free; /* by the usher: this pencil's faces may be written */
    int32_t readers;   /* roles that still have to do with other pencils' faces */
    int32_t doubtful;  /* faces may hold what a solve that was given up has left */
    gsw_pencil pencil;
    uint64_t last; /* nobody reads it: storing it waits for what passes on to the next solve */
};

/* What every role knows. */
struct block_view {
    const sweep_plan *plan;
    block_control *control;
    uint32_t coefficients, b, x; /* shared addresses */
    int32_t y0, z0;              /* y' and z of the pencil's first line */
    int32_t lane;
    int32_t column; /* first right-hand side of the block's group */
    uint32_t *done; /* of the group, as in the plan */
    void *faces;
};

/* A wait for another block. */
struct patience {
    uint32_t turns;
    int64_t since; /* of the first look at the clock; 0: none yet */
};

/* Looked at every 256 turns: when this wait began, or -1 where the solve is to be given up. Says so
 * to the others the first time. */
__device__ __forceinline__ int64_t out_of_patience(const sweep_plan *plan, int64_t since,
                                                   uint32_t epoch, int32_t ticket) {
    const int64_t now = device_clock();
    const uint64_t mark = SWEEP_GIVEN_UP | epoch;
    if (load_relaxed_device(&plan->state->abandon) == mark)
        return -1;
    if (since == 0 || now - since < plan->wait_limit_ns)
        return since == 0 ? now : since;
    if (atomicExch((unsigned long long *)&plan->state->abandon, mark) != mark) {
        plan->report->row = ticket;
        plan->report->pencil = 1;
        __threadfence_system();
        *(volatile int32_t *)&plan->report->status = GSW_ERROR_TIMEOUT;
    }
    return -1;
}

/* Asked in every turn of a wait for another block: is the solve to be given up? */
__device__ __forceinline__ bool give_up(const block_view &block, patience &wait) {
    if ((++wait.turns & 255u) != 0)
        return false;
    wait.since =
        out_of_patience(block.plan, wait.since, block.control->epoch, block.control->ticket);
    return wait.since < 0;
}

/* Waits until nobody needs what the faces `side` (of each lane) of pencil `ticket` held before: the
 * pencil that had the slot last is finished, or the one that read it from there. False: given up.
 */
__device__ __forceinline__ bool await_slot(const block_view &block, int32_t ticket, int side) {
    const sweep_plan &plan = *block.plan;
    const int32_t earlier = ticket - plan.slots;
    if (earlier < 0)
        return true;
    const int32_t reader = plan.table[earlier].after[side];
    const uint32_t *done = block.done + (reader >= 0 ? reader : earlier);
    patience wait = {0, 0};
    while (__any_sync(~0u, load_acquire_device(done) != block.control->epoch)) {
        if (give_up(block, wait))
            return false;
    }
    return true;
}

/* Called by each role that has waited for a slot or emptied faces, when it is done with that: the
 * last one tells the pencils that use those faces next. */
__device__ __forceinline__ void leave_faces(const block_view &block) {
    const sweep_plan &plan = *block.plan;
    if (plan.slots >= plan.pencils)
        return;
    __threadfence();
    __syncwarp();
    if (block.lane == 0 && atomicSub_block(&block.control->readers, 1) == 1) {
        __threadfence();
        store_release_device(block.done + block.control->ticket, block.control->epoch);
    }
}

/* Waits for phase chunk / count of the chunk's barrier. Only for what the block does itself. */
__device__ __forceinline__ void await_chunk(const uint64_t *barriers, int32_t count,
                                            int32_t chunk) {
    const uint32_t barrier = shared_address(barriers + chunk % count);
    while (!barrier_passed(barrier, (uint32_t)(chunk / count) & 1u))
        ;
}

/* Returns when faces hold nothing of a solve that was given up: the block that came first empties
 * all of them. */
template <typename Real, bool usher>
__device__ __forceinline__ void await_clean_faces(const block_view &block) {
    const sweep_plan &plan = *block.plan;
    if (!*(volatile int32_t *)&block.control->doubtful)
        return;
    const uint64_t mark = SWEEP_GIVEN_UP | block.control->epoch;
    const bool empties = usher && block.control->ticket == 0 && block.control->group == 0;
    bool dirty;
    do {
        const uint64_t abandon = load_acquire_device(&plan.state->abandon);
        dirty = __any_sync(~0u, abandon != 0 && abandon != mark);
    } while (dirty && !empties);
    if (dirty) {
        Real *faces = (Real *)plan.faces;
        for (int64_t i = block.lane; i < plan.all_values; i += 32)
            faces[i] = not_yet<Real>();
        __threadfence();
        __syncwarp();
        if (block.lane == 0)
            store_release_device(&plan.state->abandon, (uint64_t)0);
        __syncwarp();
    }
}

/* ---- Usher ------------------------------------------------------------------------------------
 */

/* Lets compute begin once this pencil's faces may be written. */
template <typename Real> __device__ __forceinline__ void open_faces(const block_view &block) {
    await_clean_faces<Real, true>(block);
    (void)await_slot(block, block.control->ticket, min(block.lane, 2));
    __syncwarp();
    if (block.lane == 0)
        *(volatile int32_t *)&block.control->slot_free = 1;
    leave_faces(block);
}

/* ---- Loader -----------------------------------------------------------------------------------
 */

__device__ __forceinline__ void load_coefficients(const block_view &block) {
    const sweep_plan &plan = *block.plan;
    block_control *control = block.control;
    const uint32_t bytes = (uint32_t)(SWEEP_CHUNK * plan.record_bytes);
    const int32_t kept = plan.records / SWEEP_CHUNK;
    const char *from = (const char *)plan.values +
                       (int64_t)control->ticket * plan.records * (int64_t)plan.record_bytes;
    const uint64_t policy = evict_first();
    int32_t stage = 0, from_chunk = 0;
    for (int32_t c = 0; c < plan.chunks; c++) {
        /* What is needed first comes first. */
        if (c == SWEEP_STAGES_FIRST && plan.stages > SWEEP_STAGES_FIRST)
            await_chunk(control->full, plan.stages, 0);
        if (c >= plan.stages)
            await_chunk(control->made, SWEEP_BARRIERS, c - plan.stages);
        const uint32_t full = shared_address(control->full + stage);
        barrier_expect(full, bytes);
        if (bytes > 0)
            bulk_copy(block.coefficients + (uint32_t)stage * bytes,
                      from + (int64_t)from_chunk * bytes, bytes, full, policy);
        stage = stage + 1 == plan.stages ? 0 : stage + 1;
        from_chunk = from_chunk + 1 == kept ? 0 : from_chunk + 1;
    }
}

/* ---- Stager and storer ------------------------------------------------------------------------
 */

/* One of the values that a lane moves between natural order and steps: point x of the chunk (0..7)
 * of a line. Lanes that follow each other go along the axis in which rows are neighbours. */
struct moved {
    int32_t x, ly, lz;
};

template <int unit>
__device__ __forceinline__ moved moved_value(const pencil_tile &tile, int32_t i, int32_t lane) {
    const int32_t a = lane & 7, k = 4 * i + (lane >> 3);
    int32_t line, x;
    if (unit == 0) {
        x = a;
        line = k;
        /* Where a lane has two lines along z, both of them, then y: they fall on different banks.
         */
        if (tile.lines_z == 2)
            line = (k & 1) * tile.tile_y + (k >> 1 & (tile.tile_y - 1)) +
                   k / (2 * tile.tile_y) * (2 * tile.tile_y);
    } else if (unit == 1) {
        x = k & 7;
        line = a + 8 * (k >> 3);
    } else {
        x = k & 7;
        line = (k >> 3) + tile.tile_y * a;
    }
    /* tiles are powers of two wide */
    return {x, line & (tile.tile_y - 1), line >> (31 - __clz(tile.tile_y))};
}

/* What a lane needs to know of each value that it moves. */
template <int members> struct movements {
    static constexpr int count = 8 * members;
    int64_t value[count]; /* in b or x, from the chunk's first value of the pencil's first line */
    uint32_t cell[count]; /* shared address, for the chunk that comes next */
    uint32_t inside;      /* bits: the line is in the grid */
    uint32_t ends;        /* bits: and the point, in the last chunk of a line */
};

/* `ring`: shared address of the rows, `pitch` bytes apart. */
template <typename Real, int unit, int members>
__device__ __forceinline__ void plan_movements_along(const block_view &block,
                                                     const pencil_tile &tile, uint32_t ring,
                                                     int32_t pitch, movements<members> &m) {
    const sweep_plan &plan = *block.plan;
    const int32_t last = (plan.nx - 1) % SWEEP_CHUNK;
    m.inside = m.ends = 0;
#pragma unroll
    for (int i = 0; i < m.count; i++) {
        const moved v = moved_value<unit>(tile, i, block.lane);
        const int32_t z = block.z0 + v.lz, y = block.y0 + v.ly - plan.shear * z;
        const bool inside = (uint32_t)y < (uint32_t)plan.ny && (uint32_t)z < (uint32_t)plan.nz;
        m.inside |= (uint32_t)inside << i;
        m.ends |= (uint32_t)(inside && v.x <= last) << i;
        m.value[i] = (block.y0 + v.ly) * plan.stride[1] + z * plan.stride[2] + v.x * plan.stride[0];
        m.cell[i] = ring + (uint32_t)(cell_of(tile, v.ly, v.lz) * (int32_t)sizeof(Real)) +
                    (uint32_t)((v.x + tile.skew_y * v.ly + tile.skew_z * v.lz) * pitch);
    }
}

template <int name, typename Real, int members>
__device__ __forceinline__ void plan_movements(const block_view &block, uint32_t ring,
                                               int32_t pitch, movements<members> &m) {
    const pencil_tile tile = tile_of<name>(*block.plan);
    if (block.plan->unit == 0)
        plan_movements_along<Real, 0>(block, tile, ring, pitch, m);
    else if (block.plan->unit == 1)
        plan_movements_along<Real, 1>(block, tile, ring, pitch, m);
    else
        plan_movements_along<Real, 2>(block, tile, ring, pitch, m);
}

/* The cell of value i in this chunk; steps on to the next one. */
template <int members>
__device__ __forceinline__ uint32_t next_cell(movements<members> &m, int i, uint32_t chunk_bytes,
                                              uint32_t ring_bytes, uint32_t ring_end) {
    uint32_t cell = m.cell[i];
    if (cell >= ring_end)
        cell -= ring_bytes;
    m.cell[i] = cell + chunk_bytes;
    return cell;
}

/* The column of b and x that the block's column k is: where there are no more, the last one. */
__device__ __forceinline__ int64_t column_of_block(const block_view &block, int k) {
    return min(block.column + k, block.plan->columns - 1);
}

template <int name, typename Real, int members, int Columns>
__device__ __forceinline__ void stage_b(const block_view &block, int mover) {
    constexpr int AHEAD = sweep_columns<Columns>::ahead;
    constexpr int COUNT = sweep_columns<Columns>::of_mover;
    const int first = COUNT * mover;
    const sweep_plan &plan = *block.plan;
    block_control *control = block.control;
    const int32_t lag = (plan.delay + SWEEP_CHUNK - 1) / SWEEP_CHUNK;
    const int32_t lines = (plan.nx + SWEEP_CHUNK - 1) / SWEEP_CHUNK; /* chunks of a line */
    const uint32_t chunk_bytes = (uint32_t)(SWEEP_CHUNK * plan.b_pitch);
    const uint32_t ring_bytes = (uint32_t)plan.staged * chunk_bytes;
    const uint32_t ring = block.b + (uint32_t)(first * plan.b_column), ring_end = ring + ring_bytes;
    const int64_t advance = SWEEP_CHUNK * plan.stride[0];
    movements<members> m;
    plan_movements<name, Real>(block, ring, plan.b_pitch, m);
    const Real *b[COUNT];
#pragma unroll
    for (int k = 0; k < COUNT; k++)
        b[k] = (const Real *)plan.b + column_of_block(block, first + k) * plan.ldb;
    int32_t stage = 0;
    uint32_t phase = 0;
    for (int32_t c = 0; c < plan.chunks + AHEAD; c++) {
        const int32_t ready = c - AHEAD;
        if (ready >= 0) {
            asm volatile("cp.async.wait_group %0;" ::"n"(AHEAD - 1) : "memory");
            while (!barrier_passed(shared_address(control->full + stage), phase))
                ;
            if (++stage == plan.stages) {
                stage = 0;
                phase ^= 1;
            }
            if (ready >= plan.ring)
                await_chunk(control->stored, SWEEP_BARRIERS, ready - plan.ring);
            if (ready == 0) {
                while (!*(volatile int32_t *)&control->slot_free)
                    ;
            }
            __syncwarp();
            if (block.lane == 0)
                *(volatile int32_t *)&control->announced[mover] = ready + 1;
        }
        if (c < lines) {
            if (c + lag >= plan.staged)
                await_chunk(control->made, SWEEP_BARRIERS, c + lag - plan.staged);
            const uint32_t wanted = c + 1 < lines ? m.inside : m.ends;
#pragma unroll
            for (int i = 0; i < m.count; i++) {
                const uint32_t cell = next_cell(m, i, chunk_bytes, ring_bytes, ring_end);
#pragma unroll
                for (int k = 0; k < COUNT; k++) {
                    if (wanted >> i & 1u)
                        asm volatile("cp.async.ca.shared.global.L2::256B [%0], [%1], %2;" ::"r"(
                                         cell + (uint32_t)(k * plan.b_column)),
                                     "l"(b[k] + m.value[i]), "n"(sizeof(Real))
                                     : "memory");
                }
            }
#pragma unroll
            for (int k = 0; k < COUNT; k++)
                b[k] += advance;
        }
        asm volatile("cp.async.commit_group;" ::: "memory");
    }
}

template <int name, typename Real, int members, int Columns>
__device__ __forceinline__ void store_x(const block_view &block, int mover) {
    constexpr int COUNT = sweep_columns<Columns>::of_mover;
    const int first = COUNT * mover;
    const sweep_plan &plan = *block.plan;
    block_control *control = block.control;
    const int32_t lag = (plan.delay + SWEEP_CHUNK - 1) / SWEEP_CHUNK;
    const int32_t lines = (plan.nx + SWEEP_CHUNK - 1) / SWEEP_CHUNK;
    const uint32_t chunk_bytes = (uint32_t)(SWEEP_CHUNK * plan.x_pitch);
    const uint32_t ring_bytes = (uint32_t)plan.ring * chunk_bytes;
    const int64_t advance = SWEEP_CHUNK * plan.stride[0];
    const uint32_t ring = block.x + (uint32_t)(first * plan.x_column), ring_end = ring + ring_bytes;
    movements<members> m;
    plan_movements<name, Real>(block, ring, plan.x_pitch, m);
    Real *x = (Real *)plan.x + (block.column + first) * plan.ldx;
    const int32_t columns = plan.columns - block.column - first;
    for (int32_t c = 0; c < lines; c++) {
        await_chunk(control->made, SWEEP_BARRIERS, min(c + lag, plan.chunks - 1));
        const uint32_t wanted = c + 1 < lines ? m.inside : m.ends;
        uint32_t cell[m.count];
#pragma unroll
        for (int i = 0; i < m.count; i++)
            cell[i] = next_cell(m, i, chunk_bytes, ring_bytes, ring_end);
#pragma unroll
        for (int k = 0; k < COUNT; k++) {
            Real v[m.count];
#pragma unroll
            for (int i = 0; i < m.count; i++)
                load_row<1>(v + i, cell[i] + (uint32_t)(k * plan.x_column));
            if (k == COUNT - 1) {
                __syncwarp();
                if (block.lane == 0)
                    barrier_arrive(shared_address(control->stored + c % SWEEP_BARRIERS));
            }
#pragma unroll
            for (int i = 0; i < m.count; i++) {
                if ((wanted >> i & 1u) && (Columns == 1 || k < columns))
                    __stcs(x + k * plan.ldx + m.value[i], v[i]); /* not read again soon */
            }
        }
        x += advance;
    }
}

/* ---- Halos ------------------------------------------------------------------------------------
 *
 * A lane looks for two neighbouring values of one step (one, where a step has an odd number), then
 * for those `span` steps on, and so forth, whatever the other lanes do. It empties the cell of its
 * next row before it fills the cell of this one: compute, which has read this one, does not meet
 * what lay in the next one before. */
template <typename Real, int known_values, int Columns>
__device__ __forceinline__ void fetch_halo(const block_view &block, int side) {
    const sweep_plan &plan = *block.plan;
    block_control *control = block.control;
    const sweep_face face = plan.face[side];
    const int32_t of_column = known_values > 0 ? known_values : face.values; /* a step */
    const int32_t values = Columns * of_column;
    const int32_t before = control->pencil.before[side];
    if (before < 0 || values == 0)
        return;
    const int32_t width = of_column % 2 == 0 ? 2 : 1;
    int32_t shift = 0; /* 2^shift lanes look at a step */
    while ((width << shift) < values)
        shift++;
    const int32_t span = min(32 >> shift, (int)SWEEP_CHUNK);
    const int32_t entry =
        (block.lane & ((1 << shift) - 1)) * width; /* of a step: [column][value] */
    const int32_t ahead = block.lane >> shift;
    const bool works = ahead < span && entry < values;
    const int32_t column = works ? entry / of_column : 0;
    const int32_t rows = plan.ring * SWEEP_CHUNK;
    const int32_t end = works ? plan.chunks * SWEEP_CHUNK : INT32_MIN;
    const int32_t first = -face.later,
                  last = plan.chunks * SWEEP_CHUNK - face.later; /* in memory */
    const uint32_t pitch = (uint32_t)plan.x_pitch, ring_bytes = (uint32_t)rows * pitch;
    const uint32_t ring_end = block.x + ring_bytes, step = (uint32_t)span * pitch;
    int32_t row = ahead - plan.lead;
    Real *from = (Real *)block.faces + (int64_t)(before % plan.slots) * plan.slot_values +
                 face.offset + entry + (int64_t)(row + face.later) * values;
    uint32_t to = block.x + (uint32_t)(row + rows) * pitch + (uint32_t)(column * plan.x_column) +
                  (uint32_t)(face.column + entry - column * of_column) * (uint32_t)sizeof(Real);
    const int32_t *steps_made = control->steps_made + column;
    to -= to >= ring_end ? ring_bytes : 0;
    const int32_t slack = rows - plan.lead - span; /* rows that may be filled beyond what is made */
    int32_t room = slack;
    const Real empty[2] = {empty_value<Real>(), empty_value<Real>()};
    const Real taken[2] = {not_yet<Real>(), not_yet<Real>()};
    const uint64_t policy = evict_last();
    await_clean_faces<Real, false>(block);
    bool given_up = !await_slot(block, before, side);
    patience wait = {0, 0};
    int32_t seen = row;
    auto fetch = [&](auto looks) {
        constexpr int LOOKS = decltype(looks)::v;
        while (__any_sync(~0u, row < end)) {
            Real v[LOOKS][2];
            bool looked[LOOKS];
#pragma unroll
            for (int i = 0; i < LOOKS; i++) {
                const int32_t r = row + i * span;
                looked[i] = r < end && r >= first && r < last && !given_up;
                v[i][0] = v[i][1] = 0;
                if (looked[i] && width == 2)
                    load_face<2>(v[i], from + i * span * values, policy);
                else if (looked[i])
                    load_face<1>(v[i], from + i * span * values, policy);
            }
            if (row + (LOOKS - 1) * span >= room)
                room = *(const volatile int32_t *)steps_made + slack;
            bool come = true;
#pragma unroll
            for (int i = 0; i < LOOKS; i++) {
                come = come && row < end && row < room && !is_quiet_nan(v[i][0]) &&
                       !is_quiet_nan(v[i][1]);
                if (come) {
                    uint32_t next = to + step;
                    next -= next >= ring_end ? ring_bytes : 0;
                    if (width == 2) {
                        store_row<2>(next, empty);
                        store_row<2>(to, v[i]);
                        if (looked[i])
                            put_back<2>(from, taken, policy);
                    } else {
                        store_row<1>(next, empty);
                        store_row<1>(to, v[i]);
                        if (looked[i])
                            put_back<1>(from, taken, policy);
                    }
                    row += span;
                    from += span * values;
                    to = next;
                }
            }
            if ((wait.turns & 255u) == 0 && __any_sync(~0u, row != seen)) {
                seen = row;
                wait.since = 0;
            }
            given_up = given_up || give_up(block, wait);
        }
    };
    if (Columns > 1 || plan.looks > 1)
        fetch(number<sweep_columns<Columns>::looks>());
    else
        fetch(number<1>());
    leave_faces(block);
}

/* ---- Compute ----------------------------------------------------------------------------------
 */

/* Column of line (ly, lz), in values: the pencil's own or one before it. */
__device__ __forceinline__ int32_t column_of(const sweep_plan &plan, const pencil_tile &tile,
                                             int32_t halo_y, int32_t halo_z, int32_t ly,
                                             int32_t lz) {
    if (ly >= 0 && lz >= 0)
        return cell_of(tile, ly, lz);
    if (lz >= 0)
        return plan.face[0].column + (ly + halo_y) * tile.tile_z + lz;
    if (ly >= 0)
        return plan.face[1].column + ly * halo_z + lz + halo_z;
    return plan.face[2].column + (ly + halo_y) * halo_z + lz + halo_z;
}

/* Makes one line's point of a step by the definition: couplings in ascending order, zeros skipped.
 * `record`, `b` and `x` are the shared addresses of the step's record, of the lane's b, and of the
 * column's first row. */
template <typename Real, typename Value>
__device__ __forceinline__ Real careful_row(const block_view *block, int32_t ring_row,
                                            uint32_t record, uint32_t b, uint32_t x,
                                            int32_t member) {
    const sweep_plan &plan = *block->plan;
    const int32_t members = plan.lines_y * plan.lines_z;
    const int32_t halo_y = plan.face[0].values / plan.tile_z;
    const int32_t halo_z = plan.face[1].values / plan.tile_y;
    const pencil_tile tile = tile_of<SHAPE_OTHER>(plan);
    const int32_t rows = plan.ring * SWEEP_CHUNK;
    const int32_t ly = block->lane % plan.lanes_y * plan.lines_y + (plan.lines_y == 2 ? member : 0);
    const int32_t lz = block->lane / plan.lanes_y * plan.lines_z + (plan.lines_z == 2 ? member : 0);
    auto coefficient = [&](int32_t term) {
        Value c;
        load_row<1>(&c, record + (uint32_t)sizeof(Value) *
                                     (uint32_t)gsw_packed_value(plan.terms, members,
                                                                16 / (int32_t)sizeof(Value), term,
                                                                member, block->lane));
        return c;
    };
    Real r;
    load_row<1>(&r, b + (uint32_t)member * (uint32_t)sizeof(Real));
    if (plan.diagonal)
        r *= (Real)coefficient(plan.terms);
    for (int32_t j = 0; j < plan.terms; j++) {
        const Value c = coefficient(j);
        int32_t row = ring_row - plan.back[j];
        while (row < 0)
            row += rows;
        const uint32_t at =
            x + (uint32_t)(row * plan.x_pitch) +
            (uint32_t)sizeof(Real) * (uint32_t)column_of(plan, tile, halo_y, halo_z,
                                                         ly + plan.dl[j], lz - plan.plane[j]);
        Real value;
        do {
            load_row<1>(&value, at);
        } while (is_empty(value));
        r = c == 0 ? r : fma(-(Real)c, value, r);
    }
    return quiet(r);
}

/* Waits until chunk `chunk` is announced by a stager. */
__device__ __forceinline__ void await_announced(const int32_t *announced, int32_t chunk) {
    while (__any_sync(~0u, *(volatile const int32_t *)announced <= chunk))
        ;
}

/* The compute warp of one column, of a named shape. Returns the first step that it has not made for
 * good (all their number if it has); *handed has a bit for each value of that chunk, [line][step],
 * that has been handed over already. */
template <int name, typename Real, typename Value, int Columns>
__device__ __forceinline__ int32_t make_steps(const block_view &block, int column_of_warp,
                                              uint32_t *handed) {
    using S = shape_of<name>;
    constexpr int M = S::members, T = S::terms, N = S::sources();
    constexpr int VECTOR = 16 / (int)sizeof(Value), WHOLE = T * M / VECTOR * VECTOR;
    /* From column to column, and from row to row. */
    constexpr uint32_t X_COLUMN = (uint32_t)sweep_row_column(S::row_values, sizeof(Real));
    constexpr uint32_t B_COLUMN = (uint32_t)sweep_row_column(S::own_values, sizeof(Real));
    constexpr uint32_t X_PITCH = (uint32_t)sweep_row_pitch(S::row_values, sizeof(Real), Columns);
    constexpr uint32_t B_PITCH = (uint32_t)sweep_row_pitch(S::own_values, sizeof(Real), Columns);
    const sweep_plan &plan = *block.plan;
    block_control *control = block.control;
    const int32_t *announcer =
        control->announced + column_of_warp / sweep_columns<Columns>::of_mover;
    const int32_t lane = block.lane;
    const int32_t ly = lane % S::lanes_y * S::lines_y, lz = lane / S::lanes_y * S::lines_z;

    /* Steps at which the lines are in the grid: s - delay[m] < nx, unsigned. */
    int32_t delay[M];
    bool ragged = false;
#pragma unroll
    for (int m = 0; m < M; m++) {
        const int32_t my = ly + (S::lines_y == 2 ? m : 0), mz = lz + (S::lines_z == 2 ? m : 0);
        const int32_t z = block.z0 + mz, y = block.y0 + my - plan.shear * z;
        const bool inside = y >= 0 && y < plan.ny && z >= 0 && z < plan.nz;
        delay[m] = inside ? S::skew_y * my + S::skew_z * mz : INT32_MIN / 2;
        ragged = ragged || !inside;
    }
    ragged = __any_sync(~0u, ragged);

    /* Faces: y' and corner take the lines from tile_y - halo_y on, z those from tile_z - halo_z. */
    Real *slot = (Real *)block.faces + (int64_t)(control->ticket % plan.slots) * plan.slot_values;
    const bool hands = control->ticket != plan.withheld;
    const int32_t from_y = S::tile_y - S::halo_y, from_z = S::tile_z - S::halo_z;
    Real *face_y[M], *face_z[M], *face_c[M];
    bool hands_y[M], hands_z[M], hands_c[M];
#pragma unroll
    for (int m = 0; m < M; m++) {
        const int32_t my = ly + (S::lines_y == 2 ? m : 0), mz = lz + (S::lines_z == 2 ? m : 0);
        hands_y[m] = hands && control->pencil.after[0] >= 0 && my >= from_y;
        hands_z[m] = hands && S::face_z > 0 && control->pencil.after[1] >= 0 && mz >= from_z;
        hands_c[m] =
            hands && S::corner && control->pencil.after[2] >= 0 && my >= from_y && mz >= from_z;
        face_y[m] = slot + plan.face[0].offset + column_of_warp * S::face_y +
                    (my - from_y) * S::tile_z + mz;
        face_z[m] =
            slot + plan.face[1].offset + column_of_warp * S::face_z + my * S::halo_z + mz - from_z;
        face_c[m] = slot + plan.face[2].offset + column_of_warp * S::face_c +
                    (my - from_y) * S::halo_z + mz - from_z;
    }

    /* Columns of the neighbours, bytes. */
    uint32_t column[N > 0 ? N : 1];
    repeat<N>([&](auto i) {
        constexpr source s = S::source_at(decltype(i)::v);
        column[decltype(i)::v] =
            (uint32_t)sizeof(Real) *
            (uint32_t)column_of(plan, tile_of<name>(plan), S::halo_y, S::halo_z,
                                ly + s.lane_y * S::lines_y + (S::lines_y == 2 ? s.member : 0),
                                lz + s.lane_z * S::lines_z + (S::lines_z == 2 ? s.member : 0));
    });

    Value a[2][T * M], d[2][M]; /* coefficients of this step and the next */
    Real b[2][M];
    Real h[N > 0 ? N : 1][8] = {}; /* neighbours' values, by the step of their row mod 8 */
    Real own[M][8] = {};           /* the lane's own */
    Real scaled[M], sum[M];        /* b times the reciprocal diagonal; what is known of a step */
    /* Shared addresses of the rows of the chunk before and of this one, of records and of b. */
    uint32_t before = 0, here = 0;
    uint32_t record, next_record, b_here, b_next;

    uint32_t column_before[N > 0 ? N : 1], column_here[N > 0 ? N : 1];
    auto find_columns = [&]() {
        repeat<N>([&](auto i) {
            constexpr int k = decltype(i)::v;
            column_before[k] = before + column[k];
            column_here[k] = here + column[k];
        });
    };

    /* Coefficients of the step whose record is at `at`. */
    auto load_coefficients_of = [&](int p, uint32_t at) {
        repeat<WHOLE / VECTOR>([&](auto i) {
            constexpr int k = decltype(i)::v;
            load_row<VECTOR>(&a[p][k * VECTOR], at + (uint32_t)(k * 512 + lane * 16));
        });
        repeat<T * M - WHOLE>([&](auto i) {
            constexpr int k = WHOLE + decltype(i)::v;
            load_row<1>(&a[p][k], at + (uint32_t)((k * 32 + lane) * (int)sizeof(Value)));
        });
    };
    /* b and the reciprocal diagonal of a step, two steps ahead; and their product, one ahead. */
    auto load_right_side = [&](int p, uint32_t d_at, uint32_t b_at) {
        load_row<M>(d[p], d_at);
        load_row<M>(b[p], b_at);
    };
    auto scale_right_side = [&](int p) {
#pragma unroll
        for (int m = 0; m < M; m++)
            scaled[m] = b[p][m] * (Real)d[p][m];
    };
    /* The row that step u asks for: the one before, of neighbours that it reads there itself; of
     * others the one that step u + 1 is the first to read. */
    auto row_asked = [](int u, int nearest) { return nearest == 1 ? u - 1 : u + 1 - nearest; };
    auto load_sources = [&](int u, auto which) {
        constexpr bool near = decltype(which)::v == 1;
        repeat<N>([&](auto i) {
            constexpr int k = decltype(i)::v;
            constexpr int nearest = S::source_at(k).nearest;
            constexpr bool second = k > 0 && S::pair(k > 0 ? k - 1 : 0);
            if constexpr (!second && (nearest == 1) == near) {
                const int r = row_asked(u, nearest);
                const uint32_t at =
                    (r < 0 ? column_before[k] : column_here[k]) + (uint32_t)(r & 7) * X_PITCH;
                constexpr int width = S::pair(k) ? 2 : 1;
                Real v[width];
                load_row<width>(v, at);
                for (int w = 0; w < width; w++)
                    h[k + w][r & 7] = v[w];
            }
        });
    };
    /* One of them has not come yet. */
    auto not_all_there = [&](int u) {
        bool late = false;
        repeat<N>([&](auto i) {
            constexpr int k = decltype(i)::v;
            constexpr int nearest = S::source_at(k).nearest;
            late |= is_empty(h[k][row_asked(u, nearest) & 7]);
        });
        return late;
    };
    /* What step u needs, but for the values made in the step before: two chains of sums where there
     * are many terms. */
    auto begin_sum = [&](int u) {
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
            sum[m] = T * M > 8 ? t[0] + t[1] : t[0];
        });
    };
    /* The lane's own values of the step before step u. */
    auto add_own = [&](int u) {
        repeat<M>([&](auto member) {
            constexpr int m = decltype(member)::v;
            repeat<T>([&](auto term) {
                constexpr int j = decltype(term)::v;
                constexpr source from = S::of(j, m);
                if constexpr (S::back(j) == 1 && S::own(from))
                    sum[m] = fma(-(Real)a[u & 1][j * M + m], own[from.member][(u - 1) & 7], sum[m]);
            });
        });
    };
    /* And those of other lanes: step u is made. */
    auto add_near = [&](int u, const Value *near, Real *r) {
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
    };

    const uint32_t record_bytes = in_register((uint32_t)plan.record_bytes);
    const uint32_t records_end =
        in_register(block.coefficients + (uint32_t)(plan.stages * SWEEP_CHUNK * plan.record_bytes));
    const uint32_t x_begin = in_register(block.x + (uint32_t)column_of_warp * X_COLUMN);
    const uint32_t x_end = in_register(x_begin + (uint32_t)(plan.ring * SWEEP_CHUNK) * X_PITCH);
    const uint32_t b_bytes = in_register((uint32_t)(plan.staged * SWEEP_CHUNK) * B_PITCH);
    const int32_t chunks = (int32_t)in_register((uint32_t)plan.chunks);
    /* Chunks in which every lane's lines are in the grid. */
    const int32_t whole = ragged ? INT32_MAX : (plan.delay + SWEEP_CHUNK - 1) / SWEEP_CHUNK;
    const int32_t end_whole = plan.nx / SWEEP_CHUNK;
    const uint32_t b_column = block.b + (uint32_t)column_of_warp * B_COLUMN +
                              (uint32_t)(lane * M) * (uint32_t)sizeof(Real);
    await_announced(announcer, 0);
    before = x_begin + (uint32_t)((plan.ring - 1) * SWEEP_CHUNK) * X_PITCH;
    here = x_begin;
    record = block.coefficients;
    b_here = b_column;
    /* The diagonal; where none is stored, ones. */
    const uint32_t d_offset = (uint32_t)((T * M * 32 + lane * M) * (int)sizeof(Value));
    const bool plan_diagonal = in_register((uint32_t)plan.diagonal) != 0;
    const uint32_t d_bytes = plan_diagonal ? record_bytes : 0;
    uint32_t d_here = plan_diagonal ? record + d_offset : shared_address(control->ones), d_next;
    load_coefficients_of(0, record);
    load_coefficients_of(1, record + record_bytes);
    load_right_side(0, d_here, b_here);
    load_right_side(1, d_here + d_bytes, b_here + B_PITCH);
    scale_right_side(0);
    bool late;
    do {
        late = false;
        repeat<N>([&](auto i) {
            constexpr int k = decltype(i)::v;
            /* Of rows -8 .. -1 those that step 0 and the next ones read. */
            repeat<8>([&](auto r) {
                constexpr int row = decltype(r)::v, back = 8 - row;
                if constexpr (back >= S::source_at(k).nearest && back <= S::farthest(k)) {
                    load_row<1>(&h[k][row], before + (uint32_t)row * X_PITCH + column[k]);
                    late = late || is_empty(h[k][row]);
                }
            });
        });
    } while (__any_sync(~0u, late));
    find_columns();

    for (int32_t c = 0; c < chunks; c++) {
        next_record = record + SWEEP_CHUNK * record_bytes;
        next_record = next_record == records_end ? block.coefficients : next_record;
        d_next = plan_diagonal ? next_record + d_offset : d_here;
        b_next = b_here + SWEEP_CHUNK * B_PITCH;
        b_next -= b_next == b_column + b_bytes ? b_bytes : 0;
        const int32_t chunks_needed = min(c + 2, chunks);
        bool wrong = false;
        auto chunk = [&](auto mask) {
            constexpr bool masked = decltype(mask)::v == 1;
#pragma unroll
            for (int u = 0; u < SWEEP_CHUNK; u++) {
                Real r[M];
                bool late;
                int32_t announced = 0;
                if (u == SWEEP_CHUNK - 3)
                    announced = *(const volatile int32_t *)announcer;
                load_sources(u, number<1>());
                load_sources(u, number<0>());
                begin_sum(u);
                add_own(u);
                Value near[T * M]; /* coefficients of what other lanes have made in the last step */
#pragma unroll
                for (int i = 0; i < T * M; i++)
                    near[i] = a[u & 1][i];
                if (u < SWEEP_CHUNK - 2) {
                    load_coefficients_of(u & 1, record + (uint32_t)(u + 2) * record_bytes);
                    load_right_side(u & 1, d_here + (uint32_t)(u + 2) * d_bytes,
                                    b_here + (uint32_t)(u + 2) * B_PITCH);
                } else {
                    load_coefficients_of(u & 1, next_record +
                                                    (uint32_t)(u + 2 - SWEEP_CHUNK) * record_bytes);
                    load_right_side(u & 1, d_next + (uint32_t)(u + 2 - SWEEP_CHUNK) * d_bytes,
                                    b_next + (uint32_t)(u + 2 - SWEEP_CHUNK) * B_PITCH);
                }
                scale_right_side((u + 1) & 1);
                add_near(u, near, r);
                late = not_all_there(u);
                if (u == SWEEP_CHUNK - 3) /* the next one's records are the next chunk's */
                    late |= announced < chunks_needed;
                if (__any_sync(~0u, late)) {
                    do {
                        load_sources(u, number<1>());
                        load_sources(u, number<0>());
                        late = not_all_there(u);
                        if (u == SWEEP_CHUNK - 3)
                            late |= *(const volatile int32_t *)announcer < chunks_needed;
                    } while (__any_sync(~0u, late));
                    add_near(u, near, r);
                }
                if constexpr (masked) {
                    const int32_t s = c * SWEEP_CHUNK + u;
#pragma unroll
                    for (int m = 0; m < M; m++)
                        r[m] = (uint32_t)(s - delay[m]) < (uint32_t)plan.nx ? r[m] : (Real)0;
                }
                store_row<M>(
                    here + (uint32_t)u * X_PITCH + (uint32_t)(lane * M * (int)sizeof(Real)), r);
                /* Hand over. A NaN says nothing yet: see what comes after the chunk. */
                if constexpr (M == 2 && S::lines_z == 2) {
                    store_face_if<2>(hands_y[0], face_y[0] + u * Columns * S::face_y, r);
                    if constexpr (S::halo_z >= 2)
                        store_face_if<2>(hands_z[0], face_z[0] + u * Columns * S::face_z, r);
                    else
                        store_face_if<1>(hands_z[1], face_z[1] + u * Columns * S::face_z, r + 1);
                } else {
                    repeat<M>([&](auto member) {
                        constexpr int m = decltype(member)::v;
                        if constexpr (m >= M - S::halo_y || S::lines_y == 1)
                            store_face_if<1>(hands_y[m], face_y[m] + u * Columns * S::face_y,
                                             r + m);
                        if constexpr (S::face_z > 0)
                            store_face_if<1>(hands_z[m], face_z[m] + u * Columns * S::face_z,
                                             r + m);
                        if constexpr (S::corner)
                            store_face_if<1>(hands_c[m], face_c[m] + u * Columns * S::face_c,
                                             r + m);
                    });
                }
                /* A line that has met a NaN, or infinity with a coefficient 0, is NaN from there
                 * on: the last step tells, but for lines that have ended. */
#pragma unroll
                for (int m = 0; m < M; m++) {
                    own[m][u] = r[m];
                    if (masked || u == SWEEP_CHUNK - 1)
                        wrong |= is_quiet_nan(r[m]);
                }
            }
        };
        if (c >= whole && c < end_whole)
            chunk(number<0>());
        else
            chunk(number<1>());
        if (__builtin_expect(__any_sync(~0u, wrong), 0)) {
#pragma unroll
            for (int i = 0; i < M * SWEEP_CHUNK; i++)
                *handed |= (uint32_t)!is_quiet_nan(own[i / SWEEP_CHUNK][i % SWEEP_CHUNK]) << i;
            return c * SWEEP_CHUNK; /* the chunk is made again, with care */
        }
        if (lane == 0) {
            barrier_arrive(shared_address(control->made + c % SWEEP_BARRIERS));
            *(volatile int32_t *)&control->steps_made[column_of_warp] = (c + 1) * SWEEP_CHUNK;
        }
#pragma unroll
        for (int m = 0; m < M; m++) {
            face_y[m] += SWEEP_CHUNK * Columns * S::face_y;
            face_z[m] += SWEEP_CHUNK * Columns * S::face_z;
            face_c[m] += SWEEP_CHUNK * Columns * S::face_c;
        }
        record = next_record;
        d_here = d_next;
        b_here = b_next;
        before = here;
        here += SWEEP_CHUNK * X_PITCH;
        here = here == x_end ? x_begin : here;
        find_columns();
    }
    return chunks * SWEEP_CHUNK;
}

/* The compute warp of any shape, from step `first` on, every value from the ring and by the
 * definition: for shapes without code of their own, and for pencils in which something is infinite
 * or NaN. */
template <typename Real, typename Value, int Columns>
__device__ __forceinline__ void make_careful_steps(const block_view &block, int column,
                                                   int32_t first, uint32_t handed) {
    const sweep_plan &plan = *block.plan;
    block_control *control = block.control;
    const int32_t members = plan.lines_y * plan.lines_z;
    const int32_t halo_y = plan.face[0].values / plan.tile_z;
    const int32_t halo_z = plan.face[1].values / plan.tile_y;
    const int32_t rows = plan.ring * SWEEP_CHUNK, staged_rows = plan.staged * SWEEP_CHUNK;
    const uint32_t x_begin = block.x + (uint32_t)(column * plan.x_column);
    const uint32_t b_begin = block.b + (uint32_t)(column * plan.b_column);
    Real *slot = (Real *)block.faces + (int64_t)(control->ticket % plan.slots) * plan.slot_values;
    for (int32_t s = first; s < plan.chunks * SWEEP_CHUNK; s++) {
        const int32_t c = s / SWEEP_CHUNK;
        const int32_t stage_row = c % plan.stages * SWEEP_CHUNK + s % SWEEP_CHUNK;
        await_announced(control->announced + column / sweep_columns<Columns>::of_mover, c);
        for (int32_t m = 0; m < members; m++) {
            const int32_t ly =
                block.lane % plan.lanes_y * plan.lines_y + (plan.lines_y == 2 ? m : 0);
            const int32_t lz =
                block.lane / plan.lanes_y * plan.lines_z + (plan.lines_z == 2 ? m : 0);
            const int32_t z = block.z0 + lz, y = block.y0 + ly - plan.shear * z;
            const int32_t x = s - plan.skew_y * ly - plan.skew_z * lz;
            const bool inside =
                y >= 0 && y < plan.ny && z >= 0 && z < plan.nz && x >= 0 && x < plan.nx;
            const uint32_t cell = (uint32_t)(block.lane * members * (int)sizeof(Real));
            const Real made = careful_row<Real, Value>(
                &block, s % rows, block.coefficients + (uint32_t)(stage_row * plan.record_bytes),
                b_begin + (uint32_t)(s % staged_rows * plan.b_pitch) + cell, x_begin, m);
            const Real r = inside ? made : (Real)0;
            store_row<1>(x_begin + (uint32_t)(s % rows * plan.x_pitch) + cell +
                             (uint32_t)(m * (int)sizeof(Real)),
                         &r);
            const int32_t fy = ly - (plan.tile_y - halo_y), fz = lz - (plan.tile_z - halo_z);
            const int32_t entry[3] = {fy * plan.tile_z + lz, ly * halo_z + fz, fy * halo_z + fz};
            const bool handed_before =
                s < first + SWEEP_CHUNK && (handed >> (SWEEP_CHUNK * m + s - first) & 1u);
            const Real meant = is_quiet_nan(r) ? meant_nan<Real>() : r;
            const bool on[3] = {fy >= 0, fz >= 0, fy >= 0 && fz >= 0};
            for (int side = 0; side < 3; side++)
                store_face_if<1>(
                    on[side] && !handed_before && plan.face[side].values > 0 &&
                        control->pencil.after[side] >= 0 && control->ticket != plan.withheld,
                    slot + plan.face[side].offset +
                        ((int64_t)s * Columns + column) * plan.face[side].values + entry[side],
                    &meant);
        }
        __syncwarp();
        if (s % SWEEP_CHUNK == SWEEP_CHUNK - 1 && block.lane == 0) {
            barrier_arrive(shared_address(control->made + c % SWEEP_BARRIERS));
            *(volatile int32_t *)&control->steps_made[column] = s + 1;
        }
    }
}

/* ---- The kernel -------------------------------------------------------------------------------
 */

/* Takes a pencil and makes the block's memory ready. */
template <typename Real, typename Value, int Columns>
__device__ __forceinline__ void begin_block(const sweep_plan &plan, block_control *control,
                                            char *x_ring) {
    constexpr int THREADS = sweep_columns<Columns>::threads;
    const int thread = (int)threadIdx.x;
    if (thread == 0) {
        const int32_t expected = (int32_t)blockIdx.x / plan.groups;
        const gsw_pencil guess = plan.table[expected]; /* most often the one */
        const uint64_t abandon = load_relaxed_device(&plan.state->abandon);
        const uint64_t taken = atomicAdd((unsigned long long *)&plan.state->next, 1ull);
        const int32_t ticket = (int32_t)taken / plan.groups;
        control->group = (int32_t)taken % plan.groups;
        control->epoch = (uint32_t)(taken >> 32) + 1;
        control->pencil = ticket == expected ? guess : plan.table[ticket];
        control->ticket = ticket;
        /* The first blocks may have started before the solve before this one has ended. Others
         * start when a block of this launch has ended, and so has that solve. */
        control->doubtful = (int32_t)taken < plan.resident ||
                            (abandon != 0 && abandon != (SWEEP_GIVEN_UP | control->epoch));
        const int32_t blocks = plan.pencils * plan.groups;
        /* The next solve starts with ticket 0. Its kernel may start as soon as this block lets it:
         * storing what comes back waits until this has come to pass. */
        if ((int32_t)taken == blocks - 1)
            *(volatile uint64_t *)&control->last =
                atomicAdd((unsigned long long *)&plan.state->next, (1ull << 32) - (uint64_t)blocks);
    }
    if (thread >= 32 && thread < 32 + SWEEP_STAGES_MAX)
        barrier_init(shared_address(control->full + thread - 32), 1);
    if (thread >= 64 && thread < 64 + SWEEP_BARRIERS) {
        barrier_init(shared_address(control->made + thread - 64), Columns);
        barrier_init(shared_address(control->stored + thread - 64), sweep_columns<Columns>::movers);
    }
    if (thread >= 32 && thread < 96)
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    if (thread == 96) {
        for (int i = 0; i < Columns; i++)
            control->steps_made[i] = 0;
        control->announced[0] = control->announced[1] = 0;
        control->slot_free = 0;
        control->readers = 1;
    }
    if (thread >= 96 && thread < 96 + 16 / (int)sizeof(Value))
        reinterpret_cast<Value *>(control->ones)[thread - 96] = 1;
    /* The rows before the first: nothing has been made there. */
    const int32_t rows = plan.ring * SWEEP_CHUNK;
    const int32_t words = plan.lead * plan.x_pitch / 16;
    int4 *before = reinterpret_cast<int4 *>(x_ring + (rows - plan.lead) * plan.x_pitch);
    for (int32_t i = thread - 32; i < words; i += THREADS - 32) {
        if (i >= 0)
            before[i] = make_int4(0, 0, 0, 0);
    }
    __syncthreads();
    /* Halos that nobody makes are 0; others have not come. */
    for (int side = 0; side < 3; side++) {
        const int32_t values = plan.face[side].values;
        const bool made = control->pencil.before[side] >= 0;
        if (made && values > 0 && thread == 0)
            control->readers++;
        int32_t shift = 0; /* 2^shift threads a row */
        while (1 << shift < values)
            shift++;
        const int32_t entry = thread & ((1 << shift) - 1);
        const Real content = made ? empty_value<Real>() : (Real)0;
        for (int32_t i = thread >> shift; i < Columns * rows; i += THREADS >> shift) {
            Real *face =
                (Real *)(x_ring + i / Columns * plan.x_pitch + i % Columns * plan.x_column) +
                plan.face[side].column;
            if (entry < values)
                face[entry] = content;
        }
    }
    __syncthreads();
    let_next_kernel_start();
}

#endif

template <int name, typename Real, typename Value, int Columns>
__global__ void __launch_bounds__(sweep_columns<Columns>::threads,
                                  sizeof(Value) == 4 && Columns == 1 ? 2 : 1)
    sweep_pencils(const __grid_constant__ sweep_plan plan) {
#if __CUDA_ARCH__ >= 900 /* the host launches it on no other device */
    extern __shared__ __align__(128) char memory[];
    __shared__ block_control control;
    begin_block<Real, Value, Columns>(plan, &control, memory + plan.x_offset);
    const block_view block = {&plan,
                              &control,
                              shared_address(memory),
                              shared_address(memory + plan.b_offset),
                              shared_address(memory + plan.x_offset),
                              control.pencil.j * plan.tile_y - plan.pad_y,
                              control.pencil.k * plan.tile_z - plan.pad_z,
                              (int32_t)threadIdx.x & 31,
                              control.group * Columns,
                              plan.done + (int64_t)control.group * plan.pencils,
                              (Real *)plan.faces +
                                  (int64_t)control.group * plan.slots * plan.slot_values};
    /* Uniform for the compiler, so that a role's branches are. */
    const int warp = __shfl_sync(~0u, (int)threadIdx.x >> 5, 0);
    constexpr int members = lines_of_a_lane(name), movers = sweep_columns<Columns>::movers;
    constexpr int loader = Columns, stager = loader + 1, storer = stager + movers;
    constexpr int usher = Columns == 1 ? storer + movers : 0;
    constexpr int halo = storer + movers + (Columns == 1);
    if (warp != loader) /* coefficients have been there since the factor was made */
        await_kernels_before();
    if (warp < Columns) {
        int32_t first = 0;
        uint32_t handed = 0;
        if (warp == usher)
            open_faces<Real>(block);
        if constexpr (name != SHAPE_OTHER)
            first = make_steps<name, Real, Value, Columns>(block, warp, &handed);
        make_careful_steps<Real, Value, Columns>(block, warp, first, handed);
    } else if (warp == loader) {
        if (block.lane == 0)
            load_coefficients(block);
    } else if (warp < storer) {
        stage_b<name, Real, members, Columns>(block, warp - stager);
    } else if (warp < storer + movers) {
        store_x<name, Real, members, Columns>(block, warp - storer);
    } else if (warp == usher) {
        open_faces<Real>(block);
    } else {
        if constexpr (name == SHAPE_OTHER) {
            fetch_halo<Real, 0, Columns>(block, warp - halo);
        } else {
            using S = shape_of<name>;
            if (warp == halo)
                fetch_halo<Real, S::face_y, Columns>(block, 0);
            else if (warp == halo + 1)
                fetch_halo<Real, S::face_z, Columns>(block, 1);
            else if constexpr (S::face_c > 0)
                fetch_halo<Real, S::face_c, Columns>(block, 2);
        }
    }
#endif
}

} // namespace

#endif
