/* test_problem.c: the properties of the model problems: patterns, symmetry, row sums, dominance,
 * and the same values for every run and number of threads. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <check.h>
#include <gridsweep/gridsweep.h>

#include "keep.h"
#include "suite.h"

static const struct {
    const char *text, *stencil;
    int symmetric, dominant;
} cases[] = {
    {"poisson:9x7x5", "D3N7", 1, 1},
    {"poisson:9x7", "D2N5", 1, 1},
    {"poisson:1x1x1", "D2N5", 1, 1},
    {"poisson:1x6x5", "D3N7", 1, 1},
    {"anisotropic:6x5x4", "D3N7", 1, 1},
    {"anisotropic:6x5", "D2N5", 1, 1},
    {"convection:8x3x4", "D3N7", 0, 1},
    {"convection:8x3", "D2N5", 0, 1},
    {"lognormal:20x22x9", "D3N7", 1, 1},
    {"lognormal:33x21", "D2N5", 1, 1},
    {"lognormal:1x1x1", "D2N5", 1, 1},
    {"hpcg:5x4x6", "D3N27", 1, 1},
    {"hpcg:5x4", "D2N9", 1, 1},
    {"helmholtz19:7x5x3", "D3N19", 1, 1},
    {"star13:7x5x6", "D3N13", 1, 0},
    {"box33:4x5x6", "D3N33", 1, 1},
    {"box33:2x1x3", "D3N33", 1, 1},
    {"random:1:7x6x5", "D3N7", 0, 1},
    {"random:18446744073709551615:7x6", "D2N5", 0, 1},
};
#define CASES ((int)(sizeof cases / sizeof cases[0]))

static gsw_problem *make(const char *text) {
    gsw_problem *problem = NULL;
    ck_assert_msg(gsw_problem_parse(NULL, text, NULL, &problem) == GSW_SUCCESS, "%s", text);
    return keep(KEPT_PROBLEM, NULL, problem);
}

/* Row of the neighbour at offset e, or -1 outside the grid. */
static int64_t neighbour(const gsw_matrix *m, int64_t row, int32_t e) {
    gsw_offset o = m->stencil.offsets[e];
    int64_t x = row % m->grid.nx + o.dx;
    int64_t y = row / m->grid.nx % m->grid.ny + o.dy;
    int64_t z = row / (m->grid.nx * m->grid.ny) + o.dz;
    int inside = x >= 0 && x < m->grid.nx && y >= 0 && y < m->grid.ny && z >= 0 && z < m->grid.nz;
    return inside ? gsw_grid_row(&m->grid, x, y, z) : -1;
}

static double value(const gsw_matrix *m, int64_t row, int32_t e) {
    return ((const double *)m->array.values[e])[row];
}

static int64_t points(const gsw_matrix *m) {
    return m->grid.nx * m->grid.ny * m->grid.nz;
}

TEST(pattern_and_symmetry) {
    gsw_problem *problem = make(cases[_i].text);
    const gsw_matrix *m = gsw_problem_matrix(problem);
    ck_assert_str_eq(gsw_stencil_name(&m->stencil), cases[_i].stencil);
    ck_assert_int_eq(m->format, GSW_FORMAT_STENCIL);
    ck_assert_int_eq(m->array.value_type, GSW_F64);
    ck_assert_int_eq(gsw_problem_symmetric(problem), cases[_i].symmetric);
    int asymmetric = 0;
    for (int64_t row = 0; row < points(m); row++)
        for (int32_t e = 0; e < m->stencil.count; e++) {
            int64_t other = neighbour(m, row, e);
            if (other < 0)
                ck_assert(value(m, row, e) == 0.0);
            else if (e != m->stencil.center)
                ck_assert(value(m, row, e) != 0.0);
            asymmetric +=
                other >= 0 && value(m, row, e) != value(m, other, m->stencil.count - 1 - e);
        }
    ck_assert(cases[_i].symmetric ? asymmetric == 0 : asymmetric > 0);
}

