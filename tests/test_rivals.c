/* test_rivals.c: every rival computes the reference's solution, and whole solves take as many
 * iterations as gridsweep's. So no comparison is with a wrong answer. Rivals on the device are
 * tried where there is a device. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <check.h>
#include <gridsweep/gridsweep.h>
#include "keep.h"
#include "krylov_solve.h"
#include "rival.h"
#include "solve_rival_parts.h"
#include "suite.h"

static gsw_context *host;   /* CPU */
static gsw_context *device; /* CUDA; NULL without a device */
static void *stream;

static void open_contexts(void) {
    host = oracle_context(1);
    device = NULL;
    stream = NULL;
    if (gsw_device_count() == 0)
        return;
    stream = gsw_device_stream_create(0);
    ck_assert_ptr_nonnull(stream);
    gsw_context_options options = {
        .size = sizeof options, .backend = GSW_BACKEND_CUDA, .stream = stream};
    ck_assert_int_eq(gsw_context_create(&options, &device), GSW_SUCCESS);
}

static void close_contexts(void) {
    keep_release(0);
    gsw_context_destroy(device);
    gsw_device_stream_destroy(stream);
    gsw_context_destroy(host);
}

/* ---- One system, its vectors and its answers ---- */

#define RUNS 4 /* right-hand sides: the third equals the first, and the last has NaNs */

typedef struct trial {
    char where[160];
    gsw_dtype type;
    int64_t points;
    oracle_matrix *matrix; /* the part, as the rivals want it */
    gsw_rival_system system;
    void *b[RUNS], *expected[RUNS]; /* host */
} trial;

static size_t vector_bytes(const trial *t) {
    return (size_t)t->points * gsw_dtype_size(t->type);
}

static void solve_reference(trial *t, int run) {
    const gsw_sptrsv_options options = {.size = sizeof options,
                                        .part = t->system.part,
                                        .vector_type = t->type,
                                        .algorithm = GSW_ALGORITHM_REFERENCE};
    t->expected[run] = keep_vector(t->type, 0, t->points);
    must(host, gsw_sptrsv(host, &t->matrix->view, &options, 1, t->b[run], t->points,
                          t->expected[run], t->points));
}

static void make_right_hand_sides(trial *t) {
    const size_t value = gsw_dtype_size(t->type);
    static const uint64_t seeds[RUNS] = {11, 12, 11, 13};
    for (int run = 0; run < RUNS; run++)
        t->b[run] = keep_vector(t->type, seeds[run], t->points);
    /* The NaN whose bits a solver may use for "not there yet". */
    memset((char *)t->b[3] + (size_t)(t->points / 2) * value, 0xff, value);
    for (int run = 0; run < RUNS; run++)
        solve_reference(t, run);
}

static void make_trial(trial *t, const gsw_grid *grid, const gsw_stencil *stencil, gsw_part part,
                       gsw_dtype type, int missing) {
    const oracle_layout layout = {.format = GSW_FORMAT_CSR,
                                  .value_type = type,
                                  .index_type = GSW_I32,
                                  .part = part,
                                  .missing = missing};
    oracle_matrix *arrays = keep_matrix_of(grid, stencil, 5, ORACLE_ANY_SIGN);
    *t = (trial){.type = type, .points = oracle_points(grid)};
    t->matrix = keep_converted(arrays, &layout);
    t->system = (gsw_rival_system){.grid = *grid,
                                   .stencil = *stencil,
                                   .part = part,
                                   .host = &t->matrix->view.csr,
                                   .stream = stream};
    if (device != NULL)
        t->system.device = &keep_there(device, &t->matrix->view)->csr;
    make_right_hand_sides(t);
    snprintf(t->where, sizeof t->where, "%lldx%lldx%lld, %d offsets, %s, %s, missing %d",
             (long long)grid->nx, (long long)grid->ny, (long long)grid->nz, (int)stencil->count,
             part == GSW_LOWER ? "lower" : "upper", type == GSW_F64 ? "fp64" : "fp32", missing);
}

/* ---- Solving with a rival ---- */

/* A rival's vectors: host arrays, or device arrays for those that run there. */
typedef struct vectors {
    void *b[RUNS], *x[RUNS];
} vectors;

