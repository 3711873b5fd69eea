/* krylov_systems.h: solves on the backend of a suite, with vectors that are on the host. Every
 * claim of a result is checked (krylov_truth.h). */
#ifndef GSW_TESTS_KRYLOV_SYSTEMS_H
#define GSW_TESTS_KRYLOV_SYSTEMS_H

#include <math.h>
#include <stdio.h>

#include "context_fixture.h"
#include "contract/backend.h"
#include "contract/context.h"
#include "contract/error.h"
#include "krylov_truth.h"

/* A system and its preconditioner, if it has one. */
typedef struct model {
    const gsw_matrix *host, *there;
    int64_t n;
    double *b, *x;                    /* on the host */
    gsw_factor *factor, *host_factor; /* NULL: none; the same one on the CPU */
    gsw_operator *op;                 /* NULL: that of the matrix */
} model;

/* With a random right-hand side and x = 0. */
static inline model model_of(const gsw_matrix *host) {
    model s = {.host = host, .there = keep_there(context, host), .n = oracle_points(&host->grid)};
    s.b = keep_random(11, s.n);
    s.x = keep_zeros(s.n);
    return s;
}

static inline model make_system(const char *text) {
    return model_of(keep_problem(text));
}

/* A small dense matrix as CSR on a grid of n x 1 x 1 points. A zero is a missing entry. */
static inline const gsw_matrix *keep_dense(int n, const double *dense) {
    gsw_matrix *matrix = keep_bytes(sizeof *matrix);
    int32_t *row_ptr = keep_bytes(((size_t)n + 1) * sizeof *row_ptr), count = 0;
    int32_t *columns = keep_bytes((size_t)(n * n) * sizeof *columns);
    double *values = keep_zeros(n * n);
    gsw_offset offsets[17];
    gsw_stencil stencil;
    for (int d = -(n - 1); d <= n - 1; d++)
        offsets[d + n - 1] = (gsw_offset){d, 0, 0};
    must(cpu, gsw_stencil_from_offsets(offsets, 2 * n - 1, &stencil));
    for (int i = 0; i < n * n; i++) {
        if (dense[i] != 0) {
            columns[count] = i % n;
            values[count++] = dense[i];
        }
        row_ptr[i / n + 1] = count;
    }
    const gsw_csr csr = {.rows = n,
                         .nonzeros = count,
                         .row_ptr = row_ptr,
                         .columns = columns,
                         .values = values,
                         .index_type = GSW_I32,
                         .value_type = GSW_F64};
    const gsw_grid grid = {n, 1, 1};
    must(cpu, gsw_matrix_from_csr(cpu, &grid, &stencil, &csr, matrix));
    return matrix;
}

static inline void factorise(model *s, gsw_factor_options options) {
    s->factor = keep_factor(context, s->there, options);
    s->host_factor = cpu == context ? s->factor : keep_factor(cpu, s->host, options);
}

static inline void set_guess(const model *s, double value) {
    oracle_fill(GSW_F64, s->x, s->n, value);
}

/* From s->x, which receives the solution. options->null_vector is on the host. */
static inline gsw_status solve(const model *s, gsw_method method, const gsw_krylov_options *options,
                               gsw_krylov_result *result) {
    const size_t mark = keep_mark(), bytes = (size_t)s->n * sizeof(double);
    double *b = keep_upload(context, s->b, bytes), *x = keep_upload(context, s->x, bytes);
    gsw_krylov_options there = {.size = sizeof there};
    gsw_krylov_result own = {.size = sizeof own}, *filled = result != NULL ? result : &own;
    if (options != NULL)
        there = *options;
    if (there.null_vector != NULL)
        there.null_vector = keep_upload(context, there.null_vector, bytes);
    const gsw_status status = gsw_krylov(
        context, method, s->op != NULL ? s->op : keep_operator(context, s->there),
        keep_factor_M(context, s->factor), options != NULL ? &there : NULL, b, x, filled);
    download(context, s->x, x, bytes);
    truth_check(gsw_method_name(method), s->host, options, s->b, s->x, status, filled,
                s->factor != NULL && s->host_factor == NULL ? NULL : cpu, s->host_factor);
    keep_release(mark);
    return status;
}

/* A state in the middle of a solve, with unrelated coefficients. */
static inline gsw_krylov_state krylov_midway(void) {
    gsw_krylov_state state = gsw_krylov_begin(1e-100, 0, 1000, 0);
    state.iterations = 7;
    state.norm = 3;
    state.rz = -0.625;
    state.rho = 0.375;
    for (int k = GSW_ONE + 1; k < GSW_COEFFICIENTS; k++)
        state.coefficient[k] = (k % 2 ? 0.75 : -0.5) + 0.0625 * k;
    state.coefficient[GSW_ZERO] = 0;
    return state;
}

