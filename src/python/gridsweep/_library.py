"""Finds libgridsweep, loads it once and checks that it fits this package."""

import ctypes
import ctypes.util
import os
import sys
from pathlib import Path
from typing import Iterator, List, Tuple

from ._types import PROTOTYPES, gsw_stencil

VERSION = "0.2.0"
VARIABLE = "GRIDSWEEP_LIBRARY"

_HELP = (f"Install the package with pip, which builds the library as well, or set the environment "
         f"variable {VARIABLE} to the path of a library, such as build/src/libgridsweep.so.")


def _names() -> List[str]:
    if sys.platform == "darwin":
        return ["libgridsweep.0.dylib", "libgridsweep.dylib"]
    return ["libgridsweep.so." + VERSION.rpartition(".")[0], "libgridsweep.so"]


def _candidates() -> Iterator[str]:
    """Paths or names to try, in this order. The system's loader looks for names."""
    chosen = os.environ.get(VARIABLE)
    if chosen:
        yield chosen
        return
    for path in (Path(__file__).parent / name for name in _names()):
        if path.exists():
            yield str(path)
    yield from _names()
    # Elsewhere this would run ldconfig, and the compiler that PATH finds.
    found = ctypes.util.find_library("gridsweep") if sys.platform == "darwin" else None
    if found:
        yield found


def _open() -> Tuple[str, ctypes.CDLL]:
    failures = []
    for name in _candidates():
        try:
            return name, ctypes.CDLL(name)
        except OSError as error:
            failures.append(str(error))
    reasons = "; ".join(dict.fromkeys(failures))
    raise ImportError(f"gridsweep: the shared library cannot be loaded ({reasons}). {_HELP}")


def _declare(library: ctypes.CDLL, name: str) -> None:
    for function, (result, arguments) in PROTOTYPES.items():
        try:
            entry = getattr(library, function)
        except AttributeError:
            raise ImportError(f"gridsweep: {name} has no function {function}; it is not the "
                              f"library of version {VERSION}. {_HELP}") from None
        entry.restype = result
        entry.argtypes = arguments


def _check(library: ctypes.CDLL, name: str) -> None:
    """Refuses another minor version, and a library whose structs have another layout."""
    version = library.gsw_version().decode()
    if version.split(".")[:2] != VERSION.split(".")[:2]:
        raise ImportError(f"gridsweep: {name} has version {version}; this package needs version "
                          f"{'.'.join(VERSION.split('.')[:2])}. {_HELP}")
    stencil = gsw_stencil()
    status = library.gsw_stencil_named(b"D3N7", ctypes.byref(stencil))
    offsets = [(o.dx, o.dy, o.dz) for o in stencil.offsets[:8]]
    if (status or (stencil.count, stencil.center) != (7, 3) or offsets[0] != (0, 0, -1)
            or offsets[6:] != [(0, 0, 1), (0, 0, 0)] or library.gsw_dtype_size(1) != 4):
        raise ImportError(f"gridsweep: the structs of {name} have another layout than this package "
                          f"expects. {_HELP}")


def _load() -> Tuple[str, ctypes.CDLL]:
    name, library = _open()
    _declare(library, name)
    _check(library, name)
    return name, library


path, library = _load()


def build_info() -> str:
    """How the loaded library was built: a str with one "key: value" per line of text."""
    return str(library.gsw_build_info().decode())
