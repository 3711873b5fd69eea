/* eliminate_plan.cuh: what the host passes to the kernels of an elimination (eliminate.cu), and the
 * tables that a factor keeps for them. */
#ifndef GSW_CUDA_ELIMINATE_PLAN_CUH
#define GSW_CUDA_ELIMINATE_PLAN_CUH

#include "cuda/sweep/packed.cuh"

enum {
    /* Named shapes. */
    ELIMINATE_STEPS = 4,     /* of a chunk */
    ELIMINATE_STAGES = 12,   /* chunks at most in a block's ring */
    ELIMINATE_STORERS = 2,   /* threads */
    ELIMINATE_RECEIVERS = 2, /* warps */
    ELIMINATE_THREADS = 32 * (2 + ELIMINATE_STORERS + ELIMINATE_RECEIVERS),
    /* Any shape. */
    ELIMINATE_MEMBERS = 2, /* lines of a lane at most */
    ELIMINATE_NAP = 50,    /* ns between two polls: other warps of the multiprocessor have work */
    ELIMINATE_AHEAD = 8    /* steps before its use at which a record is prefetched */
};

/* Neighbour of a point: dx away along x, dl along y' and dz along z. */
struct eliminate_coupling {
    int32_t dx, dl, dz;
};

/* A pencil that another one reads: its tickets in the lower and in the upper part; -1: none. */
struct eliminate_near {
    int32_t lower, upper;
};

/* Progress of one elimination, in device memory; all 0 before it. */
struct eliminate_state {
    int32_t next;       /* ticket */
    uint32_t abandoned; /* 1: the elimination is abandoned (handover.cuh) */
    int32_t steps[];    /* published by each pencil, by its ticket in the lower part */
};

/* For shapes without a kernel of their own; in device memory. */
struct eliminate_lists {
    eliminate_coupling lower[GSW_STENCIL_MAX];
    gsw_updates updates;
};

/* Passed by value. Addresses are in device memory. */
struct eliminate_plan {
    int64_t ny, nz; /* extents along the tiles' axes */
    int64_t stride[3];
    int32_t nx, delay, records, shear;
    uint32_t per_record; /* 2^32 / records */
    int32_t skew_y, skew_z, tile_y, tile_z;
    int32_t lanes_bits, lines_y_bits, lines_z_bits; /* logarithms of the tile's shape */
    int32_t members, vector;
    int32_t lower_terms, upper_terms;
    int32_t lower_record, upper_record; /* values of a record */
    void *lower, *upper;
    const gsw_pencil *table;
    const eliminate_near *near; /* [ticket][z][y]: the pencils z and y tiles before it */
    int32_t near_y, near_z;     /* extents of `near`: 2 x 2 or more, at most 32 in all */
    /* Named shapes: lanes before the pencil that it reads; chunks in all, chunks in the ring, and
     * chunks in the ring that later steps still read. */
    int32_t halo_lanes_y, halo_lanes_z;
    int32_t chunks, stages, held;
    int32_t dilu;
    int32_t positive;   /* IC0: a negative pivot is a bad one */
    double pivot_shift; /* 0: bad pivots stay */
    gsw_cuda_pivots *pivots;
    const eliminate_lists *lists;
    eliminate_state *state;
    gsw_cuda_report *report;
    int64_t wait_limit_ns;
    int64_t withheld; /* ticket of a pencil that publishes nothing; -1: none */
};

/* A kernel (argument: the plan), and the bytes of shared memory per step; 0: the kernel for any
 * shape. */
struct eliminate_kernel {
    const void *kernel;
    int32_t row_bytes;
};

/* For factors of one type. */
eliminate_kernel gsw_cuda_eliminate_kernel_f32(gsw_shape_name shape, int dilu);
eliminate_kernel gsw_cuda_eliminate_kernel_f64(gsw_shape_name shape, int dilu);

#endif
