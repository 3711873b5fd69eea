"""The library's own preconditioned Krylov solvers. Between iterations they call Python only for the
user's functions."""

from __future__ import annotations

from contextlib import contextmanager, nullcontext
from ctypes import byref
from typing import TYPE_CHECKING, Any, Iterator, List, NamedTuple, Optional, Tuple

import numpy as np

from . import _types as t
from ._arrays import Matrix, Shapes, adopt, field_shapes, flat, source, target
from ._callback import Callback, Monitor, function_of, interruptible, made, told_as
from ._context import Context, context_for, logger
from ._errors import choice, integer, known_options, real, status_of, text_of
from ._grid import with_axes
from ._library import library
from ._options import KrylovOptions, names_of
from ._preconditioner import Preconditioner
from ._words import explained, short

if TYPE_CHECKING:
    from typing_extensions import Unpack

# Statuses after which there is an iterate and a report.
ENDED = {t.Status.SUCCESS, t.Status.NOT_CONVERGED, t.Status.BREAKDOWN, t.Status.NON_FINITE,
         t.Status.STOPPED}


@explained
class KrylovResult(NamedTuple):
    """How a solve ended (gsw_krylov_result). Like SciPy's info it is true if something went wrong:
    `if info:` means that x does not meet the tolerance."""

    converged: bool    # the true residual of x meets the tolerance
    iterations: int    # of this system
    residual: float    # true ||b - A x|| / ||b|| at the end (the norm itself if b = 0)
    recurrence: float  # the method's own last norm divided by its reference
    solve_ms: float    # wall time
    status: t.Status   # SUCCESS, NOT_CONVERGED, BREAKDOWN, NON_FINITE or STOPPED
    message: str       # the library's message about it; "" for SUCCESS. Of several systems the first
                       # one that failed has it, and the others what their status means
    stagnated: bool    # NOT_CONVERGED because more iterations would not help
    replacements: int  # how often the true residual replaced the recurrence
    removed: float     # |v'(b - A x)| / ||b|| with a null vector v of length 1: `residual` leaves this out.
                       # Of a symmetric A it is the part of b along v

    def __bool__(self) -> bool:
        return not self.converged

    def __repr__(self) -> str:
        return short(self, "converged iterations residual solve_ms")


class Results(List[Any]):
    """How the solves of several systems ended: a list with a result for each. Like one of them it is
    true if something went wrong."""

    def __bool__(self) -> bool:
        return any(self)

    @property
    def converged(self) -> bool:
        """Whether all have."""
        return all(result.converged for result in self)

    @property
    def iterations(self) -> int:
        """The most of one system."""
        return max((result.iterations for result in self), default=0)

    @property
    def residual(self) -> float:
        """The largest, or NaN."""
        return float(np.max([result.residual for result in self], initial=0.0))

    @property
    def message(self) -> str:
        """That of the first system that failed; "" where none has."""
        return next((result.message for result in self if result), "")


Solution = Tuple[Any, Any]  # x and how the solve ended; for several systems Results

# The keywords of the functions below.
_OPTIONS = names_of(KrylovOptions, "x0")


def _rows(context: Context, A: Any, b: Any) -> Optional[int]:
    """The number of rows if A is a function, else None. A function without a shape has those of b."""
    if function_of(A) is None:
        return None
    if hasattr(A, "shape"):
        return integer("A: rows", A.shape[0], 1, 2**62)
    view = adopt(context, "b", b)
    shape = view.shape if hasattr(view, "shape") else np.shape(view)
    if len(shape) not in (1, 2) or shape[0] < 1:
        raise ValueError(f"b: has shape {tuple(shape)}, must have (points,) or (points, count)")
    return int(shape[0])


def _check_size(M: Preconditioner, rows: int) -> None:
    if M.shape[0] != rows:
        raise ValueError(f"M: has {M.shape[0]} points; A has {rows} rows")


def _guess(context: Context, x0: Any, out: Any, result: Any) -> Any:
    """x0 as a view to copy into `result`, or None if nothing is to be copied."""
    if x0 is None or x0 is out:
        return None
    if context.backend == "cuda":
        raise ValueError("x0: on a device it must be None or the same array as out")
    guess = source(context, "x0", x0, result.shape[0], np.float64)
    if guess.shape != result.shape:
        raise ValueError(f"x0: has shape {guess.shape}, must have {result.shape}")
    return guess


