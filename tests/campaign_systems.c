/* campaign_systems.c: the systems of the campaign.
 *
 * A family is a function that fills the values of a system for one of its variants. Most of them
 * are five- and seven-point matrices, made of weights: a(i, j) = -w, and the diagonal is the sum of
 * the row's weights, those of neighbours outside the grid included (Dirichlet conditions). */
#include "campaign_systems.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PI 3.14159265358979323846

enum { VARIANTS = 4, RHS_KINDS = 6, SMALL_MATRICES = 7, LARGE_SYSTEMS = 13 };

/* ---- grids ---- */

static const gsw_grid small_grids[] = {
    {32, 32, 1},  {16, 16, 16}, {40, 25, 1}, {12, 9, 14}, {17, 63, 1}, {20, 7, 11}, {64, 64, 1},
    {13, 13, 13}, {97, 11, 1},  {31, 5, 6},  {7, 131, 1}, {3, 17, 19}, {96, 96, 1}, {24, 24, 24}};
static const gsw_grid small_strips[] = {{2, 300, 1}, {5, 200, 1}, {300, 2, 1}, {4, 4, 100},
                                        {3, 400, 1}, {400, 5, 1}, {2, 50, 17}};
/* The first four have some 50,000 points, the next four 100,000. */
static const gsw_grid large_grids[] = {
    {250, 200, 1}, {37, 37, 37},  {23, 2203, 1}, {41, 31, 40}, {317, 331, 1},   {41, 53, 47},
    {2000, 50, 1}, {200, 200, 3}, {512, 512, 1}, {64, 64, 64}, {1000, 1000, 1}, {97, 101, 102}};
static const gsw_grid large_strips[] = {
    {2, 30011, 1}, {30011, 2, 1}, {4, 4, 4000},   {5, 20000, 1}, {20000, 5, 1}, {17, 6007, 1},
    {8, 8, 2003},  {2003, 8, 8},  {100003, 3, 1}, {3, 300, 100}, {300, 100, 3}, {16, 16, 1000}};

static const gsw_grid small_planes[] = {{32, 32, 1}, {40, 25, 1}, {17, 63, 1}, {64, 64, 1},
                                        {97, 11, 1}, {7, 131, 1}, {96, 96, 1}};
static const gsw_grid large_planes[] = {{250, 200, 1},  {224, 225, 1}, {101, 500, 1},
                                        {1000, 53, 1},  {317, 331, 1}, {160, 640, 1},
                                        {1009, 101, 1}, {512, 203, 1}};

static int64_t extent(const gsw_grid *g, int axis) {
    return axis == 0 ? g->nx : axis == 1 ? g->ny : g->nz;
}

/* ---- memory and random numbers ---- */

static void *take(int64_t count) {
    void *memory = calloc((size_t)count, sizeof(double));
    if (memory == NULL) {
        (void)fprintf(stderr, "campaign: out of memory\n");
        abort();
    }
    return memory;
}

static double *uniform(uint64_t seed, int64_t count) {
    double *values = take(count);
    gsw_random_vector(seed, count, values);
    return values;
}

static void start(campaign_system *s, const gsw_stencil *stencil) {
    s->stencil = *stencil;
    for (int e = 0; e < stencil->count; e++)
        s->pointers[e] = s->values[e] = take(s->points);
}

static gsw_stencil named(const char *name) {
    gsw_stencil stencil;
    if (gsw_stencil_named(name, &stencil) != GSW_SUCCESS)
        abort();
    return stencil;
}

static gsw_stencil axis_neighbours(const campaign_system *s) {
    return named(s->grid.nz == 1 ? "D2N5" : "D3N7");
}

/* Adds to the description. */
__attribute__((format(printf, 2, 3))) static void describe(campaign_system *s, const char *format,
                                                           ...) {
    const size_t length = strlen(s->what);
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(s->what + length, sizeof s->what - length, format, arguments);
    va_end(arguments);
}

/* ---- matrices of weights ---- */

typedef struct medium {
    const gsw_grid *grid;
    double p[3]; /* parameters of the weights */
    double *k;   /* a value per point, or NULL */
} medium;

