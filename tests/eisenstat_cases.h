/* eisenstat_cases.h: solves in Eisenstat's form against solves without it, for contexts of any
 * backend. `cpu` is a context whose vectors are on the host. */
#ifndef GSW_TESTS_EISENSTAT_CASES_H
#define GSW_TESTS_EISENSTAT_CASES_H

#include "sweep/factor.h"
#include "cpu/reference/reference.h"
#include "geometry/named_shapes.h"
#include "geometry/tiles.h"
#include "krylov_cases.h"

/* A matrix and a factor of it on the context, and b on the host. */
typedef struct eisenstat_case {
    gsw_context *context;
    gsw_matrix host, there;
    int64_t n;
    gsw_factor *factor;
    gsw_operator *op;
    gsw_preconditioner *M;
    double *b;
} eisenstat_case;

static inline eisenstat_case eisenstat_open(gsw_context *context, const gsw_matrix *host,
                                            const gsw_factor_options *options) {
    eisenstat_case c = {.context = context, .host = *host, .n = oracle_points(&host->grid)};
    ck_assert_int_eq(gsw_matrix_upload(context, host, &c.there), GSW_SUCCESS);
    ck_assert_int_eq(gsw_factor_create(context, &c.there, options, &c.factor), GSW_SUCCESS);
    ck_assert_int_eq(gsw_operator_from_matrix(context, &c.there, &c.op), GSW_SUCCESS);
    ck_assert_int_eq(gsw_preconditioner_from_factor(context, c.factor, &c.M), GSW_SUCCESS);
    c.b = oracle_vector(GSW_F64, 5, c.n);
    return c;
}

static inline void eisenstat_close(eisenstat_case *c) {
    gsw_preconditioner_destroy(c->M);
    gsw_operator_destroy(c->op);
    gsw_factor_destroy(c->factor);
    gsw_matrix_release(c->context, &c->there);
    free(c->b);
}

/* A solve from x on the host, which receives the result. */
static inline gsw_status eisenstat_solve(const eisenstat_case *c, gsw_method method,
                                         gsw_krylov_options options, gsw_eisenstat form, double *x,
                                         gsw_krylov_result *result) {
    const size_t bytes = (size_t)c->n * sizeof *x;
    void *bt = krylov_upload(c->context, c->b, bytes), *xt = krylov_upload(c->context, x, bytes);
    options.size = sizeof options;
    options.eisenstat = form;
    *result = (gsw_krylov_result){.size = sizeof *result};
    const gsw_status status = gsw_krylov(c->context, method, c->op, c->M, &options, bt, xt, result);
    krylov_download(c->context, x, xt, bytes);
    gsw_memory_free(c->context, xt);
    gsw_memory_free(c->context, bt);
    if (status == GSW_SUCCESS)
        ck_assert(truth_converged(&c->host, c->b, x,
                                  (options.rtol > 0 ? options.rtol : 1e-8) * (1 + 1e-6)));
    return status;
}

/* ---- the operator ------------------------------------------------------------------------------
 */

/* L1 y and U1 t from the entries of the matrix and from E, row by row; K besides. */
typedef struct split_truth {
    const gsw_matrix *matrix;
    const double *left, *right; /* S^-1 and T^-1; left NULL: S = I */
} split_truth;

static inline double truth_scaled(const split_truth *t, int64_t row, int32_t e, int64_t *j) {
    double value;
    *j = gsw_reference_neighbour(&t->matrix->grid, row, t->matrix->stencil.offsets[e], 1);
    if (*j < 0 || !gsw_reference_entry(t->matrix, row, e, &value))
        return 0;
    return value * (t->left != NULL ? t->left[row] : 1) * t->right[*j];
}

