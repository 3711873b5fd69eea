/* occupy.h: a kernel that takes multiprocessors away from others for a while. */
#ifndef GSW_TESTS_OCCUPY_H
#define GSW_TESTS_OCCUPY_H

#ifdef __cplusplus
extern "C" {
#endif

/* Starts, on a stream (a cudaStream_t) of the current device, as many blocks as `fraction` of its
 * multiprocessors, rounded down but one at least; each takes all of the shared memory of one
 * multiprocessor for so many milliseconds. Returns once all of them run: 0, or the cudaError_t that
 * stood in the way. Not before the blocks of an earlier call have ended. */
int occupy_start(void *stream, double fraction, int milliseconds);

#ifdef __cplusplus
}
#endif

#endif
