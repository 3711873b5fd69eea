/* soak.c: very many solves of random systems. Their bits must never change.
 *
 * Several threads work at once. Each has its own context, with CUDA its own stream. It makes a
 * case: a grid, a stencil, a matrix in some layout, and a factor, a direct sweep or a multigrid
 * cycle. The first result is compared with the serial reference, or for multigrid with the CPU
 * backend of one thread. Then the solve is repeated hundreds of times, in batches: as before, in
 * place, sweep by sweep, and from a CUDA graph. Other kernels occupy the device meanwhile. All
 * results must have the bits of the first one, and nothing beside them may be written.
 *
 * tests/soak.sh builds and runs this program. `soak --help` lists the options. The exit code is 0
 * if no solve was wrong, failed, or hung, and no memory was lost; 1 otherwise; 2 after bad usage;
 * 77 where no device answers. */
#define _GNU_SOURCE /* fopencookie */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <gridsweep/gridsweep.h>
#include <gridsweep/memory.h>

#include "core/clock.h"
#include "factor_truth.h"
#include "fault_memory.h"
#include "oracle.h"
#include "soak_device.h"

enum {
    MOST_CONTEXTS = 16,
    MOST_COLUMNS = 9,
    MOST_SLOTS = 64,        /* results of a batch, */
    MOST_CYCLES = 8,        /* of multigrid, whose graphs have many nodes */
    BATCH_BYTES = 4 << 20,  /* of these results, about */
    CASES_OF_A_CONTEXT = 8, /* then it is made anew */
    HANG_SECONDS = 120,     /* without any batch: the host hangs */
    SKIPPED = 77
};

/* ---- Options and totals ---------------------------------------------------------------------- */

static struct {
    int64_t solves; /* 0: as many as fit in the minutes; -1: the default */
    double minutes;
    gsw_backend backend;
    uint64_t seed;
    int threads, contexts, occupy;
    long only; /* the one case to run, or -1 */
} wanted = {.solves = -1, .seed = 1, .occupy = 1, .only = -1};

static struct {
    atomic_long next;    /* number of the next case */
    atomic_long target;  /* solves at which this part of the run ends */
    atomic_long batches; /* of all threads: shows that something moves */
    atomic_long running;
    atomic_long solves, vectors, cases, refused, in_place, swept, graphs;
    atomic_long factors, direct, cycles;
    atomic_long hangs, different, wrong, failed;
} total;

static double started;

static int is_over(void) {
    return wanted.solves > 0 ? atomic_load(&total.solves) >= atomic_load(&total.target)
                             : gsw_seconds_now() - started >= 60 * wanted.minutes;
}

/* ---- A case ---------------------------------------------------------------------------------- */

typedef enum what { FACTOR, DIRECT, CYCLE } what;
typedef enum way { AS_BEFORE, IN_PLACE, SWEEP_BY_SWEEP, FROM_GRAPH } way;

typedef struct scene {
    long number;
    uint64_t random;
    what what;
    gsw_grid grid;
    gsw_stencil stencil;
    int layout;
    gsw_factor_options factor_options;
    gsw_sptrsv_options direct;
    gsw_multigrid_options cycle;
    char problem_text[64];

    gsw_context *context;
    void *stream;
    oracle_matrix *matrix, *upper; /* upper: kind LU only */
    gsw_problem *problem;
    gsw_matrix there, upper_there;
    gsw_factor *factor;
    gsw_multigrid *multigrid;
    soak_graph graph;
    int graph_in_place;

    gsw_dtype type; /* of the vectors */
    int64_t n, columns, ld, slots;
    size_t slot; /* bytes of a result */
    char *b, *first, *host;
    void *b_there, *x_there;
} scene;

static void describe(const scene *s, char *text, size_t size) {
    const int direct = s->what == DIRECT;
    const char *kind = direct             ? gsw_algorithm_name(s->direct.algorithm)
                       : s->what == CYCLE ? gsw_smoother_name(s->cycle.smoother)
                                          : gsw_factor_kind_name(s->factor_options.kind);
    snprintf(text, size,
             "%s %s, %" PRId64 "x%" PRId64 "x%" PRId64 ", %s, layout %d, %s, %d columns",
             s->what == FACTOR ? "factor"
             : direct          ? "direct"
                               : s->problem_text,
             kind, s->grid.nx, s->grid.ny, s->grid.nz, gsw_stencil_name(&s->stencil), s->layout,
             s->type == GSW_F64 ? "f64" : "f32", (int)s->columns);
}

__attribute__((format(printf, 2, 3))) static void complain(const scene *s, const char *format,
                                                           ...) {
    static atomic_int complaints;
    char what_is[200], text[300];
    va_list rest;
    if (atomic_fetch_add(&complaints, 1) >= 40)
        return;
    va_start(rest, format);
    vsnprintf(text, sizeof text, format, rest);
    va_end(rest);
    describe(s, what_is, sizeof what_is);
    printf("case %ld (%s): %s\n", s->number, what_is, text);
}

