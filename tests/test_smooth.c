/* test_smooth.c: smoothers against the textbook's loops, and their refusals. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <check.h>
#include <gridsweep/gridsweep.h>
#include "context_fixture.h"

/* A problem as CSR with 64-bit indices, a right-hand side, and a first guess that is not zero. */
typedef struct model {
    const gsw_matrix *matrix;
    gsw_csr csr;
    int64_t n;
    double *b, *x, *expected, *work;
} model;

static model model_open(const char *text) {
    model s = {.matrix = keep_problem(text)};
    s.n = oracle_points(&s.matrix->grid);
    must(context, gsw_matrix_to_csr(context, s.matrix, GSW_FULL, GSW_I64, &s.csr));
    keep_csr(s.csr);
    s.b = keep_random(5, s.n);
    s.x = keep_zeros(s.n);
    s.expected = keep_zeros(s.n);
    s.work = keep_zeros(s.n);
    return s;
}

/* x_i from the present values of its neighbours. */
static double relaxed(const model *s, const double *from, int64_t i) {
    const int64_t *row_ptr = s->csr.row_ptr, *columns = s->csr.columns;
    const double *values = s->csr.values;
    double sum = s->b[i], diagonal = 0;
    for (int64_t k = row_ptr[i]; k < row_ptr[i + 1]; k++) {
        if (columns[k] == i)
            diagonal = values[k];
        else
            sum -= values[k] * from[columns[k]];
    }
    return sum / diagonal;
}

static void sweep_up(const model *s, double *x) {
    for (int64_t i = 0; i < s->n; i++)
        x[i] = relaxed(s, x, i);
}

static void sweep_down(const model *s, double *x) {
    for (int64_t i = s->n - 1; i >= 0; i--)
        x[i] = relaxed(s, x, i);
}

static void textbook(const model *s, gsw_factor_kind kind, double *x) {
    if (kind == GSW_JACOBI) {
        const double *old = keep_copy(x, s->n);
        for (int64_t i = 0; i < s->n; i++)
            x[i] = relaxed(s, old, i);
        return;
    }
    if (kind == GSW_SSOR || kind == GSW_FACTOR_LOWER)
        sweep_up(s, x);
    if (kind == GSW_SSOR || kind == GSW_FACTOR_UPPER)
        sweep_down(s, x);
}

static void compare(const model *s, const char *what) {
    double largest = 0, error = 0;
    for (int64_t i = 0; i < s->n; i++) {
        largest = fmax(largest, fabs(s->expected[i]));
        error = fmax(error, fabs(s->x[i] - s->expected[i]));
    }
    ck_assert_msg(error <= 1e-13 * largest, "%s: off by %g of %g", what, error, largest);
}

static const char *const problems[] = {"hpcg:9x8x7", "random:3:17x5x6", "convection:12x11x10",
                                       "poisson:40x1x1", "helmholtz19:7x9x8"};

/* From a random guess and from zero, in 0 to 3 sweeps. */
TEST(smoothers_do_what_the_textbook_does) {
    static const gsw_factor_kind kinds[] = {GSW_SSOR, GSW_FACTOR_LOWER, GSW_FACTOR_UPPER,
                                            GSW_JACOBI};
    model s = model_open(problems[_i]);
    for (int k = 0; k < LENGTH(kinds); k++) {
        const gsw_factor_options options = {.size = sizeof options, .kind = kinds[k]};
        gsw_factor *factor = keep_factor(context, s.matrix, options);
        for (int32_t sweeps = 0; sweeps <= 3; sweeps++) {
            for (int zero_guess = 0; zero_guess < 2; zero_guess++) {
                char what[100];
                snprintf(what, sizeof what, "%s, kind %s, %d sweeps%s", problems[_i],
                         gsw_factor_kind_name(kinds[k]), (int)sweeps,
                         zero_guess ? " from zero" : "");
                gsw_random_vector(7, s.n, s.x);
                for (int64_t i = 0; i < s.n; i++) {
                    s.expected[i] = zero_guess ? 0 : s.x[i];
                    s.x[i] = zero_guess ? NAN : s.x[i];
                    s.work[i] = NAN;
                }
                for (int32_t sweep = 0; sweep < sweeps; sweep++)
                    textbook(&s, kinds[k], s.expected);
                ck_assert_msg(gsw_smooth(context, s.matrix, factor, sweeps, zero_guess, s.b, s.x,
                                         s.work) == GSW_SUCCESS,
                              "%s: %s", what, gsw_context_message(context));
                compare(&s, what);
            }
        }
    }
}

