/* test_distributed.c: one grid on several processes. Threads act as processes, each with a context
 * of its own; so this test needs no MPI. */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "backend.h"
#include "common/seam.h"
#include "keep.h"
#include "thread_transport.h"

/* ---- The system, whole and in parts -----------------------------------------------------------
 */

typedef struct system_of_test {
    const oracle_matrix *matrix; /* and its mask, if it has one */
    gsw_factor_options factor;
    int32_t shape[3];
    double wait_limit;
    int repeats, check_product, solve, from_csr, f32;
    int spoils;  /* the process with a NaN on its diagonal for a while; 0: none */
    int formats; /* the factor takes values in several formats */
    int strays;  /* process 1 calls another function than the others */
    int others;  /* for a while the context has another partition, 1: before this one, 2: after */
    gsw_method method;
    const double *b;
    /* Results. */
    double *x, *product; /* of the whole grid; written box by box */
    gsw_status status[HUB_PROCESSES];
    char message[HUB_PROCESSES][512];
    int64_t iterations[HUB_PROCESSES];
    int differs; /* a repeated application gave other bits */
} system_of_test;

static void copy_box(const gsw_grid *g, const gsw_box *box, double *all, double *own, int to_own) {
    for (int64_t z = box->begin[2]; z < box->end[2]; z++) {
        for (int64_t y = box->begin[1]; y < box->end[1]; y++) {
            for (int64_t x = box->begin[0]; x < box->end[0]; x++, own++) {
                double *at = all + gsw_grid_row(g, x, y, z);
                *(to_own ? own : at) = to_own ? *at : *own;
            }
        }
    }
}

typedef struct part_of_test {
    gsw_context *context;
    gsw_partition *partition;
    gsw_matrix matrix;
    gsw_csr csr;   /* of the matrix; or it */
    int scattered; /* has been made by the library */
    gsw_operator *A;
    gsw_factor *factor;
    gsw_preconditioner *M;
    gsw_box box;
    int64_t points;
    double *arrays[GSW_STENCIL_MAX];
    uint8_t *active;
    double *b, *x, *again;
} part_of_test;

/* Adds an entry to those of a row, from `first` to k, so that columns ascend. */
static void insert_entry(int64_t *columns, double *values, int64_t first, int64_t k, int64_t column,
                         double value) {
    for (; k > first && columns[k - 1] > column; k--) {
        columns[k] = columns[k - 1];
        values[k] = values[k - 1];
    }
    columns[k] = column;
    values[k] = value;
}

/* The rows of the box as a CSR; all couplings inside the grid are stored, and zeros where lines
 * end, which one process alone leaves to gsw_matrix_fit(). */
static gsw_csr csr_of(const part_of_test *p, const system_of_test *s) {
    const gsw_grid *g = &s->matrix->view.grid;
    const gsw_stencil *stencil = &s->matrix->view.stencil;
    int64_t *row_ptr = malloc((size_t)(p->points + 1) * sizeof *row_ptr), k = 0;
    int64_t *columns = malloc((size_t)(p->points * stencil->count) * sizeof *columns);
    double *values = malloc((size_t)(p->points * stencil->count) * sizeof *values);
    const int alone = gsw_partition_processes(p->partition) == 1 || g->periodic;
    int64_t row = 0;
    for (int64_t z = p->box.begin[2]; z < p->box.end[2]; z++) {
        for (int64_t y = p->box.begin[1]; y < p->box.end[1]; y++) {
            for (int64_t x = p->box.begin[0]; x < p->box.end[0]; x++, row++) {
                row_ptr[row] = k + 1;
                for (int32_t e = 0; e < stencil->count; e++) {
                    const int64_t i = x + stencil->offsets[e].dx, j = y + stencil->offsets[e].dy,
                                  l = z + stencil->offsets[e].dz;
                    if (!alone && i == g->nx && j == y && l == z && g->nx > 4 &&
                        (j < g->ny - 1 || l < g->nz - 1)) {
                        columns[k] = gsw_grid_row(g, i, j, l) + 1; /* of the next line */
                        values[k++] = 0;
                    }
                    int64_t to[3] = {i, j, l};
                    if (gsw_grid_take_in(g, to))
                        insert_entry(columns, values, row_ptr[row] - 1, k++,
                                     gsw_grid_row(g, to[0], to[1], to[2]) + 1, p->arrays[e][row]);
                }
            }
        }
    }
    row_ptr[row] = k + 1;
    return (gsw_csr){.rows = p->points,
                     .nonzeros = k,
                     .row_ptr = row_ptr,
                     .columns = columns,
                     .values = values,
                     .index_type = GSW_I64,
                     .value_type = GSW_F64,
                     .base = 1};
}

/* The mask of the box. */
static uint8_t *mask_of(const part_of_test *p, const gsw_matrix *whole) {
    uint8_t *active = malloc((size_t)p->points), *at = active;
    for (int64_t z = p->box.begin[2]; z < p->box.end[2]; z++)
        for (int64_t y = p->box.begin[1]; y < p->box.end[1]; y++)
            for (int64_t x = p->box.begin[0]; x < p->box.end[0]; x++)
                *at++ = whole->active[gsw_grid_row(&whole->grid, x, y, z)];
    return active;
}

