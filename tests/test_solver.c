/* test_solver.c: what a solver chooses, what it tries next, and what it says. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <check.h>
#include <gridsweep/gridsweep.h>

#include "hard_matrix.h"
#include "krylov_truth.h"

/* The residual of x over b, in long double. */
static double residual_of(const gsw_matrix *matrix, const double *b, const double *x) {
    const int64_t n = oracle_points(&matrix->grid);
    long double *r = keep_bytes((size_t)n * sizeof *r), *wanted = keep_bytes((size_t)n * sizeof *r);
    const truth t = truth_vectors(matrix, NULL, b, x, r, wanted);
    return (double)(t.residual / t.b);
}

/* A matrix of constant coefficients on a grid. */
static oracle_matrix *make_constant(gsw_grid grid, const gsw_offset *offsets, const double *values,
                                    int count) {
    gsw_stencil stencil;
    must(context, gsw_stencil_from_offsets(offsets, count, &stencil));
    oracle_matrix *m = keep_matrix_of(&grid, &stencil, 1, ORACLE_POSITIVE);
    for (int k = 0; k < count; k++)
        oracle_fill(GSW_F64, m->arrays[gsw_stencil_find(&stencil, offsets[k])],
                    oracle_points(&grid), values[k]);
    return m;
}

/* Solves with random b, and checks what is said of x. */
static gsw_solver_report solve(const gsw_matrix *matrix, const gsw_solver_options *options,
                               gsw_status expected) {
    const int64_t n = oracle_points(&matrix->grid);
    double *b = keep_random(5, n), *x = keep_random(1, n);
    gsw_solver_report report = {.size = sizeof report};
    oracle_fill(GSW_F64, x, n, 0);
    const gsw_status status = gsw_solve(context, matrix, options, b, x, &report);
    ck_assert_msg(status == expected, "%s: %s", gsw_status_name(status),
                  gsw_context_message(context));
    ck_assert_int_eq(report.status, status);
    ck_assert_int_eq(report.converged, status == GSW_SUCCESS);
    if (matrix->format == GSW_FORMAT_STENCIL && status == GSW_SUCCESS)
        ck_assert(residual_of(matrix, b, x) <= 1.0001e-8);
    ck_assert_int_eq(report.message[0] == '\0', status == GSW_SUCCESS);
    return report;
}

TEST(chooses_by_itself) {
    static const struct {
        const char *problem, *precond, *method;
    } known[] = {{"poisson:40x40x40", "mg", "cg"},
                 {"convection:24x24x24", "ilu0", "bicgstab"},
                 {"poisson:8x8x8", "ic0", "cg"}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        const gsw_solver_report r = solve(keep_problem(known[i].problem), NULL, GSW_SUCCESS);
        ck_assert_str_eq(r.precond, known[i].precond);
        ck_assert_str_eq(r.method, known[i].method);
        ck_assert_str_eq(r.first_precond, r.precond);
        ck_assert_str_eq(r.fallback, "");
        ck_assert_int_eq(r.attempts, 1);
        ck_assert(r.reason[0] != '\0' && r.setup_ms > 0 && r.solve_ms > 0);
    }
}

/* What is named is taken, and with both named nothing else is tried. */
TEST(takes_what_is_named) {
    for (int p = GSW_PRECOND_NONE; p <= GSW_PRECOND_MULTIGRID; p++) {
        if (p == GSW_PRECOND_IC0) /* the matrix is not symmetric */
            continue;
        for (int m = GSW_SOLVER_AUTO; m <= GSW_SOLVER_GMRES; m++) {
            const gsw_krylov_options krylov = {.size = sizeof krylov, .max_iterations = 300};
            const gsw_solver_options options = {.size = sizeof options,
                                                .precond = (gsw_precond)p,
                                                .method = (gsw_solver_method)m,
                                                .krylov = &krylov};
            const int fails = m == GSW_SOLVER_CG; /* CG may be lucky */
            double b[756], x[756] = {0};
            gsw_solver_report r = {.size = sizeof r};
            for (int i = 0; i < 756; i++)
                b[i] = 1 + i % 3;
            const gsw_status status =
                gsw_solve(context, keep_problem("convection:12x9x7"), &options, b, x, &r);
            ck_assert_msg(fails || status == GSW_SUCCESS, "%d %d: %s", p, m, r.message);
            ck_assert_str_eq(r.precond, gsw_precond_name((gsw_precond)p));
            ck_assert(m == GSW_SOLVER_AUTO ||
                      strcmp(r.method, gsw_method_name((gsw_method)(m - 1))) == 0);
            ck_assert(m == GSW_SOLVER_AUTO || r.attempts == 1);
        }
    }
}

