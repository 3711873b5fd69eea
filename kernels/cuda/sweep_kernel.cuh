/* sweep_kernel.cuh: one sweep of a packed factor: skewed pencils, a block each.
 *
 * UNIT OF WORK. A pencil (geometry.h, "Tiles of lines"). A block takes the next one from a ticket.
 * Its warps have roles, and hand on through shared memory, chunk by chunk (8 steps):
 *
 *   loader   bulk copies of packed records into a ring of stages (one thread)
 *   stager   b, from lines in natural order to steps; announces chunks whose records, b and room
 *            for x are there
 *   compute  one warp: makes the steps; a lane makes one point of each of its lines a step
 *   halos    a warp for each direction: values that the pencils before have handed over
 *   storer   x, from steps to lines in natural order
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
 * has one reader. A value is its own flag: EMPTY, a NaN that no arithmetic here makes, means not
 * yet. The reader puts EMPTY back. Nothing else rests on a value's arrival, so relaxed accesses of
 * the device's scope are enough. Between solves all entries that anybody reads are EMPTY.
 *
 * NaN AND INFINITY. A zero coefficient must not meet them (0 * NaN is NaN). A step that comes out
 * finite has met none. At the first one that does not, before its values are handed over, the
 * compute warp goes over to make_careful_steps(), which skips zeros as the definition does, for the
 * rest of the pencil. There NaNs lose their payload, so that none is EMPTY.
 *
 * MEMORY ORDER. In shared memory: rows are written before the counter that announces them, and read
 * after it; a warp's accesses to shared memory take effect in the order of its program (they are
 * volatile, and the votes of every step keep the compute warp together). Chunks are counted by
 * mbarriers (arrive releases, wait acquires), which also order bulk copies. Between blocks: values
 * as flags; and done[ticket] (release after a block barrier, acquire), which says that a pencil has
 * emptied the faces that it has read.
 *
 * PROGRESS. Tickets are in the order of dependences, so whatever pencil a block waits for is held
 * by a block that took its ticket earlier and is running, or is finished; the same is true of the
 * readers of a face whose slot is used again, because slots are more than any reader's distance in
 * tickets. So the unfinished pencil with the smallest ticket waits for nobody, whatever the number
 * of resident blocks. Inside a block every wait leads to an earlier chunk: the loader, the stager
 * and the halos wait for room that compute makes in an earlier chunk, the storer for compute,
 * compute for what stager and halos announce for the next chunk; the stager announces c once b has
 * come, which it asked for while compute was at c - staged + lag or later, and once the storer has
 * read c - ring, for which compute must have made c - ring + lag < c - 1. Rings are long enough for
 * that (sweep.cu).
 *
 * FAULTS. A role that has waited for plan.wait_limit_ns reports TIMEOUT and sets state->abandon;
 * roles that find it set leave. Before it leaves, a role announces everything to its block's
 * compute warp, which waits for nothing but such announcements (and once, for its faces' slot): it
 * then runs to its end with whatever it finds. The last block of the solve empties all faces, so
 * that the next solve starts as after any other. */
#ifndef GSW_CUDA_SWEEP_KERNEL_CUH
#define GSW_CUDA_SWEEP_KERNEL_CUH

#include "cuda/order.cuh"
#include "cuda/sweep.cuh"

