/* test_published.c: the steps to the published line algorithm (baselines/published.cu) against the
 * serial reference on the CPU.
 *
 * GSW_TEST_STRIDE=6 in the environment tries one grid in six (see device.h). */
#include <string.h>

#include "device.h"
#include "rival.h"

/* The lower bound that does not wait, so its answer is not right. */
#define LOWER_BOUND "state-none"

#define REPEATS 100

static const char *const names[] = {
    "tasks",         "map",          "state",          "acquire",      "prefetch",
    "published",     "published-d1", "published-d2",   "published-d4", "published-d8",
    "published-d16", "state-cached", "state-uncached", "state-rows",   LOWER_BOUND,
};
#define NAMES ((int)(sizeof names / sizeof names[0]))

/* ---- one system on both sides ---- */

typedef struct lower_system {
    gsw_context *cpu, *cuda;
    oracle_matrix *host;
    gsw_matrix device;
    int64_t n;
    double *b, *x, *first, *expected;
    device_vector device_b, device_x;
    gsw_rival_system system;
} lower_system;

static void system_open(lower_system *s, const gsw_grid *grid, const gsw_stencil *stencil,
                        const oracle_layout *layout) {
    oracle_matrix *matrix = oracle_random(grid, stencil, 7, ORACLE_ANY_SIGN);
    *s = (lower_system){.cpu = oracle_context(1), .cuda = device_context(NULL)};
    s->n = oracle_points(grid);
    s->host = oracle_convert(matrix, layout);
    oracle_free(matrix);
    device_try(s->cuda, gsw_matrix_upload(s->cuda, &s->host->view, &s->device));
    s->b = oracle_vector(GSW_F64, 11, s->n);
    s->x = oracle_copy(GSW_F64, s->b, s->n);
    s->first = oracle_copy(GSW_F64, s->b, s->n);
    s->expected = oracle_copy(GSW_F64, s->b, s->n);
    s->device_b = device_vector_make(s->cuda, GSW_F64, s->n);
    s->device_x = device_vector_make(s->cuda, GSW_F64, s->n);
    device_put(s->cuda, &s->device_b, s->b);
    s->system = (gsw_rival_system){.grid = *grid,
                                   .stencil = *stencil,
                                   .part = layout->part,
                                   .host = &s->host->view.csr,
                                   .device = &s->device.csr,
                                   .stream = NULL};
}

static void system_close(lower_system *s) {
    device_vector_free(s->cuda, &s->device_b);
    device_vector_free(s->cuda, &s->device_x);
    gsw_matrix_release(s->cuda, &s->device);
    oracle_free(s->host);
    free(s->b);
    free(s->x);
    free(s->first);
    free(s->expected);
    gsw_context_destroy(s->cuda);
    gsw_context_destroy(s->cpu);
}

static const oracle_layout lower_csr = {.format = GSW_FORMAT_CSR,
                                        .value_type = GSW_F64,
                                        .index_type = GSW_I32,
                                        .base = 0,
                                        .part = GSW_LOWER};

static void system_solve(lower_system *s, const gsw_rival *step, void *state, double *x) {
    char message[256] = "";
    device_poison(s->cuda, &s->device_x);
    ck_assert_msg(
        step->solve(state, s->device_b.values, s->device_x.values, message, sizeof message) == 0,
        "%s: %s", step->name, message);
    device_get(s->cuda, &s->device_x, x);
}

/* Solves several times with a step. The first solution is within the tolerance, the others have its
 * bits. */
static void check_step(lower_system *s, const gsw_rival *step, const char *stencil, int solves) {
    const gsw_grid *g = &s->system.grid;
    char message[256] = "";
    gsw_rival_cost cost = {-1, -1};
    void *state = NULL;
    ck_assert_msg(step->open(&s->system, &state, &cost, message, sizeof message) == 0, "%s: %s",
                  step->name, message);
    ck_assert(cost.setup_ms >= 0 && cost.buffer_bytes > 0);
    system_solve(s, step, state, s->first);
    const double error = oracle_error(GSW_F64, s->n, s->first, s->expected);
    ck_assert_msg(error <= oracle_tolerance(GSW_F64), "%s, %s on %lldx%lldx%lld: error %g",
                  step->name, stencil, (long long)g->nx, (long long)g->ny, (long long)g->nz, error);
    for (int k = 1; k < solves; k++) {
        system_solve(s, step, state, s->x);
        ck_assert_msg(memcmp(s->x, s->first, (size_t)s->n * sizeof *s->x) == 0,
                      "%s, %s on %lldx%lldx%lld: solve %d has other bits", step->name, stencil,
                      (long long)g->nx, (long long)g->ny, (long long)g->nz, k);
    }
    step->close(state);
}

