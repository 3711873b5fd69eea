/* test_hooks.h: settings and queries of a CUDA context for tests, beyond the public interface. */
#ifndef GSW_CUDA_TEST_HOOKS_H
#define GSW_CUDA_TEST_HOOKS_H

#include <stddef.h>
#include <stdint.h>
#include <gridsweep/context.h>

#ifdef __cplusplus
extern "C" {
#endif

/* For the following solves: how long a kernel waits for a line without progress; a line whose
 * progress is never published, or -1; and the number of blocks of algorithm line, or 0 for as many
 * as fit. The line is y + ny * z in the order of the sweep; in sweeps of factors it is a pencil's
 * ticket. A sweep of a factor always has one block per pencil. A new context has 10 s, -1 and 0. */
void gsw_cuda_test_hooks(gsw_context *context, int64_t wait_limit_ns, int64_t withheld_line,
                         int blocks);

/* Bytes of device memory that direct sweeps keep in the context. */
size_t gsw_cuda_line_workspace(const gsw_context *context);

/* The order of pencils in the factors of slabs that are made from now on; 0: the library's own. */
void gsw_cuda_test_weight(gsw_context *context, int weight);

/* Factors of slabs that were made in steps (contract/slab_ops.h), so far. */
int64_t gsw_cuda_made_in_steps(const gsw_context *context);

#ifdef __cplusplus
}
#endif

#endif