/* The weight of the neighbour `sign` steps along `axis`. */
typedef double weight_fn(const medium *m, const int64_t at[3], int axis, int sign);

static void fill(campaign_system *s, const medium *m, weight_fn *weight, double shift) {
    const gsw_stencil stencil = axis_neighbours(s);
    start(s, &stencil);
    for (int64_t i = 0; i < s->points; i++) {
        int64_t at[3];
        double sum = shift;
        campaign_place(&s->grid, i, at);
        for (int e = 0; e < stencil.count; e++) {
            const gsw_offset o = stencil.offsets[e];
            const int axis = o.dx != 0 ? 0 : o.dy != 0 ? 1 : 2;
            if (e == stencil.center || extent(&s->grid, axis) == 1)
                continue;
            const double w = weight(m, at, axis, o.dx + o.dy + o.dz);
            s->values[e][i] = campaign_inside(&s->grid, at, o) ? -w : 0;
            sum += w;
        }
        s->values[stencil.center][i] = sum;
    }
}

static double one(const medium *m, const int64_t at[3], int axis, int sign) {
    (void)m, (void)at, (void)axis, (void)sign;
    return 1;
}

/* Convection with the velocity p. */
static double upwind(const medium *m, const int64_t at[3], int axis, int sign) {
    (void)at;
    return 1 + fmax(-sign * m->p[axis], 0);
}

static double central(const medium *m, const int64_t at[3], int axis, int sign) {
    (void)at;
    return 1 - sign * m->p[axis] / 2;
}

/* A vortex in each plane, with the cell Peclet number p[0]. */
static double vortex(const medium *m, const int64_t at[3], int axis, int sign) {
    const double x = PI * (double)at[0] / (double)m->grid->nx;
    const double y = PI * (double)at[1] / (double)m->grid->ny;
    const double z = PI * (double)at[2] / (double)m->grid->nz;
    const double v = axis == 0 ? sin(x) * cos(y) : axis == 1 ? -cos(x) * sin(y) : 0.3 * sin(z);
    return 1 + fmax(-sign * v * m->p[0], 0);
}

/* Harmonic means of the field k, times p[axis]; none across the boundary where p is negative. */
static double flux(const medium *m, const int64_t at[3], int axis, int sign) {
    const gsw_offset o = {axis == 0 ? sign : 0, axis == 1 ? sign : 0, axis == 2 ? sign : 0};
    const int64_t i = gsw_grid_row(m->grid, at[0], at[1], at[2]);
    if (!campaign_inside(m->grid, at, o))
        return m->p[axis] < 0 ? 0 : 2 * m->k[i] * m->p[axis];
    return 2 / (1 / m->k[i] + 1 / m->k[i + campaign_step(m->grid, o)]) * fabs(m->p[axis]);
}

/* Blocks of p[0] points along each axis. The strong axis of a block is p[1] times as strong. */
static double block(const medium *m, const int64_t at[3], int axis, int sign) {
    const int axes = m->grid->nz == 1 ? 2 : 3, width = (int)m->p[0];
    double k[2];
    for (int side = 0; side < 2; side++) {
        int64_t sum = 0;
        for (int a = 0; a < 3; a++)
            sum += (at[a] + (a == axis && side == 1 ? sign : 0) + width) / width;
        k[side] = sum % axes == axis ? m->p[1] : 1;
    }
    return 2 / (1 / k[0] + 1 / k[1]);
}

/* Cells whose widths grow by the factor p[axis]. */
static double stretched(const medium *m, const int64_t at[3], int axis, int sign) {
    double area = 1;
    for (int a = 0; a < 3; a++)
        area *= a != axis ? pow(m->p[a], (double)at[a]) : 1;
    const double width = pow(m->p[axis], (double)at[axis]);
    const int64_t next = at[axis] + sign;
    if (next < 0 || next >= extent(m->grid, axis))
        return area / (width / 2);
    return area / ((width + width * pow(m->p[axis], sign)) / 2);
}

/* ---- families ---- */

