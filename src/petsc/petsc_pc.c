/* petsc_pc.c: the PETSc preconditioner "gridsweep": one type, and kinds that -pc_gridsweep_type
 * names.
 *
 * PETSc's public headers do not let a library set the operations of a preconditioner. So this one
 * is a PCSHELL with another type name, and a PetscContainer attached to it holds its data.
 *
 * Options are read, and the context is created, when the preconditioner is set up for a new matrix
 * or a new pattern. New values for the same pattern refill the existing preconditioner. Where the
 * pattern stays but the values need another preconditioner (multigrid: the matrix is no longer
 * symmetric; a stored zero has become a coupling outside the stencil), it is created anew.
 *
 * A matrix of type seqaij goes through petsc_place.h to the kind, one of type mpiaij through
 * petsc_distributed.h. */
#include <stdlib.h>
#include <string.h>
#include "petsc_distributed.h"
#include "petsc_kind.h"
#include "petsc_layout.h"
#include "petsc_place.h"
#include "petsc_register.h"

/* The data attached to a preconditioner. */
typedef struct pc_data {
    gsw_petsc_place place;
    gsw_petsc_made made;
    gsw_petsc_distributed *distributed; /* of a matrix of type mpiaij, else NULL */
    PetscObjectId matrix;               /* the matrix of its set-up */
    PetscObjectState pattern;           /* and the state of its nonzero pattern */
} pc_data;

/* ---- Life ----------------------------------------------------------------------------------- */

static void clear(pc_data *data) {
    gsw_petsc_kind_clear(&data->made);
    gsw_petsc_distributed_close(data->distributed, &data->place);
    gsw_petsc_place_close(&data->place);
    memset(data, 0, sizeof *data);
}

static PetscErrorCode destroy_data(void *pointer) {
    clear(pointer);
    free(pointer);
    return 0;
}

static PetscErrorCode get_data(PC pc, pc_data **data) {
    return gsw_petsc_data((PetscObject)pc, "preconditioner", (void **)data);
}

static PetscErrorCode destroy(PC pc) {
    return PetscObjectCompose((PetscObject)pc, GSW_PETSC_PACKAGE, NULL);
}

/* ---- Set-up --------------------------------------------------------------------------------- */

/* *distributed: the matrix is of type mpiaij. */
static PetscErrorCode check_matrix(MPI_Comm comm, Mat matrix, PetscBool *distributed) {
    PetscBool sequential;
    MatType type;
    PetscFunctionBegin;
    PetscCall(PetscObjectBaseTypeCompare((PetscObject)matrix, MATSEQAIJ, &sequential));
    PetscCall(PetscObjectBaseTypeCompare((PetscObject)matrix, MATMPIAIJ, distributed));
    PetscCall(MatGetType(matrix, &type));
    PetscCheck(sequential || *distributed, comm, PETSC_ERR_SUP,
               "-pc_type gridsweep takes matrices of type seqaij or mpiaij (-mat_type aij, or "
               "-dm_mat_type aij), not %s",
               type);
    PetscFunctionReturn(0);
}

static gsw_status make(void *user, const gsw_matrix *matrix) {
    pc_data *data = user;
    return gsw_petsc_kind_make(&data->made, data->place.context, matrix);
}

static gsw_status refill(void *user, const gsw_matrix *matrix) {
    pc_data *data = user;
    return gsw_petsc_kind_refill(&data->made, data->place.context, matrix);
}

static PetscErrorCode make_sequential(PC pc, pc_data *data, Mat matrix, const char *prefix) {
    gsw_grid grid;
    gsw_status status;
    DM dm;
    PetscFunctionBegin;
    PetscCall(gsw_petsc_find_dmda(pc, matrix, &dm, &grid));
    PetscCall(
        gsw_petsc_place_open(&data->place, prefix, "pc_gridsweep", matrix, dm ? &grid : NULL));
    PetscCall(gsw_petsc_take_matrix(&data->place, matrix, make, data, &status));
    PetscCall(gsw_petsc_check(PETSC_COMM_SELF, &data->place, status, data->made.kind->pivot,
                              "making the preconditioner"));
    PetscFunctionReturn(0);
}

static PetscErrorCode make_distributed(PC pc, pc_data *data, Mat matrix) {
    gsw_status status;
    PetscFunctionBegin;
    PetscCall(gsw_petsc_distributed_open(&data->place, pc, matrix, &data->distributed));
    status = make(data, gsw_petsc_distributed_matrix(data->distributed));
    PetscCall(gsw_petsc_check(PetscObjectComm((PetscObject)pc), &data->place, status,
                              data->made.kind->pivot, "making the preconditioner"));
    PetscFunctionReturn(0);
}

static PetscErrorCode make_anew(PC pc, pc_data *data, Mat matrix) {
    MPI_Comm comm = PetscObjectComm((PetscObject)pc);
    const char *prefix;
    PetscBool distributed;
    PetscFunctionBegin;
    clear(data);
    PetscCall(PCGetOptionsPrefix(pc, &prefix));
    PetscCall(gsw_petsc_kind_read(&data->made, comm, prefix));
    PetscCall(check_matrix(comm, matrix, &distributed));
    if (distributed)
        PetscCall(make_distributed(pc, data, matrix));
    else
        PetscCall(make_sequential(pc, data, matrix, prefix));
    if (!gsw_petsc_kind_symmetric(&data->made))
        PetscCall(PetscInfo(pc, "type %s is not known to be symmetric: -ksp_type cg may fail\n",
                            data->made.kind->name));
    PetscCall(PetscObjectGetId((PetscObject)matrix, &data->matrix));
    PetscCall(MatGetNonzeroState(matrix, &data->pattern));
    PetscFunctionReturn(0);
}

