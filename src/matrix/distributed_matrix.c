/* distributed_matrix.c: matrices on several processes, and their products.
 *
 * A product first sends the points that others need. While they travel, it multiplies the box
 * alone. Then it does the rows again that are coupled to other boxes, so that each row is added up
 * in one order, whatever the boxes are. */
#include "distributed_matrix.h"
#include <stdlib.h>
#include <string.h>
#include "contract/allocate.h"
#include "contract/backend.h"
#include "contract/check.h"
#include "contract/context.h"
#include "common/csr.h"
#include "contract/error.h"
#include "contract/row.h"
#include "core/reserve.h"
#include "domain/wrapped.h"
#include "space/slabs.h"
#include "geometry/stencil_facts.h"

/* ---- Products ---------------------------------------------------------------------------------
 */

/* y in the rows that are coupled to ghosts: those near a face of the box behind which there are
 * ghosts. What is left of the box lies between `core` and `end`. */
static gsw_status add_ghosts(gsw_distributed_matrix *a, const double *x, double *y) {
    gsw_context *context = a->partition->context;
    const gsw_ghosts *others = gsw_distributed_ghosts(a);
    const gsw_frame *frame = &others->frame;
    const gsw_reach reach = gsw_reach_of(&a->local.stencil, 0, a->local.stencil.count);
    gsw_couple job = {.matrix = &a->local, .patch = a->patches, .y = y};
    int64_t core[3] = {0, 0, 0}, end[3];
    job.patches = gsw_ghosts_patches(others, x, a->patches);
    memcpy(end, frame->n, sizeof end);
    for (int axis = 2; axis >= 0; axis--) {
        const int64_t ghosts[2] = {frame->low[axis],
                                   frame->e[axis] - frame->low[axis] - frame->n[axis]};
        const int64_t deep[2] = {reach.before[axis], reach.after[axis]};
        for (int side = 0; side < 2; side++) {
            const int64_t left = end[axis] - core[axis];
            const int64_t rows = ghosts[side] == 0 ? 0 : deep[side] < left ? deep[side] : left;
            memcpy(job.begin, core, sizeof core);
            memcpy(job.end, end, sizeof end);
            if (side == GSW_BELOW)
                job.end[axis] = core[axis] += rows;
            else
                job.begin[axis] = end[axis] -= rows;
            if (rows > 0)
                GSW_TRY(context->ops->matrix->couple(context, &job));
        }
    }
    return GSW_SUCCESS;
}

gsw_status gsw_distributed_matrix_multiply(gsw_distributed_matrix *a, const double *x, double *y) {
    gsw_ghosts *others = gsw_distributed_ghosts(a);
    GSW_TRY(gsw_partition_usable(a->partition));
    GSW_TRY(gsw_ghosts_begin(others, x));
    GSW_TRY(gsw_spmv(a->partition->context, &a->local, GSW_F64, x, y));
    GSW_TRY(gsw_ghosts_end(others));
    return add_ghosts(a, x, y);
}

/* ---- Creation ---------------------------------------------------------------------------------
 */

static gsw_grid grid_of_box(const gsw_box *box) {
    return (gsw_grid){box->end[0] - box->begin[0], box->end[1] - box->begin[1],
                      box->end[2] - box->begin[2]};
}

gsw_status gsw_distributed_matrix_begin(gsw_partition *p, const gsw_stencil *stencil,
                                        gsw_dtype type, const void *const *values,
                                        gsw_distributed_matrix **matrix) {
    gsw_distributed_matrix *a;
    const gsw_grid box = grid_of_box(&p->own);
    size_t points;
    void *memory = NULL;
    GSW_TRY(gsw_alloc(p->context, 1, sizeof *a, "a distributed matrix", (void **)&a));
    memset(a, 0, sizeof *a);
    *matrix = a;
    a->partition = p;
    a->points = gsw_box_points(&p->own);
    if (!values) {
        if (!gsw_mul_size((size_t)a->points, (size_t)stencil->count, &points))
            return gsw_fail(p->context, GSW_ERROR_OVERFLOW, "a matrix exceeds 64-bit sizes");
        GSW_TRY(gsw_alloc(p->context, points, sizeof(double), "a distributed matrix", &memory));
        a->block = memory;
        memset(a->block, 0, points * sizeof(double));
    }
    for (int32_t e = 0; e < stencil->count; e++)
        a->values[e] = values ? values[e] : a->block + e * a->points;
    const gsw_stencil_array array = {.values = a->values, .value_type = type};
    GSW_TRY(gsw_matrix_from_stencil(p->context, &box, stencil, &array, &a->local));
    return p->context->ops->link->on_host ? GSW_SUCCESS : gsw_slabs_check(p);
}

