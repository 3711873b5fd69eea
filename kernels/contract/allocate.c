/* allocate.c: see allocate.h. */
#define _DEFAULT_SOURCE /* madvise */
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "contract/allocate.h"
#include "contract/error.h"

#define GSW_ALIGNMENT 64
#define GSW_HUGE_PAGE ((size_t)2 << 20)

gsw_status gsw_alloc(gsw_context *context, size_t count, size_t size, const char *what,
                     void **out) {
    size_t bytes;
    if (!gsw_mul_size(count, size, &bytes) || bytes > SIZE_MAX - GSW_HUGE_PAGE)
        return gsw_fail(context, GSW_ERROR_OVERFLOW, "%s: %zu values of %zu bytes are too many",
                        what, count, size);
    /* Large arrays start on a huge page and ask for huge ones: a sweep streams through them, and
     * small pages would stop the hardware's prefetching every 4 KiB. */
    const size_t alignment = bytes >= 2 * GSW_HUGE_PAGE ? GSW_HUGE_PAGE : GSW_ALIGNMENT;
    /* aligned_alloc needs a multiple of the alignment; at least one unit keeps the pointer valid.
     */
    size_t rounded = (bytes + alignment - 1) / alignment * alignment;
    void *memory = aligned_alloc(alignment, rounded > 0 ? rounded : alignment);
    if (memory == NULL)
        return gsw_fail(context, GSW_ERROR_OUT_OF_MEMORY, "%s: no memory for %zu bytes", what,
                        bytes);
#ifdef MADV_HUGEPAGE
    if (alignment == GSW_HUGE_PAGE)
        (void)madvise(memory, rounded, MADV_HUGEPAGE); /* a hint: failure costs nothing */
#endif
    *out = memory;
    return GSW_SUCCESS;
}