/* Counts a status that is not success. */
static void count_failure(const scene *s, gsw_status status, const char *when) {
    atomic_fetch_add(status == GSW_ERROR_TIMEOUT ? &total.hangs : &total.failed, 1);
    complain(s, "%s: %s: %s", when, gsw_status_name(status), gsw_context_message(s->context));
}

/* ---- What is drawn --------------------------------------------------------------------------- */

static gsw_grid draw_grid(uint64_t *random) {
    static const int64_t extents[] = {1,  1,  2,  3,  4,  5,  7,  8,  9,  11, 13,
                                      16, 17, 19, 23, 29, 31, 37, 64, 97, 131};
    enum { EXTENTS = sizeof extents / sizeof *extents };
    /* A CPU uses several threads on larger grids only. */
    const int large = draw(random, wanted.backend == GSW_BACKEND_CPU ? 2 : 25) == 0;
    const int64_t most = large ? 40000 : 4000;
    gsw_grid g = {0};
    do {
        g.nx = extents[draw(random, EXTENTS)];
        g.ny = extents[draw(random, EXTENTS)];
        g.nz = draw(random, 3) == 0 ? 1 : extents[draw(random, EXTENTS)];
    } while (oracle_points(&g) > most || (large && oracle_points(&g) < 4000));
    return g;
}

static int holds(const gsw_offset *offsets, int32_t count, gsw_offset o) {
    for (int32_t e = 0; e < count; e++)
        if (offsets[e].dx == o.dx && offsets[e].dy == o.dy && offsets[e].dz == o.dz)
            return 1;
    return 0;
}

/* Offsets of up to 2 along x and 1 along the others; half of these stencils are symmetric. */
static gsw_stencil draw_offsets(uint64_t *random) {
    gsw_offset offsets[1 + 2 * 9] = {{0, 0, 0}};
    gsw_stencil stencil;
    int32_t count = 1;
    const int mirrored = (int)draw(random, 2), tries = 1 + (int)draw(random, 9);
    for (int i = 0; i < tries; i++) {
        const gsw_offset o = {(int32_t)draw(random, 5) - 2, (int32_t)draw(random, 3) - 1,
                              (int32_t)draw(random, 3) - 1};
        const gsw_offset mirror = {-o.dx, -o.dy, -o.dz};
        if (!holds(offsets, count, o))
            offsets[count++] = o;
        if (mirrored && !holds(offsets, count, mirror))
            offsets[count++] = mirror;
    }
    if (gsw_stencil_from_offsets(offsets, count, &stencil) != GSW_SUCCESS)
        abort();
    return stencil;
}

static const oracle_layout layouts[] = {
    {.format = GSW_FORMAT_STENCIL},
    {.format = GSW_FORMAT_CSR, .index_type = GSW_I32},
    {.format = GSW_FORMAT_CSR, .index_type = GSW_I64, .base = 1},
    {.format = GSW_FORMAT_CSR, .index_type = GSW_I32, .base = 1, .missing = 4},
};
enum { LAYOUTS = sizeof layouts / sizeof *layouts };

static void draw_factor(scene *s) {
    do
        s->layout = (int)draw(&s->random, LAYOUTS);
    while (!options_at((int)draw(&s->random, OPTIONS), (int)draw(&s->random, TYPES), &s->stencil,
                       &s->factor_options));
    s->type = s->factor_options.vector_type;
}

static void draw_direct(scene *s) {
    const int type = (int)draw(&s->random, TYPES);
    s->layout = (int)draw(&s->random, LAYOUTS);
    s->direct = (gsw_sptrsv_options){.size = sizeof s->direct,
                                     .part = draw(&s->random, 2) ? GSW_UPPER : GSW_LOWER,
                                     .transpose = (int)draw(&s->random, 2),
                                     .unit_diagonal = (int)draw(&s->random, 2),
                                     .vector_type = types[type].vector,
                                     .algorithm = draw(&s->random, 6) ? GSW_ALGORITHM_LINE
                                                                      : GSW_ALGORITHM_PENCIL};
    s->factor_options.factor_type = types[type].factor; /* of the matrix */
    s->type = types[type].vector;
}

