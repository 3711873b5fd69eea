#!/bin/sh
# test_wheel.sh: the Python package as users install it: a source distribution, a wheel built from it
# in a folder without the project, and `pip install ./src/python`. Each uses an environment of its
# own, with nothing else set. It checks the README's example, the hints for type checkers,
# auditwheel's tag, and the adaptors in the packages that they are for.
#
# Usage: test_wheel.sh [OPTION-OF-PIP...], such as --config-settings=cmake.define.GSW_CUDA=OFF.
# Needs Python with venv, a C compiler, and the packages that pip brings. Exit code: 77 if no package
# index answers.
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
python=${PYTHON:-python3}
work=$(mktemp -d "${TMPDIR:-/tmp}/gridsweep-test.XXXXXX")
trap 'rm -rf "$work"' EXIT
unset GRIDSWEEP_LIBRARY PYTHONPATH
cd "$work"

"$python" -m venv tools
tools/bin/pip download -q --no-deps -d index scikit-build-core >log 2>&1 || {
    echo "test_wheel.sh: no package index answers: nothing is tested"
    exit 77
}
tools/bin/pip install -q build auditwheel mypy numpy typing_extensions
awk '/^```python/ { inside = 1; next } /^```/ && inside { exit } inside' "$root/src/python/README.md" \
    >example.py
grep -q 'gridsweep.multigrid' example.py

# try_in ENVIRONMENT: the example, and that the library is the environment's own.
try_in() {
    "$1/bin/python" example.py >"$1.out"
    grep -qx '40x30x20 D3N7' "$1.out"
    "$1/bin/python" -c 'import gridsweep._library as l; print(l.path)' >"$1.path"
    grep -qF "$work/$1/" "$1.path"
}

# The source distribution, and a wheel from it, without the project in reach.
tools/bin/python -m build -q --sdist --outdir dist "$root/src/python" >log 2>&1 || {
    cat log
    exit 1
}
mkdir away
cp dist/gridsweep-*.tar.gz away
"$python" -m venv from_sdist
(cd away && ../tools/bin/pip wheel -q --no-deps -w . "$@" ./gridsweep-*.tar.gz)
from_sdist/bin/pip install -q "$(ls away/*.whl)[scipy]"
try_in from_sdist

tools/bin/auditwheel show away/*.whl >audit 2>&1
echo "auditwheel: $(grep -oE '(many)?linux_[0-9a-z_]+' audit | sort -u | tr '\n' ' ')"
grep -q 'manylinux_' audit

# As README has it.
"$python" -m venv from_folder
from_folder/bin/pip install -q "$@" "$root/src/python[scipy]"
try_in from_folder

tools/bin/pip install -q --no-deps away/*.whl
tools/bin/python -m mypy --ignore-missing-imports --warn-unused-ignores "$root/tests/hints.py"

# landlab needs requireit, whose version 0.9.0 promises Python 3.11 but uses the syntax of 3.12.
from_folder/bin/pip install -q pytest fipy py-pde scikit-image pyamg landlab 'requireit!=0.9.0' simpeg phiflow openpnm
# tests/packages.sh runs what takes minutes to install.
from_folder/bin/python -m pytest -q -s -p no:cacheprovider -k 'not petsc4py' "$root/tests/test_adaptors.py" \
    >adaptors 2>&1 || {
    cat adaptors
    exit 1
}
grep ' iterations ' adaptors
! grep -q skipped adaptors
(cd away && wc -c ./*.whl)
