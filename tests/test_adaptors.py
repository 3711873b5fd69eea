"""gridsweep inside other packages: each test runs the package itself, compares with its own solver, and
prints gridsweep's iterations. A package that is not installed is skipped; tests/test_wheel.sh and
tests/packages.sh install them."""

import doctest
import itertools
import os
import time

os.environ.setdefault("FIPY_SOLVERS", "scipy")

import numpy as np  # noqa: E402
import pytest  # noqa: E402

from gridsweep.adaptors import NotConverged, groundwater  # noqa: E402


def timed(call):
    begin = time.perf_counter()
    result = call()
    return result, 1e3 * (time.perf_counter() - begin)


def told(package, info, ours, theirs):
    assert info.iterations > 0 and info.converged
    print(f"{package}: {info.iterations} iterations of {info.method} with {info.precond}, "
          f"{ours:.1f} ms, the package's own solver {theirs:.1f} ms")


def never(*arguments, **options):
    raise AssertionError("the package's own solver was called")


@pytest.mark.parametrize("mesh", ["Grid2D", "PeriodicGrid2D", "Grid3D"])
def test_fipy(mesh):
    fipy = pytest.importorskip("fipy")
    from gridsweep.adaptors.fipy import Solver
    extents = {"nx": 60, "ny": 50} if "2D" in mesh else {"nx": 20, "ny": 18, "nz": 16}
    results, times, solver = [], [], Solver()
    for own in (solver, fipy.LinearLUSolver()):
        grid = getattr(fipy, mesh)(dx=1.0, dy=1.0, **extents)
        phi = fipy.CellVariable(mesh=grid, value=np.sin(np.arange(grid.numberOfCells)))
        if "Periodic" not in mesh:
            phi.constrain(1.0, grid.facesLeft)
        source = fipy.CellVariable(mesh=grid, value=np.cos(np.arange(grid.numberOfCells)))
        eq = fipy.TransientTerm() == fipy.DiffusionTerm(coeff=2.0) + source
        for step in range(3):
            _, ms = timed(lambda: eq.solve(var=phi, dt=10.0, solver=own))
        results.append(np.array(phi.value))
        times.append(ms)
    told(f"FiPy, {mesh}", solver.info, *times)
    assert np.abs(results[0] - results[1]).max() <= 1e-6 * np.abs(results[1]).max()


def test_fipy_refuses_several_variables():
    fipy = pytest.importorskip("fipy")
    from gridsweep.adaptors.fipy import Solver
    grid = fipy.Grid1D(nx=20)
    u, v = (fipy.CellVariable(mesh=grid, hasOld=True, value=0.5) for _ in range(2))
    eq = ((fipy.TransientTerm(var=u) == fipy.DiffusionTerm(coeff=1.0, var=v))
          & (fipy.TransientTerm(var=v) == -fipy.DiffusionTerm(coeff=1.0, var=u)))
    with pytest.raises(ValueError, match="several unknowns"):
        eq.solve(dt=1.0, solver=Solver())


@pytest.mark.parametrize("shape, periodic", [((40, 30), False), ((33, 24), True), ((14, 12, 10), [True, False, True]),
                                             ((50,), False)])
def test_py_pde(shape, periodic):
    pde = pytest.importorskip("pde")
    from gridsweep.adaptors.pde import solve_poisson_equation
    grid = pde.CartesianGrid([[0, extent] for extent in shape], shape, periodic=periodic)
    field = pde.ScalarField(grid, np.random.default_rng(1).random(shape))
    free = np.all(periodic)  # the mean is open
    if free:
        field.data -= field.data.mean()
    bc = "periodic" if free else "auto_periodic_dirichlet"
    own, ours = timed(lambda: solve_poisson_equation(field, bc))
    theirs, ms = timed(lambda: pde.solve_poisson_equation(field, bc))
    told(f"py-pde, {shape}", solve_poisson_equation.last, ours, ms)
    difference = own.data - theirs.data
    difference -= difference.mean() if free else 0
    assert np.abs(difference).max() <= 1e-5 * np.abs(theirs.data).max()


