/* test_memory.c: arrays in a backend's memory, uploaded matrices, waiting, and devices. Every case
 * runs on the CPU backend, and again on CUDA where a device answers. */
#include <math.h>
#include <stdio.h>

#include "contract/backend.h"
#include "contract/context.h"
#include "common/csr.h"
#include "keep.h"
#include "krylov_solve.h"
#include "suite.h"

static gsw_context *context;

static void open_cpu(void) {
    context = oracle_context(2);
}

static void open_cuda(void) {
    const gsw_context_options options = {.size = sizeof options, .backend = GSW_BACKEND_CUDA};
    must(context, gsw_context_create(&options, &context));
    ck_assert_int_eq(gsw_context_backend(context), GSW_BACKEND_CUDA);
    ck_assert_int_eq(gsw_context_threads(context), 1);
    ck_assert_ptr_nonnull(strstr(gsw_context_device(context), "(sm_"));
}

static void close_context(void) {
    keep_release(0);
    gsw_context_destroy(context);
    context = NULL;
}

static int on_cuda(void) {
    return gsw_context_backend(context) == GSW_BACKEND_CUDA;
}

/* A copy in host memory. */
static void *downloaded(const void *from, size_t bytes) {
    void *copy = keep_bytes(bytes);
    download(context, copy, from, bytes);
    return copy;
}

/* ---- memory ---- */

static const size_t sizes[] = {1, 7, 64, 4097, 3000001};

TEST(bytes_go_there_and_come_back) {
    const size_t bytes = sizes[_i];
    unsigned char *host = keep_bytes(bytes);
    for (size_t i = 0; i < bytes; i++)
        host[i] = (unsigned char)(i * 131 + i / 251);
    void *there = keep_upload(context, host, bytes);
    ck_assert_uint_eq((uintptr_t)there % 64, 0);
    unsigned char *back = downloaded(there, bytes);
    ck_assert_int_eq(memcmp(back, host, bytes), 0);

    /* Inside the array: its ends stay. */
    if (bytes > 2) {
        must(context, gsw_memory_set(context, (char *)there + 1, 0xa5, bytes - 2));
        memset(host + 1, 0xa5, bytes - 2);
        back = downloaded(there, bytes);
        ck_assert_int_eq(memcmp(back, host, bytes), 0);
    }
}

TEST(bytes_of_0xff_are_nan) {
    void *there = NULL;
    must(context, gsw_memory_alloc(context, 40, &there));
    must(context, gsw_memory_set(context, there, 0xff, 40));
    double f64[5];
    float f32[10];
    must(context, gsw_memory_download(context, f64, there, sizeof f64));
    must(context, gsw_memory_download(context, f32, there, sizeof f32));
    for (int i = 0; i < 10; i++)
        ck_assert(isnan(f32[i]) && isnan(f64[i / 2]));
    gsw_memory_free(context, there);
}

TEST(no_bytes_are_allowed) {
    void *there = NULL;
    must(context, gsw_memory_alloc(context, 0, &there));
    must(context, gsw_memory_upload(context, there, NULL, 0));
    must(context, gsw_memory_upload(context, NULL, NULL, 0));
    must(context, gsw_memory_download(context, NULL, there, 0));
    must(context, gsw_memory_set(context, NULL, 0, 0));
    gsw_memory_free(context, there);
    gsw_memory_free(context, NULL);
    gsw_memory_free(NULL, NULL);
}

TEST(bad_arguments_are_refused) {
    char host[4] = {0};
    void *there = host;
    must_reject(gsw_memory_alloc(NULL, 8, &there));
    ck_assert_ptr_null(there);
    must_reject(gsw_memory_alloc(context, 8, NULL));
    there = keep_upload(context, host, sizeof host);
    must_reject(gsw_memory_upload(NULL, there, host, 4));
    must_reject(gsw_memory_upload(context, NULL, host, 4));
    must_refuse(context, gsw_memory_upload(context, there, NULL, 4), GSW_ERROR_INVALID_ARGUMENT,
                "from_host");
    must_reject(gsw_memory_download(NULL, host, there, 4));
    must_reject(gsw_memory_download(context, NULL, there, 4));
    must_reject(gsw_memory_download(context, host, NULL, 4));
    must_reject(gsw_memory_set(NULL, there, 0, 4));
    must_reject(gsw_memory_set(context, NULL, 0, 4));
    must_reject(gsw_memory_set(context, there, -1, 4));
    must_reject(gsw_memory_set(context, there, 256, 4));
    must_reject(gsw_context_synchronize(NULL));
}

