/* cli.h: what the files of the program `gridsweep` share.
 *
 * main.c finds the subcommand, options.c turns the command line into a cli_options, help.c prints
 * what the same tables say, cmd_*.c do the work. place.c, input.c, output.c, progress.c and
 * measure.c serve them all. The program uses the library's public headers only; in a build with
 * GSW_BUILD_PERF `bench` also uses those of baselines/. */
#ifndef GSW_CLI_H
#define GSW_CLI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cjson/cJSON.h>
#include <gridsweep/gridsweep.h>
#include <gridsweep/memory.h>

/* ---- Exit codes and errors ------------------------------------------------------------------ */

typedef enum cli_exit {
    CLI_OK = 0,
    CLI_NOT_CONVERGED = 1,
    CLI_USAGE = 2,
    CLI_INPUT = 3,
    CLI_BREAKDOWN = 4,
    CLI_BACKEND = 5
} cli_exit;

/* Where the values of a failing call came from: it decides between bad usage and bad input. */
typedef enum cli_source { CLI_FROM_OPTION, CLI_FROM_FILE } cli_source;

/* ---- Options -------------------------------------------------------------------------------- */

/* Indices of "none" and "mg" among the choices of --precond; the others are gsw_factor_kind
 * values. */
#define CLI_PRECOND_NONE 5
#define CLI_PRECOND_MG   6

typedef struct cli_command cli_command;

/* The command line after parsing. Strings point into argv; NULL or -1 means not given. */
typedef struct cli_options {
    const cli_command *command;
    uint64_t given; /* bit i: the option whose cli_option_id is i */
    const char *file;
    const char *problem, *stencil, *grid, *rhs;
    const char *out, *json, *out_l, *out_u;
    const char *sizes, *parts, *precisions, *algorithms, *thread_list;
    const char *compare, *ablation, *caches;
    int method, precond, norm, factor_precision, part, algorithm, backend;
    int mg_cycle, mg_smoother, mg_precision;
    int64_t restart, max_iter, threads, device, repeats;
    double rtol, omega, pivot_shift, mg_theta;
    bool mg_info, transpose, unit_diagonal, no_check, whole_solve, quiet, man;
} cli_options;

/* All options of all subcommands; a subcommand lists those that it takes. */
typedef enum cli_option_id {
    OPT_END = 0,
    OPT_PROBLEM,
    OPT_STENCIL,
    OPT_GRID,
    OPT_RHS,
    OPT_METHOD,
    OPT_RESTART,
    OPT_PRECOND,
    OPT_SOLVE_PRECOND,
    OPT_MG_CYCLE,
    OPT_MG_SMOOTHER,
    OPT_MG_THETA,
    OPT_MG_PRECISION,
    OPT_MG_INFO,
    OPT_FACTOR_KIND,
    OPT_OMEGA,
    OPT_PIVOT_SHIFT,
    OPT_FACTOR_PRECISION,
    OPT_RTOL,
    OPT_MAX_ITER,
    OPT_NORM,
    OPT_PART,
    OPT_TRANSPOSE,
    OPT_UNIT_DIAGONAL,
    OPT_ALGORITHM,
    OPT_NO_CHECK,
    OPT_REPEATS,
    OPT_BENCH_STENCIL,
    OPT_BENCH_SIZE,
    OPT_BENCH_PROBLEM,
    OPT_BENCH_PART,
    OPT_BENCH_PRECISION,
    OPT_BENCH_ALGORITHM,
    OPT_BENCH_THREADS,
    OPT_BENCH_REPEATS,
    OPT_BENCH_COMPARE,
    OPT_BENCH_ABLATION,
    OPT_BENCH_CACHE,
    OPT_BENCH_WHOLE_SOLVE,
    OPT_BENCH_BACKEND,
    OPT_DETECT_BACKEND,
    OPT_BACKEND,
    OPT_THREADS,
    OPT_DEVICE,
    OPT_OUT,
    OPT_OUT_MATRIX,
    OPT_OUT_L,
    OPT_OUT_U,
    OPT_JSON,
    OPT_QUIET,
    OPT_MAN,
    OPT_HELP,
    OPT_COUNT
} cli_option_id;

typedef enum cli_option_type {
    CLI_FLAG,
    CLI_TEXT,
    CLI_OPTIONAL_TEXT, /* "all" where no value follows; only where there is no operand */
    CLI_INTEGER,       /* minimum .. maximum */
    CLI_THREADS,       /* 1 .. what cli_parse_threads() takes */
    CLI_REAL,          /* minimum < value < maximum */
    CLI_CHOICE         /* index into `choices` */
} cli_option_type;

