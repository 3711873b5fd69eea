/* chains.h: chains of lines, which the CPU sweeps.
 *
 * A *chain* is all lines of one y' (shape.h): the lines (y' - shear z, z) for z = 0, 1, ... where
 * that y is in the grid. A *pencil* is a bundle of `chains` neighbouring chains. It is swept in
 * *steps*: at step s chain l of the pencil is at position p = s - skew*l. That is point
 * x = p mod nx in plane z = z0 + p div nx, where z0 is the pencil's first plane. So a chain
 * continues from the end of one line to the start of the next, without padding along x.
 *
 * DEPENDENCES. The neighbour at (dx, dy, dz) is found dl chains away, in the step s - back with
 * back = -(dx + skew*dl + nx*dz). `skew` is chosen so that back >= 1 for every dependence. Then all
 * values that a step needs come from an earlier step of the same pencil or from chains of the
 * pencils before it (dl <= 0). The wavefront of one step is a piece of the hyperplane
 * x + skew*y' + nx*z = const (Lamport, 1974).
 *
 * PACKING. Coefficients are stored as records, one per step, pencil after pencil: record =
 * [reciprocal diagonal, if stored][coefficients in ascending order of offset], each `chains`
 * values. The upper part uses the same pencils, steps and chains in reverse order; both parts have
 * the same shear and skew. Hence record r, chain l of the lower part and record R-1-r, chain
 * chains-1-l of the upper part belong to the same point.
 *
 * GHOSTS. Where processes share a grid in slabs along its last axis (not counting extents of 1),
 * the chains of a slab also have the lines of other slabs that its own lines are coupled to.
 * Vectors and matrices have rows for the own lines only. To kernels ghosts are like places outside
 * the grid: their records are rows of the identity. What own rows read of them is given apart. */
#ifndef GSW_CHAINS_H
#define GSW_CHAINS_H

#include "geometry/shape.h"

typedef struct gsw_chains {
    int64_t nx, ny, nz;       /* squeezed extents */
    int64_t points;           /* own ones */
    int64_t begin[2], end[2]; /* the own lines: begin <= (y, z) < end; the others are ghosts */
    int32_t chains;           /* of a pencil */
    int32_t shear;            /* y' = y + shear z */
    int32_t skew;             /* steps by which a chain trails the chain before it */
    int64_t width;            /* values of y': chains in all */
    int64_t pencils;          /* that cover them */
    int64_t records;          /* steps of all pencils */
    gsw_shape part[2];        /* lower, upper */
} gsw_chains;

/* Where a chain is. `inside`: that is an own point; only then is `row` one of the rows. */
typedef struct gsw_place {
    int64_t x, y, z;
    int64_t row; /* of x = 0 in this line */
    int32_t inside;
} gsw_place;

/* First y' of a pencil. The chains that fill up the last pencil lie after the last y' in a lower
 * sweep. In the mirrored sweep the same chains lie before the first y'. */
GSW_HD int64_t gsw_first_chain(const gsw_chains *g, int mirrored, int64_t pencil) {
    return pencil * g->chains - (mirrored ? g->pencils * g->chains - g->width : 0);
}

/* Planes first..last that a pencil touches. */
GSW_HD void gsw_pencil_planes(const gsw_chains *g, int mirrored, int64_t pencil, int64_t *first,
                              int64_t *last) {
    *first = 0;
    *last = g->nz - 1;
    if (g->shear > 0) {
        int64_t low = gsw_first_chain(g, mirrored, pencil);
        int64_t high = low + g->chains - 1;
        if (low < 0)
            low = 0;
        if (high > g->width - 1)
            high = g->width - 1;
        int64_t begin = gsw_ceil_div(low - (g->ny - 1), g->shear);
        int64_t end = gsw_floor_div(high, g->shear);
        *first = begin > 0 ? begin : 0;
        *last = end < g->nz - 1 ? end : g->nz - 1;
    }
}

/* Steps (= records) of a pencil. */
GSW_HD int64_t gsw_pencil_steps(const gsw_chains *g, int mirrored, int64_t pencil) {
    int64_t first, last;
    gsw_pencil_planes(g, mirrored, pencil, &first, &last);
    return (last - first + 1) * g->nx + (int64_t)(g->chains - 1) * g->skew;
}

GSW_HD void gsw_place_line(const gsw_chains *g, gsw_place *place) {
    const int64_t y = place->y - g->begin[0], z = place->z - g->begin[1];
    place->inside = y >= 0 && place->y < g->end[0] && z >= 0 && place->z < g->end[1];
    place->row = g->nx * (y + (g->end[0] - g->begin[0]) * z);
}

/* Whether a place is on a ghost that comes before the own lines in the order of the sweep. */
GSW_HD int gsw_place_is_before(const gsw_chains *g, const gsw_place *place) {
    return place->y >= 0 && place->y < g->ny && place->z >= 0 && place->z < g->nz &&
           (place->y < g->begin[0] || place->z < g->begin[1]);
}

/* Their number. */
GSW_HD int64_t gsw_chains_before(const gsw_chains *g) {
    return g->nx * (g->begin[0] + g->ny * g->begin[1]);
}

/* The end of the absolute steps (counted from plane 0) in which a pencil, or the `halo` chains
 * before it, may be on such a ghost. */
GSW_HD int64_t gsw_ghost_steps(const gsw_chains *g, int64_t first_chain, int64_t halo) {
    if (g->begin[1] > 0)
        return g->begin[1] * g->nx + (int64_t)g->chains * g->skew;
    return first_chain - halo < g->begin[0] ? INT64_MAX : 0;
}

