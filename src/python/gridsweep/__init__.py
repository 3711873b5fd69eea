"""gridsweep: exact sparse triangular solves on regular grids, and preconditioners that use them.

The rows of a matrix are grid points in natural order, x fastest. The package finds the grid and the
stencil. For most systems combine one of these preconditioners with a Krylov method:

    A symmetric positive definite, large grid   x, info = cg(A, b, M=multigrid(A))
    A symmetric positive definite               x, info = cg(A, b, M=ic0(A))
    other A                                     x, info = bicgstab(A, b, M=ilu0(A))
    with SciPy's solvers                        x, info = scipy.sparse.linalg.gmres(A, b, M=ilu0(A))

    if info: ...                                # the solve did not converge

Other tasks:

    y = sptrsv(A, b, lower=True)                # one triangular solve, A used once
    factor = triangular(A, lower=True)          # many triangular solves with one A
    smooth(A, factor, b, x, sweeps=2)           # two steps x = x + M^-1 (b - A x)

This package calls the C library libgridsweep through ctypes; pip builds the library with the
package. The environment variable GRIDSWEEP_LIBRARY can name another library file.
"""

from ._arrays import detect
from ._context import Context
from ._errors import GridsweepError
from ._factor import Factor, FactorInfo, dilu, ic0, ilu0, jacobi, ssor, triangular
from ._grid import Grid, Stencil
from ._krylov import KrylovResult, bicgstab, cg, gmres, richardson
from ._library import VERSION as __version__, build_info
from ._multigrid import Multigrid, MultigridInfo, MultigridLevel, multigrid
from ._smooth import smooth
from ._sptrsv import sptrsv
from ._types import Status

__all__ = ["Context", "Factor", "FactorInfo", "Grid", "GridsweepError", "KrylovResult", "Multigrid",
           "MultigridInfo", "MultigridLevel", "Status", "Stencil", "bicgstab", "build_info", "cg",
           "detect", "dilu", "gmres", "ic0", "ilu0", "jacobi", "multigrid", "richardson",
           "smooth", "sptrsv", "ssor", "triangular", "__version__"]
