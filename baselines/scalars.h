/* scalars.h: arithmetic on scalars in device memory, between the vector operations of a Krylov
 * method, so that the host need not wait for them. Each function queues one kernel of one thread on
 * the stream (a cudaStream_t) and returns a cudaError_t as int. */
#ifndef GSW_BASELINES_SCALARS_H
#define GSW_BASELINES_SCALARS_H

#ifdef __cplusplus
extern "C" {
#endif

/* pair[0] = a / b and pair[1] = -a / b; 0 / 0 is 0, as for a residual that has vanished. */
int gsw_scalars_divide(void *stream, const double *a, const double *b, double *pair);

/* *beta = (*next / *current) * (*alpha / *omega), then *current = *next. */
int gsw_scalars_advance(void *stream, const double *next, double *current, const double *alpha,
                        const double *omega, double *beta);

#ifdef __cplusplus
}
#endif

#endif
