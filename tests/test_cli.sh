#!/bin/sh
# test_cli.sh: the program gridsweep as its users see it: exit codes, texts, files, JSON.
#
# Usage: test_cli.sh PROGRAM. Counts its checks, prints those that fail, and exits nonzero if any
# did. Needs POSIX tools only and works in a folder of its own.
set -u

program=$1
sources=$(cd "$(dirname "$0")/.." && pwd) || exit 1
# The names in the list of stencils, which generates everything else about them.
stencils=$(sed -n 's/^ *ROW(\(D[23]N[0-9]*[XYZ]*\),.*/\1/p' "$sources/kernels/common/stencils.h")
. "$(dirname "$0")/reporting.sh"
# Waiting threads must not starve each other where tests share the cores.
export OMP_NUM_THREADS="${OMP_NUM_THREADS:-2}"
# The user's own files of `gridsweep tune` are left alone.
work=$PWD
export XDG_CACHE_HOME="$work/cache"

refuse() { # refuse NAME COMMAND...: the command must fail
    name=$1
    shift
    if "$@" >/dev/null 2>&1; then
        report 1 "$name: $* succeeded"
    else
        report 0 "$name"
    fi
}

# Bad usage: exit code 2, the command's name, a hint, nothing on stdout.
misuse() {
    expect 2 "bad usage" "$@"
    says err "^gridsweep $1: " "^Try 'gridsweep $1 --help'"
    refuse "stdout stays empty" test -s out
}

blames() { # blames PATTERN COMMAND ARGUMENTS...: bad usage; the pattern is what follows the name
    pattern=$1
    shift
    misuse "$@"
    sed "s/^gridsweep $1: //" err >blame
    says blame "$pattern"
}

misuses() { # misuses COMMAND OPTIONS...: bad usage with each of the options; both are words
    used=$1
    shift
    for options; do
        # shellcheck disable=SC2086 # words
        misuse $used $options
    done
}

blames_each() { # blames_each PATTERN COMMAND OPTIONS...: the same, and what it says
    reason=$1 used=$2
    shift 2
    for options; do
        # shellcheck disable=SC2086 # words
        blames "$reason" $used $options
    done
}

keys() { # keys FILE "KEY VALUE"...: the JSON has each key with a value that begins so
    json=$1
    shift
    for pair; do
        says "$json" "\"${pair%% *}\":[[:space:]]*${pair#* }"
    done
}

# tests/test_json.py compares all keys with the schema.
stamped() { # stamped FILE: JSON of this schema's version
    keys "$1" 'schema 1,'
}

# number FILE KEY: the first value of a key.
number() {
    sed -n "s/.*\"$2\":[[:space:]]*\([^,]*\),*\$/\1/p" "$1" | head -n 1
}

less() { # less A B: A < B as numbers
    awk -v a="$1" -v b="$2" 'BEGIN { exit !(a ~ /^[-+0-9.]/ && a + 0 < b + 0) }'
}

# ---- Help and version ---------------------------------------------------------------------------

expect 0 "version" --version
says out '^gridsweep [0-9]*\.[0-9]*\.[0-9]*$'
expect 0 "help" --help
says out '^Usage: gridsweep COMMAND'
expect 0 "help command" help
expect 2 "no command"
expect 2 "unknown command" sovle
says err "unknown command 'sovle'; did you mean 'solve'?"
expect 2 "no command is near" frobnicate
says err "unknown command 'frobnicate'$"
expect 2 "unknown option" --frobnicate
for command in info detect solve sptrsv factor generate bench tune help; do
    expect 0 "help of $command" "$command" --help
    says out "^Usage: gridsweep $command"
    cp out by_option
    expect 0 "help of $command" help "$command"
    check "both helps are the same" cmp out by_option
    check "help fits 80 columns" awk 'length($0) > 79 { exit 1 }' out
    check "few options" test "$(grep -c '^  \(-., \)*--[a-z]' out)" -le 14
    tail -n 1 out >last
    expect 0 "all help of $command" "$command" --help-all
    check "help fits 80 columns" awk 'length($0) > 79 { exit 1 }' out
    says out '^Help:$'
    sed -n '/^  \(-., \)*--[a-z]/p' by_option | cut -c 1-26 | sort >common
    sed -n '/^  \(-., \)*--[a-z]/p' out | cut -c 1-26 | sort >options
    check "the common options are among all" test -z "$(comm -23 common options)"
    case $command in
    solve | sptrsv | factor | bench)
        says last "^'gridsweep $command --help-all' shows all options.$"
        check "there are more" test "$(wc -l <options)" -gt "$(wc -l <common)"
        ;;
    *) check "there are no more" cmp common options ;;
    esac
done
expect 0 "groups of options" solve --help-all
sed -n 's/^\([A-Z][a-z ]*\):$/\1/p' out | tr '\n' , >groups
says groups '^System,Method,Multigrid,Precision,Place to run,Output,Help,Examples,$'
check "there are stencils" test "$(echo "$stencils" | wc -l)" -ge 8
for command in solve generate sptrsv bench; do
    expect 0 "help of $command" "$command" --help-all
    # Names in text that wraps: the option's words in one line.
    sed -n '/^  --stencil/,/^  --/p' out | sed '$d' | tr -s ' \n' ' ' >words
    says words "$(echo $stencils | sed 's/ /, /g')"
done
if command -v bash >/dev/null; then
    # offer WORD...: what the shell offers for the last word, sorted.
    offer() {
        cat >complete.bash <<'END'
. "$1/src/gridsweep.bash-completion"
shift
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
_gridsweep
printf '%s\n' "${COMPREPLY[@]}"
END
        bash complete.bash "$sources" "$program" "$@" | sort >out
    }
    # completes NAME OFFERED WORD...: exactly these words are offered.
    completes() {
        name=$1
        printf '%s\n' $2 | sort >wanted
        shift 2
        offer "$@"
        check "$name" cmp out wanted
    }
    completes "stencils are completed" "$stencils" bench --stencil ""
    offer help ""
    says out '^sptrsv$' '^--man$' '^--schema$'
    completes "values after = are completed" "ilu0 ic0" solve --precond = i
    completes "problems are completed" poisson: solve --problem po
    completes "options with a letter are completed" "--out --omega --overlap" solve --o
    completes "both kinds of help are completed" "--help --help-all" solve --help
    completes "capital values are completed" "V F W" solve --mg-cycle ""
    completes "stencils after = are completed" "D2N5 D2N9" solve --stencil = D2
    touch some.mtx.gz
    offer solve --rhs ""
    says out '^ones$' '^random:$' '^some.mtx.gz$'
fi
expect 2 "help of nothing" help sovle
says err "^gridsweep: unknown command 'sovle'; did you mean 'solve'?$" "^Try 'gridsweep --help'"
expect 0 "manual page" help --man
says out '^\.TH GRIDSWEEP 1' '^\.SS gridsweep sptrsv'

expect 0 "info" info --json info.json
says out '^version' '^threads' '^GPU'
stamped info.json
says info.json '"processor":'
says out '^build type  '
says info.json '"build_type":'
refuse "no spaces in keys" grep -q '^[[:space:]]*"[^"]* [^"]*":' info.json
says out "^tuning  *built in (no $work/cache/gridsweep/tuning-cpu-[0-9a-f]*\.txt)$"
refuse "info makes no folder" test -e cache

# ---- tune ---------------------------------------------------------------------------------------

expect 0 "tune" tune --backend cpu --threads 2 --json tune.json
for line in 'backend  *cpu' 'device  ' 'threads  *2' 'measuring, for up to 20 s' 'copy  *[0-9.]* GB/s' \
    'sweep chunk  *[0-9]* steps' 'sweep slack  *[0-9]* steps' 'sweep grain  *[0-9n]' \
    'sweep grain, 2D  *[0-9n]' "file  *$work/cache/gridsweep/tuning-cpu-[0-9a-f]*\.txt$"; do
    says out "^$line"
done
refuse "lines of another backend" grep -q '^polled\|^step\|^hand' out
stamped tune.json
check "one file" test "$(find cache -type f | wc -l)" -eq 1
tuning=$(find "$work/cache" -type f)
expect 0 "info finds the file" info --json info.json
says out "^tuning  *$tuning (copy [0-9.]* GB/s)$"
keys info.json 'source "file"'
expect 0 "tune with one thread" tune --backend cpu --threads 1 --json -
says err '^copy  *[0-9.]* GB/s, as it was: more threads copy faster$'
says err '^shapes  *as they were: sweeps with one thread do not depend on them$'
refuse "no shapes then" grep -q '^sweep' err
stamped out
expect 0 "quiet" tune --backend cpu --threads 1 --quiet
check "nothing is printed" test ! -s out -a ! -s err

# A damaged file is ignored with one warning, however many contexts there are.
echo more >>"$tuning"
expect 0 "info says why" info --json info.json
says out "^tuning  *built in (the tuning file $tuning is ignored: it is damaged)$"
keys info.json 'ignored "the tuning file '
expect 0 "a warning" bench --backend cpu --size 8 --threads 1,2 --repeats 1
says err "^gridsweep bench: warning: the tuning file $tuning is ignored: it is damaged; 'gridsweep tune' writes it anew$"
check "one warning" test "$(wc -l <err)" -eq 1
expect 0 "quiet" generate --problem poisson:5x4x3 --out tuned.mtx --quiet
check "no warning" test ! -s err
expect 0 "tune replaces it" tune --backend cpu --threads 1
expect 0 "no warning any more" generate --problem poisson:5x4x3 --out tuned.mtx
check "no warning any more" test ! -s err

rm -r cache
mkdir -p "$tuning"
expect 0 "a folder in its place" generate --problem poisson:5x4x3 --out tuned.mtx
says err 'it is not a regular file; the program takes the built-in table$'

expect 3 "a folder in its place" tune --backend cpu
says err "^gridsweep tune: cannot write the tuning file $tuning: it is not a regular file$"

# Nothing is measured where it cannot be written.
rm -r cache
echo file >cache
expect 3 "no such folder" tune --backend cpu --json none.json
refuse "nothing is measured" grep -q '^measuring\|^copy' out
says err "^gridsweep tune: cannot write the tuning file $work/cache/gridsweep/tuning-cpu-.*: Not a directory$"
refuse "no JSON then" test -e none.json
rm cache
unset XDG_CACHE_HOME
(unset HOME && exec "$program" tune --backend cpu >out 2>err)
code=$?
check "no folder at all: exit code $code" test $code -eq 3
says err '^gridsweep tune: there is no folder for the file: set HOME, or XDG_CACHE_HOME, to an absolute path$'
(unset HOME && exec "$program" info >out 2>err)
says out '^tuning  *built in (no folder for a file)$'
(export HOME="$work" && exec "$program" info >out 2>err)
says out "^tuning  *built in (no $work/\.cache/gridsweep/tuning-cpu-[0-9a-f]*\.txt)$"
export XDG_CACHE_HOME="$work/cache"
misuses tune --frobnicate "--grid 3x3" poisson.mtx "--threads 0"

# ---- Bad usage ----------------------------------------------------------------------------------

expect 0 "generate" generate --problem poisson:5x4x3 --out poisson.mtx
misuses solve "" "poisson.mtx --problem poisson:4x4x4"
for word in rtoll=3 rtl=3 trol; do
    blames "unknown option '--${word%=*}'; did you mean --r[a-z]*?" solve poisson.mtx "--$word"
done
blames "unknown option '--frobnicate'$" solve poisson.mtx --frobnicate
blames "option '--mg' is ambiguous: 5 options begin with it" solve poisson.mtx --mg 3
blames "not 'ilu'; did you mean 'ilu0'?" solve poisson.mtx --precond ilu
blames "not 'amg2023'$" solve poisson.mtx --precond amg2023
blames "only one of FILE.mtx, --rhs, --x0, --mask and --coordinates can be standard input" solve - --rhs -
for option in --mask --coordinates; do
    blames "only one of FILE.mtx, --rhs, --x0, --mask and --coordinates can" solve - $option -
done
blames "unknown option '-x'" solve poisson.mtx -x 3
blames 'help takes no value' solve poisson.mtx --help=3
blames "-o needs a value" solve poisson.mtx -o

# ---- First guess, right-hand side from standard input -------------------------------------------

expect 0 "a letter for --out" solve poisson.mtx --rtol 1e-12 -o x0.mtx
expect 0 "first guess" solve poisson.mtx --x0 x0.mtx --rtol 1e-10 --out again.mtx
says out "^converged in 0 iterations"
check "the guess is the solution" cmp x0.mtx again.mtx
check "a solution on standard input" sh -c "'$program' solve poisson.mtx --rhs - <x0.mtx >out"
says out "^converged in"
check "the same from a file" "$program" solve poisson.mtx --rhs x0.mtx --out by_file.mtx
check "and from standard input" sh -c "'$program' solve poisson.mtx --rhs - -oby_input.mtx <x0.mtx"
check "are the same bits" cmp by_file.mtx by_input.mtx
cp x0.mtx both.mtx
expect 0 "the guess is replaced" solve poisson.mtx --x0 both.mtx --out both.mtx
check "by the solution" cmp x0.mtx both.mtx
expect 0 "another grid" solve --problem poisson:3x3x3 --out short.mtx
expect 3 "a guess for another grid" solve poisson.mtx --x0 short.mtx
says err "short.mtx has 27 values, but the matrix has 60 rows"
expect 3 "no such guess" solve poisson.mtx --x0 absent.mtx

# ---- Masks --------------------------------------------------------------------------------------

# npy TYPE ORDER SHAPE BYTES: a file of numpy.save(). 128 bytes stand before the values.
npy() {
    printf '\223NUMPY\001\000\166\000%-117s\n' \
        "{'descr': '$1', 'fortran_order': $2, 'shape': ($3), }"
    printf "%b" "$4"
}

# Two points of the line of six are land: what is left are two lines, of one point and of three.
printf '%%%%MatrixMarket matrix array integer general\n6 1\n1\n0\n1\n2\n-1\n0\n' >mask.mtx
printf '%s\n' 0.5 0 1.5 2 1.5 0 >wanted
"$program" generate --problem poisson:6x1 --out - --quiet | sed 's/ 4$/ 2/' >line.mtx
expect 0 "a mask" solve line.mtx --precond ilu0 --mask mask.mtx --out masked.mtx --json mask.json
says out '^active  *4 of 6 points$' '^converged in'
keys mask.json 'active_points 4,' 'rows 6,'
tail -n 6 masked.mtx | awk '{ printf "%.9g\n", $1 }' >x
check "is the smaller system" cmp x wanted
line='\1\0\1\2\377\0'
npy '|u1' False '6,' "$line" >line.npy
npy '|u1' False '1, 6' "$line" >plane.npy
npy '|b1' False '1, 1, 6' '\1\0\1\1\1\0' >space.npy
npy '|u1' True '6,' "$line" >fortran.npy
for mask in line plane space fortran; do
    expect 0 "a mask of NumPy" solve line.mtx --precond ilu0 --mask $mask.npy --out other.mtx
    check "is the same" cmp masked.mtx other.mtx
