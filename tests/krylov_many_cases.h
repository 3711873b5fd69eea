/* krylov_many_cases.h: gsw_krylov_many() against gsw_krylov() for each system alone, for contexts
 * of any backend: the same bits in x and in every figure, the same status and message. */
#ifndef GSW_TESTS_KRYLOV_MANY_CASES_H
#define GSW_TESTS_KRYLOV_MANY_CASES_H

#include "hard_systems.h" /* before the fixture: its functions have a context each */
#include "krylov_cases.h"

/* Systems of one matrix, on the host. Vector i of b and x begins at i * ldb and i * ldx. */
typedef struct many_systems {
    int64_t n, count, ldb, ldx;
    double *b, *x; /* x: the guesses */
} many_systems;

static inline many_systems many_open(int64_t n, int64_t count) {
    many_systems m = {.n = n, .count = count, .ldb = n + 3, .ldx = n + 5};
    m.b = oracle_vector(GSW_F64, 51, m.ldb * count);
    m.x = calloc((size_t)(m.ldx * count), sizeof *m.x);
    ck_assert_ptr_nonnull(m.x);
    for (int64_t i = 0; i < count; i++)
        for (int64_t k = n; k < m.ldx; k++)
            m.x[i * m.ldx + k] = 42; /* between the vectors */
    return m;
}

static inline void many_free(many_systems *m) {
    free(m->b);
    free(m->x);
}

/* Different ends: system 1 has b = 0, 2 is scaled, 3 begins at a good guess, 4 is not finite, 5 is
 * too small, 6 is one point, 9 is smooth. The others are random. */
static inline many_systems many_mixture(gsw_context *context, const gsw_matrix *matrix,
                                        int64_t count) {
    const int64_t n = oracle_points(&matrix->grid);
    many_systems m = many_open(n, count);
    for (int64_t i = 0; i < count; i++) {
        double *b = m.b + i * m.ldb, *x = m.x + i * m.ldx;
        for (int64_t k = 0; k < n; k++)
            b[k] = i == 1   ? 0
                   : i == 2 ? 1e10 * b[k]
                   : i == 5 ? 1e-200 * b[k]
                   : i == 6 ? k == n / 2
                   : i == 9 ? 1
                            : b[k];
        if (i == 3) {
            memcpy(x, b, (size_t)n * sizeof *x);
            ck_assert_int_eq(gsw_spmv(context, matrix, GSW_F64, x, b), GSW_SUCCESS);
        }
        if (i == 4)
            b[n / 2] = NAN;
    }
    return m;
}

/* What a call says. */
typedef struct many_call {
    gsw_context *context;
    gsw_method method;
    const gsw_operator *op;
    gsw_preconditioner *M;
    gsw_krylov_options options;
    int ahead; /* iterations queued ahead, or -1: the backend's own number */
} many_call;

/* The end of a system alone. */
typedef struct many_ending {
    gsw_status status;
    gsw_krylov_result result;
    char message[512];
} many_ending;

static inline void many_begin(const many_call *c) {
    if (c->ahead >= 0)
        krylov_queue_set(c->context, c->ahead);
}

static inline void many_end(const many_call *c) {
    if (c->ahead >= 0)
        krylov_queue_reset(c->context);
}

/* Each system alone; *x receives the solutions where the call for all leaves its own. */
static inline many_ending *many_singly(const many_call *c, const many_systems *m, double **x) {
    const size_t bytes = (size_t)m->n * sizeof(double);
    many_ending *endings = calloc((size_t)m->count, sizeof *endings);
    gsw_krylov_options options = c->options;
    options.eisenstat = GSW_EISENSTAT_NEVER; /* as in the call for all */
    *x = oracle_copy(GSW_F64, m->x, m->ldx * m->count);
    ck_assert_ptr_nonnull(endings);
    for (int64_t i = 0; i < m->count; i++) {
        many_ending *e = &endings[i];
        void *bt = krylov_upload(c->context, m->b + i * m->ldb, bytes);
        void *xt = krylov_upload(c->context, m->x + i * m->ldx, bytes);
        e->result.size = sizeof e->result;
        many_begin(c);
        e->status = gsw_krylov(c->context, c->method, c->op, c->M, &options, bt, xt, &e->result);
        many_end(c);
        ck_assert_int_eq(e->result.status, e->status);
        if (e->status != GSW_SUCCESS)
            snprintf(e->message, sizeof e->message, "%s", gsw_context_message(c->context));
        krylov_download(c->context, *x + i * m->ldx, xt, bytes);
        gsw_memory_free(c->context, xt);
        gsw_memory_free(c->context, bt);
    }
    return endings;
}

