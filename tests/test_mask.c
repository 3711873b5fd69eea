/* test_mask.c: matrices with a mask: every operation does at active points what it does with the
 * smaller system of these points alone, gives 0 at the others, and reads nothing there. */
#include "mask_systems.h"
#include "factor_cases.h"
#include "krylov_truth.h"
#include "thread_transport.h"

static const gsw_grid grids[] = {{1, 1, 1},   {7, 1, 1},  {1, 9, 1},  {1, 1, 5},
                                 {13, 11, 7}, {17, 1, 6}, {40, 33, 1}};
static const double shares[] = {0, 0.03, 0.5, 0.97, 1};
static const char *const stencils[] = {"D2N5", "D2N9", "D3N7", "D3N13", "D3N15", "D3N19", "D3N27"};

/* Threads share the work on grids of more than 16384 points. */
static const gsw_grid large_grid = {37, 29, 17};

typedef void (*check_fn)(const mask_system *s, int number);

static void check_case(const gsw_grid *g, double share, const char *stencil, int layout,
                       check_fn check, int number) {
    const size_t mark = keep_mark();
    const mask_system s =
        mask_random(g, oracle_stencil_named(stencil), mask_of_share(g, share, (uint64_t)number),
                    &mask_layouts[layout]);
    check(&s, number);
    keep_release(mark);
}

/* All grids and shares with one stencil; layouts take turns. */
static void check_cases(int stencil, check_fn check) {
    int number = stencil;
    for (int g = 0; g < LENGTH(grids); g++)
        for (int k = 0; k < LENGTH(shares); k++, number++)
            if (number % backend_stride() == 0)
                check_case(&grids[g], shares[k], stencils[stencil], number % MASK_LAYOUTS, check,
                           number);
}

static double tolerance_for(gsw_dtype type, double in_fp64) {
    return type == GSW_F64 ? in_fp64 : oracle_tolerance(type);
}

/* ---- products ---- */

static void check_products_in(const mask_system *s, gsw_dtype type) {
    const compact *c = &s->c;
    const double tolerance = tolerance_for(type, 1e-14);
    const double *x = compact_random(c, type, 1), *b = compact_random(c, type, 2);
    device_vector there_x = mask_put(c, type, x), there_b = mask_put(c, type, b);
    device_vector y = keep_guarded(type, c->points);
    double *expected = keep_zeros(c->n);
    compact_residual(c, NULL, x, expected);
    must(context, gsw_spmv(context, s->there, type, there_x.values, y.values));
    mask_expect(s, &y, expected, tolerance, "product");
    if (type == GSW_F64) {
        device_poison(context, &y);
        must(context, gsw_operator_apply(context, keep_operator(context, s->there),
                                         (const double *)there_x.values, (double *)y.values));
        mask_expect(s, &y, expected, tolerance, "operator");
    }

    compact_residual(c, b, x, expected);
    device_poison(context, &y);
    must(context, gsw_residual(context, s->there, type, there_b.values, there_x.values, y.values));
    mask_expect(s, &y, expected, tolerance, "residual");
    const size_t bytes = (size_t)c->points * gsw_dtype_size(type);
    ck_assert_mem_eq(mask_get(&there_b), compact_spread(c, type, b, NAN), bytes);
    ck_assert_mem_eq(mask_get(&there_x), compact_spread(c, type, x, NAN), bytes);
    must(context,
         gsw_residual(context, s->there, type, there_b.values, there_x.values, there_b.values));
    mask_expect(s, &there_b, expected, tolerance, "residual in place");
}

/* The arrays of a matrix are those of another one on the host, bit by bit. */
static void check_same_arrays(const gsw_matrix *there, const gsw_matrix *host) {
    const gsw_csr *a = &there->csr, *b = &host->csr;
    const int64_t n = oracle_points(&host->grid);
    uint8_t *active = keep_bytes((size_t)n);
    download(context, active, there->active, (size_t)n);
    ck_assert_mem_eq(active, host->active, (size_t)n);
    if (host->format != GSW_FORMAT_CSR || host->csr.nonzeros == 0)
        return;
    const size_t index = gsw_itype_size(b->index_type), count = (size_t)b->nonzeros;
    const struct {
        const void *from, *to;
        size_t bytes;
    } parts[] = {{a->row_ptr, b->row_ptr, (size_t)(n + 1) * index},
                 {a->columns, b->columns, count * index},
                 {a->values, b->values, count * gsw_dtype_size(b->value_type)}};
    for (int i = 0; i < LENGTH(parts); i++) {
        void *copy = keep_bytes(parts[i].bytes);
        download(context, copy, parts[i].from, parts[i].bytes);
        ck_assert_mem_eq(copy, parts[i].to, parts[i].bytes);
    }
}

static void check_products(const mask_system *s, int number) {
    (void)number;
    check_products_in(s, GSW_F64);
    if (s->type == GSW_F32)
        check_products_in(s, GSW_F32);
    check_same_arrays(s->there, &s->host);
}

TEST(products) {
    int number = 0;
    for (int g = 0; g < LENGTH(grids); g++)
        for (int k = 0; k < LENGTH(shares); k++)
            for (int l = 0; l < MASK_LAYOUTS; l++, number++)
                if (number % backend_stride() == 0)
                    check_case(&grids[g], shares[k], stencils[_i], l, check_products, number);
}

/* ---- triangular solves ---- */

enum { COLUMNS = 3, GAP = 5 };

/* A vector of COLUMNS right-hand sides with gaps between them; NaN at inactive points. */
static device_vector put_columns(const compact *c, gsw_dtype type, double *const *b) {
    const int64_t ld = c->points + GAP;
    const size_t size = gsw_dtype_size(type);
    device_vector there = keep_guarded(type, COLUMNS * ld);
    char *all = keep_bytes((size_t)(COLUMNS * ld) * size);
    memset(all, 0xff, (size_t)(COLUMNS * ld) * size);
    for (int r = 0; r < COLUMNS; r++)
        memcpy(all + (size_t)(r * ld) * size, compact_spread(c, type, b[r], NAN),
               (size_t)c->points * size);
    device_put(context, &there, all);
    return there;
}

static void expect_columns(const mask_system *s, const device_vector *x, double *const *expected,
                           double tolerance, const char *what) {
    const compact *c = &s->c;
    const int64_t ld = c->points + GAP;
    const size_t size = gsw_dtype_size(x->type);
    const char *all = mask_get(x);
    char text[256];
    snprintf(text, sizeof text, "%s: %s", s->name, what);
    for (int r = 0; r < COLUMNS; r++) {
        const char *column = all + (size_t)(r * ld) * size;
        compact_check(c, x->type, column, expected[r], tolerance, text);
        for (size_t i = 0; i < GAP * size; i++)
            ck_assert_msg((unsigned char)column[(size_t)c->points * size + i] == 0xff,
                          "%s: written between vectors", text);
    }
}

static void random_columns(const compact *c, gsw_dtype type, double *b[COLUMNS]) {
    for (int r = 0; r < COLUMNS; r++)
        b[r] = compact_random(c, type, 20 + (uint64_t)r);
}

static void check_sptrsv(const mask_system *s, int number) {
    static const gsw_algorithm algorithms[] = {GSW_ALGORITHM_LINE, GSW_ALGORITHM_PENCIL,
                                               GSW_ALGORITHM_REFERENCE};
    const compact *c = &s->c;
    const gsw_dtype type = number & 1 ? s->type : GSW_F64;
    const double tolerance = tolerance_for(s->type == GSW_F32 ? type : GSW_F64, 1e-12);
    const int64_t ld = c->points + GAP;
    double *b[COLUMNS], *expected[COLUMNS];
    random_columns(c, type, b);
    for (int k = 0; k < 8; k++) {
        gsw_sptrsv_options options = {.size = sizeof options,
                                      .part = k & 1 ? GSW_UPPER : GSW_LOWER,
                                      .transpose = k >> 1 & 1,
                                      .unit_diagonal = k >> 2 & 1,
                                      .vector_type = type};
        for (int r = 0; r < COLUMNS; r++) {
            expected[r] = keep_copy(b[r], c->n);
            compact_sweep(c, c->value, options.part, options.transpose, options.unit_diagonal,
                          expected[r]);
        }
        for (int a = 0; a < LENGTH(algorithms) - on_cuda(); a++) {
            const size_t mark = keep_mark();
            device_vector there_b = put_columns(c, type, b);
            device_vector x = keep_guarded(type, COLUMNS * ld);
            options.algorithm = algorithms[a];
            must(context, gsw_sptrsv(context, s->there, &options, COLUMNS, there_b.values, ld,
                                     x.values, ld));
            expect_columns(s, &x, expected, tolerance, gsw_algorithm_name(options.algorithm));
            must(context, gsw_sptrsv(context, s->there, &options, COLUMNS, there_b.values, ld,
                                     there_b.values, ld));
            expect_columns(s, &there_b, expected, tolerance, "in place");
            keep_release(mark);
        }
    }
}

