/* petsc_poisson.c: Poisson's equation with PETSc on a distributed grid (DMDA).
 *
 * This program does not mention gridsweep. PETSc's options load it:
 *
 *   mpicc petsc_poisson.c -o petsc_poisson $(pkg-config --cflags --libs petsc)
 *
 *   ./petsc_poisson -ksp_type cg -pc_type icc -ksp_view \
 *       -dll_prepend PATH/libgridsweep_petsc.so -pc_factor_mat_solver_type gridsweep
 *
 *   ./petsc_poisson -ksp_type cg -ksp_view \
 *       -dll_prepend PATH/libgridsweep_petsc.so -pc_type gridsweep -pc_gridsweep_mg_cycle F
 *
 *   mpiexec -n 2 ./petsc_poisson -ksp_type cg -ksp_view \
 *       -dll_prepend PATH/libgridsweep_petsc.so -pc_type gridsweep -pc_gridsweep_type icc
 *
 * -da_grid_x N, -da_grid_y N and -da_grid_z N change the grid. */
#include <petscdmda.h>
#include <petscksp.h>

static const PetscInt neighbours[6][3] = {{-1, 0, 0}, {1, 0, 0},  {0, -1, 0},
                                          {0, 1, 0},  {0, 0, -1}, {0, 0, 1}};

/* Called by KSP: -laplace(u) with u = 0 outside the grid. */
static PetscErrorCode fill_matrix(KSP ksp, Mat matrix, Mat preconditioner, void *unused) {
    DM grid;
    DMDALocalInfo box; /* the points of this process */
    PetscFunctionBeginUser;
    (void)matrix;
    (void)unused;
    PetscCall(KSPGetDM(ksp, &grid));
    PetscCall(DMDAGetLocalInfo(grid, &box));
    for (PetscInt z = box.zs; z < box.zs + box.zm; z++)
        for (PetscInt y = box.ys; y < box.ys + box.ym; y++)
            for (PetscInt x = box.xs; x < box.xs + box.xm; x++) {
                const MatStencil row = {.k = z, .j = y, .i = x};
                MatStencil columns[7] = {row};
                PetscScalar values[7] = {6};
                PetscInt count = 1;
                for (int n = 0; n < 6; n++) {
                    const MatStencil column = {.k = z + neighbours[n][2],
                                               .j = y + neighbours[n][1],
                                               .i = x + neighbours[n][0]};
                    if (column.i < 0 || column.j < 0 || column.k < 0 || column.i >= box.mx ||
                        column.j >= box.my || column.k >= box.mz)
                        continue;
                    columns[count] = column;
                    values[count++] = -1;
                }
                PetscCall(MatSetValuesStencil(preconditioner, 1, &row, count, columns, values,
                                              INSERT_VALUES));
            }
    PetscCall(MatAssemblyBegin(preconditioner, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(preconditioner, MAT_FINAL_ASSEMBLY));
    PetscFunctionReturn(0);
}

static PetscErrorCode fill_rhs(KSP ksp, Vec b, void *unused) {
    PetscFunctionBeginUser;
    (void)ksp;
    (void)unused;
    PetscCall(VecSet(b, 1));
    PetscFunctionReturn(0);
}

int main(int argc, char **argv) {
    DM grid;
    KSP ksp;
    PetscInt iterations;
    PetscReal residual;
    KSPConvergedReason reason;
    PetscFunctionBeginUser;
    PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
    PetscCall(DMDACreate3d(PETSC_COMM_WORLD, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE,
                           DMDA_STENCIL_STAR, 32, 32, 32, PETSC_DECIDE, PETSC_DECIDE, PETSC_DECIDE,
                           1, 1, NULL, NULL, NULL, &grid));
    PetscCall(DMSetFromOptions(grid));
    PetscCall(DMSetUp(grid));

    PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
    PetscCall(KSPSetDM(ksp, grid));
    PetscCall(KSPSetComputeOperators(ksp, fill_matrix, NULL));
    PetscCall(KSPSetComputeRHS(ksp, fill_rhs, NULL));
    PetscCall(KSPSetFromOptions(ksp));
    PetscCall(KSPSolve(ksp, NULL, NULL));

    PetscCall(KSPGetIterationNumber(ksp, &iterations));
    PetscCall(KSPGetResidualNorm(ksp, &residual));
    PetscCall(KSPGetConvergedReason(ksp, &reason));
    PetscCall(PetscPrintf(PETSC_COMM_WORLD,
                          "%" PetscInt_FMT " iterations, residual norm %.3e: %s\n", iterations,
                          (double)residual, KSPConvergedReasons[reason]));
    PetscCall(KSPDestroy(&ksp));
    PetscCall(DMDestroy(&grid));
    PetscCall(PetscFinalize());
    return reason > 0 ? 0 : 1;
}
