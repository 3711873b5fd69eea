/* context.cuh: shared by the files of the CUDA backend: the device side of a context, and how CUDA
 * errors become statuses. */
#ifndef GSW_CUDA_CONTEXT_CUH
#define GSW_CUDA_CONTEXT_CUH

#include <cuda_runtime.h>
#include <stdint.h>

extern "C" {
#include "contract/allocate.h"
#include "contract/backend.h"
#include "contract/context.h"
#include "contract/error.h"
#include "contract/multigrid_ops.h"
}

/* The report of a kernel that cannot finish. The first block that fails writes it, once, into host
 * memory that the device maps. `status` is written last. */
struct gsw_cuda_report {
    int32_t status; /* a gsw_status; GSW_SUCCESS (0): nothing to report */
    int32_t what;   /* TIMEOUT: what `row` is */
    int64_t row; /* NOT_A_GRID: the first row found, 0-based. TIMEOUT: what waited or was awaited */
    int64_t wait_limit_ns; /* TIMEOUT: how long */
};

enum { GSW_CUDA_LINE, GSW_CUDA_PENCIL, GSW_CUDA_PROCESS };

/* The first compute capabilities with bulk copies to shared memory, and with asynchronous copies of
 * single values: movers.cuh. */
constexpr int BULK_COPIES_SINCE = 90, ASYNC_COPIES_SINCE = 80;

/* context->backend_data of the CUDA backend. */
struct gsw_cuda {
    int device;
    cudaStream_t stream; /* the context's or, between begin and end of work aside, the next one */
    cudaStream_t aside, given; /* that of work aside, and the context's meanwhile */
    cudaEvent_t marked;
    int multiprocessors;
    int shared_per_block;          /* most bytes of shared memory that a block may ask for */
    int shared_per_multiprocessor; /* bytes */
    int capability;                /* 10 * major + minor: of the device or, if that is less, of the
                                      architecture that the code is for */
    double peak;   /* of the memory, bytes per second; 0: not asked yet; negative: not known */
    bool overlaps; /* a kernel may begin while the one before it ends: launch.cuh */

    gsw_cuda_report *report; /* pinned, mapped; the same address on host and device */
    int64_t timeouts;        /* that it has reported */
    int64_t made_in_steps;   /* factors of slabs; for tests */

    cudaMemPool_t pool; /* of what is reserved; NULL: the device has no pools */

    /* Scratch of the direct sweep (line.cu): it grows for a larger grid and never shrinks. */
    void *line_workspace;
    size_t line_workspace_bytes;

    double *partial; /* partial sums: device memory */
    unsigned *done;  /* blocks that have left theirs: device memory */
    double *sum;     /* results of sums for the host, GSW_CUDA_SUMS of them: pinned */

    /* Copies of the states of Krylov methods, one row per slot: pinned; and when each is there. */
    gsw_krylov_state (*state)[GSW_KRYLOV_SYSTEMS];
    cudaEvent_t posted[GSW_KRYLOV_SLOTS];

    /* For tests: how long a kernel waits without progress; a line whose progress is never
     * published, or in sweeps of factors a pencil, by its ticket, whose faces are not (-1: none);
     * and the number of blocks of algorithm line (0: as many as fit). */
    int64_t wait_limit_ns;
    int64_t withheld_line;
    int blocks;
    int slab_weight; /* for tests: the order of pencils in slabs (factor.cu); 0: the library's */
};

static inline gsw_cuda *gsw_cuda_of(gsw_context *context) {
    return static_cast<gsw_cuda *>(context->backend_data);
}

/* Blocks for n threads' work: at least one, and not more than a launch can have. */
static inline unsigned blocks_for(int64_t n, int threads) {
    const int64_t blocks = (n + threads - 1) / threads;
    return (unsigned)(blocks < 1 ? 1 : blocks < (1 << 30) ? blocks : 1 << 30);
}

/* GSW_SUCCESS for cudaSuccess; else keeps "<what>: <CUDA's text>" in the context, clears the
 * runtime's last error and returns OUT_OF_MEMORY or DEVICE. */
gsw_status gsw_cuda_check(gsw_context *context, cudaError_t error, const char *what);

/* The same for the last launch. */
static inline gsw_status gsw_cuda_check_launch(gsw_context *context, const char *what) {
    return gsw_cuda_check(context, cudaGetLastError(), what);
}

/* A step of work aside (multigrid_ops.h). */
gsw_status gsw_cuda_aside(gsw_context *context, gsw_aside step);

/* Reserves and releases device memory from the context's pool, in the order of the context's
 * stream, for work on that stream and, until a join, aside. Releasing NULL is allowed. Errors:
 * OUT_OF_MEMORY, with `what` in the message. */
gsw_status gsw_cuda_reserve(gsw_context *context, size_t bytes, const char *what, void **pointer);
void gsw_cuda_unreserve(gsw_context *context, void *pointer);

/* Lets a kernel be launched with all of a block's shared memory, from now on. The limit belongs to
 * the process and the device: another thread might launch the same kernel with more than this one
 * does. So all set the same. Takes some microseconds. */
gsw_status gsw_cuda_allow_shared(gsw_context *context, const void *kernel, const char *what);

/* Sets the calling thread's current device to the context's. Every entry of the table begins with
 * this. */
gsw_status gsw_cuda_enter(gsw_context *context);

/* Reports what a kernel has written into ->report, and clears it. Does not wait. */
gsw_status gsw_cuda_reported(gsw_context *context);

#endif
