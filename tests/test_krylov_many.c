/* test_krylov_many.c: several systems in one call: gsw_krylov_many() against gsw_krylov() for each
 * system alone: the same bits in x and in every figure, the same status and message. */
#include "hard_matrix.h"
#include "krylov_systems.h"

/* Systems of one matrix, on the host. Vector i of b and x begins at i * ldb and i * ldx. */
typedef struct many_systems {
    int64_t n, count, ldb, ldx;
    double *b, *x; /* x: the guesses */
} many_systems;

static many_systems many_open(int64_t n, int64_t count) {
    many_systems m = {.n = n, .count = count, .ldb = n + 3, .ldx = n + 5};
    m.b = keep_random(51, m.ldb * count);
    m.x = keep_zeros(m.ldx * count);
    for (int64_t i = 0; i < count; i++)
        oracle_fill(GSW_F64, m.x + i * m.ldx + n, m.ldx - n, 42); /* between the vectors */
    return m;
}

/* Different ends: system 1 has b = 0, 2 is scaled, 3 begins at a good guess, 4 is not finite, 5 is
 * too small, 6 is one point, 9 is smooth. The others are random. */
static many_systems many_mixture(const gsw_matrix *host, int64_t count) {
    const int64_t n = oracle_points(&host->grid);
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
            must(cpu, gsw_spmv(cpu, host, GSW_F64, x, b));
        }
        if (i == 4)
            b[n / 2] = NAN;
    }
    return m;
}

/* What a call says. */
typedef struct many_call {
    gsw_method method;
    const gsw_operator *op;
    gsw_preconditioner *M;
    gsw_krylov_options options;
    int ahead; /* iterations queued ahead, or -1: the backend's own number */
} many_call;

static void many_begin(const many_call *c) {
    if (c->ahead >= 0)
        krylov_queue_set(c->ahead);
}

static void many_end(const many_call *c) {
    if (c->ahead >= 0)
        krylov_queue_reset();
}

/* Each system alone; *x receives the solutions where the call for all leaves its own. */
static ending *many_singly(const many_call *c, const many_systems *m, double **x) {
    const size_t bytes = (size_t)m->n * sizeof(double);
    ending *endings = keep_bytes((size_t)m->count * sizeof *endings);
    gsw_krylov_options options = c->options;
    void *bt = keep_room(context, bytes), *xt = keep_room(context, bytes);
    options.eisenstat = GSW_EISENSTAT_NEVER; /* as in the call for all */
    *x = keep_copy(m->x, m->ldx * m->count);
    for (int64_t i = 0; i < m->count; i++) {
        ending *e = &endings[i];
        must(context, gsw_memory_upload(context, bt, m->b + i * m->ldb, bytes));
        must(context, gsw_memory_upload(context, xt, m->x + i * m->ldx, bytes));
        e->result.size = sizeof e->result;
        many_begin(c);
        e->status = gsw_krylov(context, c->method, c->op, c->M, &options, bt, xt, &e->result);
        many_end(c);
        ck_assert_int_eq(e->result.status, e->status);
        if (e->status != GSW_SUCCESS)
            snprintf(e->message, sizeof e->message, "%s", gsw_context_message(context));
        download(context, *x + i * m->ldx, xt, bytes);
    }
    return endings;
}

static int64_t many_replacements; /* in all systems that were compared */

static void many_compare(const char *what, int64_t i, const gsw_krylov_result *found,
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
static many_call many_default(gsw_method method, const gsw_operator *op, gsw_preconditioner *M) {
    return (many_call){method, op, M, {.size = sizeof(gsw_krylov_options)}, -1};
}

/* The call for all systems ends as each one alone. Returns how many have not converged. */
static int64_t many_check(const char *what, const many_call *c, const many_systems *m) {
    const size_t mark = keep_mark(), x_bytes = (size_t)(m->ldx * m->count) * sizeof(double);
    double *expected_x, *x = keep_bytes(x_bytes);
    gsw_krylov_result *results = keep_bytes((size_t)m->count * sizeof *results);
    ending *expected = many_singly(c, m, &expected_x);
    void *bt = keep_upload(context, m->b, (size_t)(m->ldb * m->count) * sizeof(double)),
         *xt = keep_upload(context, m->x, x_bytes);
    int64_t first = -1, failed = 0;
    for (int64_t i = m->count - 1; i >= 0; i--) {
        results[i].size = sizeof results[i];
        if (expected[i].status != GSW_SUCCESS) {
            first = i;
            failed++;
        }
    }
    many_begin(c);
    const gsw_status status = gsw_krylov_many(context, c->method, c->op, c->M, &c->options,
                                              m->count, bt, m->ldb, xt, m->ldx, results);
    many_end(c);
    download(context, x, xt, x_bytes);
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
        ck_assert_str_eq(gsw_context_message(context), message);
    }
    keep_release(mark);
    return failed;
}

