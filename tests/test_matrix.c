/* test_matrix.c: matrix views, validation, CSR copies. */
#include "context_fixture.h"
#include "grid_csr.h"
#include "oracle.h"

static const gsw_grid grids[] = {{1, 1, 1}, {2, 1, 1}, {1, 5, 1}, {1, 1, 4}, {2, 2, 2},
                                 {2, 3, 4}, {3, 3, 3}, {5, 4, 1}, {7, 1, 5}, {1, 6, 5},
                                 {4, 2, 3}, {6, 5, 4}, {3, 2, 7}, {13, 3, 2}};
#define GRIDS (int)(sizeof grids / sizeof *grids)

/* ---- views ------------------------------------------------------------------------------------*/

static const int32_t row_ptr3[] = {0, 2, 5, 7};
static const int32_t columns3[] = {0, 1, 0, 1, 2, 1, 2};
static const double values3[] = {2, -1, -1, 2, -1, -1, 2};
static const gsw_grid grid3 = {3, 1, 1};

static gsw_csr chain3(void) {
    return (gsw_csr){
        .rows = 3, .nonzeros = 7, .row_ptr = row_ptr3, .columns = columns3, .values = values3};
}

TEST(sizes_of_types) {
    ck_assert_uint_eq(gsw_dtype_size(GSW_F64), 8);
    ck_assert_uint_eq(gsw_dtype_size(GSW_F32), 4);
    ck_assert_uint_eq(gsw_itype_size(GSW_I32), 4);
    ck_assert_uint_eq(gsw_itype_size(GSW_I64), 8);
}

TEST(csr_view_holds_what_it_was_given) {
    gsw_stencil stencil = named_stencil("D2N5");
    gsw_csr csr = chain3();
    gsw_matrix matrix;
    must(context, gsw_matrix_from_csr(context, &grid3, &stencil, &csr, &matrix));
    ck_assert_int_eq(matrix.format, GSW_FORMAT_CSR);
    ck_assert_int_eq(matrix.grid.nx, 3);
    ck_assert_int_eq(matrix.stencil.count, 5);
    ck_assert_ptr_eq(matrix.csr.values, values3);
    must(context, gsw_matrix_validate(context, &matrix));
}

static void assert_csr_refused(const gsw_csr *csr, const char *part) {
    gsw_stencil stencil = named_stencil("D2N5");
    gsw_matrix matrix = {.grid = {77, 0, 0}};
    expect_rejection(gsw_matrix_from_csr(context, &grid3, &stencil, csr, &matrix), part);
    ck_assert_int_eq(matrix.grid.nx, 77);
}

TEST(bad_csr_views_are_refused) {
    gsw_csr csr = chain3();
    assert_csr_refused(NULL, "csr");
#define REFUSED(field, bad, part)                                                                  \
    do {                                                                                           \
        csr = chain3();                                                                            \
        csr.field = bad;                                                                           \
        assert_csr_refused(&csr, part);                                                            \
    } while (0)
    REFUSED(rows, 0, "rows");
    REFUSED(rows, -3, "rows");
    REFUSED(rows, 4, "4 rows");
    REFUSED(rows, (int64_t)INT32_MAX + 1, "rows");
    REFUSED(nonzeros, -1, "nonzeros");
    REFUSED(nonzeros, (int64_t)INT32_MAX + 1, "nonzeros");
    REFUSED(row_ptr, NULL, "row_ptr");
    REFUSED(columns, NULL, "columns");
    REFUSED(values, NULL, "values");
    REFUSED(base, 2, "base");
    REFUSED(base, -1, "base");
    REFUSED(index_type, (gsw_itype)7, "index_type");
    REFUSED(value_type, (gsw_dtype)7, "value_type");
#undef REFUSED
}

