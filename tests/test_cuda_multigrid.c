/* test_cuda_multigrid.c: multigrid on a CUDA device: its coarse matrices, cycles in graphs, and
 * what is refused. */
#include "device_stream.h"
#include "multigrid_dense.h"

/* A problem on the host, its matrix on the device, and vectors. */
typedef struct problem_pair {
    gsw_context *cpu, *cuda;
    gsw_problem *problem;
    const gsw_matrix *host;
    gsw_matrix device;
    int64_t n;
    device_vector b, x;
} problem_pair;

static problem_pair pair_open(const char *text, cudaStream_t stream) {
    problem_pair p = {.cpu = oracle_context(1), .cuda = open_cuda(stream)};
    device_try(p.cpu, gsw_problem_parse(p.cpu, text, NULL, &p.problem));
    p.host = gsw_problem_matrix(p.problem);
    p.n = oracle_points(&p.host->grid);
    device_try(p.cuda, gsw_matrix_upload(p.cuda, p.host, &p.device));
    p.b = device_vector_make(p.cuda, GSW_F64, p.n);
    p.x = device_vector_make(p.cuda, GSW_F64, p.n);
    return p;
}

static void pair_close(problem_pair *p) {
    device_vector_free(p->cuda, &p->x);
    device_vector_free(p->cuda, &p->b);
    gsw_matrix_release(p->cuda, &p->device);
    gsw_problem_destroy(p->problem);
    gsw_context_destroy(p->cuda);
    gsw_context_destroy(p->cpu);
}

START_TEST(coarse_matrices_are_products) {
    problem_pair p = pair_open(dense_problems[_i], NULL);
    dense_check_levels(p.cuda, &p.device, p.host, dense_problems[_i]);
    pair_close(&p);
}
END_TEST

/* ---- Graphs -----------------------------------------------------------------------------------
 */

static const struct {
    const char *problem;
    gsw_multigrid_options options;
} captured[] = {
    {"poisson:24x23x22", {.cycle_type = GSW_F64}},
    {"poisson:24x23x22", {.cycle_type = GSW_F32}},
    {"lognormal:61x53", {.cycle_type = GSW_F64, .cycle = GSW_CYCLE_F}},
    {"convection:20x21x22", {.cycle_type = GSW_F32, .smoother = GSW_SMOOTHER_SYMGS}},
    {"hpcg:20x21x22", {.cycle_type = GSW_F64, .smoother = GSW_SMOOTHER_MULTICOLOR}},
    {"hpcg:20x21x22", {.cycle_type = GSW_F32, .smoother = GSW_SMOOTHER_ILU0}},
};
#define CAPTURED ((int)(sizeof captured / sizeof captured[0]))

/* One cycle for p->b into the poisoned p->x: queued, or, where there is a graph, replayed. */
static void run_cycle(problem_pair *p, gsw_multigrid *mg, cudaGraphExec_t exec, cudaStream_t stream,
                      double *x) {
    device_poison(p->cuda, &p->x);
    if (exec == NULL)
        device_try(p->cuda, gsw_multigrid_apply(p->cuda, mg, (const double *)p->b.values,
                                                (double *)p->x.values));
    else
        ck_assert_int_eq(cudaGraphLaunch(exec, stream), cudaSuccess);
    device_get(p->cuda, &p->x, x);
}

