/* petsc_kind.h: the functions of a value of -pc_gridsweep_type. */
#ifndef GSW_PETSC_KIND_H
#define GSW_PETSC_KIND_H

#include <petscpc.h>
#include <gridsweep/gridsweep.h>

/* `self` is the kind's own data: `size` bytes that are zero at first. */
typedef struct gsw_petsc_kind {
    const char *name; /* as the option names it */
    size_t size;

    /* Reads the kind's options with the prefix. Called before make(). */
    PetscErrorCode (*read_options)(void *self, const char *prefix);

    /* Creates the preconditioner of a matrix. The matrix is not valid after the call. After a
     * failure only objects that clear() frees remain. */
    gsw_status (*make)(void *self, gsw_context *context, const gsw_matrix *matrix,
                       gsw_preconditioner **preconditioner);

    /* Gives the preconditioner the values of another matrix with the same pattern.
     * INVALID_ARGUMENT: these values need a new preconditioner. */
    gsw_status (*refill)(void *self, gsw_context *context, const gsw_matrix *matrix);

    /* Whether M^-1 is its own transpose. */
    int (*symmetric)(const void *self);

    PetscErrorCode (*view)(const void *self, PetscViewer viewer);

    /* Frees what make() created, after the preconditioner. */
    void (*clear)(void *self);
} gsw_petsc_kind;

#endif
