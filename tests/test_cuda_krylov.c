/* test_cuda_krylov.c: the Krylov solvers and smoothers on a CUDA device. Iterations equal those on
 * the CPU up to one, because sums are taken in another order. Faults end in the same way, and
 * smoothed values are the same. */
#include "device.h"
#include "hard_systems.h"
#include "krylov_cases.h"
#include "krylov_many_cases.h"
#include "rescue_cases.h"

static const struct {
    const char *text;
    int symmetric;
} problems[] = {
    {"poisson:8x7x6", 1},      {"convection:12x11x10", 0}, {"hpcg:9x8x7", 1},
    {"helmholtz19:10x9x8", 1}, {"star13:9x9x9", 1},        {"box33:7x8x9", 1},
    {"random:3:40x30x20", 0},  {"poisson:1x1x1", 1},       {"poisson:1x40x1", 1},
};
#define PROBLEMS ((int)(sizeof problems / sizeof problems[0]))

typedef struct system_pair {
    gsw_context *cpu, *cuda;
    gsw_problem *problem;
    const gsw_matrix *host;
    gsw_matrix device;
    int64_t n;
    double *b, *x, *r;
    device_vector device_b, device_x;
} system_pair;

static void system_open(system_pair *s, const char *text) {
    s->cpu = oracle_context(2);
    s->cuda = device_context(NULL);
    device_try(s->cpu, gsw_problem_parse(s->cpu, text, NULL, &s->problem));
    s->host = gsw_problem_matrix(s->problem);
    s->n = oracle_points(&s->host->grid);
    s->b = oracle_vector(GSW_F64, 11, s->n);
    s->x = oracle_vector(GSW_F64, 12, s->n);
    s->r = oracle_vector(GSW_F64, 13, s->n);
    device_try(s->cuda, gsw_matrix_upload(s->cuda, s->host, &s->device));
    s->device_b = device_vector_make(s->cuda, GSW_F64, s->n);
    s->device_x = device_vector_make(s->cuda, GSW_F64, s->n);
    device_put(s->cuda, &s->device_b, s->b);
}

static void system_close(system_pair *s) {
    device_vector_free(s->cuda, &s->device_b);
    device_vector_free(s->cuda, &s->device_x);
    gsw_matrix_release(s->cuda, &s->device);
    gsw_problem_destroy(s->problem);
    gsw_context_destroy(s->cuda);
    gsw_context_destroy(s->cpu);
    free(s->b);
    free(s->x);
    free(s->r);
}

/* The same factor on both sides. */
typedef struct factor_pair {
    gsw_factor *cpu, *cuda;
} factor_pair;

static factor_pair factors_open(system_pair *s, const gsw_factor_options *options) {
    factor_pair f;
    device_try(s->cpu, gsw_factor_create(s->cpu, s->host, options, &f.cpu));
    device_try(s->cuda, gsw_factor_create(s->cuda, &s->device, options, &f.cuda));
    return f;
}

static void factors_close(factor_pair *f) {
    gsw_factor_destroy(f->cuda);
    gsw_factor_destroy(f->cpu);
}

static const factor_pair no_factors = {NULL, NULL};

/* Solves from x = 0 on both sides; the solution of the device ends in s->x. */
static void solve_both(system_pair *s, const factor_pair *f, gsw_method method,
                       const gsw_krylov_options *options, gsw_status expected,
                       gsw_krylov_result *on_cpu, gsw_krylov_result *on_cuda) {
    oracle_fill(GSW_F64, s->x, s->n, 0);
    device_put(s->cuda, &s->device_x, s->x);
    ck_assert_int_eq(solve_krylov(s->cpu, method, s->host, f->cpu, options, s->b, s->x, on_cpu),
                     expected);
    const gsw_status status = solve_krylov(s->cuda, method, &s->device, f->cuda, options,
                                           s->device_b.values, s->device_x.values, on_cuda);
    ck_assert_msg(status == expected, "%s: %s: %s", gsw_method_name(method),
                  gsw_status_name(status), gsw_context_message(s->cuda));
    device_get(s->cuda, &s->device_x, s->x);
    truth_check(gsw_method_name(method), s->host, options, s->b, s->x, status, on_cuda, s->cpu,
                f->cpu);
}