TEST(bad_grids_and_stencils_are_refused) {
    gsw_stencil good = named_stencil("D2N5");
    gsw_csr csr = chain3();
    gsw_matrix matrix;
    const gsw_grid negative = {3, -1, 1};
    const gsw_grid huge = {INT64_C(1) << 40, INT64_C(1) << 40, 1};
    must_reject(gsw_matrix_from_csr(context, NULL, &good, &csr, &matrix));
    expect_rejection(gsw_matrix_from_csr(context, &negative, &good, &csr, &matrix), "3 x -1 x 1");
    ck_assert_int_eq(gsw_matrix_from_csr(context, &huge, &good, &csr, &matrix), GSW_ERROR_OVERFLOW);
    must_reject(gsw_matrix_from_csr(context, &grid3, NULL, &csr, &matrix));
    must_reject(gsw_matrix_from_csr(context, &grid3, &good, &csr, NULL));
    gsw_stencil bad[6];
    for (int i = 0; i < 6; i++)
        bad[i] = good;
    bad[0].count = 0;
    bad[1].count = GSW_STENCIL_MAX + 1;
    bad[2].center = 1;
    bad[3].center = 5;
    bad[4].offsets[1] = bad[4].offsets[0];
    bad[5].offsets[4].dy = GSW_OFFSET_MAX + 1;
    for (int i = 0; i < 6; i++) {
        expect_rejection(gsw_matrix_from_csr(context, &grid3, &bad[i], &csr, &matrix), "stencil");
    }
}

TEST(stencil_views) {
    gsw_stencil stencil = named_stencil("D2N5");
    const void *pointers[5] = {0};
    gsw_stencil_array array = {.values = pointers};
    gsw_matrix matrix;
    must(context, gsw_matrix_from_stencil(context, &grid3, &stencil, &array, &matrix));
    ck_assert_int_eq(matrix.format, GSW_FORMAT_STENCIL);
    must(context, gsw_matrix_validate(context, &matrix));
    must_reject(gsw_matrix_from_stencil(context, &grid3, &stencil, NULL, &matrix));
    must_reject(gsw_matrix_from_stencil(context, &grid3, &stencil, &array, NULL));
    array.value_type = (gsw_dtype)9;
    must_reject(gsw_matrix_from_stencil(context, &grid3, &stencil, &array, &matrix));
    array = (gsw_stencil_array){0};
    must_reject(gsw_matrix_from_stencil(context, &grid3, &stencil, &array, &matrix));
    matrix.format = (gsw_format)5;
    must_reject(gsw_matrix_validate(context, &matrix));
    must_reject(gsw_matrix_validate(context, NULL));
}

/* ---- validation -------------------------------------------------------------------------------*/

TEST(every_grid_and_stencil_validates) {
    for (int s = 0; gsw_stencil_known(s) != NULL; s++)
        for (int g = 0; g < GRIDS; g++)
            for (int variant = 0; variant < 6; variant++) {
                csr_recipe recipe = {.grid = grids[g],
                                     .stencil = named_stencil(gsw_stencil_known(s)),
                                     .part = (gsw_part)(variant % 3),
                                     .index_type = variant & 1 ? GSW_I64 : GSW_I32,
                                     .value_type = variant & 2 ? GSW_F32 : GSW_F64,
                                     .base = variant > 2,
                                     .missing = 10 * variant};
                gsw_csr csr = make_csr(&recipe, (uint64_t)(1 + s));
                gsw_matrix matrix;
                must(context,
                     gsw_matrix_from_csr(context, &recipe.grid, &recipe.stencil, &csr, &matrix));
                ck_assert_msg(gsw_matrix_validate(context, &matrix) == GSW_SUCCESS, "%s",
                              gsw_context_message(context));
            }
}

