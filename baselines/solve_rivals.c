/* solve_rivals.c: the table of rivals in whole solves. */
#include <stddef.h>

#include "solve_rival_parts.h"

#ifdef GSW_RIVALS_CUSPARSE_SOLVE
#define CUSPARSE(open)                                                                             \
    open, gsw_cusparse_solve_factor, gsw_cusparse_solve_solve, gsw_cusparse_solve_close
#else
#define CUSPARSE(open) NULL, NULL, NULL, NULL
#endif

#ifdef GSW_HAVE_PETSC
#define PETSC                                                                                      \
    gsw_petsc_solve_open, gsw_petsc_solve_factor, gsw_petsc_solve_solve, gsw_petsc_solve_close
#else
#define PETSC NULL, NULL, NULL, NULL
#endif

static const gsw_solve_rival rivals[] = {
    {"cusparse", "cuSPARSE csrilu02 or csric02, SpSV and SpMV; cuBLAS", 1,
     CUSPARSE(gsw_cusparse_solve_open)},
    {"cusparse-upper", "the same, ic0 with the transpose of L stored as U", 1,
     CUSPARSE(gsw_cusparse_solve_upper_open)},
    {"petsc", "PETSc's KSP on one core", 0, PETSC},
};

const gsw_solve_rival *gsw_solve_rivals(int *count) {
    *count = (int)(sizeof rivals / sizeof rivals[0]);
    return rivals;
}
