/* test_many.c: many systems in one call: each gets what it gets alone. */
#include <math.h>
#include <string.h>

#include <check.h>
#include <gridsweep/gridsweep.h>

#include "hard_matrix.h"
#include "krylov_truth.h"
#include "solve/stack.h"

enum { MOST = 12 };

/* Systems of their own coefficients on one grid, b one after the other, and x of zeros. */
typedef struct systems {
    int count;
    int64_t n;
    gsw_matrix on_host[MOST], matrix[MOST];
    double *b, *x; /* on the host */
} systems;

static systems make(gsw_grid grid, int count) {
    systems s = {.count = count, .n = oracle_points(&grid)};
    s.b = keep_random(3, count * s.n);
    s.x = keep_zeros(count * s.n);
    for (int k = 0; k < count; k++) {
        const hard_matrix like = {
            .grid = grid, .decades = 0.5 * (k % 3), .z = 1 + 0.3 * k, .shift = k % 2 ? 1e-3 : 0.1};
        s.on_host[k] = hard_arrays_of(&like).view;
        s.matrix[k] = *keep_there(context, &s.on_host[k]);
        for (int64_t i = 0; i < s.n; i++)
            s.b[k * s.n + i] *= pow(10, 3 * (k % 4) - 4);
    }
    return s;
}

/* Solves all in one call; x comes back to the host. */
static gsw_status solve_many(gsw_solver *solver, const systems *s, double *x,
                             gsw_solver_report *report) {
    device_vector b = keep_guarded(GSW_F64, s->count * s->n);
    device_vector there = keep_guarded(GSW_F64, s->count * s->n);
    device_put(context, &b, s->b);
    device_put(context, &there, s->x);
    *report = (gsw_solver_report){.size = sizeof *report};
    const gsw_status status = gsw_solver_solve(context, solver, b.values, there.values, report);
    device_get(context, &there, x);
    return status;
}

static double residual_of(const systems *s, int k, const double *x) {
    long double *r = keep_bytes((size_t)s->n * sizeof *r);
    long double *wanted = keep_bytes((size_t)s->n * sizeof *r);
    const truth t = truth_vectors(&s->on_host[k], NULL, s->b + k * s->n, x + k * s->n, r, wanted);
    return (double)(t.residual / t.b);
}

static const gsw_grid grids[] = {{9, 8, 7}, {17, 16, 1}, {12, 11, 10},
                                 {5, 1, 6}, {1, 1, 30},  {24, 20, 16}};

TEST(each_converges_by_itself) {
    static const gsw_precond preconds[] = {GSW_PRECOND_AUTO, GSW_PRECOND_MULTIGRID, GSW_PRECOND_IC0,
                                           GSW_PRECOND_JACOBI};
    systems s = make(grids[_i], MOST);
    double *x = keep_zeros(s.count * s.n);
    for (size_t p = 0; p < sizeof preconds / sizeof *preconds; p++) {
        const gsw_solver_options options = {.size = sizeof options, .precond = preconds[p]};
        gsw_solver *solver;
        gsw_solver_report report, again;
        must(context, gsw_solver_create_many(context, s.count, s.matrix, &options, &solver));
        must(context, solve_many(solver, &s, x, &report));
        ck_assert_int_eq(report.converged, 1);
        ck_assert(report.residual <= 1e-8 && report.iterations > 0 && report.setup_ms > 0);
        for (int k = 0; k < s.count; k++) {
            gsw_system_report one = {.size = sizeof one};
            must(context, gsw_solver_get_system(solver, k, &one));
            ck_assert_int_eq(one.converged, 1);
            ck_assert_int_eq(one.status, GSW_SUCCESS);
            ck_assert(one.residual <= 1e-8 && one.iterations <= report.iterations);
            ck_assert(residual_of(&s, k, x) <= 1.0001e-8);
        }
        again = (gsw_solver_report){.size = sizeof again};
        must(context, gsw_solver_get_report(solver, &again));
        ck_assert_int_eq(again.iterations, report.iterations);
        gsw_choice choice = {.size = sizeof choice};
        must(context, gsw_solver_get_choice(solver, &choice));
        ck_assert_int_eq(choice.method, GSW_CG);
        gsw_solver_destroy(solver);
    }
}

