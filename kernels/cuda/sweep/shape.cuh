/* shape.cuh: the named shapes as constants of the compiler: couplings, tile, skew, and what follows
 * from these. */
#ifndef GSW_CUDA_SHAPE_CUH
#define GSW_CUDA_SHAPE_CUH

#include "movers.cuh"
#include "packed.cuh"

namespace {

struct coupling {
    int dx, dl, plane;
};

/* The couplings of a named shape in ascending order; the last is x - 1. */
template <int name> struct couplings_of;
#define SHAPE_COUPLING(dx, dy, dz) {dx, (dy) + shear * (dz), -(dz)},
#define SHAPE_COUPLINGS(name, lower)                                                               \
    template <> struct couplings_of<SHAPE_##name> {                                                \
        static constexpr int shear = SHAPE_SHEAR_##name;                                           \
        static __host__ __device__ constexpr coupling at(int j) {                                  \
            constexpr coupling table[] = {lower{-1, 0, 0}};                                        \
            return table[j];                                                                       \
        }                                                                                          \
        static __host__ __device__ constexpr int count() {                                         \
            return SHAPE_TERMS_##name;                                                             \
        }                                                                                          \
    };
GSW_NAMED_STENCILS(SHAPE_COUPLINGS, SHAPE_COUPLING)
#undef SHAPE_COUPLINGS
#undef SHAPE_COUPLING

constexpr __host__ __device__ int larger_of(int a, int b) {
    return a > b ? a : b;
}

constexpr __host__ __device__ int floor_div(int a, int b) {
    return a >= 0 ? a / b : -((b - 1 - a) / b);
}

/* Where a line's neighbour is: `lane_y` and `lane_z` lanes away, member `member` of that lane. */
struct source {
    int lane_y, lane_z, member;
    int nearest; /* smallest number of steps back that any line reads it */
};