/* Cell Peclet numbers. The wind blows along the sweep, or against it along x and z. */
static medium wind(campaign_system *s, int variant, const double numbers[VARIANTS]) {
    const double pe = numbers[variant];
    const int against = s->points % 2 != 0;
    describe(s, against ? " against %g" : " pe %g", pe);
    return (medium){&s->grid, {against ? -pe : pe, 0.6 * pe, against ? -0.3 * pe : 0.3 * pe}, NULL};
}

static void make_upwind(campaign_system *s, int variant) {
    const medium m = wind(s, variant, (const double[]){0.3, 1, 5, 50});
    fill(s, &m, upwind, 0);
}

static void make_central(campaign_system *s, int variant) {
    const medium m = wind(s, variant, (const double[]){0.5, 1.5, 4, 20});
    fill(s, &m, central, 0);
}

static void make_vortex(campaign_system *s, int variant) {
    const double pe[VARIANTS] = {1, 5, 50, 500};
    const medium m = {&s->grid, {pe[variant]}, NULL};
    describe(s, " pe %g", pe[variant]);
    fill(s, &m, vortex, 0);
}

static int on_boundary(const gsw_grid *g, const int64_t at[3]) {
    int found = 0;
    for (int axis = 0; axis < 3; axis++)
        found |= extent(g, axis) > 1 && (at[axis] == 0 || at[axis] == extent(g, axis) - 1);
    return found;
}

/* Makes the marked rows identity rows, and removes their columns if asked to. */
static void fix_rows(campaign_system *s, const double *marks, int columns) {
    for (int64_t i = 0; i < s->points; i++)
        for (int e = 0; e < s->stencil.count; e++) {
            const int64_t j = i + campaign_step(&s->grid, s->stencil.offsets[e]);
            if (marks[i] > 0)
                s->values[e][i] = e == s->stencil.center;
            else if (columns && j >= 0 && j < s->points && marks[j] > 0)
                s->values[e][i] = 0;
        }
}

static void make_identity(campaign_system *s, int variant) {
    const char *const names[VARIANTS] = {"boundary", "upwind", "scattered", "rough"};
    const medium flow = {&s->grid, {1, 0.6, 0.3}, NULL};
    double *marks = uniform(3, s->points);
    medium rough = {&s->grid, {1, 1, 1}, uniform(4, s->points)};
    describe(s, " %s", names[variant]);
    for (int64_t i = 0; i < s->points; i++) {
        int64_t at[3];
        campaign_place(&s->grid, i, at);
        marks[i] = variant == 2 ? marks[i] > 0.8 : on_boundary(&s->grid, at);
        rough.k[i] = pow(10, 1.5 + 1.5 * rough.k[i]);
    }
    if (variant == 1)
        fill(s, &flow, upwind, 0);
    else
        fill(s, &rough, variant == 3 ? flux : one, 0);
    fix_rows(s, marks, variant == 2);
    free(rough.k);
    free(marks);
}

/* -div D grad with the axes of D turned in the plane, by the nine-point formula. */
static void make_rotated(campaign_system *s, int variant) {
    static const double angles[VARIANTS] = {30, 45, 70, 15},
                        weak[VARIANTS] = {1e-2, 1e-3, 1e-3, 1e-4};
    const double c = cos(angles[variant] * PI / 180), d = sin(angles[variant] * PI / 180);
    const double xx = c * c + weak[variant] * d * d, yy = d * d + weak[variant] * c * c;
    const double xy = (1 - weak[variant]) * c * d;
    gsw_stencil stencil = named("D2N9");
    if (s->grid.nz > 1) {
        gsw_offset offsets[11];
        memcpy(offsets, stencil.offsets, 9 * sizeof *offsets);
        offsets[9] = (gsw_offset){0, 0, -1};
        offsets[10] = (gsw_offset){0, 0, 1};
        if (gsw_stencil_from_offsets(offsets, 11, &stencil) != GSW_SUCCESS)
            abort();
    }
    describe(s, " angle %g", angles[variant]);
    describe(s, " weak %g", weak[variant]);
    start(s, &stencil);
    for (int64_t i = 0; i < s->points; i++)
        for (int e = 0; e < stencil.count; e++) {
            const gsw_offset o = stencil.offsets[e];
            int64_t at[3];
            campaign_place(&s->grid, i, at);
            if (e == stencil.center)
                s->values[e][i] = 2 * xx + 2 * yy + (s->grid.nz > 1 ? 0.2 : 0);
            else if (campaign_inside(&s->grid, at, o))
                s->values[e][i] = o.dz != 0                ? -0.1
                                  : o.dx != 0 && o.dy != 0 ? -o.dx * o.dy * xy / 2
                                  : o.dx != 0              ? -xx
                                                           : -yy;
        }
}

