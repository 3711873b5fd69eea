"""PhiFlow: linear solves on uniform grids, with the NumPy backend.

    from gridsweep.adaptors import phiflow
    with math.SolveTape() as tape:
        velocity, pressure = fluid.make_incompressible(velocity, obstacles, phiflow.Solve())
    print(tape[0].iterations)

Write phiflow.Solve: `from phi.flow import *` brings a Solve of PhiFlow's own. A function that is solved
for must become a matrix: PhiFlow's do, yours with math.jit_compile_linear. Other backends do not know
the method, and refuse it.
"""

from typing import Any

import numpy as np
from phi import math
from phiml.backend import NUMPY
from phiml.backend._backend import SolveResult

import gridsweep

from . import checked


def Solve(rel_tol: Any = None, abs_tol: Any = None, **options: Any) -> Any:
    """PhiFlow's Solve with gridsweep as its method. Constants that a matrix maps to 0 need no
    additional row: gridsweep finds them."""
    return math.Solve("gridsweep", rel_tol, abs_tol, **{"rank_deficiency": 0, **options})


def _solve(lin, y, x0, rtol, atol, max_iter, preconditioner):
    if preconditioner is not None or len(max_iter) > 1:
        raise ValueError("phiflow: gridsweep takes no preconditioner of PhiFlow's and records no trajectory")
    matrices = lin if isinstance(lin, (tuple, list)) else [lin] * len(y)
    xs, infos = zip(*(checked(gridsweep.solve(A, y[i], x0=x0[i], rtol=float(rtol[i]), atol=float(atol[i]),
                                              maxiter=int(max_iter[0, i])))
                      for i, A in enumerate(matrices)))
    residual = np.stack([A @ x - b for A, x, b in zip(matrices, xs, y)])
    iterations, well = np.array([info.iterations for info in infos], np.int32), np.ones(len(y), bool)
    return SolveResult("gridsweep", np.stack(xs), residual, iterations, iterations, well, ~well,
                       [info.reason for info in infos])


def _linear_solve(method, lin, y, x0, rtol, atol, max_iter, pre, matrix_offset, own=NUMPY.linear_solve):
    if method == "gridsweep":
        return _solve(lin, y, x0, rtol, atol, max_iter, pre)
    return own(method, lin, y, x0, rtol, atol, max_iter, pre, matrix_offset)


NUMPY.linear_solve = _linear_solve
