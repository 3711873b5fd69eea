"""py-pde: Poisson's equation on a Cartesian grid, also with periodic axes and without fixed values.

    from gridsweep.adaptors.pde import solve_poisson_equation
    u = solve_poisson_equation(field, bc={"value": 0})
    print(solve_poisson_equation.last.iterations)
"""

from typing import Any

from pde import CartesianGrid, ScalarField
from pde.backends.scipy.operators.cartesian import _get_laplace_matrix

import gridsweep

from . import checked


def solve_poisson_equation(rhs: Any, bc: Any, *, label: str = "Solution to Poisson's equation",
                           **options: Any) -> Any:
    """As pde.solve_poisson_equation(), with the options of gridsweep.solve()."""
    if not isinstance(rhs.grid, CartesianGrid):
        raise TypeError(f"rhs: is on a {type(rhs.grid).__name__}, must be on a CartesianGrid")
    matrix, vector = _get_laplace_matrix(rhs.grid.get_boundary_conditions(bc))
    b = rhs.data - vector.toarray().reshape(rhs.grid.shape)
    shape = rhs.grid.shape if rhs.grid.dim > 1 else (1, *rhs.grid.shape)
    x, solve_poisson_equation.last = checked(
        gridsweep.solve(matrix, b.reshape(shape), shape=shape, **options))
    return ScalarField(rhs.grid, x.reshape(rhs.grid.shape), label=label)


solve_poisson_equation.last = None