/* Positive definite, but IC(0) has a bad pivot: the Laplacian squared. Cycles gain little, and the
 * residual of CG with Jacobi stays where it is for hundreds of iterations. */
TEST(biharmonic) {
    static const gsw_offset o[] = {{0, 0, 0},  {1, 0, 0},  {-1, 0, 0}, {0, 1, 0},   {0, -1, 0},
                                   {1, 1, 0},  {-1, 1, 0}, {1, -1, 0}, {-1, -1, 0}, {2, 0, 0},
                                   {-2, 0, 0}, {0, 2, 0},  {0, -2, 0}};
    static const double v[] = {20, -8, -8, -8, -8, 2, 2, 2, 2, 1, 1, 1, 1};
    for (int32_t n = 30; n <= 64; n += 34) {
        oracle_matrix *c = make_constant((gsw_grid){n, n, 1}, o, v, 13);
        const gsw_solver_report r = solve(&c->view, NULL, GSW_SUCCESS);
        ck_assert_str_eq(r.first_precond, n == 30 ? "ssor" : "jacobi");
        ck_assert(n == 30 || r.fallback[0] == '\0');
        ck_assert_str_eq(r.method, "cg");
    }
}

/* x is so large that its rounding hides the residual. No other method can do better, so that there
 * is one attempt. */
TEST(limits_of_fp64) {
    static const gsw_offset o[] = {{0, 0, 0}, {1, 0, 0}, {-1, 0, 0}};
    static const double v[] = {2, -1, -1};
    oracle_matrix *c = make_constant((gsw_grid){100000, 1, 1}, o, v, 3);
    double *b = keep_filled(100000, 1), *x = keep_zeros(100000);
    gsw_solver_report r = {.size = sizeof r};
    ck_assert_int_eq(gsw_solve(context, &c->view, NULL, b, x, &r), GSW_ERROR_NOT_CONVERGED);
    ck_assert_int_eq(r.attempts, 1);
    ck_assert_int_eq(r.stagnated, 1);
    ck_assert_ptr_nonnull(strstr(r.message, "rounding leaves b - A x unknown"));
    ck_assert(residual_of(&c->view, b, x) < 1e-6);
}

/* Mostly skew-symmetric: ILU(0) and BiCGSTAB fail, GMRES does not. */
TEST(strong_convection) {
    static const gsw_offset o[] = {{0, 0, 0}, {1, 0, 0}, {-1, 0, 0}, {0, 1, 0}, {0, -1, 0}};
    static const double v[] = {0.4, -1.1, 0.9, -1.1, 0.9};
    oracle_matrix *c = make_constant((gsw_grid){60, 60, 1}, o, v, 5);
    const gsw_solver_report r = solve(&c->view, NULL, GSW_SUCCESS);
    ck_assert_str_eq(r.method, "gmres");
}

/* CG meets an indefinite matrix, and the next method goes on with the same preconditioner. */
TEST(indefinite) {
    static const gsw_offset o[] = {{0, 0, 0}, {1, 0, 0}, {-1, 0, 0}, {0, 1, 0}, {0, -1, 0}};
    static const double v[] = {1, -0.9, -0.9, -0.9, -0.9};
    const gsw_solver_options options = {.size = sizeof options, .precond = GSW_PRECOND_JACOBI};
    oracle_matrix *c = make_constant((gsw_grid){12, 12, 1}, o, v, 5);
    const gsw_solver_report r = solve(&c->view, &options, GSW_SUCCESS);
    ck_assert_str_eq(r.first_method, "cg");
    ck_assert_str_eq(r.method, "bicgstab");
    ck_assert_str_eq(r.precond, "jacobi");
    ck_assert_msg(strncmp(r.fallback, "jacobi with bicgstab: cg: ", 26) == 0, "%s", r.fallback);
    ck_assert_int_eq(r.attempts, 2);
}

/* Sweeps of a periodic axis are dear. */
TEST(periodic) {
    static const gsw_offset o[] = {{0, 0, 0},  {1, 0, 0},  {-1, 0, 0}, {0, 1, 0},
                                   {0, -1, 0}, {0, 39, 0}, {0, -39, 0}};
    static const double v[] = {4.01, -1, -1, -1, -1, -1, -1};
    oracle_matrix *c = make_constant((gsw_grid){40, 40, 1}, o, v, 7);
    ck_assert_str_eq(solve(&c->view, NULL, GSW_SUCCESS).precond, "jacobi");
}

