/* petsc_gamg.c: PETSc's KSPCG and KSPBCGS on one core (MATSEQAIJ), preconditioned by PCGAMG:
 * smoothed aggregation (Vanek, Mandel and Brezina 1996).
 *
 * open() converts the matrix, which is not counted, and tries the settings below on it with b = 1.
 * factor() creates a KSP and sets it up, coarse matrices included. PETSc's memory is not known. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <petscksp.h>

#include "solve_rival_parts.h"

#define PREFIX "gridsweep_gamg_" /* of this solver's options in PETSc's database */

/* Weak couplings are those below the threshold; -1, the default, keeps all. A smoother is a method
 * and its preconditioner. */
typedef struct gamg_setting {
    const char *name, *threshold, *smoother, *relaxation, *smoothed;
} gamg_setting;

static const gamg_setting settings[] = {
    {"Chebyshev and Jacobi", "-1", "chebyshev", "jacobi", "1"},
    {"Chebyshev and Jacobi, threshold 0.02", "0.02", "chebyshev", "jacobi", "1"},
    {"Gauss-Seidel", "-1", "richardson", "sor", "1"},
    {"Gauss-Seidel, threshold 0.02", "0.02", "richardson", "sor", "1"},
    {"Gauss-Seidel, aggregation not smoothed", "-1", "richardson", "sor", "0"},
};
#define SETTINGS ((int)(sizeof settings / sizeof settings[0]))

typedef struct gamg {
    gsw_solve_system system;
    const gamg_setting *setting;
    int trial;   /* a setting is tried */
    gsw_csr csr; /* the arrays that `matrix` uses */
    Mat matrix;
    Vec b, x; /* without arrays of their own */
    KSP ksp;  /* NULL: not created */
    double *trial_b, *trial_x;
} gamg;

/* ---- A solver ---- */

void gsw_petsc_gamg_forget(void *state) {
    gamg *s = state;
    (void)KSPDestroy(&s->ksp);
}

static PetscErrorCode set_options(const gamg_setting *setting) {
    PetscFunctionBeginUser;
    PetscCall(PetscOptionsSetValue(NULL, "-" PREFIX "pc_gamg_threshold", setting->threshold));
    PetscCall(PetscOptionsSetValue(NULL, "-" PREFIX "pc_gamg_agg_nsmooths", setting->smoothed));
    PetscCall(PetscOptionsSetValue(NULL, "-" PREFIX "mg_levels_ksp_type", setting->smoother));
    PetscCall(PetscOptionsSetValue(NULL, "-" PREFIX "mg_levels_pc_type", setting->relaxation));
    PetscFunctionReturn(0);
}

static PetscErrorCode set_up(gamg *s) {
    const int cg = s->system.method == GSW_CG;
    PetscInt limit = s->system.max_iterations < PETSC_MAX_INT ? (PetscInt)s->system.max_iterations
                                                              : PETSC_MAX_INT;
    PC pc;
    PetscFunctionBeginUser;
    if (s->trial && limit > GSW_SOLVE_TRIAL_ITERATIONS)
        limit = GSW_SOLVE_TRIAL_ITERATIONS;
    PetscCall(KSPCreate(PETSC_COMM_SELF, &s->ksp));
    PetscCall(KSPSetOptionsPrefix(s->ksp, PREFIX));
    PetscCall(KSPSetOperators(s->ksp, s->matrix, s->matrix));
    PetscCall(KSPSetType(s->ksp, cg ? KSPCG : KSPBCGS));
    if (!cg)
        PetscCall(KSPSetPCSide(s->ksp, PC_RIGHT));
    PetscCall(KSPSetNormType(s->ksp, KSP_NORM_UNPRECONDITIONED));
    PetscCall(KSPSetTolerances(s->ksp, s->system.rtol, 0, 1e200, limit));
    PetscCall(KSPGetPC(s->ksp, &pc));
    PetscCall(PCSetType(pc, PCGAMG));
    PetscCall(set_options(s->setting));
    PetscCall(KSPSetFromOptions(s->ksp));
    PetscCall(KSPSetUp(s->ksp));
    PetscFunctionReturn(0);
}

static PetscErrorCode solve(gamg *s, const double *b, double *x, gsw_solve_outcome *outcome) {
    PetscInt count;
    KSPConvergedReason reason;
    PetscFunctionBeginUser;
    PetscCall(VecPlaceArray(s->b, b));
    PetscCall(VecPlaceArray(s->x, x));
    PetscCall(KSPSolve(s->ksp, s->b, s->x));
    PetscCall(VecResetArray(s->x));
    PetscCall(VecResetArray(s->b));
    PetscCall(KSPGetIterationNumber(s->ksp, &count));
    PetscCall(KSPGetConvergedReason(s->ksp, &reason));
    outcome->iterations = count;
    outcome->converged = reason > 0;
    PetscFunctionReturn(0);
}

/* ---- The settings ---- */

