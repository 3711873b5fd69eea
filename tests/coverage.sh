#!/usr/bin/env bash
# coverage.sh: which lines of src/ do the tests run?
#
# Usage: coverage.sh [--report]. Builds everything in build/coverage with gcc, runs the tests of the
# library and of the program, and prints for each folder how many of its lines ran. The lines that
# did not run are in build/coverage/uncovered.txt, as FILE:LINE: SOURCE. --report only prints, after
# an earlier run. Left out are the tests that repeat others on lesser instruction sets, those that
# run no line of src/ or build it anew, and program_faults: without memory the counting itself
# crashes. Exit code: 1 if a test fails, or if fewer lines than GSW_COVERAGE_LEAST per cent
# (default: 90) ran.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

build=build/coverage
failed=0
if [ "${1:-}" != --report ]; then
    cmake --preset coverage
    cmake --build --preset coverage
    find $build -name '*.gcda' -delete
    ctest --preset coverage -L '^(unit|program)$' --quiet --output-log $build/tests.log \
        -E '_(base|v3)$|^(install|recipes|scaling_model|structure.*|program_faults)$' || failed=1
    awk '/tests passed|\((Failed|Timeout|Subprocess.*)\)$/' $build/tests.log
fi

# gcov writes one line of JSON per object. An object without a .gcda did not run at all.
find "$PWD/$build" -path '*/src/*' -name '*.gcno' -print0 |
    (cd $build && xargs -0 gcov --json-format --stdout 2>gcov.log) |
    python3 -c '
import collections, json, os, sys

root, least, uncovered = sys.argv[1], float(sys.argv[2]), sys.argv[3]
skipped = ("src/docs", "src/examples", "src/packaging", "src/python")
runs = collections.defaultdict(int)
for text in sys.stdin:
    unit = json.loads(text)
    for file in unit["files"]:
        path = os.path.relpath(os.path.join(unit["current_working_directory"], file["file"]), root)
        if path.startswith("src/") and not path.startswith(skipped):
            for line in file["lines"]:
                runs[path, line["line_number"]] += line["count"]
with open(uncovered, "w") as out:
    for (path, number), count in sorted(runs.items()):
        if count == 0:
            with open(path) as source:
                print(f"{path}:{number}: {source.readlines()[number - 1].strip()}", file=out)
for folder in (*folders, "src"):
    counts = [count for (path, _), count in runs.items() if path.startswith(folder + "/")]
    ran = sum(count > 0 for count in counts)
    share = 100 * ran / max(len(counts), 1)
    print(f"{folder:12} {ran:6} of {len(counts):6} lines {share:6.1f} %")
sys.exit(share < least)
' "$PWD" "${GSW_COVERAGE_LEAST:-90}" $build/uncovered.txt || failed=1
exit $failed
