/* distributed_local.c: preconditioners of one box each: block Jacobi and, with an overlap,
 * restricted additive Schwarz. */
#include <stdlib.h>
#include "contract/allocate.h"
#include "contract/context.h"
#include "contract/error.h"
#include "distributed_internal.h"
#include "distributed_rows.h"
#include "factor.h"

/* x = M^-1 b on the frame, of which the box is kept. */
static gsw_status apply_overlapping(void *user, gsw_context *context, const double *b, double *x) {
    gsw_distributed_factor *f = user;
    GSW_TRY(gsw_ghosts_update(&f->overlap, b, f->framed));
    GSW_TRY(gsw_factor_solve(context, f->local, 1, f->framed, 0, f->framed, 0));
    return gsw_ghosts_take_own(&f->overlap, f->framed, x);
}

static gsw_status open_factor(gsw_distributed_factor *f, const gsw_matrix *matrix) {
    gsw_context *context = f->partition->context;
    const gsw_factor_options options = gsw_distributed_part_options(f);
    gsw_factor_info info = {.size = sizeof info};
    GSW_TRY(gsw_factor_open(context, matrix, &options, f->planes, &f->local));
    GSW_TRY(gsw_factor_refactor(context, f->local, matrix, NULL));
    GSW_TRY(gsw_factor_get_info(f->local, &info));
    f->bytes = info.packed_bytes + info.work_bytes;
    return GSW_SUCCESS;
}

/* The vector of the frame, which takes the ghosts over from the rows. */
static gsw_status open_overlap(gsw_distributed_factor *f, gsw_distributed_rows *rows) {
    gsw_context *context = f->partition->context;
    GSW_TRY(gsw_alloc(context, (size_t)rows->points, sizeof *f->framed, "the sweep's vector",
                      (void **)&f->framed));
    f->bytes += rows->points * (int64_t)sizeof *f->framed;
    f->overlap = rows->ghosts;
    rows->ghosts = (gsw_ghosts){.partition = NULL};
    return gsw_preconditioner_from_callback(context, f->matrix->points, apply_overlapping, f,
                                            &f->preconditioner);
}

static gsw_status fill_overlapping(gsw_distributed_factor *f) {
    gsw_distributed_rows rows;
    gsw_status status = gsw_distributed_rows_open(f->matrix, f->options.overlap, 0, &rows);
    if (status == GSW_SUCCESS)
        status = f->local ? gsw_factor_refactor(f->partition->context, f->local, &rows.matrix, NULL)
                          : open_factor(f, &rows.matrix);
    if (status == GSW_SUCCESS && !f->preconditioner)
        status = open_overlap(f, &rows);
    gsw_distributed_rows_close(&rows);
    return status;
}

gsw_status gsw_local_fill(gsw_distributed_factor *f) {
    gsw_context *context = f->partition->context;
    if (f->options.overlap > 0 && f->partition->transport.processes > 1)
        return fill_overlapping(f);
    if (f->local)
        return gsw_factor_refactor(context, f->local, &f->matrix->local, NULL);
    GSW_TRY(open_factor(f, &f->matrix->local));
    return f->type == GSW_F64
               ? gsw_preconditioner_from_factor(context, f->local, &f->preconditioner)
               : GSW_SUCCESS;
}

void gsw_local_close(gsw_distributed_factor *f) {
    gsw_factor_destroy(f->local);
    if (f->overlap.partition)
        gsw_ghosts_close(&f->overlap);
    free(f->framed);
}
