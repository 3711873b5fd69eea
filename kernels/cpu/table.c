/* table.c: the table of one instruction set's kernels. See kernels.h. */
#include "cpu/kernels.h"

void GSW_ISA_FN(gsw_fill)(int threads, int64_t n, double a, double *x);
void GSW_ISA_FN(gsw_copy)(int threads, int64_t n, const double *x, double *y);
void GSW_ISA_FN(gsw_axpby)(int threads, int64_t n, double a, const double *x, double b, double *y);
void GSW_ISA_FN(gsw_add_scaled)(int threads, int64_t n, const double *d, const double *x,
                                const double *y, double *z);
void GSW_ISA_FN(gsw_change_signs)(int threads, int64_t n, const double *x, double *y);
void GSW_ISA_FN(gsw_pass)(int threads, int64_t n, const gsw_vector_pass *pass, double *sums);
void GSW_ISA_FN(gsw_spmv)(int threads, const gsw_matrix *matrix, gsw_dtype vector_type, int count,
                          int64_t stride, const void *b, const void *x, void *y);
void GSW_ISA_FN(gsw_spmv_lines)(int threads, const gsw_matrix *matrix, gsw_dtype vector_type,
                                int64_t step_y, int64_t step_z, const void *b, const void *x,
                                void *y);
gsw_status GSW_ISA_FN(gsw_line)(gsw_context *context, const gsw_matrix *matrix,
                                const gsw_sptrsv_options *options, const void *b, void *x);
void GSW_ISA_FN(gsw_sweep)(const struct gsw_sweep_job *job);
void GSW_ISA_FN(gsw_eliminate)(struct gsw_eliminate_job *job);
void GSW_ISA_FN(gsw_relax)(int threads, const struct gsw_relax_job *job);
extern const struct gsw_cpu_multigrid GSW_ISA_FN(gsw_cpu_multigrid);
extern const struct gsw_cpu_box GSW_ISA_FN(gsw_cpu_box);

#define TEXT2(isa) #isa
#define TEXT(isa)  TEXT2(isa)

const gsw_cpu_kernels GSW_ISA_FN(gsw_cpu_kernels) = {
    .isa = TEXT(GSW_ISA),
    .fill = GSW_ISA_FN(gsw_fill),
    .copy = GSW_ISA_FN(gsw_copy),
    .axpby = GSW_ISA_FN(gsw_axpby),
    .add_scaled = GSW_ISA_FN(gsw_add_scaled),
    .change_signs = GSW_ISA_FN(gsw_change_signs),
    .pass = GSW_ISA_FN(gsw_pass),
    .spmv = GSW_ISA_FN(gsw_spmv),
    .spmv_lines = GSW_ISA_FN(gsw_spmv_lines),
    .line = GSW_ISA_FN(gsw_line),
    .sweep = GSW_ISA_FN(gsw_sweep),
    .eliminate = GSW_ISA_FN(gsw_eliminate),
    .relax = GSW_ISA_FN(gsw_relax),
    .multigrid = &GSW_ISA_FN(gsw_cpu_multigrid),
    .box = &GSW_ISA_FN(gsw_cpu_box),
};
