/* fault_spoil.h: one thing made wrong at a random place of a small matrix or of its vectors. */
#ifndef GSW_TESTS_FAULT_SPOIL_H
#define GSW_TESTS_FAULT_SPOIL_H

#include <float.h>
#include <math.h>
#include <stdint.h>

#include "common/csr.h"
#include "fault_outcome.h"
#include "oracle.h"

/* Points of the matrix. */
enum { FAULT_SMALL = 5 * 4 * 3 };

typedef enum number_fault {
    NUMBER_NAN,
    NUMBER_INFINITY,
    NUMBER_ZERO_PIVOT,
    NUMBER_DENORMAL_PIVOT,
    NUMBER_RIGHT_SIDE,
    NUMBER_GUESS,
    NUMBER_COLUMN_RANGE, /* faults of a CSR from here on, */
    NUMBER_COLUMN_STENCIL,
    NUMBER_COLUMN_ORDER,
    NUMBER_POINTERS, /* and those that only a validation must find */
    NUMBER_BASE,
    NUMBER_NONZEROS,
    NUMBER_FAULTS
} number_fault;

static const char *const number_fault_names[NUMBER_FAULTS] = {"NaN in the matrix",
                                                              "infinity in the matrix",
                                                              "zero diagonal",
                                                              "denormal diagonal",
                                                              "NaN, infinity in b",
                                                              "NaN, infinity in x0",
                                                              "columns out of range",
                                                              "columns off the stencil",
                                                              "columns repeated, descending",
                                                              "row pointers",
                                                              "base",
                                                              "number of nonzeros, of rows"};

static uint64_t fault_seed = 1;

/* xorshift64* */
static inline int64_t pick(int64_t count) {
    fault_seed ^= fault_seed >> 12;
    fault_seed ^= fault_seed << 25;
    fault_seed ^= fault_seed >> 27;
    return (int64_t)((fault_seed * 2685821657736338717u >> 33) % (uint64_t)count);
}

static const oracle_layout number_layouts[] = {
    {.format = GSW_FORMAT_CSR, .part = GSW_FULL},
    {.format = GSW_FORMAT_CSR, .part = GSW_FULL, .index_type = GSW_I64, .base = 1},
    {.format = GSW_FORMAT_CSR, .part = GSW_FULL, .missing = 5},
    {.format = GSW_FORMAT_CSR, .part = GSW_FULL, .value_type = GSW_F32, .base = 1},
    {.format = GSW_FORMAT_STENCIL},
    {.format = GSW_FORMAT_STENCIL, .value_type = GSW_F32},
};
enum { NUMBER_LAYOUTS = sizeof number_layouts / sizeof number_layouts[0], NUMBER_CSR_LAYOUTS = 4 };

/* ---- What is made wrong ---------------------------------------------------------------------- */

static inline int64_t index_at(const oracle_matrix *m, const void *array, int64_t k) {
    return gsw_index_at(array, m->view.csr.index_type, k);
}

static inline void set_index(const oracle_matrix *m, void *array, int64_t k, int64_t value) {
    gsw_index_put(array, m->view.csr.index_type, k, value);
}

/* The entry of a random row: on its diagonal, or anywhere. */
static inline void set_value(oracle_matrix *m, int diagonal, double value) {
    const int64_t row = pick(FAULT_SMALL);
    if (m->view.format == GSW_FORMAT_STENCIL) {
        const int32_t e = diagonal ? m->view.stencil.center : (int32_t)pick(m->view.stencil.count);
        oracle_set(m->view.array.value_type, m->arrays[e], row, value);
        return;
    }
    const int64_t base = m->view.csr.base, begin = index_at(m, m->row_ptr, row) - base;
    const int64_t end = index_at(m, m->row_ptr, row + 1) - base;
    int64_t k = begin + pick(end - begin);
    for (int64_t i = begin; diagonal && i < end; i++)
        if (index_at(m, m->columns, i) - base == row)
            k = i;
    oracle_set(m->view.csr.value_type, m->values, k, value);
}

