/* context.c: the context's life, the choice of the backend, error texts and allocation. */
#define _DEFAULT_SOURCE /* madvise */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <gridsweep/version.h>

#include "backend.h"
#include "internal.h"
#ifdef GSW_HAVE_CUDA
#include "cuda/device.h"
#endif

#ifndef GSW_COMMIT
#define GSW_COMMIT "unknown"
#endif
#ifndef GSW_BUILD_TYPE
#define GSW_BUILD_TYPE "unknown"
#endif

#if defined(__clang__)
#define GSW_COMPILER "clang " __clang_version__
#elif defined(__GNUC__)
#define GSW_COMPILER "gcc " __VERSION__
#else
#define GSW_COMPILER "unknown"
#endif

#define GSW_TO_STRING2(x) #x
#define GSW_TO_STRING(x)  GSW_TO_STRING2(x)
#ifdef _OPENMP
#define GSW_OPENMP_VERSION GSW_TO_STRING(_OPENMP)
#else
#define GSW_OPENMP_VERSION "not built in"
#endif

#ifdef GSW_HAVE_CUDA
#define GSW_CUDA_STATE "built in"
#else
#define GSW_CUDA_STATE "not built in"
#endif

#if defined(__x86_64__)
#define GSW_INSTRUCTION_SETS "x86-64, x86-64-v3, x86-64-v4"
#else
#define GSW_INSTRUCTION_SETS "the compiler's default"
#endif

#define GSW_ALIGNMENT 64
#define GSW_HUGE_PAGE ((size_t)2 << 20)

gsw_status gsw_vfail(gsw_context *context, gsw_status status, const char *format,
                     va_list arguments) {
    if (context == NULL)
        return status;
    /* An argument may be the context's own message, so the new text is made beside it. */
    char text[sizeof context->message];
    if (vsnprintf(text, sizeof text, format, arguments) < 0)
        text[0] = '\0';
    memcpy(context->message, text, sizeof text);
    if (context->log != NULL)
        context->log(context->log_user, status, context->message);
    return status;
}

gsw_status gsw_fail(gsw_context *context, gsw_status status, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    gsw_vfail(context, status, format, arguments);
    va_end(arguments);
    return status;
}

gsw_status gsw_alloc(gsw_context *context, size_t count, size_t size, const char *what,
                     void **out) {
    size_t bytes;
    if (!gsw_mul_size(count, size, &bytes) || bytes > SIZE_MAX - GSW_HUGE_PAGE)
        return gsw_fail(context, GSW_ERROR_OVERFLOW, "%s: %zu values of %zu bytes are too many",
                        what, count, size);
    /* Large arrays start on a huge page and ask for huge ones: a sweep streams through them, and
     * small pages would stop the hardware's prefetching every 4 KiB. */
    const size_t alignment = bytes >= 2 * GSW_HUGE_PAGE ? GSW_HUGE_PAGE : GSW_ALIGNMENT;
    /* aligned_alloc wants a multiple of the alignment; one unit at least keeps the pointer valid.
     */
    size_t rounded = (bytes + alignment - 1) / alignment * alignment;
    void *memory = aligned_alloc(alignment, rounded > 0 ? rounded : alignment);
    if (memory == NULL)
        return gsw_fail(context, GSW_ERROR_OUT_OF_MEMORY, "%s: no memory for %zu bytes", what,
                        bytes);
#ifdef MADV_HUGEPAGE
    if (alignment == GSW_HUGE_PAGE)
        (void)madvise(memory, rounded, MADV_HUGEPAGE); /* a hint: failure costs nothing */
#endif
    *out = memory;
    return GSW_SUCCESS;
}

/* Opens one backend in a context that has none. */
static gsw_status open_backend(gsw_context *context, gsw_backend backend,
                               const gsw_context_options *options) {
    if (backend == GSW_BACKEND_CUDA) {
#ifdef GSW_HAVE_CUDA
        context->ops = gsw_backend_cuda();
#else
        return gsw_fail(context, GSW_ERROR_NO_BACKEND,
                        "this build of the library has no CUDA backend");
#endif
    } else {
        context->ops = gsw_backend_cpu();
    }
    context->backend = backend;
    return context->ops->open(context, options);
}

