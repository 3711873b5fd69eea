/* csr.c: a matrix that a program already has as CSR.
 *
 * The program finds grid and stencil of the matrix, computes ILU(0), and solves with GMRES. Then it
 * takes new values on the same pattern, as in a time step or a Newton iteration.
 *
 *   cc csr.c $(pkg-config --cflags --libs gridsweep) -lm && ./a.out */
#include <stdio.h>
#include <stdlib.h>
#include <gridsweep/gridsweep.h>

enum { NX = 40, NY = 30, NZ = 20, POINTS = NX * NY * NZ };

static int row_ptr[POINTS + 1], columns[7 * POINTS];
static double values[7 * POINTS], b[POINTS], x[POINTS];

/* Diffusion and a wind along x on the unit spacing. Your own program has such code already. Rows
 * must be in natural order (x fastest), with ascending columns in each row. */
static int assemble(double wind) {
    int count = 0;
    for (int row = 0; row < POINTS; row++) {
        const int i = row % NX, j = row / NX % NY, k = row / (NX * NY);
        const int inside[] = {k > 0, j > 0, i > 0, 1, i < NX - 1, j < NY - 1, k < NZ - 1};
        const int distance[] = {-NX * NY, -NX, -1, 0, 1, NX, NX * NY};
        const double value[] = {-1, -1, -1 - wind, 6 + wind, -1, -1, -1};
        row_ptr[row] = count;
        for (int e = 0; e < 7; e++) {
            if (!inside[e])
                continue;
            columns[count] = row + distance[e];
            values[count++] = value[e];
        }
    }
    row_ptr[POINTS] = count;
    return count;
}

int main(void) {
    const gsw_context_options where = {.size = sizeof where,
                                       .backend = GSW_BACKEND_CPU}; /* all cores */
    const gsw_krylov_options accuracy = {.size = sizeof accuracy, .rtol = 1e-10, .restart = 50};
    gsw_context *context = NULL;
    gsw_factor *ilu = NULL;
    gsw_operator *op = NULL;
    gsw_preconditioner *M = NULL;
    gsw_krylov_result result = {.size = sizeof result};
    gsw_grid grid;
    gsw_stencil stencil;
    gsw_matrix A;

    /* A view of the arrays; nothing is copied. Other programs may need GSW_I64 or base 1. */
    const gsw_csr csr = {.rows = POINTS,
                         .nonzeros = assemble(2),
                         .row_ptr = row_ptr,
                         .columns = columns,
                         .values = values,
                         .index_type = GSW_I32,
                         .value_type = GSW_F64,
                         .base = 0};
    gsw_random_vector(1, POINTS, b);

    gsw_status status = gsw_context_create(&where, &context);
    /* One pass over the matrix. If you know the grid, use gsw_stencil_named() instead. */
    if (!status)
        status = gsw_detect(context, &csr, NULL, &grid, &stencil);
    if (!status)
        status = gsw_matrix_from_csr(context, &grid, &stencil, &csr, &A);
    if (!status)
        status = gsw_factor_create(context, &A, NULL, &ilu); /* NULL: ILU(0) in fp64 */
    if (!status)
        status = gsw_operator_from_matrix(context, &A, &op);
    if (!status)
        status = gsw_preconditioner_from_factor(context, ilu, &M);
    if (!status) {
        printf("%lld x %lld x %lld, %s\n", (long long)grid.nx, (long long)grid.ny,
               (long long)grid.nz, gsw_stencil_name(&stencil));
        status = gsw_gmres(context, op, M, &accuracy, b, x, &result);
    }
    if (!status) {
        printf("%lld iterations, residual %.1e\n", (long long)result.iterations, result.residual);
        assemble(5); /* new values in the same arrays: op has them at once */
        status = gsw_factor_refactor(context, ilu, &A, NULL);
    }
    if (!status) /* x of the first system is the guess of the second */
        status = gsw_gmres(context, op, M, &accuracy, b, x, &result);
    if (!status)
        printf("%lld iterations, residual %.1e\n", (long long)result.iterations, result.residual);
    else
        fprintf(stderr, "%s: %s\n", gsw_status_text(status), gsw_context_message(context));

    gsw_preconditioner_destroy(M); /* all of them before their context */
    gsw_operator_destroy(op);
    gsw_factor_destroy(ilu);
    gsw_context_destroy(context);
    return status == GSW_SUCCESS && result.residual < 1e-9 ? EXIT_SUCCESS : EXIT_FAILURE;
}
