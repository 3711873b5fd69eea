/* test_krylov_hard.c: systems that are singular, semidefinite, indefinite or badly scaled, solves
 * that break down and begin again, and solves that grow without hope: the expected end of each. */
#include "hard_matrix.h"
#include "krylov_systems.h"

typedef enum hard_rhs { ONES, RANDOM, RANGE /* A times a random vector */ } hard_rhs;

enum { NO_FACTOR = -1 };

typedef struct hard_case {
    const char *what;
    hard_matrix matrix;
    hard_rhs rhs;
    gsw_method method;
    int factor; /* gsw_factor_kind or NO_FACTOR */
    gsw_krylov_options options;
    double pivot_shift;
    gsw_status status;
    const char *says; /* part of the message */
} hard_case;

/* clang-format off */
#define LINE      {50, 1, 1}
#define PLANE     {33, 29, 1}
#define BOX       {12, 11, 10}
#define CUBE      {9, 9, 9}
#define NEUMANN   .nullspace = GSW_NULLSPACE_CONSTANT
#define CONSTANT  "the matrix maps constant vectors to 0: see nullspace"
#define CONVERGES GSW_SUCCESS, ""
#define NO_OPTIONS {.rtol = 0}

static const hard_case hard_cases[] = {
    /* Singular, b outside the range: no method can solve these, and none may claim to. */
    {"line, ones, cg", {LINE, .z = 1}, ONES, GSW_CG, NO_FACTOR, NO_OPTIONS, 0,
     GSW_ERROR_BREAKDOWN, "the matrix is singular (semidefinite)"},
    {"line, ones, bicgstab", {LINE, .z = 1}, ONES, GSW_BICGSTAB, NO_FACTOR, NO_OPTIONS, 0,
     GSW_ERROR_BREAKDOWN, "the matrix is singular"},
    {"line, ones, gmres", {LINE, .z = 1}, ONES, GSW_GMRES, NO_FACTOR, NO_OPTIONS, 0,
     GSW_ERROR_BREAKDOWN, "the matrix is singular"},
    {"line, ones, gmres, left",
     {LINE, .z = 1}, ONES, GSW_GMRES, NO_FACTOR, {.norm = GSW_NORM_PRECONDITIONED}, 0,
     GSW_ERROR_BREAKDOWN, CONSTANT},
    {"rough line, ones, cg", {LINE, .decades = 3, .z = 1}, ONES, GSW_CG, NO_FACTOR, NO_OPTIONS, 0,
     GSW_ERROR_BREAKDOWN, "the matrix is singular"},
    {"rough line, ones, gmres",
     {LINE, .decades = 3, .z = 1}, ONES, GSW_GMRES, NO_FACTOR, NO_OPTIONS, 0,
     GSW_ERROR_BREAKDOWN, "the matrix is singular"},
    {"plane, ones, cg", {PLANE, .z = 1}, ONES, GSW_CG, NO_FACTOR, NO_OPTIONS, 0,
     GSW_ERROR_BREAKDOWN, CONSTANT},
    {"box, random, gmres", {BOX, .z = 1}, RANDOM, GSW_GMRES, NO_FACTOR, {.max_iterations = 300}, 0,
     GSW_ERROR_NOT_CONVERGED, CONSTANT},
    {"box, random, bicgstab, jacobi",
     {BOX, .z = 1}, RANDOM, GSW_BICGSTAB, GSW_JACOBI, {.max_iterations = 60}, 0,
     GSW_ERROR_NOT_CONVERGED, CONSTANT},
    {"box, random, cg, ic0", {BOX, .z = 1}, RANDOM, GSW_CG, GSW_IC0, {.max_iterations = 25}, 0,
     GSW_ERROR_NOT_CONVERGED, CONSTANT},
    {"rough line, random, bicgstab, ilu0 with a pivot of rounding error",
     {LINE, .decades = 3, .z = 1}, RANDOM, GSW_BICGSTAB, GSW_ILU0, NO_OPTIONS, 0,
     GSW_ERROR_NOT_CONVERGED, "the matrix is singular or nearly so"},
    {"rough line, random, gmres, ilu0 with a pivot of rounding error",
     {LINE, .decades = 3, .z = 1, .brittle = 1}, RANDOM, GSW_GMRES, GSW_ILU0, NO_OPTIONS, 0,
     GSW_ERROR_NOT_CONVERGED, "the matrix is singular or nearly so"},

    /* Singular, b in the range: the methods need no help. */
    {"plane, range, cg", {PLANE, .z = 1}, RANGE, GSW_CG, NO_FACTOR, NO_OPTIONS, 0, CONVERGES},
    {"box, range, bicgstab", {BOX, .z = 1}, RANGE, GSW_BICGSTAB, GSW_JACOBI, NO_OPTIONS, 0,
     CONVERGES},
    {"box, range, gmres", {BOX, .z = 1}, RANGE, GSW_GMRES, GSW_ILU0, NO_OPTIONS, 0, CONVERGES},

    /* With the null vector projected out. */
    {"line, projected, cg", {LINE, .z = 1}, RANDOM, GSW_CG, NO_FACTOR, {NEUMANN}, 0, CONVERGES},
    {"line, projected, cg, shifted ic0", {LINE, .z = 1}, RANDOM, GSW_CG, GSW_IC0, {NEUMANN}, 1e-2,
     CONVERGES},
    {"line, projected, gmres, jacobi", {LINE, .z = 1}, RANDOM, GSW_GMRES, GSW_JACOBI, {NEUMANN}, 0,
     CONVERGES},
    {"line, ones, projected: nothing is left",
     {LINE, .z = 1}, ONES, GSW_GMRES, NO_FACTOR, {NEUMANN}, 0,
     CONVERGES},
    {"plane, projected, cg", {PLANE, .z = 1}, RANDOM, GSW_CG, NO_FACTOR, {NEUMANN}, 0, CONVERGES},
    {"plane, projected, cg, jacobi", {PLANE, .z = 1}, RANDOM, GSW_CG, GSW_JACOBI, {NEUMANN}, 0,
     CONVERGES},
    {"plane, projected, cg, ic0", {PLANE, .z = 1}, RANDOM, GSW_CG, GSW_IC0, {NEUMANN}, 0,
     CONVERGES},
    {"plane, projected, bicgstab, ilu0",
     {PLANE, .z = 1}, RANDOM, GSW_BICGSTAB, GSW_ILU0, {NEUMANN}, 0,
     CONVERGES},
    {"plane, projected, gmres", {PLANE, .z = 1}, RANDOM, GSW_GMRES, GSW_ILU0, {NEUMANN}, 0,
     CONVERGES},
    {"box, projected, cg", {BOX, .z = 1}, RANDOM, GSW_CG, NO_FACTOR, {NEUMANN}, 0, CONVERGES},
    {"box, projected, cg, ic0", {BOX, .z = 1}, RANDOM, GSW_CG, GSW_IC0, {NEUMANN}, 0, CONVERGES},
    {"box, projected, bicgstab", {BOX, .z = 1}, RANDOM, GSW_BICGSTAB, GSW_JACOBI, {NEUMANN}, 0,
     CONVERGES},
    {"box, projected, gmres", {BOX, .z = 1}, RANDOM, GSW_GMRES, NO_FACTOR, {NEUMANN}, 0, CONVERGES},
    {"box, projected, gmres, left",
     {BOX, .z = 1}, RANDOM, GSW_GMRES, GSW_ILU0, {NEUMANN, .norm = GSW_NORM_PRECONDITIONED}, 0,
     CONVERGES},
    {"box, projected, cg, norm of z",
     {BOX, .z = 1}, RANDOM, GSW_CG, GSW_SSOR, {NEUMANN, .norm = GSW_NORM_PRECONDITIONED}, 0,
     CONVERGES},
    {"rough box, projected, cg", {BOX, .decades = 4, .z = 1}, RANDOM, GSW_CG, GSW_IC0, {NEUMANN}, 0,
     CONVERGES},
    {"box with wind, projected, bicgstab",
     {BOX, .z = 1, .wind = 0.5}, RANDOM, GSW_BICGSTAB, GSW_ILU0, {NEUMANN}, 0,
     CONVERGES},
    {"scaled box, null vector, cg",
     {BOX, .z = 1, .scale = 3}, RANDOM, GSW_CG, GSW_IC0, {.nullspace = GSW_NULLSPACE_VECTOR}, 0,
     CONVERGES},
    {"scaled box, null vector, gmres",
     {BOX, .z = 1, .scale = 3}, RANDOM, GSW_GMRES, NO_FACTOR, {.nullspace = GSW_NULLSPACE_VECTOR},
     0,
     CONVERGES},
    {"scaled box, constant", {BOX, .z = 1, .scale = 3}, RANDOM, GSW_CG, NO_FACTOR, {NEUMANN}, 0,
     GSW_ERROR_INVALID_ARGUMENT, "the constant vector is not in the null space"},
    {"regular box, constant", {BOX, .z = 1, .shift = 1}, RANDOM, GSW_CG, NO_FACTOR, {NEUMANN}, 0,
     GSW_ERROR_INVALID_ARGUMENT, "the constant vector is not in the null space"},

    /* Indefinite. */
    {"indefinite, cg", {BOX, .z = 1, .shift = -1}, RANDOM, GSW_CG, NO_FACTOR, NO_OPTIONS, 0,
     GSW_ERROR_BREAKDOWN, "the matrix is indefinite"},
    {"indefinite, cg, jacobi",
     {BOX, .z = 1, .shift = -0.5}, RANDOM, GSW_CG, GSW_JACOBI, NO_OPTIONS, 0,
     GSW_ERROR_BREAKDOWN, "indefinite"},
    {"indefinite, gmres",
     {LINE, .z = 1, .shift = -1}, RANDOM, GSW_GMRES, NO_FACTOR, {.restart = 60}, 0,
     CONVERGES},
    {"negative definite, cg",
     {BOX, .z = 1, .shift = -20}, RANDOM, GSW_CG, GSW_JACOBI, NO_OPTIONS, 0,
     CONVERGES},

    /* Badly scaled: the recurrence drifts from the true residual. */
    {"eight decades, ones, cg",
     {CUBE, .decades = 8, .z = 1e-4, .leak = 1}, ONES, GSW_CG, GSW_IC0, NO_OPTIONS, 0,
     CONVERGES},
    {"ten decades, random, cg",
     {CUBE, .decades = 10, .z = 1e-4, .leak = 1}, RANDOM, GSW_CG, GSW_ILU0, NO_OPTIONS, 0,
     CONVERGES},
    {"twelve decades, random, cg",
     {CUBE, .decades = 12, .z = 1e-4, .shift = 1e-8}, RANDOM, GSW_CG, GSW_IC0, NO_OPTIONS, 0,
     CONVERGES},
    {"twelve decades, ones, cg",
     {CUBE, .decades = 12, .z = 1e-4, .shift = 1e-8}, ONES, GSW_CG, GSW_IC0, NO_OPTIONS, 0,
     GSW_ERROR_NOT_CONVERGED, "the tolerance is less than fp64 attains"},
    {"six decades, ones, gmres",
     {CUBE, .decades = 6, .z = 1e-4, .shift = 1e-3}, ONES, GSW_GMRES, GSW_IC0, NO_OPTIONS, 0,
     CONVERGES},
    {"nearly singular, ones, cg",
     {CUBE, .decades = 8, .z = 1e4, .leak = 1e-4}, ONES, GSW_CG, GSW_IC0, NO_OPTIONS, 0,
     GSW_ERROR_NOT_CONVERGED, "the matrix is singular or nearly so"},
    {"nearly singular, random, bicgstab",
     {CUBE, .decades = 8, .z = 1e4, .leak = 1e-4, .brittle = 1}, RANDOM, GSW_BICGSTAB, GSW_ILU0, NO_OPTIONS, 0,
     GSW_ERROR_NOT_CONVERGED, "the matrix is singular or nearly so"},
    {"a tolerance that fp64 does not attain, cg",
     {BOX, .z = 1, .shift = 0.1}, RANDOM, GSW_CG, GSW_IC0, {.rtol = 1e-25}, 0,
     GSW_ERROR_NOT_CONVERGED, "the tolerance is less than fp64 attains"},
    {"a tolerance that fp64 does not attain, norm of z",
     {BOX, .z = 1, .shift = 0.1}, RANDOM, GSW_GMRES, GSW_ILU0,
     {.rtol = 1e-18, .norm = GSW_NORM_PRECONDITIONED}, 0,
     GSW_ERROR_NOT_CONVERGED, "the tolerance is less than fp64 attains"},

};
/* clang-format on */
#define HARD_CASES ((int)(sizeof hard_cases / sizeof hard_cases[0]))

