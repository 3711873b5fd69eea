/* textbook.c: see textbook.h.
 *
 * Sources: Saad, Iterative Methods for Sparse Linear Systems, 2nd ed.: algorithm 10.4 (ILU(0), IKJ
 * variant) and section 10.2 (SSOR); Golub and Van Loan, Matrix Computations, 4th ed., section 10.1
 * (incomplete Cholesky); Pommerell and Fichtner (1991) for DILU. */
#include <math.h>
#include <stdbool.h>

#include "reference/reference.h"
#include "textbook.h"

static int64_t points_of(const gsw_matrix *matrix) {
    return matrix->grid.nx * matrix->grid.ny * matrix->grid.nz;
}

static int64_t neighbour(const gsw_matrix *matrix, int64_t row, int32_t e) {
    return gsw_reference_neighbour(&matrix->grid, row, matrix->stencil.offsets[e], 1);
}

/* Index of the offset that leads from the end of offset `from` to the end of offset `to`. Both
 * start at the same row. -1 where the stencil has no such offset. */
static int32_t offset_to(const gsw_stencil *stencil, int32_t from, int32_t to) {
    const gsw_offset a = stencil->offsets[from], b = stencil->offsets[to];
    return gsw_stencil_find(stencil, (gsw_offset){b.dx - a.dx, b.dy - a.dy, b.dz - a.dz});
}

/* Index of the opposite offset, or -1. */
static int32_t opposite(const gsw_stencil *stencil, int32_t e) {
    return offset_to(stencil, e, stencil->center);
}

static bool bad_pivot(double pivot) {
    return pivot == 0 || !isfinite(pivot);
}

static double entry(const gsw_matrix *matrix, int64_t row, int32_t e) {
    double value;
    gsw_reference_entry(matrix, row, e, &value);
    return value;
}

int64_t textbook_ilu0(const gsw_matrix *matrix, double *const *lower, double *const *upper) {
    const gsw_stencil *stencil = &matrix->stencil;
    const int32_t center = stencil->center, count = stencil->count;
    int64_t bad = -1;

    for (int64_t i = 0; i < points_of(matrix); i++) {
        double a[GSW_STENCIL_MAX] = {0}; /* the working row i */
        for (int32_t e = 0; e < count; e++)
            a[e] = entry(matrix, i, e);
        for (int32_t k = 0; k < center; k++) {
            int64_t row_k = neighbour(matrix, i, k);
            if (row_k < 0)
                continue;
            a[k] /= upper[center][row_k];
            for (int32_t j = k + 1; j < count; j++) {
                int32_t kj = offset_to(stencil, k, j);
                if (kj >= 0 && neighbour(matrix, i, j) >= 0)
                    a[j] -= a[k] * upper[kj][row_k];
            }
        }
        for (int32_t e = 0; e < count; e++)
            (e < center ? lower : upper)[e][i] = a[e];
        lower[center][i] = 1;
        if (bad < 0 && bad_pivot(a[center]))
            bad = i;
    }
    return bad;
}

int64_t textbook_ic0(const gsw_matrix *matrix, double *const *lower, double *const *upper) {
    const gsw_stencil *stencil = &matrix->stencil;
    const int32_t center = stencil->center;
    int64_t bad = -1;

    for (int64_t i = 0; i < points_of(matrix); i++) {
        for (int32_t j = 0; j <= center; j++) {
            int64_t row_j = neighbour(matrix, i, j);
            double s = entry(matrix, i, j); /* a_ij - sum over k < j of l_ik l_jk */
            for (int32_t k = 0; k < j; k++) {
                int32_t jk = offset_to(stencil, j, k);
                if (jk >= 0 && row_j >= 0 && neighbour(matrix, i, k) >= 0)
                    s -= lower[k][i] * lower[jk][row_j];
            }
            if (j == center) {
                lower[center][i] = sqrt(s);
                if (bad < 0 && (bad_pivot(s) || s < 0))
                    bad = i;
            } else {
                lower[j][i] = row_j < 0 ? 0 : s / lower[center][row_j];
            }
        }
    }
    for (int32_t e = center; e < stencil->count; e++) {
        int32_t transposed = opposite(stencil, e);
        for (int64_t i = 0; i < points_of(matrix); i++) {
            int64_t j = neighbour(matrix, i, e);
            upper[e][i] = transposed < 0 || j < 0 ? 0 : lower[transposed][j];
        }
    }
    return bad;
}

int64_t textbook_dilu(const gsw_matrix *matrix, double *const *lower, double *const *upper) {
    const gsw_stencil *stencil = &matrix->stencil;
    const int32_t center = stencil->center;
    int64_t bad = -1;

    for (int64_t i = 0; i < points_of(matrix); i++) {
        double pivot =
            entry(matrix, i, center); /* e_i = a_ii - sum over j < i of a_ij a_ji / e_j */
        for (int32_t e = 0; e < center; e++) {
            int64_t j = neighbour(matrix, i, e);
            int32_t back = opposite(stencil, e);
            lower[e][i] = entry(matrix, i, e);
            if (j >= 0 && back >= 0)
                pivot -= lower[e][i] * entry(matrix, j, back) / lower[center][j];
        }
        lower[center][i] = pivot;
        upper[center][i] = 1;
        for (int32_t e = center + 1; e < stencil->count; e++)
            upper[e][i] = neighbour(matrix, i, e) < 0 ? 0 : entry(matrix, i, e) / pivot;
        if (bad < 0 && bad_pivot(pivot))
            bad = i;
    }
    return bad;
}

int64_t textbook_ssor(const gsw_matrix *matrix, double omega, double *const *lower,
                      double *const *upper) {
    const gsw_stencil *stencil = &matrix->stencil;
    const int32_t center = stencil->center;
    const double scale = 1 / (2 - omega);
    int64_t bad = -1;

    for (int64_t i = 0; i < points_of(matrix); i++) {
        double diagonal = entry(matrix, i, center);
        for (int32_t e = 0; e < center; e++)
            lower[e][i] = entry(matrix, i, e);
        lower[center][i] = diagonal / omega;
        upper[center][i] = scale;
        for (int32_t e = center + 1; e < stencil->count; e++)
            upper[e][i] =
                neighbour(matrix, i, e) < 0 ? 0 : scale * omega * entry(matrix, i, e) / diagonal;
        if (bad < 0 && bad_pivot(diagonal))
            bad = i;
    }
    return bad;
}
