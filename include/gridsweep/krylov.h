/* gridsweep/krylov.h: preconditioned Krylov solvers for A x = b.
 *
 * A is a gsw_operator and M a gsw_preconditioner; both come from the library's objects or from
 * callbacks. All methods work in fp64 and begin with the x that is passed in. Which method to use:
 *
 *   gsw_cg()          A and M symmetric positive definite; the cheapest iterations
 *   gsw_bicgstab()    any other regular A; few vectors; two products with A and two with M^-1 per
 *                     iteration
 *   gsw_gmres()       any other regular A; one product with A and one with M^-1 per iteration, but
 *                     it keeps restart + 2 vectors. Use it if BiCGSTAB breaks down, as it does
 *                     where A is nearly skew-symmetric. Between restarts its residual norm never
 *                     grows
 *   gsw_richardson()  M is nearly A, such as a multigrid cycle; also to study what M does alone
 *   gsw_krylov()      the method is a variable, such as the one that gsw_choose() returns
 *   gsw_krylov_many() several right-hand sides
 *
 * A method stops when the residual norm is at most max(rtol * reference, atol). Use the norm TRUE
 * unless you compare with a program that uses the other:
 *
 *   GSW_NORM_TRUE            norm ||b - A x||, reference ||b||. GMRES and BiCGSTAB precondition
 *                            from the right.
 *                            (PETSc: -ksp_norm_type unpreconditioned, -ksp_pc_side right)
 *   GSW_NORM_PRECONDITIONED  norm ||M^-1 (b - A x)||, reference ||M^-1 b||. GMRES and BiCGSTAB
 *                            precondition from the left. (PETSc's defaults)
 *
 * "Converged" is a statement about the returned x: its residual b - A x, computed anew, meets the
 * tolerance. In PRECONDITIONED mode the norm of M^-1 (b - A x) does. During the iteration the norm
 * comes from the method's own recurrence, which rounding errors separate from the true residual. If
 * the recurrence meets the tolerance and the true residual does not, the method begins again from
 * x. This replaces the recurrence's residual by the true one; the count of iterations continues.
 * The solve has stagnated, and ends as NOT_CONVERGED, if
 *
 * - two rounds in succession have not halved the true residual, or
 * - rounding makes b - A x uncertain by more than the tolerance, except where x is mostly the
 *   rounding error of a far larger x0. This uncertainty is estimated as
 *   eps ||A S x||. S changes signs at random, so that the terms of A x do not cancel. The estimate
 *   detects an x that has grown huge, as with a singular matrix.
 *
 * A method that grows ends early. From a norm above max(tolerance, 1e-8 of the round's first norm)
 * / eps a recurrence cannot reach the tolerance. Smaller peaks are usual. Beyond it the method
 * begins again once, from the best x that it knows: the one from before the norm grew to 100 times
 * its least value, or 0. The second time the solve ends with that x, as NOT_CONVERGED with
 * `stagnated` set, or as NON_FINITE if a value overflowed. After 512 iterations, and each time that
 * their number has doubled, the solve also looks at x: where eps ||A S x|| is more than 1000 times
 * the tolerance and 1e-6 of the reference, it ends. The message names the likely cause, as far as
 * products with A show one: a singular A, or an indefinite one.
 *
 * BiCGSTAB breaks down where the residual becomes orthogonal to a fixed vector, the shadow, or
 * where A s is orthogonal to s. A b with few entries that are not 0 often leads there. At 1e-12 of
 * the vectors' lengths the method begins again from x: with the residual as the shadow, and if that
 * gains nothing, with the residual plus signs at random. It ends in BREAKDOWN after eight such
 * starts in succession that have not halved the residual.
 *
 * Each round ends with two products with A: one for the true residual, one for the estimate. GMRES
 * takes one more product per solve, and with a preconditioner one more M^-1, to check whether its
 * first product vanishes. A null vector takes two products at the start. A solve that fails takes
 * up to seven more products to find the reason. Where the norm grows, x is copied once per growth,
 * into a vector that the solve allocates then.
 *
 * Singular matrices: with a null vector v, A v = 0, the methods solve P A x = P b with
 * P = I - v v' / v'v. The solution x is orthogonal to v. For a symmetric A this is the
 * least-squares solution of least norm. ||b|| above and the residual are then those of P b.
 * `removed` in the result is the part of b - A x that P leaves out: for a symmetric A that of b,
 * for others also what A x has along v. The solve first checks A v: it must vanish to six digits of
 * its terms. The projection follows each product with A and each M^-1, and moves 40 bytes per point
 * each time.
 *
 * Richardson is the stationary iteration x += M^-1 (b - A x). It needs neither symmetry nor a
 * definite matrix. Each of its norms is that of the true residual, so nothing drifts. It converges
 * if M^-1 A is close enough to the identity. Jacobi, or no preconditioner, is seldom close enough.
 * It ends as NOT_CONVERGED, with `stagnated` set, in two cases. Either the norm exceeds 1e5 times
 * the first one (the message says "diverged"), or 100 iterations have not reduced the least norm by
 * a hundredth.
 *
 * Eisenstat's form applies a matrix A = L + D + U and a factor M = (E + L) E^-1 (E + U) together,
 * by two sweeps and no product with A: kinds DILU and SSOR, and ILU0 and IC0 of stencils in which
 * no neighbour before a point is a neighbour of one after it (D2N5, D3N7). It needs a
 * preconditioner from such a factor in fp64, not transposed; A from fp64 stencil arrays, none of
 * them NULL; the norm TRUE; no null vector; one process; CG (all of E positive), BiCGSTAB, or GMRES
 * with a restart of at least 10. The solve copies L, D and U, and compares M^-1 v of the factor
 * with that of the form. Where they differ, because the factor is of older values or has shifted
 * pivots, it does without the form.
 *
 * CG has the same iterates as without the form, except for rounding. BiCGSTAB and GMRES have those
 * of preconditioning from both sides: about as many, but not the same ones. The methods then know
 * only the norm of the transformed residual. A monitor sees that norm times the ratio of both
 * norms, as it was last measured; the residual itself is measured before a solve ends. If the form
 * breaks down, the method continues from x without it. gsw_krylov_many() does not use it.
 *
 * CUDA: the scalars of CG and BiCGSTAB stay on the device beside the vectors. Each group of vector
 * operations is one kernel, which also computes the next scalars, so no iteration waits for the
 * host. The host queues the next iterations while one runs, and reads the residual a few iterations
 * late. Iterations that are queued when the method ends change nothing: x is the iterate at which
 * it ended. A monitor may stop any iteration, so with a monitor the host waits once per iteration.
 * GMRES and Richardson wait once per step.
 *
 * Bytes moved per point and iteration, without the products with A and M^-1: CG moves 104 and
 * Richardson 48. BiCGSTAB moves 152 with a preconditioner from the right, else 144. Step k of a
 * cycle of GMRES, counted from 0, moves 16 k + 48, and 8 more for each eight vectors.
 *
 * Sources: Saad, Iterative Methods for Sparse Linear Systems, 2nd ed., chapters 6, 7 and 9; van der
 * Vorst (1992) for BiCGSTAB; Eisenstat (1981), Efficient implementation of a class of
 * preconditioned conjugate gradient methods. GMRES uses classical Gram-Schmidt without refinement
 * and Givens rotations, as PETSc does by default. */
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
    GSW_NULLSPACE_CONSTANT = 1, /* A maps constant vectors to 0: pure Neumann conditions */
    GSW_NULLSPACE_VECTOR = 2    /* A maps null_vector to 0 */
} gsw_nullspace;