done
check "from standard input" sh -c "'$program' solve line.mtx --precond ilu0 --mask - -oother.mtx <line.npy"
check "is the same" cmp masked.mtx other.mtx
expect 0 "no mask" solve line.mtx --json mask.json
keys mask.json 'active_points 6,'
lacks out '^active'
# A row of land may be that of the identity: what is left is symmetric.
sed '/^2 [13] /d; /^6 5 /d; s/14$/11/; s/16$/13/' line.mtx >identity.mtx
expect 0 "rows of the identity" solve identity.mtx --mask mask.mtx --method cg --precond ic0 -oother.mtx
lacks err 'not symmetric'
check "are the same system" "$program" solve line.mtx --mask mask.mtx --method cg --precond ic0 -omasked.mtx
check "with the same solution" cmp masked.mtx other.mtx
expect 0 "without the mask" solve identity.mtx --method cg --precond ic0
lacks err 'not symmetric'
expect 0 "a triangular solve" sptrsv line.mtx --part lower --mask line.npy --out other.mtx --json mask.json
says out '^active  *4 of 6 points$' '^max error  *0.00e+00'
keys mask.json 'active_points 4,'
printf '%s\n' 0.5 0 0.5 0.75 0.875 0 >wanted
tail -n 6 other.mtx >y
check "is that of the points" cmp y wanted
expect 0 "factors" factor line.mtx --precond ilu0 --mask line.npy --out-l l.mtx --out-u u.mtx --json mask.json
keys mask.json 'active_points 4,'
says u.mtx '^2 2 1$' '^3 3 2$' '^3 4 -1$'
for why in "|f8 False 6, $line" "|u1 False 6,1,1,1 $line" "|u1 False 6, 1" "|u1 False x $line" \
    "|u1 True 1,6 $line" "|u1 False 9999999999999999999,9999999999999999999 $line"; do
    # shellcheck disable=SC2086 # words
    npy $why >bad.npy
    expect 3 "a bad mask" solve line.mtx --mask bad.npy
    says err '^gridsweep solve: cannot read bad.npy: its values\|it has more\|it is\|its header'
done
for size in 7 11 100 133; do
    head -c $size line.npy >bad.npy
    expect 3 "half a mask" solve line.mtx --mask bad.npy
    says err 'bad.npy: it is truncated'
done
npy '|u1' False '2, 3' "$line" >bad.npy
expect 3 "another shape" solve line.mtx --mask bad.npy
says err 'bad.npy: its shape is not (nz, ny, nx) of the grid 6 x 1 x 1; if the grid is wrong, give --grid'
npy '|b1' False '5,' '\1\1\1\1\1' >bad.npy
for mask in bad.npy short.mtx; do
    expect 3 "a mask for another grid" solve line.mtx --mask $mask
    says err "^gridsweep solve: $mask has [0-9]* values, but the matrix has 6 rows"
done
expect 3 "no such mask" solve line.mtx --mask absent.npy
expect 3 "no mask" solve line.mtx --mask line.json
blames "^--out is the same file as the input 'mask.mtx', which would be lost" \
    solve line.mtx --mask mask.mtx --out mask.mtx
misuses sptrsv "line.mtx --part lower --coordinates mask.mtx"

# ---- Rows for some points, and in another order -------------------------------------------------

# The matrix of the four active points, and b, x0 and x of these.
printf '%s\n' '%%MatrixMarket matrix coordinate real general' '4 4 8' '1 1 2' '2 2 2' '2 3 -1' \
    '3 2 -1' '3 3 2' '3 4 -1' '4 3 -1' '4 4 2' >compact.mtx
array='%%MatrixMarket matrix array real general'
printf '%s\n' "$array" '4 1' 2 1 1 1 >few.mtx
printf '%s\n' 1 1.5 2 1.5 >wanted
expect 0 "rows for the active points" solve compact.mtx --mask plane.npy --rhs few.mtx --precond ilu0 \
    --out few-x.mtx --json mask.json
says out '^grid  *6 x 1 x 1$' '^rows  *4$' '^nonzeros  *8$' '^active  *4 of 6 points$' '^converged in'
keys mask.json 'active_points 4,' 'rows 4,' 'nonzeros 8,'
solved() {
    tail -n 4 "$1" | awk '{ printf "%.9g\n", $1 }' >x
    check "x has the rows that were given" cmp x "$2"
}
solved few-x.mtx wanted
expect 0 "a guess of these rows" solve compact.mtx --mask space.npy --rhs few.mtx --x0 few-x.mtx
says out '^converged in 0 iterations'
expect 0 "a mask of one axis" solve compact.mtx --mask mask.mtx --grid 6x1 --rhs few.mtx --out other.mtx
solved other.mtx wanted
blames '^--grid is needed: mask.mtx has one axis' solve compact.mtx --mask mask.mtx
expect 0 "cg" solve compact.mtx --mask plane.npy --method cg --precond ic0
lacks err 'not symmetric'
expect 0 "its stencil" detect compact.mtx --mask plane.npy
says out '^grid 6 1 1$' '^stencil D2N5$'
expect 0 "the stencil of all rows" detect line.mtx --mask plane.npy
for command in "sptrsv --part lower" "factor --precond ilu0 --out-l l.mtx --out-u u.mtx"; do
    # shellcheck disable=SC2086 # words
    expect 3 "all points are needed" $command compact.mtx --mask plane.npy
    says err "compact.mtx has rows for the active points of --mask alone, which only"
done
expect 3 "another grid" solve compact.mtx --mask plane.npy --grid 5x1
says err 'plane.npy has 6 values, but the grid 5 x 1 x 1 other points'
expect 3 "another shape" solve compact.mtx --mask plane.npy --grid 1x6
says err 'plane.npy: its shape is not (nz, ny, nx) of the grid 1 x 6 x 1'
expect 3 "as many values as points" solve compact.mtx --mask plane.npy --rhs mask.mtx
says err 'mask.mtx has 6 values, but the matrix has 4 rows'
expect 3 "another number of active points" solve few-x.mtx --mask plane.npy
npy '|b1' False '1, 9' '\1\0\0\0\0\1\1\1' >bad.npy
expect 3 "half a mask" solve compact.mtx --mask bad.npy
npy '|b1' False '1, 9' '\1\0\0\0\0\1\1\0\1' >bad.npy
expect 0 "an island" solve compact.mtx --mask bad.npy
npy '|b1' False '1, 9' '\1\1\0\0\0\1\1\0\0' >bad.npy
expect 3 "neighbours that are far apart" solve compact.mtx --mask bad.npy
says err '^gridsweep solve: row 2 (1-based), column 3: on the 9 x 1 x 1 grid they are (4, 0, 0) points apart'

# The same rows backwards: row i of a mesher is at -i.
printf '%s\n' '%%MatrixMarket matrix coordinate real general' '4 4 8' '4 4 2' '3 3 2' '3 2 -1' \
    '2 3 -1' '2 2 2' '2 1 -1' '1 2 -1' '1 1 2' >turned.mtx
printf '%s\n' "$array" '4 1' 1 1 1 2 >few.mtx
printf '%s\n' 1.5 2 1.5 1 >wanted
printf '%s\n' "$array" '4 1' 9 5 4 0 >c.mtx
printf '%s\n' "$array" '4 3' 9 5 4 0 7 7 7 7 1 1 1 1 >wide.mtx
half='\0\0\200\77' # 1 in fp32
npy '<f4' False '4, 2' '\0\0\20\101'$half'\0\0\0\100'$half$half$half'\0\0\0\0'$half >c.npy
npy '<f4' True '4, 2' '\0\0\20\101\0\0\0\100'$half'\0\0\0\0'$half$half$half$half >t.npy
eight='\0\0\0\0\0\0'
npy '<f8' False '4,' $eight'\20\100'$eight'\0\100'$eight'\360\77'$eight'\0\0' >d.npy
for file in c.mtx wide.mtx c.npy t.npy d.npy; do
    expect 0 "rows with coordinates" solve turned.mtx --coordinates $file --rhs few.mtx --precond ilu0 \
        --out other.mtx --json mask.json
    says out '^grid  *4 x 1 x 1$' '^converged in'
    keys mask.json 'active_points 4,' 'rows 4,'
    solved other.mtx wanted
done
check "on standard input" sh -c "'$program' solve turned.mtx --coordinates - --rhs few.mtx -oother.mtx <c.npy"
expect 0 "their grid" detect turned.mtx --coordinates c.npy
says out '^grid 4 1 1$' '^stencil D2N5$'
printf '%s\n' "$array" '4 1' 9 5 9 0 >bad.mtx
expect 3 "two rows at one point" solve turned.mtx --coordinates bad.mtx
says err 'coordinates: rows 1 (1-based) and 3 (1-based) are at one point'
for file in mask.mtx "wide.mtx line.mtx" line.npy; do
    # shellcheck disable=SC2086 # words
    expect 3 "other coordinates" solve ${file#* } --coordinates ${file% *}
done

# A closed line of four points, with a row and a column for the mean.
printf '%s\n' '%%MatrixMarket matrix coordinate real symmetric' '5 5 11' '1 1 1' '2 1 -1' '2 2 2' \
    '3 2 -1' '3 3 2' '4 3 -1' '4 4 1' '5 1 1' '5 2 1' '5 3 1' '5 4 1' >border.mtx
printf '%s\n' "$array" '5 1' 2 2 4 4 12 >whole.mtx
printf '%s\n' "$array" '5 1' 9 9 9 9 9 >guess.mtx
printf '%s\n' 2 4 5 3 >wanted
expect 0 "a row for the mean" solve border.mtx --rhs whole.mtx --x0 guess.mtx --out other.mtx --json mask.json
says out '^grid  *4 x 1 x 1$' '^rows  *5$' '^nonzeros  *18$' '^converged in'
keys mask.json 'rows 5,'
solved other.mtx wanted
expect 0 "the grid inside" detect border.mtx
says out '^grid 4 1 1$'
expect 3 "a row for the mean in a sweep" sptrsv border.mtx --part lower
says err "border.mtx has a row for the mean, which only 'solve' and 'detect' take"
sed 's/^1 1 1$/1 1 2/' border.mtx >held.mtx
expect 3 "a value that is held" solve held.mtx
says err '^gridsweep solve: the last row is coupled to all others, and is no condition on the mean'
printf '%s\n' "$array" '4 4' 1 2 3 4 1 2 3 4 1 2 3 4 1 2 3 4 >bad.mtx
expect 3 "four axes" solve turned.mtx --coordinates bad.mtx
says err 'bad.mtx: its shape must be (4, 2) or (4, 3): the matrix has 4 rows'
npy '|u1' False '4,' '\1\2\3\4' >bad.npy
expect 3 "coordinates of bytes" solve turned.mtx --coordinates bad.npy
says err 'cannot read bad.npy: its values are not of type float64 or float32'
npy '<f8' False '4,' '\1\2\3\4' >bad.npy
expect 3 "half of them" solve turned.mtx --coordinates bad.npy
says err 'cannot read bad.npy: it is truncated'
blames '^give either --mask or --coordinates' solve turned.mtx --coordinates c.npy --mask line.npy
blames '^--coordinates is for a file, without --grid$' solve turned.mtx --coordinates c.npy --grid 4x1
blames '^--coordinates is for a file' solve --problem poisson:4x1 --coordinates c.npy
blames "^--out is the same file as the input 'c.mtx'" solve turned.mtx --coordinates c.mtx --out c.mtx

misuses "solve poisson.mtx" poisson.mtx --frobnicate -x --rtol --rtol=
blames '^FILE.mtx must not be empty$' detect ''
misuses "solve poisson.mtx --rtol" abc 1e-8x nan inf -1 0
for option in --max-iter --threads --restart; do
    misuses "solve poisson.mtx $option" 0 -3 1.5 99999999999999999999 x
done
blames '^--threads takes an integer from 1 to [0-9]* on this machine' \
    solve poisson.mtx --threads 65536
misuse sptrsv poisson.mtx --part lower --threads 65536
for precond in none jacobi ilu0 ic0 dilu; do
    blames "^--omega .*--precond ssor.*--precond $precond" \
        solve poisson.mtx --omega 1 --precond $precond
done
for method in cg bicgstab; do
    blames "^--restart .*--method gmres.*--method $method" \
        solve poisson.mtx --restart 30 --method $method
done
misuses "solve poisson.mtx" "--omega 1" "--omega 2" "--restart 30" "--method jacobi" "--precond lu" \
    "--norm euclid" "--eisenstat sometimes" "--nullspace ones" "--factor-precision f16" \
    "--backend tpu" --quiet=yes "--rhs random:x" "--rhs random:" "--stencil D3N7" \
    "--grid 5x4x3x1" "--grid 5x-4x3" "--out - --json -" "--out same --json same"
misuses "solve --problem" "poisson:4x4x4 --grid 4x4x4" "poisson:4x4x4 --stencil D3N27" \
    "random:1:4x4x4 --stencil D3N8" "random:1:4x4x4 --stencil 1,0,0" \
    "random:1:4x4x4 --stencil 0,0,0;1,0" fish:4x4x4 poisson poisson:0x4x4 poisson:-4x4x4 \
    poisson:99999999999x99999999999x99999999999
misuses "sptrsv poisson.mtx" "" "--part full" "--part lower --algorithm magic"
misuses "factor poisson.mtx" "--out-l l --out-u u" "--precond ilu0 --out-l l" \
    "--precond ssor --out-l l --out-u u" "--precond ilu0 --out-l same --out-u same"
misuses generate "--problem poisson:4x4x4" "--out x.mtx" \
    "poisson.mtx --problem poisson:4x4x4 --out x.mtx"
misuses detect "" "poisson.mtx --backend tpu"
misuses bench "--size 8 --backend reference" "--stencil D3N8" "--size 0" "--size 64," \
    "--size 8x8x8x8" "--part full" "--precision f64,f16" "--algorithm best" "--threads 1,two" \
    "--threads 1,65536" "--whole-solve --problem poisson:4x4x4 --threads 65536" "--repeats 0" \
    "--cache hot" "--cache cold --backend cpu" "--cache warm --part both --algorithm line" \
    "--cache warm --threads 1,2" --compare= "--ablation --part upper" "--ablation --precision f32" \
    fish "--hpcg --size 64x64" "--hpcg --threads 1,2" --hpcg=yes "--hpcg --heights 2"
blames '^--part symgs runs in f64' bench --part symgs --precision f32,f32-factor
blames '^--part symgs takes packed factors' bench --part symgs --algorithm reference,line
blames 'with CUDA, --part symgs,' bench --part symgs --threads 1,2
blames '^--problem is for ' bench --part symgs,lower --problem hpcg
blames '^--stencil is for ' bench --part symgs --problem hpcg --stencil D3N27
blames '^--problem: .*--size' bench --part symgs --problem hpcg:8x8x8
misuses "bench --part symgs" "--problem fish" "--problem random" "--precond ssor"
blames '^--part relax runs alone' bench --part relax,lower
blames '^--algorithm is not for --part relax' bench --part relax --algorithm pencil
misuse bench --part relax --threads 1,2
for heights in 0 9 4-2 1- fish ''; do
    blames '^--heights[: ]' bench --part relax "--heights=$heights"
done
blames '^--heights is for --part relax' bench --heights 1-8
blames '^--whole-solve needs --problem' bench --whole-solve
blames '^--size is for sweeps' bench --whole-solve --size 8
blames 'add mg to --precond' \
    bench --whole-solve --problem poisson:4x4x4 --precond ic0,ilu0 --mg-smoother gs
misuses bench "--whole-solve --problem poisson" "--whole-solve=yes --problem poisson:4x4x4"
misuses "bench --whole-solve --problem poisson:4x4x4" "--heights 2" "--precond lu" "--precond ic0,lu" \
    "--precond mg --mg-smoother sor" "--stencil D3N27" "--precision f64,f32" "--threads 1,2" \
    "--boxes 1x1x2"
misuses "solve --problem poisson:4x4x4" "--boxes 1x1x2" "--wait-limit 0" "--wait-limit soon"
expect 0 "--wait-limit on one process" solve --problem poisson:4x4x4 --wait-limit 0.5
blames_each '^--[a-z]* is for sweeps' "bench --whole-solve --problem poisson:4x4x4" "--size 8" \
    "--part lower" "--algorithm line" --ablation "--cache warm"
blames_each '^--[a-z-]* is for --whole-solve' "bench --size 8" "--problem poisson:4x4x4" "--rhs ones" \
    "--method cg" "--precond ic0" "--rtol 1e-8" "--max-iter 9" "--mg-cycle F" "--mg-theta 0.5" \
    "--scope local" "--boxes 1x1x1" "--wait-limit 9"
blames_each '^--[a-z-]* is not for --hpcg' "bench --hpcg" "--stencil D3N27" "--part symgs" \
    "--precision f64" "--algorithm pencil" --compare --ablation "--cache warm" "--problem hpcg" \
    "--rhs ones" "--method cg" "--precond ic0" --whole-solve "--scope local" "--boxes 1x1x1" \
    "--wait-limit 9"
blames "^--size: '16x15x16': HPCG's grids have at least 16 points per axis" \
    bench --hpcg --size 16,16x15x16
refuse "bad usage writes no file" test -e x.mtx

# ---- detect and generate ------------------------------------------------------------------------

detects() { # detects FILE GRID STENCIL
    expect 0 "detect" detect "$1"
    printf 'grid %s\nstencil %s\n' "$2" "$3" >wanted
    check "grid and stencil of $1" cmp out wanted
}

detects poisson.mtx "5 4 3" D3N7
for problem in poisson:6x5 convection:5x4x3 anisotropic:5x4x3 lognormal:5x4x3 hpcg:5x4x3 \
    hpcg:6x5 helmholtz19:5x4x4 star13:7x6x5 box33:7x6x5 random:3:5x4x3; do
    expect 0 "generate" generate --problem "$problem" --out p.mtx
    cp p.mtx first.mtx
    expect 0 "generate twice" generate --out p.mtx --problem "$problem"
    check "the same file both times" cmp p.mtx first.mtx
    expect 0 "detect" detect p.mtx
    case $problem in
    poisson*) says out '^stencil D2N5$' ;;
    hpcg:6x5) says out '^stencil D2N9$' ;;
    hpcg*) says out '^stencil D3N27$' ;;
    helmholtz19*) says out '^stencil D3N19$' ;;
    star13*) says out '^stencil D3N13$' ;;
    box33*) says out '^stencil D3N33$' ;;
    *) says out '^stencil D3N7$' ;;
    esac
