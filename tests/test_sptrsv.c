/* test_sptrsv.c: the direct triangular solve. The reference is checked by hand and against dense
 * substitution; everything else is checked against the reference. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <check.h>

#include "oracle.h"

#define MOST_THREADS 3

/* The eight solves with one matrix: part, transpose, unit diagonal. */
#define SOLVES 8

static gsw_sptrsv_options solve_options(int solve, gsw_dtype type, gsw_algorithm algorithm) {
    return (gsw_sptrsv_options){.size = sizeof(gsw_sptrsv_options),
                                .part = solve & 1 ? GSW_UPPER : GSW_LOWER,
                                .transpose = solve >> 1 & 1,
                                .unit_diagonal = solve >> 2 & 1,
                                .vector_type = type,
                                .algorithm = algorithm};
}

static void describe(char *text, size_t size, const gsw_matrix *m,
                     const gsw_sptrsv_options *options) {
    snprintf(text, size, "%lldx%lldx%lld %s %s%s%s, vectors %s, %s", (long long)m->grid.nx,
             (long long)m->grid.ny, (long long)m->grid.nz, gsw_stencil_name(&m->stencil),
             options->part == GSW_LOWER ? "lower" : "upper",
             options->transpose ? " transposed" : "", options->unit_diagonal ? " unit" : "",
             options->vector_type == GSW_F64 ? "f64" : "f32",
             m->format == GSW_FORMAT_CSR ? "csr" : "arrays");
}

static void solve(gsw_context *context, const gsw_matrix *matrix, const gsw_sptrsv_options *options,
                  const void *b, void *x) {
    gsw_status status = gsw_sptrsv(context, matrix, options, 1, b, 0, x, 0);
    ck_assert_msg(status == GSW_SUCCESS, "%s", gsw_context_message(context));
}

/* ---- the reference ---- */

START_TEST(reference_by_hand) {
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
    gsw_context *context = oracle_context(1);
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
    gsw_context_destroy(context);
}
END_TEST

START_TEST(reference_by_hand_in_the_plane) {
    /* 2 x 2 points; array e couples to (0,-1), (-1,0), centre, (1,0), (0,1). NAN is not to be read.
     */
    static const double south[] = {NAN, NAN, 2, 3}, west[] = {NAN, 1, NAN, 4},
                        diagonal[] = {1, 2, 4, 8};
    const void *arrays[] = {south, west, diagonal, NULL, NULL};
    const gsw_stencil_array array = {arrays, GSW_F64};
    const gsw_grid grid = {2, 2, 1};
    static const double b[] = {1, 5, 10, 30}; /* 1; (5 - 1) / 2; (10 - 2) / 4; (30 - 6 - 8) / 8 */
    static const double expected[] = {1, 2, 2, 2};
    gsw_context *context = oracle_context(1);
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
    gsw_context_destroy(context);
}
END_TEST

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

START_TEST(reference_equals_dense_substitution) {
    static const gsw_grid grids[] = {{1, 1, 1}, {7, 1, 1}, {4, 5, 1}, {1, 3, 4}, {3, 4, 5}};
    gsw_context *context = oracle_context(1);
    int combinations = 0;
    for (int g = 0; g < 5; g++) {
        const int64_t n = oracle_points(&grids[g]);
        for (int k = 0; k < oracle_stencil_count(); k++) {
            for (int missing = 0; missing <= 4; missing += 4) {
                const oracle_layout layout = {
                    .format = GSW_FORMAT_CSR, .part = GSW_FULL, .missing = missing};
                oracle_matrix *arrays =
                    oracle_random(&grids[g], oracle_stencil(k, NULL), 3, ORACLE_ANY_SIGN);
                oracle_matrix *csr = oracle_convert(arrays, &layout);
                double *b = oracle_vector(GSW_F64, 17, n), *x = oracle_vector(GSW_F64, 18, n),
                       *y = oracle_vector(GSW_F64, 19, n);
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
                free(b);
                free(x);
                free(y);
                oracle_free(csr);
                oracle_free(arrays);
            }
        }
    }
    ck_assert_int_ge(combinations, 300);
    gsw_context_destroy(context);
}
END_TEST

