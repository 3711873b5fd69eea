/* fault_numbers.h: matrices and vectors with wrong numbers, and what may come of them.
 *
 * A trial takes a good matrix in a random layout, makes one thing wrong at a random place, and
 * gives it to a random entry point. The call must end in a status that its header names. A solve
 * that claims to have converged must have done so: the residual is computed anew in long double.
 * The same call with the good matrix must then give the bits that it gave before. */
#ifndef GSW_TESTS_FAULT_NUMBERS_H
#define GSW_TESTS_FAULT_NUMBERS_H

#include "fault_scenes.h"
#include "fault_spoil.h"
#include "krylov_truth.h"

/* ---- What is called -------------------------------------------------------------------------- */

/* Statuses of calls with wrong numbers. */
#define IN_VALUES (MAY(GSW_SUCCESS) | MAY(GSW_ERROR_ZERO_PIVOT) | MAY(GSW_ERROR_UNSUPPORTED))
#define IN_ITERATION                                                                               \
    (IN_VALUES | MAY(GSW_ERROR_NOT_CONVERGED) | MAY(GSW_ERROR_BREAKDOWN) |                         \
     MAY(GSW_ERROR_NON_FINITE))
#define IN_STRUCTURE (MAY(GSW_ERROR_INVALID_ARGUMENT) | MAY(GSW_ERROR_NOT_A_GRID))

/* One call with a matrix and vectors. */
typedef struct trial {
    const gsw_matrix *matrix;
    const double *b;
    double *x;
    int variant;
    int false_claim; /* converged, but the residual does not show it */
} trial;

static void call_factor(outcome *o, trial *t) {
    const gsw_factor_options options = {.size = sizeof options,
                                        .kind = (gsw_factor_kind)(t->variant % GSW_FACTOR_LU),
                                        .factor_type = GSW_F64};
    gsw_factor *factor = NULL;
    MAKE(o, factor, gsw_factor_create(world.context, t->matrix, &options, &factor));
    STEP(o, gsw_factor_solve(world.context, factor, 1, t->b, FAULT_SMALL, t->x, FAULT_SMALL));
    note(o, t->x, FAULT_SMALL * sizeof *t->x);
end:
    gsw_factor_destroy(factor);
}

/* A factor of the good matrix takes the values, and then the good ones again. */
static void call_refactor(outcome *o, trial *t) {
    const gsw_factor_options options = {.size = sizeof options,
                                        .kind = (gsw_factor_kind)(t->variant % GSW_FACTOR_LU)};
    gsw_factor *factor = NULL;
    STEP(o, gsw_factor_create(world.context, &world.random->view, &options, &factor));
    o->status = gsw_factor_refactor(world.context, factor, t->matrix, NULL);
    STEP(o, o->status != GSW_SUCCESS ? o->status : GSW_SUCCESS);
end:
    if (factor != NULL) {
        o->left +=
            gsw_factor_refactor(world.context, factor, &world.random->view, NULL) != GSW_SUCCESS;
        o->left += gsw_factor_solve(world.context, factor, 1, world.b, FAULT_SMALL, world.work,
                                    FAULT_SMALL) != GSW_SUCCESS;
        note(o, world.work, FAULT_SMALL * sizeof *world.work);
    }
    gsw_factor_destroy(factor);
}

static void call_sptrsv(outcome *o, trial *t) {
    const gsw_sptrsv_options options = {.size = sizeof options,
                                        .algorithm = (gsw_algorithm)(t->variant & 3),
                                        .part = t->variant & 4 ? GSW_UPPER : GSW_LOWER,
                                        .transpose = t->variant & 8};
    STEP(o,
         gsw_sptrsv(world.context, t->matrix, &options, 1, t->b, FAULT_SMALL, t->x, FAULT_SMALL));
    note(o, t->x, FAULT_SMALL * sizeof *t->x);
end:;
}

static void call_choose(outcome *o, trial *t) {
    gsw_choice choice = {.size = sizeof choice};
    gsw_preconditioner *M = NULL;
    STEP(o, gsw_choose(world.context, t->matrix, NULL, &M, &choice));
    note_number(o, choice.reason);
    STEP(o, gsw_preconditioner_apply(world.context, M, t->b, t->x));
    note(o, t->x, FAULT_SMALL * sizeof *t->x);
end:
    gsw_preconditioner_destroy(M);
}

