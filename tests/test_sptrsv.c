/* test_sptrsv.c: the direct triangular solve. The reference is checked by hand and against dense
 * substitution; everything else is checked against the reference, on each backend (backend.h).
 *
 * GSW_TEST_STRIDE=6 in the environment tries one grid in six. */
#include "common/csr.h"
#include "sweep_pair.h"

static void solve(gsw_context *context, const gsw_matrix *matrix, const gsw_sptrsv_options *options,
                  const void *b, void *x) {
    device_try(context, gsw_sptrsv(context, matrix, options, 1, b, 0, x, 0));
}

/* ---- the reference ---- */

TEST(reference_by_hand) {
    /*     2 6 0
     * A = 1 4 7
     *     0 3 5 */
    static const int row_ptr[] = {0, 2, 5, 7}, columns[] = {0, 1, 0, 1, 2, 1, 2};
    static const double values[] = {2, 6, 1, 4, 7, 3, 5};
    static const double b[SOLVES / 2][3] = {{4, 10, 21}, {20, 22, 10}, {5, 14, 10}, {4, 20, 24}};
    static const double expected[SOLVES][3] = {{2, 2, 3},     {4, 2, 2},  {1.5, 2, 2},
                                               {2, 2, 2},     {4, 6, 3},  {308, -48, 10},
                                               {21, -16, 10}, {4, -4, 52}};
    const gsw_csr csr = {
        .rows = 3, .nonzeros = 7, .row_ptr = row_ptr, .columns = columns, .values = values};
    const gsw_grid grid = {3, 1, 1};
    gsw_context *context = both.cpu;
    gsw_stencil stencil;
    gsw_matrix matrix;
    ck_assert_int_eq(gsw_stencil_named("D2N5", &stencil), GSW_SUCCESS);
    ck_assert_int_eq(gsw_matrix_from_csr(context, &grid, &stencil, &csr, &matrix), GSW_SUCCESS);
    for (int s = 0; s < SOLVES; s++) {
        double x[3] = {NAN, NAN, NAN};
        gsw_sptrsv_options options = solve_options(s, GSW_F64, GSW_ALGORITHM_REFERENCE);
        solve(context, &matrix, &options, b[s % 4], x);
        for (int i = 0; i < 3; i++)
            ck_assert_msg(x[i] == expected[s][i], "solve %d: x[%d] = %g, not %g", s, i, x[i],
                          expected[s][i]);
    }
}

TEST(reference_by_hand_in_the_plane) {
    /* 2 x 2 points; array e couples to (0,-1), (-1,0), centre, (1,0), (0,1). NAN is not to be read.
     */
    static const double south[] = {NAN, NAN, 2, 3}, west[] = {NAN, 1, NAN, 4},
                        diagonal[] = {1, 2, 4, 8};
    const void *arrays[] = {south, west, diagonal, NULL, NULL};
    const gsw_stencil_array array = {.values = arrays, .value_type = GSW_F64};
    const gsw_grid grid = {2, 2, 1};
    static const double b[] = {1, 5, 10, 30}; /* 1; (5 - 1) / 2; (10 - 2) / 4; (30 - 6 - 8) / 8 */
    static const double expected[] = {1, 2, 2, 2};
    gsw_context *context = both.cpu;
    gsw_stencil stencil;
    gsw_matrix matrix;
    double x[4];
    ck_assert_int_eq(gsw_stencil_named("D2N5", &stencil), GSW_SUCCESS);
    ck_assert_int_eq(gsw_matrix_from_stencil(context, &grid, &stencil, &array, &matrix),
                     GSW_SUCCESS);
    for (int algorithm = GSW_ALGORITHM_REFERENCE; algorithm <= GSW_ALGORITHM_LINE; algorithm++) {
        gsw_sptrsv_options options = solve_options(0, GSW_F64, (gsw_algorithm)algorithm);
        memcpy(x, b, sizeof x);
        solve(context, &matrix, &options, x, x);
        ck_assert_mem_eq(x, expected, sizeof x);
    }
}

/* Substitution with a dense copy of the part, filled from the CSR's columns alone. */
static void dense_solve(const gsw_csr *csr, const gsw_sptrsv_options *options, const double *b,
                        double *x) {
    const int n = (int)csr->rows;
    const int *row_ptr = csr->row_ptr, *columns = csr->columns;
    const double *values = csr->values;
    double *t = calloc((size_t)n * (size_t)n, sizeof *t);
    ck_assert_ptr_nonnull(t);
    for (int i = 0; i < n; i++)
        for (int p = row_ptr[i]; p < row_ptr[i + 1]; p++)
            if (options->part == GSW_LOWER ? columns[p] <= i : columns[p] >= i)
                t[options->transpose ? columns[p] * n + i : i * n + columns[p]] = values[p];
    const int downward = (options->part == GSW_UPPER) != options->transpose;
    for (int k = 0; k < n; k++) {
        const int i = downward ? n - 1 - k : k;
        x[i] = b[i];
        for (int j = downward ? i + 1 : 0; j < (downward ? n : i); j++)
            x[i] -= t[i * n + j] * x[j];
        if (!options->unit_diagonal)
            x[i] /= t[i * n + i];
    }
    free(t);
}

