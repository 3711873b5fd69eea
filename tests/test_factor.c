/* test_factor.c: packed factors on each backend (backend.h) against the textbook: every kind of
 * factorisation against the serial oracles, every solve against the reference sweep on the oracles'
 * L and U. Factors of changed or large matrices are compared with those of the CPU.
 *
 * GSW_TEST_STRIDE=6 in the environment tries one grid in six. */
#include <float.h>

#include "common/csr.h"
#include "sweep_pair.h"

/* ---- every grid, stencil, layout, type and kind ---- */

/* The type of the matrix's values: mostly the factor's, for some grids the other one. */
static gsw_dtype values_for(int type, int grid) {
    const gsw_dtype factor = types[type].factor;
    return grid % 5 == 4 ? (factor == GSW_F64 ? GSW_F32 : GSW_F64) : factor;
}

/* One factor with the k-th options; returns 0 where they do not fit the stencil. */
static int check_case(gsw_grid grid, const gsw_stencil *stencil, int k, int type, int variant,
                      int64_t count) {
    gsw_factor_options options;
    if (!options_at(k, type, stencil, &options))
        return 0;
    recipe r = recipe_of(grid, stencil, diagonal_for(options.kind), variant + 1);
    r.layout = variant % LAYOUTS;
    r.values = values_for(type, variant);
    r.alone = options.kind != GSW_FACTOR_LU;
    problem q = problem_open(&r);
    check_options(&q, &options, count, variant);
    problem_close(&q);
    return 1;
}

TEST(solves_equal_the_textbook) {
    static const int64_t counts[] = {1, 3, 8, 5, 2};
    const int stride = device_stride();
    const char *name;
    const gsw_stencil *stencil = oracle_stencil(_i, &name);
    int combinations = 0;
    for (int g = _i % stride; g < oracle_grid_count(); g += stride)
        for (int k = 0; k < OPTIONS; k++)
            combinations += check_case(oracle_grid(g), stencil, k, (g + k) % TYPES, g + k / 2,
                                       counts[(g + k / 4) % LENGTH(counts)]);
    printf("%s: %d combinations equal the textbook\n", name, combinations);
    ck_assert_int_ge(combinations, 300 / (stride > 1 ? 2 * stride : 1));
}

/* In every third of these grids pencils have few planes. */
TEST(short_lines_equal_the_textbook) {
    for (int i = _i % short_stride(); i < ORACLE_SHORT_GRIDS; i += short_stride())
        for (int k = i % 16; k < OPTIONS; k += 16)
            check_case(oracle_short_grid(i), oracle_stencil(_i, NULL), k, (i + k / 4) % TYPES,
                       i + k / 2, 1 + i % 2);
}

/* One sweep out of place, in each context. */
static void check_half(const pair *p, int which) {
    block v = block_open(p, 1, 3);
    expected_sweep(p->truth, which, v.b, v.expected);
    for (int i = 0; i < p->q->c.all; i++) {
        gsw_context *here = p->q->c.here[i];
        device_poison(p->q->c.here[0], &v.here_x);
        pair_must(
            p, here,
            gsw_factor_sweep(here, p->here[i], which, 1, v.here_b.values, 0, v.here_x.values, 0),
            "sweeping");
        block_check(&v, which ? "second sweep" : "first sweep");
    }
    block_close(&v);
}

TEST(sweeps_are_the_two_halves) {
    static const gsw_factor_kind kinds[] = {GSW_ILU0, GSW_DILU, GSW_FACTOR_LU};
    const int stride = device_stride();
    for (int g = _i % stride; g < oracle_grid_count(); g += stride)
        for (int k = 0; k < LENGTH(kinds); k++) {
            const gsw_factor_options options = {.size = sizeof options, .kind = kinds[k]};
            recipe r = recipe_of(oracle_grid(g), oracle_stencil(_i, NULL), ORACLE_ANY_SIGN, g + 1);
            r.layout = g % LAYOUTS;
            problem q = problem_open(&r);
            pair p = pair_open(&q, &options);
            ck_assert_int_eq(gsw_factor_sweeps(p.here[0]), 2);
            check_half(&p, 0);
            check_half(&p, 1);
            pair_close(&p);
            problem_close(&q);
        }
}

/* ---- the factors themselves ---- */

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

/* Largest |got - wanted| over max(|wanted|, a hundredth of the row's largest entry). */
static double entries_error(const gsw_matrix *got, const gsw_matrix *wanted) {
    double error = 0;
    for (int64_t i = 0; i < oracle_points(&wanted->grid); i++) {
        double largest = 0, a, b;
        for (int32_t e = 0; e < wanted->stencil.count; e++) {
            gsw_reference_entry(wanted, i, e, &b);
            largest = fmax(largest, fabs(b));
        }
        for (int32_t e = 0; e < wanted->stencil.count; e++) {
            gsw_reference_entry(wanted, i, e, &b);
            gsw_reference_entry(got, i, e, &a);
            if (a != b)
                error = fmax(error, fabs(a - b) / fmax(fabs(b), 0.01 * largest));
        }
    }
    return error;
}

/* An extracted factor is a good matrix with the whole stencil's pattern, and equals the textbook's.
 */
static void check_extracted(const pair *p, const oracle_matrix *wanted, gsw_part part,
                            const gsw_csr *csr) {
    const oracle_layout layout = {.format = GSW_FORMAT_CSR, .part = part};
    const gsw_matrix *m = &wanted->view;
    const char *name = part == GSW_LOWER ? "L" : "U";
    oracle_matrix *pattern = oracle_convert(wanted, &layout);
    gsw_matrix got;
    ck_assert_int_eq(csr->nonzeros, pattern->view.csr.nonzeros);
    ck_assert_int_eq(csr->base, 0);
    device_try(p->q->c.cpu, gsw_matrix_from_csr(p->q->c.cpu, &m->grid, &m->stencil, csr, &got));
    pair_must(p, p->q->c.cpu, gsw_matrix_validate(p->q->c.cpu, &got), name);
    const double error = entries_error(&got, m);
    ck_assert_msg(error <= 1e-14, "%s: %s: error %g", p->text, name, error);
    oracle_free(pattern);
}

/* What is extracted equals what the CPU extracts, and that in fp64 the textbook's L and U. */
static void check_extraction(const pair *p, gsw_itype type) {
    const gsw_factor_kind kind = p->options.kind;
    const int has_lower = kind != GSW_FACTOR_UPPER, has_upper = kind != GSW_FACTOR_LOWER;
    gsw_csr l[2] = {{0}, {0}}, u[2] = {{0}, {0}};
    pair_must(p, p->q->c.cpu,
              gsw_factor_extract(p->q->c.cpu, p->cpu, type, has_lower ? &l[0] : NULL,
                                 has_upper ? &u[0] : NULL),
              "extracting on the CPU");
    pair_must(p, p->q->c.here[0],
              gsw_factor_extract(p->q->c.here[0], p->here[0], type, has_lower ? &l[1] : NULL,
                                 has_upper ? &u[1] : NULL),
              "extracting");
    if (has_lower)
        compare_csr(p, "L", &l[1], &l[0]);
    if (has_upper)
        compare_csr(p, "U", &u[1], &u[0]);
    const int compared = p->truth != NULL && !on_cuda() && p->options.factor_type == GSW_F64 &&
                         !p->options.unit_diagonal;
    if (compared && kind == GSW_FACTOR_LU)
        oracle_fill(GSW_F64, p->truth->lower->arrays[p->q->recipe.stencil->center], p->q->n, 1);
    if (compared && has_lower)
        check_extracted(p, p->truth->lower, GSW_LOWER, &l[1]);
    if (compared && has_upper)
        check_extracted(p, p->truth->upper, GSW_UPPER, &u[1]);
    for (int side = 0; side < 2; side++) {
        gsw_csr_free(&u[side]);
        gsw_csr_free(&l[side]);
    }
}

