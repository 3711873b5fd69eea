/* sweep_pair.h: one solve on both sides: a matrix, a packed factor of it or a direct solve with it,
 * and right-hand sides, on the CPU and on the backend of the run (see backend.h).
 *
 * Expected is what the textbook says, computed serially in fp64 (factor_truth.h): of a factor, or
 * with algorithm reference. Where the matrix has been changed, or is large, a factor is compared
 * with that of the CPU. */
#ifndef GSW_TESTS_SWEEP_PAIR_H
#define GSW_TESTS_SWEEP_PAIR_H

#include "backend.h"
#include "factor_truth.h"
#include "keep.h"
#include "suite.h"

/* ---- contexts ---- */

/* A context of the CPU, and those of the backend. All that are of the CPU give the same bits, with
 * any number of threads. */
typedef struct contexts {
    gsw_context *cpu, *here[3];
    int count; /* without `cpu`, which may be the last of them */
    int all;
} contexts;

/* On the CPU those with 2 and 3 threads, and `cpu`; else one context, with CUDA on a stream. */
static inline contexts contexts_open(int cpu_threads, void *stream) {
    contexts c = {.cpu = oracle_context(cpu_threads), .count = on_cpu() ? 2 : 1};
    for (int i = 0; i < c.count; i++)
        c.here[i] = backend_context_on(2 + i, stream);
    c.here[c.count] = c.cpu;
    c.all = c.count + on_cpu();
    return c;
}

static inline void contexts_close(contexts *c) {
    for (int i = 0; i < c->count; i++)
        gsw_context_destroy(c->here[i]);
    gsw_context_destroy(c->cpu);
}

/* The CPU, which is slower, tries one case in seven of some tests, or in a slow build one grid with
 * each stencil. */
static inline int wide_stride(void) {
    return !on_cpu() ? device_stride() : ORACLE_STRIDE > 1 ? oracle_grid_count() : 7;
}

/* Others are quick: it tries all their cases, also in a build that is slow. */
static inline int short_stride(void) {
    return backend_stride();
}

/* Those of a test: with one thread on the CPU, on the default stream with CUDA. */
static contexts both;

static void open_both(void) {
    both = contexts_open(1, NULL);
}

static void close_both(void) {
    keep_release(0);
    contexts_close(&both);
}

/* A group of checks, which CK_RUN_CASE names, with a limit for each where tests have processes. */
static inline TCase *sweep_case(Suite *suite, const char *name) {
    return suite_case(suite, name, 120, open_both, close_both);
}

/* ---- a matrix on both sides ---- */

static const oracle_layout layouts[] = {
    {.format = GSW_FORMAT_STENCIL},
    {.format = GSW_FORMAT_CSR, .index_type = GSW_I32, .part = GSW_FULL},
    {.format = GSW_FORMAT_CSR, .index_type = GSW_I64, .base = 1, .part = GSW_FULL},
    {.format = GSW_FORMAT_CSR, .index_type = GSW_I32, .part = GSW_FULL, .missing = 4},
};
static const char *const layout_names[] = {"arrays", "csr i32", "csr i64", "csr with gaps"};
#define LAYOUTS LENGTH(layouts)

/* What a CSR stores. */
enum { WHOLE, LOWER_TRIANGLE, UPPER_TRIANGLE, TRIANGLES };

/* Which random matrix. */
typedef struct recipe {
    gsw_grid grid;
    const gsw_stencil *stencil;
    int layout;
    int triangle, missing; /* of a CSR, if not 0, in place of the layout's */
    gsw_dtype values;
    oracle_diagonal diagonal;
    uint64_t seed;
    int alone;  /* without a second matrix: not for kind LU */
    int by_cpu; /* what is expected of a factor is what the CPU computes */
} recipe;

/* Arrays in fp64, with a second matrix. */
static inline recipe recipe_of(gsw_grid grid, const gsw_stencil *stencil, oracle_diagonal diagonal,
                               int64_t seed) {
    return (recipe){.grid = grid, .stencil = stencil, .diagonal = diagonal, .seed = (uint64_t)seed};
}

