/* factor.h: how other parts of the library create factors. */
#ifndef GSW_LIBRARY_FACTOR_H
#define GSW_LIBRARY_FACTOR_H

#include <gridsweep/factor.h>
#include <gridsweep/matrix.h>

/* gsw_factor_create() in three steps. Opening needs the matrix's grid, stencil and format; values
 * it does not read. `section` > 0 asks for sections of that many planes (struct gsw_factor), for
 * kinds LOWER and UPPER only. 0: no sections. The backend writes its choice to factor->section.
 * `ghosts`: planes of other processes below and above the matrix's along an axis (struct
 * gsw_factor). Queueing does not wait for a device. gsw_factor_await() reports wrong values; the
 * factor must not be used before.
 */
gsw_status gsw_factor_open(gsw_context *context, const gsw_matrix *matrix,
                           const gsw_factor_options *options, int64_t section, gsw_factor **factor);
gsw_status gsw_factor_open_ghosts(gsw_context *context, const gsw_matrix *matrix,
                                  const gsw_factor_options *options, const int64_t ghosts[2],
                                  int axis, gsw_factor **factor);
gsw_status gsw_factor_queue(gsw_context *context, gsw_factor *factor, const gsw_matrix *matrix);
gsw_status gsw_factor_await(gsw_context *context, gsw_factor *factor);

#endif
