/* system.c: model problems, and the forms in which cases take them. */
#include "system.h"
#include <stdlib.h>
#include "common/input.h"

int bench_make_system(const cli_options *options, gsw_context *host, const bench_item *item,
                      bench_system *system) {
    const char *name = item->part == PART_HPCG    ? "hpcg"
                       : options->problem != NULL ? options->problem
                                                  : "random:1";
    const gsw_stencil *stencil =
        item->part == PART_HPCG || options->problem != NULL ? NULL : item->stencil;
    *system = (bench_system){.grid = item->grid,
                             .stencil = *item->stencil,
                             .rows = item->grid.nx * item->grid.ny * item->grid.nz};
    gsw_status status = gsw_problem_create(host, name, &item->grid, stencil, &system->problem);
    return status == GSW_SUCCESS ? CLI_OK : cli_status(options, host, status, CLI_FROM_OPTION);
}

int bench_system_csr(const cli_options *options, gsw_context *host, const bench_item *item,
                     bench_system *system) {
    static const gsw_part parts[] = {GSW_LOWER, GSW_UPPER, GSW_FULL}; /* of bench_part */
    if (system->csr.row_ptr != NULL && system->part == item->part)
        return CLI_OK;
    const gsw_matrix *matrix = gsw_problem_matrix(system->problem);
    gsw_part part = parts[item->part];
    gsw_itype index = cli_count_entries(matrix, part) <= INT32_MAX ? GSW_I32 : GSW_I64;
    gsw_csr_free(&system->csr);
    system->csr = (gsw_csr){0};
    system->part = item->part;
    gsw_status status = gsw_matrix_to_csr(host, matrix, part, index, &system->csr);
    if (item->last_part) {
        gsw_problem_destroy(system->problem);
        system->problem = NULL;
    }
    return status == GSW_SUCCESS ? CLI_OK : cli_status(options, host, status, CLI_FROM_OPTION);
}

int bench_system_f32(const cli_options *options, gsw_context *host, bench_system *system) {
    const gsw_matrix *matrix = gsw_problem_matrix(system->problem);
    int32_t offsets = matrix->stencil.count;
    size_t rows = (size_t)system->rows;
    if (system->values_f32 != NULL)
        return CLI_OK;
    system->values_f32 = malloc(rows * (size_t)offsets * sizeof *system->values_f32);
    if (system->values_f32 == NULL) {
        cli_error(options, "out of memory; try a smaller --size");
        return CLI_INPUT;
    }
    for (int32_t e = 0; e < offsets; e++) {
        const double *from = matrix->array.values[e];
        float *to = system->values_f32 + rows * (size_t)e;
        system->pointers_f32[e] = to;
        for (size_t row = 0; row < rows; row++)
            to[row] = from != NULL ? (float)from[row] : 0.0F;
    }
    gsw_stencil_array array = {system->pointers_f32, GSW_F32};
    gsw_status status =
        gsw_matrix_from_stencil(host, &matrix->grid, &matrix->stencil, &array, &system->f32);
    return status == GSW_SUCCESS ? CLI_OK : cli_status(options, host, status, CLI_FROM_OPTION);
}

void bench_free_system(bench_system *system) {
    free(system->values_f32);
    gsw_csr_free(&system->csr);
    gsw_problem_destroy(system->problem);
    *system = (bench_system){0};
}

float *bench_narrow(const gsw_csr *csr) {
    const double *from = csr->values;
    float *to = malloc((size_t)csr->nonzeros * sizeof *to);
    if (to == NULL)
        return NULL;
#ifdef _OPENMP
#pragma omp parallel for schedule(static)
#endif
    for (int64_t k = 0; k < csr->nonzeros; k++)
        to[k] = (float)from[k];
    return to;
}
