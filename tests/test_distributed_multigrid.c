/* test_distributed_multigrid.c: multigrid on several processes against one process. Threads act as
 * processes, as in test_distributed.c. */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "backend.h"
#include "common/seam.h"
#include "keep.h"
#include "thread_transport.h"

typedef struct system_of_test {
    const gsw_matrix *whole;
    gsw_multigrid_options options;
    gsw_method method;
    int32_t shape[3];
    int cycles;      /* 1: one cycle; 0: a whole solve */
    int refactor;    /* the values are doubled after the set-up, and b, too */
    int singular;    /* the null space holds the constants */
    int differs;     /* process 1 passes other options than the others */
    const double *b; /* of the whole grid */
    /* Results. */
    double *x;
    gsw_status status[HUB_PROCESSES];
    char message[HUB_PROCESSES][512];
    int iterations[HUB_PROCESSES];
    double residual;
    gsw_multigrid_info info;
    gsw_multigrid_level finest;
} system_of_test;

typedef struct part_of_test {
    gsw_context *context;
    gsw_partition *partition;
    gsw_matrix matrix;
    gsw_operator *A;
    gsw_multigrid *multigrid;
    gsw_preconditioner *M;
    double *b, *x;
} part_of_test;

static gsw_status solve(part_of_test *p, int rank, system_of_test *s) {
    if (s->cycles)
        return gsw_preconditioner_apply(p->context, p->M, p->b, p->x);
    gsw_krylov_options options = {.size = sizeof options, .max_iterations = 60};
    gsw_krylov_result result = {.size = sizeof result};
    options.nullspace = s->singular ? GSW_NULLSPACE_CONSTANT : GSW_NULLSPACE_NONE;
    TRY(gsw_krylov(p->context, s->method, p->A, p->M, &options, p->b, p->x, &result));
    s->iterations[rank] = (int)result.iterations;
    if (rank == 0)
        s->residual = result.residual;
    return GSW_SUCCESS;
}

static gsw_status work(part_of_test *p, hub_rank *rank, const gsw_transport *transport,
                       system_of_test *s) {
    gsw_partition_options options = {.size = sizeof options, .wait_limit = 60};
    memcpy(options.processes, s->shape, sizeof options.processes);
    TRY(gsw_partition_create(p->context, transport, &s->whole->grid, &options, &p->partition));
    const gsw_box box = gsw_partition_box(p->partition, rank->rank);
    const size_t points = (size_t)((box.end[0] - box.begin[0]) * (box.end[1] - box.begin[1]) *
                                   (box.end[2] - box.begin[2]));
    p->b = malloc(points * sizeof(double));
    p->x = calloc(points, sizeof(double));
    TRY(gsw_partition_distribute(p->partition, 0, rank->rank == 0 ? s->b : NULL, p->b));
    TRY(gsw_partition_scatter(p->partition, 0, rank->rank == 0 ? s->whole : NULL, &p->matrix));
    TRY(gsw_operator_from_matrix(p->context, &p->matrix, &p->A));
    gsw_multigrid_options own = s->options;
    own.post_sweeps += s->differs && rank->rank == 1;
    TRY(gsw_multigrid_create(p->context, &p->matrix, &own, &p->multigrid));
    TRY(gsw_preconditioner_from_multigrid(p->context, p->multigrid, &p->M));
    if (s->refactor) {
        for (int32_t e = 0; e < p->matrix.stencil.count; e++)
            for (size_t i = 0; i < points; i++)
                ((double *)(uintptr_t)p->matrix.array.values[e])[i] *= 2;
        for (size_t i = 0; i < points; i++)
            p->b[i] *= 2;
        TRY(gsw_multigrid_refactor(p->context, p->multigrid, &p->matrix));
        gsw_operator_destroy(p->A); /* with a mask it has a copy */
        p->A = NULL;
        TRY(gsw_operator_from_matrix(p->context, &p->matrix, &p->A));
    }
    TRY(solve(p, rank->rank, s));
    if (rank->rank == 0) {
        s->info.size = sizeof s->info;
        TRY(gsw_multigrid_get_info(p->multigrid, &s->info));
        s->finest.size = sizeof s->finest;
        TRY(gsw_multigrid_get_level(p->multigrid, 0, &s->finest));
    }
    return gsw_partition_collect(p->partition, 0, p->x, rank->rank == 0 ? s->x : NULL);
}

