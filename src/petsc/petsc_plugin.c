/* petsc_plugin.c: gridsweep inside PETSc programs, which need not be changed or linked again.
 *
 * PETSc loads this library when a program is started with -dll_prepend PATH, and calls the function
 * at the end of this file. Only PETSc's public headers are used. The matrix must be a grid in
 * natural order, or that of a DMDA. There are two ways to use it:
 *
 * 1. -pc_factor_mat_solver_type gridsweep: PCILU and PCICC factorise and solve here, alone or below
 *    PCBJACOBI, PCASM and PCMG (petsc_factor.c). The matrix is of type seqaij or seqaijcusparse, so
 *    each process works on its own.
 *
 * 2. -pc_type gridsweep: a preconditioner of gridsweep's own (petsc_pc.c), which the option
 *    -pc_gridsweep_type names. All types take matrices of type mpiaij, too (petsc_distributed.c):
 *      mg                           multigrid (petsc_multigrid.c)
 *      ilu, icc, dilu, sor, jacobi  the library's factors (petsc_sweeps.c)
 *      auto                         the library chooses one of them, and -ksp_view prints which and
 *                                   why; of mpiaij multigrid (petsc_auto.c)
 *
 * Options, each after the prefix of the preconditioner (such as -sub_). These options choose where
 * each way works. They begin with -mat_gridsweep for the first and -pc_gridsweep for the second:
 *   _grid NXxNYxNZ         the grid, where the matrix does not determine it. The second way takes
 *                          it from a DMDA, if the preconditioner or the matrix has one
 *   _backend cpu|cuda|auto the default is cpu, and auto for matrices on the GPU (aijcusparse). With
 *                          cuda and a matrix on the host, b and x are copied for every solve.
 *                          reference: plain loops with one thread, to compare results with
 *   _threads N             CPU threads; 0: as many as OpenMP offers. The default is 1, because
 *                          programs under MPI run one process per core
 *
 * The first way:
 *   -mat_gridsweep_factor_type f64|f32   how coefficients are stored; b and x are always f64
 *
 * The second way:
 *   -pc_gridsweep_scope global|local     of mpiaij: the factor, or multigrid's smoother, is that of
 *                                        the whole grid, or of the own rows alone (global)
 *   -pc_gridsweep_wait_limit S           of mpiaij: seconds that a process waits for another (60)
 *   -pc_gridsweep_sor_omega W            relaxation of sor; 0 < W < 2 (1)
 *
 * Multigrid; the meanings are those of `gridsweep solve` (--mg-cycle and so on):
 *   -pc_gridsweep_mg_cycle V|F|W         the cycle (V)
 *   -pc_gridsweep_mg_smoother NAME       auto|gs|symgs|ilu0|ilu0-finest|jacobi|chebyshev|
 *                                        multicolor (auto)
 *   -pc_gridsweep_mg_theta T             coarsens the axes whose coupling is at least T times the
 *                                        strongest; 0 < T <= 1 (0.25)
 *   -pc_gridsweep_mg_precision f64|f32   of the whole cycle (f64). f32 halves the bytes and suits
 *                                        KSPCG, KSPFGMRES and KSPFBCGS. It is not exactly linear:
 *                                        with KSPGMRES and KSPBCGS the true residual stays above
 *                                        1e-7, whatever they report
 *   -pc_gridsweep_mg_pre_sweeps N        smoothing steps before each coarse correction (1)
 *   -pc_gridsweep_mg_post_sweeps N       and after it (1); CG needs as many as before
 *   -pc_gridsweep_mg_coarsest_points N   a level of at most N points is solved directly (200) */
#include <petscpc.h>
#include <gridsweep/gridsweep.h>
#include "petsc_factor.h"
#include "petsc_pc.h"

PETSC_EXTERN GSW_API
PetscErrorCode PetscDLLibraryRegister_gridsweep_petsc(void);

/* PETSc derives the name from that of the file, libgridsweep_petsc.so. */
PetscErrorCode PetscDLLibraryRegister_gridsweep_petsc(void) {
    PetscInt major, minor, patch, release;
    PetscFunctionBegin;
    PetscCall(PetscGetVersionNumber(&major, &minor, &patch, &release));
    PetscCheck(major == PETSC_VERSION_MAJOR && minor == PETSC_VERSION_MINOR, PETSC_COMM_SELF,
               PETSC_ERR_SUP,
               "gridsweep's plug-in was built for PETSc %d.%d, but this is %" PetscInt_FMT
               ".%" PetscInt_FMT,
               PETSC_VERSION_MAJOR, PETSC_VERSION_MINOR, major, minor);
    PetscCall(gsw_petsc_register_factors());
    PetscCall(gsw_petsc_register_preconditioner());
    PetscFunctionReturn(0);
}