TEST(triangular_solves) {
    check_cases(_i, check_sptrsv);
}

/* A workspace takes the values and the mask of each call. */
TEST(workspaces) {
    const gsw_grid g = grids[4];
    const gsw_factor_options kind = {.kind = GSW_FACTOR_UPPER};
    const mask_system s =
        mask_random(&g, oracle_stencil_named("D3N7"), mask_of_share(&g, 0.6, 1), mask_arrays());
    const mask_system next =
        mask_random(&g, oracle_stencil_named("D3N7"), mask_of_share(&g, 0.7, 2), mask_arrays());
    gsw_factor *workspace = keep_factor(context, s.there, kind);
    const gsw_sptrsv_options options = {.size = sizeof options,
                                        .part = GSW_UPPER,
                                        .algorithm = GSW_ALGORITHM_PENCIL,
                                        .workspace = workspace};
    const mask_system *const all[] = {&s, &next, &s};
    for (int i = 0; i < LENGTH(all); i++) {
        const compact *c = &all[i]->c;
        double *x = compact_random(c, GSW_F64, 3);
        device_vector b = mask_put(c, GSW_F64, x), there = keep_guarded(GSW_F64, c->points);
        compact_sweep(c, c->value, GSW_UPPER, 0, 0, x);
        must(context, gsw_sptrsv(context, all[i]->there, &options, 1, b.values, c->points,
                                 there.values, c->points));
        mask_expect(all[i], &there, x, 1e-12, "workspace");
    }
}

/* ---- factors ---- */

/* U of kind LU has no mask of its own: that of L counts. */
static gsw_factor *keep_factor_of(const mask_system *s, const gsw_factor_options *options) {
    gsw_factor *factor = NULL;
    if (options->kind != GSW_FACTOR_LU)
        return keep_factor(context, s->there, *options);
    must(context, gsw_factor_create_lu(context, s->there, &s->unmasked, options, &factor));
    return keep(KEPT_FACTOR, NULL, factor);
}

static void refactor(gsw_factor *factor, const mask_system *s, const gsw_factor_options *options) {
    must(context, gsw_factor_refactor(context, factor, s->there,
                                      options->kind == GSW_FACTOR_LU ? &s->unmasked : NULL));
}

/* Solves with a factor of the system, which is described. */
static void check_factor(const mask_system *s, gsw_factor *factor,
                         const gsw_factor_options *options) {
    const size_t mark = keep_mark();
    const compact *c = &s->c;
    const gsw_dtype type = options->vector_type;
    const double tolerance = fmax(tolerance_of(options), 1e-13);
    const int64_t ld = c->points + GAP;
    const compact_factor f = compact_factorise(c, options);
    double *b[COLUMNS], *expected[COLUMNS];
    random_columns(c, type, b);
    for (int r = 0; r < COLUMNS; r++) {
        expected[r] = keep_copy(b[r], c->n);
        compact_apply(c, &f, expected[r]);
    }
    const char *name = gsw_factor_kind_name(options->kind);
    device_vector there_b = put_columns(c, type, b), x = keep_guarded(type, COLUMNS * ld);
    must(context, gsw_factor_solve(context, factor, COLUMNS, there_b.values, ld, x.values, ld));
    expect_columns(s, &x, expected, tolerance, name);
    device_vector y = put_columns(c, type, b);
    must(context, gsw_factor_solve(context, factor, COLUMNS, y.values, ld, y.values, ld));
    expect_columns(s, &y, expected, tolerance, name);
    const int sweeps = gsw_factor_sweeps(factor);
    for (int which = 0; which < sweeps; which++)
        must(context, gsw_factor_sweep(context, factor, which, COLUMNS, there_b.values, ld,
                                       there_b.values, ld));
    if (sweeps > 0)
        expect_columns(s, &there_b, expected, tolerance, "sweep by sweep");
    keep_release(mark);
}

static void check_factors(const mask_system *s, int number) {
    for (int kind = 0; kind <= GSW_FACTOR_LU; kind++)
        for (int k = 0; k < 4; k += 2) { /* half of the transposes and unit diagonals */
            const size_t mark = keep_mark();
            const int i = 4 * kind + k + (number + kind + k / 2) % 2;
            gsw_factor_options options;
            if (!options_at(i, number % TYPES, &s->there->stencil, &options))
                continue;
            check_factor(s, keep_factor_of(s, &options), &options);
            keep_release(mark);
        }
}

TEST(factors) {
    check_cases(_i, check_factors);
}

static void solve_once(const gsw_grid *g, gsw_factor *factor, const double *b, double *x) {
    const int64_t n = oracle_points(g);
    const size_t mark = keep_mark(), bytes = (size_t)n * sizeof *b;
    device_vector there = keep_guarded(GSW_F64, n);
    device_put(context, &there, b);
    must(context, gsw_factor_solve(context, factor, 1, there.values, n, there.values, n));
    memcpy(x, mask_get(&there), bytes);
    keep_release(mark);
}

/* A factor follows the masks that it gets, also none. */
static void check_refactor(int layout, gsw_factor_kind kind) {
    const size_t mark = keep_mark();
    const gsw_grid g = grids[4];
    const gsw_stencil *stencil = oracle_stencil_named("D3N15");
    const gsw_factor_options options = {.size = sizeof options, .kind = kind, .omega = OMEGA};
    const mask_layout *how = &mask_layouts[layout];
    const mask_system s = mask_random(&g, stencil, mask_of_share(&g, 0.5, 1), how);
    const mask_system next = mask_random(&g, stencil, mask_of_share(&g, 0.8, 2), how);
    mask_system whole = mask_random(&g, stencil, mask_of_share(&g, 1, 3), how);
    const int64_t n = s.c.points;
    gsw_factor *factor = keep_factor_of(&s, &options);
    check_factor(&s, factor, &options);
    refactor(factor, &next, &options);
    check_factor(&next, factor, &options);

    whole.there = &whole.unmasked;
    refactor(factor, &whole, &options);
    check_factor(&whole, factor, &options);
    double *b = keep_random(7, n), *x = keep_zeros(n), *expected = keep_zeros(n);
    solve_once(&g, factor, b, x);
    solve_once(&g, keep_factor_of(&whole, &options), b, expected);
    if (!how->constant)
        ck_assert_mem_eq(x, expected, (size_t)n * sizeof *x);

    refactor(factor, &s, &options);
    check_factor(&s, factor, &options);
    gsw_factor *unmasked = keep_factor_of(&whole, &options);
    if (!how->constant) {
        refactor(unmasked, &next, &options);
        check_factor(&next, unmasked, &options);
    }
    keep_release(mark);
}

TEST(refactors) {
    for (int layout = 0; layout < MASK_LAYOUTS; layout++)
        for (int kind = 0; kind <= GSW_FACTOR_LU; kind++)
            if ((layout + kind) % backend_stride() == 0 || kind == GSW_SSOR)
                check_refactor(layout, (gsw_factor_kind)kind);
}