/* ---- the other algorithms against the reference ---- */

/* Solves with one to MOST_THREADS threads, in place and not. All results are within the tolerance
 * of the expected solution and have the same bits. */
static void check_solve(gsw_context *const *contexts, const gsw_matrix *matrix,
                        const gsw_sptrsv_options *options, const void *b, const void *expected) {
    const gsw_dtype type = options->vector_type;
    const int64_t n = oracle_points(&matrix->grid);
    const size_t bytes = (size_t)n * gsw_dtype_size(type);
    void *first = oracle_copy(type, b, n), *x = oracle_copy(type, b, n);
    char text[160];
    describe(text, sizeof text, matrix, options);
    for (int threads = 1; threads <= MOST_THREADS; threads++) {
        oracle_fill(type, x, n, NAN);
        solve(contexts[threads - 1], matrix, options, b, x);
        if (threads == 1) {
            const double error = oracle_error(type, n, x, expected);
            ck_assert_msg(error <= oracle_tolerance(type), "%s: error %g", text, error);
            memcpy(first, x, bytes);
        }
        ck_assert_msg(memcmp(first, x, bytes) == 0, "%s: other bits with %d threads", text,
                      threads);
    }
    memcpy(x, b, bytes);
    solve(contexts[MOST_THREADS - 1], matrix, options, x, x);
    ck_assert_msg(memcmp(first, x, bytes) == 0, "%s: other bits in place", text);
    free(first);
    free(x);
}

/* All layouts of one matrix, all types: returns the number of combinations. */
static int check_matrix(gsw_context *const *contexts, const oracle_matrix *matrix,
                        gsw_algorithm algorithm) {
    static const oracle_layout layouts[] = {
        {.format = GSW_FORMAT_STENCIL},
        {.format = GSW_FORMAT_CSR, .index_type = GSW_I32, .base = 0, .part = GSW_FULL},
        {.format = GSW_FORMAT_CSR, .index_type = GSW_I64, .base = 1, .part = GSW_FULL},
    };
    static const struct {
        gsw_dtype values, vectors;
    } types[] = {{GSW_F64, GSW_F64}, {GSW_F32, GSW_F64}, {GSW_F32, GSW_F32}};
    const int64_t n = oracle_points(&matrix->view.grid);
    int combinations = 0;
    for (int t = 0; t < 3; t++) {
        oracle_matrix *stored[3];
        for (int k = 0; k < 3; k++) {
            oracle_layout layout = layouts[k];
            layout.value_type = types[t].values;
            stored[k] = oracle_convert(matrix, &layout);
        }
        void *b = oracle_vector(types[t].vectors, 5, n),
             *expected = oracle_copy(types[t].vectors, b, n);
        for (int s = 0; s < SOLVES; s++) {
            gsw_sptrsv_options options =
                solve_options(s, types[t].vectors, GSW_ALGORITHM_REFERENCE);
            solve(contexts[0], &stored[0]->view, &options, b, expected);
            options.algorithm = algorithm;
            for (int k = 0; k < 3; k++, combinations++)
                check_solve(contexts, &stored[k]->view, &options, b, expected);
        }
        free(b);
        free(expected);
        for (int k = 0; k < 3; k++)
            oracle_free(stored[k]);
    }
    return combinations;
}

static void open_contexts(gsw_context **contexts) {
    for (int threads = 1; threads <= MOST_THREADS; threads++)
        contexts[threads - 1] = oracle_context(threads);
}

static void close_contexts(gsw_context **contexts) {
    for (int threads = 1; threads <= MOST_THREADS; threads++)
        gsw_context_destroy(contexts[threads - 1]);
}

