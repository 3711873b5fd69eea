/* fault_scenes.h: each entry point of the library as a scene that a fault can hit at any call.
 *
 * A scene makes its objects, works with them and frees them. It notes what it has computed, so that
 * two runs can be compared, and whether a failed call left what it must not leave. A scene
 * allocates nothing itself. */
#ifndef GSW_TESTS_FAULT_SCENES_H
#define GSW_TESTS_FAULT_SCENES_H

#include <stdint.h>
#include <gridsweep/gridsweep.h>

#include "factor_cases.h"
#include "fault_campaign.h"
#include "fault_memory.h"
#include "fault_outcome.h"
#include "fault_spoil.h"
#include "multigrid/shared_level.h"
#include "oracle.h"

enum { FAULT_POINTS = 10 * 11 * 10 };

/* What the scenes work on; made without faults. */
static struct {
    gsw_context *context;
    gsw_problem *poisson, *convection, *small;
    const uint8_t *active; /* of the problems' matrices; NULL: they have no mask */
    oracle_matrix *random, *csr, *turned, *closed; /* closed: all rows add up to 0 */
    double b[FAULT_POINTS], x[FAULT_POINTS], work[FAULT_POINTS];
    float b32[FAULT_POINTS], x32[FAULT_POINTS];
    char path[64], text[1 << 16];
    size_t text_size;
} world;

static inline void note_csr(outcome *o, const gsw_csr *csr) {
    note_number(o, csr->rows);
    note_number(o, csr->nonzeros);
    note(o, csr->row_ptr, (size_t)(csr->rows + 1) * gsw_itype_size(csr->index_type));
    note(o, csr->columns, (size_t)csr->nonzeros * gsw_itype_size(csr->index_type));
    note(o, csr->values, (size_t)csr->nonzeros * gsw_dtype_size(csr->value_type));
}

/* As STEP for a solve, which may also end at its limit of iterations. Anything else is a mistake
 * of the scene. */
#define SOLVE(o, call)                                                                             \
    do {                                                                                           \
        const gsw_status status_ = (call);                                                         \
        note_number((o), status_);                                                                 \
        if (status_ == GSW_SUCCESS || status_ == GSW_ERROR_NOT_CONVERGED)                          \
            break;                                                                                 \
        (o)->left += status_ != GSW_ERROR_OUT_OF_MEMORY;                                           \
        STEP((o), status_);                                                                        \
    } while (0)

/* Other errors than OUT_OF_MEMORY belong to the case: they are noted. */
#define STEP_OR_NOTE(o, call)                                                                      \
    do {                                                                                           \
        const gsw_status status_ = (call);                                                         \
        note_number((o), status_);                                                                 \
        if (status_ == GSW_ERROR_OUT_OF_MEMORY)                                                    \
            STEP((o), status_);                                                                    \
    } while (0)

static void *const untouched = (void *)&world; /* what no failed call may leave in an output */

static inline gsw_csr sentinel_csr(void) {
    return (gsw_csr){.rows = -1};
}

/* ---- Contexts, problems, matrices ------------------------------------------------------------ */

static void scene_context(outcome *o, int variant) {
    const gsw_context_options options = {.size = sizeof options,
                                         .backend = variant ? GSW_BACKEND_CPU : GSW_BACKEND_AUTO,
                                         .threads = 2};
    gsw_context *made = try_context(o, variant == 2 ? NULL : &options);
    if (made == NULL)
        return;
    note_number(o, gsw_context_backend(made));
    gsw_context_destroy(made);
}

static const char *const problems[] = {"poisson:5x4x3",     "poisson:5x4",      "anisotropic:5x4x3",
                                       "convection:5x4x3",  "lognormal:5x4x3",  "hpcg:5x4x3",
                                       "helmholtz19:5x4x3", "star13:5x4x3",     "box33:5x4x3",
                                       "random:3:5x4x3",    "random:3:nothing", "nothing:3x3x3"};

