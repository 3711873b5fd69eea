/* petsc_kind.h: the functions of a value of -pc_gridsweep_type. */
#ifndef GSW_PETSC_KIND_H
#define GSW_PETSC_KIND_H

#include <petscpc.h>
#include <gridsweep/gridsweep.h>

/* `self` is the kind's own data: `size` bytes that are zero at first. */
typedef struct gsw_petsc_kind {
    const char *name; /* as the option names it */
    size_t size;
    PetscErrorCode pivot;   /* the error for a bad pivot */
    gsw_factor_kind factor; /* of a kind in petsc_sweeps.c */

    /* Reads the kind's options with the prefix. Called before make(). */
    PetscErrorCode (*read_options)(const struct gsw_petsc_kind *kind, void *self, MPI_Comm comm,
                                   const char *prefix, gsw_scope scope);

    /* Creates the preconditioner of a matrix. On a single process the matrix is not valid after the
     * call. After a failure only objects that clear() frees remain. Both calls are collective where
     * the matrix is on a partition. */
    gsw_status (*make)(void *self, gsw_context *context, const gsw_matrix *matrix,
                       gsw_preconditioner **preconditioner);

    /* Gives the preconditioner the values of another matrix with the same pattern.
     * INVALID_ARGUMENT: these values need a new preconditioner. */
    gsw_status (*refill)(void *self, gsw_context *context, const gsw_matrix *matrix);

    /* Whether M^-1 is its own transpose. */
    int (*symmetric)(const void *self);

    PetscErrorCode (*view)(const void *self, PetscViewer viewer);

    /* Frees what make() created, after the preconditioner and before the partition. */
    void (*clear)(void *self);
} gsw_petsc_kind;

#endif