static void draw_cycle(scene *s) {
    static const char *const problems[] = {"poisson", "convection", "lognormal",
                                           "hpcg",    "random:3",   "anisotropic"};
    s->cycle = (gsw_multigrid_options){
        .size = sizeof s->cycle,
        .smoother = (gsw_smoother)(1 + draw(&s->random, 7)), /* AUTO depends on the backend */
        .cycle = (gsw_cycle)draw(&s->random, 3),
        .pre_sweeps = 1 + (int)draw(&s->random, 2),
        .cycle_type = draw(&s->random, 2) ? GSW_F32 : GSW_F64,
        .coarsest_points = 10 + draw(&s->random, 200),
        .interpolation =
            draw(&s->random, 4) ? GSW_INTERPOLATION_BLACK_BOX : GSW_INTERPOLATION_INJECTION};
    s->cycle.post_sweeps = s->cycle.pre_sweeps;
    s->type = GSW_F64;
    s->columns = 1;
    snprintf(s->problem_text, sizeof s->problem_text, "%s:%" PRId64 "x%" PRId64 "x%" PRId64,
             problems[draw(&s->random, 6)], s->grid.nx, s->grid.ny, s->grid.nz);
}

static void draw_scene(scene *s, long number, gsw_context *context, void *stream) {
    memset(s, 0, sizeof *s);
    s->number = number;
    s->random = wanted.seed * UINT64_C(1000003) + (uint64_t)number;
    s->context = context;
    s->stream = stream;
    s->grid = draw_grid(&s->random);
    s->stencil = draw(&s->random, 4) == 0
                     ? draw_offsets(&s->random)
                     : *oracle_stencil((int)draw(&s->random, oracle_stencil_count()), NULL);
    s->columns = draw(&s->random, 2) ? 1 : 1 + draw(&s->random, MOST_COLUMNS);
    s->what = (what)(draw(&s->random, 8) * 3 / 8); /* 3 : 3 : 2 */
    if (s->what == FACTOR)
        draw_factor(s);
    else if (s->what == DIRECT)
        draw_direct(s);
    else
        draw_cycle(s);
    s->n = oracle_points(&s->grid);
    s->ld = s->n + draw(&s->random, 4);
    s->slot = (size_t)(s->ld * s->columns) * gsw_dtype_size(s->type);
    s->slots = (int64_t)(BATCH_BYTES / s->slot);
    const int64_t most = s->what == CYCLE ? MOST_CYCLES : MOST_SLOTS;
    s->slots = s->slots < 4 ? 4 : s->slots > most ? most : s->slots;
}

/* ---- Making a case, and freeing it ----------------------------------------------------------- */

static oracle_matrix *make_matrix(const scene *s, uint64_t seed) {
    oracle_layout layout = layouts[s->layout];
    layout.value_type = s->factor_options.factor_type;
    const int positive = s->what == FACTOR && s->factor_options.kind == GSW_IC0;
    oracle_matrix *arrays =
        oracle_random(&s->grid, &s->stencil, seed, positive ? ORACLE_POSITIVE : ORACLE_ANY_SIGN);
    oracle_matrix *stored = oracle_convert(arrays, &layout);
    oracle_free(arrays);
    return stored;
}

/* Creates the factor or the hierarchy. */
static gsw_status make_solver(scene *s) {
    gsw_context *c = s->context;
    gsw_status status;
    if (s->what == CYCLE) {
        status = gsw_problem_parse(c, s->problem_text, NULL, &s->problem);
        if (status != GSW_SUCCESS)
            return status;
        s->stencil = gsw_problem_matrix(s->problem)->stencil;
        status = gsw_matrix_upload(c, gsw_problem_matrix(s->problem), &s->there);
        return status != GSW_SUCCESS ? status
                                     : gsw_multigrid_create(c, &s->there, &s->cycle, &s->multigrid);
    }
    s->matrix = make_matrix(s, (uint64_t)s->number + 1);
    status = gsw_matrix_upload(c, &s->matrix->view, &s->there);
    if (status != GSW_SUCCESS || s->what == DIRECT)
        return status;
    if (s->factor_options.kind != GSW_FACTOR_LU)
        return gsw_factor_create(c, &s->there, &s->factor_options, &s->factor);
    s->upper = make_matrix(s, (uint64_t)s->number + 77);
    status = gsw_matrix_upload(c, &s->upper->view, &s->upper_there);
    return status != GSW_SUCCESS ? status
                                 : gsw_factor_create_lu(c, &s->there, &s->upper_there,
                                                        &s->factor_options, &s->factor);
}

/* Copies a right-hand side with its gaps into a result's place. */
static gsw_status make_vectors(scene *s) {
    gsw_status status;
    s->b = oracle_vector(s->type, (uint64_t)s->number + 5, s->ld * s->columns);
    for (int64_t r = 0; r < s->columns; r++) { /* gaps of NaNs */
        const size_t begin = (size_t)(r * s->ld + s->n) * gsw_dtype_size(s->type);
        memset(s->b + begin, 0xff, (size_t)(s->ld - s->n) * gsw_dtype_size(s->type));
    }
    s->first = malloc(s->slot);
    s->host = malloc(s->slot * (size_t)s->slots);
    if (s->first == NULL || s->host == NULL)
        abort();
    status = gsw_memory_alloc(s->context, s->slot, &s->b_there);
    if (status == GSW_SUCCESS)
        status = gsw_memory_alloc(s->context, s->slot * (size_t)s->slots, &s->x_there);
    return status != GSW_SUCCESS ? status
                                 : gsw_memory_upload(s->context, s->b_there, s->b, s->slot);
}

