/* test_cuda_faults.c: what the library does on a CUDA device where memory, calls, kernels or
 * numbers fail. Every fault must end in a documented status. The next solve must have the bits that
 * it had before, and nothing may leak.
 *
 * GSW_FAULTS=10000 in the environment injects about so many faults. */
#include <inttypes.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device_stream.h"
#include "factor_cases.h"
#include "fault_campaign.h"
#include "fault_device.h"
#include "fault_spoil.h"
#include "krylov_solve.h"
#include "occupy.h"

/* Host memory that the library asks for while it serves the device. What the CUDA runtime itself
 * allocates passes by. */
gsw_status __real_gsw_alloc(gsw_context *context, size_t count, size_t size, const char *what,
                            void **out);
gsw_status __wrap_gsw_alloc(gsw_context *context, size_t count, size_t size, const char *what,
                            void **out);
gsw_status __wrap_gsw_alloc(gsw_context *context, size_t count, size_t size, const char *what,
                            void **out) {
    if (fault_now(FAULT_MEMORY))
        return gsw_context_fail(context, GSW_ERROR_OUT_OF_MEMORY, what);
    return __real_gsw_alloc(context, count, size, what, out);
}

/* ---- The world ------------------------------------------------------------------------------- */

enum { POINTS = 10 * 11 * 10, COLUMNS = 3 };

#define SOON_NS INT64_C(2000000000)

/* What all scenes work on, made without faults: matrices on the host and on the device. */
static struct {
    cudaStream_t stream, other;
    gsw_context *context, *cpu;
    oracle_matrix *random; /* FAULT_SMALL points, as arrays */
    oracle_matrix *csr;    /* the same */
    gsw_problem *problem[2];
    gsw_matrix small[2], large[2]; /* arrays and CSR; the problems */
    double b[COLUMNS * POINTS], x[COLUMNS * POINTS];
    void *b_there, *b32_there, *x_there;
} world;

static void open_world(void) {
    static const char *const problems[] = {"poisson:10x11x10", "convection:10x11x10"};
    const gsw_grid grid = {5, 4, 3};
    float narrow[COLUMNS * POINTS];
    world.stream = make_stream();
    world.other = make_stream();
    world.context = open_cuda(world.stream);
    if (device_stride() == 1) /* what hangs shows soon */
        gsw_cuda_test_hooks(world.context, SOON_NS, NOTHING_WITHHELD, 0);
    world.cpu = oracle_context(1);
    world.random = oracle_random(&grid, oracle_stencil_named("D3N7"), 7, ORACLE_POSITIVE);
    world.csr = oracle_convert(world.random, &number_layouts[0]);
    device_try(world.context,
               gsw_matrix_upload(world.context, &world.random->view, &world.small[0]));
    device_try(world.context, gsw_matrix_upload(world.context, &world.csr->view, &world.small[1]));
    for (int k = 0; k < 2; k++) {
        device_try(world.cpu, gsw_problem_parse(world.cpu, problems[k], NULL, &world.problem[k]));
        device_try(world.context,
                   gsw_matrix_upload(world.context, gsw_problem_matrix(world.problem[k]),
                                     &world.large[k]));
    }
    gsw_random_vector(1, COLUMNS * POINTS, world.b);
    for (int i = 0; i < COLUMNS * POINTS; i++)
        narrow[i] = (float)world.b[i];
    device_try(world.context, gsw_memory_alloc(world.context, sizeof world.b, &world.b_there));
    device_try(world.context, gsw_memory_alloc(world.context, sizeof narrow, &world.b32_there));
    device_try(world.context, gsw_memory_alloc(world.context, sizeof world.x, &world.x_there));
    device_try(world.context,
               gsw_memory_upload(world.context, world.b_there, world.b, sizeof world.b));
    device_try(world.context,
               gsw_memory_upload(world.context, world.b32_there, narrow, sizeof narrow));
}

static void close_world(void) {
    gsw_memory_free(world.context, world.x_there);
    gsw_memory_free(world.context, world.b32_there);
    gsw_memory_free(world.context, world.b_there);
    for (int k = 0; k < 2; k++) {
        gsw_matrix_release(world.context, &world.large[k]);
        gsw_matrix_release(world.context, &world.small[k]);
        gsw_problem_destroy(world.problem[k]);
    }
    oracle_free(world.csr);
    oracle_free(world.random);
    gsw_context_destroy(world.context);
    gsw_context_destroy(world.cpu);
    close_stream(world.other);
    close_stream(world.stream);
    ck_assert_int_eq(atomic_load(&device_live), 0);
}

/* ---- Scenes ---------------------------------------------------------------------------------- */

static int untouched_object;
static void *const untouched = &untouched_object; /* what no failed call may leave in an output */

/* Notes values of x. */
static void note_x(outcome *o, size_t bytes) {
    STEP(o, gsw_memory_download(world.context, world.x, world.x_there, bytes));
    note(o, world.x, bytes);
end:;
}

