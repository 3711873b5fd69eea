/* petsc_plugin.c: gridsweep as a solver package of PETSc for ILU(0) and IC(0).
 *
 * PETSc loads this library when a program is started with -dll_prepend PATH and calls the function
 * at the end of this file, which registers the package "gridsweep" for matrices of type seqaij.
 * -pc_factor_mat_solver_type gridsweep then makes PCILU and PCICC factorise and solve here, alone
 * or below PCBJACOBI, PCASM and PCMG. The program itself is not changed or linked again. What is
 * factorised must be a grid in natural order: the block of a process is one, but with overlap in
 * more than one direction (PCASM) it no longer is, and is refused.
 *
 * The factor is a Mat of its own type, "gridsweep", whose operations are set below and whose data
 * hang on it in a PetscContainer. Only PETSc's public headers are used.
 *
 * Options, each after the prefix of the preconditioner (such as -sub_):
 *   -mat_gridsweep_grid NXxNYxNZ        the grid, where it is not to be found from the matrix
 *   -mat_gridsweep_backend cpu|cuda|auto    with cuda, b and x are copied for every solve
 *   -mat_gridsweep_factor_type f64|f32  how coefficients are stored; b and x are always f64
 *   -mat_gridsweep_threads N            CPU threads; 0: as many as OpenMP offers. The default is 1,
 *                                       because programs under MPI run one process a core
 *
 * The pattern of the factors is the whole stencil: entries that the matrix does not store count as
 * zeros and may fill in. Pivots are never shifted, whatever PETSc's shift type: a bad one is an
 * error that names the row. (PETSc's softer way, a solve that ends as not converged, needs a field
 * that no public function sets.) */
#include <stdlib.h>
#include <string.h>
#include <petscmat.h>
#include <gridsweep/gridsweep.h>

#if defined(PETSC_USE_COMPLEX) || !defined(PETSC_USE_REAL_DOUBLE)
#error "The plug-in needs a PETSc whose scalars are real and double"
#endif
_Static_assert(sizeof(PetscInt) == 4 || sizeof(PetscInt) == 8, "PetscInt must have 32 or 64 bits");

#define PACKAGE "gridsweep"

/* What hangs on a factor. */
typedef struct factor_data {
    gsw_context *context;
    gsw_factor_options options;
    gsw_grid grid;
    gsw_stencil stencil;
    gsw_factor *factor;     /* NULL until the first numeric phase */
    gsw_factor *transposed; /* NULL until the first solve with the transpose */
    int transposed_current; /* does `transposed` hold the values of `factor`? */
    int64_t points, nonzeros;
    double *b, *x; /* with CUDA: where vectors are copied to and from */
} factor_data;

/* ---- Life and errors --------------------------------------------------------------------------
 */

static void clear(factor_data *data) {
    gsw_factor_destroy(data->transposed);
    gsw_factor_destroy(data->factor);
    if (data->context) {
        gsw_memory_free(data->context, data->x);
        gsw_memory_free(data->context, data->b);
    }
    gsw_context_destroy(data->context);
    memset(data, 0, sizeof *data);
}

static PetscErrorCode destroy_data(void *pointer) {
    PetscFunctionBegin;
    clear(pointer);
    free(pointer);
    PetscFunctionReturn(0);
}

static PetscErrorCode get_data(Mat factor, factor_data **data) {
    PetscContainer container;
    PetscFunctionBegin;
    PetscCall(PetscObjectQuery((PetscObject)factor, PACKAGE, (PetscObject *)&container));
    PetscCheck(container, PETSC_COMM_SELF, PETSC_ERR_ARG_WRONG, "this is no factor of gridsweep");
    PetscCall(PetscContainerGetPointer(container, (void **)data));
    PetscFunctionReturn(0);
}

