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
 * Processes are slabs in a row. The sweep of block k reads what the process before has in the keys of
 * block k and in earlier ones. Blocks have two keys, and those of every other process begin one key
 * later, because each slab counts from its own first line.
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
#ifdef SILENT
#define MAY_GIVE_UP true
#else
#define SILENT 99
#define MAY_GIVE_UP false
#endif

/* ---- The faults --------------------------------------------------------------------------------
 */

#ifdef FAULT_AWAITS_EARLIER_BLOCKS_ONLY
#define IS_NEEDED(its, own) ((its) < (own))
#else
#define IS_NEEDED(its, own) ((its) < (own) + KEYS)
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

#define KEYS        2
#define KEY(p, k)   ((k) * KEYS + (p) % 2)
/* Link p leads from process p to p + 1. */
#define LINKS       (PROCESSES - 1)
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
#define NEEDS                                                                                      \
    (HAS_BEFORE && next < BLOCKS &&                                                                \
     (k == ALL || IS_NEEDED(KEY(me - 1, next), KEY(me, k))))
#define HAS_COME(link, m) (come[link] > turn * BLOCKS + (m))

inline begin() {
    if
    :: HAS_BEFORE -> posted[me - 1] = posted[me - 1] + BLOCKS
    :: else
    fi;
    next = 0; k = 0; stage = TAKES
}

inline sweep() {
    j = 0;
    do
    :: j < BLOCKS ->
        assert(!HAS_BEFORE || KEY(me - 1, j) >= KEY(me, k) + KEYS ||
               ghost[(me - 1) * BLOCKS + j] == VALUE(me - 1, j) ||
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
        out[me * BLOCKS + k] = own[k]; sent[me]++
    :: else
    fi
}

inline give_up() {
    if
    :: HAS_BEFORE -> cancelled[me - 1] = 1
    :: else
    fi
}

#define MY_SENDS_HAVE_ENDED (!HAS_AFTER || SENDS_HAVE_ENDED(me))

active [PROCESSES] proctype process() {
    byte me = _pid - LINKS;
    byte turn, k, j, stage, next;
    byte own[BLOCKS];
    do
    :: turn == RUNS -> break
    :: d_step { turn < RUNS -> begin() }
        do
        :: d_step { stage == TAKES && NEEDS && HAS_COME(me - 1, next) ->
               ghost[(me - 1) * BLOCKS + next] = in[(me - 1) * BLOCKS + next];
               next++ }
        :: d_step { stage == TAKES && k < BLOCKS && !NEEDS -> stage = AFTER_TAKES }
        :: d_step { stage == SWEEPS -> sweep(); stage = AFTER_SWEEPS; k = k + K_AFTER_SWEEPS }
        :: d_step { stage == GIVES -> give(); stage = AFTER_GIVES; k = k + K_AFTER_GIVES }
        :: d_step { stage == TAKES && k == ALL && !NEEDS && MY_SENDS_HAVE_ENDED -> turn++ }
            break
        :: d_step { MAY_GIVE_UP && stage == TAKES &&
                    (NEEDS || (k == ALL && !MY_SENDS_HAVE_ENDED)) ->
               give_up() }
            goto broken /* later runs are refused */
        od
    od;
broken: skip
}