/* Tries one grid in `stride`, others for other stencils. */
static void check_stencil(int stencil, gsw_algorithm algorithm, int stride) {
    gsw_context *contexts[MOST_THREADS];
    const char *name;
    int combinations = 0;
    open_contexts(contexts);
    for (int g = stencil % stride; g < oracle_grid_count(); g += stride) {
        const gsw_grid grid = oracle_grid(g);
        oracle_matrix *matrix = oracle_random(&grid, oracle_stencil(stencil, &name),
                                              (uint64_t)(g + 1), ORACLE_ANY_SIGN);
        combinations += check_matrix(contexts, matrix, algorithm);
        oracle_free(matrix);
    }
    close_contexts(contexts);
    printf("%s, %s: %d combinations equal the reference\n", gsw_algorithm_name(algorithm), name,
           combinations);
    ck_assert_int_ge(combinations, stride > 3 ? 140 : 300);
}

START_TEST(line_equals_reference) {
    check_stencil(_i, GSW_ALGORITHM_LINE, ORACLE_STRIDE);
}
END_TEST

START_TEST(pencil_equals_reference) {
    check_stencil(_i, GSW_ALGORITHM_PENCIL, 3);
}
END_TEST

/* Lines of 2 to 20 points along x: many, in one plane and in several, and small planes. */
START_TEST(short_lines_equal_the_reference) {
    gsw_context *contexts[MOST_THREADS];
    open_contexts(contexts);
    for (int i = 0; i < ORACLE_SHORT_GRIDS; i++) {
        const gsw_grid grid = oracle_short_grid(i);
        const int64_t n = oracle_points(&grid);
        const gsw_dtype vectors = i % 4 == 3 ? GSW_F32 : GSW_F64;
        const oracle_layout layout = {.format = GSW_FORMAT_STENCIL,
                                      .value_type = i % 2 ? GSW_F32 : GSW_F64};
        oracle_matrix *random =
            oracle_random(&grid, oracle_stencil(_i, NULL), (uint64_t)i + 1, ORACLE_ANY_SIGN);
        oracle_matrix *matrix = oracle_convert(random, &layout);
        void *b = oracle_vector(vectors, 5, n), *expected = oracle_copy(vectors, b, n);
        for (int s = 0; s < SOLVES; s++) {
            gsw_sptrsv_options options = solve_options(s, vectors, GSW_ALGORITHM_REFERENCE);
            solve(contexts[0], &matrix->view, &options, b, expected);
            options.algorithm = GSW_ALGORITHM_LINE;
            check_solve(contexts, &matrix->view, &options, b, expected);
        }
        free(b);
        free(expected);
        oracle_free(matrix);
        oracle_free(random);
    }
    close_contexts(contexts);
}
END_TEST

START_TEST(couplings_may_be_missing) {
    gsw_context *contexts[MOST_THREADS];
    open_contexts(contexts);
    for (int g = 0; g < oracle_grid_count(); g += ORACLE_STRIDE) {
        for (int part = GSW_LOWER; part <= GSW_FULL; part++) {
            const oracle_layout layout = {
                .format = GSW_FORMAT_CSR, .part = (gsw_part)part, .missing = 2 + g % 5};
            const gsw_grid grid = oracle_grid(g);
            const int64_t n = oracle_points(&grid);
            oracle_matrix *arrays = oracle_random(
                &grid, oracle_stencil(g % oracle_stencil_count(), NULL), 9, ORACLE_ANY_SIGN);
            oracle_matrix *csr = oracle_convert(arrays, &layout);
            double *b = oracle_vector(GSW_F64, 8, n), *expected = oracle_vector(GSW_F64, 8, n);
            /* A NaN travels along stored couplings only. */
            b[n / 3] = NAN;
            for (int s = 0; s < SOLVES; s++) {
                gsw_sptrsv_options options = solve_options(s, GSW_F64, GSW_ALGORITHM_REFERENCE);
                solve(contexts[0], &csr->view, &options, b, expected);
                options.algorithm = GSW_ALGORITHM_LINE;
                for (int threads = 1; threads <= MOST_THREADS; threads++) {
                    double *x = oracle_vector(GSW_F64, 7, n);
                    solve(contexts[threads - 1], &csr->view, &options, b, x);
                    ck_assert(oracle_error(GSW_F64, n, x, expected) <= 1e-13);
                    free(x);
                }
            }
            free(b);
            free(expected);
            oracle_free(csr);
            oracle_free(arrays);
        }
    }
    close_contexts(contexts);
}
END_TEST

