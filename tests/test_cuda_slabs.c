/* test_cuda_slabs.c: one grid on several processes with CUDA, each of which takes a device of the
 * machine in turns. Where a device has several processes, their kernels take turns as well.
 *
 *   mpirun -n P test_cuda_slabs [PATTERN]
 *
 * All processes run all checks, each on its own slab. Every process also computes what it expects
 * by itself: on the CPU, and with CUDA on a partition of its own. Exit code: 77 where no device
 * answers. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <gridsweep/gridsweep.h>
#include <gridsweep/memory.h>
#include <gridsweep/mpi.h>
#include "core/clock.h"
#include "cuda/device/test_hooks.h"
#include "oracle.h"

static int rank, processes, checks, failures;
static gsw_context *context, *alone, *host; /* of a device, twice, and of the CPU */
static gsw_transport *transport, *host_transport;

static void check(int right, const char *what, const char *name, const gsw_grid *g, int kind,
                  double value) {
    checks++;
    if (right)
        return;
    failures++;
    fprintf(stderr, "process %d of %d: %s, %lldx%lldx%lld, %s: %s: %g (%s)\n", rank, processes,
            name, (long long)g->nx, (long long)g->ny, (long long)g->nz,
            kind < 0 ? "-" : gsw_factor_kind_name((gsw_factor_kind)kind), what, value,
            gsw_context_message(context));
}

