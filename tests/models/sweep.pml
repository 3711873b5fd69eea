/* sweep.pml: the hand-over of the packed sweep on CUDA: tickets, faces whose values are flags,
 * slots that pencils share, done[], abandoned solves, groups of right-hand sides, and a kernel that
 * starts while the kernel before it runs.
 *
 * MODEL                  CODE (kernels/cuda/)
 * proctype block         a place on the device for one block of sweep_pencils() (sweep_kernel.cuh)
 * start, take_pencil     take_pencil() (sweep_kernel.cuh), take_epoch_ticket() (handover.cuh)
 * BEGIN_NEXT_EPOCH       begin_next_epoch() (handover.cuh)
 * lets                   let_next_kernel_start() (launch.cuh), called in begin_block()
 * AWAIT_KERNELS_BEFORE   await_kernels_before() (launch.cuh)
 * SLOT_IS_FREE           await_slot() (sweep_receivers.cuh)
 * release_faces          release_faces() (sweep_receivers.cuh); `users` is control->face_users
 * OPENER                 open_faces(), clean_faces(), are_faces_dirty() (sweep_receivers.cuh)
 * RECEIVER               receive_halo(), receiver::run(), receiver::take() (sweep_receivers.cuh)
 * COMPUTE, publish       compute_warp::publish() (sweep_compute.cuh), make_careful_steps()
 * mark                   gsw_sweep_state.abandon (sweep_plan.cuh); here it holds the epoch only
 * seen, maybe_dirty      the first load of the mark in take_pencil(), control->maybe_dirty
 * WAIT_IS_OVER           is_in_vain(), is_over() (handover.cuh): the solve is abandoned, or this
 *                        wait has lasted too long and abandons it
 *
 * A step of the model is a chunk of steps, and a face has one value per chunk. Tickets follow the
 * tiles line by line; the protocol needs only that each pencil comes after those it reads.
 *
 * Sizes: WORKERS blocks at a time; NY * NZ pencils; STEPS; SLOTS; GROUPS; SOLVES. COUPLED_Y 0: the
 * chains of pencils along z do not depend on each other. SECTION: so many pencils along z depend on
 * each other; the next ones are another section. CORNER 1: pencils read the one before in both
 * directions, too. TIMEOUTS: waits in so many first solves may time out, at any moment; in these
 * solves pencil WITHHELD publishes nothing. */
#ifndef WORKERS
#define WORKERS 3
#endif
#ifndef NY
#define NY 2
#endif
#ifndef NZ
#define NZ 3
#endif
#ifndef COUPLED_Y
#define COUPLED_Y 1
#endif
#ifndef SECTION
#define SECTION NZ
#endif
#ifndef CORNER
#define CORNER 0
#endif
#ifndef STEPS
#define STEPS 1
#endif
#ifndef SLOTS
#define SLOTS 3
#endif
#ifndef GROUPS
#define GROUPS 1
#endif
#ifndef SOLVES
#define SOLVES 2
#endif
#ifndef TIMEOUTS
#define TIMEOUTS 0
#endif
#ifndef WITHHELD
#define WITHHELD NONE
#endif
#ifdef FAULT_RING_TOO_SHORT
#define RING 0
#endif
#ifndef RING
#define RING 1 /* steps that a receiver may be ahead of compute */
#endif

#define PENCILS (NY * NZ)
#define BLOCKS  (PENCILS * GROUPS)
#define SIDES   (2 + CORNER)
#define NONE    99

/* ---- The faults --------------------------------------------------------------------------------
 */

