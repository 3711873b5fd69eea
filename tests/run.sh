#!/bin/sh
# Sets up, builds and runs all tests: sh tests/run.sh
set -eu
cd "$(dirname "$0")/.."
sh tests/setup.sh test
exec cmake --workflow --preset test
