/* eliminate.pml: the hand-over of the elimination on CUDA, in the kernel for any shape: counters
 * that the host resets before each launch.
 *
 * MODEL                  CODE (kernels/cuda/)
 * proctype block         a place on the device for one block of eliminate_pencils()
 *                        (eliminate_kernel.cuh)
 * reset                  the cudaMemsetAsync() of gsw_cuda_eliminate() (eliminate.cu)
 * RECEIVER               receive_steps()
 * COMPUTE                the loop over steps in eliminate_pencils(), with its barrier
 * PUBLISHER              publish_steps()
 * allowed, completed     struct eliminate_block
 * steps[], next          struct eliminate_state (eliminate_plan.cuh)
 * u[]                    the upper part's values, which pencils read of each other
 *
 * A step of the model is a step, and the pencils before are one step behind: step s reads their
 * points of step s. Ordinary launches do not overlap: a block starts when all blocks of the launch
 * before, and the reset, have ended.
 *
 * Sizes: WORKERS blocks at a time; NY * NZ pencils; STEPS; RUNS eliminations. TIMEOUTS: waits in so
 * many first runs may time out, at any moment; in these runs pencil WITHHELD publishes nothing. */
#ifndef WORKERS
#define WORKERS 3
#endif
#ifndef NY
#define NY 2
#endif
#ifndef NZ
#define NZ 3
#endif
#ifndef STEPS
#define STEPS 2
#endif
#ifndef RUNS
#define RUNS 2
#endif
#ifndef TIMEOUTS
#define TIMEOUTS 0
#endif
#ifndef WITHHELD
#define WITHHELD 99
#endif
#define PENCILS (NY * NZ)
#define NONE    99
#define RAW     0 /* the matrix, not yet eliminated */

/* ---- The faults --------------------------------------------------------------------------------
 */

#ifdef FAULT_TICKETS_BACKWARDS
#define PENCIL_OF(ticket) (PENCILS - 1 - (ticket))
#else
#define PENCIL_OF(ticket) (ticket)
#endif
#ifdef FAULT_ALLOWS_ONE_STEP_TOO_MANY
#define UNTIL(steps) ((steps) < STEPS -> (steps) + 1 : STEPS)
#else
#define UNTIL(steps) (steps)
#endif
#ifdef FAULT_STEPS_ARE_NOT_RESET
#define RESET_STEPS skip
#else
#define RESET_STEPS steps[i] = 0
#endif
#ifdef FAULT_RECEIVERS_IGNORE_THE_MARK
#define FINDS_THE_MARK false
#else
#define FINDS_THE_MARK abandoned
#endif
#ifdef FAULT_READS_ONE_PENCIL_ONLY /* it waits for the one in y', not for the one in z */
#define STEPS_OF_Z STEPS
#else
#define STEPS_OF_Z (BEFORE_Z == NONE -> STEPS : steps[BEFORE_Z])
#endif

#define BEFORE_Y   (pencil % NY > 0 -> pencil - 1 : NONE)
#define BEFORE_Z   (pencil >= NY -> pencil - NY : NONE)
#define STEPS_OF_Y (BEFORE_Y == NONE -> STEPS : steps[BEFORE_Y])

/* ---- Device memory -----------------------------------------------------------------------------
 */

byte next;
byte steps[PENCILS];
bit abandoned;
byte u[PENCILS * STEPS]; /* RAW, or whose value it is */

byte launched, ended, reset_runs; /* blocks, of all launches; launches that have been prepared */

bool every_read_value_is_the_right_one, every_step_is_made_once, only_a_timeout_abandons;

#define U(p, s)     u[(p) * STEPS + (s)]
#define VALUE(p, s) (1 + (turn * PENCILS + (p)) * STEPS + (s))

/* ---- A block -----------------------------------------------------------------------------------
 */

#define RUN_HOLDS(condition, name) assert(abandoned || (condition) || name)
#define LEAST   (STEPS_OF_Y < STEPS_OF_Z -> STEPS_OF_Y : STEPS_OF_Z)

#define RECEIVER                                                                                   \
    :: d_step { allowed < STEPS && UNTIL(LEAST) > allowed -> allowed = UNTIL(LEAST) }              \
    :: d_step { allowed < STEPS && UNTIL(LEAST) <= allowed &&                                      \
                (FINDS_THE_MARK || (turn < TIMEOUTS && !abandoned)) ->                             \
           abandoned = 1; allowed = STEPS }

inline eliminate() {
    RUN_HOLDS(BEFORE_Y == NONE || U(BEFORE_Y, made) == VALUE(BEFORE_Y, made),
              every_read_value_is_the_right_one);
    RUN_HOLDS(BEFORE_Z == NONE || U(BEFORE_Z, made) == VALUE(BEFORE_Z, made),
              every_read_value_is_the_right_one);
    RUN_HOLDS(U(pencil, made) == RAW, every_step_is_made_once);
    U(pencil, made) = VALUE(pencil, made)
}

#ifdef FAULT_COMPLETES_BEFORE_THE_BARRIER /* the values may come after the counter */
#define COMPUTE                                                                                    \
    :: d_step { made < STEPS && made < allowed && made == completed -> completed++ }               \
    :: d_step { made < completed -> eliminate(); made++ }
#else
#define COMPUTE                                                                                    \
    :: d_step { made < STEPS && made < allowed && made == completed -> eliminate(); made++ }       \
    :: d_step { completed < made -> completed++ }
#endif

#define PUBLISHER                                                                                  \
    :: d_step { published < completed && loaded == 0 -> loaded = completed }                       \
    :: d_step { loaded > 0 ->                                                                      \
           steps[pencil] = (turn < TIMEOUTS && pencil == WITHHELD -> 0 : loaded);                  \
           published = loaded; loaded = 0 }

inline prepare() { /* what the stream does between two launches */
    i = 0;
    do
    :: i < PENCILS -> RESET_STEPS; i++
    :: else -> break
    od;
    i = 0;
    do
    :: i < PENCILS * STEPS -> u[i] = RAW; i++
    :: else -> break
    od;
    i = 0;
    next = 0;
    abandoned = 0;
    reset_runs++
}

#define IS_FIRST_OF_A_RUN (launched % PENCILS == 0)

active [WORKERS] proctype block() {
    byte turn, pencil, allowed, made, completed, published, loaded, i;
    do
    :: launched == RUNS * PENCILS -> break
    :: d_step { launched < RUNS * PENCILS && (!IS_FIRST_OF_A_RUN || ended == launched) ->
           if
           :: IS_FIRST_OF_A_RUN -> prepare()
           :: else
           fi;
           turn = launched / PENCILS;
           launched++;
           pencil = PENCIL_OF(next); /* take_ticket() */
           next++
       }
       do
       RECEIVER
       COMPUTE
       PUBLISHER
       :: d_step { published == STEPS && allowed == STEPS ->
              ended++;
              assert(!abandoned || turn < TIMEOUTS || only_a_timeout_abandons);
              turn = 0; pencil = 0; allowed = 0; made = 0; completed = 0; published = 0 }
          break
       od
    od
}
