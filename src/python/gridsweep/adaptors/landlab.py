"""landlab: systems of the core nodes of a raster grid, and the component that solves one.

    from gridsweep.adaptors.landlab import TidalFlowCalculator, solve
    calculator = TidalFlowCalculator(grid, tidal_range=2.0)   # in place of landlab's
    calculator.run_one_step()
    matrix, rhs = get_core_node_matrix(grid, values)          # your own system
    values[grid.core_nodes] = solve(grid, matrix, rhs)
    print(solve.last.iterations)
"""

import threading
from typing import Any

import numpy as np
from landlab import RasterModelGrid
from landlab.components.tidal_flow import tidal_flow_calculator as package

import gridsweep

from . import checked

_turn = threading.Lock()


def solve(grid: Any, matrix: Any, rhs: Any, **options: Any) -> Any:
    """x at the core nodes. matrix, rhs: those of landlab.utils.get_core_node_matrix(), or others with
    a row for each core node. The options are those of gridsweep.solve()."""
    if not isinstance(grid, RasterModelGrid):
        raise TypeError(f"grid: is a {type(grid).__name__}, must be a RasterModelGrid")
    core = (grid.status_at_node == grid.BC_NODE_IS_CORE).reshape(grid.shape)
    x, solve.last = checked(gridsweep.solve(matrix, np.ravel(rhs), active=core, **options))
    return x


solve.last = None


class TidalFlowCalculator(package.TidalFlowCalculator):
    def run_one_step(self) -> None:
        with _turn:
            own = package.spsolve
            try:
                package.spsolve = lambda matrix, rhs: solve(self.grid, matrix, rhs)
                super().run_one_step()
            finally:
                package.spsolve = own
