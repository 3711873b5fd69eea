"""Many systems of one grid in one call."""

from __future__ import annotations

from ctypes import byref, c_void_p
from typing import TYPE_CHECKING, Any, List, NamedTuple, Optional, Tuple

import numpy as np

from . import _types as t
from ._arrays import Matrix, flat, source, target
from ._context import Context, logger
from ._errors import known_options, status_of, text_of
from ._krylov import ENDED, Results, Solution
from ._library import library
from ._options import GridLike, SolverOptions, names_of
from ._solver import Solver
from ._words import explained

if TYPE_CHECKING:
    from typing_extensions import Unpack


@explained
class SystemResult(NamedTuple):
    """How a system of solve_many() ended (gsw_system_report). It is true if something went wrong."""

    converged: bool   # the true residual of x meets the tolerance
    iterations: int   # of this system
    residual: float   # true ||b - A x|| / ||b||
    status: t.Status  # as in KrylovResult
    message: str      # of the first system that failed what the library said, of others what their
                      # status means; "" for SUCCESS

    def __bool__(self) -> bool:
        return not self.converged


# The keywords of solve_many(): nothing is shown or told of an iteration.
_OPTIONS = tuple(name for name in names_of(SolverOptions, "x0", "rtol", "grid", "out")
                 if name not in ("callback", "callback_type", "verbose", "progress", "coordinates", "nullspace"))


def _structs(solver: Solver, matrices: List[Any]) -> Tuple[Any, List[Matrix]]:
    """The matrices as an array for the library, and what keeps it valid."""
    made = [solver._matrices[0]]
    for number, A in enumerate(matrices[1:], 1):
        made.append(Matrix(solver.context, f"matrices[{number}]", A, solver.grid, solver.stencil,
                           made[0].mask))
    if made[0].map:
        raise ValueError("matrices: each must have a row for each point of the grid, in natural order")
    return (t.gsw_matrix * len(made))(*(matrix.struct for matrix in made)), made


def _results(c: Any, pointer: Any, count: int, code: int, context: Context) -> Results:
    message: Optional[str] = context._message(status_of(code)) if code else ""
    results = Results()
    for system in range(count):
        report = t.gsw_system_report()
        context._check(library.gsw_solver_get_system(pointer, system, byref(report)))
        status = status_of(report.status)
        said, message = (message or text_of(status), None) if status else ("", message)
        if status:
            logger.warning("%s", said)
        results.append(SystemResult(bool(report.converged), report.iterations, report.residual,
                                    status, said))
    return results


def solve_many(matrices: Any, b: Any, x0: Any = None, rtol: float = 1e-8,
               grid: Optional[GridLike] = None, *, out: Any = None,
               **options: Unpack[SolverOptions]) -> Solution:
    """Solves A x = b for many systems of one grid and stencil, each with its own values, and returns
    (x, info): info is a list with a SystemResult for each, which is true if any of them failed.

    Use it for many small systems: on the CPU each thread solves one at a time, on a GPU each kernel
    works on all of them. For many b of one matrix use Solver.

    matrices  a list of matrices as solve() takes them, with a row for each point of the grid
    b         array of shape (systems, points), or (systems, nz, ny, nx); x has its shape
    x0, out   the same; None: zeros, and a new array
    rtol, grid, and the options of solve(), except callback, verbose, progress, coordinates and
    nullspace; they hold for each system.

    A system that does not converge raises nothing: check `if info:`.
    Errors: as for solve().
    """
    known_options("solve_many", options, _OPTIONS)
    matrices = list(matrices)
    if not matrices:
        raise ValueError("matrices: there are none")
    solver = Solver.__new__(Solver)
    solver._prepare(matrices[0], grid, rtol, **options)
    context, count, points = solver.context, len(matrices), solver.grid.points
    structs, kept = _structs(solver, matrices)
    shapes = ((count, points), (count, *solver.grid.shape), (count, *solver.grid.shape[1:]))
    given, shape = flat(context, "b", b, shapes)
    if shape is None:
        raise ValueError(f"b: has shape {tuple(getattr(given, 'shape', np.shape(b)))}, must have ({count}, "
                         f"{points}) or {shapes[1]}")
    given = source(context, "b", given, count * points, np.float64)
    result = target(context, "out", flat(context, "out", out, shapes)[0], given.shape, np.float64)
    if given.overlaps(result):
        raise ValueError("out: overlaps b")
    if x0 is not None and x0 is not out and context.backend == "cuda":
        raise ValueError("x0: on a device it must be None or the same array as out")
    pointer = c_void_p()
    with context._turn() as c:
        if x0 is None:
            context._check(library.gsw_memory_set(c, result.address, 0, 8 * count * points))
        elif x0 is not out:
            guess = flat(context, "x0", x0, shapes)[0]
            np.copyto(result.host(), source(context, "x0", guess, count * points, np.float64).host())
        context._check(library.gsw_solver_create_many(c, count, structs, byref(solver._options),
                                                      byref(pointer)), "matrices")
        try:
            code = library.gsw_solver_solve(c, pointer, given.address, result.address, None)
            if status_of(code) not in ENDED:
                context._check(code)
            infos = _results(c, pointer, count, code, context)
        finally:
            library.gsw_solver_destroy(pointer)
    del kept
    return (out if out is not None else result.array.reshape(shape)), infos