/* All but the mask, which is that of `scattered` already. */
static gsw_status open_values(part_of_test *p, const system_of_test *s) {
    const gsw_matrix *whole = &s->matrix->view;
    for (int32_t e = 0; e < whole->stencil.count; e++) {
        p->arrays[e] = malloc((size_t)p->points * sizeof(double));
        copy_box(&whole->grid, &p->box, s->matrix->arrays[e], p->arrays[e], 1);
    }
    if (s->from_csr == 1) {
        p->csr = csr_of(p, s);
        return gsw_partition_matrix_from_csr(p->partition, &whole->stencil, &p->csr, &p->matrix);
    }
    if (s->from_csr == 2) {
        p->scattered = 1;
        return gsw_partition_scatter(
            p->partition, 0, gsw_partition_rank(p->partition) == 0 ? whole : NULL, &p->matrix);
    }
    for (int32_t e = 0; s->f32 && e < whole->stencil.count; e++)
        for (int64_t i = 0; i < p->points; i++) {
            const float value = (float)p->arrays[e][i];
            memcpy((char *)p->arrays[e] + (size_t)i * sizeof value, &value, sizeof value);
        }
    const gsw_stencil_array array = {.values = (const void *const *)p->arrays,
                                     .value_type = s->f32 ? GSW_F32 : GSW_F64};
    return gsw_partition_matrix_from_stencil(p->partition, &whole->stencil, &array, &p->matrix);
}

static gsw_status open_matrix(part_of_test *p, const system_of_test *s) {
    const gsw_matrix *whole = &s->matrix->view;
    TRY(open_values(p, s));
    if (whole->active != NULL && !p->scattered)
        p->matrix.active = p->active = mask_of(p, whole);
    return GSW_SUCCESS;
}

/* A factorisation fails in the last process. Then all refuse to use it, and new values mend it. */
static gsw_status spoil_and_mend(part_of_test *p, const hub_rank *rank, system_of_test *s) {
    gsw_preconditioner *M = p->M;
    double *diagonal = p->arrays[s->matrix->view.stencil.center], kept = diagonal[0];
    if (rank->rank == s->spoils)
        diagonal[0] = NAN;
    s->differs |=
        gsw_factor_refactor(p->context, p->factor, &p->matrix, NULL) != GSW_ERROR_ZERO_PIVOT;
    diagonal[0] = kept;
    memset(p->again, 0, (size_t)p->points * sizeof *p->again);
    for (int r = 0; r < 2; r++)
        s->differs |=
            gsw_cg(p->context, p->A, M, NULL, p->b, p->again, NULL) != GSW_ERROR_INVALID_ARGUMENT;
    s->differs |= gsw_preconditioner_apply(p->context, M, p->b, p->again) == GSW_SUCCESS;
    TRY(gsw_factor_refactor(p->context, p->factor, &p->matrix, NULL));
    TRY(gsw_preconditioner_apply(p->context, M, p->b, p->again));
    s->differs |= memcmp(p->x, p->again, (size_t)p->points * sizeof *p->x) != 0;
    return GSW_SUCCESS;
}

/* Two systems in one call end as the one in p->x has ended alone. */
static gsw_status solve_several(part_of_test *p, system_of_test *s, gsw_preconditioner *M,
                                int64_t iterations) {
    const size_t bytes = (size_t)p->points * sizeof(double);
    double *b = malloc(2 * bytes), *x = calloc(2, bytes);
    gsw_krylov_result results[2] = {{.size = sizeof results[0]}, {.size = sizeof results[0]}};
    for (int i = 0; i < 2; i++)
        memcpy(b + i * p->points, p->b, bytes);
    const gsw_status status = gsw_krylov_many(p->context, s->method, p->A, M, NULL, 2, b, p->points,
                                              x, p->points, results);
    for (int i = 0; i < 2; i++)
        s->differs |= memcmp(x + i * p->points, p->x, bytes) != 0 ||
                      results[i].iterations != iterations || !results[i].converged;
    free(x);
    free(b);
    return status;
}

/* Values that come as a CSR, as arrays of another place, and as a CSR again. */
static gsw_status take_formats(part_of_test *p, system_of_test *s) {
    gsw_matrix csr = {.partition = NULL}, arrays;
    const gsw_stencil *stencil = &s->matrix->view.stencil;
    const gsw_stencil_array array = {.values = (const void *const *)p->arrays,
                                     .value_type = GSW_F64};
    if (!p->csr.values)
        p->csr = csr_of(p, s);
    TRY(gsw_partition_matrix_from_csr(p->partition, stencil, &p->csr, &csr));
    TRY(gsw_partition_matrix_from_stencil(p->partition, stencil, &array, &arrays));
    double *diagonal = p->arrays[stencil->center];
    for (int turn = 0; turn < 3; turn++) {
        for (int64_t i = 0; i < p->points; i++) /* arrays that a CSR must not read */
            diagonal[i] *= turn == 2 ? 2 : 1;
        TRY(gsw_factor_refactor(p->context, p->factor, turn == 1 ? &arrays : &csr, NULL));
        TRY(gsw_preconditioner_apply(p->context, p->M, p->b, p->again));
        s->differs |= memcmp(p->x, p->again, (size_t)p->points * sizeof *p->x) != 0;
    }
    return GSW_SUCCESS;
}

