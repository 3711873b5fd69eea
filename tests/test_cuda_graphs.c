/* test_cuda_graphs.c: what only a CUDA device has: cycles and loops in graphs, sweeps of sections,
 * and host arrays, which are refused there. */
#include "sweep/packed.h"
#include "geometry/stencil_facts.h"
#include "contract/backend.h"
#include "contract/context.h"
#include "context_fixture.h"
#include "device_stream.h"
#include "multigrid_matrices.h"
#include "relax_truth.h"

static cudaStream_t stream; /* of the context */

static void open_stream(void) {
    stream = make_stream();
    context = open_cuda(stream);
    cpu = oracle_context(1);
}

static void close_stream_context(void) {
    close_context();
    close_stream(stream);
}

/* ---- Graphs -----------------------------------------------------------------------------------
 */

/* What a function queues on the stream. */
static cudaGraphExec_t capture(void (*queue)(void *user), void *user) {
    cudaGraph_t graph = NULL;
    cudaGraphExec_t exec = NULL;
    ck_assert_int_eq(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), cudaSuccess);
    queue(user);
    ck_assert_int_eq(cudaStreamEndCapture(stream, &graph), cudaSuccess);
    ck_assert_int_eq(cudaGraphInstantiateWithFlags(&exec, graph, 0), cudaSuccess);
    ck_assert_int_eq(cudaGraphDestroy(graph), cudaSuccess);
    return exec;
}

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

/* A hierarchy and its vectors. */
typedef struct cycle {
    gsw_multigrid *mg;
    int64_t n;
    device_vector b, x;
} cycle;

static cycle cycle_of(const gsw_matrix *host, gsw_multigrid_options options) {
    const int64_t n = oracle_points(&host->grid);
    return (cycle){keep_multigrid(context, keep_there(context, host), options), n,
                   keep_guarded(GSW_F64, n), keep_guarded(GSW_F64, n)};
}

static void queue_cycle(void *user) {
    const cycle *c = user;
    must(context,
         gsw_multigrid_apply(context, c->mg, (const double *)c->b.values, (double *)c->x.values));
}

/* One cycle for c->b into the poisoned c->x: queued, or, where there is a graph, replayed. */
static void run_cycle(cycle *c, cudaGraphExec_t exec, double *x) {
    device_poison(context, &c->x);
    if (exec == NULL)
        queue_cycle(c);
    else
        ck_assert_int_eq(cudaGraphLaunch(exec, stream), cudaSuccess);
    device_get(context, &c->x, x);
}

TEST(cycles_are_captured_in_a_graph) {
    gsw_multigrid_options options = captured[_i].options;
    gsw_multigrid_info info = {.size = sizeof info};
    options.coarsest_points = 100;
    cycle c = cycle_of(keep_problem(captured[_i].problem), options);
    double *expected = keep_zeros(c.n), *x = keep_zeros(c.n);
    must(context, gsw_multigrid_get_info(c.mg, &info));
    ck_assert_int_ge(info.levels, 3);
    ck_assert_int_eq(info.cycle_type, options.cycle_type);
    device_put(context, &c.b, x);
    run_cycle(&c, NULL, x); /* kernels are loaded outside the graph */
    cudaGraphExec_t exec = capture(queue_cycle, &c);
    for (int run = 0; run < 10; run++) {
        device_put(context, &c.b, keep_random((uint64_t)run, c.n));
        run_cycle(&c, NULL, expected);
        run_cycle(&c, exec, x);
        for (int64_t i = 0; i < c.n; i++)
            ck_assert_msg(isfinite(x[i]), "%s, run %d: value %lld is %g", captured[_i].problem, run,
                          (long long)i, x[i]);
        ck_assert_msg(memcmp(x, expected, (size_t)c.n * sizeof *x) == 0, "%s, run %d",
                      captured[_i].problem, run);
    }
    ck_assert_int_eq(cudaGraphExecDestroy(exec), cudaSuccess);
}

/* A loop, its vectors, and the number of sweeps. */
typedef struct loop {
    gsw_relax *relax;
    device_vector b, x;
    int32_t sweeps;
} loop;

static void queue_loop(void *user) {
    const loop *l = user;
    must(context, gsw_relax_run(context, l->relax, l->sweeps, 0, (double *)l->b.values,
                                (double *)l->x.values));
}

