/* test_hooks.h: what tests may set and ask of a CUDA context, beyond the public interface. */
#ifndef GSW_CUDA_TEST_HOOKS_H
#define GSW_CUDA_TEST_HOOKS_H

#include <stddef.h>
#include <stdint.h>
#include <gridsweep/context.h>

#ifdef __cplusplus
extern "C" {
#endif

/* For the solves to come: how long a kernel waits for a line that makes no progress; a line (y + ny
 * * z in the order of the sweep; in sweeps of factors a pencil's ticket) whose progress is never
 * published, or -1; the number of blocks, or 0 for as many as fit (of algorithm line; a sweep of a
 * factor has a block for each pencil). A new context has 10 s, -1 and 0. */
void gsw_cuda_test_hooks(gsw_context *context, int64_t wait_limit_ns, int64_t withheld_line,
                         int blocks);

/* For measuring: tile_y, tile_z, rows, workers and receivers of the tiled sweep in place of the
 * launch table's; all 0 for the table's. tile_y * tile_z <= 16, rows <= 32. Solves in place get
 * one worker: see MEMORY ORDER BETWEEN BLOCKS in line_kernel.cuh. */
void gsw_cuda_line_shape(gsw_context *context, const int shape[5]);

/* Bytes of device memory that direct sweeps keep in the context. */
size_t gsw_cuda_line_workspace(const gsw_context *context);

#ifdef __cplusplus
}
#endif

#endif
