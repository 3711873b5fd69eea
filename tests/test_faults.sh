#!/bin/sh
# test_faults.sh: calls of the program gridsweep for files and memory that fail, one after the other.
#
# Usage: test_faults.sh PROGRAM PRELOAD [files]. PRELOAD is tests/faults_preload.c as a library; with
# the word `files` it knows of no memory, as a sanitized program needs it. Each command
# runs once to count its calls, and then once for each call that fails. It must end with a documented
# exit code, and with a message that names the user's file. Either all old files or all new ones must
# be there afterwards, and no other file. GSW_FAULTS=10000 in the environment tries more reasons.
# Works in a folder of its own.
set -u

program=$1
preload=$2
memory=${3:-memory}
case $program in /*) ;; *) program=$PWD/$program ;; esac
case $preload in /*) ;; *) preload=$PWD/$preload ;; esac
work=$(mktemp -d "${TMPDIR:-/tmp}/gridsweep-test.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
export OMP_NUM_THREADS=1 OMP_WAIT_POLICY=passive
# A sanitized program does not like to be loaded second.
export ASAN_OPTIONS="${ASAN_OPTIONS:+$ASAN_OPTIONS:}verify_asan_link_order=0"
long=${GSW_FAULTS:-0}
wrong=0
mkdir to old new

complain() {
    wrong=$((wrong + 1))
    kind_wrong=$((kind_wrong + 1))
    [ $wrong -gt 40 ] || {
        echo "  WRONG: $1"
        sed 's/^/    stderr: /' err | head -n 3
    }
}

# A file without the values of JSON, which differ from run to run.
essence() {
    case $1 in
    *.json) sed 's/":.*/":/' "$1" ;;
    *) cat "$1" ;;
    esac
}

same_as() { # same_as FOLDER: each file of it is in `to`, and no other
    [ "$(ls -A to)" = "$(ls -A "$1")" ] || return 1
    for file in "$1"/*; do
        cmp -s "$file" "to/${file##*/}" || {
            case $file in *.json) ;; *) return 1 ;; esac
            [ "$(essence "$file")" = "$(essence "to/${file##*/}")" ] || return 1
        }
    done
}

# run FAULT ARGUMENTS...: sets code.
run() {
    GSW_FAULT=$1
    export GSW_FAULT
    shift
    { LD_PRELOAD=$preload "$program" "$@" >out 2>err </dev/null; } 2>/dev/null
    code=$?
}

names_a_file() {
    grep -q "^gridsweep.*\($pattern\)" err
}

# Puts back what the program says that it could not put back.
put_back() {
    sed -n 's/^gridsweep.*the old \(.*\) could not be put back; it is now \(.*\)$/\2 \1/p' err >stuck
    while read -r from there; do
        mv "$from" "$there"
    done <stuck
}

# Without memory for multigrid the program chooses a factor: another solution of the same length.
may_differ() { # may_differ WHAT ARGUMENTS
    case $1,$2 in ENOMEM,*"--precond auto"*) ;; *) return 1 ;; esac
    [ "$(ls -A to)" = "$(ls -A new)" ] && [ "$(wc -l <to/x.mtx)" -eq "$(wc -l <new/x.mtx)" ]
}

# judge KIND WHAT FAULT ARGUMENTS...: one run with a fault. Sets kind_wrong and the counts.
judge() {
    kind=$1 what=$2 fault=$3
    shift 3
    same_as old || {
        rm -rf to
        cp -R old to
    }
    run "$fault" "$@"
    injected=$((injected + 1))
    case $what in
    SIGINT) wanted=130 ;;
    SIGTERM) wanted=143 ;;
    SIGHUP) wanted=129 ;;
    *) wanted=3 ;;
    esac
    if [ $code -eq 0 ]; then
        served=$((served + 1))
        case $what in SIG*) complain "$fault: the signal is lost: $*" ;; esac
        same_as new || may_differ "$what" "$*" ||
            complain "$fault: success, but not all new files: $(ls -A to): $*"
    elif [ $code -eq $wanted ]; then
        refused=$((refused + 1))
        [ "$kind" != rename ] || put_back
        same_as old || same_as new ||
            complain "$fault: neither all old files nor all new: $(ls -A to): $*"
        case $what in
        SIG*) ;;
        ENOMEM) grep -q '^gridsweep' err || complain "$fault: no message: $*" ;;
        *) names_a_file || complain "$fault: no file in the message: $*" ;;
        esac
    else
        complain "$fault: exit code $code: $*"
    fi
}

