/* test_threefold.c: sums of three words, as processes add them. */
#include <math.h>
#include <stdlib.h>

#include <check.h>
#include "common/threefold.h"
#include "oracle.h"
#include "suite.h"

enum { TERMS = 10007, HALF = TERMS / 2 };

/* Products that cancel, up to the last one, in an order that a step through all of them gives. */
static void fill_terms(double *x, double *y) {
    double *a = oracle_vector(GSW_F64, 3, HALF), *b = oracle_vector(GSW_F64, 4, HALF);
    for (int i = 0; i < HALF; i++) {
        const int there = (int)((int64_t)i * 4001 % TERMS);
        const int back = (int)((int64_t)(i + HALF) * 4001 % TERMS);
        x[there] = x[back] = a[i];
        y[there] = b[i];
        y[back] = -b[i];
    }
    const int last = (int)((int64_t)(TERMS - 1) * 4001 % TERMS);
    x[last] = ldexp(1, -40);
    y[last] = ldexp(3, -41);
    free(a);
    free(b);
}

static gsw_threefold sum_between(const double *x, const double *y, int from, int to) {
    gsw_threefold sum = {0, 0, 0};
    for (int i = from; i < to; i++) {
        const double product = x[i] * y[i];
        const gsw_threefold term = {product, fma(x[i], y[i], -product), 0};
        gsw_threefold_add(&sum, &term);
    }
    return sum;
}

TEST(pieces_have_the_sum_of_the_whole) {
    static double x[TERMS], y[TERMS];
    fill_terms(x, y);
    for (int cut = 0; cut <= TERMS; cut += 71) {
        gsw_threefold sum = sum_between(x, y, 0, cut);
        const gsw_threefold after = sum_between(x, y, cut, TERMS);
        gsw_threefold_add(&sum, &after);
        ck_assert_double_eq(gsw_threefold_round(&sum), ldexp(3, -81));
    }
}

TEST(infinite_sums_stay_infinite) {
    const gsw_threefold infinite = {INFINITY, NAN, NAN}, none = {NAN, 0, 0};
    ck_assert(gsw_threefold_round(&infinite) == INFINITY);
    ck_assert(isnan(gsw_threefold_round(&none)));
    gsw_threefold sum = {1, 0, 0};
    gsw_threefold_add(&sum, &infinite);
    ck_assert(gsw_threefold_round(&sum) == INFINITY);
}

int main(void) {
    Suite *suite = suite_create("threefold");
    TCase *tc = suite_case(suite, "threefold", 4, NULL, NULL);
    TESTS(tc, pieces_have_the_sum_of_the_whole, infinite_sums_stay_infinite);
    return suite_run(suite, CK_FORK_GETENV);
}
