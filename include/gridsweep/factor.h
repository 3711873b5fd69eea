/* gridsweep/factor.h: packed triangular factors and the preconditioners that consist of them.
 *
 * Use a gsw_factor for many solves with one matrix; for a matrix that is used once see gsw_sptrsv()
 * in sptrsv.h. A factor is a preconditioner M for a Krylov method, a smoother (smooth.h), or a
 * triangular matrix of your own.
 *
 * Which kind to use:
 *
 *   IC0            A is symmetric positive definite; for CG. It reads the lower part only.
 *   ILU0           any other A. Begin with this kind.
 *   DILU           any A; only the diagonal is eliminated, so its set-up is cheap. On D2N5 and D3N7
 *                  it is the same M as ILU0; on larger stencils it is weaker.
 *   SSOR           any A; for CG a symmetric one. Its set-up computes reciprocals only. It cannot
 *                  break down unless a diagonal is 0. omega 1 is symmetric Gauss-Seidel.
 *   JACOBI         any A; one scaling. For problems where a sweep does not pay.
 *   LOWER, UPPER   repeated triangular solves with a part of A
 *   LU             repeated solves with factors L and U that you computed
 *
 * With every kind the number of iterations grows with the grid. For diffusion or pressure on large
 * grids use multigrid (multigrid.h), whose iterations hardly grow. A factor is the better choice
 * for small time steps, for convection, and for strong coupling along one axis.
 *
 *   kind   M                                                       solves with M = first * second
 *   ILU0   L U, zero fill-in in the stencil's pattern, L unit      L, then U
 *   IC0    L L^T = L1 D L1^T from the lower part of a symmetric    L1, then D L1^T
 *          matrix, L = L1 sqrt(D), L1 unit
 *   DILU   (E + L_A) E^-1 (E + U_A), diag(M) = diag(A)             E + L_A, then I + E^-1 U_A
 *   SSOR   (D/w + L_A) (D/w)^-1 (D/w + U_A) / (2-w)                D/w + L_A, then the rest
 *   JACOBI diag(A)                                                 one scaling
 *   LOWER  the lower part of A with its diagonal                   one sweep
 *   UPPER  the upper part of A with its diagonal                   one sweep
 *   LU     your own L and U                                        L, then U
 *
 * A gsw_factor holds one or two triangular parts. Their coefficients lie in the order in which the
 * sweep reads them, and each row is scaled by the reciprocal of its diagonal. A factor belongs to
 * the context that it was created with, and serves one solve at a time.
 *
 * With CUDA the arrays of the matrix and b and x are in device memory. Creating a factor and giving
 * it new values wait for the stream, because they report pivots. Solves and sweeps are queued on
 * the context's stream and return at once. They allocate nothing, except as gsw_factor_solve()
 * says, and can be captured in a CUDA graph. The graph stays valid when the factor gets new values.
 * The next call that takes the context, or gsw_context_synchronize(), reports an error of a kernel
 * (TIMEOUT). All kinds except JACOBI need couplings that reach no farther than one tile of lines;
 * otherwise creating the factor ends in UNSUPPORTED. gsw_factor_extract() copies to the host.
 *
 * Sources: Saad, Iterative Methods for Sparse Linear Systems, 2nd ed., sections 10.2-10.3 (ILU(0),
 * IKJ variant; SSOR); Pommerell and Fichtner (1991) for DILU; the skewed wavefront is Lamport's
 * hyperplane method (1974). */
#ifndef GRIDSWEEP_FACTOR_H
#define GRIDSWEEP_FACTOR_H

#include <gridsweep/matrix.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum gsw_factor_kind {
    GSW_ILU0 = 0,
    GSW_IC0 = 1,
    GSW_DILU = 2,
    GSW_SSOR = 3,
    GSW_JACOBI = 4,
    GSW_FACTOR_LOWER = 5,
    GSW_FACTOR_UPPER = 6,
    GSW_FACTOR_LU = 7 /* gsw_factor_create_lu() only */
} gsw_factor_kind;

