/* petsc_rows.c: see petsc_rows.h. */
#include "petsc_rows.h"
#include <stdlib.h>
#include <string.h>

/* ---- Access --------------------------------------------------------------------------------- */

PetscErrorCode gsw_petsc_rows_open(gsw_petsc_rows *rows, Mat matrix) {
    PetscBool done;
    PetscFunctionBegin;
    memset(rows, 0, sizeof *rows);
    PetscCall(MatMPIAIJGetSeqAIJ(matrix, &rows->block[0], &rows->block[1], &rows->outside));
    for (int k = 0; k < 2; k++) {
        PetscCall(MatGetRowIJ(rows->block[k], 0, PETSC_FALSE, PETSC_FALSE, &rows->count,
                              &rows->row_ptr[k], &rows->columns[k], &done));
        PetscCheck(done, PETSC_COMM_SELF, PETSC_ERR_SUP, "the matrix gives no access to its rows");
        PetscCall(MatSeqAIJGetArrayRead(rows->block[k], &rows->values[k]));
    }
    PetscFunctionReturn(0);
}

PetscErrorCode gsw_petsc_rows_close(gsw_petsc_rows *rows) {
    PetscBool done;
    PetscFunctionBegin;
    for (int k = 0; k < 2; k++) {
        PetscCall(MatSeqAIJRestoreArrayRead(rows->block[k], &rows->values[k]));
        PetscCall(MatRestoreRowIJ(rows->block[k], 0, PETSC_FALSE, PETSC_FALSE, &rows->count,
                                  &rows->row_ptr[k], &rows->columns[k], &done));
    }
    memset(rows, 0, sizeof *rows);
    PetscFunctionReturn(0);
}

/* The point of a column of a block. */
static void point_of(const gsw_petsc_rows *rows, const gsw_petsc_layout *layout, int block,
                     PetscInt column, int64_t at[3]) {
    if (block == 0)
        gsw_petsc_layout_own_point(layout, column, at);
    else
        gsw_petsc_layout_point(layout, rows->outside[column], at);
}

/* ---- The stencil ---------------------------------------------------------------------------- */

typedef struct offset_set {
    gsw_offset offset[GSW_STENCIL_MAX];
    int32_t count, last; /* the one that was found last: the next one is often near */
} offset_set;

/* Returns 0 where the set is full. */
static int add(offset_set *set, gsw_offset o) {
    for (int32_t k = 0; k < set->count; k++) {
        const int32_t e = (set->last + k) % set->count;
        const gsw_offset *p = &set->offset[e];
        if (p->dx == o.dx && p->dy == o.dy && p->dz == o.dz) {
            set->last = e;
            return 1;
        }
    }
    if (set->count == GSW_STENCIL_MAX)
        return 0;
    set->last = set->count;
    set->offset[set->count++] = o;
    return 1;
}

static int add_coupling(offset_set *set, const int64_t d[3], int64_t reach) {
    for (int axis = 0; axis < 3; axis++)
        if (llabs(d[axis]) > reach)
            return 0;
    return add(set, (gsw_offset){(int32_t)d[0], (int32_t)d[1], (int32_t)d[2]});
}

/* The offsets of the own rows, up to the first coupling that cannot be held. */
static void collect(const gsw_petsc_rows *rows, const gsw_petsc_layout *layout, int64_t reach,
                    offset_set *set, int64_t bad[2]) {
    const int64_t first = layout->first[layout->rank];
    *set = (offset_set){.count = 1}; /* the centre, whether it occurs or not */
    bad[0] = INT64_MAX;
    bad[1] = INT64_MAX;
    for (PetscInt row = 0; row < rows->count; row++) {
        int64_t from[3], to[3], d[3];
        gsw_petsc_layout_own_point(layout, row, from);
        for (int block = 0; block < 2; block++) {
            for (PetscInt k = rows->row_ptr[block][row]; k < rows->row_ptr[block][row + 1]; k++) {
                const PetscInt column = rows->columns[block][k];
                point_of(rows, layout, block, column, to);
                gsw_petsc_layout_difference(layout, from, to, d);
                if (rows->values[block][k] == 0 || add_coupling(set, d, reach))
                    continue;
                bad[0] = first + row;
                bad[1] = block == 0 ? first + column : rows->outside[column];
                return;
            }
        }
    }
}

/* Adds the sets of all processes. *full: there are too many offsets. */
static PetscErrorCode unite(MPI_Comm comm, int processes, offset_set *set, int *full) {
    enum { WORDS = (int)(sizeof(gsw_offset) / sizeof(int32_t)) };
    int *sizes = calloc(2 * (size_t)processes, sizeof *sizes), *places = sizes + processes;
    const int own = WORDS * set->count;
    gsw_offset *all = NULL;
    int sum = 0;
    PetscFunctionBegin;
    PetscCheck(sizes, PETSC_COMM_SELF, PETSC_ERR_MEM, "no memory for the stencil");
    PetscCallMPI(MPI_Allgather(&own, 1, MPI_INT, sizes, 1, MPI_INT, comm));
    for (int process = 0; process < processes; process++) {
        places[process] = sum;
        sum += sizes[process];
    }
    all = calloc((size_t)(sum / WORDS) + 1, sizeof *all);
    PetscCheck(all, PETSC_COMM_SELF, PETSC_ERR_MEM, "no memory for the stencil");
    PetscCallMPI(
        MPI_Allgatherv(set->offset, own, MPI_INT32_T, all, sizes, places, MPI_INT32_T, comm));
    *full = 0;
    for (int k = 0; k < sum / WORDS; k++)
        if (!add(set, all[k]))
            *full = 1;
    free(all);
    free(sizes);
    PetscFunctionReturn(0);
}

