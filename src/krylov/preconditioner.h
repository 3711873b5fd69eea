/* preconditioner.h: how parts of the library become preconditioners. */
#ifndef GSW_PRECONDITIONER_H
#define GSW_PRECONDITIONER_H

#include <gridsweep/preconditioner.h>

/* The functions of a kind of preconditioner. `self` is the kind's own data. Arguments have been
 * checked. */
typedef struct gsw_preconditioner_ops {
    /* Whether `apply` takes b as x. If not, it gets vectors that do not overlap. */
    int in_place;
    /* Whether a wasted `apply` costs more than a pause of the device. A solve then waits for each
     * iteration's end before it queues the next one. NULL: no. */
    int (*costly)(const void *self);
    gsw_status (*apply)(void *self, gsw_context *context, const double *b, double *x);
    /* Whether several vectors together cost less than one after the other; NULL: no. If so,
     * `apply_several` takes `count` of them, `ld` values apart; x may be b. */
    int (*takes_several)(const void *self);
    gsw_status (*apply_several)(void *self, gsw_context *context, int count, const double *b,
                                double *x, int64_t ld);
    /* Whether the preconditioner works in fp32. If so, *b and *x receive the vectors of
     * `apply_narrow`, which computes *x = M^-1 *b for b scaled by any power of two. NULL: no. */
    int (*narrow)(void *self, float **b, float **x);
    gsw_status (*apply_narrow)(void *self, gsw_context *context);
    /* The factor that `apply` solves with, and nothing else. NULL: there is none. */
    const gsw_factor *(*factor)(const void *self);
    const char *(*name)(const void *self);
    /* Whether a solve is to tell by which factor an application reduces the residual. `judge` says
     * whether another smoother may do better, and `change` takes it: M^-1 is another one after it.
     * NULL: no. */
    int (*is_judged)(const void *self);
    int (*judge)(void *self, double rate);
    gsw_status (*change)(void *self, gsw_context *context);
    /* Refuses, before a solve, a preconditioner that cannot be applied now. NULL: it always can. */
    gsw_status (*check)(const void *self, gsw_context *context);
    /* Frees what the preconditioner owns. NULL: nothing. */
    void (*destroy)(void *self);
} gsw_preconditioner_ops;

/* Creates a preconditioner for vectors of `points` values. The table must outlive it. On success
 * the preconditioner owns `self` as its table states. On failure the caller still owns it, and
 * *preconditioner is NULL. Errors: OVERFLOW, OUT_OF_MEMORY. */
gsw_status gsw_preconditioner_make(gsw_context *context, int64_t points,
                                   const gsw_preconditioner_ops *ops, void *self,
                                   gsw_preconditioner **preconditioner);

/* Makes the preconditioner free `owned` in the end, after what its table frees. */
void gsw_preconditioner_own(gsw_preconditioner *preconditioner, void *owned,
                            void (*free_owned)(void *));

/* Refuses NULL, a preconditioner of another context, and one that cannot be applied now. */
gsw_status gsw_preconditioner_check(gsw_context *context, const gsw_preconditioner *preconditioner);

/* The `costly` of its kind. NULL, for no preconditioner, is not costly. */
int gsw_preconditioner_is_costly(const gsw_preconditioner *preconditioner);

/* The three of its kind. NULL, for no preconditioner, is not judged. */
int gsw_preconditioner_is_judged(const gsw_preconditioner *preconditioner);
int gsw_preconditioner_judge(gsw_preconditioner *preconditioner, double rate);
gsw_status gsw_preconditioner_change(gsw_preconditioner *preconditioner);

/* The `narrow` of its kind. */
int gsw_preconditioner_narrow(const gsw_preconditioner *preconditioner, float **b, float **x);
gsw_status gsw_preconditioner_solve_narrow(gsw_preconditioner *preconditioner);

/* The `factor` of its kind; NULL, for no preconditioner, has none. */
const gsw_factor *gsw_preconditioner_factor(const gsw_preconditioner *preconditioner);

/* x = M^-1 b with checked arguments; x may be b. */
gsw_status gsw_preconditioner_solve(gsw_preconditioner *preconditioner, const double *b, double *x);

/* The `takes_several` of its kind; NULL, for no preconditioner, does. The second function has the
 * bits of single solves. */
int gsw_preconditioner_takes_several(const gsw_preconditioner *preconditioner);
gsw_status gsw_preconditioner_solve_several(gsw_preconditioner *preconditioner, int count,
                                            const double *b, double *x, int64_t ld);

#endif
