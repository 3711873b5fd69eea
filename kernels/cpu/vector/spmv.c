/* spmv.c: products with stencil arrays: y = A x, or the residual y = b - A x. Those with a CSR are
 * in rows/csr.c.
 *
 * A row's products are added in ascending order of the columns, starting from 0 or b. Each addition
 * is a fused multiply-add where the instruction set has one. Stencil arrays are processed line by
 * line, short lines several at a time. The points whose neighbours along x all exist are computed
 * in vectors, without checks of the boundary; at the ends of short lines masks clear what belongs
 * to another line. The few points that are left are computed one by one. */
#include <stdint.h>

#include "common/arrays.h"
#include "common/elements.h"
#include "cpu/core/kernels.h"
#include "cpu/core/multiply_add.h"
#include "cpu/core/specialized.h"
#include "cpu/core/strip.h"
#include "cpu/rows/rows.h"

/* Smaller matrices are not worth waking the other threads. */
#define SERIAL_LIMIT 8192

/* Points of a line per task, so that threads share lines of a flat grid, too. */
#define SEGMENT 16384

/* Lines of at most SHORT points are put together, GROUP points in a task. With more than TERMS
 * terms the limit is SHORT_MANY: there the masks cost more than the ends of long lines, and the
 * more so, the narrower the registers are (perf/DECISIONS.md, Short lines as one). */
#define SHORT 128
#if defined(__AVX512F__)
#define SHORT_MANY 64
#else
#define SHORT_MANY 28
#endif
#define GROUP       4096
#define SHORT_REACH 2

/* Points of a line are computed in strips, this many at a time, to hide the latency of the
 * multiply-adds. */
enum { STRIPS = 4 };

/* The hardware's prefetchers follow fewer arrays than a large stencil has. So at most TERMS of them
 * are added at a time, for SPAN points, whose sums stay in the first-level cache. Coefficients are
 * prefetched PREFETCH bytes ahead. */
enum { TERMS = 14, SPAN = 512, PREFETCH = 512 };
#define STRIP STRIP_VALUES(VALUE)

#define GSW_VALUES "cpu/core/short_lines.inc"
#define GSW_PAIRS  "cpu/vector/spmv_rows.inc"
#include "cpu/core/typed.inc"

void GSW_ISA_FN(gsw_spmv_arrays)(int threads, const gsw_matrix *matrix, gsw_dtype vector_type,
                                 int count, int64_t stride, const void *b, const void *x, void *y) {
    GSW_CALL_PAIR(stencil_rows, vector_type, matrix->array.value_type, threads, matrix, 1, 1, count,
                  stride, b, x, y);
}

void GSW_ISA_FN(gsw_spmv_lines)(int threads, const gsw_matrix *matrix, gsw_dtype vector_type,
                                int64_t step_y, int64_t step_z, const void *b, const void *x,
                                void *y) {
    GSW_CALL_PAIR(stencil_rows, vector_type, vector_type, threads, matrix, step_y, step_z, 1, 0, b,
                  x, y);
}
