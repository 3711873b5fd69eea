#!/bin/sh
# Sets up, builds and solves one system; usage() below is what --help prints.
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
build=$root/build/default

usage() {
    cat <<'END'
usage: sh src/quickstart.sh [FILE.mtx]

Installs what is missing to build (Debian, Ubuntu), builds in build/default and solves one system.
FILE.mtx is a matrix in Matrix Market format whose rows are the points of a regular grid. Without
FILE.mtx the system is a pressure equation on a 60 x 220 x 85 reservoir grid.

If a GPU answers, the script also builds the GPU part, which takes some minutes. GSW_CUDA=OFF in the
environment leaves that part out, GSW_CUDA=ON builds it in any case.
END
}

case ${1:-} in
-h | --help)
    usage
    exit 0
    ;;
-*)
    usage >&2
    exit 2
    ;;
esac
if [ $# -gt 1 ]; then
    usage >&2
    exit 2
elif [ $# -eq 1 ]; then
    [ -r "$1" ] || { echo "quickstart: cannot read $1" >&2; exit 2; }
    set -- "$1"
    remark=
else
    set -- --problem lognormal:60x220x85
    remark="A hard one: coefficients jump by orders of magnitude from cell to cell. The line 'choice' says
which preconditioner and which method gridsweep takes for it, and why."
fi

sh "$root/tests/setup.sh" build
log=$(mktemp)
trap 'rm -f "$log"' EXIT

# quietly COMMAND...: runs in the root of the project, and shows the output only after a failure.
quietly() {
    (cd "$root" && "$@") >"$log" 2>&1 || {
        cat "$log" >&2
        exit 1
    }
}

# Without a GPU its part is not needed yet.
if nvidia-smi --query-gpu=name --format=csv,noheader >/dev/null 2>&1; then
    cuda=AUTO
else
    cuda=OFF
fi
quietly cmake --preset default -DGSW_CUDA="${GSW_CUDA:-$cuda}"
if grep -q '^--   CUDA .* yes' "$log"; then
    echo "quickstart: building in build/default with CUDA, which was found; this takes some minutes"
    echo "quickstart: (GSW_CUDA=OFF sh src/quickstart.sh leaves the GPU part out)"
else
    echo "quickstart: building in build/default, without CUDA"
fi
if [ -t 1 ]; then
    (cd "$root" && cmake --build --preset default)
else
    quietly cmake --build --preset default
fi

echo "quickstart: gridsweep solve $*"
[ -z "$remark" ] || echo "$remark"
code=0
"$build/gridsweep" solve "$@" || code=$?
cat <<END
quickstart: the program is $build/gridsweep
quickstart: to install it: cmake --install $build --prefix \$HOME/.local   (or another folder)
END
exit $code
