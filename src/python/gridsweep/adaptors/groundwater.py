"""Groundwater models: the matrix of a model grid, with the conductances of MODFLOW's block-centred flow.

    from gridsweep.adaptors.groundwater import model
    m = model(k, delr, delc, thickness, idomain=idomain, kv=k / 10, fixed=fixed)
    head, info = m.solve(recharge, heads)
"""

from __future__ import annotations

from typing import Any, NamedTuple, Tuple

import numpy as np

import gridsweep

from . import checked


def _conductances(axis, k, along, across):
    """Between each cell and the next one along an axis: two half cells in series. `along`: their
    lengths; `across`: the areas between them, times conductivities."""
    def ends(values):
        values = np.moveaxis(np.broadcast_to(values, k.shape), axis, 0)
        return values[:-1], values[1:]
    (k1, k2), (l1, l2), (a1, a2) = ends(k), ends(along), ends(across)
    halves = l1 / 2 * k2 * a2 + l2 / 2 * k1 * a1
    with np.errstate(divide="ignore", invalid="ignore"):
        c = np.where(halves > 0, k1 * a1 * k2 * a2 / halves, 0)
    return np.moveaxis(c, 0, axis)


class Model(NamedTuple):
    """matrix: -div(conductance grad head) as a CSR with a row for each cell of the grid; active: the
    cells that take part; fixed: those with given heads, whose rows are those of the identity."""

    matrix: Any
    active: Any
    fixed: Any

    def solve(self, sources: Any, heads: Any = 0.0, **options: Any) -> Tuple[Any, gridsweep.SolveResult]:
        """The heads and the SolveResult. sources: inflow of each cell, volume per time; heads: those
        of the fixed cells, and the guess. Both have the shape of the grid, or broadcast to it."""
        shape = self.active.shape
        heads = np.array(np.broadcast_to(heads, shape), dtype=np.float64)
        b = np.where(self.fixed, heads, np.broadcast_to(sources, shape))
        return checked(gridsweep.solve(self.matrix, b, x0=heads, active=self.active, **options))


def model(k: Any, delr: Any, delc: Any, thickness: Any, *, idomain: Any = None, kv: Any = None,
          fixed: Any = None) -> Model:
    """A Model from arrays of shape (layers, rows, columns).

    k          horizontal conductivities; kv: vertical ones, None: the same
    delr       widths of the columns; delc: of the rows
    thickness  of the cells
    idomain    cells with 0 or less take no part; None: all do. (A cell of -1, through which water
               passes between the layers beside it, counts as 0.)
    fixed      True where the head is given; None: nowhere
    """
    from scipy import sparse
    k, thickness = np.broadcast_arrays(np.asarray(k, dtype=np.float64), thickness)
    if k.ndim != 3:
        raise ValueError(f"k: has shape {k.shape}, must have (layers, rows, columns)")
    delr = np.broadcast_to(np.asarray(delr, dtype=np.float64), k.shape[2])[None, None, :]
    delc = np.broadcast_to(np.asarray(delc, dtype=np.float64), k.shape[1])[None, :, None]
    vertical = k if kv is None else np.broadcast_to(np.asarray(kv, dtype=np.float64), k.shape)
    active = np.ones(k.shape, bool) if idomain is None else np.asarray(idomain) > 0
    if active.shape != k.shape:
        raise ValueError(f"idomain: has shape {active.shape}, must have {k.shape}")
    fixed = np.zeros(k.shape, bool) if fixed is None else np.asarray(fixed, dtype=bool) & active
    number, rows, columns, values = np.arange(k.size).reshape(k.shape), [], [], []
    diagonal = np.where(fixed | ~active, 1.0, 0.0)
    for axis, cells, along, across in ((2, k, delr, delc * thickness), (1, k, delc, delr * thickness),
                                       (0, vertical, thickness, delr * delc)):
        low = (slice(None),) * axis + (slice(None, -1),)
        high = (slice(None),) * axis + (slice(1, None),)
        c = np.where(active[low] & active[high], _conductances(axis, cells, along, across), 0)
        for own, other in ((low, high), (high, low)):
            into = np.where(fixed[own], 0, c)
            diagonal[own] += into
            rows.append(number[own].ravel())
            columns.append(number[other].ravel())
            values.append(-into.ravel())
    rows, columns, values = (np.concatenate(part) for part in (
        rows + [number.ravel()], columns + [number.ravel()], values + [diagonal.ravel()]))
    matrix = sparse.csr_matrix((values, (rows, columns)), shape=(k.size, k.size))
    return Model(matrix, active, fixed)
