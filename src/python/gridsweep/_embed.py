"""Matrices with rows for the active points alone, or in another order, as ones of all points."""

from __future__ import annotations

from typing import Any, NamedTuple, Optional

import numpy as np

from ._arrays import Matrix
from ._context import Context
from ._grid import Grid, Stencil
from ._options import GridLike
from ._words import explained


@explained
class Embedding(NamedTuple):
    """A matrix on the whole grid, and the way to it and back: what embed() returns."""

    matrix: Any       # SciPy CSR over all points; rows of inactive points are those of the identity
    active: Any       # its mask, of bool, in the shape of the grid: False where there was no row
    grid: Grid        # of the matrix
    stencil: Stencil  # of the matrix
    points: Any       # the point of each row, counted from 0

    def spread(self, b: Any) -> Any:
        """A vector of all points from one of the rows, of shape (rows,) or (rows, count). It is 0 at
        inactive points."""
        b = self._take("b", b, len(self.points))
        out = np.zeros((self.grid.points, *b.shape[1:]), b.dtype, order="F")
        out[self.points] = b
        return out

    def collect(self, x: Any) -> Any:
        """The values at the rows, of a vector of all points: the reverse of spread()."""
        return np.asfortranarray(self._take("x", x, self.grid.points)[self.points])

    @staticmethod
    def _take(name: str, vector: Any, length: int) -> Any:
        vector = np.asarray(vector)
        if vector.ndim not in (1, 2) or len(vector) != length:
            raise ValueError(f"{name}: has shape {vector.shape}, must have ({length},) or ({length}, "
                             "count)")
        return vector


def embed(A: Any, active: Any = None, grid: Optional[GridLike] = None, *,
          coordinates: Any = None) -> Embedding:
    """Makes a matrix of all points of a grid from one that has rows for its active points alone, or
    whose rows are in another order. solve() and Solver do that by themselves. Use embed() for all
    else: factors, multigrid(), cg() and so on.

        e = embed(A, active)
        x, info = cg(e.matrix, e.spread(b), M=ic0(e.matrix, active=e.active))
        x = e.collect(x)

    A            sparse matrix of SciPy, rows x rows
    active       a mask of shape (nz, ny, nx), or (ny, nx), with as many active points as A has rows;
                 these are in natural order. With `grid` also of shape (points,)
    coordinates  in place of a mask; as for solve()

    Returns an Embedding. It is made of copies, on the host, and needs SciPy.
    Errors: TypeError, ValueError, GridsweepError (NOT_A_GRID with the row).
    """
    from scipy import sparse
    if active is None and coordinates is None:
        raise ValueError("active, coordinates: give one of the two")
    with Context(threads=1) as context:
        found = Matrix(context, "A", A, grid, None, active, True, coordinates)
        if found.map is None and not np.all(active):
            raise ValueError(f"A: has rows for all {found.rows} points already")
        points = found.map.points() if found.map else np.arange(found.rows)
    csr = sparse.csr_matrix(A)
    mask = np.zeros(found.grid.points, bool)
    mask[points] = True
    rest, rows = np.flatnonzero(~mask), np.repeat(points, np.diff(csr.indptr))
    matrix = sparse.csr_matrix(
        (np.concatenate([csr.data, np.ones(len(rest), csr.dtype)]),
         (np.concatenate([rows, rest]), np.concatenate([points[csr.indices], rest]))),
        shape=2 * (len(mask),))
    shape = np.shape(active) if active is not None else found.grid.shape[found.grid.nz == 1:]
    return Embedding(matrix, mask.reshape(shape), found.grid, found.stencil, points)
