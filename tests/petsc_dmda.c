/* petsc_dmda.c: an ordinary PETSc program on a regular grid, without any reference to gridsweep.
 *
 * -problem poisson     -laplace(u), 7-point, symmetric (the default)
 * -problem convection  the same and upwind convection with a velocity that varies
 * -problem zero_pivot  poisson with a zero on the diagonal of the first row
 * -problem neumann     poisson without flow through the boundary, with its null space
 * -problem random      as many rows with random couplings: no grid
 * -problem box         27-point, symmetric
 * -zeros               the matrix stores 27 entries a row; those that the problem lacks are zeros
 * -periodic AXES       axes whose ends are neighbours, such as xy (poisson, neumann and box)
 * -plain               the matrix forgets the DMDA. Its rows are in natural order where the DMDA
 *                      has one process along x and y
 * -da_grid_x N -da_grid_y N -da_grid_z N   the grid (32 x 32 x 32)
 * -second_solve        changes the values, not the pattern, and solves again
 * -second_problem NAME which values the second solve takes (those of -problem, changed)
 * -repeats N           applies the factors N times more after the solve, for the timing
 * -samples N           times N solves and N times 20 applications, also on a GPU, in turn with
 *                      those of a second solver, whose options begin with -other_
 * -forget              does not destroy the solver, which PETSc's reports must then show
 *
 * All other options are PETSc's own. For each solve it prints
 *     solve K: iterations I reason R error E
 * and at the end how often MatSolve ran and how long one took on the slowest process. */
#include <string.h>
#include <petscdmda.h>
#include <petscksp.h>
#include <petsctime.h>

typedef enum problem { POISSON, CONVECTION, ZERO_PIVOT, NEUMANN, RANDOM, BOX, PROBLEMS } problem;

static const char *const problems[PROBLEMS] = {"poisson", "convection", "zero_pivot",
                                               "neumann", "random",     "box"};

/* Whether the grid has the point; -periodic AXES goes on at the other end, as a DMDA does. */
static PetscBool is_point(const DMDALocalInfo *grid, MatStencil at) {
    return (PetscBool)((grid->bx == DM_BOUNDARY_PERIODIC || (at.i >= 0 && at.i < grid->mx)) &&
                       (grid->by == DM_BOUNDARY_PERIODIC || (at.j >= 0 && at.j < grid->my)) &&
                       (grid->bz == DM_BOUNDARY_PERIODIC || (at.k >= 0 && at.k < grid->mz)));
}

/* The 7-point row at (x, y, z); `variation` gives the second solve other values. */
static PetscErrorCode set_row(Mat matrix, const DMDALocalInfo *grid, problem kind,
                              PetscReal variation, MatStencil row) {
    static const PetscInt directions[6][3] = {{-1, 0, 0}, {1, 0, 0},  {0, -1, 0},
                                              {0, 1, 0},  {0, 0, -1}, {0, 0, 1}};
    const PetscReal h = 1.0 / (PetscReal)(grid->mx + 1);
    const PetscReal velocity[3] = {40 * (1 - h * (PetscReal)row.j), 25 * h * (PetscReal)row.i, 10};
    MatStencil columns[7];
    PetscScalar values[7];
    PetscInt count = 0;
    PetscFunctionBeginUser;
    columns[count] = row;
    values[count++] = 6 + variation;
    for (int k = 0; k < 6; k++) {
        MatStencil column = row;
        PetscReal value = kind == NEUMANN ? -1 - variation : -1;
        if (kind == CONVECTION && directions[k][k / 2] < 0) {
            value -= h * velocity[k / 2];
            values[0] += h * velocity[k / 2];
        }
        column.i += directions[k][0];
        column.j += directions[k][1];
        column.k += directions[k][2];
        if (!is_point(grid, column))
            continue;
        columns[count] = column;
        values[count++] = value;
    }
    if (kind == NEUMANN)
        values[0] = (1 + variation) * (count - 1);
    if (kind == ZERO_PIVOT && row.i == 0 && row.j == 0 && row.k == 0)
        values[0] = 0;
    PetscCall(MatSetValuesStencil(matrix, 1, &row, count, columns, values, INSERT_VALUES));
    PetscFunctionReturn(0);
}

/* The 27-point row at (x, y, z). */
static PetscErrorCode set_box_row(Mat matrix, const DMDALocalInfo *grid, PetscReal variation,
                                  MatStencil row) {
    MatStencil columns[27];
    PetscScalar values[27];
    PetscInt count = 0;
    PetscFunctionBeginUser;
    for (int k = 0; k < 27; k++) {
        MatStencil column = row;
        column.i += k % 3 - 1;
        column.j += k / 3 % 3 - 1;
        column.k += k / 9 - 1;
        if (!is_point(grid, column))
            continue;
        columns[count] = column;
        values[count++] = k == 13 ? 26 + variation : -1;
    }
    PetscCall(MatSetValuesStencil(matrix, 1, &row, count, columns, values, INSERT_VALUES));
    PetscFunctionReturn(0);
}