static int64_t many_replacements; /* in all systems that were compared */

static inline void many_compare(const char *what, int64_t i, const gsw_krylov_result *found,
                                const gsw_krylov_result *expected) {
    ck_assert_msg(found->status == expected->status && found->iterations == expected->iterations,
                  "%s, system %lld: status %d after %lld iterations, not %d after %lld", what,
                  (long long)i, (int)found->status, (long long)found->iterations,
                  (int)expected->status, (long long)expected->iterations);
    ck_assert_int_eq(found->converged, expected->converged);
    ck_assert_int_eq(found->stagnated, expected->stagnated);
    ck_assert_int_eq(found->replacements, expected->replacements);
    many_replacements += found->replacements;
    ck_assert_mem_eq(&found->residual, &expected->residual, sizeof(double));
    ck_assert_mem_eq(&found->recurrence, &expected->recurrence, sizeof(double));
    ck_assert_mem_eq(&found->removed, &expected->removed, sizeof(double));
    ck_assert(found->solve_ms > 0);
}

/* A call with the defaults. */
static inline many_call many_default(gsw_context *context, gsw_method method,
                                     const gsw_operator *op, gsw_preconditioner *M) {
    return (many_call){.context = context,
                       .method = method,
                       .op = op,
                       .M = M,
                       .ahead = -1,
                       .options = {.size = sizeof(gsw_krylov_options)}};
}

/* The call for all systems ends as each one alone. Returns how many have not converged. */
static inline int64_t many_check(const char *what, const many_call *c, const many_systems *m) {
    const size_t b_bytes = (size_t)(m->ldb * m->count) * sizeof(double);
    const size_t x_bytes = (size_t)(m->ldx * m->count) * sizeof(double);
    double *expected_x, *x = malloc(x_bytes);
    gsw_krylov_result *results = calloc((size_t)m->count, sizeof *results);
    ck_assert(x != NULL && results != NULL);
    many_ending *expected = many_singly(c, m, &expected_x);
    void *bt = krylov_upload(c->context, m->b, b_bytes),
         *xt = krylov_upload(c->context, m->x, x_bytes);
    int64_t first = -1, failed = 0;
    for (int64_t i = m->count - 1; i >= 0; i--) {
        results[i].size = sizeof results[i];
        if (expected[i].status != GSW_SUCCESS) {
            first = i;
            failed++;
        }
    }
    many_begin(c);
    const gsw_status status = gsw_krylov_many(c->context, c->method, c->op, c->M, &c->options,
                                              m->count, bt, m->ldb, xt, m->ldx, results);
    many_end(c);
    krylov_download(c->context, x, xt, x_bytes);
    for (int64_t i = 0; i < m->count; i++) {
        many_compare(what, i, &results[i], &expected[i].result);
        ck_assert_msg(memcmp(x + i * m->ldx, expected_x + i * m->ldx, (size_t)m->ldx * sizeof *x) ==
                          0,
                      "%s: x of system %lld has other bits", what, (long long)i);
    }
    ck_assert_int_eq(status, first < 0 ? GSW_SUCCESS : expected[first].status);
    if (first >= 0) {
        char message[600];
        snprintf(message, sizeof message, "system %lld: %s", (long long)first,
                 expected[first].message);
        message[511] = '\0';
        ck_assert_str_eq(gsw_context_message(c->context), message);
    }
    gsw_memory_free(c->context, xt);
    gsw_memory_free(c->context, bt);
    free(expected);
    free(expected_x);
    free(results);
    free(x);
    return failed;
}

/* ---- cases ---- */

/* A matrix on the context, with its operator. */
typedef struct many_matrix {
    gsw_matrix there;
    gsw_operator *op;
} many_matrix;

