#!/bin/sh
# packages.sh: the adaptors' tests in packages that take minutes to install, which CI leaves out: petsc4py is
# compiled for the PETSc that pkg-config finds, and loads the plug-in. Writes tests/packages-report.txt.
#
# Usage: packages.sh [OPTION-OF-CMAKE...], such as -DGSW_CUDA=OFF.
# Needs Python with venv, compilers, CMake, PETSc for developers (petsc-dev), and the packages that pip brings.
# Exit code: 77 if PETSc is missing or no package index answers.
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
python=${PYTHON:-python3}
work=$(mktemp -d "${TMPDIR:-/tmp}/gridsweep-test.XXXXXX")
trap 'rm -rf "$work"' EXIT

petsc=$(pkg-config --modversion petsc) || {
    echo "packages.sh: pkg-config finds no PETSc: nothing is tested"
    exit 77
}
"$python" -m venv "$work/python"
# petsc4py is built with what is installed: that of PETSc 3.18 needs tools of its time, and names none.
"$work/python/bin/pip" install -q pytest scipy 'numpy<2' 'cython<3' 'setuptools<70' wheel >"$work/log" 2>&1 || {
    echo "packages.sh: no package index answers: nothing is tested"
    exit 77
}
PETSC_DIR=$(pkg-config --variable=prefix petsc)
export PETSC_DIR
"$work/python/bin/pip" install -q --no-build-isolation "petsc4py==$petsc"

cmake -S "$root" -B "$work/build" -DCMAKE_BUILD_TYPE=Release -DGSW_PETSC=ON "$@" >"$work/log"
cmake --build "$work/build" --parallel 2 --target gridsweep_petsc >"$work/log"

export GRIDSWEEP_LIBRARY="$work/build/src/libgridsweep.so" PYTHONPATH="$root/src/python" OMP_NUM_THREADS=1
export GRIDSWEEP_PETSC_PLUGIN="$work/build/src/petsc/libgridsweep_petsc.so"
"$work/python/bin/python" -m pytest -q -s -p no:cacheprovider -k petsc4py "$root/tests/test_adaptors.py" \
    >"$work/log" 2>&1 || {
    cat "$work/log"
    exit 1
}
! grep -q skipped "$work/log"
{
    echo "The last run of tests/packages.sh, $(date -u +%Y-%m-%d)"
    "$work/python/bin/python" -VV
    "$work/python/bin/pip" list --format=freeze | grep -E '^(numpy|petsc4py|scipy)='
    sed -n 's/^\.*\([a-z0-9]*, .* iterations .*\)/\1/p' "$work/log"
    grep -E '^[0-9]+ passed' "$work/log"
} | tee "$root/tests/packages-report.txt"