def test_scikit_image():
    segmentation = pytest.importorskip("skimage.segmentation")
    from gridsweep.adaptors.skimage import random_walker
    rng = np.random.default_rng(2)
    y, x = np.mgrid[:150, :170]
    truth = (x - 80) ** 2 + (y - 70) ** 2 < 45 ** 2
    image = truth + 0.2 * rng.standard_normal(truth.shape)
    seeds = np.zeros(truth.shape, int)
    seeds[65:75, 75:85], seeds[:8], seeds[120:128, 5:9] = 1, 2, -1
    own, ours = timed(lambda: random_walker(image, seeds, beta=50, tol=1e-8, return_full_prob=True))
    theirs, ms = timed(lambda: segmentation.random_walker(image, seeds, beta=50, tol=1e-8, mode="cg_j",
                                                          return_full_prob=True))
    told("scikit-image", random_walker.last, ours, ms)
    assert np.abs(own - theirs).max() <= 1e-5
    assert np.mean((np.argmax(own, axis=0) == 0) == truth) > 0.95
    again = segmentation.random_walker(image, seeds, beta=50, mode="cg_j")
    assert again.shape == seeds.shape  # the package is as it was


def test_pyamg():
    pyamg = pytest.importorskip("pyamg")
    from gridsweep.adaptors.pyamg import use
    A = pyamg.gallery.poisson((90, 80), format="csr")
    b = np.random.default_rng(3).random(A.shape[0])
    residuals, plain = [], []
    ml = use(pyamg.smoothed_aggregation_solver(A))
    x = ml.solve(b, tol=1e-8, accel="cg", residuals=residuals)
    pyamg.smoothed_aggregation_solver(A).solve(b, tol=1e-8, accel="cg", residuals=plain)
    calls = ml.levels[0].presmoother.calls
    print(f"pyamg: {len(residuals) - 1} iterations with {calls} smoothing steps of gridsweep; with its "
          f"own smoother {len(plain) - 1}")
    assert np.linalg.norm(b - A @ x) <= 1e-7 * np.linalg.norm(b) and calls >= 2 * (len(residuals) - 1)
    assert len(residuals) <= len(plain) + 2
    with pytest.raises(ValueError, match="kind"):
        use(ml, kind="gauss")


def test_groundwater():
    sparse = pytest.importorskip("scipy.sparse")
    from scipy.sparse.linalg import spsolve
    rng = np.random.default_rng(4)
    shape = layers, rows, columns = 4, 24, 30
    k = 10 ** rng.normal(0, 1, shape)
    delr, delc = rng.uniform(50, 150, columns), rng.uniform(40, 90, rows)
    thickness = rng.uniform(5, 20, shape)
    idomain = np.ones(shape, int)
    idomain[:, :6, :9] = 0
    idomain[1, 15:20, 3:12] = -1
    fixed = np.zeros(shape, bool)
    fixed[:, :, -1] = True
    m = groundwater.model(k, delr, delc, thickness, idomain=idomain, kv=k / 10, fixed=fixed)
    recharge = np.zeros(shape)
    recharge[0] = 1e-3 * delc[:, None] * delr
    heads = np.where(fixed, 25.0, 0.0)
    (head, info), ours = timed(lambda: m.solve(recharge, heads))
    b = np.where(fixed, heads, recharge).ravel()
    own = np.flatnonzero(m.active)
    wanted, ms = timed(lambda: spsolve(sparse.csc_matrix(m.matrix[own][:, own]), b[own]))
    told("groundwater", info, ours, ms)
    assert head.shape == shape and np.all(head[fixed] == 25) and np.all(head[~m.active] == 0)
    assert np.abs(head.ravel()[own] - wanted).max() <= 1e-6 * np.abs(wanted).max()
    # the conductance of two cells, from its definition
    free = ~fixed & m.active
    i = np.argwhere(free[0, 10, :-1] & free[0, 10, 1:])[0][0]
    t = k[0, 10, i:i + 2] * thickness[0, 10, i:i + 2]
    c = 2 * delc[10] * t[0] * t[1] / (t[0] * delr[i + 1] + t[1] * delr[i])
    at = 10 * columns + i
    assert np.isclose(m.matrix[at, at + 1], -c, rtol=1e-12) and m.matrix[at, at + 1] == m.matrix[at + 1, at]
    with pytest.raises(NotConverged, match="after 1 iteration") as caught:
        m.solve(recharge, heads, maxiter=1)
    assert not caught.value.info.converged
    with pytest.raises(ValueError, match="idomain: has shape"):
        groundwater.model(k, delr, delc, thickness, idomain=idomain[0])


