#!/bin/sh
# Installs a build into a new folder and uses it from outside as other projects do: each header
# compiled alone, find_package and pkg-config, shared and static, the program and its manual page.
#
#   run.sh CMAKE BUILD_FOLDER CONFIGURATION        (CC: the compiler, cc if not set)
#
# Where the transport over MPI is installed, a second program uses it, run by MPIEXEC if that is set.
set -eu

cmake=$1
build=$2
config=$3
CC=${CC:-cc}
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

step() {
    echo "install: $*"
}

# The installed tree is moved once, because it must not depend on its first place.
step "installing and moving the tree"
"$cmake" --install "$build" --config "$config" --prefix "$work/first" >"$work/install.log"
mv "$work/first" "$work/prefix"
prefix=$work/prefix
pc=$(find "$prefix" -name gridsweep.pc)
[ -n "$pc" ] || { echo "install: gridsweep.pc is missing" >&2; exit 1; }
libdir=$(dirname "$(dirname "$pc")")

# A symbol that goes away breaks linked programs. A new symbol must be added to the list.
# Names that begin with a dot are clang's own, for OpenMP.
step "exported symbols"
if command -v nm >/dev/null; then
    nm -D --defined-only "$libdir/libgridsweep.so" | awk '$3 !~ /^[.]/ { print $3 }' | LC_ALL=C sort |
        diff "$here/symbols.txt" - || { echo "install: symbols.txt lists others" >&2; exit 1; }
fi

# Spack's wrapper of c++ is there even where it refuses to compile.
step "compiling each header alone"
cxx=
if echo 'int main() {}' | c++ -x c++ -fsyntax-only - 2>/dev/null; then
    cxx=c++