static void *allocate(const gsw_rival *rival, size_t bytes) {
    return rival->on_device ? keep_room(device, bytes) : keep_bytes(bytes);
}

/* The first and the third run share their vectors. */
static void make_vectors(const trial *t, const gsw_rival *rival, vectors *v) {
    const size_t bytes = vector_bytes(t);
    for (int run = 0; run < RUNS; run++) {
        v->b[run] = run == 2 ? v->b[0] : allocate(rival, bytes);
        v->x[run] = run == 2 ? v->x[0] : allocate(rival, bytes);
        if (rival->on_device)
            must(device, gsw_memory_upload(device, v->b[run], t->b[run], bytes));
        else
            memcpy(v->b[run], t->b[run], bytes);
    }
}

static void poison(const gsw_rival *rival, void *x, size_t bytes) {
    if (rival->on_device)
        must(device, gsw_memory_set(device, x, 0xff, bytes));
    else
        memset(x, 0xff, bytes);
}

static void fetch(const gsw_rival *rival, void *to, const void *x, size_t bytes) {
    if (rival->on_device)
        download(device, to, x, bytes);
    else
        memcpy(to, x, bytes);
}

static void solve_all(const trial *t, const gsw_rival *rival, void *state, const vectors *v) {
    char message[256] = "";
    void *x = keep_bytes(vector_bytes(t));
    for (int run = 0; run < RUNS; run++) {
        poison(rival, v->x[run], vector_bytes(t));
        ck_assert_msg(rival->solve(state, v->b[run], v->x[run], message, sizeof message) == 0,
                      "%s, %s: %s", rival->name, t->where, message);
        fetch(rival, x, v->x[run], vector_bytes(t));
        const double error = oracle_error(t->type, t->points, x, t->expected[run]);
        ck_assert_msg(error <= oracle_tolerance(t->type), "%s, %s, run %d: error %g", rival->name,
                      t->where, run, error);
    }
}

/* The precisions that a rival need not support. */
static int may_refuse(const gsw_rival *rival, gsw_dtype type) {
    return strcmp(rival->name, "petsc") == 0 && type == GSW_F32;
}

static void try_rival(const trial *t, const gsw_rival *rival) {
    char message[256] = "";
    gsw_rival_cost cost = {-1, -1};
    void *state = NULL;
    vectors v;
    const size_t mark = keep_mark();
    const int refused = rival->open(&t->system, &state, &cost, message, sizeof message);
    if (rival->on_device && device == NULL) {
        ck_assert_msg(refused && message[0] != '\0', "%s opened without a device", rival->name);
        return;
    }
    if (may_refuse(rival, t->type)) {
        ck_assert_msg(refused && message[0] != '\0', "%s took fp32", rival->name);
        return;
    }
    ck_assert_msg(!refused, "%s, %s: %s", rival->name, t->where, message);
    ck_assert(cost.setup_ms >= 0 && cost.buffer_bytes >= 0);
    make_vectors(t, rival, &v);
    solve_all(t, rival, state, &v);
    rival->close(state);
    keep_release(mark);
}

static void try_all(const gsw_grid *grid, const gsw_stencil *stencil, int missing) {
    int count = 0;
    const gsw_rival *rivals = gsw_rivals(&count);
    for (int part = GSW_LOWER; part <= GSW_UPPER; part++)
        for (int type = GSW_F64; type <= GSW_F32; type++) {
            trial t;
            const size_t mark = keep_mark();
            make_trial(&t, grid, stencil, (gsw_part)part, (gsw_dtype)type, missing);
            for (int i = 0; i < count; i++)
                try_rival(&t, &rivals[i]);
            keep_release(mark);
        }
}

/* ---- The tests ---- */

TEST(rivals_equal_reference) {
    const gsw_stencil *stencil = oracle_stencil(_i, NULL);
    for (int g = 0; g < oracle_grid_count(); g++) {
        const gsw_grid grid = oracle_grid(g);
        try_all(&grid, stencil, 0);
    }
}

TEST(rivals_equal_reference_with_missing_entries) {
    const gsw_grid grid = {13, 9, 7};
    try_all(&grid, oracle_stencil(_i, NULL), 3);
}

