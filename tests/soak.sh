#!/bin/sh
# Repeats very many random solves and compares their bits: builds tests/soak.c and runs it. With a
# CUDA device it makes a million solves there, in a few minutes; otherwise 100000 on the CPU, with
# twice as many threads as cores.
#
#   tests/soak.sh [--build DIR] [--program FILE] [OPTION...]
#
#   --build DIR      where to build (build/soak)
#   --program FILE   runs this program, which is built already
#   OPTION           of the program, such as --minutes 60, --solves 5000000, --backend cpu, --seed 7;
#                    tests/soak.sh --help lists them
#
# Exit code: 0 all results are right, nothing hung, no memory was lost; 1 otherwise; 2 bad usage; 77
# --backend cuda, but no device answers.
set -eu
cd "$(dirname "$0")/.."

build=build/soak
program=
while [ $# -ge 2 ]; do
    case $1 in
    --build) build=$2 ;;
    --program) program=$2 ;;
    *) break ;;
    esac
    shift 2
done

if [ -z "$program" ]; then
    mkdir -p "$build"
    {
        cmake -S . -B "$build" -DCMAKE_BUILD_TYPE=Release -DGSW_BUILD_TESTS=ON -DGSW_BUILD_PROGRAM=OFF \
            -DGSW_PETSC=OFF -DGSW_MPI=OFF &&
            cmake --build "$build" --parallel --target soak
    } >"$build/build.log" 2>&1 || {
        tail -n 40 "$build/build.log" >&2
        exit 1
    }
    program=$build/tests/soak
fi
# Threads without a core must not spin, and all of them must keep working.
export OMP_WAIT_POLICY="${OMP_WAIT_POLICY:-passive}" GSW_KEEP_THREADS=1
exec "$program" "$@"
