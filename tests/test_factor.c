/* test_factor.c: packed factors against the textbook: every kind of factorisation against the
 * serial oracles, every solve against the reference sweep on the oracles' L and U. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <check.h>

#include "common/csr.h"
#include "factor_cases.h"
#include "factor_truth.h"
#include "oracle.h"
#include "range_cases.h"

#define MOST_THREADS 3
#define MOST_COLUMNS 8

/* ---- cases ---- */

/* One factor to try: a random matrix in some layout, and the options. */
typedef struct trial {
    gsw_factor_options options;
    oracle_matrix *matrix, *upper; /* upper: kind LU only */
    int64_t n;
    char text[160];
} trial;

static trial trial_make(const gsw_grid *grid, const gsw_stencil *stencil,
                        const gsw_factor_options *options, int variant) {
    const oracle_layout layouts[] = {
        {.format = GSW_FORMAT_STENCIL},
        {.format = GSW_FORMAT_CSR, .index_type = GSW_I32, .part = GSW_FULL},
        {.format = GSW_FORMAT_CSR, .index_type = GSW_I64, .base = 1, .part = GSW_FULL},
        {.format = GSW_FORMAT_CSR, .index_type = GSW_I32, .part = GSW_FULL, .missing = 4},
    };
    trial t = {.options = *options, .n = oracle_points(grid)};
    oracle_layout layout = layouts[variant % 4];
    layout.value_type = options->factor_type;
    const oracle_diagonal diagonal = options->kind == GSW_IC0 ? ORACLE_POSITIVE : ORACLE_ANY_SIGN;
    oracle_matrix *arrays = oracle_random(grid, stencil, (uint64_t)variant + 1, diagonal);
    t.matrix = oracle_convert(arrays, &layout);
    oracle_free(arrays);
    if (options->kind == GSW_FACTOR_LU) {
        arrays = oracle_random(grid, stencil, (uint64_t)variant + 77, diagonal);
        t.upper = oracle_convert(arrays, &layout);
        oracle_free(arrays);
    }
    snprintf(t.text, sizeof t.text, "%s%s%s, %lldx%lldx%lld %s, layout %d, factor %s, vectors %s",
             gsw_factor_kind_name(options->kind), options->transpose ? " transposed" : "",
             options->unit_diagonal ? " unit" : "", (long long)grid->nx, (long long)grid->ny,
             (long long)grid->nz, gsw_stencil_name(stencil), variant % 4,
             options->factor_type == GSW_F64 ? "f64" : "f32",
             options->vector_type == GSW_F64 ? "f64" : "f32");
    return t;
}

static void trial_free(trial *t) {
    oracle_free(t->matrix);
    oracle_free(t->upper);
}

static gsw_factor *trial_factor(gsw_context *context, const trial *t) {
    gsw_factor *factor = NULL;
    gsw_status status =
        t->upper != NULL
            ? gsw_factor_create_lu(context, &t->matrix->view, &t->upper->view, &t->options, &factor)
            : gsw_factor_create(context, &t->matrix->view, &t->options, &factor);
    ck_assert_msg(status == GSW_SUCCESS, "%s: %s", t->text, gsw_context_message(context));
    return factor;
}

static expected *trial_expect(const trial *t) {
    return expect(&t->options, &t->matrix->view, t->upper != NULL ? &t->upper->view : NULL);
}

static void open_contexts(gsw_context **contexts) {
    for (int threads = 1; threads <= MOST_THREADS; threads++)
        contexts[threads - 1] = oracle_context(threads);
}

static void close_contexts(gsw_context **contexts) {
    for (int threads = 1; threads <= MOST_THREADS; threads++)
        gsw_context_destroy(contexts[threads - 1]);
}

/* ---- solves ---- */

/* Right-hand side r of a block in the vector type, in fp64. */
static double *column(gsw_dtype type, const void *block, int64_t r, int64_t ld, int64_t n) {
    double *values = calloc((size_t)n, sizeof *values);
    ck_assert_ptr_nonnull(values);
    for (int64_t i = 0; i < n; i++)
        values[i] = oracle_get(type, block, r * ld + i);
    return values;
}

/* Compares every right-hand side of x with the reference solution for b. Gaps must be unchanged. */
static void compare_columns(const trial *t, const expected *m, int64_t count, const void *b,
                            int64_t ldb, const void *x, int64_t ldx, double gap) {
    const gsw_dtype type = t->options.vector_type;
    for (int64_t r = 0; r < count; r++) {
        double *right = column(type, b, r, ldb, t->n), *got = column(type, x, r, ldx, t->n);
        expected_solve(m, right, right);
        const double error = oracle_error(GSW_F64, t->n, got, right);
        ck_assert_msg(error <= tolerance_of(&t->options), "%s: column %d of %d: error %g", t->text,
                      (int)r, (int)count, error);
        for (int64_t i = t->n; i < ldx; i++)
            ck_assert_msg(oracle_get(type, x, r * ldx + i) == gap, "%s: wrote between columns",
                          t->text);
        free(right);
        free(got);
    }
}

static void solve(gsw_context *context, gsw_factor *factor, const trial *t, int64_t count,
                  const void *b, int64_t ldb, void *x, int64_t ldx) {
    gsw_status status = gsw_factor_solve(context, factor, count, b, ldb, x, ldx);
    ck_assert_msg(status == GSW_SUCCESS, "%s: %s", t->text, gsw_context_message(context));
}

/* One solve with every number of threads, in place and not, whole and sweep by sweep. All results
 * have the same bits and are right. */
