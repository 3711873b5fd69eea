#!/usr/bin/env bash
# Searches the models of the hand-over protocols with spin, and shows that faults in them are found:
#
#   tests/models/run.sh                every model and every mutation
#   tests/models/run.sh MODEL...       only those of these models: sweep, line, ...
#   tests/models/run.sh --large        also the larger sizes, which take minutes
#
# README.md describes the models. Each row below is one search. `right`: the protocol as it is; the
# search must visit every state of that size and find no error. Otherwise the row is a mutation, and
# the search must find what the second column says: the name of an assertion, or `deadlock`.
#
# Prints a line per search, then the number of mutations that were caught, then "N passed, N failed".
# Exits with 77 where spin is not installed. JOBS: searches at a time (2).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

rows() {
    cat <<'ROWS'
sweep | right | WORKERS=3 NY=2 NZ=3 SLOTS=3 STEPS=2 SOLVES=2
sweep | right | WORKERS=1 NY=2 NZ=3 SLOTS=4 STEPS=3 SOLVES=3 CORNER=1
sweep | right | WORKERS=2 NY=2 NZ=3 SLOTS=4 STEPS=2 SOLVES=2 CORNER=1
sweep | right | WORKERS=4 NY=2 NZ=3 SLOTS=3 STEPS=1 SOLVES=2 COUPLED_Y=0
sweep | right | WORKERS=4 NY=1 NZ=8 SLOTS=3 STEPS=1 SOLVES=1 SECTION=2
sweep | right | WORKERS=6 NY=1 NZ=3 SLOTS=2 STEPS=2 SOLVES=2
sweep | right | WORKERS=3 NY=1 NZ=4 SLOTS=2 STEPS=1 SOLVES=2 GROUPS=2
sweep | right | WORKERS=2 NY=2 NZ=2 SLOTS=3 STEPS=1 SOLVES=2 TIMEOUTS=1
sweep | right | WORKERS=2 NY=2 NZ=2 SLOTS=3 STEPS=1 SOLVES=2 TIMEOUTS=1 WITHHELD=0
sweep | right | WORKERS=3 NY=1 NZ=3 SLOTS=2 STEPS=1 SOLVES=3 TIMEOUTS=2
sweep | right | WORKERS=2 NY=1 NZ=3 SLOTS=2 STEPS=1 SOLVES=2 TIMEOUTS=1 GROUPS=2
sweep | every_read_value_is_the_right_one | WORKERS=4 COUPLED_Y=0 FAULT_READER_TAKES_ANY_OWNER
sweep | every_face_is_free_when_written | FAULT_OPENER_DOES_NOT_WAIT
sweep | every_face_is_free_when_written | WORKERS=4 NY=1 NZ=8 SECTION=2 SOLVES=1 FAULT_UNREAD_FACE_IS_FREE
sweep | every_read_value_is_the_right_one | FAULT_DONE_OF_ANY_SOLVE
sweep | every_read_value_is_the_right_one | FAULT_FIRST_ROLE_RELEASES
sweep | every_read_value_is_the_right_one | FAULT_DONE_BEFORE_RESET
sweep | deadlock | FAULT_TICKETS_BACKWARDS
sweep | all_faces_are_clean_after_a_solve | FAULT_NO_WAIT_FOR_KERNEL_BEFORE
sweep | every_ticket_is_of_its_launch | FAULT_NEXT_KERNEL_STARTS_EARLY
sweep | deadlock | FAULT_RING_TOO_SHORT
sweep | every_read_value_is_the_right_one | NY=1 NZ=4 SLOTS=2 GROUPS=2 FAULT_GROUPS_SHARE_DONE
sweep | deadlock | WORKERS=2 NZ=2 TIMEOUTS=1 WITHHELD=0 FAULT_ROLES_IGNORE_THE_MARK
sweep | deadlock | WORKERS=2 NZ=2 TIMEOUTS=1 FAULT_ONLY_THE_MARK_MAKES_DIRTY
sweep | every_read_value_is_the_right_one | WORKERS=2 NZ=2 TIMEOUTS=1 FAULT_OTHERS_DO_NOT_WAIT_FOR_CLEANING
sweep | every_read_value_is_the_right_one | WORKERS=2 NZ=2 TIMEOUTS=1 FAULT_UNMARKS_BEFORE_CLEANING
line | right | WORKERS=3 NY=2 NZ=3 POINTS=2 SOLVES=2 MARKED=1
line | right | WORKERS=3 NY=2 NZ=3 POINTS=2 SOLVES=2 MARKED=0
line | right | WORKERS=1 NY=2 NZ=3 POINTS=4 SOLVES=3 MARKED=1 PER_LINE=2
line | right | WORKERS=3 NY=2 NZ=2 POINTS=2 SOLVES=2 MARKED=1 PER_LINE=2
line | right | WORKERS=3 NY=2 NZ=2 POINTS=2 SOLVES=2 MARKED=1 TIMEOUTS=1
line | right | WORKERS=3 NY=2 NZ=2 POINTS=2 SOLVES=2 MARKED=0 TIMEOUTS=1
line | right | WORKERS=2 NY=2 NZ=2 POINTS=2 SOLVES=2 MARKED=1 TIMEOUTS=1 WITHHELD=0
line | right | WORKERS=2 NY=2 NZ=2 POINTS=2 SOLVES=2 MARKED=0 TIMEOUTS=1 WITHHELD=0
line | right | WORKERS=2 NY=1 NZ=3 POINTS=2 SOLVES=3 MARKED=1 TIMEOUTS=2
line | every_read_value_is_the_right_one | MARKED=1 FAULT_RECEIVER_DOES_NOT_AWAIT_THE_MARK
line | every_read_value_is_the_right_one | MARKED=1 FAULT_MARKS_BEFORE_FILLING
line | every_read_value_is_the_right_one | MARKED=0 FAULT_RAISES_BEFORE_STORING
line | every_read_value_is_the_right_one | MARKED=0 FAULT_TWO_WORKERS_RAISE_A_COUNTER
line | every_read_value_is_the_right_one | MARKED=0 FAULT_BASE_STAYS
line | every_tile_is_taken_once | FAULT_FIRST_TO_LEAVE_RESETS
line | deadlock | FAULT_TICKETS_BACKWARDS
line | deadlock | WORKERS=2 NZ=2 TIMEOUTS=1 FAULT_WORKERS_IGNORE_THE_MARK
line | only_a_timeout_abandons | WORKERS=2 NZ=2 TIMEOUTS=1 FAULT_ABANDONED_IS_NOT_RESET
eliminate | right | WORKERS=3 NY=2 NZ=3 STEPS=2 RUNS=2
eliminate | right | WORKERS=4 NY=2 NZ=3 STEPS=2 RUNS=2
eliminate | right | WORKERS=1 NY=2 NZ=3 STEPS=4 RUNS=2
eliminate | right | WORKERS=3 NY=2 NZ=3 STEPS=2 RUNS=2 TIMEOUTS=1 WITHHELD=0
eliminate | every_read_value_is_the_right_one | FAULT_ALLOWS_ONE_STEP_TOO_MANY
eliminate | every_read_value_is_the_right_one | FAULT_COMPLETES_BEFORE_THE_BARRIER
eliminate | every_read_value_is_the_right_one | FAULT_READS_ONE_PENCIL_ONLY
eliminate | every_read_value_is_the_right_one | FAULT_STEPS_ARE_NOT_RESET
eliminate | deadlock | FAULT_TICKETS_BACKWARDS
eliminate | deadlock | WORKERS=2 NZ=2 TIMEOUTS=1 WITHHELD=0 FAULT_RECEIVERS_IGNORE_THE_MARK
eliminate_named | right | WORKERS=3 PENCILS=6 CHUNKS=3 KEPT=2 HELD=1
eliminate_named | right | WORKERS=1 PENCILS=3 CHUNKS=5 KEPT=2 HELD=2
eliminate_named | right | WORKERS=2 PENCILS=3 CHUNKS=5 KEPT=2 HELD=2
eliminate_named | right | WORKERS=3 PENCILS=3 CHUNKS=4 KEPT=4 HELD=1
eliminate_named | every_read_value_is_the_right_one | CHUNKS=4 KEPT=4 FAULT_PUBLISHES_WHEN_READ
eliminate_named | every_record_is_loaded_after_it_is_written | FAULT_LOADER_DOES_NOT_AWAIT_WRITTEN
eliminate_named | every_row_is_kept_while_it_is_read | CHUNKS=4 KEPT=4 FAULT_LOADER_FORGETS_HELD_ROWS
eliminate_named | every_record_is_loaded_after_it_is_written | CHUNKS=4 FAULT_STORERS_PUBLISH_OUT_OF_ORDER
eliminate_named | deadlock | FAULT_RING_TOO_SHORT
progress | right | THREADS=1 PENCILS=6 CHUNKS=3 DEPTH=1 LAG=1 SOLVES=2
progress | right | THREADS=3 PENCILS=6 CHUNKS=3 DEPTH=2 LAG=1 SOLVES=2
progress | right | THREADS=3 PENCILS=7 CHUNKS=3 DEPTH=1 LAG=2 SOLVES=2
progress | right | THREADS=4 PENCILS=7 CHUNKS=2 DEPTH=1 LAG=1 SOLVES=2
progress | right | THREADS=3 PENCILS=7 CHUNKS=2 DEPTH=1 LAG=0 ONE_STORE=1 SOLVES=2
progress | every_read_value_is_the_right_one | FAULT_PUBLISHES_BEFORE_IT_WRITES
progress | every_read_value_is_the_right_one | FAULT_WAITS_FOR_ONE_CHUNK_TOO_FEW
progress | progress_only_grows | CHUNKS=3 FAULT_TOO_FEW_SLOTS
progress | progress_only_grows | FAULT_TICKET_IS_NOT_ATOMIC
progress | progress_only_grows | THREADS=2 PENCILS=7 SLOTS=4 FAULT_LAST_CHUNK_DOES_NOT_WAIT_FOR_FINISH
progress | deadlock | FAULT_DOES_NOT_FINISH
progress | deadlock | FAULT_TICKETS_BACKWARDS
progress | every_pencil_is_solved_once | FAULT_NO_RESET_BETWEEN_SOLVES
progress | every_pencil_is_solved_once | FAULT_THREADS_START_BEFORE_RESET
schedule | right | PROCESSES=4 BLOCKS=3 RUNS=2 EAGER=0
schedule | right | PROCESSES=5 BLOCKS=3 RUNS=2 EAGER=1
schedule | right | PROCESSES=3 BLOCKS=3 RUNS=2 SILENT=1
schedule | every_read_value_is_the_right_one | FAULT_AWAITS_EARLIER_BLOCKS_ONLY
schedule | every_read_value_is_the_right_one | FAULT_SENDS_BEFORE_IT_SWEEPS
schedule | every_read_value_is_the_right_one | FAULT_DOES_NOT_AWAIT_ITS_SENDS
schedule | deadlock | SILENT=1 FAULT_WAITS_WITHOUT_LIMIT
inbox | right | DEVICES=2 BLOCKS=2 NJ=2 NK=4 SWEEPS=2 SOLVES=2
inbox | right | DEVICES=2 BLOCKS=2 NJ=2 NK=4 SWEEPS=2 SOLVES=2 BY_COLUMNS=0
inbox | right | DEVICES=2 BLOCKS=2 NJ=2 NK=4 SWEEPS=1 SOLVES=2
inbox | right | DEVICES=3 BLOCKS=1 NJ=1 NK=6 SWEEPS=2 SOLVES=2
inbox | right | DEVICES=3 BLOCKS=1 NJ=2 NK=3 SWEEPS=2 SOLVES=2
inbox | right | DEVICES=2 BLOCKS=2 NJ=2 NK=4 SWEEPS=2 SOLVES=2 DEALT=0
inbox | right | DEVICES=2 BLOCKS=2 NJ=2 NK=4 SWEEPS=1 SOLVES=2 DEALT=0
inbox | every_read_value_is_the_right_one | FAULT_READER_KEEPS_THE_FACE
inbox | every_read_value_is_the_right_one | FAULT_NO_FIRST_MEETING
inbox | every_taken_value_is_swept | FAULT_NO_LAST_MEETING
inbox | every_taken_value_is_swept | FAULT_MEETS_WHEN_TICKETS_ARE_TAKEN
inbox | every_face_is_free_when_written | DEALT=0 SWEEPS=1 FAULT_SLABS_WITH_ONE_SWEEP_DO_NOT_MEET
inbox | deadlock | FAULT_ONE_DEVICE_HAS_ANOTHER_ORDER
ROWS
    $large || return 0
    cat <<'ROWS'
inbox | right | DEVICES=2 BLOCKS=3 NJ=2 NK=4 SWEEPS=2 SOLVES=2
inbox | right | DEVICES=2 BLOCKS=3 NJ=2 NK=4 SWEEPS=2 SOLVES=2 DEALT=0
sweep | right | WORKERS=4 NY=2 NZ=3 SLOTS=3 STEPS=1 SOLVES=2
sweep | right | WORKERS=3 NY=2 NZ=3 SLOTS=4 STEPS=1 SOLVES=2 CORNER=1
sweep | right | WORKERS=3 NY=2 NZ=2 SLOTS=3 STEPS=1 SOLVES=2 TIMEOUTS=1
sweep | right | WORKERS=2 NY=2 NZ=3 SLOTS=3 STEPS=1 SOLVES=2 TIMEOUTS=1
line | right | WORKERS=3 NY=2 NZ=3 POINTS=2 SOLVES=2 MARKED=1 PER_LINE=2
ROWS
}

