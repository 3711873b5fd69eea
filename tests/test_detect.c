/* test_detect.c: detection of the grid and the stencil of a CSR matrix. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "context_fixture.h"
#include "grid_csr.h"
#include "oracle.h"

/* Detects and compares; `name` is the stencil's. */
static void assert_found(const gsw_csr *csr, int64_t nx, int64_t ny, int64_t nz, const char *name) {
    gsw_grid grid;
    gsw_stencil stencil;
    gsw_status status = gsw_detect(context, csr, NULL, &grid, &stencil);
    ck_assert_msg(status == GSW_SUCCESS, "%lld x %lld x %lld %s: %s", (long long)nx, (long long)ny,
                  (long long)nz, name, gsw_context_message(context));
    ck_assert_msg(grid.nx == nx && grid.ny == ny && grid.nz == nz &&
                      strcmp(gsw_stencil_name(&stencil), name) == 0,
                  "%lld x %lld x %lld %s was found as %lld x %lld x %lld %s", (long long)nx,
                  (long long)ny, (long long)nz, name, (long long)grid.nx, (long long)grid.ny,
                  (long long)grid.nz, gsw_stencil_name(&stencil));
}

/* The result must be a view that validates, whatever it is. */
static void assert_explains(const gsw_csr *csr, const gsw_grid *grid, const gsw_stencil *stencil) {
    gsw_matrix matrix;
    must(context, gsw_matrix_from_csr(context, grid, stencil, csr, &matrix));
    must(context, gsw_matrix_validate(context, &matrix));
}

static csr_recipe plain(gsw_grid grid, const char *name) {
    return (csr_recipe){.grid = grid, .stencil = named_stencil(name), .part = GSW_FULL};
}

static void assert_recipe_found(const csr_recipe *recipe, uint64_t seed, const char *name) {
    const size_t mark = keep_mark();
    gsw_csr csr = make_csr(recipe, seed);
    assert_found(&csr, recipe->grid.nx, recipe->grid.ny, recipe->grid.nz, name);
    keep_release(mark);
}

/* ---- what must be found -----------------------------------------------------------------------*/

static int in_space(const char *name) {
    return name[1] == '3';
}

/* Variants are numbers of which the remainders by 2 and 3 say what to try. */
enum { VARIANT_STEP = ORACLE_STRIDE > 1 ? 11 : 1 };

/* Every stencil on every 3D grid that is wide enough to identify, in every kind of view. */
TEST(named_stencils_in_space) {
    static const gsw_grid grids[] = {{5, 5, 5},  {8, 8, 8},   {16, 5, 7}, {7, 11, 13}, {5, 16, 9},
                                     {31, 6, 5}, {12, 10, 5}, {6, 5, 40}, {9, 24, 6}};
    const char *name;
    for (int s = 0; (name = gsw_stencil_known(s)) != NULL; s++)
        for (int g = 0; in_space(name) && g < (int)(sizeof grids / sizeof *grids); g++)
            for (int variant = 0; variant < 12; variant += VARIANT_STEP) {
                csr_recipe recipe = plain(grids[g], name);
                recipe.part = (gsw_part)(variant % 3);
                recipe.index_type = variant & 1 ? GSW_I64 : GSW_I32;
                recipe.value_type = variant & 2 ? GSW_F32 : GSW_F64;
                recipe.base = variant >= 6;
                assert_recipe_found(&recipe, 1, name);
            }
}

TEST(named_stencils_in_the_plane) {
    static const gsw_grid grids[] = {{5, 5, 1},  {8, 8, 1},   {7, 13, 1}, {64, 5, 1},
                                     {5, 64, 1}, {16, 36, 1}, {30, 30, 1}};
    static const char *const names[] = {"D2N5", "D2N9", "D3N13"};
    for (int s = 0; s < 3; s++)
        for (int g = 0; g < (int)(sizeof grids / sizeof *grids); g++)
            for (int part = GSW_LOWER; part <= GSW_FULL; part++) {
                csr_recipe recipe = plain(grids[g], names[s]);
                recipe.part = (gsw_part)part;
                assert_recipe_found(&recipe, 1, names[s]);
            }
}

/* A 3D stencil on a flat grid is the plane's stencil. */
TEST(flat_grids_have_plane_stencils) {
    csr_recipe recipe = plain((gsw_grid){9, 8, 1}, "D3N7");
    assert_recipe_found(&recipe, 1, "D2N5");
    recipe.stencil = named_stencil("D3N27");
    assert_recipe_found(&recipe, 1, "D2N9");
    /* y and z of a grid with nx = 1 are found as x and y: the larger nx wins. */
    recipe = plain((gsw_grid){1, 9, 8}, "D3N7");
    gsw_csr csr = make_csr(&recipe, 1);
    assert_found(&csr, 9, 8, 1, "D2N5");
}

TEST(chains) {
    for (int64_t n = 1; n < 40; n++)
        for (int part = GSW_LOWER; part <= GSW_FULL; part++) {
            csr_recipe recipe = plain((gsw_grid){n, 1, 1}, "D2N5");
            recipe.part = (gsw_part)part;
            assert_recipe_found(&recipe, 1, "D2N5");
        }
}

TEST(diagonal_and_empty_matrices) {
    int64_t row_ptr[61] = {0};
    int64_t columns[60];
    double values[60] = {0};
    gsw_csr csr = {.rows = 60,
                   .row_ptr = row_ptr,
                   .columns = columns,
                   .values = values,
                   .index_type = GSW_I64};
    assert_found(&csr, 60, 1, 1, "D2N5");
    for (int i = 0; i < 60; i++) {
        columns[i] = i;
        row_ptr[i + 1] = i + 1;
    }
    csr.nonzeros = 60;
    csr.values = NULL; /* values are not read */
    assert_found(&csr, 60, 1, 1, "D2N5");
}

TEST(missing_couplings) {
    const char *name;
    for (int s = 0; (name = gsw_stencil_known(s)) != NULL; s++)
        for (uint64_t seed = 1; in_space(name) && seed < 20; seed++) {
            csr_recipe recipe = plain((gsw_grid){10, 9, 8}, name);
            recipe.missing = 40;
            assert_recipe_found(&recipe, seed, name);
        }
}

/* Tiny grids have several explanations. The result must hold and must not be larger than the
 * stencil of the recipe. */