/* The matrix of a recipe on the host and in the memory of the backend, and a second one like it: U
 * of kind LU. */
typedef struct problem {
    contexts c;
    recipe recipe;
    oracle_matrix *lower, *upper;
    oracle_matrix *plain; /* NULL, or `lower` as arrays, with which the references are fastest */
    gsw_matrix here_lower, here_upper;
    int64_t n;
} problem;

/* Sets *plain if it is not NULL, and the matrix is a CSR that stores all couplings. */
static inline oracle_matrix *make_matrix(const recipe *r, uint64_t seed, oracle_matrix **plain) {
    oracle_layout layout = layouts[r->layout];
    layout.value_type = r->values;
    if (r->triangle != WHOLE)
        layout.part = r->triangle == LOWER_TRIANGLE ? GSW_LOWER : GSW_UPPER;
    if (r->missing > 0)
        layout.missing = r->missing;
    oracle_matrix *arrays = oracle_random(&r->grid, r->stencil, seed, r->diagonal);
    oracle_matrix *matrix = oracle_convert(arrays, &layout);
    const oracle_layout as_arrays = {.format = GSW_FORMAT_STENCIL, .value_type = r->values};
    if (plain && r->layout > 0 && layout.missing == 0 && r->triangle == WHOLE)
        *plain = oracle_convert(arrays, &as_arrays);
    oracle_free(arrays);
    return matrix;
}

static inline const gsw_matrix *plain_view(const problem *q) {
    return q->plain != NULL ? &q->plain->view : &q->lower->view;
}

static inline void problem_upload(problem *q) {
    gsw_context *here = q->c.here[0];
    device_try(here, gsw_matrix_upload(here, &q->lower->view, &q->here_lower));
    if (q->upper != NULL)
        device_try(here, gsw_matrix_upload(here, &q->upper->view, &q->here_upper));
}

static inline void problem_release(problem *q) {
    gsw_matrix_release(q->c.here[0], &q->here_upper);
    gsw_matrix_release(q->c.here[0], &q->here_lower);
}

/* Copies matrices that have been changed on the host to the backend. */
static inline void problem_renew(problem *q) {
    problem_release(q);
    problem_upload(q);
    oracle_free(q->plain);
    q->plain = NULL;
    q->recipe.by_cpu = 1;
}

static inline problem problem_open_in(const contexts *c, const recipe *r) {
    problem q = {.c = *c, .recipe = *r, .n = oracle_points(&r->grid)};
    q.lower = make_matrix(r, r->seed, &q.plain);
    q.upper = r->alone ? NULL : make_matrix(r, r->seed + 76, NULL);
    problem_upload(&q);
    return q;
}

static inline problem problem_open(const recipe *r) {
    return problem_open_in(&both, r);
}

static inline void problem_close(problem *q) {
    problem_release(q);
    oracle_free(q->plain);
    oracle_free(q->upper);
    oracle_free(q->lower);
}

/* The first matrix of a problem in memory that has only the alignment of its types. */
typedef struct shifted {
    gsw_matrix aligned;
    const void *values[GSW_STENCIL_MAX];
    void *memory[DEVICE_ARRAYS];
} shifted;

static inline void shift_matrix(problem *q, shifted *s) {
    *s = (shifted){.aligned = q->here_lower};
    q->here_lower = device_shifted_view(q->c.here[0], q->lower, s->values, s->memory);
}

static inline void unshift_matrix(problem *q, shifted *s) {
    q->here_lower = s->aligned;
    for (int i = 0; i < DEVICE_ARRAYS; i++)
        gsw_memory_free(q->c.here[0], s->memory[i]);
}

/* ---- a factor on both sides, or a direct solve ---- */

/* IC0 needs positive pivots. All other kinds are tried with pivots of either sign. */
static inline oracle_diagonal diagonal_for(gsw_factor_kind kind) {
    return kind == GSW_IC0 ? ORACLE_POSITIVE : ORACLE_ANY_SIGN;
}

