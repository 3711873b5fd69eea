/* test_constant.c: constant coefficients: every operation gives the bits that it gives with the
 * same values in one array per offset. */
#include "contract/backend.h"
#include "contract/context.h"
#include "context_fixture.h"
#include "factor_cases.h"

/* Lines that are long enough for factors that store equal records once, and others. */
static const gsw_grid grids[] = {{70, 13, 9}, {128, 9, 5}, {67, 1, 20}, {200, 41, 1}, {65, 30, 3},
                                 {20, 7, 6},  {5, 4, 3},   {1, 9, 8},   {300, 1, 1}};

/* Coefficients of each offset and plane, of a dominant diagonal, and both matrices of them. */
typedef struct pair {
    double *values;
    int64_t planes;
    const gsw_matrix *constant, *written; /* in the context's memory */
} pair;

static double *random_constants(const gsw_stencil *stencil, int64_t planes) {
    double *values = keep_random(5, stencil->count * planes);
    for (int32_t e = 0; e < stencil->count; e++)
        for (int64_t z = 0; z < planes; z++)
            values[e * planes + z] = e == stencil->center
                                         ? 1.5 + values[e * planes + z] / 4
                                         : values[e * planes + z] / (double)stencil->count;
    return values;
}

static const gsw_matrix *keep_constants(const gsw_grid *grid, const gsw_stencil *stencil,
                                        const double *values, int64_t planes, gsw_dtype type) {
    gsw_matrix *made = malloc(sizeof *made);
    ck_assert_ptr_nonnull(made);
    must(context, gsw_matrix_from_constants(context, grid, stencil, values, planes, type, made));
    return keep(KEPT_MATRIX, context, made);
}

static pair make_pair(const gsw_grid *grid, const gsw_stencil *stencil, int64_t planes,
                      gsw_dtype type) {
    const oracle_matrix like = {.view = {.grid = *grid, .stencil = *stencil}};
    oracle_matrix *all = keep(KEPT_ORACLE, NULL, oracle_zeros(&like.view, type));
    pair p = {.values = random_constants(stencil, planes), .planes = planes};
    for (int32_t e = 0; e < stencil->count; e++)
        for (int64_t row = 0; row < oracle_points(grid); row++)
            oracle_set(type, all->arrays[e], row,
                       p.values[e * planes + (planes > 1 ? row / grid->nx / grid->ny : 0)]);
    p.written = keep_there(context, &all->view);
    p.constant = keep_constants(grid, stencil, p.values, planes, type);
    ck_assert_int_eq(p.constant->array.repeat, grid->nx == 1 ? GSW_REPEAT_NONE
                                               : planes == 1 ? GSW_REPEAT_XYZ
                                                             : GSW_REPEAT_XY);
    return p;
}

/* ---- operations: each fills x from b ---- */

typedef struct operation {
    const char *name;
    gsw_dtype type; /* of the vectors */
    gsw_factor_options factor;
    gsw_sptrsv_options sptrsv;
} operation;

typedef void (*operate_fn)(const operation *o, const gsw_matrix *m, const void *b, void *x);

static void multiply(const operation *o, const gsw_matrix *m, const void *b, void *x) {
    must(context, gsw_spmv(context, m, o->type, b, x));
    must(context, gsw_residual(context, m, o->type, x, b, x));
}

static void sweep(const operation *o, const gsw_matrix *m, const void *b, void *x) {
    must(context, gsw_sptrsv(context, m, &o->sptrsv, 1, b, 0, x, 0));
}

static void apply_factor(const operation *o, const gsw_matrix *m, const void *b, void *x) {
    gsw_factor *factor = keep_factor(context, m, o->factor);
    must(context, gsw_factor_refactor(context, factor, m, NULL));
    must(context, gsw_factor_solve(context, factor, 1, b, 0, x, 0));
}

static void cycle(const operation *o, const gsw_matrix *m, const void *b, void *x) {
    (void)o;
    gsw_multigrid *mg = keep_multigrid(context, m, (gsw_multigrid_options){0});
    must(context, gsw_multigrid_refactor(context, mg, m));
    must(context, gsw_multigrid_apply(context, mg, b, x));
}

static void loop(const operation *o, const gsw_matrix *m, const void *b, void *x) {
    (void)o;
    must(context,
         gsw_relax_run(context, keep_relax(context, m, (gsw_relax_options){0}), 5, 1, b, x));
}

static void solve(const operation *o, const gsw_matrix *m, const void *b, void *x) {
    const gsw_krylov_options limit = {
        .size = sizeof limit, .max_iterations = 6, .rtol = 1e-30, .eisenstat = GSW_EISENSTAT_NEVER};
    gsw_factor *factor = keep_factor(context, m, o->factor);
    must(context, gsw_memory_set(context, x, 0, (size_t)oracle_points(&m->grid) * sizeof(double)));
    (void)gsw_bicgstab(context, keep_operator(context, m), keep_factor_M(context, factor), &limit,
                       b, x, NULL);
}

