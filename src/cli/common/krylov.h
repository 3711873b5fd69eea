/* krylov.h: Krylov solves with a matrix and a factor or a multigrid hierarchy. */
#ifndef GSW_CLI_KRYLOV_H
#define GSW_CLI_KRYLOV_H

#include <gridsweep/gridsweep.h>
#include <gridsweep/multigrid.h>

/* gsw_krylov() with a matrix and a factor or a hierarchy (both NULL: no preconditioner). */
gsw_status cli_krylov(gsw_context *context, gsw_method method, const gsw_matrix *matrix,
                      gsw_factor *factor, gsw_multigrid *multigrid,
                      const gsw_krylov_options *options, const double *b, double *x,
                      gsw_krylov_result *result);

#endif
