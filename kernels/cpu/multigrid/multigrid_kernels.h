/* multigrid_kernels.h: one instruction set's multigrid kernels, by file. */
#ifndef GSW_CPU_MULTIGRID_KERNELS_H
#define GSW_CPU_MULTIGRID_KERNELS_H

#include "cpu/core/kernels.h"
#include "multigrid.h"

void GSW_ISA_FN(gsw_multigrid_survey)(int threads, const gsw_matrix *matrix, const gsw_frame *own,
                                      const struct gsw_wraps *wraps, int mirrored,
                                      gsw_survey *result);
int64_t GSW_ISA_FN(gsw_multigrid_interpolate)(int threads, const gsw_transfer *t,
                                              const gsw_matrix *matrix, gsw_rows rows,
                                              gsw_dtype type, void *const *weights);
void GSW_ISA_FN(gsw_multigrid_triple)(int threads, const gsw_transfer *t, const gsw_matrix *matrix,
                                      gsw_dtype type, void *const *prolongation,
                                      void *const *restriction, double *const *coarse);
void GSW_ISA_FN(gsw_multigrid_smooth)(const gsw_smooth_job *job);
void GSW_ISA_FN(gsw_multigrid_restrict)(int threads, const gsw_transfer *transfer,
                                        const gsw_matrix *matrix, gsw_dtype type,
                                        void *const *weights, const void *b, const void *x,
                                        void *to);
void GSW_ISA_FN(gsw_multigrid_prolong)(int threads, const gsw_transfer *transfer, gsw_dtype type,
                                       void *const *weights, const void *from, void *to);

#endif
