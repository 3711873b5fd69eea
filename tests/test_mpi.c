/* test_mpi.c: the transport over MPI, on any number of processes:
 *
 *   mpirun -n 4 test_mpi */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <gridsweep/gridsweep.h>
#include <gridsweep/mpi.h>

#define BIG_BYTES ((size_t)20 << 20)
#define ROUNDS    50

static int failures;

static void check(int good, const char *what, int line) {
    if (good)
        return;
    failures++;
    fprintf(stderr, "test_mpi.c:%d: %s\n", line, what);
}
#define CHECK(condition) check((condition) != 0, #condition, __LINE__)

static int next_of(const gsw_transport *t) {
    return (t->rank + 1) % t->processes;
}

static int previous_of(const gsw_transport *t) {
    return (t->rank + t->processes - 1) % t->processes;
}

static void finish(const gsw_transport *t, void **request) {
    int ended = 0;
    while (ended == 0)
        ended = t->test(t->user, request);
    CHECK(ended == 1);
    CHECK(*request == NULL);
    CHECK(t->test(t->user, request) == 1);
}

/* Each process sends to the next one and receives from the one before. */
static void exchange(const gsw_transport *t, int tag, const void *out, void *in, size_t bytes) {
    void *requests[2] = {NULL, NULL};
    CHECK(t->receive(t->user, previous_of(t), tag, in, bytes, &requests[0]) == 0);
    CHECK(t->send(t->user, next_of(t), tag, out, bytes, &requests[1]) == 0);
    finish(t, &requests[0]);
    finish(t, &requests[1]);
}

static void test_ring(const gsw_transport *t) {
    for (int round = 0; round < ROUNDS; round++) {
        const int out[] = {t->rank, round};
        int in[] = {-1, -1};
        exchange(t, 7, out, in, sizeof out);
        CHECK(in[0] == previous_of(t));
        CHECK(in[1] == round);
    }
}

static void test_empty(const gsw_transport *t) {
    char in = 'a';
    exchange(t, 3, NULL, NULL, 0);
    exchange(t, 3, "", &in, 0);
    CHECK(in == 'a');
}

static void test_long(const gsw_transport *t, size_t bytes) {
    unsigned char *out = malloc(bytes), *in = calloc(bytes, 1);
    if (out == NULL || in == NULL) {
        check(0, "no memory for a long message", __LINE__);
    } else {
        for (size_t i = 0; i < bytes; i++)
            out[i] = (unsigned char)(i * 7 + i / 251 + (size_t)t->rank);
        exchange(t, 1, out, in, bytes);
        size_t wrong = 0;
        for (size_t i = 0; i < bytes; i++)
            wrong += in[i] != (unsigned char)(i * 7 + i / 251 + (size_t)previous_of(t));
        CHECK(wrong == 0);
    }
    free(in);
    free(out);
}

/* Of one tag in the order of sending, whatever other tags do. */
static void test_tags(const gsw_transport *t) {
    int out[2][ROUNDS], in[2][ROUNDS];
    void *sends[2][ROUNDS], *receives[2][ROUNDS];
    for (int i = 0; i < ROUNDS; i++) {
        for (int tag = 0; tag < 2; tag++) {
            out[tag][i] = 1000 * tag + i;
            CHECK(t->send(t->user, next_of(t), tag, &out[tag][i], sizeof(int), &sends[tag][i]) ==
                  0);
        }
    }
    for (int tag = 1; tag >= 0; tag--)
        for (int i = 0; i < ROUNDS; i++)
            CHECK(t->receive(t->user, previous_of(t), tag, &in[tag][i], sizeof(int),
                             &receives[tag][i]) == 0);
    for (int tag = 0; tag < 2; tag++) {
        for (int i = 0; i < ROUNDS; i++) {
            finish(t, &receives[tag][i]);
            finish(t, &sends[tag][i]);
            CHECK(in[tag][i] == out[tag][i]);
        }
    }
}