done
# Problems with a domain: the mask comes with the problem, or from its file.
for problem in ocean:24x16 ocean:0.5:24x16 ocean:9x8x7 reservoir:12x11x10 obstacles:24x16 channel:12x10 \
    channel:9x8x7 globe:12x10; do
    expect 0 "a domain" generate --problem "$problem" --out p.mtx --out-mask mask.npy --json p.json
    entries=$(sed -n 's/^nonzeros *//p' out)
    check "the entries are counted" sh -c "grep -v ^% p.mtx | sed 1q | grep -q ' $entries\$'"
    expect 0 "solve $problem" solve --problem "$problem" --out x.mtx
    cp out first
    says out '^converged in'
    expect 0 "solve its files" solve p.mtx --mask mask.npy
    says out '^converged in'
    check "as many points" sh -c "tail -c +129 mask.npy | tr -d '\\000' | wc -c >n && \
        { grep '^active' out || sed -n 's/^rows */active /p' out; } | awk '{ print \$2 }' | cmp - n"
    expect 0 "solve its matrix" solve p.mtx
    case $problem in
    ocean* | reservoir* | obstacles*) says first '^active  *[0-9]* of [0-9]* points$' ;;
    channel:9*) says first '^periodic  *xy$' ;;
    *) says first '^periodic  *x$' ;;
    esac
done
expect 0 "a mask of all points" generate --problem poisson:3x2 --out p.mtx --out-mask - --quiet
{ npy '|b1' False '1, 2, 3' '\1\1\1\1\1\1'; } >mask.npy
check "in the format of NumPy" cmp out mask.npy
npy '|b1' False '1, 16, 24' "$(printf '\\0%.0s' $(seq 192))$(printf '\\1%.0s' $(seq 192))" >half.npy
expect 0 "another mask of an ocean: land stays land" solve --problem ocean:24x16 --mask half.npy
says out '^active  *89 of 384 points$'
blames "^--out .* and --out-mask .* name the same file" \
    generate --problem ocean:8x8 --out p.mtx --out-mask p.mtx
blames "share of land" generate --problem ocean:1.5:8x8 --out p.mtx
blames "periodic along x with 2 points" solve --problem channel:2x8
blames "is periodic: it is for --whole-solve" bench --part symgs --problem globe --size 8
expect 0 "stencil of a random problem" \
    generate --problem random:7:6x5x4 --stencil d3n19 --out p.mtx --quiet
refuse "quiet is silent" test -s out
detects p.mtx "6 5 4" D3N19
for stencil in $stencils; do
    case $stencil in D2*) extents=12x9 grid="12 9 1" ;; *) extents=9x8x7 grid="9 8 7" ;; esac
    expect 0 "random matrix on $stencil" \
        generate --problem random:3:$extents --stencil "$stencil" --out p.mtx
    detects p.mtx "$grid" "$stencil"
    for precond in ilu0 dilu ssor; do
        expect 0 "solve on $stencil" solve p.mtx --precond $precond --backend cpu
    done
    for algorithm in line pencil; do
        expect 0 "sweep on $stencil" sptrsv --problem random:3:$extents --stencil "$stencil" \
            --part upper --algorithm $algorithm --backend cpu
    done
done
expect 0 "stencil from offsets" \
    generate --problem random:7:9x6 --stencil '0,0,0;-3,0,0;1,1,0;0,-1,0' --out p.mtx
expect 0 "detect offsets" detect p.mtx --grid 9x6
printf 'grid 9 6 1\nstencil custom\noffset 0 -1 0\noffset -3 0 0\noffset 0 0 0\noffset 1 1 0\n' >wanted
check "offsets" cmp out wanted
expect 0 "grid overrides" detect --grid 20x3x1 poisson.mtx
says out '^grid 20 3 1$'
expect 0 "detect as JSON" detect poisson.mtx --json -
stamped out
keys out 'stencil "D3N7"'
says err '^grid 5 4 3$'
expect 0 "matrix on stdout" generate --problem poisson:5x4x3 --out -
check "the same on stdout as in a file" cmp out poisson.mtx
says err '^nonzeros'
{ echo header && "$program" generate --problem poisson:5x4x3 --out - --quiet && echo trailer; } >joined
{ echo header && cat poisson.mtx && echo trailer; } >wanted
check "standard output goes on where it is" cmp joined wanted
if python3 -c '' 2>/dev/null; then
    python3 - "$program" >joined <<'EOF'
import socket, subprocess, sys
ours, theirs = socket.socketpair()
command = [sys.argv[1], "generate", "--problem", "poisson:5x4x3", "--out", "-", "--quiet"]
with subprocess.Popen(command, stdout=theirs) as program:
    theirs.close()
    while data := ours.recv(4096):
        sys.stdout.buffer.write(data)
sys.exit(program.returncode)
EOF
    report $? "a socket as standard output"
    check "all of it arrives" cmp joined poisson.mtx
fi
"$program" generate --problem poisson:5x4x3 --out - <&- >&- 2>err
check "standard output is closed" test $? -eq 3
says err 'standard output'
cp poisson.mtx p.mtx
"$program" detect - <p.mtx >out 2>err
printf 'grid 5 4 3\nstencil D3N7\n' >wanted
check "matrix from standard input" cmp out wanted
"$program" generate --problem poisson:40x30x20 --out - 2>err | "$program" detect - >out 2>err
says out '^grid 40 30 20$'
expect 3 "nothing on standard input" detect -
says err '^gridsweep detect: standard input: '

# ---- Bad input ----------------------------------------------------------------------------------

banner='%%MatrixMarket matrix coordinate real general'
: >empty.mtx
printf '%s\n3 3 3\n1 1 1\n2 2 1\n' "$banner" >truncated.mtx
printf '%s\n999999999 999999999 999999999999\n1 1 1\n' "$banner" >huge.mtx
printf '%s\n99999999999999999999 3 1\n1 1 1\n' "$banner" >overflow.mtx
printf '%s\n2 2 2\n1 1 1\n3 2 1\n' "$banner" >range.mtx
printf '%s\n2 2 2\n0 1 1\n2 2 1\n' "$banner" >zero.mtx
printf '%s\n2 2 3\n1 1 1\n2 2 1\n1 1 1\n' "$banner" >duplicate.mtx
printf '%s\n2 2 2\n1 1 nan\n2 2 1\n' "$banner" >nan.mtx
printf '%s\n2 3 2\n1 1 1\n2 2 1\n' "$banner" >oblong.mtx
printf '%s\n2 2 2\n1 1 one\n2 2 1\n' "$banner" >text.mtx
printf '%s\n-2 -2 2\n1 1 1\n2 2 1\n' "$banner" >negative.mtx
printf '%%%%MatrixMarket matrix coordinate pattern general\n1 1 1\n1 1\n' >pattern.mtx
printf '%%%%MatrixMarket matrix coordinate complex general\n1 1 1\n1 1 1 0\n' >complex.mtx
printf 'not a matrix\n' >junk.mtx
mkdir folder
for file in empty truncated huge overflow range zero duplicate nan oblong text negative pattern \
    complex junk missing; do
    echo old >kept
    expect 3 "bad input" solve $file.mtx --out kept --json kept.json
    says err '^gridsweep solve: .'
    check "an existing file is kept" test "$(cat kept)" = old
    refuse "no JSON after bad input" test -e kept.json
    expect 3 "bad input" detect $file.mtx
    says err "$file.mtx"
done
# Files of gzip: what they begin with counts when they are read, their name when they are written.
# refuse_packed FILE REASON: as a matrix, as a right-hand side, and on standard input.
refuse_packed() {
    expect 3 "compressed input" detect "$1"
    says err "^gridsweep detect: cannot read $1: $2$"
    expect 3 "compressed right-hand side" solve poisson.mtx --rhs "$1"
    says err "^gridsweep solve: cannot read $1: $2$"
    "$program" detect - <"$1" 2>err
    check "compressed standard input" test $? -eq 3
    says err "^gridsweep detect: cannot read standard input: $2$"
}
echo old >packed.mtx.gz
if "$program" generate --problem poisson:5x4x3 --out packed.mtx.gz --quiet 2>err; then
    gzip=yes
    check "a compressed file" sh -c 'gzip -dc packed.mtx.gz | cmp - poisson.mtx'
    cp packed.mtx.gz packed
    for file in packed packed.mtx.gz; do
        expect 0 "compressed input" detect $file
        says out '^grid 5 4 3$'
    done
    "$program" detect - <packed >out 2>err
    says out '^grid 5 4 3$'
    expect 0 "compressed output" solve packed --out x.mtx.gz --json x.json.gz
    check "compressed JSON" sh -c 'gzip -dc x.json.gz | grep -q schema'
    "$program" solve packed --rhs - --out twice.mtx <x.mtx.gz >out 2>err
    check "compressed right-hand side on standard input" test $? -eq 0
    gzip -dc x.mtx.gz >x.mtx
    { printf '\357\273\277' && cat poisson.mtx && printf '\032'; } | gzip >marked.mtx.gz
    { printf '\357\273\277' && cat x.mtx && printf '\032'; } >marked_x.mtx
    expect 0 "a byte order mark and Ctrl-Z" solve marked.mtx.gz --rhs marked_x.mtx
    expect 0 "the same without compression" solve poisson.mtx --rhs x.mtx --out by_plain.mtx
    check "are the same bits" cmp twice.mtx by_plain.mtx
    size=$(wc -c <packed)
    for length in 2 3 9 10 11 20 $((size / 2)) $((size - 8)) $((size - 1)); do
        head -c $length packed >cut.mtx.gz
        refuse_packed cut.mtx.gz "its gzip data are truncated"
    done
    { head -c $((size - 8)) packed && printf 12345678; } >changed.mtx.gz
    refuse_packed changed.mtx.gz "its gzip data are corrupt"
    echo old >kept
    expect 3 "truncated" solve cut.mtx.gz --out kept
    check "an existing file is kept" test "$(cat kept)" = old
    { head -n 10 poisson.mtx | gzip -c && tail -n +11 poisson.mtx | gzip -c; } >members.mtx.gz
    expect 0 "several members" detect members.mtx.gz
else
    gzip=no
    says err "^gridsweep generate: cannot write packed.mtx.gz: .* was built without zlib$"
    check "the old file" test "$(cat packed.mtx.gz)" = old
    printf '\037\213\010\000' >packed.mtx.gz
    refuse_packed packed.mtx.gz "it is compressed with gzip, .* was built without zlib"
