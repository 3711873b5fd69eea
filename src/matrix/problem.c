/* problem.c: model problems as stencil arrays.
 *
 * Sources: the 27-point problem is HPCG's (Dongarra, Heroux and Luszczek, 2016); the 19-point
 * Laplacian is Collatz's Mehrstellen operator; the two-point flux with harmonic means is the
 * finite-volume scheme of reservoir simulators (Aziz and Settari, 1979). */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <gridsweep/problem.h>

#include "common/arrays.h"
#include "contract/allocate.h"
#include "contract/check.h"
#include "contract/error.h"
#include "domain_model.h"
#include "noise.h"

/* ---- random numbers ---- */

void gsw_random_vector(uint64_t seed, int64_t count, double *values) {
    for (int64_t i = 0; i < count; i++)
        values[i] = gsw_random_value(seed, i, 0);
}

/* ---- the parts of a problem ---- */

/* How the off-diagonal coefficients are computed. */
typedef enum origin { CONSTANT, RANDOM, TWO_POINT_FLUX, DOMAIN_MODEL } origin;

/* The largest permeability over the smallest. */
#define CONTRAST 1e6

/* Flow over diffusion along x on one cell. */
#define PECLET 10.0

typedef struct problem_recipe {
    const char *name;
    const char *stencil_2d, *stencil_3d; /* names; 2D where nz = 1 */
    origin origin;
    int symmetric;
    double (*weight)(gsw_offset offset); /* CONSTANT: the coefficient to the neighbour at offset */
    double shift; /* diagonal minus the value that would make the row sum zero */
} problem_recipe;

struct gsw_problem {
    gsw_matrix matrix;
    const problem_recipe *recipe;
    uint64_t seed;
    gsw_model model;                 /* DOMAIN_MODEL */
    double weights[GSW_STENCIL_MAX]; /* CONSTANT: of every offset, the centre's included */
    double *storage;                 /* the coefficients of all offsets */
    double *arrays[GSW_STENCIL_MAX]; /* where the coefficients of each offset lie in storage */
    const void *views[GSW_STENCIL_MAX];
};

static double weight_minus_one(gsw_offset offset) {
    (void)offset;
    return -1.0;
}

static double weight_anisotropic(gsw_offset offset) {
    if (offset.dx != 0)
        return -1.0;
    return offset.dy != 0 ? -0.1 : -0.001;
}

/* Diffusion 1 to every neighbour. The wind adds its flux to the upstream neighbours. */
static double weight_convection(gsw_offset offset) {
    if (offset.dx < 0)
        return -1.0 - PECLET * 1.0;
    if (offset.dy < 0)
        return -1.0 - PECLET * 0.7;
    if (offset.dz < 0)
        return -1.0 - PECLET * 0.4;
    return -1.0;
}

static double weight_mehrstellen(gsw_offset offset) {
    int distance = abs(offset.dx) + abs(offset.dy) + abs(offset.dz);
    return distance == 1 ? -1.0 / 3.0 : -1.0 / 6.0;
}

static double weight_fourth_order(gsw_offset offset) {
    int distance = abs(offset.dx) + abs(offset.dy) + abs(offset.dz);
    return distance == 1 ? -4.0 / 3.0 : 1.0 / 12.0;
}

static const problem_recipe recipes[] = {
    {"poisson", "D2N5", "D3N7", CONSTANT, 1, weight_minus_one, 0.0},
    {"anisotropic", "D2N5", "D3N7", CONSTANT, 1, weight_anisotropic, 0.0},
    {"convection", "D2N5", "D3N7", CONSTANT, 0, weight_convection, 0.0},
    {"lognormal", "D2N5", "D3N7", TWO_POINT_FLUX, 1, NULL, 0.0},
    {"hpcg", "D2N9", "D3N27", CONSTANT, 1, weight_minus_one, 0.0},
    {"helmholtz19", "D3N19", "D3N19", CONSTANT, 1, weight_mehrstellen, 0.1},
    {"star13", "D3N13", "D3N13", CONSTANT, 1, weight_fourth_order, 0.0},
    {"box33", "D3N33", "D3N33", CONSTANT, 1, weight_minus_one, 0.0},
    {"random", "D2N5", "D3N7", RANDOM, 0, NULL, 1.0},
    {"ocean", "D2N5", "D3N7", DOMAIN_MODEL, 1, NULL, 0.0},
    {"reservoir", "D2N5", "D3N7", DOMAIN_MODEL, 1, NULL, 0.0},
    {"channel", "D2N5", "D3N7", DOMAIN_MODEL, 1, NULL, 0.0},
    {"obstacles", "D2N5", "D3N7", DOMAIN_MODEL, 1, NULL, 0.0},
    {"globe", "D2N5", "D3N7", DOMAIN_MODEL, 1, NULL, 0.0},
};

