/* test_spmv.c: products with a matrix in every layout and precision against the plain sum, and the
 * vector operations of a backend.
 *
 * GSW_TEST_STRIDE=6 in the environment tries one grid in six (see device.h). */
#define CONTEXT_THREADS 3
#include <math.h>

#include "context_fixture.h"
#include "contract/backend.h"
#include "contract/context.h"
#include "common/csr.h"
#include "reference/reference.h"

/* ---- products ---- */

/* sum += a v, as a chain of fused operations of the vectors' type. */
static void add_term(gsw_dtype vectors, double a, double v, double *sum, double *scale) {
    *sum = vectors == GSW_F32 ? (double)fmaf((float)a, (float)v, (float)*sum) : fma(a, v, *sum);
    *scale += fabs(a * v);
}

/* Row `row` of b - A x (b NULL: of A x) in the canonical order; *scale receives the sum of the
 * magnitudes. */
static double expected_row(const gsw_matrix *m, gsw_dtype vectors, int64_t row, const void *b,
                           const void *x, double *scale) {
    const gsw_csr *csr = &m->csr;
    const double sign = b ? -1 : 1;
    double sum = b ? oracle_get(vectors, b, row) : 0;
    *scale = fabs(sum);
    if (m->format == GSW_FORMAT_CSR) {
        const int64_t end = gsw_index_at(csr->row_ptr, csr->index_type, row + 1) - csr->base;
        int64_t k = gsw_index_at(csr->row_ptr, csr->index_type, row) - csr->base;
        for (; k < end; k++) {
            const int64_t column = gsw_index_at(csr->columns, csr->index_type, k) - csr->base;
            add_term(vectors, sign * gsw_value_at(csr->values, csr->value_type, k),
                     oracle_get(vectors, x, column), &sum, scale);
        }
        return sum;
    }
    for (int32_t e = 0; e < m->stencil.count; e++) {
        const int64_t there = gsw_reference_neighbour(&m->grid, row, m->stencil.offsets[e], 1);
        if (there >= 0 && m->array.values[e] != NULL)
            add_term(vectors, sign * gsw_value_at(m->array.values[e], m->array.value_type, row),
                     oracle_get(vectors, x, there), &sum, scale);
    }
    return sum;
}

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
    {GSW_FORMAT_CSR, GSW_F32, GSW_I64, 1, GSW_LOWER, 0},
    {GSW_FORMAT_CSR, GSW_F64, GSW_I64, 0, GSW_UPPER, 5},
    {GSW_FORMAT_CSR, GSW_F32, GSW_I32, 1, GSW_FULL, 5},
};

/* y = A x where b is NULL, else y = b - A x, also with y in the place of b. With `shift`, x has
 * only the alignment of its type, and y without it. */
static void compare_rows(const gsw_matrix *host, const gsw_matrix *there, gsw_dtype type,
                         const void *b, const void *x, int shift) {
    const int64_t n = oracle_points(&host->grid);
    const double epsilon = type == GSW_F32 ? 0x1p-23 : 0x1p-52;
    void *y = keep_vector(type, 1, n), *in_place = keep_vector(type, 1, n);
    device_vector at_x = keep_guarded(type, n), at_b = keep_guarded(type, n),
                  at_y = keep_guarded(type, n);
    device_shift(&at_x, shift);
    device_shift(&at_y, !shift);
    device_put(context, &at_x, x);
    if (b == NULL) {
        must(context, gsw_spmv(context, there, type, at_x.values, at_y.values));
    } else {
        device_put(context, &at_b, b);
        must(context, gsw_residual(context, there, type, at_b.values, at_x.values, at_y.values));
    }
    device_get(context, &at_y, y);
    int64_t wrong = 0;
    for (int64_t row = 0; row < n; row++) {
        double scale;
        const double expected = expected_row(host, type, row, b, x, &scale);
        wrong += !(fabs(oracle_get(type, y, row) - expected) <= 4 * epsilon * scale);
    }
    ck_assert_msg(wrong == 0, "%s on %lldx%lldx%lld: %lld rows are wrong",
                  gsw_stencil_name(&host->stencil), (long long)host->grid.nx,
                  (long long)host->grid.ny, (long long)host->grid.nz, (long long)wrong);
    if (b != NULL) {
        must(context, gsw_residual(context, there, type, at_b.values, at_x.values, at_b.values));
        device_get(context, &at_b, in_place);
        ck_assert_mem_eq(in_place, y, (size_t)n * gsw_dtype_size(type));
    }
}

