"""Structured multigrid with exact sweeps as smoothers."""

from __future__ import annotations

from ctypes import byref
from typing import TYPE_CHECKING, Any, NamedTuple, Optional, Tuple

import numpy as np

from . import _types as t
from ._arrays import Matrix, copy_csr, dtype_argument, solve_into
from ._context import Context, context_for
from ._errors import choice, integer, known_options, real
from ._grid import Grid, Stencil, with_axes
from ._library import library
from ._options import GridLike, MultigridOptions, names_of
from ._preconditioner import Preconditioner
from ._words import explained

if TYPE_CHECKING:
    from typing_extensions import Unpack

_DTYPES = tuple(t.DTYPES)  # by their numbers in the library
_SMOOTHERS = tuple(t.SMOOTHERS)
_CYCLES = tuple(t.CYCLES)
_AXES = ("-", "x", "y", "xy", "z", "xz", "yz", "xyz")


def _count(levels: int) -> str:
    return f"{levels} level" + ("s" if levels > 1 else "")


@explained
class MultigridLevel(NamedTuple):
    """One level of a hierarchy (gsw_multigrid_level)."""

    grid: Grid              # of this level
    stencil: Stencil        # of its matrix
    points: int             # of its grid
    couplings: int          # of its matrix, inside the grid
    axes: str               # axes that the next level coarsens, such as "xz"; "-" for none
    coupling: Tuple[float, float, float]  # mean share of a row's couplings along x, y and z
    smoother: str           # the smoother of this level; "direct" if it is solved directly
    degenerate_points: int  # of the interpolation to this level
    bytes: int              # memory that it keeps


@explained
class MultigridInfo(NamedTuple):
    """The description of a hierarchy (gsw_multigrid_info). str() of it is a table."""

    levels: Tuple[MultigridLevel, ...]  # the finest first
    smoother: str               # as in multigrid(); the levels have their own
    cycle: str                  # "V", "F" or "W"
    cycle_type: str             # dtype of the whole cycle
    symmetric: bool             # A is symmetric, and R is P transposed
    singular: bool              # every row's sum vanishes: constants are in the null space
    smoother_fallbacks: int     # levels that cannot use ILU(0)
    operator_complexity: float  # couplings of all levels divided by those of the finest
    grid_complexity: float      # points of all levels divided by those of the finest
    bytes: int                  # all memory that the hierarchy keeps
    degenerate_points: int      # fine points whose interpolation is the mean of their neighbours

    def __str__(self) -> str:
        head = (f"{_count(len(self.levels))}, {self.cycle} cycle, smoother {self.smoother}, "
                f"{self.cycle_type}, operator complexity {self.operator_complexity:.2f}, "
                f"{self.bytes * 1e-6:.1f} MB")
        form = "{:>5} {:>20} {:>10} {:>12} {:>5} {:>11} {:>9}"
        lines = [head, form.format("level", "grid", "stencil", "couplings", "axes", "smoother",
                                   "MB")]
        for number, level in enumerate(self.levels):
            stencil = level.stencil.name
            if stencil == "custom":
                stencil = f"{len(level.stencil)} points"
            lines.append(form.format(number, str(level.grid), stencil, level.couplings, level.axes,
                                     level.smoother, f"{level.bytes * 1e-6:.1f}"))
        if self.smoother_fallbacks:
            lines.append(f"levels where ILU(0) met a bad pivot: {self.smoother_fallbacks}")
        if self.degenerate_points:
            lines.append(f"points with degenerate interpolation: {self.degenerate_points}")
        return "\n".join(lines)


