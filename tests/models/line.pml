/* line.pml: the hand-over of the direct sweep on CUDA: tickets that the last block resets, lines
 * that are published by counters or by flags, a base that grows, abandoned solves.
 *
 * MODEL                  CODE (kernels/cuda/)
 * proctype block         a block of sweep_tiles() (line_kernel.cuh)
 * ASK, TAKE              is_abandoned() and take_ticket() in sweep_tiles()
 * WORKER, FILLS, MARKS   work(), mark_line(), solve_subtasks(), publish() (line_worker.cuh)
 * RECEIVER               receive_marked(), receive_counted(), await_marks() (line_receiver.cuh)
 * leave                  leave() (line_solve.cuh)
 * made                   tile.progress[] of the tile's own line, in shared memory
 * got_y, got_z           tile.progress[] of the halos
 * base, progress[], ...  struct line_state (line_plan.cuh)
 *
 * A tile is one line here, and a point of the model is a subtask. Ordinary launches do not overlap:
 * a solve begins when all blocks of the one before have left.
 *
 * Sizes: WORKERS blocks; NY * NZ tiles; POINTS; SOLVES. MARKED 1: x is not b, values are flags; 0: x
 * is b, lines have counters. PER_LINE: workers of a line, 1 or 2. TIMEOUTS: waits in so many first
 * solves may time out, at any moment; in these solves, tile WITHHELD publishes nothing. */
#ifndef WORKERS
#define WORKERS 3
#endif
#ifndef NY
#define NY 2
#endif
#ifndef NZ
#define NZ 3
#endif
#ifndef POINTS
#define POINTS 2
#endif
#ifndef SOLVES
#define SOLVES 2
#endif
#ifndef MARKED
#define MARKED 1
#endif
#ifndef PER_LINE
#ifdef FAULT_TWO_WORKERS_RAISE_A_COUNTER
#define PER_LINE 2
#else
#define PER_LINE 1
#endif
#endif
#ifndef TIMEOUTS
#define TIMEOUTS 0
#endif
#ifndef WITHHELD
#define WITHHELD 99
#endif
#define TILES    (NY * NZ)
#define NONE     99
#define UNSOLVED 0
#define STALE    255 /* what the user left in x, or b where x is b */

/* ---- The faults --------------------------------------------------------------------------------
 */

#ifdef FAULT_TICKETS_BACKWARDS
#define TILE_OF(ticket) (TILES - 1 - (ticket))
#else
#define TILE_OF(ticket) (ticket)
#endif
#ifdef FAULT_RECEIVER_DOES_NOT_AWAIT_THE_MARK
#define IS_MARKED(line) true
#else
#define IS_MARKED(line) (progress[line] > my_base)
#endif
#ifdef FAULT_BASE_STAYS
#define GROWTH 0
#else
#define GROWTH (POINTS + 1)
#endif
#ifdef FAULT_WORKERS_IGNORE_THE_MARK /* of an abandoned solve */
#define WORKER_GIVES_UP false
#else
#define WORKER_GIVES_UP (abandoned || MAY_TIME_OUT)
#endif
#ifdef FAULT_FIRST_TO_LEAVE_RESETS
#define IS_LAST (finished == 1)
#else
#define IS_LAST (finished == WORKERS)
#endif
#ifdef FAULT_ABANDONED_IS_NOT_RESET
#define RESET_ABANDONED skip
#else
#define RESET_ABANDONED abandoned = 0
#endif
#define MAY_TIME_OUT (solve < TIMEOUTS && !abandoned) /* after that, all find the mark */
#define PUBLISHES    (solve >= TIMEOUTS || tile != WITHHELD)

/* ---- The geometry ------------------------------------------------------------------------------
 */

#define BEFORE_Y (tile % NY > 0 -> tile - 1 : NONE)
#define BEFORE_Z (tile >= NY -> tile - NY : NONE)

/* ---- Device memory -----------------------------------------------------------------------------
 */

byte base, ticket, finished;
bit abandoned;
byte progress[TILES];    /* of each line: base + points; or base + 1: it is marked */
byte x[TILES * POINTS];  /* UNSOLVED, STALE, or whose value it is */
byte gone;               /* blocks that have ended, of all solves */

