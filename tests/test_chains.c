/* test_chains.c: the sweep coordinates of kernels/geometry/chains.h against the definition of a
 * dependence, for every point of many small grids. Each point is computed exactly once. Everything
 * that it depends on is computed earlier in its own pencil, or in an earlier pencil within the lag
 * that the hand-over waits for. */
#include <check.h>
#include <stdlib.h>
#include "reference/reference.h"
#include "geometry/chains.h"
#include "oracle.h"
#include "suite.h"

/* When and where a row is computed. */
typedef struct visit {
    int64_t pencil, step, absolute, chain, record;
} visit;

/* Check reports every assertion to its parent process, which is too slow for millions of them. They
 * use this macro instead. */
#define MUST(condition)                                                                            \
    do {                                                                                           \
        if (!(condition))                                                                          \
            ck_abort_msg("%s", #condition);                                                        \
    } while (0)

static const int32_t widths[] = {1, 2, 4, 8};

/* Walks all pencils of one direction; fails if a point is met twice or never. */
static visit *walk(const gsw_chains *g, int mirrored) {
    visit *visits = malloc((size_t)g->points * sizeof *visits);
    ck_assert_ptr_nonnull(visits);
    for (int64_t row = 0; row < g->points; row++)
        visits[row].pencil = -1;
    int64_t record = 0, met = 0;
    for (int64_t q = 0; q < g->pencils; q++) {
        int64_t first, last;
        gsw_pencil_planes(g, mirrored, q, &first, &last);
        for (int64_t s = 0; s < gsw_pencil_steps(g, mirrored, q); s++, record++) {
            for (int64_t l = 0; l < g->chains; l++) {
                const gsw_place place =
                    gsw_place_of(g, gsw_first_chain(g, mirrored, q), first, s, l);
                if (!place.inside)
                    continue;
                visit *v = &visits[place.row + place.x];
                MUST(v->pencil < 0); /* not computed before */
                *v = (visit){q, s, first * g->nx + s, l, record};
                met++;
            }
        }
    }
    MUST(record == g->records);
    MUST(met == g->points);
    return visits;
}

static void check_dependences(const gsw_chains *g, int mirrored, const visit *visits) {
    const gsw_shape *shape = &g->part[mirrored];
    const gsw_grid grid = {g->nx, g->ny, g->nz};
    for (int64_t row = 0; row < g->points; row++) {
        const visit *own = &visits[row];
        for (int32_t j = 0; j < shape->count; j++) {
            const int64_t other = gsw_reference_neighbour(&grid, row, shape->offset[j], 1);
            if (other < 0)
                continue;
            const visit *v = &visits[other];
            const int64_t chains_apart =
                (v->pencil - own->pencil) * g->chains + v->chain - own->chain;
            MUST(chains_apart == shape->dl[j]);
            MUST(v->pencil <= own->pencil);
            /* A chain of an earlier pencil is in the same step as it would be in this pencil, plus
             * the lag for each pencil between. */
            const int64_t lag = (own->pencil - v->pencil) * g->chains * g->skew;
            MUST(own->absolute - shape->back[j] + lag == v->absolute);
            MUST(shape->back[j] >= 1);
            MUST(shape->back[j] <= shape->reach);
            MUST(-shape->dl[j] <= shape->halo);
        }
    }
}

/* Point i of the lower sweep and point points-1-i of the upper one share a record, reversed. */
static void check_mirror(const gsw_chains *g, const visit *lower, const visit *upper) {
    for (int64_t row = 0; row < g->points; row++) {
        const visit *a = &lower[row], *b = &upper[g->points - 1 - row];
        MUST(a->record == g->records - 1 - b->record);
        MUST(a->chain == g->chains - 1 - b->chain);
    }
}

static void check_case(const gsw_grid *grid, const gsw_stencil *stencil, int32_t chains,
                       int32_t slack) {
    gsw_chains *g = calloc(1, sizeof *g);
    ck_assert_ptr_nonnull(g);
    gsw_chains_derive(g, grid, stencil, slack);
    gsw_chains_cut(g, chains);
    ck_assert_int_eq(g->points, grid->nx * grid->ny * grid->nz);
    visit *lower = walk(g, 0), *upper = walk(g, 1);
    check_dependences(g, 0, lower);
    check_dependences(g, 1, upper);
    check_mirror(g, lower, upper);
    free(upper);
    free(lower);
    free(g);
}

TEST(every_point_once_and_in_order) {
    int cases = 0;
    for (int i = 0; i < oracle_grid_count(); i++) {
        const gsw_grid grid = oracle_grid(i);
        for (int j = 0; j < oracle_stencil_count(); j++) {
            const gsw_stencil *stencil = oracle_stencil(j, NULL);
            for (size_t w = 0; w < sizeof widths / sizeof widths[0]; w++, cases++)
                check_case(&grid, stencil, widths[w], (int32_t)(w % 3));
        }
    }
    ck_assert_int_ge(cases, 300);
}

TEST(known_coordinates) {
    static const struct {
        const char *name;
        int32_t shear, skew, halo;
    } known[] = {{"D2N5", 0, 1, 1},  {"D2N9", 0, 2, 1},   {"D3N7", 0, 1, 1},   {"D3N13", 0, 1, 2},
                 {"D3N15", 1, 1, 2}, {"D3N15X", 0, 2, 1}, {"D3N15Y", 1, 2, 2}, {"D3N15Z", 1, 1, 2},
                 {"D3N19", 1, 2, 2}, {"D3N27", 1, 2, 2},  {"D3N33", 1, 2, 2}};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        const gsw_grid grid = {30, 20, known[i].name[1] == '2' ? 1 : 10};
        gsw_stencil stencil;
        gsw_chains g;
        ck_assert_int_eq(gsw_stencil_named(known[i].name, &stencil), GSW_SUCCESS);
        gsw_chains_derive(&g, &grid, &stencil, 0);
        ck_assert_msg(g.shear == known[i].shear && g.skew == known[i].skew &&
                          g.part[0].halo == known[i].halo && g.part[1].halo == known[i].halo,
                      "%s: shear %d, skew %d, halo %d", known[i].name, g.shear, g.skew,
                      g.part[0].halo);
    }
}

