"""The Python package against SciPy, and against a textbook ILU(0) written here.

    export GRIDSWEEP_LIBRARY=build/src/libgridsweep.so PYTHONPATH=src/python
    python3 -m pytest tests/test_python.py
"""

import contextlib
import copy
import ctypes
import gc
import inspect
import multiprocessing
import os
import pickle
import shutil
import signal
import subprocess
import sys
import threading
import time
import warnings
from pathlib import Path

import pytest

np = pytest.importorskip("numpy", reason="NumPy is not installed")
sp = pytest.importorskip("scipy.sparse", reason="SciPy is not installed")
spla = pytest.importorskip("scipy.sparse.linalg", reason="SciPy is not installed")
try:
    import gridsweep as gs
except ImportError as error:
    if "GRIDSWEEP_LIBRARY" in os.environ:
        raise
    pytest.skip(str(error), allow_module_level=True)

CUBE = [(dx, dy, dz) for dx in (-1, 0, 1) for dy in (-1, 0, 1) for dz in (-1, 0, 1)]
OFFSETS = {
    "D2N5": [(x, y, z) for x, y, z in CUBE if z == 0 and abs(x) + abs(y) <= 1],
    "D2N9": [(x, y, z) for x, y, z in CUBE if z == 0],
    "D3N7": [(x, y, z) for x, y, z in CUBE if abs(x) + abs(y) + abs(z) <= 1],
    "D3N15": [(x, y, z) for x, y, z in CUBE if abs(x) + abs(y) + abs(z) != 2],
    "D3N15X": [(x, y, z) for x, y, z in CUBE if abs(y) + abs(z) <= 1],
    "D3N15Y": [(x, y, z) for x, y, z in CUBE if abs(x) + abs(z) <= 1],
    "D3N15Z": [(x, y, z) for x, y, z in CUBE if abs(x) + abs(y) <= 1],
    "D3N27": CUBE,
}
CASES = [
    ("D2N5", (7, 5, 1)), ("D2N5", (1, 13, 1)), ("D2N5", (17, 1, 1)), ("D2N9", (11, 3, 1)),
    ("D2N9", (8, 8, 1)), ("D3N7", (5, 4, 3)), ("D3N7", (13, 1, 5)), ("D3N7", (1, 1, 9)),
    ("D3N7", (9, 10, 2)), ("D3N15", (6, 7, 5)), ("D3N15X", (6, 7, 5)),
    ("D3N15Y", (5, 9, 4)), ("D3N15Z", (9, 4, 6)), ("D3N27", (4, 3, 5)),
    ("D3N27", (7, 2, 2)), ("D3N27", (1, 6, 4)),
]


def true_residual(A, b, x, nullspace=None, active=None):
    """||b - A x|| and ||b|| in extended precision, without the part along the null vector. With a mask
    those of the active points."""
    if active is not None and np.size(active) == len(b):
        own = np.flatnonzero(active)  # of a field, too
        A = sp.csr_matrix(A)[own][:, own] if A.shape[0] == len(b) else A
        b, x = b[own], x[own]
    entries, r = sp.coo_matrix(A), np.array(b, dtype=np.longdouble)
    norms = []
    for vector in (r - _product(entries, x), r):
        if nullspace is not None:
            null = np.ones(len(r)) if isinstance(nullspace, str) else np.asarray(nullspace)
            null = null.astype(np.longdouble)
            vector = vector - null * (null @ vector) / (null @ null)
        norms.append(np.sqrt(np.sum(vector * vector)))
    return norms


def _product(entries, x):
    product = np.zeros(entries.shape[0], dtype=np.longdouble)
    np.add.at(product, entries.row,
              entries.data.astype(np.longdouble) * np.asarray(x)[entries.col])
    return product


@pytest.fixture(autouse=True)
def converged_is_true(monkeypatch):
    """Every solve of every test: converged means that the true residual meets the tolerance."""
    def checked(solve):
        def run(A, b, *arguments, **options):
            x, result = solve(A, b, *arguments, **options)
            nullspace, active = options.get("nullspace"), options.get("active")
            active = getattr(options.get("M"), "active", None) if active is None else active
            several = isinstance(result, list)
            for k, info in enumerate(result if several else [result]):
                if not (info.converged and sp.issparse(A) and isinstance(x, np.ndarray) and hasattr(b, "__len__")):
                    continue
                own = (b[:, k], x[:, k]) if several else (np.ravel(b), np.ravel(x))
                residual, length = true_residual(A, *own, nullspace, active)
                assert abs(residual - info.residual * length) <= 1e-3 * residual + 1e-12 * length
                if options.get("norm", "true") == "true":
                    assert residual <= max(options.get("rtol", 1e-8) * length,
                                           options.get("atol", 0))
            return x, result
        return run
    for name in ("cg", "bicgstab", "gmres", "richardson", "solve"):
        monkeypatch.setattr(gs, name, checked(getattr(gs, name)))


def matrix_of(stencil, extents, seed=1, symmetric=False, dtype=np.float64):
    """A diagonally dominant CSR matrix on the grid with every coupling of the stencil."""
    nx, ny, nz = extents
    random = np.random.RandomState(seed)
    rows, columns, values = [], [], []
    for z in range(nz):
        for y in range(ny):
            for x in range(nx):
                for dx, dy, dz in OFFSETS[stencil]:
                    u, v, w = x + dx, y + dy, z + dz
                    if 0 <= u < nx and 0 <= v < ny and 0 <= w < nz and (dx, dy, dz) != (0, 0, 0):
                        rows.append(x + nx * (y + ny * z))
                        columns.append(u + nx * (v + ny * w))
                        values.append(random.uniform(-1, 1))
    n = nx * ny * nz
    A = sp.csr_matrix((values, (rows, columns)), shape=(n, n))
    if symmetric:
        A = (A + A.T) / 2
    A = sp.csr_matrix(A + sp.diags(1 + np.asarray(abs(A).sum(axis=1)).ravel()))
    return A.astype(dtype)


def textbook_ilu0(A):
    """L (unit) and U with zero fill-in, the IKJ variant on a dense array."""
    n = A.shape[0]
    pattern, a = A.toarray() != 0, A.toarray().astype(np.float64)
    for i in range(1, n):
        for k in np.nonzero(pattern[i, :i])[0]:
            a[i, k] /= a[k, k]
            for j in np.nonzero(pattern[i])[0]:
                if j > k:
                    a[i, j] -= a[i, k] * a[k, j]
    return sp.csr_matrix(np.tril(a, -1) + np.eye(n)), sp.csr_matrix(np.triu(a))


def vectors(n, count=None, seed=5):
    shape = n if count is None else (n, count)
    return np.asfortranarray(np.random.RandomState(seed).uniform(-1, 1, shape))


def triangular_solve(T, b, lower, **options):
    return spla.spsolve_triangular(sp.csr_matrix(T), b, lower=lower, **options)


def close_to(x, wanted, bound=1e-13):
    assert x.shape == wanted.shape
    assert np.max(np.abs(x - wanted)) <= bound * max(1, np.max(np.abs(wanted)))


@pytest.fixture
def A():
    return matrix_of("D3N7", (5, 4, 3))


# ---- against SciPy and the textbook ----


@pytest.mark.parametrize("stencil, extents", CASES)
@pytest.mark.parametrize("transpose", [False, True])
@pytest.mark.parametrize("lower", [True, False])
def test_sptrsv_is_spsolve_triangular(stencil, extents, transpose, lower):
    A = matrix_of(stencil, extents)
    T = sp.tril(A) if lower else sp.triu(A)
    T, effective = (T.T, not lower) if transpose else (T, lower)
    b = vectors(A.shape[0])
    for algorithm in ("auto", "reference", "line", "pencil"):
        x = gs.sptrsv(A, b, lower=lower, transpose=transpose, grid=extents, algorithm=algorithm)
        close_to(x, triangular_solve(T, b, effective))
    unit = sp.csr_matrix(T - sp.diags(T.diagonal() - 1))
    x = gs.sptrsv(A, b, lower=lower, transpose=transpose, unit_diagonal=True, grid=extents)
    close_to(x, triangular_solve(unit, b, effective), 1e-12)


@pytest.mark.parametrize("stencil, extents", CASES)
@pytest.mark.parametrize("factor_type, bound", [("float64", 1e-13), (np.float32, 1e-5)])
def test_ilu0_is_the_textbook(stencil, extents, factor_type, bound):
    A = matrix_of(stencil, extents)
    L, U = textbook_ilu0(A)
    b = vectors(A.shape[0], 3)
    with gs.ilu0(A, extents, factor_type=factor_type) as M:
        close_to(M.solve(b), triangular_solve(U, triangular_solve(L, b, True), False), bound)
        for got, wanted in zip(M.extract(), (L, U)):
            close_to(sp.csr_matrix(got, shape=A.shape).toarray(), wanted.toarray(), bound)
    with gs.ilu0(A, extents, factor_type=factor_type, transpose=True) as M:
        wanted = triangular_solve(L.T, triangular_solve(U.T, b, True), False)
        close_to(M.solve(b), wanted, bound)


@pytest.mark.parametrize("stencil, extents", CASES)
def test_ic0_of_a_symmetric_matrix_is_its_ilu0(stencil, extents):
    A = matrix_of(stencil, extents, symmetric=True)
    L, U = textbook_ilu0(A)
    b = vectors(A.shape[0])
    close_to(gs.ic0(A, extents) @ b, triangular_solve(U, triangular_solve(L, b, True), False))


@pytest.mark.parametrize("stencil, extents", CASES)
def test_dilu_ssor_jacobi_by_their_definitions(stencil, extents):
    A = matrix_of(stencil, extents)
    lower, upper, d = sp.tril(A, -1).toarray(), sp.triu(A, 1).toarray(), A.diagonal()
    b, w = vectors(A.shape[0]), 1.3
    E = d.copy()
    for i in range(len(E)):
        E[i] = d[i] - np.sum(lower[i, :i] * upper[:i, i] / E[:i])
    products = {
        gs.dilu(A, extents): (np.diag(E) + lower) @ np.diag(1 / E) @ (np.diag(E) + upper),
        gs.ssor(A, extents, omega=w):
            (np.diag(d / w) + lower) @ np.diag(w / d) @ (np.diag(d / w) + upper) / (2 - w),
        gs.jacobi(A, extents): np.diag(d),
    }
    for factor, M in products.items():
        close_to(factor.solve(b), np.linalg.solve(M, b), 1e-12)


def test_triangular_factors_are_sptrsv(A):
    b = vectors(A.shape[0], 2)
    for lower in (True, False):
        for unit in (False, True):
            with gs.triangular(A, lower=lower, unit_diagonal=unit) as T:
                close_to(T.solve(b), gs.sptrsv(A, b, lower=lower, unit_diagonal=unit))
                parts = T.extract()
                assert (parts[0] is None, parts[1] is None) == (not lower, lower)


def test_float32_throughout(A):
    b = vectors(A.shape[0]).astype(np.float32)
    single = A.astype(np.float32)
    L, U = textbook_ilu0(A)
    wanted = triangular_solve(U, triangular_solve(L, b, True), False)
    M = gs.ilu0(single, factor_type="float32", vector_type="float32")
    assert M.dtype == np.float32 and M.solve(b).dtype == np.float32
    close_to(M.solve(b), wanted, 1e-5)
    x = gs.sptrsv(single, b)
    assert x.dtype == np.float32
    close_to(x, triangular_solve(sp.tril(A), b, True), 1e-5)
    assert gs.sptrsv(A, b).dtype == np.float64


@pytest.mark.parametrize("threads", [2, 3])
@pytest.mark.parametrize("make, options", [(gs.ilu0, {}), (gs.multigrid, {"cycle_type": "float64"}),
                                           (gs.multigrid, {"cycle_type": "float32"})])
def test_threads_change_no_bit(make, options, threads):
    A = lognormal(19, 18, 17) if options else matrix_of("D3N27", (9, 8, 7))
    b = vectors(A.shape[0])
    wanted = make(A, threads=1, **options) @ b
    assert np.array_equal(make(A, threads=threads, **options) @ b, wanted)


# ---- arrays ----


def test_arrays_are_used_where_they_lie(A):
    from gridsweep import _arrays

    b = vectors(60, 3)
    with gs.Context() as context:
        matrix = _arrays.Matrix(context, "A", A)
        csr = matrix.struct.csr
        assert csr.values == A.data.ctypes.data
        assert csr.columns == A.indices.ctypes.data and csr.row_ptr == A.indptr.ctypes.data
        for given in (b, b[:, 1], b[:, ::2], b[:, :1], b.reshape(-1, order="F")[:60]):
            view = _arrays.source(context, "b", given, 60, np.float64)
            assert view.address == given.ctypes.data
        assert _arrays.source(context, "b", b[:, ::2], 60, np.float64).ld == 120
        for given in (np.ascontiguousarray(b), b.astype(np.float32), b[::-1], list(b[:, 0])):
            view = _arrays.source(context, "b", given, 60, np.float64)
            assert view.address != np.asarray(given).ctypes.data and view.ld == 60


@pytest.mark.parametrize("make", [gs.ilu0, gs.multigrid])
def test_every_layout_gives_the_same(make):
    M, b = make(poisson(9, 8, 7)), vectors(504, 4)
    wanted = np.column_stack([M.solve(b[:, r]) for r in range(4)])
    spread = np.zeros((1008, 8))
    spread[::2, ::2] = b
    layouts = (b, np.ascontiguousarray(b), spread[::2, ::2], np.asfortranarray(b).astype(">f8"),
               b.tolist())
    for given in layouts:
        assert np.array_equal(M.solve(given), wanted)
    assert np.array_equal(M.solve(b[:, ::3]), wanted[:, ::3])
    assert np.array_equal(M.matmat(b), wanted) and np.array_equal(M @ b, wanted)
    assert np.array_equal(M(b[:, 0]), wanted[:, 0]) and M.matvec(b[:, :1]).shape == (504, 1)
    assert M.solve(b[:, :0]).shape == (504, 0)


def test_a_column_stays_a_column_without_a_warning(A):
    b = vectors(60, 2)
    with gs.ilu0(A) as M, warnings.catch_warnings():
        warnings.simplefilter("error")
        wanted = M.solve(b[:, 0])
        for column in (b[:, :1], np.ascontiguousarray(b[:, :1]), b[:, :1].tolist()):
            for x in (M.matvec(column), M @ np.asarray(column), M.dot(np.asarray(column))):
                assert type(x) is np.ndarray and np.array_equal(x, wanted[:, None])
        assert np.array_equal(M.matvec(b[:, 0]), wanted)
        for wrong in (b, b[1:, :1], b[1:, 0]):
            with pytest.raises(ValueError):
                M.matvec(wrong)


def test_out_and_in_place(A):
    b = vectors(60, 2)
    for solve in (gs.ilu0(A).solve, gs.multigrid(A, coarsest_points=5).solve,
                  lambda b, out: gs.sptrsv(A, b, out=out)):
        wanted = solve(b, None)
        out = np.full((60, 2), np.nan, order="F")
        assert solve(b, out) is out and np.array_equal(out, wanted)
        work = b.copy(order="F")
        assert solve(work, work) is work and np.array_equal(work, wanted)
        shared = np.zeros((60, 3), order="F")  # b and out overlap in part
        shared[:, :2] = b
        assert np.array_equal(solve(shared[:, :2], shared[:, 1:]), wanted)


def test_index_types_bases_and_formats(A):
    b = vectors(60)
    wanted = gs.ilu0(A) @ b
    for index in (np.int32, np.int64, np.uint16):
        for base in (0, 1):
            parts = (A.data, (A.indices + base).astype(index), (A.indptr + base).astype(index))
            assert np.array_equal(gs.ilu0(parts) @ b, wanted)
    mixed = (A.data, A.indices.astype(np.int32), A.indptr.astype(np.int64))
    assert np.array_equal(gs.ilu0(mixed) @ b, wanted)
    for other in (A.tocsc(), A.tocoo(), A.todia(), sp.dia_array(A), sp.csr_array(A), A.tobsr()):
        assert np.array_equal(gs.ilu0(other) @ b, wanted)
    unsorted = A.copy()
    for i in range(60):
        row = slice(A.indptr[i], A.indptr[i + 1])
        unsorted.indices[row], unsorted.data[row] = A.indices[row][::-1], A.data[row][::-1]
    unsorted = sp.csr_matrix((unsorted.data, unsorted.indices, unsorted.indptr), shape=A.shape)
    before = unsorted.indices.copy()
    assert np.array_equal(gs.ilu0(unsorted) @ b, wanted)
    assert np.array_equal(unsorted.indices, before)


# ---- grids ----


@pytest.mark.parametrize("stencil, extents", [c for c in CASES if min(c[1][:2]) > 2])
def test_detect(stencil, extents):
    A = matrix_of(stencil, extents)
    grid, found = gs.detect(A)
    assert (grid.nx, grid.ny, grid.nz) == extents and found == gs.Stencil(stencil)
    assert found.name == stencil and len(found) == len(OFFSETS[stencil])
    assert gs.detect(sp.dia_array(A)) == (grid, found)
    assert gs.detect(A, grid=grid) == (grid, found)


def line(n):
    return sp.diags([-np.ones(n - 1), np.full(n, 2.0), -np.ones(n - 1)], [-1, 0, 1])


def short_lines(nx, ny):
    """The five-point matrix as SciPy's kron() makes it from short lines: blocks with stored zeros."""
    A = sp.kron(sp.eye(ny), line(nx)) + sp.kron(line(ny), sp.eye(nx))
    assert A.format == "bsr" and np.count_nonzero(A.data) < A.data.size
    return A


def five_diagonals(nx, ny):
    """The same with five full diagonals: zeros at the ends of lines."""
    n = nx * ny
    near = -np.ones(n - 1)
    near[nx - 1::nx] = 0
    row, far = np.arange(n), -np.ones(n - nx)
    rows = np.concatenate([row, row[:-1], row[1:], row[:-nx], row[nx:]])
    columns = np.concatenate([row, row[1:], row[:-1], row[nx:], row[:-nx]])
    values = np.concatenate([np.full(n, 4.0), near, near, far, far])
    return sp.coo_matrix((values, (rows, columns)))


@pytest.mark.parametrize("make, nx, ny", [(short_lines, 5, 9), (short_lines, 4, 30),
                                          (five_diagonals, 4, 30), (five_diagonals, 20, 15)])
def test_stored_zeros_are_no_couplings(make, nx, ny):
    given = make(nx, ny)
    clean = sp.csr_matrix(given.tocsr())
    clean.eliminate_zeros()
    b = vectors(nx * ny)
    for A in (given, given.tocsr(), given.tocsc(), given.tocoo(), given.todia(),
              (given.tocsr().data, given.tocsr().indices, given.tocsr().indptr)):
        stored = A[0] if isinstance(A, tuple) else A.data
        before = stored.copy()
        for grid in (None, (nx, ny)):
            assert gs.detect(A, grid) == (gs.Grid(nx, ny), gs.Stencil("D2N5"))
            M = gs.ilu0(A, grid)
            assert np.array_equal(M @ b, gs.ilu0(clean) @ b)
            x, info = gs.cg(A, b, M=gs.multigrid(A, grid))
            close_to(x, spla.spsolve(clean.tocsc(), b), 1e-6)
            assert np.array_equal(M.refactor(A) @ b, gs.ilu0(clean) @ b)
            assert np.array_equal(gs.sptrsv(A, b, lower=True), gs.sptrsv(clean, b, lower=True))
        assert np.array_equal(stored, before)
    changed = given.tocsr()
    changed.data[changed.data == 0] = 1e-3
    with pytest.raises(gs.GridsweepError, match="is not in the stencil D2N5") as caught:
        gs.ilu0(clean).refactor(changed)
    assert caught.value.status == gs.Status.NOT_A_GRID and "is 0" not in caught.value.message


def test_the_order_of_a_shape_is_named():
    A = poisson(9, 8, 7)
    for call in (gs.detect, gs.ilu0, gs.multigrid):
        with pytest.raises(gs.GridsweepError, match=r"no 7 x 8 x 9 grid, but a 9 x 8 x 7 grid: give "
                                                    r"the extents as \(nx, ny, nz\)"):
            call(A, gs.Grid(9, 8, 7).shape)


def test_unknowns_are_told_from_points():
    G, eye = short_lines(5, 9), sp.eye(45)
    A = sp.bmat([[G + eye, 0.5 * eye], [-0.7 * eye, G + eye]])
    with pytest.warns(UserWarning, match="A: the rows look like 2 unknowns per point"):
        assert gs.detect(A)[0] == gs.Grid(5, 9, 2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        gs.detect(sp.kron(sp.eye(2), G) + sp.kron(line(2), eye))
        gs.ilu0(A, (5, 9, 2), stencil="D3N7")


def test_sparse_vectors_are_refused(A):
    b, M = sp.csr_matrix(np.ones((60, 1))), gs.ilu0(A)
    for name, call in (("b", lambda: gs.cg(A, b)), ("b", lambda: gs.cg(A, b, M=M)),
                       ("b", lambda: gs.sptrsv(A, b, lower=True)), ("b", lambda: M.solve(b)),
                       ("x", lambda: M.matvec(b)), ("x", lambda: M @ b), ("b", lambda: gs.multigrid(A).solve(b)),
                       ("b", lambda: gs.smooth(A, M, b, np.zeros(60))),
                       ("b", lambda: gs.gmres(lambda x: A @ x, b)),
                       ("x0", lambda: gs.bicgstab(A, np.ones(60), b)),
                       ("nullspace", lambda: gs.cg(A, np.ones(60), nullspace=b)),
                       ("x", lambda: gs.smooth(A, M, np.ones(60), b)),
                       ("out", lambda: M.solve(np.ones(60), out=b))):
        with pytest.raises(TypeError, match=f"{name}: is a sparse matrix; give {name}.toarray()"):
            call()


def test_grid_and_stencil():
    grid = gs.Grid(4, 3)
    assert (grid.points, grid.shape, grid.row(1, 2), str(grid)) == (12, (1, 3, 4), 9, "4x3x1")
    stencil = gs.Stencil([(0, 0, 0), (2, 0, 0), (-1, 0, 0)])
    assert stencil.offsets == ((-1, 0, 0), (0, 0, 0), (2, 0, 0)) and stencil.name == "custom"
    assert gs.Stencil(OFFSETS["D3N27"]) == gs.Stencil("d3n27")
    assert set(OFFSETS) <= set(gs.Stencil.known())
    for name in gs.Stencil.known():
        assert gs.Stencil(name).name == name and name.rstrip("XYZ").endswith(f"N{len(gs.Stencil(name))}")
    assert len({stencil, gs.Stencil(stencil.offsets)}) == 1


# ---- life ----


def test_refactor(A):
    other = matrix_of("D3N7", (5, 4, 3), seed=9)
    b = vectors(60)
    M = gs.ilu0(A)
    assert M.refactor(other) is M and np.array_equal(M @ b, gs.ilu0(other) @ b)
    broken = A.copy()
    broken.data[0] = 0  # the first diagonal
    with pytest.raises(gs.GridsweepError, match="row 0") as caught:
        M.refactor(broken)
    assert caught.value.status == gs.Status.ZERO_PIVOT and M.info.first_bad_row == 0
    with pytest.raises(gs.GridsweepError):
        M.solve(b)
    close_to(M.refactor(A) @ b, gs.ilu0(A) @ b)
    with pytest.raises(gs.GridsweepError, match="^A: "):
        M.refactor(matrix_of("D3N27", (5, 4, 3)))


def test_info(A):
    info = gs.ilu0(A, factor_type="float32").info
    assert (info.kind, info.factor_type, info.vector_type) == ("ilu0", "float32", "float64")
    assert (info.points, info.grid, info.stencil.name) == (60, gs.Grid(5, 4, 3), "D3N7")
    assert info.packed_bytes > 0 and info.moved_bytes > 0 and info.first_bad_row == -1
    broken = A.copy()
    broken.data[0] = 0
    info = gs.ilu0(broken, pivot_shift=0.1).info
    assert (info.shifted_pivots, info.first_bad_row) == (1, -1)


@pytest.mark.parametrize("make, name, uses", [
    (gs.ilu0, "factor", [lambda M, A, b: M.solve(b), lambda M, A, b: M.refactor(A),
                         lambda M, A, b: M.info, lambda M, A, b: M.extract()]),
    (lambda A, **options: gs.multigrid(A, coarsest_points=5, **options), "multigrid",
     [lambda M, A, b: M.solve(b), lambda M, A, b: M.refactor(A), lambda M, A, b: M.info,
      lambda M, A, b: M.extract("P", 0), lambda M, A, b: gs.cg(A, b, M=M)]),
    (gs.Solver, "solver", [lambda M, A, b: M.solve(b), lambda M, A, b: M.update(A)])])
def test_close(A, make, name, uses):
    """By itself, or with its context."""
    b = vectors(60)
    first = make(A)
    with first:
        first.solve(b)
    first.close()
    with gs.Context(threads=1) as context:
        M, other = make(A, context=context), gs.jacobi(A, context=context)
        x, _ = gs.solve(A, b, context=context)
        assert not M.closed and M.shape == (60, 60) and len(context._handle.live) == 2
        other.close()
        assert list(context._handle.live) == [M._pointer]
    assert context.closed and not context._handle.live and np.array_equal(x, gs.solve(A, b)[0])
    M.close()
    context.close()
    assert M.closed and first.closed and repr(first).endswith("closed>")
    for use in (*uses, lambda *_: M.solve(b)):
        with pytest.raises(ValueError, match=f"{name}: it is closed"):
            use(first, A, b)
    for use in (lambda: make(A, context=context), context.synchronize):
        with pytest.raises(ValueError, match="context: it is closed"):
            use()


def resident_kib():
    gc.collect()
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE") // 1024


needs_proc = pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="needs /proc")