/* As many iterations on the device as on the CPU, up to one, and the residual that it reports. */
static void check_solves(system_pair *s, const factor_pair *f, const char *what, gsw_method method,
                         const gsw_krylov_options *options) {
    gsw_krylov_result on_cpu = {.size = sizeof on_cpu}, on_cuda = {.size = sizeof on_cuda};
    solve_both(s, f, method, options, GSW_SUCCESS, &on_cpu, &on_cuda);
    const int64_t difference = on_cuda.iterations - on_cpu.iterations;
    ck_assert_msg(difference >= -1 && difference <= 1, "%s, %s: %lld iterations, %lld on the CPU",
                  what, gsw_method_name(method), (long long)on_cuda.iterations,
                  (long long)on_cpu.iterations);
    ck_assert_int_eq(on_cuda.converged, 1);
    device_try(s->cpu, gsw_residual(s->cpu, s->host, GSW_F64, s->b, s->x, s->r));
    const double residual = vector_norm(s->n, s->r) / vector_norm(s->n, s->b);
    ck_assert_double_le(residual, 1e-7);
    ck_assert_double_eq_tol(residual, on_cuda.residual, 1e-3 * residual + 1e-15);
}

START_TEST(iterations_are_those_of_the_cpu) {
    system_pair s = {0};
    system_open(&s, problems[_i].text);
    for (int mode = GSW_NORM_TRUE; mode <= GSW_NORM_PRECONDITIONED; mode++) {
        for (int method = problems[_i].symmetric ? GSW_CG : GSW_BICGSTAB; method <= GSW_GMRES;
             method++) {
            const gsw_krylov_options options = {
                .size = sizeof options, .rtol = 1e-8, .norm = (gsw_norm)mode};
            check_solves(&s, &no_factors, problems[_i].text, (gsw_method)method, &options);
        }
    }
    system_close(&s);
}
END_TEST

static const gsw_factor_options preconditioners[] = {
    {.size = sizeof(gsw_factor_options), .kind = GSW_ILU0},
    {.size = sizeof(gsw_factor_options), .kind = GSW_ILU0, .factor_type = GSW_F32},
    {.size = sizeof(gsw_factor_options), .kind = GSW_IC0},
    {.size = sizeof(gsw_factor_options), .kind = GSW_DILU},
    {.size = sizeof(gsw_factor_options), .kind = GSW_SSOR},
    {.size = sizeof(gsw_factor_options), .kind = GSW_JACOBI},
};
#define PRECONDITIONERS ((int)(sizeof preconditioners / sizeof preconditioners[0]))

START_TEST(preconditioned_iterations_are_those_of_the_cpu) {
    const gsw_krylov_options options = {
        .size = sizeof options, .rtol = 1e-8, .eisenstat = GSW_EISENSTAT_NEVER};
    system_pair s = {0};
    system_open(&s, problems[_i].text);
    for (int p = 0; p < PRECONDITIONERS; p++) {
        char what[100];
        if (preconditioners[p].kind == GSW_IC0 && !problems[_i].symmetric)
            continue;
        snprintf(what, sizeof what, "%s, %s", problems[_i].text,
                 gsw_factor_kind_name(preconditioners[p].kind));
        factor_pair f = factors_open(&s, &preconditioners[p]);
        for (int method = problems[_i].symmetric ? GSW_CG : GSW_BICGSTAB; method <= GSW_GMRES;
             method++)
            check_solves(&s, &f, what, (gsw_method)method, &options);
        factors_close(&f);
    }
    system_close(&s);
}
END_TEST

/* From a guess that is not zero. */
START_TEST(smoothed_values_are_those_of_the_cpu) {
    system_pair s = {0};
    system_open(&s, problems[_i].text);
    device_vector work = device_vector_make(s.cuda, GSW_F64, s.n);
    for (int p = 0; p < PRECONDITIONERS; p++) {
        if (preconditioners[p].kind == GSW_IC0 && !problems[_i].symmetric)
            continue;
        factor_pair f = factors_open(&s, &preconditioners[p]);
        double *x = oracle_copy(GSW_F64, s.b, s.n), largest = 0, error = 0;
        /* Coefficients are rounded to fp32 from sums in different orders. */
        const double tolerance = preconditioners[p].factor_type == GSW_F32 ? 1e-6 : 1e-12;
        device_put(s.cuda, &s.device_x, x);
        device_try(s.cpu, gsw_smooth(s.cpu, s.host, f.cpu, 3, 0, s.b, x, s.r));
        device_try(s.cuda,
                   gsw_smooth(s.cuda, &s.device, f.cuda, 3, 0, (const void *)s.device_b.values,
                              (void *)s.device_x.values, (void *)work.values));
        device_get(s.cuda, &s.device_x, s.x);
        for (int64_t i = 0; i < s.n; i++) {
            largest = fmax(largest, fabs(x[i]));
            error = fmax(error, fabs(x[i] - s.x[i]));
        }
        ck_assert_msg(error <= tolerance * largest, "%s, %s: off by %g of %g", problems[_i].text,
                      gsw_factor_kind_name(preconditioners[p].kind), error, largest);
        free(x);
        factors_close(&f);
    }
    device_vector_free(s.cuda, &work);
    system_close(&s);
}
END_TEST

