/* hypre_struct.c: a system in hypre's structured form, PFMG and SMG.
 *
 * hypre knows five shapes of a stencil: 5 and 9 points in two dimensions, 7, 19 and 27 in three.
 * The system takes the smallest that holds its couplings; the others of that shape are zeros.
 * Couplings that reach farther than 1 are refused. A symmetric matrix for CG is given by half of
 * its couplings, with which hypre makes the coarse matrices sooner.
 *
 * PFMG's relaxation 1 is weighted Jacobi, 2 red-black Gauss-Seidel, 3 the same for matrices that
 * are not symmetric. Its coarse matrices are Galerkin's (rap 0) or again of 5 or 7 points (rap 1),
 * which only such matrices have; red-black always means rap 1. SMG smooths by planes. */
#include "hypre_struct.h"

#include <stdlib.h>

#include <HYPRE_struct_ls.h>
#include <HYPRE_struct_mv.h>

#define POINTS 27 /* the largest shape */

typedef struct structured {
    HYPRE_StructGrid grid;
    HYPRE_StructStencil stencil;
    HYPRE_StructMatrix matrix;
    HYPRE_StructVector b, x;
    HYPRE_Int first[3], last[3]; /* of the grid's points */
    int dimensions, count, symmetric;
    gsw_offset offsets[POINTS]; /* of the shape that is given */
} structured;

/* ---- The shape ---- */

static int reach(const gsw_offset *o) {
    return abs(o->dx) + abs(o->dy) + abs(o->dz);
}

static int largest(const gsw_offset *o) {
    int x = abs(o->dx), y = abs(o->dy), z = abs(o->dz);
    return x > y ? (x > z ? x : z) : (y > z ? y : z);
}

/* Whether the couplings of `o` belong to the half that is given of a symmetric matrix. */
static int is_given(const structured *p, const gsw_offset *o) {
    const int place = o->dx + 3 * (o->dy + 3 * o->dz);
    return !p->symmetric || place >= 0;
}

/* All offsets of at most `steps` steps along the axes. */
static void fill_shape(structured *p, int steps) {
    const int depth = p->dimensions == 3;
    p->count = 0;
    for (int32_t dz = -depth; dz <= depth; dz++)
        for (int32_t dy = -1; dy <= 1; dy++)
            for (int32_t dx = -1; dx <= 1; dx++) {
                const gsw_offset o = {dx, dy, dz};
                if (reach(&o) <= steps && is_given(p, &o))
                    p->offsets[p->count++] = o;
            }
}

static int choose_shape(gsw_hypre *s, structured *p) {
    const gsw_matrix *matrix = s->system.matrix;
    int steps = 1;
    p->dimensions = 2;
    for (int32_t e = 0; e < matrix->stencil.count; e++) {
        const gsw_offset *o = &matrix->stencil.offsets[e];
        if (largest(o) > 1)
            return gsw_rival_fail(s->message, s->size,
                                  "its structured multigrid takes stencils that reach 1 point");
        if (reach(o) > steps)
            steps = reach(o);
        if (o->dz != 0)
            p->dimensions = 3;
    }
    fill_shape(p, steps);
    return 0;
}

/* 5 or 7 points. */
static int is_star(const structured *p) {
    for (int e = 0; e < p->count; e++)
        if (reach(&p->offsets[e]) > 1)
            return 0;
    return 1;
}

/* ---- The coefficients ---- */

/* The entry of a row in a column; 0 where there is none. */
static double find(const gsw_csr *csr, int64_t row, int64_t column) {
    const int32_t *row_ptr = csr->row_ptr, *columns = csr->columns;
    for (int32_t k = row_ptr[row]; k < row_ptr[row + 1]; k++)
        if (columns[k] == column)
            return ((const double *)csr->values)[k];
    return 0;
}

static int is_symmetric(const gsw_csr *csr) {
    const int32_t *row_ptr = csr->row_ptr, *columns = csr->columns;
    const double *values = csr->values;
    for (int64_t row = 0; row < csr->rows; row++)
        for (int32_t k = row_ptr[row]; k < row_ptr[row + 1]; k++)
            if (columns[k] != row && find(csr, columns[k], row) != values[k])
                return 0;
    return 1;
}

