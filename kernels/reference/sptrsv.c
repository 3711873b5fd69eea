/* sptrsv.c: the plain serial triangular sweep, the oracle of every other kernel.
 *
 * Row i of T x = b by substitution, in the canonical arithmetic of matrix.h: s = b_i; for the
 * entries j != i of the row in ascending column order s = fma(-T_ij, x_j, s); x_i = s / T_ii. A row
 * of a transpose is gathered from the column. Nothing here is meant to be fast. */
#include <stdbool.h>

#include "contract/error.h"
#include "contract/row.h"
#include "reference/reference.h"
#include "reference/rows.h"

/* One row of T or of its transpose. */
struct row {
    int32_t count;
    int64_t column[GSW_STENCIL_MAX]; /* ascending, without the diagonal */
    double value[GSW_STENCIL_MAX];
    double diagonal;
};

static void append(struct row *t, int64_t column, double value) {
    t->column[t->count] = column;
    t->value[t->count] = value;
    t->count++;
}

/* Row `row` of T. The offsets of the part ascend, and so do the columns. */
static void get_row(const gsw_matrix *matrix, gsw_part part, int64_t row, struct row *t) {
    const gsw_stencil *stencil = &matrix->stencil;
    int32_t first = part == GSW_LOWER ? 0 : stencil->center + 1;
    int32_t end = part == GSW_LOWER ? stencil->center : stencil->count;
    for (int32_t e = first; e < end; e++) {
        double value;
        if (gsw_reference_entry(matrix, row, e, &value))
            append(t, gsw_reference_neighbour(&matrix->grid, row, stencil->offsets[e], 1), value);
    }
}

/* Row `row` of T^T, which is column `row` of T. Row j of T couples to `row` at the offset that
 * leads from j to `row`. The last offset comes from the smallest j. */
static void get_column(const gsw_matrix *matrix, gsw_part part, int64_t row, struct row *t) {
    const gsw_stencil *stencil = &matrix->stencil;
    int32_t first = part == GSW_LOWER ? 0 : stencil->center + 1;
    int32_t end = part == GSW_LOWER ? stencil->center : stencil->count;
    for (int32_t e = end - 1; e >= first; e--) {
        int64_t j = gsw_reference_neighbour(&matrix->grid, row, stencil->offsets[e], -1);
        double value;
        if (j >= 0 && gsw_reference_entry(matrix, j, e, &value))
            append(t, j, value);
    }
}

static double solve_row(const struct row *t, gsw_dtype type, double b, const void *x) {
    double s = b;
    for (int32_t k = 0; k < t->count; k++)
        s = gsw_reference_fused(type, -t->value[k], gsw_value_at(x, type, t->column[k]), s);
    return s / gsw_reference_rounded(type, t->diagonal);
}

gsw_status gsw_reference_sptrsv(gsw_context *context, const gsw_matrix *matrix,
                                const gsw_sptrsv_options *options, const void *b, void *x) {
    int64_t points = matrix->grid.nx * matrix->grid.ny * matrix->grid.nz;
    bool downward = (options->part == GSW_UPPER) != (options->transpose != 0);
    char text[GSW_ROW_TEXT];

    for (int64_t row = 0; row < points; row++)
        if (!gsw_reference_row_fits(matrix, options->part, row))
            return gsw_fail(
                context, GSW_ERROR_NOT_A_GRID, "row %s does not fit the grid and the stencil",
                gsw_row_text(context, gsw_matrix_row_base(matrix), &matrix->grid, row, text));

    for (int64_t k = 0; k < points; k++) {
        int64_t i = downward ? points - 1 - k : k;
        struct row t;
        t.count = 0;
        if (options->transpose)
            get_column(matrix, options->part, i, &t);
        else
            get_row(matrix, options->part, i, &t);
        if (options->unit_diagonal)
            t.diagonal = 1;
        else
            gsw_reference_entry(matrix, i, matrix->stencil.center, &t.diagonal);
        const gsw_dtype type = options->vector_type;
        gsw_value_put(x, type, i, solve_row(&t, type, gsw_value_at(b, type, i), x));
    }
    return GSW_SUCCESS;
}
