#!/bin/sh
# test_petsc_gpu.sh: matrices and vectors that PETSc keeps on a GPU (-dm_mat_type aijcusparse). The
# program of test_petsc_plugin.sh gets as many iterations and as small an error there as on the host:
# ILU(0), IC(0), multigrid, new values, the transpose, either kind of stream, vectors on the host.
#
# On two processes with slabs in z, each with a GPU of its own where there are two, the solves take as
# many iterations as on one (MPIEXEC: the launcher and its option before the number; empty: these are
# left out).
#
# Usage: test_petsc_gpu.sh PROGRAM PLUGIN [EXTENT]. The grid is a cube of EXTENT (32). Counts its
# checks, prints those that fail, and exits nonzero if any did. Exits with 77 and one line where
# PETSc or gridsweep was built without CUDA, or no device answers.
set -u

program=$1
plugin=$2
extent=${3:-32}
. "$(dirname "$0")/reporting.sh"
export OMP_NUM_THREADS=1

launcher=
run() { # run ARGUMENTS...: the program, after the launcher's words
    # shellcheck disable=SC2086
    $launcher "$program" -da_grid_x "$extent" -da_grid_y "$extent" -da_grid_z "$extent" -ksp_rtol 1e-10 \
        -use_gpu_aware_mpi 0 -dll_prepend "$plugin" -ksp_view "$@" >out 2>err </dev/null
}

skip() {
    echo "skipped: $1"
    exit 77
}

on_gpu='-dm_mat_type aijcusparse -dm_vec_type cuda'

# The options are meant to be split into words, here and below.
# shellcheck disable=SC2086
if ! run $on_gpu -pc_type none; then
    grep -q -i 'unknown .*mat.* type' err && skip 'this PETSc was built without CUDA'
    grep -q -i -e 'cuda' -e 'gpu' err && skip 'PETSc finds no CUDA device'
fi
# shellcheck disable=SC2086
run $on_gpu -pc_type ilu -pc_factor_mat_solver_type gridsweep
grep -q 'backend cpu' out && skip 'gridsweep was built without CUDA, or PETSc is older than 3.20'

iterations() { # iterations FILE: those of each solve, and the reasons
    sed -n 's/^\(solve .*\) error .*/\1/p' "$1"
}

small_errors() { # the error of every solve is small
    sed -n 's/^solve .* error //p' out | awk '!($1 < 1e-6) { bad = 1 } END { exit bad || !NR }'
}

# same NAME ARGUMENTS...: as many iterations on the GPU, which is taken without being named.
same() {
    name=$1
    shift
    run "$@"
    report $? "$name, host"
    mv out host
    # shellcheck disable=SC2086
    run $on_gpu "$@"
    report $? "$name, GPU"
    says out 'backend cuda' 'type: seqaijcusparse' '^solve 1: .* CONVERGED_'
    small_errors
    report $? "$name: $(grep '^solve' out)"
    [ "$(iterations host)" = "$(iterations out)" ]
    report $? "$name: $(iterations host) on the host, $(iterations out) on the GPU"
    echo "$name: $(grep '^solve' out | paste -s -d ';')"
}

ilu='-pc_type ilu -pc_factor_mat_solver_type gridsweep'
icc='-pc_type icc -pc_factor_mat_solver_type gridsweep'
for stream in default nonblocking; do
    streams="-root_device_context_stream_type $stream"
    # Else PETSc multiplies on the default stream, because the matrix is older than the stream.
    [ $stream = default ] || streams="$streams -device_enable eager"
    # shellcheck disable=SC2086
    {
        same "cg, ilu, $stream stream" $streams -ksp_type cg $ilu
        same "gmres, ilu, $stream stream" $streams -ksp_type gmres -problem convection $ilu -second_solve
        same "cg, icc, $stream stream" $streams -ksp_type cg $icc -second_solve
        same "bicg, ilu, $stream stream" $streams -ksp_type bicg -problem convection $ilu -second_solve
        same "cg, multigrid, $stream stream" $streams -ksp_type cg -pc_type gridsweep -second_solve
        same "cg, auto, $stream stream" $streams -ksp_type cg -pc_type gridsweep \
            -pc_gridsweep_type auto -second_solve
        same "fgmres, multigrid, $stream stream" $streams -ksp_type fgmres -problem convection \
            -pc_type gridsweep -pc_gridsweep_mg_cycle F -second_solve
        same "bcgs, ilu in a block, $stream stream" $streams -ksp_type bcgs -pc_type bjacobi \
            -sub_pc_type ilu -sub_pc_factor_mat_solver_type gridsweep
    }
done

# The other way round: the backend that the user names wins.
# shellcheck disable=SC2086
run $on_gpu $ilu -mat_gridsweep_backend cpu
report $? 'a matrix on the GPU, solves on the CPU'
says out 'backend cpu'
small_errors
report $? "solves on the CPU: $(grep '^solve' out)"
# shellcheck disable=SC2086
run $ilu -mat_gridsweep_backend cuda
report $? 'a matrix on the host, solves on the GPU'
says out 'backend cuda'
small_errors
report $? "a matrix on the host: $(grep '^solve' out)"

# Two processes: the iterations of one, for new values, too.
both() { # both NAME ARGUMENTS...
    name=$1
    shift
    # shellcheck disable=SC2086
    run $on_gpu -pc_type gridsweep -second_solve "$@"
    report $? "$name, one GPU"
    mv out one
    launcher="$MPIEXEC 2"
    # shellcheck disable=SC2086
    run $on_gpu -da_processors_x 1 -da_processors_y 1 -pc_type gridsweep -second_solve "$@"
    report $? "$name, two processes"
    launcher=
    says out 'backend cuda' 'type: mpiaijcusparse'
    small_errors
    report $? "$name: $(grep '^solve' out)"
    [ "$(iterations one)" = "$(iterations out)" ]
    report $? "$name: $(iterations one) on one, $(iterations out) on two"
    echo "$name: $(grep '^solve' out | paste -s -d ';')"
}
if [ -n "${MPIEXEC:-}" ]; then
    both 'two processes, cg, ilu' -ksp_type cg -pc_gridsweep_type ilu
    both 'two processes, gmres, ilu' -ksp_type gmres -problem convection -pc_gridsweep_type ilu
    both 'two processes, cg, multigrid' -ksp_type cg
    both 'two processes, cg, auto' -ksp_type cg -pc_gridsweep_type auto
fi

# Nothing crosses the bus for a solve: PETSc counts what it copies.
# shellcheck disable=SC2086
run $on_gpu $ilu -log_view
report $? 'the log'
awk '$1 == "MatSolve" { found = 1; if ($(NF - 4) + $(NF - 2) > 0) bad = 1 } END { exit bad || !found }' out
report $? "MatSolve copies: $(grep '^MatSolve ' out)"

finish
