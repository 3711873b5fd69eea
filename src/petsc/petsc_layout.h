/* petsc_layout.h: where the points of a grid lie among the processes of a PETSc matrix.
 *
 * PETSc numbers the rows of process 0 first, then those of process 1, and so on. The rows of a
 * process are the points of its box, x fastest. A DMDA numbers its points so, and a matrix in
 * natural order does where the boxes are slabs. */
#ifndef GSW_PETSC_LAYOUT_H
#define GSW_PETSC_LAYOUT_H

#include <petscdm.h>
#include <petscpc.h>
#include <gridsweep/gridsweep.h>

/* All zero: closed. */
typedef struct gsw_petsc_layout {
    gsw_grid grid;
    int rank, processes;
    int32_t boxes[3];  /* along each axis */
    int64_t *cuts[3];  /* where they begin, and the extent */
    int64_t *first;    /* the first row of each process, and the number of rows */
    int64_t begin[3];  /* the own box */
    int64_t extent[3]; /* points of the own box along each axis */
} gsw_petsc_layout;

/* *dm receives the DMDA of the preconditioner or of the matrix, and *grid its grid. It must have
 * one unknown per point and as many points as the matrix has rows. NULL and zeros: there is none.
 */
PetscErrorCode gsw_petsc_find_dmda(PC pc, Mat matrix, DM *dm, gsw_grid *grid);

/* The boxes of a DMDA, and its periodic axes. *fits: each process has as many rows of the matrix as
 * its box has points. All these functions are collective. A layout must be closed after an error,
 * too. */
PetscErrorCode gsw_petsc_layout_from_dmda(gsw_petsc_layout *layout, Mat matrix, DM dm,
                                          PetscBool *fits);

/* Slabs of a grid in natural order. *misfit receives the first process whose rows are not whole
 * planes (in 2D lines), or -1. Its layout is not usable then. */
PetscErrorCode gsw_petsc_layout_from_rows(gsw_petsc_layout *layout, Mat matrix,
                                          const gsw_grid *grid, int *misfit);

/* The point of a row of the matrix, and of a row of the own box. */
void gsw_petsc_layout_point(const gsw_petsc_layout *layout, int64_t row, int64_t at[3]);
void gsw_petsc_layout_own_point(const gsw_petsc_layout *layout, int64_t row, int64_t at[3]);

/* The way from a point to another one, around periodic axes where that is shorter. */
void gsw_petsc_layout_difference(const gsw_petsc_layout *layout, const int64_t from[3],
                                 const int64_t to[3], int64_t d[3]);

void gsw_petsc_layout_close(gsw_petsc_layout *layout);

#endif
