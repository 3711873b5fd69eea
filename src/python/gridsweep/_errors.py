"""The exception for errors of the library, and the checks of plain arguments."""

import math
import operator
from difflib import get_close_matches
from typing import Any, Callable, Iterable, Mapping, TypeVar

from ._library import library
from ._types import Status

_Value = TypeVar("_Value")


class GridsweepError(RuntimeError):
    """A call of the library failed.

    status   Status: which error; compare with its members, not with numbers
    message  str: a sentence that names the argument, the row or the device
    """

    status: Status
    message: str

    def __init__(self, status: Status, message: str) -> None:
        super().__init__(status, message)
        self.status = status
        self.message = message

    def __str__(self) -> str:
        return f"{self.message} (GSW_ERROR_{self.status.name})"


def status_of(code: int) -> Status:
    """The Status of a C status. Other numbers come from a device or a newer library."""
    try:
        return Status(code)
    except ValueError:
        raise RuntimeError(f"the library returned the unknown status {code}") from None


def text_of(status: int) -> str:
    return str(library.gsw_status_text(status).decode())


def meant(word: object, words: Iterable[str]) -> str:
    """Which of the words may be meant, as a question; "" if none is like this one."""
    small, given = {known.lower(): known for known in words}, str(word).lower()
    close = ([known for known in small if known.startswith(given) and len(given) > 2]
             or get_close_matches({"gpu": "cuda"}.get(given, given), small, 1))
    return f"did you mean {small[close[0]]!r}?" if close else ""


def known_options(function: str, given: Iterable[str], known: Iterable[str]) -> None:
    """Raises TypeError for a keyword in `given` that the public function `function` does not have."""
    for name in given:
        if name not in known:
            asked = meant(name, known)
            raise TypeError(f"{name}: {function}() has no such option{asked and f' ({asked})'}; "
                            f"it has {', '.join(known)}")


def integer(name: str, value: Any, least: int, most: int = 2**31 - 1) -> int:
    """`value` as an int between `least` and `most`. A TypeError or ValueError names the argument."""
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"{name}: must be an integer, not {type(value).__name__}") from None
    if not least <= number <= most:
        raise ValueError(f"{name}: {number} is not between {least} and {most}")
    return number


def real(name: str, value: Any, accepts: Callable[[float], bool], wanted: str) -> float:
    """`value` as a finite float for which accepts(value) holds."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise TypeError(f"{name}: must be a number, not {type(value).__name__}") from None
    if not math.isfinite(number) or not accepts(number):
        raise ValueError(f"{name}: {number} is not {wanted}")
    return number


def choice(name: str, value: Any, choices: Mapping[str, _Value]) -> _Value:
    """What the word `value` stands for in `choices`."""
    try:
        return choices[value]
    except (KeyError, TypeError):
        words = ", ".join(repr(word) for word in choices)
        asked = meant(value, choices)
        raise ValueError(f"{name}: {value!r} is not one of {words}{asked and f'; {asked}'}") from None