/* What a preconditioner on several processes covers (partition.h); one process has no use for it.
 */
typedef enum gsw_scope { GSW_SCOPE_LOCAL = 0, GSW_SCOPE_GLOBAL = 1 } gsw_scope;

/* "local" or "global". */
GSW_API
const char *gsw_scope_name(gsw_scope scope);

/* If all members except `size` are 0: ILU(0), fp64 throughout, no transpose, refuse bad pivots. */
typedef struct gsw_factor_options {
    size_t size; /* sizeof this struct, set by the caller */
    gsw_factor_kind kind;
    gsw_dtype factor_type; /* type of the stored coefficients; F32 saves up to half of the time, and
                              refuses values that only fp64 holds */
    gsw_dtype vector_type; /* of b and x, and of the arithmetic: F64 with F64 or F32 factors,
                              F32 with F32 factors */
    int transpose;         /* nonzero: hold M transposed; solves are then with M^T */
    int unit_diagonal;     /* LOWER, UPPER, and U of LU: the diagonal counts as 1 */
    double omega;          /* SSOR: 0 < omega < 2; 0 means 1 (symmetric Gauss-Seidel) */
    double pivot_shift;    /* > 0: a bad pivot becomes +-pivot_shift times the row's largest
                              |coefficient| instead of an error; 0: error */
    gsw_scope scope;
    int64_t overlap; /* LOCAL: planes of other boxes. The preconditioner of a symmetric matrix is
                        then not symmetric: use BiCGSTAB or GMRES */
} gsw_factor_options;

typedef struct gsw_factor gsw_factor;

/* Describes a factor, for reports. */
typedef struct gsw_factor_info {
    size_t size; /* sizeof this struct, set by the caller */
    gsw_factor_kind kind;
    gsw_dtype factor_type, vector_type;
    gsw_grid grid;
    gsw_stencil stencil;
    int64_t packed_bytes;   /* coefficients kept, padding included */
    int64_t work_bytes;     /* everything else that the factor keeps: rings, counters */
    int64_t moved_bytes;    /* bytes that one solve must move at least: coefficients once, each
                               sweep's input and output vector once */
    int64_t shifted_pivots; /* pivots replaced in the last (re)factorisation */
    int64_t first_bad_row;  /* lowest row (0-based) whose pivot ended the last
                               factorisation, or -1 */
    int64_t sent_bytes;     /* that one solve sends from this process */
} gsw_factor_info;

/* Factorises `matrix` into a new factor: the usual way to create one. `options` may be NULL. The
 * call reads the matrix once (twice for IC0 and for transposes), and keeps no pointer to it. In a
 * CSR it refuses a coupling outside the stencil, with its row. JACOBI checks the diagonal only, and
 * a transposed factor only the couplings that it takes; gsw_matrix_validate() finds the others. IC0
 * reads only the lower part, diagonal included, and needs a stencil that has -o for each offset o.
 *
 * A bad pivot is zero, subnormal or not finite (IC0: also negative). With pivot_shift == 0 the call
 * then ends in ZERO_PIVOT, the message names the lowest such row, and *factor is NULL. LOWER, UPPER
 * and LU accept any diagonal, and pivot_shift does not change it; a solve divides by a zero. A
 * factor in fp32 ends in UNSUPPORTED, with the row, where a finite coefficient, pivot or reciprocal
 * pivot would be infinite in fp32. LOWER, UPPER and LU of a matrix in fp32 take all values.
 * Errors: INVALID_ARGUMENT, UNSUPPORTED, OVERFLOW, OUT_OF_MEMORY, NOT_A_GRID, ZERO_PIVOT, DEVICE,
 * TIMEOUT (CUDA). */
GSW_API
gsw_status gsw_factor_create(gsw_context *context, const gsw_matrix *matrix,
                             const gsw_factor_options *options, gsw_factor **factor);

/* Packs your own factors: the lower part of `lower`, whose diagonal counts as 1, and the upper part
 * of `upper` with its diagonal. Both have the same grid and stencil. options->kind is ignored. The
 * errors are those above. */