static inline many_matrix many_matrix_open(gsw_context *context, const gsw_matrix *host) {
    many_matrix m;
    ck_assert_int_eq(gsw_matrix_upload(context, host, &m.there), GSW_SUCCESS);
    ck_assert_int_eq(gsw_operator_from_matrix(context, &m.there, &m.op), GSW_SUCCESS);
    return m;
}

static inline void many_matrix_free(gsw_context *context, many_matrix *m) {
    gsw_operator_destroy(m->op);
    gsw_matrix_release(context, &m->there);
}

static const struct {
    const char *text;
    int symmetric;
} many_problems[] = {
    {"poisson:9x8x7", 1},      {"convection:12x11x10", 0}, {"hpcg:9x8x7", 1},
    {"helmholtz19:10x9x8", 1}, {"star13:9x9x9", 1},        {"poisson:1x40x1", 1},
    {"random:3:13x1x8", 0},    {"poisson:1x1x1", 1},       {"anisotropic:33x17", 1},
};
#define MANY_PROBLEMS ((int)(sizeof many_problems / sizeof many_problems[0]))

static const gsw_factor_options many_factors[] = {
    {.size = sizeof(gsw_factor_options), .kind = GSW_ILU0},
    {.size = sizeof(gsw_factor_options), .kind = GSW_ILU0, .factor_type = GSW_F32},
    {.size = sizeof(gsw_factor_options), .kind = GSW_JACOBI},
    {.size = sizeof(gsw_factor_options), .kind = GSW_DILU},
    {.size = sizeof(gsw_factor_options), .kind = GSW_IC0},
};
#define MANY_FACTORS ((int)(sizeof many_factors / sizeof many_factors[0]))

/* Counts of systems: one, few, as many as there are places, and more. The last time the limit of
 * iterations is in the way of some. */
static inline void many_check_counts(const char *what, many_call c, const gsw_matrix *host,
                                     gsw_context *cpu) {
    static const int64_t counts[] = {1, 2, 4, 7, 8, 11};
    for (int k = 0; k < 6; k++) {
        const int64_t count = counts[k];
        many_systems m = many_mixture(cpu, host, count);
        for (int limited = 0; limited <= (k == 5); limited++) {
            c.options.max_iterations = limited ? 4 : 3000;
            const int64_t failed = many_check(what, &c, &m);
            ck_assert_int_ge(failed, (count > 4) + (count > 5));
        }
        many_free(&m);
    }
}

/* Problem number p: CG or BiCGSTAB, both norms, every kind of preconditioner. `cpu` is a context
 * whose vectors are on the host. */
static inline void many_check_problem(gsw_context *context, gsw_context *cpu, int p) {
    gsw_problem *problem = NULL;
    ck_assert_int_eq(gsw_problem_parse(cpu, many_problems[p].text, NULL, &problem), GSW_SUCCESS);
    const gsw_matrix *host = gsw_problem_matrix(problem);
    many_matrix matrix = many_matrix_open(context, host);
    const int symmetric = many_problems[p].symmetric;
    for (int f = -1; f < MANY_FACTORS - !symmetric; f++) {
        gsw_factor *factor = NULL;
        gsw_preconditioner *M = NULL;
        if (f >= 0) {
            ck_assert_int_eq(gsw_factor_create(context, &matrix.there, &many_factors[f], &factor),
                             GSW_SUCCESS);
            ck_assert_int_eq(gsw_preconditioner_from_factor(context, factor, &M), GSW_SUCCESS);
        }
        for (int method = symmetric ? GSW_CG : GSW_BICGSTAB; method <= GSW_BICGSTAB; method++) {
            const int norm = (f + method) & 1;
            many_check_counts(
                many_problems[p].text,
                (many_call){.context = context,
                            .method = (gsw_method)method,
                            .op = matrix.op,
                            .M = M,
                            .options = {.size = sizeof(gsw_krylov_options), .norm = (gsw_norm)norm},
                            .ahead = f == 0 ? 5 : f - 1},
                host, cpu);
        }
        gsw_preconditioner_destroy(M);
        gsw_factor_destroy(factor);
    }
    many_matrix_free(context, &matrix);
    gsw_problem_destroy(problem);
}

