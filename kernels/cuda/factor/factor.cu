/* factor.cu: packed factors in device memory: their pencils, their memory, and the order in which
 * the kernels that fill and use them run. */
#include <math.h>
#include <stdlib.h>

#include "common/arrays.h"
#include "diagonal.cuh"
#include "cuda/eliminate/eliminate.cuh"
#include "cuda/factor/factors.cuh"
#include "cuda/multigrid/multigrid.cuh"
#include "pack.cuh"
#include "cuda/sweep/sweep.cuh"

namespace {

/* A pencil while the order is not yet complete. */
struct candidate {
    int32_t j, k;
    int64_t start; /* about when it can start, in steps */
};

int earlier(const void *left, const void *right) {
    const candidate *a = static_cast<const candidate *>(left);
    const candidate *b = static_cast<const candidate *>(right);
    if (a->start != b->start)
        return a->start < b->start ? -1 : 1;
    if (a->k != b->k)
        return a->k < b->k ? -1 : 1;
    return (a->j > b->j) - (a->j < b->j);
}

/* Along an axis of the tiles: a pencil's faces are counted in 32 bits. */
constexpr int64_t EXTENT_MAX = INT64_C(1) << 25;

/* A factor of more points is one section. */
constexpr int64_t SECTION_POINTS = int64_t{1} << 30;

/* Bounds of the weight of slabs, and how many pencils a multiprocessor has under way in large ones.
 */
constexpr int64_t SLAB_WEIGHT_MIN = 4, SLAB_WEIGHT_MAX = 10, UNDER_WAY = 2;

/* Processes number each other's pencils where rows are dealt out. So the order must not depend on
 * the device: this is an H100's and an H200's. */
constexpr int64_t MULTIPROCESSORS_OF_DEALT = 132;

/* The time of a hand-over between pencils, in steps. */
constexpr int64_t HAND_OVER = 10;

/* Neither a part of a grid nor swept in sections. */
bool is_whole(const gsw_factor *factor) {
    return !gsw_are_cut(&factor->sections) && !gsw_cuda_is_remote(factor);
}

gsw_status upload(gsw_context *context, const void *host, size_t bytes, void **device) {
    GSW_TRY(gsw_cuda_reserve(context, bytes, "the table of pencils", device));
    return gsw_cuda_check(
        context,
        cudaMemcpyAsync(*device, host, bytes, cudaMemcpyHostToDevice, gsw_cuda_of(context)->stream),
        "the table of pencils");
}

/* The tiles of a part along an axis in the order of its sweep, in sections of `of` tiles; 0: one
 * section. Both parts have the same sections; the upper part counts them from its last tile. */
struct sectioned_axis {
    int64_t tiles;
    bool upper;
    int64_t of;

