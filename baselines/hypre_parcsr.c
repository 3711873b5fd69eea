/* hypre_parcsr.c: a system in hypre's form of rows and columns, and BoomerAMG.
 *
 * On the CPU the points are chosen by HMIS, on a GPU by PMIS; interpolation is extended+i with at
 * most 4 entries per row. Relaxation 6 is symmetric Gauss-Seidel, 8 the same with an l1 diagonal,
 * 18 l1-Jacobi, 16 Chebyshev. `agg` levels are coarsened aggressively, and couplings weaker than
 * theta times the strongest do not count. */
#include "hypre_parcsr.h"

#include <stdlib.h>

#include <HYPRE_IJ_mv.h>
#include <HYPRE_parcsr_ls.h>
#include <_hypre_parcsr_mv.h>

typedef struct parallel_csr {
    HYPRE_IJMatrix matrix;
    HYPRE_IJVector b, x;
    HYPRE_ParVector par_b, par_x;
} parallel_csr;

/* ---- The matrix ---- */

/* The rows as hypre's integers. */
typedef struct rows_of {
    HYPRE_Int *sizes;
    HYPRE_BigInt *rows, *columns;
} rows_of;

static int convert(const gsw_csr *csr, rows_of *out) {
    const int32_t *row_ptr = csr->row_ptr, *columns = csr->columns;
    out->sizes = malloc((size_t)csr->rows * sizeof *out->sizes);
    out->rows = malloc((size_t)csr->rows * sizeof *out->rows);
    out->columns = malloc((size_t)csr->nonzeros * sizeof *out->columns);
    if (out->sizes == NULL || out->rows == NULL || out->columns == NULL)
        return -1;
    for (int64_t row = 0; row < csr->rows; row++) {
        out->sizes[row] = row_ptr[row + 1] - row_ptr[row];
        out->rows[row] = (HYPRE_BigInt)row;
    }
    for (int64_t k = 0; k < csr->nonzeros; k++)
        out->columns[k] = columns[k];
    return 0;
}

static void free_rows(rows_of *r) {
    free(r->columns);
    free(r->rows);
    free(r->sizes);
}

static int set_values(gsw_hypre *s, parallel_csr *p, const rows_of *r) {
    const gsw_csr *csr = &s->system.matrix->csr;
    const size_t rows = (size_t)csr->rows, entries = (size_t)csr->nonzeros;
    void *sizes = gsw_hypre_lend(s, r->sizes, rows * sizeof *r->sizes);
    void *numbers = gsw_hypre_lend(s, r->rows, rows * sizeof *r->rows);
    void *columns = gsw_hypre_lend(s, r->columns, entries * sizeof *r->columns);
    void *values = gsw_hypre_lend(s, csr->values, entries * sizeof(double));
    const int lent = sizes != NULL && numbers != NULL && columns != NULL && values != NULL;
    if (lent) {
        (void)HYPRE_IJMatrixSetValues(p->matrix, s->n, sizes, numbers, columns, values);
        (void)HYPRE_IJMatrixAssemble(p->matrix);
    }
    gsw_hypre_give_back(values);
    gsw_hypre_give_back(columns);
    gsw_hypre_give_back(numbers);
    gsw_hypre_give_back(sizes);
    return lent ? gsw_hypre_check(s, "HYPRE_IJMatrixSetValues") : -1;
}

static int make_matrix(gsw_hypre *s, parallel_csr *p) {
    void *object = NULL;
    rows_of r = {0};
    const HYPRE_BigInt last = s->n - 1;
    GSW_HYPRE_CALL(s, HYPRE_IJMatrixCreate(GSW_HYPRE_COMM, 0, last, 0, last, &p->matrix));
    GSW_HYPRE_CALL(s, HYPRE_IJMatrixSetObjectType(p->matrix, HYPRE_PARCSR));
    int failed = convert(&s->system.matrix->csr, &r);
    if (failed) {
        (void)gsw_rival_fail(s->message, s->size, "out of memory");
    } else {
        (void)HYPRE_IJMatrixSetRowSizes(p->matrix, r.sizes);
        (void)HYPRE_IJMatrixInitialize(p->matrix);
        failed = gsw_hypre_check(s, "HYPRE_IJMatrixInitialize");
    }
    if (!failed)
        failed = set_values(s, p, &r);
    free_rows(&r);
    GSW_HYPRE_TRY(failed);
    GSW_HYPRE_CALL(s, HYPRE_IJMatrixGetObject(p->matrix, &object));
    s->matrix = object;
    return 0;
}