#undef LINE
#undef PLANE
#undef BOX
#undef CUBE
#undef NEUMANN
#undef CONSTANT
#undef CONVERGES
#undef NO_OPTIONS

static model hard_system(const hard_case *c, const hard_arrays *a) {
    model s = model_of(&a->view);
    s.b = c->rhs == ONES ? keep_filled(a->n, 1) : keep_random(3, a->n);
    if (c->rhs == RANGE) {
        const double *x = keep_random(4, a->n);
        for (int64_t i = 0; i < a->n; i++) {
            long double terms;
            s.b[i] = (double)truth_row(&a->view, i, x, &terms);
        }
    }
    if (c->factor != NO_FACTOR) {
        const gsw_factor_options wanted = {.kind = (gsw_factor_kind)c->factor,
                                           .pivot_shift = c->pivot_shift};
        s.factor = keep_factor(context, s.there, wanted);
        s.host_factor = on_cpu() ? s.factor : NULL;
    }
    return s;
}

/* Solves one of them. Returns the number of replacements of the recurrence. */
static int64_t check_hard_case(const hard_case *c, gsw_eisenstat form) {
    const size_t mark = keep_mark();
    const hard_arrays a = hard_arrays_of(&c->matrix);
    const model s = hard_system(c, &a);
    gsw_krylov_options options = c->options;
    gsw_krylov_result result = {.size = sizeof result};
    options.size = sizeof options;
    options.eisenstat = form;
    if (options.nullspace == GSW_NULLSPACE_VECTOR)
        options.null_vector = a.null;
    const gsw_status status = solve(&s, c->method, &options, &result);
    const int broke_down = c->matrix.brittle && status == GSW_ERROR_BREAKDOWN;
    ck_assert_msg(status == c->status || broke_down, "%s: %s: %s", c->what, gsw_status_name(status),
                  gsw_context_message(context));
    const int other_words = c->matrix.brittle && form == GSW_EISENSTAT_ALWAYS;
    if (status != GSW_SUCCESS && !broke_down && !other_words)
        assert_message(c->says);
    for (int64_t i = 0; i < a.n; i++)
        ck_assert_msg(isfinite(s.x[i]), "%s: x is not finite", c->what);
    keep_release(mark);
    return result.replacements;
}