    int64_t number(int64_t k) const {
        return of == 0 ? 0 : (upper ? tiles - 1 - k : k) / of;
    }
    /* The place of tile k in its section. */
    int64_t place(int64_t k) const {
        const int64_t end = (number(k) + 1) * of;
        if (of == 0)
            return k;
        return upper ? k - (end < tiles ? tiles - end : 0) : k % of;
    }
    /* Whether two tiles exist and lie in the same section. */
    bool joins(int64_t k, int64_t other) const {
        return k >= 0 && other >= 0 && k < tiles && other < tiles && number(k) == number(other);
    }
};

struct sectioned_tiles {
    sectioned_axis y, z;
};

/* The ticket of tile (j, k), as tile (from_j, from_k) needs it; -1: it has none, or is in another
 * section. */
int32_t ticket_at(const sectioned_tiles &s, const int32_t *ticket, int64_t j, int64_t k,
                  int64_t from_j, int64_t from_k) {
    return s.y.joins(j, from_j) && s.z.joins(k, from_k) ? ticket[k * s.y.tiles + j] : -1;
}

/* The place of tile (j, k) among the used ones of its row. */
int32_t place_in_row(const gsw_packed_view *view, int64_t j, int64_t k) {
    int64_t first, end;
    gsw_tiles_of_row(&view->tiles, (int)view->upper, k, &first, &end);
    return (int32_t)(j < first ? 0 : (j < end ? j : end) - first);
}

/* Numbers the pencils of other processes that the pencils of row `k`, the first or the last one of
 * the slab, read or are read by. */
void number_remote(const gsw_factor *factor, const gsw_packed_view *view, gsw_pencil *pencil) {
    const gsw_tiles *t = &view->tiles;
    const int64_t j = pencil->j, k = pencil->k, before = gsw_ghost_rows(factor, view, 0);
    const int upper = (int)view->upper;
    for (int side = 1; side < 3 && before > 0 && k == before; side++) {
        const int64_t of = j - (side == 2);
        if (gsw_tile_used(t, upper, of, k - 1))
            pencil->before[side] = gsw_remote_before(place_in_row(view, of, k - 1));
    }
    const int64_t after = gsw_ghost_rows(factor, view, 1);
    for (int side = 1; side < 3 && after > 0 && k == t->tiles_z - after - 1; side++) {
        if (gsw_tile_used(t, upper, j + (side == 2), k + 1))
            pencil->after[side] = view->pencils + place_in_row(view, j, k);
    }
}

/* The same for dealt pencils. Those of the rows next to row `k` may belong to other processes. */
void number_dealt(const gsw_factor *factor, const gsw_packed_view *view, const int32_t *ticket,
                  gsw_pencil *pencil, int32_t own) {
    const gsw_tiles *t = &view->tiles;
    const int upper = (int)view->upper;
    for (int side = 1; side < 3; side++) {
        const int64_t before = pencil->j - (side == 2), after = pencil->j + (side == 2);
        const int64_t k = pencil->k;
        if (gsw_tile_used(t, upper, before, k - 1) &&
            gsw_dealt_to(view, factor->deal, k - 1) != factor->deal->rank)
            pencil->before[side] = gsw_remote_before(ticket[(k - 1) * t->tiles_y + before]);
        if (gsw_tile_used(t, upper, after, k + 1) &&
            gsw_dealt_to(view, factor->deal, k + 1) != factor->deal->rank)
            pencil->after[side] = view->pencils + own;
    }
}

/* Pencils that the slab's neighbours share. */
void count_remote(const gsw_factor *factor, gsw_packed_view *view) {
    const gsw_tiles *t = &view->tiles;
    const int64_t before = gsw_ghost_rows(factor, view, 0);
    const int64_t after = gsw_ghost_rows(factor, view, 1);
    view->remote_before = before > 0 ? place_in_row(view, t->tiles_y, before - 1) : 0;
    view->remote_after = after > 0 ? place_in_row(view, t->tiles_y, t->tiles_z - after - 1) : 0;
}

/* One pencil later along y' counts as `weight` along z. More weight has pencils along z come
 * earlier. That helps in two cases: the slab of the next process waits for the last ones; and where
 * rows are dealt out, the pencils of a time lie in more slabs, so that more devices bring b and
 * take x (two devices gain nothing by that). Then rows / weight others have a ticket between those
 * of pencils (j, k - 1) and (j, k). While these are taken, the first one must come a hand-over
 * ahead, or too few pencils run at the same time. The weight is three quarters of what this allows
 * (perf/DECISIONS.md, Order w of pencils). */
int64_t weight_of(gsw_context *context, const gsw_factor *factor, const gsw_packed_view *view,
                  int64_t later_z) {
    const gsw_tiles *t = &view->tiles;
    const int64_t multiprocessors =
        factor->deal ? MULTIPROCESSORS_OF_DEALT : gsw_cuda_of(context)->multiprocessors;
    const int64_t hand_overs = UNDER_WAY * multiprocessors * later_z;
    const int64_t given = gsw_cuda_of(context)->slab_weight;
    const int64_t least = factor->deal ? 1 : SLAB_WEIGHT_MIN;
    int64_t rows = t->tiles_z - gsw_ghost_rows(factor, view, 0) - gsw_ghost_rows(factor, view, 1);
    if (!gsw_cuda_is_remote(factor))
        return 1;
    if (given > 0)
        return given;
    if (factor->deal && factor->deal->processes <= 2)
        return 1;
    if (factor->deal)
        rows /= factor->deal->processes;
    const int64_t weight = (3 * rows * t->steps + 2 * hand_overs) / (4 * hand_overs);
    return weight < least ? least : weight > SLAB_WEIGHT_MAX ? SLAB_WEIGHT_MAX : weight;
}

/* Lists the used tiles of a part with the time at which they can start. */
int32_t list_pencils(gsw_context *context, const gsw_factor *factor, const gsw_packed_view *view,
                     const sectioned_tiles &s, int32_t *ticket, candidate *list) {
    const gsw_tiles *t = &view->tiles;
    const int64_t before = gsw_ghost_rows(factor, view, 0);
    const int64_t after = gsw_ghost_rows(factor, view, 1);
    const int64_t later_z = (int64_t)t->skew_z * t->tile_z + HAND_OVER;
    const int64_t later_y =
        weight_of(context, factor, view, later_z) * ((int64_t)t->skew_y * t->tile_y + HAND_OVER);
    int32_t count = 0;
    memset(ticket, 0xff, (size_t)(t->tiles_y * t->tiles_z) * sizeof *ticket); /* -1: it has none */
    for (int64_t k = before; k < t->tiles_z - after; k++) {
        int64_t first, end;
        gsw_tiles_of_row(t, (int)view->upper, k, &first, &end);
        for (int64_t j = first; j < end; j++)
            list[count++] = {(int32_t)j, (int32_t)k,
                             s.y.place(j) * later_y + s.z.place(k) * later_z};
    }
    return count;
}

/* The process that sweeps a row of tiles, where rows are dealt out. */
int32_t owner_of(const gsw_factor *factor, const gsw_packed_view *view, int64_t k) {
    return factor->deal ? gsw_dealt_to(view, factor->deal, k) : 0;
}

/* Writes the entry of a pencil to table[its ticket]. */
void describe_pencil(const gsw_factor *factor, gsw_packed_view *view, const sectioned_tiles &s,
                     const int32_t *ticket, const candidate &tile, gsw_pencil *table) {
    const int64_t j = tile.j, k = tile.k;
    const int32_t own = ticket[k * s.y.tiles + j];
    const auto near = [&](int64_t dj, int64_t dk) {
        return owner_of(factor, view, k + dk) == owner_of(factor, view, k)
                   ? ticket_at(s, ticket, j + dj, k + dk, j, k)
                   : -1;
    };
    gsw_pencil *pencil = &table[own];
    *pencil = {tile.j,
               tile.k,
               {near(-1, 0), near(0, -1), near(-1, -1)},
               {near(1, 0), near(0, 1), near(1, 1)}};
    for (int32_t reader : pencil->after) {
        if (reader - own > view->distance)
            view->distance = reader - own;
    }
    if (factor->deal)
        number_dealt(factor, view, ticket, pencil, own);
    else
        number_remote(factor, view, pencil);
}

/* The kinds of a pencil's lines (repeats.h). */
void kinds_of_pencil(const gsw_factor *factor, const gsw_packed_view *view,
                     const gsw_pencil *pencil, int64_t reach, int64_t *kinds) {
    const gsw_tiles *t = &view->tiles;
    for (int32_t l = 0; l < gsw_tile_lines(t); l++) {
        const gsw_tile_line line = gsw_tile_line_of(t, (int)view->upper, pencil->j, pencil->k,
                                                    l % t->tile_y, l / t->tile_y);
        kinds[l] = gsw_line_kind(factor->repeat, reach, t->ny, t->nz, line.y, line.z);
    }
}

/* Where lines lie along x and coefficients repeat, pencils with lines of equal kinds share their
 * records: fills shared[] and lists the first ones of them in `writers`. */
gsw_status share_records(gsw_context *context, const gsw_factor *factor, gsw_packed_view *view,
                         const gsw_pencil *pencil, int32_t *shared, gsw_pencil *writers) {
    const int64_t reach = gsw_lines_reach(&factor->stencil);
    gsw_groups groups = {};
    gsw_status status = GSW_SUCCESS;
    groups.lines = gsw_tile_lines(&view->tiles);
    view->stored = 0;
    for (int32_t i = 0; i < view->pencils && status == GSW_SUCCESS; i++) {
        int64_t kinds[2 * GSW_TILE_LANES];
        int64_t number = i > 0 ? shared[i - 1] : 0;
        kinds_of_pencil(factor, view, &pencil[i], reach, kinds);
        status = gsw_groups_find(context, &groups, kinds, &number);
        shared[i] = (int32_t)number;
        if (number == view->stored)
            writers[view->stored++] = pencil[i];
    }
    free(groups.kinds);
    return status;
}

gsw_status upload_shared(gsw_context *context, const gsw_factor *factor, gsw_packed_view *view,
                         const gsw_pencil *pencil) {
    const auto count = (size_t)view->pencils;
    void *writers = NULL, *shared = NULL;
    gsw_status status;
    GSW_TRY_GOTO(gsw_alloc(context, count, sizeof *pencil, "the table of pencils", &writers),
                 cleanup);
    GSW_TRY_GOTO(gsw_alloc(context, count, sizeof(int32_t), "the table of pencils", &shared),
                 cleanup);
    GSW_TRY_GOTO(share_records(context, factor, view, pencil, static_cast<int32_t *>(shared),
                               static_cast<gsw_pencil *>(writers)),
                 cleanup);
    GSW_TRY_GOTO(upload(context, shared, count * sizeof(int32_t), (void **)&view->shared), cleanup);
    status =
        upload(context, writers, (size_t)view->stored * sizeof *pencil, (void **)&view->writers);
cleanup:
    free(shared);
    free(writers);
    return status;
}

/* Uploads the table of a part's pencils, and the list of those whose records are stored. */
gsw_status upload_pencils(gsw_context *context, const gsw_factor *factor, gsw_packed_view *view,
                          const gsw_pencil *pencil) {
    GSW_TRY(upload(context, pencil, (size_t)view->pencils * sizeof *pencil, (void **)&view->table));
    view->stored = view->pencils;
    view->writers = view->table;
    if (is_whole(factor) && view->tiles.stride[0] == 1 && gsw_lines_repeat(factor))
        return upload_shared(context, factor, view, pencil);
    return GSW_SUCCESS;
}

/* Orders the used tiles of a part by the time at which they can start. Every dependence leads to a
 * tile of the same section that is not after this one in y' or z, so to an earlier start. `ticket`
 * has room for all tiles. */
gsw_status order_pencils(gsw_context *context, const gsw_factor *factor, gsw_packed_view *view,
                         int32_t *ticket, candidate *list) {
    const gsw_tiles *t = &view->tiles;
    const bool upper = view->upper != 0;
    const sectioned_tiles s = {{t->tiles_y, upper, factor->sections.lines / t->tile_y},
                               {t->tiles_z, upper, factor->sections.planes / t->tile_z}};
    const int32_t count = list_pencils(context, factor, view, s, ticket, list);
    const int32_t rank = factor->deal ? factor->deal->rank : 0;
    qsort(list, (size_t)count, sizeof *list, earlier);
    for (int32_t i = 0; i < count; i++)
        ticket[list[i].k * t->tiles_y + list[i].j] =
            view->dealt[owner_of(factor, view, list[i].k)]++;
    view->pencils = view->dealt[rank];
    count_remote(factor, view);

    void *table;
    GSW_TRY(gsw_alloc(context, (size_t)view->pencils, sizeof(gsw_pencil), "the table of pencils",
                      &table));
    gsw_pencil *pencil = static_cast<gsw_pencil *>(table);
    for (int32_t i = 0; i < count; i++) {
        if (owner_of(factor, view, list[i].k) == rank)
            describe_pencil(factor, view, s, ticket, list[i], pencil);
    }
    const gsw_status status = upload_pencils(context, factor, view, pencil);
    free(table);
    return status;
}

/* Both parts have equally many pencils: the tiles of one are those of the other, point by point
 * reflected. */
gsw_status make_tables(gsw_context *context, const gsw_factor *factor) {
    gsw_packed *packed = factor->packed;
    const gsw_tiles *t = &packed->view[0].tiles;
    const size_t tiles = (size_t)(t->tiles_y * t->tiles_z);
    void *ticket = NULL, *list = NULL;
    gsw_status status;
    GSW_TRY_GOTO(gsw_alloc(context, tiles, sizeof(candidate), "the order of pencils", &list),
                 cleanup);
    GSW_TRY_GOTO(gsw_alloc(context, tiles, sizeof(int32_t), "the order of pencils", &ticket),
                 cleanup);
    for (int part = 0; part < 2; part++) {
        if (!packed->layout.present[part])
            continue;
        GSW_TRY_GOTO(order_pencils(context, factor, &packed->view[part],
                                   static_cast<int32_t *>(ticket), static_cast<candidate *>(list)),
                     cleanup);
        if (!packed->layout.present[!part])
            packed->view[!part].pencils = packed->view[part].pencils;
        if (factor->deal) {
            packed->view[part].tickets = static_cast<int32_t *>(ticket);
            ticket = NULL;
            GSW_TRY_GOTO(
                gsw_alloc(context, tiles, sizeof(int32_t), "the order of pencils", &ticket),
                cleanup);
        }
    }
    status = GSW_SUCCESS;
cleanup:
    free(list);
    free(ticket);
    return status;
}

gsw_status allocate_parts(gsw_context *context, gsw_factor *factor) {
    gsw_packed *packed = factor->packed;
    const int64_t size = (int64_t)gsw_dtype_size(factor->options.factor_type);
    const int64_t vectors =
        2 * factor->points * (int64_t)gsw_dtype_size(factor->options.vector_type);
    for (int part = 0; part < 2; part++) {
        gsw_packed_view *view = &packed->view[part];
        if (!packed->layout.present[part])
            continue;
        /* An elimination reads the upper rows of the slab below. */
        if (part == 1 && gsw_eliminates(factor->options.kind))
            view->spare = packed->view[0].remote_before;
        const int64_t bytes = (view->stored + view->spare) * gsw_pencil_values(view) * size;
        const int64_t read = factor->points * (view->terms + view->diagonal) * size;
        GSW_TRY(gsw_cuda_reserve(context, (size_t)bytes, "the packed factor", &view->values));
        factor->info.packed_bytes += bytes;
        factor->info.moved_bytes += (bytes < read ? bytes : read) + vectors;
    }
    return GSW_SUCCESS;
}

/* Sets the tiles, which are the same for both parts, and all that follows from them. */
void cut_parts(gsw_factor *factor, gsw_tiles tiles, gsw_shape_name shape, gsw_tile_shape tile) {
    gsw_packed *packed = factor->packed;
    packed->shape = shape;
    gsw_tiles_cut(&tiles, tile);
    packed->layout = gsw_factor_layout(&factor->options);
    for (int part = 0; part < 2; part++) {
        gsw_packed_view *view = &packed->view[part];
        view->tiles = tiles;
        view->upper = part;
        view->terms = tiles.part[part].count;
        view->diagonal = packed->layout.part[part].diagonal != 0;
        view->scale = packed->layout.part[part].scale != 0;
        view->members = tiles.tile.lines_y * tiles.tile.lines_z;
        view->vector = 16 / (int32_t)gsw_dtype_size(factor->options.factor_type);
    }
}

/* The shape of both parts. */
gsw_shape_name name_of_parts(const gsw_tiles &tiles) {
    const gsw_shape_name shape = gsw_name_shape(&tiles.part[0]);
    return shape == gsw_name_shape(&tiles.part[1]) ? shape : SHAPE_OTHER;
}

/* Chooses the tiles for the shape. On a device with little shared memory they may not fit. Then it
 * takes the widest tiles for any shape that fit. */
void choose_tiles(gsw_context *context, gsw_factor *factor, const gsw_tiles &tiles) {
    const gsw_shape_name shape = name_of_parts(tiles);
    cut_parts(factor, tiles, shape, gsw_cuda_tile_shape(context, shape, &tiles));
    if (gsw_cuda_of(context)->capability >= BULK_COPIES_SINCE)
        return;
    gsw_tile_shape tile = gsw_cuda_tile_shape(context, SHAPE_OTHER, &tiles);
    while (!gsw_cuda_sweep_fits(context, factor) && tile.lanes_y > tiles.halo_y) {
        cut_parts(factor, tiles, SHAPE_OTHER, tile);
        tile.lanes_y /= 2;
    }
}

/* Ghosts are whole tiles, and tiles of neighbouring slabs continue each other. */
gsw_status check_ghosts(gsw_context *context, const gsw_factor *factor, const gsw_tiles &tiles) {
    for (int64_t ghosts : factor->ghosts) {
        if (ghosts > 0 && (tiles.nz != factor->grid.nz || ghosts % tiles.tile_z != 0 ||
                           tiles.shear * ghosts % tiles.tile_y != 0))
            return gsw_fail(context, GSW_ERROR_UNSUPPORTED,
                            "slabs of other processes do not consist of whole tiles");
    }
    return GSW_SUCCESS;
}

/* Whether lines along the longest axis are faster than lines along x, where the stencil allows
 * them. It does not depend on the device, because it decides about the order of additions.
 *
 * Where memory is the limit, a line of n points takes as long as n + LINE_EXTRA, because its pencil
 * has a skew and must begin. Rows of b and x that lie across the lines cost more, most of all if
 * they do not begin at sectors of memory. Where the path through the grid is the limit, longer
 * lines make it shorter: a hand-over takes as long as LINE_POINTS points for each line of a pencil.
 * In the time of one point memory delivers POINTS_AT_ONCE (H100; perf/DECISIONS.md,
 * Turned lines). */
bool longer_lines_pay(const gsw_grid *grid) {
    constexpr double LINE_EXTRA = 34, LINE_POINTS = 2.15, ACROSS = 1.08, ACROSS_SECTORS = 1.37;
    constexpr double POINTS_AT_ONCE = 4500;
    constexpr int64_t SECTOR_VALUES = 4;
    const auto nx = (double)grid->nx, ny = (double)grid->ny, nz = (double)grid->nz;
    if (nx + LINE_POINTS * (ny + nz) > nx * ny * nz / POINTS_AT_ONCE)
        return true;
    const double across = grid->nx % SECTOR_VALUES == 0 ? ACROSS : ACROSS_SECTORS;
    return 1 + LINE_EXTRA / nx > across * (1 + LINE_EXTRA / fmax(nx, fmax(ny, nz)));
}

/* Slabs are planes of z, so their axes stay where they are. Stencils without a name may need the
 * longest axis for lines, because their couplings along it then stay in the line. */
void derive_tiles(const gsw_factor *factor, const gsw_stencil *stencil, gsw_tiles *tiles) {
    gsw_tiles_derive(tiles, &factor->grid, stencil, 0);
    if (!is_whole(factor))
        return;
    if (name_of_parts(*tiles) == SHAPE_OTHER || longer_lines_pay(&factor->grid))
        gsw_tiles_derive(tiles, &factor->grid, stencil, 1);
}

/* Tiles that a requested extent takes up; 0: all `tiles`, or none is requested. */
int64_t whole_tiles(int64_t requested, int64_t of_tile, int64_t tiles) {
    const int64_t some = gsw_ceil_div(requested, of_tile);
    return some < tiles ? some : 0;
}

/* Sections consist of whole tiles. The kernels that multiply by couplings between sections have
 * rows of 32 bits. Where the grid has no lines along x, or a single plane, the tiles' axes are
 * others than the grid's. */
void cut_sections(gsw_factor *factor, const gsw_tiles &tiles) {
    gsw_sections *s = &factor->sections;
    const gsw_grid *g = &factor->grid;
    const bool cut = factor->points <= SECTION_POINTS;
    const bool same_axes =
        g->nx > 1 && tiles.stride[1] == g->nx && (g->nz == 1 || tiles.stride[2] == g->nx * g->ny);
    s->planes = cut ? tiles.tile_z * whole_tiles(s->planes, tiles.tile_z, tiles.tiles_z) : 0;
    s->lines = cut && same_axes && tiles.shear <= 1
                   ? tiles.tile_y * whole_tiles(s->lines, tiles.tile_y, tiles.tiles_y)
                   : 0;
    s->shear = tiles.shear;
}

gsw_status describe_parts(gsw_context *context, gsw_factor *factor) {
    gsw_packed *packed = factor->packed;
    const gsw_stencil stencil =
        factor->options.transpose ? gsw_mirrored_stencil(&factor->stencil) : factor->stencil;
    gsw_tiles tiles;
    derive_tiles(factor, &stencil, &tiles);
    if (tiles.nx > EXTENT_MAX || tiles.width > EXTENT_MAX || tiles.nz > EXTENT_MAX)
        return gsw_fail(context, GSW_ERROR_UNSUPPORTED,
                        "factors on CUDA take at most 2^25 points along an axis, not %lld x %lld x "
                        "%lld",
                        (long long)factor->grid.nx, (long long)factor->grid.ny,
                        (long long)factor->grid.nz);
    choose_tiles(context, factor, tiles);
    tiles = packed->view[0].tiles;
    if (!is_whole(factor))
        GSW_TRY(check_ghosts(context, factor, tiles));
    cut_sections(factor, tiles);
    if (tiles.tiles_y * tiles.tiles_z > INT32_MAX / 4)
        return gsw_fail(context, GSW_ERROR_UNSUPPORTED, "the grid has too many lines for CUDA");
    if (gsw_eliminates(factor->options.kind))
        gsw_find_updates(tiles.part, factor->options.kind, &packed->updates);
    packed->diagonal_alone = gsw_cuda_diagonal_alone(factor);
    return GSW_SUCCESS;
}

gsw_status open_jacobi(gsw_context *context, gsw_factor *factor) {
    const int64_t size = (int64_t)gsw_dtype_size(factor->options.factor_type);
    factor->info.packed_bytes = factor->points * size;
    factor->info.moved_bytes =
        factor->points * (size + 2 * (int64_t)gsw_dtype_size(factor->options.vector_type));
    return gsw_cuda_reserve(context, (size_t)(factor->points * size), "the reciprocal diagonal",
                            &factor->packed->reciprocal);
}

/* Whether the device has memory for a large grid at all: its pencils would take minutes to list. */
gsw_status check_memory(gsw_context *context, const gsw_factor *factor) {
    void *room;
    if (factor->points <= SECTION_POINTS || factor->deal)
        return GSW_SUCCESS;
    GSW_TRY(gsw_cuda_reserve(context,
                             (size_t)factor->points * gsw_dtype_size(factor->options.factor_type),
                             "the packed factor", &room));
    gsw_cuda_unreserve(context, room);
    return GSW_SUCCESS;
}

gsw_status open_parts(gsw_context *context, gsw_factor *factor) {
    GSW_TRY(gsw_cuda_reserve(context, sizeof(gsw_cuda_pivots), "the report on pivots",
                             (void **)&factor->packed->pivots));
    if (factor->options.kind == GSW_JACOBI)
        return open_jacobi(context, factor);
    GSW_TRY(describe_parts(context, factor));
    GSW_TRY(check_memory(context, factor));
    GSW_TRY(make_tables(context, factor));
    if (factor->deal) /* its values come to the window, eliminated */
        return gsw_cuda_sweep_open(context, factor);
    GSW_TRY(allocate_parts(context, factor));
    GSW_TRY(gsw_cuda_eliminate_open(context, factor));
    return gsw_cuda_sweep_open(context, factor);
}

} // namespace

