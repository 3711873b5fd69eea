/* eliminate.c: incomplete factorisation by the skewed wavefront. It writes packed factors directly.
 *
 * UNIT OF WORK, HAND-OVER, PROGRESS. As in sweep.c: threads take pencils by ticket and work in
 * chunks of steps, and each pencil waits for the one before it by the same rule. Pencils publish
 * the scaled upper row of each point: its reciprocal pivot, and its upper coefficients times that.
 * Within a pencil a ring keeps these rows. The last chains of a pencil are also written to its
 * *face*, which later pencils read. Kinds whose rows do not depend on each other (SSOR, LOWER,
 * UPPER, LU) skip the waits.
 *
 * METHOD. ILU(0) in the IKJ order (Saad, algorithm 10.4), written with the scaled rows u' = U / d:
 *
 *     for each lower coefficient a_ik, ascending in k:
 *         a_ij -= a_ik u'_kj   for every j that both rows may couple to (gsw_updates)
 *         l_ik  = a_ik / d_k
 *
 * IC(0) is the same on a matrix whose upper part is read from the lower one: L = L1 sqrt(D). DILU
 * updates the diagonal only, from the matrix's own coefficients (Pommerell and Fichtner, 1991). A
 * lower coefficient that is zero causes no update, so values that do not exist are never used. */
#include <float.h>
#include <math.h>
#include <string.h>
#include "common/pivot.h"
#include "eliminate.h"
#include "cpu/core/kernels.h"
#include "cpu/core/threads.h"

#define PART_LANES GSW_LANES_F64
#define VALUE      double
#define SIMD(name) name##_f64
#include "cpu/core/simd.h"
#include "cpu/core/wide.inc"
#undef VALUE
#undef SIMD

typedef wide_f64 wide;
typedef float narrow_part
    __attribute__((vector_size(PART_LANES * sizeof(float)), aligned(sizeof(float)), may_alias));

enum { LANES = GSW_VECTOR_LANES };

static const double zeros[LANES] = {0};

/* Are all lanes of a comparison true? */
static inline int all_true(part_mask_f64 v) {
    int64_t all = -1;
    for (int l = 0; l < PART_LANES; l++)
        all &= v[l];
    return all != 0;
}

#if PART_LANES == 8
#define REVERSE(v) __builtin_shufflevector(v, v, 7, 6, 5, 4, 3, 2, 1, 0)
#elif PART_LANES == 4
#define REVERSE(v) __builtin_shufflevector(v, v, 3, 2, 1, 0)
#else
#define REVERSE(v) __builtin_shufflevector(v, v, 1, 0)
#endif

/* Stores a vector past the caches, for data that no thread reads soon. This needs an instruction
 * set that has such stores and a vector that fills a cache line. stream_end() orders such stores
 * before later ones. */
static inline void stream_part(double *to, part_f64 v) {
#if defined(__AVX512F__) && defined(__clang__)
    __builtin_nontemporal_store(v, (part_f64 *)to);
#elif defined(__AVX512F__)
    __builtin_ia32_movntpd512(to, (__attribute__((vector_size(64))) double)v);
#else
    *(loose_part_f64 *)to = v;
#endif
}

static inline void stream_end(void) {
#if defined(__AVX512F__)
    __builtin_ia32_sfence();
#endif
}

/* A thread's view of its pencil. */
typedef struct pencil {
    int64_t index;
    int64_t first_chain, first_plane;
    int64_t steps;
    int64_t first_record; /* where periods share none */
    double *face;         /* of this pencil: [step][row value][face chain] */
    const double *before; /* face of the pencil before ... */
    int64_t before_steps; /* ... which has that many steps ... */
    int64_t before_shift; /* ... and meets step s of this one in its step s + shift */
    int64_t ghost_end;    /* the first step in which no chain is on a ghost before the own lines */
    int64_t kept_step;    /* the first step in which a chain may be in a row that is kept */
} pencil;

