/* krylov_solve.h: solves a system until the true residual meets the tolerance. */
#ifndef GSW_KRYLOV_SOLVE_H
#define GSW_KRYLOV_SOLVE_H

#include "krylov_methods.h"

/* Arguments have been checked and options resolved. run->b, x and n are set, and run->reported is
 * -1. Allocates the work vectors and frees them. Fills *result except solve_ms. */
gsw_status gsw_krylov_solve(gsw_krylov_run *run, const gsw_krylov_method *method,
                            gsw_krylov_result *result);

#endif
