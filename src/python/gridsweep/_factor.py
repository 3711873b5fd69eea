"""Packed triangular factors, for preconditioners and for repeated triangular solves."""

from __future__ import annotations

import weakref
from ctypes import byref
from typing import TYPE_CHECKING, Any, Callable, NamedTuple, Optional, Tuple

import numpy as np

from . import _types as t
from ._arrays import Matrix, copy_csr, dtype_argument, solve_into
from ._context import Context, context_for
from ._errors import known_options, real
from ._grid import Grid, Stencil, with_axes
from ._library import library
from ._options import FactorOptions, GridLike, TriangularOptions, names_of
from ._preconditioner import Preconditioner
from ._words import explained

if TYPE_CHECKING:
    from typing_extensions import Unpack

_DTYPES = tuple(t.DTYPES)  # by their numbers in the library


@explained
class FactorInfo(NamedTuple):
    """The description of a factor (gsw_factor_info)."""

    kind: str            # "ilu0", "ic0" and so on
    factor_type: str     # dtype of the coefficients
    vector_type: str     # dtype of b and x, and of the arithmetic
    grid: Grid           # that of the matrix
    stencil: Stencil     # that of the matrix
    points: int          # rows
    packed_bytes: int    # coefficients kept, padding included
    work_bytes: int      # everything else that the factor keeps
    moved_bytes: int     # bytes that one solve must move at least
    shifted_pivots: int  # pivots replaced in the last factorisation
    first_bad_row: int   # lowest row (from 0) whose pivot stopped the last factorisation, or -1


