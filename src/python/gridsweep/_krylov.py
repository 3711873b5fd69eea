"""The library's own preconditioned Krylov solvers, which run without a return to Python."""

from ctypes import byref, c_void_p
from typing import NamedTuple

import numpy as np

from . import _types as t
from ._arrays import Matrix, source, target
from ._context import context_for
from ._errors import choice, integer, known_options, real, status_of
from ._factor import Factor
from ._library import library

# Ends of an iteration that leave an iterate and a report.
_ENDED = {t.Status.SUCCESS, t.Status.NOT_CONVERGED, t.Status.BREAKDOWN, t.Status.NON_FINITE,
          t.Status.STOPPED}


class KrylovResult(NamedTuple):
    """How a solve ended (gsw_krylov_result)."""

    converged: bool    # the tolerance was met and the true residual agrees
    iterations: int
    residual: float    # true ||b - A x|| / ||b|| at the end (the norm itself if b = 0)
    recurrence: float  # the method's own last norm over its reference
    solve_ms: float    # wall time
    status: t.Status   # SUCCESS, NOT_CONVERGED, BREAKDOWN, NON_FINITE or STOPPED
    message: str       # what the library says of it; "" for SUCCESS


# What the functions below take by name.
_OPTIONS = ("M", "x", "rtol", "atol", "max_iterations", "norm", "monitor", "grid", "stencil",
            "threads", "context")


def _solve(function, A, b, M=None, x=None, *, rtol=1e-8, atol=0.0, max_iterations=10000, restart=30,
           norm="true", monitor=None, grid=None, stencil=None, threads=0, context=None):
    options = t.gsw_krylov_options(
        rtol=real("rtol", rtol, lambda v: v >= 0, "0 or more"),
        atol=real("atol", atol, lambda v: v >= 0, "0 or more"),
        max_iterations=integer("max_iterations", max_iterations, 1, 2**62),
        restart=integer("restart", restart, 1), norm=choice("norm", norm, t.NORMS))
    if options.rtol == 0 and options.atol == 0:
        raise ValueError("rtol, atol: one of the two must be above 0")
    if M is not None:
        if not isinstance(M, Factor):
            raise TypeError(f"M: must be a gridsweep.Factor, not {type(M).__name__}")
        if context not in (None, M.context) or threads:
            raise ValueError("context, threads: a solve with M runs in the context of M")
        if M.dtype != np.float64:
            raise ValueError("M: must have vector_type float64")
        M._address()
        context = M.context
        grid, stencil = grid or M.grid, stencil or M.stencil
    context = context_for(context, threads)
    matrix = Matrix(context, "A", A, grid, stencil)
    if M is not None and M.shape[0] != matrix.rows:
        raise ValueError(f"M: has {M.shape[0]} points; A has {matrix.rows} rows")
    given = source(context, "b", b, matrix.rows, np.float64)
    if len(given.shape) != 1:
        raise ValueError(f"b: has shape {given.shape}, must have ({matrix.rows},)")
    result_x = target(context, "x", x, given.shape, np.float64)
    if x is None:
        result_x.array[:] = 0
    elif given.overlaps(result_x):
        raise ValueError("x: overlaps b")

    raised = []

    def watch(user, iteration, residual):
        try:
            return bool(monitor(iteration, residual))
        except BaseException as error:  # goes on in the caller's frame
            raised.append(error)
            return 1

    if monitor is not None:
        options.monitor = t.MONITOR_FN(watch)
    report = t.gsw_krylov_result()
    with context._turn() as c:
        op, preconditioner = c_void_p(), c_void_p()
        try:
            context._check(library.gsw_operator_from_matrix(c, byref(matrix.struct), byref(op)))
            if M is not None:
                context._check(library.gsw_preconditioner_from_factor(c, M._address(),
                                                                      byref(preconditioner)))
            code = function(c, op, preconditioner, byref(options), given.address,
                            result_x.address, byref(report))
        finally:
            library.gsw_preconditioner_destroy(preconditioner)
            library.gsw_operator_destroy(op)
        status = status_of(code)
        if status not in _ENDED:
            context._check(code)
        message = context._message(status) if status else ""
    if raised:
        raise raised[0]
    return result_x.array, KrylovResult(bool(report.converged), report.iterations, report.residual,
                                        report.recurrence, report.solve_ms, status, message)


def cg(A, b, M=None, x=None, **options):
    """Solves A x = b with conjugate gradients in float64; gives (x, KrylovResult).

    A  as for ilu0(), symmetric and positive definite for cg
    b  shape (points,)
    M  Factor as the preconditioner, of vector_type float64, or None; the solve runs in its context
    x  array with the first guess, which is overwritten with the solution and returned: float64,
       contiguous, apart from b. None: a new one, from 0. With CUDA it must be given.

    Options, by keyword:
    rtol, atol      stop where the residual norm is at most max(rtol * reference, atol); 1e-8 and 0
    max_iterations  10000
    norm            "true": ||b - A x|| against ||b||; "preconditioned": ||M^-1 (b - A x)||
    monitor         function of (iteration, residual), which gives True to stop; it must not use the
                    context. What it raises is raised here.
    grid, stencil, threads, context  as for ilu0(); those of M where there is one

    An iteration that ends without convergence raises nothing: look at KrylovResult.converged. x is
    the last iterate then, which need not be the best one: a method may diverge, such as cg with a
    matrix that is not symmetric, and max_iterations is what bounds that.
    Errors: TypeError, ValueError, GridsweepError (NOT_A_GRID, UNSUPPORTED, OUT_OF_MEMORY, DEVICE).
    """
    known_options("cg", options, _OPTIONS)
    return _solve(library.gsw_cg, A, b, M, x, **options)


def bicgstab(A, b, M=None, x=None, **options):
    """Solves A x = b with BiCGSTAB for any regular A. As cg()."""
    known_options("bicgstab", options, _OPTIONS)
    return _solve(library.gsw_bicgstab, A, b, M, x, **options)


def gmres(A, b, M=None, x=None, *, restart=30, **options):
    """Solves A x = b with GMRES, restarted after `restart` steps, for any regular A. As cg()."""
    known_options("gmres", options, (*_OPTIONS, "restart"))
    return _solve(library.gsw_gmres, A, b, M, x, restart=restart, **options)