gsw_status gsw_cuda_factor_open(gsw_context *context, gsw_factor *factor) {
    void *packed;
    GSW_TRY(gsw_alloc(context, 1, sizeof(gsw_packed), "a factor", &packed));
    memset(packed, 0, sizeof(gsw_packed));
    factor->packed = static_cast<gsw_packed *>(packed);
    gsw_status status = open_parts(context, factor);
    if (status != GSW_SUCCESS)
        gsw_cuda_factor_close(context, factor);
    return status;
}

void gsw_cuda_factor_close(gsw_context *context, gsw_factor *factor) {
    gsw_packed *packed = factor->packed;
    if (!packed)
        return;
    (void)cudaStreamSynchronize(gsw_cuda_of(context)->stream);
    gsw_cuda_sweep_close(context, packed);
    gsw_cuda_eliminate_close(packed);
    for (int part = 1; part >= 0; part--) {
        if (!factor->deal)
            gsw_cuda_unreserve(context, packed->view[part].values);
        if (packed->view[part].writers != packed->view[part].table)
            gsw_cuda_unreserve(context, (void *)packed->view[part].writers);
        gsw_cuda_unreserve(context, (void *)packed->view[part].shared);
        gsw_cuda_unreserve(context, (void *)packed->view[part].table);
        free(packed->view[part].tickets);
    }
    gsw_cuda_unreserve(context, packed->written_memory);
    gsw_cuda_unreserve(context, packed->reciprocal);
    gsw_cuda_unreserve(context, packed->pivots);
    free(packed);
    factor->packed = NULL;
}

