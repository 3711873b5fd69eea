/* petsc_gpu.c: the only file that knows PETSc's CUDA. It includes no header of CUDA: a stream of
 * CUDA is a pointer. */
#include "petsc_gpu.h"
#include <petscdevice.h>

#if defined(PETSC_HAVE_CUDA) && PETSC_VERSION_GE(3, 20, 0)

PetscErrorCode gsw_petsc_gpu_has(Mat matrix, PetscBool *has) {
    PetscBool bound = PETSC_FALSE;
    PetscFunctionBegin;
    PetscCall(PetscObjectTypeCompareAny((PetscObject)matrix, has, MATSEQAIJCUSPARSE,
                                        MATMPIAIJCUSPARSE, ""));
    if (*has)
        PetscCall(MatBoundToCPU(matrix, &bound));
    if (bound)
        *has = PETSC_FALSE;
    PetscFunctionReturn(0);
}

PetscErrorCode gsw_petsc_gpu_stream(int *device, void **stream, PetscBool *blocking) {
    PetscDeviceContext context;
    PetscDeviceType type;
    PetscStreamType kind;
    char *nonblocking;
    PetscDevice current;
    PetscInt number;
    void *handle;
    PetscFunctionBegin;
    PetscCall(PetscDeviceContextGetCurrentContext(&context));
    PetscCall(PetscDeviceContextGetDeviceType(context, &type));
    PetscCheck(type == PETSC_DEVICE_CUDA, PETSC_COMM_SELF, PETSC_ERR_ARG_WRONGSTATE,
               "PETSc's current device context is of type %s, not cuda", PetscDeviceTypes[type]);
    PetscCall(PetscDeviceContextGetDevice(context, &current));
    PetscCall(PetscDeviceGetDeviceId(current, &number));
    PetscCall(PetscDeviceContextGetStreamHandle(context, &handle));
    PetscCall(PetscDeviceContextGetStreamType(context, &kind));
    /* The constants have other names in PETSc 3.20 than in 3.24, but all such types say so. */
    PetscCall(PetscStrstr(PetscStreamTypes[kind], "nonblocking", &nonblocking));
    *device = (int)number;
    *stream = *(void **)handle;
    *blocking = (PetscBool)!nonblocking;
    PetscFunctionReturn(0);
}

PetscErrorCode gsw_petsc_gpu_wait(void) {
    PetscDeviceContext context;
    PetscFunctionBegin;
    PetscCall(PetscDeviceContextGetCurrentContext(&context));
    PetscCall(PetscDeviceContextSynchronize(context));
    PetscFunctionReturn(0);
}

PetscErrorCode gsw_petsc_gpu_get_csr(Mat matrix, gsw_csr *csr) {
    const PetscInt *row_ptr, *columns;
    const PetscScalar *values;
    PetscFunctionBegin;
    /* Not compressed: empty rows have row pointers, too. */
    PetscCall(MatSeqAIJCUSPARSEGetIJ(matrix, PETSC_FALSE, &row_ptr, &columns));
    PetscCall(MatSeqAIJCUSPARSEGetArrayRead(matrix, &values));
    csr->row_ptr = row_ptr;
    csr->columns = columns;
    csr->values = values;
    PetscFunctionReturn(0);
}

PetscErrorCode gsw_petsc_gpu_restore_csr(Mat matrix, gsw_csr *csr) {
    const PetscInt *row_ptr = csr->row_ptr, *columns = csr->columns;
    const PetscScalar *values = csr->values;
    PetscFunctionBegin;
    PetscCall(MatSeqAIJCUSPARSERestoreArrayRead(matrix, &values));
    PetscCall(MatSeqAIJCUSPARSERestoreIJ(matrix, PETSC_FALSE, &row_ptr, &columns));
    PetscFunctionReturn(0);
}

#else

static PetscErrorCode refuse(void) {
    PetscFunctionBegin;
    SETERRQ(PETSC_COMM_SELF, PETSC_ERR_SUP, "this PETSc has no CUDA that gridsweep can use");
}

PetscErrorCode gsw_petsc_gpu_has(Mat matrix, PetscBool *has) {
    PetscFunctionBegin;
    (void)matrix;
    *has = PETSC_FALSE;
    PetscFunctionReturn(0);
}

PetscErrorCode gsw_petsc_gpu_stream(int *device, void **stream, PetscBool *blocking) {
    (void)device;
    (void)stream;
    (void)blocking;
    return refuse();
}

PetscErrorCode gsw_petsc_gpu_wait(void) {
    return refuse();
}

PetscErrorCode gsw_petsc_gpu_get_csr(Mat matrix, gsw_csr *csr) {
    (void)matrix;
    (void)csr;
    return refuse();
}

PetscErrorCode gsw_petsc_gpu_restore_csr(Mat matrix, gsw_csr *csr) {
    (void)matrix;
    (void)csr;
    return refuse();
}

#endif
