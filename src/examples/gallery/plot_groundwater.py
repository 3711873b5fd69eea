"""
Groundwater with inactive cells
===============================

A valley is filled with sand. Rain feeds its groundwater, a river holds its level, and two wells pump. Where rock
reaches the surface, cells are inactive.

:func:`gridsweep.adaptors.groundwater.model` makes the matrix of such a model with the conductances of MODFLOW.
"""

import matplotlib.pyplot as plt
import numpy as np

from gridsweep.adaptors.groundwater import model

# %%
# Three layers of cells of 25 m x 25 m. The conductivity of sand varies a hundred times.

layers, rows, columns, size = 3, 120, 200, 25.0
z, y, x = np.indices((layers, rows, columns))
random = np.random.default_rng(3)
noise = np.fft.fft2(random.standard_normal((layers, rows, columns)))
waves = np.hypot(*np.meshgrid(np.fft.fftfreq(rows), np.fft.fftfreq(columns), indexing="ij"))
k = np.fft.ifft2(noise * np.exp(-(waves / 0.03) ** 2)).real
k = 10 * np.exp(1.2 * k / k.std())                                            # m per day
valley = np.abs(y - 60 - 14 * np.sin(x / 30)) < 34 + 9 * np.sin(x / 17) - 4 * z
valley &= np.hypot(x - 120, (y - 62) * 1.5) > 11                              # a hill of rock
middle = 44 + 14 * np.sin(x / 30) + 6 * np.sin(x / 23)
river = (np.abs(y - middle) < 1.5) & (z == 0) & valley

# %%
# Rain falls on the top layer, and the wells pump from the lowest one.

flow = np.where(valley & (z == 0), 0.0008 * size**2, 0.0)                     # m^3 per day
wells = np.array([(84, 60), (62, 160)])                                       # rows, columns
for row, column in wells:
    flow[2, row, column] = -1500.0
level = 102 - 0.01 * x
head, info = model(k, size, size, 10.0, idomain=valley, kv=k / 10, fixed=river).solve(flow, level)

# %%
# Water flows down the slope of the head: across its lines, into the river and to the wells.

top = np.where(valley[0], head[0], np.nan)
v, u = (-k[0] * np.nan_to_num(slope) for slope in np.gradient(top, size))
figure, ax = plt.subplots(figsize=(9.5, 5.5), layout="constrained")
extent = np.array([0, columns, 0, rows]) * size / 1000
ax.set_facecolor("#c9c9c9")
filled = ax.contourf(top, 24, extent=extent, cmap="viridis")
ax.contour(top, 24, extent=extent, colors="white", linewidths=0.4)
ax.streamplot((x[0, 0] + 0.5) * size / 1000, (y[0, :, 0] + 0.5) * size / 1000, u, v, density=1.4, color="black",
              linewidth=0.6, arrowsize=0.7)
ax.plot((x[0, 0] + 0.5) * size / 1000, (middle[0, 0] + 0.5) * size / 1000, "#56b4e9", linewidth=4, label="river")
ax.scatter(*(wells.T[::-1] + 0.5) * size / 1000, s=90, c="#d55e00", edgecolor="white", zorder=3, label="well")
ax.set(xlabel="x in km", ylabel="y in km", title=f"Head of the groundwater ({info.iterations} iterations)")
ax.legend(loc="upper right")
figure.colorbar(filled, label="head in m")
plt.show()
