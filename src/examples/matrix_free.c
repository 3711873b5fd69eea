/* matrix_free.c: CG with a matrix and a preconditioner that are functions of the program.
 *
 * The program solves the heat equation in a ring of points around each of many wires. The first and
 * the last point of a ring are neighbours, but no stencil couples the two ends of a grid. So A is
 * never stored; a function multiplies with it. The preconditioner is a function as well. It cuts
 * the rings open, so they are tridiagonal, and solves them with a factor of the library.
 *
 *   cc matrix_free.c $(pkg-config --cflags --libs gridsweep) -lm && ./a.out */
#include <stdio.h>
#include <stdlib.h>
#include <gridsweep/gridsweep.h>

enum { RING = 1000, WIRES = 50, POINTS = RING * WIRES };

static const double conductance = 400; /* between neighbours; each point loses 1 to the air */

/* y = A x. Both vectors are in the context's memory: here the host's. `user` is the argument of
 * gsw_operator_from_callback(). */
static gsw_status ring_multiply(void *user, gsw_context *context, const double *x, double *y) {
    int *products = user;
    (void)context;
    for (size_t wire = 0; wire < WIRES; wire++)
        for (int i = 0; i < RING; i++) {
            const double *ring = x + wire * RING;
            const double left = ring[(i + RING - 1) % RING], right = ring[(i + 1) % RING];
            y[wire * RING + i] = ring[i] + conductance * (2 * ring[i] - left - right);
        }
    ++*products;
    return GSW_SUCCESS;
}

/* z = M^-1 r, with the factor of the open rings. Returns the status of the library unchanged. */
static gsw_status cut_open(void *user, gsw_context *context, const double *r, double *z) {
    return gsw_factor_solve(context, user, 1, r, POINTS, z, POINTS);
}

/* The open rings as one array per coupling: rows of a grid RING x WIRES, coupled along x. */
static double left[POINTS], center[POINTS], right[POINTS], b[POINTS], x[POINTS];

static gsw_status make_factor(gsw_context *context, gsw_factor **factor) {
    const gsw_offset along[] = {{-1, 0, 0}, {0, 0, 0}, {1, 0, 0}};
    const void *arrays[] = {left, center, right};
    const gsw_grid grid = {.nx = RING, .ny = WIRES, .nz = 1};
    const gsw_stencil_array values = {.values = arrays, .value_type = GSW_F64};
    const gsw_factor_options ic0 = {.size = sizeof ic0, .kind = GSW_IC0};
    gsw_stencil stencil;
    gsw_matrix open;
    for (int i = 0; i < POINTS; i++) {
        left[i] = right[i] = -conductance;
        center[i] = 1 + 2 * conductance;
    }
    gsw_status status = gsw_stencil_from_offsets(along, 3, &stencil);
    if (!status)
        status = gsw_matrix_from_stencil(context, &grid, &stencil, &values, &open);
    return status ? status : gsw_factor_create(context, &open, &ic0, factor);
}

int main(void) {
    gsw_context *context = NULL;
    gsw_factor *factor = NULL;
    gsw_operator *A = NULL;
    gsw_preconditioner *M = NULL;
    gsw_krylov_result plain = {.size = sizeof plain}, result = {.size = sizeof result};
    const gsw_context_options cpu = {.size = sizeof cpu, .backend = GSW_BACKEND_CPU};
    const gsw_krylov_options accuracy = {.size = sizeof accuracy, .rtol = 1e-10};
    int products = 0;
    gsw_random_vector(1, POINTS, b);

    gsw_status status = gsw_context_create(&cpu, &context);
    if (!status)
        status = make_factor(context, &factor);
    if (!status)
        status = gsw_operator_from_callback(context, POINTS, ring_multiply, &products, &A);
    if (!status)
        status = gsw_preconditioner_from_callback(context, POINTS, cut_open, factor, &M);
    if (!status)
        status = gsw_cg(context, A, NULL, &accuracy, b, x, &plain);
    for (int i = 0; i < POINTS; i++)
        x[i] = 0;
    if (!status)
        status = gsw_cg(context, A, M, &accuracy, b, x, &result);
    if (!status)
        printf("%lld iterations, %lld with the preconditioner %s; %d products; residual %.1e\n",
               (long long)plain.iterations, (long long)result.iterations,
               gsw_preconditioner_name(M), products, result.residual);
    else
        fprintf(stderr, "%s: %s\n", gsw_status_text(status), gsw_context_message(context));

    gsw_preconditioner_destroy(M);
    gsw_operator_destroy(A);
    gsw_factor_destroy(factor);
    gsw_context_destroy(context);
    return status == GSW_SUCCESS && result.residual < 1e-9 && result.iterations < plain.iterations
               ? EXIT_SUCCESS
               : EXIT_FAILURE;
}
