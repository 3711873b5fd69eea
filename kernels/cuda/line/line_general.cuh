/* line_general.cuh: the direct sweep for any stencil, without tiles: slow and rare. Tickets,
 * counters between lines and their proof are those of line_kernel.cuh, where each tile is one line.
 */
#ifndef GSW_CUDA_LINE_GENERAL_CUH
#define GSW_CUDA_LINE_GENERAL_CUH

#include "line_rows.cuh"

namespace {

/* Coefficient of term j in a row. False: the row has none. */
template <typename Value>
__device__ bool coefficient(const line_plan &plan, int32_t j, int32_t x, int32_t y, int32_t z,
                            int64_t row, Value *value) {
    const line_offset o = plan.term[j];
    if (!leads_inside(plan, o, x, y, z))
        return false;
    if (plan.source == LINE_ARRAYS) {
        if (plan.array[j] == NULL)
            return false;
        const int64_t stored = x + plan.step_y * y + plan.step_z * z;
        *value =
            ((const Value *)
                 plan.array[j])[plan.step * (plan.transpose ? stored + step_of(plan, o) : stored)];
        return true;
    }
    const int64_t other = row + distance(plan, o);
    const int64_t position =
        plan.transpose ? find_entry(plan, other, row) : find_entry(plan, row, other);
    if (position >= 0)
        *value = ((const Value *)plan.values)[position];
    return position >= 0;
}

/* Whether all entries of the part that a row stores belong to the stencil. */
__device__ bool row_fits(const line_plan &plan, int64_t row, int32_t x, int32_t y, int32_t z) {
    if (plan.transpose)
        return row_fits_transposed(plan, row, x, y, z);
    const csr_row found = find_row(plan, row);
    for (int64_t c = 0; c < found.length; c++) {
        const int64_t column = column_at(plan, found.begin + plan.step * c);
        bool fits = column >= row;
        for (int32_t j = 1; j < plan.terms && !fits; j++)
            fits = column == row + distance(plan, plan.term[j]) &&
                   leads_inside(plan, plan.term[j], x, y, z);
        if (!fits)
            return false;
    }
    return true;
}

/* One warp solves one line; lane i has row i of 32. Every line waits for its neighbours through
 * device memory, and lanes solve their rows one after the other. */
template <typename Value, typename Real>
__device__ void solve_line(const line_plan &plan, int64_t base, int32_t y, int32_t z) {
    const int32_t lane = threadIdx.x & 31;
    const int64_t line = y + (int64_t)plan.ny * z;
    Real *solution = (Real *)plan.x;
    for (int32_t x0 = 0; x0 < plan.nx; x0 += 32) {
        const int32_t rows = min(32, plan.nx - x0), x = x0 + lane;
        const int64_t row = line * plan.nx + x;
        for (int32_t g = lane; g < plan.groups; g += 32) {
            const line_offset o = plan.group[g];
            const int64_t other = line + o.y + (int64_t)plan.ny * o.z;
            const int64_t needed = base + min(x0 + rows + o.x, plan.nx);
            if ((uint32_t)(y + o.y) >= (uint32_t)plan.ny ||
                (uint32_t)(z + o.z) >= (uint32_t)plan.nz)
                continue;
            bounded_wait wait = {0, 0};
            while (load_acquire<scope::device>(&plan.state->progress[other]) < needed)
                if (is_due<64>(&wait) && is_over(&wait, abandonment_of(plan), other))
                    break;
        }
        __syncwarp();
        if (__any_sync(FULL_WARP, is_abandoned(abandonment_of(plan))))
            return;
        Real c = 0;
        Value value = 0, diagonal = 0;
        if (lane < rows) {
            c = ((const Real *)plan.b)[plan.step * row];
            if (plan.source == LINE_LISTS && !row_fits(plan, row, x, y, z))
                refuse_row(plan, user_row(plan, row));
            (void)coefficient(plan, 0, x, y, z, row, &diagonal);
            for (int32_t j = plan.own + 1; j < plan.terms; j++)
                if (coefficient(plan, j, x, y, z, row, &value))
                    c = multiply_add(
                        -(Real)value,
                        __ldcg(&solution[plan.step * (row + distance(plan, plan.term[j]))]), c);
        }
        for (int32_t i = 0; i < rows; i++) {
            if (lane == i) {
                for (int32_t j = plan.own; j > 0; j--)
                    if (coefficient(plan, j, x, y, z, row, &value))
                        c = multiply_add(-(Real)value,
                                         __ldcg(&solution[plan.step * (row + plan.term[j].x)]), c);
                solution[plan.step * row] = plan.unit ? c : c / (Real)diagonal;
            }
            __syncwarp();
        }
        if (lane == 0 && line != plan.withheld_line)
            store_release<scope::device>(&plan.state->progress[line], base + x0 + rows);
    }
}

template <typename Value, typename Real>
__global__ void __launch_bounds__(128) sweep_lines(const __grid_constant__ line_plan plan,
                                                   const __grid_constant__ line_tiling tiling) {
    const int64_t base = *(volatile int64_t *)&plan.state->base;
    cursor at = {0, -1, 0, 0};
    for (;;) {
        uint32_t ticket = 0;
        if ((threadIdx.x & 31) == 0)
            ticket = take_ticket(&plan.state->ticket);
        ticket = __shfl_sync(FULL_WARP, ticket, 0);
        if (ticket >= tiling.tiles || __any_sync(FULL_WARP, is_abandoned(abandonment_of(plan))))
            break;
        int32_t y, z;
        find_tile(plan, 1, 1, tiling.tiles_y, tiling.tiles_z, ticket, &at, &y, &z);
        solve_line<Value, Real>(plan, base, y - plan.shear * z, z);
    }
    leave(plan);
}

} // namespace

#endif
