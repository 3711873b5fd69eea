/* cusparse_solve.c: CG and BiCGSTAB with cuSPARSE, as programs without a grid write them: csric02
 * or csrilu02 for the factors, cusparseSpSV for the two triangular solves per application,
 * cusparseSpMV for the product, cuBLAS for vectors.
 *
 * Methods: Saad, Iterative Methods for Sparse Linear Systems, 2nd ed., algorithms 9.1 and 7.7, the
 * latter preconditioned from the right: gridsweep's own, with the same stopping test. To be a fair
 * comparison, it works as follows:
 *  - Scalars stay on the device: cuBLAS in device pointer mode, small kernels (scalars.h) between.
 *    The host waits once per iteration, for the residual norm. With BiCGSTAB the next direction is
 *    queued before it waits.
 *  - Everything is allocated and analysed in open(), twice. The second time is reported, so that
 *    loading kernels is not counted. factor() copies the values, factorises in place, passes
 *    the new values to the analysed solves (cusparseSpSV_updateMatrix) and asks for zero pivots.
 *  - L and U are two views of one array in the pattern of A. With IC(0) the second solve uses L
 *    transposed (CUSPARSE_OPERATION_TRANSPOSE). The rival "cusparse-upper" uses a stored
 *    transpose instead, which csr2csc computes in factor().
 *
 * csrilu02 and csric02 are marked deprecated in CUDA 13, which has no replacement. Memory: the
 * values of the factors (8 bytes per entry), the buffers of the analyses, and 5 (CG) or 8
 * (BiCGSTAB) vectors. The buffer of each SpSV analysis is about twice the matrix. */
#include <math.h>
#include <stdlib.h>

#define DISABLE_CUSPARSE_DEPRECATED
#include <cublas_v2.h>

#include "cusparse_rival.h"
#include "scalars.h"
#include "solve_rival_parts.h"

#define POLICY CUSPARSE_SOLVE_POLICY_USE_LEVEL

/* Scalars on the device. A negative copy stands beside its scalar: axpy takes either. */
enum {
    ONE,
    RHO,
    RHO_NEXT,
    ALPHA,
    MINUS_ALPHA,
    OMEGA,
    MINUS_OMEGA,
    BETA,
    NUMERATOR,
    DENOMINATOR,
    SQUARE,
    SCALARS
};

enum { CG_R, CG_Z, CG_P, CG_W, CG_VECTORS };
enum { BI_R, BI_SHADOW, BI_P, BI_V, BI_T, BI_P_HAT, BI_S_HAT, BI_VECTORS };

/* A triangular solve with one part of a matrix. */
typedef struct sweep {
    cusparseSpMatDescr_t matrix;
    cusparseOperation_t operation;
    cusparseSpSVDescr_t plan;
    double *values;
    void *buffer;
} sweep;

/* A square CSR in the pattern of A, on the device. */
typedef struct arrays {
    int *row_ptr, *columns;
    double *values;
} arrays;

typedef struct loop {
    gsw_solve_system system;
    int n, nonzeros;
    arrays a;         /* the caller's; never written */
    int stored_upper; /* IC(0): the transpose of L is stored */
    cudaStream_t stream;
    cusparseHandle_t sparse;
    cublasHandle_t blas;
    cudaEvent_t copied;  /* the norm has arrived */
    double *norm_square; /* in page-locked host memory */

    /* Created by prepare(). */
    cusparseMatDescr_t general;
    csrilu02Info_t ilu;
    csric02Info_t ic;
    void *factor_buffer, *transpose_buffer, *product_buffer;
    double *factor;   /* L and U in the pattern of A */
    arrays transpose; /* of that */
    sweep first, second;
    cusparseSpMatDescr_t product;
    cusparseDnVecDescr_t in, out;
    double *vectors, *between; /* of the method, and between the two sweeps */
    double *scalars;
    size_t bytes;

    char *message; /* of the call under way */
    size_t size;
} loop;

static int check_blas(cublasStatus_t status, const char *what, const loop *s) {
    if (status == CUBLAS_STATUS_SUCCESS)
        return 0;
    (void)cudaGetLastError();
    return gsw_rival_fail(s->message, s->size, "%s: %s", what, cublasGetStatusString(status));
}

