"""Contexts: where work runs, and which thread may use it."""

from __future__ import annotations

import logging
import threading
import weakref
from collections import deque
from contextlib import contextmanager
from ctypes import byref, c_void_p
from typing import Any, Callable, Deque, Dict, Iterator, Optional, Tuple, TypeVar

from ._errors import GridsweepError, choice, integer, status_of, text_of
from ._library import build_info, library
from ._types import BACKENDS, LOG_FN, Status, gsw_context_options

_Self = TypeVar("_Self", bound="Owned")

# What the library reports goes to this logger: nothing is shown unless logging is set up.
logger = logging.getLogger("gridsweep")
logger.addHandler(logging.NullHandler())


class _Handle:
    """A C context, its lock, and the factors and hierarchies whose memory waits to be freed.

    Python can collect them in any thread, even inside a call with the same context. So they are
    freed later, when the lock is free. Python objects refer to a _Handle through finalizers, which
    keep it alive as long as one of them exists.
    """

    def __init__(self, pointer: c_void_p) -> None:
        self.pointer: Optional[c_void_p] = pointer
        self.lock = threading.Lock()
        self.owner: Optional[int] = None
        self.calling = 0     # number of the user's functions that the library is calling
        self.live: Dict[int, Callable[[int], Any]] = {}  # by address: what frees the object there
        self.dead: Deque[int] = deque()  # addresses of objects that are no longer needed

    def sweep_up(self) -> None:
        while self.dead:
            address = self.dead.popleft()
            destroy = self.live.pop(address, None)
            if destroy:
                destroy(address)

    @contextmanager
    def lent(self) -> Iterator[None]:
        """The library calls a function of the user, which may use the context meanwhile."""
        self.calling += 1
        try:
            yield
        finally:
            self.calling -= 1

    def discard(self, address: int) -> None:
        self.dead.append(address)
        if self.lock.acquire(blocking=False):
            try:
                self.sweep_up()
            finally:
                self.lock.release()

    def destroy(self) -> None:
        with self.lock:
            self.dead.extend(self.live)
            self.sweep_up()
            pointer, self.pointer = self.pointer, None
            library.gsw_context_destroy(pointer)


# What to do where CUDA does not work, and where the library was built without it.
_ADVICE = ('; nvidia-smi lists the devices, and Context("auto") takes the CPU where none answers',
           "; with pip: --config-settings=cmake.define.GSW_CUDA=ON")


def _reason(options: gsw_context_options, status: Status) -> str:
    """Why gsw_context_create() fails: there is no context to ask, but a log. A context that exists has
    none: an interrupt that arrives in it would be lost."""
    said: list[bytes] = []
    options.log = LOG_FN(lambda user, status, text: said.__setitem__(slice(None), [text]))
    pointer = c_void_p()
    library.gsw_context_create(byref(options), byref(pointer))
    library.gsw_context_destroy(pointer)
    return said[0].decode(errors="replace") if said else text_of(status)


