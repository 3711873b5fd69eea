"""Stationary iterations with a factor, as smoothers of multigrid methods."""

from __future__ import annotations

from ctypes import byref
from typing import Any

import numpy as np

from ._arrays import source, target
from ._errors import integer
from ._factor import Factor
from ._library import library


def smooth(A: Any, M: Factor, b: Any, x: Any = None, *, sweeps: int = 1, zero_guess: bool = False,
           work: Any = None, active: Any = None) -> Any:
    """Does `sweeps` steps x = x + M^-1 (b - A x), exactly in natural order, and returns x.

    Use it as the smoother of a multigrid method of your own. multigrid() has its own smoothers, and
    richardson() iterates until a tolerance is met.

    A           as for ilu0(), on the grid and the stencil of M; read again in every step
    M           Factor of A, of vector_type float64. Its kind chooses the smoother: ssor() with omega
                1 is symmetric Gauss-Seidel, triangular() is Gauss-Seidel upwards or downwards,
                jacobi() is Jacobi. Other kinds iterate with their factorisation.
    b           shape (points,), float64. It is used in place if it is contiguous, else copied.
    x           array with the guess, which is overwritten and returned: float64, contiguous, not
                overlapping b. None: a new array that begins with 0. With CUDA it must be given.
    sweeps      0 or more
    zero_guess  True: x counts as 0 and is not read, so the first step is a solve alone
    work        scratch: float64 array of shape (points,), not overlapping b or x. None: a new
                array. With CUDA it must be given.
    active      a mask as for solve(); None: that of M. x becomes 0 at inactive points

    With CUDA the steps are queued on the stream of M's context.
    Errors: TypeError, ValueError, GridsweepError (NOT_A_GRID; INVALID_ARGUMENT after a failed
    refactor or for a transposed factor; with CUDA also DEVICE, TIMEOUT).
    """
    if not isinstance(M, Factor):
        raise TypeError(f"M: must be a gridsweep.Factor, not {type(M).__name__}")
    if M.dtype != np.float64:
        raise ValueError("M: must have vector_type float64")
    M._address()
    sweeps = integer("sweeps", sweeps, 0)
    context, shape = M.context, (M.shape[0],)
    matrix = M._new_values(A, active)
    given = source(context, "b", b, M.shape[0], np.float64)
    if len(given.shape) != 1:
        raise ValueError(f"b: has shape {given.shape}, must have {shape}")
    result = target(context, "x", x, shape, np.float64)
    between = target(context, "work", work, shape, np.float64)
    for name, one, other in (("x", result, given), ("work", between, given),
                             ("work", between, result)):
        if one.overlaps(other):
            raise ValueError(f"{name}: overlaps {'b' if other is given else 'x'}")
    with context._turn() as c:
        context._check(library.gsw_smooth(c, byref(matrix.struct), M._address(), sweeps,
                                          bool(zero_guess) or x is None, given.address,
                                          result.address, between.address))
    return result.array