/* ---- each ends as it does alone ---- */

static const struct {
    const char *text;
    int symmetric;
} problems[] = {
    {"poisson:9x8x7", 1},      {"convection:12x11x10", 0}, {"hpcg:9x8x7", 1},
    {"helmholtz19:10x9x8", 1}, {"star13:9x9x9", 1},        {"poisson:1x40x1", 1},
    {"random:3:13x1x8", 0},    {"poisson:1x1x1", 1},       {"anisotropic:33x17", 1},
};
#define PROBLEMS ((int)(sizeof problems / sizeof problems[0]))

static const gsw_factor_options factors[] = {
    {.kind = GSW_ILU0},   {.kind = GSW_ILU0, .factor_type = GSW_F32},
    {.kind = GSW_JACOBI}, {.kind = GSW_DILU},
    {.kind = GSW_IC0},
};
#define FACTORS ((int)(sizeof factors / sizeof factors[0]))

/* Counts of systems: one, few, as many as there are places, and more. The last time the limit of
 * iterations is in the way of some. */
static void check_counts(const char *what, many_call c, const gsw_matrix *host) {
    static const int64_t counts[] = {1, 2, 4, 7, 8, 11};
    for (int k = 0; k < 6; k += on_reference() ? 5 : 1) {
        const int64_t count = counts[k];
        const many_systems m = many_mixture(host, count);
        for (int limited = 0; limited <= (k == 5); limited++) {
            c.options.max_iterations = limited ? 4 : 3000;
            ck_assert_int_ge(many_check(what, &c, &m), (count > 4) + (count > 5));
        }
    }
}

/* CG or BiCGSTAB, both norms, every kind of preconditioner. */
TEST(systems_end_as_they_do_alone) {
    const gsw_matrix *host = keep_problem(problems[_i].text), *there = keep_there(context, host);
    const int symmetric = problems[_i].symmetric;
    for (int f = -1; f < FACTORS - !symmetric; f++) {
        gsw_factor *factor = f >= 0 ? keep_factor(context, there, factors[f]) : NULL;
        for (int method = symmetric ? GSW_CG : GSW_BICGSTAB; method <= GSW_BICGSTAB; method++) {
            many_call c = many_default((gsw_method)method, keep_operator(context, there),
                                       keep_factor_M(context, factor));
            c.options.norm = (gsw_norm)((f + method) & 1);
            c.ahead = f == 0 ? 5 : f - 1;
            check_counts(problems[_i].text, c, host);
        }
    }
}

/* Methods and preconditioners that solve one system after the other. */
TEST(others_are_solved_one_by_one) {
    const gsw_matrix *host = keep_problem("poisson:17x16x15"), *there = keep_there(context, host);
    const many_systems m = many_mixture(host, 7);
    for (int type = GSW_F64; type <= GSW_F32; type++) {
        gsw_multigrid *mg =
            keep_multigrid(context, there, (gsw_multigrid_options){.cycle_type = (gsw_dtype)type});
        for (int method = GSW_CG; method <= GSW_RICHARDSON; method++) {
            const many_call c = many_default((gsw_method)method, keep_operator(context, there),
                                             keep_multigrid_M(context, mg));
            if (method != GSW_GMRES || type == GSW_F64)
                ck_assert_int_eq(many_check("multigrid", &c, &m), 2);
        }
    }
}