/* Copies a matrix whose values repeat, or its diagonal, to one with a value per point. */
static gsw_status write_out(gsw_context *context, gsw_factor *factor, const gsw_matrix *matrix) {
    gsw_packed *packed = factor->packed;
    const bool all = factor->options.kind != GSW_JACOBI;
    const int32_t first = all ? 0 : matrix->stencil.center;
    const int32_t end = all ? matrix->stencil.count : first + 1;
    const size_t array_bytes = (size_t)factor->points * sizeof(double); /* of either type */
    void *arrays[GSW_STENCIL_MAX] = {};
    if (!packed->written_memory) {
        const size_t bytes = (size_t)(end - first) * array_bytes;
        GSW_TRY(
            gsw_cuda_reserve(context, bytes, "the values of all points", &packed->written_memory));
        factor->info.work_bytes += (int64_t)bytes;
    }
    packed->written = *matrix;
    packed->written.array.repeat = GSW_REPEAT_NONE;
    packed->written.array.values = packed->written_values;
    for (int32_t e = first; e < end; e++) {
        if (matrix->array.values[e])
            arrays[e] =
                static_cast<char *>(packed->written_memory) + (size_t)(e - first) * array_bytes;
        packed->written_values[e] = arrays[e];
    }
    return gsw_cuda_copy_arrays(context, matrix, matrix->array.value_type, arrays);
}

