/* detect.c: finds the grid and the stencil of a CSR matrix in natural order.
 *
 * One pass over the entries checks the arrays and collects the distinct distances column - row; a
 * stencil matrix has few. On an nx x ny x nz grid a distance k stands for at most four offsets. x +
 * dx either stays in the line of points or carries into the next one, and likewise y + dy into the
 * next plane:
 *
 *   dx = k mod nx, or that - nx with the carry 1;   q = floor(k / nx) + carry
 *   dy = q mod ny, or that - ny with the carry 1;   dz = floor(q / ny) + carry
 *
 * The coordinates of an entry's row decide which of the four offsets it has. A grid explains the
 * matrix when the offset of every entry is short. A coupling that crosses the boundary of a wrong
 * grid has an offset almost as long as the grid. So every (nx, ny) that divides the number of rows
 * is tried against the distances alone, and only the remaining grids are checked against entries.
 * Where each distance has one short offset, rows in the interior cannot fail, so only rows near the
 * boundary are read again.
 *
 * A stored zero is no coupling: the distances, and what refutes a grid, come from other entries.
 * Values are read only where that matters: at an entry whose distance or offset has not occurred
 * before.
 *
 * A custom stencil is inferred only where no distance has two short offsets. Otherwise a grid three
 * points wide would explain every banded matrix.
 *
 * Where no grid explains the matrix, it may be a periodic one: the couplings around the boundary
 * become short when they are wrapped. Or a few rows reach farther along an axis, as one-sided
 * differences at a boundary do. Else the message describes the matrix. It may be a grid whose
 * rows are in another order, which their lengths show (row_lengths.h), or a grid without the rows
 * of some points. Or it is none of these.
 *
 * Of several explanations the smallest named stencil wins, then the custom stencil with the fewest
 * offsets, then the larger nx, then the larger ny. Hence a diagonal or tridiagonal matrix is an n x
 * 1 x 1 grid with D2N5, and a 5-point matrix in the plane has nz = 1. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <gridsweep/matrix.h>
#include "contract/allocate.h"
#include "contract/check.h"
#include "common/csr.h"
#include "contract/error.h"
#include "contract/row.h"
#include "common/stencils.h"
#include "detect.h"
#include "geometry/shape.h"
#include "row_lengths.h"
#include "geometry/stencil_facts.h"

/* The longest component of an offset that counts as a neighbour when the grid is inferred: that of
 * the named stencils. With longer ones almost any small matrix would be some grid. */
#define INFERRED_REACH 2
#define WITHIN_REACH(dx, dy, dz)                                                                   \
    &&(dx) >= -INFERRED_REACH && (dx) <= INFERRED_REACH && (dy) >= -INFERRED_REACH &&              \
        (dy) <= INFERRED_REACH && (dz) >= -INFERRED_REACH
#define REACHES(name, lower) lower
_Static_assert(1 GSW_NAMED_STENCILS(REACHES, WITHIN_REACH), "a named stencil reaches farther");

/* Number of entries that refuted a grid and are kept, to refute later grids without a pass. */
#define REFUTATIONS 32

/* Number of rows that are read to find the nearest of the grids that do not fit. */
#define SAMPLE_ROWS 65536

/* The same in a few rows, along one axis: one-sided differences of high order. Such entries are at
 * most one per so many rows. */
#define WIDE_REACH    8
#define ROWS_PER_WIDE 2

/* If fewer entries than one per this many rows are unexplained, they are exceptions in a grid that
 * fits otherwise. */
#define ROWS_PER_EXCEPTION 8

/* Ends of messages: neither is known, or points of a grid have no rows. */
static const char no_grid[] = "; the matrix is not a regular grid, or its rows are not in natural "
                              "order (x fastest, then y, then z)";
static const char few_rows[] = "; rows seem to be missing: each point of the grid needs a row; or "
                               "give a mask (active, --mask) of the points that have one";

/* The distinct distances column - row, ascending, 0 among them. One more place holds a sentinel. */
typedef struct distance_set {
    int count;
    int64_t distance[GSW_STENCIL_MAX + 1];
} distance_set;

/* The meaning of the distances on one grid. Variant v of a distance is the offset with the carries
 * v & 1 in x and v >> 1 in y. */
typedef struct reading {
    gsw_grid grid;
    int64_t limit;                          /* the longest component allowed */
    int64_t shift_x[GSW_STENCIL_MAX];       /* k mod nx */
    int64_t shift_y[GSW_STENCIL_MAX][2];    /* q mod ny, by the carry in x */
    int64_t layer[GSW_STENCIL_MAX][2];      /* floor(q / ny), by the carry in x */
    unsigned char allowed[GSW_STENCIL_MAX]; /* bit v: variant v is short enough */
    unsigned char seen[GSW_STENCIL_MAX];    /* bit v: an entry has variant v */
    int ambiguous;                          /* some distance has several allowed variants */
    int unexplained;                        /* distances without any */
    int seen_count;                         /* offsets seen */
    int zeros;                              /* a stored zero was passed over */
    int64_t reach[3];                       /* longest component of the allowed variants */
} reading;

/* An entry: its row and the index of its distance. row < 0: none. */
typedef struct witness {
    int64_t row;
    int index;
} witness;

