/* rescue_cases.h: solves that break down and begin again, and solves that grow without hope, for
 * contexts of any backend. */
#ifndef GSW_TESTS_RESCUE_CASES_H
#define GSW_TESTS_RESCUE_CASES_H

#include "krylov_cases.h"

enum { RESCUE_NX = 32, RESCUE_NY = 29, RESCUE_POINTS = RESCUE_NX * RESCUE_NY };

/* A five-point Laplacian in the order of D2N5. */
typedef struct rescue_system {
    gsw_matrix view;
    double values[5][RESCUE_POINTS], b[RESCUE_POINTS];
    const void *pointers[5];
} rescue_system;

static inline int rescue_on_edge(int i) {
    const int x = i % RESCUE_NX, y = i / RESCUE_NX;
    return x == 0 || x == RESCUE_NX - 1 || y == 0 || y == RESCUE_NY - 1;
}

/* With rows x_i = b_i on the edge, or else with Dirichlet conditions beyond it. */
static inline rescue_system *rescue_make(gsw_context *context, int rows_on_edge) {
    const gsw_grid grid = {RESCUE_NX, RESCUE_NY, 1};
    rescue_system *s = calloc(1, sizeof *s);
    gsw_stencil stencil;
    ck_assert_ptr_nonnull(s);
    ck_assert_int_eq(gsw_stencil_named("D2N5", &stencil), GSW_SUCCESS);
    for (int e = 0; e < 5; e++) {
        s->pointers[e] = s->values[e];
        for (int i = 0; i < RESCUE_POINTS; i++) {
            const gsw_offset o = stencil.offsets[e];
            const int x = i % RESCUE_NX + (int)o.dx, y = i / RESCUE_NX + (int)o.dy;
            const int inside = x >= 0 && x < RESCUE_NX && y >= 0 && y < RESCUE_NY;
            const int alone = rows_on_edge && rescue_on_edge(i);
            s->values[e][i] = e == stencil.center ? (alone ? 1 : 4) : alone || !inside ? 0 : -1;
        }
    }
    const gsw_stencil_array array = {.values = s->pointers, .value_type = GSW_F64};
    ck_assert_int_eq(gsw_matrix_from_stencil(context, &grid, &stencil, &array, &s->view),
                     GSW_SUCCESS);
    return s;
}

/* Closes a pair of neighbours off: (1 -1; -1 1) has the null vector (1, 1). */
static inline void rescue_close_pair(rescue_system *s, int first) {
    const gsw_stencil *stencil = &s->view.stencil;
    for (int e = 0; e < 5; e++) {
        const gsw_offset o = stencil->offsets[e];
        const int step = (int)(o.dx + o.dy * RESCUE_NX);
        for (int i = 0; i < RESCUE_POINTS; i++) {
            const int from = i == first || i == first + 1;
            const int to = i + step == first || i + step == first + 1;
            if (from && to)
                s->values[e][i] = step == 0 ? 1 : -1;
            else if (from || to)
                s->values[e][i] = 0;
        }
    }
}

/* Few entries of b are not 0, so that the residual soon is orthogonal to the first one. With and
 * without a factor, in Eisenstat's form and without it, alone and beside others. */
