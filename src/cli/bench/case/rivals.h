/* rivals.h: the way to the solvers of baselines/: those of triangular systems behind rival.h, those
 * of whole systems behind solve_rival.h. A build without them (without GSW_BUILD_PERF) says so. */
#ifndef GSW_CLI_BENCH_RIVALS_H
#define GSW_CLI_BENCH_RIVALS_H

#include "common/options.h"

#define BENCH_RIVALS_MAX 64

/* Who solves: the library, another solver, or a step of the ablation. */
typedef enum bench_side { SIDE_GRIDSWEEP, SIDE_RIVAL, SIDE_ABLATION } bench_side;

/* One of baselines/, of triangular or of whole systems. */
typedef struct bench_rival {
    const char *name;
    bench_side side;
    bool on_device;      /* takes device arrays */
    bool named;          /* asked for by name, so also where it takes long */
    const char *precond; /* of whole systems: its own preconditioner, or NULL */
    const struct gsw_rival *sweeps;
    const struct gsw_solve_rival *solves;
} bench_rival;

typedef struct bench_rivals {
    int count;
    bench_rival list[BENCH_RIVALS_MAX]; /* rivals, then steps of the ablation */
} bench_rivals;

/* What a rival solves. */
typedef struct bench_rival_system {
    const gsw_matrix *host; /* a CSR */
    gsw_part part;          /* the one that it holds */
    const gsw_csr *device;  /* the same in device memory; NULL where there is none */
    void *stream;
    /* Of whole solves: */
    gsw_method method;
    int precond; /* a gsw_factor_kind, CLI_PRECOND_NONE or, which none takes, CLI_PRECOND_MG */
    int threads; /* that it may use */
    double rtol;
    int64_t max_iterations;
} bench_rival_system;

/* What solving cost and how it ended; numbers that are not known are as they were. */
typedef struct bench_rival_outcome {
    double setup_ms, buffer_bytes;
    int threads; /* of the CPU; 1 where that is not known */
    char settings[128];
    int64_t iterations;
    int converged;
} bench_rival_outcome;

/* Why a rival cannot go on. */
typedef struct bench_reason {
    char text[512];
} bench_reason;

/* Finds what --compare and --ablation name: solvers of triangular systems, or with `whole` those of
 * whole systems. Returns an exit code. */
int bench_find_rivals(const cli_options *options, bool whole, bench_rivals *out);

/* These return false after writing a reason. Only solvers of whole systems have a factor step. */
bool bench_rival_open(const bench_rival *rival, const bench_rival_system *system, void **state,
                      bench_rival_outcome *outcome, bench_reason *reason);
bool bench_rival_factor(const bench_rival *rival, void *state, bench_reason *reason);
bool bench_rival_solve(const bench_rival *rival, void *state, const void *b, void *x,
                       bench_rival_outcome *outcome, bench_reason *reason);
void bench_rival_forget(const bench_rival *rival, void *state); /* before each factor step */
void bench_rival_close(const bench_rival *rival, void *state);

#endif
