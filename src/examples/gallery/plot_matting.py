"""
Image matting
=============

Which part of each pixel belongs to the flower, and which to the background? Someone has marked what is certain.
In the grey band the program finds the opacity of the flower, from 0 to 1.

Closed-form matting (Levin, Lischinski and Weiss, 2008) makes a sparse matrix of the picture: a pixel is coupled
to the 24 around it. The pixels in question are ``active``, and the marks are boundary values.
"""

import matplotlib.pyplot as plt
import numpy as np
import scipy.sparse as sp

import gridsweep

# %%
# A picture of 300 x 300 pixels: a flower with fine hair before a blurred garden.

n = 300
y, x = np.mgrid[-1:1:n * 1j, -1:1:n * 1j]
random, angle, radius = np.random.default_rng(5), np.arctan2(y, x), np.hypot(x, y)
hair = sum(np.clip(1 - np.abs(np.angle(np.exp(1j * (angle - turn - bend * radius)))) * radius / 0.01, 0, 1)
           * np.clip((end - radius) / 0.05, 0, 1)
           for turn, bend, end in zip(random.uniform(-np.pi, np.pi, 160), random.normal(0, 0.5, 160),
                                      random.uniform(0.62, 0.82, 160)))
truth = np.clip(hair + np.clip((0.52 + 0.06 * np.cos(9 * angle) - radius) / 0.02, 0, 1), 0, 1)
flower = np.stack([0.95 - 0.25 * radius, 0.72 - 0.45 * radius, 0.15 + 0.2 * radius], axis=-1)
garden = np.stack([0.1 + 0.1 * np.sin(3 * x), 0.4 + 0.2 * np.sin(4 * y + 2 * x), 0.3 + 0.1 * np.cos(5 * x)], axis=-1)
image = truth[..., None] * flower + (1 - truth[..., None]) * garden + random.normal(0, 0.01, (n, n, 3))
inside, unknown = radius < 0.42, (radius >= 0.42) & (radius <= 0.86)

# %%
# The matting Laplacian: in each window of 3 x 3 pixels the opacity is nearly a linear function of the colour.

window = np.lib.stride_tricks.sliding_window_view(np.arange(n * n).reshape(n, n), (3, 3)).reshape(-1, 9)
window = window[(unknown.ravel()[window]).any(axis=1)]
colour = image.reshape(-1, 3)[window]
colour = colour - colour.mean(axis=1, keepdims=True)
spread = colour.transpose(0, 2, 1) @ colour / 9 + 1e-5 * np.eye(3)
like = (1 + colour @ np.linalg.solve(spread, colour.transpose(0, 2, 1))) / 9
L = sp.csr_matrix(((np.eye(9) - like).ravel(), (np.repeat(window, 9, axis=1).ravel(), np.tile(window, 9).ravel())),
                  shape=(n * n, n * n))

# %%
# The library looks at the matrix, and takes multigrid with CG. Fine hair makes such a matrix hard.

marks = inside.ravel() * 1.0
alpha, info = gridsweep.solve(L, -L @ marks, marks, active=unknown, keep_inactive=True)
alpha = alpha.reshape(n, n, 1)

figure, panels = plt.subplots(1, 4, figsize=(11, 3.2), layout="constrained")
sky = np.stack([0.55 + 0.2 * y, 0.7 + 0.15 * y, 0.95 + 0 * y], axis=-1)
titles = "picture", "marks", f"opacity ({info.iterations} iterations)", "before the sky"
pictures = image, np.where(unknown, 0.5, inside), alpha[..., 0], alpha * flower + (1 - alpha) * sky
for panel, title, picture in zip(panels, titles, pictures):
    panel.imshow(np.clip(picture, 0, 1), cmap="gray", vmin=0, vmax=1)
    panel.set(title=title, xticks=[], yticks=[])
plt.show()