/* What follows from a shape and its tile: as gsw_tiles_skew() and gsw_tiles_cut(). */
template <int name> struct shape_of {
    using table = couplings_of<name>;
    static constexpr int terms = table::count();
    static constexpr gsw_tile_shape tile = tile_of_shape(name, BULK_COPIES);
    static constexpr int lanes_y = tile.lanes_y, lanes_z = 32 / lanes_y;
    static constexpr int lines_y = tile.lines_y, lines_z = tile.lines_z;
    static constexpr int members = lines_y * lines_z;
    static constexpr int tile_y = lanes_y * lines_y, tile_z = lanes_z * lines_z;

    static __host__ __device__ constexpr int find_skew_y() {
        int skew = 0;
        for (int j = 0; j < terms; j++) {
            const coupling c = table::at(j);
            if (c.dl < 0 && c.plane == 0)
                skew = larger_of(skew, -floor_div(-(c.dx + 1), -c.dl));
        }
        return skew;
    }
    static __host__ __device__ constexpr int find_skew_z() {
        int skew = 0;
        for (int j = 0; j < terms; j++) {
            const coupling c = table::at(j);
            if (c.plane > 0)
                skew = larger_of(skew, -floor_div(-(c.dx + find_skew_y() * c.dl + 1), c.plane));
        }
        return skew;
    }
    static __host__ __device__ constexpr int find_halo(bool z) {
        int halo = 0;
        for (int j = 0; j < terms; j++)
            halo = larger_of(halo, z ? table::at(j).plane : -table::at(j).dl);
        return halo;
    }
    static __host__ __device__ constexpr bool find_corner() {
        for (int j = 0; j < terms; j++) {
            if (table::at(j).plane > 0 && table::at(j).dl < 0)
                return true;
        }
        return false;
    }
    static constexpr int skew_y = find_skew_y(), skew_z = find_skew_z();
    static constexpr int halo_y = find_halo(false), halo_z = find_halo(true);
    static constexpr bool corner = find_corner();

    /* Every coupling leads backward, to this tile or one next to it; offsets ascend. */
    static __host__ __device__ constexpr bool find_order() {
        for (int j = 0; j < terms; j++) {
            const coupling c = table::at(j);
            if (c.dl > 0 || c.plane < 0 || back(j) < 1)
                return false;
            if (j == 0)
                continue;
            const coupling before = table::at(j - 1);
            const int dy = c.dl + table::shear * c.plane;
            const int dy_before = before.dl + table::shear * before.plane;
            if (before.plane != c.plane ? before.plane < c.plane
                : dy_before != dy       ? dy_before > dy
                                        : before.dx >= c.dx)
                return false;
        }
        return true;
    }

    static __host__ __device__ constexpr int back(int j) {
        const coupling c = table::at(j);
        return -c.dx - skew_y * c.dl + skew_z * c.plane;
    }
    static __host__ __device__ constexpr int find_reach() {
        int most = 0;
        for (int j = 0; j < terms; j++)
            most = larger_of(most, back(j));
        return most;
    }
    /* The neighbour that coupling j of the lane's line `member` leads to. */
    static __host__ __device__ constexpr source of(int j, int member) {
        const coupling c = table::at(j);
        const int along_y = lines_y == 2 ? member + c.dl : 0;
        const int along_z = lines_z == 2 ? member - c.plane : 0;
        return {lines_y == 2 ? floor_div(along_y, 2) : c.dl,
                lines_z == 2 ? floor_div(along_z, 2) : -c.plane,
                lines_y == 2   ? along_y - 2 * floor_div(along_y, 2)
                : lines_z == 2 ? along_z - 2 * floor_div(along_z, 2)
                               : 0,
                back(j)};
    }
    static __host__ __device__ constexpr bool same(source a, source b) {
        return a.lane_y == b.lane_y && a.lane_z == b.lane_z && a.member == b.member;
    }
    static __host__ __device__ constexpr bool own(source a) {
        return a.lane_y == 0 && a.lane_z == 0;
    }
    /* The distinct neighbours outside the lane: number i, or how many there are (i < 0). */
    struct list {
        source at[2 * terms];
        int count;
    };
    static __host__ __device__ constexpr list find_sources() {
        list found = {};
        for (int j = 0; j < terms; j++) {
            for (int m = 0; m < members; m++) {
                const source s = of(j, m);
                if (own(s))
                    continue;
                int i = 0;
                while (i < found.count && !same(found.at[i], s))
                    i++;
                if (i == found.count)
                    found.at[found.count++] = s;
                else if (s.nearest < found.at[i].nearest)
                    found.at[i].nearest = s.nearest;
            }
        }
        return found;
    }
    static __host__ __device__ constexpr int sources() {
        return find_sources().count;
    }
    static __host__ __device__ constexpr source source_at(int i) {
        return find_sources().at[i];
    }
    static __host__ __device__ constexpr int source_index(int j, int member) {
        for (int i = 0; i < sources(); i++) {
            if (same(source_at(i), of(j, member)))
                return i;
        }
        return -1;
    }
    static __host__ __device__ constexpr int farthest(int i) {
        int most = 0;
        for (int j = 0; j < terms; j++) {
            for (int m = 0; m < members; m++) {
                if (source_index(j, m) == i)
                    most = larger_of(most, back(j));
            }
        }
        return most;
    }
    /* Source i can be read together with source i + 1. */
    static __host__ __device__ constexpr bool pair(int i) {
        if (members < 2 || i + 1 >= sources())
            return false;
        const source a = source_at(i), b = source_at(i + 1);
        return a.lane_y == b.lane_y && a.lane_z == b.lane_z && a.member == 0 && b.member == 1 &&
               a.nearest == b.nearest;
    }

    /* A row of the ring, in values. */
    static constexpr int own_values = 32 * members;
    static constexpr int face_y = halo_y * tile_z, face_z = halo_z * tile_y;
    static constexpr int face_c = corner ? halo_y * halo_z : 0;
    static constexpr int row_values = own_values + face_y + face_z + face_c;
};

#define SHAPE_CHECKS(name, lower)                                                                  \
    static_assert(shape_of<SHAPE_##name>::find_order(),                                            \
                  #name ": offsets must ascend, and couplings lead backward");                     \
    static_assert(shape_of<SHAPE_##name>::halo_y == SHAPE_HALO_##name,                             \
                  #name ": the halo is not that of named_shapes.h");                               \
    static_assert(shape_of<SHAPE_##name>::halo_y <= shape_of<SHAPE_##name>::tile_y &&              \
                      shape_of<SHAPE_##name>::halo_z <= shape_of<SHAPE_##name>::tile_z,            \
                  #name ": a tile reads the tiles next to it only");
GSW_NAMED_STENCILS(SHAPE_CHECKS, GSW_NO_OFFSET)
#undef SHAPE_CHECKS

} // namespace

#endif
