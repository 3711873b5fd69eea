/* test_spmv.c: products with a matrix in every layout and precision against the plain sum, and the
 * vector operations of the CPU backend. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <check.h>
#include <gridsweep/gridsweep.h>
#include "contract/backend.h"
#include "contract/context.h"
#define CONTEXT_THREADS 3
#include "context_fixture.h"
#include "oracle.h"

/* Row `row` of b - A x (b NULL: of A x) in the canonical order, from fp64 stencil arrays whose
 * values fit `values`; *scale receives the sum of the magnitudes. */
static double expected_row(const gsw_matrix *m, gsw_dtype values, gsw_dtype vectors, int64_t row,
                           const void *b, const void *x, double *scale) {
    const gsw_grid *g = &m->grid;
    double sum = b ? oracle_get(vectors, b, row) : 0;
    *scale = fabs(sum);
    for (int32_t e = 0; e < m->stencil.count; e++) {
        gsw_offset o = m->stencil.offsets[e];
        int64_t cx = row % g->nx + o.dx, cy = row / g->nx % g->ny + o.dy;
        int64_t cz = row / g->nx / g->ny + o.dz;
        if (cx < 0 || cx >= g->nx || cy < 0 || cy >= g->ny || cz < 0 || cz >= g->nz)
            continue;
        double a = ((const double *)m->array.values[e])[row];
        a = values == GSW_F32 ? (double)(float)a : a;
        double v = oracle_get(vectors, x, gsw_grid_row(g, cx, cy, cz));
        *scale += fabs(a * v);
        a = b ? -a : a;
        sum = vectors == GSW_F32 ? (double)fmaf((float)a, (float)v, (float)sum) : fma(a, v, sum);
    }
    return sum;
}

static const oracle_layout layouts[] = {
    {GSW_FORMAT_STENCIL, GSW_F64, GSW_I32, 0, GSW_FULL, 0},
    {GSW_FORMAT_STENCIL, GSW_F32, GSW_I32, 0, GSW_FULL, 0},
    {GSW_FORMAT_CSR, GSW_F64, GSW_I32, 0, GSW_FULL, 0},
    {GSW_FORMAT_CSR, GSW_F64, GSW_I64, 1, GSW_FULL, 0},
    {GSW_FORMAT_CSR, GSW_F32, GSW_I32, 1, GSW_FULL, 0},
    {GSW_FORMAT_CSR, GSW_F32, GSW_I64, 0, GSW_FULL, 0},
};
#define LAYOUTS ((int)(sizeof layouts / sizeof layouts[0]))

static void compare_rows(const oracle_matrix *plain, const oracle_matrix *matrix, gsw_dtype values,
                         gsw_dtype vectors, const void *b, const void *x) {
    int64_t n = oracle_points(&plain->view.grid);
    void *y = oracle_vector(vectors, 1, n);
    oracle_fill(vectors, y, n, NAN);
    ck_assert_int_eq(b ? gsw_residual(context, &matrix->view, vectors, b, x, y)
                       : gsw_spmv(context, &matrix->view, vectors, x, y),
                     GSW_SUCCESS);
    double epsilon = vectors == GSW_F32 ? 0x1p-23 : 0x1p-52;
    int64_t wrong = 0;
    for (int64_t row = 0; row < n; row++) {
        double scale;
        double expected = expected_row(&plain->view, values, vectors, row, b, x, &scale);
        wrong += !(fabs(oracle_get(vectors, y, row) - expected) <= 4 * epsilon * scale);
    }
    ck_assert_int_eq(wrong, 0);
    if (b) {
        void *in_place = oracle_copy(vectors, b, n);
        ck_assert_int_eq(gsw_residual(context, &matrix->view, vectors, in_place, x, in_place),
                         GSW_SUCCESS);
        ck_assert_int_eq(memcmp(in_place, y, (size_t)n * gsw_dtype_size(vectors)), 0);
        free(in_place);
    }
    free(y);
}

