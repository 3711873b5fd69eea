/* petsc_sweeps.c: the library's factors as preconditioners of PETSc. */
#include "petsc_sweeps.h"

typedef struct sweeps_data {
    gsw_factor_options options;
    gsw_factor *factor;
} sweeps_data;

static PetscErrorCode read_options(const gsw_petsc_kind *kind, void *self, MPI_Comm comm,
                                   const char *prefix, gsw_scope scope) {
    sweeps_data *data = self;
    PetscReal omega = 1;
    PetscFunctionBegin;
    PetscOptionsBegin(comm, prefix, "Sweeps of gridsweep", "PC");
    if (kind->factor == GSW_SSOR)
        PetscCall(
            PetscOptionsReal("-pc_gridsweep_sor_omega", "Relaxation", NULL, omega, &omega, NULL));
    PetscOptionsEnd();
    PetscCheck(omega > 0 && omega < 2, comm, PETSC_ERR_ARG_OUTOFRANGE,
               "-pc_gridsweep_sor_omega %g is not in (0, 2)", (double)omega);
    data->options = (gsw_factor_options){
        .size = sizeof data->options, .kind = kind->factor, .omega = omega, .scope = scope};
    PetscFunctionReturn(0);
}

static gsw_status make(void *self, gsw_context *context, const gsw_matrix *matrix,
                       gsw_preconditioner **preconditioner) {
    sweeps_data *data = self;
    gsw_status status = gsw_factor_create(context, matrix, &data->options, &data->factor);
    if (status == GSW_SUCCESS)
        status = gsw_preconditioner_from_factor(context, data->factor, preconditioner);
    return status;
}

static gsw_status refill(void *self, gsw_context *context, const gsw_matrix *matrix) {
    sweeps_data *data = self;
    return gsw_factor_refactor(context, data->factor, matrix, NULL);
}

static void clear(void *self) {
    sweeps_data *data = self;
    gsw_factor_destroy(data->factor);
    data->factor = NULL;
}

/* The others are symmetric where the matrix is, which nobody has checked. */
static int symmetric(const void *self) {
    const sweeps_data *data = self;
    return data->options.kind == GSW_IC0 || data->options.kind == GSW_JACOBI;
}

static PetscErrorCode view(const void *self, PetscViewer viewer) {
    const sweeps_data *data = self;
    PetscFunctionBegin;
    if (data->options.kind == GSW_SSOR)
        PetscCall(PetscViewerASCIIPrintf(viewer, "omega %g\n", data->options.omega));
    PetscFunctionReturn(0);
}

#define SWEEPS(text, kind, error)                                                                  \
    {                                                                                              \
        .name = (text), .size = sizeof(sweeps_data), .pivot = (error), .factor = (kind),           \
        .read_options = read_options, .make = make, .refill = refill, .symmetric = symmetric,      \
        .view = view, .clear = clear                                                               \
    }

const gsw_petsc_kind gsw_petsc_ilu = SWEEPS("ilu", GSW_ILU0, PETSC_ERR_MAT_LU_ZRPVT);
const gsw_petsc_kind gsw_petsc_icc = SWEEPS("icc", GSW_IC0, PETSC_ERR_MAT_CH_ZRPVT);
const gsw_petsc_kind gsw_petsc_dilu = SWEEPS("dilu", GSW_DILU, PETSC_ERR_MAT_LU_ZRPVT);
const gsw_petsc_kind gsw_petsc_sor = SWEEPS("sor", GSW_SSOR, PETSC_ERR_MAT_LU_ZRPVT);
const gsw_petsc_kind gsw_petsc_jacobi = SWEEPS("jacobi", GSW_JACOBI, PETSC_ERR_MAT_LU_ZRPVT);
