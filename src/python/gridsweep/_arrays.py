"""Vectors and matrices as addresses: which arrays are used in place, copied or refused."""

from __future__ import annotations

import copy as shallow
import warnings
import weakref
from ctypes import (POINTER, addressof, byref, c_double, c_float, c_int32, c_int64, c_void_p,
                    create_string_buffer)
from typing import Any, Callable, Iterable, List, Optional, Tuple

import numpy as np

from . import _dlpack
from . import _types as t
from ._constants import Constants
from ._context import Context
from ._errors import GridsweepError
from ._grid import Axes, Grid, Stencil, grid_argument, stencil_argument, with_axes
from ._library import library
from ._options import GridLike

Shape = Tuple[int, ...]
Shapes = Tuple[Shape, ...]
_INTERFACE = "__cuda_array_interface__"


class _View:
    """Address, shape, dtype and strides (bytes) of a NumPy array, a device array or a DLPack tensor.
    `array` is then the tensor's producer.

    For vectors, `count` is the number of right-hand sides and `ld` their distance in values. `ld` is
    None if a right-hand side is not contiguous. The view keeps the array alive.
    """

    ld: Any

    def __init__(self, array: Any) -> None:
        about = getattr(array, _INTERFACE, None) or array.__array_interface__
        self.array = array.producer if isinstance(array, _dlpack.Tensor) else array
        self.memory = array
        self.dtype, self.shape = np.dtype(about["typestr"]), tuple(about["shape"])
        self.address, read_only = about["data"]
        self.writable = not read_only
        self.strides = about.get("strides") or _dlpack.strides_in_order(self.shape, self.dtype)
        self.count = self.shape[1] if len(self.shape) == 2 else 1
        self.ld = self._leading()

    def _leading(self) -> Any:
        size = self.dtype.itemsize
        if len(self.shape) not in (1, 2) or self.address % self.dtype.alignment:
            return None
        rows = self.shape[0]
        if rows > 1 and self.strides[0] != size:
            return None
        if self.count <= 1:
            return rows
        step = self.strides[1]
        return step // size if step % size == 0 and step >= rows * size else None

    def flattened(self) -> _View:
        """The values, which lie in order, as a view of one dimension."""
        other = shallow.copy(self)
        other.shape = (int(np.prod(self.shape, dtype=np.int64)),)
        other.strides = (self.dtype.itemsize,)
        other.count, other.ld = 1, other.shape[0]
        return other

    def in_order(self) -> bool:
        """Whether the values lie in C order without gaps."""
        wanted = _dlpack.strides_in_order(self.shape, self.dtype)
        return all(extent == 1 or own == other
                   for extent, own, other in zip(self.shape, self.strides, wanted))

    def end(self) -> Any:
        """The address after the last value."""
        return self.address + ((self.count - 1) * self.ld + self.shape[0]) * self.dtype.itemsize

    def host(self) -> Any:
        """The same host memory as a NumPy array."""
        return np.asarray(self.memory).reshape(self.shape)

    def same_place(self, other: _View) -> bool:
        return self.address == other.address and self.ld == other.ld

    def overlaps(self, other: _View) -> bool:
        return self.address < other.end() and other.address < self.end()


def dtype_argument(name: str, value: Any) -> str:
    """The name of a dtype that the library supports: "float64" or "float32"."""
    try:
        found = np.dtype(value).name
    except TypeError:
        found = ""
    if found not in t.DTYPES:
        raise ValueError(f"{name}: {value!r} is not float64 or float32")
    return found


def _stream(context: Context) -> int:
    """The context's stream as DLPack numbers it: 1 is the default stream."""
    return context._stream or 1