typedef struct cli_option {
    const char *name;
    const char *argument; /* as shown in the help; NULL for a flag */
    const char *help;
    cli_option_type type;
    size_t offset; /* of the field in cli_options */
    double minimum, maximum;
    const char *const *choices; /* ends with NULL */
} cli_option;

struct cli_command {
    const char *name;
    const char *summary;     /* one line, no full stop */
    const char *arguments;   /* the synopsis after the name */
    const char *description; /* paragraphs separated by "\n" */
    const char *examples;    /* one a line */
    const char *operand;     /* what the positional argument is called, or NULL if there is none */
    const cli_option_id *options;
    int (*run)(const cli_options *options);
};

/* The subcommands, ended by an entry whose name is NULL. */
extern const cli_command cli_commands[];

const cli_option *cli_option_get(cli_option_id id);

/* Whether the option is on the command line. */
bool cli_given(const cli_options *options, cli_option_id id);

const cli_command *cli_find_command(const char *name);

/* Fills *options from the arguments (argv[0] is the subcommand). Returns CLI_OK, CLI_USAGE after a
 * message, or CLI_OK with *help set when --help was asked for. */
int cli_parse(const cli_command *command, int argc, char **argv, cli_options *options, bool *help);

void cli_help_program(FILE *stream);
void cli_help_command(FILE *stream, const cli_command *command);
void cli_help_man(FILE *stream);