/* -laplacian + k; k < 0 lies above one, or above some ten of the least eigenvalues. */
static void make_helmholtz(campaign_system *s, int variant) {
    const medium m = {&s->grid, {0}, NULL};
    double least = 0, gap = 8;
    for (int axis = 0; axis < 3; axis++) {
        const double angle = PI / 2 / (double)(extent(&s->grid, axis) + 1);
        if (extent(&s->grid, axis) > 1)
            least += 4 * pow(sin(angle), 2);
        gap = fmin(gap, 4 * pow(sin(2 * angle), 2) - 4 * pow(sin(angle), 2));
    }
    const double k =
        variant < 2 ? (variant == 0 ? 0.5 : 0.01) : -least - (variant == 2 ? 0.5 : 4.5) * gap;
    describe(s, " k %g", k);
    fill(s, &m, one, k);
}

/* The square of the Laplacian plus a multiple of the identity, without which large ones take
 * minutes. */
static void make_biharmonic(campaign_system *s, int variant) {
    const double shift = variant % 2 == 1 ? 0.01 : s->points > 20000 ? 1e-3 : 0;
    const gsw_stencil near = axis_neighbours(s);
    gsw_offset offsets[25];
    gsw_stencil stencil;
    int count = 0;
    for (int z = -2; z <= 2; z++)
        for (int y = -2; y <= 2; y++)
            for (int x = -2; x <= 2; x++)
                if (abs(x) + abs(y) + abs(z) <= 2 && (z == 0 || s->grid.nz > 1))
                    offsets[count++] = (gsw_offset){x, y, z};
    if (gsw_stencil_from_offsets(offsets, count, &stencil) != GSW_SUCCESS)
        abort();
    describe(s, " shift %g", shift);
    start(s, &stencil);
    for (int64_t i = 0; i < s->points; i++) {
        int64_t at[3];
        campaign_place(&s->grid, i, at);
        s->values[stencil.center][i] = shift;
        for (int e = 0; e < near.count; e++)
            for (int f = 0; f < near.count; f++) {
                const gsw_offset p = near.offsets[e], q = near.offsets[f];
                const gsw_offset o = {p.dx + q.dx, p.dy + q.dy, p.dz + q.dz};
                if (campaign_inside(&s->grid, at, p) && campaign_inside(&s->grid, at, o))
                    s->values[gsw_stencil_find(&stencil, o)][i] +=
                        (e == near.center ? near.count - 1 : -1) *
                        (f == near.center ? near.count - 1 : -1);
            }
    }
}

/* 10^(decades * u), with u uniform in [0, 1]. */
static void make_field(campaign_system *s, double decades, const double p[3], double shift) {
    const medium m = {&s->grid, {p[0], p[1], p[2]}, uniform(5, s->points)};
    for (int64_t i = 0; i < s->points; i++)
        m.k[i] = pow(10, decades * (m.k[i] + 1) / 2);
    describe(s, " decades %g", decades);
    fill(s, &m, flux, shift);
    free(m.k);
}

/* No flow across the boundary: nearly singular. Each cell stores another amount, because with equal
 * ones a constant b would be an eigenvector. */
static void make_strip(campaign_system *s, int variant) {
    const double least = 1e-6 * pow(100, variant);
    double *more = uniform(6, s->points);
    make_field(s, 2.0 * variant, (const double[]){-1, -1, -1}, least);
    for (int64_t i = 0; i < s->points; i++)
        s->values[s->stencil.center][i] += least * (more[i] + 1) / 2;
    free(more);
}