def assert_no_leak(once, warm_up, runs, kib):
    """Runs once(0), once(1), ...; after the first ones, memory does not grow by so much."""
    for i in range(warm_up):
        once(i)
    before = resident_kib()
    for i in range(runs):
        once(i)
    assert resident_kib() - before < kib


@needs_proc
def test_no_leaks():
    A = matrix_of("D3N7", (20, 16, 12))
    b = vectors(A.shape[0])
    packed = gs.ilu0(A).info.packed_bytes // 1024

    def once(i):
        M = gs.ilu0(A, threads=1)
        gs.sptrsv(A, b, threads=1)
        M.solve(b)
        M.extract()
        with pytest.raises(gs.GridsweepError):
            gs.ilu0(A * 0, pivot_shift=0, grid=(20, 16, 12), threads=1)
        if i % 2:
            M.close()

    assert_no_leak(once, 20, 200, 10 * packed)


SYSTEM = {}


def solve_in_child(_):
    """Solves with a new factor and with the parent's; whether the bits are the parent's, seconds."""
    started = time.monotonic()
    A, b, M = SYSTEM["A"], SYSTEM["b"], SYSTEM["M"]
    equal = [np.array_equal(gs.cg(A, b, M=F)[0], SYSTEM["x"]) for F in (gs.ic0(A, threads=2), M)]
    return all(equal), time.monotonic() - started


def test_children_of_a_pool_solve():
    """OpenMP's threads do not live on in forked children, where GNU's runtime would wait for them."""
    A = matrix_of("D3N7", (24, 23, 22), symmetric=True)
    b = np.random.default_rng(5).standard_normal(A.shape[0])
    M = gs.ic0(A, threads=2)
    SYSTEM.update(A=A, b=b, M=M, x=gs.cg(A, b, M=M)[0])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of Python, on forks with threads
        with multiprocessing.get_context("fork").Pool(4, maxtasksperchild=1) as pool:
            results = pool.map_async(solve_in_child, [None] * 100, chunksize=1).get(timeout=120)
    assert all(equal for equal, _ in results)
    assert max(seconds for _, seconds in results) < 1


def in_threads(solve, b, times):
    """One thread per b solves, `times` times; each time the bits are those of a solve before."""
    wanted, right = [solve(v) for v in b], []

    def work(i):
        right.extend(np.array_equal(solve(b[i]), wanted[i]) for _ in range(times))

    threads = [threading.Thread(target=work, args=(i,)) for i in range(len(b))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(right) == times * len(b) and all(right)


@pytest.mark.parametrize("make, makes_another", [(gs.ilu0, gs.jacobi), (gs.multigrid, gs.multigrid)])
def test_threads_share_an_object(make, makes_another):
    """They solve with it, and make other objects in its context between the solves."""
    A = poisson(9, 8, 7)
    M = make(A, threads=1)

    def solve(v):
        x = M.solve(v)
        makes_another(A, context=M.context)  # collected while others solve
        return x

    in_threads(solve, [vectors(504, seed=seed) for seed in range(6)], 60)
    M.context.synchronize()
    assert list(M.context._handle.live) == [M._pointer]


def run_python(code, **variables):
    path = str(Path(gs.__file__).parent.parent)
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120,
                          env={**os.environ, "PYTHONPATH": path, **variables})


@pytest.mark.parametrize("make", ["ilu0", "multigrid"])
def test_exit_with_open_objects(make):
    code = ("import gridsweep, numpy as np\n"
            "parts = np.full(5, 2.0), np.arange(5), np.arange(6)\n"
            "class Node: pass\n"
            f"a = Node(); a.M, a.me = gridsweep.{make}(parts), a\n"
            f"context = gridsweep.Context(); M = gridsweep.{make}(parts, context=context)\n"
            "print(M.solve(np.ones(5)), a.M(np.ones(5)))\n")
    done = run_python(code)
    assert done.returncode == 0 and done.stdout.count("0.5") == 10 and not done.stderr


@pytest.mark.parametrize("end, middle", [(10**6, 4), (13, 10**6), (13, -5)])
def test_a_csr_that_was_damaged(end, middle):
    """SciPy's own functions would write beyond the arrays."""
    A = sp.diags([-1.0, 4.0, -1.0], [-1, 0, 1], (5, 5), format="csr")
    A.indptr[2], A.indptr[-1] = middle, end
    with pytest.raises(ValueError, match="indptr must begin with 0, ascend"):
        gs.ilu0(A)


@pytest.mark.parametrize("make", ["ilu0", "multigrid"])
def test_without_scipy(make):
    code = ("import sys; sys.modules['scipy'] = None\n"
            "import gridsweep, numpy as np\n"
            f"M = gridsweep.{make}((np.full(5, 2.0), np.arange(5), np.arange(6)))\n"
            "b = np.ones((5, 2))\n"
            "for x in (M.solve(b), M.matmat(b), M @ b, M.matvec(b[:, 0])[:, None], M(b), M.dot(b)):\n"
            "    assert (x == 0.5).all()\n"
            "assert M.shape == (5, 5) and 'scipy.sparse' not in sys.modules\n")
    done = run_python(code)
    assert done.returncode == 0 and not done.stderr, done.stderr


@pytest.mark.parametrize("library, text", [("./no-such-file.so", "no-such-file"),
                                           ("libc.so.6", "has no function gsw_")])
def test_import_says_what_to_do(library, text):
    done = run_python("import gridsweep", GRIDSWEEP_LIBRARY=library)
    assert done.returncode == 1 and "ImportError: gridsweep: " in done.stderr
    assert text in done.stderr and "GRIDSWEEP_LIBRARY" in done.stderr


def test_import_runs_no_program():
    # Without a chosen library the import looks for one, and need not find one.
    code = ("import sys, subprocess\n"
            "sys.addaudithook(lambda event, args: print('ran', event, args) if event in\n"
            "    ('subprocess.Popen', 'os.system', 'os.exec', 'os.posix_spawn') else None)\n"
            "try: import gridsweep\n"
            "except ImportError: pass\n")
    done = run_python(code, GRIDSWEEP_LIBRARY="")
    assert done.returncode == 0 and "ran" not in done.stdout, done.stdout + done.stderr


# ---- Krylov methods ----


def three_axes(low, middle, high, *extents):
    """The Kronecker sum of a tridiagonal matrix along each axis."""
    x, y, z = (sp.diags([low, middle, high], [-1, 0, 1], shape=(n, n)) for n in extents)
    return sp.csr_matrix(sp.kronsum(sp.kronsum(x, y), z))


def poisson(nx, ny, nz):
    A = three_axes(-1.0, 2.0, -1.0, nx, ny, nz)
    A.eliminate_zeros()  # SciPy stores some where an axis is short
    return A


def closed(A):
    """With pure Neumann conditions: rows add up to 0."""
    return sp.csr_matrix(A - sp.diags(np.asarray(A.sum(axis=1)).ravel()))


@pytest.mark.parametrize("method", ["cg", "gmres"])
def test_preconditions_scipy(method):
    A = poisson(16, 15, 9)
    b = vectors(A.shape[0])

    def iterations(M):
        count = []
        options = {"callback_type": "pr_norm"} if method == "gmres" else {}
        x, failed = getattr(spla, method)(A, b, M=M, atol=0,
                                          callback=lambda _: count.append(1), **options)
        assert failed == 0 and np.linalg.norm(b - A @ x) <= 1e-3 * np.linalg.norm(b)
        return len(count)

    plain = iterations(None)
    assert plain > 20
    for make in (gs.ilu0, gs.ic0, gs.dilu, gs.ssor):
        with make(A) as M:
            assert isinstance(M, spla.LinearOperator)
            assert iterations(M) < 0.6 * plain
    with gs.ilu0(A, factor_type="float32") as M:
        assert iterations(M) < 0.6 * plain


@pytest.mark.parametrize("name", ["cg", "bicgstab", "gmres"])
@pytest.mark.parametrize("norm", ["true", "preconditioned"])
def test_krylov(name, norm):
    A = poisson(12, 11, 7) if name == "cg" else matrix_of("D3N7", (12, 11, 7))
    solve = getattr(gs, name)
    b = vectors(A.shape[0])
    wanted = spla.spsolve(A.tocsc(), b)
    plain_x, plain = solve(A, b, norm=norm, maxiter=None)
    close_to(plain_x, wanted, 1e-6)
    with gs.ilu0(A) as M:
        x, result = solve(A, b, M=M, norm=norm, rtol=1e-10)
        close_to(x, wanted, 1e-8)
        assert result.converged and result.status == gs.Status.SUCCESS and not result.message
        assert result.iterations < plain.iterations
        guess = x.copy()
        again, result = solve(A, b, guess, M=M, out=guess, norm=norm)
        assert again is guess and result.iterations <= 1
        kept = guess.astype(np.float32)[::-1]
        again, info = solve(A, b, kept[::-1], M=M, rtol=1e-3)
        assert not info and info.iterations <= 1 and np.array_equal(kept[::-1], np.float32(guess))
        out = np.full(A.shape[0], np.nan)
        same, _ = solve(A, b, M=M, out=out, norm=norm, rtol=1e-10)
        assert same is out and np.array_equal(out, x)
    x, result = solve(A, b, maxiter=2, rtol=1e-14)
    assert result and not result.converged and result.status == gs.Status.NOT_CONVERGED and result.message
    x, result = solve(A, np.full(A.shape[0], np.nan))
    assert result.status == gs.Status.NON_FINITE


def dense_of(apply, points):
    """The matrix of a linear function, column by column."""
    return np.column_stack([apply(unit) for unit in np.eye(points)])


@pytest.mark.parametrize("kind", ["ilu0", "ic0", "dilu", "jacobi", "lower", "upper"])
@pytest.mark.parametrize("factor_type", ["float64", "float32"])
def test_transposed_factors(kind, factor_type):
    A = poisson(3, 4, 5) if kind == "ic0" else matrix_of("D3N15X", (5, 4, 3))
    options = {"factor_type": factor_type}
    if kind in ("lower", "upper"):
        make, options["lower"] = gs.triangular, kind == "lower"
    else:
        make = getattr(gs, kind)
    b = vectors(60, 3)
    tolerance = 1e-12 if factor_type == "float64" else 1e-5
    with make(A, **options) as M, make(A, transpose=True, **options) as wanted:
        inverse = dense_of(M.solve, 60)
        assert M.T is M.H is M.transposed() and M.T.T is M
        assert repr(M.T).startswith(f"<gridsweep.Factor {kind} ")
        for x in (M.T @ b, M.rmatmat(b), M.transposed().solve(b), M.H.matmat(b)):
            close_to(x, inverse.T @ b, tolerance)
            close_to(x, wanted.solve(b), tolerance)
        close_to(M.rmatvec(b[:, 0]), inverse.T @ b[:, 0], tolerance)
        close_to(dense_of(M.T.T.solve, 60), inverse, tolerance)
        if kind not in ("ic0", "jacobi"):
            with pytest.raises(NotImplementedError, match="without transpose"):
                wanted.transposed()
        M.refactor(3 * A)
        close_to(M.T @ b, inverse.T @ b / 3, tolerance)


def test_what_cannot_be_transposed(A):
    with gs.ssor(A) as M, pytest.raises(NotImplementedError, match="ssor.*transpose=True"):
        M.rmatvec(vectors(60))
    with gs.multigrid(A) as M, pytest.raises(NotImplementedError, match="multigrid: .*not symmetric"):
        M.rmatvec(vectors(60))
    M = gs.ilu0(A)
    M.close()
    with pytest.raises(ValueError, match="factor: it is closed"):
        M.transposed()


def test_bicg_and_qmr_of_scipy():
    """They apply M and its transpose."""
    A = matrix_of("D3N7", (12, 11, 7))
    b = vectors(A.shape[0])
    for make in (gs.ilu0, gs.dilu):
        with make(A) as M:
            counts = {}
            for name, options in (("none", {}), ("M", {"M": M})):
                steps = []
                x, info = spla.bicg(A, b, atol=0, callback=steps.append, **options)
                counts[name] = len(steps)
                assert info == 0 and np.linalg.norm(b - A @ x) < 1e-4 * np.linalg.norm(b)
            assert 2 * counts["M"] < counts["none"]
            x, info = spla.qmr(A, b, atol=0, M1=M, M2=spla.aslinearoperator(sp.identity(A.shape[0])))
            assert info == 0 and np.linalg.norm(b - A @ x) < 1e-4 * np.linalg.norm(b)
    A = poisson(12, 11, 7)
    with gs.multigrid(A) as M:
        assert M.T is M
        x, info = spla.bicg(A, vectors(A.shape[0]), atol=0, M=M)
        assert info == 0


@pytest.mark.parametrize("name", ["cg", "bicgstab", "gmres"])
def test_several_systems(name):
    """Each ends as it does alone: to the bit, with its own iterations, status and monitor."""
    A = poisson(12, 11, 7)
    solve = getattr(gs, name)
    b = np.asfortranarray(vectors(A.shape[0], 10))
    b[:, 2] = 0
    b[5, 4] = np.nan
    b[:, 6] = 1
    guess = 0.1 * vectors(A.shape[0], 10)
    kept = guess.copy()
    for M in (None, gs.ic0(A)):
        for x0 in (None, guess):
            seen = []
            x, infos = solve(A, b, x0, M=M, callback=lambda *told: seen.append(told) or told[:2] == (7, 2))
            assert len(infos) == 10 and x.shape == b.shape and np.array_equal(guess, kept)
            for k, info in enumerate(infos):
                mine = [(i, r) for system, i, r in seen if system == k]
                alone = []
                same, one = solve(A, b[:, k], None if x0 is None else guess[:, k], M=M,
                                  callback=lambda i, r: alone.append((i, r)) or (k == 7 and i == 2))
                assert np.array_equal(same, x[:, k]) and mine == alone
                assert one[:2] == info[:2] and one.status == info.status and bool(one) == bool(info)
                assert (info.message == "") == (info.status == gs.Status.SUCCESS)
            assert infos[4].status == gs.Status.NON_FINITE and infos[7].status == gs.Status.STOPPED
            assert "system 4: " in infos[4].message and "monitor" in infos[7].message
            assert not any(infos[k] for k in (0, 1, 2, 3, 5, 6, 8, 9))
        out = np.full((A.shape[0], 2), np.nan, order="F")
        x, infos = solve(lambda v: A @ v, b[:, :2], M=M, out=out, nullspace=None)
        assert x is out and not any(infos)
    with pytest.raises(ValueError, match=r"b: has shape \(924, 2, 1\)"):
        solve(A, np.zeros((924, 2, 1)))
    x, infos = solve(A, np.zeros((924, 0)))
    assert x.shape == (924, 0) and infos == []
    seen = []
    with pytest.raises(ZeroDivisionError):
        solve(A, b, callback=lambda *told: seen.append(told) or 1 / 0)
    assert len(seen) == 1  # the other systems stop, too


def test_richardson():
    """With symmetric Gauss-Seidel as M it is gridsweep.smooth(); without M it diverges."""
    A = poisson(12, 11, 7)
    b = vectors(A.shape[0])
    with gs.ssor(A) as M:
        x, result = gs.richardson(A, b, M=M, rtol=1e-9)
        assert result.converged and 30 < result.iterations < 300
        close_to(gs.smooth(A, M, b, np.zeros_like(b), sweeps=result.iterations), x, 1e-12)
        same, told = gs.richardson(lambda v: A @ v, b, M=M.solve, rtol=1e-9)
        assert abs(told.iterations - result.iterations) <= 1
        close_to(same, x, 1e-8)
    x, result = gs.richardson(A, b)
    assert not result.converged and result.stagnated and "diverged after" in result.message
    with pytest.raises(TypeError, match="restart"):
        gs.richardson(A, b, restart=3)


@pytest.mark.parametrize("name", ["cg", "bicgstab", "gmres"])
def test_nullspace(name):
    A = closed(poisson(12, 11, 7))
    scale = sp.diags(np.linspace(1, 3, A.shape[0]))
    b = vectors(A.shape[0]) + 0.5
    solve = getattr(gs, name)
    x, result = solve(A, b, maxiter=100)
    assert not result.converged and result.removed == 0
    assert "maps constant vectors to 0: see nullspace" in result.message
    for M in (None, gs.ilu0(A)):
        x, result = solve(A, b, M=M, nullspace="constant")
        assert result.converged and abs(x.sum()) < 1e-9 * abs(x).sum()
        assert result.removed == pytest.approx(b.sum() / np.sqrt(len(b)) / np.linalg.norm(b))
    null = 1 / scale.diagonal()
    x, result = solve(sp.csr_matrix(scale @ A @ scale), b, nullspace=null, grid=(12, 11, 7))
    assert result.converged and abs(null @ x) < 1e-9 * (null @ abs(x))
    for wrong, error, word in ((null[:-1], ValueError, "nullspace"), ("ones", ValueError, "constant"),
                               (1j * null, TypeError, "nullspace")):
        with pytest.raises(error, match=word):
            solve(A, b, nullspace=wrong)
    with pytest.raises(gs.GridsweepError, match="not in the null space"):
        solve(A, b, nullspace=null)
    with pytest.raises(ValueError, match="out: overlaps nullspace"):
        solve(A, b, out=null, nullspace=null)


def one_way(nx, ny):
    """A closed box with a wind: each row adds up to 0, but constants are no left null vector."""
    ends = [sp.diags([-1.0 - wind, np.r_[1, np.full(n - 2, 2.0), 1] + wind * np.r_[0, np.ones(n - 1)], -1.0],
                     [-1, 0, 1], shape=(n, n)) for n, wind in ((nx, 0.4), (ny, 0.1))]
    return sp.csr_matrix(sp.kronsum(*ends))


def test_what_a_null_vector_leaves_out_without_symmetry():
    """`removed` is what b - A x has along the null vector, so that nothing of it is hidden."""
    A = one_way(16, 15)
    ones, b = np.ones(240), vectors(240)
    assert abs(A @ ones).max() < 1e-12 and abs(A.T @ ones).max() > 0.1
    for solve in (gs.solve, gs.bicgstab, gs.gmres, gs.richardson):
        for rhs in (b, b - b.mean(), A @ b):
            x, info = solve(A, rhs, nullspace="constant", **({"M": gs.ilu0(A)} if solve == gs.richardson else {}))
            r = rhs - A @ x
            assert info.converged and info.removed == pytest.approx(
                abs(r.sum()) / np.sqrt(240) / np.linalg.norm(rhs), abs=1e-12)
            assert info.removed < 1e-7 if rhs is not b and abs(rhs.sum()) > 1e-9 else 0.01 < info.removed < 1
    x, infos = gs.bicgstab(A, np.stack([b, A @ b], axis=1), nullspace="constant")
    assert infos[0].removed > 0.01 and infos[1].removed < 1e-7


def test_krylov_callback():
    A = poisson(12, 11, 7)
    b = vectors(A.shape[0])
    seen = []
    x, result = gs.cg(A, b, callback=lambda i, r: seen.append((i, r)) or i == 3)
    assert [i for i, r in seen] == [0, 1, 2, 3] and result.status == gs.Status.STOPPED
    with gs.ilu0(A) as M:
        with pytest.raises(ZeroDivisionError):
            gs.cg(A, b, M=M, callback=lambda i, r: 1 / 0)
        with pytest.raises(RuntimeError, match="context: it is at work"):
            gs.cg(A, b, M=M, callback=lambda i, r: M.solve(b))
        with pytest.raises(RuntimeError, match="context: it is at work"):
            gs.cg(A, b, M=M, callback=lambda i, r: M.context.close())
        assert gs.cg(A, b, M=M)[1].converged


# ---- functions as A and M ----


@pytest.mark.parametrize("name", ["cg", "bicgstab", "gmres"])
@pytest.mark.parametrize("norm", ["true", "preconditioned"])
def test_functions_solve_as_matrix_and_factor_do(name, norm):
    """The same solution whether A and M are objects of the library, LinearOperators or functions;
    and the fewer iterations show that M is used."""
    A = poisson(12, 11, 7)
    b, solve = vectors(A.shape[0]), getattr(gs, name)
    with gs.ic0(A) as factor:
        plain = solve(A, b, rtol=1e-10, norm=norm)[1].iterations
        wanted, told = solve(A, b, M=factor, rtol=1e-10, norm=norm)
        own = gs.ic0(A)  # in a context of its own
        for a in (A, spla.aslinearoperator(A), lambda x: A @ x):
            for m in (factor, spla.LinearOperator(A.shape, matvec=own.solve, dtype=float),
                      own.solve, lambda r: list(own.solve(r))):
                x, result = solve(a, b, M=m, rtol=1e-10, norm=norm)
                assert result.converged and result.iterations < plain
                assert np.linalg.norm(x - wanted) <= 1e-8 * np.linalg.norm(wanted)
                assert result.residual <= (1e-10 if norm == "true" else 1e-8)
        assert told.iterations < plain
        own.close()