class Vectors:
    """b, x and the guess of a solve for one system, or for several in columns. b may be a field on the
    grid, of one of the shapes `fields` and of `points` values; then x is one, too."""

    def __init__(self, context: Context, rows: int, b: Any, x0: Any, out: Any, fields: Shapes = (),
                 points: Optional[int] = None) -> None:
        b, self.shape = flat(context, "b", b, fields)
        rows = points if points and self.shape is not None else rows
        self.context, self.rows = context, rows
        self.out, same = out, x0 is out
        if isinstance(out, np.ndarray) and out.shape in fields and not out.flags.c_contiguous:
            raise ValueError("out: must be contiguous (order='C')")
        out = flat(context, "out", out, fields)[0]
        x0 = out if same else flat(context, "x0", x0, fields)[0]
        self.given = source(context, "b", b, rows, np.float64, fields)
        self.result = target(context, "out", out, self.given.shape, np.float64)
        self.count, self.several = self.given.count, len(self.given.shape) == 2
        if self.count and self.given.overlaps(self.result):
            raise ValueError("out: overlaps b")
        self.zeros, self.guess = x0 is None, _guess(context, x0, out, self.result)

    def begin(self, c: Any, null: Any) -> None:
        """Writes the guess into x, which must not overlap the null vector `null`."""
        if null is not None and null.overlaps(self.result):
            raise ValueError("out: overlaps nullspace")
        if self.guess is not None:
            np.copyto(self.result.host(), self.guess.host())
        elif self.zeros:
            for _, x in self.addresses():
                self.context._check(library.gsw_memory_set(c, x, 0, 8 * self.rows))

    def addresses(self) -> Iterator[Tuple[int, int]]:
        """Those of b and x of each system."""
        for i in range(self.count):
            yield (self.given.address + 8 * i * self.given.ld,
                   self.result.address + 8 * i * self.result.ld)

    def answer(self, infos: List[Any]) -> Solution:
        x = self.out if self.out is not None else self.result.array
        if self.out is None and self.shape is not None:
            x = x.reshape(self.shape)
        return x, Results(infos) if self.several else infos[0]


def krylov_options(rtol: float, atol: float, maxiter: Optional[int], restart: int, norm: str,
                   keep_inactive: bool) -> t.gsw_krylov_options:
    """The C options for these arguments."""
    options = t.gsw_krylov_options(
        rtol=real("rtol", rtol, lambda v: v >= 0, "0 or more"),
        atol=real("atol", atol, lambda v: v >= 0, "0 or more"),
        max_iterations=0 if maxiter is None else integer("maxiter", maxiter, 1, 2**62),
        restart=integer("restart", restart, 1), norm=choice("norm", norm, t.NORMS),
        keep_inactive=bool(keep_inactive))
    if options.rtol == 0 and options.atol == 0:
        raise ValueError("rtol, atol: one of the two must be above 0")
    return options


def take_nullspace(context: Context, nullspace: Any, rows: int, options: t.gsw_krylov_options) -> Any:
    """Sets the options' null vector. The returned object keeps its memory alive."""
    if nullspace is None or isinstance(nullspace, str):
        options.nullspace = choice("nullspace", nullspace or "none", t.NULLSPACES)
        return None
    null = source(context, "nullspace", nullspace, rows, np.float64)
    if null.shape != (rows,):
        raise ValueError(f"nullspace: has shape {null.shape}, must have ({rows},), or be \"constant\"")
    options.nullspace, options.null_vector = 2, null.address
    return null


@contextmanager
def _function(context: Context, name: str, function: Any, create: Any, rows: int, like: Any,
              raised: List[BaseException]) -> Iterator[Any]:
    """The address of what the library makes of a function, which exists during the `with`."""
    callback = Callback(context, name, function, rows, like, raised)
    with made(context, create, rows, callback.pointer, None) as address:
        yield address


def _operator(context: Context, A: Any, matrix: Any, rows: int, like: Any, raised: List[BaseException]) -> Any:
    """The address of an operator for A, which exists during the `with`."""
    if matrix is not None:
        return made(context, library.gsw_operator_from_matrix, byref(matrix.struct))
    return _function(context, "A", A, library.gsw_operator_from_callback, rows, like, raised)


def _preconditioner(context: Context, M: Any, rows: int, like: Any, raised: List[BaseException]) -> Any:
    """The address of a preconditioner for M, which exists during the `with`; None for None."""
    if M is None:
        return nullcontext()
    if isinstance(M, Preconditioner):
        return made(context, M._make_preconditioner, M._address())
    return _function(context, "M", M, library.gsw_preconditioner_from_callback, rows, like, raised)


