/* test_petsc_multigrid.c: -pc_type gridsweep in PETSc against the same hierarchy in the library: as
 * many iterations, the same cycle bit for bit, new values, singular matrices, the sources of the
 * grid, and refusals. Type auto against the library's choice. PETSc loads the plug-in as in any
 * program. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <check.h>
#include <petscdmda.h>
#include <petscksp.h>
#include <gridsweep/gridsweep.h>

#include "suite.h"

#define PETSC(call) ck_assert_int_eq((int)(call), 0)
#define GSW(call)   ck_assert_int_eq((call), GSW_SUCCESS)

static gsw_context *context;

/* A matrix in the library, and PETSc's on the same arrays. */
typedef struct matrix_pair {
    gsw_csr csr;
    gsw_matrix ours;
    Mat theirs;
    int64_t n;
    double *values; /* of the csr */
} matrix_pair;

/* What a test opens stays until its end. */
static struct {
    matrix_pair pairs[4];
    KSP ksp;
    PC pcs[8];
    double *vectors[32];
    int pair_count, pc_count, vector_count;
} opened;

static void open_context(void) {
    const gsw_context_options options = {
        .size = sizeof options, .backend = GSW_BACKEND_CPU, .threads = 1};
    memset(&opened, 0, sizeof opened);
    GSW(gsw_context_create(&options, &context));
}

static void close_context(void) {
    for (int i = 0; i < opened.pc_count; i++)
        PETSC(PCDestroy(&opened.pcs[i]));
    PETSC(KSPDestroy(&opened.ksp));
    for (int i = 0; i < opened.pair_count; i++) {
        PETSC(MatDestroy(&opened.pairs[i].theirs));
        gsw_csr_free(&opened.pairs[i].csr);
    }
    for (int i = 0; i < opened.vector_count; i++)
        free(opened.vectors[i]);
    gsw_context_destroy(context);
}

static matrix_pair *open_pair_with(const char *problem_text, const gsw_stencil *stencil) {
    matrix_pair *pair = &opened.pairs[opened.pair_count++];
    gsw_problem *problem = NULL;
    GSW(gsw_problem_parse(context, problem_text, stencil, &problem));
    const gsw_matrix *made = gsw_problem_matrix(problem);
    GSW(gsw_matrix_to_csr(context, made, GSW_FULL, sizeof(PetscInt) == 4 ? GSW_I32 : GSW_I64,
                          &pair->csr));
    GSW(gsw_matrix_from_csr(context, &made->grid, &made->stencil, &pair->csr, &pair->ours));
    gsw_problem_destroy(problem);
    pair->n = pair->csr.rows;
    pair->values = (double *)(uintptr_t)pair->csr.values;
    PETSC(MatCreateSeqAIJWithArrays(PETSC_COMM_SELF, (PetscInt)pair->n, (PetscInt)pair->n,
                                    (PetscInt *)(uintptr_t)pair->csr.row_ptr,
                                    (PetscInt *)(uintptr_t)pair->csr.columns, pair->values,
                                    &pair->theirs));
    return pair;
}

static matrix_pair *open_pair(const char *problem_text) {
    return open_pair_with(problem_text, NULL);
}

/* Marks PETSc's matrix as changed after the arrays have got other values. */
static void changed(matrix_pair *pair) {
    PETSC(MatAssemblyBegin(pair->theirs, MAT_FINAL_ASSEMBLY));
    PETSC(MatAssemblyEnd(pair->theirs, MAT_FINAL_ASSEMBLY));
}

/* Couplings become weaker, each pair in both directions alike. */
static void vary(matrix_pair *pair) {
    const PetscInt *row_ptr = pair->csr.row_ptr, *columns = pair->csr.columns;
    for (PetscInt i = 0; i < (PetscInt)pair->n; i++)
        for (PetscInt e = row_ptr[i]; e < row_ptr[i + 1]; e++)
            pair->values[e] *= 1 - 0.3 * (i != columns[e]) * fabs(sin((double)i + columns[e]));
    changed(pair);
}

