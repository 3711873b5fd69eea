/* multigrid_interpolate.c: the weights of interpolation, with SIMD over blocks of a coarse line and
 * OpenMP over lines. One thread computes each result, in an order that the tables of the transfer
 * fix. So nothing depends on the number of threads. */
#include <math.h>
#include "multigrid_blocks.h"
#include "multigrid_kernels.h"

/* ---- Interpolation ---------------------------------------------------------------------------
 */

/* gsw_weight_divisor() of a block's points. */
static void divide_by(int count, const double sides[6][LANES], const double total[LANES],
                      const double coupled[LANES], const double diagonal[LANES],
                      double divisor[LANES]) {
    double least[LANES], inverse[LANES];
#pragma omp simd
    for (int l = 0; l < LANES; l++) {
        least[l] = 1;
        inverse[l] = 1 / fabs(diagonal[l]);
    }
    for (int i = 0; i < count; i++) {
#pragma omp simd
        for (int l = 0; l < LANES; l++) {
            const double share = fabs(sides[i][l]) * inverse[l];
            least[l] = share < least[l] ? share : least[l];
        }
    }
#pragma omp simd
    for (int l = 0; l < LANES; l++) {
        const double size = fabs(diagonal[l]), sum = total[l], other = -coupled[l];
        const double off = diagonal[l] < 0 ? sum - diagonal[l] : diagonal[l] - sum;
        divisor[l] = size > (1 + least[l]) * off ? sum + other : other;
    }
}

/* A block's rows, collapsed over the axes outside the class, and their divisors. */
static void collapse(const gsw_transfer *t, int class_, uint32_t slots,
                     const double a[GSW_SLOTS][LANES], double c[GSW_SLOTS][LANES],
                     double divisor[LANES], double diagonal[LANES]) {
    static const double none[LANES] = {0};
    double total[LANES], sides[6][LANES], coupled[LANES];
    int count = 0;
    clear_lanes(total);
    clear_lanes(coupled);
    for (int32_t slot = 0; slot < GSW_SLOTS; slot++)
        if (t->project[class_][slot] == slot)
            clear_lanes(c[slot]);
    for (int axis = 0; axis < 3; axis++)
        if (class_ >> axis & 1) {
            clear_lanes(sides[count]);
            clear_lanes(sides[count + 1]);
            for (int32_t slot = 0; slot < GSW_SLOTS; slot++) {
                const int side = t->project[1 << axis][slot] - GSW_SLOT_CENTER;
                if (!(slots >> slot & 1) || side == 0)
                    continue;
                add_multiple_lanes(1, a[slot], sides[count + (side > 0)]);
            }
            count += 2;
        }
    for (int32_t slot = 0; slot < GSW_SLOTS; slot++) {
        if (!(slots >> slot & 1))
            continue;
        add_multiple_lanes(1, a[slot], c[t->project[class_][slot]]);
        add_multiple_lanes(1, a[slot], total);
    }
    for (int32_t slot = 0; slot < GSW_SLOTS; slot++)
        if (slot != GSW_SLOT_CENTER && t->project[class_][slot] == slot)
            add_multiple_lanes(1, c[slot], coupled);
    copy_lanes(slots >> GSW_SLOT_CENTER & 1 ? a[GSW_SLOT_CENTER] : none, diagonal);
    divide_by(count, (const double(*)[LANES])sides, total, coupled, diagonal, divisor);
}

/* The mean of the coarse neighbours that exist. */
static void take_mean(const gsw_transfer *t, int class_, int64_t x, int64_t y, int64_t z, int lane,
                      double w[8][LANES]) {
    int exist = 0;
    for (int subset = 0; subset < GSW_CLASSES; subset++)
        if (!(subset & ~class_))
            exist += gsw_subset_exists(&t->coarse, subset, x, y, z);
    for (int subset = 0; subset < GSW_CLASSES; subset++)
        if (!(subset & ~class_))
            w[gsw_subset_index(class_, subset)][lane] =
                gsw_subset_exists(&t->coarse, subset, x, y, z) ? 1.0 / exist : 0;
}

