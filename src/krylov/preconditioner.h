/* preconditioner.h: what a preconditioner is inside the library, and how its parts become ones. */
#ifndef GSW_PRECONDITIONER_H
#define GSW_PRECONDITIONER_H

#include <gridsweep/preconditioner.h>

/* The functions of a kind of preconditioner. `self` is the kind's own data. Arguments have been
 * checked. gsw_preconditioner_make() replaces NULL by the default that is named here. */
typedef struct gsw_preconditioner_ops {
    /* Whether `apply` takes b as x. If not, it gets vectors that do not overlap. */
    int in_place;
    gsw_status (*apply)(void *self, gsw_context *context, const double *b, double *x);
    const char *(*name)(const void *self);
    /* Whether a wasted `apply` costs more than a pause of the device. A solve then waits for each
     * iteration's end before it queues the next one. Default: no. */
    int (*costly)(const void *self);
    /* Whether several vectors together cost less than one after the other. If so, `apply_several`
     * takes `count` of them, `ld` values apart, with the bits of single ones; x may be b.
     * Default: no. */
    int (*takes_several)(const void *self);
    gsw_status (*apply_several)(void *self, gsw_context *context, int count, const double *b,
                                double *x, int64_t ld);
    /* Whether the preconditioner works in fp32. If so, *b and *x receive the vectors of
     * `apply_narrow`, which computes *x = M^-1 *b for b scaled by any power of two. Default: no. */
    int (*narrow)(void *self, float **b, float **x);
    gsw_status (*apply_narrow)(void *self, gsw_context *context);
    /* The factor that `apply` solves with, and nothing else. Default: NULL, there is none. */
    const gsw_factor *(*factor)(const void *self);
    /* Whether a solve is to tell by which factor an application reduces the residual. `judge` says
     * whether another smoother may do better, and `change` takes it: M^-1 is another one after it.
     * Default: no. */
    int (*is_judged)(const void *self);
    int (*judge)(void *self, double rate);
    gsw_status (*change)(void *self, gsw_context *context);
    /* Takes the values of another matrix of the same grid and stencil. Default: nothing changes. */
    gsw_status (*refill)(void *self, gsw_context *context, const gsw_matrix *matrix);
    /* Refuses, before a solve, a preconditioner that cannot be applied now. Default: none. */
    gsw_status (*check)(const void *self, gsw_context *context);
    /* Frees what the preconditioner owns. Who gives it `self` later sets this. Default: nothing. */
    void (*destroy)(void *self);
} gsw_preconditioner_ops;

struct gsw_preconditioner {
    gsw_context *context; /* the context of its creation */
    int64_t points;
    gsw_preconditioner_ops ops; /* every one can be called */
    void *self;
    double *work; /* receives b where x is b and the kind does not allow that; else NULL */
};

/* Creates a preconditioner for vectors of `points` values. On success the preconditioner owns
 * `self` as its table states. On failure the caller still owns it, and *preconditioner is NULL.
 * Errors: OVERFLOW, OUT_OF_MEMORY. */
gsw_status gsw_preconditioner_make(gsw_context *context, int64_t points,
                                   const gsw_preconditioner_ops *ops, void *self,
                                   gsw_preconditioner **preconditioner);

/* Refuses NULL, a preconditioner of another context, and one that cannot be applied now. */
gsw_status gsw_preconditioner_check(gsw_context *context, const gsw_preconditioner *preconditioner);

/* x = M^-1 b with checked arguments; x may be b. */
gsw_status gsw_preconditioner_solve(gsw_preconditioner *preconditioner, const double *b, double *x);

#endif
