/* test_eisenstat.c: Krylov methods in Eisenstat's form: its operator against the definition, and
 * solves in the form against solves without it.
 *
 * GSW_TEST_STRIDE=6 in the environment tries one grid in six on a device (see device.h). */
#include "sweep/packed.h"
#include "reference/reference.h"
#include "textbook.h"
#include "geometry/named_shapes.h"
#include "geometry/tiles.h"
#include "krylov_systems.h"

/* ---- the operator ------------------------------------------------------------------------------
 */

/* L1 y and U1 t from the entries of the matrix and from E, row by row; K besides. */
typedef struct split_truth {
    const gsw_matrix *matrix;
    const double *left, *right; /* S^-1 and T^-1; left NULL: S = I */
} split_truth;

static double truth_scaled(const split_truth *t, int64_t row, int32_t e, int64_t *j) {
    double value;
    *j = gsw_reference_neighbour(&t->matrix->grid, row, t->matrix->stencil.offsets[e], 1);
    if (*j < 0 || !gsw_reference_entry(t->matrix, row, e, &value))
        return 0;
    return value * (t->left != NULL ? t->left[row] : 1) * t->right[*j];
}

/* Row `row` of L1 x (part -1), U1 x (part 1) or S^-1 A T^-1 x (part 0). */
static double truth_part(const split_truth *t, int part, int64_t row, const double *x) {
    const int32_t center = t->matrix->stencil.center;
    double sum = part == 0 ? 0 : x[row];
    for (int32_t e = 0; e < t->matrix->stencil.count; e++) {
        int64_t j;
        if (part < 0 ? e >= center : part > 0 && e <= center)
            continue;
        const double value = truth_scaled(t, row, e, &j);
        sum += j < 0 ? 0 : value * x[j];
    }
    return sum;
}

/* E of a kind, by the serial factorisations. Returns 0 where a pivot is bad. */
static int truth_pivots(const gsw_matrix *matrix, const gsw_factor_options *options,
                        double *pivots) {
    const int64_t n = oracle_points(&matrix->grid);
    const int32_t center = matrix->stencil.center;
    double *lower[GSW_STENCIL_MAX], *upper[GSW_STENCIL_MAX];
    int64_t bad = -1;
    for (int32_t e = 0; e < matrix->stencil.count; e++) {
        lower[e] = keep_zeros(n);
        upper[e] = keep_zeros(n);
    }
    if (options->kind == GSW_ILU0)
        bad = textbook_ilu0(matrix, lower, upper);
    else if (options->kind == GSW_IC0)
        bad = textbook_ic0(matrix, lower, upper);
    else if (options->kind == GSW_DILU)
        bad = textbook_dilu(matrix, lower, upper);
    else
        bad = textbook_ssor(matrix, options->omega, lower, upper);
    for (int64_t i = 0; i < n; i++)
        pivots[i] = options->kind == GSW_ILU0  ? upper[center][i]
                    : options->kind == GSW_IC0 ? lower[center][i] * lower[center][i]
                                               : lower[center][i];
    return bad < 0;
}

/* Whether the backend has the form for a factor with good pivots. CUDA knows the pivots of shapes
 * for which it has kernels; the shape is that of the grid without the axes of length 1. */
static int has_form(const gsw_matrix *host, const gsw_factor_options *options) {
    gsw_tiles tiles;
    gsw_tiles_derive(&tiles, &host->grid, &host->stencil, 1);
    const gsw_shape_name name = gsw_name_shape(&tiles.part[0]);
    return !on_cuda() || options->kind == GSW_SSOR ||
           (name == gsw_name_shape(&tiles.part[1]) && name != SHAPE_OTHER && name != SHAPE_D3N15X &&
            name != SHAPE_D3N15Y && name != SHAPE_D3N15Z);
}

#ifdef GSW_CUDA_SHARED_KIB /* a build with the shared memory of the oldest devices */
enum { SCARCE = 1 };
#else
enum { SCARCE = 0 };
#endif

/* Whether a device certainly has room for the form, whose sweeps take more shared memory than
 * others. In the 64 KiB of tests/gpu.sh the rings of D2N9 and D3N13 do not fit. */