/* No diagonal: no preconditioner is left but none. */
TEST(no_diagonal) {
    static const gsw_offset o[] = {{0, 0, 0}, {1, 0, 0}, {-1, 0, 0}};
    static const double v[] = {0, 1, -1};
    oracle_matrix *c = make_constant((gsw_grid){20, 1, 1}, o, v, 3);
    const gsw_solver_report r = solve(&c->view, NULL, GSW_SUCCESS);
    ck_assert_str_eq(r.precond, "none");
    ck_assert_str_eq(r.method, "gmres");
}

/* Then a solve that gains too little is given up, with the cause. */
TEST(no_diagonal_and_no_hope) {
    static const gsw_offset o[] = {{0, 0, 0},  {1, 0, 0}, {-1, 0, 0}, {0, 1, 0},
                                   {0, -1, 0}, {0, 0, 1}, {0, 0, -1}};
    static const double v[] = {0, -1, -1, -1, -1, -1, -1};
    oracle_matrix *c = make_constant((gsw_grid){32, 32, 32}, o, v, 7);
    const gsw_solver_report r = solve(&c->view, NULL, GSW_ERROR_NOT_CONVERGED);
    ck_assert_str_eq(r.precond, "none");
    ck_assert_int_le(r.iterations, 3000);
    ck_assert_msg(strncmp(r.message, "no preconditioner: ", 19) == 0 &&
                      strstr(r.message, "gmres gains too little") != NULL,
                  "%s", r.message);
}

/* The message names the first row that is not finite. */
TEST(rows_that_are_not_finite) {
    const hard_matrix given = {.grid = {9, 8, 7}, .z = 1, .shift = 0.01};
    static const double bad[] = {(double)NAN, (double)INFINITY};
    for (int i = 0; i < 2; i++)
        for (int e = 0; e < 7; e += 3) {
            hard_arrays a = hard_arrays_of(&given);
            a.values[e][200] = bad[i];
            const gsw_solver_report r = solve(&a.view, NULL, GSW_ERROR_NON_FINITE);
            ck_assert_int_eq(r.status, GSW_ERROR_NON_FINITE);
            ck_assert_msg(strstr(r.message, "the matrix is not finite: row 200 (") == r.message,
                          "%s", r.message);
        }
}

/* New values keep the choice, and give the bits of a new solver. */
TEST(updates) {
    const hard_matrix first = {.grid = {20, 19, 18}, .z = 1, .shift = 0.01},
                      second = {.grid = {20, 19, 18}, .z = 1, .shift = 0.02, .decades = 1};
    hard_arrays a = hard_arrays_of(&first), c = hard_arrays_of(&second);
    double *b = keep_random(3, a.n), *x[2] = {keep_zeros(a.n), keep_zeros(a.n)};
    gsw_solver *solver, *fresh;
    gsw_solver_report r = {.size = sizeof r};
    must(context, gsw_solver_create(context, &a.view, NULL, &solver));
    must(context, gsw_solver_solve(context, solver, b, x[0], NULL));
    must(context, gsw_solver_update(context, solver, &c.view));
    oracle_fill(GSW_F64, x[0], a.n, 0);
    must(context, gsw_solver_solve(context, solver, b, x[0], &r));
    ck_assert_str_eq(r.precond, "mg");
    ck_assert(residual_of(&c.view, b, x[0]) <= 1.0001e-8);
    must(context, gsw_solver_create(context, &c.view, NULL, &fresh));
    must(context, gsw_solver_solve(context, fresh, b, x[1], NULL));
    ck_assert_mem_eq(x[0], x[1], (size_t)a.n * sizeof **x);
    /* a guess that is the solution takes no iteration */
    must(context, gsw_solver_solve(context, fresh, b, x[1], &r));
    ck_assert_int_eq(r.iterations, 0);
    gsw_solver_destroy(fresh);
    gsw_solver_destroy(solver);
}

/* A Laplacian with a shift; rows on the boundary are `diagonal` times x_i = b_i, with their
 * couplings where `coupled`. */
