/* backend.h: a suite that is written once and run on each backend.
 *
 *   test_factor            on the CPU; each test in a process of its own
 *   test_factor reference  the same with the serial reference, which is slow: on fewer grids
 *   test_factor cuda       on a CUDA device, in one process; exit code 77 where no device answers
 *
 * Its main() begins with backend_choose() and ends with backend_run_suite(). In between it may ask
 * on_cuda(), on_cpu() and on_reference() which tests to add. In CMakeLists.txt the suite is in one
 * list, which makes the tests `factor`, `reference_factor` and `cuda_factor`.
 *
 * Vectors and matrices are in the memory of the backend: device_vector_make(), device_put() and
 * device_get() (device.h) serve every context, as gsw_matrix_upload() does. */
#ifndef GSW_TESTS_BACKEND_H
#define GSW_TESTS_BACKEND_H

#include "device.h"
#ifdef GSW_TEST_CUDA
#include "cuda/device/test_hooks.h"
#endif

/* The backend of this run. */
static gsw_backend backend_chosen = GSW_BACKEND_CPU;

static inline void backend_choose(int argc, char **argv) {
    if (argc > 1 && strcmp(argv[1], "cuda") == 0)
        backend_chosen = GSW_BACKEND_CUDA;
    if (argc > 1 && strcmp(argv[1], "reference") == 0)
        backend_chosen = GSW_BACKEND_REFERENCE;
}

static inline int on_cuda(void) {
    return backend_chosen == GSW_BACKEND_CUDA;
}

static inline int on_cpu(void) {
    return backend_chosen == GSW_BACKEND_CPU;
}

/* It is slow: what takes long has fewer cases. */
static inline int on_reference(void) {
    return backend_chosen == GSW_BACKEND_REFERENCE;
}

/* One case in this many is tried on other backends than the CPU, where tests try all. */
static inline int backend_stride(void) {
    return on_cpu() ? 1 : device_stride();
}

/* A context of the backend: with so many threads on the CPU, on a stream (NULL: the default one)
 * with CUDA. Under a tool that slows everything down, kernels wait longer than usual. */
static inline gsw_context *backend_context_on(int threads, void *stream) {
    if (!on_cuda())
        return oracle_context_of(backend_chosen, threads);
    gsw_context *context = device_context(stream);
#ifdef GSW_TEST_CUDA
    if (device_stride() > 1)
        gsw_cuda_test_hooks(context, INT64_C(120000000000), -1, 0);
#endif
    return context;
}

static inline gsw_context *backend_context(int threads) {
    return backend_context_on(threads, NULL);
}

/* Contexts whose results have the same bits: with 1, 2 and 3 threads on the CPU, else one. */
enum { BACKEND_CONTEXTS = 3 };

static inline int backend_open_all(gsw_context *contexts[BACKEND_CONTEXTS]) {
    const int count = on_cpu() ? BACKEND_CONTEXTS : 1;
    for (int i = 0; i < count; i++)
        contexts[i] = backend_context(i + 1);
    return count;
}

static inline void backend_close_all(gsw_context *contexts[BACKEND_CONTEXTS], int count) {
    for (int i = 0; i < count; i++)
        gsw_context_destroy(contexts[i]);
}

/* Runs the suite; returns the exit code of the program. */
static inline int backend_run_suite(Suite *suite) {
    return on_cuda() ? device_run_suite(suite) : suite_run(suite, CK_FORK_GETENV);
}

#endif
