"""gridsweep: solves sparse linear systems on regular grids, with exact triangular solves.

The rows of a matrix are grid points in natural order, x fastest. The package finds the grid and the
stencil, and chooses the preconditioner and the method. A map of it:

    x, info = solve(A, b)                       # b a vector, a field (nz, ny, nx), or columns
    if info: ...                                # it did not converge, and info.message says why
    info.plot()                                 # its convergence, with matplotlib
    solver = Solver(A)                          # for many b, or values that change: solver.solve(b),
                                                # solver.update(A)
    xs, infos = solve_many([A1, A2], bs)        # many small systems of one grid

    x, info = solve(A, b, active=mask)          # some points alone take part, or have rows
    x, info = solve(A, b, coordinates=xyz)      # rows in another order
    e = embed(A, mask)                          # the same for all else: e.matrix, e.active

    x, info = cg(A, b, M=multigrid(A))          # your own choice: cg, bicgstab, gmres, richardson
    x, info = bicgstab(A, b, M=ilu0(A))         # with multigrid, ilu0, ic0, dilu, ssor, jacobi
    x, info = scipy.sparse.linalg.gmres(A, b, M=ilu0(A))

    y = sptrsv(A, b, lower=True)                # one triangular solve, A used once
    factor = triangular(A, lower=True)          # many triangular solves with one A
    smooth(A, factor, b, x, sweeps=2)           # two steps x = x + M^-1 (b - A x)
    grid, stencil = detect(A)                   # what solve() finds

gridsweep.adaptors puts it into FiPy, py-pde, scikit-image, pyamg, landlab, SimPEG, PhiFlow, OpenPNM and
groundwater models. Context("cuda") works on a GPU. The C library libgridsweep comes with the package;
GRIDSWEEP_LIBRARY names another one.
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
