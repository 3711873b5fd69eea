"""
Heat in a chip
==============

A chip of silicon has two cores. One works all the time, the other one half of the time. How warm do they get?

The heat equation in three dimensions takes an implicit time step of 5 ms. Its matrix stays the same, so one
:class:`gridsweep.Solver` serves all steps. Each step begins with the last temperatures.
"""

import matplotlib.pyplot as plt
import numpy as np
import scipy.sparse as sp

import gridsweep

# %%
# The chip: 12 mm x 12 mm x 0.6 mm. Heat flows from cell to cell, and through the bottom into a cooler.

nx, ny, nz = 64, 64, 12
dx, dz, dt = 12e-3 / nx, 0.6e-3 / nz, 5e-3             # m, m, s
conductivity, capacity, cooler = 120.0, 1.66e6, 2e4    # W/(m K), J/(m^3 K), W/(m^2 K)
gradient = lambda n: sp.diags([-1.0, 1.0], [0, 1], shape=(n - 1, n))
line = lambda n: gradient(n).T @ gradient(n)           # no flow through the ends
flow = sp.kronsum(sp.kronsum(line(nx), line(ny)) * conductivity * dz, line(nz) * conductivity * dx**2 / dz)
bottom = np.zeros((nz, ny, nx))
bottom[0] = cooler * dx**2                             # W/K of each cell
heat = capacity * dx**2 * dz / dt
A = sp.csr_matrix(flow + sp.diags(bottom.ravel() + heat))

# %%
# The cores lie at the top. The second one starts again every 0.2 s.

steady, pulsed = np.zeros((2, nz, ny, nx))
steady[-1, 10:24, 10:24] = pulsed[-1, 38:52, 34:48] = 1 / 14**2
T, times, warmth = np.zeros((nz, ny, nx)), dt * np.arange(1, 100), []
with gridsweep.Solver(A, grid=(nx, ny, nz)) as solver:
    for time in times:
        power = 15 * steady + (30 * pulsed if time % 0.2 < 0.1 else 0)      # W
        T, info = solver.solve(power + heat * T, x0=T)
        warmth.append((T[-1, 17, 17], T[-1, 45, 41], info.iterations))

# %%
# The map shows the top at the end, the curves the middle of each core. The cooler has 40 degrees.

figure, (top, curves) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
extent = (0, nx * dx * 1e3, 0, ny * dx * 1e3)
image = top.imshow(40 + T[-1], origin="lower", extent=extent, cmap="inferno")
top.contour(40 + T[-1], 8, extent=extent, colors="white", linewidths=0.6)
top.set(xlabel="x in mm", ylabel="y in mm", title=f"The top after {times[-1]:.1f} s")
figure.colorbar(image, ax=top, label="temperature in °C")
for core, (name, color) in enumerate((("15 W", "#0072b2"), ("30 W, half of the time", "#d55e00"))):
    curves.plot(times, [40 + row[core] for row in warmth], color=color, label=name)
curves.set(xlabel="time in s", ylabel="temperature in °C", ylim=(40, 140),
           title=f"{max(row[2] for row in warmth)} iterations per step at most")
curves.legend(loc="upper right")
plt.show()
