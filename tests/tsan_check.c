/* tsan_check.c: proves that ThreadSanitizer sees through the OpenMP runtime in this build.
 *
 *   tsan_check handover   threads hand values on with release and acquire: no report, exit status 0
 *   tsan_check race       the same hand-over without that order: reported, exit status not 0 */
#include <omp.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#define CELLS   64
#define THREADS 2
#define ROUNDS  20

static double value[CELLS];
static atomic_int ready[CELLS];

/* Cell i holds i + 1. It is computed from cell i - 1, which another thread has written. */
static void fill_cells(memory_order publish, memory_order observe) {
#pragma omp parallel num_threads(THREADS)
    for (int i = omp_get_thread_num(); i < CELLS; i += THREADS) {
        while (i > 0 && !atomic_load_explicit(&ready[i - 1], observe))
            sched_yield();
        value[i] = (i > 0 ? value[i - 1] : 0) + 1;
        atomic_store_explicit(&ready[i], 1, publish);
    }
}

int main(int argc, char **argv) {
    int race = argc == 2 && strcmp(argv[1], "race") == 0;
    if (!race && (argc != 2 || strcmp(argv[1], "handover") != 0)) {
        fprintf(stderr, "usage: tsan_check handover|race\n");
        return 2;
    }
    for (int round = 0; round < ROUNDS; round++) {
        memset(value, 0, sizeof value);
        for (int i = 0; i < CELLS; i++)
            atomic_init(&ready[i], 0);
        if (race)
            fill_cells(memory_order_relaxed, memory_order_relaxed);
        else
            fill_cells(memory_order_release, memory_order_acquire);
        double sum = 0;
#pragma omp parallel for num_threads(THREADS) reduction(+ : sum)
        for (int i = 0; i < CELLS; i++)
            sum += value[i];
        if (sum != CELLS * (CELLS + 1) / 2)
            return 1;
    }
    return 0;
}