gsw_status gsw_distributed_matrix_reserve(gsw_partition *p, const gsw_stencil *stencil,
                                          gsw_distributed_matrix **matrix) {
    const size_t points = (size_t)gsw_box_points(&p->own);
    const void *values[GSW_STENCIL_MAX];
    void *memory;
    size_t count;
    *matrix = NULL;
    if (!gsw_mul_size(points, (size_t)stencil->count, &count) ||
        !gsw_mul_size(count, sizeof(double), &count))
        return gsw_fail(p->context, GSW_ERROR_OVERFLOW, "a matrix exceeds 64-bit sizes");
    GSW_TRY(p->context->ops->memory->alloc(p->context, count, &memory));
    for (int32_t e = 0; e < stencil->count; e++)
        values[e] = (const double *)memory + (size_t)e * points;
    const gsw_status status = gsw_distributed_matrix_begin(p, stencil, GSW_F64, values, matrix);
    if (*matrix)
        (*matrix)->moved = memory;
    else
        p->context->ops->memory->release(p->context, memory);
    return status;
}

/* Brings the values of the block to the backend's memory, where that is another than the host's. */
static gsw_status move_block(gsw_distributed_matrix *a) {
    gsw_context *context = a->partition->context;
    const size_t values = (size_t)a->points * (size_t)a->local.stencil.count;
    if (context->ops->link->on_host || !a->block)
        return GSW_SUCCESS;
    if (!a->moved)
        GSW_TRY(context->ops->memory->alloc(context, values * sizeof(double), &a->moved));
    GSW_TRY(context->ops->memory->upload(context, a->moved, a->block, values * sizeof(double)));
    GSW_TRY(context->ops->synchronize(context));
    free(a->block);
    a->block = NULL;
    for (int32_t e = 0; e < a->local.stencil.count; e++)
        a->values[e] = (const double *)a->moved + e * a->points;
    return GSW_SUCCESS;
}

static uint64_t mark_of(const gsw_stencil *stencil) {
    const int64_t center = stencil->center;
    uint64_t mark = gsw_mark(0, &center, 1);
    for (int32_t e = 0; e < stencil->count; e++) {
        const gsw_offset o = stencil->offsets[e];
        mark = gsw_mark(mark, (int64_t[]){o.dx, o.dy, o.dz}, 3);
    }
    return mark;
}

static gsw_status open_ghosts(gsw_distributed_matrix *a) {
    gsw_partition *p = a->partition;
    const gsw_frame_reach reach = {.width = gsw_stencil_width(&a->local.stencil), .around = 1};
    void *memory;
    GSW_TRY(gsw_ghosts_open(p, &a->local.stencil, &a->ghosts));
    if (p->grid.periodic)
        GSW_TRY(gsw_frames_open(p, p, 0, &reach, &a->around));
    GSW_TRY(gsw_alloc(p->context, (size_t)gsw_distributed_ghosts(a)->peers + 1, sizeof *a->patches,
                      "a distributed matrix", &memory));
    a->patches = memory;
    return GSW_SUCCESS;
}

gsw_status gsw_distributed_matrix_end(gsw_partition *p, gsw_status own,
                                      gsw_distributed_matrix *made,
                                      gsw_distributed_matrix **matrix) {
    gsw_status status = own;
    uint64_t mark = 0;
    if (status == GSW_SUCCESS)
        status = gsw_partition_check_result(p, matrix, "matrix");
    if (status == GSW_SUCCESS && made)
        status = move_block(made);
    if (status == GSW_SUCCESS && made)
        mark = mark_of(&made->local.stencil);
    status = gsw_partition_agree_on(p, status, "stencil", mark);
    if (status == GSW_SUCCESS && made)
        status = gsw_partition_agree(p, open_ghosts(made));
    if (status != GSW_SUCCESS) {
        gsw_distributed_matrix_destroy(made);
        made = NULL;
    }
    if (matrix)
        *matrix = made;
    return status;
}

