/* petsc_auto.c: multigrid or a factor, as the library chooses (choice.h). */
#include "petsc_auto.h"
#include <petscksp.h>
#include "petsc_multigrid.h"

typedef struct auto_data {
    gsw_petsc_multigrid_data multigrid; /* its options, and the hierarchy where it is the choice */
    gsw_choice choice;                  /* what it holds belongs to the preconditioner */
} auto_data;

static PetscErrorCode read_options(const gsw_petsc_kind *kind, void *self, MPI_Comm comm,
                                   const char *prefix, gsw_scope scope) {
    auto_data *data = self;
    return gsw_petsc_multigrid.read_options(kind, &data->multigrid, comm, prefix, scope);
}

static gsw_status make(void *self, gsw_context *context, const gsw_matrix *matrix,
                       gsw_preconditioner **preconditioner) {
    auto_data *data = self;
    gsw_factor_options factor = {.size = sizeof factor, .scope = data->multigrid.options.scope};
    const gsw_choice_options options = {
        .size = sizeof options, .multigrid = &data->multigrid.options, .factor = &factor};
    data->choice.size = sizeof data->choice;
    gsw_status status = gsw_choose(context, matrix, &options, preconditioner, &data->choice);
    if (status == GSW_ERROR_ZERO_PIVOT) { /* neither exists, as where a diagonal is zero */
        factor.pivot_shift = 1;
        status = gsw_choose(context, matrix, &options, preconditioner, &data->choice);
    }
    data->multigrid.multigrid = data->choice.multigrid;
    if (data->choice.diagonal != 1) /* KSPCG takes no negative definite matrix */
        data->choice.method = GSW_BICGSTAB;
    return status;
}

/* A new choice is needed for values that the preconditioner cannot take, for those that do not suit
 * CG any more (multigrid refuses them by itself), and for all those that follow a bad diagonal. */
static gsw_status refill(void *self, gsw_context *context, const gsw_matrix *matrix) {
    auto_data *data = self;
    const gsw_choice *choice = &data->choice;
    gsw_choice now = {.size = sizeof now, .method = choice->method};
    gsw_status status = choice->factor ? gsw_factor_refactor(context, choice->factor, matrix, NULL)
                                       : gsw_multigrid_refactor(context, choice->multigrid, matrix);
    if (status == GSW_SUCCESS)
        status = gsw_context_synchronize(context); /* CUDA reports bad pivots late */
    if (status == GSW_SUCCESS && choice->factor && choice->method == GSW_CG)
        status = gsw_choose_method(context, matrix, &now);
    return status == GSW_SUCCESS && now.method == choice->method &&
                   choice->reason != GSW_REASON_DIAGONAL
               ? GSW_SUCCESS
               : GSW_ERROR_INVALID_ARGUMENT;
}

/* A factor that was chosen for CG is symmetric. */
static int symmetric(const void *self) {
    const auto_data *data = self;
    return data->choice.method == GSW_CG &&
           (data->choice.factor || gsw_petsc_multigrid.symmetric(&data->multigrid));
}

static PetscErrorCode view(const void *self, PetscViewer viewer) {
    /* In the order of gsw_factor_kind. */
    static const char *const factors[] = {"ilu", "icc", "dilu", "sor", "jacobi"};
    const auto_data *data = self;
    const gsw_choice *choice = &data->choice;
    PetscFunctionBegin;
    PetscCall(
        PetscViewerASCIIPrintf(viewer, "choice: -pc_gridsweep_type %s with -ksp_type %s: %s\n",
                               choice->factor ? factors[choice->kind] : gsw_petsc_multigrid.name,
                               symmetric(self) ? KSPCG : KSPBCGS, choice->text));
    if (!choice->factor)
        PetscCall(gsw_petsc_multigrid.view(&data->multigrid, viewer));
    PetscFunctionReturn(0);
}

/* The preconditioner has freed what was chosen. */
static void clear(void *self) {
    auto_data *data = self;
    data->multigrid.multigrid = NULL;
    gsw_petsc_multigrid.clear(&data->multigrid);
}

const gsw_petsc_kind gsw_petsc_auto = {.name = "auto",
                                       .size = sizeof(auto_data),
                                       .pivot = PETSC_ERR_MAT_LU_ZRPVT,
                                       .read_options = read_options,
                                       .make = make,
                                       .refill = refill,
                                       .symmetric = symmetric,
                                       .view = view,
                                       .clear = clear};