static oracle_matrix *with_boundary(gsw_grid g, double shift, double diagonal, int coupled) {
    static const gsw_offset o[] = {{0, 0, -1}, {0, -1, 0}, {-1, 0, 0}, {0, 0, 0},
                                   {1, 0, 0},  {0, 1, 0},  {0, 0, 1}};
    static const double v[] = {-1, -1, -1, 6, -1, -1, -1};
    oracle_matrix *m = make_constant(g, o, v, 7);
    int64_t row = 0;
    for (int64_t z = 0; z < g.nz; z++)
        for (int64_t y = 0; y < g.ny; y++)
            for (int64_t x = 0; x < g.nx; x++, row++) {
                const int edge =
                    x == 0 || x == g.nx - 1 || y == 0 || y == g.ny - 1 || z == 0 || z == g.nz - 1;
                ((double *)m->arrays[3])[row] = edge ? diagonal : 6 + shift;
                for (int e = 0; e < 7; e++)
                    if (e != 3 && edge && !coupled)
                        ((double *)m->arrays[e])[row] = 0;
            }
    return m;
}

static void check_fixed(const oracle_matrix *m, const char *says) {
    const int64_t n = oracle_points(&m->view.grid);
    double *b = keep_random(5, n), *x = keep_random(7, n);
    gsw_solver *solver;
    gsw_solver_report r = {.size = sizeof r};
    must(context, gsw_solver_create(context, &m->view, NULL, &solver));
    must(context, gsw_solver_solve(context, solver, b, x, &r));
    ck_assert_str_eq(r.method, "cg");
    ck_assert_msg(strstr(r.reason, says) != NULL, "%s", r.reason);
    ck_assert(residual_of(&m->view, b, x) <= 1e-8);
    ck_assert(r.residual <= 1e-8 && r.converged);
    for (int64_t i = 0; i < n; i++) /* inside, the residual meets the tolerance by itself */
        if (((double *)m->arrays[3])[i] > 10)
            b[i] = 0;
    must(context, gsw_solver_solve(context, solver, b, x, &r));
    ck_assert(residual_of(&m->view, b, x) <= 1e-8);
    must(context, gsw_solver_update(context, solver, &m->view));
    must(context, gsw_solver_solve(context, solver, b, x, &r));
    ck_assert_int_eq(r.iterations, 0);
    b[n / 2] = NAN;
    ck_assert_int_eq(gsw_solver_solve(context, solver, b, x, &r), GSW_ERROR_NON_FINITE);
    gsw_solver_destroy(solver);
}

/* Boundary values as rows make a symmetric problem unsymmetric, or converge for the others. */
TEST(fixed_points) {
    const gsw_grid g = {13, 12, 11};
    const int64_t n = 13 * 12 * 11, edge = n - (int64_t)11 * 10 * 9;
    char says[64];
    (void)snprintf(says, sizeof says, "; %lld fixed points", (long long)edge);
    check_fixed(with_boundary(g, 0, 1, 0), says);
    check_fixed(with_boundary(g, 0, 1e-7, 0), says);
    (void)snprintf(says, sizeof says, "; %lld rows fixed by a large diagonal", (long long)edge);
    for (int k = 0; k < 4; k++) {
        static const double large[] = {1e7, 1e8, 1e15, 1e30};
        check_fixed(with_boundary(g, 0, large[k], 1), says);
        oracle_matrix *m = with_boundary(g, 0, large[k], 1);
        double *b = keep_zeros(n), *x = keep_zeros(n), *r = keep_zeros(n);
        double inside = 0, left = 0;
        for (int64_t i = 0; i < n; i++)
            b[i] = ((double *)m->arrays[3])[i] > 10 ? large[k] * (double)(i % 3) : 0;
        must(context, gsw_solve(context, &m->view, NULL, b, x, NULL));
        must(context, gsw_residual(context, &m->view, GSW_F64, b, x, r));
        for (int64_t i = 0; i < n; i++) {
            left += ((double *)m->arrays[3])[i] > 10 ? 0 : r[i] * r[i];
            inside += ((double *)m->arrays[3])[i] > 10 ? 0 : x[i] * x[i];
        }
        ck_assert(inside > 100 && sqrt(left) <= 1e-6);
    }
    /* an update finds fixed points that the first matrix had not, and the other way round */
    gsw_solver *solver;
    oracle_matrix *plain = with_boundary((gsw_grid){24, 23, 22}, 0, 6, 1),
                  *fixed = with_boundary((gsw_grid){24, 23, 22}, 0, 1, 0);
    const gsw_solver_options options = {.size = sizeof options, .precond = GSW_PRECOND_MULTIGRID};
    double *b = keep_random(5, 24 * 23 * 22), *x = keep_zeros(24 * 23 * 22);
    must(context, gsw_solver_create(context, &plain->view, &options, &solver));
    for (int turn = 0; turn < 4; turn++) {
        const oracle_matrix *m = turn % 2 ? plain : fixed;
        gsw_solver_report report = {.size = sizeof report};
        must(context, gsw_solver_update(context, solver, &m->view));
        must(context, gsw_solver_solve(context, solver, b, x, &report));
        ck_assert_int_eq(strstr(report.reason, "fixed points") != NULL, m == fixed);
        ck_assert(residual_of(&m->view, b, x) <= 1e-8);
    }
    gsw_solver_destroy(solver);
    /* rows of moderate size stay in the system */
    const gsw_solver_report r = solve(&with_boundary(g, 0, 1e4, 1)->view, NULL, GSW_SUCCESS);
    ck_assert(strstr(r.reason, "fixed") == NULL);
}