/* A grid that was found. */
typedef struct choice {
    gsw_grid grid;
    int named; /* index in `named`, GSW_NAMED_COUNT for a custom stencil */
    int zeros; /* a stored zero was passed over while it was found */
    gsw_stencil stencil;
} choice;

/* The state of a search. */
typedef struct search {
    gsw_context *context;
    const gsw_csr *csr;
    distance_set set;
    int zeros;           /* of the entries with other distances: they are stored zeros */
    int64_t surplus_row; /* first row with a distance too many for the set, or -1 */
    int64_t surplus;     /* that distance */
    int64_t *divisors;   /* of the number of rows, descending */
    int64_t divisor_count;
    gsw_stencil named[GSW_NAMED_COUNT]; /* ascending count */
    witness refutations[REFUTATIONS];
    int refutation_count;
    int found;
    choice best;           /* where found */
    gsw_grid nearest;      /* nearest of the grids that do not fit, where none fits */
    int64_t nearest_count; /* entries that it leaves unexplained */
    gsw_row_lengths lengths;
    gsw_grid shuffled; /* a grid with rows of these lengths; nx is 0 where there is none */
    int shuffled_name; /* its stencil, in `named` */
    reading reading;
} search;

static int insert_distance(distance_set *set, int at, int64_t distance) {
    if (set->count == GSW_STENCIL_MAX)
        return 0;
    for (int i = set->count; i >= at; i--) /* the sentinel moves as well */
        set->distance[i + 1] = set->distance[i];
    set->distance[at] = distance;
    set->count++;
    return 1;
}

/* The pass over all entries. `type` is a constant at each call, so that the compiler generates a
 * loop for each. */
static inline gsw_status collect(search *s, gsw_itype type) {
    const gsw_csr *csr = s->csr;
    distance_set *set = &s->set;
    *set = (distance_set){.count = 1, .distance = {0, INT64_MAX}};
    s->zeros = 0;
    s->surplus_row = -1;
    int64_t begin = 0;
    for (int64_t row = 0; row < csr->rows; row++) {
        int64_t end = begin;
        if (!gsw_csr_row_end(csr, type, row, begin, &end))
            return gsw_csr_refuse_row(s->context, csr, row, begin);
        int64_t previous = csr->base - 1;
        int i = 0;
        for (int64_t k = begin; k < end; k++) {
            int64_t column = gsw_index_at(csr->columns, type, k);
            if (column <= previous || column >= csr->rows + csr->base)
                return gsw_csr_refuse_row(s->context, csr, row, begin);
            previous = column;
            int64_t distance = column - csr->base - row;
            while (set->distance[i] < distance)
                i++;
            const int known = set->distance[i] == distance;
            if (!known && gsw_csr_is_zero(csr, k)) {
                s->zeros = 1;
            } else if (known || insert_distance(set, i, distance)) {
                i++;
            } else if (s->surplus_row < 0) {
                s->surplus_row = row;
                s->surplus = distance;
            }
        }
        begin = end;
    }
    return GSW_SUCCESS;
}

static inline int64_t variant_x(const reading *r, int i, int v) {
    return r->shift_x[i] - ((v & 1) ? r->grid.nx : 0);
}

static inline int64_t variant_y(const reading *r, int i, int v) {
    return r->shift_y[i][v & 1] - ((v >> 1) ? r->grid.ny : 0);
}

static inline int64_t variant_z(const reading *r, int i, int v) {
    return r->layer[i][v & 1] + (v >> 1);
}

static gsw_offset variant_offset(const reading *r, int i, int v) {
    return (gsw_offset){(int32_t)variant_x(r, i, v), (int32_t)variant_y(r, i, v),
                        (int32_t)variant_z(r, i, v)};
}

/* Marks the variants of distance i that are short enough; extends the reach. */
static void allow_variants(reading *r, int i) {
    const int64_t extent[3] = {r->grid.nx, r->grid.ny, r->grid.nz};
    for (int v = 0; v < 4; v++) {
        const int64_t length[3] = {llabs(variant_x(r, i, v)), llabs(variant_y(r, i, v)),
                                   llabs(variant_z(r, i, v))};
        int allowed = 1;
        for (int d = 0; d < 3; d++)
            allowed &= length[d] < extent[d] && length[d] <= r->limit;
        if (!allowed)
            continue;
        r->ambiguous |= r->allowed[i] != 0;
        r->allowed[i] |= (unsigned char)(1 << v);
        for (int d = 0; d < 3; d++)
            r->reach[d] = length[d] > r->reach[d] ? length[d] : r->reach[d];
    }
    r->unexplained += r->allowed[i] == 0;
}

static void make_reading(const distance_set *set, const gsw_grid *grid, int64_t limit, reading *r) {
    r->grid = *grid;
    r->limit = limit;
    r->ambiguous = 0;
    r->unexplained = 0;
    r->seen_count = 0;
    for (int d = 0; d < 3; d++)
        r->reach[d] = 0;
    for (int i = 0; i < set->count; i++) {
        int64_t q = gsw_floor_div(set->distance[i], grid->nx);
        r->shift_x[i] = set->distance[i] - q * grid->nx;
        for (int carry = 0; carry < 2; carry++) {
            r->layer[i][carry] = gsw_floor_div(q + carry, grid->ny);
            r->shift_y[i][carry] = q + carry - r->layer[i][carry] * grid->ny;
        }
        r->allowed[i] = 0;
        r->seen[i] = 0;
        allow_variants(r, i);
    }
}

