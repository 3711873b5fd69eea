/* eliminate_named.pml: the elimination on CUDA in the kernels for named shapes: chunks pass through
 * a ring in shared memory, and storers publish what has arrived in device memory.
 *
 * MODEL                  CODE (kernels/cuda/)
 * proctype block         a place on the device for one block of eliminate_named_pencils()
 *                        (eliminate_named.cuh)
 * LOADER                 named_movers::load() (eliminate_movers.cuh)
 * COMPUTE                named_compute::compute() (eliminate_compute.cuh)
 * STORER                 named_movers::store(); there are two, which take chunks in turns
 * RECEIVER               named_movers::receive(), await_steps(), copy_halo(); two, in turns
 * loaded, halos          the barriers named_control.full[]
 * completed, stored,     the counters of named_control
 * written
 * row[]                  the ring
 * record[]               a pencil's records of the upper part in device memory; chunk c and chunk
 *                        c + KEPT have the same one
 * steps[]                eliminate_state.steps (eliminate_plan.cuh), in chunks
 *
 * Pencils form a chain; a pencil reads chunk c of the one before it. COMPUTE reads the HELD chunks
 * before its own in the ring.
 *
 * Sizes: WORKERS blocks at a time; PENCILS; CHUNKS; STAGES of the ring; HELD; KEPT. */
#ifndef WORKERS
#define WORKERS 2
#endif
#ifndef PENCILS
#define PENCILS 3
#endif
#ifndef CHUNKS
#define CHUNKS 3
#endif
#ifndef STAGES
#define STAGES (HELD + 2) /* FEWEST_FREE in eliminate.cu */
#endif
#ifndef HELD
#define HELD 1
#endif
#ifndef KEPT
#define KEPT 2
#endif
#define RAW 0 /* the matrix, not yet eliminated */

/* ---- The faults --------------------------------------------------------------------------------
 */

#ifdef FAULT_LOADER_FORGETS_HELD_ROWS
#define ROWS_HELD 0
#else
#define ROWS_HELD HELD
#endif
#ifdef FAULT_LOADER_DOES_NOT_AWAIT_WRITTEN
#define IS_WRITTEN(c) true
#else
#define IS_WRITTEN(c) (written >= (c) + 1)
#endif
#ifdef FAULT_STORERS_PUBLISH_OUT_OF_ORDER
#define IS_TURN(counter, c) true
#else
#define IS_TURN(counter, c) (counter >= (c))
#endif
#ifdef FAULT_PUBLISHES_WHEN_READ /* await_bulk_reads() where await_bulk_stores() is needed */
#define AFTER_FREES PUBLISHES
#define AFTER_LANDS TAKES
#define AFTER_PUBLISHES LANDS
#else
#define AFTER_FREES LANDS
#define AFTER_LANDS PUBLISHES
#define AFTER_PUBLISHES TAKES
#endif
#ifdef FAULT_RING_TOO_SHORT
#undef STAGES
#define STAGES HELD
#endif

/* ---- Device memory -----------------------------------------------------------------------------
 */

byte next;
byte steps[PENCILS];
byte record[PENCILS * KEPT]; /* RAW, or whose value it is */
byte ended;

bool every_read_value_is_the_right_one, every_row_is_kept_while_it_is_read,
    every_record_is_loaded_after_it_is_written, the_last_chunks_are_in_memory;

#define RECORD(p, c) record[(p) * KEPT + (c) % KEPT]
#define VALUE(p, c)  (1 + (p) * CHUNKS + (c))

/* ---- A block -----------------------------------------------------------------------------------
 */

#define ROW(c) row[(c) % STAGES]
/* Rows before the first one are free; then a row is free when the chunk HELD after it is stored. */
#define IS_FREE(c) (stored + STAGES >= (c) + ROWS_HELD + 1)

#define LOADER                                                                                     \
    :: d_step { loaded < CHUNKS && IS_FREE(loaded) &&                                              \
                (loaded < KEPT || IS_WRITTEN(loaded - KEPT)) ->                                    \
           ROW(loaded) = RECORD(pencil, loaded);                                                   \
           loaded++ }

