/* test_cuda_multigrid.c: multigrid on a CUDA device: its coarse matrices, cycles in graphs, sweeps
 * of slabs, and refused arguments. */
#include "sweep/factor.h"
#include "matrix/stencil_facts.h"
#include "contract/backend.h"
#include "contract/context.h"
#include "device_stream.h"
#include "multigrid_dense.h"
#include "multigrid_loops.h"

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

START_TEST(loops_smooth_problems) {
    gsw_context *cuda = open_cuda(NULL);
    loops_check_problem(cuda, _i);
    gsw_context_destroy(cuda);
}
END_TEST

START_TEST(loops_smooth_any_stencil) {
    gsw_context *cuda = open_cuda(NULL);
    loops_check_stencil(cuda, _i);
    gsw_context_destroy(cuda);
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
    {"poisson:24x23x22", {.cycle_type = GSW_F32, .smoother = GSW_SMOOTHER_JACOBI}},
    {"hpcg:20x21x22",
     {.cycle_type = GSW_F64, .smoother = GSW_SMOOTHER_JACOBI, .pre_sweeps = 2, .post_sweeps = 2}},
    {"lognormal:61x53",
     {.cycle_type = GSW_F32, .smoother = GSW_SMOOTHER_CHEBYSHEV, .cycle = GSW_CYCLE_W}},
    {"convection:20x21x22", {.cycle_type = GSW_F64, .smoother = GSW_SMOOTHER_CHEBYSHEV}},
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

/* ---- Slabs ------------------------------------------------------------------------------------
 */

/* Whether a sweep visits the point of a coupling before the row's own, in the same slab. */
static int is_swept(const gsw_grid *g, int64_t row, gsw_offset o, int down, int64_t slab) {
    const int before = o.dz != 0 ? o.dz < 0 : o.dy != 0 ? o.dy < 0 : o.dx < 0;
    const int64_t z = row / (g->nx * g->ny);
    if (before == down || hard_neighbour(g, row, o) < 0)
        return 0;
    return slab == 0 || z / slab == (z + o.dz) / slab;
}

/* Computes, one value after the other, x of a sweep's triangular solve, or y = b - N x, where N is
 * the part of the matrix outside that sweep. */
static void sweep_by_hand(const gsw_matrix *m, int down, int64_t slab, const double *b, double *x) {
    const int64_t n = oracle_points(&m->grid);
    for (int64_t k = 0; k < n; k++) {
        const int64_t row = down ? n - 1 - k : k;
        double sum = b[row];
        for (int32_t e = 0; e < m->stencil.count; e++) {
            const gsw_offset o = m->stencil.offsets[e];
            if (e != m->stencil.center && is_swept(&m->grid, row, o, down, slab))
                sum -=
                    ((const double *)m->array.values[e])[row] * x[hard_neighbour(&m->grid, row, o)];
        }
        x[row] = sum / ((const double *)m->array.values[m->stencil.center])[row];
    }
}

static void rest_by_hand(const gsw_matrix *m, int down, int64_t slab, const double *b,
                         const double *x, double *y) {
    const int64_t n = oracle_points(&m->grid);
    for (int64_t row = 0; row < n; row++) {
        y[row] = b[row];
        for (int32_t e = 0; e < m->stencil.count; e++) {
            const gsw_offset o = m->stencil.offsets[e];
            const int64_t there = hard_neighbour(&m->grid, row, o);
            if (e != m->stencil.center && there >= 0 && !is_swept(&m->grid, row, o, down, slab))
                y[row] -= ((const double *)m->array.values[e])[row] * x[there];
        }
    }
}

/* The values of a vector of either type. */
static void get_values(gsw_context *cuda, const device_vector *v, double *to) {
    void *typed = malloc((size_t)v->count * gsw_dtype_size(v->type));
    ck_assert_ptr_nonnull(typed);
    device_get(cuda, v, typed);
    for (int64_t i = 0; i < v->count; i++)
        to[i] = oracle_get(v->type, typed, i);
    free(typed);
}

/* A matrix of either type on the host and on a device, and vectors there. */
typedef struct slab_case {
    oracle_matrix *exact;
    gsw_matrix there;
    device_vector b, x, y;
    int64_t n;
    double *given, *expected, *rest, *found;
} slab_case;

static slab_case slab_case_open(gsw_context *cuda, const gsw_grid *g, const gsw_stencil *s,
                                gsw_dtype type) {
    slab_case c = {.exact = oracle_random(g, s, 7, ORACLE_ANY_SIGN), .n = oracle_points(g)};
    oracle_matrix *typed =
        oracle_convert(c.exact, &(oracle_layout){.format = GSW_FORMAT_STENCIL, .value_type = type});
    void *b = oracle_vector(type, 8, c.n);
    device_try(cuda, gsw_matrix_upload(cuda, &typed->view, &c.there));
    c.b = device_vector_make(cuda, type, c.n);
    c.x = device_vector_make(cuda, type, c.n);
    c.y = device_vector_make(cuda, type, c.n);
    c.given = hard_doubles(c.n);
    c.expected = hard_doubles(c.n);
    c.rest = hard_doubles(c.n);
    c.found = hard_doubles(c.n);
    for (int64_t i = 0; i < c.n; i++)
        c.given[i] = oracle_get(type, b, i);
    device_put(cuda, &c.b, b);
    free(b);
    oracle_free(typed);
    return c;
}

static void slab_case_close(gsw_context *cuda, slab_case *c) {
    free(c->found);
    free(c->rest);
    free(c->expected);
    free(c->given);
    device_vector_free(cuda, &c->y);
    device_vector_free(cuda, &c->x);
    device_vector_free(cuda, &c->b);
    gsw_matrix_release(cuda, &c->there);
    oracle_free(c->exact);
}

/* A sweep and its remaining part N, on a device, in both directions. `slab` is the requested slab.
 * Counts the factors that were cut. */
static void check_slabs(gsw_context *cuda, const gsw_grid *g, const gsw_stencil *s, gsw_dtype type,
                        int64_t slab, int *cut) {
    slab_case c = slab_case_open(cuda, g, s, type);
    for (int down = 0; down < 2; down++) {
        const gsw_factor_options options = {.size = sizeof options,
                                            .kind = down ? GSW_FACTOR_UPPER : GSW_FACTOR_LOWER,
                                            .factor_type = type,
                                            .vector_type = type};
        gsw_factor *factor = NULL;
        device_try(cuda, gsw_factor_open(cuda, &c.there, &options, slab, &factor));
        device_try(cuda, gsw_factor_queue(cuda, factor, &c.there));
        device_try(cuda, gsw_factor_await(cuda, factor));
        ck_assert(factor->slab == 0 || (factor->slab >= slab && factor->slab < g->nz));
        *cut += factor->slab > 0;
        sweep_by_hand(&c.exact->view, down, factor->slab, c.given, c.expected);
        rest_by_hand(&c.exact->view, down, factor->slab, c.given, c.expected, c.rest);
        device_poison(cuda, &c.x);
        device_try(cuda, gsw_factor_solve(cuda, factor, 1, c.b.values, c.n, c.x.values, c.n));
        get_values(cuda, &c.x, c.found);
        const double error = oracle_error(GSW_F64, c.n, c.found, c.expected);
        device_poison(cuda, &c.y);
        device_try(cuda, cuda->ops->multigrid->sweep_rest(cuda, &c.there, type, down, factor->slab,
                                                          c.b.values, c.x.values, c.y.values));
        get_values(cuda, &c.y, c.found);
        const double rest_error = oracle_error(GSW_F64, c.n, c.found, c.rest);
        ck_assert_msg(error <= oracle_tolerance(type) && rest_error <= oracle_tolerance(type),
                      "%lldx%lldx%lld, %d points, type %d, slab %lld, down %d: %g, rest %g",
                      (long long)g->nx, (long long)g->ny, (long long)g->nz, (int)s->count,
                      (int)type, (long long)factor->slab, down, error, rest_error);
        gsw_factor_destroy(factor);
    }
    slab_case_close(cuda, &c);
}

/* Stencils that reach one point, on all grids. */
START_TEST(slabs_are_swept_by_themselves) {
    gsw_context *cuda = open_cuda(NULL);
    int cut = 0;
    for (int g = 0; g < oracle_grid_count(); g += device_stride()) {
        const gsw_grid grid = oracle_grid(g);
        for (int s = 0; s < oracle_stencil_count(); s++) {
            const gsw_stencil *stencil = oracle_stencil(s, NULL);
            if (gsw_stencil_beyond(stencil, 1) != NULL)
                continue;
            check_slabs(cuda, &grid, stencil, GSW_F64, 1 + g % 9, &cut);
            check_slabs(cuda, &grid, stencil, GSW_F32, 1 + (g + 4) % 9, &cut);
        }
    }
    ck_assert_int_gt(cut, device_stride() > 1 ? 0 : 20);
    gsw_context_destroy(cuda);
}
END_TEST

/* ---- Host arrays ------------------------------------------------------------------------------
 */

/* Host arrays are refused, or accepted where the device can page host memory in. They never break
 * the device. A refused refactor leaves the hierarchy unchanged. */
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
    tcase_add_loop_test(tc, loops_smooth_problems, 0, LOOPS_PROBLEMS);
    tcase_add_loop_test(tc, loops_smooth_any_stencil, 0, oracle_stencil_count());
    tcase_add_loop_test(tc, cycles_are_captured_in_a_graph, 0, CAPTURED);
    tcase_add_test(tc, slabs_are_swept_by_themselves);
    tcase_add_test(tc, host_arrays_are_seen);
    suite_add_tcase(suite, tc);
    return device_run_suite(suite);
}
