/* test_relax.c: stencil loops with ghost zones: gsw_relax, and the loops of multigrid, which are in
 * fp32, too; against the plain serial sweep, against gsw_smooth(), and their refusals.
 *
 * GSW_TEST_STRIDE=6 in the environment tries one grid in six (see device.h). */
#include "sweep/relax_loop.h"
#include "relax_truth.h"

/* Runs the loop on a copy of x in the backend's memory; the result is in x. */
static void run(gsw_relax *relax, int32_t sweeps, int zero, int64_t n, const double *b, double *x) {
    const size_t mark = keep_mark(), bytes = (size_t)n * sizeof *x;
    double *there_b = keep_upload(context, b, bytes), *there_x = keep_upload(context, x, bytes);
    if (zero)
        must(context, gsw_memory_set(context, there_x, 0xff, bytes));
    must(context, gsw_relax_run(context, relax, sweeps, zero, there_b, there_x));
    download(context, x, there_x, bytes);
    keep_release(mark);
}

/* The model's choice (height 0) and every height that has a tile, from `first` on in steps of
 * `step`, with both methods, some numbers of sweeps, and both kinds of first guesses. */
static void compare_heights(const gsw_matrix *host, const gsw_matrix *there, int32_t first,
                            int32_t step) {
    const int64_t n = oracle_points(&host->grid);
    double *b = keep_random(11, n), *x = keep_random(12, n), *guess = keep_copy(x, n),
           *expected = keep_copy(x, n);
    for (int method = 0; method < 2; method++)
        for (int32_t height = 0; height <= 8; height = height == 0 ? first : height + step) {
            const gsw_relax_options options = {.size = sizeof options,
                                               .method = (gsw_relax_method)method,
                                               .height = height,
                                               .weight = height % 3 == 0 ? 0 : 0.8,
                                               .lowest = 0.3,
                                               .highest = 2.1};
            const size_t mark = keep_mark();
            gsw_relax *relax;
            const gsw_status status = gsw_relax_create(context, there, &options, &relax);
            if (height > 1 && status == GSW_ERROR_UNSUPPORTED) {
                ck_assert_ptr_null(relax);
                continue; /* wide stencils have no tile of such a height */
            }
            must(context, status);
            keep(KEPT_RELAX, NULL, relax);
            for (int number = 0; number < 4; number++) {
                const int32_t sweeps = (int32_t[]){1, height + 1, 2 * height + 1, 8}[number];
                const int zero = (number + height + method) % 2;
                char what[100];
                snprintf(what, sizeof what, "%s, height %d, %d sweeps%s",
                         gsw_relax_method_name(options.method), (int)height, (int)sweeps,
                         zero ? " from zero" : "");
                memcpy(x, guess, (size_t)n * sizeof *x);
                memcpy(expected, guess, (size_t)n * sizeof *x);
                relax_expect(host, &options, sweeps, zero, b, expected);
                run(relax, sweeps, zero, n, b, x);
                relax_compare(host, n, x, expected, what);
            }
            keep_release(mark);
        }
}

/* x after so many sweeps of a loop in fp32. What a pass must not read are NaNs. */
static void run_f32(const gsw_relax_loop *loop, int32_t sweeps, int zero, int64_t n, const float *b,
                    float *x) {
    const size_t mark = keep_mark(), bytes = (size_t)n * sizeof *x;
    float *nan = keep_vector(GSW_F32, 1, n);
    oracle_fill(GSW_F32, nan, n, NAN);
    void *const there_b = keep_upload(context, b, bytes);
    void *const turns[2] = {keep_upload(context, zero ? nan : x, bytes),
                            keep_upload(context, nan, bytes)};
    void *const p[2] = {keep_upload(context, nan, bytes), keep_upload(context, nan, bytes)};
    must(context, gsw_relax_loop_run(loop, sweeps, zero, there_b, turns, p,
                                     keep_bytes(loop->tile.work_bytes)));
    download(context, x, turns[gsw_relax_loop_passes(loop, sweeps) % 2], bytes);
    keep_release(mark);
}

/* Loops in fp32 on a random matrix against the same sweeps in fp64. Each height has the bits of
 * height 1. */