static void free_scene(scene *s) {
    soak_graph_free(s->graph);
    gsw_memory_free(s->context, s->x_there);
    gsw_memory_free(s->context, s->b_there);
    free(s->host);
    free(s->first);
    free(s->b);
    gsw_multigrid_destroy(s->multigrid);
    gsw_factor_destroy(s->factor);
    gsw_matrix_release(s->context, &s->upper_there);
    gsw_matrix_release(s->context, &s->there);
    oracle_free(s->upper);
    oracle_free(s->matrix);
    gsw_problem_destroy(s->problem);
}

/* ---- Solving --------------------------------------------------------------------------------- */

/* Queues one solve into a place of the batch. */
static gsw_status queue_solve(scene *s, int64_t slot, way how) {
    void *x = (char *)s->x_there + (size_t)slot * s->slot;
    const void *b = how == IN_PLACE ? x : s->b_there;
    gsw_status status = GSW_SUCCESS;
    if (s->what == DIRECT)
        return gsw_sptrsv(s->context, &s->there, &s->direct, s->columns, b, s->ld, x, s->ld);
    if (s->what == CYCLE)
        return gsw_multigrid_apply(s->context, s->multigrid, b, x);
    const int sweeps = gsw_factor_sweeps(s->factor);
    if (how != SWEEP_BY_SWEEP || sweeps == 0)
        return gsw_factor_solve(s->context, s->factor, s->columns, b, s->ld, x, s->ld);
    for (int k = 0; k < sweeps && status == GSW_SUCCESS; k++)
        status =
            gsw_factor_sweep(s->context, s->factor, k, s->columns, k == 0 ? b : x, s->ld, x, s->ld);
    return status;
}

static int is_in_place(const scene *s, way how) {
    return how == IN_PLACE || (how == FROM_GRAPH && s->graph_in_place);
}

/* Solves into all places and copies them to the host. */
static gsw_status solve_batch(scene *s, int64_t slots, way how) {
    const size_t bytes = s->slot * (size_t)slots;
    gsw_status status;
    if (is_in_place(s, how)) {
        for (int64_t k = 0; k < slots; k++)
            memcpy(s->host + (size_t)k * s->slot, s->b, s->slot);
        status = gsw_memory_upload(s->context, s->x_there, s->host, bytes);
    } else {
        status = gsw_memory_set(s->context, s->x_there, 0xff, bytes);
    }
    if (how == FROM_GRAPH && status == GSW_SUCCESS)
        status = soak_graph_launch(s->graph, s->stream) ? GSW_SUCCESS : GSW_ERROR_DEVICE;
    for (int64_t k = 0; k < slots && how != FROM_GRAPH && status == GSW_SUCCESS; k++)
        status = queue_solve(s, k, how);
    const gsw_status waited = gsw_memory_download(s->context, s->host, s->x_there, bytes);
    return status != GSW_SUCCESS ? status : waited;
}

/* Captures a batch. Returns 0 where that is impossible: this is no CUDA, or the default stream. */
static int capture_batch(scene *s) {
    gsw_status status = GSW_SUCCESS;
    s->graph_in_place = (int)draw(&s->random, 2);
    if ((s->what == DIRECT && s->direct.algorithm == GSW_ALGORITHM_PENCIL) ||
        !soak_graph_begin(s->stream))
        return 0;
    for (int64_t k = 0; k < s->slots && status == GSW_SUCCESS; k++)
        status = queue_solve(s, k, s->graph_in_place ? IN_PLACE : AS_BEFORE);
    if (soak_graph_end(s->stream, &s->graph) && status == GSW_SUCCESS)
        return 1;
    count_failure(s, status == GSW_SUCCESS ? GSW_ERROR_DEVICE : status, "capturing a graph");
    return 0;
}

/* A batch, compared with the first result. Returns 0 where the case must end. */
static int check_batch(scene *s, int64_t slots, way how) {
    static const char *const names[] = {"as before", "in place", "sweep by sweep", "from a graph"};
    const gsw_status status = solve_batch(s, slots, how);
    atomic_fetch_add(&total.batches, 1);
    if (status != GSW_SUCCESS) {
        count_failure(s, status, names[how]);
        return 0;
    }
    long different = 0;
    for (int64_t k = 0; k < slots; k++)
        different += memcmp(s->host + (size_t)k * s->slot, s->first, s->slot) != 0;
    if (different > 0)
        complain(s, "%ld of %d results %s have other bits", different, (int)slots, names[how]);
    atomic_fetch_add(&total.different, different);
    atomic_fetch_add(&total.solves, slots);
    atomic_fetch_add(&total.vectors, slots * s->columns);
    atomic_long *const counters[] = {NULL, &total.in_place, &total.swept, &total.graphs};
    if (counters[how] != NULL)
        atomic_fetch_add(counters[how], slots);
    return different == 0;
}