fi
expect 3 "a folder is no matrix" detect folder
expect 3 "grid of another size" solve poisson.mtx --grid 5x5x5
expect 3 "grid of another size" solve poisson.mtx --grid 5x4
expect 3 "right-hand side missing" solve poisson.mtx --rhs missing.mtx
printf '%%%%MatrixMarket matrix array real general\n3 1\n1\n2\n3\n' >short.mtx
expect 3 "right-hand side too short" solve poisson.mtx --rhs short.mtx
says err '3 values.*60 rows'
# Values that are not finite, in a matrix and in a right-hand side: file, line and value.
expect 0 "three rows" generate --problem poisson:3x1 --out three.mtx
for value in nan NaN -inf Infinity 1e999; do
    printf '%s\n2 2 2\n1 1 1\n2 2 %s\n' "$banner" "$value" >wild.mtx
    printf '%%%%MatrixMarket matrix array real general\n%% b\n3 1\n1\n\n%s\n3\n' "$value" >b.mtx
    for command in "detect wild.mtx" "solve wild.mtx"; do
        # shellcheck disable=SC2086 # words of a command
        expect 3 "matrix with $value" $command
        says err "wild.mtx: line 4: value '$value' is not a finite number"
    done
    for command in solve "sptrsv --part lower"; do
        # shellcheck disable=SC2086 # words of a command
        expect 3 "right-hand side with $value" $command three.mtx --rhs b.mtx --out kept
        says err "b.mtx: line 6: value '$value' is not a finite number"
        check "an existing file is kept" test "$(cat kept)" = old
    done
done
expect 3 "right-hand side is a matrix" solve poisson.mtx --rhs poisson.mtx

# Entries far from the diagonal here and there: no grid has them.
awk -v banner="$banner" 'BEGIN {
    n = 400; srand(1); print banner; print n, n, n + 300
    for (i = 1; i <= n; i++) {
        print i, i, 4
        if (i > 100) print i, 1 + (i * 7919 + i * i * 31) % (i - 1), -1
    }
}' >scattered.mtx
expect 3 "not a grid" detect scattered.mtx
says err 'row [0-9]* (1-based)'
says err 'the matrix is not a regular grid, or its rows are not in natural order (x fastest, '
# Five full diagonals, with zeros where a line of the grid ends: these are no couplings.
awk -v banner="$banner" -v nx=20 -v ny=15 'BEGIN {
    n = nx * ny
    print banner; print n, n, 5 * n - 2 - 2 * nx
    for (i = 1; i <= n; i++) {
        print i, i, 4
        if (i < n) { print i, i + 1, i % nx ? -1 : 0; print i + 1, i, i % nx ? -1 : 0 }
        if (i + nx <= n) { print i, i + nx, -1; print i + nx, i, -1 }
    }
}' >diagonals.mtx
for grid in "" "--grid 20x15"; do
    # shellcheck disable=SC2086 # no word, or an option and its value
    expect 0 "stored zeros" detect diagonals.mtx $grid
    says out '^grid 20 15 1$' '^stencil D2N5$'
    for precond in mg ic0 ilu0; do
        # shellcheck disable=SC2086
        expect 0 "stored zeros, $precond" solve diagonals.mtx $grid --precond $precond
    done
done
expect 3 "extents as in NumPy" solve diagonals.mtx --grid 15x20
says err 'the matrix is no 15 x 20 x 1 grid, but a 20 x 15 x 1 grid: give the extents as (nx, ny, nz)'
expect 3 "a grid of more points" solve diagonals.mtx --grid 20x16
says err "not a grid of the matrix's 300 points; rows seem to be missing: each point"

# Two unknowns in each point of a plane, one after the other.
awk -v banner="$banner" -v nx=9 -v ny=8 'BEGIN {
    n = nx * ny
    print banner; print 2 * n, 2 * n, 2 * (5 * n - 2 * nx - 2 * ny) + 2 * n
    for (s = 0; s <= n; s += n)
        for (i = 1; i <= n; i++) {
            print i + s, i + s, 5
            if (i % nx) { print i + s, i + s + 1, -1; print i + s + 1, i + s, -1 }
            if (i + nx <= n) { print i + s, i + s + nx, -1; print i + s + nx, i + s, -1 }
            print i + s, i + (s ? 0 : n), s ? -0.7 : 0.5
        }
}' >unknowns.mtx
expect 0 "two unknowns" detect unknowns.mtx
says out '^grid 9 8 2$'
says err 'warning: the rows look like 2 unknowns per point, which are taken for the z axis of a 9 x 8 x'
expect 0 "two unknowns, quietly" detect unknowns.mtx --quiet
refuse "no warning" test -s err

# torus NX NY NZ AXES FOLD: the 7-point matrix of a grid that is periodic along AXES, such as xz. FOLD
# is 1 where the points along these are stored in the order 0, n-1, 1, n-2, ...
torus() {
    awk -v banner="$banner" -v nx="$1" -v ny="$2" -v nz="$3" -v axes="$4" -v fold="$5" '
        function place(p, n, axis) {
            return fold && index(axes, axis) ? (2 * p < n ? 2 * p : 2 * (n - p) - 1) : p
        }
        function row(x, y, z) {
            return 1 + place(x, nx, "x") + nx * (place(y, ny, "y") + ny * place(z, nz, "z"))
        }
        function couple(i, x, y, z) {
            if (index(axes, "x")) x = (x + nx) % nx
            if (index(axes, "y")) y = (y + ny) % ny
            if (index(axes, "z")) z = (z + nz) % nz
            if (x >= 0 && y >= 0 && z >= 0 && x < nx && y < ny && z < nz && row(x, y, z) != i)
                entry[count++] = i " " row(x, y, z) " -1"
        }
        BEGIN {
            for (z = 0; z < nz; z++) for (y = 0; y < ny; y++) for (x = 0; x < nx; x++) {
                i = row(x, y, z)
                entry[count++] = i " " i " 6.5"
                couple(i, x - 1, y, z); couple(i, x + 1, y, z)
                if (ny > 1) { couple(i, x, y - 1, z); couple(i, x, y + 1, z) }
                if (nz > 1) { couple(i, x, y, z - 1); couple(i, x, y, z + 1) }
            }
            print banner; print nx * ny * nz, nx * ny * nz, count
            for (k = 0; k < count; k++) print entry[k]
        }'
}
for case in "30 1 1 x:x" "12 9 1 y:y" "12 9 1 xy:x and y" "9 8 7 x:x" "9 8 7 yz:y and z" \
    "9 8 7 xyz:x, y and z"; do
    # shellcheck disable=SC2086 # four words
    set -- ${case%:*}
    torus "$@" 0 >torus.mtx
    for given in "" "--grid $1x$2x$3" "--grid $1x$2x$3 --periodic $4"; do
        # shellcheck disable=SC2086 # words of options
        expect 0 "periodic along $4, $given" detect torus.mtx $given --json r.json
        says out "^grid $1 $2 $3\$"
        says out "^periodic $4\$"
        says out '^stencil D[23]N[57]$'
        check "the periodic axes" grep -q "\"periodic\":[[:space:]]*\"$4\"" r.json
    done
    for part in lower upper; do
        for algorithm in reference line pencil; do
            expect 0 "periodic, $algorithm" sptrsv torus.mtx --part $part \
                --algorithm $algorithm --backend cpu --json r.json
            check "the error of $algorithm" less "$(number r.json max_rel_error)" 1e-13
        done
    done
    for precond in auto ilu0 ic0 dilu ssor mg; do
        expect 0 "periodic, $precond" solve torus.mtx --precond $precond --rhs random:1 \
            --backend cpu
        says out "^periodic .*$4\$"
    done
    expect 0 "periodic, factors" factor torus.mtx --precond ilu0 --out-l L.mtx --out-u U.mtx
    rm -f L.mtx U.mtx
    torus "$@" 1 >folded.mtx
    expect 0 "periodic, folded" detect folded.mtx
    refuse "a named stencil" grep -q custom out
    for precond in auto ic0 mg; do
        expect 0 "periodic, folded" solve folded.mtx --precond $precond --rhs random:1 --backend cpu
    done
done
torus 1025 2 1 x 0 >torus.mtx
expect 0 "the longest periodic axis" detect torus.mtx --grid 1025x2
torus 1026 2 1 x 0 >torus.mtx
for grid in "" "--grid 1026x2"; do
    # shellcheck disable=SC2086 # no word, or an option and its value
    expect 3 "a longer one" detect torus.mtx $grid
    says err 'periodic in x: .*; couplings of a CSR reach at most 1024 points, so give stencil arrays'
done
torus 9 8 7 x 0 >torus.mtx
expect 3 "another axis" detect torus.mtx --grid 9x8x7 --periodic y
says err 'along an axis that is not said to be periodic'
expect 2 "no axis" detect torus.mtx --grid 9x8x7 --periodic w
expect 2 "no grid" detect torus.mtx --periodic x
# The rows of a grid in random order, and the same points by z first.
"$program" generate --problem poisson:9x8x7 --out - --quiet >natural.mtx
awk 'BEGIN { srand(3); for (i = 1; i <= 504; i++) p[i] = i
             for (i = 504; i > 1; i--) { j = 1 + int(rand() * i); t = p[i]; p[i] = p[j]; p[j] = t } }
     /^%/ { print; next } !n++ { print; next } { print p[$1], p[$2], $3 }' natural.mtx >shuffled.mtx
awk 'function p(i) { i--; return 1 + int(i / 72) + 7 * (int(i / 9) % 8 + 8 * (i % 9)) }
     /^%/ { print; next } !n++ { print; next } { print p($1), p($2), $3 }' natural.mtx >swapped.mtx
for command in detect "sptrsv --part lower" solve "solve --grid 9x8x7"; do
    # shellcheck disable=SC2086 # words of a command
    expect 3 "rows in random order" $command shuffled.mtx
    says err 'the rows are not in natural order (x fastest, then y, then z): .* D3N7 on a 9 x 8 x 7 grid'
done
detects swapped.mtx "7 8 9" D3N7
# The centre of a 3 x 3 grid, entry (5, 5) of the file, is missing.
awk -v banner="$banner" 'BEGIN {
    print banner; print 9, 9, 32
    for (i = 1; i <= 9; i++)
        for (j = 1; j <= 9; j++) {
            x = (i - 1) % 3 - (j - 1) % 3; y = int((i - 1) / 3) - int((j - 1) / 3)
            if (x * x + y * y <= 1 && i + j != 10 || x * x + y * y <= 1 && i != 5)
                print i, j, i == j ? 4 : -1
        }
}' >hole.mtx
for command in "solve hole.mtx" "factor hole.mtx --out-l L.mtx --out-u U.mtx"; do
    # shellcheck disable=SC2086 # words of a command
    expect 4 "no diagonal" $command --precond ic0
    says err 'ic0: the pivot of row 5 (1-based), (x, y, z) = (1, 1, 0) is zero'
done
expect 4 "no diagonal" solve hole.mtx --precond jacobi
says err 'diagonal of row 5 (1-based), (x, y, z) = (1, 1, 0) is zero'
expect 4 "no diagonal" sptrsv hole.mtx --part upper
says err 'from row 5 (1-based), (x, y, z) = (1, 1, 0) on'

# ---- solve --------------------------------------------------------------------------------------

for method in cg bicgstab gmres; do
    for precond in none jacobi ilu0 ic0 dilu ssor; do
        expect 0 "solve" solve poisson.mtx --method $method --precond $precond --rtol 1e-10 \
            --json r.json --norm true
        says out '^converged in [0-9]* iterations*$'
        check "true residual" less "$(number r.json residual)" 1.01e-10
        keys r.json "method \"$method\"" "precond \"$precond\""
    done
done
expect 0 "defaults" solve --problem convection:12x9x7 --json r.json
for word in grid stencil rows nonzeros backend device threads setup factor solve iterations \
    residual; do
    says out "^$word "
done
says out '^setup .* ms to generate the system$'
stamped r.json
for key in setup_ms factor_ms solve_ms; do
    check "$key" less 0 "$(number r.json $key)"
done
keys r.json 'method "bicgstab"' 'precond "ilu0"' 'converged true'
refuse "no keys of sweeps" grep -q '"part"' r.json
keys r.json 'dtype "f64"' 'problem "convection:12x9x7"' 'file null'
check "rows" test "$(number r.json rows)" -eq 756
check "nonzeros" test "$(number r.json nonzeros)" -eq "$(sed -n 's/^nonzeros *//p' out)"
check "rtol" test "$(number r.json rtol)" = 1e-08
keys r.json 'status "GSW_SUCCESS"' 'message null' 'removed null' 'stagnated false'
says out '^ *0  1.000e+00$'
refuse "no control characters off a terminal" grep -q "$(printf '[\r\033]')" out
expect 0 "left preconditioning" solve --problem convection:12x9x7 --method gmres --restart 10 \
    --norm preconditioned
for form in always never; do
    expect 0 "Eisenstat's form: $form" solve --problem convection:12x9x7 --method bicgstab --precond ilu0 \
        --backend cpu --eisenstat "$form" --json r.json
    iterations=$(number r.json iterations)
    [ $form = always ] || iterations=0
    check "iterations in the form: $form" test "$(number r.json eisenstat)" -eq "$iterations"
done
expect 0 "a form that does not apply" solve --problem convection:12x9x7 --precond jacobi --eisenstat always
says err 'warning: --eisenstat always does nothing'
# Pure Neumann conditions on 13 x 9 points: rows add up to 0, and constant vectors are mapped to 0.
awk 'BEGIN {
    nx = 13; ny = 9; n = 0
    for (y = 0; y < ny; y++) for (x = 0; x < nx; x++) {
        i = x + nx * y + 1; d = 0
        if (y > 0) { e[n++] = i " " i - nx " -1"; d++ }
        if (x > 0) { e[n++] = i " " i - 1 " -1"; d++ }
        if (x < nx - 1) { e[n++] = i " " i + 1 " -1"; d++ }
        if (y < ny - 1) { e[n++] = i " " i + nx " -1"; d++ }
        e[n++] = i " " i " " d
    }
    print "%%MatrixMarket matrix coordinate real general"
    print nx * ny, nx * ny, n
    for (k = 0; k < n; k++) print e[k]
}' >neumann.mtx
# residual FILE X: the norm of the mean-free part of -A x + b for b = row number modulo 5, over that of b.
residual() {
    awk -v x="$2" 'BEGIN { while ((getline line <x) > 0) if (line !~ /^%/ && ++k > 1) v[k - 1] = line }
        /^%/ { next }
        !n { n = $1; for (i = 1; i <= n; i++) { b[i] = i % 5; mean += b[i] / n } next }
        { ax[$1] += $3 * v[$2] }
        END { for (i = 1; i <= n; i++) { s += (b[i] - mean) ^ 2; off += (b[i] - ax[i]) / n }
              for (i = 1; i <= n; i++) r += (b[i] - ax[i] - off) ^ 2
              printf "%.3e\n", sqrt(r / s) }' "$1"
}
awk 'BEGIN { print "%%MatrixMarket matrix array real general"; print 117, 1
             for (i = 1; i <= 117; i++) print i % 5 }' >b.mtx