namespace {

/* ---- The shapes, known to the compiler --------------------------------------------------------
 */

struct coupling {
    int dx, dl, plane;
};

/* The couplings of a named shape in ascending order; the last is x - 1. */
template <int name> struct couplings_of;
#define SWEEP_COUPLING(index, x, l, p) {x, l, p},
#define SWEEP_COUPLINGS(name, halo)                                                                \
    template <> struct couplings_of<SHAPE_##name> {                                                \
        static __host__ __device__ constexpr coupling at(int j) {                                  \
            constexpr coupling table[] = {OFFSETS_##name(SWEEP_COUPLING){-1, 0, 0}};               \
            return table[j];                                                                       \
        }                                                                                          \
        static __host__ __device__ constexpr int count() {                                         \
            constexpr coupling table[] = {OFFSETS_##name(SWEEP_COUPLING){-1, 0, 0}};               \
            return (int)(sizeof table / sizeof table[0]);                                          \
        }                                                                                          \
    };
NAMED_SHAPES(SWEEP_COUPLINGS)
#undef SWEEP_COUPLINGS
#undef SWEEP_COUPLING

constexpr __host__ __device__ int larger_of(int a, int b) {
    return a > b ? a : b;
}

constexpr __host__ __device__ int floor_div(int a, int b) {
    return a >= 0 ? a / b : -((b - 1 - a) / b);
}

/* Where a line's neighbour is: `lane_y` and `lane_z` lanes away, member `member` of that lane. */
struct source {
    int lane_y, lane_z, member;
    int nearest; /* smallest number of steps back that any line reads it */
};

/* Two lines a lane where a line has few coefficients. */
constexpr __host__ __device__ int lines_of_a_lane(int name) {
    return name == SHAPE_D2N5 || name == SHAPE_D3N7 || name == SHAPE_D3N13 ? 2 : 1;
}

/* What follows from a shape and its tile: as gsw_tiles_skew() and gsw_tiles_cut(). */
template <int name> struct shape_of {
    using table = couplings_of<name>;
    static constexpr int terms = table::count();
    static constexpr bool flat = name == SHAPE_D2N5 || name == SHAPE_D2N9;
    static constexpr bool paired = lines_of_a_lane(name) == 2;
    static constexpr int lanes_y = flat ? 32 : 8, lanes_z = 32 / lanes_y;
    static constexpr int lines_y = paired && flat ? 2 : 1, lines_z = paired && !flat ? 2 : 1;
    static constexpr int members = lines_y * lines_z;
    static constexpr int tile_y = lanes_y * lines_y, tile_z = lanes_z * lines_z;

    static __host__ __device__ constexpr int find_skew_y() {
        int skew = 0;
        for (int j = 0; j < terms; j++) {
            const coupling c = table::at(j);
            if (c.dl < 0 && c.plane == 0)
                skew = larger_of(skew, -floor_div(-(c.dx + 1), -c.dl));
        }
        return skew;
    }
    static __host__ __device__ constexpr int find_skew_z() {
        int skew = 0;
        for (int j = 0; j < terms; j++) {
            const coupling c = table::at(j);
            if (c.plane > 0)
                skew = larger_of(skew, -floor_div(-(c.dx + find_skew_y() * c.dl + 1), c.plane));
        }
        return skew;
    }
    static __host__ __device__ constexpr int find_halo(bool z) {
        int halo = 0;
        for (int j = 0; j < terms; j++)
            halo = larger_of(halo, z ? table::at(j).plane : -table::at(j).dl);
        return halo;
    }
    static __host__ __device__ constexpr bool find_corner() {
        for (int j = 0; j < terms; j++) {
            if (table::at(j).plane > 0 && table::at(j).dl < 0)
                return true;
        }
        return false;
    }
    static constexpr int skew_y = find_skew_y(), skew_z = find_skew_z();
    static constexpr int halo_y = find_halo(false), halo_z = find_halo(true);
    static constexpr bool corner = find_corner();

    static __host__ __device__ constexpr int back(int j) {
        const coupling c = table::at(j);
        return -c.dx - skew_y * c.dl + skew_z * c.plane;
    }
    /* The neighbour that coupling j of the lane's line `member` leads to. */
    static __host__ __device__ constexpr source of(int j, int member) {
        const coupling c = table::at(j);
        const int along_y = lines_y == 2 ? member + c.dl : 0;
        const int along_z = lines_z == 2 ? member - c.plane : 0;
        return {lines_y == 2 ? floor_div(along_y, 2) : c.dl,
                lines_z == 2 ? floor_div(along_z, 2) : -c.plane,
                lines_y == 2   ? along_y - 2 * floor_div(along_y, 2)
                : lines_z == 2 ? along_z - 2 * floor_div(along_z, 2)
                               : 0,
                back(j)};
    }
    static __host__ __device__ constexpr bool same(source a, source b) {
        return a.lane_y == b.lane_y && a.lane_z == b.lane_z && a.member == b.member;
    }
    static __host__ __device__ constexpr bool own(source a) {
        return a.lane_y == 0 && a.lane_z == 0;
    }
    /* The distinct neighbours outside the lane: number i, or how many there are (i < 0). */
    struct list {
        source at[2 * terms];
        int count;
    };
    static __host__ __device__ constexpr list find_sources() {
        list found = {};
        for (int j = 0; j < terms; j++) {
            for (int m = 0; m < members; m++) {
                const source s = of(j, m);
                if (own(s))
                    continue;
                int i = 0;
                while (i < found.count && !same(found.at[i], s))
                    i++;
                if (i == found.count)
                    found.at[found.count++] = s;
                else if (s.nearest < found.at[i].nearest)
                    found.at[i].nearest = s.nearest;
            }
        }
        return found;
    }
    static __host__ __device__ constexpr int sources() {
        return find_sources().count;
    }
    static __host__ __device__ constexpr source source_at(int i) {
        return find_sources().at[i];
    }
    static __host__ __device__ constexpr int source_index(int j, int member) {
        for (int i = 0; i < sources(); i++) {
            if (same(source_at(i), of(j, member)))
                return i;
        }
        return -1;
    }
    static __host__ __device__ constexpr int farthest(int i) {
        int most = 0;
        for (int j = 0; j < terms; j++) {
            for (int m = 0; m < members; m++) {
                if (source_index(j, m) == i)
                    most = larger_of(most, back(j));
            }
        }
        return most;
    }
    /* Source i can be read together with source i + 1. */
    static __host__ __device__ constexpr bool pair(int i) {
        if (members < 2 || i + 1 >= sources())
            return false;
        const source a = source_at(i), b = source_at(i + 1);
        return a.lane_y == b.lane_y && a.lane_z == b.lane_z && a.member == 0 && b.member == 1 &&
               a.nearest == b.nearest;
    }

    /* A row of the ring, in values. */
    static constexpr int own_values = 32 * members;
    static constexpr int face_y = halo_y * tile_z, face_z = halo_z * tile_y;
    static constexpr int face_c = corner ? halo_y * halo_z : 0;
    static constexpr int row_values = own_values + face_y + face_z + face_c;
};

template <int value> struct number { static constexpr int v = value; };

/* function(number<0>()) ... function(number<n - 1>()): a loop whose index is a constant. */
template <int n, int i = 0, typename Function>
__device__ __forceinline__ void repeat(Function &&function) {
    if constexpr (i < n) {
        function(number<i>());
        repeat<n, i + 1>(function);
    }
}

/* make_steps(): all steps of the chunk are made; the block leaves. */
constexpr int32_t GO_ON = -1, LEAVE = -2;

/* ---- Values -----------------------------------------------------------------------------------
 */

constexpr uint32_t EMPTY_HIGH = (uint32_t)(SWEEP_EMPTY >> 32); /* or all of it, in fp32 */

__device__ __forceinline__ uint32_t high_word(double v) {
    return (uint32_t)__double2hiint(v);
}
__device__ __forceinline__ uint32_t high_word(float v) {
    return __float_as_uint(v);
}
template <typename Real> __device__ __forceinline__ Real empty_value();
template <> __device__ __forceinline__ double empty_value<double>() {
    return __hiloint2double((int)EMPTY_HIGH, (int)(uint32_t)SWEEP_EMPTY);
}
template <> __device__ __forceinline__ float empty_value<float>() {
    return __uint_as_float(EMPTY_HIGH);
}
template <typename Real> __device__ __forceinline__ bool is_empty(Real v) {
    return high_word(v) == EMPTY_HIGH;
}
__device__ __forceinline__ bool not_finite(double v) {
    return (high_word(v) & 0x7ff00000u) == 0x7ff00000u;
}
__device__ __forceinline__ bool not_finite(float v) {
    return (high_word(v) & 0x7f800000u) == 0x7f800000u;
}
/* A NaN that is surely not EMPTY, infinity as it is. */
template <typename Real> __device__ __forceinline__ Real plain_nan(Real v) {
    return v != v ? (Real)__int_as_float(0x7fffffff) : v;
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
/* The same where `wanted`, else v stays. */
template <int n>
__device__ __forceinline__ void load_row_if(bool wanted, double *v, uint32_t address) {
    if constexpr (n == 2)
        asm volatile("{\n\t.reg .pred p;\n\tsetp.ne.u32 p, %3, 0;\n\t"
                     "@p ld.volatile.shared.v2.f64 {%0, %1}, [%2];\n\t}"
                     : "+d"(v[0]), "+d"(v[1])
                     : "r"(address), "r"((uint32_t)wanted));
    else
        asm volatile("{\n\t.reg .pred p;\n\tsetp.ne.u32 p, %2, 0;\n\t"
                     "@p ld.volatile.shared.f64 %0, [%1];\n\t}"
                     : "+d"(v[0])
                     : "r"(address), "r"((uint32_t)wanted));
}
template <int n>
__device__ __forceinline__ void load_row_if(bool wanted, float *v, uint32_t address) {
    if constexpr (n == 2)
        asm volatile("{\n\t.reg .pred p;\n\tsetp.ne.u32 p, %3, 0;\n\t"
                     "@p ld.volatile.shared.v2.f32 {%0, %1}, [%2];\n\t}"
                     : "+f"(v[0]), "+f"(v[1])
                     : "r"(address), "r"((uint32_t)wanted));
    else
        asm volatile("{\n\t.reg .pred p;\n\tsetp.ne.u32 p, %2, 0;\n\t"
                     "@p ld.volatile.shared.f32 %0, [%1];\n\t}"
                     : "+f"(v[0])
                     : "r"(address), "r"((uint32_t)wanted));
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

/* Face values. */
__device__ __forceinline__ void load_face(double v[2], const double *face) {
    asm volatile("ld.relaxed.gpu.global.v2.f64 {%0, %1}, [%2];"
                 : "=d"(v[0]), "=d"(v[1])
                 : "l"(face));
}
__device__ __forceinline__ void load_face(float v[2], const float *face) {
    asm volatile("ld.relaxed.gpu.global.v2.f32 {%0, %1}, [%2];"
                 : "=f"(v[0]), "=f"(v[1])
                 : "l"(face));
}
template <int n> __device__ __forceinline__ void store_face(double *face, const double *v) {
    if constexpr (n == 2)
        asm volatile("st.relaxed.gpu.global.v2.f64 [%0], {%1, %2};" ::"l"(face), "d"(v[0]),
                     "d"(v[1]));
    else
        asm volatile("st.relaxed.gpu.global.f64 [%0], %1;" ::"l"(face), "d"(v[0]));
}
template <int n> __device__ __forceinline__ void store_face(float *face, const float *v) {
    if constexpr (n == 2)
        asm volatile("st.relaxed.gpu.global.v2.f32 [%0], {%1, %2};" ::"l"(face), "f"(v[0]),
                     "f"(v[1]));
    else
        asm volatile("st.relaxed.gpu.global.f32 [%0], %1;" ::"l"(face), "f"(v[0]));
}

/* ---- mbarriers and bulk copies ----------------------------------------------------------------
 */

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900

__device__ __forceinline__ void barrier_init(uint32_t barrier, uint32_t count) {
    asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(barrier), "r"(count) : "memory");
}
__device__ __forceinline__ void barrier_arrive(uint32_t barrier) {
    asm volatile("mbarrier.arrive.shared.b64 _, [%0];" ::"r"(barrier) : "memory");
}
__device__ __forceinline__ void barrier_expect(uint32_t barrier, uint32_t bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes)
                 : "memory");
}
/* Waits for a while; true when the phase of that parity is over. */
__device__ __forceinline__ bool barrier_passed(uint32_t barrier, uint32_t parity) {
    uint32_t passed;
    asm volatile("{\n\t.reg .pred p;\n\t"
                 "mbarrier.try_wait.parity.shared.b64 p, [%1], %2, 10000;\n\t"
                 "selp.u32 %0, 1, 0, p;\n\t}"
                 : "=r"(passed)
                 : "r"(barrier), "r"(parity)
                 : "memory");
    return passed;
}
__device__ __forceinline__ void bulk_copy(uint32_t shared, const void *global, uint32_t bytes,
                                          uint32_t barrier, uint64_t policy) {
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint "
                 "[%0], [%1], %2, [%3], %4;" ::"r"(shared),
                 "l"(global), "r"(bytes), "r"(barrier), "l"(policy)
                 : "memory");
}
__device__ __forceinline__ uint64_t evict_first(void) {
    uint64_t policy;
    asm volatile("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
    return policy;
}

/* ---- A block ----------------------------------------------------------------------------------
 */

struct block_control {
    uint64_t full[SWEEP_STAGES_MAX];    /* loader: the stage's records have come */
    uint64_t made[SWEEP_BARRIERS];      /* compute: the chunk is made */
    uint64_t stored[SWEEP_BARRIERS];    /* storer: the chunk's rows are free */
    alignas(16) int32_t ready[4];       /* rows of each halo that are there; chunks announced */
    alignas(16) unsigned char ones[16]; /* values 1, in place of a diagonal */
    int32_t steps_made;                 /* by compute: whole chunks */
    uint32_t epoch;
    int32_t ticket;
    int32_t last; /* this block is the last one of the solve */
    gsw_pencil pencil;
};

/* What every role knows. */
struct block_view {
    const sweep_plan *plan;
    block_control *control;
    uint32_t coefficients, b, x; /* shared addresses */
    int32_t y0, z0;              /* y' and z of the pencil's first line */
    int32_t lane;
};

/* Counts the turns of a waiting loop. */
struct patience {
    uint32_t turns;
    int64_t since;
};

/* Looked at every 256 turns: must this block leave? Says so to the others the first time. */
__device__ __noinline__ bool out_of_patience(const sweep_plan *plan, patience *wait,
                                             int32_t ticket) {
    const int64_t now = device_clock();
    if (wait->since == 0)
        wait->since = now;
    if (load_acquire_device(&plan->state->abandon))
        return true;
    if (now - wait->since < plan->wait_limit_ns)
        return false;
    if (atomicExch(&plan->state->abandon, 1u) == 0) {
        plan->report->row = ticket;
        plan->report->pencil = 1;
        __threadfence_system();
        *(volatile int32_t *)&plan->report->status = GSW_ERROR_TIMEOUT;
    }
    return true;
}

/* The roles that wait for something outside their warp ask this in every turn. The compute warp
 * waits only for its block's own roles; one that leaves announces everything for all of them, and
 * compute runs to its end with whatever it finds. */
__device__ __forceinline__ bool must_leave(const block_view &block, patience &wait) {
    if ((++wait.turns & 255u) != 0 || !out_of_patience(block.plan, &wait, block.control->ticket))
        return false;
#pragma unroll
    for (int i = 0; i < 4; i++)
        atomicMax_block(&block.control->ready[i], INT32_MAX);
    return true;
}

/* Waits for phase chunk / count of the chunk's barrier; false: leave. */
__device__ __forceinline__ bool await_chunk(const block_view &block, const uint64_t *barriers,
                                            int32_t count, int32_t chunk) {
    const uint32_t barrier = shared_address(barriers + chunk % count);
    patience wait = {0, 0};
    while (!barrier_passed(barrier, (uint32_t)(chunk / count) & 1u)) {
        if (must_leave(block, wait))
            return false;
    }
    return true;
}

/* Raises a counter that others of the block read, after what the warp has written to shared memory.
 * Not over what must_leave() has put there. */
__device__ __forceinline__ void announce(int32_t *counter, int32_t value) {
    atomicMax_block(counter, value);
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
    int32_t c = 0;
    for (; c < plan.chunks; c++) {
        const int32_t stage = c % plan.stages;
        if (c >= plan.stages && !await_chunk(block, control->made, SWEEP_BARRIERS, c - plan.stages))
            break;
        const uint32_t full = shared_address(control->full + stage);
        barrier_expect(full, bytes);
        if (bytes > 0)
            bulk_copy(block.coefficients + (uint32_t)stage * bytes,
                      from + (int64_t)(c % kept) * bytes, bytes, full, policy);
    }
    /* What is on its way must have come before the block may end. */
    for (int32_t k = c > plan.stages ? c - plan.stages : 0; k < c; k++) {
        const uint32_t full = shared_address(control->full + k % plan.stages);
        while (!barrier_passed(full, (uint32_t)(k / plan.stages) & 1u))
            ;
    }
}

/* ---- Stager and storer ------------------------------------------------------------------------
 */

/* One of the values that a lane moves between natural order and steps: point x of the chunk (0..7)
 * of a line. Lanes that follow each other go along the axis in which rows are neighbours. */
struct moved {
    int32_t x, ly, lz;
};

__device__ __forceinline__ moved moved_value(const sweep_plan &plan, int32_t i, int32_t lane) {
    const int32_t a = lane & 7, k = 4 * i + (lane >> 3);
    int32_t line, x;
    if (plan.unit == 0) {
        x = a;
        line = k;
    } else if (plan.unit == 1) {
        x = k & 7;
        line = a + 8 * (k >> 3);
    } else {
        x = k & 7;
        line = (k >> 3) + plan.tile_y * a;
    }
    /* tiles are powers of two wide */
    return {x, line & (plan.tile_y - 1), line >> (31 - __clz(plan.tile_y))};
}

__device__ __forceinline__ int32_t cell_of(const sweep_plan &plan, int32_t ly, int32_t lz) {
    const int32_t by_y = plan.lines_y - 1, by_z = plan.lines_z - 1; /* a lane has 1 or 2 lines */
    const int32_t lane = (ly >> by_y) + plan.lanes_y * (lz >> by_z);
    const int32_t member = (ly & by_y) + (lz & by_z);
    return (lane << (by_y + by_z)) + member;
}

/* What a lane needs to know of each value that it moves, whatever the chunk. */
template <int members> struct movements {
    static constexpr int count = 8 * members;
    int64_t value[count];  /* in b or x, for the first chunk */
    uint32_t place[count]; /* column in bytes | row of the first chunk << 16 | x << 28 */
    uint32_t inside;       /* bits: the line is in the grid */
};

template <typename Real, int members>
__device__ __forceinline__ void plan_movements(const block_view &block, movements<members> &m) {
    const sweep_plan &plan = *block.plan;
    m.inside = 0;
#pragma unroll
    for (int i = 0; i < m.count; i++) {
        const moved v = moved_value(plan, i, block.lane);
        const int32_t z = block.z0 + v.lz, y = block.y0 + v.ly - plan.shear * z;
        if (y >= 0 && y < plan.ny && z >= 0 && z < plan.nz)
            m.inside |= 1u << i;
        m.value[i] = (int64_t)(block.y0 + v.ly) * plan.stride[1] + (int64_t)z * plan.stride[2] +
                     (int64_t)v.x * plan.stride[0];
        m.place[i] = (uint32_t)(cell_of(plan, v.ly, v.lz) * (int32_t)sizeof(Real)) |
                     (uint32_t)(v.x + plan.skew_y * v.ly + plan.skew_z * v.lz) << 16 |
                     (uint32_t)v.x << 28;
    }
}

template <typename Real, int members>
__device__ __forceinline__ void stage_b(const block_view &block) {
    const sweep_plan &plan = *block.plan;
    block_control *control = block.control;
    movements<members> m;
    plan_movements<Real, members>(block, m);
    const int32_t lag = (plan.delay + SWEEP_CHUNK - 1) / SWEEP_CHUNK;
    const int32_t rows = plan.staged * SWEEP_CHUNK;
    const Real *b = (const Real *)plan.b;
    int32_t first_row = 0; /* of the chunk, in the ring */
    for (int32_t c = 0; c < plan.chunks + SWEEP_STAGER_AHEAD; c++) {
        if (c * SWEEP_CHUNK < plan.nx) {
            if (c + lag >= plan.staged &&
                !await_chunk(block, control->made, SWEEP_BARRIERS, c + lag - plan.staged))
                break;
            const int64_t chunk_value = (int64_t)c * SWEEP_CHUNK * plan.stride[0];
            const int32_t left = plan.nx - c * SWEEP_CHUNK;
#pragma unroll
            for (int i = 0; i < m.count; i++) {
                int32_t row = first_row + (int32_t)(m.place[i] >> 16 & 0xfff);
                row -= row >= rows ? rows : 0;
                if ((m.inside >> i & 1u) && (int32_t)(m.place[i] >> 28) < left)
                    asm volatile(
                        "cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(
                            block.b + (uint32_t)(row * plan.b_pitch) + (m.place[i] & 0xffff)),
                        "l"(b + m.value[i] + chunk_value), "n"(sizeof(Real))
                        : "memory");
            }
            first_row = first_row + SWEEP_CHUNK == rows ? 0 : first_row + SWEEP_CHUNK;
        }
        asm volatile("cp.async.commit_group;" ::: "memory");
        const int32_t ready = c - SWEEP_STAGER_AHEAD;
        if (ready < 0)
            continue;
        asm volatile("cp.async.wait_group %0;" ::"n"((int)SWEEP_STAGER_AHEAD) : "memory");
        if (!await_chunk(block, control->full, plan.stages, ready))
            break;
        if (ready >= plan.ring &&
            !await_chunk(block, control->stored, SWEEP_BARRIERS, ready - plan.ring))
            break;
        __syncwarp();
        if (block.lane == 0)
            announce(&control->ready[3], ready + 1);
    }
    asm volatile("cp.async.wait_all;" ::: "memory");
}