void gsw_distributed_matrix_copy(const gsw_distributed_matrix *a, int32_t e, int64_t from,
                                 int64_t count, double *to) {
    if (!a->values[e])
        memset(to, 0, (size_t)count * sizeof *to);
    else if (a->local.array.value_type == GSW_F64)
        memcpy(to, (const double *)a->values[e] + from, (size_t)count * sizeof *to);
    else
        for (int64_t i = 0; i < count; i++)
            to[i] = (double)((const float *)a->values[e])[from + i];
}

const double *gsw_distributed_matrix_doubles(const gsw_distributed_matrix *a, int32_t e,
                                             double *scratch) {
    if (gsw_distributed_matrix_holds_f64(a, e))
        return a->values[e];
    gsw_distributed_matrix_copy(a, e, 0, a->points, scratch);
    return scratch;
}

int32_t gsw_distributed_entry(const gsw_grid *grid, const gsw_stencil *near, const int64_t at[3],
                              int64_t column, int32_t first) {
    const int64_t row = gsw_grid_row(grid, at[0], at[1], at[2]);
    for (int32_t e = first; e < near->count; e++) { /* columns ascend mostly like the offsets */
        const gsw_offset o = near->offsets[e];
        if (row + gsw_grid_row(grid, o.dx, o.dy, o.dz) == column && at[0] + o.dx >= 0 &&
            at[0] + o.dx < grid->nx && at[1] + o.dy >= 0 && at[1] + o.dy < grid->ny)
            return e;
    }
    if (column < 0 || column >= grid->nx * grid->ny * grid->nz)
        return -1;
    int64_t d[3] = {column % grid->nx - at[0], column / grid->nx % grid->ny - at[1],
                    column / grid->nx / grid->ny - at[2]};
    (void)gsw_offset_shorten(grid, d);
    for (int axis = 0; axis < 3; axis++)
        if (llabs(d[axis]) > GSW_OFFSET_MAX)
            return -1;
    return gsw_stencil_find(near, (gsw_offset){(int32_t)d[0], (int32_t)d[1], (int32_t)d[2]});
}

/* Copies a row of the CSR into the same row of the box. */
static gsw_status copy_row(gsw_distributed_matrix *a, const gsw_csr *csr, int64_t row) {
    const gsw_partition *p = a->partition;
    const gsw_stencil *stencil = &a->local.stencil;
    char text[GSW_ROW_TEXT];
    int64_t at[3], before = csr->base - 1, column = before;
    const int64_t global = gsw_partition_row(p, row, at);
    const int64_t begin = gsw_index_at(csr->row_ptr, csr->index_type, row);
    const int64_t end = gsw_index_at(csr->row_ptr, csr->index_type, row + 1);
    if (!gsw_csr_pointers_fit(csr, row, begin, end))
        return gsw_fail(p->context, GSW_ERROR_INVALID_ARGUMENT,
                        "csr: the pointers of row %s of the box leave the arrays",
                        gsw_row_text(p->context, csr->base, NULL, row, text));
    int64_t k = begin - csr->base;
    const int64_t stop = end - csr->base;
    for (int32_t e = -1; k < stop; k++) {
        column = gsw_index_at(csr->columns, csr->index_type, k);
        const int32_t found =
            gsw_distributed_entry(&p->grid, stencil, at, column - csr->base, e + 1);
        if (found < 0 ? !gsw_csr_is_zero(csr, k) : column <= before)
            break;
        if (found < 0)
            continue;
        a->block[found * a->points + row] = gsw_value_at(csr->values, csr->value_type, k);
        before = column;
        e = found;
    }
    if (k < stop)
        return gsw_fail(p->context, GSW_ERROR_NOT_A_GRID,
                        "csr: row %s is coupled to row %lld, which the stencil does not reach, or "
                        "its columns do not ascend",
                        gsw_row_text(p->context, csr->base, &p->grid, global, text),
                        (long long)column + (gsw_row_base(p->context, csr->base) - csr->base));
    return GSW_SUCCESS;
}

/* The rows of a CSR, in the block. Those of inactive points are not looked at. */
static gsw_status copy_csr(gsw_distributed_matrix *a, const gsw_matrix *view) {
    gsw_context *context = a->partition->context;
    const size_t points = (size_t)a->points;
    void *active = NULL;
    gsw_status status = GSW_SUCCESS;
    a->row_base = view->csr.base;
    if (view->active) {
        GSW_TRY(gsw_alloc(context, points, 1, "a mask", &active));
        status = context->ops->memory->download(context, active, view->active, points);
    }
    for (int64_t row = 0; row < a->points && status == GSW_SUCCESS; row++)
        if (!active || ((const uint8_t *)active)[row])
            status = copy_row(a, &view->csr, row);
    free(active);
    return status;
}

