"""The live line of `gridsweep solve` on a terminal.

    GRIDSWEEP_BUILD=build python3 -m pytest tests/test_terminal.py
"""

import fcntl
import os
import pty
import re
import struct
import subprocess
import termios
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
BUILD = Path(os.environ.get("GRIDSWEEP_BUILD", ROOT / "build")).resolve()
SOLVE = "solve --problem poisson:160x160 --method cg --precond none --backend cpu --threads 1".split()


def on_terminal(columns, *arguments, output=True, solve=SOLVE, codes=(0,)):
    """What a terminal of that width gets: both streams, or messages alone."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    with subprocess.Popen([BUILD / "gridsweep", *solve, *arguments], stdin=subprocess.DEVNULL, stderr=theirs,
                          stdout=theirs if output else subprocess.DEVNULL) as process:
        os.close(theirs)
        text = b""
        while True:
            try:
                part = os.read(ours, 65536)
            except OSError:  # Linux: the other end is closed
                part = b""
            if not part:
                break
            text += part
    os.close(ours)
    assert process.returncode in codes, text
    return text.decode()


@pytest.mark.parametrize("columns", (2, 20, 40, 60, 80, 200))
def test_the_line_fits(columns):
    text = on_terminal(columns)
    lines = [line for line in re.split(r"[\r\n]", text) if "e-" in line or "e+" in line]
    assert "\r" in text and "converged in" in text
    drawn = [line for line in lines if "rate" in line or re.match(r"\[[=> ]*\] ", line)]
    assert all(len(line) < columns for line in drawn), drawn
    if columns >= 80:
        assert any("iteration" in line and "residual" in line and "left" in line for line in drawn), text


def test_messages_alone_on_a_terminal():
    assert "\r" in on_terminal(80, output=False)


def test_no_number_is_long(tmp_path):
    matrix = tmp_path / "huge.mtx"
    matrix.write_text("%%MatrixMarket matrix coordinate real general\n9 9 9\n"
                      + "".join(f"{i} {i} 1e30\n" for i in range(1, 10)))
    text = on_terminal(80, "--max-iter", "3", codes=(1, 4),
                       solve=["solve", matrix, "--grid", "3x3", "--method", "richardson", "--precond", "none"])
    assert re.search(r"rate \d\.\de\+\d\d ", text), text
    assert not re.search(r"\d{12}", text), text


def test_quiet_draws_nothing():
    assert on_terminal(80, "--quiet") == ""