TEST(diagonals_dominate) {
    gsw_problem *problem = make(cases[_i].text);
    const gsw_matrix *m = gsw_problem_matrix(problem);
    int strict = 0;
    for (int64_t row = 0; row < points(m); row++) {
        double diagonal = value(m, row, m->stencil.center), off = 0.0;
        for (int32_t e = 0; e < m->stencil.count; e++)
            if (e != m->stencil.center)
                off += fabs(value(m, row, e));
        ck_assert(diagonal > 0.0);
        if (cases[_i].dominant)
            ck_assert(diagonal >= off * (1.0 - 1e-14));
        strict += diagonal > off * (1.0 + 1e-14);
    }
    ck_assert_int_gt(strict, 0);
}

/* Sum of the coefficients of a row in the middle, where all neighbours exist. */
static double inner_row_sum(const char *text) {
    gsw_problem *problem = make(text);
    const gsw_matrix *m = gsw_problem_matrix(problem);
    int64_t row = gsw_grid_row(&m->grid, m->grid.nx / 2, m->grid.ny / 2, m->grid.nz / 2);
    double sum = 0.0;
    for (int32_t e = 0; e < m->stencil.count; e++)
        sum += value(m, row, e);
    return sum;
}

TEST(inner_row_sums) {
    ck_assert_double_eq_tol(inner_row_sum("poisson:5x5x5"), 0.0, 1e-14);
    ck_assert_double_eq_tol(inner_row_sum("poisson:5x5"), 0.0, 1e-14);
    ck_assert_double_eq_tol(inner_row_sum("anisotropic:5x5x5"), 0.0, 1e-14);
    ck_assert_double_eq_tol(inner_row_sum("convection:5x5x5"), 0.0, 1e-13);
    ck_assert_double_eq_tol(inner_row_sum("hpcg:5x5x5"), 0.0, 1e-14);
    ck_assert_double_eq_tol(inner_row_sum("star13:5x5x5"), 0.0, 1e-14);
    ck_assert_double_eq_tol(inner_row_sum("box33:5x5x5"), 0.0, 1e-14);
    ck_assert_double_eq_tol(inner_row_sum("helmholtz19:5x5x5"), 0.1, 1e-14);
}

static double entry(const char *text, gsw_offset offset) {
    gsw_problem *problem = make(text);
    const gsw_matrix *m = gsw_problem_matrix(problem);
    int32_t e = gsw_stencil_find(&m->stencil, offset);
    ck_assert_int_ge(e, 0);
    double found =
        value(m, gsw_grid_row(&m->grid, m->grid.nx / 2, m->grid.ny / 2, m->grid.nz / 2), e);
    return found;
}

TEST(known_coefficients) {
    ck_assert_double_eq(entry("poisson:5x5x5", (gsw_offset){0, 0, 0}), 6.0);
    ck_assert_double_eq(entry("poisson:5x5", (gsw_offset){0, 0, 0}), 4.0);
    ck_assert_double_eq(entry("hpcg:5x5x5", (gsw_offset){0, 0, 0}), 26.0);
    ck_assert_double_eq(entry("hpcg:5x5", (gsw_offset){0, 0, 0}), 8.0);
    ck_assert_double_eq(entry("box33:5x5x5", (gsw_offset){0, 2, 0}), -1.0);
    ck_assert_double_eq(entry("anisotropic:5x5x5", (gsw_offset){0, 1, 0}), -0.1);
    ck_assert_double_eq(entry("anisotropic:5x5x5", (gsw_offset){0, 0, -1}), -0.001);
    ck_assert_double_eq(entry("convection:5x5x5", (gsw_offset){-1, 0, 0}), -11.0);
    ck_assert_double_eq(entry("convection:5x5x5", (gsw_offset){0, -1, 0}), -8.0);
    ck_assert_double_eq(entry("convection:5x5x5", (gsw_offset){0, 0, 1}), -1.0);
    ck_assert_double_eq_tol(entry("star13:5x5x5", (gsw_offset){0, 0, 0}), 7.5, 1e-14);
    ck_assert_double_eq_tol(entry("star13:5x5x5", (gsw_offset){0, 0, 2}), 1.0 / 12.0, 1e-16);
}

