/* petsc_kind.c: see petsc_kind.h. `auto` is multigrid or a factor, as the library chooses
 * (choice.h). */
#include "petsc_kind.h"
#include <petscksp.h>
#include "petsc_multigrid.h"

/* All values of -pc_gridsweep_type, the default first. */
static const gsw_petsc_kind kinds[] = {
    {"mg", GSW_PETSC_MULTIGRID, GSW_ILU0, PETSC_ERR_MAT_LU_ZRPVT},
    {"ilu", GSW_PETSC_FACTOR, GSW_ILU0, PETSC_ERR_MAT_LU_ZRPVT},
    {"icc", GSW_PETSC_FACTOR, GSW_IC0, PETSC_ERR_MAT_CH_ZRPVT},
    {"dilu", GSW_PETSC_FACTOR, GSW_DILU, PETSC_ERR_MAT_LU_ZRPVT},
    {"sor", GSW_PETSC_FACTOR, GSW_SSOR, PETSC_ERR_MAT_LU_ZRPVT},
    {"jacobi", GSW_PETSC_FACTOR, GSW_JACOBI, PETSC_ERR_MAT_LU_ZRPVT},
    {"auto", GSW_PETSC_AUTO, GSW_ILU0, PETSC_ERR_MAT_LU_ZRPVT}};
enum { KINDS = (int)(sizeof kinds / sizeof kinds[0]) };

/* ---- Options -------------------------------------------------------------------------------- */

static PetscErrorCode read_factor(gsw_factor_options *options, MPI_Comm comm, const char *prefix) {
    PetscReal omega = 1;
    PetscFunctionBegin;
    PetscOptionsBegin(comm, prefix, "Sweeps of gridsweep", "PC");
    if (options->kind == GSW_SSOR)
        PetscCall(
            PetscOptionsReal("-pc_gridsweep_sor_omega", "Relaxation", NULL, omega, &omega, NULL));
    PetscOptionsEnd();
    PetscCheck(omega > 0 && omega < 2, comm, PETSC_ERR_ARG_OUTOFRANGE,
               "-pc_gridsweep_sor_omega %g is not in (0, 2)", (double)omega);
    options->omega = omega;
    PetscFunctionReturn(0);
}

PetscErrorCode gsw_petsc_kind_read(gsw_petsc_made *made, MPI_Comm comm, const char *prefix) {
    static const char *const scopes[] = {"local", "global"}; /* in the order of gsw_scope */
    const char *names[KINDS];
    PetscInt choice = 0, reach = GSW_SCOPE_GLOBAL;
    PetscFunctionBegin;
    for (int k = 0; k < KINDS; k++)
        names[k] = kinds[k].name;
    PetscOptionsBegin(comm, prefix, "Preconditioner of gridsweep", "PC");
    PetscCall(PetscOptionsEList("-pc_gridsweep_type", "Which preconditioner", NULL, names, KINDS,
                                names[choice], &choice, NULL));
    PetscCall(PetscOptionsEList("-pc_gridsweep_scope", "The whole grid, or each process alone",
                                NULL, scopes, 2, scopes[reach], &reach, NULL));
    PetscOptionsEnd();
    made->kind = &kinds[choice];
    made->factor = (gsw_factor_options){
        .size = sizeof made->factor, .kind = made->kind->factor, .scope = (gsw_scope)reach};
    if (made->kind->what == GSW_PETSC_FACTOR)
        PetscCall(read_factor(&made->factor, comm, prefix));
    else
        PetscCall(gsw_petsc_read_multigrid(&made->hierarchy, comm, prefix, (gsw_scope)reach));
    PetscFunctionReturn(0);
}

/* ---- Life ----------------------------------------------------------------------------------- */

static gsw_status choose(gsw_petsc_made *made, gsw_context *context, const gsw_matrix *matrix) {
    gsw_choice *choice = &made->choice;
    gsw_factor_options factor = made->factor;
    const gsw_choice_options options = {
        .size = sizeof options, .multigrid = &made->hierarchy, .factor = &factor};
    choice->size = sizeof *choice;
    gsw_status status = gsw_choose(context, matrix, &options, &made->preconditioner, choice);
    if (status == GSW_ERROR_ZERO_PIVOT) { /* neither exists, as where a diagonal is zero */
        factor.pivot_shift = 1;
        status = gsw_choose(context, matrix, &options, &made->preconditioner, choice);
    }
    if (choice->diagonal != 1) /* KSPCG takes no negative definite matrix */
        choice->method = GSW_BICGSTAB;
    return status;
}

