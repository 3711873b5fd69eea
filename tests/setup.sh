#!/bin/sh
# Installs missing packages on Debian and Ubuntu, and nothing else. Prints their names.
#
#   sh tests/setup.sh build     packages for the library and the program
#   sh tests/setup.sh test      these and packages for the tests
#   sh tests/setup.sh ci        these and packages for the checks before a merge
#
# If all packages are installed, it changes nothing and needs neither a network nor any rights.
set -eu

level=${1:-build}
missing=

# want PACKAGE COMMAND...: PACKAGE is missing where the command fails.
want() {
    package=$1
    shift
    "$@" >/dev/null 2>&1 || missing="$missing $package"
}
have() {
    command -v "$1"
}
# The first C compiler of those that CMake would take.
compiler() {
    for name in ${CC:-} cc gcc clang; do
        command -v "$name" && return
    done
    return 1
}
compiles() {
    echo 'int main(void) { return 0; }' | "$@" -x c - -o /dev/null
}

want_build() {
    want cmake have cmake
    want ninja-build have ninja
    want pkg-config have pkg-config
    want libcjson-dev pkg-config --exists libcjson
    want zlib1g-dev pkg-config --exists zlib
    if ! cc=$(compiler); then
        missing="$missing gcc libc6-dev"
        return
    fi
    want libc6-dev compiles "$cc"
    if "$cc" --version | grep -q clang; then
        want libomp-dev compiles "$cc" -fopenmp
    fi
}
want_test() {
    want check pkg-config --exists check
}
want_ci() {
    want git have git
    want g++ have g++
    want clang have clang
    want libclang-rt-dev compiles clang -fsanitize=address
    want libomp-dev compiles clang -fopenmp
    want llvm have llvm-symbolizer
    want gfortran have gfortran
    want clang-format have clang-format
    want clang-tidy have clang-tidy
    want shellcheck have shellcheck
    want lintian have lintian # for the Debian packages, and dpkg-dev, which builds them
    want dpkg-dev have dpkg-shlibdeps
    want file have file
    want mmdebstrap have mmdebstrap # sets up new systems
    want doxygen have doxygen
    want python3-venv /usr/bin/python3 -c 'import ensurepip' # for the manual's packages
    want jq have jq # for the manual's examples
    want spin have spin # for the models of the protocols
    want gnuplot-nox have gnuplot # for perf/plot
    want petsc-dev pkg-config --exists petsc
    want python3-pytest /usr/bin/python3 -c 'import pytest'
    want python3-yaml /usr/bin/python3 -c 'import yaml' # for the recipes' test
    want python3-jsonschema /usr/bin/python3 -c 'import jsonschema' # for the JSON's test
    want python3-scipy /usr/bin/python3 -c 'import numpy, scipy.sparse' # brings NumPy along
}

case $level in
build) want_build ;;
test) want_build && want_test ;;
ci) want_build && want_test && want_ci ;;
*)
    echo "setup: \"$level\" must be build, test or ci" >&2
    exit 2
    ;;
esac

if [ -n "$missing" ]; then
    if ! have apt-get >/dev/null; then
        echo "setup: there is no apt-get here. Please install what these Debian packages hold:$missing" >&2
        exit 1
    fi
    as_root=
    if [ "$(id -u)" -ne 0 ]; then
        as_root=sudo
        if ! have sudo >/dev/null; then
            echo "setup: please run as root: apt-get install$missing" >&2
            exit 1
        fi
    fi
    echo "setup: installing$missing"
    log=$(mktemp)
    # A source that cannot be reached is no harm if the others hold the packages.
    $as_root apt-get update >"$log" 2>&1 || true
    # The list is meant to be split into words.
    # shellcheck disable=SC2086
    if ! $as_root env DEBIAN_FRONTEND=noninteractive \
        apt-get install -y --no-install-recommends $missing >>"$log" 2>&1; then
        cat "$log" >&2
        echo "setup: installing failed; the log of apt-get is above" >&2
        exit 1
    fi
    rm -f "$log"
fi

# CMakePresets.json needs this version.
if ! cmake --version | awk 'NR == 1 { split($3, v, "."); exit !(v[1] > 3 || (v[1] == 3 && v[2] >= 25)) }'; then
    echo "setup: CMake 3.25 or newer is needed; this is $(cmake --version | head -n 1)" >&2
    exit 1
fi