static void scene_context(outcome *o, int variant) {
    const gsw_context_options options = {.size = sizeof options,
                                         .backend = GSW_BACKEND_CUDA,
                                         .stream = variant ? world.stream : NULL};
    gsw_context *made = try_context(o, &options);
    if (made == NULL)
        return;
    note_number(o, gsw_context_backend(made));
    gsw_context_destroy(made);
}

static void scene_memory(outcome *o, int variant) {
    void *made = untouched;
    MAKE(o, made, gsw_memory_alloc(world.context, variant ? (size_t)8 << 20 : 40, &made));
    o->status = gsw_memory_set(world.context, made, variant, 40);
    if (o->status == GSW_SUCCESS)
        o->status = gsw_memory_upload(world.context, made, world.b, 32);
    if (o->status == GSW_SUCCESS)
        o->status = gsw_memory_download(world.context, world.x, made, 40);
    if (o->status == GSW_SUCCESS)
        note(o, world.x, 40);
    gsw_memory_free(world.context, made);
end:;
}

static void scene_upload(outcome *o, int variant) {
    const gsw_sptrsv_options options = {.size = sizeof options};
    gsw_matrix copy;
    memset(&copy, 1, sizeof copy);
    o->status =
        gsw_matrix_upload(world.context, variant ? &world.random->view : &world.csr->view, &copy);
    o->left += o->status != GSW_SUCCESS &&
               (copy.csr.row_ptr != NULL || copy.array.values != NULL || copy.grid.nx != 0);
    if (o->status == GSW_SUCCESS)
        o->status =
            gsw_sptrsv(world.context, &copy, &options, 1, world.b_there, 0, world.x_there, 0);
    if (o->status == GSW_SUCCESS)
        note_x(o, FAULT_SMALL * sizeof(double));
    gsw_matrix_release(world.context, &copy);
}

static void scene_validate(outcome *o, int variant) {
    o->status = gsw_matrix_validate(world.context, &world.small[variant]);
}

static void scene_product(outcome *o, int variant) {
    STEP(o, gsw_residual(world.context, &world.large[variant], GSW_F64, world.b_there,
                         (const double *)world.b_there + POINTS, world.x_there));
    note_x(o, POINTS * sizeof(double));
end:;
}

static void scene_direct(outcome *o, int variant) {
    static const gsw_algorithm algorithms[] = {GSW_ALGORITHM_AUTO, GSW_ALGORITHM_LINE,
                                               GSW_ALGORITHM_PENCIL};
    const gsw_sptrsv_options options = {.size = sizeof options,
                                        .algorithm = algorithms[variant % 3],
                                        .part = variant / 3 & 1 ? GSW_UPPER : GSW_LOWER,
                                        .transpose = variant / 6 & 1};
    STEP(o, gsw_memory_set(world.context, world.x_there, 0xff, sizeof world.x));
    STEP(o, gsw_sptrsv(world.context, &world.small[variant / 12 & 1], &options, 2, world.b_there,
                       FAULT_SMALL, world.x_there, FAULT_SMALL));
    note_x(o, 2 * FAULT_SMALL * sizeof(double));
end:;
}

/* The first direct sweep of a context allocates. */
static void scene_first_direct(outcome *o, int variant) {
    const gsw_sptrsv_options options = {
        .size = sizeof options, .algorithm = GSW_ALGORITHM_LINE, .part = (gsw_part)variant};
    const gsw_context_options made = {
        .size = sizeof made, .backend = GSW_BACKEND_CUDA, .stream = world.stream};
    gsw_context *context = try_context(o, &made);
    if (context == NULL)
        return;
    o->status =
        gsw_sptrsv(context, &world.small[0], &options, 1, world.b_there, 0, world.x_there, 0);
    if (o->status == GSW_SUCCESS)
        o->status =
            gsw_memory_download(context, world.x, world.x_there, FAULT_SMALL * sizeof(double));
    o->had_message = gsw_context_message(context)[0] != '\0';
    gsw_context_destroy(context);
    if (o->status == GSW_SUCCESS)
        note(o, world.x, FAULT_SMALL * sizeof(double));
}

