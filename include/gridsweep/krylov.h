/* gridsweep/krylov.h: preconditioned Krylov solvers.
 *
 * A is a gsw_operator and M a gsw_preconditioner, made from the library's objects or from
 * callbacks. All methods solve A x = b in fp64, starting from the x that is passed in. They stop
 * when the residual norm is at most max(rtol * reference, atol):
 *
 *   GSW_NORM_TRUE            norm ||b - A x||, reference ||b||. GMRES and BiCGSTAB precondition
 *                            from the right.
 *                            (PETSc: -ksp_norm_type unpreconditioned, -ksp_pc_side right)
 *   GSW_NORM_PRECONDITIONED  norm ||M^-1 (b - A x)||, reference ||M^-1 b||. GMRES and BiCGSTAB
 *                            precondition from the left. (PETSc's defaults)
 *
 * "Converged" is a statement about the x that is returned: its residual, computed anew as
 * b - (A x), meets the tolerance. In PRECONDITIONED mode that is the norm of M^-1 (b - A x). During
 * the iteration the norm is the method's own recurrence, from which rounding errors keep the truth
 * apart. Where the recurrence has met the tolerance and the true residual has not, the method
 * begins again from x: this replaces the recurrence's residual by the true one. Iterations are
 * counted on. The solve has stagnated, and ends as NOT_CONVERGED, when
 *
 *   - two rounds in succession have not halved the true residual, or
 *   - rounding makes b - A x uncertain by more than the tolerance. The size of that is estimated as
 *     eps ||A S x||, where S changes signs at random: the terms of A x without their cancellation.
 *     An x that has grown huge, as with a singular matrix, is found out by this.
 *
 * Each round takes one product with A for the true residual at its end, and one for the estimate.
 * GMRES takes one more in a solve, and with a preconditioner one more M^-1, to see whether its
 * first product vanishes. A null vector takes two at the start. A solve that fails takes up to five
 * more products to name the reason.
 *
 * Singular matrices: with a null vector v, A v = 0, the methods solve P A x = P b for the x that is
 * orthogonal to v, where P = I - v v' / v'v. For a symmetric A this is the least-squares solution
 * of least norm. ||b|| above and the residual are then those of P b; `removed` in the result is
 * the part of b that was left out. A v is checked before: it must vanish to six digits of its
 * terms. The projection follows each product with A and each M^-1: 40 bytes per point each.
 *
 * GSW_RICHARDSON is the stationary iteration x += M^-1 (b - A x): what M does on its own, such as a
 * multigrid cycle (multigrid.h) as a solver. It needs neither symmetry nor a definite matrix, and
 * each of its norms is that of the true residual: nothing drifts. It converges where M^-1 A is
 * close enough to the identity, which Jacobi and no preconditioner seldom are. It ends as
 * NOT_CONVERGED, with `stagnated` set, where the norm exceeds 1e5 times the first one (the message
 * says "diverged"), or where 100 iterations have not reduced the least norm by a hundredth.
 *
 * On a device the scalars of CG and BiCGSTAB stay beside the vectors, and each group of vector
 * operations is one kernel that makes the next scalars as well: nothing in an iteration waits for
 * the host. The host queues the next iterations while one runs, and reads how it went a few
 * iterations late. Iterations that are queued when the method ends change nothing: x is the iterate
 * at which it ended. With a monitor, which may stop any iteration, the host waits once in each.
 * GMRES and Richardson wait once in each step.
 *
 * Bytes moved per point in an iteration, products with A and M^-1 not counted: CG 104;
 * BiCGSTAB 152 with a preconditioner from the right, else 144; Richardson 48; step k of a cycle of
 * GMRES, counted from 0, 16 k + 48 and 8 more for each eight vectors.
 *
 * Sources: Saad, Iterative Methods for Sparse Linear Systems, 2nd ed., chapters 6, 7 and 9; van der
 * Vorst (1992) for BiCGSTAB. GMRES uses classical Gram-Schmidt without refinement and Givens
 * rotations, as PETSc does by default. */
#ifndef GRIDSWEEP_KRYLOV_H
#define GRIDSWEEP_KRYLOV_H

#include <gridsweep/operator.h>
#include <gridsweep/preconditioner.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum gsw_norm { GSW_NORM_TRUE = 0, GSW_NORM_PRECONDITIONED = 1 } gsw_norm;

typedef enum gsw_nullspace {
    GSW_NULLSPACE_NONE = 0,     /* the matrix is not singular */
    GSW_NULLSPACE_CONSTANT = 1, /* it maps constant vectors to 0: pure Neumann conditions */
    GSW_NULLSPACE_VECTOR = 2    /* it maps null_vector to 0 */
} gsw_nullspace;