/* ---- The form ---- */

static int make_vector(gsw_hypre *s, HYPRE_IJVector *vector, HYPRE_ParVector *object) {
    void *made = NULL;
    GSW_HYPRE_CALL(s, HYPRE_IJVectorCreate(GSW_HYPRE_COMM, 0, s->n - 1, vector));
    GSW_HYPRE_CALL(s, HYPRE_IJVectorSetObjectType(*vector, HYPRE_PARCSR));
    GSW_HYPRE_CALL(s, HYPRE_IJVectorInitialize(*vector));
    GSW_HYPRE_CALL(s, HYPRE_IJVectorAssemble(*vector));
    GSW_HYPRE_CALL(s, HYPRE_IJVectorGetObject(*vector, &made));
    *object = made;
    GSW_HYPRE_CALL(s, HYPRE_ParVectorSetConstantValues(*object, 0));
    return 0;
}

static int open_form(gsw_hypre *s) {
    parallel_csr *p = calloc(1, sizeof *p);
    s->parts = p;
    if (p == NULL)
        return gsw_rival_fail(s->message, s->size, "out of memory");
    GSW_HYPRE_TRY(make_matrix(s, p));
    GSW_HYPRE_TRY(make_vector(s, &p->b, &p->par_b));
    GSW_HYPRE_TRY(make_vector(s, &p->x, &p->par_x));
    s->b = (HYPRE_Vector)p->par_b;
    s->x = (HYPRE_Vector)p->par_x;
    return 0;
}

static void close_form(gsw_hypre *s) {
    parallel_csr *p = s->parts;
    if (p == NULL)
        return;
    if (p->x != NULL)
        (void)HYPRE_IJVectorDestroy(p->x);
    if (p->b != NULL)
        (void)HYPRE_IJVectorDestroy(p->b);
    if (p->matrix != NULL)
        (void)HYPRE_IJMatrixDestroy(p->matrix);
    free(p);
    s->parts = NULL;
}

/* The values of this process, which are all. */
static double *values_of(HYPRE_ParVector vector) {
    return hypre_VectorData(hypre_ParVectorLocalVector((hypre_ParVector *)vector));
}

static int set_b(gsw_hypre *s, const double *b) {
    parallel_csr *p = s->parts;
    if (b != NULL)
        return gsw_hypre_copy(s, values_of(p->par_b), b);
    GSW_HYPRE_CALL(s, HYPRE_ParVectorSetConstantValues(p->par_b, 1));
    return 0;
}

static int clear_x(gsw_hypre *s) {
    parallel_csr *p = s->parts;
    GSW_HYPRE_CALL(s, HYPRE_ParVectorSetConstantValues(p->par_x, 0));
    return 0;
}

static int get_x(gsw_hypre *s, double *x) {
    parallel_csr *p = s->parts;
    GSW_HYPRE_TRY(gsw_hypre_wait(s));
    return gsw_hypre_copy(s, x, values_of(p->par_x));
}

static int make_krylov(gsw_hypre *s) {
    if (s->system.method == GSW_CG)
        GSW_HYPRE_CALL(s, HYPRE_ParCSRPCGCreate(GSW_HYPRE_COMM, &s->krylov));
    else
        GSW_HYPRE_CALL(s, HYPRE_ParCSRBiCGSTABCreate(GSW_HYPRE_COMM, &s->krylov));
    return 0;
}

static void free_krylov(gsw_hypre *s) {
    if (s->system.method == GSW_CG)
        (void)HYPRE_ParCSRPCGDestroy(s->krylov);
    else
        (void)HYPRE_ParCSRBiCGSTABDestroy(s->krylov);
}

static const gsw_hypre_form form = {open_form, close_form,  set_b,      clear_x,
                                    get_x,     make_krylov, free_krylov};

/* ---- BoomerAMG ---- */

