/* table.c: the table of one instruction set's kernels. See kernels.h. */
#include "cpu/core/kernels.h"
#include "cpu/rows/rows.h"

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
    .rows = {[GSW_FORMAT_CSR] = &GSW_ISA_FN(gsw_rows_of_csr),
             [GSW_FORMAT_STENCIL] = &GSW_ISA_FN(gsw_rows_of_arrays)},
    .spmv_lines = GSW_ISA_FN(gsw_spmv_lines),
    .sweep = GSW_ISA_FN(gsw_sweep),
    .eliminate = GSW_ISA_FN(gsw_eliminate),
    .relax = GSW_ISA_FN(gsw_relax),
    .multigrid = &GSW_ISA_FN(gsw_cpu_multigrid),
    .couple = GSW_ISA_FN(gsw_couple),
};
