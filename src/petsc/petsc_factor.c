/* petsc_factor.c: gridsweep's ILU(0) and IC(0) as PETSc factors.
 *
 * The factor is a Mat of its own type, "gridsweep". Its operations are set below, and a
 * PetscContainer attached to it holds its data. The matrix must be a grid in natural order. The
 * block of a process is such a grid. With overlap in more than one direction (PCASM) it no longer
 * is, and is refused.
 *
 * The pattern of the factors is the whole stencil: entries that the matrix does not store count as
 * zeros and may fill in. Pivots are never shifted, whatever PETSc's shift type. A bad pivot is an
 * error that names the row. (PETSc can instead end a solve as not converged, but that needs a field
 * that no public function sets.) */
#include "petsc_register.h"
#include <stdlib.h>
#include <string.h>
#include "petsc_place.h"

/* The data attached to a factor. */
typedef struct factor_data {
    gsw_petsc_place place;
    gsw_factor_options options;
    gsw_factor *factor;     /* NULL until the first numeric phase */
    gsw_factor *transposed; /* NULL until the first solve with the transpose */
    int transposed_current; /* does `transposed` hold the values of `factor`? */
} factor_data;

/* ---- Life and errors ------------------------------------------------------------------------ */

static void clear(factor_data *data) {
    gsw_factor_destroy(data->transposed);
    gsw_factor_destroy(data->factor);
    gsw_petsc_place_close(&data->place);
    memset(data, 0, sizeof *data);
}

static PetscErrorCode destroy_data(void *pointer) {
    clear(pointer);
    free(pointer);
    return 0;
}

static PetscErrorCode get_data(Mat factor, factor_data **data) {
    return gsw_petsc_data((PetscObject)factor, "factor", (void **)data);
}

/* Reports errors with the kind of the factors. */
static PetscErrorCode check(const factor_data *data, gsw_status status, const char *doing) {
    return gsw_petsc_check(
        PETSC_COMM_SELF, &data->place, status,
        data->options.kind == GSW_IC0 ? PETSC_ERR_MAT_CH_ZRPVT : PETSC_ERR_MAT_LU_ZRPVT, doing);
}

/* ---- Symbolic phase: options, grid and stencil ---------------------------------------------- */

static PetscErrorCode read_options(const char *prefix, gsw_factor_options *options) {
    static const char *const types[] = {"f64", "f32"}; /* in the order of gsw_dtype */
    PetscInt type = GSW_F64;
    PetscFunctionBegin;
    PetscOptionsBegin(PETSC_COMM_SELF, prefix, "Factors of gridsweep", "Mat");
    PetscCall(PetscOptionsEList("-mat_gridsweep_factor_type", "How coefficients are stored", NULL,
                                types, 2, types[type], &type, NULL));
    PetscOptionsEnd();
    options->factor_type = (gsw_dtype)type;
    PetscFunctionReturn(0);
}

/* Refuses an ordering that moves rows, because the sweep needs the grid's natural order. */
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

static PetscErrorCode look_at(Mat factor, Mat matrix, gsw_factor_kind kind) {
    factor_data *data;
    const char *prefix;
    PetscFunctionBegin;
    PetscCall(get_data(factor, &data));
    clear(data);
    data->options = (gsw_factor_options){.size = sizeof data->options, .kind = kind};
    PetscCall(PetscObjectGetOptionsPrefix((PetscObject)factor, &prefix));
    PetscCall(read_options(prefix, &data->options));
    PetscCall(gsw_petsc_place_open(&data->place, prefix, "mat_gridsweep", matrix, NULL));
    PetscFunctionReturn(0);
}

static PetscErrorCode symbolic(Mat factor, Mat matrix, gsw_factor_kind kind, IS rows, IS columns,
                               const MatFactorInfo *info) {
    PetscFunctionBegin;
    PetscCall(check_ordering(rows));
    PetscCall(check_ordering(columns));
    PetscCheck(info->levels == 0, PETSC_COMM_SELF, PETSC_ERR_SUP,
               "gridsweep factorises without fill-in: -pc_factor_levels %" PetscInt_FMT " is not 0",
               (PetscInt)info->levels);
    PetscCall(look_at(factor, matrix, kind));
    PetscFunctionReturn(0);
}

static PetscErrorCode ilu_symbolic(Mat factor, Mat matrix, IS rows, IS columns,
                                   const MatFactorInfo *info) {
    return symbolic(factor, matrix, GSW_ILU0, rows, columns, info);
}

static PetscErrorCode icc_symbolic(Mat factor, Mat matrix, IS ordering, const MatFactorInfo *info) {
    return symbolic(factor, matrix, GSW_IC0, ordering, NULL, info);
}

