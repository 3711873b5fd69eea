/* test_multigrid.c: levels against the serial reference and against dense products, cycles as
 * operators, and refused arguments. */
#include "multigrid/hierarchy.h"
#include "reference/reference.h"
#include "multigrid_loops.h"

/* ---- Levels ---- */

/* Weights as the reference keeps them, from an extracted P (rows of the fine grid) or, where
 * `transposed`, R. */
static double *weights_of(const gsw_csr *csr, const gsw_grid *fine, const gsw_grid *coarse,
                          int axes, int transposed) {
    double *w = keep_zeros(8 * oracle_points(fine));
    const int64_t *row_ptr = csr->row_ptr, *columns = csr->columns;
    const double *values = csr->values;
    ck_assert_int_eq(csr->rows, oracle_points(transposed ? coarse : fine));
    for (int64_t row = 0; row < csr->rows; row++)
        for (int64_t k = row_ptr[row]; k < row_ptr[row + 1]; k++) {
            const int64_t f = transposed ? columns[k] : row, c = transposed ? row : columns[k];
            const int64_t at[3] = {f % fine->nx, f / fine->nx % fine->ny, f / fine->nx / fine->ny};
            const int64_t to[3] = {c % coarse->nx, c / coarse->nx % coarse->ny,
                                   c / coarse->nx / coarse->ny};
            int subset = 0;
            ck_assert(k == row_ptr[row] || columns[k] > columns[k - 1]);
            for (int axis = 0; axis < 3; axis++) {
                const int64_t base = axes >> axis & 1 ? at[axis] / 2 : at[axis];
                ck_assert(to[axis] == base || to[axis] == base + 1);
                subset |= (int)(to[axis] - base) << axis;
            }
            w[8 * f + subset] = values[k];
        }
    return w;
}

/* Everything between a level and the next one. `fine` is the level's matrix. */
static void check_level(const gsw_multigrid *mg, int number, const gsw_matrix *fine) {
    const gsw_level *level = mg->level[number], *coarse = mg->level[number + 1];
    const gsw_grid *fg = &fine->grid, *cg = &coarse->matrix.grid;
    const int64_t n = level->points, m = coarse->points;
    const int axes = level->transfer->axes;
    const size_t mark = keep_mark();
    const gsw_reference_lumping rows = {GSW_ROWS_OF_MATRIX, mg->symmetric};
    const gsw_reference_lumping cut = {GSW_ROWS_OF_SYMMETRIC_PART_CUT, 0};
    char what[200];
    snprintf(what, sizeof what, "level %d, %s on %lldx%lldx%lld, axes %d, %ssymmetric", number,
             gsw_stencil_name(&fine->stencil), (long long)fg->nx, (long long)fg->ny,
             (long long)fg->nz, axes, mg->symmetric ? "" : "not ");
    const gsw_csr p = dense_extract(mg, number, GSW_MULTIGRID_PROLONGATION);
    const gsw_csr r = dense_extract(mg, number, GSW_MULTIGRID_RESTRICTION);
    double *pw = weights_of(&p, fg, cg, axes, 0), *rw = weights_of(&r, fg, cg, axes, 1);
    double *p_expected = keep_zeros(8 * n), *r_expected = keep_zeros(8 * n);
    int64_t degenerate = gsw_reference_interpolation(fine, axes, rows, p_expected);
    dense_compare(what, 8 * n, pw, p_expected);
    degenerate += mg->symmetric ? 0 : gsw_reference_interpolation(fine, axes, cut, r_expected);
    dense_compare(what, 8 * n, rw, mg->symmetric ? p_expected : r_expected);
    ck_assert_msg(level->degenerate == degenerate, "%s: %lld degenerate points, not %lld", what,
                  (long long)level->degenerate, (long long)degenerate);

    oracle_matrix *product = oracle_zeros(&coarse->matrix, GSW_F64);
    gsw_reference_triple(fine, axes, rows, pw, rw, &product->view.stencil,
                         (double *const *)product->arrays);
    double *triple = dense_of(&product->view), *own = dense_of(&coarse->matrix);
    oracle_free(product);
    dense_compare(what, m * m, own, triple);
    if (gsw_stencil_beyond(&fine->stencil, 1) == NULL && n <= 1500)
        dense_compare(what, m * m, own, dense_triple(&p, &r, dense_of(fine), n, m));
    keep_release(mark);
}

/* Copies each coupling above the diagonal to its mirror image. */
static void symmetrise(oracle_matrix *matrix) {
    const gsw_stencil *s = &matrix->view.stencil;
    for (int32_t e = s->center + 1; e < s->count; e++)
        for (int64_t row = 0; row < oracle_points(&matrix->view.grid); row++) {
            const int64_t there = hard_neighbour(&matrix->view.grid, row, s->offsets[e]);
            if (there >= 0)
                ((double *)matrix->arrays[s->count - 1 - e])[there] =
                    ((double *)matrix->arrays[e])[row];
        }
}

static int mirrored(const gsw_stencil *s) {
    for (int32_t e = 0; e < s->count; e++) {
        const gsw_offset o = s->offsets[e], m = s->offsets[s->count - 1 - e];
        if (o.dx != -m.dx || o.dy != -m.dy || o.dz != -m.dz)
            return 0;
    }
    return 1;
}

/* Whether any coupling can stay inside the grid. */
static int couples(const gsw_grid *g, const gsw_stencil *s) {
    int any = 0;
    for (int32_t e = 0; e < s->count; e++)
        any |= e != s->center && abs(s->offsets[e].dx) < g->nx && abs(s->offsets[e].dy) < g->ny &&
               abs(s->offsets[e].dz) < g->nz;
    return any;
}

/* Every level of a hierarchy of this matrix, whose levels are squeezed. */
static void check_all_levels(const gsw_multigrid *mg, const gsw_matrix *matrix) {
    gsw_squeezed finest;
    gsw_squeeze(matrix, &finest);
    for (int number = 0; number + 1 < mg->levels; number++)
        check_level(mg, number, number == 0 ? &finest.matrix : &mg->level[number]->matrix);
}

static void check_levels(const gsw_matrix *matrix, double theta, int expect_symmetric) {
    gsw_multigrid *mg = keep_multigrid(
        context, matrix, (gsw_multigrid_options){.coarsest_points = 1, .theta = theta});
    ck_assert_int_eq(mg->symmetric, expect_symmetric);
    check_all_levels(mg, matrix);
}

/* One stencil, on every grid. */
TEST(levels_of_random_matrices) {
    const char *name;
    const gsw_stencil *stencil = oracle_stencil(_i, &name);
    if (gsw_stencil_beyond(stencil, 2) != NULL)
        return; /* refused, see below */
    const int stride = on_reference() ? device_stride() : ORACLE_STRIDE;
    for (int i = _i % stride; i < oracle_grid_count(); i += stride) {
        const gsw_grid grid = oracle_grid(i);
        if (oracle_points(&grid) > 3000 && i % 2 != _i % 2)
            continue;
        keep_release(0);
        oracle_matrix *m = keep_matrix_of(&grid, stencil, (uint64_t)(i + 1), ORACLE_POSITIVE);
        if (mirrored(stencil)) {
            check_levels(&m->view, 1e-6, !couples(&grid, stencil));
            symmetrise(m);
            check_levels(&m->view, 0, 1);
        } else {
            gsw_multigrid *mg =
                keep_multigrid(context, &m->view, (gsw_multigrid_options){.coarsest_points = 1});
            check_all_levels(mg, &m->view);
        }
    }
}

