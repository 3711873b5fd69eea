/* measure.h: clocks, statistics, the memory's copy bandwidth, and errors against a reference. */
#ifndef GSW_CLI_MEASURE_H
#define GSW_CLI_MEASURE_H

#include <stdbool.h>
#include <stdint.h>
#include <gridsweep/gridsweep.h>

typedef struct cli_times {
    double median, minimum, maximum; /* milliseconds */
    double first, second;            /* medians of a run's two steps, where it has two */
    int64_t repeats;                 /* 0: no meaning */
} cli_times;

/* Monotonic wall clock in milliseconds. */
double cli_now_ms(void);

/* Median, minimum and maximum; sorts `samples`. */
cli_times cli_summarise(double *samples, int64_t count);

/* What is timed. Each function returns a status; all but `run` may be NULL. */
typedef struct cli_task {
    gsw_status (*prepare)(void *user); /* before runs, outside their time */
    gsw_status (*first)(void *user);   /* a step of each run whose time is also given by itself */
    gsw_status (*run)(void *user);
    gsw_status (*check)(void *user); /* after the warm-up and after the last run */
    void *user;
    gsw_context *context; /* that runs it */
    bool single;          /* one run between two readings of the clock, however short */
    int64_t repeats;      /* how many times to take; 0: 10 at least, more of short runs */
    double patience_ms;   /* a warm-up that takes longer is the only sample; 0: there are more */
} cli_task;

/* Warms up, then times `run` with the host's clock. Work on a device is waited for before each
 * reading. Short runs are timed in batches, so that the launch of one hides behind the one before;
 * `prepare` comes before each batch. */
gsw_status cli_time(const cli_task *task, cli_times *times);

/* How many runs to time where nobody says: 10 at least, more of short ones. */
int64_t cli_repeats(double milliseconds);

/* Copy bandwidth of the memory in GB/s, bytes read + written, with that many threads; NaN where
 * the memory for it cannot be had. */
double cli_copy_bandwidth(int threads);

/* max |x - reference| / max |reference|; values that are not finite count as equal where both are
 * the same, else the result is NaN. */
double cli_max_error(const double *x, const double *reference, int64_t count);

/* Bytes of the literature's effective bandwidth: CSR with int32 indices, b and x. */
double cli_effective_bytes(int64_t nonzeros, int64_t rows, int value_bytes, int vector_bytes);

#endif