/* Every matrix with one entry off the diagonal must pass exactly where its coordinates allow. */
TEST(every_single_coupling_is_judged_by_coordinates) {
    for (int s = 0; gsw_stencil_known(s) != NULL; s++)
        for (int g = 0; g < GRIDS; g++) {
            gsw_grid grid = grids[g];
            gsw_stencil stencil = named_stencil(gsw_stencil_known(s));
            int64_t n = grid.nx * grid.ny * grid.nz;
            for (int64_t row = 0; row < n; row++)
                for (int64_t column = 0; column < n; column++) {
                    int64_t row_ptr[256] = {0};
                    for (int64_t i = row; i < n; i++)
                        row_ptr[i + 1] = 1;
                    double one = 1.0;
                    gsw_csr csr = {.rows = n,
                                   .nonzeros = 1,
                                   .row_ptr = row_ptr,
                                   .columns = &column,
                                   .values = &one,
                                   .index_type = GSW_I64};
                    gsw_offset d = {
                        (int32_t)(column % grid.nx - row % grid.nx),
                        (int32_t)(column / grid.nx % grid.ny - row / grid.nx % grid.ny),
                        (int32_t)(column / (grid.nx * grid.ny) - row / (grid.nx * grid.ny))};
                    gsw_status expected =
                        gsw_stencil_find(&stencil, d) >= 0 ? GSW_SUCCESS : GSW_ERROR_NOT_A_GRID;
                    gsw_matrix matrix;
                    must(context, gsw_matrix_from_csr(context, &grid, &stencil, &csr, &matrix));
                    ck_assert_int_eq(gsw_matrix_validate(context, &matrix), expected);
                }
        }
}

static void assert_invalid(const gsw_csr *csr, gsw_status expected, const char *part) {
    gsw_stencil stencil = named_stencil("D2N5");
    gsw_matrix matrix;
    must(context, gsw_matrix_from_csr(context, &grid3, &stencil, csr, &matrix));
    ck_assert_int_eq(gsw_matrix_validate(context, &matrix), expected);
    assert_message(part);
    gsw_csr copy = {.rows = 5};
    if (expected == GSW_ERROR_INVALID_ARGUMENT) {
        ck_assert_int_eq(gsw_matrix_to_csr(context, &matrix, GSW_FULL, GSW_I32, &copy), expected);
        ck_assert_int_eq(copy.rows, 5);
    }
}

TEST(broken_arrays_are_refused_with_the_row) {
    gsw_csr csr = chain3();
    csr.row_ptr = (const int32_t[]){0, 5, 2, 7};
    assert_invalid(&csr, GSW_ERROR_INVALID_ARGUMENT, "row 0");
    csr.row_ptr = (const int32_t[]){0, 2, 1, 7};
    assert_invalid(&csr, GSW_ERROR_INVALID_ARGUMENT, "row 1 (0-based): row_ptr goes from 2 to 1");
    csr.row_ptr = (const int32_t[]){1, 2, 5, 7};
    assert_invalid(&csr, GSW_ERROR_INVALID_ARGUMENT, "row 0");
    csr.row_ptr = (const int32_t[]){0, 2, 5, 8};
    assert_invalid(&csr, GSW_ERROR_INVALID_ARGUMENT, "row 2");
    csr.row_ptr = (const int32_t[]){0, 2, 5, 6};
    assert_invalid(&csr, GSW_ERROR_INVALID_ARGUMENT, "row 2");
    csr.row_ptr = (const int32_t[]){0, INT32_MIN, 5, 7};
    assert_invalid(&csr, GSW_ERROR_INVALID_ARGUMENT, "row 0");
    csr = chain3();
    csr.columns = (const int32_t[]){0, 1, 0, 1, 3, 1, 2};
    assert_invalid(&csr, GSW_ERROR_INVALID_ARGUMENT, "row 1 (0-based): column 3 is out of range");
    csr.columns = (const int32_t[]){0, 1, -1, 1, 2, 1, 2};
    assert_invalid(&csr, GSW_ERROR_INVALID_ARGUMENT, "row 1 (0-based): column -1 is out of range");
    csr.columns = (const int32_t[]){0, 1, 0, 2, 1, 1, 2};
    assert_invalid(&csr, GSW_ERROR_INVALID_ARGUMENT, "row 1 (0-based): column 1 after column 2");
    csr.columns = (const int32_t[]){0, 1, 0, 1, 2, 2, 2};
    assert_invalid(&csr, GSW_ERROR_INVALID_ARGUMENT, "row 2 (0-based): column 2 after column 2");
    csr.columns = (const int32_t[]){0, 2, 0, 1, 2, 1, 2};
    assert_invalid(&csr, GSW_ERROR_NOT_A_GRID,
                   "row 0 (0-based), (x, y, z) = (0, 0, 0), column 2: offset (2, 0, 0)");
}