static void scene_problem(outcome *o, int variant) {
    gsw_problem *made = untouched;
    STEP(o, gsw_problem_parse(world.context, problems[variant], NULL, &made));
    const gsw_matrix *m = gsw_problem_matrix(made);
    for (int32_t e = 0; e < m->stencil.count; e++) /* couplings that leave the grid do not count */
        if (m->array.values[e] != NULL && e == m->stencil.center)
            note(o, m->array.values[e],
                 (size_t)oracle_points(&m->grid) * gsw_dtype_size(m->array.value_type));
    gsw_problem_destroy(made);
end:
    o->left += o->status != GSW_SUCCESS && (void *)made != untouched;
}

static void scene_to_csr(outcome *o, int variant) {
    const gsw_matrix *m = variant & 1 ? &world.random->view : &world.csr->view;
    gsw_csr csr = sentinel_csr();
    STEP(o, gsw_matrix_to_csr(world.context, m, (gsw_part)(variant / 4),
                              variant & 2 ? GSW_I64 : GSW_I32, &csr));
    note_csr(o, &csr);
    gsw_csr_free(&csr);
end:
    o->left += o->status != GSW_SUCCESS && csr.rows != -1 && csr.row_ptr != NULL;
}

static void scene_detect(outcome *o, int variant) {
    gsw_grid grid = {-1, -1, -1};
    gsw_stencil stencil = {.count = -1};
    const oracle_matrix *from = variant & 1 ? world.turned : world.csr;
    STEP(o, gsw_detect(world.context, &from->view.csr, variant & 2 ? &from->view.grid : NULL, &grid,
                       &stencil));
    note(o, &grid, sizeof grid);
    note(o, stencil.offsets, (size_t)stencil.count * sizeof *stencil.offsets);
end:
    o->left += o->status != GSW_SUCCESS && (grid.nx != -1 || stencil.count != -1);
}

/* A 2 x 2 grid with two stored zeros between its lines. */
static void scene_fit(outcome *o, int variant) {
    static const int32_t row_ptr[] = {0, 2, 5, 8, 10}, columns[] = {0, 1, 0, 1, 2, 1, 2, 3, 2, 3};
    static const double values[] = {2, -1, -1, 2, 0, 0, 2, -1, -1, 2};
    const gsw_csr csr = {
        .rows = 4, .nonzeros = 10, .row_ptr = row_ptr, .columns = columns, .values = values};
    const gsw_grid grid = {2, 2, 1};
    gsw_csr copy = sentinel_csr();
    gsw_matrix made = {.grid = {-1, -1, -1}};
    char text[256];
    STEP(o, gsw_matrix_fit(world.context, &csr, variant ? &grid : NULL, NULL, &made, &copy));
    note(o, &made.grid, sizeof made.grid);
    STEP(o, gsw_matrix_remark(world.context, &made, text, sizeof text));
end:
    o->left += made.grid.nx == -1 ? copy.rows != -1 : variant && copy.nonzeros != 8;
    if (copy.rows > 0)
        gsw_csr_free(&copy);
}

static void scene_upload(outcome *o, int variant) {
    gsw_matrix copy;
    memset(&copy, 1, sizeof copy);
    o->status =
        gsw_matrix_upload(world.context, variant ? &world.random->view : &world.csr->view, &copy);
    if (o->status == GSW_SUCCESS && !variant)
        note_csr(o, &copy.csr);
    o->left += o->status != GSW_SUCCESS &&
               (copy.csr.row_ptr != NULL || copy.array.values != NULL || copy.grid.nx != 0);
    gsw_matrix_release(world.context, &copy);
}

static void scene_memory(outcome *o, int variant) {
    void *made = untouched;
    MAKE(o, made, gsw_memory_alloc(world.context, variant ? (size_t)8 << 20 : 40, &made));
    STEP(o, gsw_memory_set(world.context, made, variant, 40));
    note(o, made, 40);
end:
    if (o->status == GSW_SUCCESS)
        gsw_memory_free(world.context, made);
}