static void close_part(part_of_test *p) {
    gsw_preconditioner_destroy(p->M);
    gsw_multigrid_destroy(p->multigrid);
    gsw_operator_destroy(p->A);
    gsw_matrix_release(p->context, &p->matrix);
    gsw_partition_destroy(p->partition);
    gsw_context_destroy(p->context);
    free(p->b);
    free(p->x);
}

static void body(hub_rank *rank, const gsw_transport *transport, void *user) {
    system_of_test *s = user;
    part_of_test p = {.context = backend_context(1)};
    s->status[rank->rank] = work(&p, rank, transport, s);
    snprintf(s->message[rank->rank], sizeof s->message[0], "%s", gsw_context_message(p.context));
    close_part(&p);
}

static void run(int processes, system_of_test *s) {
    memset(s->iterations, 0, sizeof s->iterations);
    hub_run(processes, 0, -1, body, s);
    for (int r = 0; r < processes; r++) {
        ck_assert_msg(s->status[r] == GSW_SUCCESS, "process %d: %s", r, s->message[r]);
        ck_assert_int_eq(s->iterations[r], s->iterations[0]);
    }
}

/* The row at an offset of a row, also around a periodic grid; -1: it is outside. */
static int64_t neighbour(const gsw_grid *g, int64_t row, gsw_offset o) {
    int64_t to[3] = {row % g->nx + o.dx, row / g->nx % g->ny + o.dy, row / g->nx / g->ny + o.dz};
    return gsw_grid_take_in(g, to) ? gsw_grid_row(g, to[0], to[1], to[2]) : -1;
}

/* ---- Against one process ----------------------------------------------------------------------
 */

static const int32_t shapes[][4] = {{1, 0, 0, 0}, {2, 0, 0, 0}, {3, 0, 0, 0},
                                    {4, 2, 2, 1}, {4, 2, 1, 2}, {6, 0, 0, 0}};
enum { SHAPES = sizeof shapes / sizeof *shapes };

/* One cycle and one solve by gsw_multigrid. */
static int alone(const system_of_test *s, double *cycle, double *x) {
    gsw_context *context = keep(KEPT_CONTEXT, NULL, backend_context(2));
    const gsw_multigrid_options options = {.smoother = s->options.smoother,
                                           .cycle = s->options.cycle,
                                           .pre_sweeps = s->options.pre_sweeps,
                                           .post_sweeps = s->options.post_sweeps,
                                           .theta = s->options.theta};
    gsw_krylov_options krylov = {.size = sizeof krylov, .max_iterations = 60};
    gsw_krylov_result result = {.size = sizeof result};
    krylov.nullspace = s->singular ? GSW_NULLSPACE_CONSTANT : GSW_NULLSPACE_NONE;
    gsw_multigrid *multigrid = keep_multigrid(context, s->whole, options);
    gsw_preconditioner *M = keep_multigrid_M(context, multigrid);
    gsw_operator *A = keep_operator(context, s->whole);
    must(context, gsw_multigrid_apply(context, multigrid, s->b, cycle));
    must(context, gsw_krylov(context, s->method, A, M, &krylov, s->b, x, &result));
    return (int)result.iterations;
}

static const struct {
    const char *problem;
    gsw_method method;
    gsw_smoother smoother;
    int sweeps;
    int levels; /* on several processes, with two of them */
    gsw_cycle cycle;
} cases[] = {
    {"poisson:48x40x44", GSW_CG, GSW_SMOOTHER_AUTO, 1, 2, 0},
    {"lognormal:33x20x17", GSW_CG, GSW_SMOOTHER_GS, 2, 1, 0},
    {"lognormal:31x33x37", GSW_CG, GSW_SMOOTHER_JACOBI, 1, 2, 0},
    {"anisotropic:24x25x26", GSW_CG, GSW_SMOOTHER_AUTO, 1, 2, 0},
    {"convection:26x21x23", GSW_BICGSTAB, GSW_SMOOTHER_AUTO, 1, 1, 0},
    {"poisson:160x141", GSW_CG, GSW_SMOOTHER_SYMGS, 1, 2, 0},
    {"hpcg:31x32x29", GSW_CG, GSW_SMOOTHER_AUTO, 1, 1, 0},
    {"star13:25x26x27", GSW_BICGSTAB, GSW_SMOOTHER_AUTO, 1, 1, 0},
    {"box33:19x20x21", GSW_BICGSTAB, GSW_SMOOTHER_AUTO, 1, 1, 0},
    {"poisson:9x8x7", GSW_CG, GSW_SMOOTHER_AUTO, 1, 0, 0},
    {"poisson:48x40x44", GSW_CG, GSW_SMOOTHER_AUTO, 1, 2, GSW_CYCLE_W},
    {"poisson:48x40x44", GSW_BICGSTAB, GSW_SMOOTHER_AUTO, 2, 2, GSW_CYCLE_F},
    {"convection:36x31x33", GSW_BICGSTAB, GSW_SMOOTHER_AUTO, 1, 2, GSW_CYCLE_F},
    {"lognormal:31x33x37", GSW_CG, GSW_SMOOTHER_JACOBI, 1, 2, GSW_CYCLE_W},
    {"lognormal:31x33x37", GSW_CG, GSW_SMOOTHER_ILU0, 1, 2, 0},
    {"anisotropic:34x33x36", GSW_CG, GSW_SMOOTHER_ILU0_FINEST, 1, 3, 0},
    {"convection:36x31x33", GSW_BICGSTAB, GSW_SMOOTHER_ILU0, 1, 2, GSW_CYCLE_F},
    {"poisson:41x40x37", GSW_CG, GSW_SMOOTHER_CHEBYSHEV, 1, 2, 0},
    {"lognormal:31x33x37", GSW_CG, GSW_SMOOTHER_CHEBYSHEV, 2, 2, GSW_CYCLE_W},
};
enum { CASES = sizeof cases / sizeof *cases, FIRST_CYCLES = 10 };

