#!/bin/sh
# test_petsc_processes.sh: -pc_type gridsweep on several processes, inside the program petsc_dmda.
# With the scope global as many iterations as on one process, for each layout of a DMDA and for plain
# rows; with the scope local as many as with PETSc's own blocks, or little more with multigrid; new
# values, refusals, reports, no leaks.
#
# Usage: test_petsc_processes.sh PROGRAM PLUGIN MPIEXEC FLAG    (FLAG: the option of MPIEXEC before
# the number, as -n). Counts its checks, prints those that fail, and exits nonzero if any did.
set -u

program=$1
plugin=$2
mpiexec=$3
flag=$4
. "$(dirname "$0")/reporting.sh"

# on RANKS ARGUMENTS...: the program on the grid; its output goes to out and err. Where the arguments
# name extents, too, the last ones count.
on() {
    ranks=$1
    shift
    "$mpiexec" "$flag" "$ranks" "$program" -da_grid_x 20 -da_grid_y 18 -da_grid_z 17 \
        -ksp_rtol 1e-10 -dll_prepend "$plugin" "$@" >out 2>err </dev/null
}

solves() { # solves FILE: the iterations and the reason of each solve
    sed -n 's/^\(solve .*\) error .*/\1/p' "$1"
}

# The process layouts, one per line: the number of processes, then options.
slabs='-da_processors_x 1 -da_processors_y 1 -da_processors_z'
layouts="2
4 -da_processors_x 2 -da_processors_y 2 -da_processors_z 1
4 -da_processors_x 1 -da_processors_y 2 -da_processors_z 2
4 -da_processors_x 4 -da_processors_y 1 -da_processors_z 1
4 $slabs 4
3 $slabs 3 -plain
2 $slabs 2 -plain -pc_gridsweep_grid 20x18x17"

# equal FILE NAME: the solves in out are those in the file, and have converged.
equal() {
    says out '^solve 1: .* CONVERGED_RTOL' '^solve 2: .* CONVERGED_RTOL'
    [ "$(solves "$1")" = "$(solves out)" ]
    report $? "$2: $(solves "$1"), but here $(solves out)"
}

# ---- As many iterations ---------------------------------------------------------------------------

some="2
4 -da_processors_x 2 -da_processors_y 2 -da_processors_z 1
3 $slabs 3 -plain"

# The options are meant to be split into words, here and below.
# shellcheck disable=SC2086
as_on_one() { # as_on_one TYPE METHOD PROBLEM LAYOUTS: the scope global, in these layouts
    options="-problem $3 -ksp_type $2 -second_solve -pc_type gridsweep -pc_gridsweep_type $1"
    on 1 $options
    report $? "one process: $options"
    mv out one
    echo "$1, $2, $3: $(solves one | sed 's/ reason.*//;s/solve .: //' | paste -s -d ' ')"
    echo "$4" >layouts
    while read -r layout; do
        on $layout $options -pc_gridsweep_scope global
        report $? "$layout $options"
        equal one "$layout $options"
    done <layouts
}

as_on_one icc cg poisson "$layouts"
as_on_one icc cg box "$some"
as_on_one ilu gmres convection "$some"
as_on_one ilu bcgs convection "$some"
as_on_one ilu bcgs box "$layouts"
for type in dilu sor jacobi; do
    as_on_one $type cg poisson "$some"
done

# as_blocks TYPE METHOD PROBLEM LAYOUTS: the scope local, in these layouts
# shellcheck disable=SC2086
as_blocks() {
    options="-problem $3 -ksp_type $2 -second_solve"
    echo "$4" >layouts
    while read -r layout; do
        on $layout $options -pc_type bjacobi -sub_pc_type $1
        report $? "$layout $options, PETSc"
        mv out petsc
        on $layout $options -pc_type gridsweep -pc_gridsweep_type $1 -pc_gridsweep_scope local
        report $? "$layout $options, local"
        equal petsc "$layout $options, local"
    done <layouts
}