#define TRY(call)                                                                                  \
    do {                                                                                           \
        if ((call) != 0)                                                                           \
            return -1;                                                                             \
    } while (0)
#define TRY_CUDA(call)   TRY(gsw_rival_cuda((call), #call, s->message, s->size))
#define TRY_SPARSE(call) TRY(gsw_rival_cusparse((call), #call, s->message, s->size))
#define TRY_BLAS(call)   TRY(check_blas((call), #call, s))

static const double one = 1, zero = 0, minus_one = -1;

/* ---- Analyses and buffers ---- */

static int allocate(loop *s, size_t bytes, void **pointer) {
    TRY_CUDA(cudaMalloc(pointer, bytes > 0 ? bytes : 1));
    s->bytes += bytes;
    return 0;
}

static int analyse_ilu(loop *s) {
    const arrays *a = &s->a;
    int bytes = 0;
    TRY_SPARSE(cusparseCreateCsrilu02Info(&s->ilu));
    TRY_SPARSE(cusparseDcsrilu02_bufferSize(s->sparse, s->n, s->nonzeros, s->general, s->factor,
                                            a->row_ptr, a->columns, s->ilu, &bytes));
    TRY(allocate(s, (size_t)bytes, &s->factor_buffer));
    TRY_SPARSE(cusparseDcsrilu02_analysis(s->sparse, s->n, s->nonzeros, s->general, s->factor,
                                          a->row_ptr, a->columns, s->ilu, POLICY,
                                          s->factor_buffer));
    return 0;
}

static int analyse_ic(loop *s) {
    const arrays *a = &s->a;
    int bytes = 0;
    TRY_SPARSE(cusparseCreateCsric02Info(&s->ic));
    TRY_SPARSE(cusparseDcsric02_bufferSize(s->sparse, s->n, s->nonzeros, s->general, s->factor,
                                           a->row_ptr, a->columns, s->ic, &bytes));
    TRY(allocate(s, (size_t)bytes, &s->factor_buffer));
    TRY_SPARSE(cusparseDcsric02_analysis(s->sparse, s->n, s->nonzeros, s->general, s->factor,
                                         a->row_ptr, a->columns, s->ic, POLICY, s->factor_buffer));
    return 0;
}

/* Room for the transpose of the factor. */
static int prepare_transpose(loop *s) {
    arrays *t = &s->transpose;
    size_t entries = (size_t)s->nonzeros, bytes = 0;
    TRY(allocate(s, ((size_t)s->n + 1) * sizeof *t->row_ptr, (void **)&t->row_ptr));
    TRY(allocate(s, entries * sizeof *t->columns, (void **)&t->columns));
    TRY(allocate(s, entries * sizeof *t->values, (void **)&t->values));
    TRY_SPARSE(cusparseCsr2cscEx2_bufferSize(
        s->sparse, s->n, s->n, s->nonzeros, s->factor, s->a.row_ptr, s->a.columns, t->values,
        t->row_ptr, t->columns, CUDA_R_64F, CUSPARSE_ACTION_NUMERIC, CUSPARSE_INDEX_BASE_ZERO,
        CUSPARSE_CSR2CSC_ALG_DEFAULT, &bytes));
    return allocate(s, bytes, &s->transpose_buffer);
}

static int prepare_factor(loop *s) {
    TRY(allocate(s, (size_t)s->nonzeros * sizeof *s->factor, (void **)&s->factor));
    TRY_SPARSE(cusparseCreateMatDescr(&s->general));
    TRY(s->system.precond == GSW_IC0 ? analyse_ic(s) : analyse_ilu(s));
    return s->stored_upper ? prepare_transpose(s) : 0;
}

static int prepare_vectors(loop *s) {
    size_t count = s->system.method == GSW_CG ? CG_VECTORS : BI_VECTORS;
    size_t bytes = (size_t)s->n * sizeof *s->vectors;
    TRY(allocate(s, count * bytes, (void **)&s->vectors));
    TRY(allocate(s, bytes, (void **)&s->between));
    TRY(allocate(s, SCALARS * sizeof *s->scalars, (void **)&s->scalars));
    TRY_CUDA(
        cudaMemcpyAsync(s->scalars + ONE, &one, sizeof one, cudaMemcpyHostToDevice, s->stream));
    TRY_SPARSE(cusparseCreateDnVec(&s->in, s->n, s->vectors, CUDA_R_64F));
    TRY_SPARSE(cusparseCreateDnVec(&s->out, s->n, s->between, CUDA_R_64F));
    return 0;
}

