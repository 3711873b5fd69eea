/* range_cases.h: factors in fp32 of values that fp64 holds and fp32 does not, on every backend. */
#ifndef GSW_TESTS_RANGE_CASES_H
#define GSW_TESTS_RANGE_CASES_H

#include <stdio.h>
#include <string.h>

#include <check.h>
#include <gridsweep/gridsweep.h>

#include "factor_cases.h"
#include "oracle.h"

/* Gives row `row` this diagonal or, where `coupling` is not 0, this value before the diagonal (-1)
 * or after it (1). Couplings before a diagonal are 0, so that it is the pivot. */
static inline void spoil_row(oracle_matrix *matrix, int64_t row, int coupling, double value) {
    const int32_t center = matrix->view.stencil.center;
    for (int32_t e = 0; e < center; e++)
        oracle_set(matrix->view.array.value_type, matrix->arrays[e], row, 0);
    oracle_set(matrix->view.array.value_type, matrix->arrays[center + coupling], row, value);
}

/* Creates a factor of the matrix in the memory of a context, or gives a factor its values. */
static inline gsw_status take_values(gsw_context *context, const oracle_matrix *matrix,
                                     gsw_format format, const gsw_factor_options *options,
                                     gsw_factor **factor) {
    const int lu = options->kind == GSW_FACTOR_LU;
    const oracle_layout layout = {.format = format, .part = GSW_FULL};
    oracle_matrix *here = oracle_convert(matrix, &layout);
    gsw_matrix there;
    ck_assert_int_eq(gsw_matrix_upload(context, &here->view, &there), GSW_SUCCESS);
    const gsw_status status =
        *factor ? gsw_factor_refactor(context, *factor, &there, lu ? &there : NULL)
        : lu    ? gsw_factor_create_lu(context, &there, &there, options, factor)
                : gsw_factor_create(context, &there, options, factor);
    gsw_matrix_release(context, &there);
    oracle_free(here);
    return status;
}

/* For one stencil that has a name: a factor in fp32 refuses such a row, also as new values, and a
 * factor in fp64 takes it. */
static inline void check_beyond_f32(gsw_context *context, const gsw_stencil *stencil,
                                    gsw_format format) {
    static const struct {
        int coupling;
        double value;
        int unit_diagonal;
    } rows[] = {{0, 1e40, 0}, {0, -1e300, 0}, {0, 1e-40, 0},
                {1, 1e40, 0}, {-1, 1e300, 0}, {1, -1e200, 1}};
    static const gsw_grid grid = {13, 7, 5};
    const int64_t row = oracle_points(&grid) / 2;
    char word[40];
    snprintf(word, sizeof word, "row %lld (", (long long)row);
    for (int k = GSW_ILU0; k <= GSW_FACTOR_LU; k++)
        for (int i = 0; i < (int)(sizeof rows / sizeof *rows); i++) {
            gsw_factor_options options = {.size = sizeof options,
                                          .kind = (gsw_factor_kind)k,
                                          .factor_type = GSW_F32,
                                          .unit_diagonal = rows[i].unit_diagonal};
            /* IC0 reads the lower part, whose mirror image belongs to another row. */
            const int32_t e = stencil->center + rows[i].coupling;
            if (e < 0 || e >= stencil->count ||
                (k == GSW_IC0 && (rows[i].coupling || !is_symmetric(stencil))) ||
                (k == GSW_JACOBI && rows[i].coupling) ||
                (k == GSW_FACTOR_LOWER && rows[i].coupling > 0) ||
                (k == GSW_FACTOR_UPPER && rows[i].coupling < 0) ||
                (rows[i].unit_diagonal && k < GSW_FACTOR_LOWER))
                continue;
            oracle_matrix *good = oracle_random(&grid, stencil, 3, ORACLE_POSITIVE);
            oracle_matrix *bad = oracle_random(&grid, stencil, 3, ORACLE_POSITIVE);
            spoil_row(bad, row, rows[i].coupling, rows[i].value);
            gsw_factor *factor = NULL;
            gsw_status status = take_values(context, bad, format, &options, &factor);
            ck_assert_msg(status == GSW_ERROR_UNSUPPORTED &&
                              strstr(gsw_context_message(context), word) != NULL,
                          "%s, row %d: %s: %s", gsw_factor_kind_name(options.kind), i,
                          gsw_status_name(status), gsw_context_message(context));
            ck_assert_ptr_null(factor);
            ck_assert_int_eq(take_values(context, good, format, &options, &factor), GSW_SUCCESS);
            ck_assert_int_eq(take_values(context, bad, format, &options, &factor),
                             GSW_ERROR_UNSUPPORTED);
            ck_assert_int_eq(gsw_factor_extract(context, factor, GSW_I32, NULL, NULL),
                             k == GSW_SSOR || k == GSW_JACOBI ? GSW_ERROR_UNSUPPORTED
                                                              : GSW_ERROR_INVALID_ARGUMENT);
            ck_assert_int_eq(take_values(context, good, format, &options, &factor), GSW_SUCCESS);
            gsw_factor_destroy(factor);
            factor = NULL;
            options.factor_type = GSW_F64;
            status = take_values(context, bad, format, &options, &factor);
            ck_assert_msg(status == GSW_SUCCESS || status == GSW_ERROR_ZERO_PIVOT, "%s, row %d: %s",
                          gsw_factor_kind_name(options.kind), i, gsw_context_message(context));
            gsw_factor_destroy(factor);
            oracle_free(bad);
            oracle_free(good);
        }
}

#endif
