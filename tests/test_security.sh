#!/bin/sh
# test_security.sh: what SECURITY.md promises of the program gridsweep: permissions of files, links,
# temporary files, memory for hostile files, and what it asks of the system.
#
# Usage: test_security.sh PROGRAM. Takes a few seconds. Needs POSIX tools; some checks need gzip and
# strace, and are left out without them. Works in a folder of its own.
# shellcheck disable=SC3045 # `ulimit -v` is not of POSIX; all shells that serve as sh have it
# shellcheck disable=SC2016 # what is planted is for the inner shell
set -u

program=$1
. "$(dirname "$0")/reporting.sh"
export OMP_NUM_THREADS=2 OMP_WAIT_POLICY=passive

mode() { # mode FILE
    stat -c %a "$1" 2>/dev/null || stat -f %Lp "$1"
}

small() { # small FILE: writes a small problem there
    "$program" generate --problem poisson:4x3x2 --quiet --out "$1" >out 2>err </dev/null
}

# ---- Permissions ------------------------------------------------------------------------------------

permissions() {
    for mask in 022 077 027 000; do
        rm -f new.mtx new.json
        (umask $mask && small new.mtx && "$program" info --json new.json >out 2>err)
        report $? "umask $mask"
        wanted=$(printf %o $((0666 & ~$((0$mask)))))
        check "a new file with umask $mask" test "$(mode new.mtx)" = "$wanted"
        check "new JSON with umask $mask" test "$(mode new.json)" = "$wanted"
    done
    # A file that exists keeps its permissions, except the bits for set-user-ID and the like.
    for wanted in 600 640 666; do
        chmod $wanted new.mtx
        (umask 022 && small new.mtx)
        check "permissions stay" test "$(mode new.mtx)" = $wanted
    done
    chmod 4755 new.mtx
    small new.mtx
    check "the set-user-ID bit goes" test "$(mode new.mtx)" = 755
}

# ---- Links and temporary files ----------------------------------------------------------------------

links() {
    mkdir far
    echo old >far/target.mtx
    ln -s far/target.mtx named.mtx
    small named.mtx
    check "a named link is followed" grep -q MatrixMarket far/target.mtx
    check "and stays" test -h named.mtx
}

# planted NAME COMMAND: runs a shell command which plants something under the first temporary name
# of mine.mtx ($plant) and the first name of an old file ($old), then the program as that process.
planted() {
    rm -rf mine.mtx* victim
    echo victim >victim
    sh -c "plant=mine.mtx.gridsweep-\$\$-0.tmp old=mine.mtx.gridsweep-\$\$-0.old
        $2
        exec \"\$@\"" sh "$program" solve new.mtx --out mine.mtx --json mine.json >out 2>err </dev/null
    report $? "planted: $1"
    check "planted: $1: the result is there" grep -q MatrixMarket mine.mtx
    check "planted: $1: the other file is as it was" grep -qx victim victim
    check "planted: $1: a regular file" test ! -h mine.mtx -a -f mine.mtx
}

temporary_files() {
    planted "a file" 'echo theirs >$plant'
    check "it stays" grep -qx theirs mine.mtx.gridsweep-*-0.tmp
    planted "a link" 'ln -s victim $plant'
    check "it stays" test -h mine.mtx.gridsweep-*-0.tmp
    planted "a link that leads nowhere" 'ln -s nowhere $plant'
    check "nothing was made through it" test ! -e nowhere
    planted "a pipe" 'mkfifo $plant'
    planted "an old file" 'echo theirs >$old; echo before >mine.mtx'
    check "it stays" grep -qx theirs mine.mtx.gridsweep-*-0.old
    planted "an old link" 'ln -s victim $old; echo before >mine.mtx'
    check "it stays" test -h mine.mtx.gridsweep-*-0.old
    rm -rf mine.*
}

# ---- Files that claim more than they hold -----------------------------------------------------------

refused_early() { # refused_early PATTERN TEXT: with 1 GB of address space
    printf '%b' "$2" >claims.mtx
    (ulimit -v 1000000 && exec "$program" detect claims.mtx) >out 2>err </dev/null
    code=$?
    check "claims more than it holds: exit code $code" test $code -eq 3
    says err "$1"
}

