/* petsc_layout.c: see petsc_layout.h. */
#include "petsc_layout.h"
#include <stdlib.h>
#include <string.h>
#include <petscdmda.h>

/* ---- The DMDA ------------------------------------------------------------------------------- */

/* *grid stays as it is where `dm` is no DMDA that fits. Several unknowns per point are refused. */
static PetscErrorCode grid_of(DM dm, PetscInt rows, gsw_grid *grid) {
    PetscInt nx, ny, nz, unknowns;
    PetscBool regular;
    PetscFunctionBegin;
    if (!dm)
        PetscFunctionReturn(0);
    PetscCall(PetscObjectTypeCompare((PetscObject)dm, DMDA, &regular));
    if (!regular)
        PetscFunctionReturn(0);
    PetscCall(DMDAGetInfo(dm, NULL, &nx, &ny, &nz, NULL, NULL, NULL, &unknowns, NULL, NULL, NULL,
                          NULL, NULL));
    PetscCheck(unknowns == 1 || (PetscInt64)nx * ny * nz * unknowns != rows,
               PetscObjectComm((PetscObject)dm), PETSC_ERR_SUP,
               "the DMDA has %" PetscInt_FMT
               " unknowns per point, and -pc_type gridsweep takes one; "
               "for each alone: -pc_type fieldsplit -fieldsplit_pc_type gridsweep",
               unknowns);
    if ((PetscInt64)nx * ny * nz == rows)
        *grid = (gsw_grid){nx, ny, nz};
    PetscFunctionReturn(0);
}

PetscErrorCode gsw_petsc_find_dmda(PC pc, Mat matrix, DM *dm, gsw_grid *grid) {
    PetscInt rows;
    PetscFunctionBegin;
    *grid = (gsw_grid){0};
    PetscCall(MatGetSize(matrix, &rows, NULL));
    PetscCall(PCGetDM(pc, dm));
    PetscCall(grid_of(*dm, rows, grid));
    if (grid->nx == 0) {
        PetscCall(MatGetDM(matrix, dm));
        PetscCall(grid_of(*dm, rows, grid));
    }
    if (grid->nx == 0)
        *dm = NULL;
    PetscFunctionReturn(0);
}

/* ---- Boxes ---------------------------------------------------------------------------------- */

static int64_t *new_array(int64_t count) {
    return calloc((size_t)count, sizeof(int64_t));
}

/* The rows of the processes, and memory for the cuts of layout->boxes. */
static PetscErrorCode open_layout(gsw_petsc_layout *layout, Mat matrix, const gsw_grid *grid) {
    const PetscInt *ranges;
    PetscMPIInt rank, processes;
    PetscFunctionBegin;
    PetscCallMPI(MPI_Comm_rank(PetscObjectComm((PetscObject)matrix), &rank));
    PetscCallMPI(MPI_Comm_size(PetscObjectComm((PetscObject)matrix), &processes));
    layout->grid = *grid;
    layout->rank = rank;
    layout->processes = processes;
    layout->first = new_array((int64_t)processes + 1);
    for (int axis = 0; axis < 3; axis++) {
        layout->cuts[axis] = new_array((int64_t)layout->boxes[axis] + 1);
        PetscCheck(layout->first && layout->cuts[axis], PETSC_COMM_SELF, PETSC_ERR_MEM,
                   "no memory for the boxes of the processes");
    }
    PetscCall(MatGetOwnershipRanges(matrix, &ranges));
    for (int process = 0; process <= processes; process++)
        layout->first[process] = ranges[process];
    PetscFunctionReturn(0);
}

static void box_of(const gsw_petsc_layout *layout, int process, int64_t begin[3],
                   int64_t extent[3]) {
    for (int axis = 0; axis < 3; axis++) {
        const int32_t i = process % layout->boxes[axis];
        begin[axis] = layout->cuts[axis][i];
        extent[axis] = layout->cuts[axis][i + 1] - begin[axis];
        process /= layout->boxes[axis];
    }
}

