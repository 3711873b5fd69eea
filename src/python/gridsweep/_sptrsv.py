"""One triangular solve on the arrays of a matrix."""

from __future__ import annotations

from ctypes import byref
from typing import Any, Optional

import numpy as np

from . import _types as t
from ._arrays import Matrix, adopt, solve_into
from ._context import Context, context_for
from ._errors import choice
from ._grid import with_axes
from ._library import library
from ._options import GridLike, StencilLike


def sptrsv(A: Any, b: Any, lower: bool = True, unit_diagonal: bool = False, transpose: bool = False,
           out: Any = None, grid: Optional[GridLike] = None, *,
           stencil: Optional[StencilLike] = None, periodic: Optional[str] = None,
           active: Any = None, algorithm: str = "auto", threads: int = 0, context: Optional[Context] = None) -> Any:
    """Solves T x = b, where T is the lower or the upper part of A with its diagonal, and returns x.

    Use it for a matrix that is used once: it packs and keeps nothing. For repeated solves use
    triangular(), which is then several times faster.

    A              as for ilu0(); entries outside the part are skipped. For many calls with one A
                   give the grid and the stencil of detect(): finding them takes a pass over A.
    b              shape (points,) or (points, count). The arithmetic is in float32 if A and b are,
                   else in float64. b is used in place if it has that dtype and each right-hand side
                   is contiguous (order "F"), else copied.
    lower          False: T is the upper part
    unit_diagonal  True: the diagonal counts as 1, whatever is stored
    transpose      True: solves with T transposed
    out            array for x, as for Factor.solve(); out=b solves in place. It is returned.
    algorithm      "auto", "reference", "line" or "pencil", as in sptrsv.h
    active         a mask as for solve(): T is the part of the active points, and x is 0 at others
    grid, stencil, periodic, threads, context  as for ilu0()

    The solve divides by a zero diagonal as IEEE arithmetic does.
    Errors: TypeError, ValueError, GridsweepError (NOT_A_GRID with the row, UNSUPPORTED,
    OUT_OF_MEMORY; with CUDA also DEVICE, TIMEOUT).
    """
    number = choice("algorithm", algorithm, t.ALGORITHMS)
    context = context_for(context, threads)
    matrix = Matrix(context, "A", A, with_axes(grid, periodic), stencil, active)
    dtype, b = "float64", adopt(context, "b", b)
    if matrix.value_type == "float32" and getattr(b, "dtype", None) == np.float32:
        dtype = "float32"
    options = t.gsw_sptrsv_options(
        part=t.LOWER if lower else t.UPPER, transpose=bool(transpose),
        unit_diagonal=bool(unit_diagonal), vector_type=t.DTYPES[dtype], algorithm=number)

    def solve(count: int, b_at: int, ldb: int, x_at: int, ldx: int) -> None:
        with context._turn() as c:
            context._check(library.gsw_sptrsv(c, byref(matrix.struct), byref(options), count, b_at,
                                              ldb, x_at, ldx), "A")

    return solve_into(context, b, out, matrix.rows, np.dtype(dtype), solve)
