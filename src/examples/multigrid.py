"""CG with multigrid: steady flow through rock whose permeability varies by orders of magnitude.

    python3 multigrid.py

With IC(0) the number of iterations grows with the grid; with multigrid it hardly does. The program creates the
hierarchy once. Then the hierarchy takes the values of a second rock on the same grid.
"""

import numpy as np
import scipy.sparse as sp
import scipy.sparse.linalg as spla

import gridsweep

grid = gridsweep.Grid(40, 36, 24)


def flow(k):
    """-div(k grad p) for k[z, y, x]: p = 0 below and above, no flow through the other sides."""
    diagonal, bands, offsets = np.zeros(grid.shape), [], []
    for axis, stride in ((2, 1), (1, grid.nx), (0, grid.nx * grid.ny)):
        here, after = np.delete(k, -1, axis), np.delete(k, 0, axis)
        between = 2 * here * after / (here + after)
        ahead = np.pad(between, [(0, int(a == axis)) for a in range(3)])  # 0 where no point follows
        behind = np.pad(between, [(int(a == axis), 0) for a in range(3)])
        diagonal += ahead + behind
        bands += 2 * [-ahead.ravel()[:-stride]]
        offsets += [stride, -stride]
    diagonal[0] += k[0]
    diagonal[-1] += k[-1]
    return sp.diags([diagonal.ravel()] + bands, [0] + offsets, format="csr")


random = np.random.RandomState(1)
A = flow(np.exp(2 * random.standard_normal(grid.shape)))
b = np.ones(grid.points)

x, plain = gridsweep.cg(A, b, M=gridsweep.ic0(A, grid))
with gridsweep.multigrid(A, grid, cycle_type="float32") as M:
    print(M.info)
    x, info = gridsweep.cg(A, b, M=M)
    print(f"{plain.iterations} iterations with IC(0), {info.iterations} with multigrid; "
          f"residual {info.residual:.1e}")

    B = flow(np.exp(2 * random.standard_normal(grid.shape)))
    M.refactor(B)                        # new values, the same grids
    iterations = []
    x, failed = spla.cg(B, b, M=M, callback=iterations.append)
    error = np.linalg.norm(b - B @ x) / np.linalg.norm(b)
    print(f"new values: {len(iterations)} iterations of SciPy's cg; residual {error:.1e}")
if info or failed or 3 * info.iterations > plain.iterations:
    raise SystemExit(info.message or "multigrid does not help")
