/* gridsweep: exact sparse triangular solves on regular grids, and the preconditioners and Krylov
 * solvers that need them.
 *
 * Start here. A program that solves A x = b with ILU(0) and BiCGSTAB does six things:
 *
 *   gsw_context_create()      where to run                                   context.h
 *   gsw_matrix_from_csr()     view of its own CSR or stencil arrays          matrix.h
 *   gsw_factor_create()       ILU(0), IC(0), DILU or SSOR, packed            factor.h
 *   gsw_operator_from_matrix(), gsw_preconditioner_from_factor()             operator.h,
 *                             or both from callbacks                         preconditioner.h
 *   gsw_bicgstab()            or gsw_cg(), gsw_gmres()                       krylov.h
 *   gsw_preconditioner_destroy(), gsw_operator_destroy(),
 *   gsw_factor_destroy(), gsw_context_destroy()
 *
 * The arrays and vectors are in host memory with the CPU backend and in device memory with CUDA.
 * gsw_matrix_upload() and the functions next to it in memory.h bring them there, on either backend
 * with the same calls.
 *
 * gsw_choose() in choice.h picks the preconditioner and the method for a matrix, multigrid among
 * them, and says why.
 * A factor as a smoother, symmetric Gauss-Seidel among others: gsw_smooth() in smooth.h. Multigrid
 * around such smoothers: multigrid.h.
 * One triangular solve on a matrix that is used once: gsw_sptrsv() in sptrsv.h. Grids and stencils
 * are in grid.h, Matrix Market files in io.h, model problems in problem.h, errors in status.h.
 *
 * Options, and structs that the library fills, begin with `size`. Set it to sizeof the struct; what
 * is not named is then 0, the default:
 *
 *   gsw_krylov_options options = {.size = sizeof options, .rtol = 1e-10};
 *   gsw_krylov_result result = {.size = sizeof result};
 *
 * By it structs can grow without breaking programs: new members come at the end. A program that was
 * compiled with a shorter struct gets the defaults of what it lacks, and the library writes no more
 * than `size` bytes of a result. A program that was compiled with a longer struct runs as long as
 * the options that this library does not know are 0; of a result they are set to 0. A size that
 * cannot be (0, sizeof a pointer) is INVALID_ARGUMENT, and the message names the struct. NULL in
 * place of options means the defaults.
 *
 * Vectors follow one convention, which every function checks. They hold one value per grid point,
 * of the type that the function names, aligned to that type. Several right-hand sides are columns
 * that lie ldb or ldx values apart, at least one grid apart; columns of b may lie between those of
 * x. A vector that a function writes shares no value with another vector, unless its comment says
 * that x may be b: then they are the same address with the same leading dimension. It shares none
 * with the arrays of a matrix either; this alone is not checked. All lie in the context's memory.
 * With CUDA, a host array is refused where a factor or an operator is made and where a Krylov
 * method begins. Calls that only queue work do not look: a kernel then meets the address, and the
 * next call that waits reports GSW_ERROR_DEVICE.
 *
 * Thread safety: a context and what was made with it serve one thread at a time; everything else is
 * free of global state. */
#ifndef GRIDSWEEP_GRIDSWEEP_H
#define GRIDSWEEP_GRIDSWEEP_H

#include <gridsweep/version.h>
#include <gridsweep/status.h>
#include <gridsweep/context.h>
#include <gridsweep/grid.h>
#include <gridsweep/matrix.h>
#include <gridsweep/memory.h>
#include <gridsweep/sptrsv.h>
#include <gridsweep/factor.h>
#include <gridsweep/smooth.h>
#include <gridsweep/operator.h>
#include <gridsweep/preconditioner.h>
#include <gridsweep/multigrid.h>
#include <gridsweep/krylov.h>
#include <gridsweep/choice.h>
#include <gridsweep/io.h>
#include <gridsweep/problem.h>

#endif
