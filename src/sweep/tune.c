/* tune.c: measures the shapes of kernels on the device of a context (gridsweep/tune.h).
 *
 * Candidates are timed in turn, so that a change of the machine's speed meets all of them, and the
 * least of several samples counts. A candidate takes the place of the table's shape only where it
 * is faster by GAIN on average over its cases: what differs by less is noise. */
#include <math.h>

#include <gridsweep/factor.h>
#include <gridsweep/matrix.h>

#include "contract/backend.h"
#include "contract/error.h"
#include "core/clock.h"
#include "core/options.h"
#include "core/reserve.h"
#include "core/tuning.h"

/* Shapes that are faster by less than this share count as equally fast. */
#define GAIN 0.03
/* What one grid says about a shape counts as no more than this: it may be a disturbance. */
#define SAYS 0.3
/* The shapes together must not be slower than the table's by more than this on any grid. */
#define LOSS 0.03
/* Seconds that a sample takes at least. */
#define LONG 1e-3
/* After so many seconds nothing more is compared, and the table stays where it is not decided. */
#define ALL_OF_IT 18.0

enum {
    SAMPLES = 11,
    CASES = 10,       /* most grids on which shapes are compared */
    CANDIDATES = 10,  /* most shapes that are compared */
    COPIED = 1 << 24, /* values of a vector that is copied, */
    COPIES = 4        /* so many times for a sample */
};

/* A measurement. */
typedef struct tuner {
    gsw_context *context;
    double end; /* when it must end, by gsw_seconds_now() */
} tuner;

/* A matrix with a factor, and vectors. */
typedef struct trial {
    gsw_context *context;
    int64_t n;
    gsw_factor *factor;
    double *vectors; /* b, x, the couplings' values and the diagonal's */
    int solves;      /* of a sample */
} trial;

typedef struct trial_grid {
    const char *stencil;
    int64_t nx, ny, nz;
} trial_grid;

static void close_trial(trial *t) {
    gsw_factor_destroy(t->factor);
    gsw_unreserve(t->context, t->vectors);
    *t = (trial){0};
}

/* One sample: seconds of a solve with the factor, which is two sweeps. */
static gsw_status time_solves(const trial *t, double *seconds) {
    gsw_context *context = t->context;
    const double *b = t->vectors;
    double *x = t->vectors + t->n;
    GSW_TRY(context->ops->synchronize(context));
    const double begin = gsw_seconds_now();
    for (int i = 0; i < t->solves; i++)
        GSW_TRY(gsw_factor_solve(context, t->factor, 1, b, t->n, x, t->n));
    GSW_TRY(context->ops->synchronize(context));
    *seconds = (gsw_seconds_now() - begin) / t->solves;
    return GSW_SUCCESS;
}

/* All couplings are -1, and the diagonal makes the matrix dominant. */
static gsw_status fill_trial(trial *t, const trial_grid *grid) {
    gsw_context *context = t->context;
    const gsw_grid g = {grid->nx, grid->ny, grid->nz};
    const void *values[GSW_STENCIL_MAX];
    gsw_stencil stencil;
    gsw_matrix matrix;
    double first;
    GSW_TRY(gsw_stencil_named(grid->stencil, &stencil));
    GSW_TRY(gsw_reserve_vector(context, 4 * t->n, &t->vectors));
    for (int k = 0; k < 4; k++) {
        const double content[] = {1, 0, -1, stencil.count};
        GSW_TRY(context->ops->vector->fill(context, t->n, content[k], t->vectors + k * t->n));
    }
    for (int32_t k = 0; k < stencil.count; k++)
        values[k] = t->vectors + (k == stencil.center ? 3 : 2) * t->n;
    const gsw_stencil_array array = {.values = values, .value_type = GSW_F64};
    const gsw_factor_options options = {.size = sizeof options, .kind = GSW_DILU};
    GSW_TRY(gsw_matrix_from_stencil(context, &g, &stencil, &array, &matrix));
    GSW_TRY(gsw_factor_create(context, &matrix, &options, &t->factor));
    t->solves = 1;
    GSW_TRY(time_solves(t, &first)); /* warms up */
    GSW_TRY(time_solves(t, &first));
    if (first < LONG)
        t->solves = (int)fmin(LONG / first + 1, 1000);
    return GSW_SUCCESS;
}

