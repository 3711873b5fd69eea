/* stencil.c: a matrix that is never assembled: one array per coupling.
 *
 * The program makes implicit time steps of the heat equation, u' = div (k grad u), in a plate whose
 * conductivity k jumps. CG with IC(0) solves (I + dt A) u_new = u_old. Most programs on structured
 * grids have such arrays. No index is stored.
 *
 *   cc stencil.c $(pkg-config --cflags --libs gridsweep) -lm && ./a.out */
#include <stdio.h>
#include <stdlib.h>
#include <gridsweep/gridsweep.h>

enum { NX = 200, NY = 150, POINTS = NX * NY, STEPS = 5 };

/* In the order of the stencil D2N5: offsets ascend in (dz, dy, dx). */
enum { SOUTH, WEST, CENTER, EAST, NORTH, COUPLINGS };
static double coupling[COUPLINGS][POINTS], u[POINTS], old[POINTS];

static double conductivity(int x, int y) {
    return x > NX / 3 && x < NX / 2 && y > NY / 4 ? 100 : 1;
}

/* The conductivity between two points is the harmonic mean. Outside the plate u is 0. */
static double between(int x, int y, int dx, int dy) {
    const double here = conductivity(x, y), there = conductivity(x + dx, y + dy);
    return 2 * here * there / (here + there);
}

static void fill(double dt) {
    for (int y = 0; y < NY; y++)
        for (int x = 0; x < NX; x++) {
            const int row = x + NX * y;
            /* Coefficients of points outside the grid are never read: no special cases. */
            coupling[SOUTH][row] = -dt * between(x, y, 0, -1);
            coupling[WEST][row] = -dt * between(x, y, -1, 0);
            coupling[EAST][row] = -dt * between(x, y, 1, 0);
            coupling[NORTH][row] = -dt * between(x, y, 0, 1);
            coupling[CENTER][row] = 1 - coupling[SOUTH][row] - coupling[WEST][row] -
                                    coupling[EAST][row] - coupling[NORTH][row];
        }
}

static double total(void) {
    double sum = 0;
    for (int row = 0; row < POINTS; row++)
        sum += u[row];
    return sum;
}

int main(void) {
    const gsw_context_options where = {.size = sizeof where, .backend = GSW_BACKEND_CPU};
    const gsw_factor_options ic0 = {.size = sizeof ic0, .kind = GSW_IC0};
    const gsw_grid grid = {.nx = NX, .ny = NY, .nz = 1};
    const void *arrays[COUPLINGS];
    const gsw_stencil_array view = {.values = arrays, .value_type = GSW_F64};
    gsw_context *context = NULL;
    gsw_factor *factor = NULL;
    gsw_operator *op = NULL;
    gsw_preconditioner *M = NULL;
    gsw_stencil stencil;
    gsw_matrix A;
    gsw_krylov_result result = {.size = sizeof result};
    double heat = 0, before = POINTS;

    fill(2.0);
    for (int k = 0; k < COUPLINGS; k++)
        arrays[k] = coupling[k];
    for (int row = 0; row < POINTS; row++)
        u[row] = 1;

    gsw_status status = gsw_context_create(&where, &context);
    if (!status)
        status = gsw_stencil_named("D2N5", &stencil);
    if (!status)
        status = gsw_matrix_from_stencil(context, &grid, &stencil, &view, &A);
    if (!status)
        status = gsw_factor_create(context, &A, &ic0, &factor);
    if (!status)
        status = gsw_operator_from_matrix(context, &A, &op);
    if (!status)
        status = gsw_preconditioner_from_factor(context, factor, &M);
    for (int step = 1; step <= STEPS && !status; step++) {
        for (int row = 0; row < POINTS; row++)
            old[row] = u[row]; /* u remains the guess */
        status = gsw_cg(context, op, M, NULL, old, u, &result);
        heat = total();
        printf("step %d: %lld iterations, heat %.1f\n", step, (long long)result.iterations, heat);
        if (!(heat > 0 && heat < before)) /* heat can only flow out */
            status = GSW_ERROR_NON_FINITE;
        before = heat;
    }
    if (status)
        fprintf(stderr, "%s: %s\n", gsw_status_text(status), gsw_context_message(context));

    gsw_preconditioner_destroy(M);
    gsw_operator_destroy(op);
    gsw_factor_destroy(factor);
    gsw_context_destroy(context);
    return status ? EXIT_FAILURE : EXIT_SUCCESS;
}
