"""SimPEG: a solver for simulations on a TensorMesh.

    from gridsweep.adaptors.simpeg import Solver
    simulation = dc.Simulation3DNodal(mesh, survey=survey, sigma=sigma, solver=Solver)
    data = simulation.dpred()
    print(simulation.Ainv.info.iterations)

The matrix must be real and have a row for each cell or node. A TreeMesh is no regular grid, and is
refused.
"""

from typing import Any

import numpy as np
from pymatsolver.solvers import Base

import gridsweep

from . import checked

_OF_BASE = ("is_symmetric", "is_positive_definite", "is_hermitian", "check_accuracy", "check_rtol", "check_atol")


class Solver(Base):
    """The options, `solver_opts` of a simulation, are those of gridsweep.Solver(). `info` is the
    SolveResult of the last solve; of several right-hand sides, that with the most iterations."""

    def __init__(self, A: Any, **options: Any) -> None:
        super().__init__(A, **{key: options.pop(key) for key in _OF_BASE if key in options})
        self.options, self.info, self.solver = options, None, gridsweep.Solver(A, **options)

    def get_attributes(self):
        return {**super().get_attributes(), **self.options}

    def _solve_single(self, rhs):
        x, self.info = checked(self.solver.solve(rhs))
        return x

    def _solve_multiple(self, rhs):
        x, infos = checked(self.solver.solve(np.asfortranarray(rhs)))
        self.info = max(infos, key=lambda info: info.iterations)
        return x