/* The diagonal becomes minus the sum of the others in its row. */
static void make_singular(matrix_pair *pair) {
    const PetscInt *row_ptr = pair->csr.row_ptr, *columns = pair->csr.columns;
    for (PetscInt i = 0; i < (PetscInt)pair->n; i++) {
        PetscInt diagonal = -1;
        double sum = 0;
        for (PetscInt e = row_ptr[i]; e < row_ptr[i + 1]; e++)
            if (columns[e] == i)
                diagonal = e;
            else
                sum += pair->values[e];
        pair->values[diagonal] = -sum;
    }
    changed(pair);
}

/* Sets options as on a command line, such as "-ksp_type cg", and clears those of an earlier
 * test. */
static void set_options(const char *options) {
    static const char *const ours[] = {
        "type",          "grid",           "backend",           "threads",
        "mg_cycle",      "mg_smoother",    "mg_theta",          "mg_precision",
        "mg_pre_sweeps", "mg_post_sweeps", "mg_coarsest_points"};
    for (size_t k = 0; k < sizeof ours / sizeof ours[0]; k++) {
        char name[64];
        snprintf(name, sizeof name, "-pc_gridsweep_%s", ours[k]);
        PETSC(PetscOptionsClearValue(NULL, name));
    }
    PETSC(PetscOptionsInsertString(NULL, options));
}

static KSP open_ksp(matrix_pair *pair, KSPType type, double rtol) {
    PC pc;
    PETSC(KSPCreate(PETSC_COMM_SELF, &opened.ksp));
    KSP ksp = opened.ksp;
    PETSC(KSPSetType(ksp, type));
    PETSC(KSPSetOperators(ksp, pair->theirs, pair->theirs));
    PETSC(KSPGetPC(ksp, &pc));
    PETSC(PCSetType(pc, "gridsweep"));
    if (strcmp(type, KSPCG) != 0)
        PETSC(KSPSetPCSide(ksp, PC_RIGHT));
    PETSC(KSPSetNormType(ksp, KSP_NORM_UNPRECONDITIONED));
    PETSC(KSPSetTolerances(ksp, rtol, 0, PETSC_DEFAULT, 500));
    return ksp;
}

/* Iterations of PETSc's method; the true relative residual of its x. */
static int64_t solve_theirs(KSP ksp, const matrix_pair *pair, double *b, double *x,
                            double *residual) {
    Vec from, to, r;
    PetscInt iterations;
    PetscReal rr, bb;
    KSPConvergedReason reason;
    PETSC(VecCreateSeqWithArray(PETSC_COMM_SELF, 1, (PetscInt)pair->n, b, &from));
    PETSC(VecCreateSeqWithArray(PETSC_COMM_SELF, 1, (PetscInt)pair->n, x, &to));
    PETSC(KSPSolve(ksp, from, to));
    PETSC(KSPGetIterationNumber(ksp, &iterations));
    PETSC(KSPGetConvergedReason(ksp, &reason));
    ck_assert_int_gt(reason, 0);
    PETSC(VecDuplicate(from, &r));
    PETSC(MatMult(pair->theirs, to, r));
    PETSC(VecAXPY(r, -1, from));
    PETSC(VecNorm(r, NORM_2, &rr));
    PETSC(VecNorm(from, NORM_2, &bb));
    *residual = rr / bb;
    PETSC(VecDestroy(&r));
    PETSC(VecDestroy(&to));
    PETSC(VecDestroy(&from));
    return iterations;
}

static int64_t solve_ours(const matrix_pair *pair, gsw_method method, double rtol,
                          const gsw_multigrid_options *options, int singular, const double *b,
                          double *x) {
    gsw_krylov_options krylov = {.size = sizeof krylov, .rtol = rtol};
    gsw_krylov_result result = {.size = sizeof result};
    gsw_multigrid *multigrid = NULL;
    gsw_operator *op = NULL;
    gsw_preconditioner *preconditioner = NULL;
    krylov.nullspace = singular ? GSW_NULLSPACE_CONSTANT : GSW_NULLSPACE_NONE;
    memset(x, 0, (size_t)pair->n * sizeof *x);
    GSW(gsw_multigrid_create(context, &pair->ours, options, &multigrid));
    GSW(gsw_operator_from_matrix(context, &pair->ours, &op));
    GSW(gsw_preconditioner_from_multigrid(context, multigrid, &preconditioner));
    GSW(gsw_krylov(context, method, op, preconditioner, &krylov, b, x, &result));
    gsw_preconditioner_destroy(preconditioner);
    gsw_operator_destroy(op);
    gsw_multigrid_destroy(multigrid);
    return result.iterations;
}

