#!/usr/bin/env bash
# The scaling of global sweeps over the GPUs of this machine, beside the model's prediction.
#
#   perf/scaling.sh BUILD OUT [P...]
#
# BUILD: a build with CUDA, MPI and GSW_BUILD_PERF. OUT: a folder for the results. P: numbers of
# devices (default: 1, 2, 4, 8 as far as there are devices). For each P: sweeps, products and the
# set-up of D3N7 and D3N27, solves by BiCGSTAB with ILU(0), and by CG with multigrid of both scopes, on grids of
# fixed size and with 384^3 points per device. What does not fit into the memory of P devices is left
# out, with a line that says so. At the end come sweeps of the most devices with other orders of
# pencils than the library's, and with other slabs than equal ones. One to two minutes for each P.
#
# Leaves OUT/P-*.json (perf_slabs), OUT/neighbours.txt, and OUT/scaling.json, .txt, .png and .svg, in which
# measurements and predictions stand together. Equal hashes mean the same bits as on one device.
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

memory=$(nvidia-smi --query-gpu=memory.total --format=csv,noheader,nounits | sort -n | head -1)

failed=0
# slabs P NAME OPTION...: one run of perf_slabs, within its time.
slabs() {
    local count=$1 name=$2 begin=$SECONDS
    shift 2
    timeout 120 "${launch[@]}" -n "$count" "$program" --repeats 7 --json "$out/$name.json" "$@" || {
        echo "scaling.sh: perf_slabs failed on $count devices" >&2
        failed=1
    }
    echo "scaling.sh: $name took $((SECONDS - begin)) s" >&2
}

# fitting P BYTES NX NY NZ...: prints the grids of which P devices can hold BYTES per point, as
# NXxNYxNZ, and leaves out the others.
fitting() {
    local count=$1 bytes=$2
    shift 2
    while [ $# -gt 0 ]; do
        if [ $(($1 * $2 * $3 * bytes / count / 1048576)) -lt $((memory - 2048)) ]; then
            echo "$1x$2x$3"
        else
            echo "scaling.sh: $1x$2x$3 with $bytes bytes a point does not fit on $count" >&2
        fi
        shift 3
    done
}

# Bytes per point: matrix, factor and vectors. Rows that are dealt out hold a second factor.
sweep7=128
solve7=200
sweep27=460
solve27=520

most=1
for count in "$@"; do
    [ "$count" -le "$most" ] || most=$count
done
for count in "$@"; do
    weak=$((384 * count))
    longest=$((384 * most))
    # One device also has the longest grid of weak scaling, because its bits are those to compare with.
    [ "$count" -gt 1 ] || [ "$most" -eq 1 ] || longest="$longest 384 384 384"
    rm -f "$out/$count"-*.json
    # shellcheck disable=SC2046,SC2086 # lists of words
    {
        slabs "$count" "$count-d3n7" $(fitting "$count" $solve7 512 512 512 768 768 768 1024 1024 512 \
            384 384 $longest | sed 's/^/convection:/')
        slabs "$count" "$count-d3n7-sweeps" --method none $(fitting "$count" $sweep7 768 768 768 \
            1024 1024 512 384 384 $weak | sed 's/^/poisson:/')
        slabs "$count" "$count-d3n27" $(fitting "$count" $solve27 512 512 512 | sed 's/^/hpcg:/')
        slabs "$count" "$count-d3n27-sweeps" --method none $(fitting "$count" $sweep27 256 256 256 \
            384 384 384 768 768 768 1024 1024 512 | sed 's/^/hpcg:/')
        slabs "$count" "$count-multigrid" --kind mg --precision f32 --method cg --scope local \
            $(fitting "$count" $solve7 64 64 64 512 512 512 384 384 $weak | sed 's/^/poisson:/') \
            $(fitting "$count" $solve27 384 384 384 | sed 's/^/hpcg:/')
        slabs "$count" "$count-multigrid-global" --kind mg --precision f32 --method cg --scope global \
            $(fitting "$count" $solve7 64 64 64 512 512 512 | sed 's/^/poisson:/')
    }
done

# cuts P NZ SHIFT: where the slabs after the first one begin, if both end slabs are SHIFT planes thicker
# (of two slabs the first).
cuts() {
    local i place list=
    for ((i = 1; i < $1; i++)); do
        place=$((i * $2 / $1))
        [ "$i" -ne 1 ] || place=$((place + $3))
        [ "$i" -ne $(($1 - 1)) ] || [ "$i" -eq 1 ] || place=$((place - $3))
        list=$list${list:+,}$place
    done
    echo "$list"
}
if [ "$most" -gt 1 ]; then
    {
        failed=0
        for shift in -16 -8 8 16; do
            echo "cuts at $(cuts "$most" 512 $shift)"
            slabs "$most" "slabs$shift" --method none --cuts "$(cuts "$most" 512 $shift)" \
                poisson:512x512x512
        done
        exit $failed
    } | tee "$out/neighbours.txt" || failed=1
fi
results=()
for count in "$@"; do
    results+=("$out/$count"-*.json)
done
"$here/scaling_model.py" --slabs "${results[@]}" --json "$out/scaling.json" | tee "$out/scaling.txt" || failed=1
"$here/plot" --scaling "$out/scaling.json" "$out/scaling" || echo "scaling.sh: nothing is drawn" >&2
echo "scaling.sh: $SECONDS s in all" >&2
exit $failed