as_blocks icc cg poisson "$layouts"
as_blocks ilu gmres convection "$some"
as_blocks ilu bcgs box "$some"

# A DMDA whose ends are neighbours: factors leave those couplings out, on any number of processes.
boxes="2
4 -da_processors_x 2 -da_processors_y 2 -da_processors_z 1
3 $slabs 3"
as_on_one icc cg "poisson -periodic xz" "$boxes"
as_on_one ilu bcgs "box -periodic xy" "$boxes"

# Stored zeros are no couplings, until a value replaces them.
on 1 -pc_type gridsweep -pc_gridsweep_type ilu -second_solve
mv out one
on 2 -pc_type gridsweep -pc_gridsweep_type ilu -second_solve -zeros -ksp_view
report $? 'stored zeros'
equal one 'stored zeros'
says out 'stencil D3N7'
on 3 $slabs 3 -plain -pc_type gridsweep -pc_gridsweep_type ilu -zeros -ksp_view -second_solve \
    -second_problem box
report $? 'zeros that become couplings'
says out '^solve 2: .* CONVERGED_RTOL' 'stencil D3N7' 'stencil D3N27'

# A type mpiaij on one process, too.
on 1 -dm_mat_type mpiaij -pc_type gridsweep -pc_gridsweep_type ilu -ksp_view
report $? 'mpiaij on one process'
says out 'scope global, 1 processes, 1x1x1 boxes of at most 20x18x17 points'

# ---- Multigrid ------------------------------------------------------------------------------------

# near FILE MORE NAME: each solve in out takes as many iterations as in the file, or one less, or up
# to MORE more, and has converged.
near() {
    says out '^solve 1: .* CONVERGED_RTOL' '^solve 2: .* CONVERGED_RTOL'
    solves "$1" >reference
    solves out | awk -v more="$2" 'NR == FNR { count[$2] = $4; next }
        $4 < count[$2] - 1 || $4 > count[$2] + more { bad = 1 }
        END { exit bad }' reference -
    report $? "$3: $(cat reference), but here $(solves out)"
}

# multigrid LAYOUTS OPTIONS...: mg with these options in the layouts of the file
# shellcheck disable=SC2086
multigrid() {
    of=$1
    shift
    options="-second_solve -pc_type gridsweep -pc_gridsweep_type mg $*"
    on 1 $options
    report $? "one process: $options"
    mv out one
    echo "mg, $*: $(solves one | sed 's/ reason.*//;s/solve .: //' | paste -s -d ' ')"
    while read -r layout; do
        on $layout $options -pc_gridsweep_scope global
        report $? "$layout $options"
        near one 1 "$layout $options"
        on $layout $options -pc_gridsweep_scope local
        report $? "$layout $options, local"
        near one 3 "$layout $options, local"
    done <"$of"
}

echo "$layouts" >layouts
echo "2
4 -da_processors_x 2 -da_processors_y 2 -da_processors_z 1
4 $slabs 4 -plain" >few
large='-da_grid_x 40 -da_grid_y 36 -da_grid_z 34' # with two levels in boxes
multigrid layouts -ksp_type cg -problem poisson
multigrid few -ksp_type cg -problem box
multigrid few -ksp_type cg -problem poisson "$large"
multigrid few -ksp_type cg -problem box "$large"
multigrid few -ksp_type cg -problem neumann
multigrid few -ksp_type bcgs -problem convection
echo "$boxes" >few
multigrid few -ksp_type cg -problem neumann -periodic xyz -da_grid_z 16 -ksp_view
says out 'mg, grid 20x18x16, periodic xyz, stencil D3N7'
multigrid few -ksp_type cg -problem box "$large" -periodic xy
echo 2 >few
for smoother in gs symgs jacobi ilu0 chebyshev; do
    multigrid few -ksp_type cg -pc_gridsweep_mg_smoother $smoother