typedef struct pair {
    const problem *q;
    gsw_factor_options options; /* of a direct solve: its type and its tolerance */
    gsw_sptrsv_options direct;  /* a direct solve has a size here */
    gsw_factor *cpu, *here[3];
    factor_truth *truth; /* or NULL */
    char text[200];
} pair;

static inline void describe(pair *p) {
    const recipe *r = &p->q->recipe;
    const gsw_factor_options *o = &p->options;
    snprintf(
        p->text, sizeof p->text,
        "%s%s%s, %lldx%lldx%lld, %s (%d offsets), %s of %s, factor %s, vectors %s",
        p->direct.size ? gsw_algorithm_name(p->direct.algorithm) : gsw_factor_kind_name(o->kind),
        o->transpose ? " transposed" : "", o->unit_diagonal ? " unit" : "", (long long)r->grid.nx,
        (long long)r->grid.ny, (long long)r->grid.nz, gsw_stencil_name(r->stencil),
        (int)r->stencil->count, layout_names[r->layout], r->values == GSW_F64 ? "f64" : "f32",
        o->factor_type == GSW_F64 ? "f64" : "f32", o->vector_type == GSW_F64 ? "f64" : "f32");
}

static inline gsw_status create(gsw_context *context, const gsw_matrix *lower,
                                const gsw_matrix *upper, const gsw_factor_options *options,
                                gsw_factor **factor) {
    return options->kind == GSW_FACTOR_LU
               ? gsw_factor_create_lu(context, lower, upper, options, factor)
               : gsw_factor_create(context, lower, options, factor);
}

static inline gsw_status create_cpu(pair *p) {
    const problem *q = p->q;
    return create(q->c.cpu, &q->lower->view, q->upper ? &q->upper->view : NULL, &p->options,
                  &p->cpu);
}

static inline gsw_status create_here(pair *p, int i) {
    const problem *q = p->q;
    return create(q->c.here[i], &q->here_lower, &q->here_upper, &p->options, &p->here[i]);
}

static inline void pair_must(const pair *p, gsw_context *context, gsw_status status,
                             const char *what) {
    ck_assert_msg(status == GSW_SUCCESS, "%s: %s: %s: %s", p->text, what, gsw_status_name(status),
                  gsw_context_message(context));
}

static inline pair pair_of(const problem *q, const gsw_factor_options *options) {
    pair p = {.q = q, .options = *options};
    describe(&p);
    return p;
}

static inline void pair_expect(pair *p) {
    const problem *q = p->q;
    if (!q->recipe.by_cpu)
        p->truth = expect(&p->options, plain_view(q), q->upper ? &q->upper->view : NULL);
}

static inline pair pair_open(const problem *q, const gsw_factor_options *options) {
    pair p = pair_of(q, options);
    pair_must(&p, q->c.cpu, create_cpu(&p), "creating on the CPU");
    for (int i = 0; i < q->c.count; i++)
        pair_must(&p, q->c.here[i], create_here(&p, i), "creating");
    p.here[q->c.count] = p.cpu;
    pair_expect(&p);
    return p;
}

static inline void pair_forget(pair *p) {
    if (p->truth != NULL)
        expected_free(p->truth);
    p->truth = NULL;
}

static inline void pair_close(pair *p) {
    pair_forget(p);
    for (int i = 0; i < p->q->c.count; i++)
        gsw_factor_destroy(p->here[i]);
    gsw_factor_destroy(p->cpu);
}

/* Takes the values of another problem of the same grid and stencil on both sides. */
static inline void pair_refactor(pair *p, const problem *q) {
    const int lu = p->options.kind == GSW_FACTOR_LU;
    pair_forget(p);
    p->q = q;
    describe(p);
    pair_must(p, q->c.cpu,
              gsw_factor_refactor(q->c.cpu, p->cpu, &q->lower->view, lu ? &q->upper->view : NULL),
              "refactoring on the CPU");
    for (int i = 0; i < q->c.count; i++)
        pair_must(p, q->c.here[i],
                  gsw_factor_refactor(q->c.here[i], p->here[i], &q->here_lower,
                                      lu ? &q->here_upper : NULL),
                  "refactoring");
    pair_expect(p);
}

