/* cusparse_spsv.c: NVIDIA's own solver, cusparseSpSV with CUSPARSE_SPSV_ALG_DEFAULT, on CSR.
 *
 * This is the generic interface of cuSPARSE: descriptors, an analysis, then any number of solves.
 * Publications up to CUDA 11 compare with the older csrsv2 functions, which no longer exist in CUDA
 * 13. NVIDIA has not published the method. csrsv2 was level scheduling (M. Naumov, "Parallel
 * solution of sparse triangular linear systems in the preconditioned iterative methods on the GPU",
 * NVIDIA technical report NVR-2011-001, 2011).
 *
 * Memory: the buffer of cusparseSpSV_bufferSize(), which is large, about twice the matrix. Before
 * the first solve: allocation of the buffer and the analysis. Both run twice here and the second
 * time is reported, so that loading the library's kernels is not counted. */
#include <stdlib.h>

#include "cusparse_rival.h"

typedef struct spsv {
    const gsw_csr *csr;
    cudaStream_t stream;
    cudaDataType type;
    cusparseHandle_t handle;
    cusparseSpMatDescr_t matrix;
    cusparseDnVecDescr_t b, x;
    cusparseSpSVDescr_t plan;
    void *buffer;
    size_t buffer_bytes;
} spsv;

/* 1 in the type of the values. */
static const void *one(const spsv *s) {
    static const double f64 = 1.0;
    static const float f32 = 1.0F;
    return s->type == CUDA_R_64F ? (const void *)&f64 : (const void *)&f32;
}

