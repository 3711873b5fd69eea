/* petsc_place.c: data on objects, contexts, matrices and vectors of the plug-in. */
/* 3.18 has PetscContainerSetUserDestroy() only. */
#define PETSC_SILENCE_DEPRECATION_WARNINGS_3_23_0
#include "petsc_place.h"
#include <string.h>
#include "petsc_gpu.h"

/* ---- Data on objects ------------------------------------------------------------------------ */

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

/* ---- Errors --------------------------------------------------------------------------------- */

PetscErrorCode gsw_petsc_check(MPI_Comm comm, const gsw_petsc_place *place, gsw_status status,
                               PetscErrorCode pivot, const char *doing) {
    static const PetscErrorCode codes[] = {/* of the others: PETSC_ERR_LIB */
                                           [GSW_ERROR_INVALID_ARGUMENT] = PETSC_ERR_ARG_WRONG,
                                           [GSW_ERROR_NOT_A_GRID] = PETSC_ERR_ARG_WRONG,
                                           [GSW_ERROR_OVERFLOW] = PETSC_ERR_ARG_OUTOFRANGE,
                                           [GSW_ERROR_OUT_OF_MEMORY] = PETSC_ERR_MEM,
                                           [GSW_ERROR_UNSUPPORTED] = PETSC_ERR_SUP,
                                           [GSW_ERROR_NO_BACKEND] = PETSC_ERR_SUP_SYS};
    const char *reason = gsw_context_message(place->context);
    PetscErrorCode code = PETSC_ERR_LIB;
    PetscFunctionBegin;
    if (status == GSW_SUCCESS)
        PetscFunctionReturn(0);
    if (status == GSW_ERROR_TIMEOUT || status == GSW_ERROR_COMMUNICATION)
        comm = PETSC_COMM_SELF; /* other processes may have another status */
    if (status == GSW_ERROR_ZERO_PIVOT)
        code = pivot;
    else if ((size_t)status < sizeof codes / sizeof *codes && codes[status] != 0)
        code = codes[status];
    SETERRQ(comm, code, "gridsweep, %s: %s", doing, reason[0] ? reason : gsw_status_text(status));
}

/* ---- The matrix ----------------------------------------------------------------------------- */

/* The rows and columns of a seqaij matrix on the host, as a CSR without values. */
static PetscErrorCode get_pattern(Mat matrix, gsw_csr *csr) {
    const PetscInt *row_ptr, *columns;
    PetscInt rows, width;
    PetscBool done;
    PetscFunctionBegin;
    PetscCall(MatGetSize(matrix, &rows, &width));
    PetscCheck(rows == width, PETSC_COMM_SELF, PETSC_ERR_ARG_SIZ,
               "the matrix is not square: %" PetscInt_FMT " x %" PetscInt_FMT, rows, width);
    PetscCall(MatGetRowIJ(matrix, 0, PETSC_FALSE, PETSC_FALSE, &rows, &row_ptr, &columns, &done));
    PetscCheck(done, PETSC_COMM_SELF, PETSC_ERR_SUP, "the matrix gives no access to its rows");
    const gsw_csr view = {.rows = rows,
                          .nonzeros = row_ptr[rows],
                          .row_ptr = row_ptr,
                          .columns = columns,
                          .index_type = sizeof(PetscInt) == 4 ? GSW_I32 : GSW_I64,
                          .value_type = GSW_F64};
    *csr = view;
    PetscFunctionReturn(0);
}

static PetscErrorCode restore_pattern(Mat matrix, gsw_csr *csr) {
    const PetscInt *row_ptr = csr->row_ptr, *columns = csr->columns;
    PetscInt rows = (PetscInt)csr->rows;
    PetscBool done;
    PetscFunctionBegin;
    PetscCall(
        MatRestoreRowIJ(matrix, 0, PETSC_FALSE, PETSC_FALSE, &rows, &row_ptr, &columns, &done));
    PetscFunctionReturn(0);
}

int gsw_petsc_on_device(const gsw_petsc_place *place) {
    return gsw_context_backend(place->context) == GSW_BACKEND_CUDA;
}

/* From a CSR in host memory. */
static gsw_status take_host(gsw_petsc_place *place, const gsw_csr *csr, gsw_petsc_take_fn take,
                            void *user) {
    gsw_matrix host, device = {0}, *matrix = &host;
    gsw_csr copy = {0};
    gsw_status status =
        place->strays
            ? gsw_matrix_fit(place->context, csr, &place->grid, &place->stencil, &host, &copy)
            : gsw_matrix_from_csr(place->context, &place->grid, &place->stencil, csr, &host);
    if (gsw_petsc_on_device(place) && status == GSW_SUCCESS) {
        status = gsw_matrix_upload(place->context, &host, &device);
        matrix = &device;
    }
    if (status == GSW_SUCCESS)
        status = take(user, matrix);
    gsw_matrix_release(place->context, &device);
    gsw_csr_free(&copy);
    return status;
}

