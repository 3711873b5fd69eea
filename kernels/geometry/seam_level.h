/* seam_level.h: what kernels for boxes leave out of a level of multigrid on a periodic grid: the
 * weights and the coarse rows near its seam, and transfers across it. Once for host and device;
 * each value has one writer. The definitions are those of geometry/multigrid.h with neighbours that
 * are found around the grid.
 *
 * Along a periodic axis of n points coarse points are the even ones, as everywhere. Where n is
 * even, the last point is odd and interpolates from the first one. Where n is odd, the last and the
 * first point are both coarse, and neighbours of each other. Where two coarse points are left along
 * an axis, all couplings between them are one, and the coarse axis is no longer periodic. */
#ifndef GSW_SEAM_LEVEL_H
#define GSW_SEAM_LEVEL_H

#include "common/wraps.h"
#include "contract/multigrid_ops.h"
#include "geometry/multigrid.h"

/* A fine level, and its transfer to the coarse one. A parameter of kernels: less than 4 KB. */
typedef struct gsw_seam_level {
    gsw_seam wraps;     /* of W: where `around` has its values */
    int64_t n[3], m[3]; /* extents of the fine and the coarse grid */
    int32_t periodic, axes;
    int32_t count, center;
    int8_t offset[GSW_STENCIL_MAX][3];
    const void *inside[GSW_STENCIL_MAX]; /* arrays of B */
    int16_t array[GSW_STENCIL_MAX];      /* of W, as in gsw_wraps */
    const double *around;
    gsw_dtype value_type, type;              /* of B, of weights and vectors */
    int32_t plain;                           /* each coupling has a slot of its own; else */
    int32_t symmetric;                       /* lumps are symmetric */
    int8_t weight[GSW_CLASSES][GSW_CLASSES]; /* of a class and a subset; -1: there is none */
    void *weights[2][GSW_WEIGHTS_MAX];       /* of P, and of R */
    gsw_seam
        across; /* fine points that interpolate across the seam: kernels for boxes find zeros */
    double
        *weights_across[2]; /* in place of these weights; GSW_CLASSES times across.count values */
    int64_t *across_row, *across_to; /* their rows, and the coarse points of these weights */

    /* Coarse points that restrict rows with couplings around the grid, or points across it: their
     * rows, and GSW_SLOTS shares of each: the place of a residual, and its weight. -W x in the rows
     * of `wraps` comes first, then b - A x in those of `across`. */
    gsw_seam restricted;
    int64_t *restricted_row, *share;
    double *share_weight;
    gsw_seam coarse_wraps;
    double *coarse[GSW_SLOTS], *coarse_around[GSW_SLOTS]; /* NULL: not computed */
} gsw_seam_level;

/* How far the stencil reaches along a periodic axis; 0 along the others. */
static inline int64_t gsw_seam_reach(const gsw_wraps *w, int axis) {
    return w->periodic >> axis & 1 ? w->seam.low[axis] : 0;
}

/* Coarse points that restrict rows with couplings around the grid, or across its seam. */
static inline gsw_seam gsw_seam_restricted(const gsw_transfer *t, const gsw_wraps *w) {
    int64_t low[3], high[3];
    for (int a = 0; a < 3; a++) {
        const int64_t reach = gsw_seam_reach(w, a), n = w->seam.n[a];
        const int coarsened = t->axes >> a & 1;
        low[a] = reach == 0 || !coarsened ? reach : reach / 2 + 1;
        high[a] =
            reach == 0 || !coarsened ? reach : gsw_seam_extent(&t->coarse, a) - (n - reach) / 2;
    }
    return gsw_seam_make(&t->coarse, low, high);
}

/* Fine points that interpolate across the seam. */
static inline gsw_seam gsw_seam_across(const gsw_transfer *t, const gsw_wraps *w) {
    const int64_t none[3] = {0, 0, 0};
    int64_t last[3];
    for (int a = 0; a < 3; a++)
        last[a] = (w->periodic & t->axes) >> a & 1 && w->seam.n[a] % 2 == 0;
    return gsw_seam_make(&t->fine, none, last);
}