typedef struct worker {
    gsw_eliminate_job *job;
    const gsw_chains *g;
    int32_t slots;  /* coefficients of a row */
    int32_t center; /* slot of the diagonal */
    int64_t row_values;
    int64_t face_chains;
    int covered;                   /* every slot has a tap with values */
    int squares;                   /* every tap set can be staged by squares */
    const gsw_row_source *rows[2]; /* of the tap sets */
    const gsw_staging *staging;
    int64_t mask;      /* ring rows - 1 */
    double *chunk;     /* [step][slot][LANES] */
    double *ring;      /* [step & mask][row value][LANES] */
    int64_t bad_pivot; /* lowest row or INT64_MAX */
    int64_t shifted;
    int64_t misfit;
    int64_t beyond;
} worker;

static double *face_of(const gsw_eliminate_job *job, int64_t index) {
    return job->faces + (index % job->progress->slots) * job->face_values + LANES;
}

/* Pencil `index`, with the pencil `back` before it as its neighbour (or the first pencil). */
static pencil pencil_of(const gsw_eliminate_job *job, int64_t index, int64_t back) {
    const gsw_chains *g = job->chains;
    const int64_t other = index >= back ? index - back : 0;
    int64_t other_plane, last_plane;
    pencil p = {.index = index};
    gsw_pencil_planes(g, 0, other, &other_plane, &last_plane);
    gsw_pencil_planes(g, 0, index, &p.first_plane, &last_plane);
    p.first_chain = gsw_first_chain(g, 0, index);
    p.steps = gsw_pencil_steps(g, 0, index);
    if (job->updates) {
        p.face = face_of(job, index);
        p.before = face_of(job, other);
        p.before_steps = gsw_pencil_steps(g, 0, other);
        p.before_shift = (p.first_plane - other_plane) * g->nx + back * g->chains * g->skew;
    }
    return p;
}

/* ---- Bringing coefficients into step order ----------------------------------------------------
 */

/* Writes the scaled upper rows of a chunk that later slabs read. */
static void keep_last(const worker *w, const pencil *p, int64_t step, int64_t steps) {
    const gsw_eliminate_job *job = w->job;
    for (int64_t l = 0; l < w->g->chains; l++) {
        gsw_place place = gsw_place_of(w->g, p->first_chain, p->first_plane, step, l);
        for (int64_t stretch, done = 0; done < steps; done += stretch) {
            const double *from = w->chunk + (done * w->slots + w->center) * LANES + l;
            const int64_t to = place.row + place.x - job->kept_from, left = w->g->nx - place.x;
            stretch = left < steps - done ? left : steps - done;
            for (int64_t v = 0; v < w->row_values && place.inside && to >= 0; v++)
                for (int64_t i = 0; i < stretch; i++)
                    job->kept[v][to + i] = from[(i * w->slots + v) * LANES];
            gsw_place_advance(w->g, &place, stretch);
        }
    }
}

/* Stages the steps of one chain that belong to one line. Places outside the grid become rows of the
 * identity. */
static void stage_stretch(worker *w, const gsw_place *place, int64_t stretch, double *to) {
    const int64_t pitch = (int64_t)w->slots * LANES;
    for (int64_t i = 0; !place->inside && i < stretch; i++)
        to[i * pitch + w->center * LANES] = 1;
    for (int i = 0; place->inside && i < 2 && w->job->taps[i].count > 0; i++) {
        const int64_t misfit = w->rows[i]->stage(w->staging, &w->job->taps[i], place, stretch, to);
        if (misfit >= 0 && misfit < w->misfit)
            w->misfit = misfit;
    }
}

/* Whether the next eight steps lie so far inside the grid that every coupling exists. */
static inline int deep_inside(const gsw_chains *g, const gsw_place *place,
                              const int64_t margin[3]) {
    return place->inside && place->x >= margin[0] && place->x + LANES <= g->nx - margin[0] &&
           place->y >= margin[1] && place->y < g->end[0] - margin[1] && place->z >= margin[2] &&
           place->z < g->end[1] - margin[2];
}