static int describe(loop *s, const arrays *a, double *values, cusparseSpMatDescr_t *matrix) {
    TRY_SPARSE(cusparseCreateCsr(matrix, s->n, s->n, s->nonzeros, a->row_ptr, a->columns, values,
                                 CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO,
                                 CUDA_R_64F));
    return 0;
}

static int prepare_product(loop *s) {
    size_t bytes = 0;
    TRY(describe(s, &s->a, s->a.values, &s->product));
    TRY_SPARSE(cusparseSpMV_bufferSize(s->sparse, CUSPARSE_OPERATION_NON_TRANSPOSE, &one,
                                       s->product, s->in, &zero, s->out, CUDA_R_64F,
                                       CUSPARSE_SPMV_ALG_DEFAULT, &bytes));
    TRY(allocate(s, bytes, &s->product_buffer));
    TRY_SPARSE(cusparseSpMV_preprocess(s->sparse, CUSPARSE_OPERATION_NON_TRANSPOSE, &one,
                                       s->product, s->in, &zero, s->out, CUDA_R_64F,
                                       CUSPARSE_SPMV_ALG_DEFAULT, s->product_buffer));
    return 0;
}

/* One part of `a`, with its present values. */
static int prepare_sweep(loop *s, const arrays *a, double *values, cusparseFillMode_t fill,
                         cusparseDiagType_t diagonal, cusparseOperation_t operation, sweep *w) {
    size_t bytes = 0;
    w->operation = operation;
    w->values = values;
    TRY(describe(s, a, values, &w->matrix));
    TRY_SPARSE(cusparseSpMatSetAttribute(w->matrix, CUSPARSE_SPMAT_FILL_MODE, &fill, sizeof fill));
    TRY_SPARSE(
        cusparseSpMatSetAttribute(w->matrix, CUSPARSE_SPMAT_DIAG_TYPE, &diagonal, sizeof diagonal));
    TRY_SPARSE(cusparseSpSV_createDescr(&w->plan));
    TRY_SPARSE(cusparseSpSV_bufferSize(s->sparse, operation, &one, w->matrix, s->in, s->out,
                                       CUDA_R_64F, CUSPARSE_SPSV_ALG_DEFAULT, w->plan, &bytes));
    TRY(allocate(s, bytes, &w->buffer));
    TRY_SPARSE(cusparseSpSV_analysis(s->sparse, operation, &one, w->matrix, s->in, s->out,
                                     CUDA_R_64F, CUSPARSE_SPSV_ALG_DEFAULT, w->plan, w->buffer));
    return 0;
}

static int prepare_sweeps(loop *s) {
    const cusparseOperation_t plain = CUSPARSE_OPERATION_NON_TRANSPOSE;
    const cusparseFillMode_t lower = CUSPARSE_FILL_MODE_LOWER, upper = CUSPARSE_FILL_MODE_UPPER;
    const cusparseDiagType_t stored = CUSPARSE_DIAG_TYPE_NON_UNIT;
    const int ic = s->system.precond == GSW_IC0;
    TRY(prepare_sweep(s, &s->a, s->factor, lower, ic ? stored : CUSPARSE_DIAG_TYPE_UNIT, plain,
                      &s->first));
    if (s->stored_upper)
        return prepare_sweep(s, &s->transpose, s->transpose.values, upper, stored, plain,
                             &s->second);
    if (ic)
        return prepare_sweep(s, &s->a, s->factor, lower, stored, CUSPARSE_OPERATION_TRANSPOSE,
                             &s->second);
    return prepare_sweep(s, &s->a, s->factor, upper, stored, plain, &s->second);
}

/* ---- Factors ---- */

static int find_zero_pivot(const loop *s) {
    const int ic = s->system.precond == GSW_IC0;
    int row = -1;
    const cusparseStatus_t status = ic ? cusparseXcsric02_zeroPivot(s->sparse, s->ic, &row)
                                       : cusparseXcsrilu02_zeroPivot(s->sparse, s->ilu, &row);
    if (status == CUSPARSE_STATUS_ZERO_PIVOT)
        return gsw_rival_fail(s->message, s->size, "the pivot of row %d is not usable", row);
    return gsw_rival_cusparse(status, "the search for zero pivots", s->message, s->size);
}