/* Whether all processes are right. */
static int everywhere(int right) {
    int all = right;
    MPI_Allreduce(&right, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    return all;
}

/* ---- A slab -----------------------------------------------------------------------------------
 */

typedef struct slab {
    gsw_context *context;
    gsw_partition *partition;
    gsw_matrix matrix;
    int scattered; /* its arrays are not these */
    gsw_operator *op;
    gsw_factor *factor; /* this one or a hierarchy */
    gsw_multigrid *multigrid;
    gsw_preconditioner *M;
    int64_t first, points;
    int absent[GSW_STENCIL_MAX]; /* offsets whose arrays are NULL */
    void *arrays[GSW_STENCIL_MAX];
    double *b, *x; /* on the device */
} slab;

/* The planes with which slabs begin by default, as distributed.h has it. */
static void cuts_of_devices(const gsw_grid *g, int64_t *cuts) {
    gsw_partition *p;
    memset(cuts, 0, 9 * sizeof *cuts);
    if (gsw_partition_create(context, transport, g, NULL, &p) != GSW_SUCCESS)
        return;
    for (int i = 0; i < processes; i++)
        cuts[i + 1] = gsw_partition_box(p, i).end[2];
    gsw_partition_destroy(p);
}

/* Replaces the values of a slab's arrays. */
static gsw_status upload_values(slab *s, const oracle_matrix *matrix) {
    const gsw_stencil_array *array = &matrix->view.array;
    const size_t size = gsw_dtype_size(array->value_type);
    for (int32_t e = 0; e < matrix->view.stencil.count; e++) {
        if (!s->absent[e])
            TRY(gsw_memory_upload(s->context, s->arrays[e],
                                  (const char *)array->values[e] + (size_t)s->first * size,
                                  (size_t)s->points * size));
    }
    return GSW_SUCCESS;
}

static gsw_status open_slab(slab *s, const gsw_transport *by, const oracle_matrix *matrix,
                            const double *b, const int32_t *shape, double limit, int scatters) {
    const gsw_matrix *whole = &matrix->view;
    const gsw_grid *g = &whole->grid;
    gsw_partition_options options = {.size = sizeof options, .wait_limit = limit};
    /* On the CPU the slabs are those of the devices. */
    int64_t cuts[9];
    const int cut = s->context == host && by != NULL && processes < 9;
    if (shape)
        memcpy(options.processes, shape, sizeof options.processes);
    if (cut) {
        cuts_of_devices(g, cuts);
        options.processes[0] = options.processes[1] = 1;
        options.processes[2] = processes;
        options.cuts[2] = cuts;
    }
    TRY(gsw_partition_create(s->context, by, g, &options, &s->partition));
    const gsw_box box = gsw_partition_box(s->partition, gsw_partition_rank(s->partition));
    s->first = g->nx * g->ny * box.begin[2];
    s->points = g->nx * g->ny * (box.end[2] - box.begin[2]);
    const size_t bytes = (size_t)s->points * sizeof(double);
    TRY(gsw_memory_alloc(s->context, bytes, (void **)&s->b));
    TRY(gsw_memory_alloc(s->context, bytes, (void **)&s->x));
    TRY(gsw_memory_upload(s->context, s->b, b + s->first, bytes));
    s->scattered = scatters;
    if (scatters) {
        TRY(gsw_partition_scatter(
            s->partition, 0, gsw_partition_rank(s->partition) == 0 ? whole : NULL, &s->matrix));
        return gsw_operator_from_matrix(s->context, &s->matrix, &s->op);
    }
    for (int32_t e = 0; e < whole->stencil.count; e++) {
        if (!s->absent[e])
            TRY(gsw_memory_alloc(s->context,
                                 (size_t)s->points * gsw_dtype_size(whole->array.value_type),
                                 &s->arrays[e]));
    }
    TRY(upload_values(s, matrix));
    const gsw_stencil_array array = {.values = (const void *const *)s->arrays,
                                     .value_type = whole->array.value_type};
    TRY(gsw_partition_matrix_from_stencil(s->partition, &whole->stencil, &array, &s->matrix));
    return gsw_operator_from_matrix(s->context, &s->matrix, &s->op);
}

static void drop_preconditioner(slab *s) {
    gsw_preconditioner_destroy(s->M);
    gsw_multigrid_destroy(s->multigrid);
    gsw_factor_destroy(s->factor);
    s->M = NULL;
    s->multigrid = NULL;
    s->factor = NULL;
}

static void close_slab(slab *s) {
    drop_preconditioner(s);
    gsw_operator_destroy(s->op);
    if (s->scattered)
        gsw_matrix_release(s->context, &s->matrix);
    gsw_partition_destroy(s->partition);
    for (int32_t e = 0; e < GSW_STENCIL_MAX; e++)
        gsw_memory_free(s->context, s->arrays[e]);
    gsw_memory_free(s->context, s->b);
    gsw_memory_free(s->context, s->x);
}

/* A slab of one matrix, and all of another one in one process. */
static int open_both(slab *mine, slab *whole, const oracle_matrix *own, const oracle_matrix *one,
                     const double *b, double limit) {
    return open_slab(mine, transport, own, b, NULL, limit, 0) == GSW_SUCCESS &&
           open_slab(whole, NULL, one, b, NULL, limit, 0) == GSW_SUCCESS;
}

static gsw_status make_factor(slab *s, gsw_factor_kind kind, gsw_scope scope) {
    const gsw_factor_options options = {
        .size = sizeof options, .kind = kind, .scope = scope, .omega = kind == GSW_SSOR ? 1.3 : 0};
    drop_preconditioner(s);
    TRY(gsw_factor_create(s->context, &s->matrix, &options, &s->factor));
    return gsw_preconditioner_from_factor(s->context, s->factor, &s->M);
}

static gsw_status refactor(slab *s) {
    return s->multigrid ? gsw_multigrid_refactor(s->context, s->multigrid, &s->matrix)
                        : gsw_factor_refactor(s->context, s->factor, &s->matrix, NULL);
}

static gsw_status make_multigrid(slab *s, const gsw_multigrid_options *options) {
    drop_preconditioner(s);
    TRY(gsw_multigrid_create(s->context, &s->matrix, options, &s->multigrid));
    return gsw_preconditioner_from_multigrid(s->context, s->multigrid, &s->M);
}

/* The output is poisoned before. */
static gsw_status apply(slab *s, double *x) {
    const size_t bytes = (size_t)s->points * sizeof(double);
    TRY(gsw_memory_set(s->context, s->x, 0xff, bytes));
    TRY(gsw_preconditioner_apply(s->context, s->M, s->b, s->x));
    return gsw_memory_download(s->context, x, s->x, bytes);
}

static gsw_status multiply(slab *s, double *x) {
    TRY(gsw_operator_apply(s->context, s->op, s->b, s->x));
    return gsw_memory_download(s->context, x, s->x, (size_t)s->points * sizeof(double));
}

/* ---- Global preconditioners are those of one process ------------------------------------------
 */

/* The same preconditioner on the CPU. */
static gsw_status apply_whole(const oracle_matrix *matrix, gsw_factor_kind kind, const double *b,
                              double *x) {
    gsw_factor *factor = NULL;
    const gsw_factor_options options = {
        .size = sizeof options, .kind = kind, .omega = kind == GSW_SSOR ? 1.3 : 0};
    gsw_status status = gsw_factor_create(host, &matrix->view, &options, &factor);
    if (status == GSW_SUCCESS)
        status = gsw_factor_solve(host, factor, 1, b, 0, x, 0);
    gsw_factor_destroy(factor);
    return status;
}

typedef struct vectors {
    double *b, *x, *again, *expected, *alone;
} vectors;

/* What one process computes with a new factor, and what the CPU does. */
static gsw_status expect(const oracle_matrix *matrix, gsw_factor_kind kind, slab *whole,
                         vectors *v) {
    TRY(make_factor(whole, kind, GSW_SCOPE_GLOBAL));
    TRY(apply(whole, v->alone));
    return apply_whole(matrix, kind, v->b, v->expected);
}

static void compare_application(const char *name, const gsw_grid *g, gsw_factor_kind kind,
                                slab *mine, vectors *v) {
    check(apply(mine, v->x) == GSW_SUCCESS, "application", name, g, (int)kind, 0);
    const double error = oracle_error(GSW_F64, mine->points, v->x, v->expected + mine->first);
    check(error <= 1e-13, "error", name, g, (int)kind, error);
    /* On one process the lines of some stencils run along the longest axis. Then the order of sums
     * is another. */
    const int same_order = g->nx >= g->ny && g->nx >= g->nz;
    const int right = !same_order || memcmp(v->x, v->alone + mine->first,
                                            (size_t)mine->points * sizeof(double)) == 0;
    check(right, "other bits than alone", name, g, (int)kind, 0);
}

static void compare_kind(const char *name, const oracle_matrix *matrix, gsw_factor_kind kind,
                         slab *mine, slab *whole, vectors *v) {
    const gsw_grid *g = &matrix->view.grid;
    const size_t bytes = (size_t)mine->points * sizeof(double);
    gsw_stencil known;
    gsw_status status = expect(matrix, kind, whole, v);
    if (status == GSW_ERROR_UNSUPPORTED && gsw_stencil_named(name, &known) != GSW_SUCCESS)
        return; /* in all processes: the custom stencil reaches too far */
    check(status == GSW_SUCCESS, "alone", name, g, (int)kind, status);
    status = make_factor(mine, kind, GSW_SCOPE_GLOBAL);
    check(status == GSW_SUCCESS, "creation", name, g, (int)kind, status);
    if (status != GSW_SUCCESS)
        return;
    compare_application(name, g, kind, mine, v);
    for (int i = 0; i < 3; i++) {
        const int right = (i < 2 || refactor(mine) == GSW_SUCCESS) &&
                          apply(mine, v->again) == GSW_SUCCESS &&
                          memcmp(v->x, v->again, bytes) == 0;
        check(right, "other bits than before", name, g, (int)kind, i);
    }
}

static vectors make_vectors(int64_t points) {
    return (vectors){oracle_vector(GSW_F64, 5, points), oracle_vector(GSW_F64, 6, points),
                     oracle_vector(GSW_F64, 7, points), oracle_vector(GSW_F64, 8, points),
                     oracle_vector(GSW_F64, 9, points)};
}

static void free_vectors(vectors *v) {
    free(v->b);
    free(v->x);
    free(v->again);
    free(v->expected);
    free(v->alone);
}

/* The end of a case; `whole` and `matrix` may be NULL. */
static void close_case(slab *mine, slab *whole, vectors *v, oracle_matrix *matrix) {
    close_slab(mine);
    if (whole != NULL)
        close_slab(whole);
    free_vectors(v);
    oracle_free(matrix);
}

/* Slabs have at least 8 planes, or 32 where the stencil has no kernel of its own. */
static const gsw_grid grids[] = {
    {24, 20, 32}, {33, 17, 41}, {70, 9, 36}, {5, 40, 50}, {12, 9, 128}};
enum { GRIDS = sizeof grids / sizeof *grids };

/* One case in `share`; fewer where processes share a device, which is slow. */
static void sweeps_are_those_of_one_process(int share) {
    share *= processes > gsw_device_count() ? 3 : 1;
    static const gsw_factor_kind kinds[] = {GSW_ILU0, GSW_DILU, GSW_SSOR, GSW_FACTOR_LOWER,
                                            GSW_FACTOR_UPPER};
    for (int n = 0; n < oracle_stencil_count(); n++) {
        const char *name;
        const gsw_stencil *stencil = oracle_stencil(n, &name);
        for (int i = 0; i < GRIDS; i++) {
            const gsw_grid *g = &grids[i];
            const int64_t unit = gsw_stencil_known(n) ? 8 : 32;
            if (g->nz < unit * processes || (unit == 32 && processes == 3) || (n + i) % share != 0)
                continue;
            oracle_matrix *matrix =
                oracle_random(g, stencil, (uint64_t)(n * 100 + i), ORACLE_POSITIVE);
            vectors v = make_vectors(oracle_points(g));
            slab mine = {.context = context}, whole = {.context = alone};
            const int right =
                open_slab(&mine, transport, matrix, v.b, NULL, 20, i % 2) == GSW_SUCCESS &&
                open_slab(&whole, NULL, matrix, v.b, NULL, 20, 0) == GSW_SUCCESS &&
                multiply(&mine, v.x) == GSW_SUCCESS &&
                gsw_spmv(host, &matrix->view, GSW_F64, v.b, v.expected) == GSW_SUCCESS;
            check(right, "set-up", name, g, -1, 0);
            if (right) {
                const double error =
                    oracle_error(GSW_F64, mine.points, v.x, v.expected + mine.first);
                check(error <= 1e-14, "product: error", name, g, -1, error);
                compare_kind(name, matrix, kinds[(n + i) % 5], &mine, &whole, &v);
                compare_kind(name, matrix, GSW_ILU0, &mine, &whole, &v);
            }
            close_case(&mine, &whole, &v, matrix);
        }
    }
}

/* ---- How factors of slabs are made ------------------------------------------------------------
 */

/* Slabs of 8 planes. The longest axis is x, so all bits are those of one process. */
enum { PLANES = 8 };
static gsw_grid small_grid(void) {
    const int64_t nz = (int64_t)PLANES * processes;
    return (gsw_grid){nz + 16, 20, nz};
}

/* The process of a row of that grid. */
static int process_of(const gsw_grid *g, int64_t row) {
    return (int)(row / (g->nx * g->ny * PLANES));
}

/* Compares how many factors have been made in steps since the count was `before`. A factor is made
 * in steps only if the steps of all processes have succeeded, and one process alone takes none. */
static void check_steps(const char *name, const gsw_grid *g, gsw_factor_kind kind, int64_t before,
                        int64_t expected) {
    int64_t own = gsw_cuda_made_in_steps(context) - before, least = own;
    MPI_Allreduce(&own, &least, 1, MPI_INT64_T, MPI_MIN, MPI_COMM_WORLD);
    check(expected > 0 && processes > 1 ? own == expected : least == 0, "factors made in steps",
          name, g, (int)kind, (double)own);
}

/* Both factorisations of compare_kind() take steps, or neither does. */
static void compare_making(const char *name, const oracle_matrix *matrix, gsw_factor_kind kind,
                           slab *mine, slab *whole, vectors *v, int in_steps) {
    const int64_t before = gsw_cuda_made_in_steps(context);
    compare_kind(name, matrix, kind, mine, whole, v);
    check_steps(name, &matrix->view.grid, kind, before, in_steps ? 2 : 0);
}

/* Makes products of two coefficients overflow in the last planes of a slab. The rows of these
 * planes get another scale; in a symmetric matrix their columns do as well. */
static void let_products_overflow(oracle_matrix *matrix, int process, int symmetric) {
    const gsw_grid *g = &matrix->view.grid;
    const int64_t end = (int64_t)PLANES * (process + 1), begin = end - 3;
    for (int32_t e = 0; e < matrix->view.stencil.count; e++) {
        double *values = matrix->arrays[e];
        for (int64_t row = 0; row < oracle_points(g); row++) {
            const int64_t z = row / (g->nx * g->ny), of = z + matrix->view.stencil.offsets[e].dz;
            const int of_row = z >= begin && z < end, of_column = of >= begin && of < end;
            if (symmetric)
                values[row] *= (of_row ? 1e85 : 1) * (of_column ? 1e85 : 1);
            else if (of_row)
                values[row] *= 1e170;
        }
    }
}

/* Gives the upper part the values of the lower part. */
static void make_symmetric(oracle_matrix *matrix) {
    const gsw_grid *g = &matrix->view.grid;
    const gsw_stencil *stencil = &matrix->view.stencil;
    for (int32_t e = stencil->center + 1; e < stencil->count; e++) {
        const gsw_offset o = stencil->offsets[e];
        const int64_t step = o.dx + g->nx * (o.dy + g->ny * o.dz);
        const double *lower = matrix->arrays[stencil->count - 1 - e];
        double *upper = matrix->arrays[e];
        for (int64_t row = 0; row < oracle_points(g); row++) {
            if (!isnan(upper[row])) /* the coupling stays in the grid */
                upper[row] = lower[row + step];
        }
    }
}

typedef struct making {
    const char *name;
    gsw_factor_kind kind;
    int in_steps, turns;
} making;

/* A factor takes new values in each turn: the first ones, others, values whose products overflow,
 * and the first ones again after each. A new factor of one process has the same bits. */
static void a_factor_follows_values(const making *c, int turns) {
    enum { FIRST, OTHER, OVERFLOWS, MATRICES };
    static const int order[] = {FIRST, OTHER, FIRST, OVERFLOWS, FIRST};
    const gsw_grid g = small_grid();
    const int symmetric = c->kind == GSW_IC0;
    oracle_matrix *matrices[MATRICES];
    for (int i = 0; i < MATRICES; i++) {
        matrices[i] =
            oracle_random(&g, oracle_stencil_named(c->name), i == OTHER ? 12 : 11, ORACLE_POSITIVE);
        if (symmetric)
            make_symmetric(matrices[i]);
    }
    let_products_overflow(matrices[OVERFLOWS], processes / 2, symmetric);
    vectors v = make_vectors(oracle_points(&g));
    slab mine = {.context = context}, whole = {.context = alone};
    int right = open_both(&mine, &whole, matrices[FIRST], matrices[FIRST], v.b, 20);
    check(right, "set-up", c->name, &g, (int)c->kind, 0);
    right = everywhere(right);
    for (int turn = 0; right && turn < turns; turn++) {
        const oracle_matrix *now = matrices[order[turn]];
        const int64_t before = gsw_cuda_made_in_steps(context);
        right = everywhere(upload_values(&whole, now) == GSW_SUCCESS &&
                           expect(now, c->kind, &whole, &v) == GSW_SUCCESS &&
                           upload_values(&mine, now) == GSW_SUCCESS);
        check(right, "alone", c->name, &g, (int)c->kind, turn);
        if (!right)
            break;
        const gsw_status status =
            turn == 0 ? make_factor(&mine, c->kind, GSW_SCOPE_GLOBAL) : refactor(&mine);
        check(status == GSW_SUCCESS, "a factor of other values", c->name, &g, (int)c->kind, turn);
        right = everywhere(status == GSW_SUCCESS);
        check_steps(c->name, &g, c->kind, before, c->in_steps && order[turn] != OVERFLOWS);
        if (right)
            compare_application(c->name, &g, c->kind, &mine, &v);
    }
    close_case(&mine, &whole, &v, NULL);
    for (int i = 0; i < MATRICES; i++)
        oracle_free(matrices[i]);
}

/* At most `most` factors, each in at most `turns` turns. */
static void factors_follow_values(int most, int turns) {
    static const making cases[] = {{"D3N7", GSW_ILU0, 1, 5},  {"D3N27", GSW_ILU0, 0, 5},
                                   {"D3N7", GSW_IC0, 1, 5},   {"D3N7", GSW_DILU, 1, 5},
                                   {"D3N13", GSW_DILU, 1, 2}, {"D3N13", GSW_ILU0, 0, 2},
                                   {"D3N27", GSW_IC0, 0, 2}};
    enum { CASES = sizeof cases / sizeof *cases };
    for (int i = 0; i < CASES && i < most; i++)
        a_factor_follows_values(&cases[i], cases[i].turns < turns ? cases[i].turns : turns);
}

/* Products of two coefficients overflow in one slab. So no slab is factorised by a sweep. */
static void factors_that_need_rows(void) {
    static const gsw_factor_kind kinds[] = {GSW_ILU0, GSW_DILU};
    const int places[] = {0, processes / 2, processes - 1};
    const gsw_grid g = small_grid();
    for (int i = 0; i < 6; i++) {
        const int place = places[i / 2];
        if (i >= 2 && place == places[i / 2 - 1])
            continue;
        oracle_matrix *matrix =
            oracle_random(&g, oracle_stencil_named("D3N7"), 11, ORACLE_POSITIVE);
        vectors v = make_vectors(oracle_points(&g));
        slab mine = {.context = context}, whole = {.context = alone};
        let_products_overflow(matrix, place, 0);
        const int right = open_both(&mine, &whole, matrix, matrix, v.b, 20);
        check(right, "set-up", "overflow", &g, -1, place);
        if (everywhere(right))
            compare_making("D3N7", matrix, kinds[i % 2], &mine, &whole, &v, 0);
        close_case(&mine, &whole, &v, matrix);
    }
}

/* Compares slabs of `own` with one process that has `one`, and with the CPU, which has `matrix`.
 * All three have the same values. `mine` already knows its absent arrays. */
static void compare_slabs(const char *name, const oracle_matrix *own, const oracle_matrix *one,
                          const oracle_matrix *matrix, gsw_factor_kind kind, slab *mine,
                          int in_steps) {
    const gsw_grid *g = &matrix->view.grid;
    vectors v = make_vectors(oracle_points(g));
    slab whole = {.context = alone};
    const int right = open_both(mine, &whole, own, one, v.b, 20) &&
                      multiply(mine, v.x) == GSW_SUCCESS &&
                      gsw_spmv(host, &matrix->view, GSW_F64, v.b, v.expected) == GSW_SUCCESS;
    check(right, "set-up", name, g, (int)kind, 0);
    if (everywhere(right)) {
        const double error = oracle_error(GSW_F64, mine->points, v.x, v.expected + mine->first);
        check(error <= 1e-14, "product: error", name, g, (int)kind, error);
        compare_making(name, matrix, kind, mine, &whole, &v, in_steps);
    }
    close_case(mine, &whole, &v, NULL);
}

/* Processes of one parity have no array for a coupling to another slab. One process has zeros. */
static void arrays_that_some_lack(void) {
    static const struct {
        const char *name;
        gsw_factor_kind kind;
        int32_t dz;
        int parity, in_steps;
    } cases[] = {{"D3N7", GSW_ILU0, -1, 1, 1},
                 {"D3N7", GSW_ILU0, 1, 0, 1},
                 {"D3N7", GSW_DILU, 1, 0, 1},
                 {"D3N27", GSW_ILU0, -1, 1, 0},
                 {"D3N27", GSW_ILU0, 1, 0, 0}};
    const gsw_grid g = small_grid();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        oracle_matrix *matrix =
            oracle_random(&g, oracle_stencil_named(cases[i].name), 13, ORACLE_POSITIVE);
        slab mine = {.context = context};
        int32_t e = 0;
        for (; e < matrix->view.stencil.count; e++) {
            const gsw_offset o = matrix->view.stencil.offsets[e];
            if (o.dx == 0 && o.dy == 0 && o.dz == cases[i].dz)
                break;
        }
        double *values = matrix->arrays[e];
        for (int64_t row = 0; row < oracle_points(&g); row++) {
            if (process_of(&g, row) % 2 == cases[i].parity)
                values[row] = 0;
        }
        mine.absent[e] = rank % 2 == cases[i].parity;
        compare_slabs(cases[i].name, matrix, matrix, matrix, cases[i].kind, &mine,
                      cases[i].in_steps);
        oracle_free(matrix);
    }
}