for choice in "cg none" "cg jacobi" "cg ic0" "bicgstab ilu0" "gmres ilu0" "gmres none"; do
    expect 0 "null space, $choice" solve neumann.mtx --rhs b.mtx --nullspace constant \
        --method "${choice% *}" --precond "${choice#* }" --out x.mtx --json r.json
    says out '^nullspace  *constant; 81.[0-9]*% of b left out$'
    keys r.json 'removed 0.81'
    check "$choice: the residual of x" less "$(residual neumann.mtx x.mtx)" 1.0001e-8
    check "$choice: the residual told" less "$(number r.json residual)" 1e-8
done
expect 1 "a singular matrix" solve neumann.mtx --method cg --precond none --rhs random:1
says err 'b does not fit the singular matrix: the sum of b must be 0, .* see nullspace'
expect 1 "a singular matrix, chosen" solve neumann.mtx
says err 'b does not fit the singular matrix: the sum of b must be 0, but its part along constants is 1 '
expect 0 "a singular matrix, chosen, with its null space" solve neumann.mtx --nullspace constant \
    --rhs random:1
refuse "no warning then" grep -q warning err
expect 0 "a constant b" solve neumann.mtx --nullspace constant
says err 'warning: b is constant'
expect 1 "a tolerance that fp64 does not attain" solve --problem poisson:12x9x7 --rtol 1e-20 \
    --max-iter 500 --json r.json
says err 'stagnated after'
keys r.json 'stagnated true'
for input in poisson.mtx '--problem poisson:12x9x7'; do
    # shellcheck disable=SC2086
    expect 3 "not a null vector" solve $input --nullspace constant
    says err 'the constant vector is not in the null space'
    refuse "no hint then" grep -q '^Try' err
done
expect 1 "one iteration" solve poisson.mtx --max-iter 1
says err 'not converged: after 1 iteration the recurrence gives '
printf '%%%%MatrixMarket matrix coordinate real general\n4 4 8\n1 1 0\n2 2 0\n3 3 0\n4 4 0\n1 2 1\n2 1 1\n3 4 1\n4 3 1\n' >zeros.mtx
expect 0 "a diagonal of zeros" solve zeros.mtx
says out '^choice  *none with gmres: no preconditioner: .* is zero or not finite'
expect 0 "f32 factor" solve --problem convection:12x9x7 --factor-precision f32 --json r.json
keys r.json 'factor_dtype "f32"'
expect 0 "relaxation" solve --problem poisson:12x9x7 --precond ssor --omega 1.4 --method cg
expect 0 "one thread" solve --problem poisson:12x9x7 --threads 1 --backend cpu --json r.json
keys r.json 'threads 1'
expect 0 "as many threads as any machine may have" solve poisson.mtx --threads 64 --backend cpu
OMP_NUM_THREADS=1000000 expect 0 "no more threads than --threads takes" solve poisson.mtx \
    --backend cpu --json r.json
check "OMP_NUM_THREADS is capped" \
    test "$(sed -n 's/.*"threads":[[:space:]]*\([0-9]*\).*/\1/p' r.json)" -le $((64 + 8 * $(nproc)))
expect 0 "random problem on a stencil" solve --stencil D3N27 --problem random:3:9x9x9
expect 0 "options first" solve --rtol 1e-4 --method cg poisson.mtx
expect 0 "options with =" solve poisson.mtx --rtol=1e-4 --method=cg
expect 0 "a file after --" solve --method cg -- poisson.mtx

# ---- multigrid ----

for method in cg bicgstab gmres; do
    expect 0 "multigrid" solve poisson.mtx --method $method --precond mg --json r.json
    keys r.json 'precond "mg"'
    says r.json '"operator_complexity":'
    says out "preconditioner mg$([ $method = gmres ] || echo ' in f32')"
done
for smoother in auto gs symgs ilu0 ilu0-finest jacobi chebyshev; do
    expect 0 "smoother" solve --problem lognormal:15x14x13 --method cg --precond mg --mg-info \
        --mg-smoother $smoother --mg-cycle W --mg-precision f64 --mg-theta 0.5
    says out "^multigrid .* levels, W cycle" "^ *0 .*15x14x13 .*D3N7" "direct"
done
expect 0 "smoother" solve --problem convection:16x9x7 --precond mg --mg-cycle F
says out "smoother symgs"
blames_each "is not for --precond ilu0" "solve poisson.mtx --precond ilu0" "--mg-cycle V" \
    "--mg-smoother gs" "--mg-theta 0.5" "--mg-precision f64" --mg-info
misuses "solve poisson.mtx --precond mg" "--factor-precision f32" "--pivot-shift 1" "--mg-theta 0" \
    "--mg-cycle X"

# ---- what the program chooses ----

chooses() { # chooses PRECOND METHOD REASON ARGUMENT...: the choice's line and the JSON
    precond=$1 method=$2 reason=$3
    shift 3
    expect 0 "the choice for $*" solve "$@" --json r.json
    says out "^choice  *$precond with $method: .*$reason"
    keys r.json "precond \"$precond\"" "method \"$method\"" "chosen_precond \"$precond\"" \
        "chosen_method \"$method\"" "reason \".*$reason" 'fallback null'
    refuse "no other attempt" grep -q '^fallback' out
}

chooses mg cg 'ic0 would take many' --problem poisson:32x32x32 --backend cpu
says r.json '"operator_complexity":' '"levels":'
keys r.json 'factor_dtype "f32"'
check "few iterations" less "$(number r.json iterations)" 11
check "the true residual" less "$(number r.json residual)" 1e-8
for key in factor_ms solve_ms; do
    check "$key" less 0 "$(number r.json $key)"
done
chooses mg cg 'ic0 would take many' --problem poisson:32x32x32 --precond auto --method auto --mg-info \
    --mg-smoother symgs --mg-precision f64 --mg-cycle F --backend cpu
says out "smoother symgs" "F cycle"
keys r.json 'factor_dtype "f64"'
chooses ic0 cg 'takes only some' --problem poisson:16x16x16 --factor-precision f32 --backend cpu
keys r.json 'factor_dtype "f32"'
refuse "no levels" grep -q '"levels"' r.json
chooses ilu0 bicgstab 'takes only some' --problem convection:16x16x16 --backend cpu
chooses ilu0 bicgstab 'sign of the diagonal' --problem random:1:12x12x12 --backend cpu
chooses ic0 cg 'too small' poisson.mtx --backend cpu
chooses ic0 cg 'too small' neumann.mtx --rhs random:1 --nullspace constant --backend cpu
expect 0 "method alone" solve --problem poisson:16x16x16 --precond ssor --json r.json
says out '^choice  *cg: symmetric'
keys r.json 'chosen_precond null' 'chosen_method "cg"'
expect 0 "method alone" solve --problem convection:16x9x7 --precond none
says out '^choice  *bicgstab: not symmetric'
expect 0 "preconditioner alone" solve --problem poisson:16x16x16 --method gmres --json r.json
says out '^choice  *ic0: '
keys r.json 'method "gmres"' 'chosen_method null'
expect 0 "neither" solve --problem poisson:16x16x16 --method bicgstab --precond ilu0 --json r.json
refuse "nothing is chosen" grep -q '^choice' out
keys r.json 'auto null'
blames "not for --method auto" solve poisson.mtx --restart 5
blames "not for --precond auto" solve poisson.mtx --omega 1.2
misuse bench --whole-solve --problem poisson:4x4x4 --precond auto
misuse bench --whole-solve --problem poisson:4x4x4 --method richardson

# Pure Neumann conditions on a line: the elimination is exact, and there is no factor.
awk 'BEGIN { n = 90; print "%%MatrixMarket matrix coordinate real general"; print n, n, 3 * n - 2
    for (i = 1; i <= n; i++) {
        if (i > 1) print i, i - 1, -1
        print i, i, (i > 1) + (i < n)
        if (i < n) print i, i + 1, -1
    } }' >line.mtx
chooses mg cg 'no factor' line.mtx --grid 90x1x1 --rhs random:1 --nullspace constant --backend cpu
expect 1 "a singular matrix" solve neumann.mtx --rhs random:1
says err 'b does not fit the singular matrix'
refuse "nothing else is tried" grep -q '^fallback' out

# The same in 3D with rough weights, where multigrid is chosen and cannot converge.
awk 'BEGIN {
    n = 12
    for (i = 1; i <= n ^ 3; i++) for (k = 14; k < 27; k++) {
        x = (i - 1) % n + k % 3 - 1
        y = int((i - 1) / n) % n + int(k / 3) % 3 - 1
        z = int((i - 1) / n / n) + int(k / 9) - 1
        if (x < 0 || x >= n || y < 0 || y >= n || z >= n) continue
        j = x + n * (y + n * z) + 1; w = 1 + (i * 131 + j * 37) % 97
        d[i] += w; d[j] += w; e[m++] = j " " i " " (-w)
    }
    print "%%MatrixMarket matrix coordinate real symmetric"
    print n ^ 3, n ^ 3, m + n ^ 3
    for (k = 0; k < m; k++) print e[k]
    for (i = 1; i <= n ^ 3; i++) print i, i, d[i]
}' >rough.mtx
expect 1 "a singular matrix, multigrid" solve rough.mtx --rhs random:1 --method bicgstab \
    --max-iter 100 --backend cpu --json r.json
says err 'not converged: b does not fit the singular matrix: .* see nullspace'
keys r.json 'status "GSW_ERROR_NOT_CONVERGED"'
chooses mg cg 'symmetric M-matrix' rough.mtx --rhs random:1 --nullspace constant --backend cpu

# Symmetric with a positive diagonal, but indefinite: what CG meets, BiCGSTAB goes on from.
awk 'BEGIN { n = 12; print "%%MatrixMarket matrix coordinate real general"
    print n * n, n * n, 5 * n * n - 4 * n
    for (i = 1; i <= n * n; i++) {
        x = (i - 1) % n; y = int((i - 1) / n)
        if (y > 0) print i, i - n, -0.9
        if (x > 0) print i, i - 1, -0.9
        print i, i, 1
        if (x < n - 1) print i, i + 1, -0.9
        if (y < n - 1) print i, i + n, -0.9
    } }' >indefinite.mtx
expect 0 "indefinite" solve indefinite.mtx --precond none --json r.json --backend cpu
says out '^choice  *cg: symmetric' '^fallback  *none with bicgstab: cg: iteration .*indefinite'
keys r.json 'method "bicgstab"' 'chosen_method "cg"' 'fallback "none with bicgstab: cg: '
expect 4 "indefinite, and CG is asked for" solve indefinite.mtx --precond none --method cg
refuse "nothing else is tried" grep -q '^fallback' out

# Blocks of 20 x 20 points, each with its own strong axis: cycles gain little in the long run.
awk 'BEGIN { n = 160; w = 20; c = 1e-3; s = 1
    for (i = 0; i < 64; i++) { s = (s * 16807) % 2147483647; a[i] = s < 1073741824 ? 1 : c }
    print "%%MatrixMarket matrix coordinate real general"; print n * n, n * n, 5 * n * n - 4 * n
    for (y = 0; y < n; y++) for (x = 0; x < n; x++) {
        i = x + n * y + 1; d = 0
        for (q = 0; q < 4; q++) {
            dx = (q == 2) - (q == 1); dy = (q == 3) - (q == 0); X = x + dx; Y = y + dy
            k = a[int(x / w) + 8 * int(y / w)]; k = dx ? k : c / k
            if (X < 0 || X >= n || Y < 0 || Y >= n) { d += k; continue }
            l = a[int(X / w) + 8 * int(Y / w)]; l = dx ? l : c / l
            t = 2 * k * l / (k + l); d += t
            printf "%d %d %.17g\n", i, X + n * Y + 1, -t
        }
        printf "%d %d %.17g\n", i, i, d
    } }' >blocks.mtx
expect 0 "the smoother changes" solve blocks.mtx --json r.json --backend cpu
says out '^choice  *mg with cg: '
refuse "nothing else is tried" grep -q '^fallback' out
check "iterations with both smoothers" less "$(number r.json iterations)" 40
expect 0 "multigrid stagnates" solve blocks.mtx --mg-smoother gs --json r.json --backend cpu
says out '^choice  *mg with cg: '
says out '^fallback  *ic0 with cg: mg with cg stagnates at .* after 30 iterations'
keys r.json 'precond "ic0"' 'chosen_precond "mg"' 'fallback "ic0 with cg: mg with cg stagnates'
check "the true residual" less "$(number r.json residual)" 1e-8
check "iterations of both" less 60 "$(number r.json iterations)"
refuse "no levels any more" grep -q '"levels"' r.json
expect 1 "no iterations are left to change" solve blocks.mtx --mg-smoother gs --max-iter 30
expect 0 "multigrid is asked for" solve blocks.mtx --precond mg --method cg
refuse "nothing else is tried" grep -q '^fallback' out
expect 0 "another smoother" solve blocks.mtx --mg-theta 0.99 --mg-smoother jacobi --backend cpu
awk '{ if (NR > 2) $3 = sprintf("%.17g", $3 * 1e100); print }' blocks.mtx >huge.mtx
expect 0 "beyond fp32" solve huge.mtx --backend cpu
says out '^choice  *ic0 with cg: .*refused: multigrid: .*beyond the range of fp32'

# ---- multigrid on its own ----

expect 0 "multigrid on its own" solve --problem poisson:32x32x32 --method richardson --precond mg \
    --json r.json
keys r.json 'method "richardson"'
check "few iterations" less "$(number r.json iterations)" 16
expect 0 "the choice, on its own" solve --problem poisson:32x32x32 --method richardson --backend cpu
says out '^choice  *mg: '
expect 0 "sweeps on their own" solve poisson.mtx --method richardson --precond ssor
expect 1 "divergence" solve --problem poisson:12x9x7 --method richardson --precond none --json r.json
says err 'not converged: diverged after'
keys r.json 'stagnated true'

expect 0 "quiet" solve poisson.mtx --quiet --method cg --precond ic0
refuse "quiet is silent" test -s out
refuse "quiet is silent" test -s err

