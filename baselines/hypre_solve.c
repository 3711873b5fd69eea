/* hypre_solve.c: hypre's own CG and BiCGSTAB, preconditioned by one cycle of its multigrids: PFMG
 * (Ashby and Falgout 1996), SMG (Schaffer 1998; Brown, Falgout and Jones 2000) or BoomerAMG (Henson
 * and Yang 2002).
 *
 * open() brings the system into hypre's form, which is not counted, and tries the multigrid's
 * settings on it with b = 1. factor() makes methods and multigrid and sets them up from the matrix;
 * solve() copies b in, iterates from zero and copies x out. The memory that hypre keeps is not
 * known. On the CPU a hypre with OpenMP uses the threads that it is given, any other one core. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "hypre_parcsr.h"
#include "hypre_struct.h"

#if defined(HYPRE_USING_OPENMP) && defined(_OPENMP) && !GSW_HYPRE_ON_DEVICE
#include <omp.h>
#define THREADED 1
#else
#define THREADED 0
#endif

/* ---- Threads ---- */

/* Sets the threads of the calls that follow; returns the former number. */
static int use_threads(int threads) {
#if THREADED
    const int before = omp_get_max_threads();
    omp_set_num_threads(threads > 0 ? threads : 1);
    return before;
#else
    (void)threads;
    return 0;
#endif
}

static int threads_of(const gsw_solve_system *system) {
    return THREADED && system->threads > 0 ? system->threads : 1;
}

/* ---- A solver ---- */

void gsw_hypre_forget(void *state) {
    gsw_hypre *s = state;
    if (s->krylov != NULL)
        s->kind->form->free_krylov(s);
    if (s->precond != NULL)
        s->kind->free_precond(s);
    s->krylov = s->precond = NULL;
    (void)HYPRE_ClearAllErrors();
}

static int64_t limit_of(const gsw_hypre *s) {
    const int64_t most = s->trial ? GSW_SOLVE_TRIAL_ITERATIONS : INT32_MAX;
    return s->system.max_iterations < most ? s->system.max_iterations : most;
}

static int set_method(gsw_hypre *s) {
    const HYPRE_Int limit = (HYPRE_Int)limit_of(s);
    if (s->system.method == GSW_CG) {
        GSW_HYPRE_CALL(s, HYPRE_PCGSetTol(s->krylov, s->system.rtol));
        GSW_HYPRE_CALL(s, HYPRE_PCGSetMaxIter(s->krylov, limit));
        GSW_HYPRE_CALL(s, HYPRE_PCGSetTwoNorm(s->krylov, 1));
        GSW_HYPRE_CALL(s, HYPRE_PCGSetRelChange(s->krylov, 0));
    } else {
        GSW_HYPRE_CALL(s, HYPRE_BiCGSTABSetTol(s->krylov, s->system.rtol));
        GSW_HYPRE_CALL(s, HYPRE_BiCGSTABSetMaxIter(s->krylov, limit));
    }
    return 0;
}

static int set_up(gsw_hypre *s) {
    GSW_HYPRE_TRY(s->kind->form->make_krylov(s));
    GSW_HYPRE_TRY(set_method(s));
    GSW_HYPRE_TRY(s->kind->make_precond(s));
    if (s->system.method == GSW_CG)
        GSW_HYPRE_CALL(s, HYPRE_PCGSetup(s->krylov, s->matrix, s->b, s->x));
    else
        GSW_HYPRE_CALL(s, HYPRE_BiCGSTABSetup(s->krylov, s->matrix, s->b, s->x));
    return gsw_hypre_wait(s);
}

static int iterate(gsw_hypre *s, gsw_solve_outcome *outcome) {
    HYPRE_Int iterations = 0;
    HYPRE_Real norm = NAN;
    if (s->system.method == GSW_CG) {
        GSW_HYPRE_CALL(s, HYPRE_PCGSolve(s->krylov, s->matrix, s->b, s->x));
        GSW_HYPRE_CALL(s, HYPRE_PCGGetNumIterations(s->krylov, &iterations));
        GSW_HYPRE_CALL(s, HYPRE_PCGGetFinalRelativeResidualNorm(s->krylov, &norm));
    } else {
        GSW_HYPRE_CALL(s, HYPRE_BiCGSTABSolve(s->krylov, s->matrix, s->b, s->x));
        GSW_HYPRE_CALL(s, HYPRE_BiCGSTABGetNumIterations(s->krylov, &iterations));
        GSW_HYPRE_CALL(s, HYPRE_BiCGSTABGetFinalRelativeResidualNorm(s->krylov, &norm));
    }
    outcome->iterations = iterations;
    outcome->converged = norm <= s->system.rtol;
    return gsw_hypre_wait(s);
}

/* ---- The settings ---- */

static int is_allowed(const gsw_hypre *s, const gsw_hypre_setting *setting) {
    return (setting->method < 0 || setting->method == (int)s->system.method) &&
           s->kind->can(s, setting);
}