/* Matrices of fp32 in all processes, or in every other one: then no process takes steps. */
static void matrices_of_fp32(void) {
    static const char *const names[] = {"D3N7", "D3N27"};
    static const oracle_layout layout = {.format = GSW_FORMAT_STENCIL, .value_type = GSW_F32};
    const gsw_grid g = small_grid();
    for (int i = 0; i < (processes > 1 ? 4 : 2); i++) {
        oracle_matrix *matrix =
            oracle_random(&g, oracle_stencil_named(names[i % 2]), 14, ORACLE_POSITIVE);
        for (int32_t e = 0; e < matrix->view.stencil.count; e++) {
            double *values = matrix->arrays[e];
            for (int64_t row = 0; row < oracle_points(&g); row++)
                values[row] = (double)(float)values[row];
        }
        oracle_matrix *narrow = oracle_convert(matrix, &layout);
        slab mine = {.context = context};
        compare_slabs(names[i % 2], i < 2 || rank % 2 == 1 ? narrow : matrix, narrow, matrix,
                      GSW_ILU0, &mine, 0);
        oracle_free(narrow);
        oracle_free(matrix);
    }
}

/* Slabs of one plane, or two: ghosts come from several processes. */
static void products_of_thin_slabs(void) {
    static const gsw_offset far[] = {{0, 0, -2}, {0, 0, 0}, {0, 0, 2}};
    gsw_stencil apart;
    if (gsw_stencil_from_offsets(far, 3, &apart) != GSW_SUCCESS)
        return;
    const gsw_stencil *stencils[] = {oracle_stencil_named("D3N13"), &apart,
                                     oracle_stencil_named("D3N27")};
    for (int i = 0; i < 6; i++) {
        const gsw_grid g = {30, 7, processes * (1 + i / 3)};
        oracle_matrix *matrix = oracle_random(&g, stencils[i % 3], 5, ORACLE_POSITIVE);
        vectors v = make_vectors(oracle_points(&g));
        slab s = {.context = context};
        const int right = open_slab(&s, transport, matrix, v.b, NULL, 20, 0) == GSW_SUCCESS &&
                          multiply(&s, v.x) == GSW_SUCCESS &&
                          gsw_spmv(host, &matrix->view, GSW_F64, v.b, v.expected) == GSW_SUCCESS;
        const double error = right ? oracle_error(GSW_F64, s.points, v.x, v.expected + s.first) : 1;
        check(error <= 1e-14, "a product of thin slabs", "reach 2", &g, -1, error);
        close_case(&s, NULL, &v, matrix);
    }
}