TEST(global_cycles_are_those_of_one_process) {
    const gsw_matrix *whole = keep_problem(cases[_i].problem);
    const int64_t points = oracle_points(&whole->grid);
    double *b = keep_random(3, points), *x = keep_random(4, points);
    double *expected = keep_random(5, points), *solution = keep_zeros(points);
    system_of_test s = {.whole = whole,
                        .options = {.size = sizeof s.options,
                                    .scope = GSW_SCOPE_GLOBAL,
                                    .smoother = cases[_i].smoother,
                                    .cycle = cases[_i].cycle,
                                    .pre_sweeps = cases[_i].sweeps,
                                    .post_sweeps = cases[_i].sweeps},
                        .method = cases[_i].method,
                        .b = b,
                        .x = x};
    const int iterations = alone(&s, expected, solution);
    for (int j = 0; j < SHAPES; j++) {
        if ((whole->grid.nz == 1 && shapes[j][3] > 1) || (_i >= FIRST_CYCLES && j % 2 == 0))
            continue; /* two, four and six processes for the later ones */
        memcpy(s.shape, shapes[j] + 1, sizeof s.shape);
        s.cycles = 1;
        run(shapes[j][0], &s);
        const double error = oracle_error(GSW_F64, points, x, expected);
        ck_assert_msg(error <= 1e-11, "%s, shape %d: error %g", cases[_i].problem, j, error);
        ck_assert_int_eq(s.finest.points, points);
        ck_assert_int_eq(s.finest.grid.ny, whole->grid.ny);
        if (shapes[j][0] == 2)
            ck_assert_int_eq(s.info.shared_levels, cases[_i].levels);
        s.cycles = 0;
        run(shapes[j][0], &s);
        memcpy(solution, x, (size_t)points * sizeof *x);
        run(shapes[j][0], &s);
        ck_assert_mem_eq(x, solution, (size_t)points * sizeof *x); /* on every run */
        ck_assert_msg(abs(s.iterations[0] - iterations) <= 1, "%s, shape %d: %d iterations, not %d",
                      cases[_i].problem, j, s.iterations[0], iterations);
        ck_assert_double_le(s.residual, 1e-8);
        s.refactor = 1;
        s.cycles = 1;
        run(shapes[j][0], &s);
        ck_assert_double_le(oracle_error(GSW_F64, points, x, expected), 1e-11);
        s.refactor = 0;
    }
    s.options.scope = GSW_SCOPE_LOCAL;
    s.shape[0] = s.shape[1] = s.shape[2] = 0;
    s.cycles = 0;
    run(3, &s);
    ck_assert_double_le(s.residual, 1e-8);
    ck_assert_msg(s.iterations[0] <= iterations + 3, "%s, local: %d iterations, not %d",
                  cases[_i].problem, s.iterations[0], iterations);
}

/* ---- What the library chooses -----------------------------------------------------------------
 */

typedef struct solve_of_test {
    const gsw_matrix *whole;
    const double *b; /* of the whole grid */
    double *x;       /* likewise; NULL: not wanted */
    gsw_solver_report report[HUB_PROCESSES];
    gsw_status status[HUB_PROCESSES];
    char message[HUB_PROCESSES][512];
} solve_of_test;

