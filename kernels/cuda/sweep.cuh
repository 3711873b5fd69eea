/* sweep.cuh: what the host tells a sweep's kernel, and what stays on the device between sweeps. */
#ifndef GSW_CUDA_SWEEP_CUH
#define GSW_CUDA_SWEEP_CUH

#include "cuda/packed.cuh"

enum {
    SWEEP_CHUNK = GSW_TILE_CHUNK,
    SWEEP_BARRIERS = 16,    /* of each kind that count chunks */
    SWEEP_STAGES_MAX = 12,  /* chunks of coefficients in shared memory */
    SWEEP_STAGES_FIRST = 3, /* of which a block asks for so many before it waits for the first */
    SWEEP_LOOKS = 3         /* rows at most that a lane of a halo looks for at once */
};

/* How many right-hand sides a block sweeps at once: its columns. Several share what is read of the
 * factor; each has a warp of its own that computes. */
template <int Columns> struct sweep_columns {
    static constexpr int movers = Columns > 1 ? 2 : 1; /* warps that stage b, and that store x */
    static constexpr int of_mover = Columns / movers;  /* columns */
    /* Compute, loader, stagers, storers, halos; and an usher, where no other warp can be one. */
    static constexpr int threads = 32 * (Columns + 1 + 2 * movers + 3 + (Columns == 1));
    static constexpr int ahead = Columns > 1 ? 1 : 4; /* chunks of b on their way from memory */
    static constexpr int slack = Columns > 1 ? 2 : 3; /* chunks of b's ring beyond these */
    static constexpr int looks = Columns > 1 ? 4 : (int)SWEEP_LOOKS;
};

enum {
    SWEEP_COLUMNS = 4,    /* of a block where there are several right-hand sides */
    SWEEP_GROUPS = 2,     /* of so many columns, side by side in one launch */
    SWEEP_GROUPS_OF_1 = 8 /* the same where a block has one column */
};

/* What a cell of a ring's halo holds before its value comes: a signalling NaN, which no arithmetic
 * makes. */
#define SWEEP_EMPTY_F64 UINT64_C(0x7FF4DEADBEEF0001)
#define SWEEP_EMPTY_F32 UINT32_C(0x7FA4DEAD)

/* Counters of a factor's sweeps, in device memory. They advance by themselves from solve to solve.
 */
struct gsw_sweep_state {
    uint64_t next;    /* solves begun << 32 | the next pencil to take */
    uint64_t abandon; /* SWEEP_GIVEN_UP | the epoch of a solve that was given up: its faces are
                         dirty; 0: none */
};
#define SWEEP_GIVEN_UP (UINT64_C(1) << 32)

/* The lines before a pencil along one direction: 0 in y', 1 in z, 2 in both. Where they lie in a
 * face, and in a row of the ring, see sweep_kernel.cuh. */
struct sweep_face {
    int32_t values; /* a step and column; 0: nothing is handed over in this direction */
    int32_t column; /* of its first value in a row of the ring */
    int32_t later;  /* steps by which the producer makes a value later, counted in its own steps */
    int32_t offset; /* of its first value in a slot, in values */
};

struct sweep_plan {
    /* The grid, in sweep order. */
    int32_t nx, ny, nz, shear;
    int32_t pad_y, pad_z; /* lanes and planes before the first one that fill up the first tile */
    int32_t skew_y, skew_z, delay;
    int32_t lanes_y, lines_y, lines_z, tile_y, tile_z; /* of a pencil */
    int32_t unit;      /* the axis along which rows are neighbours in memory */
    int64_t stride[3]; /* in values of b and x, signed: along x, y' and z in a plane of y' */
    const void *b;     /* first row in sweep order, of the first column */
    void *x;
    int64_t ldb, ldx; /* from column to column, in values */
    int32_t columns;  /* right-hand sides of this launch, */
    int32_t groups;   /* in so many groups; each pencil is swept once for each group */
    int32_t resident; /* blocks that the device holds at a time, or more: see doubtful */
    /* Coefficients. */
    const void *values;
    int32_t records; /* a pencil */
    int32_t record_bytes;
    int32_t diagonal; /* the reciprocal diagonal is stored */
    int32_t pencils, chunks;
    const gsw_pencil *table;
    /* Hand-over. */
    gsw_sweep_state *state;
    uint32_t *done; /* [group][ticket]: the epoch in which the pencil has emptied what it reads */
    void *faces;    /* [group][slot][slot_values] */
    int64_t slot_values, all_values; /* of a slot, of all groups */
    int32_t slots;
    sweep_face face[3];
    /* Shared memory. */
    int32_t stages;             /* of coefficients */
    int32_t ring;               /* chunks of x and halos */
    int32_t staged;             /* chunks of b */
    int32_t b_offset, x_offset; /* bytes */
    int32_t looks;              /* of SWEEP_LOOKS: more where pencils are long, see sweep.cu */
    int32_t x_pitch, b_pitch;   /* bytes from row to row, */
    int32_t x_column, b_column; /* from column to column of a row */
    /* The couplings, for shapes without a kernel of their own, and for rows that need care. */
    int32_t terms;
    int32_t lead; /* steps before the first one that halos and couplings reach back to */
    int16_t dl[GSW_STENCIL_MAX], plane[GSW_STENCIL_MAX], back[GSW_STENCIL_MAX];
    /* Faults. */
    gsw_cuda_report *report;
    int64_t wait_limit_ns;
    int64_t withheld; /* ticket of a pencil that hands nothing over; -1: none */
};

/* Bytes of one column of a row of the rings. */
constexpr __host__ __device__ int32_t sweep_row_column(int32_t values, int32_t size) {
    return (values * size + 15) / 16 * 16;
}

/* Bytes of a row: rows at the same place of it fall on different banks. */
constexpr __host__ __device__ int32_t sweep_row_pitch(int32_t values, int32_t size,
                                                      int32_t columns) {
    return (columns * sweep_row_column(values, size) + 127) / 128 * 128 + 16;
}

/* Kernels of one pair of types, by gsw_shape_name: for one column, and for SWEEP_COLUMNS (NULL:
 * their rings would be too large). */
struct sweep_kernels {
    const void *kernel[SHAPE_COUNT], *columns[SHAPE_COUNT];
};

const sweep_kernels *sweep_kernels_f64(void);
const sweep_kernels *sweep_kernels_mixed(void);
const sweep_kernels *sweep_kernels_f32(void);

#endif
