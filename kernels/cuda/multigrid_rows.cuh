/* multigrid_rows.cuh: rows of a level's matrix, as the kernels of multigrid's set-up read them. */
#ifndef GSW_CUDA_MULTIGRID_ROWS_CUH
#define GSW_CUDA_MULTIGRID_ROWS_CUH

#include "cuda/multigrid.cuh"

namespace {

/* Stencil arrays on a grid. A parameter of kernels. */
struct level_matrix {
    int32_t nx, ny, nz;
    int32_t count, center;
    bool f32;
    int16_t dx[GSW_STENCIL_MAX], dy[GSW_STENCIL_MAX], dz[GSW_STENCIL_MAX];
    const void *values[GSW_STENCIL_MAX];
};
static_assert(sizeof(level_matrix) <= 2048, "half of what a kernel may be given");

/* A grid alone. */
inline level_matrix level_grid_of(const gsw_grid *grid) {
    level_matrix m = {};
    m.nx = (int32_t)grid->nx;
    m.ny = (int32_t)grid->ny;
    m.nz = (int32_t)grid->nz;
    return m;
}

inline level_matrix level_matrix_of(const gsw_matrix *matrix) {
    level_matrix m = level_grid_of(&matrix->grid);
    m.count = matrix->stencil.count;
    m.center = matrix->stencil.center;
    for (int32_t e = 0; e < m.count; e++) {
        m.dx[e] = (int16_t)matrix->stencil.offsets[e].dx;
        m.dy[e] = (int16_t)matrix->stencil.offsets[e].dy;
        m.dz[e] = (int16_t)matrix->stencil.offsets[e].dz;
    }
    if (matrix->format == GSW_FORMAT_STENCIL) {
        m.f32 = matrix->array.value_type == GSW_F32;
        memcpy(m.values, matrix->array.values, (size_t)m.count * sizeof *m.values);
    }
    return m;
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

/* Division of 64 bits takes many times as long. */
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

__device__ inline double value_of(const level_matrix &m, int32_t e, int64_t row) {
    return m.f32 ? (double)static_cast<const float *>(m.values[e])[row]
                 : static_cast<const double *>(m.values[e])[row];
}

/* Entry e of a row inside the grid, 0 where the coupling leaves it. */
__device__ inline double coupling_of(const level_matrix &m, int32_t e, point p, int64_t row) {
    return m.values[e] && is_inside(m, p + offset_of(m, e)) ? value_of(m, e, row) : 0;
}

/* The same for any point, 0 where the row itself is outside. */
__device__ inline double entry_at(const level_matrix &m, int32_t e, point p) {
    return is_inside(m, p) ? coupling_of(m, e, p, row_of(m, p)) : 0;
}

} // namespace

#endif