static void check_count(gsw_context *const *contexts, gsw_factor *const *factors, const trial *t,
                        const expected *m, int64_t count) {
    const gsw_dtype type = t->options.vector_type;
    const int64_t ldb = t->n + 3, ldx = t->n + 1;
    const double gap = 4321;
    const size_t row_bytes = (size_t)t->n * gsw_dtype_size(type);
    void *b = oracle_vector(type, 5, ldb * count), *x = oracle_vector(type, 6, ldx * count),
         *first = oracle_vector(type, 7, ldx * count), *swept = oracle_copy(type, b, ldb * count);
    for (int threads = 1; threads <= MOST_THREADS; threads++) {
        gsw_context *context = contexts[threads - 1];
        gsw_factor *factor = factors[threads - 1];
        oracle_fill(type, x, ldx * count, gap);
        solve(context, factor, t, count, b, ldb, x, ldx);
        if (threads == 1) {
            compare_columns(t, m, count, b, ldb, x, ldx, gap);
            memcpy(first, x, (size_t)(ldx * count) * gsw_dtype_size(type));
        }
        ck_assert_msg(memcmp(first, x, (size_t)(ldx * count) * gsw_dtype_size(type)) == 0,
                      "%s: other bits with %d threads", t->text, threads);
    }
    gsw_context *context = contexts[count % MOST_THREADS];
    gsw_factor *factor = factors[count % MOST_THREADS];
    if (gsw_factor_sweeps(factor) == 0)
        solve(context, factor, t, count, swept, ldb, swept, ldb);
    for (int which = 0; which < gsw_factor_sweeps(factor); which++)
        ck_assert_int_eq(gsw_factor_sweep(context, factor, which, count, swept, ldb, swept, ldb),
                         GSW_SUCCESS);
    for (int64_t r = 0; r < count; r++)
        ck_assert_msg(memcmp((char *)first + (size_t)(r * ldx) * gsw_dtype_size(type),
                             (char *)swept + (size_t)(r * ldb) * gsw_dtype_size(type),
                             row_bytes) == 0,
                      "%s: other bits sweep by sweep in place", t->text);
    memcpy(swept, b, (size_t)(ldb * count) * gsw_dtype_size(type));
    solve(context, factor, t, count, swept, ldb, swept, ldb);
    for (int64_t r = 0; r < count; r++)
        ck_assert_msg(memcmp((char *)first + (size_t)(r * ldx) * gsw_dtype_size(type),
                             (char *)swept + (size_t)(r * ldb) * gsw_dtype_size(type),
                             row_bytes) == 0,
                      "%s: other bits in place", t->text);
    free(b);
    free(x);
    free(first);
    free(swept);
}

/* Storage is at most a tenth above one value per offset, and a diagonal, for every point. */
static void check_memory(const gsw_factor *factor, const trial *t) {
    gsw_factor_info info = {.size = sizeof info};
    ck_assert_int_eq(gsw_factor_get_info(factor, &info), GSW_SUCCESS);
    const double limit = 1.1 * (info.stencil.count + 1) *
                         (double)gsw_dtype_size(t->options.factor_type) * (double)t->n;
    ck_assert_msg((double)info.packed_bytes <= limit, "%s: %lld bytes, more than %.0f", t->text,
                  (long long)info.packed_bytes, limit);
    ck_assert_int_eq(info.kind, t->options.kind);
    ck_assert_int_eq(info.factor_type, t->options.factor_type);
    ck_assert_int_eq(info.vector_type, t->options.vector_type);
    ck_assert_int_eq(info.first_bad_row, -1);
    ck_assert_int_eq(info.shifted_pivots, 0);
    ck_assert(info.moved_bytes > 0);
}

/* Returns 1, or 0 where the options do not fit the stencil. */
static int check_trial(gsw_context *const *contexts, const gsw_grid *grid,
                       const gsw_stencil *stencil, int option, int type, int variant,
                       int64_t count) {
    gsw_factor_options options;
    gsw_factor *factors[MOST_THREADS];
    if (!options_at(option, type, stencil, &options))
        return 0;
    trial t = trial_make(grid, stencil, &options, variant);
    expected *m = trial_expect(&t);
    for (int i = 0; i < MOST_THREADS; i++)
        factors[i] = trial_factor(contexts[i], &t);
    check_memory(factors[0], &t);
    check_count(contexts, factors, &t, m, count);
    for (int i = 0; i < MOST_THREADS; i++)
        gsw_factor_destroy(factors[i]);
    expected_free(m);
    trial_free(&t);
    return 1;
}

START_TEST(solves_equal_the_reference) {
    static const int64_t counts[] = {1, 2, 3, MOST_COLUMNS};
    gsw_context *contexts[MOST_THREADS];
    const char *name;
    const gsw_stencil *stencil = oracle_stencil(_i, &name);
    int combinations = 0;
    open_contexts(contexts);
    for (int g = _i % ORACLE_STRIDE; g < oracle_grid_count(); g += ORACLE_STRIDE) {
        const gsw_grid grid = oracle_grid(g);
        for (int k = 0; k < OPTIONS; k++)
            combinations += check_trial(contexts, &grid, stencil, k, (g + k) % 3, g + k / 2,
                                        counts[(g + k / 4) % 4]);
    }
    close_contexts(contexts);
    printf("factor, %s: %d combinations equal the reference\n", name, combinations);
    ck_assert_int_ge(combinations, ORACLE_STRIDE > 1 ? 40 : 300);
}
END_TEST

/* In every third of these grids pencils have few planes. */
START_TEST(short_lines_equal_the_reference) {
    gsw_context *contexts[MOST_THREADS];
    open_contexts(contexts);
    for (int i = 0; i < ORACLE_SHORT_GRIDS; i++) {
        const gsw_grid grid = oracle_short_grid(i);
        for (int k = i % 16; k < OPTIONS; k += 16)
            check_trial(contexts, &grid, oracle_stencil(_i, NULL), k, (i + k / 4) % 3, i + k / 2,
                        1 + i % 2);
    }
    close_contexts(contexts);
}
END_TEST

START_TEST(sweeps_are_the_two_halves) {
    static const gsw_factor_kind kinds[] = {GSW_ILU0, GSW_DILU, GSW_FACTOR_LU, GSW_IC0};
    gsw_context *context = oracle_context(2);
    for (int k = 0; k < 3; k++) {
        for (int g = _i % ORACLE_STRIDE; g < oracle_grid_count(); g += ORACLE_STRIDE) {
            const gsw_factor_options options = {.size = sizeof options, .kind = kinds[k]};
            const gsw_grid grid = oracle_grid(g);
            trial t = trial_make(&grid, oracle_stencil(_i, NULL), &options, g);
            expected *m = trial_expect(&t);
            gsw_factor *factor = trial_factor(context, &t);
            ck_assert_int_eq(gsw_factor_sweeps(factor), 2);
            double *b = oracle_vector(GSW_F64, 3, t.n), *x = oracle_vector(GSW_F64, 4, t.n),
                   *y = oracle_vector(GSW_F64, 5, t.n);
            for (int which = 0; which < 2; which++) {
                ck_assert_int_eq(gsw_factor_sweep(context, factor, which, 1, b, 0, x, 0),
                                 GSW_SUCCESS);
                expected_sweep(m, which, b, y);
                const double error = oracle_error(GSW_F64, t.n, x, y);
                ck_assert_msg(error <= 1e-13, "%s: sweep %d: error %g", t.text, which, error);
            }
            free(b);
            free(x);
            free(y);
            gsw_factor_destroy(factor);
            expected_free(m);
            trial_free(&t);
        }
    }
    gsw_context_destroy(context);
}
END_TEST

