/* distributed_scatter.c: between one process that holds everything and all that hold their boxes.
 */
#include <gridsweep/memory.h>
#include <stdlib.h>
#include "contract/allocate.h"
#include "contract/backend.h"
#include "contract/check.h"
#include "contract/context.h"
#include "common/arrays.h"
#include "common/csr.h"
#include "contract/error.h"
#include "contract/row.h"
#include "distributed_matrix.h"
#include "domain/wrapped.h"
#include "geometry/stencil_facts.h"

/* ---- Vectors ----------------------------------------------------------------------------------
 */

static gsw_status check_root(const gsw_partition *p, int root, int is_given) {
    GSW_REQUIRE(p->context, root >= 0 && root < p->transport.processes,
                "root is %d, but there are %d processes", root, p->transport.processes);
    GSW_REQUIRE(p->context, p->transport.rank != root || is_given,
                "what process %d, the root, gives or takes is NULL", root);
    return GSW_SUCCESS;
}

/* Room for the largest box, in the root. */
static gsw_status make_room(gsw_partition *p, int root, size_t values, void **room) {
    int64_t most = 0;
    *room = NULL;
    for (int process = 0; process < p->transport.processes; process++) {
        const gsw_box box = gsw_partition_box(p, process);
        const int64_t points = gsw_box_points(&box);
        most = points > most ? points : most;
    }
    return p->transport.rank == root
               ? gsw_partition_alloc(p, (size_t)most * values, sizeof(double), "a message", room)
               : GSW_SUCCESS;
}

/* Both directions. */
static gsw_status exchange(gsw_partition *p, int root, double *own, double *all, double *room,
                           int collects) {
    const int rank = p->transport.rank;
    const gsw_box_array whole = {.extent = {p->grid.nx, p->grid.ny, p->grid.nz},
                                 .value = sizeof *own};
    const size_t own_bytes = (size_t)gsw_box_points(&p->own) * sizeof *own;
    if (rank != root)
        return gsw_partition_transfer(p, collects ? root : rank, collects ? rank : root,
                                      GSW_TAG_VECTOR, own, own_bytes);
    for (int process = 0; process < p->transport.processes; process++) {
        const gsw_box box = gsw_partition_box(p, process);
        const size_t bytes = (size_t)gsw_box_points(&box) * sizeof *own;
        double *values = process == root ? own : room;
        if (!collects)
            GSW_TRY(gsw_host_link.copy_box(p->context, &box, &whole, all, values, 1));
        if (process != root)
            GSW_TRY(gsw_partition_transfer(p, collects ? root : process, collects ? process : root,
                                           GSW_TAG_VECTOR, values, bytes));
        if (collects)
            GSW_TRY(gsw_host_link.copy_box(p->context, &box, &whole, all, values, 0));
    }
    return GSW_SUCCESS;
}

static gsw_status exchange_vector(gsw_partition *p, int root, double *own, double *all,
                                  int collects) {
    void *room = NULL;
    if (!p)
        return GSW_ERROR_INVALID_ARGUMENT;
    gsw_status status = check_root(p, root, all != NULL && own != NULL);
    if (status == GSW_SUCCESS && !own)
        status = gsw_fail(p->context, GSW_ERROR_INVALID_ARGUMENT, "own is NULL");
    if (status == GSW_SUCCESS)
        status = make_room(p, root, 1, &room);
    status = gsw_partition_agree_on(p, status, "root", (uint64_t)root);
    if (status == GSW_SUCCESS && own && (p->transport.rank != root || (all && room)))
        status = exchange(p, root, own, all, room, collects);
    gsw_partition_free(p, room);
    return status;
}

gsw_status gsw_partition_collect(gsw_partition *partition, int root, const double *own,
                                 double *all) {
    return exchange_vector(partition, root, (double *)(uintptr_t)own, all, 1);
}

gsw_status gsw_partition_distribute(gsw_partition *partition, int root, const double *all,
                                    double *own) {
    return exchange_vector(partition, root, own, (double *)(uintptr_t)all, 0);
}

/* ---- Matrices ---------------------------------------------------------------------------------
 */

