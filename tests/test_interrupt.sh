#!/bin/sh
# test_interrupt.sh: signals while the program gridsweep writes its files.
#
# Usage: test_interrupt.sh PROGRAM [COUNT]. Interrupts COUNT long writes (default: 20) at random
# times, as many short runs at any time, and half as many solves. Each time the program must end by
# the signal. Then either all old files or all new ones must exist, and nothing else. 200 take about
# a minute. Needs POSIX tools and a sleep that takes fractions of a second; works in a folder of its
# own.
set -u

program=$1
count=${2:-20}
. "$(dirname "$0")/reporting.sh"
export OMP_NUM_THREADS="${OMP_NUM_THREADS:-2}"
export XDG_CACHE_HOME="$PWD/cache"
mkdir to old new

# run ARGUMENTS...: the program, not in the background, where a shell has it ignore SIGINT.
run() {
    (exec sh -c 'echo $$ >pid && exec "$@"' sh "$program" "$@") >err 2>&1 </dev/null
}

temporary_there() {
    for file in to/*.tmp; do
        [ -e "$file" ] && return 0
    done
    return 1
}

# kill_later SIGNAL DELAY WHEN: ends what `run` runs, some time after its start, or after its first
# temporary file is there (WHEN is `writing`).
kill_later() {
    while ! read -r target 2>/dev/null <pid; do :; done
    while [ "$3" = writing ] && ! temporary_there && kill -0 "$target" 2>/dev/null; do :; done
    sleep "$2"
    kill -s "$1" "$target" 2>/dev/null
}

# interrupt SIGNAL DELAY WHEN ARGUMENTS...: sets code.
interrupt() {
    rm -rf pid to
    cp -R old to
    kill_later "$1" "$2" "$3" &
    shift 3
    { run "$@"; } 2>/dev/null
    code=$?
    wait $!
}

same_files() { # same_files FOLDER: as many files there as in `to`, and the same
    diff -r "$1" to >/dev/null
}

number_of() { # number_of SIGNAL
    case $1 in HUP) echo 1 ;; INT) echo 2 ;; QUIT) echo 3 ;; TERM) echo 15 ;; esac
}

# rounds COUNT LONGEST WHEN ARGUMENTS...: interrupts so many runs. Those that end before their
# signal do not count, and must have written all. Where WHEN is `any`, a machine may be too quick.
rounds() {
    wanted=$1
    longest=$2
    when=$3
    shift 3
    interrupted=0 committed=0 finished=0
    rm -rf to old new
    mkdir to old
    run "$@"
    report $? "run to the end: $*"
    cp -R to new
    for file in new/*; do
        echo "old ${file#new/}" >"old/${file#new/}"
    done
    delays=$(awk -v seed=$$ -v n=$((4 * wanted)) -v longest="$longest" \
        'BEGIN { srand(seed); for (i = 0; i < n; i++) printf "%.4f\n", longest * rand() }')
    signal=HUP
    for delay in $delays; do
        [ $interrupted -lt "$wanted" ] || break
        case $signal in HUP) signal=INT ;; INT) signal=TERM ;; TERM) signal=HUP ;; esac
        interrupt $signal "$delay" "$when" "$@"
        if [ $code -eq 0 ]; then
            finished=$((finished + 1))
            same_files new
            report $? "after $delay s, when all is written: new files, nothing else: $*"
            continue
        fi
        interrupted=$((interrupted + 1))
        [ $code -eq $((128 + $(number_of $signal))) ]
        report $? "SIG$signal after $delay s: exit code $code: $*"
        if same_files old; then
            report 0 "the old files"
        else
            committed=$((committed + 1))
            same_files new
            report $? "SIG$signal after $delay s: neither all old files nor all new: $(ls -A to): $*"
        fi
    done
    [ "$interrupted" -eq "$wanted" ] || [ "$when" = any ]
    report $? "only $interrupted of $wanted runs were interrupted: $*"
    echo "$interrupted interrupted ($committed with all files new), $finished finished: $*"
}

gz=.gz # where the program is built with zlib
"$program" generate --problem poisson:3x3 --out try.gz --quiet 2>/dev/null || gz=
half=$(((count + 1) / 2))
rounds $half 0.12 writing generate --problem poisson:64x64x64 --out to/a.mtx --json to/a.json
rounds $((count - half)) 0.12 writing factor --problem poisson:48x48x48 --precond ilu0 \
    --out-l to/l.mtx$gz --out-u to/u.mtx
rounds "$count" 0.006 any factor --problem poisson:4x4x4 --precond ilu0 --out-l to/l.mtx \
    --out-u to/u.mtx
rounds $half 0.1 any solve --problem poisson:24x24x24 --backend cpu --rtol 1e-12 --out to/x.mtx

# It measures for some seconds before it writes.
for signal in INT TERM; do
    interrupt $signal 1 any tune --backend cpu --threads 2
    [ $code -eq $((128 + $(number_of $signal))) ] && [ ! -e cache ]
    report $? "SIG$signal while tune measures: exit code $code"
done

# What is ignored stays so, as with nohup.
trap '' HUP
interrupt HUP 0 writing generate --problem poisson:32x32x32 --out to/l.mtx
trap - HUP
[ $code -eq 0 ] && [ "$(head -n 1 to/l.mtx)" != "old l.mtx" ]
report $? "SIGHUP is ignored: exit code $code"

# A reader that goes away while another file is there already.
rm -rf to
cp -R old to
{
    { "$program" generate --problem poisson:32x32x32 --out to/l.mtx --json - 2>log; } 2>/dev/null
    echo $? >code
} | :
[ "$(cat code)" -eq 141 ] && same_files old
report $? "the reader of standard output is gone: exit code $(cat code), $(ls -A to)"

# A shell cannot tell an end by a signal from an exit code above 128.
if python3 -c '' 2>/dev/null; then
    python3 - "$program" <<'END'
import os, subprocess, sys, time
command = [sys.argv[1], "generate", "--problem", "poisson:64x64x64", "--out", "to/l.mtx", "--quiet"]
with subprocess.Popen(command) as program:
    while program.poll() is None and not any(name.endswith(".tmp") for name in os.listdir("to")):
        time.sleep(0.001)
    program.terminate()
sys.exit(program.returncode != -15)
END
    report $? "the program ends by the signal itself"
fi

finish
