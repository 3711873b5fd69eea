/* bench.h: what the files of `gridsweep bench` share.
 *
 * bench_plan.c reads the lists. The packed and the direct sweeps of the CPU, ILU(0) applies among
 * them: bench_case.c makes systems, solves and times them, cmd_bench.c goes through all
 * combinations and prints. A matrix as a CSR on any backend, with rivals where it is one triangular
 * part, and smoothing with stencil arrays: bench_compare.c goes through the combinations,
 * bench_rivals.c is the way to baselines/, bench_table.c prints. Whole Krylov solves:
 * bench_whole.c. */
#ifndef GSW_CLI_BENCH_H
#define GSW_CLI_BENCH_H

#include "cli.h"

#define BENCH_LIST_MAX    32
#define BENCH_METHODS_MAX 64

/* What is applied: one part, L and U of ILU(0), or one step of symmetric Gauss-Seidel. */
typedef enum bench_part { PART_LOWER, PART_UPPER, PART_BOTH, PART_SYMGS } bench_part;
typedef enum bench_precision { PRECISION_F64, PRECISION_F32, PRECISION_F32_FACTOR } bench_precision;

extern const char *const bench_part_names[];
extern const char *const bench_precision_names[];
extern const char *const bench_cache_names[];

typedef enum bench_cache { CACHE_WARM, CACHE_COLD } bench_cache;

typedef struct bench_list {
    int count;
    int values[BENCH_LIST_MAX];
} bench_list;

/* Something that solves a triangular system: an algorithm of the library, a rival, or a step of the
 * ablation. */
typedef enum bench_kind { KIND_GRIDSWEEP, KIND_RIVAL, KIND_ABLATION } bench_kind;

typedef struct bench_method {
    const char *name;
    const struct gsw_rival *rival; /* NULL: KIND_GRIDSWEEP */
    bench_kind kind;
    gsw_algorithm algorithm; /* of KIND_GRIDSWEEP */
    bool on_device;          /* rival: takes device arrays */
    bool named;              /* asked for by name, so also where it takes long */
} bench_method;

/* What to run. */
typedef struct bench_plan {
    int stencils, sizes;
    gsw_stencil stencil[BENCH_LIST_MAX];
    char size[BENCH_LIST_MAX][64];
    bench_list parts;      /* bench_part */
    bench_list precisions; /* bench_precision */
    bench_list algorithms; /* gsw_algorithm; AUTO until bench_resolve_auto() */
    bench_list threads;    /* 0: as many as there are */
    bench_list caches;     /* bench_cache */
    int rivals;
    bench_method rival[BENCH_METHODS_MAX]; /* rivals, then steps of the ablation */
} bench_plan;

/* Whether the options themselves ask for bench_compare(). */
bool bench_asks_compare(const cli_options *options);

/* Reads the lists of the command line. Returns an exit code. */
int bench_make_plan(const cli_options *options, bench_plan *plan);

/* auto stands for the algorithm that bench is about on that backend. */
void bench_resolve_auto(bench_plan *plan, gsw_algorithm algorithm);

/* Reads a list of names, as indices into `names`, which ends with NULL; `option` is for the
 * message. Returns an exit code. */
int bench_parse_names(const cli_options *options, const char *option, const char *list,
                      const char *const *names, bench_list *out);

/* Takes the next entry of a list separated by commas into `entry`. Returns false at the end; an
 * entry that is empty or too long comes out as "". */
bool bench_next_entry(const char **list, char *entry, size_t size);

/* The grid that a --size means for a stencil: "N" or "NXxNY" or "NXxNYxNZ". */
gsw_status bench_parse_size(const char *text, const gsw_stencil *stencil, gsw_grid *grid);

/* One stencil and grid: the matrix random:1 in fp64, and in fp32 where that is needed. */
typedef struct bench_system {
    gsw_problem *problem;
    gsw_matrix matrix, matrix_f32;
    const void *pointers_f32[GSW_STENCIL_MAX];
    float *values_f32; /* NULL: not made */
    int64_t rows;
} bench_system;

int bench_make_system(const cli_options *options, gsw_context *context, const gsw_grid *grid,
                      const gsw_stencil *stencil, bool need_f32, bench_system *system);
void bench_free_system(bench_system *system);

/* One system, part and precision: right-hand side, reference solution, and what the algorithms
 * without packing work on. */
typedef struct bench_case {
    const bench_system *system;
    bench_part part;
    bench_precision precision;
    double *b, *reference, *x;
    float *b_f32, *x_f32;         /* NULL unless the vectors are fp32 */
    gsw_csr lower, upper;         /* ILU(0) factors for PART_BOTH; empty where nobody needs them */
    float *lower_f32, *upper_f32; /* their values in fp32 */
} bench_case;

/* `keep_factors`: an algorithm without packing will run on PART_BOTH. */
int bench_make_case(const cli_options *options, gsw_context *context, const bench_system *system,
                    bench_part part, bench_precision precision, bool keep_factors,
                    bench_case *bench);
void bench_free_case(bench_case *bench);