/* More rows than a device works on at once. */
TEST(rivals_equal_reference_on_many_rows) {
    static const char *const names[] = {"D3N7", "D3N27"};
    const gsw_grid grid = {83, 67, 59};
    gsw_stencil stencil;
    ck_assert_int_eq(gsw_stencil_named(names[_i], &stencil), GSW_SUCCESS);
    try_all(&grid, &stencil, 0);
}

/* Rows longer than a warp. */
TEST(rivals_equal_reference_on_long_rows) {
    gsw_offset offsets[GSW_STENCIL_MAX];
    int32_t count = 0;
    for (int32_t dy = -4; dy <= 4; dy++)
        for (int32_t dx = -6; dx <= 6; dx++)
            offsets[count++] = (gsw_offset){dx, dy, 0};
    const gsw_grid grid = {40, 31, 1};
    gsw_stencil stencil;
    ck_assert_int_eq(gsw_stencil_from_offsets(offsets, count, &stencil), GSW_SUCCESS);
    try_all(&grid, &stencil, 0);
}

TEST(rivals_refuse_bad_systems) {
    const gsw_grid grid = {5, 4, 3};
    int count = 0;
    const gsw_rival *rivals = gsw_rivals(&count);
    trial t;
    make_trial(&t, &grid, oracle_stencil(0, NULL), GSW_LOWER, GSW_F64, 0);
    t.system.part = GSW_FULL;
    ck_assert_int_ge(count, 1);
    for (int i = 0; i < count; i++) {
        char message[256] = "";
        gsw_rival_cost cost;
        void *state = &t;
        ck_assert_int_eq(rivals[i].open(&t.system, &state, &cost, message, sizeof message), -1);
        ck_assert_msg(state == NULL && message[0] != '\0', "%s", rivals[i].name);
        rivals[i].close(NULL);
    }
}

/* Rows 5 and 7 wait for each other: this is no triangle, so no solver can solve it. The
 * synchronisation-free solvers must still return, and the next solve must report it. */
TEST(endless_waits_end) {
    int32_t row_ptr[101], columns[101 + 1];
    double values[101 + 1], *b = keep_random(1, 100);
    int count = 0, k = 0, tried = 0;
    const gsw_rival *rivals = gsw_rivals(&count);
    for (int32_t i = 0; i < 100; i++) {
        row_ptr[i] = k;
        if (i == 5 || i == 7)
            columns[k++] = 12 - i;
        columns[k++] = i;
    }
    row_ptr[100] = k;
    for (int i = 0; i < k; i++)
        values[i] = 1;
    const gsw_matrix matrix = {.grid = {100, 1, 1},
                               .stencil = *oracle_stencil(0, NULL),
                               .format = GSW_FORMAT_CSR,
                               .csr = {.rows = 100,
                                       .nonzeros = k,
                                       .row_ptr = row_ptr,
                                       .columns = columns,
                                       .values = values,
                                       .index_type = GSW_I32,
                                       .value_type = GSW_F64}};
    const gsw_rival_system system = {.grid = matrix.grid,
                                     .stencil = matrix.stencil,
                                     .part = GSW_LOWER,
                                     .host = &matrix.csr,
                                     .device =
                                         device != NULL ? &keep_there(device, &matrix)->csr : NULL,
                                     .stream = stream};
    for (int i = 0; device != NULL && i < count; i++) {
        char message[256] = "";
        gsw_rival_cost cost;
        void *state = NULL;
        double x[100];
        if (strncmp(rivals[i].name, "syncfree", 8) != 0)
            continue;
        void *device_b = allocate(&rivals[i], sizeof x), *device_x = allocate(&rivals[i], sizeof x);
        must(device, gsw_memory_upload(device, device_b, b, sizeof x));
        ck_assert_int_eq(rivals[i].open(&system, &state, &cost, message, sizeof message), 0);
        ck_assert_int_eq(rivals[i].solve(state, device_b, device_x, message, sizeof message), 0);
        fetch(&rivals[i], x, device_x, sizeof x);
        ck_assert(isnan(x[5]) && isnan(x[7]));
        ck_assert_double_eq_tol(x[99], b[99], 1e-15);
        ck_assert_int_eq(rivals[i].solve(state, device_b, device_x, message, sizeof message), -1);
        ck_assert_msg(strstr(message, "too long") != NULL, "%s", message);
        rivals[i].close(state);
        tried++;
    }
    ck_assert_int_eq(tried, device != NULL ? 3 : 0);
}