START_TEST(passes_do_what_they_say) {
    gsw_context *cuda = device_context(NULL);
    check_vector_operations(cuda, krylov_lengths[_i]);
    gsw_context_destroy(cuda);
}
END_TEST

START_TEST(products_end_in_passes) {
    gsw_context *cuda = device_context(NULL);
    check_products(cuda);
    gsw_context_destroy(cuda);
}
END_TEST

/* However far the host queues a method ahead, the bits are the same, whether it ends within the
 * queue by convergence or at the limit. */
START_TEST(queues_end_with_the_same_bits) {
    system_pair s = {0};
    system_open(&s, problems[_i].text);
    factor_pair f = factors_open(
        &s, &(gsw_factor_options){.size = sizeof(gsw_factor_options), .kind = GSW_ILU0});
    for (int method = problems[_i].symmetric ? GSW_CG : GSW_BICGSTAB; method <= GSW_BICGSTAB;
         method++)
        for (int k = 0; k < 8; k++) {
            const gsw_krylov_options options = {.size = sizeof options,
                                                .norm = (gsw_norm)(k % 2),
                                                .eisenstat = GSW_EISENSTAT_NEVER,
                                                .max_iterations = k & 2 ? 4 : 300};
            check_queues(s.cuda, (gsw_method)method, &s.device, k & 4 ? f.cuda : NULL, &options,
                         s.n, s.b);
        }
    factors_close(&f);
    system_close(&s);
}
END_TEST

START_TEST(few_entries_of_b_are_not_zero) {
    gsw_context *cuda = device_context(NULL);
    rescue_check_sparse(cuda);
    gsw_context_destroy(cuda);
}
END_TEST

START_TEST(singular_systems_end_early) {
    gsw_context *cuda = device_context(NULL);
    rescue_check_singular(cuda);
    gsw_context_destroy(cuda);
}
END_TEST

START_TEST(faults_are_those_of_the_cpu) {
    gsw_context *cuda = device_context(NULL);
    check_faults(cuda);
    gsw_context_destroy(cuda);
}
END_TEST

START_TEST(monitors_see_every_iteration_and_stop) {
    system_pair s = {0};
    system_open(&s, "poisson:12x11x10");
    check_monitors(s.cuda, &s.device, s.n, s.b);
    system_close(&s);
}
END_TEST

START_TEST(hard_systems_end_as_they_must) {
    gsw_context *cuda = device_context(NULL);
    check_hard_systems(cuda);
    gsw_context_destroy(cuda);
}
END_TEST

/* After a fault the context can solve the next system. */
START_TEST(contexts_survive_faults) {
    system_pair s = {0};
    system_open(&s, "poisson:9x8x7");
    for (int method = GSW_CG; method <= GSW_GMRES; method++) {
        const gsw_krylov_options options = {.size = sizeof options, .rtol = 1e-8};
        const double kept = s.b[100];
        gsw_krylov_result on_cpu = {.size = sizeof on_cpu}, on_cuda = {.size = sizeof on_cuda};
        s.b[100] = INFINITY;
        device_put(s.cuda, &s.device_b, s.b);
        solve_both(&s, &no_factors, (gsw_method)method, &options, GSW_ERROR_NON_FINITE, &on_cpu,
                   &on_cuda);
        s.b[100] = kept;
        device_put(s.cuda, &s.device_b, s.b);
        check_solves(&s, &no_factors, "poisson:9x8x7", (gsw_method)method, &options);
    }
    system_close(&s);
}
END_TEST