/* Computes the weights of one class at the coarse points (x.., y, z). Returns the number of
 * degenerate points. */
static int64_t weigh_block(const gsw_transfer *t, const gsw_matrix *matrix, gsw_rows rows,
                           gsw_dtype type, void *const *weights, int class_, int64_t x, int64_t y,
                           int64_t z) {
    double a[GSW_SLOTS][LANES], c[GSW_SLOTS][LANES], divisor[LANES], diagonal[LANES];
    double w[8][LANES];
    const int64_t step[3] = {t->axes & 1 ? 2 : 1, t->axes & 2 ? 2 : 1, t->axes & 4 ? 2 : 1};
    const fine_block block = {step[0] * x + (class_ & 1), step[1] * y + (class_ >> 1 & 1),
                              step[2] * z + (class_ >> 2 & 1), step[0], step[1] * t->fine.nx};
    const int64_t count = t->coarse.nx - x < LANES ? t->coarse.nx - x : LANES;
    const int subsets = 1 << gsw_class_size(class_);
    int64_t degenerate = 0;
    for (int k = 0; k < subsets; k++)
        clear_lanes(w[k]);
    if (block.y < t->fine.ny && block.z < t->fine.nz) {
        const uint32_t slots = fetch_rows(t, matrix, rows, &block, a);
        collapse(t, class_, slots, (const double(*)[LANES])a, c, divisor, diagonal);
        for (int32_t i = t->first_term[class_]; i < t->first_term[class_ + 1]; i++) {
            const gsw_weight_term *term = &t->weight_term[i];
            double own[LANES];
            const double *p = fetch_weight(t, type, weights, term->weight, x + term->shift[0],
                                           y + term->shift[1], z + term->shift[2], own);
            if (!p)
                continue;
            add_product_lanes(c[term->slot], p, w[term->to]);
        }
        /* Points beyond the line have no couplings: their weights are 0. */
        double factor[LANES];
        int serve = 1;
#pragma omp simd reduction(& : serve)
        for (int l = 0; l < LANES; l++) {
            const double sign = diagonal[l] < 0 ? -1 : 1;
            const int good = sign * divisor[l] > 1e-14 * fabs(diagonal[l]);
            factor[l] = good ? -1 / divisor[l] : 0;
            serve &= good;
        }
        for (int k = 0; k < subsets; k++)
            for (int i = 0; i < LANES; i += 4)
                store(w[k] + i, load(w[k] + i) * load(factor + i));
        for (int l = 0; !serve && l < count; l++)
            if (block.x + block.step * l < t->fine.nx && factor[l] == 0) {
                take_mean(t, class_, x + l, y, z, l, w);
                degenerate++;
            }
    }
    for (int k = 0; k < subsets; k++)
        store_lanes(weights[t->first[class_] + k], type, gsw_grid_row(&t->coarse, x, y, z), count,
                    w[k]);
    return degenerate;
}

int64_t GSW_ISA_FN(gsw_multigrid_interpolate)(int threads, const gsw_transfer *t,
                                              const gsw_matrix *matrix, gsw_rows rows,
                                              gsw_dtype type, void *const *weights) {
    const gsw_grid *g = &t->coarse;
    const int64_t lines = g->ny * g->nz, points = g->nx * lines;
    int64_t degenerate = 0;
    /* Edges, then faces, then centres: each class depends on smaller ones. */
    for (int size = 1; size <= gsw_class_size(t->axes); size++) {
#pragma omp parallel for schedule(static) num_threads(threads) reduction(+ : degenerate) if (points > SERIAL_LIMIT)
        for (int64_t line = 0; line < lines; line++)
            for (int class_ = 1; class_ < GSW_CLASSES; class_++)
                for (int64_t x = 0;
                     gsw_class_size(class_) == size && !(class_ & ~t->axes) && x < g->nx;
                     x += LANES)
                    degenerate += weigh_block(t, matrix, rows, type, weights, class_, x,
                                              line % g->ny, line / g->ny);
    }
    return degenerate;
}