/* ---- the permeability field ---- */

/* Random numbers on a lattice of cells of wx x wx x wz points, interpolated trilinearly. */
static double lattice_noise(uint64_t seed, int64_t wx, int64_t wz, const int64_t at[3]) {
    const int64_t width[3] = {wx, wx, wz};
    int64_t cell[3];
    double t[3];
    for (int k = 0; k < 3; k++) {
        cell[k] = at[k] / width[k];
        t[k] = (double)(at[k] % width[k]) / (double)width[k];
    }
    double corner[8];
    for (int c = 0; c < 8; c++) {
        /* One stream for each plane and line of the lattice, so the extents do not enter the
         * hash. */
        uint64_t plane = gsw_mix(seed + (uint64_t)(cell[2] + (c >> 2)));
        uint64_t line = gsw_mix(plane + (uint64_t)(cell[1] + ((c >> 1) & 1)));
        corner[c] = gsw_random_value(line, cell[0] + (c & 1), 0);
    }
    for (size_t k = 0; k < 4; k++)
        corner[k] = gsw_lerp(corner[2 * k], corner[2 * k + 1], t[0]);
    for (size_t k = 0; k < 2; k++)
        corner[k] = gsw_lerp(corner[2 * k], corner[2 * k + 1], t[1]);
    return gsw_lerp(corner[0], corner[1], t[2]);
}

/* Logarithm of the permeability before scaling: three octaves, flat along z as sediments are, and
 * one extra value per layer. */
static double log_permeability(int64_t x, int64_t y, int64_t z) {
    const int64_t at[3] = {x, y, z};
    return 1.0 * lattice_noise(1, 16, 4, at) + 0.5 * lattice_noise(2, 8, 2, at) +
           0.25 * lattice_noise(3, 4, 1, at) + 0.5 * gsw_random_value(4, z, 0);
}

/* Fills k with permeabilities in [CONTRAST^-1/2, CONTRAST^1/2]; both ends occur. */
static void fill_permeability(int threads, const gsw_grid *grid, double *k) {
    int64_t lines = grid->ny * grid->nz, points = lines * grid->nx;
    double low = INFINITY, high = -INFINITY;
#pragma omp parallel for schedule(static) num_threads(threads) reduction(min                       \
                                                                         : low) reduction(max      \
                                                                                          : high)
    for (int64_t line = 0; line < lines; line++)
        for (int64_t x = 0; x < grid->nx; x++) {
            double g = log_permeability(x, line % grid->ny, line / grid->ny);
            k[line * grid->nx + x] = g;
            low = g < low ? g : low;
            high = g > high ? g : high;
        }
    double middle = low + 0.5 * (high - low);
    double scale = high > low ? log(CONTRAST) / (high - low) : 0.0;
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t row = 0; row < points; row++)
        k[row] = exp(scale * (k[row] - middle));
}

/* The well is in the most permeable cell, the first one if there are several. */
static int64_t well_row(const double *k, int64_t points) {
    int64_t best = 0;
    for (int64_t row = 1; row < points; row++)
        if (k[row] > k[best])
            best = row;
    return best;
}

/* ---- coefficients ---- */

/* Off-diagonal coefficients of one offset at points first..last-1 of the line that starts at `row`,
 * whose neighbours all lie in the grid. */
static void fill_segment(const gsw_problem *problem, const double *k, int32_t e, int64_t row,
                         int64_t first, int64_t last) {
    const gsw_grid *grid = &problem->matrix.grid;
    gsw_offset o = problem->matrix.stencil.offsets[e];
    int64_t step = o.dx + grid->nx * (o.dy + grid->ny * o.dz);
    double *a = problem->arrays[e] + row;
    switch (problem->recipe->origin) {
    case CONSTANT:
        for (int64_t x = first; x < last; x++)
            a[x] = problem->weights[e];
        break;
    case RANDOM:
        for (int64_t x = first; x < last; x++)
            a[x] = gsw_random_value(problem->seed, row + x, e);
        break;
    case TWO_POINT_FLUX:
        for (int64_t x = first; x < last; x++) {
            double here = k[row + x], there = k[row + x + step];
            a[x] = -2.0 * (here * there) / (here + there);
        }
        break;
    case DOMAIN_MODEL: /* gsw_model_fill() */
        break;
    }
}