static void scene_validate(outcome *o, int variant) {
    const oracle_matrix *all[] = {world.random, world.csr, world.turned};
    o->status = gsw_matrix_validate(world.context, &all[variant]->view);
}

/* ---- Sweeps and factors ---------------------------------------------------------------------- */

static void scene_sptrsv(outcome *o, int variant) {
    const gsw_sptrsv_options options = {.size = sizeof options,
                                        .algorithm = (gsw_algorithm)(variant & 3),
                                        .part = variant & 4 ? GSW_UPPER : GSW_LOWER,
                                        .transpose = variant & 8};
    const gsw_matrix *m = variant & 16 ? &world.random->view : &world.csr->view;
    STEP(o, gsw_sptrsv(world.context, m, &options, 1, world.b, FAULT_SMALL, world.x, FAULT_SMALL));
    note(o, world.x, FAULT_SMALL * sizeof *world.x);
end:;
}

static void note_solve(outcome *o, gsw_factor *factor, gsw_dtype type) {
    const void *b = type == GSW_F64 ? (const void *)world.b : world.b32;
    void *x = type == GSW_F64 ? (void *)world.x : world.x32;
    o->status = gsw_factor_solve(world.context, factor, 2, b, FAULT_SMALL, x, FAULT_SMALL);
    if (o->status == GSW_SUCCESS)
        note(o, x, 2 * FAULT_SMALL * gsw_dtype_size(type));
}

static void scene_factor(outcome *o, int variant) {
    gsw_factor_options options;
    gsw_factor *factor = untouched;
    gsw_csr lower = {0}, upper = {0};
    const gsw_matrix *m = variant & 1 ? &world.random->view : &world.csr->view;
    const int type = variant / 2 % TYPES;
    if (!options_at(variant / 2 / TYPES, type, &m->stencil, &options))
        return;
    const int lu = options.kind == GSW_FACTOR_LU;
    if (lu)
        MAKE(o, factor, gsw_factor_create_lu(world.context, m, m, &options, &factor));
    else
        MAKE(o, factor, gsw_factor_create(world.context, m, &options, &factor));
    note_solve(o, factor, types[type].vector);
    if (o->status == GSW_SUCCESS)
        o->status = gsw_factor_refactor(world.context, factor, m, lu ? m : NULL);
    if (o->status == GSW_SUCCESS)
        note_solve(o, factor, types[type].vector);
    if (o->status == GSW_SUCCESS) {
        gsw_csr *l = options.kind == GSW_FACTOR_UPPER ? NULL : &lower;
        gsw_csr *u = options.kind == GSW_FACTOR_LOWER ? NULL : &upper;
        const gsw_status status = gsw_factor_extract(world.context, factor, GSW_I32, l, u);
        note_number(o, status);
        if (status == GSW_ERROR_OUT_OF_MEMORY)
            o->status = status;
        o->left += status != GSW_SUCCESS && (lower.row_ptr != NULL || upper.row_ptr != NULL);
        if (lower.row_ptr != NULL)
            note_csr(o, &lower);
        if (upper.row_ptr != NULL)
            note_csr(o, &upper);
        gsw_csr_free(&lower);
        gsw_csr_free(&upper);
    }
    gsw_factor_destroy(factor);
end:;
}

/* ---- Operators and preconditioners ----------------------------------------------------------- */

static gsw_status halve(void *user, gsw_context *context, const double *x, double *y) {
    (void)context;
    for (int64_t i = 0; i < *(const int64_t *)user; i++)
        y[i] = x[i] / 2;
    return GSW_SUCCESS;
}

