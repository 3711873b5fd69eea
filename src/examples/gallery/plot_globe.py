"""
A globe with seasons
====================

Why are winters on land colder than at sea? A model of the climate balances sunshine, heat lost to space, and
heat that spreads along the sphere. An ocean stores more heat than land does. Longitude is periodic:
``periodic="x"``. A :class:`gridsweep.Solver` takes a step of ten days.
"""

import matplotlib.pyplot as plt
import numpy as np
import scipy.sparse as sp

import gridsweep

# %%
# Longitudes and latitudes, with land that looks a little like ours.

nx, ny, width = 180, 90, np.pi / 90
lat, lon = np.meshgrid((np.arange(ny) + 0.5) * width - np.pi / 2, np.arange(nx) * width - np.pi, indexing="ij")
land = lat < -1.25
for x, y, a, b in ((1.5, 1, 1.4, 0.35), (0.3, 0.1, 0.35, 0.6), (0.1, 0.35, 0.45, 0.3), (1.4, 0.5, 0.4, 0.35),
                   (-1.8, 0.9, 0.6, 0.55), (-1.1, -0.2, 0.3, 0.5), (2.4, -0.5, 0.35, 0.2), (-0.7, 1.3, 0.3, 0.15)):
    land |= np.hypot((lon - x) / a, (lat - y) / b) < 1 + 0.12 * np.sin(7 * lon + 5 * lat)

# %%
# Heat flows between neighbours. Cells are narrow near the poles, so couplings along x are strong there.

spread, loss, dt = 0.6, 2.0, 3.156e7 / 36                            # W/(m^2 K), W/(m^2 K), s
capacity = np.where(land, 0.15, 2.0) * 1e8                           # J/(m^2 K): ground and air, or water of 50 m
ring = sp.diags([-1, -1, 2, -1, -1], [1 - nx, -1, 0, 1, nx - 1], shape=(nx, nx), dtype=float)
slope = sp.diags([-1.0, 1.0], [0, 1], shape=(ny - 1, ny))
arc = slope.T @ sp.diags(np.cos((lat[1:, 0] + lat[:-1, 0]) / 2)) @ slope
flow = sp.kron(sp.diags(1 / np.cos(lat[:, 0])), ring) + sp.kron(arc, sp.identity(nx))
area = np.cos(lat) * width**2
A = sp.csr_matrix(spread * flow + sp.diags((area * (loss + capacity / dt)).ravel()))

# %%
# Six years of sunshine, from the height of the sun. The last year is shown; the third globe shows its other side.

T, seen, taken = np.zeros((ny, nx)) + 10, [], []
with gridsweep.Solver(A, grid=(nx, ny), periodic="x") as solver:
    for step in range(216):
        tilt = 0.409 * np.sin(2 * np.pi * (step + 0.5) / 36 - 1.39)
        noon = np.arccos(np.clip(-np.tan(lat) * np.tan(tilt), -1, 1))
        sun = 1361 / np.pi * (noon * np.sin(lat) * np.sin(tilt) + np.cos(lat) * np.cos(tilt) * np.sin(noon))
        gain = sun * (0.72 - 0.16 * np.sin(lat) ** 2) - 203          # minus the loss at 0 degrees
        T, info = solver.solve(area * (gain + capacity / dt * T), x0=T)
        seen, taken = seen + [T], taken + [info.iterations]

figure, globes = plt.subplots(1, 3, figsize=(11, 4), layout="constrained")
views = ((seen[-35], 1.5, "January"), (seen[-17], 1.5, "July"), (seen[-17] - seen[-35], -1.6, "July minus January"))
for ax, (field, middle, title) in zip(globes, views):
    px, toward = np.cos(lat) * np.sin(lon - middle), np.cos(lat) * np.cos(lon - middle)
    py, front = np.sin(lat) * 0.88 - toward * 0.48, np.sin(lat) * 0.48 + toward * 0.88 > 0
    image = ax.tripcolor(px[front], py[front], field[front], cmap="RdYlBu_r", vmin=-40, vmax=40, shading="gouraud")
    ax.tricontour(px[front], py[front], land[front] * 1.0, [0.5], colors="black", linewidths=0.8)
    ax.set(title=title, aspect="equal", frame_on=False, xticks=[], yticks=[])
figure.colorbar(image, ax=globes, label=f"temperature in °C ({np.mean(taken):.0f} iterations per step)", shrink=0.8)
plt.show()