/* ---- Whole solves ---- */

/* What is compared; precond GSW_SOLVE_NO_PRECOND: none. */
static const struct {
    const char *problem;
    gsw_method method;
    int precond;
} whole_solves[] = {
    {"convection:14x13x12", GSW_BICGSTAB, GSW_ILU0},
    {"random:4:15x14x13", GSW_BICGSTAB, GSW_ILU0},
    {"convection:31x30", GSW_BICGSTAB, GSW_ILU0},
    {"helmholtz19:12x11x13", GSW_CG, GSW_ILU0},
    {"lognormal:13x14x12", GSW_CG, GSW_IC0},
    {"hpcg:11x12x13", GSW_CG, GSW_IC0},
    {"star13:12x11x13", GSW_CG, GSW_IC0},
    {"lognormal:12x11x13", GSW_BICGSTAB, GSW_IC0},
    {"poisson:12x11x13", GSW_GMRES, GSW_JACOBI},
    {"poisson:1x1x1", GSW_CG, GSW_IC0},
    {"poisson:9x8x7", GSW_CG, GSW_SOLVE_NO_PRECOND},
};
#define WHOLE_SOLVES ((int)(sizeof whole_solves / sizeof whole_solves[0]))
#define WHOLE_RTOL   1e-9

typedef struct whole_trial {
    gsw_csr csr;
    gsw_matrix matrix;
    gsw_solve_system system;
    int64_t points, iterations; /* gridsweep's on the CPU */
    double *b, *x, *r;
} whole_trial;

/* From the problem's matrix; all entries of row `bad` (-1: none) become 0. */
static void make_whole(whole_trial *t, const char *text, gsw_method method, int precond,
                       int64_t bad) {
    const gsw_matrix *matrix = keep_problem(text);
    *t = (whole_trial){.points = oracle_points(&matrix->grid)};
    must(host, gsw_matrix_to_csr(host, matrix, GSW_FULL, GSW_I32, &t->csr));
    keep_csr(t->csr);
    for (int32_t k = bad < 0 ? 0 : ((const int32_t *)t->csr.row_ptr)[bad];
         bad >= 0 && k < ((const int32_t *)t->csr.row_ptr)[bad + 1]; k++)
        ((double *)t->csr.values)[k] = 0;
    must(host, gsw_matrix_from_csr(host, &matrix->grid, &matrix->stencil, &t->csr, &t->matrix));
    t->system = (gsw_solve_system){.matrix = &t->matrix,
                                   .stream = stream,
                                   .method = method,
                                   .precond = precond,
                                   .rtol = WHOLE_RTOL,
                                   .max_iterations = 500};
    if (device != NULL)
        t->system.device = &keep_there(device, &t->matrix)->csr;
    t->b = keep_random(21, t->points);
    t->x = keep_random(22, t->points);
    t->r = keep_random(23, t->points);
}

static double whole_residual(whole_trial *t) {
    must(host, gsw_residual(host, &t->matrix, GSW_F64, t->b, t->x, t->r));
    return vector_norm(t->points, t->r) / vector_norm(t->points, t->b);
}

static void solve_whole_here(whole_trial *t) {
    const gsw_factor_options wanted = {.kind = (gsw_factor_kind)t->system.precond};
    const gsw_krylov_options options = {
        .size = sizeof options, .rtol = t->system.rtol, .max_iterations = t->system.max_iterations};
    gsw_factor *factor = NULL;
    gsw_krylov_result result = {.size = sizeof result};
    if (t->system.precond != GSW_SOLVE_NO_PRECOND)
        factor = keep_factor(host, &t->matrix, wanted);
    memset(t->x, 0, (size_t)t->points * sizeof *t->x);
    must(host,
         solve_krylov(host, t->system.method, &t->matrix, factor, &options, t->b, t->x, &result));
    t->iterations = result.iterations;
}

