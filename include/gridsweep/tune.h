/* gridsweep/tune.h: shapes of kernels that are measured on the device at hand.
 *
 * How fast a sweep is depends on a few shapes: how many points are worth a thread, how closely a
 * thread follows the one before it, how many values a block asks for at a time. The library has a
 * table of them, which was measured on other machines. gsw_tune() measures them here, and leaves
 * them in a file. Later contexts with the same device and the same version of the library take them
 * from there. The results of sweeps have the same bits with any shapes.
 *
 * The file is in the folder gridsweep of the user's cache folder: $XDG_CACHE_HOME if that is an
 * absolute path, else $HOME/.cache. A context whose file is damaged, or made for another device or
 * version, takes the table and says so in its log. gsw_context_options.tuning chooses another file
 * or none. */
#ifndef GRIDSWEEP_TUNE_H
#define GRIDSWEEP_TUNE_H

#include <stdint.h>
#include <gridsweep/context.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum gsw_tuning_source {
    GSW_TUNING_TABLE = 0, /* built in */
    GSW_TUNING_FILE = 1,  /* from the file of an earlier gsw_tune() */
    GSW_TUNING_NOW = 2    /* measured by gsw_tune() with this context */
} gsw_tuning_source;

/* The shapes of a context, and what was measured of its device; 0: that was not measured. */
typedef struct gsw_tuning {
    size_t size; /* sizeof this struct, set by the caller */
    gsw_tuning_source source;
    int64_t sweep_chunk; /* CPU: steps between two hand-overs of a sweep: 8, 16, 32 or 64 */
    int64_t sweep_slack; /* CPU: steps that a thread stays behind the one before it, beyond those
                            that it must */
    int64_t sweep_grain; /* CPU: points that are worth a thread in a sweep in 3D, */
    int64_t sweep_grain_flat; /* and in 2D */
    int64_t polled_chunks;    /* CUDA: pencils of more chunks (8 steps) ask for several rows of a
                                 face at a time, where there are more than multiprocessors */
    int64_t copy_mb_s;    /* MB that a copy of a long vector reads and writes per second; with one
                             thread gsw_tune() keeps an earlier value */
    int64_t hand_over_ns; /* CUDA: from pencil to pencil of D3N7 */
    int64_t step_ps;      /* CUDA: of a pencil of D3N7 */
} gsw_tuning;

/* Measures the shapes with this context, for up to 20 s, and uses them from now on. Writes them to
 * the file of the context, unless it has none. The device should have nothing else to do. `result`
 * may be NULL. The measurement needs 0.3 GB of memory, with CUDA 0.7. With CUDA the call waits for
 * the stream. Errors: INVALID_ARGUMENT (context NULL, size), OUT_OF_MEMORY, DEVICE, TIMEOUT; IO
 * (the file cannot be written; the context uses the shapes nevertheless). */
GSW_API
gsw_status gsw_tune(gsw_context *context, gsw_tuning *result);

/* The shapes that a context uses. Errors: INVALID_ARGUMENT (a pointer is NULL, size). */
GSW_API
gsw_status gsw_context_tuning(gsw_context *context, gsw_tuning *tuning);

/* The path of the context's file, whether it exists or not; "" if the context has none. The string
 * lives as long as the context. */
GSW_API
const char *gsw_context_tuning_file(const gsw_context *context);

#ifdef __cplusplus
}
#endif

#endif
