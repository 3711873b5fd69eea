/* multigrid.c: CG with multigrid, from one array per coupling.
 *
 * The problem is steady heat in a block of granular material, div (k grad u) = -1. Its conductivity
 * k varies by a factor of 1000 from grain to grain. The top and the bottom have u = 0; the sides
 * are insulated. A second material on the same grid uses the memory of the first one's hierarchy.
 *
 *   cc multigrid.c $(pkg-config --cflags --libs gridsweep) -lm && ./a.out */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <gridsweep/gridsweep.h>

enum { NX = 48, NY = 40, NZ = 32, POINTS = NX * NY * NZ };

/* In the order of the stencil D3N7: offsets ascend in (dz, dy, dx). */
enum { DOWN, SOUTH, WEST, CENTER, EAST, NORTH, UP, COUPLINGS };
static double coupling[COUPLINGS][POINTS], random_numbers[POINTS], b[POINTS], x[POINTS];

/* Grains of 4 x 4 x 4 points. */
static double conductivity(int i, int j, int k) {
    const int grain = i / 4 + NX / 4 * (j / 4 + NY / 4 * (k / 4));
    return pow(10, 1.5 * random_numbers[grain]);
}

/* The conductivity between two points is the harmonic mean. */
static double between(int i, int j, int k, int di, int dj, int dk) {
    const double here = conductivity(i, j, k);
    if (k + dk < 0 || k + dk >= NZ)
        return here; /* top and bottom */
    if (i + di < 0 || i + di >= NX || j + dj < 0 || j + dj >= NY)
        return 0; /* sides */
    const double there = conductivity(i + di, j + dj, k + dk);
    return 2 * here * there / (here + there);
}

static void fill(uint64_t seed) {
    static const struct {
        int number, di, dj, dk;
    } arms[] = {{DOWN, 0, 0, -1}, {SOUTH, 0, -1, 0}, {WEST, -1, 0, 0},
                {EAST, 1, 0, 0},  {NORTH, 0, 1, 0},  {UP, 0, 0, 1}};
    gsw_random_vector(seed, POINTS, random_numbers);
    for (int k = 0; k < NZ; k++)
        for (int j = 0; j < NY; j++)
            for (int i = 0; i < NX; i++) {
                const int row = i + NX * (j + NY * k);
                coupling[CENTER][row] = 0;
                /* Coefficients of points outside the grid are never read. */
                for (int a = 0; a < 6; a++) {
                    const double c = between(i, j, k, arms[a].di, arms[a].dj, arms[a].dk);
                    coupling[arms[a].number][row] = -c;
                    coupling[CENTER][row] += c;
                }
            }
}

static gsw_status print_levels(const gsw_multigrid *multigrid) {
    gsw_multigrid_info info = {.size = sizeof info};
    gsw_status status = gsw_multigrid_get_info(multigrid, &info);
    for (int i = 0; i < info.levels && !status; i++) {
        gsw_multigrid_level level = {.size = sizeof level};
        status = gsw_multigrid_get_level(multigrid, i, &level);
        printf("level %d: %lld x %lld x %lld, %s, %s, %.1f MB\n", i, (long long)level.grid.nx,
               (long long)level.grid.ny, (long long)level.grid.nz, gsw_stencil_name(&level.stencil),
               level.direct ? "direct" : gsw_smoother_name(level.smoother),
               (double)level.bytes * 1e-6);
    }
    printf("operator complexity %.2f\n", info.operator_complexity);
    return status;
}

/* ||b - A x|| / ||b||, computed from x. */
static gsw_status true_residual(gsw_context *context, const gsw_matrix *matrix, double *residual) {
    static double r[POINTS];
    double rr = 0, bb = 0;
    const gsw_status status = gsw_residual(context, matrix, GSW_F64, b, x, r);
    for (int row = 0; row < POINTS; row++) {
        rr += r[row] * r[row];
        bb += b[row] * b[row];
    }
    *residual = sqrt(rr / bb);
    return status;
}

int main(void) {
    const gsw_context_options where = {.size = sizeof where, .backend = GSW_BACKEND_CPU};
    const gsw_multigrid_options single = {.size = sizeof single, .cycle_type = GSW_F32};
    const gsw_grid grid = {.nx = NX, .ny = NY, .nz = NZ};
    const void *arrays[COUPLINGS];
    const gsw_stencil_array view = {.values = arrays, .value_type = GSW_F64};
    gsw_context *context = NULL;
    gsw_multigrid *multigrid = NULL;
    gsw_operator *A = NULL;
    gsw_preconditioner *M = NULL;
    gsw_stencil stencil;
    gsw_matrix matrix;
    gsw_krylov_result result = {.size = sizeof result};
    double residual = 1;

    fill(1);
    for (int k = 0; k < COUPLINGS; k++)
        arrays[k] = coupling[k];
    for (int row = 0; row < POINTS; row++)
        b[row] = 1;

    gsw_status status = gsw_context_create(&where, &context);
    if (!status)
        status = gsw_stencil_named("D3N7", &stencil);
    if (!status)
        status = gsw_matrix_from_stencil(context, &grid, &stencil, &view, &matrix);
    if (!status) /* the cycle in fp32, CG around it in fp64 */
        status = gsw_multigrid_create(context, &matrix, &single, &multigrid);
    if (!status)
        status = print_levels(multigrid);
    if (!status)
        status = gsw_operator_from_matrix(context, &matrix, &A);
    if (!status)
        status = gsw_preconditioner_from_multigrid(context, multigrid, &M);
    for (int material = 1; material <= 2 && !status; material++) {
        if (material == 2) { /* new values in the same arrays: A and M follow */
            fill(2);
            status = gsw_multigrid_refactor(context, multigrid, &matrix);
        }
        for (int row = 0; row < POINTS; row++)
            x[row] = 0;
        if (!status)
            status = gsw_cg(context, A, M, NULL, b, x, &result);
        if (!status)
            status = true_residual(context, &matrix, &residual);
        if (!status)
            printf("material %d: %lld iterations, residual %.1e\n", material,
                   (long long)result.iterations, residual);
        if (!status && !(residual <= 1e-8 && result.iterations <= 20))
            status = GSW_ERROR_NOT_CONVERGED;
    }
    if (status)
        fprintf(stderr, "%s: %s\n", gsw_status_text(status), gsw_context_message(context));

    gsw_preconditioner_destroy(M);
    gsw_operator_destroy(A);
    gsw_multigrid_destroy(multigrid);
    gsw_context_destroy(context);
    return status ? EXIT_FAILURE : EXIT_SUCCESS;
}