/* The same bits on every run. */
START_TEST(runs_repeat) {
    system_pair s = {0};
    system_open(&s, "convection:40x30x20");
    for (int method = GSW_BICGSTAB; method <= GSW_GMRES; method++) {
        const gsw_krylov_options options = {
            .size = sizeof options, .max_iterations = 20, .rtol = 1e-30};
        double *first = NULL;
        for (int run = 0; run < 5; run++) {
            gsw_krylov_result on_cpu = {.size = sizeof on_cpu}, on_cuda = {.size = sizeof on_cuda};
            solve_both(&s, &no_factors, (gsw_method)method, &options, GSW_ERROR_NOT_CONVERGED,
                       &on_cpu, &on_cuda);
            ck_assert_int_eq(on_cuda.iterations, 20);
            if (first == NULL)
                first = oracle_copy(GSW_F64, s.x, s.n);
            ck_assert_mem_eq(first, s.x, (size_t)s.n * sizeof *first);
        }
        free(first);
    }
    system_close(&s);
}
END_TEST

START_TEST(zero_and_non_finite_right_hand_sides) {
    system_pair s = {0};
    system_open(&s, "poisson:9x8x7");
    for (int method = GSW_CG; method <= GSW_GMRES; method++) {
        gsw_krylov_result on_cpu = {.size = sizeof on_cpu}, on_cuda = {.size = sizeof on_cuda};
        oracle_fill(GSW_F64, s.b, s.n, 0);
        device_put(s.cuda, &s.device_b, s.b);
        solve_both(&s, &no_factors, (gsw_method)method, NULL, GSW_SUCCESS, &on_cpu, &on_cuda);
        ck_assert_int_eq(on_cuda.iterations, 0);
        for (int64_t i = 0; i < s.n; i++)
            ck_assert(s.x[i] == 0);
        s.b[100] = NAN;
        device_put(s.cuda, &s.device_b, s.b);
        solve_both(&s, &no_factors, (gsw_method)method, NULL, GSW_ERROR_NON_FINITE, &on_cpu,
                   &on_cuda);
    }
    system_close(&s);
}
END_TEST

/* ---- callbacks ---- */

/* The objects that the callbacks use, and the number of the call that fails, or 0. */
typedef struct calls {
    system_pair *s;
    gsw_factor *factor;
    int made, fail_at;
} calls;

static gsw_status multiply(void *user, gsw_context *where, const double *x, double *y) {
    calls *c = user;
    if (++c->made == c->fail_at)
        return gsw_context_fail(where, GSW_ERROR_IO, "lost");
    return gsw_spmv(where, &c->s->device, GSW_F64, x, y);
}

static gsw_status precondition(void *user, gsw_context *where, const double *b, double *x) {
    calls *c = user;
    if (b == x)
        return GSW_ERROR_INVALID_ARGUMENT;
    if (++c->made == c->fail_at)
        return gsw_context_fail(where, GSW_ERROR_IO, "lost");
    return gsw_factor_solve(where, c->factor, 1, b, c->s->n, x, c->s->n);
}

/* Callbacks that only queue their work give the same result as matrix and factor, on the device. */
START_TEST(callbacks_solve_in_the_order_of_the_stream) {
    system_pair s = {0};
    system_open(&s, "poisson:12x11x10");
    factor_pair f = factors_open(
        &s, &(gsw_factor_options){.size = sizeof(gsw_factor_options), .kind = GSW_IC0});
    double *expected = oracle_vector(GSW_F64, 1, s.n);
    for (int k = 0; k < 6; k++) {
        const gsw_method method = (gsw_method)(k / 2);
        const gsw_krylov_options options = {.size = sizeof options,
                                            .rtol = 1e-9,
                                            .norm = (gsw_norm)(k % 2),
                                            .eisenstat = GSW_EISENSTAT_NEVER};
        calls a = {.s = &s}, m = {.s = &s, .factor = f.cuda};
        gsw_operator *op = NULL;
        gsw_preconditioner *M = NULL;
        gsw_krylov_result one = {.size = sizeof one}, other = {.size = sizeof other};
        oracle_fill(GSW_F64, expected, s.n, 0);
        device_put(s.cuda, &s.device_x, expected);
        device_try(s.cuda, solve_krylov(s.cuda, method, &s.device, f.cuda, &options,
                                        s.device_b.values, s.device_x.values, &one));
        device_get(s.cuda, &s.device_x, expected);
        device_try(s.cuda, gsw_operator_from_callback(s.cuda, s.n, multiply, &a, &op));
        device_try(s.cuda, gsw_preconditioner_from_callback(s.cuda, s.n, precondition, &m, &M));
        oracle_fill(GSW_F64, s.x, s.n, 0);
        device_put(s.cuda, &s.device_x, s.x);
        device_try(s.cuda, gsw_krylov(s.cuda, method, op, M, &options, s.device_b.values,
                                      s.device_x.values, &other));
        device_get(s.cuda, &s.device_x, s.x);
        ck_assert_int_eq(other.iterations, one.iterations);
        ck_assert_double_le(oracle_error(GSW_F64, s.n, s.x, expected), 1e-12);

        /* A callback that fails ends the solve, and the context remains usable. */
        for (int in_m = 0; in_m < 2; in_m++) {
            a.made = m.made = 0;
            a.fail_at = in_m ? 0 : 3;
            m.fail_at = in_m ? 3 : 0;
            oracle_fill(GSW_F64, s.x, s.n, 0);
            device_put(s.cuda, &s.device_x, s.x);
            ck_assert_int_eq(gsw_krylov(s.cuda, method, op, M, &options, s.device_b.values,
                                        s.device_x.values, &other),
                             GSW_ERROR_IO);
            ck_assert_str_eq(gsw_context_message(s.cuda),
                             in_m ? "preconditioner: the callback failed: lost"
                                  : "operator: the callback failed: lost");
            device_try(s.cuda, gsw_context_synchronize(s.cuda));
        }
        gsw_preconditioner_destroy(M);
        gsw_operator_destroy(op);
    }
    free(expected);
    factors_close(&f);
    system_close(&s);
}
END_TEST