typedef enum gsw_method {
    GSW_CG = 0,
    GSW_BICGSTAB = 1,
    GSW_GMRES = 2,
    GSW_RICHARDSON = 3
} gsw_method;

/* Whether Eisenstat's form is used, where it applies; see above. */
typedef enum gsw_eisenstat {
    GSW_EISENSTAT_AUTO = 0, /* CG and BiCGSTAB on CUDA, where memory suffices */
    GSW_EISENSTAT_NEVER = 1,
    GSW_EISENSTAT_ALWAYS = 2
} gsw_eisenstat;

/* A solver calls the monitor with iteration 0 and after every iteration. `residual` is the current
 * norm divided by the reference. Return nonzero to stop: the solver then ends with
 * GSW_ERROR_STOPPED and the x of that iteration (GMRES: of the last restart or later), unless that
 * x has converged. Iterations ascend by one. When the true residual replaces the recurrence, the
 * next norm can be larger than the last. */
typedef int (*gsw_monitor_fn)(void *user, int64_t iteration, double residual);

/* The same for several systems; `system` counts from 0. A nonzero value stops this
 * system only. */
typedef int (*gsw_monitor_many_fn)(void *user, int64_t system, int64_t iteration, double residual);

/* For the defaults set all members except `size` to 0. */
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
    const void *null_vector;          /* for GSW_NULLSPACE_VECTOR: fp64, one value per point, in the
                                         context's memory, of any length whose square is not 0 in
                                         fp64; it must not overlap x */
    gsw_monitor_many_fn monitor_many; /* in place of `monitor`, with monitor_user */
    int64_t eisenstat;                /* a gsw_eisenstat */
    int64_t keep_inactive;            /* of a matrix with a mask: 0: x becomes 0 at inactive points;
                                         1: x stays there as it is */
} gsw_krylov_options;