static void compare_layout(const oracle_matrix *plain, const oracle_layout *layout) {
    oracle_matrix *matrix = oracle_convert(plain, layout);
    int64_t n = oracle_points(&plain->view.grid);
    for (int vectors = GSW_F64; vectors <= GSW_F32; vectors++) {
        if (vectors == GSW_F32 && layout->value_type == GSW_F64)
            continue;
        void *x = oracle_vector((gsw_dtype)vectors, 2, n);
        void *b = oracle_vector((gsw_dtype)vectors, 3, n);
        compare_rows(plain, matrix, layout->value_type, (gsw_dtype)vectors, NULL, x);
        compare_rows(plain, matrix, layout->value_type, (gsw_dtype)vectors, b, x);
        free(x);
        free(b);
    }
    oracle_free(matrix);
}

START_TEST(products_on_every_grid_and_layout) {
    gsw_grid grid = oracle_grid(_i);
    for (int k = 0; k < oracle_stencil_count(); k++) {
        const char *name;
        const gsw_stencil *stencil = oracle_stencil(k, &name);
        oracle_matrix *plain = oracle_random(&grid, stencil, 40 + (uint64_t)k, ORACLE_ANY_SIGN);
        for (int l = 0; l < LAYOUTS; l++)
            compare_layout(plain, &layouts[l]);
        oracle_free(plain);
    }
}
END_TEST

/* Lines longer than the part that one task computes. */
START_TEST(products_on_long_lines) {
    gsw_grid grid = {40000, 2, 1};
    gsw_stencil stencil;
    ck_assert_int_eq(gsw_stencil_named("D2N9", &stencil), GSW_SUCCESS);
    oracle_matrix *plain = oracle_random(&grid, &stencil, 7, ORACLE_ANY_SIGN);
    compare_layout(plain, &layouts[0]);
    compare_layout(plain, &layouts[2]);
    oracle_free(plain);
}
END_TEST

/* Short lines are computed together: in one group and in several, at the limits of the length, and
 * with offsets that reach farther than a line is long. */
START_TEST(products_on_short_lines) {
    static const gsw_grid grids[] = {{3, 1500, 2}, {1, 5000, 2}, {64, 130, 2}, {65, 70, 3},
                                     {127, 40, 2}, {128, 70, 1}, {129, 33, 2}, {2, 3, 400},
                                     {5, 2, 90},   {33, 1, 50},  {16, 257, 1}, {28, 150, 2},
                                     {29, 9, 3}};
    static const char *const names[] = {"D3N7", "D3N27", "D3N33"};
    for (int k = 0; k < 3; k++) {
        gsw_stencil stencil;
        ck_assert_int_eq(gsw_stencil_named(names[k], &stencil), GSW_SUCCESS);
        oracle_matrix *plain = oracle_random(&grids[_i], &stencil, 11, ORACLE_ANY_SIGN);
        compare_layout(plain, &layouts[0]);
        compare_layout(plain, &layouts[1]);
        oracle_free(plain);
    }
}
END_TEST

/* The point before the first one of a line is the last one of the line before. Its value does not
 * reach the result, not even NaN, nor does a coefficient towards it: the oracle's are NaN. */
START_TEST(ends_of_short_lines_are_apart) {
    gsw_grid grid = {5 + 9 * _i, 40, 3};
    gsw_stencil stencil;
    ck_assert_int_eq(gsw_stencil_named("D3N27", &stencil), GSW_SUCCESS);
    oracle_matrix *plain = oracle_random(&grid, &stencil, 12, ORACLE_ANY_SIGN);
    const int64_t n = oracle_points(&grid), y0 = 20, z0 = 1;
    double *x = oracle_vector(GSW_F64, 2, n), *y = oracle_vector(GSW_F64, 3, n);
    for (int end = 0; end < 2; end++) {
        const int64_t x0 = end ? grid.nx - 1 : 0, spoilt = gsw_grid_row(&grid, x0, y0, z0);
        const double good = x[spoilt];
        x[spoilt] = NAN;
        ck_assert_int_eq(gsw_spmv(context, &plain->view, GSW_F64, x, y), GSW_SUCCESS);
        x[spoilt] = good;
        for (int64_t row = 0; row < n; row++) {
            const int64_t cx = row % grid.nx, cy = row / grid.nx % grid.ny;
            const int near = llabs(cx - x0) <= 1 && llabs(cy - y0) <= 1;
            ck_assert_msg(isnan(y[row]) == near, "x %d, y %d", (int)cx, (int)cy);
        }
    }
    free(x);
    free(y);
    oracle_free(plain);
}
END_TEST