TEST(tiny_grids_are_explained) {
    uint64_t seed = 7;
    for (int s = 0; gsw_stencil_known(s) != NULL; s++)
        for (int64_t nx = 1; nx <= 5; nx++)
            for (int64_t ny = 1; ny <= 5; ny++)
                for (int64_t nz = 1; nz <= 5; nz++)
                    for (int missing = 0; missing <= 50; missing += 25) {
                        csr_recipe recipe = plain((gsw_grid){nx, ny, nz}, gsw_stencil_known(s));
                        recipe.missing = missing;
                        gsw_csr csr = make_csr(&recipe, next_random(&seed));
                        gsw_grid grid;
                        gsw_stencil stencil;
                        must(context, gsw_detect(context, &csr, NULL, &grid, &stencil));
                        ck_assert_str_ne(gsw_stencil_name(&stencil), "custom");
                        ck_assert_int_le(stencil.count, recipe.stencil.count);
                        assert_explains(&csr, &grid, &stencil);
                    }
}

/* A random subset of the 5 x 5 x 5 cube. It contains the axis neighbours (without them the grid is
 * not determined) and an offset that no named stencil has. */
static gsw_stencil random_stencil(uint64_t *seed) {
    gsw_offset offsets[GSW_STENCIL_MAX];
    int32_t count = 0;
    for (int dz = -2; dz <= 2; dz++)
        for (int dy = -2; dy <= 2; dy++)
            for (int dx = -2; dx <= 2; dx++) {
                int axis = abs(dx) + abs(dy) + abs(dz) <= 1;
                int knight = dx == 2 && dy == 1 && dz == 0;
                if (axis || knight || next_random(seed) % 100 < 20)
                    offsets[count++] = (gsw_offset){dx, dy, dz};
            }
    gsw_stencil stencil;
    must(context, gsw_stencil_from_offsets(offsets, count, &stencil));
    return stencil;
}

TEST(custom_stencils) {
    uint64_t seed = 3;
    for (int i = 0; i < 60; i++) {
        csr_recipe recipe = {.grid = {11, 13, 7}, .stencil = random_stencil(&seed)};
        recipe.part = GSW_FULL;
        recipe.index_type = i & 1 ? GSW_I64 : GSW_I32;
        gsw_csr csr = make_csr(&recipe, seed);
        gsw_grid grid;
        gsw_stencil stencil;
        must(context, gsw_detect(context, &csr, NULL, &grid, &stencil));
        ck_assert_int_eq(grid.nx, 11);
        ck_assert_int_eq(grid.ny, 13);
        ck_assert_int_eq(grid.nz, 7);
        ck_assert_int_eq(stencil.count, recipe.stencil.count);
        for (int e = 0; e < stencil.count; e++)
            ck_assert_int_eq(gsw_stencil_find(&recipe.stencil, stencil.offsets[e]), e);
    }
}

/* ---- given extents ----------------------------------------------------------------------------*/

TEST(given_extents_decide) {
    /* A chain of 24 rows is also a 6 x 4 grid where no line is coupled to the next. */
    int32_t row_ptr[25] = {0};
    int32_t columns[24];
    static const double values[24] = {0};
    for (int i = 0; i < 24; i++) {
        columns[i] = i % 6 == 5 ? i : i + 1;
        row_ptr[i + 1] = i + 1;
    }
    gsw_csr csr = {
        .rows = 24, .nonzeros = 24, .row_ptr = row_ptr, .columns = columns, .values = values};
    assert_found(&csr, 24, 1, 1, "D2N5");
    const gsw_grid given = {6, 4, 1};
    gsw_grid grid;
    gsw_stencil stencil;
    must(context, gsw_detect(context, &csr, &given, &grid, &stencil));
    ck_assert_int_eq(grid.nx, 6);
    ck_assert_int_eq(grid.ny, 4);
    ck_assert_str_eq(gsw_stencil_name(&stencil), "D2N5");
    /* On an 8 x 3 grid the same couplings cross lines: exactly the offsets that occur. */
    const gsw_grid other = {8, 3, 1};
    must(context, gsw_detect(context, &csr, &other, &grid, &stencil));
    ck_assert_int_eq(stencil.count, 3);
    ck_assert_int_ge(gsw_stencil_find(&stencil, (gsw_offset){1, 0, 0}), 0);
    ck_assert_int_ge(gsw_stencil_find(&stencil, (gsw_offset){-7, 1, 0}), 0);
    assert_explains(&csr, &grid, &stencil);
}

TEST(given_extents_allow_long_offsets) {
    const gsw_offset offsets[] = {{0, 0, 0}, {-7, 0, 0}, {5, 3, 0}, {0, -4, 1}};
    csr_recipe recipe = {.grid = {16, 9, 3}, .part = GSW_FULL};
    must(context, gsw_stencil_from_offsets(offsets, 4, &recipe.stencil));
    gsw_csr csr = make_csr(&recipe, 1);
    gsw_grid grid;
    gsw_stencil stencil;
    must(context, gsw_detect(context, &csr, &recipe.grid, &grid, &stencil));
    ck_assert_int_eq(stencil.count, 4);
    for (int e = 0; e < 4; e++)
        ck_assert_int_eq(gsw_stencil_find(&recipe.stencil, stencil.offsets[e]), e);
}

TEST(bad_extents_are_refused) {
    csr_recipe recipe = plain((gsw_grid){4, 4, 4}, "D3N7");
    gsw_csr csr = make_csr(&recipe, 1);
    static const gsw_grid bad[] = {{4, 4, 5}, {-4, -4, 4}, {0, 4, 4}, {INT64_MAX, INT64_MAX, 2}};
    gsw_grid grid = {.nx = 77};
    gsw_stencil stencil;
    for (int i = 0; i < 4; i++) {
        expect_rejection(gsw_detect(context, &csr, &bad[i], &grid, &stencil), "extents");
        ck_assert_int_eq(grid.nx, 77);
    }
}

/* ---- what must be refused ---------------------------------------------------------------------*/

/* With these extents, or without any where `given` is NULL. */
static void assert_refused_on(const gsw_grid *given, const gsw_csr *csr, gsw_status expected,
                              const char *part) {
    gsw_grid grid = {.nx = 77};
    gsw_stencil stencil = {.count = 77};
    expect_refusal(gsw_detect(context, csr, given, &grid, &stencil), expected, part);
    ck_assert_int_eq(grid.nx, 77);
    ck_assert_int_eq(stencil.count, 77);
}

static void assert_refused(const gsw_csr *csr, gsw_status expected, const char *part) {
    assert_refused_on(NULL, csr, expected, part);
}