class Factor(Preconditioner):
    """A packed factor M of a matrix. ilu0(), ic0(), dilu(), ssor(), jacobi() and triangular() create
    it. Pass it as M to the Krylov methods here or to SciPy's, or solve with it directly. As an
    operator it is the inverse: factor @ b, factor.matvec(b) and factor.solve(b) are the x with
    M x = b.

    shape, dtype  (points, points) and the vector_type
    grid, stencil, kind, context
    active        the mask of A, or None
    T, H          the factor of M^T, as from transposed()
    closed        True after close()

    With SciPy it is a scipy.sparse.linalg.LinearOperator. Of the matrix it keeps a reference to A, from
    which pickle and copy.deepcopy() create it anew; a solve does not read it. Threads may share it:
    their solves take turns. It is freed by close(), at the end of `with`, with its last reference, or
    with its context, whichever comes first. After that a solve raises ValueError.
    """

    kind: str
    if TYPE_CHECKING:
        T: Factor
        H: Factor
    _noun = "factor"
    _make_preconditioner = library.gsw_preconditioner_from_factor

    def __init__(self, context: Context, matrix: Any, options: t.gsw_factor_options,
                 create: Any = library.gsw_factor_create) -> None:
        self.kind = next(kind for kind, number in t.KINDS.items() if number == options.kind)
        self._options = options
        # Returns the transposed factor, if it has been created.
        self._mate: Callable[[], Optional[Factor]] = lambda: None
        super().__init__(context, matrix, _DTYPES[options.vector_type], create, options,
                         library.gsw_factor_destroy)

    def __repr__(self) -> str:
        state = (", transposed" if self._options.transpose else "") + (
            ", closed" if self.closed else "")
        return f"<gridsweep.Factor {self.kind} {self.grid} {self.stencil.name}{state}>"

    def solve(self, b: Any, out: Any = None) -> Any:
        """Solves M x = b (M^T x = b for a factor created with transpose), and returns x.

        b    shape (points,), or (points, count) for several right-hand sides b[:, r] at once. It is
             used in place if it has the factor's dtype and each right-hand side is contiguous
             (order "F"). Otherwise a NumPy array is copied, and another array with DLPack is
             refused. NaN and infinity travel along existing couplings only.
        out  array for x, of NumPy or with DLPack: the shape of b, the factor's dtype, each solution
             contiguous. out=b solves in place. None: a new array in order "F". It is returned.

        With CUDA both are device arrays, out must be given, and the solve is queued on the stream
        of the context.
        Errors: TypeError, ValueError, GridsweepError (INVALID_ARGUMENT after a failed refactor; with
        CUDA also DEVICE, TIMEOUT).
        """
        self._address()
        return solve_into(self.context, b, out, self.shape[0], self.dtype,
                          lambda *vectors: self._call(library.gsw_factor_solve, *vectors))

    def transposed(self) -> Factor:
        """The Factor of M^T: f.T @ b, f.rmatvec(b) and f.transposed().solve(b) are the x with
        M^T x = b. The first call creates it from the result of extract(), and it is kept until the
        next refactor(). For ic0 and jacobi, which are symmetric, it is the factor itself.
        Errors: ValueError (closed), NotImplementedError (ssor, and factors created with transpose:
        create one with transpose=True, or without), GridsweepError (OUT_OF_MEMORY, DEVICE).
        """
        self._address()
        if self.kind in ("ic0", "jacobi"):
            return self
        mate = self._mate()
        if mate is None:
            if self.kind == "ssor" or self._options.transpose:
                other = "without transpose" if self._options.transpose else "with transpose=True"
                raise NotImplementedError(f"factor: of kind {self.kind} it cannot be transposed "
                                          f"afterwards; make another one {other}")
            mate = _transposed_of(self)
            mate._mate, self._mate = weakref.ref(self), lambda: mate
        return mate

    def refactor(self, A: Any, *, active: Any = None) -> Factor:
        """Takes the values of another matrix on the same grid and stencil, and returns the factor
        itself. Use it in each time step instead of creating a factor again. A coupling outside the
        stencil is refused, also where the first matrix stored a zero: then create a new factor.
        `active` is a mask as for solve(); None: the mask stays.

        The library allocates nothing. After a GridsweepError (ZERO_PIVOT, NOT_A_GRID) every solve is
        refused until a refactor succeeds. Other errors: TypeError, ValueError.
        """
        self._address()
        matrix = self._new_values(A, active)
        mate = self._mate()
        if mate is not None:
            mate._mate = self._mate = lambda: None
        self._call(library.gsw_factor_refactor, byref(matrix.struct), None, about="A")
        self._takes(A, active)
        self._take_mask(matrix.mask)
        return self

    @property
    def info(self) -> FactorInfo:
        """The description of the factor, a FactorInfo."""
        info = t.gsw_factor_info()
        with self.context._turn():
            self.context._check(library.gsw_factor_get_info(self._address(), byref(info)))
        return FactorInfo(self.kind, _DTYPES[info.factor_type], _DTYPES[info.vector_type],
                          self.grid, self.stencil, self.shape[0],
                          *(getattr(info, name) for name in FactorInfo._fields[6:]))

    def extract(self) -> Tuple[Optional[Tuple[Any, Any, Any]], Optional[Tuple[Any, Any, Any]]]:
        """The factors L and U with M = L U, to look at them: each is (values, columns, row_ptr) of
        CSR. These are new arrays in float64 with indices from 0; scipy.sparse.csr_matrix takes such a
        tuple. IC0 gives U = L^T. DILU gives L = E + L_A and U = I + E^-1 U_A. A triangular factor
        gives None for the part that it lacks. The pattern is the whole stencil inside the grid.
        Errors: ValueError (closed), GridsweepError (UNSUPPORTED: jacobi, ssor, transposed).
        """
        parts = [t.gsw_csr(), t.gsw_csr()]
        missing = {"lower": 1, "upper": 0}.get(self.kind)
        wanted = [None if i == missing else byref(parts[i]) for i in range(2)]
        self._call(library.gsw_factor_extract, t.ITYPES["int64"], *wanted)
        try:
            lower, upper = (copy_csr(part) if want else None for part, want in zip(parts, wanted))
            return lower, upper
        finally:
            for part in parts:
                library.gsw_csr_free(byref(part))