TEST(reference_equals_dense_substitution) {
    static const gsw_grid grids[] = {{1, 1, 1}, {7, 1, 1}, {4, 5, 1}, {1, 3, 4}, {3, 4, 5}};
    gsw_context *context = both.cpu;
    int combinations = 0;
    for (int g = 0; g < 5; g++) {
        const int64_t n = oracle_points(&grids[g]);
        for (int k = 0; k < oracle_stencil_count(); k++) {
            for (int missing = 0; missing <= 4; missing += 4) {
                const oracle_layout layout = {
                    .format = GSW_FORMAT_CSR, .part = GSW_FULL, .missing = missing};
                oracle_matrix *arrays =
                    keep_matrix_of(&grids[g], oracle_stencil(k, NULL), 3, ORACLE_ANY_SIGN);
                oracle_matrix *csr = keep_converted(arrays, &layout);
                double *b = keep_vector(GSW_F64, 17, n), *x = keep_vector(GSW_F64, 18, n),
                       *y = keep_vector(GSW_F64, 19, n);
                for (int s = 0; s < SOLVES; s++, combinations++) {
                    gsw_sptrsv_options options = solve_options(s, GSW_F64, GSW_ALGORITHM_REFERENCE);
                    dense_solve(&csr->view.csr, &options, b, y);
                    solve(context, &csr->view, &options, b, x);
                    ck_assert(oracle_error(GSW_F64, n, x, y) <= 1e-14);
                    if (missing > 0)
                        continue;
                    oracle_fill(GSW_F64, x, n, NAN);
                    solve(context, &arrays->view, &options, b, x);
                    ck_assert(oracle_error(GSW_F64, n, x, y) <= 1e-14);
                }
            }
        }
    }
    ck_assert_int_ge(combinations, 300);
}

/* ---- the other algorithms against the reference ---- */

/* One random matrix with diagonals of any sign, as arrays in fp64. */
static recipe one_matrix(gsw_grid grid, const gsw_stencil *stencil, int64_t seed) {
    recipe r = recipe_of(grid, stencil, ORACLE_ANY_SIGN, seed);
    r.alone = 1;
    return r;
}

/* All eight solves, or the first of them, of one matrix that is stored in so many ways. Vectors
 * have either alignment. */
static int check_stored(const problem *q, int ways, gsw_dtype type, gsw_algorithm algorithm,
                        int solves) {
    pair p[3];
    block v[3];
    for (int k = 0; k < ways; k++) {
        p[k] = pair_direct(&q[k], 0, type, algorithm);
        v[k] = block_open(&p[k], 1, 5);
        v[k].known = k > 0 ? v[0].expected : NULL;
    }
    for (int s = 0; s < solves; s++)
        for (int k = 0; k < ways; k++) {
            p[k] = pair_direct(&q[k], s, type, algorithm);
            block_check_shifted(&v[k], s);
        }
    for (int k = 0; k < ways; k++)
        block_close(&v[k]);
    return ways * solves;
}

static void check_solves(const problem *q, gsw_dtype type, gsw_algorithm algorithm, int solves) {
    check_stored(q, 1, type, algorithm, solves);
}

static void check_recipe(const recipe *r, gsw_dtype type, gsw_algorithm algorithm, int solves) {
    problem q = problem_open(r);
    check_solves(&q, type, algorithm, solves);
    problem_close(&q);
}

/* Of values and vectors. */
static const struct {
    gsw_dtype values, vectors;
} pairs_of_types[] = {{GSW_F64, GSW_F64}, {GSW_F32, GSW_F64}, {GSW_F32, GSW_F32}};

/* Tries so many types, layouts and solves of one random matrix; returns the number of combinations.
 */
static int check_matrix(gsw_grid grid, const gsw_stencil *stencil, uint64_t seed,
                        gsw_algorithm algorithm, int type_count, int layout_count, int solves) {
    static const int stored[] = {1, 2, 0}; /* CSR with either index, and arrays */
    int combinations = 0;
    for (int t = 0; t < type_count; t++) {
        problem q[3];
        for (int k = 0; k < layout_count; k++) {
            recipe r = one_matrix(grid, stencil, seed);
            r.layout = stored[k];
            r.values = pairs_of_types[t].values;
            q[k] = problem_open(&r);
        }
        combinations += check_stored(q, layout_count, pairs_of_types[t].vectors, algorithm, solves);
        for (int k = 0; k < layout_count; k++)
            problem_close(&q[k]);
    }
    return combinations;
}

TEST(line_equals_reference) {
    const int stride = device_stride();
    const char *name;
    const gsw_stencil *stencil = oracle_stencil(_i, &name);
    int combinations = 0;
    for (int g = _i % stride; g < oracle_grid_count(); g += stride)
        combinations += check_matrix(oracle_grid(g), stencil, (uint64_t)(g + 1), GSW_ALGORITHM_LINE,
                                     3, 3, SOLVES);
    printf("%s: %d combinations equal the reference\n", name, combinations);
    ck_assert_int_ge(combinations, 18 * 72 / (2 * stride));
}

/* A pencil solve packs a temporary factor. With a workspace it packs into that, whatever it held
 * before. AUTO is right with it, too. */