/* What gsw_choose() returns: a factor, and multigrid. */
TEST(chosen_preconditioners) {
    static const char *const texts[] = {"convection:12x11x10", "poisson:32x32x32"};
    for (int k = 0; k < 2; k++) {
        const gsw_matrix *host = keep_problem(texts[k]), *there = keep_there(context, host);
        const many_systems m = many_mixture(host, 7);
        gsw_preconditioner *M = NULL;
        gsw_choice choice = {.size = sizeof choice};
        must(context, gsw_choose(context, there, NULL, &M, &choice));
        keep(KEPT_PRECONDITIONER, NULL, M);
        ck_assert(k == 0 ? choice.factor != NULL : choice.multigrid != NULL);
        const many_call c = many_default(choice.method, keep_operator(context, there), M);
        ck_assert_int_eq(many_check(texts[k], &c, &m), 2);
    }
}

/* CG on an indefinite diagonal: some right-hand sides break down, in different iterations. */
TEST(a_breakdown_leaves_the_others) {
    static const double dense[16] = {[0] = 1, [5] = -2, [10] = 3, [15] = 4},
                        b[9][4] = {{1, 0, 0, 0}, {1, 1, 0, 0}, {0, 1, 0, 0},
                                   {1, 0, 1, 1}, {2, 1, 0, 0}, {9, 1, 1, 1},
                                   {0, 0, 1, 1}, {9, 2, 3, 1}, {1, 1, 1, 1}};
    const gsw_matrix *there = keep_there(context, keep_dense(4, dense));
    many_systems m = many_open(4, 9);
    many_call c = many_default(GSW_CG, keep_operator(context, there), NULL);
    for (int i = 0; i < 9; i++)
        memcpy(m.b + i * m.ldb, b[i], sizeof b[i]);
    for (c.ahead = 0; c.ahead < 6; c.ahead += 5)
        ck_assert_int_eq(many_check("indefinite", &c, &m), 5);
}

/* More than fp64 attains: recurrences drift, true residuals replace them, systems begin again at
 * different times and stagnate. */
TEST(systems_begin_again_at_different_times) {
    const hard_matrix hard = {.grid = {13, 12, 11}, .decades = 4, .z = 1, .leak = 1};
    const hard_arrays a = hard_arrays_of(&hard);
    const many_systems m = many_mixture(&a.view, 10);
    const gsw_operator *op = keep_operator(context, keep_there(context, &a.view));
    many_replacements = 0;
    for (int method = GSW_CG; method <= GSW_BICGSTAB; method++)
        for (int ahead = 0; ahead < (on_reference() ? 1 : 4); ahead += 3) {
            many_call c = many_default((gsw_method)method, op, NULL);
            c.options.rtol = 3e-13;
            c.ahead = ahead;
            (void)many_check("drift", &c, &m);
        }
    if (on_cpu())
        ck_assert_int_gt(many_replacements, 4);
}

/* A singular matrix, by its constant vector and by a vector of the caller's. */
TEST(null_vectors) {
    for (int own = 0; own < 2; own++) {
        const hard_matrix hard = {.grid = {11, 10, 9}, .decades = 1, .z = 1, .scale = own ? 2 : 0};
        const hard_arrays a = hard_arrays_of(&hard);
        const gsw_matrix *there = keep_there(context, &a.view);
        const many_systems m = many_mixture(&a.view, 10);
        many_call c = many_default(GSW_CG, keep_operator(context, there), NULL);
        c.ahead = own;
        c.options.nullspace = own ? GSW_NULLSPACE_VECTOR : GSW_NULLSPACE_CONSTANT;
        if (own)
            c.options.null_vector = keep_upload(context, a.null, (size_t)a.n * sizeof *a.null);
        ck_assert_int_eq(many_check("singular", &c, &m), 2);
        c.method = GSW_BICGSTAB;
        (void)many_check("singular", &c, &m);
        c.M = keep_multigrid_M(
            context,
            keep_multigrid(context, there, (gsw_multigrid_options){.cycle_type = GSW_F32}));
        c.method = GSW_CG;
        ck_assert_int_eq(many_check("singular, multigrid", &c, &m), 2);
    }
}

/* ---- products ---- */

/* Products of several vectors have the bits of spmv, and those with a pass end it as it ends alone.
 * A method that has ended keeps its state. */