/* A solve with a factor for `count` right-hand sides. If it fails, the next one must not. */
static void note_solve(outcome *o, gsw_factor *factor, gsw_dtype type, int64_t count) {
    const void *b = type == GSW_F64 ? world.b_there : world.b32_there;
    const size_t bytes = (size_t)count * FAULT_SMALL * gsw_dtype_size(type);
    STEP(o, gsw_memory_set(world.context, world.x_there, 0xff, bytes));
    o->status =
        gsw_factor_solve(world.context, factor, count, b, FAULT_SMALL, world.x_there, FAULT_SMALL);
    if (o->status == GSW_SUCCESS) {
        note_x(o, bytes);
        return;
    }
    /* The same factor again: one right-hand side after the other, then all together. */
    double *single = malloc(2 * bytes);
    ck_assert_ptr_nonnull(single);
    fault.paused++;
    for (int64_t r = 0; r < count; r++) {
        const size_t begin = (size_t)r * FAULT_SMALL * gsw_dtype_size(type);
        o->left += gsw_factor_solve(world.context, factor, 1, (const char *)b + begin, FAULT_SMALL,
                                    (char *)world.x_there + begin, FAULT_SMALL) != GSW_SUCCESS;
    }
    o->left += gsw_memory_download(world.context, single, world.x_there, bytes) != GSW_SUCCESS;
    o->left += gsw_factor_solve(world.context, factor, count, b, FAULT_SMALL, world.x_there,
                                FAULT_SMALL) != GSW_SUCCESS;
    o->left += gsw_memory_download(world.context, world.x, world.x_there, bytes) != GSW_SUCCESS;
    o->left +=
        !(oracle_error(type, count * FAULT_SMALL, world.x, single) <= oracle_tolerance(type));
    fault.paused--;
    free(single);
end:;
}

static void scene_factor(outcome *o, int variant) {
    gsw_factor_options options;
    gsw_factor *factor = untouched;
    const gsw_matrix *m = &world.small[variant & 1];
    const int type = variant / 2 % TYPES;
    if (!options_at(variant / 2 / TYPES, type, &m->stencil, &options))
        return;
    const int lu = options.kind == GSW_FACTOR_LU;
    if (lu)
        MAKE(o, factor, gsw_factor_create_lu(world.context, m, m, &options, &factor));
    else
        MAKE(o, factor, gsw_factor_create(world.context, m, &options, &factor));
    note_solve(o, factor, types[type].vector, 1);
    if (o->status == GSW_SUCCESS)
        note_solve(o, factor, types[type].vector, COLUMNS);
    if (o->status == GSW_SUCCESS) {
        o->status = gsw_factor_refactor(world.context, factor, m, lu ? m : NULL);
        if (o->status != GSW_SUCCESS) { /* it must serve again */
            fault.paused++;
            o->left += gsw_factor_refactor(world.context, factor, m, lu ? m : NULL) != GSW_SUCCESS;
            fault.paused--;
        }
    }
    if (o->status == GSW_SUCCESS)
        note_solve(o, factor, types[type].vector, COLUMNS);
    gsw_factor_destroy(factor);
end:;
}

/* A factor's triangles, extracted. */
static void scene_triangles(outcome *o, int variant) {
    static const gsw_factor_kind kinds[] = {GSW_ILU0, GSW_IC0, GSW_DILU};
    const gsw_matrix *m = &world.small[variant & 1];
    const gsw_factor_options options = {.size = sizeof options, .kind = kinds[variant / 2]};
    gsw_factor *factor = NULL;
    gsw_csr lower = {0}, upper = {0};
    STEP(o, gsw_factor_create(world.context, m, &options, &factor));
    o->status = gsw_factor_extract(world.context, factor, GSW_I32, &lower, &upper);
    o->left += o->status != GSW_SUCCESS && (lower.values != NULL || upper.values != NULL);
    STEP(o, o->status);
    note(o, lower.values, (size_t)lower.nonzeros * sizeof(double));
    note(o, upper.values, (size_t)upper.nonzeros * sizeof(double));
end:
    gsw_csr_free(&upper);
    gsw_csr_free(&lower);
    gsw_factor_destroy(factor);
}

static gsw_multigrid_options hierarchy_options(int variant) {
    return (gsw_multigrid_options){.size = sizeof(gsw_multigrid_options),
                                   .smoother = (gsw_smoother)(variant / 2 % 8),
                                   .cycle = (gsw_cycle)(variant % 3),
                                   .cycle_type = variant & 1 ? GSW_F32 : GSW_F64,
                                   .interpolation = (gsw_interpolation)(variant / 16 & 1),
                                   .coarsest_points = 30};
}

static void scene_multigrid(outcome *o, int variant) {
    const gsw_matrix *m = &world.large[variant & 1];
    const gsw_multigrid_options options = hierarchy_options(variant);
    gsw_multigrid *mg = untouched;
    MAKE(o, mg, gsw_multigrid_create(world.context, m, &options, &mg));
    o->status = gsw_multigrid_apply(world.context, mg, world.b_there, world.x_there);
    if (o->status == GSW_SUCCESS)
        note_x(o, POINTS * sizeof(double));
    if (o->status == GSW_SUCCESS) {
        o->status = gsw_multigrid_refactor(world.context, mg, m);
        if (o->status != GSW_SUCCESS) { /* it must serve again */
            fault.paused++;
            o->left += gsw_multigrid_refactor(world.context, mg, m) != GSW_SUCCESS;
            o->left +=
                gsw_multigrid_apply(world.context, mg, world.b_there, world.x_there) != GSW_SUCCESS;
            o->left += gsw_context_synchronize(world.context) != GSW_SUCCESS;
            fault.paused--;
        }
    }
    if (o->status == GSW_SUCCESS)
        o->status = gsw_multigrid_apply(world.context, mg, world.b_there, world.x_there);
    if (o->status == GSW_SUCCESS)
        note_x(o, POINTS * sizeof(double));
    gsw_multigrid_destroy(mg);
end:;
}

