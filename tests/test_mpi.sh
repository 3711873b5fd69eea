#!/bin/sh
# test_mpi.sh: the program on several processes.
#
#   test_mpi.sh PROGRAM MPIEXEC FLAG        (FLAG: the option of MPIEXEC before the number, as -n)
set -eu

program=$1
mpiexec=$2
flag=$3
work=$(mktemp -d "${TMPDIR:-/tmp}/gridsweep-test.XXXXXX")
trap 'rm -rf "$work"' EXIT
cd "$work"

fail() {
    echo "test_mpi.sh: $*" >&2
    cat out err >&2
    exit 1
}
# on COUNT CODE ARGUMENT...: runs the program on so many processes and expects the exit code.
on() {
    count=$1
    wanted=$2
    shift 2
    code=0
    "$mpiexec" "$flag" "$count" "$program" "$@" >out 2>err || code=$?
    [ $code -eq "$wanted" ] || fail "$count processes, $*: exit code $code, not $wanted"
}
# once FILE PATTERN: the file has one line with that pattern.
once() {
    [ "$(grep -c -e "$2" "$1")" -eq 1 ] || fail "$1 must have one line with $2"
}
# same FILE FILE: two solutions agree to 1e-6 of the largest value.
same() {
    paste "$1" "$2" | awk '!/^%/ && NF == 2 {
            d = $1 - $2; d = d < 0 ? -d : d; a = $1 < 0 ? -$1 : $1
            if (d > most) most = d; if (a > size) size = a; n++ }
        END { exit !(n > 0 && most <= 1e-6 * size) }' || fail "$1 and $2 differ"
}

# The global scope takes the same iterations on any number of processes, with any boxes. (Sums are
# rounded differently, so thousands of iterations without a preconditioner differ by a few.)
for precond in ilu0 ic0 dilu ssor jacobi; do
    "$program" solve --problem lognormal:16x15x14 --method cg --precond $precond --out one.mtx >one
    iterations=$(grep '^iterations ' one)
    for count in 1 2 3 4; do
        on "$count" 0 solve --problem lognormal:16x15x14 --method cg --precond $precond --out many.mtx
        once out "^$iterations\$"
        once out '^converged in '
        same one.mtx many.mtx
    done
    on 4 0 solve --problem lognormal:16x15x14 --method cg --precond $precond --boxes 2x2x1
    once out "^$iterations\$"
done

# Where cg breaks down, bicgstab goes on in all processes.
awk 'BEGIN {
    print "%%MatrixMarket matrix coordinate real symmetric\n8 8 15"
    for (i = 1; i <= 8; i++) { print i, i, 1; if (i > 1) print i, i - 1, -0.9 } }' >indefinite.mtx
on 2 0 solve indefinite.mtx --precond none
once out '^fallback .*none with bicgstab: cg: '
once out '^converged in '

on 4 0 solve --problem convection:16x15x14 --boxes 1x2x2 --json a.json
once out '^choice .*ilu0 with bicgstab'
once out '^processes .* 4, boxes 1 x 2 x 2'
once out '^sweeps .*on slabs in z: the grid is laid out again'
tr -d ' \t\n' <a.json >b.json
grep -q '"processes":4,"boxes":\[1,2,2\],"scope":"global","devices":\["[^]]*","[^]]*","[^]]*","[^]]*"\]' \
    b.json || fail "the JSON does not describe the processes"
on 2 0 solve --problem poisson:16x15x14 --scope local --boxes 2x1x1
once out '^choice .*ic0 with cg'
once out 'scope local'
! grep -q '^sweeps ' out || fail "local sweeps lay the grid out again"
on 4 2 solve --problem poisson:16x15x3 --precond ilu0
once err 'exact sweeps need slabs in z, but 4 processes share 3 points there'

# An overlap takes fewer iterations than none.
on 3 0 solve --problem convection:16x15x14 --precond ilu0 --scope local
none=$(awk '$1 == "iterations" { print $2 }' out)
on 3 0 solve --problem convection:16x15x14 --precond ilu0 --scope local --overlap 2 --out many.mtx
[ "$(awk '$1 == "iterations" { print $2 }' out)" -lt "$none" ] || fail "the overlap gains nothing"
"$program" solve --problem convection:16x15x14 --out one.mtx >out 2>err
same one.mtx many.mtx
on 2 0 solve --problem poisson:16x15x14 --scope local --overlap 1
once out '^choice .* with bicgstab'

# Multigrid: the iterations of one process, and its choice; also with a mask, and periodic axes. Little
# holds the lakes of an ocean, so that their means differ.
for problem in lognormal:32x31x30 convection:26x27x28 ocean:0.35:32x31x30 channel:32x30x28; do
    "$program" solve --problem $problem --precond mg --mg-precision f64 --out one.mtx >one
    iterations=$(grep '^iterations ' one)
    for count in 2 3 4; do
        on "$count" 0 solve --problem $problem --precond mg --out many.mtx
        once out "^$iterations\$"
        once out '^multigrid .*, [1-9] of them shared'
        [ $problem = ocean:0.35:32x31x30 ] || same one.mtx many.mtx
    done
    on 4 0 solve --problem $problem --precond mg --boxes 1x2x2
    once out "^$iterations\$"
