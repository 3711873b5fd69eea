/* packed.h: packed factors of one process, as other parts of the library use them. */
#ifndef GSW_PACKED_FACTOR_H
#define GSW_PACKED_FACTOR_H

#include <gridsweep/factor.h>
#include <gridsweep/matrix.h>

#include "common/sections.h"

/* Checks options and resolves their defaults. */
gsw_status gsw_factor_resolve(gsw_context *context, const gsw_factor_options *given,
                              gsw_factor_options *options);

/* Refuses a matrix that is not the factor's, but for its values; notes the grid and the stencil of
 * a factor whose options are set. */
gsw_status gsw_factor_check_system(gsw_context *context, const gsw_factor *factor,
                                   const gsw_matrix *matrix, const char *name);

/* gsw_factor_create() in three steps, on one process. Opening needs the matrix's grid, stencil and
 * format; values it does not read. `sections` are for kinds LOWER and UPPER only; the backend
 * writes its choice to factor->sections. `ghosts`: planes of other processes below and above the
 * matrix's along an axis (struct gsw_factor). Queueing does not wait for a device.
 * gsw_packed_await() reports wrong values; the factor must not be used before.
 */
gsw_status gsw_packed_open(gsw_context *context, const gsw_matrix *matrix,
                           const gsw_factor_options *options, gsw_sections sections,
                           gsw_factor **factor);
gsw_status gsw_packed_open_ghosts(gsw_context *context, const gsw_matrix *matrix,
                                  const gsw_factor_options *options, const int64_t ghosts[2],
                                  int axis, gsw_factor **factor);
gsw_status gsw_packed_queue(gsw_context *context, gsw_factor *factor, const gsw_matrix *matrix);
gsw_status gsw_packed_await(gsw_context *context, gsw_factor *factor);

/* Refuses what gsw_packed_take() refuses before it changes the factor. */
gsw_status gsw_packed_check(gsw_context *context, const gsw_factor *factor,
                            const gsw_matrix *matrix, const gsw_matrix *upper);

/* Takes values and waits for them. */
gsw_status gsw_packed_take(gsw_context *context, gsw_factor *factor, const gsw_matrix *matrix,
                           const gsw_matrix *upper);

/* gsw_factor_solve() with checked arguments. */
gsw_status gsw_packed_solve(gsw_context *context, gsw_factor *factor, int64_t count, const void *b,
                            int64_t ldb, void *x, int64_t ldx);

#endif