class Multigrid(Preconditioner):
    """A hierarchy of coarser grids, created from a matrix by multigrid(). Pass it as M to cg(),
    bicgstab(), richardson() or to SciPy's solvers. As an operator it is one cycle: mg @ b,
    mg.matvec(b) and mg.solve(b) are approximate solutions x of A x = b.

    shape, dtype   (points, points) and float64
    grid, stencil, active  those of A, which is the finest level
    levels         number of levels, including the finest and the coarsest
    smoother, cycle, cycle_type  those in use, such as "gs", "V" and "float64"
    context        the Context that it works in
    closed         True after close()

    With SciPy it is a scipy.sparse.linalg.LinearOperator. It keeps a copy of the matrix. Threads may
    share it: their cycles take turns. pickle and copy.deepcopy() create it anew from A, to which it
    keeps a reference. It is freed by close(), at the end of `with`, with its last
    reference, or with its context, whichever comes first. After that a solve raises ValueError.
    """

    levels: int
    smoother: str
    cycle: str
    cycle_type: str
    if TYPE_CHECKING:
        T: Multigrid
        H: Multigrid
    _noun = "multigrid"
    _make_preconditioner = library.gsw_preconditioner_from_multigrid

    def __init__(self, context: Context, matrix: Matrix, options: t.gsw_multigrid_options) -> None:
        super().__init__(context, matrix, np.float64, library.gsw_multigrid_create, options,
                         library.gsw_multigrid_destroy)
        with context._turn():
            made = self._about()
            self._points = [self._level(number).points for number in range(made.levels)]
        self.levels, self.smoother = made.levels, _SMOOTHERS[made.smoother]
        self.cycle, self.cycle_type = _CYCLES[made.cycle], _DTYPES[made.cycle_type]
        self._own_transpose = (bool(made.symmetric) and self.cycle != "F"
                               and options.pre_sweeps == options.post_sweeps)

    def __repr__(self) -> str:
        state = ", closed" if self.closed else ""
        return (f"<gridsweep.Multigrid {self.grid} {self.stencil.name}: {_count(self.levels)}, "
                f"{self.cycle} cycle, smoother {self.smoother}, {self.cycle_type}{state}>")

    def _about(self) -> t.gsw_multigrid_info:
        made = t.gsw_multigrid_info()
        self.context._check(library.gsw_multigrid_get_info(self._address(), byref(made)))
        return made

    def _level(self, number: int) -> t.gsw_multigrid_level:
        made = t.gsw_multigrid_level()
        self.context._check(library.gsw_multigrid_get_level(self._address(), number, byref(made)))
        return made

    def solve(self, b: Any, out: Any = None) -> Any:
        """Does one cycle for A x = b from x = 0, and returns x.

        b    shape (points,), or (points, count) for several right-hand sides b[:, r], which take one
             cycle each. It is used in place if it is float64 and each right-hand side is contiguous.
             Otherwise a NumPy array is copied, and another array with DLPack is refused.
        out  array for x, as for Factor.solve(); out=b works in place. It is returned.

        Errors: TypeError, ValueError, GridsweepError (INVALID_ARGUMENT after a failed refactor).
        """
        def apply(count: int, b_at: int, ldb: int, x_at: int, ldx: int) -> None:
            with self.context._turn() as c:
                for r in range(count):
                    self.context._check(library.gsw_multigrid_apply(
                        c, self._address(), b_at + 8 * ldb * r, x_at + 8 * ldx * r))

        self._address()
        return solve_into(self.context, b, out, self.shape[0], self.dtype, apply)

    def transposed(self) -> Multigrid:
        """The hierarchy itself if its cycle is a symmetric operator. That needs a symmetric matrix, a
        V or W cycle, and pre_sweeps equal to post_sweeps. Others raise NotImplementedError."""
        self._address()
        if not self._own_transpose:
            raise NotImplementedError("multigrid: this cycle is not symmetric, and its transpose is "
                                      "not available; create a hierarchy of the transposed matrix")
        return self

    def refactor(self, A: Any, *, active: Any = None) -> Multigrid:
        """Takes the values of another matrix on the same grid and stencil, and returns the hierarchy
        itself. This is cheaper than creating it again.

        The levels keep their grids, which the first matrix determined. A symmetric matrix must stay
        symmetric. `active` is a mask as for solve(); None: the mask stays. A hierarchy without a mask
        takes none. After a GridsweepError that comes from the values (ZERO_PIVOT, UNSUPPORTED,
        INVALID_ARGUMENT) every solve is refused until a refactor succeeds.
        Other errors: TypeError, ValueError, GridsweepError (NOT_A_GRID).
        """
        self._address()
        matrix = self._new_values(A, active)
        self._call(library.gsw_multigrid_refactor, byref(matrix.struct), about="A")
        self._takes(A, active)
        self._take_mask(matrix.mask)
        return self

    @property
    def info(self) -> MultigridInfo:
        """The description of the hierarchy, a MultigridInfo; print it for a table of the levels."""
        with self.context._turn():
            made = self._about()
            levels = [self._level(number) for number in range(self.levels)]
        return MultigridInfo(
            tuple(MultigridLevel(
                Grid(level.grid.nx, level.grid.ny, level.grid.nz), Stencil._of(level.stencil),
                level.points, level.couplings, _AXES[level.axes], tuple(level.coupling),
                "direct" if level.direct else _SMOOTHERS[level.smoother], level.degenerate_points,
                level.bytes) for level in levels),
            self.smoother, self.cycle, self.cycle_type, bool(made.symmetric),
            bool(made.singular), made.smoother_fallbacks, made.operator_complexity,
            made.grid_complexity, made.bytes, made.degenerate_points)

    def extract(self, part: str, level: int) -> Any:
        """A copy of a matrix of the hierarchy, as a scipy.sparse.csr_matrix in float64.

        part   "A": the matrix of `level`, which is 1 or more. "P": the interpolation from level + 1
               to `level`. "R": the restriction from `level` to level + 1
        level  0 is the finest. A of level 0 is your own matrix.

        A of level + 1 is R @ A @ P of `level`. Needs SciPy.
        Errors: ImportError, TypeError, ValueError, GridsweepError (OUT_OF_MEMORY).
        """
        from scipy.sparse import csr_matrix

        number = choice("part", part, t.PARTS)
        self._address()
        csr, last = t.gsw_csr(), self.levels - (1 if part == "A" else 2)
        level = integer("level", level, int(part == "A"), last)
        self._call(library.gsw_multigrid_extract, level, number, byref(csr))
        try:
            shape = {"A": (0, 0), "P": (0, 1), "R": (1, 0)}[part]
            return csr_matrix(copy_csr(csr), shape=tuple(self._points[level + k] for k in shape))
        finally:
            library.gsw_csr_free(byref(csr))


