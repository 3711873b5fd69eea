/* test_cuda_sptrsv.c: the direct triangular solve on a CUDA device against the serial reference on
 * the CPU, and properties that must hold whatever the device is busy with.
 *
 * GSW_TEST_STRIDE=6 in the environment tries one grid in six (see device.h). */
#include "core/clock.h"
#include "common/csr.h"
#include "device_stream.h"
#include "occupy.h"

/* The eight solves with one matrix: part, transpose, unit diagonal. The first two are the lower and
 * the upper part as they are. */
#define SOLVES 8

static gsw_sptrsv_options solve_options(int solve, gsw_dtype type, gsw_algorithm algorithm) {
    return (gsw_sptrsv_options){.size = sizeof(gsw_sptrsv_options),
                                .part = solve & 1 ? GSW_UPPER : GSW_LOWER,
                                .transpose = solve >> 1 & 1,
                                .unit_diagonal = solve >> 2 & 1,
                                .vector_type = type,
                                .algorithm = algorithm};
}

static void describe(char *text, size_t size, const gsw_matrix *m,
                     const gsw_sptrsv_options *options) {
    const int is_csr = m->format == GSW_FORMAT_CSR;
    const gsw_dtype values = is_csr ? m->csr.value_type : m->array.value_type;
    snprintf(text, size, "%lldx%lldx%lld, %s (%d offsets), %s%s%s, values %s, vectors %s, %s%s",
             (long long)m->grid.nx, (long long)m->grid.ny, (long long)m->grid.nz,
             gsw_stencil_name(&m->stencil), (int)m->stencil.count,
             options->part == GSW_LOWER ? "lower" : "upper",
             options->transpose ? " transposed" : "", options->unit_diagonal ? " unit" : "",
             values == GSW_F64 ? "f64" : "f32", options->vector_type == GSW_F64 ? "f64" : "f32",
             is_csr ? "csr " : "arrays",
             !is_csr                        ? ""
             : m->csr.index_type == GSW_I32 ? "i32"
                                            : "i64");
}

static void reference(gsw_context *cpu, const gsw_matrix *matrix, gsw_sptrsv_options options,
                      const void *b, void *x) {
    options.algorithm = GSW_ALGORITHM_REFERENCE;
    device_try(cpu, gsw_sptrsv(cpu, matrix, &options, 1, b, 0, x, 0));
}

/* ---- one system on both sides ---- */

/* A matrix and its vectors, on the host and on the device. */
typedef struct pair {
    gsw_context *cpu, *cuda;
    const gsw_matrix *host;
    gsw_matrix device;
    gsw_dtype type;
    int64_t n;
    size_t bytes; /* of a vector */
    void *b, *x, *first, *expected;
    device_vector device_b, device_x;
} pair;

static void pair_open(pair *p, gsw_context *cpu, gsw_context *cuda, const gsw_matrix *host,
                      gsw_dtype type, uint64_t seed) {
    *p = (pair){.cpu = cpu, .cuda = cuda, .host = host, .type = type};
    p->n = oracle_points(&host->grid);
    p->bytes = (size_t)p->n * gsw_dtype_size(type);
    p->b = oracle_vector(type, seed, p->n);
    p->x = oracle_copy(type, p->b, p->n);
    p->first = oracle_copy(type, p->b, p->n);
    p->expected = oracle_copy(type, p->b, p->n);
    device_try(cuda, gsw_matrix_upload(cuda, host, &p->device));
    p->device_b = device_vector_make(cuda, type, p->n);
    p->device_x = device_vector_make(cuda, type, p->n);
    device_put(cuda, &p->device_b, p->b);
}

static void pair_close(pair *p) {
    device_vector_free(p->cuda, &p->device_b);
    device_vector_free(p->cuda, &p->device_x);
    gsw_matrix_release(p->cuda, &p->device);
    free(p->b);
    free(p->x);
    free(p->first);
    free(p->expected);
}

/* Queues a solve from b into poisoned memory. */
static void pair_solve(pair *p, const gsw_sptrsv_options *options) {
    device_poison(p->cuda, &p->device_x);
    device_try(p->cuda, gsw_sptrsv(p->cuda, &p->device, options, 1, p->device_b.values, 0,
                                   p->device_x.values, 0));
}

static void pair_check_error(pair *p, const gsw_sptrsv_options *options, const char *how) {
    const double error = oracle_error(p->type, p->n, p->x, p->expected);
    char text[200];
    int64_t row = 0; /* the first wrong row */
    while (row < p->n - 1 &&
           !(fabs(oracle_get(p->type, p->x, row) - oracle_get(p->type, p->expected, row)) > 0) &&
           isnan(oracle_get(p->type, p->x, row)) == isnan(oracle_get(p->type, p->expected, row)))
        row++;
    describe(text, sizeof text, p->host, options);
    ck_assert_msg(error <= oracle_tolerance(p->type), "%s, %s: error %g; row %lld: %g, not %g",
                  text, how, error, (long long)row, oracle_get(p->type, p->x, row),
                  oracle_get(p->type, p->expected, row));
}

/* The solution is within the tolerance of p->expected, and in place it has the same bits. */
static void pair_check(pair *p, const gsw_sptrsv_options *options) {
    pair_solve(p, options);
    device_get(p->cuda, &p->device_x, p->x);
    pair_check_error(p, options, "out of place");

    void *const swap = p->first;
    p->first = p->x;
    p->x = swap;
    device_poison(p->cuda, &p->device_x);
    device_put(p->cuda, &p->device_x, p->b);
    device_try(p->cuda, gsw_sptrsv(p->cuda, &p->device, options, 1, p->device_x.values, 0,
                                   p->device_x.values, 0));
    device_get(p->cuda, &p->device_x, p->x);
    pair_check_error(p, options, "in place");
    ck_assert_msg(memcmp(p->first, p->x, p->bytes) == 0, "other bits in place");
}

/* All eight solves (or the first of them) with a matrix in its own layout. */
static int check_solves(gsw_context *cpu, gsw_context *cuda, const gsw_matrix *host, gsw_dtype type,
                        int solves) {
    pair p;
    pair_open(&p, cpu, cuda, host, type, 5);
    for (int s = 0; s < solves; s++) {
        gsw_sptrsv_options options = solve_options(s, type, GSW_ALGORITHM_LINE);
        reference(cpu, host, options, p.b, p.expected);
        pair_check(&p, &options);
    }
    pair_close(&p);
    return solves;
}