static gsw_status work(part_of_test *p, hub_rank *rank, const gsw_transport *transport,
                       system_of_test *s) {
    const gsw_grid *g = &s->matrix->view.grid;
    gsw_partition_options options = {.size = sizeof options, .wait_limit = s->wait_limit};
    gsw_partition *other = NULL;
    if (s->others == 1)
        TRY(gsw_partition_create(p->context, transport, g, NULL, &other));
    memcpy(options.processes, s->shape, sizeof options.processes);
    TRY(gsw_partition_create(p->context, transport, g, &options, &p->partition));
    if (s->others == 2)
        TRY(gsw_partition_create(p->context, transport, g, NULL, &other));
    gsw_partition_destroy(other);
    p->box = gsw_partition_box(p->partition, rank->rank);
    p->points = (p->box.end[0] - p->box.begin[0]) * (p->box.end[1] - p->box.begin[1]) *
                (p->box.end[2] - p->box.begin[2]);
    p->b = malloc((size_t)p->points * sizeof(double));
    p->x = malloc((size_t)p->points * sizeof(double));
    p->again = malloc((size_t)p->points * sizeof(double));
    copy_box(g, &p->box, (double *)(uintptr_t)s->b, p->b, 1);
    TRY(open_matrix(p, s));
    TRY(gsw_operator_from_matrix(p->context, &p->matrix, &p->A));
    if (s->check_product) {
        TRY(gsw_operator_apply(p->context, p->A, p->b, p->x));
        copy_box(g, &p->box, s->product, p->x, 0);
    }
    TRY(gsw_factor_create(p->context, &p->matrix, &s->factor, &p->factor));
    TRY(gsw_preconditioner_from_factor(p->context, p->factor, &p->M));
    if (s->strays && rank->rank == 1)
        return gsw_factor_refactor(p->context, p->factor, &p->matrix, NULL);
    gsw_preconditioner *M = p->M;
    for (int64_t i = 0; i < p->points; i++)
        p->x[i] = NAN;
    if (s->solve) {
        gsw_krylov_result result = {.size = sizeof result};
        memset(p->x, 0, (size_t)p->points * sizeof *p->x);
        TRY(gsw_krylov(p->context, s->method, p->A, M, NULL, p->b, p->x, &result));
        s->iterations[rank->rank] = result.iterations;
        TRY(solve_several(p, s, M, result.iterations));
    } else {
        TRY(gsw_preconditioner_apply(p->context, M, p->b, p->x));
    }
    copy_box(g, &p->box, s->x, p->x, 0);
    for (int r = 0; r < s->repeats; r++) {
        if (r % 2 == 1)
            TRY(gsw_factor_refactor(p->context, p->factor, &p->matrix, NULL));
        TRY(gsw_preconditioner_apply(p->context, M, p->b, p->again));
        if (memcmp(p->x, p->again, (size_t)p->points * sizeof *p->x) != 0)
            s->differs = 1;
    }
    if (s->formats)
        TRY(take_formats(p, s));
    return s->spoils > 0 ? spoil_and_mend(p, rank, s) : GSW_SUCCESS;
}

static void close_part(part_of_test *p) {
    gsw_preconditioner_destroy(p->M);
    gsw_factor_destroy(p->factor);
    gsw_operator_destroy(p->A);
    if (p->scattered)
        gsw_matrix_release(p->context, &p->matrix);
    gsw_csr_free(&p->csr);
    gsw_partition_destroy(p->partition);
    gsw_context_destroy(p->context);
    for (int32_t e = 0; e < GSW_STENCIL_MAX; e++)
        free(p->arrays[e]);
    free(p->active);
    free(p->b);
    free(p->x);
    free(p->again);
}

static void body(hub_rank *rank, const gsw_transport *transport, void *user) {
    system_of_test *s = user;
    part_of_test p = {.context = backend_context(1)};
    s->status[rank->rank] = work(&p, rank, transport, s);
    snprintf(s->message[rank->rank], sizeof s->message[0], "%s", gsw_context_message(p.context));
    close_part(&p);
}

/* Runs `body` in so many threads; all succeed. */
static void run_all(int processes, int jitter, system_of_test *s) {
    hub_run(processes, jitter, -1, body, s);
    for (int r = 0; r < processes; r++)
        ck_assert_msg(s->status[r] == GSW_SUCCESS, "process %d: %s", r, s->message[r]);
}

/* Each process waits for the others for at most 20 s. */
static system_of_test system_of(const oracle_matrix *matrix, gsw_factor_options factor,
                                const double *b, double *x) {
    factor.size = sizeof factor;
    return (system_of_test){.matrix = matrix, .factor = factor, .wait_limit = 20, .b = b, .x = x};
}

/* The same preconditioner on one process, as the packed kernels compute it. */
static gsw_status apply_whole(const system_of_test *s, double *x) {
    gsw_context *context = backend_context(2);
    gsw_factor *factor = NULL;
    const gsw_factor_options options = {.size = sizeof options,
                                        .kind = s->factor.kind,
                                        .omega = s->factor.omega,
                                        .pivot_shift = s->factor.pivot_shift};
    gsw_status status = gsw_factor_create(context, &s->matrix->view, &options, &factor);
    if (status == GSW_SUCCESS)
        status = gsw_factor_solve(context, factor, 1, s->b, 0, x, 0);
    gsw_factor_destroy(factor);
    gsw_context_destroy(context);
    return status;
}

/* ---- Global preconditioners are those of one process ------------------------------------------
 */

/* Ways to cut a grid: {0, 0, 0} is the library's choice. */
static const int32_t shapes[][4] = {{1, 0, 0, 0}, {2, 0, 0, 0}, {3, 0, 0, 0}, {4, 0, 0, 0},
                                    {6, 0, 0, 0}, {2, 2, 1, 1}, {2, 1, 2, 1}, {4, 2, 2, 1},
                                    {4, 1, 2, 2}, {4, 2, 1, 2}, {6, 3, 2, 1}, {8, 2, 2, 2},
                                    {3, 3, 1, 1}, {3, 1, 3, 1}, {12, 2, 3, 2}};
enum { SHAPES = sizeof shapes / sizeof *shapes };

#ifdef GSW_SLOW_BUILD
enum { SHAPE_STEP = 3 };
#else
enum { SHAPE_STEP = 1 };
#endif

static int fits(const gsw_grid *g, const int32_t *shape) {
    const int64_t extent[3] = {g->nx, g->ny, g->nz};
    if (shape[1] == 0)
        return g->nx * g->ny * g->nz >= 8 * shape[0] && (g->nz >= shape[0] || g->nx >= shape[0]);
    for (int axis = 0; axis < 3; axis++)
        if (shape[1 + axis] > extent[axis])
            return 0;
    return 1;
}

