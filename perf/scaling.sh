#!/usr/bin/env bash
# The scaling of global sweeps over the GPUs of this machine, beside the model's prediction.
#
#   perf/scaling.sh BUILD OUT [P...]
#
# BUILD: a build with CUDA, MPI and GSW_BUILD_PERF. OUT: a folder for the results. P: numbers of
# devices (default: 1, 2, 4, 8 as far as there are devices). For each P: sweeps and products of D3N7
# and D3N27, ILU(0), BiCGSTAB with ILU(0), and CG with multigrid, on grids of fixed size and with
# 384^3 points per device; at the end sweeps with other orders of pencils than the library's. About
# 50 s for each P.
#
# Leaves OUT/P-*.json (perf_slabs), OUT/orders.txt, and OUT/scaling.json, .png and .svg, in which
# measurements and predictions of sweeps and solves with ILU(0) stand together. Equal hashes mean the
# same bits as on one device.
#
# Exit code: 0; 1 where a run failed or bits differ; 2 bad usage; 77 there is no device.
set -euo pipefail

[ $# -ge 2 ] || {
    sed -n '2,/^$/s/^# \{0,1\}//p' "$0" >&2
    exit 2
}
here=$(dirname "${BASH_SOURCE[0]}")
program=$1/perf/perf_slabs
out=$2
shift 2
[ -x "$program" ] || {
    echo "scaling.sh: $program is not there: build with GSW_BUILD_PERF, CUDA and MPI" >&2
    exit 2
}
devices=$(nvidia-smi --list-gpus 2>/dev/null | wc -l) || devices=0
[ "$devices" -gt 0 ] || {
    echo "scaling.sh: no device answers"
    exit 77
}
if [ $# -eq 0 ]; then
    for count in 1 2 4 8; do
        [ "$count" -gt "$devices" ] || set -- "$@" "$count"
    done
fi
mkdir -p "$out"
launch=("${MPIEXEC:-mpirun}" --bind-to none)
[ "$(id -u)" -ne 0 ] || export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1

failed=0
# slabs P NAME OPTION...: one run of perf_slabs, within its time.
slabs() {
    local count=$1 name=$2
    shift 2
    timeout 100 "${launch[@]}" -n "$count" "$program" --repeats 7 --json "$out/$name.json" "$@" || {
        echo "scaling.sh: perf_slabs failed on $count devices" >&2
        failed=1
    }
}

most=1
for count in "$@"; do
    [ "$count" -le "$most" ] || most=$count
    slabs "$count" "$count-solves" convection:512x512x512 "convection:384x384x$((384 * count))"
    slabs "$count" "$count-sweeps" --method none poisson:768x768x768 poisson:1024x1024x512 \
        hpcg:512x512x512
    slabs "$count" "$count-multigrid" --kind mg --precision f32 --method cg \
        poisson:512x512x512 hpcg:384x384x384 "poisson:384x384x$((384 * count))"
done
if [ "$most" -gt 1 ]; then
    slabs "$most" orders --method none --weights 1,2,3,6,8 poisson:512x512x512 poisson:768x768x768 |
        tee "$out/orders.txt"
fi
"$here/scaling_model.py" --slabs "$out"/*-solves.json "$out"/*-sweeps.json --json "$out/scaling.json" ||
    failed=1
"$here/plot" --scaling "$out/scaling.json" "$out/scaling" || echo "scaling.sh: nothing is drawn" >&2
exit $failed
