"""Solves A x = b with a preconditioner and a method that the library chooses."""

from __future__ import annotations

from ctypes import POINTER, byref, c_double, c_int64, pointer
from typing import TYPE_CHECKING, Any, Dict, List, NamedTuple, Optional, Tuple

from . import _types as t
from ._arrays import Border, Map, Matrix, field_shapes
from ._callback import Monitor, function_of, interruptible, told_as
from ._context import Context, Owned, context_for
from ._errors import choice, known_options, status_of
from ._factor import factor_options
from ._grid import Grid, Stencil, with_axes
from ._krylov import ENDED, Solution, Vectors, ending, krylov_options, take_nullspace
from ._library import library
from ._multigrid import multigrid_options
from ._options import GridLike, Hierarchy, SolverFactor, SolverOptions, names_of
from ._watch import Bar, Lines
from ._words import explained, short

if TYPE_CHECKING:
    from typing_extensions import Unpack


@explained
class SolveResult(NamedTuple):
    """How solve() or Solver.solve() ended (gsw_solver_report). It is true if something went wrong:
    `if info:` means that x does not meet the tolerance."""

    converged: bool    # the true residual of x meets the tolerance
    iterations: int    # of all attempts
    residual: float    # true ||b - A x|| / ||b|| at the end (the norm itself if b = 0)
    recurrence: float  # the method's own last norm divided by its reference
    solve_ms: float    # wall time of all attempts
    status: t.Status   # SUCCESS, NOT_CONVERGED, BREAKDOWN, NON_FINITE or STOPPED
    message: str       # the library's message about it; "" for SUCCESS
    stagnated: bool    # NOT_CONVERGED because more iterations would not help
    replacements: int  # how often the true residual replaced the recurrence, in all attempts
    removed: float     # |v'(b - A x)| / ||b|| with a null vector v of length 1: `residual` leaves this out.
                       # Of a symmetric A it is the part of b along v
    precond: str       # of the last attempt: "none", "jacobi", "ssor", "dilu", "ilu0", "ic0", "mg"
    method: str        # of the last attempt: "cg", "bicgstab", "gmres", "richardson"
    reason: str        # why the first attempt was chosen; "" if you named both
    fallback: str      # what the last attempt was, and why it followed; "" if it was the first
    attempts: int      # how many there were
    setup_ms: float    # wall time of the choice and of the preconditioner, or of the last update
    history: Tuple[float, ...]  # the residual norm after each iteration of all attempts, relative as
                                # a callback gets it; history[0] is that of the guess
    rtol: float        # the tolerance that was asked for

    def __bool__(self) -> bool:
        return not self.converged

    def __repr__(self) -> str:
        return short(self, "converged iterations residual precond method solve_ms setup_ms",
                     history=f"<{len(self.history)} norms>")

    def plot(self, ax: Any = None) -> Any:
        """Draws the history over the iterations with matplotlib, into `ax` or a new figure, with a line
        at rtol, and returns the axes."""
        if ax is None:
            try:
                from matplotlib import pyplot
            except ImportError as error:
                raise ImportError("plot() needs matplotlib: pip install matplotlib") from error
            ax = pyplot.figure().add_subplot()
        ax.semilogy(range(len(self.history)), self.history, "o-" if len(self.history) <= 40 else "-",
                    label=f"{self.precond} with {self.method}", markersize=4)
        tolerance = f"rtol {self.rtol:g}"
        if self.rtol and self.history and tolerance not in [line.get_label() for line in ax.lines]:
            ax.axhline(self.rtol, color="gray", linestyle="--", linewidth=1, label=tolerance)
        ax.set_xlabel("iteration")
        ax.xaxis.get_major_locator().set_params(integer=True)
        ax.set_ylabel("relative residual")
        return ax


def _matrix(context: Context, A: Any, grid: Any, stencil: Any, active: Any, coordinates: Any = None) -> Matrix:
    if function_of(A) is not None:
        raise TypeError("A: is a function; the choice of a preconditioner needs the matrix. Give a "
                        "sparse matrix, or use gmres(), cg() or bicgstab() with the function")
    return Matrix(context, "A", A, grid, stencil, active, True, coordinates)


def _taken(options: Dict[str, Any], kind: Any) -> Dict[str, Any]:
    """The options of one of the classes of keywords, taken out of `options`."""
    return {name: options.pop(name) for name in names_of(kind) if name in options}