/* Both messages name the same row. */
static inline void same_row(gsw_context *cpu, gsw_context *here, const char *what) {
    char row[40], wanted[40];
    device_row_of(gsw_context_message(cpu), wanted, sizeof wanted);
    device_row_of(gsw_context_message(here), row, sizeof row);
    ck_assert_msg(strcmp(row, wanted) == 0, "%s: \"%s\", but \"%s\" on the CPU", what,
                  gsw_context_message(here), gsw_context_message(cpu));
}

/* The eight solves with one matrix: part, transpose, unit diagonal. */
#define SOLVES 8

static inline gsw_sptrsv_options solve_options(int solve, gsw_dtype type, gsw_algorithm algorithm) {
    return (gsw_sptrsv_options){.size = sizeof(gsw_sptrsv_options),
                                .part = solve & 1 ? GSW_UPPER : GSW_LOWER,
                                .transpose = solve >> 1 & 1,
                                .unit_diagonal = solve >> 2 & 1,
                                .vector_type = type,
                                .algorithm = algorithm};
}

/* A direct solve. A factor with these options is a workspace for it. */
static inline pair pair_direct(const problem *q, int solve, gsw_dtype type,
                               gsw_algorithm algorithm) {
    const gsw_sptrsv_options direct = solve_options(solve, type, algorithm);
    pair p = {.q = q,
              .options = {.size = sizeof p.options,
                          .kind = direct.part == GSW_UPPER ? GSW_FACTOR_UPPER : GSW_FACTOR_LOWER,
                          .transpose = direct.transpose,
                          .unit_diagonal = direct.unit_diagonal,
                          .factor_type = type,
                          .vector_type = type},
              .direct = direct};
    describe(&p);
    return p;
}

/* The report is that of the CPU; memory is at least what the coefficients need. On the CPU it is at
 * most a tenth above one value per offset, and a diagonal, for every point. */
static inline void check_info(const pair *p) {
    gsw_factor_info cpu = {.size = sizeof cpu}, here = {.size = sizeof here};
    ck_assert_int_eq(gsw_factor_get_info(p->cpu, &cpu), GSW_SUCCESS);
    ck_assert_int_eq(gsw_factor_get_info(p->here[0], &here), GSW_SUCCESS);
    ck_assert_msg(here.kind == p->options.kind && here.factor_type == p->options.factor_type &&
                      here.vector_type == p->options.vector_type &&
                      memcmp(&here.grid, &p->q->recipe.grid, sizeof here.grid) == 0,
                  "%s: the report is of another factor", p->text);
    ck_assert_msg(here.moved_bytes == cpu.moved_bytes && cpu.moved_bytes > 0,
                  "%s: moves %lld bytes, %lld on the CPU", p->text, (long long)here.moved_bytes,
                  (long long)cpu.moved_bytes);
    ck_assert_msg(here.shifted_pivots == (p->truth ? 0 : cpu.shifted_pivots),
                  "%s: %lld pivots shifted, %lld on the CPU", p->text,
                  (long long)here.shifted_pivots, (long long)cpu.shifted_pivots);
    ck_assert_msg(here.first_bad_row == (p->truth ? -1 : cpu.first_bad_row),
                  "%s: bad row %lld, %lld on the CPU", p->text, (long long)here.first_bad_row,
                  (long long)cpu.first_bad_row);
    const int64_t vectors = 2 * p->q->n * (int64_t)gsw_dtype_size(p->options.vector_type);
    const int sweeps = gsw_factor_sweeps(p->here[0]);
    const double most = 1.1 * (here.stencil.count + 1) *
                        (double)gsw_dtype_size(p->options.factor_type) * (double)p->q->n;
    ck_assert_int_eq(sweeps, gsw_factor_sweeps(p->cpu));
    ck_assert_msg(here.packed_bytes >= here.moved_bytes - (sweeps == 2 ? 2 : 1) * vectors,
                  "%s: %lld bytes cannot hold the factor", p->text, (long long)here.packed_bytes);
    ck_assert_msg(on_cuda() || (double)here.packed_bytes <= most, "%s: %lld bytes, more than %.0f",
                  p->text, (long long)here.packed_bytes, most);
}