/* Too large a request is refused, and the context remains usable. */
TEST(too_much_memory_is_refused) {
    void *there = &there;
    ck_assert_int_eq(gsw_memory_alloc(context, SIZE_MAX, &there), GSW_ERROR_OUT_OF_MEMORY);
    ck_assert_ptr_null(there);
    if (on_cuda()) { /* the CPU's system may promise this much */
        there = &there;
        ck_assert_int_eq(gsw_memory_alloc(context, (size_t)1 << 46, &there),
                         GSW_ERROR_OUT_OF_MEMORY);
        ck_assert_ptr_null(there);
        must_say(context, "70368744177664 bytes");
    }
    must(context, gsw_context_synchronize(context));
    must(context, gsw_memory_alloc(context, 8, &there));
    gsw_memory_free(context, there);
}

TEST(waiting_finds_nothing_wrong) {
    must(context, gsw_context_synchronize(context));
    double *x = keep_random(4, 100000);
    double *there = keep_upload(context, x, 100000 * sizeof *x);
    ck_assert_int_eq(context->ops->vector->axpby(context, 100000, 2, there, 0, there), GSW_SUCCESS);
    must(context, gsw_context_synchronize(context));
    double *back = downloaded(there, 100000 * sizeof *x);
    int wrong = 0;
    for (int i = 0; i < 100000; i++)
        wrong += back[i] != 2 * x[i];
    ck_assert_int_eq(wrong, 0);
}

/* ---- matrices ---- */

static const oracle_layout layouts[] = {
    {GSW_FORMAT_CSR, GSW_F64, GSW_I32, 0, GSW_FULL, 0},
    {GSW_FORMAT_CSR, GSW_F32, GSW_I64, 1, GSW_LOWER, 0},
    {GSW_FORMAT_CSR, GSW_F64, GSW_I64, 0, GSW_UPPER, 5},
    {GSW_FORMAT_CSR, GSW_F32, GSW_I32, 1, GSW_FULL, 5},
    {GSW_FORMAT_STENCIL, GSW_F64, GSW_I32, 0, GSW_FULL, 0},
    {GSW_FORMAT_STENCIL, GSW_F32, GSW_I32, 0, GSW_FULL, 0},
};
#define LAYOUTS ((int)(sizeof layouts / sizeof layouts[0]))

static oracle_matrix *make_matrix(gsw_grid grid, const char *name, const oracle_layout *layout) {
    return keep_converted(keep_matrix_of(&grid, oracle_stencil_named(name), 11, ORACLE_POSITIVE),
                          layout);
}

static void assert_same_array(const void *there, const void *host, size_t bytes) {
    ck_assert_ptr_ne(there, host);
    void *back = downloaded(there, bytes);
    ck_assert_int_eq(memcmp(back, host, bytes), 0);
}

static void assert_same_csr(const gsw_csr *there, const gsw_csr *host) {
    const size_t index = gsw_itype_size(host->index_type);
    ck_assert_int_eq(there->rows, host->rows);
    ck_assert_int_eq(there->nonzeros, host->nonzeros);
    ck_assert_int_eq(there->index_type, host->index_type);
    ck_assert_int_eq(there->value_type, host->value_type);
    ck_assert_int_eq(there->base, host->base);
    assert_same_array(there->row_ptr, host->row_ptr, (size_t)(host->rows + 1) * index);
    assert_same_array(there->columns, host->columns, (size_t)host->nonzeros * index);
    assert_same_array(there->values, host->values,
                      (size_t)host->nonzeros * gsw_dtype_size(host->value_type));
}