class _Uploaded:
    """A matrix of host arrays (values, columns, row_ptr), copied to the memory of the context."""

    def __init__(self, like: Factor, parts: Any) -> None:
        self.context, self.grid, self.stencil, self.rows = like.context, like.grid, like.stencil, \
            like.shape[0]
        self.mask = like._mask
        host, self.struct = t.gsw_matrix(), t.gsw_matrix()
        values, columns, row_ptr = parts
        csr = t.gsw_csr(self.rows, values.size, row_ptr.ctypes.data, columns.ctypes.data,
                        values.ctypes.data, t.ITYPES["int64"], t.DTYPES["float64"], 0)
        with self.context._turn() as c:
            self.context._check(library.gsw_matrix_from_csr(
                c, byref(self.grid._c()), byref(self.stencil._struct), byref(csr), byref(host)))
            self.context._check(library.gsw_matrix_upload(c, byref(host), byref(self.struct)))
        self.struct.active = self.mask and self.mask.address

    def __enter__(self) -> _Uploaded:
        return self

    def __exit__(self, *exception: Any) -> None:
        with self.context._turn() as c:
            library.gsw_matrix_release(c, byref(self.struct))


def _transposed_of(factor: Factor) -> Factor:
    """A new Factor of M^T, from the L and U of a factor that can be extracted."""
    lower: Any
    upper: Any
    lower, upper = factor.extract()
    options = t.gsw_factor_options.from_buffer_copy(factor._options)
    options.transpose, options.pivot_shift = 1, 0.0
    if factor.kind == "dilu":  # M = (E + L_A) E^-1 (E + U_A): E goes from the left to the right
        def rows_of(part: Any) -> Any:
            return np.repeat(np.arange(factor.shape[0]), np.diff(part[2]))
        diagonal = lower[0][lower[1] == rows_of(lower)]
        lower = (lower[0] / diagonal[lower[1]], *lower[1:])
        upper = (upper[0] * diagonal[rows_of(upper)], *upper[1:])
    if lower is None or upper is None:
        with _Uploaded(factor, lower or upper) as matrix:
            return Factor(factor.context, matrix, options)
    with _Uploaded(factor, lower) as first, _Uploaded(factor, upper) as second:
        def create(c: Any, matrix: Any, options: Any, pointer: Any) -> Any:
            return library.gsw_factor_create_lu(c, matrix, byref(second.struct), options, pointer)
        return Factor(factor.context, first, options, create)


# The keywords of the functions below. A triangular part takes any pivot, so it has no pivot_shift.
_TRIANGULAR = names_of(TriangularOptions, "grid")
_OPTIONS = names_of(FactorOptions, "grid")


def factor_options(kind: str, factor_type: Any = "float64", vector_type: Any = "float64",
                   transpose: bool = False, unit_diagonal: bool = False, pivot_shift: float = 0.0,
                   omega: float = 1.0) -> t.gsw_factor_options:
    """The C options for these arguments."""
    options = t.gsw_factor_options(
        kind=t.KINDS[kind], factor_type=t.DTYPES[dtype_argument("factor_type", factor_type)],
        vector_type=t.DTYPES[dtype_argument("vector_type", vector_type)],
        transpose=bool(transpose), unit_diagonal=bool(unit_diagonal),
        omega=real("omega", omega, lambda v: 0 < v < 2, "between 0 and 2"),
        pivot_shift=real("pivot_shift", pivot_shift, lambda v: v >= 0, "0 or more"))
    if options.vector_type > options.factor_type:
        raise ValueError("vector_type: float32 needs factor_type float32")
    return options


def _factor(kind: str, A: Any, grid: Any, options: Any, **own: Any) -> Factor:
    """What the public function of that name returns for its keywords, the own ones last."""
    known_options(kind, options, (*_OPTIONS, *own))
    return _create(kind, A, grid, **options, **own)


def _create(kind: str, A: Any, grid: Any, *, stencil: Any = None, periodic: Optional[str] = None,
            active: Any = None, threads: int = 0, context: Optional[Context] = None, **values: Any) -> Factor:
    options = factor_options(kind, **values)
    place = context_for(context, threads)
    made = Factor(place, Matrix(place, "A", A, with_axes(grid, periodic), stencil, active), options)
    made._recipe = (_create, (kind, A, grid), dict(values, stencil=stencil, periodic=periodic,
                                                   active=active, threads=threads, context=context))
    return made


