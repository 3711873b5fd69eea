/* context.c: creation and destruction of contexts, the choice of the backend, and the description
 * of the library. */
#include <stdlib.h>
#include <string.h>

#include <gridsweep/version.h>

#include "contract/context.h"
#include "contract/error.h"
#include "contract/system_threads.h"
#include "backends.h"
#include "options.h"
#include "tuning.h"

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

#ifndef GSW_CUDA_STATE
#define GSW_CUDA_STATE "not built in"
#endif

#if defined(__x86_64__)
#define GSW_INSTRUCTION_SETS "x86-64, x86-64-v3, x86-64-v4"
#else
#define GSW_INSTRUCTION_SETS "the compiler's default"
#endif

/* Why the last gsw_context_create() of this thread failed. */
static _Thread_local char creation_message[sizeof((gsw_context *)0)->message];

static const gsw_backend_row *find_backend(gsw_backend backend) {
    for (int k = 0; k < gsw_backend_count; k++)
        if (gsw_backends[k].backend == backend)
            return &gsw_backends[k];
    return NULL;
}

/* Opens one backend in a context that has none. */
static gsw_status open_backend(gsw_context *context, const gsw_backend_row *row,
                               const gsw_context_options *options) {
    if (row->operations == NULL)
        return gsw_fail(
            context, GSW_ERROR_NO_BACKEND,
            "this build of the library has no %s backend; configure it with -DGSW_%s=ON",
            row->title, row->title);
    context->ops = row->operations();
    context->backend = row->backend;
    return context->ops->open(context, options);
}

/* Opens the first backend that can be opened. A failure of any except the last is no error, so
 * these attempts are silent. */
static gsw_status open_any(gsw_context *context, const gsw_context_options *options) {
    const int last = gsw_backend_count - 1;
    for (int k = 0; k < last; k++) {
        if (gsw_backends[k].by_name_alone)
            continue;
        context->log = NULL;
        const gsw_status status = open_backend(context, &gsw_backends[k], options);
        context->log = options->log;
        if (status == GSW_SUCCESS)
            return GSW_SUCCESS;
        context->message[0] = '\0';
    }
    return open_backend(context, &gsw_backends[last], options);
}

static gsw_status open_context(gsw_context *context, const gsw_context_options *options) {
    GSW_REQUIRE(context, options->threads >= 0 && options->threads <= GSW_THREADS_MAX,
                "threads: %d is not in 0..%d; 0 means as many as OpenMP offers", options->threads,
                GSW_THREADS_MAX);
    if (options->backend == GSW_BACKEND_AUTO)
        return open_any(context, options);
    const gsw_backend_row *row = find_backend(options->backend);
    GSW_REQUIRE(context, row != NULL, "backend: %d is not a backend", (int)options->backend);
    return open_backend(context, row, options);
}

GSW_ENDS_WITH(gsw_context_options, tuning);

gsw_status gsw_context_create(const gsw_context_options *options, gsw_context **context) {
    gsw_context_options resolved;
    creation_message[0] = '\0';
    if (context == NULL) {
        strcpy(creation_message, "context is NULL");
        return GSW_ERROR_INVALID_ARGUMENT;
    }
    *context = NULL;
    gsw_context *made = calloc(1, sizeof *made);
    if (made == NULL) {
        strcpy(creation_message, "no memory for a context");
        return GSW_ERROR_OUT_OF_MEMORY;
    }
    gsw_status status =
        gsw_options_take(made, "gsw_context_options", options, sizeof resolved, &resolved);
    if (status == GSW_SUCCESS) {
        made->log = resolved.log;
        made->log_user = resolved.log_user;
        status = open_context(made, &resolved);
        if (status == GSW_SUCCESS) {
            status = gsw_tuning_open(made, resolved.tuning);
            if (status != GSW_SUCCESS)
                made->ops->close(made);
        }
    }
    if (status != GSW_SUCCESS) {
        memcpy(creation_message, made->message, sizeof creation_message);
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
    gsw_tuning_close(context);
    free(context);
}

gsw_status gsw_context_synchronize(gsw_context *context) {
    GSW_REQUIRE(context, context != NULL, "context is NULL");
    return context->ops->synchronize(context);
}

/* The backend whose devices have numbers. */
static const gsw_backend_row *backend_of_devices(void) {
    for (int k = 0; k < gsw_backend_count; k++)
        if (gsw_backends[k].device_count != NULL)
            return &gsw_backends[k];
    return NULL;
}

int gsw_device_count(void) {
    const gsw_backend_row *row = backend_of_devices();
    return row == NULL ? 0 : row->device_count();
}

gsw_status gsw_device_name(int device, char *name, size_t size) {
    if (name == NULL || size == 0)
        return GSW_ERROR_INVALID_ARGUMENT;
    const gsw_backend_row *row = backend_of_devices();
    if (row == NULL || device < 0 || device >= row->device_count() ||
        !row->device_name(device, name, size))
        return GSW_ERROR_NO_BACKEND;
    return GSW_SUCCESS;
}

gsw_status gsw_context_set_row_base(gsw_context *context, int base) {
    GSW_REQUIRE(context, context, "context must not be NULL");
    GSW_REQUIRE(context, base >= -1 && base <= 1, "base must be -1, 0 or 1, not %d", base);
    context->row_base = base + 1;
    return GSW_SUCCESS;
}

const char *gsw_context_message(const gsw_context *context) {
    return context == NULL ? creation_message : context->message;
}

gsw_status gsw_context_set_sum(gsw_context *context, gsw_sum_fn sum, void *user) {
    GSW_REQUIRE(context, context != NULL, "context is NULL");
    context->sum = sum;
    context->sum_user = user;
    context->sum_threefold = NULL;
    context->agree_to_solve = NULL;
    return GSW_SUCCESS;
}

gsw_status gsw_context_fail(gsw_context *context, gsw_status status, const char *message) {
    return gsw_fail(context, status, "%s", message == NULL ? "" : message);
}

gsw_backend gsw_context_backend(const gsw_context *context) {
    return context == NULL ? GSW_BACKEND_CPU : context->backend;
}

int gsw_context_threads(const gsw_context *context) {
    return context == NULL || context->threads < 1 || gsw_forked_from_threads()
               ? 1
               : gsw_startable_threads(context);
}

const char *gsw_context_device(const gsw_context *context) {
    return context == NULL ? "" : context->device;
}

const char *gsw_backend_name(gsw_backend backend) {
    const gsw_backend_row *row = find_backend(backend);
    if (row != NULL)
        return row->name;
    return backend == GSW_BACKEND_AUTO ? "auto" : "unknown";
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
