#!/usr/bin/env python3
"""structure.py: whether the sources depend on each other as they may.

    python3 tests/structure.py [ROOT]       checks the project; exit code 1 if anything is found
    python3 tests/structure.py --self-test  proves on made-up trees that each check can fail

It refuses:
  1. a cycle between folders: a folder depends on those whose files its files include;
  2. a cycle between modules: files of one folder and one stem (x.c, x.h, x.cu, x.cuh, x.inc) are a
     module, which depends on what it includes and on what defines the functions that it uses;
  3. a function of more than 120 lines, in C, CUDA, Python or shell;
  4. an include in a direction that RULES does not allow;
  5. a folder of src or kernels with more than 24 sources in C or CUDA.
"""
import ast
import collections
import os
import re
import sys
import tempfile

LONGEST = 120
FULL = 24
C_FAMILY = (".c", ".h", ".cu", ".cuh", ".inc")
# Where compilers look for headers; what is found nowhere there is found by the end of its path.
ROOTS = ("include", "src", "src/cli", "kernels", "baselines", "tests")
SKIPPED = re.compile(r"^(\.(?!ci$).*|build.*|__pycache__)$")  # and folders that CMake builds in

# (folder with those below it, what its files may include, what they must not include). None: any.
RULES = (
    ("include/gridsweep", ("include/gridsweep",), ()),
    ("kernels/common", ("include/gridsweep", "kernels/common"), ()),
    ("kernels/contract", ("include/gridsweep", "kernels/contract", "kernels/common"), ()),
    ("kernels", None, ("src", "baselines", "tests", "perf")),
    ("src/cli/bench", ("include/gridsweep", "src/cli", "baselines"), ()),
    ("src/cli", ("include/gridsweep", "src/cli"), ()),
    ("src/mpi", ("include/gridsweep", "src/mpi"), ()),
    ("src/petsc", ("include/gridsweep", "src/petsc"), ()),
)


def below(path, folder):
    return path == folder or path.startswith(folder + "/")


# ---- Sources --------------------------------------------------------------------------------------


def read_tree(root):
    """The text of every source, by its path below root."""
    sources = {}
    for folder, folders, names in os.walk(root):
        where = os.path.relpath(folder, root).replace(os.sep, "/")
        folders[:] = [f for f in folders if not SKIPPED.match(f)
                      and not os.path.exists(os.path.join(folder, f, "CMakeCache.txt"))]
        for name in names:
            path = name if where == "." else f"{where}/{name}"
            if name.endswith(C_FAMILY + (".py", ".sh")) or path == ".ci/run":
                with open(os.path.join(folder, name), encoding="utf-8") as file:
                    sources[path] = file.read()
    return sources


