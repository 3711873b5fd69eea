/* test_cuda_spmv.c: products with a matrix and vector operations on a CUDA device against the CPU.
 *
 * GSW_TEST_STRIDE=6 in the environment tries one grid in six (see device.h). */
#include "contract/backend.h"
#include "contract/context.h"
#include "device.h"

static gsw_context *cpu, *cuda;

static void open_contexts(void) {
    cpu = oracle_context(2);
    cuda = device_context(NULL);
}

static void close_contexts(void) {
    gsw_context_destroy(cuda);
    gsw_context_destroy(cpu);
}

/* ---- products ---- */

static const oracle_layout layouts[] = {
    {GSW_FORMAT_STENCIL, GSW_F64, GSW_I32, 0, GSW_FULL, 0},
    {GSW_FORMAT_STENCIL, GSW_F32, GSW_I32, 0, GSW_FULL, 0},
    {GSW_FORMAT_CSR, GSW_F64, GSW_I32, 0, GSW_FULL, 0},
    {GSW_FORMAT_CSR, GSW_F64, GSW_I64, 1, GSW_FULL, 0},
    {GSW_FORMAT_CSR, GSW_F32, GSW_I32, 1, GSW_FULL, 0},
    {GSW_FORMAT_CSR, GSW_F32, GSW_I64, 0, GSW_FULL, 0},
    {GSW_FORMAT_CSR, GSW_F64, GSW_I32, 1, GSW_LOWER, 0},
    {GSW_FORMAT_CSR, GSW_F32, GSW_I64, 1, GSW_UPPER, 0},
    {GSW_FORMAT_CSR, GSW_F64, GSW_I64, 0, GSW_FULL, 3},
    {GSW_FORMAT_CSR, GSW_F32, GSW_I32, 0, GSW_UPPER, 4},
};
#define LAYOUTS ((int)(sizeof layouts / sizeof layouts[0]))

/* y = A x on both sides where b is NULL, else y = b - A x, also with y in the place of b. */
static void compare_product(const gsw_matrix *host, const gsw_matrix *device, gsw_dtype type,
                            const void *b, const void *x, int shift) {
    const int64_t n = oracle_points(&host->grid);
    void *expected = oracle_copy(type, x, n), *y = oracle_copy(type, x, n);
    device_vector device_x = device_vector_make(cuda, type, n),
                  device_b = device_vector_make(cuda, type, n),
                  device_y = device_vector_make(cuda, type, n);
    device_shift(&device_x, shift);
    device_shift(&device_y, !shift);
    device_put(cuda, &device_x, x);
    if (b == NULL) {
        device_try(cpu, gsw_spmv(cpu, host, type, x, expected));
        device_try(cuda, gsw_spmv(cuda, device, type, device_x.values, device_y.values));
    } else {
        device_put(cuda, &device_b, b);
        device_try(cpu, gsw_residual(cpu, host, type, b, x, expected));
        device_try(cuda, gsw_residual(cuda, device, type, device_b.values, device_x.values,
                                      device_y.values));
    }
    device_get(cuda, &device_y, y);
    const double error = oracle_error(type, n, y, expected);
    ck_assert_msg(error <= oracle_tolerance(type), "%s on %lldx%lldx%lld: error %g",
                  gsw_stencil_name(&host->stencil), (long long)host->grid.nx,
                  (long long)host->grid.ny, (long long)host->grid.nz, error);
    if (b != NULL) {
        device_try(cuda, gsw_residual(cuda, device, type, device_b.values, device_x.values,
                                      device_b.values));
        device_get(cuda, &device_b, expected);
        ck_assert_mem_eq(expected, y, (size_t)n * gsw_dtype_size(type));
    }
    device_vector_free(cuda, &device_x);
    device_vector_free(cuda, &device_b);
    device_vector_free(cuda, &device_y);
    free(expected);
    free(y);
}

static void compare_products(const gsw_matrix *host, gsw_dtype values) {
    const int64_t n = oracle_points(&host->grid);
    gsw_matrix device;
    device_try(cuda, gsw_matrix_upload(cuda, host, &device));
    for (int vectors = GSW_F64; vectors <= (int)values; vectors++) {
        void *x = oracle_vector((gsw_dtype)vectors, 2, n),
             *b = oracle_vector((gsw_dtype)vectors, 3, n);
        compare_product(host, &device, (gsw_dtype)vectors, NULL, x, 0);
        compare_product(host, &device, (gsw_dtype)vectors, b, x, 1);
        free(x);
        free(b);
    }
    gsw_matrix_release(cuda, &device);
}

static void compare_layouts(const gsw_grid *grid, const gsw_stencil *stencil) {
    oracle_matrix *matrix = oracle_random(grid, stencil, 40, ORACLE_ANY_SIGN);
    for (int l = 0; l < LAYOUTS; l++) {
        oracle_matrix *stored = oracle_convert(matrix, &layouts[l]);
        compare_products(&stored->view, layouts[l].value_type);
        oracle_free(stored);
    }
    oracle_free(matrix);
}

START_TEST(products_equal_those_of_the_cpu) {
    const int stride = device_stride();
    for (int g = _i % stride; g < oracle_grid_count(); g += stride) {
        const gsw_grid grid = oracle_grid(g);
        compare_layouts(&grid, oracle_stencil(_i, NULL));
    }
}
END_TEST

START_TEST(products_on_large_grids) {
    static const gsw_grid grids[] = {{40000, 2, 1}, {65, 63, 61}, {1, 300, 200}};
    compare_layouts(&grids[_i], oracle_stencil(_i == 0 ? 1 : 5, NULL));
}
END_TEST

