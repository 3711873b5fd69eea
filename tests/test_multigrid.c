/* test_multigrid.c: levels against the serial reference and against dense products, cycles as
 * operators, and refused arguments. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <check.h>
#include <gridsweep/gridsweep.h>

/* before the fixture: their functions have a context each */
#include "multigrid_cases.h"
#include "multigrid_dense.h"
#include "multigrid_loops.h"

#include "context_fixture.h"
#include "cpu/multigrid/multigrid.h"
#include "multigrid/multigrid_internal.h"
#include "oracle.h"

#define LENGTH(array) ((int)(sizeof(array) / sizeof((array)[0])))

static double *doubles(int64_t n) {
    double *v = calloc((size_t)n + 1, sizeof *v);
    ck_assert_ptr_nonnull(v);
    return v;
}

static gsw_problem *problem_of(const char *name) {
    gsw_problem *problem;
    ck_assert_int_eq(gsw_problem_parse(context, name, NULL, &problem), GSW_SUCCESS);
    return problem;
}

static gsw_multigrid *make(gsw_context *with, const gsw_matrix *matrix,
                           gsw_multigrid_options options) {
    gsw_multigrid *mg = NULL;
    options.size = sizeof options;
    ck_assert_msg(gsw_multigrid_create(with, matrix, &options, &mg) == GSW_SUCCESS, "%s",
                  gsw_context_message(with));
    return mg;
}

/* ---- Levels ---- */

/* Weights as the reference keeps them, from an extracted P (rows of the fine grid) or, where
 * `transposed`, R. */
static double *weights_of(const gsw_csr *csr, const gsw_grid *fine, const gsw_grid *coarse,
                          int axes, int transposed) {
    double *w = doubles(8 * oracle_points(fine));
    const int64_t *row_ptr = csr->row_ptr, *columns = csr->columns;
    const double *values = csr->values;
    ck_assert_int_eq(csr->rows, oracle_points(transposed ? coarse : fine));
    for (int64_t row = 0; row < csr->rows; row++)
        for (int64_t k = row_ptr[row]; k < row_ptr[row + 1]; k++) {
            const int64_t f = transposed ? columns[k] : row, c = transposed ? row : columns[k];
            const int64_t at[3] = {f % fine->nx, f / fine->nx % fine->ny, f / fine->nx / fine->ny};
            const int64_t to[3] = {c % coarse->nx, c / coarse->nx % coarse->ny,
                                   c / coarse->nx / coarse->ny};
            int subset = 0;
            ck_assert(k == row_ptr[row] || columns[k] > columns[k - 1]);
            for (int axis = 0; axis < 3; axis++) {
                const int64_t base = axes >> axis & 1 ? at[axis] / 2 : at[axis];
                ck_assert(to[axis] == base || to[axis] == base + 1);
                subset |= (int)(to[axis] - base) << axis;
            }
            w[8 * f + subset] = values[k];
        }
    return w;
}

/* Everything between a level and the next one. `fine` is the level's matrix. */
static void check_level(const gsw_multigrid *mg, int number, const gsw_matrix *fine) {
    const gsw_level *level = mg->level[number], *coarse = mg->level[number + 1];
    const gsw_grid *fg = &fine->grid, *cg = &coarse->matrix.grid;
    const int64_t n = level->points, m = coarse->points;
    const int axes = level->transfer->axes;
    const gsw_reference_rows rows = mg->symmetric ? GSW_ROWS_SYMMETRIC : GSW_ROWS_PLAIN;
    char what[200];
    snprintf(what, sizeof what, "level %d, %s on %lldx%lldx%lld, axes %d, %ssymmetric", number,
             gsw_stencil_name(&fine->stencil), (long long)fg->nx, (long long)fg->ny,
             (long long)fg->nz, axes, mg->symmetric ? "" : "not ");
    gsw_csr p, r;
    ck_assert_int_eq(gsw_multigrid_extract(context, mg, number, GSW_MULTIGRID_PROLONGATION, &p),
                     GSW_SUCCESS);
    ck_assert_int_eq(gsw_multigrid_extract(context, mg, number, GSW_MULTIGRID_RESTRICTION, &r),
                     GSW_SUCCESS);
    double *pw = weights_of(&p, fg, cg, axes, 0), *rw = weights_of(&r, fg, cg, axes, 1);
    double *p_expected = doubles(8 * n), *r_expected = doubles(8 * n);
    int64_t degenerate = gsw_reference_interpolation(fine, axes, rows, p_expected);
    dense_compare(what, 8 * n, pw, p_expected);
    degenerate += mg->symmetric ? 0
                                : gsw_reference_interpolation(fine, axes, GSW_ROWS_SYMMETRIC_PART,
                                                              r_expected);
    dense_compare(what, 8 * n, rw, mg->symmetric ? p_expected : r_expected);
    ck_assert_msg(level->degenerate == degenerate, "%s: %lld degenerate points, not %lld", what,
                  (long long)level->degenerate, (long long)degenerate);

    double *triple = doubles(m * m), *own = dense_of(&coarse->matrix);
    gsw_reference_triple(fine, axes, rows, pw, rw, triple);
    dense_compare(what, m * m, own, triple);
    int lumped = 0;
    for (int32_t e = 0; e < fine->stencil.count; e++) {
        const gsw_offset o = fine->stencil.offsets[e];
        lumped |= abs(o.dx) > 1 || abs(o.dy) > 1 || abs(o.dz) > 1;
    }
    if (!lumped && n <= 1500) {
        double *a = dense_of(fine), *dense = dense_triple(&p, &r, a, n, m);
        dense_compare(what, m * m, own, dense);
        free(dense);
        free(a);
    }
    free(own);
    free(triple);
    free(r_expected);
    free(p_expected);
    free(rw);
    free(pw);
    gsw_csr_free(&r);
    gsw_csr_free(&p);
}

/* Copies each coupling above the diagonal to its mirror image. */
static void symmetrise(oracle_matrix *matrix) {
    const gsw_grid *g = &matrix->view.grid;
    const gsw_stencil *s = &matrix->view.stencil;
    for (int32_t e = s->center + 1; e < s->count; e++)
        for (int64_t row = 0; row < oracle_points(g); row++) {
            const gsw_offset o = s->offsets[e];
            const int64_t x = row % g->nx + o.dx, y = row / g->nx % g->ny + o.dy,
                          z = row / g->nx / g->ny + o.dz;
            if (x >= 0 && x < g->nx && y >= 0 && y < g->ny && z >= 0 && z < g->nz)
                ((double *)matrix->arrays[s->count - 1 - e])[gsw_grid_row(g, x, y, z)] =
                    ((double *)matrix->arrays[e])[row];
        }
}

static int mirrored(const gsw_stencil *s) {
    for (int32_t e = 0; e < s->count; e++) {
        const gsw_offset o = s->offsets[e], m = s->offsets[s->count - 1 - e];
        if (o.dx != -m.dx || o.dy != -m.dy || o.dz != -m.dz)
            return 0;
    }
    return 1;
}

/* Whether any coupling can stay inside the grid. */
static int couples(const gsw_grid *g, const gsw_stencil *s) {
    int any = 0;
    for (int32_t e = 0; e < s->count; e++)
        any |= e != s->center && abs(s->offsets[e].dx) < g->nx && abs(s->offsets[e].dy) < g->ny &&
               abs(s->offsets[e].dz) < g->nz;
    return any;
}

static int reaches_two(const gsw_stencil *s) {
    int far = 0;
    for (int32_t e = 0; e < s->count; e++)
        far |= abs(s->offsets[e].dx) > 2 || abs(s->offsets[e].dy) > 2 || abs(s->offsets[e].dz) > 2;
    return !far;
}

/* Every level of a hierarchy of this matrix, whose levels are squeezed. */
static void check_all_levels(const gsw_multigrid *mg, const gsw_matrix *matrix) {
    gsw_squeezed finest;
    gsw_squeeze(matrix, &finest);
    for (int number = 0; number + 1 < mg->levels; number++)
        check_level(mg, number, number == 0 ? &finest.matrix : &mg->level[number]->matrix);
}

static void check_levels(const gsw_matrix *matrix, double theta, int expect_symmetric) {
    gsw_multigrid *mg =
        make(context, matrix, (gsw_multigrid_options){.coarsest_points = 1, .theta = theta});
    ck_assert_int_eq(mg->symmetric, expect_symmetric);
    check_all_levels(mg, matrix);
    gsw_multigrid_destroy(mg);
}

