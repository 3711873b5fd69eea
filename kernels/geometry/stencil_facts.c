/* stencil_facts.c: see stencil_facts.h. */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "common/arrays.h"
#include "geometry/stencil_facts.h"

/* Negation reverses the ascending order. */
int gsw_stencil_is_symmetric(const gsw_stencil *stencil) {
    for (int32_t e = 0; e < stencil->count; e++) {
        const gsw_offset a = stencil->offsets[e], b = stencil->offsets[stencil->count - 1 - e];
        if (a.dx != -b.dx || a.dy != -b.dy || a.dz != -b.dz)
            return 0;
    }
    return 1;
}

int gsw_grid_is_same(const gsw_grid *a, const gsw_grid *b) {
    return a->nx == b->nx && a->ny == b->ny && a->nz == b->nz && a->periodic == b->periodic;
}

int gsw_stencil_is_same(const gsw_stencil *a, const gsw_stencil *b) {
    return a->count == b->count &&
           memcmp(a->offsets, b->offsets, (size_t)a->count * sizeof a->offsets[0]) == 0;
}

int gsw_stencil_keeps_couplings(const gsw_stencil *stencil) {
    for (int32_t k = 0; k < stencil->center; k++) {
        for (int32_t u = stencil->center + 1; u < stencil->count; u++) {
            const gsw_offset a = stencil->offsets[k], b = stencil->offsets[u];
            const int32_t sum =
                gsw_stencil_find(stencil, (gsw_offset){a.dx + b.dx, a.dy + b.dy, a.dz + b.dz});
            if (sum >= 0 && sum != stencil->center)
                return 0;
        }
    }
    return 1;
}

const gsw_offset *gsw_stencil_beyond(const gsw_stencil *stencil, int reach) {
    for (int32_t e = 0; e < stencil->count; e++) {
        const gsw_offset *o = &stencil->offsets[e];
        if (abs(o->dx) > reach || abs(o->dy) > reach || abs(o->dz) > reach)
            return o;
    }
    return NULL;
}

int gsw_matrix_has_f64_arrays(const gsw_matrix *matrix) {
    int all = gsw_matrix_is_arrays(matrix) && matrix->array.value_type == GSW_F64;
    for (int32_t e = 0; all && e < matrix->stencil.count; e++)
        all = matrix->array.values[e] != NULL;
    return all;
}

int64_t gsw_stencil_couplings(const gsw_stencil *stencil, const gsw_grid *grid) {
    int64_t count = 0;
    for (int32_t e = 0; e < stencil->count; e++) {
        const gsw_offset o = stencil->offsets[e];
        const int64_t nx = grid->nx - abs(o.dx), ny = grid->ny - abs(o.dy),
                      nz = grid->nz - abs(o.dz);
        count += nx > 0 && ny > 0 && nz > 0 ? nx * ny * nz : 0;
    }
    return count;
}