/* Solves from x = 0 with a rival that is open, and brings x back. */
static gsw_solve_outcome solve_whole(whole_trial *t, const gsw_solve_rival *rival, void *state) {
    const size_t bytes = (size_t)t->points * sizeof *t->x;
    gsw_solve_outcome outcome = {-1, -1};
    char message[256] = "";
    void *b = t->b, *x = t->x;
    memset(t->x, 0, bytes);
    if (rival->on_device) {
        b = keep_upload(device, t->b, bytes);
        x = keep_upload(device, t->x, bytes);
    }
    ck_assert_msg(rival->solve(state, b, x, &outcome, message, sizeof message) == 0, "%s: %s",
                  rival->name, message);
    if (rival->on_device)
        download(device, t->x, x, bytes);
    return outcome;
}

/* BiCGSTAB is not a minimisation: rounding changes its path. */
static int64_t iterations_apart(const whole_trial *t) {
    if (t->system.method != GSW_BICGSTAB)
        return 1;
    return t->iterations / 5 > 2 ? t->iterations / 5 : 2;
}

/* hypre's structured multigrids. */
static int is_structured(const gsw_solve_rival *rival) {
    return strcmp(rival->name, "hypre-pfmg") == 0 || strcmp(rival->name, "hypre-smg") == 0;
}

static int reaches_farther_than_one(const gsw_stencil *stencil) {
    int farthest = 0;
    for (int32_t e = 0; e < stencil->count; e++) {
        const gsw_offset *o = &stencil->offsets[e];
        const int reach[] = {abs(o->dx), abs(o->dy), abs(o->dz)};
        for (int axis = 0; axis < 3; axis++)
            farthest = reach[axis] > farthest ? reach[axis] : farthest;
    }
    return farthest > 1;
}

/* Whether a rival that is in this build and has its device must accept the system. */
static int must_take(const gsw_solve_rival *rival, const gsw_solve_system *system) {
    const int ic0 = system->precond == GSW_IC0, ilu0 = system->precond == GSW_ILU0;
    if (rival->precond != NULL)
        return system->method != GSW_GMRES &&
               !(is_structured(rival) && reaches_farther_than_one(&system->matrix->stencil));
    if (!rival->on_device)
        return 1;
    return system->method != GSW_GMRES && (ic0 || (ilu0 && strcmp(rival->name, "cusparse") == 0));
}

/* NULL, with a reason, where the rival cannot or need not take the system. */
static void *open_whole(const whole_trial *t, const gsw_solve_rival *rival, const char *where) {
    gsw_solve_cost cost = {.setup_ms = -1, .buffer_bytes = -1};
    char message[256] = "";
    void *state = NULL;
    if (rival->open == NULL)
        return NULL;
    const int refused = rival->open(&t->system, &state, &cost, message, sizeof message);
    if ((rival->on_device && device == NULL) || !must_take(rival, &t->system)) {
        ck_assert_msg(refused && message[0] != '\0', "%s took %s", rival->name, where);
        ck_assert_ptr_null(state);
        return NULL;
    }
    ck_assert_msg(!refused, "%s, %s: %s", rival->name, where, message);
    ck_assert(cost.setup_ms >= 0 && !(cost.buffer_bytes < 0));
    return state;
}

static void try_whole(whole_trial *t, const gsw_solve_rival *rival, const char *where) {
    char message[256] = "";
    void *state = open_whole(t, rival, where);
    if (state == NULL)
        return;
    for (int run = 0; run < 2; run++) {
        if (rival->forget != NULL)
            rival->forget(state);
        ck_assert_msg(rival->factor(state, message, sizeof message) == 0, "%s, %s: %s", rival->name,
                      where, message);
        const gsw_solve_outcome outcome = solve_whole(t, rival, state);
        const double residual = whole_residual(t);
        ck_assert_msg(outcome.converged == 1, "%s, %s did not converge", rival->name, where);
        ck_assert_msg(residual <= 10 * WHOLE_RTOL, "%s, %s: residual %g", rival->name, where,
                      residual);
        ck_assert_msg(llabs(outcome.iterations - t->iterations) <= iterations_apart(t),
                      "%s, %s: %lld iterations, not %lld", rival->name, where,
                      (long long)outcome.iterations, (long long)t->iterations);
    }
    rival->close(state);
}