/* A refused matrix changes neither the values nor the mask. */
TEST(refused_refactors) {
    const gsw_grid g = grids[4], larger = {130, 110, 7};
    const gsw_stencil *stencil = oracle_stencil_named("D3N7");
    const mask_system s = mask_random(&g, stencil, mask_of_share(&g, 0.5, 1), mask_arrays());
    const mask_system next = mask_random(&g, stencil, mask_of_share(&g, 0.8, 2), mask_arrays());
    const gsw_matrix *big =
        keep_there(context, &keep_matrix_of(&larger, stencil, 3, ORACLE_POSITIVE)->view);
    const gsw_factor_options ilu0 = {.size = sizeof ilu0, .kind = GSW_ILU0};
    const gsw_factor_options lu = {.size = sizeof lu, .kind = GSW_FACTOR_LU};
    gsw_factor *factor = keep_factor_of(&s, &ilu0), *two = keep_factor_of(&s, &lu), *made = NULL;
    const gsw_matrix *const matrices[] = {next.there, &next.unmasked, big};
    for (int i = 0; i < LENGTH(matrices); i++) {
        const int fits = matrices[i] != big;
        expect_rejection(gsw_factor_refactor(context, factor, matrices[i], &next.unmasked),
                         fits ? "upper must be NULL" : "its grid is not the factor's");
        check_factor(&s, factor, &ilu0);
        expect_rejection(gsw_factor_refactor(context, two, matrices[i], fits ? NULL : big),
                         fits ? "upper is NULL" : "its grid is not the factor's");
        check_factor(&s, two, &lu);
    }
    expect_rejection(gsw_factor_refactor(context, two, next.there, big),
                     "upper: its grid is not the factor's");
    check_factor(&s, two, &lu);
    expect_rejection(gsw_factor_create_lu(context, s.there, big, NULL, &made),
                     "upper: its grid is not the factor's");
    ck_assert_ptr_null(made);
}

/* A value of an inactive row is not a bad pivot, and not too large for fp32. */
TEST(pivots) {
    const gsw_grid g = {9, 4, 3};
    const gsw_stencil *stencil = oracle_stencil_named("D3N7");
    oracle_matrix *m = keep_matrix_of(&g, stencil, 3, ORACLE_POSITIVE);
    uint8_t *active = mask_of_share(&g, 0.5, 3);
    for (int64_t row = 0; row < oracle_points(&g); row++)
        for (int32_t e = 0; e < stencil->count && !active[row]; e++)
            ((double *)m->arrays[e])[row] = row % 2 ? 1e300 : 0;
    m->view.active = active;
    const gsw_matrix *there = keep_there(context, &m->view);
    for (int kind = 0; kind < GSW_FACTOR_LU; kind++) {
        gsw_factor *factor = keep_factor(
            context, there,
            (gsw_factor_options){.kind = (gsw_factor_kind)kind, .factor_type = GSW_F32});
        gsw_factor_info info = {.size = sizeof info};
        must(context, gsw_factor_get_info(factor, &info));
        ck_assert_int_eq(info.first_bad_row, -1);
        ck_assert_int_eq(info.shifted_pivots, 0);
    }
    int64_t bad = 0;
    while (!active[bad])
        bad++;
    ((double *)m->arrays[stencil->center])[bad] = 0;
    const gsw_factor_options options = {.size = sizeof options, .kind = GSW_JACOBI};
    gsw_factor *factor;
    char words[32];
    snprintf(words, sizeof words, "row %lld", (long long)bad);
    expect_refusal(gsw_factor_create(context, keep_there(context, &m->view), &options, &factor),
                   GSW_ERROR_ZERO_PIVOT, words);
}

/* ---- smoothers and stencil loops ---- */

static void check_smooth(const mask_system *s, int number) {
    static const gsw_factor_kind kinds[] = {GSW_SSOR, GSW_ILU0, GSW_FACTOR_LOWER, GSW_JACOBI};
    const compact *c = &s->c;
    const double *b = compact_random(c, GSW_F64, 1), *guess = compact_random(c, GSW_F64, 2);
    device_vector there_b = mask_put(c, GSW_F64, b), work = keep_guarded(GSW_F64, c->points);
    double *r = keep_zeros(c->n);
    for (int k = 0; k < LENGTH(kinds); k++)
        for (int zero = 0; zero < 2; zero++) {
            const gsw_factor_options options = {.size = sizeof options, .kind = kinds[k]};
            const int32_t sweeps = (number + k + zero) % 4;
            const compact_factor f = compact_factorise(c, &options);
            double *x = zero ? keep_zeros(c->n) : keep_copy(guess, c->n);
            for (int32_t sweep = 0; sweep < sweeps; sweep++) {
                compact_residual(c, b, x, r);
                compact_apply(c, &f, r);
                for (int64_t i = 0; i < c->n; i++)
                    x[i] += r[i];
            }
            device_vector there = mask_put(c, GSW_F64, guess);
            must(context, gsw_smooth(context, s->there, keep_factor(context, s->there, options),
                                     sweeps, zero, (double *)there_b.values, (double *)there.values,
                                     (double *)work.values));
            mask_expect(s, &there, x, 1e-13, gsw_factor_kind_name(kinds[k]));
        }
}

/* The formulas of relax.h. */
static void expect_loop(const compact *c, const gsw_relax_options *options, int32_t sweeps,
                        const double *b, double *x) {
    const double center = (options->highest + options->lowest) / 2,
                 half = (options->highest - options->lowest) / 2, sigma = center / half;
    double *r = keep_zeros(c->n), *p = keep_zeros(c->n), rho = 1 / sigma;
    for (int32_t s = 0; s < sweeps; s++) {
        double alpha = options->weight, beta = 0;
        if (options->method == GSW_RELAX_CHEBYSHEV) {
            const double next = 1 / (2 * sigma - rho);
            alpha = s == 0 ? 1 / center : 2 * next / half;
            beta = s == 0 ? 0 : next * rho;
            rho = s == 0 ? rho : next;
        }
        compact_residual(c, b, x, r);
        for (int64_t i = 0; i < c->n; i++) {
            p[i] = alpha * r[i] / c->value[c->center[i]] + beta * p[i];
            x[i] += p[i];
        }
    }
}

static void check_loop(const mask_system *s, int number) {
    const compact *c = &s->c;
    const double *b = compact_random(c, GSW_F64, 1), *guess = compact_random(c, GSW_F64, 2);
    device_vector there_b = mask_put(c, GSW_F64, b);
    for (int k = 0; k < 4; k++) {
        const gsw_relax_options options = {.size = sizeof options,
                                           .method = k & 1 ? GSW_RELAX_CHEBYSHEV : GSW_RELAX_JACOBI,
                                           .weight = k & 1 ? 0 : 0.7,
                                           .lowest = 0.3,
                                           .highest = 1.8};
        const int32_t sweeps = (number + k) % 7;
        const int zero = k >> 1;
        double *x = zero ? keep_zeros(c->n) : keep_copy(guess, c->n);
        gsw_relax *relax = keep_relax(context, s->there, options);
        device_vector there = mask_put(c, GSW_F64, guess);
        expect_loop(c, &options, sweeps, b, x);
        if (number & 1)
            must(context, gsw_relax_refactor(context, relax, s->there));
        must(context, gsw_relax_run(context, relax, sweeps, zero, (double *)there_b.values,
                                    (double *)there.values));
        if (sweeps > 0 || zero) /* else x stays as it is */
            mask_expect(s, &there, x, 1e-13, gsw_relax_method_name(options.method));
    }
}

TEST(smoothers) {
    check_cases(_i, check_smooth);
}

TEST(stencil_loops) {
    check_cases(_i, check_loop);
}

