/* petsc_multigrid.c: multigrid as a preconditioner of PETSc's: options, hierarchy, report. */
#include "petsc_multigrid.h"
#include <string.h>

/* ---- Options ----------------------------------------------------------------------------------
 */

/* The default of -pc_gridsweep_mg_coarsest_points. */
enum { COARSEST_POINTS = 200 };

/* The words of an option, by their numbers in the library, whose names end with "unknown". */
enum { WORDS_MAX = 16 };
typedef struct word_list {
    const char *word[WORDS_MAX];
    PetscInt count;
} word_list;

static word_list smoothers(void) {
    word_list list = {.count = 0};
    for (int k = 0; k < WORDS_MAX && strcmp(gsw_smoother_name((gsw_smoother)k), "unknown") != 0;
         k++)
        list.word[list.count++] = gsw_smoother_name((gsw_smoother)k);
    return list;
}

static word_list cycles(void) {
    word_list list = {.count = 0};
    for (int k = 0; k < WORDS_MAX && strcmp(gsw_cycle_name((gsw_cycle)k), "unknown") != 0; k++)
        list.word[list.count++] = gsw_cycle_name((gsw_cycle)k);
    return list;
}

static PetscErrorCode read_options(const gsw_petsc_kind *kind, void *self, MPI_Comm comm,
                                   const char *prefix, gsw_scope scope) {
    static const char *const types[] = {"f64", "f32"}; /* in the order of gsw_dtype */
    gsw_petsc_multigrid_data *data = self;
    const word_list smoother = smoothers(), cycle = cycles();
    PetscInt choice[3] = {GSW_SMOOTHER_AUTO, GSW_CYCLE_V, GSW_F64};
    PetscInt pre = 1, post = 1, coarsest = COARSEST_POINTS;
    PetscReal theta = 0.25;
    PetscFunctionBegin;
    (void)kind;
    PetscOptionsBegin(comm, prefix, "Multigrid of gridsweep", "PC");
    PetscCall(PetscOptionsEList("-pc_gridsweep_mg_cycle", "Cycle", NULL, cycle.word, cycle.count,
                                cycle.word[choice[1]], &choice[1], NULL));
    PetscCall(PetscOptionsEList("-pc_gridsweep_mg_smoother", "Smoother", NULL, smoother.word,
                                smoother.count, smoother.word[choice[0]], &choice[0], NULL));
    PetscCall(PetscOptionsReal("-pc_gridsweep_mg_theta", "Least coupling of a coarsened axis", NULL,
                               theta, &theta, NULL));
    PetscCall(PetscOptionsEList("-pc_gridsweep_mg_precision", "Type of the whole cycle", NULL,
                                types, 2, types[choice[2]], &choice[2], NULL));
    PetscCall(PetscOptionsInt("-pc_gridsweep_mg_pre_sweeps", "Smoothing steps before", NULL, pre,
                              &pre, NULL));
    PetscCall(PetscOptionsInt("-pc_gridsweep_mg_post_sweeps", "Smoothing steps after", NULL, post,
                              &post, NULL));
    PetscCall(PetscOptionsInt("-pc_gridsweep_mg_coarsest_points", "Points solved directly", NULL,
                              coarsest, &coarsest, NULL));
    PetscOptionsEnd();
    PetscCheck(theta > 0 && theta <= 1, comm, PETSC_ERR_ARG_OUTOFRANGE,
               "-pc_gridsweep_mg_theta %g is not in (0, 1]", (double)theta);
    PetscCheck(pre >= 1 && pre <= 1000 && post >= 1 && post <= 1000, comm, PETSC_ERR_ARG_OUTOFRANGE,
               "-pc_gridsweep_mg_pre_sweeps %" PetscInt_FMT
               " and -pc_gridsweep_mg_post_sweeps %" PetscInt_FMT " are not both in 1..1000",
               pre, post);
    PetscCheck(coarsest >= 1 && coarsest <= 2000, comm, PETSC_ERR_ARG_OUTOFRANGE,
               "-pc_gridsweep_mg_coarsest_points %" PetscInt_FMT " is not in 1..2000", coarsest);
    data->options = (gsw_multigrid_options){.size = sizeof data->options,
                                            .smoother = (gsw_smoother)choice[0],
                                            .cycle = (gsw_cycle)choice[1],
                                            .cycle_type = (gsw_dtype)choice[2],
                                            .pre_sweeps = (int)pre,
                                            .post_sweeps = (int)post,
                                            .theta = theta,
                                            .coarsest_points = coarsest,
                                            .scope = scope};
    PetscFunctionReturn(0);
}

/* ---- Hierarchy --------------------------------------------------------------------------------
 */

