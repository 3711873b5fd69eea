/* hpcg_reference.c: see hpcg_reference.h. Written to be checked by eye, not to be fast. */
#include "hpcg_reference.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static int64_t points_of(const gsw_grid *grid) {
    return grid->nx * grid->ny * grid->nz;
}

gsw_grid hpcg_coarser(const gsw_grid *grid) {
    return (gsw_grid){(grid->nx + 1) / 2, (grid->ny + 1) / 2, (grid->nz + 1) / 2};
}

int64_t hpcg_entries(const gsw_grid *grid) {
    return (3 * grid->nx - 2) * (3 * grid->ny - 2) * (3 * grid->nz - 2);
}

/* ---- The matrix ----------------------------------------------------------------------------- */

/* sum - (row `row` of the matrix) v, in ascending order of the columns. */
static double subtract_row(const gsw_grid *g, int64_t row, const double *v, double sum) {
    const int64_t x = row % g->nx, y = row / g->nx % g->ny, z = row / g->nx / g->ny;
    for (int64_t k = z - 1; k <= z + 1; k++)
        for (int64_t j = y - 1; j <= y + 1; j++)
            for (int64_t i = x - 1; i <= x + 1; i++) {
                const int64_t column = i + g->nx * (j + g->ny * k);
                if (i >= 0 && i < g->nx && j >= 0 && j < g->ny && k >= 0 && k < g->nz)
                    sum -= (column == row ? 26.0 : -1.0) * v[column];
            }
    return sum;
}

static void multiply(const gsw_grid *g, const double *v, double *product) {
    for (int64_t row = 0; row < points_of(g); row++)
        product[row] = -subtract_row(g, row, v, 0);
}

void hpcg_rhs(const gsw_grid *g, double *b) {
    for (int64_t row = 0; row < points_of(g); row++) {
        const int64_t at[3] = {row % g->nx, row / g->nx % g->ny, row / g->nx / g->ny};
        const int64_t extent[3] = {g->nx, g->ny, g->nz};
        int64_t couplings = 1;
        for (int axis = 0; axis < 3; axis++)
            couplings *= 1 + (at[axis] > 0) + (at[axis] < extent[axis] - 1);
        b[row] = 26.0 - (double)(couplings - 1);
    }
}

/* ---- Multigrid ------------------------------------------------------------------------------ */

typedef struct level {
    gsw_grid grid;
    double *b, *x, *product; /* b and x of the first level are the caller's */
} level;

static void relax(const gsw_grid *g, int64_t row, const double *b, double *x) {
    const double sum = subtract_row(g, row, x, b[row]) + x[row] * 26.0;
    x[row] = sum / 26.0;
}

static void symmetric_gauss_seidel(const gsw_grid *g, const double *b, double *x) {
    for (int64_t row = 0; row < points_of(g); row++)
        relax(g, row, b, x);
    for (int64_t row = points_of(g) - 1; row >= 0; row--)
        relax(g, row, b, x);
}

/* The fine point of coarse point `row`. */
static int64_t fine_row(const gsw_grid *fine, const gsw_grid *coarse, int64_t row) {
    const int64_t x = row % coarse->nx, y = row / coarse->nx % coarse->ny;
    const int64_t z = row / coarse->nx / coarse->ny;
    return 2 * x + fine->nx * (2 * y + fine->ny * 2 * z);
}

static void cycle(level *l, int levels) {
    const gsw_grid *g = &l->grid;
    memset(l->x, 0, (size_t)points_of(g) * sizeof *l->x);
    symmetric_gauss_seidel(g, l->b, l->x);
    if (levels == 1)
        return;
    level *next = l + 1;
    multiply(g, l->x, l->product);
    for (int64_t row = 0; row < points_of(&next->grid); row++) {
        const int64_t from = fine_row(g, &next->grid, row);
        next->b[row] = l->b[from] - l->product[from];
    }
    cycle(next, levels - 1);
    for (int64_t row = 0; row < points_of(&next->grid); row++)
        l->x[fine_row(g, &next->grid, row)] += next->x[row];
    symmetric_gauss_seidel(g, l->b, l->x);
}