/* Host arrays are refused, or accepted where the device can page host memory in. They never break
 * the device. */
START_TEST(host_arrays_are_seen) {
    system_pair s = {0};
    gsw_operator *op = NULL, *on_host = NULL;
    gsw_factor *factor = NULL;
    system_open(&s, "poisson:8x7x6");
    device_try(s.cuda, gsw_operator_from_matrix(s.cuda, &s.device, &op));
    const gsw_status status = gsw_operator_from_matrix(s.cuda, s.host, &on_host);
    if (status == GSW_SUCCESS) { /* such a device */
        gsw_operator_destroy(on_host);
    } else {
        ck_assert_int_eq(status, GSW_ERROR_INVALID_ARGUMENT);
        ck_assert_ptr_null(on_host);
        ck_assert_ptr_nonnull(strstr(gsw_context_message(s.cuda), "array: values is in host"));
        ck_assert_int_eq(gsw_factor_create(s.cuda, s.host, NULL, &factor),
                         GSW_ERROR_INVALID_ARGUMENT);
        ck_assert_int_eq(gsw_cg(s.cuda, op, NULL, NULL, s.b, s.device_x.values, NULL),
                         GSW_ERROR_INVALID_ARGUMENT);
        ck_assert_ptr_nonnull(strstr(gsw_context_message(s.cuda), "b is in host memory"));
        ck_assert_int_eq(gsw_cg(s.cuda, op, NULL, NULL, s.device_b.values, s.x, NULL),
                         GSW_ERROR_INVALID_ARGUMENT);
        ck_assert_ptr_nonnull(strstr(gsw_context_message(s.cuda), "x is in host memory"));
    }
    oracle_fill(GSW_F64, s.x, s.n, 0);
    device_put(s.cuda, &s.device_x, s.x);
    device_try(s.cuda, gsw_cg(s.cuda, op, NULL, NULL, s.device_b.values, s.device_x.values, NULL));
    gsw_operator_destroy(op);
    system_close(&s);
}
END_TEST

/* Several systems at once: each has the bits that it has alone on the device. */
static void with_both(void (*check)(gsw_context *cuda, gsw_context *cpu)) {
    gsw_context *cpu = oracle_context(2), *cuda = device_context(NULL);
    check(cuda, cpu);
    gsw_context_destroy(cuda);
    gsw_context_destroy(cpu);
}

START_TEST(several_systems_end_as_they_do_alone) {
    gsw_context *cpu = oracle_context(2), *cuda = device_context(NULL);
    many_check_problem(cuda, cpu, _i);
    gsw_context_destroy(cuda);
    gsw_context_destroy(cpu);
}
END_TEST

START_TEST(several_systems_with_other_methods) {
    with_both(many_check_one_by_one);
}
END_TEST

START_TEST(several_systems_that_break_down) {
    with_both(many_check_breakdowns);
}
END_TEST

START_TEST(several_systems_that_begin_again) {
    with_both(many_check_replacements);
}
END_TEST

