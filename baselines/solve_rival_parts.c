/* solve_rival_parts.c: parts that the rivals in whole solves share. */
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

int gsw_solve_check_diagonal(const gsw_solve_system *system, char *message, size_t size) {
    const gsw_csr *csr = &system->matrix->csr;
    const int32_t *row_ptr = csr->row_ptr, *columns = csr->columns;
    const double *values = csr->values;
    for (int64_t row = 0; row < csr->rows; row++) {
        double diagonal = 0;
        for (int32_t k = row_ptr[row]; k < row_ptr[row + 1]; k++)
            if (columns[k] == row)
                diagonal = values[k];
        if (diagonal == 0 || !isfinite(diagonal))
            return gsw_rival_fail(message, size, "the diagonal of row %lld is %g", (long long)row,
                                  diagonal);
    }
    return 0;
}

#define SHORT_MS 1000.0 /* shorter trials run once more: their loading is not counted */

int gsw_solve_choose(const gsw_solve_trials *trials, char *message, size_t size) {
    int best = -1, usable = -1;
    double least = INFINITY;
    for (int i = 0; i < trials->count; i++) {
        double ms = 0, again = 0;
        int converged = 0;
        if (trials->run(trials->state, i, &ms, &converged, message, size) != 0)
            continue;
        if (usable < 0)
            usable = i;
        if (converged && ms < SHORT_MS &&
            trials->run(trials->state, i, &again, &converged, message, size) == 0 && again < ms)
            ms = again;
        if (converged && ms < least) {
            least = ms;
            best = i;
        }
    }
    return best >= 0 ? best : usable;
}
