/* test_determinism.c: what has the same bits on the CPU, beyond what the tests of the single parts
 * show: instruction sets, threads, repeats, the place of vectors, numbers of right-hand sides,
 * layouts, and compilers. src/docs/determinism.md lists all of it. */
#include <stdio.h>

#include "common/hash.h"
#include "factor_cases.h"
#include "keep.h"
#include "suite.h"

/* ---- results: one vector for each operation ---- */

enum {
    LINE_LOWER,
    LINE_UPPER_TRANSPOSED,
    PENCIL_LOWER,
    ILU0_SOLVE,
    ILU0_F32_SOLVE,
    DILU_SOLVE,
    SSOR_TRANSPOSED_SOLVE,
    IC0_SOLVE,
    PRODUCT,
    BICGSTAB,
    GMRES,
    CYCLE, /* from here on the compiler chooses what to fuse */
    CYCLE_F32,
    OPERATIONS
};

static const char *const operations[OPERATIONS] = {"line, lower",      "line, upper transposed",
                                                   "pencil, lower",    "ILU(0)",
                                                   "ILU(0) in fp32",   "DILU",
                                                   "SSOR, transposed", "IC(0)",
                                                   "product",          "BiCGSTAB with ILU(0)",
                                                   "GMRES with DILU",  "multigrid",
                                                   "multigrid in fp32"};

#ifdef GSW_SLOW_BUILD
static const gsw_grid grids[] = {{37, 19, 11}};
#else
static const gsw_grid grids[] = {{37, 19, 11}, {130, 67, 1}, {9, 40, 23}};
#endif
enum { GRIDS = sizeof grids / sizeof *grids };

static void sweep(gsw_context *context, const gsw_matrix *m, gsw_algorithm algorithm, gsw_part part,
                  int transpose, const double *b, double *x) {
    const gsw_sptrsv_options options = {
        .size = sizeof options, .part = part, .transpose = transpose, .algorithm = algorithm};
    must(context, gsw_sptrsv(context, m, &options, 1, b, 0, x, 0));
}

static void solve(gsw_context *context, const gsw_matrix *m, gsw_factor_kind kind, int transpose,
                  gsw_dtype type, const double *b, double *x) {
    const gsw_factor_options options = {
        .kind = kind, .transpose = transpose, .factor_type = type, .omega = OMEGA};
    gsw_factor *factor = keep_factor(context, m, options);
    must(context, gsw_factor_solve(context, factor, 1, b, 0, x, 0));
}

/* Four iterations. */
static void iterate(gsw_context *context, const gsw_matrix *m, gsw_method method,
                    gsw_factor_kind kind, const double *b, double *x) {
    const gsw_krylov_options limit = {
        .size = sizeof limit, .max_iterations = 4, .rtol = 1e-30, .restart = 3};
    gsw_factor *factor = keep_factor(context, m, (gsw_factor_options){.kind = kind});
    memset(x, 0, (size_t)oracle_points(&m->grid) * sizeof *x);
    (void)gsw_krylov(context, method, keep_operator(context, m), keep_factor_M(context, factor),
                     &limit, b, x, NULL);
}

/* Some stencils are too wide for multigrid. */
static void cycle(gsw_context *context, const gsw_matrix *m, gsw_dtype type, const double *b,
                  double *x) {
    const gsw_multigrid_options options = {
        .size = sizeof options, .cycle = GSW_CYCLE_W, .cycle_type = type};
    gsw_multigrid *multigrid = NULL;
    oracle_fill(GSW_F64, x, oracle_points(&m->grid), 0);
    const gsw_status status = gsw_multigrid_create(context, m, &options, &multigrid);
    if (status == GSW_SUCCESS)
        must(context, gsw_multigrid_apply(context, multigrid, b, x));
    else
        ck_assert_int_eq(status, GSW_ERROR_UNSUPPORTED);
    gsw_multigrid_destroy(multigrid);
}

/* All operations one after the other: a vector for each of them, which is kept. They work in
 * vectors that begin `shift` values after an address from malloc(). */