/* From a CSR in device memory. */
static gsw_status take_device(gsw_petsc_place *place, const gsw_csr *csr, gsw_petsc_take_fn take,
                              void *user) {
    gsw_matrix matrix;
    gsw_status status =
        gsw_matrix_from_csr(place->context, &place->grid, &place->stencil, csr, &matrix);
    return status == GSW_SUCCESS ? take(user, &matrix) : status;
}

/* Work on arrays of PETSc's on the GPU stands between these two. Usually the context works on
 * PETSc's stream, and nobody waits. Where the two streams differ, each side waits for the other. */
static PetscErrorCode begin_on_gpu(const gsw_petsc_place *place, PetscBool *waits) {
    PetscBool blocking;
    void *stream;
    int device;
    PetscFunctionBegin;
    PetscCall(gsw_petsc_gpu_stream(&device, &stream, &blocking));
    PetscCheck(device == place->device, PETSC_COMM_SELF, PETSC_ERR_ARG_WRONGSTATE,
               "PETSc was on CUDA device %d, and is on %d now", place->device, device);
    *waits = (PetscBool)(stream != place->stream);
    if (*waits)
        PetscCall(gsw_petsc_gpu_wait());
    PetscFunctionReturn(0);
}

static gsw_status end_on_gpu(const gsw_petsc_place *place, PetscBool waits, gsw_status status) {
    const gsw_status last = waits ? gsw_context_synchronize(place->context) : GSW_SUCCESS;
    return status == GSW_SUCCESS ? last : status;
}

PetscErrorCode gsw_petsc_take_matrix(gsw_petsc_place *place, Mat matrix, gsw_petsc_take_fn take,
                                     void *user, gsw_status *status) {
    gsw_csr csr, device;
    PetscBool on_gpu, waits;
    PetscFunctionBegin;
    PetscCall(gsw_petsc_gpu_has(matrix, &on_gpu));
    PetscCall(get_pattern(matrix, &csr));
    if (on_gpu && place->on_gpu && !place->strays) {
        device = csr;
        PetscCall(gsw_petsc_gpu_get_csr(matrix, &device));
        PetscCall(begin_on_gpu(place, &waits));
        *status = end_on_gpu(place, waits, take_device(place, &device, take, user));
        PetscCall(gsw_petsc_gpu_restore_csr(matrix, &device));
    } else {
        const PetscScalar *values;
        PetscCall(MatSeqAIJGetArrayRead(matrix, &values));
        csr.values = values;
        *status = take_host(place, &csr, take, user);
        PetscCall(MatSeqAIJRestoreArrayRead(matrix, &values));
    }
    PetscCall(restore_pattern(matrix, &csr));
    PetscFunctionReturn(0);
}

/* ---- Open and close ------------------------------------------------------------------------- */

/* The backend in *context is the default. */
static PetscErrorCode read_place(MPI_Comm comm, const char *prefix, const char *family,
                                 gsw_context_options *context, gsw_grid *grid) {
    static const char *const backends[] = {"auto", "cpu", "cuda",
                                           "reference"}; /* in the order of gsw_backend */
    enum { GRID, BACKEND, THREADS, COUNT };
    static const char *const words[COUNT] = {"grid", "backend", "threads"};
    PetscInt backend = (PetscInt)context->backend, threads = 1;
    PetscBool given;
    char text[80] = "", name[COUNT][40];
    PetscFunctionBegin;
    for (int k = 0; k < COUNT; k++)
        PetscCall(PetscSNPrintf(name[k], sizeof name[k], "-%s_%s", family, words[k]));
    PetscOptionsBegin(comm, prefix, "Where gridsweep works", "Mat");
    PetscCall(PetscOptionsString(name[GRID], "Grid of the matrix, NXxNYxNZ", NULL, text, text,
                                 sizeof text, &given));
    PetscCall(PetscOptionsEList(name[BACKEND], "Where solves run", NULL, backends, 4,
                                backends[backend], &backend, NULL));
    PetscCall(
        PetscOptionsInt(name[THREADS], "CPU threads (0: all)", NULL, threads, &threads, NULL));
    PetscOptionsEnd();
    PetscCheck(!given || gsw_grid_parse(NULL, text, grid) == GSW_SUCCESS, comm, PETSC_ERR_ARG_WRONG,
               "%s %s is not of the form NXxNYxNZ", name[GRID], text);
    PetscCheck(threads >= 0, comm, PETSC_ERR_ARG_OUTOFRANGE, "%s %" PetscInt_FMT " is negative",
               name[THREADS], threads);
    context->backend = (gsw_backend)backend;
    context->threads = (int)threads;
    PetscFunctionReturn(0);
}

