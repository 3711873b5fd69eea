/* unknowns.h: tells several unknowns per point from a grid that is a few points wide.
 *
 * Unknowns that are numbered together look like an axis of the grid: the fastest one where the
 * unknowns of a point follow each other, the slowest one where they are whole fields. Points of a
 * real axis differ in another way than unknowns do. Neighbours along an axis pull in one direction:
 * their couplings have the sign opposite to the diagonal's. And the two ends of an axis have the
 * same rows, mirrored. Rows of different equations have neither. */
#ifndef GSW_UNKNOWNS_H
#define GSW_UNKNOWNS_H

#include <gridsweep/matrix.h>

typedef struct gsw_unknowns {
    int count; /* unknowns per point that the matrix seems to have; 1: it looks like a grid */
    int axis;  /* 0 to 2: the axis that they are taken for, where count > 1 */
} gsw_unknowns;

/* Reads a few hundred rows at most, from the memory of the context; on a device this waits for the
 * stream. Errors: OUT_OF_MEMORY, DEVICE. */
gsw_status gsw_unknowns_look(gsw_context *context, const gsw_matrix *matrix,
                             gsw_unknowns *unknowns);

#endif