TEST(matrices_are_copied) {
    oracle_matrix *host = make_matrix((gsw_grid){9, 5, 4}, "D3N19", &layouts[_i]);
    const gsw_matrix *h = &host->view;
    gsw_matrix there;
    must(context, gsw_matrix_upload(context, h, &there));
    ck_assert_int_eq(there.format, h->format);
    ck_assert_int_eq(memcmp(&there.grid, &h->grid, sizeof there.grid), 0);
    ck_assert_int_eq(memcmp(&there.stencil, &h->stencil, sizeof there.stencil), 0);
    if (h->format == GSW_FORMAT_CSR) {
        assert_same_csr(&there.csr, &h->csr);
    } else {
        ck_assert_int_eq(there.array.value_type, h->array.value_type);
        ck_assert_ptr_ne(there.array.values, h->array.values);
        for (int32_t e = 0; e < h->stencil.count; e++)
            assert_same_array(there.array.values[e], h->array.values[e],
                              180 * gsw_dtype_size(h->array.value_type));
    }
    gsw_matrix_release(context, &there);
    ck_assert_ptr_null(there.csr.row_ptr);
    ck_assert_ptr_null(there.array.values);
    ck_assert_int_eq(there.grid.nx, 0);
    gsw_matrix_release(context, &there);
    gsw_matrix_release(context, NULL);
}

TEST(absent_stencil_arrays_stay_absent) {
    oracle_matrix *host = make_matrix((gsw_grid){6, 5, 4}, "D3N7", &layouts[4]);
    const void *pointers[7];
    memcpy(pointers, host->view.array.values, sizeof pointers);
    pointers[1] = pointers[6] = NULL;
    gsw_matrix view = host->view, there;
    view.array.values = pointers;
    must(context, gsw_matrix_upload(context, &view, &there));
    for (int e = 0; e < 7; e++)
        ck_assert_int_eq(there.array.values[e] == NULL, e == 1 || e == 6);
    gsw_matrix_release(context, &there);
}

TEST(bad_matrices_are_not_copied) {
    oracle_matrix *host = make_matrix((gsw_grid){4, 3, 2}, "D3N7", &layouts[0]);
    gsw_matrix broken = host->view, there = host->view;
    broken.csr.row_ptr = NULL;
    must_reject(gsw_matrix_upload(context, &broken, &there));
    ck_assert_ptr_null(there.csr.columns);
    ck_assert_int_eq(there.grid.nx, 0);
    must_reject(gsw_matrix_upload(context, NULL, &there));
    must_reject(gsw_matrix_upload(NULL, &host->view, &there));
    must_reject(gsw_matrix_upload(context, &host->view, NULL));
    must_reject(gsw_matrix_upload(context, &host->view, &host->view));
    ck_assert_ptr_nonnull(host->view.csr.columns);
}

/* ---- matrices in backend memory ---- */

/* A wrong matrix is refused in backend memory with the same words as in host memory on the CPU, and
 * accepted again after it is repaired. */
static void compare_refusals(const gsw_matrix *host, gsw_status expected) {
    char text[512];
    gsw_context *cpu = keep_context(1);
    ck_assert_int_eq(gsw_matrix_validate(cpu, host), expected);
    snprintf(text, sizeof text, "%s", gsw_context_message(cpu));
    /* Host arrays may be validated on any backend. */
    const gsw_matrix *const all[] = {keep_there(context, host), host};
    for (int k = 0; k < 2; k++) {
        ck_assert_int_eq(gsw_matrix_validate(context, all[k]), expected);
        if (expected != GSW_SUCCESS)
            ck_assert_str_eq(gsw_context_message(context), text);
    }
}