/* Computes the factors of A's values, in the arrays that the sweeps read. Waits for them. */
static int factorise(loop *s) {
    const arrays *a = &s->a;
    arrays *t = &s->transpose;
    TRY_CUDA(cudaMemcpyAsync(s->factor, a->values, (size_t)s->nonzeros * sizeof *s->factor,
                             cudaMemcpyDeviceToDevice, s->stream));
    if (s->system.precond == GSW_IC0)
        TRY_SPARSE(cusparseDcsric02(s->sparse, s->n, s->nonzeros, s->general, s->factor, a->row_ptr,
                                    a->columns, s->ic, POLICY, s->factor_buffer));
    else
        TRY_SPARSE(cusparseDcsrilu02(s->sparse, s->n, s->nonzeros, s->general, s->factor,
                                     a->row_ptr, a->columns, s->ilu, POLICY, s->factor_buffer));
    if (s->stored_upper)
        TRY_SPARSE(cusparseCsr2cscEx2(s->sparse, s->n, s->n, s->nonzeros, s->factor, a->row_ptr,
                                      a->columns, t->values, t->row_ptr, t->columns, CUDA_R_64F,
                                      CUSPARSE_ACTION_NUMERIC, CUSPARSE_INDEX_BASE_ZERO,
                                      CUSPARSE_CSR2CSC_ALG_DEFAULT, s->transpose_buffer));
    TRY(find_zero_pivot(s));
    TRY_CUDA(cudaStreamSynchronize(s->stream));
    return 0;
}

int gsw_cusparse_solve_factor(void *state, char *message, size_t size) {
    loop *s = state;
    s->message = message;
    s->size = size;
    TRY(factorise(s));
    TRY_SPARSE(cusparseSpSV_updateMatrix(s->sparse, s->first.plan, s->first.values,
                                         CUSPARSE_SPSV_UPDATE_GENERAL));
    TRY_SPARSE(cusparseSpSV_updateMatrix(s->sparse, s->second.plan, s->second.values,
                                         CUSPARSE_SPSV_UPDATE_GENERAL));
    TRY_CUDA(cudaStreamSynchronize(s->stream));
    return 0;
}

/* ---- Begin and end ---- */

static void free_sweep(sweep *w) {
    if (w->plan != NULL)
        (void)cusparseSpSV_destroyDescr(w->plan);
    if (w->matrix != NULL)
        (void)cusparseDestroySpMat(w->matrix);
    (void)cudaFree(w->buffer);
    *w = (sweep){0};
}

static void free_arrays(arrays *a) {
    (void)cudaFree(a->values);
    (void)cudaFree(a->columns);
    (void)cudaFree(a->row_ptr);
    *a = (arrays){0};
}

/* Reverses prepare(). */
static void unprepare(loop *s) {
    (void)cudaStreamSynchronize(s->stream);
    free_sweep(&s->second);
    free_sweep(&s->first);
    if (s->product != NULL)
        (void)cusparseDestroySpMat(s->product);
    if (s->out != NULL)
        (void)cusparseDestroyDnVec(s->out);
    if (s->in != NULL)
        (void)cusparseDestroyDnVec(s->in);
    if (s->ic != NULL)
        (void)cusparseDestroyCsric02Info(s->ic);
    if (s->ilu != NULL)
        (void)cusparseDestroyCsrilu02Info(s->ilu);
    if (s->general != NULL)
        (void)cusparseDestroyMatDescr(s->general);
    s->product = NULL, s->out = s->in = NULL, s->ic = NULL, s->ilu = NULL, s->general = NULL;
    void **const memory[] = {&s->factor_buffer,   &s->transpose_buffer, &s->product_buffer,
                             (void **)&s->factor, (void **)&s->vectors, (void **)&s->between,
                             (void **)&s->scalars};
    for (size_t i = 0; i < sizeof memory / sizeof memory[0]; i++) {
        (void)cudaFree(*memory[i]);
        *memory[i] = NULL;
    }
    free_arrays(&s->transpose);
    s->bytes = 0;
}

