"""A singular matrix: pressure in a closed box, where only differences of pressure are known.

    python3 neumann.py

Nothing flows through the sides (pure Neumann conditions), so each row of the matrix adds up to 0. If x is a
solution, x plus a constant is one, too. With nullspace="constant" the solver leaves out the part of b that no
x can meet.
"""

import numpy as np
import scipy.sparse as sp

import gridsweep

grid = gridsweep.Grid(48, 40, 32)


def closed(n):
    """The second difference on n points with no flow through the ends."""
    diagonal = np.full(n, 2.0)
    diagonal[[0, -1]] = 1.0
    return sp.diags([-np.ones(n - 1), diagonal, -np.ones(n - 1)], [-1, 0, 1])


A = sp.csr_matrix(sp.kronsum(sp.kronsum(closed(grid.nx), closed(grid.ny)), closed(grid.nz)))
b = np.random.RandomState(1).standard_normal(grid.points)

x, info = gridsweep.solve(A, b, grid=grid, nullspace="constant")
if info:
    raise SystemExit(info.message)
solvable = b - b.mean()
residual = np.linalg.norm(solvable - A @ x) / np.linalg.norm(solvable)
print(f"{info.precond} with {info.method}: {info.iterations} iterations; residual {residual:.1e}; mean of x {x.mean():.0e}")
print(f"the part of b that was left out: {info.removed:.1e} of its norm")
if residual > 1e-7 or abs(x.mean()) > 1e-10:
    raise SystemExit("x is not the solution of mean 0")
