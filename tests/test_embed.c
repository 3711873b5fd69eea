/* test_embed.c: embeddings: where rows are, the matrices of all points that are made with them, and
 * vectors on the way there and back. All is compared with the system of the rows. */
#include "mask_systems.h"

static const gsw_grid grids[] = {{1, 1, 1},   {7, 1, 1},  {1, 9, 1},   {1, 1, 5},
                                 {13, 11, 7}, {17, 1, 6}, {40, 33, 1}, {60, 41, 7}};
static const double shares[] = {0.03, 0.5, 0.97, 1};
static const char *const stencils[] = {"D2N5", "D2N9", "D3N7", "D3N13", "D3N15", "D3N27"};

/* A CSR in the order `row_of`, which has the place of each row of the compact system. */
static gsw_csr csr_of(const compact *c, const int64_t *place, gsw_itype index, gsw_dtype type,
                      int base) {
    const size_t entries = (size_t)compact_entries(c);
    int64_t *old = keep_bytes((size_t)c->n * sizeof *old), next = 0;
    void *row_ptr = keep_bytes((size_t)(c->n + 1) * 8), *columns = keep_bytes(entries * 8);
    void *values = keep_bytes(entries * 8);
    for (int64_t i = 0; i < c->n; i++)
        old[place[i]] = i;
    gsw_index_put(row_ptr, index, 0, base);
    for (int64_t row = 0; row < c->n; row++) {
        const int64_t begin = next;
        for (int64_t k = c->begin[old[row]]; k < c->begin[old[row] + 1]; k++) {
            const int64_t column = place[c->column[k]] + base;
            int64_t at = next++;
            for (; at > begin && gsw_index_at(columns, index, at - 1) > column; at--) {
                gsw_index_put(columns, index, at, gsw_index_at(columns, index, at - 1));
                gsw_value_put(values, type, at, gsw_value_at(values, type, at - 1));
            }
            gsw_index_put(columns, index, at, column);
            gsw_value_put(values, type, at, c->value[k]);
        }
        gsw_index_put(row_ptr, index, row + 1, next + base);
    }
    return (gsw_csr){.rows = c->n,
                     .nonzeros = next,
                     .row_ptr = row_ptr,
                     .columns = columns,
                     .values = values,
                     .index_type = index,
                     .value_type = type,
                     .base = base};
}

static int64_t *natural_order(int64_t n) {
    int64_t *place = keep_bytes((size_t)n * sizeof *place);
    for (int64_t i = 0; i < n; i++)
        place[i] = i;
    return place;
}

static int64_t *random_order(int64_t n, uint64_t seed) {
    int64_t *place = natural_order(n);
    for (int64_t i = n - 1; i > 0; i--) {
        const int64_t other = (int64_t)(hard_random(seed, i, 0, 0) * (double)(i + 1)),
                      kept = place[i];
        place[i] = place[other];
        place[other] = kept;
    }
    return place;
}

static gsw_embedding *keep_embedding(const gsw_grid *g, const uint8_t *active) {
    gsw_embedding *made = NULL;
    const size_t n = (size_t)oracle_points(g);
    must(context, gsw_embedding_create(context, g, keep_upload(context, active, n), &made));
    return keep(KEPT_EMBEDDING, context, made);
}

/* Coordinates of a stretched grid, whose planes are farther apart at higher points. */
static double *coordinates_of(const compact *c, const int64_t *place, int axes) {
    double *all = keep_zeros(axes * c->n);
    for (int64_t i = 0; i < c->n; i++) {
        int64_t at[3];
        hard_place(&c->grid, c->row[i], at);
        for (int axis = 0; axis < axes; axis++)
            all[axes * place[i] + axis] = 100 * axis - 3 + pow(1.01, (double)at[axis]);
    }
    return all;
}

static void check_points(const compact *c, const gsw_embedding *e, const int64_t *place) {
    int64_t *points = keep_bytes((size_t)c->n * sizeof *points);
    ck_assert_int_eq(gsw_embedding_rows(e), c->n);
    download(context, points, gsw_embedding_points(e), (size_t)c->n * sizeof *points);
    for (int64_t i = 0; i < c->n; i++)
        ck_assert_int_eq(points[place[i]], c->row[i]);
}

