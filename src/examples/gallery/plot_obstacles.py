"""
Flow around obstacles
=====================

Water flows through a field of posts, from the left to the right. Where friction does not matter, the velocity is
the gradient of a potential. No water flows through the posts: their cells are inactive, and no neighbour is
coupled to them.
"""

import matplotlib.pyplot as plt
import numpy as np
import scipy.sparse as sp

import gridsweep

# %%
# A channel of 4 m x 2 m, with round and square posts.

nx, ny = 480, 240
h = 2 / ny
y, x = (np.indices((ny, nx)) + 0.5) * h
water = np.ones((ny, nx), bool)
for px, py, size in ((0.8, 0.55, 0.22), (1.1, 1.45, 0.3), (2.0, 0.8, 0.3), (2.55, 1.6, 0.18), (3.1, 0.6, 0.25)):
    water &= np.hypot(x - px, y - py) > size
for px, py, size in ((1.75, 1.65, 0.16), (2.9, 1.2, 0.18)):
    water &= np.maximum(np.abs(x - px), np.abs(y - py)) > size

# %%
# Flows between neighbours that are both water. The potential is 0 at the left end, and 1 at the right end.

gradient = lambda n: sp.diags([-1.0, 1.0], [0, 1], shape=(n - 1, n))
along = sp.diags(1.0 * (water[:, :-1] & water[:, 1:]).ravel()) @ sp.kron(sp.identity(ny), gradient(nx))
across = sp.diags(1.0 * (water[:-1] & water[1:]).ravel()) @ sp.kron(gradient(ny), sp.identity(nx))
ends = np.zeros((ny, nx))
ends[:, [0, -1]] = 2.0                                         # half a cell to the end
A = sp.csr_matrix(along.T @ along + across.T @ across + sp.diags(ends.ravel()))
b = np.zeros((ny, nx))
b[:, -1] = 2.0
potential, info = gridsweep.solve(A, b, active=water)
assert not info, info.message

# %%
# The velocity in the middle of each cell, with a mean of 1 m/s through the channel.

u = np.pad((along @ potential.ravel()).reshape(ny, nx - 1), ((0, 0), (1, 1)))
u[:, 0], u[:, -1] = 2 * potential[:, 0], 2 * (1 - potential[:, -1])
v = np.pad((across @ potential.ravel()).reshape(ny - 1, nx), ((1, 1), (0, 0)))
u, v = (u[:, :-1] + u[:, 1:]) / 2 / u[:, 0].mean(), (v[:-1] + v[1:]) / 2 / u[:, 0].mean()
speed = np.where(water, np.hypot(u, v), np.nan)

figure, ax = plt.subplots(figsize=(9.5, 4.6), layout="constrained")
ax.set_facecolor("#bdbdbd")
fast = np.nanpercentile(speed, 99.8)
image = ax.imshow(speed, origin="lower", extent=(0, 4, 0, 2), cmap="viridis", vmin=0, vmax=fast)
starts = np.column_stack([np.full(24, 0.02), np.linspace(0.04, 1.96, 24)])
ax.streamplot(x[0], y[:, 0], u, v, start_points=starts, color="white", linewidth=0.8, arrowsize=0.7,
              broken_streamlines=False)
ax.set(xlabel="x in m", ylabel="y in m", title=f"Potential flow around posts ({info.iterations} iterations)")
figure.colorbar(image, label="speed in m/s", shrink=0.85)
plt.show()
