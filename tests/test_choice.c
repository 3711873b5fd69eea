/* test_choice.c: the preconditioner and method that gsw_choose() takes: each branch of the
 * decision, and that the result solves. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <check.h>
#include <gridsweep/gridsweep.h>

#include "contract/backend.h"
#include "contract/context.h"
#include "hard_matrix.h"
#include "krylov_truth.h"

#include "krylov/preconditioner.h"
#include "context_fixture.h"

/* Chooses. */
static gsw_preconditioner *choose(const gsw_matrix *matrix, const gsw_choice_options *options,
                                  gsw_choice *choice) {
    gsw_preconditioner *M = NULL;
    *choice = (gsw_choice){.size = sizeof *choice};
    ck_assert_msg(gsw_choose(context, matrix, options, &M, choice) == GSW_SUCCESS, "%s",
                  gsw_context_message(context));
    ck_assert_ptr_nonnull(M);
    ck_assert_str_eq(gsw_context_message(context), "");
    ck_assert_int_eq(choice->multigrid != NULL, choice->reason == GSW_REASON_MULTIGRID);
    ck_assert_int_eq(M->ops.costly(M->self), choice->multigrid != NULL);
    ck_assert_int_eq(choice->factor != NULL, choice->reason != GSW_REASON_MULTIGRID);
    ck_assert_str_eq(gsw_preconditioner_name(M),
                     choice->multigrid != NULL ? "mg" : gsw_factor_kind_name(choice->kind));
    return keep(KEPT_PRECONDITIONER, NULL, M);
}

static gsw_choice choice_of(const gsw_matrix *matrix) {
    gsw_choice choice;
    (void)choose(matrix, NULL, &choice);
    return choice;
}

/* ---- model problems ---- */

static const struct {
    const char *problem;
    gsw_reason reason;
    gsw_method method;
    gsw_factor_kind kind;
    int symmetric, m_matrix;
    const char *says;
} problems[] = {
    {"poisson:9x9x9", GSW_REASON_POINTS, GSW_CG, GSW_IC0, 1, 1, "too small"},
    {"poisson:16x16x16", GSW_REASON_FEW, GSW_CG, GSW_IC0, 1, 1, "ic0 takes only some"},
    {"poisson:40x40x40", GSW_REASON_MULTIGRID, GSW_CG, GSW_IC0, 1, 1, "ic0 would take many"},
    {"poisson:200x200", GSW_REASON_MULTIGRID, GSW_CG, GSW_IC0, 1, 1, "ic0 would take many"},
    {"poisson:3000x1", GSW_REASON_FEW, GSW_CG, GSW_IC0, 1, 1, "ic0 takes only some 1 "},
    {"lognormal:24x24x24", GSW_REASON_MULTIGRID, GSW_CG, GSW_IC0, 1, 1, "ic0 would take many"},
    {"convection:16x16x16", GSW_REASON_FEW, GSW_BICGSTAB, GSW_ILU0, 0, 1, "ilu0 takes only some"},
    {"convection:200x200", GSW_REASON_MULTIGRID, GSW_BICGSTAB, GSW_ILU0, 0, 1,
     "ilu0 would take many"},
    {"hpcg:24x24x24", GSW_REASON_MULTIGRID, GSW_CG, GSW_IC0, 1, 1, "ic0 would take many"},
    {"star13:32x32x32", GSW_REASON_MULTIGRID, GSW_CG, GSW_IC0, 1, 0,
     "symmetric; ic0 would take many"},
    {"random:1:16x16x16", GSW_REASON_SIGNS, GSW_BICGSTAB, GSW_ILU0, 0, 0, "sign of the diagonal"},
};