/* The couplings of one offset, in natural order; 0 where they would leave the grid. */
static void gather(const gsw_matrix *matrix, const gsw_offset *o, double *out) {
    const gsw_grid *grid = &matrix->grid;
    const int64_t shift = o->dx + grid->nx * (o->dy + grid->ny * o->dz);
    int64_t row = 0;
    for (int64_t z = o->dz; z < grid->nz + o->dz; z++)
        for (int64_t y = o->dy; y < grid->ny + o->dy; y++)
            for (int64_t x = o->dx; x < grid->nx + o->dx; x++, row++)
                out[row] =
                    x >= 0 && x < grid->nx && y >= 0 && y < grid->ny && z >= 0 && z < grid->nz
                        ? find(&matrix->csr, row, row + shift)
                        : 0;
}

static int set_entry(gsw_hypre *s, structured *p, HYPRE_Int entry, double *values) {
    const size_t bytes = (size_t)s->n * sizeof *values;
    gather(s->system.matrix, &p->offsets[entry], values);
    double *lent = gsw_hypre_lend(s, values, bytes);
    if (lent == NULL)
        return -1;
    (void)HYPRE_StructMatrixSetBoxValues(p->matrix, p->first, p->last, 1, &entry, lent);
    gsw_hypre_give_back(lent);
    return gsw_hypre_check(s, "HYPRE_StructMatrixSetBoxValues");
}

static int set_matrix(gsw_hypre *s, structured *p) {
    int failed = 0;
    double *values = malloc((size_t)s->n * sizeof *values);
    if (values == NULL)
        return gsw_rival_fail(s->message, s->size, "out of memory");
    for (int e = 0; e < p->count && !failed; e++)
        failed = set_entry(s, p, e, values);
    free(values);
    GSW_HYPRE_TRY(failed);
    GSW_HYPRE_CALL(s, HYPRE_StructMatrixAssemble(p->matrix));
    return 0;
}

/* ---- The form ---- */

static int make_grid(gsw_hypre *s, structured *p) {
    const gsw_grid *grid = &s->system.matrix->grid;
    p->last[0] = (HYPRE_Int)(grid->nx - 1);
    p->last[1] = (HYPRE_Int)(grid->ny - 1);
    p->last[2] = (HYPRE_Int)(grid->nz - 1);
    if (p->dimensions == 2 && grid->nz > 1)
        p->dimensions = 3; /* planes that do not meet */
    GSW_HYPRE_CALL(s, HYPRE_StructGridCreate(GSW_HYPRE_COMM, p->dimensions, &p->grid));
    GSW_HYPRE_CALL(s, HYPRE_StructGridSetExtents(p->grid, p->first, p->last));
    GSW_HYPRE_CALL(s, HYPRE_StructGridAssemble(p->grid));
    return 0;
}

static int make_matrix(gsw_hypre *s, structured *p) {
    GSW_HYPRE_CALL(s, HYPRE_StructStencilCreate(p->dimensions, p->count, &p->stencil));
    for (int e = 0; e < p->count; e++) {
        HYPRE_Int offset[3] = {p->offsets[e].dx, p->offsets[e].dy, p->offsets[e].dz};
        GSW_HYPRE_CALL(s, HYPRE_StructStencilSetElement(p->stencil, e, offset));
    }
    GSW_HYPRE_CALL(s, HYPRE_StructMatrixCreate(GSW_HYPRE_COMM, p->grid, p->stencil, &p->matrix));
    GSW_HYPRE_CALL(s, HYPRE_StructMatrixSetSymmetric(p->matrix, p->symmetric));
    GSW_HYPRE_CALL(s, HYPRE_StructMatrixInitialize(p->matrix));
    return set_matrix(s, p);
}

static int make_vector(gsw_hypre *s, structured *p, HYPRE_StructVector *vector) {
    GSW_HYPRE_CALL(s, HYPRE_StructVectorCreate(GSW_HYPRE_COMM, p->grid, vector));
    GSW_HYPRE_CALL(s, HYPRE_StructVectorInitialize(*vector));
    GSW_HYPRE_CALL(s, HYPRE_StructVectorSetConstantValues(*vector, 0));
    GSW_HYPRE_CALL(s, HYPRE_StructVectorAssemble(*vector));
    return 0;
}