static inline void rescue_check_sparse(gsw_context *context) {
    enum { SYSTEMS = 3 };
    gsw_context *cpu = oracle_context(1);
    const size_t bytes = RESCUE_POINTS * sizeof(double);
    double *b = calloc(SYSTEMS, bytes), *x = calloc(SYSTEMS, bytes);
    ck_assert(b != NULL && x != NULL);
    for (int i = 0; i < RESCUE_NX; i++) /* the last line; a point; a corner */
        b[RESCUE_POINTS - RESCUE_NX + i] = 1;
    b[RESCUE_POINTS + RESCUE_POINTS / 2] = b[2 * RESCUE_POINTS] = 1;
    for (int k = 0; k < 8; k++) {
        rescue_system *s = rescue_make(cpu, k & 1);
        const gsw_krylov_options options = {.size = sizeof options,
                                            .max_iterations = 10000,
                                            .eisenstat =
                                                k & 4 ? GSW_EISENSTAT_ALWAYS : GSW_EISENSTAT_NEVER};
        const gsw_factor_options ilu0 = {.size = sizeof ilu0, .kind = GSW_ILU0};
        gsw_krylov_result results[SYSTEMS];
        gsw_matrix there;
        gsw_factor *factor = NULL;
        gsw_preconditioner *M = NULL;
        gsw_operator *A = NULL;
        ck_assert_int_eq(gsw_matrix_upload(context, &s->view, &there), GSW_SUCCESS);
        ck_assert_int_eq(gsw_operator_from_matrix(context, &there, &A), GSW_SUCCESS);
        if (k & 2) {
            ck_assert_int_eq(gsw_factor_create(context, &there, &ilu0, &factor), GSW_SUCCESS);
            ck_assert_int_eq(gsw_preconditioner_from_factor(context, factor, &M), GSW_SUCCESS);
        }
        for (int i = 0; i < SYSTEMS; i++) {
            double *bt = krylov_upload(context, b + i * RESCUE_POINTS, bytes);
            double *xt = krylov_upload(context, x, bytes);
            results[i] = (gsw_krylov_result){.size = sizeof results[i]};
            ck_assert_msg(gsw_krylov(context, GSW_BICGSTAB, A, M, &options, bt, xt, &results[i]) ==
                              GSW_SUCCESS,
                          "case %d, b %d: %s", k, i, gsw_context_message(context));
            ck_assert_int_lt(results[i].iterations, k & 2 ? 60 : 110);
            ck_assert(results[i].residual <= 1e-8);
            gsw_memory_free(context, xt);
            gsw_memory_free(context, bt);
        }
        double *bt = krylov_upload(context, b, SYSTEMS * bytes);
        double *xt = krylov_upload(context, x, SYSTEMS * bytes);
        ck_assert_int_eq(gsw_krylov_many(context, GSW_BICGSTAB, A, M, &options, SYSTEMS, bt,
                                         RESCUE_POINTS, xt, RESCUE_POINTS, results),
                         GSW_SUCCESS);
        gsw_memory_free(context, xt);
        gsw_memory_free(context, bt);
        for (int i = 0; i < SYSTEMS; i++) /* as far ahead as the queue may be */
            (void)check_starts(STARTS_MAX, context, GSW_BICGSTAB, &there, factor, &options,
                               RESCUE_POINTS, b + i * RESCUE_POINTS);
        gsw_preconditioner_destroy(M);
        gsw_operator_destroy(A);
        gsw_factor_destroy(factor);
        gsw_matrix_release(context, &there);
        free(s);
    }
    free(x);
    free(b);
    gsw_context_destroy(cpu);
}

/* A singular system whose b does not fit: each method ends before the limit, with an x that is no
 * worse than 0, and says what is wrong. */
static inline void rescue_check_singular(gsw_context *context) {
    gsw_context *cpu = oracle_context(1);
    rescue_system *s = rescue_make(cpu, 0);
    const gsw_krylov_options options = {.size = sizeof options, .max_iterations = 10000};
    gsw_matrix there;
    rescue_close_pair(s, 3 * RESCUE_NX + 5);
    for (int i = 0; i < RESCUE_POINTS; i++)
        s->b[i] = 1;
    ck_assert_int_eq(gsw_matrix_upload(context, &s->view, &there), GSW_SUCCESS);
    for (int method = GSW_CG; method <= GSW_BICGSTAB; method++) {
        const ending e = check_starts(STARTS_MAX, context, (gsw_method)method, &there, NULL,
                                      &options, RESCUE_POINTS, s->b);
        ck_assert_int_ne(e.status, GSW_SUCCESS);
        ck_assert_msg(strstr(e.message, "singular") != NULL, "%s", e.message);
        ck_assert_int_lt(e.result.iterations, 5000);
        ck_assert(e.result.residual <= 1 + 1e-12);
    }
    gsw_matrix_release(context, &there);
    free(s);
    gsw_context_destroy(cpu);
}

#endif