static PetscErrorCode fill_grid(DM dm, problem kind, PetscReal variation, Mat matrix) {
    DMDALocalInfo grid;
    MatStencil row = {0};
    PetscFunctionBeginUser;
    PetscCall(DMDAGetLocalInfo(dm, &grid));
    for (row.k = grid.zs; row.k < grid.zs + grid.zm; row.k++)
        for (row.j = grid.ys; row.j < grid.ys + grid.ym; row.j++)
            for (row.i = grid.xs; row.i < grid.xs + grid.xm; row.i++)
                PetscCall(kind == BOX ? set_box_row(matrix, &grid, variation, row)
                                      : set_row(matrix, &grid, kind, variation, row));
    PetscFunctionReturn(0);
}

/* A diagonal and ten random couplings in every row. */
static PetscErrorCode fill_random(PetscReal variation, Mat matrix) {
    PetscInt begin, end, size;
    unsigned long long state = 12345;
    PetscFunctionBeginUser;
    /* Instead of the pattern that comes with the grid. */
    PetscCall(MatSeqAIJSetPreallocation(matrix, 11, NULL));
    PetscCall(MatMPIAIJSetPreallocation(matrix, 11, NULL, 11, NULL));
    PetscCall(MatGetSize(matrix, &size, NULL));
    PetscCall(MatGetOwnershipRange(matrix, &begin, &end));
    for (PetscInt row = begin; row < end; row++) {
        for (int k = 0; k < 10; k++) {
            state = state * 6364136223846793005ULL + 1442695040888963407ULL;
            const PetscInt column = (PetscInt)((state >> 33) % (unsigned long long)size);
            PetscCall(MatSetValue(matrix, row, column, -0.5, INSERT_VALUES));
        }
        PetscCall(MatSetValue(matrix, row, row, 12 + variation, INSERT_VALUES));
    }
    PetscFunctionReturn(0);
}

