#!/usr/bin/env bash
# Tests on a machine with a GPU: builds everything there, runs every test that needs a device, runs
# some of them under compute-sanitizer, and writes a report. All tests run twice: with the kernels
# for this device, and with those for the oldest ones (compiled as for compute capability 7.5, in
# DIR-portable, with 64 KiB of shared memory per block: see GSW_CUDA_AS in CONTRIBUTING.md). Then
# tests/same_bits.sh compares their results. Tests that do not depend on the kernels' way, or where many
# processes share a device, run once. A second device takes all but the tests of the first way, at the
# same time; CUDA_VISIBLE_DEVICES prevents that.
#
#   tests/gpu.sh [--build DIR] [--report FILE] [--deps DIR] [--resume] [--no-sanitizers] [--no-portable]
#   tests/gpu.sh --hash          prints the hash of the kernels' sources, nothing else
#
#   --build DIR      where to build (build/gpu); all else in the checkout may be read-only if the
#   --report FILE    report goes elsewhere too (tests/gpu-report.json)
#   --deps DIR       folder of unpacked packages (below)
#   --resume         runs no test that has passed in DIR before, for the same sources (DIR/tests-run)
#   --no-sanitizers  leaves compute-sanitizer out
#   --no-portable    leaves the kernels for the oldest devices out
#
# Folders and files are named from the top of the checkout.
#
# Exit code: 0 all passed; 1 something failed; 2 bad usage; 77 there is no device.
#
# From the environment: CMAKE_CUDA_ARCHITECTURES, CUDACXX and what else CMake reads; GSW_COMMIT, the
# commit to report where there is no checkout of git.
#
# Needed: CMake 3.25, a C and a CUDA compiler, pkg-config, and the libraries Check and cJSON (zlib is optional). On a
# machine without network or rights the libraries can be unpacked from packages of the same Debian
# or Ubuntu (add pkgconf, pkgconf-bin and libpkgconf3 where pkg-config is missing as well):
#
#   apt-get download check libsubunit-dev libsubunit0 libcjson-dev libcjson1
#   for package in *.deb; do dpkg -x "$package" deps; done
#   tests/gpu.sh --deps deps
#
# The sanitizers find: memcheck wrong addresses; racecheck hazards in shared memory between barriers;
# leakcheck (memcheck) device memory that is not freed; synccheck misuse of barriers. The last two run
# on whole solves by the program, because synccheck would take minutes for the tests. The sweep hands
# over by counters, with acquire and release, in shared and in global memory. racecheck does not
# support such counters and reports every hand-over as a hazard, so it runs on the products alone. The
# kernels' comments explain why the sweep's hand-overs are right, and the tests check them.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# The sources that decide what runs on the device.
hash_kernels() {
    find kernels/common kernels/contract/*.h kernels/geometry kernels/cuda -type f | LC_ALL=C sort |
        xargs sha256sum | sha256sum | cut -d ' ' -f 1
}

usage() {
    echo "gpu.sh: $1; see the head of tests/gpu.sh" >&2
    exit 2
}

build=build/gpu
report=tests/gpu-report.json
deps=
resume=
sanitizers="memcheck leakcheck racecheck synccheck"
ways="native portable"
while [ $# -gt 0 ]; do
    case $1 in
    --hash)
        hash_kernels
        exit
        ;;
    --resume) resume=yes ;;
    --no-sanitizers) sanitizers= ;;
    --no-portable) ways=native ;;
    --build | --report | --deps)
        [ $# -ge 2 ] || usage "$1 needs a value"
        case $1 in
        --build) build=$2 ;;
        --report) report=$2 ;;
        --deps) deps=$2 ;;
        esac
        shift
        ;;
    *) usage "unknown option $1" ;;
    esac
    shift
done

# ---- The machine -----------------------------------------------------------------------------------

PATH=$PATH:/usr/local/cuda/bin
if ! devices=$(nvidia-smi --query-gpu=name,driver_version --format=csv,noheader 2>/dev/null) ||
    [ -z "$devices" ]; then
    echo "gpu.sh: no device answers (nvidia-smi lists none): nothing is tested"
    exit 77
fi
mkdir -p "$(dirname "$report")" "$build"
[ -w "$(dirname "$report")" ] || usage "$report cannot be written: use --report"
device=$(sed -n '1s/, [^,]*$//p' <<<"$devices")
driver=$(sed -n '1s/.*, //p' <<<"$devices")
toolkit=$("${CUDACXX:-nvcc}" --version | sed -n 's/.*release [^V]*V//p')
commit=${GSW_COMMIT:-}
if [ -z "$commit" ] && command -v git >/dev/null; then
    commit=$(git -c safe.directory="$PWD" rev-parse --short=12 HEAD 2>/dev/null) || commit=
fi
commit=${commit:-unknown}
echo "gpu.sh: $device, driver $driver, toolkit $toolkit, commit $commit"

if [ -n "$deps" ]; then
    deps=$(cd "$deps" && pwd)
    PATH=$PATH:$deps/usr/bin
    pkg_config_path=$(find "$deps" -type d -name pkgconfig | tr '\n' ':')
    libraries=$(find "$deps" -name '*.so*' -exec dirname {} + | sort -u | tr '\n' ':')
    # Only what is unpacked there is looked at, because all paths get the folder before them.
    export PKG_CONFIG_LIBDIR=${pkg_config_path%:} PKG_CONFIG_SYSROOT_DIR=$deps
    export LD_LIBRARY_PATH=$libraries${LD_LIBRARY_PATH:-}
    export CMAKE_PREFIX_PATH=$deps/usr${CMAKE_PREFIX_PATH:+:$CMAKE_PREFIX_PATH}
fi

# ---- Build and test --------------------------------------------------------------------------------

[ "${build#/}" != "$build" ] || build=$PWD/$build
failed=0

# build FOLDER OPTION...: leaves FOLDER/build.log.
build() {
    local folder=$1
    local options=(-DCMAKE_BUILD_TYPE=Release -DGSW_CUDA=ON -DGSW_BUILD_TESTS=ON -DGSW_BUILD_PERF=ON)
    shift
    options+=("$@")
    [ -z "${CMAKE_CUDA_ARCHITECTURES:-}" ] ||
        options+=("-DCMAKE_CUDA_ARCHITECTURES=$CMAKE_CUDA_ARCHITECTURES")
    if [ ! -f "$folder/CMakeCache.txt" ] && command -v ninja >/dev/null; then
        options+=(-G Ninja)
    fi
    mkdir -p "$folder"
    {
        cmake -S . -B "$folder" "${options[@]}" &&
            cmake --build "$folder" --parallel "$(nproc)"
    } >"$folder/build.log" 2>&1 || {
        tail -n 40 "$folder/build.log" >&2
        return 1
    }
}

# run_test WAY FOLDER NAME: leaves FOLDER/tests-run/NAME.passed or NAME.failed, as JUnit writes them.
# shellcheck disable=SC2317 # xargs calls it
run_test() {
    local results=$2/tests-run name=$3 end=passed
    [ ! -f "$results/$name.passed" ] || return 0
    rm -f "$results/$name.failed"
    GSW_TEST_REPEATS=10000 ctest --test-dir "$2" -R "^$name\$" --no-tests=error \
        --output-on-failure --test-output-size-passed 100000 \
        --output-junit "$results/$name.new" >"$results/$name.log" 2>&1 || end=failed
    grep -q ' status="run"' "$results/$name.new" 2>/dev/null || end=failed # a skipped one, too
    mv "$results/$name.new" "$results/$name.$end" 2>/dev/null ||
        echo "<testcase name=\"$name\" time=\"0\" status=\"fail\"></testcase>" >"$results/$name.failed"
    echo "gpu.sh: $1 way: $name $end"
    [ "$end" = passed ] || cat "$results/$name.log" >&2
}
export -f run_test

# run_tests WAY FOLDER: runs all tests, four at a time but for those that measure or wait, and leaves
# in FOLDER/tests-run/sources what was tested.
run_tests() {
    local way=$1 folder=$2 results=$2/tests-run once='^$' alone='^(tuning|cuda_waiting|cuda_slabs_.)$'
    local sources names
    sources=$(find include src kernels baselines tests -type f ! -name '*.pyc' ! -name '*.json' |
        LC_ALL=C sort | xargs sha256sum | sha256sum)
    if [ -z "$resume" ] || [ "$(cat "$results/sources" 2>/dev/null)" != "$sources" ]; then
        rm -rf "$results"
    fi
    mkdir -p "$results"
    echo "$sources" >"$results/sources"
    [ "$way" = native ] || once='^(rivals|published|cuda_slabs_[34]|python|example_.*)$'
    names=$(ctest --test-dir "$folder" -N -L '^gpu$' -E "$once" | sed -n 's/^ *Test *#[0-9]*: //p')
    at_once() { xargs -P "$1" -I{} bash -c 'run_test "$@"' run_test "$way" "$folder" {}; }
    grep -Ev "$alone" <<<"$names" | at_once 4
    grep -E "$alone" <<<"$names" | at_once 1
    [ -z "$(find "$results" -name '*.failed')" ] || failed=1
}

# Leaves what it says in DIR-portable/same_bits.log.
compare_bits() {
    bash tests/same_bits.sh "$build/gridsweep" "$build-portable/gridsweep" \
        >"$build-portable/same_bits.log" || {
        echo "gpu.sh: the two ways differ" >&2
        failed=1
    }
    cat "$build-portable/same_bits.log"
}

if [ "$ways" = native ]; then
    build "$build"
else
    build "$build-portable" -DGSW_CUDA_AS=75 &
    build "$build"
    wait $!
fi
# complain LOG WHAT...: what went wrong, what the tool says, and the end of the log.
complain() {
    local log=$1
    shift
    echo "gpu.sh: $* (124: it took too long); what the tool says and the end of $log:" >&2
    grep -m 40 '^=========' "$log" >&2 || true
    tail -n 20 "$log" >&2
}

# ended_well TOOL LOG WHAT CODE PATTERN...: whether a run under the tool ended with code 0 and the
# log has a line of each pattern; an exit code of 0 alone means little. Else prints unavailable or
# failed, and tells on stderr why.
ended_well() {
    local tool=$1 log=$2 what=$3 code=$4 pattern
    shift 4
    if grep -q 'Device not supported' "$log"; then
        echo "gpu.sh: $tool: the tool does not support this machine" >&2
        echo unavailable
        return 1
    fi
    for pattern in "$@"; do
        if [ "$code" -ne 0 ] || ! grep -q "$pattern" "$log"; then
            complain "$log" "$what: exit code $code"
            echo failed
            return 1
        fi
    done
}

# check_solves TOOL LOG SUMMARY OPTION...: solves by the program under compute-sanitizer, which has
# to end with that summary; prints passed, failed or unavailable.
check_solves() {
    local tool=$1 log=$2 summary=$3 solve code
    shift 3
    local solves=("convection:12x11x13 --method bicgstab --precond ilu0"
        "hpcg:9x10x7 --method cg --precond ic0")
    # A cycle's launches are more than synccheck can follow with so many barriers.
    [ "$tool" = synccheck ] ||
        solves+=("lognormal:13x12x11 --method cg --precond mg --mg-smoother multicolor")
    for solve in "${solves[@]}"; do
        code=0
        # shellcheck disable=SC2086 # the options of the solve are words
        timeout 100 compute-sanitizer "$@" --error-exitcode 9 "$build/gridsweep" solve \
            --backend cuda --problem $solve >"$log" 2>&1 || code=$?
        ended_well "$tool" "$log" "$tool" $code "$summary" || return 0
    done
    echo passed
}

# sanitize TOOL: runs a few grids or solves under the tool; prints passed, failed or unavailable.
# What goes wrong is told on stderr.
sanitize() {
    local log=$build/$1.log name code
    command -v compute-sanitizer >/dev/null || {
        echo "gpu.sh: $1: there is no compute-sanitizer" >&2
        echo unavailable
        return
    }
    case $1 in
    leakcheck)
        check_solves "$1" "$log" 'LEAK SUMMARY: 0 bytes' --tool memcheck --leak-check full
        return
        ;;
    synccheck) # the sweeps of factors have more barriers than it looks for unasked
        check_solves "$1" "$log" 'SUMMARY: 0 errors' --tool synccheck --num-cuda-barriers 16384
        return
        ;;
    esac
    local names="test_sptrsv test_factor test_spmv"
    [ "$1" != racecheck ] || names=test_spmv
    for name in $names; do
        code=0
        CK_RUN_CASE=equal GSW_TEST_STRIDE=9 timeout 150 \
            compute-sanitizer --tool "$1" --error-exitcode 9 "$build/tests/$name" cuda \
            >"$log" 2>&1 || code=$?
        ended_well "$1" "$log" "$1 $name" $code 'SUMMARY: 0 ' '^100%: Checks' || return 0
    done
    echo passed
}

# ---- Report ----------------------------------------------------------------------------------------

# suites FOLDER: one line for each test that ran there: name, status, checks, failed checks, seconds.
suites() {
    # shellcheck disable=SC2016 # the dollars are awk's
    find "$1/tests-run" \( -name '*.passed' -o -name '*.failed' \) -print0 | LC_ALL=C sort -z |
        xargs -0 -r awk '
        /<testcase / {
            name = $0; sub(/.*<testcase name="/, "", name); sub(/".*/, "", name)
            status = $0; sub(/.* status="/, "", status); sub(/".*/, "", status)
            time = $0; sub(/.* time="/, "", time); sub(/".*/, "", time)
            checks = bad = 0
        }
        /^[0-9]+%: Checks: [0-9]+, Failures: [0-9]+, Errors: [0-9]+/ {
            line = $0
            gsub(/[^0-9 ]/, "", line)
            split(line, n, " ")
            checks += n[2]
            bad += n[3] + n[4]
        }
        /<\/testcase>/ {
            said = status == "run" ? "passed" : status == "fail" ? "failed" : "skipped"
            print name, said, checks, bad, time
        }'
}

