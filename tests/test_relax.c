/* test_relax.c: stencil loops with ghost zones on the CPU: against the plain serial sweep, against
 * gsw_smooth(), and their refusals. */
#include "context_fixture.h"
#include "relax_cases.h"

#define LENGTH(array) ((int)(sizeof(array) / sizeof((array)[0])))

START_TEST(sweeps_equal_the_reference) {
    const char *name;
    const gsw_stencil *stencil = oracle_stencil(_i, &name);
    for (int g = _i % ORACLE_STRIDE; g < oracle_grid_count(); g += ORACLE_STRIDE) {
        const gsw_grid grid = oracle_grid(g);
        oracle_matrix *matrix = oracle_random(&grid, stencil, 40, ORACLE_ANY_SIGN);
        relax_compare_heights(context, &matrix->view, &matrix->view, 1, 1);
        oracle_free(matrix);
        relax_compare_f32(context, &grid, stencil);
    }
}
END_TEST

/* Grids of several tiles along each axis, lines longer than a tile, and short lines, of which
 * several are computed as one; several threads. */
START_TEST(tiles_do_not_show) {
    static const struct {
        const char *stencil;
        gsw_grid grid;
    } large[] = {{"D2N5", {2100, 70, 1}},  {"D2N9", {601, 267, 1}},   {"D3N7", {67, 65, 70}},
                 {"D3N27", {130, 37, 41}}, {"D3N13", {1031, 17, 18}}, {"D2N5", {97, 101, 3}},
                 {"D3N7", {2, 150, 70}},   {"D3N27", {3, 90, 35}},    {"D3N13", {5, 140, 20}},
                 {"D2N9", {7, 400, 1}},    {"D3N33", {2, 70, 40}},    {"D3N19", {32, 37, 36}},
                 {"D3N27", {33, 35, 18}}};
    for (int k = 0; k < LENGTH(large); k++) {
        gsw_context *several = oracle_context(1 + 2 * (k % 3));
        oracle_matrix *matrix = oracle_random(
            &large[k].grid, oracle_stencil_named(large[k].stencil), 41, ORACLE_POSITIVE);
        relax_compare_heights(several, &matrix->view, &matrix->view, 1 + k % 3, 3);
        oracle_free(matrix);
        relax_compare_f32(several, &large[k].grid, oracle_stencil_named(large[k].stencil));
        gsw_context_destroy(several);
    }
}
END_TEST

/* With weight 1 the bits are those of gsw_smooth() with a JACOBI factor; values are copied where
 * they must be. */
START_TEST(jacobi_is_that_of_the_smoother) {
    static const oracle_layout layouts[] = {{GSW_FORMAT_STENCIL, GSW_F64, GSW_I32, 0, GSW_FULL, 0},
                                            {GSW_FORMAT_STENCIL, GSW_F32, GSW_I32, 0, GSW_FULL, 0},
                                            {GSW_FORMAT_CSR, GSW_F64, GSW_I32, 1, GSW_FULL, 0},
                                            {GSW_FORMAT_CSR, GSW_F64, GSW_I64, 0, GSW_FULL, 3}};
    const gsw_grid grid = {23, 17, 11};
    oracle_matrix *matrix = oracle_random(&grid, oracle_stencil_named("D3N19"), 5, ORACLE_POSITIVE);
    const int64_t n = oracle_points(&grid);
    double *b = oracle_vector(GSW_F64, 1, n), *work = oracle_vector(GSW_F64, 1, n);
    for (int k = 0; k < LENGTH(layouts); k++) {
        oracle_matrix *stored = oracle_convert(matrix, &layouts[k]);
        const gsw_factor_options jacobi = {.size = sizeof jacobi, .kind = GSW_JACOBI};
        gsw_factor *factor;
        gsw_relax *relax;
        relax_try(context, gsw_factor_create(context, &stored->view, &jacobi, &factor));
        relax_try(context, gsw_relax_create(context, &stored->view, NULL, &relax));
        for (int zero = 0; zero < 2; zero++) {
            double *x = oracle_vector(GSW_F64, 2, n), *expected = oracle_vector(GSW_F64, 2, n);
            relax_try(context,
                      gsw_smooth(context, &stored->view, factor, 5, zero, b, expected, work));
            relax_try(context, gsw_relax_run(context, relax, 5, zero, b, x));
            relax_compare(context, &stored->view, n, x, expected, "against gsw_smooth()");
            free(expected);
            free(x);
        }
        gsw_relax_destroy(relax);
        gsw_factor_destroy(factor);
        oracle_free(stored);
    }
    free(work);
    free(b);
    oracle_free(matrix);
}
END_TEST

