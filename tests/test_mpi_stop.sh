#!/bin/sh
# test_mpi_stop.sh: a process that stops or dies in the middle of a solve on several processes.
#
#   test_mpi_stop.sh PROGRAM MPIEXEC FLAG        (FLAG: the option of MPIEXEC before the number)
set -eu

program=$1
mpiexec=$2
flag=$3
limit=2 # seconds, of --wait-limit
work=$(mktemp -d "${TMPDIR:-/tmp}/gridsweep-test.XXXXXX")
job=

# Only processes of this test are ended, by their numbers.
end_all() {
    for file in "$work"/pid.*; do
        [ -f "$file" ] || continue
        kill -KILL "$(cat "$file")" 2>/dev/null || :
    done
    rm -f "$work"/pid.*
}
trap 'end_all; rm -rf "$work"' EXIT
cd "$work"

fail() {
    echo "test_mpi_stop.sh: $*" >&2
    cat out err >&2
    exit 1
}

# Each process notes its number before it becomes the program.
cat >process <<'END'
#!/bin/sh
echo $$ >"pid.${OMPI_COMM_WORLD_RANK:-${PMI_RANK:-${PMIX_RANK:-0}}}"
exec "$@"
END

# begin OPTION...: starts a solve on three processes and returns while it iterates. It would take
# minutes.
begin() {
    rm -f pid.*
    : >out
    timeout 120 "$mpiexec" "$flag" 3 sh process "$program" solve --problem poisson:96x96x96 \
        --method richardson --precond jacobi --rtol 1e-12 "$@" >out 2>err &
    job=$!
    turns=0
    until grep -q '^ *iteration\|] iteration' out; do
        sleep 0.1
        turns=$((turns + 1))
        [ $turns -lt 600 ] || fail "the solve does not begin"
    done
    sleep 0.2
}
# finish: waits for the end; its exit code is in $code, its seconds in $spent.
finish() {
    start=$(date +%s)
    code=0
    wait "$job" || code=$?
    spent=$(($(date +%s) - start))
}
# gone: the launcher ends all processes, also the stopped one.
gone() {
    for file in pid.*; do
        turns=0
        while kill -0 "$(cat "$file")" 2>/dev/null && ! grep -q '^State:.*Z' \
            "/proc/$(cat "$file")/status" 2>/dev/null; do
            sleep 0.1
            turns=$((turns + 1))
            [ $turns -lt 200 ] || fail "process ${file#pid.} is still there"
        done
    done
    end_all
}
# right: the next run is not disturbed.
right() {
    timeout 120 "$mpiexec" "$flag" 3 "$program" solve --problem poisson:16x15x14 --method cg \
        --precond ic0 >out 2>err || fail "the next run ends with $?"
    grep -q '^converged in ' out || fail "the next run does not converge"
}

# A process that does not answer: the others end within the limit, and 5 seconds for their end. The
# message names it, also if it is the first one, which prints for all otherwise.
for victim in 1 0; do
    begin --wait-limit $limit --max-iter 1000000
    kill -STOP "$(cat pid.$victim)"
    finish
    [ $code -eq 5 ] || fail "process $victim stopped: exit code $code, not 5"
    [ $spent -le 20 ] || fail "process $victim stopped: the end took $spent s"
    grep -q "gridsweep.*: process [0-2]: .* answered for $limit s" err ||
        fail "process $victim stopped: there is no message"
    gone
    right
done

# One that goes on in time does no harm.
begin --wait-limit 60 --max-iter 100
kill -STOP "$(cat pid.1)" 2>/dev/null || :
sleep 1
kill -CONT "$(cat pid.1)" 2>/dev/null || :
finish
[ $code -eq 1 ] || fail "process 1 went on: exit code $code, not 1"
grep -q '^iterations *100' out || fail "process 1 went on: there are no 100 iterations"
gone

# One that dies: the launcher ends the others.
for victim in 2 0; do
    begin --wait-limit $limit --max-iter 1000000
    kill -KILL "$(cat pid.$victim)"
    finish
    [ $code -ne 0 ] && [ $code -ne 124 ] || fail "process $victim died: exit code $code"
    [ $spent -le 20 ] || fail "process $victim died: the end took $spent s"
    gone
    right
done
