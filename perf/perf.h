/* perf.h: what the programs that measure share. Each defines PROGRAM, its name, before it includes
 * this. */
#ifndef GSW_PERF_H
#define GSW_PERF_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <gridsweep/gridsweep.h>

/* Ends the program where a call fails; says what the variable `context` has to say. */
#define CHECK(call)                                                                                \
    do {                                                                                           \
        const gsw_status status_ = (call);                                                         \
        if (status_ != GSW_SUCCESS) {                                                              \
            fprintf(stderr, PROGRAM ": %s: %s %s\n", #call, gsw_status_text(status_),              \
                    gsw_context_message(context));                                                 \
            exit(EXIT_FAILURE);                                                                    \
        }                                                                                          \
    } while (0)

/* New memory, all zeros; ends the program where there is none. */
static inline void *allocate(size_t bytes) {
    void *memory = calloc(1, bytes);
    if (memory == NULL) {
        fprintf(stderr, PROGRAM ": out of memory\n");
        exit(EXIT_FAILURE);
    }
    return memory;
}

static inline double now_ms(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static inline int by_size(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The median; sorts the values. */
static inline double median(double *values, int count) {
    qsort(values, (size_t)count, sizeof *values, by_size);
    return (values[(count - 1) / 2] + values[count / 2]) / 2;
}

/* The kind of factor of that name; ends the program where there is none. */
static inline gsw_factor_kind kind_of(const char *name) {
    for (int kind = GSW_ILU0; kind <= GSW_SSOR; kind++)
        if (strcmp(name, gsw_factor_kind_name((gsw_factor_kind)kind)) == 0)
            return (gsw_factor_kind)kind;
    fprintf(stderr, PROGRAM ": unknown kind %s\n", name);
    exit(EXIT_FAILURE);
}

#endif
