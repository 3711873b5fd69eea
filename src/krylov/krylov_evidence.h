/* krylov_evidence.h: why a solve does not converge. */
#ifndef GSW_KRYLOV_EVIDENCE_H
#define GSW_KRYLOV_EVIDENCE_H

#include "krylov_run.h"

/* The likely cause, found from the matrix, from b and from the present x: the end of a sentence
 * that begins with "; ", or "" where nothing speaks for one. Overwrites work vectors 0, 1 and 2. */
gsw_status gsw_krylov_find_cause(gsw_krylov_run *run, char *cause, size_t size);

#endif