gsw_status gsw_petsc_kind_make(gsw_petsc_made *made, gsw_context *context,
                               const gsw_matrix *matrix) {
    gsw_choice *choice = &made->choice;
    gsw_preconditioner **preconditioner = &made->preconditioner;
    gsw_status status;
    if (made->kind->what == GSW_PETSC_AUTO)
        return choose(made, context, matrix);
    if (made->kind->what == GSW_PETSC_MULTIGRID) {
        status = gsw_multigrid_create(context, matrix, &made->hierarchy, &choice->multigrid);
        return status == GSW_SUCCESS
                   ? gsw_preconditioner_from_multigrid(context, choice->multigrid, preconditioner)
                   : status;
    }
    status = gsw_factor_create(context, matrix, &made->factor, &choice->factor);
    return status == GSW_SUCCESS
               ? gsw_preconditioner_from_factor(context, choice->factor, preconditioner)
               : status;
}

/* A new choice is needed for values that the preconditioner cannot take, for those that do not suit
 * CG any more (multigrid refuses them by itself), and for all those that follow a bad diagonal. */
static gsw_status check_choice(const gsw_choice *choice, gsw_context *context,
                               const gsw_matrix *matrix, gsw_status status) {
    gsw_choice now = {.size = sizeof now, .method = choice->method};
    if (status == GSW_SUCCESS)
        status = gsw_context_synchronize(context); /* CUDA reports bad pivots late */
    if (status == GSW_SUCCESS && choice->factor && choice->method == GSW_CG)
        status = gsw_choose_method(context, matrix, &now);
    return status == GSW_SUCCESS && now.method == choice->method &&
                   choice->reason != GSW_REASON_DIAGONAL
               ? GSW_SUCCESS
               : GSW_ERROR_INVALID_ARGUMENT;
}

gsw_status gsw_petsc_kind_refill(gsw_petsc_made *made, gsw_context *context,
                                 const gsw_matrix *matrix) {
    const gsw_choice *choice = &made->choice;
    const gsw_status status = choice->factor
                                  ? gsw_factor_refactor(context, choice->factor, matrix, NULL)
                                  : gsw_multigrid_refactor(context, choice->multigrid, matrix);
    return made->kind->what == GSW_PETSC_AUTO ? check_choice(choice, context, matrix, status)
                                              : status;
}

void gsw_petsc_kind_clear(gsw_petsc_made *made) {
    gsw_preconditioner_destroy(made->preconditioner);
    if (made->kind && made->kind->what != GSW_PETSC_AUTO) { /* which owns what it has chosen */
        gsw_multigrid_destroy(made->choice.multigrid);
        gsw_factor_destroy(made->choice.factor);
    }
    *made = (gsw_petsc_made){0};
}

/* ---- Report --------------------------------------------------------------------------------- */

/* A factor that was chosen for CG is symmetric. Those that were named are so where the matrix is,
 * which nobody has checked. */
int gsw_petsc_kind_symmetric(const gsw_petsc_made *made) {
    const gsw_choice *choice = &made->choice;
    gsw_multigrid_info info = {.size = sizeof info};
    if (made->kind->what == GSW_PETSC_FACTOR)
        return made->factor.kind == GSW_IC0 || made->factor.kind == GSW_JACOBI;
    if (made->kind->what == GSW_PETSC_AUTO && (choice->method != GSW_CG || choice->factor))
        return choice->method == GSW_CG;
    return made->hierarchy.pre_sweeps == made->hierarchy.post_sweeps &&
           gsw_multigrid_get_info(choice->multigrid, &info) == GSW_SUCCESS && info.symmetric &&
           info.cycle != GSW_CYCLE_F;
}

static const char *name_of(const gsw_choice *choice) {
    int k = 0; /* multigrid */
    while (choice->factor && (kinds[k].what != GSW_PETSC_FACTOR || kinds[k].factor != choice->kind))
        k++;
    return kinds[k].name;
}

PetscErrorCode gsw_petsc_kind_view(const gsw_petsc_made *made, PetscViewer viewer) {
    const gsw_choice *choice = &made->choice;
    PetscFunctionBegin;
    if (made->kind->what == GSW_PETSC_AUTO)
        PetscCall(PetscViewerASCIIPrintf(
            viewer, "choice: -pc_gridsweep_type %s with -ksp_type %s: %s\n", name_of(choice),
            gsw_petsc_kind_symmetric(made) ? KSPCG : KSPBCGS, choice->text));
    if (made->factor.kind == GSW_SSOR)
        PetscCall(PetscViewerASCIIPrintf(viewer, "omega %g\n", made->factor.omega));
    if (!choice->factor)
        PetscCall(gsw_petsc_view_multigrid(choice->multigrid, viewer));
    PetscFunctionReturn(0);
}
