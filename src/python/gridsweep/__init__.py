"""gridsweep: exact sparse triangular solves on regular grids, and preconditioners made of them.

    factor = gridsweep.ilu0(A)                     # grid and stencil are found
    x, info = gridsweep.bicgstab(A, b, M=factor)   # if info: it did not converge
    x, info = scipy.sparse.linalg.gmres(A, b, M=factor)
    x, info = gridsweep.cg(A, b, M=gridsweep.multigrid(A))   # A symmetric
    y = gridsweep.sptrsv(A, b, lower=True)         # one triangular solve on A itself

    gridsweep.smooth(A, factor, b, x, sweeps=2)    # x = x + M^-1 (b - A x), twice

Rows are grid points in natural order, x fastest. This package calls the C library libgridsweep,
which pip builds with it, through ctypes. The environment variable GRIDSWEEP_LIBRARY names another
one.
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