/* The diagonal of one line, after its off-diagonals. */
static void fill_diagonal(const gsw_problem *problem, int64_t row) {
    const gsw_stencil *stencil = &problem->matrix.stencil;
    int constant = problem->recipe->origin == CONSTANT;
    double start = constant ? problem->weights[stencil->center] : problem->recipe->shift;
    double *d = problem->arrays[stencil->center] + row;
    for (int64_t x = 0; x < problem->matrix.grid.nx; x++)
        d[x] = start;
    for (int32_t e = 0; e < stencil->count && !constant; e++) {
        const double *a = problem->arrays[e] + row;
        for (int64_t x = 0; x < problem->matrix.grid.nx && e != stencil->center; x++)
            d[x] += fabs(a[x]);
    }
}

/* All coefficients of line (y, z); couplings that leave the grid become zeros. */
static void fill_line(const gsw_problem *problem, const double *k, int64_t y, int64_t z) {
    const gsw_grid *grid = &problem->matrix.grid;
    const gsw_stencil *stencil = &problem->matrix.stencil;
    int64_t row = gsw_grid_row(grid, 0, y, z);
    for (int32_t e = 0; e < stencil->count; e++) {
        gsw_offset o = stencil->offsets[e];
        memset(problem->arrays[e] + row, 0, (size_t)grid->nx * sizeof(double));
        int inside = y + o.dy >= 0 && y + o.dy < grid->ny && z + o.dz >= 0 && z + o.dz < grid->nz;
        int64_t first = o.dx < 0 ? -o.dx : 0;
        int64_t last = o.dx > 0 ? grid->nx - o.dx : grid->nx;
        if (inside && e != stencil->center && first < last)
            fill_segment(problem, k, e, row, first, last);
    }
    fill_diagonal(problem, row);
}

static gsw_status fill_problem(gsw_context *context, gsw_problem *problem, int64_t points) {
    const gsw_grid *grid = &problem->matrix.grid;
    int threads = gsw_context_threads(context);
    double *k = NULL;
    if (problem->recipe->origin == DOMAIN_MODEL) {
        problem->model.grid = &problem->matrix.grid;
        problem->model.threads = threads;
        GSW_TRY(gsw_model_open(context, problem->recipe->name, &problem->model));
        GSW_TRY(gsw_array_check_on_grid(context, grid, &problem->matrix.stencil,
                                        &problem->matrix.array));
        gsw_model_fill(&problem->model, &problem->matrix.stencil, problem->arrays);
        problem->matrix.active = problem->model.active;
        return GSW_SUCCESS;
    }
    if (problem->recipe->origin == TWO_POINT_FLUX) {
        void *memory;
        GSW_TRY(gsw_alloc(context, (size_t)points, sizeof(double), "permeability", &memory));
        k = memory;
        fill_permeability(threads, grid, k);
    }
    int64_t lines = grid->ny * grid->nz;
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t line = 0; line < lines; line++)
        fill_line(problem, k, line % grid->ny, line / grid->ny);
    if (problem->recipe->origin == TWO_POINT_FLUX) {
        int64_t well = well_row(k, points);
        problem->arrays[problem->matrix.stencil.center][well] += k[well];
    }
    free(k);
    return GSW_SUCCESS;
}

/* ---- creating a problem ---- */

static void set_weights(gsw_problem *problem) {
    const gsw_stencil *stencil = &problem->matrix.stencil;
    double sum = 0.0;
    for (int32_t e = 0; e < stencil->count; e++)
        if (e != stencil->center) {
            problem->weights[e] = problem->recipe->weight(stencil->offsets[e]);
            sum += problem->weights[e];
        }
    problem->weights[stencil->center] = problem->recipe->shift - sum;
}

