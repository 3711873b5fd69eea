/* hpcg.c: HPCG's algorithm as a task: a set of iterations of CG, from x = 0, preconditioned by its
 * multigrid cycle.
 *
 * The library's own CG and multigrid do the work. What they do in an iteration is what HPCG does;
 * around the iterations they do a little more, which counts: work vectors are allocated, and at the
 * end the true residual is computed, which takes up to five products with the matrix. */
#include "tasks.h"
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <gridsweep/memory.h>
#include "hpcg_reference.h"

#define SET_ITERATIONS 50
#define REPEATS        3
#define OVERHEAD_SHARE 0.1     /* of the set-up that counts with a set; HPCG's rule */
#define CHECKED_MAX    8       /* norms that are compared: rounding grows with later ones */
#define CHECKED_POINTS 3000000 /* and so many points in all, because the plain loops take long */
#define NORM_TOLERANCE 1e-12
#define UNATTAINABLE   DBL_MIN /* a tolerance that no set meets */

typedef struct hpcg_state {
    gsw_multigrid *multigrid;
    gsw_operator *op;
    gsw_preconditioner *M;
    int64_t sets;
    int64_t recorded; /* norms in relative[] */
    double relative[CHECKED_MAX + 1];
} hpcg_state;

static void refer(bench_case *made) {
    hpcg_rhs(&made->host.grid, made->b);
}

/* ---- Running -------------------------------------------------------------------------------- */

static gsw_status open_task(bench_worker *worker) {
    const gsw_multigrid_options wanted = {.size = sizeof wanted,
                                          .smoother = GSW_SMOOTHER_SYMGS,
                                          .coarsest_points = 1,
                                          .interpolation = GSW_INTERPOLATION_INJECTION,
                                          .max_levels = HPCG_LEVELS};
    const gsw_matrix *matrix = &worker->work->arrays.matrix;
    gsw_context *context = worker->context;
    gsw_multigrid_info info = {.size = sizeof info};
    hpcg_state *state = calloc(1, sizeof *state);
    if (state == NULL)
        return GSW_ERROR_OUT_OF_MEMORY;
    worker->state = state;
    const double start = cli_now_ms();
    gsw_status status = gsw_multigrid_create(context, matrix, &wanted, &state->multigrid);
    if (status == GSW_SUCCESS)
        status = gsw_context_synchronize(context);
    worker->row->setup_ms = cli_now_ms() - start;
    if (status == GSW_SUCCESS)
        status = gsw_multigrid_get_info(state->multigrid, &info);
    worker->row->buffer_bytes = (double)info.bytes;
    if (status == GSW_SUCCESS)
        status = gsw_operator_from_matrix(context, matrix, &state->op);
    if (status == GSW_SUCCESS)
        status = gsw_preconditioner_from_multigrid(context, state->multigrid, &state->M);
    return status;
}

static void close_task(bench_worker *worker) {
    hpcg_state *state = worker->state;
    if (state == NULL)
        return;
    gsw_preconditioner_destroy(state->M);
    gsw_operator_destroy(state->op);
    gsw_multigrid_destroy(state->multigrid);
    free(state);
}

static gsw_status start(bench_worker *worker) {
    return gsw_memory_set(worker->context, worker->x, 0, worker->work->vector_bytes);
}

static gsw_krylov_options set_of(const cli_options *options) {
    gsw_krylov_options wanted = {
        .size = sizeof wanted, .atol = UNATTAINABLE, .max_iterations = SET_ITERATIONS};
    if (cli_given(options, OPT_MAX_ITER))
        wanted.max_iterations = options->max_iter;
    if (cli_given(options, OPT_RTOL))
        wanted.rtol = options->rtol;
    return wanted;
}

static gsw_status run_set(bench_worker *worker, const gsw_krylov_options *wanted,
                          gsw_krylov_result *ended) {
    const hpcg_state *state = worker->state;
    gsw_status status =
        gsw_cg(worker->context, state->op, state->M, wanted, worker->b, worker->x, ended);
    return status == GSW_ERROR_NOT_CONVERGED || status == GSW_ERROR_STOPPED ? GSW_SUCCESS : status;
}

/* Every set ends in the same bits. */
static gsw_status solve(bench_worker *worker) {
    const gsw_krylov_options wanted = set_of(worker->options);
    gsw_krylov_result ended = {.size = sizeof ended};
    hpcg_state *state = worker->state;
    bench_row *row = worker->row;
    gsw_status status = run_set(worker, &wanted, &ended);
    if (status != GSW_SUCCESS)
        return status;
    row->wrong |= state->sets > 0 && row->scaled_residual != ended.recurrence;
    row->scaled_residual = ended.recurrence;
    row->iterations = ended.iterations;
    row->residual = ended.residual;
    state->sets++;
    return GSW_SUCCESS;
}

/* ---- Checking ------------------------------------------------------------------------------- */