/* ---- The first result ------------------------------------------------------------------------ */

/* The cycle on one thread of the CPU, into `x`. */
static gsw_status cycle_on_cpu(const scene *s, double *x) {
    gsw_context *cpu = oracle_context(1);
    gsw_multigrid *mg = NULL;
    gsw_status status = gsw_multigrid_create(cpu, gsw_problem_matrix(s->problem), &s->cycle, &mg);
    if (status == GSW_SUCCESS)
        status = gsw_multigrid_apply(cpu, mg, (const double *)s->b, x);
    gsw_multigrid_destroy(mg);
    gsw_context_destroy(cpu);
    return status;
}

/* Cycles of the same backend have the same bits. The backends differ by rounding, which the coarse
 * problems enlarge. With ILU(0) they may differ more: CUDA extends coarse stencils, so its factors
 * hold more. */
static double cycle_tolerance(const scene *s) {
    if (gsw_context_backend(s->context) == GSW_BACKEND_CPU)
        return 0;
    if (s->cycle.smoother == GSW_SMOOTHER_ILU0)
        return 2;
    return s->cycle.cycle_type == GSW_F32 ? 2e-2 : 1e-8;
}

/* The serial reference of the other cases. */
static factor_truth *reference_of(const scene *s) {
    if (s->what == FACTOR)
        return expect(&s->factor_options, &s->matrix->view,
                      s->upper != NULL ? &s->upper->view : NULL);
    factor_truth *m = calloc(1, sizeof *m);
    if (m == NULL)
        abort();
    m->sweeps[0] =
        (sweep){&s->matrix->view, s->direct.part, s->direct.transpose, s->direct.unit_diagonal};
    m->count = 1;
    return m;
}

/* Largest error of the first result, over the tolerance. */
static double first_error(const scene *s) {
    const size_t value = gsw_dtype_size(s->type);
    double *truth = oracle_vector(GSW_F64, 1, s->n), *found = oracle_vector(GSW_F64, 1, s->n);
    double worst = 0, tolerance = cycle_tolerance(s);
    factor_truth *m = s->what == CYCLE ? NULL : reference_of(s);
    if (m != NULL)
        tolerance = s->factor_options.factor_type == GSW_F32 ? 1e-5 : oracle_tolerance(s->type);
    for (int64_t r = 0; r < s->columns; r++) {
        const size_t begin = (size_t)(r * s->ld) * value;
        for (int64_t i = 0; i < s->n; i++) {
            truth[i] = oracle_get(s->type, s->b + begin, i);
            found[i] = oracle_get(s->type, s->first + begin, i);
        }
        if (m != NULL)
            expected_solve(m, truth, truth);
        else if (cycle_on_cpu(s, truth) != GSW_SUCCESS)
            worst = INFINITY;
        const double error = oracle_error(GSW_F64, s->n, found, truth);
        const double ratio = error == 0 ? 0 : error / tolerance;
        worst = ratio > worst ? ratio : worst;
    }
    if (m != NULL)
        expected_free(m);
    free(found);
    free(truth);
    return worst;
}

/* Solves for the first time. Returns 0 where the result is wrong or there is none. */
static int solve_first(scene *s) {
    const gsw_status status = solve_batch(s, 1, AS_BEFORE);
    atomic_fetch_add(&total.batches, 1);
    if (status != GSW_SUCCESS) {
        count_failure(s, status, "the first solve");
        return 0;
    }
    memcpy(s->first, s->host, s->slot);
    atomic_fetch_add(&total.solves, 1);
    atomic_fetch_add(&total.vectors, s->columns);
    for (int64_t r = 0; r < s->columns; r++) {
        const size_t begin = (size_t)(r * s->ld + s->n) * gsw_dtype_size(s->type),
                     size = (size_t)(s->ld - s->n) * gsw_dtype_size(s->type);
        if (size > 0 && memcmp(s->first + begin, s->b + begin, size) != 0) {
            atomic_fetch_add(&total.wrong, 1);
            complain(s, "the gap after column %d was written", (int)r);
            return 0;
        }
    }
    const double error = first_error(s);
    if (error <= 1)
        return 1;
    atomic_fetch_add(&total.wrong, 1);
    complain(s, "the first result: %g times the allowed error", error);
    return 0;
}