static void make_rough(campaign_system *s, int variant) {
    make_field(s, 2.0 * variant + 2, (const double[]){1, 1, 1}, 0);
}

static void make_blocks(campaign_system *s, int variant) {
    const double width = variant % 2 == 0 ? 8 : fmax(2, floor((double)s->grid.ny / 2)),
                 strong = variant < 2 ? 1e3 : 1e2;
    const medium m = {&s->grid, {width, strong}, NULL};
    describe(s, " width %g", width);
    describe(s, " strong %g", strong);
    fill(s, &m, block, 0);
}

/* Fields with structure: cubes in a checkerboard, layers, waves. */
static void make_jumps(campaign_system *s, int variant) {
    const char *const names[VARIANTS] = {"cubes", "small cubes", "layers", "waves"};
    const medium m = {&s->grid, {1, 1, 1}, take(s->points)};
    describe(s, " %s", names[variant]);
    for (int64_t i = 0; i < s->points; i++) {
        int64_t at[3];
        double wave = 0;
        campaign_place(&s->grid, i, at);
        const int64_t width = variant == 0 ? 6 : 2;
        const int64_t odd = (at[0] / width + at[1] / width + at[2] / width) % 2;
        for (int k = 1; k <= 4; k++)
            wave += sin(2 * PI * k / 32 * (double)(at[0] + (5 - k) * at[1] - 2 * k * at[2]) + k);
        m.k[i] = variant == 0   ? (odd ? 1e4 : 1)
                 : variant == 1 ? (odd ? 1e5 : 1)
                 : variant == 2 ? ((at[1] + at[2]) / 3 % 2 ? 1e6 : 1)
                                : exp(2 * wave);
    }
    fill(s, &m, flux, 0);
    free(m.k);
}

static void make_stretched(campaign_system *s, int variant) {
    const double ratio = (const double[]){1.05, 1.1, 1.2, 1.3}[variant];
    medium m = {&s->grid, {1, 1, 1}, NULL};
    describe(s, " ratio %g", ratio);
    for (int axis = 0; axis < 3; axis++) /* the last width is at most ratio^40 of the first */
        m.p[axis] = pow(ratio, fmin(1, 40 / (double)extent(&s->grid, axis)));
    fill(s, &m, stretched, 0);
}

/* Rows and b times random factors: alone, with their columns, with random signs, and with
 * convection. */
static void make_scaled(campaign_system *s, int variant) {
    const char *const names[VARIANTS] = {"rows", "both", "signs", "upwind"};
    const medium m = {&s->grid, {1, 0.6, 0.3}, uniform(6, s->points)};
    describe(s, " %s", names[variant]);
    fill(s, &m, variant == 3 ? upwind : one, 0);
    for (int64_t i = 0; i < s->points; i++) {
        const double sign = variant == 2 && fmod(fabs(m.k[i]) * 1e4, 1) < 0.5 ? -1 : 1;
        m.k[i] = sign * pow(10, (variant == 1 ? 2 : 4) * m.k[i]);
    }
    for (int64_t i = 0; i < s->points; i++)
        for (int e = 0; e < s->stencil.count; e++) {
            const int64_t j = i + campaign_step(&s->grid, s->stencil.offsets[e]);
            const double column = variant == 1 && j >= 0 && j < s->points ? m.k[j] : 1;
            s->values[e][i] *= m.k[i] * column;
        }
    s->b = m.k; /* the factors of b */
}

