"""gridsweep: solves sparse linear systems on regular grids, with exact triangular solves.

The rows of a matrix are grid points in natural order, x fastest. The package finds the grid and the
stencil, and chooses the preconditioner and the method:

    x, info = solve(A, b)
    if info: ...                                # it did not converge, and info.message says why

    info.plot()                                 # its convergence, with matplotlib

    xs, infos = solve_many([A1, A2], bs)        # many small systems of one grid
    solver = Solver(A)                          # for many b, or values that change
    x, info = solver.solve(b)
    solver.update(A)

You can also combine preconditioners and methods yourself:

    x, info = cg(A, b, M=multigrid(A))          # or M=ic0(A): A symmetric positive definite
    x, info = bicgstab(A, b, M=ilu0(A))         # other A
    x, info = scipy.sparse.linalg.gmres(A, b, M=ilu0(A))

Where A has rows for the active points of a grid alone, or numbers them otherwise:

    x, info = solve(A, b, active=mask)
    x, info = solve(A, b, coordinates=xyz)
    e = embed(A, mask)                          # for all else: e.matrix, e.active, e.spread(b)

Other tasks:

    y = sptrsv(A, b, lower=True)                # one triangular solve, A used once
    factor = triangular(A, lower=True)          # many triangular solves with one A
    smooth(A, factor, b, x, sweeps=2)           # two steps x = x + M^-1 (b - A x)

This package calls the C library libgridsweep through ctypes; pip builds the library with the
package. The environment variable GRIDSWEEP_LIBRARY can name another library file.
"""

from ._arrays import detect
from ._constants import Constants
from ._context import Context
from ._embed import Embedding, embed
from ._errors import GridsweepError
from ._factor import Factor, FactorInfo, dilu, ic0, ilu0, jacobi, ssor, triangular
from ._grid import Grid, Stencil
from ._krylov import KrylovResult, bicgstab, cg, gmres, richardson
from ._library import VERSION as __version__, build_info
from ._many import SystemResult, solve_many
from ._multigrid import Multigrid, MultigridInfo, MultigridLevel, multigrid
from ._smooth import smooth
from ._solver import Solver, SolveResult, solve
from ._sptrsv import sptrsv
from ._types import Status

__all__ = ["Constants", "Context", "Embedding", "Factor", "FactorInfo", "Grid", "GridsweepError", "KrylovResult", "Multigrid",
           "MultigridInfo", "MultigridLevel", "SolveResult", "Solver", "Status", "Stencil", "SystemResult", "bicgstab",
           "build_info", "cg", "detect", "dilu", "embed", "gmres", "ic0", "ilu0", "jacobi", "multigrid",
           "richardson", "smooth", "solve", "solve_many", "sptrsv", "ssor", "triangular", "__version__"]
