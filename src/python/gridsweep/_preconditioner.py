"""The common part of factors and multigrid hierarchies: their lifetime, and their operator form."""

from __future__ import annotations

from ctypes import byref
from typing import TYPE_CHECKING, Any, Tuple

import numpy as np

from ._arrays import Matrix, refuse_sparse
from ._context import Context, Owned
from ._grid import Grid, Stencil

try:
    from scipy.sparse.linalg import LinearOperator as _Operator
except ImportError:

    class _Operator:  # type: ignore[no-redef]
        """The part of SciPy's LinearOperator that a preconditioner provides without SciPy."""

        def __init__(self, dtype: Any, shape: Tuple[int, int]) -> None:
            self.dtype, self.shape = np.dtype(dtype), shape

        def matvec(self, x: Any) -> Any:
            return self._matvec(x)

        def matmat(self, X: Any) -> Any:
            return self._matmat(X)

        def rmatvec(self, x: Any) -> Any:
            return self._adjoint().matvec(x)

        def rmatmat(self, X: Any) -> Any:
            return self._adjoint().matmat(X)

        def __matmul__(self, x: Any) -> Any:
            return self._matvec(x)

        __call__ = dot = __matmul__
        T = property(lambda self: self._transpose())
        H = property(lambda self: self._adjoint())


def _remade(create: Any, given: Any, options: Any) -> Any:
    """What pickle and copy make: created anew from its matrix and its options."""
    return create(*given, **options)


class Preconditioner(Owned, _Operator):
    """An object of the library that applies M^-1, created from a matrix in a context.

    A subclass has solve(b, out=None), transposed() and
    _make_preconditioner  the C function that creates a gsw_preconditioner from it
    """

    grid: Grid
    stencil: Stencil
    active: Any
    _recipe: Any = None  # the function that creates it again, and its arguments
    if TYPE_CHECKING:
        shape: Tuple[int, int]
        dtype: np.dtype[Any]
        _make_preconditioner: Any

        def __matmul__(self, x: Any) -> Any: ...
        def solve(self, b: Any, out: Any = None) -> Any: ...
        def transposed(self) -> Any: ...

    def __init__(self, context: Context, matrix: Any, dtype: Any, create: Any, options: Any, destroy: Any) -> None:
        self._create(context, create, destroy, byref(matrix.struct), byref(options))
        self.grid, self.stencil = matrix.grid, matrix.stencil
        self._take_mask(matrix.mask)
        super().__init__(np.dtype(dtype), (matrix.rows, matrix.rows))

    def __reduce__(self) -> Tuple[Any, ...]:
        if self._recipe is None:
            raise TypeError("factor: the transposed of another one cannot be copied")
        return _remade, self._recipe

    def _take_mask(self, mask: Any) -> None:
        self._mask, self.active = mask, mask and mask.array

    def _takes(self, A: Any, active: Any) -> None:
        """A copy is made of this matrix from now on."""
        if self._recipe is not None:
            create, (*given, _, grid), options = self._recipe
            options = options if active is None else dict(options, active=active)
            self._recipe = (create, (*given, A, grid), options)

    def _new_values(self, A: Any, active: Any) -> Matrix:
        """The Matrix for a refactor with A, by default with the mask of the first matrix."""
        mask = self._mask if active is None else active
        return Matrix(self.context, "A", A, self.grid, self.stencil, mask)

    def matvec(self, x: Any) -> Any:
        """solve(x) for SciPy's solvers, and with CUDA for those of cupyx. With CUDA the result is a
        new array of x's kind (x.copy(), or x.clone()), and it is complete when this returns.
        """
        refuse_sparse("x", x)
        if self.context.backend != "cuda":
            # matmat takes an array of shape (points, 1): SciPy's matvec is going to refuse it.
            column = np.shape(x) == (self.shape[1], 1)
            return super().matmat(x) if column else super().matvec(x)
        result = x.copy() if hasattr(x, "copy") else x.clone()
        self.solve(result, out=result)
        self.context.synchronize()
        return result

    def dot(self, x: Any) -> Any:
        """What M @ x is: solve(x)."""
        refuse_sparse("x", x)
        return super().dot(x)

    def _matvec(self, x: Any) -> Any:
        return self.solve(x)

    def _matmat(self, X: Any) -> Any:
        return self.solve(X)

    def _transpose(self) -> Any:
        return self.transposed()

    _adjoint = _transpose  # values are real
