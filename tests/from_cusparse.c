/* from_cusparse.c: runs the function of src/from-cusparse.md on the CPU. It compares the
 * results with sweeps of the factors that gsw_factor_extract() returns. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <gridsweep/gridsweep.h>

gsw_status precondition_with_gridsweep(gsw_backend backend, void *stream, int64_t nx, int64_t ny,
                                       int64_t nz, const gsw_csr *csr, const double *r, double *x);

/* The largest value of |b - T x|. */
static double misses(const gsw_csr *t, const double *x, const double *b) {
    const int64_t *row_ptr = t->row_ptr, *columns = t->columns;
    const double *values = t->values;
    double largest = 0;
    for (int64_t i = 0; i < t->rows; i++) {
        double sum = b[i];
        for (int64_t k = row_ptr[i]; k < row_ptr[i + 1]; k++)
            sum -= values[k] * x[columns[k]];
        largest = fmax(largest, fabs(sum));
    }
    return largest;
}

/* y = U x, so that L y = r can be checked. */
static void multiply(const gsw_csr *t, const double *x, double *y) {
    const int64_t *row_ptr = t->row_ptr, *columns = t->columns;
    const double *values = t->values;
    for (int64_t i = 0; i < t->rows; i++) {
        y[i] = 0;
        for (int64_t k = row_ptr[i]; k < row_ptr[i + 1]; k++)
            y[i] += values[k] * x[columns[k]];
    }
}

int main(void) {
    enum { NX = 9, NY = 8, NZ = 7, N = NX * NY * NZ };
    static double r[N], x[N], y[N];
    const gsw_context_options options = {.size = sizeof options, .backend = GSW_BACKEND_CPU};
    gsw_context *context = NULL;
    gsw_problem *problem = NULL;
    gsw_factor *ilu = NULL;
    gsw_csr csr = {0}, lower = {0}, upper = {0};
    gsw_status status = gsw_context_create(&options, &context);
    if (!status)
        status = gsw_problem_parse(context, "convection:9x8x7", NULL, &problem);
    if (!status)
        status = gsw_matrix_to_csr(context, gsw_problem_matrix(problem), GSW_FULL, GSW_I64, &csr);
    if (!status)
        status = gsw_factor_create(context, gsw_problem_matrix(problem), NULL, &ilu);
    if (!status)
        status = gsw_factor_extract(context, ilu, GSW_I64, &lower, &upper);
    gsw_random_vector(3, N, r);
    if (!status)
        status = precondition_with_gridsweep(GSW_BACKEND_CPU, NULL, NX, NY, NZ, &csr, r, x);
    double error = 1;
    if (!status) {
        multiply(&upper, x, y);
        error = misses(&lower, y, r);
    }
    printf("%s, L U x misses r by %.1e\n", gsw_status_text(status), error);
    gsw_csr_free(&upper);
    gsw_csr_free(&lower);
    gsw_csr_free(&csr);
    gsw_factor_destroy(ilu);
    gsw_problem_destroy(problem);
    gsw_context_destroy(context);
    return status == GSW_SUCCESS && error < 1e-12 ? EXIT_SUCCESS : EXIT_FAILURE;
}
