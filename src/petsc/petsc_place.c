/* petsc_place.c: data on objects, contexts, matrices and vectors of the plug-in. */
#include "petsc_place.h"
#include <string.h>

/* ---- Data on objects --------------------------------------------------------------------------
 */

PetscErrorCode gsw_petsc_attach(PetscObject object, void *data, PetscErrorCode (*destroy)(void *)) {
    PetscContainer container;
    PetscFunctionBegin;
    PetscCall(PetscContainerCreate(PETSC_COMM_SELF, &container));
    PetscCall(PetscContainerSetPointer(container, data));
    PetscCall(PetscContainerSetUserDestroy(container, destroy));
    PetscCall(PetscObjectCompose(object, GSW_PETSC_PACKAGE, (PetscObject)container));
    PetscCall(PetscContainerDestroy(&container));
    PetscFunctionReturn(0);
}

PetscErrorCode gsw_petsc_data(PetscObject object, const char *what, void **data) {
    PetscContainer container;
    PetscFunctionBegin;
    PetscCall(PetscObjectQuery(object, GSW_PETSC_PACKAGE, (PetscObject *)&container));
    PetscCheck(container, PETSC_COMM_SELF, PETSC_ERR_ARG_WRONG, "this is no %s of gridsweep", what);
    PetscCall(PetscContainerGetPointer(container, data));
    PetscFunctionReturn(0);
}

/* ---- Errors -----------------------------------------------------------------------------------
 */

PetscErrorCode gsw_petsc_check(const gsw_petsc_place *place, gsw_status status,
                               PetscErrorCode pivot, const char *doing) {
    const char *reason = gsw_context_message(place->context);
    PetscErrorCode code = PETSC_ERR_LIB;
    PetscFunctionBegin;
    switch (status) {
    case GSW_SUCCESS:
        PetscFunctionReturn(0);
    case GSW_ERROR_INVALID_ARGUMENT:
    case GSW_ERROR_NOT_A_GRID:
        code = PETSC_ERR_ARG_WRONG;
        break;
    case GSW_ERROR_OVERFLOW:
        code = PETSC_ERR_ARG_OUTOFRANGE;
        break;
    case GSW_ERROR_OUT_OF_MEMORY:
        code = PETSC_ERR_MEM;
        break;
    case GSW_ERROR_UNSUPPORTED:
        code = PETSC_ERR_SUP;
        break;
    case GSW_ERROR_NO_BACKEND:
        code = PETSC_ERR_SUP_SYS;
        break;
    case GSW_ERROR_ZERO_PIVOT:
        code = pivot;
        break;
    default:
        break;
    }
    SETERRQ(PETSC_COMM_SELF, code, "gridsweep, %s: %s", doing,
            reason[0] ? reason : gsw_status_text(status));
}

/* ---- The matrix -------------------------------------------------------------------------------
 */

/* The arrays of a seqaij matrix as a CSR; restore_csr() returns them. */
static PetscErrorCode get_csr(Mat matrix, gsw_csr *csr) {
    const PetscInt *row_ptr, *columns;
    const PetscScalar *values;
    PetscInt rows, width;
    PetscBool done;
    PetscFunctionBegin;
    PetscCall(MatGetSize(matrix, &rows, &width));
    PetscCheck(rows == width, PETSC_COMM_SELF, PETSC_ERR_ARG_SIZ,
               "the matrix is not square: %" PetscInt_FMT " x %" PetscInt_FMT, rows, width);
    PetscCall(MatGetRowIJ(matrix, 0, PETSC_FALSE, PETSC_FALSE, &rows, &row_ptr, &columns, &done));
    PetscCheck(done, PETSC_COMM_SELF, PETSC_ERR_SUP, "the matrix gives no access to its rows");
    PetscCall(MatSeqAIJGetArrayRead(matrix, &values));
    const gsw_csr view = {.rows = rows,
                          .nonzeros = row_ptr[rows],
                          .row_ptr = row_ptr,
                          .columns = columns,
                          .values = values,
                          .index_type = sizeof(PetscInt) == 4 ? GSW_I32 : GSW_I64,
                          .value_type = GSW_F64};
    *csr = view;
    PetscFunctionReturn(0);
}