def _adopt_tensor(context: Context, name: str, array: Any) -> _View:
    kind, number = _dlpack.device_of(name, array)
    if context.backend == "cuda":
        if kind not in (_dlpack.CUDA, _dlpack.CUDA_MANAGED) or number != context._device_number:
            raise TypeError(f"{name}: is on {_dlpack.device_name(kind, number)}; the context is on "
                            f"{_dlpack.device_name(_dlpack.CUDA, context._device_number)}")
        return _View(_dlpack.Tensor(name, array, _stream(context)))
    if kind not in (_dlpack.CPU, _dlpack.CUDA_HOST):
        raise TypeError(f"{name}: is on {_dlpack.device_name(kind, number)}; the context is on the "
                        "CPU")
    return _View(_dlpack.Tensor(name, array))


def refuse_sparse(name: str, array: Any) -> None:
    """A sparse vector is an array of objects for NumPy, which says nothing to a user."""
    if hasattr(array, "tocsr"):
        raise TypeError(f"{name}: is a sparse matrix; give {name}.toarray()")


def adopt(context: Context, name: str, array: Any) -> Any:
    """A view of a device array or of an array with DLPack, which are never copied. On the CPU every
    other argument is returned unchanged, for NumPy. Refuses arrays outside the context's memory."""
    if isinstance(array, _View):
        return array
    refuse_sparse(name, array)
    if hasattr(array, _INTERFACE):
        if context.backend != "cuda":
            raise TypeError(f"{name}: is a device array; the context is on the CPU")
        return _View(array)
    if _dlpack.offered(array) and not isinstance(array, np.ndarray):
        return _adopt_tensor(context, name, array)
    if context.backend == "cuda":
        raise TypeError(f"{name}: must be a device array (with {_INTERFACE} or __dlpack__) with this "
                        "context")
    return array


def _turned(name: str, shape: Shape, wanted: Iterable[Shape]) -> str:
    """Says so where a shape is the reverse of a wanted one."""
    return f"; {name}.T has {shape[::-1]}" if len(shape) > 1 and shape[::-1] in wanted else ""


def _check_shape(name: str, shape: Shape, rows: int, fields: Shapes = ()) -> None:
    if len(shape) not in (1, 2) or shape[0] != rows:
        field = f" for several systems, or {fields[-1]} for a field on the grid" if fields else ""
        comma, hint = "," if fields else " or", _turned(name, shape, fields)
        if not hint and len(shape) > 1 and np.prod(shape[1:]) == rows:
            hint = f"; as {shape[0]} systems it is {name}.reshape({shape[0]}, {rows}).T"
        raise ValueError(f"{name}: has shape {shape}, must have ({rows},){comma} ({rows}, count){field}{hint}")


def field_shapes(grid: Grid) -> Shapes:
    """The shapes of a field on a grid, in NumPy's order."""
    return (grid.shape, grid.shape[1:]) if grid.nz == 1 else (grid.shape,)


def flat(context: Context, name: str, array: Any, fields: Shapes) -> Tuple[Any, Optional[Shape]]:
    """A vector as (vector, None), or a field of one of these shapes as (vector, its shape). A field
    of the host is copied where its values do not lie in order."""
    if _dlpack.offered(array) and not hasattr(array, "shape"):
        array = adopt(context, name, array)
    shape = getattr(array, "shape", None)
    shape = tuple(np.shape(array) if shape is None else shape) if array is not None else ()
    if len(shape) < 2 or shape not in fields:
        return array, None
    view = adopt(context, name, array)
    if not isinstance(view, _View):
        return np.ascontiguousarray(view).reshape(-1), shape  # of `out`, which is contiguous, a view
    if not view.in_order():
        raise ValueError(f"{name}: must be contiguous (order='C')")
    return view.flattened(), shape


def _real(name: str, array: Any, dtype: Any) -> None:
    if array.dtype.kind not in "fiub":
        raise TypeError(f"{name}: has dtype {array.dtype}, which cannot be taken as {dtype}")


def source(context: Context, name: str, array: Any, rows: int, dtype: Any, fields: Shapes = ()) -> _View:
    """A right-hand side as a view. A host array is copied if its dtype or layout does not fit."""
    view, dtype = adopt(context, name, array), np.dtype(dtype)
    if isinstance(view, _View):
        _check_shape(name, view.shape, rows, fields)
        if view.dtype != dtype:
            raise TypeError(f"{name}: has dtype {view.dtype}, must have {dtype}")
        if view.ld is None:
            raise ValueError(f"{name}: each vector must be contiguous (order='F')")
        return view
    array = np.asarray(array)
    _check_shape(name, array.shape, rows, fields)
    _real(name, array, dtype)
    view = _View(array)
    if array.dtype != dtype or view.ld is None:
        view = _View(np.array(array, dtype=dtype, order="F"))
    return view


