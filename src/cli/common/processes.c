/* processes.c: see processes.h. */
#define _POSIX_C_SOURCE 200809L
#include "processes.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#ifdef GSW_HAVE_MPI
#include <unistd.h>
#include <gridsweep/mpi.h>
#include "measure.h"
#endif

#define MESSAGE_SIZE 512
#define END_MS       5000
#define TURN_MS      20 /* between two processes that speak for the first one */

/* Set once at the start. */
static int own_rank = 0;
static int process_count = 1;

int cli_rank(void) {
    return own_rank;
}

int cli_processes(void) {
    return process_count;
}

/* The first of several variables of the environment that is a number; -1: none is. */
static int first_number(const char *const *names) {
    int64_t number = -1;
    for (; *names != NULL && number < 0; names++) {
        const char *text = getenv(*names); /* NOLINT(concurrency-mt-unsafe): no other thread yet */
        if (text == NULL || !cli_parse_integer(text, 0, INT32_MAX, &number))
            number = -1;
    }
    return (int)number;
}

/* The processes before this one on the same machine. */
static int local_rank = 0;

int cli_device(const cli_options *options) {
    const int devices = gsw_device_count();
    return cli_given(options, OPT_DEVICE) || process_count == 1 || devices == 0
               ? (int)options->device
               : local_rank % devices;
}

#ifdef GSW_HAVE_MPI

static bool started;
static int own_stderr = -1; /* of a process that prints nothing */

int cli_processes_start(void) {
    static const char *const launched[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PMIX_RANK", NULL};
    int provided;
    if (first_number(launched) < 0)
        return CLI_OK;
    if (MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &provided) != MPI_SUCCESS) {
        fputs("gridsweep: MPI cannot be initialised\n", stderr);
        return CLI_BACKEND;
    }
    started = true;
    (void)MPI_Comm_rank(MPI_COMM_WORLD, &own_rank);
    (void)MPI_Comm_size(MPI_COMM_WORLD, &process_count);
    MPI_Comm machine;
    if (MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &machine) ==
        MPI_SUCCESS) {
        (void)MPI_Comm_rank(machine, &local_rank);
        (void)MPI_Comm_free(&machine);
    }
    if (own_rank > 0)
        own_stderr = dup(STDERR_FILENO);
    if (own_rank > 0 &&
        (freopen("/dev/null", "w", stdout) == NULL || freopen("/dev/null", "w", stderr) == NULL))
        return CLI_BACKEND;
    return CLI_OK;
}

/* Whether all processes come to their end within a few seconds. Those that do have printed.
 * *first: whether the first process has come. It sends a message to the others; after a failure
 * nobody waits for these. */
static bool all_arrive(bool *first) {
    MPI_Request request, message;
    int arrived = 0, came = own_rank == 0;
    const double start = cli_now_ms();
    for (int rank = 1; own_rank == 0 && rank < process_count; rank++)
        if (MPI_Isend(NULL, 0, MPI_BYTE, rank, 0, MPI_COMM_WORLD, &message) == MPI_SUCCESS)
            (void)MPI_Request_free(&message);
    if (own_rank > 0)
        (void)MPI_Irecv(NULL, 0, MPI_BYTE, 0, 0, MPI_COMM_WORLD, &message);
    if (MPI_Ibarrier(MPI_COMM_WORLD, &request) != MPI_SUCCESS)
        return false;
    while (!(arrived && came) && cli_now_ms() - start < END_MS) {
        if (!arrived)
            (void)MPI_Test(&request, &arrived, MPI_STATUS_IGNORE);
        if (!came)
            (void)MPI_Test(&message, &came, MPI_STATUS_IGNORE);
    }
    *first = came != 0;
    return arrived != 0;
}

/* Says why this process ends, in place of the first one, which does not answer. The processes take
 * turns, so most often one speaks before it ends them all. */