static void scene_operator(outcome *o, int variant) {
    static int64_t points = FAULT_SMALL;
    const gsw_matrix *m = variant & 1 ? &world.random->view : &world.csr->view;
    gsw_operator *op = untouched;
    gsw_preconditioner *M = untouched;
    if (variant & 2)
        MAKE(o, op, gsw_operator_from_callback(world.context, points, halve, &points, &op));
    else
        MAKE(o, op, gsw_operator_from_matrix(world.context, m, &op));
    MAKE(o, M, gsw_preconditioner_from_callback(world.context, points, halve, &points, &M));
    STEP(o, gsw_operator_apply(world.context, op, world.b, world.work));
    STEP(o, gsw_preconditioner_apply(world.context, M, world.work, world.work));
    note(o, world.work, FAULT_SMALL * sizeof *world.work);
end:
    gsw_preconditioner_destroy(M == untouched ? NULL : M);
    gsw_operator_destroy(op == untouched ? NULL : op);
}

/* ---- Multigrid ------------------------------------------------------------------------------- */

static const gsw_matrix *hierarchy_matrix(int variant) {
    static gsw_matrix views[2];
    views[variant & 1] = *gsw_problem_matrix(variant & 1 ? world.convection : world.poisson);
    views[variant & 1].active = world.active;
    return &views[variant & 1];
}

static gsw_multigrid_options hierarchy_options(int variant) {
    return (gsw_multigrid_options){.size = sizeof(gsw_multigrid_options),
                                   .smoother = (gsw_smoother)(variant / 4 % 8),
                                   .cycle = (gsw_cycle)(variant % 3),
                                   .cycle_type = variant & 2 ? GSW_F32 : GSW_F64,
                                   .interpolation = (gsw_interpolation)(variant / 32),
                                   .coarsest_points = 30};
}

static void scene_multigrid(outcome *o, int variant) {
    const gsw_matrix *m = hierarchy_matrix(variant);
    const gsw_multigrid_options options = hierarchy_options(variant);
    gsw_multigrid *mg = untouched;
    gsw_preconditioner *M = NULL;
    gsw_csr csr = sentinel_csr();
    MAKE(o, mg, gsw_multigrid_create(world.context, m, &options, &mg));
    M = untouched;
    MAKE(o, M, gsw_preconditioner_from_multigrid(world.context, mg, &M));
    STEP(o, gsw_preconditioner_apply(world.context, M, world.b, world.x));
    note(o, world.x, sizeof world.x);
    o->status = gsw_multigrid_refactor(world.context, mg, m);
    if (o->status != GSW_SUCCESS) { /* it must serve again */
        fault.paused++;
        o->left += gsw_multigrid_refactor(world.context, mg, m) != GSW_SUCCESS;
        o->left += gsw_multigrid_apply(world.context, mg, world.b, world.x) != GSW_SUCCESS;
        fault.paused--;
        goto end;
    }
    for (int part = 0; part < 3; part++) {
        csr = sentinel_csr();
        STEP_OR_NOTE(
            o, gsw_multigrid_extract(world.context, mg, part == 0, (gsw_multigrid_part)part, &csr));
        if (csr.rows > 0)
            note_csr(o, &csr);
        gsw_csr_free(&csr);
    }
end:
    o->left += o->status != GSW_SUCCESS && csr.rows > 0;
    gsw_preconditioner_destroy(M == untouched ? NULL : M);
    gsw_multigrid_destroy(mg == untouched ? NULL : mg);
}

/* A loop on the user's arrays or on copies, with Jacobi or Chebyshev. */
static void scene_relax(outcome *o, int variant) {
    const gsw_matrix *m = variant & 1 ? &world.random->view : &world.csr->view;
    const gsw_relax_options options = {.size = sizeof options,
                                       .method = (gsw_relax_method)(variant / 2 % 2),
                                       .height = 3,
                                       .lowest = 0.5,
                                       .highest = 2};
    gsw_relax *loop = untouched;
    MAKE(o, loop, gsw_relax_create(world.context, m, &options, &loop));
    STEP(o, gsw_relax_refactor(world.context, loop, m));
    STEP(o, gsw_relax_run(world.context, loop, 4, 1, world.b, world.x));
    note(o, world.x, (size_t)oracle_points(&m->grid) * sizeof *world.x);
end:
    gsw_relax_destroy((void *)loop == untouched ? NULL : loop);
}