claims() {
    banner='%%MatrixMarket matrix coordinate real general\n'
    huge=1152921504606846976 # 2^60
    refused_early 'promises 1152921504606846976 entries' "${banner}4 4 $huge\n1 1 1\n"
    refused_early 'promises 1152921504606846976 rows' "$banner$huge $huge 1\n1 1 1\n"
    refused_early 'does not fit in 64 bits' "${banner}4 4 18446744073709551617\n1 1 1\n"
    printf '%%%%MatrixMarket matrix array real general\n%s 1\n1\n' $huge >rhs.mtx
    (ulimit -v 1000000 && exec "$program" solve new.mtx --rhs rhs.mtx) >out 2>err </dev/null
    code=$?
    check "a vector that claims more: exit code $code" test $code -eq 3
    says err 'promises 1152921504606846976 entries'
}

# A file of 9 MB whose text has 2 GB, with 1.5 GB of address space.
gzip_bomb() {
    if ! command -v gzip >/dev/null || ! "$program" generate --problem poisson:3x3x3 --quiet \
        --out some.mtx.gz 2>/dev/null; then
        echo "left out: files of gzip"
        return
    fi
    head -c 67108864 /dev/zero | gzip -1 >part
    { printf '%%%%MatrixMarket matrix coordinate real general\n' | gzip && for _ in 1 2 3 4 5 6 7 8; do
        cat part part part part
    done; } >bomb.mtx.gz
    for input in file pipe; do
        name=bomb.mtx.gz
        [ $input = file ] || name=-
        # shellcheck disable=SC2002 # a pipe is wanted
        cat bomb.mtx.gz | (ulimit -v 1500000 && exec "$program" detect $name) >out 2>err
        code=$?
        check "a file that expands, from a $input: exit code $code" test $code -eq 3
        if [ $input = file ]; then
            says err 'more than 200 times as large as its gzip data'
        else
            says err 'cannot read standard input: Cannot allocate memory'
        fi
    done
    rm -f bomb.mtx.gz part
}

# ---- Limits -----------------------------------------------------------------------------------------

# OpenMP's runtime ends a program where it cannot start its threads. 600 MB hold 4 of these stacks.
few_threads() {
    # shellcheck disable=SC3045 # all shells that serve as sh have `ulimit -s`
    if ! (ulimit -s 131072) 2>/dev/null || "$program" info | grep -q '^OpenMP  *not built in'; then
        echo "left out: few threads (no large stacks, or no OpenMP)"
        return
    fi
    for command in "solve --problem poisson:48x48x48" "sptrsv --part lower --problem poisson:48x48x48"; do
        # shellcheck disable=SC2086 # words
        (ulimit -s 131072 && ulimit -v 600000 && exec "$program" $command --backend cpu \
            --threads 32 --json few.json) >out 2>err </dev/null
        report $? "$command: few threads"
        says err 'warning: the system lets only [1-5] of 32 threads start, and [123] are used: raise its'
        check "$command: few threads" grep -q '"threads":[[:space:]]*[123],' few.json
    done
}

# ---- What it asks of the system ---------------------------------------------------------------------

# No other program, no network, no files of others; files are made as promised.
system_calls() {
    echo private >traced.mtx
    chmod 600 traced.mtx
    if ! strace -f -o trace true 2>/dev/null; then
        echo "left out: system calls (no strace)"
        return
    fi
    strace -f -o trace "$program" solve new.mtx --backend cpu --out traced.mtx --json traced.json \
        >out 2>err </dev/null
    report $? "traced"
    check "one execve" test "$(grep -c 'execve(' trace)" -eq 1
    for call in socket connect bind fork vfork kill ptrace; do
        check "no $call" test "$(grep -c " $call(" trace)" -eq 0
    done
    # Beside the target, exclusively, and private where the old file was there.
    check "exclusive" grep -q 'traced.mtx.gridsweep-[0-9]*-0.tmp", O_WRONLY|O_CREAT|O_EXCL|O_CLOEXEC, 0600' trace
    check "exclusive" grep -q 'traced.json.gridsweep-[0-9]*-0.tmp", O_WRONLY|O_CREAT|O_EXCL|O_CLOEXEC, 0666' trace
    # LLVM's OpenMP registers itself in shared memory, and a build for coverage counts its lines.
    check "nothing else is made" test "$(grep O_CREAT trace | grep -vc '__KMP_REGISTERED_LIB\|\.gcda"')" -eq 2
}

permissions
links
temporary_files
claims
gzip_bomb
few_threads
system_calls
finish