def target(context: Context, name: str, array: Any, shape: Shape, dtype: Any) -> _View:
    """An array to write, as a view. It is never copied. None gives a new array on the host."""
    if array is None:
        if context.backend == "cuda":
            raise ValueError(f"{name}: must be given with a context on a device")
        return _View(np.empty(shape, dtype=dtype, order="F"))
    view, dtype = adopt(context, name, array), np.dtype(dtype)
    if not isinstance(view, _View):
        if not isinstance(array, np.ndarray):
            raise TypeError(f"{name}: must be a NumPy array or one with __dlpack__, not "
                            f"{type(array).__name__}")
        view = _View(array)
    if view.shape != tuple(shape):
        raise ValueError(f"{name}: has shape {view.shape}, must have {tuple(shape)}")
    if view.dtype != dtype:
        raise TypeError(f"{name}: has dtype {view.dtype}, must have {dtype}")
    if view.ld is None:
        raise ValueError(f"{name}: each vector must be contiguous (order='F')")
    if not view.writable:
        raise ValueError(f"{name}: is read-only")
    return view


def solve_into(context: Context, b: Any, out: Any, rows: int, dtype: Any, solve: Callable[..., None]) -> Any:
    """Calls solve(count, b, ldb, x, ldx) for the arguments `b` and `out`, and returns x."""
    given = source(context, "b", b, rows, dtype)
    result = target(context, "out", out, given.shape, np.dtype(dtype))
    if given.count == 0:
        return result.array
    if given.overlaps(result) and not given.same_place(result):
        if context.backend == "cuda":
            raise ValueError("out: overlaps b in part")
        given = _View(np.array(given.host(), order="F"))
    solve(given.count, given.address, given.ld, result.address, result.ld)
    return result.array


def _mask(context: Context, active: Any) -> Optional[_View]:
    """A mask as a view in C order; None for None. A host array is copied if its layout does not fit."""
    if active is None:
        return None
    view = adopt(context, "active", active)
    view = view if isinstance(view, _View) else _View(np.asarray(view))
    if view.dtype.name not in ("bool", "uint8"):
        raise TypeError(f"active: has dtype {view.dtype}, must have bool or uint8")
    if not view.in_order():
        if context.backend == "cuda":
            raise ValueError("active: must be contiguous (order='C')")
        view = _View(np.ascontiguousarray(view.host()))
    return view


def _is_compact(context: Context, name: str, mask: _View, csr: t.gsw_csr, grid: Optional[Grid], embeds: bool) -> bool:
    """Whether a matrix has rows for the active points alone. Refuses a mask of another number of
    points, and such a matrix where it cannot be embedded."""
    points, rows = int(np.prod(mask.shape, dtype=np.int64)), csr.rows
    if points == rows:
        return False
    on_device = context.backend == "cuda"  # there the library counts
    active = rows if on_device and embeds else None if on_device else np.count_nonzero(mask.host())
    if active != rows:
        if grid is None and not on_device:
            grid = _named_grid(context, csr)
        if grid is not None and grid.points == rows:
            _check_mask_shape(mask, grid)
        counted = "" if on_device else f", {active} of them active"
        raise ValueError(f"active: has shape {mask.shape}, which is {points} points{counted}; {name} "
                         f"has {rows} rows")
    if not embeds:
        raise ValueError(f"active: has shape {mask.shape}, and {name} has rows for its active points "
                         f"alone; gridsweep.embed({name}, active) makes the matrix of all {points} "
                         "points")
    return True