/* All analyses and buffers. SpSV is analysed with real factors; the time of their computation is
 * not counted. */
static int prepare(loop *s, double *milliseconds) {
    double start = gsw_rival_milliseconds();
    TRY(prepare_vectors(s));
    TRY(prepare_product(s));
    TRY(prepare_factor(s));
    TRY_CUDA(cudaStreamSynchronize(s->stream));
    *milliseconds = gsw_rival_milliseconds() - start;
    TRY(factorise(s));
    start = gsw_rival_milliseconds();
    TRY(prepare_sweeps(s));
    TRY_CUDA(cudaStreamSynchronize(s->stream));
    *milliseconds += gsw_rival_milliseconds() - start;
    return 0;
}

static int begin(loop *s) {
    TRY_SPARSE(cusparseCreate(&s->sparse));
    TRY_SPARSE(cusparseSetStream(s->sparse, s->stream));
    TRY_BLAS(cublasCreate(&s->blas));
    TRY_BLAS(cublasSetStream(s->blas, s->stream));
    TRY_BLAS(cublasSetPointerMode(s->blas, CUBLAS_POINTER_MODE_DEVICE));
    TRY_CUDA(cudaEventCreateWithFlags(&s->copied, cudaEventDisableTiming));
    TRY_CUDA(cudaMallocHost((void **)&s->norm_square, sizeof *s->norm_square));
    return 0;
}

static int open_loop(const gsw_solve_system *system, int stored_upper, void **state,
                     gsw_solve_cost *cost, char *message, size_t size) {
    *state = NULL;
    *cost = (gsw_solve_cost){0};
    if (gsw_solve_check(system, 1, message, size) != 0)
        return -1;
    if (system->method != GSW_CG && system->method != GSW_BICGSTAB)
        return gsw_rival_fail(message, size, "it knows the methods cg and bicgstab");
    if (system->precond != GSW_IC0 && (stored_upper || system->precond != GSW_ILU0))
        return gsw_rival_fail(message, size, "it knows the preconditioner%s ic0",
                              stored_upper ? "" : "s ilu0 and");
    loop *s = calloc(1, sizeof *s);
    if (s == NULL)
        return gsw_rival_fail(message, size, "out of memory");
    const gsw_csr *csr = system->device;
    s->system = *system;
    s->n = (int)csr->rows;
    s->nonzeros = (int)csr->nonzeros;
    s->a = (arrays){(int *)csr->row_ptr, (int *)csr->columns, (double *)csr->values};
    s->stored_upper = stored_upper;
    s->stream = system->stream;
    s->message = message;
    s->size = size;
    int failed = begin(s) != 0 || prepare(s, &cost->setup_ms) != 0;
    if (!failed) {
        unprepare(s);
        failed = prepare(s, &cost->setup_ms) != 0;
    }
    if (failed) {
        gsw_cusparse_solve_close(s);
        return -1;
    }
    cost->buffer_bytes = (double)s->bytes;
    *state = s;
    return 0;
}

int gsw_cusparse_solve_open(const gsw_solve_system *system, void **state, gsw_solve_cost *cost,
                            char *message, size_t size) {
    return open_loop(system, 0, state, cost, message, size);
}

int gsw_cusparse_solve_upper_open(const gsw_solve_system *system, void **state,
                                  gsw_solve_cost *cost, char *message, size_t size) {
    return open_loop(system, 1, state, cost, message, size);
}

void gsw_cusparse_solve_close(void *state) {
    loop *s = state;
    if (s == NULL)
        return;
    unprepare(s);
    (void)cudaFreeHost(s->norm_square);
    if (s->copied != NULL)
        (void)cudaEventDestroy(s->copied);
    if (s->blas != NULL)
        (void)cublasDestroy(s->blas);
    if (s->sparse != NULL)
        (void)cusparseDestroy(s->sparse);
    free(s);
}

/* ---- The steps of the methods. All are queued on the stream. ---- */

static double *vector(const loop *s, int number) {
    return s->vectors + (size_t)number * (size_t)s->n;
}

static int dot(loop *s, const double *x, const double *y, int result) {
    TRY_BLAS(cublasDdot(s->blas, s->n, x, 1, y, 1, s->scalars + result));
    return 0;
}