fi
mpi=$(pkg-config --cflags mpi-c 2>/dev/null || mpicc --showme:compile 2>/dev/null || true)
mpi_headers=$(echo "$mpi" | sed 's/-I */-isystem /g')
mpi_libs=$(pkg-config --libs mpi-c 2>/dev/null || mpicc --showme:link 2>/dev/null || true)
for header in "$prefix"/include/gridsweep/*.h; do
    if [ "$(basename "$header")" = mpi.h ] && [ -z "$mpi" ]; then
        continue # it includes the header of MPI
    fi
    printf "#include <gridsweep/%s>\nextern int something;\n" "$(basename "$header")" >"$work/header.c"
    # Of MPI's own headers no warning counts.
    # shellcheck disable=SC2086 # options of a compiler
    "$CC" -std=c11 -Wall -Wextra -Wpedantic -Werror -I"$prefix/include" $mpi_headers -fsyntax-only \
        "$work/header.c"
    if [ -n "$cxx" ]; then
        # shellcheck disable=SC2086
        "$cxx" -x c++ -std=c++11 -Wall -Wextra -Werror -I"$prefix/include" $mpi_headers -fsyntax-only \
            "$work/header.c"
    fi
done

# together PROGRAM: runs it on two processes, or without a launcher on one.
together() {
    if [ -n "${MPIEXEC:-}" ]; then
        "$MPIEXEC" -n 2 "$1"
    else
        "$1"
    fi
}
with_mpi=OFF
[ ! -f "$libdir/pkgconfig/gridsweep-mpi.pc" ] || with_mpi=ON

for kind in shared static; do
    step "find_package, $kind"
    "$cmake" -S "$here" -B "$work/$kind" -DKIND=$kind -DWITH_MPI=$with_mpi -DCMAKE_PREFIX_PATH="$prefix" \
        -DCMAKE_C_COMPILER="$CC" >"$work/configure.log" || { cat "$work/configure.log"; exit 1; }
    "$cmake" --build "$work/$kind" >"$work/build.log" || { cat "$work/build.log"; exit 1; }
    "$work/$kind/consumer"
    [ $with_mpi = OFF ] || together "$work/$kind/consumer_mpi"
done
if [ $with_mpi = ON ]; then
    step "find_package without the component mpi"
    "$cmake" -S "$here" -B "$work/plain" -DKIND=shared -DCMAKE_PREFIX_PATH="$prefix" \
        -DCMAKE_C_COMPILER="$CC" >"$work/configure.log" || { cat "$work/configure.log"; exit 1; }
else
    step "find_package refuses the component mpi, which is not installed"
    if "$cmake" -S "$here" -B "$work/refused" -DKIND=shared -DWITH_MPI=ON -DCMAKE_PREFIX_PATH="$prefix" \
        -DCMAKE_C_COMPILER="$CC" >"$work/configure.log" 2>&1; then
        echo "install: the component mpi was found" >&2
        exit 1
    fi
    grep -q 'The component mpi needs MPI for C' "$work/configure.log"
fi

# Word splitting is how pkg-config's answers are meant to be used.
# shellcheck disable=SC2046
if command -v pkg-config >/dev/null; then
    export PKG_CONFIG_PATH="$libdir/pkgconfig"
    step "pkg-config, shared"
    "$CC" "$here/consumer.c" -o "$work/consumer" $(pkg-config --cflags --libs gridsweep)
    LD_LIBRARY_PATH=$libdir "$work/consumer"

    # With both libraries side by side the linker prefers the shared one; -l:NAME picks the other.
    step "pkg-config, static"
    "$CC" "$here/consumer.c" -o "$work/consumer" $(pkg-config --cflags gridsweep) \
        $(pkg-config --static --libs gridsweep | sed 's/-lgridsweep/-l:libgridsweep.a/')
    "$work/consumer"

    # gridsweep-mpi names no MPI of its own: mpicc, or MPI's own file, does.
    if [ $with_mpi = ON ] && [ -n "$mpi_libs" ]; then
        step "pkg-config, over MPI"
        "$CC" "$here/consumer_mpi.c" -o "$work/consumer_mpi" \
            $(pkg-config --cflags --libs gridsweep-mpi) $mpi $mpi_libs
        LD_LIBRARY_PATH=$libdir together "$work/consumer_mpi"
    fi
fi

if [ -x "$prefix/bin/gridsweep" ]; then
    step "the program and its manual page"
    "$prefix/bin/gridsweep" --version
    [ -s "$prefix/share/man/man1/gridsweep.1" ]
    [ -s "$prefix/share/gridsweep/gridsweep.schema.json" ]
fi
# The Debian packages, unpacked where nothing else is. Their paths are absolute: pkg-config puts the
# folder before them. (tests/test_deb.sh checks them one by one.)
# shellcheck disable=SC2046
if command -v dpkg-shlibdeps >/dev/null && command -v pkg-config >/dev/null; then
    step "the Debian packages"
    "$(dirname "$cmake")/cpack" --config "$build/CPackConfig.cmake" -C "$config" -G DEB \
        -B "$work/package" >"$work/cpack.log" 2>&1 || { cat "$work/cpack.log"; exit 1; }
    for deb in "$work"/package/*.deb; do
        dpkg -x "$deb" "$work/root"
    done
    packaged=$(dirname "$(find "$work/root" -name gridsweep.pc)")
    unset PKG_CONFIG_PATH
    export PKG_CONFIG_LIBDIR="$packaged" PKG_CONFIG_SYSROOT_DIR="$work/root"
    "$CC" "$here/consumer.c" -o "$work/consumer" $(pkg-config --cflags --libs gridsweep)
    LD_LIBRARY_PATH=$(dirname "$packaged") "$work/consumer"
    if [ $with_mpi = ON ] && [ -n "$mpi_libs" ]; then
        "$CC" "$here/consumer_mpi.c" -o "$work/consumer_mpi" \
            $(pkg-config --cflags --libs gridsweep-mpi) $mpi $mpi_libs
        LD_LIBRARY_PATH=$(dirname "$packaged") together "$work/consumer_mpi"
    fi
    "$cmake" -S "$here" -B "$work/deb" -DKIND=shared -DWITH_MPI=$with_mpi -DCMAKE_PREFIX_PATH="$work/root/usr" \
        -DCMAKE_C_COMPILER="$CC" >"$work/configure.log" || { cat "$work/configure.log"; exit 1; }
    "$cmake" --build "$work/deb" >"$work/build.log" || { cat "$work/build.log"; exit 1; }
    "$work/deb/consumer"
    [ $with_mpi = OFF ] || together "$work/deb/consumer_mpi"
fi
step "all good"