/* ---- the factors themselves ---- */

/* Largest |got - wanted| over max(|wanted|, a hundredth of the row's largest entry). */
static double entries_error(const gsw_matrix *got, const gsw_matrix *wanted) {
    double error = 0;
    for (int64_t i = 0; i < oracle_points(&wanted->grid); i++) {
        double largest = 0, a, b;
        for (int32_t e = 0; e < wanted->stencil.count; e++) {
            gsw_reference_entry(wanted, i, e, &b);
            largest = fmax(largest, fabs(b));
        }
        for (int32_t e = 0; e < wanted->stencil.count; e++) {
            gsw_reference_entry(wanted, i, e, &b);
            gsw_reference_entry(got, i, e, &a);
            if (a != b)
                error = fmax(error, fabs(a - b) / fmax(fabs(b), 0.01 * largest));
        }
    }
    return error;
}

/* An extracted factor equals the oracle's and has the whole stencil's pattern. */
static void check_extracted(gsw_context *context, const trial *t, const oracle_matrix *wanted,
                            gsw_part part, gsw_csr *csr) {
    const oracle_layout layout = {.format = GSW_FORMAT_CSR, .part = part};
    const gsw_matrix *m = &wanted->view;
    gsw_matrix got;
    oracle_matrix *pattern = oracle_convert(wanted, &layout);
    ck_assert_int_eq(csr->nonzeros, pattern->view.csr.nonzeros);
    ck_assert_int_eq(csr->base, 0);
    ck_assert_int_eq(gsw_matrix_from_csr(context, &m->grid, &m->stencil, csr, &got), GSW_SUCCESS);
    const gsw_status status = gsw_matrix_validate(context, &got);
    ck_assert_msg(status == GSW_SUCCESS, "%s: %s", t->text, gsw_context_message(context));
    const double error = entries_error(&got, m);
    ck_assert_msg(error <= 1e-14, "%s: %s: error %g", t->text, part == GSW_LOWER ? "L" : "U",
                  error);
    oracle_free(pattern);
    gsw_csr_free(csr);
}

START_TEST(factors_equal_the_textbook) {
    static const gsw_factor_kind kinds[] = {GSW_ILU0,         GSW_IC0,          GSW_DILU,
                                            GSW_FACTOR_LOWER, GSW_FACTOR_UPPER, GSW_FACTOR_LU};
    gsw_context *context = oracle_context(2);
    const gsw_stencil *stencil = oracle_stencil(_i, NULL);
    for (int k = 0; k < 6; k++) {
        if (kinds[k] == GSW_IC0 && !is_symmetric(oracle_stencil(_i, NULL)))
            continue;
        for (int g = _i % ORACLE_STRIDE; g < oracle_grid_count(); g += ORACLE_STRIDE) {
            const gsw_factor_options options = {.size = sizeof options, .kind = kinds[k]};
            const gsw_grid grid = oracle_grid(g);
            gsw_csr l = {0}, u = {0};
            trial t = trial_make(&grid, stencil, &options, g);
            expected *m = trial_expect(&t);
            gsw_factor *factor = trial_factor(context, &t);
            const gsw_status status = gsw_factor_extract(context, factor, g % 2 ? GSW_I32 : GSW_I64,
                                                         kinds[k] == GSW_FACTOR_UPPER ? NULL : &l,
                                                         kinds[k] == GSW_FACTOR_LOWER ? NULL : &u);
            ck_assert_msg(status == GSW_SUCCESS, "%s: %s", t.text, gsw_context_message(context));
            if (kinds[k] == GSW_FACTOR_LU)
                oracle_fill(GSW_F64, m->lower->arrays[stencil->center], t.n, 1);
            if (kinds[k] != GSW_FACTOR_UPPER)
                check_extracted(context, &t, m->lower, GSW_LOWER, &l);
            if (kinds[k] != GSW_FACTOR_LOWER)
                check_extracted(context, &t, m->upper, GSW_UPPER, &u);
            gsw_factor_destroy(factor);
            expected_free(m);
            trial_free(&t);
        }
    }
    gsw_context_destroy(context);
}
END_TEST

START_TEST(ilu0_by_hand) {
    /*     4 1 0           1            4 1   0
     * A = 2 5 1 , so  L = 0.5 1    U =   4.5 1
     *     0 9 8           0   2 1            6      */
    static const int row_ptr[] = {0, 2, 5, 7}, columns[] = {0, 1, 0, 1, 2, 1, 2};
    static const double values[] = {4, 1, 2, 5, 1, 9, 8}, b[] = {6, 12.5, 31};
    static const double l_values[] = {1, 0.5, 1, 2, 1}, u_values[] = {4, 1, 4.5, 1, 6};
    const gsw_csr csr = {
        .rows = 3, .nonzeros = 7, .row_ptr = row_ptr, .columns = columns, .values = values};
    const gsw_grid grid = {3, 1, 1};
    gsw_context *context = oracle_context(1);
    gsw_stencil stencil;
    gsw_matrix matrix;
    gsw_factor *factor;
    gsw_csr l, u;
    double x[3];
    ck_assert_int_eq(gsw_stencil_named("D2N5", &stencil), GSW_SUCCESS);
    ck_assert_int_eq(gsw_matrix_from_csr(context, &grid, &stencil, &csr, &matrix), GSW_SUCCESS);
    ck_assert_int_eq(gsw_factor_create(context, &matrix, NULL, &factor), GSW_SUCCESS);
    ck_assert_int_eq(gsw_factor_extract(context, factor, GSW_I32, &l, &u), GSW_SUCCESS);
    for (int p = 0; p < 5; p++) {
        ck_assert_double_eq_tol(((const double *)l.values)[p], l_values[p], 1e-15);
        ck_assert_double_eq_tol(((const double *)u.values)[p], u_values[p], 1e-14);
    }
    /* A is tridiagonal, so ILU(0) is LU: L y = b gives y = 6, 9.5, 12; U x = y gives this. */
    ck_assert_int_eq(gsw_factor_solve(context, factor, 1, b, 0, x, 0), GSW_SUCCESS);
    ck_assert_double_eq_tol(x[2], 2, 1e-14);
    ck_assert_double_eq_tol(x[1], 7.5 / 4.5, 1e-14);
    ck_assert_double_eq_tol(x[0], (6 - 7.5 / 4.5) / 4, 1e-14);
    gsw_csr_free(&l);
    gsw_csr_free(&u);
    gsw_factor_destroy(factor);
    gsw_context_destroy(context);
}
END_TEST

/* ---- refactor ---- */