static int has_room(const gsw_matrix *host) {
    gsw_tiles tiles;
    gsw_tiles_derive(&tiles, &host->grid, &host->stencil, 1);
    const gsw_shape_name name = gsw_name_shape(&tiles.part[0]);
    return !SCARCE || (name != SHAPE_D2N9 && name != SHAPE_D3N13 && name != SHAPE_OTHER);
}

/* t = U1^-1 v and y = B v of the backend fulfil U1 t = v and L1 y = S^-1 A T^-1 t. */
static void check_operator(const gsw_matrix *host, gsw_factor_options options, int symmetric) {
    const gsw_backend_ops *ops = context->ops;
    const gsw_factor_options unit = {
        .size = sizeof unit, .kind = GSW_FACTOR_LU, .unit_diagonal = 1};
    const gsw_matrix *matrix = keep_there(context, host);
    gsw_factor *factor = keep_factor(context, matrix, options);
    const int64_t n = oracle_points(&host->grid);
    const size_t bytes = (size_t)n * sizeof(double);
    double *b = keep_random(5, n), *pivots = keep_zeros(n), *scale = keep_zeros(n);
    double *t = keep_random(1, n), *y = keep_random(1, n);
    void *v = keep_upload(context, b, bytes), *tt = keep_upload(context, t, bytes),
         *yt = keep_upload(context, y, bytes), *right = keep_upload(context, y, bytes);
    gsw_split split = {
        .k = keep_upload(context, y, bytes), .right = right, .left = symmetric ? right : NULL};
    int fits = -1, positive = 1;
    must(context, gsw_packed_open(context, matrix, &unit, gsw_uncut(), &split.parts));
    keep(KEPT_FACTOR, NULL, split.parts);
    ck_assert(truth_pivots(host, &options, pivots));
    for (int64_t i = 0; i < n; i++) {
        positive &= pivots[i] > 0;
        scale[i] = symmetric ? 1 / sqrt(pivots[i]) : 1 / pivots[i];
    }
    must(context, ops->split->fill(context, factor, matrix, &split, &fits));
    const int expected = has_form(host, &options) && (positive || !symmetric);
    if (has_room(host))
        ck_assert_int_eq(fits, expected);
    else
        ck_assert_int_le(fits, expected);
    if (!fits)
        return;
    const split_truth said = {host, symmetric ? scale : NULL, scale};
    double worst = 0, largest = 0;
    must(context, ops->split->apply(context, &split, v, tt, yt));
    download(context, t, tt, bytes);
    download(context, y, yt, bytes);
    for (int64_t i = 0; i < n; i++) {
        const double u = truth_part(&said, 1, i, t) - b[i];
        const double l = truth_part(&said, -1, i, y) - truth_part(&said, 0, i, t);
        worst = fmax(worst, fmax(fabs(u), fabs(l)));
        largest = fmax(largest, fmax(fabs(t[i]), fabs(y[i])));
        ck_assert(isfinite(t[i]) && isfinite(y[i]));
    }
    ck_assert_msg(worst <= 1e-13 * largest, "B v is wrong by %.3g of %.3g", worst, largest);
}

static const gsw_factor_options kinds[] = {
    {.kind = GSW_DILU},
    {.kind = GSW_SSOR, .omega = 1.3},
    {.kind = GSW_ILU0},
    {.kind = GSW_IC0},
};
#define KINDS ((int)(sizeof kinds / sizeof kinds[0]))

/* Whether ILU(0) of this stencil keeps the couplings; said here for the named ones. */
static int keeps_couplings(const char *name) {
    return strcmp(name, "D2N5") == 0 || strcmp(name, "D3N7") == 0;
}

/* Every stencil on one grid. */
TEST(two_sweeps_apply_the_operator) {
    const int g = _i * backend_stride();
    const gsw_grid grid = oracle_grid(g);
    for (int s = 0; s < oracle_stencil_count(); s++) {
        const char *name;
        const gsw_stencil *stencil = oracle_stencil(s, &name);
        for (int k = 0; k < KINDS - 1; k++) { /* without IC0: not symmetric */
            if (kinds[k].kind == GSW_ILU0 && !keeps_couplings(name))
                continue;
            for (int sign = 0; sign < 2; sign++) {
                const oracle_matrix *random = keep_matrix_of(
                    &grid, stencil, (uint64_t)(100 + g), sign ? ORACLE_ANY_SIGN : ORACLE_POSITIVE);
                check_operator(&random->view, kinds[k], (s + k) & 1);
                keep_release(0);
            }
        }
    }
}