static void compare_matrix(const gsw_matrix *host, gsw_dtype values) {
    const size_t mark = keep_mark();
    const int64_t n = oracle_points(&host->grid);
    const gsw_matrix *there = keep_there(context, host);
    for (int type = GSW_F64; type <= (int)values; type++) {
        const void *x = keep_vector((gsw_dtype)type, 2, n), *b = keep_vector((gsw_dtype)type, 3, n);
        compare_rows(host, there, (gsw_dtype)type, NULL, x, 0);
        compare_rows(host, there, (gsw_dtype)type, b, x, 1);
    }
    keep_release(mark);
}

/* In the first `count` layouts. */
static void compare_layouts(const gsw_grid *grid, const gsw_stencil *stencil, int count) {
    const size_t mark = keep_mark();
    const oracle_matrix *plain = keep_matrix_of(grid, stencil, 40, ORACLE_ANY_SIGN);
    for (int l = 0; l < count; l++)
        compare_matrix(&keep_converted(plain, &layouts[l])->view, layouts[l].value_type);
    keep_release(mark);
}

TEST(products_on_every_grid_and_layout) {
    const int stride = device_stride();
    for (int g = _i % stride; g < oracle_grid_count(); g += stride) {
        const gsw_grid grid = oracle_grid(g);
        compare_layouts(&grid, oracle_stencil(_i, NULL), LENGTH(layouts));
    }
}

/* With lines longer than the part that one task computes, too. */
TEST(products_on_large_grids) {
    static const gsw_grid grids[] = {{40000, 2, 1}, {65, 63, 61}, {1, 300, 200}};
    compare_layouts(&grids[_i], oracle_stencil_named(_i == 0 ? "D2N9" : "D3N27"),
                    on_cuda() ? LENGTH(layouts) : 3);
}

/* Rows that no shared memory holds at once, and rows of very different lengths. */
TEST(products_with_long_rows) {
    const gsw_grid grid = {37, 29, 2};
    gsw_offset offsets[GSW_STENCIL_MAX];
    gsw_stencil stencil;
    for (int e = 0; e < GSW_STENCIL_MAX; e++)
        offsets[e] = (gsw_offset){e % 16 - 8, e / 16 - 4, 0};
    must(context, gsw_stencil_from_offsets(offsets, GSW_STENCIL_MAX, &stencil));
    compare_layouts(&grid, &stencil, LENGTH(layouts));
}

/* Short lines are computed together: in one group and in several, at the limits of the length, and
 * with offsets that reach farther than a line is long. */
TEST(products_on_short_lines) {
    static const gsw_grid grids[] = {{3, 1500, 2}, {1, 5000, 2}, {64, 130, 2}, {65, 70, 3},
                                     {127, 40, 2}, {128, 70, 1}, {129, 33, 2}, {2, 3, 400},
                                     {5, 2, 90},   {33, 1, 50},  {16, 257, 1}, {28, 150, 2},
                                     {29, 9, 3}};
    static const char *const names[] = {"D3N7", "D3N27", "D3N33"};
    for (int k = 0; k < 3; k++)
        compare_layouts(&grids[_i], oracle_stencil_named(names[k]), 2);
}

/* The point before the first one of a line is the last one of the line before. Its value does not
 * reach the result, not even NaN, nor does a coefficient towards it: the oracle's are NaN. */
TEST(ends_of_short_lines_are_apart) {
    const gsw_grid grid = {5 + 9 * _i, 40, 3};
    const oracle_matrix *plain =
        keep_matrix_of(&grid, oracle_stencil_named("D3N27"), 12, ORACLE_ANY_SIGN);
    const gsw_matrix *there = keep_there(context, &plain->view);
    const int64_t n = oracle_points(&grid), y0 = 20, z0 = 1;
    device_vector at_x = keep_guarded(GSW_F64, n), at_y = keep_guarded(GSW_F64, n);
    double *x = keep_random(2, n), *y = keep_random(3, n);
    for (int end = 0; end < 2; end++) {
        const int64_t x0 = end ? grid.nx - 1 : 0, spoilt = gsw_grid_row(&grid, x0, y0, z0);
        const double good = x[spoilt];
        x[spoilt] = NAN;
        device_put(context, &at_x, x);
        must(context, gsw_spmv(context, there, GSW_F64, at_x.values, at_y.values));
        device_get(context, &at_y, y);
        x[spoilt] = good;
        for (int64_t row = 0; row < n; row++) {
            const int64_t cx = row % grid.nx, cy = row / grid.nx % grid.ny;
            const int near = llabs(cx - x0) <= 1 && llabs(cy - y0) <= 1;
            ck_assert_msg(isnan(y[row]) == near, "x %d, y %d", (int)cx, (int)cy);
        }
    }
}