static void check_products_of(const gsw_matrix *host) {
    enum { MOST = GSW_KRYLOV_SYSTEMS };
    const gsw_backend_ops *ops = context->ops;
    const int64_t n = oracle_points(&host->grid), stride = n + 7;
    const size_t mark = keep_mark(), bytes = (size_t)(stride * MOST) * sizeof(double);
    double *x = keep_random(61, stride * MOST), *found = keep_bytes(bytes);
    double *y = keep_copy(x, stride * MOST);
    gsw_krylov_state states[MOST], expected[MOST], ended[MOST], *list[MOST];
    const gsw_matrix *matrix = keep_there(context, host);
    double *xt = keep_upload(context, x, bytes), *yt = keep_upload(context, x, bytes);
    for (int j = 0; j < MOST; j++) {
        states[j] = krylov_midway();
        states[j].rz = 0.5 + j;
        states[j].pw = 0;
        if (j % 3 == 1)
            states[j].ended = GSW_END_CONVERGED;
    }
    gsw_krylov_state *there = keep_upload(context, states, sizeof states);
    for (int j = 0; j < MOST; j++) { /* alone */
        list[j] = &there[MOST - 1 - j];
        must(context,
             ops->matrix->spmv(context, matrix, GSW_F64, NULL, xt + j * stride, yt + j * stride));
        download(context, y + j * stride, yt + j * stride, (size_t)n * sizeof *y);
        must(context, ops->krylov->multiply_pass(context, matrix, GSW_CG_PW, 1, xt + j * stride,
                                                 yt + j * stride, stride, &list[j]));
    }
    download(context, expected, there, sizeof expected);
    for (int count = 1; count <= MOST; count++) {
        const size_t used = (size_t)(stride * count - 7) * sizeof *x;
        must(context, gsw_memory_upload(context, yt, x, bytes));
        must(context, ops->matrix->multiply(context, matrix, count, xt, yt, stride));
        download(context, found, yt, bytes);
        for (int j = 0; j < count; j++) { /* and nothing between them */
            ck_assert_mem_eq(found + j * stride, y + j * stride, (size_t)n * sizeof *y);
            ck_assert_mem_eq(found + j * stride + n, x + j * stride + n, 7 * sizeof *x);
        }
        ck_assert_mem_eq((char *)found + used, (char *)x + used, bytes - used);

        must(context, gsw_memory_upload(context, yt, x, bytes));
        must(context, gsw_memory_upload(context, there, states, sizeof states));
        must(context,
             ops->krylov->multiply_pass(context, matrix, GSW_CG_PW, count, xt, yt, stride, list));
        download(context, found, yt, bytes);
        download(context, ended, there, sizeof ended);
        for (int j = 0; j < MOST; j++) {
            const int at = MOST - 1 - j;
            ck_assert_mem_eq(&ended[at], j < count ? &expected[at] : &states[at], sizeof ended[at]);
            if (j < count && states[at].ended == GSW_END_NOT)
                ck_assert_mem_eq(found + j * stride, y + j * stride, (size_t)n * sizeof *y);
        }
    }
    keep_release(mark);
}

static const oracle_layout layouts[] = {
    {GSW_FORMAT_STENCIL, GSW_F64, GSW_I32, 0, GSW_FULL, 4},
    {GSW_FORMAT_STENCIL, GSW_F32, GSW_I32, 0, GSW_FULL, 0},
    {GSW_FORMAT_CSR, GSW_F64, GSW_I32, 0, GSW_FULL, 0},
    {GSW_FORMAT_CSR, GSW_F64, GSW_I64, 1, GSW_LOWER, 4},
    {GSW_FORMAT_CSR, GSW_F32, GSW_I32, 1, GSW_FULL, 0},
    {GSW_FORMAT_CSR, GSW_F32, GSW_I64, 0, GSW_FULL, 0},
};
#define LAYOUTS ((int)(sizeof layouts / sizeof layouts[0]))

/* Every stencil on every grid, and on one of many blocks, in every layout. */
TEST(products_of_several_vectors) {
    for (int g = 0; g <= oracle_grid_count(); g += backend_stride())
        for (int s = 0; s < oracle_stencil_count(); s++) {
            const size_t mark = keep_mark();
            const gsw_grid grid = g < oracle_grid_count() ? oracle_grid(g) : (gsw_grid){41, 30, 19};
            oracle_matrix *m = keep_matrix_of(&grid, oracle_stencil(s, NULL), 3, ORACLE_POSITIVE);
            check_products_of(&m->view);
            for (int k = 0; k < LAYOUTS; k++)
                check_products_of(&keep_converted(m, &layouts[k])->view);
            keep_release(mark);
        }
}

