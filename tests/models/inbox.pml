/* inbox.pml: the hand-over between devices on CUDA: slabs in z, and rows of tiles that are dealt out.
 *
 * MODEL            CODE
 * proctype device  the stream of one process: gsw_dealt_apply() (src/sweep/distributed_deal.c), or
 *                  apply() (distributed_slabs.c)
 * proctype block   a block of sweep_pencils() (kernels/cuda/sweep/sweep_kernel.cuh)
 * OWNER, FIRST     gsw_dealt_to() (packed.cuh); slabs: the planes of a process
 * inbox[]          plan.inbox, a face for each pencil that reads another process's
 * made[]           faces inside a device, which sweep.pml has
 * shared[]         the vector `shared` of the windows (deal.cu), tile by tile
 * meeting          meet() (distributed_deal.c); gsw_partition_agree() where slabs have one sweep
 *
 * A tile (j, k) of a sweep depends on (j - 1, k) and (j, k - 1). The second sweep counts tiles from
 * the other end. An application gives b, sweeps SWEEPS times, and takes x. Slabs read the process's
 * own b and x, so they give and take nothing.
 *
 * Sizes: DEVICES processes with BLOCKS blocks each; NJ * NK tiles, NK a multiple of DEVICES; SWEEPS
 * 1 or 2; SOLVES applications. DEALT 1: rows of tiles are dealt out; 0: slabs. BY_COLUMNS 1: the list
 * of all pencils goes along z first, as with a large weight; 0: along y'. */
#ifndef DEVICES
#define DEVICES 2
#endif
#ifndef BLOCKS
#define BLOCKS 2
#endif
#ifndef NJ
#define NJ 2
#endif
#ifndef NK
#define NK 4
#endif
#ifndef SWEEPS
#define SWEEPS 2
#endif
#ifndef SOLVES
#define SOLVES 2
#endif
#ifndef DEALT
#define DEALT 1
#endif
#ifndef BY_COLUMNS
#define BY_COLUMNS 1
#endif
#define TILES (NJ * NK)
#define ROWS  (NK / DEVICES) /* of a device */
#define OWN   (NJ * ROWS)    /* tiles of a device */
#define EMPTY 0

/* ---- The faults --------------------------------------------------------------------------------
 */

#ifdef FAULT_READER_KEEPS_THE_FACE
#define RESET(face) skip
#else
#define RESET(face) face = EMPTY
#endif

#ifdef FAULT_ONE_DEVICE_HAS_ANOTHER_ORDER
#define PLACE(d, t) (d == 1 -> OWN - 1 - (t) : (t))
#else
#define PLACE(d, t) (t)
#endif

#ifdef FAULT_MEETS_WHEN_TICKETS_ARE_TAKEN
#define ENDED(d) (next[d] == OWN)
#else
#define ENDED(d) (finished[d] == OWN)
#endif

#ifdef FAULT_NO_FIRST_MEETING
#define MEETS_FIRST 0
#elif defined(FAULT_SLABS_WITH_ONE_SWEEP_DO_NOT_MEET)
#define MEETS_FIRST 0
#else
#define MEETS_FIRST (DEALT || SWEEPS == 1)
#endif

#ifdef FAULT_NO_LAST_MEETING
#define MEETS_LAST 0
#else
#define MEETS_LAST DEALT
#endif

/* ---- Who has which tile ------------------------------------------------------------------------
 *
 * NATURAL: row k of sweep s counted as in the first sweep. */
#define TILE(j, k)     ((k) * NJ + (j))
#define NATURAL(s, k)  ((s) == 0 -> (k) : NK - 1 - (k))
#define SLAB(row)      ((row) / ROWS)
#define OWNER(row)     (DEALT -> (row) % DEVICES : SLAB(row))
#define FIRST(d, s)    (DEALT -> ((s) == 0 -> (d) : (NK - 1 - (d)) % DEVICES) : ((s) == 0 -> (d) * ROWS : (DEVICES - 1 - (d)) * ROWS))
#define STEP           (DEALT -> DEVICES : 1)
#define COLUMN(t)      (BY_COLUMNS -> (t) / ROWS : (t) % NJ)
#define ROW(d, s, t)   (FIRST(d, s) + STEP * (BY_COLUMNS -> (t) % ROWS : (t) / NJ))

#define INBOX(s, tile) inbox[(s) * TILES + (tile)]

/* What shared[] and faces hold: of which solve and sweep. */
#define STAMP(a, s) (1 + SWEEPS * (a) + (s))
#define GIVEN(a)    (1 + 2 * (a))
#define SWEPT(a)    (2 + 2 * (a))

byte inbox[2 * TILES];
byte made[TILES];      /* by natural place */
byte shared[TILES];    /* likewise */
byte met[DEVICES];     /* meetings that a device has come to */
byte kernel[DEVICES];  /* of the device: 1, 2, ...; 0: none is under way */
byte next[DEVICES];    /* tickets taken */
byte finished[DEVICES];
bool over[DEVICES];