/* ---- Solves -----------------------------------------------------------------------------------
 */

static int64_t iterations_of(slab *s, gsw_method method) {
    gsw_krylov_result result = {.size = sizeof result};
    if (gsw_memory_set(s->context, s->x, 0, (size_t)s->points * sizeof(double)) != GSW_SUCCESS ||
        gsw_krylov(s->context, method, s->op, s->M, NULL, s->b, s->x, &result) != GSW_SUCCESS)
        return -1;
    return result.iterations;
}

static void solves_take_the_iterations_of_one_process(void) {
    static const struct {
        const char *problem;
        gsw_method method;
        gsw_factor_kind kind;
    } cases[] = {{"poisson:24x20x32", GSW_CG, GSW_IC0},
                 {"lognormal:24x24x32", GSW_CG, GSW_IC0},
                 {"convection:20x17x40", GSW_BICGSTAB, GSW_ILU0},
                 {"hpcg:24x24x32", GSW_CG, GSW_SSOR},
                 {"convection:16x16x32", GSW_GMRES, GSW_DILU}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        gsw_problem *made;
        if (gsw_problem_parse(host, cases[i].problem, NULL, &made) != GSW_SUCCESS)
            continue;
        oracle_matrix matrix = {.view = *gsw_problem_matrix(made)};
        const gsw_grid *g = &matrix.view.grid;
        vectors v = make_vectors(oracle_points(g));
        slab mine = {.context = context}, whole = {.context = alone};
        const int right = open_both(&mine, &whole, &matrix, &matrix, v.b, 30) &&
                          make_factor(&mine, cases[i].kind, GSW_SCOPE_GLOBAL) == GSW_SUCCESS &&
                          make_factor(&whole, cases[i].kind, GSW_SCOPE_GLOBAL) == GSW_SUCCESS;
        check(right, "set-up", cases[i].problem, g, (int)cases[i].kind, 0);
        const int64_t here = right ? iterations_of(&mine, cases[i].method) : 0;
        const int64_t one = right ? iterations_of(&whole, cases[i].method) : 0;
        const int same_order = g->nx >= g->ny && g->nx >= g->nz; /* compare_application() */
        check(here > 0 && llabs(here - one) <= !same_order, "iterations", cases[i].problem, g,
              (int)cases[i].kind, (double)(here - one));
        const int local = right && make_factor(&mine, cases[i].kind, GSW_SCOPE_LOCAL) == GSW_SUCCESS
                              ? (int)iterations_of(&mine, cases[i].method)
                              : 0;
        check(local >= one, "iterations of scope local", cases[i].problem, g, (int)cases[i].kind,
              local);
        close_case(&mine, &whole, &v, NULL);
        gsw_problem_destroy(made);
    }
}