/* Lines that end within a chunk, and more pencils than a device holds at a time. */
TEST(larger_grids) {
    static const gsw_grid grids[] = {{131, 67, 93}, {1, 301, 57}, {517, 1, 9}, {40, 200, 200}};
    for (int g = 0; g < 4; g++) {
        const oracle_matrix *random = keep_matrix_of(&grids[g], oracle_stencil_named("D3N7"),
                                                     (uint64_t)(g + 1), ORACLE_POSITIVE);
        const size_t mark = keep_mark();
        for (int k = 0; k < KINDS - 1; k++) {
            check_operator(&random->view, kinds[k], k & 1);
            keep_release(mark);
        }
    }
}

/* ---- solves ------------------------------------------------------------------------------------
 */

/* The system with a factor, or with none where options is NULL. */
static model factored(const gsw_matrix *host, const gsw_factor_options *options) {
    model s = model_of(host);
    s.b = keep_random(5, s.n);
    if (options != NULL)
        factorise(&s, *options);
    return s;
}

static gsw_status solve_in(gsw_eisenstat form, const model *s, gsw_method method,
                           gsw_krylov_options options, gsw_krylov_result *result) {
    options.size = sizeof options;
    options.eisenstat = form;
    *result = (gsw_krylov_result){.size = sizeof *result};
    return solve(s, method, &options, result);
}

static const struct {
    const char *text;
    int symmetric;
} problems[] = {
    {"poisson:13x12x11", 1}, {"anisotropic:37x23", 1},  {"lognormal:9x17x8", 1},
    {"poisson:1x40x1", 1},   {"hpcg:9x8x7", 1},         {"convection:12x11x10", 0},
    {"convection:31x30", 0}, {"helmholtz19:10x9x8", 1},
};
#define PROBLEMS ((int)(sizeof problems / sizeof problems[0]))

/* The x after each number of iterations of CG is that of the method without the form. */
static void check_iterates(const model *s) {
    gsw_krylov_result result, other;
    for (int limit = 1; limit <= 8; limit++) {
        const gsw_krylov_options options = {.rtol = 1e-9, .max_iterations = limit};
        set_guess(s, 0);
        const gsw_status status = solve_in(GSW_EISENSTAT_ALWAYS, s, GSW_CG, options, &result);
        if (status == GSW_SUCCESS) /* small grids */
            break;
        const double *x = keep_copy(s->x, s->n);
        ck_assert_int_eq(status, GSW_ERROR_NOT_CONVERGED);
        ck_assert_int_eq(result.eisenstat, limit);
        ck_assert_int_eq(result.iterations, limit);
        set_guess(s, 0);
        ck_assert_int_eq(solve_in(GSW_EISENSTAT_NEVER, s, GSW_CG, options, &other),
                         GSW_ERROR_NOT_CONVERGED);
        ck_assert_int_eq(other.eisenstat, 0);
        ck_assert_double_le(oracle_error(GSW_F64, s->n, x, s->x), 1e-10);
        ck_assert_double_le(fabs(result.residual - other.residual), 1e-9 * other.residual + 1e-15);
    }
}

/* Whole solves from x0 = 0 and from another x0. The form takes as many iterations as the method
 * without it, except for a few: CG because it stops by another norm, the others because their
 * iterates are those of preconditioning from both sides. */