gsw_status gsw_mask_in_frame(gsw_ghosts *ghosts, const uint8_t *active, uint8_t **framed) {
    gsw_context *context = ghosts->partition->context;
    const int64_t *e = ghosts->frame.e;
    const size_t points = (size_t)(e[0] * e[1] * e[2]);
    gsw_status status = context->ops->memory->reserve(context, points, (void **)framed);
    if (status == GSW_SUCCESS)
        status = context->ops->memory->set(context, *framed, 1, points);
    GSW_TRY(gsw_partition_agree(ghosts->partition, status));
    ghosts->value = 1;
    status = gsw_ghosts_update(ghosts, active, *framed);
    ghosts->value = sizeof(double);
    return status;
}

/* Leaves the inactive points of all boxes out of the matrix's own rows. Collective. */
static gsw_status cut(gsw_distributed_matrix *a, const uint8_t *active) {
    gsw_context *context = a->partition->context;
    gsw_matrix box = a->local;
    uint8_t *framed = NULL;
    gsw_ghosts *others = gsw_distributed_ghosts(a);
    gsw_status status = gsw_mask_in_frame(others, active, &framed);
    box.active = framed;
    if (status == GSW_SUCCESS)
        status =
            context->ops->mask->cut_box(context, &box, &others->frame, a->local.array.value_type,
                                        (void *const *)(uintptr_t)a->values);
    gsw_unreserve(context, framed);
    return gsw_partition_agree(a->partition, status);
}

/* ---- Views ------------------------------------------------------------------------------------
 */

static gsw_status check_stencil(gsw_context *context, const gsw_stencil *stencil) {
    GSW_REQUIRE(context, stencil, "stencil is NULL");
    GSW_REQUIRE(context,
                stencil->count >= 1 && stencil->count <= GSW_STENCIL_MAX && stencil->center >= 0 &&
                    stencil->center < stencil->count,
                "stencil: it has no centre, or not 1 to %d offsets", GSW_STENCIL_MAX);
    return GSW_SUCCESS;
}

static gsw_status check_csr(const gsw_partition *p, const gsw_stencil *near, const gsw_csr *csr) {
    gsw_stencil around;
    GSW_TRY(gsw_csr_check(p->context, csr, 1));
    if (p->grid.periodic) /* as on one process */
        GSW_TRY(gsw_stencil_around(p->context, &p->grid, near, &around));
    GSW_REQUIRE(p->context, csr->rows == gsw_box_points(&p->own),
                "csr has %lld rows, but the box of process %d has %lld points",
                (long long)csr->rows, p->transport.rank, (long long)gsw_box_points(&p->own));
    return GSW_SUCCESS;
}

gsw_status gsw_distributed_matrix_check(gsw_context *context, const gsw_matrix *view) {
    const gsw_partition *p = view->partition;
    GSW_REQUIRE(context, p->context == context, "matrix: its partition is of another context");
    GSW_REQUIRE(context, gsw_grid_is_same(&view->grid, &p->grid),
                "matrix: its grid is not the partition's");
    GSW_TRY(check_stencil(context, &view->stencil));
    if (view->active)
        GSW_TRY(context->ops->memory->check_place(context, "active", view->active));
    if (view->format == GSW_FORMAT_CSR)
        return check_csr(p, &view->stencil, &view->csr);
    GSW_REQUIRE(context, view->format == GSW_FORMAT_STENCIL, "matrix: format %d is unknown",
                (int)view->format);
    GSW_REQUIRE(context, view->array.values, "array is NULL, or has no values");
    GSW_REQUIRE(context, view->array.repeat == GSW_REPEAT_NONE,
                "array: repeat is for a matrix on one process");
    return gsw_matrix_check_place(context, view);
}

gsw_status gsw_matrix_check_anywhere(gsw_context *context, const gsw_matrix *matrix) {
    gsw_partition *p = matrix != NULL ? gsw_partition_of(matrix) : NULL;
    if (p)
        return gsw_partition_agree(p, gsw_distributed_matrix_check(context, matrix));
    GSW_TRY(gsw_matrix_check(context, matrix));
    return gsw_matrix_check_place(context, matrix);
}

