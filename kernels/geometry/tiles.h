/* tiles.h: tiles of lines, which CUDA sweeps.
 *
 * On CUDA many pencils run at once. There a pencil is a tile of tile_y values of y' (shape.h) by
 * tile_z planes: tile_y * tile_z lines, each one line long.
 *
 * STEPS. At step s the line (ly, lz) of a pencil is at x = s - skew_y*ly - skew_z*lz, if that is in
 * the grid. The neighbour at (dx, dl, dz) is found `back` = -(dx + skew_y*dl + skew_z*dz) >= 1
 * steps earlier. It is in this pencil or in one whose tile lies before it in y', in z, or in both.
 * A point of the neighbouring tile comes tile_y*skew_y (tile_z*skew_z) steps later in its own
 * pencil.
 *
 * AXES. Lines run along x. If no offset points forward along any axis (D2N5, D3N7, D3N13), the axes
 * may change places, so that lines run along the longest one. stride[] is the number of rows
 * between neighbours along each of the tiles' own three axes.
 *
 * PACKING. A pencil keeps `records` >= nx records. The point that line (ly, lz) has at step s lies
 * in record s mod records. Each line visits every x once. So the steps in which the first lines
 * wait for the last ones share the records of the steps in which the last ones waited. Within a
 * record see gsw_packed_value().
 *
 * MIRROR. The tiles of the upper part are the mirror image of those of the lower part: its first
 * tile is the one that may be ragged. Line l and record r of the lower part belong to the same
 * point as line last - l and record (nx - 1 + delay - r) mod records of the upper part. */
#ifndef GSW_TILES_H
#define GSW_TILES_H

#include "geometry/shape.h"

enum {
    GSW_TILE_CHUNK = 8, /* steps that are staged and handed over together */
    GSW_TILE_LANES = 32 /* lines or groups of lines in a pencil */
};

/* The tile of a stencil: what a kernel is compiled for. A lane owns lines_y * lines_z lines, which
 * lie side by side in y' or in z; lanes_y * (32 / lanes_y) lanes make the pencil. */
typedef struct gsw_tile_shape {
    int32_t lanes_y;
    int32_t lines_y, lines_z;
} gsw_tile_shape;

typedef struct gsw_tiles {
    int64_t nx, ny, nz; /* extents along the tiles' axes, squeezed */
    int64_t stride[3];  /* rows between neighbours along them */
    int64_t points;
    gsw_tile_shape tile;
    int32_t tile_y, tile_z; /* lines of a pencil */
    int32_t shear;          /* y' = y + shear z */
    int32_t skew_y, skew_z; /* steps by which a line trails the one before it */
    int32_t delay;          /* by which the last line trails the first */
    int32_t halo_y, halo_z; /* lines before the pencil that are read */
    int64_t width;          /* values of y' */
    int64_t tiles_y, tiles_z;
    int64_t steps;     /* of a pencil: a multiple of GSW_TILE_CHUNK */
    int64_t records;   /* that it keeps: a multiple of GSW_TILE_CHUNK */
    gsw_shape part[2]; /* lower, upper; back and reach are those of tiles */
} gsw_tiles;

/* One line of a pencil. Its point x is row `row` + x * stride[0] of the grid, counted from the last
 * row backwards in the mirrored grid. */
typedef struct gsw_tile_line {
    int64_t y, z;
    int64_t row;
    int32_t inside;
} gsw_tile_line;

GSW_HD int32_t gsw_tile_lines(const gsw_tiles *t) {
    return t->tile_y * t->tile_z;
}

/* First y' and z of a pencil. */
GSW_HD void gsw_tile_origin(const gsw_tiles *t, int mirrored, int64_t tile_j, int64_t tile_k,
                            int64_t *y, int64_t *z) {
    *y = tile_j * t->tile_y - (mirrored ? t->tiles_y * t->tile_y - t->width : 0);
    *z = tile_k * t->tile_z - (mirrored ? t->tiles_z * t->tile_z - t->nz : 0);
}

/* Line (ly, lz) of the pencil; ly and lz may be negative or beyond the tile. `row` is linear in
 * them, also outside the grid. */