def test_landlab(monkeypatch):
    landlab = pytest.importorskip("landlab")
    from landlab.components.tidal_flow import tidal_flow_calculator as package
    from gridsweep.adaptors.landlab import TidalFlowCalculator, solve
    results, times = [], []
    for calculator in (package.TidalFlowCalculator, TidalFlowCalculator):
        grid = landlab.RasterModelGrid((120, 130), xy_spacing=2.0)
        bed = grid.add_zeros("topographic__elevation", at="node")
        bed[:] = np.random.default_rng(5).normal(-0.5, 0.3, bed.size)
        grid.set_closed_boundaries_at_grid_edges(False, True, True, True)
        grid.status_at_node[np.hypot(grid.x_of_node - 90, grid.y_of_node - 120) < 40] = grid.BC_NODE_IS_CLOSED
        tide = calculator(grid, tidal_range=2.0, tidal_period=4.0e4, roughness=0.01)
        _, ms = timed(tide.run_one_step)
        results.append(grid.at_link["flood_tide_flow__velocity"].copy())
        times.append(ms)
        monkeypatch.setattr(package, "spsolve", never)
    told("landlab, a marsh with an island", solve.last, *reversed(times))
    assert np.abs(results[1] - results[0]).max() <= 1e-6 * np.abs(results[0]).max()
    with pytest.raises(NotConverged):
        solve(grid, *landlab.utils.get_core_node_matrix(grid, bed), maxiter=1)
    with pytest.raises(TypeError, match="must be a RasterModelGrid"):
        solve(landlab.HexModelGrid((5, 4)), None, None)
    # the example of the package's manual, with gridsweep
    solve.last, (example,) = None, doctest.DocTestFinder(recurse=False).find(package.TidalFlowCalculator)
    monkeypatch.setattr(landlab.components, "TidalFlowCalculator", TidalFlowCalculator)
    outcome = doctest.DocTestRunner().run(example)
    assert outcome.attempted > 5 and outcome.failed == 0 and solve.last.converged
    assert package.spsolve is never  # the package is as it was


@pytest.mark.parametrize("name, bc", [("Simulation3DNodal", "Neumann"), ("Simulation3DCellCentered", "Robin"),
                                      ("Simulation3DCellCentered", "Dirichlet")])
def test_simpeg(name, bc, monkeypatch):
    pytest.importorskip("simpeg")
    import discretize
    from simpeg import maps
    from simpeg.electromagnetics import analytics
    from simpeg.electromagnetics.static import resistivity
    from simpeg.utils import solver_utils
    from gridsweep.adaptors.simpeg import Solver
    fine, below = (25.0, 18), (25.0, 14)
    h, z = [(25.0, 6, -1.3), fine, (25.0, 6, 1.3)], [(25.0, 6, -1.3), below]
    mesh = discretize.TensorMesh([h, h, z], origin="CCN")
    ends = [np.array([side * 187.5, 12.5, 0.0]) for side in (-1, 1)]
    places = np.array([[x, 12.5, 0.0] for x in np.arange(-87.5, 88, 25)])
    receivers = resistivity.receivers.Dipole(places, places + [25.0, 0, 0])
    survey = resistivity.Survey([resistivity.sources.Dipole([receivers], *ends),
                                 resistivity.sources.Pole([receivers], ends[0])])
    model = np.full(mesh.nC, np.log(1e-2))

    def simulation(solver, **options):
        return getattr(resistivity, name)(mesh, survey=survey, sigmaMap=maps.ExpMap(), bc_type=bc, solver=solver,
                                          solver_opts=options)
    package = solver_utils.get_default_solver()
    theirs, ms = timed(lambda: simulation(package).dpred(model))
    own = simulation(Solver, rtol=1e-10)
    slope = simulation(package).Jtvec(model, np.ones(survey.nD))
    monkeypatch.setattr(package, "__init__", never)
    data, ours = timed(lambda: own.dpred(model))
    told(f"SimPEG, {name}, {bc}", own.Ainv.info, ours, ms)
    assert np.abs(data - theirs).max() <= 1e-6 * np.abs(theirs).max()
    again = own.Jtvec(model, np.ones(survey.nD))
    assert np.linalg.norm(again - slope) <= 1e-5 * np.linalg.norm(slope)
    if bc == "Robin":  # as in the package's own test, a half space
        a, b = (analytics.DCAnalytic_Pole_Dipole(end, [places, places + [25.0, 0, 0]], 1e-2, earth_type="halfspace")
                for end in ends)
        wanted = a - b
        assert np.linalg.norm(data[:len(places)] - wanted) <= 0.2 * np.linalg.norm(wanted)
    with pytest.raises(NotConverged):
        simulation(Solver, maxiter=1).dpred(model)


