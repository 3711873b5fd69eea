/* distributed_mask.c: see distributed_mask.h.
 *
 * A process extends its rows inside its box as one process does, and then across the faces between
 * boxes: both sides take the smaller coupling of the two active rows that each has found nearest,
 * so that what is symmetric stays so. */
#include "distributed_mask.h"
#include "contract/backend.h"
#include "contract/context.h"
#include "contract/error.h"
#include "core/reserve.h"

/* Room for the extension of a box: the rows nearest to its points, their couplings along the axes,
 * and these and the mask in the frame. */
typedef struct extension {
    double *block, *nearest, *couplings[3], *framed[3];
    uint8_t *active;
} extension;

static void *const *arrays_of(const gsw_distributed_matrix *a) {
    return (void *const *)(uintptr_t)a->values;
}

static gsw_status open_extension(gsw_distributed_matrix *a, extension *x) {
    const int64_t *e = gsw_distributed_ghosts(a)->frame.e, framed = e[0] * e[1] * e[2];
    GSW_TRY(gsw_reserve_vector(a->partition->context, 4 * a->points + 3 * framed, &x->block));
    x->nearest = x->block;
    for (int axis = 0; axis < 3; axis++) {
        x->couplings[axis] = x->block + (1 + axis) * a->points;
        x->framed[axis] = x->block + 4 * a->points + axis * framed;
    }
    return GSW_SUCCESS;
}

/* Inside the box. */
static gsw_status extend_box(gsw_distributed_matrix *a, const uint8_t *active, extension *x) {
    gsw_context *context = a->partition->context;
    gsw_matrix box = a->local;
    GSW_TRY(open_extension(a, x));
    box.active = active;
    GSW_TRY(context->ops->mask->extend(context, &box, (int64_t *)x->nearest,
                                       (double *const *)arrays_of(a)));
    return context->ops->mask->couplings(context, &box, (const int64_t *)x->nearest,
                                         (const double *const *)arrays_of(a), x->couplings);
}

gsw_status gsw_distributed_matrix_extend(gsw_distributed_matrix *a, const uint8_t *active) {
    gsw_context *context = a->partition->context;
    gsw_ghosts *others = gsw_distributed_ghosts(a);
    gsw_matrix box = a->local;
    extension x = {.block = NULL};
    gsw_status status = gsw_partition_agree(a->partition, extend_box(a, active, &x));
    for (int axis = 0; axis < 3 && status == GSW_SUCCESS; axis++)
        status = gsw_ghosts_update(others, x.couplings[axis], x.framed[axis]);
    if (status == GSW_SUCCESS)
        status = gsw_mask_in_frame(others, active, &x.active);
    box.active = x.active;
    if (status == GSW_SUCCESS)
        status = context->ops->mask->extend_faces(context, &box, &others->frame,
                                                  (const double *const *)x.framed,
                                                  (double *const *)arrays_of(a));
    gsw_unreserve(context, x.active);
    gsw_unreserve(context, x.block);
    return gsw_partition_agree(a->partition, status);
}

gsw_status gsw_mask_of_grid(gsw_partition *p, const uint8_t *active, uint8_t **whole) {
    gsw_ghosts all = {.partition = NULL};
    gsw_status status = gsw_frames_open(p, p, 0, &(gsw_frame_reach){.width = -1}, &all);
    if (status == GSW_SUCCESS)
        status = gsw_mask_in_frame(&all, active, whole);
    if (all.partition)
        gsw_ghosts_close(&all);
    return gsw_partition_agree(p, status);
}