#ifdef FAULT_READER_TAKES_ANY_OWNER /* it does not wait until the slot is its pencil's */
#define READER_WAITS(condition) true
#else
#define READER_WAITS(condition) (condition)
#endif
#ifdef FAULT_OPENER_DOES_NOT_WAIT
#define OPENER_WAITS(condition) true
#else
#define OPENER_WAITS(condition) (condition)
#endif
#ifdef FAULT_UNREAD_FACE_IS_FREE /* a face without a reader does not wait for its old owner */
#define WITHOUT_READER(g, earlier) true
#else
#define WITHOUT_READER(g, earlier) (done[(g) * PENCILS + (earlier)] == epoch)
#endif
#ifdef FAULT_DONE_OF_ANY_SOLVE /* done[] is not compared with the epoch */
#define HAS_DONE(g, pencil) (done[(g) * PENCILS + (pencil)] != 0)
#elif defined(FAULT_GROUPS_SHARE_DONE)
#define HAS_DONE(g, pencil) (done[(pencil)] == epoch || done[PENCILS + (pencil)] == epoch)
#else
#define HAS_DONE(g, pencil) (done[(g) * PENCILS + (pencil)] == epoch)
#endif
#ifdef FAULT_FIRST_ROLE_RELEASES /* done[] does not wait for the last role */
#define LAST_USER true
#else
#define LAST_USER (users == 0)
#endif
#ifdef FAULT_TICKETS_BACKWARDS
#define PENCIL_OF(ticket) (PENCILS - 1 - (ticket))
#else
#define PENCIL_OF(ticket) (ticket)
#endif
#ifdef FAULT_NO_WAIT_FOR_KERNEL_BEFORE
#define AWAIT_KERNELS_BEFORE true
#else
#define AWAIT_KERNELS_BEFORE (kernel == 0 || ended[kernel - 1] == BLOCKS)
#endif
#ifdef FAULT_ONLY_THE_MARK_MAKES_DIRTY /* the first blocks do not look again */
#define RESIDENT 0
#else
#define RESIDENT WORKERS
#endif
#ifdef FAULT_UNMARKS_BEFORE_CLEANING
#define UNMARK_EARLY unmark()
#else
#define UNMARK_EARLY skip
#endif
#ifdef FAULT_OTHERS_DO_NOT_WAIT_FOR_CLEANING
#define OTHERS_GO_ON true
#else
#define OTHERS_GO_ON false
#endif

/* ---- The geometry ------------------------------------------------------------------------------
 */

#define J(p)        ((p) % NY)
#define BEFORE_Y(p) (COUPLED_Y && J(p) > 0 -> (p) - 1 : NONE)
#define BEFORE_Z(p) ((p) >= NY && ((p) / NY) % SECTION != 0 -> (p) - NY : NONE)
#define BEFORE_C(p) (J(p) > 0 && (p) >= NY -> (p) - NY - 1 : NONE)
#define AFTER_Y(p)  (COUPLED_Y && J(p) < NY - 1 -> (p) + 1 : NONE)
#define AFTER_Z(p)  ((p) + NY < PENCILS && ((p) / NY + 1) % SECTION != 0 -> (p) + NY : NONE)
#define AFTER_C(p)  (J(p) < NY - 1 && (p) + NY < PENCILS -> (p) + NY + 1 : NONE)
#define BEFORE(p, side) ((side) == 0 -> BEFORE_Y(p) : ((side) == 1 -> BEFORE_Z(p) : BEFORE_C(p)))
#define AFTER(p, side)  ((side) == 0 -> AFTER_Y(p) : ((side) == 1 -> AFTER_Z(p) : AFTER_C(p)))

/* ---- Device memory -----------------------------------------------------------------------------
 */

#define UNPUBLISHED 0

byte face[GROUPS * SLOTS * SIDES * STEPS]; /* UNPUBLISHED, or whose value it is */
byte done[GROUPS * PENCILS];               /* epochs, from 1 on */
byte next_ticket, solves_begun;            /* the two halves of gsw_sweep_state.next */
byte mark;                                 /* epoch of an abandoned solve; 0: none */

/* What the hardware keeps. */
byte launched;      /* blocks that have started, of all launches */
byte busy;          /* places that have a block, by bit */
byte lets;          /* launches whose blocks have let the next kernel start; the one with the last
                       ticket decides, because all others have theirs already */
byte ended[SOLVES]; /* blocks of a launch that have ended */