static PetscErrorCode create_context(gsw_petsc_place *place, MPI_Comm comm, const char *family,
                                     const gsw_context_options *options) {
    const gsw_status status = gsw_context_create(options, &place->context);
    PetscFunctionBegin;
    /* Without a context there is no message, so this text gives the most likely reason. */
    PetscCheck(status != GSW_ERROR_NO_BACKEND, comm, PETSC_ERR_SUP_SYS,
               "gridsweep, -%s_backend %s: %s", family, gsw_backend_name(options->backend),
               gsw_status_text(status));
    PetscCall(gsw_petsc_check(comm, place, status, PETSC_ERR_LIB, "making a context"));
    PetscFunctionReturn(0);
}

PetscErrorCode gsw_petsc_open_context(gsw_petsc_place *place, MPI_Comm comm, const char *prefix,
                                      const char *family, Mat matrix, gsw_grid *given) {
    gsw_context_options options = {.size = sizeof options};
    PetscBool on_gpu, blocking = PETSC_TRUE;
    PetscMPIInt processes;
    PetscFunctionBegin;
    PetscCall(gsw_petsc_gpu_has(matrix, &on_gpu));
    options.backend = on_gpu ? GSW_BACKEND_AUTO : GSW_BACKEND_CPU;
    PetscCall(read_place(comm, prefix, family, &options, given));
    PetscCallMPI(MPI_Comm_size(comm, &processes));
    if (!on_gpu && processes > 1) { /* PETSc alone knows which GPU is whose */
        PetscCheck(options.backend != GSW_BACKEND_CUDA, comm, PETSC_ERR_SUP,
                   "-%s_backend cuda: on several processes gridsweep takes matrices of type "
                   "mpiaijcusparse to GPUs, and others to the CPU",
                   family);
        if (options.backend == GSW_BACKEND_AUTO)
            options.backend = GSW_BACKEND_CPU;
    }
    if (on_gpu && (options.backend == GSW_BACKEND_AUTO || options.backend == GSW_BACKEND_CUDA))
        PetscCall(gsw_petsc_gpu_stream(&options.device, &options.stream, &blocking));
    /* PETSc itself leaves work on the default stream: copies, and products with a matrix that is
     * older than its device context. A non-blocking stream does not wait for that work. */
    if (!blocking)
        options.stream = NULL;
    PetscCall(create_context(place, comm, family, &options));
    place->on_gpu = on_gpu && gsw_petsc_on_device(place);
    place->device = options.device;
    place->stream = options.stream;
    PetscFunctionReturn(0);
}

static PetscErrorCode detect(gsw_petsc_place *place, Mat matrix, const gsw_grid *known) {
    const PetscScalar *values;
    char remark[256] = "";
    gsw_csr csr, copy = {0};
    gsw_stencil larger;
    gsw_matrix found;
    gsw_status status;
    PetscFunctionBegin;
    PetscCall(get_pattern(matrix, &csr));
    PetscCall(MatSeqAIJGetArrayRead(matrix, &values));
    csr.values = values;
    status = gsw_matrix_fit(place->context, &csr, known, NULL, &found, &copy);
    if (status == GSW_SUCCESS) {
        place->points = csr.rows;
        place->nonzeros = csr.nonzeros;
        place->grid = found.grid;
        gsw_matrix_near_stencil(&found, &place->stencil);
        place->strays = copy.rows > 0;
        /* On a GPU a larger stencil is cheaper than copies through the host. */
        csr.values = NULL;
        if (place->strays && place->on_gpu &&
            gsw_detect(place->context, &csr, &found.grid, &place->grid, &larger) == GSW_SUCCESS &&
            strcmp(gsw_stencil_name(&larger), "custom") != 0) {
            place->stencil = larger;
            place->strays = 0;
        }
        if (!gsw_petsc_on_device(place))
            status = gsw_matrix_remark(place->context, &found, remark, sizeof remark);
    }
    gsw_csr_free(&copy);
    PetscCall(MatSeqAIJRestoreArrayRead(matrix, &values));
    PetscCall(restore_pattern(matrix, &csr));
    if (remark[0])
        PetscCall(PetscInfo(matrix, "%s\n", remark));
    PetscCall(gsw_petsc_check(PETSC_COMM_SELF, place, status, PETSC_ERR_LIB,
                              "finding the grid of the matrix"));
    PetscFunctionReturn(0);
}

