/* processes.h: the processes that a launcher such as mpirun has started together. Without one, and
 * in a program without MPI, there is a single process. Functions marked collective are called by
 * all processes. */
#ifndef GSW_CLI_PROCESSES_H
#define GSW_CLI_PROCESSES_H

#include <gridsweep/partition.h>
#include "options.h"

/* Starts MPI if a launcher has started the program. From then on all processes but the first print
 * nothing. Returns an exit code: a program without MPI refuses several processes. */
int cli_processes_start(void);

/* Ends what was started. All processes end, also if only this one calls it with a failure. */
void cli_processes_end(int code);

int cli_rank(void);
int cli_processes(void);

/* The CUDA device of this process: that of --device, else the processes of a machine take its
 * devices in turns. */
int cli_device(const cli_options *options);

/* Collective: the exit code of the lowest process whose code is not CLI_OK. Its message is printed
 * by the first process. */
int cli_processes_agree(const cli_options *options, int code);

/* Collective: brings bytes of the first process to all, and of all to the first one. */
void cli_processes_share(void *data, size_t bytes);
void cli_processes_collect(const void *own, size_t bytes, void *all);

/* Collective. NULL for a single process. Returns an exit code. */
int cli_transport_open(const cli_options *options, gsw_context *context, gsw_transport **transport);
void cli_transport_close(gsw_transport *transport);

#endif
