"""The JSON of every command against its schema, and what is written about its keys.

    GRIDSWEEP_BUILD=build python3 -m pytest tests/test_json.py
"""

import copy
import json
import os
import random
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

jsonschema = pytest.importorskip("jsonschema")

ROOT = Path(__file__).resolve().parent.parent
BUILD = Path(os.environ.get("GRIDSWEEP_BUILD", ROOT / "build")).resolve()
MPIEXEC = os.environ.get("GRIDSWEEP_MPI")  # of the MPI that the program is built with


def unique(pairs):
    """An object of JSON whose keys differ."""
    members = dict(pairs)
    assert len(members) == len(pairs), pairs
    return members


PRINTED = subprocess.run([BUILD / "gridsweep", "help", "--schema"], capture_output=True, text=True,
                         check=True).stdout
SCHEMA = json.loads(PRINTED, object_pairs_hook=unique)
KEYS = SCHEMA["$defs"]["keys"]["$defs"]

BANNER = "%%MatrixMarket matrix coordinate real general\n"
VECTOR = "%%MatrixMarket matrix array real general\n2 1\n"
FILES = {
    "swap.mtx": BANNER + "2 2 4\n1 1 0\n1 2 1\n2 1 1\n2 2 0\n",
    "one.mtx": VECTOR + "1\n0\n",
    "large.mtx": VECTOR + "1\n1e300\n",
    "indefinite.mtx": BANNER + "4 4 10\n" + "".join(
        f"{i} {j} {1 if i == j else -0.9}\n" for i in range(1, 5) for j in range(1, 5) if abs(i - j) < 2),
    "mask.mtx": "%%MatrixMarket matrix array integer general\n60 1\n" + 12 * "1\n1\n0\n1\n1\n",
    "neumann.mtx": BANNER + "4 4 10\n" + "".join(
        f"{i} {j} {(1 if i in (1, 4) else 2) if i == j else -1}\n"
        for i in range(1, 5) for j in range(1, 5) if abs(i - j) < 2),
    "custom.mtx": BANNER + "9 9 15\n" + "".join(f"{i} {i} 2\n" for i in range(1, 10))
    + "".join(f"{i} {i - 3} 1\n" for i in range(4, 10)),
}

