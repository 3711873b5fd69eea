"""
The pressure of a channel flow
==============================

Air flows through a channel past a street of eddies. What pressure do they have? The divergence of the equation
of motion is a Poisson equation for the pressure, with no slope at the walls.

The channel is periodic in x: ``periodic="x"``. Only differences of pressure count, so the matrix is singular.
The solver finds that by itself, and gives the pressure of mean 0.
"""

import matplotlib.pyplot as plt
import numpy as np
import scipy.sparse as sp

import gridsweep

# %%
# The velocity at the sides of 400 x 100 cells, from a stream function. It has no divergence.

nx, ny, h, density = 400, 100, 1e-3, 1.2               # cells, m, kg/m^3
y, x = np.indices((ny + 1, nx)) * h
across = 1 - (2 * y / (ny * h) - 1) ** 2               # 0 at the walls
psi = 2 * y                                            # 2 m/s along the channel
for number in range(8):                                # eddies turn in both senses
    far = (x - (number + 0.5) * 0.05 + 0.2) % 0.4 - 0.2
    height, sense = (0.064, 1) if number % 2 else (0.036, -1)
    psi += sense * 0.03 * across**2 * np.exp(-(far**2 + (y - height) ** 2) / 0.011**2)
u = np.diff(psi, axis=0) / h                           # at the left side of each cell
v = -(np.roll(psi, -1, axis=1) - psi) / h              # at the lower side

# %%
# The acceleration (velocity . grad) velocity at the same places, and its divergence.

slopes = lambda f: ((np.roll(f, -1, axis=1) - np.roll(f, 1, axis=1)) / (2 * h), np.gradient(f, h, axis=0))
means = lambda f, shift: (f[:-1] + f[1:] + np.roll(f, shift, axis=1)[:-1] + np.roll(f, shift, axis=1)[1:]) / 4
v_at_u, u_at_v = means(v, 1), np.pad(means(u, -1), ((1, 1), (0, 0)), "edge")
along, up = (a * s[0] + c * s[1] for a, c, s in ((u, v_at_u, slopes(u)), (u_at_v, v, slopes(v))))
up[[0, -1]] = 0                                        # no flow through the walls
b = density * h * (np.roll(along, -1, axis=1) - along + np.diff(up, axis=0))

# %%
# Minus the Laplacian. Along x the last cell is a neighbour of the first one.

ring = sp.diags([-1, -1, 2, -1, -1], [-nx + 1, -1, 0, 1, nx - 1], shape=(nx, nx), dtype=float)
walls = sp.diags([-1, 2, -1], [-1, 0, 1], shape=(ny, ny), dtype=float).tolil()
walls[0, 0] = walls[-1, -1] = 1
p, info = gridsweep.solve(sp.csr_matrix(sp.kronsum(ring, walls)), b, grid=(nx, ny), periodic="x")
assert not info, info.message

figure, ax = plt.subplots(figsize=(10, 3.1), layout="constrained")
extent = (0, nx * h * 100, 0, ny * h * 100)
image = ax.imshow(p, origin="lower", extent=extent, cmap="Blues_r")
ax.streamplot((x[0] + h / 2) * 100, (y[:-1, 0] + h / 2) * 100, u - 2, (v[:-1] + v[1:]) / 2, color="black",
              linewidth=0.5, density=(2.2, 1.0), arrowsize=0.7)
ax.set(xlabel="x in cm", ylabel="y in cm",
       title=f"Pressure, and the flow seen from an eddy ({info.iterations} iterations)")
figure.colorbar(image, label="pressure in Pa")
plt.show()