static void scene_krylov(outcome *o, int variant) {
    const gsw_method method = (gsw_method)(variant % 4);
    const gsw_matrix *m = &world.large[method == GSW_CG ? 0 : variant / 4 & 1];
    const gsw_krylov_options options = {.size = sizeof options,
                                        .max_iterations = 6,
                                        .restart = 4,
                                        .norm = variant / 8 & 1 ? GSW_NORM_PRECONDITIONED
                                                                : GSW_NORM_TRUE};
    gsw_factor *factor = NULL;
    if (method != GSW_CG)
        STEP(o, gsw_factor_create(world.context, m, NULL, &factor));
    STEP(o, gsw_memory_set(world.context, world.x_there, 0, sizeof world.x));
    const gsw_status status = solve_krylov(world.context, method, m, factor, &options,
                                           world.b_there, world.x_there, NULL);
    note_number(o, status);
    STEP(o, status == GSW_ERROR_NOT_CONVERGED ? GSW_SUCCESS : status);
    note_x(o, POINTS * sizeof(double));
end:
    gsw_factor_destroy(factor);
}

static const scene scenes[] = {
    {"context", scene_context, 2, 0, 0},
    {"memory", scene_memory, 2, 0, 0},
    {"upload", scene_upload, 2, 0, 0},
    {"validation", scene_validate, 2, 0, 0},
    {"product", scene_product, 2, 0, 0},
    {"direct sweep", scene_direct, 24, 5, 0},
    {"first direct sweep", scene_first_direct, 2, 0, 0},
    {"factor", scene_factor, 2 * TYPES *OPTIONS, 7, 0},
    {"triangles", scene_triangles, 6, 0, 0},
    {"multigrid", scene_multigrid, 32, 9, 0},
    {"Krylov method", scene_krylov, 16, 3, 0},
};
#define SCENES ((int)(sizeof scenes / sizeof scenes[0]))

/* All scenes, with faults of one kind of calls. */
static void run_scenes(const char *name, fault_kind kind, unsigned refusals, long most) {
    tally sum = {0};
    open_world();
    const campaign c = {.context = world.context,
                        .kind = kind,
                        .refusals = refusals,
                        .live = &device_live,
                        .most = wanted_faults() > 0 ? 4 * most : most};
    print_head("refused");
    for (int i = 0; i < SCENES; i++) {
        tally t = {0};
        run_campaign(&c, &scenes[i], scenes[i].stride > 0 ? scenes[i].stride : 1, &t);
        char text[60];
        (void)snprintf(text, sizeof text, "%s: %s", name, scenes[i].name);
        print_tally(text, &t);
        add_tally(&sum, &t);
    }
    print_tally(name, &sum);
    close_world();
    expect_no_fault(&sum, 100);
}

TEST(device_memory_fails) {
    run_scenes("device memory", FAULT_DEVICE_MEMORY, MAY(GSW_ERROR_OUT_OF_MEMORY), 10);
}

TEST(host_memory_fails) {
    run_scenes("host memory", FAULT_MEMORY, MAY(GSW_ERROR_OUT_OF_MEMORY), 6);
}

/* Copies, launches, waits. A context that cannot choose its device has no backend. */
TEST(calls_fail) {
    run_scenes("calls", FAULT_DEVICE_CALL, MAY(GSW_ERROR_DEVICE) | MAY(GSW_ERROR_NO_BACKEND), 6);
}

/* ---- Wrong numbers --------------------------------------------------------------------------- */

typedef enum data_call {
    CALL_FACTOR,
    CALL_REFACTOR,
    CALL_DIRECT,
    CALL_PENCIL,
    CALL_KRYLOV,
    CALL_VALIDATE,
    DATA_CALLS
} data_call;

static const char *const data_call_names[DATA_CALLS] = {"factor", "refactor", "line",
                                                        "pencil", "krylov",   "validate"};

/* A backend with its matrix and vectors. */
typedef struct side {
    gsw_context *context;
    const gsw_matrix *matrix, *good;
    void *b, *x;
} side;

static gsw_status call_factor(const side *s, int variant, int again) {
    const gsw_factor_options options = {.size = sizeof options,
                                        .kind = (gsw_factor_kind)(variant % GSW_FACTOR_LU),
                                        .transpose = variant / GSW_FACTOR_LU & 1};
    gsw_factor *factor = NULL;
    gsw_status status =
        gsw_factor_create(s->context, again ? s->good : s->matrix, &options, &factor);
    if (status == GSW_SUCCESS && again)
        status = gsw_factor_refactor(s->context, factor, s->matrix, NULL);
    if (status == GSW_SUCCESS)
        status = gsw_factor_solve(s->context, factor, 1, s->b, FAULT_SMALL, s->x, FAULT_SMALL);
    gsw_factor_destroy(factor);
    return status;
}

