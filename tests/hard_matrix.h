/* hard_matrix.h: matrices that are singular, semidefinite, indefinite or badly scaled, on the host.
 */
#ifndef GSW_TESTS_HARD_MATRIX_H
#define GSW_TESTS_HARD_MATRIX_H

#include <math.h>

#include "reference/reference.h"
#include "context_fixture.h"

/* A seven-point matrix of cells whose conductivities spread over `decades`, almost lognormally.
 * Couplings are harmonic means, those along z times `z`, those to the lower x times 1 + wind. Rows
 * add up to 0 (pure Neumann conditions), except for `leak` in row 0 and `shift` times each cell's
 * own conductivity in every row. Then rows and columns are multiplied by 1 + scale x / nx, so the
 * null vector is 1 over that. */
typedef struct hard_matrix {
    gsw_grid grid;
    double decades, z, wind, leak, shift, scale;
    /* A method may break down before it stagnates. Where only rounding errors are left, the order
     * of sums decides which of its scalars vanishes, and when. */
    int brittle;
} hard_matrix;

typedef struct hard_arrays {
    gsw_matrix view;
    int64_t n;
    double *values[7], *null; /* in the order of D3N7 */
} hard_arrays;

static inline double hard_uniform(uint64_t *seed) {
    *seed = *seed * 6364136223846793005U + 1442695040888963407U;
    return (double)(*seed >> 11) * 0x1p-53;
}

static inline double hard_scale_of(const hard_matrix *m, int64_t i) {
    return 1 + m->scale * (double)(i % m->grid.nx) / (double)m->grid.nx;
}

static inline hard_arrays hard_arrays_of(const hard_matrix *m) {
    hard_arrays a = {.n = oracle_points(&m->grid)};
    const gsw_stencil *stencil = oracle_stencil_named("D3N7");
    const void **pointers = keep_bytes(7 * sizeof *pointers);
    double *k = keep_zeros(a.n);
    uint64_t seed = 7;
    for (int64_t i = 0; i < a.n; i++)
        k[i] = pow(10, m->decades * (hard_uniform(&seed) - 0.5));
    for (int e = 0; e < 7; e++)
        pointers[e] = a.values[e] = keep_zeros(a.n);
    a.null = keep_zeros(a.n);
    for (int64_t i = 0; i < a.n; i++) {
        double sum = (i == 0 ? m->leak : 0) + m->shift * k[i];
        for (int e = 0; e < 7; e++) {
            const gsw_offset o = stencil->offsets[e];
            const int64_t j = gsw_reference_neighbour(&m->grid, i, o, 1);
            a.values[e][i] = NAN;
            if (j < 0 || j == i)
                continue;
            const double coupling = 2 * k[i] * k[j] / (k[i] + k[j]) * (o.dz != 0 ? m->z : 1) *
                                    (o.dx < 0 ? 1 + m->wind : 1);
            a.values[e][i] = -coupling * hard_scale_of(m, i) * hard_scale_of(m, j);
            sum += coupling;
        }
        a.values[3][i] = sum * hard_scale_of(m, i) * hard_scale_of(m, i);
        a.null[i] = 1 / hard_scale_of(m, i);
    }
    const gsw_stencil_array array = {.values = pointers, .value_type = GSW_F64};
    must(cpu, gsw_matrix_from_stencil(cpu, &m->grid, stencil, &array, &a.view));
    return a;
}

#endif