/* Random couplings, not symmetric: dominant, of one sign, weak, and weakly dominant. */
static void make_random(campaign_system *s, int variant) {
    const char *const names[VARIANTS] = {"dominant", "flow", "weak", "strong"};
    const gsw_stencil stencil =
        variant == 0 && s->grid.nz > 1 ? named("D3N27") : axis_neighbours(s);
    describe(s, " %s", names[variant]);
    start(s, &stencil);
    double *u = uniform(7, s->points * stencil.count);
    for (int64_t i = 0; i < s->points; i++) {
        int64_t at[3];
        double sum = 0;
        campaign_place(&s->grid, i, at);
        for (int e = 0; e < stencil.count; e++) {
            const double r = u[i * stencil.count + e];
            if (e == stencil.center || !campaign_inside(&s->grid, at, stencil.offsets[e]))
                continue;
            s->values[e][i] = variant == 0   ? r
                              : variant == 1 ? -1 - (e < stencil.center ? 10 + 10 * r : 0)
                              : variant == 2 ? 0.3 * r
                                             : -1.5 - r / 2;
            sum += fabs(s->values[e][i]);
        }
        s->values[stencil.center][i] = variant < 2    ? 1.01 * sum + 1e-3
                                       : variant == 2 ? 0.5
                                                      : 0.9 * sum;
    }
    free(u);
}

/* The model problems of the library. */
static void make_model(campaign_system *s, int variant) {
    static const char *const names[2 * VARIANTS] = {"poisson", "anisotropic", "lognormal",
                                                    "hpcg",    "convection",  "helmholtz19",
                                                    "star13",  "box33"};
    const char *name = names[variant + (s->points % 2 == 0 ? 0 : VARIANTS)];
    const gsw_context_options host = {
        .size = sizeof host, .backend = GSW_BACKEND_CPU, .threads = 1, .tuning = ""};
    gsw_context *context;
    gsw_problem *problem;
    if (gsw_context_create(&host, &context) != GSW_SUCCESS ||
        gsw_problem_create(context, name, &s->grid, NULL, &problem) != GSW_SUCCESS)
        abort();
    const gsw_matrix *matrix = gsw_problem_matrix(problem);
    describe(s, " %s", name);
    start(s, &matrix->stencil);
    for (int e = 0; e < s->stencil.count; e++)
        memcpy(s->values[e], matrix->array.values[e], (size_t)s->points * sizeof(double));
    gsw_problem_destroy(problem);
    gsw_context_destroy(context);
}

/* A plane that is periodic along both axes: couplings around it are long offsets. */
static void make_periodic(campaign_system *s, int variant) {
    const double shift = variant < 2 ? 1e-3 : 0.1, flow = variant % 2 == 0 ? 0 : 2;
    const int32_t nx = (int32_t)s->grid.nx, ny = (int32_t)s->grid.ny;
    const gsw_offset offsets[9] = {{0, 0, 0},      {-1, 0, 0},     {1, 0, 0},
                                   {0, -1, 0},     {0, 1, 0},      {nx - 1, 0, 0},
                                   {1 - nx, 0, 0}, {0, ny - 1, 0}, {0, 1 - ny, 0}};
    gsw_stencil stencil;
    if (gsw_stencil_from_offsets(offsets, 9, &stencil) != GSW_SUCCESS)
        abort();
    describe(s, " shift %g", shift);
    describe(s, " flow %g", flow);
    start(s, &stencil);
    for (int64_t i = 0; i < s->points; i++)
        for (int e = 0; e < 9; e++) {
            const gsw_offset o = stencil.offsets[e];
            int64_t at[3];
            campaign_place(&s->grid, i, at);
            if (e == stencil.center)
                s->values[e][i] = 4 + shift + 2 * flow;
            else if (campaign_inside(&s->grid, at, o)) /* from x - 1 and y - 1 */
                s->values[e][i] = o.dx == -1 || o.dy == -1 || o.dx > 1 || o.dy > 1 ? -1 - flow : -1;
        }
}

typedef struct family {
    const char *name;
    void (*make)(campaign_system *s, int variant);
    const gsw_grid *small, *large;
    int small_count, large_count; /* of these grids */
} family;

#define GRIDS(small, large)                                                                        \
    small, large, sizeof(small) / sizeof *(small), sizeof(large) / sizeof *(large)
#define USUAL GRIDS(small_grids, large_grids)
/* Hard families have the first grids only, so that something solves each system. */
#define LIMITED(large) small_grids, large_grids, sizeof small_grids / sizeof *small_grids, large