static PetscErrorCode fill(DM dm, problem kind, PetscReal variation, Mat matrix) {
    PetscFunctionBeginUser;
    if (kind == RANDOM)
        PetscCall(fill_random(variation, matrix));
    else
        PetscCall(fill_grid(dm, kind, variation, matrix));
    PetscCall(MatAssemblyBegin(matrix, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(matrix, MAT_FINAL_ASSEMBLY));
    PetscFunctionReturn(0);
}

/* A matrix without flow through the boundary maps constant vectors to zero. */
static PetscErrorCode set_null_space(Mat matrix) {
    MatNullSpace constants;
    PetscFunctionBeginUser;
    PetscCall(MatNullSpaceCreate(PETSC_COMM_WORLD, PETSC_TRUE, 0, NULL, &constants));
    PetscCall(MatSetNullSpace(matrix, constants));
    PetscCall(MatNullSpaceDestroy(&constants));
    PetscFunctionReturn(0);
}

/* x without what is in the null space of the matrix. */
static PetscErrorCode remove_null_space(Mat matrix, Vec x) {
    MatNullSpace constants;
    PetscFunctionBeginUser;
    PetscCall(MatGetNullSpace(matrix, &constants));
    if (constants)
        PetscCall(MatNullSpaceRemove(constants, x));
    PetscFunctionReturn(0);
}

/* A vector of known values, the same on any number of processes. */
static PetscErrorCode set_exact(DM dm, Vec exact) {
    PetscInt begin, end;
    AO order;
    PetscFunctionBeginUser;
    PetscCall(DMDAGetAO(dm, &order));
    PetscCall(VecGetOwnershipRange(exact, &begin, &end));
    for (PetscInt row = begin; row < end; row++) {
        PetscInt natural = row;
        PetscCall(AOPetscToApplication(order, 1, &natural));
        PetscCall(VecSetValue(exact, row, PetscSinReal((PetscReal)natural), INSERT_VALUES));
    }
    PetscCall(VecAssemblyBegin(exact));
    PetscCall(VecAssemblyEnd(exact));
    PetscFunctionReturn(0);
}

/* Solves for a known solution and prints how far the result is from it. */
static PetscErrorCode solve(KSP ksp, DM dm, Mat matrix, int number) {
    Vec exact, b, x;
    PetscInt iterations;
    PetscReal error, scale;
    KSPConvergedReason reason;
    PetscFunctionBeginUser;
    PetscCall(MatCreateVecs(matrix, &exact, &b));
    PetscCall(VecDuplicate(exact, &x));
    PetscCall(set_exact(dm, exact));
    PetscCall(remove_null_space(matrix, exact));
    PetscCall(MatMult(matrix, exact, b));

    PetscCall(KSPSetOperators(ksp, matrix, matrix));
    PetscCall(KSPSolve(ksp, b, x));
    PetscCall(KSPGetIterationNumber(ksp, &iterations));
    PetscCall(KSPGetConvergedReason(ksp, &reason));
    PetscCall(VecNorm(exact, NORM_2, &scale));
    PetscCall(VecAXPY(x, -1, exact));
    PetscCall(VecNorm(x, NORM_2, &error));
    PetscCall(PetscPrintf(PETSC_COMM_WORLD,
                          "solve %d: iterations %" PetscInt_FMT " reason %s error %.2e\n", number,
                          iterations, KSPConvergedReasons[reason], (double)(error / scale)));
    PetscCall(VecDestroy(&x));
    PetscCall(VecDestroy(&b));
    PetscCall(VecDestroy(&exact));
    PetscFunctionReturn(0);
}

/* Applies the preconditioner some more, so that the time of one MatSolve is a mean over many. */
static PetscErrorCode apply(KSP ksp, Mat matrix, PetscInt repeats) {
    PC pc;
    Vec b, x;
    PetscFunctionBeginUser;
    PetscCall(KSPGetPC(ksp, &pc));
    PetscCall(MatCreateVecs(matrix, &x, &b));
    PetscCall(VecSet(b, 1));
    for (PetscInt k = 0; k < repeats; k++)
        PetscCall(PCApply(pc, b, x));
    PetscCall(VecDestroy(&x));
    PetscCall(VecDestroy(&b));
    PetscFunctionReturn(0);
}

/* ---- Times of two solvers in turn -------------------------------------------------------------
 */

enum { SAMPLES_MAX = 100, APPLICATIONS = 20 };

typedef struct contestant {
    const char *name;
    KSP ksp;
    PetscInt iterations;
    PetscReal apply[SAMPLES_MAX], solve[SAMPLES_MAX]; /* ms */
} contestant;

/* Takes one sample of each kind. A norm waits for the GPU. */
static PetscErrorCode take_sample(contestant *c, PetscInt number, Vec b, Vec x) {
    PC pc;
    PetscReal norm;
    PetscLogDouble begin, end;
    PetscFunctionBeginUser;
    PetscCall(KSPGetPC(c->ksp, &pc));
    PetscCall(PCApply(pc, b, x));
    PetscCall(VecNorm(x, NORM_2, &norm));
    PetscCall(PetscTime(&begin));
    for (int k = 0; k < APPLICATIONS; k++)
        PetscCall(PCApply(pc, b, x));
    PetscCall(VecNorm(x, NORM_2, &norm));
    PetscCall(PetscTime(&end));
    c->apply[number] = 1e3 * (end - begin) / APPLICATIONS;
    PetscCall(PetscTime(&begin));
    PetscCall(KSPSolve(c->ksp, b, x));
    PetscCall(VecNorm(x, NORM_2, &norm));
    PetscCall(PetscTime(&end));
    c->solve[number] = 1e3 * (end - begin);
    PetscCall(KSPGetIterationNumber(c->ksp, &c->iterations));
    PetscFunctionReturn(0);
}

/* Prints median, least and largest. */
static PetscErrorCode print_times(const contestant *c, const char *what, PetscInt count,
                                  PetscReal *times) {
    PetscFunctionBeginUser;
    PetscCall(PetscSortReal(count, times));
    PetscCall(PetscPrintf(
        PETSC_COMM_WORLD, "%s, %s: %.4f ms (%.4f to %.4f), iterations %" PetscInt_FMT "\n", c->name,
        what, (double)times[count / 2], (double)times[0], (double)times[count - 1], c->iterations));
    PetscFunctionReturn(0);
}

static PetscErrorCode measure(KSP ksp, Mat matrix, PetscInt samples) {
    contestant both[2] = {{.name = "solver", .ksp = ksp}, {.name = "other"}};
    Vec b, x;
    PetscFunctionBeginUser;
    samples = PetscMin(samples, SAMPLES_MAX);
    PetscCall(KSPCreate(PETSC_COMM_WORLD, &both[1].ksp));
    PetscCall(KSPSetOptionsPrefix(both[1].ksp, "other_"));
    PetscCall(KSPSetFromOptions(both[1].ksp));
    PetscCall(KSPSetOperators(both[1].ksp, matrix, matrix));
    PetscCall(KSPSetUp(both[1].ksp));
    PetscCall(MatCreateVecs(matrix, &x, &b));
    PetscCall(VecSet(b, 1));
    /* The first samples are overwritten: they warm up. */
    for (PetscInt k = -1; k < samples; k++)
        for (int c = 0; c < 2; c++)
            PetscCall(take_sample(&both[c], PetscMax(k, 0), b, x));
    for (int c = 0; c < 2; c++) {
        PetscCall(print_times(&both[c], "PCApply", samples, both[c].apply));
        PetscCall(print_times(&both[c], "KSPSolve", samples, both[c].solve));
    }
    PetscCall(VecDestroy(&x));
    PetscCall(VecDestroy(&b));
    PetscCall(KSPDestroy(&both[1].ksp));
    PetscFunctionReturn(0);
}

/* How often an event of PETSc's log happened, and how long one took on the slowest process. */
static PetscErrorCode report(const char *name) {
    PetscLogEvent event;
    PetscEventPerfInfo info;
    double each, slowest;
    PetscFunctionBeginUser;
    PetscCall(PetscLogEventGetId(name, &event));
    PetscCall(PetscLogEventGetPerfInfo(0, event, &info));
    each = info.count > 0 ? 1e3 * info.time / info.count : 0;
    PetscCallMPI(MPI_Reduce(&each, &slowest, 1, MPI_DOUBLE, MPI_MAX, 0, PETSC_COMM_WORLD));
    PetscCall(
        PetscPrintf(PETSC_COMM_WORLD, "%s: %d times, %.4f ms each\n", name, info.count, slowest));
    PetscFunctionReturn(0);
}

int main(int argc, char **argv) {
    DM dm;
    Mat matrix;
    KSP ksp;
    char axes[8] = "";
    DMBoundaryType ends[3];
    PetscInt kind = POISSON, second_kind, repeats = 0, samples = 0;
    PetscBool second = PETSC_FALSE, forget = PETSC_FALSE, plain = PETSC_FALSE, zeros = PETSC_FALSE;
    PetscFunctionBeginUser;
    PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
    PetscCall(PetscLogDefaultBegin());
    PetscCall(PetscOptionsGetEList(NULL, NULL, "-problem", problems, PROBLEMS, &kind, NULL));
    second_kind = kind;
    PetscCall(PetscOptionsGetEList(NULL, NULL, "-second_problem", problems, PROBLEMS, &second_kind,
                                   NULL));
    PetscCall(PetscOptionsGetInt(NULL, NULL, "-repeats", &repeats, NULL));
    PetscCall(PetscOptionsGetInt(NULL, NULL, "-samples", &samples, NULL));
    PetscCall(PetscOptionsGetBool(NULL, NULL, "-second_solve", &second, NULL));
    PetscCall(PetscOptionsGetBool(NULL, NULL, "-forget", &forget, NULL));
    PetscCall(PetscOptionsGetBool(NULL, NULL, "-plain", &plain, NULL));
    PetscCall(PetscOptionsGetBool(NULL, NULL, "-zeros", &zeros, NULL));

    PetscCall(PetscOptionsGetString(NULL, NULL, "-periodic", axes, sizeof axes, NULL));
    for (int axis = 0; axis < 3; axis++)
        ends[axis] = strchr(axes, "xyz"[axis]) ? DM_BOUNDARY_PERIODIC : DM_BOUNDARY_NONE;

    PetscCall(DMDACreate3d(PETSC_COMM_WORLD, ends[0], ends[1], ends[2],
                           kind == BOX || zeros ? DMDA_STENCIL_BOX : DMDA_STENCIL_STAR, 32, 32, 32,
                           PETSC_DECIDE, PETSC_DECIDE, PETSC_DECIDE, 1, 1, NULL, NULL, NULL, &dm));
    PetscCall(DMSetFromOptions(dm));
    PetscCall(DMSetUp(dm));
    PetscCall(DMCreateMatrix(dm, &matrix));
    PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
    PetscCall(KSPSetFromOptions(ksp));

    if (plain)
        PetscCall(MatSetDM(matrix, NULL));
    if (kind == NEUMANN)
        PetscCall(set_null_space(matrix));
    PetscCall(fill(dm, (problem)kind, 0, matrix));
    PetscCall(solve(ksp, dm, matrix, 1));
    if (second) {
        PetscCall(fill(dm, (problem)second_kind, 0.5, matrix));
        PetscCall(solve(ksp, dm, matrix, 2));
    }
    PetscCall(apply(ksp, matrix, repeats));
    if (samples > 0)
        PetscCall(measure(ksp, matrix, samples));
    PetscCall(report("MatSolve"));
    PetscCall(report("MatLUFactorNum"));
    PetscCall(report("MatCholFctrNum"));
    PetscCall(report("MatILUFactorSym"));

    if (!forget)
        PetscCall(KSPDestroy(&ksp));
    PetscCall(MatDestroy(&matrix));
    PetscCall(DMDestroy(&dm));
    PetscCall(PetscFinalize());
    return 0;
}