TEST(problems_get_what_serves) {
    const gsw_matrix *matrix = keep_problem(problems[_i].problem);
    const int64_t n = oracle_points(&matrix->grid);
    gsw_choice choice, method = {.size = sizeof method};
    gsw_krylov_result result = {.size = sizeof result};
    gsw_preconditioner *M = choose(matrix, NULL, &choice);
    ck_assert_msg(choice.reason == problems[_i].reason, "%s: %d, %s", problems[_i].problem,
                  (int)choice.reason, choice.text);
    ck_assert_int_eq(choice.method, problems[_i].method);
    ck_assert_int_eq(choice.kind, problems[_i].kind);
    ck_assert_int_eq(choice.symmetric, problems[_i].symmetric);
    ck_assert_int_eq(choice.m_matrix, problems[_i].m_matrix);
    ck_assert_int_eq(choice.diagonal, 1);
    ck_assert_int_eq(choice.zero_sums, 0);
    ck_assert_msg(strstr(choice.text, problems[_i].says) != NULL, "%s", choice.text);
    must(context, gsw_choose_method(context, matrix, &method));
    ck_assert_int_eq(method.method, choice.method);
    ck_assert_int_eq(method.reason, GSW_REASON_METHOD_ONLY);
    double *b = keep_zeros(n), *x = keep_zeros(n);
    oracle_fill(GSW_F64, b, n, 1);
    gsw_operator *A = keep_operator(context, matrix);
    must(context, gsw_krylov(context, choice.method, A, M, NULL, b, x, &result));
    ck_assert_int_le(result.iterations, 35);
}

/* The error that steps leave gives a fair estimate of the iterations. */
TEST(estimates_are_near_the_truth) {
    static const struct {
        const char *problem;
        int iterations; /* of CG with IC(0) */
    } known[] = {{"poisson:16x16x16", 20}, {"poisson:32x32x32", 36}, {"anisotropic:16x16x16", 20},
                 {"hpcg:24x24x24", 20},    {"star13:16x16x16", 22},  {"helmholtz19:24x24x24", 16}};
    for (int i = 0; i < LENGTH(known); i++) {
        const gsw_choice choice = choice_of(keep_problem(known[i].problem));
        ck_assert_msg(choice.estimate > 0.7 * known[i].iterations &&
                          choice.estimate < 1.4 * known[i].iterations,
                      "%s: %g", known[i].problem, choice.estimate);
    }
}

/* ---- matrices made by hand ---- */

static hard_arrays make(hard_matrix m) {
    return hard_arrays_of(&m);
}

static void expect(const hard_arrays *a, gsw_reason reason, gsw_method method, gsw_factor_kind kind,
                   const char *says) {
    const gsw_choice choice = choice_of(&a->view);
    ck_assert_msg(choice.reason == reason, "%d, %s", (int)choice.reason, choice.text);
    ck_assert_int_eq(choice.method, method);
    ck_assert_int_eq(choice.kind, kind);
    ck_assert_msg(strstr(choice.text, says) != NULL, "'%s' lacks '%s'", choice.text, says);
}

TEST(time_steps_take_a_factor) {
    hard_arrays a = make((hard_matrix){.grid = {24, 24, 24}, .z = 1, .shift = 2});
    hard_arrays b = make((hard_matrix){.grid = {90, 80, 1}, .shift = 2});
    if (gsw_context_backend(context) == GSW_BACKEND_CPU)
        expect(&a, GSW_REASON_FEW, GSW_CG, GSW_JACOBI, "M-matrix; jacobi takes only");
    else
        expect(&a, GSW_REASON_FEW, GSW_CG, GSW_IC0, "M-matrix; ic0 takes only");
    expect(&b, GSW_REASON_FEW, GSW_CG, GSW_IC0, "M-matrix; ic0 takes only");
}

/* Cycles work line by line, so that short lines make them dear. */
TEST(short_lines_take_a_factor) {
    hard_arrays a = make((hard_matrix){.grid = {4, 3000, 1}, .shift = 0.01});
    hard_arrays b = make((hard_matrix){.grid = {3000, 4, 1}, .shift = 0.01});
    expect(&a, GSW_REASON_FEW, GSW_CG, GSW_IC0, "M-matrix; ic0 takes only");
    expect(&b, GSW_REASON_MULTIGRID, GSW_CG, GSW_IC0, "M-matrix; ic0 would take many");
}

TEST(signs_of_the_diagonal) {
    hard_arrays a = make((hard_matrix){.grid = {12, 11, 10}, .z = 1, .shift = 1});
    for (int e = 0; e < 7; e++)
        for (int64_t i = 0; i < a.n; i++)
            a.values[e][i] = -a.values[e][i];
    expect(&a, GSW_REASON_FEW, GSW_CG, GSW_ILU0, "symmetric, negative diagonal");
    ck_assert_int_eq(choice_of(&a.view).diagonal, 0);
    a.values[3][7] = 9;
    expect(&a, GSW_REASON_INDEFINITE, GSW_BICGSTAB, GSW_ILU0, "both signs; indefinite");
    ck_assert_int_eq(choice_of(&a.view).diagonal, 2);
}

