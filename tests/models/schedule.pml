/* schedule.pml: the hand-over between processes: blocks of lines, one message per block and peer.
 *
 * MODEL                  CODE (src/sweep/)
 * proctype process       gsw_schedule_go(), go() (schedule.c), once per run
 * begin                  begin(): posts the receives of all messages
 * TAKES                  take_messages() with gsw_partition_wait() (src/space/), copy_message()
 * SWEEPS                 run->sweep()
 * GIVES                  give_messages(), copy_message(), gsw_partition_send()
 * ENDS                   the end of go(): takes what is left, and waits until all sends have ended
 * transport              a transport between processes (MPI): messages of one sender to one receiver
 *                        arrive in order; a send ends when its buffer has been read
 * gives_up               the time limit of wait_for() and gsw_partition_abandon()
 *
 * Processes form a row. The sweep of block k reads block k of the process before and, where BOTH_WAYS
 * is 1, block k - 1 of the process after (a coupling that points back along the cut axis). BANDS 1:
 * blocks have two keys, and those of every other process begin one key later (slabs in z).
 *
 * Sizes: PROCESSES; BLOCKS; RUNS. EAGER 1: a send may end before the receive is posted. SILENT: this
 * process sends nothing, and waits may end by the time limit. */
#ifndef PROCESSES
#define PROCESSES 3
#endif
#ifndef BLOCKS
#define BLOCKS 3
#endif
#ifndef RUNS
#define RUNS 2
#endif
#ifndef EAGER
#define EAGER 0
#endif
#ifdef FAULT_BANDS_POINT_BACK /* couplings lead to later processes, whose bands begin elsewhere */
#define BANDS     1
#define BOTH_WAYS 1
#endif
#ifndef BANDS
#define BANDS 0
#endif
#ifndef BOTH_WAYS
#define BOTH_WAYS (1 - BANDS)
#endif
#ifdef SILENT
#define MAY_GIVE_UP true
#else
#define SILENT 99
#define MAY_GIVE_UP false
#endif

/* ---- The faults --------------------------------------------------------------------------------
 */

#ifdef FAULT_AWAITS_THE_SAME_BLOCK_OF_LATER_PROCESSES
#define AFTER_IS_NEEDED(its, own) ((its) <= (own))
#else
#define AFTER_IS_NEEDED(its, own) ((its) < (own))
#endif
#ifdef FAULT_AWAITS_EARLIER_BLOCKS_ONLY
#define BEFORE_IS_NEEDED(its, own) ((its) < (own))
#else
#define BEFORE_IS_NEEDED(its, own) ((its) < (own) + KEYS)
#endif
#ifdef FAULT_SENDS_BEFORE_IT_SWEEPS
#define AFTER_TAKES    GIVES
#define AFTER_GIVES    SWEEPS
#define AFTER_SWEEPS   TAKES
#define K_AFTER_GIVES  0
#define K_AFTER_SWEEPS 1
#else
#define AFTER_TAKES    SWEEPS
#define AFTER_SWEEPS   GIVES
#define AFTER_GIVES    TAKES
#define K_AFTER_SWEEPS 0
#define K_AFTER_GIVES  1
#endif
#ifdef FAULT_DOES_NOT_AWAIT_ITS_SENDS
#define SENDS_HAVE_ENDED(link) true
#else
#define SENDS_HAVE_ENDED(link) (left[link] == sent[link])
#endif
#ifdef FAULT_WAITS_WITHOUT_LIMIT
#undef MAY_GIVE_UP
#define MAY_GIVE_UP false
#endif

/* ---- The order ---------------------------------------------------------------------------------
 */

#define KEYS        (1 + BANDS)
#define KEY(p, k)   ((k) * KEYS + (BANDS -> (p) % 2 : 0))
/* Link 2 p leads from process p to p + 1, link 2 p + 1 from p + 1 to p. */
#define LINKS       (2 * (PROCESSES - 1))
#define UP(p)       (2 * (p))
#define DOWN(p)     (2 * (p) + 1)
#define HAS_BEFORE  (me > 0)
#define HAS_AFTER   (me < PROCESSES - 1)

/* ---- Messages and buffers ----------------------------------------------------------------------
 */

byte out[LINKS * BLOCKS];         /* the sender's buffers, one per message of a run */
byte wire[LINKS * BLOCKS * RUNS]; /* on their way */
byte in[LINKS * BLOCKS];          /* the receiver's buffers */
byte ghost[LINKS * BLOCKS];       /* what the receiver's sweep reads */
byte sent[LINKS], left[LINKS];    /* messages of all runs: sent; read from the sender's buffer; */
byte posted[LINKS], come[LINKS];  /* receives posted; messages in the receiver's buffer */
bit cancelled[LINKS];             /* the receiver has given up */

bool every_read_value_is_the_right_one;

#define VALUE(p, k) (1 + (turn * PROCESSES + (p)) * BLOCKS + (k))

