/* test_operator.c: operators and preconditioners, from the library's objects and from callbacks,
 * alone and in the Krylov methods. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <check.h>
#include <gridsweep/gridsweep.h>
#include "krylov/preconditioner.h"
#include "context_fixture.h"
#include "krylov_solve.h"

/* A problem, its factor, and vectors. */
typedef struct model {
    const gsw_matrix *matrix;
    gsw_factor *factor;
    int64_t n;
    double *b, *x, *y, *expected;
} model;

static model model_open(const char *text, gsw_factor_kind kind) {
    model s = {.matrix = keep_problem(text)};
    s.n = oracle_points(&s.matrix->grid);
    s.factor = keep_factor(context, s.matrix, (gsw_factor_options){.kind = kind});
    s.b = keep_random(1, s.n);
    s.x = keep_random(2, s.n);
    s.y = keep_random(3, s.n);
    s.expected = keep_random(4, s.n);
    return s;
}

static int same(int64_t n, const double *a, const double *b) {
    return memcmp(a, b, (size_t)n * sizeof *a) == 0;
}

/* After a semicolon the message may continue with the quality of x. */
static void refuse(gsw_status status, gsw_status expected, const char *message) {
    const char *given = gsw_context_message(context);
    const size_t length = strlen(message);
    ck_assert_msg(status == expected, "%s, not %s", gsw_status_name(status),
                  gsw_status_name(expected));
    ck_assert_msg(strncmp(given, message, length) == 0 &&
                      (given[length] == '\0' || given[length] == ';'),
                  "'%s', not '%s'", given, message);
}

/* ---- callbacks ---- */

/* What a callback does, and the calls that it has seen. */
typedef struct watched {
    const model *s;
    int calls;
    int fail_at;        /* the call that fails, or 0 */
    gsw_status failure; /* with this, */
    const char *reason; /* and this reason; NULL: none */
} watched;

static gsw_status begin(watched *w, gsw_context *where, const double *x, const double *y) {
    ck_assert_ptr_eq(where, context);
    ck_assert(x + w->s->n <= y || y + w->s->n <= x);
    if (++w->calls != w->fail_at)
        return GSW_SUCCESS;
    return w->reason == NULL ? w->failure : gsw_context_fail(where, w->failure, w->reason);
}

static gsw_status multiply(void *user, gsw_context *where, const double *x, double *y) {
    watched *w = user;
    const gsw_status status = begin(w, where, x, y);
    return status == GSW_SUCCESS ? gsw_spmv(where, w->s->matrix, GSW_F64, x, y) : status;
}

static gsw_status precondition(void *user, gsw_context *where, const double *b, double *x) {
    watched *w = user;
    const gsw_status status = begin(w, where, b, x);
    return status == GSW_SUCCESS ? gsw_factor_solve(where, w->s->factor, 1, b, w->s->n, x, w->s->n)
                                 : status;
}

/* ---- alone ---- */

TEST(a_matrix_as_an_operator) {
    model s = model_open("convection:9x8x7", GSW_ILU0);
    const void *arrays[GSW_STENCIL_MAX];
    gsw_matrix view = *s.matrix;
    memcpy(arrays, view.array.values, (size_t)view.stencil.count * sizeof arrays[0]);
    view.array.values = arrays;
    gsw_operator *op = keep_operator(context, &view);
    memset(&view, 0, sizeof view); /* the operator has a copy, of the list of pointers as well */
    memset(arrays, 0, sizeof arrays);
    ck_assert_int_eq(gsw_operator_points(op), s.n);
    for (int values = 0; values < 2; values++) {
        must(context, gsw_operator_apply(context, op, s.x, s.y));
        must(context, gsw_spmv(context, s.matrix, GSW_F64, s.x, s.expected));
        ck_assert(same(s.n, s.y, s.expected));
        /* New values in the same arrays. */
        ((double *)(uintptr_t)s.matrix->array.values[s.matrix->stencil.center])[5] *= 3;
    }
}

TEST(a_csr_as_an_operator) {
    model s = model_open("random:3:6x5x4", GSW_ILU0);
    gsw_csr csr = {0};
    gsw_matrix matrix;
    must(context, gsw_matrix_to_csr(context, s.matrix, GSW_FULL, GSW_I64, &csr));
    keep_csr(csr);
    must(context, gsw_matrix_from_csr(context, &s.matrix->grid, &s.matrix->stencil, &csr, &matrix));
    gsw_operator *op = keep_operator(context, &matrix);
    must(context, gsw_operator_apply(context, op, s.x, s.y));
    must(context, gsw_spmv(context, &matrix, GSW_F64, s.x, s.expected));
    ck_assert(same(s.n, s.y, s.expected));
}

