"""CG with a matrix that is a function: fourth-order diffusion on a periodic grid.

    python3 matrix_free.py

No stencil of a grid contains periodic neighbours. So A is never stored; the program applies it by shifting the
field. The preconditioner is gridsweep's IC(0) of another matrix, which has a stencil: the second-order operator
without the periodic couplings.
"""

import numpy as np
import scipy.sparse as sp

import gridsweep

grid = gridsweep.Grid(48, 40, 32)
shift = 0.05                                    # keeps the periodic operator regular


def apply(x):
    """A x, in the order of the matrix: [z, y, x]."""
    u = x.reshape(grid.shape)                   # the library's own memory: do not write
    y = (7.5 + shift) * u
    for axis in range(3):
        y -= 4 / 3 * (np.roll(u, 1, axis) + np.roll(u, -1, axis))
        y += 1 / 12 * (np.roll(u, 2, axis) + np.roll(u, -2, axis))
    return y.reshape(-1)


def line(n):
    return sp.diags([-1.0, 2.0, -1.0], [-1, 0, 1], shape=(n, n))


near = sp.csr_matrix(sp.kronsum(sp.kronsum(line(grid.nx), line(grid.ny)), line(grid.nz))
                     + shift * sp.identity(grid.points))
b = np.random.RandomState(1).uniform(-1, 1, grid.points)

x, plain = gridsweep.cg(apply, b, rtol=1e-10)
with gridsweep.ic0(near, grid) as M:
    x, info = gridsweep.cg(apply, b, M=M, rtol=1e-10)
print(f"{plain.iterations} iterations, {info.iterations} with IC(0); "
      f"residual {info.residual:.1e}")
error = np.linalg.norm(b - apply(x)) / np.linalg.norm(b)
if info or error > 1e-9 or info.iterations >= plain.iterations:
    raise SystemExit(info.message or "the preconditioner does not help")
