/* test_arguments.c: arguments that all entry points refuse alike: vectors that are missing,
 * misaligned, too close together or that share values, and structs with a wrong size. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <check.h>
#include <gridsweep/gridsweep.h>
#include "context_fixture.h"

/* ---- vectors: one table of entry points, one of mistakes ---- */

enum { NX = 5, NY = 4, NZ = 3, POINTS = NX * NY * NZ, COLUMNS = 3, ROOM = 16 * POINTS };

/* The objects that the entry points are called with. */
typedef struct objects {
    const gsw_matrix *matrix;
    gsw_factor *factor;
    gsw_relax *relax;
    gsw_operator *op;
    gsw_preconditioner *preconditioner;
    double *memory; /* ROOM values, where the vectors lie */
} objects;

static gsw_status twice(void *user, gsw_context *where, const double *x, double *y) {
    (void)user;
    (void)where;
    for (int i = 0; i < POINTS; i++)
        y[i] = 2 * x[i];
    return GSW_SUCCESS;
}

static objects objects_open(void) {
    const gsw_matrix *matrix = keep_problem("poisson:5x4x3");
    return (objects){.matrix = matrix,
                     .factor = keep_factor(context, matrix, (gsw_factor_options){.kind = GSW_SSOR}),
                     .relax = keep_relax(context, matrix, (gsw_relax_options){0}),
                     .op = keep_product(context, POINTS, twice, NULL),
                     .preconditioner = keep_callback_M(context, POINTS, twice, NULL),
                     .memory = keep_zeros(ROOM)};
}

typedef enum entry {
    FACTOR_SOLVE,
    FACTOR_SWEEP,
    SPTRSV,
    SPMV,
    RESIDUAL,
    SMOOTH,
    RELAX,
    OPERATOR,
    PRECONDITIONER,
    CG,
    BICGSTAB,
    GMRES,
    KRYLOV_MANY
} entry;

static const struct {
    const char *name;
    const char *vectors[3]; /* vectors[1] is written */
    int third_written;
    int in_place; /* vectors[1] may be vectors[0] */
    int columns;  /* takes several right-hand sides */
} entries[] = {
    [FACTOR_SOLVE] = {"gsw_factor_solve", {"b", "x"}, 0, 1, 1},
    [FACTOR_SWEEP] = {"gsw_factor_sweep", {"b", "x"}, 0, 1, 1},
    [SPTRSV] = {"gsw_sptrsv", {"b", "x"}, 0, 1, 1},
    [SPMV] = {"gsw_spmv", {"x", "y"}, 0, 0, 0},
    [RESIDUAL] = {"gsw_residual", {"b", "r", "x"}, 0, 1, 0},
    [SMOOTH] = {"gsw_smooth", {"b", "x", "work"}, 1, 0, 0},
    [RELAX] = {"gsw_relax_run", {"b", "x"}, 0, 0, 0},
    [OPERATOR] = {"gsw_operator_apply", {"x", "y"}, 0, 0, 0},
    [PRECONDITIONER] = {"gsw_preconditioner_apply", {"b", "x"}, 0, 1, 0},
    [CG] = {"gsw_cg", {"b", "x"}, 0, 0, 0},
    [BICGSTAB] = {"gsw_bicgstab", {"b", "x"}, 0, 0, 0},
    [GMRES] = {"gsw_gmres", {"b", "x"}, 0, 0, 0},
    [KRYLOV_MANY] = {"gsw_krylov_many", {"b", "x"}, 0, 0, 1},
};

