/* grid.c: sizes of grids, and grids from text. */
#include <stddef.h>

#include <gridsweep/grid.h>
#include <gridsweep/problem.h>

#include "contract/error.h"

/* Vectors of so many points take 2 PB. With this limit, no product of points, couplings, right-hand
 * sides, padding and sizes of values overflows in 64 bits. */
#define GSW_POINTS_MAX ((int64_t)1 << 48)

gsw_status gsw_grid_points(const gsw_grid *grid, int64_t *points) {
    if (grid == NULL || points == NULL || grid->nx < 1 || grid->ny < 1 || grid->nz < 1 ||
        (grid->periodic & ~(GSW_PERIODIC_X | GSW_PERIODIC_Y | GSW_PERIODIC_Z)) != 0)
        return GSW_ERROR_INVALID_ARGUMENT;
    int64_t plane, all;
    if (__builtin_mul_overflow(grid->nx, grid->ny, &plane) ||
        __builtin_mul_overflow(plane, grid->nz, &all) || all > GSW_POINTS_MAX)
        return GSW_ERROR_OVERFLOW;
    *points = all;
    return GSW_SUCCESS;
}

/* Reads decimal digits from *cursor and moves it past them. strtoll would also accept blanks and
 * signs. */
static gsw_status read_extent(const char **cursor, int64_t *value) {
    const char *c = *cursor;
    if (*c < '0' || *c > '9')
        return GSW_ERROR_INVALID_ARGUMENT;
    int64_t sum = 0;
    for (; *c >= '0' && *c <= '9'; c++)
        if (__builtin_mul_overflow(sum, (int64_t)10, &sum) ||
            __builtin_add_overflow(sum, (int64_t)(*c - '0'), &sum))
            return GSW_ERROR_OVERFLOW;
    *cursor = c;
    *value = sum;
    return sum < 1 ? GSW_ERROR_INVALID_ARGUMENT : GSW_SUCCESS;
}

static gsw_status read_grid(const char *text, gsw_grid *grid) {
    gsw_grid parsed = {1, 1, 1};
    int64_t *const extents[3] = {&parsed.nx, &parsed.ny, &parsed.nz};
    int count = 0;
    for (;;) {
        GSW_TRY(read_extent(&text, extents[count]));
        count++;
        if (count == 3 || (*text != 'x' && *text != 'X'))
            break;
        text++;
    }
    if (count < 2 || *text != '\0')
        return GSW_ERROR_INVALID_ARGUMENT;
    int64_t points;
    GSW_TRY(gsw_grid_points(&parsed, &points));
    *grid = parsed;
    return GSW_SUCCESS;
}

gsw_status gsw_grid_parse(gsw_context *context, const char *text, gsw_grid *grid) {
    GSW_REQUIRE(context, text != NULL, "text is NULL");
    GSW_REQUIRE(context, grid != NULL, "grid is NULL");
    gsw_status status = read_grid(text, grid);
    if (status == GSW_ERROR_OVERFLOW)
        return gsw_fail(context, status, "grid '%.80s' has more than 2^48 points", text);
    if (status != GSW_SUCCESS)
        return gsw_fail(context, status,
                        "grid '%.80s': expected NXxNY or NXxNYxNZ, each a whole number >= 1", text);
    return GSW_SUCCESS;
}