def ending(report: Any, status: t.Status, message: str) -> Tuple[Any, ...]:
    """The members of KrylovResult, from a C struct that has them."""
    if status:
        logger.warning("%s", message)
    return (bool(report.converged), report.iterations, report.residual, report.recurrence,
            report.solve_ms, status, message, bool(report.stagnated), report.replacements,
            report.removed)


def _named(function: str, A: Any, b: Any, x0: Any, options: Any, **own: Any) -> Solution:
    """What the public function of that name returns for its keywords, the own ones last."""
    known_options(function, options, (*_OPTIONS, *own))
    return _solve(t.METHODS[function] - 1, A, b, x0, **options, **own)


def _solve(method: int, A: Any, b: Any, x0: Any = None, *, rtol: float = 1e-8, atol: float = 0.0,
           maxiter: Optional[int] = None, M: Any = None, callback: Any = None, callback_type: Optional[str] = None,
           out: Any = None, restart: int = 30, norm: str = "true", nullspace: Any = None,
           keep_inactive: bool = False, grid: Any = None, stencil: Any = None, periodic: Optional[str] = None,
           active: Any = None, threads: int = 0, context: Optional[Context] = None) -> Solution:
    options = krylov_options(rtol, atol, maxiter, restart, norm, keep_inactive)
    callback = told_as(callback, callback_type)
    if isinstance(M, Preconditioner):
        if context not in (None, M.context) or threads:
            raise ValueError("context, threads: a solve with M runs in the context of M")
        if M.dtype != np.float64:
            raise ValueError("M: must have vector_type float64")
        M._address()
        context = M.context
    elif M is not None and function_of(M) is None:
        raise TypeError("M: must be a gridsweep.Factor or Multigrid, a LinearOperator or a "
                        f"function, not {type(M).__name__}")
    context = context_for(context, threads)
    matrix, rows = None, _rows(context, A, b)
    if rows is None:
        known = (M.grid, M.stencil, M._mask) if isinstance(M, Preconditioner) else 3 * (None,)
        if isinstance(M, Preconditioner) and grid is None and hasattr(A, "shape"):
            _check_size(M, A.shape[0])
        grid = grid or known[0] if periodic is None else with_axes(grid, periodic)
        matrix = Matrix(context, "A", A, grid, stencil or known[1],
                        known[2] if active is None else active)
        rows = matrix.rows
    elif (grid, stencil, periodic) != (None, None, None):
        raise ValueError("grid, stencil, periodic: A is a function, which has none")
    elif active is not None:
        raise ValueError("active: A is a function, which has no mask")
    if isinstance(M, Preconditioner):
        _check_size(M, rows)
    fields = field_shapes(matrix.grid) if matrix is not None else ()
    vectors = Vectors(context, rows, b, x0, out, fields)
    given, result = vectors.given, vectors.result
    if vectors.count == 0:
        return vectors.answer([])
    null = take_nullspace(context, nullspace, rows, options)

    raised: List[BaseException] = []
    if callback is not None and vectors.several:
        options.monitor_many = t.MONITOR_MANY_FN(Monitor(callback, raised))
    elif callback is not None:
        options.monitor = t.MONITOR_FN(Monitor(callback, raised))
    reports = (t.gsw_krylov_result * given.count)(*(t.gsw_krylov_result() for _ in range(given.count)))
    with context._turn() as c, _operator(context, A, matrix, rows, given.array, raised) as op, \
            _preconditioner(context, M, rows, given.array, raised) as preconditioner:
        vectors.begin(c, null)
        with interruptible(raised):
            if vectors.several:
                code = library.gsw_krylov_many(c, method, op, preconditioner, byref(options),
                                               given.count, given.address, given.ld,
                                               result.address, result.ld, reports)
            else:
                code = library.gsw_krylov(c, method, op, preconditioner, byref(options),
                                          given.address, result.address, reports)
        if raised:
            raise raised[0]
        if status_of(code) not in ENDED:
            context._check(code)
        message: Optional[str] = context._message(status_of(code)) if code else ""
    infos = []
    for report in reports:
        status = status_of(report.status)
        told, message = (message or text_of(status), None) if status else ("", message)
        infos.append(KrylovResult(*ending(report, status, told)))
    return vectors.answer(infos)