/* The mask, the arrays of inactive points, and a product with vectors that are moved. */
static void check_matrix(const compact *c, const gsw_embedding *e, const int64_t *place,
                         const gsw_matrix *m, double factor) {
    const int64_t center = m->stencil.center;
    const gsw_dtype type = m->array.value_type;
    const size_t size = gsw_dtype_size(type);
    double *x = keep_random(3, c->n), *expected = keep_zeros(c->n), *rows = keep_zeros(c->n);
    char *diagonal = keep_bytes((size_t)c->points * size);
    uint8_t *active = keep_bytes((size_t)c->points);
    memset(active, 1, (size_t)c->points);
    ck_assert((m->active == NULL) == (c->n == c->points));
    if (m->active != NULL)
        download(context, active, m->active, (size_t)c->points);
    download(context, diagonal, m->array.values[center], (size_t)c->points * size);
    for (int64_t i = 0; i < c->points; i++) {
        ck_assert_int_eq(active[i], c->active[i] != 0);
        ck_assert(active[i] || oracle_get(type, diagonal, i) == 1);
    }
    for (int64_t i = 0; i < c->n; i++)
        rows[place[i]] = x[i];
    device_vector there = keep_guarded(GSW_F64, c->n), points = keep_guarded(GSW_F64, c->points);
    device_vector y = keep_guarded(GSW_F64, c->points);
    device_put(context, &there, rows);
    must(context, gsw_embedding_spread(context, e, GSW_F64, there.values, points.values));
    ck_assert_mem_eq(mask_get(&points), compact_spread(c, GSW_F64, x, 0), (size_t)c->points * 8);
    must(context, gsw_spmv(context, m, GSW_F64, points.values, y.values));
    device_poison(context, &there);
    must(context, gsw_embedding_collect(context, e, GSW_F64, y.values, there.values));
    memcpy(rows, mask_get(&there), (size_t)c->n * sizeof *rows);
    compact_residual(c, NULL, x, expected);
    for (int64_t i = 0; i < c->n; i++) {
        x[i] = rows[place[i]];
        expected[i] *= factor;
    }
    const double error = oracle_error(GSW_F64, c->n, x, expected);
    ck_assert_msg(error <= (type == GSW_F64 ? 1e-14 : 1e-6), "%lldx%lldx%lld, %lld rows: error %g",
                  (long long)c->grid.nx, (long long)c->grid.ny, (long long)c->grid.nz,
                  (long long)c->n, error);
}

static void check_embedding(const compact *c, gsw_embedding *e, const int64_t *place,
                            const gsw_stencil *stencil, int number) {
    const gsw_dtype type = number % 3 == 0 ? GSW_F32 : GSW_F64;
    const gsw_csr csr = csr_of(c, place, number % 2 ? GSW_I64 : GSW_I32, type, number % 5 < 2);
    gsw_matrix *made = malloc(sizeof *made);
    ck_assert_ptr_nonnull(made);
    *made = (gsw_matrix){0};
    keep(KEPT_MATRIX, context, made);
    check_points(c, e, place);
    must(context, gsw_matrix_from_active(context, &csr, e, number % 4 == 0 ? stencil : NULL, made));
    ck_assert_int_le(made->stencil.count, stencil->count);
    check_matrix(c, e, place, made, 1);
    for (int64_t k = 0; k < csr.nonzeros; k++)
        gsw_value_put((void *)(uintptr_t)csr.values, type, k,
                      -2 * gsw_value_at(csr.values, type, k));
    must(context, gsw_matrix_refill_active(context, &csr, e, made));
    check_matrix(c, e, place, made, -2);
}

static void check_case(const gsw_grid *g, double share, const gsw_stencil *stencil, int number) {
    const size_t mark = keep_mark();
    uint8_t *active = mask_of_share(g, share, (uint64_t)number);
    active[number % oracle_points(g)] = 7;
    const compact c = compact_of(&keep_matrix_of(g, stencil, 3, ORACLE_POSITIVE)->view, active);
    check_embedding(&c, keep_embedding(g, active), natural_order(c.n), stencil, number);
    int64_t filled[3] = {0};
    uint8_t *seen[3] = {keep_bytes((size_t)g->nx), keep_bytes((size_t)g->ny),
                        keep_bytes((size_t)g->nz)};
    for (int64_t i = 0; i < c.n; i++) {
        int64_t at[3];
        hard_place(g, c.row[i], at);
        for (int axis = 0; axis < 3; axis++)
            filled[axis] += seen[axis][at[axis]]++ == 0;
    }
    const int whole = filled[0] == g->nx && filled[1] == g->ny && filled[2] == g->nz;
    if (whole && 16 * c.n >= c.points) { /* each plane has a row */
        gsw_embedding *e = NULL;
        const int64_t *place = random_order(c.n, (uint64_t)number);
        const int axes = g->nz > 1 ? 3 : g->ny > 1 ? 2 : 1;
        must(context, gsw_embedding_create_from_coordinates(context, c.n, axes,
                                                            coordinates_of(&c, place, axes), &e));
        check_embedding(&c, keep(KEPT_EMBEDDING, context, e), place, stencil, number + 1);
    }
    keep_release(mark);
}