/* One stencil, on every grid. */
START_TEST(levels_of_random_matrices) {
    const char *name;
    const gsw_stencil *stencil = oracle_stencil(_i, &name);
    if (!reaches_two(stencil))
        return; /* refused, see below */
    for (int i = _i % ORACLE_STRIDE; i < oracle_grid_count(); i += ORACLE_STRIDE) {
        const gsw_grid grid = oracle_grid(i);
        if (oracle_points(&grid) > 3000 && i % 2 != _i % 2)
            continue;
        oracle_matrix *m = oracle_random(&grid, stencil, (uint64_t)(i + 1), ORACLE_POSITIVE);
        if (mirrored(stencil)) {
            check_levels(&m->view, 1e-6, !couples(&grid, stencil));
            symmetrise(m);
            check_levels(&m->view, 0, 1);
        } else {
            gsw_multigrid *mg =
                make(context, &m->view, (gsw_multigrid_options){.coarsest_points = 1});
            check_all_levels(mg, &m->view);
            gsw_multigrid_destroy(mg);
        }
        oracle_free(m);
    }
}
END_TEST

static const struct {
    const char *name;
    int symmetric;
} problems[] = {
    {"poisson:17x12x9", 1},   {"poisson:1x31x19", 1},      {"poisson:23x2x5", 1},
    {"poisson:33x17", 1},     {"anisotropic:16x13x11", 1}, {"lognormal:13x14x15", 1},
    {"lognormal:31x20", 1},   {"hpcg:9x10x11", 1},         {"helmholtz19:11x9x8", 1},
    {"star13:11x12x9", 1},    {"box33:9x8x11", 1},         {"convection:13x11x9", 0},
    {"convection:1x40x3", 0},
};

START_TEST(levels_of_problems) {
    gsw_problem *problem = problem_of(problems[_i].name);
    check_levels(gsw_problem_matrix(problem), 0, problems[_i].symmetric);
    gsw_problem_destroy(problem);
}
END_TEST

START_TEST(coarse_matrices_are_products) {
    gsw_problem *problem = problem_of(dense_problems[_i]);
    const gsw_matrix *m = gsw_problem_matrix(problem);
    dense_check_levels(context, m, m, dense_problems[_i]);
    gsw_problem_destroy(problem);
}
END_TEST

/* An edge point without couplings along its edge, whose row sums to zero, has no weights. It gets
 * the mean instead and is counted. A point without couplings interpolates nothing. */
START_TEST(special_rows) {
    gsw_problem *problem = problem_of("poisson:9x8x7");
    const gsw_matrix *m = gsw_problem_matrix(problem);
    const gsw_grid *g = &m->grid;
    double *const *values = (double *const *)(uintptr_t)m->array.values;
    const int64_t edge = gsw_grid_row(g, 3, 4, 4), alone = gsw_grid_row(g, 5, 2, 2);
    for (int32_t e = 0; e < m->stencil.count; e++) {
        const gsw_offset o = m->stencil.offsets[e];
        const int32_t back = m->stencil.count - 1 - e;
        const int64_t step = gsw_grid_row(g, o.dx, o.dy, o.dz);
        if (o.dx != 0)
            values[e][edge] = values[back][edge + step] = 0;
        if (e != m->stencil.center)
            values[e][alone] = values[back][alone + step] = 0;
    }
    values[m->stencil.center][edge] = 4;
    check_levels(m, 0, 1);
    gsw_multigrid *mg = make(context, m, (gsw_multigrid_options){.coarsest_points = 1});
    gsw_multigrid_level level = {.size = sizeof level};
    ck_assert_int_eq(gsw_multigrid_get_level(mg, 0, &level), GSW_SUCCESS);
    ck_assert_int_eq(level.degenerate_points, 1);
    gsw_csr p;
    ck_assert_int_eq(gsw_multigrid_extract(context, mg, 0, GSW_MULTIGRID_PROLONGATION, &p),
                     GSW_SUCCESS);
    const int64_t *row_ptr = p.row_ptr;
    const double *weights = p.values;
    ck_assert_int_eq(row_ptr[edge + 1] - row_ptr[edge], 2);
    ck_assert(weights[row_ptr[edge]] == 0.5 && weights[row_ptr[edge] + 1] == 0.5);
    ck_assert_int_eq(row_ptr[alone + 1] - row_ptr[alone], 0);
    gsw_csr_free(&p);
    gsw_multigrid_destroy(mg);
    gsw_problem_destroy(problem);
}
END_TEST

/* Rows x_i = b_i inside a grid, whose columns stay. Where stencils have no corners, restriction to
 * them takes their own residual only, whatever the size of their diagonals. */
START_TEST(conditions_inside) {
    static const hard_case cases[] = {
        {"poisson", "poisson:17x13x9", .change = hard_rows_ball},
        {"hpcg", "hpcg:11x12x9", .change = hard_rows_bars},
        {"star13", "star13:12x11x10", .change = hard_rows_tenth},
        {"convection", "convection:23x17", .change = hard_rows_bars},
    };
    for (int i = 0; i < LENGTH(cases); i++) {
        oracle_matrix *m = hard_make(context, &cases[i]);
        const gsw_grid *g = &m->view.grid;
        check_levels(&m->view, 0, 0);
        gsw_multigrid *mg = make(context, &m->view, (gsw_multigrid_options){.coarsest_points = 1});
        gsw_csr r;
        ck_assert_int_eq(mg->level[0]->transfer->axes, g->nz > 1 ? 7 : 3);
        ck_assert_int_eq(gsw_multigrid_extract(context, mg, 0, GSW_MULTIGRID_RESTRICTION, &r),
                         GSW_SUCCESS);
        const int64_t *row_ptr = r.row_ptr, *columns = r.columns;
        const gsw_grid *coarse = &mg->level[1]->matrix.grid;
        int64_t conditions = 0;
        for (int64_t row = 0; row < r.rows; row++) {
            int64_t at[3], couplings = 0;
            hard_place(coarse, row, at);
            const int64_t fine = gsw_grid_row(g, 2 * at[0], 2 * at[1], 2 * at[2]);
            for (int32_t e = 0; e < m->view.stencil.count; e++)
                couplings += e != m->view.stencil.center &&
                             hard_neighbour(g, fine, m->view.stencil.offsets[e]) >= 0 &&
                             ((double *)m->arrays[e])[fine] != 0;
            if (couplings > 0)
                continue;
            conditions++;
            if (m->view.stencil.count != 5 && m->view.stencil.count != 7)
                continue; /* collapsed couplings reach the point, too */
            ck_assert_int_eq(row_ptr[row + 1] - row_ptr[row], 1);
            ck_assert_int_eq(columns[row_ptr[row]], fine);
        }
        ck_assert_int_gt(conditions, 0);
        gsw_csr_free(&r);
        gsw_multigrid_destroy(mg);
        oracle_free(m);
    }
}
END_TEST

/* The diagonal of a matrix becomes minus the sum of its couplings. */
static void make_neumann(const gsw_matrix *m) {
    const gsw_grid *g = &m->grid;
    double *const *values = (double *const *)(uintptr_t)m->array.values;
    for (int64_t row = 0; row < oracle_points(g); row++) {
        double sum = 0;
        for (int32_t e = 0; e < m->stencil.count; e++) {
            const gsw_offset o = m->stencil.offsets[e];
            const int64_t x = row % g->nx + o.dx, y = row / g->nx % g->ny + o.dy,
                          z = row / g->nx / g->ny + o.dz;
            if (e != m->stencil.center && x >= 0 && x < g->nx && y >= 0 && y < g->ny && z >= 0 &&
                z < g->nz)
                sum += values[e][row];
        }
        values[m->stencil.center][row] = -sum;
    }
}

/* x += M (b - A x) until the residual has fallen by 1e-8; returns the steps. */
static int stationary_steps(const gsw_matrix *m, gsw_multigrid *mg, const double *b, int limit) {
    const int64_t n = oracle_points(&m->grid);
    double *x = doubles(n), *r = doubles(n), *z = doubles(n);
    double start = 0, now = 0;
    int steps = 0;
    for (;; steps++) {
        ck_assert_int_eq(gsw_residual(context, m, GSW_F64, b, x, r), GSW_SUCCESS);
        now = 0;
        for (int64_t i = 0; i < n; i++)
            now += r[i] * r[i];
        if (steps == 0)
            start = now;
        if (!(now > 1e-16 * start) || steps == limit)
            break;
        ck_assert_int_eq(gsw_multigrid_apply(context, mg, r, z), GSW_SUCCESS);
        for (int64_t i = 0; i < n; i++)
            x[i] += z[i];
    }
    free(z);
    free(r);
    free(x);
    return now <= 1e-16 * start ? steps : limit + 1;
}

