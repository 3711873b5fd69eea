/* named_shapes.h: the lower parts of the named stencils in sweep coordinates, for which kernels are
 * specialised. The compiler derives everything from the rows of common/stencils.h. */
#ifndef GSW_NAMED_SHAPES_H
#define GSW_NAMED_SHAPES_H

#include "geometry/shape.h"

#include "common/stencils.h"

typedef enum gsw_shape_name {
    SHAPE_OTHER,
#define SHAPE_ENUM(name, lower) SHAPE_##name,
    GSW_NAMED_STENCILS(SHAPE_ENUM, GSW_NO_OFFSET)
#undef SHAPE_ENUM
        SHAPE_COUNT
} gsw_shape_name;

/* What the offsets of a shape need, as bits. The shear has a bit each for "above 0", "above 1" and
 * "above 2"; so has the halo, for each shear. */
enum {
    SHAPE_SHEAR_BIT = 0,
    SHAPE_HALO_BIT = 3,
    SHAPE_FORWARD_BIT = 12, /* an offset points forward along an axis */
    SHAPE_PLANE_BIT = 13,   /* an offset leads to another plane */
    SHAPE_LATE_BIT = 14     /* an offset is not before (-1, 0, 0) */
};
#define SHAPE_BIT(bit, holds)        | ((holds) ? 1 << (bit) : 0)
#define SHAPE_SHEAR_ABOVE(shear, dl) SHAPE_BIT(SHAPE_SHEAR_BIT + (shear), (dl) > 0)
#define SHAPE_HALO_ABOVE(shear, dl)                                                                \
    SHAPE_BIT(SHAPE_HALO_BIT + 3 * (shear), (dl) < 0)                                              \
    SHAPE_BIT(SHAPE_HALO_BIT + 3 * (shear) + 1, (dl) < -1)                                         \
    SHAPE_BIT(SHAPE_HALO_BIT + 3 * (shear) + 2, (dl) < -2)
#define SHAPE_NEEDS(dx, dy, dz)                                                                    \
    SHAPE_SHEAR_ABOVE(0, dy)                                                                       \
    SHAPE_SHEAR_ABOVE(1, (dy) + (dz))                                                              \
    SHAPE_SHEAR_ABOVE(2, (dy) + 2 * (dz))                                                          \
    SHAPE_HALO_ABOVE(0, dy)                                                                        \
    SHAPE_HALO_ABOVE(1, (dy) + (dz))                                                               \
    SHAPE_HALO_ABOVE(2, (dy) + 2 * (dz))                                                           \
    SHAPE_BIT(SHAPE_FORWARD_BIT, (dx) > 0 || (dy) > 0 || (dz) > 0)                                 \
    SHAPE_BIT(SHAPE_PLANE_BIT, (dz) != 0)                                                          \
    SHAPE_BIT(SHAPE_LATE_BIT, (dz) > 0 || ((dz) == 0 && ((dy) > 0 || ((dy) == 0 && (dx) >= -1))))
#define SHAPE_HAS(name, bit)     (SHAPE_NEEDS_##name >> (bit)&1)
#define SHAPE_OTHERS(dx, dy, dz) +1

/* For each shape: SHAPE_TERMS, its couplings; SHAPE_SHEAR, as gsw_sheared.shear; SHAPE_HALO, as
 * gsw_shape.halo; SHAPE_STAR, no coupling points forward along any axis; SHAPE_FLAT, all lie in one
 * plane. */
enum {
#define SHAPE_CONSTANTS(name, needs)                                                               \
    SHAPE_NEEDS_##name = 0 needs,                                                                  \
    SHAPE_SHEAR_##name = SHAPE_HAS(name, SHAPE_SHEAR_BIT) + SHAPE_HAS(name, SHAPE_SHEAR_BIT + 1),  \
    SHAPE_HALO_##name = SHAPE_HAS(name, SHAPE_HALO_BIT + 3 * SHAPE_SHEAR_##name) +                 \
                        SHAPE_HAS(name, SHAPE_HALO_BIT + 1 + 3 * SHAPE_SHEAR_##name),              \
    SHAPE_STAR_##name = !SHAPE_HAS(name, SHAPE_FORWARD_BIT),                                       \
    SHAPE_FLAT_##name = !SHAPE_HAS(name, SHAPE_PLANE_BIT),
    GSW_NAMED_STENCILS(SHAPE_CONSTANTS, SHAPE_NEEDS)
#undef SHAPE_CONSTANTS
#define SHAPE_CONSTANTS(name, others) SHAPE_TERMS_##name = 1 others,
        GSW_NAMED_STENCILS(SHAPE_CONSTANTS, SHAPE_OTHERS)
#undef SHAPE_CONSTANTS
            SHAPE_CONSTANTS_END
};

#ifdef __cplusplus
#define SHAPE_ASSERT static_assert
#else
#define SHAPE_ASSERT _Static_assert
#endif
#define SHAPE_CHECKS(name, lower)                                                                  \
    SHAPE_ASSERT(!SHAPE_HAS(name, SHAPE_SHEAR_BIT + 2),                                            \
                 #name ": a shear above 2 needs another bit");                                     \
    SHAPE_ASSERT(!SHAPE_HAS(name, SHAPE_HALO_BIT + 2 + 3 * SHAPE_SHEAR_##name),                    \
                 #name ": a halo above 2 needs another bit, and kernels that can shift so far");   \
    SHAPE_ASSERT(!SHAPE_HAS(name, SHAPE_LATE_BIT),                                                 \
                 #name ": an offset does not lie before (-1, 0, 0)");                              \
    SHAPE_ASSERT(2 * SHAPE_TERMS_##name + 1 <= GSW_STENCIL_MAX, #name ": too many offsets");
GSW_NAMED_STENCILS(SHAPE_CHECKS, GSW_NO_OFFSET)
#undef SHAPE_CHECKS
#undef SHAPE_ASSERT
#undef SHAPE_OTHERS
#undef SHAPE_NEEDS

/* Which of the named shapes a part is. */
static inline gsw_shape_name gsw_name_shape(const gsw_shape *shape) {
#define SHAPE_SHEAR(name, lower) SHAPE_SHEAR_##name,
    static const int32_t shear[GSW_NAMED_COUNT] = {GSW_NAMED_STENCILS(SHAPE_SHEAR, GSW_NO_OFFSET)};
#undef SHAPE_SHEAR
    for (int k = 0; k < GSW_NAMED_COUNT; k++) {
        const gsw_named_stencil *known = &gsw_named_stencils[k];
        int same = shape->count == known->terms;
        for (int32_t j = 0; same && j < known->terms; j++) {
            const gsw_offset a = shape->offset[j], b = known->lower[j];
            same = a.dx == b.dx && a.dy == b.dy && a.dz == b.dz &&
                   shape->dl[j] == b.dy + shear[k] * b.dz;
        }
        if (same)
            return (gsw_shape_name)(SHAPE_OTHER + 1 + k);
    }
    return SHAPE_OTHER;
}

#endif