# The definition, the exit code, the command; --json is added.
COMMANDS = [
    ("info", 0, "info"),
    ("tune", 0, "tune"),
    ("tune", 0, "tune --threads 1"),
    ("info", 0, "info"),  # it finds the file of the line before
    ("detect", 0, "detect swap.mtx"),
    ("detect", 0, "detect custom.mtx --grid 3x3"),
    ("generate", 0, "generate --problem hpcg:5x4x3 --out A.mtx"),
    ("factor", 0, "factor --problem poisson:5x4x3 --precond ic0 --out-l L.mtx --out-u U.mtx"),
    ("sptrsv", 0, "sptrsv --problem poisson:5x4x3 --part lower"),
    ("sptrsv", 0, "sptrsv --problem poisson:5x4x3 --part upper --algorithm line --no-check"),
    ("sptrsv", 0, "sptrsv --problem poisson:5x4x3 --part lower --mask mask.mtx"),
    ("factor", 0, "factor --problem hpcg:5x4x3 --mask mask.mtx --precond ilu0 --out-l L.mtx --out-u U.mtx"),
    ("solve", 0, "solve --problem poisson:5x4x3 --mask mask.mtx"),
    ("solve", 0, "solve --problem star13:36x36x36"),
    ("solve", 0, "solve --problem convection:9x8x7 --precond ilu0 --method gmres --factor-precision f32"),
    ("solve", 0, "solve --problem poisson:9x8x7 --precond none --method cg"),
    ("solve", 0, "solve --problem poisson:9x8x7 --method gmres"),
    ("solve", 0, "solve --problem poisson:9x8x7 --precond ilu0 --scope local"),
    ("solve", 0, "solve --problem convection:16x15x14 --precond mg --method richardson"),
    ("solve", 0, "solve --problem convection:16x15x14 --precond mg --mg-smoother ilu0 --mg-cycle W"),
    ("solve", 0, "solve neumann.mtx --rhs random:1 --precond jacobi --nullspace constant"),
    ("solve", 0, "solve indefinite.mtx --precond none"),  # cg breaks down, bicgstab follows
    ("solve", 1, "solve --problem poisson:20x20x20 --max-iter 3"),
    ("solve", 1, "solve --problem poisson:12x9x7 --rtol 1e-20 --max-iter 500"),
    ("solve", 1, "solve --problem poisson:12x9x7 --method richardson --precond none"),
    ("solve", 4, "solve swap.mtx --method cg --precond none --rhs one.mtx"),
    ("solve", 4, "solve swap.mtx --method cg --precond none --rhs large.mtx"),
    ("bench", 0, "bench --size 8 --part lower,both --algorithm reference,line,pencil --threads 1,2"),
    ("bench", 0, "bench --size 8 --part lower,both --algorithm line,pencil --cache warm --precision f64,f32"),
    ("bench", 0, "bench --part symgs --problem hpcg --size 8"),
    ("bench", 0, "bench --whole-solve --problem poisson:9x8x7 --method cg --precond mg,ic0,none"),
    ("bench", 1, "bench --whole-solve --problem poisson:20x20x20 --max-iter 3"),
    ("bench", 0, "bench --hpcg --size 16"),
    ("bench", 0, "bench --part relax --stencil D2N5,D3N27 --size 9,20x7 --heights 1-3,8"),
]
RIVALS = [
    ("bench", 0, "bench --compare --size 8"),
    ("bench", 0, "bench --whole-solve --problem poisson:9x8x7 --compare cusparse,petsc,hypre-pfmg"),
]
# On two processes.
SHARED = [
    ("solve", 0, "solve --problem lognormal:32x16x16 --precond mg"),
    ("solve", 0, "solve --problem convection:9x8x7 --scope local"),
    ("bench", 0, "bench --whole-solve --problem poisson:20x20x20 --method cg --precond mg,ic0,none"),
]
DEVICE = [
    ("tune", 0, "tune"),
    ("detect", 0, "detect swap.mtx"),
    ("factor", 0, "factor --problem poisson:5x4x3 --precond ic0 --out-l L.mtx --out-u U.mtx"),
    ("sptrsv", 0, "sptrsv --problem poisson:5x4x3 --part lower"),
    ("solve", 0, "solve --problem poisson:32x32x32"),
    ("solve", 1, "solve --problem poisson:20x20x20 --max-iter 3"),
    ("bench", 0, "bench --size 16 --part lower,both --algorithm line,pencil --cache warm,cold"),
    ("bench", 0, "bench --whole-solve --problem poisson:9x8x7 --method cg --precond mg,ic0"),
    ("bench", 0, "bench --hpcg --size 16"),
    ("bench", 0, "bench --part relax --stencil D2N5,D3N33 --size 16 --heights 1-3"),
]


def environment(folder):
    """That of a program which finds and leaves the files of `gridsweep tune` in the folder."""
    return {**os.environ, "OMP_NUM_THREADS": "2", "XDG_CACHE_HOME": str(folder / "cache")}


def run(folder, code, command, processes=1):
    """The JSON of a command; None where this build has no rivals."""
    for name, text in FILES.items():
        (folder / name).write_text(text)
    path = folder / "result.json"
    path.unlink(missing_ok=True)
    repeats = ["--repeats", "2"] if command.startswith("bench") else []
    launcher = [MPIEXEC, "-n", str(processes)] if processes > 1 else []
    done = subprocess.run([*launcher, BUILD / "gridsweep", *command.split(), *repeats, "--quiet", "--json", path],
                          cwd=folder, env=environment(folder), capture_output=True,
                          text=True, timeout=300, check=False)
    if "has no rivals" in done.stderr:
        return None
    assert done.returncode == code, command + "\n" + done.stderr
    return json.loads(path.read_text())


