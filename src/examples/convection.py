"""Implicit time steps of convection and diffusion of heat, with SciPy's GMRES and gridsweep's ILU(0).

    python3 convection.py

The program builds the matrix from its diagonals, as is usual on a grid. It finds grid and stencil once.
Only the values change in later steps, so these use the same grid and stencil.
"""

import numpy as np
import scipy.sparse as sp
import scipy.sparse.linalg as spla

import gridsweep

grid = gridsweep.Grid(60, 40, 20)


def along(n, wind):
    """Diffusion and upwind convection on one axis of n points."""
    return sp.diags([-1 - wind, 2 + wind, -1], [-1, 0, 1], shape=(n, n), dtype=float)


def step_matrix(dt, wind):
    """I + dt (convection and diffusion); x is the fastest axis, so it stands last."""
    x, y, z = along(grid.nx, wind), along(grid.ny, 0), along(grid.nz, 0)
    I = sp.identity
    A = (sp.kron(sp.kron(I(grid.nz), I(grid.ny)), x) + sp.kron(sp.kron(I(grid.nz), y), I(grid.nx))
         + sp.kron(sp.kron(z, I(grid.ny)), I(grid.nx)))
    return sp.csr_matrix(I(grid.points) + dt * A)


heat = np.zeros(grid.shape)          # a field [z, y, x] is a vector of the matrix as it lies
heat[8:12, 15:25, 5:15] = 1
u = heat.reshape(-1)

A = step_matrix(2.0, 1.0)
print(*gridsweep.detect(A))          # prints 60x40x20 Stencil('D3N7')
with gridsweep.ilu0(A, grid) as M:
    for step, wind in enumerate((1.0, 2.0, 4.0), start=1):
        A = step_matrix(2.0, wind)
        M.refactor(A)                # new values, nothing is allocated
        iterations = []
        u, failed = spla.gmres(A, u, M=M, restart=30, callback=iterations.append,
                               callback_type="pr_norm")
        print(f"step {step}: {len(iterations)} iterations, heat {u.sum():.2f}")
        if failed or not 0 < u.sum() < heat.sum():
            raise SystemExit("the solver failed")

# The same with the library's own GMRES, which does not return to Python in between.
x, info = gridsweep.gmres(A, u, M=gridsweep.ilu0(A, grid))
print(info.iterations, "iterations, residual", f"{info.residual:.1e}")
if info:
    raise SystemExit(info.message)
