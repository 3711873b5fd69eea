/* place.h: where a command runs, and the copies between host and device. */
#ifndef GSW_CLI_PLACE_H
#define GSW_CLI_PLACE_H

#include "options.h"

/* What a command will ask of the backend; NULL: not needed. */
typedef struct cli_work {
    const gsw_factor_options *factor;
    const gsw_multigrid_options *multigrid;
    const gsw_sptrsv_options *sweep;
    void *stream; /* CUDA stream of the context; NULL: the default stream */
} cli_work;

/* Files, problems and reference solves are the host's; `run` does the work. With the CPU backend
 * both are the same context. */
typedef struct cli_place {
    gsw_context *host, *run;
    char note[256]; /* why `auto` did not take the device that is there; else "" */
} cli_place;

/* Opens the backend that the options ask for. `auto` takes CUDA only where a device answers and can
 * do the work. Returns an exit code: CLI_BACKEND where --backend cuda cannot. */
int cli_open_place(const cli_options *options, const cli_work *work, cli_place *place);
void cli_close_place(cli_place *place);

/* Whether the work is done on a device, with memory of its own. */
bool cli_on_device(const cli_place *place);

/* A system in the backend's memory: the host's own arrays with the CPU backend, copies otherwise.
 */
typedef struct cli_arrays {
    gsw_matrix matrix;
    void *b, *x;
    double upload_ms, download_ms; /* NaN where nothing was copied */
} cli_arrays;

/* Brings matrix, b and x (each of `bytes`; NULL where there is none) there. Returns an exit code;
 * either way free what came with cli_arrays_free(). */
int cli_upload(const cli_options *options, const cli_place *place, const gsw_matrix *matrix,
               void *b, void *x, size_t bytes, cli_arrays *arrays);

/* Brings x back. Reports what solves on the device ran into. */
int cli_download(const cli_options *options, const cli_place *place, cli_arrays *arrays, void *x,
                 size_t bytes);
void cli_arrays_free(const cli_place *place, cli_arrays *arrays);

#endif
