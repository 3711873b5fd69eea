/* consumer.c: a user's program. It solves a Poisson problem with ILU(0) and CG, and checks that the
 * library at run time is the one whose headers were compiled. Returns 0 on success. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <gridsweep/gridsweep.h>

/* Solves A x = b for b = 1; returns 1 where the solver converged. */
static int solve(gsw_context *context, const gsw_matrix *matrix) {
    int64_t points = 0;
    gsw_factor *factor = NULL;
    gsw_operator *op = NULL;
    gsw_preconditioner *M = NULL;
    gsw_krylov_result result = {.size = sizeof result};
    double *b = NULL, *x = NULL;
    if (gsw_grid_points(&matrix->grid, &points) != GSW_SUCCESS)
        return 0;
    b = malloc((size_t)points * sizeof *b);
    x = calloc((size_t)points, sizeof *x);
    if (b != NULL && x != NULL &&
        gsw_factor_create(context, matrix, NULL, &factor) == GSW_SUCCESS &&
        gsw_operator_from_matrix(context, matrix, &op) == GSW_SUCCESS &&
        gsw_preconditioner_from_factor(context, factor, &M) == GSW_SUCCESS) {
        for (int64_t i = 0; i < points; i++)
            b[i] = 1;
        if (gsw_cg(context, op, M, NULL, b, x, &result) == GSW_SUCCESS)
            printf("%d iterations, residual %.1e\n", (int)result.iterations, result.residual);
    }
    gsw_preconditioner_destroy(M);
    gsw_operator_destroy(op);
    gsw_factor_destroy(factor);
    free(x);
    free(b);
    return result.converged;
}

int main(void) {
    gsw_context_options options = {.size = sizeof options, .backend = GSW_BACKEND_CPU};
    gsw_context *context = NULL;
    gsw_problem *problem = NULL;
    int good = 0;
    if (strcmp(gsw_version(), GSW_VERSION_STRING) != 0) {
        fprintf(stderr, "headers %s, library %s\n", GSW_VERSION_STRING, gsw_version());
        return EXIT_FAILURE;
    }
    if (gsw_context_create(&options, &context) != GSW_SUCCESS)
        return EXIT_FAILURE;
    if (gsw_problem_parse(context, "poisson:9x8x7", NULL, &problem) == GSW_SUCCESS)
        good = solve(context, gsw_problem_matrix(problem));
    if (!good)
        fprintf(stderr, "consumer: %s\n", gsw_context_message(context));
    gsw_problem_destroy(problem);
    gsw_context_destroy(context);
    return good ? EXIT_SUCCESS : EXIT_FAILURE;
}