typedef enum gsw_method {
    GSW_CG = 0,
    GSW_BICGSTAB = 1,
    GSW_GMRES = 2,
    GSW_RICHARDSON = 3
} gsw_method;

/* Called with iteration 0 and after every iteration; `residual` is the current norm divided by the
 * reference. Return nonzero to stop: the solver then ends with GSW_ERROR_STOPPED and the x of that
 * iteration (GMRES: of the last restart or later). Iterations ascend by one. Where the recurrence
 * is replaced by the true residual, the next norm can be larger than the last. */
typedef int (*gsw_monitor_fn)(void *user, int64_t iteration, double residual);

/* All members but `size` are 0 for the defaults. */
typedef struct gsw_krylov_options {
    size_t size;            /* sizeof this struct, set by the caller */
    double rtol;            /* >= 0; 0 means 1e-8 unless atol is given */
    double atol;            /* >= 0; default 0 */
    int64_t max_iterations; /* 0 means 10000 */
    int restart;            /* GMRES: 0 means 30 */
    gsw_norm norm;
    gsw_monitor_fn monitor;
    void *monitor_user;
    gsw_nullspace nullspace;
    const void *null_vector; /* for GSW_NULLSPACE_VECTOR: fp64, one value per point, in the
                                context's memory, of any length but 0; it must not overlap x */
} gsw_krylov_options;

/* Filled by the library, as many bytes as `size` says. residual and recurrence are NaN where none
 * could be computed, as after an error of a callback. */
typedef struct gsw_krylov_result {
    size_t size; /* sizeof this struct, set by the caller */
    int64_t iterations;
    int converged;        /* 1: the true residual of x meets the tolerance */
    int stagnated;        /* 1: NOT_CONVERGED because more iterations would not help */
    int64_t replacements; /* how often the recurrence was replaced by the true residual */
    double residual;      /* true ||b - A x|| / ||b|| at the end (the norm itself if b = 0) */
    double recurrence;    /* the method's own last norm / reference */
    double removed;       /* with a null vector v: |v'b| / (||v|| ||b||), the part of b left out */
    double solve_ms;      /* wall time of the call */
} gsw_krylov_result;

/* Solves with a method. `M` is the preconditioner, or NULL for none. b and x hold one fp64 value
 * per point, in the context's memory, and must not overlap. `options` may be NULL. *result (may be
 * NULL) is filled on every return except where an argument is refused. x then holds the last
 * iterate, which need not be the best one: a method may diverge, such as CG with a matrix that is
 * not symmetric, and max_iterations is what bounds that. b = 0 gives x = 0 at once.
 *
 * Work vectors (CG 3; BiCGSTAB 5, or 7 with a preconditioner from the right; GMRES restart + 2;
 * Richardson 3) are allocated at the start and freed at the end; two more with a null vector.
 * Results are the same bits for any number of threads. Errors: INVALID_ARGUMENT, UNSUPPORTED,
 * OUT_OF_MEMORY; what a callback returns; NOT_CONVERGED (the limit of iterations, or `stagnated`);
 * BREAKDOWN (the message says which scalar vanished, and tells a singular matrix from an indefinite
 * one: CG with p'Ap or r'z of both signs or 0, BiCGSTAB with rho, omega or A p zero, GMRES with a
 * singular projected matrix or A r zero); NON_FINITE; STOPPED. */
GSW_API
gsw_status gsw_krylov(gsw_context *context, gsw_method method, const gsw_operator *A,
                      gsw_preconditioner *M, const gsw_krylov_options *options, const void *b,
                      void *x, gsw_krylov_result *result);

/* The same by name. */
GSW_API
gsw_status gsw_cg(gsw_context *context, const gsw_operator *A, gsw_preconditioner *M,
                  const gsw_krylov_options *options, const void *b, void *x,
                  gsw_krylov_result *result);
GSW_API
gsw_status gsw_bicgstab(gsw_context *context, const gsw_operator *A, gsw_preconditioner *M,
                        const gsw_krylov_options *options, const void *b, void *x,
                        gsw_krylov_result *result);
GSW_API
gsw_status gsw_gmres(gsw_context *context, const gsw_operator *A, gsw_preconditioner *M,
                     const gsw_krylov_options *options, const void *b, void *x,
                     gsw_krylov_result *result);
GSW_API
gsw_status gsw_richardson(gsw_context *context, const gsw_operator *A, gsw_preconditioner *M,
                          const gsw_krylov_options *options, const void *b, void *x,
                          gsw_krylov_result *result);

/* "cg", "bicgstab", "gmres", "richardson". */
GSW_API
const char *gsw_method_name(gsw_method method);

#ifdef __cplusplus
}
#endif

#endif