/* A Laplacian minus a multiple of the identity, whose diagonal is still positive. */
TEST(indefinite_is_found_by_a_smooth_vector) {
    hard_arrays a = make((hard_matrix){.grid = {24, 24, 24}, .z = 1, .shift = -0.3});
    expect(&a, GSW_REASON_INDEFINITE, GSW_BICGSTAB, GSW_ILU0, "symmetric; indefinite");
}

/* The same with one negative eigenvalue, the least of the Laplacian being 0.047. */
TEST(slightly_indefinite) {
    hard_arrays a = make((hard_matrix){.grid = {24, 24, 24}, .z = 1, .shift = -0.06});
    expect(&a, GSW_REASON_MULTIGRID, GSW_GMRES, GSW_IC0, "symmetric; slightly indefinite");
}

TEST(zero_diagonals) {
    hard_arrays a = make((hard_matrix){.grid = {12, 11, 10}, .z = 1, .shift = 1});
    a.values[3][500] = 0;
    expect(&a, GSW_REASON_DIAGONAL, GSW_BICGSTAB, GSW_ILU0, "a diagonal is zero");
}

TEST(far_offsets) {
    const gsw_offset far[] = {{0, 0, 0}, {-3, 0, 0}, {3, 0, 0}};
    const gsw_grid grid = {60, 40, 1};
    gsw_stencil reaching;
    must(context, gsw_stencil_from_offsets(far, 3, &reaching));
    oracle_matrix *m = keep_matrix_of(&grid, &reaching, 1, ORACLE_POSITIVE);
    const gsw_choice choice = choice_of(&m->view);
    ck_assert_int_eq(choice.reason, GSW_REASON_REACH);
}

/* Blocks of 8 x 8 points, each with its own strong axis: point smoothers on coarse grids along both
 * axes do little. */
TEST(weak_cycles_lose) {
    const int64_t n = 64, width = 8;
    const gsw_grid grid = {n, n, 1};
    gsw_stencil stencil;
    uint64_t seed = 5;
    double along_x[64];
    must(context, gsw_stencil_named("D2N5", &stencil));
    oracle_matrix *m = keep_matrix_of(&grid, &stencil, 1, ORACLE_POSITIVE);
    for (int block = 0; block < 64; block++)
        along_x[block] = hard_uniform(&seed) < 0.5 ? 1 : 1e-5;
    for (int64_t row = 0; row < n * n; row++) {
        double sum = 0;
        for (int32_t e = 0; e < stencil.count; e++) {
            const gsw_offset o = stencil.offsets[e];
            const int64_t x = row % n + o.dx, y = row / n + o.dy;
            const int inside = x >= 0 && x < n && y >= 0 && y < n;
            const double mine = along_x[row % n / width + 8 * (row / n / width)];
            const double other = inside ? along_x[x / width + 8 * (y / width)] : mine;
            const double k = o.dx != 0 ? mine : 1e-5 / mine;
            const double l = o.dx != 0 ? other : 1e-5 / other;
            if (e == stencil.center)
                continue;
            ((double *)m->arrays[e])[row] = -2 * k * l / (k + l);
            sum += 2 * k * l / (k + l);
        }
        ((double *)m->arrays[stencil.center])[row] = sum;
    }
    const gsw_choice choice = choice_of(&m->view);
    ck_assert_msg(choice.reason == GSW_REASON_CYCLE, "%d, %s", (int)choice.reason, choice.text);
    ck_assert(choice.cycle_left > 0.5);
    ck_assert_ptr_nonnull(strstr(choice.text, "a multigrid cycle leaves"));
}

static void count_messages(void *user, gsw_status status, const char *message) {
    (void)status;
    (void)message;
    ++*(int *)user;
}

/* Beyond the range of fp32 there is no cycle in fp32. Nothing is logged, but the reason states
 * it. */
TEST(refused_hierarchies) {
    hard_arrays a = make((hard_matrix){.grid = {32, 32, 32}, .z = 1, .leak = 1});
    const gsw_multigrid_options fp64 = {.size = sizeof fp64};
    const gsw_choice_options options = {.size = sizeof options, .multigrid = &fp64};
    gsw_choice choice;
    int heard = 0;
    for (int e = 0; e < 7; e++)
        for (int64_t i = 0; i < a.n; i++)
            a.values[e][i] *= 0x1p200;
    context->log = count_messages;
    context->log_user = &heard;
    expect(&a, GSW_REASON_REFUSED, GSW_CG, GSW_IC0, "beyond the range of fp32");
    ck_assert_int_eq(heard, 0);
    context->log = NULL;
    (void)choose(&a.view, &options, &choice);
    ck_assert_int_eq(choice.reason, GSW_REASON_MULTIGRID);
}