/* Stages the part of a chunk that squares can bring. complete[t] receives the bit set of the chains
 * that square t completes. */
static void stage_squares(worker *w, const pencil *p, int64_t step, int64_t steps,
                          uint8_t complete[GSW_ELIMINATE_CHUNK / LANES]) {
    const gsw_tap_set *taps = w->job->taps;
    gsw_place at[LANES];
    for (int l = 0; l < LANES; l++)
        at[l] = gsw_place_of(w->g, p->first_chain, p->first_plane, step, l);
    for (int64_t t = 0; t < GSW_ELIMINATE_CHUNK / LANES; t++) {
        complete[t] = 0;
        if (!w->squares || (t + 1) * LANES > steps)
            continue;
        int deep[LANES];
        for (int l = 0; l < LANES; l++)
            deep[l] = deep_inside(w->g, &at[l], w->staging->margin);
        double *to = w->chunk + t * LANES * w->slots * LANES;
        complete[t] = UINT8_MAX;
        for (int i = 0; i < 2 && complete[t]; i++)
            if (taps[i].count > 0)
                complete[t] &= w->rows[i]->stage_square(w->staging, &taps[i], at, deep, to);
        for (int l = 0; l < LANES; l++)
            gsw_place_advance(w->g, &at[l], LANES);
    }
}

/* Stages a chunk of rows in w->chunk. Chains outside the grid, and lanes that a narrow pencil does
 * not use, become rows of the identity. */
static void stage_chunk(worker *w, const pencil *p, int64_t step, int64_t steps) {
    const int64_t pitch = (int64_t)w->slots * LANES;
    uint8_t complete[GSW_ELIMINATE_CHUNK / LANES];
    if (!w->covered)
        memset(w->chunk, 0, (size_t)(steps * pitch) * sizeof(double));
    stage_squares(w, p, step, steps, complete);
    for (int64_t t = 0; w->covered && t * LANES < steps; t++)
        if (!complete[t]) /* a square that brings one chain writes all chains, zeros for the others
                           */
            memset(w->chunk + t * LANES * pitch, 0, (size_t)(LANES * pitch) * sizeof(double));
    for (int64_t l = 0; l < LANES; l++) {
        gsw_place place = gsw_place_of(w->g, p->first_chain, p->first_plane, step, l);
        place.inside = place.inside && l < w->g->chains;
        for (int64_t done = 0; done < steps;) {
            const int skip = complete[done / LANES] >> l & 1;
            const int64_t limit = w->squares ? LANES - done % LANES : steps - done;
            const int64_t left = w->g->nx - place.x;
            int64_t stretch = left < limit ? left : limit;
            stretch = stretch < steps - done ? stretch : steps - done;
            if (!skip)
                stage_stretch(w, &place, stretch, w->chunk + done * pitch + l);
            done += stretch;
            gsw_place_advance(w->g, &place, stretch);
            place.inside = place.inside && l < w->g->chains;
        }
    }
}

/* ---- Elimination ------------------------------------------------------------------------------
 */

/* The face row, of the pencil before p, that belongs to step `s` of p. Where none exists it returns
 * some row that no coefficient uses. */
static inline const double *face_row(const worker *w, const pencil *p, int64_t s) {
    int64_t step = s + p->before_shift;
    step = step < 0 ? 0 : step >= p->before_steps ? p->before_steps - 1 : step;
    return p->before + step * w->row_values * w->face_chains;
}

/* The scaled upper row of the neighbours that lower coefficient k points to. */
typedef struct neighbour {
    const worker *w;
    const pencil *p;
    int64_t step;
    int32_t dl;
    int simple;                /* dl is 0, -1 or -2 and the halo lies in one pencil */
    const double *own;         /* [value][LANES] */
    const double *face;        /* end of the first value's face chains */
    const double *lane[LANES]; /* where not simple: the first value of each chain, */
    int64_t pitch[LANES];      /* and from one value to the next */
} neighbour;

