"""Matrices whose coefficients do not change from point to point."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._grid import Grid, Stencil, grid_argument, stencil_argument
from ._options import GridLike, StencilLike


class Constants:
    """A matrix of constant coefficients: one number for each offset of the stencil, or one for each
    offset and plane (a grid stretched along z). Give it as A wherever a sparse matrix is taken. It
    needs next to no memory, and sweeps, products and the preconditioners ssor and triangular read
    no coefficients.

    grid     Grid or (nx, ny, nz)
    stencil  Stencil, a name or offsets
    values   shape (offsets,) or (offsets, nz), in the order of stencil.offsets: (dz, dy, dx) ascend
    dtype    "float64" or "float32": how the numbers are stored
    shape    (points, points)

    Couplings that leave the grid count as none.
    Errors: TypeError, ValueError.
    """

    def __init__(self, grid: GridLike, stencil: StencilLike, values: Any,
                 dtype: Any = "float64") -> None:
        if grid is None or stencil is None:
            raise TypeError("grid, stencil: must be given")
        self.grid: Grid = grid_argument(grid)
        self.stencil: Stencil = stencil_argument(stencil)
        self.dtype = np.dtype(dtype)
        self.shape = (self.grid.points, self.grid.points)
        self.values = np.ascontiguousarray(values, dtype=np.float64)
        if self.dtype not in (np.float64, np.float32):
            raise TypeError(f"dtype: {self.dtype}; must be float64 or float32")
        if self.values.shape not in ((len(self.stencil),), (len(self.stencil), self.grid.nz)):
            raise ValueError(f"values: has shape {self.values.shape}, must have "
                             f"({len(self.stencil)},) or ({len(self.stencil)}, {self.grid.nz})")

    @property
    def planes(self) -> int:
        """1, or nz where each plane has its own numbers."""
        return self.values.size // len(self.stencil)

    def __repr__(self) -> str:
        return f"Constants({self.grid}, {self.stencil!r})"
