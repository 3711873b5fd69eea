/* gridsweep/partition.h: one grid on several processes.
 *
 * A partition cuts a grid into boxes, one for each process. A process holds the matrix rows and the
 * vector entries of its own box only. A matrix on a partition is a gsw_matrix like any other:
 * operators, factors, hierarchies, preconditioners and solvers are made of it with the same calls,
 * and solve the system of the whole grid. Call them in all processes, each with its own box.
 *
 *   gsw_transport                        how processes exchange messages; with MPI see mpi.h
 *   gsw_partition_create()               cuts the grid
 *   gsw_partition_matrix_from_csr(),     the rows of the own box as a matrix
 *   gsw_partition_matrix_from_stencil()
 *   gsw_partition_scatter()              each process's rows of a matrix that one of them has
 *   gsw_partition_collect(),             the same for vectors, in both directions
 *   gsw_partition_distribute()
 *
 * Rows and order: the row of a point in the grid is x + nx*(y + ny*z), its natural number, as on
 * one process. Own arrays have one value per point of the box, x fastest: the point (x, y, z) of
 * the grid is row (x - begin[0]) + mx*((y - begin[1]) + my*(z - begin[2])) of a box of mx * my * mz
 * points.
 *
 * The options of factors and of multigrid have a scope:
 *
 *   LOCAL   each process factorises its own box, without the couplings to others: block Jacobi. No
 *           message is sent. Usually it takes more iterations. With an overlap of k the process
 *           factorises all points at most k planes from its box, and keeps the solution in its box:
 *           restricted additive Schwarz. An application then sends k planes to each neighbour.
 *   GLOBAL  the exact factorisation of the whole grid in natural order, and exact sweeps: the same
 *           preconditioner as on one process, with the same number of iterations. Sweeps and the
 *           factorisation are pipelined over slabs in z; in 2D one slab in y follows the other. A
 *           grid that is cut otherwise is laid out again, and b and x are moved.
 *
 * Each level of a hierarchy is cut where the finest one is. A level that is small for so many
 * processes is brought to all of them, and each does the rest of the cycle by itself, with the same
 * bits. With GLOBAL the sweeps of each level are those of the whole level in natural order, and the
 * cycle is that of one process, but for rounding. With LOCAL each process sweeps its own box and
 * takes the old values of other boxes. A sweep then sends no messages, but products and transfers
 * do. Often this takes a few iterations more. On GPUs GLOBAL concerns the finest level.
 * Gauss-Seidel sweeps coarse levels in slabs there: AUTO in thin ones, as on one GPU, GS and SYMGS
 * in those of the processes.
 *
 * A matrix on a partition may have a mask (matrix.h), of the own box: set the member `active` in
 * all processes. Factors and products are those of one process. So are the cycles of multigrid,
 * but for inactive points where the grid is cut not only along its last axis: a process may find
 * other active points nearest to them. Lakes (multigrid.h) that lie in several slabs are left to
 * the Krylov method on GPUs, and in grids of more than 2^24 points. The matrix is copied.
 *
 * A grid may be periodic, but not on several GPUs. The stencil of a matrix is the near one in both
 * formats (grid.h). As on one process, products and multigrid know the couplings around the grid,
 * factors do not, and kinds LOWER and UPPER are refused. Levels with an odd number of points along
 * a periodic axis are brought to all processes.
 *
 * What is not the same on several processes:
 *   - Factors are of the kinds up to UPPER, in fp64, not transposed. LOWER and UPPER refuse a
 *     diagonal that is zero or not finite. gsw_factor_sweep() and gsw_factor_extract() are for one
 *     process.
 *   - Hierarchies have black-box interpolation and all smoothers but MULTICOLOR. AUTO is GS for a
 *     symmetric matrix, else SYMGS, and no solve changes it. On CPUs they work in fp64. The
 *     matrix's arrays must outlive the hierarchy.
 *   - gsw_spmv(), gsw_residual(), gsw_sptrsv(), gsw_relax() and what looks into a matrix take a
 *     matrix of one process.
 *
 * Global sweeps give the same bits for any number of processes and any boxes, because each row adds
 * its terms in the same order. (On a CUDA device one process differs by rounding: its order may be
 * another where x is not the longest axis and the stencil is a star, and a sweep may have made the
 * factor.) Sums of the Krylov methods are added in the order of the processes. So a solve with the
 * same partition gives the same bits each time.
 *
 * All functions that take a partition, or a matrix on one, are collective, and so are the Krylov
 * methods of its context and the destroy functions of what they made: all processes call them in
 * the same order, with the same grid, stencil, method and options; others are refused with
 * INVALID_ARGUMENT in all processes. Each ends with the same status in all processes, unless a
 * process cannot be reached. Monitors and callbacks must return the same in all processes: a method
 * does not ask the others in each iteration. No wait is endless. If a process does not answer
 * within the partition's limit, the others return TIMEOUT with a message that names it. After that
 * only the destroy functions may be called; begin again with a new transport and partition.
 *
 * CUDA: one process per device. Arrays and vectors are in device memory, except a CSR of the own
 * rows, and those of gsw_partition_scatter(), gsw_partition_collect() and
 * gsw_partition_distribute(), which are in the host's. The grid is cut along z only. Products and
 * sweeps are queued on the contexts' streams. Devices of one machine write into each other's
 * memory. Where they cannot, messages carry the same bytes: then a sweep waits for the whole sweep
 * before it, and the context's log gives the reason once for each neighbour. GLOBAL needs slabs
 * that begin at a multiple of 8 planes (of 32 for stencils without a name), which is the default,
 * and more than one point along x and y; IC0 reads both parts of the matrix. LOCAL has no overlap.
 * In fp64, slabs are factorised at the same time for DILU, and where ILU0 or IC0 changes the
 * diagonal alone, as with D3N7; others one after the other. An error of a kernel, such as TIMEOUT,
 * shows in the next call.
 *
 * Several processes on one device work if the driver lets them take turns, as it does by default.
 *
 * Sources: Lamport (1974) for the order of lines; Koch, Baker and Alcouffe (1992) for sweeps that
 * are pipelined over processes; Saad, Iterative Methods for Sparse Linear Systems, 2nd ed., chapter
 * 12, for block Jacobi; Cai and Sarkis, SIAM J. Sci. Comput. 21 (1999), for restricted additive
 * Schwarz. */