static gsw_status call_direct(const side *s, int variant, gsw_algorithm algorithm) {
    const gsw_sptrsv_options options = {.size = sizeof options,
                                        .algorithm = algorithm,
                                        .part = variant & 1 ? GSW_UPPER : GSW_LOWER,
                                        .transpose = variant >> 1 & 1};
    return gsw_sptrsv(s->context, s->matrix, &options, 1, s->b, 0, s->x, 0);
}

static gsw_status call_krylov(const side *s, int variant) {
    const gsw_krylov_options options = {.size = sizeof options, .max_iterations = 60};
    gsw_factor *factor = NULL;
    gsw_status status = gsw_factor_create(s->context, s->matrix, NULL, &factor);
    if (status == GSW_SUCCESS)
        status = solve_krylov(s->context, (gsw_method)(1 + variant % 2), s->matrix, factor,
                              &options, s->b, s->x, NULL);
    gsw_factor_destroy(factor);
    return status;
}

/* One call; its result is copied to `found`. A status that comes late counts as the call's. */
static gsw_status call_of(data_call call, const side *s, int variant, double *found) {
    const size_t bytes = FAULT_SMALL * sizeof(double);
    gsw_status status = GSW_SUCCESS;
    if (call == CALL_FACTOR || call == CALL_REFACTOR)
        status = call_factor(s, variant, call == CALL_REFACTOR);
    else if (call == CALL_DIRECT)
        status = call_direct(s, variant, GSW_ALGORITHM_LINE);
    else if (call == CALL_PENCIL)
        status = call_direct(s, variant, GSW_ALGORITHM_PENCIL);
    else if (call == CALL_KRYLOV)
        status = call_krylov(s, variant);
    else
        status = gsw_matrix_validate(s->context, s->matrix);
    const gsw_status late = gsw_memory_download(s->context, found, s->x, bytes);
    return status != GSW_SUCCESS ? status : late;
}

static int may_try(number_fault what, data_call call) {
    if (what >= NUMBER_POINTERS) /* only a validation must find these */
        return call == CALL_VALIDATE;
    if (what > NUMBER_GUESS)
        return call != CALL_KRYLOV;
    if (what == NUMBER_GUESS)
        return call == CALL_KRYLOV;
    return call != CALL_VALIDATE;
}

static unsigned statuses_of(number_fault what, data_call call) {
    const unsigned structure = MAY(GSW_ERROR_NOT_A_GRID) | MAY(GSW_ERROR_INVALID_ARGUMENT);
    if (what > NUMBER_GUESS) /* a diagonal that is gone is a zero one */
        return structure | (call == CALL_VALIDATE ? 0 : MAY(GSW_SUCCESS)) |
               (call < CALL_DIRECT ? MAY(GSW_ERROR_ZERO_PIVOT) : 0);
    if (call == CALL_DIRECT || call == CALL_PENCIL)
        return MAY(GSW_SUCCESS);
    return MAY(GSW_SUCCESS) | MAY(GSW_ERROR_ZERO_PIVOT) |
           (call != CALL_KRYLOV ? 0
                                : MAY(GSW_ERROR_NOT_CONVERGED) | MAY(GSW_ERROR_BREAKDOWN) |
                                      MAY(GSW_ERROR_NON_FINITE));
}

/* Where the CPU takes the same numbers, NaNs and infinities stand in the same places. A denormal
 * pivot makes values so large that rounding decides what overflows. */
static int equals_cpu(number_fault what, data_call call, int variant, const side *host,
                      const double *found) {
    double expected[FAULT_SMALL];
    if (what == NUMBER_DENORMAL_PIVOT || what > NUMBER_GUESS || call == CALL_KRYLOV)
        return 1;
    return call_of(call, host, variant, expected) == GSW_SUCCESS &&
           oracle_error(GSW_F64, FAULT_SMALL, found, expected) <= 1e-4;
}

/* The device's copy of a matrix with one thing wrong. Counts are spoilt in the copy alone, so that
 * nothing reads beyond the host's arrays. */
static gsw_matrix upload_spoilt(number_fault what, oracle_matrix *m, double *b, double *x) {
    gsw_matrix there;
    if (what < NUMBER_BASE)
        spoil(what, m, b, x);
    device_try(world.context, gsw_matrix_upload(world.context, &m->view, &there));
    if (what >= NUMBER_BASE) {
        spoil(what, m, b, x);
        there.csr.base = m->view.csr.base;
        there.csr.rows = m->view.csr.rows;
        there.csr.nonzeros = m->view.csr.nonzeros;
    }
    return there;
}