TEST(preconditioners_apply_in_place_and_out_of_place) {
    model s = model_open("poisson:7x6x5", GSW_DILU);
    watched w = {.s = &s};
    gsw_preconditioner *made[2] = {keep_factor_M(context, s.factor),
                                   keep_callback_M(context, s.n, precondition, &w)};
    ck_assert_str_eq(gsw_preconditioner_name(made[0]), "dilu");
    ck_assert_str_eq(gsw_preconditioner_name(made[1]), "callback");
    ck_assert_str_eq(gsw_preconditioner_name(NULL), "none");
    must(context, gsw_factor_solve(context, s.factor, 1, s.b, s.n, s.expected, s.n));
    for (int k = 0; k < 2; k++) {
        ck_assert_int_eq(gsw_preconditioner_points(made[k]), s.n);
        must(context, gsw_preconditioner_apply(context, made[k], s.b, s.x));
        ck_assert(same(s.n, s.x, s.expected));
        memcpy(s.y, s.b, (size_t)s.n * sizeof *s.y);
        must(context, gsw_preconditioner_apply(context, made[k], s.y, s.y));
        ck_assert(same(s.n, s.y, s.expected));
    }
    ck_assert_int_eq(w.calls, 2);
}

/* A part of the library that is a preconditioner. */
typedef struct part {
    int64_t n;
    int in_place, applied, destroyed, refused;
} part;

static gsw_status part_apply(void *self, gsw_context *where, const double *b, double *x) {
    part *p = self;
    ck_assert_ptr_eq(where, context);
    ck_assert(p->in_place || b != x);
    for (int64_t i = 0; i < p->n; i++)
        x[i] = 2 * b[i];
    p->applied++;
    return GSW_SUCCESS;
}

static const char *part_name(const void *self) {
    (void)self;
    return "part";
}

static gsw_status part_check(const void *self, gsw_context *where) {
    const part *p = self;
    return p->refused ? gsw_context_fail(where, GSW_ERROR_UNSUPPORTED, "not now") : GSW_SUCCESS;
}

static void part_destroy(void *self) {
    ((part *)self)->destroyed++;
}

TEST(a_part_of_the_library_as_a_preconditioner) {
    const gsw_preconditioner_ops ops = {.in_place = _i,
                                        .apply = part_apply,
                                        .name = part_name,
                                        .check = part_check,
                                        .destroy = part_destroy};
    part p = {.n = 4, .in_place = _i};
    double x[4] = {1, 2, 3, 4};
    gsw_preconditioner *made = NULL;
    must(context, gsw_preconditioner_make(context, 4, &ops, &p, &made));
    ck_assert_str_eq(gsw_preconditioner_name(made), "part");
    must(context, gsw_preconditioner_apply(context, made, x, x));
    ck_assert(x[0] == 2 && x[1] == 4 && x[2] == 6 && x[3] == 8);
    p.refused = 1;
    refuse(gsw_preconditioner_apply(context, made, x, x), GSW_ERROR_UNSUPPORTED, "not now");
    ck_assert_int_eq(p.applied, 1);
    gsw_preconditioner_destroy(made);
    ck_assert_int_eq(p.destroyed, 1);
    /* After a failure the caller still owns it. */
    made = (gsw_preconditioner *)&p;
    ck_assert_int_eq(gsw_preconditioner_make(context, INT64_MAX, &ops, &p, &made),
                     GSW_ERROR_OVERFLOW);
    ck_assert_ptr_null(made);
    ck_assert_int_eq(p.destroyed, 1);
}

/* ---- in the methods ---- */