static inline gsw_seam_level gsw_seam_level_of(const gsw_transfer *t, const gsw_matrix *matrix,
                                               const gsw_wraps *w, gsw_dtype type) {
    gsw_seam_level l;
    memset(&l, 0, sizeof l);
    l.wraps = w->seam;
    l.periodic = w->periodic;
    l.axes = t->axes;
    l.count = w->count;
    l.center = w->center;
    l.value_type = matrix->array.value_type;
    l.type = type;
    l.plain = t->plain;
    l.symmetric = t->symmetric && !t->plain;
    for (int a = 0; a < 3; a++) {
        l.n[a] = w->seam.n[a];
        l.m[a] = gsw_seam_extent(&t->coarse, a);
    }
    for (int32_t e = 0; e < w->count; e++) {
        for (int a = 0; a < 3; a++)
            l.offset[e][a] = (int8_t)w->offset[e][a];
        l.inside[e] = matrix->array.values[e];
        l.array[e] = w->array[e];
    }
    for (int c = 0; c < GSW_CLASSES; c++)
        for (int subset = 0; subset < GSW_CLASSES; subset++)
            l.weight[c][subset] =
                (int8_t)(c == 0 || (subset & ~c) ? -1 : gsw_weight_of(t, c, subset));
    l.around = w->values;
    l.across = gsw_seam_across(t, w);
    l.restricted = gsw_seam_restricted(t, w);
    return l;
}

/* Whether neighbours alone are coupled around an even number of points, every other one of them
 * coarse. The point before the last one is coarse then: its row and its weights are as anywhere. */
static inline int gsw_seam_is_even(const gsw_transfer *t, const gsw_wraps *w, int axis) {
    return gsw_seam_reach(w, axis) == 1 && t->axes >> axis & 1 && w->seam.n[axis] % 2 == 0;
}

/* Fine points whose weights depend on couplings around the grid: those of rows that have such
 * couplings or, lumped, are the mirror images of such rows; and points beside these. */
static inline gsw_seam gsw_seam_of_weights(const gsw_transfer *t, const gsw_wraps *w) {
    int64_t low[3], high[3];
    for (int a = 0; a < 3; a++) {
        low[a] = 2 * gsw_seam_reach(w, a);
        high[a] = gsw_seam_is_even(t, w, a) ? 1 : low[a];
    }
    return gsw_seam_make(&t->fine, low, high);
}

/* Coarse rows to which couplings around the grid, or weights across its seam, contribute. Lumped
 * rows are computed as a whole: also those to which lumps and weights that depend on such couplings
 * do. */
static inline gsw_seam gsw_seam_of_rows(const gsw_transfer *t, const gsw_wraps *w) {
    int64_t planes[3];
    for (int a = 0; a < 3; a++) {
        const int64_t reach = gsw_seam_reach(w, a);
        planes[a] = reach == 0 || t->plain ? reach : t->axes >> a & 1 ? reach + 1 : 2 * reach;
    }
    return gsw_seam_make(&t->coarse, planes, planes);
}

/* ---- points and rows ---- */

/* Moves a point of a grid with extents n to one inside, around the grid. */
GSW_HD int gsw_seam_take_in(const gsw_seam_level *l, const int64_t n[3], int64_t at[3]) {
    int where = GSW_INSIDE;
    for (int a = 0; a < 3; a++) {
        if (at[a] >= 0 && at[a] < n[a])
            continue;
        if (!(l->periodic >> a & 1))
            return GSW_OUTSIDE;
        at[a] += at[a] < 0 ? n[a] : -n[a];
        where = GSW_AROUND;
    }
    return where;
}

GSW_HD int64_t gsw_seam_row_in(const int64_t n[3], const int64_t at[3]) {
    return at[0] + n[0] * (at[1] + n[1] * at[2]);
}

/* The neighbour at a slot's offset. */
GSW_HD int gsw_seam_beside(const gsw_seam_level *l, const int64_t at[3], int32_t slot,
                           int64_t to[3]) {
    for (int a = 0; a < 3; a++)
        to[a] = at[a] + gsw_slot_offset(slot, a);
    return gsw_seam_take_in(l, l->n, to);
}

/* Entry e of a fine row; 0: it leads out of the grid. */
GSW_HD double gsw_seam_entry(const gsw_seam_level *l, int32_t e, const int64_t at[3]) {
    int64_t to[3];
    for (int a = 0; a < 3; a++)
        to[a] = at[a] + l->offset[e][a];
    const int where = gsw_seam_take_in(l, l->n, to);
    if (where == GSW_OUTSIDE)
        return 0;
    if (where == GSW_INSIDE)
        return l->inside[e] == NULL
                   ? 0
                   : gsw_value_at(l->inside[e], l->value_type, gsw_seam_row_in(l->n, at));
    return l->array[e] < 0 ? 0
                           : l->around[l->array[e] * l->wraps.count + gsw_seam_row(&l->wraps, at)];
}