/* The variant of distance i in a row at (x, y). */
static inline int variant_at(const reading *r, int i, int64_t x, int64_t y) {
    int carry_x = x + r->shift_x[i] >= r->grid.nx;
    int carry_y = y + r->shift_y[i][carry_x] >= r->grid.ny;
    return carry_x + 2 * carry_y;
}

/* Reads the entries of a row. Returns the index of the first distance that the grid does not
 * explain there, or that would exceed the offsets of a stencil. Returns -1 where there is none. */
static inline int read_row(const search *s, reading *r, gsw_itype type, int64_t row, int64_t x,
                           int64_t y) {
    const gsw_csr *csr = s->csr;
    int64_t end = gsw_index_at(csr->row_ptr, type, row + 1) - csr->base;
    int i = 0;
    for (int64_t k = gsw_index_at(csr->row_ptr, type, row) - csr->base; k < end; k++) {
        int64_t distance = gsw_index_at(csr->columns, type, k) - csr->base - row;
        while (s->set.distance[i] < distance)
            i++;
        if (s->set.distance[i] != distance)
            continue;
        unsigned char bit = (unsigned char)(1 << variant_at(r, i, x, y));
        if (!(r->seen[i] & bit)) {
            if (gsw_csr_is_zero(csr, k)) {
                r->zeros = 1;
                continue;
            }
            if (!(r->allowed[i] & bit) || r->seen_count == GSW_STENCIL_MAX)
                return i;
            r->seen[i] |= bit;
            r->seen_count++;
        }
        i++;
    }
    return -1;
}

/* Reads all rows that the grid may fail to explain, and returns the first entry that it does not
 * explain. */
static inline witness read_rows(const search *s, reading *r, gsw_itype type) {
    const gsw_grid *g = &r->grid;
    int skip_interior = !r->ambiguous && !r->unexplained;
    int64_t line = 0;
    for (int64_t z = 0; z < g->nz; z++)
        for (int64_t y = 0; y < g->ny; y++, line += g->nx) {
            int interior = skip_interior && y >= r->reach[1] && y < g->ny - r->reach[1] &&
                           z >= r->reach[2] && z < g->nz - r->reach[2] && 2 * r->reach[0] <= g->nx;
            int64_t skip = interior ? r->reach[0] : g->nx;
            for (int64_t x = 0; x < g->nx; x++) {
                if (x == skip)
                    x = g->nx - r->reach[0];
                if (x == g->nx)
                    break;
                int index = read_row(s, r, type, line + x, x, y);
                if (index >= 0)
                    return (witness){line + x, index};
            }
        }
    return (witness){-1, 0};
}

static witness read_entries(const search *s, reading *r) {
    r->seen_count = 0;
    r->zeros = s->zeros;
    for (int i = 0; i < s->set.count; i++) {
        r->seen[i] = 0;
        /* The centre is part of every stencil, whether it occurs or not. */
        if (s->set.distance[i] == 0) {
            r->seen[i] = 1;
            r->seen_count = 1;
        }
    }
    witness bad =
        s->csr->index_type == GSW_I32 ? read_rows(s, r, GSW_I32) : read_rows(s, r, GSW_I64);
    /* Interior rows may have been skipped: a distance with one allowed variant has that one. */
    if (bad.row < 0 && !r->ambiguous)
        for (int i = 0; i < s->set.count; i++)
            r->seen[i] = r->allowed[i];
    return bad;
}

/* 1 where `stencil` holds the variants of distance i in `bits`: all of them, or at least one. */
static int holds_distance(const gsw_stencil *stencil, const reading *r, int i, unsigned char bits,
                          int all) {
    for (int v = 0; v < 4; v++) {
        if (!(bits >> v & 1))
            continue;
        int held = gsw_stencil_find(stencil, variant_offset(r, i, v)) >= 0;
        if (held != all)
            return held;
    }
    return all;
}

/* The smallest named stencil that holds every offset seen. Before entries have been read (`seen` is
 * 0), a lower bound of it for every reading of the entries. */
static int smallest_named(const search *s, const reading *r, int seen) {
    int n = 0;
    for (; n < GSW_NAMED_COUNT; n++) {
        int i = 0;
        while (i < s->set.count &&
               holds_distance(&s->named[n], r, i, seen ? r->seen[i] : r->allowed[i], seen))
            i++;
        if (i == s->set.count)
            break;
    }
    return n;
}

static gsw_status make_choice(const search *s, const reading *r, choice *c) {
    c->grid = r->grid;
    c->zeros = r->zeros;
    c->named = smallest_named(s, r, 1);
    if (c->named < GSW_NAMED_COUNT) {
        c->stencil = s->named[c->named];
        return GSW_SUCCESS;
    }
    gsw_offset offsets[GSW_STENCIL_MAX];
    int32_t count = 0;
    for (int i = 0; i < s->set.count; i++)
        for (int v = 0; v < 4; v++)
            if (r->seen[i] >> v & 1)
                offsets[count++] = variant_offset(r, i, v);
    return gsw_stencil_from_offsets(offsets, count, &c->stencil);
}