quoted() {
    local text=${1//\\/\\\\}
    printf '"%s"' "${text//\"/\\\"}"
}

# members PRINTF_FORMAT: lines of words as members of a JSON object or array.
members() {
    awk -v format="$1" 'NF { printf "%s    " format, sep, $1, $2, $3, $4, $5; sep = ",\n" }
        END { if (sep) print "" }'
}

# tested FOLDER: the members "tests" and "suites" of what ran there.
tested() {
    local lines seconds
    lines=$(suites "$1")
    seconds=$(awk '{ sum += $5 } END { printf "%d", sum }' <<<"$lines")
    number() { grep -c " $1 " <<<"$lines" || true; }
    echo "  \"tests\": {\"run\": $(($(number passed) + $(number failed)))," \
        "\"passed\": $(number passed), \"failed\": $(number failed)," \
        "\"skipped\": $(number skipped), \"seconds\": $seconds},"
    echo "  \"suites\": ["
    members '{"name": "%s", "status": "%s", "checks": %d, "failures": %d, "seconds": %.1f}' \
        <<<"$lines"
    echo "  ]"
}

write_report() {
    echo "{"
    echo "  \"date\": \"$(date -u +%Y-%m-%dT%H:%M:%SZ)\","
    echo "  \"device\": $(quoted "$device"),"
    echo "  \"driver\": $(quoted "$driver"),"
    echo "  \"toolkit\": $(quoted "$toolkit"),"
    echo "  \"commit\": $(quoted "$commit"),"
    echo "  \"kernels\": \"$(hash_kernels)\","
    tested "$build"
    if [ "$ways" != native ]; then
        echo '  ,"portable": {'
        tested "$build-portable"
        sed -n '$s/\([0-9]*\) the same, \([0-9]*\) different/  ,"same_bits": {"same": \1, "different": \2}/p' \
            "$build-portable/same_bits.log"
        echo "  }"
    fi
    echo '  ,"sanitizers": {'
    members '"%s": "%s"' <<<"$results"
    echo "  }"
    echo "}"
}

# ---- Both ways, and the sanitizers -----------------------------------------------------------------

# What the sanitizers have said so far; the others have not run.
results=$(for tool in $sanitizers; do echo "$tool not_run"; done)

run_sanitizers() {
    local tool begin result
    for tool in $sanitizers; do
        begin=$SECONDS
        result=$(sanitize "$tool")
        echo "gpu.sh: $tool: $result, $((SECONDS - begin)) s"
        [ "$result" != failed ] || failed=1
        results=${results/$tool not_run/$tool $result}
    done
    echo "$results" >"$build/sanitizers"
}

run_portable() {
    [ "$ways" != native ] || return 0
    run_tests portable "$build-portable"
    compare_bits
}

if [ -z "${CUDA_VISIBLE_DEVICES:-}" ] && [ "$(wc -l <<<"$devices")" -gt 1 ]; then
    (
        export CUDA_VISIBLE_DEVICES=1
        run_sanitizers
        run_portable
        exit $failed
    ) >"$build/second.log" 2>&1 &
    run_tests native "$build"
    wait $! || failed=1
    cat "$build/second.log"
else
    run_tests native "$build"
    run_portable
    run_sanitizers
fi
results=$(cat "$build/sanitizers")

# On a machine with a device a skipped test is a failure.
for way in $ways; do
    folder=$build
    [ "$way" = native ] || folder=$build-portable
    lines=$(suites "$folder")
    if [ -z "$lines" ] || grep -q ' skipped ' <<<"$lines"; then
        echo "gpu.sh: not every test ran, $way way" >&2
        failed=1
    fi
done
write_report >"$report"
cat "$report"
[ $failed -eq 0 ] || echo "gpu.sh: something failed" >&2
exit $failed