static int holds_all(const gsw_stencil *stencil, const offset_set *set) {
    for (int32_t k = 0; k < set->count; k++)
        if (gsw_stencil_find(stencil, set->offset[k]) < 0)
            return 0;
    return 1;
}

/* As gsw_detect() chooses, so that one process and several have the same factors. */
static gsw_status choose(const offset_set *set, gsw_stencil *stencil) {
    gsw_stencil named;
    gsw_status status = gsw_stencil_from_offsets(set->offset, set->count, stencil);
    int32_t fewest = INT32_MAX;
    for (int32_t k = 0; gsw_stencil_known(k) && status == GSW_SUCCESS; k++) {
        status = gsw_stencil_named(gsw_stencil_known(k), &named);
        if (status == GSW_SUCCESS && named.count < fewest && holds_all(&named, set)) {
            fewest = named.count;
            *stencil = named;
        }
    }
    return status;
}

PetscErrorCode gsw_petsc_rows_stencil(const gsw_petsc_rows *rows, const gsw_petsc_layout *layout,
                                      MPI_Comm comm, int64_t reach, gsw_stencil *stencil,
                                      int64_t bad[2]) {
    offset_set set;
    int64_t own[2];
    int full = 0;
    PetscFunctionBegin;
    collect(rows, layout, reach, &set, own);
    PetscCallMPI(MPI_Allreduce(&own[0], &bad[0], 1, MPI_INT64_T, MPI_MIN, comm));
    if (own[0] != bad[0])
        own[1] = INT64_MAX;
    PetscCallMPI(MPI_Allreduce(&own[1], &bad[1], 1, MPI_INT64_T, MPI_MIN, comm));
    if (bad[0] != INT64_MAX)
        PetscFunctionReturn(0);
    PetscCall(unite(comm, layout->processes, &set, &full));
    bad[0] = full ? 0 : -1; /* each process has few offsets, all together have too many */
    bad[1] = 0;
    if (!full)
        PetscCheck(choose(&set, stencil) == GSW_SUCCESS, comm, PETSC_ERR_PLIB,
                   "the offsets make no stencil");
    PetscFunctionReturn(0);
}

/* ---- Values --------------------------------------------------------------------------------- */

/* How the couplings to own rows are recognised: by their distance in the own numbering. Only one
 * offset that stays in the box has a given distance. */
typedef struct inner {
    const gsw_stencil *stencil;
    const int64_t *extent;
    int64_t distance[GSW_STENCIL_MAX];
    int32_t last;
} inner;

static void open_inner(inner *in, const gsw_petsc_layout *layout, const gsw_stencil *stencil) {
    *in = (inner){.stencil = stencil, .extent = layout->extent};
    for (int32_t e = 0; e < stencil->count; e++) {
        const gsw_offset *o = &stencil->offsets[e];
        in->distance[e] = o->dx + layout->extent[0] * (o->dy + layout->extent[1] * o->dz);
    }
}

/* The offset of a coupling from a point of the box, or -1. */
static int32_t find_inner(inner *in, const int64_t at[3], int64_t distance) {
    for (int32_t k = 0; k < in->stencil->count; k++) {
        const int32_t e = (in->last + k) % in->stencil->count;
        const gsw_offset *o = &in->stencil->offsets[e];
        if (in->distance[e] != distance || at[0] + o->dx < 0 || at[0] + o->dx >= in->extent[0] ||
            at[1] + o->dy < 0 || at[1] + o->dy >= in->extent[1] || at[2] + o->dz < 0 ||
            at[2] + o->dz >= in->extent[2])
            continue;
        in->last = e;
        return e;
    }
    return -1;
}

/* The same for any coupling. */
static int32_t find_outer(const gsw_petsc_rows *rows, const gsw_petsc_layout *layout,
                          const gsw_stencil *stencil, const int64_t at[3], int block,
                          PetscInt column) {
    int64_t from[3], to[3], d[3];
    point_of(rows, layout, block, column, to);
    for (int axis = 0; axis < 3; axis++)
        from[axis] = layout->begin[axis] + at[axis];
    gsw_petsc_layout_difference(layout, from, to, d);
    return gsw_stencil_find(stencil, (gsw_offset){(int32_t)d[0], (int32_t)d[1], (int32_t)d[2]});
}

PetscInt gsw_petsc_rows_values(const gsw_petsc_rows *rows, const gsw_petsc_layout *layout,
                               const gsw_stencil *stencil, double *values) {
    int64_t at[3] = {0, 0, 0};
    inner in;
    memset(values, 0, (size_t)stencil->count * (size_t)rows->count * sizeof *values);
    open_inner(&in, layout, stencil);
    for (PetscInt row = 0; row < rows->count; row++) {
        for (int block = 0; block < 2; block++) {
            for (PetscInt k = rows->row_ptr[block][row]; k < rows->row_ptr[block][row + 1]; k++) {
                const PetscInt column = rows->columns[block][k];
                int32_t e = block == 0 ? find_inner(&in, at, (int64_t)column - row) : -1;
                if (e < 0)
                    e = find_outer(rows, layout, stencil, at, block, column);
                const PetscScalar value = rows->values[block][k];
                if (e < 0 && value != 0)
                    return row;
                if (e >= 0)
                    values[(int64_t)e * rows->count + row] = value;
            }
        }
        for (int axis = 0; axis < 3; axis++) { /* the next point */
            if (++at[axis] < layout->extent[axis])
                break;
            at[axis] = 0;
        }
    }
    return -1;
}
