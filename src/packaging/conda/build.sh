#!/bin/sh
# Called by rattler-build in the source tree, with PREFIX, CPU_COUNT and CMAKE_ARGS set.
set -eu

# CMAKE_ARGS are words, such as the prefix and the tools of the cross compiler.
# shellcheck disable=SC2086
cmake -S . -B conda-build-folder -G Ninja ${CMAKE_ARGS:-} \
    -DCMAKE_BUILD_TYPE=Release \
    -DCMAKE_INSTALL_PREFIX="$PREFIX" \
    -DCMAKE_INSTALL_LIBDIR=lib \
    -DGSW_OPENMP=ON \
    -DGSW_CUDA=OFF \
    -DGSW_PETSC=OFF \
    -DGSW_MPI=OFF \
    -DGSW_ZLIB=ON \
    -DGSW_BUILD_PROGRAM=ON \
    -DGSW_BUILD_TESTS=OFF
cmake --build conda-build-folder --parallel "${CPU_COUNT:-1}"
cmake --install conda-build-folder
