/* shortened.h: matrices whose stencil reaches far, as differences of high order and one-sided ones
 * at a boundary do, in the form that preconditioners take: with neighbours alone. A far coupling
 * counts by its first and second moments along the axes, so that the short matrix is a difference
 * of second order for the same operator. Correction by defects of low order: Stetter, Numer. Math.
 * 29, 1978. */
#ifndef GSW_SHORTENED_H
#define GSW_SHORTENED_H

#include <gridsweep/matrix.h>

typedef struct gsw_shortened {
    gsw_matrix view; /* the matrix itself where no offset reaches beyond multigrid's, or some reach
                        very far; else stencil arrays in fp64 */
    double *block;   /* NULL: it is the matrix itself */
    const void *values[GSW_STENCIL_MAX];
} gsw_shortened;

/* Takes a matrix of one process that has been checked; its arrays and its mask must stay. Values
 * are computed again where *shortened has been open before. Errors: OUT_OF_MEMORY, OVERFLOW,
 * NOT_A_GRID. */
gsw_status gsw_shortened_take(gsw_context *context, const gsw_matrix *matrix,
                              gsw_shortened *shortened);
void gsw_shortened_close(gsw_context *context, gsw_shortened *shortened);

#endif
