/* petsc_rows.h: the own rows of a matrix of type mpiaij, as couplings of grid points. */
#ifndef GSW_PETSC_ROWS_H
#define GSW_PETSC_ROWS_H

#include <petscmat.h>
#include "petsc_layout.h"

/* PETSc stores the couplings to own rows (block 0, own numbers) and those to rows of others (block
 * 1, whose column c is row outside[c] of the matrix) apart. All zero: closed. */
typedef struct gsw_petsc_rows {
    Mat block[2];
    const PetscInt *row_ptr[2], *columns[2];
    const PetscScalar *values[2];
    const PetscInt *outside;
    PetscInt count; /* own rows */
} gsw_petsc_rows;

PetscErrorCode gsw_petsc_rows_open(gsw_petsc_rows *rows, Mat matrix);
PetscErrorCode gsw_petsc_rows_close(gsw_petsc_rows *rows);

/* The smallest named stencil with all couplings of all processes, else one of just these. A stored
 * zero is no coupling. Collective. A coupling that no stencil can hold is reported in bad[]: row
 * and column of the matrix; bad[0] < 0: there is none. `reach` limits the offsets. */
PetscErrorCode gsw_petsc_rows_stencil(const gsw_petsc_rows *rows, const gsw_petsc_layout *layout,
                                      MPI_Comm comm, int64_t reach, gsw_stencil *stencil,
                                      int64_t bad[2]);

/* Fills one array per offset of the stencil, each with one value per own row; 0 where the matrix
 * stores no value. Returns the first own row with a coupling outside the stencil, or -1. */
PetscInt gsw_petsc_rows_values(const gsw_petsc_rows *rows, const gsw_petsc_layout *layout,
                               const gsw_stencil *stencil, double *values);

#endif
