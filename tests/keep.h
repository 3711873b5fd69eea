/* keep.h: what a test makes with these functions lives until its fixture closes
 * (context_fixture.h), or until keep_release() of a mark that was taken before. A function fails
 * the test where it cannot make its object.
 *
 * Objects are freed in reverse order, so that a factor goes before its matrix. Large loops take a
 * mark in each round. */
#ifndef GSW_TESTS_KEEP_H
#define GSW_TESTS_KEEP_H

#include <stdlib.h>
#include <string.h>

#include <check.h>
#include <gridsweep/gridsweep.h>
#include <gridsweep/memory.h>

#include "oracle.h"

#define must(where, call)                                                                          \
    do {                                                                                           \
        const gsw_status must_status_ = (call);                                                    \
        ck_assert_msg(must_status_ == GSW_SUCCESS, "%s: %s: %s", #call,                            \
                      gsw_status_name(must_status_), gsw_context_message(where));                  \
    } while (0)

/* A call with an argument that may not be. */
#define must_reject(call) ck_assert_int_eq((call), GSW_ERROR_INVALID_ARGUMENT)

/* The message of a context contains the words. */
static inline void must_say(gsw_context *where, const char *words) {
    ck_assert_msg(strstr(gsw_context_message(where), words) != NULL, "'%s' does not say '%s'",
                  gsw_context_message(where), words);
}

/* A call has ended with that status, and the context says these words. */
static inline void must_refuse(gsw_context *where, gsw_status status, gsw_status expected,
                               const char *words) {
    ck_assert_msg(status == expected, "%s: %s, not %s", words, gsw_status_name(status),
                  gsw_status_name(expected));
    must_say(where, words);
}

typedef enum kept_kind {
    KEPT_BYTES,
    KEPT_THERE, /* in the memory of its context */
    KEPT_ORACLE,
    KEPT_PROBLEM,
    KEPT_MATRIX,
    KEPT_CSR,
    KEPT_FACTOR,
    KEPT_MULTIGRID,
    KEPT_RELAX,
    KEPT_OPERATOR,
    KEPT_PRECONDITIONER,
    KEPT_EMBEDDING,
    KEPT_CONTEXT
} kept_kind;

typedef struct kept_object {
    kept_kind kind;
    gsw_context *context;
    void *object;
} kept_object;

static struct {
    kept_object *all;
    size_t count, room;
} keeping;

static inline void *keep(kept_kind kind, gsw_context *context, void *object) {
    ck_assert_ptr_nonnull(object);
    if (keeping.count == keeping.room) {
        keeping.room = 2 * keeping.room + 64;
        keeping.all = realloc(keeping.all, keeping.room * sizeof *keeping.all);
        ck_assert_ptr_nonnull(keeping.all);
    }
    keeping.all[keeping.count++] = (kept_object){kind, context, object};
    return object;
}

static inline void keep_free(const kept_object *k) {
    switch (k->kind) {
    case KEPT_MATRIX:
        gsw_matrix_release(k->context, k->object);
        free(k->object);
        break;
    case KEPT_CSR:
        gsw_csr_free(k->object);
        free(k->object);
        break;
    case KEPT_BYTES:
        free(k->object);
        break;
    case KEPT_THERE:
        gsw_memory_free(k->context, k->object);
        break;
    case KEPT_ORACLE:
        oracle_free(k->object);
        break;
    case KEPT_PROBLEM:
        gsw_problem_destroy(k->object);
        break;
    case KEPT_FACTOR:
        gsw_factor_destroy(k->object);
        break;
    case KEPT_MULTIGRID:
        gsw_multigrid_destroy(k->object);
        break;
    case KEPT_RELAX:
        gsw_relax_destroy(k->object);
        break;
    case KEPT_OPERATOR:
        gsw_operator_destroy(k->object);
        break;
    case KEPT_PRECONDITIONER:
        gsw_preconditioner_destroy(k->object);
        break;
    case KEPT_EMBEDDING:
        gsw_embedding_destroy(k->object);
        break;
    case KEPT_CONTEXT:
        gsw_context_destroy(k->object);
        break;
    }
}

static inline size_t keep_mark(void) {
    return keeping.count;
}

/* Frees what was made since the mark; 0: everything. */
static inline void keep_release(size_t mark) {
    while (keeping.count > mark)
        keep_free(&keeping.all[--keeping.count]);
    if (mark == 0) {
        free(keeping.all);
        memset(&keeping, 0, sizeof keeping);
    }
}

/* For suites without other fixtures. */
static inline void keep_release_all(void) {
    keep_release(0);
}

/* ---- on the host ---- */

/* Zeros, and one byte more, so that nothing has the size 0. */
static inline void *keep_bytes(size_t bytes) {
    return keep(KEPT_BYTES, NULL, calloc(1, bytes + 1));
}

static inline double *keep_zeros(int64_t n) {
    return keep_bytes((size_t)n * sizeof(double));
}

/* Random values, as oracle_vector() makes them. */
static inline void *keep_vector(gsw_dtype type, uint64_t seed, int64_t n) {
    return keep(KEPT_BYTES, NULL, oracle_vector(type, seed, n));
}

static inline double *keep_random(uint64_t seed, int64_t n) {
    return keep_vector(GSW_F64, seed, n);
}

