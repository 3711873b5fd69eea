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

/* ---- Domains ---- */

/* The share of active points lies between two bounds. `pinned` is a hash of all values and of the
 * mask: they must be these on every machine. */
static const struct {
    const char *text, *stencil;
    int32_t periodic;
    double low, high;
    uint64_t pinned;
} domains[] = {
    {"ocean:96x64", "D2N5", 0, 0.649, 0.651, UINT64_C(0x1a6c602696730b59)},
    {"ocean:0.5:64x48", "D2N5", 0, 0.499, 0.501, UINT64_C(0x992c4bd7b1be3df0)},
    {"ocean:0:9x8", "D2N5", 0, 1, 1, UINT64_C(0xea8590d27743e87d)},
    {"ocean:0.3:32x24x12", "D3N7", 0, 0.5, 0.65, UINT64_C(0x27c1f31bd032de44)},
    {"reservoir:40x36x32", "D3N7", 0, 0.6, 0.8, UINT64_C(0x55a8eeb8db91e5f2)},
    {"reservoir:24x20", "D2N5", 0, 0.3, 0.9, UINT64_C(0xc1a8f709f5d629d3)},
    {"channel:24x16", "D2N5", GSW_PERIODIC_X, 1, 1, UINT64_C(0xd4273d89ec0e0b35)},
    {"channel:12x10x16", "D3N7", GSW_PERIODIC_X | GSW_PERIODIC_Y, 1, 1,
     UINT64_C(0x87abcdb721355b85)},
    {"obstacles:48x32", "D2N5", 0, 0.75, 0.95, UINT64_C(0xde1cf669bb2d68c1)},
    {"obstacles:24x20x10", "D3N7", 0, 0.75, 0.95, UINT64_C(0xc1cf47cc9f4c5bc5)},
    {"obstacles:12x1", "D2N5", 0, 1, 1, UINT64_C(0x064073b2a08d7161)},
    {"globe:32x24", "D2N5", GSW_PERIODIC_X, 1, 1, UINT64_C(0x47c0d4f80678fe65)},
    {"globe:16x12x5", "D3N7", GSW_PERIODIC_X, 1, 1, UINT64_C(0x9984cbf0adddfec5)},
};
#define DOMAINS ((int)(sizeof domains / sizeof domains[0]))

static int is_active(const gsw_matrix *m, int64_t row) {
    return m->active == NULL || m->active[row] != 0;
}

/* The same around periodic axes. */
static int64_t neighbour_around(const gsw_matrix *m, int64_t row, int32_t e) {
    const gsw_offset o = m->stencil.offsets[e];
    const int64_t n[3] = {m->grid.nx, m->grid.ny, m->grid.nz};
    int64_t at[3] = {row % n[0] + o.dx, row / n[0] % n[1] + o.dy, row / n[0] / n[1] + o.dz};
    for (int a = 0; a < 3; a++) {
        if (m->grid.periodic >> a & 1)
            at[a] = (at[a] + n[a]) % n[a];
        if (at[a] < 0 || at[a] >= n[a])
            return -1;
    }
    return gsw_grid_row(&m->grid, at[0], at[1], at[2]);
}

/* Couplings between active points alone, negative and symmetric; rows of the others are those of
 * the identity. */
TEST(domains_have_masks_and_axes) {
    const gsw_matrix *m = gsw_problem_matrix(make(domains[_i].text));
    int64_t active = 0;
    ck_assert_str_eq(gsw_stencil_name(&m->stencil), domains[_i].stencil);
    ck_assert_int_eq(m->grid.periodic, domains[_i].periodic);
    must(NULL, gsw_matrix_validate(keep_context(1), m));
    for (int64_t row = 0; row < points(m); row++) {
        double sum = value(m, row, m->stencil.center);
        active += is_active(m, row);
        ck_assert(is_active(m, row) ? sum > 0.0 : sum == 1.0);
        for (int32_t e = 0; e < m->stencil.count; e++) {
            const int64_t other = neighbour_around(m, row, e);
            if (e == m->stencil.center)
                continue;
            if (other < 0 || !is_active(m, row) || !is_active(m, other)) {
                ck_assert(value(m, row, e) == 0.0);
                continue;
            }
            ck_assert_double_lt(value(m, row, e), 0.0);
            ck_assert(value(m, row, e) == value(m, other, m->stencil.count - 1 - e));
            sum += value(m, row, e);
        }
        ck_assert_double_ge(sum, -1e-12 * value(m, row, m->stencil.center));
    }
    const double share = (double)active / (double)points(m);
    ck_assert_msg(share >= domains[_i].low && share <= domains[_i].high, "%s: %g", domains[_i].text,
                  share);
}