def ilu0(A: Any, grid: Optional[GridLike] = None, **options: Unpack[FactorOptions]) -> Factor:
    """ILU(0) of A: M = L U, no fill-in, L with unit diagonal. Returns a Factor.

    It is the preconditioner to begin with for a matrix that is not symmetric; combine it with
    bicgstab(). For symmetric positive definite matrices use ic0(), and for large grids with diffusion
    or pressure multigrid().

    A     sparse matrix of SciPy in any format; CSR is not copied. Or (values, columns, row_ptr) of
          CSR: columns ascend in each row, indices count from 0 or 1. The three are NumPy's arrays
          or others with DLPack. A is points x points, float64 or float32, with int32 or int64
          indices. A stored zero is no coupling.
    grid  Grid or (nx, ny, nz); None: it is found, as by detect()

    Options, by keyword:
    stencil      Stencil or its name; None: it is found
    periodic     as for solve(). The factor is that of the couplings inside the grid; triangular()
                 keeps those around it
    active       a mask as for solve(). The factor is that of the active points, and x is 0 at others
    factor_type  "float64" or "float32" (or NumPy's types): the type of the stored coefficients
    vector_type  the same for b, x and the arithmetic; "float32" needs factor_type "float32"
    transpose    True: solves use M^T
    pivot_shift  0: a bad pivot (zero, not finite; ic0: also negative) is an error; > 0: it becomes
                 +-pivot_shift times the row's largest |coefficient|
    threads      CPU threads; 0: as many as OpenMP offers
    context      Context to work in; None: a new one on the CPU with `threads`. With CUDA the arrays
                 of A are in device memory, and grid and stencil must be given.

    Errors: TypeError, ValueError (named arguments), GridsweepError (NOT_A_GRID and ZERO_PIVOT with
    the row, UNSUPPORTED, OVERFLOW, OUT_OF_MEMORY, DEVICE).
    """
    return _factor("ilu0", A, grid, options)


def ic0(A: Any, grid: Optional[GridLike] = None, **options: Unpack[FactorOptions]) -> Factor:
    """IC(0) of a symmetric positive definite A: M = L L^T, for cg(). Only the lower part of A is
    read. Arguments as for ilu0()."""
    return _factor("ic0", A, grid, options)


def dilu(A: Any, grid: Optional[GridLike] = None, **options: Unpack[FactorOptions]) -> Factor:
    """DILU of A: M = (E + L_A) E^-1 (E + U_A) with diag(M) = diag(A). Its set-up is cheaper than that
    of ilu0(). M is the same on D2N5 and D3N7, and weaker on larger stencils. Arguments as for
    ilu0()."""
    return _factor("dilu", A, grid, options)


def ssor(A: Any, grid: Optional[GridLike] = None, *, omega: float = 1.0,
         **options: Unpack[FactorOptions]) -> Factor:
    """SSOR of A: M = (D/w + L_A) (D/w)^-1 (D/w + U_A) / (2-w) with w = omega, 0 < omega < 2. omega 1
    is symmetric Gauss-Seidel. Use it as a smoother, or if ilu0() or ic0() meets a bad pivot: it
    needs only a diagonal without zeros. Arguments as for ilu0()."""
    return _factor("ssor", A, grid, options, omega=omega)


def jacobi(A: Any, grid: Optional[GridLike] = None, **options: Unpack[FactorOptions]) -> Factor:
    """The diagonal of A: one scaling, for problems where a sweep does not pay. Arguments as for
    ilu0()."""
    return _factor("jacobi", A, grid, options)


def triangular(A: Any, grid: Optional[GridLike] = None, *, lower: bool = True,
               unit_diagonal: bool = False, **options: Unpack[TriangularOptions]) -> Factor:
    """The lower (or upper) part of A with its diagonal, packed for repeated solves. For one solve use
    sptrsv(). Arguments as for ilu0(), without pivot_shift: a solve divides by a zero on the diagonal.
    With unit_diagonal=True the diagonal counts as 1, whatever is stored."""
    known_options("triangular", options, (*_TRIANGULAR, "lower", "unit_diagonal"))
    return _create("lower" if lower else "upper", A, grid, unit_diagonal=unit_diagonal, **options)
