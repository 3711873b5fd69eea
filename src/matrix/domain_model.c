/* domain_model.c: see domain_model.h. Heights and layers are sums of random values on lattices
 * (fractal noise, Fournier, Fussell and Carpenter, 1982). Only +, -, *, / of doubles are used, no
 * function of the C library, so that the values are the same on every machine. */
#include <stdlib.h>
#include <string.h>

#include "common/seam.h"
#include "contract/allocate.h"
#include "contract/error.h"
#include "domain_model.h"
#include "noise.h"

#define PI 3.14159265358979323846

/* ---- Numbers -------------------------------------------------------------------------------- */

/* Random values at the corners of squares of `width` points, with smooth steps between them. */
static double smooth_noise(uint64_t seed, int64_t width, int64_t x, int64_t y) {
    double t = (double)(x % width) / (double)width, u = (double)(y % width) / (double)width;
    double side[2];
    t = t * t * (3.0 - 2.0 * t);
    u = u * u * (3.0 - 2.0 * u);
    for (int i = 0; i < 2; i++) {
        const uint64_t line = gsw_mix(seed * GSW_GOLDEN + (uint64_t)(y / width + i));
        side[i] = gsw_lerp(gsw_random_value(line, x / width, 0),
                           gsw_random_value(line, x / width + 1, 0), t);
    }
    return gsw_lerp(side[0], side[1], u);
}

/* Noise of `width` and of its halves down to `least`, each smaller than the one before; in
 * (-2.3, 2.3). */
static double fractal_noise(uint64_t seed, int64_t width, int64_t least, int64_t x, int64_t y) {
    double sum = 0.0, size = 1.0;
    for (; width >= least; width /= 2) {
        sum += size * smooth_noise(seed++, width, x, y);
        size *= 0.55;
    }
    return sum;
}

/* About exp(t), for |t| < 8. */
static double power(double t) {
    double value = 1.0 + t / 1024.0;
    for (int i = 0; i < 10; i++)
        value *= value;
    return value;
}

/* cos(t) for |t| <= pi / 2, by its series. */
static double cosine(double t) {
    double value = 1.0;
    for (int i = 22; i > 0; i -= 2)
        value = 1.0 - value * t * t / (i * (i - 1));
    return value;
}

/* ---- Ocean ---------------------------------------------------------------------------------- */

/* A shift, relative to the couplings of a cell that is not stretched. */
static double held_shift(const gsw_model *m, const int64_t at[3], int64_t row) {
    (void)row;
    return 1e-4 * m->metric[3 * m->planes + (m->axis < 0 ? 0 : at[m->axis])];
}

/* The level above which lies the share `land` of all heights, or a little less. */
static double sea_level(const gsw_model *m, const double *heights, int64_t count) {
    double low = -2.3, high = 2.3;
    for (int i = 0; i < 40; i++) {
        const double middle = 0.5 * (low + high);
        int64_t above = 0;
#pragma omp parallel for schedule(static) num_threads(m->threads) reduction(+ : above)
        for (int64_t p = 0; p < count; p++)
            above += heights[p] > middle;
        if ((double)above <= m->land * (double)count)
            high = middle;
        else
            low = middle;
    }
    return high;
}

/* A height in place of a permeability, for plane 0 alone. A sea floor has no pits of one cell. */
static int make_land(const gsw_grid *g, const int64_t at[3], double *k) {
    const int64_t width = ((g->nx > g->ny ? g->nx : g->ny) + 2) / 3;
    if (at[2] == 0)
        *k = fractal_noise(11, width, g->nz > 1 ? 2 : 1, at[0], at[1]);
    return 1;
}

/* Plane 0 is the surface; the sea floor falls away from the coast. */
static void flood(gsw_model *m) {
    const int64_t nz = m->grid->nz, plane = m->grid->nx * m->grid->ny;
    const double level = sea_level(m, m->k, plane);
#pragma omp parallel for schedule(static) num_threads(m->threads)
    for (int64_t z = 0; z < nz; z++)
        for (int64_t p = 0; p < plane; p++)
            m->active[z * plane + p] = m->k[p] <= level - 0.5 * (double)z / (double)nz;
    free(m->k);
    m->k = NULL;
}

/* ---- Reservoir ------------------------------------------------------------------------------ */

/* Compressibility keeps cells regular that no well reaches. Wells hold the pressure in whole
 * columns. */
static double held_reservoir(const gsw_model *m, const int64_t at[3], int64_t row) {
    static const double wells[4][2] = {{0.2, 0.25}, {0.4, 0.8}, {0.6, 0.35}, {0.75, 0.6}};
    double sum = 1e-6;
    for (int i = 0; i < 4; i++)
        sum += at[0] == (int64_t)(wells[i][0] * (double)m->grid->nx) &&
               at[1] == (int64_t)(wells[i][1] * (double)m->grid->ny);
    return sum * m->k[row];
}

/* Beyond a fault in the middle the layers lie deeper; beyond another one, which dips, the reservoir
 * ends. Every second layer pinches out. */