/* Writes the entries of one row of the whole matrix to value[e * pitch], e of its near stencil. */
static void read_row(const gsw_matrix *whole, const gsw_stencil *near, int64_t row, double *value,
                     int64_t pitch) {
    if (whole->format == GSW_FORMAT_STENCIL) {
        for (int32_t e = 0; e < near->count; e++)
            value[e * pitch] = whole->array.values[e]
                                   ? gsw_value_at(whole->array.values[e], whole->array.value_type,
                                                  gsw_array_at(whole, row))
                                   : 0;
        return;
    }
    const gsw_csr *csr = &whole->csr;
    const gsw_grid *g = &whole->grid;
    const int64_t at[3] = {row % g->nx, row / g->nx % g->ny, row / g->nx / g->ny};
    const int64_t stop = gsw_index_at(csr->row_ptr, csr->index_type, row + 1) - csr->base;
    for (int32_t e = 0; e < near->count; e++)
        value[e * pitch] = 0;
    int32_t e = -1;
    for (int64_t k = gsw_index_at(csr->row_ptr, csr->index_type, row) - csr->base; k < stop; k++) {
        const int32_t found = gsw_distributed_entry(
            g, near, at, gsw_index_at(csr->columns, csr->index_type, k) - csr->base, e + 1);
        if (found < 0) /* of a row that has been checked: an entry that counts as none */
            continue;
        value[found * pitch] = gsw_value_at(csr->values, csr->value_type, k);
        e = found;
    }
}

/* The values of a box, and behind them its mask. */
static void read_box(const gsw_matrix *whole, const gsw_stencil *near, const gsw_box *box,
                     double *values) {
    const int64_t pitch = gsw_box_points(box);
    uint8_t *active = (uint8_t *)(values + pitch * near->count);
    for (int64_t z = box->begin[2]; z < box->end[2]; z++)
        for (int64_t y = box->begin[1]; y < box->end[1]; y++)
            for (int64_t x = box->begin[0]; x < box->end[0]; x++) {
                const int64_t row = gsw_grid_row(&whole->grid, x, y, z);
                read_row(whole, near, row, values++, pitch);
                if (whole->active)
                    *active++ = whole->active[row];
            }
}

static gsw_status check_whole(gsw_partition *p, int root, const gsw_matrix *whole) {
    GSW_TRY(check_root(p, root, whole != NULL));
    if (p->transport.rank != root)
        return GSW_SUCCESS;
    GSW_REQUIRE(p->context, gsw_grid_is_same(&whole->grid, &p->grid),
                "whole: its grid is not the partition's");
    GSW_TRY(gsw_matrix_check(p->context, whole));
    return whole->format == GSW_FORMAT_CSR ? gsw_matrix_validate_host(p->context, whole)
                                           : GSW_SUCCESS;
}

/* What all processes need of the root's matrix before its values. */
typedef struct matrix_head {
    gsw_stencil stencil;
    int row_base, is_masked;
} matrix_head;

static gsw_status share_head(gsw_partition *p, int root, matrix_head *head) {
    if (p->transport.rank != root)
        return gsw_partition_transfer(p, p->transport.rank, root, GSW_TAG_MATRIX, head,
                                      sizeof *head);
    for (int process = 0; process < p->transport.processes; process++)
        if (process != root)
            GSW_TRY(gsw_partition_transfer(p, process, root, GSW_TAG_MATRIX, head, sizeof *head));
    return GSW_SUCCESS;
}

/* Brings values that lie offset by offset to the arrays. */
static gsw_status put_values(gsw_partition *p, const double *values, const gsw_matrix *matrix) {
    const size_t points = (size_t)gsw_box_points(&p->own);
    for (int32_t e = 0; e < matrix->stencil.count; e++)
        GSW_TRY(gsw_memory_upload(p->context, (void *)(uintptr_t)matrix->array.values[e],
                                  values + (size_t)e * points, points * sizeof *values));
    if (matrix->active)
        GSW_TRY(gsw_memory_upload(p->context, (void *)(uintptr_t)matrix->active,
                                  values + (size_t)matrix->stencil.count * points, points));
    return p->context->ops->synchronize(p->context);
}