done
on 3 0 solve --problem lognormal:32x31x30 --scope local --json a.json
once out '^choice .*mg with cg'
tr -d ' \t\n' <a.json >b.json
grep -q '"distributed_multigrid":{"levels":[1-9],"distributed_levels":[1-9],"smoother":"gs",' b.json ||
    fail "the JSON does not describe the hierarchy"

on 3 0 solve --problem poisson:16x15x14 --method cg --precond none
once out 'preconditioner none'

# A file, and a right-hand side from a file.
"$program" generate --problem poisson:9x8x7 --out A.mtx >out 2>err
"$program" solve A.mtx --rhs random:1 --rtol 1e-10 --out one.mtx >out 2>err
on 3 0 solve A.mtx --rhs random:1 --rtol 1e-10 --out many.mtx
same one.mtx many.mtx
"$program" generate --problem obstacles:16x15 --out B.mtx --out-mask B.npy >out 2>err
"$program" solve B.mtx --mask B.npy --rtol 1e-10 --out one.mtx >out 2>err
on 3 0 solve B.mtx --mask B.npy --rtol 1e-10 --out many.mtx
same one.mtx many.mtx
on 2 0 solve A.mtx --quiet
[ ! -s out ] || fail "--quiet prints"

# Whole solves of `bench`: the iterations of `solve`, and what the processes did.
"$program" solve --problem lognormal:16x15x14 --method cg --precond ic0 >one
iterations=$(awk '$1 == "iterations" { print $2 }' one)
on 3 0 bench --whole-solve --problem lognormal:16x15x14 --method cg --precond ic0,none --repeats 2 \
    --boxes 1x1x3 --json a.json
once out '^processes .* 3, boxes 1 x 1 x 3'
once out 'scope global'
grep -qE "gridsweep +ic0 +stencil +f64 +$iterations " out || fail "bench needs other iterations"
tr -d ' \t\n' <a.json >b.json
for scope in '"global"' null; do
    grep -q "\"processes\":3,\"boxes\":\[1,1,3\],\"scope\":$scope" b.json ||
        fail "the JSON does not describe the processes"
done
on 2 0 bench --whole-solve --problem lognormal:32x31x30 --method cg --precond mg --repeats 1
grep -qE 'gridsweep +mg +stencil +f64 +[1-9][0-9]? ' out || fail "bench does not solve by multigrid"
on 4 0 bench --whole-solve --problem convection:16x15x14 --precond dilu,ssor,jacobi --repeats 1 \
    --boxes 1x2x2 --scope local --quiet --json a.json
[ ! -s out ] || fail "--quiet prints"
[ "$(grep -c '"scope":.*"local"' a.json)" -eq 3 ] || fail "the JSON does not have the scope"
on 2 1 bench --whole-solve --problem poisson:20x20x20 --max-iter 3 --repeats 1
once err 'not converged: '
on 2 3 bench --whole-solve --problem poisson:9x8x7 --json missing/a.json
once err 'cannot write missing/a.json'
for option in '--size 8' '--hpcg --size 16' '--part symgs'; do
    # shellcheck disable=SC2086 # words
    on 2 2 bench $option
    once err 'several processes run --whole-solve only'
done
on 2 2 bench --whole-solve --problem poisson:9x8x7 --compare petsc
once err '--compare runs on one process'
on 2 2 bench --whole-solve --problem poisson:9x8x7 --precision f32-factor
once err '--precision f32-factor is for a single process'
on 3 2 bench --whole-solve --problem poisson:9x8x7 --boxes 2x2x1
once err '--boxes 2x2x1 makes 4 boxes'
on 2 5 bench --whole-solve --problem poisson:9x8x7 --backend cuda
once err 'gridsweep bench: '

# Failures end all processes, with one message.
on 2 1 solve --problem poisson:20x20x20 --max-iter 3
once err 'not converged: '
on 3 2 solve --problem poisson:9x8x7 --precond mg --mg-smoother multicolor
once err '--mg-smoother multicolor is for a single process'
on 2 2 solve --problem poisson:9x8x7 --overlap 1
once err '--overlap is for --scope local'
on 2 2 solve --problem poisson:9x8x7 --precond mg --scope local --overlap 1
once err '--overlap is not for --precond mg'
on 2 2 solve --problem poisson:9x8x7 --mg-info
once err '--mg-info is for a single process'
on 3 2 solve --problem poisson:9x8x7 --boxes 2x2x1
once err '--boxes 2x2x1 makes 4 boxes, but the number of processes is 3'
on 3 2 solve --problem poisson:9x8x7 --boxes 1000000000x1000000000x1000000000
once err 'makes 1e+27 boxes, but the number of processes is 3'
on 2 2 solve --problem poisson:9x8x7 --boxes 2x1
once err '--boxes takes PXxPYxPZ'
on 2 2 sptrsv --problem poisson:9x8x7 --part lower
once err 'the command does not run on several processes'
on 2 2 tune
once err 'the command does not run on several processes'
on 2 3 solve missing.mtx
once err 'cannot read missing.mtx'
on 2 5 solve --problem poisson:9x8x7 --backend cuda
once err 'gridsweep solve: '
on 2 2 nothing
once err "unknown command 'nothing'"
on 2 0 --version
once out '^gridsweep '
on 2 0 solve --help
once out '^Usage: '
on 2 0 info
once out '^version '
