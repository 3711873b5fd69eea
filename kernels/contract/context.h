/* context.h: what a context holds. */
#ifndef GSW_CONTEXT_H
#define GSW_CONTEXT_H

#include "common/threefold.h"

#include <gridsweep/tune.h>

struct gsw_backend_ops;

/* Threads of a context at most: more end the OpenMP runtime, and with it the process. */
enum { GSW_THREADS_MAX = 1024 };

struct gsw_context {
    const struct gsw_backend_ops *ops;
    gsw_backend backend;
    int threads;
    void *backend_data; /* owned by the backend */
    gsw_log_fn log;
    void *log_user;
    int solving; /* inside a Krylov method: its callbacks cannot begin another one */
    char device[160];
    char message[512];
    gsw_sum_fn sum; /* over processes; NULL: there is one */
    void *sum_user;
    /* The same for sums of three words, of which `rounded` gets the doubles; NULL: `sum` does. */
    gsw_status (*sum_threefold)(void *user, gsw_context *context, int count,
                                const gsw_threefold *sums, double *rounded);
    /* Before a solve: the same status in all processes, that of the first one that has failed, or
     * INVALID_ARGUMENT where marks differ. NULL: nobody can be asked. */
    gsw_status (*agree_to_solve)(void *user, gsw_status own, uint64_t mark);
    gsw_tuning tuning; /* the shapes of kernels */
    char *tuning_file; /* NULL: none */
    int row_base;      /* of messages: 1 + what gsw_context_set_row_base() was given; 0: not set */
};

#endif