static double *compute(gsw_context *context, const gsw_matrix *m, int shift) {
    const int64_t n = oracle_points(&m->grid);
    double *results = keep_zeros(n * OPERATIONS);
    const size_t mark = keep_mark();
    double *vectors = keep_zeros(2 * n + 16);
    double *b = vectors + shift, *x = b + n;
    for (int k = 0; k < OPERATIONS; k++) {
        const size_t step = keep_mark();
        gsw_random_vector(11, n, b);
        oracle_fill(GSW_F64, x, n, 4321);
        if (k == LINE_LOWER)
            sweep(context, m, GSW_ALGORITHM_LINE, GSW_LOWER, 0, b, x);
        if (k == LINE_UPPER_TRANSPOSED)
            sweep(context, m, GSW_ALGORITHM_LINE, GSW_UPPER, 1, b, x);
        if (k == PENCIL_LOWER)
            sweep(context, m, GSW_ALGORITHM_PENCIL, GSW_LOWER, 0, b, x);
        if (k == ILU0_SOLVE)
            solve(context, m, GSW_ILU0, 0, GSW_F64, b, x);
        if (k == ILU0_F32_SOLVE)
            solve(context, m, GSW_ILU0, 0, GSW_F32, b, x);
        if (k == DILU_SOLVE)
            solve(context, m, GSW_DILU, 0, GSW_F64, b, x);
        if (k == SSOR_TRANSPOSED_SOLVE)
            solve(context, m, GSW_SSOR, 1, GSW_F64, b, x);
        if (k == IC0_SOLVE && is_symmetric(&m->stencil))
            solve(context, m, GSW_IC0, 0, GSW_F64, b, x);
        if (k == PRODUCT)
            must(context, gsw_spmv(context, m, GSW_F64, b, x));
        if (k == BICGSTAB)
            iterate(context, m, GSW_BICGSTAB, GSW_ILU0, b, x);
        if (k == GMRES)
            iterate(context, m, GSW_GMRES, GSW_DILU, b, x);
        if (k == CYCLE || k == CYCLE_F32)
            cycle(context, m, k == CYCLE ? GSW_F64 : GSW_F32, b, x);
        memcpy(results + k * n, x, (size_t)n * sizeof *x);
        keep_release(step);
    }
    keep_release(mark);
    return results;
}

/* The first `count` operations. */
static void expect_same(const gsw_matrix *m, int count, const double *found, const double *expected,
                        const char *what, int number) {
    const int64_t n = oracle_points(&m->grid);
    for (int k = 0; k < count; k++)
        ck_assert_msg(memcmp(found + k * n, expected + k * n, (size_t)n * sizeof *found) == 0,
                      "%s, %lldx%lldx%lld: %s: other bits: %s %d", gsw_stencil_name(&m->stencil),
                      (long long)m->grid.nx, (long long)m->grid.ny, (long long)m->grid.nz,
                      operations[k], what, number);
}

/* ---- threads, repeats and the place of vectors ---- */

TEST(threads_repeats_and_places) {
    for (int g = 0; g < GRIDS; g++) {
        keep_release(0);
        oracle_matrix *m = keep_matrix_of(&grids[g], oracle_stencil(_i, NULL), 5, ORACLE_POSITIVE);
        gsw_context *context = keep_context(1);
        double *expected = compute(context, &m->view, 0);
        for (int threads = 1; threads <= 4; threads++) {
            context = keep_context(threads);
            for (int repeat = 0; repeat < 2; repeat++) {
                const size_t mark = keep_mark();
                double *found = compute(context, &m->view, threads + 2 * repeat);
                expect_same(&m->view, OPERATIONS, found, expected, "threads", threads);
                keep_release(mark);
            }
        }
    }
}

/* ---- layouts ---- */

TEST(arrays_and_csr) {
    for (int g = 0; g < GRIDS; g++) {
        keep_release(0);
        oracle_matrix *m = keep_matrix_of(&grids[g], oracle_stencil(_i, NULL), 6, ORACLE_POSITIVE);
        gsw_context *context = keep_context(2);
        double *expected = compute(context, &m->view, 0);
        for (int base = 0; base < 2; base++) {
            const oracle_layout layout = {.format = GSW_FORMAT_CSR,
                                          .index_type = base ? GSW_I64 : GSW_I32,
                                          .base = base,
                                          .part = GSW_FULL};
            oracle_matrix *csr = keep_converted(m, &layout);
            double *found = compute(context, &csr->view, 0);
            expect_same(&m->view, OPERATIONS, found, expected, "CSR of base", base);
        }
    }
}