gsw_status gsw_matrix_agree(const gsw_matrix *matrix, gsw_status own) {
    gsw_partition *p = gsw_partition_of(matrix);
    return p ? gsw_partition_agree(p, own) : own;
}

int64_t gsw_matrix_own_points(const gsw_matrix *matrix) {
    const gsw_partition *p = gsw_partition_of(matrix);
    const gsw_grid *g = &matrix->grid;
    return p ? gsw_box_points(&p->own) : g->nx * g->ny * g->nz;
}

gsw_status gsw_partition_matrix_from_csr(gsw_partition *p, const gsw_stencil *stencil,
                                         const gsw_csr *csr, gsw_matrix *matrix) {
    if (!p)
        return GSW_ERROR_INVALID_ARGUMENT;
    if (p->transport.processes == 1)
        return gsw_matrix_from_csr(p->context, &p->grid, stencil, csr, matrix);
    GSW_REQUIRE(p->context, matrix, "matrix is NULL");
    GSW_TRY(check_stencil(p->context, stencil));
    GSW_TRY(check_csr(p, stencil, csr));
    *matrix = (gsw_matrix){.grid = p->grid,
                           .stencil = *stencil,
                           .format = GSW_FORMAT_CSR,
                           .csr = *csr,
                           .partition = p};
    return GSW_SUCCESS;
}

gsw_status gsw_partition_matrix_from_stencil(gsw_partition *p, const gsw_stencil *stencil,
                                             const gsw_stencil_array *array, gsw_matrix *matrix) {
    if (!p)
        return GSW_ERROR_INVALID_ARGUMENT;
    if (p->transport.processes == 1)
        return gsw_matrix_from_stencil(p->context, &p->grid, stencil, array, matrix);
    GSW_REQUIRE(p->context, matrix, "matrix is NULL");
    GSW_TRY(check_stencil(p->context, stencil));
    GSW_REQUIRE(p->context, array && array->values, "array is NULL, or has no values");
    *matrix = (gsw_matrix){.grid = p->grid,
                           .stencil = *stencil,
                           .format = GSW_FORMAT_STENCIL,
                           .array = *array,
                           .partition = p};
    return GSW_SUCCESS;
}

/* ---- Opening and closing ----------------------------------------------------------------------
 */

gsw_matrix gsw_matrix_of_own_box(const gsw_matrix *view) {
    return (gsw_matrix){.grid = grid_of_box(&view->partition->own),
                        .stencil = view->stencil,
                        .format = GSW_FORMAT_STENCIL,
                        .active = view->active};
}

gsw_status gsw_distributed_copy_values(gsw_context *context, gsw_dtype type, int64_t count,
                                       const void *from, double *one, double *to) {
    const double factor = 1;
    if (!from)
        return context->ops->memory->set(context, to, 0, (size_t)count * sizeof *to);
    if (type == GSW_F64)
        return context->ops->vector->copy(context, count, from, to);
    GSW_TRY(context->ops->memory->upload(context, one, &factor, sizeof factor));
    return context->ops->multigrid->widen(context, count, from, one, to);
}

/* Copies the arrays of a view with a mask into the matrix's own, in the backend's memory. */
static gsw_status copy_arrays(gsw_distributed_matrix *a, const gsw_matrix *view) {
    gsw_context *context = a->partition->context;
    const size_t values = (size_t)a->points * (size_t)a->local.stencil.count;
    double *one;
    if (!a->moved)
        GSW_TRY(context->ops->memory->alloc(context, values * sizeof(double), &a->moved));
    GSW_TRY(gsw_reserve_vector(context, 1, &one));
    gsw_status status = GSW_SUCCESS;
    a->local.array.value_type = GSW_F64;
    for (int32_t e = 0; e < a->local.stencil.count && status == GSW_SUCCESS; e++) {
        double *to = (double *)a->moved + e * a->points;
        a->values[e] = to;
        status = gsw_distributed_copy_values(context, view->array.value_type, a->points,
                                             view->array.values[e], one, to);
    }
    gsw_unreserve(context, one);
    return status;
}