bool every_read_value_is_the_right_one, every_tile_is_taken_once, x_is_solved_after_a_solve,
    only_a_timeout_abandons;
byte takers[TILES]; /* of all solves */

#define X(line, p)     x[(line) * POINTS + (p)]
#define VALUE(line, p) (1 + (solve * TILES + (line)) * POINTS + (p))

/* ---- A block -----------------------------------------------------------------------------------
 */

/* States of a worker. It solves the points turn, turn + PER_LINE, ... */
#define FILLS     0
#define MARKS     1
#define SOLVES_IT 2
#define STORES    3
#define RAISES    4
#define HAS_ENDED 5

#ifdef FAULT_MARKS_BEFORE_FILLING
#define FIRST_OF_MARKED MARKS
#define AFTER_MARKS     FILLS
#define AFTER_FILLS     SOLVES_IT
#else
#define FIRST_OF_MARKED FILLS
#define AFTER_MARKS     SOLVES_IT
#define AFTER_FILLS     MARKS
#endif
#ifdef FAULT_RAISES_BEFORE_STORING
#define AFTER_SOLVING (MARKED -> STORES : RAISES)
#define AFTER_RAISING STORES
#define AFTER_STORING SOLVES_IT
#define NEXT_AFTER_RAISING(p) skip
#define NEXT_AFTER_STORING(p) p = p + PER_LINE
#else
#define AFTER_SOLVING STORES
#define AFTER_RAISING SOLVES_IT
#define AFTER_STORING (MARKED -> SOLVES_IT : RAISES)
#define NEXT_AFTER_RAISING(p) p = p + PER_LINE
#define NEXT_AFTER_STORING(p)                                                                      \
    if                                                                                             \
    :: MARKED -> p = p + PER_LINE                                                                  \
    :: else                                                                                        \
    fi
#endif

#define HAS_ITS_HALO(p) ((BEFORE_Y == NONE || got_y > (p)) && (BEFORE_Z == NONE || got_z > (p)))

inline fill() {
    i = 0;
    do
    :: i < POINTS -> X(tile, i) = UNSOLVED; i++
    :: else -> break
    od;
    i = 0
}

inline raise(p) { /* red.max */
    if
    :: PUBLISHES && progress[tile] < my_base + p + 1 -> progress[tile] = my_base + p + 1
    :: else
    fi
}

#define WORKER(state, p)                                                                           \
    :: d_step { state == FILLS -> fill(); state = AFTER_FILLS }                                    \
    :: d_step { state == MARKS -> progress[tile] = my_base + 1; state = AFTER_MARKS }              \
    :: d_step { state == SOLVES_IT && p < POINTS && made >= p && HAS_ITS_HALO(p) ->                \
           made = p + 1; /* in the ring */                                                         \
           state = AFTER_SOLVING }                                                                 \
    :: d_step { state == STORES ->                                                                 \
           X(tile, p) = (PUBLISHES -> VALUE(tile, p) : X(tile, p));                                \
           state = AFTER_STORING; NEXT_AFTER_STORING(p) }                                          \
    :: d_step { state == RAISES -> raise(p); state = AFTER_RAISING; NEXT_AFTER_RAISING(p) }     \
    :: d_step { state == SOLVES_IT && p < POINTS && WORKER_GIVES_UP ->                             \
           abandoned = 1; state = HAS_ENDED }

/* States of a receiver. */
#define AWAITS 0
#define POLLS  1
#define COPIES 2
#define HAS_COPIED 3

#define SOLVE_HOLDS(condition, name) assert(abandoned || (condition) || name)

#define RECEIVER(line, state, got)                                                                 \
    :: d_step { MARKED && state == AWAITS && IS_MARKED(line) -> state = POLLS }                    \
    :: d_step { MARKED && state == POLLS && got < POINTS && X(line, got) != UNSOLVED ->            \
           SOLVE_HOLDS(X(line, got) == VALUE(line, got), every_read_value_is_the_right_one);       \
           got++ }                                                                                 \
    :: d_step { !MARKED && state == POLLS && got < POINTS && progress[line] > my_base + got ->     \
           state = COPIES }                                                                        \
    :: d_step { state == COPIES ->                                                                 \
           SOLVE_HOLDS(X(line, got) == VALUE(line, got), every_read_value_is_the_right_one);       \
           got++; state = POLLS }                                                                  \
    :: d_step { (state == AWAITS || (state == POLLS && got < POINTS)) &&                           \
                (abandoned || MAY_TIME_OUT) ->                                                     \
           abandoned = 1; state = HAS_COPIED }

