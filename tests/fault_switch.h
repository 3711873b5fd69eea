/* fault_switch.h: which call fails. A test arms a fault: the n-th call of a kind, or all calls from
 * the n-th on, then fail. fault_memory.h and fault_device.h stand before the calls. */
#ifndef GSW_TESTS_FAULT_SWITCH_H
#define GSW_TESTS_FAULT_SWITCH_H

#include <stdatomic.h>

/* Host memory; files; calls of CUDA that allocate; other calls of CUDA. */
typedef enum fault_kind {
    FAULT_NONE,
    FAULT_MEMORY,
    FAULT_FILE,
    FAULT_DEVICE_MEMORY,
    FAULT_DEVICE_CALL
} fault_kind;

static struct {
    fault_kind kind; /* what is counted and may fail */
    int paused;
    int from_then_on; /* all calls from number `at` on fail, not only that one */
    long at;          /* 0: none fails */
    int reason;       /* errno of a file's fault; 0: a write of half the bytes, once */
    atomic_long calls, hits;
    atomic_long live;  /* allocations that were not freed, open files */
    atomic_long bytes; /* of these allocations */
} fault;

/* Inside CUDA's runtime: what it allocates for itself, and keeps, is not counted. */
static _Thread_local int fault_in_runtime;

static inline int fault_now(fault_kind kind) {
    if (fault.kind != kind || fault.paused > 0)
        return 0;
    const long number = atomic_fetch_add(&fault.calls, 1) + 1;
    if (fault.at == 0 || number < fault.at || (number > fault.at && !fault.from_then_on))
        return 0;
    atomic_fetch_add(&fault.hits, 1);
    return 1;
}

static inline void fault_arm(fault_kind kind, long at, int from_then_on, int reason) {
    fault.kind = kind;
    fault.at = at;
    fault.from_then_on = from_then_on;
    fault.reason = reason;
    fault.paused = 0;
    atomic_store(&fault.calls, 0);
    atomic_store(&fault.hits, 0);
}

static inline void fault_disarm(void) {
    fault.kind = FAULT_NONE;
}

#endif