static int record(void *user, int64_t iteration, double residual) {
    hpcg_state *state = user;
    if (iteration <= CHECKED_MAX)
        state->relative[iteration] = residual;
    state->recorded = iteration + 1;
    return 0;
}

/* The first norms of another set against those of plain loops. Once: all sets are the same. */
static gsw_status check(bench_worker *worker) {
    const bench_case *work = worker->work;
    hpcg_state *state = worker->state;
    gsw_krylov_options wanted = set_of(worker->options);
    gsw_krylov_result ended = {.size = sizeof ended};
    double norms[CHECKED_MAX + 1], error = 0;
    if (state->recorded > 0)
        return GSW_SUCCESS;
    int64_t most = 1 + CHECKED_POINTS / work->rows;
    most = most < CHECKED_MAX ? most : CHECKED_MAX;
    wanted.max_iterations = wanted.max_iterations < most ? wanted.max_iterations : most;
    wanted.monitor = record;
    wanted.monitor_user = state;
    gsw_status status = start(worker);
    if (status == GSW_SUCCESS)
        status = run_set(worker, &wanted, &ended);
    if (status != GSW_SUCCESS)
        return status;
    if (!hpcg_reference_norms(&work->host.grid, wanted.max_iterations, norms))
        return GSW_ERROR_OUT_OF_MEMORY;
    for (int64_t i = 0; i < state->recorded && i <= wanted.max_iterations; i++) {
        const double expected = norms[i] / norms[0];
        error = fmax(error, fabs(state->relative[i] - expected) / expected);
        if (isnan(state->relative[i]))
            error = NAN;
    }
    worker->row->max_rel_error = error;
    return GSW_SUCCESS;
}

/* What an iteration moves on a level, in values per point: SymGS from zero, SymGS after the
 * correction, and the restriction of the residual. An array counts once per pass.
 *
 * CUDA sweeps a packed factor.
 *   SymGS from zero   14 coefficients with b and x, then 13 with x read and written
 *   SymGS             13 with b, x and the residual r, 14 with r read and written, x subtracted
 *                     from r (3), 13 with r read and written, r added to x (3)
 *   restriction       27 on the quarter of the lines that hold coarse points, with b; x from all
 *
 * The CPU sweeps in place, on the level's own arrays. The finest level is stored as a symmetric
 * matrix: its 13 lower arrays are the upper ones, read from the neighbour. The matrices that
 * injection makes have both.
 *   sweep from zero   13 lower couplings, the diagonal's reciprocal and b read, x written
 *   any other sweep   all couplings, the diagonal's reciprocal, b, x read and written
 *   restriction       as on CUDA; the residual of the quarter of the lines is written and read */
typedef struct traffic {
    double zero, step, restriction;
} traffic;

static traffic traffic_of(bool in_place, bool finest) {
    const double sweep = (finest ? 13 : 26) + 4;
    return in_place ? (traffic){16 + sweep, 2 * sweep, 30.0 / 4 + 1}
                    : (traffic){16 + 15, 16 + 16 + 3 + 15 + 3, 28.0 / 4 + 1};
}

/* Bytes of so many iterations. CG takes 27 coefficients with p and A p, and its five vector
 * operations as in krylov.h. The coarse b is written; the correction reads one, and x twice. */
static double moved_bytes(const gsw_grid *finest, bool in_place, double iterations) {
    const double method = 29 + 13;
    double values = 0;
    gsw_grid grid = *finest;
    for (int i = 0; i < HPCG_LEVELS; i++) {
        const traffic t = traffic_of(in_place, i == 0);
        const gsw_grid next = hpcg_coarser(&grid);
        const double n = (double)grid.nx * (double)grid.ny * (double)grid.nz;
        const double coarse = (double)next.nx * (double)next.ny * (double)next.nz;
        values += (i == 0 ? method : 0) * n + t.zero * n;
        if (i + 1 < HPCG_LEVELS)
            values += (t.restriction + t.step) * n + (1 + 3) * coarse;
        grid = next;
    }
    return 8 * values * iterations;
}

static void finish(bench_worker *worker) {
    bench_row *row = worker->row;
    const gsw_grid *grid = &worker->work->host.grid;
    const bool repeated = !row->wrong;
    const double flops = hpcg_flops(grid, row->iterations);
    const double share = OVERHEAD_SHARE * row->setup_ms;
    const bool in_place = gsw_context_backend(worker->context) == GSW_BACKEND_CPU;
    bench_finish_rates(worker, NAN, moved_bytes(grid, in_place, (double)row->iterations));
    row->wrong |= !repeated;
    row->gflops = flops / (row->time.median * 1e6);
    row->rated_gflops = flops / ((row->time.median + share) * 1e6);
}

const bench_task bench_hpcg = {.make = bench_make_problem,
                               .tolerance = NORM_TOLERANCE,
                               .refer = refer,
                               .own = {.open = open_task, .solve = solve, .close = close_task},
                               .start = start,
                               .check = check,
                               .finish = finish,
                               .from_guess = true,
                               .host_clock = true,
                               .repeats = REPEATS};