/* Adds c at an offset to slots: see COUPLINGS in geometry/multigrid.h. */
GSW_HD void gsw_seam_lump(const int8_t offset[3], int sign, double c, double slots[GSW_SLOTS]) {
    int32_t near = GSW_SLOT_CENTER;
    for (int a = 0, stride = 1; a < 3; a++, stride *= 3) {
        const int o = sign * offset[a], one = o > 0 ? 1 : o < 0 ? -1 : 0;
        near += one * stride;
        if (o != one) {
            slots[GSW_SLOT_CENTER + one * stride] += 3 * c;
            slots[GSW_SLOT_CENTER] -= 3 * c;
        }
    }
    slots[near] += c;
}

GSW_HD int gsw_seam_is_isolated(const gsw_seam_level *l, const int64_t at[3]) {
    for (int32_t e = 0; e < l->count; e++)
        if (e != l->center && gsw_seam_entry(l, e, at) != 0)
            return 0;
    return 1;
}

/* A fine row, or one of the symmetric part, in slots. */
GSW_HD void gsw_seam_lumped_row(const gsw_seam_level *l, const int64_t at[3], gsw_rows rows,
                                double slots[GSW_SLOTS]) {
    const int cut = rows == GSW_ROWS_OF_SYMMETRIC_PART_CUT;
    for (int i = 0; i < GSW_SLOTS; i++)
        slots[i] = 0;
    for (int32_t e = 0; e < l->count; e++) {
        const int off = e != l->center;
        int64_t to[3], from[3];
        for (int a = 0; a < 3; a++) {
            to[a] = at[a] + l->offset[e][a];
            from[a] = at[a] - l->offset[e][a];
        }
        if (gsw_seam_take_in(l, l->n, to) != GSW_OUTSIDE &&
            !(cut && off && gsw_seam_is_isolated(l, to)))
            gsw_seam_lump(l->offset[e], 1,
                          (rows == GSW_ROWS_OF_MATRIX ? 1 : 0.5) * gsw_seam_entry(l, e, at), slots);
        if (rows != GSW_ROWS_OF_MATRIX && gsw_seam_take_in(l, l->n, from) != GSW_OUTSIDE &&
            !(cut && off && gsw_seam_is_isolated(l, at)))
            gsw_seam_lump(l->offset[e], -1, 0.5 * gsw_seam_entry(l, e, from), slots);
    }
}

GSW_HD void gsw_seam_slots(const gsw_seam_level *l, const int64_t at[3], gsw_rows rows,
                           double slots[GSW_SLOTS]) {
    double own[GSW_SLOTS], other[GSW_SLOTS], sum = 0;
    gsw_seam_lumped_row(l, at, rows, slots);
    if (!l->symmetric || rows != GSW_ROWS_OF_MATRIX)
        return;
    for (int i = 0; i < GSW_SLOTS; i++)
        own[i] = slots[i];
    for (int i = 0; i < GSW_SLOTS; i++) {
        int64_t to[3];
        double image = 0;
        if (gsw_seam_beside(l, at, i, to) != GSW_OUTSIDE) {
            gsw_seam_lumped_row(l, to, rows, other);
            image = other[gsw_slot_mirror(i)];
        }
        slots[i] = 0.5 * (own[i] + image);
        sum += own[i] - (i != GSW_SLOT_CENTER ? slots[i] : 0);
    }
    slots[GSW_SLOT_CENTER] = sum;
}

/* ---- weights ---- */

/* The class of a fine point, and the coarse point I to its weights. */
GSW_HD int gsw_seam_class(const gsw_seam_level *l, const int64_t at[3], int64_t coarse[3]) {
    int class_ = 0;
    for (int a = 0; a < 3; a++) {
        const int coarsened = l->axes >> a & 1;
        coarse[a] = coarsened ? at[a] / 2 : at[a];
        class_ |= (coarsened ? (int)(at[a] & 1) : 0) << a;
    }
    return class_;
}

