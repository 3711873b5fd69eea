"""CuPy's arrays on a GPU: an IC(0) factor for the library's CG and for CuPy's own.

    python3 cupy_arrays.py

Everything stays on the device. The factor is computed from CuPy's matrix; solves read b and write x where
they lie. The exit code is 77 if CuPy is not installed.

CuPy's package is cupy-cuda12x or cupy-cuda13x: take the CUDA version that the driver supports (nvidia-smi
shows it). With [ctk] behind its name pip also installs CUDA's libraries, for a machine without a toolkit.
gridsweep must have been built where CMake found nvcc.
"""

import numpy as np
import scipy.sparse as sp

try:
    import cupy
    import cupyx.scipy.sparse
    import cupyx.scipy.sparse.linalg
except ImportError as error:
    print(error)
    raise SystemExit(77) from None

import gridsweep


def line(n):
    return sp.diags([-1.0, 2.0, -1.0], [-1, 0, 1], shape=(n, n))


host = sp.csr_matrix(sp.kronsum(sp.kronsum(line(64), line(48)), line(40)))
grid, stencil = gridsweep.detect(host)  # on the host, once
A = cupyx.scipy.sparse.csr_matrix(host)
b = cupy.ones(grid.points)
x = cupy.empty_like(b)

stream = cupy.cuda.get_current_stream()
with gridsweep.Context("cuda", stream=stream.ptr) as context:
    M = gridsweep.ic0(A, grid, stencil=stencil, context=context)
    _, info = gridsweep.cg(A, b, M=M, out=x)
    print(f"gridsweep: {info.iterations} iterations in {info.solve_ms:.1f} ms")
    y, failed = cupyx.scipy.sparse.linalg.cg(A, b, M=M)  # its tolerance: 1e-5
    error = float(cupy.linalg.norm(x - y) / cupy.linalg.norm(x))
    print(f"difference to CuPy's cg: {error:.1e}")
    if info or failed or not np.isfinite(error) or error > 1e-4:
        raise SystemExit(info.message or "CuPy's cg found something else")