/* 1 where a stencil (a named one, or a custom one with `count` offsets) beats the best so far. */
static int beats_best(const search *s, int named, int count) {
    if (!s->found || named < s->best.named)
        return 1;
    return named == GSW_NAMED_COUNT && s->best.named == GSW_NAMED_COUNT &&
           count < s->best.stencil.count;
}

/* Whether an entry that refuted another grid refutes this one. */
static int refuted_before(const search *s, const reading *r) {
    for (int k = 0; k < s->refutation_count && k < REFUTATIONS; k++) {
        witness w = s->refutations[k];
        int v = variant_at(r, w.index, w.row % r->grid.nx, w.row / r->grid.nx % r->grid.ny);
        if (!(r->allowed[w.index] >> v & 1))
            return 1;
    }
    return 0;
}

/* Keeps the grid where it explains the matrix better than the best so far. */
static gsw_status try_grid(search *s, const gsw_grid *grid) {
    reading *r = &s->reading;
    make_reading(&s->set, grid, INFERRED_REACH, r);
    if (r->unexplained)
        return GSW_SUCCESS;
    int named = smallest_named(s, r, 0);
    if ((named == GSW_NAMED_COUNT && r->ambiguous) || !beats_best(s, named, s->set.count) ||
        refuted_before(s, r))
        return GSW_SUCCESS;
    witness bad = read_entries(s, r);
    if (bad.row >= 0) {
        s->refutations[s->refutation_count++ % REFUTATIONS] = bad;
        return GSW_SUCCESS;
    }
    choice found;
    GSW_TRY(make_choice(s, r, &found));
    if ((found.named == GSW_NAMED_COUNT && r->ambiguous) ||
        !beats_best(s, found.named, found.stencil.count))
        return GSW_SUCCESS;
    s->best = found;
    s->found = 1;
    return GSW_SUCCESS;
}

/* Loads the named stencils, those with fewer offsets first. */
static gsw_status load_named(search *s) {
    for (int n = 0; n < GSW_NAMED_COUNT; n++) {
        gsw_stencil stencil;
        GSW_TRY(gsw_stencil_named(gsw_named_stencils[n].name, &stencil));
        int at = n;
        for (; at > 0 && s->named[at - 1].count > stencil.count; at--)
            s->named[at] = s->named[at - 1];
        s->named[at] = stencil;
    }
    return GSW_SUCCESS;
}

/* All divisors of the number of rows in descending order, in a new array. */
static gsw_status make_divisors(search *s) {
    const int64_t n = s->csr->rows;
    int64_t pairs = 0;
    for (int64_t d = 1; d <= n / d; d++)
        pairs += n % d == 0;
    void *array = NULL;
    GSW_TRY(gsw_alloc(s->context, (size_t)(2 * pairs), sizeof(int64_t), "divisors", &array));
    s->divisors = array;
    int64_t count = 0;
    for (int64_t d = 1; d <= n / d; d++)
        if (n % d == 0)
            s->divisors[count++] = n / d;
    for (int64_t i = count - 1; i >= 0; i--) {
        int64_t d = n / s->divisors[i];
        if (d != s->divisors[i])
            s->divisors[count++] = d;
    }
    s->divisor_count = count;
    return GSW_SUCCESS;
}

/* Reads the distances strictly enough that a grid that does not fit leaves an entry unexplained: on
 * narrow grids only with the offsets of D3N27. */
static void make_strict_reading(const search *s, const gsw_grid *grid, reading *r) {
    make_reading(&s->set, grid, INFERRED_REACH, r);
    if (r->ambiguous)
        make_reading(&s->set, grid, 1, r);
}

/* Counts the entries in the first rows that the reading leaves unexplained, up to `enough`. */
static int64_t count_unexplained(const search *s, const reading *r, int64_t enough) {
    const gsw_csr *csr = s->csr;
    int64_t rows = csr->rows < SAMPLE_ROWS ? csr->rows : SAMPLE_ROWS;
    int64_t count = 0;
    int64_t k = 0;
    for (int64_t row = 0; row < rows && count < enough; row++) {
        int64_t end = gsw_index_at(csr->row_ptr, csr->index_type, row + 1) - csr->base;
        int64_t x = row % r->grid.nx;
        int64_t y = row / r->grid.nx % r->grid.ny;
        for (int i = 0; k < end; k++) {
            int64_t column = gsw_index_at(csr->columns, csr->index_type, k) - csr->base;
            while (s->set.distance[i] < column - row)
                i++;
            if (s->set.distance[i] == column - row &&
                !(r->allowed[i] >> variant_at(r, i, x, y) & 1))
                count += !gsw_csr_is_zero(csr, k);
        }
    }
    return count;
}

/* Keeps the grid where it leaves fewer entries unexplained than any before it. */
static gsw_status try_nearest(search *s, const gsw_grid *grid) {
    make_strict_reading(s, grid, &s->reading);
    int64_t count = count_unexplained(s, &s->reading, s->nearest_count);
    if (count < s->nearest_count) {
        s->nearest = *grid;
        s->nearest_count = count;
    }
    return GSW_SUCCESS;
}

/* Visits the grids with as many points as the matrix has rows in the order of preference: larger nx
 * first, then larger ny. */