/* With the vectors in the order of the entry's names. */
static gsw_status call(entry e, const objects *o, int64_t count, void *const *v,
                       const int64_t *ld) {
    switch (e) {
    case FACTOR_SOLVE:
        return gsw_factor_solve(context, o->factor, count, v[0], ld[0], v[1], ld[1]);
    case FACTOR_SWEEP:
        return gsw_factor_sweep(context, o->factor, 1, count, v[0], ld[0], v[1], ld[1]);
    case SPTRSV:
        return gsw_sptrsv(context, o->matrix, NULL, count, v[0], ld[0], v[1], ld[1]);
    case SPMV:
        return gsw_spmv(context, o->matrix, GSW_F64, v[0], v[1]);
    case RESIDUAL:
        return gsw_residual(context, o->matrix, GSW_F64, v[0], v[2], v[1]);
    case SMOOTH:
        return gsw_smooth(context, o->matrix, o->factor, 1, 0, v[0], v[1], v[2]);
    case RELAX:
        return gsw_relax_run(context, o->relax, 1, 0, v[0], v[1]);
    case OPERATOR:
        return gsw_operator_apply(context, o->op, v[0], v[1]);
    case PRECONDITIONER:
        return gsw_preconditioner_apply(context, o->preconditioner, v[0], v[1]);
    case CG:
        return gsw_cg(context, o->op, NULL, NULL, v[0], v[1], NULL);
    case BICGSTAB:
        return gsw_bicgstab(context, o->op, NULL, NULL, v[0], v[1], NULL);
    case GMRES:
        return gsw_gmres(context, o->op, o->preconditioner, NULL, v[0], v[1], NULL);
    case KRYLOV_MANY:
        break;
    }
    return gsw_krylov_many(context, GSW_CG, o->op, NULL, NULL, count, v[0], ld[0], v[1], ld[1],
                           NULL);
}

/* Calls an entry point and checks the status and, after an error, the whole message. Nothing is
 * written then. */
static void expect(const objects *o, int e, int64_t count, void *const *v, const int64_t *ld,
                   gsw_status status, const char *message) {
    for (int i = 0; i < ROOM; i++)
        o->memory[i] = 1 + i % 7;
    const gsw_status got = call((entry)e, o, count, v, ld);
    ck_assert_msg(got == status, "%s: %s, not %s: '%s' for '%s'", entries[e].name,
                  gsw_status_name(got), gsw_status_name(status), gsw_context_message(context),
                  message);
    if (status == GSW_SUCCESS)
        return;
    ck_assert_msg(strcmp(gsw_context_message(context), message) == 0, "%s: '%s', not '%s'",
                  entries[e].name, gsw_context_message(context), message);
    int written = 0;
    for (int i = 0; i < ROOM; i++)
        written += o->memory[i] != 1 + i % 7;
    ck_assert_msg(written == 0, "%s has written %d values", entries[e].name, written);
}

/* "A and B overlap", with the names in the order of the function's arguments. */
static void expect_overlap(const objects *o, int e, int64_t count, void *const *v,
                           const int64_t *ld, int first, int second) {
    char message[64];
    const char *const *names = entries[e].vectors;
    /* gsw_residual() takes b, x, r. */
    if (strcmp(names[first], "r") == 0 && strcmp(names[second], "x") == 0)
        snprintf(message, sizeof message, "x and r overlap");
    else
        snprintf(message, sizeof message, "%s and %s overlap", names[first], names[second]);
    expect(o, e, count, v, ld, GSW_ERROR_INVALID_ARGUMENT, message);
}

TEST(one_vector) {
    const int e = _i;
    objects o = objects_open();
    double *m = o.memory;
    void *good[3] = {m, m + 4 * POINTS, m + 8 * POINTS};
    const int64_t ld[3] = {POINTS, POINTS, POINTS};
    char message[80];
    expect(&o, e, 1, good, ld, GSW_SUCCESS, "");
    for (int k = 0; k < 3 && entries[e].vectors[k] != NULL; k++) {
        void *v[3] = {good[0], good[1], good[2]};
        v[k] = NULL;
        snprintf(message, sizeof message, "%s is NULL", entries[e].vectors[k]);
        expect(&o, e, 1, v, ld, GSW_ERROR_INVALID_ARGUMENT, message);
        v[k] = (char *)good[k] + 4;
        snprintf(message, sizeof message, "%s is not aligned to 8 bytes", entries[e].vectors[k]);
        expect(&o, e, 1, v, ld, GSW_ERROR_INVALID_ARGUMENT, message);
    }
}

/* Each pair with a written vector, at all relevant distances. */
TEST(pairs_that_share_values) {
    const int e = _i;
    objects o = objects_open();
    const int64_t ld[3] = {POINTS, POINTS, POINTS};
    for (int k = 0; k < 3 && entries[e].vectors[k] != NULL; k++)
        for (int j = 0; j < k; j++) {
            const int written = j == 1 || k == 1 || entries[e].third_written;
            const int may_be = entries[e].in_place && j == 0 && k == 1;
            double *base = o.memory + 4 * POINTS;
            for (int shift = -POINTS; shift <= POINTS; shift++) {
                void *v[3] = {o.memory + 8 * POINTS, o.memory + 10 * POINTS,
                              o.memory + 12 * POINTS};
                v[j] = base;
                v[k] = base + shift;
                const int apart = shift == -POINTS || shift == POINTS;
                if (!written || apart || (shift == 0 && may_be))
                    expect(&o, e, 1, v, ld, GSW_SUCCESS, "");
                else
                    expect_overlap(&o, e, 1, v, ld, j, k);
            }
        }
}

