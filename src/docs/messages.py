"""The messages of the sources, and messages.md with what to do about each. Its words are in remedies.txt.

    python3 src/docs/messages.py        # writes messages.md, or says which messages lack a remedy
"""

import ast
import re
import sys
from pathlib import Path
from typing import NamedTuple

DOCS = Path(__file__).resolve().parent
SOURCES = DOCS.parent.parent


class Message(NamedTuple):
    path: str
    kind: str  # a status such as GSW_ERROR_IO, "GSW_" for any, or "program", "PETSc", "Python"
    words: str  # with … for what varies


# ---- Messages of the sources ----

CALL = re.compile(r"\b(gsw_fail|gsw_warn|gsw_context_fail|GSW_REQUIRE|fail_at|cli_error|cli_usage|cli_refuse|"
                  r"SETERRQ|PetscCheck)\s*\(")
LITERAL = re.compile(r'"((?:[^"\\]|\\.)*)"')


def arguments(text, begin):
    """The arguments of a call in C, split at its commas; `begin` is behind the parenthesis."""
    found, depth, start, i = [], 1, begin, begin
    while depth:
        if text[i] == '"':
            i = LITERAL.match(text, i).end() - 1
        elif text[i] == "'":
            i = text.index("'", i + (2 if text[i + 1] == "\\" else 1) + (text[i + 1] == "'"))
        elif text[i] in "([{":
            depth += 1
        elif text[i] in ")]}":
            depth -= 1
        if depth == 0 or (depth == 1 and text[i] == ","):
            found.append(text[start:i])
            start = i + 1
        i += 1
    return found


def kind_of(name, before):
    """The kind of a message: `name` is the function that takes it, `before` what comes first in the call."""
    if name.startswith("cli_"):
        return "program"
    if name in ("SETERRQ", "PetscCheck"):
        return "PETSc"
    if name == "GSW_REQUIRE":
        return "GSW_ERROR_INVALID_ARGUMENT"
    if name == "gsw_warn":
        return "GSW_SUCCESS"
    status = re.search(r"GSW_ERROR_\w+", before)
    return status.group(0) if status else "GSW_"


def in_c(text):
    """(kind, words) of all messages of a file in C or CUDA."""
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
    for call in CALL.finditer(text):
        given = arguments(text, call.end())
        # A message is the first argument that begins with a literal. A declaration has none.
        at = next((i for i, a in enumerate(given) if a.lstrip().startswith('"')), None)
        if at is None:
            continue
        said = re.sub(r"PetscInt_FMT|PRId64", '"d"', given[at])
        words = "".join(LITERAL.findall(said)).replace('\\"', '"')
        words = re.sub(r"%[-+0-9.#]*(?:ll|z|l|h)?[a-zA-Z]", "…", words.replace("%%", "%"))
        if call.group(1) == "cli_refuse":  # it says the name of the option first
            words = "--… " + words
        yield kind_of(call.group(1), " ".join(given[:at])), words


