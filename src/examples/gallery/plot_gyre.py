"""
An ocean gyre with islands
==========================

Wind drives the water of an ocean around. The stream function of Stommel's model obeys
``-r (psi_xx + psi_yy) - beta psi_x = -curl(wind) / density``. It is 0 at the coast and constant on each island.
These constants are unknown, but the forces around an island cancel. So the program solves three systems at once,
one for the wind and one for each island, and adds them up.
"""

import matplotlib.pyplot as plt
import numpy as np
import scipy.sparse as sp

import gridsweep

# %%
# An ocean of 5000 km x 3000 km. Land is what the mask leaves out.

nx, ny, h = 250, 150, 20e3                      # points, and their distance in m
r, beta = 2e-6, 2e-11                           # friction in 1/s, and change of the Coriolis force in 1/(m s)
j, i = np.indices((ny, nx))
islands = [np.hypot((i - 95) / 1.6, j - 92 + 0.2 * i - 19) < 11, np.hypot(i - 185, (j - 45) / 1.8) < 9]
coast = (i < 14 + 9 * np.sin(j / 17) + 4 * np.sin(j / 5)) | (i > 240 - 7 * np.sin(j / 23) - 3 * np.cos(j / 6))
coast |= (j > 142 + 4 * np.sin(i / 20)) | (j < 6 + 3 * np.sin(i / 12))
water = ~(coast | islands[0] | islands[1])

second = lambda n: sp.diags([-1.0, 2.0, -1.0], [-1, 0, 1], shape=(n, n))
first = lambda n: sp.diags([-1.0, 1.0], [-1, 1], shape=(n, n))
A = sp.csr_matrix(r / h**2 * sp.kronsum(second(nx), second(ny))
                  - beta / (2 * h) * sp.kron(sp.identity(ny), first(nx)))
b = 0.1 * np.pi / (ny * h) * np.sin(np.pi * j / ny).ravel() / 1000     # a wind of 0.1 N/m^2, westward at y = 0

# %%
# Column 0 of the right-hand sides is the wind with 0 on the islands. The others are an island of height 1.

ones = np.stack([island.ravel() * 1.0 for island in islands], axis=1)
psi, infos = gridsweep.solve(A, np.column_stack([b, -A @ ones]), active=water)
assert not infos, infos[0].message
psi[:, 1:] += ones

# %%
# The rows of an island, added up, are the balance of forces around it.

balance = ones.T @ (A @ psi)
heights = np.linalg.solve(balance[:, 1:], ones.T @ b - balance[:, 0])
stream = (psi @ [1, *heights]).reshape(ny, nx) / 1e6

figure, ax = plt.subplots(figsize=(9, 5.2), layout="constrained")
extent = (0, nx * h / 1e3, 0, ny * h / 1e3)
filled = ax.contourf(np.where(water, stream, np.nan), 20, extent=extent, cmap="cividis")
ax.contour(filled, colors="black", linewidths=0.5)
ax.set_facecolor("#d9c8a5")
for island, height in zip(islands, heights):
    ax.text(i[island].mean() * h / 1e3, j[island].mean() * h / 1e3, f"{height / 1e6:.1f}", ha="center", va="center")
ax.set(xlabel="x in km", ylabel="y in km",
       title=f"Transport between the coast and each line ({max(info.iterations for info in infos)} iterations)")
figure.colorbar(filled, label="million m³/s")
plt.show()
