/* case.h: what is measured: a system, what is done with it, and who does it.
 *
 * Two tables of functions meet in a bench_worker, a contestant at work on a case:
 *   - a bench_task says what is solved: how a case is made and with what a run begins, what
 *     gridsweep calls, how the result is checked, what the figures mean (tasks.h);
 *   - a bench_solver says who solves: gridsweep, whose functions the task has, or a rival. */
#ifndef GSW_CLI_BENCH_CASE_H
#define GSW_CLI_BENCH_CASE_H

#include <gridsweep/multigrid.h>
#include "output/boxes.h"
#include "common/input.h"
#include "common/measure.h"
#include "output/output.h"
#include "output/result.h"
#include "plan.h"
#include "site.h"

/* The matrix of several cases: a model problem, one part of it as a CSR, its values in
 * fp32. Each is made when the first case needs it. */
typedef struct bench_system {
    gsw_problem *problem; /* NULL once the last part is taken out of it */
    gsw_grid grid;
    gsw_stencil stencil;
    int64_t rows;
    gsw_csr csr; /* of `part` */
    bench_part part;
    gsw_matrix f32; /* the arrays in fp32 */
    const void *pointers_f32[GSW_STENCIL_MAX];
    float *values_f32; /* NULL: not made */
} bench_system;

/* One line of the results. Texts that are NULL, numbers that are NaN and counts below 0 are
 * unknown; report.c has their keys in the JSON. */
typedef struct bench_row {
    bench_side side;
    const char *backend, *device, *driver, *toolkit;
    const char *stencil, *part, *kind, *algorithm, *cache, *dtype, *factor_dtype, *method, *precond;
    gsw_grid grid;
    int64_t threads, iterations;
    int converged;
    cli_times time;
    double residual, setup_ms, factor_ms, solve_ms, iteration_ms, buffer_bytes;
    double effective_gb_s, moved_gb_s, copy_gb_s, fraction_of_copy, max_rel_error;
    double speed; /* how much faster than the baseline, or than height 1 */
    bool checked, wrong;
    bool missed;        /* of rivals: the residual is beyond the tolerance, but near it */
    char reason[512];   /* why there are no times; else "" */
    const char *format; /* of the matrix in whole solves */
    int32_t boxes[3];   /* of whole solves: the processes along each axis */
    const char *scope;  /* and of the preconditioner there; NULL: there is none, or one process */
    char settings[128]; /* of whole solves: how multigrid is set; "": it is not */
    double total_with_setup_ms, ratio, ratio_with_setup; /* of whole solves */
    double gflops, rated_gflops, scaled_residual;        /* of HPCG */
    int64_t height;                                      /* of stencil loops: sweeps in a pass, */
    int64_t tile[3];                                     /* points of a tile, */
    bool chosen;                                         /* whether the model takes this height, */
    double predicted_ms;                                 /* and what it expects of a sweep */
} bench_row;

/* A contestant at work on a case: see below. */
typedef struct bench_worker bench_worker;

/* Who solves. */
typedef struct bench_solver {
    gsw_status (*open)(bench_worker *worker);   /* before its first run; fills setup_ms and
                                                   buffer_bytes of the row */
    gsw_status (*factor)(bench_worker *worker); /* the first step of a run; NULL: there is none */
    void (*forget)(bench_worker *worker);       /* frees what factor() makes anew; or NULL */
    gsw_status (*solve)(bench_worker *worker);  /* the run itself */
    void (*close)(bench_worker *worker);        /* frees what open() made; NULL: nothing */
} bench_solver;

/* Who solves, and in whole solves with what. */
typedef struct bench_contestant {
    const bench_solver *solver;
    const char *name;
    bench_side side;
    gsw_algorithm algorithm;  /* of gridsweep in sweeps */
    gsw_format format;        /* of its matrix in whole solves */
    gsw_dtype factor_type;    /* and of its factor */
    int32_t height;           /* of stencil loops */
    int precond;              /* of whole solves: a gsw_factor_kind, CLI_PRECOND_NONE or _MG */
    const bench_rival *rival; /* NULL: gridsweep */
} bench_contestant;

/* A system in one precision with right-hand side and reference solution, the same on the host and
 * in the backend's memory. */