/* A loop with copies of its own takes any mask, also none. */
TEST(refactored_loops) {
    const gsw_grid g = grids[4];
    const gsw_stencil *stencil = oracle_stencil_named("D3N19");
    for (int layout = 0; layout < MASK_LAYOUTS; layout++) {
        const size_t mark = keep_mark();
        const mask_layout *how = &mask_layouts[layout];
        const mask_system s = mask_random(&g, stencil, mask_of_share(&g, 0.5, 1), how);
        const mask_system next = mask_random(&g, stencil, mask_of_share(&g, 0.8, 2), how);
        mask_system whole = mask_random(&g, stencil, mask_of_share(&g, 1, 3), how);
        whole.there = &whole.unmasked;
        const mask_system *const all[] = {&s, &next, &whole, &s};
        const gsw_relax_options options = {.size = sizeof options, .weight = 0.8};
        gsw_relax *relax = keep_relax(context, s.there, options);
        for (int i = 0; i < LENGTH(all); i++) {
            const compact *c = &all[i]->c;
            const double *b = compact_random(c, GSW_F64, 1);
            double *x = keep_zeros(c->n);
            device_vector there_b = mask_put(c, GSW_F64, b);
            device_vector there = keep_guarded(GSW_F64, c->points);
            expect_loop(c, &options, 4, b, x);
            must(context, gsw_relax_refactor(context, relax, all[i]->there));
            must(context, gsw_relax_run(context, relax, 4, 1, (double *)there_b.values,
                                        (double *)there.values));
            mask_expect(all[i], &there, x, 1e-13, "loop with other values");
        }
        keep_release(mark);
    }
}

/* ---- all of these on a grid that threads share ---- */

TEST(large_grids) {
    static const check_fn checks[] = {check_products, check_sptrsv, check_factors, check_smooth,
                                      check_loop};
    static const struct {
        const char *stencil;
        double share;
        int layout;
    } cases[] = {{"D3N7", 0.5, 0}, {"D3N27", 0.97, 2}, {"D3N13", 0.03, 1}, {"D3N7", 0.6, 6}};
    if (on_reference() && _i > 0)
        return;
    for (int k = 0; k < LENGTH(cases); k++)
        check_case(&large_grid, cases[k].share, cases[k].stencil, cases[k].layout, checks[_i],
                   k + 1);
}

/* ---- Krylov methods ---- */

/* Layouts in which a flow stays what it is. */
enum { FLOWS = 5 };

static mask_system ocean(const gsw_grid *g, const mask_flow *flow, uint64_t seed, int layout) {
    return mask_flow_system(g, mask_ocean(g, 0.35, seed), flow, &mask_layouts[layout]);
}

/* What x holds at an inactive point before a solve. */
static double left_at(int64_t row) {
    return row % 2 ? NAN : 3 + (double)row;
}

static double *guess_of(const compact *c, const double *active) {
    double *x = compact_spread(c, GSW_F64, active, 0);
    for (int64_t row = 0; row < c->points; row++)
        if (!c->active[row])
            x[row] = left_at(row);
    return x;
}

static device_vector put_guess(const compact *c, const double *active) {
    device_vector there = keep_guarded(GSW_F64, c->points);
    device_put(context, &there, guess_of(c, active));
    return there;
}

/* Inactive points are 0, or have what they had. */
static void check_inactive(const compact *c, const double *x, int kept) {
    for (int64_t row = 0; row < c->points; row++) {
        const double expected = kept ? left_at(row) : 0;
        ck_assert_msg(c->active[row] || x[row] == expected ||
                          (kept && isnan(expected) && isnan(x[row])),
                      "inactive point %lld holds %g, not %g", (long long)row, x[row], expected);
    }
}

static void remove_mean(int64_t n, double *v) {
    double sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += v[i];
    for (int64_t i = 0; i < n; i++)
        v[i] -= sum / (double)n;
}

/* The residual of the compact system, divided by b; both without their means if there is a null
 * vector. */
static double true_residual(const compact *c, const double *b, const double *x, int null) {
    double *active = compact_gather(c, GSW_F64, x), *r = keep_zeros(c->n);
    double *wanted = keep_copy(b, c->n);
    compact_residual(c, b, active, r);
    if (null) {
        remove_mean(c->n, r);
        remove_mean(c->n, wanted);
    }
    return vector_norm(c->n, r) / vector_norm(c->n, wanted);
}

/* A claim of a result about the compact system. */
static void check_claim(const mask_system *s, const double *b, const double *x, int null,
                        double claimed, double rtol, const char *what) {
    const double residual = true_residual(&s->c, b, x, null);
    ck_assert_msg(residual <= rtol, "%s: %s: residual %g", s->name, what, residual);
    ck_assert_msg(fabs(residual - claimed) <= 1e-3 * residual + 1e-11,
                  "%s: %s: residual %g, but the result says %g", s->name, what, residual, claimed);
}

static gsw_preconditioner *keep_precond(const mask_system *s, int kind) {
    return kind < 0
               ? NULL
               : keep_factor_M(context,
                               keep_factor(context, s->there,
                                           (gsw_factor_options){.kind = (gsw_factor_kind)kind}));
}

static void check_krylov(const mask_system *s, gsw_method method, int kind,
                         const gsw_krylov_options *options) {
    const size_t mark = keep_mark();
    const compact *c = &s->c;
    const double *b = compact_random(c, GSW_F64, 1);
    device_vector there_b = mask_put(c, GSW_F64, b);
    device_vector there = put_guess(c, compact_random(c, GSW_F64, 2));
    gsw_krylov_result result = {.size = sizeof result};
    must(context,
         gsw_krylov(context, method, keep_operator(context, s->there), keep_precond(s, kind),
                    options, there_b.values, there.values, &result));
    const double *x = mask_get(&there);
    ck_assert_int_eq(result.converged, 1);
    check_inactive(c, x, options->keep_inactive != 0);
    /* the other norm is that of M^-1 r */
    check_claim(s, b, x, options->nullspace != GSW_NULLSPACE_NONE, result.residual,
                options->norm == GSW_NORM_TRUE ? 1e-9 : 1e-6, gsw_method_name(method));
    if (options->nullspace == GSW_NULLSPACE_CONSTANT) {
        double *mean = compact_gather(c, GSW_F64, x), sum = 0, of_b = 0;
        for (int64_t i = 0; i < c->n; i++) {
            sum += mean[i];
            of_b += b[i];
        }
        ck_assert(fabs(sum) <= 1e-10 * vector_norm(c->n, mean) * sqrt((double)c->n));
        /* Rounded to fp32, a row does not quite add up to 0, nor does a column. */
        ck_assert(fabs(result.removed - fabs(of_b) / sqrt((double)c->n) / vector_norm(c->n, b)) <=
                  (s->type == GSW_F32 ? 1e-6 : 1e-12));
    }
    keep_release(mark);
}

static const gsw_grid krylov_grids[] = {{40, 33, 1}, {13, 11, 9}};

/* From a few hundred to a thousand active points. */
TEST(krylov_methods) {
    static const struct {
        gsw_method method;
        mask_flow flow;
        int kinds[6]; /* -1: no preconditioner; -2: the end */
    } cases[] = {
        {GSW_CG, {0.01, 0, 1, NULL}, {-1, GSW_JACOBI, GSW_IC0, GSW_SSOR, GSW_DILU, -2}},
        {GSW_BICGSTAB, {0.01, 1, 1, NULL}, {-1, GSW_ILU0, GSW_SSOR, GSW_JACOBI, -2}},
        {GSW_GMRES, {0.1, 1, 1, NULL}, {-1, GSW_ILU0, GSW_DILU, -2}},
        {GSW_RICHARDSON, {1, 0, 1, NULL}, {GSW_SSOR, GSW_ILU0, -2}},
    };
    const gsw_grid *g = &krylov_grids[_i % 2];
    for (int k = 0; k < LENGTH(cases); k++) {
        const mask_system s = ocean(g, &cases[k].flow, 1 + (uint64_t)_i, (k + _i) % FLOWS);
        for (int m = 0; cases[k].kinds[m] != -2; m++)
            for (int kept = 0; kept < 2; kept++) {
                const gsw_krylov_options options = {
                    .size = sizeof options,
                    .rtol = 1e-9,
                    .keep_inactive = kept,
                    .eisenstat = m % 2 ? GSW_EISENSTAT_ALWAYS : GSW_EISENSTAT_AUTO,
                    .norm = kept && m == 1 ? GSW_NORM_PRECONDITIONED : GSW_NORM_TRUE};
                check_krylov(&s, cases[k].method, cases[k].kinds[m], &options);
            }
    }
}