START_TEST(refactor_is_a_new_factor) {
    const gsw_grid grid = {19, 7, 5};
    gsw_context *context = oracle_context(2);
    for (int k = 0; k < OPTIONS * 3; k++) {
        gsw_factor_options options;
        if (!options_at(k / 3, k % 3, oracle_stencil(_i, NULL), &options))
            continue;
        trial old = trial_make(&grid, oracle_stencil(_i, NULL), &options, k + 1);
        trial new = trial_make(&grid, oracle_stencil(_i, NULL), &options, k + 2);
        gsw_factor *reused = trial_factor(context, &old), *fresh = trial_factor(context, &new);
        const gsw_dtype type = options.vector_type;
        void *b = oracle_vector(type, 3, new.n), *x = oracle_vector(type, 4, new.n),
             *y = oracle_vector(type, 5, new.n);
        solve(context, reused, &old, 1, b, 0, x, 0);
        const gsw_status status = gsw_factor_refactor(context, reused, &new.matrix->view,
                                                      new.upper != NULL ? &new.upper->view : NULL);
        ck_assert_msg(status == GSW_SUCCESS, "%s: %s", new.text, gsw_context_message(context));
        solve(context, reused, &new, 1, b, 0, x, 0);
        solve(context, fresh, &new, 1, b, 0, y, 0);
        ck_assert_msg(memcmp(x, y, (size_t) new.n *gsw_dtype_size(type)) == 0, "%s", new.text);
        free(b);
        free(x);
        free(y);
        gsw_factor_destroy(reused);
        gsw_factor_destroy(fresh);
        trial_free(&old);
        trial_free(&new);
    }
    gsw_context_destroy(context);
}
END_TEST

START_TEST(a_failed_refactor_leaves_nothing_usable) {
    const gsw_grid grid = {5, 4, 3}, other = {5, 4, 4};
    const gsw_factor_options options = {.size = sizeof options, .kind = GSW_ILU0};
    gsw_context *context = oracle_context(1);
    trial t = trial_make(&grid, oracle_stencil(2, NULL), &options, 0);
    trial wrong = trial_make(&other, oracle_stencil(2, NULL), &options, 0);
    gsw_factor *factor = trial_factor(context, &t);
    gsw_csr l, u;
    double b[60] = {1}, x[60];
    double *diagonal = t.matrix->arrays[t.matrix->view.stencil.center];
    const double kept = diagonal[0];

    diagonal[0] = 0;
    ck_assert_int_eq(gsw_factor_refactor(context, factor, &t.matrix->view, NULL),
                     GSW_ERROR_ZERO_PIVOT);
    ck_assert_int_ne(gsw_factor_solve(context, factor, 1, b, 0, x, 0), GSW_SUCCESS);
    ck_assert_int_ne(gsw_factor_sweep(context, factor, 0, 1, b, 0, x, 0), GSW_SUCCESS);
    ck_assert_int_ne(gsw_factor_extract(context, factor, GSW_I32, &l, &u), GSW_SUCCESS);
    ck_assert_int_ne(gsw_factor_extract(context, factor, GSW_I32, NULL, NULL), GSW_SUCCESS);
    ck_assert_int_eq(gsw_factor_refactor(context, factor, &wrong.matrix->view, NULL),
                     GSW_ERROR_INVALID_ARGUMENT);
    diagonal[0] = kept;
    ck_assert_int_eq(gsw_factor_refactor(context, factor, &t.matrix->view, NULL), GSW_SUCCESS);
    solve(context, factor, &t, 1, b, 0, x, 0);
    /* A refused argument leaves the factor's values as they were. */
    ck_assert_int_eq(gsw_factor_refactor(context, factor, &wrong.matrix->view, NULL),
                     GSW_ERROR_INVALID_ARGUMENT);
    ck_assert_int_eq(gsw_factor_refactor(context, factor, &t.matrix->view, &t.matrix->view),
                     GSW_ERROR_INVALID_ARGUMENT);
    solve(context, factor, &t, 1, b, 0, x, 0);
    gsw_factor_destroy(factor);
    trial_free(&wrong);
    trial_free(&t);
    gsw_context_destroy(context);
}
END_TEST

/* ---- bad pivots ---- */

/* Gives a row of stencil arrays no lower couplings and this diagonal, so that it is the pivot. */
static void plant(oracle_matrix *matrix, int64_t row, double pivot) {
    for (int32_t e = 0; e <= matrix->view.stencil.center; e++)
        ((double *)matrix->arrays[e])[row] = e < matrix->view.stencil.center ? 0 : pivot;
}

static void set_all_finite(oracle_matrix *matrix) {
    for (int32_t e = 0; e < matrix->view.stencil.count; e++)
        for (int64_t i = 0; i < oracle_points(&matrix->view.grid); i++)
            if (isnan(((double *)matrix->arrays[e])[i]))
                ((double *)matrix->arrays[e])[i] = 0;
}

START_TEST(bad_pivots_are_named) {
    static const double bad[] = {0, NAN, INFINITY, -1};
    static const gsw_grid grids[] = {{40, 9, 6}, {1, 13, 11}, {130, 1, 1}, {17, 23, 1}};
    for (int kind = GSW_ILU0; kind <= GSW_JACOBI; kind++) {
        if (kind == GSW_IC0 && !is_symmetric(oracle_stencil(_i, NULL)))
            continue;
        for (int k = 0; k < (kind == GSW_IC0 ? 4 : 3); k++) {
            for (int g = 0; g < 4; g++) {
                for (int threads = 1; threads <= MOST_THREADS; threads++) {
                    const gsw_factor_options options = {.size = sizeof options,
                                                        .kind = (gsw_factor_kind)kind};
                    const int64_t n = oracle_points(&grids[g]);
                    gsw_context *context = oracle_context(threads);
                    gsw_factor *factor = (gsw_factor *)&n;
                    oracle_matrix *matrix =
                        oracle_random(&grids[g], oracle_stencil(_i, NULL), 3, ORACLE_POSITIVE);
                    set_all_finite(matrix);
                    plant(matrix, n - 2, bad[k]);
                    plant(matrix, n / 3, bad[k]);
                    char word[40];
                    snprintf(word, sizeof word, "row %lld ", (long long)(n / 3));
                    const gsw_status status =
                        gsw_factor_create(context, &matrix->view, &options, &factor);
                    ck_assert_msg(status == GSW_ERROR_ZERO_PIVOT, "kind %d, pivot %g: status %d",
                                  kind, bad[k], (int)status);
                    ck_assert_ptr_null(factor);
                    ck_assert_msg(strstr(gsw_context_message(context), word) != NULL,
                                  "%s, not in: %s", word, gsw_context_message(context));
                    oracle_free(matrix);
                    gsw_context_destroy(context);
                }
            }
        }
    }
}
END_TEST

