/* row_lengths.c: counts rows by their length, and compares the counts with a grid's. */
#include "row_lengths.h"
#include <string.h>
#include "common/csr.h"
#include "geometry/stencil_facts.h"

/* Along an axis, points less than this far from an end count as different. Couplings of the named
 * stencils are not longer. */
#define END_POINTS INT64_C(2)

/* A pseudo-random number for an entry and for its mirror image (splitmix64). */
static uint64_t hash_pair(int64_t a, int64_t b) {
    uint64_t h = (uint64_t)(a < b ? a : b) * UINT64_C(0x9e3779b97f4a7c15) +
                 (uint64_t)(a < b ? b : a) * UINT64_C(0xd1b54a32d192ed03);
    h = (h ^ h >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    h = (h ^ h >> 27) * UINT64_C(0x94d049bb133111eb);
    return h ^ h >> 31;
}

void gsw_row_lengths_count(const gsw_csr *csr, gsw_row_lengths *lengths) {
    uint64_t balance = 0; /* of the lower part and the upper part: 0 where one mirrors the other */
    *lengths = (gsw_row_lengths){.symmetric = 1};
    int64_t k = 0;
    for (int64_t row = 0; row < csr->rows; row++) {
        int64_t end = gsw_index_at(csr->row_ptr, csr->index_type, row + 1) - csr->base;
        int64_t length = 0;
        for (; k < end; k++) {
            int64_t column = gsw_index_at(csr->columns, csr->index_type, k) - csr->base;
            if (column == row || gsw_csr_is_zero(csr, k))
                continue;
            uint64_t hash = hash_pair(row, column);
            balance += column < row ? hash : 0 - hash;
            length++;
        }
        lengths->entries += length;
        if (length < GSW_STENCIL_MAX)
            lengths->rows[length]++;
        else
            lengths->symmetric = 0;
    }
    lengths->symmetric &= balance == 0;
}

/* Points along an axis that have the same neighbours: the first of them, and their number. */
typedef struct span {
    int64_t first, points;
} span;

/* Cuts an axis into spans and returns their number. */
static int cut_axis(int64_t extent, span spans[2 * END_POINTS + 1]) {
    int count = 0;
    for (int64_t p = 0; p < extent;) {
        int middle = p == END_POINTS && extent > 2 * END_POINTS;
        spans[count] = (span){p, middle ? extent - 2 * END_POINTS : 1};
        p += spans[count++].points;
    }
    return count;
}

static int is_inside(int64_t p, int64_t extent) {
    return p >= 0 && p < extent;
}

/* Entries off the diagonal in the row of point (x, y, z). */
static int row_length(const gsw_grid *grid, const gsw_stencil *stencil, int64_t x, int64_t y,
                      int64_t z) {
    int length = 0;
    for (int32_t e = 0; e < stencil->count; e++) {
        gsw_offset o = stencil->offsets[e];
        length += e != stencil->center && is_inside(x + o.dx, grid->nx) &&
                  is_inside(y + o.dy, grid->ny) && is_inside(z + o.dz, grid->nz);
    }
    return length;
}

int gsw_row_lengths_fit(const gsw_row_lengths *lengths, const gsw_grid *grid,
                        const gsw_stencil *stencil) {
    span x[2 * END_POINTS + 1], y[2 * END_POINTS + 1], z[2 * END_POINTS + 1];
    const int64_t points = grid->nx * grid->ny * grid->nz;
    int64_t rows[GSW_STENCIL_MAX] = {0};
    if (!lengths->symmetric || lengths->entries != gsw_stencil_couplings(stencil, grid) - points)
        return 0;
    int nx = cut_axis(grid->nx, x), ny = cut_axis(grid->ny, y), nz = cut_axis(grid->nz, z);
    for (int k = 0; k < nz; k++)
        for (int j = 0; j < ny; j++)
            for (int i = 0; i < nx; i++)
                rows[row_length(grid, stencil, x[i].first, y[j].first, z[k].first)] +=
                    x[i].points * y[j].points * z[k].points;
    return memcmp(rows, lengths->rows, sizeof rows) == 0;
}

/* The farthest column of a row, and whether the row is coupled to the next one. */
static int64_t farthest(const gsw_csr *csr, int64_t row, int *next) {
    const int64_t begin = gsw_index_at(csr->row_ptr, csr->index_type, row) - csr->base;
    int64_t k = gsw_index_at(csr->row_ptr, csr->index_type, row + 1) - csr->base;
    int64_t last = row;
    *next = 0;
    while (k-- > begin) {
        const int64_t column = gsw_index_at(csr->columns, csr->index_type, k) - csr->base;
        if (column <= row)
            break;
        if (gsw_csr_is_zero(csr, k))
            continue;
        last = column > last ? column : last;
        *next |= column == row + 1;
    }
    return last;
}

int gsw_rows_lack_points(const gsw_csr *csr) {
    int64_t pairs = 0, parallel = 0, last = 0;
    int coupled = 0;
    for (int64_t row = 0; row < csr->rows; row++) {
        const int64_t previous = last, far = coupled && previous > row;
        last = farthest(csr, row, &coupled);
        pairs += far && last > row + 1;
        parallel += far && last == previous + 1;
    }
    return pairs > csr->rows / 8 && 4 * parallel > 3 * pairs;
}
