/* consumer_mpi.c: a user's program on any number of processes. It solves a Poisson problem with
 * IC(0) of the whole grid and CG. Returns 0 on success. */
#include <stdio.h>
#include <stdlib.h>
#include <gridsweep/gridsweep.h>
#include <gridsweep/mpi.h>

/* The problem is small: each process makes all of it, and takes its rows from the first one. */
static gsw_status solve(gsw_context *context, const gsw_transport *transport,
                        const gsw_matrix *whole, gsw_krylov_result *result) {
    const gsw_factor_options ic0 = {.size = sizeof ic0, .kind = GSW_IC0, .scope = GSW_SCOPE_GLOBAL};
    gsw_partition *partition = NULL;
    gsw_matrix mine = {.partition = NULL};
    gsw_operator *A = NULL;
    gsw_factor *factor = NULL;
    gsw_preconditioner *M = NULL;
    double b[9 * 8 * 7], x[9 * 8 * 7] = {0}; /* more than the own points */
    for (int i = 0; i < 9 * 8 * 7; i++)
        b[i] = 1;
    gsw_status status = gsw_partition_create(context, transport, &whole->grid, NULL, &partition);
    if (status == GSW_SUCCESS)
        status = gsw_partition_scatter(partition, 0, whole, &mine);
    if (status == GSW_SUCCESS)
        status = gsw_operator_from_matrix(context, &mine, &A);
    if (status == GSW_SUCCESS)
        status = gsw_factor_create(context, &mine, &ic0, &factor);
    if (status == GSW_SUCCESS)
        status = gsw_preconditioner_from_factor(context, factor, &M);
    if (status == GSW_SUCCESS)
        status = gsw_cg(context, A, M, NULL, b, x, result);
    gsw_preconditioner_destroy(M);
    gsw_factor_destroy(factor);
    gsw_operator_destroy(A);
    gsw_matrix_release(context, &mine);
    gsw_partition_destroy(partition);
    return status;
}

int main(int argc, char **argv) {
    gsw_context_options options = {
        .size = sizeof options, .backend = GSW_BACKEND_CPU, .threads = 1};
    gsw_context *context = NULL;
    gsw_transport *transport = NULL;
    gsw_problem *problem = NULL;
    gsw_krylov_result result = {.size = sizeof result};
    MPI_Init(&argc, &argv);
    if (gsw_context_create(&options, &context) == GSW_SUCCESS &&
        gsw_mpi_transport_create(context, MPI_COMM_WORLD, &transport) == GSW_SUCCESS &&
        gsw_problem_parse(context, "poisson:9x8x7", NULL, &problem) == GSW_SUCCESS &&
        solve(context, transport, gsw_problem_matrix(problem), &result) == GSW_SUCCESS)
        printf("%d processes, %d iterations, residual %.1e\n", transport->processes,
               (int)result.iterations, result.residual);
    else
        fprintf(stderr, "consumer_mpi: %s\n", gsw_context_message(context));
    gsw_problem_destroy(problem);
    gsw_mpi_transport_destroy(transport);
    gsw_context_destroy(context);
    MPI_Finalize();
    return result.converged ? EXIT_SUCCESS : EXIT_FAILURE;
}