TEST(uploaded_matrices_are_validated) {
    oracle_matrix *host = make_matrix((gsw_grid){7, 6, 5}, "D3N27", &layouts[_i]);
    compare_refusals(&host->view, GSW_SUCCESS);
    const gsw_csr *csr = &host->view.csr;
    if (host->view.format == GSW_FORMAT_CSR) {
        const gsw_itype type = csr->index_type;
        int64_t row = csr->rows / 2; /* a row of two entries or more, and its second entry */
        while (gsw_index_at(host->row_ptr, type, row + 1) - gsw_index_at(host->row_ptr, type, row) <
               2)
            row++;
        const int64_t k = gsw_index_at(host->row_ptr, type, row) - csr->base + 1;
        const int64_t was = gsw_index_at(host->columns, type, k);
        const int64_t bad[] = {-1, csr->rows + csr->base, gsw_index_at(host->columns, type, k - 1)};
        for (int i = 0; i < 3; i++) {
            gsw_index_put(host->columns, type, k, bad[i]);
            compare_refusals(&host->view, GSW_ERROR_INVALID_ARGUMENT);
        }
        gsw_index_put(host->columns, type, k, was);

        const int64_t places[] = {0, 1, 100, csr->rows - 1, csr->rows};
        for (int i = 0; i < 5; i++) {
            const int64_t pointer = gsw_index_at(host->row_ptr, type, places[i]);
            const int64_t wrong[] = {csr->base - 1, csr->nonzeros + csr->base + 1, 2000000000};
            for (int w = 0; w < 3; w++) {
                gsw_index_put(host->row_ptr, type, places[i], wrong[w]);
                compare_refusals(&host->view, GSW_ERROR_INVALID_ARGUMENT);
            }
            gsw_index_put(host->row_ptr, type, places[i], pointer);
        }

        /* Two rows are wrong: the lower one is named. */
        gsw_index_put(host->row_ptr, type, 150, -7);
        gsw_index_put(host->columns, type, 3, csr->rows + 5);
        compare_refusals(&host->view, GSW_ERROR_INVALID_ARGUMENT);
    }
}

TEST(couplings_outside_the_stencil_are_refused) {
    oracle_matrix *host = make_matrix((gsw_grid){7, 6, 5}, "D3N27", &layouts[_i]);
    compare_refusals(&host->view, GSW_SUCCESS);
    if (host->view.format == GSW_FORMAT_CSR) {
        must(context, gsw_stencil_named("D3N19", &host->view.stencil));
        compare_refusals(&host->view, GSW_ERROR_NOT_A_GRID);
        must(context, gsw_stencil_named("D3N27", &host->view.stencil));
        host->view.grid = (gsw_grid){6, 7, 5};
        compare_refusals(&host->view, GSW_ERROR_NOT_A_GRID);
    }
}

/* The Krylov methods touch vectors through the backend alone. */
TEST(krylov_methods_work_where_the_vectors_are) {
    const gsw_grid grid = {24, 20, 16};
    const gsw_stencil *stencil = oracle_stencil_named("D3N7");
    const int64_t n = oracle_points(&grid);
    oracle_matrix *plain = keep_matrix_of(&grid, stencil, 3, ORACLE_POSITIVE);
    for (int32_t e = 0; e < 7; e++) /* symmetric, diagonally dominant */
        oracle_fill(GSW_F64, plain->arrays[e], n, e == stencil->center ? 6.5 : -1);
    const gsw_matrix *host = &keep_converted(plain, &layouts[0])->view;
    const gsw_matrix *there = keep_there(context, host);
    const size_t bytes = (size_t)n * sizeof(double);
    double *b = keep_random(6, n), *bt = keep_upload(context, b, bytes),
           *xt = keep_upload(context, b, bytes);
    for (int method = GSW_CG; method <= GSW_GMRES; method++) {
        const gsw_krylov_options options = {.size = sizeof options, .rtol = 1e-10};
        gsw_krylov_result result = {.size = sizeof result};
        must(context, gsw_memory_set(context, xt, 0, bytes));
        const gsw_status status =
            solve_krylov(context, (gsw_method)method, there, NULL, &options, bt, xt, &result);
        ck_assert_int_eq(status, GSW_SUCCESS);
        truth_check(gsw_method_name((gsw_method)method), host, &options, b, downloaded(xt, bytes),
                    status, &result, NULL, NULL);
    }
}

/* ---- devices ---- */

