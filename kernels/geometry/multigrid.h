/* multigrid.h: the transfer between two levels of a structured multigrid method, as tables and
 * arithmetic for every backend.
 *
 * COARSENING. Any set of axes may be coarsened. Coarse points are the even indices along these
 * axes: n points become (n + 1) / 2. Along the other axes a coarse level has all points.
 *
 * CLASSES. The class of a fine point is the set of coarsened axes along which its index is odd:
 * bit 0 for x, bit 1 for y, bit 2 for z. Class 0 is the coarse points; one bit is an edge between
 * two coarse points, two bits a face, three bits the centre of eight.
 *
 * WEIGHTS. A fine point of class c at 2 I + c interpolates from the coarse points I + d, where d is
 * any subset of c: 2^|c| weights. One array over the coarse grid holds the weight of one pair
 * (c, d) at I, so that neighbours along a line lie side by side. Class 0 has the weight 1 and no
 * array. Weights of fine points or coarse points outside the grids are zero. GSW_WEIGHTS_PAD zeros
 * lie before each array and after the last one, so that kernels can read a whole block of lanes at
 * the edge of the grid. Values beyond a line are multiplied by couplings that are zero.
 *
 * COUPLINGS. Interpolation and triple product use a stencil of radius 1: a *slot* is one of its 27
 * places, dx fastest. Couplings of radius 2 are lumped into slots: c at (+-1 or +-2 or 0 along each
 * axis) becomes c at (+-1 or 0), and for each axis with +-2 also 3 c at +-1 on that axis and -3 c
 * at 0. This keeps the row's sum and its second moments along the axes, and no coupling changes its
 * sign: an M-matrix stays one. (4 c at +-1 and -3 c at 0, axis by axis, keeps mixed moments as
 * well, but off the axes the coarse matrix of an M-matrix is then indefinite.) If the matrix is
 * symmetric, each lump is the mean of its own value and that of its mirror image, and the diagonal
 * keeps the row's sum. Then the lumped matrix is symmetric, too.
 *
 * INJECTION. A transfer of this kind has only class 0: P copies a coarse value to its own fine
 * point and leaves the other fine points 0, and R = P^T. It has no weights. The coarse stencil is
 * the fine one, of any reach, and the coarse matrix is not R A P but the fine coefficients at the
 * coarse points.
 *
 * Sources: Dendy, Black box multigrid, J. Comput. Phys. 48 (1982); Dendy, Appl. Math. Comput. 13
 * (1983) for matrices that are not symmetric; Dongarra, Heroux and Luszczek, Int. J. High Perform.
 * Comput. Appl. 30 (2016), HPCG, for injection. */
#ifndef GSW_MULTIGRID_H
#define GSW_MULTIGRID_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <gridsweep/grid.h>
#include "common/host_device.h"

enum {
    GSW_SLOTS = 27,
    GSW_SLOT_CENTER = 13,
    GSW_CLASSES = 8,
    GSW_WEIGHTS_PAD = 64,
    GSW_WEIGHTS_MAX = 26,      /* 6 edges' + 12 faces' + 8 of the centre */
    GSW_WEIGHT_ONE = -1,       /* of a coarse point: no array */
    GSW_LUMPED_RADIUS = 2,     /* largest component of an offset */
    GSW_LUMPS_MAX = 5,         /* slots of one coupling */
    GSW_WEIGHT_TERMS_MAX = 98, /* of all classes */
    GSW_PRODUCT_TERMS_MAX = 2461
};

/* A coupling's share in a slot. */
typedef struct gsw_lump {
    int32_t slot;
    double factor;
} gsw_lump;

/* One contribution to a weight of a class: minus the coupling `slot`, collapsed over the axes
 * outside the class, times the weight `weight` at I + shift, goes to weight `to`. */
typedef struct gsw_weight_term {
    int16_t slot, weight, to;
    int8_t shift[3];
} gsw_weight_term;

/* One contribution to row 2 I + at of A P: coupling `slot` times weight `weight` at I + shift goes
 * to the coarse coupling `to`. */