/* ---- queues ---- */

/* A backend with another number of iterations queued ahead. `posts` counts the states that the host
 * has read. One at a time. */
typedef struct krylov_queue {
    gsw_backend_ops ops;
    gsw_krylov_ops krylov;
    const gsw_backend_ops *original;
    int64_t posts;
} krylov_queue;

static krylov_queue krylov_queue_now;

static inline gsw_status krylov_count_post(gsw_context *where, int slot, int count,
                                           const gsw_krylov_state *states, gsw_krylov_state *to) {
    krylov_queue_now.posts++;
    return krylov_queue_now.original->krylov->post(where, slot, count, states, to);
}

static inline void krylov_queue_set(int ahead) {
    krylov_queue_now = (krylov_queue){
        .ops = *context->ops, .krylov = *context->ops->krylov, .original = context->ops};
    krylov_queue_now.krylov.ahead = ahead;
    krylov_queue_now.krylov.post = krylov_count_post;
    krylov_queue_now.ops.krylov = &krylov_queue_now.krylov;
    context->ops = &krylov_queue_now.ops;
}

static inline void krylov_queue_reset(void) {
    context->ops = krylov_queue_now.original;
}

/* The fixture of contexts, with methods queued ahead, as on a device. */
static inline void krylov_queue_open(void) {
    open_context();
    krylov_queue_set(5);
}

static inline void krylov_queue_close(void) {
    krylov_queue_reset();
    close_context();
}

/* The end of one solve. */
typedef struct ending {
    gsw_status status;
    gsw_krylov_result result;
    char message[512];
    int64_t posts;
} ending;

/* Solves from x = 0 with the method queued this far ahead. */
static inline ending solve_ahead(const model *s, int ahead, gsw_method method,
                                 const gsw_krylov_options *options) {
    ending e = {.result.size = sizeof e.result};
    set_guess(s, 0);
    krylov_queue_set(ahead);
    e.status = solve(s, method, options, &e.result);
    e.posts = krylov_queue_now.posts;
    krylov_queue_reset();
    if (e.status != GSW_SUCCESS)
        snprintf(e.message, sizeof e.message, "%s", gsw_context_message(context));
    return e;
}

/* More starts and copies of x than BiCGSTAB makes. */
enum { STARTS_MAX = 30 };

/* However far a method is queued ahead, its end and x have the same bits. `starts`: how often it
 * may begin again, or stop to copy x, at the most. */
static inline ending check_starts(int starts, const model *s, gsw_method method,
                                  const gsw_krylov_options *options) {
    const size_t mark = keep_mark();
    const int64_t limit = options->max_iterations;
    const ending expected = solve_ahead(s, 0, method, options);
    const double *expected_x = keep_copy(s->x, s->n);
    for (int ahead = 1; ahead < GSW_KRYLOV_SLOTS; ahead += 2) {
        const ending e = solve_ahead(s, ahead, method, options);
        ck_assert_int_eq(e.status, expected.status);
        ck_assert_str_eq(e.message, expected.message);
        ck_assert_int_eq(e.result.iterations, expected.result.iterations);
        ck_assert_int_eq(e.result.converged, expected.result.converged);
        ck_assert_mem_eq(&e.result.recurrence, &expected.result.recurrence, sizeof(double));
        ck_assert_mem_eq(&e.result.residual, &expected.result.residual, sizeof(double));
        ck_assert_mem_eq(s->x, expected_x, (size_t)s->n * sizeof *s->x);
        /* The queue did run ahead, but not beyond the limit, nor where it saw the end come. */
        const int64_t queued = expected.posts + (expected.posts > 0 ? starts * ahead : 0);
        const int64_t most = queued < limit + 1 ? queued : limit + 1;
        ck_assert_int_le(e.posts, most);
        ck_assert_int_ge(e.posts, e.status == GSW_SUCCESS || starts > 1 ? expected.posts : most);
    }
    for (int64_t i = 0; i < s->n; i++)
        ck_assert(isfinite(expected_x[i]));
    keep_release(mark);
    return expected;
}

/* ---- monitors ---- */

typedef struct history {
    int64_t calls, stop_at;
    double residual[512];
} history;

static inline int watch(void *user, int64_t iteration, double residual) {
    history *seen = user;
    ck_assert_int_eq(iteration, seen->calls);
    ck_assert_int_lt(iteration, 512);
    seen->residual[seen->calls++] = residual;
    return iteration == seen->stop_at;
}

#endif
