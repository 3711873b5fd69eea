#!/bin/sh
# test_petsc_plugin.sh: gridsweep inside an ordinary PETSc program, petsc_dmda, for which PETSc loads
# the plug-in: as many iterations as with PETSc's own factors, on 1 and 2 processes; new values;
# refusals; reports; no leaks.
#
# The preconditioner of gridsweep's own, -pc_type gridsweep: few iterations, new values, a null space,
# refusals, reports. (test_petsc_multigrid compares it with the library.)
#
# Usage: test_petsc_plugin.sh PROGRAM PLUGIN [EXTENT [REPEATS]]. The grid is a cube of EXTENT (32).
# Every comparison is printed with the time of one MatSolve, a mean over REPEATS (0) and the solve's
# own. Counts its checks, prints those that fail, and exits nonzero if any did.
set -u

program=$1
plugin=$2
extent=${3:-32}
repeats=${4:-0}
. "$(dirname "$0")/reporting.sh"
export OMP_NUM_THREADS=1

mpiexec=${MPIEXEC:-mpiexec}
many=
if "$mpiexec" --version 2>&1 | grep -q -e 'Open MPI' -e OpenRTE; then
    many='--oversubscribe --allow-run-as-root'
fi

# run RANKS ARGUMENTS...: the program on the grid; its output goes to out and err.
run() {
    ranks=$1
    shift
    set -- "$program" -da_grid_x "$extent" -da_grid_y "$extent" -da_grid_z "$extent" \
        -repeats "$repeats" -ksp_rtol 1e-10 "$@"
    if [ "$ranks" -gt 1 ]; then
        # The options are meant to be split into words.
        # shellcheck disable=SC2086
        set -- "$mpiexec" $many -n "$ranks" "$@"
    fi
    "$@" >out 2>err </dev/null
}

# The same with gridsweep; `sub` is the prefix of the preconditioner's options.
sub=
run_gridsweep() {
    ranks=$1
    shift
    run "$ranks" -dll_prepend "$plugin" "-${sub}pc_factor_mat_solver_type" gridsweep "$@"
}

solve_alone() { # solve_alone NAME ARGUMENTS...: gridsweep solves on 1 process
    name=$1
    shift
    run_gridsweep 1 "$@"
    report $? "$name: $*"
}

refused() { # refused PATTERN ARGUMENTS...: gridsweep ends in that error of PETSc
    pattern=$1
    shift
    petsc_error "$pattern" run_gridsweep 1 "$@"
}

solves() { # solves FILE: the iterations and the reason of each solve
    sed -n 's/^\(solve .*\) error .*/\1/p' "$1"
}

time_of() { # time_of FILE: of one MatSolve
    sed -n 's/^MatSolve: .* times, \(.*\) each/\1/p' "$1"
}

# equal RANKS PROBLEM METHOD PRECONDITIONER [ARGUMENT...]: as many iterations with both.
equal() {
    name="$2, $3, $4, $1 process(es)"
    ranks=$1
    problem="-problem $2 -ksp_type $3"
    if [ "$ranks" -eq 1 ]; then
        problem="$problem -pc_type $4"
        sub=
    else
        problem="$problem -pc_type bjacobi -sub_pc_type $4"
        sub=sub_
    fi
    shift 4
    # The options are meant to be split into words.
    # shellcheck disable=SC2086
    run "$ranks" $problem "$@"
    report $? "$name: PETSc"
    mv out petsc
    says petsc '^solve .* CONVERGED_'
    # shellcheck disable=SC2086
    run_gridsweep "$ranks" $problem -ksp_view "$@"
    report $? "$name: gridsweep"
    says out 'package used to perform factorization: gridsweep'
    [ "$(solves petsc)" = "$(solves out)" ]
    report $? "$name: $(solves petsc) with PETSc, $(solves out) with gridsweep"
    echo "$name: $(solves out | sed 's/^solve 1: //' | head -n 1);" \
        "MatSolve $(time_of petsc) with PETSc, $(time_of out) with gridsweep"
    sub=
}

# ---- As many iterations ---------------------------------------------------------------------------

for ranks in 1 2; do
    for method in gmres cg; do
        equal $ranks poisson $method ilu
        equal $ranks poisson $method icc
    done
    equal $ranks convection gmres ilu
    equal $ranks convection bcgs ilu
    # New values for the same pattern: the symbolic phase does not run again.
    equal $ranks poisson cg icc -second_solve
    equal $ranks convection gmres ilu -second_solve
    says out '^solve 2: .* CONVERGED_' '^MatLUFactorNum: 2 times' '^MatILUFactorSym: 1 times'
done