def words_of(node):
    """The words of an expression of Python that makes a string."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(map(words_of, node.values))
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return words_of(node.left) + words_of(node.right)
    return "…"


def in_python(text):
    """The words of all exceptions and warnings of a file in Python."""
    for node in ast.walk(ast.parse(text)):
        call = node.exc if isinstance(node, ast.Raise) else node
        if isinstance(call, ast.Call) and call.args and (
                isinstance(node, ast.Raise) or ast.unparse(call.func) == "warnings.warn"):
            yield words_of(call.args[0])


def messages():
    """All messages with at least one word. Others pass on the words of another message."""
    found = []
    for path in sorted([*(SOURCES / "src").rglob("*"), *(SOURCES / "kernels").rglob("*")]):
        name = str(path.relative_to(SOURCES))
        if "examples" in path.parts:
            continue
        if path.suffix in (".c", ".cu", ".cuh", ".h"):
            found += [Message(name, *said) for said in in_c(path.read_text())]
        elif path.suffix == ".py" and "python/gridsweep" in name:
            found += [Message(name, "Python", words) for words in in_python(path.read_text())]
    return [m for m in found if re.search("[a-z]", m.words)]


# ---- Remedies ----

class Remedy(NamedTuple):
    section: str
    what: str
    keys: list  # messages that it is for
    parts: list  # words inside other messages, such as a cause


def remedies():
    found, section = [], ""
    for line in (DOCS / "remedies.txt").read_text().splitlines():
        if line.startswith("## "):
            section = line[3:]
        elif line.startswith("  * "):
            found[-1].parts.append(line[4:])
        elif line.startswith("  "):
            found[-1].keys.append(line[2:])
        elif line and not line.startswith("#"):
            found.append(Remedy(section, line, [], []))
    return found


# They only pass on the words of another message.
GENERAL = {"…: line …: …", "warning: …"}


def kinds(section):
    return re.findall(r"GSW_\w+|program|PETSc|Python", section)


def belongs(message, section):
    """Whether a section is for messages of this kind. A status that varies may be any."""
    return message.kind in kinds(section) or (message.kind == "GSW_" and section.startswith("GSW_"))


def matches(key, words):
    return re.fullmatch(".*".join(map(re.escape, key.split("…"))), words, re.S) is not None


def strings():
    """All words in the strings of the sources, of which parts of messages must be."""
    texts = [path.read_text() for folder in ("src", "kernels") for path in (SOURCES / folder).rglob("*")
             if path.suffix in (".c", ".cu", ".cuh", ".h")]
    return "\n".join(re.sub(r'"\s*"', "", text) for text in texts)


def faults():
    """What is wrong with remedies.txt: messages without a remedy, remedies without a message, long ones."""
    listed = [(r.section, key) for r in remedies() for key in r.keys]
    found, used = [], set()
    for message in messages():
        # The key with most letters says most of the message.
        fitting = [(len(key.replace("…", "")), section, key) for section, key in listed
                   if belongs(message, section) and matches(key, message.words)]
        if fitting:
            used.add(max(fitting)[1:])
        elif message.words not in GENERAL:
            found.append(f"{message.path}: no remedy ({message.kind}): {message.words}")
    found += [f"remedies.txt: no such message in '{section}', or others say more of it: {key}"
              for section, key in listed if (section, key) not in used]
    found += [f"remedies.txt: listed twice in '{section}': {key}" for section, key in sorted(set(listed))
              if listed.count((section, key)) > 1]
    text = strings()
    for remedy in remedies():
        found += [f"remedies.txt: no message says: {part}" for part in remedy.parts
                  if not all(piece in text for piece in part.split("…"))]
        if not remedy.keys + remedy.parts or len(remedy.what.split()) > 20:
            found.append(f"remedies.txt: without a message, or longer than 20 words: {remedy.what}")
    return found


# ---- The page ----

HEAD = """# Messages

<!-- Made by messages.py of remedies.txt and the sources: change these. -->

**Search this page for three neighbouring words from the beginning of your message, without numbers and names.** `…`
stands for what varies. If a message ends with a cause, search for that, too.
[Troubleshooting](troubleshooting.md) explains what is met most.
"""


def code(words):
    """Doxygen takes a single ' for the end of such words."""
    return f"``{words}``" if "'" in words else f"`{words}`"


def page():
    text, section = HEAD, ""
    for remedy in remedies():
        if remedy.section != section:
            section = remedy.section
            text += f"\n## {section}\n\n| message | what to do |\n| --- | --- |\n"
        said = "<br>".join(map(code, remedy.keys + remedy.parts))
        text += f"| {said} | {remedy.what} |\n"
    return text


if __name__ == "__main__":
    wrong = faults()
    if wrong:
        sys.exit("\n".join(wrong))
    (DOCS / "messages.md").write_text(page())