TEST(rows_are_counted_from_the_base) {
    gsw_csr csr = chain3();
    csr.base = 1;
    csr.row_ptr = (const int32_t[]){1, 3, 6, 8};
    csr.columns = (const int32_t[]){1, 2, 1, 2, 3, 1, 3};
    assert_invalid(&csr, GSW_ERROR_NOT_A_GRID,
                   "row 3 (1-based), (x, y, z) = (2, 0, 0), column 1: offset (-2, 0, 0)");
    csr.columns = (const int32_t[]){1, 2, 0, 2, 3, 2, 3};
    assert_invalid(&csr, GSW_ERROR_INVALID_ARGUMENT, "row 2 (1-based): column 0 is out of range");
}

TEST(the_context_says_what_rows_are_counted_from) {
    gsw_csr csr = chain3();
    must_reject(gsw_context_set_row_base(NULL, 1));
    for (int base = -2; base <= 2; base += 4) {
        expect_rejection(gsw_context_set_row_base(context, base), "base must be -1, 0 or 1");
    }
    csr.columns = (const int32_t[]){0, 2, 0, 1, 2, 1, 2};
    must(context, gsw_context_set_row_base(context, 1));
    assert_invalid(&csr, GSW_ERROR_NOT_A_GRID,
                   "row 1 (1-based), (x, y, z) = (0, 0, 0), column 3: offset (2, 0, 0)");
    csr.columns = (const int32_t[]){0, 1, 0, 2, 1, 1, 2};
    assert_invalid(&csr, GSW_ERROR_INVALID_ARGUMENT, "row 2 (1-based): column 2 after column 3");
    csr.base = 1;
    csr.row_ptr = (const int32_t[]){1, 3, 6, 8};
    csr.columns = (const int32_t[]){1, 3, 1, 2, 3, 2, 3};
    must(context, gsw_context_set_row_base(context, 0));
    assert_invalid(&csr, GSW_ERROR_NOT_A_GRID,
                   "row 0 (0-based), (x, y, z) = (0, 0, 0), column 2: offset (2, 0, 0)");
    must(context, gsw_context_set_row_base(context, -1));
    assert_invalid(&csr, GSW_ERROR_NOT_A_GRID,
                   "row 1 (1-based), (x, y, z) = (0, 0, 0), column 3: offset (2, 0, 0)");
}

TEST(a_coupling_around_the_boundary_is_refused) {
    /* Row 2 of a 3 x 2 grid coupled to row 3: distance 1, but not a neighbour. */
    gsw_stencil stencil = named_stencil("D2N5");
    const gsw_grid grid = {3, 2, 1};
    gsw_csr csr = {.rows = 6,
                   .nonzeros = 1,
                   .row_ptr = (const int32_t[]){0, 0, 0, 1, 1, 1, 1},
                   .columns = (const int32_t[]){3},
                   .values = values3};
    gsw_matrix matrix;
    must(context, gsw_matrix_from_csr(context, &grid, &stencil, &csr, &matrix));
    ck_assert_int_eq(gsw_matrix_validate(context, &matrix), GSW_ERROR_NOT_A_GRID);
    assert_message("row 2 (0-based), (x, y, z) = (2, 0, 0), column 3: offset (-2, 1, 0)");
}

/* ---- copies -----------------------------------------------------------------------------------*/

