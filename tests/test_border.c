/* test_border.c: borders: a row and a column for the mean are taken off a matrix and put back on
 * vectors. The whole system is multiplied out row by row. */
#include "common/csr.h"
#include "context_fixture.h"
#include "multigrid_matrices.h"

static const gsw_grid grids[] = {{2, 1, 1}, {3, 1, 1},   {129, 1, 1},
                                 {5, 7, 1}, {13, 11, 7}, {31, 1, 8}};

/* A whole matrix: a Neumann matrix with random couplings, and a border of these numbers. */
typedef struct whole {
    gsw_csr csr;
    int64_t points;
    double corner;
} whole;

static double coupling(const gsw_grid *g, int64_t row, int axis, int side) {
    const int64_t step[] = {1, g->nx, g->nx * g->ny}, extent[] = {g->nx, g->ny, g->nz};
    const int64_t at = row / step[axis] % extent[axis];
    if (at + side < 0 || at + side >= extent[axis])
        return 0;
    return -1 - hard_random(3, side < 0 ? row - step[axis] : row, axis, 0);
}

static double border_number(int64_t i, int volumes, int which) {
    return volumes ? 1 + hard_random(5, i, which, 0) : 2 + which;
}

static void put(gsw_csr *csr, int64_t column, double value) {
    gsw_index_put((void *)(uintptr_t)csr->columns, csr->index_type, csr->nonzeros,
                  column + csr->base);
    gsw_value_put((void *)(uintptr_t)csr->values, csr->value_type, csr->nonzeros++, value);
}

/* `rounded`: all numbers are integers, so that fp32 has the sums of fp64. */
static whole whole_of(const gsw_grid *g, const gsw_csr *kind, int volumes, double corner) {
    const int64_t n = oracle_points(g), step[] = {1, g->nx, g->nx * g->ny};
    const size_t room = (size_t)(9 * n + 2) * 8;
    const int rounded = kind->value_type == GSW_F32;
    whole w = {.csr = *kind, .points = n, .corner = corner};
    w.csr.rows = n + 1;
    w.csr.nonzeros = 0;
    w.csr.row_ptr = keep_bytes(room);
    w.csr.columns = keep_bytes(room);
    w.csr.values = keep_bytes(room);
    for (int64_t row = 0; row <= n; row++) {
        gsw_index_put((void *)(uintptr_t)w.csr.row_ptr, kind->index_type, row,
                      w.csr.nonzeros + kind->base);
        double sides[6], sum = 0;
        for (int s = 0; s < 6 && row < n; s++) {
            sides[s] = coupling(g, row, s % 3, s < 3 ? -1 : 1);
            sides[s] = rounded ? -(double)(sides[s] != 0) : sides[s];
            sum -= sides[s];
        }
        for (int s = 2; s >= 0 && row < n; s--)
            if (sides[s] != 0)
                put(&w.csr, row - step[s], sides[s]);
        if (row < n)
            put(&w.csr, row, sum);
        for (int s = 3; s < 6 && row < n; s++)
            if (sides[s] != 0)
                put(&w.csr, row + step[s - 3], sides[s]);
        for (int64_t i = 0; i < n && row == n; i++)
            put(&w.csr, i, border_number(i, volumes, 1));
        if (row < n || corner != 0)
            put(&w.csr, n, row < n ? border_number(row, volumes, 0) : corner);
    }
    gsw_index_put((void *)(uintptr_t)w.csr.row_ptr, kind->index_type, n + 1,
                  w.csr.nonzeros + kind->base);
    return w;
}

static double *times(const gsw_csr *csr, const double *x) {
    double *y = keep_zeros(csr->rows);
    for (int64_t row = 0; row < csr->rows; row++)
        for (int64_t k = gsw_index_at(csr->row_ptr, csr->index_type, row) - csr->base;
             k < gsw_index_at(csr->row_ptr, csr->index_type, row + 1) - csr->base; k++)
            y[row] += gsw_value_at(csr->values, csr->value_type, k) *
                      x[gsw_index_at(csr->columns, csr->index_type, k) - csr->base];
    return y;
}

static double square_of(int64_t n, const double *v) {
    double square = 0;
    for (int64_t i = 0; i < n; i++)
        square += v[i] * v[i];
    return square;
}

static void expect_close(const device_vector *v, int64_t n, const double *expected) {
    double *found = keep_zeros(n);
    device_get(context, v, found);
    ck_assert_double_le(oracle_error(GSW_F64, n, found, expected), 1e-12);
}

/* The whole x is random, and b follows from it. What A leaves open is moved before. */
static void check_vectors(const whole *w, const gsw_csr *inner, const gsw_border *border) {
    const int64_t n = w->points;
    double *x = keep_random(7, n + 1), *b = times(&w->csr, x), *moved = keep_copy(x, n + 1);
    double share = -1, *expected = times(inner, x);
    device_vector there = keep_guarded(GSW_F64, n + 1), b_inner = keep_guarded(GSW_F64, n);
    device_vector answer = keep_guarded(GSW_F64, n + 1);
    device_put(context, &there, b);
    must(context, gsw_border_right_side(context, border, there.values, b_inner.values, &share));
    expect_close(&b_inner, n, expected);
    ck_assert_double_eq_tol(share, sqrt(square_of(n, expected) / square_of(n + 1, b)), 1e-12);
    for (int64_t i = 0; i < n; i++)
        moved[i] += 2.5;
    moved[n] = NAN;
    device_put(context, &answer, moved);
    must(context, gsw_border_solution(context, border, there.values, answer.values));
    expect_close(&answer, n + 1, x);
}

static gsw_border *take(const whole *w, gsw_csr *inner) {
    gsw_border *border;
    must(context, gsw_border_create(context, &w->csr, inner, &border));
    keep_csr(*inner);
    return border;
}