TEST(embeddings) {
    const gsw_stencil *stencil = oracle_stencil_named(stencils[_i]);
    int number = _i;
    for (int g = 0; g < LENGTH(grids); g++)
        for (int k = 0; k < LENGTH(shares); k++, number++)
            if (number % backend_stride() == 0)
                check_case(&grids[g], shares[k], stencil, number);
}

/* Both moves in fp32. */
TEST(moves) {
    const gsw_grid g = grids[4];
    const int64_t n = oracle_points(&g);
    uint8_t *active = mask_of_share(&g, 0.4, 1);
    const compact c = compact_of(
        &keep_matrix_of(&g, oracle_stencil_named("D3N7"), 3, ORACLE_POSITIVE)->view, active);
    gsw_embedding *e = keep_embedding(&g, active);
    device_vector rows = keep_guarded(GSW_F32, c.n), points = keep_guarded(GSW_F32, n);
    const void *x = keep_vector(GSW_F32, 5, c.n);
    device_put(context, &rows, x);
    must(context, gsw_embedding_spread(context, e, GSW_F32, rows.values, points.values));
    ck_assert_int_eq(compact_nonzeros(&c, GSW_F32, mask_get(&points)), 0);
    device_poison(context, &rows);
    must(context, gsw_embedding_collect(context, e, GSW_F32, points.values, rows.values));
    ck_assert_mem_eq(mask_get(&rows), x, (size_t)c.n * sizeof(float));
    expect_rejection(gsw_embedding_spread(context, e, GSW_F32, points.values, points.values),
                     "rows and points overlap");
    expect_rejection(gsw_embedding_collect(context, e, (gsw_dtype)7, points.values, rows.values),
                     "type 7 is not a gsw_dtype");
    expect_rejection(gsw_embedding_spread(context, NULL, GSW_F32, rows.values, points.values),
                     "embedding must not be NULL");
    expect_rejection(gsw_embedding_spread(context, e, GSW_F32, NULL, points.values),
                     "rows is NULL");
    gsw_context *other = backend_context(1);
    ck_assert_int_eq(gsw_embedding_spread(other, e, GSW_F32, rows.values, points.values),
                     GSW_ERROR_INVALID_ARGUMENT);
    must_say(other, "embedding belongs to another context");
    gsw_context_destroy(other);
}

/* A chain of rows along x, each coupled to the next one and to the one `far` rows on. */
static gsw_csr chain(int64_t rows, int64_t far, double value) {
    int32_t *row_ptr = keep_bytes((size_t)(rows + 1) * 4), *columns = keep_bytes((size_t)rows * 12);
    double *values = keep_zeros(3 * rows);
    int32_t next = 0;
    for (int64_t row = 0; row < rows; row++) {
        const int64_t column[] = {row, row + 1, row + far};
        for (int k = 0; k < (far > 1 ? 3 : 2); k++) {
            if (column[k] >= rows)
                continue;
            columns[next] = (int32_t)column[k];
            values[next++] = k == 2 ? value : 1;
        }
        row_ptr[row + 1] = next;
    }
    return (gsw_csr){
        .rows = rows, .nonzeros = next, .row_ptr = row_ptr, .columns = columns, .values = values};
}