/* New values in the user's own arrays count at once, those of a copy after a refactor. */
START_TEST(new_values) {
    const gsw_grid grid = {9, 8, 7};
    const oracle_layout csr = {GSW_FORMAT_CSR, GSW_F64, GSW_I32, 0, GSW_FULL, 0};
    const gsw_stencil *stencil = oracle_stencil_named("D3N7");
    oracle_matrix *first = oracle_random(&grid, stencil, 1, ORACLE_POSITIVE),
                  *second = oracle_random(&grid, stencil, 2, ORACLE_POSITIVE),
                  *first_csr = oracle_convert(first, &csr),
                  *second_csr = oracle_convert(second, &csr);
    const gsw_relax_options options = {.size = sizeof options, .height = 2};
    const int64_t n = oracle_points(&grid);
    double *b = oracle_vector(GSW_F64, 1, n), *x = oracle_vector(GSW_F64, 2, n),
           *expected = oracle_vector(GSW_F64, 2, n);
    gsw_relax *view, *copy;
    relax_try(context, gsw_relax_create(context, &first->view, &options, &view));
    relax_try(context, gsw_relax_create(context, &first_csr->view, &options, &copy));
    relax_expect(&second->view, &options, 3, 1, b, expected);
    relax_try(context, gsw_relax_refactor(context, copy, &second_csr->view));
    relax_try(context, gsw_relax_run(context, copy, 3, 1, b, x));
    relax_compare(context, &second->view, n, x, expected, "a refactored copy");
    for (int32_t e = 0; e < stencil->count; e++)
        memcpy(first->arrays[e], second->arrays[e], (size_t)n * sizeof *x);
    relax_try(context, gsw_relax_run(context, view, 3, 1, b, x));
    relax_compare(context, &second->view, n, x, expected, "arrays with new values");

    /* a bad diagonal: refused, and so is every call until the next refactor */
    const double kept = ((double *)first->arrays[stencil->center])[100];
    ((double *)first->arrays[stencil->center])[100] = 0;
    ck_assert_int_eq(gsw_relax_refactor(context, view, &first->view), GSW_ERROR_ZERO_PIVOT);
    ck_assert_ptr_nonnull(strstr(gsw_context_message(context), "row"));
    ck_assert_int_eq(gsw_relax_run(context, view, 1, 0, b, x), GSW_ERROR_INVALID_ARGUMENT);
    ck_assert_ptr_nonnull(strstr(gsw_context_message(context), "holds no values"));
    ((double *)first->arrays[stencil->center])[100] = kept;
    relax_try(context, gsw_relax_refactor(context, view, &first->view));
    relax_try(context, gsw_relax_run(context, view, 3, 1, b, x));
    relax_compare(context, &second->view, n, x, expected, "after a failed refactor");
    gsw_relax_destroy(copy);
    gsw_relax_destroy(view);
    free(expected);
    free(x);
    free(b);
    oracle_free(second_csr);
    oracle_free(first_csr);
    oracle_free(second);
    oracle_free(first);
}
END_TEST

/* An array that is missing counts as zeros. */
START_TEST(missing_arrays_are_zeros) {
    const gsw_grid grid = {12, 9, 5};
    oracle_matrix *matrix = oracle_random(&grid, oracle_stencil_named("D3N7"), 3, ORACLE_POSITIVE);
    const int64_t n = oracle_points(&grid);
    double *b = oracle_vector(GSW_F64, 1, n), *x = oracle_vector(GSW_F64, 2, n),
           *expected = oracle_vector(GSW_F64, 2, n);
    const void *some[GSW_STENCIL_MAX];
    memcpy(some, matrix->arrays, sizeof some);
    oracle_fill(GSW_F64, matrix->arrays[1], n, 0);
    some[1] = NULL;
    gsw_matrix view = matrix->view;
    view.array.values = some;
    const gsw_relax_options options = {.size = sizeof options, .weight = 0.7};
    gsw_relax *relax;
    relax_try(context, gsw_relax_create(context, &view, &options, &relax));
    relax_expect(&matrix->view, &options, 4, 0, b, expected);
    relax_try(context, gsw_relax_run(context, relax, 4, 0, b, x));
    relax_compare(context, &matrix->view, n, x, expected, "an array is missing");
    gsw_relax_destroy(relax);
    free(expected);
    free(x);
    free(b);
    oracle_free(matrix);
}
END_TEST

START_TEST(the_model_tells_what_it_chose) {
    const gsw_grid grid = {300, 200, 1};
    oracle_matrix *matrix = oracle_random(&grid, oracle_stencil_named("D2N5"), 3, ORACLE_POSITIVE);
    double best = INFINITY;
    for (int32_t height = 8; height >= 0; height--) {
        const gsw_relax_options options = {.size = sizeof options, .height = height};
        gsw_relax_info info = {.size = sizeof info};
        gsw_relax *relax;
        relax_try(context, gsw_relax_create(context, &matrix->view, &options, &relax));
        relax_try(context, gsw_relax_get_info(relax, &info));
        gsw_relax_destroy(relax);
        ck_assert(info.predicted_ms > 0 && info.redundant >= 1 && info.moved_bytes > 0);
        ck_assert(info.tile[0] >= 1 && info.tile[1] >= 1 && info.tile[2] == 1);
        if (height > 0) {
            ck_assert_int_eq(info.height, height);
            ck_assert_double_eq_tol(info.moved_bytes, 64.0 * 300 * 200 / height, 1);
            best = info.predicted_ms < best ? info.predicted_ms : best;
        } else {
            ck_assert_double_eq(info.predicted_ms, best);
        }
    }
    oracle_free(matrix);
}
END_TEST

