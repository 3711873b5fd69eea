/* near_terms.cuh: the stencil arrays that a kernel multiplies with, and the products of a row.
 * spmv.cu has the rule for the order of the products. */
#ifndef GSW_CUDA_NEAR_TERMS_CUH
#define GSW_CUDA_NEAR_TERMS_CUH

#include <stdlib.h>

#include "common/arrays.h"
#include "cuda/device/access.cuh"
#include "cuda/device/context.cuh"
#include "near.cuh"

namespace {

__device__ float multiply_add(float a, float x, float sum) {
    return fmaf(a, x, sum);
}

__device__ double multiply_add(double a, double x, double sum) {
    return fma(a, x, sum);
}

/* The offsets whose arrays are given and that can stay inside the grid. A parameter of the kernel:
 * all threads read the same entry at a time, which the constant cache serves at once. */
template <typename Coefficient> struct stencil_terms {
    int64_t nx, ny, nz; /* planes of ghosts included */
    int64_t below;      /* planes of ghosts before the first row */
    int64_t points;
    gsw_array_steps steps;             /* from line to line, and plane to plane, of the arrays */
    int64_t distance[GSW_STENCIL_MAX]; /* in rows */
    const Coefficient *values[GSW_STENCIL_MAX];
    int16_t dx[GSW_STENCIL_MAX], dy[GSW_STENCIL_MAX], dz[GSW_STENCIL_MAX];
    int32_t count;
};
static_assert(GSW_OFFSET_MAX <= INT16_MAX, "components of offsets are kept in 16 bits");
static_assert(sizeof(stencil_terms<double>) + 3 * sizeof(void *) <= 4096,
              "a kernel takes at most 4 KiB of parameters on all devices");

/* With ghosts below and above, x has them in place (gsw_slab_rest). */
template <typename Coefficient>
stencil_terms<Coefficient> gather_terms(const gsw_matrix *matrix, int64_t below = 0,
                                        int64_t above = 0) {
    const gsw_grid *grid = &matrix->grid;
    stencil_terms<Coefficient> terms = {};
    terms.nx = grid->nx;
    terms.ny = grid->ny;
    terms.nz = grid->nz + below + above;
    terms.below = below;
    terms.points = grid->nx * grid->ny * grid->nz;
    terms.steps = gsw_array_steps_of(matrix);
    for (int32_t e = 0; e < matrix->stencil.count; e++) {
        const gsw_offset o = matrix->stencil.offsets[e];
        const Coefficient *values = static_cast<const Coefficient *>(matrix->array.values[e]);
        if (!values || o.dx <= -grid->nx || o.dx >= grid->nx || o.dy <= -grid->ny ||
            o.dy >= grid->ny || o.dz <= -terms.nz || o.dz >= terms.nz)
            continue;
        terms.distance[terms.count] = gsw_grid_row(grid, o.dx, o.dy, o.dz);
        terms.values[terms.count] = values;
        terms.dx[terms.count] = static_cast<int16_t>(o.dx);
        terms.dy[terms.count] = static_cast<int16_t>(o.dy);
        terms.dz[terms.count] = static_cast<int16_t>(o.dz);
        terms.count++;
    }
    return terms;
}

/* The same for stencils that reach two points or less along each axis, as all named ones do, and
 * for grids of at most NEAR_POINTS points. A term then takes few instructions, and the speed of
 * memory is the limit. Terms come in batches, whose loads are under way together. */
enum { BATCH = 7, SMALL_BATCH = 4, NEAR_TERMS = (GSW_STENCIL_MAX + BATCH - 1) / BATCH * BATCH };
constexpr int64_t NEAR_POINTS = int64_t{1} << 30; /* rows, and steps over the grid, in 32 bits */

template <typename Coefficient> struct near_terms {
    uint32_t nx, ny, nz, below, points; /* as stencil_terms has them */
    uint32_t step_y, step_z;            /* of the arrays, as stencil_terms has them */
    uint32_t section_z, section_y;      /* extents of a section, along z and y + shear z */
    uint32_t shear, planes;             /* and planes of all points */
    int32_t down;                       /* the sweep goes backwards */
    int32_t batches;                    /* of terms for all points, */
    int32_t edge_batches; /* and, after them, of those for the edges of sections only */
    int32_t distance[NEAR_TERMS];
    uint32_t needed[NEAR_TERMS];
    const Coefficient *values[NEAR_TERMS];
};
static_assert(sizeof(near_terms<double>) + 3 * sizeof(void *) <= 4096,
              "a kernel takes at most 4 KiB of parameters on all devices");

template <typename Coefficient> bool all_near(const stencil_terms<Coefficient> &terms) {
    bool near = terms.nx * terms.ny * terms.nz <= NEAR_POINTS;
    for (int32_t e = 0; e < terms.count; e++)
        near = near && abs(terms.dx[e]) <= NEAR_REACH && abs(terms.dy[e]) <= NEAR_REACH &&
               abs(terms.dz[e]) <= NEAR_REACH;
    return near;
}

/* Adds the terms as batches from `first` on; edges_of gives the edges of a term. Returns the number
 * of batches. */
template <int batch, typename Coefficient, typename Edges>
int32_t add_batches(const stencil_terms<Coefficient> &terms, int32_t first, Edges edges_of,
                    near_terms<Coefficient> *near) {
    const int32_t batches = (terms.count + batch - 1) / batch;
    for (int32_t e = 0; e < batches * batch; e++) {
        const bool some = e < terms.count;
        const int32_t to = first * batch + e;
        near->distance[to] = some ? static_cast<int32_t>(terms.distance[e]) : 0;
        near->needed[to] =
            some ? all_needs(terms.dx[e], terms.dy[e], terms.dz[e]) | edges_of(e) : NOTHING_HAS;
        near->values[to] = some ? terms.values[e] : nullptr;
    }
    return batches;
}

template <int batch, typename Coefficient>
near_terms<Coefficient> narrow_terms(const stencil_terms<Coefficient> &terms) {
    near_terms<Coefficient> near = {};
    near.nx = static_cast<uint32_t>(terms.nx);
    near.ny = static_cast<uint32_t>(terms.ny);
    near.nz = static_cast<uint32_t>(terms.nz);
    near.below = static_cast<uint32_t>(terms.below);
    near.points = static_cast<uint32_t>(terms.points);
    near.step_y = static_cast<uint32_t>(terms.steps.y);
    near.step_z = static_cast<uint32_t>(terms.steps.z);
    const auto everywhere = [](int32_t) { return EDGE_ALWAYS; };
    near.batches = add_batches<batch>(terms, 0, everywhere, &near);
    return near;
}

/* The edges that a point lies at. */
template <typename Coefficient>
__device__ __forceinline__ uint32_t edges_at(const near_terms<Coefficient> &terms, uint32_t y,
                                             uint32_t z) {
    uint32_t plane = z % terms.section_z, line = (y + terms.shear * z) % terms.section_y;
    if (terms.down) { /* the last section may be a thinner one */
        plane = min(terms.section_z - 1 - plane, terms.planes - 1 - z);
        line = terms.section_y - 1 - line;
    }
    return EDGE_ALWAYS | (plane == 0 ? EDGE_PLANE : 0u) | (line < 1 ? EDGE_LINE : 0u) |
           (line < 2 ? EDGE_LINES : 0u);
}

/* Whether a term counts for a point that lacks neighbours and lies at edges. */
template <bool sections>
__device__ __forceinline__ bool has_term(uint32_t lacked, uint32_t needed) {
    const uint32_t both = lacked & needed;
    return sections ? (both & LACKS) == 0 && both != 0 : both == 0;
}

/* Adds, or subtracts, the products of a row. */
template <typename Value> struct added {
    Value value;
    __device__ void take(Value a, Value x, int32_t) {
        value = multiply_add(a, x, value);
    }
};

template <typename Value> struct subtracted {
    Value value;
    __device__ void take(Value a, Value x, int32_t) {
        value = multiply_add(-a, x, value);
    }
};

/* A x, and A S x where S changes signs at random. */
struct added_twice {
    double value, turned;
    __device__ void take(double a, double x, int32_t row) {
        value = multiply_add(a, x, value);
        turned = multiply_add(gsw_changes_sign(row) ? -a : a, x, turned);
    }
};

/* Gives all products of a row to the sums, one for each of `count` vectors, which are `stride`
 * values apart. The matrix is read once. */
template <int batch, bool sections = false, typename Value, typename Coefficient, typename Sum,
          int count>
__device__ __forceinline__ void near_row(const near_terms<Coefficient> &terms, uint32_t row,
                                         const Value *x, int64_t stride, Sum (&sum)[count]) {
    const uint32_t line = row / terms.nx, pz = line / terms.ny;
    const uint32_t px = row - line * terms.nx, py = line - pz * terms.ny;
    const uint32_t at = px + py * terms.step_y + pz * terms.step_z; /* in the arrays */
    uint32_t lacked = all_lacks(px, py, pz + terms.below, terms.nx, terms.ny, terms.nz);
    int32_t batches = terms.batches;
    if (sections) {
        const uint32_t edges = edges_at(terms, py, pz);
        lacked |= edges;
        batches += edges == EDGE_ALWAYS ? 0 : terms.edge_batches;
    }
    for (int32_t first = 0; first < batches * batch; first += batch) {
        Value a[batch] = {}, neighbour[batch][count] = {};
#pragma unroll
        for (int k = 0; k < batch; k++) {
            const int32_t e = first + k;
            if (has_term<sections>(lacked, terms.needed[e])) {
                a[k] = static_cast<Value>(terms.values[e][at]);
#pragma unroll
                for (int j = 0; j < count; j++)
                    neighbour[k][j] =
                        (x + j * stride)[static_cast<int32_t>(row) + terms.distance[e]];
            }
        }
#pragma unroll
        for (int k = 0; k < batch; k++)
            if (has_term<sections>(lacked, terms.needed[first + k]))
#pragma unroll
                for (int j = 0; j < count; j++)
                    sum[j].take(a[k], neighbour[k][j],
                                static_cast<int32_t>(row) + terms.distance[first + k]);
    }
}

/* The same for `lines` rows from row (px, py, pz) on that follow one another along y, where all
 * lines of a plane have the same coefficients, which are read once. */
template <int batch, int lines, typename Value, typename Coefficient, typename Sum>
__device__ __forceinline__ void near_lines(const near_terms<Coefficient> &terms, uint32_t px,
                                           uint32_t py, uint32_t pz, const Value *x,
                                           Sum (&sum)[lines]) {
    uint32_t row[lines], lacked[lines];
#pragma unroll
    for (int l = 0; l < lines; l++) {
        const bool inside = py + l < terms.ny;
        row[l] = px + terms.nx * (inside ? py + l : py) + terms.nx * terms.ny * pz;
        lacked[l] =
            inside ? all_lacks(px, py + l, pz + terms.below, terms.nx, terms.ny, terms.nz) : ~0u;
    }
    for (int32_t first = 0; first < terms.batches * batch; first += batch) {
        Value a[batch] = {}, neighbour[batch][lines];
        /* A load without need is cheaper than a branch, and all are under way together. */
#pragma unroll
        for (int k = 0; k < batch; k++) {
            const int32_t e = first + k;
            if (terms.needed[e] != NOTHING_HAS)
                a[k] = static_cast<Value>(terms.values[e][px + pz * terms.step_z]);
#pragma unroll
            for (int l = 0; l < lines; l++) {
                const bool has = (lacked[l] & terms.needed[e]) == 0;
                const uint32_t from = row[l] + static_cast<uint32_t>(terms.distance[e]);
                load_global<1>(&neighbour[k][l], x + (has ? from : row[l]));
            }
        }
#pragma unroll
        for (int k = 0; k < batch; k++)
#pragma unroll
            for (int l = 0; l < lines; l++) {
                Sum next = sum[l];
                next.take(a[k], neighbour[k][l], 0);
                if ((lacked[l] & terms.needed[first + k]) == 0)
                    sum[l] = next;
            }
    }
}

__device__ __forceinline__ bool is_within(int64_t i, int64_t extent) {
    return static_cast<uint64_t>(i) < static_cast<uint64_t>(extent);
}

/* x = i mod nx, returns i div nx; in 32 bits where the grid allows, which is much faster. */
__device__ __forceinline__ int64_t split(int64_t i, int64_t nx, bool narrow, int64_t *x) {
    int64_t rest = narrow ? static_cast<uint32_t>(i) / static_cast<uint32_t>(nx) : i / nx;
    *x = i - rest * nx;
    return rest;
}

/* Gives all products of a row to the sum, for any offsets. */
template <typename Value, typename Coefficient, typename Sum>
__device__ __forceinline__ void any_row(const stencil_terms<Coefficient> &terms, int64_t row,
                                        const Value *x, Sum (&sum)[1]) {
    const bool narrow = terms.points <= int64_t{UINT32_MAX};
    int64_t px, py;
    const int64_t line = split(row, terms.nx, narrow, &px);
    const int64_t own_z = split(line, terms.ny, narrow, &py), pz = own_z + terms.below;
    const int64_t at = px + py * terms.steps.y + own_z * terms.steps.z; /* in the arrays */
#pragma unroll 4
    for (int32_t e = 0; e < terms.count; e++) {
        const bool inside = is_within(px + terms.dx[e], terms.nx) &&
                            is_within(py + terms.dy[e], terms.ny) &&
                            is_within(pz + terms.dz[e], terms.nz);
        const Value a = inside ? static_cast<Value>(terms.values[e][at]) : 0;
        const Value neighbour = inside ? x[row + terms.distance[e]] : 0;
        Sum next = sum[0];
        next.take(a, neighbour, 0);
        if (inside)
            sum[0] = next;
    }
}

/* The same where all are near. */
template <typename Value, typename Coefficient, typename Sum>
__device__ __forceinline__ void any_row(const near_terms<Coefficient> &terms, int64_t row,
                                        const Value *x, Sum (&sum)[1]) {
    near_row<BATCH>(terms, static_cast<uint32_t>(row), x, 0, sum);
}

/* A matrix with only those arrays that lie before the diagonal (side < 0) or after it: all of them,
 * or those that can lead to another section. */
struct part_of_matrix {
    gsw_matrix matrix;
    const void *values[GSW_STENCIL_MAX];