TEST(whole_solves_take_as_many_iterations) {
    int count = 0;
    const gsw_solve_rival *rivals = gsw_solve_rivals(&count);
    whole_trial t;
    make_whole(&t, whole_solves[_i].problem, whole_solves[_i].method, whole_solves[_i].precond, -1);
    solve_whole_here(&t);
    for (int i = 0; i < count; i++)
        if (rivals[i].precond == NULL)
            try_whole(&t, &rivals[i], whole_solves[_i].problem);
}

/* ---- Rivals with multigrid ---- */

/* Shapes of every kind: 5, 7, 9, 15, 19 and 27 points, flat and thin grids, and couplings that
 * reach two points, which structured multigrid refuses. */
static const struct {
    const char *problem;
    gsw_method method;
    int most; /* iterations */
} multigrid_solves[] = {
    {"poisson:24x23x22", GSW_CG, 20},
    {"lognormal:21x20x22", GSW_CG, 60},
    {"anisotropic:16x17x18", GSW_CG, 40},
    {"hpcg:14x13x12", GSW_CG, 30},
    {"helmholtz19:12x11x13", GSW_CG, 30},
    {"star13:12x11x13", GSW_CG, 40},
    {"box33:10x11x9", GSW_CG, 40},
    {"poisson:31x30", GSW_CG, 20},
    {"hpcg:20x21", GSW_CG, 30},
    {"convection:14x13x12", GSW_BICGSTAB, 30},
    {"convection:31x30", GSW_BICGSTAB, 30},
    {"random:4:9x8x7", GSW_BICGSTAB, 30},
    {"poisson:1x19x18", GSW_CG, 20},
    {"poisson:40x1x1", GSW_CG, 20},
    {"poisson:1x1x1", GSW_CG, 1},
    {"poisson:12x11x13", GSW_GMRES, 0},
};
#define MULTIGRID_SOLVES ((int)(sizeof multigrid_solves / sizeof multigrid_solves[0]))

static double distance(int64_t n, const double *x, const double *y) {
    double worst = 0, scale = 0;
    for (int64_t i = 0; i < n; i++) {
        worst = fmax(worst, fabs(x[i] - y[i]));
        scale = fmax(scale, fabs(y[i]));
    }
    return worst / scale;
}

/* Twice, the second time with another right-hand side. */
static void try_multigrid(whole_trial *t, const gsw_solve_rival *rival, const char *where,
                          int most) {
    char message[256] = "";
    void *state = open_whole(t, rival, where);
    if (state == NULL)
        return;
    double *wanted = keep_random(24, t->points);
    for (int run = 0; run < 2; run++) {
        for (int64_t i = 0; i < t->points; i++)
            t->b[i] = run == 0 ? t->b[i] : (double)(1 + i % 3);
        solve_whole_here(t);
        memcpy(wanted, t->x, (size_t)t->points * sizeof *wanted);
        rival->forget(state);
        ck_assert_msg(rival->factor(state, message, sizeof message) == 0, "%s, %s: %s", rival->name,
                      where, message);
        const gsw_solve_outcome outcome = solve_whole(t, rival, state);
        const double residual = whole_residual(t), error = distance(t->points, t->x, wanted);
        ck_assert_msg(outcome.converged == 1 && outcome.iterations >= 1 &&
                          outcome.iterations <= most,
                      "%s, %s: %lld iterations, converged %d", rival->name, where,
                      (long long)outcome.iterations, outcome.converged);
        ck_assert_msg(residual <= 10 * WHOLE_RTOL, "%s, %s: residual %g", rival->name, where,
                      residual);
        ck_assert_msg(error <= 1e-7, "%s, %s: error %g", rival->name, where, error);
    }
    rival->close(state);
}

TEST(multigrids_solve) {
    int count = 0;
    const gsw_solve_rival *rivals = gsw_solve_rivals(&count);
    whole_trial t;
    make_whole(&t, multigrid_solves[_i].problem, multigrid_solves[_i].method, GSW_ILU0, -1);
    t.system.threads = 2;
    for (int i = 0; i < count; i++)
        if (rivals[i].precond != NULL)
            try_multigrid(&t, &rivals[i], multigrid_solves[_i].problem, multigrid_solves[_i].most);
}