/* Each process waits at random before it calls. */
static void many_applications_agree(const char *name, int count) {
    const gsw_grid g = {40, 24, 32};
    oracle_matrix *matrix = oracle_random(&g, oracle_stencil_named(name), 7, ORACLE_POSITIVE);
    vectors v = make_vectors(oracle_points(&g));
    slab s = {.context = context};
    unsigned seed = (unsigned)rank + 1;
    int right = open_slab(&s, transport, matrix, v.b, NULL, 30, 0) == GSW_SUCCESS &&
                make_factor(&s, GSW_ILU0, GSW_SCOPE_GLOBAL) == GSW_SUCCESS &&
                apply(&s, v.x) == GSW_SUCCESS;
    for (int i = 0; right && i < count; i++) {
        const struct timespec nap = {.tv_nsec = rand_r(&seed) % 300 * 1000};
        if (i % 3 == rank % 3)
            nanosleep(&nap, NULL);
        right = (i % 100 != 99 || refactor(&s) == GSW_SUCCESS) &&
                apply(&s, v.again) == GSW_SUCCESS &&
                memcmp(v.x, v.again, (size_t)s.points * sizeof(double)) == 0;
    }
    check(right, "repeated applications", name, &g, GSW_ILU0, count);
    close_case(&s, NULL, &v, matrix);
}

/* ---- Masks ------------------------------------------------------------------------------------
 */

/* The own slab of two vectors of the grid: the largest difference over the largest value. */
static double slab_error(const slab *s, const double *own, const double *whole) {
    double most = 1e-300, error = 0;
    for (int64_t i = 0; i < s->points; i++) {
        most = fmax(most, fabs(whole[s->first + i]));
        error = fmax(error, isfinite(own[i]) ? fabs(own[i] - whole[s->first + i]) : INFINITY);
    }
    return error / most;
}

/* Products, factors and the iterations of a solver. b is NaN at inactive points. */
static void inactive_points_are_those_of_the_cpu(const char *problem) {
    gsw_problem *made;
    gsw_solver_report here = {.size = sizeof here}, one = {.size = sizeof one};
    const gsw_factor_options ilu0 = {.size = sizeof ilu0, .scope = GSW_SCOPE_GLOBAL};
    const gsw_multigrid_options levels = {.size = sizeof levels, .scope = GSW_SCOPE_GLOBAL};
    const gsw_solver_options options = {
        .size = sizeof options, .factor = &ilu0, .multigrid = &levels};
    if (gsw_problem_parse(host, problem, NULL, &made) != GSW_SUCCESS)
        return;
    oracle_matrix matrix = {.view = *gsw_problem_matrix(made)};
    const gsw_matrix *whole = &matrix.view;
    const gsw_grid *g = &whole->grid;
    vectors v = make_vectors(oracle_points(g));
    slab mine = {.context = context};
    gsw_factor *factor = NULL;
    for (int64_t row = 0; row < oracle_points(g); row++)
        v.b[row] = whole->active[row] ? v.b[row] : NAN;
    int right = open_slab(&mine, transport, &matrix, v.b, NULL, 30, 1) == GSW_SUCCESS;
    check(right && mine.matrix.active != NULL, "set-up", problem, g, -1, 0);
    right = right && multiply(&mine, v.x) == GSW_SUCCESS &&
            gsw_spmv(host, whole, GSW_F64, v.b, v.expected) == GSW_SUCCESS;
    check(right && slab_error(&mine, v.x, v.expected) <= 1e-13, "products", problem, g, -1,
          right ? slab_error(&mine, v.x, v.expected) : -1);
    right = right && make_factor(&mine, GSW_ILU0, GSW_SCOPE_GLOBAL) == GSW_SUCCESS &&
            apply(&mine, v.x) == GSW_SUCCESS &&
            gsw_factor_create(host, whole, NULL, &factor) == GSW_SUCCESS &&
            gsw_factor_solve(host, factor, 1, v.b, 0, v.expected, 0) == GSW_SUCCESS;
    check(right && slab_error(&mine, v.x, v.expected) <= 1e-11, "factors", problem, g, GSW_ILU0,
          right ? slab_error(&mine, v.x, v.expected) : -1);
    right = right &&
            gsw_solve(context, &mine.matrix, &options, mine.b, mine.x, &here) == GSW_SUCCESS &&
            gsw_solve(host, whole, NULL, v.b, v.expected, &one) == GSW_SUCCESS;
    /* Lakes of two slabs are left to the Krylov method; small oceans have few others. */
    check(right && here.iterations <= 3 * one.iterations && here.residual <= 1e-8, "iterations",
          problem, g, -1, (double)(here.iterations - one.iterations));
    gsw_factor_destroy(factor);
    close_case(&mine, NULL, &v, NULL);
    gsw_problem_destroy(made);
}

/* ---- Multigrid --------------------------------------------------------------------------------
 */

typedef struct cycle_case {
    const char *problem;
    gsw_multigrid_options options;
} cycle_case;