/* ---- every grid, stencil, layout, type and solve ---- */

static const struct {
    gsw_dtype values, vectors;
} types[] = {{GSW_F64, GSW_F64}, {GSW_F32, GSW_F64}, {GSW_F32, GSW_F32}};

static const oracle_layout layouts[] = {
    {.format = GSW_FORMAT_CSR, .index_type = GSW_I32, .base = 0, .part = GSW_FULL},
    {.format = GSW_FORMAT_CSR, .index_type = GSW_I64, .base = 1, .part = GSW_FULL},
    {.format = GSW_FORMAT_STENCIL},
};

/* All solves of one matrix as it is stored against the expected solutions, vectors of either
 * alignment; returns their number. */
static int check_stored(gsw_context *cpu, gsw_context *cuda, const gsw_matrix *stored,
                        gsw_dtype type, int solves, void *const *expected) {
    pair p;
    pair_open(&p, cpu, cuda, stored, type, 5);
    for (int s = 0; s < solves; s++) {
        gsw_sptrsv_options options = solve_options(s, type, GSW_ALGORITHM_LINE);
        memcpy(p.expected, expected[s], p.bytes);
        device_poison(cuda, &p.device_b);
        device_shift(&p.device_b, s >> 1 & 1);
        device_put(cuda, &p.device_b, p.b);
        device_shift(&p.device_x, s & 1);
        pair_check(&p, &options);
    }
    pair_close(&p);
    return solves;
}

/* Tries the given number of types, layouts and solves of one matrix (fp64 arrays), and returns the
 * number of combinations. The reference solves with the arrays, where it is fastest. */
static int check_matrix(gsw_context *cpu, gsw_context *cuda, const oracle_matrix *matrix,
                        int type_count, int layout_count, int solves) {
    const int64_t n = oracle_points(&matrix->view.grid);
    int combinations = 0;
    for (int t = 0; t < type_count; t++) {
        const gsw_dtype type = types[t].vectors;
        oracle_layout layout = {.format = GSW_FORMAT_STENCIL, .value_type = types[t].values};
        oracle_matrix *arrays = oracle_convert(matrix, &layout);
        void *b = oracle_vector(type, 5, n), *expected[SOLVES] = {NULL};
        for (int s = 0; s < solves; s++) {
            expected[s] = oracle_copy(type, b, n);
            reference(cpu, &arrays->view, solve_options(s, type, GSW_ALGORITHM_AUTO), b,
                      expected[s]);
        }
        for (int k = 0; k < layout_count; k++) {
            layout = layouts[k];
            layout.value_type = types[t].values;
            oracle_matrix *stored = oracle_convert(matrix, &layout);
            combinations += check_stored(cpu, cuda, &stored->view, type, solves, expected);
            oracle_free(stored);
        }
        for (int s = 0; s < solves; s++)
            free(expected[s]);
        free(b);
        oracle_free(arrays);
    }
    return combinations;
}

START_TEST(equals_reference) {
    gsw_context *cpu = oracle_context(1), *cuda = open_cuda(NULL);
    const int stride = device_stride();
    const char *name;
    const gsw_stencil *stencil = oracle_stencil(_i, &name);
    int combinations = 0;
    for (int g = _i % stride; g < oracle_grid_count(); g += stride) {
        const gsw_grid grid = oracle_grid(g);
        oracle_matrix *matrix = oracle_random(&grid, stencil, (uint64_t)(g + 1), ORACLE_ANY_SIGN);
        combinations += check_matrix(cpu, cuda, matrix, 3, 3, SOLVES);
        oracle_free(matrix);
    }
    printf("%s: %d combinations equal the reference\n", name, combinations);
    ck_assert_int_ge(combinations, 18 * 72 / (2 * stride));
    gsw_context_destroy(cuda);
    gsw_context_destroy(cpu);
}
END_TEST

/* CSR that stores the lower or the upper part only: the other part is then just the diagonal. */
START_TEST(triangles_equal_reference) {
    gsw_context *cpu = oracle_context(1), *cuda = open_cuda(NULL);
    const int stride = device_stride();
    for (int g = _i % stride; g < oracle_grid_count(); g += stride) {
        const gsw_grid grid = oracle_grid(g);
        oracle_matrix *matrix =
            oracle_random(&grid, oracle_stencil(_i, NULL), (uint64_t)(g + 1), ORACLE_ANY_SIGN);
        for (int part = GSW_LOWER; part <= GSW_UPPER; part++) {
            for (int t = 0; t < 3; t++) {
                oracle_layout layout = layouts[(g + t) % 2];
                layout.part = (gsw_part)part;
                layout.value_type = types[t].values;
                oracle_matrix *csr = oracle_convert(matrix, &layout);
                check_solves(cpu, cuda, &csr->view, types[t].vectors, SOLVES);
                oracle_free(csr);
            }
        }
        oracle_free(matrix);
    }
    gsw_context_destroy(cuda);
    gsw_context_destroy(cpu);
}
END_TEST

/* CSR without some couplings: a NaN travels along stored ones only. */
START_TEST(couplings_may_be_missing) {
    gsw_context *cpu = oracle_context(1), *cuda = open_cuda(NULL);
    const int stride = device_stride();
    for (int g = _i % stride; g < oracle_grid_count(); g += stride) {
        const gsw_grid grid = oracle_grid(g);
        oracle_matrix *matrix = oracle_random(&grid, oracle_stencil(_i, NULL), 9, ORACLE_ANY_SIGN);
        for (int part = GSW_LOWER; part <= GSW_FULL; part++) {
            oracle_layout layout = layouts[(g + part) % 2];
            layout.part = (gsw_part)part;
            layout.missing = 2 + g % 5;
            oracle_matrix *csr = oracle_convert(matrix, &layout);
            pair p;
            pair_open(&p, cpu, cuda, &csr->view, GSW_F64, 8);
            for (int nan = 0; nan <= 1; nan++) {
                if (nan)
                    oracle_set(GSW_F64, p.b, p.n / 3, NAN);
                device_put(cuda, &p.device_b, p.b);
                for (int s = 0; s < SOLVES; s++) {
                    gsw_sptrsv_options options = solve_options(s, GSW_F64, GSW_ALGORITHM_LINE);
                    reference(cpu, p.host, options, p.b, p.expected);
                    pair_check(&p, &options);
                }
            }
            pair_close(&p);
            oracle_free(csr);
        }
        oracle_free(matrix);
    }
    gsw_context_destroy(cuda);
    gsw_context_destroy(cpu);
}
END_TEST