/* A CSR is copied; a call can be captured, and the graph replayed. */
TEST(loops_are_captured_in_a_graph) {
    const gsw_grid grid = {150, 90, 1};
    const oracle_layout csr = {GSW_FORMAT_CSR, GSW_F64, GSW_I32, 1, GSW_FULL, 0};
    const oracle_matrix *matrix =
        keep_matrix_of(&grid, oracle_stencil_named("D2N9"), 5, ORACLE_POSITIVE);
    const gsw_relax_options options = {.size = sizeof options,
                                       .method = GSW_RELAX_CHEBYSHEV,
                                       .height = 3,
                                       .lowest = 0.2,
                                       .highest = 2};
    const int64_t n = oracle_points(&grid);
    double *b = keep_random(1, n), *x = keep_random(2, n), *expected = keep_random(2, n);
    loop l = {NULL, keep_guarded(GSW_F64, n), keep_guarded(GSW_F64, n), 1};
    l.relax =
        keep_relax(context, keep_there(context, &keep_converted(matrix, &csr)->view), options);
    device_put(context, &l.b, b);
    device_put(context, &l.x, x);
    queue_loop(&l);
    l.sweeps = 7;
    queue_loop(&l);
    cudaGraphExec_t exec = capture(queue_loop, &l);
    device_put(context, &l.x, x);
    for (int replay = 0; replay < 2; replay++) {
        ck_assert_int_eq(cudaGraphLaunch(exec, stream), cudaSuccess);
        relax_expect(&matrix->view, &options, 7, 0, b, expected);
        device_get(context, &l.x, x);
        relax_compare(&matrix->view, n, x, expected, "a replay");
    }
    ck_assert_int_eq(cudaGraphExecDestroy(exec), cudaSuccess);
}

/* ---- Sections
 * ------------------------------------------------------------------------------------
 */

/* Whether line (y, z) of the grid and line (y + dy, z + dz) lie in different sections. */
static int sections_differ(const gsw_sections *s, int64_t y, int64_t z, int64_t dy, int64_t dz) {
    const int64_t sheared = y + s->shear * z, other = sheared + dy + s->shear * dz;
    return (s->planes > 0 && z / s->planes != (z + dz) / s->planes) ||
           (s->lines > 0 && sheared / s->lines != other / s->lines);
}

/* Whether a sweep visits the point of a coupling before the row's own, in the same section. */
static int is_swept(const gsw_grid *g, int64_t row, gsw_offset o, int down,
                    const gsw_sections *sections) {
    const int before = o.dz != 0 ? o.dz < 0 : o.dy != 0 ? o.dy < 0 : o.dx < 0;
    const int64_t y = row / g->nx % g->ny, z = row / (g->nx * g->ny);
    if (before == down || hard_neighbour(g, row, o) < 0)
        return 0;
    return !sections_differ(sections, y, z, o.dy, o.dz);
}

/* Computes, one value after the other, x of a sweep's triangular solve, or y = b - N x, where N is
 * the part of the matrix outside that sweep. */
static void sweep_by_hand(const gsw_matrix *m, int down, const gsw_sections *sections,
                          const double *b, double *x) {
    const int64_t n = oracle_points(&m->grid);
    for (int64_t k = 0; k < n; k++) {
        const int64_t row = down ? n - 1 - k : k;
        double sum = b[row];
        for (int32_t e = 0; e < m->stencil.count; e++) {
            const gsw_offset o = m->stencil.offsets[e];
            if (e != m->stencil.center && is_swept(&m->grid, row, o, down, sections))
                sum -=
                    ((const double *)m->array.values[e])[row] * x[hard_neighbour(&m->grid, row, o)];
        }
        x[row] = sum / ((const double *)m->array.values[m->stencil.center])[row];
    }
}

static void rest_by_hand(const gsw_matrix *m, int down, const gsw_sections *sections,
                         const double *b, const double *x, double *y) {
    const int64_t n = oracle_points(&m->grid);
    for (int64_t row = 0; row < n; row++) {
        y[row] = b[row];
        for (int32_t e = 0; e < m->stencil.count; e++) {
            const gsw_offset o = m->stencil.offsets[e];
            const int64_t there = hard_neighbour(&m->grid, row, o);
            if (e != m->stencil.center && there >= 0 && !is_swept(&m->grid, row, o, down, sections))
                y[row] -= ((const double *)m->array.values[e])[row] * x[there];
        }
    }
}

/* The values of a vector of either type. */
static void get_values(const device_vector *v, double *to) {
    void *typed = keep_vector(v->type, 1, v->count);
    device_get(context, v, typed);
    for (int64_t i = 0; i < v->count; i++)
        to[i] = oracle_get(v->type, typed, i);
}

/* A sweep and its remaining part N, in both directions. `sections` are the requested ones. Counts
 * the factors that were cut. */