static void check_pencil(const problem *q, const problem *other, int s, gsw_dtype type,
                         int64_t count) {
    pair p = pair_direct(q, s, type, GSW_ALGORITHM_PENCIL);
    gsw_context *here = q->c.here[0];
    gsw_factor *workspace = NULL;
    block v = block_open(&p, count, 6);
    block_check_shifted(&v, s);
    pair_must(&p, here, gsw_factor_create(here, &other->here_lower, &p.options, &workspace),
              "a workspace");
    for (int run = 0; run < 4; run++) {
        p = pair_direct(run % 2 ? other : q, s, type,
                        run < 2 ? GSW_ALGORITHM_PENCIL : GSW_ALGORITHM_AUTO);
        p.direct.workspace = workspace;
        block_expect(&v);
        block_solve(&v);
        block_check(&v, "with a workspace");
    }
    gsw_factor_destroy(workspace);
    block_close(&v);
}

/* On the CPU all types and layouts, and a workspace with the last grid only. On a device one type
 * and one layout, and a workspace, with each grid. */
TEST(pencil_equals_reference) {
    const int stride = on_cuda() ? device_stride() : 3;
    int combinations = 0;
    for (int g = _i % stride; g < oracle_grid_count(); g += stride) {
        const int t = g % 3;
        recipe r = one_matrix(oracle_grid(g), oracle_stencil(_i, NULL), g + 1);
        r.layout = g % LAYOUTS;
        r.values = pairs_of_types[t].values;
        if (!on_cuda())
            combinations +=
                check_matrix(r.grid, r.stencil, r.seed, GSW_ALGORITHM_PENCIL, 3, 3, SOLVES);
        if (!on_cuda() && g + stride < oracle_grid_count())
            continue;
        problem q = problem_open(&r);
        r.seed += 76;
        problem other = problem_open(&r);
        for (int s = 0; s < SOLVES; s++)
            check_pencil(&q, &other, s, pairs_of_types[t].vectors, 1 + (g + s) % 3);
        problem_close(&other);
        problem_close(&q);
    }
    ck_assert_int_ge(combinations, on_cuda() ? 0 : 300);
}

/* Lines of 2 to 20 points along x: many, in one plane and in several, and small planes. */
TEST(short_lines_equal_the_reference) {
    for (int i = _i % short_stride(); i < ORACLE_SHORT_GRIDS; i += short_stride()) {
        recipe r = one_matrix(oracle_short_grid(i), oracle_stencil(_i, NULL), i + 1);
        r.values = i % 2 ? GSW_F32 : GSW_F64;
        check_recipe(&r, i % 4 == 3 ? GSW_F32 : GSW_F64, GSW_ALGORITHM_LINE, SOLVES);
    }
}

/* CSR that stores the lower or the upper part only: the other part is then just the diagonal. */
TEST(triangles_equal_reference) {
    const int stride = wide_stride();
    for (int g = _i % stride; g < oracle_grid_count(); g += stride)
        for (int k = 0; k < 6; k++) {
            const int t = k % 3;
            recipe r = one_matrix(oracle_grid(g), oracle_stencil(_i, NULL), g + 1);
            r.layout = 1 + (g + t) % 2;
            r.triangle = k < 3 ? LOWER_TRIANGLE : UPPER_TRIANGLE;
            r.values = pairs_of_types[t].values;
            check_recipe(&r, pairs_of_types[t].vectors, GSW_ALGORITHM_LINE, SOLVES);
        }
}

/* Eight solves in so many contexts with this right-hand side in place of a random one. */
static void check_b(const problem *q, const double *b, int tried, const char *how) {
    pair p = pair_direct(q, 0, GSW_F64, GSW_ALGORITHM_LINE);
    block v = block_open(&p, 1, 6);
    memcpy(v.b, b, bytes_of(&v, v.n));
    for (int s = 0; s < SOLVES; s++) {
        p = pair_direct(q, s, GSW_F64, GSW_ALGORITHM_LINE);
        block_expect(&v);
        for (int i = 0; i < tried; i++) {
            block_solve_in(&v, i);
            block_check(&v, how);
        }
    }
    block_close(&v);
}

/* CSR without some couplings: a NaN travels along stored ones only. */
TEST(couplings_may_be_missing) {
    const int stride = wide_stride();
    for (int g = _i % stride; g < oracle_grid_count(); g += stride)
        for (int triangle = WHOLE; triangle < TRIANGLES; triangle++) {
            recipe r = one_matrix(oracle_grid(g), oracle_stencil(_i, NULL), 9);
            r.layout = 1 + (g + triangle) % 2;
            r.triangle = triangle;
            r.missing = 2 + g % 5;
            problem q = problem_open(&r);
            check_solves(&q, GSW_F64, GSW_ALGORITHM_LINE, SOLVES);
            double *b = oracle_vector(GSW_F64, 8, q.n);
            b[q.n / 3] = NAN;
            check_b(&q, b, both.all, "a NaN");
            free(b);
            problem_close(&q);
        }
}