/* Moves the last entry of a row to another column after the others. */
static void move_last(const gsw_csr *csr, int64_t row, int64_t column) {
    int64_t k = gsw_index_at(csr->row_ptr, csr->index_type, row + 1) - csr->base - 1;
    set_index(csr->columns, csr->index_type, k, column + csr->base);
}

TEST(a_coupling_elsewhere_is_named) {
    csr_recipe recipe = plain((gsw_grid){10, 9, 8}, "D3N7");
    for (recipe.base = 0; recipe.base <= 1; recipe.base++) {
        gsw_csr csr = make_csr(&recipe, 1);
        move_last(&csr, 333, 333 + 137);
        assert_refused(&csr, GSW_ERROR_NOT_A_GRID,
                       recipe.base
                           ? "row 334 (1-based), (x, y, z) = (3, 6, 3): offset +137 (column 471)"
                           : "row 333 (0-based), (x, y, z) = (3, 6, 3): offset +137 (column 470)");
        assert_message("10 x 9 x 8");
        ck_assert_ptr_null(strstr(gsw_context_message(context), "natural order"));
    }
}

TEST(a_coupling_around_the_boundary_is_named) {
    /* Row 49 ends a line of 10; its last coupling, +10, becomes +1: the next line's first row. */
    csr_recipe recipe = plain((gsw_grid){10, 9, 1}, "D2N5");
    gsw_csr csr = make_csr(&recipe, 1);
    move_last(&csr, 49, 50);
    assert_refused(&csr, GSW_ERROR_NOT_A_GRID,
                   "row 49 (0-based), (x, y, z) = (9, 4, 0): offset +1 (column 50)");
    assert_message("10 x 9 x 1");
}

/* ---- periodic grids and rows in another order -------------------------------------------------
 */

/* A grid's matrix whose row k is point order[k] (NULL: k); bit d of `periodic`: axis d is. */
static gsw_csr make_wrapped(const csr_recipe *r, int periodic, const int64_t *order) {
    const gsw_grid *g = &r->grid;
    const int64_t points = g->nx * g->ny * g->nz;
    const int64_t extent[3] = {g->nx, g->ny, g->nz};
    gsw_csr csr = {.rows = points,
                   .row_ptr = keep_bytes(((size_t)points + 1) * 8),
                   .columns = keep_bytes((size_t)points * (size_t)r->stencil.count * 8),
                   .values = keep_bytes((size_t)points * (size_t)r->stencil.count * 8),
                   .index_type = r->index_type,
                   .base = r->base};
    int64_t *row_of = keep_bytes((size_t)points * sizeof *row_of);
    for (int64_t k = 0; k < points; k++)
        row_of[order ? order[k] : k] = k;
    set_index(csr.row_ptr, r->index_type, 0, r->base);
    int64_t next = 0;
    for (int64_t row = 0; row < points; row++) {
        const int64_t begin = next, point = order ? order[row] : row;
        for (int e = 0; e < r->stencil.count; e++) {
            gsw_offset o = r->stencil.offsets[e];
            int64_t p[3] = {point % g->nx + o.dx, point / g->nx % g->ny + o.dy,
                            point / g->nx / g->ny + o.dz};
            for (int d = 0; d < 3; d++)
                if (periodic >> d & 1)
                    p[d] = (p[d] + extent[d]) % extent[d];
            if (!is_inside(g, p[0], p[1], p[2]))
                continue;
            const int64_t column = row_of[gsw_grid_row(g, p[0], p[1], p[2])];
            if ((r->part == GSW_UPPER && column < row) || (r->part == GSW_LOWER && column > row))
                continue;
            int64_t k = next++;
            for (; k > begin && gsw_index_at(csr.columns, r->index_type, k - 1) > column + r->base;
                 k--)
                set_index(csr.columns, r->index_type, k,
                          gsw_index_at(csr.columns, r->index_type, k - 1));
            set_index(csr.columns, r->index_type, k, column + r->base);
        }
        set_index(csr.row_ptr, r->index_type, row + 1, next + r->base);
    }
    csr.nonzeros = next;
    return csr;
}

/* Such a grid is found, whether its extents are given or not, and so is the near stencil. */
static void assert_periodic(const csr_recipe *recipe, int periodic) {
    const gsw_grid *g = &recipe->grid;
    gsw_grid found, extents = *g;
    gsw_stencil stencil;
    gsw_matrix matrix;
    gsw_csr copy;
    keep_release(0);
    gsw_csr csr = make_wrapped(recipe, periodic, NULL);
    for (int given = 0; given < 3; given++) {
        extents.periodic = given == 2 ? periodic : 0;
        must(context, gsw_detect(context, &csr, given ? &extents : NULL, &found, &stencil));
        ck_assert(found.nx == g->nx && found.ny == g->ny && found.nz == g->nz);
        ck_assert_int_eq(found.periodic, periodic);
        for (int32_t e = 0; e < stencil.count; e++)
            ck_assert(abs(stencil.offsets[e].dx) <= 2 && abs(stencil.offsets[e].dy) <= 2 &&
                      abs(stencil.offsets[e].dz) <= 2);
    }
    must(context, gsw_matrix_fit(context, &csr, NULL, NULL, &matrix, &copy));
    ck_assert_int_eq(matrix.grid.periodic, periodic);
    must(context, gsw_matrix_validate(context, &matrix));
    gsw_csr_free(&copy);
}

TEST(periodic_grids_are_found) {
    static const gsw_grid grids[] = {{5, 5, 5},   {6, 5, 7},  {9, 8, 7},   {8, 8, 8},
                                     {40, 30, 1}, {12, 9, 1}, {300, 1, 1}, {5, 7, 60}};
    static const char *const names[] = {"D3N7", "D3N15", "D3N19", "D3N27"};
    for (int g = 0; g < 8; g++)
        for (int periodic = 1; periodic < 8; periodic++)
            for (int variant = 0; variant < 12; variant += VARIANT_STEP) {
                csr_recipe recipe = plain(grids[g], names[variant % 4]);
                recipe.part = (gsw_part)(variant % 3);
                recipe.index_type = variant & 1 ? GSW_I64 : GSW_I32;
                recipe.base = variant >= 6;
                if ((grids[g].ny == 1 && periodic & 2) || (grids[g].nz == 1 && periodic & 4))
                    continue;
                assert_periodic(&recipe, periodic);
            }
    /* Couplings in one direction alone. */
    const gsw_offset upwind[] = {{0, 0, 0}, {-1, 0, 0}, {0, -1, 0}, {0, 0, 1}};
    csr_recipe recipe = {.grid = {9, 8, 7}, .part = GSW_FULL};
    must(context, gsw_stencil_from_offsets(upwind, 4, &recipe.stencil));
    assert_periodic(&recipe, 7);
}

