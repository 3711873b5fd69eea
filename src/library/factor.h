/* factor.h: factors as other parts of the library make them. */
#ifndef GSW_LIBRARY_FACTOR_H
#define GSW_LIBRARY_FACTOR_H

#include <gridsweep/factor.h>

/* gsw_factor_create(), or gsw_factor_refactor() where *factor is not NULL, without waiting for a
 * device. With slabs of so many planes (struct gsw_factor) for kinds LOWER and UPPER, 0: all planes
 * are one; factor->slab says what the backend has made of that. Whatever is wrong with the values,
 * gsw_factor_await() says, and until then the factor must not be used. */
gsw_status gsw_factor_queue(gsw_context *context, const gsw_matrix *matrix,
                            const gsw_factor_options *options, int64_t slab, gsw_factor **factor);
gsw_status gsw_factor_await(gsw_context *context, gsw_factor *factor);

#endif