/* Pure Neumann boundaries: the coarsest level handles the constants. */
START_TEST(constants_in_the_null_space) {
    static const char *const names[] = {"poisson:32x32x32", "poisson:25x18", "lognormal:31x20x17",
                                        "poisson:5x3x2"};
    gsw_problem *problem = problem_of(names[_i]);
    const gsw_matrix *m = gsw_problem_matrix(problem);
    const int64_t n = oracle_points(&m->grid);
    double *b = doubles(n), mean = 0;
    make_neumann(m);
    gsw_random_vector(3, n, b);
    for (int64_t i = 0; i < n; i++)
        mean += b[i] / (double)n;
    for (int64_t i = 0; i < n; i++)
        b[i] -= mean;
    gsw_multigrid *mg = make(context, m, (gsw_multigrid_options){0});
    gsw_multigrid_info info = {.size = sizeof info};
    gsw_csr p;
    ck_assert_int_eq(gsw_multigrid_get_info(mg, &info), GSW_SUCCESS);
    ck_assert_int_eq(info.singular, 1);
    if (info.levels > 1) {
        ck_assert_int_eq(gsw_multigrid_extract(context, mg, 0, GSW_MULTIGRID_PROLONGATION, &p),
                         GSW_SUCCESS);
        for (int64_t row = 0; row < n; row++) {
            double sum = 0;
            for (int64_t k = ((const int64_t *)p.row_ptr)[row];
                 k < ((const int64_t *)p.row_ptr)[row + 1]; k++)
                sum += ((const double *)p.values)[k];
            ck_assert(fabs(sum - 1) < 1e-13);
        }
        gsw_csr_free(&p);
    }
    const int steps = stationary_steps(m, mg, b, 60);
    ck_assert_msg(steps <= (names[_i][0] == 'l' ? 45 : 16), "%s: %d steps", names[_i], steps);
    gsw_multigrid_destroy(mg);
    free(b);
    gsw_problem_destroy(problem);
}
END_TEST

/* ---- Cycles as operators ---- */

static const gsw_smoother smoothers[] = {
    GSW_SMOOTHER_GS,     GSW_SMOOTHER_SYMGS,     GSW_SMOOTHER_ILU0,      GSW_SMOOTHER_ILU0_FINEST,
    GSW_SMOOTHER_JACOBI, GSW_SMOOTHER_CHEBYSHEV, GSW_SMOOTHER_MULTICOLOR};

/* Colours are swept in both directions where the matrix is not symmetric. */
START_TEST(colours_precondition_what_is_not_symmetric) {
    gsw_problem *problem = problem_of("convection:24x23x22");
    gsw_operator *op;
    gsw_preconditioner *M;
    gsw_multigrid_level finest = {.size = sizeof finest};
    gsw_krylov_result result = {.size = sizeof result};
    const gsw_matrix *m = gsw_problem_matrix(problem);
    const int64_t n = oracle_points(&m->grid);
    double *b = doubles(n), *x = doubles(n);
    gsw_random_vector(1, n, b);
    memset(x, 0, (size_t)n * sizeof *x);
    gsw_multigrid *mg =
        make(context, m, (gsw_multigrid_options){.smoother = GSW_SMOOTHER_MULTICOLOR});
    ck_assert_int_eq(gsw_multigrid_get_level(mg, 0, &finest), GSW_SUCCESS);
    ck_assert_int_eq(finest.smoother, GSW_SMOOTHER_MULTICOLOR);
    ck_assert_int_eq(gsw_operator_from_matrix(context, m, &op), GSW_SUCCESS);
    ck_assert_int_eq(gsw_preconditioner_from_multigrid(context, mg, &M), GSW_SUCCESS);
    ck_assert_int_eq(gsw_bicgstab(context, op, M, NULL, b, x, &result), GSW_SUCCESS);
    ck_assert_int_le(result.iterations, 10);
    gsw_preconditioner_destroy(M);
    gsw_operator_destroy(op);
    gsw_multigrid_destroy(mg);
    free(x);
    free(b);
    gsw_problem_destroy(problem);
}
END_TEST

START_TEST(loops_smooth_problems) {
    gsw_context *with = oracle_context(1 + _i % 3);
    loops_check_problem(with, _i);
    gsw_context_destroy(with);
}
END_TEST

START_TEST(loops_smooth_any_stencil) {
    loops_check_stencil(context, _i);
}
END_TEST

/* x' M y = y' M x, and M is positive. */
START_TEST(cycles_are_symmetric) {
    static const char *const names[] = {"poisson:19x14x11", "lognormal:23x9x12",
                                        "hpcg:11x8x13",     "anisotropic:15x17x9",
                                        "star13:13x14x9",   "poisson:37x29"};
    for (int i = 0; i < LENGTH(names); i++) {
        gsw_problem *problem = problem_of(names[i]);
        const gsw_matrix *m = gsw_problem_matrix(problem);
        const int64_t n = oracle_points(&m->grid);
        double *x = doubles(n), *y = doubles(n), *mx = doubles(n), *my = doubles(n);
        gsw_random_vector(1, n, x);
        gsw_random_vector(2, n, y);
        for (int sweeps = 1; sweeps <= 2; sweeps++)
            for (int cycle = 0; cycle <= GSW_CYCLE_W; cycle += GSW_CYCLE_W) {
                const gsw_multigrid_options options = {.smoother = smoothers[_i],
                                                       .cycle = (gsw_cycle)cycle,
                                                       .pre_sweeps = sweeps,
                                                       .post_sweeps = sweeps,
                                                       .coarsest_points = 30};
                gsw_multigrid *mg = make(context, m, options);
                ck_assert_int_eq(gsw_multigrid_apply(context, mg, x, mx), GSW_SUCCESS);
                ck_assert_int_eq(gsw_multigrid_apply(context, mg, y, my), GSW_SUCCESS);
                double xmy = 0, ymx = 0, xmx = 0, ymy = 0;
                for (int64_t k = 0; k < n; k++) {
                    xmy += x[k] * my[k];
                    ymx += y[k] * mx[k];
                    xmx += x[k] * mx[k];
                    ymy += y[k] * my[k];
                }
                ck_assert_msg(xmx > 0 && ymy > 0, "%s: not positive", names[i]);
                ck_assert_msg(fabs(xmy - ymx) <= 1e-10 * sqrt(xmx * ymy),
                              "%s, %s, %s, %d sweeps: %g and %g", names[i],
                              gsw_smoother_name(smoothers[_i]), gsw_cycle_name((gsw_cycle)cycle),
                              sweeps, xmy, ymx);
                gsw_multigrid_destroy(mg);
            }
        free(my);
        free(mx);
        free(y);
        free(x);
        gsw_problem_destroy(problem);
    }
}
END_TEST

/* Set-up and cycle give the same bits for any number of threads; in fp32 and fp64. */
START_TEST(any_number_of_threads) {
    static const char *const names[] = {"lognormal:45x34x31", "convection:37x41x23",
                                        "hpcg:30x31x29",      "lognormal:150x170",
                                        "star13:21x20x19",    "lognormal:700x60"};
    gsw_problem *problem = problem_of(names[_i]);
    const gsw_matrix *m = gsw_problem_matrix(problem);
    const int64_t n = oracle_points(&m->grid);
    double *b = doubles(n), *expected = doubles(n), *x = doubles(n);
    gsw_random_vector(7, n, b);
    static const gsw_smoother kinds[] = {GSW_SMOOTHER_AUTO, GSW_SMOOTHER_JACOBI,
                                         GSW_SMOOTHER_CHEBYSHEV};
    for (int kind = 0; kind < 2 * LENGTH(kinds); kind++)
        for (int threads = 1; threads <= 5; threads += 2) {
            gsw_context *with = oracle_context(threads);
            const gsw_multigrid_options options = {.smoother = kinds[kind / 2],
                                                   .cycle_type = (gsw_dtype)(kind % 2),
                                                   .cycle = GSW_CYCLE_W,
                                                   .post_sweeps = 1 + kind / 2};
            gsw_multigrid *mg = make(with, m, options);
            oracle_fill(GSW_F64, x, n, NAN);
            ck_assert_int_eq(gsw_multigrid_apply(with, mg, b, x), GSW_SUCCESS);
            if (threads == 1)
                memcpy(expected, x, (size_t)n * sizeof *x);
            ck_assert_msg(memcmp(x, expected, (size_t)n * sizeof *x) == 0, "%s, %s: %d threads",
                          names[_i], gsw_smoother_name(options.smoother), threads);
            gsw_multigrid_destroy(mg);
            gsw_context_destroy(with);
        }
    free(x);
    free(expected);
    free(b);
    gsw_problem_destroy(problem);
}
END_TEST