/* Runs, checks and times one algorithm; fills part, types, times, rates without the copy bandwidth
 * and error of *result. */
int bench_measure(const cli_options *options, gsw_context *context, bench_case *bench,
                  gsw_algorithm algorithm, cli_result *result);

/* Largest error that a right answer can have on these matrices. */
double bench_tolerance(bench_precision precision);

/* ---- A CSR on any backend, with rivals --------------------------------------------------------
 */

/* One part of a system in one precision, or the whole matrix for one ILU(0) apply or one step of
 * symmetric Gauss-Seidel: the same arrays on the host and in the backend's memory. */
typedef struct bench_group {
    gsw_grid grid;
    gsw_stencil stencil;
    gsw_part part;         /* GSW_FULL: one ILU(0) apply, or a smoothing step */
    bool smooth;           /* the latter */
    gsw_dtype factor_type; /* of the coefficients */
    gsw_dtype type;        /* of b and x */
    int64_t rows, entries;
    gsw_matrix host; /* a CSR that holds the part alone; to smooth, the problem's stencil arrays */
    void *b, *x;     /* on the host, of `type` */
    double *reference;
    double *wide; /* x in double for the comparison; x itself in fp64 */
    size_t vector_bytes;
    cli_arrays arrays;
    double *guess; /* to smooth: what x is before each step, on the host */
    void *work;    /* and gsw_smooth()'s workspace, in the backend's memory */
} bench_group;

/* What is known about the device, through baselines/. */
typedef struct bench_device {
    void *stream; /* NULL: events cannot be had, the host's clock is used */
    char driver[64], toolkit[64];
    bool described;
    double copy_gb_s; /* NaN: not known */
} bench_device;

/* Adds what --compare and --ablation ask for to plan->rival. Returns an exit code. */
int bench_find_rivals(const cli_options *options, bench_plan *plan);

void bench_device_open(int device, bench_device *out);
void bench_device_measure(bench_device *device); /* the copy bandwidth */
void bench_device_close(bench_device *device);

/* Times `run` between events on the device's stream as gsw_device_time() says; false where it
 * fails. */
bool bench_device_time(const bench_device *device, int (*run)(void *user), void *user, int warm_up,
                       int repeats, bool cold, void *poison, size_t bytes, double *samples);

/* Return false after writing a reason. */
bool bench_rival_open(const bench_method *method, const bench_group *group, bool device,
                      void *stream, void **state, cli_result *cost, char *reason, size_t size);
bool bench_rival_solve(const bench_method *method, void *state, const void *b, void *x,
                       char *reason, size_t size);
void bench_rival_close(const bench_method *method, void *state);

/* One line of the table. */
typedef struct bench_row {
    cli_result result;
    bench_kind kind;
    bool checked, wrong;
    char reason[256]; /* why there are no times; else "" */
} bench_row;

/* The table: columns of names are as wide as the plan's widest. `baseline` is the method that
 * speeds are relative to, or NULL. */
typedef struct bench_table {
    int width[6];
    const char *baseline;
    int groups; /* printed so far */
} bench_table;

void bench_table_start(const cli_options *options, const bench_plan *plan, const char *baseline,
                       bench_table *table);
void bench_table_rows(const cli_options *options, bench_table *table, const bench_row *rows,
                      int count);

/* "256^3", or "60x220x85". */
void bench_short_size(const gsw_grid *grid, char *text, size_t size);

/* What runs now, on a terminal only; NULL clears it. */
void bench_show(const cli_options *options, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Goes through all combinations of the plan on that place. Returns an exit code. */
int bench_compare(const cli_options *options, const bench_plan *plan, const cli_place *place,
                  bench_device *device);

/* ---- Whole solves ---------------------------------------------------------------------------- */

/* Another library's Krylov solver, behind baselines/solve_rival.h. */
typedef struct bench_solver {
    const char *name;
    const struct gsw_solve_rival *rival;
    bool on_device; /* takes device arrays */
} bench_solver;

/* What it solves. */
typedef struct bench_problem {
    const gsw_matrix *host; /* a CSR */
    const gsw_csr *device;  /* NULL where there is none */
    void *stream;
    gsw_method method;
    int precond; /* a gsw_factor_kind or CLI_PRECOND_NONE */
    double rtol;
    int64_t max_iterations;
} bench_problem;

/* Fills solvers[BENCH_LIST_MAX] with those that --compare names. Returns an exit code. */
int bench_find_solvers(const cli_options *options, bench_solver *solvers, int *count);

/* As in baselines/solve_rival.h; return false after writing a reason. */
bool bench_solver_open(const bench_solver *solver, const bench_problem *problem, void **state,
                       cli_result *cost, char *reason, size_t size);
bool bench_solver_factor(const bench_solver *solver, void *state, char *reason, size_t size);
bool bench_solver_solve(const bench_solver *solver, void *state, const double *b, double *x,
                        cli_result *outcome, char *reason, size_t size);
void bench_solver_close(const bench_solver *solver, void *state);

/* `bench --whole-solve`. Returns an exit code. */
int bench_whole_solve(const cli_options *options);

#endif