static const struct {
    const char *name;
    int symmetric;
} problems[] = {
    {"poisson:17x12x9", 1},   {"poisson:1x31x19", 1},      {"poisson:23x2x5", 1},
    {"poisson:33x17", 1},     {"anisotropic:16x13x11", 1}, {"lognormal:13x14x15", 1},
    {"lognormal:31x20", 1},   {"hpcg:9x10x11", 1},         {"helmholtz19:11x9x8", 1},
    {"star13:11x12x9", 1},    {"box33:9x8x11", 1},         {"convection:13x11x9", 0},
    {"convection:1x40x3", 0},
};

TEST(levels_of_problems) {
    check_levels(keep_problem(problems[_i].name), 0, problems[_i].symmetric);
}

TEST(coarse_matrices_are_products) {
    dense_check_levels(keep_problem(dense_problems[_i]), dense_problems[_i]);
}

/* An edge point without couplings along its edge, whose row sums to zero, has no weights. It gets
 * the mean instead and is counted. A point without couplings interpolates nothing. */
TEST(special_rows) {
    const gsw_matrix *m = keep_problem("poisson:9x8x7");
    const gsw_grid *g = &m->grid;
    double *const *values = (double *const *)(uintptr_t)m->array.values;
    const int64_t edge = gsw_grid_row(g, 3, 4, 4), alone = gsw_grid_row(g, 5, 2, 2);
    for (int32_t e = 0; e < m->stencil.count; e++) {
        const gsw_offset o = m->stencil.offsets[e];
        const int32_t back = m->stencil.count - 1 - e;
        const int64_t step = gsw_grid_row(g, o.dx, o.dy, o.dz);
        if (o.dx != 0)
            values[e][edge] = values[back][edge + step] = 0;
        if (e != m->stencil.center)
            values[e][alone] = values[back][alone + step] = 0;
    }
    values[m->stencil.center][edge] = 4;
    check_levels(m, 0, 1);
    gsw_multigrid *mg = keep_multigrid(context, m, (gsw_multigrid_options){.coarsest_points = 1});
    gsw_multigrid_level level = {.size = sizeof level};
    must(context, gsw_multigrid_get_level(mg, 0, &level));
    ck_assert_int_eq(level.degenerate_points, 1);
    const gsw_csr p = dense_extract(mg, 0, GSW_MULTIGRID_PROLONGATION);
    const int64_t *row_ptr = p.row_ptr;
    const double *weights = p.values;
    ck_assert_int_eq(row_ptr[edge + 1] - row_ptr[edge], 2);
    ck_assert(weights[row_ptr[edge]] == 0.5 && weights[row_ptr[edge] + 1] == 0.5);
    ck_assert_int_eq(row_ptr[alone + 1] - row_ptr[alone], 0);
}

/* Rows x_i = b_i inside a grid, whose columns stay. Where stencils have no corners, restriction to
 * them takes their own residual only, whatever the size of their diagonals. */
TEST(conditions_inside) {
    static const struct {
        const char *problem;
        void (*change)(oracle_matrix *m);
    } cases[] = {{"poisson:17x13x9", hard_rows_ball},
                 {"hpcg:11x12x9", hard_rows_bars},
                 {"star13:12x11x10", hard_rows_tenth},
                 {"convection:23x17", hard_rows_bars}};
    for (int i = 0; i < LENGTH(cases); i++) {
        oracle_matrix *m = hard_problem(cases[i].problem);
        cases[i].change(m);
        const gsw_grid *g = &m->view.grid;
        check_levels(&m->view, 0, 0);
        gsw_multigrid *mg =
            keep_multigrid(context, &m->view, (gsw_multigrid_options){.coarsest_points = 1});
        ck_assert_int_eq(mg->level[0]->transfer->axes, g->nz > 1 ? 7 : 3);
        const gsw_csr r = dense_extract(mg, 0, GSW_MULTIGRID_RESTRICTION);
        const int64_t *row_ptr = r.row_ptr, *columns = r.columns;
        const gsw_grid *coarse = &mg->level[1]->matrix.grid;
        int64_t conditions = 0;
        for (int64_t row = 0; row < r.rows; row++) {
            int64_t at[3], couplings = 0;
            hard_place(coarse, row, at);
            const int64_t fine = gsw_grid_row(g, 2 * at[0], 2 * at[1], 2 * at[2]);
            for (int32_t e = 0; e < m->view.stencil.count; e++)
                couplings += e != m->view.stencil.center &&
                             hard_neighbour(g, fine, m->view.stencil.offsets[e]) >= 0 &&
                             ((double *)m->arrays[e])[fine] != 0;
            if (couplings > 0)
                continue;
            conditions++;
            if (m->view.stencil.count != 5 && m->view.stencil.count != 7)
                continue; /* collapsed couplings reach the point, too */
            ck_assert_int_eq(row_ptr[row + 1] - row_ptr[row], 1);
            ck_assert_int_eq(columns[row_ptr[row]], fine);
        }
        ck_assert_int_gt(conditions, 0);
    }
}

/* x += M (b - A x) until the residual has fallen by 1e-8; returns the steps. */
static int stationary_steps(const gsw_matrix *m, gsw_multigrid *mg, const double *b, int limit) {
    const int64_t n = oracle_points(&m->grid);
    double *x = keep_zeros(n), *r = keep_zeros(n), *z = keep_zeros(n);
    double start = 0, now = 0;
    int steps = 0;
    for (;; steps++) {
        must(context, gsw_residual(context, m, GSW_F64, b, x, r));
        now = 0;
        for (int64_t i = 0; i < n; i++)
            now += r[i] * r[i];
        if (steps == 0)
            start = now;
        if (!(now > 1e-16 * start) || steps == limit)
            break;
        must(context, gsw_multigrid_apply(context, mg, r, z));
        for (int64_t i = 0; i < n; i++)
            x[i] += z[i];
    }
    return now <= 1e-16 * start ? steps : limit + 1;
}

/* Pure Neumann boundaries: the coarsest level handles the constants. */
TEST(constants_in_the_null_space) {
    static const char *const names[] = {"poisson:32x32x32", "poisson:25x18", "lognormal:31x20x17",
                                        "poisson:5x3x2"};
    oracle_matrix *closed = hard_problem(names[_i]);
    const gsw_matrix *m = &closed->view;
    const int64_t n = oracle_points(&m->grid);
    double *b = keep_random(3, n), mean = 0;
    hard_close(closed);
    for (int64_t i = 0; i < n; i++)
        mean += b[i] / (double)n;
    for (int64_t i = 0; i < n; i++)
        b[i] -= mean;
    gsw_multigrid *mg = keep_multigrid(context, m, (gsw_multigrid_options){0});
    gsw_multigrid_info info = {.size = sizeof info};
    must(context, gsw_multigrid_get_info(mg, &info));
    ck_assert_int_eq(info.singular, 1);
    if (info.levels > 1) {
        const gsw_csr p = dense_extract(mg, 0, GSW_MULTIGRID_PROLONGATION);
        for (int64_t row = 0; row < n; row++) {
            double sum = 0;
            for (int64_t k = ((const int64_t *)p.row_ptr)[row];
                 k < ((const int64_t *)p.row_ptr)[row + 1]; k++)
                sum += ((const double *)p.values)[k];
            ck_assert(fabs(sum - 1) < 1e-13);
        }
    }
    const int steps = stationary_steps(m, mg, b, 60);
    ck_assert_msg(steps <= (names[_i][0] == 'l' ? 45 : 16), "%s: %d steps", names[_i], steps);
}