/* One sweep, point by point. */
static void plain_sweep(const gsw_matrix *m, int down, int zero, const double *b, double *x) {
    const gsw_grid *g = &m->grid;
    const int64_t n = oracle_points(g);
    for (int64_t k = 0; k < n; k++) {
        const int64_t row = down ? n - 1 - k : k;
        double sum = b[row];
        for (int32_t e = 0; e < m->stencil.count; e++) {
            const gsw_offset o = m->stencil.offsets[e];
            const int64_t i = row % g->nx + o.dx, j = row / g->nx % g->ny + o.dy,
                          l = row / g->nx / g->ny + o.dz;
            const int ahead = down ? e < m->stencil.center : e > m->stencil.center;
            if (e == m->stencil.center || (zero && ahead) || i < 0 || i >= g->nx || j < 0 ||
                j >= g->ny || l < 0 || l >= g->nz)
                continue;
            sum -= ((const double *)m->array.values[e])[row] * x[gsw_grid_row(g, i, j, l)];
        }
        x[row] = sum / ((const double *)m->array.values[m->stencil.center])[row];
    }
}

/* Sweeps together with a transfer against the same one after the other. */
static void check_fused(gsw_context *with, const gsw_matrix *m, const double *reciprocal,
                        const double *b, const double *start) {
    const gsw_multigrid_ops *ops = with->ops->multigrid;
    const int64_t n = oracle_points(&m->grid);
    gsw_transfer *t = calloc(1, sizeof *t);
    ck_assert_ptr_nonnull(t);
    const int axes = (m->grid.nx > 2) + 2 * (m->grid.ny > 2) + 4 * (m->grid.nz > 2);
    gsw_transfer_make(t, &m->grid, &m->stencil, axes, 0);
    const int64_t coarse = oracle_points(&t->coarse), pitch = coarse + GSW_WEIGHTS_PAD;
    double *block = doubles(t->weights * pitch + GSW_WEIGHTS_PAD);
    double *apart = doubles(n), *fused = doubles(n), *work = doubles(n), *from = doubles(coarse);
    double *to_apart = doubles(coarse), *to_fused = doubles(coarse);
    void *weights[GSW_WEIGHTS_MAX];
    for (int32_t k = 0; k < t->weights; k++) {
        weights[k] = block + GSW_WEIGHTS_PAD + k * pitch;
        gsw_random_vector((uint64_t)(k + 20), coarse, weights[k]);
    }
    gsw_random_vector(50, coarse, from);
    oracle_fill(GSW_F64, fused, n, NAN);
    ck_assert_int_eq(ops->smooth(with, m, GSW_F64, reciprocal, 0, 1, b, apart), GSW_SUCCESS);
    ck_assert_int_eq(ops->restrict_residual(with, t, m, GSW_F64, weights, b, apart, work, to_apart),
                     GSW_SUCCESS);
    ck_assert_int_eq(
        ops->smooth_restrict(with, t, m, GSW_F64, reciprocal, weights, b, fused, to_fused),
        GSW_SUCCESS);
    dense_compare("x of a sweep with restriction", n, fused, apart);
    for (int64_t i = 0; i < coarse; i++) /* b and the weights are of size 1 */
        ck_assert_double_eq_tol(to_fused[i], to_apart[i], 1e-12);
    memcpy(apart, start, (size_t)n * sizeof *start);
    memcpy(fused, start, (size_t)n * sizeof *start);
    ck_assert_int_eq(ops->prolong_add(with, t, GSW_F64, weights, from, apart), GSW_SUCCESS);
    ck_assert_int_eq(ops->smooth(with, m, GSW_F64, reciprocal, 1, 0, b, apart), GSW_SUCCESS);
    ck_assert_int_eq(ops->prolong_smooth(with, t, m, GSW_F64, reciprocal, weights, from, b, fused),
                     GSW_SUCCESS);
    dense_compare("x of a sweep with prolongation", n, fused, apart);
    free(to_fused);
    free(to_apart);
    free(from);
    free(work);
    free(fused);
    free(apart);
    free(block);
    free(t);
}

/* One stencil: sweeps on a level's own arrays against the definition. */
START_TEST(sweeps_are_gauss_seidel) {
    static const gsw_grid grids[] = {
        {300, 7, 5}, {37, 11, 1}, {1, 9, 8}, {530, 9, 1}, {33, 17, 16}};
    const char *name;
    const gsw_stencil *stencil = oracle_stencil(_i, &name);
    for (int i = 0; i < LENGTH(grids); i++)
        for (int threads = 1; threads <= 3; threads += 2) {
            gsw_context *with = oracle_context(threads);
            const gsw_multigrid_ops *ops = with->ops->multigrid;
            const int64_t n = oracle_points(&grids[i]);
            oracle_matrix *m = oracle_random(&grids[i], stencil, 3, ORACLE_POSITIVE);
            double *block = doubles(stencil->count * n), *reciprocal = doubles(n);
            double *b = doubles(n), *start = doubles(n), *x = doubles(n), *expected = doubles(n);
            void *arrays[GSW_STENCIL_MAX];
            for (int32_t e = 0; e < stencil->count; e++)
                arrays[e] = block + e * n;
            ck_assert_int_eq(ops->copy_arrays(with, &m->view, GSW_F64, arrays), GSW_SUCCESS);
            gsw_matrix own = m->view;
            own.array.values = (const void *const *)arrays;
            ck_assert_int_eq(ops->invert_diagonal(with, &own, GSW_F64, reciprocal), GSW_SUCCESS);
            gsw_random_vector(11, n, b);
            gsw_random_vector(12, n, start);
            for (int way = 0; way < 4; way++) {
                const int down = way & 1, zero = way >> 1;
                memcpy(expected, start, (size_t)n * sizeof *x);
                memcpy(x, start, (size_t)n * sizeof *x);
                if (zero)
                    oracle_fill(GSW_F64, x, n, NAN);
                plain_sweep(&own, down, zero, b, expected);
                ck_assert_int_eq(ops->smooth(with, &own, GSW_F64, reciprocal, down, zero, b, x),
                                 GSW_SUCCESS);
                dense_compare(name, n, x, expected);
            }
            if (reaches_two(stencil))
                check_fused(with, &own, reciprocal, b, start);
            free(expected);
            free(x);
            free(start);
            free(b);
            free(reciprocal);
            free(block);
            oracle_free(m);
            gsw_context_destroy(with);
        }
}
END_TEST

/* In any layout, in place or not, new or refilled: the same bits. */
START_TEST(layouts_and_refactor) {
    const gsw_grid grid = {17, 13, 9};
    gsw_stencil stencil;
    ck_assert_int_eq(gsw_stencil_named("D3N7", &stencil), GSW_SUCCESS);
    oracle_matrix *m = oracle_random(&grid, &stencil, 5, ORACLE_POSITIVE),
                  *other = oracle_random(&grid, &stencil, 6, ORACLE_POSITIVE);
    symmetrise(m);
    symmetrise(other);
    const int64_t n = oracle_points(&grid);
    double *b = doubles(n), *expected = doubles(n), *x = doubles(n);
    gsw_random_vector(7, n, b);
    for (int kind = 0; kind < 6; kind++) {
        const gsw_multigrid_options options = {
            .smoother = (const gsw_smoother[]){GSW_SMOOTHER_AUTO, GSW_SMOOTHER_JACOBI,
                                               GSW_SMOOTHER_CHEBYSHEV}[kind / 2],
            .cycle_type = (gsw_dtype)(kind % 2)};
        gsw_multigrid *mg = make(context, &m->view, options);
        ck_assert_int_eq(gsw_multigrid_apply(context, mg, b, expected), GSW_SUCCESS);
        ck_assert_int_eq(gsw_multigrid_refactor(context, mg, &other->view), GSW_SUCCESS);
        ck_assert_int_eq(gsw_multigrid_apply(context, mg, b, x), GSW_SUCCESS);
        ck_assert(memcmp(x, expected, (size_t)n * sizeof *x) != 0);
        ck_assert_int_eq(gsw_multigrid_refactor(context, mg, &m->view), GSW_SUCCESS);
        memcpy(x, b, (size_t)n * sizeof *x);
        ck_assert_int_eq(gsw_multigrid_apply(context, mg, x, x), GSW_SUCCESS);
        ck_assert(memcmp(x, expected, (size_t)n * sizeof *x) == 0);
        gsw_multigrid_destroy(mg);
        for (int base = 0; base < 2; base++) {
            const oracle_layout layout = {.format = GSW_FORMAT_CSR,
                                          .index_type = base ? GSW_I64 : GSW_I32,
                                          .base = base,
                                          .part = GSW_FULL};
            oracle_matrix *csr = oracle_convert(m, &layout);
            mg = make(context, &csr->view, options);
            ck_assert_int_eq(gsw_multigrid_refactor(context, mg, &csr->view), GSW_SUCCESS);
            oracle_fill(GSW_F64, x, n, NAN);
            ck_assert_int_eq(gsw_multigrid_apply(context, mg, b, x), GSW_SUCCESS);
            ck_assert(memcmp(x, expected, (size_t)n * sizeof *x) == 0);
            gsw_multigrid_destroy(mg);
            oracle_free(csr);
        }
    }
    free(x);
    free(expected);
    free(b);
    oracle_free(other);
    oracle_free(m);
}
END_TEST

