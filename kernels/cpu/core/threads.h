/* threads.h: OpenMP in builds that have it, otherwise one thread. */
#ifndef GSW_CPU_THREADS_H
#define GSW_CPU_THREADS_H

#ifdef _OPENMP
#include <omp.h>
static inline int gsw_thread_index(void) {
    return omp_get_thread_num();
}
/* Threads that OpenMP offers. */
static inline int gsw_thread_offer(void) {
    return omp_get_max_threads();
}
#else
static inline int gsw_thread_index(void) {
    return 0;
}
static inline int gsw_thread_offer(void) {
    return 1;
}
#endif

#endif
