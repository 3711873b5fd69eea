"""FiPy: a solver for its equations on regular meshes, also periodic ones.

    from gridsweep.adaptors.fipy import Solver
    solver = Solver()
    eq.solve(var=phi, dt=dt, solver=solver)
    print(solver.info.iterations)

FiPy must use its SciPy suite: FIPY_SOLVERS=scipy. A coupled equation of several variables has several
unknowns at a point, and is refused.
"""

from typing import Any

from fipy.solvers.scipy.scipySolver import ScipySolver

import gridsweep

from . import checked


class Solver(ScipySolver):
    """The options are those of gridsweep.solve(). `info` is the SolveResult of the last solve."""

    def __init__(self, tolerance: float = 1e-8, iterations: int = 10000, **options: Any) -> None:
        super().__init__(tolerance=tolerance, iterations=iterations, criterion="RHS", precon=None)
        self.options, self.info = options, None

    def _canSolveAsymmetric(self):
        return True

    def _solve_(self, L, x, b):
        grid = tuple(int(extent) for extent in self.var.mesh.shape)
        if len(b) != int(self.var.mesh.numberOfCells):
            raise ValueError("fipy: an equation of several variables has several unknowns at a point, "
                             "which gridsweep does not take")
        x, self.info = checked(gridsweep.solve(L, b, x0=x, grid=grid, rtol=self.tolerance,
                                               maxiter=self.iterations, **self.options))
        self._setConvergence(suite="scipy", code=0, iterations=self.info.iterations,
                             residual=self.info.residual)
        return x
