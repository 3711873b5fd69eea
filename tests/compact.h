/* compact.h: the smaller system of the active points of a matrix with a mask, in natural order, as
 * a CSR in fp64, with textbook loops on it. What the library does with a mask is compared with it.
 *
 * Its pattern is the whole stencil between active points inside the grid, as in textbook.h, where
 * the sources of the factorisations are. Triangles have the pattern of the matrix, too. */
#ifndef GSW_TESTS_COMPACT_H
#define GSW_TESTS_COMPACT_H

#include <math.h>
#include <stdint.h>

#include "reference/reference.h"
#include "keep.h"

typedef struct compact {
    gsw_grid grid;
    int64_t points, n;       /* of the grid, and active ones */
    const uint8_t *active;   /* of the points */
    int64_t *row;            /* of each active point in the grid */
    int64_t *begin, *column; /* begin has n + 1 entries */
    int64_t *center;         /* where the diagonals are */
    double *value;
} compact;

static inline compact compact_of(const gsw_matrix *matrix, const uint8_t *active) {
    const gsw_stencil *s = &matrix->stencil;
    compact c = {.grid = matrix->grid, .points = oracle_points(&matrix->grid), .active = active};
    int64_t *number = keep_bytes((size_t)c.points * sizeof *number), next = 0;
    for (int64_t row = 0; row < c.points; row++) {
        number[row] = c.n;
        c.n += active[row] != 0;
    }
    c.row = keep_bytes((size_t)c.n * sizeof *c.row);
    c.begin = keep_bytes((size_t)(c.n + 1) * sizeof *c.begin);
    c.center = keep_bytes((size_t)c.n * sizeof *c.center);
    c.column = keep_bytes((size_t)(c.n * s->count) * sizeof *c.column);
    c.value = keep_zeros(c.n * s->count);
    for (int64_t row = 0; row < c.points; row++) {
        if (!active[row])
            continue;
        c.row[number[row]] = row;
        for (int32_t e = 0; e < s->count; e++) {
            const int64_t other = gsw_reference_neighbour(&c.grid, row, s->offsets[e], 1);
            if (other < 0 || !active[other])
                continue;
            if (e == s->center)
                c.center[number[row]] = next;
            c.column[next] = number[other];
            gsw_reference_entry(matrix, row, e, &c.value[next++]);
        }
        c.begin[number[row] + 1] = next;
    }
    return c;
}

static inline int64_t compact_entries(const compact *c) {
    return c->begin[c->n];
}

/* The entry of a row and a column; -1: there is none. */
static inline int64_t compact_find(const compact *c, int64_t row, int64_t column) {
    for (int64_t k = c->begin[row]; k < c->begin[row + 1]; k++)
        if (c->column[k] == column)
            return k;
    return -1;
}

/* ---- vectors ---- */

/* A vector of all points, with `other` at inactive ones. */
static inline void *compact_spread(const compact *c, gsw_dtype type, const double *v,
                                   double other) {
    void *all = keep_bytes((size_t)c->points * sizeof(double));
    oracle_fill(type, all, c->points, other);
    for (int64_t i = 0; i < c->n; i++)
        oracle_set(type, all, c->row[i], v[i]);
    return all;
}

static inline double *compact_gather(const compact *c, gsw_dtype type, const void *all) {
    double *v = keep_zeros(c->n);
    for (int64_t i = 0; i < c->n; i++)
        v[i] = oracle_get(type, all, c->row[i]);
    return v;
}

/* Random values that a type holds exactly. */
static inline double *compact_random(const compact *c, gsw_dtype type, uint64_t seed) {
    const size_t mark = keep_mark();
    const void *rounded = keep_vector(type, seed, c->points);
    double *copy = malloc((size_t)(c->n + 1) * sizeof *copy);
    ck_assert_ptr_nonnull(copy);
    for (int64_t i = 0; i < c->n; i++)
        copy[i] = oracle_get(type, rounded, c->row[i]);
    keep_release(mark);
    return keep(KEPT_BYTES, NULL, copy);
}

static inline int64_t compact_nonzeros(const compact *c, gsw_dtype type, const void *all) {
    int64_t wrong = 0;
    for (int64_t i = 0; i < c->points; i++)
        wrong += !c->active[i] && oracle_get(type, all, i) != 0;
    return wrong;
}

/* A vector of all points is the expected one, and 0 at inactive points. */
static inline void compact_check(const compact *c, gsw_dtype type, const void *all,
                                 const double *expected, double tolerance, const char *what) {
    const size_t mark = keep_mark();
    const gsw_grid *g = &c->grid;
    const double error = oracle_error(GSW_F64, c->n, compact_gather(c, type, all), expected);
    ck_assert_msg(error <= tolerance, "%s on %lldx%lldx%lld, %lld points active: error %g", what,
                  (long long)g->nx, (long long)g->ny, (long long)g->nz, (long long)c->n, error);
    ck_assert_msg(compact_nonzeros(c, type, all) == 0,
                  "%s on %lldx%lldx%lld: %lld inactive points are not 0", what, (long long)g->nx,
                  (long long)g->ny, (long long)g->nz, (long long)compact_nonzeros(c, type, all));
    keep_release(mark);
}

/* ---- products and triangular solves ---- */

/* r = b - A x, or A x where b is NULL. */
static inline void compact_residual(const compact *c, const double *b, const double *x, double *r) {
    for (int64_t i = 0; i < c->n; i++) {
        long double sum = 0;
        for (int64_t k = c->begin[i]; k < c->begin[i + 1]; k++)
            sum += (long double)c->value[k] * x[c->column[k]];
        r[i] = (double)(b != NULL ? b[i] - sum : sum);
    }
}