printf '%s\n1 1 1\n1 1 2\n' "$banner" >one.mtx
expect 0 "one point" solve one.mtx --out x.mtx
says out '^converged in 1 iteration$'
tail -n 1 x.mtx >value
says value '^0.5$'
printf '%%%%MatrixMarket matrix array real general\n1 1\n3\n' >b.mtx
expect 0 "right-hand side from a file" solve one.mtx --rhs b.mtx --out x.mtx
tail -n 1 x.mtx >value
says value '^1.5$'
expect 0 "no preconditioner" solve poisson.mtx --precond none --json r.json
says out '^setup .* ms to read the system$'
refuse "no factorisation" grep -q '^factor ' out
keys r.json 'factor_ms null' 'upload_ms null'
expect 0 "random right-hand side" solve poisson.mtx --rhs random:5 --out x5.mtx
expect 0 "another one" solve poisson.mtx --rhs random:6 --out x6.mtx
refuse "seeds differ" cmp x5.mtx x6.mtx
expect 0 "solution on stdout" solve poisson.mtx --rhs random:5 --out -
check "the same on stdout as in a file" cmp out x5.mtx
says err '^converged in'
expect 0 "JSON on stdout" solve poisson.mtx --json -
stamped out
keys out 'file "poisson.mtx"'
expect 0 "device as output" solve poisson.mtx --out /dev/null --json /dev/null
check "/dev/null is still a device" test -c /dev/null

# What is read is never replaced, whatever it is called: a slip would lose the matrix.
cp poisson.mtx A.mtx
ln -s A.mtx symbolic.mtx
ln A.mtx hard.mtx
cp x5.mtx b.mtx
for output in A.mtx ./A.mtx "$work/A.mtx" symbolic.mtx hard.mtx; do
    for option in --out --json; do
        blames "^$option is the same file as the input 'A.mtx'" solve A.mtx $option "$output"
        misuse sptrsv A.mtx --part lower $option "$output"
    done
    misuse detect A.mtx --json "$output"
    blames "^--out-l is the same file" factor A.mtx --precond ilu0 --out-l "$output" --out-u U.mtx
    misuse factor A.mtx --precond ilu0 --out-l L.mtx --out-u "$output"
done
blames "^--out is the same file as the input 'b.mtx'" solve A.mtx --rhs b.mtx --out b.mtx
misuse bench --whole-solve --problem poisson:5x4x3 --rhs b.mtx --json b.mtx
"$program" solve - --out A.mtx <A.mtx >out 2>err
check "standard input is a file" test $? -eq 2
"$program" solve A.mtx --out - >>A.mtx 2>err
check "standard output is the input" test $? -eq 2
check "the matrix is as it was" cmp A.mtx poisson.mtx
check "the right-hand side is as it was" cmp b.mtx x5.mtx
rm A.mtx symbolic.mtx hard.mtx

rm -f x.mtx r.json
expect 1 "not converged" solve --problem poisson:20x20x20 --max-iter 3 --out x.mtx --json r.json
says err 'not converged: after 3 iterations'
says out '^not converged in 3 iterations$'
keys r.json 'converged false' 'iterations 3' 'status "GSW_ERROR_NOT_CONVERGED"' \
    'message "after 3 iterations'
check "the last iterate is written" test "$(wc -l <x.mtx)" -gt 8000

# Of the method itself, the JSON tells how it failed: p'Ap = 0, and a b whose norm overflows.
printf '%s\n2 2 4\n1 1 0\n1 2 1\n2 1 1\n2 2 0\n' "$banner" >swap.mtx
printf '%%%%MatrixMarket matrix array real general\n2 1\n1\n0\n' >first.mtx
printf '%%%%MatrixMarket matrix array real general\n2 1\n1\n1e300\n' >bad.mtx
for failure in first.mtx:BREAKDOWN bad.mtx:NON_FINITE; do
    rm -f x.mtx r.json
    expect 4 "the method fails" solve swap.mtx --method cg --precond none --rhs "${failure%:*}" \
        --out x.mtx --json r.json
    stamped r.json
    keys r.json "status \"GSW_ERROR_${failure#*:}\"" 'message "[a-z]' 'converged false'
    refuse "no solution then" test -e x.mtx
done

# The second pivot is 1 - 1*1 = 0.
printf '%s\n2 2 4\n1 1 1\n1 2 1\n2 1 1\n2 2 1\n' "$banner" >singular.mtx
rm -f x.mtx r.json
expect 4 "zero pivot" solve singular.mtx --precond ilu0 --out x.mtx --json r.json
says err 'pivot of row 2 (1-based), (x, y, z) = (1, 0, 0) is zero'
refuse "no solution after a breakdown" test -e x.mtx
refuse "no JSON after a breakdown" test -e r.json
"$program" solve singular.mtx --precond ilu0 --pivot-shift 0.1 >out 2>err
says out '^pivots  *1 shifted$'
refuse "a shift avoids the zero pivot" grep -q 'pivot.*row' err
if "$program" info | grep -q '^GPUs *none'; then
    for command in "solve poisson.mtx" "solve poisson.mtx --precond none" "bench --size 8" tune \
        "sptrsv poisson.mtx --part lower" "detect poisson.mtx" \
        "factor poisson.mtx --precond ilu0 --out-l L.mtx --out-u U.mtx"; do
        # shellcheck disable=SC2086 # words of a command
        expect 5 "no such backend" $command --backend cuda
        says err 'backend cuda'
        refuse "nothing is written" test -e L.mtx
    done
    expect 0 "auto takes the CPU" sptrsv poisson.mtx --part lower --backend auto
    says out '^backend *cpu$'
    expect 5 "a cold cache needs a GPU" bench --cache warm,cold --size 8
    says err 'GPU'
fi

# A terminal gets a live line that is cleared at the end.
if script -qec true /dev/null >/dev/null 2>&1; then
    script -qec "$program solve --problem poisson:9x9x9" typescript >/dev/null 2>&1 </dev/null
    tr '\r' '\n' <typescript >lines
    says lines 'iteration [0-9]* .*residual .*rate .*left' '^converged in'
    refuse "no table on a terminal" grep -q '^ *iteration  residual' lines
fi

# ---- sptrsv -------------------------------------------------------------------------------------

# Lower part: 2; 1 4; 0 1 5. Upper part: 2 6 0; 4 8; 5.
printf '%s\n3 3 7\n1 1 2\n1 2 6\n2 1 1\n2 2 4\n2 3 8\n3 2 1\n3 3 5\n' "$banner" >tri.mtx
solution() { # solution VALUES ARGUMENTS...
    wanted=$1
    shift
    for algorithm in reference line pencil auto; do
        expect 0 "sptrsv" sptrsv tri.mtx --algorithm $algorithm --out x.mtx "$@"
        check "solution of sptrsv $* with $algorithm" \
            test "$(tail -n 3 x.mtx | awk '{ printf "%.6f ", $1 }')" = "$wanted "
    done
}
printf '%%%%MatrixMarket matrix array real general\n3 1\n2\n5\n11\n' >b3.mtx
solution "1.000000 1.000000 2.000000" --part lower --rhs b3.mtx
solution "2.000000 3.000000 8.000000" --part lower --rhs b3.mtx --unit-diagonal
solution "0.400000 0.200000 0.200000" --part lower --transpose
solution "10.450000 -3.150000 2.200000" --part upper --rhs b3.mtx
solution "1.000000 -0.250000 2.600000" --part upper --transpose --rhs b3.mtx

for part in lower upper; do
    for algorithm in reference line pencil; do
        for transpose in "" --transpose; do
            for threads in 1 2; do
                expect 0 "sptrsv" sptrsv --problem random:2:17x13x11 --stencil D3N27 --part $part \
                    --algorithm $algorithm $transpose --threads $threads --rhs random:1 \
                    --repeats 2 --json s.json --out x$threads.mtx
                check "error" less "$(number s.json max_rel_error)" 1e-13
            done
            check "the same bits for any number of threads" cmp x1.mtx x2.mtx
        done
    done
done
stamped s.json
keys s.json 'part "upper"' 'repeats 2'
check "a rate" less 0 "$(number s.json effective_gb_s)"
expect 0 "sptrsv without check" sptrsv poisson.mtx --part lower --no-check --json s.json
keys s.json 'max_rel_error null'
printf '%s\n2 2 3\n1 1 1\n2 1 1\n2 2 0\n' "$banner" >flat.mtx
rm -f x.mtx
expect 4 "zero diagonal" sptrsv flat.mtx --part lower --out x.mtx
says err 'from row 2 (1-based), (x, y, z) = (1, 0, 0) on'
refuse "no solution with a zero diagonal" test -e x.mtx
expect 0 "unit diagonal instead" sptrsv flat.mtx --part lower --unit-diagonal

# ---- factor -------------------------------------------------------------------------------------

# A tridiagonal matrix has no fill-in: ILU(0) is LU.
printf '%s\n3 3 7\n1 1 4\n1 2 -1\n2 1 -1\n2 2 4.25\n2 3 -1\n3 2 -1\n3 3 4.25\n' "$banner" >band.mtx
entry() { # entry FILE ROW COLUMN
    awk -v r="$2" -v c="$3" '!/^%/ && NF == 3 && seen++ && $1 == r && $2 == c { print $3 }' "$1"
}
expect 0 "factor" factor band.mtx --precond ilu0 --out-l L.mtx --out-u U.mtx --json f.json
check "L(1,1)" test "$(entry L.mtx 1 1)" = 1
check "L(2,1)" test "$(entry L.mtx 2 1)" = -0.25
check "U(1,1)" test "$(entry U.mtx 1 1)" = 4
check "U(2,2)" test "$(entry U.mtx 2 2)" = 4
check "U(2,3)" test "$(entry U.mtx 2 3)" = -1
check "L(3,2)" test "$(entry L.mtx 3 2)" = -0.25
stamped f.json
keys f.json 'precond "ilu0"'
expect 0 "factor" factor --precond ic0 band.mtx --out-l L.mtx --out-u U.mtx
check "IC(0) L(1,1)" test "$(entry L.mtx 1 1)" = 2
check "IC(0) U(1,2)" test "$(entry U.mtx 1 2)" = -0.5
expect 0 "factor" factor --precond dilu band.mtx --out-l L.mtx --out-u U.mtx
check "DILU L(2,2)" test "$(entry L.mtx 2 2)" = 4
check "DILU U(1,2)" test "$(entry U.mtx 1 2)" = -0.25
expect 0 "factors of a problem" \
    factor --problem hpcg:7x6x5 --precond ilu0 --out-l L.mtx --out-u U.mtx
expect 0 "a factor is a matrix" sptrsv L.mtx --part lower --unit-diagonal --grid 7x6x5
for other in missing/U.mtx folder; do
    echo old >L.mtx
    expect 3 "the second file cannot be written" \
        factor band.mtx --precond ilu0 --out-l L.mtx --out-u $other
    check "then the first is kept" test "$(cat L.mtx)" = old
done
echo old >L.mtx
expect 4 "zero pivot" factor singular.mtx --precond ilu0 --out-l L.mtx --out-u U2.mtx
says err 'pivot of row 2 (1-based), (x, y, z) = (1, 0, 0) is zero'
check "L is kept" test "$(cat L.mtx)" = old
refuse "U is not made" test -e U2.mtx

# ---- bench --------------------------------------------------------------------------------------

expect 0 "bench of every stencil" bench --backend cpu --size 12 --algorithm pencil \
    --stencil "$(echo $stencils | sed 's/ /,/g')"
for stencil in $stencils; do
    says out "^$stencil "
done
expect 0 "bench" bench --stencil D3N7,D2N9 --size 12,9x8x7 --part lower,upper,both \
    --precision f64,f32,f32-factor --algorithm reference,line,pencil --repeats 2 --threads 1 \
    --json bench.json
stamped bench.json
says bench.json '"results":'
check "a result for every combination" test "$(grep -c '"max_rel_error"' bench.json)" -eq 108
check "a line for every combination" test "$(grep -c '^D[23]N' out)" -eq 108
says out '^D2N9  *12x12x1 '
check "the table fits 100 columns" awk 'length($0) > 100 { exit 1 }' out
keys bench.json 'fraction_of_copy [0-9]'
refuse "every error is a number" grep -q '"max_rel_error":[[:space:]]*null' bench.json
expect 0 "bench with defaults" bench --size 8 --json -
check "ten repeats at least" less 9 "$(number out repeats)"
keys out 'part "both"' 'algorithm "pencil"'

# One part as CSR in the backend's memory.
expect 0 "bench of one part" bench --stencil D3N7,D2N9 --size 12,9x8x7 --cache warm --backend cpu \
    --precision f64,f32,f32-factor --algorithm reference,line,pencil --repeats 2 --json bench.json
stamped bench.json
check "a result for every combination" test "$(grep -c '"max_rel_error"' bench.json)" -eq 72
check "a line for every combination" test "$(grep -c '^D[23]N' out)" -eq 72
check "the table fits 100 columns" awk 'length($0) > 100 { exit 1 }' out
says out '^D3N7 *12^3 *upper f32 *pencil *warm ' '^D3N7 *12^3 *upper f32-factor *pencil *warm '
keys bench.json 'kind "gridsweep"' 'cache "warm"'
refuse "every error is a number" grep -q '"max_rel_error":[[:space:]]*null' bench.json
refuse "nothing is skipped" grep -q '"reason"' bench.json

# One ILU(0) apply beside it: of packed factors alone.
expect 0 "bench of an apply" bench --stencil D3N7,D2N9 --size 12,9x8x7 --cache warm --backend cpu \
    --part lower,both --precision f64,f32,f32-factor --algorithm line,pencil --repeats 2 \
    --json bench.json
stamped bench.json
check "a result for every combination" test "$(grep -c '"max_rel_error"' bench.json)" -eq 36
says out '^D2N9 *12x12 *both *f32-factor *pencil *warm '
refuse "no apply without packing" grep -q ' both .* line ' out
keys bench.json 'precond "ilu0"'
refuse "every error is a number" grep -q '"max_rel_error":[[:space:]]*null' bench.json

# A step of symmetric Gauss-Seidel.
small_errors() { # small_errors FILE BOUND: all errors are numbers, none beyond the bound
    check "small errors" awk -v bound="$2" '/"max_rel_error":/ { n++; sub(/,/, "", $2)
        if (!($2 ~ /^[0-9]/ && $2 + 0 <= bound)) bad = 1 } END { exit bad || n == 0 }' "$1"
}
expect 0 "bench of a smoother" bench --part symgs --problem hpcg --size 16,9x8x7,20x10 \
    --backend cpu --repeats 2 --json bench.json
