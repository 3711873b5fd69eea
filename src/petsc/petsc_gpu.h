/* petsc_gpu.h: matrices that PETSc keeps on GPUs (types seqaijcusparse and mpiaijcusparse), and the
 * stream on which PETSc works there.
 *
 * Where PETSc has no CUDA or is older than 3.20, which cannot name its stream, no matrix counts as
 * one on a GPU. The other functions then end in an error. */
#ifndef GSW_PETSC_GPU_H
#define GSW_PETSC_GPU_H

#include <petscmat.h>
#include <gridsweep/gridsweep.h>

/* Whether the arrays of a matrix are on a GPU. A matrix bound to the CPU is not. */
PetscErrorCode gsw_petsc_gpu_has(Mat matrix, PetscBool *has);

/* The device and the stream of PETSc's current context. *blocking: work on the stream and work on
 * CUDA's default stream wait for each other. They do so unless its type is nonblocking. */
PetscErrorCode gsw_petsc_gpu_stream(int *device, void **stream, PetscBool *blocking);

/* Waits until the work on the stream of PETSc's current context is done. */
PetscErrorCode gsw_petsc_gpu_wait(void);

/* The arrays on the GPU of a seqaijcusparse. csr->rows and csr->nonzeros are known already. Copies
 * the values to the GPU first where PETSc has newer ones on the host. */
PetscErrorCode gsw_petsc_gpu_get_csr(Mat matrix, gsw_csr *csr);
PetscErrorCode gsw_petsc_gpu_restore_csr(Mat matrix, gsw_csr *csr);

#endif
