"""OpenPNM: a solver for transport in cubic networks, also with boundary pores or without some pores.

    from gridsweep.adaptors.openpnm import Solver
    solver = Solver(network)
    algorithm.run(solver=solver)
    print(solver.info.iterations)

A network whose pores are not on the points of a regular grid is refused.
"""

from typing import Any

from openpnm.solvers import BaseSolver

import gridsweep

from . import checked


class Solver(BaseSolver):
    """The options are those of gridsweep.solve(). `info` is the SolveResult of the last solve."""

    def __init__(self, network: Any, **options: Any) -> None:
        self.network, self.options, self.info = network, options, None

    def solve(self, A: Any, b: Any, x0: Any = None) -> Any:
        x, self.info = checked(gridsweep.solve(A, b, x0=x0, coordinates=self.network.coords, **self.options))
        return x, 0