/* The format of `matrix` is set. */
static gsw_status allocate_arrays(gsw_context *context, gsw_problem *problem) {
    gsw_matrix *matrix = &problem->matrix;
    const int64_t points = gsw_array_values(matrix);
    /* The distance between two arrays is not a power of two, because the arrays would then compete
     * for the same few sets of every cache. It is a multiple of 64 bytes. */
    size_t stride = (((size_t)points + 7) / 8 + 9) * 8, total;
    if (!gsw_mul_size(stride, (size_t)matrix->stencil.count, &total))
        return gsw_fail(context, GSW_ERROR_OVERFLOW,
                        "grid: the coefficients of %lld points with "
                        "%d offsets do not fit in memory",
                        (long long)points, (int)matrix->stencil.count);
    void *memory;
    GSW_TRY(gsw_alloc(context, total, sizeof(double), "problem", &memory));
    problem->storage = memory;
    for (int32_t e = 0; e < matrix->stencil.count; e++) {
        problem->arrays[e] = problem->storage + (size_t)e * stride;
        problem->views[e] = problem->arrays[e];
    }
    matrix->array.values = problem->views;
    return GSW_SUCCESS;
}

/* Reads the seed after "random:". */
static gsw_status read_seed(gsw_context *context, const char *name, uint64_t *seed) {
    const char *digits = strchr(name, ':');
    GSW_REQUIRE(context, digits != NULL && digits[1] != '\0',
                "problem 'random' needs a seed: random:SEED");
    uint64_t value = 0;
    for (const char *c = digits + 1; *c != '\0'; c++) {
        GSW_REQUIRE(context, *c >= '0' && *c <= '9',
                    "problem '%.80s': the seed must be a whole number >= 0", name);
        GSW_REQUIRE(context,
                    !__builtin_mul_overflow(value, UINT64_C(10), &value) &&
                        !__builtin_add_overflow(value, (uint64_t)(*c - '0'), &value),
                    "problem '%.80s': the seed does not fit in 64 bits", name);
    }
    *seed = value;
    return GSW_SUCCESS;
}

/* Reads the share of land after "ocean:", such as 0.5, without a locale. */
static gsw_status read_land(gsw_context *context, const char *name, double *land) {
    const char *c = strchr(name, ':');
    double unit = 0.1, share = 0.0;
    *land = GSW_MODEL_LAND;
    if (c == NULL)
        return GSW_SUCCESS;
    c++;
    int good = *c++ == '0' && (*c == '\0' || (*c++ == '.' && *c != '\0'));
    for (; good && *c != '\0'; c++) {
        good = *c >= '0' && *c <= '9';
        share += unit * (*c - '0');
        unit *= 0.1;
    }
    GSW_REQUIRE(context, good && share < 1.0,
                "problem '%.80s': the share of land must be 0 or more and below 1, such as 0.5",
                name);
    *land = share;
    return GSW_SUCCESS;
}

static gsw_status find_recipe(gsw_context *context, const char *name, gsw_problem *problem) {
    size_t length = strcspn(name, ":");
    for (size_t r = 0; r < sizeof recipes / sizeof recipes[0]; r++) {
        if (strlen(recipes[r].name) != length || memcmp(recipes[r].name, name, length) != 0)
            continue;
        problem->recipe = &recipes[r];
        if (recipes[r].origin == RANDOM)
            return read_seed(context, name, &problem->seed);
        if (strcmp(recipes[r].name, "ocean") == 0)
            return read_land(context, name, &problem->model.land);
        GSW_REQUIRE(context, name[length] == '\0',
                    "problem '%.80s': only random takes a seed, and ocean a share of land", name);
        return GSW_SUCCESS;
    }
    return gsw_fail(context, GSW_ERROR_INVALID_ARGUMENT,
                    "problem '%.80s' is not known; there are poisson, anisotropic, convection, "
                    "lognormal, hpcg, helmholtz19, star13, box33, ocean, reservoir, channel, "
                    "obstacles, globe and random:SEED",
                    name);
}

static gsw_status choose_stencil(gsw_context *context, const gsw_stencil *stencil,
                                 gsw_problem *problem) {
    const problem_recipe *recipe = problem->recipe;
    gsw_stencil *chosen = &problem->matrix.stencil;
    if (stencil == NULL)
        return gsw_stencil_named(
            problem->matrix.grid.nz == 1 ? recipe->stencil_2d : recipe->stencil_3d, chosen);
    GSW_REQUIRE(context, recipe->origin == RANDOM,
                "stencil: problem '%s' has its own; only random takes one", recipe->name);
    GSW_REQUIRE(context,
                gsw_stencil_from_offsets(stencil->offsets, stencil->count, chosen) == GSW_SUCCESS,
                "stencil: its offsets are not those of a stencil");
    return GSW_SUCCESS;
}