/* ---- singular matrices ---- */

TEST(neumann_conditions) {
    hard_arrays a = make((hard_matrix){.grid = {32, 31, 30}, .z = 1});
    double *b = keep_random(3, a.n), *x = keep_zeros(a.n);
    const gsw_krylov_options options = {.size = sizeof options,
                                        .nullspace = GSW_NULLSPACE_CONSTANT};
    gsw_krylov_result result = {.size = sizeof result};
    gsw_choice choice;
    gsw_preconditioner *M = choose(&a.view, NULL, &choice);
    ck_assert_msg(choice.reason == GSW_REASON_MULTIGRID, "%s", choice.text);
    ck_assert_int_eq(choice.zero_sums, 1);
    ck_assert_int_eq(choice.method, GSW_CG);
    ck_assert(choice.cycle_left < 0.3);
    gsw_operator *A = keep_operator(context, &a.view);
    const gsw_status status = gsw_krylov(context, choice.method, A, M, &options, b, x, &result);
    truth_check("neumann", &a.view, &options, b, x, status, &result, NULL, NULL);
    ck_assert_int_eq(status, GSW_SUCCESS);
    ck_assert_int_le(result.iterations, 12);
}

/* On a line the elimination is exact, and the last pivot is 0: no factor, but multigrid. */
TEST(no_factor_of_a_neumann_line) {
    static const int64_t lengths[] = {150, 3000};
    for (int i = 0; i < LENGTH(lengths); i++) {
        hard_arrays a = make((hard_matrix){.grid = {lengths[i], 1, 1}, .z = 1});
        expect(&a, GSW_REASON_MULTIGRID, GSW_CG, GSW_SSOR, "no factor: ic0: the pivot of row");
    }
}

/* A symmetric matrix without IC(0) gets SSOR, which every positive diagonal has. Multigrid takes no
 * stencil that reaches so far, and the second pivot of each pair is 1 - 1 * 1. Where a diagonal is
 * 0, there is neither, and the message is the factor's. */
TEST(ssor_or_neither) {
    const gsw_grid grid = {6, 1, 1};
    const gsw_offset offsets[] = {{-3, 0, 0}, {0, 0, 0}, {3, 0, 0}};
    gsw_stencil stencil;
    gsw_preconditioner *M;
    gsw_choice choice = {.size = sizeof choice};
    must(context, gsw_stencil_from_offsets(offsets, 3, &stencil));
    oracle_matrix *m = keep_matrix_of(&grid, &stencil, 1, ORACLE_POSITIVE);
    for (int32_t e = 0; e < stencil.count; e++)
        for (int64_t row = 0; row < 6; row++)
            ((double *)m->arrays[e])[row] = 1;
    must(context, gsw_choose(context, &m->view, NULL, &M, &choice));
    ck_assert_int_eq(choice.kind, GSW_SSOR);
    gsw_preconditioner_destroy(M);
    ((double *)m->arrays[stencil.center])[3] = 0;
    ck_assert_int_eq(gsw_choose(context, &m->view, NULL, &M, NULL), GSW_ERROR_ZERO_PIVOT);
    ck_assert_ptr_null(M);
    must_say(context, ": the pivot of row");
    const gsw_factor_options shifted = {.size = sizeof shifted, .pivot_shift = 0.1};
    const gsw_choice_options options = {.size = sizeof options, .factor = &shifted};
    must(context, gsw_choose(context, &m->view, &options, &M, NULL));
    gsw_preconditioner_destroy(M);
}

/* ---- layouts, options, arguments ---- */