/* On the CPU a system has the bits that it has alone, whoever solves it. */
TEST(systems_have_the_bits_of_one) {
    systems s = make((gsw_grid){14, 13, 12}, MOST);
    double *x = keep_zeros(s.count * s.n), *alone = keep_zeros(s.n);
    gsw_solver *solver;
    gsw_solver_report report;
    must(context, gsw_solver_create_many(context, s.count, s.matrix, NULL, &solver));
    must(context, solve_many(solver, &s, x, &report));
    for (int k = 0; k < s.count; k++) {
        oracle_fill(GSW_F64, alone, s.n, 0);
        must(context, gsw_solve(context, &s.matrix[k], NULL, s.b + k * s.n, alone, NULL));
        ck_assert_mem_eq(alone, x + k * s.n, (size_t)s.n * sizeof *x);
    }
    gsw_solver_destroy(solver);
}

TEST(one_that_fails_is_named) {
    systems s = make((gsw_grid){9, 8, 7}, 5);
    double *x = keep_zeros(s.count * s.n);
    gsw_solver *solver;
    gsw_solver_report report;
    gsw_system_report one = {.size = sizeof one};
    must(context, gsw_solver_create_many(context, s.count, s.matrix, NULL, &solver));
    s.b[3 * s.n + 5] = NAN;
    ck_assert_int_eq(solve_many(solver, &s, x, &report), GSW_ERROR_NON_FINITE);
    assert_message("system 3: ");
    ck_assert_int_eq(report.converged, 0);
    ck_assert_ptr_nonnull(strstr(report.message, "system 3: "));
    for (int k = 0; k < s.count; k++) {
        must(context, gsw_solver_get_system(solver, k, &one));
        ck_assert_int_eq(one.converged, k != 3);
        if (k != 3)
            ck_assert(residual_of(&s, k, x) <= 1.0001e-8);
    }
    s.b[3 * s.n + 5] = 1;
    must(context, solve_many(solver, &s, x, &report));
    gsw_solver_destroy(solver);
}

TEST(an_update_takes_other_values) {
    systems s = make((gsw_grid){11, 10, 9}, 7), other = make((gsw_grid){11, 10, 9}, 7);
    double *x = keep_zeros(s.count * s.n);
    gsw_solver *solver;
    gsw_solver_report report;
    must(context, gsw_solver_create_many(context, s.count, s.matrix, NULL, &solver));
    for (int k = 0; k < 3; k++) { /* a permutation of the systems */
        const gsw_matrix host = other.on_host[k], there = other.matrix[k];
        other.on_host[k] = other.on_host[6 - k];
        other.matrix[k] = other.matrix[6 - k];
        other.on_host[6 - k] = host;
        other.matrix[6 - k] = there;
    }
    must(context, gsw_solver_update_many(context, solver, other.matrix));
    must(context, solve_many(solver, &other, x, &report));
    for (int k = 0; k < s.count; k++)
        ck_assert(residual_of(&other, k, x) <= 1.0001e-8);
    gsw_solver_destroy(solver);
}

/* A stack is what a device has; the CPU's is the same code. */
TEST(a_stack_solves_each) {
    systems s = make(grids[_i], MOST);
    const gsw_krylov_options krylov = {.size = sizeof krylov, .rtol = 1e-7};
    const gsw_solver_options options = {
        .size = sizeof options, .precond = GSW_PRECOND_MULTIGRID, .krylov = &krylov};
    double *x = keep_zeros(s.count * s.n);
    device_vector b = keep_guarded(GSW_F64, s.count * s.n);
    device_vector there = keep_guarded(GSW_F64, s.count * s.n);
    gsw_stack stack;
    gsw_solver_report report = {.size = sizeof report};
    gsw_system_report found[MOST];
    oracle_fill(GSW_F64, s.b + 2 * s.n, s.n, 0);
    s.b[4 * s.n] = INFINITY;
    oracle_fill(GSW_F64, s.x, s.count * s.n, 0.5);
    device_put(context, &b, s.b);
    device_put(context, &there, s.x);
    ck_assert_int_eq(gsw_stack_takes(s.matrix, s.count), 1);
    must(context, gsw_stack_open(context, s.matrix, s.count, &options, &stack));
    must(context,
         gsw_stack_solve(&stack, (const double *)b.values, (double *)there.values, &report, found));
    device_get(context, &there, x);
    for (int k = 0; k < s.count; k++) {
        ck_assert_int_eq(found[k].converged, k != 4);
        for (int64_t i = 0; i < s.n && k == 2; i++)
            ck_assert(x[k * s.n + i] == 0);
        for (int64_t i = 0; i < s.n && k == 4; i++)
            ck_assert(x[k * s.n + i] == 0.5);
        if (k != 2 && k != 4)
            ck_assert(found[k].residual <= 1e-7 && residual_of(&s, k, x) <= 1.0001e-7);
    }
    gsw_stack_close(&stack);
}