static gsw_status open_view(const gsw_matrix *view, gsw_distributed_matrix **matrix) {
    gsw_partition *p = view->partition;
    GSW_TRY(gsw_distributed_matrix_check(p->context, view));
    if (view->format == GSW_FORMAT_STENCIL && view->active) {
        const gsw_status status = gsw_distributed_matrix_reserve(p, &view->stencil, matrix);
        if (status != GSW_SUCCESS || !*matrix)
            return status;
        (*matrix)->row_base = view->csr.base;
        return copy_arrays(*matrix, view);
    }
    if (view->format == GSW_FORMAT_STENCIL) {
        GSW_TRY(gsw_distributed_matrix_begin(p, &view->stencil, view->array.value_type,
                                             view->array.values, matrix));
        (*matrix)->row_base = view->csr.base; /* where gsw_partition_scatter() has made the view */
        return GSW_SUCCESS;
    }
    GSW_TRY(gsw_distributed_matrix_begin(p, &view->stencil, GSW_F64, NULL, matrix));
    return copy_csr(*matrix, view);
}

gsw_status gsw_distributed_matrix_open(const gsw_matrix *view, gsw_distributed_matrix **matrix) {
    gsw_partition *p = view->partition;
    gsw_distributed_matrix *made = NULL;
    gsw_status status = open_view(view, &made);
    status = gsw_partition_agree_on(p, status, "mask (active)", view->active != NULL);
    status = gsw_distributed_matrix_end(p, status, made, matrix);
    if (status != GSW_SUCCESS || !made || !view->active)
        return status;
    made->is_masked = 1;
    status = cut(made, view->active);
    if (status != GSW_SUCCESS) {
        gsw_distributed_matrix_destroy(made);
        *matrix = NULL;
    }
    return status;
}

gsw_status gsw_distributed_matrix_check_next(gsw_distributed_matrix *a, const gsw_matrix *view,
                                             gsw_status own, const char *of) {
    gsw_partition *p = a->partition;
    gsw_status status = own;
    if (status == GSW_SUCCESS && view->partition != p)
        status = gsw_fail(p->context, GSW_ERROR_INVALID_ARGUMENT,
                          "matrix is not on the partition of the %s's first matrix", of);
    if (status == GSW_SUCCESS)
        status = gsw_distributed_matrix_check(p->context, view);
    if (status == GSW_SUCCESS && (view->active != NULL) != a->is_masked)
        status =
            gsw_fail(p->context, GSW_ERROR_INVALID_ARGUMENT,
                     "matrix: it %s a mask, but the %s's first matrix %s",
                     a->is_masked ? "lacks" : "has", of, a->is_masked ? "had one" : "had none");
    return gsw_partition_agree(p, status);
}

static gsw_status take_rows(gsw_distributed_matrix *a, const gsw_matrix *view) {
    const size_t values = (size_t)a->points * (size_t)a->local.stencil.count;
    if (view->format == GSW_FORMAT_STENCIL && view->active)
        return copy_arrays(a, view);
    if (view->format == GSW_FORMAT_STENCIL) {
        a->local.array.value_type = view->array.value_type;
        for (int32_t e = 0; e < a->local.stencil.count; e++)
            a->values[e] = view->array.values[e];
        return GSW_SUCCESS;
    }
    if (!a->block)
        GSW_TRY(gsw_alloc(a->partition->context, values, sizeof *a->block, "the rows of a process",
                          (void **)&a->block));
    memset(a->block, 0, values * sizeof *a->block);
    a->local.array.value_type = GSW_F64;
    for (int32_t e = 0; e < a->local.stencil.count; e++)
        a->values[e] = a->block + e * a->points;
    GSW_TRY(copy_csr(a, view));
    return move_block(a);
}

gsw_status gsw_distributed_matrix_take(gsw_distributed_matrix *a, const gsw_matrix *view) {
    GSW_TRY(gsw_partition_agree(a->partition, take_rows(a, view)));
    return view->active ? cut(a, view->active) : GSW_SUCCESS;
}

void gsw_distributed_matrix_destroy(gsw_distributed_matrix *matrix) {
    if (!matrix)
        return;
    gsw_ghosts_close(&matrix->ghosts);
    if (matrix->around.partition)
        gsw_ghosts_close(&matrix->around);
    if (matrix->moved)
        matrix->partition->context->ops->memory->release(matrix->partition->context, matrix->moved);
    free(matrix->block);
    free(matrix->patches);
    free(matrix);
}