template <typename Real, int members>
__device__ __forceinline__ void store_x(const block_view &block) {
    const sweep_plan &plan = *block.plan;
    block_control *control = block.control;
    movements<members> m;
    plan_movements<Real, members>(block, m);
    const int32_t lag = (plan.delay + SWEEP_CHUNK - 1) / SWEEP_CHUNK;
    const int32_t rows = plan.ring * SWEEP_CHUNK;
    Real *x = (Real *)plan.x;
    int32_t first_row = 0;
    for (int32_t c = 0; c * SWEEP_CHUNK < plan.nx; c++) {
        const int32_t last = c + lag < plan.chunks ? c + lag : plan.chunks - 1;
        if (!await_chunk(block, control->made, SWEEP_BARRIERS, last))
            return;
        Real v[m.count];
#pragma unroll
        for (int i = 0; i < m.count; i++) {
            int32_t row = first_row + (int32_t)(m.place[i] >> 16 & 0xfff);
            row -= row >= rows ? rows : 0;
            load_row<1>(v + i, block.x + (uint32_t)(row * plan.x_pitch) + (m.place[i] & 0xffff));
        }
        __syncwarp();
        if (block.lane == 0)
            barrier_arrive(shared_address(control->stored + c % SWEEP_BARRIERS));
        const int64_t chunk_value = (int64_t)c * SWEEP_CHUNK * plan.stride[0];
        const int32_t left = plan.nx - c * SWEEP_CHUNK;
#pragma unroll
        for (int i = 0; i < m.count; i++) {
            if ((m.inside >> i & 1u) && (int32_t)(m.place[i] >> 28) < left)
                x[m.value[i] + chunk_value] = v[i];
        }
        first_row = first_row + SWEEP_CHUNK == rows ? 0 : first_row + SWEEP_CHUNK;
    }
}