/* ---- several right-hand sides ---- */

static void check_counts(gsw_context *context, const gsw_matrix *m, gsw_dtype type,
                         gsw_factor *factor, const gsw_sptrsv_options *options, const char *text) {
    enum { MOST = 9 };
    const size_t mark = keep_mark();
    const int64_t n = oracle_points(&m->grid);
    const size_t bytes = (size_t)n * gsw_dtype_size(type);
    char *b = keep_vector(type, 3, n * MOST), *alone = keep_vector(type, 4, n * MOST),
         *x = keep_vector(type, 5, n * MOST);
    for (int count = 1; count <= MOST; count++) {
        if (factor != NULL)
            must(context, gsw_factor_solve(context, factor, count, b, n, x, n));
        else
            must(context, gsw_sptrsv(context, m, options, count, b, n, x, n));
        /* The new one comes last, alone at first. */
        char *own = alone + (size_t)(count - 1) * bytes;
        if (factor != NULL)
            must(context, gsw_factor_solve(context, factor, 1, b + (own - alone), n, own, n));
        else
            must(context, gsw_sptrsv(context, m, options, 1, b + (own - alone), n, own, n));
        ck_assert_msg(memcmp(x, alone, bytes * (size_t)count) == 0,
                      "%s, %s: other bits among %d right-hand sides", gsw_stencil_name(&m->stencil),
                      text, count);
    }
    keep_release(mark);
}

TEST(numbers_of_right_hand_sides) {
    gsw_context *context = keep_context(2);
    oracle_matrix *m =
        keep_matrix_of(&grids[_i % GRIDS], oracle_stencil(_i / GRIDS, NULL), 7, ORACLE_POSITIVE);
    for (int t = 0; t < TYPES; t++) {
        for (int kind = 0; kind <= GSW_FACTOR_UPPER; kind++) {
            gsw_factor_options options;
            if (!options_at(4 * kind + _i % 2, t, &m->view.stencil, &options))
                continue;
            gsw_factor *factor = keep_factor(context, &m->view, options);
            check_counts(context, &m->view, types[t].vector, factor, NULL,
                         gsw_factor_kind_name((gsw_factor_kind)kind));
        }
    }
    for (int algorithm = GSW_ALGORITHM_LINE; algorithm <= GSW_ALGORITHM_PENCIL; algorithm++) {
        const gsw_sptrsv_options options = {.size = sizeof options,
                                            .algorithm = (gsw_algorithm)algorithm};
        check_counts(context, &m->view, GSW_F64, NULL, &options,
                     gsw_algorithm_name((gsw_algorithm)algorithm));
    }
}

/* ---- instruction sets (of those that the processor has) ---- */

static gsw_context *context_with(const char *isa) {
    ck_assert_int_eq(setenv("GSW_ISA", isa, 1), 0);
    gsw_context *context = keep_context(2);
    char wanted[16];
    snprintf(wanted, sizeof wanted, " (%s)", isa);
    if (strstr(gsw_context_device(context), wanted) != NULL)
        return context;
    return NULL;
}

/* Whether all operations agree up to rounding: as closely as with the reference. */
static void expect_near(const gsw_matrix *m, const double *found, const double *expected,
                        const char *what) {
    const int64_t n = oracle_points(&m->grid);
    for (int k = 0; k < OPERATIONS; k++) {
        const double error = oracle_error(GSW_F64, n, found + k * n, expected + k * n);
        const double limit = k == ILU0_F32_SOLVE || k == CYCLE_F32 ? 1e-5 : 1e-13;
        ck_assert_msg(error <= limit, "%s: %s: %s: error %g", gsw_stencil_name(&m->stencil),
                      operations[k], what, error);
    }
}

/* v3 and v4 fuse multiplications and additions in the same places, except in multigrid. The base
 * instruction set cannot fuse them, so it rounds once more. */