TEST(hard_systems_end_as_they_must) {
    int64_t replacements = 0;
    for (int i = 0; i < HARD_CASES; i++) {
        replacements += check_hard_case(&hard_cases[i], GSW_EISENSTAT_NEVER);
        (void)check_hard_case(&hard_cases[i], GSW_EISENSTAT_ALWAYS);
    }
    /* At least one must drift, or the checks prove nothing. */
    ck_assert_int_gt(replacements, 0);
}

/* Products 3 to 6 of this matrix are wrong by 1e-4. x does not get what the recurrence takes from
 * these products, on any machine. */
typedef struct rough_products {
    const gsw_matrix *matrix;
    int64_t n, products;
    double *y; /* on the host */
} rough_products;

static gsw_status multiply_roughly(void *user, gsw_context *where, const double *x, double *y) {
    rough_products *rough = user;
    const gsw_status status = gsw_spmv(where, rough->matrix, GSW_F64, x, y);
    const int64_t product = rough->products++;
    if (product < 3 || product > 6)
        return status;
    const size_t bytes = (size_t)rough->n * sizeof *y;
    download(where, rough->y, y, bytes);
    for (int64_t i = 0; i < rough->n; i++)
        rough->y[i] *= i % 2 == 0 ? 1 + 1e-4 : 1 - 1e-4;
    must(where, gsw_memory_upload(where, y, rough->y, bytes));
    return status;
}