static void check_solves(const model *s, gsw_method method) {
    for (int guess = 0; guess < 2; guess++) {
        const gsw_krylov_options options = {.rtol = guess ? 1e-6 : 1e-9};
        const double *x[2];
        gsw_krylov_result form, ordinary;
        for (int k = 0; k < 2; k++) {
            for (int64_t i = 0; i < s->n; i++)
                s->x[i] = guess ? sin((double)i) : 0;
            must(context, solve_in(k ? GSW_EISENSTAT_NEVER : GSW_EISENSTAT_ALWAYS, s, method,
                                   options, k ? &ordinary : &form));
            x[k] = keep_copy(s->x, s->n);
        }
        ck_assert_int_eq(form.eisenstat, form.iterations);
        ck_assert_int_eq(form.replacements, 0);
        ck_assert_int_ge(form.iterations, 1);
        ck_assert_msg((double)form.iterations <=
                          (method == GSW_CG ? 1 : 1.3) * (double)ordinary.iterations + 2,
                      "%s: %lld iterations in the form, %lld without it", gsw_method_name(method),
                      (long long)form.iterations, (long long)ordinary.iterations);
        ck_assert_double_le(oracle_error(GSW_F64, s->n, x[0], x[1]), guess ? 1e-3 : 1e-6);
    }
}

/* The solve is the same, to the bit, with and without the permission for the form. */
static void check_unused(const char *what, const model *s, gsw_method method,
                         gsw_krylov_options options) {
    gsw_krylov_result result, other;
    set_guess(s, 0);
    const gsw_status status = solve_in(GSW_EISENSTAT_ALWAYS, s, method, options, &result);
    const double *x = keep_copy(s->x, s->n);
    ck_assert_msg(result.eisenstat == 0, "%s: %lld iterations in the form", what,
                  (long long)result.eisenstat);
    set_guess(s, 0);
    ck_assert_int_eq(solve_in(GSW_EISENSTAT_NEVER, s, method, options, &other), status);
    ck_assert_int_eq(result.iterations, other.iterations);
    ck_assert_msg(memcmp(x, s->x, (size_t)s->n * sizeof *x) == 0, "%s: x has other bits", what);
}

static void check_kind(const char *what, const gsw_matrix *host, gsw_factor_options options) {
    const model s = factored(host, &options);
    check_unused(what, &s, GSW_BICGSTAB, (gsw_krylov_options){.rtol = 1e-6});
}

TEST(solves) {
    const gsw_matrix *host = keep_problem(problems[_i].text);
    const int symmetric = problems[_i].symmetric;
    for (int k = 0; k < KINDS - !symmetric; k++) {
        const int keeps = host->stencil.count == 5 || host->stencil.count == 7;
        if (kinds[k].kind != GSW_DILU && kinds[k].kind != GSW_SSOR && !keeps)
            continue;
        if (!has_form(host, &kinds[k])) {
            check_kind("without known pivots", host, kinds[k]);
            continue;
        }
        const model s = factored(host, &kinds[k]);
        if (symmetric)
            check_iterates(&s);
        for (int method = symmetric ? GSW_CG : GSW_BICGSTAB; method <= GSW_GMRES; method++)
            check_solves(&s, (gsw_method)method);
    }
}

/* ---- where it does not apply -------------------------------------------------------------------
 */

/* A callback that multiplies with a matrix. */
static gsw_status multiply(void *user, gsw_context *where, const double *x, double *y) {
    return gsw_spmv(where, user, GSW_F64, x, y);
}

TEST(exceptions) {
    const gsw_matrix *host = keep_problem("poisson:9x8x7"), *wide = keep_problem("hpcg:9x8x7");
    const gsw_krylov_options usual = {.rtol = 1e-6};
    check_kind("jacobi", host, (gsw_factor_options){.kind = GSW_JACOBI});
    check_kind("fp32", host, (gsw_factor_options){.kind = GSW_DILU, .factor_type = GSW_F32});
    check_kind("transposed", host, (gsw_factor_options){.kind = GSW_DILU, .transpose = 1});
    check_kind("lower", host, (gsw_factor_options){.kind = GSW_FACTOR_LOWER});
    check_kind("ilu0 with fill among neighbours", wide, (gsw_factor_options){.kind = GSW_ILU0});

    model s = factored(host, &kinds[0]);
    check_unused("left norm", &s, GSW_CG, (gsw_krylov_options){.norm = GSW_NORM_PRECONDITIONED});
    check_unused("richardson", &s, GSW_RICHARDSON, (gsw_krylov_options){.rtol = 0.1});
    check_unused("a short restart", &s, GSW_GMRES, (gsw_krylov_options){.restart = 9});
    s.op = keep_product(context, s.n, multiply, (void *)(uintptr_t)s.there);
    check_unused("callback", &s, GSW_CG, usual);
    s.op = NULL;

    /* Factors of another stencil, and of another grid with as many points. */
    const gsw_matrix *const others[] = {wide, keep_problem("poisson:7x8x9")};
    for (int k = 0; k < 2; k++) {
        s.factor = factored(others[k], &kinds[0]).factor;
        check_unused("another shape", &s, GSW_BICGSTAB, usual);
    }
}

