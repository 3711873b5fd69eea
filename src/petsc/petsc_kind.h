/* petsc_kind.h: what -pc_gridsweep_type names: a factor, multigrid, or the library's choice. */
#ifndef GSW_PETSC_KIND_H
#define GSW_PETSC_KIND_H

#include <petscpc.h>
#include <gridsweep/gridsweep.h>

typedef struct gsw_petsc_kind {
    const char *name; /* as the option names it */
    enum { GSW_PETSC_FACTOR, GSW_PETSC_MULTIGRID, GSW_PETSC_AUTO } what;
    gsw_factor_kind factor; /* of a factor */
    PetscErrorCode pivot;   /* the error for a bad pivot */
} gsw_petsc_kind;

/* What the options ask for, and what was made of it. All zero: nothing. */
typedef struct gsw_petsc_made {
    const gsw_petsc_kind *kind;
    gsw_multigrid_options hierarchy;
    gsw_factor_options factor;
    gsw_preconditioner *preconditioner; /* NULL: not made */
    gsw_choice choice;                  /* its factor or its hierarchy; all else of `auto` alone */
} gsw_petsc_made;

/* Reads -pc_gridsweep_type, -pc_gridsweep_scope and the options of the kind with the prefix. */
PetscErrorCode gsw_petsc_kind_read(gsw_petsc_made *made, MPI_Comm comm, const char *prefix);

/* Creates the preconditioner of a matrix. On a single process the matrix is not valid after the
 * call. After a failure only objects that gsw_petsc_kind_clear() frees remain. Both calls are
 * collective where the matrix is on a partition. */
gsw_status gsw_petsc_kind_make(gsw_petsc_made *made, gsw_context *context,
                               const gsw_matrix *matrix);

/* Gives the preconditioner the values of another matrix with the same pattern. INVALID_ARGUMENT:
 * these values need a new preconditioner. */
gsw_status gsw_petsc_kind_refill(gsw_petsc_made *made, gsw_context *context,
                                 const gsw_matrix *matrix);

/* Whether M^-1 is known to be its own transpose. */
int gsw_petsc_kind_symmetric(const gsw_petsc_made *made);

PetscErrorCode gsw_petsc_kind_view(const gsw_petsc_made *made, PetscViewer viewer);

/* Frees what was made, before the partition. */
void gsw_petsc_kind_clear(gsw_petsc_made *made);

#endif
