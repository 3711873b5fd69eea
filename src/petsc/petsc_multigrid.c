/* petsc_multigrid.c: multigrid as a preconditioner of PETSc's: options, hierarchy, report. */
#include "petsc_multigrid.h"
#include <string.h>

/* ---- Options -------------------------------------------------------------------------------- */

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

PetscErrorCode gsw_petsc_read_multigrid(gsw_multigrid_options *options, MPI_Comm comm,
                                        const char *prefix, gsw_scope scope) {
    static const char *const types[] = {"f64", "f32"}; /* in the order of gsw_dtype */
    const word_list smoother = smoothers(), cycle = cycles();
    PetscInt choice[3] = {GSW_SMOOTHER_AUTO, GSW_CYCLE_V, GSW_F64};
    PetscInt pre = 1, post = 1, coarsest = COARSEST_POINTS;
    PetscReal theta = 0.25;
    PetscFunctionBegin;
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
    *options = (gsw_multigrid_options){.size = sizeof *options,
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

/* ---- Report --------------------------------------------------------------------------------- */

static const char *axes_name(int axes) {
    static const char *const names[] = {"-", "x", "y", "xy", "z", "xz", "yz", "xyz"};
    return names[axes & 7];
}

static PetscErrorCode view_level(const gsw_multigrid *multigrid, int number, PetscViewer viewer) {
    gsw_multigrid_level level = {.size = sizeof level};
    const char *stencil;
    char grid[64], custom[32];
    PetscFunctionBegin;
    if (gsw_multigrid_get_level(multigrid, number, &level) != GSW_SUCCESS)
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

PetscErrorCode gsw_petsc_view_multigrid(const gsw_multigrid *multigrid, PetscViewer viewer) {
    gsw_multigrid_info info = {.size = sizeof info};
    char shared[48] = "";
    PetscFunctionBegin;
    if (gsw_multigrid_get_info(multigrid, &info) != GSW_SUCCESS)
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
        PetscCall(view_level(multigrid, number, viewer));
    if (info.smoother_fallbacks > 0)
        PetscCall(PetscViewerASCIIPrintf(viewer, "levels where ilu0 met a bad pivot: %d\n",
                                         info.smoother_fallbacks));
    PetscFunctionReturn(0);
}
