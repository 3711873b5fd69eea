/* test_cuda_relax.c: stencil loops with ghost zones on a CUDA device, against the plain serial
 * sweep.
 *
 * GSW_TEST_STRIDE=6 in the environment tries one grid in six (see device.h). */
#include "device.h"
#include "device_stream.h"
#include "relax_cases.h"

static gsw_context *cuda;

static void open_context(void) {
    cuda = device_context(NULL);
}

static void close_context(void) {
    gsw_context_destroy(cuda);
}

static void compare(const gsw_grid *grid, const gsw_stencil *stencil) {
    oracle_matrix *matrix = oracle_random(grid, stencil, 40, ORACLE_ANY_SIGN);
    gsw_matrix there;
    device_try(cuda, gsw_matrix_upload(cuda, &matrix->view, &there));
    relax_compare_heights(cuda, &matrix->view, &there, 1, 1);
    gsw_matrix_release(cuda, &there);
    oracle_free(matrix);
    relax_compare_f32(cuda, grid, stencil);
}

/* Stencils without a name have height 1 only. */
START_TEST(sweeps_equal_the_reference) {
    const char *name;
    const gsw_stencil *stencil = oracle_stencil(_i, &name);
    for (int g = 0; g < oracle_grid_count(); g += device_stride()) {
        const gsw_grid grid = oracle_grid(g);
        compare(&grid, stencil);
    }
}
END_TEST

/* Grids of several tiles along each axis. */
START_TEST(tiles_do_not_show) {
    static const struct {
        const char *stencil;
        gsw_grid grid;
    } large[] = {{"D2N5", {2100, 70, 1}},  {"D2N9", {601, 267, 1}},  {"D3N7", {67, 65, 70}},
                 {"D3N27", {130, 37, 41}}, {"D3N13", {131, 47, 38}}, {"D2N5", {97, 101, 3}},
                 {"D3N7", {130, 33, 140}}};
    for (int k = 0; k < (int)(sizeof large / sizeof large[0]); k += device_stride())
        compare(&large[k].grid, oracle_stencil_named(large[k].stencil));
}
END_TEST

/* A CSR is copied; a call can be captured, and the graph replayed. */
START_TEST(loops_are_captured) {
    const gsw_grid grid = {150, 90, 1};
    const oracle_layout csr = {GSW_FORMAT_CSR, GSW_F64, GSW_I32, 1, GSW_FULL, 0};
    oracle_matrix *matrix = oracle_random(&grid, oracle_stencil_named("D2N9"), 5, ORACLE_POSITIVE),
                  *stored = oracle_convert(matrix, &csr);
    const gsw_relax_options options = {.size = sizeof options,
                                       .method = GSW_RELAX_CHEBYSHEV,
                                       .height = 3,
                                       .lowest = 0.2,
                                       .highest = 2};
    const int64_t n = oracle_points(&grid);
    double *b = oracle_vector(GSW_F64, 1, n), *x = oracle_vector(GSW_F64, 2, n),
           *expected = oracle_vector(GSW_F64, 2, n);
    const cudaStream_t stream = make_stream();
    gsw_context *own = device_context(stream);
    device_vector at_b = device_vector_make(own, GSW_F64, n),
                  at_x = device_vector_make(own, GSW_F64, n);
    cudaGraph_t graph = NULL;
    cudaGraphExec_t exec = NULL;
    gsw_matrix there;
    gsw_relax *relax;
    device_try(own, gsw_matrix_upload(own, &stored->view, &there));
    device_try(own, gsw_relax_create(own, &there, &options, &relax));
    device_put(own, &at_b, b);
    device_put(own, &at_x, x);
    device_try(own, gsw_relax_run(own, relax, 1, 0, (double *)at_b.values, (double *)at_x.values));
    device_try(own, gsw_relax_run(own, relax, 7, 0, (double *)at_b.values, (double *)at_x.values));
    ck_assert_int_eq(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), cudaSuccess);
    device_try(own, gsw_relax_run(own, relax, 7, 0, (double *)at_b.values, (double *)at_x.values));
    ck_assert_int_eq(cudaStreamEndCapture(stream, &graph), cudaSuccess);
    ck_assert_int_eq(cudaGraphInstantiateWithFlags(&exec, graph, 0), cudaSuccess);
    device_put(own, &at_x, x);
    for (int replay = 0; replay < 2; replay++) {
        ck_assert_int_eq(cudaGraphLaunch(exec, stream), cudaSuccess);
        relax_expect(&matrix->view, &options, 7, 0, b, expected);
        device_get(own, &at_x, x);
        relax_compare(own, &matrix->view, n, x, expected, "a replay");
    }
    ck_assert_int_eq(cudaGraphExecDestroy(exec), cudaSuccess);
    ck_assert_int_eq(cudaGraphDestroy(graph), cudaSuccess);
    gsw_relax_destroy(relax);
    gsw_matrix_release(own, &there);
    device_vector_free(own, &at_x);
    device_vector_free(own, &at_b);
    gsw_context_destroy(own);
    close_stream(stream);
    free(expected);
    free(x);
    free(b);
    oracle_free(stored);
    oracle_free(matrix);
}
END_TEST

START_TEST(other_stencils_have_height_1) {
    const gsw_offset offsets[] = {{-1, 0, 0}, {0, 0, 0}, {2, 0, 0}};
    const gsw_grid grid = {30, 1, 1};
    gsw_stencil stencil;
    gsw_matrix there;
    gsw_relax *relax;
    gsw_relax_options options = {.size = sizeof options, .height = 2};
    gsw_relax_info info = {.size = sizeof info};
    device_try(cuda, gsw_stencil_from_offsets(offsets, 3, &stencil));
    oracle_matrix *matrix = oracle_random(&grid, &stencil, 5, ORACLE_POSITIVE);
    device_try(cuda, gsw_matrix_upload(cuda, &matrix->view, &there));
    ck_assert_int_eq(gsw_relax_create(cuda, &there, &options, &relax), GSW_ERROR_UNSUPPORTED);
    ck_assert_ptr_nonnull(strstr(gsw_context_message(cuda), "no tile of height 2"));
    device_try(cuda, gsw_relax_create(cuda, &there, NULL, &relax));
    device_try(cuda, gsw_relax_get_info(relax, &info));
    ck_assert_int_eq(info.height, 1);
    gsw_relax_destroy(relax);
    gsw_matrix_release(cuda, &there);
    oracle_free(matrix);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("cuda_relax");
    TCase *tc = tcase_create("relax");
    tcase_add_checked_fixture(tc, open_context, close_context);
    tcase_add_loop_test(tc, sweeps_equal_the_reference, 0, oracle_stencil_count());
    tcase_add_test(tc, tiles_do_not_show);
    tcase_add_test(tc, loops_are_captured);
    tcase_add_test(tc, other_stencils_have_height_1);
    suite_add_tcase(suite, tc);
    return device_run_suite(suite);
}
