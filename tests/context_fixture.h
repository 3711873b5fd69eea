/* context_fixture.h: one CPU context per file of tests, as a checked fixture of Check: it is
 * created before each test and closed after it. It has 2 threads, or CONTEXT_THREADS. */
#ifndef GSW_CONTEXT_FIXTURE_H
#define GSW_CONTEXT_FIXTURE_H

#include <check.h>
#include <gridsweep/context.h>

#ifndef CONTEXT_THREADS
#define CONTEXT_THREADS 2
#endif

static gsw_context *context;

static void open_context(void) {
    gsw_context_options options = {
        .size = sizeof options, .backend = GSW_BACKEND_CPU, .threads = CONTEXT_THREADS};
    ck_assert_int_eq(gsw_context_create(&options, &context), GSW_SUCCESS);
}

static void close_context(void) {
    gsw_context_destroy(context);
}

#endif