done
multigrid few -ksp_type cg -pc_gridsweep_mg_theta 0.9 -pc_gridsweep_mg_pre_sweeps 2 \
    -pc_gridsweep_mg_post_sweeps 2
# The default smoother is another one when the new values are no longer symmetric.
multigrid few -ksp_type bcgs -problem poisson -second_problem convection -ksp_view
says out 'V cycle, smoother gs, f64' 'V cycle, smoother symgs, f64'

# The defaults may be given. The report; the type mpiaij on one process.
defaults='-pc_gridsweep_mg_cycle V -pc_gridsweep_mg_precision f64 -pc_gridsweep_mg_coarsest_points 200'
for ranks in 1 2 4; do
    # shellcheck disable=SC2086
    on $ranks -dm_mat_type mpiaij $large -ksp_type cg -ksp_view -options_left -pc_type gridsweep $defaults
    report $? "mg, the report of $ranks"
    says out 'mg, grid 40x36x34, stencil D3N7' "scope global, $ranks processes, " \
        '^ *4 levels\(, [12] of them shared\)*, V cycle, smoother gs, f64, operator complexity 1\.5' \
        'There are no unused options'
done
on 2 -ksp_type bicg -pc_type gridsweep
report $? 'bicg, which applies the transpose of a cycle'

# ---- Grids that are found -------------------------------------------------------------------------

found() { # found GRID BOXES RANKS OPTIONS...: the plain rows are those of this grid
    grid=$1
    boxes=$2
    shift 2
    on "$@" -plain -pc_type gridsweep -pc_gridsweep_type ilu -ksp_view
    report $? "$*"
    says out "ilu, grid $grid, stencil" "processes, $boxes boxes of" 'CONVERGED_RTOL'
}

lines='-da_processors_x 1 -da_processors_z 1 -da_grid_z 1 -da_processors_y'
points='-da_processors_y 1 -da_processors_z 1 -da_grid_z 1 -da_grid_y 1 -da_processors_x'
# shellcheck disable=SC2086
{
    found 20x18x17 1x1x2 2 $slabs 2
    found 20x18x4 1x1x4 4 $slabs 4 -da_grid_z 4 # a plane each
    found 20x18x1 1x4x1 4 $lines 4
    found 20x4x1 1x4x1 4 $lines 4 -da_grid_y 4 # a line each
    found 20x1x1 3x1x1 3 $points 3
}

# ---- Options and reports --------------------------------------------------------------------------

# shellcheck disable=SC2086
on 4 -da_processors_x 2 -da_processors_y 2 -da_processors_z 1 -ksp_type cg -ksp_view -options_left \
    -pc_type gridsweep -pc_gridsweep_type sor -pc_gridsweep_sor_omega 1.2 -pc_gridsweep_scope local \
    -pc_gridsweep_grid 20x18x17 -pc_gridsweep_backend auto -pc_gridsweep_threads 2 \
    -pc_gridsweep_wait_limit 100
report $? 'all options'
says out 'sor, grid 20x18x17, stencil D3N7' \
    'scope local, 4 processes, 2x2x1 boxes of at most 10x9x17 points' 'omega 1.2' \
    'backend cpu, threads' 'There are no unused options'
on 2 -pc_type gridsweep -pc_gridsweep_type icc -help
report $? 'the help'
[ "$(grep -c -e '-pc_gridsweep_scope .*local global' out)" -eq 1 ]
report $? 'the help names the scope once'
# shellcheck disable=SC2086
on 2 $large -pc_type gridsweep -pc_gridsweep_type auto -second_solve -second_problem convection \
    -ksp_view -info :pc
report $? 'the choice'
says out 'choice: -pc_gridsweep_type mg with -ksp_type cg: symmetric M-matrix' 'smoother gs, f64' \
    'choice: -pc_gridsweep_type ilu with -ksp_type bcgs: not symmetric' \
    'type auto is not known to be symmetric: -ksp_type cg may fail'