static gsw_status create(gsw_context *context, const char *name, const gsw_grid *grid,
                         const gsw_stencil *stencil, int constant, gsw_problem **problem) {
    GSW_REQUIRE(context, problem != NULL, "problem is NULL");
    GSW_REQUIRE(context, name != NULL, "name is NULL");
    GSW_REQUIRE(context, grid != NULL, "grid is NULL");
    int64_t points;
    gsw_status status = gsw_grid_points(grid, &points);
    if (status != GSW_SUCCESS)
        return gsw_fail(context, status, "grid %lld x %lld x %lld: %s", (long long)grid->nx,
                        (long long)grid->ny, (long long)grid->nz,
                        status == GSW_ERROR_OVERFLOW ? "it has more than 2^48 points"
                                                     : "each extent must be at least 1");

    gsw_problem *made = calloc(1, sizeof *made);
    if (made == NULL)
        return gsw_fail(context, GSW_ERROR_OUT_OF_MEMORY, "problem: no memory");
    made->matrix.grid = *grid;
    GSW_TRY_GOTO(find_recipe(context, name, made), cleanup);
    GSW_TRY_GOTO(choose_stencil(context, stencil, made), cleanup);
    if (made->recipe->origin == CONSTANT)
        set_weights(made);
    made->matrix.format = GSW_FORMAT_STENCIL;
    if (constant && made->recipe->origin != CONSTANT) {
        status = gsw_fail(context, GSW_ERROR_INVALID_ARGUMENT,
                          "problem '%s' has no constant coefficients", made->recipe->name);
        goto cleanup;
    }
    if (constant && grid->nx > 1)
        made->matrix.array.repeat = GSW_REPEAT_XYZ;
    GSW_TRY_GOTO(allocate_arrays(context, made), cleanup);
    if (made->matrix.array.repeat == GSW_REPEAT_NONE)
        GSW_TRY_GOTO(fill_problem(context, made, points), cleanup);
    else
        for (int32_t e = 0; e < made->matrix.stencil.count; e++)
            for (int64_t x = 0; x < grid->nx; x++)
                made->arrays[e][x] = made->weights[e];
    *problem = made;
    return GSW_SUCCESS;

cleanup:
    gsw_problem_destroy(made);
    return status;
}

gsw_status gsw_problem_create(gsw_context *context, const char *name, const gsw_grid *grid,
                              const gsw_stencil *stencil, gsw_problem **problem) {
    return create(context, name, grid, stencil, 0, problem);
}

static gsw_status parse(gsw_context *context, const char *text, const gsw_stencil *stencil,
                        int constant, gsw_problem **problem) {
    GSW_REQUIRE(context, text != NULL, "text is NULL");
    const char *colon = strrchr(text, ':');
    char name[64];
    GSW_REQUIRE(context, colon != NULL && (size_t)(colon - text) < sizeof name,
                "problem '%.80s': expected NAME:NXxNYxNZ, such as poisson:64x64x64", text);
    memcpy(name, text, (size_t)(colon - text));
    name[colon - text] = '\0';
    gsw_grid grid;
    GSW_TRY(gsw_grid_parse(context, colon + 1, &grid));
    return create(context, name, &grid, stencil, constant, problem);
}

gsw_status gsw_problem_parse(gsw_context *context, const char *text, const gsw_stencil *stencil,
                             gsw_problem **problem) {
    return parse(context, text, stencil, 0, problem);
}

gsw_status gsw_problem_parse_constant(gsw_context *context, const char *text,
                                      gsw_problem **problem) {
    return parse(context, text, NULL, 1, problem);
}

const gsw_matrix *gsw_problem_matrix(const gsw_problem *problem) {
    return problem == NULL ? NULL : &problem->matrix;
}

int gsw_problem_symmetric(const gsw_problem *problem) {
    return problem != NULL && problem->recipe->symmetric;
}

void gsw_problem_destroy(gsw_problem *problem) {
    if (problem == NULL)
        return;
    gsw_model_free(&problem->model);
    free(problem->storage);
    free(problem);
}