/* Without the array of the diagonal only solves with a unit diagonal end in numbers. */
TEST(arrays_may_be_null) {
    for (int k = 0; k < oracle_stencil_count(); k += short_stride()) {
        const recipe r = one_matrix((gsw_grid){19, 7, 5}, oracle_stencil(k, NULL), 9);
        const int32_t center = r.stencil->center;
        problem q = problem_open(&r);
        for (int32_t e = 0; e < r.stencil->count; e++)
            if (e % 3 == 1 || (k % 2 == 1 && e == center)) {
                free(q.lower->arrays[e]);
                q.lower->arrays[e] = NULL;
            }
        problem_renew(&q);
        pair p = pair_direct(&q, 0, GSW_F64, GSW_ALGORITHM_LINE);
        block v = block_open(&p, 1, 5);
        for (int s = 0; s < SOLVES; s++) {
            p = pair_direct(&q, s, GSW_F64, GSW_ALGORITHM_LINE);
            block_check_all(&v);
            if (q.lower->arrays[center] == NULL)
                ck_assert_int_eq(isfinite(oracle_get(GSW_F64, v.expected, q.n / 2)) != 0,
                                 p.direct.unit_diagonal);
        }
        block_close(&v);
        problem_close(&q);
    }
}

/* Arrays need no more than their type's alignment. */
TEST(arrays_may_be_unaligned) {
    for (int k = 0; k < oracle_stencil_count(); k += wide_stride())
        for (int t = 0; t < 9; t++) {
            recipe r = one_matrix((gsw_grid){37, 11, 6}, oracle_stencil(k, NULL), 3);
            r.layout = t % 3;
            r.values = pairs_of_types[t / 3].values;
            shifted shift;
            problem q = problem_open(&r);
            shift_matrix(&q, &shift);
            check_solves(&q, pairs_of_types[t / 3].vectors, GSW_ALGORITHM_LINE, SOLVES);
            unshift_matrix(&q, &shift);
            problem_close(&q);
        }
}

/* ---- larger grids, on a device ---- */

static const gsw_grid large[] = {{250, 3, 3},  {1, 257, 5},  {1000, 1, 1}, {300, 200, 1},
                                 {3, 200, 40}, {65, 63, 61}, {64, 64, 64}};

/* Everything where the grid is small or the stencil is one of the two most important ones. */
TEST(large_grids_equal_reference) {
    const gsw_stencil *stencil = oracle_stencil(_i, NULL);
    const char *name = gsw_stencil_name(stencil);
    const int all = strcmp(name, "D3N7") == 0 || strcmp(name, "D3N27") == 0;
    for (int g = 0; g < LENGTH(large); g++) {
        const int small = oracle_points(&large[g]) < 30000;
        const int tried = small || all ? 3 : 1;
        check_matrix(large[g], stencil, 2, GSW_ALGORITHM_LINE, tried, tried, SOLVES);
    }
}

TEST(cube_of_128_equals_reference) {
    recipe r = cube_recipe(_i, 128);
    r.layout = 1;
    check_recipe(&r, GSW_F64, GSW_ALGORITHM_LINE, 2);
}

TEST(repetitions_give_the_same_bits) {
    for (int s = 0; s < 2; s++) {
        cube u;
        cube_open_direct(&u, _i, 64, NULL, s);
        block_check_all(&u.v);
        for (int run = 0; run < 1000; run++)
            block_check_repeat(&u.v, "again", run);
        cube_close(&u);
    }
}

/* ---- values that are not numbers ---- */

/* Puts something bad into the right-hand side or the matrix. */
static void spoil_values(oracle_matrix *matrix, double *b, int trial) {
    static const double bad[] = {NAN, INFINITY, -INFINITY};
    const gsw_stencil *stencil = &matrix->view.stencil;
    const int64_t n = oracle_points(&matrix->view.grid), row = n * (trial % 4) / 4;
    double *diagonal = matrix->arrays[stencil->center];
    if (trial < 4)
        b[row] = bad[trial % 3];
    else if (trial < 8)
        ((double *)matrix->arrays[trial * 5 % stencil->count])[row] = bad[trial % 3];
    else if (trial < 11)
        diagonal[row] = 0;
    else { /* the reciprocal overflows, the quotient does not */
        diagonal[row] = trial == 11 ? 1e-309 : 1e-310;
        for (int64_t i = 0; i < n; i++)
            b[i] *= trial == 11 ? 1e-300 : 1e-310;
    }
}

static const char *const trials[] = {
    "NaN in b",      "inf in b",      "-inf in b",          "NaN in b",      "inf in A",
    "-inf in A",     "NaN in A",      "inf in A",           "zero diagonal", "zero diagonal",
    "zero diagonal", "tiny diagonal", "tiny diagonal and b"};

TEST(nan_and_infinity_go_where_the_reference_puts_them) {
    static const gsw_grid grids[] = {{1, 1, 1}, {70, 1, 1}, {9, 8, 1}, {1, 6, 7}, {70, 4, 3}};
    for (int k = 0; k < LENGTH(grids) * LENGTH(trials); k++) {
        const gsw_grid *grid = &grids[k / LENGTH(trials)];
        const int trial = k % LENGTH(trials);
        oracle_matrix *spoilt = oracle_random(grid, oracle_stencil(_i, NULL), 4, ORACLE_ANY_SIGN);
        double *b = oracle_vector(GSW_F64, 6, oracle_points(grid));
        spoil_values(spoilt, b, trial);
        for (int l = 0; l < 3; l++) {
            recipe r = one_matrix(*grid, oracle_stencil(_i, NULL), 4);
            r.layout = l;
            problem q = problem_open(&r);
            oracle_free(q.lower);
            q.lower = oracle_convert(spoilt, &layouts[l]);
            problem_renew(&q);
            check_b(&q, b, 1, trials[trial]);
            problem_close(&q);
        }
        free(b);
        oracle_free(spoilt);
    }
}

