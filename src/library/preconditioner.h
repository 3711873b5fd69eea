/* preconditioner.h: how parts of the library make themselves preconditioners. */
#ifndef GSW_PRECONDITIONER_H
#define GSW_PRECONDITIONER_H

#include <gridsweep/preconditioner.h>

/* What a kind of preconditioner does. `self` is what it was made with. Arguments have been
 * checked. */
typedef struct gsw_preconditioner_ops {
    /* Whether `apply` takes b as x. Where it does not, it gets vectors that do not overlap. */
    int in_place;
    /* Whether a wasted `apply` costs more than a pause of the device: a solve then looks at each
     * iteration's end before it queues the next one. NULL: no. */
    int (*costly)(const void *self);
    gsw_status (*apply)(void *self, gsw_context *context, const double *b, double *x);
    /* Whether the preconditioner works in fp32, and the vectors that `apply_narrow` takes then: it
     * makes *x = M^-1 *b, whatever power of two b has been scaled by. NULL: it does not. */
    int (*narrow)(void *self, float **b, float **x);
    gsw_status (*apply_narrow)(void *self, gsw_context *context);
    const char *(*name)(const void *self);
    /* Refuses, before a solve, what cannot be applied now. NULL: it always can. */
    gsw_status (*check)(const void *self, gsw_context *context);
    /* Frees what the preconditioner owns. NULL: nothing. */
    void (*destroy)(void *self);
} gsw_preconditioner_ops;

/* Makes a preconditioner for vectors of `points` values. The table stays where it is. On success
 * the preconditioner owns `self` as its table says; on failure the caller still does, and
 * *preconditioner is NULL. Errors: OVERFLOW, OUT_OF_MEMORY. */
gsw_status gsw_preconditioner_make(gsw_context *context, int64_t points,
                                   const gsw_preconditioner_ops *ops, void *self,
                                   gsw_preconditioner **preconditioner);

/* Refuses NULL, a preconditioner of another context, and one that cannot be applied now. */
gsw_status gsw_preconditioner_check(gsw_context *context, const gsw_preconditioner *preconditioner);

/* As the table of its kind says. NULL, for no preconditioner, is not costly. */
int gsw_preconditioner_is_costly(const gsw_preconditioner *preconditioner);

/* As the table of its kind says. */
int gsw_preconditioner_narrow(const gsw_preconditioner *preconditioner, float **b, float **x);
gsw_status gsw_preconditioner_solve_narrow(gsw_preconditioner *preconditioner);

/* x = M^-1 b with checked arguments; x may be b. */
gsw_status gsw_preconditioner_solve(gsw_preconditioner *preconditioner, const double *b, double *x);

#endif