/* ---- The method ----------------------------------------------------------------------------- */

/* With Neumaier's correction. Without it a sum of two million terms lost four digits. */
static double dot(int64_t n, const double *x, const double *y) {
    double sum = 0, lost = 0;
    for (int64_t i = 0; i < n; i++) {
        const double term = x[i] * y[i], next = sum + term;
        lost += fabs(sum) >= fabs(term) ? (sum - next) + term : (term - next) + sum;
        sum = next;
    }
    return sum + lost;
}

/* w = x + b y */
static void add(int64_t n, const double *x, double b, const double *y, double *w) {
    for (int64_t i = 0; i < n; i++)
        w[i] = x[i] + b * y[i];
}

typedef struct vectors {
    double *x, *r, *z, *p, *product;
} vectors;

static void solve(level *levels, const vectors *v, const double *b, int64_t iterations,
                  double *norms) {
    const gsw_grid *g = &levels[0].grid;
    const int64_t n = points_of(g);
    double rz = 0;
    levels[0].b = v->r;
    levels[0].x = v->z;
    memset(v->x, 0, (size_t)n * sizeof *v->x);
    multiply(g, v->x, v->product);
    add(n, b, -1, v->product, v->r);
    norms[0] = sqrt(dot(n, v->r, v->r));
    for (int64_t i = 1; i <= iterations; i++) {
        const double before = rz;
        cycle(levels, HPCG_LEVELS);
        rz = dot(n, v->r, v->z);
        if (i == 1)
            memcpy(v->p, v->z, (size_t)n * sizeof *v->p);
        else
            add(n, v->z, rz / before, v->p, v->p);
        multiply(g, v->p, v->product);
        const double alpha = rz / dot(n, v->p, v->product);
        add(n, v->x, alpha, v->p, v->x);
        add(n, v->r, -alpha, v->product, v->r);
        norms[i] = sqrt(dot(n, v->r, v->r));
    }
}

/* One allocation for b and the vectors of the method and of all levels. */
bool hpcg_reference_norms(const gsw_grid *grid, int64_t iterations, double *norms) {
    const size_t n = (size_t)points_of(grid);
    level levels[HPCG_LEVELS] = {{.grid = *grid}};
    size_t total = 7 * n;
    for (int i = 1; i < HPCG_LEVELS; i++) {
        levels[i].grid = hpcg_coarser(&levels[i - 1].grid);
        total += 3 * (size_t)points_of(&levels[i].grid);
    }
    double *memory = calloc(total, sizeof *memory), *next = memory + 7 * n;
    if (memory == NULL)
        return false;
    const vectors v = {memory + n, memory + 2 * n, memory + 3 * n, memory + 4 * n, memory + 5 * n};
    levels[0].product = memory + 6 * n;
    for (int i = 1; i < HPCG_LEVELS; i++) {
        const size_t m = (size_t)points_of(&levels[i].grid);
        levels[i].b = next;
        levels[i].x = next + m;
        levels[i].product = next + 2 * m;
        next += 3 * m;
    }
    hpcg_rhs(grid, memory);
    solve(levels, &v, memory, iterations, norms);
    free(memory);
    return true;
}

double hpcg_flops(const gsw_grid *grid, int64_t iterations) {
    const double n = (double)points_of(grid), count = (double)iterations;
    double cycle_flops = 0;
    gsw_grid g = *grid;
    for (int i = 1; i < HPCG_LEVELS; i++) {
        cycle_flops += (4.0 + 2.0 + 4.0) * (double)hpcg_entries(&g);
        g = hpcg_coarser(&g);
    }
    cycle_flops += 4.0 * (double)hpcg_entries(&g);
    return 2 * (3 * count + 1) * 2.0 * n + (count + 1) * 2.0 * (double)hpcg_entries(grid) +
           count * cycle_flops;
}