/* The row's largest |coefficient|; of a symmetric matrix only the lower part is looked at. */
static double row_largest(const gsw_matrix *matrix, int64_t row, int symmetric) {
    const gsw_stencil *stencil = &matrix->stencil;
    double largest = 0;
    for (int32_t e = 0; e < stencil->count; e++) {
        const gsw_offset o = stencil->offsets[e];
        const int64_t other = gsw_reference_neighbour(&matrix->grid, row, o, 1);
        double value = 0;
        if (!symmetric || e <= stencil->center)
            gsw_reference_entry(matrix, row, e, &value);
        else if (other >= 0)
            gsw_reference_entry(matrix, other,
                                gsw_stencil_find(stencil, (gsw_offset){-o.dx, -o.dy, -o.dz}),
                                &value);
        largest = fmax(largest, fabs(value));
    }
    return largest;
}

START_TEST(bad_pivots_are_shifted) {
    const gsw_grid grid = {13, 7, 5};
    const int64_t n = oracle_points(&grid), row = n / 2;
    const double shift = 0.25;
    for (int kind = GSW_ILU0; kind <= GSW_DILU; kind++) {
        const gsw_factor_options options = {
            .size = sizeof options, .kind = (gsw_factor_kind)kind, .pivot_shift = shift};
        gsw_context *context = oracle_context(2);
        gsw_factor *factor = NULL;
        gsw_factor_info info = {.size = sizeof info};
        gsw_csr l = {0}, u = {0};
        oracle_matrix *matrix = oracle_random(&grid, oracle_stencil(2, NULL), 3, ORACLE_POSITIVE);
        set_all_finite(matrix);
        plant(matrix, row, 0);
        const double largest = row_largest(&matrix->view, row, kind == GSW_IC0);
        const gsw_status status = gsw_factor_create(context, &matrix->view, &options, &factor);
        ck_assert_msg(status == GSW_SUCCESS, "kind %d: %s", kind, gsw_context_message(context));
        ck_assert_int_eq(gsw_factor_get_info(factor, &info), GSW_SUCCESS);
        ck_assert_int_eq(info.shifted_pivots, 1);
        ck_assert_int_eq(gsw_factor_extract(context, factor, GSW_I32, &l, &u), GSW_SUCCESS);
        const gsw_csr *holder = kind == GSW_ILU0 ? &u : &l;
        const int64_t p = kind == GSW_ILU0 ? gsw_index_at(u.row_ptr, GSW_I32, row)
                                           : gsw_index_at(l.row_ptr, GSW_I32, row + 1) - 1;
        const double pivot = fabs(((const double *)holder->values)[p]);
        ck_assert_double_eq_tol((kind == GSW_IC0 ? pivot * pivot : pivot) / (shift * largest), 1,
                                1e-14);
        double *x = oracle_vector(GSW_F64, 5, n);
        ck_assert_int_eq(gsw_factor_solve(context, factor, 1, x, 0, x, 0), GSW_SUCCESS);
        for (int64_t i = 0; i < n; i++)
            ck_assert(isfinite(x[i]));
        free(x);
        gsw_csr_free(&l);
        gsw_csr_free(&u);
        gsw_factor_destroy(factor);
        oracle_free(matrix);
        gsw_context_destroy(context);
    }
}
END_TEST

START_TEST(values_beyond_fp32_are_refused) {
    for (int threads = 1; threads <= MOST_THREADS; threads++) {
        gsw_context *context = oracle_context(threads);
        check_beyond_f32(context, oracle_stencil(_i, NULL), GSW_FORMAT_STENCIL);
        check_beyond_f32(context, oracle_stencil(_i, NULL), GSW_FORMAT_CSR);
        gsw_context_destroy(context);
    }
}
END_TEST

/* ---- values that are not numbers ---- */

START_TEST(nan_and_infinity_travel_along_couplings_only) {
    static const double bad[] = {NAN, INFINITY, -INFINITY};
    static const gsw_grid grids[] = {{1, 1, 1}, {70, 1, 1}, {9, 8, 1}, {1, 6, 7}, {40, 9, 6}};
    gsw_context *context = oracle_context(2);
    for (int g = 0; g < 5; g++) {
        for (int k = 0; k < OPTIONS; k++) {
            gsw_factor_options options;
            if (!options_at(k, 0, oracle_stencil(_i, NULL), &options))
                continue;
            trial t = trial_make(&grids[g], oracle_stencil(_i, NULL), &options, 0);
            expected *m = trial_expect(&t);
            gsw_factor *factor = trial_factor(context, &t);
            for (int where = 0; where < 4; where++) {
                double *b = oracle_vector(GSW_F64, 4, t.n), *x = oracle_vector(GSW_F64, 4, t.n),
                       *y = oracle_vector(GSW_F64, 4, t.n);
                b[t.n * where / 4] = bad[where % 3];
                b[t.n / 3] = bad[(where + k) % 3];
                solve(context, factor, &t, 1, b, 0, x, 0);
                expected_solve(m, b, y);
                const double error = oracle_error(GSW_F64, t.n, x, y);
                ck_assert_msg(error <= 1e-13, "%s: error %g", t.text, error);
                free(b);
                free(x);
                free(y);
            }
            gsw_factor_destroy(factor);
            expected_free(m);
            trial_free(&t);
        }
    }
    gsw_context_destroy(context);
}
END_TEST

START_TEST(a_zero_divides_when_the_solve_runs) {
    const gsw_grid grid = {13, 7, 5};
    gsw_context *context = oracle_context(2);
    for (int k = GSW_FACTOR_LOWER * 4; k < GSW_FACTOR_LU * 4; k++) {
        gsw_factor_options options;
        if (!options_at(k, 0, oracle_stencil(2, NULL), &options))
            continue;
        trial t = trial_make(&grid, oracle_stencil(2, NULL), &options, 0);
        ((double *)t.matrix->arrays[t.matrix->view.stencil.center])[t.n / 2] = 0;
        expected *m = trial_expect(&t);
        gsw_factor *factor = trial_factor(context, &t);
        double *x = oracle_vector(GSW_F64, 4, t.n), *y = oracle_vector(GSW_F64, 4, t.n);
        solve(context, factor, &t, 1, x, 0, x, 0);
        expected_solve(m, y, y);
        for (int64_t i = 0; i < t.n; i++)
            ck_assert_msg((isfinite(x[i]) != 0) == (isfinite(y[i]) != 0), "%s: row %d: %g, not %g",
                          t.text, (int)i, x[i], y[i]);
        free(x);
        free(y);
        gsw_factor_destroy(factor);
        expected_free(m);
        trial_free(&t);
    }
    gsw_context_destroy(context);
}
END_TEST