/* The flux coefficients bound the permeabilities: each is at most twice the smaller of its two. */
TEST(lognormal_has_contrast_and_one_well) {
    gsw_problem *problem = make("lognormal:40x44x17");
    const gsw_matrix *m = gsw_problem_matrix(problem);
    double low = INFINITY, high = 0.0;
    int wells = 0;
    for (int64_t row = 0; row < points(m); row++) {
        double off = 0.0;
        for (int32_t e = 0; e < m->stencil.count; e++) {
            double a = fabs(value(m, row, e));
            if (e == m->stencil.center || a == 0.0)
                continue;
            off += a;
            low = fmin(low, a);
            high = fmax(high, a);
        }
        wells += value(m, row, m->stencil.center) > off * (1.0 + 1e-12);
    }
    ck_assert_int_eq(wells, 1);
    ck_assert_double_ge(low, 1e-3);
    ck_assert_double_le(high, 2e3);
    ck_assert_double_gt(high / low, 1e4);
}

TEST(values_do_not_depend_on_threads) {
    static const char *const texts[] = {"random:42:23x11x13", "lognormal:23x11x13"};
    for (size_t t = 0; t < 2; t++) {
        gsw_problem *first = NULL;
        for (int threads = 1; threads <= 7; threads += 2) {
            gsw_context *context = oracle_context(threads);
            gsw_problem *problem = NULL;
            must(context, gsw_problem_parse(context, texts[t], NULL, &problem));
            keep(KEPT_PROBLEM, NULL, problem);
            gsw_context_destroy(context);
            if (first == NULL)
                first = problem;
            const gsw_matrix *a = gsw_problem_matrix(first), *b = gsw_problem_matrix(problem);
            for (int32_t e = 0; e < a->stencil.count; e++)
                ck_assert_int_eq(memcmp(a->array.values[e], b->array.values[e],
                                        (size_t)points(a) * sizeof(double)),
                                 0);
        }
    }
}

TEST(random_takes_any_stencil) {
    gsw_stencil stencil;
    static const gsw_offset offsets[] = {{0, 0, 0}, {3, -1, 0}, {-2, 0, 1}, {0, 0, 40}};
    ck_assert_int_eq(gsw_stencil_from_offsets(offsets, 4, &stencil), GSW_SUCCESS);
    gsw_problem *problem = NULL;
    ck_assert_int_eq(gsw_problem_parse(NULL, "random:5:6x5x4", &stencil, &problem), GSW_SUCCESS);
    const gsw_matrix *m = gsw_problem_matrix(problem);
    ck_assert_int_eq(m->stencil.count, 4);
    for (int64_t row = 0; row < points(m); row++) {
        double off = 0.0;
        for (int32_t e = 0; e < 4; e++)
            if (e != m->stencil.center) {
                ck_assert(neighbour(m, row, e) >= 0 || value(m, row, e) == 0.0);
                ck_assert_double_le(fabs(value(m, row, e)), 1.0);
                off += fabs(value(m, row, e));
            }
        ck_assert_double_eq_tol(value(m, row, m->stencil.center), 1.0 + off, 1e-15);
    }
    gsw_problem_destroy(problem);

    must_reject(gsw_problem_parse(NULL, "poisson:6x5x4", &stencil, &problem));
    stencil.count = GSW_STENCIL_MAX + 1;
    must_reject(gsw_problem_parse(NULL, "random:5:6x5x4", &stencil, &problem));
}

TEST(seeds_make_different_matrices) {
    gsw_problem *a = make("random:1:6x5x4"), *b = make("random:2:6x5x4");
    int differ = 0;
    for (int64_t row = 0; row < 120; row++)
        differ += value(gsw_problem_matrix(a), row, 3) != value(gsw_problem_matrix(b), row, 3);
    ck_assert_int_gt(differ, 110);
}