static double *new_vector(int64_t n, uint64_t seed) {
    double *v = malloc((size_t)n * sizeof *v);
    ck_assert_ptr_nonnull(v);
    ck_assert_int_lt(opened.vector_count, (int)(sizeof opened.vectors / sizeof opened.vectors[0]));
    opened.vectors[opened.vector_count++] = v;
    gsw_random_vector(seed, n, v);
    return v;
}

/* ---- As many iterations -----------------------------------------------------------------------
 */

static const char *const problems[] = {"poisson:32x32x32", "lognormal:24x40x31",
                                       "anisotropic:20x21x22", "lognormal:70x65",
                                       "convection:20x19x18"};
enum { PROBLEMS = (int)(sizeof problems / sizeof problems[0]) };

TEST(counts_are_the_librarys) {
    const int kind = _i / 4, cycle = _i % 2, type = _i / 2 % 2;
    const int symmetric = strncmp(problems[kind], "convection", 10) != 0;
    gsw_multigrid_options options = {.size = sizeof options,
                                     .cycle = cycle ? GSW_CYCLE_F : GSW_CYCLE_V,
                                     .cycle_type = type ? GSW_F32 : GSW_F64};
    double residual;
    set_options(cycle ? "-pc_gridsweep_mg_cycle F" : "-pc_gridsweep_mg_cycle V");
    PETSC(PetscOptionsInsertString(NULL, type ? "-pc_gridsweep_mg_precision f32"
                                              : "-pc_gridsweep_mg_precision f64"));
    matrix_pair *pair = open_pair(problems[kind]);
    /* With f32 the method must be a flexible one, or CG. */
    KSP ksp = open_ksp(pair, symmetric ? KSPCG : type ? KSPFBCGS : KSPBCGS, 1e-8);
    double *b = new_vector(pair->n, 3), *x = new_vector(pair->n, 4);
    /* The second round has other values in the same pattern. */
    for (int round = 0; round < 2; round++) {
        const int64_t theirs = solve_theirs(ksp, pair, b, x, &residual);
        ck_assert_double_le(residual, 1.1e-8);
        const int64_t ours =
            solve_ours(pair, symmetric ? GSW_CG : GSW_BICGSTAB, 1e-8, &options, 0, b, x);
        ck_assert_msg(llabs(theirs - ours) <= 1, "%s, cycle %d, type %d: %lld in PETSc, %lld here",
                      problems[kind], cycle, type, (long long)theirs, (long long)ours);
        ck_assert_int_le(ours, 30);
        vary(pair);
    }
}

TEST(flexible_gmres_converges) {
    double residual;
    set_options("-pc_gridsweep_mg_precision f32");
    matrix_pair *pair = open_pair(problems[_i]);
    KSP ksp = open_ksp(pair, KSPFGMRES, 1e-9);
    double *b = new_vector(pair->n, 3), *x = new_vector(pair->n, 4);
    ck_assert_int_le(solve_theirs(ksp, pair, b, x, &residual), 40);
    ck_assert_double_le(residual, 1.1e-9);
}