static int can_be_extracted(const gsw_factor_options *options) {
    return options->kind != GSW_JACOBI && options->kind != GSW_SSOR && !options->transpose;
}

/* On the CPU each kind is extracted in fp64, too. */
TEST(extracted_factors_equal_the_textbook) {
    const int stride = device_stride();
    for (int g = _i % stride; g < oracle_grid_count(); g += stride)
        for (int k = 0; k < 2 * OPTIONS; k++) {
            const int t = k < OPTIONS ? (g + k / 2) % TYPES : 0;
            gsw_factor_options options;
            if (!options_at(k % OPTIONS, t, oracle_stencil(_i, NULL), &options) ||
                !can_be_extracted(&options) ||
                (on_cuda()      ? k >= OPTIONS
                 : k >= OPTIONS ? options.unit_diagonal
                                : g % 5 > 0))
                continue;
            recipe r = recipe_of(oracle_grid(g), oracle_stencil(_i, NULL),
                                 diagonal_for(options.kind), k + 3);
            r.layout = (g + k / 4) % LAYOUTS;
            r.values = types[t].factor;
            problem q = problem_open(&r);
            pair p = pair_open(&q, &options);
            check_extraction(&p, g % 2 ? GSW_I32 : GSW_I64);
            pair_close(&p);
            problem_close(&q);
        }
}

TEST(ilu0_by_hand) {
    /*     4 1 0           1            4 1   0
     * A = 2 5 1 , so  L = 0.5 1    U =   4.5 1
     *     0 9 8           0   2 1            6      */
    static const int row_ptr[] = {0, 2, 5, 7}, columns[] = {0, 1, 0, 1, 2, 1, 2};
    static const double values[] = {4, 1, 2, 5, 1, 9, 8}, b[] = {6, 12.5, 31};
    static const double l_values[] = {1, 0.5, 1, 2, 1}, u_values[] = {4, 1, 4.5, 1, 6};
    const gsw_csr csr = {
        .rows = 3, .nonzeros = 7, .row_ptr = row_ptr, .columns = columns, .values = values};
    const gsw_grid grid = {3, 1, 1};
    gsw_context *context = both.cpu;
    gsw_stencil stencil;
    gsw_matrix matrix;
    gsw_factor *factor;
    gsw_csr l, u;
    double x[3];
    ck_assert_int_eq(gsw_stencil_named("D2N5", &stencil), GSW_SUCCESS);
    ck_assert_int_eq(gsw_matrix_from_csr(context, &grid, &stencil, &csr, &matrix), GSW_SUCCESS);
    ck_assert_int_eq(gsw_factor_create(context, &matrix, NULL, &factor), GSW_SUCCESS);
    ck_assert_int_eq(gsw_factor_extract(context, factor, GSW_I32, &l, &u), GSW_SUCCESS);
    for (int p = 0; p < 5; p++) {
        ck_assert_double_eq_tol(((const double *)l.values)[p], l_values[p], 1e-15);
        ck_assert_double_eq_tol(((const double *)u.values)[p], u_values[p], 1e-14);
    }
    /* A is tridiagonal, so ILU(0) is LU: L y = b gives y = 6, 9.5, 12; U x = y gives this. */
    ck_assert_int_eq(gsw_factor_solve(context, factor, 1, b, 0, x, 0), GSW_SUCCESS);
    ck_assert_double_eq_tol(x[2], 2, 1e-14);
    ck_assert_double_eq_tol(x[1], 7.5 / 4.5, 1e-14);
    ck_assert_double_eq_tol(x[0], (6 - 7.5 / 4.5) / 4, 1e-14);
    gsw_csr_free(&l);
    gsw_csr_free(&u);
    gsw_factor_destroy(factor);
}

/* ---- matrices of all sorts ---- */

/* A coupling whose array is NULL does not exist. Without the array of the diagonal, only solves
 * with a unit diagonal work. */
