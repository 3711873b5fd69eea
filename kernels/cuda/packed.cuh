/* packed.cuh: a packed factor in device memory, for the files that make and use it. Its layout is
 * that of the tiles in geometry.h. */
#ifndef GSW_CUDA_PACKED_CUH
#define GSW_CUDA_PACKED_CUH

#include "cuda/context.cuh"

extern "C" {
#include <geometry.h>
#include <layout.h>
#include <shapes.h>
}

/* Lines of a lane in the tile of a shape: two where a line has few coefficients. */
static constexpr __host__ __device__ int lines_of_a_lane(int name) {
    return name == SHAPE_D2N5 || name == SHAPE_D3N7 || name == SHAPE_D3N13 ? 2 : 1;
}

/* One pencil of a part. Pencils are stored, and blocks take them, in an order in which each one
 * comes after those it depends on. Its place in that order is its ticket. */
struct gsw_pencil {
    int32_t j, k; /* its tile */
    int32_t
        before[3];    /* tickets of the pencils one tile before it in y', in z, in both; -1: none */
    int32_t after[3]; /* of those after it */
};

/* What the kernels of a part need to know. On the host: it is too large to be an argument of every
 * kernel. Addresses are in device memory. */
struct gsw_packed_view {
    gsw_tiles tiles;
    int32_t upper;           /* which part */
    int32_t pencils;         /* used ones */
    int32_t distance;        /* in tickets, from a pencil to the last one that reads it */
    const gsw_pencil *table; /* in ticket order */
    const int32_t *mirror;   /* ticket, in the other part's order, of the same pencil */
    void *values;            /* [ticket][record][gsw_packed_value()] of the factor's type */
    int32_t terms;           /* coefficients per line and record */
    int32_t diagonal;        /* 1: the reciprocal diagonal is stored too */
    int32_t scale;           /* the coefficients are multiplied by it */
    int32_t members;         /* lines of a lane */
    int32_t vector;          /* values in 16 bytes */
};

/* Values of one record. */
GSW_HD int64_t gsw_record_values(const gsw_packed_view *view) {
    return (int64_t)(view->terms + view->diagonal) * view->members * GSW_TILE_LANES;
}

/* Index, in values from view->values, of coefficient `term` (the reciprocal diagonal: term ==
 * terms) of the point that line (ly, lz) of a pencil makes at step s. */
GSW_HD int64_t gsw_packed_index(const gsw_packed_view *view, int64_t ticket, int32_t ly, int32_t lz,
                                int64_t s, int32_t term) {
    const gsw_tiles *t = &view->tiles;
    const int64_t record = ticket * t->records + s % t->records;
    return record * gsw_record_values(view) +
           gsw_packed_value(view->terms, view->members, view->vector, term,
                            gsw_tile_member(t, ly, lz), gsw_tile_lane(t, ly, lz));
}

/* What a factorisation leaves in packed->pivots. Row numbers are those of the user, 0-based;
 * INT64_MAX: none. */
struct gsw_cuda_pivots {
    int64_t bad;     /* lowest row with a bad pivot */
    int64_t misfit;  /* lowest row with a coupling outside the stencil, or unusable row pointers */
    int64_t shifted; /* pivots replaced */
};

/* Counters and faces of sweeps, in device memory, shared by the parts. */
typedef struct gsw_sweep_area {
    struct gsw_sweep_state *state; /* sweep.cuh; NULL: not made yet. Counters, then faces */
    int32_t rhs;                   /* right-hand sides per block */
    int32_t groups;                /* groups of so many, at most, per launch */
    int32_t slots;                 /* of faces, for each group */
} gsw_sweep_area;

/* factor->packed of the CUDA backend. */
struct gsw_packed {
    gsw_layout layout; /* part[].packed is NULL: see view[].values */
    gsw_shape_name shape;
    gsw_packed_view view[2]; /* lower, upper: those that are present */
    gsw_updates updates;     /* of kinds that eliminate */
    void *reciprocal;        /* JACOBI: the reciprocal diagonal in natural order */
    void *eliminate_work;    /* eliminate.cuh */
    gsw_cuda_pivots *pivots; /* what a factorisation found: device memory */
    gsw_sweep_area area[2];  /* of sweeps with one right-hand side, with several */
};

/* ---- factor.cu: the entries of the backend's table */

gsw_status gsw_cuda_factor_open(gsw_context *context, gsw_factor *factor);
gsw_status gsw_cuda_factor_fill(gsw_context *context, gsw_factor *factor, const gsw_matrix *matrix,
                                const gsw_matrix *upper);
gsw_status gsw_cuda_factor_sweep(gsw_context *context, gsw_factor *factor, int which, int64_t count,
                                 const void *b, int64_t ldb, void *x, int64_t ldx);
gsw_status gsw_cuda_factor_unpack(gsw_context *context, const gsw_factor *factor, int which,
                                  double *const *arrays);
void gsw_cuda_factor_close(gsw_context *context, gsw_factor *factor);

/* ---- pack.cu */

/* Writes the parts' coefficients from the user's matrix (`upper`: kind LU only). Kinds that do not
 * eliminate are finished then. For those that do, both parts hold the matrix's own coefficients,
 * not yet scaled, and the place of the reciprocal diagonal holds the diagonal. Reports into
 * packed->pivots, which has been reset. Places of a record that belong to no point of the grid, and
 * coefficients of couplings that leave the grid, are 0. Asynchronous. */
gsw_status gsw_cuda_pack(gsw_context *context, gsw_factor *factor, const gsw_matrix *matrix,
                         const gsw_matrix *upper);

/* As gsw_backend_ops.factor_unpack: `arrays` are host arrays of all points, waits for the stream.
 */
gsw_status gsw_cuda_unpack(gsw_context *context, const gsw_factor *factor, int which,
                           double *const *arrays);

/* JACOBI: packed->reciprocal from the matrix's diagonal; and its use. */
gsw_status gsw_cuda_jacobi_fill(gsw_context *context, gsw_factor *factor, const gsw_matrix *matrix);
gsw_status gsw_cuda_jacobi_apply(gsw_context *context, gsw_factor *factor, int64_t count,
                                 const void *b, int64_t ldb, void *x, int64_t ldx);

/* ---- eliminate.cu */

/* ILU0, IC0, DILU: turns what gsw_cuda_pack() has left into the factor, in place. Reports into
 * packed->pivots. Asynchronous. */
gsw_status gsw_cuda_eliminate(gsw_context *context, gsw_factor *factor);

/* ---- sweep.cu */

/* Allocates and resets what sweeps with one right-hand side need; adds to factor->info.work_bytes.
 */
gsw_status gsw_cuda_sweep_open(gsw_context *context, gsw_factor *factor);
void gsw_cuda_sweep_close(struct gsw_packed *packed);

/* The tile that the sweep's kernels want for a shape. */
gsw_tile_shape gsw_cuda_tile_shape(gsw_shape_name name, const gsw_tiles *tiles);

/* One sweep with part `part`, asynchronous; b and x are device vectors in natural order. The first
 * one with several right-hand sides allocates. */
gsw_status gsw_cuda_sweep(gsw_context *context, gsw_factor *factor, int part, int64_t count,
                          const void *b, int64_t ldb, void *x, int64_t ldx);

#endif
