"""What help() and repr() show of the results, which are NamedTuples."""

import re
import sys
from pathlib import Path
from typing import Any, Type, TypeVar

_Kind = TypeVar("_Kind")
_FIELD = re.compile(r"^    (\w+): [^#\n]*# *(.*)((?:\n {8,}# .*)*)", re.M)


def explained(kind: Type[_Kind]) -> Type[_Kind]:
    """Gives each field of a NamedTuple its docstring: the comment behind it in the source."""
    try:
        source = Path(str(sys.modules[kind.__module__].__file__)).read_text(encoding="utf-8")
    except (OSError, ValueError):
        return kind  # there is only compiled code
    body = re.search(rf"^class {kind.__name__}\(.*?(?=^\S|\Z)", source, re.M | re.S)
    for name, said, more in _FIELD.findall(body[0] if body else ""):
        getattr(kind, name).__doc__ = " ".join([said, *re.findall("# (.*)", more)])
    return kind


def short(result: Any, names: str, **others: str) -> str:
    """A repr with the fields `names`, with the words of `others`, and with the message if there is one.
    Numbers have four digits."""
    fields = {name: getattr(result, name) for name in names.split()}
    words = [f"{name}={value:.4g}" if isinstance(value, float) else f"{name}={value!r}"
             for name, value in fields.items()]
    words += [f"{name}={value}" for name, value in others.items()]
    words += [f"message={result.message!r}"] * bool(result.message)
    return f"{type(result).__name__}({', '.join(words)})"