def validator(definition=None):
    schema = {"$ref": f"#/$defs/{definition}", "$defs": SCHEMA["$defs"]} if definition else SCHEMA
    return jsonschema.Draft202012Validator(schema)


@pytest.fixture(scope="module")
def outputs(tmp_path_factory):
    """(definition, command, JSON) of everything that runs here."""
    folder = tmp_path_factory.mktemp("json")
    wanted = COMMANDS + RIVALS
    if run(folder, 0, "info")["gpus"]:
        places = ("solve", "sptrsv", "bench", "factor", "tune")
        wanted = [(d, c, f"{text} --backend cpu" if d in places else text)
                  for d, c, text in wanted] + [(d, c, f"{text} --backend cuda") for d, c, text in DEVICE]
    made = [(definition, text, run(folder, code, text)) for definition, code, text in wanted]
    for path in (folder / "cache/gridsweep").iterdir():
        path.write_text("damaged\n")
    made.append(("info", "info", run(folder, 0, "info")))
    if MPIEXEC:
        made += [(definition, text, run(folder, code, text, 2)) for definition, code, text in SHARED]
    return [output for output in made if output[2] is not None]


def objects(value):
    """Every object in a value, itself included."""
    if isinstance(value, dict):
        yield value
    for member in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from objects(member)


def resolved(member):
    """A property with what it refers to."""
    target = SCHEMA
    for name in member.get("$ref", "#").split("/")[1:]:
        target = target[name]
    return {**target, **member} if "$ref" in member else member


def properties():
    """(definition, key, property) of all objects."""
    for name, definition in SCHEMA["$defs"].items():
        for key, member in definition.get("properties", {}).items():
            yield name, key, resolved(member)


# ---- The manual ----

def wanted_keys():
    """The keys of each object, by its title."""
    return {"Shared keys": KEYS} | {definition["title"]: definition["properties"]
                                    for definition in SCHEMA["$defs"].values() if "properties" in definition}


def test_the_manual_has_the_tables():
    """Each key of each object, with its description."""
    text = subprocess.run([sys.executable, ROOT / "src/docs/json_tables.py"], input=PRINTED, capture_output=True,
                          text=True, check=True).stdout
    sections = [part.partition("\n") for part in text.split("### ")[1:]]
    wanted = wanted_keys()
    assert [title for title, _, _ in sections] == [title.replace(" --", ", ") for title in wanted]
    for (_, _, section), members in zip(sections, wanted.values()):
        shared = re.search(r"^Shared keys: `(.*)`\.$", section, re.M)
        keys = shared[1].split("`, `") if shared else []
        for row in re.findall(r"^\| (`.*) \|$", section, re.M):
            key, unit, text, null = row.split(" | ")
            text += f" Unit: {unit.replace('1', 'none')}." if unit else ""
            text += f" Null: {null}." if null else ""
            keys.append(key.strip("`"))
            assert re.sub("['`]", "", text) == members[keys[-1]]["description"].replace("'", "")
        assert sorted(keys) == sorted(members)
    marker = re.search(r'TABLES = "(.*)"', (ROOT / "src/manual/conf.py").read_text()).group(1)
    assert (ROOT / "src/docs/json.md").read_text().count(f"\n{marker}\n") == 1


def test_the_manual_page_has_the_keys():
    page = subprocess.run([BUILD / "gridsweep", "help", "--man"], capture_output=True, text=True,
                          check=True).stdout
    section = re.search(r"^\.SH JSON OUTPUT\n(.*?)^\.SH", page, re.M | re.S).group(1)
    found = {}
    for part in section.split(".SS ")[1:]:
        title, text = part.split("\n", 1)
        shared = re.search(r"Shared keys: (.*?)\.\n", text)
        found[title.replace("\\-", "-")] = (re.findall(r"^\.B (\w+)", text, re.M)
                                          + (shared.group(1).split(", ") if shared else []))
    assert {title: sorted(keys) for title, keys in found.items()} == {
        title: sorted(keys) for title, keys in wanted_keys().items()}
    assert "share/gridsweep/gridsweep.schema.json" in section