/* Whatever the bits of a NaN are, and wherever it stands. */
TEST(every_nan_is_a_nan) {
    static const uint64_t patterns[] = {UINT64_C(0xffffffffffffffff), UINT64_C(0x7fffffffffffffff),
                                        UINT64_C(0x7ff8000000000000), UINT64_C(0x7ff0000000000001),
                                        UINT64_C(0xfff8dead00000000), UINT64_C(0x7ff4000000000000)};
    cube u;
    cube_open_direct(&u, _i, 12, NULL, 0);
    double *b = oracle_vector(GSW_F64, 5, u.q.n);
    for (int k = 0; k < LENGTH(patterns); k++) {
        for (int64_t i = k == 0 ? 0 : 7; i < u.q.n; i += k == 0 ? 1 : 200)
            memcpy(b + i, &patterns[k], sizeof patterns[k]);
        check_b(&u.q, b, 1, "NaNs of one pattern");
        if (k == 0)
            memcpy(b, u.v.b, bytes_of(&u.v, u.q.n));
    }
    free(b);
    cube_close(&u);
}

/* ---- a workspace ---- */

TEST(a_workspace_that_does_not_fit_is_refused) {
    const gsw_grid grid = {5, 4, 3}, other_grid = {5, 4, 4};
    const int64_t n = oracle_points(&other_grid);
    gsw_context *context = both.cpu, *another = both.here[0];
    oracle_matrix *matrix = keep_matrix_of(&grid, oracle_stencil(2, NULL), 2, ORACLE_ANY_SIGN);
    oracle_matrix *larger =
        keep_matrix_of(&other_grid, oracle_stencil(2, NULL), 2, ORACLE_ANY_SIGN);
    double *b = keep_vector(GSW_F64, 6, n), *x = keep_vector(GSW_F64, 7, n);
    const struct {
        gsw_factor_options made;
        gsw_context *by;
        const oracle_matrix *of;
        const char *message;
    } misfits[] = {
        {{.kind = GSW_FACTOR_UPPER}, context, matrix, "workspace is a factor of kind upper"},
        {{.kind = GSW_FACTOR_LOWER, .transpose = 1},
         context,
         matrix,
         "workspace: its transpose or unit_diagonal differs"},
        {{.kind = GSW_FACTOR_LOWER, .unit_diagonal = 1},
         context,
         matrix,
         "workspace: its transpose or unit_diagonal differs"},
        {{.kind = GSW_FACTOR_LOWER, .factor_type = GSW_F32},
         context,
         matrix,
         "workspace: its factor_type"},
        {{.kind = GSW_FACTOR_LOWER}, another, matrix, "workspace belongs to another context"},
        {{.kind = GSW_FACTOR_LOWER}, context, larger, "matrix: its grid"},
    };
    for (size_t k = 0; k < sizeof misfits / sizeof misfits[0]; k++) {
        gsw_sptrsv_options options = {.size = sizeof options, .algorithm = GSW_ALGORITHM_PENCIL};
        options.workspace = keep_factor(misfits[k].by, &misfits[k].of->view, misfits[k].made);
        must_refuse(context, gsw_sptrsv(context, &matrix->view, &options, 1, b, n, x, n),
                    GSW_ERROR_INVALID_ARGUMENT, misfits[k].message);
    }
}

/* ---- several right-hand sides ---- */

TEST(right_hand_sides_are_independent) {
    const recipe r = one_matrix((gsw_grid){11, 6, 4}, oracle_stencil(2, NULL), 2);
    problem q = problem_open(&r);
    for (int algorithm = GSW_ALGORITHM_AUTO; algorithm <= GSW_ALGORITHM_PENCIL; algorithm++) {
        const pair p = pair_direct(&q, 1, GSW_F64, (gsw_algorithm)algorithm);
        block v = block_open(&p, 4, 6);
        if (algorithm == GSW_ALGORITHM_REFERENCE && on_cuda()) /* of the CPU alone */
            ck_assert_int_eq(gsw_sptrsv(both.here[0], &q.here_lower, &p.direct, 1, v.here_b.values,
                                        0, v.here_x.values, 0),
                             GSW_ERROR_UNSUPPORTED);
        else
            block_check_all(&v);
        block_close(&v);
    }
    problem_close(&q);
}

/* ---- what is refused ---- */

/* Moves a coupling of the first row from `row` on that has one in the part outside the stencil.
 * Returns that row. */
static int64_t spoil_column(oracle_matrix *csr, int64_t row, gsw_part part) {
    const int *row_ptr = csr->row_ptr;
    int *columns = csr->columns;
    if (part == GSW_LOWER) {
        while (columns[row_ptr[row]] >= row)
            row++;
        columns[row_ptr[row]] -= 1;
    } else {
        while (columns[row_ptr[row + 1] - 1] <= row)
            row++;
        columns[row_ptr[row + 1] - 1] += 1;
    }
    return row;
}

static const recipe refused = {
    .grid = {9, 8, 7}, .layout = 1, .diagonal = ORACLE_ANY_SIGN, .seed = 2, .alone = 1};