class Context:
    """Where work runs: a backend and its threads, or its device and stream.

    You need one to run on a GPU. Without it a function creates its own context on the CPU.

    backend  "cpu", "cuda", or "auto": CUDA if the library has it and a device answers; "reference":
             plain loops with one thread, slow, to compare results with
    threads  CPU threads; 0: as many as OpenMP offers
    device   CUDA device number
    stream   address of a CUDA stream (int); 0: the default stream

    With CUDA, solves are queued on that stream and return at once; synchronize() waits for them.
    Arrays are device arrays. Keep them alive until their solve is done. If you write them on another
    stream, order the two streams. The producer of an array with DLPack makes it ready for the
    stream.

    Several Python threads may use a context: their calls take turns, and other threads run
    meanwhile. For solves at the same time create one context per thread, or one factor without a
    context. A context is freed together with all objects that were created in it: by close(), at the
    end of `with`, or with its last reference.
    Errors: TypeError, ValueError, GridsweepError (NO_BACKEND, OUT_OF_MEMORY).
    """

    backend: str
    threads: int
    device: str

    def __init__(self, backend: str = "cpu", *, threads: int = 0, device: int = 0, stream: int = 0) -> None:
        options = gsw_context_options(
            backend=choice("backend", backend, BACKENDS), threads=integer("threads", threads, 0),
            device=integer("device", device, 0),
            stream=integer("stream", stream, 0, 2**64 - 1) or None)
        pointer = c_void_p()
        status = status_of(library.gsw_context_create(byref(options), byref(pointer)))
        if status:
            advice = _ADVICE["CUDA: not built in" in build_info()] * (status == Status.NO_BACKEND)
            raise GridsweepError(status, _reason(options, status) + advice)
        self._handle = _Handle(pointer)
        self._close = weakref.finalize(self, _Handle.destroy, self._handle)
        self.backend = ("auto", "cpu", "cuda", "reference")[library.gsw_context_backend(pointer)]
        self.threads = library.gsw_context_threads(pointer)
        self.device = library.gsw_context_device(pointer).decode()
        self._device_number, self._stream = options.device, options.stream

    def __reduce__(self) -> Tuple[Any, ...]:
        if self._stream:
            raise TypeError("context: one with a stream cannot be copied")
        return _context_of, (self.backend, self.threads, self._device_number)

    def __repr__(self) -> str:
        state = "" if self._close.alive else ", closed"
        return f"<gridsweep.Context {self.backend}, threads={self.threads}{state}>"

    def __enter__(self) -> Context:
        return self

    def __exit__(self, *exception: Any) -> None:
        self.close()

    @property
    def closed(self) -> bool:
        """True after close()."""
        return not self._close.alive

    def close(self) -> None:
        """Frees the context and all objects that were created with it. A second call does nothing."""
        self._refuse_nesting()
        self._close()

    def synchronize(self) -> None:
        """Waits until all queued work is done, and raises its errors (CUDA)."""
        with self._turn():
            self._check(library.gsw_context_synchronize(self._handle.pointer))

    def _refuse_nesting(self) -> None:
        if self._handle.owner == threading.get_ident():
            raise RuntimeError("context: it is at work in this thread (a callback cannot use it)")

    @contextmanager
    def _turn(self) -> Iterator[Any]:
        """This thread's turn: yields the C context, after freeing the objects that waited for it."""
        handle = self._handle
        if handle.calling and handle.owner == threading.get_ident():
            yield handle.pointer
            return
        self._refuse_nesting()
        with handle.lock:
            if handle.pointer is None:
                raise ValueError("context: it is closed")
            handle.owner = threading.get_ident()
            try:
                handle.sweep_up()
                yield handle.pointer
            finally:
                handle.owner = None

    def _message(self, status: Status) -> str:
        said = library.gsw_context_message(self._handle.pointer).decode(errors="replace")
        return said or text_of(status)

    def _check(self, code: int, argument: Optional[str] = None) -> None:
        """Raises an exception for an error. Its message begins with `argument`, if given."""
        if code == Status.SUCCESS:
            return
        status = status_of(code)
        message = self._message(status)
        logger.error("%s", message)
        raise GridsweepError(status, f"{argument}: {message}" if argument else message)


def _context_of(backend: str, threads: int, device: int) -> Context:
    """What pickle and copy make of a context: another one."""
    return Context(backend, threads=threads if backend == "cpu" else 0, device=device)


class Owned:
    """An object of the library that belongs to a context: its lifetime. Its class has
    _noun  the name in messages
    """

    context: Context
    _noun: str
    _pointer: Any

    def _create(self, context: Context, create: Any, destroy: Any, *arguments: Any) -> None:
        """`create` is gsw_factor_create() or a similar function, `destroy` its counterpart."""
        pointer: Any = c_void_p()
        with context._turn() as c:
            context._check(create(c, *arguments, byref(pointer)), "A")
            context._handle.live[pointer.value] = destroy
        self._pointer = pointer.value
        self._close = weakref.finalize(self, context._handle.discard, pointer.value)
        self.context = context

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

    def _call(self, function: Any, *arguments: Any, about: Optional[str] = None) -> None:
        """Calls a C function with the context, the object and these arguments. An error's message
        begins with `about`, if given."""
        with self.context._turn() as c:
            self.context._check(function(c, self._address(), *arguments), about)

    def _address(self) -> Any:
        """The address of the C object, for use inside a turn of the context."""
        if self.closed:
            raise ValueError(f"{self._noun}: it is closed")
        return self._pointer


def context_for(context: Optional[Context], threads: int) -> Context:
    """The given context, or a new one on the CPU."""
    if context is None:
        return Context(threads=threads)
    if not isinstance(context, Context):
        given = f"gridsweep.Context({context!r}), not {context!r}" if isinstance(context, str) else (
            f"a gridsweep.Context, not {type(context).__name__}")
        raise TypeError(f"context: must be {given}")
    if threads:
        raise ValueError("threads: the context has its own; give one of the two")
    if context.closed:
        raise ValueError("context: it is closed")
    return context