/* Finds the neighbours at chain distance dl, chain by chain. For distant chains, and for pencils
 * narrower than the halo. */
static void find_lanes(neighbour *n) {
    const worker *w = n->w;
    const int64_t chains = w->g->chains, face_chains = w->face_chains;
    for (int64_t l = 0; l < LANES; l++) {
        n->lane[l] = zeros;
        n->pitch[l] = 0;
        if (l < chains && l + n->dl >= 0) {
            n->lane[l] = n->own + l + n->dl;
            n->pitch[l] = LANES;
        } else if (l < chains) {
            const int64_t back = (-(l + n->dl) - 1) / chains + 1; /* pencils */
            const int64_t chain = back * chains + l + n->dl;
            const pencil q = pencil_of(w->job, n->p->index, back);
            n->lane[l] = face_row(w, &q, n->step) + chain - (chains - face_chains);
            n->pitch[l] = face_chains;
        }
    }
}

static wide neighbour_any(const neighbour *n, int64_t value) {
    double v[LANES];
    for (int64_t l = 0; l < LANES; l++)
        v[l] = n->lane[l][value * n->pitch[l]];
    return load_wide_f64(v);
}

static inline neighbour neighbour_of(const worker *w, const pencil *p, int64_t s, int32_t k) {
    const gsw_shape *shape = &w->g->part[0];
    neighbour n = {.w = w, .p = p, .step = s - shape->back[k], .dl = shape->dl[k]};
    n.simple = n.dl >= -2 && shape->halo <= w->g->chains;
    n.own = w->ring + (n.step & w->mask) * w->row_values * LANES;
    n.face = n.dl < 0 && n.simple ? face_row(w, p, n.step) + w->face_chains : n.own;
    if (!n.simple)
        find_lanes(&n);
    return n;
}

static inline __attribute__((always_inline)) wide neighbour_value(const neighbour *n,
                                                                  int64_t value) {
    if (!n->simple)
        return neighbour_any(n, value);
    return wide_from_lane_f64(n->face + value * n->w->face_chains, n->own + value * LANES, n->dl);
}

static inline __attribute__((always_inline)) wide product(wide a, wide b) {
    for (int p = 0; p < PARTS; p++)
        a.part[p] *= b.part[p];
    return a;
}

/* Performs the updates of one step. multipliers[k] receives a_ik / d_k; it is NULL for DILU. */
static void eliminate_step(const worker *w, const pencil *p, int64_t s, double *row,
                           double *multipliers) {
    const gsw_updates *updates = w->job->updates;
    for (int32_t k = 0; k < w->g->part[0].count; k++) {
        const wide a = load_wide_f64(row + k * LANES);
        const neighbour n = neighbour_of(w, p, s, k);
        if (multipliers)
            store_wide_f64(multipliers + k * LANES,
                           where_nonzero_f64(a, product(a, neighbour_value(&n, 0))));
        for (int32_t i = updates->first[k]; i < updates->first[k + 1]; i++) {
            double *target = row + updates->update[i].target * LANES;
            const wide u = where_nonzero_f64(a, neighbour_value(&n, 1 + updates->update[i].upper));
            wide to = load_wide_f64(target);
            for (int q = 0; q < PARTS; q++)
                to.part[q] -= a.part[q] * u.part[q];
            store_wide_f64(target, to);
        }
    }
}

/* Whether the sizes of all pivots are in a range, and all are positive where they must be. */
static int pivots_are_good(const double *pivot, double least, double most, int positive) {
    const wide d = load_wide_f64(pivot);
    int good = 1;
    for (int p = 0; p < PARTS; p++) {
        const part_f64 value = d.part[p];
        const part_f64 size = (part_f64)((part_mask_f64)value & INT64_MAX); /* without the sign */
        part_mask_f64 fits = (size >= least) & (size <= most);
        if (positive)
            fits &= value > 0;
        good &= all_true(fits);
    }
    return good;
}