PetscErrorCode gsw_petsc_place_open(gsw_petsc_place *place, const char *prefix, const char *family,
                                    Mat matrix, const gsw_grid *known) {
    gsw_grid given = {0};
    PetscFunctionBegin;
    PetscCall(gsw_petsc_open_context(place, PETSC_COMM_SELF, prefix, family, matrix, &given));
    if (given.nx > 0)
        known = &given;
    PetscCall(detect(place, matrix, known));
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

/* ---- Vectors and reports -------------------------------------------------------------------- */

/* Allocates a buffer of the place where it has none. */
static gsw_status need_buffer(const gsw_petsc_place *place, double **buffer) {
    const size_t bytes = (size_t)place->points * sizeof(double);
    return *buffer ? GSW_SUCCESS : gsw_memory_alloc(place->context, bytes, (void **)buffer);
}

/* An array that is on the host goes through a buffer on the device. */
static gsw_status apply_on_device(gsw_petsc_place *place, gsw_petsc_apply_fn apply, void *user,
                                  const double *b, PetscBool b_on_host, double *x,
                                  PetscBool x_on_host) {
    const size_t bytes = (size_t)place->points * sizeof(double);
    gsw_status status = GSW_SUCCESS;
    if (b_on_host)
        status = need_buffer(place, &place->b);
    if (b_on_host && status == GSW_SUCCESS)
        status = gsw_memory_upload(place->context, place->b, b, bytes);
    if (x_on_host && status == GSW_SUCCESS)
        status = need_buffer(place, &place->x);
    if (status == GSW_SUCCESS)
        status = apply(user, b_on_host ? place->b : b, x_on_host ? place->x : x);
    if (x_on_host && status == GSW_SUCCESS)
        status = gsw_memory_download(place->context, x, place->x, bytes);
    return status;
}

/* For a place that shares PETSc's GPU: vectors there are used where they lie. */
static PetscErrorCode apply_on_gpu(gsw_petsc_place *place, gsw_petsc_apply_fn apply, void *user,
                                   Vec b, Vec x, gsw_status *status) {
    const PetscScalar *from;
    PetscScalar *to;
    PetscMemType from_type, to_type;
    PetscBool waits;
    PetscFunctionBegin;
    PetscCall(VecGetArrayReadAndMemType(b, &from, &from_type));
    PetscCall(VecGetArrayWriteAndMemType(x, &to, &to_type));
    PetscCall(PetscLogGpuTimeBegin());
    PetscCall(begin_on_gpu(place, &waits));
    *status = end_on_gpu(place, waits,
                         apply_on_device(place, apply, user, from,
                                         (PetscBool)!PetscMemTypeCUDA(from_type), to,
                                         (PetscBool)!PetscMemTypeCUDA(to_type)));
    PetscCall(PetscLogGpuTimeEnd());
    PetscCall(VecRestoreArrayWriteAndMemType(x, &to));
    PetscCall(VecRestoreArrayReadAndMemType(b, &from));
    PetscFunctionReturn(0);
}

PetscErrorCode gsw_petsc_apply(gsw_petsc_place *place, gsw_petsc_apply_fn apply, void *user, Vec b,
                               Vec x, gsw_status *status) {
    const PetscScalar *from;
    PetscScalar *to;
    PetscFunctionBegin;
    if (place->on_gpu) {
        PetscCall(apply_on_gpu(place, apply, user, b, x, status));
        PetscFunctionReturn(0);
    }
    PetscCall(VecGetArrayRead(b, &from));
    PetscCall(VecGetArrayWrite(x, &to));
    *status = gsw_petsc_on_device(place)
                  ? apply_on_device(place, apply, user, from, PETSC_TRUE, to, PETSC_TRUE)
                  : apply(user, from, to);
    PetscCall(VecRestoreArrayWrite(x, &to));
    PetscCall(VecRestoreArrayRead(b, &from));
    PetscFunctionReturn(0);
}

PetscErrorCode gsw_petsc_log_flops(const gsw_petsc_place *place, double flops) {
    return place->on_gpu ? PetscLogGpuFlops(flops) : PetscLogFlops(flops);
}

void gsw_petsc_describe(const gsw_petsc_place *place, char *text, size_t size) {
    const gsw_grid *grid = &place->grid;
    const int32_t p = grid->periodic;
    snprintf(text, size, "grid %lldx%lldx%lld%s%s%s%s, stencil %s", (long long)grid->nx,
             (long long)grid->ny, (long long)grid->nz, p ? ", periodic " : "",
             p & GSW_PERIODIC_X ? "x" : "", p & GSW_PERIODIC_Y ? "y" : "",
             p & GSW_PERIODIC_Z ? "z" : "", gsw_stencil_name(&place->stencil));
}

PetscErrorCode gsw_petsc_place_view(const gsw_petsc_place *place, PetscViewer viewer) {
    return PetscViewerASCIIPrintf(viewer, "backend %s, threads %d, %s\n",
                                  gsw_backend_name(gsw_context_backend(place->context)),
                                  gsw_context_threads(place->context),
                                  gsw_context_device(place->context));
}