@pytest.mark.parametrize("domain", ["closed", "periodic", "open", "obstacle", "batch"])
def test_phiflow(domain, monkeypatch):
    pytest.importorskip("phi")
    from phi import flow
    from phiml.backend import _linalg
    from gridsweep.adaptors import phiflow
    math, boundary = flow.math, {"periodic": flow.extrapolation.PERIODIC, "open": flow.extrapolation.BOUNDARY}
    noise = flow.Noise(flow.batch(runs=2)) if domain == "batch" else flow.Noise()
    obstacles = [flow.Obstacle(flow.Box(x=(20, 40), y=(20, 30)))] if domain == "obstacle" else []

    def run(solve):
        with math.precision(64), math.SolveTape() as tape:
            math.seed(6)
            velocity = flow.StaggeredGrid(noise, boundary.get(domain, 0), x=80, y=70)
            flow.fluid.make_incompressible(velocity, obstacles, solve)  # PhiFlow compiles
            (velocity, _), ms = timed(lambda: flow.fluid.make_incompressible(velocity, obstacles, solve))
            return tape[1], velocity, flow.field.divergence(velocity).values.max, ms
    _, theirs, _, ms = run(flow.Solve(rel_tol=1e-9, abs_tol=1e-9))
    for name in ("scipy_sparse_solve", "cg", "cg_adaptive", "bicg"):
        monkeypatch.setattr(_linalg, name, never)
    info, own, divergence, ours = run(phiflow.Solve(rel_tol=1e-9, abs_tol=1e-9))
    assert info.method == "gridsweep" and info.iterations.min > 0
    print(f"PhiFlow, {domain}: {info.iterations.max} iterations of gridsweep, {ours:.1f} ms, "
          f"the package's own solver {ms:.1f} ms")
    assert divergence < 1e-7
    flow.field.assert_close(own, theirs, abs_tolerance=1e-6)
    with pytest.raises(NotConverged):
        run(phiflow.Solve(rel_tol=1e-9, max_iterations=1))
    with pytest.raises(ValueError, match="no preconditioner"):
        run(phiflow.Solve(preconditioner="ilu"))


def test_phiflow_in_its_own_precision():
    pytest.importorskip("phi")
    from phi import flow
    from gridsweep.adaptors import phiflow
    heat = flow.CenteredGrid(flow.Noise(), 0, x=24, y=20, z=16)
    with flow.math.SolveTape() as tape:
        own = flow.diffuse.implicit(heat, 1.0, 0.5, phiflow.Solve())
    theirs = flow.diffuse.implicit(heat, 1.0, 0.5, flow.Solve("CG"))
    assert tape[0].method == "gridsweep" and tape[0].iterations > 0
    flow.field.assert_close(own, theirs, abs_tolerance=1e-4)
    with pytest.raises(TypeError, match="A: is a function"):
        flow.math.solve_linear(lambda x: 2 * x, flow.math.ones(flow.spatial(x=9, y=8)),
                               phiflow.Solve(x0=flow.math.zeros(flow.spatial(x=9, y=8))))


