/* progress.pml: the progress counters of the CPU: the packed sweep, the elimination, and the
 * smoother of multigrid.
 *
 * MODEL                  CODE
 * reset                  gsw_progress_reset() (kernels/cpu/sweep/sweep.h), before the parallel region
 * take                   gsw_progress_take()
 * WAIT                   gsw_progress_wait(), called by sweep_pencil() (sweep_steps.inc),
 *                        sweep_lines() (sweep_lines.inc), eliminate_pencil() (eliminate.c) and
 *                        smooth_plane() (multigrid_smooth.inc)
 * publish, finish        gsw_progress_publish(), gsw_progress_finish()
 * face[]                 what pencils read of each other: x, which stays, and the faces of the
 *                        elimination (face_of() in eliminate.c), whose slots are used again
 * ended                  the end of the parallel region
 *
 * A step of the model is a chunk, or some planes of short lines. A pencil publishes after each one,
 * and once more when it is finished. Chunk c reads up to chunk c + LAG of the DEPTH pencils before
 * it; it waits until the previous pencil has passed that chunk. With LAG 1 or more, the last chunk
 * waits until the previous pencil is finished. (That of short lines always does.)
 *
 * Sizes: THREADS, PENCILS, CHUNKS, DEPTH, SLOTS, LAG, SOLVES. */
#ifndef THREADS
#define THREADS 3
#endif
#ifndef PENCILS
#define PENCILS 6
#endif
#ifndef CHUNKS
#define CHUNKS 2
#endif
#ifndef DEPTH
#define DEPTH 1
#endif
#ifndef LAG
#define LAG 1
#endif
#ifndef SOLVES
#define SOLVES 2
#endif
#ifndef ONE_STORE
#define ONE_STORE 0 /* 1: the last publication says that the pencil is finished */
#endif
#ifdef FAULT_TOO_FEW_SLOTS
#define SLOTS (THREADS - 1)
#endif
#ifndef SLOTS
#define SLOTS (THREADS + DEPTH) /* threads + 1 + halo / chains, where that is least */
#endif

#define READS_AHEAD LAG

#define SPAN (CHUNKS + 1) /* more than any step */

#ifdef FAULT_LAST_CHUNK_DOES_NOT_WAIT_FOR_FINISH
#undef LAG
#define LAG 0
#endif
#ifdef FAULT_WAITS_FOR_ONE_CHUNK_TOO_FEW
#define AIM_OF(c) ((c) + LAG)
#else
#define AIM_OF(c) ((c) + 1 + LAG < SPAN -> (c) + 1 + LAG : SPAN)
#endif
#ifdef FAULT_TICKETS_BACKWARDS
#define PENCIL_OF(ticket) (PENCILS - 1 - (ticket))
#else
#define PENCIL_OF(ticket) (ticket)
#endif
#ifdef FAULT_DOES_NOT_FINISH
#define FINISH skip
#elif ONE_STORE
#define FINISH skip
#else
#define FINISH publish(SPAN)
#endif
#ifdef FAULT_TICKET_IS_NOT_ATOMIC
#define TAKE    q = ticket; ticket = q + 1
#else
#define TAKE    d_step { q = ticket; ticket = q + 1 }
#endif
#ifdef FAULT_NO_RESET_BETWEEN_SOLVES
#define RESETS (solve == 0)
#else
#define RESETS true
#endif
#ifdef FAULT_THREADS_START_BEFORE_RESET
#define HAS_BEGUN true
#else
#define HAS_BEGUN (begun == solve + 1)
#endif

byte ticket;
short slot[SLOTS];           /* values of gsw_progress_slot */
byte face[SLOTS * CHUNKS];   /* whose value it is; 0: nobody's */
byte begun, ended;           /* solves that have been reset; threads that have ended a solve */

bool every_read_value_is_the_right_one, progress_only_grows, every_pencil_is_solved_once;
byte solved[PENCILS]; /* chunks, of all solves */

#define FACE(q, c)  face[((q) % SLOTS) * CHUNKS + (c)]
#define VALUE(q, c) (1 + (solve * PENCILS + (q)) * CHUNKS + (c))

#define LAST_READ   (c + READS_AHEAD < CHUNKS -> c + READS_AHEAD : CHUNKS - 1)

inline read_halo() {
    d = 1;
    do
    :: d <= DEPTH && q >= d ->
        assert(FACE(q - d, LAST_READ) == VALUE(q - d, LAST_READ) ||
               every_read_value_is_the_right_one);
        d++
    :: else -> break
    od;
    d = 0
}

inline publish(step) {
    assert(slot[q % SLOTS] <= q * SPAN + (step) || progress_only_grows);
    slot[q % SLOTS] = q * SPAN + (step)
}

inline publish_chunk() {
    if
    :: ONE_STORE && c + 1 == CHUNKS -> publish(SPAN)
    :: else -> publish(c + 1)
    fi
}

#define WAIT (q == 0 || slot[(q - 1) % SLOTS] >= (q - 1) * SPAN + AIM_OF(c))

inline sweep_pencil() {
    c = 0;
    do
    :: c < CHUNKS ->
       d_step { WAIT -> read_halo() }
#ifdef FAULT_PUBLISHES_BEFORE_IT_WRITES
       d_step { publish_chunk() }
       d_step { FACE(q, c) = VALUE(q, c); solved[q]++; c++ }
#else
       d_step { FACE(q, c) = VALUE(q, c); solved[q]++ }
       d_step { publish_chunk(); c++ }
#endif
    :: d_step { c == CHUNKS -> FINISH; c = 0 }
       break
    od
}

active [THREADS] proctype thread() {
    byte solve, q, c, d;
    do
    :: solve < SOLVES ->
        if
        :: _pid == 0 ->
            d_step {
                if
                :: RESETS ->
                    ticket = 0;
                    d = 0;
                    do
                    :: d < SLOTS -> slot[d] = 0; d++
                    :: else -> break
                    od;
                    d = 0
                :: else
                fi;
                begun++
            }
        :: else -> HAS_BEGUN
        fi;
        do
        :: TAKE;
            if
            :: q < PENCILS -> q = PENCIL_OF(q); sweep_pencil()
            :: else -> break
            fi
        od;
        q = 0;
        /* All threads meet at the end of the parallel region. */
        ended++;
        ended >= THREADS * (solve + 1);
        d_step {
            solve++;
            if
            :: _pid == 0 ->
                d = 0;
                do
                :: d < PENCILS ->
                    assert(solved[d] == CHUNKS * solve || every_pencil_is_solved_once);
                    d++
                :: else -> break
                od;
                d = 0
            :: else
            fi
        }
    :: solve == SOLVES -> break
    od
}