/* ---- what is swept ---- */

/* A backend that counts right-hand sides of sweeps and of products. */
static gsw_backend_ops counting;
static gsw_factor_ops counting_factor;
static gsw_krylov_ops counting_krylov;
static const gsw_backend_ops *counted;
static int64_t swept, sweeps, multiplied, products;

static gsw_status count_sweep(gsw_context *where, gsw_factor *factor, int which, int64_t count,
                              const void *b, int64_t ldb, void *x, int64_t ldx) {
    swept += count;
    sweeps++;
    return counted->factor->sweep(where, factor, which, count, b, ldb, x, ldx);
}

static gsw_status count_product(gsw_context *where, const gsw_matrix *matrix, gsw_pass pass,
                                int count, double *x, double *y, int64_t stride,
                                gsw_krylov_state *const *states) {
    multiplied += count;
    products++;
    return counted->krylov->multiply_pass(where, matrix, pass, count, x, y, stride, states);
}

static void results_begin(gsw_krylov_result *results, int count) {
    for (int i = 0; i < count; i++)
        results[i].size = sizeof results[i];
}

/* One sweep serves all systems that still iterate, and no other. Ends are in this order: 1 at once,
 * and the others when they have converged. */
TEST(ended_systems_are_not_swept) {
    const gsw_krylov_options options = {.size = sizeof options, .rtol = 1e-6};
    const gsw_matrix *matrix = keep_problem("anisotropic:12x11x10");
    const many_systems m = many_mixture(matrix, 8);
    gsw_preconditioner *M =
        keep_factor_M(context, keep_factor(context, matrix, (gsw_factor_options){.kind = GSW_IC0}));
    const gsw_operator *op = keep_operator(context, matrix);
    gsw_krylov_result results[8];
    int64_t all = 0, most = 0;
    results_begin(results, 8);
    counted = context->ops;
    counting = *counted;
    counting_factor = *counted->factor;
    counting_factor.sweep = count_sweep;
    counting_krylov = *counted->krylov;
    counting_krylov.multiply_pass = count_product;
    counting.factor = &counting_factor;
    counting.krylov = &counting_krylov;
    context->ops = &counting;
    ck_assert_int_eq(
        gsw_krylov_many(context, GSW_CG, op, M, &options, 8, m.b, m.ldb, m.x, m.ldx, results),
        GSW_ERROR_NON_FINITE);
    context->ops = counted;
    for (int i = 0; i < 8; i++) {
        ck_assert(i == 4 || i == 5 || results[i].converged);
        all += results[i].iterations;
        most = results[i].iterations > most ? results[i].iterations : most;
    }
    ck_assert_int_lt(all, 6 * most); /* they end at different times */
    ck_assert_int_eq(multiplied, all);
    ck_assert_int_eq(products, most);
    ck_assert_int_eq(swept, 2 * all);
    ck_assert_int_eq(sweeps, 2 * most);
}

/* ---- monitors and errors ---- */

typedef struct sightings {
    int64_t next[9]; /* iteration of each system */
    double last[9];
} sightings;

/* System 7 stops in iteration 3. */
static int watch_all(void *user, int64_t number, int64_t iteration, double residual) {
    sightings *w = user;
    ck_assert(number >= 0 && number < 9);
    ck_assert_int_eq(iteration, w->next[number]);
    w->next[number]++;
    w->last[number] = residual;
    return number == 7 && iteration == 3;
}