START_TEST(arrays_may_be_null) {
    gsw_context *cpu = oracle_context(1), *cuda = open_cuda(NULL);
    const gsw_grid grid = {19, 7, 5};
    for (int k = 0; k < oracle_stencil_count(); k += device_stride()) {
        oracle_matrix *matrix = oracle_random(&grid, oracle_stencil(k, NULL), 9, ORACLE_ANY_SIGN);
        for (int32_t e = 0; e < matrix->view.stencil.count; e++) {
            if (e % 3 == 1 || (k % 2 == 1 && e == matrix->view.stencil.center)) {
                free(matrix->arrays[e]);
                matrix->arrays[e] = NULL;
            }
        }
        check_solves(cpu, cuda, &matrix->view, GSW_F64, SOLVES);
        oracle_free(matrix);
    }
    gsw_context_destroy(cuda);
    gsw_context_destroy(cpu);
}
END_TEST

/* Arrays need no more than their type's alignment. */
START_TEST(arrays_may_be_unaligned) {
    gsw_context *cpu = oracle_context(1), *cuda = open_cuda(NULL);
    const gsw_grid grid = {37, 11, 6};
    for (int k = 0; k < oracle_stencil_count(); k += device_stride()) {
        oracle_matrix *matrix = oracle_random(&grid, oracle_stencil(k, NULL), 3, ORACLE_ANY_SIGN);
        for (int t = 0; t < 9; t++) {
            oracle_layout layout = layouts[t % 3];
            layout.value_type = types[t / 3].values;
            oracle_matrix *stored = oracle_convert(matrix, &layout);
            const void *values[GSW_STENCIL_MAX];
            void *memory[DEVICE_ARRAYS] = {NULL};
            pair p;
            pair_open(&p, cpu, cuda, &stored->view, types[t / 3].vectors, 6);
            const gsw_matrix aligned = p.device;
            p.device = device_shifted_view(cuda, stored, values, memory);
            for (int s = 0; s < SOLVES; s++) {
                gsw_sptrsv_options options = solve_options(s, p.type, GSW_ALGORITHM_LINE);
                reference(cpu, p.host, options, p.b, p.expected);
                pair_check(&p, &options);
            }
            p.device = aligned;
            pair_close(&p);
            for (int i = 0; i < DEVICE_ARRAYS; i++)
                gsw_memory_free(cuda, memory[i]);
            oracle_free(stored);
        }
        oracle_free(matrix);
    }
    gsw_context_destroy(cuda);
    gsw_context_destroy(cpu);
}
END_TEST

/* ---- larger grids ---- */

static const gsw_grid large[] = {{250, 3, 3},  {1, 257, 5},  {1000, 1, 1}, {300, 200, 1},
                                 {3, 200, 40}, {65, 63, 61}, {64, 64, 64}};

/* Everything where the grid is small or the stencil is one of the two most important ones. */
START_TEST(large_grids_equal_reference) {
    gsw_context *cpu = oracle_context(1), *cuda = open_cuda(NULL);
    const gsw_stencil *stencil = oracle_stencil(_i, NULL);
    const char *name = gsw_stencil_name(stencil);
    const int all = strcmp(name, "D3N7") == 0 || strcmp(name, "D3N27") == 0;
    for (int g = 0; g < (int)(sizeof large / sizeof large[0]); g++) {
        const int small = oracle_points(&large[g]) < 30000;
        oracle_matrix *matrix = oracle_random(&large[g], stencil, 2, ORACLE_ANY_SIGN);
        check_matrix(cpu, cuda, matrix, small || all ? 3 : 1, small || all ? 3 : 1, SOLVES);
        oracle_free(matrix);
    }
    gsw_context_destroy(cuda);
    gsw_context_destroy(cpu);
}
END_TEST

static const char *const cubes[] = {"D3N7", "D3N27"};
#define CUBES 2

static oracle_matrix *make_cube(const char *name, int64_t size) {
    const gsw_grid grid = {size, size, size};
    gsw_stencil stencil;
    ck_assert_int_eq(gsw_stencil_named(name, &stencil), GSW_SUCCESS);
    return oracle_random(&grid, &stencil, 11, ORACLE_ANY_SIGN);
}

/* The same as CSR with 32-bit indices. */
static oracle_matrix *make_cube_csr(const char *name, int64_t size, gsw_dtype values) {
    oracle_matrix *arrays = make_cube(name, size);
    oracle_layout layout = layouts[0];
    layout.value_type = values;
    oracle_matrix *csr = oracle_convert(arrays, &layout);
    oracle_free(arrays);
    return csr;
}

START_TEST(cube_of_128_equals_reference) {
    gsw_context *cpu = oracle_context(1), *cuda = open_cuda(NULL);
    oracle_matrix *matrix = make_cube(cubes[_i], 128);
    check_matrix(cpu, cuda, matrix, 1, 1, 2);
    oracle_free(matrix);
    gsw_context_destroy(cuda);
    gsw_context_destroy(cpu);
}
END_TEST

START_TEST(repetitions_give_the_same_bits) {
    gsw_context *cpu = oracle_context(1), *cuda = open_cuda(NULL);
    oracle_matrix *matrix = make_cube_csr(cubes[_i], 64, GSW_F64);
    pair p;
    pair_open(&p, cpu, cuda, &matrix->view, GSW_F64, 5);
    for (int s = 0; s < 2; s++) {
        gsw_sptrsv_options options = solve_options(s, GSW_F64, GSW_ALGORITHM_LINE);
        reference(cpu, p.host, options, p.b, p.expected);
        pair_check(&p, &options);
        for (int r = 0; r < 1000; r++) {
            pair_solve(&p, &options);
            device_get(cuda, &p.device_x, p.x);
            ck_assert_msg(memcmp(p.first, p.x, p.bytes) == 0, "%s, %s: other bits in run %d",
                          cubes[_i], s == 0 ? "lower" : "upper", r);
        }
    }
    pair_close(&p);
    oracle_free(matrix);
    gsw_context_destroy(cuda);
    gsw_context_destroy(cpu);
}
END_TEST