/* ---- Numeric phase -------------------------------------------------------------------------- */

static gsw_status fill(void *user, const gsw_matrix *matrix) {
    factor_data *data = user;
    data->transposed_current = 0;
    return data->factor
               ? gsw_factor_refactor(data->place.context, data->factor, matrix, NULL)
               : gsw_factor_create(data->place.context, matrix, &data->options, &data->factor);
}

static PetscErrorCode numeric(Mat factor, Mat matrix, const MatFactorInfo *info) {
    factor_data *data;
    gsw_status status;
    PetscFunctionBegin;
    (void)info; /* fill and shifts have no meaning here */
    PetscCall(get_data(factor, &data));
    PetscCheck(data->place.context, PETSC_COMM_SELF, PETSC_ERR_ORDER,
               "the symbolic phase must come first");
    PetscCall(gsw_petsc_take_matrix(&data->place, matrix, fill, data, &status));
    if (status == GSW_ERROR_NOT_A_GRID && data->place.strays) { /* it has a larger stencil now */
        PetscCall(look_at(factor, matrix, data->options.kind));
        PetscCall(gsw_petsc_take_matrix(&data->place, matrix, fill, data, &status));
    }
    PetscCall(check(data, status, "factorising"));
    PetscFunctionReturn(0);
}

/* ---- Solves --------------------------------------------------------------------------------- */

