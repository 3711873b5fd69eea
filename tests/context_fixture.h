/* context_fixture.h: one CPU context per file of tests, as a checked fixture of Check: it is
 * created before each test and closed after it. It has 2 threads, or CONTEXT_THREADS. */
#ifndef GSW_CONTEXT_FIXTURE_H
#define GSW_CONTEXT_FIXTURE_H

#include <string.h>

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

/* The context's message contains the words. */
static inline void assert_message(const char *words) {
    ck_assert_msg(strstr(gsw_context_message(context), words) != NULL, "'%s' does not say '%s'",
                  gsw_context_message(context), words);
}

/* The call has ended with that status, and the context's message contains the words. */
static inline void expect_refusal(gsw_status status, gsw_status expected, const char *words) {
    ck_assert_msg(status == expected, "%s: %s, not %s", words, gsw_status_name(status),
                  gsw_status_name(expected));
    assert_message(words);
}

#endif