/* Scratch memory is at most a hundredth of the matrix, of its shortest values and indices. */
START_TEST(workspace_is_small) {
    static const int64_t sizes[] = {64, 96};
    for (int k = 0; k < 2; k++) {
        gsw_context *cpu = oracle_context(1), *cuda = open_cuda(NULL);
        oracle_matrix *matrix = make_cube_csr(cubes[_i], sizes[k], GSW_F32);
        const int64_t bytes = 8 * matrix->view.csr.nonzeros + 4 * matrix->view.csr.rows;
        pair p;
        pair_open(&p, cpu, cuda, &matrix->view, GSW_F64, 5);
        for (int s = 0; s < SOLVES; s++) {
            gsw_sptrsv_options options = solve_options(s, GSW_F64, GSW_ALGORITHM_LINE);
            pair_solve(&p, &options);
        }
        device_try(cuda, gsw_context_synchronize(cuda));
        const size_t workspace = gsw_cuda_line_workspace(cuda);
        ck_assert_uint_gt(workspace, 0);
        ck_assert_msg((int64_t)workspace <= bytes / 100,
                      "%s, %lld^3: %zu bytes of workspace, %lld of the matrix", cubes[_i],
                      (long long)sizes[k], workspace, (long long)bytes);
        pair_close(&p);
        oracle_free(matrix);
        gsw_context_destroy(cuda);
        gsw_context_destroy(cpu);
    }
}
END_TEST

/* ---- values that are not numbers ---- */

/* Puts something bad into the right-hand side or the matrix: twelve trials. */
static void spoil_values(oracle_matrix *matrix, double *b, int trial) {
    static const double bad[] = {NAN, INFINITY, -INFINITY};
    const gsw_stencil *stencil = &matrix->view.stencil;
    const int64_t n = oracle_points(&matrix->view.grid), row = n * (trial % 4) / 4;
    if (trial < 4)
        b[row] = bad[trial % 3];
    else if (trial < 8)
        ((double *)matrix->arrays[trial * 5 % stencil->count])[row] = bad[trial % 3];
    else if (trial < 11)
        ((double *)matrix->arrays[stencil->center])[row] = 0;
    else { /* the reciprocal overflows, the quotient does not */
        ((double *)matrix->arrays[stencil->center])[row] = 1e-309;
        for (int64_t i = 0; i < n; i++)
            b[i] *= 1e-300;
    }
}

static const char *const trials[] = {
    "NaN in b", "inf in b", "-inf in b",     "NaN in b",      "inf in A",      "-inf in A",
    "NaN in A", "inf in A", "zero diagonal", "zero diagonal", "zero diagonal", "tiny diagonal"};

START_TEST(nan_and_infinity_go_where_the_reference_puts_them) {
    static const gsw_grid grids[] = {{1, 1, 1}, {70, 1, 1}, {9, 8, 1}, {1, 6, 7}, {70, 4, 3}};
    gsw_context *cpu = oracle_context(1), *cuda = open_cuda(NULL);
    for (int g = 0; g < 5; g++) {
        for (int trial = 0; trial < 12; trial++) {
            oracle_matrix *arrays =
                oracle_random(&grids[g], oracle_stencil(_i, NULL), 4, ORACLE_ANY_SIGN);
            double *b = oracle_vector(GSW_F64, 6, oracle_points(&grids[g]));
            spoil_values(arrays, b, trial);
            for (int k = 0; k < 3; k++) {
                oracle_layout layout = layouts[k];
                oracle_matrix *stored = oracle_convert(arrays, &layout);
                pair p;
                pair_open(&p, cpu, cuda, &stored->view, GSW_F64, 6);
                memcpy(p.b, b, p.bytes);
                device_put(cuda, &p.device_b, b);
                for (int s = 0; s < SOLVES; s++) {
                    gsw_sptrsv_options options = solve_options(s, GSW_F64, GSW_ALGORITHM_LINE);
                    reference(cpu, p.host, options, b, p.expected);
                    pair_solve(&p, &options);
                    device_get(cuda, &p.device_x, p.x);
                    pair_check_error(&p, &options, trials[trial]);
                }
                pair_close(&p);
                oracle_free(stored);
            }
            free(b);
            oracle_free(arrays);
        }
    }
    gsw_context_destroy(cuda);
    gsw_context_destroy(cpu);
}
END_TEST

/* Whatever the bits of a NaN are, and wherever it stands. */
START_TEST(every_nan_is_a_nan) {
    static const uint64_t patterns[] = {UINT64_C(0xffffffffffffffff), UINT64_C(0x7fffffffffffffff),
                                        UINT64_C(0x7ff8000000000000), UINT64_C(0x7ff0000000000001),
                                        UINT64_C(0xfff8dead00000000), UINT64_C(0x7ff4000000000000)};
    gsw_context *cpu = oracle_context(1), *cuda = open_cuda(NULL);
    oracle_matrix *matrix = make_cube_csr(cubes[_i], 12, GSW_F64);
    pair p;
    pair_open(&p, cpu, cuda, &matrix->view, GSW_F64, 5);
    for (int k = 0; k < 6; k++) {
        for (int64_t i = k == 0 ? 0 : 7; i < p.n; i += k == 0 ? 1 : 200)
            memcpy((double *)p.b + i, &patterns[k], sizeof patterns[k]);
        device_put(cuda, &p.device_b, p.b);
        for (int s = 0; s < SOLVES; s++) {
            gsw_sptrsv_options options = solve_options(s, GSW_F64, GSW_ALGORITHM_LINE);
            reference(cpu, p.host, options, p.b, p.expected);
            pair_solve(&p, &options);
            device_get(cuda, &p.device_x, p.x);
            pair_check_error(&p, &options, "NaNs of one pattern");
        }
        if (k == 0) {
            free(p.b);
            p.b = oracle_vector(GSW_F64, 5, p.n);
        }
    }
    pair_close(&p);
    oracle_free(matrix);
    gsw_context_destroy(cuda);
    gsw_context_destroy(cpu);
}
END_TEST

/* ---- several right-hand sides ---- */