# each KIND WHAT: all faults of a kind, for all commands.
each() {
    kind=$1 what=$2
    injected=0 refused=0 served=0 kind_wrong=0
    case $what in
    SIG*) # what is ignored here, as in the background, is ignored by the program
        { sh -c "kill -s ${what#SIG} \$\$"; } 2>/dev/null
        [ $? -gt 128 ] || {
            printf '%-8s %-8s skipped: the signal is ignored here\n' "$kind" "$what"
            return
        }
        ;;
    esac
    for on in "" :on; do
        case $kind,$what$on in # what is interrupted without end is tried without end
        *,EINTR:on) continue ;;
        *,SIG*:on | *,SHORT:on | memory,*:on) [ "$long" -gt 0 ] || continue ;;
        esac
        while read -r pattern command; do
            rm -rf to old new
            rm -f counts
            mkdir to
            # shellcheck disable=SC2086 # words of a command
            GSW_FAULT_COUNTS=$work/counts run none $command
            [ $code -eq 0 ] || complain "without a fault: exit code $code: $command"
            cp -R to new
            cp -R to old
            for file in old/*; do
                [ ! -e "$file" ] || echo "old ${file#old/}" >"$file"
            done
            count=$(sed -n "s/^$kind //p" counts 2>/dev/null)
            number=1
            while [ $number -le "${count:-0}" ]; do
                # shellcheck disable=SC2086 # words of a command
                judge "$kind" "$what" "$kind:$number:$what$on" $command
                number=$((number + 1))
            done
        done <commands
    done
    [ $injected -gt 0 ] || complain "no call of $kind was seen"
    printf '%-8s %-8s %8d %8d %8d %6d\n' "$kind" "$what" $injected $refused $served $kind_wrong
    all_injected=$((all_injected + injected))
}

gz=.gz # where the program is built with zlib
"$program" generate --problem poisson:3x3 --out try.gz --quiet 2>/dev/null || gz=
"$program" generate --problem poisson:9x8x7 --out in.mtx$gz --quiet || exit 1
"$program" solve in.mtx$gz --backend cpu --rtol 1e-3 --out b.mtx --quiet || exit 1
{
    printf '%%%%MatrixMarket matrix array real general\n504 3\n'
    for axis in 1 2 3; do
        awk -v a=$axis 'BEGIN { for (i = 0; i < 504; i++)
            print a == 1 ? i % 9 : a == 2 ? int(i / 9) % 8 : int(i / 72) }'
    done
} >places.mtx
printf '%s\n' '%%MatrixMarket matrix array integer general' '4 1' 1 0 1 1 >half-mask.mtx
printf '%s\n' '%%MatrixMarket matrix coordinate real general' '3 3 3' '1 1 2' '2 2 2' '3 3 2' >half.mtx

# A pattern for the names in messages, and the command.
cat >commands <<END
to/\|output generate --problem poisson:9x8x7 --out to/a.mtx$gz --json to/a.json
to/\|output\|in.mtx\|b.mtx solve in.mtx$gz --backend cpu --rhs b.mtx --x0 b.mtx --rtol 1e-10 --out to/x.mtx --json to/r.json
to/\|output\|in.mtx factor in.mtx$gz --backend cpu --precond ilu0 --out-l to/l.mtx$gz --out-u to/u.mtx --json to/f.json
to/\|output\|in.mtx\|b.mtx sptrsv in.mtx$gz --backend cpu --mask b.mtx --part lower --out to/s.mtx --quiet
to/\|output\|in.mtx detect in.mtx$gz --json to/d.json
to/\|output\|in.mtx\|places solve in.mtx$gz --backend cpu --coordinates places.mtx --out to/c.mtx --quiet
to/\|output\|in.mtx\|half solve half.mtx --backend cpu --mask half-mask.mtx --grid 4x1 --out to/h.mtx --quiet
END
[ "$long" -eq 0 ] || cat >>commands <<END
to/\|output generate --problem lognormal:20x19x18 --out to/a.mtx --json to/a.json
to/\|output solve --problem convection:9x8x7 --backend cpu --precond mg --out to/x.mtx$gz --json to/r.json
to/\|output solve --problem poisson:12x12x12 --backend cpu --precond auto --method auto --out to/x.mtx --quiet
to/\|output factor --problem random:3:9x8x7 --backend cpu --precond dilu --out-l to/l.mtx --out-u to/u.mtx
END

all_injected=0
printf '%-8s %-8s %8s %8s %8s %6s\n' call fault injected refused served wrong
for kind in open read dup access; do
    each $kind EIO
    [ "$long" -eq 0 ] || each $kind EINTR
done
each read EINTR
each read SHORT
for what in ENOSPC EINTR SHORT; do
    each write $what
done
for kind in close rename link flush; do
    each $kind EIO
    [ "$long" -eq 0 ] || each $kind ENOSPC
done
each close EINTR
for what in SIGINT SIGTERM; do
    each file $what
done
if [ "$long" -gt 0 ]; then
    each file SIGHUP
    each write EIO
    each open EACCES
fi
[ "$memory" = files ] || each memory ENOMEM
echo "$all_injected faults, $wrong wrong"

# Programs that are broken on purpose must be found.
broken() { # broken NAME SCRIPT [FILTER]: the script sees the exit code of the program as $code
    printf '#!/bin/sh\n"%s" "$@" 2>message; code=$?; sed "%s" message >&2\n%s; exit $code\n' \
        "$real" "${3:-}" "$2" >broken
    chmod +x broken
    each write ENOSPC
    [ $kind_wrong -gt 0 ] || missed="$missed '$1'"
}

real=$program program=$work/broken missed='' found=$wrong wrong=1000
head -n 1 commands >first && mv first commands
echo "These programs are broken on purpose:"
broken "nothing, so this must not be found" :
[ -n "$missed" ] || found=$((found + 1))
missed=''
broken "success in any case" 'code=0'
broken "another exit code" 'code=$((code * 9))'
broken "no file in the message" : 's/to.a/there/'
broken "a temporary file stays" '[ $code -eq 0 ] || touch to/a.tmp'
broken "the old file is gone" '[ $code -eq 0 ] || rm to/a.json'
broken "half a file" '[ $code -eq 0 ] || echo half >to/a.json'
[ -z "$missed" ] || echo "not found:$missed"
[ "$found" -eq 0 ] && [ -z "$missed" ]
