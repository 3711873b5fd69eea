/* wraps.c: periodic grids in host memory, row by row of the seam. The CPU has the same functions.
 */
#include "contract/context.h"
#include "geometry/seam_level.h"
#include "reference/host.h"

/* Fewer rows are not worth waking the other threads. */
enum { SERIAL_LIMIT = 2048 };

static gsw_status host_open(gsw_context *context, const gsw_wraps *wraps) {
#pragma omp parallel for num_threads(context->threads) if (wraps->seam.count > SERIAL_LIMIT)
    for (int64_t k = 0; k < wraps->seam.count; k++)
        gsw_wraps_place_row(wraps, k);
    return GSW_SUCCESS;
}

static gsw_status host_take(gsw_context *context, const gsw_matrix *matrix,
                            const gsw_wraps *wraps) {
    const gsw_wraps_source source = gsw_wraps_source_of(matrix);
#pragma omp parallel for num_threads(context->threads) if (wraps->seam.count > SERIAL_LIMIT)
    for (int64_t k = 0; k < wraps->seam.count; k++)
        gsw_wraps_take_row(wraps, &source, k);
    return GSW_SUCCESS;
}

static gsw_status host_move(gsw_context *context, const gsw_wraps *wraps, double *const *arrays,
                            int back) {
    gsw_wraps_arrays to = {{NULL}};
    for (int32_t e = 0; e < wraps->count; e++)
        to.values[e] = arrays[e];
#pragma omp parallel for num_threads(context->threads) if (wraps->seam.count > SERIAL_LIMIT)
    for (int64_t k = 0; k < wraps->seam.count; k++)
        gsw_wraps_move_row(wraps, &to, back, k);
    return GSW_SUCCESS;
}

static gsw_status host_turn(gsw_context *context, const gsw_grid *grid, const int64_t by[3],
                            gsw_dtype type, const void *from, void *to) {
    const int64_t n[3] = {grid->nx, grid->ny, grid->nz}, rows = n[0] * n[1] * n[2];
#pragma omp parallel for num_threads(context->threads) if (rows > SERIAL_LIMIT)
    for (int64_t row = 0; row < rows; row++)
        gsw_value_put(to, type, gsw_turned_row(n, by, row), gsw_value_at(from, type, row));
    return GSW_SUCCESS;
}

static gsw_status host_cut(gsw_context *context, const gsw_wraps *wraps, const uint8_t *active) {
#pragma omp parallel for num_threads(context->threads) if (wraps->seam.count > SERIAL_LIMIT)
    for (int64_t k = 0; k < wraps->seam.count; k++)
        gsw_wraps_cut_row(wraps, active, k);
    return GSW_SUCCESS;
}

static gsw_status host_multiply(gsw_context *context, const gsw_wraps *wraps, gsw_dtype type,
                                double sign, const void *x, void *y, double *saved) {
#pragma omp parallel for num_threads(context->threads) if (wraps->seam.count > SERIAL_LIMIT)
    for (int64_t k = 0; k < wraps->seam.count; k++)
        gsw_wraps_add(wraps, k, type, sign * gsw_wraps_part(wraps, k, 0, 1, type, x), y, saved);
    return GSW_SUCCESS;
}

static gsw_status host_restore(gsw_context *context, const gsw_wraps *wraps, gsw_dtype type,
                               const double *saved, void *y) {
#pragma omp parallel for num_threads(context->threads) if (wraps->seam.count > SERIAL_LIMIT)
    for (int64_t k = 0; k < wraps->seam.count; k++)
        gsw_value_put(y, type, wraps->row[k], saved[k]);
    return GSW_SUCCESS;
}

static gsw_status host_weigh(gsw_context *context, const gsw_seam *seam,
                             const gsw_seam_level *level, int which, gsw_rows rows) {
    for (int size = 1; size <= 3; size++)
#pragma omp parallel for num_threads(context->threads) if (seam->count > SERIAL_LIMIT)
        for (int64_t k = 0; k < seam->count; k++) {
            int64_t at[3];
            gsw_seam_point(seam, k, at);
            gsw_seam_weigh(level, which, rows, size, at);
        }
    return GSW_SUCCESS;
}

static gsw_status host_triple(gsw_context *context, const gsw_seam *seam,
                              const gsw_seam_level *level) {
#pragma omp parallel for num_threads(context->threads) if (seam->count > SERIAL_LIMIT)
    for (int64_t k = 0; k < seam->count; k++) {
        int64_t at[3];
        double sum[GSW_SLOTS] = {0}, slots[GSW_SLOTS];
        gsw_seam_point(seam, k, at);
        for (int share = 0; share < gsw_seam_shares(level); share++)
            gsw_seam_add_share(level, at, share, 0, 1, slots, sum);
        for (int32_t slot = 0; slot < GSW_SLOTS; slot++)
            gsw_seam_put_coupling(level, at, slot, sum[slot]);
    }
    return GSW_SUCCESS;
}

static gsw_status host_prepare(gsw_context *context, const gsw_seam_level *level) {
#pragma omp parallel for num_threads(context->threads) if (level->restricted.count > SERIAL_LIMIT)
    for (int64_t k = 0; k < level->restricted.count; k++)
        gsw_seam_place_restricted(level, k);
#pragma omp parallel for num_threads(context->threads) if (level->across.count > SERIAL_LIMIT)
    for (int64_t k = 0; k < level->across.count; k++)
        gsw_seam_place_across(level, k);
    return GSW_SUCCESS;
}

static gsw_status host_restrict_residual(gsw_context *context, const gsw_wraps *wraps,
                                         const gsw_seam_level *level, const void *b, const void *x,
                                         double *residual, void *to) {
    const int64_t residuals = wraps->seam.count + level->across.count;
#pragma omp parallel for num_threads(context->threads) if (residuals > SERIAL_LIMIT)
    for (int64_t k = 0; k < residuals; k++)
        residual[k] = gsw_seam_residual(level, wraps, k, 0, 1, b, x);
#pragma omp parallel for num_threads(context->threads) if (level->restricted.count > SERIAL_LIMIT)
    for (int64_t k = 0; k < level->restricted.count; k++)
        gsw_seam_add_restricted(level, k, gsw_seam_restricted_part(level, k, 0, 1, residual), to);
    return GSW_SUCCESS;
}

static gsw_status host_prolong_add(gsw_context *context, const gsw_seam_level *level,
                                   const void *from, void *to) {
#pragma omp parallel for num_threads(context->threads) if (level->across.count > SERIAL_LIMIT)
    for (int64_t k = 0; k < level->across.count; k++)
        gsw_seam_prolong_point(level, k, from, to);
    return GSW_SUCCESS;
}

const gsw_wrap_ops gsw_host_wrap_ops = {.open = host_open,
                                        .take = host_take,
                                        .move = host_move,
                                        .turn = host_turn,
                                        .cut = host_cut,
                                        .multiply = host_multiply,
                                        .restore = host_restore,
                                        .weigh = host_weigh,
                                        .triple = host_triple,
                                        .prepare = host_prepare,
                                        .restrict_residual = host_restrict_residual,
                                        .prolong_add = host_prolong_add};