/* A domain without flux at its edges, in which the points of a mask take no part. */
static oracle_matrix *closed_domain(gsw_grid g, double sign, uint8_t *active) {
    static const gsw_offset o[] = {{0, -1, 0}, {-1, 0, 0}, {0, 0, 0}, {1, 0, 0}, {0, 1, 0}};
    static const double v[] = {-1, -1, 0, -1, -1};
    oracle_matrix *m = make_constant(g, o, v, 5);
    for (int64_t row = 0; row < g.nx * g.ny; row++) {
        const int64_t x = row % g.nx, y = row / g.nx;
        const int64_t other[5] = {y > 0 ? row - g.nx : -1, x > 0 ? row - 1 : -1, -1,
                                  x < g.nx - 1 ? row + 1 : -1, y < g.ny - 1 ? row + g.nx : -1};
        double sum = 0;
        for (int e = 0; e < 5; e++) {
            double *a = &((double *)m->arrays[e])[row];
            *a = other[e] >= 0 && active[row] && active[other[e]] ? -sign : 0;
            sum += *a;
        }
        ((double *)m->arrays[2])[row] = -sum;
    }
    m->view.active = active;
    return m;
}

/* Nothing holds the mean of a basin: b must have none there, and x gets none. */
TEST(null_spaces) {
    const gsw_grid g = {40, 31, 1};
    const int64_t n = 40 * 31;
    uint8_t *active = keep_bytes((size_t)n);
    for (int kind = 0; kind < 3; kind++)
        for (int sign = -1; sign <= 1; sign += 2) {
            double *b = keep_random(3, n), *x = keep_zeros(n);
            double sum[2] = {0, 0}, count[2] = {0, 0};
            gsw_solver_report r = {.size = sizeof r};
            for (int64_t i = 0; i < n; i++) /* kind 1: an island; 2: a wall between two basins */
                active[i] = kind == 0   ? 1
                            : kind == 1 ? i % 40 < 10 || i % 40 > 20 || i < 400
                                        : i % 40 != 17;
            oracle_matrix *m = closed_domain(g, sign, active);
            if (kind == 0)
                m->view.active = NULL;
            for (int64_t i = 0; i < n; i++) {
                const int basin = kind == 2 && i % 40 > 17;
                sum[basin] += active[i] ? b[i] : 0;
                count[basin] += active[i];
            }
            for (int64_t i = 0; i < n; i++)
                b[i] = kind > 0 && !active[i]
                           ? NAN
                           : b[i] - sum[kind == 2 && i % 40 > 17] / count[kind == 2 && i % 40 > 17];
            must(context, gsw_solve(context, &m->view, NULL, b, x, &r));
            ck_assert(r.converged && r.residual <= 1e-8 && r.iterations < 60);
            sum[0] = sum[1] = 0;
            for (int64_t i = 0; i < n; i++) {
                sum[kind == 2 && i % 40 > 17] += x[i];
                ck_assert(active[i] || x[i] == 0);
            }
            ck_assert(fabs(sum[0]) < 1e-9 && fabs(sum[1]) < 1e-9);
            const gsw_krylov_options keep = {.size = sizeof keep, .keep_inactive = 1};
            const gsw_solver_options options = {.size = sizeof options, .krylov = &keep};
            oracle_fill(GSW_F64, x, n, 3);
            must(context, gsw_solve(context, &m->view, &options, b, x, &r));
            for (int64_t i = 0; i < n; i++)
                ck_assert(active[i] || x[i] == 3);
            b[41] += 1; /* in the first basin */
            ck_assert_int_eq(gsw_solve(context, &m->view, NULL, b, x, &r), GSW_ERROR_NOT_CONVERGED);
            ck_assert(!r.converged && r.residual > 1e-4);
            ck_assert_ptr_nonnull(strstr(r.message, "b does not fit the singular matrix"));
            if (kind == 2)
                ck_assert_ptr_nonnull(strstr(r.message, "one of 527 points, the first at 0, 0, 0"));
        }
}