static gsw_status open_trial(const tuner *tune, const trial_grid *grid, trial *t) {
    *t = (trial){.context = tune->context, .n = grid->nx * grid->ny * grid->nz};
    const gsw_status status = fill_trial(t, grid);
    if (status != GSW_SUCCESS)
        close_trial(t);
    return status;
}

/* The least times of a trial with each of the candidates, in turn. */
static gsw_status compare_in(const tuner *tune, const trial *t, const gsw_tuning *candidate,
                             int count, double *least) {
    for (int k = 0; k < count; k++)
        least[k] = INFINITY;
    for (int s = 0; s < SAMPLES && (s == 0 || gsw_seconds_now() < tune->end); s++) {
        for (int k = 0; k < count; k++) {
            double seconds;
            t->context->tuning = candidate[k];
            GSW_TRY(time_solves(t, &seconds));
            least[k] = fmin(least[k], seconds);
        }
    }
    return GSW_SUCCESS;
}

static gsw_status compare(const tuner *tune, const trial_grid *grid, const gsw_tuning *candidate,
                          int count, double *least) {
    trial t;
    GSW_TRY(open_trial(tune, grid, &t));
    const gsw_status status = compare_in(tune, &t, candidate, count, least);
    close_trial(&t);
    return status;
}

/* Takes the candidate that is the fastest on average over the grids; the first one is the table's,
 * and stays where no other one is faster by GAIN. */
static gsw_status take_best(const tuner *tune, const trial_grid *grids, int cases,
                            const gsw_tuning *candidate, int count, gsw_tuning *found) {
    double score[CANDIDATES] = {0};
    int best = 0;
    for (int c = 0; c < cases && gsw_seconds_now() < tune->end; c++) {
        double least[CANDIDATES];
        GSW_TRY(compare(tune, &grids[c], candidate, count, least));
        for (int k = 0; k < count; k++)
            score[k] += fmax(-SAYS, fmin(log(least[k] / least[0]), SAYS)) / cases;
    }
    for (int k = 1; k < count; k++)
        if (score[k] < score[best])
            best = k;
    *found = candidate[score[best] < -GAIN && gsw_seconds_now() < tune->end ? best : 0];
    return GSW_SUCCESS;
}

/* Bytes that a copy reads and writes per second, in MB. */
static gsw_status measure_copy(gsw_context *context, int64_t *mb_s) {
    double *vectors, least = INFINITY;
    gsw_status status = gsw_reserve_vector(context, 2 * (int64_t)COPIED, &vectors);
    if (status == GSW_SUCCESS)
        status = context->ops->vector->fill(context, 2 * (int64_t)COPIED, 1, vectors);
    for (int s = 0; s < SAMPLES && status == GSW_SUCCESS; s++) {
        GSW_TRY_GOTO(context->ops->synchronize(context), cleanup);
        const double begin = gsw_seconds_now();
        for (int i = 0; i < COPIES; i++)
            GSW_TRY_GOTO(context->ops->vector->copy(context, COPIED, vectors, vectors + COPIED),
                         cleanup);
        GSW_TRY_GOTO(context->ops->synchronize(context), cleanup);
        least = fmin(least, (gsw_seconds_now() - begin) / COPIES);
    }
    *mb_s = (int64_t)(2e-6 * sizeof(double) * COPIED / least);
cleanup:
    gsw_unreserve(context, vectors);
    return status;
}

/* ---- the CPU ---- */