static const family families[] = {{"upwind", make_upwind, USUAL},
                                  {"central", make_central, USUAL},
                                  {"vortex", make_vortex, LIMITED(9)},
                                  {"identity", make_identity, USUAL},
                                  {"rotated", make_rotated, USUAL},
                                  {"helmholtz", make_helmholtz, LIMITED(8)},
                                  {"biharmonic", make_biharmonic, LIMITED(8)},
                                  {"strip", make_strip, GRIDS(small_strips, large_strips)},
                                  {"blocks", make_blocks, USUAL},
                                  {"rough", make_rough, USUAL},
                                  {"jumps", make_jumps, USUAL},
                                  {"stretched", make_stretched, USUAL},
                                  {"scaled", make_scaled, USUAL},
                                  {"random", make_random, USUAL},
                                  {"model", make_model, USUAL},
                                  {"periodic", make_periodic, GRIDS(small_planes, large_planes)}};
enum { FAMILIES = sizeof families / sizeof families[0] };

const char *campaign_family(int number) {
    return number >= 0 && number < FAMILIES ? families[number].name : NULL;
}

int campaign_count(int large) {
    return large ? LARGE_SYSTEMS : SMALL_MATRICES * RHS_KINDS;
}

/* ---- right-hand sides ---- */

static void make_rhs(campaign_system *s, int kind, int number) {
    const char *const names[RHS_KINDS] = {"ones",  "random",   number % 2 == 0 ? "corner" : "line",
                                          "point", "boundary", "inflow"};
    const gsw_grid *g = &s->grid;
    double *factors = s->b;
    s->b = kind == 1 ? uniform(8, s->points) : take(s->points);
    for (int64_t i = 0; i < s->points && kind != 1; i++) {
        int64_t at[3];
        campaign_place(g, i, at);
        s->b[i] = kind == 0 ? 1
                  : kind == 2
                      ? (number % 2 == 0 ? i == 0 : at[1] == g->ny / 2 && at[2] == g->nz / 2)
                  : kind == 3 ? i == s->points / 2 + g->nx / 3
                  : kind == 4 ? (g->ny > 1 ? at[1] == g->ny - 1 : at[0] == 0)
                              : at[0] == 0;
    }
    for (int64_t i = 0; i < s->points && factors != NULL; i++)
        s->b[i] *= factors[i];
    free(factors);
    describe(s, " %s", names[kind]);
}

/* ---- systems ---- */

void campaign_make(gsw_context *context, int number, int large, int k, campaign_system *s) {
    const family *f = &families[number];
    const int matrix = large ? k : k / RHS_KINDS, variant = matrix % VARIANTS;
    const int count = large ? f->large_count : f->small_count;
    memset(s, 0, sizeof *s);
    s->grid = (large ? f->large
                     : f->small)[((large ? 1 : 3) * matrix + matrix / VARIANTS + number) % count];
    s->points = s->grid.nx * s->grid.ny * s->grid.nz;
    describe(s, "%s %dx%dx%d", f->name, (int)s->grid.nx, (int)s->grid.ny, (int)s->grid.nz);
    f->make(s, variant);
    make_rhs(s, large ? (k + k / RHS_KINDS) % RHS_KINDS : k % RHS_KINDS, matrix);
    const gsw_stencil_array array = {.values = s->pointers, .value_type = GSW_F64};
    gsw_status status = gsw_matrix_from_stencil(context, &s->grid, &s->stencil, &array, &s->matrix);
    if (status == GSW_SUCCESS && matrix % 3 == 1) {
        status = gsw_matrix_to_csr(context, &s->matrix, GSW_FULL, GSW_I32, &s->csr);
        if (status == GSW_SUCCESS)
            status = gsw_matrix_from_csr(context, &s->grid, &s->stencil, &s->csr, &s->matrix);
    }
    if (status != GSW_SUCCESS) {
        (void)fprintf(stderr, "campaign: %s: %s\n", s->what, gsw_context_message(context));
        abort();
    }
}

void campaign_free(campaign_system *s) {
    for (int e = 0; e < s->stencil.count; e++)
        free(s->values[e]);
    gsw_csr_free(&s->csr);
    free(s->b);
}
