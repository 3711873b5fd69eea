/* border.c: matrices with one more row and column than points, the multiplier of a condition on the
 * mean.
 *
 *   [A  c] [x]   [b]
 *   [r' d] [m] = [e]
 *
 * The rows and the columns of A add up to 0, so that 1'A = 0 and A 1 = 0. Then the sum of the first
 * equations gives m = 1'b / 1'c, A x = b - m c has a solution, and x + t 1 is one for each t. The
 * last equation gives t = (e - d m - r'x) / r'1. Rows with a diagonal alone, such as those of cells
 * in an obstacle, are solved by themselves: 1 is 0 there. */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <gridsweep/embed.h>
#include "common/csr.h"
#include "contract/allocate.h"
#include "contract/backend.h"
#include "contract/check.h"
#include "contract/context.h"
#include "contract/error.h"
#include "core/reserve.h"

struct gsw_border {
    gsw_context *context;
    int64_t points;
    double *ones, *row, *column; /* one block in the context's memory; ones: 0 in rows alone */
    double row_sum, column_sum, corner; /* sums over the ones */
};

/* ---- The matrix ---- */

static int64_t begin_of(const gsw_csr *csr, int64_t row) {
    return gsw_index_at(csr->row_ptr, csr->index_type, row) - csr->base;
}

static int64_t column_at(const gsw_csr *csr, int64_t k) {
    return gsw_index_at(csr->columns, csr->index_type, k) - csr->base;
}

/* Whether the last row has enough entries to be coupled to all others. It reads two pointers. No
 * pencil has a row without a diagonal, but a small grid may have one that is coupled to all. */
static int may_have_border(const gsw_csr *csr) {
    const int64_t last = csr->rows - 1;
    if (last < 2 || !gsw_csr_pointers_fit(csr, last, begin_of(csr, last) + csr->base,
                                          begin_of(csr, csr->rows) + csr->base))
        return 0;
    const int64_t count = csr->nonzeros - begin_of(csr, last);
    return count == last || (count == last + 1 && count > GSW_STENCIL_MAX);
}

/* Refuses pointers and columns that are none. */
static gsw_status check_rows(gsw_context *context, const gsw_csr *csr) {
    int64_t begin = 0, end;
    for (int64_t row = 0; row < csr->rows; row++, begin = end) {
        if (!gsw_csr_row_end(csr, csr->index_type, row, begin, &end))
            return gsw_csr_refuse_row(context, csr, row, begin);
        int64_t previous = -1;
        for (int64_t k = begin; k < end; k++) {
            const int64_t column = column_at(csr, k);
            if (column <= previous || column >= csr->rows)
                return gsw_csr_refuse_row(context, csr, row, begin);
            previous = column;
        }
    }
    return GSW_SUCCESS;
}

/* Whether the last row and the last column are full. */
static int has_border(const gsw_csr *csr) {
    const int64_t last = csr->rows - 1;
    for (int64_t row = 0; row < last; row++) {
        const int64_t end = begin_of(csr, row + 1);
        if (end == begin_of(csr, row) || column_at(csr, end - 1) != last)
            return 0;
    }
    return csr->nonzeros - begin_of(csr, last) > last || column_at(csr, csr->nonzeros - 1) < last;
}

/* A sum that is 0 to 10 roundings, as in a solver that looks for null spaces. */
static int is_zero(double sum, double size) {
    return fabs(sum) <= 10 * DBL_EPSILON * size;
}

/* Whether row i of A has a diagonal that is not 0, and nothing else. */
static int is_alone(const gsw_csr *csr, int64_t row) {
    int alone = 0;
    for (int64_t k = begin_of(csr, row); k < begin_of(csr, row + 1) - 1; k++) {
        if (!gsw_csr_is_zero(csr, k) && column_at(csr, k) != row)
            return 0;
        alone |= !gsw_csr_is_zero(csr, k);
    }
    return alone;
}

/* Whether the rows and the columns of A add up to 0. `ones` gets what `border` has; `sums` has two
 * numbers per point. */