/* ---- Halos ------------------------------------------------------------------------------------
 *
 * A lane looks at two neighbouring values of one step (one, where a step has an odd number); the
 * lanes cover several steps at once. */
template <typename Real, int known_values>
__device__ __forceinline__ void fetch_halo(const block_view &block, int side) {
    const sweep_plan &plan = *block.plan;
    block_control *control = block.control;
    const sweep_face face = plan.face[side];
    const int32_t values = known_values > 0 ? known_values : face.values; /* of a step */
    const int32_t before = control->pencil.before[side];
    if (before < 0 || values == 0)
        return;
    const int32_t width = values % 2 == 0 ? 2 : 1;
    int32_t shift = 0; /* 2^shift lanes look at a step */
    while ((width << shift) < values)
        shift++;
    const int32_t span = min(32 >> shift, (int)SWEEP_CHUNK); /* steps of a look */
    const int32_t column = (block.lane & ((1 << shift) - 1)) * width;
    const int32_t ahead = block.lane >> shift;
    const bool works = ahead < span && column < values;
    const int32_t steps = plan.chunks * SWEEP_CHUNK, rows = plan.ring * SWEEP_CHUNK;
    const uint32_t pitch = (uint32_t)plan.x_pitch, ring_bytes = (uint32_t)rows * pitch;
    int32_t have = -plan.lead;           /* rows before this one are there */
    int32_t group = have;                /* first of the rows that are looked for */
    int32_t room = rows - 2 * plan.lead; /* rows before this one may be written */
    /* Where the lane's value of the group is, and where it goes. */
    Real *from = (Real *)plan.faces + (int64_t)(before % plan.slots) * plan.slot_values +
                 face.offset + column + (int64_t)(group + ahead + face.later) * values;
    const uint32_t to = block.x + (uint32_t)ahead * pitch +
                        (uint32_t)(face.column + column) * (uint32_t)sizeof(Real);
    uint32_t place = ring_bytes - (uint32_t)plan.lead * pitch;
    const Real empty[2] = {empty_value<Real>(), empty_value<Real>()};
    patience wait = {0, 0};
    while (have < steps) {
        const int32_t row = group + ahead;
        const bool exists = works && row + face.later >= 0 && row + face.later < steps;
        Real v[2] = {0, 0};
        if (exists && width == 2)
            load_face(v, from);
        else if (exists)
            v[0] = load_relaxed_device(from);
        /* What has been taken is EMPTY again. */
        const bool there = row < have || !(is_empty(v[0]) || is_empty(v[1]));
        const uint32_t missing = ~__ballot_sync(~0u, there || !works);
        const int32_t upto =
            missing == 0 ? group + span : group + ((__ffs((int)missing) - 1) >> shift);
        if (upto <= have) {
            if (__any_sync(~0u, must_leave(block, wait)))
                return;
            continue;
        }
        while (upto > room) {
            room = *(volatile int32_t *)&control->steps_made + rows - plan.lead;
            if (__any_sync(~0u, must_leave(block, wait)))
                return;
        }
        const bool mine = works && row >= have && row < upto;
        if (mine && width == 2)
            store_row<2>(to + place, v);
        else if (mine)
            store_row<1>(to + place, v);
        __syncwarp();
        if (block.lane == 0)
            announce(&control->ready[side], upto);
        if (mine && exists && width == 2)
            store_face<2>(from, empty);
        else if (mine && exists)
            store_face<1>(from, empty);
        have = upto;
        if (missing == 0) {
            group += span;
            from += span * values;
            place += (uint32_t)span * pitch;
            place -= place >= ring_bytes ? ring_bytes : 0;
        }
        wait = {0, 0};
    }
}

