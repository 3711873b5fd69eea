/* petsc_kind.h: what a value of -pc_gridsweep_type does. */
#ifndef GSW_PETSC_KIND_H
#define GSW_PETSC_KIND_H

#include <petscpc.h>
#include <gridsweep/gridsweep.h>

/* `self` is the kind's own data: `size` bytes that are zero at first. */
typedef struct gsw_petsc_kind {
    const char *name; /* as the option names it */
    size_t size;

    /* Reads the kind's options behind the prefix. Called before make(). */
    PetscErrorCode (*read_options)(void *self, const char *prefix);

    /* Makes the preconditioner of a matrix that is gone after the call. On failure nothing is left
     * but what clear() frees. */
    gsw_status (*make)(void *self, gsw_context *context, const gsw_matrix *matrix,
                       gsw_preconditioner **preconditioner);

    /* Gives it the values of another matrix with the same pattern. INVALID_ARGUMENT: these values
     * need a preconditioner made anew. */
    gsw_status (*refill)(void *self, gsw_context *context, const gsw_matrix *matrix);

    /* Is M^-1 its own transpose? */
    int (*symmetric)(const void *self);

    PetscErrorCode (*view)(const void *self, PetscViewer viewer);

    /* Frees what make() made, after the preconditioner. */
    void (*clear)(void *self);
} gsw_petsc_kind;

#endif