static PetscErrorCode restore_csr(Mat matrix, gsw_csr *csr) {
    const PetscInt *row_ptr = csr->row_ptr, *columns = csr->columns;
    const PetscScalar *values = csr->values;
    PetscInt rows = (PetscInt)csr->rows;
    PetscBool done;
    PetscFunctionBegin;
    PetscCall(MatSeqAIJRestoreArrayRead(matrix, &values));
    PetscCall(
        MatRestoreRowIJ(matrix, 0, PETSC_FALSE, PETSC_FALSE, &rows, &row_ptr, &columns, &done));
    PetscFunctionReturn(0);
}

int gsw_petsc_on_device(const gsw_petsc_place *place) {
    return gsw_context_backend(place->context) == GSW_BACKEND_CUDA;
}

static gsw_status take_csr(gsw_petsc_place *place, const gsw_csr *csr, gsw_petsc_take_fn take,
                           void *user) {
    gsw_matrix host, device = {0}, *matrix = &host;
    gsw_status status =
        gsw_matrix_from_csr(place->context, &place->grid, &place->stencil, csr, &host);
    if (gsw_petsc_on_device(place) && status == GSW_SUCCESS) {
        status = gsw_matrix_upload(place->context, &host, &device);
        matrix = &device;
    }
    if (status == GSW_SUCCESS)
        status = take(user, matrix);
    gsw_matrix_release(place->context, &device);
    return status;
}

PetscErrorCode gsw_petsc_take_matrix(gsw_petsc_place *place, Mat matrix, gsw_petsc_take_fn take,
                                     void *user, gsw_status *status) {
    gsw_csr csr;
    PetscFunctionBegin;
    PetscCall(get_csr(matrix, &csr));
    *status = take_csr(place, &csr, take, user);
    PetscCall(restore_csr(matrix, &csr));
    PetscFunctionReturn(0);
}

/* ---- Open and close ---------------------------------------------------------------------------
 */

/* Reads the options; grid->nx stays 0 where no grid is given. */
static PetscErrorCode read_options(const char *prefix, const char *family,
                                   gsw_context_options *context, gsw_grid *grid) {
    static const char *const backends[] = {"auto", "cpu", "cuda"}; /* in the order of gsw_backend */
    enum { GRID, BACKEND, THREADS, COUNT };
    static const char *const words[COUNT] = {"grid", "backend", "threads"};
    PetscInt backend = GSW_BACKEND_CPU, threads = 1;
    PetscBool given;
    char text[80] = "", name[COUNT][40];
    PetscFunctionBegin;
    for (int k = 0; k < COUNT; k++)
        PetscCall(PetscSNPrintf(name[k], sizeof name[k], "-%s_%s", family, words[k]));
    PetscOptionsBegin(PETSC_COMM_SELF, prefix, "Where gridsweep works", "Mat");
    PetscCall(PetscOptionsString(name[GRID], "Grid of the matrix, NXxNYxNZ", NULL, text, text,
                                 sizeof text, &given));
    PetscCall(PetscOptionsEList(name[BACKEND], "Where solves run", NULL, backends, 3,
                                backends[backend], &backend, NULL));
    PetscCall(
        PetscOptionsInt(name[THREADS], "CPU threads (0: all)", NULL, threads, &threads, NULL));
    PetscOptionsEnd();
    PetscCheck(!given || gsw_grid_parse(NULL, text, grid) == GSW_SUCCESS, PETSC_COMM_SELF,
               PETSC_ERR_ARG_WRONG, "%s %s is not of the form NXxNYxNZ", name[GRID], text);
    PetscCheck(threads >= 0, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE,
               "%s %" PetscInt_FMT " is negative", name[THREADS], threads);
    context->backend = (gsw_backend)backend;
    context->threads = (int)threads;
    PetscFunctionReturn(0);
}

