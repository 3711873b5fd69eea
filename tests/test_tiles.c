/* test_tiles.c: the tiles of lines of kernels/geometry/tiles.h against the definition of a
 * dependence, for every point of many small grids. Each point is computed exactly once and has a
 * place of its own in the packed factor. Everything that it depends on is computed earlier in its
 * own pencil, or in a pencil that does not come later. The distance in steps is the one that the
 * hand-over relies on. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>

#include "reference/reference.h"
#include "geometry/tiles.h"
#include "geometry/named_shapes.h"
#include "oracle.h"
#include "suite.h"

/* Check reports every assertion to its parent process, which is too slow for millions of them. They
 * use this macro instead. */
#define MUST(condition)                                                                            \
    do {                                                                                           \
        if (!(condition))                                                                          \
            ck_abort_msg("%s: %s", subject, #condition);                                           \
    } while (0)

/* The present case, for messages. */
static char subject[200];

/* ---- what to try ---- */

static const gsw_tile_shape shapes[] = {{8, 1, 2},  {8, 1, 1}, {32, 2, 1}, {32, 1, 1},
                                        {16, 1, 1}, {4, 1, 1}, {2, 1, 1},  {1, 1, 1}};

/* Beyond the oracle's grids: ragged and exact tiles, lines along each axis, 1 wide. */
static const gsw_grid more_grids[] = {
    {5, 70, 6}, {100, 3, 40}, {7, 3, 101}, {1, 71, 9}, {67, 1, 10}, {3, 66, 1},
    {8, 8, 8},  {9, 16, 4},   {2, 64, 5},  {1, 2, 90}, {16, 33, 9}, {2, 9, 17},
};

/* Beyond the oracle's stencils: couplings along z only, far ones along the axes, far ones across.
 */
static const gsw_offset along_z[] = {{0, 0, 0}, {0, 0, -1}, {0, 0, 3}, {0, 0, 1}};
static const gsw_offset far_star[] = {{0, 0, 0},  {-3, 0, 0}, {3, 0, 0},  {0, -2, 0},
                                      {0, 2, 0},  {0, -3, 0}, {0, 0, -3}, {0, 0, 2},
                                      {-1, 0, 0}, {1, 0, 0},  {-1, -1, 0}};
static const gsw_offset far_skewed[] = {{0, 0, 0},  {-2, 0, 0},  {3, -1, 0},
                                        {-3, 2, 0}, {2, 3, -1},  {3, -3, 2},
                                        {1, 1, -2}, {-1, -2, 3}, {-3, -1, -3}};
static const struct {
    const char *name;
    const gsw_offset *offsets;
    int32_t count;
} more_stencils[] = {
    {"along z", along_z, LENGTH(along_z)},
    {"far star", far_star, LENGTH(far_star)},
    {"far skewed", far_skewed, LENGTH(far_skewed)},
};

static int grid_count(void) {
    return oracle_grid_count() + LENGTH(more_grids);
}

static gsw_grid grid_at(int i) {
    return i < oracle_grid_count() ? oracle_grid(i) : more_grids[i - oracle_grid_count()];
}

static int stencil_count(void) {
    return oracle_stencil_count() + LENGTH(more_stencils);
}

static gsw_stencil stencil_at(int i, const char **name) {
    gsw_stencil stencil;
    if (i < oracle_stencil_count())
        return *oracle_stencil(i, name);
    i -= oracle_stencil_count();
    *name = more_stencils[i].name;
    ck_assert_int_eq(
        gsw_stencil_from_offsets(more_stencils[i].offsets, more_stencils[i].count, &stencil),
        GSW_SUCCESS);
    return stencil;
}

/* One way to tile one grid for one stencil. */
typedef struct tiling {
    gsw_grid grid;
    gsw_stencil stencil;
    int turn;
    int axes;    /* of more than one point */
    int axis[3]; /* the grid's axes in the tiles' order: those of more than one point */
    gsw_tiles tiles;
} tiling;

static int64_t extent_of(const gsw_grid *grid, int axis) {
    return axis == 0 ? grid->nx : axis == 1 ? grid->ny : grid->nz;
}

/* No coupling to an earlier row has a positive component, and none to a later row a negative one.
 */
static int points_nowhere_forward(const gsw_stencil *stencil) {
    for (int32_t e = 0; e < stencil->count; e++) {
        const gsw_offset o = stencil->offsets[e];
        if (e < stencil->center && (o.dx > 0 || o.dy > 0 || o.dz > 0))
            return 0;
        if (e > stencil->center && (o.dx < 0 || o.dy < 0 || o.dz < 0))
            return 0;
    }
    return 1;
}

/* The axis of the lines, then the others as they are; axes of one point do not count. */
static void order_axes(tiling *c) {
    int lines = 0;
    if (c->turn && points_nowhere_forward(&c->stencil)) {
        for (int a = 1; a < 3; a++)
            if (extent_of(&c->grid, a) > extent_of(&c->grid, lines))
                lines = a;
    }
    for (int i = -1; i < 3; i++) {
        const int a = i < 0 ? lines : i;
        if (i != lines && extent_of(&c->grid, a) > 1)
            c->axis[c->axes++] = a;
    }
}

static tiling *tiling_make(const gsw_grid *grid, const gsw_stencil *stencil, const char *name,
                           int turn, gsw_tile_shape shape) {
    tiling *c = calloc(1, sizeof *c);
    ck_assert_ptr_nonnull(c);
    c->grid = *grid;
    c->stencil = *stencil;
    c->turn = turn;
    order_axes(c);
    gsw_tiles_derive(&c->tiles, grid, stencil, turn);
    gsw_tiles_cut(&c->tiles, shape);
    snprintf(subject, sizeof subject, "%lldx%lldx%lld, %s, turn %d, tile {%d, %d, %d}",
             (long long)grid->nx, (long long)grid->ny, (long long)grid->nz, name, turn,
             shape.lanes_y, shape.lines_y, shape.lines_z);
    return c;
}

/* ---- walking the tiles ---- */

/* When and where a row is computed. */
typedef struct visit {
    int64_t j, k, step; /* j < 0: not yet */
    int32_t ly, lz;
} visit;

/* Coordinates of a row, along the axes of the grid, and in the mirrored grid if asked for. */
static void coordinates(const gsw_grid *grid, int mirrored, int64_t row, int64_t at[3]) {
    at[0] = row % grid->nx;
    at[1] = row / grid->nx % grid->ny;
    at[2] = row / grid->nx / grid->ny;
    for (int a = 0; mirrored && a < 3; a++)
        at[a] = extent_of(grid, a) - 1 - at[a];
}

/* The line and the point x on it are those of the row, by the row's own coordinates. */
static void check_coordinates(const tiling *c, int mirrored, int64_t row, const gsw_tile_line *line,
                              int64_t x) {
    const int64_t place[3] = {x, line->y, line->z};
    int64_t at[3];
    coordinates(&c->grid, mirrored, row, at);
    for (int i = 0; i < 3; i++)
        MUST(place[i] == (i < c->axes ? at[c->axis[i]] : 0));
}

/* Records where the points of one line are computed; returns their number. */
static int64_t walk_line(const tiling *c, int mirrored, const visit *where,
                         const gsw_tile_line *line, visit *visits) {
    const gsw_tiles *t = &c->tiles;
    int64_t met = 0;
    for (int64_t s = 0; s < t->steps; s++) {
        const int64_t x = s - (int64_t)t->skew_y * where->ly - (int64_t)t->skew_z * where->lz;
        if (x < 0 || x >= t->nx)
            continue;
        const int64_t counted = line->row + x * t->stride[0];
        const int64_t row = mirrored ? t->points - 1 - counted : counted;
        MUST(row >= 0 && row < t->points);
        MUST(visits[row].j < 0); /* not computed before */
        check_coordinates(c, mirrored, row, line, x);
        visits[row] = *where;
        visits[row].step = s;
        met++;
    }
    MUST(met == t->nx); /* there are enough steps for the whole line */
    return met;
}

/* Walks all tiles of one direction. Fails if a point is met twice or never, or if a tile's `used`
 * flag is wrong. */
static visit *walk(const tiling *c, int mirrored) {
    const gsw_tiles *t = &c->tiles;
    visit *visits = malloc((size_t)t->points * sizeof *visits);
    int64_t met = 0;
    ck_assert_ptr_nonnull(visits);
    for (int64_t row = 0; row < t->points; row++)
        visits[row].j = -1;
    for (int64_t k = -1; k <= t->tiles_z; k++) {
        for (int64_t j = -1; j <= t->tiles_y; j++) {
            const int beside = j < 0 || k < 0 || j == t->tiles_y || k == t->tiles_z;
            int lines = 0;
            for (int32_t l = 0; l < gsw_tile_lines(t); l++) {
                const visit where = {j, k, 0, l % t->tile_y, l / t->tile_y};
                const gsw_tile_line line = gsw_tile_line_of(t, mirrored, j, k, where.ly, where.lz);
                if (!line.inside)
                    continue;
                MUST(!beside); /* the tiles cover all lines */
                met += walk_line(c, mirrored, &where, &line, visits);
                lines++;
            }
            MUST(gsw_tile_used(t, mirrored, j, k) == (lines > 0));
        }
    }
    MUST(met == t->points);
    return visits;
}

/* ---- dependences ---- */

/* The part's coupling that stands for offset e of the stencil, or -1. */
static int32_t find_coupling(const gsw_shape *shape, int32_t e) {
    int32_t found = -1;
    for (int32_t j = 0; j < shape->count; j++) {
        if (shape->source[j] == e) {
            MUST(found < 0);
            found = j;
        }
    }
    return found;
}

/* The point that `own` needs from `other` through coupling j of a part is computed in time, at the
 * place that the part states. */
static void check_dependence(const gsw_tiles *t, const gsw_shape *shape, int32_t j,
                             const visit *own, const visit *other) {
    const int64_t dj = own->j - other->j, dk = own->k - other->k;
    const int64_t lanes = -dj * t->tile_y + other->ly - own->ly;
    const int64_t planes = -dk * t->tile_z + other->lz - own->lz;
    MUST(dj >= 0 && dk >= 0);
    MUST(lanes == shape->dl[j] && planes == shape->offset[j].dz);
    MUST(lanes <= 0 && -lanes <= t->halo_y);
    MUST(planes <= 0 && -planes <= t->halo_z);
    /* A tile as long as the halo has all that it reads in itself and in the three tiles before. */
    MUST(t->halo_y > t->tile_y || dj <= 1);
    MUST(t->halo_z > t->tile_z || dk <= 1);
    MUST(shape->back[j] >= 1 && shape->back[j] <= shape->reach);
    MUST(other->step ==
         own->step - shape->back[j] + dj * t->tile_y * t->skew_y + dk * t->tile_z * t->skew_z);
}

static void check_dependences(const tiling *c, int mirrored, const visit *visits) {
    const gsw_shape *shape = &c->tiles.part[mirrored];
    const int32_t center = c->stencil.center;
    const int32_t first = mirrored ? center + 1 : 0;
    const int32_t end = mirrored ? c->stencil.count : center;
    int32_t present = 0;
    for (int32_t e = first; e < end; e++) {
        const int32_t j = find_coupling(shape, e);
        present += j >= 0;
        for (int64_t row = 0; row < c->tiles.points; row++) {
            const int64_t other = gsw_reference_neighbour(&c->grid, row, c->stencil.offsets[e], 1);
            if (other < 0)
                continue;
            MUST(j >= 0); /* dropped are only couplings that always leave the grid */
            check_dependence(&c->tiles, shape, j, &visits[row], &visits[other]);
        }
    }
    MUST(present == shape->count);
}

/* ---- packing ---- */

static int64_t record_of(const gsw_tiles *t, const visit *v) {
    return v->step % t->records;
}

/* No two points share a place: tile, record, lane of the pencil and line of the lane. */
static void check_places(const gsw_tiles *t, const visit *visits) {
    const int64_t members = (int64_t)t->tile.lines_y * t->tile.lines_z;
    const int64_t places = t->tiles_y * t->tiles_z * t->records * GSW_TILE_LANES * members;
    char *taken = calloc((size_t)places, 1);
    ck_assert_ptr_nonnull(taken);
    for (int64_t row = 0; row < t->points; row++) {
        const visit *v = &visits[row];
        const int64_t lane = gsw_tile_lane(t, v->ly, v->lz);
        const int64_t member = gsw_tile_member(t, v->ly, v->lz);
        MUST(lane >= 0 && lane < GSW_TILE_LANES && member >= 0 && member < members);
        const int64_t tile = v->k * t->tiles_y + v->j;
        const int64_t place =
            ((tile * t->records + record_of(t, v)) * GSW_TILE_LANES + lane) * members + member;
        MUST(!taken[place]);
        taken[place] = 1;
    }
    free(taken);
}

/* The same row in the lower and in the upper part: the mirrored tile, line and record. */
static void check_mirror(const gsw_tiles *t, const visit *lower, const visit *upper) {
    const int32_t members = t->tile.lines_y * t->tile.lines_z;
    for (int64_t row = 0; row < t->points; row++) {
        const visit *a = &lower[row], *b = &upper[row];
        MUST(b->j == t->tiles_y - 1 - a->j && b->k == t->tiles_z - 1 - a->k);
        MUST(b->ly == t->tile_y - 1 - a->ly && b->lz == t->tile_z - 1 - a->lz);
        MUST(gsw_tile_lane(t, b->ly, b->lz) == GSW_TILE_LANES - 1 - gsw_tile_lane(t, a->ly, a->lz));
        MUST(gsw_tile_member(t, b->ly, b->lz) == members - 1 - gsw_tile_member(t, a->ly, a->lz));
        /* The sum of the records is nx - 1 + delay, up to multiples of `records`. */
        MUST((record_of(t, a) + record_of(t, b) - (t->nx - 1 + t->delay)) % t->records == 0);
    }
}

/* A line of a tile's lanes owns its neighbours side by side: lane and member are the two digits of
 * the line's place. */
static void check_lines_of_lanes(const gsw_tiles *t) {
    for (int32_t lz = 0; lz < t->tile_z; lz++) {
        for (int32_t ly = 0; ly < t->tile_y; ly++) {
            const int32_t lane = gsw_tile_lane(t, ly, lz), member = gsw_tile_member(t, ly, lz);
            const int32_t lane_y = lane % t->tile.lanes_y, lane_z = lane / t->tile.lanes_y;
            MUST(ly == lane_y * t->tile.lines_y + member % t->tile.lines_y);
            MUST(lz == lane_z * t->tile.lines_z + member / t->tile.lines_y);
        }
    }
}

/* Steps and records are enough for the last line of a pencil, and at most one chunk more. */
static void check_sizes(const tiling *c) {
    const gsw_tiles *t = &c->tiles;
    MUST(t->points == c->grid.nx * c->grid.ny * c->grid.nz);
    MUST(t->nx * t->ny * t->nz == t->points);
    MUST(t->width == t->ny + (int64_t)t->shear * (t->nz - 1));
    MUST(t->tiles_y * t->tile_y >= t->width && (t->tiles_y - 1) * t->tile_y < t->width);
    MUST(t->tiles_z * t->tile_z >= t->nz && (t->tiles_z - 1) * t->tile_z < t->nz);
    MUST(gsw_tile_lines(t) == GSW_TILE_LANES * t->tile.lines_y * t->tile.lines_z);
    MUST(t->delay == (t->tile_y - 1) * t->skew_y + (t->tile_z - 1) * t->skew_z);
    MUST(t->steps % GSW_TILE_CHUNK == 0 && t->records % GSW_TILE_CHUNK == 0);
    MUST(t->steps >= t->nx + t->delay && t->steps < t->nx + t->delay + GSW_TILE_CHUNK);
    MUST(t->records >= t->nx && t->records < t->nx + GSW_TILE_CHUNK);
    MUST(t->skew_y >= 0 && t->skew_z >= 0 && t->shear >= 0);
}

static int same_line(gsw_tile_line a, gsw_tile_line b) {
    return a.y == b.y && a.z == b.z && a.row == b.row && a.inside == b.inside;
}

/* The lines before a tile, by negative numbers, are lines of the tiles before it. */
static void check_halo(const gsw_tiles *t, int mirrored) {
    for (int64_t k = 0; k < t->tiles_z; k++) {
        for (int64_t j = 0; j < t->tiles_y; j++) {
            for (int64_t lz = -t->halo_z; lz < t->tile_z; lz++) {
                for (int64_t ly = -t->halo_y; ly < t->tile_y; ly++) {
                    const int64_t before_y = gsw_floor_div(ly, t->tile_y);
                    const int64_t before_z = gsw_floor_div(lz, t->tile_z);
                    MUST(same_line(gsw_tile_line_of(t, mirrored, j, k, ly, lz),
                                   gsw_tile_line_of(t, mirrored, j + before_y, k + before_z,
                                                    ly - before_y * t->tile_y,
                                                    lz - before_z * t->tile_z)));
                }
            }
        }
    }
}

/* ---- the tests ---- */

static void check_tiling(const tiling *c) {
    check_sizes(c);
    check_lines_of_lanes(&c->tiles);
    visit *visits[2];
    for (int part = 0; part < 2; part++) {
        visits[part] = walk(c, part);
        check_dependences(c, part, visits[part]);
        check_places(&c->tiles, visits[part]);
        check_halo(&c->tiles, part);
    }
    check_mirror(&c->tiles, visits[0], visits[1]);
    free(visits[1]);
    free(visits[0]);
}

TEST(every_point_once_and_in_order) {
    const char *name;
    const gsw_stencil stencil = stencil_at(_i, &name);
    for (int g = 0; g < grid_count(); g++) {
        const gsw_grid grid = grid_at(g);
        for (int turn = 0; turn <= 1; turn++) {
            for (int s = 0; s < LENGTH(shapes); s++) {
                tiling *c = tiling_make(&grid, &stencil, name, turn, shapes[s]);
                check_tiling(c);
                free(c);
            }
        }
    }
}

/* The places of one record: all different, none beyond the record; as many whole vectors as there
 * are lie together, one lane's after the other's. */
static void check_record(int32_t terms, int32_t members, int32_t vector) {
    const int32_t count = terms * members, values = (count + members) * GSW_TILE_LANES;
    char *taken = calloc((size_t)values, 1);
    ck_assert_ptr_nonnull(taken);
    snprintf(subject, sizeof subject, "%d terms, %d lines a lane, vectors of %d", terms, members,
             vector);
    for (int32_t lane = 0; lane < GSW_TILE_LANES; lane++) {
        for (int32_t v = 0; v < count + members; v++) {
            const int32_t term = v / members, member = v % members;
            const int32_t at = gsw_packed_value(terms, members, vector, term, member, lane);
            MUST(at >= 0 && at < values);
            MUST(!taken[at]);
            taken[at] = 1;
            MUST((term == terms) == (at >= count * GSW_TILE_LANES));
            if (v < count - count % vector) {
                MUST(at % vector == v % vector);
                MUST(at / vector == v / vector * GSW_TILE_LANES + lane);
            }
        }
    }
    free(taken);
}

TEST(values_of_a_record_do_not_overlap) {
    for (int32_t terms = 0; terms <= GSW_STENCIL_MAX / 2; terms++)
        for (int32_t members = 1; members <= 2; members++)
            for (int32_t vector = 1; vector <= 4; vector *= 2)
                check_record(terms, members, vector);
}

TEST(known_skews) {
    static const struct {
        const char *name;
        int32_t shear, skew_y, skew_z, halo_y, halo_z;
    } known[] = {{"D2N5", 0, 1, 0, 1, 0},   {"D2N9", 0, 2, 0, 1, 0},   {"D3N7", 0, 1, 1, 1, 1},
                 {"D3N13", 0, 1, 1, 2, 2},  {"D3N15", 1, 1, 2, 2, 1},  {"D3N15X", 0, 2, 2, 1, 1},
                 {"D3N15Y", 1, 2, 1, 2, 1}, {"D3N15Z", 1, 1, 1, 2, 1}, {"D3N19", 1, 2, 1, 2, 1},
                 {"D3N27", 1, 2, 2, 2, 1},  {"D3N33", 1, 2, 2, 2, 2}};
    ck_assert_int_eq(LENGTH(known), GSW_NAMED_COUNT);
    for (int i = 0; i < LENGTH(known); i++) {
        const gsw_grid grid = {30, 20, known[i].name[1] == '2' ? 1 : 10};
        const gsw_stencil stencil = *oracle_stencil_named(known[i].name);
        gsw_tiles t;
        gsw_tiles_derive(&t, &grid, &stencil, 1);
        ck_assert_msg(t.shear == known[i].shear && t.skew_y == known[i].skew_y &&
                          t.skew_z == known[i].skew_z && t.halo_y == known[i].halo_y &&
                          t.halo_z == known[i].halo_z,
                      "%s: shear %d, skews %d and %d, halos %d and %d", known[i].name, t.shear,
                      t.skew_y, t.skew_z, t.halo_y, t.halo_z);
    }
}

/* Values kept for each point of a cube, one coefficient each. */
static double padding(const char *name, int64_t size, gsw_tile_shape shape) {
    const gsw_grid grid = {size, size, size};
    const gsw_stencil stencil = *oracle_stencil_named(name);
    gsw_tiles t;
    int64_t pencils = 0;
    gsw_tiles_derive(&t, &grid, &stencil, 1);
    gsw_tiles_cut(&t, shape);
    for (int64_t k = 0; k < t.tiles_z; k++)
        for (int64_t j = 0; j < t.tiles_y; j++)
            pencils += gsw_tile_used(&t, 0, j, k);
    return (double)(pencils * t.records * gsw_tile_lines(&t)) / (double)t.points;
}

/* Upright tiles fill a cube of whole tiles. Slanted tiles extend over both ends of each plane, by
 * up to a tile and the shear's way through one: 9 tiles for 8 at 64 points, 33 for 32 at 256. */
TEST(padding_is_small) {
    static const struct {
        const char *name;
        gsw_tile_shape shape;
        double at_64, at_100, at_256;
    } most[] = {
        {"D3N7", {8, 1, 2}, 1.0, 1.125, 1.0},
        {"D3N13", {8, 1, 2}, 1.0, 1.125, 1.0},
        {"D3N15", {8, 1, 1}, 9.0 / 8, 1.122, 33.0 / 32},
        {"D3N15X", {8, 1, 1}, 1.0, 1.082, 1.0},
        {"D3N19", {8, 1, 1}, 9.0 / 8, 1.122, 33.0 / 32},
        {"D3N27", {8, 1, 1}, 9.0 / 8, 1.122, 33.0 / 32},
    };
    for (int i = 0; i < LENGTH(most); i++) {
        const double at_64 = padding(most[i].name, 64, most[i].shape);
        const double at_100 = padding(most[i].name, 100, most[i].shape);
        const double at_256 = padding(most[i].name, 256, most[i].shape);
        ck_assert_msg(at_64 <= most[i].at_64 && at_100 <= most[i].at_100 &&
                          at_256 <= most[i].at_256,
                      "%s: %g values per point at 64^3, %g at 100^3, %g at 256^3", most[i].name,
                      at_64, at_100, at_256);
    }
}

/* Extents whose product is far beyond 32 bits. */
TEST(large_grids_do_not_overflow) {
    static const gsw_grid grids[] = {{2048, 2048, 2048}, {5, 40000, 60000}, {70000, 9, 50000}};
    static const char *const names[] = {"D3N7", "D3N27"};
    for (int g = 0; g < LENGTH(grids); g++) {
        for (int i = 0; i < LENGTH(names); i++) {
            const gsw_stencil stencil = *oracle_stencil_named(names[i]);
            tiling *c = tiling_make(&grids[g], &stencil, names[i], 1, (gsw_tile_shape){8, 1, 1});
            const gsw_tiles *t = &c->tiles;
            check_sizes(c);
            for (int mirrored = 0; mirrored < 2; mirrored++) {
                int64_t y, z;
                const int64_t last_lane = t->ny - 1 + t->shear * (t->nz - 1);
                gsw_tile_origin(t, mirrored, 0, 0, &y, &z);
                const int64_t j = (last_lane - y) / t->tile_y, k = (t->nz - 1 - z) / t->tile_z;
                const gsw_tile_line line = gsw_tile_line_of(
                    t, mirrored, j, k, (last_lane - y) % t->tile_y, (t->nz - 1 - z) % t->tile_z);
                MUST(line.inside && gsw_tile_used(t, mirrored, j, k));
                MUST(line.row + (t->nx - 1) * t->stride[0] == t->points - 1);
            }
            free(c);
        }
    }
}

/* Kernels are compiled for the named stencils, and are found by the shape of the parts. */
static void check_named(const gsw_grid *grid, const char *name, gsw_shape_name shape, int turn) {
    const gsw_stencil stencil = *oracle_stencil_named(name);
    const gsw_grid flat = {grid->nx, grid->ny, name[1] == '2' ? 1 : grid->nz};
    gsw_tiles t;
    gsw_tiles_derive(&t, &flat, &stencil, turn);
    for (int part = 0; part < 2; part++)
        ck_assert_msg(gsw_name_shape(&t.part[part]) == shape,
                      "%s on %lldx%lldx%lld, turn %d, part %d: taken for shape %d", name,
                      (long long)flat.nx, (long long)flat.ny, (long long)flat.nz, turn, part,
                      (int)gsw_name_shape(&t.part[part]));
}

TEST(named_stencils_are_known) {
    static const gsw_grid grids[] = {{12, 11, 10}, {12, 13, 9}, {11, 12, 40}};
    for (int i = 0; i < GSW_NAMED_COUNT; i++)
        for (int g = 0; g < LENGTH(grids); g++)
            check_named(&grids[g], gsw_stencil_known(i), (gsw_shape_name)(SHAPE_OTHER + 1 + i), 0);
}

/* Also where the lines run along another axis. */
TEST(turned_stencils_are_known) {
    static const gsw_grid grids[] = {{12, 11, 10}, {12, 13, 9}, {11, 12, 40}};
    for (int i = 0; i < GSW_NAMED_COUNT; i++)
        for (int g = 0; g < LENGTH(grids); g++)
            check_named(&grids[g], gsw_stencil_known(i), (gsw_shape_name)(SHAPE_OTHER + 1 + i), 1);
}

int main(void) {
    Suite *suite = suite_create("tiles");
    TCase *tc = suite_case(suite, "tiles", 120, NULL, NULL);
    TESTS(tc, values_of_a_record_do_not_overlap, known_skews, padding_is_small,
          large_grids_do_not_overflow, named_stencils_are_known, turned_stencils_are_known);
    LOOPS(tc, stencil_count(), every_point_once_and_in_order);
    return suite_run(suite, CK_FORK_GETENV);
}
