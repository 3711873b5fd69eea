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

static double value_of(const host_arrays *host, gsw_dtype type, int32_t array, int64_t i) {
    return array == GSW_WEIGHT_ONE ? 1 : gsw_value_at(host->values[array], type, i);
}

/* One row of P or of R: up to 8 or 27 entries, columns ascending. */
typedef struct sparse_row {
    int count;
    int64_t column[GSW_SLOTS];
    double value[GSW_SLOTS];
} sparse_row;

static void add_entry(sparse_row *row, int64_t column, double value) {
    if (value == 0)
        return;
    row->column[row->count] = column;
    row->value[row->count++] = value;
}

/* The row of P for fine point f. */
static void prolongation_row(const gsw_transfer *t, const host_arrays *host, gsw_dtype type,
                             const int64_t f[3], sparse_row *row) {
    int64_t base[3];
    int class_ = 0;
    row->count = 0;
    for (int axis = 0; axis < 3; axis++) {
        const int coarsened = t->axes >> axis & 1;
        base[axis] = coarsened ? f[axis] / 2 : f[axis];
        class_ |= (coarsened ? (int)(f[axis] & 1) : 0) << axis;
    }
    if (t->injection && class_ != 0)
        return;
    for (int subset = 0; subset < GSW_CLASSES; subset++)
        if (!(subset & ~class_) && gsw_subset_exists(&t->coarse, subset, base[0], base[1], base[2]))
            add_entry(row,
                      gsw_grid_row(&t->coarse, base[0] + (subset & 1), base[1] + (subset >> 1 & 1),
                                   base[2] + (subset >> 2 & 1)),
                      value_of(host, type, gsw_weight_of(t, class_, subset),
                               gsw_grid_row(&t->coarse, base[0], base[1], base[2])));
}

/* The row of R for coarse point c. */
static void restriction_row(const gsw_transfer *t, const host_arrays *host, gsw_dtype type,
                            const int64_t c[3], sparse_row *row) {
    row->count = 0;
    for (int32_t i = 0; i < t->rows; i++) {
        const gsw_product_row *from = &t->row[i];
        int64_t at[3], base[3];
        int inside = 1;
        for (int axis = 0; axis < 3; axis++) {
            at[axis] = (t->axes >> axis & 1 ? 2 : 1) * c[axis] + from->at[axis];
            base[axis] = c[axis] + from->shift[axis];
            inside = inside && at[axis] >= 0 && at[axis] < gsw_extent(&t->fine, axis);
        }
        if (inside)
            add_entry(row, gsw_grid_row(&t->fine, at[0], at[1], at[2]),
                      value_of(host, type, from->weight,
                               gsw_grid_row(&t->coarse, base[0], base[1], base[2])));
    }
}

static void row_of(const gsw_transfer *t, gsw_multigrid_part part, const host_arrays *host,
                   gsw_dtype type, int64_t number, sparse_row *row) {
    const gsw_grid *g = part == GSW_MULTIGRID_PROLONGATION ? &t->fine : &t->coarse;
    const int64_t at[3] = {number % g->nx, number / g->nx % g->ny, number / g->nx / g->ny};
    if (part == GSW_MULTIGRID_PROLONGATION)
        prolongation_row(t, host, type, at, row);
    else
        restriction_row(t, host, type, at, row);
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
    int64_t *row_ptr = NULL, *columns = NULL;
    double *values = NULL;
    sparse_row row;
    gsw_status status;
    GSW_TRY_GOTO(bring(context, arrays, t->weights, mg->level[number + 1]->points, type, &host),
                 cleanup);
    GSW_TRY_GOTO(
        gsw_alloc(context, (size_t)rows + 1, sizeof *row_ptr, "row pointers", (void **)&row_ptr),
        cleanup);
    row_ptr[0] = 0;
    for (int64_t i = 0; i < rows; i++) {
        row_of(t, part, &host, type, i, &row);
        row_ptr[i + 1] = row_ptr[i] + row.count;
    }
    GSW_TRY_GOTO(
        gsw_alloc(context, (size_t)row_ptr[rows], sizeof *columns, "columns", (void **)&columns),
        cleanup);
    GSW_TRY_GOTO(
        gsw_alloc(context, (size_t)row_ptr[rows], sizeof *values, "values", (void **)&values),
        cleanup);
    for (int64_t i = 0; i < rows; i++) {
        row_of(t, part, &host, type, i, &row);
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
    free(host.block);
    return GSW_SUCCESS;

cleanup:
    free(values);
    free(columns);
    free(row_ptr);
    free(host.block);
    return status;
}

static gsw_status extract_matrix(gsw_context *context, const gsw_level *level, gsw_csr *csr) {
    const gsw_stencil_array array = {.values = NULL, .value_type = GSW_F64};
    gsw_matrix view = level->matrix;
    host_arrays host = {0};
    gsw_status status;
    GSW_TRY_GOTO(bring(context, &level->setup, view.stencil.count, level->points, GSW_F64, &host),
                 cleanup);
    view.array = array;
    view.array.values = host.values;
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