static gsw_status detect(gsw_petsc_place *place, const gsw_csr *csr, const gsw_grid *known) {
    gsw_status status = gsw_detect(place->context, csr, known, &place->grid, &place->stencil);
    const size_t bytes = (size_t)csr->rows * sizeof(double);
    place->points = csr->rows;
    place->nonzeros = csr->nonzeros;
    if (gsw_petsc_on_device(place) && status == GSW_SUCCESS)
        status = gsw_memory_alloc(place->context, bytes, (void **)&place->b);
    if (gsw_petsc_on_device(place) && status == GSW_SUCCESS)
        status = gsw_memory_alloc(place->context, bytes, (void **)&place->x);
    return status;
}

PetscErrorCode gsw_petsc_place_open(gsw_petsc_place *place, const char *prefix, const char *family,
                                    Mat matrix, const gsw_grid *known) {
    gsw_context_options options = {.size = sizeof options};
    gsw_grid given = {0};
    gsw_csr csr;
    gsw_status status;
    PetscFunctionBegin;
    PetscCall(read_options(prefix, family, &options, &given));
    status = gsw_context_create(&options, &place->context);
    /* Without a context there is no message, so this text gives the most likely reason. */
    PetscCheck(status != GSW_ERROR_NO_BACKEND, PETSC_COMM_SELF, PETSC_ERR_SUP_SYS,
               "gridsweep, -%s_backend %s: %s", family, gsw_backend_name(options.backend),
               gsw_status_text(status));
    PetscCall(gsw_petsc_check(place, status, PETSC_ERR_LIB, "making a context"));
    if (given.nx > 0)
        known = &given;
    PetscCall(get_csr(matrix, &csr));
    status = detect(place, &csr, known);
    PetscCall(restore_csr(matrix, &csr));
    PetscCall(gsw_petsc_check(place, status, PETSC_ERR_LIB, "finding the grid of the matrix"));
    PetscFunctionReturn(0);
}

void gsw_petsc_place_close(gsw_petsc_place *place) {
    if (place->context) {
        gsw_memory_free(place->context, place->x);
        gsw_memory_free(place->context, place->b);
    }
    gsw_context_destroy(place->context);
    memset(place, 0, sizeof *place);
}

/* ---- Vectors and reports ----------------------------------------------------------------------
 */

static gsw_status apply_by_copies(gsw_petsc_place *place, gsw_petsc_apply_fn apply, void *user,
                                  const double *b, double *x) {
    const size_t bytes = (size_t)place->points * sizeof(double);
    gsw_status status = gsw_memory_upload(place->context, place->b, b, bytes);
    if (status == GSW_SUCCESS)
        status = apply(user, place->b, place->x);
    if (status == GSW_SUCCESS)
        status = gsw_memory_download(place->context, x, place->x, bytes);
    return status;
}

PetscErrorCode gsw_petsc_apply(gsw_petsc_place *place, gsw_petsc_apply_fn apply, void *user, Vec b,
                               Vec x, gsw_status *status) {
    const PetscScalar *from;
    PetscScalar *to;
    PetscFunctionBegin;
    PetscCall(VecGetArrayRead(b, &from));
    PetscCall(VecGetArrayWrite(x, &to));
    *status = gsw_petsc_on_device(place) ? apply_by_copies(place, apply, user, from, to)
                                         : apply(user, from, to);
    PetscCall(VecRestoreArrayWrite(x, &to));
    PetscCall(VecRestoreArrayRead(b, &from));
    PetscFunctionReturn(0);
}

PetscErrorCode gsw_petsc_place_view(const gsw_petsc_place *place, PetscViewer viewer) {
    PetscFunctionBegin;
    PetscCall(PetscViewerASCIIPrintf(viewer, "backend %s, threads %d, %s\n",
                                     gsw_backend_name(gsw_context_backend(place->context)),
                                     gsw_context_threads(place->context),
                                     gsw_context_device(place->context)));
    PetscFunctionReturn(0);
}