TEST(a_csr_gets_the_same) {
    hard_arrays a = make((hard_matrix){.grid = {32, 32, 32}, .z = 1, .leak = 1});
    gsw_csr csr;
    gsw_matrix other;
    must(context, gsw_matrix_to_csr(context, &a.view, GSW_FULL, GSW_I32, &csr));
    must(context, gsw_matrix_from_csr(context, &a.view.grid, &a.view.stencil, &csr, &other));
    const gsw_choice one = choice_of(&a.view);
    gsw_choice two;
    (void)choose(&other, NULL, &two);
    ck_assert_int_eq(one.reason, two.reason);
    ck_assert_double_eq_tol(one.estimate, two.estimate, 1e-6 * one.estimate);
    ck_assert_double_eq_tol(one.cycle_left, two.cycle_left, 1e-3);
    ck_assert_str_eq(one.text, two.text);
    /* The preconditioner takes new values in the caller's layout. */
    must(context, gsw_multigrid_refactor(context, two.multigrid, &other));
    gsw_csr_free(&csr);
}

TEST(options_reach_what_is_made) {
    hard_arrays big = make((hard_matrix){.grid = {32, 32, 32}, .z = 1, .leak = 1}),
                small_one = make((hard_matrix){.grid = {8, 8, 8}, .z = 1, .leak = 1});
    const gsw_multigrid_options hierarchy = {.size = sizeof hierarchy,
                                             .smoother = GSW_SMOOTHER_SYMGS};
    const gsw_factor_options factor = {.size = sizeof factor, .factor_type = GSW_F32};
    const gsw_choice_options options = {
        .size = sizeof options, .multigrid = &hierarchy, .factor = &factor};
    gsw_multigrid_info info = {.size = sizeof info};
    gsw_factor_info packed = {.size = sizeof packed}, wide = {.size = sizeof wide};
    gsw_choice choice;
    (void)choose(&big.view, &options, &choice);
    must(context, gsw_multigrid_get_info(choice.multigrid, &info));
    ck_assert_int_eq(info.smoother, GSW_SMOOTHER_SYMGS);
    ck_assert_int_eq(info.cycle_type, GSW_F64);
    (void)choose(&small_one.view, &options, &choice);
    must(context, gsw_factor_get_info(choice.factor, &packed));
    (void)choose(&small_one.view, NULL, &choice);
    must(context, gsw_factor_get_info(choice.factor, &wide));
    ck_assert_int_lt(packed.packed_bytes, wide.packed_bytes);
}

static void refuse(gsw_status status, const char *word) {
    expect_rejection(status, word);
}

TEST(bad_arguments_are_refused) {
    hard_arrays a = make((hard_matrix){.grid = {8, 8, 8}, .z = 1, .leak = 1});
    const gsw_choice_options sizeless = {.multigrid = NULL};
    const gsw_multigrid_options bad = {.size = sizeof bad, .theta = 2};
    const gsw_choice_options options = {.size = sizeof options, .multigrid = &bad};
    hard_arrays big = make((hard_matrix){.grid = {32, 32, 32}, .z = 1, .leak = 1});
    gsw_choice choice = {.size = sizeof choice}, none = {.size = 0};
    gsw_preconditioner *M;
    must_reject(gsw_choose(NULL, &a.view, NULL, &M, NULL));
    refuse(gsw_choose(context, NULL, NULL, &M, &choice), "matrix is NULL");
    refuse(gsw_choose(context, &a.view, NULL, NULL, &choice), "preconditioner is NULL");
    refuse(gsw_choose(context, &a.view, &sizeless, &M, &choice), "gsw_choice_options");
    refuse(gsw_choose(context, &a.view, NULL, &M, &none), "gsw_choice");
    refuse(gsw_choose(context, &big.view, &options, &M, &choice), "theta");
    ck_assert_ptr_null(M);
    refuse(gsw_choose_method(context, NULL, &choice), "matrix is NULL");
    refuse(gsw_choose_method(context, &a.view, NULL), "choice is NULL");
    must(context, gsw_choose(context, &a.view, NULL, &M, NULL));
    gsw_preconditioner_destroy(M);
}

int main(void) {
    Suite *suite = suite_create("choice");
    TCase *cases = context_case(suite, "choice", 300);
    TESTS(cases, estimates_are_near_the_truth, time_steps_take_a_factor, short_lines_take_a_factor,
          signs_of_the_diagonal, indefinite_is_found_by_a_smooth_vector, slightly_indefinite,
          zero_diagonals, far_offsets, weak_cycles_lose, refused_hierarchies, neumann_conditions,
          no_factor_of_a_neumann_line, ssor_or_neither, a_csr_gets_the_same,
          options_reach_what_is_made, bad_arguments_are_refused);
    LOOPS(cases, LENGTH(problems), problems_get_what_serves);
    return backend_run_suite(suite);
}