/* Turns a status into PETSc's error, with the reason that gridsweep gives. */
static PetscErrorCode check(const factor_data *data, gsw_status status, const char *doing) {
    const char *reason = gsw_context_message(data->context);
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
        code = data->options.kind == GSW_IC0 ? PETSC_ERR_MAT_CH_ZRPVT : PETSC_ERR_MAT_LU_ZRPVT;
        break;
    default:
        break;
    }
    SETERRQ(PETSC_COMM_SELF, code, "gridsweep, %s: %s", doing,
            reason[0] ? reason : gsw_status_text(status));
}

/* ---- The matrix -------------------------------------------------------------------------------
 */

/* The arrays of a seqaij matrix as a CSR; they go back with restore_csr(). */
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
    PetscCheck(done, PETSC_COMM_SELF, PETSC_ERR_SUP, "the matrix does not show its rows");
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

static int on_device(const factor_data *data) {
    return gsw_context_backend(data->context) == GSW_BACKEND_CUDA;
}

/* ---- Symbolic phase: options, grid and stencil ------------------------------------------------
 */

/* Reads the options; grid->nx stays 0 where no grid is given. */
static PetscErrorCode read_options(Mat factor, gsw_context_options *context,
                                   gsw_factor_options *options, gsw_grid *grid) {
    static const char *const backends[] = {"auto", "cpu", "cuda"}; /* in the order of gsw_backend */
    static const char *const types[] = {"f64", "f32"};             /* in the order of gsw_dtype */
    PetscInt backend = GSW_BACKEND_CPU, type = GSW_F64, threads = 1;
    PetscBool given;
    const char *prefix;
    char text[80] = "";
    PetscFunctionBegin;
    PetscCall(PetscObjectGetOptionsPrefix((PetscObject)factor, &prefix));
    PetscOptionsBegin(PETSC_COMM_SELF, prefix, "Factors of gridsweep", "Mat");
    PetscCall(PetscOptionsString("-mat_gridsweep_grid", "Grid of the matrix, NXxNYxNZ", NULL, text,
                                 text, sizeof text, &given));
    PetscCall(PetscOptionsEList("-mat_gridsweep_backend", "Where solves run", NULL, backends, 3,
                                backends[backend], &backend, NULL));
    PetscCall(PetscOptionsEList("-mat_gridsweep_factor_type", "How coefficients are stored", NULL,
                                types, 2, types[type], &type, NULL));
    PetscCall(PetscOptionsInt("-mat_gridsweep_threads", "CPU threads (0: all)", NULL, threads,
                              &threads, NULL));
    PetscOptionsEnd();
    PetscCheck(!given || gsw_grid_parse(NULL, text, grid) == GSW_SUCCESS, PETSC_COMM_SELF,
               PETSC_ERR_ARG_WRONG, "-mat_gridsweep_grid %s is not of the form NXxNYxNZ", text);
    PetscCheck(threads >= 0, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE,
               "-mat_gridsweep_threads %" PetscInt_FMT " is negative", threads);
    context->backend = (gsw_backend)backend;
    context->threads = (int)threads;
    options->factor_type = (gsw_dtype)type;
    PetscFunctionReturn(0);
}

/* Refuses an ordering that moves rows: the sweep relies on the grid's natural order. */
static PetscErrorCode check_ordering(IS ordering) {
    PetscBool identity = PETSC_TRUE;
    PetscFunctionBegin;
    if (ordering)
        PetscCall(ISIdentity(ordering, &identity));
    PetscCheck(identity, PETSC_COMM_SELF, PETSC_ERR_SUP,
               "gridsweep factorises in natural order only: use -pc_factor_mat_ordering_type "
               "natural");
    PetscFunctionReturn(0);
}

static gsw_status detect(factor_data *data, const gsw_csr *csr, const gsw_grid *given) {
    gsw_status status =
        gsw_detect(data->context, csr, given->nx > 0 ? given : NULL, &data->grid, &data->stencil);
    const size_t bytes = (size_t)csr->rows * sizeof(double);
    data->points = csr->rows;
    data->nonzeros = csr->nonzeros;
    if (on_device(data) && status == GSW_SUCCESS)
        status = gsw_memory_alloc(data->context, bytes, (void **)&data->b);
    if (on_device(data) && status == GSW_SUCCESS)
        status = gsw_memory_alloc(data->context, bytes, (void **)&data->x);
    return status;
}