static void assert_same_csr(const gsw_csr *a, const gsw_csr *b) {
    ck_assert_int_eq(a->rows, b->rows);
    ck_assert_int_eq(a->nonzeros, b->nonzeros);
    ck_assert_int_eq(a->value_type, b->value_type);
    for (int64_t i = 0; i <= a->rows; i++)
        ck_assert_int_eq(gsw_index_at(a->row_ptr, a->index_type, i) - a->base,
                         gsw_index_at(b->row_ptr, b->index_type, i) - b->base);
    for (int64_t k = 0; k < a->nonzeros; k++) {
        ck_assert_int_eq(gsw_index_at(a->columns, a->index_type, k) - a->base,
                         gsw_index_at(b->columns, b->index_type, k) - b->base);
        ck_assert_double_eq(value_of(a, k), value_of(b, k));
    }
}

/* The recipe's matrix as stencil arrays; every value of the grid's points is filled. */
static void fill_arrays(const csr_recipe *r, void **pointers) {
    int64_t n = r->grid.nx * r->grid.ny * r->grid.nz;
    for (int e = 0; e < r->stencil.count; e++) {
        pointers[e] = malloc((size_t)n * 8);
        ck_assert_ptr_nonnull(pointers[e]);
        for (int64_t row = 0; row < n; row++)
            if (r->value_type == GSW_F64)
                ((double *)pointers[e])[row] = value_for(row, e);
            else
                ((float *)pointers[e])[row] = (float)value_for(row, e);
    }
}

static void check_copies(csr_recipe r) {
    void *pointers[GSW_STENCIL_MAX];
    gsw_matrix arrays;
    gsw_matrix full;
    r.part = GSW_FULL;
    gsw_csr source = make_csr(&r, 1);
    fill_arrays(&r, pointers);
    gsw_stencil_array view = {.values = (const void *const *)pointers, .value_type = r.value_type};
    must(context, gsw_matrix_from_stencil(context, &r.grid, &r.stencil, &view, &arrays));
    must(context, gsw_matrix_from_csr(context, &r.grid, &r.stencil, &source, &full));
    for (int part = GSW_LOWER; part <= GSW_FULL; part++)
        for (int type = GSW_I32; type <= GSW_I64; type++) {
            gsw_csr from_arrays;
            gsw_csr from_csr;
            r.part = (gsw_part)part;
            gsw_csr expected = make_csr(&r, 1);
            must(context,
                 gsw_matrix_to_csr(context, &arrays, r.part, (gsw_itype)type, &from_arrays));
            must(context, gsw_matrix_to_csr(context, &full, r.part, (gsw_itype)type, &from_csr));
            ck_assert_int_eq(from_arrays.base, 0);
            ck_assert_int_eq(from_csr.base, 0);
            ck_assert_int_eq(from_csr.index_type, type);
            assert_same_csr(&from_arrays, &expected);
            assert_same_csr(&from_csr, &expected);
            gsw_csr_free(&from_arrays);
            gsw_csr_free(&from_csr);
        }
    for (int e = 0; e < r.stencil.count; e++)
        free(pointers[e]);
}

TEST(copies_of_every_part) {
    for (int s = 0; gsw_stencil_known(s) != NULL; s++)
        for (int g = 0; g < GRIDS; g++)
            for (int variant = 0; variant < 4; variant += ORACLE_STRIDE)
                check_copies((csr_recipe){.grid = grids[g],
                                          .stencil = named_stencil(gsw_stencil_known(s)),
                                          .index_type = variant & 1 ? GSW_I64 : GSW_I32,
                                          .value_type = variant & 2 ? GSW_F32 : GSW_F64,
                                          .base = variant & 1});
}