START_TEST(arrays_may_be_null) {
    const gsw_grid grid = {19, 7, 5};
    const int64_t n = oracle_points(&grid);
    gsw_context *context = oracle_context(2);
    oracle_matrix *matrix = oracle_random(&grid, oracle_stencil_named("D3N27"), 9, ORACLE_ANY_SIGN);
    double *b = oracle_vector(GSW_F64, 8, n), *x = oracle_vector(GSW_F64, 8, n),
           *expected = oracle_vector(GSW_F64, 8, n);
    for (int32_t e = 0; e < matrix->view.stencil.count; e++) {
        if (e % 3 == 1 || e == matrix->view.stencil.center) {
            free(matrix->arrays[e]);
            matrix->arrays[e] = NULL;
        }
    }
    for (int s = 0; s < SOLVES; s++) {
        gsw_sptrsv_options options = solve_options(s, GSW_F64, GSW_ALGORITHM_REFERENCE);
        solve(context, &matrix->view, &options, b, expected);
        ck_assert_int_eq(isfinite(expected[n / 2]) != 0, options.unit_diagonal);
        options.algorithm = GSW_ALGORITHM_LINE;
        solve(context, &matrix->view, &options, b, x);
        ck_assert(oracle_error(GSW_F64, n, x, expected) <= 1e-13);
    }
    free(b);
    free(x);
    free(expected);
    oracle_free(matrix);
    gsw_context_destroy(context);
}
END_TEST

/* ---- values that are not numbers ---- */

START_TEST(nan_and_infinity_go_where_the_reference_puts_them) {
    static const double bad[] = {NAN, INFINITY, -INFINITY};
    static const gsw_grid grids[] = {{1, 1, 1}, {70, 1, 1}, {9, 8, 1}, {1, 6, 7}, {70, 4, 3}};
    gsw_context *context = oracle_context(2);
    for (int g = 0; g < 5; g++) {
        const int64_t n = oracle_points(&grids[g]);
        for (int k = 0; k < oracle_stencil_count(); k++) {
            for (int trial = 0; trial < 12; trial++) {
                const gsw_stencil *stencil = oracle_stencil(k, NULL);
                const oracle_layout layout = {.format = GSW_FORMAT_CSR, .part = GSW_FULL};
                oracle_matrix *arrays = oracle_random(&grids[g], stencil, 4, ORACLE_ANY_SIGN);
                double *b = oracle_vector(GSW_F64, 6, n), *x = oracle_vector(GSW_F64, 6, n),
                       *expected = oracle_vector(GSW_F64, 6, n);
                const int64_t row = n * (trial % 4) / 4;
                if (trial < 4)
                    b[row] = bad[trial % 3];
                else if (trial < 8)
                    ((double *)arrays->arrays[trial * 5 % stencil->count])[row] = bad[trial % 3];
                else if (trial < 11)
                    ((double *)arrays->arrays[stencil->center])[row] = 0;
                else { /* the reciprocal overflows, the quotient does not */
                    ((double *)arrays->arrays[stencil->center])[row] = 1e-310;
                    for (int64_t i = 0; i < n; i++)
                        b[i] *= 1e-310;
                }
                oracle_matrix *csr = oracle_convert(arrays, &layout);
                for (int s = 0; s < SOLVES; s++) {
                    gsw_sptrsv_options options = solve_options(s, GSW_F64, GSW_ALGORITHM_REFERENCE);
                    solve(context, &arrays->view, &options, b, expected);
                    options.algorithm = GSW_ALGORITHM_LINE;
                    solve(context, &arrays->view, &options, b, x);
                    ck_assert_double_le(oracle_error(GSW_F64, n, x, expected), 1e-13);
                    solve(context, &csr->view, &options, b, x);
                    ck_assert_double_le(oracle_error(GSW_F64, n, x, expected), 1e-13);
                }
                free(b);
                free(x);
                free(expected);
                oracle_free(csr);
                oracle_free(arrays);
            }
        }
    }
    gsw_context_destroy(context);
}
END_TEST

