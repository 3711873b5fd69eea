/* distributed_matrix.h: the rows of the own box, as the library keeps them. */
#ifndef GSW_DISTRIBUTED_MATRIX_H
#define GSW_DISTRIBUTED_MATRIX_H

#include "ghosts.h"
#include "slabs.h"

struct gsw_distributed_matrix {
    gsw_partition *partition;
    gsw_matrix local; /* on the box, with the grid's stencil; stencil arrays */
    const void *values[GSW_STENCIL_MAX];
    double *block;  /* of the arrays, where the matrix owns them: the host's memory */
    void *moved;    /* of the arrays in the backend's memory, where that is another */
    int64_t points; /* of the box */
    gsw_ghosts ghosts;
    gsw_slab_ghosts slab; /* in place of ghosts, where the backend has memory of its own */
    gsw_operator *op;
};

/* A matrix whose arrays are `values`, or zeroed fp64 arrays of its own where that is NULL. *matrix
 * is set on failure, too. */
gsw_status gsw_distributed_matrix_begin(gsw_partition *p, const gsw_stencil *stencil,
                                        gsw_dtype type, const void *const *values,
                                        gsw_distributed_matrix **matrix);

/* The end of a collective creation: all processes keep the matrix, or none. */
gsw_status gsw_distributed_matrix_end(gsw_partition *p, gsw_status own,
                                      gsw_distributed_matrix **matrix);

#endif