typedef struct gsw_product_term {
    int16_t slot, weight, to;
    int8_t shift[3];
} gsw_product_term;

/* A fine row 2 I + at that restricts to the coarse point I, with weight `weight` at I + shift. */
typedef struct gsw_product_row {
    int8_t at[3], shift[3];
    int16_t weight;
    int16_t first, last; /* its terms */
    uint32_t reach;      /* bit set of the coarse couplings that they go to */
} gsw_product_row;

typedef struct gsw_transfer gsw_transfer;

struct gsw_transfer {
    gsw_grid fine, coarse;
    gsw_stencil fine_stencil, coarse_stencil;
    int axes;      /* bit set: which are coarsened */
    int symmetric; /* the product's rows hold the coarse upper part only: see gsw_transfer_make */
    int plain;     /* each coupling of the fine stencil has a slot of its own, factor 1 */
    int32_t weights;
    int32_t first[GSW_CLASSES];             /* first weight of each class */
    int8_t project[GSW_CLASSES][GSW_SLOTS]; /* gsw_slot_project() */
    uint32_t slots;                         /* bit sets of slots in use: fine, */
    uint32_t symmetric_slots;               /* fine with the mirrored ones, */
    uint32_t coarse_slots;                  /* coarse */
    int32_t coarse_entry[GSW_SLOTS];
    int32_t lumps[GSW_STENCIL_MAX];
    gsw_lump lump[GSW_STENCIL_MAX][GSW_LUMPS_MAX];
    int32_t first_term[GSW_CLASSES + 1]; /* of the weights of each class */
    gsw_weight_term weight_term[GSW_WEIGHT_TERMS_MAX];
    int32_t rows;
    gsw_product_row row[GSW_SLOTS];
    gsw_product_term product_term[GSW_PRODUCT_TERMS_MAX];
    int injection; /* no weights: class 0 is all there is; see gsw_transfer_inject */
    void *tables;  /* the backend's copy; NULL: none */
};

GSW_HD int32_t gsw_slot_of(int dx, int dy, int dz) {
    return (dx + 1) + 3 * ((dy + 1) + 3 * (dz + 1));
}

/* Component of a slot's offset along an axis: -1, 0 or 1. */
GSW_HD int gsw_slot_offset(int32_t slot, int axis) {
    return (axis == 0 ? slot : axis == 1 ? slot / 3 : slot / 9) % 3 - 1;
}

/* Slot of the opposite offset. */
GSW_HD int32_t gsw_slot_mirror(int32_t slot) {
    return GSW_SLOTS - 1 - slot;
}

/* The slot with the components along axes outside the set put to 0. */
GSW_HD int32_t gsw_slot_project(int32_t slot, int axes) {
    return gsw_slot_of(axes & 1 ? gsw_slot_offset(slot, 0) : 0,
                       axes & 2 ? gsw_slot_offset(slot, 1) : 0,
                       axes & 4 ? gsw_slot_offset(slot, 2) : 0);
}

GSW_HD int gsw_class_size(int class_) {
    return (class_ & 1) + (class_ >> 1 & 1) + (class_ >> 2 & 1);
}

GSW_HD int64_t gsw_extent(const gsw_grid *grid, int axis) {
    return axis == 0 ? grid->nx : axis == 1 ? grid->ny : grid->nz;
}

/* Where the weight of (class, subset) stands among the weights of its class. */
GSW_HD int32_t gsw_subset_index(int class_, int subset) {
    int32_t index = 0, bit = 1;
    for (int axis = 0; axis < 3; axis++) {
        if (!(class_ >> axis & 1))
            continue;
        if (subset >> axis & 1)
            index += bit;
        bit *= 2;
    }
    return index;
}

GSW_HD int32_t gsw_weight_of(const gsw_transfer *t, int class_, int subset) {
    return class_ == 0 ? GSW_WEIGHT_ONE : t->first[class_] + gsw_subset_index(class_, subset);
}

/* Which axes to coarsen, by their mean share of a row's couplings. Among the axes of more than two
 * points these are the ones with at least theta times the largest share. 0: there is none. */
