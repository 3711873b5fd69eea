#!/bin/sh
# Installs a build into a new folder and uses it from outside as other projects do: each header
# compiled alone, find_package and pkg-config, shared and static, the program and its manual page.
#
#   run.sh CMAKE BUILD_FOLDER CONFIGURATION        (CC: the compiler, cc if not set)
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
for header in "$prefix"/include/gridsweep/*.h; do
    printf "#include <gridsweep/%s>\nextern int something;\n" "$(basename "$header")" >"$work/header.c"
    "$CC" -std=c11 -Wall -Wextra -Wpedantic -Werror -I"$prefix/include" -fsyntax-only \
        "$work/header.c"
    if [ -n "$cxx" ]; then
        "$cxx" -x c++ -std=c++11 -Wall -Wextra -Werror -I"$prefix/include" -fsyntax-only \
            "$work/header.c"
    fi
done

for kind in shared static; do
    step "find_package, $kind"
    "$cmake" -S "$here" -B "$work/$kind" -DKIND=$kind -DCMAKE_PREFIX_PATH="$prefix" \
        -DCMAKE_C_COMPILER="$CC" >"$work/configure.log" || { cat "$work/configure.log"; exit 1; }
    "$cmake" --build "$work/$kind" >"$work/build.log" || { cat "$work/build.log"; exit 1; }
    "$work/$kind/consumer"
done

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
    "$cmake" -S "$here" -B "$work/deb" -DKIND=shared -DCMAKE_PREFIX_PATH="$work/root/usr" \
        -DCMAKE_C_COMPILER="$CC" >"$work/configure.log" || { cat "$work/configure.log"; exit 1; }
    "$cmake" --build "$work/deb" >"$work/build.log" || { cat "$work/build.log"; exit 1; }
    "$work/deb/consumer"
fi
step "all good"