/* The matrix of a problem that names a stencil is random: "D3N19:24x20x32". */
static oracle_matrix *matrix_of(const char *problem, gsw_problem **made) {
    char name[16];
    int n[3];
    *made = NULL;
    if (problem[0] != 'D') {
        oracle_matrix *matrix = NULL;
        if (gsw_problem_parse(host, problem, NULL, made) == GSW_SUCCESS &&
            (matrix = calloc(1, sizeof *matrix)) != NULL)
            matrix->view = *gsw_problem_matrix(*made);
        return matrix;
    }
    if (sscanf(problem, "%15[^:]:%dx%dx%d", name, &n[0], &n[1], &n[2]) != 4)
        return NULL;
    const gsw_grid g = {n[0], n[1], n[2]};
    return oracle_random(&g, oracle_stencil_named(name), 11, ORACLE_POSITIVE);
}

static void free_matrix(oracle_matrix *matrix, gsw_problem *made) {
    if (made)
        free(matrix);
    else
        oracle_free(matrix);
    gsw_problem_destroy(made);
}

/* Whether case i is run. Processes that share a device are slow: two, three and four of them share
 * the cases, too. */
static int takes_case(int i) {
    return processes <= gsw_device_count() || (i + processes) % 3 == 0;
}

/* A cycle on devices against the same processes on the CPU, which sweep the same slabs. */
static void a_cycle_is_that_of_the_cpu(const cycle_case *c) {
    gsw_problem *made;
    oracle_matrix *matrix = matrix_of(c->problem, &made);
    const gsw_grid *g = &matrix->view.grid;
    vectors v = make_vectors(oracle_points(g));
    slab mine = {.context = context}, cpu = {.context = host};
    gsw_multigrid_info info = {.size = sizeof info}, other = {.size = sizeof other};
    const int narrow = c->options.cycle_type == GSW_F32;
    gsw_multigrid_options options = c->options, wide;
    options.size = sizeof options;
    wide = options;
    wide.cycle_type = GSW_F64;
    int right = open_slab(&mine, transport, matrix, v.b, NULL, 20, 1) == GSW_SUCCESS &&
                open_slab(&cpu, host_transport, matrix, v.b, NULL, 20, 0) == GSW_SUCCESS &&
                make_multigrid(&mine, &options) == GSW_SUCCESS &&
                make_multigrid(&cpu, &wide) == GSW_SUCCESS &&
                gsw_multigrid_get_info(mine.multigrid, &info) == GSW_SUCCESS &&
                gsw_multigrid_get_info(cpu.multigrid, &other) == GSW_SUCCESS;
    check(right, "multigrid: set-up", c->problem, g, -1, c->options.smoother);
    if (right) {
        check(info.shared_levels == other.shared_levels && info.shared_levels > 0,
              "levels of several processes", c->problem, g, -1, info.shared_levels);
        right = apply(&mine, v.x) == GSW_SUCCESS && apply(&cpu, v.expected) == GSW_SUCCESS;
        const double error = oracle_error(GSW_F64, mine.points, v.x, v.expected);
        check(right && error <= (narrow ? 2e-4 : 1e-11), "a cycle", c->problem, g, narrow, error);
        for (int i = 0; i < 5; i++) { /* the last one in memory that others have used */
            right = (i < 2 || i == 4 || refactor(&mine) == GSW_SUCCESS) &&
                    (i < 4 || make_multigrid(&mine, &options) == GSW_SUCCESS) &&
                    apply(&mine, v.again) == GSW_SUCCESS &&
                    memcmp(v.x, v.again, (size_t)mine.points * sizeof(double)) == 0;
            check(right, "other bits of a cycle than before", c->problem, g, -1, i);
        }
    }
    close_case(&mine, &cpu, &v, NULL);
    free_matrix(matrix, made);
}

static void cycles_are_those_of_the_cpu(void) {
    if (processes == 1) /* it sweeps sections, which the CPU has not */
        return;
    static const cycle_case cases[] = {
        {"lognormal:24x20x64", {.smoother = GSW_SMOOTHER_JACOBI, .whole_points = 200}},
        {"D3N19:33x17x70", {.smoother = GSW_SMOOTHER_JACOBI, .whole_points = 200, .pre_sweeps = 2}},
        {"lognormal:24x20x64", {.smoother = GSW_SMOOTHER_GS, .whole_points = 200}},
        {"hpcg:24x17x72",
         {.smoother = GSW_SMOOTHER_GS, .whole_points = 200, .pre_sweeps = 2, .post_sweeps = 3}},
        {"anisotropic:40x24x32", {.smoother = GSW_SMOOTHER_GS, .whole_points = 200}},
        {"poisson:33x31x35", {.smoother = GSW_SMOOTHER_GS, .whole_points = 20000, .scope = 1}},
        {"hpcg:24x24x64", {.smoother = GSW_SMOOTHER_GS, .whole_points = 20000, .scope = 1}},
        {"convection:24x20x64", {.whole_points = 200}},
        {"convection:48x24x40", {.whole_points = 20000, .scope = 1, .post_sweeps = 2}},
        {"D3N27:20x12x64", {.smoother = GSW_SMOOTHER_SYMGS, .whole_points = 200}},
        {"D3N13:24x20x64", {.smoother = GSW_SMOOTHER_SYMGS, .whole_points = 200}},
        {"D3N13:24x20x64", {.smoother = GSW_SMOOTHER_GS, .whole_points = 200}},
        {"lognormal:24x24x64",
         {.smoother = GSW_SMOOTHER_JACOBI, .whole_points = 600, .cycle_type = GSW_F32}},
        {"poisson:24x24x64",
         {.smoother = GSW_SMOOTHER_GS, .whole_points = 600, .cycle_type = GSW_F32}},
        {"hpcg:24x24x64",
         {.smoother = GSW_SMOOTHER_GS, .whole_points = 5000, .cycle_type = GSW_F32, .scope = 1}},
        {"lognormal:24x24x64",
         {.smoother = GSW_SMOOTHER_GS, .whole_points = 5000, .cycle_type = GSW_F32, .scope = 1}},
        {"convection:48x24x40", {.whole_points = 800, .cycle_type = GSW_F32, .pre_sweeps = 2}},
        {"D3N7:5x40x66", {.smoother = GSW_SMOOTHER_GS, .whole_points = 200}},
        /* shared until a process would have no points */
        {"poisson:24x24x64", {.smoother = GSW_SMOOTHER_GS, .whole_points = 1}},
        {"convection:24x20x64", {.whole_points = 1}},
    };
    for (int i = 0; i < (int)(sizeof cases / sizeof *cases); i++) {
        if (takes_case(i))
            a_cycle_is_that_of_the_cpu(&cases[i]);
    }
}

/* A cycle of gsw_multigrid. */
static gsw_status cycle_alone(slab *s, gsw_dtype type, double *x) {
    const gsw_multigrid_options options = {.size = sizeof options, .cycle_type = type};
    gsw_multigrid *multigrid;
    TRY(gsw_multigrid_create(s->context, &s->matrix, &options, &multigrid));
    gsw_status status = gsw_multigrid_apply(s->context, multigrid, s->b, s->x);
    if (status == GSW_SUCCESS)
        status = gsw_memory_download(s->context, x, s->x, (size_t)s->points * sizeof(double));
    gsw_multigrid_destroy(multigrid);
    return status;
}