/* The end of a solve with a bad matrix, which a device reports later: where the program waits, or
 * where it downloads. It is reported once, and the context remains usable. */
static void expect_end(const problem *bad, const problem *good, int s, gsw_algorithm algorithm,
                       gsw_status expected, int64_t row) {
    char text[40];
    snprintf(text, sizeof text, "row %lld ", (long long)row);
    for (int k = 0; k < 2 * bad->c.all; k++) {
        gsw_context *here = bad->c.here[k / 2];
        const pair p = pair_direct(bad, s, GSW_F64, algorithm);
        block v = block_open(&p, 1, 6);
        gsw_status status = gsw_sptrsv(here, &bad->here_lower, &p.direct, 1, v.here_b.values, 0,
                                       v.here_x.values, 0);
        if (status == GSW_SUCCESS)
            status = k % 2 ? gsw_memory_download(here, v.x, v.here_x.values, bytes_of(&v, v.n))
                           : gsw_context_synchronize(here);
        ck_assert_msg(status == expected, "%s: %s", p.text, gsw_status_name(status));
        if (expected != GSW_SUCCESS) {
            must_say(here, text);
            ck_assert_int_eq(gsw_context_synchronize(here), GSW_SUCCESS);
            check_solves(good, GSW_F64, GSW_ALGORITHM_LINE, 2);
        }
        block_close(&v);
    }
}

/* Where entries are missing, a device reads the columns. The CPU always does, and it names the
 * lowest row. */
TEST(couplings_outside_the_stencil_are_refused) {
    for (int k = on_cuda() ? 1 : 0; k < 2; k++) {
        recipe r = refused;
        r.stencil = oracle_stencil(2, NULL);
        r.missing = k ? 6 : 0;
        problem good = problem_open(&r);
        problem bad = problem_open(&r);
        if (!on_cuda())
            spoil_column(bad.lower, 301, (gsw_part)_i);
        const int64_t row = spoil_column(bad.lower, 234, (gsw_part)_i);
        problem_renew(&bad);
        for (int s = 0; s < SOLVES; s++) {
            const gsw_status expected = _i == s % 2 ? GSW_ERROR_NOT_A_GRID : GSW_SUCCESS;
            expect_end(&bad, &good, s, GSW_ALGORITHM_LINE, expected, row);
            if (!on_cuda())
                expect_end(&bad, &good, s, GSW_ALGORITHM_REFERENCE, expected, row);
        }
        problem_close(&bad);
        problem_close(&good);
    }
}

/* Where all entries exist, a device need not read columns. A wrong column then spoils at most the
 * result. */
TEST(wrong_columns_of_a_full_matrix_do_no_harm) {
    recipe r = refused;
    r.stencil = oracle_stencil(2, NULL);
    problem good = problem_open(&r);
    problem bad = problem_open(&r);
    spoil_column(bad.lower, 234, GSW_LOWER);
    spoil_column(bad.lower, 301, GSW_UPPER);
    problem_renew(&bad);
    for (int s = 0; s < SOLVES; s++) {
        const pair p = pair_direct(&bad, s, GSW_F64, GSW_ALGORITHM_LINE);
        block v = block_open(&p, 1, 6);
        block_solve(&v);
        const gsw_status status = gsw_context_synchronize(both.here[0]);
        ck_assert(status == GSW_SUCCESS || status == GSW_ERROR_NOT_A_GRID);
        check_solves(&good, GSW_F64, GSW_ALGORITHM_LINE, 2);
        block_close(&v);
    }
    problem_close(&bad);
    problem_close(&good);
}

TEST(row_pointers_outside_the_arrays_are_refused) {
    const gsw_grid grid = {5, 4, 3};
    const oracle_layout layout = {.format = GSW_FORMAT_CSR, .part = GSW_FULL, .base = 1};
    static const int wrong[] = {-7, 0, 100000, 2};
    gsw_context *context = both.here[0];
    oracle_matrix *arrays = keep_matrix_of(&grid, oracle_stencil(2, NULL), 2, ORACLE_ANY_SIGN);
    double b[60] = {0}, x[60];
    for (int s = 0; s < SOLVES; s++) {
        for (int k = 0; k < 4; k++) {
            for (int algorithm = GSW_ALGORITHM_REFERENCE; algorithm <= GSW_ALGORITHM_LINE;
                 algorithm++) {
                oracle_matrix *csr = keep_converted(arrays, &layout);
                ((int *)csr->row_ptr)[20] = wrong[k];
                gsw_sptrsv_options options = solve_options(s, GSW_F64, (gsw_algorithm)algorithm);
                must_refuse(context, gsw_sptrsv(context, &csr->view, &options, 1, b, 0, x, 0),
                            GSW_ERROR_NOT_A_GRID, "row 20 ");
            }
        }
    }
}

