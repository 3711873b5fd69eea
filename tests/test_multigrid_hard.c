/* test_multigrid_hard.c: hard cases of multigrid: media and winds that its smoothers do not
 * resolve, singular matrices, conditions inside the grid, numbers of all sizes. Counts of
 * iterations may exceed the measured ones by less than a tenth, and on a device by one more,
 * because sums are taken in another order. */
#define CONTEXT_THREADS 1 /* counts do not depend on it */
#include "multigrid_matrices.h"

typedef struct hard_case {
    const char *what;
    const char *problem; /* NAME:NXxNYxNZ; without a name: the grid of the members below */
    hard_conductivity conductivity;
    hard_boundary boundary;
    hard_wind wind;
    double peclet;
    void (*change)(oracle_matrix *m);
    gsw_method method;
    gsw_multigrid_options options;
    int product; /* b is A x for a random x; else 1 */
    int closed;  /* constants are in the null space, and the options state that */
    int most;    /* iterations to a true residual of 1e-8 */
    /* The expected end otherwise. */
    gsw_status status; /* BREAKDOWN: that, or any other end except success */
    int fallbacks;     /* at least so many levels */
} hard_case;

#define SMOOTHER(which)                                                                            \
    { .smoother = GSW_SMOOTHER_##which }
#define FP32                                                                                       \
    { .cycle_type = GSW_F32 }

/* `most` is the measured number, plus less than a tenth of it. So a method that gets worse by a
 * tenth fails. */
static const hard_case hard_cases[] = {
    /* media */
    {"blocks of anisotropy, GS", "48x48x48", hard_blocks, HARD_DIRICHLET, .most = 161},
    {"blocks of anisotropy, ILU(0)", "48x48x48", hard_blocks, HARD_DIRICHLET,
     .options = SMOOTHER(ILU0), .most = 18},
    {"blocks of anisotropy, ILU(0) on top", "48x48x48", hard_blocks, HARD_DIRICHLET,
     .options = SMOOTHER(ILU0_FINEST), .most = 24},
    {"blocks of anisotropy, a well, ILU(0)", "64x64x64", hard_blocks, HARD_WELL,
     .options = {.size = sizeof(gsw_multigrid_options),
                 .smoother = GSW_SMOOTHER_ILU0,
                 .coarsest_points = 200},
     .product = 1, .fallbacks = 1, .most = 17},
    {"iid 1e3, GS", "32x32x32", hard_iid_1e3, HARD_DIRICHLET, .most = 23},
    {"iid 1e3, GS, fp32", "32x32x32", hard_iid_1e3, HARD_DIRICHLET, .options = FP32, .most = 23},
    {"iid 1e3, ILU(0)", "32x32x32", hard_iid_1e3, HARD_DIRICHLET, .options = SMOOTHER(ILU0),
     .most = 12},
    {"iid 1e3, ILU(0) on top", "32x32x32", hard_iid_1e3, HARD_DIRICHLET,
     .options = SMOOTHER(ILU0_FINEST), .most = 13},
    {"iid 1e6, GS", "32x32x32", hard_iid_1e6, HARD_DIRICHLET, .most = 72},
    {"iid 1e6, ILU(0)", "48x48x48", hard_iid_1e6, HARD_DIRICHLET, .options = SMOOTHER(ILU0),
     .fallbacks = 1, .most = 49},
    {"iid 1e6, ILU(0) on top", "32x32x32", hard_iid_1e6, HARD_DIRICHLET,
     .options = SMOOTHER(ILU0_FINEST), .most = 38},
    {"checkerboard, GS", "40x40x40", hard_checkerboard, HARD_DIRICHLET,
     .options = {.smoother = GSW_SMOOTHER_GS}, .most = 43},
    {"checkerboard, auto", "40x40x40", hard_checkerboard, HARD_DIRICHLET, .most = 47},
    {"checkerboard, ILU(0)", "40x40x40", hard_checkerboard, HARD_DIRICHLET,
     .options = SMOOTHER(ILU0), .most = 8},
    {"checkerboard, ILU(0) on top", "40x40x40", hard_checkerboard, HARD_DIRICHLET,
     .options = SMOOTHER(ILU0_FINEST), .most = 42},
    /* winds */
    {"recirculating wind, GMRES", "32x32x32", .wind = hard_recirculating, .peclet = 100,
     .method = GSW_GMRES, .most = 13},
    {"recirculating wind, BiCGSTAB", "32x32x32", .wind = hard_recirculating, .peclet = 100,
     .method = GSW_BICGSTAB, .most = 7},
    {"recirculating wind, BiCGSTAB, fp32", "32x32x32", .wind = hard_recirculating, .peclet = 100,
     .method = GSW_BICGSTAB, .options = FP32, .most = 7},
    {"recirculating wind, ILU(0)", "32x32x32", .wind = hard_recirculating, .peclet = 100,
     .method = GSW_GMRES, .options = SMOOTHER(ILU0), .most = 13},
    {"strong recirculating wind, ILU(0)", "32x32x32", .wind = hard_recirculating, .peclet = 270,
     .method = GSW_GMRES, .options = SMOOTHER(ILU0), .fallbacks = 1, .most = 16},
    {"convection", "convection:48x48x48", .method = GSW_BICGSTAB, .most = 3},
    {"convection, wind turned", "convection:48x48x48", .change = hard_turn_wind,
     .method = GSW_BICGSTAB, .most = 3},
    {"convection, wind turned, ILU(0)", "convection:32x32x32", .change = hard_turn_wind,
     .method = GSW_BICGSTAB, .options = SMOOTHER(ILU0), .most = 3},
    /* cycles and smoothers */
    {"odd extents", "poisson:63x65x67", .most = 9},
    {"odd extents, lognormal", "lognormal:63x65x67", .most = 15},
    {"two sweeps", "lognormal:48x48x48", .options = {.pre_sweeps = 2, .post_sweeps = 2},
     .most = 13},
    {"two sweeps, poisson", "poisson:48x48x48", .options = {.pre_sweeps = 2, .post_sweeps = 2},
     .most = 7},
    {"F", "lognormal:48x48x48", .options = {.cycle = GSW_CYCLE_F}, .most = 15},
    {"W", "lognormal:48x48x48", .options = {.cycle = GSW_CYCLE_W}, .most = 15},
    {"F, fp32", "lognormal:48x48x48", .options = {.cycle = GSW_CYCLE_F, .cycle_type = GSW_F32},
     .most = 15},
    {"Jacobi", "poisson:32x32x32", .options = SMOOTHER(JACOBI), .most = 15},
    {"Chebyshev", "poisson:32x32x32", .options = SMOOTHER(CHEBYSHEV), .most = 8},
    {"Jacobi, lognormal", "lognormal:32x32x32", .options = SMOOTHER(JACOBI), .most = 23},
    {"Chebyshev, lognormal", "lognormal:32x32x32", .options = SMOOTHER(CHEBYSHEV), .most = 20},
    {"Chebyshev, F, fp32", "lognormal:32x32x32",
     .options = {.smoother = GSW_SMOOTHER_CHEBYSHEV, .cycle = GSW_CYCLE_F, .cycle_type = GSW_F32},
     .most = 14},
    {"a layer of the reservoir, ILU(0)", "lognormal:60x110x43", .options = SMOOTHER(ILU0),
     .most = 9},
    {"a layer of the reservoir", "lognormal:60x110x43", .most = 15},
    /* conditions x_i = b_i inside */
    {"ball fixed", "poisson:32x32x32", .change = hard_fix_ball, .product = 1, .most = 8},
    {"bars fixed", "poisson:32x32x32", .change = hard_fix_bars, .product = 1, .most = 8},
    {"a tenth fixed", "poisson:32x32x32", .change = hard_fix_tenth, .most = 9},
    {"a tenth fixed, ILU(0)", "lognormal:32x32x32", .change = hard_fix_tenth,
     .options = SMOOTHER(ILU0), .most = 7},
    {"a tenth fixed, 2D", "lognormal:150x150", .change = hard_fix_tenth, .most = 10},
    {"ball fixed, 27 points, fp32", "hpcg:32x32x32", .change = hard_fix_ball, .product = 1,
     .options = FP32, .most = 6},
    {"ball's rows", "poisson:32x32x32", .change = hard_rows_ball, .product = 1,
     .method = GSW_BICGSTAB, .most = 3},
    {"bars' rows", "poisson:32x32x32", .change = hard_rows_bars, .product = 1,
     .method = GSW_BICGSTAB, .most = 3},
    {"a tenth of the rows", "lognormal:32x32x32", .change = hard_rows_tenth, .product = 1,
     .method = GSW_BICGSTAB, .most = 2},
    {"ball's rows, 27 points", "hpcg:32x32x32", .change = hard_rows_ball, .product = 1,
     .method = GSW_BICGSTAB, .most = 3},
    {"bars' rows, 27 points", "hpcg:32x32x32", .change = hard_rows_bars, .product = 1,
     .method = GSW_BICGSTAB, .most = 3},
    {"ball's rows, 9 points", "hpcg:131x140", .change = hard_rows_ball, .product = 1,
     .method = GSW_BICGSTAB, .options = FP32, .most = 3},
    {"bars' rows, 13 points", "star13:32x32x32", .change = hard_rows_bars, .product = 1,
     .method = GSW_BICGSTAB, .most = 4},
    {"bars' rows, wind", "convection:32x32x32", .change = hard_rows_bars, .product = 1,
     .method = GSW_BICGSTAB, .most = 3},
    /* obstacles */
    {"obstacle", "poisson:48x48x48", .change = hard_obstruct_ball, .product = 1, .most = 8},
    {"obstacles", "poisson:48x48x48", .change = hard_obstruct_bars, .product = 1, .options = FP32,
     .most = 10},
    {"obstacles, 2D", "poisson:150x150", .change = hard_obstruct_bars, .product = 1, .most = 17},
    {"closed pockets", "poisson:32x32x32", .change = hard_obstruct_half, .product = 1, .most = 39},
    {"closed pockets, 2D", "poisson:101x87", .change = hard_obstruct_half, .product = 1,
     .most = 96},
    /* numbers */
    {"inactive cells", "32x32x32", hard_inactive, HARD_DIRICHLET, .product = 1, .most = 8},
    {"inactive cells, fp32", "32x32x32", hard_inactive, HARD_DIRICHLET, .product = 1,
     .options = FP32, .most = 8},
    {"leaky cells", "32x32x32", hard_leaky, HARD_DIRICHLET, .product = 1, .most = 13},
    {"leaky cells, ILU(0)", "32x32x32", hard_leaky, HARD_DIRICHLET, .product = 1,
     .options = SMOOTHER(ILU0), .most = 8},
    {"negative definite", "poisson:32x32x32", .change = hard_negate, .most = 9},
    {"negative definite, ILU(0)", "lognormal:32x32x32", .change = hard_negate, .product = 1,
     .options = SMOOTHER(ILU0), .fallbacks = 1, .most = 10},
    {"negative, wind", "convection:32x32x32", .change = hard_negate, .method = GSW_BICGSTAB,
     .options = SMOOTHER(ILU0), .most = 2},
    {"positive couplings", "poisson:33x33x33", .change = hard_change_signs, .product = 1,
     .most = 37},
    {"rows scaled", "poisson:32x32x32", .change = hard_scale_rows, .product = 1,
     .method = GSW_BICGSTAB, .most = 4},
    {"rows and columns scaled", "poisson:32x32x32", .change = hard_scale_both, .product = 1,
     .most = 37},
    {"rows and columns scaled, fp32", "poisson:32x32x32", .change = hard_scale_both, .product = 1,
     .options = FP32, .most = 37},
    {"1e90", "poisson:32x32x32", .change = hard_enlarge, .product = 1, .most = 8},
    {"1e90, fp32", "poisson:32x32x32", .change = hard_enlarge, .options = FP32,
     .status = GSW_ERROR_UNSUPPORTED},
    {"indefinite", "poisson:32x32x32", .change = hard_indefinite, .status = GSW_ERROR_BREAKDOWN},
    {"indefinite, fp32", "poisson:32x32x32", .change = hard_indefinite, .options = FP32,
     .status = GSW_ERROR_BREAKDOWN},
};
#define HARD_CASES ((int)(sizeof hard_cases / sizeof hard_cases[0]))

static oracle_matrix *hard_matrix_of(const hard_case *c) {
    gsw_grid grid;
    oracle_matrix *m;
    if (strchr(c->problem, ':')) {
        m = hard_problem(c->problem);
    } else {
        must(cpu, gsw_grid_parse(cpu, c->problem, &grid));
        m = c->wind ? hard_convection(&grid, c->wind, c->peclet)
                    : hard_flow(&grid, c->conductivity, c->boundary);
    }
    if (c->change)
        c->change(m);
    return m;
}

static double *hard_right_side(const hard_case *c, const oracle_matrix *m) {
    const int64_t n = oracle_points(&m->view.grid);
    double *b = keep_filled(n, 1);
    if (c->product || c->closed) {
        double *x = keep_random(5, n);
        for (int64_t i = 0; i < n; i++)
            x[i] += 1;
        must(cpu, gsw_spmv(cpu, &m->view, GSW_F64, x, b));
    }
    return b;
}

/* The end of a solve. */
typedef struct hard_end {
    gsw_status status;
    gsw_krylov_result result;
    gsw_multigrid_info info;
    char message[600];
} hard_end;

static hard_end hard_solve(const hard_case *c) {
    hard_end end = {.result = {.size = sizeof end.result}, .info = {.size = sizeof end.info}};
    const size_t mark = keep_mark();
    const oracle_matrix *m = hard_matrix_of(c);
    const int64_t n = oracle_points(&m->view.grid);
    const size_t bytes = (size_t)n * sizeof(double);
    gsw_multigrid_options options = c->options;
    const gsw_krylov_options krylov = {.size = sizeof krylov,
                                       .max_iterations = c->status ? 60 : 400,
                                       .nullspace =
                                           c->closed ? GSW_NULLSPACE_CONSTANT : GSW_NULLSPACE_NONE};
    const gsw_matrix *there = keep_there(context, &m->view);
    double *b = keep_upload(context, hard_right_side(c, m), bytes), *x = keep_zeros(n);
    double *xt = keep_upload(context, x, bytes);
    gsw_multigrid *mg = NULL;
    options.size = sizeof options;
    end.status = gsw_multigrid_create(context, there, &options, &mg);
    if (end.status == GSW_SUCCESS) {
        keep(KEPT_MULTIGRID, NULL, mg);
        end.status = gsw_krylov(context, c->method, keep_operator(context, there),
                                keep_multigrid_M(context, mg), &krylov, b, xt, &end.result);
        must(context, gsw_multigrid_get_info(mg, &end.info));
    }
    snprintf(end.message, sizeof end.message, "%s", gsw_context_message(context));
    download(context, x, xt, bytes);
    for (int64_t i = 0; i < n && end.status == GSW_SUCCESS; i++)
        ck_assert_msg(isfinite(x[i]), "%s: x is not finite", c->what);
    keep_release(mark);
    return end;
}

static void hard_check(const hard_case *c) {
    const hard_end end = hard_solve(c);
    if (c->status != GSW_SUCCESS) {
        ck_assert_msg(end.status == c->status || (c->status == GSW_ERROR_BREAKDOWN &&
                                                  (end.status == GSW_ERROR_NOT_CONVERGED ||
                                                   end.status == GSW_ERROR_NON_FINITE)),
                      "%s: %s: %s", c->what, gsw_status_name(end.status), end.message);
        ck_assert_msg(end.message[0] != '\0', "%s: no message", c->what);
        return;
    }
    ck_assert_msg(end.status == GSW_SUCCESS, "%s: %s: %s", c->what, gsw_status_name(end.status),
                  end.message);
    ck_assert_msg(end.result.residual <= 1.1e-8, "%s: residual %g", c->what, end.result.residual);
    ck_assert_msg(end.result.iterations <= c->most + on_cuda(), "%s: %d iterations, not %d",
                  c->what, (int)end.result.iterations, c->most);
    ck_assert_msg(end.info.smoother_fallbacks >= c->fallbacks, "%s: %d levels fell back", c->what,
                  end.info.smoother_fallbacks);
    ck_assert_msg(!c->closed || end.info.singular || c->change == hard_close_roughly,
                  "%s: not known to be singular", c->what);
}

/* With a sanitizer large grids take minutes and show nothing that the others do not. */
static int too_large(const char *problem) {
    int large = 0;
#ifdef GSW_SLOW_BUILD
    const char *extents = strrchr(problem, ':');
    gsw_grid grid;
    must(cpu, gsw_grid_parse(cpu, extents ? extents + 1 : problem, &grid));
    large = oracle_points(&grid) > 50000;
#else
    (void)problem;
#endif
    return large;
}

TEST(hard_cases_converge) {
    if (!too_large(hard_cases[_i].problem))
        hard_check(&hard_cases[_i]);
}

/* ---- Singular matrices ------------------------------------------------------------------------
 */

/* Grids without a boundary condition: at most `most` iterations. Where `more` is not 0, also at
 * most `more` - 1 iterations beyond those of the same problem with its own boundary. Both cycles,
 * both types. */
static const struct {
    const char *problem;
    int most, more;
} hard_closed[] = {
    {"poisson:32x32", 7, 3},       {"poisson:64x64", 7, 3},         {"poisson:128x128", 7, 3},
    {"poisson:256x256", 7, 3},     {"poisson:512x512", 7, 3},       {"poisson:16x16x16", 9, 3},
    {"poisson:32x32x32", 9, 3},    {"poisson:64x64x64", 9, 3},      {"poisson:37x29x41", 9, 3},
    {"lognormal:64x64", 9, 3},     {"lognormal:256x256", 10, 3},    {"lognormal:32x32x32", 12, 3},
    {"lognormal:48x48x48", 13, 3}, {"anisotropic:48x48x48", 10, 3}, {"hpcg:32x32x32", 7, 3},
    {"star13:32x32x32", 9, 3},
};
#define HARD_CLOSED ((int)(sizeof hard_closed / sizeof hard_closed[0]))

TEST(closed_grids_converge) {
    const hard_case open = {
        .what = hard_closed[_i].problem, .problem = hard_closed[_i].problem, .most = 100};
    if (too_large(open.problem))
        return;
    const hard_end with = hard_solve(&open);
    ck_assert_msg(with.status == GSW_SUCCESS, "%s: %s", open.what, with.message);
    for (int cycle = GSW_CYCLE_V; cycle <= GSW_CYCLE_F; cycle++)
        for (int type = GSW_F64; type <= GSW_F32; type++) {
            hard_case closed = open;
            const int more = (int)with.result.iterations + hard_closed[_i].more - 1;
            closed.change = hard_close;
            closed.closed = 1;
            closed.most = hard_closed[_i].most < more ? hard_closed[_i].most : more;
            closed.options.cycle = (gsw_cycle)cycle;
            closed.options.cycle_type = (gsw_dtype)type;
            if (cycle == GSW_CYCLE_V || type == GSW_F32)
                hard_check(&closed);
            closed.change = hard_close_roughly;
            if (cycle == GSW_CYCLE_V && type == GSW_F32)
                hard_check(&closed);
        }
}

/* x = M b with a hierarchy that consists of its direct solve. */
static void hard_apply_direct(gsw_multigrid *mg, int64_t n, const double *b, double *x) {
    const size_t bytes = (size_t)n * sizeof(double);
    void *there = keep_upload(context, b, bytes);
    must(context, gsw_multigrid_apply(context, mg, there, there));
    download(context, x, there, bytes);
}

/* Two closed halves, one of large and one of small numbers, and some fixed points: two null vectors
 * that the options do not name. The direct solve is a symmetric, semidefinite, generalised
 * inverse. */
TEST(halves_without_connection) {
    const gsw_grid grid = {9, 7, 3};
    const int64_t n = oracle_points(&grid);
    oracle_matrix *m = hard_flow(&grid, hard_iid_1e3, HARD_NEUMANN);
    const int32_t count = m->view.stencil.count;
    for (int64_t row = 0; row < n; row++) /* the plane x = 4 couples to nothing */
        for (int32_t e = 0; e < count; e++) {
            const int64_t there = hard_neighbour(&grid, row, m->view.stencil.offsets[e]);
            double *values = m->arrays[e];
            if (row % 9 == 4 || (there >= 0 && there % 9 == 4))
                values[row] = 0;
            values[row] *= row % 9 < 4 ? 1e6 : 1e-6;
        }
    hard_close(m);
    for (int64_t row = 4; row < n; row += 9)
        hard_diagonal(m)[row] = 3;
    gsw_multigrid *mg =
        keep_multigrid(context, keep_there(context, &m->view), (gsw_multigrid_options){0});
    double *x = keep_zeros(n), *b = keep_zeros(n), *again = keep_zeros(n);
    double *gx = keep_zeros(n), *gb = keep_zeros(n);
    gsw_random_vector(1, n, x);
    must(cpu, gsw_spmv(cpu, &m->view, GSW_F64, x, b));
    hard_apply_direct(mg, n, b, gb);
    must(cpu, gsw_spmv(cpu, &m->view, GSW_F64, gb, again));
    for (int64_t i = 0; i < n; i++) {
        const double size = i % 9 == 4 ? 1 : i % 9 < 4 ? 1e9 : 1e-3;
        ck_assert_msg(fabs(again[i] - b[i]) <= 1e-10 * size, "row %d: %g, not %g", (int)i, again[i],
                      b[i]);
    }
    for (int64_t i = 0; i < n; i++) { /* x'Gy = y'Gx and x'Gx > 0, in scaled vectors */
        const double size = i % 9 == 4 ? 1 : i % 9 < 4 ? 1e4 : 1e-2;
        x[i] = size * hard_random(1, i, 0, 0);
        b[i] = size * hard_random(2, i, 0, 0);
    }
    hard_apply_direct(mg, n, x, gx);
    hard_apply_direct(mg, n, b, gb);
    check_symmetric("a direct solve", n, x, gx, b, gb, 1e-10);
}

int main(int argc, char **argv) {
    backend_choose(argc, argv);
    const int stride = backend_stride();
    Suite *suite = suite_create("multigrid_hard");
    TCase *hard = context_case(suite, "hard", 300);
    TESTS(hard, halves_without_connection);
    LOOPS(hard, HARD_CASES / stride, hard_cases_converge);
    LOOPS(hard, HARD_CLOSED / stride, closed_grids_converge);
    return backend_run_suite(suite);
}
