/* hard_systems.h: systems that are singular, semidefinite, indefinite or badly scaled, and the
 * expected end of each solve, for contexts of any backend. */
#ifndef GSW_TESTS_HARD_SYSTEMS_H
#define GSW_TESTS_HARD_SYSTEMS_H

#include <string.h>

#include "krylov_cases.h"
#include "krylov_truth.h"

/* A seven-point matrix of cells whose conductivities spread over `decades`, almost lognormally.
 * Couplings are harmonic means, those along z times `z`, those to the lower x times 1 + wind. Rows
 * add up to 0 (pure Neumann conditions), except for `leak` in row 0 and `shift` times each cell's
 * own conductivity in every row. Then rows and columns are multiplied by 1 + scale x / nx, so the
 * null vector is 1 over that. */
typedef struct hard_matrix {
    gsw_grid grid;
    double decades, z, wind, leak, shift, scale;
    /* A method may break down before it stagnates. Where only rounding errors are left, the order
     * of sums decides which of its scalars vanishes, and when. */
    int brittle;
} hard_matrix;

typedef struct hard_arrays {
    gsw_matrix view;
    int64_t n;
    double *values[7], *null; /* in the order of D3N7 */
    const void **pointers;    /* the view uses this */
} hard_arrays;

static inline double hard_random(uint64_t *seed) {
    *seed = *seed * 6364136223846793005U + 1442695040888963407U;
    return (double)(*seed >> 11) * 0x1p-53;
}

static inline double hard_scale(const hard_matrix *m, int64_t i) {
    return 1 + m->scale * (double)(i % m->grid.nx) / (double)m->grid.nx;
}

static inline hard_arrays hard_make(gsw_context *context, const hard_matrix *m) {
    hard_arrays a = {.n = oracle_points(&m->grid), .pointers = calloc(7, sizeof(void *))};
    double *k = malloc((size_t)a.n * sizeof *k);
    gsw_stencil stencil;
    uint64_t seed = 7;
    ck_assert(k != NULL && a.pointers != NULL);
    ck_assert_int_eq(gsw_stencil_named("D3N7", &stencil), GSW_SUCCESS);
    for (int64_t i = 0; i < a.n; i++)
        k[i] = pow(10, m->decades * (hard_random(&seed) - 0.5));
    for (int e = 0; e < 7; e++)
        a.pointers[e] = a.values[e] = oracle_vector(GSW_F64, 1, a.n);
    a.null = oracle_vector(GSW_F64, 1, a.n);
    for (int64_t i = 0; i < a.n; i++) {
        const int64_t x = i % m->grid.nx, y = i / m->grid.nx % m->grid.ny;
        const int64_t z = i / m->grid.nx / m->grid.ny;
        double sum = (i == 0 ? m->leak : 0) + m->shift * k[i];
        for (int e = 0; e < 7; e++) {
            const gsw_offset o = stencil.offsets[e];
            const int inside = x + o.dx >= 0 && x + o.dx < m->grid.nx && y + o.dy >= 0 &&
                               y + o.dy < m->grid.ny && z + o.dz >= 0 && z + o.dz < m->grid.nz;
            const int64_t j = i + gsw_grid_row(&m->grid, o.dx, o.dy, o.dz);
            a.values[e][i] = NAN;
            if (!inside || j == i)
                continue;
            const double coupling = 2 * k[i] * k[j] / (k[i] + k[j]) * (o.dz != 0 ? m->z : 1) *
                                    (o.dx < 0 ? 1 + m->wind : 1);
            a.values[e][i] = -coupling * hard_scale(m, i) * hard_scale(m, j);
            sum += coupling;
        }
        a.values[3][i] = sum * hard_scale(m, i) * hard_scale(m, i);
        a.null[i] = 1 / hard_scale(m, i);
    }
    free(k);
    const gsw_stencil_array array = {.values = a.pointers, .value_type = GSW_F64};
    ck_assert_int_eq(gsw_matrix_from_stencil(context, &m->grid, &stencil, &array, &a.view),
                     GSW_SUCCESS);
    return a;
}

static inline void hard_free(hard_arrays *a) {
    for (int e = 0; e < 7; e++)
        free(a->values[e]);
    free(a->pointers);
    free(a->null);
}