/* ---- a workspace ---- */

/* PENCIL packs into the workspace whatever it held before. AUTO is right with it, too. */
START_TEST(a_workspace_takes_each_matrix) {
    const gsw_grid grid = {9, 5, 4};
    const int64_t n = oracle_points(&grid);
    gsw_context *context = oracle_context(2);
    double *b = oracle_vector(GSW_F64, 6, n), *x = oracle_vector(GSW_F64, 7, n),
           *expected = oracle_vector(GSW_F64, 8, n);
    for (int k = 0; k < SOLVES; k++) {
        gsw_sptrsv_options options = solve_options(k, GSW_F64, GSW_ALGORITHM_PENCIL);
        const gsw_factor_options kind = {.size = sizeof kind,
                                         .kind = options.part == GSW_LOWER ? GSW_FACTOR_LOWER
                                                                           : GSW_FACTOR_UPPER,
                                         .transpose = options.transpose,
                                         .unit_diagonal = options.unit_diagonal};
        oracle_matrix *matrix[2];
        for (int i = 0; i < 2; i++)
            matrix[i] =
                oracle_random(&grid, oracle_stencil(_i, NULL), (uint64_t)i + 2, ORACLE_ANY_SIGN);
        gsw_factor *workspace = NULL;
        ck_assert_int_eq(gsw_factor_create(context, &matrix[0]->view, &kind, &workspace),
                         GSW_SUCCESS);
        for (int run = 0; run < 4; run++) {
            options.algorithm = GSW_ALGORITHM_REFERENCE;
            options.workspace = NULL;
            solve(context, &matrix[run % 2]->view, &options, b, expected);
            options.algorithm = run < 2 ? GSW_ALGORITHM_PENCIL : GSW_ALGORITHM_AUTO;
            options.workspace = workspace;
            oracle_fill(GSW_F64, x, n, NAN);
            solve(context, &matrix[run % 2]->view, &options, b, x);
            ck_assert(oracle_error(GSW_F64, n, x, expected) <= 1e-13);
        }
        gsw_factor_destroy(workspace);
        oracle_free(matrix[0]);
        oracle_free(matrix[1]);
    }
    free(b);
    free(x);
    free(expected);
    gsw_context_destroy(context);
}
END_TEST

