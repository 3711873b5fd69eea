"""What README.md and the pages in src/docs say: commands and Python are run as they stand there,
the messages are those of the sources, and so are the counts of iterations. Blocks of C are compiled
by CMakeLists.txt.

    export GRIDSWEEP_LIBRARY=build/src/libgridsweep.so PYTHONPATH=src/python GRIDSWEEP_BUILD=build
    python3 -m pytest tests/test_docs.py
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "src/docs"))
import messages  # noqa: E402

BUILD = Path(os.environ.get("GRIDSWEEP_BUILD", ROOT / "build")).resolve()
PLUGIN = os.environ.get("GRIDSWEEP_PETSC")
MPIEXEC = os.environ.get("GRIDSWEEP_MPI")
DOCS = sorted((ROOT / "src/docs").glob("*.md"))
PAGES = [ROOT / "README.md", ROOT / "src/python/README.md", *DOCS]


def python_blocks(pages):
    """The same for Python. A block without imports goes on from those before it on its page."""
    for page in pages:
        before = ""
        for block in blocks("python", [page]):
            text = block.values[0]
            before = text if re.search(r"^(import|from) ", text, re.M) else before + text
            yield pytest.param(before, id=block.id)


def blocks(language, pages):
    """(page, number, text) of all blocks of a language."""
    for page in pages:
        for number, text in enumerate(re.findall(rf"^```{language}\n(.*?)^```", page.read_text(),
                                                 re.M | re.S), start=1):
            yield pytest.param(text, id=f"{page.relative_to(ROOT)}:{number}")


# ---- Commands and Python ----

# What sets up and builds has been done before this runs, or installs packages; the stages of .ci/run
# do it from scratch. Its results lie where the commands put them.
DONE = ("cmake -B build", "sh src/quickstart.sh", "sh tests/run.sh", "pip install './src/python")
# These would take minutes; they run with a smaller grid.
SMALLER = [("--size 64,128,256", "--size 16,24"), ("--size 64,128", "--size 16,24"),
           ("lognormal:60x220x85", "lognormal:30x20x10"),
           ("detect --grid 60x220x85 matrix.mtx", "detect --grid 12x11x10 matrix.mtx")]


@pytest.fixture
def tree(tmp_path):
    """A folder like the root of a checkout in which everything is built."""
    for name in ("src", "tests", "include", "perf"):
        (tmp_path / name).symlink_to(ROOT / name)
    (tmp_path / "build/src").mkdir(parents=True)
    (tmp_path / "build/src/libgridsweep.so").symlink_to(BUILD / "src/libgridsweep.so")
    if PLUGIN:
        (tmp_path / "build/src/petsc").symlink_to(Path(PLUGIN).parent)
        shutil.copy(BUILD / "tests/example_petsc", tmp_path / "build/petsc_poisson")
    matrix = tmp_path / "matrix.mtx"
    subprocess.run([BUILD / "gridsweep", "generate", "--problem", "convection:12x11x10", "--out",
                    matrix], check=True)
    return tmp_path


def shell(tree, text):
    path = f"{BUILD}:{Path(sys.executable).parent}:{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "OMP_NUM_THREADS": "1",
                   "XDG_CACHE_HOME": str(tree / "cache")}
    return subprocess.run(["sh", "-euc", text], cwd=tree, env=environment, capture_output=True,
                          text=True, timeout=300, check=False)


def lines_of(text):
    """The commands of a block, each with its continuation lines; a loop is one command."""
    joined = re.sub(r"\\\n\s*", "", text)
    joined = re.sub(r"^for .*?^done$", lambda m: m.group(0).replace("; do\n", "; do ")
                    .replace("\n", "; "), joined, flags=re.M | re.S)
    return [line for line in joined.splitlines() if line.strip()]


@pytest.mark.parametrize("text", blocks("sh", PAGES))
def test_commands(tree, text):
    if "petsc" in text and not PLUGIN:
        pytest.skip("the plug-in for PETSc is not built")
    if re.search("^(mpirun|mpiexec) ", text, re.M) and not MPIEXEC:
        pytest.skip("the program is built without MPI")
    for tool, use in (("jq", r"^jq "), ("gnuplot", r"^perf/plot ")):
        if re.search(use, text, re.M) and shutil.which(tool) is None:
            pytest.skip(f"{tool} is not installed")
    ran = []
    for line in lines_of(text):
        command = line.split("  #")[0].strip()
        if command.startswith(DONE):
            script = re.search(r"sh (\S+)", command)
            assert script is None or (ROOT / script.group(1)).is_file()
            continue
        command = command.replace("cmake --install build ", f"cmake --install '{BUILD}' ")
        command = command.replace("$HOME", str(tree))
        for long, short in SMALLER:
            command = command.replace(long, short)
        ran.append(command)
    done = shell(tree, "\n".join(f"{command} || {{ code=$?; case $code in 5) echo no backend >&2;; "
                                 "*) exit $code;; esac; }" if "--backend cuda" in command else command
                                 for command in ran))
    # Where PETSc has no CUDA, or CUDA no device, its own error says so.
    if "aijcusparse" in text and done.returncode != 0:
        for reason in ("Unknown vector type: cuda", "Unknown Mat type given: aijcusparse",
                       "no CUDA-capable device", "CUDA driver version is insufficient"):
            if reason in done.stderr:
                pytest.skip(f"PETSc: {reason}")
    assert done.returncode == 0, done.stdout + done.stderr
    if "GRIDSWEEP_LIBRARY" in text:
        assert (tree / "build/src/libgridsweep.so").exists() and (tree / "src/python").is_dir()


@pytest.fixture
def library(tree):
    """The folder of the library in an installation."""
    prefix = tree / ".local"
    subprocess.run(["cmake", "--install", BUILD, "--prefix", prefix], check=True,
                   stdout=subprocess.DEVNULL)
    return next(prefix.glob("**/libgridsweep.so")).parent


@pytest.mark.parametrize("text", blocks("sh", [ROOT / "src/examples/README.md"]))
def test_commands_with_an_installed_library(tree, library, text):
    if "mpicc" in text and not (MPIEXEC and shutil.which("mpicc")):
        pytest.skip("there is no MPI")
    text = text.replace("$HOME/.local/lib", str(library))
    done = shell(tree, f"export PKG_CONFIG_PATH={library}/pkgconfig\n{text}")
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("text", blocks("cmake", [ROOT / "README.md"]))
def test_cmake_with_an_installed_library(tree, library, text):
    project = tree / "project"
    project.mkdir()
    shutil.copy(ROOT / "src/examples/csr.c", project / "main.c")
    (project / "CMakeLists.txt").write_text("cmake_minimum_required(VERSION 3.25)\n"
                                            f"project(example LANGUAGES C)\n{text}")
    prefix = tree / ".local"
    done = shell(tree, f"cmake -S project -B project/build -DCMAKE_PREFIX_PATH='{prefix}'\n"
                       "cmake --build project/build && project/build/program")
    assert library.is_dir() and done.returncode == 0, done.stdout + done.stderr


def test_quickstart_explains_itself(tree):
    for arguments, code in (("--help", 0), ("--frobnicate", 2), ("one.mtx two.mtx", 2)):
        done = shell(tree, f"sh src/quickstart.sh {arguments}")
        assert done.returncode == code
        assert "usage: sh src/quickstart.sh" in (done.stderr if code else done.stdout)
    done = shell(tree, "sh src/quickstart.sh absent.mtx")
    assert done.returncode == 2 and "cannot read absent.mtx" in done.stderr


@pytest.mark.parametrize("text", python_blocks(PAGES))
def test_python(tree, text):
    done = subprocess.run([sys.executable, "-W", "error::FutureWarning", "-c", text], cwd=tree,
                          capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    # What a comment behind print() promises.
    promised = [line.split("#")[1].strip() for line in text.splitlines()
                if "print(" in line and "#" in line]
    for words in promised:
        assert words in done.stdout


def test_every_block_is_tested():
    """Each block is of a language that is run here, or compiled by CMakeLists.txt."""
    for page in PAGES:
        text = page.read_text()
        fences = re.findall(r"^```(\w*)\n.*?^```$", text, re.M | re.S)
        assert text.count("```") == 2 * len(fences), f"{page}: a block without its end"
        assert set(fences) <= {"c", "cmake", "sh", "python"}, f"{page}: {fences}"
        for block in re.findall(r"^```c\n(.*?)^```", text, re.M | re.S):
            assert "`" not in block, f"{page}: CMakeLists.txt takes a block to end at the first `"
    names = {page.stem for page in DOCS}
    listed = re.search(r"foreach\(page IN ITEMS ([\w ]+)\)", (ROOT / "tests/CMakeLists.txt").read_text())
    assert set(listed.group(1).split()) == names


def stencils():
    """{name: points} of the list of named stencils."""
    rows = re.findall(r"ROW\((D[23]N\d+[XYZ]?),(.*?)\)\)", (ROOT / "kernels/common/stencils.h").read_text(),
                      re.S)
    return {name: 2 * (offsets.count("O(") + 1) + 1 for name, offsets in rows}


def test_named_stencils_are_those_of_the_list():
    """The table of concepts.md and the comment of grid.h name each of them, and no other."""
    assert all(name.rstrip("XYZ").endswith(f"N{points}") for name, points in stencils().items())
    table = re.findall(r"^\| (D[23]N\d+[XYZ]?) \| (\d+) \|", (ROOT / "src/docs/concepts.md").read_text(), re.M)
    assert {name: int(points) for name, points in table} == stencils()
    header = (ROOT / "include/gridsweep/grid.h").read_text()
    comment = re.search(r"/\* A stencil by its name, in any case:\n(.*?)\* Errors", header, re.S).group(1)
    told = re.findall(r"(?:^ \*   |  )(D[23]N\d+[XYZ]?) ", comment, re.M)
    assert told == list(stencils())


def test_links_lead_somewhere():
    more = ("from-cusparse.md", "packaging/README.md", "examples/README.md")
    for page in [*PAGES, ROOT / "SECURITY.md", ROOT / "tests/same_bits.md",
                 *(ROOT / "src" / name for name in more)]:
        for target in re.findall(r"\]\(([^)#\s]+)\)", page.read_text()):
            if "://" not in target:
                assert (page.parent / target).exists(), f"{page}: {target}"


def test_the_manual_is_whole():
    """Its sidebar leads to each page, the C reference to each header, Python's to each public name.
    That all links lead somewhere Sphinx finds out (target doc)."""
    def entries(page):
        text = (ROOT / "src/manual" / page).read_text()
        return set(re.findall(r"^[^\n<]+ </([^>]+)>$", "".join(re.findall(r"```{toctree}\n(.*?)```", text, re.S)),
                              re.M))
    pages = [*ROOT.glob("*.md"), *(ROOT / "src").rglob("*.md"), *(ROOT / "perf").glob("*.md"),
             *(ROOT / "baselines").glob("*.md"), *(ROOT / "tests").rglob("*.md")]
    pages = {str(page.relative_to(ROOT).with_suffix("")) for page in pages
             if page.parent != ROOT / "src/manual"}
    assert pages <= entries("index.md"), pages - entries("index.md")
    headers = {f"c/{path.stem}" for path in (ROOT / "include/gridsweep").glob("*.h")} - {"c/export"}
    assert headers == entries("c.md"), headers ^ entries("c.md")
    import gridsweep
    named = set(re.findall(r"auto\w+:: (\w+)$", (ROOT / "src/manual/python.md").read_text(), re.M))
    assert named - {"gridsweep"} == set(gridsweep.__all__) - {"__version__"}


# ---- Decisions ----


def anchor(heading):
    return re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")


def test_decisions_are_found_by_their_names():
    """Code cites a decision by a heading of perf/DECISIONS.md, whose list at the top is whole."""
    top, *groups = re.split(r"^## ", (ROOT / "perf/DECISIONS.md").read_text(), flags=re.M)
    found = {group.split("\n")[0]: re.findall(r"^### (.+)$", group, re.M) for group in groups}
    rows = [f"[{group}](DECISIONS.md#{anchor(group)}): {'; '.join(names)}."
            for group, names in found.items()]
    assert re.split(" - (?=\\[)", " ".join(top.split()))[1:] == rows
    names = sum(found.values(), [])
    anchors = [anchor(name) for name in [*found, *names]]
    assert len(set(anchors)) == len(anchors)
    cited = [f", {name}{end}" for name in names for end in ")];"]
    linked = ["](", ")", *(f"#{name})" for name in anchors)]
    paths = [path for folder in ("include", "src", "kernels", "baselines", "perf", "tests")
             for path in (ROOT / folder).rglob("*")
             if path.suffix[1:] in "c h cu cuh inc md py sh".split()]
    for path in {*paths, *ROOT.glob("*.md")} - {Path(__file__).resolve()}:
        text = re.sub(r"\s*\n[\s*#/]*", " ", path.read_text())
        allowed = tuple(cited + linked if path.suffix == ".md" else cited)
        for match in re.finditer(r"DECISIONS\.md", text):
            said = text[match.start():][:70]
            assert text.startswith(allowed, match.end()), f"{path}: {said}"


# ---- Promises ----


def test_promises_of_determinism_name_tests():
    """Each line of the tables of same_bits.md names tests, and they are there."""
    sources = {path.stem: path.read_text() for path in (ROOT / "tests").glob("test_*.c")}
    rows = [row.strip("|").split("|") for row in
            re.findall(r"^\|.*\|$", (ROOT / "tests/same_bits.md").read_text(), re.M)]
    rows = [cells for cells in rows if cells[-1].strip(" -") not in ("test", "")]
    assert len(rows) > 40
    for cells in rows:
        said = re.findall(r"`([^`]+)`", cells[-1])
        assert said, cells
        files = [words.split(":")[0] for words in said if words.startswith("test_")]
        names = [words.split(": ")[-1] for words in said if "/" not in words]
        assert set(files) <= set(sources), cells
        for name in set(names) - set(sources):
            assert any(f"\nTEST({name})" in sources[file] for file in files), f"{name}: {cells}"
        assert all((ROOT / words).is_file() for words in said if "/" in words), cells


def test_all_environment_variables_are_listed():
    """security.md lists those that the sources read, and no other."""
    read = re.compile(r'(?:getenv|number_in)\("(\w+)"\)|^VARIABLE = "(\w+)"|'
                      r'"((?:OMPI_COMM_WORLD|PMI|PMIX)_\w+)"', re.M)
    found, lookups = set(), 0
    for folder in ("src", "kernels"):
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix in (".c", ".h", ".cu", ".cuh", ".py") and path.relative_to(ROOT).parts[1] not in ("examples", "manual"):
                text = path.read_text()
                found |= {name for names in read.findall(text) for name in names if name}
                lookups += len(re.findall(r"\bgetenv\(|\benviron\b|os\.getenv", text))
    page = (ROOT / "src/docs/security.md").read_text()
    rows = re.findall(r"^\| (`[A-Z].*?) \|", page.split("## Environment variables")[1], re.M)
    assert {name for row in rows for name in re.findall(r"`(\w+)`", row)} == found
    # One in processes.c takes its name as an argument, as the pattern knows. tuning.c has two.
    assert lookups == len([name for name in found if name.startswith("GSW_")]) + 4


# ---- Figures ----


def table(page, head):
    """Rows of the table whose first cell of the head begins with `head`, as lists of cells."""
    text = (ROOT / "src/docs" / page).read_text()
    found = re.search(rf"^\| {re.escape(head)}.*\n\|[-| ]+\n((?:\|.*\n)+)", text, re.M)
    assert found, f"{page} holds no table {head}"
    return [[cell.strip() for cell in row.strip("|").split("|")]
            for row in found.group(1).splitlines()]


def iterations(tree, problem, kind):
    done = shell(tree, f"gridsweep solve --problem {problem} --method cg --precond {kind}")
    assert done.returncode == 0, done.stderr
    return int(re.search(r"converged in (\d+) iterations", done.stdout).group(1))


def test_iterations_are_those_of_the_page(tree):
    rows = {row[0].split("`")[1]: row[1:] for row in table("preconditioners.md", "problem")}
    for problem in ("poisson", "anisotropic"):
        for kind, promised in zip(("none", "jacobi", "ssor", "dilu", "ic0"), rows[problem]):
            assert abs(iterations(tree, f"{problem}:64x64x64", kind) - int(promised)) <= 1
    assert abs(iterations(tree, "lognormal:64x64x64", "ic0") - int(rows["lognormal"][4])) <= 5
    ic0 = next(row for row in table("preconditioners.md", "preconditioner") if row[0] == "IC(0)")
    for size, promised in zip((32, 64), ic0[1:]):
        assert abs(iterations(tree, f"poisson:{size}x{size}x{size}", "ic0") - int(promised)) <= 1


def test_iterations_on_several_processes_are_those_of_the_page(tree):
    if not MPIEXEC:
        pytest.skip("the program is built without MPI")
    rows = {row[0].strip("`"): row[2:] for row in table("processes.md", "problem")}
    alone, same, local = rows["poisson"][:3]
    assert alone == same
    for scope, promised in (("global", same), ("local", local)):
        done = shell(tree, f"'{MPIEXEC}' -n 2 gridsweep solve --problem poisson:64x64x64 --method cg "
                           f"--precond ic0 --scope {scope}")
        assert done.returncode == 0, done.stderr
        found = int(re.search(r"converged in (\d+) iterations", done.stdout).group(1))
        assert abs(found - int(promised)) <= 1


# ---- Messages ----


def test_every_message_has_a_remedy():
    """And no message is gone; messages.py looks through the sources."""
    assert len(messages.messages()) > 700
    wrong = messages.faults()
    assert not wrong, "\n".join(wrong)


def test_the_page_of_messages_is_that_of_the_sources():
    assert (ROOT / "src/docs/messages.md").read_text() == messages.page(), "run python3 src/docs/messages.py"


def test_remedies_are_short():
    words = [len(remedy.what.split()) for remedy in messages.remedies()]
    assert sum(words) <= 12 * len(words)


MESSAGES = """
/* GSW_REQUIRE(context, 0, "a comment"); */
gsw_status gsw_fail(gsw_context *context, gsw_status status, const char *format, ...);
return gsw_fail(context, GSW_ERROR_IO, "row %lld is \\"%s\\", " "not %5.1f%%", f(i, ","), name, part);
GSW_REQUIRE(context, a != ')', "a is NULL");
"""


def test_messages_are_found(tmp_path, monkeypatch):
    """And faults of the list: each that faults() knows."""
    found = [("GSW_ERROR_IO", 'row … is "…", not …%'), ("GSW_ERROR_INVALID_ARGUMENT", "a is NULL")]
    assert list(messages.in_c(MESSAGES)) == found
    assert list(messages.in_python('raise ValueError(f"{a}: is " "not")\nwarnings.warn("b" + c)')) == [
        "…: is not", "b…"]
    monkeypatch.setattr(messages, "messages",
                        lambda: [messages.Message("file", *said) for said in found])
    monkeypatch.setattr(messages, "DOCS", tmp_path)
    whole = "## GSW_ERROR_IO\nA.\n  row …\n## GSW_ERROR_INVALID_ARGUMENT\nB.\n  a is NULL\n"
    for text, fault in ((whole, None), (whole.replace("  row …", "  * CUDA device"), "no remedy"),
                        (whole + "  b is NULL\n", "no such message"),
                        (whole + "  … is NULL\n", "others say more"),
                        (whole + "  a is NULL\n", "listed twice"),
                        (whole + "  * nobody says this\n", "no message says"),
                        (whole + "C.\n", "without a message"),
                        (whole.replace("B", "a " * 21), "longer than")):
        (tmp_path / "remedies.txt").write_text(text)
        said = messages.faults()
        assert fault in said[0] if fault else not said
