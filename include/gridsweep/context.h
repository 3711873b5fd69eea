/* gridsweep/context.h: where work runs, and what went wrong.
 *
 * A context names a backend and its threads (or device and stream), and keeps the text of the last
 * error. It is used by one thread at a time; several contexts may run side by side. Objects made
 * with a context (gsw_factor, gsw_operator, gsw_preconditioner) are used with that context and
 * destroyed before it. */
#ifndef GRIDSWEEP_CONTEXT_H
#define GRIDSWEEP_CONTEXT_H

#include <stddef.h>
#include <gridsweep/status.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum gsw_backend {
    GSW_BACKEND_AUTO = 0, /* CUDA where it is built in and a device answers, else the CPU */
    GSW_BACKEND_CPU = 1,
    GSW_BACKEND_CUDA = 2
} gsw_backend;

/* Receives every error text as it happens; `user` is the pointer given with it. The library itself
 * never prints. */
typedef void (*gsw_log_fn)(void *user, gsw_status status, const char *message);

/* All members but `size` are 0 for the defaults. */
typedef struct gsw_context_options {
    size_t size; /* sizeof this struct, set by the caller */
    gsw_backend backend;
    int threads;  /* CPU threads; 0: as many as OpenMP offers, but at most 8 for each processor,
                     or 64 where that is more */
    int device;   /* CUDA device number */
    void *stream; /* CUDA stream (a cudaStream_t); NULL: the default stream */
    gsw_log_fn log;
    void *log_user;
} gsw_context_options;

typedef struct gsw_context gsw_context;

/* Makes a context in *context. `options` may be NULL for the defaults. On failure *context is NULL,
 * and gsw_context_message(NULL) says why.
 * Errors: INVALID_ARGUMENT (threads < 0, unknown backend, size), NO_BACKEND, OUT_OF_MEMORY. */
GSW_API
gsw_status gsw_context_create(const gsw_context_options *options, gsw_context **context);

/* Frees a context; NULL is allowed. */
GSW_API
void gsw_context_destroy(gsw_context *context);

/* Waits until all that the context has started is done, and reports what it ran into. With CUDA,
 * solves (gsw_sptrsv, gsw_factor_solve) return as soon as they are queued on the stream, so a
 * failure that shows only while a kernel runs (TIMEOUT; NOT_A_GRID in a solve) is reported here, by
 * gsw_memory_download(), or by the next call that takes the context, whichever comes first; once
 * reported it is forgotten, and the context is usable. With the CPU backend there is nothing to
 * wait for. Errors: INVALID_ARGUMENT, DEVICE, and those of the solves before. */
GSW_API
gsw_status gsw_context_synchronize(gsw_context *context);

/* Number of CUDA devices that this build of the library can use; 0 without a CUDA backend, without
 * a driver or without a device. */
GSW_API
int gsw_device_count(void);

/* Writes the name of CUDA device `device` into name[size], cut where it is too long.
 * Errors: INVALID_ARGUMENT (name NULL, size 0), NO_BACKEND (there is no such device). */
GSW_API
gsw_status gsw_device_name(int device, char *name, size_t size);

/* The text of the last error in this context; "" if there was none. Valid until the next call with
 * the context. NULL gives the text of the last gsw_context_create() in the calling thread: why it
 * failed, or "" if it succeeded. */
GSW_API
const char *gsw_context_message(const gsw_context *context);

/* For callbacks: makes `message` (cut to the length that a context keeps; NULL counts as "") the
 * text of the last error, shows it to the log, and returns `status`, so that a callback can end
 * with `return gsw_context_fail(context, GSW_ERROR_BREAKDOWN, "the coarse solve diverged")`. */
GSW_API
gsw_status gsw_context_fail(gsw_context *context, gsw_status status, const char *message);

/* From which number the context's messages count rows and columns: 0 or 1, which they then say, as
 * in "row 18 (1-based), (x, y, z) = (1, 2, 0)"; -1, as at first: from the base of the CSR that they
 * are about, else from 0. Points of the grid are always counted from 0.
 * Errors: INVALID_ARGUMENT (context NULL, another base). */
GSW_API
gsw_status gsw_context_set_row_base(gsw_context *context, int base);

/* The backend that was chosen (never AUTO). */
GSW_API
gsw_backend gsw_context_backend(const gsw_context *context);

/* Number of CPU threads that this context uses; at least 1. While other processes take cores away,
 * kernels run with fewer: threads that wait for one without a core would be slower. A process that
 * was forked from one with threads computes with one thread, in contexts of the parent, too, and
 * this function says 1: an OpenMP runtime may hang there otherwise. */
GSW_API
int gsw_context_threads(const gsw_context *context);

/* The device in words: the processor's or the GPU's name, followed by the instruction set that the
 * kernels use. Lives as long as the context. */
GSW_API
const char *gsw_context_device(const gsw_context *context);

/* "cpu", "cuda" or "auto". */
GSW_API
const char *gsw_backend_name(gsw_backend backend);

/* How the library was built: one "key: value" per line (compiler, OpenMP, CUDA, instruction sets).
 * Static storage. */
GSW_API
const char *gsw_build_info(void);

/* Version of the library that is running, such as "0.2.0", and the commit it was built from
 * ("unknown" outside a checkout). Static storage. */
GSW_API
const char *gsw_version(void);
GSW_API
const char *gsw_commit(void);

#ifdef __cplusplus
}
#endif

#endif
