/* multigrid.h: --precond mg. */
#ifndef GSW_CLI_MULTIGRID_H
#define GSW_CLI_MULTIGRID_H

#include <cjson/cJSON.h>
#include <gridsweep/multigrid.h>
#include "common/options.h"

/* The precision of the cycle, and all that the options ask for. GMRES needs a preconditioner that
 * is linear to more than fp32's digits. On several CPUs, cycles are in fp64. */
int cli_mg_precision(const cli_options *options);
gsw_multigrid_options cli_multigrid_options(const cli_options *options);

/* A line about the hierarchy, and with --mg-info a table of its levels. */
void cli_print_multigrid(const cli_options *options, const gsw_multigrid *multigrid);

/* The key multigrid, or on several processes distributed_multigrid. Both stay null for NULL. */
void cli_set_multigrid(cJSON *json, const gsw_multigrid *multigrid);

#endif