/* Extents whose product is far beyond 32 bits. */
TEST(large_grids_do_not_overflow) {
    const gsw_grid grid = {2048, 2048, 2048};
    gsw_stencil stencil;
    gsw_chains g;
    ck_assert_int_eq(gsw_stencil_named("D3N27", &stencil), GSW_SUCCESS);
    gsw_chains_derive(&g, &grid, &stencil, 2);
    gsw_chains_cut(&g, 8);
    ck_assert_int_eq(g.points, INT64_C(8589934592));
    ck_assert_int_eq(g.width, 2048 + 2047);
    ck_assert(g.records * g.chains > g.points);
    ck_assert((double)(g.records * g.chains) < 1.01 * (double)g.points);
    const gsw_place last =
        gsw_place_of(&g, gsw_first_chain(&g, 0, g.pencils - 1), 2047, 2047 + 6 * g.skew, 6);
    ck_assert_int_eq(last.row + last.x, g.points - 1);
}

TEST(floor_and_ceiling) {
    for (int64_t a = -20; a <= 20; a++) {
        for (int64_t b = 1; b <= 5; b++) {
            const int64_t f = gsw_floor_div(a, b), c = gsw_ceil_div(a, b);
            ck_assert(f * b <= a && a < (f + 1) * b);
            ck_assert(c * b >= a && a > (c - 1) * b);
        }
    }
}

int main(void) {
    Suite *suite = suite_create("chains");
    TCase *tc = suite_case(suite, "chains", 120, NULL, NULL);
    TESTS(tc, every_point_once_and_in_order, known_coordinates, large_grids_do_not_overflow,
          floor_and_ceiling);
    return suite_run(suite, CK_FORK_GETENV);
}