# ---- What the commands write ----

def test_the_schema_is_one():
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    for definition in SCHEMA["$defs"].values():
        if "properties" in definition:
            assert definition["additionalProperties"] is False
            assert definition["required"] == list(definition["properties"])
    assert {ref["$ref"].split("/")[-1] for ref in SCHEMA["oneOf"]} == {d for d, _, _ in COMMANDS}


def test_units_and_nulls_are_described():
    for name, key, member in properties():
        text, types = member["description"], member.get("type", [])
        null = "null" in types or {"type": "null"} in member.get("anyOf", [])
        assert ("Null: " in text) == null, f"{name}.{key}"
        if "number" in types or "integer" in types:
            assert "Unit: " in text, f"{name}.{key}"
        assert text.isascii() and text.endswith("."), f"{name}.{key}"


def test_every_command_writes_what_the_schema_says(outputs):
    for definition, command, output in outputs:
        for one in (definition, None):
            problems = [f"{'/'.join(map(str, e.path))}: {e.message}"
                        for e in validator(one).iter_errors(output)]
            assert not problems, f"{command}\n" + "\n".join(problems)
        assert output["schema"] == 1 and output["command"] == definition
    seen = {output["status"] for definition, _, output in outputs if definition == "solve"}
    assert seen == set(SCHEMA["$defs"]["solve"]["properties"]["status"]["enum"])


def test_info_shows_where_the_shapes_come_from(outputs):
    before, after, damaged = [output["tuning"] for d, text, output in outputs if d == "info"]
    file = next(output["file"] for d, text, output in outputs if d == "tune" and output["backend"] == "cpu")
    copy = [output["copy_gb_s"] for d, _, output in outputs if d == "tune" and output["backend"] == "cpu"][-1]
    assert before == {"source": "table", "file": file, "ignored": None, "copy_gb_s": None}
    assert after == {"source": "file", "file": file, "ignored": None, "copy_gb_s": copy}
    assert damaged["source"] == "table" and damaged["file"] == file
    assert damaged["ignored"] == f"the tuning file {file} is ignored: it is damaged"


def test_other_keys_are_refused(outputs):
    """A key too many, a key too few, and a value of another type, in each object."""
    for definition, command, output in outputs:
        check = validator(definition)
        for number, original in enumerate(objects(output)):
            for key in [*original, None]:
                changed = copy.deepcopy(output)
                place = list(objects(changed))[number]
                if key is None:
                    place["unknown"] = None
                else:
                    del place[key]
                assert not check.is_valid(changed), f"{command}: {key}"
                if key is not None:
                    place[key] = {"another": "type"}
                    assert not check.is_valid(changed), f"{command}: type of {key}"


def test_nullable_keys_are_null_somewhere(outputs):
    """A key that may be null is null somewhere, and somewhere it is not. Some need a GPU, or MPI."""
    cuda = {"driver", "toolkit", "upload_ms", "download_ms", "step_ns", "hand_over_us", "polled_chunks"}
    cuda |= set() if MPIEXEC else {"distributed_multigrid"}
    rare = {"threads", "residual", "buffer_bytes", "copy_gb_s", "fraction_of_copy", "max_rel_error",
            "iteration_ms", "cycle_left", "sweep_chunk", "sweep_slack", "sweep_grain", "sweep_grain_flat"}
    nulls, values = set(), set()
    for _, _, output in outputs:
        for place in objects(output):
            nulls |= {key for key, value in place.items() if value is None}
            values |= {key for key, value in place.items() if value is not None}
    nullable = {key for _, key, member in properties() if "Null: " in member["description"]}
    assert nulls <= nullable
    assert not nullable - nulls - rare
    assert not nullable - values - cuda


def test_active_points_are_those_of_the_mask(outputs):
    for _, command, output in outputs:
        if "active_points" in output:
            x, y, z = output["grid"]
            assert output["active_points"] == (48 if "--mask" in command else x * y * z), command