TEST(devices_have_names) {
    char name[64] = "unchanged";
    const int count = gsw_device_count();
    ck_assert_int_ge(count, 0);
    must_reject(gsw_device_name(0, NULL, 8));
    must_reject(gsw_device_name(0, name, 0));
    ck_assert_int_eq(gsw_device_name(-1, name, sizeof name), GSW_ERROR_NO_BACKEND);
    ck_assert_int_eq(gsw_device_name(count, name, sizeof name), GSW_ERROR_NO_BACKEND);
    ck_assert_str_eq(name, "unchanged");
    for (int device = 0; device < count; device++) {
        char cut[4] = "";
        must(context, gsw_device_name(device, name, sizeof name));
        ck_assert(strlen(name) > 3);
        must(context, gsw_device_name(device, cut, sizeof cut));
        ck_assert_uint_eq(strlen(cut), 3);
        ck_assert_int_eq(strncmp(cut, name, 3), 0);
    }
}

static void keep_text(void *user, gsw_status status, const char *message) {
    (void)status;
    snprintf(user, 256, "%s", message);
}

TEST(devices_that_are_not_there_are_refused) {
    const int numbers[] = {-1, gsw_device_count(), 1000};
    for (int i = 0; i < 3; i++) {
        char text[256] = "";
        const gsw_context_options options = {.size = sizeof options,
                                             .backend = GSW_BACKEND_CUDA,
                                             .device = numbers[i],
                                             .log = keep_text,
                                             .log_user = text};
        gsw_context *refused = NULL;
        ck_assert_int_eq(gsw_context_create(&options, &refused), GSW_ERROR_NO_BACKEND);
        ck_assert_ptr_null(refused);
        ck_assert_ptr_nonnull(strstr(text, "CUDA"));
    }
}

/* The choice is silent. It is CUDA exactly where a device answers. */
TEST(auto_takes_what_there_is) {
    char text[256] = "";
    const gsw_context_options options = {
        .size = sizeof options, .log = keep_text, .log_user = text};
    gsw_context *chosen = NULL;
    must(context, gsw_context_create(&options, &chosen));
    ck_assert_int_eq(gsw_context_backend(chosen),
                     gsw_device_count() > 0 ? GSW_BACKEND_CUDA : GSW_BACKEND_CPU);
    ck_assert_str_eq(text, "");
    ck_assert_str_eq(gsw_context_message(chosen), "");
    must(context, gsw_context_synchronize(chosen));
    gsw_context_destroy(chosen);
}

TEST(cuda_is_skipped) {
    puts("memory: the cases on CUDA are skipped: this build has no CUDA backend, or no CUDA "
         "device answers");
    ck_assert_int_eq(gsw_device_count(), 0);
}

static void add_backend(Suite *suite, const char *name, void (*open)(void)) {
    TCase *tc = suite_case(suite, name, 300, open, close_context);
    TESTS(tc, bytes_of_0xff_are_nan, no_bytes_are_allowed, bad_arguments_are_refused,
          too_much_memory_is_refused, waiting_finds_nothing_wrong,
          absent_stencil_arrays_stay_absent, bad_matrices_are_not_copied,
          krylov_methods_work_where_the_vectors_are);
    LOOPS(tc, 5, bytes_go_there_and_come_back);
    LOOPS(tc, LAYOUTS, matrices_are_copied, uploaded_matrices_are_validated,
          couplings_outside_the_stencil_are_refused);
}

int main(void) {
    const int devices = gsw_device_count();
    Suite *suite = suite_create("memory");
    TCase *tc = suite_case(suite, "devices", 120, NULL, NULL);
    TESTS(tc, devices_have_names, devices_that_are_not_there_are_refused, auto_takes_what_there_is);
    if (devices == 0)
        TESTS(tc, cuda_is_skipped);
    add_backend(suite, "cpu", open_cpu);
    if (devices > 0)
        add_backend(suite, "cuda", open_cuda);
    /* CUDA does not survive a fork */
    return suite_run(suite, devices > 0 ? CK_NOFORK : CK_FORK_GETENV);
}