#define PLACE(g, p, side, step) (((((g) * SLOTS) + (p) % SLOTS) * SIDES + (side)) * STEPS + (step))
#define VALUE(g, p, step)       (1 + ((kernel * GROUPS + (g)) * PENCILS + (p)) * STEPS + (step))

/* The names of what must hold; a failing assertion prints its own. They are never set. */
bool every_ticket_is_of_its_launch, every_read_value_is_the_right_one,
    every_face_is_free_when_written, reset_removes_what_was_read, all_faces_are_clean_after_a_solve;

#define SOLVE_HOLDS(condition, name) assert(mark == epoch || (condition) || name)

/* ---- A block -----------------------------------------------------------------------------------
 */

#define EARLIER_READER(p, side) (AFTER((p) - SLOTS, side))
#define SLOT_IS_FREE(p, side)                                                                      \
    ((p) < SLOTS ||                                                                                \
     (EARLIER_READER(p, side) == NONE -> WITHOUT_READER(group, (p) - SLOTS)                        \
                                       : HAS_DONE(group, EARLIER_READER(p, side))))
#define ALL_SIDES_ARE_FREE(p)                                                                      \
    (SLOT_IS_FREE(p, 0) && SLOT_IS_FREE(p, 1) && (!CORNER || SLOT_IS_FREE(p, 2)))

#define IS_DIRTY     (mark != 0 && mark != epoch)

inline release_faces() {
    if
    :: SLOTS < PENCILS ->
        users--;
        if
        :: LAST_USER -> done[group * PENCILS + pencil] = epoch
        :: else
        fi
    :: else
    fi
}

/* States of roles. */
#define BEGINS     0
#define CLEANS     1 /* opener: resets the faces; receiver: waits for the opener */
#define UNMARKS    2
#define AWAITS     3 /* the slot */
#define POLLS      4 /* receiver: polls the face; opener: has opened */
#define RESETS     5
#define RELEASES   6
#define HAS_ENDED  7
#if TIMEOUTS
#define FIRST BEGINS
#else
#define FIRST AWAITS /* there is no mark to look for */
#endif

/* The roles are choices of one loop: at any moment, any of them may take its next step. A receiver
 * fills the ring, and compute uses it, before the receiver puts the sentinel back. */
#define WAIT_IS_OVER(state) ((FINDS_THE_MARK || (kernel < TIMEOUTS && mark != epoch)) && state)
#ifdef FAULT_ROLES_IGNORE_THE_MARK
#define FINDS_THE_MARK false
#else
#define FINDS_THE_MARK (mark == epoch)
#endif
#define FACE(side, got)     face[PLACE(group, BEFORE(pencil, side), side, got)]

#ifdef FAULT_DONE_BEFORE_RESET
#define RELEASE_EARLY(got)                                                                         \
    if                                                                                             \
    :: got == STEPS -> release_faces()                                                             \
    :: else                                                                                        \
    fi
#define RELEASE_LATE skip
#else
#define RELEASE_EARLY(got) skip
#define RELEASE_LATE       release_faces()
#endif

#define RECEIVER(side, state, got, in_vain)                                                        \
    :: d_step { state == BEGINS ->                                                                 \
           state = (maybe_dirty && IS_DIRTY && !OTHERS_GO_ON -> CLEANS : AWAITS) }                 \
    :: d_step { state == CLEANS && faces_clean -> state = AWAITS }                                 \
    :: d_step { state == AWAITS && READER_WAITS(SLOT_IS_FREE(BEFORE(pencil, side), side)) ->       \
           state = POLLS }                                                                         \
    :: d_step { WAIT_IS_OVER(state == AWAITS) -> mark = epoch; in_vain = 1; state = POLLS }        \
    :: d_step { state == POLLS && !in_vain && got < STEPS && got < made + RING &&                  \
                FACE(side, got) != UNPUBLISHED ->                                                  \
           SOLVE_HOLDS(FACE(side, got) == VALUE(group, BEFORE(pencil, side), got),                 \
                       every_read_value_is_the_right_one);                                         \
           got++;                                                                                  \
           RELEASE_EARLY(got);                                                                     \
           state = RESETS }                                                                        \
    :: d_step { state == RESETS ->                                                                 \
           SOLVE_HOLDS(FACE(side, got - 1) == VALUE(group, BEFORE(pencil, side), got - 1),         \
                       reset_removes_what_was_read);                                               \
           FACE(side, got - 1) = UNPUBLISHED;                                                      \
           state = POLLS }                                                                         \
    :: d_step { WAIT_IS_OVER(state == POLLS && !in_vain && got < STEPS) ->                         \
           mark = epoch; in_vain = 1 }                                                             \
    :: d_step { state == POLLS && in_vain && got < STEPS && got < made + RING -> got++ }           \
    :: d_step { state == POLLS && got == STEPS -> RELEASE_LATE; state = HAS_ENDED }

