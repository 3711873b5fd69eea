"""The user's own operators and preconditioners: Python functions that the library calls."""

import sys
import threading
from contextlib import contextmanager, nullcontext
from ctypes import byref, c_double, c_void_p
from typing import Any, Dict, Iterator, List, Optional, Tuple

import numpy as np

from ._library import library
from ._types import APPLY_FN, Status


def function_of(argument: Any) -> Any:
    """The function y = f(x) of an argument: the matvec of a LinearOperator, or the argument itself if
    it is callable. None for everything else, such as a sparse matrix."""
    if hasattr(argument, "tocsr"):
        return None
    return getattr(argument, "matvec", argument if callable(argument) else None)


class _NumPy:
    """Vectors in host memory."""

    def at_work(self) -> Any:
        return nullcontext()

    def view(self, address: int, points: int) -> Any:
        return np.frombuffer((c_double * points).from_address(address), dtype=np.float64)

    def read_only(self, view: Any) -> Any:
        view = view.view()
        view.flags.writeable = False
        return view

    def take(self, result: Any) -> Tuple[Any, bool]:
        result = np.asarray(result)
        return result, result.dtype.kind in "fiub"

    def write(self, view: Any, result: Any) -> None:
        view[...] = result


class _CuPy(_NumPy):
    """Vectors in device memory, as CuPy's arrays on the context's stream."""

    def __init__(self, package: Any, context: Any) -> None:
        self.package, self.number, self.stream = package, context._device_number, context._stream

    @contextmanager
    def at_work(self) -> Any:
        cuda = self.package.cuda
        with cuda.Device(self.number):
            with cuda.ExternalStream(self.stream) if self.stream else cuda.Stream.null:
                yield

    def view(self, address: int, points: int) -> Any:
        cuda = self.package.cuda
        memory = cuda.UnownedMemory(address, 8 * points, self, self.number)
        return self.package.ndarray((points,), np.float64, cuda.MemoryPointer(memory, 0))

    def read_only(self, view: Any) -> Any:
        return view

    def take(self, result: Any) -> Tuple[Any, bool]:
        return result, getattr(result, "dtype", None) == np.float64


class _Torch(_CuPy):
    """Vectors in device memory, as PyTorch's tensors on the context's stream."""

    @contextmanager
    def at_work(self) -> Any:
        cuda = self.package.cuda
        with cuda.device(self.number):
            stream = (cuda.ExternalStream(self.stream) if self.stream
                      else cuda.default_stream(self.number))
            with cuda.stream(stream):
                yield

    def view(self, address: int, points: int) -> Any:
        class Shown:
            __cuda_array_interface__ = {"shape": (points,), "typestr": "<f8", "strides": None,
                                        "data": (address, False), "version": 3}
        return self.package.as_tensor(Shown(), device=f"cuda:{self.number}")

    def take(self, result: Any) -> Tuple[Any, bool]:
        return result, getattr(result, "dtype", None) == self.package.float64

    def write(self, view: Any, result: Any) -> None:
        view.copy_(result)


def _package_of(context: Any, name: str, like: Any) -> _NumPy:
    """The class that presents vectors to the functions of a solve whose right-hand side is `like`."""
    if context.backend != "cuda":
        return _NumPy()
    module = type(like).__module__.partition(".")[0]
    kind = {"cupy": _CuPy, "torch": _Torch}.get(module)
    if kind is None:
        raise TypeError(f"{name}: a function on a device takes arrays of CuPy or PyTorch; b is a "
                        f"{type(like).__name__}")
    return kind(__import__(module), context)


