/* fault_memory.h: calls of the library that fail when a test says so.
 *
 * The linker sends the calls below from the library and from the test through these functions
 * (--wrap), so the library needs no code for it. A test arms a fault: the n-th call of a kind, or
 * all calls from the n-th on, then fail. All that is allocated is counted, so a test sees a leak
 * without another tool. What libc and Check allocate for themselves passes by. */
#ifndef GSW_TESTS_FAULT_MEMORY_H
#define GSW_TESTS_FAULT_MEMORY_H

#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <malloc.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "fault_switch.h"

/* ---- Memory ---------------------------------------------------------------------------------- */

/* The system's function, and what stands in its place. */
#define BOTH(type, name, ...)                                                                      \
    type __real_##name(__VA_ARGS__);                                                               \
    type __wrap_##name(__VA_ARGS__);
BOTH(void *, malloc, size_t size)
BOTH(void *, calloc, size_t count, size_t size)
BOTH(void *, realloc, void *memory, size_t size)
BOTH(void *, aligned_alloc, size_t alignment, size_t size)
BOTH(int, posix_memalign, void **memory, size_t alignment, size_t size)
BOTH(char *, strdup, const char *text)
BOTH(void, free, void *memory)
BOTH(locale_t, newlocale, int mask, const char *name, locale_t base)
BOTH(void, freelocale, locale_t locale)

static inline int fault_no_memory(void) {
    if (!fault_now(FAULT_MEMORY))
        return 0;
    errno = ENOMEM;
    return 1;
}

static inline void *fault_counted(void *memory) {
    if (memory != NULL && fault_in_runtime == 0) {
        atomic_fetch_add(&fault.live, 1);
        atomic_fetch_add(&fault.bytes, (long)malloc_usable_size(memory));
    }
    return memory;
}

void *__wrap_malloc(size_t size) {
    return fault_no_memory() ? NULL : fault_counted(__real_malloc(size));
}

void *__wrap_calloc(size_t count, size_t size) {
    return fault_no_memory() ? NULL : fault_counted(__real_calloc(count, size));
}

void *__wrap_realloc(void *memory, size_t size) {
    if (fault_no_memory())
        return NULL;
    const long before = memory == NULL ? 0 : (long)malloc_usable_size(memory);
    void *moved = __real_realloc(memory, size);
    if (moved == NULL || fault_in_runtime > 0)
        return moved;
    atomic_fetch_add(&fault.live, memory == NULL);
    atomic_fetch_add(&fault.bytes, (long)malloc_usable_size(moved) - before);
    return moved;
}

void *__wrap_aligned_alloc(size_t alignment, size_t size) {
    return fault_no_memory() ? NULL : fault_counted(__real_aligned_alloc(alignment, size));
}

int __wrap_posix_memalign(void **memory, size_t alignment, size_t size) {
    if (fault_no_memory())
        return ENOMEM;
    const int failed = __real_posix_memalign(memory, alignment, size);
    if (failed == 0)
        fault_counted(*memory);
    return failed;
}

char *__wrap_strdup(const char *text) {
    return fault_no_memory() ? NULL : fault_counted(__real_strdup(text));
}

void __wrap_free(void *memory) {
    if (memory != NULL && fault_in_runtime == 0) {
        atomic_fetch_sub(&fault.live, 1);
        atomic_fetch_sub(&fault.bytes, (long)malloc_usable_size(memory));
    }
    __real_free(memory);
}

locale_t __wrap_newlocale(int mask, const char *name, locale_t base) {
    if (fault_no_memory())
        return (locale_t)0;
    const locale_t made = __real_newlocale(mask, name, base);
    if (made != (locale_t)0)
        atomic_fetch_add(&fault.live, 1);
    return made;
}

void __wrap_freelocale(locale_t locale) {
    atomic_fetch_sub(&fault.live, 1);
    __real_freelocale(locale);
}

/* ---- Files ----------------------------------------------------------------------------------- */

BOTH(int, open, const char *path, int flags, ...)
BOTH(int, close, int descriptor)
BOTH(ssize_t, write, int descriptor, const void *bytes, size_t size)
BOTH(int, rename, const char *from, const char *to)
BOTH(FILE *, fopen, const char *path, const char *mode)

static inline int fault_file(void) {
    if (!fault_now(FAULT_FILE))
        return 0;
    errno = fault.reason;
    return 1;
}

int __wrap_open(const char *path, int flags, ...) {
    va_list rest;
    va_start(rest, flags);
    const int mode = (flags & O_CREAT) != 0 ? va_arg(rest, int) : 0;
    va_end(rest);
    if (fault_file() && fault.reason != 0)
        return -1;
    const int descriptor = __real_open(path, flags, mode);
    if (descriptor >= 0)
        atomic_fetch_add(&fault.live, 1);
    return descriptor;
}

/* The descriptor is closed in any case, as in Linux. */
int __wrap_close(int descriptor) {
    const int reason = fault_file() ? fault.reason : 0;
    const int failed = __real_close(descriptor);
    atomic_fetch_sub(&fault.live, 1);
    if (reason == 0)
        return failed;
    errno = reason;
    return -1;
}

ssize_t __wrap_write(int descriptor, const void *bytes, size_t size) {
    if (!fault_file())
        return __real_write(descriptor, bytes, size);
    return fault.reason != 0 ? -1 : __real_write(descriptor, bytes, (size + 1) / 2);
}

int __wrap_rename(const char *from, const char *to) {
    return fault_file() && fault.reason != 0 ? -1 : __real_rename(from, to);
}

static inline ssize_t fault_stream_read(void *cookie, char *bytes, size_t size) {
    const int *descriptor = cookie;
    if (!fault_file())
        return read(*descriptor, bytes, size);
    return fault.reason != 0 ? -1 : read(*descriptor, bytes, (size + 1) / 2);
}

static inline int fault_stream_close(void *cookie) {
    const int failed = __real_close(*(int *)cookie);
    atomic_fetch_sub(&fault.live, 1);
    __real_free(cookie);
    return failed;
}

/* A stream whose reads are counted. The library opens streams for reading only. */
FILE *__wrap_fopen(const char *path, const char *mode) {
    if (fault_file() && fault.reason != 0)
        return NULL;
    int *cookie = __real_malloc(sizeof *cookie);
    *cookie = __real_open(path, O_RDONLY | O_CLOEXEC);
    if (*cookie < 0) {
        __real_free(cookie);
        return NULL;
    }
    atomic_fetch_add(&fault.live, 1);
    return fopencookie(
        cookie, mode,
        (cookie_io_functions_t){.read = fault_stream_read, .close = fault_stream_close});
}

#endif