/* Where an axis has one point only: the bits of the grid without it, and levels that are described
 * along the axes of the user's grid. */
START_TEST(axes_of_one_point) {
    static const gsw_grid grids[] = {{1, 30, 20}, {30, 1, 20}, {30, 20, 1}};
    gsw_stencil seven, five;
    ck_assert_int_eq(gsw_stencil_named("D3N7", &seven), GSW_SUCCESS);
    ck_assert_int_eq(gsw_stencil_named("D2N5", &five), GSW_SUCCESS);
    oracle_matrix *flat = oracle_random(&grids[2], &five, 5, ORACLE_POSITIVE);
    symmetrise(flat);
    const int64_t n = oracle_points(&grids[2]);
    double *b = doubles(n), *expected = doubles(n), *x = doubles(n), *never = doubles(n);
    gsw_random_vector(7, n, b);
    oracle_fill(GSW_F64, never, n, NAN);
    gsw_multigrid *mg = make(context, &flat->view, (gsw_multigrid_options){0});
    ck_assert_int_eq(gsw_multigrid_apply(context, mg, b, expected), GSW_SUCCESS);
    gsw_multigrid_destroy(mg);
    for (int one = 0; one < 3; one++) {
        const void *values[7];
        int taken = 0;
        for (int32_t e = 0; e < seven.count; e++) {
            const gsw_offset o = seven.offsets[e];
            const int leaves = one == 0 ? o.dx : one == 1 ? o.dy : o.dz;
            values[e] = leaves ? never : flat->arrays[taken];
            taken += !leaves;
        }
        const gsw_stencil_array array = {values, GSW_F64};
        gsw_matrix matrix;
        ck_assert_int_eq(gsw_matrix_from_stencil(context, &grids[one], &seven, &array, &matrix),
                         GSW_SUCCESS);
        mg = make(context, &matrix, (gsw_multigrid_options){0});
        oracle_fill(GSW_F64, x, n, NAN);
        ck_assert_int_eq(gsw_multigrid_apply(context, mg, b, x), GSW_SUCCESS);
        ck_assert(memcmp(x, expected, (size_t)n * sizeof *x) == 0);
        gsw_multigrid_level level = {.size = sizeof level};
        ck_assert_int_eq(gsw_multigrid_get_level(mg, 0, &level), GSW_SUCCESS);
        ck_assert(memcmp(&level.grid, &grids[one], sizeof level.grid) == 0);
        ck_assert_int_eq(level.axes, 7 - (1 << one));
        ck_assert_int_eq(level.stencil.count, 5);
        for (int32_t e = 0; e < level.stencil.count; e++)
            ck_assert_int_ge(gsw_stencil_find(&seven, level.stencil.offsets[e]), 0);
        ck_assert(level.coupling[one] == 0 && level.coupling[(one + 1) % 3] > 0);
        ck_assert_int_eq(gsw_multigrid_refactor(context, mg, &matrix), GSW_SUCCESS);
        ck_assert_int_eq(gsw_multigrid_refactor(context, mg, &flat->view) == GSW_SUCCESS, 0);
        gsw_multigrid_destroy(mg);
    }
    free(never);
    free(x);
    free(expected);
    free(b);
    oracle_free(flat);
}
END_TEST

/* fp32 cycles: any size of the right-hand side, NaN and infinity included. */
START_TEST(scales_of_the_right_hand_side) {
    gsw_problem *problem = problem_of("poisson:20x21x22");
    const gsw_matrix *m = gsw_problem_matrix(problem);
    const int64_t n = oracle_points(&m->grid);
    double *b = doubles(n), *x = doubles(n), *expected = doubles(n);
    gsw_multigrid *mg = make(context, m, (gsw_multigrid_options){.cycle_type = GSW_F32});
    gsw_random_vector(1, n, b);
    ck_assert_int_eq(gsw_multigrid_apply(context, mg, b, expected), GSW_SUCCESS);
    for (int exponent = -900; exponent <= 900; exponent += 600) {
        for (int64_t i = 0; i < n; i++)
            x[i] = ldexp(b[i], exponent);
        ck_assert_int_eq(gsw_multigrid_apply(context, mg, x, x), GSW_SUCCESS);
        for (int64_t i = 0; i < n; i++)
            ck_assert(x[i] == ldexp(expected[i], exponent)); /* exactly: powers of two */
    }
    /* Subnormal numbers have few digits. */
    for (int64_t i = 0; i < n; i++)
        x[i] = ldexp(b[i], -1050);
    ck_assert_int_eq(gsw_multigrid_apply(context, mg, x, x), GSW_SUCCESS);
    for (int64_t i = 0; i < n; i++)
        ck_assert_double_eq_tol(ldexp(x[i], 1050), expected[i], 1e-4);
    memset(x, 0, (size_t)n * sizeof *x);
    ck_assert_int_eq(gsw_multigrid_apply(context, mg, x, x), GSW_SUCCESS);
    for (int64_t i = 0; i < n; i++)
        ck_assert(x[i] == 0);
    b[n / 2] = NAN;
    ck_assert_int_eq(gsw_multigrid_apply(context, mg, b, x), GSW_SUCCESS);
    ck_assert(isnan(x[n / 2]));
    b[n / 2] = INFINITY;
    ck_assert_int_eq(gsw_multigrid_apply(context, mg, b, x), GSW_SUCCESS);
    ck_assert(!isfinite(x[n / 2]));
    gsw_multigrid_destroy(mg);
    free(expected);
    free(x);
    free(b);
    gsw_problem_destroy(problem);
}
END_TEST

/* ---- Convergence ---- */

/* Iterations to a true residual of 1e-8 for b = 1, and the largest number allowed: the counts of a
 * prototype with exact sweeps and sparse products, and a tenth more. */
static const struct {
    const char *problem;
    int method, most;
    gsw_multigrid_options options;
    double complexity; /* most of the operators', where it is not 0 */
} solves[] = {
    {"poisson:32x32x32", GSW_CG, 9, {0}, 1.6},
    {"poisson:64x64x64", GSW_CG, 9, {0}, 1.6},
    {"poisson:64x64x64", GSW_CG, 9, {.cycle_type = GSW_F32}, 1.6},
    {"poisson:64x64x64", GSW_CG, 7, {.smoother = GSW_SMOOTHER_SYMGS}, 0},
    {"poisson:64x64x64", GSW_CG, 7, {.smoother = GSW_SMOOTHER_ILU0}, 0},
    {"poisson:64x64x64", GSW_CG, 9, {.cycle = GSW_CYCLE_F}, 0},
    {"poisson:64x64x64", GSW_CG, 9, {.cycle = GSW_CYCLE_W}, 0},
    {"lognormal:60x220x85", GSW_CG, 16, {.cycle_type = GSW_F32}, 0},
    {"lognormal:32x32x32", GSW_CG, 15, {0}, 0},
    {"lognormal:64x64x64", GSW_CG, 19, {0}, 0},
    {"lognormal:64x64x64", GSW_CG, 20, {.cycle_type = GSW_F32}, 0},
    {"lognormal:64x64x64", GSW_CG, 16, {.cycle = GSW_CYCLE_F}, 0},
    {"lognormal:64x64x64", GSW_CG, 15, {.smoother = GSW_SMOOTHER_SYMGS}, 0},
    {"lognormal:64x64x64", GSW_CG, 11, {.smoother = GSW_SMOOTHER_ILU0}, 0},
    {"anisotropic:32x32x32", GSW_CG, 8, {0}, 2.8},
    {"anisotropic:64x64x64", GSW_CG, 8, {0}, 2.8},
    {"anisotropic:64x64x64", GSW_CG, 9, {.cycle_type = GSW_F32}, 2.8},
    {"hpcg:64x64x64", GSW_CG, 8, {0}, 1.2},
    {"helmholtz19:64x64x64", GSW_CG, 7, {0}, 0},
    {"star13:64x64x64", GSW_CG, 12, {0}, 0},
    {"box33:64x64x64", GSW_CG, 9, {0}, 0},
    {"convection:32x32x32", GSW_BICGSTAB, 3, {0}, 0},
    {"convection:64x64x64", GSW_BICGSTAB, 3, {0}, 0},
    {"convection:64x64x64", GSW_GMRES, 5, {0}, 0},
    {"poisson:512x512", GSW_CG, 11, {0}, 1.8},
    {"lognormal:512x512", GSW_CG, 25, {0}, 0},
    {"poisson:33x17x50", GSW_CG, 12, {0}, 0},
    {"poisson:1000x30x30", GSW_CG, 12, {.cycle_type = GSW_F32}, 0},
    {"poisson:1x400x300", GSW_CG, 12, {0}, 0},
    {"poisson:129x2x5", GSW_CG, 12, {0}, 0},
    {"lognormal:33x17x50", GSW_CG, 25, {0}, 0},
    {"lognormal:1x400x300", GSW_CG, 25, {0}, 0},
    {"lognormal:1x400x300", GSW_CG, 25, {.cycle_type = GSW_F32}, 0},
    {"lognormal:129x2x5", GSW_CG, 25, {0}, 0},
};