/* ---- Cycles as operators ---- */

static const gsw_smoother smoothers[] = {
    GSW_SMOOTHER_GS,     GSW_SMOOTHER_SYMGS,     GSW_SMOOTHER_ILU0,      GSW_SMOOTHER_ILU0_FINEST,
    GSW_SMOOTHER_JACOBI, GSW_SMOOTHER_CHEBYSHEV, GSW_SMOOTHER_MULTICOLOR};

/* Colours are swept in both directions where the matrix is not symmetric. */
TEST(colours_precondition_what_is_not_symmetric) {
    gsw_multigrid_level finest = {.size = sizeof finest};
    gsw_krylov_result result = {.size = sizeof result};
    const gsw_matrix *m = keep_problem("convection:24x23x22");
    const int64_t n = oracle_points(&m->grid);
    double *b = keep_random(1, n), *x = keep_zeros(n);
    gsw_multigrid *mg =
        keep_multigrid(context, m, (gsw_multigrid_options){.smoother = GSW_SMOOTHER_MULTICOLOR});
    must(context, gsw_multigrid_get_level(mg, 0, &finest));
    ck_assert_int_eq(finest.smoother, GSW_SMOOTHER_MULTICOLOR);
    gsw_operator *op = keep_operator(context, m);
    gsw_preconditioner *M = keep_multigrid_M(context, mg);
    must(context, gsw_bicgstab(context, op, M, NULL, b, x, &result));
    ck_assert_int_le(result.iterations, 10);
}

TEST(loops_smooth_problems) {
    gsw_context *const usual = context;
    if (on_cpu())
        context = keep_context(1 + _i % 3);
    loops_check(keep_problem(loops_problems[_i]), loops_problems[_i]);
    context = usual;
}

TEST(loops_smooth_any_stencil) {
    loops_check_stencil(_i);
}

/* x' M y = y' M x, and M is positive. */
TEST(cycles_are_symmetric) {
    static const char *const names[] = {"poisson:19x14x11", "lognormal:23x9x12",
                                        "hpcg:11x8x13",     "anisotropic:15x17x9",
                                        "star13:13x14x9",   "poisson:37x29"};
    for (int i = 0; i < LENGTH(names); i++) {
        const gsw_matrix *m = keep_problem(names[i]);
        const int64_t n = oracle_points(&m->grid);
        double *x = keep_random(1, n), *y = keep_random(2, n), *mx = keep_zeros(n),
               *my = keep_zeros(n);
        for (int sweeps = 1; sweeps <= 2; sweeps++)
            for (int cycle = 0; cycle <= GSW_CYCLE_W; cycle += GSW_CYCLE_W) {
                const gsw_multigrid_options options = {.smoother = smoothers[_i],
                                                       .cycle = (gsw_cycle)cycle,
                                                       .pre_sweeps = sweeps,
                                                       .post_sweeps = sweeps,
                                                       .coarsest_points = 30};
                gsw_multigrid *mg = keep_multigrid(context, m, options);
                must(context, gsw_multigrid_apply(context, mg, x, mx));
                must(context, gsw_multigrid_apply(context, mg, y, my));
                char what[100];
                snprintf(what, sizeof what, "%s, %s, %s, %d sweeps", names[i],
                         gsw_smoother_name(smoothers[_i]), gsw_cycle_name((gsw_cycle)cycle),
                         sweeps);
                check_symmetric(what, n, x, mx, y, my, 1e-10);
            }
    }
}

/* Set-up and cycle give the same bits for any number of threads; in fp32 and fp64. */
TEST(any_number_of_threads) {
    static const char *const names[] = {"lognormal:45x34x31", "convection:37x41x23",
                                        "hpcg:30x31x29",      "lognormal:150x170",
                                        "star13:21x20x19",    "lognormal:700x60"};
    const gsw_matrix *m = keep_problem(names[_i]);
    const int64_t n = oracle_points(&m->grid);
    double *b = keep_random(7, n), *expected = keep_zeros(n), *x = keep_zeros(n);
    static const gsw_smoother kinds[] = {GSW_SMOOTHER_AUTO, GSW_SMOOTHER_JACOBI,
                                         GSW_SMOOTHER_CHEBYSHEV};
    for (int kind = 0; kind < 2 * LENGTH(kinds); kind++)
        for (int threads = 1; threads <= 5; threads += 2) {
            gsw_context *with = keep_context(threads);
            const gsw_multigrid_options options = {.smoother = kinds[kind / 2],
                                                   .cycle_type = (gsw_dtype)(kind % 2),
                                                   .cycle = GSW_CYCLE_W,
                                                   .post_sweeps = 1 + kind / 2};
            gsw_multigrid *mg = keep_multigrid(with, m, options);
            oracle_fill(GSW_F64, x, n, NAN);
            must(with, gsw_multigrid_apply(with, mg, b, x));
            if (threads == 1)
                memcpy(expected, x, (size_t)n * sizeof *x);
            ck_assert_msg(memcmp(x, expected, (size_t)n * sizeof *x) == 0, "%s, %s: %d threads",
                          names[_i], gsw_smoother_name(options.smoother), threads);
        }
}

/* One sweep, point by point. */
static void plain_sweep(const gsw_matrix *m, int down, int zero, const double *b, double *x) {
    const int32_t center = m->stencil.center;
    const int64_t n = oracle_points(&m->grid);
    for (int64_t k = 0; k < n; k++) {
        const int64_t row = down ? n - 1 - k : k;
        double sum = b[row];
        for (int32_t e = 0; e < m->stencil.count; e++) {
            const int64_t there = hard_neighbour(&m->grid, row, m->stencil.offsets[e]);
            if (e != center && !(zero && (down ? e < center : e > center)) && there >= 0)
                sum -= ((const double *)m->array.values[e])[row] * x[there];
        }
        x[row] = sum / ((const double *)m->array.values[center])[row];
    }
}

/* What a sweep with packed factors leaves of a matrix, in plain loops, for one section of fp64. */
static gsw_status plain_rest(gsw_context *with, const gsw_matrix *m, gsw_dtype type, int down,
                             gsw_sections sections, const void *b, const void *x, void *y) {
    const gsw_grid *g = &m->grid;
    const int32_t center = m->stencil.center;
    (void)with, (void)type, (void)sections;
    for (int64_t row = 0; row < oracle_points(g); row++) {
        double sum = 0;
        for (int32_t e = down ? 0 : center + 1; e < (down ? center : m->stencil.count); e++) {
            const int64_t there = hard_neighbour(g, row, m->stencil.offsets[e]);
            if (there >= 0)
                sum += ((const double *)m->array.values[e])[row] * ((const double *)x)[there];
        }
        ((double *)y)[row] = b ? ((const double *)b)[row] - sum : sum;
    }
    return GSW_SUCCESS;
}