# states_of LOG: how many states the search visited.
states_of() {
    sed -n 's/^ *\([0-9.e+]*\) states, stored.*/\1/p' "$1"
}

# Whether a search visited all states. -DSAFETY leaves out searches for cycles only.
is_exhaustive() {
    grep -q 'errors: 0' "$1" && grep -q '^Full statespace search' "$1" &&
        ! grep -qiE 'max search depth too small|Search not completed|out of memory|memory limit|bitstate|hash.compact' "$1"
}

# search NUMBER MODEL EXPECTED DEFINITION...: one row; writes $work/NUMBER.result.
search() {
    local number=$1 model=$2 expected=$3 code=0 begin folder=$work/$1 word=passed
    local level=-O1 found states # most searches are short: compiling takes longer
    shift 3
    [ "$expected" = right ] || level=-O0
    begin=$(date +%s%N)
    mkdir "$folder"
    cp "$model.pml" "$folder"
    (
        cd "$folder"
        spin -a "${@/#/-D}" "$model.pml" >spin.log 2>&1 &&
            "${CC:-cc}" -w $level -DSAFETY -DNOCLAIM -DCOLLAPSE -DMEMLIM=3500 -o pan pan.c &&
            ./pan -m100000 -w22 >pan.log 2>&1
    ) || code=$?
    touch "$folder/pan.log"
    states=$(states_of "$folder/pan.log")
    found=$(sed -n 's/^pan:1: //p' "$folder/pan.log" | head -n 1)
    case $expected in
    right) [ $code -eq 0 ] && is_exhaustive "$folder/pan.log" || word=FAILED ;;
    deadlock) [[ $found == 'invalid end state'* ]] || word=FAILED ;;
    *) [[ $found == 'assertion violated'*"$expected)"* ]] || word=FAILED ;;
    esac
    {
        if [ "$expected" = right ]; then
            printf '%-6s %-15s every state' $word "$model"
        else
            printf '%-6s %-15s caught by %s' $word "$model" "$expected"
        fi
        printf ': %s; %s states, %d ms\n' "$*" "${states:-no}" $((($(date +%s%N) - begin) / 1000000))
        [ $word = passed ] || sed 's/^/       /' "$folder"/spin.log "$folder"/pan.log
    } >"$work/$number.result"
    rm -rf "$folder"
}