/* Lowers *lowest to the row of lane l in step s. */
static void note_row(const worker *w, const pencil *p, int64_t s, int64_t l, int64_t *lowest) {
    const gsw_place place = gsw_place_of(w->g, p->first_chain, p->first_plane, s, l);
    if (place.row + place.x < *lowest)
        *lowest = place.row + place.x;
}

/* Checks the pivots of a step, and shifts or reports the bad ones. */
static void check_pivots(worker *w, const pencil *p, int64_t s, double *row) {
    double *pivot = row + w->center * LANES;
    const gsw_factor_kind kind = w->job->kind;
    const int narrows = w->job->narrows;
    const int any = kind == GSW_FACTOR_LOWER || kind == GSW_FACTOR_UPPER || kind == GSW_FACTOR_LU;
    if ((any && (!narrows || w->job->unit_diagonal)) ||
        pivots_are_good(pivot, narrows ? 1 / (double)FLT_MAX : DBL_MIN,
                        narrows ? (double)FLT_MAX : DBL_MAX, kind == GSW_IC0))
        return;
    for (int l = 0; l < LANES; l++) {
        if (narrows && gsw_pivot_is_beyond_f32(pivot[l]))
            note_row(w, p, s, l, &w->beyond);
        if (any || !gsw_pivot_is_bad(pivot[l], kind == GSW_IC0))
            continue;
        if (w->job->pivot_shift > 0) {
            double largest = 0;
            for (int32_t e = 0; e < w->slots; e++)
                largest = gsw_pivot_larger(largest, row[e * LANES + l]);
            pivot[l] = gsw_pivot_shifted(pivot[l], w->job->pivot_shift, largest, kind == GSW_IC0);
            w->shifted++;
        } else {
            note_row(w, p, s, l, &w->bad_pivot);
        }
    }
}

/* Reports the rows of a step that have a coefficient beyond fp32 among `count`. */
static void note_beyond(worker *w, const pencil *p, int64_t s, const double *values,
                        int32_t count) {
    for (int32_t i = 0; i < count * LANES; i++)
        if (gsw_is_beyond_f32(values[i]))
            note_row(w, p, s, i % LANES, &w->beyond);
}

/* ---- Packing ----------------------------------------------------------------------------------
 */

/* Writes eight chains (fewer in a narrow pencil) as value `index` of a packed part. Clears lanes of
 * *fit where values do not fit into fp32. */
static inline __attribute__((always_inline)) void pack(const worker *w, void *packed, int64_t index,
                                                       const double *from, int reversed,
                                                       part_mask_f64 *fit) {
    const int64_t chains = w->g->chains;
    const int f32 = w->job->factor_type == GSW_F32;
    for (int p = 0; chains == LANES && p < PARTS; p++) {
        const int64_t at = index * LANES + PART_LANES * p;
        part_f64 v = load_part_f64(from + PART_LANES * (reversed ? PARTS - 1 - p : p));
        if (reversed)
            v = REVERSE(v);
        if (f32) {
            *fit &= (part_f64)((part_mask_f64)v & INT64_MAX) <= FLT_MAX; /* without the sign */
            *(narrow_part *)((float *)packed + at) = __builtin_convertvector(v, narrow_part);
        } else {
            stream_part((double *)packed + at, v);
        }
    }
    if (chains == LANES)
        return;
    for (int64_t l = 0; l < chains; l++) {
        const double value = from[reversed ? chains - 1 - l : l];
        if (f32) {
            *fit &= (part_f64){0} + fabs(value) <= FLT_MAX;
            ((float *)packed)[index * chains + l] = (float)value;
        } else {
            ((double *)packed)[index * chains + l] = value;
        }
    }
}