/* A receiver's next chunk is `c`; its copies land in the chunk's row. */
#define RECEIVER(c)                                                                                \
    :: d_step { c < CHUNKS && IS_FREE(c) && (pencil == 0 || steps[pencil - 1] >= c + 1) ->         \
           assert(pencil == 0 || RECORD(pencil - 1, c) == VALUE(pencil - 1, c) ||                  \
                  PENCIL_BEFORE_IS_PAST(c) || every_read_value_is_the_right_one);                  \
           halos = halos | (1 << c);                                                               \
           c = c + 2 }

/* The record of chunk c may hold a later chunk's values already: the same lines, and more. */
#define PENCIL_BEFORE_IS_PAST(c)                                                                   \
    (RECORD(pencil - 1, c) > VALUE(pencil - 1, c) && RECORD(pencil - 1, c) < VALUE(pencil, 0))

#define COMPUTE                                                                                    \
    :: d_step { completed < loaded && (halos & (1 << completed)) ->                                \
           assert(ROW(completed) == (completed < KEPT -> RAW : VALUE(pencil, completed - KEPT)) || \
                  every_record_is_loaded_after_it_is_written);                                     \
           assert(completed < HELD || ROW(completed - HELD) == VALUE(pencil, completed - HELD) ||  \
                  every_row_is_kept_while_it_is_read);                                             \
           ROW(completed) = VALUE(pencil, completed);                                              \
           completed++ }

/* States of a storer. */
#define TAKES     0
#define FREES     1
#define LANDS     2
#define PUBLISHES 3

#define STORER(state, c, held)                                                                     \
    :: d_step { state == TAKES && c < CHUNKS && completed >= c + 1 ->                              \
           assert(ROW(c) == VALUE(pencil, c) || every_row_is_kept_while_it_is_read);               \
           held = ROW(c); state = FREES }                                                          \
    :: d_step { state == FREES && IS_TURN(stored, c) -> stored = c + 1; state = AFTER_FREES }      \
    :: d_step { state == LANDS ->                                                                  \
           RECORD(pencil, c - LANDED_LATE) = held; state = AFTER_LANDS }                           \
    :: d_step { state == PUBLISHES && IS_TURN(written, c) ->                                       \
           steps[pencil] = c + 1; written = c + 1; c = c + 2; state = AFTER_PUBLISHES }

#ifdef FAULT_PUBLISHES_WHEN_READ
#define LANDED_LATE 2 /* c is the storer's next chunk by then */
#else
#define LANDED_LATE 0
#endif

active [WORKERS] proctype block() {
    byte pencil, loaded, completed, stored, written, halos, i;
    byte row[STAGES];
    byte odd, even, storing_odd, storing_even, c_odd, c_even, held_odd, held_even;
    do
    :: next == PENCILS -> break
    :: d_step { next < PENCILS ->
           pencil = next; /* take_ticket() */
           next++;
           odd = 1; c_odd = 1 }
       do
       LOADER
       RECEIVER(even)
       RECEIVER(odd)
       COMPUTE
       STORER(storing_even, c_even, held_even)
       STORER(storing_odd, c_odd, held_odd)
       :: d_step { loaded == CHUNKS && written == CHUNKS && c_even >= CHUNKS && c_odd >= CHUNKS &&
                   storing_even == TAKES && storing_odd == TAKES && even >= CHUNKS &&
                   odd >= CHUNKS ->
              i = 0;
              do
              :: i < KEPT && i < CHUNKS ->
                  assert(RECORD(pencil, CHUNKS - 1 - i) == VALUE(pencil, CHUNKS - 1 - i) ||
                         the_last_chunks_are_in_memory);
                  i++
              :: else -> break
              od;
              i = 0;
              do
              :: i < STAGES -> row[i] = 0; i++
              :: else -> break
              od;
              i = 0;
              ended++;
              pencil = 0; loaded = 0; completed = 0; stored = 0; written = 0; halos = 0;
              odd = 0; even = 0; c_odd = 0; c_even = 0; held_odd = 0; held_even = 0 }
          break
       od
    od
}