START_TEST(null_arrays_are_zeros) {
    gsw_grid grid = {9, 5, 4};
    gsw_stencil stencil;
    ck_assert_int_eq(gsw_stencil_named("D3N7", &stencil), GSW_SUCCESS);
    oracle_matrix *plain = oracle_random(&grid, &stencil, 8, ORACLE_ANY_SIGN);
    const void *pointers[7];
    double x[180], with_zeros[180], without[180];
    double *zeros = calloc(180, sizeof *zeros);
    ck_assert_ptr_nonnull(zeros);
    gsw_random_vector(5, 180, x);
    x[0] = INFINITY; /* zeros times infinity would be NaN: an absent array must not be touched */
    memcpy(pointers, plain->view.array.values, sizeof pointers);
    gsw_matrix matrix = plain->view;
    matrix.array.values = pointers;
    pointers[0] = pointers[2] = NULL;
    ck_assert_int_eq(gsw_spmv(context, &matrix, GSW_F64, x, without), GSW_SUCCESS);
    ck_assert(isfinite(without[1]));
    x[0] = 1;
    ck_assert_int_eq(gsw_spmv(context, &matrix, GSW_F64, x, without), GSW_SUCCESS);
    pointers[0] = pointers[2] = zeros;
    ck_assert_int_eq(gsw_spmv(context, &matrix, GSW_F64, x, with_zeros), GSW_SUCCESS);
    for (int i = 0; i < 180; i++)
        ck_assert(without[i] == with_zeros[i]);
    free(zeros);
    oracle_free(plain);
}
END_TEST

START_TEST(bad_arguments_are_refused) {
    gsw_grid grid = {4, 3, 2};
    gsw_stencil stencil;
    ck_assert_int_eq(gsw_stencil_named("D3N7", &stencil), GSW_SUCCESS);
    oracle_matrix *plain = oracle_random(&grid, &stencil, 9, ORACLE_POSITIVE);
    const gsw_matrix *m = &plain->view;
    double x[24] = {0}, y[24] = {0};
    ck_assert_int_eq(gsw_spmv(NULL, m, GSW_F64, x, y), GSW_ERROR_INVALID_ARGUMENT);
    ck_assert_int_eq(gsw_spmv(context, NULL, GSW_F64, x, y), GSW_ERROR_INVALID_ARGUMENT);
    ck_assert_int_eq(gsw_spmv(context, m, GSW_F64, NULL, y), GSW_ERROR_INVALID_ARGUMENT);
    ck_assert_int_eq(gsw_spmv(context, m, GSW_F64, x, NULL), GSW_ERROR_INVALID_ARGUMENT);
    ck_assert_int_eq(gsw_spmv(context, m, GSW_F64, x, x), GSW_ERROR_INVALID_ARGUMENT);
    ck_assert_int_eq(gsw_spmv(context, m, (gsw_dtype)5, x, y), GSW_ERROR_INVALID_ARGUMENT);
    ck_assert_int_eq(gsw_spmv(context, m, GSW_F32, x, y), GSW_ERROR_UNSUPPORTED);
    ck_assert_int_eq(gsw_residual(context, m, GSW_F64, NULL, x, y), GSW_ERROR_INVALID_ARGUMENT);
    ck_assert_int_eq(gsw_residual(context, m, GSW_F64, y, x, x), GSW_ERROR_INVALID_ARGUMENT);
    gsw_matrix broken = *m;
    broken.grid.ny = 0;
    ck_assert_int_eq(gsw_spmv(context, &broken, GSW_F64, x, y), GSW_ERROR_INVALID_ARGUMENT);
    broken = *m;
    broken.format = (gsw_format)3;
    ck_assert_int_eq(gsw_spmv(context, &broken, GSW_F64, x, y), GSW_ERROR_INVALID_ARGUMENT);
    oracle_free(plain);
}
END_TEST