/* The first values are pinned: they must be these on every machine. */
TEST(random_vector_is_uniform_and_pinned) {
    enum { COUNT = 20000 };
    static double v[COUNT], w[COUNT];
    gsw_random_vector(7, COUNT, v);
    gsw_random_vector(7, COUNT, w);
    ck_assert_int_eq(memcmp(v, w, sizeof v), 0);
    double sum = 0.0, squares = 0.0;
    for (int i = 0; i < COUNT; i++) {
        ck_assert(v[i] >= -1.0 && v[i] <= 1.0);
        sum += v[i];
        squares += v[i] * v[i];
    }
    ck_assert_double_eq_tol(sum / COUNT, 0.0, 0.02);
    ck_assert_double_eq_tol(squares / COUNT, 1.0 / 3.0, 0.01);
    ck_assert_double_eq(v[0], 0x1.c01479161bc58p-3);
    ck_assert_double_eq(v[1], -0x1.53fc8498a9644p-1);
    gsw_random_vector(8, COUNT, w);
    ck_assert(v[0] != w[0]);
    gsw_random_vector(7, 0, NULL);
}

TEST(malformed_specifications_are_refused) {
    static const char *const bad[] = {
        "",
        "poisson",
        "poisson:",
        "poisson:8",
        "laplace:8x8x8",
        "8x8x8",
        "poisson:8x8x8x8",
        "poisson:0x8x8",
        "poisson:-8x8",
        "poisson:3:8x8x8",
        ":8x8x8",
        "random:8x8x8",
        "random:x:8x8x8",
        "random::8x8",
        "random:-1:8x8x8",
        "Poisson:8x8",
        "random:1:2:8x8",
        "poissons:8x8",
        "pois:8x8",
        "poisson:8x8x8 ",
        "random:18446744073709551616:8x8",
        "a-name-that-is-much-longer-than-any-name-of-a-problem-could-ever-be:8x8x8"};
    for (size_t k = 0; k < sizeof bad / sizeof bad[0]; k++) {
        gsw_problem *problem = NULL;
        ck_assert_msg(gsw_problem_parse(NULL, bad[k], NULL, &problem) == GSW_ERROR_INVALID_ARGUMENT,
                      "'%s' was not refused", bad[k]);
        ck_assert_ptr_null(problem);
    }
    gsw_problem *problem = NULL;
    must_reject(gsw_problem_parse(NULL, NULL, NULL, &problem));
    must_reject(gsw_problem_parse(NULL, "poisson:8x8", NULL, NULL));
    ck_assert_int_eq(gsw_problem_parse(NULL, "poisson:4294967296x4294967296", NULL, &problem),
                     GSW_ERROR_OVERFLOW);
    ck_assert_int_eq(gsw_problem_parse(NULL, "hpcg:1048576x1048576x1048576", NULL, &problem),
                     GSW_ERROR_OVERFLOW);
    gsw_problem_destroy(NULL);
    ck_assert_ptr_null(gsw_problem_matrix(NULL));
}

TEST(messages_name_what_is_wrong) {
    gsw_context *context = keep_context(1);
    gsw_problem *problem = NULL;
    gsw_problem_parse(context, "laplace:8x8x8", NULL, &problem);
    must_say(context, "laplace");
    must_say(context, "lognormal");
    gsw_problem_parse(context, "random:x1:8x8", NULL, &problem);
    must_say(context, "seed");
    gsw_problem_create(context, "poisson", &(gsw_grid){3, -1, 2}, NULL, &problem);
    must_say(context, "-1");
}

int main(void) {
    Suite *suite = suite_create("problem");
    TCase *tc = suite_case(suite, "problem", 120, NULL, keep_release_all);
    TESTS(tc, inner_row_sums, known_coefficients, lognormal_has_contrast_and_one_well,
          values_do_not_depend_on_threads, random_takes_any_stencil, seeds_make_different_matrices,
          random_vector_is_uniform_and_pinned, malformed_specifications_are_refused,
          messages_name_what_is_wrong);
    LOOPS(tc, CASES, pattern_and_symmetry, diagonals_dominate);
    return suite_run(suite, CK_FORK_GETENV);
}