PetscErrorCode gsw_petsc_layout_from_dmda(gsw_petsc_layout *layout, Mat matrix, DM dm,
                                          PetscBool *fits) {
    const PetscInt *points[3];
    PetscInt boxes[3], n[3];
    DMBoundaryType ends[3];
    PetscFunctionBegin;
    PetscCall(DMDAGetInfo(dm, NULL, &n[0], &n[1], &n[2], &boxes[0], &boxes[1], &boxes[2], NULL,
                          NULL, &ends[0], &ends[1], &ends[2], NULL));
    PetscCall(DMDAGetOwnershipRanges(dm, &points[0], &points[1], &points[2]));
    for (int axis = 0; axis < 3; axis++)
        layout->boxes[axis] = (int32_t)boxes[axis];
    PetscCall(open_layout(layout, matrix, &(gsw_grid){n[0], n[1], n[2]}));
    for (int axis = 0; axis < 3; axis++) {
        if (ends[axis] == DM_BOUNDARY_PERIODIC && n[axis] > 1)
            layout->grid.periodic |= 1 << axis;
        layout->cuts[axis][0] = 0;
        /* In fewer dimensions the DMDA has no list for the others, and one box there. */
        for (int32_t i = 0; i < layout->boxes[axis]; i++)
            layout->cuts[axis][i + 1] =
                layout->boxes[axis] > 1 ? layout->cuts[axis][i] + points[axis][i] : n[axis];
    }
    *fits = PETSC_TRUE;
    for (int process = 0; process < layout->processes; process++) {
        int64_t begin[3], extent[3];
        box_of(layout, process, begin, extent);
        if (layout->first[process + 1] - layout->first[process] !=
            extent[0] * extent[1] * extent[2])
            *fits = PETSC_FALSE;
    }
    box_of(layout, layout->rank, layout->begin, layout->extent);
    PetscFunctionReturn(0);
}

PetscErrorCode gsw_petsc_layout_from_rows(gsw_petsc_layout *layout, Mat matrix,
                                          const gsw_grid *grid, int *misfit) {
    const int64_t n[3] = {grid->nx, grid->ny, grid->nz};
    const int along = grid->nz > 1 ? 2 : grid->ny > 1 ? 1 : 0;
    const int64_t slab = along == 2 ? n[0] * n[1] : along == 1 ? n[0] : 1;
    PetscMPIInt processes;
    PetscFunctionBegin;
    PetscCallMPI(MPI_Comm_size(PetscObjectComm((PetscObject)matrix), &processes));
    for (int axis = 0; axis < 3; axis++)
        layout->boxes[axis] = axis == along ? processes : 1;
    PetscCall(open_layout(layout, matrix, grid));
    for (int axis = 0; axis < 3; axis++) {
        layout->cuts[axis][0] = 0;
        layout->cuts[axis][layout->boxes[axis]] = n[axis];
    }
    *misfit = -1;
    for (int process = 0; process < processes; process++) {
        const int64_t first = layout->first[process], end = layout->first[process + 1];
        if (*misfit < 0 && (end == first || first % slab != 0 || end % slab != 0))
            *misfit = process;
        layout->cuts[along][process] = first / slab;
    }
    box_of(layout, layout->rank, layout->begin, layout->extent);
    PetscFunctionReturn(0);
}

/* ---- Points --------------------------------------------------------------------------------- */

static void point_in_box(const int64_t begin[3], const int64_t extent[3], int64_t row,
                         int64_t at[3]) {
    at[0] = begin[0] + row % extent[0];
    at[1] = begin[1] + row / extent[0] % extent[1];
    at[2] = begin[2] + row / extent[0] / extent[1];
}

void gsw_petsc_layout_point(const gsw_petsc_layout *layout, int64_t row, int64_t at[3]) {
    int64_t begin[3], extent[3];
    int low = 0, high = layout->processes;
    while (high - low > 1) {
        const int middle = low + (high - low) / 2;
        if (layout->first[middle] <= row)
            low = middle;
        else
            high = middle;
    }
    box_of(layout, low, begin, extent);
    point_in_box(begin, extent, row - layout->first[low], at);
}

void gsw_petsc_layout_own_point(const gsw_petsc_layout *layout, int64_t row, int64_t at[3]) {
    point_in_box(layout->begin, layout->extent, row, at);
}

void gsw_petsc_layout_difference(const gsw_petsc_layout *layout, const int64_t from[3],
                                 const int64_t to[3], int64_t d[3]) {
    const int64_t n[3] = {layout->grid.nx, layout->grid.ny, layout->grid.nz};
    for (int axis = 0; axis < 3; axis++) {
        d[axis] = to[axis] - from[axis];
        if ((layout->grid.periodic >> axis & 1) && 2 * llabs(d[axis]) > n[axis])
            d[axis] += d[axis] > 0 ? -n[axis] : n[axis];
    }
}

void gsw_petsc_layout_close(gsw_petsc_layout *layout) {
    free(layout->first);
    for (int axis = 0; axis < 3; axis++)
        free(layout->cuts[axis]);
    memset(layout, 0, sizeof *layout);
}