/* The same bits with matrix and factor, and with callbacks that use them. */
TEST(callbacks_solve_as_the_objects_do) {
    const gsw_method method = (gsw_method)(_i % 3);
    const gsw_norm norm = (gsw_norm)(_i / 3 % 2);
    const int with_m = _i / 6;
    model s = model_open("poisson:11x10x9", GSW_IC0);
    watched a = {.s = &s}, m = {.s = &s};
    const gsw_krylov_options options = {
        .size = sizeof options, .rtol = 1e-9, .restart = 7, .norm = norm};
    gsw_krylov_result one = {.size = sizeof one}, other = {.size = sizeof other};
    memset(s.x, 0, (size_t)s.n * sizeof *s.x);
    memset(s.expected, 0, (size_t)s.n * sizeof *s.x);
    ck_assert_int_eq(solve_krylov(context, method, s.matrix, with_m ? s.factor : NULL, &options,
                                  s.b, s.expected, &one),
                     GSW_SUCCESS);
    gsw_operator *op = keep_product(context, s.n, multiply, &a);
    gsw_preconditioner *M = with_m ? keep_callback_M(context, s.n, precondition, &m) : NULL;
    ck_assert_msg(gsw_krylov(context, method, op, M, &options, s.b, s.x, &other) == GSW_SUCCESS,
                  "%s", gsw_context_message(context));
    ck_assert_int_eq(other.iterations, one.iterations);
    ck_assert_int_ge(a.calls, other.iterations);
    ck_assert(with_m ? m.calls >= other.iterations : m.calls == 0);
    /* GMRES computes b - A x again where it restarts, and with a callback it is rounded twice. */
    if (method == GSW_GMRES)
        ck_assert_double_le(oracle_error(GSW_F64, s.n, s.x, s.expected), 1e-12);
    else
        ck_assert(same(s.n, s.x, s.expected));
    ck_assert_double_le(other.residual, norm == GSW_NORM_TRUE ? 1e-9 : 1e-7);
}

static const struct {
    gsw_status failure;
    const char *reason;
    const char *message; /* after "operator: " or "preconditioner: " */
} failures[] = {
    {GSW_ERROR_BREAKDOWN, NULL, "the callback returned GSW_ERROR_BREAKDOWN"},
    {GSW_ERROR_BREAKDOWN, "the coarse solve", "the callback failed: the coarse solve"},
    {GSW_ERROR_STOPPED, NULL, "the callback returned GSW_ERROR_STOPPED"},
    {GSW_ERROR_NOT_CONVERGED, "inner", "the callback failed: inner"},
    {GSW_ERROR_IO, NULL, "the callback returned GSW_ERROR_IO"},
    {(gsw_status)99, NULL, "the callback returned 99, not a gsw_status"},
};
#define FAILURES ((int)(sizeof failures / sizeof failures[0]))

/* Whichever call of a callback fails, the solve ends with its status and names the callback. */
TEST(failing_callbacks_end_the_solve) {
    const int f = _i;
    model s = model_open("poisson:8x7x6", GSW_IC0);
    const gsw_krylov_options options = {.size = sizeof options, .rtol = 1e-10, .restart = 4};
    for (int method = GSW_CG; method <= GSW_GMRES; method++)
        for (int in_m = 0; in_m < 2; in_m++)
            for (int at = 1; at <= 4; at++) {
                watched good = {.s = &s}, bad = {.s = &s,
                                                 .fail_at = at,
                                                 .failure = failures[f].failure,
                                                 .reason = failures[f].reason};
                gsw_krylov_result result = {.size = sizeof result, .converged = 1};
                char message[128];
                gsw_operator *op = keep_product(context, s.n, multiply, in_m ? &good : &bad);
                gsw_preconditioner *M =
                    keep_callback_M(context, s.n, precondition, in_m ? &bad : &good);
                memset(s.x, 0, (size_t)s.n * sizeof *s.x);
                snprintf(message, sizeof message, "%s: %s", in_m ? "preconditioner" : "operator",
                         failures[f].message);
                refuse(gsw_krylov(context, (gsw_method)method, op, M, &options, s.b, s.x, &result),
                       failures[f].failure == 99 ? GSW_ERROR_INVALID_ARGUMENT : failures[f].failure,
                       message);
                ck_assert_int_eq(result.converged, 0);
                ck_assert_int_ge(bad.calls, at);
            }
}

/* A solve inside a solve: refused with the same context, which stays usable. */
static gsw_status solve_inside(void *user, gsw_context *where, const double *b, double *x) {
    const watched *w = user;
    return solve_cg(where, w->s->matrix, NULL, NULL, b, x, NULL);
}