/* ---- A run of one case ----------------------------------------------------------------------- */

/* The same values again. */
static int refactor(scene *s) {
    gsw_status status = GSW_SUCCESS;
    if (s->what == FACTOR)
        status = gsw_factor_refactor(s->context, s->factor, &s->there,
                                     s->upper != NULL ? &s->upper_there : NULL);
    else if (s->what == CYCLE)
        status = gsw_multigrid_refactor(s->context, s->multigrid, &s->there);
    if (status != GSW_SUCCESS)
        count_failure(s, status, "new values");
    return status == GSW_SUCCESS;
}

/* How many solves a case is worth: fewer where one takes long. */
static int64_t repeats_of(scene *s) {
    const int64_t repeats = 200 + draw(&s->random, 1000);
    const int packs = s->what == DIRECT && s->direct.algorithm == GSW_ALGORITHM_PENCIL;
    return repeats / (packs || s->n > 4000 ? 5 : s->what == CYCLE ? 3 : 1);
}

static void repeat_solves(scene *s) {
    int64_t left = repeats_of(s);
    const int captured = capture_batch(s);
    for (int batch = 0; left > 0 && !is_over(); batch++) {
        way how = (way)draw(&s->random, captured ? 5 : 3);
        how = how > FROM_GRAPH ? FROM_GRAPH : how;
        /* Sweeps take another number of blocks; a graph keeps those that it was captured with. */
        static const int blocks[] = {0, 0, 1, 2, 3, 7, 1000};
        soak_hooks(s->context, blocks[draw(&s->random, 7)]);
        if ((batch % 5 == 4 && !refactor(s)) || !check_batch(s, s->slots, how))
            return;
        left -= s->slots;
    }
}

static void run_case(long number, gsw_context *context, void *stream) {
    scene s;
    draw_scene(&s, number, context, stream);
    soak_hooks(context, 0);
    gsw_status status = make_solver(&s);
    atomic_fetch_add(&total.cases, 1);
    if (status == GSW_ERROR_UNSUPPORTED) {
        atomic_fetch_add(&total.refused, 1);
    } else {
        if (status == GSW_SUCCESS)
            status = make_vectors(&s);
        if (status != GSW_SUCCESS)
            count_failure(&s, status, "making the case");
        else if (solve_first(&s))
            repeat_solves(&s);
        atomic_long *const counters[] = {&total.factors, &total.direct, &total.cycles};
        atomic_fetch_add(counters[s.what], 1);
    }
    free_scene(&s);
}

/* ---- Threads --------------------------------------------------------------------------------- */

/* Context number `which`. One in eight is on the default stream. */
static gsw_context *open_context(int which, void **stream) {
    const int each = wanted.threads / wanted.contexts;
    gsw_context_options options = {
        .size = sizeof options, .backend = wanted.backend, .threads = each > 0 ? each : 1};
    gsw_context *context = NULL;
    *stream = NULL;
    if (wanted.backend == GSW_BACKEND_CUDA && which % 8 != 7 && !soak_stream_open(stream))
        return NULL;
    options.stream = *stream;
    if (gsw_context_create(&options, &context) != GSW_SUCCESS)
        printf("no context: %s\n", gsw_context_message(NULL));
    return context;
}

static void *work(void *argument) {
    static atomic_int made;
    (void)argument;
    while (!is_over()) {
        void *stream;
        gsw_context *context = open_context(atomic_fetch_add(&made, 1), &stream);
        if (context == NULL) {
            atomic_fetch_add(&total.failed, 1);
            soak_stream_close(stream);
            break;
        }
        for (int i = 0; i < CASES_OF_A_CONTEXT && !is_over(); i++)
            run_case(atomic_fetch_add(&total.next, 1), context, stream);
        gsw_context_destroy(context);
        soak_stream_close(stream);
    }
    atomic_fetch_sub(&total.running, 1);
    return NULL;
}

/* Runs all threads until `target` solves are made. Returns 0 where the host hangs. */
static int run_until(int64_t target) {
    pthread_t threads[MOST_CONTEXTS];
    long seen = -1;
    double moved = gsw_seconds_now();
    atomic_store(&total.target, target);
    atomic_store(&total.running, wanted.contexts);
    for (int i = 0; i < wanted.contexts; i++)
        if (pthread_create(&threads[i], NULL, work, NULL) != 0)
            abort();
    while (atomic_load(&total.running) > 0) {
        const long batches = atomic_load(&total.batches) + atomic_load(&total.cases);
        if (batches != seen) {
            seen = batches;
            moved = gsw_seconds_now();
        } else if (gsw_seconds_now() - moved > HANG_SECONDS) {
            return 0;
        }
        soak_pause(20000);
    }
    for (int i = 0; i < wanted.contexts; i++)
        pthread_join(threads[i], NULL);
    return 1;
}

