#!/bin/sh
# Sets up, builds and runs all tests: sh tests/run.sh
#
# Where no device answers, the tests of the CUDA parts would be skipped, and compiling these parts
# takes longer than all the rest. So they are left out there, unless GSW_CUDA=ON is in the environment.
set -eu
cd "$(dirname "$0")/.."
sh tests/setup.sh test
cuda=${GSW_CUDA:-AUTO}
[ "$cuda" != AUTO ] || nvidia-smi -L >/dev/null 2>&1 || cuda=OFF
cmake --preset test -DGSW_CUDA="$cuda"
cmake --build --preset test
exec ctest --preset test