/* Arrays that are NULL. */
TEST(null_arrays_are_zeros) {
    const gsw_grid grid = {9, 5, 4};
    oracle_matrix *matrix =
        keep_matrix_of(&grid, oracle_stencil_named("D3N27"), 8, ORACLE_ANY_SIGN);
    for (int32_t e = 0; e < matrix->view.stencil.count; e += 3) {
        free(matrix->arrays[e]);
        matrix->arrays[e] = NULL;
    }
    compare_matrix(&matrix->view, GSW_F64);
}

/* ---- on the CPU alone ---- */

/* Zeros times infinity would be NaN. */
TEST(null_arrays_are_not_touched) {
    const gsw_grid grid = {9, 5, 4};
    const oracle_matrix *plain =
        keep_matrix_of(&grid, oracle_stencil_named("D3N7"), 8, ORACLE_ANY_SIGN);
    const void *pointers[7];
    double *x = keep_random(5, 180), *zeros = keep_zeros(180), with_zeros[180], without[180];
    x[0] = INFINITY;
    memcpy(pointers, plain->view.array.values, sizeof pointers);
    gsw_matrix matrix = plain->view;
    matrix.array.values = pointers;
    pointers[0] = pointers[2] = NULL;
    must(context, gsw_spmv(context, &matrix, GSW_F64, x, without));
    ck_assert(isfinite(without[1]));
    x[0] = 1;
    must(context, gsw_spmv(context, &matrix, GSW_F64, x, without));
    pointers[0] = pointers[2] = zeros;
    must(context, gsw_spmv(context, &matrix, GSW_F64, x, with_zeros));
    for (int i = 0; i < 180; i++)
        ck_assert(without[i] == with_zeros[i]);
}

TEST(bad_arguments_are_refused) {
    const gsw_status invalid = GSW_ERROR_INVALID_ARGUMENT;
    const gsw_grid grid = {4, 3, 2};
    const gsw_matrix *m =
        &keep_matrix_of(&grid, oracle_stencil_named("D3N7"), 9, ORACLE_POSITIVE)->view;
    double x[24] = {0}, y[24] = {0};
    ck_assert_int_eq(gsw_spmv(NULL, m, GSW_F64, x, y), invalid);
    ck_assert_int_eq(gsw_spmv(context, NULL, GSW_F64, x, y), invalid);
    ck_assert_int_eq(gsw_spmv(context, m, GSW_F64, NULL, y), invalid);
    ck_assert_int_eq(gsw_spmv(context, m, GSW_F64, x, NULL), invalid);
    ck_assert_int_eq(gsw_spmv(context, m, GSW_F64, x, x), invalid);
    ck_assert_int_eq(gsw_spmv(context, m, (gsw_dtype)5, x, y), invalid);
    ck_assert_int_eq(gsw_spmv(context, m, GSW_F32, x, y), GSW_ERROR_UNSUPPORTED);
    ck_assert_int_eq(gsw_residual(context, m, GSW_F64, NULL, x, y), invalid);
    ck_assert_int_eq(gsw_residual(context, m, GSW_F64, y, x, x), invalid);
    gsw_matrix broken = *m;
    broken.grid.ny = 0;
    ck_assert_int_eq(gsw_spmv(context, &broken, GSW_F64, x, y), invalid);
    broken = *m;
    broken.format = (gsw_format)3;
    ck_assert_int_eq(gsw_spmv(context, &broken, GSW_F64, x, y), invalid);
}

/* ---- vector operations ---- */

static const int64_t lengths[] = {0,    1,    7,    31,   32,    33,     255,     1023,   1024,
                                  1025, 4095, 4096, 4097, 16385, 100003, 3000017, 5000011};

