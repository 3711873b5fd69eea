/* petsc_rival.c: PETSc's MatSolve on one core (MATSEQAIJ).
 *
 * MatSolve needs a factored matrix L U. ILU(0) in natural order computes one from the triangular
 * matrix T whose product is T itself. For a lower T, L = T D^-1 and U = D, for an upper T, L = 1
 * and U = T, where D is T's diagonal; L's unit diagonal is not stored. So MatSolve, which users of
 * PETSc's PCILU call twice in every iteration, solves with exactly this part. For a lower part it
 * passes over the vector once more, to scale it. The method is the textbook's substitution, on
 * PETSc's layout (Balay et al., PETSc/TAO Users Manual). Double precision only, as PETSc is usually
 * built.
 *
 * Memory: the factor, that is a copy of T (12 bytes per entry), two integers per row and a work
 * vector. Before the first solve: symbolic and numeric factorisation. */
#include <stdlib.h>

#include <petscmat.h>

#include "petsc_solve.h"
#include "rival_parts.h"

typedef struct petsc_state {
    PetscInt *row_ptr, *columns; /* copies, where PETSc's integers are not int32 */
    Mat matrix, factor;
    Vec b, x; /* without arrays of their own */
    IS rows, columns_order;
} petsc_state;

int gsw_petsc_begin(char *message, size_t size) {
    PetscBool begun = PETSC_FALSE, ended = PETSC_FALSE;
    if (PetscInitialized(&begun) != 0 || PetscFinalized(&ended) != 0)
        return gsw_rival_fail(message, size, "PETSc does not tell whether it runs");
    if (begun && !ended)
        return 0;
    if (ended)
        return gsw_rival_fail(message, size, "PETSc has been ended in this process");
    if (gsw_baseline_petsc_begin() != 0 || atexit(gsw_baseline_petsc_end) != 0)
        return gsw_rival_fail(message, size, "PETSc could not be started");
    return 0;
}

int gsw_petsc_fail(int error, char *message, size_t size) {
    const char *text = NULL;
    (void)PetscErrorMessage((PetscErrorCode)error, &text, NULL);
    return gsw_rival_fail(message, size, "PETSc: %s", text != NULL ? text : "unknown error");
}

/* The indices as PETSc's integers: the user's own arrays where they are of that type. */
static PetscErrorCode convert_indices(petsc_state *s, const gsw_csr *csr, PetscInt **row_ptr,
                                      PetscInt **columns) {
    const int32_t *from_rows = csr->row_ptr, *from_columns = csr->columns;
    if (sizeof(PetscInt) == sizeof(int32_t)) {
        *row_ptr = (PetscInt *)csr->row_ptr;
        *columns = (PetscInt *)csr->columns;
        return 0;
    }
    s->row_ptr = *row_ptr = malloc((size_t)(csr->rows + 1) * sizeof **row_ptr);
    s->columns = *columns = malloc((size_t)csr->nonzeros * sizeof **columns);
    if (*row_ptr == NULL || *columns == NULL)
        return PETSC_ERR_MEM;
    for (int64_t i = 0; i <= csr->rows; i++)
        (*row_ptr)[i] = from_rows[i];
    for (int64_t k = 0; k < csr->nonzeros; k++)
        (*columns)[k] = from_columns[k];
    return 0;
}

static PetscErrorCode factorise(petsc_state *s, const gsw_csr *csr) {
    PetscInt n = (PetscInt)csr->rows, *row_ptr = NULL, *columns = NULL;
    MatFactorInfo info;
    PetscFunctionBeginUser;
    PetscCall(convert_indices(s, csr, &row_ptr, &columns));
    /* PETSc uses the arrays directly and does not change them. */
    PetscCall(MatCreateSeqAIJWithArrays(PETSC_COMM_SELF, n, n, row_ptr, columns,
                                        (PetscScalar *)csr->values, &s->matrix));
    PetscCall(VecCreateSeqWithArray(PETSC_COMM_SELF, 1, n, NULL, &s->b));
    PetscCall(VecCreateSeqWithArray(PETSC_COMM_SELF, 1, n, NULL, &s->x));
    PetscCall(MatFactorInfoInitialize(&info));
    info.levels = 0;
    info.fill = 1.0;
    info.shifttype = (PetscReal)MAT_SHIFT_NONE;
    PetscCall(MatGetOrdering(s->matrix, MATORDERINGNATURAL, &s->rows, &s->columns_order));
    PetscCall(MatGetFactor(s->matrix, MATSOLVERPETSC, MAT_FACTOR_ILU, &s->factor));
    PetscCall(MatILUFactorSymbolic(s->factor, s->matrix, s->rows, s->columns_order, &info));
    PetscCall(MatLUFactorNumeric(s->factor, s->matrix, &info));
    PetscFunctionReturn(0);
}

int gsw_petsc_open(const gsw_rival_system *system, void **state, gsw_rival_cost *cost,
                   char *message, size_t size) {
    *state = NULL;
    *cost = (gsw_rival_cost){0};
    if (gsw_rival_check(system, 0, message, size) != 0)
        return -1;
    if (system->host->value_type != GSW_F64)
        return gsw_rival_fail(message, size, "PETSc is built for double precision");
    if (gsw_petsc_begin(message, size) != 0)
        return -1;
    petsc_state *s = calloc(1, sizeof *s);
    if (s == NULL)
        return gsw_rival_fail(message, size, "out of memory");
    const double start = gsw_rival_milliseconds();
    const PetscErrorCode error = factorise(s, system->host);
    if (error != 0) {
        gsw_petsc_close(s);
        return gsw_petsc_fail((int)error, message, size);
    }
    const double entry = (double)(sizeof(PetscScalar) + sizeof(PetscInt));
    const double row = (double)(sizeof(PetscScalar) + 2 * sizeof(PetscInt));
    cost->setup_ms = gsw_rival_milliseconds() - start;
    cost->buffer_bytes = entry * (double)system->host->nonzeros + row * (double)system->host->rows;
    *state = s;
    return 0;
}

static PetscErrorCode solve(petsc_state *s, const double *b, double *x) {
    PetscFunctionBeginUser;
    PetscCall(VecPlaceArray(s->b, b));
    PetscCall(VecPlaceArray(s->x, x));
    PetscCall(MatSolve(s->factor, s->b, s->x));
    PetscCall(VecResetArray(s->x));
    PetscCall(VecResetArray(s->b));
    PetscFunctionReturn(0);
}

int gsw_petsc_solve(void *state, const void *b, void *x, char *message, size_t size) {
    const PetscErrorCode error = solve(state, b, x);
    return error == 0 ? 0 : gsw_petsc_fail((int)error, message, size);
}

void gsw_petsc_close(void *state) {
    petsc_state *s = state;
    if (s == NULL)
        return;
    (void)ISDestroy(&s->columns_order);
    (void)ISDestroy(&s->rows);
    (void)VecDestroy(&s->x);
    (void)VecDestroy(&s->b);
    (void)MatDestroy(&s->factor);
    (void)MatDestroy(&s->matrix);
    free(s->columns);
    free(s->row_ptr);
    free(s);
}
