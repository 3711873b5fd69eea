/* relax.h: stencil loops with ghost zones (contract/relax_ops.h) on the CPU. */
#ifndef GSW_CPU_RELAX_H
#define GSW_CPU_RELAX_H

#include "contract/relax_ops.h"

extern const gsw_relax_ops gsw_cpu_relax_ops;

/* reference_relax.c: one sweep, as the contract describes it, serially; p is updated in place.
 * Never optimised. */
void gsw_reference_relax(const gsw_matrix *matrix, double alpha, double beta, int zero,
                         const double *b, const double *x, double *y, double *p);

#endif