/* ---- other beginnings and ends -----------------------------------------------------------------
 */

/* A copy of a matrix whose values are multiplied. */
static oracle_matrix *multiplied(const gsw_matrix *host, double by) {
    oracle_matrix *m = keep_matrix_of(&host->grid, &host->stencil, 1, ORACLE_POSITIVE);
    for (int32_t e = 0; e < host->stencil.count; e++)
        for (int64_t i = 0; i < oracle_points(&host->grid); i++)
            ((double *)m->arrays[e])[i] = by * ((const double *)host->array.values[e])[i];
    return m;
}

/* A factor of a matrix that has been multiplied by 4 since is not used, because its E does not fit;
 * refactored it is. */
TEST(a_factor_of_older_values) {
    const gsw_matrix *host = keep_problem("poisson:12x11x10");
    const oracle_matrix *scaled = multiplied(host, 4);
    for (int k = 0; k < KINDS; k++) {
        model s = factored(&scaled->view, NULL);
        s.factor = factored(host, &kinds[k]).factor;
        for (int method = GSW_CG; method <= GSW_GMRES; method++)
            check_unused("an old factor", &s, (gsw_method)method,
                         (gsw_krylov_options){.rtol = 1e-8});
        must(context, gsw_factor_refactor(context, s.factor, s.there, NULL));
        check_solves(&s, GSW_CG);
    }
}

/* CG on a negative definite matrix, whose pivots have no real roots, takes no form. On an
 * indefinite one the form breaks down, and the method without it says why. */
TEST(breakdowns) {
    const gsw_matrix *host = keep_problem("poisson:9x8x7");
    const oracle_matrix *negative = multiplied(host, -1), *indefinite = multiplied(host, 1);
    const gsw_factor_options ssor = {.kind = GSW_SSOR};
    model s = factored(&negative->view, &ssor);
    check_unused("negative", &s, GSW_CG, (gsw_krylov_options){.rtol = 1e-8});
    /* less than the couplings add up to */
    oracle_fill(GSW_F64, indefinite->arrays[host->stencil.center], s.n, 3);
    s = factored(&indefinite->view, &ssor);
    for (int form = 0; form < 2; form++) {
        gsw_krylov_result result;
        set_guess(&s, 0);
        expect_refusal(solve_in(form ? GSW_EISENSTAT_ALWAYS : GSW_EISENSTAT_NEVER, &s, GSW_CG,
                                (gsw_krylov_options){.rtol = 1e-8, .max_iterations = 100}, &result),
                       GSW_ERROR_BREAKDOWN, "indefinite");
        for (int64_t i = 0; i < s.n; i++)
            ck_assert(isfinite(s.x[i]));
    }
}

typedef struct sighting {
    int64_t next, stop_at;
    double last;
} sighting;

static int look(void *user, int64_t iteration, double residual) {
    sighting *seen = user;
    ck_assert_int_eq(iteration, seen->next++);
    ck_assert(residual >= 0 && isfinite(residual));
    seen->last = residual;
    return iteration == seen->stop_at;
}

/* A monitor that stops iteration k, whichever that is: the solve ends there, converged or not. */
static void check_stops(const model *s, gsw_method method, int64_t last) {
    for (int64_t stop = 0; stop <= last; stop++) {
        sighting seen = {.stop_at = stop};
        const gsw_krylov_options options = {.monitor = look, .monitor_user = &seen};
        gsw_krylov_result result;
        set_guess(s, 0);
        const gsw_status status = solve_in(GSW_EISENSTAT_ALWAYS, s, method, options, &result);
        ck_assert_msg(status == GSW_ERROR_STOPPED || (status == GSW_SUCCESS && stop == last),
                      "%s stopped in iteration %lld: %s", gsw_method_name(method), (long long)stop,
                      gsw_status_name(status));
        ck_assert_int_eq(result.iterations, stop);
        ck_assert_int_eq(result.eisenstat, stop);
        if (status == GSW_ERROR_STOPPED)
            assert_message("stopped iteration");
    }
}