TEST(a_null_space_costs_nothing) {
    const gsw_multigrid_options options = {.size = sizeof options,
                                           .cycle = _i % 2 ? GSW_CYCLE_F : GSW_CYCLE_V};
    MatNullSpace constants;
    double residual, sum = 0, mean = 0;
    set_options(_i % 2 ? "-pc_gridsweep_mg_cycle F" : "-pc_gridsweep_mg_cycle V");
    matrix_pair *pair = open_pair(_i / 2 ? "lognormal:24x22x20" : "poisson:32x31x30");
    make_singular(pair);
    PETSC(MatNullSpaceCreate(PETSC_COMM_SELF, PETSC_TRUE, 0, NULL, &constants));
    PETSC(MatSetNullSpace(pair->theirs, constants));
    PETSC(MatNullSpaceDestroy(&constants));
    KSP ksp = open_ksp(pair, KSPCG, 1e-8);
    double *b = new_vector(pair->n, 3), *x = new_vector(pair->n, 4);
    for (int64_t i = 0; i < pair->n; i++)
        mean += b[i] / (double)pair->n;
    for (int64_t i = 0; i < pair->n; i++)
        b[i] -= mean; /* PETSc takes a consistent b */
    const int64_t theirs = solve_theirs(ksp, pair, b, x, &residual);
    ck_assert_double_le(residual, 1.1e-8);
    for (int64_t i = 0; i < pair->n; i++)
        sum += x[i];
    ck_assert_double_le(fabs(sum), 1e-9 * (double)pair->n);
    const int64_t ours = solve_ours(pair, GSW_CG, 1e-8, &options, 1, b, x);
    ck_assert_msg(llabs(theirs - ours) <= 1, "%lld in PETSc, %lld here", (long long)theirs,
                  (long long)ours);
    ck_assert_int_le(ours, _i / 2 ? 25 : 12);
}

/* ---- The same cycle ---------------------------------------------------------------------------
 */

/* With these options PCApply() gives the bits of gsw_multigrid_apply(). */
static const struct {
    const char *options;
    gsw_multigrid_options same;
} variants[] = {
    {"", {0}},
    {"-pc_gridsweep_mg_smoother ilu0 -pc_gridsweep_mg_cycle w",
     {.smoother = GSW_SMOOTHER_ILU0, .cycle = GSW_CYCLE_W}},
    {"-pc_gridsweep_mg_smoother ilu0-finest -pc_gridsweep_mg_precision f32",
     {.smoother = GSW_SMOOTHER_ILU0_FINEST, .cycle_type = GSW_F32}},
    {"-pc_gridsweep_mg_smoother symgs -pc_gridsweep_mg_pre_sweeps 2 "
     "-pc_gridsweep_mg_post_sweeps 3",
     {.smoother = GSW_SMOOTHER_SYMGS, .pre_sweeps = 2, .post_sweeps = 3}},
    {"-pc_gridsweep_mg_smoother jacobi -pc_gridsweep_mg_theta 0.001",
     {.smoother = GSW_SMOOTHER_JACOBI, .theta = 0.001}},
    {"-pc_gridsweep_mg_smoother chebyshev -pc_gridsweep_mg_coarsest_points 20",
     {.smoother = GSW_SMOOTHER_CHEBYSHEV, .coarsest_points = 20}},
    {"-pc_gridsweep_mg_smoother gs -pc_gridsweep_threads 2", {.smoother = GSW_SMOOTHER_GS}},
};
enum { VARIANTS = (int)(sizeof variants / sizeof variants[0]) };

/* y = M^-1 b by PETSc, or by its transpose; the error's number. */
static int apply_theirs(PC pc, int transpose, int64_t n, double *b, double *y) {
    Vec from, to;
    PETSC(VecCreateSeqWithArray(PETSC_COMM_SELF, 1, (PetscInt)n, b, &from));
    PETSC(VecCreateSeqWithArray(PETSC_COMM_SELF, 1, (PetscInt)n, y, &to));
    const int error = (int)(transpose ? PCApplyTranspose(pc, from, to) : PCApply(pc, from, to));
    PETSC(VecDestroy(&to));
    PETSC(VecDestroy(&from));
    return error;
}

/* Sets the preconditioner up, which then gives the bits of this hierarchy. */
static void expect_bits(PC pc, const matrix_pair *pair, const gsw_multigrid_options *options) {
    gsw_multigrid *multigrid = NULL;
    double *b = new_vector(pair->n, 3), *x = new_vector(pair->n, 4), *y = new_vector(pair->n, 5);
    PETSC(PCSetUp(pc));
    GSW(gsw_multigrid_create(context, &pair->ours, options, &multigrid));
    GSW(gsw_multigrid_apply(context, multigrid, b, x));
    PETSC(apply_theirs(pc, 0, pair->n, b, y));
    ck_assert_mem_eq(x, y, (size_t)pair->n * sizeof *x);
    gsw_multigrid_destroy(multigrid);
}