static inline double *keep_filled(int64_t n, double value) {
    double *v = keep_zeros(n);
    oracle_fill(GSW_F64, v, n, value);
    return v;
}

static inline double *keep_copy(const double *values, int64_t n) {
    return memcpy(keep_zeros(n), values, (size_t)n * sizeof *values);
}

static inline oracle_matrix *keep_matrix_of(const gsw_grid *grid, const gsw_stencil *stencil,
                                            uint64_t seed, oracle_diagonal diagonal) {
    return keep(KEPT_ORACLE, NULL, oracle_random(grid, stencil, seed, diagonal));
}

static inline oracle_matrix *keep_converted(const oracle_matrix *matrix,
                                            const oracle_layout *layout) {
    return keep(KEPT_ORACLE, NULL, oracle_convert(matrix, layout));
}

/* The matrix of a model problem, on the host. */
static inline const gsw_matrix *keep_problem(const char *text) {
    gsw_context *cpu = oracle_context(1);
    gsw_problem *problem = NULL;
    must(cpu, gsw_problem_parse(cpu, text, NULL, &problem));
    gsw_context_destroy(cpu);
    return gsw_problem_matrix(keep(KEPT_PROBLEM, NULL, problem));
}

/* Takes the arrays over; returns the same. */
static inline gsw_csr keep_csr(gsw_csr csr) {
    gsw_csr *owner = malloc(sizeof *owner);
    ck_assert_ptr_nonnull(owner);
    *owner = csr;
    keep(KEPT_CSR, NULL, owner);
    return csr;
}

static inline gsw_context *keep_context(int threads) {
    return keep(KEPT_CONTEXT, NULL, oracle_context(threads));
}

/* ---- of a context, and in its memory ---- */

static inline void *keep_room(gsw_context *context, size_t bytes) {
    void *there = NULL;
    must(context, gsw_memory_alloc(context, bytes, &there));
    return keep(KEPT_THERE, context, there);
}

static inline void *keep_upload(gsw_context *context, const void *host, size_t bytes) {
    void *there = keep_room(context, bytes);
    must(context, gsw_memory_upload(context, there, host, bytes));
    return there;
}

static inline void download(gsw_context *context, void *host, const void *there, size_t bytes) {
    must(context, gsw_memory_download(context, host, there, bytes));
}

/* A copy of a matrix of the host. */
static inline const gsw_matrix *keep_there(gsw_context *context, const gsw_matrix *host) {
    gsw_matrix *there = malloc(sizeof *there);
    ck_assert_ptr_nonnull(there);
    must(context, gsw_matrix_upload(context, host, there));
    return keep(KEPT_MATRIX, context, there);
}

static inline gsw_factor *keep_factor(gsw_context *context, const gsw_matrix *matrix,
                                      gsw_factor_options options) {
    gsw_factor *factor = NULL;
    options.size = sizeof options;
    must(context, gsw_factor_create(context, matrix, &options, &factor));
    return keep(KEPT_FACTOR, NULL, factor);
}

static inline gsw_multigrid *keep_multigrid(gsw_context *context, const gsw_matrix *matrix,
                                            gsw_multigrid_options options) {
    gsw_multigrid *mg = NULL;
    options.size = sizeof options;
    must(context, gsw_multigrid_create(context, matrix, &options, &mg));
    return keep(KEPT_MULTIGRID, NULL, mg);
}

static inline gsw_relax *keep_relax(gsw_context *context, const gsw_matrix *matrix,
                                    gsw_relax_options options) {
    gsw_relax *relax = NULL;
    options.size = sizeof options;
    must(context, gsw_relax_create(context, matrix, &options, &relax));
    return keep(KEPT_RELAX, NULL, relax);
}

static inline gsw_operator *keep_operator(gsw_context *context, const gsw_matrix *matrix) {
    gsw_operator *op = NULL;
    must(context, gsw_operator_from_matrix(context, matrix, &op));
    return keep(KEPT_OPERATOR, NULL, op);
}

static inline gsw_operator *keep_product(gsw_context *context, int64_t n, gsw_apply_fn multiply,
                                         void *user) {
    gsw_operator *op = NULL;
    must(context, gsw_operator_from_callback(context, n, multiply, user, &op));
    return keep(KEPT_OPERATOR, NULL, op);
}

/* Of a factor, or none where that is NULL. */
static inline gsw_preconditioner *keep_factor_M(gsw_context *context, gsw_factor *factor) {
    gsw_preconditioner *M = NULL;
    if (factor == NULL)
        return NULL;
    must(context, gsw_preconditioner_from_factor(context, factor, &M));
    return keep(KEPT_PRECONDITIONER, NULL, M);
}

static inline gsw_preconditioner *keep_callback_M(gsw_context *context, int64_t n,
                                                  gsw_apply_fn solve, void *user) {
    gsw_preconditioner *M = NULL;
    must(context, gsw_preconditioner_from_callback(context, n, solve, user, &M));
    return keep(KEPT_PRECONDITIONER, NULL, M);
}

static inline gsw_preconditioner *keep_multigrid_M(gsw_context *context, gsw_multigrid *mg) {
    gsw_preconditioner *M = NULL;
    must(context, gsw_preconditioner_from_multigrid(context, mg, &M));
    return keep(KEPT_PRECONDITIONER, NULL, M);
}

#endif
