"""The common part of factors and multigrid hierarchies: their lifetime, and their operator form."""

from __future__ import annotations

import weakref
from ctypes import byref, c_void_p
from typing import TYPE_CHECKING, Any, Tuple, TypeVar

import numpy as np

from ._context import Context
from ._grid import Grid, Stencil

_Self = TypeVar("_Self", bound="Preconditioner")

try:
    from scipy.sparse.linalg import LinearOperator as _Operator
except ImportError:

    class _Operator:  # type: ignore[no-redef]
        """The part of SciPy's LinearOperator that a preconditioner provides without SciPy."""

        def __init__(self, dtype, shape):
            self.dtype, self.shape = np.dtype(dtype), shape

        def matvec(self, x):
            return self._matvec(x)

        def matmat(self, X):
            return self._matmat(X)

        def rmatvec(self, x):
            return self._adjoint().matvec(x)

        def rmatmat(self, X):
            return self._adjoint().matmat(X)

        def __matmul__(self, x):
            return self._matvec(x)

        __call__ = dot = __matmul__
        T = property(lambda self: self._transpose())
        H = property(lambda self: self._adjoint())


class Preconditioner(_Operator):
    """An object of the library that applies M^-1, created from a matrix in a context.

    A subclass has solve(b, out=None), transposed() and
    _noun                 its name in messages
    _make_preconditioner  the C function that creates a gsw_preconditioner from it
    """

    context: Context
    grid: Grid
    stencil: Stencil
    if TYPE_CHECKING:
        shape: Tuple[int, int]
        dtype: np.dtype

        def __matmul__(self, x: Any) -> Any: ...

    def __init__(self, context, matrix, dtype, create, options, destroy):
        """`create` is gsw_factor_create() or a similar function, `destroy` its counterpart."""
        pointer = c_void_p()
        with context._turn() as c:
            context._check(create(c, byref(matrix.struct), byref(options), byref(pointer)), "A")
            context._handle.live[pointer.value] = destroy
        self._pointer = pointer.value
        self._close = weakref.finalize(self, context._handle.discard, pointer.value)
        self.context, self.grid, self.stencil = context, matrix.grid, matrix.stencil
        super().__init__(np.dtype(dtype), (matrix.rows, matrix.rows))

    def __enter__(self: _Self) -> _Self:
        return self

    def __exit__(self, *exception: Any) -> None:
        self.close()

    @property
    def closed(self) -> bool:
        return self._pointer not in self.context._handle.live or not self._close.alive

    def close(self) -> None:
        """Frees the memory that the library keeps. A second call does nothing."""
        self._close()

    def _address(self):
        """The address of the C object, for use inside a turn of the context."""
        if self.closed:
            raise ValueError(f"{self._noun}: it is closed")
        return self._pointer

    def matvec(self, x: Any) -> Any:
        """solve(x) for SciPy's solvers, and with CUDA for those of cupyx. With CUDA the result is a
        new array of x's kind (x.copy(), or x.clone()), and it is complete when this returns.
        """
        if self.context.backend != "cuda":
            # matmat takes an array of shape (points, 1): SciPy's matvec is going to refuse it.
            column = np.shape(x) == (self.shape[1], 1)
            return super().matmat(x) if column else super().matvec(x)
        result = x.copy() if hasattr(x, "copy") else x.clone()
        self.solve(result, out=result)
        self.context.synchronize()
        return result

    def _matvec(self, x):
        return self.solve(x)

    def _matmat(self, X):
        return self.solve(X)

    def _transpose(self):
        return self.transposed()

    _adjoint = _transpose  # values are real