static gsw_status solve_part(part_of_test *p, const hub_rank *rank, const gsw_transport *transport,
                             solve_of_test *s) {
    const gsw_multigrid_options multigrid = {.size = sizeof multigrid, .scope = GSW_SCOPE_GLOBAL};
    const gsw_factor_options factor = {.size = sizeof factor, .scope = GSW_SCOPE_GLOBAL};
    const gsw_solver_options options = {
        .size = sizeof options, .multigrid = &multigrid, .factor = &factor};
    const int root = rank->rank == 0;
    TRY(gsw_partition_create(p->context, transport, &s->whole->grid, NULL, &p->partition));
    TRY(gsw_partition_scatter(p->partition, 0, root ? s->whole : NULL, &p->matrix));
    TRY(gsw_operator_from_matrix(p->context, &p->matrix, &p->A));
    p->b = malloc((size_t)gsw_operator_points(p->A) * sizeof(double));
    p->x = calloc((size_t)gsw_operator_points(p->A), sizeof(double));
    TRY(gsw_partition_distribute(p->partition, 0, root ? s->b : NULL, p->b));
    TRY(gsw_solve(p->context, &p->matrix, &options, p->b, p->x, &s->report[rank->rank]));
    return s->x == NULL ? GSW_SUCCESS
                        : gsw_partition_collect(p->partition, 0, p->x, root ? s->x : NULL);
}

static void solve_body(hub_rank *rank, const gsw_transport *transport, void *user) {
    solve_of_test *s = user;
    part_of_test p = {.context = backend_context(1)};
    s->report[rank->rank].size = sizeof s->report[0];
    s->status[rank->rank] = solve_part(&p, rank, transport, s);
    snprintf(s->message[rank->rank], sizeof s->message[0], "%s", gsw_context_message(p.context));
    close_part(&p);
}

TEST(the_choice_is_that_of_one_process) {
    static const char *const problems[] = {
        "poisson:40x41x42",    "convection:24x25x26",  "lognormal:33x32x31",  "poisson:9x10x11",
        "random:3:20x21x22",   "helmholtz19:20x21x22", "anisotropic:9x90x80", "box33:12x13x14",
        "ocean:0.35:30x31x32", "reservoir:30x31x32",   "obstacles:90x80",     "channel:32x30x28",
        "globe:40x35x21"};
    gsw_context *context = keep(KEPT_CONTEXT, NULL, backend_context(1));
    const gsw_matrix *whole = keep_problem(problems[_i]);
    const int64_t points = oracle_points(&whole->grid);
    double *b = keep_random(3, points), *x = keep_zeros(points);
    solve_of_test s = {.whole = whole, .b = b};
    gsw_solver_report alone = {.size = sizeof alone};
    must(context, gsw_solve(context, s.whole, NULL, b, x, &alone));
    for (int processes = 2; processes <= 4; processes++) {
        hub_run(processes, 0, -1, solve_body, &s);
        for (int r = 0; r < processes; r++) {
            ck_assert_msg(s.status[r] == GSW_SUCCESS, "process %d: %s", r, s.message[r]);
            ck_assert_str_eq(s.report[r].first_precond, alone.first_precond);
            ck_assert_str_eq(s.report[r].first_method, alone.first_method);
            ck_assert_str_eq(s.report[r].precond, s.report[0].precond);
            ck_assert_int_eq(s.report[r].iterations, s.report[0].iterations);
            ck_assert_double_le(s.report[r].residual, 1e-8);
        }
        if (whole->active != NULL) /* lakes of one point are fixed points */
            ck_assert_int_le(llabs(s.report[0].iterations - alone.iterations), 1);
    }
}

/* Boundary values as rows of the identity, or by a large diagonal: without them the matrix is
 * symmetric. */