static void scene_choose(outcome *o, int variant) {
    const gsw_matrix *all[] = {hierarchy_matrix(0), hierarchy_matrix(1), &world.random->view,
                               &world.csr->view, gsw_problem_matrix(world.small)};
    gsw_choice choice = {.size = sizeof choice};
    gsw_preconditioner *M = untouched;
    STEP(o, gsw_choose_method(world.context, all[variant], &choice));
    MAKE(o, M, gsw_choose(world.context, all[variant], NULL, &M, &choice));
    note_number(o, choice.reason);
    o->substitute = choice.reason == GSW_REASON_REFUSED || strstr(choice.text, "no factor") != NULL;
    o->left += gsw_preconditioner_apply(world.context, M, world.b, world.x) != GSW_SUCCESS;
    note(o, world.x, (size_t)gsw_preconditioner_points(M) * sizeof *world.x);
end:
    gsw_preconditioner_destroy(M == untouched ? NULL : M);
}

/* ---- Krylov methods -------------------------------------------------------------------------- */

/* 32 variants for each method; the second half has a null vector. */
static void scene_krylov(outcome *o, int variant) {
    static double ones[FAULT_POINTS];
    const int singular = variant >= 64;
    const gsw_matrix *m = singular ? &world.closed->view
                                   : hierarchy_matrix((variant & 3) == GSW_CG ? 0 : variant >> 2);
    const gsw_multigrid_options hierarchy = hierarchy_options(0);
    gsw_krylov_options options = {.size = sizeof options,
                                  .max_iterations = 8,
                                  .restart = 5,
                                  .eisenstat = (variant & 24) == 24 ? GSW_EISENSTAT_ALWAYS
                                                                    : GSW_EISENSTAT_AUTO,
                                  .norm = variant & 32 ? GSW_NORM_PRECONDITIONED : GSW_NORM_TRUE};
    oracle_fill(GSW_F64, ones, FAULT_POINTS, 1);
    if (singular)
        options.nullspace = variant & 4 ? GSW_NULLSPACE_VECTOR : GSW_NULLSPACE_CONSTANT;
    if (options.nullspace == GSW_NULLSPACE_VECTOR)
        options.null_vector = ones;
    gsw_krylov_result result = {.size = sizeof result};
    gsw_factor *factor = NULL;
    gsw_multigrid *mg = NULL;
    gsw_operator *op = NULL;
    gsw_preconditioner *M = NULL;
    STEP(o, gsw_operator_from_matrix(world.context, m, &op));
    if (variant & 8 && !singular) {
        STEP(o, gsw_factor_create(world.context, m, NULL, &factor));
        STEP(o, gsw_preconditioner_from_factor(world.context, factor, &M));
    } else if (variant & 16) {
        STEP(o, gsw_multigrid_create(world.context, m, &hierarchy, &mg));
        STEP(o, gsw_preconditioner_from_multigrid(world.context, mg, &M));
    }
    memset(world.x, 0, sizeof world.x);
    SOLVE(o, gsw_krylov(world.context, (gsw_method)(variant & 3), op, M, &options, world.b, world.x,
                        &result));
    note_number(o, result.iterations);
    note_number(o, result.eisenstat);
    note(o, world.x, sizeof world.x);
end:
    gsw_preconditioner_destroy(M);
    gsw_operator_destroy(op);
    gsw_multigrid_destroy(mg);
    gsw_factor_destroy(factor);
}