/* ---- vector operations ---- */

static const int64_t lengths[] = {0, 1, 7, 31, 32, 33, 4095, 4096, 4097, 16385, 100003, 5000011};

START_TEST(dot_is_accurate_and_independent_of_threads) {
    int64_t n = lengths[_i];
    double *x = oracle_vector(GSW_F64, 1, n + 1), *y = oracle_vector(GSW_F64, 2, n + 1);
    long double sum = 0, scale = 0;
    for (int64_t i = 0; i < n; i++) {
        sum += (long double)x[i] * y[i];
        scale += fabsl((long double)x[i] * y[i]);
    }
    double first = 0;
    for (int threads = 1; threads <= 7; threads += 2) {
        gsw_context_options options = {
            .size = sizeof options, .backend = GSW_BACKEND_CPU, .threads = threads};
        gsw_context *own = NULL;
        double dot = NAN;
        ck_assert_int_eq(gsw_context_create(&options, &own), GSW_SUCCESS);
        ck_assert_int_eq(own->ops->dot(own, n, x, y, &dot), GSW_SUCCESS);
        gsw_context_destroy(own);
        first = threads == 1 ? dot : first;
        ck_assert(dot == first);
        ck_assert(fabsl(dot - sum) <= 1e-14L * scale);
    }
    free(x);
    free(y);
}
END_TEST

START_TEST(axpby_copy_and_fill) {
    int64_t n = lengths[_i];
    double *x = oracle_vector(GSW_F64, 1, n + 1), *y = oracle_vector(GSW_F64, 2, n + 1);
    double *z = oracle_copy(GSW_F64, y, n + 1);
    int64_t wrong = 0;
    ck_assert_int_eq(context->ops->axpby(context, n, 0.75, x, -3, z), GSW_SUCCESS);
    for (int64_t i = 0; i < n; i++)
        wrong += !(fabs(z[i] - (0.75 * x[i] - 3 * y[i])) <= 1e-15);
    ck_assert(z[n] == y[n]);

    oracle_fill(GSW_F64, z, n + 1, NAN);
    ck_assert_int_eq(context->ops->axpby(context, n, 0.75, x, 0, z), GSW_SUCCESS);
    for (int64_t i = 0; i < n; i++)
        wrong += z[i] != 0.75 * x[i];
    ck_assert(isnan(z[n]));

    ck_assert_int_eq(context->ops->copy(context, n, x, z), GSW_SUCCESS);
    ck_assert_int_eq(memcmp(z, x, (size_t)n * sizeof *x), 0);
    ck_assert(isnan(z[n]));
    ck_assert_int_eq(context->ops->fill(context, n, -1.5, z), GSW_SUCCESS);
    for (int64_t i = 0; i < n; i++)
        wrong += z[i] != -1.5;
    ck_assert(isnan(z[n]));
    ck_assert_int_eq(wrong, 0);
    free(x);
    free(y);
    free(z);
}
END_TEST

static Suite *spmv_suite(void) {
    const int count = (int)(sizeof lengths / sizeof lengths[0]);
    Suite *suite = suite_create("spmv");
    TCase *tc = tcase_create("spmv");
    tcase_set_timeout(tc, 120);
    tcase_add_checked_fixture(tc, open_context, close_context);
    tcase_add_loop_test(tc, products_on_every_grid_and_layout, 0, oracle_grid_count());
    tcase_add_test(tc, products_on_long_lines);
    tcase_add_loop_test(tc, products_on_short_lines, 0, 13);
    tcase_add_loop_test(tc, ends_of_short_lines_are_apart, 0, 3);
    tcase_add_test(tc, null_arrays_are_zeros);
    tcase_add_test(tc, bad_arguments_are_refused);
    tcase_add_loop_test(tc, dot_is_accurate_and_independent_of_threads, 0, count);
    tcase_add_loop_test(tc, axpby_copy_and_fill, 0, count);
    suite_add_tcase(suite, tc);
    return suite;
}

int main(void) {
    SRunner *runner = srunner_create(spmv_suite());
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