START_TEST(right_hand_sides_are_independent) {
    const gsw_grid grid = {11, 6, 4};
    const int64_t n = oracle_points(&grid), ldb = n + 5, ldx = n + 3, count = 4;
    gsw_context *cpu = oracle_context(1), *cuda = open_cuda(NULL);
    oracle_matrix *host = oracle_random(&grid, oracle_stencil(2, NULL), 2, ORACLE_ANY_SIGN);
    gsw_matrix matrix;
    device_try(cuda, gsw_matrix_upload(cuda, &host->view, &matrix));
    double *b = oracle_vector(GSW_F64, 6, ldb * count), *x = oracle_vector(GSW_F64, 7, ldx * count),
           *both = oracle_vector(GSW_F64, 7, ldb * count), *one = oracle_vector(GSW_F64, 8, n);
    device_vector device_b = device_vector_make(cuda, GSW_F64, ldb * count),
                  device_x = device_vector_make(cuda, GSW_F64, ldx * count);
    device_put(cuda, &device_b, b);
    for (int algorithm = GSW_ALGORITHM_AUTO; algorithm <= GSW_ALGORITHM_LINE; algorithm++) {
        gsw_sptrsv_options options = solve_options(1, GSW_F64, (gsw_algorithm)algorithm);
        if (algorithm == GSW_ALGORITHM_REFERENCE) { /* of the CPU alone */
            ck_assert_int_eq(
                gsw_sptrsv(cuda, &matrix, &options, 1, device_b.values, 0, device_x.values, 0),
                GSW_ERROR_UNSUPPORTED);
            continue;
        }
        device_poison(cuda, &device_x);
        device_try(cuda, gsw_sptrsv(cuda, &matrix, &options, count, device_b.values, ldb,
                                    device_x.values, ldx));
        device_get(cuda, &device_x, x);
        for (int64_t r = 0; r < count; r++) {
            reference(cpu, &host->view, options, b + r * ldb, one);
            ck_assert(oracle_error(GSW_F64, n, x + r * ldx, one) <= 1e-13);
            for (int64_t i = n; i < ldx; i++)
                ck_assert(isnan(x[r * ldx + i]));
        }
        device_put(cuda, &device_b, b);
        device_try(cuda, gsw_sptrsv(cuda, &matrix, &options, count, device_b.values, ldb,
                                    device_b.values, ldb));
        device_get(cuda, &device_b, both);
        for (int64_t r = 0; r < count; r++) {
            ck_assert_mem_eq(both + r * ldb, x + r * ldx, (size_t)n * sizeof *x);
            ck_assert_mem_eq(both + r * ldb + n, b + r * ldb + n, (size_t)(ldb - n) * sizeof *x);
        }
        device_put(cuda, &device_b, b);
    }
    device_vector_free(cuda, &device_b);
    device_vector_free(cuda, &device_x);
    gsw_matrix_release(cuda, &matrix);
    free(b);
    free(x);
    free(both);
    free(one);
    oracle_free(host);
    gsw_context_destroy(cuda);
    gsw_context_destroy(cpu);
}
END_TEST

/* ---- streams and graphs ---- */

#define STREAMS 4

/* One context on the default stream, the others on their own; all solves are queued before the
 * first is waited for. */
START_TEST(contexts_on_streams_do_not_disturb_each_other) {
    static const gsw_grid grids[STREAMS] = {{48, 40, 20}, {30, 50, 20}, {40, 30, 30}, {200, 60, 1}};
    static const int stencils[STREAMS] = {2, 5, 4, 1};
    gsw_context *cpu = oracle_context(1);
    cudaStream_t streams[STREAMS] = {NULL};
    oracle_matrix *matrices[STREAMS];
    pair pairs[STREAMS];
    for (int k = 0; k < STREAMS; k++) {
        if (k > 0)
            streams[k] = make_stream();
        matrices[k] =
            oracle_random(&grids[k], oracle_stencil(stencils[k], NULL), 3, ORACLE_ANY_SIGN);
        pair_open(&pairs[k], cpu, open_cuda(streams[k]), &matrices[k]->view, GSW_F64, 5);
    }
    for (int s = 0; s < 2; s++) {
        gsw_sptrsv_options options = solve_options(s, GSW_F64, GSW_ALGORITHM_LINE);
        for (int k = 0; k < STREAMS; k++) {
            reference(cpu, pairs[k].host, options, pairs[k].b, pairs[k].expected);
            pair_check(&pairs[k], &options);
        }
        for (int round = 0; round < 100; round++) {
            for (int repeat = 0; repeat < 3; repeat++)
                for (int k = 0; k < STREAMS; k++)
                    pair_solve(&pairs[(k + round) % STREAMS], &options);
            for (int k = 0; k < STREAMS; k++) {
                device_get(pairs[k].cuda, &pairs[k].device_x, pairs[k].x);
                ck_assert_msg(memcmp(pairs[k].first, pairs[k].x, pairs[k].bytes) == 0,
                              "stream %d, round %d", k, round);
            }
        }
    }
    for (int k = 0; k < STREAMS; k++) {
        gsw_context *const cuda = pairs[k].cuda;
        pair_close(&pairs[k]);
        gsw_context_destroy(cuda);
        oracle_free(matrices[k]);
        if (k > 0)
            close_stream(streams[k]);
    }
    gsw_context_destroy(cpu);
}
END_TEST

/* A lower solve and then, in place, an upper one, as in a preconditioner. */
static void queue_two_solves(pair *p) {
    gsw_sptrsv_options lower = solve_options(0, GSW_F64, GSW_ALGORITHM_LINE),
                       upper = solve_options(1, GSW_F64, GSW_ALGORITHM_LINE);
    void *const x = p->device_x.values;
    device_try(p->cuda, gsw_sptrsv(p->cuda, &p->device, &lower, 1, p->device_b.values, 0, x, 0));
    device_try(p->cuda, gsw_sptrsv(p->cuda, &p->device, &upper, 1, x, 0, x, 0));
}