static void put_vectors(const double *b, const double *x) {
    const size_t bytes = FAULT_SMALL * sizeof *b;
    device_try(world.context,
               gsw_memory_upload(world.context, (double *)world.b_there + POINTS, b, bytes));
    device_try(world.context, gsw_memory_upload(world.context, world.x_there, x, bytes));
}

/* The call with the good matrix and vectors. */
static gsw_status good_call(data_call call, const gsw_matrix *good, int variant, double *found) {
    static const double zeros[FAULT_SMALL];
    const side s = {.context = world.context,
                    .matrix = good,
                    .good = good,
                    .b = (double *)world.b_there + POINTS,
                    .x = world.x_there};
    put_vectors(world.b, zeros);
    return call_of(call, &s, variant, found);
}

static void data_trial(number_fault what, tally *t) {
    double b[FAULT_SMALL], x[FAULT_SMALL] = {0}, found[FAULT_SMALL], before[FAULT_SMALL],
                           after[FAULT_SMALL], on_cpu[FAULT_SMALL] = {0};
    data_call call;
    do
        call = (data_call)pick(DATA_CALLS);
    while (!may_try(what, call));
    const int layout = (int)pick(what > NUMBER_GUESS ? NUMBER_CSR_LAYOUTS : NUMBER_LAYOUTS);
    const int variant = (int)pick(2 * GSW_FACTOR_LU);
    const uint64_t seed = fault_seed;
    oracle_matrix *m = oracle_convert(world.random, &number_layouts[layout]),
                  *good = oracle_convert(world.random, &number_layouts[layout]);
    gsw_matrix good_there;
    device_try(world.context, gsw_matrix_upload(world.context, &good->view, &good_there));
    const gsw_status usual = good_call(call, &good_there, variant, before);
    memcpy(b, world.b, sizeof b);
    gsw_matrix there = upload_spoilt(what, m, b, x);
    const long live = atomic_load(&device_live);
    put_vectors(b, x);
    const side device = {.context = world.context,
                         .matrix = &there,
                         .good = &good_there,
                         .b = (double *)world.b_there + POINTS,
                         .x = world.x_there};
    const side host = {
        .context = world.cpu, .matrix = &m->view, .good = &good->view, .b = b, .x = on_cpu};
    const gsw_status status = call_of(call, &device, variant, found);
    const char *wrong = NULL;
    t->injected++;
    if ((statuses_of(what, call) & MAY(status)) == 0)
        wrong = "a status that is not documented for it";
    else if (status != GSW_SUCCESS && gsw_context_message(world.context)[0] == '\0')
        wrong = "no message";
    else if (status == GSW_SUCCESS && call == CALL_KRYLOV &&
             !truth_converged(&m->view, b, found, 1e-8))
        wrong = "it claims to have converged";
    else if (status == GSW_SUCCESS && !equals_cpu(what, call, variant, &host, found))
        wrong = "the CPU has another result";
    if (status == GSW_SUCCESS)
        t->served++;
    else
        t->refused++;
    t->leaked += atomic_load(&device_live) != live;
    const gsw_status again = good_call(call, &good_there, variant, after);
    if (again != usual || (again == GSW_SUCCESS && memcmp(before, after, sizeof after) != 0))
        wrong = "the good matrix has other bits afterwards";
    if (wrong != NULL) {
        t->wrong++;
        printf("  %s, %s, layout %d, variant %d, seed %" PRIu64 ": %s (%s; %s)\n",
               number_fault_names[what], data_call_names[call], layout, variant, seed, wrong,
               gsw_status_name(status), gsw_context_message(world.context));
    }
    gsw_matrix_release(world.context, &there);
    gsw_matrix_release(world.context, &good_there);
    oracle_free(good);
    oracle_free(m);
}

TEST(numbers_fail) {
    open_world();
    const tally sum = run_number_faults(60, data_trial);
    close_world();
    expect_no_fault(&sum, sum.injected / 4);
}

/* ---- Withheld publications ------------------------------------------------------------------- */

enum { SIDE = 24, CUBE = SIDE * SIDE * SIDE };

/* What is solved while a line or pencil is withheld. */
typedef struct cube {
    oracle_matrix *host;
    gsw_matrix there;
    gsw_factor *factor;
    gsw_multigrid *multigrid;
    void *b, *x;
    double *first, *found;
} cube;

