/* petsc_solve.c: ILU(0) and Krylov solves by PETSc on the matrix of a gsw_matrix. */
#include <stdlib.h>
#include <time.h>

#include <petscksp.h>

#include "petsc_solve.h"

static double milliseconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return 1e3 * (double)now.tv_sec + 1e-6 * (double)now.tv_nsec;
}

static int compare_doubles(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values, int count) {
    qsort(values, (size_t)count, sizeof *values, compare_doubles);
    return count % 2 == 1 ? values[count / 2] : 0.5 * (values[count / 2 - 1] + values[count / 2]);
}

int gsw_baseline_petsc_begin(void) {
    PetscFunctionBeginUser;
    /* The program keeps its own signal handlers. */
    PetscCall(PetscOptionsSetValue(NULL, "-no_signal_handler", "true"));
    PetscCall(PetscInitializeNoArguments());
    PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
    PetscFunctionReturn(0);
}

void gsw_baseline_petsc_end(void) {
    (void)PetscFinalize();
}

/* The objects of a baseline, which must be freed after any failure. */
typedef struct system_of_petsc {
    gsw_csr csr; /* the arrays that `a` uses */
    Mat a, factor;
    Vec b, x;
    IS rows, columns;
    KSP ksp;
} system_of_petsc;

static void destroy(system_of_petsc *s) {
    (void)KSPDestroy(&s->ksp);
    (void)ISDestroy(&s->columns);
    (void)ISDestroy(&s->rows);
    (void)VecDestroy(&s->x);
    (void)VecDestroy(&s->b);
    (void)MatDestroy(&s->factor);
    (void)MatDestroy(&s->a);
    gsw_csr_free(&s->csr);
}

static PetscErrorCode create(const gsw_matrix *matrix, const double *b, double *x,
                             system_of_petsc *s) {
    PetscFunctionBeginUser;
    gsw_itype type = sizeof(PetscInt) == sizeof(int32_t) ? GSW_I32 : GSW_I64;
    if (gsw_matrix_to_csr(NULL, matrix, GSW_FULL, type, &s->csr) != GSW_SUCCESS)
        PetscFunctionReturn(PETSC_ERR_ARG_WRONG);
    PetscCheck(s->csr.value_type == GSW_F64, PETSC_COMM_SELF, PETSC_ERR_SUP,
               "the matrix must be fp64");
    PetscInt n = (PetscInt)s->csr.rows;
    /* PETSc uses the arrays directly and does not change them. */
    PetscCall(MatCreateSeqAIJWithArrays(PETSC_COMM_SELF, n, n, (PetscInt *)s->csr.row_ptr,
                                        (PetscInt *)s->csr.columns, (PetscScalar *)s->csr.values,
                                        &s->a));
    PetscCall(VecCreateSeqWithArray(PETSC_COMM_SELF, 1, n, b, &s->b));
    PetscCall(VecCreateSeqWithArray(PETSC_COMM_SELF, 1, n, x, &s->x));
    PetscFunctionReturn(0);
}

/* Times MatLUFactorNumeric and MatSolve; times[] has room for `repeats` values. */
static PetscErrorCode time_ilu0(system_of_petsc *s, int repeats, double *times, double *factor_ms,
                                double *solve_ms) {
    PetscFunctionBeginUser;
    MatFactorInfo info;
    PetscCall(MatFactorInfoInitialize(&info));
    info.levels = 0;
    info.fill = 1.0;
    info.shifttype = (PetscReal)MAT_SHIFT_NONE;
    PetscCall(MatGetOrdering(s->a, MATORDERINGNATURAL, &s->rows, &s->columns));
    PetscCall(MatGetFactor(s->a, MATSOLVERPETSC, MAT_FACTOR_ILU, &s->factor));
    PetscCall(MatILUFactorSymbolic(s->factor, s->a, s->rows, s->columns, &info));
    for (int k = -1; k < repeats; k++) {
        double start = milliseconds();
        PetscCall(MatLUFactorNumeric(s->factor, s->a, &info));
        if (k >= 0)
            times[k] = milliseconds() - start;
    }
    *factor_ms = median(times, repeats);
    for (int k = -1; k < repeats; k++) {
        double start = milliseconds();
        PetscCall(MatSolve(s->factor, s->b, s->x));
        if (k >= 0)
            times[k] = milliseconds() - start;
    }
    *solve_ms = median(times, repeats);
    PetscFunctionReturn(0);
}

int gsw_baseline_petsc_ilu0(const gsw_matrix *matrix, const double *b, double *x, int repeats,
                            double *factor_ms, double *solve_ms) {
    system_of_petsc s = {0};
    double *times = repeats >= 1 ? malloc((size_t)repeats * sizeof *times) : NULL;
    if (times == NULL)
        return PETSC_ERR_MEM;
    PetscErrorCode error = create(matrix, b, x, &s);
    if (error == 0)
        error = time_ilu0(&s, repeats, times, factor_ms, solve_ms);
    destroy(&s);
    free(times);
    return (int)error;
}

static PetscErrorCode set_method(KSP ksp, gsw_method method, const gsw_krylov_options *options) {
    static const KSPType types[] = {
        [GSW_CG] = KSPCG, [GSW_BICGSTAB] = KSPBCGS, [GSW_GMRES] = KSPGMRES};
    int is_true = options->norm == GSW_NORM_TRUE;
    PetscFunctionBeginUser;
    PetscCall(KSPSetType(ksp, types[method]));
    if (method == GSW_GMRES && options->restart > 0)
        PetscCall(KSPGMRESSetRestart(ksp, options->restart));
    if (method != GSW_CG)
        PetscCall(KSPSetPCSide(ksp, is_true ? PC_RIGHT : PC_LEFT));
    PetscCall(KSPSetNormType(ksp, is_true ? KSP_NORM_UNPRECONDITIONED : KSP_NORM_PRECONDITIONED));
    /* gridsweep has no limit on the growth of the residual. */
    PetscReal rtol = options->rtol > 0 || options->atol > 0 ? options->rtol : 1e-8;
    PetscInt limit = options->max_iterations > 0 ? (PetscInt)options->max_iterations : 10000;
    PetscCall(KSPSetTolerances(ksp, rtol, options->atol, 1e200, limit));
    PetscFunctionReturn(0);
}