on 2 -ksp_type bicg -pc_type gridsweep -pc_gridsweep_type icc
report $? 'bicg, which applies the transpose'

# ---- What is refused ------------------------------------------------------------------------------

refused() { # refused PATTERN RANKS OPTIONS...: ends in that error of PETSc
    pattern=$1
    shift
    petsc_error "$pattern" on "$@"
}

ilu='-pc_type gridsweep -pc_gridsweep_type ilu'
# shellcheck disable=SC2086
{
    refused 'Zero pivot in LU' 2 $ilu -problem zero_pivot
    says err 'making the preconditioner: ilu0: the pivot of row 0 (0-based), (x, y, z) = (0, 0, 0) is zero'
    refused 'Zero pivot in Cholesky' 2 $ilu -problem zero_pivot -pc_gridsweep_type icc
    refused 'making the preconditioner: multigrid: on level 0 the diagonal of row 0 (0-based), (x, y, z) = (0, 0, 0) is zero' 2 \
        -problem zero_pivot -pc_type gridsweep
    refused 'taking new values .* on level 0 the diagonal of row 0 (0-based), (x, y, z) = (0, 0, 0) is zero' 2 -second_solve \
        -second_problem zero_pivot -pc_type gridsweep
    refused 'multigrid on several processes has neither injection nor the smoother multicolor' 2 \
        -pc_type gridsweep -pc_gridsweep_mg_smoother multicolor
    refused 'no transpose where the preconditioner is not symmetric' 2 -ksp_type bicg \
        -pc_type gridsweep -pc_gridsweep_mg_pre_sweeps 2
    refused '-pc_type gridsweep takes matrices of type seqaij or mpiaij (.*), not mpibaij' 2 \
        -pc_type gridsweep -dm_mat_type baij
    refused 'coupled to row .* the matrix is no such grid' 2 $ilu -problem random
    refused 'does not find the grid .* give it with -pc_gridsweep_grid' 2 $ilu -problem random -plain
    refused 'does not find the grid' 4 $ilu -plain -da_processors_x 2 -da_processors_y 2 \
        -da_processors_z 1
    refused 'process 0 has rows 0 to 3239, which are not whole planes of the 17 x 18 x 20 grid' \
        2 $ilu $slabs 2 -plain -pc_gridsweep_grid 17x18x20
    refused '-pc_gridsweep_grid 18x20x17 is not the grid of the DMDA, 20x18x17' 2 $ilu \
        -pc_gridsweep_grid 18x20x17
    refused "-pc_gridsweep_grid 7x7x7 is not a grid of the matrix's 6120 rows" 2 $ilu \
        -pc_gridsweep_grid 7x7x7
    refused '-pc_gridsweep_grid 7xx is not of the form' 2 $ilu -pc_gridsweep_grid 7xx
    refused 'Unknown option both for -pc_gridsweep_scope' 2 $ilu -pc_gridsweep_scope both
    refused '-pc_gridsweep_sor_omega 2\.* is not in (0, 2)' 2 $ilu -pc_gridsweep_type sor \
        -pc_gridsweep_sor_omega 2
    refused '-pc_gridsweep_wait_limit 0\.* is not in' 2 $ilu -pc_gridsweep_wait_limit 0
    refused '-pc_gridsweep_backend cuda: .* others to the CPU' 2 $ilu -pc_gridsweep_backend cuda
    refused 'no transpose where the preconditioner is not symmetric' 2 $ilu -ksp_type bicg
}

# ---- Nothing is left ------------------------------------------------------------------------------

left='^\[ *[0-9]*\] *[0-9]* bytes '
for type in ilu mg auto; do
    on 2 -pc_type gridsweep -pc_gridsweep_type $type -second_solve -malloc_debug -malloc_dump \
        -objects_dump
    report $? "leaks of $type"
    cat out err >all
    lacks all "$left"
    lacks all 'objects were never freed'
done

finish