/* Methods and preconditioners that solve one system after the other. */
static inline void many_check_one_by_one(gsw_context *context, gsw_context *cpu) {
    gsw_problem *problem = NULL;
    ck_assert_int_eq(gsw_problem_parse(cpu, "poisson:17x16x15", NULL, &problem), GSW_SUCCESS);
    const gsw_matrix *host = gsw_problem_matrix(problem);
    many_matrix matrix = many_matrix_open(context, host);
    many_systems m = many_mixture(cpu, host, 7);
    for (int cycle = 0; cycle < 2; cycle++) {
        const gsw_multigrid_options options = {.size = sizeof options,
                                               .cycle_type = cycle ? GSW_F32 : GSW_F64};
        gsw_multigrid *multigrid = NULL;
        gsw_preconditioner *M = NULL;
        ck_assert_int_eq(gsw_multigrid_create(context, &matrix.there, &options, &multigrid),
                         GSW_SUCCESS);
        ck_assert_int_eq(gsw_preconditioner_from_multigrid(context, multigrid, &M), GSW_SUCCESS);
        for (int method = GSW_CG; method <= GSW_RICHARDSON; method++) {
            const many_call c = many_default(context, (gsw_method)method, matrix.op, M);
            if (method != GSW_GMRES || !cycle)
                ck_assert_int_eq(many_check("multigrid", &c, &m), 2);
        }
        gsw_preconditioner_destroy(M);
        gsw_multigrid_destroy(multigrid);
    }
    many_free(&m);
    many_matrix_free(context, &matrix);
    gsw_problem_destroy(problem);
}

/* What gsw_choose() returns: a factor, and multigrid. */
static inline void many_check_choices(gsw_context *context, gsw_context *cpu) {
    static const char *const texts[] = {"convection:12x11x10", "poisson:32x32x32"};
    for (int k = 0; k < 2; k++) {
        gsw_problem *problem = NULL;
        gsw_preconditioner *M = NULL;
        gsw_choice choice = {.size = sizeof choice};
        ck_assert_int_eq(gsw_problem_parse(cpu, texts[k], NULL, &problem), GSW_SUCCESS);
        const gsw_matrix *host = gsw_problem_matrix(problem);
        many_matrix matrix = many_matrix_open(context, host);
        many_systems m = many_mixture(cpu, host, 7);
        ck_assert_int_eq(gsw_choose(context, &matrix.there, NULL, &M, &choice), GSW_SUCCESS);
        ck_assert(k == 0 ? choice.factor != NULL : choice.multigrid != NULL);
        const many_call c = many_default(context, choice.method, matrix.op, M);
        ck_assert_int_eq(many_check(texts[k], &c, &m), 2);
        gsw_preconditioner_destroy(M);
        many_free(&m);
        many_matrix_free(context, &matrix);
        gsw_problem_destroy(problem);
    }
}

/* CG on an indefinite diagonal: some right-hand sides break down, in different iterations. */
static inline void many_check_breakdowns(gsw_context *context, gsw_context *cpu) {
    const double dense[16] = {1, 0, 0, 0, 0, -2, 0, 0, 0, 0, 3, 0, 0, 0, 0, 4};
    static const double b[9][4] = {{1, 0, 0, 0}, {1, 1, 0, 0}, {0, 1, 0, 0},
                                   {1, 0, 1, 1}, {2, 1, 0, 0}, {9, 1, 1, 1},
                                   {0, 0, 1, 1}, {9, 2, 3, 1}, {1, 1, 1, 1}};
    small s;
    krylov_make_small(cpu, 4, dense, &s);
    many_matrix matrix = many_matrix_open(context, &s.matrix);
    many_systems m = many_open(4, 9);
    for (int i = 0; i < 9; i++)
        memcpy(m.b + i * m.ldb, b[i], sizeof b[i]);
    for (int ahead = 0; ahead < 6; ahead += 5) {
        many_call c = many_default(context, GSW_CG, matrix.op, NULL);
        c.ahead = ahead;
        ck_assert_int_eq(many_check("indefinite", &c, &m), 5);
    }
    many_free(&m);
    many_matrix_free(context, &matrix);
}

/* More than fp64 attains: recurrences drift, true residuals replace them, systems begin again at
 * different times and stagnate. */