/* Three systems; the second half has a null vector. */
static void scene_krylov_many(outcome *o, int variant) {
    enum { SYSTEMS = 3 };
    static double b[SYSTEMS * FAULT_POINTS], x[SYSTEMS * FAULT_POINTS];
    const int singular = variant >= 4;
    const gsw_matrix *m = singular ? &world.closed->view : hierarchy_matrix(variant & 1);
    const gsw_krylov_options options = {.size = sizeof options,
                                        .max_iterations = 8,
                                        .nullspace =
                                            singular ? GSW_NULLSPACE_CONSTANT : GSW_NULLSPACE_NONE};
    gsw_krylov_result results[SYSTEMS];
    gsw_factor *factor = NULL;
    gsw_operator *op = NULL;
    gsw_preconditioner *M = NULL;
    STEP(o, gsw_operator_from_matrix(world.context, m, &op));
    if (variant & 2 && !singular) {
        STEP(o, gsw_factor_create(world.context, m, NULL, &factor));
        STEP(o, gsw_preconditioner_from_factor(world.context, factor, &M));
    }
    memset(x, 0, sizeof x);
    for (int i = 0; i < SYSTEMS; i++) {
        results[i] = (gsw_krylov_result){.size = sizeof results[i], .status = -1};
        for (int k = 0; k < FAULT_POINTS; k++)
            b[i * FAULT_POINTS + k] = (i + 1) * world.b[(k * (i + 1)) % FAULT_POINTS];
    }
    const gsw_status status =
        gsw_krylov_many(world.context, variant & 1 ? GSW_BICGSTAB : GSW_CG, op, M, &options,
                        SYSTEMS, b, FAULT_POINTS, x, FAULT_POINTS, results);
    for (int i = 0; i < SYSTEMS; i++) /* no system is left without a result */
        o->left += results[i].status == -1 || (status == GSW_ERROR_OUT_OF_MEMORY &&
                                               results[i].status != GSW_ERROR_OUT_OF_MEMORY);
    SOLVE(o, status);
    for (int i = 0; i < SYSTEMS; i++) {
        note_number(o, results[i].iterations);
        note_number(o, results[i].status);
    }
    note(o, x, sizeof x);
end:
    gsw_preconditioner_destroy(M);
    gsw_operator_destroy(op);
    gsw_factor_destroy(factor);
}

/* ---- Masks ----------------------------------------------------------------------------------- */

/* What allocates with a mask only. */
static void scene_masked_products(outcome *o, int variant) {
    const gsw_matrix *m = variant & 1 ? &world.random->view : &world.csr->view;
    gsw_factor *factor = untouched;
    STEP(o, gsw_spmv(world.context, m, GSW_F64, world.b, world.x));
    STEP(o, gsw_residual(world.context, m, GSW_F64, world.b, world.x, world.work));
    note(o, world.work, FAULT_SMALL * sizeof *world.work);
    MAKE(o, factor, gsw_factor_create(world.context, m, NULL, &factor));
    STEP(o, gsw_smooth(world.context, m, factor, 2, 0, world.b, world.x, world.work));
    note(o, world.x, FAULT_SMALL * sizeof *world.x);
end:
    gsw_factor_destroy((void *)factor == untouched ? NULL : factor);
}

/* Other scenes, whose matrices have a mask. */
static void scene_masked(outcome *o, int variant) {
    static const struct {
        void (*scene)(outcome *o, int variant);
        int variants;
    } masked[] = {{scene_masked_products, 2}, {scene_upload, 2},
                  {scene_sptrsv, 32},         {scene_factor, 2 * TYPES * OPTIONS},
                  {scene_operator, 4},        {scene_multigrid, 64},
                  {scene_relax, 4},           {scene_choose, 4},
                  {scene_krylov, 64},         {scene_krylov_many, 4}};
    static uint8_t active[FAULT_POINTS];
    oracle_matrix *const own[] = {world.random, world.csr};
    const int kind = variant % LENGTH(masked), next = variant / LENGTH(masked);
    for (int i = 0; i < FAULT_POINTS; i++)
        active[i] = i % 7 != 0 && i % 5 != 2;
    world.active = active;
    for (int i = 0; i < LENGTH(own); i++)
        own[i]->view.active = active;
    masked[kind].scene(o, 11 * next % masked[kind].variants);
    for (int i = 0; i < LENGTH(own); i++)
        own[i]->view.active = NULL;
    world.active = NULL;
}

