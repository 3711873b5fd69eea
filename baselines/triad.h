/* triad.h: the memory bandwidth that kernels are measured against, after STREAM (McCalpin, 1995).
 *
 * Each function runs one loop over arrays of `elements` doubles with `threads` OpenMP threads, once
 * to warm up and then `repeats` >= 1 times. It returns the best rate in GB/s (1e9 bytes), or 0
 * where the arrays could not be allocated. As in STREAM, the bytes are those in the loop's source.
 * A store may first fetch its line; that is not counted. */
#ifndef GSW_BASELINES_TRIAD_H
#define GSW_BASELINES_TRIAD_H

#include <stdint.h>

/* The number of elements with which one array is at least four times as large as the last-level
 * cache. */
int64_t gsw_baseline_elements(void);

/* a = b + s*c: 24 bytes per element. */
double gsw_baseline_triad(int threads, int64_t elements, int repeats);

/* Sum of a: 8 bytes per element. */
double gsw_baseline_read(int threads, int64_t elements, int repeats);

/* b = a: 16 bytes per element, read and written. */
double gsw_baseline_copy(int threads, int64_t elements, int repeats);

#endif
