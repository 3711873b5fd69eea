/* mpi_transport.c: see gridsweep/mpi.h. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <gridsweep/mpi.h>

/* MPI counts elements in an int. A longer message consists of blocks and a rest. */
#define BLOCK_BYTES ((size_t)1 << 20)

/* A request of MPI. MPI does not tell whether a request receives, and only such a one may be
 * cancelled. */
typedef struct transfer {
    MPI_Request request;
    int receives;
    struct transfer *next; /* while it is unused */
} transfer;

typedef struct mpi_transport {
    gsw_transport table; /* what the caller sees; the first member */
    MPI_Comm comm;
    transfer *unused;
    int abandoned;
} mpi_transport;

/* ---- Transfers ---------------------------------------------------------------------------------
 */

static transfer *take(mpi_transport *transport, int receives) {
    transfer *taken = transport->unused;
    if (taken != NULL)
        transport->unused = taken->next;
    else
        taken = malloc(sizeof *taken);
    if (taken != NULL)
        *taken = (transfer){.request = MPI_REQUEST_NULL, .receives = receives};
    return taken;
}

static void give_back(mpi_transport *transport, transfer *taken) {
    taken->next = transport->unused;
    transport->unused = taken;
}

/* What follows the start of a transfer: 0, or -1. */
static int started(mpi_transport *transport, transfer *begun, int error, void **request) {
    if (error == MPI_SUCCESS) {
        *request = begun;
        return 0;
    }
    give_back(transport, begun);
    return -1;
}

/* How a message is described to MPI. */
typedef struct layout {
    int count;
    MPI_Datatype type;
    int made; /* `type` must be freed */
} layout;

/* Returns an error of MPI. */
static int describe(size_t bytes, layout *message) {
    *message = (layout){(int)bytes, MPI_BYTE, 0};
    if (bytes <= INT_MAX)
        return MPI_SUCCESS;
    if (bytes / BLOCK_BYTES > INT_MAX)
        return MPI_ERR_COUNT;
    const int lengths[] = {(int)(bytes / BLOCK_BYTES), (int)(bytes % BLOCK_BYTES)};
    const MPI_Aint places[] = {0, (MPI_Aint)(bytes - bytes % BLOCK_BYTES)};
    MPI_Datatype block = MPI_DATATYPE_NULL;
    int error = MPI_Type_contiguous((int)BLOCK_BYTES, MPI_BYTE, &block);
    if (error != MPI_SUCCESS)
        return error;
    const MPI_Datatype types[] = {block, MPI_BYTE};
    error = MPI_Type_create_struct(2, lengths, places, types, &message->type);
    (void)MPI_Type_free(&block);
    if (error != MPI_SUCCESS)
        return error;
    message->count = 1;
    message->made = 1;
    return MPI_Type_commit(&message->type);
}

/* Transfers that have begun keep the type. */
static void forget(layout *message) {
    if (message->made)
        (void)MPI_Type_free(&message->type);
}

/* The analyzer looks for each request's wait in the function that begins it: here test_transfer()
 * ends all of them. NOLINTBEGIN(clang-analyzer-optin.mpi.MPI-Checker) */

static int send_bytes(void *user, int to, int tag, const void *data, size_t bytes, void **request) {
    mpi_transport *transport = user;
    layout message;
    transfer *begun = take(transport, 0);
    if (begun == NULL)
        return -1;
    int error = describe(bytes, &message);
    if (error == MPI_SUCCESS)
        error =
            MPI_Isend(data, message.count, message.type, to, tag, transport->comm, &begun->request);
    forget(&message);
    return started(transport, begun, error, request);
}

static int receive_bytes(void *user, int from, int tag, void *data, size_t bytes, void **request) {
    mpi_transport *transport = user;
    layout message;
    transfer *begun = take(transport, 1);
    if (begun == NULL)
        return -1;
    int error = describe(bytes, &message);
    if (error == MPI_SUCCESS)
        error = MPI_Irecv(data, message.count, message.type, from, tag, transport->comm,
                          &begun->request);
    forget(&message);
    return started(transport, begun, error, request);
}

static int gather_bytes(void *user, const void *own, size_t bytes, void *all, void **request) {
    mpi_transport *transport = user;
    layout message;
    transfer *begun = take(transport, 0);
    if (begun == NULL)
        return -1;
    int error = describe(bytes, &message);
    if (error == MPI_SUCCESS)
        error = MPI_Iallgather(own, message.count, message.type, all, message.count, message.type,
                               transport->comm, &begun->request);
    forget(&message);
    return started(transport, begun, error, request);
}

/* NOLINTEND(clang-analyzer-optin.mpi.MPI-Checker) */