/* Nothing flows out of a basin, so constants are in the null space. */
TEST(null_spaces) {
    static const mask_flow flow = {0, 0, 1, NULL};
    for (int k = 0; k < LENGTH(krylov_grids); k++) {
        const mask_system s = ocean(&krylov_grids[k], &flow, 5, k);
        const compact *c = &s.c;
        double *ones = keep_filled(c->n, 2.5);
        device_vector null = mask_put(c, GSW_F64, ones);
        for (int kept = 0; kept < 2; kept++) {
            gsw_krylov_options options = {.size = sizeof options,
                                          .rtol = 1e-9,
                                          .keep_inactive = kept,
                                          .nullspace = GSW_NULLSPACE_CONSTANT};
            check_krylov(&s, GSW_CG, -1, &options);
            check_krylov(&s, GSW_CG, GSW_SSOR, &options);
            check_krylov(&s, GSW_BICGSTAB, GSW_DILU, &options);
            options.nullspace = GSW_NULLSPACE_VECTOR;
            options.null_vector = null.values;
            check_krylov(&s, GSW_CG, GSW_SSOR, &options);
            check_krylov(&s, GSW_GMRES, GSW_DILU, &options);
        }
    }
}

/* Several systems have the bits of each alone. */
TEST(several_systems) {
    enum { SYSTEMS = 5 };
    static const mask_flow flow = {0.01, 0.5, 1, NULL}, even = {0.01, 0, 1, NULL};
    const gsw_grid *g = &krylov_grids[1];
    for (int k = 0; k < 6; k++) {
        const size_t mark = keep_mark();
        const gsw_method method = k % 3 == 0 ? GSW_CG : k % 3 == 1 ? GSW_BICGSTAB : GSW_GMRES;
        const mask_system s = ocean(g, method == GSW_CG ? &even : &flow, 2, k % FLOWS);
        const compact *c = &s.c;
        const int64_t ld = c->points + GAP;
        const gsw_krylov_options options = {.size = sizeof options,
                                            .rtol = 1e-9,
                                            .keep_inactive = k & 1,
                                            .eisenstat = GSW_EISENSTAT_NEVER};
        const gsw_operator *op = keep_operator(context, s.there);
        gsw_preconditioner *M = keep_precond(&s, k < 3 ? GSW_ILU0 : -1);
        device_vector b = keep_guarded(GSW_F64, SYSTEMS * ld),
                      x = keep_guarded(GSW_F64, SYSTEMS * ld);
        double *all_b = keep_filled(SYSTEMS * ld, NAN), *all_x = keep_filled(SYSTEMS * ld, NAN);
        double *of[SYSTEMS];
        gsw_krylov_result results[SYSTEMS], alone = {.size = sizeof alone};
        for (int i = 0; i < SYSTEMS; i++) {
            results[i].size = sizeof results[i];
            of[i] = i == 2 ? keep_zeros(c->n) : compact_random(c, GSW_F64, 30 + (uint64_t)i);
            memcpy(all_b + i * ld, compact_spread(c, GSW_F64, of[i], NAN),
                   (size_t)c->points * sizeof(double));
            memcpy(all_x + i * ld, guess_of(c, keep_filled(c->n, i)),
                   (size_t)c->points * sizeof(double));
        }
        device_put(context, &b, all_b);
        device_put(context, &x, all_x);
        must(context, gsw_krylov_many(context, method, op, M, &options, SYSTEMS, b.values, ld,
                                      x.values, ld, results));
        const double *found = mask_get(&x);
        for (int i = 0; i < SYSTEMS; i++) {
            const double *own = found + i * ld;
            check_inactive(c, own, k & 1);
            device_vector there_b = mask_put(c, GSW_F64, of[i]);
            device_vector there = put_guess(c, keep_filled(c->n, i));
            must(context, gsw_krylov(context, method, op, M, &options, there_b.values, there.values,
                                     &alone));
            ck_assert_mem_eq(own, mask_get(&there), (size_t)c->points * sizeof(double));
            ck_assert_int_eq(results[i].iterations, alone.iterations);
            if (i != 2)
                check_claim(&s, of[i], own, 0, results[i].residual, 1e-9, "many");
        }
        keep_release(mark);
    }
}

/* A solve that ends early keeps x at inactive points, too. */
TEST(early_ends) {
    static const mask_flow flow = {0.01, 0, 1, NULL};
    const mask_system s = ocean(&krylov_grids[1], &flow, 2, 0);
    const compact *c = &s.c;
    for (int k = 0; k < 8; k++) {
        const int kept = k & 1, none = k >> 1 & 1;
        const gsw_method method = k & 4 ? GSW_GMRES : GSW_CG;
        const gsw_krylov_options options = {
            .size = sizeof options, .max_iterations = 2, .keep_inactive = kept};
        const double *b = none ? keep_zeros(c->n) : compact_random(c, GSW_F64, 1);
        device_vector there_b = mask_put(c, GSW_F64, b);
        device_vector there = put_guess(c, keep_filled(c->n, 1));
        const gsw_status status = gsw_krylov(context, method, keep_operator(context, s.there), NULL,
                                             &options, there_b.values, there.values, NULL);
        ck_assert_int_eq(status, none ? GSW_SUCCESS : GSW_ERROR_NOT_CONVERGED);
        const double *x = mask_get(&there), *active = compact_gather(c, GSW_F64, x);
        check_inactive(c, x, kept);
        for (int64_t i = 0; i < c->n; i++)
            ck_assert(none ? active[i] == 0 : isfinite(active[i]));
    }
}

/* ---- multigrid ---- */

static const mask_flow gentle = {1e-4, 0, 1, NULL};

/* Iterations of CG with a hierarchy of the system. */
static int64_t iterations_of(const mask_system *s, gsw_multigrid *mg, gsw_method method) {
    const size_t mark = keep_mark();
    const compact *c = &s->c;
    const gsw_krylov_options options = {.size = sizeof options, .max_iterations = 200};
    const double *b = compact_random(c, GSW_F64, 1);
    device_vector there_b = mask_put(c, GSW_F64, b), there = put_guess(c, keep_zeros(c->n));
    gsw_krylov_result result = {.size = sizeof result};
    must(context, gsw_krylov(context, method, keep_operator(context, s->there),
                             keep_multigrid_M(context, mg), &options, there_b.values, there.values,
                             &result));
    const double *x = mask_get(&there);
    check_inactive(c, x, 0);
    check_claim(s, b, x, 0, result.residual, 1e-8, "multigrid");
    keep_release(mark);
    return result.iterations;
}

/* At most so many, and one more with cycles in fp32. */
static void check_iterations(const mask_system *s, int64_t most) {
    for (int type = GSW_F64; type <= GSW_F32; type++) {
        const int64_t count =
            iterations_of(s,
                          keep_multigrid(context, s->there,
                                         (gsw_multigrid_options){.cycle_type = (gsw_dtype)type}),
                          GSW_CG);
        ck_assert_msg(count <= most, "%s: %lld points: %lld iterations, more than %lld", s->name,
                      (long long)s->c.n, (long long)count, (long long)most);
        if (type == GSW_F64)
            most = count + 1;
    }
}

TEST(oceans) {
    static const gsw_grid sizes[] = {{64, 64, 1}, {96, 80, 1}, {128, 128, 1}};
    for (int g = 0; g < LENGTH(sizes) - on_reference(); g++)
        for (uint64_t seed = 1; seed < 4; seed++) {
            const size_t mark = keep_mark();
            const mask_system s = ocean(&sizes[g], &gentle, seed, (g + (int)seed) % FLOWS);
            check_iterations(&s, 13);
            keep_release(mark);
        }
}

TEST(oceans_in_depth) {
    const gsw_grid g = {32, 32, 32};
    for (uint64_t seed = 1; seed < (on_reference() ? 2 : 3); seed++) {
        const mask_system s = ocean(&g, &gentle, seed, 0);
        check_iterations(&s, 20);
    }
}

TEST(holes) {
    const gsw_grid g = {32, 32, 32};
    for (uint64_t seed = 1; seed < (on_reference() ? 2 : 3); seed++) {
        const mask_system s =
            mask_flow_system(&g, mask_holes(&g, 0.3, seed), &gentle, mask_arrays());
        check_iterations(&s, 22);
    }
}