static PetscErrorCode symbolic(Mat factor, Mat matrix, gsw_factor_kind kind,
                               const MatFactorInfo *info) {
    factor_data *data;
    gsw_context_options context_options = {.size = sizeof context_options};
    gsw_factor_options options = {.size = sizeof options, .kind = kind};
    gsw_grid given = {0};
    gsw_csr csr;
    gsw_status status;
    PetscFunctionBegin;
    PetscCheck(info->levels == 0, PETSC_COMM_SELF, PETSC_ERR_SUP,
               "gridsweep factorises without fill-in: -pc_factor_levels %" PetscInt_FMT " is not 0",
               (PetscInt)info->levels);
    PetscCall(get_data(factor, &data));
    clear(data);
    PetscCall(read_options(factor, &context_options, &options, &given));
    status = gsw_context_create(&context_options, &data->context);
    /* Without a context there is no message, so the most likely reason is given here. */
    PetscCheck(status != GSW_ERROR_NO_BACKEND, PETSC_COMM_SELF, PETSC_ERR_SUP_SYS,
               "gridsweep, -mat_gridsweep_backend %s: %s",
               gsw_backend_name(context_options.backend), gsw_status_text(status));
    PetscCall(check(data, status, "making a context"));
    data->options = options;

    PetscCall(get_csr(matrix, &csr));
    status = detect(data, &csr, &given);
    PetscCall(restore_csr(matrix, &csr));
    PetscCall(check(data, status, "finding the grid of the matrix"));
    PetscFunctionReturn(0);
}

static PetscErrorCode ilu_symbolic(Mat factor, Mat matrix, IS rows, IS columns,
                                   const MatFactorInfo *info) {
    PetscFunctionBegin;
    PetscCall(check_ordering(rows));
    PetscCall(check_ordering(columns));
    PetscCall(symbolic(factor, matrix, GSW_ILU0, info));
    PetscFunctionReturn(0);
}

static PetscErrorCode icc_symbolic(Mat factor, Mat matrix, IS ordering, const MatFactorInfo *info) {
    PetscFunctionBegin;
    PetscCall(check_ordering(ordering));
    PetscCall(symbolic(factor, matrix, GSW_IC0, info));
    PetscFunctionReturn(0);
}

/* ---- Numeric phase ----------------------------------------------------------------------------
 */

static gsw_status fill(factor_data *data, const gsw_csr *csr) {
    gsw_matrix host, device = {0}, *matrix = &host;
    gsw_status status = gsw_matrix_from_csr(data->context, &data->grid, &data->stencil, csr, &host);
    if (on_device(data) && status == GSW_SUCCESS) {
        status = gsw_matrix_upload(data->context, &host, &device);
        matrix = &device;
    }
    data->transposed_current = 0;
    if (status == GSW_SUCCESS)
        status = data->factor
                     ? gsw_factor_refactor(data->context, data->factor, matrix, NULL)
                     : gsw_factor_create(data->context, matrix, &data->options, &data->factor);
    gsw_matrix_release(data->context, &device);
    return status;
}

static PetscErrorCode numeric(Mat factor, Mat matrix, const MatFactorInfo *info) {
    factor_data *data;
    gsw_csr csr;
    gsw_status status;
    PetscFunctionBegin;
    (void)info; /* fill and shifts have no meaning here */
    PetscCall(get_data(factor, &data));
    PetscCheck(data->context, PETSC_COMM_SELF, PETSC_ERR_ORDER, "the symbolic phase comes first");
    PetscCall(get_csr(matrix, &csr));
    status = fill(data, &csr);
    PetscCall(restore_csr(matrix, &csr));
    PetscCall(check(data, status, "factorising"));
    PetscFunctionReturn(0);
}

/* ---- Solves -----------------------------------------------------------------------------------
 */