/* Each method replaces a recurrence that has drifted. The monitor then still sees each iteration
 * once, in ascending order. */
TEST(drifted_recurrences_are_replaced) {
    const gsw_method method = (gsw_method)_i;
    const hard_matrix spd = {.grid = {9, 9, 9}, .z = 1, .shift = 0.1};
    const hard_arrays a = hard_arrays_of(&spd);
    const size_t bytes = (size_t)a.n * sizeof(double);
    double *b = keep_random(3, a.n), *x = keep_zeros(a.n);
    double *bt = keep_upload(context, b, bytes), *xt = keep_upload(context, x, bytes);
    history seen = {.stop_at = -1};
    rough_products rough = {keep_there(context, &a.view), a.n, 0, keep_zeros(a.n)};
    gsw_operator *op = keep_product(context, a.n, multiply_roughly, &rough);
    const gsw_krylov_options options = {
        .size = sizeof options, .restart = 200, .monitor = watch, .monitor_user = &seen};
    gsw_krylov_result result = {.size = sizeof result};
    must(context, gsw_krylov(context, method, op, NULL, &options, bt, xt, &result));
    download(context, x, xt, bytes);
    truth_check("rough", &a.view, &options, b, x, GSW_SUCCESS, &result, cpu, NULL);
    ck_assert_int_gt(result.replacements, 0);
    ck_assert_int_eq(seen.calls, result.iterations + 1);
}