/* ---- what is refused ---- */

START_TEST(couplings_outside_the_stencil_are_refused) {
    if (_i == GSW_JACOBI)
        return; /* checks the diagonal only */
    const gsw_grid grid = {9, 8, 7};
    const oracle_layout layout = {.format = GSW_FORMAT_CSR, .part = GSW_FULL};
    const gsw_factor_options options = {.size = sizeof options, .kind = (gsw_factor_kind)_i};
    oracle_matrix *arrays = oracle_random(&grid, oracle_stencil(2, NULL), 2, ORACLE_POSITIVE);
    oracle_matrix *csr = oracle_convert(arrays, &layout);
    ((int *)csr->columns)[((int *)csr->row_ptr)[301]] -= 1;
    ((int *)csr->columns)[((int *)csr->row_ptr)[234]] -= 1;
    for (int threads = 1; threads <= MOST_THREADS; threads++) {
        gsw_context *context = oracle_context(threads);
        gsw_factor *factor = NULL;
        const gsw_status status = gsw_factor_create(context, &csr->view, &options, &factor);
        ck_assert_int_eq(status, GSW_ERROR_NOT_A_GRID);
        ck_assert_msg(strstr(gsw_context_message(context), "row 234 ") != NULL, "%s",
                      gsw_context_message(context));
        ck_assert_ptr_null(factor);
        gsw_context_destroy(context);
    }
    oracle_free(csr);
    oracle_free(arrays);
}
END_TEST

/* Of each kind, with every row pointer in turn far outside the arrays on either side. */
START_TEST(row_pointers_outside_the_arrays_are_refused) {
    const gsw_grid grid = {4, 3, 2};
    const oracle_layout layout = {.format = GSW_FORMAT_CSR, .part = GSW_FULL};
    const gsw_factor_options options = {.size = sizeof options, .kind = (gsw_factor_kind)_i};
    oracle_matrix *arrays = oracle_random(&grid, oracle_stencil(2, NULL), 2, ORACLE_POSITIVE);
    oracle_matrix *csr = oracle_convert(arrays, &layout);
    int *row_ptr = (int *)csr->row_ptr;
    gsw_context *context = oracle_context(2);
    for (int row = 0; row <= csr->view.csr.rows; row++)
        for (int side = 0; side < 2; side++) {
            const int right = row_ptr[row];
            gsw_factor *factor = NULL;
            row_ptr[row] = side == 0 ? INT32_MIN : INT32_MAX;
            const gsw_status status = gsw_factor_create(context, &csr->view, &options, &factor);
            /* The sweeps' packing names the row alone. */
            const int jacobi = options.kind == GSW_JACOBI;
            ck_assert_int_eq(status, jacobi ? GSW_ERROR_INVALID_ARGUMENT : GSW_ERROR_NOT_A_GRID);
            ck_assert_msg(
                strstr(gsw_context_message(context), jacobi ? "row_ptr goes from" : "row ") != NULL,
                "%s", gsw_context_message(context));
            ck_assert_ptr_null(factor);
            row_ptr[row] = right;
        }
    gsw_context_destroy(context);
    oracle_free(csr);
    oracle_free(arrays);
}
END_TEST

START_TEST(a_bad_pivot_is_named_by_row_and_point) {
    const gsw_grid grid = {5, 4, 3};
    const gsw_factor_options options = {.size = sizeof options, .kind = (gsw_factor_kind)_i};
    oracle_matrix *arrays = oracle_random(&grid, oracle_stencil(2, NULL), 2, ORACLE_POSITIVE);
    gsw_context *context = oracle_context(1);
    gsw_factor *factor = NULL;
    ((double *)arrays->arrays[arrays->view.stencil.center])[33] = NAN; /* 3 + 5 (2 + 4 1) */
    for (int base = -1; base <= 1; base++) {
        ck_assert_int_eq(gsw_context_set_row_base(context, base), GSW_SUCCESS);
        ck_assert_int_eq(gsw_factor_create(context, &arrays->view, &options, &factor),
                         GSW_ERROR_ZERO_PIVOT);
        ck_assert_msg(strstr(gsw_context_message(context),
                             base == 1 ? "row 34 (1-based), (x, y, z) = (3, 2, 1) is zero"
                                       : "row 33 (0-based), (x, y, z) = (3, 2, 1) is zero") != NULL,
                      "%s", gsw_context_message(context));
    }
    /* That of the matrix, if it is a CSR and the context has none. */
    const oracle_layout layout = {GSW_FORMAT_CSR, GSW_F64, GSW_I32, 1, GSW_FULL, 0};
    oracle_matrix *csr = oracle_convert(arrays, &layout);
    ck_assert_int_eq(gsw_context_set_row_base(context, -1), GSW_SUCCESS);
    ck_assert_int_eq(gsw_factor_create(context, &csr->view, &options, &factor),
                     GSW_ERROR_ZERO_PIVOT);
    ck_assert_msg(strstr(gsw_context_message(context), "row 34 (1-based), (x, y, z) = (3, 2, 1)") !=
                      NULL,
                  "%s", gsw_context_message(context));
    oracle_free(csr);
    gsw_context_destroy(context);
    oracle_free(arrays);
}
END_TEST

static void count_messages(void *user, gsw_status status, const char *message) {
    (void)message;
    *(int *)user += status == GSW_ERROR_ZERO_PIVOT || status == GSW_ERROR_NOT_A_GRID;
}

/* A chain of four points, as a CSR of base 1 whose third row is another one. Creates a factor; the
 * message is as expected, and the log gets it once. */
