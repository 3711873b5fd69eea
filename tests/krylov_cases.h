/* krylov_cases.h: checks of the vector operations of the Krylov methods, for contexts of any
 * backend. */
#ifndef GSW_TESTS_KRYLOV_CASES_H
#define GSW_TESTS_KRYLOV_CASES_H

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <check.h>
#include <gridsweep/gridsweep.h>
#include <gridsweep/memory.h>

#include "contract/backend.h"
#include "contract/context.h"
#include "contract/error.h"
#include "krylov_solve.h"
#include "oracle.h"

/* Lengths within a block of a sum, at its end, and of more blocks than partial sums. */
static const int64_t krylov_lengths[] = {1, 31, 512, 1024, 4097, 100003, 1200007};
#define KRYLOV_LENGTHS ((int)(sizeof krylov_lengths / sizeof krylov_lengths[0]))

static inline void *krylov_upload(gsw_context *context, const void *host, size_t bytes) {
    void *there = NULL;
    ck_assert_int_eq(gsw_memory_alloc(context, bytes, &there), GSW_SUCCESS);
    ck_assert_int_eq(gsw_memory_upload(context, there, host, bytes), GSW_SUCCESS);
    return there;
}

static inline void krylov_download(gsw_context *context, void *host, const void *there,
                                   size_t bytes) {
    ck_assert_int_eq(gsw_memory_download(context, host, there, bytes), GSW_SUCCESS);
}

static inline int krylov_near(double value, double expected, double tolerance) {
    return value == expected || fabs(value - expected) <= tolerance;
}

/* ---- passes ---- */

/* The vectors of a pass, each with one more value after its end, and the state. Vectors that are
 * fp32 in the backend are kept as fp64 values here. */
typedef struct pass_case {
    gsw_pass pass;
    int64_t n;
    double *host[GSW_PASS_VECTORS];
    void *there[GSW_PASS_VECTORS];
    gsw_krylov_state state, *state_there;
} pass_case;

static inline int pass_is_narrow(gsw_pass pass, int vector) {
    return vector >= gsw_pass_shapes[pass].vectors - gsw_pass_shapes[pass].narrow;
}

static inline void *pass_upload(gsw_context *context, const pass_case *c, int vector) {
    if (!pass_is_narrow(c->pass, vector))
        return krylov_upload(context, c->host[vector], (size_t)(c->n + 1) * sizeof(double));
    float *narrow = malloc((size_t)(c->n + 1) * sizeof *narrow);
    ck_assert_ptr_nonnull(narrow);
    for (int64_t i = 0; i <= c->n; i++)
        c->host[vector][i] = narrow[i] = (float)c->host[vector][i];
    void *there = krylov_upload(context, narrow, (size_t)(c->n + 1) * sizeof *narrow);
    free(narrow);
    return there;
}

/* The values of vector v in the backend's memory. */
static inline void pass_download(gsw_context *context, const pass_case *c, int vector,
                                 double *found) {
    const size_t count = (size_t)(c->n + 1);
    if (!pass_is_narrow(c->pass, vector)) {
        krylov_download(context, found, c->there[vector], count * sizeof(double));
        return;
    }
    float *narrow = malloc(count * sizeof *narrow);
    ck_assert_ptr_nonnull(narrow);
    krylov_download(context, narrow, c->there[vector], count * sizeof *narrow);
    for (size_t i = 0; i < count; i++)
        found[i] = narrow[i];
    free(narrow);
}

static inline pass_case pass_case_open(gsw_context *context, gsw_pass pass, int64_t n,
                                       gsw_krylov_state state) {
    pass_case c = {.pass = pass, .n = n, .state = state};
    for (int v = 0; v < gsw_pass_shapes[pass].vectors; v++) {
        c.host[v] = oracle_vector(GSW_F64, (uint64_t)(20 + v), n + 1);
        c.there[v] = pass_upload(context, &c, v);
    }
    c.state_there = krylov_upload(context, &c.state, sizeof c.state);
    return c;
}

static inline void pass_case_close(gsw_context *context, pass_case *c) {
    for (int v = 0; v < gsw_pass_shapes[c->pass].vectors; v++) {
        gsw_memory_free(context, c->there[v]);
        free(c->host[v]);
    }
    gsw_memory_free(context, c->state_there);
}