TEST(missing_arrays_are_zeros) {
    gsw_stencil stencil = named_stencil("D2N5");
    const double diagonal[3] = {4, 5, 6};
    const void *pointers[5] = {NULL, NULL, diagonal, NULL, NULL};
    gsw_stencil_array array = {.values = pointers};
    gsw_matrix matrix;
    gsw_csr csr;
    must(context, gsw_matrix_from_stencil(context, &grid3, &stencil, &array, &matrix));
    must(context, gsw_matrix_to_csr(context, &matrix, GSW_FULL, GSW_I32, &csr));
    ck_assert_int_eq(csr.nonzeros, 7);
    const double expected[7] = {4, 0, 0, 5, 0, 0, 6};
    for (int k = 0; k < 7; k++)
        ck_assert_double_eq(((const double *)csr.values)[k], expected[k]);
    gsw_csr_free(&csr);
    ck_assert_ptr_null(csr.values);
    ck_assert_int_eq(csr.rows, 0);
    gsw_csr_free(&csr);
    gsw_csr_free(NULL);
}

TEST(copies_that_do_not_fit_are_refused) {
    gsw_stencil stencil = named_stencil("D3N27");
    const gsw_grid grid = {2048, 2048, 2048};
    const gsw_grid largest = {INT64_C(1) << 31, INT64_C(1) << 31, 1};
    const void *pointers[27] = {0};
    gsw_stencil_array array = {.values = pointers};
    gsw_matrix matrix;
    gsw_csr csr = {.rows = 9};
    must(context, gsw_matrix_from_stencil(context, &grid, &stencil, &array, &matrix));
    ck_assert_int_eq(gsw_matrix_to_csr(context, &matrix, GSW_FULL, GSW_I32, &csr),
                     GSW_ERROR_OVERFLOW);
    assert_message("32-bit");
    ck_assert_int_eq(csr.rows, 9);
    /* What would not fit in 64 bits is refused before there is a matrix to copy. */
    ck_assert_int_eq(gsw_matrix_from_stencil(context, &largest, &stencil, &array, &matrix),
                     GSW_ERROR_OVERFLOW);
    assert_message("more than 2^48 points");
}

TEST(bad_arguments_of_copies_are_refused) {
    gsw_stencil stencil = named_stencil("D2N5");
    gsw_csr csr = chain3();
    gsw_csr copy = {0};
    gsw_matrix matrix;
    must(context, gsw_matrix_from_csr(context, &grid3, &stencil, &csr, &matrix));
    must_reject(gsw_matrix_to_csr(context, NULL, GSW_FULL, GSW_I32, &copy));
    must_reject(gsw_matrix_to_csr(context, &matrix, GSW_FULL, GSW_I32, NULL));
    must_reject(gsw_matrix_to_csr(context, &matrix, (gsw_part)3, GSW_I32, &copy));
    must_reject(gsw_matrix_to_csr(context, &matrix, GSW_FULL, (gsw_itype)2, &copy));
}

/* ---- several unknowns per point ---------------------------------------------------------------*/

/* Two planes, or two points along x, of five-point rows. Rows of the second one are `scale` times
 * as large. `cross` are the couplings to the other one. */
static gsw_matrix make_pair(int along_x, double scale, double to_second, double to_first) {
    const csr_recipe recipe = {.grid = along_x ? (gsw_grid){2, 9, 8} : (gsw_grid){9, 8, 2},
                               .stencil = named_stencil("D3N7"),
                               .part = GSW_FULL};
    gsw_csr csr = make_csr(&recipe, 1);
    gsw_matrix matrix;
    for (int64_t row = 0, k = 0; row < csr.rows; row++)
        for (; k < gsw_index_at(csr.row_ptr, GSW_I32, row + 1); k++) {
            const int64_t distance = gsw_index_at(csr.columns, GSW_I32, k) - row;
            const int second = along_x ? row % 2 == 1 : row >= 72;
            const int across = along_x ? llabs(distance) == 1 : llabs(distance) == 72;
            const double own = (second ? scale : 1) * (distance == 0 ? 5 : -1);
            gsw_value_put((void *)(uintptr_t)csr.values, GSW_F64, k,
                          !across  ? own
                          : second ? to_first
                                   : to_second);
        }
    must(context, gsw_matrix_from_csr(context, &recipe.grid, &recipe.stencil, &csr, &matrix));
    return matrix;
}