typedef enum hard_rhs { ONES, RANDOM, RANGE /* A times a random vector */ } hard_rhs;

enum { NO_FACTOR = -1 };

typedef struct hard_case {
    const char *what;
    hard_matrix matrix;
    hard_rhs rhs;
    gsw_method method;
    int factor; /* gsw_factor_kind or NO_FACTOR */
    gsw_krylov_options options;
    double pivot_shift;
    gsw_status status;
    const char *says; /* part of the message */
} hard_case;

/* clang-format off */
#define LINE      {50, 1, 1}
#define PLANE     {33, 29, 1}
#define BOX       {12, 11, 10}
#define CUBE      {9, 9, 9}
#define NEUMANN   .nullspace = GSW_NULLSPACE_CONSTANT
#define CONSTANT  "the matrix maps constant vectors to 0: see nullspace"
#define CONVERGES GSW_SUCCESS, ""
#define NO_OPTIONS {.rtol = 0}

static const hard_case hard_cases[] = {
    /* Singular, b outside the range: no method can solve these, and none may claim to. */
    {"line, ones, cg", {LINE, .z = 1}, ONES, GSW_CG, NO_FACTOR, NO_OPTIONS, 0,
     GSW_ERROR_BREAKDOWN, "the matrix is singular (semidefinite)"},
    {"line, ones, bicgstab", {LINE, .z = 1}, ONES, GSW_BICGSTAB, NO_FACTOR, NO_OPTIONS, 0,
     GSW_ERROR_BREAKDOWN, "the matrix is singular"},
    {"line, ones, gmres", {LINE, .z = 1}, ONES, GSW_GMRES, NO_FACTOR, NO_OPTIONS, 0,
     GSW_ERROR_BREAKDOWN, "the matrix is singular"},
    {"line, ones, gmres, left",
     {LINE, .z = 1}, ONES, GSW_GMRES, NO_FACTOR, {.norm = GSW_NORM_PRECONDITIONED}, 0,
     GSW_ERROR_BREAKDOWN, CONSTANT},
    {"rough line, ones, cg", {LINE, .decades = 3, .z = 1}, ONES, GSW_CG, NO_FACTOR, NO_OPTIONS, 0,
     GSW_ERROR_BREAKDOWN, "the matrix is singular"},
    {"rough line, ones, gmres",
     {LINE, .decades = 3, .z = 1}, ONES, GSW_GMRES, NO_FACTOR, NO_OPTIONS, 0,
     GSW_ERROR_BREAKDOWN, "the matrix is singular"},
    {"plane, ones, cg", {PLANE, .z = 1}, ONES, GSW_CG, NO_FACTOR, NO_OPTIONS, 0,
     GSW_ERROR_BREAKDOWN, CONSTANT},
    {"box, random, gmres", {BOX, .z = 1}, RANDOM, GSW_GMRES, NO_FACTOR, {.max_iterations = 300}, 0,
     GSW_ERROR_NOT_CONVERGED, CONSTANT},
    {"box, random, bicgstab, jacobi",
     {BOX, .z = 1}, RANDOM, GSW_BICGSTAB, GSW_JACOBI, {.max_iterations = 60}, 0,
     GSW_ERROR_NOT_CONVERGED, CONSTANT},
    {"box, random, cg, ic0", {BOX, .z = 1}, RANDOM, GSW_CG, GSW_IC0, {.max_iterations = 25}, 0,
     GSW_ERROR_NOT_CONVERGED, CONSTANT},
    {"rough line, random, bicgstab, ilu0 with a pivot of rounding error",
     {LINE, .decades = 3, .z = 1}, RANDOM, GSW_BICGSTAB, GSW_ILU0, NO_OPTIONS, 0,
     GSW_ERROR_NOT_CONVERGED, "the matrix is singular or nearly so"},
    {"rough line, random, gmres, ilu0 with a pivot of rounding error",
     {LINE, .decades = 3, .z = 1, .brittle = 1}, RANDOM, GSW_GMRES, GSW_ILU0, NO_OPTIONS, 0,
     GSW_ERROR_NOT_CONVERGED, "the matrix is singular or nearly so"},

    /* Singular, b in the range: the methods need no help. */
    {"plane, range, cg", {PLANE, .z = 1}, RANGE, GSW_CG, NO_FACTOR, NO_OPTIONS, 0, CONVERGES},
    {"box, range, bicgstab", {BOX, .z = 1}, RANGE, GSW_BICGSTAB, GSW_JACOBI, NO_OPTIONS, 0,
     CONVERGES},
    {"box, range, gmres", {BOX, .z = 1}, RANGE, GSW_GMRES, GSW_ILU0, NO_OPTIONS, 0, CONVERGES},

    /* With the null vector projected out. */
    {"line, projected, cg", {LINE, .z = 1}, RANDOM, GSW_CG, NO_FACTOR, {NEUMANN}, 0, CONVERGES},
    {"line, projected, cg, shifted ic0", {LINE, .z = 1}, RANDOM, GSW_CG, GSW_IC0, {NEUMANN}, 1e-2,
     CONVERGES},
    {"line, projected, gmres, jacobi", {LINE, .z = 1}, RANDOM, GSW_GMRES, GSW_JACOBI, {NEUMANN}, 0,
     CONVERGES},
    {"line, ones, projected: nothing is left",
     {LINE, .z = 1}, ONES, GSW_GMRES, NO_FACTOR, {NEUMANN}, 0,
     CONVERGES},
    {"plane, projected, cg", {PLANE, .z = 1}, RANDOM, GSW_CG, NO_FACTOR, {NEUMANN}, 0, CONVERGES},
    {"plane, projected, cg, jacobi", {PLANE, .z = 1}, RANDOM, GSW_CG, GSW_JACOBI, {NEUMANN}, 0,
     CONVERGES},
    {"plane, projected, cg, ic0", {PLANE, .z = 1}, RANDOM, GSW_CG, GSW_IC0, {NEUMANN}, 0,
     CONVERGES},
    {"plane, projected, bicgstab, ilu0",
     {PLANE, .z = 1}, RANDOM, GSW_BICGSTAB, GSW_ILU0, {NEUMANN}, 0,
     CONVERGES},
    {"plane, projected, gmres", {PLANE, .z = 1}, RANDOM, GSW_GMRES, GSW_ILU0, {NEUMANN}, 0,
     CONVERGES},
    {"box, projected, cg", {BOX, .z = 1}, RANDOM, GSW_CG, NO_FACTOR, {NEUMANN}, 0, CONVERGES},
    {"box, projected, cg, ic0", {BOX, .z = 1}, RANDOM, GSW_CG, GSW_IC0, {NEUMANN}, 0, CONVERGES},
    {"box, projected, bicgstab", {BOX, .z = 1}, RANDOM, GSW_BICGSTAB, GSW_JACOBI, {NEUMANN}, 0,
     CONVERGES},
    {"box, projected, gmres", {BOX, .z = 1}, RANDOM, GSW_GMRES, NO_FACTOR, {NEUMANN}, 0, CONVERGES},
    {"box, projected, gmres, left",
     {BOX, .z = 1}, RANDOM, GSW_GMRES, GSW_ILU0, {NEUMANN, .norm = GSW_NORM_PRECONDITIONED}, 0,
     CONVERGES},
    {"box, projected, cg, norm of z",
     {BOX, .z = 1}, RANDOM, GSW_CG, GSW_SSOR, {NEUMANN, .norm = GSW_NORM_PRECONDITIONED}, 0,
     CONVERGES},
    {"rough box, projected, cg", {BOX, .decades = 4, .z = 1}, RANDOM, GSW_CG, GSW_IC0, {NEUMANN}, 0,
     CONVERGES},
    {"box with wind, projected, bicgstab",
     {BOX, .z = 1, .wind = 0.5}, RANDOM, GSW_BICGSTAB, GSW_ILU0, {NEUMANN}, 0,
     CONVERGES},
    {"scaled box, null vector, cg",
     {BOX, .z = 1, .scale = 3}, RANDOM, GSW_CG, GSW_IC0, {.nullspace = GSW_NULLSPACE_VECTOR}, 0,
     CONVERGES},
    {"scaled box, null vector, gmres",
     {BOX, .z = 1, .scale = 3}, RANDOM, GSW_GMRES, NO_FACTOR, {.nullspace = GSW_NULLSPACE_VECTOR},
     0,
     CONVERGES},
    {"scaled box, constant", {BOX, .z = 1, .scale = 3}, RANDOM, GSW_CG, NO_FACTOR, {NEUMANN}, 0,
     GSW_ERROR_INVALID_ARGUMENT, "the constant vector is not in the null space"},
    {"regular box, constant", {BOX, .z = 1, .shift = 1}, RANDOM, GSW_CG, NO_FACTOR, {NEUMANN}, 0,
     GSW_ERROR_INVALID_ARGUMENT, "the constant vector is not in the null space"},

    /* Indefinite. */
    {"indefinite, cg", {BOX, .z = 1, .shift = -1}, RANDOM, GSW_CG, NO_FACTOR, NO_OPTIONS, 0,
     GSW_ERROR_BREAKDOWN, "the matrix is indefinite"},
    {"indefinite, cg, jacobi",
     {BOX, .z = 1, .shift = -0.5}, RANDOM, GSW_CG, GSW_JACOBI, NO_OPTIONS, 0,
     GSW_ERROR_BREAKDOWN, "indefinite"},
    {"indefinite, gmres",
     {LINE, .z = 1, .shift = -1}, RANDOM, GSW_GMRES, NO_FACTOR, {.restart = 60}, 0,
     CONVERGES},
    {"negative definite, cg",
     {BOX, .z = 1, .shift = -20}, RANDOM, GSW_CG, GSW_JACOBI, NO_OPTIONS, 0,
     CONVERGES},

    /* Badly scaled: the recurrence drifts from the true residual. */
    {"eight decades, ones, cg",
     {CUBE, .decades = 8, .z = 1e-4, .leak = 1}, ONES, GSW_CG, GSW_IC0, NO_OPTIONS, 0,
     CONVERGES},
    {"ten decades, random, cg",
     {CUBE, .decades = 10, .z = 1e-4, .leak = 1}, RANDOM, GSW_CG, GSW_ILU0, NO_OPTIONS, 0,
     CONVERGES},
    {"twelve decades, random, cg",
     {CUBE, .decades = 12, .z = 1e-4, .shift = 1e-8}, RANDOM, GSW_CG, GSW_IC0, NO_OPTIONS, 0,
     CONVERGES},
    {"twelve decades, ones, cg",
     {CUBE, .decades = 12, .z = 1e-4, .shift = 1e-8}, ONES, GSW_CG, GSW_IC0, NO_OPTIONS, 0,
     GSW_ERROR_NOT_CONVERGED, "the tolerance is less than fp64 attains"},
    {"six decades, ones, gmres",
     {CUBE, .decades = 6, .z = 1e-4, .shift = 1e-3}, ONES, GSW_GMRES, GSW_IC0, NO_OPTIONS, 0,
     CONVERGES},
    {"nearly singular, ones, cg",
     {CUBE, .decades = 8, .z = 1e4, .leak = 1e-4}, ONES, GSW_CG, GSW_IC0, NO_OPTIONS, 0,
     GSW_ERROR_NOT_CONVERGED, "the matrix is singular or nearly so"},
    {"nearly singular, random, bicgstab",
     {CUBE, .decades = 8, .z = 1e4, .leak = 1e-4, .brittle = 1}, RANDOM, GSW_BICGSTAB, GSW_ILU0, NO_OPTIONS, 0,
     GSW_ERROR_NOT_CONVERGED, "the matrix is singular or nearly so"},
    {"a tolerance that fp64 does not attain, cg",
     {BOX, .z = 1, .shift = 0.1}, RANDOM, GSW_CG, GSW_IC0, {.rtol = 1e-25}, 0,
     GSW_ERROR_NOT_CONVERGED, "the tolerance is less than fp64 attains"},
    {"a tolerance that fp64 does not attain, norm of z",
     {BOX, .z = 1, .shift = 0.1}, RANDOM, GSW_GMRES, GSW_ILU0,
     {.rtol = 1e-18, .norm = GSW_NORM_PRECONDITIONED}, 0,
     GSW_ERROR_NOT_CONVERGED, "the tolerance is less than fp64 attains"},

};
/* clang-format on */
#define HARD_CASES ((int)(sizeof hard_cases / sizeof hard_cases[0]))