/* Creates a factor of M^T from the L and U that `factor` holds, because the matrix may be gone. */
static gsw_status transpose(factor_data *data) {
    gsw_context *context = data->place.context;
    gsw_factor_options options = data->options;
    gsw_csr csr[2] = {{0}, {0}};
    gsw_matrix host[2], device[2], *matrix = host;
    gsw_status status = gsw_factor_extract(context, data->factor, GSW_I64, &csr[0], &csr[1]);
    memset(device, 0, sizeof device);
    options.transpose = 1;
    for (int k = 0; k < 2 && status == GSW_SUCCESS; k++)
        status = gsw_matrix_from_csr(context, &data->place.grid, &data->place.stencil, &csr[k],
                                     &host[k]);
    for (int k = 0; k < 2 && gsw_petsc_on_device(&data->place) && status == GSW_SUCCESS; k++) {
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

/* The sweeps of a solve: both, or only sweep `which` where it is not negative. */
typedef struct solver {
    gsw_context *context;
    gsw_factor *factor;
    int which;
} solver;

static gsw_status sweep(void *user, const double *b, double *x) {
    const solver *with = user;
    return with->which < 0
               ? gsw_factor_solve(with->context, with->factor, 1, b, 0, x, 0)
               : gsw_factor_sweep(with->context, with->factor, with->which, 1, b, 0, x, 0);
}

static PetscErrorCode solve_with(Mat factor, int transposed, int which, Vec b, Vec x) {
    factor_data *data;
    gsw_status status;
    PetscFunctionBegin;
    PetscCall(get_data(factor, &data));
    if (transposed && data->factor && !data->transposed_current)
        PetscCall(check(data, transpose(data), "transposing the factors"));
    solver with = {data->place.context, transposed ? data->transposed : data->factor, which};
    PetscCheck(with.factor, PETSC_COMM_SELF, PETSC_ERR_ORDER,
               "the numeric phase must come before a solve");
    PetscCall(gsw_petsc_apply(&data->place, sweep, &with, b, x, &status));
    PetscCall(check(data, status, "solving"));
    /* A multiplication and an addition for every stored coefficient except the diagonal. */
    PetscCall(
        gsw_petsc_log_flops(&data->place, (which < 0 ? 2.0 : 1.0) * (double)data->place.nonzeros));
    PetscFunctionReturn(0);
}

static PetscErrorCode solve(Mat factor, Vec b, Vec x) {
    return solve_with(factor, 0, -1, b, x);
}

static PetscErrorCode solve_transpose(Mat factor, Vec b, Vec x) {
    return solve_with(factor, 1, -1, b, x);
}

static PetscErrorCode forward_solve(Mat factor, Vec b, Vec x) {
    return solve_with(factor, 0, 0, b, x);
}

static PetscErrorCode backward_solve(Mat factor, Vec b, Vec x) {
    return solve_with(factor, 0, 1, b, x);
}

/* ---- Reports -------------------------------------------------------------------------------- */

static PetscErrorCode get_info(Mat factor, MatInfoType which, MatInfo *info) {
    factor_data *data;
    gsw_factor_info sizes = {.size = sizeof sizes};
    PetscFunctionBegin;
    (void)which; /* one process: local and global are the same */
    PetscCall(get_data(factor, &data));
    memset(info, 0, sizeof *info);
    info->block_size = 1;
    info->nz_allocated = info->nz_used = (PetscLogDouble)data->place.nonzeros;
    info->fill_ratio_given = info->fill_ratio_needed = 1;
    if (data->factor && gsw_factor_get_info(data->factor, &sizes) == GSW_SUCCESS)
        info->memory = (PetscLogDouble)(sizes.packed_bytes + sizes.work_bytes);
    PetscFunctionReturn(0);
}

static PetscErrorCode view(Mat factor, PetscViewer viewer) {
    factor_data *data;
    char text[GSW_PETSC_DESCRIPTION];
    PetscBool ascii;
    PetscFunctionBegin;
    PetscCall(PetscObjectTypeCompare((PetscObject)viewer, PETSCVIEWERASCII, &ascii));
    PetscCall(get_data(factor, &data));
    if (!ascii || !data->place.context)
        PetscFunctionReturn(0);
    gsw_petsc_describe(&data->place, text, sizeof text);
    PetscCall(PetscViewerASCIIPrintf(viewer, "gridsweep %s: %s, %s, factor %s\n", gsw_version(),
                                     gsw_factor_kind_name(data->options.kind), text,
                                     data->options.factor_type == GSW_F32 ? "f32" : "f64"));
    PetscCall(gsw_petsc_place_view(&data->place, viewer));
    PetscFunctionReturn(0);
}

static PetscErrorCode get_package(Mat factor, MatSolverType *type) {
    (void)factor;
    *type = GSW_PETSC_PACKAGE;
    return 0;
}

/* ---- The type of the factors, and the package ----------------------------------------------- */

#define OPERATION(function) ((void (*)(void))(function))

/* Turns an existing Mat, whose sizes alone are used, into one of type "gridsweep". */
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
    factor_data *data = calloc(1, sizeof *data);
    PetscFunctionBegin;
    PetscCheck(data, PETSC_COMM_SELF, PETSC_ERR_MEM, "no memory for a factor");
    PetscCall(gsw_petsc_attach((PetscObject)factor, data, destroy_data));

    for (size_t k = 0; k < sizeof operations / sizeof operations[0]; k++)
        PetscCall(MatSetOperation(factor, operations[k].operation, operations[k].function));
    PetscCall(
        PetscObjectComposeFunction((PetscObject)factor, "MatFactorGetSolverType_C", get_package));
    PetscCall(PetscObjectChangeTypeName((PetscObject)factor, GSW_PETSC_PACKAGE));
    PetscFunctionReturn(0);
}

/* Called by MatGetFactor(). It takes PETSc's own empty factor and changes its type, because that
 * factor has a setting that no public function can set. With it the preconditioner computes its
 * ordering, natural unless the user chooses another, and passes it to the symbolic phase. */
static PetscErrorCode get_factor(Mat matrix, MatFactorType type, Mat *factor) {
    PetscFunctionBegin;
    PetscCall(MatGetFactor(matrix, MATSOLVERPETSC, type, factor));
    PetscCall(MatSetType(*factor, GSW_PETSC_PACKAGE));
    /* L and U alone, and the transpose, are for ILU. L and L^T of IC(0) would need their roots, and
     * PETSc solves with a symmetric factor instead of its transpose. */
    if (type == MAT_FACTOR_ILU) {
        PetscCall(MatSetOperation(*factor, MATOP_SOLVE_TRANSPOSE, OPERATION(solve_transpose)));
        PetscCall(MatSetOperation(*factor, MATOP_FORWARD_SOLVE, OPERATION(forward_solve)));
        PetscCall(MatSetOperation(*factor, MATOP_BACKWARD_SOLVE, OPERATION(backward_solve)));
    } else {
        PetscCall(MatSetOperation(*factor, MATOP_SOLVE_TRANSPOSE, OPERATION(solve)));
    }
    PetscCall(MatSetUp(*factor));
    /* PETSc views factors only if they are assembled, and does not assemble them. */
    PetscCall(MatSetFactorType(*factor, MAT_FACTOR_NONE));
    PetscCall(MatAssemblyBegin(*factor, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(*factor, MAT_FINAL_ASSEMBLY));
    PetscCall(MatSetFactorType(*factor, type));
    PetscFunctionReturn(0);
}

PetscErrorCode gsw_petsc_register_factors(void) {
    PetscFunctionBegin;
    PetscCall(MatRegister(GSW_PETSC_PACKAGE, create_type));
    PetscCall(MatSolverTypeRegister(GSW_PETSC_PACKAGE, MATSEQAIJ, MAT_FACTOR_ILU, get_factor));
    PetscCall(MatSolverTypeRegister(GSW_PETSC_PACKAGE, MATSEQAIJ, MAT_FACTOR_ICC, get_factor));
    PetscFunctionReturn(0);
}