START_TEST(a_workspace_that_does_not_fit_is_refused) {
    const gsw_grid grid = {5, 4, 3}, other_grid = {5, 4, 4};
    const int64_t n = oracle_points(&other_grid);
    gsw_context *context = oracle_context(1), *another = oracle_context(1);
    oracle_matrix *matrix = oracle_random(&grid, oracle_stencil(2, NULL), 2, ORACLE_ANY_SIGN);
    oracle_matrix *larger = oracle_random(&other_grid, oracle_stencil(2, NULL), 2, ORACLE_ANY_SIGN);
    double *b = oracle_vector(GSW_F64, 6, n), *x = oracle_vector(GSW_F64, 7, n);
    const struct {
        gsw_factor_options made;
        gsw_context *by;
        const oracle_matrix *of;
        const char *message;
    } misfits[] = {
        {{.size = sizeof(gsw_factor_options), .kind = GSW_FACTOR_UPPER},
         context,
         matrix,
         "workspace is a factor of kind upper"},
        {{.size = sizeof(gsw_factor_options), .kind = GSW_FACTOR_LOWER, .transpose = 1},
         context,
         matrix,
         "workspace: its transpose or unit_diagonal differs"},
        {{.size = sizeof(gsw_factor_options), .kind = GSW_FACTOR_LOWER, .unit_diagonal = 1},
         context,
         matrix,
         "workspace: its transpose or unit_diagonal differs"},
        {{.size = sizeof(gsw_factor_options), .kind = GSW_FACTOR_LOWER, .factor_type = GSW_F32},
         context,
         matrix,
         "workspace: its factor_type"},
        {{.size = sizeof(gsw_factor_options), .kind = GSW_FACTOR_LOWER},
         another,
         matrix,
         "workspace belongs to another context"},
        {{.size = sizeof(gsw_factor_options), .kind = GSW_FACTOR_LOWER},
         context,
         larger,
         "matrix: its grid"},
    };
    for (size_t k = 0; k < sizeof misfits / sizeof misfits[0]; k++) {
        gsw_sptrsv_options options = {.size = sizeof options, .algorithm = GSW_ALGORITHM_PENCIL};
        ck_assert_int_eq(gsw_factor_create(misfits[k].by, &misfits[k].of->view, &misfits[k].made,
                                           &options.workspace),
                         GSW_SUCCESS);
        ck_assert_int_eq(gsw_sptrsv(context, &matrix->view, &options, 1, b, n, x, n),
                         GSW_ERROR_INVALID_ARGUMENT);
        ck_assert_msg(strstr(gsw_context_message(context), misfits[k].message) != NULL, "%s",
                      gsw_context_message(context));
        gsw_factor_destroy(options.workspace);
    }
    free(b);
    free(x);
    oracle_free(matrix);
    oracle_free(larger);
    gsw_context_destroy(another);
    gsw_context_destroy(context);
}
END_TEST

/* ---- several right-hand sides ---- */

START_TEST(right_hand_sides_are_independent) {
    const gsw_grid grid = {11, 6, 4};
    const int64_t n = oracle_points(&grid), ldb = n + 5, ldx = n + 3, count = 4;
    const double gap = 12345;
    gsw_context *context = oracle_context(2);
    oracle_matrix *matrix = oracle_random(&grid, oracle_stencil(2, NULL), 2, ORACLE_ANY_SIGN);
    double *b = oracle_vector(GSW_F64, 6, ldb * count), *x = oracle_vector(GSW_F64, 7, ldx * count),
           *one = oracle_vector(GSW_F64, 8, n);
    for (int algorithm = GSW_ALGORITHM_AUTO; algorithm <= GSW_ALGORITHM_PENCIL; algorithm++) {
        gsw_sptrsv_options options = solve_options(1, GSW_F64, (gsw_algorithm)algorithm);
        oracle_fill(GSW_F64, x, ldx * count, gap);
        ck_assert_int_eq(gsw_sptrsv(context, &matrix->view, &options, count, b, ldb, x, ldx),
                         GSW_SUCCESS);
        for (int64_t r = 0; r < count; r++) {
            options.algorithm = GSW_ALGORITHM_REFERENCE;
            solve(context, &matrix->view, &options, b + r * ldb, one);
            ck_assert(oracle_error(GSW_F64, n, x + r * ldx, one) <= 1e-13);
            for (int64_t i = n; i < ldx && r + 1 < count; i++)
                ck_assert(x[r * ldx + i] == gap);
        }
        options.algorithm = (gsw_algorithm)algorithm;
        double *both = oracle_copy(GSW_F64, b, ldb * count);
        ck_assert_int_eq(gsw_sptrsv(context, &matrix->view, &options, count, both, ldb, both, ldb),
                         GSW_SUCCESS);
        for (int64_t r = 0; r < count; r++)
            ck_assert_mem_eq(both + r * ldb, x + r * ldx, (size_t)n * sizeof *x);
        free(both);
    }
    free(b);
    free(x);
    free(one);
    oracle_free(matrix);
    gsw_context_destroy(context);
}
END_TEST

/* ---- what is refused ---- */

/* Moves one coupling of the row, in the given part, outside the stencil. */
static void spoil(oracle_matrix *csr, int64_t row, gsw_part part) {
    const int *row_ptr = csr->row_ptr;
    int *columns = csr->columns;
    if (part == GSW_LOWER)
        columns[row_ptr[row]] -= 1;
    else
        columns[row_ptr[row + 1] - 1] += 1;
}