gsw_status gsw_cuda_factor_fill(gsw_context *context, gsw_factor *factor, const gsw_matrix *matrix,
                                const gsw_matrix *upper) {
    if (gsw_matrix_kind_of(matrix) == GSW_KIND_REPEAT &&
        (gsw_eliminates(factor->options.kind) || factor->options.kind == GSW_JACOBI)) {
        GSW_TRY(write_out(context, factor, matrix));
        matrix = &factor->packed->written;
    }
    GSW_TRY(gsw_cuda_forget_pivots(context, factor));
    factor->packed->pivots_known = false;
    if (factor->options.kind == GSW_JACOBI)
        return gsw_cuda_jacobi_fill(context, factor, matrix);
    if (gsw_cuda_diagonal_suits(factor, matrix) && !factor->as_slab) {
        factor->packed->unchecked = *matrix;
        factor->packed->pivots_known = true; /* unless they are unfit */
        return gsw_cuda_diagonal_fill(context, factor, matrix);
    }
    GSW_TRY(gsw_cuda_pack(context, factor, matrix, upper));
    return gsw_eliminates(factor->options.kind) ? gsw_cuda_eliminate(context, factor) : GSW_SUCCESS;
}

gsw_status gsw_cuda_factor_await(gsw_context *context, gsw_factor *factor) {
    gsw_cuda_pivots found;
    GSW_TRY(gsw_cuda_await_pivots(context, factor, &found));
    if (found.unfit) {
        factor->packed->pivots_known = false;
        GSW_TRY(gsw_cuda_forget_pivots(context, factor));
        GSW_TRY(gsw_cuda_pack(context, factor, &factor->packed->unchecked, NULL));
        GSW_TRY(gsw_cuda_eliminate(context, factor));
        GSW_TRY(gsw_cuda_await_pivots(context, factor, &found));
    }
    const int64_t ghosts = gsw_points_below(factor);
    factor->info.first_bad_row = found.bad == INT64_MAX ? -1 : found.bad - ghosts;
    factor->info.shifted_pivots = found.shifted;
    return gsw_factor_report(context, factor,
                             found.misfit == INT64_MAX ? -1 : found.misfit - ghosts,
                             found.beyond == INT64_MAX ? -1 : found.beyond - ghosts);
}

gsw_status gsw_cuda_factor_sweep(gsw_context *context, gsw_factor *factor, int which, int64_t count,
                                 const void *b, int64_t ldb, void *x, int64_t ldx) {
    if (factor->options.kind == GSW_JACOBI)
        return gsw_cuda_jacobi_apply(context, factor, count, b, ldb, x, ldx);
    return gsw_cuda_sweep(context, factor, factor->packed->layout.upper[which], count, b, ldb, x,
                          ldx);
}