TEST(bad_arguments_are_refused) {
    const gsw_grid grid = {3, 2, 2};
    const oracle_layout narrow = {.format = GSW_FORMAT_STENCIL, .value_type = GSW_F32};
    gsw_context *context = both.cpu;
    oracle_matrix *matrix = keep_matrix_of(&grid, oracle_stencil(2, NULL), 1, ORACLE_ANY_SIGN);
    oracle_matrix *f32 = keep_converted(matrix, &narrow);
    const gsw_matrix *m = &matrix->view;
    double b[36] = {1}, x[36];
    gsw_sptrsv_options options = {.size = sizeof options};
    must_reject(gsw_sptrsv(NULL, m, NULL, 1, b, 0, x, 0));
    ck_assert_int_eq(gsw_sptrsv(context, m, NULL, 1, b, 0, x, 0), GSW_SUCCESS);
    ck_assert_int_eq(gsw_sptrsv(context, m, NULL, 0, NULL, 0, NULL, 0), GSW_SUCCESS);

#define REFUSED(expected, word, ...)                                                               \
    must_refuse(context, gsw_sptrsv(context, __VA_ARGS__), expected, word)
    REFUSED(GSW_ERROR_INVALID_ARGUMENT, "matrix", NULL, NULL, 1, b, 0, x, 0);
    REFUSED(GSW_ERROR_INVALID_ARGUMENT, "b is", m, NULL, 1, NULL, 0, x, 0);
    REFUSED(GSW_ERROR_INVALID_ARGUMENT, "x is", m, NULL, 1, b, 0, NULL, 0);
    REFUSED(GSW_ERROR_INVALID_ARGUMENT, "count", m, NULL, -1, b, 0, x, 0);
    REFUSED(GSW_ERROR_INVALID_ARGUMENT, "ldb", m, NULL, 2, b, 11, x, 12);
    REFUSED(GSW_ERROR_INVALID_ARGUMENT, "ldx", m, NULL, 2, b, 12, x, 11);
    REFUSED(GSW_ERROR_INVALID_ARGUMENT, "in place", m, NULL, 2, x, 12, x, 13);
    REFUSED(GSW_ERROR_OVERFLOW, "right-hand sides", m, NULL, INT64_MAX, b, 12, x, 12);
    options.part = GSW_FULL;
    REFUSED(GSW_ERROR_INVALID_ARGUMENT, "part", m, &options, 1, b, 0, x, 0);
    options = (gsw_sptrsv_options){.size = sizeof(gsw_sptrsv_options), .vector_type = (gsw_dtype)7};
    REFUSED(GSW_ERROR_INVALID_ARGUMENT, "vector_type", m, &options, 1, b, 0, x, 0);
    options =
        (gsw_sptrsv_options){.size = sizeof(gsw_sptrsv_options), .algorithm = (gsw_algorithm)7};
    REFUSED(GSW_ERROR_INVALID_ARGUMENT, "algorithm", m, &options, 1, b, 0, x, 0);
    options = (gsw_sptrsv_options){.size = sizeof(gsw_sptrsv_options), .vector_type = GSW_F32};
    REFUSED(GSW_ERROR_UNSUPPORTED, "fp32", m, &options, 1, b, 0, x, 0);
    ck_assert_int_eq(gsw_sptrsv(context, &f32->view, &options, 1, b, 0, x, 0), GSW_SUCCESS);
    gsw_matrix broken = *m;
    broken.format = (gsw_format)9;
    REFUSED(GSW_ERROR_INVALID_ARGUMENT, "format", &broken, NULL, 1, b, 0, x, 0);
    broken = *m;
    broken.grid.ny = 0;
    REFUSED(GSW_ERROR_INVALID_ARGUMENT, "grid", &broken, NULL, 1, b, 0, x, 0);
#undef REFUSED
}

TEST(algorithms_have_names) {
    ck_assert_str_eq(gsw_algorithm_name(GSW_ALGORITHM_AUTO), "auto");
    ck_assert_str_eq(gsw_algorithm_name(GSW_ALGORITHM_REFERENCE), "reference");
    ck_assert_str_eq(gsw_algorithm_name(GSW_ALGORITHM_LINE), "line");
    ck_assert_str_eq(gsw_algorithm_name(GSW_ALGORITHM_PENCIL), "pencil");
    ck_assert_str_eq(gsw_algorithm_name((gsw_algorithm)42), "unknown");
}

/* ---- validation on a device ---- */

#define DAMAGES 12

/* One way of many to spoil a CSR. */
static void damage(oracle_matrix *csr, int way, int64_t row) {
    const gsw_itype type = csr->view.csr.index_type;
    const int base = csr->view.csr.base;
    const int64_t rows = csr->view.csr.rows, nonzeros = csr->view.csr.nonzeros;
    const int64_t begin = gsw_index_at(csr->row_ptr, type, row) - base,
                  end = gsw_index_at(csr->row_ptr, type, row + 1) - base;
    const int64_t first = gsw_index_at(csr->columns, type, begin),
                  last = gsw_index_at(csr->columns, type, end - 1);
    void *const pointers = csr->row_ptr, *const columns = csr->columns;
    switch (way) {
    case 0: /* outside the stencil, before and after */
        gsw_index_put(columns, type, begin, first - 1);
        break;
    case 1:
        gsw_index_put(columns, type, end - 1, last + 1);
        break;
    case 2: /* repeated */
        gsw_index_put(columns, type, begin + 1, first);
        break;
    case 3: /* descending */
        gsw_index_put(columns, type, end - 1, first);
        break;
    case 4: /* out of range */
        gsw_index_put(columns, type, begin, base - 1);
        break;
    case 5:
        gsw_index_put(columns, type, end - 1, rows + base);
        break;
    case 6:
        gsw_index_put(columns, type, end - 1, INT32_MAX);
        break;
    case 7: /* pointers */
        gsw_index_put(pointers, type, row, -7);
        break;
    case 8:
        gsw_index_put(pointers, type, row, 100000);
        break;
    case 9:
        gsw_index_put(pointers, type, row, gsw_index_at(pointers, type, row) - 1);
        break;
    case 10:
        gsw_index_put(pointers, type, 0, base + 1);
        break;
    default: /* entries after the last row */
        gsw_index_put(pointers, type, rows, nonzeros + base - 1);
        break;
    }
}