# Blocks of several sizes, more than one a process; a grid that is no cube; the transpose.
equal 2 convection gmres ilu -da_grid_x 33 -da_grid_y 21 -da_grid_z 10
equal 1 poisson gmres icc -da_grid_x 5 -da_grid_y 40 -da_grid_z 1
equal 1 convection bicg ilu -second_solve
equal 1 poisson bicg icc

# ---- Stored zeros are no couplings ----------------------------------------------------------------

for preconditioner in ilu icc; do
    solve_alone "without zeros" -pc_type $preconditioner -second_solve
    mv out without
    solve_alone "stored zeros" -pc_type $preconditioner -second_solve -zeros -ksp_view
    says out 'stencil D3N7'
    [ "$(solves without)" = "$(solves out)" ]
    report $? "stored zeros, $preconditioner: $(solves without), but here $(solves out)"
    solve_alone "zeros that become couplings" -pc_type $preconditioner -zeros -second_solve \
        -second_problem box -ksp_view
    says out 'stencil D3N7' 'stencil D3N27' '^solve 2: .* CONVERGED_RTOL'
done

# ---- Options and reports --------------------------------------------------------------------------

grid=${extent}x${extent}x${extent}
solve_alone "the report" -pc_type ilu -ksp_view
says out 'type: gridsweep' "gridsweep [0-9.]*: ilu0, grid $grid, stencil D3N7, factor f64" \
    'backend cpu, threads 1, '
solve_alone "all options" -pc_type icc -ksp_view -mat_gridsweep_grid "$grid" -options_left \
    -mat_gridsweep_backend cpu -mat_gridsweep_factor_type f32 -mat_gridsweep_threads 2
says out "ic0, grid $grid, stencil D3N7, factor f32" 'backend cpu, threads' \
    'There are no unused options' 'CONVERGED_RTOL'
# The same matrix as one plane: another grid, wider couplings, the same factors.
solve_alone "another grid" -pc_type ilu -ksp_view -mat_gridsweep_grid "$((extent * extent))x$extent"
says out "grid $((extent * extent))x${extent}x1, stencil custom"
solve_alone "the help" -pc_type ilu -help
says out 'mat_gridsweep_grid'
if run_gridsweep 1 -pc_type ilu -mat_gridsweep_backend cuda -ksp_view; then
    says out 'backend cuda' 'CONVERGED_RTOL'
    solve_alone "new values and the transpose with CUDA" -problem convection -pc_type ilu \
        -ksp_type bicg -mat_gridsweep_backend cuda -second_solve
    says out '^solve 2: .* CONVERGED_RTOL'
else
    says err 'PETSC ERROR: gridsweep, .*[a-z]'
fi

# ---- What is refused ------------------------------------------------------------------------------

refused 'gridsweep, finding the grid of the matrix: row ' -pc_type ilu -problem random
refused 'gridsweep, finding the grid of the matrix: row ' -pc_type icc -problem random
refused 'extents: 7 x 7 x 7 is not a grid' -pc_type ilu -mat_gridsweep_grid 7x7x7
refused '-mat_gridsweep_grid 7xx is not of the form' -pc_type ilu -mat_gridsweep_grid 7xx
refused 'Unknown option gpu for -mat_gridsweep_backend' -pc_type ilu -mat_gridsweep_backend gpu
refused '-mat_gridsweep_threads -1 is negative' -pc_type ilu -mat_gridsweep_threads -1
refused 'natural order only' -pc_type ilu -pc_factor_mat_ordering_type rcm
refused 'natural order only' -pc_type icc -pc_factor_mat_ordering_type rcm
refused '-pc_factor_levels 1 is not 0' -pc_type ilu -pc_factor_levels 1
refused 'Zero pivot in LU' -pc_type ilu -problem zero_pivot
says err 'ilu0: the pivot of row 0 (0-based), (x, y, z) = (0, 0, 0) is zero'
refused 'Zero pivot in Cholesky' -pc_type icc -problem zero_pivot
says err 'ic0: the pivot of row 0 (0-based), (x, y, z) = (0, 0, 0) is zero, negative'
refused 'does not support factorization type LU' -pc_type lu

# ---- Multigrid ------------------------------------------------------------------------------------

# within NUMBER NAME ARGUMENTS...: multigrid solves on 1 process, each time in at most so many
# iterations.
within() {
    most=$1
    name=$2
    shift 2
    run 1 -dll_prepend "$plugin" -pc_type gridsweep "$@"
    report $? "$name: $*"
    says out '^solve 1: .* CONVERGED_RTOL'
    lacks out 'DIVERGED'
    for count in $(sed -n 's/^solve .*: iterations \([0-9]*\) .*/\1/p' out); do
        [ "$count" -le "$most" ]
        report $? "$name: $count iterations are more than $most"
    done
    echo "multigrid, $name: $(sed -n 's/^solve .*: iterations \([0-9]*\) .*/\1/p' out | paste -s -d ' ')" \
        'iterations'
}

