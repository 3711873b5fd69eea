/* rivals.c: the table of rivals, and the answers of a build without CUDA. */
#include <math.h>

#include "rival_parts.h"

static const gsw_rival rivals[] = {
#ifdef GSW_RIVALS_CUDA
#ifdef GSW_RIVALS_CUSPARSE
    {"cusparse", "cuSPARSE SpSV: analysis, then solves", 1, gsw_cusparse_open, gsw_cusparse_solve,
     gsw_cusparse_close},
#endif
    {"levels", "level scheduling: a kernel a level, replayed as one CUDA graph", 1, gsw_levels_open,
     gsw_levels_solve, gsw_levels_close},
    {"syncfree-warp", "synchronisation-free: one warp and one flag per row", 1,
     gsw_syncfree_warp_open, gsw_syncfree_solve, gsw_syncfree_close},
    {"syncfree-warp-value", "synchronisation-free: one warp per row, the value is its own flag", 1,
     gsw_syncfree_warp_value_open, gsw_syncfree_solve, gsw_syncfree_close},
    {"syncfree-thread", "synchronisation-free: one thread per row, the value is its own flag", 1,
     gsw_syncfree_thread_open, gsw_syncfree_solve, gsw_syncfree_close},
#endif
#ifdef GSW_HAVE_PETSC
    {"petsc", "PETSc MatSolve on one core", 0, gsw_petsc_open, gsw_petsc_solve, gsw_petsc_close},
#endif
    {"serial", "serial sweep over CSR on one core", 0, gsw_serial_open, gsw_serial_solve,
     gsw_serial_close},
};

const gsw_rival *gsw_rivals(int *count) {
    *count = (int)(sizeof rivals / sizeof rivals[0]);
    return rivals;
}

#ifndef GSW_RIVALS_CUDA

const gsw_rival *gsw_ablation_steps(int *count) {
    *count = 0;
    return NULL;
}

int gsw_device_describe(int device, char *name, char *driver, char *toolkit, size_t size) {
    (void)device;
    if (size > 0)
        name[0] = driver[0] = toolkit[0] = '\0';
    return -1;
}

double gsw_device_copy_bandwidth(void *stream) {
    (void)stream;
    return NAN;
}

int gsw_device_time(void *stream, int (*run)(void *user), void *user, int warm_up, int repeats,
                    int cold, void *poison, size_t poison_bytes, double *milliseconds) {
    (void)stream, (void)run, (void)user, (void)warm_up, (void)repeats;
    (void)cold, (void)poison, (void)poison_bytes, (void)milliseconds;
    return -1;
}

void *gsw_device_stream_create(int device) {
    (void)device;
    return NULL;
}

void gsw_device_stream_destroy(void *stream) {
    (void)stream;
}

#endif
