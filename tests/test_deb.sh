#!/bin/sh
# test_deb.sh: the Debian packages: builds them in build/deb, checks what each holds and needs, lets
# lintian judge them, and unpacks them into a folder of their own. There a program is compiled with
# pkg-config and with CMake and runs, and so do the packaged program and the plug-in for PETSc.
#
# Usage: test_deb.sh [OPTION-OF-CMAKE...], such as -DGSW_CUDA=OFF. Exit code: 77 where dpkg's tools are
# missing. test_systems.sh installs such packages with apt on systems without anything else.
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
for tool in dpkg-shlibdeps file gzip pkg-config; do
    command -v $tool >/dev/null || { echo "test_deb.sh: there is no $tool: nothing is tested"; exit 77; }
done
work=$(mktemp -d "${TMPDIR:-/tmp}/gridsweep-test.XXXXXX")
trap 'rm -rf "$work"' EXIT
cd "$root"

# quietly COMMAND...: what it says is shown only where it fails.
quietly() {
    "$@" >"$work/log" 2>&1 || {
        cat "$work/log" >&2
        exit 1
    }
}

quietly cmake --preset deb "$@"
quietly cmake --build --preset deb
packages=$work/packages
quietly cpack --config build/deb/CPackConfig.cmake -G DEB -B "$packages"
rm -rf "$packages/_CPack_Packages"

version=$(sed -n 's/^set(CPACK_PACKAGE_VERSION "\(.*\)")/\1/p' build/deb/CPackConfig.cmake)
soname=$(readelf -d build/deb/src/libgridsweep.so | sed -n 's/.*SONAME.*libgridsweep\.so\.\([0-9.]*\).*/\1/p')
library=libgridsweep$soname
plugin=
[ ! -f build/deb/src/petsc/libgridsweep_petsc.so ] || plugin=gridsweep-petsc
mpi=
[ ! -f build/deb/src/mpi/libgridsweep_mpi.so ] || mpi=libgridsweep-mpi$soname

# holds PACKAGE FILE...: the package holds files that match these patterns.
holds() {
    package=$1
    shift
    dpkg-deb -c "$packages/${package}"_*.deb | awk '!/^d/ { print $6 }' >"$work/files"
    for file in "$@"; do
        grep -q "^\./usr/$file\$" "$work/files" || { echo "$package lacks usr/$file" >&2; exit 1; }
    done
    cat "$work/files" >>"$work/all"
}
# needs PACKAGE DEPENDENCY...: the package names these dependencies.
needs() {
    package=$1
    depends=$(dpkg-deb -f "$packages/${package}"_*.deb Depends)
    echo "$package needs $depends"
    shift
    for dependency in "$@"; do
        case ", $depends," in
        *", $dependency"[\ ,]*) ;;
        *) echo "$package must need $dependency" >&2; exit 1 ;;
        esac
    done
}
holds "$library" "lib/.*/libgridsweep\.so\.$soname"
needs "$library" libc6
holds libgridsweep-dev 'include/gridsweep/gridsweep\.h' 'lib/.*/libgridsweep\.so' \
    'lib/.*/libgridsweep\.a' 'lib/.*/pkgconfig/gridsweep\.pc' 'lib/.*/gridsweep-config\.cmake'
needs libgridsweep-dev "$library (= $version-1)"
holds gridsweep bin/gridsweep 'share/man/man1/gridsweep\.1\.gz' \
    share/bash-completion/completions/gridsweep 'share/gridsweep/gridsweep\.schema\.json'
needs gridsweep "$library (>= $version-1)" libcjson1
if [ -n "$mpi" ]; then
    holds "$mpi" "lib/.*/libgridsweep_mpi\.so\.$soname"
    needs "$mpi" "$library (>= $version-1)" libc6
    # The name of MPI's package has its SONAME in it.
    case $depends in *libopenmpi* | *libmpich*) ;; *) echo "$mpi must need an MPI" >&2; exit 1 ;; esac
    holds libgridsweep-mpi-dev include/gridsweep/mpi\.h 'lib/.*/libgridsweep_mpi\.so' \
        'lib/.*/libgridsweep_mpi\.a' 'lib/.*/pkgconfig/gridsweep-mpi\.pc' \
        'lib/.*/gridsweep-mpi-shared\.cmake' 'lib/.*/gridsweep-mpi-static\.cmake'
    needs libgridsweep-mpi-dev "$mpi (= $version-1)" "libgridsweep-dev (= $version-1)" mpi-default-dev
    needs gridsweep "$mpi (>= $version-1)"
fi
if [ -n "$plugin" ]; then
    holds gridsweep-petsc 'lib/.*/gridsweep/libgridsweep_petsc\.so'
    needs gridsweep-petsc "$library (>= $version-1)"
fi
# No file lies in two packages.
sort "$work/all" | uniq -d >"$work/twice"
[ ! -s "$work/twice" ] || { cat "$work/twice" >&2; exit 1; }

# Two warnings stay: the packages close no report in Debian's tracker, and CPack calls ldconfig in
# addition to the trigger.
if command -v lintian >/dev/null; then
    lintian --allow-root --fail-on error,warning \
        --suppress-tags initial-upload-closes-no-bugs,maintscript-calls-ldconfig "$packages"/*.deb
    lintian --version
fi

# Paths in the packages are absolute: pkg-config puts the folder before them.
for deb in "$packages"/*.deb; do
    dpkg -x "$deb" "$work/root"
done
pc=$(find "$work/root" -name gridsweep.pc)
libdir=$(dirname "$(dirname "$pc")")
export LD_LIBRARY_PATH="$libdir"
# Word splitting is how pkg-config's answers are meant to be used.
# shellcheck disable=SC2046
"${CC:-cc}" tests/install/consumer.c -o "$work/consumer" \
    $(PKG_CONFIG_LIBDIR="$libdir/pkgconfig" PKG_CONFIG_SYSROOT_DIR="$work/root" \
        pkg-config --cflags --libs gridsweep)
"$work/consumer"
quietly cmake -S tests/install -B "$work/cmake" -DKIND=shared -DCMAKE_PREFIX_PATH="$work/root/usr"
quietly cmake --build "$work/cmake"
"$work/cmake/consumer"
if [ -n "$mpi" ] && command -v mpicc >/dev/null; then
    # Without a launcher it is a single process.
    # shellcheck disable=SC2046
    mpicc tests/install/consumer_mpi.c -o "$work/consumer_mpi" \
        $(PKG_CONFIG_LIBDIR="$libdir/pkgconfig" PKG_CONFIG_SYSROOT_DIR="$work/root" \
            pkg-config --cflags --libs gridsweep-mpi)
    "$work/consumer_mpi"
    quietly cmake -S tests/install -B "$work/cmake_mpi" -DKIND=shared -DWITH_MPI=ON \
        -DCMAKE_PREFIX_PATH="$work/root/usr"
    quietly cmake --build "$work/cmake_mpi"
    "$work/cmake_mpi/consumer_mpi"
fi
"$work/root/usr/bin/gridsweep" --version
ldd "$work/root/usr/bin/gridsweep" | grep -qF "$libdir/libgridsweep.so.$soname"
if [ -n "$plugin" ] && command -v mpicc >/dev/null; then
    # shellcheck disable=SC2046
    mpicc src/examples/petsc_poisson.c -o "$work/petsc_poisson" $(pkg-config --cflags --libs petsc)
    sh tests/test_examples_petsc.sh "$work/petsc_poisson" "$libdir/gridsweep/libgridsweep_petsc.so"
fi