/* How closely threads follow each other. */
static gsw_status tune_hand_over(const tuner *tune, gsw_tuning *found) {
    static const trial_grid grids[] = {{"D2N5", 512, 512, 1}, {"D3N7", 32, 32, 32},
                                       {"D3N7", 72, 72, 72},  {"D3N7", 128, 128, 128},
                                       {"D3N27", 32, 32, 32}, {"D3N27", 72, 72, 72}};
    static const int64_t shapes[][2] = {{64, 192}, {64, 64}, {64, 0}, {32, 96}, {32, 32}, {16, 16}};
    enum { SHAPES = sizeof shapes / sizeof *shapes };
    gsw_tuning candidate[SHAPES];
    for (int k = 0; k < SHAPES; k++) {
        candidate[k] = *found;
        candidate[k].sweep_chunk = shapes[k][0];
        candidate[k].sweep_slack = shapes[k][1];
        candidate[k].sweep_grain = candidate[k].sweep_grain_flat = 1; /* all threads */
    }
    gsw_tuning best;
    GSW_TRY(take_best(tune, grids, sizeof grids / sizeof *grids, candidate, SHAPES, &best));
    found->sweep_chunk = best.sweep_chunk;
    found->sweep_slack = best.sweep_slack;
    return GSW_SUCCESS;
}

/* How many points are worth a thread: the same for squares and for cubes. */
static gsw_status tune_grain(const tuner *tune, int flat, gsw_tuning *found) {
    static const int64_t squares[CASES] = {32, 45, 64, 90, 128, 180, 256, 360, 512, 1000};
    static const int64_t cubes[CASES] = {10, 13, 16, 20, 25, 32, 40, 50, 64, 96};
    static const int64_t grains[] = {512, 1024, 2048, 4096, 8192, 16384, 32768, 65536};
    enum { GRAINS = sizeof grains / sizeof *grains };
    trial_grid grids[CASES];
    gsw_tuning candidate[1 + GRAINS] = {*found};
    for (int c = 0; c < CASES; c++) {
        const int64_t side = flat ? squares[c] : cubes[c];
        grids[c] = (trial_grid){flat ? "D2N5" : "D3N7", side, side, flat ? 1 : side};
    }
    for (int k = 1; k <= GRAINS; k++) {
        candidate[k] = *found;
        *(flat ? &candidate[k].sweep_grain_flat : &candidate[k].sweep_grain) = grains[k - 1];
    }
    return take_best(tune, grids, CASES, candidate, 1 + GRAINS, found);
}

/* Goes back to the table where what was found is slower on some grid. */
static gsw_status confirm(const tuner *tune, const gsw_tuning *table, gsw_tuning *found) {
    static const trial_grid grids[] = {{"D2N5", 64, 64, 1},   {"D2N5", 200, 200, 1},
                                       {"D2N5", 600, 600, 1}, {"D3N7", 18, 18, 18},
                                       {"D3N7", 36, 36, 36},  {"D3N7", 100, 100, 100},
                                       {"D3N27", 24, 24, 24}, {"D3N27", 60, 60, 60}};
    const gsw_tuning candidate[2] = {*table, *found};
    for (size_t c = 0; c < sizeof grids / sizeof *grids; c++) {
        double least[2] = {0, 1};
        if (gsw_seconds_now() < tune->end)
            GSW_TRY(compare(tune, &grids[c], candidate, 2, least));
        if (least[1] > (1 + LOSS) * least[0]) {
            *found = *table;
            return GSW_SUCCESS;
        }
    }
    return GSW_SUCCESS;
}

static gsw_status tune_cpu(const tuner *tune, gsw_tuning *found) {
    const gsw_tuning table = *found;
    if (tune->context->threads == 1)
        return GSW_SUCCESS;
    GSW_TRY(tune_hand_over(tune, found));
    GSW_TRY(tune_grain(tune, 0, found));
    GSW_TRY(tune_grain(tune, 1, found));
    return confirm(tune, &table, found);
}