START_TEST(cycles_are_captured_in_a_graph) {
    cudaStream_t stream = make_stream();
    problem_pair p = pair_open(captured[_i].problem, stream);
    gsw_multigrid_options options = captured[_i].options;
    gsw_multigrid_info info = {.size = sizeof info};
    gsw_multigrid *mg = NULL;
    cudaGraph_t graph = NULL;
    cudaGraphExec_t exec = NULL;
    double *expected = hard_doubles(p.n), *x = hard_doubles(p.n), *b = hard_doubles(p.n);
    options.size = sizeof options;
    options.coarsest_points = 100;
    device_try(p.cuda, gsw_multigrid_create(p.cuda, &p.device, &options, &mg));
    device_try(p.cuda, gsw_multigrid_get_info(mg, &info));
    ck_assert_int_ge(info.levels, 3);
    ck_assert_int_eq(info.cycle_type, options.cycle_type);
    device_put(p.cuda, &p.b, b);
    run_cycle(&p, mg, NULL, stream, x); /* kernels are loaded outside the graph */

    ck_assert_int_eq(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), cudaSuccess);
    device_try(p.cuda,
               gsw_multigrid_apply(p.cuda, mg, (const double *)p.b.values, (double *)p.x.values));
    ck_assert_int_eq(cudaStreamEndCapture(stream, &graph), cudaSuccess);
    ck_assert_int_eq(cudaGraphInstantiateWithFlags(&exec, graph, 0), cudaSuccess);

    for (int run = 0; run < 10; run++) {
        gsw_random_vector((uint64_t)run, p.n, b);
        device_put(p.cuda, &p.b, b);
        run_cycle(&p, mg, NULL, stream, expected);
        run_cycle(&p, mg, exec, stream, x);
        for (int64_t i = 0; i < p.n; i++)
            ck_assert_msg(isfinite(x[i]), "%s, run %d: value %lld is %g", captured[_i].problem, run,
                          (long long)i, x[i]);
        ck_assert_msg(memcmp(x, expected, (size_t)p.n * sizeof *x) == 0, "%s, run %d",
                      captured[_i].problem, run);
    }
    ck_assert_int_eq(cudaGraphExecDestroy(exec), cudaSuccess);
    ck_assert_int_eq(cudaGraphDestroy(graph), cudaSuccess);
    gsw_multigrid_destroy(mg);
    free(b);
    free(x);
    free(expected);
    pair_close(&p);
    close_stream(stream);
}
END_TEST

/* ---- Host arrays ------------------------------------------------------------------------------
 */

/* Host arrays are refused, or taken where the device pages host memory in: never a broken device. A
 * refused refactor leaves the hierarchy as it was. */
START_TEST(host_arrays_are_seen) {
    problem_pair p = pair_open("poisson:12x11x10", NULL);
    gsw_multigrid *mg = NULL, *on_host = NULL;
    double *b = hard_doubles(p.n), *x = hard_doubles(p.n), *expected = hard_doubles(p.n);
    gsw_random_vector(1, p.n, b);
    device_put(p.cuda, &p.b, b);
    device_try(p.cuda, gsw_multigrid_create(p.cuda, &p.device, NULL, &mg));
    run_cycle(&p, mg, NULL, NULL, expected);
    if (gsw_multigrid_create(p.cuda, p.host, NULL, &on_host) == GSW_SUCCESS) {
        gsw_multigrid_destroy(on_host); /* such a device */
    } else {
        ck_assert_ptr_null(on_host);
        ck_assert_ptr_nonnull(strstr(gsw_context_message(p.cuda), "array: values is in host"));
        ck_assert_int_eq(gsw_multigrid_refactor(p.cuda, mg, p.host), GSW_ERROR_INVALID_ARGUMENT);
        ck_assert_ptr_nonnull(strstr(gsw_context_message(p.cuda), "array: values is in host"));
    }
    run_cycle(&p, mg, NULL, NULL, x);
    ck_assert(memcmp(x, expected, (size_t)p.n * sizeof *x) == 0);
    gsw_multigrid_destroy(mg);
    free(expected);
    free(x);
    free(b);
    pair_close(&p);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("cuda_multigrid");
    TCase *tc = tcase_create("multigrid");
    tcase_add_loop_test(tc, coarse_matrices_are_products, 0, DENSE_PROBLEMS);
    tcase_add_loop_test(tc, cycles_are_captured_in_a_graph, 0, CAPTURED);
    tcase_add_test(tc, host_arrays_are_seen);
    suite_add_tcase(suite, tc);
    return device_run_suite(suite);
}