#define CLEANER (pencil == 0 && group == 0)

#define OPENER                                                                                     \
    :: d_step { opens == BEGINS && !(maybe_dirty && IS_DIRTY) -> opens = AWAITS }                  \
    :: d_step { opens == BEGINS && maybe_dirty && IS_DIRTY && CLEANER ->                           \
           left = mark;                                                                            \
           UNMARK_EARLY;                                                                           \
           opens = CLEANS }                                                                        \
    :: d_step { opens == BEGINS && maybe_dirty && IS_DIRTY && !CLEANER && OTHERS_GO_ON ->          \
           opens = AWAITS }                                                                        \
    :: d_step { WAIT_IS_OVER(opens == BEGINS && maybe_dirty && IS_DIRTY && !CLEANER) ->            \
           mark = epoch; opens = AWAITS }                                                          \
    :: d_step { opens == CLEANS -> clean_all(); opens = UNMARKS }                                  \
    :: d_step { opens == UNMARKS -> unmark(); left = 0; opens = AWAITS }                           \
    :: d_step { opens == AWAITS && OPENER_WAITS(ALL_SIDES_ARE_FREE(pencil)) ->                     \
           faces_clean = 1; opens = RELEASES }                                                     \
    :: d_step { WAIT_IS_OVER(opens == AWAITS) -> mark = epoch; faces_clean = 1; opens = RELEASES } \
    :: d_step { opens == RELEASES -> release_faces(); opens = HAS_ENDED }

inline clean_all() {
    i = 0;
    do
    :: i < GROUPS * SLOTS * SIDES * STEPS -> face[i] = UNPUBLISHED; i++
    :: else -> break
    od;
    i = 0
}

inline unmark() { /* atomicCAS */
    if
    :: mark == left -> mark = 0
    :: else
    fi
}

inline publish(side) {
    if
    :: AFTER(pencil, side) != NONE && (kernel >= TIMEOUTS || pencil != WITHHELD) ->
        SOLVE_HOLDS(face[PLACE(group, pencil, side, made)] == UNPUBLISHED,
                    every_face_is_free_when_written);
        face[PLACE(group, pencil, side, made)] = VALUE(group, pencil, made)
    :: else
    fi
}

#define HAS_ITS_HALO                                                                               \
    ((BEFORE_Y(pencil) == NONE || got_y > made) && (BEFORE_Z(pencil) == NONE || got_z > made) &&   \
     (!CORNER || BEFORE_C(pencil) == NONE || got_c > made))

#define COMPUTE                                                                                    \
    :: d_step { (opens == RELEASES || opens == HAS_ENDED) && made < STEPS && HAS_ITS_HALO ->       \
           publish(0); publish(1); PUBLISH_CORNER; made++ }

#if CORNER
#define PUBLISH_CORNER   publish(2)
#define RECEIVER_CORNER  RECEIVER(2, state_c, got_c, vain_c)
#else
#define PUBLISH_CORNER   skip
#define RECEIVER_CORNER
#endif

inline start() {
    kernel = launched / BLOCKS;
    launched++;
    busy = busy | (1 << _pid);
    seen = mark /* load_relaxed(); the ticket comes later */
}