/* ---- Compute ----------------------------------------------------------------------------------
 */

/* Column of line (ly, lz), in values: the pencil's own or one before it. */
__device__ __forceinline__ int32_t column_of(const sweep_plan &plan, int32_t halo_y, int32_t halo_z,
                                             int32_t ly, int32_t lz) {
    if (ly >= 0 && lz >= 0)
        return cell_of(plan, ly, lz);
    if (lz >= 0)
        return plan.face[0].column + (ly + halo_y) * plan.tile_z + lz;
    if (ly >= 0)
        return plan.face[1].column + ly * halo_z + lz + halo_z;
    return plan.face[2].column + (ly + halo_y) * halo_z + lz + halo_z;
}

/* Makes one line's point of a step by the definition: couplings in ascending order, zeros skipped.
 * `record` and `b` are the shared addresses of the step's record and of the lane's b. */
template <typename Real, typename Value>
__device__ __forceinline__ Real careful_row(const block_view *block, int32_t ring_row,
                                            uint32_t record, uint32_t b, int32_t member) {
    const sweep_plan &plan = *block->plan;
    const int32_t members = plan.lines_y * plan.lines_z;
    const int32_t halo_y = plan.face[0].values / plan.tile_z;
    const int32_t halo_z = plan.face[1].values / plan.tile_y;
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
        Real value;
        load_row<1>(&value, block->x + (uint32_t)(row * plan.x_pitch) +
                                (uint32_t)sizeof(Real) * (uint32_t)column_of(plan, halo_y, halo_z,
                                                                             ly + plan.dl[j],
                                                                             lz - plan.plane[j]));
        r = c == 0 ? r : fma(-(Real)c, value, r);
    }
    return plain_nan(r);
}

__device__ __forceinline__ int4 load_ready(const block_control *control) {
    int4 ready;
    asm volatile("ld.volatile.shared.v4.s32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(ready.x), "=r"(ready.y), "=r"(ready.z), "=r"(ready.w)
                 : "r"(shared_address(control->ready))
                 : "memory");
    return ready;
}

__device__ __forceinline__ int32_t halos_ready(int4 ready) {
    return min(min(ready.x, ready.y), ready.z);
}

/* Waits until the halos' rows before `rows` are there and `chunks` chunks are announced. The roles
 * that see to both give up in time, and then announce all. */
__device__ __forceinline__ void await_rows(const block_control *control, int32_t rows,
                                           int32_t chunks) {
    int4 ready;
    do {
        ready = load_ready(control);
    } while (__any_sync(~0u, halos_ready(ready) < rows || ready.w < chunks));
}

/* Waits until the slot of this pencil's faces has been emptied by those who read its last use. */
__device__ __noinline__ bool await_slot(const block_view *block) {
    const sweep_plan &plan = *block->plan;
    const int32_t earlier = block->control->ticket - plan.slots;
    patience wait = {0, 0};
    const uint32_t *done = NULL;
    if (earlier >= 0 && block->lane < 3 && plan.face[block->lane].values > 0 &&
        plan.table[earlier].after[block->lane] >= 0)
        done = plan.done + plan.table[earlier].after[block->lane];
    while (__any_sync(~0u, done && load_acquire_device(done) != block->control->epoch)) {
        if (__any_sync(~0u, must_leave(*block, wait)))
            return false;
    }
    return true;
}

/* The compute warp of a named shape. Returns the first step that it has not made (all their number
 * if it has), or LEAVE. */