static int open_form(gsw_hypre *s) {
    structured *p = calloc(1, sizeof *p);
    s->parts = p;
    if (p == NULL)
        return gsw_rival_fail(s->message, s->size, "out of memory");
    p->symmetric = s->system.method == GSW_CG && is_symmetric(&s->system.matrix->csr);
    GSW_HYPRE_TRY(choose_shape(s, p));
    GSW_HYPRE_TRY(make_grid(s, p));
    GSW_HYPRE_TRY(make_matrix(s, p));
    GSW_HYPRE_TRY(make_vector(s, p, &p->b));
    GSW_HYPRE_TRY(make_vector(s, p, &p->x));
    s->matrix = (HYPRE_Matrix)p->matrix;
    s->b = (HYPRE_Vector)p->b;
    s->x = (HYPRE_Vector)p->x;
    return 0;
}

static void close_form(gsw_hypre *s) {
    structured *p = s->parts;
    if (p == NULL)
        return;
    if (p->x != NULL)
        (void)HYPRE_StructVectorDestroy(p->x);
    if (p->b != NULL)
        (void)HYPRE_StructVectorDestroy(p->b);
    if (p->matrix != NULL)
        (void)HYPRE_StructMatrixDestroy(p->matrix);
    if (p->stencil != NULL)
        (void)HYPRE_StructStencilDestroy(p->stencil);
    if (p->grid != NULL)
        (void)HYPRE_StructGridDestroy(p->grid);
    free(p);
    s->parts = NULL;
}

static int set_b(gsw_hypre *s, const double *b) {
    structured *p = s->parts;
    if (b == NULL)
        GSW_HYPRE_CALL(s, HYPRE_StructVectorSetConstantValues(p->b, 1));
    else
        GSW_HYPRE_CALL(s, HYPRE_StructVectorSetBoxValues(p->b, p->first, p->last, (double *)b));
    return 0;
}

static int clear_x(gsw_hypre *s) {
    structured *p = s->parts;
    GSW_HYPRE_CALL(s, HYPRE_StructVectorSetConstantValues(p->x, 0));
    return 0;
}

static int get_x(gsw_hypre *s, double *x) {
    structured *p = s->parts;
    GSW_HYPRE_CALL(s, HYPRE_StructVectorGetBoxValues(p->x, p->first, p->last, x));
    return 0;
}

static int make_krylov(gsw_hypre *s) {
    HYPRE_StructSolver krylov = NULL;
    if (s->system.method == GSW_CG)
        GSW_HYPRE_CALL(s, HYPRE_StructPCGCreate(GSW_HYPRE_COMM, &krylov));
    else
        GSW_HYPRE_CALL(s, HYPRE_StructBiCGSTABCreate(GSW_HYPRE_COMM, &krylov));
    s->krylov = (HYPRE_Solver)krylov;
    return 0;
}

static void free_krylov(gsw_hypre *s) {
    if (s->system.method == GSW_CG)
        (void)HYPRE_StructPCGDestroy((HYPRE_StructSolver)s->krylov);
    else
        (void)HYPRE_StructBiCGSTABDestroy((HYPRE_StructSolver)s->krylov);
}

static const gsw_hypre_form form = {open_form, close_form,  set_b,      clear_x,
                                    get_x,     make_krylov, free_krylov};

static int couple(gsw_hypre *s, HYPRE_PtrToStructSolverFcn solve,
                  HYPRE_PtrToStructSolverFcn set_up) {
    HYPRE_StructSolver krylov = (HYPRE_StructSolver)s->krylov;
    HYPRE_StructSolver precond = (HYPRE_StructSolver)s->precond;
    if (s->system.method == GSW_CG)
        GSW_HYPRE_CALL(s, HYPRE_StructPCGSetPrecond(krylov, solve, set_up, precond));
    else
        GSW_HYPRE_CALL(s, HYPRE_StructBiCGSTABSetPrecond(krylov, solve, set_up, precond));
    return 0;
}

