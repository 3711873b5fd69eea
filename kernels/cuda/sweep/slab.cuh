/* slab.cuh: slabs of a grid whose neighbours belong to other processes, as the table has them
 * (contract/slab_ops.h). */
#ifndef GSW_CUDA_SLAB_CUH
#define GSW_CUDA_SLAB_CUH

#include "packed.cuh"

int64_t gsw_cuda_slab_unit(gsw_context *context, const gsw_grid *grid, const gsw_stencil *stencil);

gsw_status gsw_cuda_window_open(gsw_context *context, size_t bytes, int value, void **memory,
                                gsw_window_name *name);
gsw_status gsw_cuda_window_attach(gsw_context *context, const gsw_window_name *name, void **memory);
void gsw_cuda_window_close(gsw_context *context, void *memory);
void gsw_cuda_window_detach(gsw_context *context, const gsw_window_name *name, void *memory);

/* Queued: a copy between any two of this device, another one's window and the host. */
gsw_status gsw_cuda_put(gsw_context *context, void *to, const void *from, size_t bytes);
gsw_status gsw_cuda_post(gsw_context *context, uint64_t *counter, uint64_t value);
gsw_status gsw_cuda_await_post(gsw_context *context, const uint64_t *counter, uint64_t least,
                               double limit);
int64_t gsw_cuda_timeouts(gsw_context *context);
gsw_status gsw_cuda_copy_box(gsw_context *context, const gsw_box *box, const gsw_box_array *place,
                             void *array, void *dense, int to_dense);
gsw_status gsw_cuda_couple(gsw_context *context, const gsw_couple *job);

void gsw_cuda_face_bytes(const gsw_factor *factor, int which, size_t *inbox, size_t *outbox);
void gsw_cuda_connect(gsw_factor *factor, int which, void *inbox, void *outbox, double limit);

void gsw_cuda_border_bytes(const gsw_factor *factor, size_t *given, size_t *taken);
gsw_status gsw_cuda_border_give(gsw_context *context, const gsw_factor *factor, void *bytes);
gsw_status gsw_cuda_border_take(gsw_context *context, gsw_factor *factor, const void *bytes);

#endif