/* After the first round x is mostly the rounding error of an x0 that was far too large. */
TEST(far_guesses_are_no_stagnation) {
    static const struct {
        const char *text;
        gsw_method method;
    } cases[] = {{"poisson:13x12x11", GSW_CG},
                 {"convection:13x12x11", GSW_BICGSTAB},
                 {"convection:13x12x11", GSW_GMRES},
                 {"anisotropic:40x30", GSW_CG}};
    for (int k = 0; k < 4; k++) {
        model s = make_system(cases[k].text);
        const gsw_krylov_options options = {.size = sizeof options, .rtol = 1e-12};
        factorise(&s, (gsw_factor_options){0});
        for (int64_t i = 0; i < s.n; i++) {
            s.b[i] = i == s.n / 2 ? 1e-20 : 0;
            s.x[i] = sin((double)i);
        }
        must(context, solve(&s, cases[k].method, &options, NULL));
    }
}

/* A start far along the null vector does not matter. x is orthogonal to it, and the part of b along
 * it is reported. */
TEST(null_vector_leaves_no_trace) {
    const hard_matrix neumann = {.grid = {12, 11, 10}, .z = 1};
    const hard_arrays a = hard_arrays_of(&neumann);
    model s = model_of(&a.view);
    const gsw_krylov_options options = {
        .size = sizeof options, .nullspace = GSW_NULLSPACE_CONSTANT, .rtol = 1e-12};
    double along = 0, square = 0;
    s.b = keep_random(3, s.n);
    for (int64_t i = 0; i < s.n; i++) {
        s.b[i] += 0.25;
        along += s.b[i];
        square += s.b[i] * s.b[i];
    }
    for (int method = GSW_CG; method <= GSW_GMRES; method++) {
        gsw_krylov_result result = {.size = sizeof result};
        double sum = 0, largest = 0;
        set_guess(&s, 1e8);
        must(context, solve(&s, (gsw_method)method, &options, &result));
        for (int64_t i = 0; i < s.n; i++) {
            sum += s.x[i];
            largest = fmax(largest, fabs(s.x[i]));
        }
        ck_assert_double_le(fabs(sum), 1e-12 * largest * (double)s.n);
        ck_assert_double_eq_tol(result.removed, along / sqrt(square * (double)s.n), 1e-12);
    }
}

/* ---- solves that begin again, and solves without hope ---- */

enum { RESCUE_NX = 32, RESCUE_NY = 29, RESCUE_POINTS = RESCUE_NX * RESCUE_NY };

/* A five-point Laplacian: with rows x_i = b_i on the edge, or else with Dirichlet conditions beyond
 * it. */
static oracle_matrix *rescue_matrix(int rows_on_edge) {
    const gsw_grid grid = {RESCUE_NX, RESCUE_NY, 1};
    oracle_matrix *m = keep_matrix_of(&grid, oracle_stencil_named("D2N5"), 1, ORACLE_POSITIVE);
    for (int64_t i = 0; i < RESCUE_POINTS; i++) {
        const int64_t x = i % RESCUE_NX, y = i / RESCUE_NX;
        const int alone =
            rows_on_edge && (x == 0 || x == RESCUE_NX - 1 || y == 0 || y == RESCUE_NY - 1);
        for (int32_t e = 0; e < 5; e++) {
            const int leaves = gsw_reference_neighbour(&grid, i, m->view.stencil.offsets[e], 1) < 0;
            ((double *)m->arrays[e])[i] = e == m->view.stencil.center ? (alone ? 1 : 4)
                                          : alone || leaves           ? 0
                                                                      : -1;
        }
    }
    return m;
}