/* A factor of M^T from the L and U that `factor` holds: the matrix itself may be gone by now. */
static gsw_status transpose(factor_data *data) {
    gsw_context *context = data->context;
    gsw_factor_options options = data->options;
    gsw_csr csr[2] = {{0}, {0}};
    gsw_matrix host[2], device[2], *matrix = host;
    gsw_status status = gsw_factor_extract(context, data->factor, GSW_I64, &csr[0], &csr[1]);
    memset(device, 0, sizeof device);
    options.transpose = 1;
    for (int k = 0; k < 2 && status == GSW_SUCCESS; k++)
        status = gsw_matrix_from_csr(context, &data->grid, &data->stencil, &csr[k], &host[k]);
    for (int k = 0; k < 2 && on_device(data) && status == GSW_SUCCESS; k++) {
        status = gsw_matrix_upload(context, &host[k], &device[k]);
        matrix = device;
    }
    if (status == GSW_SUCCESS)
        status = data->transposed
                     ? gsw_factor_refactor(context, data->transposed, &matrix[0], &matrix[1])
                     : gsw_factor_create_lu(context, &matrix[0], &matrix[1], &options,
                                            &data->transposed);
    data->transposed_current = status == GSW_SUCCESS;
    for (int k = 0; k < 2; k++) {
        gsw_matrix_release(context, &device[k]);
        gsw_csr_free(&csr[k]);
    }
    return status;
}

/* Both sweeps, or only sweep `which` where it is not negative. */
static gsw_status sweep(factor_data *data, gsw_factor *factor, int which, const double *b,
                        double *x) {
    return which < 0 ? gsw_factor_solve(data->context, factor, 1, b, 0, x, 0)
                     : gsw_factor_sweep(data->context, factor, which, 1, b, 0, x, 0);
}

static gsw_status apply(factor_data *data, gsw_factor *factor, int which, const double *b,
                        double *x) {
    const size_t bytes = (size_t)data->points * sizeof(double);
    gsw_status status;
    if (!on_device(data))
        return sweep(data, factor, which, b, x);
    status = gsw_memory_upload(data->context, data->b, b, bytes);
    if (status == GSW_SUCCESS)
        status = sweep(data, factor, which, data->b, data->x);
    if (status == GSW_SUCCESS)
        status = gsw_memory_download(data->context, x, data->x, bytes);
    return status;
}

static PetscErrorCode solve_with(factor_data *data, gsw_factor *factor, int which, Vec b, Vec x) {
    const PetscScalar *from;
    PetscScalar *to;
    gsw_status status;
    PetscFunctionBegin;
    PetscCheck(factor, PETSC_COMM_SELF, PETSC_ERR_ORDER, "the numeric phase comes before a solve");
    PetscCall(VecGetArrayRead(b, &from));
    PetscCall(VecGetArrayWrite(x, &to));
    status = apply(data, factor, which, from, to);
    PetscCall(VecRestoreArrayWrite(x, &to));
    PetscCall(VecRestoreArrayRead(b, &from));
    PetscCall(check(data, status, "solving"));
    /* A multiplication and an addition for every stored coefficient but the diagonal. */
    PetscCall(PetscLogFlops((which < 0 ? 2.0 : 1.0) * (double)data->nonzeros));
    PetscFunctionReturn(0);
}

static PetscErrorCode solve(Mat factor, Vec b, Vec x) {
    factor_data *data;
    PetscFunctionBegin;
    PetscCall(get_data(factor, &data));
    PetscCall(solve_with(data, data->factor, -1, b, x));
    PetscFunctionReturn(0);
}

static PetscErrorCode solve_transpose(Mat factor, Vec b, Vec x) {
    factor_data *data;
    PetscFunctionBegin;
    PetscCall(get_data(factor, &data));
    if (data->factor && !data->transposed_current)
        PetscCall(check(data, transpose(data), "transposing the factors"));
    PetscCall(solve_with(data, data->transposed, -1, b, x));
    PetscFunctionReturn(0);
}