static PC open_pc(matrix_pair *pair) {
    PC *pc = &opened.pcs[opened.pc_count++];
    PETSC(PCCreate(PETSC_COMM_SELF, pc));
    PETSC(PCSetType(*pc, "gridsweep"));
    PETSC(PCSetOperators(*pc, pair->theirs, pair->theirs));
    return *pc;
}

TEST(cycles_are_the_librarys) {
    gsw_multigrid_options same = variants[_i].same;
    PCType type;
    same.size = sizeof same;
    set_options(variants[_i].options);
    matrix_pair *pair = open_pair("anisotropic:17x14x12");
    PC pc = open_pc(pair);
    PETSC(PCSetUp(pc));
    PETSC(PCGetType(pc, &type));
    ck_assert_str_eq(type, "gridsweep");
    expect_bits(pc, pair, &same);
    /* Another type and back. */
    PETSC(PCSetType(pc, PCJACOBI));
    PETSC(PCSetUp(pc));
    PETSC(PCSetType(pc, "gridsweep"));
    expect_bits(pc, pair, &same);
    PETSC(PCReset(pc));
    PETSC(PCSetOperators(pc, pair->theirs, pair->theirs));
    expect_bits(pc, pair, &same);
}

TEST(new_values_and_new_patterns) {
    const gsw_multigrid_options options = {.size = sizeof options};
    set_options("");
    matrix_pair *pair = open_pair("poisson:17x14x12");
    PC pc = open_pc(pair);
    expect_bits(pc, pair, &options);
    vary(pair); /* refilled */
    expect_bits(pc, pair, &options);
    for (PetscInt e = 0; e < (PetscInt)pair->csr.nonzeros; e += 2)
        pair->values[e] *= 1.1; /* no longer symmetric: created anew, with another smoother */
    changed(pair);
    expect_bits(pc, pair, &options);
    /* Another matrix: wider, and of another size. */
    matrix_pair *wider = open_pair("hpcg:17x14x12");
    PETSC(PCSetOperators(pc, wider->theirs, wider->theirs));
    expect_bits(pc, wider, &options);
    matrix_pair *wind = open_pair("convection:15x9x20");
    PETSC(PCReset(pc));
    PETSC(PCSetOperators(pc, wind->theirs, wind->theirs));
    expect_bits(pc, wind, &options);
}