/* The coarse point I + subset. */
GSW_HD int gsw_seam_target(const gsw_seam_level *l, const int64_t coarse[3], int subset,
                           int64_t to[3]) {
    for (int a = 0; a < 3; a++)
        to[a] = coarse[a] + (subset >> a & 1);
    return gsw_seam_take_in(l, l->m, to);
}

/* A weight of fine point `at` (`which`: 0 of P, 1 of R), and its new value. */
GSW_HD double gsw_seam_weight(const gsw_seam_level *l, int which, const int64_t at[3], int subset) {
    int64_t coarse[3], to[3];
    const int class_ = gsw_seam_class(l, at, coarse);
    if (class_ == 0)
        return 1;
    if (gsw_seam_target(l, coarse, subset, to) == GSW_AROUND)
        return l->weights_across[which][subset * l->across.count + gsw_seam_row(&l->across, at)];
    return gsw_value_at(l->weights[which][l->weight[class_][subset]], l->type,
                        gsw_seam_row_in(l->m, coarse));
}

GSW_HD void gsw_seam_put_weight(const gsw_seam_level *l, int which, const int64_t at[3], int subset,
                                double value) {
    int64_t coarse[3], to[3];
    const int class_ = gsw_seam_class(l, at, coarse);
    if (gsw_seam_target(l, coarse, subset, to) == GSW_AROUND) {
        l->weights_across[which][subset * l->across.count + gsw_seam_row(&l->across, at)] = value;
        value = 0;
    }
    gsw_value_put(l->weights[which][l->weight[class_][subset]], l->type,
                  gsw_seam_row_in(l->m, coarse), value);
}

/* The row of P or R^T of fine point `at`: its class, the coarse point I, and the weights of I +
 * subset. */
typedef struct gsw_seam_weights {
    int class_;
    int64_t coarse[3];
    double of[GSW_CLASSES]; /* 0: not a subset of the class, or there is no such point */
} gsw_seam_weights;

GSW_HD gsw_seam_weights gsw_seam_weights_of(const gsw_seam_level *l, int which,
                                            const int64_t at[3]) {
    gsw_seam_weights w;
    int64_t to[3];
    w.class_ = gsw_seam_class(l, at, w.coarse);
    for (int subset = 0; subset < GSW_CLASSES; subset++)
        w.of[subset] = 0;
    w.of[0] = 1;
    if (w.class_ == 0)
        return w;
    const int64_t row = gsw_seam_row_in(l->m, w.coarse);
    const int64_t k = l->across.count > 0 ? gsw_seam_row(&l->across, at) : -1;
    GSW_UNROLL(8)
    for (int subset = 0; subset < GSW_CLASSES; subset++) {
        const int8_t weight = l->weight[w.class_][subset];
        if (weight < 0)
            continue;
        w.of[subset] = k >= 0 && gsw_seam_target(l, w.coarse, subset, to) == GSW_AROUND
                           ? l->weights_across[which][subset * l->across.count + k]
                           : gsw_value_at(l->weights[which][weight], l->type, row);
    }
    return w;
}

/* Adds -c / divisor times the weights of the neighbour at a slot to a point's own. */
GSW_HD void gsw_seam_add_neighbour(const gsw_seam_level *l, int which, const int64_t at[3],
                                   int class_, int32_t slot, double c, double own[GSW_CLASSES]) {
    int64_t to[3];
    int after = 0;
    if (gsw_seam_beside(l, at, slot, to) == GSW_OUTSIDE)
        return;
    for (int a = 0; a < 3; a++)
        after |= (gsw_slot_offset(slot, a) > 0) << a;
    const gsw_seam_weights theirs = gsw_seam_weights_of(l, which, to);
    for (int subset = 0; subset < GSW_CLASSES; subset++)
        own[(subset | after) & class_] += c * theirs.of[subset];
}

/* The weights of a fine point whose class has `size` axes, from those of smaller classes and from
 * its row as `rows` says. */
