/* hypre_base.c: see hypre_base.h. */
#include "hypre_base.h"

#include <stdlib.h>
#include <string.h>

#if GSW_HYPRE_ON_DEVICE
#include <cuda_runtime_api.h>
#include "cuda_rival.h"
#endif

/* hypre 2.26 lacks the newer name. */
#if HYPRE_RELEASE_NUMBER < 22900
#define HYPRE_Initialize() HYPRE_Init()
#endif

/* ---- Beginning and end ---- */

#ifndef HYPRE_SEQUENTIAL
static int own_mpi; /* MPI was started here */

static int begin_mpi(char *message, size_t size) {
    int begun = 0, ended = 0;
    if (MPI_Initialized(&begun) != MPI_SUCCESS || MPI_Finalized(&ended) != MPI_SUCCESS)
        return gsw_rival_fail(message, size, "MPI does not tell whether it runs");
    if (ended)
        return gsw_rival_fail(message, size, "MPI has been ended in this process");
    if (!begun && MPI_Init(NULL, NULL) != MPI_SUCCESS)
        return gsw_rival_fail(message, size, "MPI could not be started");
    own_mpi = !begun;
    return 0;
}

static void end_mpi(void) {
    int ended = 0;
    if (own_mpi && MPI_Finalized(&ended) == MPI_SUCCESS && !ended)
        (void)MPI_Finalize();
}
#else
static int begin_mpi(char *message, size_t size) {
    (void)message, (void)size;
    return 0;
}

static void end_mpi(void) {
}
#endif

static void end(void) {
    (void)HYPRE_Finalize();
    end_mpi();
}

static void choose_device(void) {
#if GSW_HYPRE_ON_DEVICE
#if HYPRE_RELEASE_NUMBER >= 23100
    (void)HYPRE_DeviceInitialize(); /* it was part of the start before */
#endif
    (void)HYPRE_SetMemoryLocation(HYPRE_MEMORY_DEVICE);
    (void)HYPRE_SetExecutionPolicy(HYPRE_EXEC_DEVICE);
    (void)HYPRE_SetSpGemmUseVendor(0); /* hypre's own products are the faster ones */
#endif
}

int gsw_hypre_begin(char *message, size_t size) {
    static int begun;
    if (begun)
        return 0;
    if (begin_mpi(message, size) != 0)
        return -1;
    if (HYPRE_Initialize() != 0)
        return gsw_rival_fail(message, size, "hypre could not be started");
    choose_device();
    if (HYPRE_GetError() != 0 || atexit(end) != 0)
        return gsw_rival_fail(message, size, "hypre could not be started");
    begun = 1;
    return 0;
}

/* ---- Errors ---- */

int gsw_hypre_check(gsw_hypre *s, const char *what) {
    const HYPRE_Int error = HYPRE_GetError();
    char text[128] = "unknown error";
    if (error == 0)
        return 0;
    (void)HYPRE_ClearAllErrors();
    if ((error & ~(HYPRE_Int)HYPRE_ERROR_CONV) == 0)
        return 0;
    HYPRE_DescribeError(error, text);
    text[strcspn(text, "\n")] = '\0';
    return gsw_rival_fail(s->message, s->size, "%.*s: %s", (int)strcspn(what, "("), what, text);
}

/* ---- Memory ---- */

static int all_zero(const double *vector, int n) {
    int i = 0;
    while (i < n && vector[i] == 0)
        i++;
    return i == n;
}

#if GSW_HYPRE_ON_DEVICE

int gsw_hypre_is_zero(gsw_hypre *s, const double *vector, int *zero) {
    enum { CHUNK = 1 << 12 };
    double some[CHUNK];
    *zero = 1;
    for (int i = 0; i < s->n && *zero; i += CHUNK) {
        const int count = s->n - i < CHUNK ? s->n - i : CHUNK;
        GSW_HYPRE_TRY(gsw_rival_cuda(
            cudaMemcpy(some, vector + i, (size_t)count * sizeof *some, cudaMemcpyDeviceToHost),
            "cudaMemcpy", s->message, s->size));
        *zero = all_zero(some, count);
    }
    return 0;
}

int gsw_hypre_wait(gsw_hypre *s) {
    return gsw_rival_cuda(cudaDeviceSynchronize(), "cudaDeviceSynchronize", s->message, s->size);
}

void *gsw_hypre_lend(gsw_hypre *s, const void *host, size_t bytes) {
    void *lent = NULL;
    if (gsw_rival_cuda(cudaMalloc(&lent, bytes > 0 ? bytes : 1), "cudaMalloc", s->message,
                       s->size) != 0)
        return NULL;
    if (gsw_rival_cuda(cudaMemcpy(lent, host, bytes, cudaMemcpyHostToDevice), "cudaMemcpy",
                       s->message, s->size) == 0 &&
        gsw_hypre_wait(s) == 0)
        return lent;
    (void)cudaFree(lent);
    return NULL;
}

void gsw_hypre_give_back(void *lent) {
    (void)cudaDeviceSynchronize();
    (void)cudaFree(lent);
}

/* hypre's stream does not wait for that of the copy. */
int gsw_hypre_copy(gsw_hypre *s, double *to, const double *from) {
    GSW_HYPRE_TRY(
        gsw_rival_cuda(cudaMemcpy(to, from, (size_t)s->n * sizeof *to, cudaMemcpyDeviceToDevice),
                       "cudaMemcpy", s->message, s->size));
    return gsw_hypre_wait(s);
}

#else

int gsw_hypre_is_zero(gsw_hypre *s, const double *vector, int *zero) {
    *zero = all_zero(vector, s->n);
    return 0;
}

int gsw_hypre_wait(gsw_hypre *s) {
    (void)s;
    return 0;
}

void *gsw_hypre_lend(gsw_hypre *s, const void *host, size_t bytes) {
    (void)s, (void)bytes;
    return (void *)host;
}

void gsw_hypre_give_back(void *lent) {
    (void)lent;
}

int gsw_hypre_copy(gsw_hypre *s, double *to, const double *from) {
    memcpy(to, from, (size_t)s->n * sizeof *to);
    return 0;
}

#endif