/* Monitors see all iterations, and may stop them. A good x0 takes none. */
TEST(monitors) {
    const model s =
        factored(keep_problem("poisson:13x12x11"), &(gsw_factor_options){.kind = GSW_IC0});
    double *solution = keep_zeros(s.n);
    for (int method = GSW_CG; method <= GSW_GMRES; method++) {
        memset(solution, 0, (size_t)s.n * sizeof *solution);
        for (int again = 0; again < 2; again++) { /* from 0, and from the solution */
            sighting seen = {.stop_at = -1};
            const gsw_krylov_options options = {.monitor = look, .monitor_user = &seen};
            gsw_krylov_result result;
            memcpy(s.x, solution, (size_t)s.n * sizeof *s.x);
            must(context, solve_in(GSW_EISENSTAT_ALWAYS, &s, (gsw_method)method, options, &result));
            memcpy(solution, s.x, (size_t)s.n * sizeof *s.x);
            ck_assert_int_eq(seen.next, result.iterations + 1);
            ck_assert_double_le(seen.last, 1.5e-8);
            ck_assert_int_eq(result.iterations > 0, again == 0);
            if (!again)
                check_stops(&s, (gsw_method)method, result.iterations);
        }
    }
}

/* x of a solve from 0 in the form has the bits of *first, which receives x where it is NULL. */
static void check_bits(const model *s, gsw_method method, const double **first) {
    gsw_krylov_result result;
    set_guess(s, 0);
    must(context,
         solve_in(GSW_EISENSTAT_ALWAYS, s, method, (gsw_krylov_options){.rtol = 1e-9}, &result));
    ck_assert_int_gt(result.eisenstat, 0);
    if (*first == NULL)
        *first = keep_copy(s->x, s->n);
    ck_assert_mem_eq(*first, s->x, (size_t)s->n * sizeof *s->x);
}

/* However far the host queues ahead, the bits are the same. */
TEST(queues) {
    static const int aheads[] = {0, 1, 4, 7};
    const model s =
        factored(keep_problem(problems[_i].text), &(gsw_factor_options){.kind = GSW_SSOR});
    const double *first = NULL;
    for (int k = 0; k < 4; k++) {
        krylov_queue_set(aheads[k]);
        check_bits(&s, problems[_i].symmetric ? GSW_CG : GSW_BICGSTAB, &first);
        krylov_queue_reset();
    }
}

/* ---- on the CPU alone --------------------------------------------------------------------------
 */

/* A backend whose products are wrong, after some that are right: the drift of a recurrence. */
static gsw_backend_ops drifting;
static gsw_matrix_ops drifting_matrix;
static const gsw_backend_ops *faithful;
static int right, wrong;

static gsw_status spoil_product(gsw_context *where, const gsw_matrix *matrix, gsw_dtype type,
                                const void *b, const void *x, void *y) {
    const gsw_status status = faithful->matrix->spmv(where, matrix, type, b, x, y);
    if (right-- <= 0 && wrong-- > 0)
        ((double *)y)[0] += 1e-3;
    return status;
}

/* Where b - A x does not follow the recurrence, the form gives up, and the method without it goes
 * on from x. */
TEST(drift_ends_the_form) {
    gsw_krylov_result result;
    const model s =
        factored(keep_problem("poisson:13x12x11"), &(gsw_factor_options){.kind = GSW_IC0});
    faithful = context->ops;
    drifting = *faithful;
    drifting_matrix = *faithful->matrix;
    drifting_matrix.spmv = spoil_product;
    drifting.matrix = &drifting_matrix;
    context->ops = &drifting;
    right = 1; /* the first measurement of the form */
    wrong = 2; /* the second one, and the verdict on its x */
    must(context,
         solve_in(GSW_EISENSTAT_ALWAYS, &s, GSW_CG, (gsw_krylov_options){.rtol = 1e-10}, &result));
    context->ops = faithful;
    ck_assert_int_gt(result.eisenstat, 0);
    ck_assert_int_lt(wrong, 0); /* the form has not measured a third time */
    ck_assert_int_eq(result.replacements, 1);
}