typedef struct bench_case {
    const struct bench_task *task;
    bench_mode mode;
    bench_part part;
    bench_precision precision;
    bool last_part;        /* no other part of this matrix follows */
    gsw_dtype factor_type; /* of the coefficients */
    gsw_dtype type;        /* of b and x */
    int64_t rows, entries;
    double tolerance;
    gsw_matrix exact;  /* what the reference solves with, on the host */
    gsw_matrix host;   /* what contestants solve with; to smooth, arrays; of whole solves, arrays */
    float *values_f32; /* of `host`, where they are its own */
    void *b, *x;       /* on the host, of `type` */
    double *reference; /* x as it must be */
    double *wide;      /* x in fp64 for the comparison; x itself in fp64 */
    size_t vector_bytes;
    cli_arrays arrays; /* host, b and x in the backend's memory */

    gsw_csr factors[2]; /* of an ILU(0) apply without packing; empty where nobody needs them */
    float *factors_f32[2];
    gsw_matrix factor_views[2]; /* in the precision of the case */

    double *guess; /* to smooth: what x is before each step, on the host; also of stencil loops */
    void *work;    /* and gsw_smooth()'s workspace, in the backend's memory */

    cli_input input; /* of whole solves */
    cli_boxes boxes; /* and on several processes */
    gsw_csr csr;
    gsw_matrix host_csr, device_csr; /* the latter only on a device */
} bench_case;

/* A contestant at work on a case. */
struct bench_worker {
    const cli_options *options;
    const bench_contestant *who;
    const bench_site *site;
    bench_case *work;
    bench_row *row;           /* to be filled */
    gsw_context *context;     /* whose clock is taken: the backend's, or the host's */
    gsw_factor *factor;       /* of gridsweep; NULL: none is needed */
    gsw_multigrid *multigrid; /* of gridsweep; NULL: none is needed, or not made yet */
    void *state;              /* of a rival, or of a task with close() */
    const void *b;
    void *x;
    bool device, cold;
    gsw_status status; /* of the last call between events */
};

/* What is solved. All but make() are for a worker; those that return a status return the library's.
 */
typedef struct bench_task {
    /* Makes a case, whose first members are set; returns an exit code. Free it with
     * bench_free_case() either way. */
    int (*make)(const cli_options *options, const bench_plan *plan, const bench_site *site,
                bench_system *system, bench_case *made);
    double tolerance;            /* with bench_make_problem() */
    bool guess, workspace;       /* the same: whether a case has them */
    void (*refer)(bench_case *); /* the same: makes the reference, or another b; or NULL */
    bench_solver own;            /* what gridsweep does */
    gsw_status (*start)(bench_worker *worker); /* before a run: its x, or poison */
    gsw_status (*check)(bench_worker *worker); /* after runs: the error in the row */
    void (*finish)(bench_worker *worker);      /* what the row says besides, from its times */
    bool from_guess;                           /* each run begins with start() */
    bool host_clock;                           /* also on a device */
    int64_t repeats;                           /* 0: as the time that they take says */
    double patience_ms; /* a rival on the CPU that takes longer is not repeated; 0: it is */
} bench_task;

int bench_no_memory(const cli_options *options);

/* The problem --problem, or random:1, or HPCG's, on a grid of the plan. All return exit codes; free
 * what is there with bench_free_system() either way. */
int bench_make_system(const cli_options *options, gsw_context *host, const gsw_stencil *stencil,
                      const gsw_grid *grid, bench_system *system);

/* The CSR of a part; without the problem if no other part follows. */
int bench_system_csr(const cli_options *options, gsw_context *host, bench_part part, bool last,
                     bench_system *system);

/* The arrays in fp32. */
int bench_system_f32(const cli_options *options, gsw_context *host, bench_system *system);

void bench_free_system(bench_system *system);

/* A right-hand side of the case's type, the same numbers in made->reference in fp64, and room for
 * x. Needs rows and type. Returns an exit code. */
int bench_make_vectors(const cli_options *options, bench_case *made);

/* A task's make() where it takes the problem's own arrays in fp64. */
int bench_make_problem(const cli_options *options, const bench_plan *plan, const bench_site *site,
                       bench_system *system, bench_case *made);

/* Brings host, b and x to the backend. Returns an exit code. */
int bench_upload(const cli_options *options, const bench_site *site, bench_case *made);

void bench_free_case(const bench_site *site, bench_case *made);

/* A packed factor of the worker's matrix; fills setup_ms and buffer_bytes. */
gsw_status bench_open_factor(bench_worker *worker, gsw_factor_kind kind);

/* A row of the stencil arrays as the textbook has it, without the library: (b_i - sum of a_ij x_j
 * over j != i) / a_ii, what Gauss-Seidel makes of x_i, and Jacobi's next x_i. */
double bench_plain_row(const gsw_matrix *matrix, int64_t row, const double *b, const double *x);

/* Fills x with NaNs. */
gsw_status bench_poison(bench_worker *worker);

/* Compares x with the reference: max_rel_error becomes the largest one so far. */
gsw_status bench_check_error(bench_worker *worker);

/* Fills the rates and judges the error. */
void bench_finish_rates(bench_worker *worker, double effective_bytes, double moved_bytes);

/* Bytes of the packed factor's arrays and of its solves; false without a factor. */
bool bench_factor_info(const bench_worker *worker, gsw_factor_info *info);

#endif