static inline void spoil_column(oracle_matrix *m, number_fault what) {
    const int64_t base = m->view.csr.base,
                  far[] = {-1 - pick(3), FAULT_SMALL + pick(3), INT32_MIN, INT32_MAX};
    int64_t row, begin, end;
    do { /* a row of two entries at least */
        row = pick(FAULT_SMALL);
        begin = index_at(m, m->row_ptr, row) - base;
        end = index_at(m, m->row_ptr, row + 1) - base;
    } while (end - begin < 2);
    const int64_t k = begin + pick(end - begin - 1);
    if (what == NUMBER_COLUMN_RANGE)
        set_index(m, m->columns, begin + pick(end - begin), far[pick(4)] + base);
    else if (what == NUMBER_COLUMN_ORDER)
        set_index(m, m->columns, k, index_at(m, m->columns, k + 1) + pick(2));
    else if (row < FAULT_SMALL / 2) /* at the other end of the grid, so off the stencil */
        set_index(m, m->columns, end - 1, FAULT_SMALL - 1 + base);
    else
        set_index(m, m->columns, begin, base);
}

static inline void spoil_pointers(oracle_matrix *m) {
    const int64_t k = pick(FAULT_SMALL + 1), was = index_at(m, m->row_ptr, k);
    const int64_t others[] = {-1 - pick(9), m->view.csr.nonzeros + 2 + pick(9), INT32_MAX,
                              INT32_MIN};
    int64_t value = others[pick(4)];
    if (k > 0 && pick(2)) /* before the row's beginning */
        value = index_at(m, m->row_ptr, k - 1) - 1;
    set_index(m, m->row_ptr, k, value == was ? was - 1 : value);
}

/* Spoils the matrix, or b or x0 (NULL: these are not used). */
static inline void spoil(number_fault what, oracle_matrix *m, double *b, double *x) {
    static const double bad[] = {NAN, INFINITY, -INFINITY};
    gsw_csr *csr = &m->view.csr;
    switch (what) {
    case NUMBER_NAN:
        set_value(m, pick(4) == 0, NAN);
        break;
    case NUMBER_INFINITY:
        set_value(m, pick(4) == 0, pick(2) ? INFINITY : -INFINITY);
        break;
    case NUMBER_ZERO_PIVOT:
        set_value(m, 1, pick(2) ? 0.0 : -0.0);
        break;
    case NUMBER_DENORMAL_PIVOT:
        set_value(m, 1, pick(2) ? DBL_TRUE_MIN : -1e-310);
        break;
    case NUMBER_RIGHT_SIDE:
        b[pick(FAULT_SMALL)] = bad[pick(3)];
        break;
    case NUMBER_GUESS:
        x[pick(FAULT_SMALL)] = bad[pick(3)];
        break;
    case NUMBER_COLUMN_RANGE:
    case NUMBER_COLUMN_STENCIL:
    case NUMBER_COLUMN_ORDER:
        spoil_column(m, what);
        break;
    case NUMBER_POINTERS:
        spoil_pointers(m);
        break;
    case NUMBER_BASE:
        csr->base = pick(2) ? 1 - csr->base : (int)pick(2) * 3 - 1;
        break;
    case NUMBER_NONZEROS:
        if (pick(4))
            csr->nonzeros += pick(2) ? 1 + pick(9) : -1 - pick(9);
        else
            csr->rows += pick(2) ? 1 : -1;
        break;
    case NUMBER_FAULTS:
        break;
    }
}

/* At least `least` trials of each kind, and a table of them. */
static inline tally run_number_faults(long least, void (*trial)(number_fault what, tally *t)) {
    const long count = wanted_faults() / NUMBER_FAULTS + least;
    tally sum = {0};
    print_head("refused");
    for (int what = 0; what < NUMBER_FAULTS; what++) {
        tally t = {0};
        for (long i = 0; i < count; i++)
            trial((number_fault)what, &t);
        print_tally(number_fault_names[what], &t);
        add_tally(&sum, &t);
    }
    print_tally("numbers, all kinds", &sum);
    return sum;
}

#endif