/* Central differences of a strong wind: the vectors of the form grow by many orders of magnitude,
 * and rounding errors of x^ become errors of x of that size. */
TEST(x_is_no_worse_than_at_the_start) {
    const gsw_grid g = {64, 64, 64};
    oracle_matrix *wind = oracle_random(&g, oracle_stencil_named("D3N7"), 1, ORACLE_POSITIVE);
    const gsw_stencil *stencil = &wind->view.stencil;
    for (int64_t row = 0; row < oracle_points(&g); row++) {
        const int64_t at[3] = {row % g.nx, row / g.nx % g.ny, row / g.nx / g.ny};
        for (int32_t e = 0; e < stencil->count; e++) {
            const gsw_offset o = stencil->offsets[e];
            const int axis = o.dx != 0 ? 0 : o.dy != 0 ? 1 : 2, sign = o.dx + o.dy + o.dz;
            const double along = 5 * sign * (const double[]){1, 0.7, 0.4}[axis];
            const int64_t to = at[axis] + sign;
            ((double *)wind->arrays[e])[row] = e == stencil->center ? 6
                                               : to < 0 || to >= 64 ? 0
                                                                    : -1 - along;
        }
    }
    const model s = factored(&wind->view, &(gsw_factor_options){.kind = GSW_ILU0});
    for (int64_t i = 0; i < s.n; i++)
        ((double *)s.b)[i] = 1;
    gsw_krylov_result result;
    const gsw_status status = solve_in(GSW_EISENSTAT_ALWAYS, &s, GSW_BICGSTAB,
                                       (gsw_krylov_options){.rtol = 1e-8}, &result);
    ck_assert(status == GSW_SUCCESS || status == GSW_ERROR_NOT_CONVERGED);
    ck_assert_int_gt(result.eisenstat, 0);
    ck_assert_double_le(result.residual, 1);
    oracle_free(wind);
}

/* The same bits for any number of threads. */
TEST(threads) {
    gsw_context *const usual = context, *const usual_cpu = cpu;
    const double *first = NULL;
    for (int count = 1; count <= 4; count++) {
        context = cpu = keep_context(count);
        const model s =
            factored(keep_problem("convection:33x32x31"), &(gsw_factor_options){.kind = GSW_ILU0});
        check_bits(&s, GSW_BICGSTAB, &first);
    }
    context = usual;
    cpu = usual_cpu;
}

TEST(the_default_on_this_backend) {
    gsw_krylov_result result;
    const model s =
        factored(keep_problem("convection:12x11x10"), &(gsw_factor_options){.kind = GSW_ILU0});
    must(context,
         solve_in(GSW_EISENSTAT_AUTO, &s, GSW_BICGSTAB, (gsw_krylov_options){.rtol = 0}, &result));
    ck_assert_int_eq(result.eisenstat, 0);
    expect_rejection(
        solve_in((gsw_eisenstat)3, &s, GSW_BICGSTAB, (gsw_krylov_options){.rtol = 0}, &result),
        "eisenstat 3");
}

int main(int argc, char **argv) {
    backend_choose(argc, argv);
    Suite *suite = suite_create("eisenstat");
    TCase *tc = context_case(suite, "eisenstat", 240);
    const int grids = oracle_grid_count(), stride = backend_stride();
    TESTS(tc, exceptions, a_factor_of_older_values, breakdowns, monitors);
    LOOPS(tc, (grids + stride - 1) / stride, two_sweeps_apply_the_operator);
    LOOPS(tc, PROBLEMS, solves, queues);
    if (on_cuda()) {
        TESTS(tc, larger_grids);
    } else {
        TESTS(tc, drift_ends_the_form, x_is_no_worse_than_at_the_start, threads,
              the_default_on_this_backend);
    }
    return backend_run_suite(suite);
}