TEST(arrays_may_be_null) {
    static const gsw_factor_kind kinds[] = {GSW_ILU0,         GSW_DILU,         GSW_SSOR,
                                            GSW_FACTOR_LOWER, GSW_FACTOR_UPPER, GSW_FACTOR_LU};
    for (int i = 0; i < oracle_stencil_count(); i += device_stride()) {
        const recipe r = {.grid = {19, 7, 5}, .stencil = oracle_stencil(i, NULL), .seed = 9};
        for (int unit = 0; unit < 2; unit++) {
            problem q = problem_open(&r);
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
}

TEST(arrays_may_be_unaligned) {
    for (int i = 0; i < oracle_stencil_count(); i += wide_stride()) {
        for (int k = 0; k < LAYOUTS * TYPES; k++) {
            const int t = k / LAYOUTS;
            recipe r =
                recipe_of((gsw_grid){37, 11, 6}, oracle_stencil(i, NULL), ORACLE_ANY_SIGN, 3);
            r.layout = k % LAYOUTS;
            r.values = types[t].factor;
            shifted shift;
            problem q = problem_open(&r);
            shift_matrix(&q, &shift);
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
            unshift_matrix(&q, &shift);
            problem_close(&q);
        }
    }
}

/* A refactored factor gives the bits of a new one, from another layout too. Of some, the solves
 * before and after are checked as well. */
static void check_refactor(const problem *old, const problem *new,
                           const gsw_factor_options *options, int shifts) {
    const int whole = !old->recipe.by_cpu;
    pair reused = pair_open(old, options);
    pair fresh = pair_open(new, options);
    block v = block_open(&reused, 1, 5);
    block_solve(&v);
    if (whole)
        check_pair(&reused, 1, shifts);
    pair_refactor(&reused, new);
    if (whole)
        check_pair(&reused, 3, shifts);
    v.p = &fresh;
    block_check_all(&v);
    v.p = &reused;
    block_check_repeat(&v, "after a refactor", 0);
    block_close(&v);
    pair_close(&fresh);
    pair_close(&reused);
}

TEST(refactor_is_a_new_factor) {
    const gsw_stencil *stencil = oracle_stencil(_i, NULL);
    for (int k = _i % short_stride(); k < OPTIONS * TYPES; k += short_stride()) {
        const int t = k % TYPES;
        gsw_factor_options options;
        if (!options_at(k / TYPES, t, stencil, &options))
            continue;
        recipe r = recipe_of((gsw_grid){19, 7, 5}, stencil, diagonal_for(options.kind), 1);
        r.layout = k % LAYOUTS;
        r.values = types[t].factor;
        r.by_cpu = k % wide_stride() != _i % wide_stride();
        problem old = problem_open(&r);
        r.layout = (k + 1) % LAYOUTS;
        r.seed = 2;
        problem new = problem_open(&r);
        check_refactor(&old, &new, &options, k);
        problem_close(&new);
        problem_close(&old);
    }
}

/* ---- larger grids, on a device ---- */

static const gsw_grid large[] = {
    {5, 70, 6},  {100, 3, 40}, {6, 3, 120},  {70, 5, 6},   {1000, 1, 1}, {300, 200, 1},
    {1, 257, 5}, {200, 1, 90}, {3, 200, 40}, {33, 29, 31}, {65, 64, 63},
};
#define MANY_POINTS 100000

TEST(large_grids_equal_the_cpu) {
    static const gsw_factor_kind kinds[] = {GSW_ILU0, GSW_IC0,          GSW_SSOR,
                                            GSW_DILU, GSW_FACTOR_LOWER, GSW_FACTOR_UPPER};
    contexts c = contexts_open(4, NULL);
    const gsw_stencil *stencil = oracle_stencil(_i, NULL);
    for (int g = 0; g < LENGTH(large); g++) {
        const int many = oracle_points(&large[g]) > MANY_POINTS;
        const int t = (g + _i) % TYPES;
        recipe r = recipe_of(large[g], stencil, ORACLE_POSITIVE, 2);
        r.layout = g % 2;
        r.values = types[many ? 0 : t].factor;
        r.alone = 1;
        r.by_cpu = 1;
        problem q = problem_open_in(&c, &r);
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

/* A factor that eliminates nothing, and a triangular one, which has `more` right-hand sides beside
 * the first. */
static void check_sweeps(gsw_grid grid, const gsw_stencil *stencil, uint64_t seed, int more) {
    static const gsw_factor_kind kinds[] = {GSW_SSOR, GSW_FACTOR_LOWER};
    recipe r = recipe_of(grid, stencil, ORACLE_POSITIVE, seed);
    r.alone = 1;
    r.by_cpu = 1;
    contexts c = contexts_open(4, NULL);
    problem q = problem_open_in(&c, &r);
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
TEST(lines_along_x_equal_the_cpu) {
    static const gsw_stencil far = {
        .count = 5,
        .center = 2,
        .offsets = {{0, 0, -9}, {0, -4, 0}, {0, 0, 0}, {0, 4, 0}, {0, 0, 9}}};
    gsw_stencil near;
    ck_assert_int_eq(gsw_stencil_named("D3N7", &near), GSW_SUCCESS);
    check_sweeps((gsw_grid){160, 161, 170}, _i > 0 ? &far : &near, 3, 0);
}

/* So many pencils with so short lines that two blocks share a multiprocessor. */
static const char *const boxes[] = {"D3N15", "D3N19", "D3N27", "D3N33"};

TEST(short_lines_equal_the_cpu) {
    static const gsw_grid grids[] = {{16, 150, 140}, {5, 150, 140}};
    for (int g = 0; g < LENGTH(grids); g++)
        check_sweeps(grids[g], oracle_stencil_named(boxes[_i]), 4, 2);
}

/* Eight right-hand sides, and more pencils than any of their groups has slots of faces. */
TEST(many_pencils_equal_the_cpu) {
    check_sweeps((gsw_grid){120, 150, 140}, oracle_stencil_named(cubes[_i]), 5, 7);
}

/* Also: for a cube, the memory is little more than one value per offset and point. */
TEST(cube_of_128_equals_the_cpu) {
    const gsw_factor_options options = {.size = sizeof options, .kind = GSW_ILU0};
    gsw_factor_info info = {.size = sizeof info};
    cube u;
    cube_open(&u, _i, 128, 8, NULL, &options);
    block_check_all(&u.v);
    ck_assert_int_eq(gsw_factor_get_info(u.p.here[0], &info), GSW_SUCCESS);
    const double least = 8.0 * info.stencil.count * (double)u.q.n;
    ck_assert_msg((double)info.packed_bytes <= 1.07 * least, "%s: %lld bytes packed, %.0f needed",
                  u.p.text, (long long)info.packed_bytes, least);
    ck_assert_msg((double)info.work_bytes <= 0.2 * least, "%s: %lld bytes of work", u.p.text,
                  (long long)info.work_bytes);
    cube_close(&u);
}

/* Solves and factorisations. */
TEST(repetitions_give_the_same_bits) {
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

/* ---- values that are not numbers ---- */

static const gsw_grid odd_grids[] = {{1, 1, 1}, {70, 1, 1}, {9, 8, 1}, {1, 6, 7}, {40, 19, 6}};

/* Twelve ways to put something bad into b (the first six) or into the matrix. */
enum { OF_B = 6, TRIALS = 12 };
static const double bad_values[] = {NAN, INFINITY, -INFINITY};

static void spoil_b(double *b, int64_t n, int trial) {
    b[n * (trial % 4) / 4] = bad_values[trial % 3];
    b[n / 3] = bad_values[(trial + trial / 3) % 3];
}

static void spoil_matrices(problem *q, int trial) {
    const int32_t count = q->recipe.stencil->count;
    const int64_t row = q->n * (trial % 4) / 4;
    ((double *)q->lower->arrays[trial * 5 % count])[row] = bad_values[trial % 3];
    ((double *)q->upper->arrays[trial * 7 % count])[row / 2] = bad_values[trial % 3];
    problem_renew(q);
}

/* Creates on both sides: the same status, and after ZERO_PIVOT or NOT_A_GRID the same row in the
 * message. Returns the status. */
static gsw_status same_outcome(pair *p) {
    const gsw_status wanted = create_cpu(p);
    for (int i = 0; i < p->q->c.count; i++) {
        gsw_context *here = p->q->c.here[i];
        p->here[i] = (gsw_factor *)p; /* not NULL */
        const gsw_status status = create_here(p, i);
        ck_assert_msg(status == wanted, "%s: %s (%s), but %s (%s) on the CPU", p->text,
                      gsw_status_name(status), gsw_context_message(here), gsw_status_name(wanted),
                      gsw_context_message(p->q->c.cpu));
        if (status == GSW_ERROR_ZERO_PIVOT || status == GSW_ERROR_NOT_A_GRID)
            same_row(p->q->c.cpu, here, p->text);
        if (status != GSW_SUCCESS)
            ck_assert_msg(p->here[i] == NULL, "%s: a factor came with an error", p->text);
    }
    p->here[p->q->c.count] = p->cpu;
    return wanted;
}

/* One factor, and the trials from `first` on. */
static void check_spoilt(const problem *q, const gsw_factor_options *options, int first,
                         int after) {
    pair p = pair_of(q, options);
    const int created = same_outcome(&p) == GSW_SUCCESS;
    ck_assert_msg(created || first >= OF_B, "%s: not created", p.text);
    if (created)
        pair_expect(&p);
    for (int trial = first; created && trial < after; trial++) {
        char how[40];
        block v = block_open(&p, trial % 2 ? 3 : 1, 6);
        if (trial < OF_B)
            spoil_b(v.b, v.n, trial); /* the first right-hand side only */
        block_expect(&v);
        snprintf(how, sizeof how, "trial %d", trial);
        block_solve(&v);
        block_check(&v, how);
        block_close(&v);
    }
    pair_close(&p);
}

TEST(nan_and_infinity_travel_along_couplings_only) {
    for (int g = 0; g < LENGTH(odd_grids); g += short_stride()) {
        for (int trial = OF_B - 1; trial < TRIALS; trial++) {
            const recipe r = {.grid = odd_grids[g],
                              .stencil = oracle_stencil(_i, NULL),
                              .diagonal = ORACLE_POSITIVE,
                              .seed = 4};
            const int of_b = trial < OF_B; /* all of them with one matrix */
            const int step = of_b ? 1 : (g == LENGTH(odd_grids) - 1 ? 2 : 4) * (on_cuda() ? 1 : 4);
            problem q = problem_open(&r);
            if (!of_b)
                spoil_matrices(&q, trial);
            for (int k = (trial + g) % step; k < OPTIONS; k += step) {
                gsw_factor_options options;
                if (options_at(k, 0, r.stencil, &options))
                    check_spoilt(&q, &options, of_b ? 0 : trial, trial + 1);
            }
            problem_close(&q);
        }
    }
}

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
TEST(every_nan_is_a_nan) {
    static const gsw_grid grids[] = {{12, 12, 12}, {70, 33, 1}, {9, 26, 11}};
    for (int g = 0; g < LENGTH(grids); g++) {
        for (int k = _i % wide_stride(); k < OPTIONS; k += wide_stride()) {
            const int t = (g + k) % TYPES;
            gsw_factor_options options;
            if (!options_at(k, t, oracle_stencil(_i, NULL), &options))
                continue;
            recipe r = recipe_of(grids[g], oracle_stencil(_i, NULL), diagonal_for(options.kind), 4);
            r.values = types[t].factor;
            problem q = problem_open(&r);
            pair p = pair_open(&q, &options);
            for (int pattern = 0; pattern < NANS; pattern++) {
                const int64_t firsts[] = {0, 7, q.n - 1}, steps[] = {1, 200, 1};
                for (int where = 0; where < 3; where++) {
                    if (where > 0 && (pattern + k) % 3 != 0)
                        continue;
                    block v = block_open(&p, 1, 5);
                    check_pattern(&v, pattern, firsts[where], steps[where]);
                    block_close(&v);
                }
            }
            pair_close(&p);
            problem_close(&q);
        }
    }
}

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
TEST(denormal_inputs_count) {
    for (int t = 0; t < TYPES; t++) {
        const double least = 2 * (types[t].factor == GSW_F64 ? DBL_MIN : (double)FLT_MIN);
        recipe r = recipe_of((gsw_grid){23, 11, 9}, oracle_stencil(_i, NULL), ORACLE_ANY_SIGN, 4);
        r.values = types[t].factor;
        problem q = problem_open(&r);
        scale_matrix(q.lower, least);
        scale_matrix(q.upper, least);
        problem_renew(&q);
        for (int k = 0; k < 4; k++) {
            const gsw_factor_options options = {.size = sizeof options,
                                                .kind = k & 1 ? GSW_FACTOR_UPPER : GSW_FACTOR_LOWER,
                                                .transpose = k >> 1,
                                                .factor_type = types[t].factor,
                                                .vector_type = types[t].vector};
            pair p = pair_open(&q, &options);
            block v = block_open(&p, 1, 8);
            scale_b(&v, least / 2);
            block_check_all(&v);
            block_close(&v);
            pair_close(&p);
        }
        problem_close(&q);
    }
}

/* Products of two coefficients leave the range of numbers, which the factors do not. A sweep
 * computes pivots from such products (diagonal.cu). */
TEST(coefficients_may_be_tiny_or_huge) {
    static const double scales[] = {0x1p-600, 0x1p-520, 0x1p600};
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
            problem q = problem_open(&r);
            scale_matrix(q.lower, scales[i]);
            problem_renew(&q);
            check_options(&q, &options, 1, 0);
            problem_close(&q);
        }
    }
}

/* A row of U overflows, while the products and the pivots are ordinary numbers. The row after it
 * then has no pivot. */
TEST(an_infinite_coefficient_is_noticed) {
    const recipe r = {.grid = {23, 11, 9}, .stencil = oracle_stencil_named("D3N7"), .seed = 4};
    const int32_t before = 2, center = 3, after = 4; /* couplings along x */
    const int64_t row = 23 * 11 + 30;
    const gsw_factor_options options = {
        .size = sizeof options,
    };
    problem q = problem_open(&r);
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
}

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

TEST(denormal_solutions_count) {
    for (int t = 0; t < TYPES; t += 2) {
        const double least = types[t].vector == GSW_F64 ? 0x1p-1074 : 0x1p-149;
        for (int k = _i % wide_stride(); k < OPTIONS; k += wide_stride()) {
            gsw_factor_options options;
            if (!options_at(k, t, oracle_stencil(_i, NULL), &options))
                continue;
            recipe r = recipe_of((gsw_grid){23, 11, 9}, oracle_stencil(_i, NULL),
                                 diagonal_for(options.kind), 4);
            r.values = types[t].factor;
            problem q = problem_open(&r);
            pair p = pair_open(&q, &options);
            block v = block_open(&p, 1, 8);
            scale_b(&v, 10000 * least);
            check_denormal_solution(&v, least);
            block_close(&v);
            pair_close(&p);
            problem_close(&q);
        }
    }
}

/* Exactly the values that are finite by the textbook are finite here. */
static void check_finite(const block *v) {
    for (int64_t i = 0; i < v->n; i++) {
        const double x = oracle_get(v->type, v->x, i), y = oracle_get(v->type, v->expected, i);
        if ((isfinite(x) != 0) != (isfinite(y) != 0))
            ck_abort_msg("%s: row %lld: %g, not %g", v->p->text, (long long)i, x, y);
    }
}

/* LOWER, UPPER and LU take any diagonal. */
TEST(a_zero_divides_when_the_solve_runs) {
    const recipe r = {.grid = {13, 17, 5}, .stencil = oracle_stencil(_i, NULL), .seed = 3};
    problem q = problem_open(&r);
    ((double *)q.lower->arrays[r.stencil->center])[q.n / 2] = 0;
    ((double *)q.upper->arrays[r.stencil->center])[q.n / 3] = 0;
    problem_renew(&q);
    q.recipe.by_cpu = 0; /* the textbook divides by zero, too */
    for (int k = GSW_FACTOR_LOWER * 4; k < OPTIONS; k++) {
        gsw_factor_options options;
        options_at(k, 0, r.stencil, &options);
        pair p = pair_open(&q, &options);
        block v = block_open(&p, 1, 4);
        block_expect(&v);
        block_solve(&v);
        block_get(&v);
        check_finite(&v);
        block_close(&v);
        pair_close(&p);
    }
    problem_close(&q);
}

/* ---- bad pivots ---- */

/* Gives a row of stencil arrays no lower couplings and this diagonal, so that it is the pivot. */
static void plant(oracle_matrix *matrix, int64_t row, double pivot) {
    const int32_t center = matrix->view.stencil.center;
    for (int32_t e = 0; e <= center; e++)
        oracle_set(matrix->view.array.value_type, matrix->arrays[e], row, e < center ? 0 : pivot);
}

static const gsw_grid pivot_grids[] = {{40, 9, 6}, {1, 13, 11}, {130, 1, 1}, {17, 23, 1}};

TEST(bad_pivots_are_named) {
    static const double bad[] = {0, NAN, INFINITY, -1};
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
                problem q = problem_open(&r);
                plant(q.lower, q.n - 2, bad[k]);
                plant(q.lower, q.n / 3, bad[k]);
                problem_renew(&q);
                pair p = pair_of(&q, &options);
                char word[40];
                snprintf(word, sizeof word, "row %lld ", (long long)(q.n / 3));
                const gsw_status status = same_outcome(&p);
                ck_assert_msg(status == GSW_ERROR_ZERO_PIVOT, "%s, pivot %g: %s", p.text, bad[k],
                              gsw_status_name(status));
                must_say(both.cpu, word);
                problem_close(&q);
            }
        }
    }
}

/* Gives row `row` this diagonal or, where `coupling` is not 0, this value before the diagonal (-1)
 * or after it (1). Couplings before a diagonal are 0, so that it is the pivot. */
static void spoil_row(oracle_matrix *matrix, int64_t row, int coupling, double value) {
    const int32_t center = matrix->view.stencil.center;
    for (int32_t e = 0; e < center; e++)
        oracle_set(matrix->view.array.value_type, matrix->arrays[e], row, 0);
    oracle_set(matrix->view.array.value_type, matrix->arrays[center + coupling], row, value);
}

/* Creates a factor of the matrix in the memory of a context, or gives a factor its values. */
static gsw_status take_values(gsw_context *context, const oracle_matrix *matrix, gsw_format format,
                              const gsw_factor_options *options, gsw_factor **factor) {
    const int lu = options->kind == GSW_FACTOR_LU;
    const oracle_layout layout = {.format = format, .part = GSW_FULL};
    oracle_matrix *here = oracle_convert(matrix, &layout);
    gsw_matrix there;
    ck_assert_int_eq(gsw_matrix_upload(context, &here->view, &there), GSW_SUCCESS);
    const gsw_status status =
        *factor ? gsw_factor_refactor(context, *factor, &there, lu ? &there : NULL)
        : lu    ? gsw_factor_create_lu(context, &there, &there, options, factor)
                : gsw_factor_create(context, &there, options, factor);
    gsw_matrix_release(context, &there);
    oracle_free(here);
    return status;
}

/* For one stencil that has a name: a factor in fp32 refuses such a row, also as new values, and a
 * factor in fp64 takes it. */
static void check_beyond_f32(gsw_context *context, const gsw_stencil *stencil, gsw_format format) {
    static const struct {
        int coupling;
        double value;
        int unit_diagonal;
    } rows[] = {{0, 1e40, 0}, {0, -1e300, 0}, {0, 1e-40, 0},
                {1, 1e40, 0}, {-1, 1e300, 0}, {1, -1e200, 1}};
    static const gsw_grid grid = {13, 7, 5};
    const int64_t row = oracle_points(&grid) / 2;
    char word[40];
    snprintf(word, sizeof word, "row %lld (", (long long)row);
    for (int k = GSW_ILU0; k <= GSW_FACTOR_LU; k++)
        for (int i = 0; i < (int)(sizeof rows / sizeof *rows); i++) {
            gsw_factor_options options = {.size = sizeof options,
                                          .kind = (gsw_factor_kind)k,
                                          .factor_type = GSW_F32,
                                          .unit_diagonal = rows[i].unit_diagonal};
            /* IC0 reads the lower part, whose mirror image belongs to another row. */
            const int32_t e = stencil->center + rows[i].coupling;
            if (e < 0 || e >= stencil->count ||
                (k == GSW_IC0 && (rows[i].coupling || !is_symmetric(stencil))) ||
                (k == GSW_JACOBI && rows[i].coupling) ||
                (k == GSW_FACTOR_LOWER && rows[i].coupling > 0) ||
                (k == GSW_FACTOR_UPPER && rows[i].coupling < 0) ||
                (rows[i].unit_diagonal && k < GSW_FACTOR_LOWER))
                continue;
            oracle_matrix *good = oracle_random(&grid, stencil, 3, ORACLE_POSITIVE);
            oracle_matrix *bad = oracle_random(&grid, stencil, 3, ORACLE_POSITIVE);
            spoil_row(bad, row, rows[i].coupling, rows[i].value);
            gsw_factor *factor = NULL;
            gsw_status status = take_values(context, bad, format, &options, &factor);
            ck_assert_msg(status == GSW_ERROR_UNSUPPORTED &&
                              strstr(gsw_context_message(context), word) != NULL,
                          "%s, row %d: %s: %s", gsw_factor_kind_name(options.kind), i,
                          gsw_status_name(status), gsw_context_message(context));
            ck_assert_ptr_null(factor);
            ck_assert_int_eq(take_values(context, good, format, &options, &factor), GSW_SUCCESS);
            ck_assert_int_eq(take_values(context, bad, format, &options, &factor),
                             GSW_ERROR_UNSUPPORTED);
            ck_assert_int_eq(gsw_factor_extract(context, factor, GSW_I32, NULL, NULL),
                             k == GSW_SSOR || k == GSW_JACOBI ? GSW_ERROR_UNSUPPORTED
                                                              : GSW_ERROR_INVALID_ARGUMENT);
            ck_assert_int_eq(take_values(context, good, format, &options, &factor), GSW_SUCCESS);
            gsw_factor_destroy(factor);
            factor = NULL;
            options.factor_type = GSW_F64;
            status = take_values(context, bad, format, &options, &factor);
            ck_assert_msg(status == GSW_SUCCESS || status == GSW_ERROR_ZERO_PIVOT, "%s, row %d: %s",
                          gsw_factor_kind_name(options.kind), i, gsw_context_message(context));
            gsw_factor_destroy(factor);
            oracle_free(bad);
            oracle_free(good);
        }
}

TEST(values_beyond_fp32_are_refused) {
    for (int i = 0; i < both.all; i++) {
        check_beyond_f32(both.here[i], oracle_stencil(_i, NULL), GSW_FORMAT_STENCIL);
        check_beyond_f32(both.here[i], oracle_stencil(_i, NULL), GSW_FORMAT_CSR);
    }
}

/* A factor of `good` is usable again after a factorisation that failed. A refused argument leaves
 * the factor's values as they were. */
static void check_failures(pair *p, const problem *good, const problem *bad, const problem *wrong) {
    gsw_context *here = good->c.here[0];
    gsw_factor *factor = p->here[0];
    gsw_csr l = {0}, u = {0};
    block v = block_open(p, 1, 5);
    block_check_all(&v);
    for (int again = 0; again < 2; again++) {
        gsw_factor_info info = {.size = sizeof info};
        void *const b = v.here_b.values, *const x = v.here_x.values;
        must_refuse(here, gsw_factor_refactor(here, factor, &bad->here_lower, NULL),
                    GSW_ERROR_ZERO_PIVOT, "row 700 ");
        ck_assert_int_eq(gsw_factor_get_info(factor, &info), GSW_SUCCESS);
        ck_assert_int_eq(info.first_bad_row, 700);
        ck_assert_int_ne(gsw_factor_solve(here, factor, 1, b, 0, x, 0), GSW_SUCCESS);
        ck_assert_int_ne(gsw_factor_sweep(here, factor, 0, 1, b, 0, x, 0), GSW_SUCCESS);
        ck_assert_int_ne(gsw_factor_extract(here, factor, GSW_I32, &l, &u), GSW_SUCCESS);
        ck_assert_int_ne(gsw_factor_extract(here, factor, GSW_I32, NULL, NULL), GSW_SUCCESS);
        must_reject(gsw_factor_refactor(here, factor, &wrong->here_lower, NULL));
        pair_refactor(p, good);
        check_info(p);
        block_check_repeat(&v, "after a failed refactor", again);
        must_reject(gsw_factor_refactor(here, factor, &wrong->here_lower, NULL));
        must_reject(gsw_factor_refactor(here, factor, &good->here_lower, &good->here_lower));
        block_check_repeat(&v, "after a refused refactor", again);
    }
    block_close(&v);
}

TEST(a_failed_refactor_leaves_nothing_usable) {
    for (int kind = GSW_ILU0; kind <= GSW_JACOBI; kind++) {
        recipe r = {.grid = {11, 10, 9},
                    .stencil = oracle_stencil(2, NULL),
                    .diagonal = ORACLE_POSITIVE,
                    .seed = 3};
        const gsw_factor_options options = {
            .size = sizeof options, .omega = OMEGA, .kind = (gsw_factor_kind)kind};
        problem good = problem_open(&r);
        problem bad = problem_open(&r);
        r.grid.nz = 8;
        problem wrong = problem_open(&r);
        plant(bad.lower, 700, 0);
        problem_renew(&bad);
        pair p = pair_open(&good, &options);
        check_failures(&p, &good, &bad, &wrong);
        pair_close(&p);
        problem_close(&wrong);
        problem_close(&bad);
        problem_close(&good);
    }
}

/* As many, by the same numbers. */
TEST(bad_pivots_are_shifted_as_on_the_cpu) {
    for (int kind = GSW_ILU0; kind <= GSW_JACOBI; kind++) {
        for (int g = 0; g < LENGTH(pivot_grids); g++) {
            const int t = (g + kind) % TYPES;
            recipe r = recipe_of(pivot_grids[g], oracle_stencil(_i, NULL), ORACLE_POSITIVE, 3);
            r.values = types[t].factor;
            const gsw_factor_options options = {.size = sizeof options,
                                                .kind = (gsw_factor_kind)kind,
                                                .transpose = g % 2,
                                                .pivot_shift = 0.25 + kind,
                                                .factor_type = types[t].factor,
                                                .vector_type = types[t].vector};
            gsw_factor_info info = {.size = sizeof info};
            if (kind == GSW_IC0 && !is_symmetric(r.stencil))
                continue;
            problem q = problem_open(&r);
            plant(q.lower, q.n / 2, kind == GSW_IC0 ? -1 : 0);
            plant(q.lower, q.n / 2 + 9, 0);
            plant(q.lower, q.n / 5, 0);
            problem_renew(&q);
            pair p = pair_open(&q, &options);
            ck_assert_int_eq(gsw_factor_get_info(p.here[0], &info), GSW_SUCCESS);
            ck_assert_msg(info.shifted_pivots >= 3 || options.transpose, "%s: %lld pivots shifted",
                          p.text, (long long)info.shifted_pivots);
            check_pair(&p, 1, g);
            if (can_be_extracted(&options))
                check_extraction(&p, GSW_I32);
            pair_close(&p);
            problem_close(&q);
        }
    }
}

static void set_all_finite(oracle_matrix *matrix) {
    for (int32_t e = 0; e < matrix->view.stencil.count; e++)
        for (int64_t i = 0; i < oracle_points(&matrix->view.grid); i++)
            if (isnan(((double *)matrix->arrays[e])[i]))
                ((double *)matrix->arrays[e])[i] = 0;
}

/* The row's largest |coefficient|; of a symmetric matrix only the lower part is looked at. */
static double row_largest(const gsw_matrix *matrix, int64_t row, int symmetric) {
    const gsw_stencil *stencil = &matrix->stencil;
    double largest = 0;
    for (int32_t e = 0; e < stencil->count; e++) {
        const gsw_offset o = stencil->offsets[e];
        const int64_t other = gsw_reference_neighbour(&matrix->grid, row, o, 1);
        double value = 0;
        if (!symmetric || e <= stencil->center)
            gsw_reference_entry(matrix, row, e, &value);
        else if (other >= 0)
            gsw_reference_entry(matrix, other,
                                gsw_stencil_find(stencil, (gsw_offset){-o.dx, -o.dy, -o.dz}),
                                &value);
        largest = fmax(largest, fabs(value));
    }
    return largest;
}

TEST(bad_pivots_are_shifted) {
    const gsw_grid grid = {13, 7, 5};
    const int64_t n = oracle_points(&grid), row = n / 2;
    const double shift = 0.25;
    for (int kind = GSW_ILU0; kind <= GSW_DILU; kind++) {
        const gsw_factor_options options = {
            .size = sizeof options, .kind = (gsw_factor_kind)kind, .pivot_shift = shift};
        gsw_context *context = both.here[0];
        gsw_factor *factor = NULL;
        gsw_factor_info info = {.size = sizeof info};
        gsw_csr l = {0}, u = {0};
        oracle_matrix *matrix = keep_matrix_of(&grid, oracle_stencil(2, NULL), 3, ORACLE_POSITIVE);
        set_all_finite(matrix);
        plant(matrix, row, 0);
        const double largest = row_largest(&matrix->view, row, kind == GSW_IC0);
        const gsw_status status = gsw_factor_create(context, &matrix->view, &options, &factor);
        ck_assert_msg(status == GSW_SUCCESS, "kind %d: %s", kind, gsw_context_message(context));
        ck_assert_int_eq(gsw_factor_get_info(factor, &info), GSW_SUCCESS);
        ck_assert_int_eq(info.shifted_pivots, 1);
        ck_assert_int_eq(gsw_factor_extract(context, factor, GSW_I32, &l, &u), GSW_SUCCESS);
        const gsw_csr *holder = kind == GSW_ILU0 ? &u : &l;
        const int64_t p = kind == GSW_ILU0 ? gsw_index_at(u.row_ptr, GSW_I32, row)
                                           : gsw_index_at(l.row_ptr, GSW_I32, row + 1) - 1;
        const double pivot = fabs(((const double *)holder->values)[p]);
        ck_assert_double_eq_tol((kind == GSW_IC0 ? pivot * pivot : pivot) / (shift * largest), 1,
                                1e-14);
        double *x = keep_vector(GSW_F64, 5, n);
        ck_assert_int_eq(gsw_factor_solve(context, factor, 1, x, 0, x, 0), GSW_SUCCESS);
        for (int64_t i = 0; i < n; i++)
            ck_assert(isfinite(x[i]));
        gsw_csr_free(&l);
        gsw_csr_free(&u);
        gsw_factor_destroy(factor);
    }
}

/* ---- what is refused ---- */

/* The message names the lowest row with a coupling outside the stencil, and the context remains
 * usable. */
TEST(couplings_outside_the_stencil_are_refused) {
    recipe r = recipe_of((gsw_grid){9, 8, 7}, oracle_stencil(2, NULL), ORACLE_POSITIVE, 2);
    r.layout = 1;
    const gsw_factor_options options = {
        .size = sizeof options, .omega = OMEGA, .kind = (gsw_factor_kind)_i};
    problem good = problem_open(&r);
    problem bad = problem_open(&r);
    ((int *)bad.lower->columns)[((int *)bad.lower->row_ptr)[301]] -= 1;
    ((int *)bad.lower->columns)[((int *)bad.lower->row_ptr)[234]] -= 1;
    problem_renew(&bad);
    pair p = pair_of(&bad, &options);
    const gsw_status status = same_outcome(&p);
    ck_assert_msg(status == (_i == GSW_JACOBI ? GSW_SUCCESS : GSW_ERROR_NOT_A_GRID), "%s: %s",
                  p.text, gsw_status_name(status));
    ck_assert_msg(_i == GSW_JACOBI || strstr(gsw_context_message(both.cpu), "row 234 ") != NULL,
                  "%s", gsw_context_message(both.cpu));
    pair_close(&p);
    check_options(&good, &options, 1, 0);
    problem_close(&bad);
    problem_close(&good);
}

/* Of each kind, with every row pointer in turn far outside the arrays on either side. */
TEST(row_pointers_outside_the_arrays_are_refused) {
    const gsw_grid grid = {4, 3, 2};
    const oracle_layout layout = {.format = GSW_FORMAT_CSR, .part = GSW_FULL};
    const gsw_factor_options options = {.size = sizeof options, .kind = (gsw_factor_kind)_i};
    oracle_matrix *arrays = keep_matrix_of(&grid, oracle_stencil(2, NULL), 2, ORACLE_POSITIVE);
    oracle_matrix *csr = keep_converted(arrays, &layout);
    int *row_ptr = (int *)csr->row_ptr;
    gsw_context *context = both.here[0];
    for (int row = 0; row <= csr->view.csr.rows; row++)
        for (int side = 0; side < 2; side++) {
            const int right = row_ptr[row];
            gsw_factor *factor = NULL;
            row_ptr[row] = side == 0 ? INT32_MIN : INT32_MAX;
            const gsw_status status = gsw_factor_create(context, &csr->view, &options, &factor);
            /* The sweeps' packing names the row alone. */
            const int jacobi = options.kind == GSW_JACOBI;
            must_refuse(context, status, jacobi ? GSW_ERROR_INVALID_ARGUMENT : GSW_ERROR_NOT_A_GRID,
                        jacobi ? "row_ptr goes from" : "row ");
            ck_assert_ptr_null(factor);
            row_ptr[row] = right;
        }
}

TEST(a_bad_pivot_is_named_by_row_and_point) {
    const gsw_grid grid = {5, 4, 3};
    const gsw_factor_options options = {.size = sizeof options, .kind = (gsw_factor_kind)_i};
    oracle_matrix *arrays = keep_matrix_of(&grid, oracle_stencil(2, NULL), 2, ORACLE_POSITIVE);
    gsw_context *context = both.cpu;
    gsw_factor *factor = NULL;
    ((double *)arrays->arrays[arrays->view.stencil.center])[33] = NAN; /* 3 + 5 (2 + 4 1) */
    for (int base = -1; base <= 1; base++) {
        ck_assert_int_eq(gsw_context_set_row_base(context, base), GSW_SUCCESS);
        must_refuse(context, gsw_factor_create(context, &arrays->view, &options, &factor),
                    GSW_ERROR_ZERO_PIVOT,
                    base == 1 ? "row 34 (1-based), (x, y, z) = (3, 2, 1) is zero"
                              : "row 33 (0-based), (x, y, z) = (3, 2, 1) is zero");
    }
    /* That of the matrix, if it is a CSR and the context has none. */
    const oracle_layout layout = {GSW_FORMAT_CSR, GSW_F64, GSW_I32, 1, GSW_FULL, 0};
    oracle_matrix *csr = keep_converted(arrays, &layout);
    ck_assert_int_eq(gsw_context_set_row_base(context, -1), GSW_SUCCESS);
    must_refuse(context, gsw_factor_create(context, &csr->view, &options, &factor),
                GSW_ERROR_ZERO_PIVOT, "row 34 (1-based), (x, y, z) = (3, 2, 1)");
}

static void count_messages(void *user, gsw_status status, const char *message) {
    (void)message;
    *(int *)user += status == GSW_ERROR_ZERO_PIVOT || status == GSW_ERROR_NOT_A_GRID;
}

/* A chain of four points, as a CSR of base 1 whose third row is another one. Creates a factor; the
 * message is as expected, and the log gets it once. */
static void expect_row_message(int count, const int32_t *columns, const double *values,
                               gsw_factor_kind kind, const gsw_grid *grid, gsw_status ending,
                               const char *words) {
    int messages = 0;
    const gsw_context_options where = {
        .size = sizeof where, .threads = 1, .log = count_messages, .log_user = &messages};
    const gsw_factor_options options = {.size = sizeof options, .kind = kind};
    int32_t row_ptr[] = {1, 3, 6, 6 + count, 8 + count};
    int32_t all_columns[10] = {1, 2, 1, 2, 3};
    double all_values[10] = {2, -1, -1, 2, -1};
    memcpy(all_columns + 5, columns, (size_t)count * sizeof *columns);
    memcpy(all_values + 5, values, (size_t)count * sizeof *values);
    memcpy(all_columns + 5 + count, (const int32_t[]){3, 4}, 2 * sizeof(int32_t));
    memcpy(all_values + 5 + count, (const double[]){-1, 2}, 2 * sizeof(double));
    const gsw_csr csr = {.rows = 4,
                         .nonzeros = 7 + count,
                         .row_ptr = row_ptr,
                         .columns = all_columns,
                         .values = all_values,
                         .base = 1};
    gsw_context *context;
    gsw_factor *factor;
    gsw_matrix matrix;
    ck_assert_int_eq(gsw_context_create(&where, &context), GSW_SUCCESS);
    ck_assert_int_eq(
        gsw_matrix_from_csr(context, grid, oracle_stencil_named("D2N5"), &csr, &matrix),
        GSW_SUCCESS);
    must_refuse(context, gsw_factor_create(context, &matrix, &options, &factor), ending, words);
    ck_assert_int_eq(messages, 1);
    gsw_context_destroy(context);
}

TEST(what_a_bad_row_stores_is_named) {
    static const gsw_grid chain = {4, 1, 1}, square = {2, 2, 1};
    static const int32_t all[] = {2, 3, 4}, outer[] = {2, 4};
    static const double zero[] = {-1, 0, -1}, negative[] = {-1, -4, -1}, small[] = {-1, 0.1, -1};
    expect_row_message(0, all, zero, GSW_ILU0, &chain, GSW_ERROR_ZERO_PIVOT,
                       "or not finite: the row is empty; each point needs a row");
    expect_row_message(0, all, zero, GSW_JACOBI, &chain, GSW_ERROR_ZERO_PIVOT,
                       "or not finite: the row is empty; each point needs a row");
    expect_row_message(
        2, outer, zero, GSW_SSOR, &chain, GSW_ERROR_ZERO_PIVOT,
        "row 3 (1-based), (x, y, z) = (2, 0, 0) is zero or not finite: the row has no "
        "entry on its diagonal");
    expect_row_message(3, all, zero, GSW_SSOR, &chain, GSW_ERROR_ZERO_PIVOT,
                       "or not finite: its diagonal is 0");
    expect_row_message(
        3, all, negative, GSW_IC0, &chain, GSW_ERROR_ZERO_PIVOT,
        "or not finite: ic0 needs a positive diagonal, and that of the row is -4; if "
        "all are negative, solve -A x = -b, otherwise take ilu0");
    expect_row_message(3, all, small, GSW_IC0, &chain, GSW_ERROR_ZERO_PIVOT,
                       "is zero, negative or not finite");
    /* On a square the second row has a coupling that is no neighbour's. */
    expect_row_message(
        3, all, small, GSW_ILU0, &square, GSW_ERROR_NOT_A_GRID,
        "row 2 (1-based), (x, y, z) = (1, 0, 0), column 3: offset (-1, 1, 0) is not in "
        "the stencil D2N5 of the 2 x 2 x 1 grid");
}

TEST(ic0_needs_a_symmetric_stencil) {
    recipe r = recipe_of((gsw_grid){5, 4, 3}, oracle_stencil(_i, NULL), ORACLE_POSITIVE, 2);
    r.alone = 1;
    const gsw_factor_options options = {.size = sizeof options, .kind = GSW_IC0};
    problem q = problem_open(&r);
    pair p = pair_of(&q, &options);
    ck_assert_int_eq(same_outcome(&p),
                     is_symmetric(r.stencil) ? GSW_SUCCESS : GSW_ERROR_UNSUPPORTED);
    pair_close(&p);
    problem_close(&q);
}

TEST(bad_options_are_refused) {
    const recipe r = {.grid = {4, 3, 2},
                      .stencil = oracle_stencil(2, NULL),
                      .diagonal = ORACLE_POSITIVE,
                      .seed = 2};
    problem q = problem_open(&r);
    gsw_context *here = both.here[0];
    const gsw_matrix *m = &q.here_lower;
    gsw_factor *factor = NULL;
    const struct {
        gsw_factor_options options;
        gsw_status status;
        const char *word;
    } bad[] = {
        {{.kind = (gsw_factor_kind)77}, GSW_ERROR_INVALID_ARGUMENT, "kind"},
        {{.kind = GSW_FACTOR_LU}, GSW_ERROR_INVALID_ARGUMENT, "LU"},
        {{.factor_type = (gsw_dtype)7}, GSW_ERROR_INVALID_ARGUMENT, "factor_type"},
        {{.vector_type = (gsw_dtype)7}, GSW_ERROR_INVALID_ARGUMENT, "vector_type"},
        {{.vector_type = GSW_F32}, GSW_ERROR_UNSUPPORTED, "fp32"},
        {{.kind = GSW_SSOR, .omega = 2}, GSW_ERROR_INVALID_ARGUMENT, "omega"},
        {{.kind = GSW_SSOR, .omega = -0.5}, GSW_ERROR_INVALID_ARGUMENT, "omega"},
        {{.kind = GSW_SSOR, .omega = NAN}, GSW_ERROR_INVALID_ARGUMENT, "omega"},
        {{.pivot_shift = -1}, GSW_ERROR_INVALID_ARGUMENT, "pivot_shift"},
        {{.pivot_shift = NAN}, GSW_ERROR_INVALID_ARGUMENT, "pivot_shift"},
    };
    for (size_t k = 0; k < sizeof bad / sizeof bad[0]; k++) {
        gsw_factor_options options = bad[k].options;
        options.size = sizeof options;
        factor = (gsw_factor *)&q;
        must_refuse(here, gsw_factor_create(here, m, &options, &factor), bad[k].status,
                    bad[k].word);
        ck_assert_ptr_null(factor);
    }
    must_reject(gsw_factor_create(NULL, m, NULL, &factor));
    must_reject(gsw_factor_create(here, NULL, NULL, &factor));
    must_reject(gsw_factor_create(here, m, NULL, NULL));
    must_reject(gsw_factor_create_lu(here, m, NULL, NULL, &factor));
    must_reject(gsw_factor_create_lu(here, NULL, m, NULL, &factor));
    gsw_factor_destroy(NULL);
    problem_close(&q);
}

TEST(bad_calls_are_refused) {
    const gsw_grid grid = {4, 3, 2};
    const gsw_factor_options kinds[] = {{.size = sizeof(gsw_factor_options), .kind = GSW_SSOR},
                                        {.size = sizeof(gsw_factor_options), .transpose = 1},
                                        {.size = sizeof(gsw_factor_options), .kind = GSW_JACOBI}};
    gsw_context *context = both.cpu;
    oracle_matrix *matrix = keep_matrix_of(&grid, oracle_stencil(2, NULL), 2, ORACLE_POSITIVE);
    const gsw_matrix *m = &matrix->view;
    gsw_factor *factor = NULL;
    gsw_factor_info info = {.size = sizeof info};
    gsw_csr l = {0}, u = {0};
    double b[96] = {1}, x[96];
    ck_assert_int_eq(gsw_factor_create(context, m, NULL, &factor), GSW_SUCCESS);
    must_reject(gsw_factor_solve(NULL, factor, 1, b, 0, x, 0));
    must_reject(gsw_factor_solve(context, NULL, 1, b, 0, x, 0));
    must_reject(gsw_factor_solve(context, factor, -1, b, 0, x, 0));
    must_reject(gsw_factor_solve(context, factor, 1, NULL, 0, x, 0));
    must_reject(gsw_factor_solve(context, factor, 1, b, 0, NULL, 0));
    must_reject(gsw_factor_solve(context, factor, 2, b, 23, x, 24));
    must_reject(gsw_factor_solve(context, factor, 2, b, 24, x, 23));
    must_reject(gsw_factor_solve(context, factor, 2, x, 24, x, 25));
    must_reject(gsw_factor_sweep(context, factor, 2, 1, b, 0, x, 0));
    must_reject(gsw_factor_sweep(context, factor, -1, 1, b, 0, x, 0));
    must_reject(gsw_factor_refactor(context, factor, NULL, NULL));
    must_reject(gsw_factor_get_info(NULL, &info));
    must_reject(gsw_factor_get_info(factor, NULL));
    gsw_factor_destroy(factor);
    for (int k = 0; k < 3; k++) {
        ck_assert_int_eq(gsw_factor_create(context, m, &kinds[k], &factor), GSW_SUCCESS);
        ck_assert_int_eq(gsw_factor_extract(context, factor, GSW_I32, &l, &u),
                         GSW_ERROR_UNSUPPORTED);
        ck_assert_int_eq(gsw_factor_sweeps(factor), k == 2 ? 0 : 2);
        gsw_factor_destroy(factor);
    }
}

TEST(kinds_have_names) {
    static const char *const names[] = {"ilu0",   "ic0",   "dilu",  "ssor",
                                        "jacobi", "lower", "upper", "lu"};
    for (int kind = GSW_ILU0; kind <= GSW_FACTOR_LU; kind++)
        ck_assert_str_eq(gsw_factor_kind_name((gsw_factor_kind)kind), names[kind]);
    ck_assert_ptr_nonnull(gsw_factor_kind_name((gsw_factor_kind)99));
}

/* What is by hand, or decided before any backend. */
static void add_cpu_tests(Suite *suite) {
    TCase *tc = sweep_case(suite, "arguments");
    TESTS(tc, ilu0_by_hand, bad_pivots_are_shifted);
    tcase_add_loop_test(tc, row_pointers_outside_the_arrays_are_refused, GSW_ILU0,
                        GSW_FACTOR_UPPER + 1);
    tcase_add_loop_test(tc, a_bad_pivot_is_named_by_row_and_point, GSW_ILU0, GSW_JACOBI + 1);
    TESTS(tc, what_a_bad_row_stores_is_named, bad_calls_are_refused, kinds_have_names);
}

static void add_large_tests(Suite *suite) {
    TCase *tc = sweep_case(suite, "large");
    LOOPS(tc, oracle_stencil_count(), large_grids_equal_the_cpu);
    LOOPS(tc, 2, lines_along_x_equal_the_cpu);
    LOOPS(tc, LENGTH(boxes), short_lines_equal_the_cpu);
    LOOPS(tc, CUBES, many_pencils_equal_the_cpu, cube_of_128_equals_the_cpu,
          repetitions_give_the_same_bits);
}

int main(int argc, char **argv) {
    const int stencils = oracle_stencil_count();
    backend_choose(argc, argv);
    Suite *suite = suite_create("factor");
    TCase *tc = sweep_case(suite, "equal");
    TESTS(tc, arrays_may_be_null, arrays_may_be_unaligned);
    LOOPS(tc, stencils, solves_equal_the_textbook, short_lines_equal_the_textbook,
          sweeps_are_the_two_halves, extracted_factors_equal_the_textbook,
          refactor_is_a_new_factor);
    tc = sweep_case(suite, "values");
    TESTS(tc, an_infinite_coefficient_is_noticed);
    LOOPS(tc, stencils, nan_and_infinity_travel_along_couplings_only, every_nan_is_a_nan,
          denormal_inputs_count, coefficients_may_be_tiny_or_huge, denormal_solutions_count,
          a_zero_divides_when_the_solve_runs);
    tc = sweep_case(suite, "pivots");
    TESTS(tc, a_failed_refactor_leaves_nothing_usable);
    LOOPS(tc, stencils, bad_pivots_are_named, values_beyond_fp32_are_refused,
          bad_pivots_are_shifted_as_on_the_cpu);
    tc = sweep_case(suite, "refused");
    tcase_add_loop_test(tc, couplings_outside_the_stencil_are_refused, GSW_ILU0, GSW_FACTOR_LU + 1);
    TESTS(tc, bad_options_are_refused);
    LOOPS(tc, stencils, ic0_needs_a_symmetric_stencil);
    if (on_cuda())
        add_large_tests(suite);
    else
        add_cpu_tests(suite);
    return backend_run_suite(suite);
}