/* Row `row` of L1 x (part -1), U1 x (part 1) or S^-1 A T^-1 x (part 0). */
static inline double truth_part(const split_truth *t, int part, int64_t row, const double *x) {
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
static inline int truth_pivots(const gsw_matrix *matrix, const gsw_factor_options *options,
                               double *pivots) {
    const int64_t n = oracle_points(&matrix->grid);
    const int32_t count = matrix->stencil.count, center = matrix->stencil.center;
    double *lower[GSW_STENCIL_MAX], *upper[GSW_STENCIL_MAX];
    int64_t bad = -1;
    for (int32_t e = 0; e < count; e++) {
        lower[e] = calloc((size_t)n, sizeof **lower);
        upper[e] = calloc((size_t)n, sizeof **upper);
        ck_assert(lower[e] != NULL && upper[e] != NULL);
    }
    if (options->kind == GSW_ILU0)
        bad = gsw_reference_ilu0(matrix, lower, upper);
    else if (options->kind == GSW_IC0)
        bad = gsw_reference_ic0(matrix, lower, upper);
    else if (options->kind == GSW_DILU)
        bad = gsw_reference_dilu(matrix, lower, upper);
    else
        bad = gsw_reference_ssor(matrix, options->omega, lower, upper);
    for (int64_t i = 0; i < n; i++)
        pivots[i] = options->kind == GSW_ILU0  ? upper[center][i]
                    : options->kind == GSW_IC0 ? lower[center][i] * lower[center][i]
                                               : lower[center][i];
    for (int32_t e = 0; e < count; e++) {
        free(lower[e]);
        free(upper[e]);
    }
    return bad < 0;
}

/* Whether the backend has the form for a factor with good pivots. CUDA knows the pivots of shapes
 * for which it has kernels; the shape is that of the grid without the axes of length 1. */
static inline int eisenstat_known(gsw_context *context, const gsw_matrix *host,
                                  const gsw_factor_options *options) {
    gsw_tiles tiles;
    gsw_tiles_derive(&tiles, &host->grid, &host->stencil, 1);
    const gsw_shape_name name = gsw_name_shape(&tiles.part[0]);
    return gsw_context_backend(context) == GSW_BACKEND_CPU || options->kind == GSW_SSOR ||
           (name == gsw_name_shape(&tiles.part[1]) && name != SHAPE_OTHER && name != SHAPE_D3N15X &&
            name != SHAPE_D3N15Y && name != SHAPE_D3N15Z);
}

/* Whether a device certainly has room for the form, whose sweeps take more shared memory than
 * others. In the 64 KiB of tests/gpu.sh the rings of D2N9 and D3N13 do not fit. */
static inline int eisenstat_has_room(const gsw_matrix *host) {
    gsw_tiles tiles;
    gsw_tiles_derive(&tiles, &host->grid, &host->stencil, 1);
    const gsw_shape_name name = gsw_name_shape(&tiles.part[0]);
    return getenv("GSW_CUDA_SHARED_KIB") == NULL ||
           (name != SHAPE_D2N9 && name != SHAPE_D3N13 && name != SHAPE_OTHER);
}

/* t = U1^-1 v and y = B v of the backend fulfil U1 t = v and L1 y = S^-1 A T^-1 t. */
static inline void eisenstat_check_operator(gsw_context *context, const gsw_matrix *host,
                                            const gsw_factor_options *options, int symmetric) {
    const gsw_backend_ops *ops = context->ops;
    const gsw_factor_options unit = {
        .size = sizeof unit, .kind = GSW_FACTOR_LU, .unit_diagonal = 1};
    eisenstat_case c = eisenstat_open(context, host, options);
    const size_t bytes = (size_t)c.n * sizeof(double);
    double *pivots = oracle_vector(GSW_F64, 1, c.n), *scale = oracle_vector(GSW_F64, 1, c.n);
    double *t = oracle_vector(GSW_F64, 1, c.n), *y = oracle_vector(GSW_F64, 1, c.n);
    void *k = krylov_upload(context, y, bytes), *right = krylov_upload(context, y, bytes);
    void *v = krylov_upload(context, c.b, bytes), *tt = krylov_upload(context, t, bytes),
         *yt = krylov_upload(context, y, bytes);
    gsw_split split = {.k = k, .right = right, .left = symmetric ? right : NULL};
    int fits = -1, positive = 1;
    ck_assert_int_eq(gsw_factor_open(context, &c.there, &unit, 0, &split.parts), GSW_SUCCESS);
    ck_assert(truth_pivots(host, options, pivots));
    for (int64_t i = 0; i < c.n; i++) {
        positive &= pivots[i] > 0;
        scale[i] = symmetric ? 1 / sqrt(pivots[i]) : 1 / pivots[i];
    }
    ck_assert_int_eq(ops->split_fill(context, c.factor, &c.there, &split, &fits), GSW_SUCCESS);
    const int expected = eisenstat_known(context, host, options) && (positive || !symmetric);
    if (eisenstat_has_room(host))
        ck_assert_int_eq(fits, expected);
    else
        ck_assert_int_le(fits, expected);
    if (fits) {
        const split_truth said = {host, symmetric ? scale : NULL, scale};
        double worst = 0, largest = 0;
        ck_assert_int_eq(ops->split_apply(context, &split, v, tt, yt), GSW_SUCCESS);
        krylov_download(context, t, tt, bytes);
        krylov_download(context, y, yt, bytes);
        for (int64_t i = 0; i < c.n; i++) {
            const double u = truth_part(&said, 1, i, t) - c.b[i];
            const double l = truth_part(&said, -1, i, y) - truth_part(&said, 0, i, t);
            worst = fmax(worst, fmax(fabs(u), fabs(l)));
            largest = fmax(largest, fmax(fabs(t[i]), fabs(y[i])));
            ck_assert(isfinite(t[i]) && isfinite(y[i]));
        }
        ck_assert_msg(worst <= 1e-13 * largest, "B v is wrong by %.3g of %.3g", worst, largest);
    }
    gsw_factor_destroy(split.parts);
    void *const there[] = {k, right, v, tt, yt};
    for (int i = 0; i < 5; i++)
        gsw_memory_free(context, there[i]);
    double *const here[] = {pivots, scale, t, y};
    for (int i = 0; i < 4; i++)
        free(here[i]);
    eisenstat_close(&c);
}

static const gsw_factor_options eisenstat_kinds[] = {
    {.size = sizeof(gsw_factor_options), .kind = GSW_DILU},
    {.size = sizeof(gsw_factor_options), .kind = GSW_SSOR, .omega = 1.3},
    {.size = sizeof(gsw_factor_options), .kind = GSW_ILU0},
    {.size = sizeof(gsw_factor_options), .kind = GSW_IC0},
};
#define EISENSTAT_KINDS ((int)(sizeof eisenstat_kinds / sizeof eisenstat_kinds[0]))

/* Whether ILU(0) of this stencil keeps the couplings; said here for the named ones. */
static inline int eisenstat_keeps(const char *name) {
    return strcmp(name, "D2N5") == 0 || strcmp(name, "D3N7") == 0;
}

/* Every stencil on grid number g. */
static inline void eisenstat_check_grid(gsw_context *context, int g) {
    const gsw_grid grid = oracle_grid(g);
    for (int s = 0; s < oracle_stencil_count(); s++) {
        const char *name;
        const gsw_stencil *stencil = oracle_stencil(s, &name);
        for (int k = 0; k < EISENSTAT_KINDS - 1; k++) { /* without IC0: not symmetric */
            if (eisenstat_kinds[k].kind == GSW_ILU0 && !eisenstat_keeps(name))
                continue;
            for (int sign = 0; sign < 2; sign++) {
                oracle_matrix *random = oracle_random(&grid, stencil, (uint64_t)(100 + g),
                                                      sign ? ORACLE_ANY_SIGN : ORACLE_POSITIVE);
                eisenstat_check_operator(context, &random->view, &eisenstat_kinds[k], (s + k) & 1);
                oracle_free(random);
            }
        }
    }
}

/* ---- solves ------------------------------------------------------------------------------------
 */

static const struct {
    const char *text;
    int symmetric;
} eisenstat_problems[] = {
    {"poisson:13x12x11", 1}, {"anisotropic:37x23", 1},  {"lognormal:9x17x8", 1},
    {"poisson:1x40x1", 1},   {"hpcg:9x8x7", 1},         {"convection:12x11x10", 0},
    {"convection:31x30", 0}, {"helmholtz19:10x9x8", 1},
};
#define EISENSTAT_PROBLEMS ((int)(sizeof eisenstat_problems / sizeof eisenstat_problems[0]))

/* The x after each number of iterations of CG is that of the method without the form. */
static inline void eisenstat_check_iterates(const eisenstat_case *c) {
    double *x = calloc((size_t)c->n, sizeof *x), *y = calloc((size_t)c->n, sizeof *y);
    gsw_krylov_result result, other;
    ck_assert(x != NULL && y != NULL);
    for (int limit = 1; limit <= 8; limit++) {
        const gsw_krylov_options options = {.rtol = 1e-9, .max_iterations = limit};
        memset(x, 0, (size_t)c->n * sizeof *x);
        memset(y, 0, (size_t)c->n * sizeof *y);
        const gsw_status status =
            eisenstat_solve(c, GSW_CG, options, GSW_EISENSTAT_ALWAYS, x, &result);
        if (status == GSW_SUCCESS) /* small grids */
            break;
        ck_assert_int_eq(status, GSW_ERROR_NOT_CONVERGED);
        ck_assert_int_eq(result.eisenstat, limit);
        ck_assert_int_eq(result.iterations, limit);
        ck_assert_int_eq(eisenstat_solve(c, GSW_CG, options, GSW_EISENSTAT_NEVER, y, &other),
                         GSW_ERROR_NOT_CONVERGED);
        ck_assert_int_eq(other.eisenstat, 0);
        ck_assert_double_le(oracle_error(GSW_F64, c->n, x, y), 1e-10);
        ck_assert_double_le(fabs(result.residual - other.residual), 1e-9 * other.residual + 1e-15);
    }
    free(y);
    free(x);
}

/* Whole solves from x0 = 0 and from another x0. The form takes as many iterations as the method
 * without it, except for a few: CG because it stops by another norm, the others because their
 * iterates are those of preconditioning from both sides. */
static inline void eisenstat_check_solves(const eisenstat_case *c, gsw_method method) {
    double *x = malloc((size_t)c->n * sizeof *x), *y = malloc((size_t)c->n * sizeof *y);
    ck_assert(x != NULL && y != NULL);
    for (int guess = 0; guess < 2; guess++) {
        const gsw_krylov_options options = {.rtol = guess ? 1e-6 : 1e-9};
        gsw_krylov_result form, ordinary;
        for (int64_t i = 0; i < c->n; i++)
            x[i] = y[i] = guess ? sin((double)i) : 0;
        ck_assert_int_eq(eisenstat_solve(c, method, options, GSW_EISENSTAT_ALWAYS, x, &form),
                         GSW_SUCCESS);
        ck_assert_int_eq(eisenstat_solve(c, method, options, GSW_EISENSTAT_NEVER, y, &ordinary),
                         GSW_SUCCESS);
        ck_assert_int_eq(form.eisenstat, form.iterations);
        ck_assert_int_eq(form.replacements, 0);
        ck_assert_int_ge(form.iterations, 1);
        ck_assert_msg((double)form.iterations <=
                          (method == GSW_CG ? 1 : 1.3) * (double)ordinary.iterations + 2,
                      "%s: %lld iterations in the form, %lld without it", gsw_method_name(method),
                      (long long)form.iterations, (long long)ordinary.iterations);
        ck_assert_double_le(oracle_error(GSW_F64, c->n, x, y), guess ? 1e-3 : 1e-6);
    }
    free(y);
    free(x);
}

/* The solve is the same, to the bit, with and without the permission for the form. */
static inline void eisenstat_check_unused(const char *what, const eisenstat_case *c,
                                          gsw_method method, gsw_krylov_options options) {
    double *x = calloc((size_t)c->n, sizeof *x), *y = calloc((size_t)c->n, sizeof *y);
    gsw_krylov_result result, other;
    ck_assert(x != NULL && y != NULL);
    const gsw_status status = eisenstat_solve(c, method, options, GSW_EISENSTAT_ALWAYS, x, &result);
    ck_assert_msg(result.eisenstat == 0, "%s: %lld iterations in the form", what,
                  (long long)result.eisenstat);
    ck_assert_int_eq(eisenstat_solve(c, method, options, GSW_EISENSTAT_NEVER, y, &other), status);
    ck_assert_int_eq(result.iterations, other.iterations);
    ck_assert_msg(memcmp(x, y, (size_t)c->n * sizeof *x) == 0, "%s: x has other bits", what);
    free(y);
    free(x);
}

static inline void eisenstat_check_kind(const char *what, gsw_context *context,
                                        const gsw_matrix *host, gsw_factor_options options) {
    options.size = sizeof options;
    eisenstat_case c = eisenstat_open(context, host, &options);
    eisenstat_check_unused(what, &c, GSW_BICGSTAB, (gsw_krylov_options){.rtol = 1e-6});
    eisenstat_close(&c);
}

static inline void eisenstat_check_problem(gsw_context *context, gsw_context *cpu, int p) {
    gsw_problem *problem = NULL;
    ck_assert_int_eq(gsw_problem_parse(cpu, eisenstat_problems[p].text, NULL, &problem),
                     GSW_SUCCESS);
    const gsw_matrix *host = gsw_problem_matrix(problem);
    const int symmetric = eisenstat_problems[p].symmetric;
    for (int k = 0; k < EISENSTAT_KINDS - !symmetric; k++) {
        const int keeps = host->stencil.count == 5 || host->stencil.count == 7;
        if (eisenstat_kinds[k].kind != GSW_DILU && eisenstat_kinds[k].kind != GSW_SSOR && !keeps)
            continue;
        if (!eisenstat_known(context, host, &eisenstat_kinds[k])) {
            eisenstat_check_kind("without known pivots", context, host, eisenstat_kinds[k]);
            continue;
        }
        eisenstat_case c = eisenstat_open(context, host, &eisenstat_kinds[k]);
        if (symmetric)
            eisenstat_check_iterates(&c);
        for (int method = symmetric ? GSW_CG : GSW_BICGSTAB; method <= GSW_GMRES; method++)
            eisenstat_check_solves(&c, (gsw_method)method);
        eisenstat_close(&c);
    }
    gsw_problem_destroy(problem);
}

/* ---- where it does not apply -------------------------------------------------------------------
 */

/* A callback that multiplies with a matrix. */
static inline gsw_status eisenstat_multiply(void *user, gsw_context *context, const double *x,
                                            double *y) {
    return gsw_spmv(context, user, GSW_F64, x, y);
}

static inline void eisenstat_check_exceptions(gsw_context *context, gsw_context *cpu) {
    gsw_problem *problem = NULL, *wide = NULL, *turned = NULL;
    ck_assert_int_eq(gsw_problem_parse(cpu, "poisson:9x8x7", NULL, &problem), GSW_SUCCESS);
    ck_assert_int_eq(gsw_problem_parse(cpu, "hpcg:9x8x7", NULL, &wide), GSW_SUCCESS);
    const gsw_matrix *host = gsw_problem_matrix(problem);
    eisenstat_check_kind("jacobi", context, host, (gsw_factor_options){.kind = GSW_JACOBI});
    eisenstat_check_kind("fp32", context, host,
                         (gsw_factor_options){.kind = GSW_DILU, .factor_type = GSW_F32});
    eisenstat_check_kind("transposed", context, host,
                         (gsw_factor_options){.kind = GSW_DILU, .transpose = 1});
    eisenstat_check_kind("lower", context, host, (gsw_factor_options){.kind = GSW_FACTOR_LOWER});
    eisenstat_check_kind("ilu0 with fill among neighbours", context, gsw_problem_matrix(wide),
                         (gsw_factor_options){.kind = GSW_ILU0});

    const gsw_factor_options dilu = {.size = sizeof dilu, .kind = GSW_DILU};
    eisenstat_case c = eisenstat_open(context, host, &dilu);
    eisenstat_check_unused("left norm", &c, GSW_CG,
                           (gsw_krylov_options){.norm = GSW_NORM_PRECONDITIONED});
    eisenstat_check_unused("richardson", &c, GSW_RICHARDSON, (gsw_krylov_options){.rtol = 0.1});
    gsw_operator *const op = c.op;
    ck_assert_int_eq(gsw_operator_from_callback(context, c.n, eisenstat_multiply, &c.there, &c.op),
                     GSW_SUCCESS);
    eisenstat_check_unused("callback", &c, GSW_CG, (gsw_krylov_options){.rtol = 1e-6});
    gsw_operator_destroy(c.op);
    c.op = op;

    eisenstat_check_unused("a short restart", &c, GSW_GMRES, (gsw_krylov_options){.restart = 9});

    /* Factors of another stencil, and of another grid with as many points. */
    ck_assert_int_eq(gsw_problem_parse(cpu, "poisson:7x8x9", NULL, &turned), GSW_SUCCESS);
    const gsw_matrix *const others[] = {gsw_problem_matrix(wide), gsw_problem_matrix(turned)};
    gsw_preconditioner *const M = c.M;
    for (int k = 0; k < 2; k++) {
        eisenstat_case other = eisenstat_open(context, others[k], &dilu);
        c.M = other.M;
        eisenstat_check_unused("another shape", &c, GSW_BICGSTAB,
                               (gsw_krylov_options){.rtol = 1e-6});
        eisenstat_close(&other);
    }
    c.M = M;
    eisenstat_close(&c);
    gsw_problem_destroy(turned);
    gsw_problem_destroy(wide);
    gsw_problem_destroy(problem);
}

/* ---- other beginnings and ends -----------------------------------------------------------------
 */

/* A factor of a matrix that has been multiplied by 4 since is not used, because its E does not fit;
 * refactored it is. */
static inline void eisenstat_check_old_factor(gsw_context *context, gsw_context *cpu) {
    gsw_problem *problem = NULL;
    ck_assert_int_eq(gsw_problem_parse(cpu, "poisson:12x11x10", NULL, &problem), GSW_SUCCESS);
    const gsw_matrix *host = gsw_problem_matrix(problem);
    oracle_matrix *scaled = oracle_random(&host->grid, &host->stencil, 3, ORACLE_POSITIVE);
    for (int32_t e = 0; e < host->stencil.count; e++)
        for (int64_t i = 0; i < oracle_points(&host->grid); i++)
            ((double *)scaled->arrays[e])[i] = 4 * ((const double *)host->array.values[e])[i];
    for (int k = 0; k < EISENSTAT_KINDS; k++) {
        eisenstat_case c = eisenstat_open(context, &scaled->view, &eisenstat_kinds[k]);
        eisenstat_case old = eisenstat_open(context, host, &eisenstat_kinds[k]);
        gsw_preconditioner *const M = c.M;
        c.M = old.M;
        for (int method = GSW_CG; method <= GSW_GMRES; method++)
            eisenstat_check_unused("an old factor", &c, (gsw_method)method,
                                   (gsw_krylov_options){.rtol = 1e-8});
        ck_assert_int_eq(gsw_factor_refactor(context, old.factor, &c.there, NULL), GSW_SUCCESS);
        eisenstat_check_solves(&c, GSW_CG);
        c.M = M;
        eisenstat_close(&old);
        eisenstat_close(&c);
    }
    oracle_free(scaled);
    gsw_problem_destroy(problem);
}

/* CG on a negative definite matrix, whose pivots have no real roots, takes no form. On an
 * indefinite one the form breaks down, and the method without it says why. */
static inline void eisenstat_check_breakdowns(gsw_context *context, gsw_context *cpu) {
    gsw_problem *problem = NULL;
    ck_assert_int_eq(gsw_problem_parse(cpu, "poisson:9x8x7", NULL, &problem), GSW_SUCCESS);
    const gsw_matrix *host = gsw_problem_matrix(problem);
    const int32_t center = host->stencil.center;
    const int64_t n = oracle_points(&host->grid);
    const gsw_factor_options ssor = {.size = sizeof ssor, .kind = GSW_SSOR};
    for (int indefinite = 0; indefinite < 2; indefinite++) {
        oracle_matrix *changed = oracle_random(&host->grid, &host->stencil, 1, ORACLE_POSITIVE);
        for (int32_t e = 0; e < host->stencil.count; e++) {
            const double *from = host->array.values[e];
            double *to = changed->arrays[e];
            for (int64_t i = 0; i < n; i++)
                to[i] = indefinite ? from[i] : -from[i];
            for (int64_t i = 0; indefinite && e == center && i < n; i++)
                to[i] = 3; /* less than the couplings add up to */
        }
        eisenstat_case c = eisenstat_open(context, &changed->view, &ssor);
        if (!indefinite) {
            eisenstat_check_unused("negative", &c, GSW_CG, (gsw_krylov_options){.rtol = 1e-8});
        } else {
            gsw_krylov_result result, other;
            double *x = calloc((size_t)n, sizeof *x), *y = calloc((size_t)n, sizeof *y);
            const gsw_krylov_options options = {.rtol = 1e-8, .max_iterations = 100};
            ck_assert(x != NULL && y != NULL);
            ck_assert_int_eq(eisenstat_solve(&c, GSW_CG, options, GSW_EISENSTAT_NEVER, y, &other),
                             GSW_ERROR_BREAKDOWN);
            ck_assert_int_eq(eisenstat_solve(&c, GSW_CG, options, GSW_EISENSTAT_ALWAYS, x, &result),
                             GSW_ERROR_BREAKDOWN);
            ck_assert_ptr_nonnull(strstr(gsw_context_message(context), "indefinite"));
            ck_assert_int_eq(result.converged, 0);
            for (int64_t i = 0; i < n; i++)
                ck_assert(isfinite(x[i]));
            free(y);
            free(x);
        }
        eisenstat_close(&c);
        oracle_free(changed);
    }
    gsw_problem_destroy(problem);
}

typedef struct eisenstat_watch {
    int64_t next, stop_at;
    double last;
} eisenstat_watch;

static inline int eisenstat_monitor(void *user, int64_t iteration, double residual) {
    eisenstat_watch *watch = user;
    ck_assert_int_eq(iteration, watch->next++);
    ck_assert(residual >= 0 && isfinite(residual));
    watch->last = residual;
    return iteration == watch->stop_at;
}

/* A monitor that stops iteration k, whichever that is: the solve ends there, converged or not. */
static inline void eisenstat_check_stops(const eisenstat_case *c, gsw_method method, int64_t last) {
    double *x = malloc((size_t)c->n * sizeof *x);
    ck_assert_ptr_nonnull(x);
    for (int64_t stop = 0; stop <= last; stop++) {
        eisenstat_watch watch = {.stop_at = stop};
        const gsw_krylov_options options = {.monitor = eisenstat_monitor, .monitor_user = &watch};
        gsw_krylov_result result;
        memset(x, 0, (size_t)c->n * sizeof *x);
        const gsw_status status =
            eisenstat_solve(c, method, options, GSW_EISENSTAT_ALWAYS, x, &result);
        ck_assert_msg(status == GSW_ERROR_STOPPED || (status == GSW_SUCCESS && stop == last),
                      "%s stopped in iteration %lld: %s", gsw_method_name(method), (long long)stop,
                      gsw_status_name(status));
        ck_assert_int_eq(result.iterations, stop);
        ck_assert_int_eq(result.eisenstat, stop);
        if (status == GSW_ERROR_STOPPED)
            ck_assert_ptr_nonnull(strstr(gsw_context_message(c->context), "stopped iteration"));
    }
    free(x);
}

/* Monitors see all iterations, and may stop them. A good x0 takes none. */
static inline void eisenstat_check_monitors(gsw_context *context, gsw_context *cpu) {
    gsw_problem *problem = NULL;
    ck_assert_int_eq(gsw_problem_parse(cpu, "poisson:13x12x11", NULL, &problem), GSW_SUCCESS);
    const gsw_factor_options ic0 = {.size = sizeof ic0, .kind = GSW_IC0};
    eisenstat_case c = eisenstat_open(context, gsw_problem_matrix(problem), &ic0);
    double *x = calloc((size_t)c.n, sizeof *x);
    ck_assert_ptr_nonnull(x);
    for (int method = GSW_CG; method <= GSW_GMRES; method++) {
        memset(x, 0, (size_t)c.n * sizeof *x);
        for (int again = 0; again < 2; again++) { /* from 0, and from the solution */
            eisenstat_watch watch = {.stop_at = -1};
            const gsw_krylov_options options = {.monitor = eisenstat_monitor,
                                                .monitor_user = &watch};
            gsw_krylov_result result;
            ck_assert_int_eq(
                eisenstat_solve(&c, (gsw_method)method, options, GSW_EISENSTAT_ALWAYS, x, &result),
                GSW_SUCCESS);
            ck_assert_int_eq(watch.next, result.iterations + 1);
            ck_assert_double_le(watch.last, 1.5e-8);
            ck_assert_int_eq(result.iterations > 0, again == 0);
            if (!again)
                eisenstat_check_stops(&c, (gsw_method)method, result.iterations);
        }
    }
    free(x);
    eisenstat_close(&c);
    gsw_problem_destroy(problem);
}

/* x of a solve from 0 in the form has the bits of *first, which receives x where it is NULL. */
static inline void eisenstat_check_bits(const eisenstat_case *c, gsw_method method,
                                        double **first) {
    double *x = calloc((size_t)c->n, sizeof *x);
    gsw_krylov_result result;
    ck_assert_ptr_nonnull(x);
    ck_assert_int_eq(eisenstat_solve(c, method, (gsw_krylov_options){.rtol = 1e-9},
                                     GSW_EISENSTAT_ALWAYS, x, &result),
                     GSW_SUCCESS);
    ck_assert_int_gt(result.eisenstat, 0);
    if (*first == NULL) {
        *first = x;
        return;
    }
    ck_assert_mem_eq(*first, x, (size_t)c->n * sizeof *x);
    free(x);
}

/* However far the host queues ahead, the bits are the same. */
static inline void eisenstat_check_queues(gsw_context *context, gsw_context *cpu) {
    static const int aheads[] = {0, 1, 4, 7};
    for (int p = 0; p < EISENSTAT_PROBLEMS; p++) {
        gsw_problem *problem = NULL;
        ck_assert_int_eq(gsw_problem_parse(cpu, eisenstat_problems[p].text, NULL, &problem),
                         GSW_SUCCESS);
        const gsw_factor_options ssor = {.size = sizeof ssor, .kind = GSW_SSOR};
        eisenstat_case c = eisenstat_open(context, gsw_problem_matrix(problem), &ssor);
        const gsw_method method = eisenstat_problems[p].symmetric ? GSW_CG : GSW_BICGSTAB;
        double *first = NULL;
        for (int k = 0; k < 4; k++) {
            krylov_queue_set(context, aheads[k]);
            eisenstat_check_bits(&c, method, &first);
            krylov_queue_reset(context);
        }
        free(first);
        eisenstat_close(&c);
        gsw_problem_destroy(problem);
    }
}

#endif
