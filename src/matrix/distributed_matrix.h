/* distributed_matrix.h: the rows of the own box of a matrix on a partition, as the library keeps
 * them. */
#ifndef GSW_DISTRIBUTED_MATRIX_H
#define GSW_DISTRIBUTED_MATRIX_H

#include "space/frames.h"

typedef struct gsw_distributed_matrix gsw_distributed_matrix;

struct gsw_distributed_matrix {
    gsw_partition *partition;
    gsw_matrix local; /* on the box, with the grid's near stencil; stencil arrays */
    const void *values[GSW_STENCIL_MAX];
    double *block;      /* of the arrays, where the matrix owns them: the host's memory */
    void *moved;        /* likewise, in the backend's memory */
    int64_t points;     /* of the box */
    int row_base;       /* from which messages count rows */
    int is_masked;      /* has a mask: the arrays are its own, without the inactive points */
    gsw_ghosts ghosts;  /* of the box in the grid, as factors see it */
    gsw_ghosts around;  /* of a periodic grid: with those around it */
    gsw_patch *patches; /* room for those of a product (gsw_ghosts_patches()) */
};

/* All points that rows of the box are coupled to. */
static inline gsw_ghosts *gsw_distributed_ghosts(gsw_distributed_matrix *a) {
    return a->around.partition ? &a->around : &a->ghosts;
}

/* The rows of a matrix on a partition of several processes. Collective. *matrix is NULL on failure,
 * in all processes. */
gsw_status gsw_distributed_matrix_open(const gsw_matrix *view, gsw_distributed_matrix **matrix);

/* Takes the values of another view with the same stencil, in either format, which has been checked
 * as follows. Collective. */
gsw_status gsw_distributed_matrix_take(gsw_distributed_matrix *a, const gsw_matrix *view);

/* Refuses such a view; `own` is what this process has found before, and `of` has had the first
 * matrix. Collective. */
gsw_status gsw_distributed_matrix_check_next(gsw_distributed_matrix *a, const gsw_matrix *view,
                                             gsw_status own, const char *of);

/* The box of such a view as a matrix of one process, with the box's mask and without values. */
gsw_matrix gsw_matrix_of_own_box(const gsw_matrix *view);

/* The mask of the box in a frame of its partition, in new memory of the backend (gsw_unreserve()).
 * Points that are not sent count as active. Collective. */
gsw_status gsw_mask_in_frame(gsw_ghosts *ghosts, const uint8_t *active, uint8_t **framed);

/* NULL is allowed. */
void gsw_distributed_matrix_destroy(gsw_distributed_matrix *matrix);

/* y = A x over all processes, for vectors of the boxes. The messages travel while the process
 * multiplies the couplings inside its own box. Collective. */
gsw_status gsw_distributed_matrix_multiply(gsw_distributed_matrix *a, const double *x, double *y);

/* Refuses a view on a partition, as gsw_matrix_check() and gsw_matrix_check_place() do for others;
 * `context` is where it is to be used. */
gsw_status gsw_distributed_matrix_check(gsw_context *context, const gsw_matrix *view);

/* The points of the vectors of this process. */
int64_t gsw_matrix_own_points(const gsw_matrix *matrix);

/* The check above or the other two; collective where the matrix is on a partition. */
gsw_status gsw_matrix_check_anywhere(gsw_context *context, const gsw_matrix *matrix);

/* The status of all processes that share the matrix; `own` where it is on one. */
gsw_status gsw_matrix_agree(const gsw_matrix *matrix, gsw_status own);

/* A matrix whose arrays are `values`, or zeroed fp64 arrays of its own where that is NULL: of the
 * host's memory until the end. *matrix is set on failure, too. */
gsw_status gsw_distributed_matrix_begin(gsw_partition *p, const gsw_stencil *stencil,
                                        gsw_dtype type, const void *const *values,
                                        gsw_distributed_matrix **matrix);

/* The same with fp64 arrays of its own in the backend's memory, uninitialised, from a->moved on. */
gsw_status gsw_distributed_matrix_reserve(gsw_partition *p, const gsw_stencil *stencil,
                                          gsw_distributed_matrix **matrix);

/* Whether the matrix has an array for offset e, and it is fp64. */
static inline int gsw_distributed_matrix_holds_f64(const gsw_distributed_matrix *a, int32_t e) {
    return a->values[e] && a->local.array.value_type == GSW_F64;
}

/* Copies `count` values of offset e from row `from` of the box on as fp64, zeros where there is no
 * array. Host memory. */
void gsw_distributed_matrix_copy(const gsw_distributed_matrix *a, int32_t e, int64_t from,
                                 int64_t count, double *to);

/* All of them: the matrix's own array, or a copy in `scratch` where that is not fp64. */
const double *gsw_distributed_matrix_doubles(const gsw_distributed_matrix *a, int32_t e,
                                             double *scratch);

/* Copies `count` values as fp64; zeros where `from` is NULL. `one`: room for a number. All are in
 * the backend's memory. */
gsw_status gsw_distributed_copy_values(gsw_context *context, gsw_dtype type, int64_t count,
                                       const void *from, double *one, double *to);

/* The entry of the near stencil by which row `at` of the grid is coupled to row `column`; -1: none
 * reaches it. It probably is `first` or a later one. */
int32_t gsw_distributed_entry(const gsw_grid *grid, const gsw_stencil *near, const int64_t at[3],
                              int64_t column, int32_t first);

/* The end of a collective creation: *matrix is what each process has made, or NULL in all of them.
 */
gsw_status gsw_distributed_matrix_end(gsw_partition *p, gsw_status own,
                                      gsw_distributed_matrix *made,
                                      gsw_distributed_matrix **matrix);

#endif
