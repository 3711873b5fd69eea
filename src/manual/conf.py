"""Settings of Sphinx for the manual. They lay the pages out in the build folder, as they lie in the
project, so that links between them hold: the Markdown pages, a page for each header, and one for each
source that a page links to.
"""

import os
import re
import shutil
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ["GRIDSWEEP_BUILD"])
PAGES = BUILD / "doc/pages"
TABLES = "<!-- tables of json_tables.py -->"
LINK = re.compile(r"\[([^\]\[]*)\]\(([^)#\s]+)\)")

# ---- Settings ----

project = "gridsweep"
copyright = "the gridsweep developers"
version = release = re.search(r"VERSION (\S+)", (ROOT / "CMakeLists.txt").read_text().split("project(")[1])[1]
extensions = ["myst_parser", "breathe", "sphinx.ext.autodoc", "sphinx_gallery.gen_gallery", "sphinx_copybutton"]
highlight_language = "none"
smartquotes = False

html_theme = "furo"
html_title = f"gridsweep {version}"
html_static_path = ["manual.css"]
html_css_files = ["manual.css"]
html_show_sphinx = False
html_copy_source = False

myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 4
breathe_projects = {"gridsweep": str(BUILD / "doc/xml")}
breathe_default_project = "gridsweep"
breathe_domain_by_extension = {"h": "c"}
autodoc_default_options = {"members": True}
autodoc_member_order = "bysource"
autodoc_typehints = "none"
sphinx_gallery_conf = {
    "examples_dirs": str(ROOT / "src/examples/gallery"),
    "gallery_dirs": "gallery",
    "within_subsection_order": "FileNameSortKey",
    "abort_on_example_error": True,
    "download_all_examples": False,
    "write_computation_times": False,
    "show_signature": False,
    "min_reported_time": 3600,
    "thumbnail_size": (480, 320),
}

# ---- Pages ----

written = set()


def write(path, text):
    """Where nothing changes, the time of the file stays, and Sphinx does not read it again."""
    written.add(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists() or path.read_text() != text:
        path.write_text(text)


def lay(page):
    """Copies a page and what it links to. A link to a header leads to its page, one to another source
    to a page that shows it; a folder is no link."""
    def linked(match):
        said, path = match.groups()
        target = ROOT / path[1:] if path.startswith("/") else page.parent / path
        if "://" in path or not target.exists() or target.suffix == ".md":
            return match[0]
        target = target.resolve().relative_to(ROOT)
        if target.parts[0] == "include":
            return f"[{said}](/c/{target.stem}.md)"
        if (ROOT / target).is_dir():
            return said
        if target.suffix in (".c", ".cu", ".h", ".py", ".f90"):
            language = {".py": "python", ".f90": "fortran"}.get(target.suffix, "c")
            write(PAGES / f"{target}.md", f"---\norphan: true\n---\n\n# {target.name}\n\n`{target}`\n\n"
                  f"````{language}\n{(ROOT / target).read_text()}````\n")
            return f"[{said}](/{target}.md)"
        (PAGES / target).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / target, PAGES / target)
        return f"[{said}](/{target})"
    text = LINK.sub(linked, page.read_text())
    tables = BUILD / "src/cli/json_tables.md"
    if TABLES in text and tables.exists():
        text = text.replace(TABLES, tables.read_text())
    own = page.parent == Path(__file__).parent
    write(PAGES / (page.name if own else page.relative_to(ROOT)), text)


for name in ("*.md", "src/**/*.md", "perf/*.md", "baselines/*.md", "tests/**/*.md"):
    for found in ROOT.glob(name):
        lay(found)
for header in (ROOT / "include/gridsweep").glob("*.h"):
    if header.stem != "export":
        write(PAGES / f"c/{header.stem}.md",
              f"# {header.name}\n\n```{{doxygenfile}} {header.name}\n```\n")

for old in set(PAGES.rglob("*.md")) - written:
    old.unlink()

# ---- Python's texts ----


def as_rst(text):
    """The words of a docstring for reStructuredText: names between ` as code, the rest as it is."""
    pieces = re.split(r"`([^`]+)`", text)
    pieces[::2] = [re.sub(r"([\\*|_])", r"\\\1", piece) for piece in pieces[::2]]
    pieces[1::2] = [f"``{piece}``" for piece in pieces[1::2]]
    return "".join(pieces)


def fields(kind):
    """The members of a NamedTuple, with their words, as lines of a docstring."""
    return ["", *(f"{name}  {getattr(kind, name).__doc__}" for name in kind._fields)]


def read_docstring(app, what, name, obj, options, lines):
    """Docstrings are plain text: paragraphs; code that is indented; and rows `name  what it is`, which
    become definitions."""
    if what == "class" and hasattr(obj, "_fields"):
        lines += fields(obj)
    result, in_rows, in_code = [], False, False
    for line in map(str.rstrip, lines):
        name, gap, said = re.match(r"(\S.*?|)(  +|$)(.*)", line).groups()
        in_rows = bool(line) and (in_rows or bool(name and said))
        in_code = in_code and not name
        if in_rows and name:
            result += ["", f"``{name}``"]
        if in_rows and said:
            result.append("    " + as_rst(said))
        elif name and not in_rows:
            result += [""] * bool(re.match("(Other e|E)rrors:", line)) + [as_rst(line)]
        elif not in_rows:
            result += ["::", ""] * (bool(line) and not in_code) + [line]
            in_code = in_code or bool(line)
    lines[:] = result


def setup(app):
    app.connect("autodoc-process-docstring", read_docstring)
    app.connect("autodoc-skip-member",
                lambda app, what, name, obj, skip, options: type(obj).__name__ == "_tuplegetter" or skip)