#ifndef GRIDSWEEP_PARTITION_H
#define GRIDSWEEP_PARTITION_H

#include <gridsweep/matrix.h>

#ifdef __cplusplus
extern "C" {
#endif

/* How the processes of a solve exchange messages. gsw_mpi_transport_create() in mpi.h makes one
 * from a communicator; a program with other means fills in its own.
 *
 * `send`, `receive` and `gather` begin a transfer, return at once, and set *request. The memory
 * stays untouched until the request ends. Messages from one process to another with the same tag
 * arrive in order. `gather` brings `bytes` bytes of every process to every process, in the order of
 * the ranks; all processes begin their gathers in the same order. They return 0, or -1 on failure.
 *
 * `test` returns 1 when the request has ended (then *request is NULL), 0 before, -1 on failure.
 * `abandon` gives up a request: the other process does not answer. Its memory may still be written
 * later, so the library does not free it. */
typedef struct gsw_transport {
    size_t size; /* sizeof this struct, set by its creator */
    int rank, processes;
    void *user;
    int (*send)(void *user, int to, int tag, const void *data, size_t bytes, void **request);
    int (*receive)(void *user, int from, int tag, void *data, size_t bytes, void **request);
    int (*gather)(void *user, const void *own, size_t bytes, void *all, void **request);
    int (*test)(void *user, void **request);
    void (*abandon)(void *user, void **request);
} gsw_transport;

/* Points (x, y, z) of the grid with begin <= (x, y, z) < end. */
typedef struct gsw_box {
    int64_t begin[3], end[3];
} gsw_box;

/* For the defaults set all members except `size` to 0. */
typedef struct gsw_partition_options {
    size_t size;            /* sizeof this struct, set by the caller */
    int32_t processes[3];   /* along x, y and z; 0: chosen by the library */
    const int64_t *cuts[3]; /* along each axis: where the boxes begin, processes[axis] + 1 values
                               from 0 to the extent, strictly ascending; NULL: equal parts */
    double wait_limit;      /* seconds that a process waits for another one; 0: 60 */
} gsw_partition_options;

/* Cuts `grid` into boxes. `transport` NULL means a single process. Process r has the box (i, j, k)
 * with r = i + processes[0] * (j + processes[1] * k), as in PETSc's DMDA. The library chooses slabs
 * in z for grids in 3D, and slabs in y for grids in 2D, as global sweeps need them. With CUDA slabs
 * begin at multiples of 8 planes, if each gets 8. If there are more processes than planes, it cuts
 * the other axes as well. Every box has at least one point.
 *
 * The partition sets the context's sums (gsw_context_set_sum()); its end brings back those of the
 * partition before. All partitions of a context are of the same processes. The transport is copied;
 * what it refers to must outlive the partition. On failure *partition is NULL.
 * Errors: INVALID_ARGUMENT, OVERFLOW (grid.h), UNSUPPORTED (more processes than points allow),
 * OUT_OF_MEMORY, COMMUNICATION, TIMEOUT. */
GSW_API
gsw_status gsw_partition_create(gsw_context *context, const gsw_transport *transport,
                                const gsw_grid *grid, const gsw_partition_options *options,
                                gsw_partition **partition);

/* The box of a process; an empty one where there is no such process. */
GSW_API
gsw_box gsw_partition_box(const gsw_partition *partition, int process);

/* The own rank, the number of processes, and the processes along each axis. */
GSW_API
int gsw_partition_rank(const gsw_partition *partition);
GSW_API
int gsw_partition_processes(const gsw_partition *partition);
GSW_API
void gsw_partition_shape(const gsw_partition *partition, int32_t processes[3]);

/* Brings what the own process has in `own` (one fp64 value per point of its box) to process `root`
 * as one vector in natural order, and the other way. `all` has one value per point of the grid; it
 * is used in `root` only. Errors: INVALID_ARGUMENT, OUT_OF_MEMORY, COMMUNICATION, TIMEOUT. */
GSW_API
gsw_status gsw_partition_collect(gsw_partition *partition, int root, const double *own,
                                 double *all);
GSW_API
gsw_status gsw_partition_distribute(gsw_partition *partition, int root, const double *all,
                                    double *own);

/* Frees a partition, after all that was made from it. On devices the processes wait for each other
 * before shared memory goes. NULL is allowed. */
GSW_API
void gsw_partition_destroy(gsw_partition *partition);

/* ---- Matrices ----------------------------------------------------------------------------------
 */

/* These two fill *matrix from the rows of the own box, as gsw_matrix_from_csr() and
 * gsw_matrix_from_stencil() do for a whole grid; matrix->grid is the whole grid. They send nothing
 * and read no array. The arrays stay yours and must outlive what is made of the matrix. On a
 * partition of one process the matrix is that of the whole grid, and all calls take it.
 *
 * The first takes a CSR: row r is row r of the box, and columns are natural numbers of the grid
 * (plus the base). It is in the host's memory, and each object that is made of it copies its
 * values. The second takes one array per offset of the stencil, each with one value per point of
 * the box, in the context's memory. Entries whose neighbour lies outside the grid are never used;
 * those whose neighbour lies in another box are. An array that is NULL counts as zeros. Errors:
 * INVALID_ARGUMENT. */
GSW_API
gsw_status gsw_partition_matrix_from_csr(gsw_partition *partition, const gsw_stencil *stencil,
                                         const gsw_csr *csr, gsw_matrix *matrix);
GSW_API
gsw_status gsw_partition_matrix_from_stencil(gsw_partition *partition, const gsw_stencil *stencil,
                                             const gsw_stencil_array *array, gsw_matrix *matrix);

/* Each process's rows of a matrix that process `root` holds whole. `whole` is used in `root` only,
 * is in the host's memory, and stays unchanged; its grid must be the partition's. The values are
 * copied to new arrays in the context's memory: free them with gsw_matrix_release(). Collective. On
 * failure *matrix is {0}.
 * Errors: INVALID_ARGUMENT, NOT_A_GRID (a coupling outside the stencil),
 * OVERFLOW, OUT_OF_MEMORY, COMMUNICATION, TIMEOUT. */
GSW_API
gsw_status gsw_partition_scatter(gsw_partition *partition, int root, const gsw_matrix *whole,
                                 gsw_matrix *matrix);

#ifdef __cplusplus
}
#endif

#endif
