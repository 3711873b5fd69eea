/* multigrid_extract.c: matrices and transfers of a hierarchy as CSR on the host. */
#include <stdlib.h>
#include <string.h>
#include "contract/allocate.h"
#include "common/csr.h"
#include "hierarchy.h"

/* Arrays of backend memory, copied to the host. */
typedef struct host_arrays {
    char *block;
    const void *values[GSW_STENCIL_MAX];
} host_arrays;

static gsw_status bring(gsw_context *context, const gsw_level_arrays *arrays, int32_t count,
                        int64_t points, gsw_dtype type, host_arrays *host) {
    const size_t bytes = (size_t)points * gsw_dtype_size(type);
    GSW_TRY(gsw_alloc(context, (size_t)count, bytes, "extracted arrays", (void **)&host->block));
    for (int32_t e = 0; e < count; e++) {
        host->values[e] = host->block + (size_t)e * bytes;
        GSW_TRY(context->ops->memory->download(context, host->block + (size_t)e * bytes,
                                               arrays->values[e], bytes));
    }
    return GSW_SUCCESS;
}

/* One row of P or of R: up to 8 or 27 entries, columns ascending. */
typedef struct sparse_row {
    int count;
    int64_t column[GSW_SLOTS];
    double value[GSW_SLOTS];
} sparse_row;

static void add_entry(sparse_row *row, int64_t column, double value) {
    int k = row->count;
    if (value == 0)
        return;
    for (; k > 0 && row->column[k - 1] > column; k--) {
        row->column[k] = row->column[k - 1];
        row->value[k] = row->value[k - 1];
    }
    row->column[k] = column;
    row->value[k] = value;
    row->count++;
}

/* The row of P for a fine point. */
static void prolongation_row(const gsw_seam_level *l, int injection, const int64_t at[3],
                             const int64_t turned[3], sparse_row *row) {
    int64_t coarse[3], to[3];
    const int class_ = gsw_seam_class(l, at, coarse);
    for (int subset = 0; subset < (injection && class_ != 0 ? 0 : GSW_CLASSES); subset++)
        if (!(subset & ~class_) && gsw_seam_target(l, coarse, subset, to) != GSW_OUTSIDE)
            add_entry(row, gsw_turned_row(l->m, turned, gsw_seam_row_in(l->m, to)),
                      gsw_seam_weight(l, 0, at, subset));
}

/* The row of R for a coarse point. */
static void restriction_row(const gsw_seam_level *l, int injection, const int64_t at[3],
                            sparse_row *row) {
    for (int32_t slot = 0; slot < GSW_SLOTS; slot++) {
        if (injection && slot != GSW_SLOT_CENTER)
            continue;
        const gsw_seam_share share = gsw_seam_share_of(l, at, slot);
        if (share.where != GSW_OUTSIDE)
            add_entry(row, gsw_seam_row_in(l->n, share.at), share.weight);
    }
}

/* A row, where coarse points have the numbers of the next level. */
static void row_of(const gsw_seam_level *l, int injection, gsw_multigrid_part part,
                   const int64_t turned[3], int64_t number, sparse_row *row) {
    const int64_t *n = part == GSW_MULTIGRID_PROLONGATION ? l->n : l->m;
    const int64_t back[3] = {-turned[0], -turned[1], -turned[2]};
    if (part == GSW_MULTIGRID_RESTRICTION)
        number = gsw_turned_row(l->m, back, number);
    const int64_t at[3] = {number % n[0], number / n[0] % n[1], number / n[0] / n[1]};
    row->count = 0;
    if (part == GSW_MULTIGRID_PROLONGATION)
        prolongation_row(l, injection, at, turned, row);
    else
        restriction_row(l, injection, at, row);
}

/* The transfer with weights on the host. Free *across. */
static gsw_status describe(gsw_context *context, const gsw_level *level, gsw_dtype type,
                           const host_arrays *host, gsw_seam_level *made, double **across) {
    const gsw_transfer *t = level->transfer;
    const int64_t n[3] = {0, 0, 0};
    gsw_wraps none = {.seam = gsw_seam_make(&t->fine, n, n)};
    const gsw_wraps *w = gsw_wraps_of(&level->around);
    *made = gsw_seam_level_of(t, &level->product, w ? w : &none, type);
    for (int32_t i = 0; i < t->weights; i++)
        for (int which = 0; which < 2; which++)
            made->weights[which][i] = (void *)(uintptr_t)host->values[i];
    const size_t values = (size_t)(GSW_CLASSES * made->across.count);
    if (values == 0)
        return GSW_SUCCESS;
    GSW_TRY(gsw_alloc(context, 2 * values, sizeof **across, "weights", (void **)across));
    for (int which = 0; which < 2; which++) {
        made->weights_across[which] = *across + (size_t)which * values;
        GSW_TRY(context->ops->memory->download(context, made->weights_across[which],
                                               level->seam->weights_across[which],
                                               values * sizeof **across));
    }
    return GSW_SUCCESS;
}