static int adds_up_to_zero(const gsw_csr *csr, double *ones, double *sums) {
    const int64_t points = csr->rows - 1;
    double *sizes = sums + points;
    int yes = 1;
    memset(sums, 0, 2 * (size_t)points * sizeof *sums);
    for (int64_t row = 0; row < points; row++) {
        const int64_t end = begin_of(csr, row + 1) - 1;
        double sum = 0, size = 0;
        ones[row] = !is_alone(csr, row);
        for (int64_t k = begin_of(csr, row); k < end && ones[row] != 0; k++) {
            const double value = gsw_value_at(csr->values, csr->value_type, k);
            sum += value;
            size += fabs(value);
            sums[column_at(csr, k)] += value;
            sizes[column_at(csr, k)] += fabs(value);
        }
        yes = yes && is_zero(sum, size);
    }
    for (int64_t i = 0; i < points; i++)
        yes = yes && is_zero(sums[i], sizes[i]);
    return yes;
}

/* A: all but the last row and column. */
static gsw_status copy_inner(gsw_context *context, const gsw_csr *csr, gsw_csr *inner) {
    const int64_t points = csr->rows - 1;
    const size_t nonzeros = (size_t)(begin_of(csr, points) - points);
    const size_t index = csr->index_type == GSW_I32 ? 4 : 8,
                 value = gsw_dtype_size(csr->value_type);
    void *row_ptr = NULL, *columns = NULL, *values = NULL;
    gsw_status status = gsw_alloc(context, (size_t)points + 1, index, "row pointers", &row_ptr);
    if (status == GSW_SUCCESS)
        status = gsw_alloc(context, nonzeros, index, "columns", &columns);
    if (status == GSW_SUCCESS)
        status = gsw_alloc(context, nonzeros, value, "values", &values);
    *inner = (gsw_csr){.rows = points,
                       .nonzeros = (int64_t)nonzeros,
                       .row_ptr = row_ptr,
                       .columns = columns,
                       .values = values,
                       .index_type = csr->index_type,
                       .value_type = csr->value_type,
                       .base = csr->base};
    if (status != GSW_SUCCESS) {
        gsw_csr_free(inner);
        return status;
    }
    for (int64_t row = 0; row < points; row++) {
        const int64_t from = begin_of(csr, row), count = begin_of(csr, row + 1) - from - 1;
        const int64_t to = from - row; /* a row less one entry for each row before it */
        gsw_index_put(row_ptr, csr->index_type, row, to + csr->base);
        memcpy((char *)columns + (size_t)to * index,
               (const char *)csr->columns + (size_t)from * index, (size_t)count * index);
        memcpy((char *)values + (size_t)to * value,
               (const char *)csr->values + (size_t)from * value, (size_t)count * value);
    }
    gsw_index_put(row_ptr, csr->index_type, points, (int64_t)nonzeros + csr->base);
    return GSW_SUCCESS;
}

/* Takes the numbers of the border; `host` has one per point, as `ones`. */
static gsw_status take_numbers(const gsw_csr *csr, const double *ones, double *host,
                               gsw_border *border) {
    gsw_context *context = border->context;
    const int64_t points = border->points, last = begin_of(csr, points);
    const size_t bytes = (size_t)points * sizeof *host;
    GSW_TRY(gsw_reserve_vector(context, 3 * points, &border->ones));
    border->row = border->ones + points;
    border->column = border->row + points;
    GSW_TRY(context->ops->memory->upload(context, border->ones, ones, bytes));
    for (int64_t i = 0; i < points; i++) {
        host[i] = gsw_value_at(csr->values, csr->value_type, last + i);
        border->row_sum += ones[i] * host[i];
    }
    GSW_TRY(context->ops->memory->upload(context, border->row, host, bytes));
    for (int64_t i = 0; i < points; i++) {
        host[i] = gsw_value_at(csr->values, csr->value_type, begin_of(csr, i + 1) - 1);
        border->column_sum += ones[i] * host[i];
    }
    GSW_TRY(context->ops->memory->upload(context, border->column, host, bytes));
    if (csr->nonzeros - last > points)
        border->corner = gsw_value_at(csr->values, csr->value_type, csr->nonzeros - 1);
    return GSW_SUCCESS;
}

static gsw_status take(gsw_context *context, const gsw_csr *csr, gsw_border *border,
                       gsw_csr *inner) {
    const int64_t points = csr->rows - 1;
    void *memory;
    *border = (gsw_border){.context = context, .points = points};
    GSW_TRY(gsw_alloc(context, (size_t)points, 3 * sizeof(double), "three vectors", &memory));
    double *ones = memory, *host = ones + points;
    const int zero = adds_up_to_zero(csr, ones, host);
    gsw_status status = take_numbers(csr, ones, host, border);
    free(memory);
    GSW_TRY(status);
    const double size = fabs(border->row_sum) * fabs(border->column_sum);
    if (!zero || !(size > 0) || isinf(size))
        return gsw_fail(context, GSW_ERROR_NOT_A_GRID,
                        "the last row is coupled to all others, and is no condition on the mean of "
                        "a matrix whose rows and columns add up to 0");
    return copy_inner(context, csr, inner);
}