/* All steps that have a right answer. */
static int check_steps(const gsw_grid *grid, const gsw_stencil *stencil, const char *name,
                       int solves) {
    const gsw_sptrsv_options options = {
        .size = sizeof options, .part = GSW_LOWER, .algorithm = GSW_ALGORITHM_REFERENCE};
    int count, checked = 0;
    const gsw_rival *steps = gsw_ablation_steps(&count);
    lower_system s;
    system_open(&s, grid, stencil, &lower_csr);
    device_try(s.cpu, gsw_sptrsv(s.cpu, &s.host->view, &options, 1, s.b, 0, s.expected, 0));
    for (int k = 0; k < count; k++) {
        if (strcmp(steps[k].name, LOWER_BOUND) != 0) {
            check_step(&s, &steps[k], name, solves);
            checked++;
        }
    }
    system_close(&s);
    return checked;
}

/* ---- the tests ---- */

TEST(steps_are_complete) {
    int count;
    const gsw_rival *steps = gsw_ablation_steps(&count);
    ck_assert_int_eq(count, NAMES);
    for (int k = 0; k < NAMES; k++) {
        ck_assert_str_eq(steps[k].name, names[k]);
        ck_assert(steps[k].on_device);
    }
}

TEST(steps_equal_reference) {
    const int stride = device_stride();
    const char *name;
    const gsw_stencil *stencil = oracle_stencil(_i, &name);
    int checked = 0;
    for (int g = _i % stride; g < oracle_grid_count(); g += stride) {
        const gsw_grid grid = oracle_grid(g);
        checked += check_steps(&grid, stencil, name, 3);
    }
    printf("%s: %d solvers equal the reference\n", name, checked);
    ck_assert_int_ge(checked, (oracle_grid_count() / stride) * (NAMES - 1));
}

TEST(steps_repeat_their_bits) {
    const gsw_grid grid = {67, 21, 13};
    const char *name;
    const gsw_stencil *stencil = oracle_stencil(_i, &name);
    ck_assert_int_eq(check_steps(&grid, stencil, name, REPEATS / device_stride()), NAMES - 1);
}

/* The lower bound ends, writes every row and nothing else. */
TEST(lower_bound_ends) {
    const gsw_grid grid = {67, 21, 13};
    int count;
    const gsw_rival *step = &gsw_ablation_steps(&count)[NAMES - 1];
    char message[256] = "";
    gsw_rival_cost cost;
    void *state = NULL;
    lower_system s;
    system_open(&s, &grid, oracle_stencil(_i, NULL), &lower_csr);
    ck_assert_msg(step->open(&s.system, &state, &cost, message, sizeof message) == 0, "%s",
                  message);
    for (int k = 0; k < 3; k++) {
        device_put(s.cuda, &s.device_x, s.b);
        ck_assert_msg(
            step->solve(state, s.device_b.values, s.device_x.values, message, sizeof message) == 0,
            "%s", message);
        device_get(s.cuda, &s.device_x, s.x);
        for (int64_t i = 0; i < s.n; i++)
            ck_assert_msg(s.x[i] != s.b[i], "row %lld was not written", (long long)i);
    }
    step->close(state);
    system_close(&s);
}

static void check_refused(const oracle_layout *layout) {
    const gsw_grid grid = {9, 7, 5};
    int count;
    const gsw_rival *steps = gsw_ablation_steps(&count);
    lower_system s;
    system_open(&s, &grid, oracle_stencil(2, NULL), layout);
    for (int k = 0; k < count; k++) {
        char message[256] = "";
        gsw_rival_cost cost;
        void *state = &count;
        ck_assert_int_eq(steps[k].open(&s.system, &state, &cost, message, sizeof message), -1);
        ck_assert_ptr_null(state);
        ck_assert_str_ne(message, "");
        steps[k].close(state);
    }
    system_close(&s);
}

TEST(other_systems_are_refused) {
    oracle_layout layout = lower_csr;
    layout.part = GSW_UPPER;
    check_refused(&layout);
    layout = lower_csr;
    layout.value_type = GSW_F32;
    check_refused(&layout);
    layout = lower_csr;
    layout.missing = 5;
    check_refused(&layout);
}

int main(void) {
    Suite *suite = suite_create("published");
    TCase *tests = suite_case(suite, "published", 0, NULL, NULL);
    TESTS(tests, steps_are_complete, other_systems_are_refused);
    LOOPS(tests, oracle_stencil_count(), steps_equal_reference, steps_repeat_their_bits,
          lower_bound_ends);
    return device_run_suite(suite);
}