TEST(a_solve_inside_a_solve_is_refused) {
    model s = model_open("poisson:8x7x6", GSW_IC0);
    watched w = {.s = &s};
    gsw_operator *op = keep_operator(context, s.matrix);
    gsw_preconditioner *M = keep_callback_M(context, s.n, solve_inside, &w);
    for (int again = 0; again < 2; again++)
        refuse(
            gsw_cg(context, op, M, NULL, s.b, s.x, NULL), GSW_ERROR_INVALID_ARGUMENT,
            "preconditioner: the callback failed: context is inside a Krylov method; a solve in a "
            "callback needs a context of its own");
    memset(s.x, 0, (size_t)s.n * sizeof *s.x);
    must(context, gsw_cg(context, op, NULL, NULL, s.b, s.x, NULL));
}

/* A solve keeps its message when callbacks run after the message was written. */
TEST(callbacks_keep_the_message) {
    model s = model_open("poisson:8x7x6", GSW_IC0);
    watched w = {.s = &s};
    const gsw_krylov_options options = {.size = sizeof options, .max_iterations = 2};
    gsw_krylov_result result = {.size = sizeof result};
    gsw_operator *op = keep_product(context, s.n, multiply, &w);
    must_refuse(context, gsw_cg(context, op, NULL, &options, s.b, s.x, &result),
                GSW_ERROR_NOT_CONVERGED, "after 2 iterations");
    ck_assert_double_gt(result.residual, 0);
}

/* y = factor * x. */
typedef struct scaling {
    int64_t n;
    double factor;
} scaling;

static gsw_status scale(void *user, gsw_context *where, const double *x, double *y) {
    const scaling *by = user;
    (void)where;
    for (int64_t i = 0; i < by->n; i++)
        y[i] = by->factor * x[i];
    return GSW_SUCCESS;
}

/* The size of M^-1 says nothing about the matrix, so a solve is the same for any scale of it. */
TEST(the_scale_of_a_preconditioner_does_not_matter) {
    static const double factors[] = {1, 1e-22, 1e22};
    model s = model_open("poisson:9x8x7", GSW_IC0);
    gsw_operator *op = keep_operator(context, s.matrix);
    const gsw_krylov_options options = {.size = sizeof options, .norm = (gsw_norm)(_i / 3)};
    int64_t iterations = 0;
    for (int f = 0; f < 3; f++) {
        scaling by = {.n = s.n, .factor = factors[f]};
        gsw_krylov_result result = {.size = sizeof result};
        gsw_preconditioner *M = keep_callback_M(context, s.n, scale, &by);
        memset(s.x, 0, (size_t)s.n * sizeof *s.x);
        const gsw_status status =
            gsw_krylov(context, (gsw_method)(_i % 3), op, M, &options, s.b, s.x, &result);
        ck_assert_msg(status == GSW_SUCCESS, "times %g: %s", by.factor,
                      gsw_context_message(context));
        iterations = f == 0 ? result.iterations : iterations;
        ck_assert_int_le(llabs(result.iterations - iterations), 2);
    }
}

/* Where a preconditioner maps everything to 0, the message names it and not the matrix. */
TEST(a_preconditioner_of_zeros_is_named) {
    model s = model_open("poisson:9x8x7", GSW_IC0);
    scaling by = {.n = s.n};
    gsw_operator *op = keep_operator(context, s.matrix);
    gsw_preconditioner *M = keep_callback_M(context, s.n, scale, &by);
    must_refuse(context, gsw_krylov(context, (gsw_method)_i, op, M, NULL, s.b, s.x, NULL),
                GSW_ERROR_BREAKDOWN, "the preconditioner is singular");
}

/* ---- what is refused ---- */