TEST(refusals_of_embeddings) {
    const gsw_grid g = {4, 3, 2}, none = {4, 0, 2};
    uint8_t *active = mask_of_share(&g, 0, 1);
    const uint8_t *there = keep_upload(context, active, 24);
    double xyz[] = {0, 0, 1, 0, 0, 1, 1, 1, 1 + 1e-9, 0};
    gsw_embedding *e = (void *)&g;
    expect_rejection(gsw_embedding_create(context, &g, there, &e),
                     "active: none of the 24 points is active");
    ck_assert_ptr_null(e);
    expect_rejection(gsw_embedding_create(context, &none, there, &e), "grid: 4 x 0 x 2");
    expect_rejection(gsw_embedding_create(context, &g, NULL, &e), "active must not be NULL");
    must_reject(gsw_embedding_create(context, &g, there, NULL));
    must_reject(gsw_embedding_create(NULL, &g, there, &e));
    if (on_cuda())
        expect_rejection(gsw_embedding_create(context, &g, active, &e), "active");
    expect_refusal(gsw_embedding_create_from_coordinates(context, 5, 2, xyz, &e),
                   GSW_ERROR_NOT_A_GRID, "rows 1 (0-based) and 4 (0-based) are at one point");
    ck_assert_ptr_null(e);
    xyz[7] = NAN;
    expect_rejection(gsw_embedding_create_from_coordinates(context, 5, 2, xyz, &e),
                     "coordinates: row 3 (0-based) has one that is nan");
    expect_refusal(gsw_embedding_create_from_coordinates(context, 400, 2, keep_random(1, 800), &e),
                   GSW_ERROR_NOT_A_GRID, "for 400 rows; these are on no regular grid");
    expect_rejection(gsw_embedding_create_from_coordinates(context, 0, 2, xyz, &e), "0 rows");
    expect_rejection(gsw_embedding_create_from_coordinates(context, 3, 4, xyz, &e), "axes must be");
    expect_rejection(gsw_embedding_create_from_coordinates(context, 3, 2, NULL, &e),
                     "coordinates must not be NULL");
    must_reject(gsw_embedding_create_from_coordinates(context, 3, 2, xyz, NULL));
    ck_assert_int_eq(gsw_embedding_rows(NULL), 0);
    ck_assert_ptr_null(gsw_embedding_points(NULL));
    gsw_embedding_destroy(NULL);
}

TEST(refusals_of_matrices) {
    const gsw_grid g = {100, 3, 1}, other = {300, 1, 1};
    uint8_t *active = mask_of_share(&g, 1, 1);
    gsw_embedding *e = keep_embedding(&g, active), *line = keep_embedding(&other, active);
    const gsw_stencil *five = oracle_stencil_named("D2N5");
    gsw_csr near = chain(300, 1, 0), far = chain(300, 50, 3), zeros = chain(300, 50, 0);
    gsw_matrix *made = malloc(sizeof *made), bad;
    ck_assert_ptr_nonnull(made);
    *made = (gsw_matrix){0};
    keep(KEPT_MATRIX, context, made);
    /* Row 99 is coupled to row 100, at the other end of the next line. */
    expect_refusal(gsw_matrix_from_active(context, &near, e, NULL, &bad), GSW_ERROR_NOT_A_GRID,
                   "row 99 (0-based), column 100: on the 100 x 3 x 1 grid they are (-99, 1, 0) "
                   "points apart, too far where no stencil is given");
    expect_refusal(gsw_matrix_from_active(context, &near, e, five, &bad), GSW_ERROR_NOT_A_GRID,
                   "which the stencil does not hold");
    expect_refusal(gsw_matrix_from_active(context, &far, line, NULL, &bad), GSW_ERROR_NOT_A_GRID,
                   "row 0 (0-based), column 50");
    ck_assert_ptr_null(bad.array.values);
    must(context, gsw_matrix_from_active(context, &zeros, line, NULL, made));
    ck_assert_int_eq(made->stencil.count, 5);
    expect_refusal(gsw_matrix_refill_active(context, &far, line, made), GSW_ERROR_NOT_A_GRID,
                   "which the stencil does not hold");
    expect_rejection(gsw_matrix_refill_active(context, &near, e, made),
                     "it has not been made with this embedding");
    gsw_csr narrow = near, few = near;
    narrow.value_type = GSW_F32;
    few.rows = 299;
    expect_rejection(gsw_matrix_refill_active(context, &narrow, line, made), "another type");
    expect_rejection(gsw_matrix_from_active(context, &few, line, NULL, &bad),
                     "csr: 299 rows, but the embedding has 300 active points");
    ((int32_t *)(uintptr_t)near.columns)[4] = 300;
    expect_rejection(gsw_matrix_from_active(context, &near, line, NULL, &bad),
                     "row 2 (0-based): column 300 is out of range");
    ((int32_t *)(uintptr_t)near.row_ptr)[2] = 1;
    expect_rejection(gsw_matrix_from_active(context, &near, line, NULL, &bad), "never descend");
    expect_rejection(gsw_matrix_from_active(context, &near, NULL, NULL, &bad),
                     "embedding must not be NULL");
    must_reject(gsw_matrix_from_active(context, &near, line, NULL, NULL));
    must_reject(gsw_matrix_from_active(NULL, &near, line, NULL, &bad));
}

int main(int argc, char **argv) {
    backend_choose(argc, argv);
    Suite *suite = suite_create("embed");
    TCase *tc = context_case(suite, "embed", 120);
    LOOPS(tc, LENGTH(stencils), embeddings);
    TESTS(tc, moves, refusals_of_embeddings, refusals_of_matrices);
    return backend_run_suite(suite);
}