class Solver(Owned):
    """Solves A x = b for many b, and for an A whose values change. It chooses the preconditioner and
    the method once, when it is created; solve() describes the arguments. Use solve() for one system.

    grid, stencil    those of A
    active           its mask, or None
    shape            (rows, rows)
    precond, method  what was chosen or named, such as "mg" and "cg"
    reason           why it was chosen; "" if you named both
    context          the Context that it works in
    closed           True after close()

    It uses the arrays of A where they lie, and keeps them alive; after a change call update().
    Threads may share it: their solves take turns. pickle and copy.deepcopy() create it anew from its
    matrix and its options. It is freed by close(), at the end of `with`, with
    its last reference, or with its context, whichever comes first. After that a solve raises
    ValueError.
    """

    grid: Grid
    stencil: Stencil
    active: Any
    shape: Tuple[int, int]
    precond: str
    method: str
    reason: str
    _noun = "solver"

    def __init__(self, A: Any, grid: Optional[GridLike] = None, *, rtol: float = 1e-8,
                 **options: Unpack[SolverOptions]) -> None:
        known_options("Solver", options, _OPTIONS)
        self._recipe: Tuple[Any, ...] = (A, grid, rtol, options)
        self._prepare(A, grid, rtol, **options)
        self._start()

    def __repr__(self) -> str:
        state = ", closed" if self.closed else ""
        return (f"<gridsweep.Solver {self.grid} {self.stencil.name}: {self.precond} with "
                f"{self.method}{state}>")

    def __reduce__(self) -> Tuple[Any, ...]:
        return _rebuilt, (type(self), *self._recipe)

    def _prepare(self, A: Any, grid: Any, rtol: float, *, shape: Any = None, verbose: bool = False,
                 progress: bool = False, atol: float = 0.0, maxiter: Optional[int] = None, restart: int = 30,
                 norm: str = "true", nullspace: Any = None, keep_inactive: bool = False, callback: Any = None,
                 callback_type: Optional[str] = None, precond: str = "auto", method: str = "auto",
                 stencil: Any = None, periodic: Optional[str] = None, active: Any = None, coordinates: Any = None,
                 threads: int = 0, context: Optional[Context] = None, **more: Any) -> None:
        """Checks all arguments, before the set-up begins."""
        if shape is not None:
            grid = _grid_of_shape(grid, shape)
        krylov = krylov_options(rtol, atol, maxiter, restart, norm, keep_inactive)
        self._options = options = t.gsw_solver_options(
            precond=choice("precond", precond, t.PRECONDS),
            method=choice("method", method, t.METHODS), krylov=pointer(krylov))
        hierarchy, factor = _taken(more, Hierarchy), _taken(more, SolverFactor)
        if hierarchy:
            options.multigrid = pointer(multigrid_options(**{"cycle_type": "float32", **hierarchy}))
        if factor:
            options.factor = pointer(factor_options("ilu0", **factor))
        self._shown: List[Any] = [Lines()] * bool(verbose) + [Bar(rtol)] * bool(progress)
        callback = told_as(callback, callback_type)
        self._monitor = Monitor(self._told(callback), [])
        if callback is not None or self._shown:
            krylov.monitor = t.MONITOR_FN(self._monitor)
        self.context = context_for(context, threads)
        matrix = _matrix(self.context, A, with_axes(grid, periodic), stencil, active, coordinates)
        self.grid, self.stencil, self.shape = matrix.grid, matrix.stencil, 2 * (matrix.rows,)
        self.active = matrix.mask and matrix.mask.array
        self._null = take_nullspace(self.context, nullspace, matrix.rows, krylov)
        if isinstance(matrix.map, Border) and self._null is not None:
            raise ValueError("nullspace: A has a row and a column for the mean")
        if matrix.map and self._null is not None:
            with self.context._turn() as c:
                krylov.null_vector = matrix.map.spread(c, self._null.address, self.grid.points)
        self._matrices = [matrix]  # of which the library keeps the addresses

    def _told(self, callback: Any) -> Any:
        """The callback, after what is shown."""
        if not self._shown:
            return callback

        def tell(*seen: Any) -> Any:
            for shown in self._shown:
                shown.tell(*seen[-2:])
            return callback is not None and callback(*seen)
        return tell

    def _start(self) -> Solver:
        self._create(self.context, library.gsw_solver_create, library.gsw_solver_destroy,
                     byref(self._matrices[0].struct), byref(self._options))
        report = t.gsw_solver_report()
        with self.context._turn():
            self.context._check(library.gsw_solver_get_report(self._address(), byref(report)))
        self.precond, self.method = report.first_precond.decode(), report.first_method.decode()
        self.reason = report.reason.decode()
        return self

    def _history(self, first: float) -> Tuple[float, ...]:
        """The norms of the last solve; `first`: of a norm of another b."""
        norms, count = POINTER(c_double)(), c_int64()
        self.context._check(library.gsw_solver_get_history(self._address(), byref(norms), byref(count)))
        return tuple(first * norm for norm in norms[:count.value])

    def _call_solve(self, c: Any, rows: Any, b: int, x: int, report: t.gsw_solver_report) -> Any:
        def solve(b: int, x: int) -> Any:
            return library.gsw_solver_solve(c, self._address(), b, x, byref(report))
        code = rows.solve(c, b, x, self.grid.points, solve) if rows else solve(b, x)
        if isinstance(rows, Border):
            report.residual *= rows.scale
            report.recurrence *= rows.scale
        return code

    def _run(self, vectors: Vectors) -> Solution:
        infos: List[SolveResult] = []
        own = self._matrices[-1].map
        rows = own if vectors.rows == self.shape[0] else None  # None: the vectors have all points
        with self.context._turn() as c:
            vectors.begin(c, self._null)
            raised: List[BaseException] = []
            self._monitor.raised = raised
            with interruptible(raised):
                for b, x in vectors.addresses():
                    self._monitor.system = (len(infos),) if vectors.several else ()
                    report = t.gsw_solver_report()
                    for shown in self._shown:
                        shown.begin(self)
                    code = self._call_solve(c, rows, b, x, report)
                    if raised:
                        raise raised.pop()
                    if status_of(code) not in ENDED:
                        self.context._check(code)
                    scale = own.scale if isinstance(own, Border) else 1.0
                    infos.append(SolveResult(
                        *ending(report, status_of(code), report.message.decode(errors="replace")),
                        report.precond.decode(), report.method.decode(), report.reason.decode(),
                        report.fallback.decode(errors="replace"), report.attempts,
                        report.setup_ms, self._history(scale), self._options.krylov.contents.rtol))
                    for shown in self._shown:
                        shown.end(infos[-1])
        return vectors.answer(infos)

    def solve(self, b: Any, x0: Any = None, out: Any = None) -> Solution:
        """Solves A x = b, and returns (x, info) with a SolveResult. b, x0 and out are those of solve().

        A solve that needed another attempt than the first changes the order: the next solve begins
        with the attempt that converged.
        Errors: TypeError, ValueError, GridsweepError (INVALID_ARGUMENT after a failed update;
        OUT_OF_MEMORY, DEVICE).
        """
        self._address()
        return self._run(self._vectors(b, x0, out))

    def _vectors(self, b: Any, x0: Any, out: Any) -> Vectors:
        matrix = self._matrices[0]
        fields = field_shapes(self.grid) if matrix.map is None or matrix.mask else ()
        return Vectors(self.context, self.shape[0], b, x0, out, fields, self.grid.points)

    def update(self, A: Any, *, active: Any = None) -> Solver:
        """Takes the values of another matrix on the same grid and stencil, and returns the solver
        itself. The choice stays, and the preconditioner is computed again in the same memory. A is
        of any kind that solve() takes. `active` is a mask; None: the mask stays, and so does the place
        of each row, which is not looked for again.

        After a GridsweepError that comes from the values (ZERO_PIVOT, UNSUPPORTED, INVALID_ARGUMENT)
        every solve is refused until an update succeeds.
        Other errors: TypeError, ValueError, GridsweepError (NOT_A_GRID).
        """
        self._address()
        matrix = self._matrices[0]
        if active is None and isinstance(matrix.map, Map):
            matrix.refill(self.context, "A", A)
        else:
            matrix = _matrix(self.context, A, self.grid, self.stencil,
                             matrix.mask if active is None else active)
        with self.context._turn() as c:
            self._matrices[1:] = [matrix]
            self.context._check(library.gsw_solver_update(c, self._address(), byref(matrix.struct)),
                                "A")
            del self._matrices[:-1]
        self.shape = 2 * (matrix.rows,)
        self.active = matrix.mask and matrix.mask.array
        given, options = self._recipe[1:3], dict(self._recipe[3])
        if active is not None:
            options["active"] = active
        self._recipe = (A, *given, options)
        return self