GSW_HD int gsw_choose_axes(const gsw_grid *grid, const double coupling[3], double theta) {
    double most = 0;
    int axes = 0;
    for (int axis = 0; axis < 3; axis++)
        if (gsw_extent(grid, axis) > 2 && coupling[axis] > most)
            most = coupling[axis];
    for (int axis = 0; axis < 3; axis++)
        if (gsw_extent(grid, axis) > 2 && coupling[axis] >= theta * most)
            axes |= 1 << axis;
    return axes;
}

/* All axes of more than two points. */
GSW_HD int gsw_all_axes(const gsw_grid *grid) {
    return (grid->nx > 2 ? 1 : 0) | (grid->ny > 2 ? 2 : 0) | (grid->nz > 2 ? 4 : 0);
}

GSW_HD gsw_grid gsw_coarse_grid(const gsw_grid *fine, int axes) {
    gsw_grid coarse = *fine;
    if (axes & 1)
        coarse.nx = (fine->nx + 1) / 2;
    if (axes & 2)
        coarse.ny = (fine->ny + 1) / 2;
    if (axes & 4)
        coarse.nz = (fine->nz + 1) / 2;
    return coarse;
}

/* ---- Arithmetic of the weights ----------------------------------------------------------------
 */

/* The divisor of a point's couplings. `total` is the sum of its whole row; `sides` holds, for both
 * sides of each axis of its class, the sum of the couplings on that side. The zero-sum switch: a
 * row that dominates its couplings keeps its sum, so that a point beside a Dirichlet edge
 * interpolates less than 1. A row whose sum vanishes interpolates constants exactly. */
GSW_HD double gsw_weight_divisor(double diagonal, double total, double coupled, const double *sides,
                                 int count) {
    const double sign = diagonal < 0 ? -1 : 1;
    const double size = sign * diagonal, off = sign * (diagonal - total);
    double least = 1;
    for (int i = 0; i < count; i++) {
        const double side = sides[i] < 0 ? -sides[i] : sides[i];
        if (side < least * size)
            least = side / size;
    }
    return size > (1 + least) * off ? total - coupled : -coupled;
}

/* Whether a divisor can be used. False where it vanishes or has the wrong sign, or is NaN. */
GSW_HD int gsw_divisor_serves(double divisor, double diagonal) {
    return diagonal < 0 ? divisor < 1e-14 * diagonal : divisor > 1e-14 * diagonal;
}

/* Whether coarse point I + subset exists for the fine point at I. A degenerate point interpolates
 * the mean of these. */
GSW_HD int gsw_subset_exists(const gsw_grid *coarse, int subset, int64_t x, int64_t y, int64_t z) {
    return x + (subset & 1) < coarse->nx && y + (subset >> 1 & 1) < coarse->ny &&
           z + (subset >> 2 & 1) < coarse->nz;
}

/* ---- Tables ----------------------------------------------------------------------------------
 */

/* floor(i / 2), and the remainder, along coarsened axes; i and 0 along the others. */
static inline int gsw_halve(int i, int coarsened, int *odd) {
    *odd = coarsened ? i & 1 : 0;
    return coarsened ? (i - *odd) / 2 : i;
}

