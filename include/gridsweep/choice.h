/* gridsweep/choice.h: which preconditioner and which Krylov method serve a matrix, and why.
 *
 *   gsw_preconditioner *M;
 *   gsw_choice choice = {.size = sizeof choice};
 *   gsw_choose(context, &matrix, NULL, &M, &choice);
 *   gsw_krylov(context, choice.method, A, M, NULL, b, x, &result);
 *
 * The candidates are multigrid (multigrid.h) and a factor: IC(0) for a symmetric matrix with a
 * positive diagonal, else ILU(0). What decides, in this order:
 *
 *   1. The backend, the stencil's reach and the number of points: can there be multigrid?
 *   2. A look at all coefficients: symmetry, the diagonal's signs, the couplings' signs, row sums.
 *   3. An estimate of the iterations with the factor; where they are few, the factor serves.
 *   4. A hierarchy and its cycles; where they gain too little for their cost, the factor serves.
 *
 * The estimate begins with the mean of row sum over diagonal, which bounds the iterations of a
 * symmetric matrix from below, roughly. Where that is low, and for other matrices, two steps
 * x += M^-1 (b - A x) are done with the factor, and what they leave of a smooth error is what the
 * estimate is made of. Cycles are tried on an error that is smooth and rough in equal parts: one,
 * or two where the first leaves more than a quarter.
 *
 * All this costs a pass over the matrix, and two steps with a factor or a cycle or two. A choice is
 * no promise: look at how the solve ends. CG ends in BREAKDOWN where a symmetric matrix turns out
 * to be indefinite; BiCGSTAB goes on from there. */
#ifndef GRIDSWEEP_CHOICE_H
#define GRIDSWEEP_CHOICE_H

#include <gridsweep/krylov.h>
#include <gridsweep/multigrid.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What decided. */
typedef enum gsw_reason {
    GSW_REASON_MULTIGRID = 0,   /* multigrid: the factor would take many iterations, or has a
                                   bad pivot */
    GSW_REASON_BACKEND = 1,     /* the factor, as all that follow: the backend has no multigrid */
    GSW_REASON_REACH = 2,       /* the stencil reaches farther than 2 */
    GSW_REASON_POINTS = 3,      /* the grid is so small that any method is quick */
    GSW_REASON_DIAGONAL = 4,    /* a diagonal is zero or not finite */
    GSW_REASON_SIGNS = 5,       /* too many couplings have the sign of the diagonal: multigrid's
                                   interpolation has nothing to follow */
    GSW_REASON_INDEFINITE = 6,  /* diagonals of both signs, or x'Ax < 0 for a smooth x */
    GSW_REASON_FEW = 7,         /* the factor takes few iterations */
    GSW_REASON_CYCLE = 8,       /* a cycle reduces a smooth error too little */
    GSW_REASON_REFUSED = 9,     /* multigrid's set-up was refused */
    GSW_REASON_METHOD_ONLY = 10 /* gsw_choose_method(): no preconditioner was chosen */
} gsw_reason;

/* All members but `size` may be 0. */
typedef struct gsw_choice_options {
    size_t size;                            /* sizeof this struct, set by the caller */
    const gsw_multigrid_options *multigrid; /* the hierarchy to try; NULL: cycles in fp32 */
    const gsw_factor_options *factor;       /* the factor, but for its kind; vectors in fp64 */
} gsw_choice_options;

/* Filled by the library, as many bytes as `size` says. Where something is not known -1 or NaN. */
typedef struct gsw_choice {
    size_t size; /* sizeof this struct, set by the caller */
    gsw_reason reason;
    gsw_method method;    /* CG for a symmetric matrix whose diagonals have one sign, unless it is
                             seen to be indefinite; else BICGSTAB */
    gsw_factor_kind kind; /* IC0 or ILU0: the factor that was chosen, or that to fall back on */
    int symmetric;        /* to 1e-7 of the diagonals; -1 never */
    int diagonal;         /* 1: all are positive; 0: none is; 2: both signs */
    int m_matrix;         /* diagonals are positive and dominant, no coupling is positive */
    int dominant;         /* no diagonal is less than its row's other coefficients together */
    int zero_sums;        /* all row sums vanish: constant vectors are in the null space */
    double estimate;      /* iterations that the factor might take to 1e-8 (CG; half with BiCGSTAB)
                             by what its steps leave; infinite where they leave everything */
    double cycle_left;    /* what a cycle leaves of a smooth error */
    gsw_multigrid *multigrid; /* what the preconditioner applies, NULL for the other: they belong */
    gsw_factor *factor;       /* to it. gsw_multigrid_refactor() and gsw_factor_refactor() serve. */
    char text[192];           /* the reason in words, such as "symmetric M-matrix; ic0 would take
                                 some 69 iterations" */
} gsw_choice;

/* Chooses for a matrix and makes the preconditioner, which owns what it applies: destroy it with
 * gsw_preconditioner_destroy(). `options` may be NULL. The matrix is read, and no pointer to it is
 * kept. Waits for the device. Allocates, besides the preconditioner, two vectors, with null sums
 * three, and for a CSR a copy of its coefficients; these are freed. On failure *preconditioner is
 * NULL. Log callbacks do not hear of candidates that fail.
 * Errors: INVALID_ARGUMENT, UNSUPPORTED, OVERFLOW, OUT_OF_MEMORY, NOT_A_GRID, DEVICE, and
 * ZERO_PIVOT where neither a factor nor multigrid can be made. */
GSW_API
gsw_status gsw_choose(gsw_context *context, const gsw_matrix *matrix,
                      const gsw_choice_options *options, gsw_preconditioner **preconditioner,
                      gsw_choice *choice);

/* Chooses the method alone, for a preconditioner of the caller's. Costs a look at the matrix.
 * *choice must not be NULL. Errors: INVALID_ARGUMENT, OVERFLOW, OUT_OF_MEMORY, NOT_A_GRID, DEVICE.
 */
GSW_API
gsw_status gsw_choose_method(gsw_context *context, const gsw_matrix *matrix, gsw_choice *choice);

#ifdef __cplusplus
}
#endif

#endif
