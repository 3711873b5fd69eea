/* device.h: parts that the tests on a CUDA device share. A test program that includes it ends its
 * main() with device_run_suite(). Where no device answers, that function skips everything and
 * prints one line with the reason.
 *
 * Vectors on the device lie between guards. A write beside them then shows, and a read there gives
 * a NaN. */
#ifndef GSW_TESTS_DEVICE_H
#define GSW_TESTS_DEVICE_H

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <check.h>
#include <gridsweep/gridsweep.h>
#include <gridsweep/memory.h>

#include "oracle.h"
#include "suite.h"

/* The exit code that CTest reads as "skipped". */
#define DEVICE_SKIPPED 77

/* Values before and after a vector: enough to keep the vector aligned to 128 bytes. */
#define DEVICE_GUARD 32

static inline void device_keep_reason(void *user, gsw_status status, const char *message) {
    (void)status;
    snprintf(user, 512, "%s", message);
}

/* A CUDA context on a stream (NULL: the default stream). */
static inline gsw_context *device_context(void *stream) {
    static char reason[512]; /* the context keeps its address */
    const gsw_context_options options = {.size = sizeof options,
                                         .backend = GSW_BACKEND_CUDA,
                                         .stream = stream,
                                         .log = device_keep_reason,
                                         .log_user = reason};
    gsw_context *context = NULL;
    const gsw_status status = gsw_context_create(&options, &context);
    ck_assert_msg(status == GSW_SUCCESS, "%s: %s", gsw_status_name(status), reason);
    return context;
}

#define device_try(context, call)                                                                  \
    do {                                                                                           \
        const gsw_status device_status_ = (call);                                                  \
        ck_assert_msg(device_status_ == GSW_SUCCESS, "%s: %s: %s", #call,                          \
                      gsw_status_name(device_status_), gsw_context_message(context));              \
    } while (0)

/* One grid in this many is tried: GSW_TEST_STRIDE from the environment, for tools that slow
 * everything down a hundredfold; otherwise what suits the build. */
static inline int device_stride(void) {
    const char *text = getenv("GSW_TEST_STRIDE");
    const int stride = text == NULL ? ORACLE_STRIDE : atoi(text);
    return stride < 1 ? 1 : stride;
}

/* ---- vectors ---- */

typedef struct device_vector {
    gsw_dtype type;
    int64_t count;
    void *memory; /* with its guards */
    char *values; /* the first value */
} device_vector;

static inline size_t device_bytes(const device_vector *v) {
    return (size_t)(v->count + 2 * DEVICE_GUARD + 1) * gsw_dtype_size(v->type);
}

/* `shift` 0 or 1: with 1 the values have only the alignment of their type. */
static inline void device_shift(device_vector *v, int shift) {
    v->values = (char *)v->memory + (size_t)(DEVICE_GUARD + shift) * gsw_dtype_size(v->type);
}

static inline device_vector device_vector_make(gsw_context *context, gsw_dtype type,
                                               int64_t count) {
    device_vector v = {.type = type, .count = count};
    device_try(context, gsw_memory_alloc(context, device_bytes(&v), &v.memory));
    device_try(context, gsw_memory_set(context, v.memory, 0xff, device_bytes(&v)));
    device_shift(&v, 0);
    return v;
}

static inline void device_vector_free(gsw_context *context, device_vector *v) {
    gsw_memory_free(context, v->memory);
    *v = (device_vector){0};
}

/* NaN everywhere. */
static inline void device_poison(gsw_context *context, device_vector *v) {
    device_try(context, gsw_memory_set(context, v->memory, 0xff, device_bytes(v)));
}

static inline void device_put(gsw_context *context, device_vector *v, const void *host) {
    device_try(context, gsw_memory_upload(context, v->values, host,
                                          (size_t)v->count * gsw_dtype_size(v->type)));
}