static gsw_status plain_restrict_rest(gsw_context *with, const gsw_transfer *t, const gsw_matrix *m,
                                      gsw_dtype type, gsw_sections sections, void *const *weights,
                                      const void *x, void *work, void *to) {
    must(with, plain_rest(with, m, type, 0, sections, NULL, x, work));
    must(with, with->ops->multigrid->restrict_vector(with, t, type, weights, work, to));
    for (int64_t i = 0; i < oracle_points(&t->coarse); i++)
        ((double *)to)[i] = -((double *)to)[i];
    return GSW_SUCCESS;
}

/* The context's operations with the Gauss-Seidel of packed factors. */
static const gsw_packed_gauss_seidel_ops packed_kind = {GSW_PACKED_GAUSS_SEIDEL, plain_rest,
                                                        plain_restrict_rest};

/* Sweeps together with a transfer against the same one after the other. */
static void check_fused(gsw_context *with, gsw_gauss_seidel *g, const gsw_matrix *m,
                        const double *b, const double *start) {
    const gsw_multigrid_ops *ops = with->ops->multigrid;
    const gsw_gauss_seidel_ops *kind = ops->gauss_seidel;
    const int64_t n = oracle_points(&m->grid);
    gsw_transfer *t = keep_bytes(sizeof *t);
    const int axes = (m->grid.nx > 2) + 2 * (m->grid.ny > 2) + 4 * (m->grid.nz > 2);
    gsw_transfer_make(t, &m->grid, &m->stencil, axes, 0);
    const int64_t coarse = oracle_points(&t->coarse), pitch = coarse + GSW_WEIGHTS_PAD;
    double *block = keep_zeros(t->weights * pitch + GSW_WEIGHTS_PAD);
    double *apart = keep_zeros(n), *fused = keep_zeros(n), *work = keep_zeros(n),
           *from = keep_zeros(coarse);
    double *to_apart = keep_zeros(coarse), *to_fused = keep_zeros(coarse);
    void *weights[GSW_WEIGHTS_MAX];
    for (int32_t k = 0; k < t->weights; k++) {
        weights[k] = block + GSW_WEIGHTS_PAD + k * pitch;
        gsw_random_vector((uint64_t)(k + 20), coarse, weights[k]);
    }
    gsw_random_vector(50, coarse, from);
    oracle_fill(GSW_F64, fused, n, NAN);
    must(with, kind->step(with, g, m, 0, 1, b, apart, work));
    must(with, ops->restrict_residual(with, t, m, GSW_F64, weights, b, apart, work, to_apart));
    must(with, kind->descend(with, g, t, m, weights, b, fused, work, to_fused));
    dense_compare("x of a sweep with restriction", n, fused, apart);
    for (int64_t i = 0; i < coarse; i++) /* b and the weights are of size 1 */
        ck_assert_double_eq_tol(to_fused[i], to_apart[i], 1e-12);
    memcpy(apart, start, (size_t)n * sizeof *start);
    memcpy(fused, start, (size_t)n * sizeof *start);
    must(with, ops->prolong_add(with, t, GSW_F64, weights, from, apart));
    must(with, kind->step(with, g, m, 1, 0, b, apart, work));
    must(with, kind->ascend(with, g, t, m, weights, from, b, fused, work));
    dense_compare("x of a sweep with prolongation", n, fused, apart);
}

/* Steps of an object of the context's kind against the definition. */
static void check_steps(gsw_context *with, const char *name, const gsw_matrix *m, int both) {
    const gsw_gauss_seidel_ops *kind = with->ops->multigrid->gauss_seidel;
    const int64_t n = oracle_points(&m->grid);
    double *b = keep_zeros(n), *start = keep_zeros(n), *x = keep_zeros(n), *work = keep_zeros(n),
           *expected = keep_zeros(n);
    gsw_gauss_seidel *g;
    int64_t bytes = 0;
    must(with, kind->open(with, m, GSW_F64, both, gsw_uncut(), &bytes, &g));
    must(with, kind->fill(with, g, m));
    must(with, kind->await(with, g));
    ck_assert_int_ge(bytes, n * (int64_t)sizeof(double));
    gsw_random_vector(11, n, b);
    gsw_random_vector(12, n, start);
    for (int way = 0; way < 4; way++) {
        const int down = way & 1, zero = way >> 1;
        memcpy(expected, start, (size_t)n * sizeof *x);
        memcpy(x, start, (size_t)n * sizeof *x);
        if (zero)
            oracle_fill(GSW_F64, x, n, NAN);
        oracle_fill(GSW_F64, work, n, NAN);
        plain_sweep(m, down && !both, zero, b, expected);
        if (both)
            plain_sweep(m, 1, 0, b, expected);
        must(with, kind->step(with, g, m, down, zero, b, x, work));
        dense_compare(name, n, x, expected);
    }
    if (!both && gsw_stencil_beyond(&m->stencil, 2) == NULL)
        check_fused(with, g, m, b, start);
    kind->close(with, g);
}

/* One stencil: sweeps of both kinds against the definition. */
TEST(sweeps_are_gauss_seidel) {
    static const gsw_grid grids[] = {
        {300, 7, 5}, {37, 11, 1}, {1, 9, 8}, {530, 9, 1}, {33, 17, 16}};
    const char *name;
    const gsw_stencil *stencil = oracle_stencil(_i, &name);
    for (int i = 0; i < LENGTH(grids); i++)
        for (int threads = 1; threads <= 3; threads += 2) {
            keep_release(0);
            gsw_context *with = keep_context(threads);
            const gsw_multigrid_ops *ops = with->ops->multigrid;
            const int64_t n = oracle_points(&grids[i]);
            oracle_matrix *m = keep_matrix_of(&grids[i], stencil, 3, ORACLE_POSITIVE);
            double *block = keep_zeros(stencil->count * n);
            void *arrays[GSW_STENCIL_MAX];
            for (int32_t e = 0; e < stencil->count; e++)
                arrays[e] = block + e * n;
            must(with, ops->copy_arrays(with, &m->view, GSW_F64, arrays));
            gsw_matrix own = m->view;
            own.array.values = (const void *const *)arrays;
            for (int kind = 0; kind < 4; kind++) {
                const gsw_backend_ops *const kept = with->ops;
                gsw_multigrid_ops multigrid = *kept->multigrid;
                gsw_backend_ops other = *kept;
                other.multigrid = &multigrid;
                if (kind / 2) {
                    multigrid.gauss_seidel = &packed_kind.ops;
                    with->ops = &other;
                }
                check_steps(with, name, &own, kind % 2);
                with->ops = kept;
            }
        }
}