def _named_grid(context: Context, csr: t.gsw_csr) -> Optional[Grid]:
    """The grid of a matrix on the host that has one by itself, with a named stencil; else None."""
    found, own = t.gsw_grid(), t.gsw_stencil()
    with context._turn() as c:
        code = library.gsw_detect(c, byref(csr), None, byref(found), byref(own))
    return Grid._of(found) if code == 0 and Stencil._of(own).name != "custom" else None


def _check_mask_shape(mask: _View, grid: Grid) -> None:
    shapes = [*field_shapes(grid), (grid.points,)]
    if mask.shape not in shapes:
        raise ValueError(f"active: has shape {mask.shape}, must have {' or '.join(map(str, shapes))} on "
                         f"the grid {grid}{_turned('active', mask.shape, shapes)}")


def _parts(name: str, matrix: Any) -> Tuple[Any, Any, Any]:
    """(values, columns, row_ptr) of an argument that is a matrix."""
    if isinstance(matrix, tuple) and len(matrix) == 3:
        return matrix
    if str(getattr(matrix, "layout", None)) == "torch.sparse_csr" and len(matrix.shape) == 2:
        return matrix.values(), matrix.col_indices(), matrix.crow_indices()
    if not hasattr(matrix, "tocsr"):
        dense = isinstance(matrix, (np.ndarray, list))
        raise TypeError(f"{name}: must be a sparse matrix of SciPy or the tuple (values, columns, "
                        f"row_ptr) of CSR, not {type(matrix).__name__}"
                        + dense * f"; scipy.sparse.csr_array({name}) makes one of a dense array")
    if len(matrix.shape) != 2 or matrix.shape[0] != matrix.shape[1]:
        raise ValueError(f"{name}: has shape {matrix.shape}, must be square")
    csr = matrix.tocsr()
    if isinstance(csr.indptr, np.ndarray) and (csr.indptr[0] != 0 or np.any(np.diff(csr.indptr) < 0) or
                                               csr.indptr[-1] > min(len(csr.data), len(csr.indices))):
        raise ValueError(f"{name}: indptr must begin with 0, ascend, and end within the arrays")
    if not getattr(csr, "has_canonical_format", True):
        csr = csr.copy()
        csr.sum_duplicates()
    return csr.data, csr.indices, csr.indptr


def _host_parts(name: str, parts: Iterable[Any]) -> List[_View]:
    """Views of the results of adopt() on the CPU. NumPy's arrays are copied if their dtype or layout
    does not fit."""
    values, columns, row_ptr = (part if isinstance(part, _View) else np.asarray(part)
                                for part in parts)
    _real(name, values, "float64")
    if columns.dtype.kind not in "iu" or row_ptr.dtype.kind not in "iu":
        raise TypeError(f"{name}: columns and row_ptr have dtypes {columns.dtype} and "
                        f"{row_ptr.dtype}, must have int32 or int64")
    if values.dtype not in (np.float64, np.float32):
        values = _cast(values, np.float64)
    if columns.dtype != row_ptr.dtype or columns.dtype not in (np.int32, np.int64):
        columns, row_ptr = _cast(columns, np.int64), _cast(row_ptr, np.int64)
    return [part if isinstance(part, _View) else _View(np.require(part, requirements=["C", "A"]))
            for part in (values, columns, row_ptr)]


def _cast(part: Any, dtype: Any) -> Any:
    return part if isinstance(part, _View) else part.astype(dtype)


def _near_stencil(struct: t.gsw_matrix) -> Stencil:
    """The stencil of a matrix, without offsets around a periodic grid."""
    near = t.gsw_stencil()
    library.gsw_matrix_near_stencil(byref(struct), byref(near))
    return Stencil._of(near)