/* Slabs of coarse levels are those of one device where the cuts allow. */
static void multigrid_takes_the_iterations_of_one_process(void) {
    static const char *const problems[] = {"poisson:48x40x64", "lognormal:40x48x64",
                                           "hpcg:32x32x64", "convection:32x32x64"};
    for (size_t i = 0; i < sizeof problems / sizeof *problems; i++) {
        const gsw_method method = i == 3 ? GSW_BICGSTAB : GSW_CG;
        gsw_problem *made;
        oracle_matrix *matrix = matrix_of(problems[i], &made);
        const gsw_grid *g = &matrix->view.grid;
        vectors v = make_vectors(oracle_points(g));
        for (int way = 0; way < 4; way++) {
            if (!takes_case((int)i + way))
                continue;
            const gsw_multigrid_options options = {.size = sizeof options,
                                                   .scope = (gsw_scope)(way % 2),
                                                   .cycle_type = (gsw_dtype)(way / 2),
                                                   .whole_points = 500};
            slab mine = {.context = context}, whole = {.context = alone};
            const int right = open_both(&mine, &whole, matrix, matrix, v.b, 30) &&
                              make_multigrid(&mine, &options) == GSW_SUCCESS &&
                              make_multigrid(&whole, &options) == GSW_SUCCESS;
            const int64_t here = right ? iterations_of(&mine, method) : 0;
            const int64_t one = right ? iterations_of(&whole, method) : 0;
            check(here > 0 && here == one, "iterations with multigrid", problems[i], g, -1,
                  (double)(100 * here + one));
            /* By default such a small level is brought to all processes: the cycle is that of
             * gsw_multigrid, with the same bits. */
            const gsw_multigrid_options small = {
                .size = sizeof small, .scope = options.scope, .cycle_type = options.cycle_type};
            const int same =
                right && make_multigrid(&mine, &small) == GSW_SUCCESS &&
                apply(&mine, v.x) == GSW_SUCCESS &&
                cycle_alone(&whole, options.cycle_type, v.alone) == GSW_SUCCESS &&
                memcmp(v.x, v.alone + mine.first, (size_t)mine.points * sizeof(double)) == 0;
            check(same, "a cycle of one level", problems[i], g, way, 0);
            close_slab(&mine);
            close_slab(&whole);
        }
        free_vectors(&v);
        free_matrix(matrix, made);
    }
}

/* On a stretched grid the solve finds the cycles slow, and ILU(0) takes over. */
static void a_smoother_is_judged_as_on_one_process(void) {
    const gsw_multigrid_options options = {
        .size = sizeof options, .scope = GSW_SCOPE_GLOBAL, .whole_points = 500};
    oracle_matrix *matrix = oracle_stretched(32, 1.3);
    const gsw_grid *g = &matrix->view.grid;
    vectors v = make_vectors(oracle_points(g));
    slab mine = {.context = context}, whole = {.context = alone};
    gsw_multigrid_info info = {.size = sizeof info};
    const int right = open_both(&mine, &whole, matrix, matrix, v.b, 30) &&
                      make_multigrid(&mine, &options) == GSW_SUCCESS &&
                      make_multigrid(&whole, &options) == GSW_SUCCESS;
    const int64_t here = right ? iterations_of(&mine, GSW_CG) : 0;
    const int64_t one = right ? iterations_of(&whole, GSW_CG) : 0;
    check(here > 0 && llabs(here - one) <= 1, "iterations of a judged smoother", "stretched", g, -1,
          (double)(100 * here + one));
    check(right && gsw_multigrid_get_info(mine.multigrid, &info) == GSW_SUCCESS &&
              info.smoother == GSW_SMOOTHER_ILU0,
          "a judged smoother", "stretched", g, -1, info.smoother);
    close_case(&mine, &whole, &v, matrix);
}

/* ---- Faults -----------------------------------------------------------------------------------
 */

/* Pencils of the first process publish nothing: all solves end in time, with a status; the next
 * ones are right. */
static void a_silent_pencil_ends_all(const char *name) {
    const gsw_grid g = {40, 24, 32};
    oracle_matrix *matrix = oracle_random(&g, oracle_stencil_named(name), 7, ORACLE_POSITIVE);
    vectors v = make_vectors(oracle_points(&g));
    for (int silent = 1; silent >= 0; silent--) {
        slab s = {.context = context};
        const int right =
            open_slab(&s, transport, matrix, v.b, NULL, silent ? 1 : 20, 0) == GSW_SUCCESS &&
            make_factor(&s, GSW_ILU0, GSW_SCOPE_GLOBAL) == GSW_SUCCESS;
        check(right, "set-up", name, &g, GSW_ILU0, silent);
        if (silent && rank == 0)
            gsw_cuda_test_hooks(context, INT64_C(10000000000), 0, 0);
        const double begin = gsw_seconds_now();
        const int64_t iterations = right ? iterations_of(&s, GSW_BICGSTAB) : 0;
        check(silent ? iterations == -1 : iterations > 0, "the end of a solve", name, &g, GSW_ILU0,
              (double)iterations);
        check(!silent || gsw_seconds_now() - begin < 30, "seconds", name, &g, GSW_ILU0,
              gsw_seconds_now() - begin);
        gsw_cuda_test_hooks(context, INT64_C(10000000000), -1, 0);
        close_slab(&s);
        /* After a failure all begin again with a new transport. */
        gsw_mpi_transport_destroy(transport);
        check(gsw_mpi_transport_create(context, MPI_COMM_WORLD, &transport) == GSW_SUCCESS,
              "a new transport", name, &g, GSW_ILU0, silent);
    }
    free_vectors(&v);
    oracle_free(matrix);
}

/* A pencil of the first process publishes nothing while a factor is made in steps: all processes
 * end in time, with a status. With a new transport the next factor is right. */