NOISE = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)
DIRECTIVE = re.compile(r"^[ \t]*#(?:[^\n\\]|\\.|\\\n)*", re.M)
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*["<]([^">]+)[">]', re.M)


def blank(match):
    """As many lines, without text."""
    return " " + "\n" * match.group().count("\n")


def without_comments(text):
    """For includes: literals stay, since file names are among them."""
    return NOISE.sub(lambda m: m.group() if m.group()[0] in "\"'" else blank(m), text)


def code_of(text):
    """C without comments, literals and directives, line by line as it was."""
    return DIRECTIVE.sub(blank, NOISE.sub(blank, text))


def find_include(sources, path, name):
    """The source that an include means, or None where it is not one of the project."""
    here = os.path.normpath(os.path.join(os.path.dirname(path), name)).replace(os.sep, "/")
    for candidate in [here] + [f"{root}/{name}" for root in ROOTS]:
        if candidate in sources:
            return candidate
    ends = [p for p in sources if p.endswith("/" + name)]
    return ends[0] if len(ends) == 1 else None


def includes_of(sources):
    """(including file, included file) for all of the project."""
    pairs = []
    for path, text in sorted(sources.items()):
        if path.endswith(C_FAMILY):
            for name in INCLUDE.findall(without_comments(text)):
                target = find_include(sources, path, name)
                if target is not None and target != path:
                    pairs.append((path, target))
    return pairs


# ---- Functions of C and CUDA ----------------------------------------------------------------------

TOKEN = re.compile(r"[A-Za-z_]\w*|\n|[^\sA-Za-z_]")
NOT_NAMES = {"if", "for", "while", "switch", "return", "sizeof", "decltype", "alignas", "defined",
             "__attribute__", "__launch_bounds__", "_Static_assert", "static_assert", "_Alignas"}


class Function:
    def __init__(self, name, private, first, last, uses):
        self.name, self.private = name, private  # static, a method, in a nameless namespace
        self.first, self.last, self.uses = first, last, uses


def without_macro(declaration):
    """A declaration without a call of a macro before it, which ends in no semicolon."""
    words = [word for word, _ in declaration]
    if len(words) < 2 or words[1] != "(" or words[0] in NOT_NAMES:
        return declaration
    depth = 0
    for i in range(1, len(words)):
        depth += {"(": 1, ")": -1}.get(words[i], 0)
        if depth == 0:
            rest = declaration[i + 1:]
            return rest if name_before_parenthesis([w for w, _ in rest]) else declaration
    return declaration


def name_before_parenthesis(words):
    """The function that a declaration declares: the first name with a parenthesis behind it."""
    for word, following in zip(words, words[1:]):
        if following == "(" and re.match(r"[A-Za-z_]", word) and word not in NOT_NAMES:
            return word
    return None


def skip_braces(tokens, start):
    """The index of the brace that closes the one at `start`."""
    depth = 0
    for i in range(start, len(tokens)):
        depth += {"{": 1, "}": -1}.get(tokens[i][0], 0)
        if depth == 0:
            return i
    return len(tokens) - 1


def uses_in(tokens):
    """(name, whether it is called) of all names that are not members."""
    found = set()
    words = [word for word, _ in tokens]
    for i, word in enumerate(words):
        member = i > 0 and words[i - 1] == "." or i > 1 and words[i - 2:i] == ["-", ">"]
        if re.match(r"[A-Za-z_]", word) and not member:
            found.add((word, words[i + 1:i + 2] in (["("], ["<"])))
    return found


def functions_of(text):
    """The functions that a source defines, and what is used outside of them, in initialisers."""
    line, tokens = 1, []
    for word in TOKEN.findall(code_of(text)):
        if word == "\n":
            line += 1
        else:
            tokens.append((word, line))
    functions, outside, declaration, scopes, i = [], set(), [], [], 0
    while i < len(tokens):
        word, at = tokens[i]
        if word == "{":
            declaration = without_macro(declaration)
            words = [w for w, _ in declaration]
            name = name_before_parenthesis(words)
            end = skip_braces(tokens, i)
            if name is not None and "=" not in words[:words.index(name)]:
                private = "static" in words or {"struct", "nameless"} & set(scopes)
                functions.append(Function(name, bool(private), declaration[0][1], tokens[end][1],
                                          uses_in(tokens[i:end])))
                i, declaration = end, []
            elif "=" in words or "enum" in words:
                outside |= uses_in(tokens[i:end])
                i = end
            else:  # what follows is declared in it
                scopes.append("struct" if {"struct", "class", "union"} & set(words) else
                              "nameless" if words == ["namespace"] else "other")
                declaration = []
        elif word in ";}":
            if word == "}" and scopes:
                scopes.pop()
            declaration = []
        elif word == ":" and [w for w, _ in declaration] in (["public"], ["private"]):
            declaration = []
        else:
            declaration.append((word, at))
        i += 1
    return functions, outside


# ---- Cycles ---------------------------------------------------------------------------------------


def find_cycles(edges):
    """One shortest cycle of each group of nodes that depend on each other."""
    following = {}
    for a, b in sorted(edges):
        following.setdefault(a, []).append(b)

    def way(start):
        """From start back to it, by the fewest edges."""
        before, queue = {}, [start]
        for node in queue:
            for other in following.get(node, []):
                if other == start:
                    path = [node]
                    while path[-1] != start:
                        path.append(before[path[-1]])
                    return path[::-1] + [start]
                if other not in before:
                    before[other] = node
                    queue.append(other)
        return None

    cycles, seen = [], set()
    for node in sorted(following):
        path = way(node) if node not in seen else None
        if path is not None:
            cycles.append(path)
            seen.update(path)
    return cycles


def tell_cycle(what, path, reasons):
    lines = [f"cycle between {what}: " + " -> ".join(path)]
    for a, b in zip(path, path[1:]):
        lines.append(f"    {reasons[a, b]}")
    return "\n".join(lines)


def check_folders(sources):
    reasons = {}
    for path, target in includes_of(sources):
        a, b = os.path.dirname(path), os.path.dirname(target)
        if a != b:
            reasons.setdefault((a, b), f"{path} includes {target}")
    return [tell_cycle("folders", path, reasons) for path in find_cycles(reasons)]


def modules_of(sources):
    """The module of each source. An x.inc that one module alone includes is a piece of that one."""
    modules = {path: os.path.splitext(path)[0] for path in sources}
    includers = {}
    for path, target in includes_of(sources):
        if target.endswith(".inc"):
            includers.setdefault(target, set()).add(modules[path])
    for path, names in sorted(includers.items()):
        if len(names) == 1:
            modules[path] = names.pop()
    return modules


def define(sources, modules):
    """Which modules define a function that others can use, and the functions of every source."""
    definers, parsed = {}, {}
    for path, text in sorted(sources.items()):
        if not path.endswith(C_FAMILY):
            continue
        parsed[path] = functions_of(text)
        for function in parsed[path][0]:
            if not function.private and function.name != "main" and not function.name.isupper():
                definers.setdefault(function.name, {})[modules[path]] = path
    return definers, parsed


def check_modules(sources):
    modules = modules_of(sources)
    definers, parsed = define(sources, modules)
    reasons, included = {}, set()
    for path, target in includes_of(sources):
        included.add((modules[path], modules[target]))
        if modules[path] != modules[target]:
            reasons.setdefault((modules[path], modules[target]), f"{path} includes {target}")
    own = {}
    for path, (functions, _) in parsed.items():
        own.setdefault(modules[path], set()).update(f.name for f in functions)
    for path, (functions, outside) in sorted(parsed.items()):
        module = modules[path]
        for name, called in sorted(set().union(outside, *(f.uses for f in functions))):
            places = definers.get(name, {})
            if name in own[module] or not places:
                continue
            # Of several definers the one that is included; CUDA's names are no prefixed ones, so
            # that only a call means the function.
            if len(places) > 1:
                places = {m: p for m, p in places.items() if (module, m) in included}
            for other, file in places.items() if len(places) == 1 else ():
                if called or file.endswith(".c"):
                    reasons.setdefault((module, other), f"{path} uses {name}() of {file}")
    return [tell_cycle("modules", path, reasons) for path in find_cycles(reasons)]


# ---- Lengths --------------------------------------------------------------------------------------

SHELL_FUNCTION = re.compile(r"^([ \t]*)(?:function[ \t]+)?([A-Za-z_]\w*)[ \t]*\([ \t]*\)[ \t]*\{")


def lengths_of(path, text):
    """(name, first line, last line) of the functions in a source."""
    if path.endswith(C_FAMILY):
        return [(f.name, f.first, f.last) for f in functions_of(text)[0]]
    if path.endswith(".py"):
        kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
        return [(node.name, min([node.lineno] + [d.lineno for d in node.decorator_list]),
                 node.end_lineno) for node in ast.walk(ast.parse(text, path))
                if isinstance(node, kinds)]
    found, lines = [], text.split("\n")
    for i, line in enumerate(lines):
        match = SHELL_FUNCTION.match(line)
        if match is None or line.rstrip().endswith("}"):
            continue
        end = next((j for j in range(i + 1, len(lines))
                    if re.match(match.group(1) + r"\}", lines[j])), len(lines) - 1)
        found.append((match.group(2), i + 1, end + 1))
    return found


def check_lengths(sources):
    return [f"{path}:{first}: {name} has {last - first + 1} lines, more than {LONGEST}"
            for path, text in sorted(sources.items())
            for name, first, last in lengths_of(path, text) if last - first + 1 > LONGEST]


# ---- Directions -----------------------------------------------------------------------------------


def check_directions(sources):
    problems = []
    for path, target in includes_of(sources):
        for folder, allowed, forbidden in RULES:
            if not below(path, folder):
                continue
            if (allowed is not None and not any(below(target, f) for f in allowed)) or any(
                    below(target, f) for f in forbidden):
                problems.append(f"{path} includes {target}, which {folder} must not")
            break  # the first rule is the one for the folder itself
    return problems


# ---- Rooms ----------------------------------------------------------------------------------------


def check_rooms(sources):
    rooms = collections.Counter(os.path.dirname(path) for path in sources
                                if path.startswith(("src/", "kernels/")) and path.endswith(C_FAMILY))
    return [f"{folder} has {count} sources, more than {FULL}"
            for folder, count in sorted(rooms.items()) if count > FULL]


CHECKS = (check_folders, check_modules, check_lengths, check_directions, check_rooms)


def check(root):
    sources = read_tree(root)
    return [problem for function in CHECKS for problem in function(sources)], len(sources)


# ---- Self-test ------------------------------------------------------------------------------------

CLEAN = {
    "include/gridsweep/a.h": "int gsw_a(void);\n",
    "kernels/contract/table.h": '#include <gridsweep/a.h>\n',
    "kernels/cpu/a.c": '#include "contract/table.h"\nint gsw_cpu_a(void) {\n    return 1;\n}\n',
    "src/core/a.c": '#include <gridsweep/a.h>\n#include "contract/table.h"\n'
                       'int gsw_cpu_a(void);\nint gsw_a(void) {\n    return gsw_cpu_a();\n}\n',
    "src/cli/main.c": '#include "common/o.h"\nint main(void) {\n    return cli_o();\n}\n',
    "src/cli/common/o.h": "int cli_o(void);\n",
    "src/cli/common/o.c": '#include "o.h"\n#include <gridsweep/a.h>\n'
                          'int cli_o(void) {\n    return gsw_a(); /* "{" */\n}\n',
    "baselines/rival.h": "int gsw_rival(void);\n",
    "src/cli/bench/b.c": '#include <rival.h>\n#include "common/o.h"\n',
}


def lines(count, body, head, tail):
    """A function of so many lines."""
    return head + body * (count - head.count("\n") - tail.count("\n")) + tail


# What is added to the clean tree, and what must then be said; nothing where it is allowed.
MADE_UP = (
    ("clean", {}, None),
    ("folders", {"src/cli/common/p.c": '#include "../bench/b.h"\n', "src/cli/bench/b.h": ""},
     "cycle between folders: src/cli/bench -> src/cli/common -> src/cli/bench"),
    ("folders of three", {"perf/x.c": '#include "../tests/y.h"\n', "tests/y.h": "",
                          "tests/y.c": '#include "../baselines/z.h"\n', "baselines/z.h": "",
                          "baselines/z.c": '#include "../perf/x.h"\n', "perf/x.h": ""},
     "cycle between folders: baselines -> perf -> tests -> baselines"),
    ("includes in comments", {"src/cli/common/p.c": '/*\n#include "../bench/b.h"\n*/\n',
                              "src/cli/bench/b.h": ""}, None),
    ("modules by includes", {"src/core/x.h": '#include "y.h"\n',
                             "src/core/y.c": '#include "x.h"\n', "src/core/y.h": ""},
     "cycle between modules: src/core/x -> src/core/y -> src/core/x"),
    ("modules by calls", {
        "src/core/all.h": "int gsw_x(int);\nint gsw_y(int);\n",
        "src/core/x.c": '#include "all.h"\nint gsw_x(int n) {\n    return gsw_y(n);\n}\n',
        "src/core/y.c": '#include "all.h"\nint gsw_y(int n) {\n    return n ? gsw_x(n) : 0;\n}\n'},
     "src/core/x.c uses gsw_y() of src/core/y.c"),
    ("modules by tables", {
        "src/core/all.h": "int gsw_x(int);\nextern int (*const gsw_table[])(int);\n"
                             "int gsw_y(int);\n",
        "src/core/x.c": '#include "all.h"\nint gsw_x(int n) {\n    return gsw_y(n);\n}\n',
        "src/core/y.c": '#include "all.h"\nint (*const gsw_table[])(int) = {gsw_x};\n'
                           "int gsw_y(int n) {\n    return gsw_table[0](n);\n}\n"},
     "cycle between modules: src/core/x -> src/core/y -> src/core/x"),
    ("modules by calls in CUDA", {
        "kernels/cuda/x.cuh": "template <class T>\n__device__ T twice(T a) {\n    return a + b(a);\n}\n",
        "kernels/cuda/y.cu": '#include "x.cuh"\n__device__ int b(int a) {\n    return twice(a);\n}\n'},
     "kernels/cuda/x.cuh uses b() of kernels/cuda/y.cu"),
    ("static functions", {
        "src/core/x.c": "static int help(void) {\n    return 1;\n}\n"
                           "int gsw_x(void) {\n    return help() + gsw_y();\n}\n",
        "src/core/y.c": "static int help(void) {\n    return 2;\n}\n"
                           "int gsw_y(void) {\n    return help();\n}\n"}, None),
    ("a piece of a module", {
        "kernels/cpu/x.c": "static int own(int a) {\n    return a;\n}\n#include \"x_rows.inc\"\n",
        "kernels/cpu/x_rows.inc": "int gsw_x(int a) {\n    return own(a);\n}\n"}, None),
    ("methods", {
        "kernels/cuda/x.cuh": "struct s {\n    __device__ int go() {\n        return 1;\n    }\n};\n"
                              "__device__ int b(int a) {\n    return a;\n}\n",
        "kernels/cuda/y.cuh": "__device__ int twice(int a) {\n    return go(a);\n}\n",
        "kernels/cuda/x.cu": '#include "x.cuh"\n#include "y.cuh"\n'}, None),
    ("a macro before a function", {
        "src/core/x.c": "EACH(F)\n" + lines(120, "    f();\n", "void gsw_x(void) {\n", "}\n")},
     None),
    ("members", {
        "src/core/x.c": "int gsw_x(struct t *t) {\n    return t->gsw_y() + gsw_z(t);\n}\n",
        "src/core/y.c": "int gsw_y(void) {\n    return 1;\n}\n"
                           "int gsw_z(struct t *t) {\n    return t->gsw_x + t[0].gsw_x;\n}\n"}, None),
    ("a long function", {"src/core/x.c": lines(121, "    f();\n", "void gsw_x(void)\n{\n", "}\n")},
     "src/core/x.c:1: gsw_x has 121 lines"),
    ("the longest function", {
        "src/core/x.c": lines(120, "    f();\n", "void gsw_x(void)\n{\n", "}\n")}, None),
    ("a long method", {"kernels/cuda/x.cuh": "struct s {\n" + lines(
        121, "    f();\n", "__device__ void go() {\n", "}\n") + "};\n"},
     "kernels/cuda/x.cuh:2: go has 121 lines"),
    ("a long function in Python", {"tests/x.py": lines(121, "    f()\n", "@d\ndef go():\n", "")},
     "tests/x.py:1: go has 121 lines"),
    ("a long function in shell", {".ci/run": "a=1\n" + lines(121, "    f\n", "go() {\n", "}\n")},
     ".ci/run:2: go has 121 lines"),
    ("the program and the library's own headers", {
        "src/cli/x.c": '#include "core/y.h"\n', "src/core/y.h": ""},
     "src/cli/x.c includes src/core/y.h, which src/cli must not"),
    ("the program and baselines", {"src/cli/x.c": "#include <rival.h>\n"},
     "src/cli/x.c includes baselines/rival.h, which src/cli must not"),
    ("the plug-in and the contract", {"src/petsc/x.c": '#include "contract/table.h"\n'},
     "src/petsc/x.c includes kernels/contract/table.h, which src/petsc must not"),
    ("kernels and the library", {"kernels/cpu/x.c": '#include "y.h"\n', "src/core/y.h": ""},
     "kernels/cpu/x.c includes src/core/y.h, which kernels must not"),
    ("the contract and kernels", {"kernels/contract/x.h": '#include "cpu/y.h"\n',
                                  "kernels/cpu/y.h": ""},
     "kernels/contract/x.h includes kernels/cpu/y.h, which kernels/contract must not"),
    ("public headers", {"include/gridsweep/x.h": '#include "contract/table.h"\n'},
     "include/gridsweep/x.h includes kernels/contract/table.h, which include/gridsweep must not"),
    ("a full folder", {f"kernels/cpu/x{i}.h": "" for i in range(24)},
     "kernels/cpu has 25 sources, more than 24"),
)


def self_test():
    failed = 0
    for name, added, wanted in MADE_UP:
        with tempfile.TemporaryDirectory() as root:
            for path, text in {**CLEAN, **added}.items():
                os.makedirs(os.path.dirname(os.path.join(root, path)), exist_ok=True)
                with open(os.path.join(root, path), "w", encoding="utf-8") as file:
                    file.write(text)
            found = check(root)[0]
        good = not found if wanted is None else any(wanted in problem for problem in found)
        if not good:
            failed += 1
            print(f"self-test '{name}': wanted {wanted or 'nothing'}, found:", *found, sep="\n    ")
    print(f"self-test: {len(MADE_UP) - failed} passed, {failed} failed")
    return failed == 0


def main(arguments):
    if arguments == ["--self-test"]:
        return 0 if self_test() else 1
    root = arguments[0] if arguments else os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                                       "..")
    problems, count = check(root)
    for problem in problems:
        print(problem)
    print(f"{count} files, {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