/* ---- right-hand sides and solutions ---- */

/* Right-hand sides in b and x with gaps between them, on both sides. */
typedef struct block {
    const pair *p;
    gsw_dtype type;
    int64_t n, count, ldb, ldx;
    void *b, *x;       /* on the host */
    void *expected;    /* laid out as x */
    void *first;       /* the first solution, laid out as x */
    const void *known; /* NULL, or where `expected` stands already */
    device_vector here_b, here_x;
} block;

static inline size_t bytes_of(const block *v, int64_t values) {
    return (size_t)values * gsw_dtype_size(v->type);
}

static inline block block_open(const pair *p, int64_t count, uint64_t seed) {
    const gsw_dtype type = p->options.vector_type;
    const int64_t n = p->q->n, ldb = count == 1 ? n : n + 3, ldx = count == 1 ? n : n + 1;
    block v = {.p = p, .type = type, .n = n, .count = count, .ldb = ldb, .ldx = ldx};
    v.b = oracle_vector(type, seed, ldb * count);
    v.x = oracle_vector(type, seed, ldx * count);
    v.expected = oracle_vector(type, seed, ldx * count);
    v.first = oracle_vector(type, seed, ldx * count);
    v.here_b = device_vector_make(p->q->c.here[0], type, ldb * count);
    v.here_x = device_vector_make(p->q->c.here[0], type, ldx * count);
    device_put(p->q->c.here[0], &v.here_b, v.b);
    return v;
}

static inline void block_close(block *v) {
    device_vector_free(v->p->q->c.here[0], &v->here_x);
    device_vector_free(v->p->q->c.here[0], &v->here_b);
    free(v->first);
    free(v->expected);
    free(v->x);
    free(v->b);
}

/* Another right-hand side. */
static inline void block_put(block *v) {
    device_put(v->p->q->c.here[0], &v->here_b, v->b);
}

/* One right-hand side of the textbook. */
static inline void expect_column(block *v, int64_t r) {
    double *values = calloc((size_t)v->n, sizeof *values);
    ck_assert_ptr_nonnull(values);
    for (int64_t i = 0; i < v->n; i++)
        values[i] = oracle_get(v->type, v->b, r * v->ldb + i);
    expected_solve(v->p->truth, values, values);
    for (int64_t i = 0; i < v->n; i++)
        oracle_set(v->type, v->expected, r * v->ldx + i, values[i]);
    free(values);
}

/* Brings b to the backend, and computes what is expected for it. */
static inline void block_expect(block *v) {
    const pair *p = v->p;
    gsw_context *cpu = p->q->c.cpu;
    gsw_sptrsv_options direct = p->direct;
    direct.algorithm = GSW_ALGORITHM_REFERENCE;
    direct.workspace = NULL;
    block_put(v);
    if (v->known != NULL)
        memcpy(v->expected, v->known, bytes_of(v, v->ldx * v->count));
    else if (p->direct.size)
        pair_must(
            p, cpu,
            gsw_sptrsv(cpu, plain_view(p->q), &direct, v->count, v->b, v->ldb, v->expected, v->ldx),
            "the reference");
    else if (p->truth != NULL)
        for (int64_t r = 0; r < v->count; r++)
            expect_column(v, r);
    else
        pair_must(p, cpu,
                  gsw_factor_solve(cpu, p->cpu, v->count, v->b, v->ldb, v->expected, v->ldx),
                  "solving on the CPU");
}