# multigrid_refused PATTERN ARGUMENTS...: the same as refused().
multigrid_refused() {
    pattern=$1
    shift
    petsc_error "$pattern" run 1 -dll_prepend "$plugin" -pc_type gridsweep "$@"
}

for cycle in V F; do
    for method in cg fgmres; do
        within 12 "poisson, $method, $cycle" -ksp_type $method -pc_gridsweep_mg_cycle $cycle \
            -second_solve
        says out '^solve 2: .* CONVERGED_RTOL'
    done
    within 6 "convection, bcgs, $cycle" -problem convection -ksp_type bcgs \
        -pc_gridsweep_mg_cycle $cycle -second_solve
    # The null space is on the matrix; the same hierarchy's coarsest solve knows it.
    within 12 "neumann, cg, $cycle" -problem neumann -ksp_type cg -pc_gridsweep_mg_cycle $cycle \
        -second_solve
    says out '^solve 2: .* CONVERGED_RTOL'
done
within 12 "f32" -ksp_type cg -pc_gridsweep_mg_precision f32
within 12 "PETSc's default method" -problem convection
within 12 "neumann, fgmres" -problem neumann -ksp_type fgmres
within 12 "bicg, which applies the transpose" -ksp_type bicg
within 8 "poisson, then convection" -ksp_type fgmres -ksp_rtol 1e-8 -second_solve \
    -second_problem convection -ksp_view
says out 'smoother gs, f64' 'smoother symgs, f64'
within 12 "zeros that become couplings" -ksp_type cg -zeros -second_solve -second_problem box \
    -ksp_view
says out "mg, grid $grid, stencil D3N7" "mg, grid $grid, stencil D3N27"
for axes in x yz xyz; do
    within 12 "a DMDA that is periodic along $axes" -problem neumann -ksp_type cg -periodic $axes \
        -second_solve -ksp_view
    says out "mg, grid $grid, periodic $axes, stencil D3N7" '^solve 2: .* CONVERGED_RTOL'
done
within 12 "a periodic DMDA, 27 points" -problem box -ksp_type cg -periodic xy -ksp_view
says out "mg, grid $grid, periodic xy, stencil D3N27"
within 80 "a periodic DMDA, ILU(0) of the box" -ksp_type cg -pc_gridsweep_type ilu -periodic xy
within 12 "a grid that is no cube" -ksp_type cg -da_grid_x 33 -da_grid_y 9 -da_grid_z 50 -ksp_view
says out 'mg, grid 33x9x50, stencil D3N7'

within 12 "the report" -ksp_type cg -ksp_view
says out '^  type: gridsweep' '^ *gridsweep [0-9.]*$' "mg, grid $grid, stencil D3N7" \
    '[2-9] levels, V cycle, smoother gs, f64, operator complexity 1\.[4-6][0-9], [0-9.]* MB' \
    '^ *level *grid *stencil *couplings *axes *smoother *MB' \
    "^ *0 *$grid *D3N7 *[0-9]* *xyz *gs *[0-9.]*" '^ *[1-9] .* D3N27 .* direct ' \
    'backend cpu, threads 1, '
within 12 "all options" -ksp_type cg -ksp_view -options_left -pc_gridsweep_type mg \
    -pc_gridsweep_grid "$grid" -pc_gridsweep_backend cpu -pc_gridsweep_threads 2 \
    -pc_gridsweep_mg_cycle w -pc_gridsweep_mg_smoother ilu0-finest -pc_gridsweep_mg_theta 0.5 \
    -pc_gridsweep_mg_precision f32 -pc_gridsweep_mg_pre_sweeps 2 -pc_gridsweep_mg_post_sweeps 2 \
    -pc_gridsweep_mg_coarsest_points 50
says out 'W cycle, smoother ilu0-finest, f32' 'There are no unused options'
within 12 "the help" -ksp_type cg -help
says out '-pc_gridsweep_type .*mg' '-pc_gridsweep_mg_smoother .*chebyshev'