static inline void many_check_replacements(gsw_context *context, gsw_context *cpu) {
    const hard_matrix hard = {.grid = {13, 12, 11}, .decades = 4, .z = 1, .leak = 1};
    hard_arrays a = hard_make(cpu, &hard);
    many_matrix matrix = many_matrix_open(context, &a.view);
    many_systems m = many_mixture(cpu, &a.view, 10);
    for (int method = GSW_CG; method <= GSW_BICGSTAB; method++)
        for (int ahead = 0; ahead < 4; ahead += 3) {
            const many_call c = {.context = context,
                                 .method = (gsw_method)method,
                                 .op = matrix.op,
                                 .ahead = ahead,
                                 .options = {.size = sizeof(gsw_krylov_options), .rtol = 3e-13}};
            (void)many_check("drift", &c, &m);
        }
    many_free(&m);
    many_matrix_free(context, &matrix);
    hard_free(&a);
}

/* A singular matrix, by its constant vector and by a vector of the caller's. */
static inline void many_check_nullspace(gsw_context *context, gsw_context *cpu) {
    for (int own = 0; own < 2; own++) {
        const hard_matrix hard = {.grid = {11, 10, 9}, .decades = 1, .z = 1, .scale = own ? 2 : 0};
        hard_arrays a = hard_make(cpu, &hard);
        many_matrix matrix = many_matrix_open(context, &a.view);
        many_systems m = many_mixture(cpu, &a.view, 10);
        double *null = krylov_upload(context, a.null, (size_t)a.n * sizeof *null);
        many_call c = {.context = context,
                       .method = GSW_CG,
                       .op = matrix.op,
                       .ahead = own,
                       .options = {.size = sizeof(gsw_krylov_options),
                                   .nullspace = own ? GSW_NULLSPACE_VECTOR : GSW_NULLSPACE_CONSTANT,
                                   .null_vector = own ? null : NULL}};
        ck_assert_int_eq(many_check("singular", &c, &m), 2);
        c.method = GSW_BICGSTAB;
        (void)many_check("singular", &c, &m);
        const gsw_multigrid_options cycle = {.size = sizeof cycle, .cycle_type = GSW_F32};
        gsw_multigrid *multigrid = NULL;
        ck_assert_int_eq(gsw_multigrid_create(context, &matrix.there, &cycle, &multigrid),
                         GSW_SUCCESS);
        ck_assert_int_eq(gsw_preconditioner_from_multigrid(context, multigrid, &c.M), GSW_SUCCESS);
        c.method = GSW_CG;
        ck_assert_int_eq(many_check("singular, multigrid", &c, &m), 2);
        gsw_preconditioner_destroy(c.M);
        gsw_multigrid_destroy(multigrid);
        gsw_memory_free(context, null);
        many_free(&m);
        many_matrix_free(context, &matrix);
        hard_free(&a);
    }
}

/* ---- products ---- */

/* Products of several vectors have the bits of spmv, and those with a pass end it as it ends alone.
 * A method that has ended keeps its state. */