/* x = T^-1 x for a triangle of `values`, or its transpose. */
static inline void compact_sweep(const compact *c, const double *values, gsw_part part,
                                 int transpose, int unit, double *x) {
    const int lower = part == GSW_LOWER;
    for (int64_t step = 0; step < c->n; step++) {
        const int64_t i = lower != transpose ? step : c->n - 1 - step, at = c->center[i];
        const int64_t first = lower ? c->begin[i] : at + 1, end = lower ? at : c->begin[i + 1];
        if (transpose) {
            x[i] /= unit ? 1 : values[at];
            for (int64_t k = first; k < end; k++)
                x[c->column[k]] -= values[k] * x[i];
            continue;
        }
        for (int64_t k = first; k < end; k++)
            x[i] -= values[k] * x[c->column[k]];
        x[i] /= unit ? 1 : values[at];
    }
}

/* ---- factorisations ---- */

/* M = lower * upper. */
typedef struct compact_factor {
    double *lower, *upper; /* NULL: the identity */
    int transpose;
} compact_factor;

static inline void compact_ilu0(const compact *c, double *lower, double *upper) {
    for (int64_t i = 0; i < c->n; i++) {
        for (int64_t k = c->begin[i]; k < c->begin[i + 1]; k++)
            upper[k] = c->value[k];
        for (int64_t k = c->begin[i]; k < c->center[i]; k++) {
            const int64_t pivot = c->column[k];
            upper[k] /= upper[c->center[pivot]];
            for (int64_t j = k + 1; j < c->begin[i + 1]; j++) {
                const int64_t kj = compact_find(c, pivot, c->column[j]);
                if (kj >= 0)
                    upper[j] -= upper[k] * upper[kj];
            }
        }
        for (int64_t k = c->begin[i]; k < c->center[i]; k++)
            lower[k] = upper[k];
        lower[c->center[i]] = 1;
    }
}

static inline void compact_ic0(const compact *c, double *lower, double *upper) {
    for (int64_t i = 0; i < c->n; i++)
        for (int64_t j = c->begin[i]; j <= c->center[i]; j++) {
            double sum = c->value[j];
            for (int64_t k = c->begin[i]; k < j; k++) {
                const int64_t jk = compact_find(c, c->column[j], c->column[k]);
                sum -= jk >= 0 ? lower[k] * lower[jk] : 0;
            }
            lower[j] = j == c->center[i] ? sqrt(sum) : sum / lower[c->center[c->column[j]]];
            upper[compact_find(c, c->column[j], i)] = lower[j];
        }
}

static inline void compact_dilu(const compact *c, double *lower, double *upper) {
    for (int64_t i = 0; i < c->n; i++) {
        const int64_t at = c->center[i];
        double pivot = c->value[at];
        for (int64_t k = c->begin[i]; k < at; k++) {
            const int64_t back = compact_find(c, c->column[k], i);
            lower[k] = c->value[k];
            pivot -= back >= 0 ? c->value[k] * c->value[back] / lower[c->center[c->column[k]]] : 0;
        }
        lower[at] = pivot;
        upper[at] = 1;
        for (int64_t k = at + 1; k < c->begin[i + 1]; k++)
            upper[k] = c->value[k] / pivot;
    }
}

static inline void compact_ssor(const compact *c, double omega, double *lower, double *upper) {
    for (int64_t i = 0; i < c->n; i++) {
        const int64_t at = c->center[i];
        for (int64_t k = c->begin[i]; k < c->begin[i + 1]; k++) {
            lower[k] = c->value[k];
            upper[k] = omega * c->value[k] / c->value[at] / (2 - omega);
        }
        lower[at] = c->value[at] / omega;
        upper[at] = 1 / (2 - omega);
    }
}

/* The factor that the options describe; of kind LU it is that of the matrix's own triangles. */
static inline compact_factor compact_factorise(const compact *c,
                                               const gsw_factor_options *options) {
    compact_factor f = {.lower = keep_zeros(compact_entries(c)),
                        .upper = keep_zeros(compact_entries(c)),
                        .transpose = options->transpose};
    const double omega = options->omega == 0 ? 1 : options->omega;
    switch (options->kind) {
    case GSW_ILU0:
        compact_ilu0(c, f.lower, f.upper);
        return f;
    case GSW_IC0:
        compact_ic0(c, f.lower, f.upper);
        return f;
    case GSW_DILU:
        compact_dilu(c, f.lower, f.upper);
        return f;
    case GSW_SSOR:
        compact_ssor(c, omega, f.lower, f.upper);
        return f;
    default:
        break;
    }
    for (int64_t i = 0; i < c->n; i++) {
        const int64_t at = c->center[i];
        for (int64_t k = c->begin[i]; k < c->begin[i + 1] && options->kind != GSW_JACOBI; k++)
            f.lower[k] = f.upper[k] = c->value[k];
        f.lower[at] = f.upper[at] = options->unit_diagonal ? 1 : c->value[at];
        if (options->kind == GSW_FACTOR_LU)
            f.lower[at] = 1;
    }
    if (options->kind == GSW_FACTOR_LOWER || options->kind == GSW_JACOBI)
        f.upper = NULL;
    if (options->kind == GSW_FACTOR_UPPER)
        f.lower = NULL;
    return f;
}

/* x = M^-1 x, or M^-T x. */
static inline void compact_apply(const compact *c, const compact_factor *f, double *x) {
    const double *first = f->transpose ? f->upper : f->lower;
    const double *second = f->transpose ? f->lower : f->upper;
    if (first != NULL)
        compact_sweep(c, first, f->transpose ? GSW_UPPER : GSW_LOWER, f->transpose, 0, x);
    if (second != NULL)
        compact_sweep(c, second, f->transpose ? GSW_LOWER : GSW_UPPER, f->transpose, 0, x);
}

#endif
