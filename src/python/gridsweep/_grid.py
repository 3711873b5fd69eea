"""Grids and stencils, and how to find both from a matrix."""

from __future__ import annotations

from ctypes import byref
from dataclasses import dataclass
from typing import Any, Iterable, Optional, Tuple, Union

from . import _types as t
from ._errors import integer, meant
from ._library import library


@dataclass(frozen=True)
class Grid:
    """A regular grid of nx x ny x nz points. A plane has nz = 1.

    Point (x, y, z) is row x + nx*(y + ny*z) of the matrix: natural order, x fastest. So the vector v
    has the value of that point in v.reshape(grid.shape)[z, y, x].

    `periodic` names the axes whose ends are neighbours, such as "xy"; they come back in this order.
    Errors: TypeError, ValueError (an extent below 1, more than 2^48 points, an unknown axis).
    """

    nx: int
    ny: int = 1
    nz: int = 1
    periodic: str = ""

    def __post_init__(self) -> None:
        for name in ("nx", "ny", "nz"):
            object.__setattr__(self, name, integer(name, getattr(self, name), 1, 2**48))
        object.__setattr__(self, "periodic", _axes(self.periodic))
        if self.points > 2**48:
            raise ValueError(f"nx, ny, nz: {self} has more than 2^48 points")

    def __str__(self) -> str:
        axes = f", periodic in {self.periodic}" if self.periodic else ""
        return f"{self.nx}x{self.ny}x{self.nz}{axes}"

    @property
    def points(self) -> int:
        """Number of points, nx*ny*nz: the rows of the matrix."""
        return self.nx * self.ny * self.nz

    @property
    def shape(self) -> Tuple[int, int, int]:
        """(nz, ny, nx): the shape of a field in NumPy's order."""
        return (self.nz, self.ny, self.nx)

    def row(self, x: int, y: int = 0, z: int = 0) -> int:
        """Row of point (x, y, z). Nothing is checked."""
        return x + self.nx * (y + self.ny * z)

    def _c(self) -> t.gsw_grid:
        return t.gsw_grid(self.nx, self.ny, self.nz,
                          sum(1 << "xyz".index(axis) for axis in self.periodic))

    @classmethod
    def _of(cls, struct: t.gsw_grid) -> Grid:
        axes = "".join("xyz"[a] for a in range(3) if struct.periodic >> a & 1)
        return cls(struct.nx, struct.ny, struct.nz, axes)


class Stencil:
    """The offsets (dx, dy, dz) that a row may couple to, including the centre.

    Use Stencil("D3N7") for a named stencil; Stencil.known() lists the names. For any other stencil
    use Stencil(offsets) with an iterable of triples in any order.

    offsets  tuple of triples, ascending in (dz, dy, dx)
    name     "D3N7" and so on, else "custom"
    Errors: TypeError, ValueError (unknown name, no centre, a duplicate, more than 128 offsets).
    """

    offsets: Tuple[Tuple[int, int, int], ...]
    name: str

    def __init__(self, offsets: Union[str, Iterable[Tuple[int, int, int]]]) -> None:
        made = t.gsw_stencil()
        if isinstance(offsets, str):
            if library.gsw_stencil_named(offsets.encode(), byref(made)):
                asked = meant(offsets, self.known())
                raise ValueError(f"offsets: {offsets!r} is not the name of a stencil{asked and f'; {asked}'}")
        else:
            triples = [tuple(integer("offsets", v, -2**31) for v in o) for o in offsets]
            if any(len(o) != 3 for o in triples):
                raise ValueError("offsets: must be triples (dx, dy, dz)")
            array = (t.gsw_offset * max(len(triples), 1))(*(t.gsw_offset(*o) for o in triples))
            if library.gsw_stencil_from_offsets(array, len(triples), byref(made)):
                raise ValueError("offsets: must be 1 to 128 different offsets, (0, 0, 0) among "
                                 "them, no component beyond 1024")
        self._set(made)

    def _set(self, made: t.gsw_stencil) -> Stencil:
        self._struct = made
        self.offsets = tuple((o.dx, o.dy, o.dz) for o in made.offsets[:made.count])
        self.name = library.gsw_stencil_name(byref(made)).decode()
        return self

    @staticmethod
    def known() -> Tuple[str, ...]:
        """The names of all named stencils (tuple of str)."""
        names: list[str] = []
        while name := library.gsw_stencil_known(len(names)):
            names.append(name.decode())
        return tuple(names)

    @classmethod
    def _of(cls, struct: t.gsw_stencil) -> Stencil:
        return cls.__new__(cls)._set(t.gsw_stencil.from_buffer_copy(struct))

    def __repr__(self) -> str:
        return f"Stencil({self.name!r})" if self.name != "custom" else f"Stencil({self.offsets})"

    def __len__(self) -> int:
        return len(self.offsets)

    def __eq__(self, other: Any) -> bool:
        return isinstance(other, Stencil) and self.offsets == other.offsets

    def __hash__(self) -> int:
        return hash(self.offsets)


def _axes(periodic: Any) -> str:
    """The axes that are named, in order."""
    if not isinstance(periodic, str) or not set(periodic) <= set("xyz"):
        raise ValueError(f"periodic: must name axes, such as 'x' or 'xy', not {periodic!r}")
    return "".join(axis for axis in "xyz" if axis in periodic)


class Axes(str):
    """The periodic axes of a grid that is to be found."""


def with_axes(grid: Any, periodic: Optional[str]) -> Any:
    """A grid with these periodic axes; Axes where no grid is given."""
    if periodic is None:
        return grid
    if grid is None:
        return Axes(_axes(periodic))
    grid = grid_argument(grid)
    if grid.periodic not in ("", _axes(periodic)):
        raise ValueError(f"periodic: is {periodic!r}; the grid is {grid}")
    return Grid(grid.nx, grid.ny, grid.nz, periodic)


def grid_argument(grid: Any) -> Any:
    """The Grid for a Grid or a tuple of extents; None for None."""
    if grid is None or isinstance(grid, (Grid, Axes)):
        return grid
    if isinstance(grid, (tuple, list)) and 1 <= len(grid) <= 3:
        return Grid(*grid)
    raise TypeError(f"grid: must be a Grid or (nx, ny, nz), not {type(grid).__name__}")


def stencil_argument(stencil: Any) -> Any:
    """The Stencil for a Stencil, a name or offsets; None for None."""
    return stencil if stencil is None or isinstance(stencil, Stencil) else Stencil(stencil)