START_TEST(couplings_outside_the_stencil_are_refused) {
    const gsw_grid grid = {9, 8, 7};
    const int64_t n = oracle_points(&grid);
    const oracle_layout layout = {.format = GSW_FORMAT_CSR, .part = GSW_FULL};
    for (int s = 0; s < SOLVES; s++) {
        for (int spoilt = GSW_LOWER; spoilt <= GSW_UPPER; spoilt++) {
            for (int threads = 1; threads <= MOST_THREADS; threads++) {
                gsw_context *context = oracle_context(threads);
                oracle_matrix *arrays =
                    oracle_random(&grid, oracle_stencil(2, NULL), 2, ORACLE_ANY_SIGN);
                oracle_matrix *csr = oracle_convert(arrays, &layout);
                double *b = oracle_vector(GSW_F64, 6, n), *x = oracle_vector(GSW_F64, 7, n);
                spoil(csr, 301, (gsw_part)spoilt);
                spoil(csr, 234, (gsw_part)spoilt);
                for (int algorithm = GSW_ALGORITHM_REFERENCE; algorithm <= GSW_ALGORITHM_LINE;
                     algorithm++) {
                    gsw_sptrsv_options options =
                        solve_options(s, GSW_F64, (gsw_algorithm)algorithm);
                    gsw_status status = gsw_sptrsv(context, &csr->view, &options, 1, b, 0, x, 0);
                    if (spoilt != (int)options.part) {
                        ck_assert_int_eq(status, GSW_SUCCESS);
                        continue;
                    }
                    ck_assert_int_eq(status, GSW_ERROR_NOT_A_GRID);
                    ck_assert_msg(strstr(gsw_context_message(context), "row 234 ") != NULL, "%s",
                                  gsw_context_message(context));
                }
                free(b);
                free(x);
                oracle_free(csr);
                oracle_free(arrays);
                gsw_context_destroy(context);
            }
        }
    }
}
END_TEST

START_TEST(row_pointers_outside_the_arrays_are_refused) {
    const gsw_grid grid = {5, 4, 3};
    const oracle_layout layout = {.format = GSW_FORMAT_CSR, .part = GSW_FULL, .base = 1};
    static const int wrong[] = {-7, 0, 100000, 2};
    gsw_context *context = oracle_context(2);
    oracle_matrix *arrays = oracle_random(&grid, oracle_stencil(2, NULL), 2, ORACLE_ANY_SIGN);
    double b[60] = {0}, x[60];
    for (int s = 0; s < SOLVES; s++) {
        for (int k = 0; k < 4; k++) {
            for (int algorithm = GSW_ALGORITHM_REFERENCE; algorithm <= GSW_ALGORITHM_LINE;
                 algorithm++) {
                oracle_matrix *csr = oracle_convert(arrays, &layout);
                ((int *)csr->row_ptr)[20] = wrong[k];
                gsw_sptrsv_options options = solve_options(s, GSW_F64, (gsw_algorithm)algorithm);
                ck_assert_int_eq(gsw_sptrsv(context, &csr->view, &options, 1, b, 0, x, 0),
                                 GSW_ERROR_NOT_A_GRID);
                ck_assert(strstr(gsw_context_message(context), "row 20 ") != NULL);
                oracle_free(csr);
            }
        }
    }
    oracle_free(arrays);
    gsw_context_destroy(context);
}
END_TEST