stamped bench.json
check "a result for every size" test "$(grep -c '"max_rel_error"' bench.json)" -eq 3
says out '^D3N27 *16^3 *symgs f64 *pencil *warm ' '^D2N9 *20x10 *symgs f64 '
check "the table fits 100 columns" awk 'length($0) > 100 { exit 1 }' out
keys bench.json 'part "symgs"' 'precond "ssor"' 'fraction_of_copy [0-9]'
small_errors bench.json 1e-12
# The matrix's 46^3 coefficients, the factor's 27 a point, and ten vectors.
check "moved bytes" awk -v rate="$(number bench.json moved_gb_s)" \
    -v ms="$(number bench.json median)" 'BEGIN { wanted = 8 * (46 ^ 3 + (27 + 10) * 16 ^ 3)
        error = rate * ms * 1e6 / wanted - 1; exit !(error < 1e-6 && error > -1e-6) }'
expect 0 "a smoother beside an apply" bench --part both,symgs,lower --stencil D3N7,D2N9 \
    --size 12,9x8x7 --algorithm line,pencil --precision f64,f32 --repeats 2 --backend cpu \
    --json bench.json
check "a result for every combination" test "$(grep -c '"max_rel_error"' bench.json)" -eq 28
check "smoothing in f64 alone" test "$(grep -c ' symgs f64 *pencil ' out)" -eq 4
refuse "nothing else smooths" grep -q ' symgs f32\| symgs .* line ' out
expect 0 "sweeps with ghost zones" bench --part relax --stencil D2N5,D3N27 --size 16,20x9 \
    --heights 3,1-2,8 --backend cpu --repeats 2 --json bench.json
stamped bench.json
check "a result for every height" test "$(grep -c '"max_rel_error"' bench.json)" -eq 16
check "predictions" test "$(grep -c '"predicted_ms":[[:space:]]*[0-9]' bench.json)" -eq 16
check "the bits of height 1" test "$(grep -c '"max_rel_error":[[:space:]]*0,' bench.json)" -ge 12
keys bench.json 'mode "relax"'
says out '^D2N5 *16x16 *3[*]* ' 'predicted'
check "the table fits 100 columns" awk 'length($0) > 100 { exit 1 }' out
small_errors bench.json 1e-13
expect 0 "a smoother with defaults" bench --part symgs --size 8 --quiet --json -
check "ten repeats at least" less 9 "$(number out repeats)"
keys out 'stencil "D3N7"'

# HPCG's algorithm.
expect 0 "bench of HPCG" bench --hpcg --size 16,24x17x19 --backend cpu --threads 2 --repeats 2 \
    --json bench.json
stamped bench.json
for key in iteration_ms gflops rated_gflops scaled_residual official; do
    check "$key in every result" test "$(grep -c "\"$key\":" bench.json)" -eq 2
    refuse "$key is there" grep -q "\"$key\":[[:space:]]*null" bench.json
done
says out '^16^3  *50 ' '^24x17x19  *50 ' \
    '^This is not an official HPCG result, because the structure of the grid is used\.$'
check "the table fits 100 columns" awk 'length($0) > 100 { exit 1 }' out
keys bench.json 'method "cg"' 'precond "mg"' 'official false'
small_errors bench.json 1e-12
expect 0 "one set of HPCG" bench --hpcg --size 24x17x19 --backend cpu --max-iter 7 --repeats 1 \
    --quiet --json bench.json
# HPCG's count: three products and three sums of vectors, a product with the matrix and the cycle in
# each iteration, and before the first one each of the first three. The bytes as the program's source
# has them.
check "operations and bytes" awk -v rate="$(number bench.json gflops)" \
    -v ms="$(number bench.json median)" -v moved="$(number bench.json moved_gb_s)" '
    function entries(x, y, z) { return (3 * x - 2) * (3 * y - 2) * (3 * z - 2) }
    function near(a, b) { return a / b - 1 < 1e-6 && a / b - 1 > -1e-6 }
    BEGIN { n[0] = 24 * 17 * 19; n[1] = 12 * 9 * 10; n[2] = 6 * 5 * 5; n[3] = 3 * 3 * 3
        e[0] = entries(24, 17, 19); e[1] = entries(12, 9, 10); e[2] = entries(6, 5, 5)
        e[3] = entries(3, 3, 3)
        flops = 22 * 2 * 2 * n[0] + 8 * 2 * e[0] + 7 * (10 * (e[0] + e[1] + e[2]) + 4 * e[3])
        bytes = 7 * 8 * (42 * n[0] + (16 + 17 + 8.5 + 34) * n[0] \
            + (16 + 30 + 8.5 + 60) * (n[1] + n[2]) + (16 + 30) * n[3] + 4 * (n[1] + n[2] + n[3]))
        exit !(near(rate * ms * 1e6, flops) && near(moved * ms * 1e6, bytes)) }'
expect 0 "HPCG to a tolerance" bench --hpcg --size 16 --backend cpu --rtol 1e-6 --repeats 1 --quiet \
    --json bench.json
check "fewer iterations" less "$(number bench.json iterations)" 20
check "the tolerance is met" less "$(number bench.json residual)" 1e-6

# Whole solves: from the stencil's arrays and from CSR, in each precision.
whole_keys="format settings total_ms total_with_setup_ms iteration_ms ratio ratio_with_setup"
whole() { # whole CODE NAME ARGUMENTS...
    code=$1
    name=$2
    shift 2
    expect "$code" "$name" bench --whole-solve --threads 1 --repeats 2 --backend cpu "$@"
}
iterations_agree() { # iterations_agree FILE: in all results, up to one
    check "the same iterations" awk '/"iterations":/ { n++; i = $2 + 0
        if (n == 1 || i < low) low = i
        if (n == 1 || i > high) high = i } END { exit !(n > 1 && low > 0 && high - low <= 1) }' "$1"
}
whole 0 "whole solve" --problem convection:13x12x11 --precision f64,f32-factor --rtol 1e-9 \
    --json bench.json
stamped bench.json
for key in $whole_keys; do
    says bench.json "\"$key\":"
done
check "a result for every combination" test "$(grep -c '"total_ms"' bench.json)" -eq 4
check "a line for every combination" test "$(grep -c '^gridsweep  *ilu0  *[cs]' out)" -eq 4
check "the table fits 100 columns" awk 'length($0) > 100 { exit 1 }' out
says out '^gridsweep  *ilu0  *stencil f32 ' '^gridsweep  *ilu0  *csr  *f64 '
keys bench.json 'method "bicgstab"' 'precond "ilu0"' 'ratio 1,' 'repeats 2'
check "every residual" awk '/"residual":/ { sub(/,/, "", $2); if (!($2 + 0 <= 1.1e-9)) exit 1 }' \
    bench.json
for key in setup_ms factor_ms solve_ms total_ms iteration_ms; do
    refuse "$key is a number everywhere" grep -q "\"$key\":[[:space:]]*null" bench.json
done
check "the solve is part of the total" \
    less "$(number bench.json factor_ms)" "$(number bench.json total_ms)"
whole 0 "whole solve without a preconditioner" --problem poisson:9x8x7 --method cg --precond none \
    --json -
keys out 'precond "none"'
says err '^gridsweep  *none  *stencil '
iterations_agree out
whole 0 "whole solve on a stencil" --problem random:3:9x8x7 --stencil D3N19 --method gmres
says out '^stencil  *D3N19$'
whole 0 "another right-hand side" --problem poisson:9x8x7 --rhs random:4 --method cg --precond ic0 \
    --quiet
refuse "quiet is silent" test -s out
whole 1 "whole solve with too few iterations" --problem poisson:20x20x20 --max-iter 3 --json bench.json
says err 'max-iter'
says out '[0-9][*] '
keys bench.json 'converged false'
# Several preconditioners in one run. Multigrid has a precision of its own.
whole 0 "multigrid beside a factor" --problem lognormal:16x15x14 --method cg --precond mg,ic0,mg \
    --json bench.json
check "each once, in both formats" test "$(grep -c '"total_ms"' bench.json)" -eq 4
check "multigrid in f32" test "$(grep -c '^gridsweep  *mg  *[a-z]*  *f32 ' out)" -eq 2
check "the factor in f64" test "$(grep -c '^gridsweep  *ic0  *[a-z]*  *f64 ' out)" -eq 2
says out '^  with V cycle, smoother gs, [0-9] levels$'
keys bench.json 'precond "mg"' 'precond "ic0"'
check "multigrid needs fewer iterations" awk '/"precond":/ { mg = /"mg"/ } /"iterations":/ {
    i = $2 + 0; if (mg) few = i; else many = i } END { exit !(few > 0 && 2 * few < many) }' bench.json
whole 0 "multigrid as the options say" --problem poisson:16x15x14 --method cg --precond mg \
    --mg-cycle F --mg-smoother symgs --mg-precision f64
says out '^gridsweep  *mg  *csr  *f64 ' '^  with F cycle, smoother symgs, '

whole 3 "right-hand side missing" --problem poisson:9x8x7 --rhs missing.mtx

whole 4 "one preconditioner does not suit" --problem convection:32x32x32 --method bicgstab \
    --precond ic0,jacobi --json bench.json
says out '^gridsweep  *ic0 .*cannot run: ic0: the pivot of row '
says out '^  .* is zero, negative or not finite$'
check "the table fits 100 columns" awk 'length($0) > 100 { exit 1 }' out
says out '^gridsweep  *jacobi  *csr  *f64  *[0-9]'
says err "2 of gridsweep's lines cannot run"
keys bench.json 'reason "ic0: the pivot of row ' 'precond "jacobi"'

"$program" bench --compare nobody --size 4 >out 2>err
check "no such rival" test $? -eq 2
if grep -q 'no rivals' err; then
    blames 'GSW_BUILD_PERF' bench --compare --size 8
    blames 'GSW_BUILD_PERF' bench --ablation --size 8
    blames 'GSW_BUILD_PERF' bench --whole-solve --problem poisson:8x8x8 --compare petsc
else
    says err "unknown name 'nobody'" '^  serial '
    expect 2 "no such rival in whole solves" bench --whole-solve --problem poisson:8x8x8 \
        --compare serial
    says err "unknown name 'serial'" '^  cusparse '
    whole 0 "a rival on a GPU alone" --problem poisson:8x8x8 --compare cusparse --json bench.json
    says out '^cusparse .*cannot run: --compare cusparse needs a GPU: --backend cuda$'
    keys bench.json 'reason "--compare cusparse needs'
    if "$program" bench --whole-solve --problem poisson:8x8x8 --compare nobody 2>&1 |
        grep -q '^  petsc .*not in this build'; then
        whole 0 "PETSc is missing" --problem poisson:8x8x8 --compare petsc
        says out '^petsc .*cannot run: '
    else
        for arguments in "convection:32x32x32 --method bicgstab --precond ilu0" \
            "lognormal:19x18x17 --method cg --precond ic0" \
            "poisson:32x32x32 --method cg --precond jacobi" \
            "hpcg:14x13x12 --method gmres --precond none"; do
            # shellcheck disable=SC2086 # several arguments
            whole 0 "whole solve beside PETSc" --compare petsc --json bench.json --problem $arguments
            says out '^petsc  *[a-z0-9]*  *csr  *f64  *[0-9]'
            keys bench.json 'kind "rival"'
            check "three results" test "$(grep -c '"total_ms"' bench.json)" -eq 3
            iterations_agree bench.json
        done
        whole 0 "PETSc with each preconditioner" --problem poisson:8x8x8 --compare petsc \
            --precond mg,ilu0,ssor
        says out '^petsc  *ilu0  *csr  *f64  *[0-9]' '^petsc  *ssor .*cannot run: it is asked for'
        refuse "PETSc is not asked for multigrid" grep -q '^petsc  *mg' out
        whole 0 "PETSc with multigrid alone" --problem poisson:8x8x8 --compare petsc --precond mg
        says out '^petsc  *mg .*cannot run: it has no multigrid'
        whole 0 "PETSc has no SSOR" --problem poisson:8x8x8 --precond ssor --compare petsc
        says out '^petsc .*cannot run: it is asked for'
    fi
    # Those with multigrid; each is there or says why not.
    whole 0 "multigrids" --problem lognormal:12x11x10 --method cg --precond ic0 --json bench.json \
        --compare petsc-gamg,hypre-pfmg,hypre-smg,hypre-boomeramg
    check "the table fits 100 columns" awk 'length($0) > 100 { exit 1 }' out
    stamped bench.json
    "$program" bench --whole-solve --problem poisson:8x8x8 --compare nobody >out 2>absent
    for rival in petsc-gamg:gamg hypre-pfmg:pfmg hypre-smg:smg hypre-boomeramg:amg; do
        keys bench.json "algorithm \"${rival%:*}\"" "precond \"${rival#*:}\""
        whole 0 "${rival%:*}" --problem lognormal:12x11x10 --method cg --precond ic0 \
            --compare "${rival%:*}"
        if grep -q "^  ${rival%:*} .*not in this build" absent; then
            says out "^${rival%:*} .*cannot run: not in this build"
        else
            says out "^${rival%:*}  *${rival#*:}  *csr  *f64  *[0-9]"
        fi
    done
    whole 0 "a method that they do not know" --problem poisson:8x8x8 --method gmres \
        --compare petsc-gamg,hypre-pfmg
    says out '^hypre-pfmg .*cannot run: '
    expect 0 "rivals" bench --backend cpu --compare --size 12 --stencil D3N27 --precision f64,f32 \
        --algorithm line --json bench.json
    check "the table fits 100 columns" awk 'length($0) > 100 { exit 1 }' out
    check "serial in every group" test "$(grep -c '^D3N27 .* serial ' out)" -eq 4
    stamped bench.json
    keys bench.json 'kind "rival"' 'kind "gridsweep"'
    refuse "no rival is wrong" grep -q ' wrong$' out
    expect 0 "a rival by name" bench --compare serial --backend cpu --size 12,9x8x7 --part upper \
        --json -
    check "one rival a group" test "$(grep -c '"kind":[[:space:]]*"rival"' out)" -eq 2
    says err '^D3N7 .* serial '
    "$program" bench --ablation --backend cpu --size 8 >out 2>err
    code=$?
    check "the ablation needs a GPU" test $code -eq 2 -o $code -eq 5
fi

# ---- CUDA: where a device answers ---------------------------------------------------------------

