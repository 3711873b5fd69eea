/* occupy.h: a kernel that occupies multiprocessors for some time. */
#ifndef GSW_TESTS_OCCUPY_H
#define GSW_TESTS_OCCUPY_H

#ifdef __cplusplus
extern "C" {
#endif

/* Starts blocks on a stream (a cudaStream_t) of the current device: `fraction` of its
 * multiprocessors, rounded down, but at least one. Each block takes all of the shared memory of one
 * multiprocessor for the given milliseconds. Returns once all of them run: 0, or the cudaError_t of
 * the failure. Call it only after the blocks of an earlier call have ended. */
int occupy_start(void *stream, double fraction, int milliseconds);

#ifdef __cplusplus
}
#endif

#endif