class Map:
    """Where the rows of a matrix are on a grid: a gsw_embedding, and vectors of all points for it."""

    def __init__(self, context: Context, rows: int, grid: Any, mask: Any, coordinates: Any) -> None:
        self.context, self.rows = context, rows
        self._vectors: List[int] = []
        made: Any = c_void_p()
        with context._turn() as c:
            if coordinates is None:
                code = library.gsw_embedding_create(c, byref(grid._c()), mask.address, byref(made))
            else:
                where = _coordinates(coordinates, rows)
                code = library.gsw_embedding_create_from_coordinates(
                    c, rows, where.shape[1], where.ctypes.data, byref(made))
            context._check(code)
            context._handle.live[made.value] = library.gsw_embedding_destroy
        self.address = made.value
        weakref.finalize(self, context._handle.discard, made.value)

    def points(self) -> Any:
        """The point of each row. On the CPU."""
        return np.array((c_int64 * self.rows).from_address(
            library.gsw_embedding_points(self.address)))

    def spread(self, c: Any, address: int, points: int, to: Optional[int] = None) -> Any:
        """Brings a vector in float64 to the points; None: to a new vector. Returns its address."""
        if to is None:
            made: Any = c_void_p()
            self.context._check(library.gsw_memory_alloc(c, 8 * points, byref(made)))
            to, live = made.value, self.context._handle.live
            live[to] = lambda address: library.gsw_memory_free(c, address)
            weakref.finalize(self, self.context._handle.discard, to)
        self.context._check(library.gsw_embedding_spread(c, self.address, 0, address, to))
        return to

    def solve(self, c: Any, b: int, x: int, points: int, solve: Callable[..., int]) -> int:
        """Calls solve(b, x) with vectors of all points, and returns its status."""
        self._vectors = [self.spread(c, address, points, to)
                         for address, to in zip((b, x), self._vectors or (None, None))]
        code = solve(*self._vectors)
        self.context._check(library.gsw_embedding_collect(c, self.address, 0, self._vectors[1], x))
        return code


class Border:
    """The last row and column of a matrix, the multiplier of a condition on the mean: a gsw_border,
    and solves of the whole system by those of what is left."""

    scale = 1.0

    def __init__(self, context: Context, address: int, rows: int) -> None:
        self.context, self.address, self.rows = context, address, rows
        context._handle.live[address] = library.gsw_border_destroy
        weakref.finalize(self, context._handle.discard, address)
        self._inner = np.empty(rows - 1)

    def solve(self, c: Any, b: int, x: int, points: int, solve: Callable[..., int]) -> int:
        """Calls solve(b, x) for the points, and returns its status. Residuals are relative to another
        b then: `scale` times those of the whole system."""
        share, inner = c_double(), self._inner.ctypes.data
        check = self.context._check
        check(library.gsw_border_right_side(c, self.address, b, inner, byref(share)))
        self.scale, code = share.value, solve(inner, x)
        check(library.gsw_border_solution(c, self.address, b, x))
        return code


def _border(context: Context, name: str, csr: t.gsw_csr) -> Optional[Tuple[Border, t.gsw_csr]]:
    """(Border, CSR of the rest) of a CSR on the host with a row for the mean; None without one. The
    Border frees the CSR."""
    inner, made = t.gsw_csr(), c_void_p()
    with context._turn() as c:
        context._check(library.gsw_border_create(c, byref(csr), byref(inner), byref(made)), name)
    if not made.value:
        return None
    border = Border(context, made.value, csr.rows)
    weakref.finalize(border, library.gsw_csr_free, byref(inner))
    return border, inner


def _coordinates(coordinates: Any, rows: int) -> Any:
    """Coordinates as an array of shape (rows, axes) in float64."""
    where = np.asarray(coordinates)
    _real("coordinates", where, "float64")
    where = where.reshape(-1, 1) if where.ndim == 1 else where
    if where.ndim != 2 or where.shape[0] != rows or where.shape[1] not in (1, 2, 3):
        raise ValueError(f"coordinates: has shape {where.shape}, must have ({rows}, 2) or ({rows}, 3)")
    return np.ascontiguousarray(where, dtype=np.float64)