/* Any share of active points, also none, and any grid. Half of the points are many basins: where
 * the shift is far below the weak couplings of the hierarchy, each of them takes an iteration. */
TEST(hierarchies_of_all_masks) {
    static const mask_flow flow = {0.1, 0, 1, NULL};
    for (int g = 0; g < LENGTH(grids); g++)
        for (int k = 0; k < LENGTH(shares); k++) {
            const size_t mark = keep_mark();
            const mask_system s =
                mask_flow_system(&grids[g], mask_of_share(&grids[g], shares[k], 4), &flow,
                                 &mask_layouts[(g + k) % FLOWS]);
            const compact *c = &s.c;
            gsw_multigrid *mg = keep_multigrid(context, s.there, (gsw_multigrid_options){0});
            if (c->n > 0)
                ck_assert_int_le(iterations_of(&s, mg, GSW_CG), 40);
            device_vector b = mask_put(c, GSW_F64, compact_random(c, GSW_F64, 1));
            device_vector x = keep_guarded(GSW_F64, c->points);
            must(context, gsw_multigrid_apply(context, mg, (double *)b.values, (double *)x.values));
            const double *host = mask_get(&x);
            check_inactive(c, host, 0);
            for (int64_t row = 0; row < c->points; row++)
                ck_assert(isfinite(host[row]));
            keep_release(mark);
        }
}

static double *apply_once(const mask_system *s, gsw_multigrid *mg, int in_place) {
    const compact *c = &s->c;
    device_vector b = mask_put(c, GSW_F64, compact_random(c, GSW_F64, 1));
    device_vector x = keep_guarded(GSW_F64, c->points);
    must(context, gsw_multigrid_apply(context, mg, (double *)b.values,
                                      (double *)(in_place ? b.values : x.values)));
    double *host = mask_get(in_place ? &b : &x);
    check_inactive(c, host, 0);
    for (int64_t row = 0; row < c->points; row++)
        ck_assert(isfinite(host[row]));
    return host;
}

/* Each smoother and cycle converges; other values and another mask give what a new hierarchy
 * gives. */
TEST(smoothers_of_hierarchies) {
    static const mask_flow other = {1e-3, 0, 1, NULL};
    const gsw_grid g = _i % 2 ? (gsw_grid){17, 18, 19} : (gsw_grid){48, 40, 1};
    const mask_system s = ocean(&g, &gentle, 3, _i % FLOWS);
    const mask_system next = ocean(&g, &other, 4, _i % FLOWS);
    const size_t bytes = (size_t)s.c.points * sizeof(double);
    for (int smoother = GSW_SMOOTHER_AUTO; smoother <= GSW_SMOOTHER_MULTICOLOR; smoother++)
        for (int type = GSW_F64; type <= GSW_F32; type++) {
            const size_t mark = keep_mark();
            const gsw_multigrid_options options = {.smoother = (gsw_smoother)smoother,
                                                   .cycle_type = (gsw_dtype)type,
                                                   .cycle = smoother % 3 == 0 ? GSW_CYCLE_W
                                                                              : GSW_CYCLE_V};
            gsw_multigrid *mg = keep_multigrid(context, s.there, options);
            ck_assert_mem_eq(apply_once(&s, mg, 0), apply_once(&s, mg, 1), bytes);
            must(context, gsw_multigrid_refactor(context, mg, next.there));
            gsw_multigrid *fresh = keep_multigrid(context, next.there, options);
            ck_assert_mem_eq(apply_once(&next, mg, 0), apply_once(&next, fresh, 0), bytes);
            const int64_t count = iterations_of(&next, mg, GSW_CG);
            ck_assert_msg(count <= 30, "%s: %lld iterations",
                          gsw_smoother_name((gsw_smoother)smoother), (long long)count);
            keep_release(mark);
        }
}

TEST(hierarchies_of_convection) {
    static const mask_flow flow = {1e-2, 2, 1, NULL};
    const gsw_grid g = {40, 33, 1};
    const mask_system s = ocean(&g, &flow, 6, 0);
    for (int smoother = GSW_SMOOTHER_AUTO; smoother <= GSW_SMOOTHER_MULTICOLOR; smoother++)
        ck_assert_int_le(iterations_of(&s,
                                       keep_multigrid(context, s.there,
                                                      (gsw_multigrid_options){
                                                          .smoother = (gsw_smoother)smoother}),
                                       GSW_BICGSTAB),
                         40);
}

/* Couplings along diagonals, and to points two away. */
TEST(wide_stencils) {
    static const struct {
        gsw_grid grid;
        const char *stencil;
    } cases[] = {{{64, 64, 1}, "D2N9"},
                 {{24, 23, 22}, "D3N27"},
                 {{24, 23, 22}, "D3N19"},
                 {{24, 23, 22}, "D3N15"},
                 {{24, 23, 22}, "D3N13"}};
    for (int k = 0; k < LENGTH(cases); k++) {
        const size_t mark = keep_mark();
        const mask_flow flow = {1e-4, 0, 1, cases[k].stencil};
        const mask_system s = ocean(&cases[k].grid, &flow, 3, k);
        check_iterations(&s, 25);
        keep_release(mark);
    }
}

/* A basin without outflow is recognised as singular. */
TEST(singular_basins) {
    static const mask_flow flow = {0, 0, 1, NULL};
    const gsw_grid g = {48, 40, 1};
    const mask_system s = ocean(&g, &flow, 3, 0);
    const compact *c = &s.c;
    const gsw_krylov_options options = {.size = sizeof options,
                                        .rtol = 1e-9,
                                        .max_iterations = 25,
                                        .nullspace = GSW_NULLSPACE_CONSTANT};
    gsw_multigrid *mg = keep_multigrid(context, s.there, (gsw_multigrid_options){0});
    gsw_multigrid_info info = {.size = sizeof info};
    must(context, gsw_multigrid_get_info(mg, &info));
    ck_assert_int_eq(info.singular, 1);
    ck_assert_int_eq(info.symmetric, 1);
    const double *b = compact_random(c, GSW_F64, 1);
    device_vector there_b = mask_put(c, GSW_F64, b), there = put_guess(c, keep_zeros(c->n));
    gsw_krylov_result result = {.size = sizeof result};
    must(context, gsw_cg(context, keep_operator(context, s.there), keep_multigrid_M(context, mg),
                         &options, there_b.values, there.values, &result));
    check_claim(&s, b, mask_get(&there), 1, result.residual, 1e-9, "singular");
}

/* ---- solvers ---- */

/* Solves with everything chosen. */
static gsw_solver_report check_solver_on(const mask_system *s, gsw_solver *solver,
                                         const gsw_krylov_options *krylov) {
    const size_t mark = keep_mark();
    const compact *c = &s->c;
    const double *b = compact_random(c, GSW_F64, 1);
    device_vector there_b = mask_put(c, GSW_F64, b), there = put_guess(c, keep_zeros(c->n));
    gsw_solver_report report = {.size = sizeof report};
    must(context, gsw_solver_solve(context, solver, there_b.values, there.values, &report));
    const double *x = mask_get(&there);
    ck_assert_int_eq(report.converged, 1);
    check_inactive(c, x, krylov->keep_inactive != 0);
    check_claim(s, b, x, krylov->nullspace != GSW_NULLSPACE_NONE, report.residual, 1e-8,
                report.precond);
    keep_release(mark);
    return report;
}

static void check_solver(const mask_system *s, const mask_system *next, int null,
                         int64_t attempts) {
    for (int kept = 0; kept < 2; kept++) {
        const gsw_krylov_options krylov = {.size = sizeof krylov,
                                           .keep_inactive = kept,
                                           .nullspace =
                                               null ? GSW_NULLSPACE_CONSTANT : GSW_NULLSPACE_NONE};
        const gsw_solver_options options = {.size = sizeof options, .krylov = &krylov};
        gsw_solver *solver = NULL;
        must(context, gsw_solver_create(context, s->there, &options, &solver));
        gsw_solver_report report = check_solver_on(s, solver, &krylov);
        ck_assert_msg(report.attempts <= attempts, "%s: %s", s->name, report.fallback);
        must(context, gsw_solver_update(context, solver, next->there));
        report = check_solver_on(next, solver, &krylov);
        ck_assert_msg(report.attempts <= attempts, "%s: %s", s->name, report.fallback);
        gsw_solver_destroy(solver);
    }
}