START_TEST(solves_are_captured_in_a_graph) {
    cudaStream_t stream = make_stream();
    gsw_context *cpu = oracle_context(1), *cuda = open_cuda(stream);
    oracle_matrix *matrix = make_cube_csr(cubes[_i], 40, GSW_F64);
    gsw_sptrsv_options options = solve_options(1, GSW_F64, GSW_ALGORITHM_LINE);
    cudaGraph_t graph = NULL;
    cudaGraphExec_t exec = NULL;
    pair p;
    pair_open(&p, cpu, cuda, &matrix->view, GSW_F64, 5);
    queue_two_solves(&p); /* the workspace grows outside the graph */
    device_try(cuda, gsw_context_synchronize(cuda));

    ck_assert_int_eq(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), cudaSuccess);
    queue_two_solves(&p);
    ck_assert_int_eq(cudaStreamEndCapture(stream, &graph), cudaSuccess);
    ck_assert_int_eq(cudaGraphInstantiateWithFlags(&exec, graph, 0), cudaSuccess);

    for (int run = 0; run < 20; run++) {
        free(p.b);
        p.b = oracle_vector(GSW_F64, 100 + (uint64_t)run, p.n);
        device_put(cuda, &p.device_b, p.b);
        device_poison(cuda, &p.device_x);
        ck_assert_int_eq(cudaGraphLaunch(exec, stream), cudaSuccess);
        if (run % 3 == 0) /* twice in a row, and then a solve outside the graph */
            ck_assert_int_eq(cudaGraphLaunch(exec, stream), cudaSuccess);
        device_get(cuda, &p.device_x, p.x);
        reference(cpu, p.host, solve_options(0, GSW_F64, GSW_ALGORITHM_LINE), p.b, p.expected);
        reference(cpu, p.host, options, p.expected, p.expected);
        pair_check_error(&p, &options, "from a graph");
        if (run % 3 == 0) {
            reference(cpu, p.host, options, p.b, p.expected);
            pair_check(&p, &options);
        }
    }
    ck_assert_int_eq(cudaGraphExecDestroy(exec), cudaSuccess);
    ck_assert_int_eq(cudaGraphDestroy(graph), cudaSuccess);
    pair_close(&p);
    oracle_free(matrix);
    gsw_context_destroy(cuda);
    gsw_context_destroy(cpu);
    close_stream(stream);
}
END_TEST

/* ---- what is refused ---- */

/* Moves a coupling of the first row from `row` on that has one in the part outside the stencil.
 * Returns that row. */
static int64_t spoil_column(oracle_matrix *csr, int64_t row, gsw_part part) {
    const int *row_ptr = csr->row_ptr;
    int *columns = csr->columns;
    if (part == GSW_LOWER) {
        while (columns[row_ptr[row]] >= row)
            row++;
        columns[row_ptr[row]] -= 1;
    } else {
        while (columns[row_ptr[row + 1] - 1] <= row)
            row++;
        columns[row_ptr[row + 1] - 1] += 1;
    }
    return row;
}

static void check_good_solve(gsw_context *cpu, gsw_context *cuda, const gsw_matrix *matrix) {
    check_solves(cpu, cuda, matrix, GSW_F64, 2);
}

/* Where entries are missing, columns are read, and a column outside the stencil is reported. The
 * context remains usable. */
START_TEST(couplings_outside_the_stencil_are_reported) {
    const gsw_grid grid = {9, 8, 7};
    gsw_context *cpu = oracle_context(1), *cuda = open_cuda(NULL);
    const int spoilt = _i;
    oracle_layout layout = layouts[0];
    oracle_matrix *arrays = oracle_random(&grid, oracle_stencil(2, NULL), 2, ORACLE_ANY_SIGN);
    layout.missing = 6;
    oracle_matrix *good = oracle_convert(arrays, &layout), *bad = oracle_convert(arrays, &layout);
    const int64_t row = spoil_column(bad, 234, (gsw_part)spoilt);
    char text[40];
    snprintf(text, sizeof text, "row %lld", (long long)row);
    pair p;
    pair_open(&p, cpu, cuda, &bad->view, GSW_F64, 6);
    for (int s = 0; s < SOLVES; s++) {
        gsw_sptrsv_options options = solve_options(s, GSW_F64, GSW_ALGORITHM_LINE);
        const gsw_status expected =
            spoilt == (int)options.part ? GSW_ERROR_NOT_A_GRID : GSW_SUCCESS;
        pair_solve(&p, &options);
        ck_assert_int_eq(gsw_context_synchronize(cuda), expected);
        if (expected == GSW_SUCCESS)
            continue;
        const char *end = strstr(gsw_context_message(cuda), text);
        ck_assert_msg(end != NULL && !(end[strlen(text)] >= '0' && end[strlen(text)] <= '9'),
                      "\"%s\" does not name %s", gsw_context_message(cuda), text);
        ck_assert_int_eq(gsw_context_synchronize(cuda), GSW_SUCCESS); /* reported once */
        check_good_solve(cpu, cuda, &good->view);

        pair_solve(&p, &options); /* a download reports it too */
        ck_assert_int_eq(gsw_memory_download(cuda, p.x, p.device_x.values, p.bytes), expected);
        check_good_solve(cpu, cuda, &good->view);
    }
    pair_close(&p);
    oracle_free(bad);
    oracle_free(good);
    oracle_free(arrays);
    gsw_context_destroy(cuda);
    gsw_context_destroy(cpu);
}
END_TEST

/* Where all entries exist, columns need not be read. A wrong column then spoils at most the
 * result. */
START_TEST(wrong_columns_of_a_full_matrix_do_no_harm) {
    const gsw_grid grid = {9, 8, 7};
    gsw_context *cpu = oracle_context(1), *cuda = open_cuda(NULL);
    oracle_layout layout = layouts[0];
    oracle_matrix *arrays = oracle_random(&grid, oracle_stencil(2, NULL), 2, ORACLE_ANY_SIGN);
    oracle_matrix *good = oracle_convert(arrays, &layout), *bad = oracle_convert(arrays, &layout);
    spoil_column(bad, 234, GSW_LOWER);
    spoil_column(bad, 301, GSW_UPPER);
    pair p;
    pair_open(&p, cpu, cuda, &bad->view, GSW_F64, 6);
    for (int s = 0; s < SOLVES; s++) {
        gsw_sptrsv_options options = solve_options(s, GSW_F64, GSW_ALGORITHM_LINE);
        pair_solve(&p, &options);
        const gsw_status status = gsw_context_synchronize(cuda);
        ck_assert(status == GSW_SUCCESS || status == GSW_ERROR_NOT_A_GRID);
        check_good_solve(cpu, cuda, &good->view);
    }
    pair_close(&p);
    oracle_free(bad);
    oracle_free(good);
    oracle_free(arrays);
    gsw_context_destroy(cuda);
    gsw_context_destroy(cpu);
}
END_TEST

/* ---- validation on the device ---- */

#define DAMAGES 12