static void compare_f32(const gsw_grid *grid, const gsw_stencil *stencil) {
    const oracle_layout narrow = {GSW_FORMAT_STENCIL, GSW_F32, GSW_I32, 0, GSW_FULL, 0};
    const int64_t n = oracle_points(grid);
    oracle_matrix *matrix = keep_matrix_of(grid, stencil, 43, ORACLE_ANY_SIGN),
                  *stored = keep_converted(matrix, &narrow);
    float *b = keep_vector(GSW_F32, 11, n), *guess = keep_vector(GSW_F32, 12, n),
          *x = keep_vector(GSW_F32, 12, n), *first = keep_vector(GSW_F32, 12, n);
    double *wide_b = keep_random(11, n), *expected = keep_random(12, n);
    for (int64_t i = 0; i < n; i++) {
        wide_b[i] = (double)b[i];
        for (int32_t e = 0; e < stencil->count; e++)
            oracle_set(GSW_F64, matrix->arrays[e], i, oracle_get(GSW_F32, stored->arrays[e], i));
    }
    const gsw_matrix *there = keep_there(context, &stored->view);
    for (int number = 0; number < 8; number++) { /* methods, sweeps, first guesses */
        const int32_t sweeps = (int32_t[]){1, 2, 5, 4}[number / 2];
        const int zero = (number + sweeps) % 2;
        gsw_relax_options options = {.method = (gsw_relax_method)(number % 2),
                                     .weight = 2.0 / 3,
                                     .lowest = 0.5,
                                     .highest = 2};
        for (int64_t i = 0; i < n; i++)
            expected[i] = (double)guess[i];
        relax_expect(&matrix->view, &options, sweeps, zero, wide_b, expected);
        for (int32_t height = 1; height <= 4; height++) {
            gsw_relax_loop loop;
            options.height = height;
            const gsw_status status =
                gsw_relax_loop_open(context, there, &options, GSW_RELAX_HEIGHT_MAX, &loop);
            if (height > 1 && status == GSW_ERROR_UNSUPPORTED)
                continue;
            must(context, status);
            memcpy(x, guess, (size_t)n * sizeof *x);
            run_f32(&loop, sweeps, zero, n, b, x);
            if (height == 1)
                memcpy(first, x, (size_t)n * sizeof *x);
            double most = 0, error = 0;
            for (int64_t i = 0; i < n; i++) {
                most = fmax(most, fabs(expected[i]));
                error = isnan(x[i]) ? INFINITY : fmax(error, fabs((double)x[i] - expected[i]));
            }
            ck_assert_msg(error <= oracle_tolerance(GSW_F32) * most &&
                              memcmp(x, first, (size_t)n * sizeof *x) == 0,
                          "%s on %lldx%lldx%lld, %s in f32, height %d, %d sweeps%s: error %g of %g",
                          gsw_stencil_name(stencil), (long long)grid->nx, (long long)grid->ny,
                          (long long)grid->nz, gsw_relax_method_name(options.method), (int)height,
                          (int)sweeps, zero ? " from zero" : "", error, most);
        }
    }
}

/* In fp64 and fp32. Heights: from `first` on in steps of `step`. */
static void compare(const gsw_grid *grid, const gsw_stencil *stencil, uint64_t seed,
                    oracle_diagonal diagonal, int32_t first, int32_t step) {
    const size_t mark = keep_mark();
    const oracle_matrix *matrix = keep_matrix_of(grid, stencil, seed, diagonal);
    compare_heights(&matrix->view, keep_there(context, &matrix->view), first, step);
    compare_f32(grid, stencil);
    keep_release(mark);
}

/* On a device, stencils without a name have height 1 only. */
TEST(sweeps_equal_the_reference) {
    const int stride = device_stride();
    for (int g = _i % stride; g < oracle_grid_count(); g += stride) {
        const gsw_grid grid = oracle_grid(g);
        compare(&grid, oracle_stencil(_i, NULL), 40, ORACLE_ANY_SIGN, 1, 1);
    }
}

/* Grids of several tiles along each axis, lines longer than a tile, and short lines, of which
 * several are computed as one; several threads. On a device every height, and the last two. */
TEST(tiles_do_not_show) {
    static const struct {
        const char *stencil;
        gsw_grid grid;
    } large[] = {{"D2N5", {2100, 70, 1}},  {"D2N9", {601, 267, 1}},   {"D3N7", {67, 65, 70}},
                 {"D3N27", {130, 37, 41}}, {"D3N13", {1031, 17, 18}}, {"D2N5", {97, 101, 3}},
                 {"D3N7", {2, 150, 70}},   {"D3N27", {3, 90, 35}},    {"D3N13", {5, 140, 20}},
                 {"D2N9", {7, 400, 1}},    {"D3N33", {2, 70, 40}},    {"D3N19", {32, 37, 36}},
                 {"D3N27", {33, 35, 18}},  {"D3N13", {131, 47, 38}},  {"D3N7", {130, 33, 140}}};
    gsw_context *const usual = context;
    for (int k = 0; k < LENGTH(large) - 2 * !on_cuda(); k += backend_stride()) {
        const gsw_stencil *stencil = oracle_stencil_named(large[k].stencil);
        if (on_cpu())
            context = keep_context(1 + 2 * (k % 3));
        compare(&large[k].grid, stencil, 41, ORACLE_POSITIVE, on_cuda() ? 1 : 1 + k % 3,
                on_cuda() ? 1 : 3);
    }
    context = usual;
}