static PetscErrorCode forward_solve(Mat factor, Vec b, Vec x) {
    factor_data *data;
    PetscFunctionBegin;
    PetscCall(get_data(factor, &data));
    PetscCall(solve_with(data, data->factor, 0, b, x));
    PetscFunctionReturn(0);
}

static PetscErrorCode backward_solve(Mat factor, Vec b, Vec x) {
    factor_data *data;
    PetscFunctionBegin;
    PetscCall(get_data(factor, &data));
    PetscCall(solve_with(data, data->factor, 1, b, x));
    PetscFunctionReturn(0);
}

/* ---- Reports ----------------------------------------------------------------------------------
 */

static PetscErrorCode get_info(Mat factor, MatInfoType which, MatInfo *info) {
    factor_data *data;
    gsw_factor_info sizes = {.size = sizeof sizes};
    PetscFunctionBegin;
    (void)which; /* one process: local and global are the same */
    PetscCall(get_data(factor, &data));
    memset(info, 0, sizeof *info);
    info->block_size = 1;
    info->nz_allocated = info->nz_used = (PetscLogDouble)data->nonzeros;
    info->fill_ratio_given = info->fill_ratio_needed = 1;
    if (data->factor && gsw_factor_get_info(data->factor, &sizes) == GSW_SUCCESS)
        info->memory = (PetscLogDouble)(sizes.packed_bytes + sizes.work_bytes);
    PetscFunctionReturn(0);
}

static PetscErrorCode view(Mat factor, PetscViewer viewer) {
    factor_data *data;
    PetscBool ascii;
    PetscFunctionBegin;
    PetscCall(PetscObjectTypeCompare((PetscObject)viewer, PETSCVIEWERASCII, &ascii));
    PetscCall(get_data(factor, &data));
    if (!ascii || !data->context)
        PetscFunctionReturn(0);
    PetscCall(PetscViewerASCIIPrintf(
        viewer, "gridsweep %s: %s, grid %lldx%lldx%lld, stencil %s, factor %s\n", gsw_version(),
        gsw_factor_kind_name(data->options.kind), (long long)data->grid.nx,
        (long long)data->grid.ny, (long long)data->grid.nz, gsw_stencil_name(&data->stencil),
        data->options.factor_type == GSW_F32 ? "f32" : "f64"));
    PetscCall(PetscViewerASCIIPrintf(viewer, "backend %s, threads %d, %s\n",
                                     gsw_backend_name(gsw_context_backend(data->context)),
                                     gsw_context_threads(data->context),
                                     gsw_context_device(data->context)));
    PetscFunctionReturn(0);
}

static PetscErrorCode get_package(Mat factor, MatSolverType *type) {
    PetscFunctionBegin;
    (void)factor;
    *type = PACKAGE;
    PetscFunctionReturn(0);
}

/* ---- The type of the factors, and the package -------------------------------------------------
 */

#define OPERATION(function) ((void (*)(void))(function))

/* Makes an existing Mat, of which only sizes are used, one of type "gridsweep". */
static PetscErrorCode create_type(Mat factor) {
    static const struct {
        MatOperation operation;
        void (*function)(void);
    } operations[] = {
        {MATOP_SETUP, NULL},
        {MATOP_ASSEMBLY_BEGIN, NULL},
        {MATOP_ASSEMBLY_END, NULL},
        {MATOP_ILUFACTOR_SYMBOLIC, OPERATION(ilu_symbolic)},
        {MATOP_ICCFACTOR_SYMBOLIC, OPERATION(icc_symbolic)},
        {MATOP_LUFACTOR_SYMBOLIC, NULL},
        {MATOP_CHOLESKY_FACTOR_SYMBOLIC, NULL},
        {MATOP_LUFACTOR_NUMERIC, OPERATION(numeric)},
        {MATOP_CHOLESKY_FACTOR_NUMERIC, OPERATION(numeric)},
        {MATOP_SOLVE, OPERATION(solve)},
        {MATOP_GETINFO, OPERATION(get_info)},
        {MATOP_VIEW, OPERATION(view)},
    };
    PetscContainer container;
    factor_data *data = calloc(1, sizeof *data);
    PetscFunctionBegin;
    PetscCheck(data, PETSC_COMM_SELF, PETSC_ERR_MEM, "no memory for a factor");
    PetscCall(PetscContainerCreate(PETSC_COMM_SELF, &container));
    PetscCall(PetscContainerSetPointer(container, data));
    PetscCall(PetscContainerSetUserDestroy(container, destroy_data));
    PetscCall(PetscObjectCompose((PetscObject)factor, PACKAGE, (PetscObject)container));
    PetscCall(PetscContainerDestroy(&container));

    for (size_t k = 0; k < sizeof operations / sizeof operations[0]; k++)
        PetscCall(MatSetOperation(factor, operations[k].operation, operations[k].function));
    PetscCall(
        PetscObjectComposeFunction((PetscObject)factor, "MatFactorGetSolverType_C", get_package));
    PetscCall(PetscObjectChangeTypeName((PetscObject)factor, PACKAGE));
    PetscFunctionReturn(0);
}