/* Whether there are more processes than planes (in 2D lines, in 1D points). */
static int too_thin(const gsw_grid *g, const int32_t *shape) {
    return (g->nz > 1 ? g->nz : g->ny > 1 ? g->ny : g->nx) < shape[0];
}

/* Small grids, so that boxes of one point's width are among the parts. */
static const gsw_grid grids[] = {{7, 5, 6},  {13, 3, 12}, {4, 9, 3}, {17, 11, 1},
                                 {1, 6, 13}, {30, 8, 9},  {3, 2, 2}, {135, 3, 4}};
enum { GRIDS = sizeof grids / sizeof *grids };

/* A random mask, and NaN in all that a row of an inactive point, and b there, may hold. */
static void mask_matrix(oracle_matrix *matrix, int share, uint8_t *active, double *b) {
    const gsw_matrix *view = &matrix->view;
    const int64_t points = oracle_points(&view->grid);
    const double *drawn = keep_random(9, points);
    for (int64_t row = 0; row < points; row++) {
        active[row] = fabs(drawn[row]) * 100 < share;
        for (int32_t e = 0; e < view->stencil.count && !active[row]; e++)
            ((double *)matrix->arrays[e])[row] = NAN;
        if (!active[row])
            b[row] = NAN;
    }
    matrix->view.active = active;
}

/* Whether a CSR can hold the couplings around a grid: all lead to other points. */
static int fits_around(const gsw_grid *g, const gsw_stencil *stencil) {
    const int64_t extent[3] = {g->nx, g->ny, g->nz};
    for (int32_t e = 0; e < stencil->count; e++) {
        const int32_t d[3] = {stencil->offsets[e].dx, stencil->offsets[e].dy,
                              stencil->offsets[e].dz};
        for (int axis = 0; axis < 3; axis++)
            if ((g->periodic >> axis & 1) && 2 * abs(d[axis]) >= extent[axis])
                return 0;
    }
    return 1;
}

/* One of the stencils on all grids. `share`: of active points, in percent; `periodic`: axes of the
 * grids; each grid with each kind tries one way to cut it in `step`, not always the same ones. */
static void compare_with_one_process(int which, int share, int32_t periodic, int step) {
    static const gsw_factor_kind kinds[] = {GSW_ILU0, GSW_DILU,         GSW_SSOR,        GSW_JACOBI,
                                            GSW_IC0,  GSW_FACTOR_LOWER, GSW_FACTOR_UPPER};
    const char *name;
    const gsw_stencil *stencil = oracle_stencil(which, &name);
    for (int i = 0; i < GRIDS; i++) {
        const gsw_grid *g = &grids[i];
        const int64_t points = g->nx * g->ny * g->nz;
        oracle_matrix *matrix =
            keep_matrix_of(g, stencil, (uint64_t)(which * 100 + i), ORACLE_POSITIVE);
        matrix->view.grid.periodic = periodic;
        double *b = keep_random(5, points), *x = keep_random(6, points);
        double *expected = keep_random(7, points);
        double *product = keep_random(8, points);
        uint8_t *active = keep(KEPT_BYTES, NULL, malloc((size_t)points));
        gsw_context *context = keep(KEPT_CONTEXT, NULL, backend_context(1));
        if (share < 100)
            mask_matrix(matrix, share, active, b);
        for (int k = 0; k < 7; k++) {
            for (int j = (i + k) % step; j < SHAPES; j += step) {
                const double omega = kinds[k] == GSW_SSOR ? 1.3 : 0;
                const gsw_factor_options factor = {
                    .kind = kinds[k], .scope = GSW_SCOPE_GLOBAL, .omega = omega};
                system_of_test s = system_of(matrix, factor, b, x);
                memcpy(s.shape, shapes[j] + 1, sizeof s.shape);
                s.check_product = k == 0;
                s.from_csr = (j + k) % 3;
                if (s.from_csr == 1 && !fits_around(&matrix->view.grid, stencil))
                    s.from_csr = 0;
                s.product = product;
                if ((shapes[j][0] > 1 && !fits(g, shapes[j])) ||
                    apply_whole(&s, expected) != GSW_SUCCESS)
                    continue;
                hub_run(shapes[j][0], 0, -1, body, &s);
                if (too_thin(g, shapes[j]) && kinds[k] != GSW_JACOBI) {
                    for (int r = 0; r < shapes[j][0]; r++) {
                        ck_assert_int_eq(s.status[r], GSW_ERROR_UNSUPPORTED);
                        ck_assert_ptr_nonnull(strstr(s.message[r], "exact sweeps need slabs in "));
                    }
                    continue;
                }
                for (int r = 0; r < shapes[j][0]; r++)
                    ck_assert_msg(s.status[r] == GSW_SUCCESS,
                                  "%s, grid %d, kind %d, csr %d, shape %d: %s", name, i, k,
                                  s.from_csr, j, s.message[r]);
                const double error = oracle_error(GSW_F64, points, x, expected);
                ck_assert_msg(error <= 1e-13, "%s, grid %d, shape %d, kind %d: error %g", name, i,
                              j, k, error);
                ck_assert_msg(memcmp(x, expected, (size_t)points * sizeof *x) == 0,
                              "%s, grid %d, shape %d, kind %d: other bits than gsw_factor_solve()",
                              name, i, j, k);
                if (k == 0) {
                    ck_assert_int_eq(gsw_spmv(context, &matrix->view, GSW_F64, b, expected),
                                     GSW_SUCCESS);
                    ck_assert_msg(
                        periodic ? oracle_error(GSW_F64, points, product, expected) <= 1e-13
                                 : memcmp(product, expected, (size_t)points * sizeof *product) == 0,
                        "%s, grid %d, shape %d: other results than gsw_spmv()", name, i, j);
                }
            }
        }
    }
}