static gsw_status visit_grids(search *s, gsw_status (*visit)(search *s, const gsw_grid *grid)) {
    for (int64_t i = 0; i < s->divisor_count; i++) {
        int64_t lines = s->csr->rows / s->divisors[i];
        for (int64_t j = 0; j < s->divisor_count; j++) {
            if (lines % s->divisors[j] != 0)
                continue;
            gsw_grid grid = {s->divisors[i], s->divisors[j], lines / s->divisors[j]};
            GSW_TRY(visit(s, &grid));
        }
    }
    return GSW_SUCCESS;
}

/* ---- periodic grids, and matrices that no grid explains ---------------------------------------
 */

/* The couplings around a periodic grid. */
typedef struct wrapping {
    int axes;        /* bit d: some couplings wrap along axis d */
    int64_t longest; /* component of an offset */
} wrapping;

static void variant_components(const reading *r, int i, int v, int64_t d[3]) {
    d[0] = variant_x(r, i, v);
    d[1] = variant_y(r, i, v);
    d[2] = variant_z(r, i, v);
}

/* Wraps an offset along the axes along which it is too long, or longer than the way around an axis
 * that the grid says to be periodic. */
static void take_around(const reading *r, int64_t d[3], wrapping *around) {
    const int64_t extent[3] = {r->grid.nx, r->grid.ny, r->grid.nz};
    for (int axis = 0; axis < 3; axis++)
        if (r->grid.periodic >> axis & 1 ? 2 * llabs(d[axis]) > extent[axis]
                                         : llabs(d[axis]) > r->limit) {
            around->axes |= 1 << axis;
            around->longest = llabs(d[axis]) > around->longest ? llabs(d[axis]) : around->longest;
            d[axis] -= d[axis] > 0 ? extent[axis] : -extent[axis];
        }
}

/* Whether an offset, or its mirror image, is a short one that was seen. */
static int is_seen(const search *s, const reading *r, const int64_t d[3]) {
    for (int i = 0; i < s->set.count; i++)
        for (int v = 0; v < 4; v++) {
            int64_t c[3];
            variant_components(r, i, v, c);
            const int same = c[0] == d[0] && c[1] == d[1] && c[2] == d[2];
            const int mirrored = c[0] == -d[0] && c[1] == -d[1] && c[2] == -d[2];
            if ((same || mirrored) && (r->seen[i] & r->allowed[i]) >> v & 1)
                return 1;
        }
    return 0;
}

static int is_near(const int64_t d[3]) {
    return llabs(d[0]) <= INFERRED_REACH && llabs(d[1]) <= INFERRED_REACH &&
           llabs(d[2]) <= INFERRED_REACH;
}

/* Whether all entries that a strict reading does not allow are couplings around the grid. Wrapped,
 * they must be offsets that also occur inside the grid. (If lines continue in the next line, their
 * offsets occur at the boundary alone.) A triangle of a matrix has half of the offsets, so the
 * mirror image counts as well. On a small grid any wrapped offset is short, so rows must hold at
 * least half of all offsets. Where the grid says which axes are periodic, short offsets are enough:
 * masks thin rows out. *strict: notes what was seen. */
static int is_periodic(const search *s, reading *strict, wrapping *around) {
    const int said = strict->grid.periodic;
    reading r = *strict;
    *around = (wrapping){0};
    memset(r.allowed, 15, sizeof r.allowed);
    r.ambiguous = 1; /* all rows are read */
    if (read_entries(s, &r).row >= 0)
        return 0;
    memcpy(r.allowed, strict->allowed, sizeof r.allowed);
    memcpy(strict->seen, r.seen, sizeof r.seen);
    int64_t short_offsets = 0;
    for (int i = 0; i < s->set.count; i++)
        for (int v = 0; v < 4; v++) {
            int64_t d[3];
            if (!(r.seen[i] >> v & 1))
                continue;
            short_offsets += r.allowed[i] >> v & 1;
            if (r.allowed[i] >> v & 1 && !said)
                continue;
            variant_components(&r, i, v, d);
            take_around(&r, d, around);
            if (said ? !is_near(d) : !is_seen(s, &r, d))
                return 0;
        }
    int64_t entries = 0;
    for (int64_t k = 0; k < s->csr->nonzeros; k++)
        entries += !gsw_csr_is_zero(s->csr, k);
    return said || (around->axes != 0 && 2 * entries / s->csr->rows >= short_offsets);
}

/* Refuses an axis that is longer than a stencil reaches: s->reading does not allow the entry. */
static gsw_status refuse_long_axis(search *s, const wrapping *around) {
    static const char *const axes[] = {"",  "x",       "y",       "x and y",
                                       "z", "x and z", "y and z", "x, y and z"};
    const gsw_grid *grid = &s->reading.grid;
    witness bad = read_entries(s, &s->reading);
    char row[GSW_ROW_TEXT];
    return gsw_fail(
        s->context, GSW_ERROR_NOT_A_GRID,
        "the matrix is periodic in %s: row %s is coupled to column %lld around the %lld x %lld x "
        "%lld grid; couplings of a CSR reach at most %d points, so give stencil arrays, or number "
        "the points along %s as 0, n-1, 1, n-2, ..., which makes such couplings short",
        axes[around->axes], gsw_row_text(s->context, s->csr->base, grid, bad.row, row),
        (long long)(bad.row + s->set.distance[bad.index]) + gsw_row_base(s->context, s->csr->base),
        (long long)grid->nx, (long long)grid->ny, (long long)grid->nz, GSW_OFFSET_MAX,
        axes[around->axes]);
}