static gsw_status extract_transfer(gsw_context *context, const gsw_multigrid *mg, int number,
                                   gsw_multigrid_part part, gsw_csr *csr) {
    const gsw_level *level = mg->level[number];
    const gsw_transfer *t = level->transfer;
    const gsw_dtype type = mg->options.cycle_type;
    const gsw_level_arrays *arrays =
        part == GSW_MULTIGRID_PROLONGATION ? &level->prolongation : &level->restriction;
    const int64_t rows =
        part == GSW_MULTIGRID_PROLONGATION ? level->points : mg->level[number + 1]->points;
    host_arrays host = {0};
    gsw_seam_level tables;
    int64_t *row_ptr = NULL, *columns = NULL;
    double *values = NULL, *across = NULL;
    sparse_row row;
    gsw_status status;
    GSW_TRY_GOTO(bring(context, arrays, t->weights, mg->level[number + 1]->points, type, &host),
                 cleanup);
    GSW_TRY_GOTO(describe(context, level, type, &host, &tables, &across), cleanup);
    GSW_TRY_GOTO(
        gsw_alloc(context, (size_t)rows + 1, sizeof *row_ptr, "row pointers", (void **)&row_ptr),
        cleanup);
    row_ptr[0] = 0;
    for (int64_t i = 0; i < rows; i++) {
        row_of(&tables, t->injection, part, mg->level[number + 1]->turned, i, &row);
        row_ptr[i + 1] = row_ptr[i] + row.count;
    }
    GSW_TRY_GOTO(
        gsw_alloc(context, (size_t)row_ptr[rows], sizeof *columns, "columns", (void **)&columns),
        cleanup);
    GSW_TRY_GOTO(
        gsw_alloc(context, (size_t)row_ptr[rows], sizeof *values, "values", (void **)&values),
        cleanup);
    for (int64_t i = 0; i < rows; i++) {
        row_of(&tables, t->injection, part, mg->level[number + 1]->turned, i, &row);
        memcpy(columns + row_ptr[i], row.column, (size_t)row.count * sizeof *columns);
        memcpy(values + row_ptr[i], row.value, (size_t)row.count * sizeof *values);
    }
    *csr = (gsw_csr){.rows = rows,
                     .nonzeros = row_ptr[rows],
                     .row_ptr = row_ptr,
                     .columns = columns,
                     .values = values,
                     .index_type = GSW_I64,
                     .value_type = GSW_F64};
    free(across);
    free(host.block);
    return GSW_SUCCESS;

cleanup:
    free(values);
    free(columns);
    free(row_ptr);
    free(across);
    free(host.block);
    return status;
}

/* Puts the couplings around a periodic grid to their places in arrays on the host. */
static gsw_status put_around(gsw_context *context, const gsw_wrapped *around,
                             const host_arrays *host) {
    gsw_wraps w = around->wraps;
    gsw_wraps_arrays to;
    void *block = NULL;
    if (around->block == NULL)
        return GSW_SUCCESS;
    GSW_TRY(gsw_alloc(context, (size_t)around->bytes, 1, "couplings around a grid", &block));
    w.values = block;
    const gsw_status status =
        context->ops->memory->download(context, block, around->block, (size_t)around->bytes);
    for (int32_t e = 0; e < w.count; e++)
        to.values[e] = (double *)(uintptr_t)host->values[e];
    for (int64_t k = 0; k < w.seam.count && status == GSW_SUCCESS; k++)
        gsw_wraps_move_row(&w, &to, 0, k);
    free(block);
    return status;
}

static gsw_status extract_matrix(gsw_context *context, const gsw_level *level, gsw_csr *csr) {
    const gsw_stencil_array array = {.values = NULL, .value_type = GSW_F64};
    gsw_matrix view = level->matrix;
    host_arrays host = {0};
    gsw_status status;
    GSW_TRY_GOTO(bring(context, &level->setup, view.stencil.count, level->points, GSW_F64, &host),
                 cleanup);
    GSW_TRY_GOTO(put_around(context, &level->around, &host), cleanup);
    view.array = array;
    view.array.values = host.values;
    view.grid.periodic = level->around.wraps.periodic;
    status = gsw_matrix_to_csr(context, &view, GSW_FULL, GSW_I64, csr);
cleanup:
    free(host.block);
    return status;
}

gsw_status gsw_multigrid_extract(gsw_context *context, const gsw_multigrid *multigrid, int level,
                                 gsw_multigrid_part part, gsw_csr *csr) {
    GSW_REQUIRE(context, context, "context is NULL");
    GSW_REQUIRE(context, csr, "csr is NULL");
    *csr = (gsw_csr){0};
    GSW_REQUIRE(context, multigrid, "multigrid is NULL");
    GSW_REQUIRE(context, multigrid->context == context, "multigrid belongs to another context");
    GSW_REQUIRE(context, multigrid->usable, "multigrid holds no values: its last refactor failed");
    if (multigrid->partition)
        return gsw_fail(context, GSW_ERROR_UNSUPPORTED,
                        "a hierarchy on several processes cannot be extracted");
    GSW_REQUIRE(context, level >= 0 && level < multigrid->levels, "level %d is not in 0..%d", level,
                multigrid->levels - 1);
    switch (part) {
    case GSW_MULTIGRID_MATRIX:
        GSW_REQUIRE(context, level > 0, "level 0 is the user's own matrix");
        return extract_matrix(context, multigrid->level[level], csr);
    case GSW_MULTIGRID_PROLONGATION:
    case GSW_MULTIGRID_RESTRICTION:
        GSW_REQUIRE(context, level + 1 < multigrid->levels,
                    "level %d is the coarsest: it has no transfer", level);
        return extract_transfer(context, multigrid, level, part, csr);
    }
    return gsw_fail(context, GSW_ERROR_INVALID_ARGUMENT, "part %d is unknown", (int)part);
}