TEST(transposes_of_symmetric_cycles) {
    static const struct {
        const char *problem, *options;
        int symmetric;
    } cases[] = {{"poisson:17x14x12", "", 1},
                 {"poisson:17x14x12", "-pc_gridsweep_mg_cycle F", 0},
                 {"poisson:17x14x12", "-pc_gridsweep_mg_pre_sweeps 2", 0},
                 {"convection:17x14x12", "", 0}};
    set_options(cases[_i].options);
    matrix_pair *pair = open_pair(cases[_i].problem);
    PC pc = open_pc(pair);
    PETSC(PCSetUp(pc));
    double *b = new_vector(pair->n, 3), *x = new_vector(pair->n, 4), *y = new_vector(pair->n, 5);
    PETSC(apply_theirs(pc, 0, pair->n, b, x));
    PETSC(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
    const int error = apply_theirs(pc, 1, pair->n, b, y);
    PETSC(PetscPopErrorHandler());
    ck_assert_int_eq(error, cases[_i].symmetric ? 0 : PETSC_ERR_SUP);
    if (cases[_i].symmetric)
        ck_assert_mem_eq(x, y, (size_t)pair->n * sizeof *x);
}

/* ---- Where the grid comes from ----------------------------------------------------------------
 */

/* PETSc's report of the preconditioner holds these words. */
static void expect_report(PC pc, const char *words) {
    PetscViewer viewer;
    char text[4096];
    FILE *file = tmpfile();
    ck_assert_ptr_nonnull(file);
    PETSC(PetscViewerASCIIOpenWithFILE(PETSC_COMM_SELF, file, &viewer));
    PETSC(PCView(pc, viewer));
    PETSC(PetscViewerDestroy(&viewer));
    rewind(file);
    text[fread(text, 1, sizeof text - 1, file)] = 0;
    fclose(file);
    ck_assert_msg(strstr(text, words) != NULL, "no '%s' in\n%s", words, text);
}

/* What PCSetUp() ends with, without PETSc's message. */
static int error_of_set_up(PC pc) {
    PETSC(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
    const int error = (int)PCSetUp(pc);
    PETSC(PetscPopErrorHandler());
    return error;
}

TEST(grids_come_from_a_dmda_or_an_option_or_the_matrix) {
    DM dm;
    set_options("");
    matrix_pair *pair = open_pair("poisson:12x6x20");
    PC pc = open_pc(pair);
    PETSC(PCSetUp(pc));
    expect_report(pc, "mg, grid 12x6x20, stencil D3N7\n");
    expect_report(pc, "2 levels, V cycle, smoother gs, f64, operator complexity ");
    expect_report(pc, "12x6x20       D3N7");
    expect_report(pc, "direct");
    expect_report(pc, "backend cpu, threads 1, ");

    /* As one plane the couplings along z are 6 lines away. The library says so. */
    pc = open_pc(pair);
    set_options("-pc_gridsweep_grid 12x120");
    ck_assert_int_eq(error_of_set_up(pc), PETSC_ERR_SUP);

    /* An option takes precedence over a DMDA, and a DMDA over the matrix, if its size fits. */
    PETSC(DMDACreate2d(PETSC_COMM_SELF, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DMDA_STENCIL_STAR, 12,
                       120, 1, 1, 1, 1, NULL, NULL, &dm));
    PETSC(DMSetUp(dm));
    pc = open_pc(pair);
    PETSC(PCSetDM(pc, dm));
    set_options("");
    ck_assert_int_eq(error_of_set_up(pc), PETSC_ERR_SUP);
    set_options("-pc_gridsweep_grid 12x6x20");
    PETSC(PCSetUp(pc));
    expect_report(pc, "grid 12x6x20, stencil D3N7");
    PETSC(DMDestroy(&dm));

    /* A DMDA of another size is not used, and one with several unknowns per point refused. */
    for (int unknowns = 1; unknowns <= 2; unknowns++) {
        PETSC(DMDACreate3d(PETSC_COMM_SELF, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE,
                           DMDA_STENCIL_STAR, 12, 6, 10, 1, 1, 1, unknowns, 1, NULL, NULL, NULL,
                           &dm));
        PETSC(DMSetUp(dm));
        pc = open_pc(pair);
        PETSC(PCSetDM(pc, dm));
        set_options("");
        ck_assert_int_eq(error_of_set_up(pc), unknowns == 1 ? 0 : PETSC_ERR_SUP);
        if (unknowns == 1)
            expect_report(pc, "grid 12x6x20, stencil D3N7");
        PETSC(DMDestroy(&dm));
    }
}

TEST(bad_values_are_refused_until_good_ones_come) {
    const gsw_multigrid_options options = {.size = sizeof options};
    set_options("");
    matrix_pair *pair = open_pair("poisson:17x14x12");
    PC pc = open_pc(pair);
    PETSC(PCSetUp(pc));
    double *b = new_vector(pair->n, 3), *x = new_vector(pair->n, 4);
    const double kept = pair->values[0]; /* the first row's diagonal */
    pair->values[0] = 0;
    changed(pair);
    PETSC(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
    ck_assert_int_eq((int)PCSetUp(pc), PETSC_ERR_MAT_LU_ZRPVT);
    ck_assert_int_ne(apply_theirs(pc, 0, pair->n, b, x), 0);
    PETSC(PetscPopErrorHandler());
    pair->values[0] = kept;
    changed(pair);
    expect_bits(pc, pair, &options);
}

/* ---- The library's choice ---------------------------------------------------------------------
 */

/* The squared 5-point Laplacian on 30 x 30 points: symmetric and definite, but without IC(0). */
static matrix_pair *open_biharmonic(void) {
    static const double weights[3][3] = {{20, -8, 1}, {-8, 2, 0}, {1, 0, 0}};
    gsw_offset offsets[13];
    gsw_stencil stencil;
    int32_t count = 0;
    for (int32_t dy = -2; dy <= 2; dy++)
        for (int32_t dx = -2; dx <= 2; dx++)
            if (weights[abs(dx)][abs(dy)] != 0)
                offsets[count++] = (gsw_offset){dx, dy, 0};
    GSW(gsw_stencil_from_offsets(offsets, count, &stencil));
    matrix_pair *pair = open_pair_with("random:1:30x30", &stencil);
    const PetscInt *row_ptr = pair->csr.row_ptr, *columns = pair->csr.columns;
    for (PetscInt i = 0; i < (PetscInt)pair->n; i++)
        for (PetscInt e = row_ptr[i]; e < row_ptr[i + 1]; e++)
            pair->values[e] =
                weights[abs((int)(columns[e] % 30 - i % 30))][abs((int)(columns[e] / 30 - i / 30))];
    changed(pair);
    return pair;
}

/* Set up, PETSc applies the library's choice for the present values, and says so. It applies the
 * transpose where the method is CG, which PETSc's wants to be positive. */
static void expect_choice(PC pc, const matrix_pair *pair, const char *words) {
    const gsw_multigrid_options hierarchy = {.size = sizeof hierarchy};
    const gsw_choice_options options = {.size = sizeof options, .multigrid = &hierarchy};
    gsw_choice choice = {.size = sizeof choice};
    gsw_preconditioner *preconditioner;
    double *b = new_vector(pair->n, 3), *x = new_vector(pair->n, 4), *y = new_vector(pair->n, 5);
    PETSC(PCSetUp(pc));
    expect_report(pc, words);
    GSW(gsw_choose(context, &pair->ours, &options, &preconditioner, &choice));
    expect_report(pc, choice.text);
    GSW(gsw_preconditioner_apply(context, preconditioner, b, x));
    PETSC(apply_theirs(pc, 0, pair->n, b, y));
    ck_assert_mem_eq(x, y, (size_t)pair->n * sizeof *x);
    PETSC(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
    ck_assert_int_eq(apply_theirs(pc, 1, pair->n, b, y),
                     choice.method == GSW_CG && choice.diagonal == 1 ? 0 : PETSC_ERR_SUP);
    PETSC(PetscPopErrorHandler());
    ck_assert_mem_eq(x, y, (size_t)pair->n * sizeof *x);
    gsw_preconditioner_destroy(preconditioner);
}

static const struct {
    const char *problem, *words, *unsymmetric;
} choices[] = {
    {"poisson:34x32x30", "choice: -pc_gridsweep_type mg with -ksp_type cg: symmetric M-matrix; ",
     "type ilu with -ksp_type bcgs: not symmetric"},
    {"poisson:9x8x7", "type icc with -ksp_type cg: ", "type ilu with -ksp_type bcgs: "},
    {"convection:17x14x12", "type ilu with -ksp_type bcgs: ", NULL},
    {"-poisson:34x32x30", "type mg with -ksp_type bcgs: symmetric, negative diagonal", NULL},
    {NULL, "type sor with -ksp_type cg: ", "type ilu with -ksp_type bcgs: "},
};
enum { CHOICES = (int)(sizeof choices / sizeof choices[0]) };

TEST(auto_takes_the_librarys_choice) {
    set_options("-pc_gridsweep_type auto");
    const char *problem = choices[_i].problem;
    matrix_pair *pair = problem ? open_pair(problem + (problem[0] == '-')) : open_biharmonic();
    for (int64_t e = 0; e < pair->csr.nonzeros && problem && problem[0] == '-'; e++)
        pair->values[e] *= -1;
    PC pc = open_pc(pair);
    expect_choice(pc, pair, choices[_i].words);
    /* Other values for the same pattern: what was chosen stays, until it cannot. */
    vary(pair);
    PETSC(PCSetUp(pc));
    expect_report(pc, choices[_i].words);
    for (PetscInt e = 0; e < (PetscInt)pair->csr.nonzeros && choices[_i].unsymmetric; e += 2)
        pair->values[e] *= 1.1;
    changed(pair);
    PETSC(PCSetUp(pc));
    if (choices[_i].unsymmetric)
        expect_choice(pc, pair, choices[_i].unsymmetric);
    else
        expect_report(pc, choices[_i].words);
}

/* A diagonal so large that the factor is the better choice, if there were a choice. */
TEST(auto_refills_what_it_chose) {
    const gsw_multigrid_options options = {.size = sizeof options};
    set_options("-pc_gridsweep_type auto");
    matrix_pair *pair = open_pair("poisson:34x32x30");
    PC pc = open_pc(pair);
    PETSC(PCSetUp(pc));
    for (PetscInt e = 0; e < (PetscInt)pair->csr.nonzeros; e++)
        pair->values[e] = pair->values[e] > 0 ? 60 : -1;
    changed(pair);
    PETSC(PCSetUp(pc));
    expect_report(pc, "type mg with -ksp_type cg: ");
    expect_bits(pc, pair, &options);
    pc = open_pc(pair);
    expect_choice(pc, pair, "type jacobi with -ksp_type cg: ");
}

TEST(auto_chooses_anew_where_values_break_its_factor) {
    static const struct {
        double diagonal; /* of all points */
        double first;    /* but that of the first one */
        const char *words;
    } values[] = {{6, 6, "type icc with -ksp_type cg: "},
                  {1, 1, "type sor with -ksp_type cg: "},
                  {6, 6, "type sor with -ksp_type cg: "}, /* refilled */
                  {6, -6, "type ilu with -ksp_type bcgs: symmetric, diagonals of both signs"},
                  {6, 0, "type ilu with -ksp_type bcgs: symmetric; a diagonal is zero"},
                  {6, 6, "type icc with -ksp_type cg: "}};
    set_options("-pc_gridsweep_type auto");
    matrix_pair *pair = open_pair("poisson:9x8x7");
    PC pc = open_pc(pair);
    double *b = new_vector(pair->n, 3), *x = new_vector(pair->n, 4);
    for (size_t k = 0; k < sizeof values / sizeof values[0]; k++) {
        for (PetscInt e = 0; e < (PetscInt)pair->csr.nonzeros; e++)
            if (pair->values[e] != -1)
                pair->values[e] = e == 0 ? values[k].first : values[k].diagonal;
        changed(pair);
        PETSC(PCSetUp(pc));
        expect_report(pc, values[k].words);
        PETSC(apply_theirs(pc, 0, pair->n, b, x));
        for (int64_t i = 0; i < pair->n; i++)
            ck_assert(isfinite(x[i]));
    }
}

/* MPI does not survive a fork, so the tests share this process. */
int main(void) {
    static char program[] = "test_petsc_multigrid", option[] = "-dll_prepend";
    static char plugin[] = GSW_PETSC_PLUGIN;
    char *arguments[] = {program, option, plugin, NULL}, **passed = arguments;
    int count = 3;
    if (PetscInitialize(&count, &passed, NULL, NULL) != 0)
        return EXIT_FAILURE;
    Suite *suite = suite_create("petsc_multigrid");
    TCase *tc = suite_case(suite, "petsc_multigrid", 300, open_context, close_context);
    TESTS(tc, new_values_and_new_patterns, grids_come_from_a_dmda_or_an_option_or_the_matrix,
          bad_values_are_refused_until_good_ones_come, auto_refills_what_it_chose,
          auto_chooses_anew_where_values_break_its_factor);
    LOOPS(tc, 4 * PROBLEMS, counts_are_the_librarys);
    LOOPS(tc, PROBLEMS, flexible_gmres_converges);
    LOOPS(tc, 4, a_null_space_costs_nothing, transposes_of_symmetric_cycles);
    LOOPS(tc, VARIANTS, cycles_are_the_librarys);
    LOOPS(tc, CHOICES, auto_takes_the_librarys_choice);
    const int code = suite_run(suite, CK_NOFORK);
    return PetscFinalize() == 0 ? code : EXIT_FAILURE;
}