START_TEST(iterations_are_few) {
    gsw_problem *problem = problem_of(solves[_i].problem);
    const gsw_matrix *m = gsw_problem_matrix(problem);
    const int64_t n = oracle_points(&m->grid);
#ifdef GSW_SLOW_BUILD /* of a sanitizer: the large grids show nothing that the others do not */
    if (n > 20000) {
        gsw_problem_destroy(problem);
        return;
    }
#endif
    double *b = doubles(n), *x = doubles(n);
    gsw_operator *op;
    gsw_preconditioner *preconditioner;
    gsw_krylov_result result = {.size = sizeof result};
    gsw_multigrid_info info = {.size = sizeof info};
    oracle_fill(GSW_F64, b, n, 1);
    gsw_multigrid *mg = make(context, m, solves[_i].options);
    ck_assert_int_eq(gsw_operator_from_matrix(context, m, &op), GSW_SUCCESS);
    ck_assert_int_eq(gsw_preconditioner_from_multigrid(context, mg, &preconditioner), GSW_SUCCESS);
    ck_assert_str_eq(gsw_preconditioner_name(preconditioner), "mg");
    ck_assert_int_eq(gsw_preconditioner_points(preconditioner), n);
    const gsw_status status =
        gsw_krylov(context, (gsw_method)solves[_i].method, op, preconditioner, NULL, b, x, &result);
    ck_assert_msg(status == GSW_SUCCESS, "%s: %s", solves[_i].problem,
                  gsw_context_message(context));
    ck_assert(result.residual <= 1.1e-8);
    ck_assert_msg(result.iterations <= solves[_i].most, "%s, %s, %s: %d iterations",
                  solves[_i].problem, gsw_smoother_name(solves[_i].options.smoother),
                  gsw_cycle_name(solves[_i].options.cycle), (int)result.iterations);
    ck_assert_int_eq(gsw_multigrid_get_info(mg, &info), GSW_SUCCESS);
    ck_assert_msg(solves[_i].complexity == 0 || info.operator_complexity <= solves[_i].complexity,
                  "%s: complexity %g", solves[_i].problem, info.operator_complexity);
    gsw_preconditioner_destroy(preconditioner);
    gsw_operator_destroy(op);
    gsw_multigrid_destroy(mg);
    free(x);
    free(b);
    gsw_problem_destroy(problem);
}
END_TEST

/* ---- Robustness ---- */

/* A symmetric M-matrix of couplings between neighbours and of others that reach two points off the
 * axes. Its coarse matrices are positive definite, too. */
START_TEST(couplings_off_the_axes_reach_two_points) {
    static const gsw_offset far[][2] = {{{1, 2, 0}, {-2, 1, 0}},
                                        {{2, 2, 0}, {2, -2, 0}},
                                        {{1, 2, 2}, {-2, 1, 1}},
                                        {{2, 0, 1}, {0, 2, 2}}};
    const gsw_offset near[] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}, far[_i][0], far[_i][1]};
    const gsw_grid g = {20, 18, _i < 2 ? 1 : 15};
    gsw_offset offsets[11] = {{0, 0, 0}};
    for (int k = 0; k < 5; k++) {
        offsets[1 + 2 * k] = near[k];
        offsets[2 + 2 * k] = (gsw_offset){-near[k].dx, -near[k].dy, -near[k].dz};
    }
    gsw_stencil stencil;
    ck_assert_int_eq(gsw_stencil_from_offsets(offsets, 11, &stencil), GSW_SUCCESS);
    const int64_t n = oracle_points(&g);
    double *values[11], *b = doubles(n), *x = doubles(n);
    const void *arrays[11];
    for (int32_t e = 0; e < 11; e++) {
        const gsw_offset o = stencil.offsets[e];
        const int is_far = abs(o.dx) + abs(o.dy) + abs(o.dz) > 1;
        arrays[e] = values[e] = doubles(n);
        for (int64_t row = 0; row < n; row++)
            values[e][row] = e == stencil.center ? 0.01 : is_far ? -2 : -1;
    }
    for (int64_t row = 0; row < n; row++) {
        const int64_t cx = row % g.nx, cy = row / g.nx % g.ny, cz = row / g.nx / g.ny;
        for (int32_t e = 0; e < 11; e++) {
            const int64_t tx = cx + stencil.offsets[e].dx, ty = cy + stencil.offsets[e].dy,
                          tz = cz + stencil.offsets[e].dz;
            if (e != stencil.center && tx >= 0 && tx < g.nx && ty >= 0 && ty < g.ny && tz >= 0 &&
                tz < g.nz)
                values[stencil.center][row] -= values[e][row];
        }
        b[row] = 1;
    }
    const gsw_stencil_array array = {.values = arrays, .value_type = GSW_F64};
    gsw_matrix matrix;
    gsw_operator *A;
    gsw_preconditioner *M;
    gsw_krylov_result result = {.size = sizeof result};
    ck_assert_int_eq(gsw_matrix_from_stencil(context, &g, &stencil, &array, &matrix), GSW_SUCCESS);
    gsw_multigrid *mg = make(context, &matrix, (gsw_multigrid_options){0});
    ck_assert_int_eq(gsw_operator_from_matrix(context, &matrix, &A), GSW_SUCCESS);
    ck_assert_int_eq(gsw_preconditioner_from_multigrid(context, mg, &M), GSW_SUCCESS);
    ck_assert_msg(gsw_cg(context, A, M, NULL, b, x, &result) == GSW_SUCCESS, "%s",
                  gsw_context_message(context));
    ck_assert_int_le(result.iterations, 25);
    gsw_preconditioner_destroy(M);
    gsw_operator_destroy(A);
    gsw_multigrid_destroy(mg);
    for (int32_t e = 0; e < 11; e++)
        free(values[e]);
    free(b);
    free(x);
}
END_TEST

/* Stencils that reach two points along x, on lines of which a strip covers all points but one. What
 * x holds before a cycle, and what lies beside a line, does not reach the result. */
START_TEST(ends_of_lines_with_far_couplings) {
    static const int64_t extents[] = {4, 5, 7, 9, 10, 17, 18, 33, 65, 129, 257, 258, 513};
    const int64_t nx = extents[_i];
    for (int k = 0; k < 4; k++) {
        gsw_offset offsets[25];
        gsw_stencil stencil;
        for (int e = 0; e < 25; e++)
            offsets[e] = (gsw_offset){e % 5 - 2, e / 5 - 2, 0};
        ck_assert_int_eq(k < 2 ? gsw_stencil_named(k == 0 ? "D3N13" : "D3N33", &stencil)
                               : gsw_stencil_from_offsets(offsets, 25, &stencil),
                         GSW_SUCCESS);
        const gsw_grid g = {nx, k == 3 ? 40 : 7, k < 2 ? 5 : 1};
        oracle_matrix *matrix = oracle_random(&g, &stencil, 5, ORACLE_POSITIVE);
        const int64_t n = oracle_points(&g);
        double *b = oracle_vector(GSW_F64, 3, n), *x = doubles(n), *again = doubles(n);
        gsw_multigrid *mg =
            make(context, &matrix->view,
                 (gsw_multigrid_options){.cycle_type = GSW_F64, .smoother = GSW_SMOOTHER_SYMGS});
        for (int64_t i = 0; i < n; i++)
            again[i] = NAN;
        ck_assert_int_eq(gsw_multigrid_apply(context, mg, b, x), GSW_SUCCESS);
        ck_assert_int_eq(gsw_multigrid_apply(context, mg, b, again), GSW_SUCCESS);
        ck_assert_msg(memcmp(x, again, (size_t)n * sizeof *x) == 0, "stencil %d, %lld points", k,
                      (long long)nx);
        for (int64_t i = 0; i < n; i++)
            ck_assert(isfinite(x[i]));
        gsw_multigrid_destroy(mg);
        oracle_free(matrix);
        free(b);
        free(x);
        free(again);
    }
}
END_TEST