/* With weight 1 the bits are those of gsw_smooth() with a JACOBI factor; values are copied where
 * they must be. */
TEST(jacobi_is_that_of_the_smoother) {
    static const oracle_layout layouts[] = {{GSW_FORMAT_STENCIL, GSW_F64, GSW_I32, 0, GSW_FULL, 0},
                                            {GSW_FORMAT_STENCIL, GSW_F32, GSW_I32, 0, GSW_FULL, 0},
                                            {GSW_FORMAT_CSR, GSW_F64, GSW_I32, 1, GSW_FULL, 0},
                                            {GSW_FORMAT_CSR, GSW_F64, GSW_I64, 0, GSW_FULL, 3}};
    const gsw_grid grid = {23, 17, 11};
    oracle_matrix *matrix =
        keep_matrix_of(&grid, oracle_stencil_named("D3N19"), 5, ORACLE_POSITIVE);
    const int64_t n = oracle_points(&grid);
    double *b = keep_random(1, n), *work = keep_random(1, n);
    for (int k = 0; k < LENGTH(layouts); k++) {
        oracle_matrix *stored = keep_converted(matrix, &layouts[k]);
        const gsw_factor_options jacobi = {.size = sizeof jacobi, .kind = GSW_JACOBI};
        gsw_factor *factor = keep_factor(context, &stored->view, jacobi);
        gsw_relax *relax = keep_relax(context, &stored->view, (gsw_relax_options){0});
        for (int zero = 0; zero < 2; zero++) {
            double *x = keep_random(2, n), *expected = keep_random(2, n);
            must(context, gsw_smooth(context, &stored->view, factor, 5, zero, b, expected, work));
            must(context, gsw_relax_run(context, relax, 5, zero, b, x));
            relax_compare(&stored->view, n, x, expected, "against gsw_smooth()");
        }
    }
}

/* New values in the user's own arrays count at once, those of a copy after a refactor. */
TEST(new_values) {
    const gsw_grid grid = {9, 8, 7};
    const oracle_layout csr = {GSW_FORMAT_CSR, GSW_F64, GSW_I32, 0, GSW_FULL, 0};
    const gsw_stencil *stencil = oracle_stencil_named("D3N7");
    oracle_matrix *first = keep_matrix_of(&grid, stencil, 1, ORACLE_POSITIVE),
                  *second = keep_matrix_of(&grid, stencil, 2, ORACLE_POSITIVE),
                  *first_csr = keep_converted(first, &csr),
                  *second_csr = keep_converted(second, &csr);
    const gsw_relax_options options = {.size = sizeof options, .height = on_cpu() ? 2 : 1};
    const int64_t n = oracle_points(&grid);
    double *b = keep_random(1, n), *x = keep_random(2, n), *expected = keep_random(2, n);
    gsw_relax *view = keep_relax(context, &first->view, options),
              *copy = keep_relax(context, &first_csr->view, options);
    relax_expect(&second->view, &options, 3, 1, b, expected);
    must(context, gsw_relax_refactor(context, copy, &second_csr->view));
    must(context, gsw_relax_run(context, copy, 3, 1, b, x));
    relax_compare(&second->view, n, x, expected, "a refactored copy");
    for (int32_t e = 0; e < stencil->count; e++)
        memcpy(first->arrays[e], second->arrays[e], (size_t)n * sizeof *x);
    must(context, gsw_relax_run(context, view, 3, 1, b, x));
    relax_compare(&second->view, n, x, expected, "arrays with new values");

    /* a bad diagonal: refused, and so is every call until the next refactor */
    const double kept = ((double *)first->arrays[stencil->center])[100];
    ((double *)first->arrays[stencil->center])[100] = 0;
    ck_assert_int_eq(gsw_relax_refactor(context, view, &first->view), GSW_ERROR_ZERO_PIVOT);
    assert_message("row");
    must_reject(gsw_relax_run(context, view, 1, 0, b, x));
    assert_message("holds no values");
    ((double *)first->arrays[stencil->center])[100] = kept;
    must(context, gsw_relax_refactor(context, view, &first->view));
    must(context, gsw_relax_run(context, view, 3, 1, b, x));
    relax_compare(&second->view, n, x, expected, "after a failed refactor");
}

