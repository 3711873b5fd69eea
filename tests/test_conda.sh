#!/bin/sh
# test_conda.sh: builds and tests the recipe for conda with rattler-build, which pip brings into an
# environment of its own; run_conda.py does the rest. Exit code: 77 if no package index answers, or on
# another machine than x86-64.
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
python=${PYTHON:-python3}
[ "$(uname -m)" = x86_64 ] || exit 77
work=$(mktemp -d "${TMPDIR:-/tmp}/gridsweep-test.XXXXXX")
trap 'rm -rf "$work"' EXIT

"$python" -m venv "$work/tools"
"$work/tools/bin/pip" install -q py-rattler-build >"$work/log" 2>&1 || {
    echo "test_conda.sh: no package index answers: nothing is tested"
    exit 77
}
# rattler-build keeps packages that it has unpacked in a folder of the user.
HOME=$work XDG_CACHE_HOME=$work/cache RATTLER_CACHE_DIR=$work/cache "$work/tools/bin/python" \
    "$root/tests/run_conda.py"
