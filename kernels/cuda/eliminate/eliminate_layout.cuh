/* eliminate_layout.cuh: the ring of a block that eliminates a pencil of a named shape: where each
 * record's values lie. eliminate_named.cuh explains the ring and its roles. */
#ifndef GSW_CUDA_ELIMINATE_LAYOUT_CUH
#define GSW_CUDA_ELIMINATE_LAYOUT_CUH

#include "eliminate_row.cuh"
#include "cuda/sweep/movers.cuh"
#include "cuda/sweep/shape.cuh"

namespace {

/* In shared memory. Each counter and barrier names the role that writes it; counters count chunks.
 */
struct named_control {
    uint64_t full[ELIMINATE_STAGES]; /* loader and receivers: the chunk is there */
    int32_t completed;               /* compute: its steps are done */
    int32_t stored;                  /* storers: it has left the ring */
    int32_t written;                 /* storers: it is in device memory */
    int32_t ticket;
};

/* ---- The halo -----------------------------------------------------------------------------------
 */

/* The lanes of the halo: those before the first lane in y and in z, and their corner. */
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

/* Number of the halo's lane (y, z), where y or z is negative. */
__device__ __forceinline__ int32_t halo_lane(const halo_lanes &h, int32_t y, int32_t z) {
    if (z >= 0)
        return (y + h.y) * h.lanes_z + z;
    if (y >= 0)
        return h.y * h.lanes_z + (z + h.z) * h.lanes_y + y;
    return h.y * h.lanes_z + h.z * h.lanes_y + (y + h.y) * h.z + z + h.z;
}

/* The inverse. Side 0, 1, 2: before in y, in z, in both; `lane` is the one in that pencil. */
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

template <class Real, int Name, bool Dilu, int Members> struct named_layout {
    using shape = shape_of<Name>;
    static constexpr int terms = shape::terms, steps = ELIMINATE_STEPS;
    static constexpr int vector = 16 / (int)sizeof(Real);
    static constexpr int whole = terms * Members / vector; /* vectors of a lane */
    static constexpr int rest = terms * Members - whole * vector;
    static constexpr int lower_values = (terms + Dilu) * Members * GSW_TILE_LANES;
    static constexpr int upper_values = (terms + !Dilu) * Members * GSW_TILE_LANES;
    static constexpr int row_bytes = (lower_values + 2 * upper_values) * (int)sizeof(Real);
    static_assert(Members <= vector && vector % Members == 0, "a lane's lines share a vector");

    /* Where one line's values are in a record that begins at value `from`. */
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

    /* The ring: records of the lower part, of the upper part, halos. In memory, records of the
     * upper part are in the order of falling steps. So the rows of a chunk are in that order too,
     * for the upper part and for halos. */
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
};

} // namespace

#endif