/* Rows of zeros: a lake of one point without flux. */
TEST(rows_of_zeros) {
    const gsw_grid g = {20, 20, 1};
    const int64_t n = 400;
    uint8_t *active = keep_bytes((size_t)n);
    double *b = keep_zeros(n), *x = keep_zeros(n);
    gsw_solver_report r = {.size = sizeof r};
    for (int64_t i = 0; i < n; i++) {
        const int64_t dx = llabs(i % 20 - 10), dy = llabs(i / 20 - 10);
        active[i] = !(dx <= 1 && dy <= 1) || (dx == 0 && dy == 0);
        b[i] = !active[i] || i == 210 ? 0 : i % 40 < 20 ? 1 : -1;
    }
    double mean = 0;
    for (int64_t i = 0; i < n; i++)
        mean += b[i] / 391;
    for (int64_t i = 0; i < n; i++)
        b[i] -= active[i] && i != 210 ? mean : 0;
    oracle_matrix *m = closed_domain(g, 1, active);
    must(context, gsw_solve(context, &m->view, NULL, b, x, &r));
    ck_assert(r.converged && x[210] == 0);
    const gsw_krylov_options keep = {.size = sizeof keep, .keep_inactive = 1};
    const gsw_solver_options options = {.size = sizeof options, .krylov = &keep};
    oracle_fill(GSW_F64, x, n, 3);
    x[210] = 0;
    must(context, gsw_solve(context, &m->view, &options, b, x, &r));
    for (int64_t i = 0; i < n; i++)
        ck_assert(active[i] || x[i] == 3);
    b[210] = 1;
    ck_assert_int_eq(gsw_solve(context, &m->view, NULL, b, x, &r), GSW_ERROR_NOT_CONVERGED);
    ck_assert_ptr_nonnull(strstr(r.message, "rows of zeros"));
}

TEST(bad_arguments_are_refused) {
    static const gsw_offset o[] = {{0, 0, 0}, {1, 0, 0}, {-1, 0, 0}};
    static const double v[] = {2, -1, -1};
    oracle_matrix *c = make_constant((gsw_grid){20, 1, 1}, o, v, 3);
    gsw_solver *solver;
    gsw_solver_options options = {.size = sizeof options, .precond = (gsw_precond)8};
    double b[20], x[20];
    must_reject(gsw_solver_create(context, NULL, NULL, &solver));
    must_refuse(context, gsw_solver_create(context, &c->view, &options, &solver),
                GSW_ERROR_INVALID_ARGUMENT, "precond 8 is unknown");
    options = (gsw_solver_options){.size = sizeof options, .method = (gsw_solver_method)5};
    must_reject(gsw_solver_create(context, &c->view, &options, &solver));
    ck_assert_ptr_null(solver);
    must(context, gsw_solver_create(context, &c->view, NULL, &solver));
    for (int i = 0; i < 20; i++)
        b[i] = i == 3 ? NAN : 1;
    gsw_solver_report r = {.size = sizeof r};
    ck_assert_int_eq(gsw_solver_solve(context, solver, b, x, &r), GSW_ERROR_NON_FINITE);
    ck_assert_int_eq(r.attempts, 1);
    must_reject(gsw_solver_solve(context, NULL, b, x, NULL));
    must_reject(gsw_solver_solve(context, solver, b, b, NULL));
    gsw_solver_destroy(solver);
    gsw_solver_destroy(NULL);
}

int main(void) {
    Suite *suite = suite_create("solver");
    TCase *tc = context_case(suite, "solver", 120);
    TESTS(tc, chooses_by_itself, takes_what_is_named, biharmonic, limits_of_fp64, strong_convection,
          indefinite, periodic, no_diagonal, no_diagonal_and_no_hope, rows_that_are_not_finite,
          updates, fixed_points, null_spaces, rows_of_zeros, bad_arguments_are_refused);
    return backend_run_suite(suite);
}
