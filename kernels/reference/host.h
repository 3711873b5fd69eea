/* host.h: operations of a backend in host memory that are no arithmetic, or that call other
 * operations of its table. The CPU's table has them, too. See backend.h. */
#ifndef GSW_REFERENCE_HOST_H
#define GSW_REFERENCE_HOST_H

#include "contract/backend.h"

void gsw_host_close(gsw_context *context);
gsw_status gsw_host_synchronize(gsw_context *context);
gsw_status gsw_host_alloc(gsw_context *context, size_t bytes, void **pointer);
void gsw_host_release(gsw_context *context, void *pointer);
gsw_status gsw_host_transfer(gsw_context *context, void *to, const void *from, size_t bytes);
gsw_status gsw_host_set(gsw_context *context, void *pointer, int value, size_t bytes);
gsw_status gsw_host_check_place(gsw_context *context, const char *name, const void *pointer);
gsw_status gsw_host_krylov_post(gsw_context *context, int slot, int count,
                                const gsw_krylov_state *states, gsw_krylov_state *to);
gsw_status gsw_host_krylov_collect(gsw_context *context, int slot, int count, gsw_krylov_state *to);
gsw_status gsw_host_multiply_pass(gsw_context *context, const gsw_matrix *matrix, gsw_pass pass,
                                  int count, double *x, double *y, int64_t stride,
                                  gsw_krylov_state *const *states);
gsw_status gsw_host_judge(gsw_context *context, const gsw_matrix *matrix, const double *b,
                          const double *x, double *r, double sums[3], int *done);
gsw_status gsw_host_factor_await(gsw_context *context, gsw_factor *factor);
gsw_status gsw_host_transfer_open(gsw_context *context, gsw_transfer *transfer);
void gsw_host_transfer_close(gsw_context *context, gsw_transfer *transfer);
gsw_status gsw_host_squares(gsw_context *context, int64_t n, int64_t count, const double *x,
                            int64_t ldx, double *squares);
gsw_status gsw_host_scale(gsw_context *context, int64_t n, int64_t count, const double *a,
                          const double *x, int64_t ldx, double *y, int64_t ldy);
gsw_status gsw_host_aside(gsw_context *context, gsw_aside step);
gsw_sections gsw_host_sections(const gsw_grid *grid, int finest);
int gsw_host_prefers_colors(const gsw_grid *grid, gsw_sections sections);
extern const gsw_wrap_ops gsw_host_wrap_ops; /* wraps.c */
gsw_status gsw_host_split_apply(gsw_context *context, const gsw_split *split, const double *v,
                                double *t, double *y);

#endif