TEST(global_sweeps_are_those_of_one_process) {
    compare_with_one_process(_i, 100, 0, SHAPE_STEP);
}

TEST(inactive_points_are_those_of_one_process) {
    static const int shares[] = {0, 35, 70, 95};
    compare_with_one_process(_i, shares[_i % 4], 0, 4 + SHAPE_STEP);
}

TEST(periodic_axes_are_those_of_one_process) {
    compare_with_one_process(_i, _i % 2 ? 70 : 100, 1 + _i % 7, 2 + SHAPE_STEP);
}

/* Shifted pivots depend on whole rows, and values may be fp32. */
TEST(shifts_and_fp32_are_those_of_one_process) {
    static const gsw_factor_kind kinds[] = {GSW_ILU0, GSW_IC0, GSW_DILU, GSW_SSOR};
    static const int32_t several[][4] = {{1, 0, 0, 0}, {2, 0, 0, 0}, {3, 0, 0, 0},
                                         {2, 2, 1, 1}, {4, 2, 2, 1}, {4, 1, 2, 2}};
    const gsw_grid g = {67, 6, 9};
    const int64_t points = 67 * 6 * 9;
    const int f32 = _i % 2, shifts = _i / 2 % 2;
    oracle_matrix *matrix = keep_matrix_of(&g, oracle_stencil_named(_i / 4 ? "D3N27" : "D3N7"),
                                           (uint64_t)_i, ORACLE_POSITIVE);
    double *b = keep_random(5, points), *x = keep_random(6, points);
    double *alone = keep_random(7, points);
    double *diagonal = matrix->arrays[matrix->view.stencil.center];
    for (int64_t z = 0; shifts && z < g.nz; z += 2)
        diagonal[z == 0 ? 0 : gsw_grid_row(&g, 5 + z, 3, z)] = 0;
    for (int k = 0; k < 4; k++) {
        for (int j = 0; j < 6; j++) {
            const gsw_factor_options factor = {
                .kind = kinds[k], .scope = GSW_SCOPE_GLOBAL, .pivot_shift = shifts ? 0.5 : 0};
            system_of_test s = system_of(matrix, factor, b, x);
            memcpy(s.shape, several[j] + 1, sizeof s.shape);
            s.repeats = 2;
            s.f32 = f32;
            run_all(several[j][0], 0, &s);
            if (j == 0 && f32)
                memcpy(alone, x, (size_t)points * sizeof *x);
            else if (j == 0)
                ck_assert_int_eq(apply_whole(&s, alone), GSW_SUCCESS);
            ck_assert_msg(memcmp(x, alone, (size_t)points * sizeof *x) == 0,
                          "shape %d, kind %d: other bits than alone", j, k);
            ck_assert(!s.differs);
        }
    }
}

static int64_t iterations_of(const char *problem, gsw_method method, gsw_factor_kind kind,
                             gsw_scope scope, const int32_t *shape) {
    oracle_matrix whole = {.view = *keep_problem(problem)};
    const int64_t points = oracle_points(&whole.view.grid);
    for (int32_t e = 0; e < whole.view.stencil.count; e++)
        whole.arrays[e] = (void *)(uintptr_t)whole.view.array.values[e];
    double *b = keep_random(3, points), *x = keep_random(4, points);
    system_of_test s = system_of(&whole, (gsw_factor_options){.kind = kind, .scope = scope}, b, x);
    s.wait_limit = 60;
    memcpy(s.shape, shape + 1, sizeof s.shape);
    s.solve = 1;
    s.method = method;
    run_all(shape[0], 0, &s);
    for (int r = 0; r < shape[0]; r++)
        ck_assert_int_eq(s.iterations[r], s.iterations[0]);
    ck_assert(!s.differs);
    return s.iterations[0];
}

TEST(global_solves_take_the_iterations_of_one_process) {
    static const struct {
        const char *problem;
        gsw_method method;
        gsw_factor_kind kind;
    } cases[] = {
        {"poisson:24x20x16", GSW_CG, GSW_IC0},           {"lognormal:16x16x16", GSW_CG, GSW_IC0},
        {"convection:20x17x19", GSW_BICGSTAB, GSW_ILU0}, {"hpcg:12x12x12", GSW_CG, GSW_SSOR},
        {"convection:16x16x16", GSW_GMRES, GSW_DILU},    {"poisson:40x40", GSW_CG, GSW_IC0}};
    const int32_t one[4] = {1, 0, 0, 0},
                  several[4][4] = {{2, 0, 0, 0}, {3, 0, 0, 0}, {4, 2, 2, 1}, {6, 0, 0, 0}};
    const int64_t alone =
        iterations_of(cases[_i].problem, cases[_i].method, cases[_i].kind, GSW_SCOPE_GLOBAL, one);
    for (int j = 0; j < 4; j++)
        ck_assert_int_eq(iterations_of(cases[_i].problem, cases[_i].method, cases[_i].kind,
                                       GSW_SCOPE_GLOBAL, several[j]),
                         alone);
    ck_assert_int_ge(iterations_of(cases[_i].problem, cases[_i].method, cases[_i].kind,
                                   GSW_SCOPE_LOCAL, several[2]),
                     alone);
}

