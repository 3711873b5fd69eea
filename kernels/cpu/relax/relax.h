/* relax.h: stencil loops with ghost zones (contract/relax_ops.h) on the CPU. */
#ifndef GSW_CPU_RELAX_H
#define GSW_CPU_RELAX_H

#include "contract/relax_ops.h"

extern const gsw_relax_ops gsw_cpu_relax_ops;

/* ---- a pass of sweeps as the kernels of each instruction set take it. */

/* Lines of at most so many points are short: several are computed as one. */
enum { GSW_RELAX_SHORT = 32 };

typedef struct gsw_relax_job {
    const gsw_relax_pass *pass;
    int64_t tile[3], tiles[3]; /* points of a tile, and tiles along each axis */
    int32_t reach[3];          /* of the stencil along each axis */
    int64_t buffer; /* values of one of a thread's four buffers; 0: one sweep needs none */
    void *buffers;  /* of all threads; values of the matrix's type */
} gsw_relax_job;

#endif