static gsw_status choose_backend(gsw_context *context, const gsw_context_options *options) {
    if (options->backend != GSW_BACKEND_AUTO)
        return open_backend(context, options->backend, options);
#ifdef GSW_HAVE_CUDA
    /* A machine without a device is no error here: the attempt is silent. */
    context->log = NULL;
    gsw_status status = open_backend(context, GSW_BACKEND_CUDA, options);
    context->log = options->log;
    if (status == GSW_SUCCESS)
        return GSW_SUCCESS;
    context->message[0] = '\0';
#endif
    return open_backend(context, GSW_BACKEND_CPU, options);
}

gsw_status gsw_context_create(const gsw_context_options *options, gsw_context **context) {
    static const gsw_context_options defaults = {0};
    if (context == NULL)
        return GSW_ERROR_INVALID_ARGUMENT;
    *context = NULL;
    if (options == NULL)
        options = &defaults;

    gsw_context *made = calloc(1, sizeof *made);
    if (made == NULL)
        return GSW_ERROR_OUT_OF_MEMORY;
    made->log = options->log;
    made->log_user = options->log_user;

    gsw_status status;
    if (options->threads < 0)
        status =
            gsw_fail(made, GSW_ERROR_INVALID_ARGUMENT,
                     "threads: %d is negative; 0 means as many as OpenMP offers", options->threads);
    else if (options->backend != GSW_BACKEND_AUTO && options->backend != GSW_BACKEND_CPU &&
             options->backend != GSW_BACKEND_CUDA)
        status = gsw_fail(made, GSW_ERROR_INVALID_ARGUMENT, "backend: %d is not a backend",
                          (int)options->backend);
    else
        status = choose_backend(made, options);
    if (status != GSW_SUCCESS) {
        free(made);
        return status;
    }
    *context = made;
    return GSW_SUCCESS;
}

void gsw_context_destroy(gsw_context *context) {
    if (context == NULL)
        return;
    context->ops->close(context);
    free(context);
}

gsw_status gsw_context_synchronize(gsw_context *context) {
    GSW_REQUIRE(context, context != NULL, "context is NULL");
    return context->ops->synchronize(context);
}

int gsw_device_count(void) {
#ifdef GSW_HAVE_CUDA
    return gsw_cuda_device_count();
#else
    return 0;
#endif
}

gsw_status gsw_device_name(int device, char *name, size_t size) {
    if (name == NULL || size == 0)
        return GSW_ERROR_INVALID_ARGUMENT;
    if (device < 0 || device >= gsw_device_count())
        return GSW_ERROR_NO_BACKEND;
#ifdef GSW_HAVE_CUDA
    if (!gsw_cuda_device_name(device, name, size))
        return GSW_ERROR_NO_BACKEND;
#endif
    return GSW_SUCCESS;
}

gsw_status gsw_context_set_row_base(gsw_context *context, int base) {
    GSW_REQUIRE(context, context, "context must not be NULL");
    GSW_REQUIRE(context, base >= -1 && base <= 1, "base must be -1, 0 or 1, not %d", base);
    context->row_base = base + 1;
    return GSW_SUCCESS;
}

const char *gsw_context_message(const gsw_context *context) {
    return context == NULL ? "" : context->message;
}

gsw_backend gsw_context_backend(const gsw_context *context) {
    return context == NULL ? GSW_BACKEND_CPU : context->backend;
}

int gsw_context_threads(const gsw_context *context) {
    return context == NULL || context->threads < 1 ? 1 : context->threads;
}

const char *gsw_context_device(const gsw_context *context) {
    return context == NULL ? "" : context->device;
}

const char *gsw_backend_name(gsw_backend backend) {
    switch (backend) {
    case GSW_BACKEND_AUTO:
        return "auto";
    case GSW_BACKEND_CPU:
        return "cpu";
    case GSW_BACKEND_CUDA:
        return "cuda";
    }
    return "unknown";
}

const char *gsw_build_info(void) {
    return "compiler: " GSW_COMPILER "\n"
           "build type: " GSW_BUILD_TYPE "\n"
           "OpenMP: " GSW_OPENMP_VERSION "\n"
           "CUDA: " GSW_CUDA_STATE "\n"
           "instruction sets: " GSW_INSTRUCTION_SETS "\n";
}

const char *gsw_version(void) {
    return GSW_VERSION_STRING;
}

const char *gsw_commit(void) {
    return GSW_COMMIT;
}