START_TEST(null_arrays_are_zeros) {
    const gsw_grid grid = {9, 5, 4};
    oracle_matrix *matrix = oracle_random(&grid, oracle_stencil(5, NULL), 8, ORACLE_ANY_SIGN);
    for (int32_t e = 0; e < matrix->view.stencil.count; e += 3) {
        free(matrix->arrays[e]);
        matrix->arrays[e] = NULL;
    }
    compare_products(&matrix->view, GSW_F64);
    oracle_free(matrix);
}
END_TEST

/* ---- vector operations ---- */

static const int64_t lengths[] = {0, 1, 7, 31, 32, 33, 1023, 4096, 4097, 100003, 5000011};
#define LENGTHS ((int)(sizeof lengths / sizeof lengths[0]))

START_TEST(dot_is_accurate_and_repeats) {
    const int64_t n = lengths[_i];
    double *x = oracle_vector(GSW_F64, 1, n), *y = oracle_vector(GSW_F64, 2, n);
    device_vector device_x = device_vector_make(cuda, GSW_F64, n),
                  device_y = device_vector_make(cuda, GSW_F64, n);
    long double sum = 0, scale = 0;
    for (int64_t i = 0; i < n; i++) {
        sum += (long double)x[i] * y[i];
        scale += fabsl((long double)x[i] * y[i]);
    }
    double first = 0;
    for (int r = 0; r < 20; r++) {
        double dot = NAN;
        device_shift(&device_x, r == 0);
        device_put(cuda, &device_x, x);
        device_put(cuda, &device_y, y);
        device_try(cuda, cuda->ops->dot(cuda, n, (const double *)device_x.values,
                                        (const double *)device_y.values, &dot));
        first = r == 0 ? dot : first;
        ck_assert(dot == first);
        ck_assert(fabsl(dot - sum) <= 1e-14L * scale);
    }
    if (n > 0) {
        double dot = 0;
        x[n / 2] = NAN;
        device_put(cuda, &device_x, x);
        device_try(cuda, cuda->ops->dot(cuda, n, (const double *)device_x.values,
                                        (const double *)device_y.values, &dot));
        ck_assert(isnan(dot));
    }
    device_vector_free(cuda, &device_x);
    device_vector_free(cuda, &device_y);
    free(x);
    free(y);
}
END_TEST

START_TEST(axpby_copy_and_fill) {
    const int64_t n = lengths[_i];
    double *x = oracle_vector(GSW_F64, 1, n), *y = oracle_vector(GSW_F64, 2, n),
           *z = oracle_vector(GSW_F64, 3, n);
    device_vector device_x = device_vector_make(cuda, GSW_F64, n),
                  device_z = device_vector_make(cuda, GSW_F64, n);
    int64_t wrong = 0;
    for (int shift = 0; shift <= 1; shift++) {
        device_poison(cuda, &device_z);
        device_shift(&device_z, shift);
        double *const to = (double *)device_z.values;
        const double *const from = (const double *)device_x.values;
        device_put(cuda, &device_x, x);
        device_put(cuda, &device_z, y);
        device_try(cuda, cuda->ops->axpby(cuda, n, 0.75, from, -3, to));
        device_get(cuda, &device_z, z);
        for (int64_t i = 0; i < n; i++)
            wrong += !(fabs(z[i] - (0.75 * x[i] - 3 * y[i])) <= 1e-15);

        device_poison(cuda, &device_z); /* b = 0 does not read y */
        device_try(cuda, cuda->ops->axpby(cuda, n, 0.75, from, 0, to));
        device_get(cuda, &device_z, z);
        for (int64_t i = 0; i < n; i++)
            wrong += z[i] != 0.75 * x[i];

        device_poison(cuda, &device_z);
        device_try(cuda, cuda->ops->copy(cuda, n, from, to));
        device_get(cuda, &device_z, z);
        ck_assert_int_eq(memcmp(z, x, (size_t)n * sizeof *x), 0);

        device_poison(cuda, &device_z);
        device_try(cuda, cuda->ops->fill(cuda, n, -1.5, to));
        device_get(cuda, &device_z, z);
        for (int64_t i = 0; i < n; i++)
            wrong += z[i] != -1.5;
    }
    ck_assert_int_eq(wrong, 0);
    device_vector_free(cuda, &device_x);
    device_vector_free(cuda, &device_z);
    free(x);
    free(y);
    free(z);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("cuda_spmv");
    TCase *equal = tcase_create("equal"), *larger = tcase_create("large"),
          *vectors = tcase_create("vectors");
    tcase_add_checked_fixture(equal, open_contexts, close_contexts);
    tcase_add_loop_test(equal, products_equal_those_of_the_cpu, 0, oracle_stencil_count());
    tcase_add_test(equal, null_arrays_are_zeros);
    suite_add_tcase(suite, equal);
    tcase_add_checked_fixture(larger, open_contexts, close_contexts);
    tcase_add_loop_test(larger, products_on_large_grids, 0, 3);
    suite_add_tcase(suite, larger);
    tcase_add_checked_fixture(vectors, open_contexts, close_contexts);
    tcase_add_loop_test(vectors, dot_is_accurate_and_repeats, 0, LENGTHS);
    tcase_add_loop_test(vectors, axpby_copy_and_fill, 0, LENGTHS);
    suite_add_tcase(suite, vectors);
    return device_run_suite(suite);
}
