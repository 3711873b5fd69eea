/* sweep_plan.cuh: what the host passes to a sweep's kernel, and what stays on the device between
 * sweeps. */
#ifndef GSW_CUDA_SWEEP_PLAN_CUH
#define GSW_CUDA_SWEEP_PLAN_CUH

#include "movers.cuh"
#include "packed.cuh"

enum {
    SWEEP_CHUNK = GSW_TILE_CHUNK,
    SWEEP_BARRIERS = 16,    /* of each kind that count chunks */
    SWEEP_STAGES_MAX = 12,  /* chunks of coefficients in shared memory */
    SWEEP_STAGES_FIRST = 3, /* of these, so many are loaded before the block waits for the first */
    SWEEP_SLICE = 2,        /* steps of a stage without bulk copies, */
    SWEEP_LOADERS = 4,      /* and warps that fill such stages in turns */
    SWEEP_SUM_AHEAD = 4,    /* chunks on their way of what a sweep also adds, */
    SWEEP_SUM_STORERS = 2   /* and its storers: one alone takes longer for a chunk than compute */
};

/* The warps of a block that sweeps `Rhs` right-hand sides. They share the factor's values; each
 * right-hand side has a compute warp of its own. */
template <int Rhs> struct sweep_warps {
    static constexpr int movers = Rhs > 1 ? 2 : 1; /* stagers; and as many storers */
    static constexpr int rhs_per_mover = Rhs / movers;
    /* Chunks of b on their way from memory, and chunks of its ring beyond these. */
    static constexpr int ahead = Rhs == 1 ? 4 : Rhs == 2 ? 3 : 2;
    static constexpr int slack = Rhs == 1 ? 3 : 1;
};

/* The rows that a receiver's lane polls at once, where it polls several. They were measured
 * (perf/DECISIONS.md, Rows polled at once). */
template <int Rhs, bool pivots> constexpr int polled_rows = Rhs > 1 ? 4 : pivots ? 3 : 6;

/* Their order: compute, loaders, stagers, storers, opener (where compute is not it), receivers.
 * `sums`: the storers also add. `bulk`: the device has bulk copies. */
template <int Rhs, bool sums = false, bool bulk = BULK_COPIES> struct sweep_roles {
    static constexpr int movers = sweep_warps<Rhs>::movers;
    static constexpr int storers = sums ? (int)SWEEP_SUM_STORERS : movers;
    static constexpr int loader = Rhs, stager = loader + (bulk ? 1 : (int)SWEEP_LOADERS);
    static constexpr int storer = stager + movers, behind = storer + storers;
    static constexpr int opener = Rhs == 1 ? behind : 0;
    static constexpr int receiver = behind + (Rhs == 1), warps = receiver + 3;
    static constexpr unsigned threads = 32 * warps;
};

enum {
    SWEEP_RHS_MAX = 4,   /* right-hand sides of a block */
    SWEEP_RHS_OF_ALL = 8 /* of all groups of a launch */
};

/* The right-hand sides of a block where there are several. Where a lane has two lines, steps are
 * short of time in the pipe to shared memory; else coefficients are most of what memory moves. */
constexpr __host__ __device__ int rhs_of_blocks(int name) {
    return lines_of_a_lane(name, BULK_COPIES) == 2 ? 2 : (int)SWEEP_RHS_MAX;
}

/* Whether x is stored two chunks at a time: where lines lie along x. Blocks of two right-hand sides
 * have the room for that. */
constexpr __host__ __device__ bool stores_pairs(int32_t rhs, int32_t unit) {
    return rhs == 2 && unit == 0;
}

/* Counters of a factor's sweeps, in device memory. They need no reset between solves. */
struct gsw_sweep_state {
    uint64_t next;    /* solves begun << 32 | the next ticket */
    uint64_t abandon; /* SWEEP_ABANDONED | the epoch of an abandoned solve, whose faces are dirty;
                         0: none */
};
#define SWEEP_ABANDONED (UINT64_C(1) << 32)

/* The lines before a pencil along one direction: 0 in y', 1 in z, 2 in both. sweep_kernel.cuh
 * explains faces and rings. */
struct sweep_face {
    int32_t values; /* per step and right-hand side; 0: nothing is handed over */
    int32_t cell;   /* its first cell in a row of the ring */
    int32_t later;  /* steps by which the producer computes a value later, in its own steps */
    int32_t offset; /* of its first value in a slot, in values */
};