/* In any layout, in place or not, new or refilled: the same bits. */
TEST(layouts_and_refactor) {
    const gsw_grid grid = {17, 13, 9};
    const gsw_stencil *stencil = oracle_stencil_named("D3N7");
    oracle_matrix *m = keep_matrix_of(&grid, stencil, 5, ORACLE_POSITIVE),
                  *other = keep_matrix_of(&grid, stencil, 6, ORACLE_POSITIVE);
    symmetrise(m);
    symmetrise(other);
    const int64_t n = oracle_points(&grid);
    double *b = keep_random(7, n), *expected = keep_zeros(n), *x = keep_zeros(n);
    for (int kind = 0; kind < 6; kind++) {
        const gsw_multigrid_options options = {
            .smoother = (const gsw_smoother[]){GSW_SMOOTHER_AUTO, GSW_SMOOTHER_JACOBI,
                                               GSW_SMOOTHER_CHEBYSHEV}[kind / 2],
            .cycle_type = (gsw_dtype)(kind % 2)};
        gsw_multigrid *mg = keep_multigrid(context, &m->view, options);
        must(context, gsw_multigrid_apply(context, mg, b, expected));
        must(context, gsw_multigrid_refactor(context, mg, &other->view));
        must(context, gsw_multigrid_apply(context, mg, b, x));
        ck_assert(memcmp(x, expected, (size_t)n * sizeof *x) != 0);
        must(context, gsw_multigrid_refactor(context, mg, &m->view));
        memcpy(x, b, (size_t)n * sizeof *x);
        must(context, gsw_multigrid_apply(context, mg, x, x));
        ck_assert(memcmp(x, expected, (size_t)n * sizeof *x) == 0);
        for (int base = 0; base < 2; base++) {
            const oracle_layout layout = {.format = GSW_FORMAT_CSR,
                                          .index_type = base ? GSW_I64 : GSW_I32,
                                          .base = base,
                                          .part = GSW_FULL};
            oracle_matrix *csr = keep_converted(m, &layout);
            mg = keep_multigrid(context, &csr->view, options);
            must(context, gsw_multigrid_refactor(context, mg, &csr->view));
            oracle_fill(GSW_F64, x, n, NAN);
            must(context, gsw_multigrid_apply(context, mg, b, x));
            ck_assert(memcmp(x, expected, (size_t)n * sizeof *x) == 0);
        }
    }
}

/* Where an axis has one point only: the bits of the grid without it, and levels that are described
 * along the axes of the user's grid. */
TEST(axes_of_one_point) {
    static const gsw_grid grids[] = {{1, 30, 20}, {30, 1, 20}, {30, 20, 1}};
    const gsw_stencil *seven = oracle_stencil_named("D3N7");
    const gsw_stencil *five = oracle_stencil_named("D2N5");
    oracle_matrix *flat = keep_matrix_of(&grids[2], five, 5, ORACLE_POSITIVE);
    symmetrise(flat);
    const int64_t n = oracle_points(&grids[2]);
    double *b = keep_random(7, n), *expected = keep_zeros(n), *x = keep_zeros(n),
           *never = keep_filled(n, NAN);
    gsw_multigrid *mg = keep_multigrid(context, &flat->view, (gsw_multigrid_options){0});
    must(context, gsw_multigrid_apply(context, mg, b, expected));
    for (int one = 0; one < 3; one++) {
        const void *values[7];
        int taken = 0;
        for (int32_t e = 0; e < seven->count; e++) {
            const gsw_offset o = seven->offsets[e];
            const int leaves = one == 0 ? o.dx : one == 1 ? o.dy : o.dz;
            values[e] = leaves ? never : flat->arrays[taken];
            taken += !leaves;
        }
        const gsw_stencil_array array = {.values = values, .value_type = GSW_F64};
        gsw_matrix matrix;
        must(context, gsw_matrix_from_stencil(context, &grids[one], seven, &array, &matrix));
        mg = keep_multigrid(context, &matrix, (gsw_multigrid_options){0});
        oracle_fill(GSW_F64, x, n, NAN);
        must(context, gsw_multigrid_apply(context, mg, b, x));
        ck_assert(memcmp(x, expected, (size_t)n * sizeof *x) == 0);
        gsw_multigrid_level level = {.size = sizeof level};
        must(context, gsw_multigrid_get_level(mg, 0, &level));
        ck_assert(memcmp(&level.grid, &grids[one], sizeof level.grid) == 0);
        ck_assert_int_eq(level.axes, 7 - (1 << one));
        ck_assert_int_eq(level.stencil.count, 5);
        for (int32_t e = 0; e < level.stencil.count; e++)
            ck_assert_int_ge(gsw_stencil_find(seven, level.stencil.offsets[e]), 0);
        ck_assert(level.coupling[one] == 0 && level.coupling[(one + 1) % 3] > 0);
        must(context, gsw_multigrid_refactor(context, mg, &matrix));
        ck_assert_int_eq(gsw_multigrid_refactor(context, mg, &flat->view) == GSW_SUCCESS, 0);
    }
}

/* fp32 cycles: any size of the right-hand side, NaN and infinity included. */
TEST(scales_of_the_right_hand_side) {
    const gsw_matrix *m = keep_problem("poisson:20x21x22");
    const int64_t n = oracle_points(&m->grid);
    double *b = keep_random(1, n), *x = keep_zeros(n), *expected = keep_zeros(n);
    gsw_multigrid *mg = keep_multigrid(context, m, (gsw_multigrid_options){.cycle_type = GSW_F32});
    must(context, gsw_multigrid_apply(context, mg, b, expected));
    for (int exponent = -900; exponent <= 900; exponent += 600) {
        for (int64_t i = 0; i < n; i++)
            x[i] = ldexp(b[i], exponent);
        must(context, gsw_multigrid_apply(context, mg, x, x));
        for (int64_t i = 0; i < n; i++)
            ck_assert(x[i] == ldexp(expected[i], exponent)); /* exactly: powers of two */
    }
    /* Subnormal numbers have few digits. */
    for (int64_t i = 0; i < n; i++)
        x[i] = ldexp(b[i], -1050);
    must(context, gsw_multigrid_apply(context, mg, x, x));
    for (int64_t i = 0; i < n; i++)
        ck_assert_double_eq_tol(ldexp(x[i], 1050), expected[i], 1e-4);
    memset(x, 0, (size_t)n * sizeof *x);
    must(context, gsw_multigrid_apply(context, mg, x, x));
    for (int64_t i = 0; i < n; i++)
        ck_assert(x[i] == 0);
    b[n / 2] = NAN;
    must(context, gsw_multigrid_apply(context, mg, b, x));
    ck_assert(isnan(x[n / 2]));
    b[n / 2] = INFINITY;
    must(context, gsw_multigrid_apply(context, mg, b, x));
    ck_assert(!isfinite(x[n / 2]));
}

/* ---- Convergence ---- */

/* Iterations to a true residual of 1e-8 for b = 1, and the largest number allowed: the counts of a
 * prototype with exact sweeps and sparse products, and a tenth more. */