static double dot_of(int64_t n, const device_vector *x, const device_vector *y) {
    double dot = NAN;
    must(context, context->ops->vector->dot(context, n, (const double *)x->values,
                                            (const double *)y->values, &dot));
    return dot;
}

/* The same bits for any number of threads, in every run, and with every alignment. */
TEST(dot_is_accurate_and_repeats) {
    gsw_context *const usual = context;
    const int64_t n = lengths[_i];
    double *x = keep_random(1, n), *y = keep_random(2, n), first = 0;
    long double sum = 0, scale = 0;
    for (int64_t i = 0; i < n; i++) {
        sum += (long double)x[i] * y[i];
        scale += fabsl((long double)x[i] * y[i]);
    }
    device_vector at_x = keep_guarded(GSW_F64, n), at_y = keep_guarded(GSW_F64, n);
    for (int run = 0; run < (on_cuda() ? 20 : 4); run++) {
        if (on_cpu())
            context = keep_context(1 + 2 * run);
        device_shift(&at_x, run == 0);
        device_put(context, &at_x, x);
        device_put(context, &at_y, y);
        const double dot = dot_of(n, &at_x, &at_y);
        first = run == 0 ? dot : first;
        ck_assert(dot == first);
        ck_assert(fabsl(dot - sum) <= 1e-14L * scale);
    }
    if (n > 0) {
        x[n / 2] = NAN;
        device_put(context, &at_x, x);
        ck_assert(isnan(dot_of(n, &at_x, &at_y)));
    }
    context = usual;
}

TEST(axpby_copy_and_fill) {
    const gsw_backend_ops *ops = context->ops;
    const int64_t n = lengths[_i];
    double *x = keep_random(1, n), *y = keep_random(2, n), *z = keep_random(3, n);
    device_vector at_x = keep_guarded(GSW_F64, n), at_z = keep_guarded(GSW_F64, n);
    int64_t wrong = 0;
    device_put(context, &at_x, x);
    for (int shift = 0; shift <= 1; shift++) {
        const double *const from = (const double *)at_x.values;
        device_poison(context, &at_z);
        device_shift(&at_z, shift);
        double *const to = (double *)at_z.values;
        device_put(context, &at_z, y);
        must(context, ops->vector->axpby(context, n, 0.75, from, -3, to));
        device_get(context, &at_z, z);
        for (int64_t i = 0; i < n; i++)
            wrong += !(fabs(z[i] - (0.75 * x[i] - 3 * y[i])) <= 1e-15);

        device_poison(context, &at_z); /* b = 0 does not read y */
        must(context, ops->vector->axpby(context, n, 0.75, from, 0, to));
        device_get(context, &at_z, z);
        for (int64_t i = 0; i < n; i++)
            wrong += z[i] != 0.75 * x[i];

        device_poison(context, &at_z);
        must(context, ops->vector->copy(context, n, from, to));
        device_get(context, &at_z, z);
        ck_assert_int_eq(memcmp(z, x, (size_t)n * sizeof *x), 0);
        must(context, ops->vector->fill(context, n / 2, -1.5, to)); /* the rest stays */
        device_get(context, &at_z, z);
        for (int64_t i = 0; i < n; i++)
            wrong += z[i] != (i < n / 2 ? -1.5 : x[i]);

        device_poison(context, &at_z);
        must(context, ops->vector->fill(context, n, -1.5, to));
        device_get(context, &at_z, z);
        for (int64_t i = 0; i < n; i++)
            wrong += z[i] != -1.5;
    }
    ck_assert_int_eq(wrong, 0);
}

int main(int argc, char **argv) {
    backend_choose(argc, argv);
    Suite *suite = suite_create("spmv");
    TCase *equal = context_case(suite, "equal", 120), *large = context_case(suite, "large", 120),
          *vectors = context_case(suite, "vectors", 120);
    TESTS(equal, null_arrays_are_zeros);
    LOOPS(equal, oracle_stencil_count(), products_on_every_grid_and_layout);
    TESTS(large, products_with_long_rows);
    LOOPS(large, 3, products_on_large_grids, ends_of_short_lines_are_apart);
    LOOPS(large, 13, products_on_short_lines);
    LOOPS(vectors, LENGTH(lengths), dot_is_accurate_and_repeats, axpby_copy_and_fill);
    if (!on_cuda()) {
        TESTS(large, null_arrays_are_not_touched, bad_arguments_are_refused);
    }
    return backend_run_suite(suite);
}