/* Both kinds of embeddings, of half of the points, and a matrix of its diagonal. */
static void scene_embedding(outcome *o, int variant) {
    static uint8_t active[FAULT_POINTS];
    static double places[FAULT_POINTS], values[FAULT_POINTS];
    static int32_t numbers[FAULT_POINTS + 1];
    const gsw_grid grid = {10, 11, 10};
    const gsw_csr csr = {.rows = FAULT_POINTS / 2,
                         .nonzeros = FAULT_POINTS / 2,
                         .row_ptr = numbers,
                         .columns = numbers,
                         .values = values};
    gsw_embedding *embedding = untouched;
    gsw_matrix matrix = {0};
    for (int i = 0; i < FAULT_POINTS; i++) {
        active[i] = (uint8_t)(i % 2);
        places[i] = i % 2 ? i : -i;
        values[i] = i + 1;
        numbers[i] = i;
    }
    if (variant & 1)
        MAKE(o, embedding,
             gsw_embedding_create_from_coordinates(world.context, FAULT_POINTS / 2, 1, places,
                                                   &embedding));
    else
        MAKE(o, embedding, gsw_embedding_create(world.context, &grid, active, &embedding));
    const gsw_status status = gsw_matrix_from_active(world.context, &csr, embedding, NULL, &matrix);
    o->left += status != GSW_SUCCESS && matrix.array.values != NULL;
    STEP(o, status);
    if (variant & 2)
        STEP(o, gsw_matrix_refill_active(world.context, &csr, embedding, &matrix));
    STEP(o, gsw_embedding_spread(world.context, embedding, GSW_F64, world.b, world.x));
    STEP(o, gsw_embedding_collect(world.context, embedding, GSW_F64, world.x, world.work));
    note(o, world.work, FAULT_POINTS / 2 * sizeof *world.work);
end:
    gsw_matrix_release(world.context, &matrix);
    gsw_embedding_destroy((void *)embedding == untouched ? NULL : embedding);
}

/* ---- One process of a partition -------------------------------------------------------------- */

/* Views of several processes end in these objects; that of one process does not, so they are made
 * here. */
static gsw_status view_matrix(gsw_partition *partition, int variant, gsw_csr *csr,
                              gsw_matrix *view) {
    const gsw_matrix *m = hierarchy_matrix(0);
    gsw_status status = GSW_SUCCESS;
    *view = *m;
    if (variant % 3 == 1)
        status = gsw_partition_scatter(partition, 0, m, view);
    if (variant % 3 == 2)
        status = gsw_matrix_to_csr(world.context, m, GSW_FULL, GSW_I32, csr);
    if (variant % 3 == 2 && status == GSW_SUCCESS)
        *view = (gsw_matrix){
            .grid = m->grid, .stencil = m->stencil, .format = GSW_FORMAT_CSR, .csr = *csr};
    view->partition = partition;
    return status;
}

