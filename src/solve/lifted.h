/* lifted.h: rows that determine their unknown alone, or nearly: boundary values that are written as
 * x_i = b_i, or by a diagonal that is large beyond all couplings. They are fixed points. A solver
 * leaves them out of the system, with the mask that inactive points have: what is left keeps its
 * symmetry, and rows of another size do not decide when a solve has converged.
 *
 * With fixed unknowns x_F and the others x_L, a round sets x_F += D_F^-1 r_F and solves A_LL e =
 * r_L, where r = b - A x. Then x_L += e. A row with a diagonal alone is exact after that; another
 * one loses at least six digits of its error a round. */
#ifndef GSW_LIFTED_H
#define GSW_LIFTED_H

#include <gridsweep/factor.h>
#include <gridsweep/operator.h>

typedef struct gsw_lifted {
    gsw_context *context;
    int64_t points;
    uint8_t *left;         /* the mask of what is left; NULL: nothing is fixed */
    int64_t alone, large;  /* fixed points: rows with a diagonal alone, and the others */
    int64_t zeros;         /* rows of zeros, whose unknowns stay 0 where b fits */
    gsw_operator *whole;   /* A */
    gsw_factor *diagonal;  /* D */
    double *r, *e, *spare; /* vectors */
    double *kept;          /* with a mask: what x held before, else NULL */
} gsw_lifted;

/* Finds the fixed points of a matrix that has been checked. Where there are none, or nothing else,
 * lifted->left is NULL. Counts are those of all processes, vectors of the own part. All functions
 * are collective where the matrix is on a partition. Close *lifted in any case. Errors:
 * OUT_OF_MEMORY, OVERFLOW, NOT_A_GRID. */
gsw_status gsw_lifted_open(gsw_context *context, const gsw_matrix *matrix, gsw_lifted *lifted);
void gsw_lifted_close(gsw_lifted *lifted);

/* What a solve has to reach: norms of b - A x over all points, and over what is left. */
typedef struct gsw_lifted_goal {
    double rtol, atol;
    double reference; /* ||b|| */
    double all, left; /* tolerances */
    double residual;  /* ||b - A x|| of the present x */
    int is_fixed;     /* x at the fixed points is final */
} gsw_lifted_goal;

/* Sets the goal, and x at inactive points to 0. */
gsw_status gsw_lifted_begin(gsw_lifted *lifted, const double *b, double *x, gsw_lifted_goal *goal);

/* At the end: x at inactive points is what it was before. */
gsw_status gsw_lifted_restore(const gsw_lifted *lifted, double *x);

/* Sets x at the fixed points, goal->residual, and lifted->r = r_L. *rtol: the share of ||r_L|| that
 * a solve with it may leave; 0: x meets the goal; 1: what is left does, and the next call may make
 * the fixed points do so, too. */
gsw_status gsw_lifted_next(gsw_lifted *lifted, const double *b, double *x, gsw_lifted_goal *goal,
                           double *rtol);

#endif
