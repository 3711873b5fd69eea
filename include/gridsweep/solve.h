/* gridsweep/solve.h: solves A x = b, and chooses the preconditioner and the method by itself.
 *
 * Use gsw_solve() for one system. Use a gsw_solver for several systems with one matrix, or with a
 * matrix whose values change from one time step to the next.
 *
 *   gsw_solver *solver;
 *   gsw_solver_create(context, &matrix, NULL, &solver);
 *   gsw_solver_solve(context, solver, b, x, NULL);      as often as you like
 *   gsw_solver_update(context, solver, &matrix);        new values, then more solves
 *   gsw_solver_destroy(solver);
 *
 * The options may name the preconditioner, the method, both or neither. What they do not name is
 * chosen when the solver is created. The choice depends on the matrix, the backend and the options
 * alone: not on times, the number of threads, or b. The same call on another day takes the same
 * choice.
 *
 * A solve makes attempts. The first one is the choice. If it breaks down, grows, stagnates or turns
 * out to be slow, and x is not as good as fp64 allows, the next attempt goes on from the best x:
 *
 *   1. with the same preconditioner and another method: BiCGSTAB after CG (with multigrid GMRES),
 *      GMRES after BiCGSTAB;
 *   2. with the next preconditioner: multigrid, a factor, what was only slow, and then Jacobi; DILU
 *      first where the matrix is not symmetric and the signs of its couplings speak against
 *      multigrid;
 *   3. with GMRES and no preconditioner.
 *
 * A solver looks for two properties first, on a partition as well:
 *
 * - Fixed points: rows with a diagonal alone, and rows with |diagonal| >= 1e6 times the sum of the
 *   |couplings|. They are left out of the system like inactive points, and their x follows from b.
 *   A solve converges when ||b - A x|| meets the tolerance, and, with rows of the second kind, when
 *   the residual of the other rows meets that of their own right-hand side, too.
 * - Rows that all sum to 0, to 10 roundings, in a symmetric matrix, where `nullspace` is not set:
 *   the mean of x is arbitrary in each basin, the part of the domain that couplings connect. x gets
 *   the mean 0. What b has of it is left out, and counts in the residual: where it exceeds the
 *   tolerance, the solve ends with NOT_CONVERGED, and x solves what is left of b. Several basins
 *   are found with a mask alone, and treated on the host; each process reads the whole mask.
 *
 * An update looks again where the last matrix had one of these, and where multigrid is used.
 *
 * What the options name stays: with a named preconditioner only the method changes, and with both
 * named there is one attempt. Each attempt has max_iterations of its own, unless that is given:
 * then it limits all of them together. The attempt that has converged is the first one of the next
 * solve with this solver. "Converged" means what krylov.h says: the true residual of the returned x
 * meets the tolerance. */
#ifndef GRIDSWEEP_SOLVE_H
#define GRIDSWEEP_SOLVE_H

#include <gridsweep/choice.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum gsw_precond {
    GSW_PRECOND_AUTO = 0,
    GSW_PRECOND_NONE = 1,
    GSW_PRECOND_JACOBI = 2,
    GSW_PRECOND_SSOR = 3,
    GSW_PRECOND_DILU = 4,
    GSW_PRECOND_ILU0 = 5,
    GSW_PRECOND_IC0 = 6,
    GSW_PRECOND_MULTIGRID = 7
} gsw_precond;

typedef enum gsw_solver_method {
    GSW_SOLVER_AUTO = 0,
    GSW_SOLVER_CG = 1,
    GSW_SOLVER_BICGSTAB = 2,
    GSW_SOLVER_GMRES = 3,
    GSW_SOLVER_RICHARDSON = 4
} gsw_solver_method;

/* All members except `size` may be 0: everything is chosen. */
typedef struct gsw_solver_options {
    size_t size; /* sizeof this struct, set by the caller */
    gsw_precond precond;
    gsw_solver_method method;
    const gsw_multigrid_options *multigrid; /* of hierarchies; NULL: cycles in fp32 */
    const gsw_factor_options *factor;       /* of factors, except the kind; vectors in fp64 */
    const gsw_krylov_options *krylov;       /* tolerance, limits, norm, null space, monitor. A
                                               monitor sees the iterations of all attempts, counted
                                               from 0 without a gap */
} gsw_solver_options;

/* The library fills `size` bytes. Numbers of the solve are NaN or 0 before the first one. */
typedef struct gsw_solver_report {
    size_t size;    /* sizeof this struct, set by the caller */
    int64_t status; /* the gsw_status of the last solve, */
    int converged;  /* and the members of gsw_krylov_result for its last attempt; iterations, */
    int stagnated;  /* replacements, eisenstat and solve_ms are those of all attempts */
    int64_t iterations;
    int64_t replacements;
    int64_t eisenstat;
    double residual;
    double recurrence;
    double removed;
    double solve_ms;
    double setup_ms;  /* wall time of the creation or the last update, trials included, and of
                         preconditioners that the last solve made */
    int64_t attempts; /* of the last solve; 0 before the first */
    const char *first_precond; /* what was chosen or named: "mg", "ilu0", "none", ...; */
    const char *first_method;  /* static storage */
    const char *precond;       /* what the last attempt had */
    const char *method;
    const gsw_multigrid *multigrid; /* what it applies, or NULL; they belong to the solver */
    const gsw_factor *factor;
    char reason[192];   /* why this was chosen; "" where both were named */
    char fallback[512]; /* what followed and why, such as "mg with bicgstab: cg: iteration 3: ...";
                           "" where nothing did */
    char message[512];  /* of the last solve; "" on success */
} gsw_solver_report;