inline take_pencil() {
    ticket = next_ticket;
    epoch = solves_begun + 1;
    next_ticket++;
    assert((epoch == kernel + 1 && ticket < BLOCKS) || every_ticket_is_of_its_launch);
    pencil = PENCIL_OF(ticket / GROUPS);
    group = ticket % GROUPS;
    maybe_dirty = ticket < RESIDENT || (seen != 0 && seen != epoch);
    users = 1 + (BEFORE_Y(pencil) != NONE) + (BEFORE_Z(pencil) != NONE) +
            (CORNER && BEFORE_C(pencil) != NONE);
    state_y = (BEFORE_Y(pencil) != NONE -> FIRST : HAS_ENDED);
    state_z = (BEFORE_Z(pencil) != NONE -> FIRST : HAS_ENDED);
    state_c = (CORNER && BEFORE_C(pencil) != NONE -> FIRST : HAS_ENDED);
    opens = FIRST;
    got_y = 0; got_z = 0; got_c = 0; made = 0; vain_y = 0; vain_z = 0; vain_c = 0;
    faces_clean = 0; left = 0; seen = 0
}

#define ALL_ROLES_HAVE_ENDED                                                                       \
    (opens == HAS_ENDED && state_y == HAS_ENDED && state_z == HAS_ENDED &&                         \
     state_c == HAS_ENDED && made == STEPS)

inline end() {
    busy = busy & ~(1 << _pid);
    ended[kernel]++;
    if
    :: ended[kernel] == BLOCKS && mark == 0 ->
        i = 0;
        do
        :: i < GROUPS * SLOTS * SIDES * STEPS ->
            assert(face[i] == UNPUBLISHED || all_faces_are_clean_after_a_solve);
            i++
        :: else -> break
        od;
        i = 0
    :: else
    fi;
    opens = BEGINS; state_y = BEGINS; state_z = BEGINS; state_c = BEGINS;
    got_y = 0; got_z = 0; got_c = 0; made = 0; vain_y = 0; vain_z = 0; vain_c = 0;
    kernel = 0; ticket = 0; epoch = 0; pencil = 0; group = 0; faces_clean = 0; maybe_dirty = 0;
    users = 0
}

/* A kernel starts when all blocks of the one before have let it. Idle places are alike, so only the
 * first of them takes the next block. */
#define MAY_START                                                                                  \
    (launched < SOLVES * BLOCKS && (launched % BLOCKS != 0 || lets == launched / BLOCKS) &&        \
     (busy & ((1 << _pid) - 1)) == (1 << _pid) - 1)

#define BEGIN_NEXT_EPOCH                                                                           \
    d_step { solves_begun++; next_ticket = next_ticket - BLOCKS }
#ifdef FAULT_NEXT_KERNEL_STARTS_EARLY
#define LET_AND_BEGIN lets++; BEGIN_NEXT_EPOCH
#else
#define LET_AND_BEGIN BEGIN_NEXT_EPOCH; lets++
#endif

active [WORKERS] proctype block() {
    byte kernel, ticket, epoch, pencil, group, users, seen, left, i;
    byte opens, state_y, state_z, state_c, got_y, got_z, got_c, made;
    bit maybe_dirty, faces_clean, vain_y, vain_z, vain_c;
    do
    :: launched == SOLVES * BLOCKS -> break
#if TIMEOUTS
    :: d_step { MAY_START -> start() }
       d_step { take_pencil() }
#else
    :: d_step { MAY_START -> start(); take_pencil() }
#endif
       if
       :: ticket == BLOCKS - 1 -> LET_AND_BEGIN
       :: else
       fi;
       AWAIT_KERNELS_BEFORE;
       do
       OPENER
       RECEIVER(0, state_y, got_y, vain_y)
       RECEIVER(1, state_z, got_z, vain_z)
       RECEIVER_CORNER
       COMPUTE
       :: d_step { ALL_ROLES_HAVE_ENDED -> end() }
          break
       od
    od
}
