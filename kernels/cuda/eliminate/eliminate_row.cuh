/* eliminate_row.cuh: what the kernels of an elimination share: where a point's values lie, pivots,
 * and abandoning. */
#ifndef GSW_CUDA_ELIMINATE_ROW_CUH
#define GSW_CUDA_ELIMINATE_ROW_CUH

#include <float.h>
#include <math.h>
#include "common/pivot.h"
#include "eliminate_plan.cuh"
#include "cuda/device/handover.cuh"

namespace {

/* ---- Where values lie -------------------------------------------------------------------------
 */

/* A line of a pencil, for one thread. */
struct eliminate_line {
    int64_t row;                /* of x = 0, the user's */
    int64_t record;             /* first record of the pencil in the lower part */
    const eliminate_near *near; /* the pencils before it */
    int32_t ticket[2][2];       /* of those at most one tile before it, in the upper part: [z][y] */
    int32_t ly, lz;
    int32_t lane, member;
    int32_t trail; /* steps by which it trails the pencil's first line */
    int32_t inside;
};

/* One point's values in one part. */
struct eliminate_spot {
    int64_t record;
    int32_t lane, member;
};

__device__ __forceinline__ eliminate_line line_of(const eliminate_plan &plan, int32_t ticket,
                                                  int32_t lane, int32_t member) {
    const gsw_pencil pencil = plan.table[ticket];
    eliminate_line line;
    const int32_t lane_y = lane & ((1 << plan.lanes_bits) - 1), lane_z = lane >> plan.lanes_bits;
    line.ly = (lane_y << plan.lines_y_bits) + (member & ((1 << plan.lines_y_bits) - 1));
    line.lz = (lane_z << plan.lines_z_bits) + (member >> plan.lines_y_bits);
    const int64_t z = (int64_t)pencil.k * plan.tile_z + line.lz;
    const int64_t y = (int64_t)pencil.j * plan.tile_y + line.ly - plan.shear * z;
    line.row = y * plan.stride[1] + z * plan.stride[2];
    line.record = (int64_t)ticket * plan.records;
    line.near = plan.near + (int64_t)ticket * plan.near_y * plan.near_z;
    for (int32_t i = 0; i < 2; i++) {
        for (int32_t j = 0; j < 2; j++)
            line.ticket[i][j] = line.near[i * plan.near_y + j].upper;
    }
    line.lane = lane;
    line.member = member;
    line.trail = plan.skew_y * line.ly + plan.skew_z * line.lz;
    line.inside = y >= 0 && y < plan.ny && z < plan.nz;
    return line;
}

/* step mod records, without a division: the quotient is at most 1 too small. */
__device__ __forceinline__ int32_t record_of(const eliminate_plan &plan, int32_t step) {
    const uint32_t quotient = __umulhi((uint32_t)step, plan.per_record);
    const int32_t rest = step - (int32_t)quotient * plan.records;
    return rest < plan.records ? rest : rest - plan.records;
}

/* Point x of line (ly, lz) of a pencil, as the upper part keeps it: see MIRROR in tiles.h. */
__device__ __forceinline__ eliminate_spot upper_spot(const eliminate_plan &plan, int32_t ticket,
                                                     int32_t x, int32_t ly, int32_t lz) {
    const int32_t step = plan.nx - 1 - x + plan.skew_y * (plan.tile_y - 1 - ly) +
                         plan.skew_z * (plan.tile_z - 1 - lz);
    const int32_t lane = (ly >> plan.lines_y_bits) + (lz >> plan.lines_z_bits << plan.lanes_bits);
    const int32_t member = (ly & ((1 << plan.lines_y_bits) - 1)) +
                           ((lz & ((1 << plan.lines_z_bits) - 1)) << plan.lines_y_bits);
    return {(int64_t)ticket * plan.records + record_of(plan, step), GSW_TILE_LANES - 1 - lane,
            plan.members - 1 - member};
}

/* How many tiles before the row's own tile a line lies; `line` counts from that tile's first one.
 */
__device__ __forceinline__ int32_t tiles_before(int32_t line, int32_t tile) {
    if (line >= 0)
        return 0;
    return line >= -tile ? 1 : (-line - 1) / tile + 1;
}

/* Where the neighbour's values are in the upper part. If there is no such point, it is the row's
 * own place: the row's coefficient is then zero, and nothing depends on the value that is read. */
__device__ __forceinline__ eliminate_spot neighbour_spot(const eliminate_plan &plan,
                                                         const eliminate_line &line, int32_t x,
                                                         eliminate_coupling to) {
    const int32_t y = line.ly + to.dl, z = line.lz + to.dz;
    const int32_t before_y = tiles_before(y, plan.tile_y), before_z = tiles_before(z, plan.tile_z);
    const int32_t ticket = line.near[before_z * plan.near_y + before_y].upper;
    if (ticket < 0 || x + to.dx < 0 || x + to.dx >= plan.nx)
        return upper_spot(plan, line.ticket[0][0], x, line.ly, line.lz);
    return upper_spot(plan, ticket, x + to.dx, y + before_y * plan.tile_y,
                      z + before_z * plan.tile_z);
}

/* ---- Pivots -----------------------------------------------------------------------------------
 */

/* The value that replaces a bad pivot: a multiple of the largest of the row's `count` coefficients,
 * as the updates have left them. */
template <int Count>
__device__ __forceinline__ double mend_pivot(const eliminate_plan &plan, const double *row,
                                             int32_t count, double pivot, int64_t number) {
    if (!(plan.pivot_shift > 0)) {
        note_lowest(&plan.pivots->bad, number);
        return pivot;
    }
    double largest = 0;
#pragma unroll
    for (int32_t e = 0; e < (Count > 0 ? Count : count); e++)
        largest = gsw_pivot_larger(largest, row[e]);
    note_one(&plan.pivots->shifted);
    return gsw_pivot_shifted(pivot, plan.pivot_shift, largest, plan.positive);
}

/* v where c is not zero, else 0. */
__device__ __forceinline__ double where_nonzero(double c, double v) {
    return c != 0 ? v : 0;
}

/* ---- Abandoning ---------------------------------------------------------------------------------
 */

__device__ __forceinline__ abandonment<uint32_t> abandonment_of(const eliminate_plan &plan) {
    return {&plan.state->abandoned, 1u, plan.report, plan.wait_limit_ns, GSW_CUDA_PENCIL};
}

} // namespace

#endif