gsw_status gsw_border_create(gsw_context *context, const gsw_csr *csr, gsw_csr *inner,
                             gsw_border **border) {
    void *made;
    GSW_REQUIRE(context, border, "border must not be NULL");
    *border = NULL;
    GSW_REQUIRE(context, inner, "inner must not be NULL");
    *inner = (gsw_csr){0};
    GSW_REQUIRE(context, context, "context must not be NULL");
    GSW_TRY(gsw_csr_check(context, csr, 1));
    if (!may_have_border(csr))
        return GSW_SUCCESS;
    GSW_TRY(check_rows(context, csr));
    if (!has_border(csr))
        return GSW_SUCCESS;
    GSW_TRY(gsw_alloc(context, 1, sizeof **border, "a border", &made));
    const gsw_status status = take(context, csr, made, inner);
    if (status == GSW_SUCCESS)
        *border = made;
    else
        gsw_border_destroy(made);
    return status;
}

void gsw_border_destroy(gsw_border *border) {
    if (border == NULL)
        return;
    gsw_unreserve(border->context, border->ones);
    free(border);
}

/* ---- Vectors ---- */

static gsw_status check_vectors(gsw_context *context, const gsw_border *border, const void *b,
                                const char *name, const void *x, int64_t values) {
    const gsw_vector of_b = {.name = "b", .data = b}, of_x = {.name = name, .data = x};
    GSW_REQUIRE(context, context, "context must not be NULL");
    GSW_REQUIRE(context, border, "border must not be NULL");
    GSW_REQUIRE(context, border->context == context, "border belongs to another context");
    GSW_TRY(gsw_check_vectors(context, border->points + 1, GSW_F64, 1, &of_b, 1));
    GSW_TRY(gsw_check_vectors(context, values, GSW_F64, 1, &of_x, 1));
    const uintptr_t first = (uintptr_t)b, other = (uintptr_t)x;
    GSW_REQUIRE(context,
                first + (uintptr_t)(border->points + 1) * sizeof(double) <= other ||
                    other + (uintptr_t)values * sizeof(double) <= first,
                "b and %s overlap", name);
    return GSW_SUCCESS;
}

static gsw_status find_multiplier(const gsw_border *border, const double *b, double *multiplier) {
    gsw_context *context = border->context;
    double sum;
    GSW_TRY(context->ops->vector->dot(context, border->points, border->ones, b, &sum));
    *multiplier = sum / border->column_sum;
    return GSW_SUCCESS;
}

gsw_status gsw_border_right_side(gsw_context *context, const gsw_border *border, const void *b,
                                 void *inner, double *share) {
    double multiplier, all, left;
    GSW_TRY(check_vectors(context, border, b, "inner", inner, border ? border->points : 0));
    const gsw_vector_ops *ops = context->ops->vector;
    const int64_t points = border->points;
    GSW_TRY(find_multiplier(border, b, &multiplier));
    GSW_TRY(ops->copy(context, points, b, inner));
    GSW_TRY(ops->axpby(context, points, -multiplier, border->column, 1, inner));
    if (share == NULL)
        return GSW_SUCCESS;
    GSW_TRY(ops->dot(context, points + 1, b, b, &all));
    GSW_TRY(ops->dot(context, points, inner, inner, &left));
    *share = all > 0 ? sqrt(left / all) : 1;
    return GSW_SUCCESS;
}

gsw_status gsw_border_solution(gsw_context *context, const gsw_border *border, const void *b,
                               void *x) {
    double multiplier, last, sum;
    GSW_TRY(check_vectors(context, border, b, "x", x, border ? border->points + 1 : 0));
    const gsw_vector_ops *ops = context->ops->vector;
    const int64_t points = border->points;
    GSW_TRY(find_multiplier(border, b, &multiplier));
    GSW_TRY(
        context->ops->memory->download(context, &last, (const double *)b + points, sizeof last));
    GSW_TRY(ops->dot(context, points, border->row, x, &sum));
    const double rest = last - border->corner * multiplier - sum;
    GSW_TRY(ops->axpby(context, points, rest / border->row_sum, border->ones, 1, x));
    return ops->fill(context, 1, multiplier, (double *)x + points);
}