TEST(fixed_points_are_those_of_one_process) {
    const gsw_grid g = {20, 21, 22};
    gsw_context *context = keep(KEPT_CONTEXT, NULL, backend_context(1));
    oracle_matrix *matrix = keep_matrix_of(&g, oracle_stencil_named("D3N7"), 1, ORACLE_POSITIVE);
    const gsw_matrix *poisson = keep_problem("poisson:20x21x22");
    const int64_t points = oracle_points(&g);
    double *b = keep_random(3, points), *x = keep_zeros(points), *r = keep_zeros(points);
    uint8_t *active = keep(KEPT_BYTES, NULL, malloc((size_t)points));
    for (int64_t row = 0; row < points; row++) {
        const int is_fixed = row % g.nx == 0 || row % 97 == 5;
        for (int32_t e = 0; e < 7; e++) {
            const double value = ((const double *)poisson->array.values[e])[row];
            const int center = e == matrix->view.stencil.center;
            ((double *)matrix->arrays[e])[row] = !is_fixed ? value
                                                 : center  ? (_i % 2 ? 1e9 : 1)
                                                 : _i % 2  ? value
                                                           : 0;
        }
        active[row] = row % 89 != 7;
    }
    if (_i >= 2)
        matrix->view.active = active;
    solve_of_test s = {.whole = &matrix->view, .b = b, .x = x};
    gsw_solver_report alone = {.size = sizeof alone};
    must(context, gsw_solve(context, s.whole, NULL, b, r, &alone));
    ck_assert_ptr_nonnull(strstr(alone.reason, "fixed"));
    for (int processes = 2; processes <= 4; processes++) {
        hub_run(processes, 0, -1, solve_body, &s);
        for (int i = 0; i < processes; i++) {
            ck_assert_msg(s.status[i] == GSW_SUCCESS, "process %d: %s", i, s.message[i]);
            ck_assert_str_eq(s.report[i].reason, alone.reason);
            ck_assert_int_le(llabs(s.report[i].iterations - alone.iterations), 1);
            ck_assert(s.report[i].converged);
        }
        must(context, gsw_residual(context, s.whole, GSW_F64, b, x, r));
        double left = 0, square = 0;
        for (int64_t row = 0; row < points; row++) {
            left += r[row] * r[row];
            square += _i < 2 || active[row] ? b[row] * b[row] : 0;
        }
        ck_assert_double_le(sqrt(left / square), 1.1e-8);
    }
}

/* The Laplacian without boundary conditions: the rows add up to 0. `active` may be NULL. */
static oracle_matrix *neumann(const gsw_grid *g, const uint8_t *active) {
    oracle_matrix *matrix = keep_matrix_of(g, oracle_stencil_named("D3N7"), 1, ORACLE_POSITIVE);
    const gsw_stencil *stencil = &matrix->view.stencil;
    for (int64_t row = 0; row < oracle_points(g); row++) {
        double sum = 0;
        for (int32_t e = 0; e < stencil->count; e++) {
            const int64_t other = neighbour(g, row, stencil->offsets[e]);
            const int inside =
                e != stencil->center && other >= 0 && (active == NULL || active[other]);
            ((double *)matrix->arrays[e])[row] = inside ? -1 : 0;
            sum += inside;
        }
        ((double *)matrix->arrays[stencil->center])[row] = sum;
    }
    matrix->view.active = active;
    return matrix;
}

/* Nothing holds the mean: of the box, of an ocean behind a wall with a hole, and of three basins.
 * b fits, or it does not. */
TEST(null_spaces_are_those_of_one_process) {
    const gsw_grid g = {20, 21, 26};
    const int walls = _i / 2, fits = _i % 2 == 0;
    const int64_t points = oracle_points(&g);
    gsw_context *context = keep(KEPT_CONTEXT, NULL, backend_context(1));
    uint8_t *active = keep(KEPT_BYTES, NULL, malloc((size_t)points));
    double *b = keep_random(3, points), *x = keep_zeros(points), *expected = keep_zeros(points);
    double sum[3] = {0, 0, 0}, size[3] = {0, 0, 0};
    for (int64_t row = 0; row < points; row++) {
        const int64_t y = row / g.nx % g.ny, z = row / g.nx / g.ny;
        const int basin = walls < 2 ? 0 : (z > 11) + (z > 11 && y > 8);
        active[row] = walls == 0 || (z != 11 || (walls == 1 && y == 3));
        active[row] = active[row] && !(walls == 2 && z > 11 && y == 8);
        b[row] = !active[row] ? NAN : fits ? b[row] : b[row] + 0.1 * basin + 0.01;
        sum[basin] += active[row] ? b[row] : 0;
        size[basin] += active[row];
    }
    for (int64_t row = 0; row < points && fits; row++) {
        const int64_t y = row / g.nx % g.ny, z = row / g.nx / g.ny;
        const int basin = walls < 2 ? 0 : (z > 11) + (z > 11 && y > 8);
        b[row] -= sum[basin] / size[basin];
    }
    oracle_matrix *matrix = neumann(&g, walls == 0 ? NULL : active);
    solve_of_test s = {.whole = &matrix->view, .b = b, .x = x};
    gsw_solver_report alone = {.size = sizeof alone};
    const gsw_status status = gsw_solve(context, s.whole, NULL, b, expected, &alone);
    ck_assert_int_eq(status, fits ? GSW_SUCCESS : GSW_ERROR_NOT_CONVERGED);
    for (int processes = 2; processes <= 4; processes++) {
        hub_run(processes, 0, -1, solve_body, &s);
        for (int i = 0; i < processes; i++) {
            ck_assert_msg(s.status[i] == status, "process %d: %s", i, s.message[i]);
            ck_assert_str_eq(s.report[i].message, alone.message);
            ck_assert_int_le(llabs(s.report[i].iterations - alone.iterations), 1);
            ck_assert_double_le(fabs(s.report[i].removed - alone.removed), 1e-12);
        }
        if (fits)
            ck_assert_double_le(oracle_error(GSW_F64, points, x, expected), 1e-5);
    }
}

