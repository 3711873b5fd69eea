/* factor_truth.h: what packed factors must compute: the serial factorisations and the reference
 * sweep on their L and U, in fp64. They stop the program where these do not exist. */
#ifndef GSW_TESTS_FACTOR_TRUTH_H
#define GSW_TESTS_FACTOR_TRUTH_H

#include <stdlib.h>

#include "reference/reference.h"
#include "textbook.h"
#include "factor_cases.h"
#include "oracle.h"

static inline void truth_require(int condition) {
    if (!condition)
        abort();
}

typedef struct sweep {
    const gsw_matrix *matrix;
    gsw_part part;
    int transpose, unit_diagonal;
} sweep;

/* M as one or two sweeps. */
typedef struct factor_truth {
    oracle_matrix *lower, *upper;
    sweep sweeps[2];
    int count;
} factor_truth;

/* The couplings of `matrix` at one offset, or at all, as fp64 arrays; zeros where it has none. */
static inline void copy_entries(const gsw_matrix *matrix, int32_t first, int32_t last,
                                oracle_matrix *arrays) {
    for (int32_t e = first; e <= last; e++)
        for (int64_t i = 0; i < oracle_points(&matrix->grid); i++)
            gsw_reference_entry(matrix, i, e, (double *)arrays->arrays[e] + i);
}

static inline void set_sweep(factor_truth *m, int which, const oracle_matrix *matrix, gsw_part part,
                             int transpose, int unit_diagonal) {
    m->sweeps[which] = (sweep){&matrix->view, part, transpose, unit_diagonal};
    m->count = which + 1;
}

/* M of a kind, by the table in factor.h. `upper` is used by kind LU only. */
static inline factor_truth *expect(const gsw_factor_options *options, const gsw_matrix *matrix,
                                   const gsw_matrix *upper) {
    static const gsw_stencil diagonal_only = {.count = 1};
    const int32_t center = matrix->stencil.center, last = matrix->stencil.count - 1;
    factor_truth *m = calloc(1, sizeof *m);
    truth_require(m != NULL);
    m->lower = oracle_zeros(matrix, GSW_F64);
    m->upper = oracle_zeros(matrix, GSW_F64);
    double *const *l = (double *const *)m->lower->arrays, *const *u =
                                                              (double *const *)m->upper->arrays;
    set_sweep(m, 0, m->lower, GSW_LOWER, 0, options->kind == GSW_ILU0);
    switch (options->kind) {
    case GSW_ILU0:
        truth_require(textbook_ilu0(matrix, l, u) == -1);
        set_sweep(m, 1, m->upper, GSW_UPPER, 0, 0);
        break;
    case GSW_IC0:
        truth_require(textbook_ic0(matrix, l, u) == -1);
        set_sweep(m, 1, m->lower, GSW_LOWER, 1, 0);
        break;
    case GSW_DILU:
        truth_require(textbook_dilu(matrix, l, u) == -1);
        set_sweep(m, 1, m->upper, GSW_UPPER, 0, 1);
        break;
    case GSW_SSOR:
        truth_require(textbook_ssor(matrix, options->omega, l, u) == -1);
        set_sweep(m, 1, m->upper, GSW_UPPER, 0, 0);
        break;
    case GSW_JACOBI: /* the sweep of a matrix without couplings */
        oracle_free(m->lower);
        m->lower = oracle_random(&matrix->grid, &diagonal_only, 1, ORACLE_POSITIVE);
        for (int64_t i = 0; i < oracle_points(&matrix->grid); i++)
            gsw_reference_entry(matrix, i, center, (double *)m->lower->arrays[0] + i);
        set_sweep(m, 0, m->lower, GSW_LOWER, 0, 0);
        break;
    case GSW_FACTOR_LOWER:
        copy_entries(matrix, 0, center, m->lower);
        set_sweep(m, 0, m->lower, GSW_LOWER, 0, options->unit_diagonal);
        break;
    case GSW_FACTOR_UPPER:
        copy_entries(matrix, center, last, m->upper);
        set_sweep(m, 0, m->upper, GSW_UPPER, 0, options->unit_diagonal);
        break;
    case GSW_FACTOR_LU:
        copy_entries(matrix, 0, center, m->lower);
        copy_entries(upper, center, last, m->upper);
        set_sweep(m, 0, m->lower, GSW_LOWER, 0, 1);
        set_sweep(m, 1, m->upper, GSW_UPPER, 0, options->unit_diagonal);
        break;
    }
    if (options->transpose) {
        const sweep first = m->sweeps[0];
        m->sweeps[0] = m->sweeps[m->count - 1];
        m->sweeps[m->count - 1] = first;
        for (int k = 0; k < m->count; k++)
            m->sweeps[k].transpose = !m->sweeps[k].transpose;
    }
    return m;
}

static inline void expected_free(factor_truth *m) {
    oracle_free(m->lower);
    oracle_free(m->upper);
    free(m);
}

static inline void expected_sweep(const factor_truth *m, int which, const double *b, double *x) {
    const sweep *s = &m->sweeps[which];
    const gsw_sptrsv_options options = {.size = sizeof options,
                                        .part = s->part,
                                        .transpose = s->transpose,
                                        .unit_diagonal = s->unit_diagonal};
    truth_require(gsw_reference_sptrsv(NULL, s->matrix, &options, b, x) == GSW_SUCCESS);
}

static inline void expected_solve(const factor_truth *m, const double *b, double *x) {
    expected_sweep(m, 0, b, x);
    if (m->count == 2)
        expected_sweep(m, 1, x, x);
}

#endif