/* Queues a solve in the i-th context of the backend. */
static inline void solve_in(const block *v, int i, void *b, int64_t ldb, void *x, int64_t ldx) {
    const pair *p = v->p;
    gsw_context *here = p->q->c.here[i];
    pair_must(p, here,
              p->direct.size
                  ? gsw_sptrsv(here, &p->q->here_lower, &p->direct, v->count, b, ldb, x, ldx)
                  : gsw_factor_solve(here, p->here[i], v->count, b, ldb, x, ldx),
              "solving");
}

/* Queues a solve from b into poisoned memory. */
static inline void block_solve_in(block *v, int i) {
    device_poison(v->p->q->c.here[0], &v->here_x);
    solve_in(v, i, v->here_b.values, v->ldb, v->here_x.values, v->ldx);
}

static inline void block_solve(block *v) {
    block_solve_in(v, 0);
}

static inline void block_get(block *v) {
    device_get(v->p->q->c.here[0], &v->here_x, v->x);
}

/* The first row in which two right-hand sides differ, or the last row. */
static inline int64_t first_difference(gsw_dtype type, int64_t n, const void *x, const void *y) {
    int64_t row = 0;
    while (row < n - 1 && (oracle_get(type, x, row) == oracle_get(type, y, row) ||
                           (isnan(oracle_get(type, x, row)) && isnan(oracle_get(type, y, row)))))
        row++;
    return row;
}

/* One right-hand side is within the tolerance of the expected one, with NaNs and infinities in the
 * same places. */
static inline void check_column(const pair *p, const char *how, int64_t r, const void *x,
                                const void *wanted) {
    const gsw_dtype type = p->options.vector_type;
    const double error = oracle_error(type, p->q->n, x, wanted);
    if (error <= tolerance_of(&p->options))
        return;
    const int64_t row = first_difference(type, p->q->n, x, wanted);
    ck_abort_msg("%s: %s, column %d: error %g; row %lld: %g, not %g", p->text, how, (int)r, error,
                 (long long)row, oracle_get(type, x, row), oracle_get(type, wanted, row));
}

/* Every right-hand side in x. The gaps between them still hold the poison. */
static inline void block_check(block *v, const char *how) {
    block_get(v);
    for (int64_t r = 0; r < v->count; r++) {
        const size_t begin = bytes_of(v, r * v->ldx);
        check_column(v->p, how, r, (char *)v->x + begin, (char *)v->expected + begin);
        for (int64_t i = v->n; i < v->ldx; i++)
            ck_assert_msg(isnan(oracle_get(v->type, v->x, r * v->ldx + i)),
                          "%s: %s: wrote between columns", v->p->text, how);
    }
}

/* A solution in place of b has the bits of v->first. Gaps are unchanged. */
static inline void check_in_place(block *v, const char *how) {
    char *got = oracle_copy(v->type, v->b, v->ldb * v->count);
    device_get(v->p->q->c.here[0], &v->here_b, got);
    for (int64_t r = 0; r < v->count; r++) {
        const size_t column = bytes_of(v, v->n), gap = bytes_of(v, v->ldb - v->n);
        const size_t at = bytes_of(v, r * v->ldb);
        ck_assert_msg(memcmp(got + at, (char *)v->first + bytes_of(v, r * v->ldx), column) == 0,
                      "%s: other bits %s", v->p->text, how);
        ck_assert_msg(memcmp(got + at + column, (char *)v->b + at + column, gap) == 0,
                      "%s: wrote between columns %s", v->p->text, how);
    }
    free(got);
    block_put(v);
}

static inline void check_b_is_kept(block *v) {
    void *got = oracle_copy(v->type, v->b, v->ldb * v->count);
    device_get(v->p->q->c.here[0], &v->here_b, got);
    ck_assert_msg(memcmp(got, v->b, bytes_of(v, v->ldb * v->count)) == 0, "%s: b has changed",
                  v->p->text);
    free(got);
}