static int test_transfer(void *user, void **request) {
    transfer *begun = *request;
    int ended = 0;
    if (begun == NULL)
        return 1;
    if (MPI_Test(&begun->request, &ended, MPI_STATUS_IGNORE) != MPI_SUCCESS)
        return -1;
    if (!ended)
        return 0;
    give_back(user, begun);
    *request = NULL;
    return 1;
}

static void abandon_transfer(void *user, void **request) {
    mpi_transport *transport = user;
    transfer *begun = *request;
    if (begun == NULL)
        return;
    transport->abandoned = 1;
    if (begun->receives && begun->request != MPI_REQUEST_NULL) {
        (void)MPI_Cancel(&begun->request);
        (void)MPI_Request_free(&begun->request);
    }
    give_back(transport, begun);
    *request = NULL;
}

/* ---- Beginning and end -------------------------------------------------------------------------
 */

static gsw_status check_mpi(gsw_context *context, MPI_Comm comm) {
    int begun = 0, ended = 0, inter = 0;
    (void)MPI_Initialized(&begun);
    (void)MPI_Finalized(&ended);
    if (!begun || ended)
        return gsw_context_fail(context, GSW_ERROR_INVALID_ARGUMENT,
                                "MPI is not initialised, or finalised already");
    if (comm == MPI_COMM_NULL)
        return gsw_context_fail(context, GSW_ERROR_INVALID_ARGUMENT, "comm is MPI_COMM_NULL");
    if (MPI_Comm_test_inter(comm, &inter) != MPI_SUCCESS || inter)
        return gsw_context_fail(context, GSW_ERROR_INVALID_ARGUMENT,
                                "comm must be an intra-communicator");
    return GSW_SUCCESS;
}

static gsw_status fail(gsw_context *context, const char *call, int error) {
    char reason[MPI_MAX_ERROR_STRING] = "", message[MPI_MAX_ERROR_STRING + 64];
    int length = 0;
    (void)MPI_Error_string(error, reason, &length);
    (void)snprintf(message, sizeof message, "%s: %s", call, reason);
    return gsw_context_fail(context, GSW_ERROR_COMMUNICATION, message);
}

/* A duplicate whose errors are returned, also if those of `comm` end the program. */
static int duplicate(MPI_Comm comm, MPI_Comm *own) {
    MPI_Errhandler before;
    int error = MPI_Comm_get_errhandler(comm, &before);
    if (error != MPI_SUCCESS)
        return error;
    error = MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    if (error == MPI_SUCCESS)
        error = MPI_Comm_dup(comm, own);
    (void)MPI_Comm_set_errhandler(comm, before);
    (void)MPI_Errhandler_free(&before);
    return error == MPI_SUCCESS ? MPI_Comm_set_errhandler(*own, MPI_ERRORS_RETURN) : error;
}

gsw_status gsw_mpi_transport_create(gsw_context *context, MPI_Comm comm,
                                    gsw_transport **transport) {
    if (transport != NULL)
        *transport = NULL;
    if (context == NULL)
        return GSW_ERROR_INVALID_ARGUMENT;
    if (transport == NULL)
        return gsw_context_fail(context, GSW_ERROR_INVALID_ARGUMENT, "transport is NULL");
    gsw_status status = check_mpi(context, comm);
    if (status != GSW_SUCCESS)
        return status;
    mpi_transport *made = calloc(1, sizeof *made);
    if (made == NULL)
        return gsw_context_fail(context, GSW_ERROR_OUT_OF_MEMORY, "no memory for a transport");
    made->table = (gsw_transport){.size = sizeof made->table,
                                  .user = made,
                                  .send = send_bytes,
                                  .receive = receive_bytes,
                                  .gather = gather_bytes,
                                  .test = test_transfer,
                                  .abandon = abandon_transfer};
    int error = duplicate(comm, &made->comm);
    if (error == MPI_SUCCESS)
        error = MPI_Comm_rank(made->comm, &made->table.rank);
    if (error == MPI_SUCCESS)
        error = MPI_Comm_size(made->comm, &made->table.processes);
    if (error != MPI_SUCCESS) {
        free(made);
        return fail(context, "the communicator cannot be duplicated", error);
    }
    *transport = &made->table;
    return GSW_SUCCESS;
}

void gsw_mpi_transport_destroy(gsw_transport *transport) {
    if (transport == NULL)
        return;
    mpi_transport *made = transport->user;
    while (made->unused != NULL) {
        transfer *next = made->unused->next;
        free(made->unused);
        made->unused = next;
    }
    if (!made->abandoned)
        (void)MPI_Comm_free(&made->comm);
    free(made);
}
