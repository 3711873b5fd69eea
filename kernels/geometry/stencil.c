/* stencil.c: named stencils, stencils from offsets, look-up. */
#include <stddef.h>

#include "common/stencils.h"

#define LOWER_OFFSET(dx, dy, dz)  {dx, dy, dz},
#define LOWER_OFFSETS(name, part) static const gsw_offset lower_##name[] = {part{-1, 0, 0}};
GSW_NAMED_STENCILS(LOWER_OFFSETS, LOWER_OFFSET)

#define NAMED(name, part) {#name, sizeof lower_##name / sizeof lower_##name[0], lower_##name},
const gsw_named_stencil gsw_named_stencils[GSW_NAMED_COUNT] = {
    GSW_NAMED_STENCILS(NAMED, GSW_NO_OFFSET)};

static void make_named(const gsw_named_stencil *named, gsw_stencil *stencil) {
    const int32_t center = named->terms;
    *stencil = (gsw_stencil){.count = 2 * center + 1, .center = center};
    for (int32_t j = 0; j < center; j++) {
        const gsw_offset o = named->lower[j];
        stencil->offsets[j] = o;
        stencil->offsets[2 * center - j] = (gsw_offset){-o.dx, -o.dy, -o.dz};
    }
}

const char *gsw_stencil_known(int32_t k) {
    return k >= 0 && k < GSW_NAMED_COUNT ? gsw_named_stencils[k].name : NULL;
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
    for (int k = 0; k < GSW_NAMED_COUNT; k++)
        if (same_name(name, gsw_named_stencils[k].name)) {
            make_named(&gsw_named_stencils[k], stencil);
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
    gsw_stencil sorted = {0};
    for (int32_t k = 0; k < count; k++) {
        if (!in_range(offsets[k]))
            return GSW_ERROR_INVALID_ARGUMENT;
        int32_t place = sorted.count;
        while (place > 0 && compare(offsets[k], sorted.offsets[place - 1]) < 0) {
            sorted.offsets[place] = sorted.offsets[place - 1];
            place--;
        }
        if (place > 0 && compare(offsets[k], sorted.offsets[place - 1]) == 0)
            return GSW_ERROR_INVALID_ARGUMENT;
        sorted.offsets[place] = offsets[k];
        sorted.count++;
    }
    sorted.center = gsw_stencil_find(&sorted, (gsw_offset){0, 0, 0});
    if (sorted.center < 0)
        return GSW_ERROR_INVALID_ARGUMENT;
    *stencil = sorted;
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
    for (int k = 0; k < GSW_NAMED_COUNT; k++) {
        gsw_stencil candidate;
        make_named(&gsw_named_stencils[k], &candidate);
        if (same_offsets(stencil, &candidate))
            return gsw_named_stencils[k].name;
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