static const struct {
    const char *problem;
    int method, most;
    gsw_multigrid_options options;
    double complexity; /* most of the operators', where it is not 0 */
} solves[] = {
    {"poisson:32x32x32", GSW_CG, 9, {0}, 1.6},
    {"poisson:64x64x64", GSW_CG, 9, {0}, 1.6},
    {"poisson:64x64x64", GSW_CG, 9, {.cycle_type = GSW_F32}, 1.6},
    {"poisson:64x64x64", GSW_CG, 7, {.smoother = GSW_SMOOTHER_SYMGS}, 0},
    {"poisson:64x64x64", GSW_CG, 7, {.smoother = GSW_SMOOTHER_ILU0}, 0},
    {"poisson:64x64x64", GSW_CG, 9, {.cycle = GSW_CYCLE_F}, 0},
    {"poisson:64x64x64", GSW_CG, 9, {.cycle = GSW_CYCLE_W}, 0},
    {"lognormal:60x220x85", GSW_CG, 16, {.cycle_type = GSW_F32}, 0},
    {"lognormal:32x32x32", GSW_CG, 15, {0}, 0},
    {"lognormal:64x64x64", GSW_CG, 19, {0}, 0},
    {"lognormal:64x64x64", GSW_CG, 20, {.cycle_type = GSW_F32}, 0},
    {"lognormal:64x64x64", GSW_CG, 16, {.cycle = GSW_CYCLE_F}, 0},
    {"lognormal:64x64x64", GSW_CG, 15, {.smoother = GSW_SMOOTHER_SYMGS}, 0},
    {"lognormal:64x64x64", GSW_CG, 11, {.smoother = GSW_SMOOTHER_ILU0}, 0},
    {"anisotropic:32x32x32", GSW_CG, 8, {0}, 2.8},
    {"anisotropic:64x64x64", GSW_CG, 8, {0}, 2.8},
    {"anisotropic:64x64x64", GSW_CG, 9, {.cycle_type = GSW_F32}, 2.8},
    {"hpcg:64x64x64", GSW_CG, 8, {0}, 1.2},
    {"helmholtz19:64x64x64", GSW_CG, 7, {0}, 0},
    {"star13:64x64x64", GSW_CG, 12, {0}, 0},
    {"box33:64x64x64", GSW_CG, 9, {0}, 0},
    {"convection:32x32x32", GSW_BICGSTAB, 3, {0}, 0},
    {"convection:64x64x64", GSW_BICGSTAB, 3, {0}, 0},
    {"convection:64x64x64", GSW_GMRES, 5, {0}, 0},
    {"poisson:512x512", GSW_CG, 11, {0}, 1.8},
    {"lognormal:512x512", GSW_CG, 25, {0}, 0},
    {"poisson:33x17x50", GSW_CG, 12, {0}, 0},
    {"poisson:1000x30x30", GSW_CG, 12, {.cycle_type = GSW_F32}, 0},
    {"poisson:1x400x300", GSW_CG, 12, {0}, 0},
    {"poisson:129x2x5", GSW_CG, 12, {0}, 0},
    {"lognormal:33x17x50", GSW_CG, 25, {0}, 0},
    {"lognormal:1x400x300", GSW_CG, 25, {0}, 0},
    {"lognormal:1x400x300", GSW_CG, 25, {.cycle_type = GSW_F32}, 0},
    {"lognormal:129x2x5", GSW_CG, 25, {0}, 0},
};

TEST(iterations_are_few) {
    const gsw_matrix *m = keep_problem(solves[_i].problem);
    const int64_t n = oracle_points(&m->grid);
#ifdef GSW_SLOW_BUILD /* of a sanitizer: the large grids show nothing that the others do not */
    if (n > 20000)
        return;
#endif
    if (on_reference() && n > 20000)
        return;
    double *b = keep_filled(n, 1), *x = keep_zeros(n);
    gsw_krylov_result result = {.size = sizeof result};
    gsw_multigrid_info info = {.size = sizeof info};
    gsw_multigrid *mg = keep_multigrid(context, m, solves[_i].options);
    gsw_operator *op = keep_operator(context, m);
    gsw_preconditioner *preconditioner = keep_multigrid_M(context, mg);
    ck_assert_str_eq(gsw_preconditioner_name(preconditioner), "mg");
    ck_assert_int_eq(gsw_preconditioner_points(preconditioner), n);
    const gsw_status status =
        gsw_krylov(context, (gsw_method)solves[_i].method, op, preconditioner, NULL, b, x, &result);
    ck_assert_msg(status == GSW_SUCCESS, "%s: %s", solves[_i].problem,
                  gsw_context_message(context));
    ck_assert(result.residual <= 1.1e-8);
    ck_assert_msg(result.iterations <= solves[_i].most, "%s, %s, %s: %d iterations",
                  solves[_i].problem, gsw_smoother_name(solves[_i].options.smoother),
                  gsw_cycle_name(solves[_i].options.cycle), (int)result.iterations);
    must(context, gsw_multigrid_get_info(mg, &info));
    ck_assert_msg(solves[_i].complexity == 0 || info.operator_complexity <= solves[_i].complexity,
                  "%s: complexity %g", solves[_i].problem, info.operator_complexity);
}

/* ---- Robustness ---- */

/* A symmetric M-matrix of couplings between neighbours and of others that reach two points off the
 * axes. Its coarse matrices are positive definite, too. */
TEST(couplings_off_the_axes_reach_two_points) {
    static const gsw_offset far[][2] = {{{1, 2, 0}, {-2, 1, 0}},
                                        {{2, 2, 0}, {2, -2, 0}},
                                        {{1, 2, 2}, {-2, 1, 1}},
                                        {{2, 0, 1}, {0, 2, 2}}};
    const gsw_offset near[] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}, far[_i][0], far[_i][1]};
    const gsw_grid g = {20, 18, _i < 2 ? 1 : 15};
    gsw_offset offsets[11] = {{0, 0, 0}};
    for (int k = 0; k < 5; k++) {
        offsets[1 + 2 * k] = near[k];
        offsets[2 + 2 * k] = (gsw_offset){-near[k].dx, -near[k].dy, -near[k].dz};
    }
    gsw_stencil stencil;
    must(context, gsw_stencil_from_offsets(offsets, 11, &stencil));
    oracle_matrix *m = keep_matrix_of(&g, &stencil, 1, ORACLE_POSITIVE);
    const int64_t n = oracle_points(&g);
    double *b = keep_filled(n, 1), *x = keep_zeros(n);
    for (int32_t e = 0; e < 11; e++) {
        const gsw_offset o = stencil.offsets[e];
        oracle_fill(GSW_F64, m->arrays[e], n, abs(o.dx) + abs(o.dy) + abs(o.dz) > 1 ? -2 : -1);
    }
    hard_close(m);
    for (int64_t row = 0; row < n; row++)
        hard_diagonal(m)[row] += 0.01;
    gsw_krylov_result result = {.size = sizeof result};
    gsw_multigrid *mg = keep_multigrid(context, &m->view, (gsw_multigrid_options){0});
    gsw_operator *A = keep_operator(context, &m->view);
    gsw_preconditioner *M = keep_multigrid_M(context, mg);
    ck_assert_msg(gsw_cg(context, A, M, NULL, b, x, &result) == GSW_SUCCESS, "%s",
                  gsw_context_message(context));
    ck_assert_int_le(result.iterations, 25);
}

/* Stencils that reach two points along x, on lines of which a strip covers all points but one. What
 * x holds before a cycle, and what lies beside a line, does not reach the result. */
TEST(ends_of_lines_with_far_couplings) {
    static const int64_t extents[] = {4, 5, 7, 9, 10, 17, 18, 33, 65, 129, 257, 258, 513};
    const int64_t nx = extents[_i];
    for (int k = 0; k < 4; k++) {
        gsw_offset offsets[25];
        gsw_stencil stencil;
        for (int e = 0; e < 25; e++)
            offsets[e] = (gsw_offset){e % 5 - 2, e / 5 - 2, 0};
        ck_assert_int_eq(k < 2 ? gsw_stencil_named(k == 0 ? "D3N13" : "D3N33", &stencil)
                               : gsw_stencil_from_offsets(offsets, 25, &stencil),
                         GSW_SUCCESS);
        const gsw_grid g = {nx, k == 3 ? 40 : 7, k < 2 ? 5 : 1};
        oracle_matrix *matrix = keep_matrix_of(&g, &stencil, 5, ORACLE_POSITIVE);
        const int64_t n = oracle_points(&g);
        double *b = keep_random(3, n), *x = keep_zeros(n), *again = keep_filled(n, NAN);
        gsw_multigrid *mg = keep_multigrid(
            context, &matrix->view,
            (gsw_multigrid_options){.cycle_type = GSW_F64, .smoother = GSW_SMOOTHER_SYMGS});
        must(context, gsw_multigrid_apply(context, mg, b, x));
        must(context, gsw_multigrid_apply(context, mg, b, again));
        ck_assert_msg(memcmp(x, again, (size_t)n * sizeof *x) == 0, "stencil %d, %lld points", k,
                      (long long)nx);
        for (int64_t i = 0; i < n; i++)
            ck_assert(isfinite(x[i]));
    }
}