/* y += a x. */
static int axpy(loop *s, int a, const double *x, double *y) {
    TRY_BLAS(cublasDaxpy(s->blas, s->n, s->scalars + a, x, 1, y, 1));
    return 0;
}

static int scale(loop *s, int a, double *x) {
    TRY_BLAS(cublasDscal(s->blas, s->n, s->scalars + a, x, 1));
    return 0;
}

static int copy(loop *s, const double *x, double *y) {
    TRY_CUDA(cudaMemcpyAsync(y, x, (size_t)s->n * sizeof *y, cudaMemcpyDeviceToDevice, s->stream));
    return 0;
}

/* pair = a / b, and its negative beside it. */
static int divide(loop *s, int a, int b, int pair) {
    TRY_CUDA((cudaError_t)gsw_scalars_divide(s->stream, s->scalars + a, s->scalars + b,
                                             s->scalars + pair));
    return 0;
}

/* BETA from the rhos and a / b; RHO becomes RHO_NEXT. */
static int advance(loop *s, int a, int b) {
    TRY_CUDA((cudaError_t)gsw_scalars_advance(s->stream, s->scalars + RHO_NEXT, s->scalars + RHO,
                                              s->scalars + a, s->scalars + b, s->scalars + BETA));
    return 0;
}

/* y = alpha A x + beta y. */
static int multiply(loop *s, const double *alpha, const double *x, const double *beta, double *y) {
    TRY_SPARSE(cusparseDnVecSetValues(s->in, (void *)x));
    TRY_SPARSE(cusparseDnVecSetValues(s->out, y));
    TRY_SPARSE(cusparseSpMV(s->sparse, CUSPARSE_OPERATION_NON_TRANSPOSE, alpha, s->product, s->in,
                            beta, s->out, CUDA_R_64F, CUSPARSE_SPMV_ALG_DEFAULT,
                            s->product_buffer));
    return 0;
}

static int run_sweep(loop *s, const sweep *w, const double *b, double *x) {
    TRY_SPARSE(cusparseDnVecSetValues(s->in, (void *)b));
    TRY_SPARSE(cusparseDnVecSetValues(s->out, x));
    TRY_SPARSE(cusparseSpSV_solve(s->sparse, w->operation, &one, w->matrix, s->in, s->out,
                                  CUDA_R_64F, CUSPARSE_SPSV_ALG_DEFAULT, w->plan));
    return 0;
}

static int precondition(loop *s, const double *in, double *out) {
    TRY(run_sweep(s, &s->first, in, s->between));
    return run_sweep(s, &s->second, s->between, out);
}

/* Starts the copy of the norm of r to the host. */
static int send_norm(loop *s, const double *r) {
    TRY(dot(s, r, r, SQUARE));
    TRY_CUDA(cudaMemcpyAsync(s->norm_square, s->scalars + SQUARE, sizeof *s->norm_square,
                             cudaMemcpyDeviceToHost, s->stream));
    TRY_CUDA(cudaEventRecord(s->copied, s->stream));
    return 0;
}

static int receive_norm(loop *s, double *norm) {
    TRY_CUDA(cudaEventSynchronize(s->copied));
    *norm = sqrt(*s->norm_square);
    return 0;
}

/* Waits for the norm and decides whether it was the last one. */
static int check_norm(loop *s, double tolerance, gsw_solve_outcome *outcome, int *ended) {
    double norm;
    TRY(receive_norm(s, &norm));
    if (!isfinite(norm))
        return gsw_rival_fail(s->message, s->size, "iteration %lld: the residual norm is %g",
                              (long long)outcome->iterations, norm);
    outcome->converged = norm <= tolerance;
    *ended = outcome->converged || outcome->iterations >= s->system.max_iterations;
    return 0;
}

/* ---- The methods ---- */

