/* distributed_local.c: preconditioners of one box each: block Jacobi and, with an overlap,
 * restricted additive Schwarz. */
#include <stdlib.h>
#include <string.h>
#include "contract/allocate.h"
#include "contract/backend.h"
#include "contract/context.h"
#include "contract/error.h"
#include "distributed_internal.h"
#include "matrix/distributed_rows.h"
#include "packed.h"

static gsw_status apply(gsw_distributed_factor *f, const void *b, void *x) {
    gsw_context *context = f->partition->context;
    if (!f->framed)
        return gsw_packed_solve(context, f->local, 1, b, 0, x, 0);
    GSW_TRY(gsw_ghosts_update(&f->overlap, b, f->framed)); /* x = M^-1 b on the frame, */
    GSW_TRY(gsw_packed_solve(context, f->local, 1, f->framed, 0, f->framed, 0));
    return gsw_ghosts_take_own(&f->overlap, f->framed, x); /* of which the box is kept */
}

static gsw_status open_factor(gsw_distributed_factor *f, const gsw_matrix *matrix) {
    gsw_context *context = f->partition->context;
    const gsw_factor_options options = gsw_distributed_part_options(f);
    GSW_TRY(
        gsw_packed_open(context, matrix, &options, (gsw_sections){.planes = f->planes}, &f->local));
    return gsw_packed_take(context, f->local, matrix, NULL);
}

/* The vector of the frame. */
static gsw_status open_overlap(gsw_distributed_factor *f, int64_t points) {
    GSW_TRY(gsw_alloc(f->partition->context, (size_t)points, sizeof *f->framed,
                      "the sweep's vector", (void **)&f->framed));
    f->bytes += points * (int64_t)sizeof *f->framed;
    return GSW_SUCCESS;
}

/* low: points of the frame before the own box. The first time the factor takes the ghosts over,
 * whatever happens next in this process: to close them is collective. */
static gsw_status fill_overlapping(gsw_distributed_factor *f, int64_t low[3]) {
    gsw_distributed_rows rows;
    const gsw_frame_reach reach = {.width = f->options.overlap};
    gsw_status status = gsw_distributed_rows_open(f->matrix, &reach, &rows);
    memcpy(low, rows.ghosts.frame.low, sizeof rows.ghosts.frame.low);
    if (status == GSW_SUCCESS && !f->overlap.partition) {
        f->overlap = rows.ghosts;
        rows.ghosts = (gsw_ghosts){.partition = NULL};
    }
    if (status == GSW_SUCCESS)
        status = f->local ? gsw_packed_take(f->partition->context, f->local, &rows.matrix, NULL)
                          : open_factor(f, &rows.matrix);
    if (status == GSW_SUCCESS && !f->framed)
        status = open_overlap(f, rows.points);
    gsw_distributed_rows_close(&rows);
    return status;
}

static gsw_status fill_own(gsw_distributed_factor *f) {
    gsw_context *context = f->partition->context;
    return f->local ? gsw_packed_take(context, f->local, &f->matrix->local, NULL)
                    : open_factor(f, &f->matrix->local);
}

/* The factor is opened with its rows. */
static gsw_status fill(gsw_distributed_factor *f) {
    const gsw_partition *p = f->partition;
    int64_t low[3] = {0, 0, 0};
    const int overlaps = f->options.overlap > 0 && p->transport.processes > 1;
    const gsw_status status = overlaps ? fill_overlapping(f, low) : fill_own(f);
    if (status != GSW_ERROR_ZERO_PIVOT || !f->local)
        return status;
    /* The factor has named a row of its box, or of the frame around it. */
    const gsw_grid *g = &f->local->grid;
    const int64_t row = f->local->info.first_bad_row;
    const int64_t x = row % g->nx, y = row / g->nx % g->ny, z = row / g->nx / g->ny;
    return gsw_factor_refuse_pivot(p->context, f->options.kind, f->matrix->row_base, &p->grid,
                                   gsw_grid_row(&p->grid, p->own.begin[0] - low[0] + x,
                                                p->own.begin[1] - low[1] + y,
                                                p->own.begin[2] - low[2] + z));
}

static gsw_status open_nothing(gsw_distributed_factor *f) {
    (void)f;
    return GSW_SUCCESS;
}

const gsw_factor_way gsw_local_way = {.open = open_nothing, .fill = fill, .apply = apply};

void gsw_local_close(gsw_distributed_factor *f) {
    gsw_packed_close(f->local);
    if (f->overlap.partition)
        gsw_ghosts_close(&f->overlap);
    free(f->framed);
}