TEST(monitors_know_the_system) {
    sightings w = {{0}, {0}};
    const gsw_krylov_options options = {
        .size = sizeof options, .monitor_many = watch_all, .monitor_user = &w};
    gsw_krylov_result results[9], alone = {.size = sizeof alone};
    const gsw_matrix *matrix = keep_problem("convection:12x11x10");
    const many_systems m = many_mixture(matrix, 9);
    const gsw_operator *op = keep_operator(context, matrix);
    results_begin(results, 9);
    krylov_queue_set(_i);
    ck_assert_int_eq(gsw_krylov_many(context, GSW_BICGSTAB, op, NULL, &options, 9, m.b, m.ldb, m.x,
                                     m.ldx, results),
                     GSW_ERROR_NON_FINITE);
    krylov_queue_reset();
    for (int i = 0; i < 9; i++) {
        const int at_once = i == 1 || i == 4 || i == 5;
        ck_assert_int_eq(results[i].status, i == 7   ? GSW_ERROR_STOPPED
                                            : i == 4 ? GSW_ERROR_NON_FINITE
                                            : i == 5 ? GSW_ERROR_BREAKDOWN
                                                     : GSW_SUCCESS);
        ck_assert_int_eq(w.next[i], at_once ? 0 : results[i].iterations + 1);
        ck_assert(at_once || w.last[i] == results[i].recurrence);
    }
    ck_assert_int_eq(results[7].iterations, 3);
    /* A call for one system has the number 0. */
    w.next[0] = 0;
    memset(m.x, 0, (size_t)m.n * sizeof *m.x);
    must(context, gsw_bicgstab(context, op, NULL, &options, m.b, m.x, &alone));
    ck_assert_int_eq(w.next[0], alone.iterations + 1);
}

/* A product by callback, which fails after a number of calls. */
typedef struct failing {
    const gsw_matrix *matrix;
    int64_t left;
} failing;

static gsw_status multiply_or_fail(void *user, gsw_context *where, const double *x, double *y) {
    failing *f = user;
    if (f->left-- == 0)
        return gsw_context_fail(where, GSW_ERROR_NOT_CONVERGED, "no more");
    return gsw_spmv(where, f->matrix, GSW_F64, x, y);
}

/* The error of a callback ends the call. Systems that have converged before keep their results,
 * also where systems wait for a place. */
TEST(errors_of_callbacks_end_the_call) {
    const gsw_krylov_options options = {.size = sizeof options};
    failing f = {.matrix = keep_problem("convection:12x11x10")};
    const many_systems m = many_mixture(f.matrix, 10);
    gsw_preconditioner *M =
        keep_factor_M(context, keep_factor(context, f.matrix, (gsw_factor_options){0}));
    const gsw_operator *op = keep_product(context, m.n, multiply_or_fail, &f);
    int ended_before = 0;
    for (int after = 0; after < 400; after += 7) {
        gsw_krylov_result results[10];
        double *x = keep_copy(m.x, m.ldx * 10);
        results_begin(results, 10);
        f.left = after;
        const gsw_status status = gsw_krylov_many(context, GSW_BICGSTAB, op, M, &options, 10, m.b,
                                                  m.ldb, x, m.ldx, results);
        const int failed = f.left < 0;
        ck_assert_int_eq(status, failed ? GSW_ERROR_NOT_CONVERGED : GSW_ERROR_NON_FINITE);
        ck_assert(!failed || strcmp(gsw_context_message(context),
                                    "operator: the callback failed: no more") == 0);
        for (int i = 0; i < 10; i++) {
            const int unfinished = results[i].status == GSW_ERROR_NOT_CONVERGED;
            ck_assert_int_eq(results[i].converged, results[i].status == GSW_SUCCESS);
            ck_assert(failed || !unfinished);
            ck_assert_int_eq(isnan(results[i].residual),
                             unfinished || results[i].status != GSW_SUCCESS);
            ended_before += failed && results[i].converged && results[i].iterations > 1;
            for (int64_t k = 0; k < m.n; k++)
                ck_assert(isfinite(x[i * m.ldx + k]));
        }
    }
    ck_assert_int_gt(ended_before, 0);
    ck_assert_int_ge(f.left, 0); /* the last call did not fail */
}

/* ---- arguments ---- */

static int ignore(void *user, int64_t iteration, double residual) {
    (void)user;
    (void)iteration;
    (void)residual;
    return 0;
}

#define REFUSED(words, options, count, b, ldb, x, ldx, results)                                    \
    expect_refusal(                                                                                \
        gsw_krylov_many(context, GSW_CG, op, NULL, options, count, b, ldb, x, ldx, results),       \
        GSW_ERROR_INVALID_ARGUMENT, words)