static void expect_row_message(int count, const int32_t *columns, const double *values,
                               gsw_factor_kind kind, const gsw_grid *grid, gsw_status ending,
                               const char *words) {
    int messages = 0;
    const gsw_context_options where = {
        .size = sizeof where, .threads = 1, .log = count_messages, .log_user = &messages};
    const gsw_factor_options options = {.size = sizeof options, .kind = kind};
    int32_t row_ptr[] = {1, 3, 6, 6 + count, 8 + count};
    int32_t all_columns[10] = {1, 2, 1, 2, 3};
    double all_values[10] = {2, -1, -1, 2, -1};
    memcpy(all_columns + 5, columns, (size_t)count * sizeof *columns);
    memcpy(all_values + 5, values, (size_t)count * sizeof *values);
    memcpy(all_columns + 5 + count, (const int32_t[]){3, 4}, 2 * sizeof(int32_t));
    memcpy(all_values + 5 + count, (const double[]){-1, 2}, 2 * sizeof(double));
    const gsw_csr csr = {.rows = 4,
                         .nonzeros = 7 + count,
                         .row_ptr = row_ptr,
                         .columns = all_columns,
                         .values = all_values,
                         .base = 1};
    gsw_context *context;
    gsw_factor *factor;
    gsw_matrix matrix;
    ck_assert_int_eq(gsw_context_create(&where, &context), GSW_SUCCESS);
    ck_assert_int_eq(
        gsw_matrix_from_csr(context, grid, oracle_stencil_named("D2N5"), &csr, &matrix),
        GSW_SUCCESS);
    ck_assert_int_eq(gsw_factor_create(context, &matrix, &options, &factor), ending);
    ck_assert_msg(strstr(gsw_context_message(context), words) != NULL, "'%s' does not say '%s'",
                  gsw_context_message(context), words);
    ck_assert_int_eq(messages, 1);
    gsw_context_destroy(context);
}

START_TEST(what_a_bad_row_stores_is_named) {
    static const gsw_grid chain = {4, 1, 1}, square = {2, 2, 1};
    static const int32_t all[] = {2, 3, 4}, outer[] = {2, 4};
    static const double zero[] = {-1, 0, -1}, negative[] = {-1, -4, -1}, small[] = {-1, 0.1, -1};
    expect_row_message(0, all, zero, GSW_ILU0, &chain, GSW_ERROR_ZERO_PIVOT,
                       "or not finite: the row is empty; each point needs a row");
    expect_row_message(0, all, zero, GSW_JACOBI, &chain, GSW_ERROR_ZERO_PIVOT,
                       "or not finite: the row is empty; each point needs a row");
    expect_row_message(
        2, outer, zero, GSW_SSOR, &chain, GSW_ERROR_ZERO_PIVOT,
        "row 3 (1-based), (x, y, z) = (2, 0, 0) is zero or not finite: the row has no "
        "entry on its diagonal");
    expect_row_message(3, all, zero, GSW_SSOR, &chain, GSW_ERROR_ZERO_PIVOT,
                       "or not finite: its diagonal is 0");
    expect_row_message(
        3, all, negative, GSW_IC0, &chain, GSW_ERROR_ZERO_PIVOT,
        "or not finite: ic0 needs a positive diagonal, and that of the row is -4; if "
        "all are negative, solve -A x = -b, otherwise take ilu0");
    expect_row_message(3, all, small, GSW_IC0, &chain, GSW_ERROR_ZERO_PIVOT,
                       "is zero, negative or not finite");
    /* On a square the second row has a coupling that is no neighbour's. */
    expect_row_message(
        3, all, small, GSW_ILU0, &square, GSW_ERROR_NOT_A_GRID,
        "row 2 (1-based), (x, y, z) = (1, 0, 0), column 3: offset (-1, 1, 0) is not in "
        "the stencil D2N5 of the 2 x 2 x 1 grid");
}
END_TEST

START_TEST(ic0_needs_a_symmetric_stencil) {
    const gsw_grid grid = {5, 4, 3};
    const gsw_factor_options options = {.size = sizeof options, .kind = GSW_IC0};
    const gsw_stencil *stencil = oracle_stencil(_i, NULL);
    gsw_context *context = oracle_context(1);
    gsw_factor *factor = NULL;
    oracle_matrix *matrix = oracle_random(&grid, stencil, 2, ORACLE_POSITIVE);
    ck_assert_int_eq(gsw_factor_create(context, &matrix->view, &options, &factor),
                     is_symmetric(stencil) ? GSW_SUCCESS : GSW_ERROR_UNSUPPORTED);
    gsw_factor_destroy(factor);
    oracle_free(matrix);
    gsw_context_destroy(context);
}
END_TEST

START_TEST(bad_options_are_refused) {
    const gsw_grid grid = {4, 3, 2};
    gsw_context *context = oracle_context(1);
    gsw_factor *factor = NULL;
    oracle_matrix *matrix = oracle_random(&grid, oracle_stencil(2, NULL), 2, ORACLE_POSITIVE);
    const gsw_matrix *m = &matrix->view;
    const struct {
        gsw_factor_options options;
        gsw_status status;
        const char *word;
    } bad[] = {
        {{.size = sizeof(gsw_factor_options), .kind = (gsw_factor_kind)77},
         GSW_ERROR_INVALID_ARGUMENT,
         "kind"},
        {{.size = sizeof(gsw_factor_options), .kind = GSW_FACTOR_LU},
         GSW_ERROR_INVALID_ARGUMENT,
         "LU"},
        {{.size = sizeof(gsw_factor_options), .factor_type = (gsw_dtype)7},
         GSW_ERROR_INVALID_ARGUMENT,
         "factor_type"},
        {{.size = sizeof(gsw_factor_options), .vector_type = (gsw_dtype)7},
         GSW_ERROR_INVALID_ARGUMENT,
         "vector_type"},
        {{.size = sizeof(gsw_factor_options), .vector_type = GSW_F32},
         GSW_ERROR_UNSUPPORTED,
         "fp32"},
        {{.size = sizeof(gsw_factor_options), .kind = GSW_SSOR, .omega = 2},
         GSW_ERROR_INVALID_ARGUMENT,
         "omega"},
        {{.size = sizeof(gsw_factor_options), .kind = GSW_SSOR, .omega = -0.5},
         GSW_ERROR_INVALID_ARGUMENT,
         "omega"},
        {{.size = sizeof(gsw_factor_options), .kind = GSW_SSOR, .omega = NAN},
         GSW_ERROR_INVALID_ARGUMENT,
         "omega"},
        {{.size = sizeof(gsw_factor_options), .pivot_shift = -1},
         GSW_ERROR_INVALID_ARGUMENT,
         "pivot_shift"},
        {{.size = sizeof(gsw_factor_options), .pivot_shift = NAN},
         GSW_ERROR_INVALID_ARGUMENT,
         "pivot_shift"},
    };
    for (size_t k = 0; k < sizeof bad / sizeof bad[0]; k++) {
        factor = (gsw_factor *)&grid;
        ck_assert_int_eq(gsw_factor_create(context, m, &bad[k].options, &factor), bad[k].status);
        ck_assert_msg(strstr(gsw_context_message(context), bad[k].word) != NULL, "%s",
                      gsw_context_message(context));
        ck_assert_ptr_null(factor);
    }
    ck_assert_int_eq(gsw_factor_create(NULL, m, NULL, &factor), GSW_ERROR_INVALID_ARGUMENT);
    ck_assert_int_eq(gsw_factor_create(context, NULL, NULL, &factor), GSW_ERROR_INVALID_ARGUMENT);
    ck_assert_int_eq(gsw_factor_create(context, m, NULL, NULL), GSW_ERROR_INVALID_ARGUMENT);
    ck_assert_int_eq(gsw_factor_create_lu(context, m, NULL, NULL, &factor),
                     GSW_ERROR_INVALID_ARGUMENT);
    ck_assert_int_eq(gsw_factor_create_lu(context, NULL, m, NULL, &factor),
                     GSW_ERROR_INVALID_ARGUMENT);
    gsw_factor_destroy(NULL);
    oracle_free(matrix);
    gsw_context_destroy(context);
}
END_TEST