class Callback:
    """A Python function in the form that the library calls. If it raises an exception, the list
    `raised` keeps that, and the solve ends. No function of the solve is called after that."""

    def __init__(self, context: Any, name: str, argument: Any, points: int, like: Any,
                 raised: List[BaseException]) -> None:
        shape = getattr(argument, "shape", None)
        if shape is not None and tuple(shape) != (points, points):
            raise ValueError(f"{name}: has shape {tuple(shape)}, must be ({points}, {points})")
        self.name, self.points, self.raised = name, points, raised
        self.function, self.handle = function_of(argument), context._handle
        self.package = _package_of(context, name, like)
        self.views: Dict[int, Any] = {}  # by address; a solve has few vectors
        self.pointer = APPLY_FN(self._call)

    def _view(self, address: int) -> Any:
        if address not in self.views:
            self.views[address] = self.package.view(address, self.points)
        return self.views[address]

    def _call(self, user: Any, context: Any, x: int, y: int) -> int:
        if self.raised:
            return Status.STOPPED
        try:
            with self.package.at_work(), self.handle.lent():
                given = self.function(self.package.read_only(self._view(x)))
                result, fits = self.package.take(given)
                shape = tuple(getattr(result, "shape", ()))
                if not fits:
                    raise TypeError(f"{self.name}: returned {type(given).__name__} of dtype "
                                    f"{getattr(result, 'dtype', None)}; it must return float64")
                if shape != (self.points,):
                    raise ValueError(f"{self.name}: returned shape {shape}, must return "
                                     f"({self.points},)")
                self.package.write(self._view(y), result)
            return Status.SUCCESS
        except BaseException as error:  # raised again in the caller's frame
            self.raised.append(error)
            return Status.STOPPED


def told_as(callback: Any, kind: Optional[str]) -> Any:
    """The callback as a function of (iteration, residual), which it is unless `kind` names one of
    SciPy's forms."""
    if kind in (None, "iteration"):
        return callback
    if kind == "x":
        raise ValueError("callback_type: 'x' needs x after each iteration, which the methods do not have "
                         "before the end; 'pr_norm' gets the residual")
    if kind not in ("pr_norm", "legacy"):
        raise ValueError(f"callback_type: {kind!r} is not one of 'iteration', 'pr_norm', 'legacy'")
    if callback is None:
        return None

    def tell(*seen: Any) -> None:
        if seen[-2] > 0:  # SciPy does not tell of the guess, and takes no answer
            callback(seen[-1])
    return tell


class Monitor:
    """The user's callback in the form in which the library calls it. `raised` keeps its exception,
    after which it is not called again. `system` stands before its arguments."""

    def __init__(self, callback: Any, raised: List[BaseException], system: Tuple[int, ...] = ()) -> None:
        self.callback, self.raised, self.system = callback, raised, system

    def __call__(self, user: Any, *seen: Any) -> bool:
        if self.raised:  # of another system
            return True
        try:
            return bool(self.callback(*self.system, *seen))
        except BaseException as error:  # raised again in the caller's frame
            self.raised.append(error)
            return True


@contextmanager
def interruptible(raised: List[BaseException]) -> Iterator[None]:
    """Adds exceptions of signal handlers, such as KeyboardInterrupt, to `raised` if Python raises them
    just before the `try` of a function that the library calls. ctypes hands these to
    sys.unraisablehook. Signals arrive in the main thread only."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before, main = sys.unraisablehook, threading.get_ident()

    def keep(unraisable: Any) -> None:
        called = unraisable.object  # the function; None from Python 3.13 on
        ours = called is None or str(getattr(called, "__module__", "")).startswith("gridsweep.")
        if (ours and "ctypes callback" in (unraisable.err_msg or "")
                and threading.get_ident() == main):
            raised.append(unraisable.exc_value)
        else:
            before(unraisable)

    try:
        sys.unraisablehook = keep
        yield
    finally:
        sys.unraisablehook = before


@contextmanager
def made(context: Any, create: Any, *arguments: Any) -> Iterator[c_void_p]:
    """The address of the object that create(context, ..., &address) creates. It is destroyed at the
    end of the `with`."""
    address = c_void_p()
    context._check(create(context._handle.pointer, *arguments, byref(address)))
    try:
        yield address
    finally:
        if create in (library.gsw_operator_from_matrix, library.gsw_operator_from_callback):
            library.gsw_operator_destroy(address)
        else:
            library.gsw_preconditioner_destroy(address)
