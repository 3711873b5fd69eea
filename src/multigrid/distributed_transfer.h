/* distributed_transfer.h: interpolation and restriction between two levels of a hierarchy on
 * several processes.
 *
 * Each process computes the weights and the coarse rows with the kernels of one process, on a frame
 * around its box that is wide enough: what the edge of the frame makes wrong does not reach the
 * box. So the weights and the coarse matrix are those of one process, but for rounding. */
#ifndef GSW_DISTRIBUTED_TRANSFER_H
#define GSW_DISTRIBUTED_TRANSFER_H

#include "matrix/distributed_rows.h"
#include "geometry/multigrid.h"

typedef struct gsw_distributed_transfer {
    gsw_transfer tables;     /* between frames one point wide */
    gsw_ghosts fine, coarse; /* of these frames, on the two levels */
    void *block;             /* of the weights */
    void *prolongation[GSW_WEIGHTS_MAX];
    void *restriction[GSW_WEIGHTS_MAX]; /* the same arrays where P = R^T */
    double *fine_frame, *coarse_frame;  /* vectors, where the own ones are in no frame */
    gsw_dtype type;                     /* of weights and vectors; F64 where there are frames */
} gsw_distributed_transfer;

/* What is needed while a hierarchy is built. */
typedef struct gsw_distributed_product {
    gsw_context *context;
    gsw_dtype type;      /* of the weights */
    gsw_transfer tables; /* between the wide frames of the rows */
    void *block, *rows;  /* memory of the weights, and of the rows */
    void *weights[2][GSW_WEIGHTS_MAX];
    double *coarse[GSW_STENCIL_MAX]; /* coarse rows of the frame */
    int64_t points;                  /* of the coarse frame */
} gsw_distributed_product;

/* The width of rows for a stencil. */
int64_t gsw_distributed_rows_width(const gsw_stencil *stencil);

/* Opens the transfer to the coarse partition for vectors of that type, and computes its weights and
 * the coarse matrix, which is fp64. `isolated` is the survey's. Collective. All three results can
 * be closed on failure, too. */
gsw_status gsw_distributed_transfer_open(const gsw_distributed_rows *rows, gsw_partition *coarse,
                                         int axes, int symmetric, int isolated, gsw_dtype type,
                                         gsw_distributed_transfer *transfer,
                                         gsw_distributed_product *product,
                                         gsw_distributed_matrix **matrix);
void gsw_distributed_transfer_close(gsw_distributed_transfer *transfer);
void gsw_distributed_product_close(gsw_distributed_product *product);

/* Replaces coarse diagonals that have cancelled, as mend_diagonal does. */
gsw_status gsw_distributed_product_mend(const gsw_distributed_rows *rows,
                                        const gsw_distributed_product *product,
                                        gsw_distributed_matrix *matrix);

/* coarse = R fine; fine += P coarse. Vectors of the boxes. On slabs of a device they are the own
 * parts of vectors that have GSW_MARGIN more planes, or reach the ends of the grid, on both sides;
 * the ghosts among these are overwritten. `known`: those of `coarse` are up to date. */
enum { GSW_MARGIN = 3 };
gsw_status gsw_distributed_restrict(gsw_distributed_transfer *transfer, void *fine, void *coarse);
gsw_status gsw_distributed_prolong_add(gsw_distributed_transfer *transfer, void *coarse, int known,
                                       void *fine);

/* On devices: the frame around the own part of such a vector. */
void *gsw_distributed_frame(const gsw_ghosts *ghosts, void *own);

#endif