/* Short axes, and rows that lack couplings, as a mask leaves them: where the grid says which axes
 * are periodic, that is how it is read. */
TEST(said_axes_are_periodic) {
    static const gsw_grid grids[] = {{4, 3, 1}, {3, 4, 1},  {4, 5, 1}, {5, 4, 1},
                                     {3, 3, 1}, {16, 3, 1}, {3, 4, 3}, {7, 4, 5}};
    static const char *const names[] = {"D2N5", "D2N9"};
    for (int g = 0; g < 8; g++)
        for (int part = 0; part < 4; part++) { /* that many of four couplings are left out */
            const char *const name = grids[g].nz > 1 ? "D3N7" : names[part % 2];
            csr_recipe recipe = plain(grids[g], name);
            gsw_grid extents = grids[g], grid;
            gsw_stencil stencil;
            keep_release(0);
            gsw_csr csr = make_wrapped(&recipe, 3, NULL);
            for (int64_t k = 0; k < csr.nonzeros; k++)
                ((double *)(uintptr_t)csr.values)[k] = (k * 2654435761 >> 8) % 4 >= part;
            extents.periodic = 3;
            must(context, gsw_detect(context, &csr, &extents, &grid, &stencil));
            ck_assert(grid.nx == extents.nx && grid.ny == extents.ny && grid.periodic == 3);
            for (int32_t e = 0; e < stencil.count; e++)
                ck_assert(abs(stencil.offsets[e].dx) <= 1 && abs(stencil.offsets[e].dy) <= 1);
        }
}

/* Extents that name other periodic axes than the matrix has. */
TEST(wrong_periodic_axes_are_refused) {
    csr_recipe recipe = plain((gsw_grid){9, 8, 7}, "D3N7");
    gsw_csr csr = make_wrapped(&recipe, 3, NULL);
    gsw_grid extents = recipe.grid, grid;
    gsw_stencil stencil;
    extents.periodic = GSW_PERIODIC_X;
    expect_refusal(gsw_detect(context, &csr, &extents, &grid, &stencil), GSW_ERROR_NOT_A_GRID,
                   "around the grid along an axis that is not said to be periodic");
    extents.periodic = 7; /* one more does no harm */
    must(context, gsw_detect(context, &csr, &extents, &grid, &stencil));
    ck_assert_int_eq(grid.periodic, 7);
    extents.periodic = 8;
    expect_refusal(gsw_detect(context, &csr, &extents, &grid, &stencil), GSW_ERROR_INVALID_ARGUMENT,
                   "extents: 9 x 8 x 7 ");
}

/* An axis that is longer than a stencil reaches, whether the grid is given or not. */
TEST(long_periodic_axes_are_named) {
    csr_recipe recipe = plain((gsw_grid){20, 1100, 1}, "D2N5");
    gsw_csr csr = make_wrapped(&recipe, 3, NULL);
    gsw_grid grid;
    gsw_stencil stencil;
    assert_refused(&csr, GSW_ERROR_NOT_A_GRID, "the matrix is periodic in x and y: row 0 ");
    assert_message("; couplings of a CSR reach at most 1024 points, so give stencil arrays");
    expect_refusal(gsw_detect(context, &csr, &recipe.grid, &grid, &stencil), GSW_ERROR_NOT_A_GRID,
                   "the matrix is periodic in x and y: row 0 ");
}

/* 0, n-1, 1, n-2, ... along each axis, as the message advises: points along it at each place. */
static int64_t folded(int64_t place, int64_t extent) {
    return place % 2 ? extent - 1 - place / 2 : place / 2;
}

TEST(folded_periodic_grids_are_found) {
    csr_recipe recipe = plain((gsw_grid){12, 11, 9}, "D3N7");
    const gsw_grid *g = &recipe.grid;
    int64_t order[12 * 11 * 9];
    for (int64_t k = 0; k < 12 * 11 * 9; k++)
        order[k] =
            gsw_grid_row(g, folded(k % 12, 12), folded(k / 12 % 11, 11), folded(k / 12 / 11, 9));
    gsw_csr csr = make_wrapped(&recipe, 7, order);
    assert_found(&csr, 12, 11, 9, "D3N13");
}

/* Lines that continue in the next line are not periodic: their offset occurs at the boundary
 * alone. */
TEST(helical_grids_are_not_periodic) {
    const gsw_offset offsets[] = {{0, 0, 0}, {-12, 0, 0}, {-1, 0, 0}, {1, 0, 0}, {12, 0, 0}};
    csr_recipe recipe = {.grid = {120, 1, 1}, .part = GSW_FULL};
    must(context, gsw_stencil_from_offsets(offsets, 5, &recipe.stencil));
    gsw_csr csr = make_wrapped(&recipe, 1, NULL);
    assert_refused(&csr, GSW_ERROR_NOT_A_GRID, "on the nearest grid, 12 x 10 x 1");
}

enum { SHUFFLED, RED_BLACK, SNAKE, BREADTH, ORDERS };

/* The points of a grid in an order that is not natural. */
static int64_t *make_order(const gsw_grid *g, int kind) {
    const int64_t points = g->nx * g->ny * g->nz;
    int64_t *order = keep_bytes((size_t)points * sizeof *order);
    int64_t count = 0;
    uint64_t seed = 11;
    for (int64_t k = 0; k < points; k++) {
        int64_t x = k % g->nx, y = k / g->nx % g->ny, z = k / g->nx / g->ny;
        order[k] = kind == SNAKE && y % 2 ? gsw_grid_row(g, g->nx - 1 - x, y, z) : k;
    }
    for (int pass = 0; pass < 2 && kind == RED_BLACK; pass++)
        for (int64_t k = 0; k < points; k++)
            if ((k % g->nx + k / g->nx % g->ny + k / g->nx / g->ny) % 2 == pass)
                order[count++] = k;
    /* By the distance from a corner, as Cuthill and McKee number an axis-neighbour stencil. */
    for (int64_t d = 0; d < g->nx + g->ny + g->nz && kind == BREADTH; d++)
        for (int64_t k = 0; k < points; k++)
            if (k % g->nx + k / g->nx % g->ny + k / g->nx / g->ny == d)
                order[count++] = k;
    for (int64_t k = points - 1; k > 0 && kind == SHUFFLED; k--) {
        int64_t other = (int64_t)(next_random(&seed) % (uint64_t)(k + 1)), held = order[k];
        order[k] = order[other];
        order[other] = held;
    }
    return order;
}

