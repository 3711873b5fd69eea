"""The recipes in src/packaging name the version and the options that CMakeLists.txt has.

Neither Spack nor conda is needed: the Spack recipe runs against stand-ins for the names that it
imports, and the conda recipe is read as YAML. (tests/test_conda.sh builds with the conda recipe.)

    python3 -m pytest tests/test_recipes.py
"""

import itertools
import os
import py_compile
import re
import subprocess
import sys
import types
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
SPACK = ROOT / "src/packaging/spack/package.py"
CONDA = ROOT / "src/packaging/conda/recipe.yaml"
BUILD = ROOT / "src/packaging/conda/build.sh"
CMAKE = (ROOT / "CMakeLists.txt").read_text()
PETSC = (ROOT / "src/petsc/CMakeLists.txt").read_text()
TOOLKIT = (ROOT / "kernels/cuda/toolkit.cmake").read_text()


def found(pattern, text):
    match = re.search(pattern, text)
    assert match, f"nothing matches {pattern}"
    return match.group(1)


VERSION = found(r"project\(gridsweep\s+VERSION ([0-9.]+)", CMAKE)
CMAKE_VERSION = found(r"cmake_minimum_required\(VERSION ([0-9.]+)\)", CMAKE)
OPTIONS = {name: "ON OFF" for name in re.findall(r"^option\((\w+)", CMAKE, re.M)}
OPTIONS.update(re.findall(r"^set_property\(CACHE (\w+) PROPERTY STRINGS ([A-Z ]+)\)", CMAKE, re.M))


def check_definitions(definitions):
    """Each -DNAME=VALUE is an option of the project with a value that it takes, or CMake's own."""
    assert definitions
    for name, value in definitions.items():
        if name.startswith("CMAKE_"):
            continue
        assert name in OPTIONS, f"CMakeLists.txt has no option {name}"
        assert value in OPTIONS[name].split(), f"{name} does not take {value}"


def test_the_options_are_found():
    assert OPTIONS["GSW_CUDA"] == OPTIONS["GSW_PETSC"] == "AUTO ON OFF"
    assert {"GSW_OPENMP", "GSW_BUILD_PROGRAM", "GSW_BUILD_TESTS"} <= set(OPTIONS)


# ---- Spack ----


class Spec:
    """What a recipe asks of the spec that is built: its variants."""

    def __init__(self, chosen):
        self.chosen = chosen
        self.variants = {name: types.SimpleNamespace(value=v) for name, v in chosen.items()}

    def satisfies(self, text):
        sign, name = text[0], text[1:]
        assert sign in "+~" and name in self.chosen, f"{text}: no such variant"
        return self.chosen[name] == (sign == "+")


class Package:
    """The part of Spack's CMakePackage that the recipe uses, with what Spack makes of it."""

    run_tests = False
    build_directory = "/build"

    def __init__(self, chosen):
        self.spec = Spec(chosen)

    def define(self, name, value):
        if isinstance(value, bool):
            return f"-D{name}:BOOL={'ON' if value else 'OFF'}"
        if isinstance(value, (tuple, list)):
            return f"-D{name}:STRING={';'.join(value)}"
        return f"-D{name}:STRING={value}"

    def define_from_variant(self, name, variant):
        assert variant in self.spec.chosen, f"{name}: the recipe has no variant {variant}"
        return self.define(name, self.spec.chosen[variant])


@pytest.fixture
def recipe(monkeypatch):
    """The class in package.py, and what its directives said."""
    said = {name: [] for name in ("version", "variant", "depends_on", "conflicts", "license")}
    module, ran = types.ModuleType("spack.package"), []
    for name, calls in said.items():
        setattr(module, name, lambda *a, calls=calls, **k: calls.append((a, k)))
    module.CMakePackage, module.CudaPackage = Package, type("CudaPackage", (), {})
    module.run_after = lambda phase, when=None: lambda function: function
    module.cmake = lambda *arguments: ran.append(arguments)
    for name, stub in (("spack", types.ModuleType("spack")), ("spack.package", module),
                       ("spack_repo", None)):
        monkeypatch.setitem(sys.modules, name, stub)
    names = {"__name__": "package"}
    exec(compile(SPACK.read_text(), str(SPACK), "exec"), names)
    return names["Gridsweep"], said, ran