/* With its mask; without it the same at active points. */
TEST(domains_are_solved) {
    gsw_context *context = keep_context(1);
    gsw_matrix m = *gsw_problem_matrix(make(domains[_i].text));
    const int64_t rows = points(&m);
    double *b = keep_bytes((size_t)rows * sizeof *b);
    double *x[2];
    gsw_random_vector(5, rows, b);
    for (int whole = 0; whole < 2; whole++) {
        gsw_solver_report report = {.size = sizeof report};
        const gsw_krylov_options krylov = {.size = sizeof krylov, .rtol = 1e-9};
        const gsw_solver_options options = {.size = sizeof options, .krylov = &krylov};
        const uint8_t *active = m.active;
        x[whole] = keep_bytes((size_t)rows * sizeof **x);
        m.active = whole ? NULL : active;
        must(context, gsw_solve(context, &m, &options, b, x[whole], &report));
        m.active = active;
    }
    double size = 0.0;
    for (int64_t row = 0; row < rows; row++)
        size = fmax(size, fabs(x[0][row]));
    for (int64_t row = 0; row < rows; row++) {
        if (is_active(&m, row))
            ck_assert_double_eq_tol(x[1][row], x[0][row], 1e-5 * size);
        else
            ck_assert(x[0][row] == 0.0 && fabs(x[1][row] - b[row]) < 1e-5 * size);
    }
}

/* FNV-1a. */
static uint64_t hash(uint64_t from, const void *bytes, size_t size) {
    for (size_t i = 0; i < size; i++)
        from = (from ^ ((const unsigned char *)bytes)[i]) * UINT64_C(0x100000001b3);
    return from;
}

TEST(domains_are_pinned) {
    const gsw_matrix *m = gsw_problem_matrix(make(domains[_i].text));
    const size_t count = (size_t)points(m);
    uint64_t found = UINT64_C(0xcbf29ce484222325);
    for (int32_t e = 0; e < m->stencil.count; e++)
        found = hash(found, m->array.values[e], count * sizeof(double));
    if (m->active != NULL)
        found = hash(found, m->active, count);
    ck_assert_msg(found == domains[_i].pinned, "%s: 0x%016llx", domains[_i].text,
                  (unsigned long long)found);
}

TEST(lengths_of_stretched_axes) {
    const gsw_matrix *m = gsw_problem_matrix(make("channel:8x4x10"));
    const int32_t center = m->stencil.center, up = m->stencil.count - 1;
    /* Along x a coupling is the height of the plane: at a wall 0.1 + 0.9 * 0.1 * 2.8 of the mean.
     */
    ck_assert_double_eq_tol(value(m, 0, center + 1), -(0.1 + 0.9 * 0.1 * 2.8), 1e-14);
    ck_assert_double_gt(value(m, 4 * 32, up) / value(m, 0, up), 0.0);
    ck_assert_double_lt(value(m, 4 * 32, up) / value(m, 0, up), 0.5);
    /* On a globe x couples more strongly at the poles than at the equator. */
    m = gsw_problem_matrix(make("globe:12x10"));
    ck_assert_double_gt(value(m, 0, center) / value(m, 12 * 5, center), 1.0);
    ck_assert_double_eq_tol(value(m, 0, 3), value(m, 12 * 9, 3), 1e-12);
}

TEST(values_do_not_depend_on_threads) {
    static const char *const texts[] = {"random:42:23x11x13", "lognormal:23x11x13", "ocean:37x23x5",
                                        "reservoir:23x11x13", "channel:23x11x13"};
    for (size_t t = 0; t < sizeof texts / sizeof *texts; t++) {
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
            ck_assert_int_eq(a->active == NULL, b->active == NULL);
            if (a->active != NULL)
                ck_assert_int_eq(memcmp(a->active, b->active, (size_t)points(a)), 0);
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
        "ocean:1:8x8",
        "ocean:1.0:8x8",
        "ocean:0.:8x8",
        "ocean::8x8",
        "ocean:-0.5:8x8",
        "ocean:0.5x:8x8",
        "ocean:0,5:8x8",
        "ocean:0.99999999999999999999999999:8x8",
        "reservoir:0.3:8x8x8",
        "channel:2x8",
        "channel:8x2x8",
        "globe:2x8",
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
    gsw_problem_parse(context, "ocean:35:8x8", NULL, &problem);
    must_say(context, "share of land");
    gsw_problem_parse(context, "globe:2x8", NULL, &problem);
    must_say(context, "periodic along x with 2 points");
    must_reject(gsw_problem_parse_constant(context, "channel:8x8", &problem));
    gsw_problem_create(context, "poisson", &(gsw_grid){3, -1, 2}, NULL, &problem);
    must_say(context, "-1");
}

int main(void) {
    Suite *suite = suite_create("problem");
    TCase *tc = suite_case(suite, "problem", 120, NULL, keep_release_all);
    TESTS(tc, inner_row_sums, known_coefficients, lognormal_has_contrast_and_one_well,
          values_do_not_depend_on_threads, random_takes_any_stencil, seeds_make_different_matrices,
          lengths_of_stretched_axes, random_vector_is_uniform_and_pinned,
          malformed_specifications_are_refused, messages_name_what_is_wrong);
    LOOPS(tc, CASES, pattern_and_symmetry, diagonals_dominate);
    LOOPS(tc, DOMAINS, domains_have_masks_and_axes, domains_are_solved, domains_are_pinned);
    return suite_run(suite, CK_FORK_GETENV);
}