/* Closes a pair of neighbours off: (1 -1; -1 1) has the null vector (1, 1). */
static void rescue_close_pair(oracle_matrix *m, int first) {
    for (int32_t e = 0; e < 5; e++) {
        const gsw_offset o = m->view.stencil.offsets[e];
        const int step = (int)(o.dx + o.dy * RESCUE_NX);
        for (int i = 0; i < RESCUE_POINTS; i++) {
            const int from = i == first || i == first + 1;
            const int to = i + step == first || i + step == first + 1;
            if (from && to)
                ((double *)m->arrays[e])[i] = step == 0 ? 1 : -1;
            else if (from || to)
                ((double *)m->arrays[e])[i] = 0;
        }
    }
}

/* Few entries of b are not 0, so that the residual soon is orthogonal to the first one. With and
 * without a factor, in Eisenstat's form and without it, alone and beside others. */
TEST(few_entries_of_b_are_not_zero) {
    enum { SYSTEMS = 3, N = RESCUE_POINTS };
    const size_t bytes = N * sizeof(double);
    model s = model_of(&rescue_matrix(_i & 1)->view);
    double *b = keep_zeros(SYSTEMS * N);
    const gsw_krylov_options options = {.size = sizeof options,
                                        .max_iterations = 10000,
                                        .eisenstat =
                                            _i & 4 ? GSW_EISENSTAT_ALWAYS : GSW_EISENSTAT_NEVER};
    gsw_krylov_result results[SYSTEMS];
    for (int i = 0; i < RESCUE_NX; i++) /* the last line; a point; a corner */
        b[N - RESCUE_NX + i] = 1;
    b[N + N / 2] = b[2 * N] = 1;
    if (_i & 2)
        factorise(&s, (gsw_factor_options){.kind = GSW_ILU0});
    for (int i = 0; i < SYSTEMS; i++) {
        results[i] = (gsw_krylov_result){.size = sizeof results[i]};
        s.b = b + i * N;
        set_guess(&s, 0);
        must(context, solve(&s, GSW_BICGSTAB, &options, &results[i]));
        ck_assert_int_lt(results[i].iterations, _i & 2 ? 60 : 110);
        ck_assert(results[i].residual <= 1e-8);
        /* as far ahead as the queue may be */
        (void)check_starts(STARTS_MAX, &s, GSW_BICGSTAB, &options);
    }
    double *bt = keep_upload(context, b, SYSTEMS * bytes),
           *xt = keep_room(context, SYSTEMS * bytes);
    must(context, gsw_memory_set(context, xt, 0, SYSTEMS * bytes));
    must(context, gsw_krylov_many(context, GSW_BICGSTAB, keep_operator(context, s.there),
                                  keep_factor_M(context, s.factor), &options, SYSTEMS, bt, N, xt, N,
                                  results));
}

/* A singular system whose b does not fit: each method ends before the limit, with an x that is no
 * worse than 0, and says what is wrong. */
TEST(singular_systems_end_early) {
    oracle_matrix *m = rescue_matrix(0);
    const gsw_krylov_options options = {.size = sizeof options, .max_iterations = 10000};
    rescue_close_pair(m, 3 * RESCUE_NX + 5);
    model s = model_of(&m->view);
    s.b = keep_filled(s.n, 1);
    for (int method = GSW_CG; method <= GSW_BICGSTAB; method++) {
        const ending e = check_starts(STARTS_MAX, &s, (gsw_method)method, &options);
        ck_assert_int_ne(e.status, GSW_SUCCESS);
        ck_assert_msg(strstr(e.message, "singular") != NULL, "%s", e.message);
        ck_assert_int_lt(e.result.iterations, 5000);
        ck_assert(e.result.residual <= 1 + 1e-12);
    }
}

static void add_tests(TCase *tc) {
    TESTS(tc, hard_systems_end_as_they_must);
    tcase_add_loop_test(tc, drifted_recurrences_are_replaced, GSW_CG, GSW_GMRES + 1);
    TESTS(tc, far_guesses_are_no_stagnation, null_vector_leaves_no_trace);
}

int main(int argc, char **argv) {
    backend_choose(argc, argv);
    Suite *suite = suite_create("krylov_hard");
    TCase *tc = context_case(suite, "hard", 120);
    add_tests(tc);
    TESTS(tc, singular_systems_end_early);
    LOOPS(tc, 8, few_entries_of_b_are_not_zero);
    if (on_cpu()) {
        TCase *queued = suite_case(suite, "queued", 120, krylov_queue_open, krylov_queue_close);
        add_tests(queued);
    }
    return backend_run_suite(suite);
}
