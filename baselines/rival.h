/* rival.h: solvers that gridsweep is compared with, behind one interface.
 *
 * A rival solves T x = b with one triangular part of a matrix. open() does everything that the
 * method must do before its first solve (analysis, buffers) and reports its cost. The caller then
 * times solve(). Functions return 0, or -1 after writing a reason into message. Where a rival
 * cannot run (no device, a missing library, an unsupported precision), open() fails with the
 * reason. */
#ifndef GSW_RIVAL_H
#define GSW_RIVAL_H

#include <stddef.h>
#include <gridsweep/gridsweep.h>

#ifdef __cplusplus
extern "C" {
#endif

/* One triangular system. The CSR holds the part alone, diagonal included, 0-based, int32; values
 * and vectors have the CSR's value_type. `device` is NULL where there is no device. Both stay valid
 * while the rival is open. */
typedef struct gsw_rival_system {
    gsw_grid grid;
    gsw_stencil stencil;
    gsw_part part;         /* GSW_LOWER or GSW_UPPER */
    const gsw_csr *host;   /* arrays in host memory */
    const gsw_csr *device; /* the same in device memory */
    void *stream;          /* cudaStream_t that device solves are queued on */
} gsw_rival_system;

typedef struct gsw_rival_cost {
    double setup_ms;     /* of open(), except checks of its arguments, until the work was done */
    double buffer_bytes; /* memory that it keeps for solves */
} gsw_rival_cost;

typedef struct gsw_rival {
    const char *name;    /* as on the command line and in plots: "cusparse" */
    const char *summary; /* one line */
    int on_device;       /* solve() is queued on the stream, b and x are device arrays; otherwise it
                            runs on the host, on host arrays */
    int (*open)(const gsw_rival_system *system, void **state, gsw_rival_cost *cost, char *message,
                size_t size);
    int (*solve)(void *state, const void *b, void *x, char *message, size_t size); /* x is not b */
    void (*close)(void *state); /* NULL is allowed */
} gsw_rival;

/* All rivals of this build, in the order in which they are shown. */
const gsw_rival *gsw_rivals(int *count);

/* The steps from the plain task partition to the published line algorithm, and D from 1 to 16:
 * lower part, fp64. They have the same interface. Empty in a build without CUDA. */
const gsw_rival *gsw_ablation_steps(int *count);

/* ---- Measuring on the device ---- */

/* Whether there is a device, and its name, the versions of driver and toolkit ("13.0"), cut to
 * `size` - 1 characters each. Returns 0, or -1 where there is none. */
int gsw_device_describe(int device, char *name, char *driver, char *toolkit, size_t size);

/* Device-to-device copy of 1 GiB (less on a small card): median of 20, bytes read and written, in
 * GB/s; NaN where it fails. */
double gsw_device_copy_bandwidth(void *stream);

/* Runs `run(user)` `warm_up` times, then `repeats` times, each between two events on the stream,
 * and stores the milliseconds of each. `cold` nonzero: before each run the L2 cache is overwritten,
 * outside the timed region. `poison` (device memory, may be NULL) is set to 0xff bytes before each
 * run, also outside. run returns 0 to continue. Returns 0, or -1. */
int gsw_device_time(void *stream, int (*run)(void *user), void *user, int warm_up, int repeats,
                    int cold, void *poison, size_t poison_bytes, double *milliseconds);

/* A stream that does not synchronise with the default stream; NULL where there is none. */
void *gsw_device_stream_create(int device);
void gsw_device_stream_destroy(void *stream);

#ifdef __cplusplus
}
#endif

#endif