/* An array that is NULL counts as zeros, so its mirror image makes the matrix unsymmetric. */
TEST(absent_arrays_are_not_symmetric) {
    const gsw_matrix *poisson = keep_problem("poisson:11x9x7");
    const void *arrays[7];
    ck_assert_int_eq(poisson->stencil.count, 7);
    for (int absent = -1; absent < 7; absent++) {
        if (absent == 3) /* the diagonal */
            continue;
        memcpy(arrays, poisson->array.values, sizeof arrays);
        if (absent >= 0)
            arrays[absent] = NULL;
        gsw_matrix matrix = *poisson;
        matrix.array.values = arrays;
        gsw_choice choice = {.size = sizeof choice};
        must(context, gsw_choose_method(context, &matrix, &choice));
        ck_assert_msg(choice.symmetric == (absent < 0), "%d", absent);
    }
}

/* A matrix for which ILU(0) meets a negative pivot on the finest level falls back to GS there. */
TEST(bad_pivots_fall_back) {
    const gsw_grid grid = {12, 12, 1};
    const gsw_stencil *stencil = oracle_stencil_named("D2N5");
    oracle_matrix *m = keep_matrix_of(&grid, stencil, 1, ORACLE_POSITIVE);
    for (int32_t e = 0; e < stencil->count; e++)
        for (int64_t row = 0; row < oracle_points(&grid); row++)
            ((double *)m->arrays[e])[row] = e == stencil->center ? 1 : -0.9;
    const gsw_multigrid_options options = {.smoother = GSW_SMOOTHER_ILU0, .coarsest_points = 100};
    gsw_multigrid *mg = keep_multigrid(context, &m->view, options);
    gsw_multigrid_info info = {.size = sizeof info};
    gsw_multigrid_level level = {.size = sizeof level};
    must(context, gsw_multigrid_get_info(mg, &info));
    ck_assert_int_eq(info.smoother_fallbacks, 1);
    must(context, gsw_multigrid_get_level(mg, 0, &level));
    ck_assert_int_eq(level.smoother, GSW_SMOOTHER_GS);
    ck_assert_str_eq(gsw_context_message(context), "");
}

/* Where a coarse grid is two points wide, ILU(0) drops nothing. If the matrix is singular, too, the
 * last pivot is rounding of either sign. Such levels fall back, the finest does not. */
TEST(pivots_of_rounding_fall_back) {
    char name[40];
    snprintf(name, sizeof name, "lognormal:8x8x%d", 80 + 8 * (_i / 2));
    oracle_matrix *m = hard_problem(name);
    const gsw_multigrid_options options = {.smoother = GSW_SMOOTHER_ILU0,
                                           .cycle_type = _i % 2 == 0 ? GSW_F32 : GSW_F64,
                                           .coarsest_points = 8};
    hard_close(m);
    gsw_multigrid *mg = keep_multigrid(context, &m->view, options);
    gsw_multigrid_info info = {.size = sizeof info};
    gsw_multigrid_level level = {.size = sizeof level};
    must(context, gsw_multigrid_get_info(mg, &info));
    ck_assert_int_eq(info.singular, 1);
    for (int k = 0; k < info.levels - 1; k++) {
        must(context, gsw_multigrid_get_level(mg, k, &level));
        const gsw_smoother expected = level.grid.nx <= 2 ? GSW_SMOOTHER_GS : GSW_SMOOTHER_ILU0;
        ck_assert_msg(level.smoother == expected, "%s: level %d has smoother %d", name, k,
                      (int)level.smoother);
    }
}

/* A hierarchy that had other values has the bits of a fresh one. */
static void check_as_fresh(gsw_multigrid *mg, const gsw_matrix *m,
                           const gsw_multigrid_options *options) {
    const int64_t n = oracle_points(&m->grid);
    double *b = keep_random(5, n), *x = keep_zeros(n), *expected = keep_zeros(n);
    gsw_multigrid *fresh = keep_multigrid(context, m, *options);
    must(context, gsw_multigrid_refactor(context, mg, m));
    must(context, gsw_multigrid_apply(context, mg, b, x));
    must(context, gsw_multigrid_apply(context, fresh, b, expected));
    ck_assert_mem_eq(x, expected, (size_t)n * sizeof *x);
}

/* The interval of Chebyshev's polynomials follows the values. */
TEST(loops_take_new_values) {
    const gsw_grid grid = {13, 12, 11};
    const gsw_multigrid_options options = {.smoother = _i / 2 ? GSW_SMOOTHER_CHEBYSHEV
                                                              : GSW_SMOOTHER_JACOBI,
                                           .cycle_type = (gsw_dtype)(_i % 2),
                                           .coarsest_points = 8};
    const gsw_stencil *stencil = oracle_stencil_named("D3N7");
    oracle_matrix *first = keep_matrix_of(&grid, stencil, 5, ORACLE_POSITIVE),
                  *second = keep_matrix_of(&grid, stencil, 6, ORACLE_POSITIVE);
    gsw_multigrid *mg = keep_multigrid(context, &first->view, options);
    check_as_fresh(mg, &second->view, &options);
}

/* With injection the coarse matrices of constant coefficients are symmetric, later ones not. */
TEST(injection_takes_new_values) {
    const gsw_multigrid_options options = {.smoother = smoothers[_i / 2],
                                           .cycle_type = _i % 2 == 0 ? GSW_F32 : GSW_F64,
                                           .interpolation = GSW_INTERPOLATION_INJECTION,
                                           .coarsest_points = 8};
    gsw_multigrid *mg = keep_multigrid(context, keep_problem("poisson:13x13x13"), options);
    check_as_fresh(mg, keep_problem("lognormal:13x13x13"), &options);
}

/* A level that fell back tries ILU(0) again with new values. */
TEST(better_values_end_a_fallback) {
    const gsw_multigrid_options options = {.smoother = GSW_SMOOTHER_ILU0, .coarsest_points = 8};
    const gsw_matrix *good = keep_problem("poisson:13x12x11");
    oracle_matrix *bad = hard_problem("poisson:13x12x11");
    for (int32_t e = 0; e < good->stencil.count; e++)
        for (int64_t row = 0; row < oracle_points(&good->grid); row++)
            ((double *)bad->arrays[e])[row] *= -1;
    gsw_multigrid *mg = keep_multigrid(context, good, options);
    gsw_multigrid_info info = {.size = sizeof info};
    must(context, gsw_multigrid_refactor(context, mg, &bad->view));
    must(context, gsw_multigrid_get_info(mg, &info));
    ck_assert_int_gt(info.smoother_fallbacks, 0);
    check_as_fresh(mg, good, &options);
    must(context, gsw_multigrid_get_info(mg, &info));
    ck_assert_int_eq(info.smoother_fallbacks, 0);
}

static gsw_multigrid *const no_hierarchy = NULL;