/* One way of many to spoil a CSR. */
static void damage(oracle_matrix *csr, int way, int64_t row) {
    const gsw_itype type = csr->view.csr.index_type;
    const int base = csr->view.csr.base;
    const int64_t rows = csr->view.csr.rows, nonzeros = csr->view.csr.nonzeros;
    const int64_t begin = gsw_index_at(csr->row_ptr, type, row) - base,
                  end = gsw_index_at(csr->row_ptr, type, row + 1) - base;
    const int64_t first = gsw_index_at(csr->columns, type, begin),
                  last = gsw_index_at(csr->columns, type, end - 1);
    void *const pointers = csr->row_ptr, *const columns = csr->columns;
    switch (way) {
    case 0: /* outside the stencil, before and after */
        gsw_index_put(columns, type, begin, first - 1);
        break;
    case 1:
        gsw_index_put(columns, type, end - 1, last + 1);
        break;
    case 2: /* repeated */
        gsw_index_put(columns, type, begin + 1, first);
        break;
    case 3: /* descending */
        gsw_index_put(columns, type, end - 1, first);
        break;
    case 4: /* out of range */
        gsw_index_put(columns, type, begin, base - 1);
        break;
    case 5:
        gsw_index_put(columns, type, end - 1, rows + base);
        break;
    case 6:
        gsw_index_put(columns, type, end - 1, INT32_MAX);
        break;
    case 7: /* pointers */
        gsw_index_put(pointers, type, row, -7);
        break;
    case 8:
        gsw_index_put(pointers, type, row, 100000);
        break;
    case 9:
        gsw_index_put(pointers, type, row, gsw_index_at(pointers, type, row) - 1);
        break;
    case 10:
        gsw_index_put(pointers, type, 0, base + 1);
        break;
    default: /* entries after the last row */
        gsw_index_put(pointers, type, rows, nonzeros + base - 1);
        break;
    }
}

/* Validates on both sides: the same status, and the same row in the message. */
static void compare_validation(gsw_context *cpu, gsw_context *cuda, const oracle_matrix *csr) {
    gsw_matrix device;
    device_try(cuda, gsw_matrix_upload(cuda, &csr->view, &device));
    const gsw_status expected = gsw_matrix_validate(cpu, &csr->view);
    ck_assert_msg(gsw_matrix_validate(cuda, &device) == expected, "\"%s\", but expected \"%s\"",
                  gsw_context_message(cuda), gsw_context_message(cpu));
    if (expected != GSW_SUCCESS) {
        char row[40], wanted[40];
        device_row_of(gsw_context_message(cpu), wanted, sizeof wanted);
        device_row_of(gsw_context_message(cuda), row, sizeof row);
        ck_assert_msg(strcmp(row, wanted) == 0, "\"%s\", but expected \"%s\"",
                      gsw_context_message(cuda), gsw_context_message(cpu));
    }
    gsw_matrix_release(cuda, &device);
}

START_TEST(validation_names_the_first_bad_row) {
    gsw_context *cpu = oracle_context(1), *cuda = open_cuda(NULL);
    for (int g = 12; g < oracle_grid_count(); g++) {
        const gsw_grid grid = oracle_grid(g);
        const int64_t n = oracle_points(&grid);
        oracle_matrix *arrays = oracle_random(&grid, oracle_stencil(_i, NULL), 2, ORACLE_ANY_SIGN);
        for (int k = 0; k < 4; k++) {
            oracle_layout layout = layouts[k % 2];
            layout.missing = k < 2 ? 0 : 5;
            oracle_matrix *good = oracle_convert(arrays, &layout);
            ck_assert_int_eq(gsw_matrix_validate(cpu, &good->view), GSW_SUCCESS);
            compare_validation(cpu, cuda, good);
            for (int way = 0; way < DAMAGES; way++) {
                oracle_matrix *bad = oracle_convert(arrays, &layout);
                damage(bad, way, n / 2 + way);
                compare_validation(cpu, cuda, bad);
                damage(bad, (way + 5) % DAMAGES, n - 2); /* the first one counts */
                damage(bad, (way + 1) % DAMAGES, n / 3);
                compare_validation(cpu, cuda, bad);
                oracle_free(bad);
            }
            oracle_free(good);
        }
        compare_validation(cpu, cuda, arrays);
        oracle_free(arrays);
    }
    gsw_context_destroy(cuda);
    gsw_context_destroy(cpu);
}
END_TEST

/* ---- waiting ---- */

/* A line whose progress is never published ends in TIMEOUT, soon, and the next solve is right. */
START_TEST(a_withheld_line_times_out) {
    gsw_context *cpu = oracle_context(1), *cuda = open_cuda(NULL);
    oracle_matrix *matrix = make_cube_csr(cubes[_i], 24, GSW_F64);
    pair p;
    pair_open(&p, cpu, cuda, &matrix->view, GSW_F64, 5);
    for (int s = 0; s < SOLVES; s++) {
        for (int by_download = 0; by_download <= 1; by_download++) {
            gsw_sptrsv_options options = solve_options(s, GSW_F64, GSW_ALGORITHM_LINE);
            const double begin = gsw_seconds_now();
            gsw_status status;
            gsw_cuda_test_hooks(cuda, INT64_C(50000000), 24 * 24 / 2 + 7 * s, 0);
            pair_solve(&p, &options);
            if (by_download)
                status = gsw_memory_download(cuda, p.x, p.device_x.values, p.bytes);
            else
                status = gsw_context_synchronize(cuda);
            const double elapsed = gsw_seconds_now() - begin;
            gsw_cuda_test_hooks(cuda, PATIENT_NS, NOTHING_WITHHELD, 0);
            ck_assert_msg(status == GSW_ERROR_TIMEOUT, "solve %d: %s", s, gsw_status_name(status));
            ck_assert_msg(elapsed < 5, "solve %d: timed out after %g s only", s, elapsed);
            ck_assert_str_ne(gsw_context_message(cuda), "");
            ck_assert_int_eq(gsw_context_synchronize(cuda), GSW_SUCCESS); /* reported once */
            reference(cpu, p.host, options, p.b, p.expected);
            pair_check(&p, &options);
        }
    }
    pair_close(&p);
    oracle_free(matrix);
    gsw_context_destroy(cuda);
    gsw_context_destroy(cpu);
}
END_TEST

static const gsw_grid block_grids[] = {{33, 21, 11}, {5, 61, 37}, {300, 40, 1}, {1, 90, 80}};