TEST(columns) {
    const int e = _i;
    objects o = objects_open();
    double *m = o.memory;
    void *apart[2] = {m, m + 8 * POINTS}, *same[2] = {m, m};
    if (!entries[e].columns)
        return;
    const int64_t tight[2] = {POINTS, POINTS}, wide[2] = {2 * POINTS, 2 * POINTS};
    char message[80];
    expect(&o, e, -1, apart, tight, GSW_ERROR_INVALID_ARGUMENT, "count -1 is negative");
    expect(&o, e, 0, (void *[]){NULL, NULL}, (int64_t[]){0, 0}, GSW_SUCCESS, "");
    expect(&o, e, 1, apart, (int64_t[]){0, -5}, GSW_SUCCESS, ""); /* of no meaning with one */
    expect(&o, e, COLUMNS, apart, tight, GSW_SUCCESS, "");
    for (int k = 0; k < 2; k++) {
        int64_t ld[2] = {POINTS, POINTS};
        ld[k] = POINTS - 1;
        snprintf(message, sizeof message, "ld%s is %d, less than the %d points of the grid",
                 entries[e].vectors[k], POINTS - 1, POINTS);
        expect(&o, e, COLUMNS, apart, ld, GSW_ERROR_INVALID_ARGUMENT, message);
        ld[k] = INT64_MAX / 4;
        snprintf(message, sizeof message, "%d right-hand sides of %s exceed 64-bit sizes", COLUMNS,
                 entries[e].vectors[k]);
        expect(&o, e, COLUMNS, apart, ld, GSW_ERROR_OVERFLOW, message);
        ld[k] = INT64_MAX / 24; /* the size fits 64 bits, the address of the end does not */
        void *far[2] = {apart[0], apart[1]};
        far[k] = (void *)(UINTPTR_MAX - 7);
        expect(&o, e, COLUMNS, far, ld, GSW_ERROR_OVERFLOW, message);
    }
    /* In place, and right-hand sides in b between those in x. */
    if (entries[e].in_place) {
        expect(&o, e, COLUMNS, same, wide, GSW_SUCCESS, "");
        expect(&o, e, COLUMNS, same, (int64_t[]){POINTS, 2 * POINTS}, GSW_ERROR_INVALID_ARGUMENT,
               "in place, ldb and ldx must be equal");
    } else {
        expect_overlap(&o, e, COLUMNS, same, wide, 0, 1);
    }
    expect(&o, e, COLUMNS, (void *[]){m, m + POINTS}, wide, GSW_SUCCESS, "");
    expect_overlap(&o, e, COLUMNS, (void *[]){m, m + POINTS - 1}, wide, 0, 1);
    expect_overlap(&o, e, COLUMNS, (void *[]){m, m + POINTS}, tight, 0, 1);
    /* Only the last value of one right-hand side meets the first value of the next. */
    expect_overlap(&o, e, COLUMNS, (void *[]){m, m + 3 * POINTS - 1}, tight, 0, 1);
    expect(&o, e, COLUMNS, (void *[]){m, m + 3 * POINTS}, tight, GSW_SUCCESS, "");
    expect_overlap(&o, e, COLUMNS, (void *[]){m + 2 * POINTS, m + POINTS},
                   (int64_t[]){2 * POINTS, 3 * POINTS}, 0, 1);
}

/* ---- structs that grow ---- */

/* Options of an older program, without the last members. */
typedef struct older_krylov_options {
    size_t size;
    double rtol, atol;
    int64_t max_iterations;
} older_krylov_options;

/* Options of a newer program. */
typedef struct newer_krylov_options {
    gsw_krylov_options now;
    double added;
    int64_t more;
} newer_krylov_options;

typedef struct older_result {
    size_t size;
    int64_t iterations;
    int converged;
} older_result;

typedef struct newer_result {
    gsw_krylov_result now;
    double added;
} newer_result;

static gsw_status diagonal(void *user, gsw_context *where, const double *x, double *y) {
    (void)user;
    (void)where;
    for (int i = 0; i < POINTS; i++)
        y[i] = (1 + i) * x[i];
    return GSW_SUCCESS;
}