static void refuse_option(const gsw_matrix *m, gsw_multigrid_options options, const char *word) {
    gsw_multigrid *mg = (gsw_multigrid *)(uintptr_t)&options;
    expect_rejection(gsw_multigrid_create(context, m, &options, &mg), word);
    ck_assert_ptr_eq(mg, no_hierarchy);
}

#define OPTIONS(...) ((gsw_multigrid_options){.size = sizeof(gsw_multigrid_options), __VA_ARGS__})

TEST(bad_options_are_refused) {
    const gsw_matrix *m = keep_there(context, keep_problem("poisson:9x8x7"));
    refuse_option(m, (gsw_multigrid_options){0}, "size");
    refuse_option(m, OPTIONS(.smoother = (gsw_smoother)(GSW_SMOOTHER_MULTICOLOR + 1)), "smoother");
    refuse_option(m, OPTIONS(.cycle = (gsw_cycle)3), "cycle");
    refuse_option(m, OPTIONS(.pre_sweeps = -1), "pre_sweeps");
    refuse_option(m, OPTIONS(.post_sweeps = -1), "post_sweeps");
    refuse_option(m, OPTIONS(.theta = 1.5), "theta");
    refuse_option(m, OPTIONS(.theta = NAN), "theta");
    refuse_option(m, OPTIONS(.coarsest_points = 2001), "coarsest_points");
    refuse_option(m, OPTIONS(.cycle_type = (gsw_dtype)2), "cycle_type");
    refuse_option(m, OPTIONS(.interpolation = (gsw_interpolation)2), "interpolation");
    refuse_option(m, OPTIONS(.max_levels = -1), "max_levels");
    refuse_option(m, OPTIONS(.max_levels = 65), "max_levels");
}

TEST(bad_matrices_are_refused) {
    const gsw_offset far[] = {{0, 0, 0}, {-3, 0, 0}, {3, 0, 0}};
    const gsw_grid grid = {40, 20, 1};
    gsw_stencil reaching;
    gsw_multigrid *mg;
    const gsw_stencil *stencil = oracle_stencil_named("D2N5");
    must(context, gsw_stencil_from_offsets(far, 3, &reaching));
    oracle_matrix *m = keep_matrix_of(&grid, stencil, 1, ORACLE_POSITIVE),
                  *wide = keep_matrix_of(&grid, &reaching, 1, ORACLE_POSITIVE);
    expect_refusal(gsw_multigrid_create(context, &wide->view, NULL, &mg), GSW_ERROR_UNSUPPORTED,
                   "reaches");
    expect_rejection(gsw_multigrid_create(context, NULL, NULL, &mg), "matrix");
    expect_rejection(gsw_multigrid_create(context, &m->view, NULL, NULL), "multigrid");
    mg = (gsw_multigrid *)m;
    must_reject(gsw_multigrid_create(NULL, &m->view, NULL, &mg));
    ck_assert_ptr_null(mg);
    double *diagonal = m->arrays[stencil->center];
    const double kept = diagonal[123];
    diagonal[123] = 0;
    expect_refusal(gsw_multigrid_create(context, &m->view, NULL, &mg), GSW_ERROR_ZERO_PIVOT,
                   "row 123");
    assert_message("is zero or not finite: its diagonal is 0");
    diagonal[123] = NAN;
    expect_refusal(gsw_multigrid_create(context, &m->view, NULL, &mg), GSW_ERROR_ZERO_PIVOT,
                   "row 123");
    diagonal[123] = 1e200;
    expect_refusal(gsw_multigrid_create(context, &m->view, &OPTIONS(.cycle_type = GSW_F32), &mg),
                   GSW_ERROR_UNSUPPORTED, "fp32");
    ck_assert_ptr_eq(mg, no_hierarchy);

    /* After a failed refactor gsw_multigrid_apply() is refused until a refactor succeeds. */
    diagonal[123] = kept;
    double *x = keep_zeros(800);
    mg = keep_multigrid(context, &m->view, (gsw_multigrid_options){0});
    expect_rejection(gsw_multigrid_refactor(context, mg, &wide->view), "stencil");
    must(context, gsw_multigrid_apply(context, mg, x, x));
    diagonal[123] = 0;
    expect_refusal(gsw_multigrid_refactor(context, mg, &m->view), GSW_ERROR_ZERO_PIVOT, "row 123");
    expect_rejection(gsw_multigrid_apply(context, mg, x, x), "refactor");
    diagonal[123] = kept;
    must(context, gsw_multigrid_refactor(context, mg, &m->view));
    expect_rejection(gsw_multigrid_apply(context, mg, NULL, x), "b is NULL");
    expect_rejection(gsw_multigrid_apply(context, mg, x, NULL), "x is NULL");
    expect_rejection(gsw_multigrid_apply(context, mg, x, x + 1), "overlap");
    gsw_csr csr;
    expect_rejection(gsw_multigrid_extract(context, mg, 0, GSW_MULTIGRID_MATRIX, &csr), "level 0");
    expect_rejection(gsw_multigrid_extract(context, mg, 9, GSW_MULTIGRID_MATRIX, &csr), "level 9");
    must(context, gsw_multigrid_extract(context, mg, 1, GSW_MULTIGRID_MATRIX, &csr));
    gsw_csr_free(&csr);
    gsw_multigrid_destroy(NULL);
}

int main(int argc, char **argv) {
    backend_choose(argc, argv);
    Suite *suite = suite_create("multigrid");
    TCase *levels = context_case(suite, "levels", 300);
    TESTS(levels, bad_options_are_refused);
    LOOPS(levels, DENSE_PROBLEMS, coarse_matrices_are_products);
    LOOPS(levels, LOOPS_PROBLEMS, loops_smooth_problems);
    LOOPS(levels, oracle_stencil_count(), loops_smooth_any_stencil);
    if (on_cuda())
        return backend_run_suite(suite);
    /* What follows looks into levels and vectors on the host. */
    TESTS(levels, special_rows, conditions_inside);
    LOOPS(levels, oracle_stencil_count(), levels_of_random_matrices);
    LOOPS(levels, LENGTH(problems), levels_of_problems);
    TCase *cycles = context_case(suite, "cycles", 300);
    TESTS(cycles, colours_precondition_what_is_not_symmetric, layouts_and_refactor,
          axes_of_one_point, scales_of_the_right_hand_side);
    LOOPS(cycles, LENGTH(smoothers), cycles_are_symmetric);
    LOOPS(cycles, 6, any_number_of_threads);
    LOOPS(cycles, oracle_stencil_count(), sweeps_are_gauss_seidel);
    LOOPS(cycles, 4, constants_in_the_null_space);
    TCase *solving = context_case(suite, "solving", 300);
    LOOPS(solving, LENGTH(solves), iterations_are_few);
    TCase *robust = context_case(suite, "robust", 30);
    TESTS(robust, absent_arrays_are_not_symmetric, bad_pivots_fall_back,
          better_values_end_a_fallback, bad_matrices_are_refused);
    LOOPS(robust, 4, couplings_off_the_axes_reach_two_points, loops_take_new_values);
    LOOPS(robust, 13, ends_of_lines_with_far_couplings);
    LOOPS(robust, 2 * LENGTH(smoothers), injection_takes_new_values);
    LOOPS(robust, 16, pivots_of_rounding_fall_back);
    return backend_run_suite(suite);
}