/* Whether an offset reaches less than half around each of some axes. */
static int fits_around(const gsw_grid *grid, int axes, gsw_offset o) {
    const int64_t extent[3] = {grid->nx, grid->ny, grid->nz};
    const int64_t reach[3] = {abs(o.dx), abs(o.dy), abs(o.dz)};
    for (int axis = 0; axis < 3; axis++)
        if ((axes >> axis & 1) && 2 * reach[axis] >= extent[axis])
            return 0;
    return 1;
}

static int stencil_fits_around(const gsw_grid *grid, const gsw_stencil *stencil) {
    for (int32_t e = 0; e < stencil->count; e++)
        if (!fits_around(grid, grid->periodic, stencil->offsets[e]))
            return 0;
    return 1;
}

/* The smallest named stencil that holds all offsets and fits the grid, else just these. */
static gsw_status name_offsets(const search *s, const gsw_offset *offsets, int32_t count,
                               choice *c) {
    for (c->named = 0; c->named < GSW_NAMED_COUNT; c->named++) {
        int32_t held = 0;
        while (held < count && gsw_stencil_find(&s->named[c->named], offsets[held]) >= 0)
            held++;
        if (held == count && stencil_fits_around(&c->grid, &s->named[c->named])) {
            c->stencil = s->named[c->named];
            return GSW_SUCCESS;
        }
    }
    return gsw_stencil_from_offsets(offsets, count, &c->stencil);
}

/* Takes the periodic grid of a reading whose other entries lead around it. Its stencil is the near
 * one. *fits = 0: an axis has too few points for that. */
static gsw_status choose_periodic(search *s, const reading *r, const wrapping *around, int *fits) {
    gsw_offset offsets[GSW_STENCIL_MAX] = {{0, 0, 0}};
    int32_t count = 1;
    *fits = 1;
    for (int i = 0; i < s->set.count; i++)
        for (int v = 0; v < 4; v++) {
            wrapping ignored = {0};
            int64_t d[3];
            int32_t k = 0;
            if (!(r->seen[i] >> v & 1))
                continue;
            variant_components(r, i, v, d);
            take_around(r, d, &ignored);
            const gsw_offset o = {(int32_t)d[0], (int32_t)d[1], (int32_t)d[2]};
            *fits = *fits && fits_around(&r->grid, around->axes, o);
            while (k < count &&
                   (offsets[k].dx != o.dx || offsets[k].dy != o.dy || offsets[k].dz != o.dz))
                k++;
            if (k == count && count < GSW_STENCIL_MAX)
                offsets[count++] = o;
        }
    if (!*fits)
        return GSW_SUCCESS;
    if (around->longest > GSW_OFFSET_MAX)
        return refuse_long_axis(s, around);
    s->best.grid = r->grid;
    s->best.grid.periodic |= around->axes;
    s->best.zeros = 1; /* perhaps */
    return name_offsets(s, offsets, count, &s->best);
}

/* Keeps the first grid and named stencil that have rows of the same lengths, extents descending. */
static gsw_status try_lengths(search *s, const gsw_grid *grid) {
    if (s->shuffled.nx || grid->nx < grid->ny || grid->ny < grid->nz)
        return GSW_SUCCESS;
    for (int n = 0; n < GSW_NAMED_COUNT && !s->shuffled.nx; n++)
        if (gsw_row_lengths_fit(&s->lengths, grid, &s->named[n])) {
            s->shuffled = *grid;
            s->shuffled_name = n;
        }
    return GSW_SUCCESS;
}

/* Whether the rows are those of a grid, so that only their order can be wrong. */
static int is_shuffled(search *s) {
    gsw_row_lengths_count(s->csr, &s->lengths);
    (void)visit_grids(s, try_lengths);
    return s->shuffled.nx > 0;
}

/* Reports the coupling of a row at some distance. */
static gsw_status refuse_order(const search *s, int64_t row, int64_t distance) {
    char text[GSW_ROW_TEXT];
    return gsw_fail(
        s->context, GSW_ERROR_NOT_A_GRID,
        "the rows are not in natural order (x fastest, then y, then z): they are as long as those "
        "of %s on a %lld x %lld x %lld grid, but row %s is coupled to column %lld; renumber them",
        gsw_stencil_name(&s->named[s->shuffled_name]), (long long)s->shuffled.nx,
        (long long)s->shuffled.ny, (long long)s->shuffled.nz,
        gsw_row_text(s->context, s->csr->base, NULL, row, text),
        (long long)(row + distance) + gsw_row_base(s->context, s->csr->base));
}

/* Reports a matrix with too many distances for any grid. */
static gsw_status refuse_distances(search *s) {
    char text[GSW_ROW_TEXT];
    if (is_shuffled(s))
        return refuse_order(s, s->surplus_row, s->surplus);
    return gsw_fail(
        s->context, GSW_ERROR_NOT_A_GRID,
        "row %s: offset %+lld (column %lld): more than %d distinct offsets, which is all a stencil "
        "can hold%s",
        gsw_row_text(s->context, s->csr->base, NULL, s->surplus_row, text), (long long)s->surplus,
        (long long)(s->surplus_row + s->surplus) + gsw_row_base(s->context, s->csr->base),
        GSW_STENCIL_MAX, gsw_rows_lack_points(s->csr) ? few_rows : no_grid);
}