/* Copies the values to the host and checks that the guards are unchanged. */
static inline void device_get(gsw_context *context, const device_vector *v, void *host) {
    const size_t size = device_bytes(v), begin = (size_t)(v->values - (char *)v->memory);
    const size_t end = begin + (size_t)v->count * gsw_dtype_size(v->type);
    unsigned char *all = malloc(size);
    size_t wrong = 0;
    ck_assert_ptr_nonnull(all);
    device_try(context, gsw_memory_download(context, all, v->memory, size));
    for (size_t i = 0; i < begin; i++)
        wrong += all[i] != 0xff;
    for (size_t i = end; i < size; i++)
        wrong += all[i] != 0xff;
    memcpy(host, all + begin, end - begin);
    free(all);
    ck_assert_msg(wrong == 0, "%zu bytes beside the vector were written", wrong);
}

/* ---- matrices and messages ---- */

/* Arrays of a matrix at most. */
#define DEVICE_ARRAYS (GSW_STENCIL_MAX + 3)

/* Copies `count` values of `size` bytes to one value after an aligned address. */
static inline const void *device_upload_shifted(gsw_context *cuda, const void *host, int64_t count,
                                                size_t size, void **memory) {
    device_try(cuda, gsw_memory_alloc(cuda, (size_t)(count + 1) * size, memory));
    device_try(cuda, gsw_memory_upload(cuda, (char *)*memory + size, host, (size_t)count * size));
    return (char *)*memory + size;
}

/* A view of the matrix whose arrays have only the alignment of their type. `values` receives the
 * addresses of stencil arrays, `memory` the blocks to free. */
static inline gsw_matrix device_shifted_view(gsw_context *cuda, const oracle_matrix *host,
                                             const void *values[GSW_STENCIL_MAX],
                                             void *memory[DEVICE_ARRAYS]) {
    gsw_matrix view = host->view;
    const gsw_csr *csr = &host->view.csr;
    if (view.format == GSW_FORMAT_CSR) {
        const size_t index = gsw_itype_size(csr->index_type);
        view.csr.row_ptr =
            device_upload_shifted(cuda, csr->row_ptr, csr->rows + 1, index, &memory[0]);
        view.csr.columns =
            device_upload_shifted(cuda, csr->columns, csr->nonzeros, index, &memory[1]);
        view.csr.values = device_upload_shifted(cuda, csr->values, csr->nonzeros,
                                                gsw_dtype_size(csr->value_type), &memory[2]);
        return view;
    }
    for (int32_t e = 0; e < view.stencil.count; e++)
        values[e] = device_upload_shifted(cuda, host->arrays[e], oracle_points(&view.grid),
                                          gsw_dtype_size(view.array.value_type), &memory[3 + e]);
    view.array.values = values;
    return view;
}

/* "row 17" of a message, without the rest. */
static inline void device_row_of(const char *message, char *text, size_t size) {
    const char *begin = strstr(message, "row ");
    ck_assert_msg(begin != NULL, "\"%s\" names no row", message);
    snprintf(text, size, "row %lld", strtoll(begin + 4, NULL, 10));
}

/* ---- the suite ---- */

/* Whether a device answers; prints the reason where none does. Any other error is a failure. */
static inline int device_answers(int *code) {
    static char reason[512]; /* the context keeps its address */
    const gsw_context_options options = {.size = sizeof options,
                                         .backend = GSW_BACKEND_CUDA,
                                         .log = device_keep_reason,
                                         .log_user = reason};
    gsw_context *context = NULL;
    const gsw_status status = gsw_context_create(&options, &context);
    gsw_context_destroy(context);
    if (status != GSW_SUCCESS)
        printf("%s: %s\n", status == GSW_ERROR_NO_BACKEND ? "skipped" : "failed", reason);
    *code = status == GSW_ERROR_NO_BACKEND ? DEVICE_SKIPPED : EXIT_FAILURE;
    return status == GSW_SUCCESS;
}

/* Runs the suite in this process, because CUDA does not survive a fork. CTest sets the time limit.
 * Returns the exit code of the program. */
static inline int device_run_suite(Suite *suite) {
    int code;
    return device_answers(&code) ? suite_run(suite, CK_NOFORK) : code;
}

#endif