static inline void many_check_products_of(gsw_context *context, const gsw_matrix *host) {
    enum { MOST = GSW_KRYLOV_SYSTEMS };
    const gsw_backend_ops *ops = context->ops;
    const int64_t n = oracle_points(&host->grid), stride = n + 7;
    const size_t bytes = (size_t)(stride * MOST) * sizeof(double);
    double *x = oracle_vector(GSW_F64, 61, stride * MOST), *found = malloc(bytes);
    double *y = oracle_copy(GSW_F64, x, stride * MOST);
    gsw_krylov_state states[MOST], expected[MOST], ended[MOST];
    gsw_matrix matrix;
    ck_assert_ptr_nonnull(found);
    ck_assert_int_eq(gsw_matrix_upload(context, host, &matrix), GSW_SUCCESS);
    double *xt = krylov_upload(context, x, bytes), *yt = krylov_upload(context, x, bytes);
    for (int j = 0; j < MOST; j++) {
        states[j] = krylov_midway();
        states[j].rz = 0.5 + j;
        states[j].pw = 0;
        if (j % 3 == 1)
            states[j].ended = GSW_END_CONVERGED;
    }
    gsw_krylov_state *there = krylov_upload(context, states, sizeof states), *list[MOST];
    for (int j = 0; j < MOST; j++) { /* alone */
        list[j] = &there[MOST - 1 - j];
        ck_assert_int_eq(
            ops->spmv(context, &matrix, GSW_F64, NULL, xt + j * stride, yt + j * stride),
            GSW_SUCCESS);
        krylov_download(context, y + j * stride, yt + j * stride, (size_t)n * sizeof *y);
        ck_assert_int_eq(ops->multiply_pass(context, &matrix, GSW_CG_PW, 1, xt + j * stride,
                                            yt + j * stride, stride, &list[j]),
                         GSW_SUCCESS);
    }
    krylov_download(context, expected, there, sizeof expected);
    for (int count = 1; count <= MOST; count++) {
        const size_t used = (size_t)(stride * count - 7) * sizeof *x;
        ck_assert_int_eq(gsw_memory_upload(context, yt, x, bytes), GSW_SUCCESS);
        ck_assert_int_eq(ops->multiply(context, &matrix, count, xt, yt, stride), GSW_SUCCESS);
        krylov_download(context, found, yt, bytes);
        for (int j = 0; j < count; j++)
            ck_assert_mem_eq(found + j * stride, y + j * stride, (size_t)n * sizeof *y);
        for (int j = 0; j < count; j++) /* nothing between them */
            ck_assert_mem_eq(found + j * stride + n, x + j * stride + n, 7 * sizeof *x);
        ck_assert_mem_eq((char *)found + used, (char *)x + used, bytes - used);

        ck_assert_int_eq(gsw_memory_upload(context, yt, x, bytes), GSW_SUCCESS);
        ck_assert_int_eq(gsw_memory_upload(context, there, states, sizeof states), GSW_SUCCESS);
        ck_assert_int_eq(
            ops->multiply_pass(context, &matrix, GSW_CG_PW, count, xt, yt, stride, list),
            GSW_SUCCESS);
        krylov_download(context, found, yt, bytes);
        krylov_download(context, ended, there, sizeof ended);
        for (int j = 0; j < count; j++) {
            const int at = MOST - 1 - j;
            ck_assert_mem_eq(&ended[at], &expected[at], sizeof ended[at]);
            if (states[at].ended == GSW_END_NOT)
                ck_assert_mem_eq(found + j * stride, y + j * stride, (size_t)n * sizeof *y);
        }
        for (int j = count; j < MOST; j++)
            ck_assert_mem_eq(&ended[MOST - 1 - j], &states[MOST - 1 - j], sizeof ended[0]);
    }
    gsw_memory_free(context, there);
    gsw_memory_free(context, yt);
    gsw_memory_free(context, xt);
    gsw_matrix_release(context, &matrix);
    free(found);
    free(y);
    free(x);
}

static const oracle_layout many_layouts[] = {
    {GSW_FORMAT_STENCIL, GSW_F64, GSW_I32, 0, GSW_FULL, 4},
    {GSW_FORMAT_STENCIL, GSW_F32, GSW_I32, 0, GSW_FULL, 0},
    {GSW_FORMAT_CSR, GSW_F64, GSW_I32, 0, GSW_FULL, 0},
    {GSW_FORMAT_CSR, GSW_F64, GSW_I64, 1, GSW_LOWER, 4},
    {GSW_FORMAT_CSR, GSW_F32, GSW_I32, 1, GSW_FULL, 0},
    {GSW_FORMAT_CSR, GSW_F32, GSW_I64, 0, GSW_FULL, 0},
};
#define MANY_LAYOUTS ((int)(sizeof many_layouts / sizeof many_layouts[0]))

/* Every stencil on every grid, and on one of many blocks, in every layout. */
static inline void many_check_products(gsw_context *context) {
    for (int g = 0; g <= oracle_grid_count(); g++)
        for (int s = 0; s < oracle_stencil_count(); s++) {
            const gsw_grid grid = g < oracle_grid_count() ? oracle_grid(g) : (gsw_grid){41, 30, 19};
            oracle_matrix *m = oracle_random(&grid, oracle_stencil(s, NULL), 3, ORACLE_POSITIVE);
            many_check_products_of(context, &m->view);
            for (int k = 0; k < MANY_LAYOUTS; k++) {
                oracle_matrix *other = oracle_convert(m, &many_layouts[k]);
                many_check_products_of(context, &other->view);
                oracle_free(other);
            }
            oracle_free(m);
        }
}

#endif