/* An array that is missing counts as zeros. */
TEST(missing_arrays_are_zeros) {
    const gsw_grid grid = {12, 9, 5};
    oracle_matrix *matrix = keep_matrix_of(&grid, oracle_stencil_named("D3N7"), 3, ORACLE_POSITIVE);
    const int64_t n = oracle_points(&grid);
    double *b = keep_random(1, n), *x = keep_random(2, n), *expected = keep_random(2, n);
    const void *some[GSW_STENCIL_MAX];
    memcpy(some, matrix->arrays, sizeof some);
    oracle_fill(GSW_F64, matrix->arrays[1], n, 0);
    some[1] = NULL;
    gsw_matrix view = matrix->view;
    view.array.values = some;
    const gsw_relax_options options = {.size = sizeof options, .weight = 0.7};
    gsw_relax *relax = keep_relax(context, &view, options);
    relax_expect(&matrix->view, &options, 4, 0, b, expected);
    must(context, gsw_relax_run(context, relax, 4, 0, b, x));
    relax_compare(&matrix->view, n, x, expected, "an array is missing");
}

TEST(the_model_tells_what_it_chose) {
    const gsw_grid grid = {300, 200, 1};
    oracle_matrix *matrix = keep_matrix_of(&grid, oracle_stencil_named("D2N5"), 3, ORACLE_POSITIVE);
    double best = INFINITY;
    for (int32_t height = 8; height >= 0; height--) {
        const gsw_relax_options options = {.size = sizeof options, .height = height};
        gsw_relax_info info = {.size = sizeof info};
        gsw_relax *relax = keep_relax(context, &matrix->view, options);
        must(context, gsw_relax_get_info(relax, &info));
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
}

TEST(bad_arguments_are_refused) {
    const gsw_status invalid = GSW_ERROR_INVALID_ARGUMENT;
    const gsw_grid grid = {5, 4, 3}, larger = {6, 4, 3};
    oracle_matrix *matrix = keep_matrix_of(&grid, oracle_stencil_named("D3N7"), 3, ORACLE_POSITIVE),
                  *other =
                      keep_matrix_of(&larger, oracle_stencil_named("D3N7"), 3, ORACLE_POSITIVE),
                  *wide = keep_matrix_of(&grid, oracle_stencil_named("D3N27"), 3, ORACLE_POSITIVE);
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
    must(context, gsw_relax_create(context, &matrix->view, NULL, &relax));
    expect_refusal(gsw_relax_refactor(context, relax, &other->view), invalid, "grid");
    expect_refusal(gsw_relax_refactor(context, relax, &wide->view), invalid, "stencil");
    expect_refusal(gsw_relax_refactor(context, relax, NULL), invalid, "matrix");
    expect_refusal(gsw_relax_refactor(context, NULL, &matrix->view), invalid, "relax");
    ck_assert_int_eq(gsw_relax_refactor(NULL, relax, &matrix->view), invalid);
    const oracle_layout csr = {GSW_FORMAT_CSR, GSW_F64, GSW_I32, 0, GSW_FULL, 0};
    oracle_matrix *converted = keep_converted(matrix, &csr);
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
}

TEST(other_stencils_have_height_1) {
    const gsw_offset offsets[] = {{-1, 0, 0}, {0, 0, 0}, {2, 0, 0}};
    const gsw_grid grid = {30, 1, 1};
    const gsw_relax_options options = {.size = sizeof options, .height = 2};
    gsw_relax_info info = {.size = sizeof info};
    gsw_stencil stencil;
    gsw_relax *relax;
    must(context, gsw_stencil_from_offsets(offsets, 3, &stencil));
    const gsw_matrix *there =
        keep_there(context, &keep_matrix_of(&grid, &stencil, 5, ORACLE_POSITIVE)->view);
    expect_refusal(gsw_relax_create(context, there, &options, &relax), GSW_ERROR_UNSUPPORTED,
                   "no tile of height 2");
    relax = keep_relax(context, there, (gsw_relax_options){0});
    must(context, gsw_relax_get_info(relax, &info));
    ck_assert_int_eq(info.height, 1);
}

int main(int argc, char **argv) {
    backend_choose(argc, argv);
    Suite *suite = suite_create("relax");
    TCase *tc = context_case(suite, "relax", 300);
    TESTS(tc, tiles_do_not_show);
    LOOPS(tc, oracle_stencil_count(), sweeps_equal_the_reference);
    if (on_cuda()) {
        TESTS(tc, other_stencils_have_height_1);
    } else { /* these have their vectors on the host */
        TESTS(tc, jacobi_is_that_of_the_smoother, new_values, missing_arrays_are_zeros);
        if (on_cpu())
            TESTS(tc, the_model_tells_what_it_chose);
        TESTS(tc, bad_arguments_are_refused);
    }
    return backend_run_suite(suite);
}