/* The expected result of the pass, by its definition, one value after the other. */
static inline void pass_case_expect(pass_case *c) {
    const gsw_pass_shape *shape = &gsw_pass_shapes[c->pass];
    double sums[GSW_PASS_PRODUCTS] = {0};
    for (int u = 0; u < shape->updates; u++) {
        const double a = c->state.coefficient[shape->update[u].a];
        const double b = c->state.coefficient[shape->update[u].b];
        const double *from = c->host[shape->update[u].from];
        double *to = c->host[shape->update[u].to];
        for (int64_t i = 0; i < c->n; i++)
            to[i] = b == 0 ? a * from[i] : a * from[i] + b * to[i];
        for (int64_t i = 0; i < c->n && pass_is_narrow(c->pass, shape->update[u].to); i++)
            to[i] = (float)to[i];
    }
    for (int d = 0; d < shape->products; d++) {
        const double *x = c->host[shape->product[d].left], *y = c->host[shape->product[d].right];
        long double sum = 0;
        for (int64_t i = 0; i < c->n; i++)
            sum += (long double)x[i] * y[i];
        sums[d] = (double)sum;
    }
    gsw_krylov_step(&c->state, c->pass, sums);
}

/* Runs the pass and compares. `tolerance` 0 requires the same bits. */
static inline void pass_case_check(gsw_context *context, pass_case *c, double tolerance) {
    const size_t bytes = (size_t)(c->n + 1) * sizeof(double);
    double *found = malloc(bytes);
    gsw_krylov_state state;
    int64_t wrong = 0;
    ck_assert_ptr_nonnull(found);
    ck_assert_int_eq(context->ops->krylov_pass(context, c->pass, c->n, c->there, c->state_there),
                     GSW_SUCCESS);
    for (int v = 0; v < gsw_pass_shapes[c->pass].vectors; v++) {
        const double eps = pass_is_narrow(c->pass, v) && tolerance > 0 ? 1e-6 : tolerance;
        pass_download(context, c, v, found);
        for (int64_t i = 0; i <= c->n; i++)
            wrong += !krylov_near(found[i], c->host[v][i], i < c->n ? eps : 0);
        ck_assert_msg(wrong == 0, "pass %d, %lld values: %lld of vector %d are wrong", (int)c->pass,
                      (long long)c->n, (long long)wrong, v);
    }
    krylov_download(context, &state, c->state_there, sizeof state);
    const double scale = 1e3 * tolerance; /* coefficients are quotients of sums */
    for (int k = 0; k < GSW_COEFFICIENTS; k++)
        ck_assert_msg(krylov_near(state.coefficient[k], c->state.coefficient[k],
                                  scale * (1 + fabs(c->state.coefficient[k]))),
                      "pass %d, %lld values: coefficient %d is %g, not %g", (int)c->pass,
                      (long long)c->n, k, state.coefficient[k], c->state.coefficient[k]);
    ck_assert(krylov_near(state.norm, c->state.norm, scale * (1 + c->state.norm)));
    ck_assert(krylov_near(state.rz, c->state.rz, scale * (double)c->n));
    ck_assert(krylov_near(state.pw, c->state.pw, scale * (double)c->n));
    ck_assert(krylov_near(state.rho, c->state.rho, scale * (double)c->n));
    ck_assert_int_eq(state.iterations, c->state.iterations);
    ck_assert_int_eq(state.ended, c->state.ended);
    free(found);
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

static inline void check_pass(gsw_context *context, gsw_pass pass, int64_t n) {
    pass_case c = pass_case_open(context, pass, n, krylov_midway());
    pass_case_expect(&c);
    pass_case_check(context, &c, 1e-14);
    pass_case_close(context, &c);

    /* After the end not a single bit changes. */
    gsw_krylov_state ended = krylov_midway();
    ended.ended = GSW_END_CONVERGED;
    c = pass_case_open(context, pass, n, ended);
    pass_case_check(context, &c, 0);
    pass_case_close(context, &c);
}

/* The vector s of the pass that ends an iteration of BiCGSTAB may be r, which the pass
 * overwrites. */
static inline void check_shared_vector(gsw_context *context, int64_t n) {
    pass_case c = pass_case_open(context, GSW_BICGSTAB_UPDATE, n, krylov_midway());
    double *host = c.host[2], *there = c.there[2];
    c.host[2] = c.host[3];
    c.there[2] = c.there[3];
    pass_case_expect(&c);
    pass_case_check(context, &c, 1e-14);
    c.host[2] = host;
    c.there[2] = there;
    pass_case_close(context, &c);
}

/* The first direction of CG does not depend on the vector's earlier contents. */
static inline void check_first_direction(gsw_context *context, int64_t n) {
    gsw_krylov_state state = krylov_midway();
    state.coefficient[GSW_BETA] = 0;
    pass_case c = pass_case_open(context, GSW_CG_DIRECTION, n, state);
    for (int64_t i = 0; i < n; i++)
        c.host[0][i] = NAN;
    ck_assert_int_eq(gsw_memory_upload(context, c.there[0], c.host[0], (size_t)n * sizeof(double)),
                     GSW_SUCCESS);
    pass_case_expect(&c);
    pass_case_check(context, &c, 0);
    pass_case_close(context, &c);
}

/* ---- products ---- */

/* A product that ends in a pass, and the backend's own residual, equal the single operations: the
 * vectors to the bit, the sums to rounding. */
static inline void check_products(gsw_context *context) {
    const gsw_backend_ops *ops = context->ops;
    for (int g = 0; g < oracle_grid_count(); g += 3)
        for (int s = 0; s < oracle_stencil_count(); s++) {
            const gsw_grid grid = oracle_grid(g);
            const int64_t n = oracle_points(&grid);
            const size_t bytes = (size_t)n * sizeof(double);
            oracle_matrix *m = oracle_random(&grid, oracle_stencil(s, NULL), 3, ORACLE_POSITIVE);
            gsw_matrix matrix;
            ck_assert_int_eq(gsw_matrix_upload(context, &m->view, &matrix), GSW_SUCCESS);
            double *x = oracle_vector(GSW_F64, 4, n), *b = oracle_vector(GSW_F64, 5, n);
            double *y = malloc(bytes), *found = malloc(bytes), sums[3] = {0}, expected[3] = {0};
            ck_assert(y != NULL && found != NULL);
            double *xt = krylov_upload(context, x, bytes), *bt = krylov_upload(context, b, bytes);
            double *yt = krylov_upload(context, b, bytes), *rt = krylov_upload(context, b, bytes);
            gsw_krylov_state state = krylov_midway(), both;
            state.rz = 0.5;
            state.pw = 0;
            gsw_krylov_state *there = krylov_upload(context, &state, sizeof state);
            int done = 0;

            ck_assert_int_eq(ops->spmv(context, &matrix, GSW_F64, NULL, xt, yt), GSW_SUCCESS);
            krylov_download(context, y, yt, bytes);
            double pw = 0, scale = 0;
            for (int64_t i = 0; i < n; i++) {
                pw += x[i] * y[i];
                scale += fabs(x[i] * y[i]);
            }
            ck_assert_int_eq(ops->multiply_pass(context, &matrix, GSW_CG_PW, 1, xt, rt, 0, &there),
                             GSW_SUCCESS);
            krylov_download(context, found, rt, bytes);
            ck_assert_int_eq(memcmp(found, y, bytes), 0);
            krylov_download(context, &both, there, sizeof both);
            ck_assert_msg(fabs(both.pw - pw) <= 1e-13 * scale, "p'Ap is %g, not %g", both.pw, pw);

            if (ops->judge != NULL)
                ck_assert_int_eq(ops->judge(context, &matrix, bt, xt, rt, sums, &done),
                                 GSW_SUCCESS);
            if (done) {
                krylov_download(context, found, rt, bytes);
                ck_assert_int_eq(ops->change_signs(context, n, xt, rt), GSW_SUCCESS);
                ck_assert_int_eq(ops->spmv(context, &matrix, GSW_F64, NULL, rt, yt), GSW_SUCCESS);
                for (int64_t i = 0; i < n; i++) {
                    ck_assert(found[i] == b[i] - y[i]);
                    expected[0] += x[i] * x[i];
                    expected[1] += found[i] * found[i];
                }
                krylov_download(context, y, yt, bytes);
                for (int64_t i = 0; i < n; i++)
                    expected[2] += y[i] * y[i];
                for (int k = 0; k < 3; k++)
                    ck_assert_msg(fabs(sums[k] - expected[k]) <= 1e-13 * expected[k],
                                  "sum %d is %g, not %g", k, sums[k], expected[k]);
            }
            gsw_memory_free(context, there);
            gsw_memory_free(context, rt);
            gsw_memory_free(context, yt);
            gsw_memory_free(context, bt);
            gsw_memory_free(context, xt);
            free(found);
            free(y);
            free(b);
            free(x);
            gsw_matrix_release(context, &matrix);
            oracle_free(m);
        }
}

/* ---- bases ---- */

/* project() and subtract() with this many vectors, which lie `stride` apart. */
static inline void check_basis(gsw_context *context, int64_t n, int64_t count) {
    const int64_t stride = n + 3;
    const size_t bytes = (size_t)(n + 1) * sizeof(double);
    const size_t coefficients = (size_t)(count + 2) * sizeof(double);
    double *x = oracle_vector(GSW_F64, 31, stride * count), *y = oracle_vector(GSW_F64, 32, n + 1);
    double *c = calloc((size_t)count + 2, sizeof *c);
    double *found = malloc(bytes > coefficients ? bytes : coefficients);
    ck_assert(c != NULL && found != NULL);
    double *xt = krylov_upload(context, x, (size_t)(stride * count) * sizeof *x);
    double *yt = krylov_upload(context, y, bytes), *ct = krylov_upload(context, c, coefficients);

    ck_assert_int_eq(context->ops->project(context, n, count, xt, stride, yt, ct), GSW_SUCCESS);
    krylov_download(context, found, ct, coefficients);
    for (int64_t j = 0; j < count; j++) {
        long double sum = 0, scale = 0;
        for (int64_t i = 0; i < n; i++) {
            sum += (long double)x[j * stride + i] * y[i];
            scale += fabsl((long double)x[j * stride + i] * y[i]);
        }
        ck_assert_msg(fabsl(found[j] - sum) <= 1e-14L * scale, "%lld values, product %lld of %lld",
                      (long long)n, (long long)j, (long long)count);
    }
    ck_assert(found[count] == 0 && found[count + 1] == 0);

    for (int64_t j = 0; j < count; j++) {
        c[j] = 0.5 - 0.125 * (double)(j % 7);
        for (int64_t i = 0; i < n; i++)
            y[i] -= c[j] * x[j * stride + i];
    }
    ck_assert_int_eq(gsw_memory_upload(context, ct, c, coefficients), GSW_SUCCESS);
    ck_assert_int_eq(context->ops->subtract(context, n, count, ct, xt, stride, yt, ct + count),
                     GSW_SUCCESS);
    krylov_download(context, found, yt, bytes);
    int64_t wrong = 0;
    long double square = 0;
    for (int64_t i = 0; i < n; i++) {
        square += (long double)y[i] * y[i];
        wrong += !krylov_near(found[i], y[i], 1e-14 * (double)(count + 1));
    }
    wrong += found[n] != y[n];
    ck_assert_int_eq(wrong, 0);
    krylov_download(context, found, ct, coefficients);
    ck_assert(fabsl(found[count] - square) <= 1e-13L * square);
    ck_assert(memcmp(found, c, (size_t)count * sizeof *c) == 0 && found[count + 1] == 0);

    gsw_memory_free(context, ct);
    gsw_memory_free(context, yt);
    gsw_memory_free(context, xt);
    free(found);
    free(c);
    free(y);
    free(x);
}

/* Signs are those of the header, about half of them negative. Nothing else changes. */
static inline void check_signs(gsw_context *context, int64_t n) {
    const size_t bytes = (size_t)(n + 1) * sizeof(double);
    double *x = oracle_vector(GSW_F64, 41, n + 1), *y = oracle_vector(GSW_F64, 42, n + 1);
    double *found = malloc(bytes);
    int64_t wrong = 0, negative = 0;
    ck_assert_ptr_nonnull(found);
    void *xt = krylov_upload(context, x, bytes), *yt = krylov_upload(context, y, bytes);
    ck_assert_int_eq(context->ops->change_signs(context, n, xt, yt), GSW_SUCCESS);
    krylov_download(context, found, yt, bytes);
    for (int64_t i = 0; i < n; i++) {
        negative += gsw_changes_sign(i);
        wrong += found[i] != (gsw_changes_sign(i) ? -x[i] : x[i]);
    }
    wrong += found[n] != y[n];
    ck_assert_int_eq(wrong, 0);
    ck_assert_double_le(fabs((double)negative - 0.5 * (double)n), 4 * sqrt((double)n));
    gsw_memory_free(context, yt);
    gsw_memory_free(context, xt);
    free(found);
    free(y);
    free(x);
}

static inline void check_vector_operations(gsw_context *context, int64_t n) {
    check_signs(context, n);
    for (int pass = 0; pass < GSW_PASSES; pass++)
        check_pass(context, (gsw_pass)pass, n);
    check_shared_vector(context, n);
    check_first_direction(context, n);
    for (int64_t count = 1; count <= (n > 200000 ? 2 : 17); count += count < 7 ? 6 : 1)
        check_basis(context, n, count);
}

/* ---- queues ---- */

/* A backend with another number of iterations queued ahead. `posts` counts the states that the host
 * has read. One at a time. */
typedef struct krylov_queue {
    gsw_backend_ops ops;
    const gsw_backend_ops *original;
    int64_t posts;
} krylov_queue;

static krylov_queue krylov_queue_now;

static inline gsw_status krylov_count_post(gsw_context *context, int slot, int count,
                                           const gsw_krylov_state *states, gsw_krylov_state *to) {
    krylov_queue_now.posts++;
    return krylov_queue_now.original->krylov_post(context, slot, count, states, to);
}

static inline void krylov_queue_set(gsw_context *context, int ahead) {
    krylov_queue_now = (krylov_queue){.ops = *context->ops, .original = context->ops};
    krylov_queue_now.ops.krylov_ahead = ahead;
    krylov_queue_now.ops.krylov_post = krylov_count_post;
    context->ops = &krylov_queue_now.ops;
}

static inline void krylov_queue_reset(gsw_context *context) {
    context->ops = krylov_queue_now.original;
}

/* The end of one solve. */
typedef struct ending {
    gsw_status status;
    gsw_krylov_result result;
    char message[512];
    int64_t posts;
} ending;

/* Solves from x = 0 with the method queued this far ahead. b and x are on the host. */
static inline ending solve_ahead(gsw_context *context, int ahead, gsw_method method,
                                 const gsw_matrix *matrix, gsw_factor *factor,
                                 const gsw_krylov_options *options, int64_t n, const double *b,
                                 double *x) {
    const size_t bytes = (size_t)n * sizeof(double);
    ending e = {.result.size = sizeof e.result};
    void *bt = krylov_upload(context, b, bytes), *xt = krylov_upload(context, b, bytes);
    ck_assert_int_eq(gsw_memory_set(context, xt, 0, bytes), GSW_SUCCESS);
    krylov_queue_set(context, ahead);
    e.status = solve_krylov(context, method, matrix, factor, options, bt, xt, &e.result);
    e.posts = krylov_queue_now.posts;
    krylov_queue_reset(context);
    if (e.status != GSW_SUCCESS)
        snprintf(e.message, sizeof e.message, "%s", gsw_context_message(context));
    krylov_download(context, x, xt, bytes);
    gsw_memory_free(context, xt);
    gsw_memory_free(context, bt);
    ck_assert_int_eq(e.result.converged, e.status == GSW_SUCCESS);
    return e;
}

/* More starts and copies of x than BiCGSTAB makes. */
enum { STARTS_MAX = 30 };

/* However far a method is queued ahead, its end and x have the same bits. `starts`: how often it
 * may begin again, or stop to copy x, at the most. */
static inline ending check_starts(int starts, gsw_context *context, gsw_method method,
                                  const gsw_matrix *matrix, gsw_factor *factor,
                                  const gsw_krylov_options *options, int64_t n, const double *b) {
    const size_t bytes = (size_t)n * sizeof(double);
    const int64_t limit = options->max_iterations;
    double *x = malloc(bytes), *expected_x = malloc(bytes);
    ck_assert(x != NULL && expected_x != NULL);
    const ending expected =
        solve_ahead(context, 0, method, matrix, factor, options, n, b, expected_x);
    for (int ahead = 1; ahead < GSW_KRYLOV_SLOTS; ahead += 2) {
        const ending e = solve_ahead(context, ahead, method, matrix, factor, options, n, b, x);
        ck_assert_int_eq(e.status, expected.status);
        ck_assert_str_eq(e.message, expected.message);
        ck_assert_int_eq(e.result.iterations, expected.result.iterations);
        ck_assert_int_eq(e.result.converged, expected.result.converged);
        ck_assert_mem_eq(&e.result.recurrence, &expected.result.recurrence, sizeof(double));
        ck_assert_mem_eq(&e.result.residual, &expected.result.residual, sizeof(double));
        ck_assert_mem_eq(x, expected_x, bytes);
        /* The queue did run ahead, but not beyond the limit, nor where it saw the end come. */
        const int64_t queued = expected.posts + (expected.posts > 0 ? starts * ahead : 0);
        const int64_t most = queued < limit + 1 ? queued : limit + 1;
        ck_assert_int_le(e.posts, most);
        ck_assert_int_ge(e.posts, e.status == GSW_SUCCESS || starts > 1 ? expected.posts : most);
    }
    for (int64_t i = 0; i < n; i++)
        ck_assert(isfinite(expected_x[i]));
    free(expected_x);
    free(x);
    return expected;
}

static inline ending check_queues(gsw_context *context, gsw_method method, const gsw_matrix *matrix,
                                  gsw_factor *factor, const gsw_krylov_options *options, int64_t n,
                                  const double *b) {
    return check_starts(1, context, method, matrix, factor, options, n, b);
}

/* ---- faults ---- */

/* A small dense matrix as CSR on a grid of n x 1 x 1 points. A zero is a missing entry. */
typedef struct small {
    gsw_matrix matrix;
    int32_t row_ptr[9], columns[64];
    double values[64];
} small;

static inline void krylov_make_small(gsw_context *context, int n, const double *dense, small *s) {
    gsw_offset offsets[17];
    int32_t count = 0;
    for (int d = -(n - 1); d <= n - 1; d++)
        offsets[count++] = (gsw_offset){d, 0, 0};
    gsw_stencil stencil;
    ck_assert_int_eq(gsw_stencil_from_offsets(offsets, count, &stencil), GSW_SUCCESS);
    int32_t entries = 0;
    for (int i = 0; i < n; i++) {
        s->row_ptr[i] = entries;
        for (int j = 0; j < n; j++)
            if (dense[i * n + j] != 0) {
                s->columns[entries] = j;
                s->values[entries++] = dense[i * n + j];
            }
    }
    s->row_ptr[n] = entries;
    gsw_csr csr = {.rows = n,
                   .nonzeros = entries,
                   .row_ptr = s->row_ptr,
                   .columns = s->columns,
                   .values = s->values,
                   .index_type = GSW_I32,
                   .value_type = GSW_F64};
    gsw_grid grid = {n, 1, 1};
    ck_assert_int_eq(gsw_matrix_from_csr(context, &grid, &stencil, &csr, &s->matrix), GSW_SUCCESS);
}

/* Iterations of a method that has begun again several times. */
enum { SEVERAL = -1 };

/* Faults in the middle of a queue and before it: systems of three points, some with a diagonal
 * preconditioner. */
static const struct {
    gsw_method method;
    double dense[9], factor[9], b[3];
    gsw_status status;
    int64_t iterations;
    const char *word;
} krylov_faults[] = {
    {GSW_CG, {1, 0, 0, 0, -2, 0, 0, 0, 1}, {0}, {1, 1, 0}, GSW_ERROR_BREAKDOWN, 1, "p'Ap is"},
    {GSW_CG,
     {1, 0, 0, 0, 2, 0, 0, 0, 1},
     {1, 0, 0, 0, -2, 0, 0, 0, 1},
     {1, 5, 0},
     GSW_ERROR_BREAKDOWN,
     1,
     "r'z is"},
    {GSW_BICGSTAB,
     {0, 1, 0, -1, 0, 0, 0, 0, 1},
     {0},
     {1, 1, 0},
     GSW_ERROR_BREAKDOWN,
     SEVERAL,
     "omega is 0"},
    {GSW_BICGSTAB,
     {1, 0, 0, 0, 0, 1, 1, -1, 0},
     {0},
     {1, 0, 0},
     GSW_ERROR_BREAKDOWN,
     SEVERAL,
     "omega is 0"},
    {GSW_BICGSTAB, {1, 0, 0, 1, 0, 0, 0, 0, 0}, {0}, {1, 0, 0}, GSW_ERROR_BREAKDOWN, 0, "t't is 0"},
    {GSW_CG, {2, 1, 0, 1, NAN, 1, 0, 1, 2}, {0}, {1, 2, 3}, GSW_ERROR_NON_FINITE, 0, "p'Ap is not"},
    {GSW_BICGSTAB,
     {2, 1, 0, 1, NAN, 1, 0, 1, 2},
     {0},
     {1, 2, 3},
     GSW_ERROR_NON_FINITE,
     0,
     "product of v"},
    {GSW_CG, {2, 1, 0, 1, 2, 1, 0, 1, 2}, {0}, {1, NAN, 3}, GSW_ERROR_NON_FINITE, 0, "of b"},
    {GSW_BICGSTAB,
     {2, 1, 0, 1, 2, 1, 0, 1, 2},
     {0},
     {1, INFINITY, 3},
     GSW_ERROR_NON_FINITE,
     0,
     "of b"},
    /* a finite right-hand side whose product with the matrix is infinite */
    {GSW_CG,
     {1e300, 0, 0, 0, 1e300, 0, 0, 0, 1e300},
     {0},
     {1e10, 1e10, 0},
     GSW_ERROR_NON_FINITE,
     0,
     "p'Ap is infinite"},
};

static inline void check_faults(gsw_context *context) {
    gsw_context *cpu = oracle_context(1);
    for (size_t f = 0; f < sizeof krylov_faults / sizeof krylov_faults[0]; f++) {
        const gsw_krylov_options options = {.size = sizeof options, .max_iterations = 100};
        const gsw_factor_options jacobi = {.size = sizeof jacobi, .kind = GSW_JACOBI};
        small s, other;
        gsw_matrix there, other_there;
        gsw_factor *factor = NULL;
        krylov_make_small(cpu, 3, krylov_faults[f].dense, &s);
        ck_assert_int_eq(gsw_matrix_upload(context, &s.matrix, &there), GSW_SUCCESS);
        if (krylov_faults[f].factor[0] != 0) {
            krylov_make_small(cpu, 3, krylov_faults[f].factor, &other);
            ck_assert_int_eq(gsw_matrix_upload(context, &other.matrix, &other_there), GSW_SUCCESS);
            ck_assert_int_eq(gsw_factor_create(context, &other_there, &jacobi, &factor),
                             GSW_SUCCESS);
            gsw_matrix_release(context, &other_there);
        }
        const ending e =
            check_starts(krylov_faults[f].iterations == SEVERAL ? STARTS_MAX : 1, context,
                         krylov_faults[f].method, &there, factor, &options, 3, krylov_faults[f].b);
        ck_assert_msg(e.status == krylov_faults[f].status, "fault %zu: %s: %s", f,
                      gsw_status_name(e.status), e.message);
        ck_assert_msg(strstr(e.message, krylov_faults[f].word) != NULL, "fault %zu: %s", f,
                      e.message);
        if (krylov_faults[f].iterations != SEVERAL)
            ck_assert_int_eq(e.result.iterations, krylov_faults[f].iterations);
        gsw_factor_destroy(factor);
        gsw_matrix_release(context, &there);
    }
    gsw_context_destroy(cpu);
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

/* With a monitor nothing is queued ahead. The monitor sees each iteration, in order, before the
 * next one begins, and a stop keeps the x of that iteration. */
static inline void check_monitors(gsw_context *context, const gsw_matrix *matrix, int64_t n,
                                  const double *b) {
    double *x[2] = {malloc((size_t)n * sizeof(double)), malloc((size_t)n * sizeof(double))};
    ck_assert(x[0] != NULL && x[1] != NULL);
    for (int method = GSW_CG; method <= GSW_BICGSTAB; method++)
        for (int stop_at = -1; stop_at <= 4; stop_at++) {
            history seen[2] = {{.stop_at = stop_at}, {.stop_at = stop_at}};
            for (int k = 0; k < 2; k++) {
                const gsw_krylov_options options = {
                    .size = sizeof options, .monitor = watch, .monitor_user = &seen[k]};
                const ending e = solve_ahead(context, 5 * k, (gsw_method)method, matrix, NULL,
                                             &options, n, b, x[k]);
                ck_assert_int_eq(e.status, stop_at < 0 ? GSW_SUCCESS : GSW_ERROR_STOPPED);
                ck_assert_int_eq(e.posts, e.result.iterations + 1);
                ck_assert_int_eq(seen[k].calls, e.result.iterations + 1);
                ck_assert(seen[k].residual[e.result.iterations] == e.result.recurrence);
                if (stop_at >= 0)
                    ck_assert_int_eq(e.result.iterations, stop_at);
            }
            ck_assert_mem_eq(seen[0].residual, seen[1].residual,
                             (size_t)seen[0].calls * sizeof(double));
            ck_assert_mem_eq(x[0], x[1], (size_t)n * sizeof(double));
        }
    free(x[1]);
    free(x[0]);
}

#endif