TEST(masks_and_csr_are_taken) {
    systems s = make((gsw_grid){9, 8, 7}, 4);
    uint8_t *active = keep_bytes((size_t)s.n);
    double *x = keep_zeros(s.count * s.n);
    gsw_matrix csr[4];
    gsw_solver *solver;
    gsw_solver_report report;
    for (int64_t i = 0; i < s.n; i++)
        active[i] = i % 5 != 0;
    for (int k = 0; k < s.count; k++) {
        gsw_csr rows;
        must(context, gsw_matrix_to_csr(context, &s.on_host[k], GSW_FULL, GSW_I32, &rows));
        must(context, gsw_matrix_from_csr(context, &s.on_host[k].grid, &s.on_host[k].stencil, &rows,
                                          &csr[k]));
        (void)keep_csr(rows);
    }
    must(context, gsw_solver_create_many(context, s.count, csr, NULL, &solver));
    must(context, solve_many(solver, &s, x, &report));
    for (int k = 0; k < s.count; k++)
        ck_assert(residual_of(&s, k, x) <= 1.0001e-8);
    gsw_solver_destroy(solver);
    for (int k = 0; k < s.count; k++)
        csr[k].active = active;
    must(context, gsw_solver_create_many(context, s.count, csr, NULL, &solver));
    must(context, solve_many(solver, &s, x, &report));
    for (int64_t i = 0; i < s.count * s.n; i++)
        ck_assert(active[i % s.n] ? x[i] != 0 : x[i] == 0);
    gsw_solver_destroy(solver);
}

static int monitor(void *user, int64_t iteration, double residual) {
    (void)user, (void)iteration, (void)residual;
    return 0;
}

TEST(bad_arguments_are_refused) {
    systems s = make((gsw_grid){5, 4, 3}, 3);
    const gsw_krylov_options watched = {.size = sizeof watched, .monitor = monitor};
    const gsw_solver_options options = {.size = sizeof options, .krylov = &watched};
    gsw_solver *solver = (gsw_solver *)(uintptr_t)8;
    gsw_system_report one = {.size = sizeof one};
    expect_rejection(gsw_solver_create_many(context, 0, s.matrix, NULL, &solver), "count is 0");
    ck_assert_ptr_null(solver);
    expect_rejection(gsw_solver_create_many(context, 3, NULL, NULL, &solver), "matrices is NULL");
    expect_rejection(gsw_solver_create_many(context, 3, s.matrix, NULL, NULL), "solver is NULL");
    expect_rejection(gsw_solver_create_many(context, 3, s.matrix, &options, &solver),
                     "krylov.monitor");
    gsw_matrix other = s.matrix[1];
    s.matrix[1].grid = (gsw_grid){4, 5, 3};
    expect_rejection(gsw_solver_create_many(context, 3, s.matrix, NULL, &solver),
                     "number 1 has another grid");
    s.matrix[1] = other;
    must(context, gsw_solver_create_many(context, 3, s.matrix, NULL, &solver));
    expect_rejection(gsw_solver_update(context, solver, s.matrix), "gsw_solver_update_many");
    expect_rejection(gsw_solver_update_many(context, solver, NULL), "matrices is NULL");
    expect_rejection(gsw_solver_solve(context, solver, NULL, s.x, NULL), "b is NULL");
    ck_assert_int_eq(gsw_solver_get_system(solver, 3, &one), GSW_ERROR_INVALID_ARGUMENT);
    ck_assert_int_eq(gsw_solver_get_system(solver, -1, &one), GSW_ERROR_INVALID_ARGUMENT);
    gsw_solver_destroy(solver);
    must(context, gsw_solver_create(context, &s.matrix[0], NULL, &solver));
    expect_rejection(gsw_solver_update_many(context, solver, s.matrix), "gsw_solver_update()");
    ck_assert_int_eq(gsw_solver_get_system(solver, 0, &one), GSW_ERROR_INVALID_ARGUMENT);
    gsw_solver_destroy(solver);
}

int main(int argc, char **argv) {
    backend_choose(argc, argv);
    Suite *suite = suite_create("many");
    TCase *cases = context_case(suite, "many", 60);
    LOOPS(cases, LENGTH(grids), each_converges_by_itself, a_stack_solves_each);
    TESTS(cases, one_that_fails_is_named, an_update_takes_other_values);
    if (on_cpu())
        TESTS(cases, systems_have_the_bits_of_one, masks_and_csr_are_taken,
              bad_arguments_are_refused);
    return backend_run_suite(suite);
}
