/* solve_rival.h: whole Krylov solves that gridsweep's are compared with, behind one interface.
 *
 * A rival solves A x = b with a preconditioned method, in fp64, with the same stopping test as
 * gridsweep: ||b - A x|| <= rtol ||b||, where the norm is the method's own recurrence. open() does
 * the work that a matrix's pattern needs once (analyses, buffers) and reports its cost. factor()
 * computes the preconditioner of the matrix's present values, as often as they change. solve()
 * iterates. Multigrid rivals have a preconditioner of their own, which factor() builds from
 * nothing. forget() frees the previous one, outside the timed part. Their open() tries several
 * settings and keeps the one with the least time for factor() and solve() together. The caller
 * times factor() and solve() by its clock: both return when the work is done, on the device too.
 * Functions return 0, or -1 after writing a reason into message. Where a rival cannot run (no
 * device, an unsupported method), open() fails with the reason. */
#ifndef GSW_SOLVE_RIVAL_H
#define GSW_SOLVE_RIVAL_H

#include <stddef.h>
#include <gridsweep/gridsweep.h>

#ifdef __cplusplus
extern "C" {
#endif

#define GSW_SOLVE_NO_PRECOND (-1)

/* The system. `matrix` is a CSR in host memory and `device` the same CSR in device memory (NULL
 * where there is none): the whole matrix, 0-based, int32, fp64. Both stay valid while the rival is
 * open. */
typedef struct gsw_solve_system {
    const gsw_matrix *matrix;
    const gsw_csr *device;
    void *stream; /* cudaStream_t of the work on the device */
    gsw_method method;
    int precond;            /* a gsw_factor_kind, or GSW_SOLVE_NO_PRECOND */
    double rtol;            /* > 0 */
    int64_t max_iterations; /* >= 1 */
    int threads;            /* of the CPU that a rival may use; 0: one */
} gsw_solve_system;

#define GSW_SOLVE_SETTINGS 96 /* bytes of gsw_solve_cost's text */

typedef struct gsw_solve_cost {
    double setup_ms;                   /* analyses and allocations, until they were done */
    double buffer_bytes;               /* memory that it keeps; NaN where that is unknown */
    int threads;                       /* of the CPU that it uses; 0: one */
    char settings[GSW_SOLVE_SETTINGS]; /* the chosen settings; "": there is no choice */
} gsw_solve_cost;

typedef struct gsw_solve_outcome {
    int64_t iterations;
    int converged;
} gsw_solve_outcome;

typedef struct gsw_solve_rival {
    const char *name;    /* as on the command line: "cusparse" */
    const char *summary; /* one line */
    int on_device;       /* b and x are device arrays; otherwise host arrays */
    const char *precond; /* its own preconditioner; NULL: the one that the system names */
    /* NULL: not in this build. */
    int (*open)(const gsw_solve_system *system, void **state, gsw_solve_cost *cost, char *message,
                size_t size);
    int (*factor)(void *state, char *message, size_t size);
    /* x is 0 at the start; b and x do not overlap. An end without convergence is no failure. */
    int (*solve)(void *state, const double *b, double *x, gsw_solve_outcome *outcome, char *message,
                 size_t size);
    void (*close)(void *state); /* NULL is allowed */
    /* Frees the result of factor(); call it before each factor(). NULL: factor() reuses it. */
    void (*forget)(void *state);
} gsw_solve_rival;

/* All rivals in the order in which they are shown, including those that are not in this build. */
const gsw_solve_rival *gsw_solve_rivals(int *count);

#ifdef __cplusplus
}
#endif

#endif