static void compare(const pair *p, operate_fn operate, const operation *o) {
    const size_t mark = keep_mark();
    const gsw_grid *g = &p->constant->grid;
    const int64_t n = oracle_points(g);
    const size_t bytes = (size_t)n * gsw_dtype_size(o->type);
    const gsw_matrix *const matrices[2] = {p->written, p->constant};
    void *results[2];
    void *b = keep_upload(context, keep_vector(o->type, 7, n), bytes);
    for (int k = 0; k < 2; k++) {
        device_vector x = keep_guarded(o->type, n);
        operate(o, matrices[k], b, x.values);
        results[k] = keep_bytes(bytes);
        device_get(context, &x, results[k]);
    }
    ck_assert_msg(memcmp(results[0], results[1], bytes) == 0,
                  "%s, %lldx%lldx%lld, %lld planes: %s: other bits",
                  gsw_stencil_name(&p->constant->stencil), (long long)g->nx, (long long)g->ny,
                  (long long)g->nz, (long long)p->planes, o->name);
    keep_release(mark);
}

static void compare_sweeps(const pair *p, gsw_dtype vectors) {
    for (int k = 0; k < 8; k++)
        compare(p, sweep,
                &(operation){.name = "sptrsv",
                             .type = vectors,
                             .sptrsv = {.size = sizeof(gsw_sptrsv_options),
                                        .algorithm = GSW_ALGORITHM_LINE,
                                        .vector_type = vectors,
                                        .part = k & 1 ? GSW_UPPER : GSW_LOWER,
                                        .transpose = k >> 1 & 1,
                                        .unit_diagonal = k >> 2 & 1}});
}

static void compare_factors(const pair *p, int types_number, gsw_dtype vectors) {
    for (int i = 0; i < OPTIONS; i++) {
        operation o = {.type = vectors};
        if (i / 4 == GSW_FACTOR_LU ||
            !options_at(i, types_number, &p->constant->stencil, &o.factor))
            continue;
        o.name = gsw_factor_kind_name(o.factor.kind);
        compare(p, apply_factor, &o);
    }
}

TEST(the_bits_of_written_coefficients) {
    const gsw_stencil *stencil = oracle_stencil(_i, NULL);
    for (int g = 0; g < LENGTH(grids); g += backend_stride())
        for (int t = 0; t < TYPES; t++)
            for (int each = 0; each < 2; each++) {
                const gsw_dtype vectors = types[t].vector;
                const size_t mark = keep_mark();
                const pair p = make_pair(&grids[g], stencil, each ? grids[g].nz : 1,
                                         t == 0 ? GSW_F64 : GSW_F32);
                compare(&p, multiply, &(operation){.name = "products", .type = vectors});
                compare_sweeps(&p, vectors);
                compare_factors(&p, t, vectors);
                keep_release(mark);
            }
}

TEST(whole_solvers) {
    static const char *const names[] = {"D3N7", "D3N27"};
    for (int s = 0; s < 2; s++)
        for (int g = 0; g < LENGTH(grids); g += backend_stride()) {
            const size_t mark = keep_mark();
            const pair p =
                make_pair(&grids[g], oracle_stencil_named(names[s]), s ? grids[g].nz : 1, GSW_F64);
            compare(&p, cycle, &(operation){.name = "multigrid"});
            compare(&p, loop, &(operation){.name = "stencil loop"});
            compare(&p, solve, &(operation){.name = "SSOR", .factor = {.kind = GSW_SSOR}});
            compare(&p, solve, &(operation){.name = "ILU(0)", .factor = {.kind = GSW_ILU0}});
            keep_release(mark);
        }
}

/* Sweeps of so many lines that chunks of them need no coefficients. */
TEST(large_grids) {
    static const char *const names[] = {"D3N7", "D3N13", "D3N15", "D3N19", "D3N27"};
    static const gsw_grid large[] = {{150, 190, 190}, {61, 200, 180}, {1000, 200, 175}};
    for (int g = 0; g < (_i == 0 ? 3 : 2); g++)
        for (int each = 0; each < 2; each++) {
            const size_t mark = keep_mark();
            const pair p = make_pair(&large[g], oracle_stencil_named(names[_i]),
                                     each ? large[g].nz : 1, GSW_F64);
            for (int kind = GSW_SSOR; kind <= GSW_FACTOR_UPPER; kind++)
                if (kind != GSW_JACOBI)
                    compare(
                        &p, apply_factor,
                        &(operation){.name = gsw_factor_kind_name((gsw_factor_kind)kind),
                                     .factor = {.kind = (gsw_factor_kind)kind, .transpose = each}});
            compare(&p, multiply, &(operation){.name = "products"});
            keep_release(mark);
        }
}

