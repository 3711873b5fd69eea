/* cusparse_rival.h: parts that the rivals that call cuSPARSE share. */
#ifndef GSW_CUSPARSE_RIVAL_H
#define GSW_CUSPARSE_RIVAL_H

#include <cusparse.h>

#include "cuda_rival.h"

/* Returns 0 for success; else writes "<what>: <cuSPARSE's text>" into message, clears the runtime's
 * last error and returns -1. */
static inline int gsw_rival_cusparse(cusparseStatus_t status, const char *what, char *message,
                                     size_t size) {
    if (status == CUSPARSE_STATUS_SUCCESS)
        return 0;
    (void)cudaGetLastError();
    return gsw_rival_fail(message, size, "%s: %s", what, cusparseGetErrorString(status));
}

#endif