def variants_of(said):
    chosen = {a[0]: (False, True) for a, k in said["variant"]}
    return {**chosen, "cuda": (False, True)}  # that one comes from CudaPackage


def test_spack_compiles(tmp_path):
    py_compile.compile(str(SPACK), cfile=str(tmp_path / "recipe.pyc"), doraise=True)


def test_spack_names_this_version(recipe):
    _, said, _ = recipe
    assert [a[0] for a, k in said["version"]] == [VERSION]
    wanted = [a[0] for a, k in said["depends_on"]]
    assert f"cmake@{CMAKE_VERSION}:" in wanted
    assert f"cuda@{found(r'set.gsw_cuda_oldest ([0-9.]+)', TOOLKIT)}:" in wanted
    petsc = found(r"petsc>=([0-9.]+)", PETSC)
    assert any(text.startswith(f"petsc@{petsc}: ") for text in wanted)
    assert said["license"][0][0] == ("BSD-3-Clause",)


def test_spack_passes_options_that_exist(recipe):
    package, said, _ = recipe
    choices = variants_of(said)
    seen = set()
    for values in itertools.product(*choices.values()):
        chosen = dict(zip(choices, values), cuda_arch=("90", "100"))
        arguments = package(chosen).cmake_args()
        given = dict(re.fullmatch(r"-D(\w+):\w+=(.*)", text).groups() for text in arguments)
        check_definitions(given)
        assert given["GSW_CUDA"] == ("ON" if chosen["cuda"] else "OFF")
        assert given["GSW_PETSC"] == ("ON" if chosen["petsc"] else "OFF")
        assert (given.get("CMAKE_CUDA_ARCHITECTURES") == "90;100") == chosen["cuda"]
        seen.add(tuple(arguments))
    assert len(seen) == 2 ** len(choices)  # every variant does something
    conditions = [k["when"] for a, k in said["depends_on"] if "when" in k]
    assert conditions and all(when[1:] in choices for when in conditions)


def test_spack_installs_the_plugin(recipe):
    package, _, ran = recipe
    package({}).install_plugin()
    assert ran == [("--install", "/build", "--component", "petsc")]
    assert "COMPONENT petsc" in PETSC


# ---- conda ----


@pytest.fixture
def conda():
    yaml = pytest.importorskip("yaml", reason="PyYAML is not installed")
    return yaml.safe_load(CONDA.read_text())


def test_conda_names_this_version(conda):
    assert conda["context"] == {"version": VERSION}
    assert conda["package"] == {"name": "gridsweep", "version": "${{ version }}"}
    assert f"cmake >={CMAKE_VERSION}" in conda["requirements"]["build"]
    assert '${{ compiler("c") }}' in conda["requirements"]["build"]
    assert conda["about"]["license"] == "BSD-3-Clause"


def test_conda_names_files_that_exist(conda):
    assert (CONDA.parent / conda["source"]["path"]).resolve() == ROOT
    assert (ROOT / conda["about"]["license_file"]).is_file()
    assert (CONDA.parent / conda["build"]["script"]).resolve() == BUILD
    files = [name for test in conda["tests"] for name in test.get("files", {}).get("source", [])]
    assert files and all((ROOT / name).is_file() for name in files)


def test_conda_passes_options_that_exist():
    text = BUILD.read_text()
    check_definitions(dict(re.findall(r"-D(GSW_\w+)=(\S+)", text)))
    assert "$PREFIX" in text
    assert subprocess.run(["sh", "-n", str(BUILD)], check=False).returncode == 0
    assert os.access(BUILD, os.X_OK)


def test_the_readme_names_this_version():
    text = (ROOT / "src/packaging/README.md").read_text()
    assert set(re.findall(r"gridsweep@([0-9.]+)", text)) == {VERSION}