#define WORKER_IS_DONE(state, p)     (state == HAS_ENDED || (state == SOLVES_IT && p >= POINTS))
#define RECEIVER_IS_DONE(state, got) (state == HAS_COPIED || (state == POLLS && got == POINTS))

inline open_tile() {
    tile = TILE_OF(mine);
    takers[tile]++;
    assert(takers[tile] <= solve + 1 || every_tile_is_taken_once);
    state_y = (BEFORE_Y == NONE -> HAS_COPIED : (MARKED -> AWAITS : POLLS));
    state_z = (BEFORE_Z == NONE -> HAS_COPIED : (MARKED -> AWAITS : POLLS));
    first = (MARKED -> FIRST_OF_MARKED : SOLVES_IT);
    second = (PER_LINE > 1 -> SOLVES_IT : HAS_ENDED);
    p = 0; p_of_second = 1; got_y = 0; got_z = 0; made = 0
}

inline check_x() {
    i = 0;
    do
    :: i < TILES * POINTS ->
        assert(x[i] == 1 + solve * TILES * POINTS + i || x_is_solved_after_a_solve);
        i++
    :: else -> break
    od;
    i = 0
}

inline leave() {
    finished++;
    assert(!abandoned || solve < TIMEOUTS || only_a_timeout_abandons);
    if
    :: IS_LAST ->
        if
        :: abandoned
        :: else -> check_x()
        fi;
        i = 0;
        do /* the user's next x */
        :: !MARKED && i < TILES * POINTS -> x[i] = STALE; i++
        :: else -> break
        od;
        i = 0;
        do
        :: i < TILES -> takers[i] = solve + 1; i++
        :: else -> break
        od;
        i = 0;
        base = base + GROWTH;
        ticket = 0;
        finished = 0;
        RESET_ABANDONED
    :: else
    fi;
    gone++
}

#if TIMEOUTS
#define ASKS_AFTER_ABANDON seen = abandoned;
#else
#define ASKS_AFTER_ABANDON /* it is not: one step for both */
#endif

init {
    byte i, k;
    d_step {
        do
        :: i < TILES * POINTS -> x[i] = STALE; i++
        :: else -> break
        od;
        i = 0
    }
    atomic {
        do
        :: k < WORKERS -> run block(); k++
        :: else -> break
        od
    }
}

proctype block() {
    byte solve, my_base, mine, tile, i, made, got_y, got_z, p, p_of_second;
    byte state_y, state_z, first, second;
    bit seen;
    do
    :: solve == SOLVES -> break
    :: d_step { solve < SOLVES && gone >= WORKERS * solve -> my_base = base }
        do
        :: ASKS_AFTER_ABANDON /* is_abandoned(), then take_ticket() */
            if
            :: d_step { !seen && ticket < TILES -> mine = ticket; ticket++; seen = 0; open_tile() }
                do
                WORKER(first, p)
#if PER_LINE > 1
                WORKER(second, p_of_second)
#endif
                RECEIVER(BEFORE_Y, state_y, got_y)
                RECEIVER(BEFORE_Z, state_z, got_z)
                :: d_step { WORKER_IS_DONE(first, p) && WORKER_IS_DONE(second, p_of_second) &&
                            RECEIVER_IS_DONE(state_y, got_y) && RECEIVER_IS_DONE(state_z, got_z) ->
                       first = 0; second = 0; state_y = 0; state_z = 0; got_y = 0; got_z = 0;
                       made = 0; p = 0; p_of_second = 0; mine = 0; tile = 0 }
                    break
                od
            :: d_step { seen || ticket >= TILES -> ticket++; seen = 0; leave() }
                break
            fi
        od;
        solve++;
        my_base = 0
    od
}