GSW_HD void gsw_seam_weigh(const gsw_seam_level *l, int which, gsw_rows rows, int size,
                           const int64_t at[3]) {
    double slots[GSW_SLOTS], along[GSW_SLOTS], own[GSW_CLASSES], sides[6];
    int64_t coarse[3], to[3];
    double total = 0, coupled = 0;
    int count = 0, targets = 0;
    const int class_ = gsw_seam_class(l, at, coarse);
    if (gsw_class_size(class_) != size)
        return;
    gsw_seam_slots(l, at, rows, slots);
    for (int i = 0; i < GSW_SLOTS; i++)
        along[i] = 0;
    for (int i = 0; i < GSW_SLOTS; i++) {
        const int32_t slot = gsw_slot_project(i, class_);
        along[slot] += slots[i];
        total += slots[i];
        coupled += slot != GSW_SLOT_CENTER ? slots[i] : 0;
    }
    for (int a = 0; a < 3; a++)
        for (int side = -1; side <= 1 && (class_ >> a & 1); side += 2) {
            sides[count] = 0;
            for (int i = 0; i < GSW_SLOTS; i++)
                sides[count] += gsw_slot_offset(i, a) == side ? slots[i] : 0;
            count++;
        }
    const double diagonal = slots[GSW_SLOT_CENTER];
    const double divisor = gsw_weight_divisor(diagonal, total, coupled, sides, count);
    for (int subset = 0; subset < GSW_CLASSES; subset++) {
        own[subset] = 0;
        targets += !(subset & ~class_) && gsw_seam_target(l, coarse, subset, to) != GSW_OUTSIDE;
    }
    if (gsw_divisor_serves(divisor, diagonal)) {
        for (int i = 0; i < GSW_SLOTS; i++)
            if (i != GSW_SLOT_CENTER && along[i] != 0)
                gsw_seam_add_neighbour(l, which, at, class_, i, -along[i] / divisor, own);
    } else {
        for (int subset = 0; subset < GSW_CLASSES; subset++)
            if (!(subset & ~class_) && gsw_seam_target(l, coarse, subset, to) != GSW_OUTSIDE)
                own[subset] = 1.0 / targets;
    }
    for (int subset = 0; subset < GSW_CLASSES; subset++)
        if (!(subset & ~class_))
            gsw_seam_put_weight(l, which, at, subset, own[subset]);
}

/* ---- restriction and the coarse rows ---- */

/* A fine point that a coarse one restricts. */
typedef struct gsw_seam_share {
    int64_t at[3];
    int where; /* GSW_AROUND: it lies across the seam; GSW_OUTSIDE: there is none */
    double weight;
} gsw_seam_share;

/* Share number `slot` of the coarse point I: that of fine point 2 I + the slot's offset. */
GSW_HD gsw_seam_share gsw_seam_share_of(const gsw_seam_level *l, const int64_t coarse[3],
                                        int32_t slot) {
    gsw_seam_share s;
    int64_t own[3];
    int subset = 0;
    s.where = GSW_OUTSIDE;
    s.weight = 0;
    for (int a = 0; a < 3; a++) {
        const int side = gsw_slot_offset(slot, a), coarsened = l->axes >> a & 1;
        if (side != 0 && !coarsened)
            return s;
        s.at[a] = (coarsened ? 2 * coarse[a] : coarse[a]) + side;
        subset |= (side < 0) << a;
    }
    const int where = gsw_seam_take_in(l, l->n, s.at);
    const int class_ = where == GSW_OUTSIDE ? 0 : gsw_seam_class(l, s.at, own);
    for (int a = 0; a < 3; a++) /* around an odd number of points its neighbour is coarse */
        if (where == GSW_OUTSIDE || (gsw_slot_offset(slot, a) != 0) != (class_ >> a & 1))
            return s;
    s.where = where;
    s.weight = gsw_seam_weight(l, 1, s.at, subset);
    return s;
}

/* Adds c times the weights of fine point `at` to the slots of a coarse row; `across`: only those
 * across the seam. */
GSW_HD void gsw_seam_add_weights(const gsw_seam_level *l, const int64_t row[3], const int64_t at[3],
                                 int across, double c, double sum[GSW_SLOTS]) {
    int64_t coarse[3];
    int32_t part[3][2]; /* of the slot of I, and of the point after it */
    int outside = 0, around = 0;
    const int class_ = gsw_seam_class(l, at, coarse);
    for (int a = 0, stride = 1; a < 3; a++, stride *= 3)
        for (int after = 0; after < 2; after++) {
            int64_t to = coarse[a] + after;
            if (to == l->m[a]) {
                around |= (l->periodic >> a & 1) << a;
                outside |= !(l->periodic >> a & 1) << a;
                to = 0;
            }
            to -= row[a];
            to -= to > 1 ? l->m[a] : to < -1 ? -l->m[a] : 0;
            part[a][after] = (int32_t)(to + 1) * stride;
        }
    if (across && !(around & class_))
        return;
    const int64_t i = gsw_seam_row_in(l->m, coarse);
    const int64_t k = around & class_ ? gsw_seam_row(&l->across, at) : 0;
    int subset = 0;
    do {
        if (!(subset & outside) && (!across || subset & around)) {
            const double weight =
                class_ == 0 ? 1
                : subset & around
                    ? l->weights_across[0][subset * l->across.count + k]
                    : gsw_value_at(l->weights[0][l->weight[class_][subset]], l->type, i);
            sum[part[0][subset & 1] + part[1][subset >> 1 & 1] + part[2][subset >> 2]] +=
                c * weight;
        }
        subset = (subset - class_) & class_; /* the next subset */
    } while (subset != 0);
}

