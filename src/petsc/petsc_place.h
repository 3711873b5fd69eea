/* petsc_place.h: parts that the plug-in's factors and preconditioners share: their data, their
 * backend, the matrix that PETSc holds, vectors, and errors. */
#ifndef GSW_PETSC_PLACE_H
#define GSW_PETSC_PLACE_H

#include <petscmat.h>
#include <gridsweep/gridsweep.h>

#if defined(PETSC_USE_COMPLEX) || !defined(PETSC_USE_REAL_DOUBLE)
#error "The plug-in needs a PETSc whose scalars are real and double"
#endif
_Static_assert(sizeof(PetscInt) == 4 || sizeof(PetscInt) == 8, "PetscInt must have 32 or 64 bits");

/* The name of the package, of the type of its factors and of its preconditioner. */
#define GSW_PETSC_PACKAGE "gridsweep"

/* Attaches data to a PETSc object, which calls destroy(data) at its own end. */
PetscErrorCode gsw_petsc_attach(PetscObject object, void *data, PetscErrorCode (*destroy)(void *));

/* *data receives the data that gsw_petsc_attach() attached. `what` names the expected object, for
 * the error where there is none. */
PetscErrorCode gsw_petsc_data(PetscObject object, const char *what, void **data);

/* The backend, and the matrix's grid and stencil. All zero: closed. */
typedef struct gsw_petsc_place {
    gsw_context *context;
    gsw_grid grid;
    gsw_stencil stencil;
    int64_t points, nonzeros;
    int strays;    /* the matrix stores zeros outside the stencil, so it is copied without them */
    double *b, *x; /* with CUDA: buffers of vectors on the host, or NULL */
    int on_gpu;    /* with CUDA: shares the GPU and the stream of a PETSc matrix on a GPU */
    int device;    /* the number of that GPU */
    void *stream;  /* and the stream of the context */
} gsw_petsc_place;

/* Turns a status into a PETSc error with gridsweep's reason. `comm` has the processes that call it
 * with the same status, and the first one prints. `pivot` is the error for a bad pivot; `doing`
 * names the step that failed. */
PetscErrorCode gsw_petsc_check(MPI_Comm comm, const gsw_petsc_place *place, gsw_status status,
                               PetscErrorCode pivot, const char *doing);

/* Reads -FAMILY_grid, -FAMILY_backend and -FAMILY_threads with the prefix, and creates the place's
 * context: where PETSc has the matrix, unless an option says otherwise. given->nx stays 0 where no
 * grid is given. On a GPU the context takes PETSc's stream, or CUDA's default stream where PETSc's
 * is non-blocking. */
PetscErrorCode gsw_petsc_open_context(gsw_petsc_place *place, MPI_Comm comm, const char *prefix,
                                      const char *family, Mat matrix, gsw_grid *given);

/* Does both for a matrix of type seqaij or seqaijcusparse, and finds its grid and stencil. `known`
 * is the grid where no option names one; NULL: the grid is found. The place must be closed after an
 * error, too. */
PetscErrorCode gsw_petsc_place_open(gsw_petsc_place *place, const char *prefix, const char *family,
                                    Mat matrix, const gsw_grid *known);
void gsw_petsc_place_close(gsw_petsc_place *place);

/* Whether the place works on a GPU. */
int gsw_petsc_on_device(const gsw_petsc_place *place);

/* *status = take(user, matrix), with the present values of PETSc's matrix in the memory of the
 * place. The values are not valid after the call. NOT_A_GRID: a zero outside the stencil has become
 * a coupling, so the place must be opened anew. */
typedef gsw_status (*gsw_petsc_take_fn)(void *user, const gsw_matrix *matrix);
PetscErrorCode gsw_petsc_take_matrix(gsw_petsc_place *place, Mat matrix, gsw_petsc_take_fn take,
                                     void *user, gsw_status *status);

/* *status = apply(user, b, x), with the values of PETSc's vectors in the memory of the place.
 * Vectors on the place's GPU are used where they lie, and the work is queued there. */
typedef gsw_status (*gsw_petsc_apply_fn)(void *user, const double *b, double *x);
PetscErrorCode gsw_petsc_apply(gsw_petsc_place *place, gsw_petsc_apply_fn apply, void *user, Vec b,
                               Vec x, gsw_status *status);

/* Reports operations to PETSc's log, as those of the CPU or of the GPU. */
PetscErrorCode gsw_petsc_log_flops(const gsw_petsc_place *place, double flops);

/* Writes "grid NXxNYxNZ, periodic xy, stencil NAME"; GSW_PETSC_DESCRIPTION bytes hold it. */
enum { GSW_PETSC_DESCRIPTION = 160 };
void gsw_petsc_describe(const gsw_petsc_place *place, char *text, size_t size);

/* Prints "backend cpu, threads 1, NAME". */
PetscErrorCode gsw_petsc_place_view(const gsw_petsc_place *place, PetscViewer viewer);

#endif