def test_functions_see_the_librarys_memory(A):
    """Without a copy: few vectors, at few addresses, that cannot be written."""
    addresses, b = set(), vectors(60)

    def multiply(x):
        assert x.shape == (60,) and x.dtype == np.float64 and not x.flags.owndata
        assert not x.flags.writeable
        addresses.add(x.ctypes.data)
        return A @ x

    x, result = gs.gmres(multiply, b, restart=10)
    assert result.converged and result.iterations > 2 and len(addresses) <= 13
    # What fits is taken: lists, integers, float32. A and x may be the same object.
    x, result = gs.cg(lambda x: list(2 * x), [1] * 60)
    assert result.converged and np.allclose(x, 0.5)
    x, result = gs.cg(lambda x: x, b)
    assert result.converged and np.allclose(x, b)
    x, result = gs.cg(lambda x: (4 * x).astype(np.float32), b, rtol=1e-5)
    assert np.allclose(x, b / 4, rtol=1e-4)
    guess = x.copy()
    assert gs.cg(lambda x: 4 * x, b, guess, out=guess)[0] is guess


class Lost(BaseException):
    """Not even an Exception, as KeyboardInterrupt is not."""


class Alarm(BaseException):
    """Raised by the handler of a signal."""


def comes_out(solve, dropped):
    """Whether the handler's exception has come out of a solve. Python itself drops what is raised while
    a finalizer runs, as that of the last solve's matrix: `dropped` says so, and it is tried again."""
    begin = time.monotonic()
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.01)
        while not dropped and time.monotonic() < begin + 20:
            solve()
    except Alarm:
        return True
    return False


@pytest.mark.parametrize("kind", ["none", "callback", "operator", "preconditioner"])
def test_what_signal_handlers_raise_comes_out(A, kind, monkeypatch):
    """Also where the signal arrives just before a function's first statement."""
    def handler(number, frame):
        raise Alarm

    dropped = []  # by whom
    monkeypatch.setattr(sys, "unraisablehook", lambda about: dropped.append(type(about.object).__name__))
    b, options, operator = vectors(60), {"maxiter": 1000, "rtol": 1e-300}, A
    if kind == "callback":
        options["callback"] = lambda iteration, residual: None
    elif kind == "operator":
        operator = lambda x: A @ x  # noqa: E731
    elif kind == "preconditioner":
        options["M"] = lambda r: r / 4
    before = signal.signal(signal.SIGALRM, handler)
    try:
        with gs.Context() as context:
            for trial in range(5):
                while not comes_out(lambda: gs.gmres(operator, b, context=context, **options), dropped):
                    assert dropped == ["finalize"]
                    dropped.clear()
            assert gs.cg(lambda x: 4 * x, b, context=context)[1].converged
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@pytest.mark.parametrize("name", ["cg", "bicgstab", "gmres"])
@pytest.mark.parametrize("error", [KeyError("k"), Lost("l"), StopIteration()])
@pytest.mark.parametrize("at", [1, 2, 5])
def test_what_functions_raise_comes_out_unchanged(A, name, error, at):
    b, solve, calls = vectors(60), getattr(gs, name), []

    def failing(x):
        calls.append(1)
        if len(calls) == at:
            raise error
        return A @ x

    with gs.Context() as context, gs.ilu0(A, context=context) as M:
        for call in (lambda: solve(failing, b, rtol=1e-14, context=context),
                     lambda: solve(A, b, M=failing, rtol=1e-14, context=context),
                     lambda: solve(failing, b, M=M, rtol=1e-14)):
            calls.clear()
            with pytest.raises(type(error)) as caught:
                call()
            assert caught.value is error and len(calls) == at  # not called again
        assert solve(A, b, M=M)[1].converged  # the context is usable


def test_functions_may_use_the_context(A):
    b = vectors(60)
    with gs.Context(threads=2) as context, gs.ilu0(A, context=context) as M:
        x, result = gs.gmres(lambda x: A @ x, b, M=M.solve, context=context)
        assert result.converged and np.allclose(A @ x, b)
        for inside in (lambda r: gs.cg(A, r, context=context)[0], lambda r: context.close()):
            with pytest.raises((gs.GridsweepError, RuntimeError), match="^context"):
                gs.gmres(A, b, M=inside, context=context)
        # A solve inside a solve has a context of its own.
        x, result = gs.gmres(A, b, M=lambda r: gs.cg(lambda x: 2 * x, r)[0], context=context)
        assert result.converged and np.allclose(A @ x, b)
        assert not context.closed


@pytest.mark.parametrize("error, words, call", [
    (TypeError, "M: must be a gridsweep.Factor or Multigrid, a LinearOperator or a function, not int",
     lambda A, b: gs.cg(A, b, M=3)),
    (TypeError, "M: must be a gridsweep.Factor", lambda A, b: gs.cg(A, b, M=A)),
    (TypeError, "A: must be a sparse matrix", lambda A, b: gs.cg(3, b)),
    (ValueError, "A: has shape", lambda A, b: gs.cg(spla.aslinearoperator(A[:, :50]), b)),
    (ValueError, "M: has shape", lambda A, b: gs.cg(A, b, M=spla.aslinearoperator(A[:50, :50]))),
    (ValueError, "b: has shape", lambda A, b: gs.cg(spla.aslinearoperator(A), b[:50])),
    (ValueError, "b: has shape", lambda A, b: gs.cg(lambda x: x, 1.0)),
    (ValueError, "b: has shape", lambda A, b: gs.cg(lambda x: x, np.ones((60, 2, 1)))),
    (ValueError, "grid, stencil, periodic: A is a function", lambda A, b: gs.cg(A.dot, b, grid=(5, 4, 3))),
    (ValueError, "M: has 60 points", lambda A, b: gs.cg(lambda x: x, b[:50], M=gs.ilu0(A))),
    (ValueError, r"A: returned shape \(59,\)", lambda A, b: gs.cg(lambda x: x[1:], b)),
    (ValueError, r"M: returned shape \(60, 1\)", lambda A, b: gs.cg(A, b, M=lambda x: x[:, None])),
    (TypeError, "A: returned ndarray of dtype complex128", lambda A, b: gs.cg(lambda x: 1j * x, b)),
    (TypeError, "A: returned NoneType of dtype object", lambda A, b: gs.cg(lambda x: None, b)),
    (ValueError, "read-only", lambda A, b: gs.cg(lambda x: x.fill(1), b)),
])
def test_functions_that_are_refused(A, error, words, call):
    with pytest.raises(error, match=words):
        call(A, vectors(60))


class FakePackage:
    """What Callback asks of CuPy and of PyTorch, on the host; `log` takes what is done."""

    float64 = np.dtype(np.float64)

    def __init__(self, log):
        self.log, self.cuda = log, self

    @contextlib.contextmanager
    def _current(self, *what):
        self.log.append(what)
        yield
        self.log.append(("end", *what))

    def Device(self, number):
        return self._current("device", number)

    device = Device

    def ExternalStream(self, address):
        return self._current("stream", address)

    def stream(self, stream):
        return stream

    def UnownedMemory(self, address, size, owner, number):
        return address, size

    def MemoryPointer(self, memory, offset):
        return memory

    def ndarray(self, shape, dtype, memory):
        address, size = memory
        assert size == 8 * shape[0]
        self.log.append("view")
        return np.frombuffer((ctypes.c_double * shape[0]).from_address(address))

    def as_tensor(self, shown, device):
        about = shown.__cuda_array_interface__
        assert device == "cuda:3" and about["typestr"] == "<f8" and about["version"] == 3
        tensor = self.ndarray(about["shape"], float, (about["data"][0], 8 * about["shape"][0]))

        class Tensor(np.ndarray):
            def copy_(self, other):
                self[...] = other
        return tensor.view(Tensor)


@pytest.mark.parametrize("package", ["cupy", "torch"])
def test_functions_on_a_device(package, monkeypatch):
    """On the host, with the package replaced: the function works on the device and the stream of the
    context, on the memory whose address the library gives; its result is copied on that stream."""
    from gridsweep import _callback

    log, raised = [], []
    monkeypatch.setitem(sys.modules, package, FakePackage(log))
    b = type("Array", (), {"__module__": package + ".core"})()
    with gs.Context() as context:
        context.backend, context._device_number, context._stream = "cuda", 3, 0x77
        call = _callback.Callback(context, "A", lambda x: log.append("called") or 2 * x, 5, b,
                                  raised)
        x, y = np.arange(5.0), np.zeros(5)
        for again in range(2):
            assert call._call(None, None, x.ctypes.data, y.ctypes.data) == 0 and not raised
            assert np.array_equal(y, 2 * x)
            around = [("device", 3), ("stream", 0x77)]
            seen = [step for step in log if step != "view"]
            assert seen == [*around, "called", *(("end", *step) for step in around[::-1])]
            assert log.count("view") == (0 if again else 2)  # kept by address
            log.clear()
        call = _callback.Callback(context, "A", lambda x: x.astype(np.float32), 5, b, raised)
        assert call._call(None, None, x.ctypes.data, y.ctypes.data) == gs.Status.STOPPED
        assert isinstance(raised[0], TypeError) and "it must return float64" in str(raised[0])
        with pytest.raises(TypeError, match="^A: a function on a device takes arrays of CuPy or"):
            _callback.Callback(context, "A", lambda x: x, 5, OnDevice(x), raised)
        context.backend = "cpu"


# ---- what is refused ----


NAN = float("nan")
REFUSED = [
    (ValueError, "nx", lambda A, b: gs.Grid(0)),
    (TypeError, "ny", lambda A, b: gs.Grid(3, 2.5)),
    (ValueError, "nx, ny, nz", lambda A, b: gs.Grid(2**40, 2**40)),
    (ValueError, "offsets", lambda A, b: gs.Stencil("D9N9")),
    (ValueError, "offsets", lambda A, b: gs.Stencil([(1, 0, 0)])),
    (ValueError, "offsets", lambda A, b: gs.Stencil([(0, 0)])),
    (ValueError, "backend", lambda A, b: gs.Context("gpu")),
    (ValueError, "threads", lambda A, b: gs.Context(threads=-1)),
    (TypeError, "threads", lambda A, b: gs.ilu0(A, threads=NAN)),
    (TypeError, "context", lambda A, b: gs.ilu0(A, context="cpu")),
    (TypeError, "A", lambda A, b: gs.ilu0(A.toarray())),
    (TypeError, "A", lambda A, b: gs.ilu0(A.astype(complex))),
    (ValueError, "A", lambda A, b: gs.ilu0(A[:5])),
    (ValueError, "A", lambda A, b: gs.ilu0((A.data[:5], A.indices, A.indptr))),
    (ValueError, "A", lambda A, b: gs.ilu0((A.data, A.indices, A.indptr + 2))),
    (ValueError, "A", lambda A, b: gs.ilu0((A.data[None], A.indices, A.indptr))),
    (ValueError, "A", lambda A, b: gs.ilu0((A.data[:0], A.indices[:0], A.indptr[:1]))),
    (TypeError, "A", lambda A, b: gs.ilu0((A.data, A.indices * 1.0, A.indptr))),
    (TypeError, "grid", lambda A, b: gs.ilu0(A, 60)),
    (ValueError, "grid", lambda A, b: gs.ilu0(A, (3, 3, 3))),
    (ValueError, "grid", lambda A, b: gs.ilu0(A, stencil="D3N7")),
    (TypeError, "active", lambda A, b: gs.ilu0(A, active=np.ones(60))),
    (TypeError, "active", lambda A, b: gs.solve(A, b, active=sp.eye(60))),
    (ValueError, "active", lambda A, b: gs.solve(A, b, active=np.ones(59, bool))),
    (ValueError, "active", lambda A, b: gs.solve(A, b, active=np.ones((5, 4, 3), bool))),
    (ValueError, "active", lambda A, b: gs.cg(lambda x: x, b, active=np.ones(60, bool))),
    (ValueError, "factor_type", lambda A, b: gs.ilu0(A, factor_type="float16")),
    (ValueError, "vector_type", lambda A, b: gs.ilu0(A, vector_type="float32")),
    (ValueError, "pivot_shift", lambda A, b: gs.ilu0(A, pivot_shift=NAN)),
    (ValueError, "pivot_shift", lambda A, b: gs.ilu0(A, pivot_shift=-1)),
    (TypeError, "pivot_shift", lambda A, b: gs.ilu0(A, pivot_shift="much")),
    (ValueError, "omega", lambda A, b: gs.ssor(A, omega=NAN)),
    (ValueError, "omega", lambda A, b: gs.ssor(A, omega=2)),
    (ValueError, "b", lambda A, b: gs.ilu0(A).solve(b[:-1])),
    (ValueError, "b", lambda A, b: gs.sptrsv(A, b.reshape(3, 4, 5))),
    (TypeError, "b", lambda A, b: gs.ilu0(A).solve(b * 1j)),
    (TypeError, "b", lambda A, b: gs.sptrsv(A, np.array([None] * 60))),
    (ValueError, "out", lambda A, b: gs.ilu0(A).solve(b, out=b[:-1].copy())),
    (ValueError, "out", lambda A, b: gs.sptrsv(A, b, out=np.zeros(120)[::2])),
    (TypeError, "out", lambda A, b: gs.sptrsv(A, b, out=b.astype(np.float32))),
    (TypeError, "out", lambda A, b: gs.sptrsv(A, b, out=b.tolist())),
    (ValueError, "out", lambda A, b: gs.sptrsv(A, np.zeros((60, 2)), out=np.zeros((60, 2)))),
    (ValueError, "out", lambda A, b: gs.sptrsv(A, b, out=np.broadcast_to(0.0, 60))),
    (ValueError, "algorithm", lambda A, b: gs.sptrsv(A, b, algorithm="fast")),
    (TypeError, "M", lambda A, b: gs.cg(A, b, M=A)),
    (ValueError, "M", lambda A, b: gs.cg(
        A, b, M=gs.ilu0(A, factor_type="float32", vector_type="float32"))),
    (ValueError, "M", lambda A, b: gs.cg(A, b, M=gs.ilu0(matrix_of("D3N7", (3, 3, 3))))),
    (ValueError, "context, threads", lambda A, b: gs.cg(A, b, M=gs.ilu0(A), threads=1)),
    (ValueError, "rtol", lambda A, b: gs.cg(A, b, rtol=NAN)),
    (ValueError, "rtol, atol", lambda A, b: gs.cg(A, b, rtol=0)),
    (ValueError, "maxiter", lambda A, b: gs.gmres(A, b, maxiter=0)),
    (ValueError, "restart", lambda A, b: gs.gmres(A, b, restart=0)),
    (ValueError, "norm", lambda A, b: gs.bicgstab(A, b, norm="max")),
    (ValueError, "b", lambda A, b: gs.cg(A, np.zeros((59, 2)))),
    (ValueError, "out", lambda A, b: gs.cg(A, b, out=b)),
]


@pytest.mark.parametrize("kind, name, call", REFUSED)
def test_bad_arguments_are_named(A, kind, name, call):
    with pytest.raises(kind, match=f"^{name}: "):
        call(A, vectors(60))


@pytest.mark.parametrize("name, option", [
    ("cg", "max_iterations"), ("cg", "restart"), ("bicgstab", "restart"), ("gmres", "x"),
    ("cg", "function"), ("ilu0", "omega"), ("ilu0", "unit_diagonal"), ("ic0", "kind"),
    ("dilu", "shift"), ("ssor", "sweeps"), ("jacobi", "omega"), ("triangular", "pivot_shift"),
    ("solve", "M"), ("solve", "preconditioner"), ("Solver", "out"), ("Solver", "x0")])
def test_unknown_options_are_named(A, name, option):
    b = (vectors(60),) if name in ("cg", "bicgstab", "gmres", "solve") else ()
    refusal = rf"^{option}: {name}\(\) has no such option(; it has | \(did you mean '\w+'\?\); it has )"
    with pytest.raises(TypeError, match=refusal) as caught:
        getattr(gs, name)(A, *b, **{option: 1})
    words = str(caught.value).split(" it has ")[1].split(", ")
    assert option not in words and {"grid", "stencil", "threads", "context"} <= set(words)


@pytest.mark.parametrize("wanted, call", [
    ("'ilu0'", lambda A, b: gs.solve(A, b, precond="ilu")), ("'mg'", lambda A, b: gs.Solver(A, precond="amg")),
    ("'cg'", lambda A, b: gs.solve(A, b, method="CG")), ("'bicgstab'", lambda A, b: gs.solve(A, b, method="bicg")),
    ("'chebyshev'", lambda A, b: gs.solve(A, b, smoother="Cheb")),
    ("'symgs'", lambda A, b: gs.multigrid(A, smoother="sym_gs")), ("'V'", lambda A, b: gs.multigrid(A, cycle="v")),
    ("'cuda'", lambda A, b: gs.Context("gpu")), ("'pencil'", lambda A, b: gs.sptrsv(A, b, algorithm="pencils")),
    ("'constant'", lambda A, b: gs.cg(A, b, nullspace="constants")), ("'true'", lambda A, b: gs.cg(A, b, norm="True")),
    ("'D3N7'", lambda A, b: gs.Stencil("3N7")), ("'maxiter'", lambda A, b: gs.cg(A, b, max_iter=3)),
    ("'precond'", lambda A, b: gs.solve(A, b, preconditioner="mg")), ("'rtol'", lambda A, b: gs.solve(A, b, tol=1)),
    (None, lambda A, b: gs.solve(A, b, precond=7)), (None, lambda A, b: gs.solve(A, b, precond=["mg"])),
    (None, lambda A, b: gs.Stencil("x")), (None, lambda A, b: gs.cg(A, b, verbosity=1))])
def test_what_may_be_meant_is_asked(A, wanted, call):
    with pytest.raises((TypeError, ValueError)) as caught:
        call(A, vectors(60))
    assert f"did you mean {wanted}?" in str(caught.value) if wanted else "mean" not in str(caught.value)


def test_the_options_that_are_named_are_there(A):
    """Each word in the list of a refusal is taken."""
    values = {"grid": (5, 4, 3), "stencil": "D3N7", "factor_type": "float64", "threads": 1,
              "vector_type": "float64", "transpose": False, "unit_diagonal": False, "lower": True,
              "pivot_shift": 0.0, "omega": 1.0, "context": None, "M": None, "x0": None, "out": None, "rtol": 1e-8,
              "atol": 0.0, "maxiter": 10, "norm": "true", "nullspace": None,
              "callback": None, "restart": 5, "precond": "auto", "method": "auto", "smoother": "gs",
              "cycle": "V", "pre_sweeps": 1, "post_sweeps": 1, "theta": 0.25,
              "cycle_type": "float32", "coarsest_points": 50, "active": np.ones((3, 4, 5), bool),
              "keep_inactive": False, "coordinates": None, "periodic": None, "shape": None,
              "verbose": False, "progress": False, "callback_type": None}
    for name in ("cg", "bicgstab", "gmres", "ilu0", "ic0", "dilu", "ssor", "jacobi", "triangular",
                 "multigrid", "solve", "Solver"):
        b = (vectors(60),) if name in ("cg", "bicgstab", "gmres", "solve") else ()
        with pytest.raises(TypeError) as caught:
            getattr(gs, name)(A, *b, no_option=1)
        words = str(caught.value).split(" it has ")[1].split(", ")
        getattr(gs, name)(A, *b, **{word: values[word] for word in words})


def test_one_sided_rows_of_high_order():
    """Fourth order, one-sided beside the boundary, where x is given."""
    def second(n):
        made = sp.lil_matrix(sp.diags([1 / 12, -4 / 3, 5 / 2, -4 / 3, 1 / 12], range(-2, 3),
                                      shape=(n, n)))
        for row, step in ((0, 1), (1, 1), (n - 1, -1), (n - 2, -1)):
            made[row] = 0
            for k, value in enumerate((15 / 4, -77 / 6, 107 / 6, -13, 61 / 12, -5 / 6)):
                made[row, row + step * k] = -value
        return made
    nx, ny = 70, 61
    j, i = np.indices((ny, nx))
    inside = ((i > 0) & (i < nx - 1) & (j > 0) & (j < ny - 1)).ravel()
    A = sp.kron(sp.eye(ny), second(nx)) + sp.kron(second(ny), sp.eye(nx))
    A = sp.csr_matrix(sp.diags(1.0 * inside) @ A + sp.diags(1.0 * ~inside))
    A.eliminate_zeros()
    assert gs.detect(A)[0] == gs.Grid(nx, ny)
    b = vectors(nx * ny)
    x, info = gs.solve(A, b)
    assert not info and info.iterations <= 80 and info.attempts == 1
    assert np.linalg.norm(b - A @ x) <= 1e-8 * np.linalg.norm(b)
    solver = gs.Solver(A)
    x, info = solver.update(2 * A).solve(b)
    assert not info and np.linalg.norm(b - 2 * A @ x) <= 1e-8 * np.linalg.norm(b)