static void scene_distributed(outcome *o, int variant) {
    gsw_partition *partition = untouched;
    gsw_distributed_matrix *matrix = NULL;
    gsw_distributed_factor *factor = NULL;
    gsw_multigrid *mg = NULL;
    gsw_matrix view = {.partition = NULL};
    gsw_csr csr = {0};
    MAKE(o, partition,
         gsw_partition_create(world.context, NULL, &hierarchy_matrix(0)->grid, NULL, &partition));
    STEP(o, view_matrix(partition, variant, &csr, &view));
    matrix = untouched;
    MAKE(o, matrix, gsw_distributed_matrix_open(&view, &matrix));
    STEP(o, gsw_partition_collect(partition, 0, world.b, world.work));
    STEP(o, gsw_partition_distribute(partition, 0, world.work, world.x));
    note(o, world.x, sizeof world.x);
    if (variant < 2 * GSW_FACTOR_LU) {
        const gsw_factor_options options = {.size = sizeof options,
                                            .kind = (gsw_factor_kind)(variant / 2),
                                            .scope = (gsw_scope)(variant & 1),
                                            .overlap = variant & 1 ? 0 : variant % 3};
        factor = untouched;
        MAKE(o, factor, gsw_distributed_factor_create_as(matrix, &options, 0, GSW_F64, &factor));
        STEP(o, gsw_distributed_matrix_take(matrix, &view));
        STEP(o, gsw_distributed_factor_refactor(factor));
        STEP(o, gsw_distributed_factor_solve(factor, world.b, world.x));
    } else {
        const gsw_multigrid_options options = {.size = sizeof options,
                                               .scope = (gsw_scope)(variant & 1),
                                               .smoother = variant & 2 ? GSW_SMOOTHER_AUTO
                                                                       : GSW_SMOOTHER_JACOBI};
        mg = untouched;
        MAKE(o, mg, gsw_multigrid_create_shared(world.context, &view, &options, &mg));
        STEP(o, gsw_multigrid_refactor(world.context, mg, &view));
        STEP(o, gsw_multigrid_apply(world.context, mg, world.b, world.x));
    }
    note(o, world.x, sizeof world.x);
end:
    gsw_multigrid_destroy(mg == untouched ? NULL : mg);
    gsw_distributed_factor_destroy((void *)factor == untouched ? NULL : factor);
    gsw_distributed_matrix_destroy((void *)matrix == untouched ? NULL : matrix);
    if (variant % 3 == 1)
        gsw_matrix_release(world.context, &view);
    gsw_csr_free(&csr);
    gsw_partition_destroy((void *)partition == untouched ? NULL : partition);
}

/* ---- Files ----------------------------------------------------------------------------------- */

static int keep_text(void *user, const char *bytes, size_t size) {
    note(user, bytes, size);
    return 0;
}

static void scene_text(outcome *o, int variant) {
    static const char vector_text[] = "%%MatrixMarket matrix array real general\n2 1\n1\n2\n";
    static const char unordered[] = "%%MatrixMarket matrix coordinate real symmetric\n"
                                    "3 3 6\n3 3 4\n3 2 -1\n3 1 -1\n2 2 4\n2 1 -1\n1 1 4\n";
    gsw_csr csr = sentinel_csr();
    double *values = untouched;
    int64_t count = -1;
    if (variant == 0) {
        STEP(o, gsw_mm_print_matrix(world.context, "text", keep_text, o, &world.csr->view.csr,
                                    "a comment"));
        STEP(o, gsw_mm_print_vector(world.context, "text", keep_text, o, world.b, 9, NULL));
        return;
    }
    if (variant == 1 || variant == 3) {
        STEP(o, gsw_mm_parse_matrix(world.context, "text", variant == 3 ? unordered : world.text,
                                    variant == 3 ? strlen(unordered) : world.text_size, &csr));
        note_csr(o, &csr);
        gsw_csr_free(&csr);
        return;
    }
    STEP(o, gsw_mm_parse_finite_vector(world.context, "text", vector_text, strlen(vector_text),
                                       &values, &count));
    note(o, values, 2 * sizeof *values);
    free(values);
    return;
end:
    o->left += csr.rows != -1 || values != untouched || count != -1;
}

static void scene_file(outcome *o, int variant) {
    gsw_csr csr = sentinel_csr();
    double *values = untouched;
    int64_t count = -1;
    if (variant == 0) {
        STEP(o, gsw_mm_write_matrix(world.context, world.path, &world.csr->view.csr, NULL));
        STEP(o, gsw_mm_read_matrix(world.context, world.path, &csr));
        note_csr(o, &csr);
        gsw_csr_free(&csr);
        return;
    }
    STEP(o, gsw_mm_write_vector(world.context, world.path, world.b, FAULT_POINTS, "a comment"));
    if (variant == 1)
        STEP(o, gsw_mm_read_vector(world.context, world.path, &values, &count));
    else
        STEP(o, gsw_mm_read_finite_vector(world.context, world.path, &values, &count));
    note(o, values, (size_t)count * sizeof *values);
    free(values);
    return;
end:
    o->left += csr.rows != -1 || values != untouched || count != -1;
}

#endif