/* "gridsweep COMMAND: MESSAGE" on stderr. */
void cli_error(const cli_options *options, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* The same with a hint at --help; returns CLI_USAGE. */
int cli_usage(const cli_options *options, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* What an errno means; valid until the next call. */
const char *cli_reason(int error);

/* Reports a failed library call with the context's message and returns the exit code that belongs
 * to the status. */
int cli_status(const cli_options *options, const gsw_context *context, gsw_status status,
               cli_source source);

/* A whole text as an integer in [minimum, maximum]. */
bool cli_parse_integer(const char *text, int64_t minimum, int64_t maximum, int64_t *value);

/* A number of threads for --threads, or one of its list. More than a few for each processor only
 * take memory, and the OpenMP runtime ends the process where it cannot start them. Returns CLI_OK,
 * or CLI_USAGE after a message. */
int cli_parse_threads(const cli_options *options, const char *text, int64_t *value);

/* ---- Where it runs -------------------------------------------------------------------------- */

/* What a command will ask of the backend; NULL: not needed. */
typedef struct cli_work {
    const gsw_factor_options *factor;
    const gsw_multigrid_options *multigrid;
    const gsw_sptrsv_options *sweep;
    void *stream; /* CUDA stream of the context; NULL: the default stream */
} cli_work;

/* Files, problems and reference solves are the host's; `run` does the work. With the CPU backend
 * both are the same context. */
typedef struct cli_place {
    gsw_context *host, *run;
    char note[256]; /* why `auto` did not take the device that is there; else "" */
} cli_place;

/* Opens the backend that the options ask for. `auto` takes CUDA only where a device answers and can
 * do the work. Returns an exit code: CLI_BACKEND where --backend cuda cannot. */
int cli_open_place(const cli_options *options, const cli_work *work, cli_place *place);
void cli_close_place(cli_place *place);

/* Whether the work is done on a device, with memory of its own. */
bool cli_on_device(const cli_place *place);

/* A system in the backend's memory: the host's own arrays with the CPU backend, copies otherwise.
 */
typedef struct cli_arrays {
    gsw_matrix matrix;
    void *b, *x;
    double upload_ms, download_ms; /* NaN where nothing was copied */
} cli_arrays;

/* Brings matrix, b and x (each of `bytes`; NULL where there is none) there. Returns an exit code;
 * either way free what came with cli_arrays_free(). */
int cli_upload(const cli_options *options, const cli_place *place, const gsw_matrix *matrix,
               void *b, void *x, size_t bytes, cli_arrays *arrays);

/* Brings x back. Reports what solves on the device ran into. */
int cli_download(const cli_options *options, const cli_place *place, cli_arrays *arrays, void *x,
                 size_t bytes);
void cli_arrays_free(const cli_place *place, cli_arrays *arrays);

/* ---- Input ---------------------------------------------------------------------------------- */

/* A matrix from a file or a model problem, and what is known about it. */
typedef struct cli_input {
    gsw_problem *problem; /* NULL where it came from a file */
    gsw_csr csr;          /* empty where it is a problem */
    gsw_matrix matrix;
    int64_t rows, nonzeros;
} cli_input;

/* Creates a context with the threads and the device that the options ask for. Returns an exit
 * code. */
int cli_open_context(const cli_options *options, gsw_backend backend, void *stream,
                     gsw_context **context);

/* Reads or makes the matrix. Returns an exit code. */
int cli_load(const cli_options *options, gsw_context *context, cli_input *input);
void cli_input_free(cli_input *input);
cli_source cli_input_source(const cli_input *input);

/* Whether a value of --rhs (may be NULL) names a file. */
bool cli_rhs_is_file(const char *rhs);

/* Makes the right-hand side that --rhs asks for; free() it. Returns an exit code. */
int cli_load_rhs(const cli_options *options, gsw_context *context, const cli_input *input,
                 double **b);

/* A stencil by its name or as offsets "DX,DY,DZ;DX,DY,DZ;...". */
bool cli_parse_stencil(const char *text, gsw_stencil *stencil);

/* Entries of a part, diagonal included: stored ones of a CSR, couplings inside the grid of stencil
 * arrays. */
int64_t cli_count_entries(const gsw_matrix *matrix, gsw_part part);

/* Whether a(i,j) equals a(j,i) up to rounding. */
bool cli_is_symmetric(const cli_input *input);

/* Warns where cg or ic0 is to be used on a matrix that is not symmetric. `precond` is a
 * gsw_factor_kind or CLI_PRECOND_NONE. */
void cli_warn_if_not_symmetric(const cli_options *options, const cli_input *input, int precond);

/* The preconditioner that the options ask for, ilu0 by default, and its name. */
int cli_precond(const cli_options *options);
const char *cli_precond_name(int precond);

/* ---- Output --------------------------------------------------------------------------------- */

typedef struct cli_times {
    double median, minimum, maximum; /* milliseconds */
    int64_t repeats;                 /* 0: no meaning */
} cli_times;

/* What a JSON object holds. Texts that are NULL, numbers that are NaN or negative where that has
 * no meaning become null. */
typedef struct cli_result {
    const char *command, *backend, *device;
    int threads;
    gsw_grid grid; /* nx 0: null */
    const char *stencil, *part, *algorithm, *dtype, *factor_dtype, *method, *precond;
    const char *kind, *cache, *driver, *toolkit;
    int64_t iterations; /* -1: null */
    int converged;      /* -1: null */
    double residual, setup_ms, factor_ms, buffer_bytes, upload_ms, download_ms, solve_ms;
    cli_times time;
    double effective_gb_s, moved_gb_s, copy_gb_s, fraction_of_copy, max_rel_error;
} cli_result;

/* A result in which everything is null except the command and what the context and the matrix
 * say (either may be NULL). */
cli_result cli_result_init(const cli_options *options, const gsw_context *context,
                           const gsw_matrix *matrix);
cJSON *cli_result_json(const cli_result *result);

/* Text for people: stdout, or stderr where data goes to stdout. NULL with --quiet. */
FILE *cli_human(const cli_options *options);
void cli_print(const cli_options *options, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* "name   text" with the names in one column. */
void cli_field(const cli_options *options, const char *name, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The lines about the matrix, about the backend, and about copies to and from a device. */
void cli_print_matrix(const cli_options *options, const cli_input *input);
void cli_print_backend(const cli_options *options, const cli_place *place);
void cli_print_transfer(const cli_options *options, const cli_arrays *arrays);

/* Files that are replaced all together or not at all: stage each, then commit. "-" is standard
 * output, and devices are written in place, both when staged. All return exit codes. */
typedef struct cli_file {
    char *target, *temporary, *backup;
    bool renamed;
} cli_file;

typedef struct cli_outputs {
    cli_file files[4];
    int count;
} cli_outputs;

/* Refuses targets that cannot be written, before any work: a directory, a missing folder, the same
 * file twice, a file that is also an input. */
int cli_check_outputs(const cli_options *options);
int cli_stage_json(const cli_options *options, cli_outputs *outputs, const char *path,
                   const cJSON *json);
int cli_stage_vector(const cli_options *options, gsw_context *context, cli_outputs *outputs,
                     const char *path, const double *values, int64_t count, const char *comment);
int cli_stage_matrix(const cli_options *options, gsw_context *context, cli_outputs *outputs,
                     const char *path, const gsw_csr *csr, const char *comment);
int cli_commit(const cli_options *options, cli_outputs *outputs);

/* Removes what was staged and not committed. */
void cli_discard(cli_outputs *outputs);

/* All of this for one file: writes the JSON to where --json says. Returns an exit code. */
int cli_write_json(const cli_options *options, const cJSON *json);

/* The same for lists that grow: the file is replaced whole each time, standard output and devices
 * get everything with the last. */
int cli_write_results(const cli_options *options, cJSON *results, cJSON *skipped, bool last);

/* ---- Progress ------------------------------------------------------------------------------- */

#define CLI_PROGRESS_WINDOW 32

/* A live line on a terminal, a few plain lines otherwise. */
typedef struct cli_progress {
    FILE *stream; /* NULL: print nothing */
    bool live;
    double tolerance;
    int64_t limit;     /* most iterations */
    int64_t shown;     /* last iteration that was printed, or -1 */
    int64_t iteration; /* last one seen, or -1 */
    double residual;   /* of that iteration */
    double start_ms, drawn_ms;
    double history[CLI_PROGRESS_WINDOW]; /* residuals by iteration modulo the window */
    int drawn;                           /* columns that the line occupies */
} cli_progress;

void cli_progress_start(cli_progress *progress, const cli_options *options);

/* A gsw_monitor_fn; `user` is the cli_progress. */
int cli_progress_monitor(void *user, int64_t iteration, double residual);

/* Shows the last state; the live line is then cleared. */
void cli_progress_finish(cli_progress *progress);

/* ---- Measurement ---------------------------------------------------------------------------- */

/* Monotonic wall clock in milliseconds. */
double cli_now_ms(void);

/* ---- solve_multigrid.c: --precond mg -------------------------------------------------------- */

/* The precision of the cycle, and all that the options ask for. GMRES needs a preconditioner that
 * is linear to more than fp32's digits. */
int cli_mg_precision(const cli_options *options);
gsw_multigrid_options cli_multigrid_options(const cli_options *options);

/* Refuses options of multigrid without it, and with it those of factors. */
int cli_check_multigrid(const cli_options *options);

/* A line about the hierarchy, and with --mg-info a table of its levels. */
void cli_print_multigrid(const cli_options *options, const gsw_multigrid *multigrid);

/* The hierarchy as an object. */
cJSON *cli_multigrid_json(const gsw_multigrid *multigrid);

/* gsw_krylov() with a matrix and a factor (NULL: no preconditioner). */
gsw_status cli_krylov(gsw_context *context, gsw_method method, const gsw_matrix *matrix,
                      gsw_factor *factor, const gsw_krylov_options *options, const double *b,
                      double *x, gsw_krylov_result *result);

/* Median, minimum and maximum; sorts `samples`. */
cli_times cli_summarise(double *samples, int64_t count);

/* What is timed. Each returns a status; `prepare` (may be NULL) is not in the times. */
typedef struct cli_task {
    gsw_status (*prepare)(void *user);
    gsw_status (*run)(void *user);
    void *user;
    gsw_context *context; /* that runs it */
    bool single;          /* one run between two readings of the clock, however short */
    int64_t repeats;      /* how many times to take; 0: 10 at least, more of short runs */
} cli_task;

/* Warms up, then times `run` with the host's clock. Work on a device is waited for before each
 * reading, and short runs are timed in batches, so that the launch of one hides behind the one
 * before; `prepare` comes before each batch. */
gsw_status cli_time(const cli_task *task, cli_times *times);

/* Copy bandwidth of the memory in GB/s, bytes read + written, with that many threads; NaN where
 * the memory for it cannot be had. */
double cli_copy_bandwidth(int threads);

/* max |x - reference| / max |reference|; values that are not finite count as equal where both are
 * the same, else the result is NaN. */
double cli_max_error(const double *x, const double *reference, int64_t count);

/* Bytes of the literature's effective bandwidth: CSR with int32 indices, b and x. */
double cli_effective_bytes(int64_t nonzeros, int64_t rows, int value_bytes, int vector_bytes);

/* ---- Subcommands ---------------------------------------------------------------------------- */

int cmd_info(const cli_options *options);
int cmd_detect(const cli_options *options);
int cmd_solve(const cli_options *options);
int cmd_sptrsv(const cli_options *options);
int cmd_factor(const cli_options *options);
int cmd_generate(const cli_options *options);
int cmd_bench(const cli_options *options);
int cmd_help(const cli_options *options);

#endif
