#!/bin/sh
# reporting.sh: what shell tests that count their checks share. They read it after their arguments:
# program and plugin become absolute, and the test works in a folder of its own, which goes at the
# end.

case ${program:=} in '' | /*) ;; *) program=$PWD/$program ;; esac
case ${plugin:=} in '' | /*) ;; *) plugin=$PWD/$plugin ;; esac
work=$(mktemp -d "${TMPDIR:-/tmp}/gridsweep-test.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
passed=0
failed=0

report() { # report STATUS NAME
    if [ "$1" -eq 0 ]; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "FAILED: $2"
        [ ! -s err ] || sed 's/^/    stderr: /' err | head -n 5
    fi
}

check() { # check NAME COMMAND...: the command must succeed
    name=$1
    shift
    "$@" >/dev/null 2>&1
    report $? "$name: $*"
}

expect() { # expect CODE NAME ARGUMENTS...: runs the program, keeps its output in out and err.
    code=$1
    name=$2
    shift 2
    "$program" "$@" >out 2>err </dev/null
    got=$?
    [ "$got" -eq "$code" ]
    report $? "$name: gridsweep $*: exit code $got, not $code"
}

says() { # says FILE PATTERN...: for each pattern a line of the file matches
    said=$1
    shift
    for words; do
        grep -q -e "$words" "$said"
        report $? "$said holds no '$words'"
    done
}

lacks() { # lacks FILE PATTERN: no line of the file matches
    ! grep -q -e "$2" "$1"
    report $? "$1 holds '$2'"
}

petsc_error() { # petsc_error PATTERN COMMAND...: the command ends in PETSc's error that says PATTERN
    pattern=$1
    shift
    if "$@"; then
        report 1 "not refused: $*"
    else
        report 0 "refused: $*"
    fi
    says err "PETSC ERROR: .*$pattern"
}

finish() { # the result of the test
    echo "$passed checks passed, $failed failed"
    [ "$failed" -eq 0 ]
}