static void check_sections(const gsw_grid *g, const gsw_stencil *s, gsw_dtype type,
                           gsw_sections sections, int *cut) {
    const size_t mark = keep_mark();
    const int64_t n = oracle_points(g);
    const oracle_matrix *exact = keep_matrix_of(g, s, 7, ORACLE_ANY_SIGN);
    const oracle_layout layout = {.format = GSW_FORMAT_STENCIL, .value_type = type};
    const gsw_matrix *there = keep_there(context, &keep_converted(exact, &layout)->view);
    device_vector b = keep_guarded(type, n), x = keep_guarded(type, n), y = keep_guarded(type, n);
    const void *typed = keep_vector(type, 8, n);
    double *given = keep_zeros(n), *expected = keep_zeros(n), *rest = keep_zeros(n),
           *found = keep_zeros(n);
    for (int64_t i = 0; i < n; i++)
        given[i] = oracle_get(type, typed, i);
    device_put(context, &b, typed);
    const gsw_packed_gauss_seidel_ops *kind = (const void *)context->ops->multigrid->gauss_seidel;
    for (int down = 0; down < 2; down++) {
        const gsw_factor_options options = {.size = sizeof options,
                                            .kind = down ? GSW_FACTOR_UPPER : GSW_FACTOR_LOWER,
                                            .factor_type = type,
                                            .vector_type = type};
        gsw_factor *factor = NULL;
        must(context, gsw_packed_open(context, there, &options, sections, &factor));
        keep(KEPT_FACTOR, NULL, factor);
        must(context, gsw_packed_queue(context, factor, there));
        must(context, gsw_packed_await(context, factor));
        const gsw_sections *made = &factor->sections;
        ck_assert(made->planes == 0 || (made->planes >= sections.planes && made->planes < g->nz));
        ck_assert(made->lines == 0 || made->lines >= sections.lines);
        cut[0] += made->planes > 0;
        cut[1] += made->lines > 0;
        sweep_by_hand(&exact->view, down, made, given, expected);
        rest_by_hand(&exact->view, down, made, given, expected, rest);
        device_poison(context, &x);
        must(context, gsw_factor_solve(context, factor, 1, b.values, n, x.values, n));
        get_values(&x, found);
        const double error = oracle_error(GSW_F64, n, found, expected);
        device_poison(context, &y);
        must(context, kind->rest(context, there, type, down, *made, b.values, x.values, y.values));
        get_values(&y, found);
        const double rest_error = oracle_error(GSW_F64, n, found, rest);
        ck_assert_msg(
            error <= oracle_tolerance(type) && rest_error <= oracle_tolerance(type),
            "%lldx%lldx%lld, %d points, type %d, sections %lld, %lld, down %d: %g, rest %g",
            (long long)g->nx, (long long)g->ny, (long long)g->nz, (int)s->count, (int)type,
            (long long)made->planes, (long long)made->lines, down, error, rest_error);
    }
    keep_release(mark);
}

/* Stencils that reach one point, on all grids. */
TEST(sections_are_swept_by_themselves) {
    int cut[2] = {0, 0};
    for (int g = 0; g < oracle_grid_count(); g += device_stride()) {
        const gsw_grid grid = oracle_grid(g);
        for (int s = 0; s < oracle_stencil_count(); s++) {
            const gsw_stencil *stencil = oracle_stencil(s, NULL);
            if (gsw_stencil_beyond(stencil, 1) != NULL)
                continue;
            const gsw_sections one = {.planes = 1 + g % 9}, other = {.lines = 1 + g % 5};
            const gsw_sections both = {.planes = 1 + (g + 4) % 9, .lines = 1 + g % 17};
            check_sections(&grid, stencil, GSW_F64, one, cut);
            check_sections(&grid, stencil, GSW_F64, other, cut);
            check_sections(&grid, stencil, GSW_F32, both, cut);
        }
    }
    ck_assert_int_gt(cut[0], device_stride() > 1 ? 0 : 20);
    ck_assert_int_gt(cut[1], device_stride() > 1 ? 0 : 20);
}

/* ---- Host arrays ------------------------------------------------------------------------------
 */

/* Host arrays are refused, or accepted where the device can page host memory in. They never break
 * the device. A refused refactor leaves the hierarchy unchanged. */
TEST(host_arrays_are_seen) {
    const gsw_matrix *host = keep_problem("poisson:12x11x10");
    cycle c = cycle_of(host, (gsw_multigrid_options){0});
    gsw_multigrid *on_host = NULL;
    double *x = keep_zeros(c.n), *expected = keep_zeros(c.n);
    device_put(context, &c.b, keep_random(1, c.n));
    run_cycle(&c, NULL, expected);
    const gsw_status status = gsw_multigrid_create(context, host, NULL, &on_host);
    if (status == GSW_SUCCESS) {
        gsw_multigrid_destroy(on_host); /* such a device */
    } else {
        ck_assert_ptr_null(on_host);
        assert_message("array: values is in host");
        expect_rejection(gsw_multigrid_refactor(context, c.mg, host), "array: values is in host");
    }
    run_cycle(&c, NULL, x);
    ck_assert(memcmp(x, expected, (size_t)c.n * sizeof *x) == 0);
}

int main(void) {
    backend_chosen = GSW_BACKEND_CUDA;
    Suite *suite = suite_create("cuda_graphs");
    TCase *graphs = suite_case(suite, "graphs", 4, open_stream, close_stream_context),
          *sections = context_case(suite, "sections", 300);
    TESTS(graphs, loops_are_captured_in_a_graph);
    LOOPS(graphs, CAPTURED, cycles_are_captured_in_a_graph);
    TESTS(sections, sections_are_swept_by_themselves, host_arrays_are_seen);
    return backend_run_suite(suite);
}