def test_the_history_is_that_of_the_solve(outputs):
    for definition, command, output in outputs:
        if definition != "solve":
            continue
        history = output["history"]
        steps, residuals, times = (history[key] for key in ("iteration", "residual", "ms"))
        assert len(steps) == len(residuals) == len(times)
        if output["status"] != "GSW_ERROR_NON_FINITE":
            assert steps[0] == 0 and steps[-1] == output["iterations"], command
        assert times == sorted(times)
        assert not times or times[-1] <= output["solve_ms"] + 0.1
        if output["status"] == "GSW_SUCCESS":
            assert residuals[-1] <= 1.01 * output["rtol"]
            # On several processes an attempt that follows another one begins with its last norm.
            both = (output["processes"] > 1 and output["auto"] is not None
                    and output["auto"]["fallback"] is not None)
            assert len(steps) == output["iterations"] + 1 + both


RANDOM_RUNS = int(os.environ.get("GSW_RANDOM_RUNS", "40"))
PROBLEMS = ("poisson", "anisotropic", "convection", "lognormal", "hpcg", "helmholtz19", "star13",
            "box33", "random:3", "ocean", "ocean:0.6", "reservoir", "obstacles")
NAMES = ("A.mtx", "a b.mtx", 'quote".mtx', "back\\slash.mtx", "tab\t.mtx", "é.mtx", b"\xff.mtx",
         b"half\xc3.mtx", b"\xed\xa0\x80.mtx", b"\xf0\x9f\x98\x80.mtx", b"\xc0\xaf\xe2\x82.mtx")
CHOICES = {
    "solve": {"--method": ("cg", "bicgstab", "gmres", "richardson", "auto"),
              "--precond": ("ilu0", "ic0", "dilu", "ssor", "jacobi", "none", "mg", "auto"),
              "--rhs": ("ones", "random:1"), "--rtol": ("1e-3", "1e-8", "1e-30"),
              "--max-iter": ("1", "7", "300"), "--norm": ("true", "preconditioned"),
              "--eisenstat": ("auto", "never", "always"),
              "--nullspace": ("none", "constant"), "--restart": ("1", "5"), "--omega": ("0.5", "1.9"),
              "--pivot-shift": ("1e-3",), "--factor-precision": ("f64", "f32"),
              "--mg-precision": ("f64", "f32"), "--mg-cycle": ("V", "F", "W"),
              "--mg-smoother": ("gs", "symgs", "ilu0", "jacobi", "chebyshev", "multicolor"),
              "--mg-theta": ("0.1", "0.9"), "--out": ("x.mtx", "x.mtx.gz")},
    "sptrsv": {"--part": ("lower", "upper"), "--algorithm": ("auto", "reference", "line", "pencil"),
               "--rhs": ("random:2",), "--repeats": ("1", "3")},
    "factor": {"--precond": ("ilu0", "ic0", "dilu"), "--factor-precision": ("f64", "f32")},
    "detect": {},
    "generate": {"--out": ("B.mtx", "B.mtx.gz")},
}
ALWAYS = {"sptrsv": ("--part",), "factor": ("--precond",), "generate": ("--out",)}
FLAGS = {"solve": ("--mg-info",), "sptrsv": ("--transpose", "--unit-diagonal", "--no-check")}


def random_command(pick):
    """A command, its problem and its grid. The file of the problem is the last argument, or absent."""
    command = pick.choice(("solve", "solve", "solve", "solve", "sptrsv", "factor", "detect", "generate"))
    grid = [pick.randint(1, 12), pick.randint(1, 9), pick.choice((1, pick.randint(1, 7)))]
    problem = f"{pick.choice(PROBLEMS)}:{'x'.join(map(str, grid))}"
    words = [command]
    for option, values in CHOICES[command].items():
        if option in ALWAYS.get(command, ()) or pick.random() < 0.3:
            words += [option, pick.choice(values)]
    words += [flag for flag in FLAGS.get(command, ()) if pick.random() < 0.3]
    if command == "factor":
        words += ["--out-l", "L.mtx", "--out-u", "U.mtx"]
    if command == "detect" or (command != "generate" and pick.random() < 0.4):
        return [*words, pick.choice(NAMES)], problem, grid
    return [*words, "--problem", problem], None, grid