/* Never true: they name assertions. */
bool every_read_value_is_the_right_one, every_face_is_free_when_written;
bool every_taken_value_is_swept, all_faces_are_clean_after_a_solve;

/* Whether a tile is swept by another process than the one that has its planes. */
#define IS_SHARED(row) (DEALT && SLAB(row) != OWNER(row))
#define PLACE_OF(s, j, k) TILE(((s) == 0 -> (j) : NJ - 1 - (j)), NATURAL(s, k))

#define CHECK(what, condition) assert((condition) || what)

/* ---- A block -----------------------------------------------------------------------------------
 */

proctype block(byte d) {
    byte j, k, s, a, here, stamp;
    do
    :: d_step { kernel[d] > 0 && next[d] < OWN ->
           s = (kernel[d] - 1) % SWEEPS;
           a = (kernel[d] - 1) / SWEEPS;
           j = COLUMN(PLACE(d, next[d]));
           k = ROW(d, s, PLACE(d, next[d]));
           here = PLACE_OF(s, j, k);
           stamp = STAMP(a, s);
           next[d]++ }
       if
       :: s == 0 && IS_SHARED(NATURAL(s, k)) ->
           CHECK(every_read_value_is_the_right_one, (shared[here] == GIVEN(a)))
       :: else
       fi;
       if
       :: j > 0 -> made[PLACE_OF(s, j - 1, k)] == stamp
       :: else
       fi;
       if
       :: k == 0
       :: k > 0 && OWNER(NATURAL(s, k - 1)) == d -> made[PLACE_OF(s, j, k - 1)] == stamp
       :: k > 0 && OWNER(NATURAL(s, k - 1)) != d ->
           INBOX(s, here) != EMPTY;
           CHECK(every_read_value_is_the_right_one, (INBOX(s, here) == stamp));
           RESET(INBOX(s, here))
       fi;
       made[here] = stamp;
       if
       :: k + 1 < NK && OWNER(NATURAL(s, k + 1)) != d ->
           CHECK(every_face_is_free_when_written, (INBOX(s, PLACE_OF(s, j, k + 1)) == EMPTY));
           INBOX(s, PLACE_OF(s, j, k + 1)) = stamp
       :: else
       fi;
       if
       :: s == SWEEPS - 1 && IS_SHARED(NATURAL(s, k)) -> shared[here] = SWEPT(a)
       :: else
       fi;
       d_step { finished[d]++; j = 0; k = 0; s = 0; a = 0; here = 0; stamp = 0 }
    :: over[d] -> break
    od
}

/* ---- A device ----------------------------------------------------------------------------------
 */

/* Comes to the meeting, and waits until all have come. */
inline meet() {
    met[d]++;
    i = 0;
    do
    :: i < DEVICES -> met[i] >= met[d]; i++
    :: else -> break
    od
}

/* For all tiles of the own slab that others sweep. */
inline give() {
    d_step {
        i = 0;
        do
        :: i < TILES ->
            if
            :: SLAB(i / NJ) == d && IS_SHARED(i / NJ) -> shared[i] = GIVEN(solve)
            :: else
            fi;
            i++
        :: else -> break
        od;
        i = 0
    }
}

inline take() {
    d_step {
        i = 0;
        do
        :: i < TILES ->
            CHECK(every_taken_value_is_swept, (SLAB(i / NJ) != d || !IS_SHARED(i / NJ) || shared[i] == SWEPT(solve)));
            i++
        :: else -> break
        od;
        i = 0
    }
}

proctype device(byte d) {
    byte solve, sweep, i;
    do
    :: solve < SOLVES ->
        give();
        if
        :: MEETS_FIRST -> meet()
        :: else
        fi;
        sweep = 0;
        do
        :: sweep < SWEEPS ->
            d_step { next[d] = 0; finished[d] = 0; kernel[d] = 1 + solve * SWEEPS + sweep }
            ENDED(d);
            kernel[d] = 0;
            sweep++
        :: else -> break
        od;
        if
        :: MEETS_LAST -> meet()
        :: else
        fi;
        take();
        solve++
    :: else -> break
    od;
    over[d] = true
}

init {
    byte i;
    atomic {
        do
        :: i < DEVICES * BLOCKS -> run block(i / BLOCKS); i++
        :: else -> break
        od;
        i = 0;
        do
        :: i < DEVICES -> run device(i); i++
        :: else -> break
        od
    }
    /* All have ended. */
    _nr_pr == 1;
    d_step {
        i = 0;
        do
        :: i < 2 * TILES ->
            CHECK(all_faces_are_clean_after_a_solve, (inbox[i] == EMPTY));
            i++
        :: else -> break
        od
    }
}