/* Adds what every `step`th coupling, from `first` on, of a fine row contributes to coarse
 * couplings, by slots; the row's own are left in `slots`. Of a plain row that is what kernels for
 * boxes have left out. */
GSW_HD void gsw_seam_add_row(const gsw_seam_level *l, const gsw_seam_share *share,
                             const int64_t row[3], int first, int step, double slots[GSW_SLOTS],
                             double sum[GSW_SLOTS]) {
    int64_t to[3];
    for (int32_t e = first; e < l->count && l->plain; e += step) {
        for (int a = 0; a < 3; a++)
            to[a] = share->at[a] + l->offset[e][a];
        const int where = gsw_seam_take_in(l, l->n, to);
        const int all = share->where == GSW_AROUND || where == GSW_AROUND;
        if (where != GSW_OUTSIDE)
            gsw_seam_add_weights(l, row, to, !all, share->weight * gsw_seam_entry(l, e, share->at),
                                 sum);
    }
    if (l->plain)
        return;
    gsw_seam_slots(l, share->at, GSW_ROWS_OF_MATRIX, slots);
    for (int i = first; i < GSW_SLOTS; i += step)
        if (slots[i] != 0 && gsw_seam_beside(l, share->at, i, to) != GSW_OUTSIDE)
            gsw_seam_add_weights(l, row, to, 0, share->weight * slots[i], sum);
}

/* Coupling `slot` of a row of the coarse matrix, to which a plain row's value is added. */
GSW_HD void gsw_seam_put_coupling(const gsw_seam_level *l, const int64_t row[3], int32_t slot,
                                  double value) {
    int inside = 1;
    for (int a = 0; a < 3; a++) {
        const int64_t to = row[a] + gsw_slot_offset(slot, a);
        inside = inside && to >= 0 && to < l->m[a];
    }
    if (inside && l->coarse[slot] != NULL) {
        double *to = &l->coarse[slot][gsw_seam_row_in(l->m, row)];
        *to = l->plain ? *to + value : value;
    }
    const int64_t k = l->coarse_around[slot] == NULL ? -1 : gsw_seam_row(&l->coarse_wraps, row);
    if (k >= 0)
        l->coarse_around[slot][k] = inside ? 0 : value;
}

/* The fine points that a coarse one restricts: how many, and the slot of each. */
GSW_HD int gsw_seam_shares(const gsw_seam_level *l) {
    return (l->axes & 1 ? 3 : 1) * (l->axes & 2 ? 3 : 1) * (l->axes & 4 ? 3 : 1);
}

GSW_HD int32_t gsw_seam_share_slot(const gsw_seam_level *l, int share) {
    int32_t slot = 0;
    for (int a = 0, stride = 1; a < 3; a++, stride *= 3) {
        const int coarsened = l->axes >> a & 1;
        slot += stride * (coarsened ? share % 3 : 1);
        share /= coarsened ? 3 : 1;
    }
    return slot;
}

/* Adds what couplings of fine point number `share` contribute to a row of the coarse matrix. */
GSW_HD void gsw_seam_add_share(const gsw_seam_level *l, const int64_t row[3], int share, int first,
                               int step, double slots[GSW_SLOTS], double sum[GSW_SLOTS]) {
    const gsw_seam_share of = gsw_seam_share_of(l, row, gsw_seam_share_slot(l, share));
    if (of.where != GSW_OUTSIDE && of.weight != 0)
        gsw_seam_add_row(l, &of, row, first, step, slots, sum);
}

/* ---- vectors ---- */

