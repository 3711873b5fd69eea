/* test_cuda_factor.c: packed factors on a CUDA device against those of the CPU backend and against
 * the textbook, and properties that must hold whatever the device is busy with.
 *
 * GSW_TEST_STRIDE=6 in the environment tries one grid in six (see device.h). GSW_TEST_REPEATS=10000
 * repeats the checks for the same bits that often. */
#include <float.h>

#include "core/clock.h"
#include "cpu/reference/reference.h"
#include "device_stream.h"
#include "factor_cases.h"
#include "occupy.h"
#include "range_cases.h"

#define LENGTH(array) ((int)(sizeof(array) / sizeof(array)[0]))

/* ---- contexts and streams ---- */

/* A context of each backend. The CPU gives the same bits with any number of threads. */
typedef struct contexts {
    gsw_context *cpu, *cuda;
} contexts;

static contexts contexts_open(int threads, void *stream) {
    return (contexts){oracle_context(threads), open_cuda(stream)};
}

static void contexts_close(contexts *c) {
    gsw_context_destroy(c->cuda);
    gsw_context_destroy(c->cpu);
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

/* Which random matrix. */
typedef struct recipe {
    gsw_grid grid;
    const gsw_stencil *stencil;
    int layout;
    gsw_dtype values;
    oracle_diagonal diagonal;
    uint64_t seed;
    int alone; /* without a second matrix: not for kind LU */
} recipe;

/* The matrix of a recipe on the host and on the device, and a second one like it: U of kind LU. */
typedef struct problem {
    contexts c;
    recipe recipe;
    oracle_matrix *lower, *upper;
    gsw_matrix device_lower, device_upper;
    int64_t n;
} problem;

static oracle_matrix *make_matrix(const recipe *r, uint64_t seed) {
    oracle_layout layout = layouts[r->layout];
    layout.value_type = r->values;
    oracle_matrix *arrays = oracle_random(&r->grid, r->stencil, seed, r->diagonal);
    oracle_matrix *matrix = oracle_convert(arrays, &layout);
    oracle_free(arrays);
    return matrix;
}

static void problem_upload(problem *q) {
    device_try(q->c.cuda, gsw_matrix_upload(q->c.cuda, &q->lower->view, &q->device_lower));
    if (q->upper != NULL)
        device_try(q->c.cuda, gsw_matrix_upload(q->c.cuda, &q->upper->view, &q->device_upper));
}

static void problem_release(problem *q) {
    gsw_matrix_release(q->c.cuda, &q->device_upper);
    gsw_matrix_release(q->c.cuda, &q->device_lower);
}

/* Copies matrices that have been changed on the host to the device. */
static void problem_renew(problem *q) {
    problem_release(q);
    problem_upload(q);
}

static void problem_open(problem *q, const contexts *c, const recipe *r) {
    *q = (problem){.c = *c, .recipe = *r, .n = oracle_points(&r->grid)};
    q->lower = make_matrix(r, r->seed);
    q->upper = r->alone ? NULL : make_matrix(r, r->seed + 76);
    problem_upload(q);
}

static void problem_close(problem *q) {
    problem_release(q);
    oracle_free(q->upper);
    oracle_free(q->lower);
}

/* ---- a factor on both sides ---- */

/* IC0 needs positive pivots. All other kinds are tried with pivots of either sign. */
static oracle_diagonal diagonal_for(gsw_factor_kind kind) {
    return kind == GSW_IC0 ? ORACLE_POSITIVE : ORACLE_ANY_SIGN;
}

typedef struct pair {
    const problem *q;
    gsw_factor_options options;
    gsw_factor *cpu, *cuda;
    char text[200];
} pair;

static void describe(pair *p) {
    const recipe *r = &p->q->recipe;
    const gsw_factor_options *o = &p->options;
    snprintf(p->text, sizeof p->text,
             "%s%s%s, %lldx%lldx%lld, %s (%d offsets), %s of %s, factor %s, vectors %s",
             gsw_factor_kind_name(o->kind), o->transpose ? " transposed" : "",
             o->unit_diagonal ? " unit" : "", (long long)r->grid.nx, (long long)r->grid.ny,
             (long long)r->grid.nz, gsw_stencil_name(r->stencil), (int)r->stencil->count,
             layout_names[r->layout], r->values == GSW_F64 ? "f64" : "f32",
             o->factor_type == GSW_F64 ? "f64" : "f32", o->vector_type == GSW_F64 ? "f64" : "f32");
}

static gsw_status create_cpu(pair *p) {
    const problem *q = p->q;
    return p->options.kind == GSW_FACTOR_LU
               ? gsw_factor_create_lu(q->c.cpu, &q->lower->view, &q->upper->view, &p->options,
                                      &p->cpu)
               : gsw_factor_create(q->c.cpu, &q->lower->view, &p->options, &p->cpu);
}

static gsw_status create_cuda(pair *p) {
    const problem *q = p->q;
    return p->options.kind == GSW_FACTOR_LU
               ? gsw_factor_create_lu(q->c.cuda, &q->device_lower, &q->device_upper, &p->options,
                                      &p->cuda)
               : gsw_factor_create(q->c.cuda, &q->device_lower, &p->options, &p->cuda);
}

static void must(const pair *p, gsw_context *context, gsw_status status, const char *what) {
    ck_assert_msg(status == GSW_SUCCESS, "%s: %s: %s: %s", p->text, what, gsw_status_name(status),
                  gsw_context_message(context));
}

static pair pair_of(const problem *q, const gsw_factor_options *options) {
    pair p = {.q = q, .options = *options};
    describe(&p);
    return p;
}

static void pair_open(pair *p, const problem *q, const gsw_factor_options *options) {
    *p = pair_of(q, options);
    must(p, q->c.cpu, create_cpu(p), "creating on the CPU");
    must(p, q->c.cuda, create_cuda(p), "creating");
}

static void pair_close(pair *p) {
    gsw_factor_destroy(p->cuda);
    gsw_factor_destroy(p->cpu);
}

/* Takes the values of another problem of the same grid and stencil on both sides. */
static void pair_refactor(pair *p, const problem *q) {
    const int lu = p->options.kind == GSW_FACTOR_LU;
    p->q = q;
    describe(p);
    must(p, q->c.cpu,
         gsw_factor_refactor(q->c.cpu, p->cpu, &q->lower->view, lu ? &q->upper->view : NULL),
         "refactoring on the CPU");
    must(p, q->c.cuda,
         gsw_factor_refactor(q->c.cuda, p->cuda, &q->device_lower, lu ? &q->device_upper : NULL),
         "refactoring");
}

/* The report is that of the CPU; memory is at least what the coefficients need. */
static void check_info(const pair *p) {
    gsw_factor_info cpu = {.size = sizeof cpu}, cuda = {.size = sizeof cuda};
    ck_assert_int_eq(gsw_factor_get_info(p->cpu, &cpu), GSW_SUCCESS);
    ck_assert_int_eq(gsw_factor_get_info(p->cuda, &cuda), GSW_SUCCESS);
    ck_assert_msg(cuda.kind == cpu.kind && cuda.factor_type == cpu.factor_type &&
                      cuda.vector_type == cpu.vector_type &&
                      memcmp(&cuda.grid, &cpu.grid, sizeof cpu.grid) == 0,
                  "%s: the report is of another factor", p->text);
    ck_assert_msg(cuda.moved_bytes == cpu.moved_bytes, "%s: moves %lld bytes, %lld on the CPU",
                  p->text, (long long)cuda.moved_bytes, (long long)cpu.moved_bytes);
    ck_assert_msg(cuda.shifted_pivots == cpu.shifted_pivots, "%s: %lld pivots shifted, not %lld",
                  p->text, (long long)cuda.shifted_pivots, (long long)cpu.shifted_pivots);
    ck_assert_msg(cuda.first_bad_row == cpu.first_bad_row, "%s: bad row %lld, not %lld", p->text,
                  (long long)cuda.first_bad_row, (long long)cpu.first_bad_row);
    const int64_t vectors = 2 * p->q->n * (int64_t)gsw_dtype_size(p->options.vector_type);
    const int sweeps = gsw_factor_sweeps(p->cuda);
    ck_assert_int_eq(sweeps, gsw_factor_sweeps(p->cpu));
    ck_assert_msg(cuda.packed_bytes >= cuda.moved_bytes - (sweeps == 2 ? 2 : 1) * vectors,
                  "%s: %lld bytes cannot hold the factor", p->text, (long long)cuda.packed_bytes);
}

/* ---- right-hand sides and solutions ---- */

/* Right-hand sides in b and x with gaps between them, on both sides. */
typedef struct block {
    const pair *p;
    gsw_dtype type;
    int64_t n, count, ldb, ldx;
    void *b, *x;    /* host */
    void *expected; /* the CPU's solution, laid out as x */
    void *first;    /* the device's first solution, laid out as x */
    device_vector device_b, device_x;
} block;

static size_t bytes_of(const block *v, int64_t values) {
    return (size_t)values * gsw_dtype_size(v->type);
}

static void block_open(block *v, const pair *p, int64_t count, uint64_t seed) {
    const gsw_dtype type = p->options.vector_type;
    const int64_t n = p->q->n;
    *v = (block){.p = p, .type = type, .n = n, .count = count};
    v->ldb = count == 1 ? n : n + 3;
    v->ldx = count == 1 ? n : n + 1;
    v->b = oracle_vector(type, seed, v->ldb * count);
    v->x = oracle_vector(type, seed, v->ldx * count);
    v->expected = oracle_vector(type, seed, v->ldx * count);
    v->first = oracle_vector(type, seed, v->ldx * count);
    v->device_b = device_vector_make(p->q->c.cuda, type, v->ldb * count);
    v->device_x = device_vector_make(p->q->c.cuda, type, v->ldx * count);
}

static void block_close(block *v) {
    device_vector_free(v->p->q->c.cuda, &v->device_x);
    device_vector_free(v->p->q->c.cuda, &v->device_b);
    free(v->first);
    free(v->expected);
    free(v->x);
    free(v->b);
}

/* Brings b to the device, and has the CPU solve for it. */
static void block_expect(block *v) {
    gsw_context *cpu = v->p->q->c.cpu;
    device_put(v->p->q->c.cuda, &v->device_b, v->b);
    must(v->p, cpu, gsw_factor_solve(cpu, v->p->cpu, v->count, v->b, v->ldb, v->expected, v->ldx),
         "solving on the CPU");
}

/* Queues a solve from b into poisoned memory. */
static void block_solve(block *v) {
    gsw_context *cuda = v->p->q->c.cuda;
    device_poison(cuda, &v->device_x);
    must(v->p, cuda,
         gsw_factor_solve(cuda, v->p->cuda, v->count, v->device_b.values, v->ldb,
                          v->device_x.values, v->ldx),
         "solving");
}

static void block_get(block *v) {
    device_get(v->p->q->c.cuda, &v->device_x, v->x);
}

/* The first row in which two right-hand sides differ, or the last row. */
static int64_t first_difference(gsw_dtype type, int64_t n, const void *x, const void *y) {
    int64_t row = 0;
    while (row < n - 1 && (oracle_get(type, x, row) == oracle_get(type, y, row) ||
                           (isnan(oracle_get(type, x, row)) && isnan(oracle_get(type, y, row)))))
        row++;
    return row;
}

/* One right-hand side is within the tolerance of the expected one, with NaNs and infinities in the
 * same places. */
static void check_column(const pair *p, const char *how, int64_t r, const void *x,
                         const void *expected) {
    const gsw_dtype type = p->options.vector_type;
    const double error = oracle_error(type, p->q->n, x, expected);
    if (error <= tolerance_of(&p->options))
        return;
    const int64_t row = first_difference(type, p->q->n, x, expected);
    ck_abort_msg("%s: %s, column %d: error %g; row %lld: %g, not %g", p->text, how, (int)r, error,
                 (long long)row, oracle_get(type, x, row), oracle_get(type, expected, row));
}

/* Every right-hand side in x. The gaps between them still hold the poison. */
static void block_check(block *v, const char *how) {
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
static void check_in_place(block *v, const char *how) {
    char *got = oracle_copy(v->type, v->b, v->ldb * v->count);
    device_get(v->p->q->c.cuda, &v->device_b, got);
    for (int64_t r = 0; r < v->count; r++) {
        const size_t column = bytes_of(v, v->n), gap = bytes_of(v, v->ldb - v->n);
        const size_t at = bytes_of(v, r * v->ldb);
        ck_assert_msg(memcmp(got + at, (char *)v->first + bytes_of(v, r * v->ldx), column) == 0,
                      "%s: other bits %s", v->p->text, how);
        ck_assert_msg(memcmp(got + at + column, (char *)v->b + at + column, gap) == 0,
                      "%s: wrote between columns %s", v->p->text, how);
    }
    free(got);
    device_put(v->p->q->c.cuda, &v->device_b, v->b);
}

static void check_b_is_kept(block *v) {
    void *got = oracle_copy(v->type, v->b, v->ldb * v->count);
    device_get(v->p->q->c.cuda, &v->device_b, got);
    ck_assert_msg(memcmp(got, v->b, bytes_of(v, v->ldb * v->count)) == 0, "%s: b has changed",
                  v->p->text);
    free(got);
}

/* Sweep by sweep in place of b. */
static void sweep_in_place(block *v) {
    gsw_context *cuda = v->p->q->c.cuda;
    void *const b = v->device_b.values;
    for (int which = 0; which < gsw_factor_sweeps(v->p->cuda); which++)
        must(v->p, cuda, gsw_factor_sweep(cuda, v->p->cuda, which, v->count, b, v->ldb, b, v->ldb),
             "sweeping");
}

/* Out of place the solution equals the CPU's; in place, and sweep by sweep, it has the same bits.
 */
static void block_check_all(block *v) {
    gsw_context *cuda = v->p->q->c.cuda;
    block_expect(v);
    block_solve(v);
    block_check(v, "out of place");
    check_b_is_kept(v);
    memcpy(v->first, v->x, bytes_of(v, v->ldx * v->count));

    void *const b = v->device_b.values;
    must(v->p, cuda, gsw_factor_solve(cuda, v->p->cuda, v->count, b, v->ldb, b, v->ldb),
         "solving in place");
    check_in_place(v, "in place");
    if (gsw_factor_sweeps(v->p->cuda) > 0) {
        sweep_in_place(v);
        check_in_place(v, "sweep by sweep");
    }
}

/* Solves again: the bits of v->first. */
static void block_check_bits(block *v, const char *how, int run) {
    block_get(v);
    ck_assert_msg(memcmp(v->first, v->x, bytes_of(v, v->ldx * v->count)) == 0,
                  "%s: other bits %s, run %d", v->p->text, how, run);
}

static void block_check_repeat(block *v, const char *how, int run) {
    block_solve(v);
    block_check_bits(v, how, run);
}

/* One factor and solves with it, vectors aligned as `shifts` says in its two lowest bits. */
static void check_pair(const pair *p, int64_t count, int shifts) {
    block v;
    check_info(p);
    block_open(&v, p, count, 5);
    device_shift(&v.device_b, shifts & 1);
    device_shift(&v.device_x, shifts >> 1 & 1);
    block_check_all(&v);
    block_close(&v);
}

static void check_options(const problem *q, const gsw_factor_options *options, int64_t count,
                          int shifts) {
    pair p;
    pair_open(&p, q, options);
    check_pair(&p, count, shifts);
    pair_close(&p);
}

/* ---- every grid, stencil, layout, type and kind ---- */

/* The type of the matrix's values: mostly the factor's, for some grids the other one. */
static gsw_dtype values_for(int type, int grid) {
    const gsw_dtype factor = types[type].factor;
    return grid % 5 == 4 ? (factor == GSW_F64 ? GSW_F32 : GSW_F64) : factor;
}

/* Every seventh of the options from `phase` on, those of IC0 or all others; returns their number.
 */
static int check_recipe(const contexts *c, const recipe *r, int type, int phase) {
    static const int64_t counts[] = {1, 3, 8, 5};
    int combinations = 0;
    problem q;
    problem_open(&q, c, r);
    for (int k = phase % 7; k < OPTIONS; k += 7) {
        gsw_factor_options options;
        if (!options_at(k, type, r->stencil, &options) || diagonal_for(options.kind) != r->diagonal)
            continue;
        check_options(&q, &options, counts[(phase + k / 7) % 4], phase + k);
        combinations++;
    }
    problem_close(&q);
    return combinations;
}

START_TEST(solves_equal_the_cpu) {
    contexts c = contexts_open(1, NULL);
    const int stride = device_stride();
    const char *name;
    const gsw_stencil *stencil = oracle_stencil(_i, &name);
    int combinations = 0;
    for (int g = _i % stride; g < oracle_grid_count(); g += stride) {
        for (int t = 0; t < TYPES; t++) {
            recipe r = {.grid = oracle_grid(g),
                        .stencil = stencil,
                        .layout = (g + t) % LAYOUTS,
                        .values = values_for(t, g),
                        .diagonal = ORACLE_ANY_SIGN,
                        .seed = (uint64_t)g + 1};
            combinations += check_recipe(&c, &r, t, g + t);
            r.diagonal = ORACLE_POSITIVE;
            if (is_symmetric(stencil))
                combinations += check_recipe(&c, &r, t, g + t);
        }
    }
    printf("%s: %d combinations equal the CPU's\n", name, combinations);
    ck_assert_int_ge(combinations, 100 / (2 * stride));
    contexts_close(&c);
}
END_TEST

/* ---- the textbook ---- */

/* One triangular solve of the reference. */
typedef struct half {
    const gsw_matrix *matrix;
    gsw_part part;
    int transpose, unit_diagonal;
} half;

/* M as the product of one or two triangular matrices, by the table in factor.h; returns their
 * number. `l` and `u` have room for computed values. */
static int textbook(const pair *p, oracle_matrix *l, oracle_matrix *u, half halves[2]) {
    const gsw_matrix *matrix = &p->q->lower->view;
    double *const *lower = (double *const *)l->arrays, *const *upper = (double *const *)u->arrays;
    const int unit = p->options.unit_diagonal;
    int64_t bad = -1;
    halves[0] = (half){&l->view, GSW_LOWER, 0, 0};
    halves[1] = (half){&u->view, GSW_UPPER, 0, 0};
    switch (p->options.kind) {
    case GSW_ILU0:
        bad = gsw_reference_ilu0(matrix, lower, upper);
        halves[0].unit_diagonal = 1;
        break;
    case GSW_IC0:
        bad = gsw_reference_ic0(matrix, lower, upper);
        halves[1] = (half){&l->view, GSW_LOWER, 1, 0};
        break;
    case GSW_DILU:
        bad = gsw_reference_dilu(matrix, lower, upper);
        break;
    case GSW_SSOR:
        bad = gsw_reference_ssor(matrix, OMEGA, lower, upper);
        break;
    case GSW_FACTOR_LOWER:
        halves[0] = (half){matrix, GSW_LOWER, 0, unit};
        return 1;
    case GSW_FACTOR_UPPER:
        halves[0] = (half){matrix, GSW_UPPER, 0, unit};
        return 1;
    case GSW_FACTOR_LU:
        halves[0] = (half){matrix, GSW_LOWER, 0, 1};
        halves[1] = (half){&p->q->upper->view, GSW_UPPER, 0, unit};
        break;
    case GSW_JACOBI: /* the upper part of a matrix without couplings */
        for (int32_t e = 0; e < matrix->stencil.count; e++)
            for (int64_t i = 0; i < p->q->n; i++)
                if (e == matrix->stencil.center)
                    gsw_reference_entry(matrix, i, e, &upper[e][i]);
                else
                    upper[e][i] = 0;
        halves[0] = halves[1];
        return 1;
    }
    ck_assert_int_eq(bad, -1);
    return 2;
}

/* Solves M x = b in fp64; x may be b. */
static void textbook_solve(const pair *p, const double *b, double *x) {
    half halves[2];
    oracle_matrix *l = oracle_random(&p->q->recipe.grid, p->q->recipe.stencil, 1, ORACLE_POSITIVE);
    oracle_matrix *u = oracle_random(&p->q->recipe.grid, p->q->recipe.stencil, 1, ORACLE_POSITIVE);
    const int count = textbook(p, l, u, halves), transpose = p->options.transpose;
    for (int k = 0; k < count; k++) {
        const half *h = &halves[transpose ? count - 1 - k : k];
        const gsw_sptrsv_options options = {.size = sizeof options,
                                            .part = h->part,
                                            .transpose = h->transpose != transpose,
                                            .unit_diagonal = h->unit_diagonal,
                                            .algorithm = GSW_ALGORITHM_REFERENCE};
        device_try(p->q->c.cpu,
                   gsw_sptrsv(p->q->c.cpu, h->matrix, &options, 1, k == 0 ? b : x, 0, x, 0));
    }
    oracle_free(u);
    oracle_free(l);
}

static void check_textbook(const problem *q, const gsw_factor_options *options) {
    pair p;
    block v;
    pair_open(&p, q, options);
    block_open(&v, &p, 1, 9);
    textbook_solve(&p, v.b, v.expected);
    device_put(q->c.cuda, &v.device_b, v.b);
    block_solve(&v);
    block_check(&v, "by the textbook");
    block_close(&v);
    pair_close(&p);
}

START_TEST(solves_equal_the_textbook) {
    contexts c = contexts_open(1, NULL);
    const int stride = device_stride();
    for (int g = _i % stride; g < oracle_grid_count(); g += stride) {
        for (int k = g % 4; k < OPTIONS; k += 3) {
            gsw_factor_options options;
            if (!options_at(k, 0, oracle_stencil(_i, NULL), &options))
                continue;
            const recipe r = {.grid = oracle_grid(g),
                              .stencil = oracle_stencil(_i, NULL),
                              .layout = (g + k) % LAYOUTS,
                              .diagonal = diagonal_for(options.kind),
                              .seed = (uint64_t)k + 1};
            problem q;
            problem_open(&q, &c, &r);
            check_textbook(&q, &options);
            problem_close(&q);
        }
    }
    contexts_close(&c);
}
END_TEST

/* ---- extraction ---- */

/* The same pattern, and values within the tolerance, of a hundredth of the largest at least. */
static void compare_csr(const pair *p, const char *part, const gsw_csr *got,
                        const gsw_csr *wanted) {
    const size_t index = gsw_itype_size(wanted->index_type);
    const double *a = got->values, *b = wanted->values;
    ck_assert_msg(got->nonzeros == wanted->nonzeros && got->base == wanted->base &&
                      memcmp(got->row_ptr, wanted->row_ptr, (size_t)(wanted->rows + 1) * index) ==
                          0 &&
                      memcmp(got->columns, wanted->columns, (size_t)wanted->nonzeros * index) == 0,
                  "%s: %s has another pattern", p->text, part);
    double largest = 0;
    for (int64_t k = 0; k < wanted->nonzeros; k++)
        largest = fmax(largest, fabs(b[k]));
    for (int64_t k = 0; k < wanted->nonzeros; k++)
        if (!(fabs(a[k] - b[k]) <= tolerance_of(&p->options) * fmax(fabs(b[k]), 0.01 * largest)))
            ck_abort_msg("%s: entry %lld of %s: %.17g, not %.17g", p->text, (long long)k, part,
                         a[k], b[k]);
}

static void check_extraction(const pair *p, gsw_itype type) {
    const gsw_factor_kind kind = p->options.kind;
    const int has_lower = kind != GSW_FACTOR_UPPER, has_upper = kind != GSW_FACTOR_LOWER;
    gsw_csr l[2] = {{0}, {0}}, u[2] = {{0}, {0}};
    must(p, p->q->c.cpu,
         gsw_factor_extract(p->q->c.cpu, p->cpu, type, has_lower ? &l[0] : NULL,
                            has_upper ? &u[0] : NULL),
         "extracting on the CPU");
    must(p, p->q->c.cuda,
         gsw_factor_extract(p->q->c.cuda, p->cuda, type, has_lower ? &l[1] : NULL,
                            has_upper ? &u[1] : NULL),
         "extracting");
    if (has_lower)
        compare_csr(p, "L", &l[1], &l[0]);
    if (has_upper)
        compare_csr(p, "U", &u[1], &u[0]);
    for (int side = 0; side < 2; side++) {
        gsw_csr_free(&u[side]);
        gsw_csr_free(&l[side]);
    }
}

static int can_be_extracted(const gsw_factor_options *options) {
    return options->kind != GSW_JACOBI && options->kind != GSW_SSOR && !options->transpose;
}

START_TEST(extracted_factors_equal_the_cpus) {
    contexts c = contexts_open(1, NULL);
    const int stride = device_stride();
    for (int g = _i % stride; g < oracle_grid_count(); g += stride) {
        for (int k = g % 2; k < OPTIONS; k++) {
            const int t = (g + k / 2) % TYPES;
            gsw_factor_options options;
            if (!options_at(k, t, oracle_stencil(_i, NULL), &options) ||
                !can_be_extracted(&options))
                continue;
            const recipe r = {.grid = oracle_grid(g),
                              .stencil = oracle_stencil(_i, NULL),
                              .layout = (g + k / 4) % LAYOUTS,
                              .values = types[t].factor,
                              .diagonal = diagonal_for(options.kind),
                              .seed = (uint64_t)k + 3};
            problem q;
            pair p;
            problem_open(&q, &c, &r);
            pair_open(&p, &q, &options);
            check_extraction(&p, g % 2 ? GSW_I32 : GSW_I64);
            pair_close(&p);
            problem_close(&q);
        }
    }
    contexts_close(&c);
}
END_TEST

/* ---- matrices of all sorts ---- */

/* A coupling whose array is NULL does not exist. Without the array of the diagonal, only solves
 * with a unit diagonal work. */
START_TEST(arrays_may_be_null) {
    static const gsw_factor_kind kinds[] = {GSW_ILU0,         GSW_DILU,         GSW_SSOR,
                                            GSW_FACTOR_LOWER, GSW_FACTOR_UPPER, GSW_FACTOR_LU};
    contexts c = contexts_open(1, NULL);
    for (int i = 0; i < oracle_stencil_count(); i += device_stride()) {
        const recipe r = {.grid = {19, 7, 5}, .stencil = oracle_stencil(i, NULL), .seed = 9};
        for (int unit = 0; unit < 2; unit++) {
            problem q;
            problem_open(&q, &c, &r);
            for (int32_t e = 0; e < r.stencil->count; e++) {
                const int center = e == r.stencil->center;
                if (center ? unit : e % 3 == 1) {
                    free(q.lower->arrays[e]);
                    free(q.upper->arrays[e]);
                    q.lower->arrays[e] = q.upper->arrays[e] = NULL;
                }
            }
            problem_renew(&q);
            for (int k = unit ? 3 : 0; k < LENGTH(kinds); k++) {
                for (int transpose = 0; transpose < 2; transpose++) {
                    const gsw_factor_options options = {.size = sizeof options,
                                                        .kind = kinds[k],
                                                        .transpose = transpose,
                                                        .unit_diagonal = unit,
                                                        .omega = OMEGA};
                    check_options(&q, &options, 1 + k % 3, k);
                }
            }
            problem_close(&q);
        }
    }
    contexts_close(&c);
}
END_TEST

START_TEST(arrays_may_be_unaligned) {
    contexts c = contexts_open(1, NULL);
    for (int i = 0; i < oracle_stencil_count(); i += device_stride()) {
        for (int k = 0; k < LAYOUTS * TYPES; k++) {
            const int t = k / LAYOUTS;
            const recipe r = {.grid = {37, 11, 6},
                              .stencil = oracle_stencil(i, NULL),
                              .layout = k % LAYOUTS,
                              .values = types[t].factor,
                              .diagonal = ORACLE_ANY_SIGN,
                              .seed = 3};
            const void *values[GSW_STENCIL_MAX];
            void *memory[DEVICE_ARRAYS] = {NULL};
            problem q;
            problem_open(&q, &c, &r);
            const gsw_matrix aligned = q.device_lower;
            q.device_lower = device_shifted_view(c.cuda, q.lower, values, memory);
            for (int kind = GSW_ILU0; kind <= GSW_FACTOR_LU; kind++) {
                const gsw_factor_options options = {.size = sizeof options,
                                                    .kind = (gsw_factor_kind)kind,
                                                    .transpose = (i + k) % 2,
                                                    .factor_type = types[t].factor,
                                                    .vector_type = types[t].vector,
                                                    .omega = OMEGA};
                if (kind != GSW_IC0)
                    check_options(&q, &options, 1 + k % 3, 1 + kind);
            }
            q.device_lower = aligned;
            problem_close(&q);
            for (int m = 0; m < DEVICE_ARRAYS; m++)
                gsw_memory_free(c.cuda, memory[m]);
        }
    }
    contexts_close(&c);
}
END_TEST

/* A refactored factor gives the bits of a new one, from another layout too. */
static void check_refactor(const problem *old, const problem *new,
                           const gsw_factor_options *options, int shifts) {
    pair reused, fresh;
    block v;
    pair_open(&reused, old, options);
    pair_open(&fresh, new, options);
    check_pair(&reused, 1, shifts);
    pair_refactor(&reused, new);
    check_pair(&reused, 3, shifts);
    block_open(&v, &fresh, 1, 5);
    block_check_all(&v);
    v.p = &reused;
    block_check_repeat(&v, "after a refactor", 0);
    block_close(&v);
    pair_close(&fresh);
    pair_close(&reused);
}

START_TEST(refactor_is_a_new_factor) {
    contexts c = contexts_open(1, NULL);
    const gsw_stencil *stencil = oracle_stencil(_i, NULL);
    for (int k = _i % device_stride(); k < OPTIONS; k += device_stride()) {
        const int t = k / 2 % TYPES;
        gsw_factor_options options;
        if (!options_at(k, t, stencil, &options))
            continue;
        recipe r = {.grid = {19, 7, 5},
                    .stencil = stencil,
                    .layout = k % LAYOUTS,
                    .values = types[t].factor,
                    .diagonal = diagonal_for(options.kind),
                    .seed = 1};
        problem old, new;
        problem_open(&old, &c, &r);
        r.layout = (k + 1) % LAYOUTS;
        r.seed = 2;
        problem_open(&new, &c, &r);
        check_refactor(&old, &new, &options, k);
        problem_close(&new);
        problem_close(&old);
    }
    contexts_close(&c);
}
END_TEST

/* ---- through gsw_sptrsv() ---- */

/* The direct solve through a temporary factor: part, transpose, unit diagonal. */
static void check_direct(const problem *q, int solve, gsw_dtype type, int64_t count) {
    gsw_sptrsv_options options = {.size = sizeof options,
                                  .part = solve & 1 ? GSW_UPPER : GSW_LOWER,
                                  .transpose = solve >> 1 & 1,
                                  .unit_diagonal = solve >> 2 & 1,
                                  .vector_type = type,
                                  .algorithm = GSW_ALGORITHM_PENCIL};
    const gsw_factor_options factor = {.size = sizeof factor,
                                       .kind = solve & 1 ? GSW_FACTOR_UPPER : GSW_FACTOR_LOWER,
                                       .transpose = options.transpose,
                                       .unit_diagonal = options.unit_diagonal,
                                       .factor_type = type,
                                       .vector_type = type};
    const pair p = pair_of(q, &factor); /* for its text and the tolerance */
    block v;
    block_open(&v, &p, count, 6);
    device_put(q->c.cuda, &v.device_b, v.b);
    device_poison(q->c.cuda, &v.device_x);
    must(&p, q->c.cuda,
         gsw_sptrsv(q->c.cuda, &q->device_lower, &options, count, v.device_b.values, v.ldb,
                    v.device_x.values, v.ldx),
         "algorithm pencil");
    options.algorithm = GSW_ALGORITHM_REFERENCE;
    must(&p, q->c.cpu,
         gsw_sptrsv(q->c.cpu, &q->lower->view, &options, count, v.b, v.ldb, v.expected, v.ldx),
         "the reference");
    block_check(&v, "algorithm pencil");

    /* Into a workspace that holds another matrix's values. AUTO may use it or not. */
    must(&p, q->c.cuda, gsw_factor_create(q->c.cuda, &q->device_upper, &factor, &options.workspace),
         "a workspace");
    for (int a = 0; a < 2; a++) {
        options.algorithm = a ? GSW_ALGORITHM_AUTO : GSW_ALGORITHM_PENCIL;
        device_poison(q->c.cuda, &v.device_x);
        must(&p, q->c.cuda,
             gsw_sptrsv(q->c.cuda, &q->device_lower, &options, count, v.device_b.values, v.ldb,
                        v.device_x.values, v.ldx),
             "a workspace");
        block_check(&v, "with a workspace");
    }
    gsw_factor_destroy(options.workspace);
    block_close(&v);
}

START_TEST(algorithm_pencil_equals_the_reference) {
    contexts c = contexts_open(1, NULL);
    const int stride = device_stride();
    for (int g = _i % stride; g < oracle_grid_count(); g += stride) {
        const int t = g % TYPES;
        const recipe r = {.grid = oracle_grid(g),
                          .stencil = oracle_stencil(_i, NULL),
                          .layout = g % LAYOUTS,
                          .values = types[t].factor,
                          .diagonal = ORACLE_ANY_SIGN,
                          .seed = (uint64_t)g + 1};
        problem q;
        problem_open(&q, &c, &r);
        for (int solve = 0; solve < 8; solve++)
            check_direct(&q, solve, types[t].vector, 1 + (g + solve) % 3);
        problem_close(&q);
    }
    contexts_close(&c);
}
END_TEST

/* ---- larger grids ---- */

static const gsw_grid large[] = {
    {5, 70, 6},  {100, 3, 40}, {6, 3, 120},  {70, 5, 6},   {1000, 1, 1}, {300, 200, 1},
    {1, 257, 5}, {200, 1, 90}, {3, 200, 40}, {33, 29, 31}, {65, 64, 63},
};
#define MANY_POINTS 100000

START_TEST(large_grids_equal_the_cpu) {
    static const gsw_factor_kind kinds[] = {GSW_ILU0, GSW_IC0,          GSW_SSOR,
                                            GSW_DILU, GSW_FACTOR_LOWER, GSW_FACTOR_UPPER};
    contexts c = contexts_open(4, NULL);
    const gsw_stencil *stencil = oracle_stencil(_i, NULL);
    for (int g = 0; g < LENGTH(large); g++) {
        const int many = oracle_points(&large[g]) > MANY_POINTS;
        const int t = (g + _i) % TYPES;
        const recipe r = {.grid = large[g],
                          .stencil = stencil,
                          .layout = g % 2,
                          .values = types[many ? 0 : t].factor,
                          .diagonal = ORACLE_POSITIVE,
                          .seed = 2,
                          .alone = 1};
        problem q;
        problem_open(&q, &c, &r);
        for (int k = 0; k < (many ? 3 : LENGTH(kinds)); k++) {
            const gsw_factor_options options = {.size = sizeof options,
                                                .kind = kinds[k],
                                                .transpose = (g + k) % 2,
                                                .factor_type = types[many ? 0 : t].factor,
                                                .vector_type = types[many ? 0 : t].vector,
                                                .omega = OMEGA};
            if (kinds[k] != GSW_IC0 || is_symmetric(stencil))
                check_options(&q, &options, many ? 1 : 1 + 2 * (k % 2), k);
        }
        problem_close(&q);
    }
    contexts_close(&c);
}
END_TEST

/* A factor that eliminates nothing, and a triangular one, which has `more` right-hand sides beside
 * the first. */
static void check_sweeps(gsw_grid grid, const gsw_stencil *stencil, uint64_t seed, int more) {
    static const gsw_factor_kind kinds[] = {GSW_SSOR, GSW_FACTOR_LOWER};
    const recipe r = {.grid = grid,
                      .stencil = stencil,
                      .values = GSW_F64,
                      .diagonal = ORACLE_POSITIVE,
                      .seed = seed,
                      .alone = 1};
    contexts c = contexts_open(4, NULL);
    problem q;
    problem_open(&q, &c, &r);
    for (int k = 0; k < LENGTH(kinds); k++) {
        const gsw_factor_options options = {
            .size = sizeof options, .kind = kinds[k], .omega = OMEGA};
        check_options(&q, &options, 1 + more * k, k);
    }
    problem_close(&q);
    contexts_close(&c);
}

/* Grids so large that lines along another axis than x do not pay where it is hardly longer. Stars
 * that reach far along that axis have lines there all the same, because a tile cannot hold them. */
START_TEST(lines_along_x_equal_the_cpu) {
    static const gsw_stencil far = {
        .count = 5,
        .center = 2,
        .offsets = {{0, 0, -9}, {0, -4, 0}, {0, 0, 0}, {0, 4, 0}, {0, 0, 9}}};
    gsw_stencil near;
    ck_assert_int_eq(gsw_stencil_named("D3N7", &near), GSW_SUCCESS);
    check_sweeps((gsw_grid){160, 161, 170}, _i > 0 ? &far : &near, 3, 0);
}
END_TEST

/* So many pencils with so short lines that two blocks share a multiprocessor. */
static const char *const boxes[] = {"D3N15", "D3N19", "D3N27", "D3N33"};

START_TEST(short_lines_equal_the_cpu) {
    static const gsw_grid grids[] = {{16, 150, 140}, {5, 150, 140}};
    for (int g = 0; g < LENGTH(grids); g++)
        check_sweeps(grids[g], oracle_stencil_named(boxes[_i]), 4, 2);
}
END_TEST

static const char *const cubes[] = {"D3N7", "D3N27"};
#define CUBES LENGTH(cubes)

/* Eight right-hand sides, and more pencils than any of their groups has slots of faces. */
START_TEST(many_pencils_equal_the_cpu) {
    check_sweeps((gsw_grid){120, 150, 140}, oracle_stencil_named(cubes[_i]), 5, 7);
}
END_TEST

static recipe cube_recipe(int which, int64_t size) {
    static gsw_stencil stencils[CUBES];
    ck_assert_int_eq(gsw_stencil_named(cubes[which], &stencils[which]), GSW_SUCCESS);
    return (recipe){.grid = {size, size, size},
                    .stencil = &stencils[which],
                    .layout = 0,
                    .diagonal = ORACLE_ANY_SIGN,
                    .seed = 11,
                    .alone = 1};
}

/* A factor of a cube, and vectors. */
typedef struct cube {
    contexts c;
    problem q;
    pair p;
    block v;
} cube;

static void cube_open(cube *u, int which, int64_t size, int threads, void *stream,
                      const gsw_factor_options *options) {
    const recipe r = cube_recipe(which, size);
    u->c = contexts_open(threads, stream);
    problem_open(&u->q, &u->c, &r);
    pair_open(&u->p, &u->q, options);
    block_open(&u->v, &u->p, 1, 5);
}

static void cube_close(cube *u) {
    block_close(&u->v);
    pair_close(&u->p);
    problem_close(&u->q);
    contexts_close(&u->c);
}

/* Also: for a cube, the memory is little more than one value per offset and point. */
START_TEST(cube_of_128_equals_the_cpu) {
    const gsw_factor_options options = {.size = sizeof options, .kind = GSW_ILU0};
    gsw_factor_info info = {.size = sizeof info};
    cube u;
    cube_open(&u, _i, 128, 8, NULL, &options);
    block_check_all(&u.v);
    ck_assert_int_eq(gsw_factor_get_info(u.p.cuda, &info), GSW_SUCCESS);
    const double least = 8.0 * info.stencil.count * (double)u.q.n;
    ck_assert_msg((double)info.packed_bytes <= 1.07 * least, "%s: %lld bytes packed, %.0f needed",
                  u.p.text, (long long)info.packed_bytes, least);
    ck_assert_msg((double)info.work_bytes <= 0.2 * least, "%s: %lld bytes of work", u.p.text,
                  (long long)info.work_bytes);
    cube_close(&u);
}
END_TEST

/* Solves and factorisations. */
START_TEST(repetitions_give_the_same_bits) {
    static const gsw_factor_kind kinds[] = {GSW_ILU0, GSW_DILU, GSW_SSOR};
    for (int k = 0; k < LENGTH(kinds); k++) {
        const gsw_factor_options options = {
            .size = sizeof options, .kind = kinds[k], .omega = OMEGA};
        cube u;
        cube_open(&u, _i, 48, 4, NULL, &options);
        block_check_all(&u.v);
        for (int run = 0; run < 200; run++)
            block_check_repeat(&u.v, "again", run);
        for (int run = 0; run < 20; run++) {
            pair_refactor(&u.p, &u.q);
            block_check_repeat(&u.v, "after a refactor", run);
        }
        cube_close(&u);
    }
}
END_TEST

/* ---- values that are not numbers ---- */

static const gsw_grid odd_grids[] = {{1, 1, 1}, {70, 1, 1}, {9, 8, 1}, {1, 6, 7}, {40, 19, 6}};

/* Twelve ways to put something bad into b (the first six) or into the matrix. */
static void spoil(problem *q, double *b, int trial) {
    static const double bad[] = {NAN, INFINITY, -INFINITY};
    const int32_t count = q->recipe.stencil->count;
    const int64_t row = q->n * (trial % 4) / 4;
    if (trial < 6) {
        b[row] = bad[trial % 3];
        b[q->n / 3] = bad[(trial + trial / 3) % 3];
    } else {
        ((double *)q->lower->arrays[trial * 5 % count])[row] = bad[trial % 3];
        ((double *)q->upper->arrays[trial * 7 % count])[row / 2] = bad[trial % 3];
    }
}

/* Creates on both sides: the same status, and after ZERO_PIVOT or NOT_A_GRID the same row in the
 * message. Returns the status. */
static gsw_status same_outcome(pair *p) {
    const gsw_status expected = create_cpu(p), status = create_cuda(p);
    ck_assert_msg(status == expected, "%s: %s (%s), but %s (%s) on the CPU", p->text,
                  gsw_status_name(status), gsw_context_message(p->q->c.cuda),
                  gsw_status_name(expected), gsw_context_message(p->q->c.cpu));
    if (status == GSW_ERROR_ZERO_PIVOT || status == GSW_ERROR_NOT_A_GRID) {
        char row[40], wanted[40];
        device_row_of(gsw_context_message(p->q->c.cpu), wanted, sizeof wanted);
        device_row_of(gsw_context_message(p->q->c.cuda), row, sizeof row);
        ck_assert_msg(strcmp(row, wanted) == 0, "%s: \"%s\", but \"%s\" on the CPU", p->text,
                      gsw_context_message(p->q->c.cuda), gsw_context_message(p->q->c.cpu));
    }
    if (status != GSW_SUCCESS)
        ck_assert_msg(p->cuda == NULL, "%s: a factor came with an error", p->text);
    return status;
}

static void check_spoilt(const problem *q, const gsw_factor_options *options, const double *b,
                         int trial) {
    pair p = pair_of(q, options);
    char how[40];
    if (same_outcome(&p) == GSW_SUCCESS) {
        block v;
        block_open(&v, &p, trial % 2 ? 3 : 1, 6);
        memcpy(v.b, b, bytes_of(&v, v.n)); /* the first right-hand side only */
        block_expect(&v);
        block_solve(&v);
        snprintf(how, sizeof how, "trial %d", trial);
        block_check(&v, how);
        block_close(&v);
    }
    pair_close(&p);
}

START_TEST(nan_and_infinity_go_where_the_cpu_puts_them) {
    contexts c = contexts_open(1, NULL);
    for (int g = 0; g < LENGTH(odd_grids); g += device_stride()) {
        for (int trial = 0; trial < 12; trial++) {
            const recipe r = {.grid = odd_grids[g],
                              .stencil = oracle_stencil(_i, NULL),
                              .diagonal = ORACLE_POSITIVE,
                              .seed = 4};
            problem q;
            problem_open(&q, &c, &r);
            double *b = oracle_vector(GSW_F64, 6, q.n);
            spoil(&q, b, trial);
            problem_renew(&q);
            const int step = g == LENGTH(odd_grids) - 1 ? 2 : 4;
            for (int k = (trial + g) % step; k < OPTIONS; k += step) {
                gsw_factor_options options;
                if (options_at(k, 0, r.stencil, &options))
                    check_spoilt(&q, &options, b, trial);
            }
            free(b);
            problem_close(&q);
        }
    }
    contexts_close(&c);
}
END_TEST

static const uint64_t nans_64[] = {
    UINT64_C(0xfff8deadbeef0001), UINT64_C(0x7ff8dead00000000), UINT64_C(0xfff0dead00000001),
    UINT64_C(0xffffffffffffffff), UINT64_C(0x7fffffffffffffff), UINT64_C(0x7ff8000000000000),
    UINT64_C(0xfff8000000000000), UINT64_C(0x7ff0000000000001), UINT64_C(0x7ff4000000000000),
};
static const uint32_t nans_32[] = {
    UINT32_C(0xfff8dead), UINT32_C(0x7ff8dead), UINT32_C(0xffc0beef),
    UINT32_C(0xffffffff), UINT32_C(0x7fffffff), UINT32_C(0x7fc00000),
    UINT32_C(0xffc00000), UINT32_C(0x7f800001), UINT32_C(0x7fa00000),
};
#define NANS LENGTH(nans_64)

static void set_nan(block *v, int64_t i, int pattern) {
    if (v->type == GSW_F64)
        memcpy((double *)v->b + i, &nans_64[pattern], sizeof(double));
    else
        memcpy((float *)v->b + i, &nans_32[pattern], sizeof(float));
}

/* NaNs of one bit pattern in every row of b, or here and there. */
static void check_pattern(block *v, int pattern, int64_t first, int64_t step) {
    char how[60];
    for (int64_t i = first; i < v->n; i += step)
        set_nan(v, i, pattern);
    block_expect(v);
    block_solve(v);
    snprintf(how, sizeof how, "NaN %d in rows %lld + k %lld", pattern, (long long)first,
             (long long)step);
    block_check(v, how);
}

/* Every bit pattern of NaN, anywhere, also where it is copied to x unchanged. */
START_TEST(every_nan_is_a_nan) {
    static const gsw_grid grids[] = {{12, 12, 12}, {70, 33, 1}, {9, 26, 11}};
    contexts c = contexts_open(1, NULL);
    for (int g = 0; g < LENGTH(grids); g++) {
        for (int k = 0; k < OPTIONS; k++) {
            const int t = (g + k) % TYPES;
            gsw_factor_options options;
            if (!options_at(k, t, oracle_stencil(_i, NULL), &options))
                continue;
            const recipe r = {.grid = grids[g],
                              .stencil = oracle_stencil(_i, NULL),
                              .values = types[t].factor,
                              .diagonal = diagonal_for(options.kind),
                              .seed = 4};
            problem q;
            pair p;
            problem_open(&q, &c, &r);
            pair_open(&p, &q, &options);
            for (int pattern = 0; pattern < NANS; pattern++) {
                const int64_t firsts[] = {0, 7, q.n - 1}, steps[] = {1, 200, 1};
                for (int where = 0; where < 3; where++) {
                    block v;
                    if (where > 0 && (pattern + k) % 3 != 0)
                        continue;
                    block_open(&v, &p, 1, 5);
                    check_pattern(&v, pattern, firsts[where], steps[where]);
                    block_close(&v);
                }
            }
            pair_close(&p);
            problem_close(&q);
        }
    }
    contexts_close(&c);
}
END_TEST

/* Scales the stored values of arrays by a power of two. */
static void scale_matrix(oracle_matrix *matrix, double factor) {
    const gsw_dtype type = matrix->view.array.value_type;
    for (int32_t e = 0; e < matrix->view.stencil.count; e++)
        for (int64_t i = 0; i < oracle_points(&matrix->view.grid); i++)
            oracle_set(type, matrix->arrays[e], i, factor * oracle_get(type, matrix->arrays[e], i));
}

static void scale_b(block *v, double factor) {
    for (int64_t i = 0; i < v->n; i++)
        oracle_set(v->type, v->b, i, factor * oracle_get(v->type, v->b, i));
}

/* Couplings and right-hand sides are below the smallest normal number, diagonals just above it. The
 * solutions are ordinary numbers, and they are wrong where a value was flushed to zero. */
START_TEST(denormal_inputs_count) {
    contexts c = contexts_open(1, NULL);
    for (int t = 0; t < TYPES; t++) {
        const double least = 2 * (types[t].factor == GSW_F64 ? DBL_MIN : (double)FLT_MIN);
        const recipe r = {.grid = {23, 11, 9},
                          .stencil = oracle_stencil(_i, NULL),
                          .values = types[t].factor,
                          .diagonal = ORACLE_ANY_SIGN,
                          .seed = 4};
        problem q;
        problem_open(&q, &c, &r);
        scale_matrix(q.lower, least);
        scale_matrix(q.upper, least);
        problem_renew(&q);
        for (int k = 0; k < 4; k++) {
            const gsw_factor_options options = {.size = sizeof options,
                                                .kind = k & 1 ? GSW_FACTOR_UPPER : GSW_FACTOR_LOWER,
                                                .transpose = k >> 1,
                                                .factor_type = types[t].factor,
                                                .vector_type = types[t].vector};
            pair p;
            block v;
            pair_open(&p, &q, &options);
            block_open(&v, &p, 1, 8);
            scale_b(&v, least / 2);
            block_check_all(&v);
            block_close(&v);
            pair_close(&p);
        }
        problem_close(&q);
    }
    contexts_close(&c);
}
END_TEST

/* Products of two coefficients leave the range of numbers, which the factors do not. A sweep
 * computes pivots from such products (diagonal.cu). */
START_TEST(coefficients_may_be_tiny_or_huge) {
    static const double scales[] = {0x1p-600, 0x1p-520, 0x1p600};
    contexts c = contexts_open(1, NULL);
    for (int i = 0; i < LENGTH(scales); i++) {
        for (int kind = GSW_ILU0; kind <= GSW_DILU; kind++) {
            const gsw_factor_options options = {.size = sizeof options,
                                                .kind = (gsw_factor_kind)kind};
            const recipe r = {.grid = {23, 11, 9},
                              .stencil = oracle_stencil(_i, NULL),
                              .diagonal = diagonal_for(options.kind),
                              .seed = 4};
            if (kind == GSW_IC0 && !is_symmetric(r.stencil))
                continue;
            problem q;
            problem_open(&q, &c, &r);
            scale_matrix(q.lower, scales[i]);
            problem_renew(&q);
            check_options(&q, &options, 1, 0);
            problem_close(&q);
        }
    }
    contexts_close(&c);
}
END_TEST

/* A row of U overflows, while the products and the pivots are ordinary numbers. The row after it
 * then has no pivot. */
START_TEST(an_infinite_coefficient_is_noticed) {
    contexts c = contexts_open(1, NULL);
    const recipe r = {.grid = {23, 11, 9}, .stencil = oracle_stencil_named("D3N7"), .seed = 4};
    const int32_t before = 2, center = 3, after = 4; /* couplings along x */
    const int64_t row = 23 * 11 + 30;
    const gsw_factor_options options = {
        .size = sizeof options,
    };
    problem q;
    problem_open(&q, &c, &r);
    scale_matrix(q.lower, 0);
    for (int64_t i = 0; i < q.n; i++)
        ((double *)q.lower->arrays[center])[i] = 1;
    ((double *)q.lower->arrays[center])[row] = 1e-200;
    ((double *)q.lower->arrays[after])[row] = 1e150;
    ((double *)q.lower->arrays[before])[row + 1] = 1e-150;
    ((double *)q.lower->arrays[center])[row + 1] = 1e201;
    problem_renew(&q);
    pair p = pair_of(&q, &options);
    ck_assert_int_eq(same_outcome(&p), GSW_ERROR_ZERO_PIVOT);
    problem_close(&q);
    contexts_close(&c);
}
END_TEST

/* Solutions of some thousand times the smallest positive number. They are right except for a few
 * multiples of it. */
static void check_denormal_solution(block *v, double least) {
    int64_t zeros = 0;
    block_expect(v);
    block_solve(v);
    block_get(v);
    for (int64_t i = 0; i < v->n; i++) {
        const double x = oracle_get(v->type, v->x, i), y = oracle_get(v->type, v->expected, i);
        if (!(fabs(x - y) <= 20 * least))
            ck_abort_msg("%s: row %lld: %g, not %g", v->p->text, (long long)i, x, y);
        zeros += x == 0;
    }
    ck_assert_msg(zeros <= v->n / 10, "%s: %lld zeros", v->p->text, (long long)zeros);
}

START_TEST(denormal_solutions_count) {
    contexts c = contexts_open(1, NULL);
    for (int t = 0; t < TYPES; t += 2) {
        const double least = types[t].vector == GSW_F64 ? 0x1p-1074 : 0x1p-149;
        for (int k = 0; k < OPTIONS; k++) {
            gsw_factor_options options;
            if (!options_at(k, t, oracle_stencil(_i, NULL), &options))
                continue;
            const recipe r = {.grid = {23, 11, 9},
                              .stencil = oracle_stencil(_i, NULL),
                              .values = types[t].factor,
                              .diagonal = diagonal_for(options.kind),
                              .seed = 4};
            problem q;
            pair p;
            block v;
            problem_open(&q, &c, &r);
            pair_open(&p, &q, &options);
            block_open(&v, &p, 1, 8);
            scale_b(&v, 10000 * least);
            check_denormal_solution(&v, least);
            block_close(&v);
            pair_close(&p);
            problem_close(&q);
        }
    }
    contexts_close(&c);
}
END_TEST

/* Exactly the values that are finite on the CPU are finite on the device. */
static void check_finite(const block *v) {
    for (int64_t i = 0; i < v->n; i++) {
        const double x = oracle_get(v->type, v->x, i), y = oracle_get(v->type, v->expected, i);
        if ((isfinite(x) != 0) != (isfinite(y) != 0))
            ck_abort_msg("%s: row %lld: %g, not %g", v->p->text, (long long)i, x, y);
    }
}

/* LOWER, UPPER and LU take any diagonal. */
START_TEST(a_zero_divides_when_the_solve_runs) {
    contexts c = contexts_open(1, NULL);
    const recipe r = {.grid = {13, 17, 5}, .stencil = oracle_stencil(_i, NULL), .seed = 3};
    problem q;
    problem_open(&q, &c, &r);
    ((double *)q.lower->arrays[r.stencil->center])[q.n / 2] = 0;
    ((double *)q.upper->arrays[r.stencil->center])[q.n / 3] = 0;
    problem_renew(&q);
    for (int k = GSW_FACTOR_LOWER * 4; k < OPTIONS; k++) {
        gsw_factor_options options;
        pair p;
        block v;
        options_at(k, 0, r.stencil, &options);
        pair_open(&p, &q, &options);
        block_open(&v, &p, 1, 4);
        block_expect(&v);
        block_solve(&v);
        block_get(&v);
        check_finite(&v);
        block_close(&v);
        pair_close(&p);
    }
    problem_close(&q);
    contexts_close(&c);
}
END_TEST

/* ---- bad pivots ---- */

/* Gives a row of stencil arrays no lower couplings and this diagonal, so that it is the pivot. */
static void plant(oracle_matrix *matrix, int64_t row, double pivot) {
    const int32_t center = matrix->view.stencil.center;
    for (int32_t e = 0; e <= center; e++)
        oracle_set(matrix->view.array.value_type, matrix->arrays[e], row, e < center ? 0 : pivot);
}

static const gsw_grid pivot_grids[] = {{40, 9, 6}, {1, 13, 11}, {130, 1, 1}, {17, 23, 1}};

START_TEST(bad_pivots_are_named) {
    static const double bad[] = {0, NAN, INFINITY, -1};
    contexts c = contexts_open(1, NULL);
    for (int kind = GSW_ILU0; kind <= GSW_JACOBI; kind++) {
        if (kind == GSW_IC0 && !is_symmetric(oracle_stencil(_i, NULL)))
            continue;
        for (int k = 0; k < (kind == GSW_IC0 ? 4 : 3); k++) {
            for (int g = 0; g < LENGTH(pivot_grids); g++) {
                const recipe r = {.grid = pivot_grids[g],
                                  .stencil = oracle_stencil(_i, NULL),
                                  .diagonal = ORACLE_POSITIVE,
                                  .seed = 3};
                const gsw_factor_options options = {
                    .size = sizeof options, .kind = (gsw_factor_kind)kind, .transpose = g % 2};
                problem q;
                problem_open(&q, &c, &r);
                plant(q.lower, q.n - 2, bad[k]);
                plant(q.lower, q.n / 3, bad[k]);
                problem_renew(&q);
                pair p = pair_of(&q, &options);
                p.cuda = (gsw_factor *)&q;
                const gsw_status status = same_outcome(&p);
                ck_assert_msg(status == GSW_ERROR_ZERO_PIVOT, "%s, pivot %g: %s", p.text, bad[k],
                              gsw_status_name(status));
                problem_close(&q);
            }
        }
    }
    contexts_close(&c);
}
END_TEST

START_TEST(values_beyond_fp32_are_refused) {
    contexts c = contexts_open(1, NULL);
    check_beyond_f32(c.cuda, oracle_stencil(_i, NULL), GSW_FORMAT_STENCIL);
    check_beyond_f32(c.cuda, oracle_stencil(_i, NULL), GSW_FORMAT_CSR);
    contexts_close(&c);
}
END_TEST

START_TEST(a_failed_refactor_leaves_nothing_usable) {
    contexts c = contexts_open(1, NULL);
    for (int kind = GSW_ILU0; kind <= GSW_JACOBI; kind++) {
        const recipe r = {.grid = {11, 10, 9},
                          .stencil = oracle_stencil(2, NULL),
                          .diagonal = ORACLE_POSITIVE,
                          .seed = 3};
        const gsw_factor_options options = {.size = sizeof options, .kind = (gsw_factor_kind)kind};
        problem good, bad;
        pair p;
        block v;
        gsw_csr l = {0}, u = {0};
        problem_open(&good, &c, &r);
        problem_open(&bad, &c, &r);
        plant(bad.lower, 700, 0);
        problem_renew(&bad);
        pair_open(&p, &good, &options);
        block_open(&v, &p, 1, 5);
        block_check_all(&v);
        for (int again = 0; again < 2; again++) {
            gsw_factor_info info = {.size = sizeof info};
            void *const b = v.device_b.values, *const x = v.device_x.values;
            ck_assert_int_eq(gsw_factor_refactor(c.cuda, p.cuda, &bad.device_lower, NULL),
                             GSW_ERROR_ZERO_PIVOT);
            ck_assert_msg(strstr(gsw_context_message(c.cuda), "row 700 ") != NULL, "%s: %s", p.text,
                          gsw_context_message(c.cuda));
            ck_assert_int_eq(gsw_factor_get_info(p.cuda, &info), GSW_SUCCESS);
            ck_assert_int_eq(info.first_bad_row, 700);
            ck_assert_int_ne(gsw_factor_solve(c.cuda, p.cuda, 1, b, 0, x, 0), GSW_SUCCESS);
            ck_assert_int_ne(gsw_factor_sweep(c.cuda, p.cuda, 0, 1, b, 0, x, 0), GSW_SUCCESS);
            ck_assert_int_ne(gsw_factor_extract(c.cuda, p.cuda, GSW_I32, &l, &u), GSW_SUCCESS);
            pair_refactor(&p, &good);
            check_info(&p);
            block_check_repeat(&v, "after a failed refactor", again);
        }
        block_close(&v);
        pair_close(&p);
        problem_close(&bad);
        problem_close(&good);
    }
    contexts_close(&c);
}
END_TEST

/* Bad pivots are replaced as on the CPU: as many, by the same numbers. */
START_TEST(bad_pivots_are_shifted) {
    contexts c = contexts_open(1, NULL);
    for (int kind = GSW_ILU0; kind <= GSW_JACOBI; kind++) {
        for (int g = 0; g < LENGTH(pivot_grids); g++) {
            const int t = (g + kind) % TYPES;
            const recipe r = {.grid = pivot_grids[g],
                              .stencil = oracle_stencil(_i, NULL),
                              .values = types[t].factor,
                              .diagonal = ORACLE_POSITIVE,
                              .seed = 3};
            const gsw_factor_options options = {.size = sizeof options,
                                                .kind = (gsw_factor_kind)kind,
                                                .transpose = g % 2,
                                                .pivot_shift = 0.25 + kind,
                                                .factor_type = types[t].factor,
                                                .vector_type = types[t].vector};
            problem q;
            pair p;
            gsw_factor_info info = {.size = sizeof info};
            if (kind == GSW_IC0 && !is_symmetric(r.stencil))
                continue;
            problem_open(&q, &c, &r);
            plant(q.lower, q.n / 2, kind == GSW_IC0 ? -1 : 0);
            plant(q.lower, q.n / 2 + 9, 0);
            plant(q.lower, q.n / 5, 0);
            problem_renew(&q);
            pair_open(&p, &q, &options);
            ck_assert_int_eq(gsw_factor_get_info(p.cuda, &info), GSW_SUCCESS);
            ck_assert_msg(info.shifted_pivots >= 3 || options.transpose, "%s: %lld pivots shifted",
                          p.text, (long long)info.shifted_pivots);
            check_pair(&p, 1, g);
            if (can_be_extracted(&options))
                check_extraction(&p, GSW_I32);
            pair_close(&p);
            problem_close(&q);
        }
    }
    contexts_close(&c);
}
END_TEST

/* ---- what is refused ---- */

/* The message names the lowest row with a coupling outside the stencil, and the context remains
 * usable. */
START_TEST(couplings_outside_the_stencil_are_refused) {
    contexts c = contexts_open(1, NULL);
    const recipe r = {.grid = {9, 8, 7},
                      .stencil = oracle_stencil(2, NULL),
                      .layout = 1,
                      .diagonal = ORACLE_POSITIVE,
                      .seed = 2};
    const gsw_factor_options options = {.size = sizeof options, .kind = (gsw_factor_kind)_i};
    problem good, bad;
    problem_open(&good, &c, &r);
    problem_open(&bad, &c, &r);
    ((int *)bad.lower->columns)[((int *)bad.lower->row_ptr)[301]] -= 1;
    ((int *)bad.lower->columns)[((int *)bad.lower->row_ptr)[234]] -= 1;
    problem_renew(&bad);
    pair p = pair_of(&bad, &options);
    const gsw_status status = same_outcome(&p);
    ck_assert_msg(status == (_i == GSW_JACOBI ? GSW_SUCCESS : GSW_ERROR_NOT_A_GRID), "%s: %s",
                  p.text, gsw_status_name(status));
    pair_close(&p);
    check_options(&good, &options, 1, 0);
    problem_close(&bad);
    problem_close(&good);
    contexts_close(&c);
}
END_TEST

/* The device refuses the same arguments as the CPU, in the same way. */
START_TEST(bad_options_are_refused) {
    static const gsw_factor_options bad[] = {
        {.size = sizeof(gsw_factor_options), .vector_type = GSW_F32},
        {.size = sizeof(gsw_factor_options), .kind = GSW_SSOR, .omega = 2},
        {.size = sizeof(gsw_factor_options), .kind = (gsw_factor_kind)77},
        {.size = sizeof(gsw_factor_options), .pivot_shift = -1},
    };
    contexts c = contexts_open(1, NULL);
    const recipe r = {.grid = {4, 3, 2}, .stencil = oracle_stencil_named("asymmetric"), .seed = 2};
    const gsw_factor_options ic0 = {.size = sizeof ic0, .kind = GSW_IC0};
    problem q;
    problem_open(&q, &c, &r);
    for (int k = 0; k <= LENGTH(bad); k++) { /* the last: IC0 without symmetry */
        pair p = pair_of(&q, k < LENGTH(bad) ? &bad[k] : &ic0);
        ck_assert_int_ne(same_outcome(&p), GSW_SUCCESS);
    }
    problem_close(&q);
    contexts_close(&c);
}
END_TEST

/* ---- streams and graphs ---- */

#define FACTORS 4

/* Two contexts on their own streams, two factors in each; all solves are queued before the first is
 * waited for. */
START_TEST(contexts_and_factors_do_not_disturb_each_other) {
    static const gsw_grid grids[FACTORS] = {{48, 40, 20}, {30, 50, 20}, {40, 30, 30}, {200, 60, 1}};
    static const int stencils[FACTORS] = {2, 5, 4, 1};
    static const gsw_factor_kind kinds[FACTORS] = {GSW_ILU0, GSW_SSOR, GSW_DILU, GSW_FACTOR_LU};
    cudaStream_t streams[2] = {make_stream(), make_stream()};
    contexts c[2] = {contexts_open(1, streams[0]), contexts_open(1, streams[1])};
    problem problems[FACTORS];
    pair pairs[FACTORS];
    block blocks[FACTORS];
    for (int k = 0; k < FACTORS; k++) {
        const recipe r = {.grid = grids[k],
                          .stencil = oracle_stencil(stencils[k], NULL),
                          .diagonal = ORACLE_ANY_SIGN,
                          .seed = 3};
        const gsw_factor_options options = {
            .size = sizeof options, .kind = kinds[k], .omega = OMEGA};
        problem_open(&problems[k], &c[k % 2], &r);
        pair_open(&pairs[k], &problems[k], &options);
        block_open(&blocks[k], &pairs[k], 1 + k % 2, 5);
        block_check_all(&blocks[k]);
    }
    for (int round = 0; round < 60; round++) {
        for (int repeat = 0; repeat < 3; repeat++)
            for (int k = 0; k < FACTORS; k++)
                block_solve(&blocks[(k + round) % FACTORS]);
        for (int k = 0; k < FACTORS; k++) {
            block *v = &blocks[k];
            block_get(v);
            ck_assert_msg(memcmp(v->first, v->x, bytes_of(v, v->ldx * v->count)) == 0,
                          "%s: other bits beside others, round %d", v->p->text, round);
        }
    }
    for (int k = 0; k < FACTORS; k++) {
        block_close(&blocks[k]);
        pair_close(&pairs[k]);
        problem_close(&problems[k]);
    }
    for (int k = 0; k < 2; k++) {
        contexts_close(&c[k]);
        close_stream(streams[k]);
    }
}
END_TEST

static const struct {
    int stencil;
    gsw_factor_kind kind;
    int64_t count;
    gsw_dtype factor_type;
} captured[] = {
    {2, GSW_ILU0, 1, GSW_F64},   {5, GSW_DILU, 3, GSW_F64},         {4, GSW_SSOR, 8, GSW_F32},
    {2, GSW_JACOBI, 1, GSW_F64}, {0, GSW_FACTOR_LOWER, 1, GSW_F64},
};

/* A solve that has been captured, replayed with other right-hand sides. */
static void replay(block *v, cudaGraphExec_t exec, cudaStream_t stream, int run) {
    free(v->b);
    v->b = oracle_vector(v->type, 100 + (uint64_t)run, v->ldb * v->count);
    block_expect(v);
    device_poison(v->p->q->c.cuda, &v->device_x);
    ck_assert_int_eq(cudaGraphLaunch(exec, stream), cudaSuccess);
    if (run % 3 == 0) /* twice in a row */
        ck_assert_int_eq(cudaGraphLaunch(exec, stream), cudaSuccess);
    block_check(v, "from a graph");
}

START_TEST(solves_are_captured_in_a_graph) {
    cudaStream_t stream = make_stream();
    contexts c = contexts_open(1, stream);
    recipe r = {.grid = {40, 37, 21},
                .stencil = oracle_stencil(captured[_i].stencil, NULL),
                .diagonal = ORACLE_ANY_SIGN,
                .seed = 3};
    const gsw_factor_options options = {.size = sizeof options,
                                        .kind = captured[_i].kind,
                                        .factor_type = captured[_i].factor_type,
                                        .omega = OMEGA};
    cudaGraph_t graph = NULL;
    cudaGraphExec_t exec = NULL;
    problem q, other;
    pair p;
    block v;
    problem_open(&q, &c, &r);
    r.seed = 4;
    problem_open(&other, &c, &r);
    pair_open(&p, &other, &options); /* kernels are loaded outside the graph */
    block_open(&v, &p, captured[_i].count, 5);
    block_check_all(&v);
    block_close(&v);
    pair_close(&p);
    pair_open(&p, &q, &options);
    block_open(&v, &p, captured[_i].count, 5);

    /* The first solve with the factor is the captured one. */
    ck_assert_int_eq(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), cudaSuccess);
    must(&p, c.cuda,
         gsw_factor_solve(c.cuda, p.cuda, v.count, v.device_b.values, v.ldb, v.device_x.values,
                          v.ldx),
         "capturing");
    ck_assert_int_eq(cudaStreamEndCapture(stream, &graph), cudaSuccess);
    ck_assert_int_eq(cudaGraphInstantiateWithFlags(&exec, graph, 0), cudaSuccess);

    for (int run = 0; run < 20; run++) {
        if (run == 10) /* the graph reads the new values */
            pair_refactor(&p, &other);
        replay(&v, exec, stream, run);
        if (run % 3 == 0)
            block_check_all(&v); /* outside the graph */
    }
    ck_assert_int_eq(cudaGraphExecDestroy(exec), cudaSuccess);
    ck_assert_int_eq(cudaGraphDestroy(graph), cudaSuccess);
    block_close(&v);
    pair_close(&p);
    problem_close(&other);
    problem_close(&q);
    contexts_close(&c);
    close_stream(stream);
}
END_TEST

/* ---- waiting ---- */

/* One sweep while a pencil is withheld: TIMEOUT, soon, and reported once. */
static void check_timeout(block *v, int which, int64_t withheld, int by_download) {
    gsw_context *cuda = v->p->q->c.cuda;
    const double begin = gsw_seconds_now();
    gsw_cuda_test_hooks(cuda, INT64_C(50000000), withheld, 0);
    device_poison(cuda, &v->device_x);
    must(v->p, cuda,
         gsw_factor_sweep(cuda, v->p->cuda, which, v->count, v->device_b.values, v->ldb,
                          v->device_x.values, v->ldx),
         "queueing a sweep");
    const gsw_status status =
        by_download ? gsw_memory_download(cuda, v->x, v->device_x.values, bytes_of(v, v->n))
                    : gsw_context_synchronize(cuda);
    const double elapsed = gsw_seconds_now() - begin;
    gsw_cuda_test_hooks(cuda, PATIENT_NS, NOTHING_WITHHELD, 0);
    ck_assert_msg(status == GSW_ERROR_TIMEOUT, "%s: sweep %d, ticket %d withheld: %s", v->p->text,
                  which, (int)withheld, gsw_status_name(status));
    ck_assert_msg(elapsed < 5, "%s: timed out after %g s only", v->p->text, elapsed);
    ck_assert_str_ne(gsw_context_message(cuda), "");
    ck_assert_int_eq(gsw_context_synchronize(cuda), GSW_SUCCESS);
}

/* A pencil whose faces are never published ends in TIMEOUT, and the next solve is right. */
START_TEST(a_withheld_pencil_times_out) {
    static const int64_t withheld[] = {0, 1, 4};
    static const int64_t counts[] = {1, 3};
    const gsw_factor_options options = {.size = sizeof options, .kind = GSW_ILU0};
    for (int k = 0; k < LENGTH(counts); k++) {
        cube u;
        cube_open(&u, _i, 24, 1, NULL, &options);
        block_close(&u.v);
        block_open(&u.v, &u.p, counts[k], 5);
        block_check_all(&u.v);
        for (int i = 0; i < 2 * LENGTH(withheld); i++) {
            check_timeout(&u.v, i % 2, withheld[i / 2], i / 2 % 2);
            block_check_repeat(&u.v, "after a timeout", i);
        }
        cube_close(&u);
    }
}
END_TEST

/* The same for a factorisation: the factor cannot be used until the next factorisation succeeds. */
START_TEST(a_factorisation_that_waits_in_vain_times_out) {
    static const int64_t withheld[] = {0, 1, 4};
    static const gsw_factor_kind kinds[] = {GSW_ILU0, GSW_DILU};
    for (int i = 0; i < 2 * LENGTH(withheld); i++) {
        const gsw_factor_options options = {.size = sizeof options, .kind = kinds[i % 2]};
        cube u;
        cube_open(&u, _i, 24, 1, NULL, &options);
        block_check_all(&u.v);
        gsw_cuda_test_hooks(u.c.cuda, INT64_C(50000000), withheld[i / 2], 0);
        const double begin = gsw_seconds_now();
        const gsw_status status = gsw_factor_refactor(u.c.cuda, u.p.cuda, &u.q.device_lower, NULL);
        gsw_cuda_test_hooks(u.c.cuda, PATIENT_NS, NOTHING_WITHHELD, 0);
        ck_assert_msg(status == GSW_ERROR_TIMEOUT, "%s: ticket %d withheld: %s", u.p.text,
                      (int)withheld[i / 2], gsw_status_name(status));
        ck_assert_msg(gsw_seconds_now() - begin < 5, "timed out after %g s only",
                      gsw_seconds_now() - begin);
        ck_assert_int_eq(
            gsw_factor_solve(u.c.cuda, u.p.cuda, 1, u.v.device_b.values, 0, u.v.device_x.values, 0),
            GSW_ERROR_INVALID_ARGUMENT);
        pair_refactor(&u.p, &u.q);
        block_check_repeat(&u.v, "after a factorisation that timed out", i);
        cube_close(&u);
    }
}
END_TEST

/* The same through a whole solve, whose second sweep comes after a first that gave up. */
START_TEST(a_solve_that_times_out_is_given_up) {
    const gsw_factor_options options = {.size = sizeof options, .kind = GSW_ILU0};
    cube u;
    cube_open(&u, _i, 24, 1, NULL, &options);
    block_check_all(&u.v);
    for (int run = 0; run < 3; run++) {
        const double begin = gsw_seconds_now();
        gsw_cuda_test_hooks(u.c.cuda, INT64_C(50000000), 0, 0);
        device_poison(u.c.cuda, &u.v.device_x);
        const gsw_status queued =
            gsw_factor_solve(u.c.cuda, u.p.cuda, 1, u.v.device_b.values, 0, u.v.device_x.values, 0);
        const gsw_status waited = gsw_context_synchronize(u.c.cuda);
        gsw_cuda_test_hooks(u.c.cuda, PATIENT_NS, NOTHING_WITHHELD, 0);
        /* The second sweep may be queued after the first one's end, and report it. */
        ck_assert_msg(queued == GSW_ERROR_TIMEOUT || waited == GSW_ERROR_TIMEOUT, "%s, %s",
                      gsw_status_name(queued), gsw_status_name(waited));
        ck_assert_msg(gsw_seconds_now() - begin < 5, "timed out after %g s only",
                      gsw_seconds_now() - begin);
        ck_assert_int_eq(gsw_context_synchronize(u.c.cuda), GSW_SUCCESS);
        block_check_repeat(&u.v, "after a timeout", run);
    }
    cube_close(&u);
}
END_TEST

/* A solve that is queued directly after a sweep that will be given up. Its first blocks start
 * before that sweep has ended, and they find clean faces, also where it has more pencils than
 * blocks at a time. */
START_TEST(a_solve_behind_one_that_times_out_is_right) {
    static const int64_t sizes[] = {24, 104}, withheld[] = {0, 1, 4};
    const gsw_factor_options options = {.size = sizeof options, .kind = GSW_ILU0};
    for (int i = 0; i < LENGTH(sizes) * LENGTH(withheld); i++) {
        cube u;
        cube_open(&u, _i, sizes[i % 2], 2, NULL, &options);
        block *v = &u.v;
        block_check_all(v);
        device_poison(u.c.cuda, &v->device_x);
        gsw_cuda_test_hooks(u.c.cuda, INT64_C(200000000), withheld[i / 2], 0);
        must(&u.p, u.c.cuda,
             gsw_factor_sweep(u.c.cuda, u.p.cuda, 0, 1, v->device_b.values, v->ldb,
                              v->device_x.values, v->ldx),
             "queueing a sweep");
        gsw_cuda_test_hooks(u.c.cuda, PATIENT_NS, NOTHING_WITHHELD, 0);
        must(&u.p, u.c.cuda,
             gsw_factor_solve(u.c.cuda, u.p.cuda, 1, v->device_b.values, v->ldb, v->device_x.values,
                              v->ldx),
             "queueing a solve behind it");
        ck_assert_int_eq(gsw_context_synchronize(u.c.cuda), GSW_ERROR_TIMEOUT);
        block_check_bits(v, "behind a sweep that timed out", i);
        cube_close(&u);
    }
}
END_TEST

/* One block alone takes all pencils in the order of their dependences. */
START_TEST(any_number_of_blocks_gives_the_same_bits) {
    static const int blocks[] = {1, 2, 3, 7, 1000};
    static const gsw_grid grids[] = {{33, 21, 11}, {5, 61, 37}, {300, 80, 1}, {1, 90, 80}};
    contexts c = contexts_open(1, NULL);
    for (int g = 0; g < LENGTH(grids); g++) {
        for (int k = 0; k < 4; k++) {
            const recipe r = {.grid = grids[g],
                              .stencil = oracle_stencil(_i, NULL),
                              .diagonal = ORACLE_ANY_SIGN,
                              .seed = 3};
            const gsw_factor_options options = {
                .size = sizeof options, .kind = k % 2 ? GSW_DILU : GSW_ILU0, .transpose = k / 2};
            problem q;
            pair p;
            block v;
            problem_open(&q, &c, &r);
            pair_open(&p, &q, &options);
            block_open(&v, &p, 1 + k % 2, 5);
            block_check_all(&v);
            for (int i = 0; i < LENGTH(blocks); i++) {
                gsw_cuda_test_hooks(c.cuda, PATIENT_NS, NOTHING_WITHHELD, blocks[i]);
                pair_refactor(&p, &q);
                block_check_repeat(&v, "with another number of blocks", blocks[i]);
            }
            gsw_cuda_test_hooks(c.cuda, PATIENT_NS, NOTHING_WITHHELD, 0);
            block_close(&v);
            pair_close(&p);
            problem_close(&q);
        }
    }
    contexts_close(&c);
}
END_TEST

/* With another kernel on nine multiprocessors of ten, a solve ends before that kernel does, and so
 * does a factorisation. */
START_TEST(completes_on_an_occupied_device) {
    cudaStream_t stream = make_stream(), other = make_stream();
    const gsw_factor_options options = {.size = sizeof options, .kind = GSW_ILU0};
    cube u;
    cube_open(&u, _i, 64, 4, stream, &options);
    block_check_all(&u.v); /* everything is loaded now */
    for (int refactor = 0; refactor < 2; refactor++) {
        if (refactor)
            pair_refactor(&u.p, &u.q);
        ck_assert_int_eq(occupy_start(other, 0.9, 1000), cudaSuccess);
        if (refactor)
            must(&u.p, u.c.cuda, gsw_factor_refactor(u.c.cuda, u.p.cuda, &u.q.device_lower, NULL),
                 "refactoring");
        for (int run = 0; run < 20; run++)
            block_solve(&u.v);
        device_try(u.c.cuda, gsw_context_synchronize(u.c.cuda));
        ck_assert_msg(cudaStreamQuery(other) == cudaErrorNotReady,
                      "%s: waited for the other kernel", u.p.text);
        block_check_repeat(&u.v, "on an occupied device", refactor);
        ck_assert_int_eq(cudaStreamSynchronize(other), cudaSuccess);
    }
    cube_close(&u);
    close_stream(other);
    close_stream(stream);
}
END_TEST

/* GSW_TEST_REPEATS solves, or a few, while another kernel occupies nine of ten multiprocessors.
 * Which block takes which pencil, and when, changes all the time. */
START_TEST(many_solves_on_an_occupied_device_give_the_same_bits) {
    const char *text = getenv("GSW_TEST_REPEATS");
    const int repeats = text == NULL ? 100 : atoi(text);
    cudaStream_t stream = make_stream(), other = make_stream();
    const gsw_factor_options options = {.size = sizeof options, .kind = GSW_ILU0};
    cube u;
    cube_open(&u, _i, 48, 4, stream, &options);
    block_check_all(&u.v);
    for (int run = 0; run < repeats; run++) {
        if (cudaStreamQuery(other) == cudaSuccess)
            ck_assert_int_eq(occupy_start(other, 0.9, 100), cudaSuccess);
        block_check_repeat(&u.v, "on an occupied device", run);
    }
    printf("%s: %d solves on an occupied device, the same bits\n", u.p.text, repeats);
    ck_assert_int_eq(cudaStreamSynchronize(other), cudaSuccess);
    cube_close(&u);
    close_stream(other);
    close_stream(stream);
}
END_TEST

/* With no multiprocessor free, solves are queued without waiting, and run afterwards. */
START_TEST(solves_are_queued_without_waiting) {
    cudaStream_t stream = make_stream(), other = make_stream();
    const gsw_factor_options options = {.size = sizeof options, .kind = GSW_ILU0};
    cube u;
    cube_open(&u, _i, 32, 1, stream, &options);
    block_check_all(&u.v);
    ck_assert_int_eq(occupy_start(other, 1.0, 500), cudaSuccess);
    for (int run = 0; run < 10; run++)
        block_solve(&u.v);
    ck_assert_msg(cudaStreamQuery(other) == cudaErrorNotReady, "%s: queueing a solve waited",
                  u.p.text);
    block_get(&u.v);
    ck_assert_msg(memcmp(u.v.first, u.v.x, bytes_of(&u.v, u.v.n)) == 0, "%s: other bits", u.p.text);
    ck_assert_int_eq(cudaStreamSynchronize(other), cudaSuccess);
    cube_close(&u);
    close_stream(other);
    close_stream(stream);
}
END_TEST

/* ---- the suite ---- */

static TCase *add_case(Suite *suite, const char *name) {
    TCase *tc = tcase_create(name);
    suite_add_tcase(suite, tc);
    return tc;
}

int main(void) {
    const int stencils = oracle_stencil_count();
    Suite *suite = suite_create("cuda_factor");
    TCase *tc = add_case(suite, "equal");
    tcase_add_loop_test(tc, solves_equal_the_cpu, 0, stencils);
    tcase_add_loop_test(tc, solves_equal_the_textbook, 0, stencils);
    tcase_add_loop_test(tc, extracted_factors_equal_the_cpus, 0, stencils);
    tcase_add_test(tc, arrays_may_be_null);
    tcase_add_test(tc, arrays_may_be_unaligned);
    tcase_add_loop_test(tc, refactor_is_a_new_factor, 0, stencils);
    tcase_add_loop_test(tc, algorithm_pencil_equals_the_reference, 0, stencils);
    tc = add_case(suite, "large");
    tcase_add_loop_test(tc, large_grids_equal_the_cpu, 0, stencils);
    tcase_add_loop_test(tc, lines_along_x_equal_the_cpu, 0, 2);
    tcase_add_loop_test(tc, short_lines_equal_the_cpu, 0, LENGTH(boxes));
    tcase_add_loop_test(tc, many_pencils_equal_the_cpu, 0, CUBES);
    tcase_add_loop_test(tc, cube_of_128_equals_the_cpu, 0, CUBES);
    tcase_add_loop_test(tc, repetitions_give_the_same_bits, 0, CUBES);
    tc = add_case(suite, "values");
    tcase_add_loop_test(tc, nan_and_infinity_go_where_the_cpu_puts_them, 0, stencils);
    tcase_add_loop_test(tc, every_nan_is_a_nan, 0, stencils);
    tcase_add_loop_test(tc, denormal_inputs_count, 0, stencils);
    tcase_add_test(tc, an_infinite_coefficient_is_noticed);
    tcase_add_loop_test(tc, coefficients_may_be_tiny_or_huge, 0, stencils);
    tcase_add_loop_test(tc, denormal_solutions_count, 0, stencils);
    tcase_add_loop_test(tc, a_zero_divides_when_the_solve_runs, 0, stencils);
    tc = add_case(suite, "pivots");
    tcase_add_loop_test(tc, bad_pivots_are_named, 0, stencils);
    tcase_add_loop_test(tc, values_beyond_fp32_are_refused, 0, stencils);
    tcase_add_test(tc, a_failed_refactor_leaves_nothing_usable);
    tcase_add_loop_test(tc, bad_pivots_are_shifted, 0, stencils);
    tc = add_case(suite, "refused");
    tcase_add_loop_test(tc, couplings_outside_the_stencil_are_refused, GSW_ILU0, GSW_FACTOR_LU + 1);
    tcase_add_test(tc, bad_options_are_refused);
    tc = add_case(suite, "streams");
    tcase_add_test(tc, contexts_and_factors_do_not_disturb_each_other);
    tcase_add_loop_test(tc, solves_are_captured_in_a_graph, 0, LENGTH(captured));
    tc = add_case(suite, "waiting");
    tcase_add_loop_test(tc, a_withheld_pencil_times_out, 0, CUBES);
    tcase_add_loop_test(tc, a_factorisation_that_waits_in_vain_times_out, 0, CUBES);
    tcase_add_loop_test(tc, a_solve_that_times_out_is_given_up, 0, CUBES);
    tcase_add_loop_test(tc, a_solve_behind_one_that_times_out_is_right, 0, CUBES);
    tcase_add_loop_test(tc, any_number_of_blocks_gives_the_same_bits, 2, 4);
    tcase_add_loop_test(tc, completes_on_an_occupied_device, 0, CUBES);
    tcase_add_loop_test(tc, many_solves_on_an_occupied_device_give_the_same_bits, 0, CUBES);
    tcase_add_loop_test(tc, solves_are_queued_without_waiting, 0, CUBES);
    return device_run_suite(suite);
}