static const char *remark_of(int along_x, double scale, double to_second, double to_first) {
    static char text[256];
    const gsw_matrix matrix = make_pair(along_x, scale, to_second, to_first);
    must(context, gsw_matrix_remark(context, &matrix, text, sizeof text));
    return text;
}

TEST(unknowns_are_told_from_points) {
    for (int along_x = 0; along_x < 2; along_x++) {
        const char *words = along_x
                                ? "the rows look like 2 unknowns per point, which are taken for "
                                  "the x axis of a 2 x 9 x 8 grid"
                                : "the rows look like 2 unknowns per point, which are taken for "
                                  "the z axis of a 9 x 8 x 2 grid";
        static const double systems[][3] = {{1, 0.5, -0.7}, {1, -1, 1}, {0.01, 0.3, 0.3}};
        for (int k = 0; k < 3; k++) {
            const char *text = remark_of(along_x, systems[k][0], systems[k][1], systems[k][2]);
            ck_assert_msg(strstr(text, words) != NULL, "case %d: '%s'", k, text);
        }
        /* Neighbours: of one medium, of two, with a wind across, and beyond a resonance. */
        static const double points[][3] = {{1, -1, -1}, {1e6, -1, -1}, {1, -1, -3}, {1, 0.4, 0.4}};
        for (int k = 0; k < 4; k++)
            ck_assert_str_eq(remark_of(along_x, points[k][0], points[k][1], points[k][2]), "");
    }
}

TEST(what_diverges_tells_of_unknowns) {
    for (int along_x = 0; along_x < 2; along_x++) {
        double b[144] = {1, -2, 3}, x[144] = {0};
        const gsw_matrix matrix = make_pair(along_x, 1, 100, -90);
        const gsw_krylov_options options = {.size = sizeof options, .max_iterations = 2000};
        gsw_operator *op = keep_operator(context, &matrix);
        ck_assert_int_ne(gsw_krylov(context, GSW_CG, op, NULL, &options, b, x, NULL), GSW_SUCCESS);
        const char *message = gsw_context_message(context);
        ck_assert_msg(strstr(message, "2 unknowns per point") != NULL, "%s", message);
    }
}

TEST(bad_remarks_are_refused) {
    gsw_stencil stencil = named_stencil("D2N5");
    gsw_csr csr = chain3();
    gsw_matrix matrix;
    char text[2] = "x";
    must(context, gsw_matrix_from_csr(context, &grid3, &stencil, &csr, &matrix));
    must(context, gsw_matrix_remark(context, &matrix, text, sizeof text));
    ck_assert_str_eq(text, "");
    expect_rejection(gsw_matrix_remark(context, NULL, text, 2), "matrix");
    expect_rejection(gsw_matrix_remark(context, &matrix, NULL, 2), "text");
    expect_rejection(gsw_matrix_remark(context, &matrix, text, 0), "text");
    must_reject(gsw_matrix_remark(NULL, &matrix, text, 2));
}

int main(void) {
    Suite *suite = suite_create("matrix");
    TCase *tests = context_case(suite, "matrix", 120);
    TESTS(tests, sizes_of_types, csr_view_holds_what_it_was_given, bad_csr_views_are_refused,
          bad_grids_and_stencils_are_refused, stencil_views, every_grid_and_stencil_validates,
          every_single_coupling_is_judged_by_coordinates, broken_arrays_are_refused_with_the_row,
          rows_are_counted_from_the_base, the_context_says_what_rows_are_counted_from,
          a_coupling_around_the_boundary_is_refused, copies_of_every_part, missing_arrays_are_zeros,
          copies_that_do_not_fit_are_refused, bad_arguments_of_copies_are_refused,
          unknowns_are_told_from_points, what_diverges_tells_of_unknowns, bad_remarks_are_refused);
    return backend_run_suite(suite);
}