static int make_rock(const gsw_grid *g, const int64_t at[3], double *k) {
    const int64_t x = at[0], y = at[1], z = at[2];
    const int64_t width = ((g->nx > g->ny ? g->nx : g->ny) + 5) / 6, thick = 1 + g->nz / 16;
    const double u = ((double)x + 0.5) / (double)g->nx, v = ((double)y + 0.5) / (double)g->ny;
    const double w = ((double)z + 0.5) / (double)g->nz;
    const int64_t layer = (z + (u + 0.1 * v > 0.5 ? 3 * thick / 2 : 0)) / thick;
    const uint64_t seed = 100 + 20 * (uint64_t)layer;
    *k = power(4.6 * gsw_random_value(3, layer, 0) + fractal_noise(seed, width, 1, x, y));
    const int pinched = layer % 2 == 1 && smooth_noise(seed + 19, 2 * width, x, y) > 0.15;
    return !pinched && u + 0.15 * v + 0.1 * w < 1.0;
}

/* Cells are flat. */
static void measure_reservoir(gsw_model *m) {
    m->metric[2 * m->planes] = 10.0;
}

/* ---- Channel and globe ---------------------------------------------------------------------- */

/* Where plane i of n begins, in mean heights. The slope is a tenth at both walls. */
static double plane_begin(int64_t i, int64_t n) {
    const double t = (double)i / (double)n;
    return (double)n * (0.1 * t + 0.9 * t * t * (3.0 - 2.0 * t));
}

/* The channel is 4 long, 2 wide and 2 high. */
static void measure_channel(gsw_model *m) {
    const gsw_grid *g = m->grid;
    const int64_t stride = m->planes, n = g->nz > 1 ? g->nz : g->ny;
    const double dx = 2.0 * (double)n / (double)g->nx, dy = (double)n / (double)g->ny;
    m->axis = g->nz > 1 ? 2 : 1;
    m->grid->periodic = g->nz > 1 ? GSW_PERIODIC_X | GSW_PERIODIC_Y : GSW_PERIODIC_X;
    for (int64_t i = 0; i < n; i++) {
        const double begin = plane_begin(i, n), end = plane_begin(i + 1, n);
        m->metric[i] = m->metric[3 * stride + i] = end - begin;
        m->metric[stride + i] = (end - begin) * (dx / dy) * (dx / dy);
        m->metric[m->axis * stride + i] = 2.0 * dx * dx / (plane_begin(i + 2, n) - begin);
    }
}

/* The latitude at the beginning of circle i of n: at the equator they have half the mean width. */
static double latitude(int64_t i, int64_t n) {
    const double t = 2.0 * (double)i / (double)n - 1.0;
    return PI / 4.0 * (t + t * t * t);
}

/* Areas, and couplings along z, are in those of a mean cell at the equator. */
static void measure_globe(gsw_model *m) {
    const int64_t stride = m->planes, n = m->grid->ny;
    const double step = 2.0 * PI / (double)m->grid->nx;
    m->axis = 1;
    m->grid->periodic = GSW_PERIODIC_X;
    for (int64_t i = 0; i < n; i++) {
        const double south = latitude(i, n), north = latitude(i + 1, n);
        const double parallel = cosine(0.5 * (south + north)) * step;
        m->metric[i] = (north - south) / parallel;
        m->metric[stride + i] = 2.0 * cosine(north) * step / (latitude(i + 2, n) - south);
        m->metric[2 * stride + i] = m->metric[3 * stride + i] =
            (north - south) * parallel / (step * PI / (double)n);
    }
}

/* ---- Obstacles ------------------------------------------------------------------------------ */

/* Values are given half a cell before the first cell and after the last one. */
static double held_ends(const gsw_model *m, const int64_t at[3], int64_t row) {
    (void)row;
    return 2.0 * ((at[0] == 0) + (at[0] == m->grid->nx - 1));
}

/* Five cylinders along z (place of the axis, radius), and two boxes that are lower than the grid.
 * None on grids so narrow that cells would be shut in between them. */
static int make_obstacle(const gsw_grid *g, const int64_t at[3], double *k) {
    static const double cylinders[5][3] = {{0.2, 0.3, 0.11},
                                           {0.22, 0.74, 0.09},
                                           {0.46, 0.56, 0.13},
                                           {0.67, 0.22, 0.1},
                                           {0.7, 0.8, 0.1}};
    static const double boxes[2][4] = {{0.4, 0.5, 0.1, 0.26}, {0.82, 0.9, 0.42, 0.6}};
    const double nx = (double)g->nx, ny = (double)g->ny, size = nx < ny ? nx : ny;
    const double px = (double)at[0] + 0.5, py = (double)at[1] + 0.5;
    int inside = 0;
    *k = 1.0;
    for (int i = 0; i < 5; i++) {
        const double dx = (px - cylinders[i][0] * nx) / size;
        const double dy = (py - cylinders[i][1] * ny) / size;
        inside |= dx * dx + dy * dy < cylinders[i][2] * cylinders[i][2];
    }
    for (int i = 0; i < 2; i++)
        inside |= px > boxes[i][0] * nx && px < boxes[i][1] * nx && py > boxes[i][2] * ny &&
                  py < boxes[i][3] * ny && (double)at[2] < 0.6 * (double)g->nz;
    return !inside || at[0] == 0 || at[0] == g->nx - 1 || g->ny < 3;
}