TEST(bad_arguments_are_refused) {
    sightings w = {{0}, {0}};
    const gsw_matrix *matrix = keep_problem("poisson:5x4x3");
    const gsw_operator *op = keep_operator(context, matrix);
    const many_systems m = many_mixture(matrix, 3);
    gsw_krylov_options options = {.size = sizeof options};
    gsw_krylov_result results[3] = {{.size = sizeof *results}, {.size = sizeof *results}};
    double *b = m.b, *x = m.x;

    REFUSED("count -1 is negative", &options, -1, b, m.ldb, x, m.ldx, NULL);
    REFUSED("ldb", &options, 3, b, m.n - 1, x, m.ldx, NULL);
    REFUSED("ldx", &options, 3, b, m.ldb, x, m.n - 1, NULL);
    REFUSED("b is NULL", &options, 3, NULL, m.ldb, x, m.ldx, NULL);
    REFUSED("overlap", &options, 3, b, m.ldb, b + 2 * m.ldb, m.ldx, NULL);
    REFUSED("gsw_krylov_result: size is 0", &options, 3, b, m.ldb, x, m.ldx, results);
    results[2].size = sizeof *results - 8;
    REFUSED("results: size of result 2", &options, 3, b, m.ldb, x, m.ldx, results);
    results[2].size = sizeof *results;
    options.monitor = ignore;
    REFUSED("monitor is given; several systems need monitor_many", &options, 3, b, m.ldb, x, m.ldx,
            results);
    options.monitor_many = watch_all;
    options.monitor_user = &w;
    REFUSED("monitor and monitor_many are both given", &options, 3, b, m.ldb, x, m.ldx, results);
    options.monitor = NULL;
    options.monitor_many = NULL;
    options.nullspace = GSW_NULLSPACE_VECTOR;
    options.null_vector = x + 2 * m.ldx;
    REFUSED("x and null_vector overlap", &options, 3, b, m.ldb, x, m.ldx, results);
    options = (gsw_krylov_options){.size = sizeof options, .nullspace = GSW_NULLSPACE_CONSTANT};
    REFUSED("the constant vector is not in the null space", &options, 3, b, m.ldb, x, m.ldx,
            results);
    ck_assert_int_eq(results[2].status, GSW_ERROR_INVALID_ARGUMENT);
    must_reject(
        gsw_krylov_many(context, (gsw_method)9, op, NULL, NULL, 3, b, m.ldb, x, m.ldx, NULL));
    /* No system: nothing to do. */
    must(context, gsw_krylov_many(context, GSW_CG, op, NULL, NULL, 0, NULL, 0, NULL, 0, NULL));
}

/* An older program's results are shorter, and so is the distance between them. */
TEST(older_results_are_an_array) {
    struct {
        size_t size;
        int64_t iterations;
    } results[4] = {{.size = 16}, {.size = 16}, {.size = 16}, {.size = 77, .iterations = 78}};
    const gsw_matrix *matrix = keep_problem("poisson:5x4x3");
    const many_systems m = many_mixture(matrix, 3);
    must(context, gsw_krylov_many(context, GSW_CG, keep_operator(context, matrix), NULL, NULL, 3,
                                  m.b, m.ldb, m.x, m.ldx, (gsw_krylov_result *)(void *)results));
    ck_assert(results[0].iterations > 5 && results[1].iterations == 0 && results[2].iterations > 5);
    ck_assert(results[3].size == 77 && results[3].iterations == 78);
}

int main(int argc, char **argv) {
    backend_choose(argc, argv);
    Suite *suite = suite_create("krylov_many");
    TCase *tc = context_case(suite, "krylov_many", 120);
    TESTS(tc, others_are_solved_one_by_one, a_breakdown_leaves_the_others,
          systems_begin_again_at_different_times, null_vectors, products_of_several_vectors);
    LOOPS(tc, PROBLEMS, systems_end_as_they_do_alone);
    if (!on_cuda()) { /* these have their vectors on the host, or depend on the choice there */
        TESTS(tc, chosen_preconditioners, ended_systems_are_not_swept,
              errors_of_callbacks_end_the_call, bad_arguments_are_refused,
              older_results_are_an_array);
        LOOPS(tc, 3, monitors_know_the_system);
    }
    return backend_run_suite(suite);
}
