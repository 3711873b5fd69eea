/* multigrid.h: the CPU's multigrid kernels as the backend calls them. */
#ifndef GSW_CPU_MULTIGRID_H
#define GSW_CPU_MULTIGRID_H

#include "contract/multigrid_ops.h"
#include "geometry/multigrid.h"

/* The operations, with kernels of the context's instruction set. */
extern const gsw_multigrid_ops gsw_cpu_multigrid_ops;

/* One sweep of Gauss-Seidel, upwards or `down`, on arrays of `type`. With `zero`, x counts as 0 and
 * its contents are not read. With a transfer, a sweep upwards from zero is followed by coarse = R
 * (b - A x), and a sweep downwards begins with x += P coarse. */
typedef struct gsw_smooth_job {
    const gsw_matrix *matrix;
    gsw_dtype type;
    const void *reciprocal; /* of the diagonal */
    int down, zero;
    const void *b;
    void *x;
    const gsw_transfer *transfer; /* NULL: the sweep alone */
    void *const *weights;
    void *coarse;
    int threads;
} gsw_smooth_job;

/* The kernels that are built for each instruction set; see multigrid_ops.h. */
typedef struct gsw_cpu_multigrid {
    void (*survey)(int threads, const gsw_matrix *matrix, const gsw_frame *own,
                   const struct gsw_wraps *wraps, int mirror, gsw_survey *survey);
    int64_t (*interpolate)(int threads, const gsw_transfer *transfer, const gsw_matrix *matrix,
                           gsw_rows rows, gsw_dtype type, void *const *weights);
    void (*triple)(int threads, const gsw_transfer *transfer, const gsw_matrix *matrix,
                   gsw_dtype type, void *const *prolongation, void *const *restriction,
                   double *const *coarse);
    void (*smooth)(const gsw_smooth_job *job);
    void (*restrict_residual)(int threads, const gsw_transfer *transfer, const gsw_matrix *matrix,
                              gsw_dtype type, void *const *weights, const void *b, const void *x,
                              void *to);
    void (*prolong_add)(int threads, const gsw_transfer *transfer, gsw_dtype type,
                        void *const *weights, const void *from, void *to);
    void (*narrow)(int threads, int64_t n, const double *from, float *to, double *scale);
    void (*widen)(int threads, int64_t n, const float *from, double scale, double *to);
    void (*combine)(int threads, gsw_dtype type, int64_t n, double a, const void *x, double b,
                    void *y);
} gsw_cpu_multigrid;

#endif
