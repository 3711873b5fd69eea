/* gridsweep/mpi.h: the transport of partition.h with MPI.
 *
 * Link with libgridsweep_mpi besides libgridsweep (CMake: gridsweep::mpi; pkg-config:
 * gridsweep-mpi). The core library needs no MPI. */
#ifndef GRIDSWEEP_MPI_H
#define GRIDSWEEP_MPI_H

#include <mpi.h>
#include <gridsweep/partition.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Creates a transport for the processes of `comm`. It duplicates the communicator, so it is
 * collective, and its messages do not meet those of the program. Errors of MPI come back as
 * statuses; they do not end the program. MPI must have been initialised; MPI_THREAD_FUNNELED is
 * enough, because only the calling thread calls MPI. On failure *transport is NULL.
 * Errors: INVALID_ARGUMENT, OUT_OF_MEMORY, COMMUNICATION. */
GSW_API
gsw_status gsw_mpi_transport_create(gsw_context *context, MPI_Comm comm, gsw_transport **transport);

/* Frees a transport before MPI_Finalize(). Collective, except after a timeout: then the duplicate
 * of the communicator stays. NULL is allowed. */
GSW_API
void gsw_mpi_transport_destroy(gsw_transport *transport);

#ifdef __cplusplus
}
#endif

#endif
