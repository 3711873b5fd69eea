"""
512 x 512 x 512 on a GPU
========================

Electric charges lie in an earthed box. The potential between them obeys Poisson's equation in three dimensions: 134
million unknowns on a GPU, with CuPy. Without a GPU the program solves 96 x 96 x 96 on the CPU.

All rows of the matrix are alike. So :class:`gridsweep.Constants` holds it as seven numbers.
"""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import SymLogNorm

import gridsweep

try:
    import cupy as xp
    context, n = gridsweep.Context("cuda", stream=xp.cuda.get_current_stream().ptr), 512
except (ImportError, RuntimeError):
    xp, context, n = np, gridsweep.Context("cpu"), 96

# %%
# The matrix: minus the second differences along the three axes, with the potential 0 around the box.

grid = gridsweep.Grid(n, n, n)
stencil = gridsweep.Stencil("D3N7")
A = gridsweep.Constants(grid, stencil, [6.0 if offset == (0, 0, 0) else -1.0 for offset in stencil.offsets])

# %%
# 40 charges of 1 nC in a box of 1 m. The right-hand side is charge / (epsilon_0 h).

h, random = 1 / (n + 1), np.random.default_rng(4)
place = random.uniform(0.15, 0.85, (40, 3))
place[:8, 0] = 0.5                                      # eight of them lie in the plane that is shown
z, y, x = (place * n).astype(int).T
charge = np.where(np.arange(40) % 2, -1e-9, 1e-9)
b = np.zeros(grid.points)
b[(z * n + y) * n + x] = charge / (8.854e-12 * h)
b = xp.asarray(b)

# %%
# One solve. ``info.plot()`` draws how it went.

potential, info = gridsweep.solve(A, b, out=xp.empty_like(b), context=context)
plane = potential.reshape(n, n, n)[n // 2]
plane = plane if xp is np else plane.get()

figure, (picture, curve) = plt.subplots(1, 2, figsize=(10.5, 4.6), width_ratios=(1.6, 1), layout="constrained")
levels = np.r_[-400, -200, -100, -50, -25, -12, 0, 12, 25, 50, 100, 200, 400]
image = picture.contourf(plane, levels, extent=(0, 1, 0, 1), cmap="PuOr_r", norm=SymLogNorm(12), extend="both")
picture.set(xlabel="x in m", ylabel="y in m", aspect="equal", title="The middle of the box")
figure.colorbar(image, label="potential in V", ticks=levels)
info.plot(curve).grid(alpha=0.4)
where = "the CPU, as there is no GPU here" if xp is np else "a GPU"
figure.suptitle(f"{n}³ points on {where}: {info.iterations} iterations in {info.solve_ms / 1000:.2f} s")
plt.show()