START_TEST(any_number_of_blocks_gives_the_same_bits) {
    static const int blocks[] = {1, 2, 3, 7, 1000};
    gsw_context *cpu = oracle_context(1), *cuda = open_cuda(NULL);
    for (int g = 0; g < 4; g++) {
        oracle_layout layout = layouts[g % 3];
        oracle_matrix *arrays =
            oracle_random(&block_grids[g], oracle_stencil(_i, NULL), 3, ORACLE_ANY_SIGN);
        oracle_matrix *stored = oracle_convert(arrays, &layout);
        pair p;
        pair_open(&p, cpu, cuda, &stored->view, GSW_F64, 5);
        for (int s = 0; s < SOLVES; s++) {
            gsw_sptrsv_options options = solve_options(s, GSW_F64, GSW_ALGORITHM_LINE);
            gsw_cuda_test_hooks(cuda, PATIENT_NS, NOTHING_WITHHELD, 0);
            reference(cpu, p.host, options, p.b, p.expected);
            pair_check(&p, &options);
            for (int k = 0; k < 5; k++) {
                gsw_cuda_test_hooks(cuda, PATIENT_NS, NOTHING_WITHHELD, blocks[k]);
                pair_solve(&p, &options);
                device_get(cuda, &p.device_x, p.x);
                ck_assert_msg(memcmp(p.first, p.x, p.bytes) == 0, "other bits with %d blocks",
                              blocks[k]);
            }
        }
        pair_close(&p);
        oracle_free(stored);
        oracle_free(arrays);
    }
    gsw_context_destroy(cuda);
    gsw_context_destroy(cpu);
}
END_TEST

/* With another kernel on nine multiprocessors of ten, a solve ends before that kernel does. */
START_TEST(completes_on_an_occupied_device) {
    cudaStream_t stream = make_stream(), other = make_stream();
    gsw_context *cpu = oracle_context(1), *cuda = open_cuda(stream);
    oracle_matrix *matrix = make_cube_csr(cubes[_i], 64, GSW_F64);
    pair p;
    pair_open(&p, cpu, cuda, &matrix->view, GSW_F64, 5);
    for (int s = 0; s < 2; s++) {
        gsw_sptrsv_options options = solve_options(s, GSW_F64, GSW_ALGORITHM_LINE);
        reference(cpu, p.host, options, p.b, p.expected);
        pair_check(&p, &options); /* everything is loaded now */
        ck_assert_int_eq(occupy_start(other, 0.9, 1000), cudaSuccess);
        pair_solve(&p, &options);
        device_try(cuda, gsw_context_synchronize(cuda));
        ck_assert_msg(cudaStreamQuery(other) == cudaErrorNotReady,
                      "the solve waited for the other kernel");
        device_get(cuda, &p.device_x, p.x);
        ck_assert_msg(memcmp(p.first, p.x, p.bytes) == 0, "other bits on an occupied device");
        ck_assert_int_eq(cudaStreamSynchronize(other), cudaSuccess);
    }
    pair_close(&p);
    oracle_free(matrix);
    gsw_context_destroy(cuda);
    gsw_context_destroy(cpu);
    close_stream(stream);
    close_stream(other);
}
END_TEST

/* With no multiprocessor free, solves are queued without waiting, and run afterwards. */
START_TEST(solves_are_queued_without_waiting) {
    cudaStream_t stream = make_stream(), other = make_stream();
    gsw_context *cpu = oracle_context(1), *cuda = open_cuda(stream);
    oracle_matrix *matrix = make_cube_csr(cubes[_i], 32, GSW_F64);
    gsw_sptrsv_options options = solve_options(0, GSW_F64, GSW_ALGORITHM_LINE);
    pair p;
    pair_open(&p, cpu, cuda, &matrix->view, GSW_F64, 5);
    reference(cpu, p.host, options, p.b, p.expected);
    pair_check(&p, &options);
    ck_assert_int_eq(occupy_start(other, 1.0, 500), cudaSuccess);
    for (int r = 0; r < 10; r++)
        pair_solve(&p, &options);
    ck_assert_msg(cudaStreamQuery(other) == cudaErrorNotReady, "queueing a solve waited");
    device_get(cuda, &p.device_x, p.x);
    ck_assert(memcmp(p.first, p.x, p.bytes) == 0);
    ck_assert_int_eq(cudaStreamSynchronize(other), cudaSuccess);
    pair_close(&p);
    oracle_free(matrix);
    gsw_context_destroy(cuda);
    gsw_context_destroy(cpu);
    close_stream(stream);
    close_stream(other);
}
END_TEST

int main(void) {
    const int stencils = oracle_stencil_count();
    Suite *suite = suite_create("cuda_sptrsv");
    TCase *equal = tcase_create("equal"), *larger = tcase_create("large"),
          *values = tcase_create("values"), *streams = tcase_create("streams"),
          *refused = tcase_create("refused"), *waiting = tcase_create("waiting");
    tcase_add_loop_test(equal, equals_reference, 0, stencils);
    tcase_add_loop_test(equal, triangles_equal_reference, 0, stencils);
    tcase_add_loop_test(equal, couplings_may_be_missing, 0, stencils);
    tcase_add_test(equal, arrays_may_be_null);
    tcase_add_test(equal, arrays_may_be_unaligned);
    tcase_add_test(equal, right_hand_sides_are_independent);
    suite_add_tcase(suite, equal);
    tcase_add_loop_test(larger, large_grids_equal_reference, 0, stencils);
    tcase_add_loop_test(larger, cube_of_128_equals_reference, 0, CUBES);
    tcase_add_loop_test(larger, repetitions_give_the_same_bits, 0, CUBES);
    tcase_add_loop_test(larger, workspace_is_small, 0, CUBES);
    suite_add_tcase(suite, larger);
    tcase_add_loop_test(values, nan_and_infinity_go_where_the_reference_puts_them, 0, stencils);
    tcase_add_loop_test(values, every_nan_is_a_nan, 0, CUBES);
    suite_add_tcase(suite, values);
    tcase_add_test(streams, contexts_on_streams_do_not_disturb_each_other);
    tcase_add_loop_test(streams, solves_are_captured_in_a_graph, 0, CUBES);
    suite_add_tcase(suite, streams);
    tcase_add_loop_test(refused, couplings_outside_the_stencil_are_reported, GSW_LOWER,
                        GSW_UPPER + 1);
    tcase_add_test(refused, wrong_columns_of_a_full_matrix_do_no_harm);
    tcase_add_loop_test(refused, validation_names_the_first_bad_row, 0, stencils);
    suite_add_tcase(suite, refused);
    tcase_add_loop_test(waiting, a_withheld_line_times_out, 0, CUBES);
    tcase_add_loop_test(waiting, any_number_of_blocks_gives_the_same_bits, 0, stencils);
    tcase_add_loop_test(waiting, completes_on_an_occupied_device, 0, CUBES);
    tcase_add_loop_test(waiting, solves_are_queued_without_waiting, 0, CUBES);
    suite_add_tcase(suite, waiting);
    return device_run_suite(suite);
}