/* ---- The report ------------------------------------------------------------------------------ */

typedef struct memory {
    int64_t device_free;
    long device_live, host_live, host_bytes;
} memory;

static memory measure(void) {
    const int cuda = wanted.backend == GSW_BACKEND_CUDA;
    return (memory){.device_free = cuda ? soak_free_bytes() : 0,
                    .device_live = soak_device_live(),
                    .host_live = atomic_load(&fault.live),
                    .host_bytes = atomic_load(&fault.bytes)};
}

static void row(const char *name, const atomic_long *count) {
    printf("%-32s %12ld\n", name, atomic_load(count));
}

/* Prints the table. Returns what is wrong with the memory. */
static int report(const memory *before, const memory *after, const occupier *others) {
    static const char *const lost = "%-32s %12" PRId64 " %12" PRId64 " %12" PRId64 "\n";
    row("solves", &total.solves);
    row("  from graphs", &total.graphs);
    row("  in place", &total.in_place);
    row("  sweep by sweep", &total.swept);
    row("right-hand sides", &total.vectors);
    row("cases: factors", &total.factors);
    row("cases: direct sweeps", &total.direct);
    row("cases: multigrid cycles", &total.cycles);
    row("cases: not supported", &total.refused);
    for (int k = 0; k < 6 && others->runs[5] > 0; k++)
        printf("occupied to %3.0f %%: times %8s %12ld\n", 100 * occupied_fractions[k], "",
               others->runs[k]);
    printf("%-32s %12.1f\n", "seconds", gsw_seconds_now() - started);
    row("hangs", &total.hangs);
    row("differing results", &total.different);
    row("wrong first results", &total.wrong);
    row("other errors", &total.failed);
    printf("%-32s %12s %12s %12s\n", "memory", "before", "after", "lost");
    printf(lost, "host allocations", (int64_t)before->host_live, (int64_t)after->host_live,
           (int64_t)(after->host_live - before->host_live));
    printf(lost, "host bytes", (int64_t)before->host_bytes, (int64_t)after->host_bytes,
           (int64_t)(after->host_bytes - before->host_bytes));
    if (wanted.backend == GSW_BACKEND_CUDA) {
        printf(lost, "device allocations", (int64_t)before->device_live,
               (int64_t)after->device_live, (int64_t)(after->device_live - before->device_live));
        printf(lost, "device bytes, free (driver)", before->device_free, after->device_free,
               before->device_free - after->device_free);
    }
    /* What the driver keeps for itself grows by megabytes, and not with the number of solves. */
    enum { KEPT_BY_DRIVER = 64 << 20 };
    return after->host_live > before->host_live || after->host_bytes > before->host_bytes ||
           after->device_live > before->device_live ||
           after->device_free < before->device_free - KEPT_BY_DRIVER;
}

static int bad_counts(void) {
    return atomic_load(&total.hangs) + atomic_load(&total.different) + atomic_load(&total.wrong) +
               atomic_load(&total.failed) >
           0;
}

/* ---- The program ----------------------------------------------------------------------------- */

static const char help[] =
    "soak [OPTION...]: repeats random solves and compares their bits\n"
    "  --solves N          ends after N solves (100000; with CUDA 1000000)\n"
    "  --minutes M         ends after M minutes instead\n"
    "  --backend cpu|cuda  (cuda if a device answers)\n"
    "  --seed S            other cases (1)\n"
    "  --threads T         threads of the CPU backend, all contexts together (twice the cores)\n"
    "  --contexts C        contexts at work at once, at most 16 (2; with CUDA 6)\n"
    "  --case N            only this case\n"
    "  --no-occupy         no other kernels on the device\n";

static int bad_usage(const char *option) {
    fprintf(stderr, "soak: bad option or value: %s\n%s", option, help);
    return 2;
}

static int parse_value(const char *name, const char *value) {
    char *end;
    errno = 0;
    if (strcmp(name, "--backend") == 0) {
        wanted.backend = strcmp(value, "cuda") == 0 ? GSW_BACKEND_CUDA : GSW_BACKEND_CPU;
        return strcmp(value, gsw_backend_name(wanted.backend)) == 0;
    }
    const double number = strtod(value, &end);
    if (*end != '\0' || end == value || errno != 0 || !(number >= 0 && number <= 1e12))
        return 0;
    if (strcmp(name, "--solves") == 0)
        wanted.solves = (int64_t)number;
    else if (strcmp(name, "--minutes") == 0)
        wanted.minutes = number;
    else if (strcmp(name, "--seed") == 0)
        wanted.seed = (uint64_t)number;
    else if (strcmp(name, "--threads") == 0)
        wanted.threads = (int)fmin(number, 10000);
    else if (strcmp(name, "--contexts") == 0)
        wanted.contexts = (int)fmin(number, 10000);
    else if (strcmp(name, "--case") == 0)
        wanted.only = (long)number;
    else
        return 0;
    return number > 0 || strcmp(name, "--case") == 0 || strcmp(name, "--seed") == 0;
}

