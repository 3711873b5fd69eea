/* solve_rivals.c: the table of rivals in whole solves. */
#include <stddef.h>

#include "solve_rival_parts.h"

#ifdef GSW_RIVALS_CUSPARSE_SOLVE
#define CUSPARSE(open)                                                                             \
    open, gsw_cusparse_solve_factor, gsw_cusparse_solve_solve, gsw_cusparse_solve_close, NULL
#else
#define CUSPARSE(open) NULL, NULL, NULL, NULL, NULL
#endif

#ifdef GSW_HAVE_PETSC
#define PETSC                                                                                      \
    gsw_petsc_solve_open, gsw_petsc_solve_factor, gsw_petsc_solve_solve, gsw_petsc_solve_close, NULL
#define GAMG                                                                                       \
    gsw_petsc_gamg_open, gsw_petsc_gamg_factor, gsw_petsc_gamg_solve, gsw_petsc_gamg_close,        \
        gsw_petsc_gamg_forget
#else
#define PETSC NULL, NULL, NULL, NULL, NULL
#define GAMG  NULL, NULL, NULL, NULL, NULL
#endif

#ifdef GSW_RIVALS_HYPRE
#define HYPRE(open) open, gsw_hypre_factor, gsw_hypre_solve, gsw_hypre_close, gsw_hypre_forget
#else
#define HYPRE(open) NULL, NULL, NULL, NULL, NULL
#endif
#ifdef GSW_RIVALS_HYPRE_CUDA
#define HYPRE_ON_DEVICE 1
#else
#define HYPRE_ON_DEVICE 0
#endif

static const gsw_solve_rival rivals[] = {
    {"cusparse", "cuSPARSE csrilu02 or csric02, SpSV and SpMV; cuBLAS", 1, NULL,
     CUSPARSE(gsw_cusparse_solve_open)},
    {"cusparse-upper", "the same, ic0 with the transpose of L stored as U", 1, NULL,
     CUSPARSE(gsw_cusparse_solve_upper_open)},
    {"petsc", "PETSc's KSP on one core", 0, NULL, PETSC},
    {"petsc-gamg", "the same with algebraic multigrid", 0, "gamg", GAMG},
    {"hypre-pfmg", "hypre's structured multigrid PFMG", HYPRE_ON_DEVICE, "pfmg",
     HYPRE(gsw_hypre_pfmg_open)},
    {"hypre-smg", "hypre's structured multigrid SMG", HYPRE_ON_DEVICE, "smg",
     HYPRE(gsw_hypre_smg_open)},
    {"hypre-boomeramg", "hypre's algebraic multigrid BoomerAMG", HYPRE_ON_DEVICE, "amg",
     HYPRE(gsw_hypre_boomeramg_open)},
};

const gsw_solve_rival *gsw_solve_rivals(int *count) {
    *count = (int)(sizeof rivals / sizeof rivals[0]);
    return rivals;
}
