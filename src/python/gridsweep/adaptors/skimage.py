"""scikit-image: segmentation by random walks.

    from gridsweep.adaptors.skimage import random_walker
    labels = random_walker(image, seeds, beta=130)
    print(random_walker.last.iterations)
"""

import threading
from functools import wraps
from typing import Any

import numpy as np
from skimage.segmentation import random_walker_segmentation as package

import gridsweep

from . import checked

_turn = threading.Lock()


@wraps(package.random_walker)
def random_walker(data: Any, labels: Any, *arguments: Any, **options: Any) -> Any:
    build, solve = package._build_linear_system, package._solve_linear_system
    walkers = []  # where the pixels are whose walkers are solved for

    def building(data, spacing, labels, nlabels, mask, *rest):
        walkers.append((labels == 0) if mask is None else (labels == 0) & mask)
        return build(data, spacing, labels, nlabels, mask, *rest)

    def solving(laplacian, seeds, tol, mode):
        b = np.asfortranarray(seeds.toarray())
        x, infos = checked(gridsweep.solve(laplacian, b, active=walkers[-1], rtol=tol))
        random_walker.last = max(infos, key=lambda info: info.iterations)
        return x.T

    with _turn:
        try:
            package._build_linear_system, package._solve_linear_system = building, solving
            return package.random_walker(data, labels, *arguments, **options)
        finally:
            package._build_linear_system, package._solve_linear_system = build, solve


random_walker.last = None