/* The library fills `size` bytes. residual, recurrence and rounding are NaN if they could not be
 * computed, as after an error of a callback. */
typedef struct gsw_krylov_result {
    size_t size; /* sizeof this struct, set by the caller */
    int64_t iterations;
    int converged;        /* 1: the true residual of x meets the tolerance */
    int stagnated;        /* 1: NOT_CONVERGED because more iterations would not help */
    int64_t replacements; /* how often the true residual replaced the recurrence */
    double residual;      /* true ||b - A x|| / ||b|| at the end (the norm itself if b = 0) */
    double recurrence; /* the method's own last norm / reference; an estimate in Eisenstat's form */
    double removed;    /* with a null vector v: |v'(b - A x)| / (||v|| ||b||), which is left out */
    double solve_ms;   /* wall time of the call; with several systems: until this one ended */
    int64_t status;    /* the gsw_status with which this system ended */
    int64_t eisenstat; /* iterations that were in Eisenstat's form */
    double rounding;   /* the part of the reference to which rounding leaves b - A x unknown */
} gsw_krylov_result;

/* Solves A x = b with `method`. `M` is the preconditioner, or NULL for none. b and x hold one fp64
 * value per point, in the context's memory, and must not overlap. `options` and `result` may be
 * NULL. The call fills *result on every return, unless an argument is refused. x then holds the
 * last iterate, which need not be the best one, or the best known one if the method has grown (see
 * above). b = 0 gives x = 0 at once.
 *
 * The call allocates work vectors and frees them at the end. CG needs 3, BiCGSTAB 5 (7 with a
 * preconditioner from the right), GMRES restart + 2, Richardson 3. A null vector needs two more.
 * In Eisenstat's form they need 6, 8 and restart + 5, the values of the couplings, and two vectors.
 * The results have the same bits for any number of threads. Errors: INVALID_ARGUMENT, UNSUPPORTED,
 * OUT_OF_MEMORY; what a callback returns; NOT_CONVERGED (the limit of iterations, or `stagnated`);
 * BREAKDOWN (the message names the scalar that vanished, and distinguishes a singular matrix from
 * an indefinite one: CG with p'Ap or r'z of both signs or 0, BiCGSTAB with rho, omega or A s zero,
 * GMRES with a singular projected matrix or A r zero); NON_FINITE; STOPPED. */
GSW_API
gsw_status gsw_krylov(gsw_context *context, gsw_method method, const gsw_operator *A,
                      gsw_preconditioner *M, const gsw_krylov_options *options, const void *b,
                      void *x, gsw_krylov_result *result);

/* The same with a fixed method. The comment at the top of this header says when to use which. */
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

/* Solves A x_i = b_i for `count` right-hand sides: b_i begins at b + i * ldb and x_i at x + i *
 * ldx, in values, with ldb and ldx >= points. `results` is NULL, or an array of `count` structs,
 * each with its size set. `count` may be 0. The rules of gsw_krylov() apply. No x_i may overlap a
 * b_i, but they may alternate in memory.
 *
 * Each system ends by itself. Its x_i, iterations, norms and status have the same bits as a call of
 * gsw_krylov() for it alone, without Eisenstat's form. A system that has ended, for whatever
 * reason, leaves the others untouched, and takes no part in further iterations.
 *
 * CG and BiCGSTAB work on up to 8 systems side by side if the preconditioner comes from
 * gsw_preconditioner_from_factor(), or from gsw_choose() with a factor; also without one, if A is a
 * matrix. A sweep reads the factor, and a product the matrix, once for up to 4 of them. When a
 * system ends, the next one takes its place. All other methods and preconditioners, and several
 * processes, have nothing to share. The call then solves one system after the other.
 *
 * Side by side, the call allocates the work vectors of min(count, 8) systems; otherwise those of
 * one. `monitor` must be NULL: monitor_many gets the number of the system.
 *
 * Returns SUCCESS if all systems have converged. Else it returns the status of the first one, in
 * the order of b, that has not; the message names it. Other errors, such as a failed callback or a
 * refused null vector, end the whole call. Every system that has not ended by then gets this
 * status. Errors: as above, and OVERFLOW (the bytes of all b_i or all x_i do not fit 64 bits). */
GSW_API
gsw_status gsw_krylov_many(gsw_context *context, gsw_method method, const gsw_operator *A,
                           gsw_preconditioner *M, const gsw_krylov_options *options, int64_t count,
                           const void *b, int64_t ldb, void *x, int64_t ldx,
                           gsw_krylov_result *results);

/* "cg", "bicgstab", "gmres", "richardson". */
GSW_API
const char *gsw_method_name(gsw_method method);

#ifdef __cplusplus
}
#endif

#endif
