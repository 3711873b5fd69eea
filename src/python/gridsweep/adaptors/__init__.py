"""gridsweep inside other packages: one small module for each.

    adaptors.fipy.Solver                     eq.solve(var=phi, solver=Solver())
    adaptors.pde.solve_poisson_equation      in place of py-pde's
    adaptors.skimage.random_walker           in place of scikit-image's
    adaptors.pyamg.use(ml)                   factors as the smoother of one of pyamg's levels
    adaptors.landlab.TidalFlowCalculator     in place of landlab's
    adaptors.landlab.solve                   a system of the core nodes of a raster grid
    adaptors.simpeg.Solver                   simulation(mesh, ..., solver=Solver)
    adaptors.phiflow.Solve                   in place of PhiFlow's
    adaptors.openpnm.Solver                  algorithm.run(solver=Solver(network))
    adaptors.groundwater.model               the matrix of a model grid with idomain

None of them falls back to the package's own solver: what does not converge raises NotConverged, whose
`info` says why. `last` of each module's function, or `info` of its solver, has the iterations.
"""


from typing import Any, Tuple


class NotConverged(RuntimeError):
    """A solve ended without convergence: `info` has the results."""

    info: Any

    def __init__(self, info: Any) -> None:
        super().__init__(info.message)
        self.info = info


def checked(solution: Tuple[Any, Any]) -> Tuple[Any, Any]:
    """x and info of a solve that converged; for several right-hand sides info is that of the first
    one that did not."""
    x, info = solution
    if info:
        raise NotConverged(next(one for one in info if one) if isinstance(info, list) else info)
    return x, info
