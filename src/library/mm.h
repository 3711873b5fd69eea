/* mm.h: declarations that the reader and the writer of Matrix Market files share. */
#ifndef GSW_MM_H
#define GSW_MM_H

#include <gridsweep/context.h>

/* "cannot VERB PATH: the system's reason for errno value `reason`". Returns OUT_OF_MEMORY for
 * ENOMEM, else IO. */
gsw_status gsw_mm_fail_errno(gsw_context *context, const char *verb, const char *path, int reason);

#endif