static void speak(void) {
    const struct timespec turn = {.tv_nsec = (long)TURN_MS * 1000000 * (own_rank % 50)};
    char text[MESSAGE_SIZE + 16];
    (void)nanosleep(&turn, NULL);
    const int length = snprintf(text, sizeof text, "gridsweep: %s\n", cli_last_error());
    if (length > 0 && own_stderr >= 0 && cli_last_error()[0] != '\0' &&
        write(own_stderr, text, strlen(text)) < 0)
        return; /* there is nobody else to tell */
}

void cli_processes_end(int code) {
    if (!started)
        return;
    /* After a lost message MPI_Finalize() might wait for ever. */
    bool first = false;
    if (code == CLI_BACKEND && !all_arrive(&first)) {
        if (!first)
            speak();
        (void)MPI_Abort(MPI_COMM_WORLD, code);
    }
    (void)MPI_Finalize();
}

#else

int cli_processes_start(void) {
    static const char *const sizes[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", NULL};
    static const char *const ranks[] = {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK", NULL};
    const int size = first_number(sizes), rank = first_number(ranks);
    if (size <= 1 && first_number(&ranks[2]) <= 0)
        return CLI_OK;
    /* PMIX_RANK alone does not tell how many there are: then the first process solves, and the
     * second one speaks. Launchers end all processes as soon as one fails, so the others wait until
     * it has spoken. */
    if (rank <= 0 || (size < 0 && rank == 1))
        fputs("gridsweep: several processes were started, but this program was built without MPI; "
              "build it with -DGSW_MPI=ON\n",
              stderr);
    else
        (void)nanosleep(&(struct timespec){.tv_sec = 1}, NULL);
    return CLI_USAGE;
}

void cli_processes_end(int code) {
    (void)code;
}

#endif

int cli_processes_agree(const cli_options *options, int code) {
#ifdef GSW_HAVE_MPI
    char message[MESSAGE_SIZE];
    int failed = code != CLI_OK ? own_rank : process_count, lowest = process_count;
    if (process_count == 1)
        return code;
    (void)MPI_Allreduce(&failed, &lowest, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    if (lowest == process_count)
        return CLI_OK;
    (void)snprintf(message, sizeof message, "%s", cli_last_error());
    (void)MPI_Bcast(&code, 1, MPI_INT, lowest, MPI_COMM_WORLD);
    (void)MPI_Bcast(message, sizeof message, MPI_CHAR, lowest, MPI_COMM_WORLD);
    if (own_rank == 0 && lowest > 0)
        cli_error(options, "process %d: %s", lowest, message);
#else
    (void)options;
#endif
    return code;
}

void cli_processes_share(void *data, size_t bytes) {
#ifdef GSW_HAVE_MPI
    if (process_count > 1)
        (void)MPI_Bcast(data, (int)bytes, MPI_BYTE, 0, MPI_COMM_WORLD);
#else
    (void)data, (void)bytes;
#endif
}

void cli_processes_collect(const void *own, size_t bytes, void *all) {
    if (process_count == 1)
        memcpy(all, own, bytes);
#ifdef GSW_HAVE_MPI
    else
        (void)MPI_Gather(own, (int)bytes, MPI_BYTE, all, (int)bytes, MPI_BYTE, 0, MPI_COMM_WORLD);
#endif
}

int cli_transport_open(const cli_options *options, gsw_context *context,
                       gsw_transport **transport) {
    *transport = NULL;
    gsw_status status = GSW_SUCCESS;
#ifdef GSW_HAVE_MPI
    if (process_count > 1)
        status = gsw_mpi_transport_create(context, MPI_COMM_WORLD, transport);
#endif
    return cli_status(options, context, status, CLI_FROM_OPTION);
}

void cli_transport_close(gsw_transport *transport) {
#ifdef GSW_HAVE_MPI
    gsw_mpi_transport_destroy(transport);
#else
    (void)transport;
#endif
}
