#!/bin/sh
# test_examples_petsc.sh: src/examples/petsc_poisson.c, as described in its first comment, on 1 and 2
# processes: as many iterations with gridsweep as with PETSc's own factors, on a cube and on boxes of
# unequal size; fewer with multigrid.
#
# Usage: test_examples_petsc.sh PROGRAM PLUGIN
set -eu

program=$1
plugin=$2
work=$(mktemp -d "${TMPDIR:-/tmp}/gridsweep-test.XXXXXX")
trap 'rm -rf "$work"' EXIT
export OMP_NUM_THREADS=1

mpiexec=${MPIEXEC:-mpiexec}
many=
if "$mpiexec" --version 2>&1 | grep -q -e 'Open MPI' -e OpenRTE; then
    many='--oversubscribe --allow-run-as-root'
fi

# iterations RANKS ARGUMENTS...: of a run that converges; what it printed stays in $work/out.
iterations() {
    ranks=$1
    shift
    # The options are meant to be split into words.
    # shellcheck disable=SC2086
    "$mpiexec" $many -n "$ranks" "$program" "$@" -ksp_type cg >"$work/out" 2>"$work/err" </dev/null ||
        { cat "$work/out" "$work/err" >&2; return 1; }
    sed -n 's/^\([0-9]* iterations\), .* CONVERGED_.*/\1/p' "$work/out" | grep .
}

# compare RANKS PREFIX ARGUMENTS...: PETSc's factors and gridsweep's; PREFIX is that of the options.
compare() {
    ranks=$1
    prefix=$2
    shift 2
    petsc=$(iterations "$ranks" "$@")
    ours=$(iterations "$ranks" "$@" -ksp_view -dll_prepend "$plugin" \
        "-${prefix}pc_factor_mat_solver_type" gridsweep)
    echo "$ranks process(es), $*: $petsc with PETSc, $ours with gridsweep"
    [ "$petsc" = "$ours" ]
    grep -q 'package used to perform factorization: gridsweep' "$work/out"
}

for kind in icc ilu; do
    compare 1 '' -pc_type $kind
    compare 2 sub_ -pc_type bjacobi -sub_pc_type $kind
done
compare 2 sub_ -pc_type bjacobi -sub_pc_type icc -da_grid_x 20 -da_grid_y 15 -da_grid_z 33

few=$(iterations 1 -dll_prepend "$plugin" -pc_type gridsweep -pc_gridsweep_mg_cycle F -ksp_view)
echo "1 process, multigrid: $few"
[ "${few% iterations}" -le 8 ]
grep -q ' levels, F cycle, smoother gs' "$work/out"