class Matrix:
    """A C matrix from an argument. It keeps the arrays that it points to: the argument's own, or a
    copy of the library's without stored zeros that the stencil does not hold.

    struct         gsw_matrix
    grid, stencil  as found, or as given. The shape of a mask gives the grid, too
    mask           a view of the argument `active`, or None
    rows           those of the argument
    map            the Map of its rows to points, where these are others, or a Border; else None
    """

    struct: t.gsw_matrix
    grid: Grid
    stencil: Stencil
    mask: Any
    rows: int
    map: Any = None
    _keep: Any

    def __init__(self, context: Context, name: str, matrix: Any, grid: Any = None, stencil: Any = None,
                 active: Any = None, embeds: bool = False, coordinates: Any = None) -> None:
        grid, stencil = grid_argument(grid), stencil_argument(stencil)
        axes = str(grid) if isinstance(grid, Axes) else None
        grid = None if axes is not None else grid
        if active is not None and coordinates is not None:
            raise ValueError("active, coordinates: give one of the two")
        self.mask = mask = _mask(context, active)
        if isinstance(matrix, Constants):
            if coordinates is not None:
                raise ValueError(f"coordinates: {name} has a grid")
            self._take_constants(context, name, matrix, grid, stencil)
        else:
            self._take_csr(context, name, matrix, grid, stencil, embeds, coordinates, axes)
        if axes not in (None, self.grid.periodic):
            raise ValueError(f"periodic: is {axes!r}; {name} is a matrix on the grid {self.grid}")
        if mask is not None:
            _check_mask_shape(mask, self.grid)
            if self.map is None:
                self.struct.active = mask.address

    def _take_parts(self, context: Context, name: str, matrix: Any, on_host: bool) -> t.gsw_csr:
        """The struct of a CSR, whose arrays are kept."""
        parts = _parts(name, matrix)
        on_host = on_host and all(isinstance(part, np.ndarray) for part in parts)
        views = parts if on_host else [adopt(context, name, part) for part in parts]
        on_device = context.backend == "cuda" and not on_host
        if not on_device:
            views = _host_parts(name, views)
        self._keep = views
        if any(len(view.shape) != 1 or view.ld is None for view in views):
            raise ValueError(f"{name}: values, columns and row_ptr must have one dimension each, "
                             "without gaps")
        values, columns, row_ptr = views
        rows = row_ptr.shape[0] - 1
        if rows < 1:
            raise ValueError(f"{name}: has no rows")
        if (values.dtype.name not in t.DTYPES or columns.dtype.name not in t.ITYPES
                or columns.dtype != row_ptr.dtype):
            raise TypeError(f"{name}: has dtypes {values.dtype}, {columns.dtype} and "
                            f"{row_ptr.dtype}; must have float64 or float32, and twice int32 or "
                            "twice int64")
        base = 0 if on_device else int(row_ptr.host()[0])
        nonzeros = columns.shape[0] if on_device else int(row_ptr.host()[-1]) - base
        if base not in (0, 1):
            raise ValueError(f"{name}: row_ptr begins with {base}, must begin with 0 or 1")
        if not 0 <= nonzeros <= min(values.shape[0], columns.shape[0]):
            raise ValueError(f"{name}: row_ptr ends with {nonzeros + base}; there are "
                             f"{values.shape[0]} values and {columns.shape[0]} columns")
        self.rows, self.value_type = rows, values.dtype.name
        return t.gsw_csr(rows, nonzeros, row_ptr.address, columns.address, values.address,
                         t.ITYPES[columns.dtype.name], t.DTYPES[self.value_type], base)

    def _take_csr(self, context: Context, name: str, matrix: Any, grid: Any, stencil: Any, embeds: bool,
                  coordinates: Any, axes: Optional[str]) -> None:
        whole = self.mask is None and coordinates is None
        csr = self._take_parts(context, name, matrix, embeds and not whole)
        bordered = embeds and whole and context.backend == "cpu" and _border(context, name, csr)
        if bordered:
            self.map, csr = bordered
        rows, on_device, of_mask = csr.rows, context.backend == "cuda", None
        compact = self.mask is not None and _is_compact(context, name, self.mask, csr, grid, embeds)
        if self.mask is not None and grid is None and len(self.mask.shape) in (2, 3):
            nx, ny, nz = (1, 1, *self.mask.shape)[:-4:-1]
            grid = of_mask = Grid(nx, ny, nz, axes or "")
        if compact or coordinates is not None:
            try:
                self._embed(context, name, csr, grid, stencil, coordinates)
            except GridsweepError:
                if of_mask is not None and not on_device:
                    self._check_turned(context, name, matrix, stencil)
                raise
            return
        if on_device and isinstance(self._keep[0].array, np.ndarray):
            adopt(context, name, self._keep[0].array)  # refuses it
        if grid is not None and grid.points != rows:
            raise ValueError(f"grid: {grid} has {grid.points} points; {name} has {rows} rows")
        if on_device and (grid is None or stencil is None):
            raise ValueError("grid, stencil: must be given with a matrix in device memory")
        if stencil is not None and grid is None:
            raise ValueError("grid: must be given where stencil is")
        self.struct, copy = t.gsw_matrix(), t.gsw_csr()
        arguments = (byref(csr), grid and byref(grid._c()), stencil and byref(stencil._struct))
        with context._turn() as pointer:
            if on_device:
                context._check(library.gsw_matrix_from_csr(
                    pointer, *arguments[1:], arguments[0], byref(self.struct)), name)
            else:
                weakref.finalize(self, library.gsw_csr_free, byref(copy))
                code = library.gsw_matrix_fit(pointer, *arguments, byref(self.struct), byref(copy))
                if of_mask is not None and code in (0, t.Status.NOT_A_GRID):
                    code = self._check_grid_of_mask(context, pointer, csr, stencil, code)
                context._check(code, name)
            text = create_string_buffer(256)
            if stencil is None:
                context._check(library.gsw_matrix_remark(pointer, byref(self.struct), text, 256))
        if text.value:
            warnings.warn(f"{name}: {text.value.decode()}", stacklevel=4)
        found = self.struct.grid
        self.grid = Grid._of(found)
        self.stencil = stencil or _near_stencil(self.struct)

    def _check_host(self, context: Context, name: str) -> None:
        if context.backend == "cuda" and not all(isinstance(v.array, np.ndarray) for v in self._keep):
            raise TypeError(f"{name}: must be in host memory where its rows are not all points in order")

    def _embed(self, context: Context, name: str, csr: t.gsw_csr, grid: Any, stencil: Any, coordinates: Any) -> None:
        """Makes the matrix of all points from one of the active points, or in another order."""
        self._check_host(context, name)
        if coordinates is None and grid is None:
            raise ValueError("grid: must be given where active has one axis")
        if coordinates is None and grid.points != np.prod(self.mask.shape, dtype=np.int64):
            raise ValueError(f"grid: {grid} has {grid.points} points; active has shape "
                             f"{self.mask.shape}")
        self.map = Map(context, self.rows, grid, self.mask, coordinates)
        self.struct, live = t.gsw_matrix(), context._handle.live
        struct = self.struct
        with context._turn() as c:
            context._check(library.gsw_matrix_from_active(
                c, byref(csr), self.map.address, stencil and byref(stencil._struct), byref(struct)),
                name)
            live[addressof(struct)] = lambda _: library.gsw_matrix_release(c, byref(struct))
        weakref.finalize(self, context._handle.discard, addressof(struct))
        self._keep, found = (), struct.grid
        self.grid = Grid._of(found)
        self.stencil = stencil or Stencil._of(struct.stencil)
        if grid not in (None, self.grid):
            raise ValueError(f"grid: is {grid}; the coordinates are those of {self.grid}")

    def _check_turned(self, context: Context, name: str, matrix: Any, stencil: Any) -> None:
        """Refuses a mask of a compact matrix if the rows are those of the transposed mask."""
        turned = self.mask.host().T
        try:
            Matrix(context, name, matrix, Grid(*turned.shape[::-1]), stencil, turned, True)
        except GridsweepError:
            return
        raise ValueError(f"active: has shape {self.mask.shape}; the rows of {name} are those of active.T, "
                         f"which has {turned.shape}")

    def refill(self, context: Context, name: str, matrix: Any) -> None:
        """Takes the values of a matrix with the same rows. For use where there is a map."""
        rows, kind = self.rows, self.value_type
        csr = self._take_parts(context, name, matrix, True)
        self._check_host(context, name)
        self.rows, self.value_type = rows, kind
        if csr.rows != rows:
            raise ValueError(f"{name}: has {csr.rows} rows; the first matrix had {rows}")
        with context._turn() as c:
            context._check(library.gsw_matrix_refill_active(c, byref(csr), self.map.address,
                                                            byref(self.struct)), name)
        self._keep = ()

    def _check_grid_of_mask(self, context: Context, pointer: Any, csr: t.gsw_csr, given: Any, code: int) -> int:
        """Refuses a mask whose shape is no grid of the matrix, or leads to a larger stencil or to one
        without a name, where the matrix alone has a better grid. Returns the status of the fit."""
        stencil: Any = given or (_near_stencil(self.struct) if code == 0 else None)
        if code == 0 and (given or stencil.name != "custom"):
            return code
        found, own = t.gsw_grid(), t.gsw_stencil()
        if library.gsw_detect(pointer, byref(csr), None, byref(found), byref(own)) == 0:
            named = Stencil._of(own).name != "custom"
            if code or own.count < len(stencil) or named:
                _check_mask_shape(self.mask, Grid._of(found))
        return code

    def _take_constants(self, context: Context, name: str, constants: Constants, grid: Any, stencil: Any) -> None:
        self.grid, self.stencil, self.rows = constants.grid, constants.stencil, constants.shape[0]
        self.value_type, self.struct = constants.dtype.name, t.gsw_matrix()
        if grid not in (None, self.grid) or stencil not in (None, self.stencil):
            raise ValueError(f"grid, stencil: {name} has others")
        struct, live = self.struct, context._handle.live
        with context._turn() as c:
            context._check(library.gsw_matrix_from_constants(
                c, byref(self.grid._c()), byref(self.stencil._struct),
                constants.values.ctypes.data_as(POINTER(c_double)), constants.planes,
                t.DTYPES[self.value_type], byref(struct)), name)
            live[addressof(struct)] = lambda _: library.gsw_matrix_release(c, byref(struct))
        weakref.finalize(self, context._handle.discard, addressof(struct))