/* Whether a preconditioner exists for this matrix and its present pattern. */
static PetscErrorCode is_known(const pc_data *data, Mat matrix, PetscBool *known) {
    PetscObjectId id;
    PetscObjectState pattern;
    PetscFunctionBegin;
    PetscCall(PetscObjectGetId((PetscObject)matrix, &id));
    PetscCall(MatGetNonzeroState(matrix, &pattern));
    *known =
        (PetscBool)(data->made.preconditioner && id == data->matrix && pattern == data->pattern);
    PetscFunctionReturn(0);
}

static PetscErrorCode set_up(PC pc) {
    pc_data *data;
    Mat matrix;
    PetscBool known = PETSC_FALSE;
    gsw_status status = GSW_ERROR_INVALID_ARGUMENT;
    PetscFunctionBegin;
    PetscCall(get_data(pc, &data));
    PetscCall(PCGetOperators(pc, NULL, &matrix));
    PetscCall(is_known(data, matrix, &known));
    if (known && data->distributed) {
        PetscCall(gsw_petsc_distributed_refill(data->distributed, &data->place, matrix, &known));
        status = known ? refill(data, gsw_petsc_distributed_matrix(data->distributed))
                       : GSW_ERROR_NOT_A_GRID;
    } else if (known) {
        PetscCall(gsw_petsc_take_matrix(&data->place, matrix, refill, data, &status));
    }
    if (status == GSW_ERROR_INVALID_ARGUMENT || status == GSW_ERROR_NOT_A_GRID)
        PetscCall(make_anew(pc, data, matrix));
    else
        PetscCall(gsw_petsc_check(PetscObjectComm((PetscObject)pc), &data->place, status,
                                  data->made.kind->pivot,
                                  "taking new values into the preconditioner"));
    PetscFunctionReturn(0);
}

/* ---- Application ---------------------------------------------------------------------------- */

static gsw_status apply_to(void *user, const double *b, double *x) {
    pc_data *data = user;
    return gsw_preconditioner_apply(data->place.context, data->made.preconditioner, b, x);
}

static PetscErrorCode apply(PC pc, Vec b, Vec x) {
    pc_data *data;
    gsw_status status;
    PetscFunctionBegin;
    PetscCall(get_data(pc, &data));
    PetscCheck(data->made.preconditioner, PETSC_COMM_SELF, PETSC_ERR_ORDER,
               "set up the preconditioner before you apply it");
    PetscCall(gsw_petsc_apply(&data->place, apply_to, data, b, x, &status));
    PetscCall(gsw_petsc_check(PETSC_COMM_SELF, &data->place, status, PETSC_ERR_LIB,
                              "applying the preconditioner"));
    PetscFunctionReturn(0);
}

static PetscErrorCode apply_transpose(PC pc, Vec b, Vec x) {
    pc_data *data;
    PetscFunctionBegin;
    PetscCall(get_data(pc, &data));
    PetscCheck(data->made.preconditioner && gsw_petsc_kind_symmetric(&data->made), PETSC_COMM_SELF,
               PETSC_ERR_SUP,
               "-pc_type gridsweep has no transpose where the preconditioner is not symmetric");
    PetscCall(apply(pc, b, x));
    PetscFunctionReturn(0);
}

static PetscErrorCode view(PC pc, PetscViewer viewer) {
    char text[GSW_PETSC_DESCRIPTION];
    pc_data *data;
    PetscBool ascii;
    PetscFunctionBegin;
    PetscCall(PetscObjectTypeCompare((PetscObject)viewer, PETSCVIEWERASCII, &ascii));
    PetscCall(get_data(pc, &data));
    if (!ascii || !data->made.preconditioner)
        PetscFunctionReturn(0);
    gsw_petsc_describe(&data->place, text, sizeof text);
    PetscCall(PetscViewerASCIIPrintf(viewer, "%s, %s\n", data->made.kind->name, text));
    if (data->distributed)
        PetscCall(gsw_petsc_distributed_view(data->distributed, data->made.factor.scope, viewer));
    PetscCall(gsw_petsc_kind_view(&data->made, viewer));
    PetscCall(gsw_petsc_place_view(&data->place, viewer));
    PetscFunctionReturn(0);
}

/* ---- The type ------------------------------------------------------------------------------- */

/* Called by PCSetType(). */
static PetscErrorCode create_type(PC pc) {
    char name[40];
    pc_data *data = calloc(1, sizeof *data);
    PetscFunctionBegin;
    PetscCheck(data, PETSC_COMM_SELF, PETSC_ERR_MEM, "no memory for a preconditioner");
    PetscCall(gsw_petsc_attach((PetscObject)pc, data, destroy_data));

    PetscCall(PCSetType(pc, PCSHELL));
    PetscCall(PCShellSetSetUp(pc, set_up));
    PetscCall(PCShellSetApply(pc, apply));
    PetscCall(PCShellSetApplyTranspose(pc, apply_transpose));
    PetscCall(PCShellSetView(pc, view));
    PetscCall(PCShellSetDestroy(pc, destroy));
    PetscCall(PetscSNPrintf(name, sizeof name, "gridsweep %s", gsw_version()));
    PetscCall(PCShellSetName(pc, name));
    PetscCall(PetscObjectChangeTypeName((PetscObject)pc, GSW_PETSC_PACKAGE));
    PetscFunctionReturn(0);
}

PetscErrorCode gsw_petsc_register_preconditioner(void) {
    return PCRegister(GSW_PETSC_PACKAGE, create_type);
}