/* ---- The matrix ----------------------------------------------------------------------------- */

/* The coupling of a cell at offset o of another one: the same from both sides. */
static double coupling(const gsw_model *m, gsw_offset o, const int64_t at[3], int64_t row,
                       int64_t other) {
    if (m->active && !(m->active[row] && m->active[other]))
        return 0.0;
    const int along = o.dx != 0 ? 0 : o.dy != 0 ? 1 : 2;
    int64_t plane = m->axis < 0 ? 0 : at[m->axis];
    if (along == m->axis && o.dx + o.dy + o.dz < 0)
        plane--;
    const double metric = m->metric[along * m->planes + plane];
    return m->k == NULL ? metric
                        : metric * 2.0 * (m->k[row] * m->k[other]) / (m->k[row] + m->k[other]);
}

static void fill_line(const gsw_model *m, const gsw_stencil *stencil, double *const *arrays,
                      int64_t y, int64_t z) {
    for (int64_t x = 0; x < m->grid->nx; x++) {
        const int64_t at[3] = {x, y, z}, row = gsw_grid_row(m->grid, x, y, z);
        double diagonal = m->active && !m->active[row] ? 1.0 : m->held(m, at, row);
        for (int32_t e = 0; e < stencil->count; e++) {
            const gsw_offset o = stencil->offsets[e];
            int64_t to[3] = {x + o.dx, y + o.dy, z + o.dz};
            double a = 0.0;
            if (e == stencil->center)
                continue;
            if (gsw_grid_take_in(m->grid, to))
                a = coupling(m, o, at, row, gsw_grid_row(m->grid, to[0], to[1], to[2]));
            arrays[e][row] = 0.0 - a;
            diagonal += a;
        }
        arrays[stencil->center][row] = diagonal;
    }
}

/* ---- Opening and filling -------------------------------------------------------------------- */

static const struct kind {
    const char *name;
    /* Sets the periodic axes, the axis and the metric. */
    void (*measure)(gsw_model *model);
    /* Whether a cell is active, and its permeability; NULL: all are. */
    int (*make)(const gsw_grid *grid, const int64_t at[3], double *k);
    double (*held)(const gsw_model *model, const int64_t at[3], int64_t row);
} kinds[] = {
    {"ocean", NULL, make_land, held_shift},
    {"reservoir", measure_reservoir, make_rock, held_reservoir},
    {"channel", measure_channel, NULL, held_shift},
    {"obstacles", NULL, make_obstacle, held_ends},
    {"globe", measure_globe, NULL, held_shift},
};

gsw_status gsw_model_open(gsw_context *context, const char *name, gsw_model *m) {
    const gsw_grid *g = m->grid;
    const size_t points = (size_t)(g->nx * g->ny * g->nz);
    const struct kind *kind = kinds;
    void *memory;
    while (strcmp(kind->name, name) != 0)
        kind++;
    m->held = kind->held;
    m->axis = -1;
    m->planes = g->ny > g->nz ? g->ny : g->nz;
    m->grid->periodic = 0;
    GSW_TRY(gsw_alloc(context, (size_t)m->planes, 4 * sizeof(double), "metric", &memory));
    m->metric = memory;
    for (int64_t i = 0; i < 4 * m->planes; i++)
        m->metric[i] = 1.0;
    if (kind->measure != NULL)
        kind->measure(m);
    if (kind->make == NULL)
        return GSW_SUCCESS;
    GSW_TRY(gsw_alloc(context, points, 1, "mask", &memory));
    m->active = memory;
    GSW_TRY(gsw_alloc(context, points, sizeof(double), "permeability", &memory));
    m->k = memory;
#pragma omp parallel for schedule(static) num_threads(m->threads)
    for (int64_t line = 0; line < g->ny * g->nz; line++)
        for (int64_t x = 0; x < g->nx; x++) {
            const int64_t at[3] = {x, line % g->ny, line / g->ny}, row = line * g->nx + x;
            m->active[row] = (uint8_t)kind->make(g, at, &m->k[row]);
        }
    if (kind->make == make_land)
        flood(m);
    return GSW_SUCCESS;
}

void gsw_model_fill(const gsw_model *m, const gsw_stencil *stencil, double *const *arrays) {
#pragma omp parallel for schedule(static) num_threads(m->threads)
    for (int64_t line = 0; line < m->grid->ny * m->grid->nz; line++)
        fill_line(m, stencil, arrays, line % m->grid->ny, line / m->grid->ny);
}

void gsw_model_free(gsw_model *m) {
    free(m->metric);
    free(m->active);
    free(m->k);
}