/* A solve takes the iterations of one process, or one more or less. */
static void run_like_one(int processes, system_of_test *s, int iterations) {
    run(processes, s);
    ck_assert_msg(abs(s->iterations[0] - iterations) <= 1, "%d iterations, not %d",
                  s->iterations[0], iterations);
    ck_assert_double_le(s->residual, 1e-8);
}

/* ---- Special matrices, and errors --------------------------------------------------------------
 */

TEST(a_singular_matrix_converges) {
    const gsw_grid g = {24, 26, 28};
    oracle_matrix *matrix = neumann(&g, NULL);
    const int64_t points = oracle_points(&g);
    double *b = keep_random(3, points), *x = keep_zeros(points);
    double *cycle = keep_random(5, points), mean = 0;
    for (int64_t i = 0; i < points; i++)
        mean += b[i] / (double)points;
    for (int64_t i = 0; i < points; i++)
        b[i] -= mean;
    system_of_test s = {.whole = &matrix->view,
                        .options = {.size = sizeof s.options, .scope = GSW_SCOPE_GLOBAL},
                        .method = GSW_CG,
                        .singular = 1,
                        .b = b,
                        .x = x};
    const int iterations = alone(&s, cycle, x);
    run_like_one(3, &s, iterations);
}

/* A slab finds the nearest active rows that one process finds; other boxes may find others. */
TEST(a_mask_takes_the_iterations_of_one_process) {
    static const char *const problems[] = {"ocean:0.35:48x44x40", "reservoir:40x48x36",
                                           "obstacles:90x140", "ocean:0.5:120x131",
                                           "ocean:0.35:32x33x34"};
    const gsw_matrix *whole = keep_problem(problems[_i]);
    const int64_t points = oracle_points(&whole->grid);
    gsw_context *context = keep(KEPT_CONTEXT, NULL, backend_context(1));
    double *b = keep_random(3, points), *x = keep_zeros(points), *r = keep_zeros(points);
    double *cycle = keep_random(5, points);
    system_of_test s = {.whole = whole,
                        .options = {.size = sizeof s.options, .scope = GSW_SCOPE_GLOBAL},
                        .method = GSW_CG,
                        .b = b,
                        .x = x};
    double square = 0;
    for (int64_t row = 0; row < points; row++) {
        square += whole->active[row] ? b[row] * b[row] : 0;
        b[row] = whole->active[row] ? b[row] : NAN;
    }
    const int iterations = alone(&s, cycle, x);
    for (int j = 1; j < 2 * SHAPES; j++) {
        const int32_t *shape = shapes[j % SHAPES];
        if (whole->grid.nz == 1 && shape[3] > 1)
            continue;
        memcpy(s.shape, shape + 1, sizeof s.shape);
        s.refactor = j % 2;
        s.options.scope = j < SHAPES ? GSW_SCOPE_GLOBAL : GSW_SCOPE_LOCAL;
        run(shape[0], &s);
        const int more = j < SHAPES ? 1 : 2 * iterations / 3;
        ck_assert_msg(s.iterations[0] <= iterations + more, "%s, shape %d: %d iterations, not %d",
                      problems[_i], j, s.iterations[0], iterations);
        must(context, gsw_residual(context, whole, GSW_F64, b, x, r)); /* 0 at inactive points */
        double left = 0;
        for (int64_t row = 0; row < points; row++) {
            left += r[row] * r[row];
            ck_assert(whole->active[row] || x[row] == 0);
        }
        ck_assert_double_le(sqrt(left / square), 1.1e-8);
    }
}

/* Shifted Laplacians with random coefficients on periodic grids. Odd extents along a periodic axis
 * are brought together at once. */