if "$program" info | grep -q '^GPU [0-9]'; then
    expect 0 "solve on a device" solve --problem poisson:20x19x18 --precond none --method cg \
        --backend cuda --out x.mtx --json r.json
    says out '^backend *cuda$' '^transfer '
    keys r.json 'backend "cuda"'
    check "true residual" less "$(number r.json residual)" 1.01e-8
    expect 1 "not converged on a device" solve --problem poisson:20x20x20 --precond none \
        --backend cuda --max-iter 3 --out x.mtx
    check "the last iterate is written" test "$(wc -l <x.mtx)" -gt 8000
    expect 0 "auto with a preconditioner" solve --problem poisson:20x19x18 --method cg
    says out '^backend *cuda$'
    for precond in jacobi ssor dilu ic0 ilu0; do
        expect 0 "$precond on a device" solve --problem poisson:20x19x18 --method cg \
            --precond $precond --backend cuda --json r.json
        keys r.json 'backend "cuda"'
        check "true residual" less "$(number r.json residual)" 1.01e-8
    done
    for key in setup_ms factor_ms upload_ms download_ms solve_ms; do
        check "$key" less 0 "$(number r.json $key)"
    done
    expect 0 "f32 factor on a device" solve --problem convection:12x9x7 --factor-precision f32 \
        --backend cuda --json r.json
    keys r.json 'factor_dtype "f32"'
    expect 5 "the reference is the CPU's" sptrsv poisson.mtx --part lower --algorithm reference \
        --backend cuda
    says err 'backend cpu'
    expect 0 "auto gives the reference to the CPU" sptrsv poisson.mtx --part lower \
        --algorithm reference
    says out '^backend *cpu'
    expect 5 "no such device" solve poisson.mtx --backend cuda --device 65535
    expect 0 "check on a device" detect poisson.mtx --backend cuda
    expect 0 "tune on a device" tune --json tune.json
    for line in 'backend  *cuda' 'step  *[0-9.]* ns' 'hand-over  *[0-9.]* us' 'polled chunks  *[0-9n]'; do
        says out "^$line"
    done
    refuse "lines of another backend" grep -q '^sweep\|^threads' out
    expect 0 "info finds the file" info
    says out "^GPU 0, tuning  *$work/cache/gridsweep/tuning-cuda-.* (copy [0-9.]* GB/s)$"
    rm -r cache
    for part in lower upper; do
        for transpose in "" --transpose; do
            for algorithm in line pencil; do
                # shellcheck disable=SC2086 # an option or nothing
                expect 0 "sptrsv on a device" sptrsv --problem random:2:37x13x11 --stencil D3N27 \
                    --part $part $transpose --algorithm $algorithm --backend cuda --rhs random:1 \
                    --json s.json
                check "error" less "$(number s.json max_rel_error)" 1e-13
                keys s.json 'backend "cuda"'
            done
        done
    done
    expect 4 "zero diagonal on a device" sptrsv flat.mtx --part lower --backend cuda
    expect 0 "bench on a device" bench --backend cuda --stencil D3N7,D3N33 --size 16,9x8x7 \
        --precision f64,f32 --cache warm,cold --repeats 2 --json bench.json
    stamped bench.json
    check "a result for every combination" test "$(grep -c '"max_rel_error"' bench.json)" -eq 32
    keys bench.json 'cache "cold"'
    check "the table fits 100 columns" awk 'length($0) > 100 { exit 1 }' out
    expect 0 "packed factors on a device" bench --backend cuda --stencil D3N7,D3N27 \
        --size 16,9x8x7 --part lower,upper,both --algorithm line,pencil \
        --precision f64,f32,f32-factor --repeats 2 --json bench.json
    stamped bench.json
    check "a result for every combination" test "$(grep -c '"max_rel_error"' bench.json)" -eq 60
    keys bench.json 'precond "ilu0"'
    check "the table fits 100 columns" awk 'length($0) > 100 { exit 1 }' out
    expect 0 "a smoother on a device" bench --backend cuda --part symgs --problem hpcg \
        --size 16,9x8x7 --cache warm,cold --repeats 2 --json bench.json
    check "a result for every combination" test "$(grep -c '"max_rel_error"' bench.json)" -eq 4
    keys bench.json 'backend "cuda"'
    small_errors bench.json 1e-12
    expect 0 "bench takes the device" bench --part lower --algorithm line --size 8 --json -
    keys out 'backend "cuda"'
    expect 0 "whole solve on a device" bench --whole-solve --problem convection:20x19x18 \
        --backend cuda --precision f64,f32-factor --repeats 2 --json bench.json
    stamped bench.json
    check "a result for every combination" test "$(grep -c '"total_ms"' bench.json)" -eq 4
    if ! "$program" bench --compare nobody 2>&1 | grep -q 'no rivals'; then
        for arguments in "convection:20x19x18" "lognormal:20x19x18 --method cg --precond ic0"; do
            # shellcheck disable=SC2086 # several arguments
            expect 0 "whole solve beside rivals" bench --whole-solve --problem $arguments \
                --backend cuda --compare --repeats 2 --json bench.json
            says out '^cusparse '
            refuse "no rival is wrong" grep -q '[0-9]! ' out
            check "the table fits 100 columns" awk 'length($0) > 100 { exit 1 }' out
        done
        expect 0 "rivals on a device" bench --backend cuda --compare --size 16 --json bench.json
        keys bench.json 'algorithm "levels"'
        refuse "no rival is wrong" grep -q ' wrong$' out
        expect 0 "ablation" bench --backend cuda --ablation --size 16 --json bench.json
        keys bench.json 'kind "ablation"'
        refuse "no step is wrong" grep -q ' wrong$' out
    fi
fi

# ---- Disks that are full, folders that are not there --------------------------------------------

if [ -c /dev/full ]; then
    "$program" --help >/dev/full 2>err
    check "full disk on stdout" test $? -eq 3
    says err 'standard output'
    expect 3 "full disk" solve poisson.mtx --out /dev/full
    expect 3 "full disk" solve poisson.mtx --json /dev/full
    "$program" generate --problem poisson:20x20x20 --out - >/dev/full 2>err
    check "full disk on stdout" test $? -eq 3
    says err 'cannot write to standard output: No space'
fi
# Names of 255 bytes, beside which no longer name can be.
mkdir long
longest=$(printf '%250s' '' | tr ' ' n)
for _ in 1 2; do
    expect 0 "long names" factor poisson.mtx --precond ilu0 --out-l "long/1$longest.mtx" \
        --out-u "long/2$longest.mtx" --json "long/3${longest#n}.json"
    expect 0 "long names" solve poisson.mtx --out "long/4$longest.mtx" --json "long/5${longest#n}.json"
done
check "nothing else is left" test "$(find long -type f | wc -l)" -eq 5
rm -r long
# Files beyond the limit on sizes are written as on a full disk; what fails is not written to a file.
limited() { # limited NAME ARGUMENTS...: the file is named, and what was there before is there
    name=$1
    shift
    echo old >"$name"
    (
        ulimit -f 2 # blocks of 512 bytes: so large a file clang's OpenMP needs itself
        "$program" "$@" --quiet
        echo $? | cat
    ) 2>&1 | cat >err
    says err "^gridsweep $1: cannot write $name: File too large$" '^3$'
    check "the old file" test "$(cat "$name")" = old
}
limited full.mtx generate --problem poisson:20x20x20 --out full.mtx
limited full.mtx solve --problem poisson:20x20x20 --out full.mtx
limited full.json solve --problem poisson:20x20x20 --json full.json
[ $gzip = no ] ||
    limited full.mtx.gz generate --problem lognormal:20x20x20 --out full.mtx.gz
limited U.mtx factor --problem poisson:20x20x20 --precond ilu0 --out-l /dev/null --out-u U.mtx
(
    ulimit -f 2 # blocks of 512 bytes: so large a file clang's OpenMP needs itself
    "$program" generate --problem poisson:20x20x20 --out - 2>&1 >full.mtx | cat
) | cat >err
says err 'cannot write to standard output: File too large'
mkdir small
# shellcheck disable=SC2016 # for the inner shell
in_small='mount -t tmpfs -o size=64k none small 2>/dev/null || exit 77
    echo old >small/full.mtx
    "$1" generate --problem poisson:20x20x20 --out small/full.mtx 2>err
    echo $? $(ls -A small) $(cat small/full.mtx) >out'
if unshare --mount --map-root-user sh -c "$in_small" sh "$program" 2>/dev/null; then
    says err '^gridsweep generate: cannot write small/full.mtx: No space left on device$'
    says out '^3 full.mtx old$'
fi
expect 3 "no such folder" solve poisson.mtx --out missing/x.mtx
expect 3 "no such folder" solve poisson.mtx --json missing/r.json
expect 3 "a folder as output" generate --problem poisson:3x3x3 --out folder
ln -s target.mtx link.mtx
echo old >target.mtx
expect 0 "a link as output" generate --problem poisson:3x3x3 --out link.mtx
check "the link stays" test -h link.mtx
says target.mtx '^%%MatrixMarket'
chmod 640 target.mtx
expect 0 "the same once more" generate --problem poisson:3x3x3 --out link.mtx
check "the mode stays" sh -c "ls -l target.mtx | grep '^-rw-r-----'"

# What another process left behind under a temporary name is not touched, and does no harm.
# shellcheck disable=SC2016 # for the inner shell
sh -c 'echo theirs >mine.mtx.gridsweep-$$-0.tmp && exec "$@"' sh \
    "$program" generate --problem poisson:5x4x3 --out mine.mtx >out 2>err
check "a temporary name that is taken" cmp mine.mtx poisson.mtx
check "it stays" grep -q theirs mine.mtx.gridsweep-*-0.tmp
rm -f mine.mtx.gridsweep-*

# A link to what is not there yet, also through other links and folders: the target is made.
mkdir far
rm -f made.mtx
ln -s far/second chain.mtx
ln -s ../made.mtx far/second
for command in "generate --problem poisson:3x3x3 --out" "solve poisson.mtx --out" \
    "detect poisson.mtx --json"; do
    # shellcheck disable=SC2086 # words of a command
    expect 0 "a dangling link as output" $command chain.mtx
    check "the links stay" test -h chain.mtx -a -h far/second
    check "the target is made" test -f made.mtx -a -s made.mtx
    rm -f made.mtx
done
ln -s missing/x.mtx nowhere.mtx
ln -s loop.mtx loop.mtx
for link in nowhere loop; do
    expect 3 "a link that leads nowhere" solve poisson.mtx --out $link.mtx
    says err "^gridsweep solve: cannot write $link.mtx: "
    check "the link stays" test -h $link.mtx
done

# Links to devices, to standard output and to pipes are written through.
ln -s /dev/null null.mtx
ln -s /dev/stdout stdout.mtx
mkfifo pipe
ln -s pipe pipe.mtx
expect 0 "a link to a device" generate --problem poisson:5x4x3 --out null.mtx
check "it stays" test -h null.mtx -a -c /dev/null
for output in stdout.mtx /dev/stdout /dev/fd/1; do
    expect 0 "standard output by a name" generate --problem poisson:5x4x3 --out $output --quiet
    check "the same as in a file" cmp out poisson.mtx
done
expect 0 "standard output by a name" generate --problem poisson:5x4x3 --out /dev/stdout
check "nothing else goes there" cmp out poisson.mtx
exec 3<>pipe # so that nothing waits for the other end
expect 0 "a link to a pipe" generate --problem poisson:5x4x3 --out pipe.mtx
echo trailer >&3
dd bs=65536 count=1 <&3 >through 2>/dev/null
{ cat poisson.mtx && echo trailer; } >wanted
check "the same through a pipe" cmp through wanted
check "they stay" test -h pipe.mtx -a -p pipe
if [ -c /dev/full ]; then
    ln -s /dev/full full
    expect 3 "a link to a full disk" generate --problem poisson:5x4x3 --out full
    says err '^gridsweep generate: cannot write full: No space left on device$'
    ln -s /dev/full full.gz
    [ $gzip = no ] || expect 3 "the same, compressed" generate --problem poisson:5x4x3 --out full.gz
fi
if shared=$(mktemp -d /dev/shm/gridsweep-test.XXXXXX 2>/dev/null); then
    expect 0 "a file below /dev" generate --problem poisson:5x4x3 --out "$shared/x.mtx"
    expect 0 "once more" generate --problem poisson:5x4x3 --out "$shared/x.mtx"
    check "it is replaced" cmp "$shared/x.mtx" poisson.mtx
    rm -r "$shared"
fi

# ---- Constant coefficients ----------------------------------------------------------------------

for options in "solve --problem poisson:20x9x8" "solve --problem hpcg:9x8x7 --backend reference" \
    "solve --problem convection:70x5x4 --method bicgstab --precond ssor" \
    "sptrsv --problem star13:17x6x5 --part upper" "sptrsv --problem poisson:1x9 --part lower"; do
    expect 0 "$options" $options --out written.mtx
    expect 0 "$options --constant" $options --constant --out constant.mtx
    check "the same solution" cmp written.mtx constant.mtx
done
misuses "solve --constant" poisson.mtx "--problem poisson:4x4x4 --stencil D3N7" \
    "--problem lognormal:4x4x4" "--problem random:1:4x4x4"
rm -f written.mtx constant.mtx

# ---- Two outputs, one file ----------------------------------------------------------------------

# one_file A B: refused for all options that name outputs, in both orders, with both names.
one_file() {
    misuse factor poisson.mtx --precond ilu0 --out-l "$1" --out-u "$2"
    says err "^gridsweep factor: --out-l $1 and --out-u $2 name the same file$"
    misuse factor poisson.mtx --precond ilu0 --out-l "$2" --out-u "$1"
    blames "^--out $1 and --json $2 name the same file$" solve poisson.mtx --json "$2" --out "$1"
}
ln -s far alias
ln -s y.mtx to_y
for state in missing there; do
    one_file y.mtx ./y.mtx
    one_file y.mtx "$work/y.mtx"
    one_file y.mtx far/../y.mtx
    one_file y.mtx to_y
    one_file alias/z.mtx far/z.mtx
    one_file chain.mtx made.mtx
    [ $state = there ] || touch y.mtx made.mtx far/z.mtx
done
one_file - /dev/stdout
one_file - stdout.mtx
one_file pipe ./pipe
exec 3>&-
"$program" solve poisson.mtx --out y.mtx --json - >y.mtx 2>err
check "standard output is a file that is replaced" test $? -eq 2
says err "^gridsweep solve: --out y.mtx and --json - name the same file$"
expect 0 "the same name in two folders" \
    factor poisson.mtx --precond ilu0 --out-l y.mtx --out-u far/y.mtx
ln y.mtx hard.mtx
expect 0 "two names that are replaced each" \
    factor poisson.mtx --precond ilu0 --out-l y.mtx --out-u hard.mtx
refuse "two files then" cmp y.mtx hard.mtx

refuse "no temporary files are left" sh -c "ls -A . far | grep -e '\.tmp' -e gridsweep-"

finish
