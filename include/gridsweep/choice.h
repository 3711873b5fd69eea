/* gridsweep/choice.h: chooses the preconditioner and the Krylov method for a matrix, and says why.
 *
 * To solve a system use gsw_solve() in solve.h: it chooses, solves, and tries something else where
 * the choice fails. Use gsw_choose() if the choice is all that you need, such as a preconditioner
 * for an iteration of your own; it is the first half of a solver. Use gsw_choose_method() if you
 * have a preconditioner and need the method alone. Where you solve many systems of one kind, choose
 * once and then name the choice yourself: choosing costs 5 to 30% of a solve.
 *
 *   gsw_preconditioner *M;
 *   gsw_choice choice = {.size = sizeof choice};
 *   gsw_choose(context, &matrix, NULL, &M, &choice);
 *   gsw_krylov(context, choice.method, A, M, NULL, b, x, &result);
 *
 * The candidates are multigrid (multigrid.h) and a factor (factor.h). The factor is IC(0) for a
 * symmetric matrix with a positive diagonal, or SSOR where IC(0) has a bad pivot; else ILU(0).
 * Where couplings reach far along y or z, as on periodic axes, sweeps are dear and the factor is
 * JACOBI. On a CPU it is JACOBI, too, where few iterations suffice for the matrix of a time step:
 * an M-matrix whose diagonal dominates in each row, and whose couplings prevail along no axis.
 * These checks decide, in this order:
 *
 *   1. The backend, the stencil's reach and the number of points: is multigrid possible?
 *   2. All coefficients: symmetry, signs of the diagonal and of the couplings, row sums.
 *   3. An estimate of the iterations with the factor. If they are few, the factor is chosen.
 *   4. A hierarchy and its cycles. If they gain too little for their cost, the factor is chosen; or
 *      JACOBI, far cheaper, for a symmetric matrix whose couplings reach past neighbours.
 *
 * The estimate begins with the mean of row sum over diagonal. This mean roughly bounds the
 * iterations of a symmetric matrix from below. If the bound is low, or the matrix is not symmetric,
 * the library tries two steps x += M^-1 (b - A x) on a smooth error. M is the factor. The part of
 * the error that they leave gives the estimate. The library tries multigrid on an error that is
 * smooth and rough in equal parts, with one cycle. If that leaves more than a quarter, it tries a
 * second cycle.
 *
 * Cost: one pass over the matrix, and two steps with a factor, or one or two cycles, or both. The
 * chosen method can still fail, so check how the solve ends. CG ends in BREAKDOWN if a symmetric
 * matrix turns out to be indefinite; BiCGSTAB or GMRES can continue from there. */
#ifndef GRIDSWEEP_CHOICE_H
#define GRIDSWEEP_CHOICE_H

#include <gridsweep/krylov.h>
#include <gridsweep/multigrid.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The reason for a choice. */
typedef enum gsw_reason {
    GSW_REASON_MULTIGRID = 0,   /* multigrid: the factor would take many iterations, or has a
                                   bad pivot */
    GSW_REASON_REACH = 2,       /* the factor, as for all reasons below: the stencil reaches
                                   farther than 2 */
    GSW_REASON_POINTS = 3,      /* the grid is so small that any method is quick */
    GSW_REASON_DIAGONAL = 4,    /* a diagonal is zero or not finite */
    GSW_REASON_SIGNS = 5,       /* too many couplings have the sign of the diagonal, so they do not
                                   show how multigrid should interpolate */
    GSW_REASON_INDEFINITE = 6,  /* diagonals of both signs, or x'Ax < 0 for a smooth x */
    GSW_REASON_FEW = 7,         /* the factor takes few iterations */
    GSW_REASON_CYCLE = 8,       /* a cycle reduces a smooth error too little */
    GSW_REASON_REFUSED = 9,     /* the set-up of multigrid failed */
    GSW_REASON_METHOD_ONLY = 10 /* gsw_choose_method(): no preconditioner was chosen */
} gsw_reason;

/* All members except `size` may be 0. */
typedef struct gsw_choice_options {
    size_t size;                            /* sizeof this struct, set by the caller */
    const gsw_multigrid_options *multigrid; /* the hierarchy to try; NULL: cycles in fp32 */
    const gsw_factor_options *factor;       /* the factor, except its kind; vectors in fp64 */
} gsw_choice_options;

/* The library fills `size` bytes. Unknown values are -1 or NaN. */
typedef struct gsw_choice {
    size_t size; /* sizeof this struct, set by the caller */
    gsw_reason reason;
    gsw_method method;    /* CG for a symmetric matrix whose diagonals have one sign, unless a
                             check shows that it is indefinite; then GMRES with multigrid; else
                             BICGSTAB */
    gsw_factor_kind kind; /* IC0, ILU0, SSOR or JACOBI: the chosen factor, or the one to fall back
                             on */
    int symmetric;        /* 1: symmetric to 1e-7 of the diagonals; 0: not; never -1 */
    int diagonal;         /* 1: all are positive; 0: none is; 2: both signs; -1: one is zero or not
                             finite */
    int m_matrix;         /* diagonals are positive and dominant, no coupling is positive */
    int dominant;         /* no |diagonal| is less than the sum of its row's other |coefficients| */
    int zero_sums;        /* all row sums vanish: constant vectors are in the null space */
    double estimate;      /* iterations to 1e-8 with the factor and CG (with BiCGSTAB half as
                             many). It serves the choice and is rough: in media of high contrast
                             it was up to 18 times the iterations of CG. Infinite where trial
                             steps gain nothing */
    double cycle_left;    /* the part of a smooth error that a cycle leaves */
    gsw_multigrid *multigrid; /* set where the preconditioner applies it, else NULL; it belongs to
                                 the preconditioner. gsw_multigrid_refactor() takes it. */
    gsw_factor *factor;       /* the same for a factor and gsw_factor_refactor() */
    char text[192];           /* the reason in words, such as "symmetric M-matrix; ic0 would take
                                 many iterations" */
} gsw_choice;

/* Chooses a preconditioner and a method, and creates the preconditioner, which owns the factor or
 * the hierarchy that it applies. Destroy it with gsw_preconditioner_destroy(). `options` may be
 * NULL. The call reads the matrix and keeps no pointer to it. It waits for the device. While it
 * runs it also allocates two vectors (three if all row sums vanish) and, for a CSR, a copy of its
 * coefficients. On failure *preconditioner is NULL. The log callback does not receive the errors of
 * candidates that fail. Errors: INVALID_ARGUMENT, UNSUPPORTED, OVERFLOW, OUT_OF_MEMORY, NOT_A_GRID,
 * DEVICE, and ZERO_PIVOT where neither a factor nor multigrid can be created. */
GSW_API
gsw_status gsw_choose(gsw_context *context, const gsw_matrix *matrix,
                      const gsw_choice_options *options, gsw_preconditioner **preconditioner,
                      gsw_choice *choice);

/* Chooses the method alone, for a preconditioner that you have. It costs one pass over the matrix.
 * `choice` must not be NULL.
 * Errors: INVALID_ARGUMENT, OVERFLOW, OUT_OF_MEMORY, NOT_A_GRID, DEVICE. */
GSW_API
gsw_status gsw_choose_method(gsw_context *context, const gsw_matrix *matrix, gsw_choice *choice);

#ifdef __cplusplus
}
#endif

#endif
