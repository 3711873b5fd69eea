/* levels.h: multigrid of the reference backend, by file. See multigrid_ops.h. */
#ifndef GSW_REFERENCE_LEVELS_H
#define GSW_REFERENCE_LEVELS_H

#include "contract/multigrid_ops.h"
#include "geometry/multigrid.h"

extern const gsw_multigrid_ops gsw_reference_multigrid_ops;

/* ---- multigrid.c: Gauss-Seidel in place, on the level's own arrays, also that of the CPU.
 * Couplings that leave the grid are zeros in these. */
struct gsw_gauss_seidel {
    gsw_dtype type;
    int both;
    void *reciprocal; /* of the diagonal */
};

gsw_status gsw_reference_gs_open(gsw_context *context, const gsw_matrix *matrix, gsw_dtype type,
                                 int both, gsw_sections sections, int64_t *bytes,
                                 gsw_gauss_seidel **made);
gsw_status gsw_reference_gs_fill(gsw_context *context, gsw_gauss_seidel *g,
                                 const gsw_matrix *matrix);
gsw_status gsw_reference_gs_await(gsw_context *context, gsw_gauss_seidel *g);
void gsw_reference_gs_close(gsw_context *context, gsw_gauss_seidel *g);

/* ---- survey.c */
gsw_status gsw_reference_survey(gsw_context *context, const gsw_matrix *matrix,
                                const gsw_frame *own, const struct gsw_wraps *wraps, int mirror,
                                gsw_survey *survey);

/* ---- transfer.c */
gsw_status gsw_reference_interpolate(gsw_context *context, const gsw_transfer *transfer,
                                     const gsw_matrix *matrix, gsw_rows rows, gsw_dtype type,
                                     void *const *weights, int64_t *degenerate);
gsw_status gsw_reference_multiply_levels(gsw_context *context, const gsw_transfer *transfer,
                                         const gsw_matrix *matrix, gsw_dtype type,
                                         void *const *prolongation, void *const *restriction,
                                         double *const *coarse);
gsw_status gsw_reference_mend_diagonal(gsw_context *context, const gsw_transfer *transfer,
                                       const gsw_matrix *matrix, double *diagonal);
gsw_status gsw_reference_inject(gsw_context *context, const gsw_transfer *transfer,
                                const gsw_matrix *matrix, double *const *coarse);
gsw_status gsw_reference_restrict_residual(gsw_context *context, const gsw_transfer *transfer,
                                           const gsw_matrix *matrix, gsw_dtype type,
                                           void *const *weights, const void *b, const void *x,
                                           void *work, void *to);
gsw_status gsw_reference_restrict_vector(gsw_context *context, const gsw_transfer *transfer,
                                         gsw_dtype type, void *const *weights, const void *from,
                                         void *to);
gsw_status gsw_reference_prolong_add(gsw_context *context, const gsw_transfer *transfer,
                                     gsw_dtype type, void *const *weights, const void *from,
                                     void *to);

/* ---- dense.c: the coarsest level, also that of the CPU. */
gsw_status gsw_reference_dense_invert(gsw_context *context, const gsw_matrix *matrix,
                                      const struct gsw_wraps *wraps, int constants, double *inverse,
                                      double *work);
gsw_status gsw_reference_dense_apply(gsw_context *context, int64_t n, const double *inverse,
                                     gsw_dtype type, const void *b, void *x);

#endif