/* Their CSR has the couplings inside the grid, and the factor needs next to no memory. */
TEST(copies_and_memory) {
    const gsw_grid g = {128, 40, 24};
    const pair p = make_pair(&g, oracle_stencil_named("D3N27"), 1, GSW_F64);
    gsw_factor_info info[2] = {{.size = sizeof *info}, {.size = sizeof *info}};
    for (int k = 0; k < 2; k++) {
        gsw_factor *factor = keep_factor(context, k ? p.constant : p.written,
                                         (gsw_factor_options){.kind = GSW_SSOR});
        must(context, gsw_factor_get_info(factor, &info[k]));
    }
    if (on_cpu() || on_cuda())
        ck_assert_int_lt((on_cuda() ? 2 : 4) * info[1].packed_bytes, info[0].packed_bytes);
    compare(&p, apply_factor, &(operation){.name = "SSOR", .factor = {.kind = GSW_SSOR}});
    if (on_cuda())
        return;
    gsw_csr csr[2];
    for (int k = 0; k < 2; k++) {
        must(context,
             gsw_matrix_to_csr(context, k ? p.constant : p.written, GSW_FULL, GSW_I64, &csr[k]));
        (void)keep_csr(csr[k]);
    }
    ck_assert_int_eq(csr[0].nonzeros, csr[1].nonzeros);
    ck_assert_mem_eq(csr[0].values, csr[1].values, (size_t)csr[0].nonzeros * sizeof(double));
}

TEST(a_backend_that_does_not_read_the_kind) {
    const gsw_grid g = {9, 5, 4};
    const pair p = make_pair(&g, oracle_stencil_named("D3N7"), g.nz, GSW_F32);
    gsw_matrix_ops matrix = *context->ops->matrix;
    gsw_backend_ops fewer = *context->ops;
    const gsw_backend_ops *const kept = context->ops;
    fewer.matrix = &matrix;
    matrix.kinds &= ~(1U << GSW_KIND_REPEAT);
    context->ops = &fewer;
    expect_refusal(gsw_spmv(context, p.constant, GSW_F32, NULL, NULL), GSW_ERROR_UNSUPPORTED,
                   "arrays whose values repeat, which this backend does not take");
    context->ops = kept;
}

TEST(refusals) {
    const gsw_grid g = {70, 6, 5}, thin = {1, 6, 5};
    const gsw_stencil *s = oracle_stencil_named("D3N7");
    const pair p = make_pair(&g, s, 1, GSW_F64);
    gsw_matrix m;
    expect_refusal(gsw_matrix_from_constants(context, &g, s, p.values, 2, GSW_F64, &m),
                   GSW_ERROR_INVALID_ARGUMENT, "planes must be 1 or nz = 5");
    expect_refusal(gsw_matrix_from_constants(context, &g, s, NULL, 1, GSW_F64, &m),
                   GSW_ERROR_INVALID_ARGUMENT, "values");
    expect_refusal(gsw_matrix_from_constants(context, NULL, s, p.values, 1, GSW_F64, &m),
                   GSW_ERROR_INVALID_ARGUMENT, "grid");
    gsw_stencil_array array = p.constant->array;
    array.repeat = (gsw_repeat)5;
    expect_refusal(gsw_matrix_from_stencil(context, &g, s, &array, &m), GSW_ERROR_INVALID_ARGUMENT,
                   "repeat 5");
    array.repeat = GSW_REPEAT_YZ;
    expect_refusal(gsw_matrix_from_stencil(context, &thin, s, &array, &m),
                   GSW_ERROR_INVALID_ARGUMENT, "more than one point along x");
    gsw_factor *factor = keep_factor(context, p.constant, (gsw_factor_options){.kind = GSW_SSOR});
    expect_refusal(gsw_factor_refactor(context, factor, p.written, NULL),
                   GSW_ERROR_INVALID_ARGUMENT, "do not repeat like those");
    gsw_problem *problem = NULL;
    expect_refusal(gsw_problem_parse_constant(context, "lognormal:8x8x8", &problem),
                   GSW_ERROR_INVALID_ARGUMENT, "no constant coefficients");
}

int main(int argc, char **argv) {
    backend_choose(argc, argv);
    Suite *suite = suite_create("constant");
    TCase *tc = context_case(suite, "constant", 240);
    LOOPS(tc, oracle_stencil_count(), the_bits_of_written_coefficients);
    TESTS(tc, whole_solvers, copies_and_memory, a_backend_that_does_not_read_the_kind, refusals);
    if (on_cuda())
        LOOPS(tc, 5, large_grids);
    return backend_run_suite(suite);
}