/* ---- PFMG ---- */

static const gsw_hypre_setting pfmg_settings[] = {
    {.name = "relax 1 (weighted Jacobi), rap 0 (Galerkin)", .relax = 1, .rap = 0, .method = -1},
    {.name = "relax 1 (weighted Jacobi), rap 1 (not Galerkin)", .relax = 1, .rap = 1, .method = -1},
    {.name = "relax 2 (red-black), rap 1 (not Galerkin)", .relax = 2, .rap = 1, .method = -1},
    {.name = "relax 3 (red-black, nonsymmetric), rap 1 (not Galerkin)",
     .relax = 3,
     .rap = 1,
     .method = GSW_BICGSTAB},
};

static int pfmg_can(const gsw_hypre *s, const gsw_hypre_setting *setting) {
    return setting->rap == 0 || is_star(s->parts);
}

static int pfmg_make(gsw_hypre *s) {
    HYPRE_StructSolver pfmg = NULL;
    GSW_HYPRE_CALL(s, HYPRE_StructPFMGCreate(GSW_HYPRE_COMM, &pfmg));
    s->precond = (HYPRE_Solver)pfmg;
    GSW_HYPRE_CALL(s, HYPRE_StructPFMGSetMaxIter(pfmg, 1));
    GSW_HYPRE_CALL(s, HYPRE_StructPFMGSetTol(pfmg, 0));
    GSW_HYPRE_CALL(s, HYPRE_StructPFMGSetZeroGuess(pfmg));
    GSW_HYPRE_CALL(s, HYPRE_StructPFMGSetRAPType(pfmg, s->setting->rap));
    GSW_HYPRE_CALL(s, HYPRE_StructPFMGSetRelaxType(pfmg, s->setting->relax));
    GSW_HYPRE_CALL(s, HYPRE_StructPFMGSetNumPreRelax(pfmg, 1));
    GSW_HYPRE_CALL(s, HYPRE_StructPFMGSetNumPostRelax(pfmg, 1));
    GSW_HYPRE_CALL(s, HYPRE_StructPFMGSetSkipRelax(pfmg, 1));
    return couple(s, HYPRE_StructPFMGSolve, HYPRE_StructPFMGSetup);
}

static void pfmg_free(gsw_hypre *s) {
    (void)HYPRE_StructPFMGDestroy((HYPRE_StructSolver)s->precond);
}

const gsw_hypre_kind gsw_hypre_pfmg = {
    &form,    pfmg_settings, (int)(sizeof pfmg_settings / sizeof pfmg_settings[0]),
    pfmg_can, pfmg_make,     pfmg_free};

/* ---- SMG ---- */

static const gsw_hypre_setting smg_settings[] = {{.name = "", .method = -1}};

static int smg_can(const gsw_hypre *s, const gsw_hypre_setting *setting) {
    (void)s, (void)setting;
    return 1;
}

static int smg_make(gsw_hypre *s) {
    HYPRE_StructSolver smg = NULL;
    GSW_HYPRE_CALL(s, HYPRE_StructSMGCreate(GSW_HYPRE_COMM, &smg));
    s->precond = (HYPRE_Solver)smg;
    GSW_HYPRE_CALL(s, HYPRE_StructSMGSetMemoryUse(smg, 0));
    GSW_HYPRE_CALL(s, HYPRE_StructSMGSetMaxIter(smg, 1));
    GSW_HYPRE_CALL(s, HYPRE_StructSMGSetTol(smg, 0));
    GSW_HYPRE_CALL(s, HYPRE_StructSMGSetZeroGuess(smg));
    GSW_HYPRE_CALL(s, HYPRE_StructSMGSetNumPreRelax(smg, 1));
    GSW_HYPRE_CALL(s, HYPRE_StructSMGSetNumPostRelax(smg, 1));
    return couple(s, HYPRE_StructSMGSolve, HYPRE_StructSMGSetup);
}

static void smg_free(gsw_hypre *s) {
    (void)HYPRE_StructSMGDestroy((HYPRE_StructSolver)s->precond);
}

const gsw_hypre_kind gsw_hypre_smg = {&form, smg_settings, 1, smg_can, smg_make, smg_free};