static cube cube_open(void) {
    const gsw_grid grid = {SIDE, SIDE, SIDE};
    const gsw_multigrid_options options = {
        .size = sizeof options, .smoother = GSW_SMOOTHER_GS, .coarsest_points = 100};
    const size_t bytes = CUBE * sizeof(double);
    cube c = {.host = oracle_random(&grid, oracle_stencil_named("D3N7"), 7, ORACLE_POSITIVE)};
    double *b = oracle_vector(GSW_F64, 8, CUBE);
    c.first = oracle_vector(GSW_F64, 8, CUBE);
    c.found = oracle_vector(GSW_F64, 8, CUBE);
    device_try(world.context, gsw_matrix_upload(world.context, &c.host->view, &c.there));
    device_try(world.context, gsw_factor_create(world.context, &c.there, NULL, &c.factor));
    device_try(world.context,
               gsw_multigrid_create(world.context, &c.there, &options, &c.multigrid));
    device_try(world.context, gsw_memory_alloc(world.context, bytes, &c.b));
    device_try(world.context, gsw_memory_alloc(world.context, bytes, &c.x));
    device_try(world.context, gsw_memory_upload(world.context, c.b, b, bytes));
    free(b);
    return c;
}

static void cube_close(cube *c) {
    gsw_memory_free(world.context, c->x);
    gsw_memory_free(world.context, c->b);
    gsw_multigrid_destroy(c->multigrid);
    gsw_factor_destroy(c->factor);
    gsw_matrix_release(world.context, &c->there);
    free(c->found);
    free(c->first);
    oracle_free(c->host);
}

typedef enum withheld_from { FROM_LINE, FROM_SWEEP, FROM_FILL, FROM_CYCLE } withheld_from;

static const char *const withheld_names[] = {"withheld: direct sweep", "withheld: factor's sweeps",
                                             "withheld: factorisation", "withheld: multigrid"};

/* Solves into c->found; the first failure counts. */
static gsw_status cube_solve(cube *c, withheld_from from) {
    const gsw_sptrsv_options options = {.size = sizeof options, .algorithm = GSW_ALGORITHM_LINE};
    const size_t bytes = CUBE * sizeof(double);
    gsw_status status = gsw_memory_set(world.context, c->x, 0xff, bytes);
    if (status == GSW_SUCCESS && from == FROM_LINE)
        status = gsw_sptrsv(world.context, &c->there, &options, 1, c->b, 0, c->x, 0);
    if (status == GSW_SUCCESS && from == FROM_FILL)
        status = gsw_factor_refactor(world.context, c->factor, &c->there, NULL);
    if (status == GSW_SUCCESS && (from == FROM_SWEEP || from == FROM_FILL))
        status = gsw_factor_solve(world.context, c->factor, 1, c->b, CUBE, c->x, CUBE);
    if (status == GSW_SUCCESS && from == FROM_CYCLE)
        status = gsw_multigrid_apply(world.context, c->multigrid, c->b, c->x);
    const gsw_status late = gsw_memory_download(world.context, c->found, c->x, bytes);
    return status != GSW_SUCCESS ? status : late;
}

/* One line or pencil is withheld: TIMEOUT, or the right result where nobody waits for it. */
static void withhold(cube *c, withheld_from from, tally *t) {
    const size_t bytes = CUBE * sizeof(double);
    const int64_t line = from == FROM_LINE ? pick(SIDE * SIDE) : pick(12);
    const char *wrong = NULL;
    device_try(world.context, cube_solve(c, from));
    memcpy(c->first, c->found, bytes);
    gsw_cuda_test_hooks(world.context, INT64_C(4000000), line, 0);
    const long live = atomic_load(&device_live);
    const gsw_status status = cube_solve(c, from);
    gsw_cuda_test_hooks(world.context, PATIENT_NS, NOTHING_WITHHELD, 0);
    t->injected++;
    if (status == GSW_ERROR_TIMEOUT) {
        t->refused++;
        if (gsw_context_message(world.context)[0] == '\0')
            wrong = "no message";
        if (from == FROM_FILL && gsw_factor_solve(world.context, c->factor, 1, c->b, CUBE, c->x,
                                                  CUBE) != GSW_ERROR_INVALID_ARGUMENT)
            wrong = "a factor without values is used";
    } else if (status == GSW_SUCCESS && memcmp(c->first, c->found, bytes) == 0) {
        t->served++;
    } else {
        wrong = status == GSW_SUCCESS ? "other bits" : "another status";
    }
    (void)gsw_context_synchronize(world.context); /* a second report, if there is one */
    if (cube_solve(c, from) != GSW_SUCCESS || memcmp(c->first, c->found, bytes) != 0)
        wrong = "the next solve is wrong";
    t->leaked += atomic_load(&device_live) != live;
    if (wrong != NULL) {
        t->wrong++;
        printf("  %s, line or pencil %" PRId64 ": %s (%s; %s)\n", withheld_names[from], line, wrong,
               gsw_status_name(status), gsw_context_message(world.context));
    }
}

TEST(publications_are_withheld) {
    const long count = wanted_faults() / 40 + 30;
    tally sum = {0};
    open_world();
    cube c = cube_open();
    print_head("timed out");
    for (int from = FROM_LINE; from <= FROM_CYCLE; from++) {
        tally t = {0};
        for (long i = 0; i < count; i++)
            withhold(&c, (withheld_from)from, &t);
        print_tally(withheld_names[from], &t);
        add_tally(&sum, &t);
    }
    cube_close(&c);
    close_world();
    expect_no_fault(&sum, sum.injected / 4);
}