def test_stretched_in_three_directions():
    def line(n, growth):
        h = growth ** np.r_[np.arange(n // 2)[::-1], np.arange(n // 2)]
        w = 2 / (h[1:] + h[:-1])
        diagonal = np.r_[2 / h[0], w] + np.r_[w, 2 / h[-1]]
        return sp.diags([-w, diagonal, -w], [-1, 0, 1]), sp.diags(h)
    K, M = line(24, 1.3)
    A = sp.csr_matrix(sp.kron(sp.kron(M, M), K) + sp.kron(sp.kron(M, K), M) + sp.kron(sp.kron(K, M), M))
    b = vectors(A.shape[0])
    x, info = gs.solve(A, b, precond="mg")
    assert not info and info.iterations <= 24
    assert np.linalg.norm(b - A @ x) <= 1e-8 * np.linalg.norm(b)


@pytest.mark.parametrize("base", [0, 1])
def test_a_row_for_the_mean(base):
    def line(n):
        return sp.diags([-1.0, np.r_[1.0, np.full(n - 2, 2.0), 1.0], -1.0], [-1, 0, 1], shape=(n, n))
    A, one = sp.kronsum(line(48), line(37)), np.ones((48 * 37, 1))
    full = sp.csr_matrix(sp.bmat([[A, 3 * one], [2 * one.T, None]]))
    b = vectors(full.shape[0])
    given = full if base == 0 else (full.data, full.indices + 1, full.indptr + 1)
    x, info = gs.solve(given, b)
    assert not info and info.iterations <= 12
    assert np.linalg.norm(b - full @ x) <= 1e-8 * np.linalg.norm(b)
    solver = gs.Solver(full, (48, 37))
    x, info = solver.update(sp.csr_matrix(sp.bmat([[5 * A, one], [one.T, 0.5 * np.eye(1)]]))).solve(b)
    again = sp.bmat([[5 * A, one], [one.T, 0.5 * np.eye(1)]])
    assert not info and np.linalg.norm(b - again @ x) <= 1e-8 * np.linalg.norm(b)
    other = sp.csr_matrix(sp.bmat([[A + sp.eye(48 * 37), one], [one.T, None]]))
    with pytest.raises(gs.GridsweepError, match="^A: the last row is coupled to all others, and is no"):
        gs.solve(other, b)


def test_two_coupled_fields_take_dilu():
    """ILU(0) and multigrid fail where two fields are coupled as in the Cahn-Hilliard equation."""
    line = sp.diags([1.0, np.r_[-1.0, np.full(38, -2.0), -1.0], 1.0], [-1, 0, 1], shape=(40, 40))
    L, one = sp.kronsum(line, line), sp.eye(1600)
    A, b = sp.csr_matrix(sp.bmat([[6.25 * one, L], [-L, 0.0625 * one]])), vectors(3200)
    with pytest.warns(UserWarning, match="2 unknowns per point"):
        x, info = gs.solve(A, b)
    assert not info and info.precond == "dilu" and info.iterations <= 150
    assert np.linalg.norm(b - A @ x) <= 1e-8 * np.linalg.norm(b)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_numbers_that_are_none_beside_fixed_points(bad):
    """The message says what is not finite, and a guess that is not is left out, as without them."""
    A = sp.kronsum(*2 * [sp.diags([-1.0, 2.0, -1.0], [-1, 0, 1], shape=(40, 40))]).tolil()
    for i in range(0, 1600, 97):
        A[i, :] = 0.0
        A[i, i] = 1.0
    A, b, guess = sp.csr_matrix(A), vectors(1600), np.zeros(1600)
    guess[5] = bad
    x, info = gs.solve(A, b, x0=guess)
    assert not info and np.linalg.norm(b - A @ x) <= 1e-8 * np.linalg.norm(b)
    b[7] = bad
    x, info = gs.solve(A, b)
    assert info and not info.converged and info.message == "the norm of b is not finite"


def test_a_row_for_the_mean_with_volumes():
    """Cells of different sizes: the condition is on the mean over the volume."""
    rng = np.random.default_rng(3)
    def line(n):
        w = 1 / rng.uniform(1, 2, n - 1)
        return sp.diags([-w, np.r_[0, w] + np.r_[w, 0], -w], [-1, 0, 1])
    A, volume = sp.kronsum(line(41), line(33)), rng.uniform(1, 3, (41 * 33, 1))
    full = sp.csr_matrix(sp.bmat([[A, volume], [volume.T, None]]))
    b = vectors(full.shape[0])
    solid = np.zeros((33, 41), bool)
    solid[10:20, 12:30] = True
    cut = A.tolil()
    for i in np.flatnonzero(solid):                             # walls around an obstacle
        for j in A[i].indices:
            cut[i, j] = cut[j, i] = 0.0
    cut.setdiag(0.0)
    cut = sp.csr_matrix(cut)
    cut = cut + sp.diags(np.where(solid.ravel(), 1.0, -cut.sum(1).A1))
    with_obstacle = sp.csr_matrix(sp.bmat([[cut, volume], [volume.T, None]]))
    x, info = gs.solve(with_obstacle, b)
    assert not info and info.iterations <= 14
    assert np.linalg.norm(b - with_obstacle @ x) <= 1e-8 * np.linalg.norm(b)
    x, info = gs.Solver(full).solve(b)
    assert not info and info.iterations <= 12
    assert info.residual == pytest.approx(np.linalg.norm(b - full @ x) / np.linalg.norm(b), rel=1e-3)


def torus(nx, ny, periodic, shift=0.01):
    """A 5-point matrix, periodic along these axes."""
    def line(n, ring):
        made = sp.lil_matrix(sp.diags([-1.0, 2.0, -1.0], [-1, 0, 1], shape=(n, n)))
        if ring:
            made[0, n - 1] = made[n - 1, 0] = -1.0
        return made
    return sp.csr_matrix(sp.kronsum(line(nx, "x" in periodic), line(ny, "y" in periodic)) +
                         shift * sp.eye(nx * ny))


@pytest.mark.parametrize("periodic", ["x", "y", "xy"])
def test_periodic_axes(periodic):
    A, b = torus(70, 61, periodic), vectors(70 * 61)
    grid, stencil = gs.detect(A)
    assert grid == gs.Grid(70, 61, 1, periodic) and stencil == gs.Stencil("D2N5")
    assert periodic in str(grid) and gs.detect(A, (70, 61)) == (grid, stencil)
    for options in ({}, {"grid": (70, 61), "periodic": periodic}, {"periodic": periodic[::-1]},
                    {"grid": grid, "stencil": stencil}):
        x, info = gs.solve(A, b, precond="mg", **options)
        assert not info and info.iterations <= 9
        assert np.linalg.norm(b - A @ x) <= 1e-8 * np.linalg.norm(b)
    M = gs.multigrid(A, (70, 61), periodic=periodic)
    x, info = gs.cg(A, b, M=M.refactor(A))
    assert info.converged and info.iterations <= 9
    factor = gs.ilu0(A)
    assert not gs.bicgstab(A, b, M=factor)[1].status
    lower = sp.tril(A, format="csr")
    x = gs.sptrsv(A, b, periodic=periodic)
    assert np.allclose(lower @ x, b, atol=1e-11)
    solver = gs.Solver(A)
    x, info = solver.update(2 * A).solve(b)
    assert not info and np.linalg.norm(b - 2 * A @ x) <= 1e-8 * np.linalg.norm(b)


def test_periodic_axes_with_a_mask():
    A = torus(48, 40, "x")
    j, i = np.indices((40, 48))
    ocean = (np.hypot(i - 24, j - 20) > 9) & ((i - 2 * j) % 48 > 3)
    own, b = np.flatnonzero(ocean), vectors(48 * 40)
    small = A[own][:, own]
    expected = sp.linalg.spsolve(small.tocsc(), b[own])
    x, info = gs.solve(A, b, rtol=1e-12, active=ocean)
    assert not info and np.allclose(x[own], expected, rtol=1e-9, atol=1e-10)
    y, info = gs.solve(small, b[own], rtol=1e-12, active=ocean, periodic="x")
    assert not info and np.allclose(y, expected, rtol=1e-9, atol=1e-10)


def test_wrong_periodic_axes():
    A, b = torus(20, 15, "x"), vectors(300)
    with pytest.raises(ValueError, match="^periodic: must name axes"):
        gs.solve(A, b, periodic="w")
    with pytest.raises(ValueError, match="^periodic: is 'y'; A is a matrix on the grid 20x15x1"):
        gs.solve(A, b, periodic="y")
    with pytest.raises(gs.GridsweepError, match="is not said to be periodic"):
        gs.solve(A, b, grid=(20, 15), periodic="y")
    with pytest.raises(ValueError, match="^periodic: is 'y'; the grid is 20x15x1, periodic in x"):
        gs.solve(A, b, grid=gs.Grid(20, 15, 1, "x"), periodic="y")


@pytest.mark.parametrize("call", [gs.detect, gs.ilu0, lambda A: gs.sptrsv(A, vectors(60))])
def test_what_is_no_grid(call):
    random = np.random.RandomState(3)
    scattered = sp.csr_matrix(sp.random(60, 60, 0.3, random_state=random) + 9 * sp.eye(60))
    with pytest.raises(gs.GridsweepError, match="^A: row [0-9]+") as caught:
        call(scattered)
    assert caught.value.status == gs.Status.NOT_A_GRID
    assert "GSW_ERROR_NOT_A_GRID" in str(caught.value)


def test_malformed_csr_is_refused(A):
    def multiply(matrix, grid, stencil):
        gs.cg(matrix, vectors(60), grid=grid, stencil=stencil)

    for stencil in (None, "D3N7"):  # by detection and by validation
        for columns in (A.indices[::-1].copy(), A.indices + 60, np.zeros_like(A.indices)):
            for use in (gs.ilu0, gs.jacobi, multiply):
                with pytest.raises(gs.GridsweepError, match="^A: "):
                    use((A.data, columns, A.indptr), (5, 4, 3), stencil=stencil)
        descending = A.indptr.copy()
        descending[30] = 2**30
        with pytest.raises(gs.GridsweepError, match="^A: "):
            gs.sptrsv((A.data, A.indices, descending), vectors(60), grid=(5, 4, 3),
                      stencil=stencil)


class OnDevice:
    """What a device array shows of itself."""

    def __init__(self, array, **more):
        about = array.__array_interface__
        self.__cuda_array_interface__ = {**{k: about[k] for k in ("shape", "typestr", "data")},
                                         "version": 3, **more}


def test_device_arrays(A):
    from gridsweep import _arrays

    b = vectors(60)
    with pytest.raises(TypeError, match="^b: is a device array"):
        gs.ilu0(A).solve(OnDevice(b))
    view = _arrays._View(OnDevice(b))
    assert (view.address, view.shape, view.ld, view.writable) == (b.ctypes.data, (60,), 60, True)
    assert _arrays._View(OnDevice(np.zeros((60, 2)))).ld is None
    assert _arrays._View(OnDevice(np.zeros((60, 2)), strides=(8, 640))).ld == 80


def test_device_arrays_reach_the_library(A):
    """The way of device arrays, with addresses in host memory and a context that says "cuda"."""
    b = vectors(60, 2)
    x, y, z = np.zeros((60, 2), order="F"), np.zeros(60), np.zeros(60)
    parts = tuple(OnDevice(part) for part in (A.data, A.indices, A.indptr))
    columns = {"strides": (8, 480)}
    where = {"grid": (5, 4, 3), "stencil": "D3N7"}
    with gs.Context() as context:
        context.backend = "cuda"
        M = gs.ilu0(parts, context=context, **where)
        out = OnDevice(x, **columns)
        assert M.solve(OnDevice(b, **columns), out=out) is out
        assert np.array_equal(x, gs.ilu0(A).solve(b))
        gs.sptrsv(parts, OnDevice(b[:, 0]), out=OnDevice(y), context=context, **where)
        assert np.array_equal(y, gs.sptrsv(A, b[:, 0]))
        assert gs.bicgstab(parts, OnDevice(b[:, 0]), M=M, out=OnDevice(z))[1].converged
        close_to(A @ z, b[:, 0], 1e-7)
        for kind, name, call in (
                (TypeError, "b", lambda: M.solve(b)),
                (TypeError, "b", lambda: M.solve(OnDevice(b.astype(np.float32)))),
                (ValueError, "b", lambda: M.solve(OnDevice(np.zeros((60, 2))))),
                (TypeError, "A", lambda: gs.ilu0(A, context=context, **where)),
                (ValueError, "out", lambda: M.solve(OnDevice(y))),
                (ValueError, "out", lambda: gs.cg(parts, OnDevice(y), M=M)),
                (ValueError, "grid, stencil", lambda: gs.ilu0(parts, context=context))):
            with pytest.raises(kind, match=f"^{name}: "):
                call()


def test_the_reference_backend(A):
    with gs.Context("reference") as context:
        assert (context.backend, context.threads, context.device) == ("reference", 1, "serial reference")
        close_to(gs.ilu0(A, context=context) @ vectors(60), gs.ilu0(A) @ vectors(60))


def test_a_backend_that_is_not_there():
    try:
        gs.Context("cuda").close()
    except gs.GridsweepError as error:
        assert error.status == gs.Status.NO_BACKEND
        built = "CUDA: not built in" not in gs.build_info()
        assert ('Context("auto") takes the CPU' if built else "-DGSW_CUDA=ON; with pip: --config-s") in error.message


def test_a_device_that_is_not_there(monkeypatch):
    """As a library with CUDA says it: built here without, it is asked for another reason."""
    from gridsweep import _context

    monkeypatch.setattr(_context, "build_info", lambda: "CUDA: 12.8\n")
    try:
        gs.Context("cuda", device=1000).close()
    except gs.GridsweepError as error:
        assert error.status == gs.Status.NO_BACKEND
        assert error.message.endswith('; nvidia-smi lists the devices, and Context("auto") takes the CPU where none '
                                      "answers")


# ---- DLPack ----


class Wrapped:
    """A NumPy array that shows nothing but DLPack, as NumPy exports it."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **options):
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


class Producer:
    """A producer made here, so that every field can be set. Counts the calls of its deleters, and
    the capsules that were thrown away unused."""

    api = ctypes.pythonapi
    api.PyCapsule_New.restype = ctypes.py_object
    api.PyCapsule_New.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    named = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p)(
        ("PyCapsule_IsValid", ctypes.pythonapi))

    def __init__(self, array, versioned=True, device=(1, 0), **fields):
        from gridsweep import _dlpack as d

        self.array, self.device, self.names = array, device, (b"dltensor_versioned", b"dltensor")
        self.name = self.names[not versioned]
        self.shape = (ctypes.c_int64 * array.ndim)(*array.shape)
        self.strides = (ctypes.c_int64 * array.ndim)(
            *(s // array.itemsize for s in array.strides))
        code = {"i": 0, "u": 1, "f": 2, "c": 5, "b": 6}[array.dtype.kind]
        tensor = d.DLTensor(
            data=array.ctypes.data - fields.get("byte_offset", 0), device=d.DLDevice(*device),
            ndim=array.ndim,
            dtype=d.DLDataType(fields.get("code", code), 8 * array.itemsize, fields.get("lanes", 1)),
            shape=self.shape, strides=None if fields.get("no_strides") else self.strides,
            byte_offset=fields.get("byte_offset", 0))
        self.deleted = self.unused = self.given = 0
        self.deleter = ctypes.PYFUNCTYPE(None, ctypes.c_void_p)(self.delete)
        self.destructor = ctypes.PYFUNCTYPE(None, ctypes.c_void_p)(self.destruct)
        kind = d.DLManagedTensorVersioned if versioned else d.DLManagedTensor
        self.managed = kind(dl_tensor=tensor,
                            deleter=ctypes.cast(self.deleter, ctypes.c_void_p))
        if versioned:
            self.managed.major, self.managed.flags = fields.get("major", 1), fields.get("flags", 0)

    def delete(self, address):
        assert address == ctypes.addressof(self.managed)
        self.deleted += 1

    def destruct(self, capsule):
        self.unused += self.named(capsule, self.name)

    def __dlpack_device__(self):
        return self.device

    def __dlpack__(self, *, stream=None, max_version=None):
        self.given += 1
        self.stream, self.max_version = stream, max_version
        return self.api.PyCapsule_New(ctypes.addressof(self.managed), self.name,
                                      ctypes.cast(self.destructor, ctypes.c_void_p))


def test_dlpack_is_used_where_it_lies(A):
    from gridsweep import _arrays

    b = vectors(60, 3)
    with gs.Context() as context:
        for given in (b, b[:, 1], b[:, ::2], b[:, :1], b.reshape(-1, order="F")[7:67]):
            held = sys.getrefcount(given)
            view = _arrays.source(context, "b", Wrapped(given), 60, np.float64)
            assert view.address == given.ctypes.data and view.shape == given.shape
            assert view.ld == (120 if given.shape == (60, 2) else 60)
            assert sys.getrefcount(given) > held  # the memory cannot go away
            del view
            assert sys.getrefcount(given) == held
        parts = (A.data, A.indices, A.indptr)
        matrix = _arrays.Matrix(context, "A", tuple(Wrapped(part) for part in parts))
        csr = matrix.struct.csr
        assert (csr.values, csr.columns, csr.row_ptr) == tuple(p.ctypes.data for p in parts)
        assert matrix.grid == gs.Grid(5, 4, 3)


def test_dlpack_gives_the_same(A):
    b, x = vectors(60, 2), np.full((60, 2), np.nan, order="F")
    parts = tuple(Wrapped(part) for part in (A.data, A.indices, A.indptr))
    M, wanted = gs.ilu0(parts), gs.ilu0(A).solve(b)
    out = Wrapped(x)
    assert M.solve(Wrapped(b), out=out) is out and np.array_equal(x, wanted)
    assert np.array_equal(M.solve(Wrapped(b)), wanted) and np.array_equal(M.solve(b, out=out).array, x)
    work = b.copy(order="F")
    both = Wrapped(work)
    assert M.solve(both, out=both) is both and np.array_equal(work, wanted)
    shared = np.zeros((60, 3), order="F")  # b and out overlap in part
    shared[:, :2] = b
    M.solve(Wrapped(shared[:, :2]), out=Wrapped(shared[:, 1:]))
    assert np.array_equal(shared[:, 1:], wanted)
    y = np.zeros(60)
    gs.sptrsv(parts, Wrapped(b[:, 0]), out=Wrapped(y))
    assert np.array_equal(y, gs.sptrsv(A, b[:, 0]))
    single = tuple(Wrapped(p) for p in (A.data.astype(np.float32), A.indices, A.indptr))
    assert gs.sptrsv(single, Wrapped(b[:, 0].astype(np.float32))).dtype == np.float32
    z = np.zeros(60)
    assert gs.bicgstab(parts, Wrapped(b[:, 0]), M=M, out=Wrapped(z))[1].converged
    close_to(A @ z, b[:, 0], 1e-7)
    assert M.refactor(parts) is M


def test_dlpack_fields():
    """Where an array shows nothing but DLPack, its shape comes from there."""
    A, field = poisson(12, 11, 7), vectors(924).reshape(7, 11, 12)
    wanted, told = gs.solve(A, field)
    once = Producer(field)
    for given in (Wrapped(field), once):
        x, info = gs.solve(A, given)
        assert np.array_equal(x, wanted)
    assert (once.given, once.deleted, once.unused) == (1, 1, 0)
    out = np.empty(field.shape)
    shown = Wrapped(out)
    x, info = gs.solve(A, Wrapped(field), Wrapped(wanted.ravel()), out=shown)
    assert x is shown and info.iterations == 0 and np.array_equal(out, wanted)
    mask = np.arange(924).reshape(7, 11, 12) % 9 > 0
    C, own = sp.csr_matrix(A[mask.ravel()][:, mask.ravel()]), mask.ravel()
    x, info = gs.solve(C, Producer(field), active=Wrapped(mask.astype(np.uint8)))
    close_to(C @ x.ravel()[own], field.ravel()[own], 1e-7)
    x, infos = gs.solve_many([A, 2 * A], Wrapped(np.stack([field, field])), Wrapped(np.zeros((2, 924))))
    assert x.shape == (2, 7, 11, 12) and not infos
    close_to(2 * x[1], x[0], 1e-7)
    with pytest.raises(ValueError, match=r"^b: has shape \(2, 7, 11, 12\), .*; as 2 systems it is"):
        gs.solve(A, Wrapped(np.stack([field, field])))


class TorchCsr:
    """What a CSR tensor of PyTorch shows of itself."""

    layout = "torch.sparse_csr"

    def __init__(self, A):
        self.shape, self.parts = A.shape, [Wrapped(part) for part in (A.data, A.indices, A.indptr)]
        self.values, self.col_indices, self.crow_indices = (lambda k=k: self.parts[k] for k in range(3))


def test_csr_of_torch(A):
    from gridsweep import _arrays

    b = vectors(60)
    with gs.Context() as context:
        csr = _arrays.Matrix(context, "A", TorchCsr(A)).struct.csr
        assert (csr.values, csr.columns, csr.row_ptr) == tuple(
            part.ctypes.data for part in (A.data, A.indices, A.indptr))
    assert np.array_equal(gs.solve(TorchCsr(A), Wrapped(b))[0], gs.solve(A, b)[0])
    assert gs.detect(TorchCsr(A))[0] == gs.Grid(5, 4, 3)
    with pytest.raises(ValueError, match="^b: has shape"):
        gs.cg(TorchCsr(A), b[1:])


@pytest.mark.parametrize("versioned", [True, False])
def test_dlpack_capsules(A, versioned):
    b = vectors(60)
    with gs.Context() as context:
        M = gs.ilu0(A, context=context)
        wanted = M.solve(b)
        for fields in ({}, {"no_strides": True}, {"byte_offset": 64}):
            given, x = Producer(b, versioned, **fields), np.zeros(60)
            out = Producer(x, versioned)
            assert M.solve(given, out=out) is out and np.array_equal(x, wanted)
            for producer in (given, out):
                assert (producer.given, producer.deleted, producer.unused) == (1, 1, 0)
                assert producer.max_version == (1, 0) and producer.stream is None
    # In C order a block of columns has gaps, which strides of NULL mean as well.
    block = Producer(np.zeros((60, 2)), versioned, no_strides=True)
    with pytest.raises(ValueError, match="^b: each vector must be contiguous"):
        gs.ilu0(A).solve(block)
    assert (block.deleted, block.unused) == (1, 0)


def test_dlpack_keeps_its_producer_until_it_is_done(A):
    from gridsweep import _dlpack

    given = Producer(vectors(60))
    tensor = _dlpack.Tensor("b", given)
    array = np.asarray(tensor)
    del tensor
    assert given.deleted == 0 and array[0] == given.array[0]
    del array
    assert given.deleted == 1


class Spent(Producer):
    """Gives the same capsule every time."""

    def __dlpack__(self, **options):
        self.capsule = getattr(self, "capsule", None) or super().__dlpack__(**options)
        return self.capsule


class Refuses(Producer):
    def __dlpack__(self, **options):
        raise BufferError("not today")


def read_only(array):
    array.flags.writeable = False
    return array


DLPACK_REFUSED = [
    (TypeError, "b: has dtype float32, must have float64", lambda M, x: M.solve(
        Wrapped(x.astype(np.float32)))),
    (TypeError, "b: has dtype int64", lambda M, x: M.solve(Wrapped(x.astype(np.int64)))),
    (TypeError, "b: has dtype float32, must have float64", lambda M, x: gs.smooth(
        matrix_of("D3N7", (5, 4, 3)), M, Wrapped(x.astype(np.float32)))),
    (TypeError, "b: has dtype float32, must have float64", lambda M, x: gs.solve(
        matrix_of("D3N7", (5, 4, 3)), Wrapped(x.astype(np.float32)))),
    (ValueError, "b: each vector must be contiguous", lambda M, x: M.solve(
        Wrapped(np.zeros(120)[::2]))),
    (ValueError, "b: each vector must be contiguous", lambda M, x: M.solve(Wrapped(x[::-1]))),
    (ValueError, "b: each vector must be contiguous", lambda M, x: M.solve(
        Wrapped(np.zeros((60, 2))))),
    (ValueError, "b: has shape", lambda M, x: M.solve(Wrapped(x[1:]))),
    (ValueError, "out: has shape", lambda M, x: M.solve(x, out=Wrapped(x[1:]))),
    (TypeError, "out: has dtype", lambda M, x: M.solve(x, out=Wrapped(x.astype(np.float32)))),
    (ValueError, "out: each vector", lambda M, x: M.solve(x, out=Wrapped(np.zeros(120)[::2]))),
    (ValueError, "out: is read-only", lambda M, x: M.solve(x, out=Producer(x, flags=1))),
    ((TypeError, ValueError), "out: ", lambda M, x: M.solve(x, out=Wrapped(read_only(x.copy())))),
    (TypeError, "out: its producer gives a copy", lambda M, x: M.solve(x, out=Producer(x, flags=2))),
    (TypeError, "b: is on CUDA device 0; the context is on the CPU", lambda M, x: M.solve(
        Producer(x, device=(2, 0)))),
    (TypeError, "b: is on ROCm device 3", lambda M, x: M.solve(Producer(x, device=(10, 3)))),
    (TypeError, "A: is on CUDA device 1", lambda M, x: gs.ilu0((Producer(x, device=(2, 1)),) * 3)),
    (TypeError, "b: has DLPack's dtype code 4", lambda M, x: M.solve(Producer(x, code=4))),
    (TypeError, "b: has DLPack's dtype code 2 with 64 bits in 2", lambda M, x: M.solve(
        Producer(x, lanes=2))),
    (TypeError, "b: its DLPack version 2", lambda M, x: M.solve(Producer(x, major=2))),
    (TypeError, "b: Refuses gives no DLPack capsule: not today", lambda M, x: M.solve(Refuses(x))),
    (TypeError, "A: ", lambda M, x: gs.ilu0(tuple(Wrapped(p) for p in (
        x, np.arange(60.0), np.arange(61))))),
    (TypeError, "A: has dtypes", lambda M, x: gs.ilu0(tuple(Wrapped(p) for p in (
        x, np.arange(60), np.arange(61, dtype=np.int32))))),
    (ValueError, "A: values, columns and row_ptr", lambda M, x: gs.ilu0(tuple(Wrapped(p) for p in (
        x, np.arange(120)[::2], np.arange(61))))),
]


@pytest.mark.parametrize("kind, text, call", DLPACK_REFUSED)
def test_dlpack_refusals_name_the_argument(A, kind, text, call):
    M, x = gs.ilu0(A), vectors(60)
    before = x.copy()
    with pytest.raises(kind, match=f"^{text}"):
        call(M, x)
    assert np.array_equal(x, before)


@pytest.mark.parametrize("fields", [{"flags": 2}, {"major": 2}, {"code": 4}, {"lanes": 2},
                                    {"versioned": False, "code": 4}, {"flags": 1}])
def test_dlpack_refusals_delete_once(A, fields):
    x = Producer(np.zeros(60), **fields)
    with pytest.raises((TypeError, ValueError), match="^out: "):
        gs.ilu0(A).solve(vectors(60), out=x)
    gc.collect()
    assert (x.given, x.deleted, x.unused) == (1, 1, 0)


def test_dlpack_takes_a_capsule_once(A):
    b, M = Spent(vectors(60)), gs.ilu0(A)
    M.solve(b)
    with pytest.raises(TypeError, match="^b: Spent gives no unused DLPack capsule"):
        M.solve(b)
    assert (b.given, b.deleted, b.unused) == (1, 1, 0)
    del b.capsule
    # What is refused by its device alone leaves the capsule alone.
    b = Producer(vectors(60), device=(2, 0))
    with pytest.raises(TypeError):
        M.solve(b)
    assert b.given == 0


def test_dlpack_reaches_the_library_with_a_device(A):
    """The way of DLPack's device arrays, with addresses in host memory and a context that says
    "cuda"."""
    b, x = vectors(60), np.zeros(60)
    with gs.Context() as context:
        context.backend = "cuda"
        where = {"grid": (5, 4, 3), "stencil": "D3N7", "context": context}
        parts = [Producer(part, device=(2, 0)) for part in (A.data, A.indices, A.indptr)]
        M = gs.ilu0(tuple(parts), **where)
        given, out = Producer(b, device=(2, 0)), Producer(x, device=(13, 0))
        assert M.solve(given, out=out) is out
        assert np.array_equal(x, gs.ilu0(A).solve(b))
        assert given.stream == out.stream == 1  # the default stream
        context._stream = 4096
        M.solve(given, out=out)
        assert given.stream == 4096
        assert all((p.given, p.deleted, p.unused) == (1, 1, 0) for p in parts)
        for other in (Producer(b, device=(2, 1)), Producer(b), b):
            with pytest.raises(TypeError, match="^b: "):
                M.solve(other, out=out)


# ---- smoothing ----


@pytest.mark.parametrize("stencil, extents", CASES)
def test_smooth_is_its_definition(stencil, extents):
    A = matrix_of(stencil, extents)
    b, guess = vectors(A.shape[0]), vectors(A.shape[0], seed=6)
    for M in (gs.ssor(A, extents), gs.triangular(A, extents), gs.triangular(A, extents, lower=False),
              gs.jacobi(A, extents), gs.ilu0(A, extents)):
        wanted = guess.copy()
        for sweeps in range(3):
            x = guess.copy()
            assert gs.smooth(A, M, b, x, sweeps=sweeps) is x
            close_to(x, wanted, 1e-12)
            wanted = wanted + M.solve(b - A @ wanted)
        close_to(gs.smooth(A, M, b), M.solve(b))
        zero = np.zeros_like(b)
        close_to(gs.smooth(A, M, b, sweeps=2), gs.smooth(A, M, b, zero, sweeps=2), 1e-12)
        poisoned = np.full_like(b, np.nan)
        close_to(gs.smooth(A, M, b, poisoned, zero_guess=True), M.solve(b))


def test_smooth_symmetric_gauss_seidel():
    A, b = poisson(7, 6, 5), vectors(210)
    x = vectors(210, seed=6)
    wanted, dense = x.copy(), A.toarray()
    for i in list(range(210)) + list(range(209, -1, -1)):
        wanted[i] += (b[i] - dense[i] @ wanted) / dense[i, i]
    work = np.empty(210)
    with gs.ssor(A) as M:
        address = x.ctypes.data
        out = Wrapped(x)
        assert gs.smooth(A, M, Wrapped(b), out, work=Wrapped(work)) is out
        assert x.ctypes.data == address
        close_to(x, wanted)
        zero = gs.smooth(A, M, b, sweeps=0)
        assert zero.shape == (210,) and not zero.any()


SMOOTH_REFUSED = [
    (TypeError, "M", lambda A, b: gs.smooth(A, A, b)),
    (ValueError, "M", lambda A, b: gs.smooth(A, gs.ilu0(
        A, factor_type="float32", vector_type="float32"), b)),
    (ValueError, "grid", lambda A, b: gs.smooth(poisson(4, 4, 4), gs.ilu0(A), b)),
    (ValueError, "b", lambda A, b: gs.smooth(A, gs.ilu0(A), b[1:])),
    (ValueError, "b", lambda A, b: gs.smooth(A, gs.ilu0(A), np.zeros((60, 2), order="F"))),
    (ValueError, "x", lambda A, b: gs.smooth(A, gs.ilu0(A), b, b)),
    (TypeError, "x", lambda A, b: gs.smooth(A, gs.ilu0(A), b, b.astype(np.float32))),
    (ValueError, "work", lambda A, b: gs.smooth(A, gs.ilu0(A), b, work=b)),
    (ValueError, "work", lambda A, b: gs.smooth(A, gs.ilu0(A), b, work=np.zeros(59))),
    (ValueError, "sweeps", lambda A, b: gs.smooth(A, gs.ilu0(A), b, sweeps=-1)),
    (TypeError, "sweeps", lambda A, b: gs.smooth(A, gs.ilu0(A), b, sweeps=1.5)),
    (gs.GridsweepError, "factor: its option transpose is set", lambda A, b: gs.smooth(
        A, gs.ilu0(A, transpose=True), b)),
]


# ---- multigrid ----


def lognormal(nx, ny, nz, deviation=2.0, seed=3):
    """-div k grad u with random k, harmonic means between the points."""
    k = np.exp(deviation * np.random.RandomState(seed).standard_normal((nz, ny, nx)))
    rows = np.arange(nx * ny * nz).reshape(k.shape)
    entries, diagonal = [], np.zeros(k.shape)
    for axis in range(3):
        one = tuple(slice(None, -1) if a == axis else slice(None) for a in range(3))
        other = tuple(slice(1, None) if a == axis else slice(None) for a in range(3))
        between = 2 * k[one] * k[other] / (k[one] + k[other])
        diagonal[one] += between
        diagonal[other] += between
        i, j = rows[one].ravel(), rows[other].ravel()
        entries += [(i, j, -between.ravel()), (j, i, -between.ravel())]
        for end in (0, -1):  # u = 0 outside
            face = tuple(end if a == axis else slice(None) for a in range(3))
            diagonal[face] += k[face]
    entries.append((rows.ravel(), rows.ravel(), diagonal.ravel()))
    i, j, values = (np.concatenate(part) for part in zip(*entries))
    return sp.csr_matrix((values, (i, j)), shape=(rows.size, rows.size))


def scipy_iterations(method, A, b, M, rtol=1e-8):
    count, solve = [], getattr(spla, method)
    relative = "rtol" if "rtol" in inspect.signature(solve).parameters else "tol"  # before 1.12
    x, failed = solve(A, b, M=M, atol=0, callback=lambda _: count.append(1), **{relative: rtol})
    assert failed == 0 and np.linalg.norm(b - A @ x) <= 2 * rtol * np.linalg.norm(b)
    return len(count)


@pytest.mark.parametrize("cycle_type", ["float64", np.float32])
@pytest.mark.parametrize("cycle", ["V", "F", "W"])
def test_multigrid_converges_fast(cycle, cycle_type):
    A = poisson(32, 32, 32)
    b = np.ones(A.shape[0])
    with gs.multigrid(A, cycle=cycle, cycle_type=cycle_type) as M:
        assert isinstance(M, spla.LinearOperator) and M.shape == A.shape and M.dtype == np.float64
        x, result = gs.cg(A, b, M=M)
        assert result.converged and result.iterations <= 10
        assert abs(scipy_iterations("cg", A, b, M) - result.iterations) <= 1
        # The C library's own preconditioner and a function that calls it are the same.
        y, again = gs.cg(A, b, M=lambda r: M.solve(r))
        assert again.iterations == result.iterations and np.array_equal(x, y)


def test_multigrid_on_rough_and_nonsymmetric_matrices():
    A = lognormal(20, 17, 15)
    b = vectors(A.shape[0])
    rough = {}
    for smoother in ("auto", "gs", "symgs", "ilu0", "ilu0-finest", "jacobi", "chebyshev"):
        with gs.multigrid(A, smoother=smoother) as M:
            result = gs.cg(A, b, M=M)[1]
            assert result.converged and M.smoother == ("gs" if smoother == "auto" else smoother)
            rough[smoother] = result.iterations
    assert rough["auto"] == rough["gs"] <= 20 and rough["ilu0"] < rough["gs"] < rough["jacobi"]
    with gs.multigrid(A, pre_sweeps=2, post_sweeps=2) as M:
        assert gs.cg(A, b, M=M)[1].iterations < rough["gs"]
    A = convection(16, 16, 16)
    b = np.ones(A.shape[0])
    with gs.multigrid(A) as M:
        assert not M.info.symmetric and M.smoother == "symgs"
        assert gs.bicgstab(A, b, M=M)[1].iterations <= 5
        assert gs.gmres(A, b, M=M)[1].iterations <= 8
        assert scipy_iterations("bicgstab", A, b, M) <= 6


@pytest.mark.parametrize("stencil, extents", [c for c in CASES if np.prod(c[1]) > 60] + [
    ("D2N9", (33, 17, 1)), ("D3N7", (17, 9, 12)), ("D3N27", (12, 7, 9))])
@pytest.mark.parametrize("symmetric", [False, True])
def test_multigrid_is_galerkins(stencil, extents, symmetric):
    A = matrix_of(stencil, extents, symmetric=symmetric)
    with gs.multigrid(A, extents, stencil=stencil, coarsest_points=4) as M:
        assert M.levels > 1 and M.info.symmetric == symmetric
        for level in range(M.levels - 1):
            P, R = M.extract("P", level), M.extract("R", level)
            coarse = M.extract("A", level + 1)
            assert P.shape == R.shape[::-1] == (A.shape[0], coarse.shape[0])
            assert (abs(P - R.T).max() == 0) or not symmetric
            wanted = R @ A @ P
            assert abs(wanted - coarse).max() <= 1e-12 * abs(wanted).max()
            A = coarse


def test_multigrid_is_a_symmetric_operator():
    A = lognormal(11, 9, 8)
    x, y = vectors(A.shape[0]), vectors(A.shape[0], seed=6)
    for cycle in ("V", "W"):
        for smoother in ("gs", "symgs", "ilu0", "jacobi", "chebyshev"):
            with gs.multigrid(A, smoother=smoother, cycle=cycle, coarsest_points=20) as M:
                one, other = x @ (M @ y), y @ M.solve(x)
                assert abs(one - other) <= 1e-10 * np.linalg.norm(x) * np.linalg.norm(M @ y)
                dense = M @ np.eye(len(x))
                assert np.linalg.eigvalsh((dense + dense.T) / 2)[0] > 0


def test_multigrid_takes_dlpack_single_precision_and_nan():
    A, b = poisson(9, 8, 7), vectors(504)
    M = gs.multigrid(A)
    wanted = M.solve(b)
    x = np.zeros(504)
    producer = Producer(x)
    assert M.solve(Producer(b.copy()), out=producer) is producer
    assert np.array_equal(x, wanted)
    single, poisoned = A.astype(np.float32), b.copy()
    close_to(gs.multigrid((single.data, A.indices + 1, A.indptr + 1)) @ poisoned, wanted)
    poisoned[100] = np.nan
    assert np.isnan(M @ poisoned).any()


def test_multigrid_keeps_nothing_of_the_matrix():
    A, b = poisson(9, 8, 7), vectors(504)
    M = gs.multigrid(A)
    wanted = M @ b
    A.data[:] = np.nan
    A = None
    gc.collect()
    assert np.array_equal(M @ b, wanted)
    context = gs.Context(threads=1)
    other = gs.multigrid(poisson(9, 8, 7), context=context)
    context = None  # the hierarchy keeps it alive
    gc.collect()
    assert np.array_equal(other @ b, wanted) and not other.context.closed


def test_multigrid_refactor():
    A, b = poisson(13, 12, 11), vectors(13 * 12 * 11)
    other = lognormal(13, 12, 11)
    M = gs.multigrid(A)
    before = M.info.bytes
    assert M.refactor(other) is M and M.info.bytes == before
    assert np.array_equal(M @ b, gs.multigrid(other) @ b)  # the same axes in both
    with pytest.raises(gs.GridsweepError, match="^A: "):
        M.refactor(poisson(13, 11, 12))
    with pytest.raises(gs.GridsweepError, match="^A: "):
        M.refactor(matrix_of("D3N27", (13, 12, 11)))
    assert np.array_equal(M @ b, gs.multigrid(other) @ b)  # what was refused changed nothing
    wind = sp.csr_matrix(A + sp.diags([0.3] * (A.shape[0] - 1), 1).multiply(A != 0))
    broken = A.copy()
    broken.setdiag(0)
    for wrong, status, words in ((wind, "INVALID_ARGUMENT", "is not symmetric, but"),
                                 (broken, "ZERO_PIVOT", r"the diagonal of row 0 \(0-based\), "
                                  r"\(x, y, z\) = \(0, 0, 0\) is zero")):
        with pytest.raises(gs.GridsweepError, match="^A: .*" + words) as caught:
            M.refactor(wrong)
        assert caught.value.status == gs.Status[status]
        for use in (lambda: M @ b, lambda: M.extract("P", 0), lambda: gs.cg(A, b, M=M)):
            with pytest.raises(gs.GridsweepError, match="holds no values"):
                use()
        assert np.array_equal(M.refactor(A) @ b, gs.multigrid(A) @ b)


def test_multigrid_info():
    A = poisson(32, 32, 32)
    info = gs.multigrid(A, cycle="F", smoother="ilu0", cycle_type="float32").info
    assert (info.smoother, info.cycle, info.cycle_type) == ("ilu0", "F", "float32")
    assert info.symmetric and not info.singular and info.smoother_fallbacks == 0
    assert [str(level.grid) for level in info.levels] == ["32x32x32", "16x16x16", "8x8x8", "4x4x4"]
    assert [level.stencil.name for level in info.levels] == ["D3N7"] + 3 * ["D3N27"]
    assert [level.axes for level in info.levels] == ["xyz", "xyz", "xyz", "-"]
    assert [level.smoother for level in info.levels] == ["ilu0", "ilu0", "ilu0", "direct"]
    assert info.levels[0].points == A.shape[0] and info.levels[0].couplings == A.nnz
    assert np.allclose(info.levels[0].coupling, 2 / 6, atol=0.02)
    assert info.grid_complexity == sum(level.points for level in info.levels) / A.shape[0]
    assert info.operator_complexity == sum(level.couplings for level in info.levels) / A.nnz
    assert info.bytes >= sum(level.bytes for level in info.levels) > 0
    table = str(info).splitlines()
    assert table[0].startswith("4 levels, F cycle, smoother ilu0, float32, operator complexity 1.4")
    assert len(table) == 6 and table[2].split()[:4] == ["0", "32x32x32", "D3N7", "223232"]
    # Semi-coarsening: the weakly coupled axis stays.
    layers = sp.kronsum(sp.kronsum(poisson(16, 1, 1), poisson(16, 1, 1)), 0.01 * poisson(16, 1, 1))
    info = gs.multigrid(sp.csr_matrix(layers)).info
    assert info.levels[0].axes == "xy" and str(info.levels[1].grid) == "8x8x16"
    assert gs.multigrid(sp.csr_matrix(layers), theta=0.001).info.levels[0].axes == "xyz"
    M = gs.multigrid(A, coarsest_points=2000)
    assert M.levels == 3
    assert repr(M) == ("<gridsweep.Multigrid 32x32x32 D3N7: 3 levels, V cycle, smoother gs, "
                       "float64>")
    assert ": 1 level, V" in repr(gs.multigrid(sp.csr_matrix(poisson(4, 4, 4))))
    bad = sp.csr_matrix(poisson(9, 9, 9) - 3 * sp.identity(729))  # ILU(0) breaks down
    info = gs.multigrid(bad, smoother="ilu0").info
    assert info.smoother_fallbacks >= 1 and "bad pivot" in str(info)


def test_multigrid_nullspace():
    A = closed(poisson(17, 16, 15))
    b = vectors(A.shape[0]) + 0.5
    with gs.multigrid(A) as M:
        assert M.info.singular
        x, result = gs.cg(A, b, M=M, nullspace="constant")
        assert result.converged and result.iterations <= 12


MULTIGRID_REFUSED = [
    (TypeError, "A", lambda A, b: gs.multigrid(3)),
    (TypeError, "A", lambda A, b: gs.multigrid(lambda x: x)),
    (ValueError, "A", lambda A, b: gs.multigrid(A[1:])),
    (TypeError, "A", lambda A, b: gs.multigrid(A * 1j)),
    (TypeError, "grid", lambda A, b: gs.multigrid(A, 60)),
    (ValueError, "grid", lambda A, b: gs.multigrid(A, (5, 4, 4))),
    (ValueError, "smoother", lambda A, b: gs.multigrid(A, smoother="sor")),
    (ValueError, "smoother", lambda A, b: gs.multigrid(A, smoother=None)),
    (ValueError, "cycle", lambda A, b: gs.multigrid(A, cycle="v")),
    (ValueError, "cycle", lambda A, b: gs.multigrid(A, cycle=0)),
    (ValueError, "pre_sweeps", lambda A, b: gs.multigrid(A, pre_sweeps=0)),
    (TypeError, "pre_sweeps", lambda A, b: gs.multigrid(A, pre_sweeps=1.5)),
    (ValueError, "post_sweeps", lambda A, b: gs.multigrid(A, post_sweeps=1001)),
    (ValueError, "theta", lambda A, b: gs.multigrid(A, theta=0)),
    (ValueError, "theta", lambda A, b: gs.multigrid(A, theta=1.1)),
    (ValueError, "theta", lambda A, b: gs.multigrid(A, theta=np.nan)),
    (TypeError, "theta", lambda A, b: gs.multigrid(A, theta="x")),
    (ValueError, "cycle_type", lambda A, b: gs.multigrid(A, cycle_type="float16")),
    (ValueError, "coarsest_points", lambda A, b: gs.multigrid(A, coarsest_points=2001)),
    (ValueError, "coarsest_points", lambda A, b: gs.multigrid(A, coarsest_points=0)),
    (TypeError, "levels: multigrid\\(\\) has no such option", lambda A, b: gs.multigrid(A, levels=3)),
    (TypeError, "context", lambda A, b: gs.multigrid(A, context=1)),
    (ValueError, "threads", lambda A, b: gs.multigrid(A, threads=2, context=gs.Context())),
    (gs.GridsweepError, "A: .*the diagonal of row 0", lambda A, b: gs.multigrid(A - sp.diags(
        A.diagonal()), (5, 4, 3))),
    (gs.GridsweepError, "A: multigrid: offset .* reaches farther than 2", lambda A, b: gs.multigrid(
        sp.identity(60) * 4 + sp.diags([1.0], [3], shape=(60, 60)), (60, 1, 1))),
    (gs.GridsweepError, "A: .*beyond the range of fp32", lambda A, b: gs.multigrid(
        A * 1e40, cycle_type="float32", coarsest_points=5)),
    (ValueError, "b", lambda A, b: gs.multigrid(A).solve(np.ones(59))),
    (TypeError, "b", lambda A, b: gs.multigrid(A).solve(np.ones(60) * 1j)),
    (ValueError, "out", lambda A, b: gs.multigrid(A).solve(np.ones(60), out=np.ones(59))),
    (TypeError, "out", lambda A, b: gs.multigrid(A).solve(np.ones(60), out=[0.0] * 60)),
    (ValueError, "part", lambda A, b: gs.multigrid(A, coarsest_points=5).extract("B", 1)),
    (ValueError, "level", lambda A, b: gs.multigrid(A, coarsest_points=5).extract("A", 0)),
    (ValueError, "level", lambda A, b: gs.multigrid(A, coarsest_points=5).extract("P", 9)),
    (TypeError, "level", lambda A, b: gs.multigrid(A, coarsest_points=5).extract("R", "0")),
    (ValueError, "M: has 60 points", lambda A, b: gs.cg(lambda x: x, np.ones(64), M=gs.multigrid(A))),
    (ValueError, "M: has 60 points; A has 64 rows", lambda A, b: gs.cg(
        poisson(4, 4, 4), np.ones(64), M=gs.multigrid(A))),
    (ValueError, "context, threads", lambda A, b: gs.cg(A, np.ones(60), M=gs.multigrid(A), threads=2)),
    (TypeError, "M: must be a gridsweep.Factor", lambda A, b: gs.smooth(A, gs.multigrid(A),
                                                                     np.ones(60))),
]


@needs_proc
def test_multigrid_leaks_nothing():
    A, other = poisson(20, 16, 12), lognormal(20, 16, 12)
    b = vectors(A.shape[0])
    kept = gs.multigrid(A).info.bytes // 1024

    def once(i):
        M = gs.multigrid(A, threads=1, smoother=("gs", "ilu0", "chebyshev")[i % 3])
        M.refactor(other)
        M.solve(b)
        for part in ("P", "R"):
            M.extract(part, 0)
        with pytest.raises(gs.GridsweepError):
            gs.multigrid(A * 0, grid=(20, 16, 12), threads=1)
        if i % 2:
            M.close()

    assert_no_leak(once, 20, 100, 10 * kept)


# ---- the choice of the library ----


def convection(nx, ny, nz, wind=0.5):
    """Diffusion and upwind convection along each axis, scaled so that rows sum up to 0 inside."""
    return three_axes(-1.0 - wind, 2.0 + wind, -1.0, nx, ny, nz)


@pytest.mark.parametrize("make, method", [(poisson, "cg"), (lognormal, "cg"), (convection, "bicgstab")])
def test_solve_chooses(make, method):
    A = make(17, 16, 15)
    wanted = vectors(A.shape[0])
    b = A @ wanted
    x, info = gs.solve(A, b)
    assert not info and info.converged is True and info.status == gs.Status.SUCCESS
    assert np.linalg.norm(b - A @ x) <= 1e-8 * np.linalg.norm(b)
    close_to(x, wanted, 1e-4)
    assert info.message == info.fallback == "" and info.attempts == 1 and info.iterations > 0
    assert info.method == method and info.precond in ("mg", "ic0", "ilu0") and info.reason
    assert info.setup_ms > 0 and info.solve_ms > 0 and info.removed == 0
    same, again = gs.solve(A, b)
    assert np.array_equal(same, x) and again[:4] == info[:4]
    one, _ = gs.solve(A, b, threads=1)
    assert np.array_equal(one, x)


def test_solve_takes_every_matrix():
    """All formats of SciPy, CSR as a tuple, single precision, a given grid and stencil."""
    A = poisson(9, 8, 7)
    b = vectors(504)
    wanted, info = gs.solve(A, b, None, 1e-10, (9, 8, 7))
    assert info.residual <= 1e-10
    single = A.astype(np.float32)
    for other in (A.tocsc(), A.tocoo(), A.todia(), A.tobsr(), A.tolil(), A.todok(), sp.csr_array(A),
                  (A.data, A.indices + 1, A.indptr + 1), tuple(map(Wrapped, (A.data, A.indices, A.indptr))),
                  (A.data, A.indices.astype(np.int64), A.indptr.astype(np.int64)), single):
        x, _ = gs.solve(other, b, rtol=1e-10)
        assert np.array_equal(x, wanted)
    for grid in (gs.Grid(9, 8, 7), (9, 56), [504]):
        x, info = gs.solve(A, b, grid=grid)
        assert info.converged
    x, info = gs.solve(A, b, grid=(9, 8, 7), stencil="D3N27", rtol=1e-10)
    assert info.converged
    out = Wrapped(np.full(504, np.nan))
    x, _ = gs.solve(A, Wrapped(b), rtol=1e-10, out=out)
    assert x is out and np.array_equal(out.array, wanted)
    x, _ = gs.solve(A, b[::-1].astype(np.float32)[::-1].tolist())
    close_to(x, wanted, 1e-5)


def test_solve_begins_with_the_guess():
    A, b = poisson(12, 11, 7), vectors(924)
    x, info = gs.solve(A, b)
    guess = x.copy()
    again, told = gs.solve(A, b, guess)
    assert told.iterations == 0 and np.array_equal(again, x) and again is not guess
    near = gs.solve(A, b, guess + 1e-5 * vectors(924, seed=8))[1]
    assert 0 < near.iterations < info.iterations
    same, _ = gs.solve(A, b, guess, out=guess)
    assert same is guess and np.array_equal(guess, x)


def test_solve_with_what_is_named():
    A = poisson(12, 11, 7)
    b = vectors(924)
    for precond in ("none", "jacobi", "ssor", "dilu", "ilu0", "ic0", "mg", "multigrid"):
        x, info = gs.solve(A, b, precond=precond)
        assert info.converged and info.precond == {"multigrid": "mg"}.get(precond, precond)
        assert info.method == "cg" and info.attempts == 1
    for method in ("cg", "bicgstab", "gmres", "richardson"):
        with gs.Solver(A, precond="ic0", method=method) as solver:
            x, info = solver.solve(b)
            assert (info.precond, info.method, info.reason) == ("ic0", method, "") and info.converged
            assert (solver.precond, solver.method, solver.reason) == ("ic0", method, "")
            assert repr(solver) == f"<gridsweep.Solver 12x11x7 D3N7: ic0 with {method}>"
    M = gs.ic0(A)
    named, told = gs.solve(A, b, precond="ic0", method="cg")
    x, info = gs.cg(A, b, M=M)
    assert np.array_equal(named, x) and told.iterations == info.iterations
    counts = [gs.solve(A, b, precond="mg", smoother=smoother, **options)[1].iterations
              for smoother, options in (("gs", {}), ("jacobi", {}), ("gs", {"pre_sweeps": 3, "post_sweeps": 3}))]
    assert counts[2] < counts[0] < counts[1]
    for cycle_type, options in (("float32", {}), ("float64", {"cycle_type": "float64"})):
        named, _ = gs.solve(A, b, precond="mg", smoother="gs", **options)
        x, _ = gs.cg(A, b, M=gs.multigrid(A, smoother="gs", cycle_type=cycle_type))
        assert np.array_equal(named, x)
    over = [gs.solve(A, b, precond="ssor", omega=omega)[1].iterations for omega in (0.2, 1.5)]
    assert over[1] < over[0]
    x, info = gs.solve(A, b, precond="ilu0", factor_type="float32")
    assert info.converged


def test_solve_tells_how_it_ends():
    A, b = poisson(12, 11, 7), vectors(924)
    x, info = gs.solve(A, b, maxiter=2, precond="jacobi", rtol=1e-14)
    assert info and not info.converged and info.status == gs.Status.NOT_CONVERGED
    assert info.iterations <= 2 and info.message and info.residual > 1e-14
    assert abs(np.linalg.norm(b - A @ x) / np.linalg.norm(b) - info.residual) <= 1e-6 * info.residual
    x, info = gs.solve(A, np.full(924, np.nan))
    assert info.status == gs.Status.NON_FINITE and info.message
    x, info = gs.solve(A, b, rtol=0, atol=1e-3)
    assert info.converged and np.linalg.norm(b - A @ x) <= 1e-3
    x, info = gs.solve(closed(A), b + 0.5, nullspace="constant")
    assert info.converged and abs(x.sum()) < 1e-9 * abs(x).sum() and info.removed > 0.1
    null = np.ones(924)
    with gs.Solver(closed(A), nullspace=null, norm="preconditioned") as solver:
        assert solver.solve(b)[1].converged
        with pytest.raises(ValueError, match="out: overlaps nullspace"):
            solver.solve(b, out=null)


@pytest.mark.parametrize("precond", ["auto", "ssor"])
def test_solve_falls_back(precond):
    """CG breaks down, because the matrix is indefinite; the next solve begins with what converged."""
    A, b = sp.csr_matrix(poisson(20, 20, 1) - 2.5 * sp.identity(400)), vectors(400)
    seen = []
    with gs.Solver(A, precond=precond, callback=lambda i, r: seen.append(i)) as solver:
        x, info = solver.solve(b)
        assert info.converged and np.linalg.norm(b - A @ x) <= 1e-8 * np.linalg.norm(b)
        assert solver.method == "cg" and info.method != "cg" and info.attempts > 1
        assert info.fallback.startswith(f"{info.precond} with {info.method}: ") and not info.message
        assert precond in ("auto", info.precond) and seen == list(range(info.iterations + 1))
        _, again = solver.solve(b)
        assert (again.precond, again.method, again.attempts, again.fallback) == (*info[10:12], 1, "")
    x, info = gs.solve(A, b, precond="ssor", method="cg")
    assert info.status == gs.Status.BREAKDOWN and info.attempts == 1 and not info.fallback


def test_solve_several_systems():
    A = poisson(12, 11, 7)
    b = vectors(924, 3)
    b[5, 1] = np.nan
    guess = 0.1 * vectors(924, 3, seed=6)
    for x0 in (None, guess):
        x, infos = gs.solve(A, b, x0)
        assert x.shape == b.shape and [bool(info) for info in infos] == [False, True, False]
        for k in (0, 2):
            alone, info = gs.solve(A, b[:, k], None if x0 is None else x0[:, k])
            assert np.array_equal(alone, x[:, k]) and info[:4] == infos[k][:4]
        assert not infos.converged and np.isnan(infos.residual)
        assert infos.message == infos[1].message
        assert infos.message.startswith("the norm of b is not finite: row 5 (") and "nan" in infos.message
        assert infos.iterations == max(info.iterations for info in infos)
    x, infos = gs.solve(A, b[:, ::2])
    assert infos.converged and 0 < infos.residual <= 1e-8 and infos.message == ""
    x, infos = gs.solve(A, b[:, :0])
    assert x.shape == (924, 0) and infos == [] and infos.converged and infos.iterations == 0
    x, infos = gs.solve(A, b[:, :1])
    assert x.shape == (924, 1) and len(infos) == 1


def test_fields():
    A, v = poisson(12, 11, 7), vectors(924)
    field = v.reshape(7, 11, 12)
    wanted, told = gs.solve(A, v)
    for given in (field, np.asfortranarray(field), field.tolist() and field.astype("f4").astype("f8")):
        x, info = gs.solve(A, given, x0=np.zeros((7, 11, 12)))
        assert x.shape == (7, 11, 12) and not info
    x, info = gs.solve(A, field)
    assert np.array_equal(x.ravel(), wanted) and info[:4] == told[:4]
    out = np.empty((7, 11, 12))
    x, info = gs.solve(A, field, out=out)
    assert x is out and np.array_equal(out.ravel(), wanted)
    x, info = gs.solve(A, v, out=out)
    assert x is out
    x, info = gs.cg(A, field, M=gs.ic0(A))
    assert x.shape == field.shape and not info
    x, info = gs.Solver(A, shape=(7, 11, 12)).solve(field)
    assert x.shape == field.shape
    plane = poisson(9, 8, 1)
    assert gs.solve(plane, np.ones((8, 9)))[0].shape == (8, 9)
    assert gs.solve(plane, np.ones((1, 8, 9)))[0].shape == (1, 8, 9)
    assert gs.solve(plane, np.ones(72), shape=(8, 9))[0].shape == (72,)
    column = poisson(1, 24, 1)  # (rows, 1) is a field of a grid one point wide: it wins
    x, info = gs.solve(column, np.ones((24, 1)), shape=(24, 1))
    assert x.shape == (24, 1) and isinstance(info, gs.SolveResult)
    mask = np.ones((7, 11, 12), bool)
    mask[2:4, :5] = False
    x, info = gs.solve(A, field, active=mask)
    assert x.shape == mask.shape and not info and not x[~mask].any()
    with pytest.raises(ValueError, match=r"b: has shape \(11, 12\), must have \(924,\), \(924, count\) "
                                         r"for several systems, or \(7, 11, 12\) for a field"):
        gs.solve(A, field[0])
    fields = np.stack([field, -2 * field, field[::-1]])
    for given in (fields, fields.reshape(3, 924)):
        with pytest.raises(ValueError, match=r"; as 3 systems it is b.reshape\(3, 924\).T$"):
            gs.solve(A, given)
    x, infos = gs.solve(A, fields.reshape(3, 924).T)
    assert not infos and np.array_equal(x.T.reshape(fields.shape)[0].ravel(), wanted)
    with pytest.raises(ValueError, match=r"; as 2 systems it is b.reshape\(2, 72\).T$"):
        gs.solve(plane, np.ones((2, 8, 9)))
    with pytest.raises(ValueError, match=r"b: has shape \(12, 11, 7\), .*; b.T has \(7, 11, 12\)$"):
        gs.solve(A, field.T)
    with pytest.raises(ValueError, match="out: must be contiguous"):
        gs.solve(A, field, out=np.asfortranarray(out))
    with pytest.raises(ValueError, match="grid, shape: give one"):
        gs.solve(A, v, grid=(12, 11, 7), shape=(7, 11, 12))
    with pytest.raises(TypeError, match="shape: must be"):
        gs.solve(A, v, shape=7)


def test_results_are_false_on_success():
    A = poisson(6, 5, 4)
    for solve in (gs.solve, gs.cg):
        x, infos = solve(A, vectors(120, 3))
        assert not infos and len(infos) == 3 and isinstance(infos, list)
        x, infos = solve(A, vectors(120, 3), maxiter=1)
        assert infos and all(infos)


def test_history():
    A, b = poisson(24, 23, 22), vectors(24 * 23 * 22)
    seen = []
    for options in ({}, {"precond": "mg", "method": "cg"}, {"precond": "jacobi", "method": "bicgstab"},
                    {"precond": "ilu0", "method": "gmres", "restart": 5}):
        seen.clear()
        x, info = gs.solve(A, b, callback=lambda i, r: seen.append((i, r)), **options)
        assert [i for i, r in seen] == list(range(info.iterations + 1))
        assert info.history == tuple(r for i, r in seen) and info.history[0] == 1
        assert info.history[-1] <= 1e-8
    solver = gs.Solver(A)
    assert solver.solve(b)[1].history == solver.solve(b)[1].history
    x, infos = solver.solve(np.stack([b, 2 * b], axis=1, out=np.empty((b.size, 2), order="F")))
    assert len(infos[1].history) == infos[1].iterations + 1
    x, info = gs.solve(A, np.zeros(b.size))
    assert info.history == ()


def test_results_are_shown_in_short():
    A, b = poisson(6, 5, 4), vectors(120)
    x, info = gs.solve(A, b)
    assert repr(info) == str(info) and len(repr(info)) < 250
    assert f"iterations={info.iterations}, " in repr(info) and "precond='ic0', method='cg'" in repr(info)
    assert f"history=<{info.iterations + 1} norms>" in repr(info) and "message" not in repr(info)
    x, info = gs.solve(A, b, maxiter=1)
    assert f"message={info.message!r}" in repr(info)
    assert repr(gs.cg(A, b)[1]).startswith("KrylovResult(converged=True, iterations=")


@pytest.mark.parametrize("kind", [gs.SolveResult, gs.KrylovResult, gs.SystemResult, gs.FactorInfo,
                                  gs.MultigridLevel, gs.MultigridInfo, gs.Embedding])
def test_fields_of_results_have_words(kind):
    for name in kind._fields:
        words = getattr(kind, name).__doc__
        assert words and "lias for field" not in words and "#" not in words, name
    assert kind is not gs.SolveResult or kind.history.__doc__.endswith("history[0] is that of the guess")


def test_plot():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    A = poisson(6, 5, 4)
    x, info = gs.solve(A, vectors(120))
    ax = info.plot()
    assert info.plot(ax) is ax and len(ax.lines) == 3  # one at the tolerance
    assert np.array_equal(ax.lines[0].get_ydata(), info.history) and ax.lines[0].get_marker() == "o"
    assert set(ax.lines[1].get_ydata()) == {1e-8} == {info.rtol}
    x, info = gs.solve(poisson(40, 30, 20), vectors(24000), precond="none", rtol=1e-9)
    ax = info.plot(ax)
    assert len(info.history) > 40 and ax.lines[3].get_marker() == "None"
    assert set(ax.lines[4].get_ydata()) == {1e-9} and len(ax.lines) == 5
    x, info = gs.solve(A, np.zeros(120))
    assert not info.plot().lines[0].get_ydata().size


def test_what_a_solve_shows(capsys):
    A = poisson(6, 5, 4)
    told = []
    x, info = gs.solve(A, vectors(120), verbose=True, callback=lambda i, r: told.append(i))
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("ic0 with cg: ") and lines[-1].startswith("converged; ")
    assert [int(line.split()[0]) for line in lines[2:-1]] == told == list(range(info.iterations + 1))
    assert f"{info.history[-1]:.3e}" in lines[-2]
    x, info = gs.solve(A, vectors(120), verbose=True, maxiter=2)
    assert capsys.readouterr().out.splitlines()[-1].startswith("not converged: after 2 iterations")
    x, info = gs.solve(A, vectors(120), progress=True)
    assert not info and capsys.readouterr().out == ""
    x, infos = gs.Solver(A, verbose=True).solve(vectors(120, 2))
    assert capsys.readouterr().out.count("converged; ") == 2


def test_messages_reach_logging(caplog):
    A = poisson(6, 5, 4)
    with caplog.at_level("WARNING", logger="gridsweep"):
        x, info = gs.solve(A, vectors(120), maxiter=1)
        assert info and caplog.records[-1].levelname == "WARNING"
        assert info.message == caplog.records[-1].getMessage()
        with pytest.raises(gs.GridsweepError) as raised:
            gs.ilu0(sp.csr_matrix((A.data * 0, A.indices, A.indptr), A.shape), (6, 5, 4), stencil="D3N7")
        assert caplog.records[-1].levelname == "ERROR"
        assert caplog.records[-1].getMessage() in raised.value.message


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda value: pickle.loads(pickle.dumps(value))])
def test_copies(copied):
    A, b = convection(9, 8, 7), vectors(504)
    other = convection(9, 8, 7, 0.7)
    for made in (gs.ilu0(A, threads=1), gs.triangular(A, lower=False), gs.ssor(A, omega=1.2),
                 gs.multigrid(A, smoother="ilu0"), gs.ic0(poisson(9, 8, 7), factor_type="f4")):
        twin = copied(made)
        assert type(twin) is type(made) and twin is not made and repr(twin) == repr(made)
        assert np.array_equal(twin.solve(b), made.solve(b))
    made = gs.ilu0(A).refactor(other)
    assert np.array_equal(copied(made).solve(b), made.solve(b))
    with pytest.raises(TypeError, match="transposed of another"):
        copied(made.transposed())
    solver = gs.Solver(A, precond="mg", rtol=1e-6)
    twin = copied(solver)
    assert repr(twin) == repr(solver) and np.array_equal(twin.solve(b)[0], solver.solve(b)[0])
    solver.update(other)
    assert np.array_equal(copied(solver).solve(b)[0], gs.Solver(other, precond="mg", rtol=1e-6).solve(b)[0])
    with gs.Context(threads=2) as context:
        twin = copied(gs.Solver(A, context=context))
        assert twin.context is not context and twin.context.threads == 2
    assert not twin.closed and not twin.solve(b)[1]


@pytest.mark.parametrize("kind", ["pr_norm", "legacy"])
def test_callbacks_of_scipy(kind):
    A, b = poisson(12, 11, 7), vectors(924)
    for solve in (gs.solve, gs.cg, gs.gmres):
        seen = []
        x, info = solve(A, b, callback=seen.append, callback_type=kind)
        assert len(seen) == info.iterations and not info and 0 < seen[-1] <= 1e-8
    with pytest.raises(ValueError, match="callback_type: 'x' needs x"):
        gs.solve(A, b, callback=print, callback_type="x")
    with pytest.raises(ValueError, match="is not one of"):
        gs.cg(A, b, callback=print, callback_type="norm")


def test_solve_many():
    As = [convection(9, 8, 7, 0.1 * k) for k in range(7)]
    b = vectors(504, 7).T.copy()
    for options in ({}, {"precond": "mg"}, {"threads": 2}, {"threads": 1, "method": "gmres"}):
        x, infos = gs.solve_many(As, b, **options)
        assert x.shape == b.shape and not infos and len(infos) == 7
        for k, (A, info) in enumerate(zip(As, infos)):
            assert info.converged and info.residual <= 1e-8 and not info.message
            assert np.linalg.norm(b[k] - A @ x[k]) <= 1.001e-8 * np.linalg.norm(b[k])
    fields = b.reshape(7, 7, 8, 9)
    out = np.empty_like(fields)
    y, infos = gs.solve_many(As, fields, x0=np.zeros_like(fields), out=out, threads=2, rtol=1e-10)
    assert y is out and not infos and max(info.residual for info in infos) <= 1e-10
    b[3, 7] = np.nan
    x, infos = gs.solve_many(As, b)
    assert infos and [bool(info) for info in infos] == [k == 3 for k in range(7)]
    assert infos[3].status == gs.Status.NON_FINITE and infos[3].message.startswith("system 3: ")
    for bad, words in ((([], b), "matrices: there are none"), ((As, b[:6]), "b: has shape"),
                       ((As[:1] + [poisson(7, 8, 9)], b[:2]), r"matrices\[1\]")):
        with pytest.raises((ValueError, gs.GridsweepError), match=words):
            gs.solve_many(*bad)
    with pytest.raises(TypeError, match="callback: solve_many"):
        gs.solve_many(As, b, callback=print)


def test_solve_callback():
    A, b = poisson(12, 11, 7), vectors(924, 2)
    seen = []
    x, info = gs.solve(A, b[:, 0], callback=lambda i, r: seen.append((i, r)) or i == 3)
    assert [i for i, r in seen] == [0, 1, 2, 3] and info.status == gs.Status.STOPPED and info
    seen.clear()
    with gs.Solver(A, callback=lambda *told: seen.append(told[:2]) or told[:2] == (0, 1)) as solver:
        gc.collect()
        x, infos = solver.solve(b)
        assert infos[0].status == gs.Status.STOPPED and infos[1].converged
        assert seen[:3] == [(0, 0), (0, 1), (1, 0)] and len(seen) == 3 + infos[1].iterations
    for error in (ZeroDivisionError(), Lost("l")):
        calls = []

        def failing(iteration, residual):
            calls.append(iteration)
            if len(calls) == 3:
                raise error
        with gs.Solver(A, callback=failing) as solver:
            with pytest.raises(type(error)) as caught:
                solver.solve(b[:, 0])
            assert caught.value is error and calls == [0, 1, 2]
            assert solver.solve(b[:, 0])[1].converged
    solver = gs.Solver(A, callback=lambda i, r: solver.solve(b))
    with pytest.raises(RuntimeError, match="context: it is at work"):
        solver.solve(b[:, 0])


@pytest.mark.parametrize("precond", ["auto", "ilu0", "mg", "none"])
def test_solver_takes_time_steps(precond):
    """New values in each step: the same choice, the same bits as a new solver has."""
    steps = [sp.csr_matrix(sp.identity(13 * 12 * 11) + dt * convection(13, 12, 11)) for dt in (0.5, 2, 1)]
    u = vectors(13 * 12 * 11)
    with gs.Solver(steps[0], precond=precond, method="bicgstab") as solver:
        chosen = solver.precond
        for A in steps:
            assert solver.update(A) is solver
            x, info = solver.solve(u, u)
            assert info.converged and (info.precond, solver.precond) == (chosen, chosen)
            assert np.linalg.norm(u - A @ x) <= 1e-8 * np.linalg.norm(u)
            again, _ = solver.solve(u, u)
            assert np.array_equal(again, x)
            fresh, _ = gs.solve(A, u, u, precond=chosen, method="bicgstab")
            assert np.array_equal(fresh, x)
            u = x


def test_solver_keeps_the_arrays_that_it_uses():
    A, b = convection(9, 8, 7), vectors(504)
    wanted = gs.solve(A, b)[0]
    with gs.Solver(A) as solver:
        data, other = A.data, 3 * A
        held = sys.getrefcount(data)
        for matrix in (other, other.tocoo(), (other.data, other.indices, other.indptr), A.tobsr(), A):
            solver.update(matrix)
            matrix = None
            gc.collect()
            poison = [np.full_like(A.data, np.nan) for _ in range(4)]  # where freed arrays lay
            x, info = solver.solve(b)
            assert info.converged and len(solver._matrices) == 1
            del poison
        assert np.array_equal(x, wanted) and sys.getrefcount(data) == held
        solver.update(other)
        assert sys.getrefcount(data) < held


def test_solver_after_a_failed_update(A):
    b = vectors(60)
    with gs.Solver(A, precond="ilu0") as solver:
        wanted = solver.solve(b)[0]
        broken = A.copy()
        broken.data[0] = 0  # the first diagonal
        with pytest.raises(gs.GridsweepError, match="^A: .*row 0") as caught:
            solver.update(broken)
        assert caught.value.status == gs.Status.ZERO_PIVOT
        with pytest.raises(gs.GridsweepError):
            solver.solve(b)
        x, info = solver.update(A).solve(b)
        assert np.array_equal(x, wanted)
        for wrong in (matrix_of("D3N27", (5, 4, 3)), matrix_of("D3N7", (3, 4, 5))):
            with pytest.raises(gs.GridsweepError, match="^A: ") as caught:
                solver.update(wrong)
            assert caught.value.status == gs.Status.NOT_A_GRID
        for wrong in (poisson(4, 4, 4), A[1:]):
            with pytest.raises(ValueError, match="^(grid|A): "):
                solver.update(wrong)
        assert np.array_equal(solver.solve(b)[0], wanted)  # what was refused changed nothing


SOLVE_REFUSED = [
    (TypeError, "A: is a function; the choice", lambda A, b: gs.solve(lambda x: x, b)),
    (TypeError, "A: is a function; the choice", lambda A, b: gs.solve(spla.aslinearoperator(A), b)),
    (TypeError, "A: is a function; the choice", lambda A, b: gs.Solver(A).update(A.dot)),
    (TypeError, r"A: must be a sparse matrix .*, not ndarray; scipy.sparse.csr_array\(A\) makes one",
     lambda A, b: gs.solve(A.toarray(), b)),
    (TypeError, r"A: must be .*, not list; scipy.sparse.csr_array", lambda A, b: gs.cg(A.toarray().tolist(), b)),
    (TypeError, r"A: must be .*, not int$", lambda A, b: gs.solve(7, b)),
    (TypeError, r"context: must be gridsweep.Context\('cuda'\), not 'cuda'",
     lambda A, b: gs.solve(A, b, context="cuda")),
    (ValueError, "A: has shape", lambda A, b: gs.solve(A[1:], b)),
    (ValueError, "b: has shape", lambda A, b: gs.solve(A, b[1:])),
    (ValueError, "b: has shape", lambda A, b: gs.Solver(A).solve(b[1:])),
    (TypeError, "b: has dtype", lambda A, b: gs.solve(A, 1j * b)),
    (ValueError, "x0: has shape", lambda A, b: gs.solve(A, b, b[1:])),
    (ValueError, "out: overlaps b", lambda A, b: gs.solve(A, b, out=b)),
    (TypeError, "grid: must be", lambda A, b: gs.solve(A, b, grid=60)),
    (ValueError, "grid: 3x3x3 has 27 points", lambda A, b: gs.solve(A, b, grid=(3, 3, 3))),
    (ValueError, "precond: 'amg' is not one of 'auto', 'none'", lambda A, b: gs.solve(A, b, precond="amg")),
    (ValueError, "precond", lambda A, b: gs.solve(A, b, precond=None)),
    (ValueError, "method: 'minres' is not one of 'auto', 'cg'", lambda A, b: gs.Solver(A, method="minres")),
    (ValueError, "rtol", lambda A, b: gs.solve(A, b, rtol=-1)),
    (ValueError, "rtol, atol", lambda A, b: gs.Solver(A, rtol=0)),
    (ValueError, "maxiter", lambda A, b: gs.solve(A, b, maxiter=0)),
    (ValueError, "restart", lambda A, b: gs.solve(A, b, restart=0)),
    (ValueError, "norm", lambda A, b: gs.solve(A, b, norm="max")),
    (ValueError, "nullspace", lambda A, b: gs.solve(A, b, nullspace=b[1:])),
    (ValueError, "smoother", lambda A, b: gs.solve(A, b, smoother="sor")),
    (ValueError, "cycle_type", lambda A, b: gs.solve(A, b, cycle_type="float16")),
    (ValueError, "pivot_shift", lambda A, b: gs.solve(A, b, pivot_shift=-1)),
    (ValueError, "omega", lambda A, b: gs.solve(A, b, omega=2)),
    (TypeError, "M: solve\\(\\) has no such option; it has x0, grid, rtol,", lambda A, b: gs.solve(A, b, M=None)),
    (TypeError, "out: Solver\\(\\) has no such option", lambda A, b: gs.Solver(A, out=b)),
    (TypeError, "context", lambda A, b: gs.solve(A, b, context=1)),
    (ValueError, "threads", lambda A, b: gs.solve(A, b, threads=2, context=gs.Context())),
    (gs.GridsweepError, "A: .*row 0", lambda A, b: gs.solve(A - sp.diags(A.diagonal()), b, grid=(5, 4, 3),
                                                            precond="ilu0")),
]


@pytest.mark.parametrize("kind, words, call", SMOOTH_REFUSED + MULTIGRID_REFUSED + SOLVE_REFUSED)
def test_what_is_refused_before_it_begins(A, kind, words, call):
    with pytest.raises(kind, match=f"^{words}"):
        call(A, vectors(60))


def test_solve_reaches_the_library_with_a_device(A):
    """With addresses in host memory and a context that says "cuda"."""
    b, x = vectors(60), np.zeros(60)
    wanted, told = gs.solve(A, b)
    with gs.Context() as context:
        context.backend = "cuda"
        where = {"grid": (5, 4, 3), "stencil": "D3N7", "context": context}
        for show in (OnDevice, lambda array: Producer(array, device=(2, 0))):
            parts = tuple(show(part) for part in (A.data, A.indices, A.indptr))
            out = show(x)
            same, info = gs.solve(parts, show(b), out=out, **where)
            assert same is out and info[:4] == told[:4] and np.array_equal(x, wanted)
            with gs.Solver(parts, nullspace=None, **where) as solver:
                parts = None
                gc.collect()
                x[:] = np.nan
                solver.update(tuple(show(part) for part in (A.data, A.indices, A.indptr)))
                solver.solve(show(b), out=show(x))
                assert np.array_equal(x, wanted)
                for words, call in (("out: must be given", lambda: solver.solve(show(b))),
                                    ("x0: on a device", lambda: solver.solve(show(b), show(b), show(x)))):
                    with pytest.raises(ValueError, match=f"^{words}"):
                        call()
        context.backend = "cpu"


@needs_proc
def test_solver_leaks_nothing():
    A, b = poisson(20, 16, 12), vectors(3840)
    kept = gs.ic0(A).info.packed_bytes // 1024

    def once(i):
        solver = gs.Solver(A, threads=1, precond=("ic0", "mg")[i % 2], maxiter=2)
        solver.solve(b)
        solver.update(A)
        with pytest.raises(gs.GridsweepError):
            gs.Solver(A * 0, grid=(20, 16, 12), threads=1, precond="ilu0")
        if i % 3:
            solver.close()

    assert_no_leak(once, 10, 40, 10 * kept)


def test_solver_is_shared_by_threads():
    solver = gs.Solver(poisson(9, 8, 7), threads=1)
    in_threads(lambda v: solver.solve(v)[0], [vectors(504, seed=seed) for seed in range(4)], 20)


# ---- on a GPU ----


@pytest.fixture
def cuda():
    try:
        context = gs.Context("cuda")
    except gs.GridsweepError as error:
        pytest.skip(f"no GPU: {error.message}")
    with context:
        yield context


class OnGpu:
    """An array in the memory of a context with CUDA, and the two ways in which packages show such
    arrays."""

    def __init__(self, context, array):
        from gridsweep._library import library

        self.context, self.host = context, np.array(array, order="F")
        self.library, self.size, self.address = library, self.host.nbytes, ctypes.c_void_p()
        pointer, size = ctypes.c_void_p, ctypes.c_size_t
        library.gsw_memory_alloc.argtypes = [pointer, size, ctypes.POINTER(pointer)]
        library.gsw_memory_upload.argtypes = [pointer, pointer, pointer, size]
        library.gsw_memory_download.argtypes = [pointer, pointer, pointer, size]
        library.gsw_memory_free.argtypes = [pointer, pointer]
        self.call("alloc", self.size, ctypes.byref(self.address))
        self.call("upload", self.address, self.host.ctypes.data, self.size)

    def call(self, name, *arguments):
        with self.context._turn() as c:
            self.context._check(getattr(self.library, f"gsw_memory_{name}")(c, *arguments))

    def get(self):
        self.call("download", self.host.ctypes.data, self.address, self.size)
        return self.host

    def free(self):
        with self.context._turn() as c:
            self.library.gsw_memory_free(c, self.address)

    def interface(self):
        class Shown:
            __cuda_array_interface__ = {
                "shape": self.host.shape, "typestr": self.host.dtype.str, "version": 3,
                "data": (self.address.value, False), "strides": self.host.strides}
        return Shown()

    def dlpack(self):
        shown = Producer(self.host, device=(2, 0))
        shown.managed.dl_tensor.data = self.address.value
        return shown


@contextlib.contextmanager
def on_gpu(context, way, A, b):
    """The parts of A as they are shown, and b and x = 0 as arrays and as they are shown."""
    arrays = {name: OnGpu(context, array) for name, array in (
        ("values", A.data), ("columns", A.indices), ("row_ptr", A.indptr), ("b", b), ("x", b * 0))}
    shown = {name: getattr(array, way)() for name, array in arrays.items()}
    try:
        yield tuple(shown[name] for name in ("values", "columns", "row_ptr")), arrays, shown
    finally:
        for array in arrays.values():
            array.free()


@pytest.mark.parametrize("way", ["interface", "dlpack"])
def test_gpu_solves_where_the_arrays_lie(cuda, A, way):
    b = vectors(60, 2)
    where = {"grid": (5, 4, 3), "stencil": "D3N7", "context": cuda}
    with on_gpu(cuda, way, A, b) as (parts, arrays, shown):
        gs.sptrsv(parts, shown["b"], out=shown["x"], **where)
        close_to(arrays["x"].get(), gs.sptrsv(A, b))
        M = gs.ilu0(parts, **where)
        M.solve(shown["b"], out=shown["x"])
        close_to(arrays["x"].get(), gs.ilu0(A).solve(b))
        M.T.solve(shown["b"], out=shown["x"])
        close_to(arrays["x"].get(), gs.ilu0(A, transpose=True).solve(b))
        M.solve(shown["b"], out=shown["b"])
        close_to(arrays["b"].get(), gs.ilu0(A).solve(b))
        M.close()


@pytest.mark.parametrize("way", ["interface", "dlpack"])
def test_gpu_masks(cuda, way, A):
    mask = OnGpu(cuda, np.arange(60, dtype=np.uint8) % 7)
    b = vectors(60)
    b[::7] = np.nan
    where = {"grid": (5, 4, 3), "stencil": "D3N7", "context": cuda}
    with on_gpu(cuda, way, A, b) as (parts, arrays, shown):
        active = getattr(mask, way)()
        x, info = gs.solve(parts, shown["b"], out=shown["x"], active=active, **where)
        own, wanted = np.flatnonzero(mask.host), np.zeros(60)
        wanted[own] = spla.spsolve(sp.csc_matrix(A[own][:, own]), b[own])
        is_masked(arrays["x"].get(), wanted, mask.host != 0)
        with gs.ilu0(parts, active=active, **where) as M:
            gs.bicgstab(parts, shown["b"], M=M, out=shown["x"])
            is_masked(arrays["x"].get(), wanted, mask.host != 0)
    mask.free()


@pytest.mark.parametrize("way", ["interface", "dlpack"])
def test_gpu_multigrid(cuda, way):
    A, b = poisson(17, 16, 15), vectors(17 * 16 * 15)
    where = {"grid": (17, 16, 15), "stencil": "D3N7", "context": cuda}
    with on_gpu(cuda, way, A, b) as (parts, arrays, shown):
        # By itself the device would sweep coarse levels in slabs.
        M = gs.multigrid(parts, smoother="gs", **where)
        wanted = gs.multigrid(A) @ b
        M.solve(shown["b"], out=shown["x"])
        close_to(arrays["x"].get(), wanted, 1e-10)
        arrays["x"].call("upload", arrays["x"].address, np.zeros_like(b).ctypes.data, b.nbytes)
        for solve in (lambda: gs.cg(parts, shown["b"], M=M, out=shown["x"]),
                      lambda: gs.solve(parts, shown["b"], precond="mg", out=shown["x"], **where)):
            result = solve()[1]
            assert result.converged and result.iterations <= 10
            assert np.linalg.norm(b - A @ arrays["x"].get()) <= 1e-8 * np.linalg.norm(b)
            arrays["x"].call("upload", arrays["x"].address, np.zeros_like(b).ctypes.data, b.nbytes)
        M.close()


def device_package(name):
    """What makes an array of the package from one of NumPy, what brings it back, what gives its
    address, and the current stream; skips where the package is not there or finds no GPU."""
    package = pytest.importorskip(name, reason=f"{name} is not installed")
    if name == "cupy":
        return (lambda a: package.asarray(a, order="F"), package.asnumpy, lambda a: a.data.ptr,
                package.cuda.get_current_stream().ptr)
    if not package.cuda.is_available():
        pytest.skip("torch finds no GPU")
    return (lambda a: package.from_numpy(np.ascontiguousarray(a.T)).cuda().T,
            lambda a: a.cpu().numpy(), lambda a: a.data_ptr(),
            package.cuda.current_stream().cuda_stream)


@pytest.mark.parametrize("name", ["cupy", "torch"])
@pytest.mark.parametrize("only_dlpack", [False, True])
def test_gpu_arrays_of_other_packages(cuda, A, name, only_dlpack, monkeypatch):
    """Solved in place and out of place, on the package's own stream; the addresses that reach the
    library are those of the arrays themselves."""
    from gridsweep import _arrays

    to_device, to_host, address_of, stream = device_package(name)
    b = vectors(60, 2)
    show = Wrapped if only_dlpack else lambda array: array
    with gs.Context("cuda", stream=stream) as context:
        where = {"grid": (5, 4, 3), "stencil": "D3N7", "context": context}
        parts = tuple(to_device(part) for part in (A.data, A.indices, A.indptr))
        shown = tuple(show(part) for part in parts)
        matrix = _arrays.Matrix(context, "A", shown, where["grid"], where["stencil"])
        csr = matrix.struct.csr
        assert [csr.values, csr.columns, csr.row_ptr] == [address_of(part) for part in parts]

        M = gs.ilu0(shown, **where)
        given, x = to_device(b), to_device(np.zeros((60, 2)))
        seen = []
        solve = _arrays.library.gsw_factor_solve

        class Spy:
            def __getattr__(self, attribute):
                return getattr(_arrays.library, attribute)

            def gsw_factor_solve(self, c, factor, count, b_at, ldb, x_at, ldx):
                seen.append((b_at, x_at))
                return solve(c, factor, count, b_at, ldb, x_at, ldx)

        monkeypatch.setattr(gs._factor, "library", Spy())
        out = show(x)
        assert M.solve(show(given), out=out) is out
        M.solve(show(given), out=show(given))
        context.synchronize()
        assert seen == [(address_of(given), address_of(x)), (address_of(given),) * 2]
        wanted = gs.ilu0(A).solve(b)
        close_to(to_host(x), wanted)
        close_to(to_host(given), wanted)
        if not only_dlpack:
            given = to_device(b)[:, 0]
            close_to(to_host(M.matvec(given)), wanted[:, 0])
            close_to(to_host(given), b[:, 0])  # x is another array
        M.close()


@pytest.mark.parametrize("name", ["cupy", "torch"])
def test_gpu_functions(cuda, A, name):
    """A and M as functions of the package's arrays, on its own stream; with A as a matrix and M as a
    factor for comparison."""
    to_device, to_host, _, stream = device_package(name)
    b = vectors(60)
    diagonal = to_device(1 / A.diagonal())
    values, columns, row_ptr = (to_device(part) for part in (A.data, A.indices, A.indptr))
    dense = to_device(A.toarray())
    with gs.Context("cuda", stream=stream) as context:
        where = {"grid": (5, 4, 3), "stencil": "D3N7", "context": context}
        with gs.ilu0((values, columns, row_ptr), **where) as factor:
            def solve(r):
                x = r.copy() if name == "cupy" else r.clone()
                return factor.solve(r, out=x)

            for run in (gs.bicgstab, gs.gmres):
                for M in (None, factor, solve, lambda r: diagonal * r):
                    x = to_device(np.zeros(60))
                    _, result = run(lambda x: dense @ x, to_device(b), M=M, out=x, rtol=1e-11,
                                    context=None if M is factor else context)
                    assert result.converged
                    close_to(A @ to_host(x), b, 1e-9)
                with pytest.raises(ZeroDivisionError):
                    run(lambda x: 1 / 0, to_device(b), out=to_device(np.zeros(60)), context=context)


def test_matvec_on_a_device_makes_an_array_of_the_same_kind(A, monkeypatch):
    """On the CPU, with what it calls replaced: what it copies, solves and waits for, in order."""
    M, told = gs.ilu0(A), []

    class Context:
        backend = "cuda"

        def synchronize(self):
            told.append("waited")

    class Array:
        def clone(self):
            told.append("cloned")
            return Array()

    def solve(b, out):
        assert b is out
        told.append("solved")

    monkeypatch.setattr(M, "solve", solve)
    context, M.context = M.context, Context()
    given = Array()
    result = M.matvec(given)
    M.context = context
    assert told == ["cloned", "solved", "waited"] and type(result) is Array and result is not given
    M.close()


def test_torch_on_the_cpu(A):
    torch = pytest.importorskip("torch", reason="torch is not installed")
    b = vectors(60)
    given, x = torch.from_numpy(b.copy()), torch.zeros(60, dtype=torch.float64)
    address = x.data_ptr()
    with gs.ilu0(A) as M:
        assert M.solve(given, out=x) is x and x.data_ptr() == address
        assert np.array_equal(x.numpy(), M.solve(b))
        with pytest.raises(TypeError, match="^b: has dtype float32"):
            M.solve(given.float())


# ---- masks ----


def masked_system(stencil, extents, symmetric=False):
    """(A, b, mask, x): b has NaN at inactive points, and the solution x is 0 there."""
    A = matrix_of(stencil, extents, symmetric=symmetric)
    mask = np.random.RandomState(4).uniform(size=extents[::-1]) > 0.3
    own = np.flatnonzero(mask)
    b, x = vectors(A.shape[0]), np.zeros(A.shape[0])
    x[own] = spla.spsolve(sp.csc_matrix(A[own][:, own]), b[own])
    b[~mask.ravel()] = np.nan
    return A, b, mask, x


def of_identity(A, mask):
    """A with the rows of the identity at inactive points, and without couplings to them."""
    active = sp.diags(np.ravel(mask).astype(float))
    B = sp.csr_matrix(active @ A @ active + sp.diags((~np.ravel(mask)).astype(float)))
    B.eliminate_zeros()
    return B


def spoilt(A, mask):
    """A with NaN in the rows of inactive points."""
    B = A.copy()
    B.data[~np.ravel(mask)[np.repeat(np.arange(A.shape[0]), np.diff(A.indptr))]] = np.nan
    return B


def is_masked(x, wanted, mask):
    close_to(x, wanted, 1e-7)
    assert not x[~np.ravel(mask)].any()


@pytest.mark.parametrize("stencil, extents", [("D2N5", (13, 9, 1)), ("D3N7", (9, 8, 7)),
                                              ("D3N27", (6, 7, 5))])
def test_mask_is_the_smaller_system(stencil, extents):
    A, b, mask, wanted = masked_system(stencil, extents)
    forms = [mask, mask.ravel(), mask.astype(np.uint8) * 7, np.asfortranarray(mask),
             Producer(mask), Wrapped(mask.astype(np.uint8))]
    for active in forms + ([mask[0]] if extents[2] == 1 else []):
        for matrix in (A, of_identity(A, mask), spoilt(A, mask), spoilt(of_identity(A, mask), mask)):
            solver = gs.Solver(matrix, active=active, rtol=1e-10)
            x, info = solver.solve(b)
            assert not info and str(solver.grid) == "{}x{}x{}".format(*extents)
            is_masked(x, wanted, mask)
            assert solver.active is active or active is forms[3]
    x, info = gs.solve(A, b, active=mask)
    is_masked(x, wanted, mask)
    several, infos = gs.solve(A, np.column_stack([b, 2 * b]), active=mask, rtol=1e-10)
    is_masked(several[:, 1] / 2, wanted, mask)
    solver.update(3 * A)                         # the mask stays
    is_masked(solver.solve(b)[0] * 3, wanted, mask)
    solver.update(A, active=np.ones_like(mask))  # another one
    assert solver.solve(np.ones(len(b)))[0].all() and solver.active.all()


@pytest.mark.parametrize("make", [gs.ilu0, gs.ic0, gs.dilu, gs.ssor, gs.jacobi, gs.multigrid])
def test_mask_of_a_preconditioner(make):
    A, b, mask, wanted = masked_system("D3N7", (9, 8, 7), symmetric=True)
    with make(A, active=mask) as M:
        assert M.active is mask
        for method in (gs.cg, gs.bicgstab):  # A has the mask of M
            x, info = method(A, b, M=M, rtol=1e-10)
            assert not info
            is_masked(x, wanted, mask)
        y = M.solve(b)
        assert np.isfinite(y).all() and not y[~mask.ravel()].any()
        if make not in (gs.ssor, gs.multigrid):
            close_to(M.T.solve(b), y, 1e-12)     # A is symmetric
        close_to(2 * M.refactor(2 * A).solve(b), y, 1e-6)
        if make is not gs.multigrid:
            x = gs.smooth(2 * A, M, b, sweeps=60)
            is_masked(2 * x, wanted, mask)
    with make(of_identity(A, mask)) as M:
        x, info = gs.cg(A, b, M=M, active=mask, rtol=1e-10)
        is_masked(x, wanted, mask)
    with pytest.raises(gs.GridsweepError, match="the hierarchy's first matrix had none"):
        gs.multigrid(A).refactor(A, active=mask)


def test_mask_of_triangular_solves():
    A, b, mask, _ = masked_system("D3N7", (9, 8, 7))
    own, x = np.flatnonzero(mask), np.zeros(len(b))
    for lower in (True, False):
        T = sp.tril(A) if lower else sp.triu(A)
        x[own] = triangular_solve(sp.csr_matrix(T)[own][:, own], b[own], lower)
        for y in (gs.sptrsv(A, b, lower, active=mask), gs.sptrsv(spoilt(A, mask), b, lower, active=mask),
                  gs.triangular(A, lower=lower, active=mask).solve(b)):
            is_masked(y, x, mask)


@pytest.mark.parametrize("name", ["solve", "cg", "bicgstab", "gmres", "richardson"])
def test_keep_inactive(name):
    A, b, mask, wanted = masked_system("D2N5", (13, 9, 1), symmetric=True)
    out = ~mask.ravel()
    x0 = np.where(out, 7.0, 0.0)
    solve, options = getattr(gs, name), {} if name == "solve" else {"M": gs.ilu0(A, active=mask)}
    x, info = solve(A, b, x0, active=mask, keep_inactive=True, **options)
    assert not info and (x[out] == 7).all()
    close_to(np.where(out, 0, x), wanted, 1e-6)
    x0[out] = np.nan
    x, info = solve(A, b, x0, active=mask, keep_inactive=True, **options)
    assert not info and np.isnan(x[out]).all()
    x, info = solve(A, b, x0, active=mask, **options)
    is_masked(x, np.where(out, 0, x), mask)


def test_mask_of_constants():
    constants = gs.Constants((8, 6), "D2N5", [-1.0, -1, 4, -1, -1])
    mask = np.arange(48).reshape(6, 8) % 5 > 0
    line = [sp.diags([-1.0, 2, -1], [-1, 0, 1], shape=(n, n)) for n in (8, 6)]
    x, info = gs.solve(constants, np.ones(48), active=mask)
    same, _ = gs.solve(sp.csr_matrix(sp.kronsum(*line)), np.ones(48), active=mask)
    is_masked(x, same, mask)
    with pytest.raises(ValueError, match="^active: has shape"):
        gs.solve(constants, np.ones(48), active=mask.T)


def test_the_shape_of_a_mask_is_that_of_the_grid():
    A = matrix_of("D2N5", (8, 6, 1))
    told = r"must have \(1, 6, 8\) or \(6, 8\) or \(48,\) on the grid 8x6x1"
    for shape in ((8, 6), (1, 8, 6), (4, 12), (12, 4), (2, 24), (1, 48), (48, 1), (2, 4, 6)):
        for grid in (None, (8, 6)):
            with pytest.raises(ValueError, match=told) as caught:
                gs.solve(A, np.ones(48), active=np.ones(shape, bool), grid=grid)
            assert f"active: has shape {shape}" in str(caught.value)
            assert ("; active.T has (6, 8)" in str(caught.value)) == (shape == (8, 6))
    told = r"^active: has shape \({}\), must have \(1, 6, 8\) or \(6, 8\) or \(48,\) on the grid 8x6x1{}$"
    for shape, hint in (((6, 9), ""), ((7, 8), ""), ((8, 6, 1), r"; active.T has \(1, 6, 8\)")):
        for make in (gs.ilu0, gs.Solver):
            with pytest.raises(ValueError, match=told.format(", ".join(map(str, shape)), hint)):
                make(A, active=np.ones(shape, bool))
    # Where the matrix alone tells too little, the mask gives the grid: a lake of one plane.
    mask = np.zeros((4, 5, 6), bool)
    mask[2] = True
    B = of_identity(matrix_of("D3N7", (6, 5, 4)), mask)
    assert str(gs.detect(B)[0]) != "6x5x4" and str(gs.detect(B, active=mask)[0]) == "6x5x4"


# ---- rows for some points, and in another order ----


def compact_system(stencil, extents, share, seed=1, symmetric=False):
    """(C, b, mask, x, own): C has rows for the active points alone, `own`, and C x = b."""
    A = matrix_of(stencil, extents, seed=seed, symmetric=symmetric)
    mask = np.random.RandomState(seed).uniform(size=extents[::-1]) < share
    mask.flat[seed % mask.size] = True
    own = np.flatnonzero(mask)
    C, b = sp.csr_matrix(A[own][:, own]), vectors(len(own))
    return C, b, mask, np.atleast_1d(spla.spsolve(sp.csc_matrix(C), b)), own


def places(own, extents, random, axes=3):
    """Coordinates of points on a stretched grid, with noise of rounding."""
    at = np.column_stack(np.unravel_index(own, extents[::-1]))[:, ::-1][:, :axes]
    planes = [np.cumsum(random.uniform(0.2, 3, n)) for n in extents]
    exact = np.column_stack([planes[axis][at[:, axis]] for axis in range(axes)])
    return exact * (1 + 3e-10 * random.uniform(-1, 1, exact.shape))


@pytest.mark.parametrize("stencil, extents", CASES)
@pytest.mark.parametrize("share", [0, 0.03, 0.5, 0.97, 1])
def test_a_compact_matrix_is_solved_by_itself(stencil, extents, share):
    for symmetric in (False, True):
        C, b, mask, wanted, own = compact_system(stencil, extents, share, symmetric=symmetric)
        forms = [mask, mask.astype(np.uint8) * 9, np.asfortranarray(mask)]
        for active in forms + ([mask[0]] if extents[2] == 1 else []):
            x, info = gs.solve(C, b, active=active, rtol=1e-13)
            close_to(x, wanted, 1e-12)
        several, infos = gs.Solver(C, active=mask, rtol=1e-13).solve(np.column_stack([b, -3 * b]))
        assert several.shape == (len(own), 2) and len(infos) == 2
        close_to(several[:, 1] / -3, wanted, 1e-12)
        random = np.random.RandomState(7)
        order = random.permutation(len(own))
        xyz = places(own, extents, random, 2 if extents[2] == 1 else 3)[order]
        if len(own) < mask.size / 16:
            continue
        x, info = gs.solve(C[order][:, order], b[order], coordinates=xyz, rtol=1e-13)
        close_to(x, wanted[order], 1e-12)


def test_a_solver_of_a_compact_matrix():
    C, b, mask, wanted, own = compact_system("D3N7", (9, 8, 7), 0.6)
    order = np.random.RandomState(2).permutation(len(own))
    xyz = places(own, (9, 8, 7), np.random.RandomState(2))[order]
    for matrix, b, wanted, where in ((C, b, wanted, {"active": mask}),
                                     (C[order][:, order], b[order], wanted[order], {"coordinates": xyz})):
        with gs.Solver(matrix, rtol=1e-13, **where) as solver:
            assert solver.shape == C.shape and solver.stencil.name == "D3N7"
            out, x0 = np.zeros(len(b)), wanted.copy()
            x, info = solver.solve(b, x0, out)
            assert x is out and info.iterations <= 1 and np.array_equal(x0, wanted)
            close_to(solver.solve(b)[0], wanted, 1e-12)
            assert solver.update(2 * matrix) is solver
            close_to(solver.solve(b)[0] * 2, wanted, 1e-12)
            far = matrix.tolil()
            far[5, 0] = far[5, len(b) - 1] = 1.0
            with pytest.raises(gs.GridsweepError, match="^A: row 5 .*which the stencil does not hold"):
                solver.update(far.tocsr())
            close_to(solver.solve(b)[0] * 2, wanted, 1e-12)
            with pytest.raises(ValueError, match="^A: has 3 rows; the first matrix had"):
                solver.update(sp.csr_matrix(np.eye(3)))
            thin = sp.csr_matrix(sp.diags(matrix.diagonal()))  # another structure, same stencil
            close_to(solver.update(thin).solve(b)[0], b / matrix.diagonal(), 1e-12)
    with gs.Solver(C, active=mask, rtol=1e-13) as solver:  # another mask
        small, c, other, wanted, _ = compact_system("D3N7", (9, 8, 7), 0.3, seed=5)
        close_to(solver.update(small, active=other).solve(c)[0], wanted, 1e-12)
        assert solver.shape == small.shape


@pytest.mark.parametrize("extents", [(9, 8, 7), (13, 9, 1)])
def test_fields_of_a_compact_matrix(extents):
    C, b, mask, _, own = compact_system("D3N7" if extents[2] > 1 else "D2N5", extents, 0.6)
    field = np.full(mask.shape, np.nan)
    field[mask] = b
    for active in (mask, mask[0] if extents[2] == 1 else mask.astype(np.uint8)):
        given = field.reshape(active.shape)
        wanted, told = gs.solve(C, b, active=active)
        x, info = gs.solve(C, given, active=active)
        assert x.shape == active.shape and info[:4] == told[:4]
        assert np.array_equal(x[active != 0], wanted) and not x[active == 0].any()
        with gs.Solver(C, active=active) as solver:
            out, x0 = np.empty(active.shape), np.where(active, x, 7)
            again, info = solver.solve(np.asfortranarray(given), x0, out)
            assert again is out and info.iterations <= 1 and not out[active == 0].any()
            assert np.array_equal(solver.solve(b)[0], wanted)
            solver.update(2 * C)
            close_to(2 * solver.solve(given)[0], x, 1e-6)
        x, info = gs.solve(C, given, x0, active=active, keep_inactive=True)
        assert not info and (x[active == 0] == 7).all()
    words = rf"^b: has shape .*must have \({len(own)},\), .*, or \({extents[1]}, |\({extents[2]}, {extents[1]}, "
    for wrong in (np.ones(mask.size), np.ones((2, *mask.shape)), field.T):
        refused(ValueError, words, lambda: gs.solve(C, wrong, active=mask))
    refused(ValueError, "^x0: has shape", lambda: gs.solve(C, field, b, active=mask))
    refused(ValueError, "^out: has shape", lambda: gs.solve(C, b, out=field.copy(), active=mask))


def test_a_compact_matrix_without_a_mean():
    C, b, mask, _, own = compact_system("D2N5", (12, 11, 1), 0.97, symmetric=True)
    L = sp.csr_matrix(sp.diags(np.ravel(abs(C - sp.diags(C.diagonal())).sum(1))) -
                      abs(C - sp.diags(C.diagonal())))
    basin = sp.csgraph.connected_components(L)[1] == 0
    L, own = L[basin][:, basin], own[basin]
    mask = np.isin(np.arange(mask.size), own).reshape(mask.shape)
    b = b[basin] - b[basin].mean()
    for nullspace in (None, "constant", np.ones(len(own))):
        x, info = gs.solve(L, b, active=mask, nullspace=nullspace)
        assert not info and abs(x.mean()) < 1e-6
        close_to(L @ x, b, 1e-7)


def test_embed():
    C, b, mask, wanted, own = compact_system("D2N9", (12, 11, 1), 0.7, symmetric=True)
    order = np.random.RandomState(3).permutation(len(own))
    xyz = places(own, (12, 11, 1), np.random.RandomState(3), 2)[order]
    for e in (gs.embed(C, mask), gs.embed(C, mask[0]), gs.embed(C, mask.ravel(), (12, 11)),
              gs.embed(C[order][:, order], coordinates=xyz)):
        if e.points[0] != own[0] or e.points[1] != own[1]:
            c, x = b[order], wanted[order]
        else:
            c, x = b, wanted
        assert str(e.grid) == "12x11x1" and e.stencil.name == "D2N9"
        assert (e.active.ravel() == mask.ravel()).all() and (abs(e.matrix - of_identity(
            sp.csr_matrix((C.data, own[C.indices], np.concatenate([[0], np.cumsum(np.bincount(
                own, np.diff(C.indptr), mask.size))]).astype(int)), 2 * (mask.size,)), mask)) > 0).nnz == 0
        spread = e.spread(c)
        assert np.array_equal(e.collect(spread), c) and not spread[~mask.ravel()].any()
        assert np.array_equal(e.spread(np.column_stack([c, c]))[:, 1], spread)
        for y, info in (gs.solve(e.matrix, spread, active=e.active, rtol=1e-13),
                        gs.cg(e.matrix, spread, M=gs.ic0(e.matrix, active=e.active), rtol=1e-13),
                        gs.cg(e.matrix, spread, M=gs.multigrid(e.matrix), rtol=1e-13)):
            close_to(e.collect(y), x, 1e-11)
        with pytest.raises(ValueError, match="^b: has shape"):
            e.spread(c[1:])
    A = matrix_of("D2N5", (5, 4, 1))
    assert (gs.embed(A, np.ones((4, 5), bool)).matrix != A).nnz == 0
    assert str(gs.detect(C, active=mask)[0]) == "12x11x1" == str(gs.detect(C, active=mask, grid=(12, 11))[0])
    assert gs.detect(C[order][:, order], coordinates=xyz)[1].name == "D2N9"


def biquadratic(cells):
    """(A, xy) of -laplace u with Q2 elements on the unit square, u = 0 around it. Its rows are in a
    mesher's order: vertices, edge midpoints, centres of cells."""
    mass = np.array([[4, 2, -1], [2, 16, 2], [-1, 2, 4]]) / 30 / cells
    stiff = np.array([[7, -8, 1], [-8, 16, -8], [1, -8, 7]]) / 3 * cells
    n = 2 * cells + 1
    K, M = np.zeros((n, n)), np.zeros((n, n))
    for cell in range(cells):
        K[2 * cell:2 * cell + 3, 2 * cell:2 * cell + 3] += stiff
        M[2 * cell:2 * cell + 3, 2 * cell:2 * cell + 3] += mass
    K, M = sp.csr_matrix(K[1:-1, 1:-1]), sp.csr_matrix(M[1:-1, 1:-1])
    A = sp.csr_matrix(sp.kron(M, K) + sp.kron(K, M))
    j, i = np.divmod(np.arange(A.shape[0]), n - 2)
    kind = (i % 2 == 0) * 1 + (j % 2 == 0) * 2
    order = np.lexsort((np.random.RandomState(1).permutation(len(i)), np.array([0, 1, 1, 2])[kind]))
    return A[order][:, order], np.column_stack([i + 1, j + 1])[order] / (n - 1)


def test_finite_elements_with_coordinates():
    A, xy = biquadratic(20)
    b = np.sin(3 * xy[:, 0]) + xy[:, 1]
    with pytest.raises(gs.GridsweepError):
        gs.solve(A, b)
    for where in (xy, xy.astype(np.float32), np.column_stack([xy, 0 * b]), 1e5 + 100 * xy, xy.tolist(),
                  np.asfortranarray(xy)):
        x, info = gs.solve(A, b, coordinates=where, rtol=1e-13)
        assert not info and info.precond == "mg"
        close_to(x, spla.spsolve(sp.csc_matrix(A), b), 1e-12)
    grid, stencil = gs.detect(A, coordinates=xy)
    assert str(grid) == "39x39x1" and len(stencil) == 25


def test_a_compact_matrix_with_a_stencil():
    C, b, mask, wanted, own = compact_system("D2N5", (14, 11, 1), 0.8)
    far, at = C.tolil(), dict(zip(own.tolist(), range(len(own))))
    for point in own:  # couplings over three points, as of a difference of higher order
        if point % 14 < 11 and point + 3 in at:
            far[at[point], at[point + 3]] = -0.25
    far = far.tocsr()
    cross = [(0, -1, 0), (-1, 0, 0), (0, 0, 0), (1, 0, 0), (0, 1, 0)]
    refused(gs.GridsweepError, "too far where no stencil is given", lambda: gs.solve(far, b, active=mask))
    x, info = gs.solve(far, b, active=mask, stencil=cross + [(3, 0, 0)], rtol=1e-13)
    close_to(x, spla.spsolve(sp.csc_matrix(far), b), 1e-12)
    for stencil in ("D2N9", cross):
        close_to(gs.solve(C, b, active=mask, stencil=stencil, rtol=1e-13)[0], wanted, 1e-12)
    refused(gs.GridsweepError, "^A: row .*which the stencil does not hold",
            lambda: gs.solve(far, b, active=mask, stencil="D2N9"))


def refused(kind, words, call):
    with pytest.raises(kind, match=words):
        call()


def test_compact_matrices_that_are_refused():
    C, b, mask, _, own = compact_system("D3N7", (5, 4, 3), 0.7)
    n, order = len(own), np.random.RandomState(1).permutation(len(own))
    xyz, P = places(own, (5, 4, 3), np.random.RandomState(1)), C[order][:, order]
    alone = rf"^active: has shape \(3, 4, 5\), and A has rows for its active points alone; gridsweep.embed\("
    for make in (gs.ilu0, gs.ic0, gs.multigrid, lambda A, active: gs.cg(A, b, active=active),
                 lambda A, active: gs.sptrsv(A, b, active=active)):
        refused(ValueError, alone, lambda: make(C, active=mask))
    counts = rf"^active: has shape \(3, 4, 5\), which is 60 points, {{}} of them active; A has {n} rows"
    refused(ValueError, counts.format(0), lambda: gs.solve(C, b, active=mask & False))
    refused(ValueError, counts.format(60), lambda: gs.solve(C, b, active=mask | True))
    refused(ValueError, counts.format(60 - n), lambda: gs.solve(C, b, active=~mask))
    refused(ValueError, r"^active: has shape \(5, 4, 3\); the rows of A are those of active.T, which has \(3, 4, 5\)",
            lambda: gs.solve(C, b, active=mask.T))
    refused(gs.GridsweepError, r"^A: row \d+ \(0-based\), column \d+: on the 5 x 4 x 3 grid .*the active points",
            lambda: gs.solve(P, b, active=mask))
    refused(ValueError, "^grid: must be given", lambda: gs.solve(C, b, active=mask.ravel()))
    refused(ValueError, "^grid: ", lambda: gs.solve(C, b, active=mask, grid=(5, 4)))
    refused(ValueError, "^b: has shape", lambda: gs.solve(C, np.ones(60), active=mask))
    refused(ValueError, "^active, coordinates: ", lambda: gs.solve(C, b, active=mask, coordinates=xyz))
    refused(ValueError, "^active, coordinates: ", lambda: gs.embed(C))
    refused(ValueError, "^A: has rows for all 60 points", lambda: gs.embed(matrix_of("D3N7", (5, 4, 3)), mask))
    for shape in ((n, 4), (n, 0), (n - 1, 3), (n, 1, 1)):
        refused(ValueError, r"^coordinates: has shape", lambda: gs.solve(C, b, coordinates=np.ones(shape)))
    refused(TypeError, "^coordinates: has dtype", lambda: gs.solve(C, b, coordinates=xyz * 1j))
    refused(ValueError, "^grid: ", lambda: gs.solve(C, b, coordinates=xyz, grid=(5, 4)))
    twice = xyz.copy()
    twice[9] = twice[4]
    refused(gs.GridsweepError, r"^coordinates: rows 4 \(0-based\) and 9 \(0-based\) are at one point",
            lambda: gs.solve(C, b, coordinates=twice))
    twice[7, 1] = np.inf
    refused(gs.GridsweepError, r"^coordinates: row 7 ", lambda: gs.solve(C, b, coordinates=twice))
    anywhere = np.random.RandomState(1).uniform(size=(n, 3))
    refused(gs.GridsweepError, rf"^coordinates: {n}, {n} and {n} different values .* on no regular grid",
            lambda: gs.solve(C, b, coordinates=anywhere))
    constants = gs.Constants((8, 6), "D2N5", [-1.0, -1, 4, -1, -1])
    refused(ValueError, "^coordinates: A has a grid",
            lambda: gs.solve(constants, np.ones(48), coordinates=np.ones((48, 2))))


def test_a_compact_matrix_on_a_device():
    """As test_masks_on_a_device(). The matrix is in host memory."""
    C, b, mask, wanted, _ = compact_system("D3N7", (5, 4, 3), 0.7)
    x = np.zeros(len(b))
    with gs.Context() as context:
        context.backend = "cuda"
        gs.solve(C, OnDevice(b), out=OnDevice(x), active=OnDevice(mask), context=context, rtol=1e-13)
        close_to(x, wanted, 1e-12)
        refused(gs.GridsweepError, "^A: csr: 5 rows, but the embedding has", lambda: gs.solve(
            sp.eye(5), OnDevice(b), active=OnDevice(mask), context=context))
        refused(TypeError, "^A: must be a device array", lambda: gs.solve(
            sp.eye(60), OnDevice(b), active=OnDevice(mask), context=context))
        solver = gs.Solver(C, active=OnDevice(mask), context=context, rtol=1e-13)
        parts = tuple(OnDevice(part) for part in (C.data, C.indices, C.indptr))
        for call in (solver.update, lambda A: gs.solve(A, OnDevice(b), active=OnDevice(mask), context=context)):
            refused(TypeError, "^A: must be in host memory", lambda: call(parts))
        solver.update(2 * C).solve(OnDevice(b), out=OnDevice(x))
        close_to(2 * x, wanted, 1e-12)


def test_masks_on_a_device(A):
    """With addresses in host memory and a context that says "cuda"."""
    mask = np.arange(60).reshape(3, 4, 5) % 7 > 0
    b, x = vectors(60), np.zeros(60)
    wanted, _ = gs.solve(A, b, active=mask)
    lower = gs.sptrsv(A, b, active=mask)
    with gs.Context() as context:
        context.backend = "cuda"
        where = {"stencil": "D3N7", "context": context}
        for show in (OnDevice, lambda array: Producer(array, device=(2, 0))):
            parts = tuple(show(part) for part in (A.data, A.indices, A.indptr))
            gs.solve(parts, show(b), out=show(x), active=show(mask), **where)
            assert np.array_equal(x, wanted)
            gs.sptrsv(parts, show(b), out=show(x), active=show(mask), **where)
            assert np.array_equal(x, lower)
        for kind, active in ((TypeError, mask), (ValueError, OnDevice(mask, strides=(1, 3, 12)))):
            with pytest.raises(kind, match="^active: must be"):
                gs.ilu0(parts, active=active, **where)


# ---- the C structs ----


@pytest.mark.parametrize("backend", ["cpu", "reference"])
@pytest.mark.parametrize("stencil, extents", [("D3N7", (70, 6, 5)), ("D3N27", (9, 8, 7)), ("D2N5", (1, 20))])
@pytest.mark.parametrize("each_plane", [False, True])
def test_constants(backend, stencil, extents, each_plane):
    grid, s = gs.Grid(*extents), gs.Stencil(stencil)
    values = np.array([len(s) + 0.5 if o == (0, 0, 0) else -0.9 for o in s.offsets])
    if each_plane:
        values = values[:, None] * np.linspace(1, 2, grid.nz)
    constants = gs.Constants(grid, s, values)
    assert constants.shape == (grid.points, grid.points)
    z, y, x = np.indices(grid.shape).reshape(3, -1)
    rows, columns, entries = [], [], []
    for e, (dx, dy, dz) in enumerate(s.offsets):
        inside = ((0 <= x + dx) & (x + dx < grid.nx) & (0 <= y + dy) & (y + dy < grid.ny)
                  & (0 <= z + dz) & (z + dz < grid.nz))
        own = np.arange(grid.points)[inside]
        rows.append(own)
        columns.append(own + dx + grid.nx * (dy + grid.ny * dz))
        entries.append(values[e][z[inside]] if each_plane else np.full(len(own), values[e]))
    A = sp.coo_matrix((np.concatenate(entries), (np.concatenate(rows), np.concatenate(columns))))
    b = np.random.RandomState(1).uniform(-1, 1, grid.points)
    with gs.Context(backend=backend) as context:
        known = {"context": context, "grid": grid, "stencil": s}
        assert np.array_equal(gs.sptrsv(constants, b, lower=True, context=context),
                              gs.sptrsv(A, b, lower=True, **known))
        factor = gs.ssor(constants, context=context)
        assert np.array_equal(factor.solve(b), gs.ssor(A, **known).solve(b))
        factor.refactor(constants)
        x, info = gs.bicgstab(constants, b, M=factor)
        assert info.converged and np.linalg.norm(b - A @ x) <= 1e-7 * np.linalg.norm(b)
        x, info = gs.solve(constants, b, context=context)
        assert info.converged and np.linalg.norm(b - A @ x) <= 1e-7 * np.linalg.norm(b)


@pytest.mark.parametrize("error, words, call", [
    (ValueError, "must have", lambda: gs.Constants((4, 4, 4), "D3N7", [1.0])),
    (TypeError, "dtype", lambda: gs.Constants((4, 4), "D2N5", np.ones(5), dtype="int32")),
    (TypeError, "must be given", lambda: gs.Constants(None, "D2N5", np.ones(5))),
    (ValueError, "has others", lambda: gs.solve(gs.Constants((4, 4), "D2N5", np.ones(5)), np.ones(16),
                                                grid=(2, 8)))])
def test_constants_are_refused(error, words, call):
    with pytest.raises(error, match=words):
        call()


def test_structs_are_those_of_the_headers(tmp_path):
    from gridsweep import _types

    include = Path(__file__).resolve().parent.parent / "include"
    compiler = next(filter(None, map(shutil.which, ("cc", "gcc", "clang"))), None)
    if compiler is None or not (include / "gridsweep" / "krylov.h").exists():
        pytest.skip("needs a C compiler and the headers")
    prints, wanted = [], []
    for struct in _types.STRUCTS:
        name = struct.__name__
        prints.append(f'printf("%zu\\n", sizeof({name}));')
        wanted.append(ctypes.sizeof(struct))
        for field, _ in struct._fields_:
            prints.append(f'printf("%zu\\n", offsetof({name}, {field}));')
            wanted.append(getattr(struct, field).offset)
    numbers = [("GSW_BACKEND_", _types.BACKENDS), ("GSW_ALGORITHM_", _types.ALGORITHMS),
               ("GSW_NORM_", _types.NORMS), ("GSW_CYCLE_", _types.CYCLES),
               ("GSW_PRECOND_", {k: v for k, v in _types.PRECONDS.items() if k != "mg"}),
               ("GSW_SOLVER_", _types.METHODS),
               ("GSW_SMOOTHER_", {k.replace("-", "_"): v for k, v in _types.SMOOTHERS.items()}),
               ("GSW_MULTIGRID_", {word: _types.PARTS[part] for word, part in (
                   ("MATRIX", "A"), ("PROLONGATION", "P"), ("RESTRICTION", "R"))}),
               ("GSW_", {k: v for k, v in _types.KINDS.items() if v < 5}),
               ("GSW_FACTOR_", {k: v for k, v in _types.KINDS.items() if v >= 5}),
               ("GSW_ERROR_", {s.name: s.value for s in _types.Status if s}),
               ("GSW_", {"F64": 0, "F32": 1, "I32": 0, "I64": 1, "LOWER": 0, "UPPER": 1,
                         "STENCIL_MAX": _types.STENCIL_MAX})]
    for prefix, words in numbers:
        for word, number in words.items():
            prints.append(f'printf("%zu\\n", (size_t){prefix}{word.upper()});')
            wanted.append(number)
    source = tmp_path / "layout.c"
    headers = "".join(f"#include <gridsweep/{h}.h>\n" for h in ("sptrsv", "solve"))
    source.write_text(f"#include <stddef.h>\n#include <stdio.h>\n{headers}"
                      f"int main(void) {{ {' '.join(prints)} return 0; }}\n")
    program = tmp_path / "layout"
    subprocess.run([compiler, f"-I{include}", str(source), "-o", str(program)], check=True)
    printed = subprocess.run([str(program)], capture_output=True, text=True, check=True).stdout
    assert [int(line) for line in printed.split()] == wanted