TEST(periodic_cycles_are_those_of_one_process) {
    static const struct {
        gsw_grid grid;
        const char *stencil;
        int levels; /* on several processes, with two of them */
    } periodic[] = {{{24, 20, 28, 7}, "D3N7", 1},  {{40, 44, 48, 4}, "D3N7", 2},
                    {{24, 22, 26, 3}, "D3N27", 1}, {{20, 40, 31, 1}, "D3N7", 1},
                    {{160, 144, 1, 3}, "D2N5", 2}, {{25, 24, 24, 1}, "D3N7", 0},
                    {{40, 40, 40, 5}, "D3N19", 2}, {{6, 80, 60, 3}, "D3N7", 1}};
    const gsw_grid *g = &periodic[_i].grid;
    const gsw_stencil *stencil = oracle_stencil_named(periodic[_i].stencil);
    oracle_matrix *matrix = keep_matrix_of(g, stencil, 1, ORACLE_POSITIVE);
    const int64_t points = oracle_points(g);
    double *b = keep_random(3, points), *x = keep_random(4, points), *k = keep_random(6, points);
    double *expected = keep_random(5, points), *solution = keep_zeros(points);
    for (int64_t row = 0; row < points; row++) {
        double sum = 1e-3;
        for (int32_t e = 0; e < stencil->count; e++) {
            const int64_t other = neighbour(g, row, stencil->offsets[e]);
            const int inside = other >= 0 && e != stencil->center;
            const double coupling = inside ? 2.5 + k[row] + k[other] : 0;
            ((double *)matrix->arrays[e])[row] = inside ? -coupling : NAN; /* never read */
            sum += coupling;
        }
        ((double *)matrix->arrays[stencil->center])[row] = sum;
    }
    matrix->view.grid = *g;
    system_of_test s = {.whole = &matrix->view,
                        .options = {.size = sizeof s.options, .scope = GSW_SCOPE_GLOBAL},
                        .method = GSW_CG,
                        .b = b,
                        .x = x};
    const int iterations = alone(&s, expected, solution);
    for (int j = 1; j < SHAPES; j++) {
        if (g->nz == 1 && shapes[j][3] > 1)
            continue;
        memcpy(s.shape, shapes[j] + 1, sizeof s.shape);
        for (s.refactor = 0; s.refactor < 2; s.refactor++) {
            s.cycles = 1;
            run(shapes[j][0], &s);
            const double error = oracle_error(GSW_F64, points, x, expected);
            ck_assert_msg(error <= 1e-11, "case %d, shape %d: error %g", _i, j, error);
            if (shapes[j][0] == 2)
                ck_assert_int_eq(s.info.shared_levels, periodic[_i].levels);
        }
        s.refactor = s.cycles = 0;
        run(shapes[j][0], &s);
        ck_assert_msg(abs(s.iterations[0] - iterations) <= 1, "case %d, shape %d: %d, not %d", _i,
                      j, s.iterations[0], iterations);
        ck_assert_double_le(oracle_error(GSW_F64, points, x, solution), 1e-6);
    }
}

/* The Krylov method finds the cycles slow, and ILU(0) takes over. */
TEST(a_stretched_grid_gets_ilu_as_on_one_process) {
    oracle_matrix *matrix = keep(KEPT_ORACLE, NULL, oracle_stretched(32, 1.3));
    const int64_t points = oracle_points(&matrix->view.grid);
    double *b = keep_random(3, points), *x = keep_zeros(points);
    double *cycle = keep_random(5, points);
    system_of_test s = {.whole = &matrix->view,
                        .options = {.size = sizeof s.options, .scope = GSW_SCOPE_GLOBAL},
                        .method = GSW_CG,
                        .b = b,
                        .x = x};
    const int iterations = alone(&s, cycle, x);
    for (int processes = 2; processes <= 3; processes++) {
        run_like_one(processes, &s, iterations);
        ck_assert_int_eq(s.info.smoother, GSW_SMOOTHER_ILU0);
        ck_assert_int_gt(s.info.shared_levels, 0);
    }
}

