"""Stationary iterations with a factor, for smoothers of multigrid methods."""

from __future__ import annotations

from ctypes import byref
from typing import Any

import numpy as np

from . import _types as t
from ._arrays import Matrix, source, target
from ._errors import integer
from ._factor import Factor
from ._library import library


def smooth(A: Any, M: Factor, b: Any, x: Any = None, *, sweeps: int = 1, zero_guess: bool = False,
           work: Any = None) -> Any:
    """`sweeps` times x = x + M^-1 (b - A x), exactly in natural order; gives x.

    A           as for ilu0(), on the grid and the stencil of M; read again in every sweep
    M           Factor made of A, of vector_type float64. Its kind says what is done: ssor() with
                omega 1 is symmetric Gauss-Seidel, triangular() Gauss-Seidel upwards or downwards,
                jacobi() Jacobi, the others the iteration with that factorisation.
    b           shape (points,); float64. Used where it lies if it is contiguous, else copied.
    x           array with the guess, which is overwritten and returned: float64, contiguous, apart
                from b. None: a new one, from 0. With CUDA it must be given.
    sweeps      0 or more
    zero_guess  True: x counts as 0 and is not read, so the first sweep is a solve alone
    work        float64 array of shape (points,) that the iteration may use, apart from b and x.
                None: a new one. With CUDA it must be given.

    With CUDA the sweeps are queued on the stream of M's context. Errors: TypeError, ValueError,
    GridsweepError (NOT_A_GRID; INVALID_ARGUMENT after a failed refactor or for a transposed factor;
    with CUDA also DEVICE, TIMEOUT).
    """
    if not isinstance(M, Factor):
        raise TypeError(f"M: must be a gridsweep.Factor, not {type(M).__name__}")
    if M.dtype != np.float64:
        raise ValueError("M: must have vector_type float64")
    M._address()
    sweeps = integer("sweeps", sweeps, 0)
    context, shape = M.context, (M.shape[0],)
    matrix = Matrix(context, "A", A, M.grid, M.stencil)
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