struct sweep_plan {
    /* The grid, in sweep order. */
    int32_t nx, ny, nz, shear;
    int32_t pad_y, pad_z; /* values of y' and z before the first ones, which fill the first tile */
    int32_t skew_y, skew_z, delay;
    int32_t lanes_y, lines_y, lines_z, tile_y, tile_z; /* of a pencil */
    int32_t unit;      /* the axis along which rows are neighbours in memory */
    int64_t stride[3]; /* in values of b and x, signed: along x, y' and z in a plane of y' */
    const void *b;     /* first row in sweep order, of the first right-hand side */
    void *x;
    int64_t ldb, ldx; /* from right-hand side to right-hand side, in values */
    int32_t rhs;      /* right-hand sides of this launch, */
    int32_t groups;   /* in so many groups; each group sweeps each pencil once */
    int32_t resident; /* blocks that the device holds at a time, or more: see maybe_dirty() */
    /* Coefficients. */
    const void *values;
    int32_t records; /* per pencil */
    int32_t record_bytes;
    int32_t diagonal; /* the reciprocal diagonal is stored */
    int32_t pencils, chunks;
    const gsw_pencil *table;
    /* Hand-over. */
    gsw_sweep_state *state;
    uint32_t *done; /* [group][ticket]: the epoch in which the pencil has reset what it reads */
    void *faces;    /* [group][slot][slot_values] */
    int64_t slot_values, all_values; /* of a slot, of all groups */
    int32_t slots;
    sweep_face face[3];
    void *inbox, *outbox; /* [place][slot_values]: faces from and to other processes; NULL: none */
    /* A dealt factor. b and x of a pencil are those of the slab that has its rows, or `b` and `x`,
     * where gathered, without the rows of tiles of other processes. In each case they are the first
     * row of the whole grid in sweep order, as above. */
    int32_t owners; /* the slabs of so many processes, in sweep order; 0: not dealt */
    int32_t owner_end[GSW_DEAL_MAX]; /* rows of tiles up to the end of each slab */
    const void *owner_b[GSW_DEAL_MAX];
    void *owner_x[GSW_DEAL_MAX];
    int32_t b_gathered, x_gathered;
    int32_t first_row, row_step; /* row k of the tiles is row first_row + k row_step by nature */
    int64_t row_values;          /* of a row of tiles */
    /* Shared memory. */
    int32_t stages;             /* of coefficients */
    int32_t loads;              /* chunks of records that are loaded: those of a pencil, each once,
                                   where all fit in the stages; else those of all steps, but for
                                   those that are kept */
    int32_t ring;               /* chunks of x and halos */
    int32_t staged;             /* chunks of b */
    int32_t b_offset, x_offset; /* bytes */
    int32_t sum_offset;         /* of what the storer adds */
    bool polls_several;         /* a receiver polls several rows at once: see sweep.cu */
    int32_t x_pitch, b_pitch;   /* bytes from row to row, */
    int32_t x_stride, b_stride; /* from right-hand side to right-hand side of a row */
    /* The couplings, for shapes without a kernel of their own, and for careful steps. */
    int32_t terms;
    int32_t lead; /* steps before step 0 that halos and couplings reach back to */
    int16_t dl[GSW_STENCIL_MAX], plane[GSW_STENCIL_MAX], back[GSW_STENCIL_MAX];
    /* Sweeps that compute reciprocal pivots. */
    gsw_cuda_pivots *pivots;
    int32_t positive; /* pivots must be */
    /* Faults. */
    gsw_cuda_report *report;
    int64_t wait_limit_ns;
    int64_t withheld; /* ticket of a pencil that publishes nothing; -1: none */
    /* Sweeps that also add: z = add + factor x, and x is not stored where it is NULL. First rows in
     * sweep order, as b; factor NULL: 1. */
    const double *add, *factor;
    double *z;
    /* Coefficients that repeat. `constant_lines`: the kernel is one for lines whose points have the
     * same coefficients, but for the `reach` ones at both ends. */
    const int32_t *shared; /* see gsw_packed_view */
    int32_t constant_lines, reach;
    int32_t kept_begin, kept_end; /* chunks that have the records of the one before them */
};

/* Bytes of one right-hand side in a row of the rings. */
constexpr __host__ __device__ int32_t sweep_row_stride(int32_t values, int32_t size) {
    return (values * size + 15) / 16 * 16;
}

/* Bytes of a row. The same cell of successive rows falls on different banks. */
constexpr __host__ __device__ int32_t sweep_row_pitch(int32_t values, int32_t size, int32_t rhs) {
    return (rhs * sweep_row_stride(values, size) + 127) / 128 * 128 + 16;
}

/* Kernels of one pair of types, by gsw_shape_name: for one right-hand side; the same for factors of
 * which other processes have a part; and for rhs_of_blocks() (NULL: there is none). */
struct sweep_kernels {
    const void *single[SHAPE_COUNT], *remote[SHAPE_COUNT], *several[SHAPE_COUNT];
};

const sweep_kernels *sweep_kernels_f64(void);
const sweep_kernels *sweep_kernels_mixed(void);
const sweep_kernels *sweep_kernels_f32(void);

/* The kernel for short lines of a shape, in fp64; NULL: there is none. */
const void *sweep_brief_kernel(gsw_shape_name name);

/* The kernel for constant coefficients, in fp64; NULL: there is none. */
const void *sweep_constant_kernel(gsw_shape_name name);

/* The kernel that computes the reciprocal pivots of a shape; NULL: there is none. `remote`: for
 * factors of which other processes have a part. */
const void *sweep_pivot_kernel(gsw_shape_name name, bool remote);

/* The kernel that also adds, in fp64; all shapes have one. */
const void *sweep_sum_kernel(gsw_shape_name name);

#endif