TEST(solvers) {
    static const struct {
        gsw_grid grid;
        mask_flow flow;
        int null, attempts; /* at most */
    } cases[] = {
        {{64, 64, 1}, {1e-4, 0, 1, NULL}, 0, 1},   {{20, 21, 22}, {1e-4, 0, 1, NULL}, 0, 1},
        {{64, 64, 1}, {1e-4, 0, -1, NULL}, 0, 1},  {{64, 64, 1}, {1e-3, 1, 1, NULL}, 0, 2},
        {{20, 21, 22}, {1e-3, 1, -1, NULL}, 0, 2}, {{64, 64, 1}, {0, 0, 1, NULL}, 1, 1},
        {{64, 64, 1}, {1e-2, 0.2, 1, NULL}, 0, 1}, {{13, 11, 7}, {5, 0, 1, NULL}, 0, 1}};
    for (int k = 0; k < LENGTH(cases); k++) {
        const size_t mark = keep_mark();
        mask_flow other = cases[k].flow;
        other.shift *= 2;
        const mask_system s = ocean(&cases[k].grid, &cases[k].flow, 7, k % FLOWS);
        const mask_system next = ocean(&cases[k].grid, &other, 8, k % FLOWS);
        check_solver(&s, &next, cases[k].null, cases[k].attempts);
        keep_release(mark);
    }
}

/* A guess that is no number makes the solver begin again from 0: at active points only, and
 * whatever b holds at the others. */
TEST(further_attempts) {
    static const mask_flow flow = {0.01, 0, 1, NULL};
    const mask_system s = ocean(&krylov_grids[1], &flow, 2, 0);
    const compact *c = &s.c;
    for (int kept = 0; kept < 2; kept++) {
        const gsw_krylov_options krylov = {.size = sizeof krylov, .keep_inactive = kept};
        const gsw_solver_options options = {.size = sizeof options, .krylov = &krylov};
        const double *b = compact_random(c, GSW_F64, 1);
        double *guess = compact_random(c, GSW_F64, 2);
        guess[c->n / 2] = NAN;
        device_vector there_b = mask_put(c, GSW_F64, b), there = put_guess(c, guess);
        gsw_solver_report report = {.size = sizeof report};
        must(context, gsw_solve(context, s.there, &options, there_b.values, there.values, &report));
        ck_assert_int_gt(report.attempts, 1);
        check_inactive(c, mask_get(&there), kept);
        check_claim(&s, b, mask_get(&there), 0, report.residual, 1e-8, "further attempts");
    }
}

TEST(one_call) {
    for (int k = 0; k < LENGTH(shares); k++) {
        const gsw_grid g = {24, 21, 3};
        const mask_system s =
            mask_flow_system(&g, mask_of_share(&g, shares[k], 4), &gentle, mask_arrays());
        const compact *c = &s.c;
        const double *b = compact_random(c, GSW_F64, 1);
        device_vector there_b = mask_put(c, GSW_F64, b), there = put_guess(c, keep_zeros(c->n));
        gsw_solver_report report = {.size = sizeof report};
        must(context, gsw_solve(context, s.there, NULL, there_b.values, there.values, &report));
        check_inactive(c, mask_get(&there), 0);
        if (c->n > 0)
            check_claim(&s, b, mask_get(&there), 0, report.residual, 1e-8, "gsw_solve");
    }
}

/* Oceans with lakes, whose means little but the hierarchy holds: as few iterations as without. */
TEST(lakes) {
    static const struct {
        const char *problem;
        int most;
    } oceans_with_lakes[] = {{"ocean:0.35:48x44x64", 17},
                             {"ocean:0.5:64x61x50", 17},
                             {"ocean:0.35:256x256", 19},
                             {"ocean:0.5:300x311", 19}};
    for (int k = 0; k < (on_reference() ? 1 : LENGTH(oceans_with_lakes)); k++) {
        const size_t mark = keep_mark();
        const gsw_matrix *host = keep_problem(oceans_with_lakes[k].problem);
        const size_t bytes = (size_t)oracle_points(&host->grid) * sizeof(double);
        const gsw_matrix *there = keep_there(context, host);
        const double *b = keep_upload(context, keep_filled(oracle_points(&host->grid), 1), bytes);
        double *x = keep_upload(context, keep_zeros(oracle_points(&host->grid)), bytes);
        gsw_multigrid *mg = keep_multigrid(context, there, (gsw_multigrid_options){0});
        for (int turn = 0; turn < 2; turn++) {
            gsw_solver_report report = {.size = sizeof report};
            gsw_krylov_result result = {.size = sizeof result};
            must(context, gsw_solve(context, there, NULL, b, x, &report));
            ck_assert_msg(report.converged && report.iterations <= oceans_with_lakes[k].most,
                          "%s: %lld iterations", oceans_with_lakes[k].problem,
                          (long long)report.iterations);
            must(context, gsw_memory_set(context, x, 0, bytes));
            must(context, gsw_cg(context, keep_operator(context, there),
                                 keep_multigrid_M(context, mg), NULL, b, x, &result));
            ck_assert_int_le(result.iterations, oceans_with_lakes[k].most);
            must(context, gsw_memory_set(context, x, 0, bytes));
            must(context, gsw_multigrid_refactor(context, mg, there));
        }
        keep_release(mark);
    }
}

/* ---- copies and refusals ---- */

/* Host arrays: active rows as they were, the others those of the identity. */
static void check_csr(const mask_system *s, const gsw_matrix *clean, gsw_part part) {
    const uint8_t *active = s->host.active;
    gsw_csr csr;
    must(cpu, gsw_matrix_to_csr(cpu, &s->host, part, GSW_I64, &csr));
    (void)keep_csr(csr);
    const int64_t *row_ptr = csr.row_ptr, *columns = csr.columns;
    for (int64_t row = 0; row < s->c.points; row++) {
        int found = 0;
        for (int64_t k = row_ptr[row]; k < row_ptr[row + 1]; k++) {
            const int64_t column = columns[k];
            const double value = oracle_get(csr.value_type, csr.values, k);
            double expected = row == column;
            found += row == column;
            ck_assert(part == GSW_FULL || (part == GSW_LOWER ? column <= row : column >= row));
            if (active[row])
                expected = 0;
            for (int32_t e = 0; active[row] && e < clean->stencil.count; e++)
                if (active[column] &&
                    hard_neighbour(&clean->grid, row, clean->stencil.offsets[e]) == column)
                    gsw_reference_entry(clean, row, e, &expected);
            ck_assert_msg(value == expected, "%s: row %lld, column %lld: %g, not %g", s->name,
                          (long long)row, (long long)column, value, expected);
        }
        ck_assert_msg(found == 1, "%s: row %lld has no diagonal", s->name, (long long)row);
    }
}

TEST(copies) {
    const gsw_grid g = {7, 6, 5};
    const gsw_stencil *stencil = oracle_stencil_named("D3N15");
    for (int l = 0; l < MASK_LAYOUTS; l++)
        for (int part = GSW_LOWER; part <= GSW_FULL; part++) {
            const mask_layout *how = &mask_layouts[l];
            const mask_system s = mask_random(&g, stencil, mask_of_share(&g, 0.6, 2), how);
            const mask_system whole = mask_random(&g, stencil, mask_of_share(&g, 1, 2), how);
            check_csr(&s, &whole.host, (gsw_part)part);
        }
}