/* An array that is NULL counts as zeros, so its mirror image makes the matrix unsymmetric. */
START_TEST(absent_arrays_are_not_symmetric) {
    gsw_problem *problem = problem_of("poisson:11x9x7");
    const gsw_matrix *poisson = gsw_problem_matrix(problem);
    const void *arrays[7];
    ck_assert_int_eq(poisson->stencil.count, 7);
    for (int absent = -1; absent < 7; absent++) {
        if (absent == 3) /* the diagonal */
            continue;
        memcpy(arrays, poisson->array.values, sizeof arrays);
        if (absent >= 0)
            arrays[absent] = NULL;
        gsw_matrix matrix = *poisson;
        matrix.array.values = arrays;
        gsw_choice choice = {.size = sizeof choice};
        ck_assert_int_eq(gsw_choose_method(context, &matrix, &choice), GSW_SUCCESS);
        ck_assert_msg(choice.symmetric == (absent < 0), "%d", absent);
    }
    gsw_problem_destroy(problem);
}
END_TEST

/* A matrix for which ILU(0) meets a negative pivot on the finest level falls back to GS there. */
START_TEST(bad_pivots_fall_back) {
    const gsw_grid grid = {12, 12, 1};
    gsw_stencil stencil;
    ck_assert_int_eq(gsw_stencil_named("D2N5", &stencil), GSW_SUCCESS);
    oracle_matrix *m = oracle_random(&grid, &stencil, 1, ORACLE_POSITIVE);
    for (int32_t e = 0; e < stencil.count; e++)
        for (int64_t row = 0; row < oracle_points(&grid); row++)
            ((double *)m->arrays[e])[row] = e == stencil.center ? 1 : -0.9;
    const gsw_multigrid_options options = {.smoother = GSW_SMOOTHER_ILU0, .coarsest_points = 100};
    gsw_multigrid *mg = make(context, &m->view, options);
    gsw_multigrid_info info = {.size = sizeof info};
    gsw_multigrid_level level = {.size = sizeof level};
    ck_assert_int_eq(gsw_multigrid_get_info(mg, &info), GSW_SUCCESS);
    ck_assert_int_eq(info.smoother_fallbacks, 1);
    ck_assert_int_eq(gsw_multigrid_get_level(mg, 0, &level), GSW_SUCCESS);
    ck_assert_int_eq(level.smoother, GSW_SMOOTHER_GS);
    ck_assert_str_eq(gsw_context_message(context), "");
    gsw_multigrid_destroy(mg);
    oracle_free(m);
}
END_TEST

/* Where a coarse grid is two points wide, ILU(0) drops nothing. If the matrix is singular, too, the
 * last pivot is rounding of either sign. Such levels fall back, the finest does not. */
START_TEST(pivots_of_rounding_fall_back) {
    char name[40];
    snprintf(name, sizeof name, "lognormal:8x8x%d", 80 + 8 * (_i / 2));
    gsw_problem *problem = problem_of(name);
    const gsw_matrix *m = gsw_problem_matrix(problem);
    const gsw_multigrid_options options = {.smoother = GSW_SMOOTHER_ILU0,
                                           .cycle_type = _i % 2 == 0 ? GSW_F32 : GSW_F64,
                                           .coarsest_points = 8};
    make_neumann(m);
    gsw_multigrid *mg = make(context, m, options);
    gsw_multigrid_info info = {.size = sizeof info};
    gsw_multigrid_level level = {.size = sizeof level};
    ck_assert_int_eq(gsw_multigrid_get_info(mg, &info), GSW_SUCCESS);
    ck_assert_int_eq(info.singular, 1);
    for (int k = 0; k < info.levels - 1; k++) {
        ck_assert_int_eq(gsw_multigrid_get_level(mg, k, &level), GSW_SUCCESS);
        const gsw_smoother expected = level.grid.nx <= 2 ? GSW_SMOOTHER_GS : GSW_SMOOTHER_ILU0;
        ck_assert_msg(level.smoother == expected, "%s: level %d has smoother %d", name, k,
                      (int)level.smoother);
    }
    gsw_multigrid_destroy(mg);
    gsw_problem_destroy(problem);
}
END_TEST

/* A hierarchy that had other values has the bits of a fresh one. */
static void check_as_fresh(gsw_multigrid *mg, const gsw_matrix *m,
                           const gsw_multigrid_options *options) {
    const int64_t n = oracle_points(&m->grid);
    double *b = doubles(n), *x = doubles(n), *expected = doubles(n);
    gsw_multigrid *fresh = make(context, m, *options);
    gsw_random_vector(5, n, b);
    ck_assert_int_eq(gsw_multigrid_refactor(context, mg, m), GSW_SUCCESS);
    ck_assert_int_eq(gsw_multigrid_apply(context, mg, b, x), GSW_SUCCESS);
    ck_assert_int_eq(gsw_multigrid_apply(context, fresh, b, expected), GSW_SUCCESS);
    ck_assert_mem_eq(x, expected, (size_t)n * sizeof *x);
    gsw_multigrid_destroy(fresh);
    free(expected);
    free(x);
    free(b);
}

/* The interval of Chebyshev's polynomials follows the values. */
START_TEST(loops_take_new_values) {
    const gsw_grid grid = {13, 12, 11};
    const gsw_multigrid_options options = {.smoother = _i / 2 ? GSW_SMOOTHER_CHEBYSHEV
                                                              : GSW_SMOOTHER_JACOBI,
                                           .cycle_type = (gsw_dtype)(_i % 2),
                                           .coarsest_points = 8};
    const gsw_stencil *stencil = oracle_stencil_named("D3N7");
    oracle_matrix *first = oracle_random(&grid, stencil, 5, ORACLE_POSITIVE),
                  *second = oracle_random(&grid, stencil, 6, ORACLE_POSITIVE);
    gsw_multigrid *mg = make(context, &first->view, options);
    check_as_fresh(mg, &second->view, &options);
    gsw_multigrid_destroy(mg);
    oracle_free(second);
    oracle_free(first);
}
END_TEST

/* With injection the coarse matrices of constant coefficients are symmetric, later ones not. */
START_TEST(injection_takes_new_values) {
    const gsw_multigrid_options options = {.smoother = smoothers[_i / 2],
                                           .cycle_type = _i % 2 == 0 ? GSW_F32 : GSW_F64,
                                           .interpolation = GSW_INTERPOLATION_INJECTION,
                                           .coarsest_points = 8};
    gsw_problem *first = problem_of("poisson:13x13x13"), *second = problem_of("lognormal:13x13x13");
    gsw_multigrid *mg = make(context, gsw_problem_matrix(first), options);
    check_as_fresh(mg, gsw_problem_matrix(second), &options);
    gsw_multigrid_destroy(mg);
    gsw_problem_destroy(second);
    gsw_problem_destroy(first);
}
END_TEST

/* A level that fell back tries ILU(0) again with new values. */
START_TEST(better_values_end_a_fallback) {
    const gsw_multigrid_options options = {.smoother = GSW_SMOOTHER_ILU0, .coarsest_points = 8};
    gsw_problem *good = problem_of("poisson:13x12x11"), *bad = problem_of("poisson:13x12x11");
    const gsw_matrix *m = gsw_problem_matrix(bad);
    double *const *values = (double *const *)(uintptr_t)m->array.values;
    for (int32_t e = 0; e < m->stencil.count; e++)
        for (int64_t row = 0; row < oracle_points(&m->grid); row++)
            values[e][row] = -values[e][row];
    gsw_multigrid *mg = make(context, gsw_problem_matrix(good), options);
    gsw_multigrid_info info = {.size = sizeof info};
    ck_assert_int_eq(gsw_multigrid_refactor(context, mg, m), GSW_SUCCESS);
    ck_assert_int_eq(gsw_multigrid_get_info(mg, &info), GSW_SUCCESS);
    ck_assert_int_gt(info.smoother_fallbacks, 0);
    check_as_fresh(mg, gsw_problem_matrix(good), &options);
    ck_assert_int_eq(gsw_multigrid_get_info(mg, &info), GSW_SUCCESS);
    ck_assert_int_eq(info.smoother_fallbacks, 0);
    gsw_multigrid_destroy(mg);
    gsw_problem_destroy(bad);
    gsw_problem_destroy(good);
}
END_TEST

static gsw_multigrid *const no_hierarchy = NULL;

static void refuse_option(const gsw_matrix *m, gsw_multigrid_options options, const char *word) {
    gsw_multigrid *mg = (gsw_multigrid *)(uintptr_t)&options;
    expect_refusal(gsw_multigrid_create(context, m, &options, &mg), GSW_ERROR_INVALID_ARGUMENT,
                   word);
    ck_assert_ptr_eq(mg, no_hierarchy);
}

#define OPTIONS(...) ((gsw_multigrid_options){.size = sizeof(gsw_multigrid_options), __VA_ARGS__})