/* `room` holds the values of the largest box in the root, and of the own one elsewhere. */
static gsw_status share_values(gsw_partition *p, int root, const gsw_matrix *whole, double *room,
                               const gsw_matrix *matrix) {
    const size_t row = (size_t)matrix->stencil.count * sizeof *room + (matrix->active != NULL);
    if (p->transport.rank != root) {
        GSW_TRY(gsw_partition_transfer(p, p->transport.rank, root, GSW_TAG_MATRIX, room,
                                       row * (size_t)gsw_box_points(&p->own)));
        return put_values(p, room, matrix);
    }
    for (int process = 0; process < p->transport.processes; process++) {
        const gsw_box box = gsw_partition_box(p, process);
        read_box(whole, &matrix->stencil, &box, room);
        if (process == root)
            GSW_TRY(put_values(p, room, matrix));
        else
            GSW_TRY(gsw_partition_transfer(p, process, root, GSW_TAG_MATRIX, room,
                                           row * (size_t)gsw_box_points(&box)));
    }
    return GSW_SUCCESS;
}

/* Arrays of the own box, without values. */
static gsw_status make_arrays(gsw_partition *p, const matrix_head *head, gsw_matrix *matrix) {
    const size_t points = (size_t)gsw_box_points(&p->own);
    const int32_t count = head->stencil.count;
    const void **values;
    size_t bytes;
    if (!gsw_mul_size(points, sizeof(double), &bytes))
        return gsw_fail(p->context, GSW_ERROR_OVERFLOW, "a matrix exceeds 64-bit sizes");
    GSW_TRY(gsw_alloc(p->context, (size_t)count, sizeof *values, "the pointers to stencil arrays",
                      (void **)&values));
    for (int32_t e = 0; e < count; e++)
        values[e] = NULL;
    *matrix = (gsw_matrix){.grid = p->grid,
                           .stencil = head->stencil,
                           .format = GSW_FORMAT_STENCIL,
                           .csr.base = head->row_base,
                           .array = {.values = values, .value_type = GSW_F64},
                           .partition = p->transport.processes > 1 ? p : NULL};
    for (int32_t e = 0; e < count; e++) {
        const int masked = head->is_masked && e == head->stencil.center; /* its mask is behind it */
        void *array;
        GSW_TRY(gsw_memory_alloc(p->context, bytes + (masked ? points : 0), &array));
        values[e] = array;
        if (masked)
            matrix->active = (const uint8_t *)array + bytes;
    }
    return GSW_SUCCESS;
}

static gsw_status scatter(gsw_partition *p, int root, const gsw_matrix *whole, void **room,
                          gsw_matrix *matrix) {
    matrix_head head;
    GSW_TRY(gsw_partition_agree_on(p, check_whole(p, root, whole), "root", (uint64_t)root));
    if (p->transport.rank == root) {
        head = (matrix_head){.row_base = gsw_matrix_row_base(whole),
                             .is_masked = whole->active != NULL};
        gsw_stencil_near(whole, &head.stencil, NULL);
    }
    GSW_TRY(share_head(p, root, &head));
    const size_t each = (size_t)head.stencil.count + (size_t)head.is_masked; /* of a point */
    const size_t own = (size_t)gsw_box_points(&p->own) * each;
    gsw_status status = make_arrays(p, &head, matrix);
    if (status == GSW_SUCCESS)
        status = p->transport.rank == root
                     ? make_room(p, root, each, room)
                     : gsw_partition_alloc(p, own, sizeof(double), "a message", room);
    const gsw_status agreed = gsw_partition_agree(p, status);
    if (agreed != GSW_SUCCESS || status != GSW_SUCCESS)
        return agreed;
    return gsw_partition_agree(p, share_values(p, root, whole, *room, matrix));
}

gsw_status gsw_partition_scatter(gsw_partition *partition, int root, const gsw_matrix *whole,
                                 gsw_matrix *matrix) {
    gsw_matrix made = {.partition = NULL};
    void *room = NULL;
    if (!partition)
        return GSW_ERROR_INVALID_ARGUMENT;
    gsw_status status = gsw_partition_check_result(partition, matrix, "matrix");
    status = gsw_partition_agree(partition, status);
    if (status == GSW_SUCCESS)
        status = scatter(partition, root, whole, &room, &made);
    gsw_partition_free(partition, room);
    if (status != GSW_SUCCESS)
        gsw_matrix_release(partition->context, &made);
    if (matrix)
        *matrix = made;
    return status;
}