def refuse_constant(name):
    raise ValueError(f"{name} is not JSON")


@pytest.mark.parametrize("seed", range(RANDOM_RUNS))
def test_random_commands_write_valid_json(tmp_path, seed):
    """Whatever the options are: a documented exit code, and JSON by the schema or none with a reason."""
    words, problem, grid = random_command(random.Random(seed))
    def call(*arguments):
        return subprocess.run([BUILD / "gridsweep", *arguments], cwd=tmp_path, env=environment(tmp_path),
                              capture_output=True, timeout=60, check=False)

    if problem is not None:
        made = call("generate", "--problem", problem, "--out", words[-1], "--quiet")
        assert made.returncode == 0, made.stderr
    if words[0] != "generate":
        words += ["--backend", "cpu"]
    done = call(*words, "--quiet", "--json", "result.json")
    where = f"{words}: {done.returncode}: {done.stderr.decode(errors='replace')}"
    assert done.returncode in (0, 1, 2, 3, 4), where
    path = tmp_path / "result.json"
    assert path.exists() or (done.returncode > 1 and done.stderr), where
    if not path.exists():
        return
    output = json.loads(path.read_bytes().decode(), parse_constant=refuse_constant)
    problems = [error.message for error in validator(words[0]).iter_errors(output)]
    assert not problems, where + "\n" + "\n".join(problems)
    assert output["command"] == words[0]
    if problem is None:
        assert output["grid"] == grid, where
    if words[0] == "solve":
        assert (output["status"] == "GSW_SUCCESS") == (done.returncode == 0), where


def test_a_long_history_is_thinned(tmp_path):
    """Every second entry, and the last."""
    output = run(tmp_path, 1, "solve --problem poisson:80x80 --method richardson --precond jacobi "
                 "--max-iter 17001 --rtol 1e-12 --threads 1")
    steps = output["history"]["iteration"]
    assert steps == [*range(0, 17001, 2), 17001]


@pytest.mark.skipif(shutil.which("gnuplot") is None, reason="gnuplot is not installed")
def test_the_history_is_drawn(tmp_path):
    plot = [sys.executable, ROOT / "perf/plot", "--history"]
    for name, command in (("a", "solve --problem poisson:9x8x7 --method cg --precond ic0"),
                          ("b", "solve --problem poisson:9x8x7 --method cg --precond jacobi"),
                          ("c", "bench --size 8")):
        (tmp_path / f"{name}.json").write_text(json.dumps(run(tmp_path, 0, command)))
    (tmp_path / "d.json").write_text(json.dumps(run(
        tmp_path, 1, "solve --problem poisson:20x20x20 --max-iter 3")))
    subprocess.run([*plot, "a.json", "b.json", "a.json", "out"], cwd=tmp_path, check=True)
    drawn = (tmp_path / "out.svg").read_text()
    for words in ("cg with jacobi", "cg with ic0 (a.json)", "tolerance", "iterations", "time in ms",
                  "relative residual", "poisson:9x8x7, over time"):
        assert words in drawn
    assert "not converged" not in drawn
    assert (tmp_path / "out.png").read_bytes().startswith(b"\x89PNG")
    subprocess.run([*plot, "a.json", "d.json", "out"], cwd=tmp_path, check=True)
    drawn = (tmp_path / "out.svg").read_text()
    assert "not converged" in drawn and "poisson:20x20x20: " in drawn
    done = subprocess.run([*plot, "c.json", "out"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 1 and "no solves in these files" in done.stderr


def test_files_of_results_are_current_or_old():
    """Those that name a schema fit it; those made before it have none."""
    files = sorted((ROOT / "perf/results").glob("*.json"))
    assert files
    for path in files:
        output = json.loads(path.read_text())
        if "schema" in output:
            validator(output["command"]).validate(output)
