/* solver_state.h: the contents of a solver, and which attempts it makes in which order. */
#ifndef GSW_SOLVER_STATE_H
#define GSW_SOLVER_STATE_H

#include <gridsweep/solve.h>
#include "basins.h"
#include "candidate.h"
#include "lifted.h"
#include "shortened.h"
#include "taken.h"

enum { GSW_PRECONDS = GSW_PRECOND_MULTIGRID + 1 };

/* What has been tried in a solve: bits of the methods, by preconditioner. */
typedef struct gsw_tried {
    unsigned methods[GSW_PRECONDS]; /* bit 1 << gsw_method: tried */
    unsigned slow[GSW_PRECONDS];    /* stopped because another one may be faster */
    double left[GSW_PRECONDS];      /* what these had to do, in products with a factor */
    int closed[GSW_PRECONDS];       /* cannot be made, or is of no use */
    int indefinite;                 /* CG has broken down */
    int patient;                    /* the present one goes on after it was stopped as slow */
} gsw_tried;

/* Watches an attempt. */
typedef struct gsw_watch {
    gsw_solver *solver;
    int64_t offset; /* iterations of earlier attempts */
    double first, best, before;
    int watching, slow;
} gsw_watch;

/* The norms of the last solve, by iteration from 0 on. */
typedef struct gsw_history {
    double *norms;
    int64_t count, room;
} gsw_history;

/* What a solver of many systems does (many.c). */
typedef struct gsw_many gsw_many;
typedef struct gsw_many_ops {
    gsw_status (*solve)(gsw_many *many, const double *b, double *x, gsw_solver_report *report);
    const gsw_solver_report *(*report)(const gsw_many *many);
    const gsw_choice *(*choice)(const gsw_many *many);
    void (*close)(gsw_many *many);
} gsw_many_ops;

struct gsw_solver {
    gsw_context *context;
    gsw_many *many; /* of many systems: has all the rest; else NULL */
    const gsw_many_ops *many_ops;
    gsw_taken taken;
    gsw_lifted lifted; /* the fixed points; without any, lifted.left is NULL */
    gsw_operator *op;  /* of the matrix, */
    gsw_matrix matrix; /* from which fixed points are left out, like inactive ones; with neighbours
                          alone, */
    gsw_shortened shortened;             /* where its stencil reaches far */
    const void *arrays[GSW_STENCIL_MAX]; /* of the matrix, where it has stencil arrays */
    gsw_stencil stencil;                 /* of the user's matrix, */
    gsw_format format;                   /* and its format */
    int is_periodic;
    gsw_solver_options wanted; /* without its pointers */
    gsw_multigrid_options multigrid;
    gsw_factor_options factor;
    gsw_krylov_options krylov;
    gsw_choice choice;
    gsw_box_rows rows; /* of the matrix, without fixed points, until the choice is made; then its
                          survey alone, where it is known */
    gsw_candidate candidate; /* of the present preconditioner */
    gsw_precond precond;
    gsw_method method;
    gsw_precond first_precond; /* the choice */
    gsw_method first_method;
    int usable;
    int b_is_bad;      /* of the present solve: a norm that is not finite, */
    int matrix_is_bad; /* a row of A whose sum is not finite */
    int constants;     /* the matrix is singular: A maps what is constant in a basin to 0, and the
                          options do not say so */
    gsw_basins basins; /* then; without a mask or with one basin basins.count is 1 */
    gsw_tried tried;
    gsw_watch watch;
    gsw_history history;
    gsw_solver_report report;
};

/* gsw_solver_create() of a matrix that has been checked. `planes`: of each grid, where grids that
 * nothing couples follow each other along z; then without a look for fixed points and null spaces,
 * and on one process. 0: there is one grid. */
gsw_status gsw_solver_create_stacked(gsw_context *context, const gsw_matrix *matrix, int64_t planes,
                                     const gsw_solver_options *options, gsw_solver **solver);

/* Prepares the options of the next attempt. */
void gsw_attempt_begin(gsw_solver *solver, gsw_krylov_options *options);

/* Whether something else is to be tried after an attempt that has ended with `status`. If so,
 * solver->method and *precond say what. */
int gsw_attempt_next(gsw_solver *solver, gsw_status status, const gsw_krylov_result *result,
                     gsw_precond *precond);

#endif