    part_of_matrix(const gsw_matrix *whole, int side, const gsw_sections *sections = nullptr)
        : matrix(*whole), values() {
        for (int32_t e = 0; e < whole->stencil.count; e++) {
            const gsw_offset o = whole->stencil.offsets[e];
            const bool wanted = side < 0 ? e < whole->stencil.center : e > whole->stencil.center;
            const bool leads = !sections || (sections->planes > 0 && o.dz != 0) ||
                               (sections->lines > 0 && o.dy + sections->shear * o.dz != 0);
            values[e] = wanted && leads ? whole->array.values[e] : nullptr;
        }
        matrix.array.values = values;
    }
};

/* The part of a matrix that a sweep of sections leaves (multigrid_ops.h). All of its terms are
 * near: those ahead of the sweep, and at the edges of sections those behind it, in the sections
 * before. */
template <typename Coefficient> struct rest_of_sections {
    stencil_terms<Coefficient> ahead, behind;
    gsw_sections sections;
    uint32_t planes;
    int down;

    rest_of_sections(const gsw_matrix *matrix, int down, const gsw_sections &sections,
                     int64_t below = 0, int64_t above = 0)
        : sections(sections), planes(static_cast<uint32_t>(matrix->grid.nz)), down(down) {
        const part_of_matrix first(matrix, down ? -1 : 1), second(matrix, down ? 1 : -1, &sections);
        ahead = gather_terms<Coefficient>(&first.matrix, below, above);
        behind = gather_terms<Coefficient>(&second.matrix, below, above);
    }

    /* The edges across which a term behind the sweep leads. */
    uint32_t edges_of(int32_t e) const {
        const int32_t back = down ? 1 : -1, lines = behind.dy[e] + sections.shear * behind.dz[e];
        return crosses(sections.planes > 0 ? back * behind.dz[e] : 0,
                       sections.lines > 0 ? back * lines : 0);
    }

    template <int batch> near_terms<Coefficient> terms() const {
        constexpr uint32_t uncut = UINT32_MAX / 2;
        near_terms<Coefficient> near = narrow_terms<batch>(ahead);
        near.section_z = sections.planes > 0 ? static_cast<uint32_t>(sections.planes) : uncut;
        near.section_y = sections.lines > 0 ? static_cast<uint32_t>(sections.lines) : uncut;
        near.shear = static_cast<uint32_t>(sections.shear);
        near.planes = planes;
        near.down = down;
        const auto own = [&](int32_t e) { return edges_of(e); };
        near.edge_batches = add_batches<batch>(behind, near.batches, own, &near);
        return near;
    }
};

} // namespace

#endif