/* What MatGetFactor() calls. PETSc's own empty factor is taken and given another type, because it
 * comes with what no public function sets: that the preconditioner is to make its ordering, natural
 * unless the user wants another, and hand it to the symbolic phase. */
static PetscErrorCode get_factor(Mat matrix, MatFactorType type, Mat *factor) {
    PetscFunctionBegin;
    PetscCall(MatGetFactor(matrix, MATSOLVERPETSC, type, factor));
    PetscCall(MatSetType(*factor, PACKAGE));
    /* L and U alone, and the transpose, are for ILU: L and L^T of IC(0) would need their roots, and
     * PETSc solves with a symmetric factor instead of its transpose. */
    if (type == MAT_FACTOR_ILU) {
        PetscCall(MatSetOperation(*factor, MATOP_SOLVE_TRANSPOSE, OPERATION(solve_transpose)));
        PetscCall(MatSetOperation(*factor, MATOP_FORWARD_SOLVE, OPERATION(forward_solve)));
        PetscCall(MatSetOperation(*factor, MATOP_BACKWARD_SOLVE, OPERATION(backward_solve)));
    } else {
        PetscCall(MatSetOperation(*factor, MATOP_SOLVE_TRANSPOSE, OPERATION(solve)));
    }
    PetscCall(MatSetUp(*factor));
    /* PETSc views factors only if they are assembled, and assembles none. */
    PetscCall(MatSetFactorType(*factor, MAT_FACTOR_NONE));
    PetscCall(MatAssemblyBegin(*factor, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(*factor, MAT_FINAL_ASSEMBLY));
    PetscCall(MatSetFactorType(*factor, type));
    PetscFunctionReturn(0);
}

PETSC_EXTERN GSW_API
PetscErrorCode PetscDLLibraryRegister_gridsweep_petsc(void);

/* PETSc makes the name from that of the file, libgridsweep_petsc.so. */
PetscErrorCode PetscDLLibraryRegister_gridsweep_petsc(void) {
    PetscInt major, minor, patch, release;
    PetscFunctionBegin;
    PetscCall(PetscGetVersionNumber(&major, &minor, &patch, &release));
    PetscCheck(major == PETSC_VERSION_MAJOR && minor == PETSC_VERSION_MINOR, PETSC_COMM_SELF,
               PETSC_ERR_SUP,
               "gridsweep's plug-in was built for PETSc %d.%d, but this is %" PetscInt_FMT
               ".%" PetscInt_FMT,
               PETSC_VERSION_MAJOR, PETSC_VERSION_MINOR, major, minor);
    PetscCall(MatRegister(PACKAGE, create_type));
    PetscCall(MatSolverTypeRegister(PACKAGE, MATSEQAIJ, MAT_FACTOR_ILU, get_factor));
    PetscCall(MatSolverTypeRegister(PACKAGE, MATSEQAIJ, MAT_FACTOR_ICC, get_factor));
    PetscFunctionReturn(0);
}
