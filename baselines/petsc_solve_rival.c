/* petsc_solve_rival.c: PETSc's KSP on one core (MATSEQAIJ), preconditioned by PCILU, PCICC or
 * PCJACOBI in natural order, with the unpreconditioned residual norm as its test.
 * tests/test_petsc.c compares gridsweep's iterations with these settings.
 *
 * Setup is the time of the first KSPSetUp minus that of a numeric factorisation: the symbolic
 * factorisation and the allocations. The conversion of the matrix is not counted. PETSc's memory is
 * not known. */
#include <math.h>

#include "petsc_solve.h"
#include "solve_rival_parts.h"

int gsw_petsc_solve_open(const gsw_solve_system *system, void **state, gsw_solve_cost *cost,
                         char *message, size_t size) {
    *state = NULL;
    *cost = (gsw_solve_cost){.buffer_bytes = NAN};
    if (gsw_solve_check(system, 0, message, size) != 0)
        return -1;
    const gsw_factor_kind kind = (gsw_factor_kind)system->precond;
    const int plain = system->precond == GSW_SOLVE_NO_PRECOND;
    if (!plain && kind != GSW_ILU0 && kind != GSW_IC0 && kind != GSW_JACOBI)
        return gsw_rival_fail(message, size, "it is asked for ilu0, ic0, jacobi and none only");
    if (gsw_petsc_begin(message, size) != 0)
        return -1;
    const gsw_krylov_options options = {
        .size = sizeof options, .rtol = system->rtol, .max_iterations = system->max_iterations};
    gsw_baseline_petsc *petsc = NULL;
    double first = 0;
    int error = gsw_baseline_petsc_open(system->matrix, system->method, plain ? NULL : &kind,
                                        &options, &petsc, &first);
    const double start = gsw_rival_milliseconds();
    if (error == 0)
        error = gsw_baseline_petsc_factor(petsc);
    const double second = gsw_rival_milliseconds() - start;
    if (error != 0) {
        gsw_baseline_petsc_close(petsc);
        return gsw_petsc_fail(error, message, size);
    }
    cost->setup_ms = first > second ? first - second : 0;
    *state = petsc;
    return 0;
}

int gsw_petsc_solve_factor(void *state, char *message, size_t size) {
    const int error = gsw_baseline_petsc_factor(state);
    return error == 0 ? 0 : gsw_petsc_fail(error, message, size);
}

int gsw_petsc_solve_solve(void *state, const double *b, double *x, gsw_solve_outcome *outcome,
                          char *message, size_t size) {
    const int error =
        gsw_baseline_petsc_solve(state, b, x, &outcome->iterations, &outcome->converged);
    return error == 0 ? 0 : gsw_petsc_fail(error, message, size);
}

void gsw_petsc_solve_close(void *state) {
    gsw_baseline_petsc_close(state);
}