#if GSW_HYPRE_ON_DEVICE
#define PMIS 8
static const gsw_hypre_setting settings[] = {
    {"PMIS, relax 18, agg 0, theta 0.25", 18, 0, -1, PMIS, 0, 0.25},
    {"PMIS, relax 18, agg 1, theta 0.25", 18, 0, -1, PMIS, 1, 0.25},
    {"PMIS, relax 16, agg 1, theta 0.25", 16, 0, GSW_CG, PMIS, 1, 0.25},
    {"PMIS, relax 18, agg 0, theta 0.5", 18, 0, -1, PMIS, 0, 0.5},
};
#else
#define HMIS 10
static const gsw_hypre_setting settings[] = {
    {"HMIS, relax 6, agg 0, theta 0.25", 6, 0, -1, HMIS, 0, 0.25},
    {"HMIS, relax 6, agg 0, theta 0.5", 6, 0, -1, HMIS, 0, 0.5},
    {"HMIS, relax 6, agg 1, theta 0.25", 6, 0, -1, HMIS, 1, 0.25},
    {"HMIS, relax 6, agg 1, theta 0.5", 6, 0, -1, HMIS, 1, 0.5},
    {"HMIS, relax 8, agg 0, theta 0.25", 8, 0, -1, HMIS, 0, 0.25},
};
#endif

static int amg_can(const gsw_hypre *s, const gsw_hypre_setting *setting) {
    (void)s, (void)setting;
    return 1;
}

/* What a GPU wants: the transpose of each product's operand is kept. */
static int set_products(gsw_hypre *s) {
#if GSW_HYPRE_ON_DEVICE
    GSW_HYPRE_CALL(s, HYPRE_BoomerAMGSetKeepTranspose(s->precond, 1));
    GSW_HYPRE_CALL(s, HYPRE_BoomerAMGSetRAP2(s->precond, 1));
#else
    (void)s;
#endif
    return 0;
}

static int amg_make(gsw_hypre *s) {
    const gsw_hypre_setting *setting = s->setting;
    const HYPRE_PtrToSolverFcn solve = (HYPRE_PtrToSolverFcn)HYPRE_BoomerAMGSolve;
    const HYPRE_PtrToSolverFcn set_up = (HYPRE_PtrToSolverFcn)HYPRE_BoomerAMGSetup;
    GSW_HYPRE_CALL(s, HYPRE_BoomerAMGCreate(&s->precond));
    GSW_HYPRE_CALL(s, HYPRE_BoomerAMGSetTol(s->precond, 0));
    GSW_HYPRE_CALL(s, HYPRE_BoomerAMGSetMaxIter(s->precond, 1));
    GSW_HYPRE_CALL(s, HYPRE_BoomerAMGSetCoarsenType(s->precond, setting->coarsen));
    GSW_HYPRE_CALL(s, HYPRE_BoomerAMGSetInterpType(s->precond, 6));
    GSW_HYPRE_CALL(s, HYPRE_BoomerAMGSetPMaxElmts(s->precond, 4));
    GSW_HYPRE_CALL(s, HYPRE_BoomerAMGSetStrongThreshold(s->precond, setting->threshold));
    GSW_HYPRE_CALL(s, HYPRE_BoomerAMGSetRelaxType(s->precond, setting->relax));
    GSW_HYPRE_CALL(s, HYPRE_BoomerAMGSetRelaxOrder(s->precond, 0));
    GSW_HYPRE_CALL(s, HYPRE_BoomerAMGSetAggNumLevels(s->precond, setting->agg));
    GSW_HYPRE_CALL(s, HYPRE_BoomerAMGSetAggInterpType(s->precond, GSW_HYPRE_ON_DEVICE ? 5 : 4));
    GSW_HYPRE_TRY(set_products(s));
    if (s->system.method == GSW_CG)
        GSW_HYPRE_CALL(s, HYPRE_PCGSetPrecond(s->krylov, solve, set_up, s->precond));
    else
        GSW_HYPRE_CALL(s, HYPRE_BiCGSTABSetPrecond(s->krylov, solve, set_up, s->precond));
    return 0;
}

static void amg_free(gsw_hypre *s) {
    (void)HYPRE_BoomerAMGDestroy(s->precond);
}

const gsw_hypre_kind gsw_hypre_boomeramg = {
    &form, settings, (int)(sizeof settings / sizeof settings[0]), amg_can, amg_make, amg_free};
