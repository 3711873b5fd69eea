"""Implicit time steps of convection and diffusion of heat: one solver that takes new values in each step.

    python3 convection.py

The program builds the matrix from its diagonals, as is usual on a grid. The library chooses the preconditioner and
the method once. Only the values change in later steps. SciPy's GMRES with gridsweep's ILU(0) repeats the last step.
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

with gridsweep.Solver(step_matrix(2.0, 1.0), grid) as solver:
    print(solver, solver.reason)
    for step, wind in enumerate((1.0, 2.0, 4.0), start=1):
        A, before = step_matrix(2.0, wind), u
        solver.update(A)             # new values, the same choice
        u, info = solver.solve(before, x0=before)
        print(f"step {step}: {info.iterations} iterations, heat {u.sum():.2f}")
        if info or not 0 < u.sum() < heat.sum():
            raise SystemExit(info.message or "heat came from nowhere")

# A preconditioner of your choice for SciPy's solvers. refactor() gives it new values.
iterations = []
x, failed = spla.gmres(A, before, M=gridsweep.ilu0(A, grid), restart=30, callback=iterations.append,
                       callback_type="pr_norm")
print(f"SciPy's GMRES with ILU(0): {len(iterations)} iterations")
if failed or np.linalg.norm(x - u) > 1e-4 * np.linalg.norm(u):
    raise SystemExit("the two solutions differ")