static void call_krylov(outcome *o, trial *t) {
    const gsw_krylov_options options = {.size = sizeof options, .max_iterations = 60};
    const gsw_multigrid_options hierarchy = {.size = sizeof hierarchy,
                                             .coarsest_points = 20,
                                             .smoother = (gsw_smoother)(t->variant / 16 % 8)};
    const gsw_factor_options factorisation = {.size = sizeof factorisation,
                                              .kind = (gsw_factor_kind)(t->variant / 16 % 5)};
    gsw_krylov_result result = {.size = sizeof result};
    gsw_factor *factor = NULL;
    gsw_multigrid *mg = NULL;
    gsw_operator *op = NULL;
    gsw_preconditioner *M = NULL;
    STEP(o, gsw_operator_from_matrix(world.context, t->matrix, &op));
    if (t->variant & 4) {
        MAKE(o, factor, gsw_factor_create(world.context, t->matrix, &factorisation, &factor));
        STEP(o, gsw_preconditioner_from_factor(world.context, factor, &M));
    } else if (t->variant & 8) {
        MAKE(o, mg, gsw_multigrid_create(world.context, t->matrix, &hierarchy, &mg));
        STEP(o, gsw_preconditioner_from_multigrid(world.context, mg, &M));
    }
    o->status = gsw_krylov(world.context, (gsw_method)(t->variant & 3), op, M, &options, t->b, t->x,
                           &result);
    note_number(o, result.iterations);
    note(o, t->x, FAULT_SMALL * sizeof *t->x);
    t->false_claim = (o->status == GSW_SUCCESS) != result.converged ||
                     (o->status == GSW_SUCCESS && !truth_converged(t->matrix, t->b, t->x, 1e-8));
end:
    gsw_preconditioner_destroy(M);
    gsw_operator_destroy(op);
    gsw_multigrid_destroy(mg);
    gsw_factor_destroy(factor);
}

static void call_validate(outcome *o, trial *t) {
    o->status = gsw_matrix_validate(world.context, t->matrix);
}

static void call_print(outcome *o, trial *t) {
    o->status = gsw_mm_print_matrix(world.context, "text", keep_text, o, &t->matrix->csr, NULL);
    if (o->status != GSW_SUCCESS)
        o->hash = 0; /* a part of the text */
}

static void call_detect(outcome *o, trial *t) {
    gsw_grid grid = {-1, -1, -1};
    gsw_stencil stencil = {.count = -1};
    o->status = gsw_detect(world.context, &t->matrix->csr, t->variant & 1 ? &t->matrix->grid : NULL,
                           &grid, &stencil);
    o->left += o->status != GSW_SUCCESS && (grid.nx != -1 || stencil.count != -1);
    note(o, &grid, sizeof grid);
}

static void call_distributed(outcome *o, trial *t) {
    gsw_partition *partition = NULL;
    gsw_distributed_matrix *matrix = NULL;
    gsw_matrix view = *t->matrix;
    STEP(o, gsw_partition_create(world.context, NULL, &view.grid, NULL, &partition));
    view.partition = partition;
    MAKE(o, matrix, gsw_distributed_matrix_open(&view, &matrix));
    STEP(o, gsw_distributed_matrix_multiply(matrix, t->b, t->x));
    note(o, t->x, FAULT_SMALL * sizeof *t->x);
end:
    gsw_distributed_matrix_destroy(matrix);
    gsw_partition_destroy(partition);
}

enum { NUMBER_VARIANTS = 128 };

/* Bits of faults: which may be tried with a call, and which must be refused by it. */
#define UP_TO(fault)     ((2u << (fault)) - 1)
#define ONLY(fault)      (1u << (fault))
#define NUMBERS          (UP_TO(NUMBER_GUESS))
#define COLUMNS          (UP_TO(NUMBER_COLUMN_ORDER) & ~NUMBERS)
#define STRUCTURE        (UP_TO(NUMBER_NONZEROS) & ~NUMBERS)
#define STRUCTURE_ANYHOW (STRUCTURE & ~ONLY(NUMBER_COLUMN_STENCIL))

static const struct {
    const char *name;
    void (*run)(outcome *o, trial *t);
    unsigned tried, refused;
    unsigned statuses; /* with wrong numbers */
} number_calls[] = {
    {"factor", call_factor, NUMBERS | COLUMNS, 0, IN_VALUES},
    {"refactor", call_refactor, UP_TO(NUMBER_DENORMAL_PIVOT) | COLUMNS, 0, IN_VALUES},
    {"sptrsv", call_sptrsv, NUMBERS | COLUMNS, 0, IN_VALUES},
    {"choose", call_choose, UP_TO(NUMBER_DENORMAL_PIVOT) | COLUMNS, 0, IN_VALUES},
    {"krylov", call_krylov, NUMBERS, 0, IN_ITERATION},
    {"validate", call_validate, STRUCTURE, STRUCTURE, MAY(GSW_SUCCESS)},
    {"detect", call_detect, STRUCTURE, STRUCTURE_ANYHOW, MAY(GSW_SUCCESS)},
    {"print", call_print, STRUCTURE, STRUCTURE_ANYHOW & ~ONLY(NUMBER_BASE), MAY(GSW_SUCCESS)},
    {"distributed", call_distributed, COLUMNS, COLUMNS & ~ONLY(NUMBER_COLUMN_ORDER),
     MAY(GSW_SUCCESS)},
};
enum { NUMBER_CALLS = sizeof number_calls / sizeof number_calls[0] };

#endif