START_TEST(bad_options_are_refused) {
    gsw_problem *problem = problem_of("poisson:9x8x7");
    const gsw_matrix *m = gsw_problem_matrix(problem);
    refuse_option(m, (gsw_multigrid_options){0}, "size");
    refuse_option(m, OPTIONS(.smoother = (gsw_smoother)(GSW_SMOOTHER_MULTICOLOR + 1)), "smoother");
    refuse_option(m, OPTIONS(.cycle = (gsw_cycle)3), "cycle");
    refuse_option(m, OPTIONS(.pre_sweeps = -1), "pre_sweeps");
    refuse_option(m, OPTIONS(.post_sweeps = -1), "post_sweeps");
    refuse_option(m, OPTIONS(.theta = 1.5), "theta");
    refuse_option(m, OPTIONS(.theta = NAN), "theta");
    refuse_option(m, OPTIONS(.coarsest_points = 2001), "coarsest_points");
    refuse_option(m, OPTIONS(.cycle_type = (gsw_dtype)2), "cycle_type");
    refuse_option(m, OPTIONS(.interpolation = (gsw_interpolation)2), "interpolation");
    refuse_option(m, OPTIONS(.max_levels = -1), "max_levels");
    refuse_option(m, OPTIONS(.max_levels = 65), "max_levels");
    gsw_problem_destroy(problem);
}
END_TEST

START_TEST(bad_matrices_are_refused) {
    const gsw_offset far[] = {{0, 0, 0}, {-3, 0, 0}, {3, 0, 0}};
    const gsw_grid grid = {40, 20, 1};
    gsw_stencil stencil, reaching;
    gsw_multigrid *mg;
    ck_assert_int_eq(gsw_stencil_named("D2N5", &stencil), GSW_SUCCESS);
    ck_assert_int_eq(gsw_stencil_from_offsets(far, 3, &reaching), GSW_SUCCESS);
    oracle_matrix *m = oracle_random(&grid, &stencil, 1, ORACLE_POSITIVE),
                  *wide = oracle_random(&grid, &reaching, 1, ORACLE_POSITIVE);
    expect_refusal(gsw_multigrid_create(context, &wide->view, NULL, &mg), GSW_ERROR_UNSUPPORTED,
                   "reaches");
    expect_refusal(gsw_multigrid_create(context, NULL, NULL, &mg), GSW_ERROR_INVALID_ARGUMENT,
                   "matrix");
    expect_refusal(gsw_multigrid_create(context, &m->view, NULL, NULL), GSW_ERROR_INVALID_ARGUMENT,
                   "multigrid");
    mg = (gsw_multigrid *)m;
    ck_assert_int_eq(gsw_multigrid_create(NULL, &m->view, NULL, &mg), GSW_ERROR_INVALID_ARGUMENT);
    ck_assert_ptr_null(mg);
    double *diagonal = m->arrays[stencil.center];
    const double kept = diagonal[123];
    diagonal[123] = 0;
    expect_refusal(gsw_multigrid_create(context, &m->view, NULL, &mg), GSW_ERROR_ZERO_PIVOT,
                   "row 123");
    assert_message("is zero or not finite: its diagonal is 0");
    diagonal[123] = NAN;
    expect_refusal(gsw_multigrid_create(context, &m->view, NULL, &mg), GSW_ERROR_ZERO_PIVOT,
                   "row 123");
    diagonal[123] = 1e200;
    expect_refusal(gsw_multigrid_create(context, &m->view, &OPTIONS(.cycle_type = GSW_F32), &mg),
                   GSW_ERROR_UNSUPPORTED, "fp32");
    ck_assert_ptr_eq(mg, no_hierarchy);

    /* After a failed refactor gsw_multigrid_apply() is refused until a refactor succeeds. */
    diagonal[123] = kept;
    double *x = doubles(800);
    mg = make(context, &m->view, (gsw_multigrid_options){0});
    expect_refusal(gsw_multigrid_refactor(context, mg, &wide->view), GSW_ERROR_INVALID_ARGUMENT,
                   "stencil");
    ck_assert_int_eq(gsw_multigrid_apply(context, mg, x, x), GSW_SUCCESS);
    diagonal[123] = 0;
    expect_refusal(gsw_multigrid_refactor(context, mg, &m->view), GSW_ERROR_ZERO_PIVOT, "row 123");
    expect_refusal(gsw_multigrid_apply(context, mg, x, x), GSW_ERROR_INVALID_ARGUMENT, "refactor");
    diagonal[123] = kept;
    ck_assert_int_eq(gsw_multigrid_refactor(context, mg, &m->view), GSW_SUCCESS);
    expect_refusal(gsw_multigrid_apply(context, mg, NULL, x), GSW_ERROR_INVALID_ARGUMENT,
                   "b is NULL");
    expect_refusal(gsw_multigrid_apply(context, mg, x, NULL), GSW_ERROR_INVALID_ARGUMENT,
                   "x is NULL");
    expect_refusal(gsw_multigrid_apply(context, mg, x, x + 1), GSW_ERROR_INVALID_ARGUMENT,
                   "overlap");
    gsw_csr csr;
    expect_refusal(gsw_multigrid_extract(context, mg, 0, GSW_MULTIGRID_MATRIX, &csr),
                   GSW_ERROR_INVALID_ARGUMENT, "level 0");
    expect_refusal(gsw_multigrid_extract(context, mg, 9, GSW_MULTIGRID_MATRIX, &csr),
                   GSW_ERROR_INVALID_ARGUMENT, "level 9");
    ck_assert_int_eq(gsw_multigrid_extract(context, mg, 1, GSW_MULTIGRID_MATRIX, &csr),
                     GSW_SUCCESS);
    gsw_csr_free(&csr);
    gsw_multigrid_destroy(mg);
    gsw_multigrid_destroy(NULL);
    free(x);
    oracle_free(wide);
    oracle_free(m);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("multigrid");
    TCase *levels = tcase_create("levels"), *cycles = tcase_create("cycles"),
          *solving = tcase_create("solving"), *robust = tcase_create("robust");
    tcase_add_checked_fixture(levels, open_context, close_context);
    tcase_set_timeout(levels, 300);
    tcase_add_loop_test(levels, levels_of_random_matrices, 0, oracle_stencil_count());
    tcase_add_loop_test(levels, levels_of_problems, 0, LENGTH(problems));
    tcase_add_loop_test(levels, coarse_matrices_are_products, 0, DENSE_PROBLEMS);
    tcase_add_test(levels, special_rows);
    tcase_add_test(levels, conditions_inside);
    suite_add_tcase(suite, levels);
    tcase_add_checked_fixture(cycles, open_context, close_context);
    tcase_set_timeout(cycles, 300);
    tcase_add_test(cycles, colours_precondition_what_is_not_symmetric);
    tcase_add_loop_test(cycles, cycles_are_symmetric, 0, LENGTH(smoothers));
    tcase_add_loop_test(cycles, loops_smooth_problems, 0, LOOPS_PROBLEMS);
    tcase_add_loop_test(cycles, loops_smooth_any_stencil, 0, oracle_stencil_count());
    tcase_add_loop_test(cycles, any_number_of_threads, 0, 6);
    tcase_add_loop_test(cycles, sweeps_are_gauss_seidel, 0, oracle_stencil_count());
    tcase_add_loop_test(cycles, constants_in_the_null_space, 0, 4);
    tcase_add_test(cycles, layouts_and_refactor);
    tcase_add_test(cycles, axes_of_one_point);
    tcase_add_test(cycles, scales_of_the_right_hand_side);
    suite_add_tcase(suite, cycles);
    tcase_add_checked_fixture(solving, open_context, close_context);
    tcase_set_timeout(solving, 300);
    tcase_add_loop_test(solving, iterations_are_few, 0, LENGTH(solves));
    suite_add_tcase(suite, solving);
    tcase_add_checked_fixture(robust, open_context, close_context);
    tcase_add_loop_test(robust, couplings_off_the_axes_reach_two_points, 0, 4);
    tcase_add_loop_test(robust, ends_of_lines_with_far_couplings, 0, 13);
    tcase_add_test(robust, absent_arrays_are_not_symmetric);
    tcase_add_test(robust, bad_pivots_fall_back);
    tcase_add_loop_test(robust, injection_takes_new_values, 0, 2 * LENGTH(smoothers));
    tcase_add_loop_test(robust, loops_take_new_values, 0, 4);
    tcase_add_test(robust, better_values_end_a_fallback);
    tcase_add_loop_test(robust, pivots_of_rounding_fall_back, 0, 16);
    tcase_add_test(robust, bad_options_are_refused);
    tcase_add_test(robust, bad_matrices_are_refused);
    suite_add_tcase(suite, robust);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