static int solve_cg(loop *s, double tolerance, double *x, gsw_solve_outcome *outcome) {
    double *r = vector(s, CG_R), *z = vector(s, CG_Z), *p = vector(s, CG_P), *w = vector(s, CG_W);
    for (;;) {
        int ended = 0;
        TRY(send_norm(s, r));
        TRY(check_norm(s, tolerance, outcome, &ended));
        if (ended)
            return 0;
        TRY(precondition(s, r, z));
        if (outcome->iterations == 0) {
            TRY(dot(s, r, z, RHO));
            TRY(copy(s, z, p));
        } else {
            TRY(dot(s, r, z, RHO_NEXT));
            TRY(advance(s, ONE, ONE));
            TRY(scale(s, BETA, p));
            TRY(axpy(s, ONE, z, p));
        }
        TRY(multiply(s, &one, p, &zero, w));
        TRY(dot(s, p, w, DENOMINATOR));
        TRY(divide(s, RHO, DENOMINATOR, ALPHA));
        TRY(axpy(s, ALPHA, p, x));
        TRY(axpy(s, MINUS_ALPHA, w, r));
        outcome->iterations++;
    }
}

/* p = r + beta (p - omega v). */
static int next_direction(loop *s) {
    double *r = vector(s, BI_R), *p = vector(s, BI_P);
    TRY(dot(s, r, vector(s, BI_SHADOW), RHO_NEXT));
    TRY(advance(s, ALPHA, OMEGA));
    TRY(axpy(s, MINUS_OMEGA, vector(s, BI_V), p));
    TRY(scale(s, BETA, p));
    return axpy(s, ONE, r, p);
}

/* Both halves of an iteration. Between them r is also the residual s. */
static int iterate_bicgstab(loop *s, double *x) {
    double *r = vector(s, BI_R), *p = vector(s, BI_P), *v = vector(s, BI_V), *t = vector(s, BI_T);
    double *p_hat = vector(s, BI_P_HAT), *s_hat = vector(s, BI_S_HAT);
    TRY(precondition(s, p, p_hat));
    TRY(multiply(s, &one, p_hat, &zero, v));
    TRY(dot(s, v, vector(s, BI_SHADOW), DENOMINATOR));
    TRY(divide(s, RHO, DENOMINATOR, ALPHA));
    TRY(axpy(s, MINUS_ALPHA, v, r));
    TRY(precondition(s, r, s_hat));
    TRY(multiply(s, &one, s_hat, &zero, t));
    TRY(dot(s, t, r, NUMERATOR));
    TRY(dot(s, t, t, DENOMINATOR));
    TRY(divide(s, NUMERATOR, DENOMINATOR, OMEGA));
    TRY(axpy(s, ALPHA, p_hat, x));
    TRY(axpy(s, OMEGA, s_hat, x));
    return axpy(s, MINUS_OMEGA, t, r);
}

static int solve_bicgstab(loop *s, double tolerance, double *x, gsw_solve_outcome *outcome) {
    double *r = vector(s, BI_R), *shadow = vector(s, BI_SHADOW);
    TRY(copy(s, r, shadow));
    TRY(copy(s, r, vector(s, BI_P)));
    TRY(send_norm(s, r));
    TRY(dot(s, r, shadow, RHO));
    for (;;) {
        int ended = 0;
        TRY(check_norm(s, tolerance, outcome, &ended));
        if (ended)
            return 0;
        TRY(iterate_bicgstab(s, x));
        outcome->iterations++;
        TRY(send_norm(s, r));
        TRY(next_direction(s));
    }
}

/* Computes r = b - A x in the first vector, which is the residual of both methods, then runs the
 * method. */
static int solve(loop *s, const double *b, double *x, gsw_solve_outcome *outcome) {
    double norm, *r = vector(s, 0);
    TRY(send_norm(s, b));
    TRY(receive_norm(s, &norm));
    if (norm == 0) {
        outcome->converged = 1;
        TRY_CUDA(cudaMemsetAsync(x, 0, (size_t)s->n * sizeof *x, s->stream));
        return 0;
    }
    TRY(copy(s, b, r));
    TRY(multiply(s, &minus_one, x, &one, r));
    const double tolerance = s->system.rtol * norm;
    return s->system.method == GSW_CG ? solve_cg(s, tolerance, x, outcome)
                                      : solve_bicgstab(s, tolerance, x, outcome);
}

int gsw_cusparse_solve_solve(void *state, const double *b, double *x, gsw_solve_outcome *outcome,
                             char *message, size_t size) {
    loop *s = state;
    s->message = message;
    s->size = size;
    *outcome = (gsw_solve_outcome){0};
    TRY(solve(s, b, x, outcome));
    TRY_CUDA(cudaStreamSynchronize(s->stream));
    return 0;
}
