/* multigrid.cuh: multigrid's operations on the device, for the table of operations. */
#ifndef GSW_CUDA_MULTIGRID_CUH
#define GSW_CUDA_MULTIGRID_CUH

#include "cuda/device/context.cuh"
extern "C" {
#include "geometry/multigrid.h"
}

/* The device's copy of a transfer's tables: multigrid_tables.cuh. */
gsw_status gsw_cuda_transfer_open(gsw_context *context, gsw_transfer *transfer);
void gsw_cuda_transfer_close(gsw_context *context, gsw_transfer *transfer);

gsw_status gsw_cuda_survey(gsw_context *context, const gsw_matrix *matrix, const gsw_frame *own,
                           const struct gsw_wraps *wraps, int mirror, gsw_survey *survey);
gsw_status gsw_cuda_copy_arrays(gsw_context *context, const gsw_matrix *matrix, gsw_dtype type,
                                void *const *arrays);
gsw_status gsw_cuda_interpolate(gsw_context *context, const gsw_transfer *transfer,
                                const gsw_matrix *matrix, gsw_rows rows, gsw_dtype type,
                                void *const *weights, int64_t *degenerate);
gsw_status gsw_cuda_triple(gsw_context *context, const gsw_transfer *transfer,
                           const gsw_matrix *matrix, gsw_dtype type, void *const *prolongation,
                           void *const *restriction, double *const *coarse);
/* The same where each coupling has a slot of its own, in fp64. `mean`: with the rows of
 * (A + A^T) / 2. */
bool gsw_cuda_has_slots(const gsw_transfer *transfer, const gsw_matrix *matrix);
gsw_status gsw_cuda_weigh_slots(gsw_context *context, const gsw_transfer *transfer,
                                const gsw_matrix *matrix, bool mean, gsw_dtype type,
                                void *const *weights, unsigned long long *degenerate);
gsw_status gsw_cuda_multiply_slots(gsw_context *context, const gsw_transfer *transfer,
                                   const gsw_matrix *matrix, gsw_dtype type,
                                   void *const *prolongation, void *const *restriction,
                                   double *const *coarse);
gsw_status gsw_cuda_mend_diagonal(gsw_context *context, const gsw_transfer *transfer,
                                  const gsw_matrix *matrix, double *diagonal);
gsw_status gsw_cuda_inject(gsw_context *context, const gsw_transfer *transfer,
                           const gsw_matrix *matrix, double *const *coarse);

gsw_status gsw_cuda_restrict_rest(gsw_context *context, const gsw_transfer *transfer,
                                  const gsw_matrix *matrix, gsw_dtype type, gsw_sections sections,
                                  void *const *weights, const void *x, void *work, void *to);
gsw_status gsw_cuda_restrict_residual(gsw_context *context, const gsw_transfer *transfer,
                                      const gsw_matrix *matrix, gsw_dtype type,
                                      void *const *weights, const void *b, const void *x,
                                      void *work, void *to);
gsw_status gsw_cuda_restrict_vector(gsw_context *context, const gsw_transfer *transfer,
                                    gsw_dtype type, void *const *weights, const void *from,
                                    void *to);
gsw_status gsw_cuda_prolong_add(gsw_context *context, const gsw_transfer *transfer, gsw_dtype type,
                                void *const *weights, const void *from, void *to);
gsw_status gsw_cuda_narrow(gsw_context *context, int64_t n, const double *from, float *to,
                           double *scale);
gsw_status gsw_cuda_widen(gsw_context *context, int64_t n, const float *from, const double *scale,
                          double *to);
gsw_status gsw_cuda_combine(gsw_context *context, gsw_dtype type, int64_t n, double a,
                            const void *x, double b, void *y);

int gsw_cuda_prefers_colors(const gsw_grid *grid, gsw_sections sections);
gsw_status gsw_cuda_color_sweep(gsw_context *context, const gsw_matrix *matrix, gsw_dtype type,
                                int down, int zero, const void *b, void *x);

gsw_status gsw_cuda_dense_invert(gsw_context *context, const gsw_matrix *matrix,
                                 const struct gsw_wraps *wraps, int constants, double *inverse,
                                 double *work);
gsw_status gsw_cuda_dense_apply(gsw_context *context, int64_t n, const double *inverse,
                                gsw_dtype type, const void *b, void *x);

#endif