static inline void gsw_transfer_lump(gsw_transfer *t) {
    uint32_t seen = 0;
    t->plain = 1;
    t->slots = 1U << GSW_SLOT_CENTER;
    for (int32_t e = 0; e < t->fine_stencil.count; e++) {
        const gsw_offset o = t->fine_stencil.offsets[e];
        const int32_t d[3] = {o.dx, o.dy, o.dz};
        t->lumps[e] = 0;
        if (d[0] >= t->fine.nx || -d[0] >= t->fine.nx || d[1] >= t->fine.ny ||
            -d[1] >= t->fine.ny || d[2] >= t->fine.nz || -d[2] >= t->fine.nz)
            continue; /* always outside the grid */
        gsw_lump near = {GSW_SLOT_CENTER, 1}, rest = {GSW_SLOT_CENTER, 0};
        t->lumps[e] = 1;
        for (int axis = 0, stride = 1; axis < 3; axis++, stride *= 3) {
            const int32_t sign = d[axis] > 0 ? 1 : d[axis] < 0 ? -1 : 0;
            near.slot += sign * stride;
            if (d[axis] != sign) {
                const gsw_lump along = {GSW_SLOT_CENTER + sign * stride, 3};
                t->lump[e][t->lumps[e]++] = along;
                rest.factor -= 3;
            }
        }
        t->lump[e][0] = near;
        if (t->lumps[e] == 2 && t->lump[e][1].slot == near.slot) { /* on an axis */
            t->lump[e][0].factor += t->lump[e][1].factor;
            t->lumps[e] = 1;
        }
        if (rest.factor != 0)
            t->lump[e][t->lumps[e]++] = rest;
        for (int32_t i = 0; i < t->lumps[e]; i++) {
            const uint32_t bit = 1U << t->lump[e][i].slot;
            t->plain = t->plain && t->lumps[e] == 1 && !(seen & bit);
            seen |= bit;
        }
    }
    t->slots |= seen;
    t->symmetric_slots = t->slots;
    for (int32_t slot = 0; slot < GSW_SLOTS; slot++)
        if (t->slots >> slot & 1)
            t->symmetric_slots |= 1U << gsw_slot_mirror(slot);
    if (t->symmetric)
        t->slots = t->symmetric_slots;
}

static inline void gsw_transfer_weights(gsw_transfer *t) {
    int32_t terms = 0;
    t->weights = 0;
    for (int c = 0; c < GSW_CLASSES; c++) {
        t->first[c] = t->weights;
        if (c != 0 && (c & ~t->axes) == 0)
            t->weights += 1 << gsw_class_size(c);
    }
    for (int c = 0; c < GSW_CLASSES; c++) {
        t->first_term[c] = terms;
        for (int32_t slot = 0; c != 0 && (c & ~t->axes) == 0 && slot < GSW_SLOTS; slot++) {
            if (slot == GSW_SLOT_CENTER || gsw_slot_project(slot, c) != slot)
                continue;
            /* The neighbour's class, and the shift from I to the neighbour's own I. */
            int class_ = 0, shift = 0;
            for (int axis = 0; axis < 3; axis++) {
                if ((c >> axis & 1) && gsw_slot_offset(slot, axis) == 0)
                    class_ |= 1 << axis;
                if (gsw_slot_offset(slot, axis) > 0)
                    shift |= 1 << axis;
            }
            for (int subset = 0; subset < GSW_CLASSES; subset++) {
                if (subset & ~class_)
                    continue;
                gsw_weight_term *term = &t->weight_term[terms++];
                term->slot = (int16_t)slot;
                term->weight = (int16_t)gsw_weight_of(t, class_, subset);
                term->to = (int16_t)gsw_subset_index(c, shift | subset);
                for (int axis = 0; axis < 3; axis++)
                    term->shift[axis] = (int8_t)(shift >> axis & 1);
            }
        }
    }
    t->first_term[GSW_CLASSES] = terms;
}

/* The terms of one fine row of A P; coarse couplings before `lowest` are left out. */
static inline int32_t gsw_transfer_row(gsw_transfer *t, gsw_product_row *row, int32_t terms,
                                       int32_t lowest) {
    row->first = (int16_t)terms;
    row->reach = 0;
    for (int32_t slot = 0; slot < GSW_SLOTS; slot++) {
        if (!(t->slots >> slot & 1))
            continue;
        int shift[3], class_ = 0;
        for (int axis = 0; axis < 3; axis++) {
            int odd;
            shift[axis] =
                gsw_halve(row->at[axis] + gsw_slot_offset(slot, axis), t->axes >> axis & 1, &odd);
            class_ |= odd << axis;
        }
        for (int subset = 0; subset < GSW_CLASSES; subset++) {
            if (subset & ~class_)
                continue;
            const int32_t to = gsw_slot_of(shift[0] + (subset & 1), shift[1] + (subset >> 1 & 1),
                                           shift[2] + (subset >> 2 & 1));
            t->coarse_slots |= 1U << to;
            if (to < lowest)
                continue;
            gsw_product_term *term = &t->product_term[terms++];
            term->slot = (int16_t)slot;
            term->weight = (int16_t)gsw_weight_of(t, class_, subset);
            term->to = (int16_t)to;
            for (int axis = 0; axis < 3; axis++)
                term->shift[axis] = (int8_t)shift[axis];
            row->reach |= 1U << to;
        }
    }
    row->last = (int16_t)terms;
    return terms;
}