def cg(A: Any, b: Any, x0: Any = None, **options: Unpack[KrylovOptions]) -> Solution:
    """Solves A x = b with conjugate gradients in float64, and returns (x, info) with a KrylovResult.

    Use it for symmetric positive definite A, with M from ic0() or multigrid(). Use bicgstab() or
    gmres() for other A.

    A   as for ilu0(); or a LinearOperator of SciPy, or a function that takes x and returns A x.
        For cg() A and M are symmetric and positive definite.
    b   shape (points,), or that of a field on the grid: (nz, ny, nx), in 2D also (ny, nx). Or
        (points, count) for several systems at once. With a Factor as M, and with a matrix without M,
        cg() and bicgstab() share reading them among systems. x has the shape of b, and for several
        systems info is a list with a KrylovResult for each, which is true if any of them failed. Each
        system has its own end, and the bits that it has alone without Eisenstat's form.
    x0  the first guess, in the shape of b; unchanged unless it is `out`. None: zeros

    Options, by keyword:
    M           the preconditioner: a Factor of vector_type float64 or a Multigrid, and the solve
                runs in its context. Or a LinearOperator or a function that takes b and returns
                M^-1 b. None: no preconditioner
    rtol, atol  the solve stops when the residual norm is at most max(rtol * reference, atol);
                default 1e-8 and 0
    maxiter     largest number of iterations; None, the default: 10000
    callback    function of (iteration, residual), or for several systems of (system, iteration,
                residual), that returns True to stop. It must not use the
                context. An exception in it is raised here.
    callback_type
                "pr_norm" or "legacy": the callback is one for SciPy's gmres, and gets the residual of
                each iteration from 1 on. Its form "x" is refused
    out         array for x: float64, contiguous, not overlapping b. It is returned. None: a new
                array. With CUDA it must be given, and x0 is None or the same array.
    norm        "true": ||b - A x|| relative to ||b||; "preconditioned": ||M^-1 (b - A x)||
                relative to ||M^-1 b||
    nullspace   None: A is regular. "constant": A maps constant vectors to 0, as with pure Neumann
                conditions. Or an array of shape (points,) that A maps to 0. The solve leaves out
                that part of b and x, and the residual is that of the rest.
    keep_inactive  with a mask: True: x stays as it was (x0) at inactive points; False: it becomes 0
    grid, stencil, periodic, threads, context  as for ilu0(); with a Factor or Multigrid as M those
                of M
    active      a mask as for solve(); None: that of a Factor or Multigrid as M

    The functions A and M get a vector of shape (points,) in the library's own memory. They read it,
    keep no reference to it, and return another vector in float64. On the CPU it is an array of NumPy.
    With CUDA it is one of CuPy or PyTorch, like b, and the context's stream is current. The functions
    may use the context, except for another Krylov method. Their exceptions are raised here.

    An iteration that ends without convergence raises nothing: check `if info:`. x is then the last
    iterate, which need not be the best one. A method may diverge, such as cg() with a matrix that is
    not symmetric; maxiter limits this.
    Errors: TypeError, ValueError, GridsweepError (NOT_A_GRID, UNSUPPORTED, OUT_OF_MEMORY, DEVICE).
    """
    return _named("cg", A, b, x0, options)


def bicgstab(A: Any, b: Any, x0: Any = None, **options: Unpack[KrylovOptions]) -> Solution:
    """Solves A x = b with BiCGSTAB for any regular A; the usual method if A is not symmetric.
    Arguments as for cg()."""
    return _named("bicgstab", A, b, x0, options)


def gmres(A: Any, b: Any, x0: Any = None, *, restart: int = 30,
          **options: Unpack[KrylovOptions]) -> Solution:
    """Solves A x = b with GMRES, restarted after `restart` steps, for any regular A. It keeps
    restart + 2 vectors. Use it if bicgstab() breaks down. Arguments as for cg()."""
    return _named("gmres", A, b, x0, options, restart=restart)


def richardson(A: Any, b: Any, x0: Any = None, **options: Unpack[KrylovOptions]) -> Solution:
    """Solves A x = b with the stationary iteration x += M^-1 (b - A x). Use it if M is close to A,
    such as multigrid() on its own or a good smoother. A solve that diverges, or that hardly gains any
    more, ends with `stagnated` set. Arguments as for cg()."""
    return _named("richardson", A, b, x0, options)
