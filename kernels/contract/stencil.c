/* stencil.c: named stencils, stencils from offsets, look-up. */
#include <stddef.h>

#include <gridsweep/grid.h>

/* A named stencil holds the offsets of the cube [-1, 1]^3 with |dx| + |dy| + |dz| <= cube_norm and,
 * where `distant` is set, the axis neighbours at distance two; in 2D only those with dz = 0. */
typedef struct named_stencil {
    const char *name;
    int dimensions;
    int cube_norm;
    int distant;
} named_stencil;

static const named_stencil named[] = {
    {"D2N5", 2, 1, 0},  {"D2N9", 2, 2, 0},  {"D3N7", 3, 1, 0},  {"D3N13", 3, 1, 1},
    {"D3N19", 3, 2, 0}, {"D3N27", 3, 3, 0}, {"D3N33", 3, 3, 1},
};

#define NAMED_COUNT (sizeof named / sizeof named[0])

static int magnitude(int value) {
    return value < 0 ? -value : value;
}

static int holds(const named_stencil *kind, int dx, int dy, int dz) {
    if (kind->dimensions == 2 && dz != 0)
        return 0;
    int norm = magnitude(dx) + magnitude(dy) + magnitude(dz);
    int in_cube = magnitude(dx) <= 1 && magnitude(dy) <= 1 && magnitude(dz) <= 1;
    if (in_cube)
        return norm <= kind->cube_norm;
    int on_axis = (dx != 0) + (dy != 0) + (dz != 0) == 1;
    return kind->distant && on_axis && norm == 2;
}

static void make_named(const named_stencil *kind, gsw_stencil *stencil) {
    *stencil = (gsw_stencil){0};
    for (int dz = -2; dz <= 2; dz++)
        for (int dy = -2; dy <= 2; dy++)
            for (int dx = -2; dx <= 2; dx++) {
                if (!holds(kind, dx, dy, dz))
                    continue;
                if (dx == 0 && dy == 0 && dz == 0)
                    stencil->center = stencil->count;
                stencil->offsets[stencil->count++] = (gsw_offset){dx, dy, dz};
            }
}

static int upper_case(int c) {
    return c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c;
}

static int same_name(const char *a, const char *b) {
    for (; *a != '\0' && upper_case(*a) == upper_case(*b); a++)
        b++;
    return upper_case(*a) == upper_case(*b);
}

gsw_status gsw_stencil_named(const char *name, gsw_stencil *stencil) {
    if (name == NULL || stencil == NULL)
        return GSW_ERROR_INVALID_ARGUMENT;
    for (size_t k = 0; k < NAMED_COUNT; k++)
        if (same_name(name, named[k].name)) {
            make_named(&named[k], stencil);
            return GSW_SUCCESS;
        }
    return GSW_ERROR_INVALID_ARGUMENT;
}

/* Negative, zero or positive as `a` is before, at or after `b` in (dz, dy, dx) order. */
static int compare(gsw_offset a, gsw_offset b) {
    if (a.dz != b.dz)
        return a.dz < b.dz ? -1 : 1;
    if (a.dy != b.dy)
        return a.dy < b.dy ? -1 : 1;
    return (a.dx > b.dx) - (a.dx < b.dx);
}

static int in_range(gsw_offset offset) {
    return offset.dx >= -GSW_OFFSET_MAX && offset.dx <= GSW_OFFSET_MAX &&
           offset.dy >= -GSW_OFFSET_MAX && offset.dy <= GSW_OFFSET_MAX &&
           offset.dz >= -GSW_OFFSET_MAX && offset.dz <= GSW_OFFSET_MAX;
}

gsw_status gsw_stencil_from_offsets(const gsw_offset *offsets, int32_t count,
                                    gsw_stencil *stencil) {
    if (offsets == NULL || stencil == NULL || count < 1 || count > GSW_STENCIL_MAX)
        return GSW_ERROR_INVALID_ARGUMENT;
    gsw_stencil made = {0};
    for (int32_t k = 0; k < count; k++) {
        if (!in_range(offsets[k]))
            return GSW_ERROR_INVALID_ARGUMENT;
        int32_t place = made.count;
        while (place > 0 && compare(offsets[k], made.offsets[place - 1]) < 0) {
            made.offsets[place] = made.offsets[place - 1];
            place--;
        }
        if (place > 0 && compare(offsets[k], made.offsets[place - 1]) == 0)
            return GSW_ERROR_INVALID_ARGUMENT;
        made.offsets[place] = offsets[k];
        made.count++;
    }
    made.center = gsw_stencil_find(&made, (gsw_offset){0, 0, 0});
    if (made.center < 0)
        return GSW_ERROR_INVALID_ARGUMENT;
    *stencil = made;
    return GSW_SUCCESS;
}

static int same_offsets(const gsw_stencil *a, const gsw_stencil *b) {
    if (a->count != b->count)
        return 0;
    for (int32_t k = 0; k < a->count; k++)
        if (compare(a->offsets[k], b->offsets[k]) != 0)
            return 0;
    return 1;
}

const char *gsw_stencil_name(const gsw_stencil *stencil) {
    if (stencil == NULL)
        return "custom";
    for (size_t k = 0; k < NAMED_COUNT; k++) {
        gsw_stencil candidate;
        make_named(&named[k], &candidate);
        if (same_offsets(stencil, &candidate))
            return named[k].name;
    }
    return "custom";
}

int32_t gsw_stencil_find(const gsw_stencil *stencil, gsw_offset offset) {
    if (stencil == NULL)
        return -1;
    int32_t low = 0, high = stencil->count;
    while (low < high) {
        int32_t middle = low + (high - low) / 2;
        int order = compare(offset, stencil->offsets[middle]);
        if (order == 0)
            return middle;
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return -1;
}
