/* system.h: the matrix of several cases: a model problem, one part of it as a CSR, its values in
 * fp32. Each is made when the first case needs it. */
#ifndef GSW_CLI_BENCH_SYSTEM_H
#define GSW_CLI_BENCH_SYSTEM_H

#include "common/options.h"
#include "plan.h"

typedef struct bench_system {
    gsw_problem *problem; /* NULL once the last part is taken out of it */
    gsw_grid grid;
    gsw_stencil stencil;
    int64_t rows;
    gsw_csr csr; /* of `part` */
    bench_part part;
    gsw_matrix f32; /* the arrays in fp32 */
    const void *pointers_f32[GSW_STENCIL_MAX];
    float *values_f32; /* NULL: not made */
} bench_system;

/* The problem --problem, or random:1, or HPCG's, on an item's grid. All return exit codes; free
 * what is there with bench_free_system() either way. */
int bench_make_system(const cli_options *options, gsw_context *host, const bench_item *item,
                      bench_system *system);

/* The CSR of an item's part; without the problem once nobody needs it. */
int bench_system_csr(const cli_options *options, gsw_context *host, const bench_item *item,
                     bench_system *system);

/* The arrays in fp32. */
int bench_system_f32(const cli_options *options, gsw_context *host, bench_system *system);

void bench_free_system(bench_system *system);

/* The values of a CSR in fp32; NULL without memory. */
float *bench_narrow(const gsw_csr *csr);

#endif