/* With the same boxes: whole solves, while messages are late and while they are not. */
TEST(repeated_solves_have_the_same_bits) {
    static const int32_t several[3][4] = {{3, 0, 0, 0}, {4, 2, 2, 1}, {4, 1, 2, 2}};
    const gsw_grid g = {13, 11, 12};
    const int64_t points = oracle_points(&g);
    oracle_matrix *matrix = keep_matrix_of(&g, oracle_stencil_named("D3N27"), 4, ORACLE_POSITIVE);
    double *b = keep_random(5, points), *x = keep_random(6, points);
    double *first = keep_random(7, points);
    for (int j = 0; j < 3; j++) {
        system_of_test s = system_of(
            matrix, (gsw_factor_options){.kind = GSW_ILU0, .scope = (gsw_scope)(_i % 2)}, b, x);
        s.wait_limit = 60;
        memcpy(s.shape, several[j] + 1, sizeof s.shape);
        s.solve = 1;
        s.method = _i / 2 ? GSW_GMRES : GSW_BICGSTAB;
        for (int repeat = 0; repeat < 3; repeat++) {
            run_all(several[j][0], repeat % 2 ? 40 : 0, &s);
            if (repeat == 0)
                memcpy(first, x, (size_t)points * sizeof *x);
            ck_assert_mem_eq(x, first, (size_t)points * sizeof *x);
        }
    }
}

/* With an overlap as large as the grid, each process solves the whole system. */
TEST(overlaps_reach_across_boxes) {
    static const int32_t several[3][4] = {{3, 0, 0, 0}, {4, 2, 2, 1}, {6, 1, 2, 3}};
    const gsw_grid g = {7, 8, 9};
    const int64_t points = 7 * 8 * 9;
    oracle_matrix *matrix =
        keep_matrix_of(&g, oracle_stencil_named(_i % 2 ? "D3N27" : "D3N13"), 3, ORACLE_POSITIVE);
    double *b = keep_random(5, points), *x = keep_random(6, points);
    double *expected = keep_random(7, points);
    for (int j = 0; j < 3; j++) {
        system_of_test s = system_of(matrix, (gsw_factor_options){.overlap = 9}, b, x);
        memcpy(s.shape, several[j] + 1, sizeof s.shape);
        s.repeats = 4;
        ck_assert_int_eq(apply_whole(&s, expected), GSW_SUCCESS);
        run_all(several[j][0], 0, &s);
        ck_assert_int_eq(s.differs, 0);
        ck_assert_double_le(oracle_error(GSW_F64, points, x, expected), 1e-14);
        s.factor.overlap = 2; /* less: another solution */
        hub_run(several[j][0], 0, -1, body, &s);
        ck_assert_int_eq(s.status[0], GSW_SUCCESS);
        ck_assert_double_ge(oracle_error(GSW_F64, points, x, expected), 1e-12);
    }
}

/* ---- Timing, and processes that do not answer --------------------------------------------------
 */

TEST(late_messages_change_nothing) {
    const gsw_grid g = {9, 7, 8};
    const int64_t points = 9 * 7 * 8;
    static const int32_t cuts[][3] = {{1, 1, 4}, {1, 2, 2}, {2, 1, 2}};
    const char *const names[] = {"D3N7", "D3N27"};
    oracle_matrix *matrix =
        keep_matrix_of(&g, oracle_stencil_named(names[_i % 2]), 11, ORACLE_POSITIVE);
    double *b = keep_random(5, points), *x = keep_random(6, points);
    system_of_test s =
        system_of(matrix, (gsw_factor_options){.kind = GSW_ILU0, .scope = GSW_SCOPE_GLOBAL}, b, x);
    s.wait_limit = 60;
    memcpy(s.shape, cuts[_i / 2], sizeof s.shape);
    s.repeats = 250;
    run_all(4, 40, &s);
    ck_assert_int_eq(s.differs, 0);
}

/* A small system; each test that has it as a fixture gets its own. */
static struct {
    oracle_matrix *matrix;
    double *b, *x;
} small;

static void open_small(void) {
    const gsw_grid g = {9, 7, 8};
    small.matrix = keep_matrix_of(&g, oracle_stencil_named("D3N7"), 11, ORACLE_POSITIVE);
    small.b = keep_random(5, oracle_points(&g));
    small.x = keep_random(6, oracle_points(&g));
}

static system_of_test small_system(gsw_factor_options factor) {
    return system_of(small.matrix, factor, small.b, small.x);
}

TEST(values_may_come_in_another_format) {
    for (int from_csr = 0; from_csr < 3; from_csr++) {
        system_of_test s = small_system((gsw_factor_options){.scope = (gsw_scope)(from_csr % 2)});
        s.from_csr = from_csr;
        s.formats = 1;
        run_all(3, 0, &s);
        ck_assert_msg(!s.differs, "the first ones in format %d", from_csr);
    }
}

TEST(a_silent_process_ends_the_others) {
    system_of_test s =
        small_system((gsw_factor_options){.kind = GSW_ILU0, .scope = GSW_SCOPE_GLOBAL});
    s.wait_limit = 0.2;
    const time_t began = time(NULL);
    hub_run(4, 0, 2, body, &s);
    ck_assert_int_le(time(NULL) - began, 5);
    for (int r = 0; r < 4; r++)
        ck_assert_msg(s.status[r] == GSW_ERROR_TIMEOUT, "%d: %s", r, s.message[r]);
    s.wait_limit = 20;
    run_all(4, 0, &s);
}

/* As after an error that one process alone has seen. */
TEST(a_process_that_calls_another_function_ends_all) {
    system_of_test s = small_system((gsw_factor_options){.kind = GSW_JACOBI});
    s.wait_limit = 5;
    s.method = GSW_BICGSTAB;
    s.solve = 1;
    s.strays = 1;
    hub_run(3, 0, -1, body, &s);
    for (int r = 0; r < 3; r++) {
        ck_assert_msg(s.status[r] == GSW_ERROR_COMMUNICATION, "%d: %s", r, s.message[r]);
        ck_assert_ptr_nonnull(strstr(s.message[r], "another function"));
    }
}