static gsw_status make(void *self, gsw_context *context, const gsw_matrix *matrix,
                       gsw_preconditioner **preconditioner) {
    gsw_petsc_multigrid_data *data = self;
    gsw_status status = gsw_multigrid_create(context, matrix, &data->options, &data->multigrid);
    if (status == GSW_SUCCESS)
        status = gsw_preconditioner_from_multigrid(context, data->multigrid, preconditioner);
    return status;
}

static gsw_status refill(void *self, gsw_context *context, const gsw_matrix *matrix) {
    gsw_petsc_multigrid_data *data = self;
    return gsw_multigrid_refactor(context, data->multigrid, matrix);
}

static void clear(void *self) {
    gsw_petsc_multigrid_data *data = self;
    gsw_multigrid_destroy(data->multigrid);
    data->multigrid = NULL;
}

static int symmetric(const void *self) {
    const gsw_petsc_multigrid_data *data = self;
    gsw_multigrid_info info = {.size = sizeof info};
    if (data->options.pre_sweeps != data->options.post_sweeps)
        return 0;
    return gsw_multigrid_get_info(data->multigrid, &info) == GSW_SUCCESS && info.symmetric &&
           info.cycle != GSW_CYCLE_F;
}

/* ---- Report -----------------------------------------------------------------------------------
 */

static const char *axes_name(int axes) {
    static const char *const names[] = {"-", "x", "y", "xy", "z", "xz", "yz", "xyz"};
    return names[axes & 7];
}

static PetscErrorCode view_level(const gsw_petsc_multigrid_data *data, int number,
                                 PetscViewer viewer) {
    gsw_multigrid_level level = {.size = sizeof level};
    const char *stencil;
    char grid[64], custom[32];
    PetscFunctionBegin;
    if (gsw_multigrid_get_level(data->multigrid, number, &level) != GSW_SUCCESS)
        PetscFunctionReturn(0);
    stencil = gsw_stencil_name(&level.stencil);
    if (strcmp(stencil, "custom") == 0) {
        PetscCall(PetscSNPrintf(custom, sizeof custom, "%d points", (int)level.stencil.count));
        stencil = custom;
    }
    PetscCall(PetscSNPrintf(grid, sizeof grid, "%lldx%lldx%lld", (long long)level.grid.nx,
                            (long long)level.grid.ny, (long long)level.grid.nz));
    PetscCall(PetscViewerASCIIPrintf(viewer, "%5d %20s %10s %12lld %5s %11s %10.1f\n", number, grid,
                                     stencil, (long long)level.couplings, axes_name(level.axes),
                                     level.direct ? "direct" : gsw_smoother_name(level.smoother),
                                     (double)level.bytes * 1e-6));
    PetscFunctionReturn(0);
}

static PetscErrorCode view(const void *self, PetscViewer viewer) {
    const gsw_petsc_multigrid_data *data = self;
    gsw_multigrid_info info = {.size = sizeof info};
    char shared[48] = "";
    PetscFunctionBegin;
    if (gsw_multigrid_get_info(data->multigrid, &info) != GSW_SUCCESS)
        PetscFunctionReturn(0);
    if (info.shared_levels > 0)
        PetscCall(PetscSNPrintf(shared, sizeof shared, ", %d of them shared", info.shared_levels));
    PetscCall(PetscViewerASCIIPrintf(
        viewer, "%d level%s%s, %s cycle, smoother %s, %s, operator complexity %.2f, %.1f MB\n",
        info.levels, info.levels == 1 ? "" : "s", shared, gsw_cycle_name(info.cycle),
        gsw_smoother_name(info.smoother), info.cycle_type == GSW_F32 ? "f32" : "f64",
        info.operator_complexity, (double)info.bytes * 1e-6));
    if (info.shared_levels > 0)
        PetscFunctionReturn(0);
    PetscCall(PetscViewerASCIIPrintf(viewer, "%5s %20s %10s %12s %5s %11s %10s\n", "level", "grid",
                                     "stencil", "couplings", "axes", "smoother", "MB"));
    for (int number = 0; number < info.levels; number++)
        PetscCall(view_level(data, number, viewer));
    if (info.smoother_fallbacks > 0)
        PetscCall(PetscViewerASCIIPrintf(viewer, "levels where ilu0 met a bad pivot: %d\n",
                                         info.smoother_fallbacks));
    PetscFunctionReturn(0);
}

const gsw_petsc_kind gsw_petsc_multigrid = {.name = "mg",
                                            .size = sizeof(gsw_petsc_multigrid_data),
                                            .pivot = PETSC_ERR_MAT_LU_ZRPVT,
                                            .read_options = read_options,
                                            .make = make,
                                            .refill = refill,
                                            .symmetric = symmetric,
                                            .view = view,
                                            .clear = clear};
