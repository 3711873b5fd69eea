"""For a type checker: what users write has the types that the package says. Nothing runs here."""

from typing import TYPE_CHECKING, Any

import gridsweep as gs

if TYPE_CHECKING:
    from typing_extensions import assert_type


def solves(A: Any, b: Any) -> None:
    grid, stencil = gs.detect(A)
    assert_type(grid, gs.Grid)
    assert_type(stencil, gs.Stencil)
    with gs.ilu0(A, grid, factor_type="float32", pivot_shift=0.1) as M:
        assert_type(M, gs.Factor)
        assert_type(M.T, gs.Factor)
        assert_type(M.info.points, int)
        assert_type(M.shape, tuple[int, int])
        x, ended = gs.cg(A, b, M=M, maxiter=3, callback=lambda iteration, residual: residual < 1)
        info: gs.KrylovResult = ended  # several systems: a list
        assert_type(info.iterations, int)
    with gs.multigrid(A, (4, 3), smoother="ilu0") as hierarchy:
        assert_type(hierarchy, gs.Multigrid)
        assert_type(hierarchy.info.levels[0].grid, gs.Grid)
    y, told = gs.solve(A, b, rtol=1e-6, grid=(4, 3, 2), precond="mg", smoother="ilu0", maxiter=None)
    result: gs.SolveResult = told
    assert_type(result.fallback, str)
    with gs.Solver(A, grid, method="gmres", restart=50) as solver:
        assert_type(solver.update(A), gs.Solver)
        assert_type(solver.precond, str)
        x, ended = solver.solve(b, x0=y)
    gs.solve(A, b, coordinates=b)
    embedding = gs.embed(A, b)
    assert_type(embedding, gs.Embedding)
    assert_type(embedding.grid, gs.Grid)
    gs.sptrsv(A, b, lower=False, grid=grid, stencil="D3N7")
    with gs.Context("cpu", threads=2) as context:
        assert_type(context.backend, str)


def mistakes(A: Any, b: Any) -> None:
    gs.cg(A, b, max_iterations=3)  # type: ignore[call-arg]
    gs.gmres(A, b, restart="many")  # type: ignore[arg-type]
    x, infos = gs.solve_many([A, A], b, precond="mg", shape=(3, 4, 5), threads=2)
    x, info = gs.solve(A, b, verbose=True, progress=False, shape=(4, 5))
    axes = info.plot()
    print(axes, infos[0].converged, sum(info.history))
    gs.solve(A, b, preconditioner="mg")  # type: ignore[call-arg]
    gs.Solver(A, maxiter="many")  # type: ignore[arg-type]
    gs.Solver(A, out=b)  # type: ignore[call-arg]
    gs.ilu0(A, stencl="D3N7")  # type: ignore[call-arg]
    gs.multigrid(A, cycle=1)  # type: ignore[arg-type]