/* The extents of the shape of a NumPy array with these extents: (nz, ny, nx), in the plane (ny,
 * nx). */
static gsw_grid reversed(const gsw_grid *g) {
    return g->nz == 1 ? (gsw_grid){g->ny, g->nx, 1} : (gsw_grid){g->nz, g->ny, g->nx};
}

/* Whether the given grid is a shape in NumPy's order. Long offsets explain almost any matrix, so
 * the turned grid must explain this one with short ones, and with a smaller stencil than the given
 * grid where that is periodic: `named` is its stencil. *fits: the turned grid. */
static int is_turned(search *s, const gsw_grid *given, int named, gsw_grid *fits) {
    *fits = reversed(given);
    if (gsw_grid_is_same(given, fits))
        return 0;
    make_strict_reading(s, fits, &s->reading);
    return !s->reading.ambiguous && read_entries(s, &s->reading).row < 0 &&
           (named == GSW_NAMED_COUNT || smallest_named(s, &s->reading, 1) < named);
}

/* Reports an entry that s->reading leaves unexplained. */
static gsw_status refuse_coupling(const search *s, witness bad, const char *which,
                                  const char *remark) {
    const reading *r = &s->reading;
    const gsw_grid *grid = &r->grid;
    int64_t plane = grid->nx * grid->ny;
    int64_t column = bad.row + s->set.distance[bad.index];
    int64_t x = bad.row % grid->nx;
    int64_t y = bad.row / grid->nx % grid->ny;
    int too_many = r->allowed[bad.index] >> variant_at(r, bad.index, x, y) & 1;
    char text[GSW_ROW_TEXT];
    return gsw_fail(
        s->context, GSW_ERROR_NOT_A_GRID,
        "row %s: offset %+lld (column %lld) is the coupling (%lld, %lld, %lld) on "
        "the %s grid, %lld x %lld x %lld: %s%s",
        gsw_row_text(s->context, s->csr->base, grid, bad.row, text),
        (long long)s->set.distance[bad.index],
        (long long)column + gsw_row_base(s->context, s->csr->base),
        (long long)(column % grid->nx - x), (long long)(column / grid->nx % grid->ny - y),
        (long long)(column / plane - bad.row / plane), which, (long long)grid->nx,
        (long long)grid->ny, (long long)grid->nz,
        too_many ? "one offset more than a stencil can hold" : "too long for a stencil", remark);
}

/* Takes the nearest grid with couplings that reach farther along one axis, as one-sided differences
 * do in some rows. *fits = 0: there are too many of them, or they go elsewhere. */
static gsw_status choose_wide(search *s, int *fits) {
    const int64_t rows = s->csr->rows < SAMPLE_ROWS ? s->csr->rows : SAMPLE_ROWS;
    reading *r = &s->reading;
    *fits = 0;
    make_reading(&s->set, &s->nearest, WIDE_REACH, r);
    if (s->nearest_count > rows / ROWS_PER_WIDE || r->ambiguous || read_entries(s, r).row >= 0)
        return GSW_SUCCESS;
    for (int i = 0; i < s->set.count; i++)
        for (int v = 0; v < 4; v++) {
            int64_t d[3];
            if (!(r->seen[i] >> v & 1))
                continue;
            variant_components(r, i, v, d);
            const int off_axis = (d[0] != 0) + (d[1] != 0) + (d[2] != 0) > 1;
            for (int axis = 0; axis < 3; axis++)
                if (off_axis && llabs(d[axis]) > INFERRED_REACH)
                    return GSW_SUCCESS;
        }
    *fits = 1;
    return make_choice(s, r, &s->best);
}

/* Takes the grid for a periodic one, or reports a matrix that no grid explains. */
static gsw_status take_periodic_grid(search *s) {
    const int64_t rows = s->csr->rows < SAMPLE_ROWS ? s->csr->rows : SAMPLE_ROWS;
    wrapping around;
    s->nearest_count = INT64_MAX;
    GSW_TRY(visit_grids(s, try_nearest));
    make_strict_reading(s, &s->nearest, &s->reading);
    int fits = 0;
    if (is_periodic(s, &s->reading, &around))
        GSW_TRY(choose_periodic(s, &s->reading, &around, &fits));
    else
        GSW_TRY(choose_wide(s, &fits));
    if (fits)
        return GSW_SUCCESS;
    make_strict_reading(s, &s->nearest, &s->reading);
    witness bad = read_entries(s, &s->reading);
    if (is_shuffled(s))
        return refuse_order(s, bad.row, s->set.distance[bad.index]);
    const char *remark = gsw_rows_lack_points(s->csr) ? few_rows : no_grid;
    return refuse_coupling(s, bad, "nearest",
                           s->nearest_count > rows / ROWS_PER_EXCEPTION ? remark : "");
}

static gsw_status infer_grid(search *s) {
    GSW_TRY(visit_grids(s, try_grid));
    return s->found ? GSW_SUCCESS : take_periodic_grid(s);
}

