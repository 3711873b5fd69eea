/* processes.c: one grid on several processes, with MPI.
 *
 * The problem is steady heat in a block of two materials, div (k grad u) = -1, with u = 0 around
 * it. Each process has one box of the grid. It fills the rows of its box and never holds the
 * others. IC(0) in the scope GLOBAL is that of the whole grid, on any number of processes.
 *
 *   mpicc processes.c $(pkg-config --cflags --libs gridsweep-mpi) && mpirun -n 4 ./a.out */
#include <stdio.h>
#include <stdlib.h>
#include <gridsweep/gridsweep.h>
#include <gridsweep/mpi.h>

enum { NX = 48, NY = 40, NZ = 32 };

/* In the order of the stencil D3N7: offsets ascend in (dz, dy, dx). */
enum { DOWN, SOUTH, WEST, CENTER, EAST, NORTH, UP, COUPLINGS };

/* What a process has of the system: one value per point of its box, x fastest. */
typedef struct part {
    double *coupling[COUPLINGS];
    double *b, *x;
} part;

/* Blocks of 8 x 8 x 8 points alternate. Points outside the grid have a material, too. */
static double conductivity(int64_t x, int64_t y, int64_t z) {
    return ((x + 8) / 8 + (y + 8) / 8 + (z + 8) / 8) % 2 ? 100 : 1;
}

static void fill_row(part *own, int64_t row, int64_t x, int64_t y, int64_t z) {
    static const struct {
        int number, dx, dy, dz;
    } arms[] = {{DOWN, 0, 0, -1}, {SOUTH, 0, -1, 0}, {WEST, -1, 0, 0},
                {EAST, 1, 0, 0},  {NORTH, 0, 1, 0},  {UP, 0, 0, 1}};
    const double here = conductivity(x, y, z);
    own->coupling[CENTER][row] = 0;
    for (int a = 0; a < 6; a++) {
        const double there = conductivity(x + arms[a].dx, y + arms[a].dy, z + arms[a].dz);
        const double between = 2 * here * there / (here + there);
        /* A coupling to another box is used, one to a point outside the grid is not. */
        own->coupling[arms[a].number][row] = -between;
        own->coupling[CENTER][row] += between;
    }
    own->b[row] = 1;
    own->x[row] = 0;
}

/* Returns 1, or 0 without memory. */
static int fill(part *own, const gsw_box *box) {
    size_t points = 1;
    for (int axis = 0; axis < 3; axis++)
        points *= (size_t)(box->end[axis] - box->begin[axis]);
    int good = (own->b = malloc(points * sizeof(double))) != NULL;
    good = (own->x = malloc(points * sizeof(double))) != NULL && good;
    for (int k = 0; k < COUPLINGS; k++)
        good = (own->coupling[k] = malloc(points * sizeof(double))) != NULL && good;
    int64_t row = 0;
    for (int64_t z = box->begin[2]; z < box->end[2] && good; z++)
        for (int64_t y = box->begin[1]; y < box->end[1]; y++)
            for (int64_t x = box->begin[0]; x < box->end[0]; x++)
                fill_row(own, row++, x, y, z);
    return good;
}

static void clear(part *own) {
    for (int k = 0; k < COUPLINGS; k++)
        free(own->coupling[k]);
    free(own->x);
    free(own->b);
}

int main(int argc, char **argv) {
    /* As is usual under MPI, one process per core. */
    const gsw_context_options where = {
        .size = sizeof where, .backend = GSW_BACKEND_CPU, .threads = 1};
    /* Without options the library would choose. */
    const gsw_factor_options whole_grid = {.size = sizeof whole_grid, .scope = GSW_SCOPE_GLOBAL};
    const gsw_solver_options options = {.size = sizeof options,
                                        .precond = GSW_PRECOND_IC0,
                                        .method = GSW_SOLVER_CG,
                                        .factor = &whole_grid};
    const gsw_grid grid = {.nx = NX, .ny = NY, .nz = NZ};
    const void *arrays[COUPLINGS];
    const gsw_stencil_array view = {.values = arrays, .value_type = GSW_F64};
    gsw_context *context = NULL;
    gsw_transport *transport = NULL;
    gsw_partition *partition = NULL;
    gsw_matrix A;
    gsw_stencil stencil;
    gsw_solver_report report = {.size = sizeof report};
    part own = {0};

    MPI_Init(&argc, &argv);
    gsw_status status = gsw_context_create(&where, &context);
    if (!status)
        status = gsw_stencil_named("D3N7", &stencil);
    if (!status)
        status = gsw_mpi_transport_create(context, MPI_COMM_WORLD, &transport);
    if (!status) /* the library cuts the grid, here into slabs in z */
        status = gsw_partition_create(context, transport, &grid, NULL, &partition);
    const gsw_box box = gsw_partition_box(partition, gsw_partition_rank(partition));
    if (!status && !fill(&own, &box))
        status = GSW_ERROR_OUT_OF_MEMORY;
    for (int k = 0; k < COUPLINGS; k++)
        arrays[k] = own.coupling[k];
    if (!status)
        status = gsw_partition_matrix_from_stencil(partition, &stencil, &view, &A);
    if (!status) /* as on one process; all processes call it */
        status = gsw_solve(context, &A, &options, own.b, own.x, &report);
    if (!status)
        printf("process %d of %d: planes %lld to %lld, %lld iterations, residual %.1e\n",
               gsw_partition_rank(partition), gsw_partition_processes(partition),
               (long long)box.begin[2], (long long)box.end[2] - 1, (long long)report.iterations,
               report.residual);
    if (status) { /* also in the other processes, which might wait for this one */
        fprintf(stderr, "%s: %s\n", gsw_status_text(status), gsw_context_message(context));
        MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
    }

    gsw_partition_destroy(partition);
    gsw_mpi_transport_destroy(transport);
    gsw_context_destroy(context);
    clear(&own);
    MPI_Finalize();
    return EXIT_SUCCESS;
}