TEST(a_partition_leaves_the_sums_of_others) {
    int64_t alone = 0;
    for (int others = 0; others < 3; others++) {
        system_of_test s = small_system((gsw_factor_options){.kind = GSW_JACOBI});
        s.wait_limit = 5;
        s.shape[0] = s.shape[2] = 1;
        s.shape[1] = 3;
        s.method = GSW_BICGSTAB;
        s.solve = 1;
        s.others = others;
        run_all(3, 0, &s);
        for (int r = 0; r < 3; r++) {
            alone = others == 0 ? s.iterations[r] : alone;
            ck_assert_int_eq(s.iterations[r], alone);
        }
    }
}

/* Transports of 3 processes and of one, in one context. */
static void mixed_body(hub_rank *rank, const gsw_transport *transport, void *user) {
    const gsw_grid g = {9, 7, 8};
    gsw_status *status = user;
    gsw_context *context = backend_context(1);
    gsw_partition *first = NULL, *second = NULL;
    status[rank->rank] = gsw_partition_create(context, transport, &g, NULL, &first);
    if (status[rank->rank] == GSW_SUCCESS)
        status[rank->rank] = gsw_partition_create(context, NULL, &g, NULL, &second);
    if (!strstr(gsw_context_message(context), "a partition of other processes"))
        status[rank->rank] = GSW_SUCCESS;
    gsw_partition_destroy(second);
    gsw_partition_destroy(first);
    gsw_context_destroy(context);
}

TEST(partitions_of_a_context_have_the_same_processes) {
    gsw_status status[HUB_PROCESSES];
    hub_run(3, 0, -1, mixed_body, status);
    for (int r = 0; r < 3; r++)
        ck_assert_int_eq(status[r], GSW_ERROR_INVALID_ARGUMENT);
}

/* What process 1 passes in another way than the others. */
typedef enum difference {
    NO_GRID,
    IN_GRID,
    IN_CUTS,
    IN_STENCIL,
    IN_KIND,
    IN_SCOPE,
    IN_OMEGA,
    IN_ROOT,
    NO_PARTITION,
    NO_OPERATOR,
    NO_FACTOR,
    IN_RTOL,
    IN_METHOD,
    NO_B
} difference;
enum { DIFFERENCES = NO_B + 1 };

typedef struct differing_calls {
    const oracle_matrix *matrix;
    difference in;
    gsw_status status[HUB_PROCESSES];
    char message[HUB_PROCESSES][512];
} differing_calls;

/* A solve that one process calls wrongly, and one that all call alike. */
static gsw_status solve_differently(part_of_test *p, difference in, int other) {
    enum { POINTS = 9 * 7 * 8 }; /* at least those of a box */
    double b[POINTS], x[POINTS] = {0}, center[POINTS], others[POINTS];
    gsw_stencil stencil;
    TRY(gsw_stencil_named("D3N7", &stencil));
    for (int i = 0; i < POINTS; i++) {
        center[i] = 7;
        others[i] = -1;
    }
    const void *values[7] = {others, others, others, center, others, others, others};
    const gsw_stencil_array array = {.values = values, .value_type = GSW_F64};
    TRY(gsw_partition_matrix_from_stencil(p->partition, &stencil, &array, &p->matrix));
    TRY(gsw_operator_from_matrix(p->context, &p->matrix, &p->A));
    const gsw_operator *A = p->A;
    gsw_krylov_options options = {.size = sizeof options};
    gsw_random_vector(7, POINTS, b);
    options.rtol = other && in == IN_RTOL ? -1 : 1e-8;
    const gsw_method method = other && in == IN_METHOD ? GSW_CG : GSW_BICGSTAB;
    const gsw_status status =
        gsw_krylov(p->context, method, A, NULL, &options, other && in == NO_B ? NULL : b, x, NULL);
    char message[512];
    snprintf(message, sizeof message, "%s", gsw_context_message(p->context));
    TRY(gsw_bicgstab(p->context, A, NULL, NULL, b, x, NULL));
    return gsw_context_fail(p->context, status, message);
}

static gsw_status call_differently(part_of_test *p, const differing_calls *d, int other,
                                   const gsw_transport *transport) {
    const difference in = d->in;
    const gsw_matrix *whole = &d->matrix->view;
    gsw_grid g = whole->grid;
    g.nx += other && in == IN_GRID;
    gsw_partition_options options = {.size = sizeof options, .wait_limit = 5};
    options.processes[1] = other && in == IN_CUTS ? 3 : 1;
    TRY(gsw_partition_create(p->context, transport, other && in == NO_GRID ? NULL : &g, &options,
                             other && in == NO_PARTITION ? NULL : &p->partition));
    p->scattered = in == IN_ROOT;
    if (in == IN_ROOT)
        return gsw_partition_scatter(p->partition, other ? 1 : 0, whole, &p->matrix);
    gsw_stencil stencil = whole->stencil;
    if (other && in == IN_STENCIL)
        stencil.offsets[0].dz = -2;
    const gsw_stencil_array array = {.values = (const void *const *)d->matrix->arrays,
                                     .value_type = GSW_F64};
    if (in >= IN_RTOL)
        return solve_differently(p, in, other);
    TRY(gsw_partition_matrix_from_stencil(p->partition, &stencil, &array, &p->matrix));
    TRY(gsw_operator_from_matrix(p->context, &p->matrix,
                                 other && in == NO_OPERATOR ? NULL : &p->A));
    gsw_factor_options factor = {.size = sizeof factor,
                                 .kind = GSW_SSOR,
                                 .scope = GSW_SCOPE_GLOBAL,
                                 .omega = other && in == IN_OMEGA ? 1.25 : 1.5};
    if (other && in == IN_KIND)
        factor.kind = GSW_ILU0;
    if (other && in == IN_SCOPE)
        factor.scope = GSW_SCOPE_LOCAL;
    return gsw_factor_create(p->context, &p->matrix, &factor,
                             other && in == NO_FACTOR ? NULL : &p->factor);
}