START_TEST(several_singular_systems) {
    with_both(many_check_nullspace);
}
END_TEST

START_TEST(products_of_several_vectors) {
    gsw_context *cuda = device_context(NULL);
    many_check_products(cuda);
    gsw_context_destroy(cuda);
}
END_TEST

/* The product of a vector with itself in other order and with other signs is 0, up to one term. */
START_TEST(pieces_have_the_sum_of_the_whole) {
    enum { HALF = 50021, N = 2 * HALF + 1 };
    static const int64_t cuts[] = {0, 1, 4096, HALF, HALF + 777, N - 1};
    gsw_context *cuda = device_context(NULL);
    double *p = oracle_vector(GSW_F64, 3, N), *w = oracle_vector(GSW_F64, 4, N);
    device_vector there_p = device_vector_make(cuda, GSW_F64, N),
                  there_w = device_vector_make(cuda, GSW_F64, N);
    for (int64_t i = 0; i < HALF; i++) {
        p[HALF + i * 4001 % HALF] = p[i];
        w[HALF + i * 4001 % HALF] = -w[i];
    }
    p[N - 1] = ldexp(1, -40);
    w[N - 1] = ldexp(3, -41);
    device_put(cuda, &there_p, p);
    device_put(cuda, &there_w, w);
    for (size_t c = 0; c < sizeof cuts / sizeof cuts[0]; c++) {
        gsw_threefold sum = {0, 0, 0};
        for (int piece = 0; piece < 2; piece++) {
            gsw_krylov_state state = gsw_krylov_begin(1e-100, 0, 1000, 1);
            gsw_krylov_state *there = krylov_upload(cuda, &state, sizeof state);
            const int64_t from = piece ? cuts[c] : 0, to = piece ? N : cuts[c];
            void *vectors[] = {(double *)there_p.values + from, (double *)there_w.values + from};
            device_try(cuda, cuda->ops->krylov_pass(cuda, GSW_CG_PW, to - from, vectors, there));
            krylov_download(cuda, &state, there, sizeof state);
            gsw_threefold_add(&sum, state.exact);
            gsw_memory_free(cuda, there);
        }
        ck_assert_double_eq(gsw_threefold_round(&sum), ldexp(3, -81));
    }
    device_vector_free(cuda, &there_p);
    device_vector_free(cuda, &there_w);
    free(p);
    free(w);
    gsw_context_destroy(cuda);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("cuda_krylov");
    TCase *tc = tcase_create("krylov"), *several = tcase_create("several");
    tcase_add_loop_test(tc, iterations_are_those_of_the_cpu, 0, PROBLEMS);
    tcase_add_loop_test(tc, preconditioned_iterations_are_those_of_the_cpu, 0, PROBLEMS);
    tcase_add_loop_test(tc, smoothed_values_are_those_of_the_cpu, 0, PROBLEMS);
    tcase_add_loop_test(tc, passes_do_what_they_say, 0, KRYLOV_LENGTHS);
    tcase_add_test(tc, pieces_have_the_sum_of_the_whole);
    tcase_add_test(tc, products_end_in_passes);
    tcase_add_loop_test(tc, queues_end_with_the_same_bits, 0, PROBLEMS);
    tcase_add_test(tc, faults_are_those_of_the_cpu);
    tcase_add_test(tc, few_entries_of_b_are_not_zero);
    tcase_add_test(tc, singular_systems_end_early);
    tcase_add_test(tc, monitors_see_every_iteration_and_stop);
    tcase_add_test(tc, hard_systems_end_as_they_must);
    tcase_add_test(tc, contexts_survive_faults);
    tcase_add_test(tc, runs_repeat);
    tcase_add_test(tc, zero_and_non_finite_right_hand_sides);
    tcase_add_test(tc, callbacks_solve_in_the_order_of_the_stream);
    tcase_add_test(tc, host_arrays_are_seen);
    suite_add_tcase(suite, tc);
    tcase_add_test(several, products_of_several_vectors);
    tcase_add_loop_test(several, several_systems_end_as_they_do_alone, 0, MANY_PROBLEMS);
    tcase_add_test(several, several_systems_with_other_methods);
    tcase_add_test(several, several_systems_that_break_down);
    tcase_add_test(several, several_systems_that_begin_again);
    tcase_add_test(several, several_singular_systems);
    suite_add_tcase(suite, several);
    return device_run_suite(suite);
}