#undef LINE
#undef PLANE
#undef BOX
#undef CUBE
#undef NEUMANN
#undef CONSTANT
#undef CONVERGES
#undef NO_OPTIONS

static inline double *hard_right_hand_side(const hard_case *c, const hard_arrays *a) {
    double *b = oracle_vector(GSW_F64, 3, a->n);
    if (c->rhs == ONES)
        oracle_fill(GSW_F64, b, a->n, 1);
    if (c->rhs == RANGE) {
        double *x = oracle_vector(GSW_F64, 4, a->n);
        for (int64_t i = 0; i < a->n; i++) {
            long double terms;
            b[i] = (double)truth_row(&a->view, i, x, &terms);
        }
        free(x);
    }
    return b;
}

/* Solves one of them. Returns the number of replacements of the recurrence. */
static inline int64_t check_hard_case(gsw_context *context, gsw_context *cpu, const hard_case *c,
                                      gsw_eisenstat form) {
    hard_arrays a = hard_make(cpu, &c->matrix);
    const size_t bytes = (size_t)a.n * sizeof(double);
    double *b = hard_right_hand_side(c, &a), *x = oracle_vector(GSW_F64, 5, a.n);
    gsw_krylov_options options = c->options, given;
    options.size = sizeof options;
    options.eisenstat = form;
    gsw_krylov_result result = {.size = sizeof result};
    const int host = gsw_context_backend(context) == GSW_BACKEND_CPU;
    gsw_factor *factor = NULL;
    gsw_matrix there;
    oracle_fill(GSW_F64, x, a.n, 0);
    ck_assert_int_eq(gsw_matrix_upload(context, &a.view, &there), GSW_SUCCESS);
    void *bt = krylov_upload(context, b, bytes), *xt = krylov_upload(context, x, bytes);
    void *nt = krylov_upload(context, a.null, bytes);
    if (options.nullspace == GSW_NULLSPACE_VECTOR)
        options.null_vector = a.null;
    given = options;
    if (options.nullspace == GSW_NULLSPACE_VECTOR)
        given.null_vector = nt;
    if (c->factor != NO_FACTOR) {
        const gsw_factor_options wanted = {.size = sizeof wanted,
                                           .kind = (gsw_factor_kind)c->factor,
                                           .pivot_shift = c->pivot_shift};
        ck_assert_msg(gsw_factor_create(context, &there, &wanted, &factor) == GSW_SUCCESS, "%s: %s",
                      c->what, gsw_context_message(context));
    }
    const gsw_status status =
        solve_krylov(context, c->method, &there, factor, &given, bt, xt, &result);
    krylov_download(context, x, xt, bytes);
    const int broke_down = c->matrix.brittle && status == GSW_ERROR_BREAKDOWN;
    ck_assert_msg(status == c->status || broke_down, "%s: %s: %s", c->what, gsw_status_name(status),
                  gsw_context_message(context));
    truth_check(c->what, &a.view, &options, b, x, status, &result, host ? context : NULL,
                host ? factor : NULL);
    const int other_words = c->matrix.brittle && form == GSW_EISENSTAT_ALWAYS;
    if (status != GSW_SUCCESS && !broke_down && !other_words)
        ck_assert_msg(strstr(gsw_context_message(context), c->says) != NULL, "%s: %s", c->what,
                      gsw_context_message(context));
    for (int64_t i = 0; i < a.n; i++)
        ck_assert_msg(isfinite(x[i]), "%s: x is not finite", c->what);
    gsw_factor_destroy(factor);
    gsw_memory_free(context, nt);
    gsw_memory_free(context, xt);
    gsw_memory_free(context, bt);
    gsw_matrix_release(context, &there);
    hard_free(&a);
    free(x);
    free(b);
    return result.replacements;
}

static inline void check_hard_systems(gsw_context *context) {
    gsw_context *cpu = oracle_context(1);
    int64_t replacements = 0;
    for (int i = 0; i < HARD_CASES; i++) {
        replacements += check_hard_case(context, cpu, &hard_cases[i], GSW_EISENSTAT_NEVER);
        (void)check_hard_case(context, cpu, &hard_cases[i], GSW_EISENSTAT_ALWAYS);
    }
    /* At least one must drift, or the checks prove nothing. */
    ck_assert_int_gt(replacements, 0);
    gsw_context_destroy(cpu);
}

#endif