# The keywords of multigrid().
_OPTIONS = names_of(MultigridOptions, "grid")


def multigrid_options(smoother: str = "auto", cycle: str = "V", pre_sweeps: int = 1, post_sweeps: int = 1,
                      theta: float = 0.25, cycle_type: Any = "float64",
                      coarsest_points: Optional[int] = None) -> t.gsw_multigrid_options:
    """The C options for these arguments."""
    return t.gsw_multigrid_options(
        smoother=choice("smoother", smoother, t.SMOOTHERS), cycle=choice("cycle", cycle, t.CYCLES),
        pre_sweeps=integer("pre_sweeps", pre_sweeps, 1, 1000),
        post_sweeps=integer("post_sweeps", post_sweeps, 1, 1000),
        cycle_type=t.DTYPES[dtype_argument("cycle_type", cycle_type)],
        theta=real("theta", theta, lambda v: 0 < v <= 1, "above 0 and at most 1"),
        coarsest_points=0 if coarsest_points is None else integer(
            "coarsest_points", coarsest_points, 1, 2000))


def _multigrid(A: Any, grid: Any = None, *, stencil: Any = None, periodic: Optional[str] = None,
               active: Any = None, threads: int = 0, context: Optional[Context] = None, **values: Any) -> Multigrid:
    options = multigrid_options(**values)
    place = context_for(context, threads)
    matrix = Matrix(place, "A", A, with_axes(grid, periodic), stencil, active)
    made = Multigrid(place, matrix, options)
    made._recipe = (_multigrid, (A, grid), dict(values, stencil=stencil, periodic=periodic,
                                                active=active, threads=threads, context=context))
    return made


def multigrid(A: Any, grid: Optional[GridLike] = None, **options: Unpack[MultigridOptions]) -> Multigrid:
    """A multigrid hierarchy of A: black-box interpolation, Galerkin products, and sweeps in natural
    order as smoothers. Returns a Multigrid, for M of cg(), bicgstab() or SciPy's solvers.

    Use it for large grids with diffusion or pressure: its number of iterations hardly grows with the
    grid. For small time steps or convection ilu0() or ic0() is usually better.

    A     as for ilu0(): sparse matrix of SciPy, or (values, columns, row_ptr) of CSR. Its stencil
          reaches at most 2 points along each axis.
    grid  Grid or (nx, ny, nz); None: it is found, as by detect()

    Options, by keyword:
    smoother         "auto", the default: "gs" for a symmetric A, "symgs" for others. Or "gs",
                     "symgs", "ilu0", "ilu0-finest", "jacobi", "chebyshev", "multicolor"
    cycle            "V" (the default), "F" or "W"
    pre_sweeps       smoothing steps before each coarse correction, 1 or more; default 1
    post_sweeps      smoothing steps after it, 1 or more; default 1. cg() needs as many as before
    theta            coarsens the axes whose coupling is at least theta times the strongest;
                     0 < theta <= 1, default 0.25
    cycle_type       "float64" or "float32" (or NumPy's types), for the whole cycle; b and x are
                     always float64. float32 halves the bytes. It suits cg() and bicgstab(), but not
                     gmres() to a tolerance below 1e-7.
    coarsest_points  a level of at most this many points is solved directly; 1 to 2000, default 200,
                     on a GPU 520
    stencil          Stencil or its name; None: it is found
    active           a mask as for solve()
    threads, context  as for ilu0()

    For a symmetric A a V or W cycle is a symmetric operator, as cg() needs it. If every row's sum
    vanishes (pure Neumann conditions), give the solver nullspace="constant".
    Errors: TypeError, ValueError (named arguments), GridsweepError (NOT_A_GRID and ZERO_PIVOT with
    the row, UNSUPPORTED, OVERFLOW, OUT_OF_MEMORY).
    """
    known_options("multigrid", options, _OPTIONS)
    return _multigrid(A, grid, **options)
