/* signals.c: see signals.h.
 *
 * A signal may come to any thread, those of OpenMP as well, while the main thread makes or renames
 * files. So it is not enough to block signals there: an atomic state says who may touch the list of
 * temporary files and what is in it. The handler takes it from FREE to ENDING and ends the program.
 * It finds it HELD while the main thread is at work; then it leaves the signal's number, which
 * cli_signals_release() raises again. Nothing leaves ENDING. */
#define _XOPEN_SOURCE 700 /* SIGXCPU, SIGXFSZ */
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <unistd.h>
#include "signals.h"

enum { FREE = 0, HELD = -1, ENDING = -2 }; /* HELD, and a signal waits: its number */

_Static_assert(ATOMIC_INT_LOCK_FREE == 2, "a signal handler needs an atomic int without a lock");

static const int ending[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGXCPU};
static atomic_int state = FREE;
static const char *temporary[CLI_TEMPORARY_MAX];

/* Calls functions that are safe in a signal handler only. The signal that is raised waits until the
 * handler returns. */
static void handle(int number) {
    int found = FREE;
    if (!atomic_compare_exchange_strong(&state, &found, ENDING)) {
        if (found == HELD && !atomic_compare_exchange_strong(&state, &found, number) &&
            found == FREE)
            (void)raise(number); /* released just now */
        return;
    }
    for (int i = 0; i < CLI_TEMPORARY_MAX; i++)
        if (temporary[i] != NULL)
            (void)unlink(temporary[i]);
    (void)sigaction(number, &(struct sigaction){.sa_handler = SIG_DFL}, NULL);
    (void)raise(number);
}

void cli_signals_prepare(void) {
    struct sigaction action = {.sa_handler = handle, .sa_flags = SA_RESTART}, before;
    (void)sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < sizeof ending / sizeof *ending; i++)
        (void)sigaddset(&action.sa_mask, ending[i]);
    for (size_t i = 0; i < sizeof ending / sizeof *ending; i++)
        if (sigaction(ending[i], NULL, &before) == 0 && before.sa_handler == SIG_DFL)
            (void)sigaction(ending[i], &action, NULL);
    (void)sigaction(SIGXFSZ, &(struct sigaction){.sa_handler = SIG_IGN}, NULL);
}

void cli_signals_hold(void) {
    for (int found = FREE; !atomic_compare_exchange_strong(&state, &found, HELD); found = FREE)
        (void)pause(); /* until another thread has ended the program */
}

void cli_signals_release(void) {
    const int found = atomic_exchange(&state, FREE);
    if (found != HELD)
        (void)raise(found);
}

static void replace(const char *from, const char *to) {
    for (int i = 0; i < CLI_TEMPORARY_MAX; i++) {
        if (temporary[i] == from) {
            temporary[i] = to;
            return;
        }
    }
}

void cli_signals_add(const char *path) {
    replace(NULL, path);
}

void cli_signals_drop(const char *path) {
    replace(path, NULL);
}