# Type auto: the report, the advice, options and new values. (test_petsc_multigrid compares the choice
# with the library's.)
auto='-pc_gridsweep_type auto -ksp_view -info :pc -options_left'
# The options are meant to be split into words.
# shellcheck disable=SC2086
{
    within 12 "auto, poisson" -ksp_type cg -second_solve -pc_gridsweep_mg_cycle W $auto
    says out 'choice: -pc_gridsweep_type mg with -ksp_type cg: symmetric M-matrix; ic0 would take many'
    says out '[2-9] levels, W cycle'
    lacks out 'not known to be symmetric'
    says out 'There are no unused options'
    within 30 "auto, convection" -problem convection -ksp_type bcgs -second_solve $auto
    says out 'choice: .* with -ksp_type bcgs: not symmetric'
    says out 'type auto is not known to be symmetric: -ksp_type cg may fail'
    within 25 "auto, poisson, then convection" -ksp_type fgmres -ksp_rtol 1e-8 -second_solve \
        -second_problem convection $auto
    says out 'choice: -pc_gridsweep_type mg with -ksp_type cg: '
    says out 'choice: .* with -ksp_type bcgs: '
    within 12 "auto, neumann" -problem neumann -ksp_type cg $auto
    within 60 "auto, zero_pivot" -problem zero_pivot $auto
    says out 'type ilu with -ksp_type bcgs: symmetric; a diagonal is zero'
    within 12 "the help of auto" -ksp_type cg -help $auto
    says out '-pc_gridsweep_type .*auto' '-pc_gridsweep_mg_smoother '
}
multigrid_refused 'gridsweep, finding the grid of the matrix: row ' -problem random \
    -pc_gridsweep_type auto
multigrid_refused 'Unknown option amg for -pc_gridsweep_type' -pc_gridsweep_type amg
multigrid_refused 'Unknown option K for -pc_gridsweep_mg_cycle' -pc_gridsweep_mg_cycle K
multigrid_refused 'Unknown option sor for -pc_gridsweep_mg_smoother' -pc_gridsweep_mg_smoother sor
multigrid_refused 'Unknown option f16 for -pc_gridsweep_mg_precision' -pc_gridsweep_mg_precision f16
multigrid_refused '-pc_gridsweep_mg_theta 0\.* is not in (0, 1]' -pc_gridsweep_mg_theta 0
multigrid_refused '-pc_gridsweep_mg_theta 1.5 is not in (0, 1]' -pc_gridsweep_mg_theta 1.5
multigrid_refused 'pre_sweeps 0 and .*post_sweeps 1 are not both in 1..1000' \
    -pc_gridsweep_mg_pre_sweeps 0
multigrid_refused 'coarsest_points 2001 is not in 1..2000' -pc_gridsweep_mg_coarsest_points 2001
multigrid_refused '-pc_gridsweep_grid 7xx is not of the form' -pc_gridsweep_grid 7xx
multigrid_refused 'extents: 7 x 7 x 7 is not a grid' -pc_gridsweep_grid 7x7x7
multigrid_refused 'reaches farther than 2' -pc_gridsweep_grid "$((extent * extent))x$extent"
multigrid_refused '-pc_gridsweep_threads -1 is negative' -pc_gridsweep_threads -1
multigrid_refused 'gridsweep, finding the grid of the matrix: row ' -problem random
multigrid_refused 'gridsweep, making the preconditioner: .*the diagonal of row 0' -problem zero_pivot
multigrid_refused 'takes matrices of type seqaij or mpiaij (-mat_type aij, or -dm_mat_type aij), not seqbaij' -dm_mat_type baij
run 2 -dll_prepend "$plugin" -pc_type bjacobi -sub_pc_type gridsweep -ksp_type cg -ksp_view
report $? 'multigrid in the blocks of 2 processes'
says out '^solve 1: .* CONVERGED_RTOL'
says out "mg, grid ${extent}x${extent}x$((extent / 2)), stencil D3N7"

run 2 -dll_prepend "$plugin" -da_processors_z 2 -periodic xy -pc_type bjacobi -sub_pc_type gridsweep \
    -ksp_type cg -ksp_view
report $? 'a periodic DMDA on 2 processes'
says out '^solve 1: .* CONVERGED_RTOL' "grid ${extent}x${extent}x$((extent / 2)), periodic xy, stencil"

# ---- Nothing is left ------------------------------------------------------------------------------

left='^\[ *[0-9]*\] *[0-9]* bytes '
for preconditioner in ilu icc gridsweep 'gridsweep -pc_gridsweep_type auto'; do
    # shellcheck disable=SC2086
    set -- -pc_type $preconditioner -second_solve -malloc_debug -malloc_dump -objects_dump
    solve_alone "leaks" "$@"
    cat out err >all
    lacks all "$left"
    lacks all 'objects were never freed'
    # That PETSc looks for them is seen from a program that forgets some.
    solve_alone "leaks of the program" "$@" -forget
    cat out err >all
    says all "$left" 'objects were never freed'
done

finish
