/* mask.cuh: inactive points, for the table of operations. */
#ifndef GSW_CUDA_MASK_CUH
#define GSW_CUDA_MASK_CUH

#include "cuda/device/context.cuh"

gsw_status gsw_cuda_select(gsw_context *context, gsw_dtype type, int64_t n, const uint8_t *active,
                           const void *x, const void *z, void *y);
gsw_status gsw_cuda_take_mask(gsw_context *context, int64_t n, const uint8_t *active,
                              uint8_t *copy);
gsw_status gsw_cuda_cut(gsw_context *context, const gsw_matrix *matrix, gsw_dtype type,
                        void *const *arrays);
gsw_status gsw_cuda_cut_box(gsw_context *context, const gsw_matrix *matrix, const gsw_frame *frame,
                            gsw_dtype type, void *const *arrays);
gsw_status gsw_cuda_is_cut(gsw_context *context, const gsw_matrix *matrix, int *yes);
gsw_status gsw_cuda_find_fixed(gsw_context *context, const gsw_matrix *matrix,
                               const gsw_frame *frame, uint8_t *left, int64_t counts[3]);
gsw_status gsw_cuda_list_active(gsw_context *context, int64_t n, const uint8_t *active,
                                int64_t *points, int64_t *count);
gsw_status gsw_cuda_spread(gsw_context *context, gsw_dtype type, int64_t rows,
                           const int64_t *points, const void *x, void *y);
gsw_status gsw_cuda_collect(gsw_context *context, gsw_dtype type, int64_t rows,
                            const int64_t *points, const void *x, void *y);
gsw_status gsw_cuda_shorten(gsw_context *context, const gsw_matrix *matrix, const gsw_stencil *near,
                            double *const *arrays);
gsw_status gsw_cuda_extend(gsw_context *context, const gsw_matrix *matrix, int64_t *nearest,
                           double *const *arrays);
gsw_status gsw_cuda_couplings(gsw_context *context, const gsw_matrix *matrix,
                              const int64_t *nearest, const double *const *arrays,
                              double *const along[3]);
gsw_status gsw_cuda_extend_faces(gsw_context *context, const gsw_matrix *matrix,
                                 const gsw_frame *frame, const double *const along[3],
                                 double *const *arrays);
gsw_status gsw_cuda_find_basins(gsw_context *context, const gsw_matrix *matrix, int64_t *root);
gsw_status gsw_cuda_mark_basins(gsw_context *context, int64_t n, const int64_t *root, int64_t but,
                                uint8_t *marked);
gsw_status gsw_cuda_sum_rows(gsw_context *context, const gsw_matrix *matrix,
                             const double *const *arrays, int64_t rows, const int64_t *points,
                             double *sums, double *diagonals);
gsw_status gsw_cuda_add_means(gsw_context *context, gsw_dtype type, int64_t sets,
                              const int64_t *begin, const int64_t *points, const double *scale,
                              const void *b, void *x);

#endif