typedef struct gsw_solver gsw_solver;

/* Chooses, and creates the preconditioner. `matrix` has arrays that must outlive the solver, which
 * keeps the view. Values that change count from gsw_solver_update() on: without it a solve reports
 * success for the old ones. The solver copies the rows of a CSR to one array per offset of the
 * stencil, so that products read no columns and no part of the set-up reads the CSR again: rows
 * times offsets values. It copies none where more than half of them would be zeros, where there is
 * no memory for them, and on a partition. `options` may be NULL; what it points to is copied,
 * except the null vector. The call waits for the device. Beside the copy it allocates as
 * gsw_choose() does. On failure *solver is NULL. Errors: those of gsw_choose(), or of the creation
 * of the named preconditioner. */
GSW_API
gsw_status gsw_solver_create(gsw_context *context, const gsw_matrix *matrix,
                             const gsw_solver_options *options, gsw_solver **solver);

/* Solves A x = b. b and x hold one fp64 value per point, in the context's memory; x holds the
 * guess, and must not overlap b. `report` may be NULL. It is filled also where the solve fails.
 * Errors: those of gsw_krylov(), of the last attempt; the message tells of the first one, too. */
GSW_API
gsw_status gsw_solver_solve(gsw_context *context, gsw_solver *solver, const void *b, void *x,
                            gsw_solver_report *report);

/* Gives new values for the same grid, stencil and format. The choice stays. A preconditioner is
 * refilled without allocation, where it can be (gsw_factor_refactor(), gsw_multigrid_refactor()).
 * One that the new values make impossible is replaced by the next one of the list above, unless it
 * was named. `matrix` replaces the view of the creation.
 * Errors: as above. After an error the solver cannot solve until an update succeeds. */
GSW_API
gsw_status gsw_solver_update(gsw_context *context, gsw_solver *solver, const gsw_matrix *matrix);

/* The report of the last solve, or of the creation before the first one.
 * Errors: INVALID_ARGUMENT. */
GSW_API
gsw_status gsw_solver_get_report(const gsw_solver *solver, gsw_solver_report *report);

/* The residual norms of the last solve, relative as a monitor gets them: norms[i] is that after
 * iteration i of all attempts, norms[0] that of the guess. The array is the solver's, on the host,
 * and valid until its next solve; *count is 0 before the first one, and for many systems. Errors:
 * INVALID_ARGUMENT. */
GSW_API
gsw_status gsw_solver_get_history(const gsw_solver *solver, const double **norms, int64_t *count);

/* What was found of the matrix, and what was chosen. Where both were named, only `method` and
 * `kind` have a meaning. Errors: INVALID_ARGUMENT. */
GSW_API
gsw_status gsw_solver_get_choice(const gsw_solver *solver, gsw_choice *choice);

/* Frees a solver. NULL is allowed. */
GSW_API
void gsw_solver_destroy(gsw_solver *solver);

/* Creates a solver, solves one system and frees the solver. The report's pointers to the hierarchy
 * and the factor are NULL. */
GSW_API
gsw_status gsw_solve(gsw_context *context, const gsw_matrix *matrix,
                     const gsw_solver_options *options, const void *b, void *x,
                     gsw_solver_report *report);

/* MANY SYSTEMS of one grid, stencil and format, each with its own values, in one call. On a CPU
 * each thread solves one at a time. On a device they lie one after the other as a single system, so
 * that each kernel works on all of them; each converges by itself to its own tolerance, and one
 * that does not is solved again alone. Where a matrix has a mask or a periodic grid, or the options
 * name a null space or another norm, the systems follow each other. */

/* A solver for `count` systems: matrices[k] is that of system k, and the rest as for
 * gsw_solver_create(). Options hold for each system. There is no monitor. gsw_solver_solve() takes
 * b and x of all systems, one after the other: value i of system k is b[k * points + i]. It returns
 * the status of the first system that has failed, which the message names; the others are solved
 * all the same. Its report has the largest count of iterations, and the largest residual; converged
 * means all of them. On a device each matrix is copied.
 * Errors: those of gsw_solver_create(). */
GSW_API
gsw_status gsw_solver_create_many(gsw_context *context, int64_t count, const gsw_matrix *matrices,
                                  const gsw_solver_options *options, gsw_solver **solver);

/* New values for all systems, as gsw_solver_update(), which takes no such solver. */
GSW_API
gsw_status gsw_solver_update_many(gsw_context *context, gsw_solver *solver,
                                  const gsw_matrix *matrices);

/* The library fills `size` bytes. */
typedef struct gsw_system_report {
    size_t size;    /* sizeof this struct, set by the caller */
    int64_t status; /* the gsw_status of the system in the last solve */
    int64_t iterations;
    int converged;
    double residual; /* ||b - A x|| / ||b|| */
} gsw_system_report;

/* How the last solve of a system went, counted from 0. Errors: INVALID_ARGUMENT. */
GSW_API
gsw_status gsw_solver_get_system(const gsw_solver *solver, int64_t system,
                                 gsw_system_report *report);

/* "auto", "none", "jacobi", "ssor", "dilu", "ilu0", "ic0", "mg". */
GSW_API
const char *gsw_precond_name(gsw_precond precond);

#ifdef __cplusplus
}
#endif

#endif