GSW_HD gsw_tile_line gsw_tile_line_of(const gsw_tiles *t, int mirrored, int64_t tile_j,
                                      int64_t tile_k, int64_t ly, int64_t lz) {
    gsw_tile_line line;
    int64_t y, z;
    gsw_tile_origin(t, mirrored, tile_j, tile_k, &y, &z);
    line.z = z + lz;
    line.y = y + ly - t->shear * line.z;
    line.row = line.y * t->stride[1] + line.z * t->stride[2];
    line.inside = line.y >= 0 && line.y < t->ny && line.z >= 0 && line.z < t->nz;
    return line;
}

/* The tiles of row tile_k that hold a line of the grid: from *first on, before *end. With shear the
 * tiles cover a parallelogram; with many planes, too, they are few of the row's. */
GSW_HD void gsw_tiles_of_row(const gsw_tiles *t, int mirrored, int64_t tile_k, int64_t *first,
                             int64_t *end) {
    int64_t y, z;
    gsw_tile_origin(t, mirrored, 0, tile_k, &y, &z);
    const int64_t low = z < 0 ? 0 : z, high = (z + t->tile_z < t->nz ? z + t->tile_z : t->nz) - 1;
    *first = (t->shear * low - y) / t->tile_y;
    *end = (t->shear * high + t->ny - 1 - y) / t->tile_y + 1;
    *end = *end < t->tiles_y ? *end : t->tiles_y;
}

/* Does the pencil hold a line of the grid? */
GSW_HD int gsw_tile_used(const gsw_tiles *t, int mirrored, int64_t tile_j, int64_t tile_k) {
    int64_t first, end;
    if (tile_k < 0 || tile_k >= t->tiles_z)
        return 0;
    gsw_tiles_of_row(t, mirrored, tile_k, &first, &end);
    return tile_j >= first && tile_j < end;
}

/* Lane and member (which of the lane's lines) of line (ly, lz). */
GSW_HD int32_t gsw_tile_lane(const gsw_tiles *t, int32_t ly, int32_t lz) {
    return ly / t->tile.lines_y + t->tile.lanes_y * (lz / t->tile.lines_z);
}

GSW_HD int32_t gsw_tile_member(const gsw_tiles *t, int32_t ly, int32_t lz) {
    return ly % t->tile.lines_y + t->tile.lines_y * (lz % t->tile.lines_z);
}

/* Where the coefficient `term` of one of a lane's lines lies in a record, in values. A lane has
 * terms * members coefficients. As many as fill whole vectors of `vector` values lie vector by
 * vector, lane by lane; the rest lie value by value. The reciprocal diagonal is term `terms`; where
 * it is stored, it lies after all of these, lane by lane. */
GSW_HD int32_t gsw_packed_value(int32_t terms, int32_t members, int32_t vector, int32_t term,
                                int32_t member, int32_t lane) {
    const int32_t count = terms * members;
    const int32_t v = term * members + member;
    if (term == terms)
        return count * GSW_TILE_LANES + lane * members + member;
    return v < count / vector * vector ? (v / vector * GSW_TILE_LANES + lane) * vector + v % vector
                                       : v * GSW_TILE_LANES + lane;
}

/* The skews of the tiles: as small as every dependence allows. */
GSW_HD void gsw_tiles_skew(gsw_tiles *t) {
    t->skew_y = t->skew_z = 0;
    for (int plane = 0; plane < 2; plane++) { /* skew_z rests on skew_y */
        for (int p = 0; p < 2; p++) {
            for (int32_t j = 0; j < t->part[p].count; j++) {
                const gsw_offset o = t->part[p].offset[j];
                const int64_t dl = t->part[p].dl[j];
                if (!plane && dl < 0 && o.dz == 0 && gsw_ceil_div(o.dx + 1, -dl) > t->skew_y)
                    t->skew_y = (int32_t)gsw_ceil_div(o.dx + 1, -dl);
                if (plane && o.dz < 0 && gsw_ceil_div(o.dx + t->skew_y * dl + 1, -o.dz) > t->skew_z)
                    t->skew_z = (int32_t)gsw_ceil_div(o.dx + t->skew_y * dl + 1, -o.dz);
            }
        }
    }
    t->halo_y = t->halo_z = 0;
    for (int p = 0; p < 2; p++) {
        gsw_shape *shape = &t->part[p];
        shape->reach = 0;
        for (int32_t j = 0; j < shape->count; j++) {
            const gsw_offset o = shape->offset[j];
            shape->back[j] = -(o.dx + (int64_t)t->skew_y * shape->dl[j] + t->skew_z * o.dz);
            if (shape->back[j] > shape->reach)
                shape->reach = shape->back[j];
            if (-shape->dl[j] > t->halo_y)
                t->halo_y = -shape->dl[j];
            if (-o.dz > t->halo_z)
                t->halo_z = -o.dz;
        }
    }
}

