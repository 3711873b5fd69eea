"""What factors and multigrid hierarchies have in common: their life, and being an operator."""

import weakref
from ctypes import byref, c_void_p

import numpy as np

try:
    from scipy.sparse.linalg import LinearOperator as _Operator
except ImportError:

    class _Operator:
        """The part of SciPy's LinearOperator that a preconditioner has without SciPy."""

        def __init__(self, dtype, shape):
            self.dtype, self.shape = np.dtype(dtype), shape

        def matvec(self, x):
            return self._matvec(x)

        def matmat(self, X):
            return self._matmat(X)

        def __matmul__(self, x):
            return self._matvec(x)

        __call__ = dot = __matmul__


class Preconditioner(_Operator):
    """An object of the library that stands for M^-1, made from a matrix in a context.

    A subclass has solve(b, out=None) and
    _noun                 what messages call it
    _make_preconditioner  the C function that makes a gsw_preconditioner of it
    """

    def __init__(self, context, matrix, dtype, create, options, destroy):
        """`create` is gsw_factor_create() or its like, `destroy` its counterpart."""
        pointer = c_void_p()
        with context._turn() as c:
            context._check(create(c, byref(matrix.struct), byref(options), byref(pointer)), "A")
            context._handle.live[pointer.value] = destroy
        self._pointer = pointer.value
        self._close = weakref.finalize(self, context._handle.discard, pointer.value)
        self.context, self.grid, self.stencil = context, matrix.grid, matrix.stencil
        super().__init__(np.dtype(dtype), (matrix.rows, matrix.rows))

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.close()

    @property
    def closed(self):
        return self._pointer not in self.context._handle.live or not self._close.alive

    def close(self):
        """Frees what the library keeps. A second call does nothing."""
        self._close()

    def _address(self):
        """The C object, for use inside a turn of the context."""
        if self.closed:
            raise ValueError(f"{self._noun}: it is closed")
        return self._pointer

    def matvec(self, x):
        """solve(x) as SciPy's operators do it. With CUDA the result is a new array of x's kind
        (x.copy(), or x.clone()), finished when this returns: cupyx's solvers take the object as M.
        """
        if self.context.backend != "cuda":
            # A column of shape (points, 1) is matmat's: SciPy's matvec is going to refuse it.
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