/* Where the records of a step go, in each part; -1 where another step writes them. */
static inline __attribute__((always_inline)) void find_records(const worker *w, const pencil *p,
                                                               int64_t s, int64_t record[2]) {
    const gsw_records *records = w->job->records;
    const int64_t nx = w->g->nx, mirror = w->g->pencils - 1 - p->index, back = p->steps - 1 - s;
    record[0] = p->first_record + s;
    record[1] = w->g->records - 1 - record[0];
    if (records->period == NULL)
        return;
    record[0] = gsw_record_is_own(&records[0], nx, p->index, s)
                    ? gsw_record_of(&records[0], nx, p->index, s)
                    : -1;
    record[1] = gsw_record_is_own(&records[1], nx, mirror, back)
                    ? gsw_record_of(&records[1], nx, mirror, back)
                    : -1;
}

/* Whether some of these steps have records of their own. */
static int writes_any(const worker *w, const pencil *p, int64_t step, int64_t steps) {
    int64_t record[2];
    for (int64_t s = step; s < step + steps; s++) {
        find_records(w, p, s, record);
        if ((w->job->part[0].packed && record[0] >= 0) ||
            (w->job->part[1].packed && record[1] >= 0))
            return 1;
    }
    return 0;
}

/* Writes the records of one step: `diagonal[part]` and the parts' coefficients. */
static void pack_step(worker *w, const pencil *p, int64_t s, const double *lower,
                      const double *upper, double diagonal[2][LANES]) {
    const gsw_packed_part *part = w->job->part;
    int64_t record[2];
    find_records(w, p, s, record);
    const int32_t below = w->center, above = w->slots - 1 - w->center;
    part_mask_f64 fit = (part_f64){0} == 0;
    if (part[0].packed && record[0] >= 0) {
        int64_t index = record[0] * (below + part[0].diagonal);
        if (part[0].diagonal)
            pack(w, part[0].packed, index++, diagonal[0], 0, &fit);
        for (int32_t j = 0; j < below; j++)
            pack(w, part[0].packed, index++, lower + j * LANES, 0, &fit);
    }
    if (part[1].packed && record[1] >= 0) {
        int64_t index = record[1] * (above + part[1].diagonal);
        if (part[1].diagonal)
            pack(w, part[1].packed, index++, diagonal[1], 1, &fit);
        for (int32_t j = 0; j < above; j++)
            pack(w, part[1].packed, index++, upper + j * LANES, 1, &fit);
    }
    if (!w->job->narrows || all_true(fit))
        return;
    if (part[0].packed)
        note_beyond(w, p, s, lower, below);
    if (part[1].packed)
        note_beyond(w, p, s, upper, above);
}

static inline void scale_rows(double *values, int32_t count, wide scale) {
    for (int32_t j = 0; j < count; j++) {
        const wide c = load_wide_f64(values + j * LANES);
        store_wide_f64(values + j * LANES, where_nonzero_f64(c, product(c, scale)));
    }
}

/* Puts the rows of ghosts that are given into a step; the packed ones are rows of the identity. */
static void take_given(const worker *w, const pencil *p, int64_t s, double *row,
                       double diagonal[LANES]) {
    for (int64_t l = 0; l < w->g->chains; l++) {
        const gsw_place place = gsw_place_of(w->g, p->first_chain, p->first_plane, s, l);
        if (!gsw_place_is_before(w->g, &place))
            continue;
        diagonal[l] = 1;
        for (int64_t v = 0; w->job->updates && v < w->row_values; v++)
            row[(w->center + v) * LANES + l] =
                w->job->given[v][place.x + w->g->nx * (place.y + w->g->ny * place.z)];
    }
}

/* Turns an eliminated row into packed values: scales the parts by the reciprocal diagonals.
 * `multipliers` is the row of L where the elimination computes one, else NULL. */
