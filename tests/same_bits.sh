#!/usr/bin/env bash
# same_bits.sh: do two builds of the program gridsweep compute the same bits on a GPU?
#
# Usage: same_bits.sh PROGRAM PORTABLE. PROGRAM has the kernels for the device, PORTABLE those for
# the oldest ones (GSW_CUDA_AS=75), which get 64 KiB of shared memory per block. Sweeps, factors and
# whole solves run with both. The files that they write must be equal. The last line is
# "N the same, N different". Exit code: 0 all are the same; 1 one differs, or a run failed.
set -u

[ $# -eq 2 ] || {
    echo "same_bits.sh: needs two programs" >&2
    exit 2
}
work=$(mktemp -d "${TMPDIR:-/tmp}/gridsweep-test.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
native=$(realpath "$1") || exit 2
portable=$(realpath "$2") || exit 2
export native portable work

# The runs: a number, then the arguments.
runs() {
    local stencil grid part problem rest
    for stencil in D2N5 D2N9 D3N7 D3N13 D3N15 D3N15X D3N15Y D3N15Z D3N19 D3N27 D3N33 \
        '-1,-1,-1;0,0,-1;0,-1,0;-1,0,0;0,0,0;1,0,0'; do
        for grid in 130x67x41 33x1x50; do
            [[ $stencil != D2* ]] || grid=${grid%x*}
            for part in lower upper; do
                echo "sptrsv --algorithm pencil --stencil $stencil --part $part" \
                    "--problem random:1:$grid"
            done
        done
        echo "sptrsv --algorithm line --stencil $stencil --part lower --problem random:2:65x40"
    done
    for rest in ilu0 dilu 'ilu0 --factor-precision f32'; do
        for problem in convection:70x45x31 helmholtz19:50x40x30 star13:40x50x33 random:3:201x157; do
            echo "factor --problem $problem --precond $rest"
        done
    done
    for problem in poisson:97x61x45 anisotropic:64x64x64 lognormal:60x220x85 hpcg:64x64x64 \
        box33:33x29x31 poisson:301x257 lognormal:300x200 poisson:129x2x5 poisson:1x400x300; do
        for rest in ic0 mg 'mg --mg-precision f64 --mg-cycle F'; do
            echo "solve --method cg --problem $problem --precond $rest"
        done
    done
    for rest in gs symgs ilu0 ilu0-finest jacobi chebyshev multicolor; do
        echo "solve --method bicgstab --problem convection:65x64x63 --precond mg --mg-smoother $rest"
    done
    for rest in ilu0 'ilu0 --factor-precision f32' ssor; do
        echo "solve --method gmres --problem convection:65x64x63 --precond $rest"
    done
}

# compare NUMBER ARGUMENTS...: prints "same", or "different" and the arguments.
compare() {
    local folder=$work/$1 code=0
    shift
    mkdir -p "$folder/native" "$folder/portable"
    local files=(--out x)
    [ "$1" != factor ] || files=(--out-l l --out-u u)
    (cd "$folder/native" && timeout 60 "$native" "$@" --backend cuda \
        "${files[@]}") >"$folder/log" 2>&1 || code=$?
    (cd "$folder/portable" && timeout 60 "$portable" "$@" --backend cuda \
        "${files[@]}") >>"$folder/log" 2>&1 || code=$?
    if [ $code -eq 0 ] && diff -r "$folder/native" "$folder/portable" >/dev/null; then
        echo same
    else
        echo "different (exit code $code): $*"
        tail -n 2 "$folder/log"
    fi
    rm -r "$folder"
}
export -f compare

# shellcheck disable=SC2016 # the inner shell is to split its argument
runs | awk '{ print NR, $0 }' |
    xargs -P 8 -d '\n' -I LINE bash -c 'compare $1' compare LINE >"$work/results"
grep -v '^same$' "$work/results"
same=$(grep -c '^same$' "$work/results")
different=$(grep -c '^different' "$work/results")
echo "$same the same, $different different"
[ "$different" -eq 0 ] && [ "$same" -eq "$(runs | wc -l)" ]
