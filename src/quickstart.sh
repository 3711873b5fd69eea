#!/bin/sh
# Sets up, builds and solves one system: sh src/quickstart.sh [FILE.mtx]
#
# FILE.mtx is a matrix in Matrix Market format whose rows are the points of a regular grid. Without
# it a pressure equation on a 60 x 220 x 85 reservoir grid is generated and solved.
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
sample=$root/../shared/data/orsreg_1.mtx

if [ $# -gt 1 ]; then
    echo "usage: sh src/quickstart.sh [FILE.mtx]" >&2
    exit 2
elif [ $# -eq 1 ]; then
    [ -r "$1" ] || { echo "quickstart: cannot read $1" >&2; exit 2; }
    set -- "$1" --method bicgstab --precond ilu0
elif [ -r "$sample" ]; then
    set -- "$sample" --method bicgstab --precond ilu0
else
    set -- --problem lognormal:60x220x85 --method cg --precond ic0
fi

sh "$root/tests/setup.sh" build
log=$(mktemp)
trap 'rm -f "$log"' EXIT
echo "quickstart: building in build/default"
(cd "$root" && cmake --workflow --preset default) >"$log" 2>&1 || {
    cat "$log" >&2
    exit 1
}
echo "quickstart: gridsweep solve $*"
"$root/build/default/gridsweep" solve "$@"