static void finish_step(worker *w, const pencil *p, int64_t s, double *row,
                        const double *multipliers) {
    const gsw_eliminate_job *job = w->job;
    const wide pivot = load_wide_f64(row + w->center * LANES);
    wide reciprocal, first, scale;
    for (int q = 0; q < PARTS; q++) {
        reciprocal.part[q] = (part_f64){0} + 1;
        if (!job->unit_diagonal)
            reciprocal.part[q] /= pivot.part[q];
        first.part[q] = scale.part[q] = reciprocal.part[q];
        if (job->kind == GSW_SSOR) {
            first.part[q] = job->omega * (2 - job->omega) * reciprocal.part[q];
            scale.part[q] = job->omega * reciprocal.part[q];
        }
    }
    if (job->part[0].scale)
        scale_rows(row, w->center, scale);
    double *upper = row + (w->center + 1) * LANES;
    if (job->part[1].scale)
        scale_rows(upper, w->slots - 1 - w->center, scale);
    double diagonal[2][LANES];
    store_wide_f64(diagonal[0], first);
    store_wide_f64(diagonal[1], reciprocal);
    store_wide_f64(row + w->center * LANES, reciprocal);
    if (s < p->ghost_end)
        take_given(w, p, s, row, diagonal[0]);
    pack_step(w, p, s, multipliers ? multipliers : row, upper, diagonal);
}

/* Keeps the scaled upper row for later steps and pencils. */
static void keep_row(const worker *w, const pencil *p, int64_t s, const double *row) {
    const int64_t first_chain = w->g->chains - w->face_chains;
    const double *values = row + w->center * LANES;
    double *ring = w->ring + (s & w->mask) * w->row_values * LANES;
    double *face = p->face + s * w->row_values * w->face_chains;
    for (int64_t v = 0; v < w->row_values; v++, values += LANES, ring += LANES) {
        store_wide_f64(ring, load_wide_f64(values));
        for (int64_t l = 0; l < w->face_chains; l++)
            *face++ = values[first_chain + l];
    }
    __builtin_prefetch(face + 16 * w->row_values * w->face_chains, 1);
}

/* The first step of a pencil in which it may be in a row that is kept. */
static int64_t first_kept(const worker *w, const pencil *p) {
    const gsw_chains *g = w->g;
    const int64_t first = w->job->kept_from;
    if (first == INT64_MAX)
        return INT64_MAX;
    if (g->nz > 1)
        return (first / (g->nx * g->ny) + g->begin[1] - p->first_plane) * g->nx;
    return p->first_chain + g->chains > first / g->nx + g->begin[0] ? 0 : INT64_MAX;
}

static void eliminate_pencil(worker *w, int64_t index) {
    const gsw_eliminate_job *job = w->job;
    const gsw_chains *g = w->g;
    pencil p = pencil_of(job, index, 1);
    p.first_record = job->records[0].first[index];
    const int64_t absolute = p.first_plane * g->nx;
    p.ghost_end = gsw_ghost_steps(g, p.first_chain, 0) - absolute;
    p.kept_step = first_kept(w, &p);
    const int64_t lag = (int64_t)g->chains * g->skew;
    double row_of_l[GSW_STENCIL_MAX * LANES] = {0};
    double *multipliers = job->updates && job->kind != GSW_DILU ? row_of_l : NULL;
    for (int64_t step = 0; step < p.steps; step += GSW_ELIMINATE_CHUNK) {
        const int64_t left = p.steps - step;
        const int64_t steps = left < GSW_ELIMINATE_CHUNK ? left : GSW_ELIMINATE_CHUNK;
        if (job->records->period != NULL && !writes_any(w, &p, step, steps))
            continue;
        stage_chunk(w, &p, step, steps);
        if (job->updates)
            gsw_progress_wait(job->progress, index - 1, absolute + step + steps + lag);
        for (int64_t i = 0; i < steps; i++) {
            double *row = w->chunk + i * w->slots * LANES;
            if (job->updates)
                eliminate_step(w, &p, step + i, row, multipliers);
            check_pivots(w, &p, step + i, row);
            finish_step(w, &p, step + i, row, multipliers);
            if (job->updates)
                keep_row(w, &p, step + i, row);
        }
        if (step + steps > p.kept_step)
            keep_last(w, &p, step, steps);
        if (job->updates)
            gsw_progress_publish(job->progress, index, absolute + step + steps);
    }
    if (job->updates)
        gsw_progress_finish(job->progress, index);
}