/* Restores the ascending order of a part's couplings by offset. */
GSW_HD void gsw_shape_sort(gsw_shape *shape) {
    for (int32_t i = 1; i < shape->count; i++) {
        const gsw_offset o = shape->offset[i];
        const int32_t dl = shape->dl[i], source = shape->source[i];
        int32_t j = i;
        for (; j > 0; j--) {
            const gsw_offset p = shape->offset[j - 1];
            if (p.dz != o.dz ? p.dz < o.dz : p.dy != o.dy ? p.dy < o.dy : p.dx < o.dx)
                break;
            shape->offset[j] = p;
            shape->dl[j] = shape->dl[j - 1];
            shape->source[j] = shape->source[j - 1];
        }
        shape->offset[j] = o;
        shape->dl[j] = dl;
        shape->source[j] = source;
    }
}

/* Does no coupling of the parts point forward along any axis? */
GSW_HD int gsw_is_star(const gsw_stencil *stencil) {
    for (int32_t e = 0; e < stencil->count; e++) {
        const gsw_offset o = stencil->offsets[e];
        const int sign = e < stencil->center ? -1 : 1;
        if (sign * o.dx < 0 || sign * o.dy < 0 || sign * o.dz < 0)
            return 0;
    }
    return 1;
}

/* Derives everything that does not depend on the tile's shape. `turn` allows another axis for the
 * lines where the stencil does. */
GSW_HD void gsw_tiles_derive(gsw_tiles *t, const gsw_grid *grid, const gsw_stencil *stencil,
                             int turn) {
    const int64_t extent[3] = {grid->nx, grid->ny, grid->nz};
    const int64_t stride[3] = {1, grid->nx, grid->nx * grid->ny};
    int axis[3] = {0, 1, 2}; /* natural axes in the tiles' order */
    if (turn && gsw_is_star(stencil)) {
        int longest = 0;
        for (int a = 1; a < 3; a++) {
            if (extent[a] > extent[longest])
                longest = a;
        }
        for (int a = longest; a > 0; a--)
            axis[a] = axis[a - 1];
        axis[0] = longest;
    }
    gsw_grid turned = {extent[axis[0]], extent[axis[1]], extent[axis[2]]};
    gsw_stencil offsets = *stencil; /* in the same order: a part keeps its couplings */
    for (int32_t e = 0; e < stencil->count; e++) {
        const gsw_offset o = stencil->offsets[e];
        const int32_t d[3] = {o.dx, o.dy, o.dz};
        offsets.offsets[e].dx = d[axis[0]];
        offsets.offsets[e].dy = d[axis[1]];
        offsets.offsets[e].dz = d[axis[2]];
    }
    gsw_sheared g;
    gsw_shear(&g, &turned, &offsets);
    t->nx = g.nx;
    t->ny = g.ny;
    t->nz = g.nz;
    t->points = g.points;
    t->shear = g.shear;
    t->width = g.width;
    for (int p = 0; p < 2; p++) {
        t->part[p] = g.part[p];
        gsw_shape_sort(&t->part[p]); /* axes may have changed places */
    }
    int kept = 0;
    for (int a = 0; a < 3; a++) {
        t->stride[a] = 0;
        if (extent[axis[a]] > 1)
            t->stride[kept++] = stride[axis[a]];
    }
    gsw_tiles_skew(t);
}

/* Cuts the grid into tiles. */
GSW_HD void gsw_tiles_cut(gsw_tiles *t, gsw_tile_shape tile) {
    t->tile = tile;
    t->tile_y = tile.lanes_y * tile.lines_y;
    t->tile_z = GSW_TILE_LANES / tile.lanes_y * tile.lines_z;
    t->delay = t->skew_y * (t->tile_y - 1) + t->skew_z * (t->tile_z - 1);
    t->tiles_y = gsw_ceil_div(t->width, t->tile_y);
    t->tiles_z = gsw_ceil_div(t->nz, t->tile_z);
    t->steps = gsw_ceil_div(t->nx + t->delay, GSW_TILE_CHUNK) * GSW_TILE_CHUNK;
    t->records = gsw_ceil_div(t->nx, GSW_TILE_CHUNK) * GSW_TILE_CHUNK;
}

#endif
