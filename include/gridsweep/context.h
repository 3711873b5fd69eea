/* gridsweep/context.h: where work runs, and what went wrong.
 *
 * Every program creates a context first, because nearly all calls take one. A context names a
 * backend (CPU or CUDA) and its threads, or its device and stream. It also keeps the text of the
 * last error.
 *
 * One thread at a time may use a context. To solve in several threads at once, create one context
 * per thread. Objects that were created with a context (gsw_factor, gsw_multigrid, gsw_operator,
 * gsw_preconditioner) are used with that context, and are destroyed before it.
 *
 * Use gsw_context_synchronize() with CUDA to wait for queued solves and to learn whether they
 * failed. Use gsw_context_message() after any error. Callbacks use gsw_context_fail().
 * gsw_context_set_row_base() sets how messages count rows. The other functions describe the
 * context, the devices and the library, for reports. */
#ifndef GRIDSWEEP_CONTEXT_H
#define GRIDSWEEP_CONTEXT_H

#include <stddef.h>
#include <gridsweep/status.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum gsw_backend {
    GSW_BACKEND_AUTO = 0, /* CUDA if it is built in and a device answers, else the CPU */
    GSW_BACKEND_CPU = 1,
    GSW_BACKEND_CUDA = 2,
    GSW_BACKEND_REFERENCE = 3 /* plain loops with one thread, to compare results with */
} gsw_backend;

/* The library calls this function with every error text, at the time of the error. It also calls it
 * with GSW_SUCCESS to warn: it ignores a file of tune.h, or the system lets fewer threads start
 * than the context shall have. `user` is log_user of the options. The library itself never prints.
 */
typedef void (*gsw_log_fn)(void *user, gsw_status status, const char *message);

/* For the defaults set all members except `size` to 0. */
typedef struct gsw_context_options {
    size_t size; /* sizeof this struct, set by the caller */
    gsw_backend backend;
    int threads;  /* CPU threads, at most 1024; 0: as many as OpenMP offers, at most 8 per processor
                     or 64, whichever is more */
    int device;   /* CUDA device number */
    void *stream; /* CUDA stream (a cudaStream_t); NULL: the default stream */
    gsw_log_fn log;
    void *log_user;
    const char *tuning; /* the file with the shapes of kernels (tune.h); NULL: the user's; "": none,
                           and the shapes that are built in */
} gsw_context_options;

typedef struct gsw_context gsw_context;

/* Creates a context in *context. `options` may be NULL for the defaults. On failure *context is
 * NULL, and gsw_context_message(NULL) says why.
 * Errors: INVALID_ARGUMENT (threads, unknown backend, size), NO_BACKEND, OUT_OF_MEMORY. */
GSW_API
gsw_status gsw_context_create(const gsw_context_options *options, gsw_context **context);

/* Frees a context; NULL is allowed. */
GSW_API
void gsw_context_destroy(gsw_context *context);

/* Waits until all work that the context has started is done, and reports its errors. With the CPU
 * backend it has nothing to wait for. With CUDA, solves (gsw_sptrsv, gsw_factor_solve) return as
 * soon as they are queued on the stream. Some errors show only while a kernel runs: TIMEOUT, and
 * NOT_A_GRID in a solve. The first of these calls reports such an error: this one,
 * gsw_memory_download(), or the next call that takes the context. The error is reported once; the
 * context is then usable again.
 * Errors: INVALID_ARGUMENT, DEVICE, and those of earlier solves. */
GSW_API
gsw_status gsw_context_synchronize(gsw_context *context);

/* Number of CUDA devices that this build of the library can use. It is 0 without a CUDA backend,
 * without a driver or without a device. */
GSW_API
int gsw_device_count(void);

/* Writes the name of CUDA device `device` into name[size]; a longer name is cut.
 * Errors: INVALID_ARGUMENT (name NULL, size 0), NO_BACKEND (there is no such device). */
GSW_API
gsw_status gsw_device_name(int device, char *name, size_t size);

/* The text of the last error in this context; "" if there was none. It is valid until the next call
 * with the context. NULL gives the text of the last gsw_context_create() in the calling thread: why
 * it failed, or "" if it succeeded. */
GSW_API
const char *gsw_context_message(const gsw_context *context);

/* For callbacks that fail: sets the text of the last error to `message`, passes it to the log, and
 * returns `status`. A callback can thus end with
 * `return gsw_context_fail(context, GSW_ERROR_BREAKDOWN, "the coarse solve diverged")`.
 * A message that is longer than a context keeps is cut; NULL counts as "". */
GSW_API
gsw_status gsw_context_fail(gsw_context *context, gsw_status status, const char *message);

/* Sets the number from which the context's messages count rows and columns. The default is -1: they
 * count from the base of the CSR that they are about, else from 0. With base 0 or 1 they count from
 * there and say so, as in "row 18 (1-based), (x, y, z) = (1, 2, 0)". Points of the grid always
 * count from 0. Errors: INVALID_ARGUMENT (context NULL, another base). */
GSW_API
gsw_status gsw_context_set_row_base(gsw_context *context, int base);

/* Replaces each of the `count` values by its sum over all processes of a solve. The values are in
 * host memory. All processes must get the same bits, because each decides by them whether its
 * method ends. Returns GSW_SUCCESS, or another status, which ends the solve. */
typedef gsw_status (*gsw_sum_fn)(void *user, gsw_context *context, int count, double *values);

/* For vectors whose entries are spread over several processes: from now on the Krylov methods
 * (krylov.h) of this context pass every sum over a vector's entries to `sum`, and so all processes
 * take the same steps. Each process calls the method with its own points, and with an operator and
 * a preconditioner that exchange what they need. gsw_partition_create() in partition.h calls it.
 * `sum` NULL: the sums of this process are all. With CUDA the host then waits for each sum.
 * gsw_choose() and solvers (solve.h) use `sum` for matrices on a partition.
 * Errors: INVALID_ARGUMENT (context NULL). */
GSW_API
gsw_status gsw_context_set_sum(gsw_context *context, gsw_sum_fn sum, void *user);

/* The backend that the context uses (never AUTO). */
GSW_API
gsw_backend gsw_context_backend(const gsw_context *context);

/* Number of CPU threads that this context uses in the calling thread; at least 1. Where the system
 * lets fewer threads start than the context shall have, it uses fewer, and its log says so. While
 * other processes occupy cores, kernels run with fewer threads, because waiting for a thread
 * without a core would be slower. A process that was forked from one with threads computes with one
 * thread, also in contexts of the parent. This function then returns 1. An OpenMP runtime could
 * hang with more. */
GSW_API
int gsw_context_threads(const gsw_context *context);

/* The device in words: the name of the processor or GPU, then the instruction set that the kernels
 * use. The string lives as long as the context. */
GSW_API
const char *gsw_context_device(const gsw_context *context);

/* "cpu", "cuda", "reference" or "auto". */
GSW_API
const char *gsw_backend_name(gsw_backend backend);

/* How the library was built: one "key: value" per line of text (compiler, OpenMP, CUDA, instruction
 * sets). Static storage. */
GSW_API
const char *gsw_build_info(void);

/* Version of the running library, such as "0.2.0", and the commit that it was built from ("unknown"
 * outside a checkout). Static storage. */
GSW_API
const char *gsw_version(void);
GSW_API
const char *gsw_commit(void);

#ifdef __cplusplus
}
#endif

#endif