TEST(other_orders_are_named) {
    static const gsw_grid grids[] = {{13, 9, 1}, {12, 10, 9}, {30, 20, 1}, {17, 16, 15}};
    static const char *const names[] = {"D3N7", "D3N27", "D3N13", "D3N33"};
    for (int g = 0; g < 4; g++)
        for (int kind = 0; kind < ORDERS; kind++)
            for (int n = 0; n < 4; n++) {
                char text[200];
                csr_recipe recipe = plain(grids[g], names[n]);
                const int flat = grids[g].nz == 1;
                recipe.index_type = n & 1 ? GSW_I64 : GSW_I32;
                recipe.base = n & 1;
                /* The red points of a plane of even lines are a grid, and so are the black ones. */
                if (kind == RED_BLACK && (flat || n > 0))
                    continue;
                keep_release(0);
                int64_t *order = make_order(&grids[g], kind);
                gsw_csr csr = make_wrapped(&recipe, 0, order);
                static const char *const plane[] = {"D2N5", "D2N9", "D3N13", "D3N33"};
                snprintf(text, sizeof text,
                         "the rows are not in natural order (x fastest, then y, then z): they are "
                         "as long as those of %s on a %d x %d x %d grid, but row ",
                         flat ? plane[n] : names[n], (int)grids[g].nx, (int)grids[g].ny,
                         (int)grids[g].nz);
                assert_refused(&csr, GSW_ERROR_NOT_A_GRID, text);
            }
}

/* On small grids most offsets are short once they are wrapped. */
TEST(small_grids_in_another_order_are_not_periodic) {
    for (int nx = 4; nx < 8; nx++)
        for (int ny = 4; ny < 8; ny++)
            for (int nz = 1; nz < 6; nz += 2) {
                csr_recipe recipe = plain((gsw_grid){nx, ny, nz}, "D3N7");
                int64_t *order = make_order(&recipe.grid, SHUFFLED);
                gsw_csr csr = make_wrapped(&recipe, 0, order);
                assert_refused(&csr, GSW_ERROR_NOT_A_GRID, "the rows are not in natural order");
            }
}

/* Axes in another order are natural order of another grid. */
TEST(swapped_axes_are_found) {
    csr_recipe recipe = plain((gsw_grid){12, 10, 9}, "D3N7");
    int64_t order[12 * 10 * 9];
    for (int64_t k = 0; k < 12 * 10 * 9; k++)
        order[k] = gsw_grid_row(&recipe.grid, k / 9 / 10, k / 9 % 10, k % 9);
    gsw_csr csr = make_wrapped(&recipe, 0, order);
    assert_found(&csr, 9, 10, 12, "D3N7");
}

/* A given grid does not help when rows are in another order. */
TEST(other_orders_are_named_on_a_given_grid) {
    csr_recipe recipe = plain((gsw_grid){12, 10, 9}, "D3N7");
    int64_t *order = make_order(&recipe.grid, SHUFFLED);
    gsw_csr csr = make_wrapped(&recipe, 0, order);
    assert_refused_on(&recipe.grid, &csr, GSW_ERROR_NOT_A_GRID,
                      "the rows are not in natural order");
}

/* `bits`: n x n, 1 where i and j are coupled or j and i. */
static void assert_no_order(const unsigned char *bits, int32_t n) {
    int32_t *row_ptr = keep_bytes(((size_t)n + 1) * sizeof *row_ptr);
    int32_t *columns = keep_bytes((size_t)n * (size_t)n * sizeof *columns);
    int32_t next = 0;
    for (int32_t i = 0; i < n; i++) {
        for (int32_t j = 0; j < n; j++)
            if (i == j || bits[i * n + j] || bits[j * n + i])
                columns[next++] = j;
        row_ptr[i + 1] = next;
    }
    gsw_csr csr = {.rows = n, .nonzeros = next, .row_ptr = row_ptr, .columns = columns};
    assert_refused(&csr, GSW_ERROR_NOT_A_GRID,
                   "; the matrix is not a regular grid, or its rows are not in natural order "
                   "(x fastest, then y, then z)");
}

/* A binary tree, a random graph, a random tree, and a mesh of triangles: the message makes no claim
 * about the order of their rows. */
TEST(matrices_without_a_grid_are_told_as_such) {
    enum { N = 600 };
    static unsigned char bits[N * N];
    uint64_t seed = 4;
    for (int kind = 0; kind < 4; kind++) {
        memset(bits, 0, sizeof bits);
        for (int i = 1; i < N; i++) {
            int parent = kind == 0 ? (i - 1) / 2 : (int)(next_random(&seed) % (uint64_t)i);
            bits[i * N + parent] = 1;
            for (int k = 0; k < 2 && kind == 1; k++)
                bits[i * N + (int)(next_random(&seed) % N)] = 1;
            /* A point in a triangle: coupled to its corners, which are coupled. */
            for (int j = 0; j < parent && kind == 3; j++)
                if (bits[parent * N + j]) {
                    bits[i * N + j] = 1;
                    break;
                }
        }
        assert_no_order(bits, N);
    }
}

/* Where couplings or one triangle are missing, the rows' lengths do not show the order. */
TEST(other_orders_that_cannot_be_told) {
    csr_recipe recipe = plain((gsw_grid){17, 16, 15}, "D3N7");
    int64_t *order = make_order(&recipe.grid, SHUFFLED);
    recipe.part = GSW_LOWER;
    gsw_csr csr = make_wrapped(&recipe, 0, order);
    assert_refused(&csr, GSW_ERROR_NOT_A_GRID, "or its rows are not in natural order");
    /* Rows as long as those of a grid, but not symmetric: one entry is elsewhere. */
    recipe.part = GSW_FULL;
    csr = make_wrapped(&recipe, 0, order);
    const int64_t last = gsw_index_at(csr.row_ptr, GSW_I32, 7) - 1;
    set_index(csr.columns, GSW_I32, last, gsw_index_at(csr.columns, GSW_I32, last) + 1);
    assert_refused(&csr, GSW_ERROR_NOT_A_GRID, "or its rows are not in natural order");
}