static int is_long(const gsw_stencil *stencil) {
    for (int32_t e = 0; e < stencil->count; e++) {
        const gsw_offset o = stencil->offsets[e];
        if (!is_near((int64_t[3]){o.dx, o.dy, o.dz}))
            return 1;
    }
    return 0;
}

/* Takes a grid that says which axes are periodic. *fits = 0: the matrix has other couplings. */
static gsw_status read_periodic_grid(search *s, const gsw_grid *extents, int *fits) {
    wrapping around;
    make_strict_reading(s, extents, &s->reading);
    *fits = is_periodic(s, &s->reading, &around);
    if (*fits && (around.axes & ~extents->periodic))
        return gsw_fail(s->context, GSW_ERROR_NOT_A_GRID,
                        "extents: the matrix has couplings around the grid along an axis that is "
                        "not said to be periodic");
    return *fits ? choose_periodic(s, &s->reading, &around, fits) : GSW_SUCCESS;
}

static gsw_status read_given_grid(search *s, const gsw_grid *extents) {
    int fits = 0;
    if (extents->periodic)
        GSW_TRY(read_periodic_grid(s, extents, &fits));
    if (fits)
        return GSW_SUCCESS;
    make_reading(&s->set, extents, GSW_OFFSET_MAX, &s->reading);
    witness bad = read_entries(s, &s->reading);
    if (bad.row < 0)
        GSW_TRY(make_choice(s, &s->reading, &s->best));
    if (bad.row < 0 && !is_long(&s->best.stencil))
        return GSW_SUCCESS;
    const reading given = s->reading;
    const choice with_long = s->best;
    reading strict;
    wrapping around;
    make_strict_reading(s, extents, &strict);
    const int periodic = !extents->periodic && is_periodic(s, &strict, &around);
    if (periodic && around.longest <= GSW_OFFSET_MAX)
        GSW_TRY(choose_periodic(s, &strict, &around, &fits));
    gsw_grid turned;
    if (is_turned(s, extents, fits ? s->best.named : GSW_NAMED_COUNT, &turned))
        return gsw_fail(s->context, GSW_ERROR_NOT_A_GRID,
                        "the matrix is no %lld x %lld x %lld grid, but a %lld x %lld x %lld grid: "
                        "give the extents as (nx, ny, nz), x fastest; a NumPy shape has the "
                        "reverse order",
                        (long long)extents->nx, (long long)extents->ny, (long long)extents->nz,
                        (long long)turned.nx, (long long)turned.ny, (long long)turned.nz);
    s->reading = strict;
    if (periodic && around.longest > GSW_OFFSET_MAX)
        return refuse_long_axis(s, &around);
    if (fits)
        return GSW_SUCCESS;
    s->best = with_long;
    s->reading = given;
    return bad.row < 0 ? GSW_SUCCESS : refuse_coupling(s, bad, "given", "");
}

/* Whether all values are 0: then the matrix has not been filled yet, and each entry counts. */
static int is_unfilled(const gsw_csr *csr) {
    int64_t k = 0;
    while (k < csr->nonzeros && gsw_csr_is_zero(csr, k))
        k++;
    return k == csr->nonzeros;
}

gsw_status gsw_detect_zeros(gsw_context *context, const gsw_csr *csr, const gsw_grid *extents,
                            gsw_grid *grid, gsw_stencil *stencil, int *zeros) {
    GSW_REQUIRE(context, grid, "grid must not be NULL");
    GSW_REQUIRE(context, stencil, "stencil must not be NULL");
    GSW_TRY(gsw_csr_check(context, csr, 0));
    if (extents) {
        int64_t points = 0;
        const int sound = gsw_grid_points(extents, &points) == GSW_SUCCESS;
        GSW_REQUIRE(context, sound && points == csr->rows,
                    "extents: %lld x %lld x %lld is not a grid of the matrix's %lld points%s",
                    (long long)extents->nx, (long long)extents->ny, (long long)extents->nz,
                    (long long)csr->rows, sound && points > csr->rows ? few_rows : "");
    }
    search s = {.context = context, .csr = csr};
    gsw_csr pattern = *csr;
    GSW_TRY(load_named(&s));
    GSW_TRY(csr->index_type == GSW_I32 ? collect(&s, GSW_I32) : collect(&s, GSW_I64));
    if (s.zeros && s.set.count == 1 && is_unfilled(csr)) {
        pattern.values = NULL;
        s.csr = &pattern;
        GSW_TRY(csr->index_type == GSW_I32 ? collect(&s, GSW_I32) : collect(&s, GSW_I64));
    }
    GSW_TRY(make_divisors(&s));
    gsw_status status = s.surplus_row >= 0 ? refuse_distances(&s)
                        : extents          ? read_given_grid(&s, extents)
                                           : infer_grid(&s);
    free(s.divisors);
    GSW_TRY(status);
    *grid = s.best.grid;
    *stencil = s.best.stencil;
    *zeros = s.best.zeros;
    return GSW_SUCCESS;
}

gsw_status gsw_detect(gsw_context *context, const gsw_csr *csr, const gsw_grid *extents,
                      gsw_grid *grid, gsw_stencil *stencil) {
    int zeros;
    return gsw_detect_zeros(context, csr, extents, grid, stencil, &zeros);
}
