/* distributed_relaid.c: exact sweeps of boxes that are no slabs along the last axis.
 *
 * Sweeps of slabs overlap best. So the grid is laid out again: each process gets the rows of its
 * slab, and the factor is that of slabs. An application brings b to the slabs and x back. */
#include <stdlib.h>
#include <string.h>
#include "contract/allocate.h"
#include "contract/context.h"
#include "contract/error.h"
#include "distributed_internal.h"

/* To the slab of a process, or back to its box. */
static gsw_status move(gsw_relaid *r, gsw_ghosts *ghosts, const double *from, double *to) {
    GSW_TRY(gsw_ghosts_begin(ghosts, from));
    GSW_TRY(gsw_ghosts_end(ghosts));
    GSW_TRY(gsw_ghosts_copy(ghosts, &r->common, 0, from, r->room, 1));
    GSW_TRY(gsw_ghosts_copy(ghosts, &r->common, 1, to, r->room, 0));
    return gsw_ghosts_put_others(ghosts, to);
}

static gsw_status apply(gsw_distributed_factor *f, const void *b, void *x) {
    gsw_relaid *r = f->relaid;
    GSW_TRY(move(r, &r->there, b, r->x));
    GSW_TRY(gsw_bands_way.apply(r->factor, r->x, r->x));
    return move(r, &r->back, r->x, x);
}

/* The boxes that the processes of one partition get from those of the other. */
static gsw_status open_move(gsw_partition *from, const gsw_partition *to, gsw_ghosts *ghosts) {
    const size_t processes = (size_t)from->transport.processes;
    void *memory = NULL;
    gsw_status status = gsw_partition_agree(
        from, gsw_alloc(from->context, processes, sizeof(gsw_box), "boxes", &memory));
    gsw_box *wanted = memory;
    for (size_t i = 0; status == GSW_SUCCESS && i < processes; i++)
        wanted[i] = gsw_partition_box(to, (int)i);
    if (status == GSW_SUCCESS)
        status = gsw_partition_agree(from, gsw_ghosts_open_boxes(from, wanted, ghosts));
    free(memory);
    return status;
}

static gsw_status open_vectors(gsw_distributed_factor *f, gsw_relaid *r) {
    gsw_context *context = f->partition->context;
    const int64_t points = gsw_box_points(&r->partition->own);
    const int64_t common = gsw_box_points(&r->common);
    const size_t values = (size_t)(points + common + f->matrix->points);
    GSW_TRY(gsw_alloc(context, values, sizeof *r->x, "slabs", (void **)&r->x));
    r->room = r->x + points;
    r->values = r->room + common;
    f->bytes += (int64_t)(values * sizeof *r->x);
    return gsw_distributed_matrix_begin(r->partition, &f->matrix->local.stencil, GSW_F64, NULL,
                                        &r->matrix);
}

/* Brings the present values to the slabs. */
static gsw_status take_values(const gsw_distributed_factor *f, gsw_relaid *r) {
    for (int32_t e = 0; e < f->matrix->local.stencil.count; e++)
        GSW_TRY(move(r, &r->there, gsw_distributed_matrix_doubles(f->matrix, e, r->values),
                     r->matrix->block + e * r->matrix->points));
    return GSW_SUCCESS;
}

static gsw_status open_slabs(gsw_distributed_factor *f, gsw_relaid **relaid) {
    gsw_context *context = f->partition->context;
    gsw_relaid *r;
    GSW_TRY(gsw_alloc(context, 1, sizeof *r, "slabs", (void **)&r));
    memset(r, 0, sizeof *r);
    *relaid = r;
    GSW_TRY(gsw_alloc(context, 1, sizeof *r->factor, "a factor", (void **)&r->factor));
    memset(r->factor, 0, sizeof *r->factor);
    return gsw_partition_slabs(f->partition, &r->partition);
}

static gsw_status open_all(gsw_distributed_factor *f) {
    gsw_partition *p = f->partition;
    GSW_TRY(gsw_partition_agree(p, open_slabs(f, &f->relaid)));
    gsw_relaid *r = f->relaid;
    r->common = gsw_box_intersection(&p->own, &r->partition->own);
    GSW_TRY(open_move(p, r->partition, &r->there));
    GSW_TRY(open_move(r->partition, p, &r->back));
    const gsw_status status = open_vectors(f, r);
    GSW_TRY(gsw_distributed_matrix_end(r->partition, status, r->matrix, &r->matrix));
    r->matrix->row_base = f->matrix->row_base;
    r->factor->partition = r->partition;
    r->factor->matrix = r->matrix;
    r->factor->options = f->options;
    r->factor->type = f->type;
    return gsw_bands_way.open(r->factor);
}

static gsw_status fill(gsw_distributed_factor *f) {
    gsw_relaid *r = f->relaid;
    GSW_TRY(gsw_partition_agree(f->partition, take_values(f, r)));
    return gsw_bands_way.fill(r->factor);
}

const gsw_factor_way gsw_relaid_way = {.open = open_all, .fill = fill, .apply = apply};

void gsw_relaid_close(gsw_relaid *r) {
    if (!r)
        return;
    if (r->factor)
        gsw_bands_close(r->factor);
    free(r->factor);
    gsw_distributed_matrix_destroy(r->matrix);
    gsw_ghosts_close(&r->there);
    gsw_ghosts_close(&r->back);
    gsw_partition_destroy(r->partition);
    free(r->x);
    free(r);
}