/* Solves again: the bits of v->first. */
static inline void block_check_bits(block *v, const char *how, int run) {
    block_get(v);
    ck_assert_msg(memcmp(v->first, v->x, bytes_of(v, v->ldx * v->count)) == 0,
                  "%s: other bits %s, run %d", v->p->text, how, run);
}

static inline void block_check_repeat(block *v, const char *how, int run) {
    block_solve(v);
    block_check_bits(v, how, run);
}

/* Out of place the solution is the expected one, with any number of threads. In place, and sweep by
 * sweep, it has the same bits. */
static inline void block_check_all(block *v) {
    const pair *p = v->p;
    const int some = (int)(v->count % p->q->c.all);
    gsw_context *here = p->q->c.here[some];
    void *const b = v->here_b.values;
    block_expect(v);
    block_solve(v);
    block_check(v, "out of place");
    check_b_is_kept(v);
    memcpy(v->first, v->x, bytes_of(v, v->ldx * v->count));
    for (int i = 1; i < p->q->c.all; i++) {
        block_solve_in(v, i);
        block_check_bits(v, "with other threads", i);
    }

    solve_in(v, some, b, v->ldb, b, v->ldb);
    check_in_place(v, "in place");
    if (p->direct.size || gsw_factor_sweeps(p->here[some]) == 0)
        return;
    for (int which = 0; which < gsw_factor_sweeps(p->here[some]); which++)
        pair_must(p, here,
                  gsw_factor_sweep(here, p->here[some], which, v->count, b, v->ldb, b, v->ldb),
                  "sweeping");
    check_in_place(v, "sweep by sweep");
}

/* Everything with vectors aligned as `shifts` says in its two lowest bits. */
static inline void block_check_shifted(block *v, int shifts) {
    device_shift(&v->here_b, shifts & 1);
    device_shift(&v->here_x, shifts >> 1 & 1);
    device_poison(v->p->q->c.here[0], &v->here_b);
    block_check_all(v);
}

/* One factor and solves with it. */
static inline void check_pair(const pair *p, int64_t count, int shifts) {
    check_info(p);
    block v = block_open(p, count, 5);
    block_check_shifted(&v, shifts);
    block_close(&v);
}

static inline void check_options(const problem *q, const gsw_factor_options *options, int64_t count,
                                 int shifts) {
    pair p = pair_open(q, options);
    check_pair(&p, count, shifts);
    pair_close(&p);
}

/* ---- two cubes ---- */

static const char *const cubes[] = {"D3N7", "D3N27"};
#define CUBES LENGTH(cubes)

static inline recipe cube_recipe(int which, int64_t size) {
    return (recipe){.grid = {size, size, size},
                    .stencil = oracle_stencil_named(cubes[which]),
                    .diagonal = ORACLE_ANY_SIGN,
                    .seed = 11,
                    .alone = 1,
                    .by_cpu = 1};
}

/* A factor of a cube, or a direct solve with it, and one right-hand side. */
typedef struct cube {
    contexts c;
    problem q;
    pair p;
    block v;
} cube;

static inline void cube_open(cube *u, int which, int64_t size, int threads, void *stream,
                             const gsw_factor_options *options) {
    const recipe r = cube_recipe(which, size);
    u->c = contexts_open(threads, stream);
    u->q = problem_open_in(&u->c, &r);
    u->p = pair_open(&u->q, options);
    u->v = block_open(&u->p, 1, 5);
}

/* The same for a direct solve with a CSR. */
static inline void cube_open_direct(cube *u, int which, int64_t size, void *stream, int solve) {
    recipe r = cube_recipe(which, size);
    r.layout = 1;
    u->c = contexts_open(1, stream);
    u->q = problem_open_in(&u->c, &r);
    u->p = pair_direct(&u->q, solve, GSW_F64, GSW_ALGORITHM_LINE);
    u->v = block_open(&u->p, 1, 5);
}

static inline void cube_close(cube *u) {
    block_close(&u->v);
    pair_close(&u->p);
    problem_close(&u->q);
    contexts_close(&u->c);
}

#endif
