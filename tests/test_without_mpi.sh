#!/bin/sh
# test_without_mpi.sh: a program that was built without MPI refuses several processes, because each
# would solve the whole system.
#
#   test_without_mpi.sh PROGRAM [MPIEXEC FLAG]     (FLAG: the option of MPIEXEC before the number)
#
# The variables are those that launchers set. With MPIEXEC a launcher sets them, too.
set -eu

program=$1
work=$(mktemp -d "${TMPDIR:-/tmp}/gridsweep-test.XXXXXX")
trap 'rm -rf "$work"' EXIT
cd "$work"
unset OMPI_COMM_WORLD_SIZE OMPI_COMM_WORLD_RANK PMI_SIZE PMI_RANK PMIX_RANK

# ends CODE LINES COMMAND...: it ends with the code, and its messages have so many lines on MPI.
ends() {
    wanted=$1
    lines=$2
    shift 2
    code=0
    "$@" >out 2>err </dev/null || code=$?
    said=$(grep -c 'was built without MPI; build it with -DGSW_MPI=ON$' err) || true
    if [ $code -ne "$wanted" ] || [ "$said" -ne "$lines" ]; then
        echo "test_without_mpi.sh: $*: exit code $code, not $wanted, or $said lines, not $lines" >&2
        cat out err >&2
        exit 1
    fi
    # A refusal computes nothing.
    [ "$wanted" -eq 0 ] || ! grep -q '^converged' out
}
solve="solve --problem poisson:9x8x7"

# Word splitting is meant. Of several processes one speaks.
# shellcheck disable=SC2086
{
    ends 0 0 "$program" $solve
    ends 0 0 env OMPI_COMM_WORLD_SIZE=1 OMPI_COMM_WORLD_RANK=0 PMIX_RANK=0 "$program" $solve
    ends 2 1 env OMPI_COMM_WORLD_SIZE=2 OMPI_COMM_WORLD_RANK=0 PMIX_RANK=0 "$program" $solve
    ends 2 0 env OMPI_COMM_WORLD_SIZE=2 OMPI_COMM_WORLD_RANK=1 PMIX_RANK=1 "$program" $solve
    ends 0 0 env PMI_SIZE=1 PMI_RANK=0 "$program" $solve
    ends 2 1 env PMI_SIZE=3 PMI_RANK=0 "$program" $solve
    ends 2 0 env PMI_SIZE=3 PMI_RANK=2 "$program" $solve
    # Without a number of processes the first one cannot know of others.
    ends 0 0 env PMIX_RANK=0 "$program" $solve
    ends 2 1 env PMIX_RANK=1 "$program" $solve
    ends 2 0 env PMIX_RANK=2 "$program" $solve
    if [ $# -gt 1 ]; then
        ends 2 1 "$2" "$3" 2 "$program" $solve
        ends 0 0 "$2" "$3" 1 "$program" $solve
    fi
}
