/* krylov_evidence.h: the true residual of an x, and why a solve does not converge. */
#ifndef GSW_KRYLOV_EVIDENCE_H
#define GSW_KRYLOV_EVIDENCE_H

#include "krylov_run.h"

/* The true residual, and what rounding leaves unknown of it. */
typedef struct gsw_krylov_truth {
    double residual; /* ||b - A x|| */
    double checked;  /* the norm that the tolerance applies to: the same, or ||M^-1 (b - A x)|| */
    double rounding; /* bound of the rounding error in it */
    double x;        /* ||x|| */
} gsw_krylov_truth;

/* Measures run->x. Overwrites work vectors 0, 1 and 2. */
gsw_status gsw_krylov_measure(gsw_krylov_run *run, gsw_krylov_truth *truth);

/* The same, with r = b - A x in any vector and without other work vectors. *done = 0: that is not
 * possible here, and nothing has been done. */
gsw_status gsw_krylov_measure_at_once(gsw_krylov_run *run, double *r, gsw_krylov_truth *truth,
                                      int *done);

/* The likely cause, found from the matrix, from b and from the present x: the end of a sentence
 * that begins with "; ", or "" where nothing speaks for one. Overwrites work vectors 0, 1 and 2. */
gsw_status gsw_krylov_find_cause(gsw_krylov_run *run, char *cause, size_t size);

#endif