TEST(too_many_offsets_are_refused) {
    /* An arrow: every row couples to row 0. */
    int32_t row_ptr[301] = {0};
    int32_t columns[600];
    int32_t next = 0;
    for (int32_t i = 0; i < 300; i++) {
        if (i > 0)
            columns[next++] = 0;
        columns[next++] = i;
        row_ptr[i + 1] = next;
    }
    gsw_csr csr = {.rows = 300, .nonzeros = next, .row_ptr = row_ptr, .columns = columns};
    assert_refused(&csr, GSW_ERROR_NOT_A_GRID, "row 128 (0-based): offset -128");
    const gsw_grid given = {300, 1, 1};
    assert_refused_on(&given, &csr, GSW_ERROR_NOT_A_GRID, "");
    /* Half of it has few enough, but they are long. */
    csr.rows = 100;
    csr.nonzeros = row_ptr[100];
    assert_refused(&csr, GSW_ERROR_NOT_A_GRID, "offset");
}

/* 127 distances with two offsets each on a grid of width two are too many for a stencil. */
TEST(too_many_coordinate_offsets_are_refused) {
    const int n = 400;
    int32_t *row_ptr = keep_bytes(((size_t)n + 1) * sizeof *row_ptr);
    int32_t *columns = keep_bytes((size_t)n * 100 * sizeof *columns);
    int32_t next = 0;
    for (int32_t i = 0; i < n; i++) {
        for (int32_t j = i; j < i + 200 && j < n; j += 2)
            columns[next++] = j == i ? i : j - 1;
        row_ptr[i + 1] = next;
    }
    gsw_csr csr = {.rows = n, .nonzeros = next, .row_ptr = row_ptr, .columns = columns};
    const gsw_grid given = {2, n / 2, 1};
    assert_refused_on(&given, &csr, GSW_ERROR_NOT_A_GRID,
                      "one offset more than a stencil can hold");
}

TEST(random_matrices_are_refused) {
    uint64_t seed = 99;
    for (int round = 0; round < 50; round++) {
        int32_t row_ptr[98] = {0};
        int32_t columns[97];
        for (int32_t i = 0; i < 97; i++) {
            columns[i] = (int32_t)(next_random(&seed) % 97);
            row_ptr[i + 1] = i + 1;
        }
        gsw_csr csr = {.rows = 97, .nonzeros = 97, .row_ptr = row_ptr, .columns = columns};
        assert_refused(&csr, GSW_ERROR_NOT_A_GRID, "row ");
    }
}

TEST(garbage_is_refused) {
    static const int32_t row_ptr[] = {0, 2, 5, 7};
    static const int32_t columns[] = {0, 1, 0, 1, 2, 1, 2};
    const gsw_csr good = {.rows = 3, .nonzeros = 7, .row_ptr = row_ptr, .columns = columns};
    assert_found(&good, 3, 1, 1, "D2N5");
    gsw_csr csr = good;
#define REFUSED(field, bad, part)                                                                  \
    do {                                                                                           \
        csr = good;                                                                                \
        csr.field = bad;                                                                           \
        assert_refused(&csr, GSW_ERROR_INVALID_ARGUMENT, part);                                    \
    } while (0)
    REFUSED(row_ptr, ((const int32_t[]){0, 5, 2, 7}), "row 0");
    REFUSED(row_ptr, ((const int32_t[]){0, 2, INT32_MIN, 7}), "row 1");
    REFUSED(row_ptr, ((const int32_t[]){0, 2, INT32_MAX, 7}), "row 1");
    REFUSED(row_ptr, ((const int32_t[]){-1, 2, 5, 7}), "row 0");
    REFUSED(row_ptr, ((const int32_t[]){0, 2, 5, 6}), "row 2");
    REFUSED(columns, ((const int32_t[]){0, 1, 0, 1, 3, 1, 2}), "row 1 (0-based): column 3");
    REFUSED(columns, ((const int32_t[]){0, 1, INT32_MIN, 1, 2, 1, 2}), "row 1");
    REFUSED(columns, ((const int32_t[]){0, 1, 1, 0, 2, 1, 2}),
            "row 1 (0-based): column 0 after column 1");
    REFUSED(columns, ((const int32_t[]){1, 1, 0, 1, 2, 1, 2}),
            "row 0 (0-based): column 1 after column 1");
    REFUSED(rows, 0, "rows");
    REFUSED(nonzeros, -1, "nonzeros");
    REFUSED(nonzeros, 8, "row 2");
    REFUSED(row_ptr, NULL, "row_ptr");
    REFUSED(columns, NULL, "columns");
    REFUSED(base, 1, "row 1");
#undef REFUSED
    csr = (gsw_csr){.rows = 2,
                    .nonzeros = 1,
                    .row_ptr = (const int64_t[]){1, 2, 2},
                    .columns = (const int64_t[]){INT64_MIN},
                    .index_type = GSW_I64,
                    .base = 1};
    assert_refused(&csr, GSW_ERROR_INVALID_ARGUMENT,
                   "row 1 (1-based): column -9223372036854775808");
    csr.row_ptr = (const int64_t[]){1, INT64_MIN, INT64_MAX};
    assert_refused(&csr, GSW_ERROR_INVALID_ARGUMENT, "row 1");
    gsw_grid grid;
    gsw_stencil stencil;
    must_reject(gsw_detect(context, NULL, NULL, &grid, &stencil));
    must_reject(gsw_detect(context, &good, NULL, NULL, &stencil));
    must_reject(gsw_detect(context, &good, NULL, &grid, NULL));
}

/* ---- stored zeros -----------------------------------------------------------------------------*/

/* The same entries, now with values, and stored zeros: from the ends of lines of `nx` rows to the
 * next row, and at random. Base 0, 32-bit indices. */
static gsw_csr with_zeros(const gsw_csr *csr, int64_t nx, uint64_t *seed) {
    const int64_t n = csr->rows;
    char *held = keep_bytes((size_t)n);
    int32_t *row_ptr = keep_bytes(((size_t)n + 1) * sizeof *row_ptr);
    int32_t *columns = keep_bytes((size_t)(csr->nonzeros + 3 * n) * sizeof *columns);
    double *values = keep_zeros(csr->nonzeros + 3 * n);
    int32_t next = 0;
    for (int64_t row = 0; row < n; row++) {
        memset(held, 0, (size_t)n);
        for (int k = 0; k < 2; k++)
            held[next_random(seed) % (uint64_t)n] = 1;
        if (row % nx == nx - 1 && row + 1 < n)
            held[row + 1] = 1;
        for (int64_t k = gsw_index_at(csr->row_ptr, csr->index_type, row);
             k < gsw_index_at(csr->row_ptr, csr->index_type, row + 1); k++)
            held[gsw_index_at(csr->columns, csr->index_type, k - csr->base) - csr->base] = 2;
        for (int32_t column = 0; column < n; column++)
            if (held[column]) {
                columns[next] = column;
                values[next++] = held[column] == 2 ? 1 + column % 5 : 0;
            }
        row_ptr[row + 1] = next;
    }
    return (gsw_csr){
        .rows = n, .nonzeros = next, .row_ptr = row_ptr, .columns = columns, .values = values};
}

