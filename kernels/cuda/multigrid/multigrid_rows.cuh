/* multigrid_rows.cuh: rows of a level's matrix, as the kernels of multigrid's set-up read them. */
#ifndef GSW_CUDA_MULTIGRID_ROWS_CUH
#define GSW_CUDA_MULTIGRID_ROWS_CUH

#include <stdlib.h>

#include "multigrid.cuh"
#include "cuda/rows/rows.cuh"
#include "cuda/vector/near.cuh"

namespace {

/* Couplings that a thread loads at once. */
enum { ROW_BATCH = 9, ROW_ENTRIES = (GSW_STENCIL_MAX + ROW_BATCH - 1) / ROW_BATCH * ROW_BATCH };

/* Stencil arrays on a grid. A parameter of kernels; most kernels exist for either type of the
 * values. */
struct level_matrix {
    int32_t nx, ny, nz;
    int32_t count, center;
    int16_t dx[ROW_ENTRIES], dy[ROW_ENTRIES], dz[ROW_ENTRIES];
    uint16_t needed[ROW_ENTRIES]; /* near.cuh; NOTHING_HAS after the last entry */
    const void *values[ROW_ENTRIES];
};
static_assert(sizeof(level_matrix) <= 2304, "more than half of what a kernel may be given");

/* A grid alone. */
struct level_grid {
    int32_t nx, ny, nz;
};

inline level_grid level_grid_of(const gsw_grid *grid) {
    return {(int32_t)grid->nx, (int32_t)grid->ny, (int32_t)grid->nz};
}

/* Offsets may reach farther than near.cuh allows only where `needed` is not used. */
inline level_matrix level_matrix_of(const gsw_matrix *matrix) {
    level_matrix m = {};
    m.nx = (int32_t)matrix->grid.nx;
    m.ny = (int32_t)matrix->grid.ny;
    m.nz = (int32_t)matrix->grid.nz;
    m.count = matrix->stencil.count;
    m.center = matrix->stencil.center;
    for (int32_t e = 0; e < ROW_ENTRIES; e++) {
        m.needed[e] = NOTHING_HAS;
        if (e >= m.count)
            continue;
        const gsw_offset o = matrix->stencil.offsets[e];
        m.dx[e] = (int16_t)o.dx;
        m.dy[e] = (int16_t)o.dy;
        m.dz[e] = (int16_t)o.dz;
        m.values[e] = array_of(matrix, e);
        if (m.values[e] && abs(o.dx) <= NEAR_REACH && abs(o.dy) <= NEAR_REACH &&
            abs(o.dz) <= NEAR_REACH)
            m.needed[e] = (uint16_t)all_needs(o.dx, o.dy, o.dz);
    }
    return m;
}

inline bool holds_f32(const gsw_matrix *matrix) {
    return !csr_of(matrix) && matrix->array.value_type == GSW_F32;
}

struct point {
    int32_t x, y, z;
};

template <typename Matrix> __device__ bool is_inside(const Matrix &m, point p) {
    return (uint32_t)p.x < (uint32_t)m.nx && (uint32_t)p.y < (uint32_t)m.ny &&
           (uint32_t)p.z < (uint32_t)m.nz;
}

template <typename Matrix> __device__ int64_t row_of(const Matrix &m, point p) {
    return p.x + (int64_t)m.nx * (p.y + (int64_t)m.ny * p.z);
}

/* Uses 32 bits if the row fits: division of 64 bits takes many times as long. */
template <typename Matrix> __device__ point point_of(const Matrix &m, int64_t row) {
    if (row <= UINT32_MAX) {
        const uint32_t line = (uint32_t)row / (uint32_t)m.nx, plane = line / (uint32_t)m.ny;
        return {(int32_t)((uint32_t)row - line * (uint32_t)m.nx),
                (int32_t)(line - plane * (uint32_t)m.ny), (int32_t)plane};
    }
    const int64_t line = row / m.nx, plane = line / m.ny;
    return {(int32_t)(row - line * m.nx), (int32_t)(line - plane * m.ny), (int32_t)plane};
}

__device__ inline point operator+(point a, point b) {
    return {a.x + b.x, a.y + b.y, a.z + b.z};
}

__device__ inline point offset_of(const level_matrix &m, int32_t e) {
    return {m.dx[e], m.dy[e], m.dz[e]};
}

/* A row inside the grid. */
struct level_row {
    int64_t row;
    uint32_t lacked;
};

__device__ inline level_row level_row_at(const level_matrix &m, point p) {
    return {row_of(m, p), all_lacks((uint32_t)p.x, (uint32_t)p.y, (uint32_t)p.z, (uint32_t)m.nx,
                                    (uint32_t)m.ny, (uint32_t)m.nz)};
}

/* Whether the row has entry e, which may lie beyond the last one. */
__device__ inline bool has_entry(const level_matrix &m, int32_t e, const level_row &r) {
    return (r.lacked & m.needed[e]) == 0;
}

template <typename Value>
__device__ double value_of(const level_matrix &m, int32_t e, int64_t row) {
    return (double)static_cast<const Value *>(m.values[e])[row];
}

/* Entry e of the row, 0 where the coupling leaves the grid. */
template <typename Value>
__device__ double entry_of(const level_matrix &m, int32_t e, const level_row &r) {
    double value = 0;
    if (has_entry(m, e, r))
        value = value_of<Value>(m, e, r.row);
    return value;
}

/* The same for any point, 0 where the row itself is outside. */
template <typename Value> __device__ double entry_at(const level_matrix &m, int32_t e, point p) {
    return is_inside(m, p) ? entry_of<Value>(m, e, level_row_at(m, p)) : 0;
}

/* The distance in rows to the entry's column. */
__device__ inline int64_t distance_of(const level_matrix &m, int32_t e) {
    return m.dx[e] + (int64_t)m.nx * (m.dy[e] + (int64_t)m.ny * m.dz[e]);
}

} // namespace

#endif