/* Validates on both sides: the same status, and the same row in the message. */
static void compare_validation(const oracle_matrix *csr) {
    gsw_context *here = both.here[0];
    gsw_matrix matrix;
    device_try(here, gsw_matrix_upload(here, &csr->view, &matrix));
    const gsw_status expected = gsw_matrix_validate(both.cpu, &csr->view);
    ck_assert_msg(gsw_matrix_validate(here, &matrix) == expected, "\"%s\", but expected \"%s\"",
                  gsw_context_message(here), gsw_context_message(both.cpu));
    if (expected != GSW_SUCCESS)
        same_row(both.cpu, here, "validation");
    gsw_matrix_release(here, &matrix);
}

TEST(validation_names_the_first_bad_row) {
    for (int g = 12; g < oracle_grid_count(); g++) {
        const gsw_grid grid = oracle_grid(g);
        const int64_t n = oracle_points(&grid);
        oracle_matrix *arrays = oracle_random(&grid, oracle_stencil(_i, NULL), 2, ORACLE_ANY_SIGN);
        for (int k = 0; k < 4; k++) {
            oracle_layout layout = layouts[1 + k % 2];
            layout.missing = k < 2 ? 0 : 5;
            oracle_matrix *good = oracle_convert(arrays, &layout);
            ck_assert_int_eq(gsw_matrix_validate(both.cpu, &good->view), GSW_SUCCESS);
            compare_validation(good);
            for (int way = 0; way < DAMAGES; way++) {
                oracle_matrix *bad = oracle_convert(arrays, &layout);
                damage(bad, way, n / 2 + way);
                compare_validation(bad);
                damage(bad, (way + 5) % DAMAGES, n - 2); /* the first one counts */
                damage(bad, (way + 1) % DAMAGES, n / 3);
                compare_validation(bad);
                oracle_free(bad);
            }
            oracle_free(good);
        }
        compare_validation(arrays);
        oracle_free(arrays);
    }
}

/* ---- lesser instruction sets (where the processor lacks one, its best one) ---- */

TEST(instruction_sets_agree) {
    static const char *const names[] = {"base", "v3", "v4"};
    close_both();
    ck_assert_int_eq(setenv("GSW_ISA", names[_i], 1), 0);
    open_both();
    for (int g = 0; g < oracle_grid_count(); g += ORACLE_STRIDE)
        check_matrix(oracle_grid(g), oracle_stencil(g % oracle_stencil_count(), NULL), 9,
                     GSW_ALGORITHM_LINE, 3, 3, SOLVES);
}

/* What is of the CPU alone, or decided before any backend. */
static void add_cpu_tests(Suite *suite) {
    TCase *tc = sweep_case(suite, "reference");
    TESTS(tc, reference_by_hand, reference_by_hand_in_the_plane,
          reference_equals_dense_substitution);
    tc = sweep_case(suite, "arguments");
    TESTS(tc, a_workspace_that_does_not_fit_is_refused, row_pointers_outside_the_arrays_are_refused,
          bad_arguments_are_refused, algorithms_have_names);
    tc = sweep_case(suite, "instructions");
    LOOPS(tc, 3, instruction_sets_agree);
}

static void add_cuda_tests(Suite *suite) {
    TCase *tc = sweep_case(suite, "large");
    LOOPS(tc, oracle_stencil_count(), large_grids_equal_reference);
    LOOPS(tc, CUBES, cube_of_128_equals_reference, repetitions_give_the_same_bits);
    tc = sweep_case(suite, "reported");
    TESTS(tc, wrong_columns_of_a_full_matrix_do_no_harm);
    LOOPS(tc, oracle_stencil_count(), validation_names_the_first_bad_row);
}

int main(int argc, char **argv) {
    const int stencils = oracle_stencil_count();
    backend_choose(argc, argv);
    Suite *suite = suite_create("sptrsv");
    TCase *tc = sweep_case(suite, "equal");
    TESTS(tc, arrays_may_be_null, arrays_may_be_unaligned, right_hand_sides_are_independent);
    LOOPS(tc, stencils, line_equals_reference, pencil_equals_reference,
          short_lines_equal_the_reference, triangles_equal_reference, couplings_may_be_missing);
    tc = sweep_case(suite, "values");
    LOOPS(tc, stencils, nan_and_infinity_go_where_the_reference_puts_them);
    LOOPS(tc, CUBES, every_nan_is_a_nan);
    tc = sweep_case(suite, "refused");
    tcase_add_loop_test(tc, couplings_outside_the_stencil_are_refused, GSW_LOWER, GSW_UPPER + 1);
    if (on_cuda())
        add_cuda_tests(suite);
    else
        add_cpu_tests(suite);
    return backend_run_suite(suite);
}