static double b[POINTS], x[POINTS];

/* Solves a system that CG needs many iterations for. */
static gsw_status solve(const void *options, void *result) {
    for (int i = 0; i < POINTS; i++) {
        b[i] = 1;
        x[i] = 0;
    }
    gsw_operator *op = keep_product(context, POINTS, diagonal, NULL);
    return gsw_cg(context, op, NULL, options, b, x, result);
}

TEST(an_older_program_gets_defaults) {
    const older_krylov_options two = {.size = sizeof two, .max_iterations = 2};
    struct {
        older_krylov_options options;
        char next[64]; /* of the program: not the library's to read */
    } framed = {.options = {.size = sizeof(older_krylov_options), .rtol = 1e-10}};
    memset(framed.next, 0xff, sizeof framed.next);
    gsw_krylov_result result = {.size = sizeof result};
    ck_assert_int_eq(solve(&two, &result), GSW_ERROR_NOT_CONVERGED);
    ck_assert_int_eq(result.iterations, 2);
    ck_assert_msg(solve(&framed, &result) == GSW_SUCCESS, "%s", gsw_context_message(context));
    ck_assert_double_le(result.residual, 1e-9);
    ck_assert_double_gt(result.solve_ms, 0);
}

TEST(an_older_result_is_not_overrun) {
    struct {
        older_result result;
        unsigned char next[64];
    } framed = {.result = {.size = sizeof(older_result)}};
    memset(framed.next, 0xa5, sizeof framed.next);
    ck_assert_int_eq(solve(NULL, &framed.result), GSW_SUCCESS);
    ck_assert_uint_eq(framed.result.size, sizeof(older_result));
    ck_assert_int_eq(framed.result.converged, 1);
    ck_assert_int_gt(framed.result.iterations, 2);
    for (int i = 0; i < LENGTH(framed.next); i++)
        ck_assert_uint_eq(framed.next[i], 0xa5);
}

TEST(a_newer_program_runs_as_long_as_it_asks_nothing_new) {
    newer_krylov_options options = {.now = {.size = sizeof options, .rtol = 1e-10}};
    newer_result result = {.now = {.size = sizeof result}, .added = NAN};
    ck_assert_int_eq(solve(&options, &result), GSW_SUCCESS);
    ck_assert_uint_eq(result.now.size, sizeof result);
    ck_assert_double_le(result.now.residual, 1e-9);
    ck_assert(result.added == 0);
    options.more = (int64_t)1 << 56; /* the last byte alone */
    must_reject(solve(&options, &result));
    char number[32];
    snprintf(number, sizeof number, "byte %zu", sizeof options - 1);
    assert_message("gsw_krylov_options");
    assert_message(number);
}

/* Every public struct with a size, through a function that takes it. */
typedef union any_struct {
    size_t size;
    char bytes[1 << 12];
} any_struct;

static gsw_status take_context(const objects *o, any_struct *given) {
    gsw_context *made = (gsw_context *)given;
    (void)o;
    const gsw_status status = gsw_context_create((gsw_context_options *)given, &made);
    ck_assert((status == GSW_SUCCESS) == (made != NULL));
    gsw_context_destroy(made);
    return status;
}

/* A function that hands the struct to a call which makes an object. */
#define TAKES(name, object, call)                                                                  \
    static gsw_status name(const objects *o, any_struct *given) {                                  \
        object *made = NULL;                                                                       \
        const gsw_status status = call;                                                            \
        object##_destroy(made);                                                                    \
        return status;                                                                             \
    }
TAKES(take_factor, gsw_factor, gsw_factor_create(context, o->matrix, (void *)given, &made))
TAKES(take_factor_lu, gsw_factor,
      gsw_factor_create_lu(context, o->matrix, o->matrix, (void *)given, &made))
TAKES(take_relax, gsw_relax, gsw_relax_create(context, o->matrix, (void *)given, &made))
TAKES(take_choice_options, gsw_preconditioner,
      gsw_choose(context, o->matrix, (void *)given, &made, NULL))
TAKES(take_choice, gsw_preconditioner, gsw_choose(context, o->matrix, NULL, &made, (void *)given))

static gsw_status take_info(const objects *o, any_struct *given) {
    return gsw_factor_get_info(o->factor, (gsw_factor_info *)given);
}

static gsw_status take_relax_info(const objects *o, any_struct *given) {
    return gsw_relax_get_info(o->relax, (gsw_relax_info *)given);
}

