/* kernels.h: the CPU kernels, built once for each instruction set.
 *
 * vector.c, spmv.c, line.c, rows, sweep.c, eliminate.c, box.c, relax.c and the kernels of multigrid
 * are compiled several times with GSW_ISA set to a suffix. On x86-64 the builds are baseline,
 * x86-64-v3 and x86-64-v4; elsewhere there is one. Each build defines its functions through
 * GSW_ISA_FN. table.c, compiled with them, collects them in one table. The backend picks the best
 * table that the processor can run. Arithmetic is the same in all of them, except that the compiler
 * fuses multiply-adds where the instruction set has them. */
#ifndef GSW_CPU_KERNELS_H
#define GSW_CPU_KERNELS_H

#include <stdint.h>
#include <gridsweep/sptrsv.h>

#ifdef GSW_ISA
#define GSW_ISA_PASTE2(name, isa) name##_##isa
#define GSW_ISA_PASTE(name, isa)  GSW_ISA_PASTE2(name, isa)
#define GSW_ISA_FN(name)          GSW_ISA_PASTE(name, GSW_ISA)
#endif

struct gsw_row_source;    /* rows/rows.h */
struct gsw_sweep_job;     /* sweep.h */
struct gsw_eliminate_job; /* eliminate.h */
struct gsw_cpu_multigrid; /* multigrid.h */
struct gsw_relax_job;     /* relax/relax.h */
struct gsw_couple;        /* contract/box_ops.h */

/* One pass over vectors: updates y = a x + b y, one after the other, then dot products of the
 * updated vectors. Sums are taken over blocks of fixed size in a fixed order. Where a vector is
 * fp32, the pointer to an fp64 one is NULL. An fp32 y is written and not read, so b is 0. */
enum { GSW_VECTOR_PASS_MAX = 8 }; /* updates; products */

typedef struct gsw_vector_pass {
    int updates, products;
    struct {
        double *y;
        const double *x;
        double a, b; /* where b is 0, y is not read */
        float *y_f32;
        const float *x_f32;
    } update[GSW_VECTOR_PASS_MAX];
    struct {
        const double *x, *y;
        const float *y_f32;
    } product[GSW_VECTOR_PASS_MAX];
} gsw_vector_pass;

enum { GSW_SPMV_VECTORS = 4 };

typedef struct gsw_cpu_kernels {
    const char *isa; /* such as "x86-64-v4" */

    /* vector.c: fp64. */
    void (*fill)(int threads, int64_t n, double a, double *x);
    void (*copy)(int threads, int64_t n, const double *x, double *y);
    void (*axpby)(int threads, int64_t n, double a, const double *x, double b, double *y);
    void (*add_scaled)(int threads, int64_t n, const double *d, const double *x, const double *y,
                       double *z); /* z_i = y_i + d_i x_i; y NULL: 0 */
    void (*change_signs)(int threads, int64_t n, const double *x, double *y);
    void (*pass)(int threads, int64_t n, const gsw_vector_pass *pass, double *sums);

    /* Each format's rows (rows/rows.h): products, the line sweep, what factors and copies read. */
    const struct gsw_row_source *rows[2];

    /* spmv.c: y = A x (b NULL) or b - A x for stencil arrays of the vectors' type, only on lines
     * whose y and z are multiples of the steps. Other values of y are neither read nor written. */
    void (*spmv_lines)(int threads, const gsw_matrix *matrix, gsw_dtype vector_type, int64_t step_y,
                       int64_t step_z, const void *b, const void *x, void *y);

    /* sweep.c: one sweep of a packed factor. */
    void (*sweep)(const struct gsw_sweep_job *job);

    /* eliminate.c: packing and factorisation. */
    void (*eliminate)(struct gsw_eliminate_job *job);

    /* relax.c: a pass of a stencil loop. */
    void (*relax)(int threads, const struct gsw_relax_job *job);

    /* multigrid_*.c: set-up of levels, smoothing and transfers. */
    const struct gsw_cpu_multigrid *multigrid;

    /* box.c: couplings to other processes. */
    void (*couple)(int threads, const struct gsw_couple *job);
} gsw_cpu_kernels;

extern const gsw_cpu_kernels gsw_cpu_kernels_base;
#if defined(__x86_64__) && defined(GSW_HAVE_ISA_LEVELS)
extern const gsw_cpu_kernels gsw_cpu_kernels_v3;
extern const gsw_cpu_kernels gsw_cpu_kernels_v4;
#endif

#ifdef GSW_ISA
extern const gsw_cpu_kernels GSW_ISA_FN(gsw_cpu_kernels);
void GSW_ISA_FN(gsw_fill)(int threads, int64_t n, double a, double *x);
void GSW_ISA_FN(gsw_copy)(int threads, int64_t n, const double *x, double *y);
void GSW_ISA_FN(gsw_axpby)(int threads, int64_t n, double a, const double *x, double b, double *y);
void GSW_ISA_FN(gsw_add_scaled)(int threads, int64_t n, const double *d, const double *x,
                                const double *y, double *z);
void GSW_ISA_FN(gsw_change_signs)(int threads, int64_t n, const double *x, double *y);
void GSW_ISA_FN(gsw_pass)(int threads, int64_t n, const gsw_vector_pass *pass, double *sums);
void GSW_ISA_FN(gsw_spmv_lines)(int threads, const gsw_matrix *matrix, gsw_dtype vector_type,
                                int64_t step_y, int64_t step_z, const void *b, const void *x,
                                void *y);
void GSW_ISA_FN(gsw_sweep)(const struct gsw_sweep_job *job);
void GSW_ISA_FN(gsw_eliminate)(struct gsw_eliminate_job *job);
void GSW_ISA_FN(gsw_relax)(int threads, const struct gsw_relax_job *job);
extern const struct gsw_cpu_multigrid GSW_ISA_FN(gsw_cpu_multigrid);
void GSW_ISA_FN(gsw_couple)(int threads, const struct gsw_couple *job);
#endif

#endif
