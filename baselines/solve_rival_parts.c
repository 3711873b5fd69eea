/* solve_rival_parts.c: what the rivals in whole solves share. */
#include "solve_rival_parts.h"

#include <math.h>

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