static double sum_of(const gsw_csr *csr) {
    double sum = 0;
    for (int64_t k = 0; k < csr->nonzeros; k++)
        sum += value_of(csr, k);
    return sum;
}

/* With stored zeros the same is found, or refused with the same message. The matrix that is made
 * has all values and validates. */
static void assert_zeros_are_nothing(gsw_csr csr, const gsw_grid *extents, int64_t nx) {
    uint64_t seed = 5;
    gsw_csr zeros = with_zeros(&csr, nx, &seed), copy;
    gsw_grid grid, other;
    gsw_stencil stencil, others;
    gsw_matrix matrix;
    char message[512];
    const gsw_status status = gsw_detect(context, &csr, extents, &grid, &stencil);
    snprintf(message, sizeof message, "%s", gsw_context_message(context));
    ck_assert_int_eq(gsw_detect(context, &zeros, extents, &other, &others), status);
    ck_assert_int_eq(gsw_matrix_fit(context, &zeros, extents, NULL, &matrix, &copy), status);
    if (status == GSW_SUCCESS) {
        ck_assert_mem_eq(&grid, &other, sizeof grid);
        ck_assert_int_eq(stencil.count, others.count);
        ck_assert_mem_eq(stencil.offsets, others.offsets,
                         (size_t)stencil.count * sizeof stencil.offsets[0]);
        ck_assert_int_gt(copy.nonzeros, 0);
        ck_assert_ptr_eq(matrix.csr.values, copy.values);
        ck_assert_double_eq(sum_of(&copy), sum_of(&zeros));
        keep_csr(copy);
        assert_explains(&copy, &matrix.grid, &matrix.stencil);
    } else {
        ck_assert_str_eq(gsw_context_message(context), message);
    }
}

TEST(stored_zeros_are_no_couplings) {
    const gsw_offset offsets[] = {{-2, 0, 0}, {0, 0, 0}, {1, -1, 0}, {0, 2, 1}};
    csr_recipe recipe = plain((gsw_grid){20, 15, 1}, "D2N5");
    assert_zeros_are_nothing(make_csr(&recipe, 1), NULL, 20);
    assert_zeros_are_nothing(make_csr(&recipe, 1), &recipe.grid, 20);
    assert_zeros_are_nothing(make_wrapped(&recipe, 2, NULL), NULL, 20); /* refused */
    assert_zeros_are_nothing(make_wrapped(&recipe, 3, NULL), &recipe.grid, 20);
    recipe = plain((gsw_grid){4, 30, 1}, "D2N5");
    recipe.part = GSW_LOWER;
    assert_zeros_are_nothing(make_csr(&recipe, 1), NULL, 4);
    recipe = plain((gsw_grid){9, 8, 7}, "D3N27");
    recipe.missing = 40;
    recipe.base = 1;
    recipe.index_type = GSW_I64;
    assert_zeros_are_nothing(make_csr(&recipe, 1), NULL, 9);
    recipe = (csr_recipe){.grid = {8, 9, 7}, .part = GSW_FULL};
    must(context, gsw_stencil_from_offsets(offsets, 4, &recipe.stencil));
    assert_zeros_are_nothing(make_csr(&recipe, 1), NULL, 8);
    recipe = plain((gsw_grid){12, 10, 5}, "D3N7");
    int64_t *order = make_order(&recipe.grid, SHUFFLED);
    assert_zeros_are_nothing(make_wrapped(&recipe, 0, order), NULL, 12); /* refused */
}

TEST(matrices_are_fitted) {
    const csr_recipe recipe = plain((gsw_grid){6, 5, 1}, "D2N5");
    const gsw_grid *g = &recipe.grid;
    const gsw_stencil *star = &recipe.stencil;
    uint64_t seed = 3;
    gsw_csr csr = make_csr(&recipe, 1), copy = {.rows = -1};
    gsw_matrix matrix;
    ((double *)(uintptr_t)csr.values)[0] = 1;
    /* Without zeros outside the stencil it is a view. */
    must(context, gsw_matrix_fit(context, &csr, NULL, NULL, &matrix, &copy));
    ck_assert_ptr_null(copy.values);
    ck_assert_ptr_eq(matrix.csr.values, csr.values);
    gsw_csr zeros = with_zeros(&csr, 6, &seed);
    must(context, gsw_matrix_fit(context, &zeros, g, star, &matrix, &copy));
    keep_csr(copy);
    ck_assert_double_eq(sum_of(&copy), sum_of(&zeros));
    assert_explains(&copy, g, star);
    /* Row 5 ends a line; its zero in column 6 is refused where zeros are not left out. */
    must(context, gsw_matrix_from_csr(context, g, star, &zeros, &matrix));
    expect_refusal(gsw_matrix_validate(context, &matrix), GSW_ERROR_NOT_A_GRID,
                   "the value stored there is 0: gsw_matrix_fit() leaves such zeros out");
    int64_t k = gsw_index_at(zeros.row_ptr, GSW_I32, 5);
    while (gsw_index_at(zeros.columns, GSW_I32, k) != 6)
        k++;
    ((double *)(uintptr_t)zeros.values)[k] = 1;
    copy = (gsw_csr){.rows = -1};
    matrix.grid.nx = 77;
    expect_refusal(gsw_matrix_fit(context, &zeros, g, star, &matrix, &copy), GSW_ERROR_NOT_A_GRID,
                   "row 5 (0-based), (x, y, z) = (5, 0, 0), column 6: offset (-5, 1, 0) is not");
    const gsw_grid turned = {5, 6, 1};
    expect_refusal(gsw_matrix_fit(context, &csr, &turned, star, &matrix, &copy),
                   GSW_ERROR_NOT_A_GRID, "the matrix is no 5 x 6 x 1 grid, but a 6 x 5 x 1 grid");
    expect_rejection(gsw_matrix_fit(context, &zeros, NULL, star, &matrix, &copy),
                     "without its grid");
    ck_assert_int_eq(matrix.grid.nx, 77);
    ck_assert_int_eq(copy.rows, -1);
}