large=false
models=()
for argument in "$@"; do
    case $argument in
    --large) large=true ;;
    *) models+=("$argument") ;;
    esac
done

for tool in spin "${CC:-cc}"; do
    if ! command -v "$tool" >/dev/null; then
        echo "skipped: $tool is not installed (Debian: apt-get install spin gcc libc6-dev)"
        exit 77
    fi
done

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
number=1000
while IFS='|' read -r model expected definitions; do
    read -r model <<<"$model"
    read -r expected <<<"$expected"
    read -ra definitions <<<"$definitions"
    if [ ${#models[@]} -gt 0 ] && [[ " ${models[*]} " != *" $model "* ]]; then
        continue
    fi
    number=$((number + 1))
    while [ "$(jobs -rp | wc -l)" -ge "${JOBS:-2}" ]; do
        wait -n
    done
    search $number "$model" "$expected" "${definitions[@]}" &
done < <(rows)
wait

if [ $number -eq 1000 ]; then
    echo "no such model: ${models[*]}" >&2
    exit 2
fi
cat "$work"/*.result >"$work/all"
cat "$work/all"
passed=$(grep -c '^passed ' "$work/all" || true)
failed=$((number - 1000 - passed))
echo "every state: the search is exhaustive for the sizes of that line"
echo "$(grep -c '^passed .* caught by ' "$work/all" || true) of $(grep -c ' caught by ' "$work/all" || true) mutations caught"
echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