/* Finds what restricted point k takes, and what fine point k across the seam does. */
GSW_HD void gsw_seam_place_restricted(const gsw_seam_level *l, int64_t k) {
    int64_t row[3];
    gsw_seam_point(&l->restricted, k, row);
    l->restricted_row[k] = gsw_seam_row_in(l->m, row);
    for (int32_t slot = 0; slot < GSW_SLOTS; slot++) {
        const gsw_seam_share share = gsw_seam_share_of(l, row, slot);
        const int64_t from = share.where == GSW_OUTSIDE ? -1
                             : share.where == GSW_INSIDE
                                 ? gsw_seam_row(&l->wraps, share.at)
                                 : l->wraps.count + gsw_seam_row(&l->across, share.at);
        l->share[slot * l->restricted.count + k] = from < 0 ? 0 : from;
        l->share_weight[slot * l->restricted.count + k] = from < 0 ? 0 : share.weight;
    }
}

GSW_HD void gsw_seam_place_across(const gsw_seam_level *l, int64_t k) {
    int64_t at[3], coarse[3], to[3];
    gsw_seam_point(&l->across, k, at);
    l->across_row[k] = gsw_seam_row_in(l->n, at);
    const int class_ = gsw_seam_class(l, at, coarse);
    for (int subset = 0; subset < GSW_CLASSES; subset++) {
        const int crosses =
            !(subset & ~class_) && gsw_seam_target(l, coarse, subset, to) == GSW_AROUND;
        l->across_to[subset * l->across.count + k] = crosses ? gsw_seam_row_in(l->m, to) : 0;
        if (!crosses)
            l->weights_across[0][subset * l->across.count + k] = 0;
    }
}

/* Residual k: -W x in a row of `wraps`, or b - A x at a fine point across the seam, which is
 * restricted as a whole. `w` is the level's W. Of every `step`th coupling from `first` on. */
GSW_HD double gsw_seam_residual(const gsw_seam_level *l, const gsw_wraps *w, int64_t k,
                                int32_t first, int32_t step, const void *b, const void *x) {
    int64_t at[3];
    if (k < w->seam.count)
        return -gsw_wraps_part(w, k, first, step, l->type, x);
    gsw_seam_point(&l->across, k - w->seam.count, at);
    const int64_t row = gsw_seam_row_in(l->n, at);
    double sum = first == 0 ? gsw_value_at(b, l->type, row) : 0;
    sum -= gsw_wraps_part(w, gsw_seam_row(&w->seam, at), first, step, l->type, x);
    GSW_UNROLL(4)
    for (int32_t e = first; e < l->count; e += step) {
        int64_t to = row, stride = 1;
        int inside = l->inside[e] != NULL;
        for (int a = 0; a < 3; a++) {
            const int64_t there = at[a] + l->offset[e][a];
            inside = inside && there >= 0 && there < l->n[a];
            to += stride * l->offset[e][a];
            stride *= l->n[a];
        }
        if (inside)
            sum -= gsw_value_at(l->inside[e], l->value_type, row) * gsw_value_at(x, l->type, to);
    }
    return sum;
}

/* Every `step`th share of restricted point k from `first` on; and adds what all are. */
GSW_HD double gsw_seam_restricted_part(const gsw_seam_level *l, int64_t k, int32_t first,
                                       int32_t step, const double *residual) {
    double sum = 0;
    GSW_UNROLL(4)
    for (int32_t slot = first; slot < GSW_SLOTS; slot += step)
        sum += l->share_weight[slot * l->restricted.count + k] *
               residual[l->share[slot * l->restricted.count + k]];
    return sum;
}

GSW_HD void gsw_seam_add_restricted(const gsw_seam_level *l, int64_t k, double sum, void *to) {
    const int64_t i = l->restricted_row[k];
    gsw_value_put(to, l->type, i, gsw_value_at(to, l->type, i) + sum);
}

/* Completes x + P e at fine point k across the seam. */
GSW_HD void gsw_seam_prolong_point(const gsw_seam_level *l, int64_t k, const void *from, void *to) {
    const int64_t i = l->across_row[k];
    double sum = 0;
    GSW_UNROLL(7)
    for (int subset = 1; subset < GSW_CLASSES; subset++)
        sum += l->weights_across[0][subset * l->across.count + k] *
               gsw_value_at(from, l->type, l->across_to[subset * l->across.count + k]);
    gsw_value_put(to, l->type, i, gsw_value_at(to, l->type, i) + sum);
}

#endif