/* Two gathers at a time. */
static void test_gather(const gsw_transport *t) {
    const double own[] = {t->rank, 0.5 * t->rank};
    double *all = calloc(2 * (size_t)t->processes, sizeof *all), *other = calloc(2, sizeof *other);
    double *others = calloc((size_t)t->processes, sizeof *others);
    if (all == NULL || other == NULL || others == NULL) {
        check(0, "no memory for a gather", __LINE__);
    } else {
        void *requests[2] = {NULL, NULL};
        other[0] = 10 + t->rank;
        CHECK(t->gather(t->user, own, sizeof own, all, &requests[0]) == 0);
        CHECK(t->gather(t->user, other, sizeof *other, others, &requests[1]) == 0);
        finish(t, &requests[1]);
        finish(t, &requests[0]);
        for (int rank = 0; rank < t->processes; rank++) {
            CHECK(all[2 * rank] == rank);
            CHECK(all[2 * rank + 1] == 0.5 * rank);
            CHECK(others[rank] == 10 + rank);
        }
    }
    free(others);
    free(other);
    free(all);
}

/* Failures are returned: MPI does not end the program. */
static void test_refusals(gsw_context *context, const gsw_transport *t) {
    gsw_transport *made = NULL;
    void *request = NULL;
    CHECK(t->send(t->user, t->processes, 0, "", 1, &request) == -1);
    CHECK(request == NULL);
    CHECK(gsw_mpi_transport_create(NULL, MPI_COMM_WORLD, &made) == GSW_ERROR_INVALID_ARGUMENT);
    CHECK(gsw_mpi_transport_create(context, MPI_COMM_WORLD, NULL) == GSW_ERROR_INVALID_ARGUMENT);
    CHECK(gsw_mpi_transport_create(context, MPI_COMM_NULL, &made) == GSW_ERROR_INVALID_ARGUMENT);
    CHECK(strstr(gsw_context_message(context), "MPI_COMM_NULL") != NULL);
    CHECK(made == NULL);
    gsw_mpi_transport_destroy(NULL);
}

/* A message that never comes. The end of its transport waits for nobody, and another transport
 * works. */
static void test_abandon(gsw_context *context) {
    static int never;
    gsw_transport *lost = NULL, *t = NULL;
    void *request = NULL;
    CHECK(gsw_mpi_transport_create(context, MPI_COMM_WORLD, &lost) == GSW_SUCCESS);
    CHECK(gsw_mpi_transport_create(context, MPI_COMM_WORLD, &t) == GSW_SUCCESS);
    if (lost == NULL || t == NULL)
        return;
    if (lost->rank == 0) {
        CHECK(lost->receive(lost->user, previous_of(lost), 5, &never, sizeof never, &request) == 0);
        CHECK(lost->test(lost->user, &request) == 0);
        lost->abandon(lost->user, &request);
        CHECK(request == NULL);
        gsw_mpi_transport_destroy(lost);
    }
    test_ring(t);
    if (t->rank != 0) { /* the collective end would wait for process 0 */
        request = NULL;
        CHECK(lost->receive(lost->user, 0, 5, &never, sizeof never, &request) == 0);
        lost->abandon(lost->user, &request);
        gsw_mpi_transport_destroy(lost);
    }
    gsw_mpi_transport_destroy(t);
}

int main(int argc, char **argv) {
    gsw_context_options options = {.size = sizeof options, .backend = GSW_BACKEND_CPU};
    gsw_context *context = NULL;
    gsw_transport *t = NULL;
    if (gsw_context_create(&options, &context) != GSW_SUCCESS)
        return EXIT_FAILURE;
    CHECK(gsw_mpi_transport_create(context, MPI_COMM_WORLD, &t) == GSW_ERROR_INVALID_ARGUMENT);
    int provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
    CHECK(gsw_mpi_transport_create(context, MPI_COMM_WORLD, &t) == GSW_SUCCESS);
    if (t != NULL) {
        test_ring(t);
        test_empty(t);
        /* In megabytes, such as 2200: longer than MPI counts in bytes. */
        test_long(t, argc > 1 ? (size_t)strtoull(argv[1], NULL, 10) << 20 : BIG_BYTES);
        test_tags(t);
        test_gather(t);
        test_refusals(context, t);
    }
    gsw_mpi_transport_destroy(t);
    test_abandon(context);
    gsw_context_destroy(context);
    int all = 0;
    MPI_Allreduce(&failures, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Finalize();
    return all == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
