"""pyamg: a factor of a regular level as its smoother.

    from gridsweep.adaptors.pyamg import use
    ml = use(pyamg.smoothed_aggregation_solver(A))
    x = ml.solve(b, accel="cg")
    print(ml.levels[0].presmoother.calls)
"""

from typing import Any

import numpy as np

import gridsweep
from gridsweep._errors import choice

KINDS = {"ssor": gridsweep.ssor, "ilu0": gridsweep.ilu0, "ic0": gridsweep.ic0,
         "dilu": gridsweep.dilu, "jacobi": gridsweep.jacobi}


class Smoother:
    """x += M^-1 (b - A x), `sweeps` times, in place. `calls` counts them."""

    def __init__(self, A: Any, kind: str = "ssor", sweeps: int = 1, **options: Any) -> None:
        self.factor, self.sweeps, self.calls = choice("kind", kind, KINDS)(A, **options), sweeps, 0

    def __call__(self, A: Any, x: Any, b: Any) -> None:
        self.calls += 1
        flat = x.reshape(-1)
        flat[:] = gridsweep.smooth(A, self.factor, np.ravel(b), flat.copy(), sweeps=self.sweeps)


def use(ml: Any, level: int = 0, kind: str = "ssor", sweeps: int = 1, **options: Any) -> Any:
    """Gives a level of a hierarchy of pyamg this smoother, before and after the coarse correction, and
    returns the hierarchy. Its matrix must be on a regular grid, as that of the finest level is. With
    the kind "ssor", "ic0" or "jacobi" a cycle stays symmetric for CG."""
    smoother = Smoother(ml.levels[level].A.tocsr(), kind, sweeps, **options)
    ml.levels[level].presmoother = ml.levels[level].postsmoother = smoother
    return ml