@pytest.mark.parametrize("domain", ["cubic", "boundary pores", "some pores missing"])
def test_openpnm(domain, monkeypatch):
    openpnm = pytest.importorskip("openpnm")
    from gridsweep.adaptors.openpnm import Solver
    openpnm.Workspace().settings.loglevel = 40
    network = openpnm.network.Cubic(shape=[26, 20, 16], spacing=1e-4)
    if domain == "boundary pores":
        network.add_boundary_pores(["left", "right"])
    network.add_model_collection(openpnm.models.collections.geometry.spheres_and_cylinders)
    network.regenerate_models()
    if domain == "some pores missing":
        lost = np.random.default_rng(7).random(network.Np) < 0.2
        openpnm.topotools.trim(network, pores=np.flatnonzero(lost))
        health = openpnm.utils.check_network_health(network)
        openpnm.topotools.trim(network, pores=health["disconnected_pores"])
    air = openpnm.phase.Air(network=network)
    air.add_model_collection(openpnm.models.collections.physics.basic)
    air.regenerate_models()
    inlets, outlets = network.pores("left"), network.pores("right")

    def run(solver):
        algorithm = openpnm.algorithms.FickianDiffusion(network=network, phase=air)
        algorithm.set_value_BC(pores=inlets, values=1.0)
        algorithm.set_value_BC(pores=outlets, values=0.0)
        _, ms = timed(lambda: algorithm.run(solver=solver))
        return algorithm["pore.concentration"], algorithm.rate(pores=inlets)[0], ms
    theirs, rate, ms = run(None)
    for name in ("PardisoSpsolve", "ScipySpsolve", "ScipyCG", "PyamgRugeStubenSolver"):
        monkeypatch.setattr(getattr(openpnm.solvers, name), "solve", never)
    solver = Solver(network)
    own, flow, ours = run(solver)
    told(f"OpenPNM, {domain}", solver.info, ours, ms)
    assert np.abs(own - theirs).max() <= 1e-6 and abs(flow - rate) <= 1e-6 * abs(rate)
    with pytest.raises(NotConverged):
        run(Solver(network, maxiter=1))


def test_openpnm_refuses_other_networks():
    openpnm = pytest.importorskip("openpnm")
    from gridsweep import GridsweepError
    from gridsweep.adaptors.openpnm import Solver
    network = openpnm.network.Delaunay(points=200, shape=[1, 1, 1])
    with pytest.raises(GridsweepError, match="on no regular grid"):
        Solver(network).solve(network.create_adjacency_matrix().astype(float), np.ones(network.Np))


@pytest.mark.parametrize("extents", [(60, 50), (30, 25, 20)])
def test_petsc4py(extents):
    petsc4py = pytest.importorskip("petsc4py")
    plugin = os.environ.get("GRIDSWEEP_PETSC_PLUGIN") or pytest.skip("GRIDSWEEP_PETSC_PLUGIN names no plug-in")
    petsc4py.init(["", "-dll_prepend", plugin])
    from petsc4py import PETSc
    da = PETSc.DMDA().create(extents, stencil_width=1)
    A, row, column = da.createMatrix(), PETSc.Mat.Stencil(), PETSc.Mat.Stencil()
    for point in itertools.product(*map(range, extents)):
        row.index = point
        A.setValueStencil(row, row, 2.0 * len(extents))
        for axis, step in itertools.product(range(len(extents)), (-1, 1)):
            other = list(point)
            other[axis] += step
            if 0 <= other[axis] < extents[axis]:
                column.index = tuple(other)
                A.setValueStencil(row, column, -1.0)
    A.assemble()
    b = A.createVecLeft()
    b.array[:] = np.random.default_rng(8).random(b.size)
    results, counts, times = [], [], []
    for kind in ("gridsweep", "gamg"):
        ksp, x = PETSc.KSP().create(), b.duplicate()
        ksp.setOperators(A)
        ksp.setType("cg")
        ksp.pc.setType(kind)
        ksp.setTolerances(rtol=1e-8)
        _, ms = timed(lambda: ksp.solve(b, x))
        assert ksp.pc.getType() == kind and ksp.getConvergedReason() > 0 and ksp.its > 0
        results.append(x.array.copy())
        counts.append(ksp.its)
        times.append(ms)
    print(f"petsc4py, {extents}: {counts[0]} iterations of CG with gridsweep, {times[0]:.1f} ms; "
          f"with gamg {counts[1]}, {times[1]:.1f} ms")
    assert np.abs(results[0] - results[1]).max() <= 1e-5 * np.abs(results[1]).max()
