/* layout.h: the parts of a factor of each kind, and the arithmetic of its elimination, for every
 * backend. */
#ifndef GSW_LAYOUT_H
#define GSW_LAYOUT_H

#include <string.h>
#include "geometry/shape.h"
#include <gridsweep/factor.h>

/* How a part is written; a part whose `packed` is NULL is not written. */
typedef struct gsw_packed_part {
    void *packed;
    int diagonal; /* the reciprocal diagonal is stored with each record */
    int scale;    /* coefficients are multiplied by it */
} gsw_packed_part;

typedef struct gsw_layout {
    gsw_packed_part part[2]; /* lower, upper; packed is NULL */
    int present[2];
    int sweeps;
    int upper[2]; /* the part that each sweep uses */
} gsw_layout;

/* Which parts a kind has, where the reciprocal diagonal goes, and which part is scaled by it. */
static inline gsw_layout gsw_factor_layout(const gsw_factor_options *options) {
    const int transpose = options->transpose != 0;
    const int stored = !options->unit_diagonal;
    gsw_layout layout = {{{NULL, 0, 0}, {NULL, 0, 0}}, {1, 1}, 2, {0, 1}};
    gsw_packed_part *lower = &layout.part[0], *upper = &layout.part[1];
    switch (options->kind) {
    case GSW_ILU0:
    case GSW_IC0:
        upper->diagonal = upper->scale = 1;
        break;
    case GSW_DILU:
    case GSW_SSOR:
        lower->diagonal = lower->scale = upper->scale = 1;
        break;
    case GSW_FACTOR_LU:
        layout.part[!transpose].diagonal = layout.part[!transpose].scale = stored;
        break;
    case GSW_FACTOR_LOWER:
    case GSW_FACTOR_UPPER: {
        const int part = (options->kind == GSW_FACTOR_UPPER) != transpose;
        layout.part[part].diagonal = layout.part[part].scale = stored;
        layout.present[!part] = 0;
        layout.upper[0] = part;
        layout.sweeps = 1;
        break;
    }
    case GSW_JACOBI:
        layout.sweeps = 0;
        layout.present[0] = layout.present[1] = 0;
        break;
    }
    return layout;
}

/* The couplings of the transposed matrix. */
static inline gsw_stencil gsw_mirrored_stencil(const gsw_stencil *stencil) {
    gsw_stencil mirrored;
    mirrored.count = stencil->count;
    mirrored.center = stencil->count - 1 - stencil->center;
    for (int32_t e = 0; e < stencil->count; e++) {
        const gsw_offset o = stencil->offsets[stencil->count - 1 - e];
        mirrored.offsets[e].dx = -o.dx;
        mirrored.offsets[e].dy = -o.dy;
        mirrored.offsets[e].dz = -o.dz;
    }
    return mirrored;
}

/* Do the rows of this kind depend on each other? */
static inline int gsw_eliminates(gsw_factor_kind kind) {
    return kind == GSW_ILU0 || kind == GSW_IC0 || kind == GSW_DILU;
}

/* One update a[target] -= a[k] * u[upper], where u is the scaled row of the neighbour that lower
 * coefficient k points to. The updates of k are first[k]..first[k+1]-1. */
typedef struct gsw_update {
    int32_t upper; /* 0..: in the order of part[1] */
    int32_t target;
} gsw_update;

typedef struct gsw_updates {
    int32_t first[GSW_STENCIL_MAX + 1];
    gsw_update update[GSW_STENCIL_MAX * GSW_STENCIL_MAX / 4 + 1];
} gsw_updates;

/* The updates of a row, from the offsets of its lower and upper part. Lower offset k and upper
 * offset u of the neighbour update the coefficient at k + u, if the stencil has it. Targets count
 * the lower part, the diagonal, the upper part. */
static inline void gsw_find_updates(const gsw_shape part[2], gsw_factor_kind kind,
                                    gsw_updates *updates) {
    const gsw_shape *lower = &part[0], *upper = &part[1];
    int32_t count = 0;
    for (int32_t k = 0; k < lower->count; k++) {
        updates->first[k] = count;
        for (int32_t u = 0; u < upper->count; u++) {
            const gsw_offset a = lower->offset[k], b = upper->offset[u]; /* b is mirrored */
            const gsw_offset sum = {a.dx - b.dx, a.dy - b.dy, a.dz - b.dz};
            const gsw_offset mirrored = {-sum.dx, -sum.dy, -sum.dz};
            int32_t target = -1;
            if (sum.dx == 0 && sum.dy == 0 && sum.dz == 0)
                target = lower->count;
            for (int32_t j = 0; kind != GSW_DILU && target < 0 && j < lower->count; j++) {
                if (memcmp(&lower->offset[j], &sum, sizeof sum) == 0)
                    target = j;
            }
            for (int32_t j = 0; kind != GSW_DILU && target < 0 && j < upper->count; j++) {
                if (memcmp(&upper->offset[j], &mirrored, sizeof sum) == 0)
                    target = lower->count + 1 + j;
            }
            if (target >= 0) {
                updates->update[count].upper = u;
                updates->update[count++].target = target;
            }
        }
    }
    updates->first[lower->count] = count;
}

#endif
