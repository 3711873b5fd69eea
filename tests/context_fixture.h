/* context_fixture.h: the contexts of a suite, as a checked fixture of Check: they are created
 * before each test and closed after it, with all that the test has kept (keep.h). The CPU's has 2
 * threads, or CONTEXT_THREADS. */
#ifndef GSW_TESTS_CONTEXT_FIXTURE_H
#define GSW_TESTS_CONTEXT_FIXTURE_H

#include <string.h>

#include <check.h>
#include <gridsweep/context.h>

#include "backend.h"
#include "keep.h"

#ifndef CONTEXT_THREADS
#define CONTEXT_THREADS 2
#endif

static gsw_context *context; /* of the suite's backend */
static gsw_context *cpu;     /* of the CPU; the same where that is the suite's backend */

static void open_context(void) {
    context = backend_context(CONTEXT_THREADS);
    cpu = on_cpu() ? context : oracle_context(CONTEXT_THREADS);
}

static void close_context(void) {
    keep_release(0);
    if (cpu != context)
        gsw_context_destroy(cpu);
    gsw_context_destroy(context);
}

/* A vector between guards, of the suite's backend (device.h). */
static inline device_vector keep_guarded(gsw_dtype type, int64_t n) {
    const device_vector v = device_vector_make(context, type, n);
    keep(KEPT_THERE, context, v.memory);
    return v;
}

/* A group of tests with these contexts. `seconds`: the time limit of a test on the CPU. */
static inline TCase *context_case(Suite *suite, const char *name, double seconds) {
    return suite_case(suite, name, seconds, open_context, close_context);
}

/* The context's message contains the words. */
static inline void assert_message(const char *words) {
    must_say(context, words);
}

/* The call has ended with that status, and the context's message contains the words. */
static inline void expect_refusal(gsw_status status, gsw_status expected, const char *words) {
    must_refuse(context, status, expected, words);
}

/* The same of a call with an argument that may not be. */
static inline void expect_rejection(gsw_status status, const char *words) {
    expect_refusal(status, GSW_ERROR_INVALID_ARGUMENT, words);
}

#endif