static PetscErrorCode set_preconditioner(KSP ksp, const gsw_factor_kind *precond) {
    PC pc;
    PetscFunctionBeginUser;
    PetscCall(KSPGetPC(ksp, &pc));
    if (precond == NULL) {
        PetscCall(PCSetType(pc, PCNONE));
        PetscFunctionReturn(0);
    }
    if (*precond == GSW_JACOBI) {
        PetscCall(PCSetType(pc, PCJACOBI));
        PetscFunctionReturn(0);
    }
    PetscCheck(*precond == GSW_ILU0 || *precond == GSW_IC0, PETSC_COMM_SELF, PETSC_ERR_SUP,
               "PETSc is asked for JACOBI, ILU0 and IC0 only");
    PetscCall(PCSetType(pc, *precond == GSW_ILU0 ? PCILU : PCICC));
    PetscCall(PCFactorSetLevels(pc, 0));
    PetscCall(PCFactorSetMatOrderingType(pc, MATORDERINGNATURAL));
    PetscCall(PCFactorSetShiftType(pc, MAT_SHIFT_NONE));
    PetscFunctionReturn(0);
}

/* ---- Whole solves ---- */

struct gsw_baseline_petsc {
    system_of_petsc system;
};

/* A bad pivot does not make KSPSetUp fail. */
static PetscErrorCode check_factor(KSP ksp) {
    PC pc;
    PCFailedReason reason;
    PetscFunctionBeginUser;
    PetscCall(KSPGetPC(ksp, &pc));
    PetscCall(PCGetFailedReason(pc, &reason));
    if (reason != PC_NOERROR)
        PetscFunctionReturn(PETSC_ERR_MAT_LU_ZRPVT);
    PetscFunctionReturn(0);
}

static PetscErrorCode set_up(system_of_petsc *s, gsw_method method, const gsw_factor_kind *precond,
                             const gsw_krylov_options *options) {
    PetscFunctionBeginUser;
    PetscCall(KSPCreate(PETSC_COMM_SELF, &s->ksp));
    PetscCall(KSPSetOperators(s->ksp, s->a, s->a));
    PetscCall(set_method(s->ksp, method, options));
    PetscCall(set_preconditioner(s->ksp, precond));
    PetscCall(KSPSetUp(s->ksp));
    PetscCall(check_factor(s->ksp));
    PetscFunctionReturn(0);
}

int gsw_baseline_petsc_open(const gsw_matrix *matrix, gsw_method method,
                            const gsw_factor_kind *precond, const gsw_krylov_options *options,
                            gsw_baseline_petsc **petsc, double *setup_ms) {
    static const gsw_krylov_options defaults = {.size = sizeof defaults};
    gsw_baseline_petsc *p = calloc(1, sizeof *p);
    *petsc = NULL;
    if (p == NULL)
        return PETSC_ERR_MEM;
    PetscErrorCode error = create(matrix, NULL, NULL, &p->system);
    double start = milliseconds();
    if (error == 0)
        error = set_up(&p->system, method, precond, options != NULL ? options : &defaults);
    *setup_ms = milliseconds() - start;
    if (error != 0)
        gsw_baseline_petsc_close(p);
    else
        *petsc = p;
    return (int)error;
}

/* Factorises a matrix whose values may have changed again, in the known pattern. */
static PetscErrorCode refactor(system_of_petsc *s) {
    PC pc;
    PetscScalar *values;
    PetscFunctionBeginUser;
    PetscCall(MatSeqAIJGetArray(s->a, &values));
    PetscCall(MatSeqAIJRestoreArray(s->a, &values));
    PetscCall(KSPGetPC(s->ksp, &pc));
    PetscCall(PCSetUp(pc));
    PetscCall(check_factor(s->ksp));
    PetscFunctionReturn(0);
}

int gsw_baseline_petsc_factor(gsw_baseline_petsc *petsc) {
    return (int)refactor(&petsc->system);
}

static PetscErrorCode solve(system_of_petsc *s, const double *b, double *x, int64_t *iterations,
                            int *converged) {
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
    *iterations = count;
    *converged = reason > 0;
    PetscFunctionReturn(0);
}

int gsw_baseline_petsc_solve(gsw_baseline_petsc *petsc, const double *b, double *x,
                             int64_t *iterations, int *converged) {
    return (int)solve(&petsc->system, b, x, iterations, converged);
}

void gsw_baseline_petsc_close(gsw_baseline_petsc *petsc) {
    if (petsc != NULL)
        destroy(&petsc->system);
    free(petsc);
}

int gsw_baseline_petsc_krylov(const gsw_matrix *matrix, gsw_method method,
                              const gsw_factor_kind *precond, const gsw_krylov_options *options,
                              const double *b, double *x, int64_t *iterations, int *converged) {
    gsw_baseline_petsc *petsc;
    double setup_ms;
    int error = gsw_baseline_petsc_open(matrix, method, precond, options, &petsc, &setup_ms);
    if (error == 0)
        error = gsw_baseline_petsc_solve(petsc, b, x, iterations, converged);
    gsw_baseline_petsc_close(petsc);
    return error;
}