/* A link of the transport. */
active [LINKS] proctype transport() {
end: do
    :: d_step { left[_pid] < sent[_pid] && (EAGER || left[_pid] < posted[_pid]) ->
           wire[_pid * BLOCKS * RUNS + left[_pid]] = out[_pid * BLOCKS + left[_pid] % BLOCKS];
           left[_pid]++ }
    :: d_step { come[_pid] < left[_pid] && come[_pid] < posted[_pid] && !cancelled[_pid] ->
           in[_pid * BLOCKS + come[_pid] % BLOCKS] = wire[_pid * BLOCKS * RUNS + come[_pid]];
           come[_pid]++ }
    od
}

/* ---- A process ---------------------------------------------------------------------------------
 */

#define TAKES  0
#define SWEEPS 1
#define GIVES  2

#define ALL BLOCKS /* in place of a block: after the last one, whatever is left */
#define NEEDS_BEFORE                                                                               \
    (HAS_BEFORE && next_before < BLOCKS &&                                                         \
     (k == ALL || BEFORE_IS_NEEDED(KEY(me - 1, next_before), KEY(me, k))))
#define NEEDS_AFTER                                                                                \
    (HAS_AFTER && BOTH_WAYS && next_after < BLOCKS &&                                              \
     (k == ALL || AFTER_IS_NEEDED(KEY(me + 1, next_after), KEY(me, k))))
#define HAS_COME(link, m) (come[link] > turn * BLOCKS + (m))

inline take(link, m) {
    ghost[(link) * BLOCKS + m] = in[(link) * BLOCKS + m];
    m++
}

inline begin() {
    if
    :: HAS_BEFORE -> posted[UP(me - 1)] = posted[UP(me - 1)] + BLOCKS
    :: else
    fi;
    if
    :: HAS_AFTER && BOTH_WAYS -> posted[DOWN(me)] = posted[DOWN(me)] + BLOCKS
    :: else
    fi;
    next_before = 0; next_after = 0; k = 0; stage = TAKES
}

inline sweep() {
    j = 0;
    do
    :: j < BLOCKS ->
        assert(!HAS_BEFORE || KEY(me - 1, j) >= KEY(me, k) + KEYS ||
               ghost[UP(me - 1) * BLOCKS + j] == VALUE(me - 1, j) ||
               every_read_value_is_the_right_one);
        assert(!HAS_AFTER || !BOTH_WAYS || KEY(me + 1, j) >= KEY(me, k) ||
               ghost[DOWN(me) * BLOCKS + j] == VALUE(me + 1, j) ||
               every_read_value_is_the_right_one);
        j++
    :: else -> break
    od;
    j = 0;
    own[k] = VALUE(me, k)
}

inline give() {
    if
    :: HAS_AFTER && me != SILENT ->
        out[UP(me) * BLOCKS + k] = own[k]; sent[UP(me)]++
    :: else
    fi;
    if
    :: HAS_BEFORE && BOTH_WAYS && me != SILENT ->
        out[DOWN(me - 1) * BLOCKS + k] = own[k]; sent[DOWN(me - 1)]++
    :: else
    fi
}

inline give_up() {
    if
    :: HAS_BEFORE -> cancelled[UP(me - 1)] = 1
    :: else
    fi;
    if
    :: HAS_AFTER -> cancelled[DOWN(me)] = 1
    :: else
    fi
}

#define MY_SENDS_HAVE_ENDED                                                                        \
    ((!HAS_AFTER || SENDS_HAVE_ENDED(UP(me))) && (!HAS_BEFORE || SENDS_HAVE_ENDED(DOWN(me - 1))))

active [PROCESSES] proctype process() {
    byte me = _pid - LINKS;
    byte turn, k, j, stage, next_before, next_after;
    byte own[BLOCKS];
    do
    :: turn == RUNS -> break
    :: d_step { turn < RUNS -> begin() }
        do
        :: d_step { stage == TAKES && NEEDS_BEFORE && HAS_COME(UP(me - 1), next_before) ->
               take(UP(me - 1), next_before) }
        :: d_step { stage == TAKES && !NEEDS_BEFORE && NEEDS_AFTER &&
                    HAS_COME(DOWN(me), next_after) ->
               take(DOWN(me), next_after) }
        :: d_step { stage == TAKES && k < BLOCKS && !NEEDS_BEFORE && !NEEDS_AFTER ->
               stage = AFTER_TAKES }
        :: d_step { stage == SWEEPS -> sweep(); stage = AFTER_SWEEPS; k = k + K_AFTER_SWEEPS }
        :: d_step { stage == GIVES -> give(); stage = AFTER_GIVES; k = k + K_AFTER_GIVES }
        :: d_step { stage == TAKES && k == ALL && !NEEDS_BEFORE && !NEEDS_AFTER &&
                    MY_SENDS_HAVE_ENDED ->
               turn++ }
            break
        :: d_step { MAY_GIVE_UP && stage == TAKES &&
                    (NEEDS_BEFORE || NEEDS_AFTER || (k == ALL && !MY_SENDS_HAVE_ENDED)) ->
               give_up() }
            goto broken /* later runs are refused */
        od
    od;
broken: skip
}