/* ---- Contexts that close too early ----------------------------------------------------------- */

enum { QUEUED = 8 };

/* Queues direct sweeps and destroys the context with all of them waiting. */
static void close_after_sweeps(gsw_context *context, int withheld) {
    const gsw_sptrsv_options options = {.size = sizeof options, .algorithm = GSW_ALGORITHM_LINE};
    for (int k = 0; k < QUEUED; k++) {
        const gsw_status status =
            gsw_sptrsv(context, &world.small[1], &options, 1, world.b_there, 0, world.x_there, 0);
        ck_assert(status == GSW_SUCCESS || (withheld && status == GSW_ERROR_TIMEOUT));
    }
    gsw_context_destroy(context);
}

/* The same with a factor: it waits for its solves when it is destroyed. */
static void close_after_solves(gsw_context *context, gsw_factor_kind kind, int withheld) {
    const gsw_factor_options options = {.size = sizeof options, .kind = kind};
    const int64_t n = FAULT_SMALL;
    gsw_factor *factor = NULL;
    device_try(context, gsw_factor_create(context, &world.small[0], &options, &factor));
    if (withheld)
        gsw_cuda_test_hooks(context, INT64_C(2000000), 0, 0);
    ck_assert_int_eq(occupy_start(world.other, 1.0, 3), cudaSuccess);
    for (int k = 0; k < QUEUED; k++) {
        const gsw_status status =
            gsw_factor_solve(context, factor, 1, world.b_there, n, world.x_there, n);
        ck_assert(status == GSW_SUCCESS || (withheld && status == GSW_ERROR_TIMEOUT));
    }
    gsw_factor_destroy(factor);
    gsw_context_destroy(context);
}

/* Queues solves in a context of its own and destroys everything at once. The device is occupied, so
 * the solves wait in the queue; in one of three cases a line or pencil is withheld. */
static void close_early(int trial, double *first, tally *t) {
    const long live = atomic_load(&device_live);
    const int withheld = trial % 3 == 0;
    gsw_context *context = open_cuda(trial % 2 ? world.stream : NULL);
    if (trial & 4) {
        ck_assert_int_eq(occupy_start(world.other, 1.0, 3), cudaSuccess);
        if (withheld)
            gsw_cuda_test_hooks(context, INT64_C(2000000), 0, 0);
        close_after_sweeps(context, withheld);
    } else {
        close_after_solves(context, (gsw_factor_kind)(trial % GSW_FACTOR_LU), withheld);
    }
    t->injected++;
    t->leaked += atomic_load(&device_live) != live;
    /* The world's context goes on as before. */
    const gsw_status status = good_call(CALL_FACTOR, &world.small[0], GSW_ILU0, world.x);
    if (t->served == 0 && t->wrong == 0)
        memcpy(first, world.x, FAULT_SMALL * sizeof *first);
    if (status == GSW_SUCCESS && memcmp(first, world.x, FAULT_SMALL * sizeof *first) == 0) {
        t->served++;
    } else {
        t->wrong++;
        printf("  closed early, trial %d: %s; %s\n", trial, gsw_status_name(status),
               gsw_context_message(world.context));
    }
    ck_assert_int_eq(cudaStreamSynchronize(world.other), cudaSuccess);
}

TEST(contexts_close_with_work_queued) {
    const int count = (int)(wanted_faults() / 40) + 60;
    double first[FAULT_SMALL];
    tally t = {0};
    open_world();
    print_head("refused");
    const long pinned = atomic_load(&device_live);
    ck_assert_int_eq(occupy_start(world.other, 1.0, 1), cudaSuccess); /* it keeps pinned memory */
    ck_assert_int_eq(cudaStreamSynchronize(world.other), cudaSuccess);
    const long kept = atomic_load(&device_live) - pinned;
    for (int trial = 0; trial < count; trial++)
        close_early(trial, first, &t);
    print_tally("closed with work queued", &t);
    atomic_fetch_sub(&device_live, kept);
    close_world();
    ck_assert_int_eq(t.wrong, 0);
    ck_assert_int_eq(t.leaked, 0);
}

int main(void) {
    (void)setvbuf(stdout, NULL, _IOLBF, 0); /* what a failing test has printed, too */
    Suite *suite = suite_create("cuda_faults");
    add_case(suite, "device memory", device_memory_fails);
    add_case(suite, "host memory", host_memory_fails);
    add_case(suite, "calls", calls_fail);
    add_case(suite, "numbers", numbers_fail);
    add_case(suite, "withheld", publications_are_withheld);
    add_case(suite, "closed", contexts_close_with_work_queued);
    return device_run_suite(suite);
}