#define TRY(call)                                                                                  \
    do {                                                                                           \
        if (gsw_rival_cusparse((call), #call, message, size) != 0)                                 \
            return -1;                                                                             \
    } while (0)

#define TRY_CUDA(call)                                                                             \
    do {                                                                                           \
        if (gsw_rival_cuda((call), #call, message, size) != 0)                                     \
            return -1;                                                                             \
    } while (0)

static int describe(spsv *s, gsw_part part, void *b, void *x, char *message, size_t size) {
    const gsw_csr *csr = s->csr;
    cusparseFillMode_t fill =
        part == GSW_LOWER ? CUSPARSE_FILL_MODE_LOWER : CUSPARSE_FILL_MODE_UPPER;
    cusparseDiagType_t diagonal = CUSPARSE_DIAG_TYPE_NON_UNIT;
    TRY(cusparseCreate(&s->handle));
    TRY(cusparseSetStream(s->handle, s->stream));
    TRY(cusparseCreateCsr(&s->matrix, csr->rows, csr->rows, csr->nonzeros, (void *)csr->row_ptr,
                          (void *)csr->columns, (void *)csr->values, CUSPARSE_INDEX_32I,
                          CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, s->type));
    TRY(cusparseSpMatSetAttribute(s->matrix, CUSPARSE_SPMAT_FILL_MODE, &fill, sizeof fill));
    TRY(cusparseSpMatSetAttribute(s->matrix, CUSPARSE_SPMAT_DIAG_TYPE, &diagonal, sizeof diagonal));
    TRY(cusparseCreateDnVec(&s->b, csr->rows, b, s->type));
    TRY(cusparseCreateDnVec(&s->x, csr->rows, x, s->type));
    return 0;
}

/* Buffer and analysis. */
static int analyse(spsv *s, char *message, size_t size) {
    TRY(cusparseSpSV_createDescr(&s->plan));
    TRY(cusparseSpSV_bufferSize(s->handle, CUSPARSE_OPERATION_NON_TRANSPOSE, one(s), s->matrix,
                                s->b, s->x, s->type, CUSPARSE_SPSV_ALG_DEFAULT, s->plan,
                                &s->buffer_bytes));
    TRY_CUDA(cudaMalloc(&s->buffer, s->buffer_bytes > 0 ? s->buffer_bytes : 1));
    TRY(cusparseSpSV_analysis(s->handle, CUSPARSE_OPERATION_NON_TRANSPOSE, one(s), s->matrix, s->b,
                              s->x, s->type, CUSPARSE_SPSV_ALG_DEFAULT, s->plan, s->buffer));
    TRY_CUDA(cudaStreamSynchronize(s->stream));
    return 0;
}

static void forget_analysis(spsv *s) {
    if (s->plan != NULL)
        (void)cusparseSpSV_destroyDescr(s->plan);
    (void)cudaFree(s->buffer);
    s->plan = NULL;
    s->buffer = NULL;
}

static int prepare(spsv *s, gsw_part part, void *b, void *x, double *milliseconds, char *message,
                   size_t size) {
    if (describe(s, part, b, x, message, size) != 0 || analyse(s, message, size) != 0)
        return -1;
    forget_analysis(s);
    const double start = gsw_rival_milliseconds();
    if (analyse(s, message, size) != 0)
        return -1;
    *milliseconds = gsw_rival_milliseconds() - start;
    return 0;
}

/* The analysis needs vectors; solves bring their own. */
static int prepare_with_vectors(spsv *s, gsw_part part, double *milliseconds, char *message,
                                size_t size) {
    const size_t value = s->type == CUDA_R_64F ? sizeof(double) : sizeof(float);
    const size_t bytes = (size_t)s->csr->rows * value;
    void *b = NULL, *x = NULL;
    int failed = gsw_rival_cuda(cudaMalloc(&b, bytes), "cudaMalloc", message, size) != 0 ||
                 gsw_rival_cuda(cudaMalloc(&x, bytes), "cudaMalloc", message, size) != 0 ||
                 gsw_rival_cuda(cudaMemsetAsync(b, 0, bytes, s->stream), "cudaMemsetAsync", message,
                                size) != 0 ||
                 prepare(s, part, b, x, milliseconds, message, size) != 0;
    (void)cudaFree(x);
    (void)cudaFree(b);
    return failed ? -1 : 0;
}

int gsw_cusparse_open(const gsw_rival_system *system, void **state, gsw_rival_cost *cost,
                      char *message, size_t size) {
    *state = NULL;
    *cost = (gsw_rival_cost){0};
    if (gsw_rival_check(system, 1, message, size) != 0)
        return -1;
    spsv *s = calloc(1, sizeof *s);
    if (s == NULL)
        return gsw_rival_fail(message, size, "out of memory");
    s->csr = system->device;
    s->stream = system->stream;
    s->type = s->csr->value_type == GSW_F64 ? CUDA_R_64F : CUDA_R_32F;
    if (prepare_with_vectors(s, system->part, &cost->setup_ms, message, size) != 0) {
        gsw_cusparse_close(s);
        return -1;
    }
    cost->buffer_bytes = (double)s->buffer_bytes;
    *state = s;
    return 0;
}

int gsw_cusparse_solve(void *state, const void *b, void *x, char *message, size_t size) {
    spsv *s = state;
    TRY(cusparseDnVecSetValues(s->b, (void *)b));
    TRY(cusparseDnVecSetValues(s->x, x));
    TRY(cusparseSpSV_solve(s->handle, CUSPARSE_OPERATION_NON_TRANSPOSE, one(s), s->matrix, s->b,
                           s->x, s->type, CUSPARSE_SPSV_ALG_DEFAULT, s->plan));
    return 0;
}

void gsw_cusparse_close(void *state) {
    spsv *s = state;
    if (s == NULL)
        return;
    (void)cudaStreamSynchronize(s->stream);
    forget_analysis(s);
    if (s->x != NULL)
        (void)cusparseDestroyDnVec(s->x);
    if (s->b != NULL)
        (void)cusparseDestroyDnVec(s->b);
    if (s->matrix != NULL)
        (void)cusparseDestroySpMat(s->matrix);
    if (s->handle != NULL)
        (void)cusparseDestroy(s->handle);
    free(s);
}