static void a_silent_pencil_ends_a_factorisation(void) {
    const gsw_grid g = small_grid();
    oracle_matrix *matrix = oracle_random(&g, oracle_stencil_named("D3N7"), 7, ORACLE_POSITIVE);
    vectors v = make_vectors(oracle_points(&g));
    slab s = {.context = context}, again = {.context = context};
    MPI_Barrier(MPI_COMM_WORLD); /* the limit is short */
    const int64_t before = gsw_cuda_made_in_steps(context);
    const int right = open_slab(&s, transport, matrix, v.b, NULL, 1, 0) == GSW_SUCCESS &&
                      make_factor(&s, GSW_ILU0, GSW_SCOPE_GLOBAL) == GSW_SUCCESS;
    check(right, "set-up", "a silent pencil", &g, GSW_ILU0, 0);
    check_steps("a silent pencil", &g, GSW_ILU0, before, 1);
    if (rank == 0)
        gsw_cuda_test_hooks(context, INT64_C(10000000000), 0, 0);
    const double begin = gsw_seconds_now();
    const gsw_status status = refactor(&s);
    const double seconds = gsw_seconds_now() - begin;
    gsw_cuda_test_hooks(context, INT64_C(10000000000), -1, 0);
    check(status == GSW_ERROR_TIMEOUT || status == GSW_ERROR_COMMUNICATION,
          "the end of a factorisation", "a silent pencil", &g, GSW_ILU0, status);
    check(seconds < 8, "seconds", "a silent pencil", &g, GSW_ILU0, seconds);
    check(refactor(&s) != GSW_SUCCESS, "a factorisation after that", "a silent pencil", &g,
          GSW_ILU0, 0);
    check(apply(&s, v.x) != GSW_SUCCESS, "an application after that", "a silent pencil", &g,
          GSW_ILU0, 0);
    close_slab(&s);
    gsw_mpi_transport_destroy(transport);
    check(gsw_mpi_transport_create(context, MPI_COMM_WORLD, &transport) == GSW_SUCCESS,
          "a new transport", "a silent pencil", &g, GSW_ILU0, 0);
    compare_slabs("D3N7", matrix, matrix, matrix, GSW_ILU0, &again, 1);
    free_vectors(&v);
    oracle_free(matrix);
}

static void what_cannot_be_cut_is_refused(void) {
    const gsw_grid g = {20, 12, 7 * processes};
    const int32_t across[3] = {1, processes, 1};
    oracle_matrix *matrix = oracle_random(&g, oracle_stencil_named("D3N7"), 7, ORACLE_POSITIVE);
    vectors v = make_vectors(oracle_points(&g));
    slab s = {.context = context};
    const gsw_status status = open_slab(&s, transport, matrix, v.b, across, 5, 0);
    check(processes == 1 || (status == GSW_ERROR_UNSUPPORTED &&
                             strstr(gsw_context_message(context), "slabs in z") != NULL),
          "boxes that are no slabs", "D3N7", &g, -1, status);
    close_slab(&s);
    s = (slab){.context = context};
    check(open_slab(&s, transport, matrix, v.b, NULL, 5, 0) == GSW_SUCCESS, "thin slabs", "D3N7",
          &g, -1, 0);
    const gsw_status thin = make_factor(&s, GSW_ILU0, GSW_SCOPE_GLOBAL);
    check(processes == 1 || (thin == GSW_ERROR_UNSUPPORTED &&
                             strstr(gsw_context_message(context), "multiple of 8 planes") != NULL),
          "a factor of thin slabs", "D3N7", &g, GSW_ILU0, thin);
    close_case(&s, NULL, &v, matrix);
}

/* ---- The program ------------------------------------------------------------------------------
 */

static int local_rank(void) {
    MPI_Comm machine;
    int place;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &machine);
    MPI_Comm_rank(machine, &place);
    MPI_Comm_free(&machine);
    return place;
}

static int open_contexts(void) {
    const int devices = gsw_device_count();
    const gsw_context_options options = {.size = sizeof options,
                                         .backend = GSW_BACKEND_CUDA,
                                         .device = devices > 0 ? local_rank() % devices : 0};
    if (devices == 0 || gsw_context_create(&options, &context) != GSW_SUCCESS ||
        gsw_context_create(&options, &alone) != GSW_SUCCESS)
        return 0;
    host = oracle_context(1);
    return gsw_mpi_transport_create(context, MPI_COMM_WORLD, &transport) == GSW_SUCCESS &&
           gsw_mpi_transport_create(host, MPI_COMM_WORLD, &host_transport) == GSW_SUCCESS;
}

static void finish_with(const char *what, double *begin) {
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        printf("%s: %.1f s\n", what, gsw_seconds_now() - *begin);
    *begin = gsw_seconds_now();
}

/* Sweeps and two factors with a choice that the environment makes. Processes may choose
 * differently. */
static void sweeps_with(const char *variable, const char *value, int here) {
    if (here)
        setenv(variable, value, 1);
    sweeps_are_those_of_one_process(4);
    factors_follow_values(2, 2);
    unsetenv(variable);
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &processes);
    if (!open_contexts()) {
        if (rank == 0)
            puts("skipped: no CUDA device answers");
        MPI_Finalize();
        return 77;
    }
    double begin = gsw_seconds_now();
    sweeps_are_those_of_one_process(1);
    products_of_thin_slabs();
    finish_with("sweeps", &begin);
    factors_follow_values(INT32_MAX, INT32_MAX);
    factors_that_need_rows();
    arrays_that_some_lack();
    matrices_of_fp32();
    finish_with("factors", &begin);
    solves_take_the_iterations_of_one_process();
    inactive_points_are_those_of_the_cpu("ocean:0.35:48x44x64");
    inactive_points_are_those_of_the_cpu("reservoir:40x48x72");
    inactive_points_are_those_of_the_cpu("ocean:0.5:64x61x50");
    finish_with("solves", &begin);
    /* Processes of one device take turns of milliseconds: each hand-over may wait for one. */
    const int count = processes > gsw_device_count() ? 50 : 1000;
    many_applications_agree("D3N7", count);
    many_applications_agree("D3N27", count);
    finish_with("repeated applications", &begin);
    cycles_are_those_of_the_cpu();
    multigrid_takes_the_iterations_of_one_process();
    a_smoother_is_judged_as_on_one_process();
    finish_with("multigrid", &begin);
    what_cannot_be_cut_is_refused();
    setenv("GSW_CUDA_STAGED", "1", 1);
    cycles_are_those_of_the_cpu();
    unsetenv("GSW_CUDA_STAGED");
    sweeps_with("GSW_CUDA_STAGED", "1", 1);
    if (processes > 1)
        sweeps_with("GSW_CUDA_STAGED", "1", rank % 2);
    finish_with("staged", &begin);
    sweeps_with("GSW_CUDA_DEAL", "0", 1);
    sweeps_with("GSW_CUDA_DEAL", "1", 1);
    if (processes > 1) { /* pencils in different orders: they are not dealt */
        gsw_cuda_test_weight(context, rank % 2 ? 5 : 0);
        sweeps_with("GSW_CUDA_DEAL", "1", 1);
        gsw_cuda_test_weight(context, 0);
    }
    finish_with("slabs, and all dealt", &begin);
    if (processes > 1) {
        a_silent_pencil_ends_all("D3N7");
        a_silent_pencil_ends_all("D3N27");
        a_silent_pencil_ends_a_factorisation();
    }
    finish_with("faults", &begin);
    int all[2] = {checks, failures}, sum[2];
    MPI_Allreduce(all, sum, 2, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0)
        printf("%d%%: Checks: %d, Failures: %d, Errors: 0\n",
               sum[1] == 0 ? 100 : 99 - 99 * sum[1] / sum[0], sum[0], sum[1]);
    gsw_mpi_transport_destroy(host_transport);
    gsw_mpi_transport_destroy(transport);
    gsw_context_destroy(host);
    gsw_context_destroy(alone);
    gsw_context_destroy(context);
    MPI_Finalize();
    return sum[1] == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