START_TEST(bad_calls_are_refused) {
    const gsw_grid grid = {4, 3, 2};
    const gsw_factor_options kinds[] = {{.size = sizeof(gsw_factor_options), .kind = GSW_SSOR},
                                        {.size = sizeof(gsw_factor_options), .transpose = 1},
                                        {.size = sizeof(gsw_factor_options), .kind = GSW_JACOBI}};
    gsw_context *context = oracle_context(1);
    oracle_matrix *matrix = oracle_random(&grid, oracle_stencil(2, NULL), 2, ORACLE_POSITIVE);
    const gsw_matrix *m = &matrix->view;
    gsw_factor *factor = NULL;
    gsw_factor_info info = {.size = sizeof info};
    gsw_csr l = {0}, u = {0};
    double b[96] = {1}, x[96];
    ck_assert_int_eq(gsw_factor_create(context, m, NULL, &factor), GSW_SUCCESS);
#define REFUSED(call) ck_assert_int_eq((call), GSW_ERROR_INVALID_ARGUMENT)
    REFUSED(gsw_factor_solve(NULL, factor, 1, b, 0, x, 0));
    REFUSED(gsw_factor_solve(context, NULL, 1, b, 0, x, 0));
    REFUSED(gsw_factor_solve(context, factor, -1, b, 0, x, 0));
    REFUSED(gsw_factor_solve(context, factor, 1, NULL, 0, x, 0));
    REFUSED(gsw_factor_solve(context, factor, 1, b, 0, NULL, 0));
    REFUSED(gsw_factor_solve(context, factor, 2, b, 23, x, 24));
    REFUSED(gsw_factor_solve(context, factor, 2, b, 24, x, 23));
    REFUSED(gsw_factor_solve(context, factor, 2, x, 24, x, 25));
    REFUSED(gsw_factor_sweep(context, factor, 2, 1, b, 0, x, 0));
    REFUSED(gsw_factor_sweep(context, factor, -1, 1, b, 0, x, 0));
    REFUSED(gsw_factor_refactor(context, factor, NULL, NULL));
    REFUSED(gsw_factor_get_info(NULL, &info));
    REFUSED(gsw_factor_get_info(factor, NULL));
#undef REFUSED
    gsw_factor_destroy(factor);
    for (int k = 0; k < 3; k++) {
        ck_assert_int_eq(gsw_factor_create(context, m, &kinds[k], &factor), GSW_SUCCESS);
        ck_assert_int_eq(gsw_factor_extract(context, factor, GSW_I32, &l, &u),
                         GSW_ERROR_UNSUPPORTED);
        ck_assert_int_eq(gsw_factor_sweeps(factor), k == 2 ? 0 : 2);
        gsw_factor_destroy(factor);
    }
    oracle_free(matrix);
    gsw_context_destroy(context);
}
END_TEST

START_TEST(kinds_have_names) {
    static const char *const names[] = {"ilu0",   "ic0",   "dilu",  "ssor",
                                        "jacobi", "lower", "upper", "lu"};
    for (int kind = GSW_ILU0; kind <= GSW_FACTOR_LU; kind++)
        ck_assert_str_eq(gsw_factor_kind_name((gsw_factor_kind)kind), names[kind]);
    ck_assert_ptr_nonnull(gsw_factor_kind_name((gsw_factor_kind)99));
}
END_TEST

static TCase *add_case(Suite *suite, const char *name) {
    TCase *tc = tcase_create(name);
    tcase_set_timeout(tc, 120);
    suite_add_tcase(suite, tc);
    return tc;
}

int main(void) {
    const int stencils = oracle_stencil_count();
    Suite *suite = suite_create("factor");
    TCase *tc = add_case(suite, "solves");
    tcase_add_loop_test(tc, solves_equal_the_reference, 0, stencils);
    tcase_add_loop_test(tc, short_lines_equal_the_reference, 0, stencils);
    tcase_add_loop_test(tc, sweeps_are_the_two_halves, 0, stencils);
    tc = add_case(suite, "factors");
    tcase_add_test(tc, ilu0_by_hand);
    tcase_add_loop_test(tc, factors_equal_the_textbook, 0, stencils);
    tc = add_case(suite, "refactor");
    tcase_add_loop_test(tc, refactor_is_a_new_factor, 0, stencils);
    tcase_add_test(tc, a_failed_refactor_leaves_nothing_usable);
    tc = add_case(suite, "pivots");
    tcase_add_loop_test(tc, bad_pivots_are_named, 0, stencils);
    tcase_add_test(tc, bad_pivots_are_shifted);
    tcase_add_loop_test(tc, values_beyond_fp32_are_refused, 0, stencils);
    tc = add_case(suite, "values");
    tcase_add_loop_test(tc, nan_and_infinity_travel_along_couplings_only, 0, stencils);
    tcase_add_test(tc, a_zero_divides_when_the_solve_runs);
    tc = add_case(suite, "arguments");
    tcase_add_loop_test(tc, couplings_outside_the_stencil_are_refused, GSW_ILU0,
                        GSW_FACTOR_UPPER + 1);
    tcase_add_loop_test(tc, row_pointers_outside_the_arrays_are_refused, GSW_ILU0,
                        GSW_FACTOR_UPPER + 1);
    tcase_add_loop_test(tc, a_bad_pivot_is_named_by_row_and_point, GSW_ILU0, GSW_JACOBI + 1);
    tcase_add_test(tc, what_a_bad_row_stores_is_named);
    tcase_add_loop_test(tc, ic0_needs_a_symmetric_stencil, 0, stencils);
    tcase_add_test(tc, bad_options_are_refused);
    tcase_add_test(tc, bad_calls_are_refused);
    tcase_add_test(tc, kinds_have_names);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    const int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
