/* bench.h: what the files of `gridsweep bench` share.
 *
 * bench_plan.c reads the lists, bench_case.c makes systems, solves and times them, cmd_bench.c goes
 * through all combinations and prints. */
#ifndef GSW_CLI_BENCH_H
#define GSW_CLI_BENCH_H

#include "cli.h"

#define BENCH_LIST_MAX 32

typedef enum bench_part { PART_LOWER, PART_UPPER, PART_BOTH } bench_part;
typedef enum bench_precision { PRECISION_F64, PRECISION_F32, PRECISION_F32_FACTOR } bench_precision;

extern const char *const bench_part_names[];
extern const char *const bench_precision_names[];

typedef struct bench_list {
    int count;
    int values[BENCH_LIST_MAX];
} bench_list;

/* What to run. */
typedef struct bench_plan {
    int stencils, sizes;
    gsw_stencil stencil[BENCH_LIST_MAX];
    char size[BENCH_LIST_MAX][64];
    bench_list parts;      /* bench_part */
    bench_list precisions; /* bench_precision */
    bench_list algorithms; /* gsw_algorithm, without AUTO */
    bench_list threads;    /* 0: as many as there are */
} bench_plan;

/* Reads the lists of the command line. Returns an exit code. */
int bench_make_plan(const cli_options *options, bench_plan *plan);

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

#endif
