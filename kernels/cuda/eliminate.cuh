/* eliminate.cuh: what the host tells the kernels of an elimination (eliminate.cu), and the tables
 * that a factor keeps for them. */
#ifndef GSW_CUDA_ELIMINATE_CUH
#define GSW_CUDA_ELIMINATE_CUH

#include "cuda/packed.cuh"

enum {
    ELIMINATE_WARPS = 8,   /* of a block, at most */
    ELIMINATE_MEMBERS = 2, /* lines of a lane that named shapes have kernels for: 1 to this */
    ELIMINATE_AHEAD = 4    /* steps before a record's use at which it is asked for */
};

/* Neighbour of a point: dx along x, dl lanes and dz planes away. */
struct eliminate_coupling {
    int32_t dx, dl, dz;
};

/* A pencil in the order of `start`. */
struct eliminate_pencil {
    int64_t start;  /* time of its step 0 */
    int32_t j, k;   /* its tile */
    int32_t ticket; /* in the lower part */
    int32_t reserved;
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
    const eliminate_pencil *pencil;
    const int32_t *near;    /* [pencil][z][y]: tickets, in the upper part, of the pencils so many */
    int32_t near_y, near_z; /* tiles before it, 2 x 2 or more; -1: not used */
    int32_t dilu;
    int32_t positive;   /* IC0: a negative pivot is a bad one */
    double pivot_shift; /* 0: bad pivots stay */
    gsw_cuda_pivots *pivots;
    const eliminate_lists *lists;
};

/* Kernels for factors of one type: of a named shape with so many lines a lane, or, where there is
 * none, the one for all shapes. Their arguments: plan; first and last + 1 pencil; first and last +
 * 1 time. */
const void *gsw_cuda_eliminate_kernel_f32(gsw_shape_name shape, int dilu, int members);
const void *gsw_cuda_eliminate_kernel_f64(gsw_shape_name shape, int dilu, int members);

/* Makes packed->eliminate_work for the kinds that eliminate, from the finished tables of pencils;
 * adds to factor->info.work_bytes. Waits for the device. */
gsw_status gsw_cuda_eliminate_open(gsw_context *context, gsw_factor *factor);
void gsw_cuda_eliminate_close(struct gsw_packed *packed);

#endif