/* With any factorisation the residual shrinks, and a solution stays one. */
TEST(smoothers_converge) {
    static const gsw_factor_kind kinds[] = {GSW_ILU0, GSW_IC0, GSW_DILU, GSW_SSOR};
    model s = model_open("poisson:9x8x7");
    for (int k = 0; k < LENGTH(kinds); k++) {
        const gsw_factor_options options = {
            .size = sizeof options, .kind = kinds[k], .factor_type = k % 2 ? GSW_F32 : 0};
        gsw_factor *factor = keep_factor(context, s.matrix, options);
        double norm = 0;
        must(context, gsw_smooth(context, s.matrix, factor, 200, 1, s.b, s.x, s.work));
        must(context, gsw_residual(context, s.matrix, GSW_F64, s.b, s.x, s.work));
        for (int64_t i = 0; i < s.n; i++)
            norm = fmax(norm, fabs(s.work[i]));
        ck_assert_msg(norm < 1e-12, "%s: residual %g", gsw_factor_kind_name(kinds[k]), norm);
    }
}

TEST(bad_arguments_are_refused) {
    model s = model_open("poisson:5x4x3"), other = model_open("poisson:6x4x3");
    const gsw_factor_options symmetric = {.size = sizeof symmetric, .kind = GSW_SSOR},
                             single = {.size = sizeof single,
                                       .kind = GSW_SSOR,
                                       .factor_type = GSW_F32,
                                       .vector_type = GSW_F32},
                             transposed = {
                                 .size = sizeof transposed, .kind = GSW_SSOR, .transpose = 1};
    gsw_factor *factor = keep_factor(context, s.matrix, symmetric),
               *fp32 = keep_factor(context, s.matrix, single),
               *turned = keep_factor(context, s.matrix, transposed);
    const gsw_status invalid = GSW_ERROR_INVALID_ARGUMENT;
    double *b = s.b, *x = s.x, *work = s.work;
    memset(x, 0, (size_t)s.n * sizeof *x);
    ck_assert_int_eq(gsw_smooth(NULL, s.matrix, factor, 1, 0, b, x, work), invalid);
    expect_refusal(gsw_smooth(context, NULL, factor, 1, 0, b, x, work), invalid, "matrix");
    expect_refusal(gsw_smooth(context, s.matrix, NULL, 1, 0, b, x, work), invalid, "factor");
    expect_refusal(gsw_smooth(context, other.matrix, factor, 1, 0, b, x, work), invalid, "points");
    expect_refusal(gsw_smooth(context, s.matrix, turned, 1, 0, b, x, work), invalid, "transpose");
    expect_refusal(gsw_smooth(context, s.matrix, fp32, 1, 0, b, x, work), GSW_ERROR_UNSUPPORTED,
                   "fp32");
    expect_refusal(gsw_smooth(context, s.matrix, factor, -1, 0, b, x, work), invalid, "sweeps");
    expect_refusal(gsw_smooth(context, s.matrix, factor, 1, 0, NULL, x, work), invalid,
                   "b is NULL");
    expect_refusal(gsw_smooth(context, s.matrix, factor, 1, 0, b, NULL, work), invalid,
                   "x is NULL");
    expect_refusal(gsw_smooth(context, s.matrix, factor, 1, 0, b, x, NULL), invalid, "work");
    expect_refusal(gsw_smooth(context, s.matrix, factor, 1, 0, x, x, work), invalid, "b and x");
    expect_refusal(gsw_smooth(context, s.matrix, factor, 1, 0, b, x, b + 1), invalid, "b and work");
    expect_refusal(gsw_smooth(context, s.matrix, factor, 1, 0, b, x, x), invalid, "x and work");
    for (int64_t i = 0; i < s.n; i++)
        ck_assert(x[i] == 0); /* x did not change */
}

int main(void) {
    Suite *suite = suite_create("smooth");
    TCase *tc = context_case(suite, "smooth", 4);
    TESTS(tc, smoothers_converge, bad_arguments_are_refused);
    LOOPS(tc, LENGTH(problems), smoothers_do_what_the_textbook_does);
    return backend_run_suite(suite);
}