static int parse(int count, char **arguments) {
    for (int i = 1; i < count; i++) {
        if (strcmp(arguments[i], "--no-occupy") == 0) {
            wanted.occupy = 0;
            continue;
        }
        if (i + 1 == count || !parse_value(arguments[i], arguments[i + 1]))
            return bad_usage(arguments[i]);
        i++;
    }
    if (wanted.minutes > 0)
        wanted.solves = 0;
    if (wanted.threads == 0)
        wanted.threads = 2 * (int)sysconf(_SC_NPROCESSORS_ONLN);
    return wanted.contexts <= MOST_CONTEXTS ? 0 : bad_usage("--contexts");
}

/* Opens a context to see what there is. Returns 0, or an exit code. */
static int look(void) {
    const gsw_context_options options = {.size = sizeof options, .backend = wanted.backend};
    gsw_context *context = NULL;
    const gsw_status status = gsw_context_create(&options, &context);
    if (status != GSW_SUCCESS) {
        printf("%s: %s\n", status == GSW_ERROR_NO_BACKEND ? "skipped" : "failed",
               gsw_context_message(NULL));
        return status == GSW_ERROR_NO_BACKEND ? SKIPPED : EXIT_FAILURE;
    }
    wanted.backend = gsw_context_backend(context);
    if (wanted.solves < 0)
        wanted.solves = wanted.backend == GSW_BACKEND_CUDA ? 1000000 : 100000;
    if (wanted.contexts == 0)
        wanted.contexts = wanted.backend == GSW_BACKEND_CUDA ? 6 : 2;
    printf("soak: %s, %s, %d contexts", gsw_backend_name(wanted.backend),
           gsw_context_device(context), wanted.contexts);
    if (wanted.backend == GSW_BACKEND_CPU)
        printf(" of %d threads", wanted.threads / wanted.contexts);
    printf(", seed %" PRIu64 "\n", wanted.seed);
    gsw_context_destroy(context);
    return 0;
}

/* One case, in one context. */
static void run_only(void) {
    void *stream;
    gsw_context *context = open_context(0, &stream);
    atomic_store(&total.target, INT64_MAX);
    if (context == NULL)
        atomic_fetch_add(&total.failed, 1);
    else
        run_case(wanted.only, context, stream);
    gsw_context_destroy(context);
    soak_stream_close(stream);
}

int main(int count, char **arguments) {
    (void)setvbuf(stdout, NULL, _IOLBF, 0);
    if (count == 2 && strcmp(arguments[1], "--help") == 0) {
        fputs(help, stdout);
        return 0;
    }
    int code = parse(count, arguments);
    /* All kernels are loaded in the beginning, so that they do not count as lost memory. */
    (void)setenv("CUDA_MODULE_LOADING", "EAGER", 1);
    if (code == 0)
        code = look();
    if (code != 0)
        return code;
    for (int i = 0; i < oracle_stencil_count(); i++)
        (void)oracle_stencil(i, NULL); /* makes them before there are threads */
    occupier others = {0};
    started = gsw_seconds_now();
    if (wanted.only >= 0) {
        const memory before = measure();
        wanted.solves = 1;
        run_only();
        const memory after = measure();
        (void)report(&before, &after, &others);
        return bad_counts() ? EXIT_FAILURE : EXIT_SUCCESS;
    }
    if (wanted.occupy && wanted.backend == GSW_BACKEND_CUDA)
        occupier_start(&others);
    /* The first tenth warms up: what the driver and the runtime keep, they keep from there on. */
    const double minutes = wanted.minutes;
    wanted.minutes /= 10;
    int moves = run_until(wanted.solves / 10);
    wanted.minutes = minutes;
    const memory before = measure();
    moves = moves && run_until(wanted.solves);
    if (!moves) {
        atomic_fetch_add(&total.hangs, 1);
        printf("no solve has ended for %d seconds\n", (int)HANG_SECONDS);
    } else {
        occupier_stop(&others);
    }
    const memory after = moves ? measure() : before;
    const int lost = report(&before, &after, &others);
    code = bad_counts() || lost || others.failed ? EXIT_FAILURE : EXIT_SUCCESS;
    if (others.failed)
        printf("the kernels that occupy the device failed: CUDA's error %d\n", others.failed);
    printf("soak: %s\n", code == EXIT_SUCCESS ? "all results are right" : "FAILED");
    (void)fflush(stdout);
    if (!moves)
        _exit(EXIT_FAILURE); /* threads are still at work */
    return code;
}