/* 24^3 points, halved along each axis, on three processes. */
TEST(levels_are_whole_from_the_points_asked_for) {
    static const struct {
        int64_t whole;
        int levels; /* on several processes */
    } asked[] = {{14000, 0}, {13824, 0}, {13823, 1}, {1728, 1}, {1727, 2}, {1, 3}};
    const gsw_matrix *whole = keep_problem("poisson:24x24x24");
    double *b = keep_random(3, 13824), *x = keep_random(4, 13824);
    int iterations = 0;
    for (size_t i = 0; i < sizeof asked / sizeof *asked; i++) {
        system_of_test s = {.whole = whole,
                            .options = {.size = sizeof s.options,
                                        .scope = GSW_SCOPE_GLOBAL,
                                        .whole_points = asked[i].whole},
                            .method = GSW_CG,
                            .b = b,
                            .x = x};
        run(3, &s);
        iterations = i == 0 ? s.iterations[0] : iterations;
        ck_assert_int_eq(s.info.shared_levels, asked[i].levels);
        ck_assert_int_eq(s.iterations[0], iterations);
        ck_assert_double_le(s.residual, 1e-8);
    }
}

TEST(wrong_arguments_are_refused_by_all) {
    const gsw_grid g = {20, 20, 20};
    oracle_matrix *matrix = keep_matrix_of(&g, oracle_stencil_named("D3N7"), 11, ORACLE_POSITIVE);
    const int64_t points = oracle_points(&g);
    double *b = keep_random(3, points), *x = keep_random(4, points);
    const struct {
        gsw_multigrid_options options;
        gsw_status status;
        const char *message;
    } wrong[] = {
        {{.smoother = GSW_SMOOTHER_MULTICOLOR}, GSW_ERROR_UNSUPPORTED, "smoother multicolor"},
        {{.scope = (gsw_scope)7}, GSW_ERROR_INVALID_ARGUMENT, "options->scope 7"},
        {{.theta = 2}, GSW_ERROR_INVALID_ARGUMENT, "options->theta 2"},
        {{.pre_sweeps = -1}, GSW_ERROR_INVALID_ARGUMENT, "options->pre_sweeps -1"},
        {{.post_sweeps = 2000}, GSW_ERROR_INVALID_ARGUMENT, "options->post_sweeps 2000"},
        {{.cycle_type = (gsw_dtype)5}, GSW_ERROR_INVALID_ARGUMENT, "options->cycle_type 5"},
        {{.interpolation = GSW_INTERPOLATION_INJECTION},
         GSW_ERROR_UNSUPPORTED,
         "neither injection"},
        {{.whole_points = -3}, GSW_ERROR_INVALID_ARGUMENT, "options->whole_points -3"},
        {{.post_sweeps = 2}, GSW_ERROR_INVALID_ARGUMENT, "options: process 1 passes another one"},
        {{.smoother = GSW_SMOOTHER_AUTO},
         GSW_ERROR_ZERO_PIVOT,
         "row 4867 (0-based), (x, y, z) = (7, 3, 12) is zero"},
    };
    enum { OTHERS = 8, BAD_ROW };
    for (int i = 0; i <= BAD_ROW; i++) {
        system_of_test s = {
            .whole = &matrix->view, .options = wrong[i].options, .cycles = 1, .b = b, .x = x};
        s.options.size = sizeof s.options;
        s.differs = i == OTHERS;
        if (i == BAD_ROW)
            ((double *)matrix->arrays[3])[7 + 20 * (3 + 20 * 12)] = 0;
        hub_run(3, 0, -1, body, &s);
        for (int r = 0; r < 3; r++) {
            ck_assert_int_eq(s.status[r], wrong[i].status);
            ck_assert_msg(strstr(s.message[r], wrong[i].message) != NULL, "%s", s.message[r]);
        }
    }
}

int main(int argc, char **argv) {
    backend_choose(argc, argv);
    Suite *suite = suite_create("distributed_multigrid");
    TCase *tc = suite_case(suite, "distributed_multigrid", 300, NULL, keep_release_all);
    tcase_add_loop_test(tc, global_cycles_are_those_of_one_process, on_reference() ? 1 : 0,
                        on_reference() ? 2 : CASES);
    if (on_reference())
        return backend_run_suite(suite);
    TESTS(tc, a_singular_matrix_converges, a_stretched_grid_gets_ilu_as_on_one_process,
          levels_are_whole_from_the_points_asked_for, wrong_arguments_are_refused_by_all);
    LOOPS(tc, 8, periodic_cycles_are_those_of_one_process);
    LOOPS(tc, 6, null_spaces_are_those_of_one_process);
    LOOPS(tc, 4, fixed_points_are_those_of_one_process);
    LOOPS(tc, 13, the_choice_is_that_of_one_process);
    LOOPS(tc, 5, a_mask_takes_the_iterations_of_one_process);
    return backend_run_suite(suite);
}