def copy_csr(csr: t.gsw_csr) -> Tuple[Any, Any, Any]:
    """(values, columns, row_ptr) of a C CSR in host memory, as new arrays."""
    index = (c_int32, c_int64)[csr.index_type]
    value = (c_double, c_float)[csr.value_type]

    def copy(address: int, kind: Any, count: int) -> Any:
        return np.array((kind * count).from_address(address)) if count else np.empty(0, kind)

    return (copy(csr.values, value, csr.nonzeros), copy(csr.columns, index, csr.nonzeros),
            copy(csr.row_ptr, index, csr.rows + 1))


def detect(A: Any, grid: Optional[GridLike] = None, *, periodic: Optional[str] = None,
           active: Any = None, coordinates: Any = None) -> Tuple[Grid, Stencil]:
    """Finds the grid and the stencil of a square matrix in natural order, and returns
    (Grid, Stencil). Use it before many calls with one matrix: then give them grid and stencil.

    A     sparse matrix of SciPy in any format; CSR is not copied. Or (values, columns, row_ptr) of
          CSR: columns ascend in each row, indices count from 0 or 1. The three are NumPy's arrays
          or others with DLPack.
    grid  Grid or (nx, ny, nz), if you know it: then only the stencil is found. That is the smallest
          named one that holds all couplings, else the offsets that occur.
    periodic, active, coordinates  as for solve(); the last two give the grid

    A stored zero is no coupling. A UserWarning says so if an axis looks like several unknowns per
    point.
    Errors: TypeError, ValueError, GridsweepError (NOT_A_GRID with the row; INVALID_ARGUMENT).
    """
    with Context(threads=1) as context:
        matrix = Matrix(context, "A", A, with_axes(grid, periodic), None, active, True, coordinates)
    return matrix.grid, matrix.stencil