static int run_trial(void *state, int number, double *milliseconds, int *converged, char *message,
                     size_t size) {
    gamg *s = state;
    gsw_solve_outcome outcome = {0};
    s->setting = &settings[number];
    gsw_petsc_gamg_forget(s);
    const double start = gsw_rival_milliseconds();
    PetscErrorCode error = set_up(s);
    if (error == 0)
        error = solve(s, s->trial_b, s->trial_x, &outcome);
    *milliseconds = gsw_rival_milliseconds() - start;
    *converged = outcome.converged;
    return error == 0 ? 0 : gsw_petsc_fail((int)error, message, size);
}

static int choose(gamg *s, gsw_solve_cost *cost, char *message, size_t size) {
    const size_t n = (size_t)s->csr.rows;
    const gsw_solve_trials trials = {s, SETTINGS, run_trial};
    int best = -1;
    s->trial_b = malloc(n * sizeof *s->trial_b);
    s->trial_x = calloc(n, sizeof *s->trial_x);
    s->trial = 1;
    for (size_t i = 0; s->trial_b != NULL && i < n; i++)
        s->trial_b[i] = 1;
    if (s->trial_b != NULL && s->trial_x != NULL)
        best = gsw_solve_choose(&trials, message, size);
    else
        (void)gsw_rival_fail(message, size, "out of memory");
    s->trial = 0;
    gsw_petsc_gamg_forget(s);
    free(s->trial_x);
    free(s->trial_b);
    if (best < 0)
        return -1;
    s->setting = &settings[best];
    (void)snprintf(cost->settings, sizeof cost->settings, "best of %d: %s", SETTINGS,
                   s->setting->name);
    return 0;
}

/* ---- The rival ---- */

static PetscErrorCode create(gamg *s) {
    const gsw_itype type = sizeof(PetscInt) == sizeof(int32_t) ? GSW_I32 : GSW_I64;
    PetscFunctionBeginUser;
    if (gsw_matrix_to_csr(NULL, s->system.matrix, GSW_FULL, type, &s->csr) != GSW_SUCCESS)
        PetscFunctionReturn(PETSC_ERR_MEM);
    const PetscInt n = (PetscInt)s->csr.rows;
    PetscCall(MatCreateSeqAIJWithArrays(PETSC_COMM_SELF, n, n, (PetscInt *)s->csr.row_ptr,
                                        (PetscInt *)s->csr.columns, (PetscScalar *)s->csr.values,
                                        &s->matrix));
    PetscCall(VecCreateSeqWithArray(PETSC_COMM_SELF, 1, n, NULL, &s->b));
    PetscCall(VecCreateSeqWithArray(PETSC_COMM_SELF, 1, n, NULL, &s->x));
    if (s->system.method == GSW_CG)
        PetscCall(MatSetOption(s->matrix, MAT_SPD, PETSC_TRUE));
    PetscFunctionReturn(0);
}

static int open_state(gamg *s, gsw_solve_cost *cost, char *message, size_t size) {
    const PetscErrorCode error = create(s);
    return error == 0 ? choose(s, cost, message, size) : gsw_petsc_fail((int)error, message, size);
}

int gsw_petsc_gamg_open(const gsw_solve_system *system, void **state, gsw_solve_cost *cost,
                        char *message, size_t size) {
    *state = NULL;
    *cost = (gsw_solve_cost){.buffer_bytes = NAN};
    if (gsw_solve_check(system, 0, message, size) != 0 ||
        gsw_solve_check_diagonal(system, message, size) != 0)
        return -1;
    if (system->method != GSW_CG && system->method != GSW_BICGSTAB)
        return gsw_rival_fail(message, size, "it is asked for cg and bicgstab only");
    if (gsw_petsc_begin(message, size) != 0)
        return -1;
    gamg *s = calloc(1, sizeof *s);
    if (s == NULL)
        return gsw_rival_fail(message, size, "out of memory");
    s->system = *system;
    if (open_state(s, cost, message, size) != 0) {
        gsw_petsc_gamg_close(s);
        return -1;
    }
    *state = s;
    return 0;
}

int gsw_petsc_gamg_factor(void *state, char *message, size_t size) {
    gamg *s = state;
    gsw_petsc_gamg_forget(s);
    const PetscErrorCode error = set_up(s);
    return error == 0 ? 0 : gsw_petsc_fail((int)error, message, size);
}

int gsw_petsc_gamg_solve(void *state, const double *b, double *x, gsw_solve_outcome *outcome,
                         char *message, size_t size) {
    const PetscErrorCode error = solve(state, b, x, outcome);
    return error == 0 ? 0 : gsw_petsc_fail((int)error, message, size);
}

void gsw_petsc_gamg_close(void *state) {
    gamg *s = state;
    if (s == NULL)
        return;
    gsw_petsc_gamg_forget(s);
    (void)VecDestroy(&s->x);
    (void)VecDestroy(&s->b);
    (void)MatDestroy(&s->matrix);
    gsw_csr_free(&s->csr);
    free(s);
}