static void differing_body(hub_rank *rank, const gsw_transport *transport, void *user) {
    differing_calls *d = user;
    part_of_test p = {.context = backend_context(1)};
    d->status[rank->rank] = call_differently(&p, d, rank->rank == 1, transport);
    snprintf(d->message[rank->rank], sizeof d->message[0], "%s", gsw_context_message(p.context));
    close_part(&p);
}

TEST(calls_that_differ_between_processes_are_refused_by_all) {
    const gsw_grid g = {9, 7, 8};
    oracle_matrix *matrix = keep_matrix_of(&g, oracle_stencil_named("D3N7"), 11, ORACLE_POSITIVE);
    for (int in = 0; in < DIFFERENCES; in++) {
        static const char *const what[DIFFERENCES] = {"grid is NULL",
                                                      "grid or options: process 1",
                                                      "grid or options: process 1",
                                                      "stencil: process 1",
                                                      "options: process 1",
                                                      "options: process 1",
                                                      "options: process 1",
                                                      "root: process 1",
                                                      "partition is NULL",
                                                      "op is NULL",
                                                      "factor is NULL",
                                                      "rtol is -1",
                                                      "options or count: process 1",
                                                      "b is NULL"};
        differing_calls d = {.matrix = matrix, .in = (difference)in};
        hub_run(3, 0, -1, differing_body, &d);
        for (int r = 0; r < 3; r++) {
            ck_assert_msg(d.status[r] == GSW_ERROR_INVALID_ARGUMENT, "%d, %d: %s", in, r,
                          d.message[r]);
            ck_assert_msg(strstr(d.message[r], what[in]) != NULL, "%d, %d: %s", in, r,
                          d.message[r]);
        }
    }
}

TEST(a_bad_pivot_is_reported_by_all) {
    const int64_t row = 3 + 9 * (2 + 7 * 5);
    for (int32_t e = 0; e < 7; e++)
        ((double *)small.matrix->arrays[e])[row] = 0;
    static const gsw_factor_options options[] = {
        {.kind = GSW_ILU0, .scope = GSW_SCOPE_GLOBAL},
        {.kind = GSW_ILU0, .scope = GSW_SCOPE_LOCAL},
        {.kind = GSW_ILU0, .scope = GSW_SCOPE_LOCAL, .overlap = 1},
        {.kind = GSW_JACOBI, .scope = GSW_SCOPE_GLOBAL}};
    for (int i = 0; i < 8; i++) {
        const int from_csr = i / 4; /* of base 1 */
        system_of_test s = small_system(options[i % 4]);
        s.from_csr = from_csr;
        hub_run(4, 0, -1, body, &s);
        for (int r = 0; r < 4; r++) {
            ck_assert_int_eq(s.status[r], GSW_ERROR_ZERO_PIVOT);
            ck_assert_msg(
                strstr(s.message[r], from_csr ? "row 337 (1-based), (x, y, z) = (3, 2, 5)"
                                              : "row 336 (0-based), (x, y, z) = (3, 2, 5)") != NULL,
                "%d, %d: %s", i, r, s.message[r]);
        }
    }
}

TEST(a_failed_factorisation_is_refused_by_all) {
    static const gsw_factor_kind kinds[] = {GSW_ILU0, GSW_SSOR, GSW_JACOBI};
    for (int kind = 0; kind < 3; kind++)
        for (int scope = 0; scope < 2; scope++)
            for (int overlap = 0; overlap < 2 - scope; overlap++) {
                system_of_test s = small_system((gsw_factor_options){
                    .kind = kinds[kind], .scope = (gsw_scope)scope, .overlap = overlap});
                s.spoils = 2;
                run_all(3, 0, &s);
                ck_assert_msg(!s.differs, "%s, %s, overlap %d", gsw_factor_kind_name(kinds[kind]),
                              gsw_scope_name(s.factor.scope), overlap);
            }
}

int main(int argc, char **argv) {
    backend_choose(argc, argv);
    Suite *suite = suite_create("distributed");
    TCase *tc = suite_case(suite, "distributed", 300, NULL, keep_release_all),
          *with_small = suite_case(suite, "a small system", 300, open_small, keep_release_all);
    TESTS(tc, partitions_of_a_context_have_the_same_processes,
          calls_that_differ_between_processes_are_refused_by_all);
    LOOPS(tc, on_reference() ? 3 : oracle_stencil_count(), global_sweeps_are_those_of_one_process);
    LOOPS(tc, on_reference() ? 3 : oracle_stencil_count(),
          inactive_points_are_those_of_one_process);
    LOOPS(tc, on_reference() ? 3 : oracle_stencil_count(), periodic_axes_are_those_of_one_process);
    LOOPS(tc, 8, shifts_and_fp32_are_those_of_one_process);
    LOOPS(tc, 6, global_solves_take_the_iterations_of_one_process);
    LOOPS(tc, 4, repeated_solves_have_the_same_bits);
    LOOPS(tc, 2, overlaps_reach_across_boxes);
    LOOPS(tc, on_reference() ? 1 : 6, late_messages_change_nothing);
    TESTS(with_small, values_may_come_in_another_format, a_silent_process_ends_the_others,
          a_process_that_calls_another_function_ends_all, a_partition_leaves_the_sums_of_others,
          a_bad_pivot_is_reported_by_all, a_failed_factorisation_is_refused_by_all);
    return backend_run_suite(suite);
}