/* ---- CUDA ---- */

static const int64_t LINES = 8; /* of a tile of D3N7, along y and along z */

/* The least time of a sweep of D3N7. */
static gsw_status time_sweep(const tuner *tune, int64_t nx, int64_t ny, double *seconds) {
    const trial_grid grid = {"D3N7", nx, ny, LINES};
    GSW_TRY(compare(tune, &grid, &tune->context->tuning, 1, seconds));
    *seconds /= 2;
    return GSW_SUCCESS;
}

/* A single pencil that gets longer gives the step; a row that gets more pencils, the hand-over and
 * the steps that the next pencil stays behind. Lines are longer than the grid is wide, so that they
 * lie along x. */
static gsw_status measure_steps(const tuner *tune, gsw_tuning *found) {
    enum { SHORTER = 4096, LONGER = 12288, FEW = 16, MANY = 80 };
    double few, many;
    GSW_TRY(time_sweep(tune, SHORTER, LINES, &few));
    GSW_TRY(time_sweep(tune, LONGER, LINES, &many));
    const double step = (many - few) / (LONGER - SHORTER);
    GSW_TRY(time_sweep(tune, SHORTER / 4, FEW * LINES, &few));
    GSW_TRY(time_sweep(tune, SHORTER / 4, MANY * LINES, &many));
    const double hop = (many - few) / (MANY - FEW), hand_over = hop - (double)LINES * step;
    found->step_ps = (int64_t)fmax(1e12 * step, 0);
    found->hand_over_ns = (int64_t)fmax(1e9 * hand_over, 0);
    return GSW_SUCCESS;
}

static gsw_status tune_cuda(const tuner *tune, gsw_tuning *found) {
    /* Grids of more pencils than a device has multiprocessors, usually: the others ignore it. */
    static const trial_grid grids[] = {{"D3N7", 128, 128, 128},
                                       {"D3N7", 192, 192, 192},
                                       {"D3N7", 512, 100, 100},
                                       {"D3N27", 128, 128, 128},
                                       {"D3N27", 300, 100, 60}};
    static const int64_t shapes[] = {40, 0, 20, INT32_MAX};
    enum { SHAPES = sizeof shapes / sizeof *shapes };
    gsw_tuning candidate[SHAPES];
    GSW_TRY(measure_steps(tune, found));
    for (int k = 0; k < SHAPES; k++) {
        candidate[k] = *found;
        candidate[k].polled_chunks = shapes[k];
    }
    return take_best(tune, grids, sizeof grids / sizeof *grids, candidate, SHAPES, found);
}

/* ---- all of it ---- */

gsw_status gsw_tune(gsw_context *context, gsw_tuning *result) {
    GSW_REQUIRE(context, context != NULL, "context is NULL");
    GSW_TRY(gsw_result_check(context, "gsw_tuning", result));
    const gsw_tuning before = context->tuning;
    const tuner tune = {context, gsw_seconds_now() + ALL_OF_IT};
    const int alone = context->backend != GSW_BACKEND_CUDA && context->threads == 1;
    gsw_tuning found = alone ? before : gsw_tuning_table; /* one thread says nothing about shapes */
    context->tuning = found;
    gsw_status status = GSW_SUCCESS;
    if (!alone || before.copy_mb_s == 0) /* an earlier one may be that of more threads */
        status = measure_copy(context, &found.copy_mb_s);
    if (status == GSW_SUCCESS)
        status = context->backend == GSW_BACKEND_CUDA ? tune_cuda(&tune, &found)
                                                      : tune_cpu(&tune, &found);
    context->tuning = status == GSW_SUCCESS ? found : before;
    GSW_TRY(status);
    context->tuning.source = GSW_TUNING_NOW;
    gsw_result_give(result, &context->tuning, sizeof context->tuning);
    return gsw_tuning_save(context);
}