static int run_trial(void *state, int number, double *milliseconds, int *converged, char *message,
                     size_t size) {
    gsw_hypre *s = state;
    gsw_solve_outcome outcome = {0};
    s->message = message;
    s->size = size;
    s->setting = &s->kind->settings[number];
    if (!is_allowed(s, s->setting))
        return -1;
    gsw_hypre_forget(s);
    GSW_HYPRE_TRY(s->kind->form->set_b(s, NULL));
    GSW_HYPRE_TRY(s->kind->form->clear_x(s));
    GSW_HYPRE_TRY(gsw_hypre_wait(s));
    const double start = gsw_rival_milliseconds();
    GSW_HYPRE_TRY(set_up(s));
    GSW_HYPRE_TRY(iterate(s, &outcome));
    *milliseconds = gsw_rival_milliseconds() - start;
    *converged = outcome.converged;
    return 0;
}

static int choose(gsw_hypre *s, gsw_solve_cost *cost, char *message, size_t size) {
    int tried = 0, best = 0;
    for (int i = 0; i < s->kind->count; i++)
        tried += is_allowed(s, &s->kind->settings[i]);
    if (tried > 1) {
        const gsw_solve_trials trials = {s, s->kind->count, run_trial};
        s->trial = 1;
        best = gsw_solve_choose(&trials, message, size);
        s->trial = 0;
        gsw_hypre_forget(s);
    }
    if (best < 0)
        return -1;
    s->setting = &s->kind->settings[best];
    if (tried > 1)
        (void)snprintf(cost->settings, sizeof cost->settings, "best of %d: %s", tried,
                       s->setting->name);
    else
        (void)snprintf(cost->settings, sizeof cost->settings, "%s", s->setting->name);
    return 0;
}

/* ---- The rivals ---- */

static int prepare(gsw_hypre *s, gsw_solve_cost *cost, char *message, size_t size) {
    const int before = use_threads(s->system.threads);
    int failed = s->kind->form->open(s);
    if (!failed)
        failed = choose(s, cost, message, size);
    (void)use_threads(before);
    return failed;
}

static int open_kind(const gsw_solve_system *system, const gsw_hypre_kind *kind, void **state,
                     gsw_solve_cost *cost, char *message, size_t size) {
    *state = NULL;
    *cost = (gsw_solve_cost){.buffer_bytes = NAN, .threads = threads_of(system)};
    if (gsw_solve_check(system, GSW_HYPRE_ON_DEVICE, message, size) != 0 ||
        gsw_solve_check_diagonal(system, message, size) != 0)
        return -1;
    if (system->method != GSW_CG && system->method != GSW_BICGSTAB)
        return gsw_rival_fail(message, size, "it is asked for cg and bicgstab only");
    if (gsw_hypre_begin(message, size) != 0)
        return -1;
    gsw_hypre *s = calloc(1, sizeof *s);
    if (s == NULL)
        return gsw_rival_fail(message, size, "out of memory");
    s->system = *system;
    s->kind = kind;
    s->n = (int)system->matrix->csr.rows;
    s->message = message;
    s->size = size;
    if (prepare(s, cost, message, size) != 0) {
        gsw_hypre_close(s);
        return -1;
    }
    *state = s;
    return 0;
}

int gsw_hypre_pfmg_open(const gsw_solve_system *system, void **state, gsw_solve_cost *cost,
                        char *message, size_t size) {
    return open_kind(system, &gsw_hypre_pfmg, state, cost, message, size);
}

int gsw_hypre_smg_open(const gsw_solve_system *system, void **state, gsw_solve_cost *cost,
                       char *message, size_t size) {
    return open_kind(system, &gsw_hypre_smg, state, cost, message, size);
}

int gsw_hypre_boomeramg_open(const gsw_solve_system *system, void **state, gsw_solve_cost *cost,
                             char *message, size_t size) {
    return open_kind(system, &gsw_hypre_boomeramg, state, cost, message, size);
}

int gsw_hypre_factor(void *state, char *message, size_t size) {
    gsw_hypre *s = state;
    s->message = message;
    s->size = size;
    const int before = use_threads(s->system.threads);
    gsw_hypre_forget(s);
    const int failed = set_up(s);
    (void)use_threads(before);
    return failed;
}

static int solve(gsw_hypre *s, const double *b, double *x, gsw_solve_outcome *outcome) {
    int zero = 0;
    GSW_HYPRE_TRY(gsw_hypre_wait(s)); /* for b, whichever stream has written it */
    GSW_HYPRE_TRY(gsw_hypre_is_zero(s, b, &zero));
    GSW_HYPRE_TRY(s->kind->form->set_b(s, b));
    GSW_HYPRE_TRY(s->kind->form->clear_x(s));
    /* Where b = 0, hypre takes no step and reports the end of the previous solve. */
    if (zero)
        outcome->converged = 1;
    else
        GSW_HYPRE_TRY(iterate(s, outcome));
    GSW_HYPRE_TRY(s->kind->form->get_x(s, x));
    return gsw_hypre_wait(s);
}

int gsw_hypre_solve(void *state, const double *b, double *x, gsw_solve_outcome *outcome,
                    char *message, size_t size) {
    gsw_hypre *s = state;
    s->message = message;
    s->size = size;
    *outcome = (gsw_solve_outcome){0};
    const int before = use_threads(s->system.threads);
    const int failed = solve(s, b, x, outcome);
    (void)use_threads(before);
    return failed;
}

void gsw_hypre_close(void *state) {
    gsw_hypre *s = state;
    if (s == NULL)
        return;
    gsw_hypre_forget(s);
    s->kind->form->close(s);
    free(s);
}