/* The names of settings and the number of threads are reported. */
TEST(multigrids_tell_their_settings) {
    int count = 0, tried = 0;
    const gsw_solve_rival *rivals = gsw_solve_rivals(&count);
    whole_trial t;
    make_whole(&t, "lognormal:12x11x10", GSW_CG, GSW_IC0, -1);
    for (int i = 0; i < count; i++) {
        char message[256] = "";
        gsw_solve_cost cost;
        void *state = NULL;
        if (rivals[i].precond == NULL || rivals[i].open == NULL ||
            (rivals[i].on_device && device == NULL))
            continue;
        ck_assert(rivals[i].forget != NULL);
        ck_assert_msg(rivals[i].open(&t.system, &state, &cost, message, sizeof message) == 0, "%s",
                      message);
        ck_assert_int_ge(cost.threads, 0);
        ck_assert_int_le(cost.threads, 1);
        if (strcmp(rivals[i].name, "hypre-smg") == 0)
            ck_assert_str_eq(cost.settings, "");
        else
            ck_assert_msg(strncmp(cost.settings, "best of ", 8) == 0, "%s", cost.settings);
        rivals[i].close(state);
        tried++;
    }
    printf("rivals: %d multigrids are in this build and can run here\n", tried);
}

/* The quickest setting that converges is taken. Settings that fail are skipped. */
static int run_planned(void *state, int setting, double *milliseconds, int *converged,
                       char *message, size_t size) {
    static const double times[] = {2000, 1, 1500, 1200, 3000};
    const int *plan = state;
    (void)snprintf(message, size, "setting %d", setting);
    *milliseconds = times[setting];
    *converged = plan[setting] == 1;
    return plan[setting] < 0 ? -1 : 0;
}

TEST(settings_are_chosen) {
    static const struct {
        int plan[5], best; /* 1: converges, 0: does not, -1: fails */
    } cases[] = {{{1, -1, 1, 1, 1}, 3},
                 {{1, 0, 1, -1, 1}, 2},
                 {{-1, 0, 0, 0, 0}, 1},
                 {{1, 1, 1, 1, 1}, 1},
                 {{-1, -1, -1, -1, -1}, -1}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char message[64] = "";
        int plan[5];
        memcpy(plan, cases[i].plan, sizeof plan);
        const gsw_solve_trials trials = {plan, 5, run_planned};
        ck_assert_int_eq(gsw_solve_choose(&trials, message, sizeof message), cases[i].best);
    }
}

/* ---- How whole solves end ---- */

/* Too few iterations are no failure, but they are reported. b = 0 has the solution 0. */
TEST(whole_solves_tell_how_they_end) {
    int count = 0;
    const gsw_solve_rival *rivals = gsw_solve_rivals(&count);
    for (int i = 0; i < count; i++) {
        whole_trial t;
        char message[256] = "";
        make_whole(&t, "poisson:14x13x12", GSW_CG, GSW_IC0, -1);
        t.system.max_iterations = 3;
        void *state = open_whole(&t, &rivals[i], "3 iterations");
        if (state != NULL) {
            ck_assert_int_eq(rivals[i].factor(state, message, sizeof message), 0);
            gsw_solve_outcome outcome = solve_whole(&t, &rivals[i], state);
            ck_assert_int_eq(outcome.iterations, 3);
            ck_assert_int_eq(outcome.converged, 0);
            ck_assert(whole_residual(&t) < 1);
            memset(t.b, 0, (size_t)t.points * sizeof *t.b);
            outcome = solve_whole(&t, &rivals[i], state);
            ck_assert_msg(outcome.converged == 1, "%s with b = 0", rivals[i].name);
            ck_assert_msg(vector_norm(t.points, t.x) == 0, "%s with b = 0", rivals[i].name);
        }
        if (rivals[i].close != NULL)
            rivals[i].close(state);
    }
}