/* Before it is filled, a matrix has zeros alone. */
TEST(unfilled_matrices_have_their_pattern) {
    const csr_recipe recipe = plain((gsw_grid){9, 8, 7}, "D3N15");
    gsw_csr csr = make_csr(&recipe, 1);
    memset((void *)(uintptr_t)csr.values, 0, (size_t)csr.nonzeros * sizeof(double));
    assert_found(&csr, 9, 8, 7, "D3N15");
    ((double *)(uintptr_t)csr.values)[0] = 1; /* a diagonal */
    assert_found(&csr, 504, 1, 1, "D2N5");
}

/* ---- what else the input may have been meant as -----------------------------------------------*/

TEST(shapes_in_the_order_of_numpy_are_named) {
    static const struct {
        gsw_grid grid, given;
    } cases[] = {
        {{20, 15, 1}, {15, 20, 1}}, /* a custom stencil with long offsets would explain it */
        {{20, 15, 1}, {1, 15, 20}}, {{2000, 15, 1}, {15, 2000, 1}},
        {{9, 8, 7}, {7, 8, 9}},     {{1100, 5, 4}, {4, 5, 1100}},
    };
    for (int i = 0; i < 5; i++) {
        const gsw_grid *g = &cases[i].grid, *given = &cases[i].given;
        const csr_recipe recipe = plain(*g, "D3N7");
        gsw_csr csr = make_csr(&recipe, 1);
        char text[160];
        snprintf(text, sizeof text,
                 "the matrix is no %d x %d x %d grid, but a %d x %d x %d grid: give the extents as "
                 "(nx, ny, nz)",
                 (int)given->nx, (int)given->ny, (int)given->nz, (int)g->nx, (int)g->ny,
                 (int)g->nz);
        assert_refused_on(given, &csr, GSW_ERROR_NOT_A_GRID, text);
    }
}

/* Rows of the points that `in` keeps, in natural order. */
static gsw_csr make_part(const csr_recipe *r, int (*in)(int64_t x, int64_t y, int64_t z)) {
    const gsw_grid *g = &r->grid;
    gsw_csr csr = make_wrapped(r, 0, NULL);
    int32_t *row_ptr = (int32_t *)(uintptr_t)csr.row_ptr;
    int32_t *columns = (int32_t *)(uintptr_t)csr.columns;
    int32_t *number = keep_bytes((size_t)csr.rows * sizeof *number);
    int32_t rows = 0, next = 0, begin = 0;
    for (int64_t k = 0; k < csr.rows; k++)
        number[k] = in(k % g->nx, k / g->nx % g->ny, k / g->nx / g->ny) ? rows++ : -1;
    for (int64_t k = 0; k < csr.rows; k++) {
        const int32_t end = row_ptr[k + 1];
        for (; begin < end && number[k] >= 0; begin++)
            if (number[columns[begin]] >= 0)
                columns[next++] = number[columns[begin]];
        if (number[k] >= 0)
            row_ptr[number[k] + 1] = next;
        begin = end;
    }
    csr.rows = rows;
    csr.nonzeros = next;
    return csr;
}

static int in_ball(int64_t x, int64_t y, int64_t z) {
    return (x - 10) * (x - 10) + (y - 10) * (y - 10) + (z - 10) * (z - 10) < 90;
}

static int beside_hole(int64_t x, int64_t y, int64_t z) {
    (void)z;
    return (x - 18) * (x - 18) + (y - 20) * (y - 20) >= 60;
}

TEST(missing_rows_are_named) {
    static const char words[] = "; rows seem to be missing: each point of the grid needs a row";
    csr_recipe recipe = plain((gsw_grid){20, 20, 20}, "D3N7");
    gsw_csr csr = make_part(&recipe, in_ball);
    assert_refused(&csr, GSW_ERROR_NOT_A_GRID, words);
    recipe = plain((gsw_grid){40, 37, 1}, "D2N5");
    csr = make_part(&recipe, beside_hole);
    assert_refused(&csr, GSW_ERROR_NOT_A_GRID, words);
    assert_refused_on(&recipe.grid, &csr, GSW_ERROR_INVALID_ARGUMENT, words);
}

/* ---- matrices of the field, where they are at hand --------------------------------------------*/

static void assert_file_found(const char *file, int64_t nx, int64_t ny, int64_t nz,
                              const char *name) {
    char path[1024];
    snprintf(path, sizeof path, "%s/../shared/data/%s", GSW_SOURCE_DIR, file);
    if (access(path, R_OK) != 0) {
        printf("%s is not here: left out\n", file);
        return;
    }
    gsw_csr csr;
    must(context, gsw_mm_read_matrix(context, path, &csr));
    keep_csr(csr);
    assert_found(&csr, nx, ny, nz, name);
}

TEST(reservoir_matrices) {
    assert_file_found("orsreg_1.mtx", 21, 21, 5, "D3N7");
    assert_file_found("sherman1.mtx", 10, 10, 10, "D3N7");
}

int main(void) {
    Suite *suite = suite_create("detect");
    TCase *tests = context_case(suite, "detect", 120);
    TESTS(tests, named_stencils_in_space, named_stencils_in_the_plane,
          flat_grids_have_plane_stencils, chains, diagonal_and_empty_matrices, missing_couplings,
          tiny_grids_are_explained, custom_stencils, given_extents_decide,
          given_extents_allow_long_offsets, bad_extents_are_refused, a_coupling_elsewhere_is_named,
          a_coupling_around_the_boundary_is_named, periodic_grids_are_found, said_axes_are_periodic,
          wrong_periodic_axes_are_refused, long_periodic_axes_are_named,
          folded_periodic_grids_are_found, helical_grids_are_not_periodic, other_orders_are_named,
          small_grids_in_another_order_are_not_periodic, swapped_axes_are_found,
          other_orders_are_named_on_a_given_grid, matrices_without_a_grid_are_told_as_such,
          other_orders_that_cannot_be_told, too_many_offsets_are_refused,
          too_many_coordinate_offsets_are_refused, random_matrices_are_refused, garbage_is_refused,
          stored_zeros_are_no_couplings, matrices_are_fitted, unfilled_matrices_have_their_pattern,
          shapes_in_the_order_of_numpy_are_named, missing_rows_are_named, reservoir_matrices);
    return backend_run_suite(suite);
}