static gsw_status take_sptrsv(const objects *o, any_struct *given) {
    return gsw_sptrsv(context, o->matrix, (gsw_sptrsv_options *)given, 1, o->memory, POINTS,
                      o->memory + POINTS, POINTS);
}

static gsw_status take_krylov(const objects *o, any_struct *given) {
    (void)o;
    return solve(given, NULL);
}

static gsw_status take_result(const objects *o, any_struct *given) {
    (void)o;
    return solve(NULL, given);
}

static gsw_status take_tuning(const objects *o, any_struct *given) {
    (void)o;
    return gsw_context_tuning(context, (gsw_tuning *)given);
}

static const struct {
    const char *name;
    size_t now;
    gsw_status (*take)(const objects *o, any_struct *given);
    int filled; /* by the library */
} sized[] = {
    {"gsw_context_options", sizeof(gsw_context_options), take_context, 0},
    {"gsw_factor_options", sizeof(gsw_factor_options), take_factor, 0},
    {"gsw_factor_options", sizeof(gsw_factor_options), take_factor_lu, 0},
    {"gsw_factor_info", sizeof(gsw_factor_info), take_info, 1},
    {"gsw_relax_options", sizeof(gsw_relax_options), take_relax, 0},
    {"gsw_relax_info", sizeof(gsw_relax_info), take_relax_info, 1},
    {"gsw_sptrsv_options", sizeof(gsw_sptrsv_options), take_sptrsv, 0},
    {"gsw_krylov_options", sizeof(gsw_krylov_options), take_krylov, 0},
    {"gsw_krylov_result", sizeof(gsw_krylov_result), take_result, 1},
    {"gsw_choice_options", sizeof(gsw_choice_options), take_choice_options, 0},
    {"gsw_choice", sizeof(gsw_choice), take_choice, 1},
    {"gsw_tuning", sizeof(gsw_tuning), take_tuning, 1},
};

TEST(sizes) {
    static any_struct given;
    objects o = objects_open();
    const size_t now = sized[_i].now;
    const size_t bad[] = {0,       1, 8, 12, now - 4, now + 4, (size_t)1 << 16 | 8, SIZE_MAX - 7,
                          SIZE_MAX};
    for (int k = 0; k < LENGTH(bad); k++) {
        memset(&given, 0, sizeof given);
        given.size = bad[k];
        ck_assert_msg(sized[_i].take(&o, &given) == GSW_ERROR_INVALID_ARGUMENT, "%s: size %zu",
                      sized[_i].name, bad[k]);
        const char *message = gsw_context_message(sized[_i].take == take_context ? NULL : context);
        ck_assert_msg(strstr(message, sized[_i].name) != NULL, "size %zu: '%s'", bad[k], message);
        ck_assert_uint_eq(given.size, bad[k]);
    }
    for (size_t size = 16; size <= now + 64; size += 8) {
        memset(&given, 0, sizeof given);
        memset(given.bytes + size, 0xff, sizeof given - size);
        given.size = size;
        ck_assert_msg(sized[_i].take(&o, &given) == GSW_SUCCESS, "%s: size %zu: %s", sized[_i].name,
                      size, gsw_context_message(context));
        ck_assert_uint_eq(given.size, size);
        size_t written = 0;
        for (size_t i = size; i < sizeof given; i++)
            written += (unsigned char)given.bytes[i] != 0xff;
        ck_assert_uint_eq(written, 0);
        /* Members that the library does not have: refused in options, 0 in results. */
        if (size <= now)
            continue;
        given.bytes[size - 1] = 1;
        const gsw_status status = sized[_i].take(&o, &given);
        ck_assert_int_eq(status, sized[_i].filled ? GSW_SUCCESS : GSW_ERROR_INVALID_ARGUMENT);
        ck_assert_int_eq(given.bytes[size - 1], sized[_i].filled ? 0 : 1);
    }
}

int main(void) {
    Suite *suite = suite_create("arguments");
    TCase *vectors = context_case(suite, "vectors", 4),
          *structs = context_case(suite, "structs", 4);
    LOOPS(vectors, LENGTH(entries), one_vector, pairs_that_share_values, columns);
    TESTS(structs, an_older_program_gets_defaults, an_older_result_is_not_overrun,
          a_newer_program_runs_as_long_as_it_asks_nothing_new);
    LOOPS(structs, LENGTH(sized), sizes);
    return backend_run_suite(suite);
}
