/* gridsweep/krylov.h: preconditioned Krylov solvers.
 *
 * All solve A x = b in fp64, starting from the x that is passed in. They stop when the residual
 * norm is at most max(rtol * reference, atol):
 *
 *   GSW_NORM_TRUE            norm ||b - A x||, reference ||b||. GMRES and BiCGSTAB precondition
 *                            from the right.
 *                            (PETSc: -ksp_norm_type unpreconditioned, -ksp_pc_side right)
 *   GSW_NORM_PRECONDITIONED  norm ||M^-1 (b - A x)||, reference ||M^-1 b||. GMRES and BiCGSTAB
 *                            precondition from the left. (PETSc's defaults)
 *
 * During the iteration the norm is the method's own recurrence; at the end the true residual
 * b - A x is computed and reported. If recurrence and truth have drifted apart so far that the true
 * norm (of M^-1 (b - A x) in PRECONDITIONED mode) misses the tolerance by more than a factor 10,
 * the status is NOT_CONVERGED.
 *
 * On a device the scalars of CG and BiCGSTAB stay beside the vectors, and each group of vector
 * operations is one kernel that makes the next scalars as well: nothing in an iteration waits for
 * the host. The host queues the next iteration while one runs, and learns behind the device how it
 * went. Iterations that are queued when the method ends change nothing: x is the iterate at which
 * it ended. With a monitor, which may stop any iteration, the host waits once in each. GMRES waits
 * once in each step.
 *
 * Bytes moved for each point in an iteration, products with A and M^-1 not counted: CG 104;
 * BiCGSTAB 152 with a preconditioner from the right, else 144; step k of a cycle of GMRES, counted
 * from 0, 16 k + 48 and 8 more for each eight vectors.
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

typedef enum gsw_method { GSW_CG = 0, GSW_BICGSTAB = 1, GSW_GMRES = 2 } gsw_method;

/* Called with iteration 0 and after every iteration; `residual` is the current norm divided by the
 * reference. Return nonzero to stop: the solver then ends with GSW_ERROR_STOPPED and the x of that
 * iteration (GMRES: of the last restart or later). */
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
} gsw_krylov_options;

/* Filled by the library, as many bytes as `size` says. */
typedef struct gsw_krylov_result {
    size_t size; /* sizeof this struct, set by the caller */
    int64_t iterations;
    int converged;     /* 1: the tolerance was met and the true residual agrees */
    double residual;   /* true ||b - A x|| / ||b|| at the end (the norm itself if b = 0) */
    double recurrence; /* the method's own last norm / reference */
    double solve_ms;   /* wall time of the call */
} gsw_krylov_result;

/* Solves with a method. `M` is the preconditioner, or NULL for none. b and x hold one fp64 value
 * per point, in the context's memory, and must not overlap. `options` may be NULL. *result (may be
 * NULL) is filled on every return except INVALID_ARGUMENT, and x holds the last iterate then, which
 * need not be the best one: a method may diverge, such as CG with a matrix that is not symmetric,
 * and max_iterations is what bounds that. b = 0 gives x = 0 at once.
 *
 * Work vectors (CG 3; BiCGSTAB 5, or 7 with a preconditioner from the right; GMRES restart + 2) are
 * allocated at the start and freed at the end. Results are the same bits for any number of threads.
 * Errors: INVALID_ARGUMENT, UNSUPPORTED, OUT_OF_MEMORY; what a callback returns; NOT_CONVERGED;
 * BREAKDOWN (the message says which scalar vanished: CG with an indefinite matrix or
 * preconditioner, BiCGSTAB with rho or omega zero, GMRES with a singular projected matrix);
 * NON_FINITE; STOPPED. */
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

/* "cg", "bicgstab", "gmres". */
GSW_API
const char *gsw_method_name(gsw_method method);

#ifdef __cplusplus
}
#endif

#endif
