/* gauss_seidel_ops.h: how a backend smooths a level of multigrid by Gauss-Seidel in natural order:
 * an object for each level, of a kind that is a table. Matrices are stencil arrays in the backend's
 * memory; those of steps, and b and x, are of the type that open was given. */
#ifndef GSW_GAUSS_SEIDEL_OPS_H
#define GSW_GAUSS_SEIDEL_OPS_H

#include <gridsweep/matrix.h>
#include "common/sections.h"

typedef struct gsw_transfer gsw_transfer; /* geometry/multigrid.h */
typedef struct gsw_gauss_seidel gsw_gauss_seidel;

/* All entries are REQUIRED. */
typedef struct gsw_gauss_seidel_ops {
    /* Whether steps use `work`, a vector of the level, whose contents are undefined before and
     * after; else it may be NULL. */
    int needs_work;

    /* An object for a level of the matrix's grid and stencil; its values may come later. Each of
     * its steps sweeps once, or with `both` upwards and then downwards. `sections` are swept with
     * the old values of others. The object may round them, and is one section with `both`. *bytes
     * grows by the memory that the object takes. */
    gsw_status (*open)(gsw_context *context, const gsw_matrix *matrix, gsw_dtype type, int both,
                       gsw_sections sections, int64_t *bytes, gsw_gauss_seidel **made);

    /* Queues the values, from a matrix of any type; await returns its error. */
    gsw_status (*fill)(gsw_context *context, gsw_gauss_seidel *g, const gsw_matrix *matrix);
    gsw_status (*await)(gsw_context *context, gsw_gauss_seidel *g);

    /* A step upwards or, without `both`, `down`. `zero`: x counts as 0, whatever it holds. */
    gsw_status (*step)(gsw_context *context, gsw_gauss_seidel *g, const gsw_matrix *matrix,
                       int down, int zero, const void *b, void *x, void *work);

    /* These two are for steps of one sweep, and transfers without injection, between a step and a
     * transfer: a step upwards from zero, and to = R (b - A x); x += P from, and a step downwards.
     */
    gsw_status (*descend)(gsw_context *context, gsw_gauss_seidel *g, const gsw_transfer *transfer,
                          const gsw_matrix *matrix, void *const *weights, const void *b, void *x,
                          void *work, void *to);
    gsw_status (*ascend)(gsw_context *context, gsw_gauss_seidel *g, const gsw_transfer *transfer,
                         const gsw_matrix *matrix, void *const *weights, const void *from,
                         const void *b, void *x, void *work);

    void (*close)(gsw_context *context, gsw_gauss_seidel *g);
} gsw_gauss_seidel_ops;

/* The kind that sweeps with packed factors. A step solves with D + L, and leaves the rest N of A to
 * the right-hand side. */
typedef struct gsw_packed_gauss_seidel_ops {
    gsw_gauss_seidel_ops ops; /* GSW_PACKED_GAUSS_SEIDEL */

    /* y = b - N x, or N x where b is NULL. N is the strictly upper part of A, or with `down` the
     * strictly lower one. It also holds the couplings to the sections before, in the sweep's
     * direction. `sections` are those of the factor. */
    gsw_status (*rest)(gsw_context *context, const gsw_matrix *matrix, gsw_dtype type, int down,
                       gsw_sections sections, const void *b, const void *x, void *y);

    /* to = -R N x with N of a step upwards, which is R (b - A x) after one from zero. `work` as
     * above. */
    gsw_status (*restrict_rest)(gsw_context *context, const gsw_transfer *transfer,
                                const gsw_matrix *matrix, gsw_dtype type, gsw_sections sections,
                                void *const *weights, const void *x, void *work, void *to);
} gsw_packed_gauss_seidel_ops;

gsw_status gsw_packed_gs_open(gsw_context *context, const gsw_matrix *matrix, gsw_dtype type,
                              int both, gsw_sections sections, int64_t *bytes,
                              gsw_gauss_seidel **made);
gsw_status gsw_packed_gs_fill(gsw_context *context, gsw_gauss_seidel *g, const gsw_matrix *matrix);
gsw_status gsw_packed_gs_await(gsw_context *context, gsw_gauss_seidel *g);
gsw_status gsw_packed_gs_step(gsw_context *context, gsw_gauss_seidel *g, const gsw_matrix *matrix,
                              int down, int zero, const void *b, void *x, void *work);
gsw_status gsw_packed_gs_descend(gsw_context *context, gsw_gauss_seidel *g,
                                 const gsw_transfer *transfer, const gsw_matrix *matrix,
                                 void *const *weights, const void *b, void *x, void *work,
                                 void *to);
gsw_status gsw_packed_gs_ascend(gsw_context *context, gsw_gauss_seidel *g,
                                const gsw_transfer *transfer, const gsw_matrix *matrix,
                                void *const *weights, const void *from, const void *b, void *x,
                                void *work);
void gsw_packed_gs_close(gsw_context *context, gsw_gauss_seidel *g);

#define GSW_PACKED_GAUSS_SEIDEL                                                                    \
    {                                                                                              \
        1, gsw_packed_gs_open, gsw_packed_gs_fill, gsw_packed_gs_await, gsw_packed_gs_step,        \
            gsw_packed_gs_descend, gsw_packed_gs_ascend, gsw_packed_gs_close                       \
    }

#endif
