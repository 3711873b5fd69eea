"""The options that functions take by keyword. The docstrings of the functions explain them."""

from typing import Any, Callable, Optional, Sequence, Tuple, TypedDict, Union

from ._context import Context
from ._grid import Grid, Stencil

GridLike = Union[Grid, Tuple[int, ...]]
StencilLike = Union[Stencil, str, Sequence[Tuple[int, int, int]]]


class _Place(TypedDict, total=False):
    stencil: Optional[StencilLike]
    periodic: Optional[str]
    active: Any
    threads: int
    context: Optional[Context]


class TriangularOptions(_Place, total=False):
    """Options of triangular() and of all factors."""

    factor_type: Any
    vector_type: Any
    transpose: bool


class FactorOptions(TriangularOptions, total=False):
    """Options of factors that have pivots."""

    pivot_shift: float


class Hierarchy(TypedDict, total=False):
    """What describes a hierarchy."""

    smoother: str
    cycle: str
    pre_sweeps: int
    post_sweeps: int
    theta: float
    cycle_type: Any
    coarsest_points: Optional[int]


class MultigridOptions(_Place, Hierarchy, total=False):
    pass


class _Stopping(_Place, total=False):
    atol: float
    maxiter: Optional[int]
    callback: Optional[Callable[..., Any]]
    callback_type: Optional[str]
    norm: str
    nullspace: Any
    keep_inactive: bool


class KrylovOptions(_Stopping, total=False):
    rtol: float
    M: Any
    out: Any
    grid: Optional[GridLike]


class SolverFactor(TypedDict, total=False):
    """What describes a factor for solve()."""

    factor_type: Any
    pivot_shift: float
    omega: float


class SolverOptions(_Stopping, SolverFactor, Hierarchy, total=False):
    shape: Optional[Tuple[int, ...]]
    verbose: bool
    progress: bool
    coordinates: Any
    precond: str
    method: str
    restart: int


def names_of(options: Any, *others: str) -> Tuple[str, ...]:
    """The keywords of one of these classes, after the names `others`."""
    return (*others, *options.__annotations__)
