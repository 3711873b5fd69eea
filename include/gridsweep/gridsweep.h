/* gridsweep: exact sparse triangular solves on regular grids, and the preconditioners and Krylov
 * solvers that use them.
 *
 * This header includes all others. The library is for matrices whose rows are the points of a
 * regular grid, each coupled to a few points near it. Finite differences and finite volumes give
 * such matrices. A triangular solve is exact if it gives what a serial loop over the rows gives,
 * except for rounding errors.
 *
 * What to use for which task:
 *
 *   one triangular solve, matrix used once    gsw_sptrsv()                      sptrsv.h
 *   many triangular solves with one matrix    gsw_factor, kind LOWER or UPPER   factor.h
 *   A x = b, the library chooses the method   gsw_solve(), or a gsw_solver for  solve.h
 *                                             several b or time steps
 *   A x = b, symmetric positive definite A    gsw_cg() with IC0 or multigrid    krylov.h
 *   A x = b, any other regular A              gsw_bicgstab() or gsw_gmres()     krylov.h
 *                                             with ILU0 or multigrid
 *   the same for several b                    gsw_krylov_many()                 krylov.h
 *   a preconditioner that uses sweeps         gsw_factor                        factor.h
 *   large grids with diffusion or pressure    gsw_multigrid                     multigrid.h
 *   one grid on several processes             gsw_partition                     partition.h
 *   a smoother for your own multigrid         gsw_smooth()                      smooth.h
 *   Jacobi or Chebyshev, sweeps fused         gsw_relax_create()                relax.h
 *   a matrix that you never store             gsw_operator from a callback      operator.h
 *   a preconditioner of your own              gsw_preconditioner from a callback
 *                                                                         preconditioner.h
 *
 * A program that solves A x = b with ILU(0) and BiCGSTAB takes these steps:
 *
 *   gsw_context_create()              choose threads, or a GPU               context.h
 *   gsw_matrix_from_csr()             view your CSR or stencil arrays        matrix.h
 *   gsw_factor_create()               pack ILU(0), IC(0), DILU or SSOR       factor.h
 *   gsw_operator_from_matrix()        say what A is                          operator.h
 *   gsw_preconditioner_from_factor()  say what M is                          preconditioner.h
 *   gsw_bicgstab()                    solve; or gsw_cg(), gsw_gmres()        krylov.h
 *   gsw_preconditioner_destroy(), gsw_operator_destroy(), gsw_factor_destroy(),
 *   gsw_context_destroy()             free everything
 *
 * Further headers: grids and stencils (grid.h), arrays in device memory (memory.h), Matrix Market
 * files (io.h), model problems (problem.h), shapes of kernels that are measured on the device at
 * hand (tune.h), errors (status.h). A program that uses MPI includes mpi.h besides this header.
 *
 * Memory: arrays and vectors are in device memory with CUDA, and in host memory with the other
 * backends. gsw_matrix_upload() and the other functions of memory.h copy them there. These calls
 * are the same for all backends.
 *
 * Structs that begin with `size` are options, or results that the library fills. Set `size` to
 * sizeof the struct. Members that an initialiser does not name are 0, and 0 is the default:
 *
 *   gsw_krylov_options options = {.size = sizeof options, .rtol = 1e-10};
 *   gsw_krylov_result result = {.size = sizeof result};
 *
 * Thanks to `size` a struct can grow without breaking programs. New members come at the end. A
 * program that was compiled with a shorter struct gets the defaults of the members that it lacks.
 * The library then writes at most `size` bytes of a result. A program that was compiled with a
 * longer struct runs as long as the options that this library does not know are 0. The library sets
 * the members of a result that it does not know to 0. An impossible size (0, sizeof a pointer) is
 * INVALID_ARGUMENT, and the message names the struct. NULL in place of options means the defaults.
 *
 * Every function checks its vectors by the same rules. A vector holds one value per grid point, of
 * the type that the function names, aligned to that type. Several right-hand sides lie ldb values
 * apart, and their solutions ldx values apart; both are at least the number of grid points.
 * Right-hand sides and solutions may alternate in memory. A vector that a function writes shares no
 * value with another vector. The exception: x may be b where the comment says so. Both then have
 * the same address and the same leading dimension. A written vector shares no value with the arrays
 * of a matrix either; this alone is not checked. All vectors lie in the context's memory. With CUDA
 * a host array is refused when a factor or an operator is created and when a Krylov method begins.
 * Calls that only queue work do not check this: a kernel then meets the address, and the next call
 * that waits reports GSW_ERROR_DEVICE.
 *
 * Thread safety: one thread at a time uses a context and the objects that were created with it.
 * The library has no other global state. */
#ifndef GRIDSWEEP_GRIDSWEEP_H
#define GRIDSWEEP_GRIDSWEEP_H

#include <gridsweep/version.h>
#include <gridsweep/status.h>
#include <gridsweep/context.h>
#include <gridsweep/grid.h>
#include <gridsweep/matrix.h>
#include <gridsweep/memory.h>
#include <gridsweep/embed.h>
#include <gridsweep/sptrsv.h>
#include <gridsweep/factor.h>
#include <gridsweep/smooth.h>
#include <gridsweep/relax.h>
#include <gridsweep/operator.h>
#include <gridsweep/preconditioner.h>
#include <gridsweep/multigrid.h>
#include <gridsweep/krylov.h>
#include <gridsweep/choice.h>
#include <gridsweep/solve.h>
#include <gridsweep/partition.h>
#include <gridsweep/io.h>
#include <gridsweep/problem.h>
#include <gridsweep/tune.h>

#endif