TEST(instruction_sets) {
    gsw_context *base = context_with("base"), *v3 = context_with("v3"), *v4 = context_with("v4");
    for (int g = 0; g < GRIDS && v3 != NULL; g++) {
        const size_t mark = keep_mark();
        oracle_matrix *m = keep_matrix_of(&grids[g], oracle_stencil(_i, NULL), 8, ORACLE_POSITIVE);
        double *expected = compute(v3, &m->view, 0), *found = compute(base, &m->view, 0);
        expect_near(&m->view, found, expected, "base against v3");
        if (v4 != NULL) {
            found = compute(v4, &m->view, 0);
#ifdef __OPTIMIZE__ /* otherwise the compiler fuses nothing by itself */
            expect_same(&m->view, CYCLE, found, expected, "v4 against v3 on grid", g);
#endif
            expect_near(&m->view, found, expected, "v4 against v3");
        }
        keep_release(mark);
    }
}

/* ---- compilers: the bits are known ---- */

#if defined(__x86_64__) && defined(__OPTIMIZE__) && !defined(GSW_SLOW_BUILD)
#define HAS_KNOWN_BITS

/* Digests of the operations' results over all stencils and grids, with x86-64 and with x86-64-v3. A
 * change of the order of an operation changes its digest, and a new stencil changes all. Then take
 * the new ones from the output, after both compilers gave the same. */
static const uint64_t known[2][CYCLE] = {
    {UINT64_C(0x916b7f1ee1beb596), UINT64_C(0xc806fb6f5334ace7), UINT64_C(0xada50f42046ecb98),
     UINT64_C(0x22daf314091b217f), UINT64_C(0x746a0bea70cbc1c0), UINT64_C(0x3f7a442dfa823640),
     UINT64_C(0x5be241ec96d5e139), UINT64_C(0xf4b52ef17746b131), UINT64_C(0xf02ca861a6c00e7d),
     UINT64_C(0x55fcac59893c3ce4), UINT64_C(0xcec53ae91f671d06)},
    {UINT64_C(0x4a10f564b0d47f8b), UINT64_C(0xe4ad47220d315499), UINT64_C(0x46fcbeabc8c4c13f),
     UINT64_C(0x9ac9315265a066e3), UINT64_C(0xd71e505c1766ec5e), UINT64_C(0xddc2f8565096b7f7),
     UINT64_C(0x2b3d176e64ca0be1), UINT64_C(0x3a8feaf1763f3c67), UINT64_C(0xb8677ce12a0d1376),
     UINT64_C(0x9b38edecaff4aef3), UINT64_C(0x8119094e25e54518)}};

TEST(every_compiler_gives_the_known_bits) {
    gsw_context *context = context_with(_i ? "v3" : "base");
    uint64_t found[CYCLE];
    if (context == NULL)
        return;
    for (int k = 0; k < CYCLE; k++)
        found[k] = GSW_HASH_BEGIN;
    for (int s = 0; s < oracle_stencil_count(); s++) {
        for (int g = 0; g < GRIDS; g++) {
            const size_t mark = keep_mark();
            oracle_matrix *m =
                keep_matrix_of(&grids[g], oracle_stencil(s, NULL), 9, ORACLE_POSITIVE);
            const int64_t n = oracle_points(&grids[g]);
            double *results = compute(context, &m->view, 0);
            for (int k = 0; k < CYCLE; k++)
                found[k] = gsw_hash(found[k], results + k * n, (size_t)n * sizeof *results);
            keep_release(mark);
        }
    }
    int others = 0;
    for (int k = 0; k < CYCLE; k++) {
        if (found[k] != known[_i][k])
            printf("%s, %s: UINT64_C(0x%016llx)\n", _i ? "v3" : "base", operations[k],
                   (unsigned long long)found[k]);
        others += found[k] != known[_i][k];
    }
    (void)fflush(stdout);
    ck_assert_int_eq(others, 0);
}

#endif

int main(void) {
    Suite *suite = suite_create("determinism");
    TCase *tc = suite_case(suite, "determinism", 120, NULL, keep_release_all);
    LOOPS(tc, oracle_stencil_count(), threads_repeats_and_places, arrays_and_csr, instruction_sets);
    LOOPS(tc, GRIDS * oracle_stencil_count(), numbers_of_right_hand_sides);
#ifdef HAS_KNOWN_BITS
    LOOPS(tc, 2, every_compiler_gives_the_known_bits);
#endif
    return suite_run(suite, CK_FORK_GETENV);
}
