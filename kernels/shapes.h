/* shapes.h: the triangular parts of the named stencils, as kernels are specialised for them. */
#ifndef GSW_SHAPES_H
#define GSW_SHAPES_H

#include <geometry.h>

/* Offsets of the named stencils' lower parts, in ascending order: A(coefficient, dx, dl, plane) for
 * the neighbour dx points along x, dl lanes away and `plane` planes back. The x-1 neighbour, always
 * the last, stays in a register and is not listed. */
#define OFFSETS_D2N5(A)  A(0, 0, -1, 0)
#define OFFSETS_D2N9(A)  A(0, -1, -1, 0) A(1, 0, -1, 0) A(2, 1, -1, 0)
#define OFFSETS_D3N7(A)  A(0, 0, 0, 1) A(1, 0, -1, 0)
#define OFFSETS_D3N13(A) A(0, 0, 0, 2) A(1, 0, 0, 1) A(2, 0, -2, 0) A(3, 0, -1, 0) A(4, -2, 0, 0)
#define OFFSETS_D3N19(A)                                                                           \
    A(0, 0, -2, 1)                                                                                 \
    A(1, -1, -1, 1)                                                                                \
    A(2, 0, -1, 1) A(3, 1, -1, 1) A(4, 0, 0, 1) A(5, -1, -1, 0) A(6, 0, -1, 0) A(7, 1, -1, 0)
#define PLANE_D3N27(A, n)                                                                          \
    A(n, -1, -2, 1)                                                                                \
    A(n + 1, 0, -2, 1)                                                                             \
    A(n + 2, 1, -2, 1)                                                                             \
    A(n + 3, -1, -1, 1)                                                                            \
    A(n + 4, 0, -1, 1) A(n + 5, 1, -1, 1) A(n + 6, -1, 0, 1) A(n + 7, 0, 0, 1) A(n + 8, 1, 0, 1)
#define OFFSETS_D3N27(A) PLANE_D3N27(A, 0) A(9, -1, -1, 0) A(10, 0, -1, 0) A(11, 1, -1, 0)
#define OFFSETS_D3N33(A)                                                                           \
    A(0, 0, -2, 2)                                                                                 \
    PLANE_D3N27(A, 1)                                                                              \
    A(10, 0, -2, 0) A(11, -1, -1, 0) A(12, 0, -1, 0) A(13, 1, -1, 0) A(14, -2, 0, 0)

/* A(stencil, its halo) */
#define NAMED_SHAPES(A)                                                                            \
    A(D2N5, 1) A(D2N9, 1) A(D3N7, 1) A(D3N13, 2) A(D3N19, 2) A(D3N27, 2) A(D3N33, 2)

typedef enum gsw_shape_name {
    SHAPE_OTHER,
#define SHAPE_ENUM(name, halo) SHAPE_##name,
    NAMED_SHAPES(SHAPE_ENUM)
#undef SHAPE_ENUM
} gsw_shape_name;

/* Which of the named shapes a part is. */
static inline gsw_shape_name gsw_name_shape(const gsw_shape *shape) {
    static const struct {
        int32_t count, halo;
        struct {
            int32_t dx, dl, plane;
        } at[16];
    } known[] = {{0, 0, {{0, 0, 0}}},
#define SHAPE_OFFSET(index, x, l, p) {x, l, p},
#define SHAPE_COUNT(index, x, l, p)  +1
#define SHAPE_TABLE(name, lanes)                                                                   \
    {0 OFFSETS_##name(SHAPE_COUNT) + 1, lanes, {OFFSETS_##name(SHAPE_OFFSET)}},
                 NAMED_SHAPES(SHAPE_TABLE)
#undef SHAPE_OFFSET
#undef SHAPE_COUNT
#undef SHAPE_TABLE
    };
    for (int name = SHAPE_OTHER + 1; name < (int)(sizeof known / sizeof known[0]); name++) {
        int same = shape->count == known[name].count && shape->halo == known[name].halo &&
                   shape->back[shape->count - 1] == 1 && shape->lane[shape->count - 1] == 0;
        for (int32_t j = 0; same && j + 1 < shape->count; j++)
            same = shape->offset[j].dx == known[name].at[j].dx &&
                   shape->lane[j] == known[name].at[j].dl &&
                   -shape->offset[j].dz == known[name].at[j].plane;
        if (same)
            return (gsw_shape_name)name;
    }
    return SHAPE_OTHER;
}

#endif