def _rebuilt(kind: Any, A: Any, grid: Any, rtol: float, options: Any) -> Any:
    """What pickle and copy make: created anew from its matrix and its options."""
    return kind(A, grid, rtol=rtol, **options)


def _grid_of_shape(grid: Any, shape: Any) -> Grid:
    """The grid of a field's shape, which has the axes in NumPy's order."""
    if grid is not None:
        raise ValueError("grid, shape: give one of the two")
    if not isinstance(shape, (tuple, list)) or not 1 <= len(shape) <= 3:
        raise TypeError(f"shape: must be (nz, ny, nx) or (ny, nx), not {shape!r}")
    return Grid(*shape[::-1])


# The keywords of Solver() and solve().
_OPTIONS = names_of(SolverOptions, "grid", "rtol")


def solve(A: Any, b: Any, x0: Any = None, rtol: float = 1e-8, grid: Optional[GridLike] = None, *,
          out: Any = None, **options: Unpack[SolverOptions]) -> Solution:
    """Solves A x = b in float64, and returns (x, info) with a SolveResult. The library chooses the
    preconditioner and the method. If that attempt fails, it tries others, from the best x.

    A     sparse matrix of SciPy in any format; CSR is not copied. Or (values, columns, row_ptr) of
          CSR: columns ascend in each row, indices count from 0 or 1. The three are NumPy's arrays
          or others with DLPack. A is points x points, float64 or float32, with int32 or int64
          indices. CSR of PyTorch (torch.sparse_csr) is taken where it lies, and so is that of cupyx
          with context=Context("cuda"), which for a matrix on the device needs grid and stencil.
          A may have one more row and column, of one number each: the multiplier of a condition on
          the mean of x, where A maps constants to 0. Then x ends with the multiplier.
    b     shape (points,), or that of a field on the grid: (nz, ny, nx), in 2D also (ny, nx). Or
          (points, count) for several systems, one after the other; a field wins where both fit. x
          has the shape of b, and for several systems info is a list with a SolveResult for each,
          which is true if any of them failed. Fields of shape (count, nz, ny, nx) are the systems
          b.reshape(count, -1).T; x.T.reshape(b.shape) has their x.
          b may be an array with DLPack in float64, as of JAX or PyTorch; it is not copied, and x is
          NumPy's or `out`. With Context("cuda") b is on the device, and x comes back in `out`, which
          must be given.
    x0    the first guess, in the shape of b or (points,); unchanged unless it is `out`. None: zeros
    rtol  the solve stops when ||b - A x|| is at most max(rtol * ||b||, atol)
    grid  Grid or (nx, ny, nz); None: it is that of `shape` or `active`, or it is found, as by
          detect()

    Options, by keyword:
    shape       the grid as the shape of a field: (nz, ny, nx) or (ny, nx)
    verbose     True: prints the choice, a line an iteration, and how it ended
    progress    True: a progress bar, of tqdm if it is installed
    periodic    the axes whose ends are neighbours, such as "x" or "xy"; None: they are found. All
                couplings around the grid take part; incomplete factors and the sweeps in multigrid
                leave them out
    active      a mask: False at points that take no part, such as land in an ocean. Of bool or uint8,
                shape (nz, ny, nx), in 2D also (ny, nx), or (points,). Where A has rows for all points,
                those of inactive points, and b and x0 there, are not used and may hold NaN. A coupling
                to an inactive point counts as none. x is 0 there. The mask is used where it lies.
                Where A has rows for the active points alone, in natural order, so have b, x0 and x;
                or these are fields of all points, as for an A that has all rows
    coordinates  array of shape (rows, 2) or (rows, 3), x first: where each row lies. Rows may be in
                any order, and b, x0 and x are in the same one. The distinct values along an axis are
                the planes of the grid, so its spacing may vary; values are the same if they differ by
                at most 1e-6 of the axis, or 1e-9 of the largest coordinate. Points without a row are inactive. With CUDA a matrix with rows
                for some points, or with coordinates, is in host memory, and b and x on the device
    keep_inactive
                True: x stays x0 at inactive points; default False
    precond     "auto", or one to use: "none", "jacobi", "ssor", "dilu", "ilu0", "ic0", "mg"
    method      "auto", or one to use: "cg", "bicgstab", "gmres", "richardson"
    atol        default 0
    maxiter     largest number of iterations of all attempts together; None: 10000 for each
    restart     of GMRES: steps before it starts again, default 30
    norm, nullspace, callback, callback_type, out  as for cg(). The callback sees the iterations of all attempts
    smoother, cycle, pre_sweeps, post_sweeps, theta, cycle_type, coarsest_points
                for multigrid, as in multigrid(); the cycle_type is float32 by default
    factor_type, pivot_shift, omega
                for factors, as in ilu0() and ssor()
    stencil, threads, context  as for ilu0()

    An x that does not meet the tolerance raises nothing: check `if info:`; info.message says why. A
    matrix or an argument that is refused raises an exception that names the cause.
    Errors: TypeError, ValueError, GridsweepError (NOT_A_GRID and ZERO_PIVOT with the row,
    UNSUPPORTED, OVERFLOW, OUT_OF_MEMORY, DEVICE).
    """
    known_options("solve", options, ("x0", *_OPTIONS, "out"))
    solver = Solver.__new__(Solver)
    solver._prepare(A, grid, rtol, **options)
    vectors = solver._vectors(b, x0, out)
    with solver._start():
        return solver._run(vectors)