START_TEST(bad_arguments_are_refused) {
    const gsw_status invalid = GSW_ERROR_INVALID_ARGUMENT;
    const gsw_grid grid = {5, 4, 3}, larger = {6, 4, 3};
    oracle_matrix *matrix = oracle_random(&grid, oracle_stencil_named("D3N7"), 3, ORACLE_POSITIVE),
                  *other = oracle_random(&larger, oracle_stencil_named("D3N7"), 3, ORACLE_POSITIVE),
                  *wide = oracle_random(&grid, oracle_stencil_named("D3N27"), 3, ORACLE_POSITIVE);
    static const struct {
        gsw_relax_options options;
        const char *word;
    } wrong[] = {{{.method = (gsw_relax_method)2}, "method"},
                 {{.height = -1}, "height"},
                 {{.height = 9}, "height"},
                 {{.weight = INFINITY}, "weight"},
                 {{.method = GSW_RELAX_CHEBYSHEV, .lowest = 0, .highest = 1}, "interval"},
                 {{.method = GSW_RELAX_CHEBYSHEV, .lowest = 1, .highest = 1}, "interval"},
                 {{.method = GSW_RELAX_CHEBYSHEV, .lowest = 1, .highest = INFINITY}, "interval"}};
    gsw_relax *relax = (gsw_relax *)(void *)matrix;
    double b[60], x[60];
    for (int k = 0; k < LENGTH(wrong); k++) {
        gsw_relax_options options = wrong[k].options;
        options.size = sizeof options;
        expect_refusal(gsw_relax_create(context, &matrix->view, &options, &relax), invalid,
                       wrong[k].word);
        ck_assert_ptr_null(relax);
    }
    ck_assert_int_eq(gsw_relax_create(NULL, &matrix->view, NULL, &relax), invalid);
    expect_refusal(gsw_relax_create(context, NULL, NULL, &relax), invalid, "matrix");
    expect_refusal(gsw_relax_create(context, &matrix->view, NULL, NULL), invalid, "relax");
    relax_try(context, gsw_relax_create(context, &matrix->view, NULL, &relax));
    expect_refusal(gsw_relax_refactor(context, relax, &other->view), invalid, "grid");
    expect_refusal(gsw_relax_refactor(context, relax, &wide->view), invalid, "stencil");
    expect_refusal(gsw_relax_refactor(context, relax, NULL), invalid, "matrix");
    expect_refusal(gsw_relax_refactor(context, NULL, &matrix->view), invalid, "relax");
    ck_assert_int_eq(gsw_relax_refactor(NULL, relax, &matrix->view), invalid);
    const oracle_layout csr = {GSW_FORMAT_CSR, GSW_F64, GSW_I32, 0, GSW_FULL, 0};
    oracle_matrix *converted = oracle_convert(matrix, &csr);
    expect_refusal(gsw_relax_refactor(context, relax, &converted->view), invalid, "format");
    const void *some[GSW_STENCIL_MAX];
    memcpy(some, matrix->arrays, sizeof some);
    some[0] = NULL;
    gsw_matrix holes = matrix->view;
    holes.array.values = some;
    expect_refusal(gsw_relax_refactor(context, relax, &holes), invalid, "NULL");
    expect_refusal(gsw_relax_run(context, NULL, 1, 0, b, x), invalid, "relax");
    ck_assert_int_eq(gsw_relax_run(NULL, relax, 1, 0, b, x), invalid);
    expect_refusal(gsw_relax_run(context, relax, -1, 0, b, x), invalid, "sweeps");
    expect_refusal(gsw_relax_run(context, relax, 1, 0, NULL, x), invalid, "b is NULL");
    expect_refusal(gsw_relax_run(context, relax, 1, 0, x, x), invalid, "b and x");
    expect_refusal(gsw_relax_get_info(relax, NULL), invalid, "info");
    ck_assert_int_eq(gsw_relax_get_info(NULL, NULL), invalid);
    ck_assert_str_eq(gsw_relax_method_name(GSW_RELAX_CHEBYSHEV), "chebyshev");
    ck_assert_str_eq(gsw_relax_method_name((gsw_relax_method)7), "unknown");
    gsw_relax_destroy(relax);
    gsw_relax_destroy(NULL);
    oracle_free(converted);
    oracle_free(wide);
    oracle_free(other);
    oracle_free(matrix);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("relax");
    TCase *tc = tcase_create("relax");
    tcase_set_timeout(tc, 300);
    tcase_add_checked_fixture(tc, open_context, close_context);
    tcase_add_loop_test(tc, sweeps_equal_the_reference, 0, oracle_stencil_count());
    tcase_add_test(tc, tiles_do_not_show);
    tcase_add_test(tc, jacobi_is_that_of_the_smoother);
    tcase_add_test(tc, new_values);
    tcase_add_test(tc, missing_arrays_are_zeros);
    tcase_add_test(tc, the_model_tells_what_it_chose);
    tcase_add_test(tc, bad_arguments_are_refused);
    suite_add_tcase(suite, tc);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