/* A factor that does not exist, and systems that every rival refuses. */
TEST(whole_solves_refuse_bad_systems) {
    int count = 0;
    const gsw_solve_rival *rivals = gsw_solve_rivals(&count);
    for (int i = 0; i < count; i++) {
        gsw_solve_cost cost;
        whole_trial t;
        if (rivals[i].open == NULL)
            continue;
        for (int which = 0; which < 5; which++) {
            char message[256] = "";
            void *state = &t;
            make_whole(&t, "poisson:5x4x3", GSW_CG, GSW_IC0, which == 0 ? 0 : -1);
            if (which == 1)
                t.system.matrix = NULL;
            if (which == 2)
                t.matrix.csr.index_type = GSW_I64;
            if (which == 3)
                t.system.rtol = 0;
            if (which == 4)
                t.system.max_iterations = 0;
            ck_assert_msg(rivals[i].open(&t.system, &state, &cost, message, sizeof message) == -1,
                          "%s took bad system %d", rivals[i].name, which);
            ck_assert_msg(message[0] != '\0', "%s does not say why", rivals[i].name);
            ck_assert_ptr_null(state);
        }
    }
}

/* ---- Measuring ---- */

static int count_call(void *user) {
    ++*(int *)user;
    return 0;
}

static int refuse_third_call(void *user) {
    return ++*(int *)user < 3 ? 0 : -1;
}

TEST(device_is_described) {
    char name[64] = "?", driver[64] = "?", toolkit[64] = "?";
    const int failed = gsw_device_describe(0, name, driver, toolkit, sizeof name);
    ck_assert_int_eq(failed, device != NULL ? 0 : -1);
    ck_assert_int_eq(name[0] != '\0' && strchr(driver, '.') && strchr(toolkit, '.'), !failed);
    ck_assert_int_eq(gsw_device_describe(1000, name, driver, toolkit, sizeof name), -1);
    ck_assert_ptr_null(gsw_device_stream_create(1000));
    gsw_device_stream_destroy(NULL);
    const double bandwidth = gsw_device_copy_bandwidth(stream);
    ck_assert(device != NULL ? bandwidth > 1 : isnan(bandwidth));
}

/* Every run is timed alone, after x was poisoned. A run that fails ends the timing. */
TEST(runs_are_timed) {
    double times[5] = {-1, -1, -1, -1, -1}, fetched[100];
    int calls = 0;
    if (device == NULL) {
        ck_assert_int_eq(gsw_device_time(NULL, count_call, &calls, 1, 1, 0, NULL, 0, times), -1);
        return;
    }
    void *x = keep_room(device, sizeof fetched);
    for (int cold = 0; cold < 2; cold++) {
        calls = 0;
        must(device, gsw_memory_set(device, x, 0, sizeof fetched));
        ck_assert_int_eq(
            gsw_device_time(stream, count_call, &calls, 2, 5, cold, x, sizeof fetched, times), 0);
        ck_assert_int_eq(calls, 7);
        for (int k = 0; k < 5; k++)
            ck_assert(times[k] >= 0 && times[k] < 1000);
        download(device, fetched, x, sizeof fetched);
        for (int k = 0; k < 100; k++)
            ck_assert(isnan(fetched[k]));
    }
    calls = 0;
    ck_assert_int_eq(gsw_device_time(stream, refuse_third_call, &calls, 1, 5, 0, NULL, 0, times),
                     -1);
    ck_assert_int_eq(calls, 3);
}

/* Neither CUDA nor MPI survives a fork, so the tests share this process. */
int main(void) {
    Suite *suite = suite_create("rivals");
    TCase *tc = suite_case(suite, "rivals", 600, open_contexts, close_contexts);
    TESTS(tc, rivals_equal_reference_on_long_rows, rivals_refuse_bad_systems, endless_waits_end,
          multigrids_tell_their_settings, settings_are_chosen, whole_solves_tell_how_they_end,
          whole_solves_refuse_bad_systems, device_is_described, runs_are_timed);
    LOOPS(tc, oracle_stencil_count(), rivals_equal_reference,
          rivals_equal_reference_with_missing_entries);
    LOOPS(tc, 2, rivals_equal_reference_on_many_rows);
    LOOPS(tc, WHOLE_SOLVES, whole_solves_take_as_many_iterations);
    LOOPS(tc, MULTIGRID_SOLVES, multigrids_solve);
    if (gsw_device_count() == 0)
        printf("rivals: those on a device are skipped, for no CUDA device is there\n");
    return suite_run(suite, CK_NOFORK);
}