GSW_API
gsw_status gsw_factor_create_lu(gsw_context *context, const gsw_matrix *lower,
                                const gsw_matrix *upper, const gsw_factor_options *options,
                                gsw_factor **factor);

/* Gives a factor new values for the same grid and stencil. Use it in each time step instead of
 * creating a factor again. It does not allocate, with one exception: on CUDA the first fp64
 * stencil arrays after values of another format or type may allocate one vector. A refused argument
 * changes nothing. After an error in the values (NOT_A_GRID, ZERO_PIVOT, and UNSUPPORTED in fp32)
 * or of the device the factor holds no usable values. Every solve with it is then refused until a
 * refactor succeeds. Only kind LU uses `upper`; it is NULL otherwise. */
GSW_API
gsw_status gsw_factor_refactor(gsw_context *context, gsw_factor *factor, const gsw_matrix *matrix,
                               const gsw_matrix *upper);

/* Solves M x = b for `count` right-hand sides, or M^T x = b if the factor was created with
 * transpose. Right-hand side r starts at b + r*ldb and its solution at x + r*ldx, in values. x may
 * be b, with ldb == ldx; otherwise they must not overlap. The results have the same bits for any
 * number of threads. NaN and infinity in b travel along existing couplings only.
 *
 * The call does not allocate, except for the first solve with several right-hand sides on CUDA.
 * That solve allocates the hand-over memory of up to 8 right-hand sides and waits for the stream.
 * From then on they are swept together, so that memory is read once for all of them, or for 4. If
 * that first solve is captured in a graph, it sweeps them one after the other instead. Errors:
 * INVALID_ARGUMENT, DEVICE, TIMEOUT (CUDA; it can come from an earlier solve). */
GSW_API
gsw_status gsw_factor_solve(gsw_context *context, gsw_factor *factor, int64_t count, const void *b,
                            int64_t ldb, void *x, int64_t ldx);

/* Does one of the two sweeps of gsw_factor_solve() alone, for methods of your own: which = 0 is the
 * first, 1 the second. */
GSW_API
gsw_status gsw_factor_sweep(gsw_context *context, gsw_factor *factor, int which, int64_t count,
                            const void *b, int64_t ldb, void *x, int64_t ldx);

/* Number of sweeps in a solve: usually 2; 1 for LOWER and UPPER; 0 for JACOBI. */
GSW_API
int gsw_factor_sweeps(const gsw_factor *factor);

/* Copies the unscaled factors to host CSR in fp64, to look at them: `lower` receives L and `upper`
 * U, with M = L U. ILU0 and LU: L has unit diagonal. IC0: U = L^T. DILU: L = E + L_A,
 * U = I + E^-1 U_A. LOWER has L only, UPPER has U only, and the other pointer must be NULL. Either
 * pointer may always be NULL. The pattern is the whole stencil inside the grid. A row of LOWER,
 * UPPER or LU whose diagonal has no finite reciprocal comes out as NaN. With CUDA the call takes
 * device memory for the arrays of one triangle at a time. Free both with gsw_csr_free(). JACOBI,
 * SSOR and transposed factors are not supported. Errors: INVALID_ARGUMENT, UNSUPPORTED, OVERFLOW,
 * OUT_OF_MEMORY, DEVICE. */
GSW_API
gsw_status gsw_factor_extract(gsw_context *context, const gsw_factor *factor, gsw_itype index_type,
                              gsw_csr *lower, gsw_csr *upper);

/* Fills info->size bytes of *info. Errors: INVALID_ARGUMENT (NULL, size). */
GSW_API
gsw_status gsw_factor_get_info(const gsw_factor *factor, gsw_factor_info *info);

/* "ilu0", "ic0", "dilu", "ssor", "jacobi", "lower", "upper", "lu". */
GSW_API
const char *gsw_factor_kind_name(gsw_factor_kind kind);

/* Frees a factor. NULL is allowed. */
GSW_API
void gsw_factor_destroy(gsw_factor *factor);

#ifdef __cplusplus
}
#endif

#endif
