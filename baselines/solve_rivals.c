/* solve_rivals.c: the table of rivals in whole solves, and what they share. */
#include <math.h>

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

static int is_suitable(const gsw_csr *csr) {
    return csr->index_type == GSW_I32 && csr->value_type == GSW_F64 && csr->base == 0 &&
           csr->rows >= 1 && csr->rows <= INT32_MAX && csr->nonzeros >= 1 &&
           csr->nonzeros <= INT32_MAX;
}

int gsw_solve_check(const gsw_solve_system *system, int on_device, char *message, size_t size) {
    if (system->matrix == NULL || system->matrix->format != GSW_FORMAT_CSR ||
        !is_suitable(&system->matrix->csr))
        return gsw_rival_fail(message, size,
                              "the matrix must be a 0-based CSR with int32 indices, in fp64");
    if (on_device && (system->device == NULL || !is_suitable(system->device)))
        return gsw_rival_fail(message, size, "there is no copy of the matrix on a device");
    if (!(system->rtol > 0) || !isfinite(system->rtol))
        return gsw_rival_fail(message, size, "the tolerance must be positive");
    if (system->max_iterations < 1)
        return gsw_rival_fail(message, size, "there must be at least one iteration");
    return 0;
}