TEST(refusals) {
    const gsw_grid g = {9, 8, 7};
    const gsw_stencil *stencil = oracle_stencil_named("D3N7");
    const mask_system s = mask_random(&g, stencil, mask_of_share(&g, 0.6, 2), mask_arrays());
    const mask_system whole = mask_random(&g, stencil, mask_of_share(&g, 1, 2), mask_arrays());
    gsw_relax *plain = keep_relax(context, &whole.unmasked, (gsw_relax_options){0});
    expect_rejection(gsw_relax_refactor(context, plain, s.there),
                     "it has a mask, but the loop's first matrix had none");
    gsw_multigrid *mg = keep_multigrid(context, s.there, (gsw_multigrid_options){0});
    expect_rejection(gsw_multigrid_refactor(context, mg, &whole.unmasked), "matrix: ");
    gsw_multigrid *without = keep_multigrid(context, &whole.unmasked, (gsw_multigrid_options){0});
    expect_rejection(gsw_multigrid_refactor(context, without, s.there), "matrix: ");
    (void)apply_once(&s, mg, 0); /* a refused argument changes nothing */

    const mask_layout *constants = &mask_layouts[6];
    const mask_system repeat = mask_random(&g, stencil, mask_of_share(&g, 0.6, 2), constants);
    gsw_factor *factor =
        keep_factor(context, &repeat.unmasked, (gsw_factor_options){.kind = GSW_SSOR});
    expect_rejection(gsw_factor_refactor(context, factor, repeat.there, NULL),
                     "do not repeat like those");

    gsw_krylov_options options = {.size = sizeof options, .keep_inactive = 2};
    device_vector b = mask_put(&s.c, GSW_F64, keep_zeros(s.c.n)),
                  x = put_guess(&s.c, keep_zeros(s.c.n));
    expect_rejection(
        gsw_cg(context, keep_operator(context, s.there), NULL, &options, b.values, x.values, NULL),
        "keep_inactive is 2; it must be 0 or 1");
    const void *arrays[GSW_STENCIL_MAX];
    gsw_matrix lacking = s.host, made;
    memcpy(arrays, s.host.array.values, (size_t)stencil->count * sizeof *arrays);
    arrays[stencil->center] = NULL;
    lacking.array.values = arrays;
    expect_rejection(gsw_matrix_upload(context, &lacking, &made),
                     "a matrix with a mask needs an array for its diagonal");
    if (!on_cuda())
        return;
    gsw_matrix elsewhere = *s.there;
    elsewhere.active = s.host.active;
    expect_rejection(gsw_spmv(context, &elsewhere, GSW_F64, x.values, b.values), "active");
}

/* What the calls of a process end with, and whether each names the mask. */
enum { SHARED_CALLS = 4 };
typedef struct refused {
    const gsw_matrix *whole; /* on the host */
    gsw_status status[2][SHARED_CALLS];
    int named[2][SHARED_CALLS];
} refused;

/* One of the processes gives a mask, and the other none. */
static void give_one_mask(hub_rank *rank, const gsw_transport *transport, void *user) {
    refused *r = user;
    gsw_context *here = oracle_context(1);
    gsw_partition *p = NULL;
    gsw_matrix own = {.partition = NULL};
    gsw_factor *factor;
    gsw_multigrid *mg;
    gsw_operator *op;
    gsw_solver *solver;
    gsw_status *status = r->status[rank->rank];
    status[0] = gsw_partition_create(here, transport, &r->whole->grid, NULL, &p);
    if (p != NULL)
        status[0] = gsw_partition_scatter(p, 0, rank->rank == 0 ? r->whole : NULL, &own);
    gsw_matrix given = own;
    if (rank->rank == 1)
        given.active = NULL;
    for (int call = 0; call < SHARED_CALLS && own.active != NULL; call++) {
        status[call] = call == 0   ? gsw_operator_from_matrix(here, &given, &op)
                       : call == 1 ? gsw_factor_create(here, &given, NULL, &factor)
                       : call == 2 ? gsw_multigrid_create(here, &given, NULL, &mg)
                                   : gsw_solver_create(here, &given, NULL, &solver);
        r->named[rank->rank][call] = strstr(gsw_context_message(here),
                                            "mask (active): process 1 passes another one") != NULL;
    }
    gsw_matrix_release(here, &own);
    gsw_partition_destroy(p);
    gsw_context_destroy(here);
}

TEST(processes_without_a_mask_beside_others) {
    const gsw_grid g = {9, 8, 7};
    const mask_system s =
        mask_random(&g, oracle_stencil_named("D3N7"), mask_of_share(&g, 0.6, 2), mask_arrays());
    refused r = {.whole = &s.host};
    hub_run(2, 0, -1, give_one_mask, &r);
    for (int call = 0; call < SHARED_CALLS; call++)
        for (int rank = 0; rank < 2; rank++) {
            ck_assert_msg(r.status[rank][call] == GSW_ERROR_INVALID_ARGUMENT, "call %d: %s", call,
                          gsw_status_name(r.status[rank][call]));
            ck_assert_msg(r.named[rank][call], "call %d", call);
        }
}

/* ---- the same bits ---- */

/* Everything that a context makes of a system, one vector after the other. */
enum { RESULTS = 8 };

static void make_all(gsw_context *here, const gsw_matrix *m, const double *b, double *x) {
    const int64_t n = oracle_points(&m->grid);
    const gsw_factor_options ilu0 = {.kind = GSW_ILU0};
    const gsw_krylov_options few = {.size = sizeof few, .max_iterations = 8};
    gsw_factor *factor = keep_factor(here, m, ilu0);
    gsw_multigrid *mg = keep_multigrid(here, m, (gsw_multigrid_options){0});
    memset(x, 0, RESULTS * (size_t)n * sizeof *x);
    must(here, gsw_spmv(here, m, GSW_F64, b, x));
    must(here, gsw_sptrsv(here, m, NULL, 1, b, n, x + n, n));
    must(here, gsw_factor_solve(here, factor, 1, b, n, x + 2 * n, n));
    must(here, gsw_smooth(here, m, factor, 2, 0, b, x + 3 * n, keep_zeros(n)));
    must(here,
         gsw_relax_run(here, keep_relax(here, m, (gsw_relax_options){0}), 5, 1, b, x + 4 * n));
    must(here, gsw_multigrid_apply(here, mg, b, x + 5 * n));
    (void)gsw_bicgstab(here, keep_operator(here, m), keep_factor_M(here, factor), &few, b,
                       x + 6 * n, NULL);
    must(here, gsw_solve(here, m, NULL, b, x + 7 * n, NULL));
}

TEST(numbers_of_threads) {
    static const mask_flow flow = {0.01, 0, 1, NULL};
    const mask_system s = ocean(_i ? &large_grid : &krylov_grids[1], &flow, 9, _i ? 0 : 2);
    const int64_t n = s.c.points;
    const size_t bytes = RESULTS * (size_t)n * sizeof(double);
    double *first = keep_zeros(RESULTS * n), *other = keep_zeros(RESULTS * n);
    const double *b = compact_spread(&s.c, GSW_F64, compact_random(&s.c, GSW_F64, 1), NAN);
    make_all(keep_context(1), &s.host, b, first);
    for (int threads = 2; threads <= 3; threads++) {
        make_all(keep_context(threads), &s.host, b, other);
        ck_assert_mem_eq(first, other, bytes);
    }
}

int main(int argc, char **argv) {
    backend_choose(argc, argv);
    Suite *suite = suite_create("mask");
    TCase *tc = context_case(suite, "mask", 240);
    LOOPS(tc, LENGTH(stencils), products, triangular_solves, factors, smoothers, stencil_loops);
    TESTS(tc, workspaces, refactors, refused_refactors, pivots, refactored_loops);
    LOOPS(tc, 5, large_grids);
    LOOPS(tc, 2, krylov_methods);
    TESTS(tc, null_spaces, several_systems, early_ends);
    TESTS(tc, oceans, oceans_in_depth, holes, hierarchies_of_all_masks);
    LOOPS(tc, 2, smoothers_of_hierarchies);
    TESTS(tc, hierarchies_of_convection, wide_stencils, singular_basins, solvers, further_attempts,
          one_call, lakes);
    TESTS(tc, copies, refusals);
    if (on_cpu())
        TESTS(tc, processes_without_a_mask_beside_others);
    if (on_cpu())
        LOOPS(tc, 2, numbers_of_threads);
    return backend_run_suite(suite);
}
