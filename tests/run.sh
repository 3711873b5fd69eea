#!/bin/sh
# Sets up, builds and runs all tests: sh tests/run.sh
#
# Where no device answers, the tests of the CUDA parts would be skipped, and compiling these parts
# takes longer than all the rest. So they are left out there, unless GSW_CUDA=ON is in the environment.
set -eu
cd "$(dirname "$0")/.."
cat <<'END'
tests/run.sh: 1. installs the packages of Debian or Ubuntu that are missing (setup names them),
              2. builds everything in build/test: some 2 minutes on two cores, more with CUDA,
              3. runs all tests, each named as it begins: some 20 minutes on two cores.
END
sh tests/setup.sh test
cuda=${GSW_CUDA:-AUTO}
[ "$cuda" != AUTO ] || nvidia-smi -L >/dev/null 2>&1 || cuda=OFF
cmake --preset test -DGSW_CUDA="$cuda"
cmake --build --preset test
exec ctest --preset test