/* All grids with this kind of CSR. */
TEST(borders) {
    const gsw_csr kind = {.index_type = _i & 1 ? GSW_I64 : GSW_I32,
                          .value_type = _i & 2 ? GSW_F32 : GSW_F64,
                          .base = _i & 4 ? 1 : 0};
    for (size_t k = 0; k < LENGTH(grids); k++) {
        const int64_t n = oracle_points(&grids[k]);
        const whole w = whole_of(&grids[k], &kind, !(_i & 2), n >= 128 && _i & 1 ? 0.7 : 0);
        gsw_csr inner;
        gsw_border *border = take(&w, &inner);
        ck_assert_ptr_nonnull(border);
        ck_assert_int_eq(inner.rows, n);
        ck_assert_int_eq(inner.nonzeros, w.csr.nonzeros - 2 * n - (w.corner != 0));
        ck_assert_int_eq(inner.base, kind.base);
        double *x = keep_random(9, n + 1);
        x[n] = 0;
        double *y = times(&w.csr, x), *z = times(&inner, x);
        ck_assert_mem_eq(y, z, (size_t)n * sizeof *y);
        check_vectors(&w, &inner, border);
        gsw_border_destroy(border);
    }
}

static void expect_none(gsw_csr csr) {
    gsw_csr inner = csr;
    gsw_border *border = (void *)&inner;
    must(context, gsw_border_create(context, &csr, &inner, &border));
    ck_assert_ptr_null(border);
    ck_assert_ptr_null(inner.values);
}

static void expect_no_mean(const gsw_csr *csr) {
    gsw_csr inner = *csr;
    gsw_border *border = (void *)&inner;
    expect_refusal(gsw_border_create(context, csr, &inner, &border), GSW_ERROR_NOT_A_GRID,
                   "the last row is coupled to all others, and is no condition on the mean");
    ck_assert_ptr_null(border);
    ck_assert_ptr_null(inner.values);
}

/* A matrix without a border is none, and one whose sums are not 0 is refused. */
TEST(other_matrices) {
    const gsw_csr kind = {.index_type = GSW_I32, .value_type = GSW_F64};
    const gsw_grid small = {5, 7, 1};
    const whole plain = whole_of(&small, &kind, 1, 0), full = whole_of(&small, &kind, 1, 0.5);
    double *values = (void *)(uintptr_t)plain.csr.values;
    int32_t *columns = (void *)(uintptr_t)plain.csr.columns;
    gsw_csr one = plain.csr;
    one.rows = 1;
    one.nonzeros = gsw_index_at(one.row_ptr, GSW_I32, 1);
    expect_none(full.csr); /* such a matrix may be that of a small grid */
    expect_none(one);
    const int64_t end = gsw_index_at(plain.csr.row_ptr, GSW_I32, 4) - 1;
    columns[end] = 34; /* row 3 is not coupled to the last one */
    expect_none(plain.csr);
    columns[end] = columns[end - 1];
    gsw_csr inner;
    gsw_border *border;
    expect_rejection(gsw_border_create(context, &plain.csr, &inner, &border), "row 3 (0-based)");
    columns[end] = 35;
    values[0] *= 1 + 1e-12;
    expect_no_mean(&plain.csr);
    values[0] = NAN;
    expect_no_mean(&plain.csr);
    const whole other = whole_of(&small, &kind, 1, 0);
    for (int64_t i = 0; i < 35; i++) /* the border adds up to 0 */
        gsw_value_put((void *)(uintptr_t)other.csr.values, GSW_F64, other.csr.nonzeros - 35 + i,
                      (double)(i - 17));
    expect_no_mean(&other.csr);
}

TEST(refusals) {
    const gsw_csr kind = {.index_type = GSW_I64, .value_type = GSW_F64};
    const gsw_grid g = {13, 11, 7};
    const whole w = whole_of(&g, &kind, 0, 0);
    const int64_t n = w.points;
    gsw_csr inner;
    gsw_border *border = take(&w, &inner), *other;
    device_vector b = keep_guarded(GSW_F64, n + 1), x = keep_guarded(GSW_F64, n + 1);
    double *const of_b = (double *)b.values, *const of_x = (double *)x.values;
    device_put(context, &b, keep_zeros(n + 1));
    double share = 0;
    must(context, gsw_border_right_side(context, border, of_b, of_x, &share));
    ck_assert_double_eq(share, 1);
    must(context, gsw_border_right_side(context, border, of_b, of_x, NULL));
    expect_rejection(gsw_border_right_side(context, border, of_b, of_b, NULL), "overlap");
    expect_rejection(gsw_border_solution(context, border, of_b, of_b + n), "overlap");
    expect_rejection(gsw_border_solution(context, border, NULL, of_x), "b is NULL");
    expect_rejection(gsw_border_right_side(context, NULL, of_b, of_x, NULL), "border must not");
    must_reject(gsw_border_solution(NULL, border, of_b, of_x));
    expect_rejection(gsw_border_create(context, &w.csr, NULL, &other), "inner must not be NULL");
    expect_rejection(gsw_border_create(context, &w.csr, &inner, NULL), "border must not be NULL");
    must_reject(gsw_border_create(NULL, &w.csr, &inner, &other));
    gsw_context *third = oracle_context(1);
    must_reject(gsw_border_solution(third, border, of_b, of_x));
    gsw_context_destroy(third);
    gsw_border_destroy(border);
    gsw_border_destroy(NULL);
}

int main(int argc, char **argv) {
    backend_choose(argc, argv);
    Suite *suite = suite_create("border");
    TCase *tc = context_case(suite, "border", 60);
    LOOPS(tc, 8, borders);
    TESTS(tc, other_matrices, refusals);
    return backend_run_suite(suite);
}