static worker worker_of(gsw_eliminate_job *job, double *area, gsw_staging *staging) {
    const gsw_chains *g = job->chains;
    worker w = {.job = job,
                .g = g,
                .slots = g->part[0].count + 1 + g->part[1].count,
                .center = g->part[0].count,
                .row_values = gsw_row_values(g),
                .face_chains = gsw_face_chains(g),
                .mask = gsw_ring_rows(g->part[0].reach) - 1,
                .chunk = area,
                .bad_pivot = INT64_MAX,
                .misfit = INT64_MAX,
                .beyond = INT64_MAX};
    w.ring = area + (int64_t)GSW_ELIMINATE_CHUNK * w.slots * LANES;
    w.staging = staging;
    *staging = (gsw_staging){.g = g, .taps = job->taps, .after = job->after, .slots = w.slots};
    w.squares = g->chains == LANES;
    int32_t tapped = 0;
    for (int i = 0; i < 2; i++) {
        const gsw_tap_set *set = &job->taps[i];
        if (set->count == 0)
            continue;
        w.rows[i] = gsw_rows_of(&GSW_ISA_FN(gsw_cpu_kernels), set->matrix);
        w.squares = w.squares && w.rows[i]->has_squares(staging, set);
        for (int32_t t = 0; t < set->count; t++)
            tapped += set->tap[t].slot >= 0 && w.rows[i]->couples(set->matrix, set->tap[t].source);
    }
    w.covered = tapped == w.slots;
    for (int32_t t = 0; t < job->taps[0].count; t++) {
        staging->step[t] = (int32_t)job->taps[0].tap[t].step;
        staging->valid[t] = -1;
    }
    for (int part = 0; part < 2; part++) {
        for (int32_t j = 0; j < g->part[part].count; j++) {
            const gsw_offset o = g->part[part].offset[j];
            const int64_t size[3] = {o.dx < 0 ? -o.dx : o.dx, o.dy < 0 ? -o.dy : o.dy,
                                     o.dz < 0 ? -o.dz : o.dz};
            for (int axis = 0; axis < 3; axis++)
                if (staging->margin[axis] < size[axis])
                    staging->margin[axis] = size[axis];
        }
    }
    return w;
}

void GSW_ISA_FN(gsw_eliminate)(gsw_eliminate_job *job) {
    gsw_progress_reset(job->progress, job->begin, job->threads);
    int64_t bad_pivot = INT64_MAX, misfit = INT64_MAX, beyond = INT64_MAX, shifted = 0;
#pragma omp parallel num_threads(job->threads) reduction(min : bad_pivot, misfit, beyond)          \
    reduction(+ : shifted)
    {
        double *area =
            (double *)(void *)((char *)job->work + (size_t)gsw_thread_index() * job->work_bytes);
        gsw_staging staging;
        worker w = worker_of(job, area, &staging);
        int64_t index;
        gsw_progress_join(job->progress);
        while ((index = gsw_progress_take(job->progress)) < job->end)
            eliminate_pencil(&w, index);
        stream_end();
        bad_pivot = w.bad_pivot;
        misfit = w.misfit;
        beyond = w.beyond;
        shifted = w.shifted;
    }
    job->bad_pivot = bad_pivot == INT64_MAX ? -1 : bad_pivot;
    job->misfit = misfit == INT64_MAX ? -1 : misfit;
    job->beyond = beyond == INT64_MAX ? -1 : beyond;
    job->shifted_pivots = shifted;
}