START_TEST(bad_arguments_are_refused) {
    const gsw_grid grid = {3, 2, 2};
    const oracle_layout narrow = {.format = GSW_FORMAT_STENCIL, .value_type = GSW_F32};
    gsw_context *context = oracle_context(1);
    oracle_matrix *matrix = oracle_random(&grid, oracle_stencil(2, NULL), 1, ORACLE_ANY_SIGN);
    oracle_matrix *f32 = oracle_convert(matrix, &narrow);
    const gsw_matrix *m = &matrix->view;
    double b[36] = {1}, x[36];
    gsw_sptrsv_options options = {.size = sizeof options};
    ck_assert_int_eq(gsw_sptrsv(NULL, m, NULL, 1, b, 0, x, 0), GSW_ERROR_INVALID_ARGUMENT);
    ck_assert_int_eq(gsw_sptrsv(context, m, NULL, 1, b, 0, x, 0), GSW_SUCCESS);
    ck_assert_int_eq(gsw_sptrsv(context, m, NULL, 0, NULL, 0, NULL, 0), GSW_SUCCESS);

#define REFUSED(expected, word, ...)                                                               \
    do {                                                                                           \
        ck_assert_int_eq(gsw_sptrsv(context, __VA_ARGS__), (expected));                            \
        ck_assert_msg(strstr(gsw_context_message(context), (word)) != NULL, "%s",                  \
                      gsw_context_message(context));                                               \
    } while (0)
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
    oracle_free(f32);
    oracle_free(matrix);
    gsw_context_destroy(context);
}
END_TEST

START_TEST(algorithms_have_names) {
    ck_assert_str_eq(gsw_algorithm_name(GSW_ALGORITHM_AUTO), "auto");
    ck_assert_str_eq(gsw_algorithm_name(GSW_ALGORITHM_REFERENCE), "reference");
    ck_assert_str_eq(gsw_algorithm_name(GSW_ALGORITHM_LINE), "line");
    ck_assert_str_eq(gsw_algorithm_name(GSW_ALGORITHM_PENCIL), "pencil");
    ck_assert_str_eq(gsw_algorithm_name((gsw_algorithm)42), "unknown");
}
END_TEST

/* ---- lesser instruction sets (where the processor lacks one, its best one) ---- */

START_TEST(instruction_sets_agree) {
    static const char *const names[] = {"base", "v3", "v4"};
    ck_assert_int_eq(setenv("GSW_ISA", names[_i], 1), 0);
    gsw_context *context = oracle_context(2);
    for (int g = 0; g < oracle_grid_count(); g += ORACLE_STRIDE) {
        const gsw_grid grid = oracle_grid(g);
        oracle_matrix *matrix = oracle_random(
            &grid, oracle_stencil(g % oracle_stencil_count(), NULL), 9, ORACLE_ANY_SIGN);
        gsw_context *contexts[MOST_THREADS] = {context, context, context};
        check_matrix(contexts, matrix, GSW_ALGORITHM_LINE);
        oracle_free(matrix);
    }
    gsw_context_destroy(context);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("sptrsv");
    TCase *tc = tcase_create("sptrsv");
    tcase_set_timeout(tc, 120);
    tcase_add_test(tc, reference_by_hand);
    tcase_add_test(tc, reference_by_hand_in_the_plane);
    tcase_add_test(tc, reference_equals_dense_substitution);
    tcase_add_loop_test(tc, line_equals_reference, 0, oracle_stencil_count());
    tcase_add_loop_test(tc, pencil_equals_reference, 0, oracle_stencil_count());
    tcase_add_loop_test(tc, short_lines_equal_the_reference, 0, oracle_stencil_count());
    tcase_add_test(tc, couplings_may_be_missing);
    tcase_add_test(tc, arrays_may_be_null);
    tcase_add_test(tc, nan_and_infinity_go_where_the_reference_puts_them);
    tcase_add_loop_test(tc, a_workspace_takes_each_matrix, 0, oracle_stencil_count());
    tcase_add_test(tc, a_workspace_that_does_not_fit_is_refused);
    tcase_add_test(tc, right_hand_sides_are_independent);
    tcase_add_test(tc, couplings_outside_the_stencil_are_refused);
    tcase_add_test(tc, row_pointers_outside_the_arrays_are_refused);
    tcase_add_test(tc, bad_arguments_are_refused);
    tcase_add_test(tc, algorithms_have_names);
    tcase_add_loop_test(tc, instruction_sets_agree, 0, 3);
    suite_add_tcase(suite, tc);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    const int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