TEST(bad_arguments_are_refused) {
    const gsw_status invalid = GSW_ERROR_INVALID_ARGUMENT;
    model s = model_open("poisson:5x4x3", GSW_ILU0), larger = model_open("poisson:6x4x3", GSW_ILU0);
    watched w = {.s = &s};
    gsw_operator *none = (gsw_operator *)&s;
    gsw_preconditioner *nothing = (gsw_preconditioner *)&s;
    gsw_context *another = keep_context(0);
    gsw_operator *op = keep_operator(context, s.matrix),
                 *foreign = keep_operator(another, s.matrix);
    gsw_preconditioner *M = keep_factor_M(context, s.factor),
                       *big = keep_factor_M(context, larger.factor),
                       *away = keep_callback_M(another, s.n, precondition, &w);

    ck_assert_int_eq(gsw_operator_from_matrix(NULL, s.matrix, &none), invalid);
    refuse(gsw_operator_from_matrix(context, s.matrix, NULL), invalid, "op is NULL");
    refuse(gsw_operator_from_matrix(context, NULL, &none), invalid, "matrix is NULL");
    ck_assert_ptr_null(none);
    refuse(gsw_operator_from_callback(context, 0, multiply, &w, &none), invalid,
           "points is 0; it must be at least 1");
    refuse(gsw_operator_from_callback(context, s.n, NULL, &w, &none), invalid, "apply is NULL");
    refuse(gsw_operator_apply(context, NULL, s.x, s.y), invalid, "operator is NULL");
    refuse(gsw_operator_apply(context, foreign, s.x, s.y), invalid,
           "operator belongs to another context");

    refuse(gsw_preconditioner_from_factor(context, NULL, &nothing), invalid, "factor is NULL");
    ck_assert_ptr_null(nothing);
    ck_assert_int_eq(gsw_preconditioner_from_factor(another, s.factor, &nothing), invalid);
    ck_assert_str_eq(gsw_context_message(another), "factor belongs to another context");
    refuse(gsw_preconditioner_from_callback(context, -3, precondition, &w, &nothing), invalid,
           "points is -3; it must be at least 1");
    refuse(gsw_preconditioner_from_callback(context, s.n, NULL, &w, &nothing), invalid,
           "apply is NULL");
    refuse(gsw_preconditioner_apply(context, NULL, s.b, s.x), invalid, "preconditioner is NULL");
    refuse(gsw_preconditioner_apply(context, away, s.b, s.x), invalid,
           "preconditioner belongs to another context");

    refuse(gsw_cg(context, NULL, M, NULL, s.b, s.x, NULL), invalid, "operator is NULL");
    refuse(gsw_cg(context, foreign, M, NULL, s.b, s.x, NULL), invalid,
           "operator belongs to another context");
    refuse(gsw_cg(context, op, away, NULL, s.b, s.x, NULL), invalid,
           "preconditioner belongs to another context");
    refuse(gsw_cg(context, op, big, NULL, s.b, s.x, NULL), invalid,
           "preconditioner: it has 72 points, but the operator has 60");

    /* A factor that has lost its values. */
    double *center = (double *)(uintptr_t)s.matrix->array.values[s.matrix->stencil.center];
    center[0] = 0;
    ck_assert_int_eq(gsw_factor_refactor(context, s.factor, s.matrix, NULL), GSW_ERROR_ZERO_PIVOT);
    refuse(gsw_cg(context, op, M, NULL, s.b, s.x, NULL), invalid,
           "factor holds no values: its last factorisation failed");
    center[0] = 6;
    must(context, gsw_factor_refactor(context, s.factor, s.matrix, NULL));
    must(context, gsw_cg(context, op, M, NULL, s.b, s.x, NULL));

    ck_assert_int_eq(gsw_operator_points(NULL), 0);
    ck_assert_int_eq(gsw_preconditioner_points(NULL), 0);
    gsw_operator_destroy(NULL);
    gsw_preconditioner_destroy(NULL);
}

TEST(a_context_takes_the_message_of_a_callback) {
    ck_assert_int_eq(gsw_context_fail(context, GSW_ERROR_IO, "no %s"), GSW_ERROR_IO);
    ck_assert_str_eq(gsw_context_message(context), "no %s");
    ck_assert_int_eq(gsw_context_fail(context, GSW_ERROR_IO, NULL), GSW_ERROR_IO);
    ck_assert_str_eq(gsw_context_message(context), "");
    ck_assert_int_eq(gsw_context_fail(NULL, GSW_ERROR_IO, "text"), GSW_ERROR_IO);
}

int main(void) {
    Suite *suite = suite_create("operator");
    TCase *tc = context_case(suite, "operator", 4);
    TESTS(tc, a_matrix_as_an_operator, a_csr_as_an_operator,
          preconditioners_apply_in_place_and_out_of_place, a_solve_inside_a_solve_is_refused,
          callbacks_keep_the_message, bad_arguments_are_refused,
          a_context_takes_the_message_of_a_callback);
    LOOPS(tc, 2, a_part_of_the_library_as_a_preconditioner);
    LOOPS(tc, 12, callbacks_solve_as_the_objects_do);
    LOOPS(tc, FAILURES, failing_callbacks_end_the_solve);
    LOOPS(tc, 6, the_scale_of_a_preconditioner_does_not_matter);
    LOOPS(tc, 3, a_preconditioner_of_zeros_is_named);
    return backend_run_suite(suite);
}