template <int name, typename Real, typename Value>
__device__ __forceinline__ int32_t make_steps(const block_view &block) {
    using S = shape_of<name>;
    constexpr int M = S::members, T = S::terms, N = S::sources();
    constexpr int VECTOR = 16 / (int)sizeof(Value), WHOLE = T * M / VECTOR * VECTOR;
    constexpr uint32_t X_PITCH = (uint32_t)sweep_row_pitch(S::row_values, sizeof(Real));
    constexpr uint32_t B_PITCH = (uint32_t)sweep_row_pitch(S::own_values, sizeof(Real));
    const sweep_plan &plan = *block.plan;
    block_control *control = block.control;
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
    Real *slot = (Real *)plan.faces + (int64_t)(control->ticket % plan.slots) * plan.slot_values;
    const bool hands = control->ticket != plan.withheld;
    const int32_t from_y = S::tile_y - S::halo_y, from_z = S::tile_z - S::halo_z;
    Real *face_y[M], *face_z[M], *face_c[M];
#pragma unroll
    for (int m = 0; m < M; m++) {
        const int32_t my = ly + (S::lines_y == 2 ? m : 0), mz = lz + (S::lines_z == 2 ? m : 0);
        face_y[m] = hands && control->pencil.after[0] >= 0 && my >= from_y
                        ? slot + plan.face[0].offset + (my - from_y) * S::tile_z + mz
                        : NULL;
        face_z[m] = hands && S::face_z > 0 && control->pencil.after[1] >= 0 && mz >= from_z
                        ? slot + plan.face[1].offset + my * S::halo_z + mz - from_z
                        : NULL;
        face_c[m] =
            hands && S::corner && control->pencil.after[2] >= 0 && my >= from_y && mz >= from_z
                ? slot + plan.face[2].offset + (my - from_y) * S::halo_z + mz - from_z
                : NULL;
    }
    if (!await_slot(&block))
        return LEAVE;

    /* Columns of the neighbours, bytes. */
    uint32_t column[N > 0 ? N : 1];
    repeat<N>([&](auto i) {
        constexpr source s = S::source_at(decltype(i)::v);
        column[decltype(i)::v] =
            (uint32_t)sizeof(Real) *
            (uint32_t)column_of(plan, S::halo_y, S::halo_z,
                                ly + s.lane_y * S::lines_y + (S::lines_y == 2 ? s.member : 0),
                                lz + s.lane_z * S::lines_z + (S::lines_z == 2 ? s.member : 0));
    });

    Value a[2][T * M], d[2][M]; /* coefficients of this step and the next */
    Real b[2][M];
    Real h[N > 0 ? N : 1][8] = {}; /* neighbours' values, by the step of their row mod 8 */
    Real own[M][8] = {};           /* the lane's own */
    Real sum[M];                   /* what is known of the next step */
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

    /* Coefficients of the step whose record is at `at`, and b. */
    auto load_coefficients_of = [&](int p, uint32_t at, uint32_t d_at, uint32_t b_at) {
        repeat<WHOLE / VECTOR>([&](auto i) {
            constexpr int k = decltype(i)::v;
            load_row<VECTOR>(&a[p][k * VECTOR], at + (uint32_t)(k * 512 + lane * 16));
        });
        repeat<T * M - WHOLE>([&](auto i) {
            constexpr int k = WHOLE + decltype(i)::v;
            load_row<1>(&a[p][k], at + (uint32_t)((k * 32 + lane) * (int)sizeof(Value)));
        });
        load_row<M>(d[p], d_at);
        load_row<M>(b[p], b_at);
    };
    /* The neighbours' values that step u makes readable: row u of those that step u + 1 reads, and
     * what step u + 2 reads of others. `again`: they were read before they were there. */
    auto load_sources = [&](int u, auto again, bool wanted) {
        auto load = [&](auto kind) {
            constexpr bool near = decltype(kind)::v == 1;
            repeat<N>([&](auto i) {
                constexpr int k = decltype(i)::v;
                constexpr source from = S::source_at(k);
                constexpr bool second = k > 0 && S::pair(k > 0 ? k - 1 : 0);
                if constexpr ((from.nearest == 1) == near && !second) {
                    /* near: row u is read by step u + 1; else load for step u + 2 */
                    const int r = near ? u : u + 2 - from.nearest;
                    const uint32_t at =
                        (r < 0 ? column_before[k] : column_here[k]) + (uint32_t)(r & 7) * X_PITCH;
                    constexpr int width = S::pair(k) ? 2 : 1;
                    Real v[2] = {h[k][r & 7], h[k + width - 1][r & 7]};
                    if constexpr (decltype(again)::v == 1)
                        load_row_if<width>(wanted, v, at);
                    else
                        load_row<width>(v, at);
                    h[k][r & 7] = v[0];
                    if constexpr (width == 2)
                        h[k + 1][r & 7] = v[1];
                }
            });
        };
        load(number<1>());
        load(number<0>());
    };
    /* What step u needs, but for the values made in the step before: two chains of sums where there
     * are many terms. */
    auto begin_sum = [&](int u) {
        repeat<M>([&](auto member) {
            constexpr int m = decltype(member)::v;
            Real t[2] = {b[u & 1][m] * (Real)d[u & 1][m], 0};
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
    auto add_near = [&](int u, Real *r) {
        repeat<M>([&](auto member) {
            constexpr int m = decltype(member)::v;
            r[m] = sum[m];
            repeat<T>([&](auto term) {
                constexpr int j = decltype(term)::v;
                constexpr int i = S::source_index(j, m);
                if constexpr (S::back(j) == 1 && !S::own(S::of(j, m)))
                    r[m] = fma(-(Real)a[u & 1][j * M + m], h[i < 0 ? 0 : i][(u - 1) & 7], r[m]);
            });
        });
    };

    int32_t stage = 0, chunk_slot = 0, staged_slot = 0;
    const uint32_t stage_bytes = (uint32_t)(SWEEP_CHUNK * plan.record_bytes);
    uint32_t record_bytes; /* kept in a register */
    asm volatile("mov.u32 %0, %1;" : "=r"(record_bytes) : "r"((uint32_t)plan.record_bytes));
    const uint32_t b_column = block.b + (uint32_t)(lane * M) * (uint32_t)sizeof(Real);
    await_rows(control, 0, 1);
    int4 ready = load_ready(control);
    before = block.x + (uint32_t)((plan.ring - 1) * SWEEP_CHUNK) * X_PITCH;
    here = block.x;
    record = block.coefficients;
    b_here = b_column;
    /* The diagonal; where none is stored, ones. */
    const uint32_t d_offset = (uint32_t)((T * M * 32 + lane * M) * (int)sizeof(Value));
    const uint32_t d_bytes = plan.diagonal ? record_bytes : 0;
    uint32_t d_here = plan.diagonal ? record + d_offset : shared_address(control->ones), d_next;
    load_coefficients_of(0, record, d_here, b_here);
    load_coefficients_of(1, record + record_bytes, d_here + d_bytes, b_here + B_PITCH);
    repeat<N>([&](auto i) {
        constexpr int k = decltype(i)::v;
        constexpr source s = S::source_at(k);
        /* rows -8 .. -1, and those of row 0 and on that step 1 reads ahead do not exist yet */
        repeat<8>([&](auto r) {
            constexpr int row = decltype(r)::v;
            if constexpr (8 - row >= S::source_at(k).nearest && 8 - row <= S::farthest(k))
                load_row<1>(&h[k][row], before + (uint32_t)row * X_PITCH + column[k]);
        });
        if constexpr (s.nearest > 1) /* step 1's */
            load_row<1>(&h[k][(1 - s.nearest) & 7],
                        before + (uint32_t)((1 - s.nearest) & 7) * X_PITCH + column[k]);
    });
    begin_sum(0);
    add_own(0);
    find_columns();

    for (int32_t c = 0; c < plan.chunks; c++) {
        const bool more = c + 1 < plan.chunks;
        const int32_t next_stage = stage + 1 == plan.stages ? 0 : stage + 1;
        const int32_t next_staged = staged_slot + 1 == plan.staged ? 0 : staged_slot + 1;
        next_record = block.coefficients + (uint32_t)next_stage * stage_bytes;
        d_next = plan.diagonal ? next_record + d_offset : d_here;
        b_next = b_column + (uint32_t)(next_staged * SWEEP_CHUNK) * B_PITCH;
        const bool masked =
            ragged || c * SWEEP_CHUNK < plan.delay || (c + 1) * SWEEP_CHUNK > plan.nx;
        const int32_t chunks_needed = more ? c + 2 : 0;
        auto chunk = [&](auto mask) -> int32_t {
#pragma unroll
            for (int u = 0; u < SWEEP_CHUNK; u++) {
                const int32_t s = c * SWEEP_CHUNK + u;
                Real r[M];
                add_near(u, r);
                if constexpr (decltype(mask)::v == 1) {
#pragma unroll
                    for (int m = 0; m < M; m++)
                        r[m] = (uint32_t)(s - delay[m]) < (uint32_t)plan.nx ? r[m] : (Real)0;
                }
                store_row<M>(
                    here + (uint32_t)u * X_PITCH + (uint32_t)(lane * M * (int)sizeof(Real)), r);
#pragma unroll
                for (int m = 0; m < M; m++)
                    own[m][u] = r[m];
                asm volatile("" ::: "memory");
                load_sources(u, number<0>(), true);
                if (u < SWEEP_CHUNK - 2)
                    load_coefficients_of(u & 1, record + (uint32_t)(u + 2) * record_bytes,
                                         d_here + (uint32_t)(u + 2) * d_bytes,
                                         b_here + (uint32_t)(u + 2) * B_PITCH);
                else if (more)
                    load_coefficients_of(
                        u & 1, next_record + (uint32_t)(u + 2 - SWEEP_CHUNK) * record_bytes,
                        d_next + (uint32_t)(u + 2 - SWEEP_CHUNK) * d_bytes,
                        b_next + (uint32_t)(u + 2 - SWEEP_CHUNK) * B_PITCH);
                begin_sum(u + 1);
                add_own(u + 1);
                /* The last line's sum has met all of the lane's values of this step. */
                const bool wrong = not_finite(sum[M - 1]);
                bool late = halos_ready(ready) <= s;
                if (u == SWEEP_CHUNK - 3)
                    late = late || ready.w < chunks_needed;
                const bool doubt = __any_sync(~0u, late || wrong);
                if (__builtin_expect(doubt, 0)) {
                    if (__any_sync(~0u, wrong))
                        return s; /* to be made again, with care */
                    await_rows(control, s + 1, u == SWEEP_CHUNK - 3 ? chunks_needed : 0);
                }
                load_sources(u, number<1>(), doubt);
                ready = load_ready(control);
                /* Hand over. */
                if constexpr (M == 2 && S::lines_z == 2) {
                    if (face_y[0])
                        store_face<2>(face_y[0] + u * S::face_y, r);
                    if constexpr (S::halo_z >= 2) {
                        if (face_z[0])
                            store_face<2>(face_z[0] + u * S::face_z, r);
                    } else if (face_z[1]) {
                        store_face<1>(face_z[1] + u * S::face_z, r + 1);
                    }
                } else {
                    repeat<M>([&](auto member) {
                        constexpr int m = decltype(member)::v;
                        if constexpr (m >= M - S::halo_y || S::lines_y == 1) {
                            if (face_y[m])
                                store_face<1>(face_y[m] + u * S::face_y, r + m);
                        }
                        if constexpr (S::face_z > 0) {
                            if (face_z[m])
                                store_face<1>(face_z[m] + u * S::face_z, r + m);
                        }
                        if constexpr (S::corner) {
                            if (face_c[m])
                                store_face<1>(face_c[m] + u * S::face_c, r + m);
                        }
                    });
                }
            }
            return GO_ON;
        };
        const int32_t stopped = masked ? chunk(number<1>()) : chunk(number<0>());
        if (stopped != GO_ON)
            return stopped;
        __syncwarp();
        if (lane == 0) {
            barrier_arrive(shared_address(control->made + c % SWEEP_BARRIERS));
            store_release_block(&control->steps_made, (c + 1) * SWEEP_CHUNK);
        }
#pragma unroll
        for (int m = 0; m < M; m++) {
            if (face_y[m])
                face_y[m] += SWEEP_CHUNK * S::face_y;
            if (face_z[m])
                face_z[m] += SWEEP_CHUNK * S::face_z;
            if (face_c[m])
                face_c[m] += SWEEP_CHUNK * S::face_c;
        }
        stage = next_stage;
        staged_slot = next_staged;
        record = next_record;
        d_here = d_next;
        b_here = b_next;
        before = here;
        chunk_slot = chunk_slot + 1 == plan.ring ? 0 : chunk_slot + 1;
        here = block.x + (uint32_t)(chunk_slot * SWEEP_CHUNK) * X_PITCH;
        find_columns();
    }
    return plan.chunks * SWEEP_CHUNK;
}

/* The compute warp of any shape, from step `first` on, every value from the ring and by the
 * definition: for shapes without code of their own, and for pencils in which something is infinite
 * or NaN. */
template <typename Real, typename Value>
__device__ __forceinline__ void make_careful_steps(const block_view &block, int32_t first) {
    const sweep_plan &plan = *block.plan;
    block_control *control = block.control;
    const int32_t members = plan.lines_y * plan.lines_z;
    const int32_t halo_y = plan.face[0].values / plan.tile_z;
    const int32_t halo_z = plan.face[1].values / plan.tile_y;
    const int32_t rows = plan.ring * SWEEP_CHUNK, staged_rows = plan.staged * SWEEP_CHUNK;
    Real *slot = (Real *)plan.faces + (int64_t)(control->ticket % plan.slots) * plan.slot_values;
    for (int32_t s = first; s < plan.chunks * SWEEP_CHUNK; s++) {
        const int32_t c = s / SWEEP_CHUNK;
        const int32_t stage_row = c % plan.stages * SWEEP_CHUNK + s % SWEEP_CHUNK;
        await_rows(control, s, c + 1);
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
                block.b + (uint32_t)(s % staged_rows * plan.b_pitch) + cell, m);
            const Real r = inside ? made : (Real)0;
            store_row<1>(block.x + (uint32_t)(s % rows * plan.x_pitch) + cell +
                             (uint32_t)(m * (int)sizeof(Real)),
                         &r);
            const int32_t fy = ly - (plan.tile_y - halo_y), fz = lz - (plan.tile_z - halo_z);
            const int32_t entry[3] = {fy * plan.tile_z + lz, ly * halo_z + fz, fy * halo_z + fz};
            const bool hands[3] = {fy >= 0, fz >= 0, fy >= 0 && fz >= 0};
            for (int side = 0; side < 3; side++) {
                if (hands[side] && plan.face[side].values > 0 && control->pencil.after[side] >= 0 &&
                    control->ticket != plan.withheld)
                    store_face<1>(slot + plan.face[side].offset +
                                      (int64_t)s * plan.face[side].values + entry[side],
                                  &r);
            }
        }
        __syncwarp();
        if (s % SWEEP_CHUNK == SWEEP_CHUNK - 1 && block.lane == 0) {
            barrier_arrive(shared_address(control->made + c % SWEEP_BARRIERS));
            store_release_block(&control->steps_made, s + 1);
        }
    }
}

/* ---- The kernel -------------------------------------------------------------------------------
 */

/* Takes a pencil and makes the block's memory ready. */
template <typename Real, typename Value>
__device__ __forceinline__ void begin_block(const sweep_plan &plan, block_control *control,
                                            char *b_ring, char *x_ring) {
    const int thread = (int)threadIdx.x;
    if (thread == 0) {
        const gsw_pencil guess = plan.table[blockIdx.x]; /* most often the one */
        const int32_t ticket = (int32_t)atomicInc(&plan.state->ticket, (uint32_t)plan.pencils - 1);
        control->epoch = *(volatile uint32_t *)&plan.state->epoch;
        control->pencil = ticket == (int32_t)blockIdx.x ? guess : plan.table[ticket];
        control->ticket = ticket;
        control->last = 0;
        control->steps_made = 0;
    }
    if (thread >= 32 && thread < 32 + SWEEP_STAGES_MAX)
        barrier_init(shared_address(control->full + thread - 32), 1);
    if (thread >= 64 && thread < 64 + SWEEP_BARRIERS) {
        barrier_init(shared_address(control->made + thread - 64), 1);
        barrier_init(shared_address(control->stored + thread - 64), 1);
    }
    if (thread >= 32 && thread < 96)
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    const int32_t words = plan.ring * SWEEP_CHUNK * plan.x_pitch / 16;
    for (int32_t i = thread; i < words; i += SWEEP_THREADS)
        reinterpret_cast<int4 *>(x_ring)[i] = make_int4(0, 0, 0, 0);
    /* Steps at which lines have not begun: nothing is staged there, and it must be finite. */
    for (int32_t i = thread; i < plan.staged * SWEEP_CHUNK * plan.b_pitch / 16; i += SWEEP_THREADS)
        reinterpret_cast<int4 *>(b_ring)[i] = make_int4(0, 0, 0, 0);
    __syncthreads();
    if (thread < 3) /* halos that nobody makes are 0 */
        control->ready[thread] = plan.face[thread].values == 0 || control->pencil.before[thread] < 0
                                     ? INT32_MAX
                                     : -plan.lead;
    if (thread == 3)
        control->ready[3] = 0;
    if (thread >= 4 && thread < 4 + 16 / (int)sizeof(Value))
        reinterpret_cast<Value *>(control->ones)[thread - 4] = 1;
    __syncthreads();
}

/* Leaves a pencil: its faces may be used again. The last block of a solve makes the state ready for
 * the next. */
template <typename Real>
__device__ __forceinline__ void end_block(const sweep_plan &plan, block_control *control) {
    __syncthreads();
    if (threadIdx.x == 0) {
        __threadfence();
        store_release_device(plan.done + control->ticket, control->epoch);
        const uint32_t before = atomicInc(&plan.state->finished, (uint32_t)plan.pencils - 1);
        __threadfence();
        if (before == (uint32_t)plan.pencils - 1) {
            control->last = load_acquire_device(&plan.state->abandon) ? 2 : 1;
            *(volatile uint32_t *)&plan.state->epoch = control->epoch + 1;
        }
    }
    __syncthreads();
    if (control->last == 2) {
        Real *faces = (Real *)plan.faces;
        const int64_t values = (int64_t)plan.slots * plan.slot_values;
        for (int64_t i = threadIdx.x; i < values; i += SWEEP_THREADS)
            faces[i] = empty_value<Real>();
        __syncthreads();
        if (threadIdx.x == 0)
            *(volatile uint32_t *)&plan.state->abandon = 0;
    }
}

#endif

template <int name, typename Real, typename Value>
__global__ void __launch_bounds__(SWEEP_THREADS, 1)
    sweep_pencils(const __grid_constant__ sweep_plan plan) {
#if __CUDA_ARCH__ >= 900 /* the host launches it on no other device */
    extern __shared__ __align__(128) char memory[];
    __shared__ block_control control;
    begin_block<Real, Value>(plan, &control, memory + plan.b_offset, memory + plan.x_offset);
    const block_view block = {&plan,
                              &control,
                              shared_address(memory),
                              shared_address(memory + plan.b_offset),
                              shared_address(memory + plan.x_offset),
                              control.pencil.j * plan.tile_y - plan.pad_y,
                              control.pencil.k * plan.tile_z - plan.pad_z,
                              (int32_t)threadIdx.x & 31};
    /* Uniform for the compiler, so that a role's branches are. */
    const int role = __shfl_sync(~0u, (int)threadIdx.x >> 5, 0);
    constexpr int members = lines_of_a_lane(name);
    if (role == 0) {
        int32_t first = 0;
        if constexpr (name == SHAPE_OTHER)
            first = await_slot(&block) ? 0 : LEAVE;
        else
            first = make_steps<name, Real, Value>(block);
        if (first != LEAVE)
            make_careful_steps<Real, Value>(block, first);
    } else if (role == 1) {
        if (block.lane == 0)
            load_coefficients(block);
    } else if (role == 2) {
        stage_b<Real, members>(block);
    } else if (role == 3) {
        store_x<Real, members>(block);
    } else if (role >= 5) {
        if constexpr (name == SHAPE_OTHER) {
            fetch_halo<Real, 0>(block, role - 5);
        } else {
            using S = shape_of<name>;
            if (role == 5)
                fetch_halo<Real, S::face_y>(block, 0);
            else if (role == 6)
                fetch_halo<Real, S::face_z>(block, 1);
            else
                fetch_halo<Real, S::face_c>(block, 2);
        }
    }
    end_block<Real>(plan, &control);
#endif
}

} // namespace

#endif