/* Place of chain `chain` (may be negative: a chain of the pencils before) at step `step` of a
 * pencil whose first chain is first_chain and whose first plane is first_plane. */
GSW_HD gsw_place gsw_place_of(const gsw_chains *g, int64_t first_chain, int64_t first_plane,
                              int64_t step, int64_t chain) {
    int64_t position = step - chain * g->skew;
    int64_t planes = gsw_floor_div(position, g->nx);
    gsw_place place;
    place.x = position - planes * g->nx;
    place.z = first_plane + planes;
    place.y = first_chain + chain - g->shear * place.z;
    gsw_place_line(g, &place);
    return place;
}

/* Moves to the start of the chain's next line. */
GSW_HD void gsw_place_next_line(const gsw_chains *g, gsw_place *place) {
    place->x = 0;
    place->z += 1;
    place->y -= g->shear;
    gsw_place_line(g, place);
}

/* Moves on by some steps. */
GSW_HD void gsw_place_advance(const gsw_chains *g, gsw_place *place, int64_t steps) {
    place->x += steps;
    while (place->x >= g->nx) {
        int64_t rest = place->x - g->nx;
        gsw_place_next_line(g, place);
        place->x = rest;
    }
}

/* Derives the skew, `slack` steps more than the smallest possible one, and what follows from it. */
GSW_HD void gsw_chains_skew(gsw_chains *g, int32_t slack) {
    g->skew = 0;
    for (int upper = 0; upper < 2; upper++) {
        for (int32_t j = 0; j < g->part[upper].count; j++) {
            const gsw_offset o = g->part[upper].offset[j];
            const int64_t dl = g->part[upper].dl[j];
            const int64_t run = o.dx + g->nx * o.dz; /* back = -(run + skew*dl) >= 1 */
            if (dl < 0 && gsw_ceil_div(run + 1, -dl) > g->skew)
                g->skew = (int32_t)gsw_ceil_div(run + 1, -dl);
        }
    }
    g->skew += slack;

    for (int upper = 0; upper < 2; upper++) {
        gsw_shape *shape = &g->part[upper];
        shape->reach = 0;
        for (int32_t j = 0; j < shape->count; j++) {
            const gsw_offset o = shape->offset[j];
            shape->back[j] = -(o.dx + (int64_t)g->skew * shape->dl[j] + g->nx * o.dz);
            if (shape->back[j] > shape->reach)
                shape->reach = shape->back[j];
        }
    }
}

/* Derives everything except `chains`, `pencils` and `records` from extents and stencil. `slack`
 * steps are added to the smallest possible skew. They keep values of neighbouring chains off the
 * critical path. */
GSW_HD void gsw_chains_derive(gsw_chains *g, const gsw_grid *grid, const gsw_stencil *stencil,
                              int32_t slack) {
    gsw_sheared s;
    gsw_shear(&s, grid, stencil);
    g->nx = s.nx;
    g->ny = s.ny;
    g->nz = s.nz;
    g->points = s.points;
    g->begin[0] = g->begin[1] = 0;
    g->end[0] = s.ny;
    g->end[1] = s.nz;
    g->shear = s.shear;
    g->width = s.width;
    g->part[0] = s.part[0];
    g->part[1] = s.part[1];
    gsw_chains_skew(g, slack);
}

/* Makes so many planes (lines of a grid in 2D, points of a line) at both ends ghosts. The points of
 * a line become lines of their own first. */
GSW_HD void gsw_chains_set_ghosts(gsw_chains *g, int64_t before, int64_t after, int32_t slack) {
    const int axis = g->nz > 1;
    if (g->ny == 1) {
        for (int upper = 0; upper < 2; upper++) {
            gsw_shape *shape = &g->part[upper];
            for (int32_t j = 0; j < shape->count; j++) {
                shape->dl[j] = shape->offset[j].dy = shape->offset[j].dx;
                shape->offset[j].dx = 0;
                shape->halo = -shape->dl[j] > shape->halo ? -shape->dl[j] : shape->halo;
            }
        }
        g->ny = g->width = g->end[0] = g->nx;
        g->nx = 1;
        gsw_chains_skew(g, slack);
    }
    g->begin[axis] = before;
    g->end[axis] -= after;
    g->points = g->nx * (g->end[0] - g->begin[0]) * (g->end[1] - g->begin[1]);
}

/* The same chains as an upper sweep sees them. */
GSW_HD gsw_chains gsw_chains_mirrored(const gsw_chains *g) {
    const int64_t extent[2] = {g->ny, g->nz};
    gsw_chains mirrored = *g;
    for (int axis = 0; axis < 2; axis++) {
        mirrored.begin[axis] = extent[axis] - g->end[axis];
        mirrored.end[axis] = extent[axis] - g->begin[axis];
    }
    return mirrored;
}

/* Cuts the chains into pencils of `chains` and counts the records. Every plane z, z + chains, ...
 * touches as many pencils, so the time does not depend on the grid. */
GSW_HD void gsw_chains_cut(gsw_chains *g, int32_t chains) {
    g->chains = chains;
    g->pencils = gsw_ceil_div(g->width, chains);
    g->records = g->pencils * (chains - 1) * g->skew;
    for (int64_t z = 0; z < chains && z < g->nz; z++) {
        const int64_t first = g->shear * z, last = first + g->ny - 1; /* values of y' */
        const int64_t touched = last / chains - first / chains + 1;
        g->records += touched * gsw_ceil_div(g->nz - z, chains) * g->nx;
    }
}

#endif
