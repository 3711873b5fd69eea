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
 *    multigrid, the library's factors, or what the library chooses (petsc_kind.c).
 *
 * src/docs/preconditioners.md describes both, and lists their options. Those that choose
 * where the first way works begin with -mat_gridsweep, those of the second with -pc_gridsweep. Each
 * comes after the prefix of its preconditioner (such as -sub_). */
#include <petscpc.h>
#include <gridsweep/gridsweep.h>
#include "petsc_register.h"

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