static inline void gsw_transfer_product(gsw_transfer *t) {
    int32_t terms = 0;
    t->rows = 0;
    t->coarse_slots = 0;
    for (int32_t at = 0; at < GSW_SLOTS; at++) {
        if (gsw_slot_project(at, t->axes) != at)
            continue;
        gsw_product_row *row = &t->row[t->rows++];
        int class_ = 0, subset = 0;
        for (int axis = 0; axis < 3; axis++) {
            int odd;
            row->at[axis] = (int8_t)gsw_slot_offset(at, axis);
            row->shift[axis] = (int8_t)gsw_halve(row->at[axis], t->axes >> axis & 1, &odd);
            class_ |= odd << axis;
            subset |= (row->shift[axis] < 0) << axis;
        }
        row->weight = (int16_t)gsw_weight_of(t, class_, subset);
        terms = gsw_transfer_row(t, row, terms, t->symmetric ? GSW_SLOT_CENTER : 0);
    }
}

/* Fills the tables for a fine level. `symmetric`: the triple product is symmetric; its rows then
 * hold the diagonal and the upper part only, and the lower part is their mirror image. Offsets of
 * the stencil reach at most GSW_LUMPED_RADIUS along each axis. Couplings that can never stay inside
 * the coarse grid are left out of the coarse stencil. */
static inline void gsw_transfer_make(gsw_transfer *t, const gsw_grid *grid,
                                     const gsw_stencil *stencil, int axes, int symmetric) {
    t->fine = *grid;
    t->coarse = gsw_coarse_grid(grid, axes);
    t->fine_stencil = *stencil;
    t->axes = axes;
    t->symmetric = symmetric;
    t->injection = 0;
    t->tables = NULL;
    for (int c = 0; c < GSW_CLASSES; c++)
        for (int32_t slot = 0; slot < GSW_SLOTS; slot++)
            t->project[c][slot] = (int8_t)gsw_slot_project(slot, c);
    gsw_transfer_lump(t);
    gsw_transfer_weights(t);
    gsw_transfer_product(t);
    t->coarse_stencil.count = 0;
    for (int32_t slot = 0; slot < GSW_SLOTS; slot++) {
        const gsw_offset o = {gsw_slot_offset(slot, 0), gsw_slot_offset(slot, 1),
                              gsw_slot_offset(slot, 2)};
        t->coarse_entry[slot] = -1;
        if (!(t->coarse_slots >> slot & 1) || (o.dx != 0 && t->coarse.nx == 1) ||
            (o.dy != 0 && t->coarse.ny == 1) || (o.dz != 0 && t->coarse.nz == 1))
            continue;
        if (slot == GSW_SLOT_CENTER)
            t->coarse_stencil.center = t->coarse_stencil.count;
        t->coarse_entry[slot] = t->coarse_stencil.count;
        t->coarse_stencil.offsets[t->coarse_stencil.count++] = o;
    }
}

/* Fills a transfer by injection. The only table that it has is `row`: R takes one fine point, with
 * weight 1. */
static inline void gsw_transfer_inject(gsw_transfer *t, const gsw_grid *grid,
                                       const gsw_stencil *stencil, int axes) {
    memset(t, 0, sizeof *t);
    t->fine = *grid;
    t->coarse = gsw_coarse_grid(grid, axes);
    t->fine_stencil = t->coarse_stencil = *stencil;
    t->axes = axes;
    t->injection = 1;
    t->rows = 1;
    t->row[0].weight = GSW_WEIGHT_ONE;
}

#endif
