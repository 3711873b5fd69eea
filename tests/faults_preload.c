/* faults_preload.c: lets the n-th call of a kind fail in the program gridsweep (LD_PRELOAD).
 *
 *   GSW_FAULT=KIND:NUMBER:WHAT[:on]   the call that fails; with `on` all later ones fail as well
 *   GSW_FAULT_COUNTS=FILE             a line "KIND COUNT" for each kind, written at the end
 *
 * KIND is open, read, write, close, rename, link, dup, access, flush, memory, or file: all of these
 * but memory. WHAT is ENOSPC, EIO, EINTR, EACCES, ENOMEM, SHORT (a read or write of half the
 * bytes), or a signal: SIGINT, SIGTERM, SIGHUP, which comes just before the call. Only calls from
 * the program, its library, zlib and cJSON count, from main() on. Those of the loader, libc and
 * OpenMP do not, nor those of the CUDA runtime as it is loaded. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

typedef enum kind {
    OPEN,
    READ,
    WRITE,
    CLOSE,
    RENAME,
    LINK,
    DUP,
    ACCESS,
    FLUSH,
    MEMORY,
    KINDS
} kind;

static const char *const kind_names[KINDS] = {"open", "read", "write",  "close", "rename",
                                              "link", "dup",  "access", "flush", "memory"};

static const struct {
    const char *name;
    int number, signal;
} reasons[] = {{"ENOSPC", ENOSPC, 0}, {"EIO", EIO, 0},         {"EINTR", EINTR, 0},
               {"EACCES", EACCES, 0}, {"ENOMEM", ENOMEM, 0},   {"SHORT", 0, 0},
               {"SIGINT", 0, SIGINT}, {"SIGTERM", 0, SIGTERM}, {"SIGHUP", 0, SIGHUP}};

static atomic_long counts[KINDS + 1]; /* the last one: of all kinds for files */
static long fault_at;                 /* 0: none fails */
static int fault_kind = -1, fault_on, fault_reason, fault_signal;
static atomic_int main_has_begun;

#define EXPORTED __attribute__((visibility("default")))

/* Reads the environment without allocating. */
__attribute__((constructor)) static void prepare(void) {
    const char *text = getenv("GSW_FAULT");
    if (text == NULL)
        return;
    (void)alarm(60); /* a program that hangs ends with SIGALRM */
    const char *colon = strchr(text, ':');
    if (colon == NULL)
        return;
    const size_t length = (size_t)(colon - text);
    char *rest;
    fault_kind = strncmp(text, "file", length) == 0 ? KINDS : -1;
    for (int k = 0; k < KINDS; k++)
        if (strlen(kind_names[k]) == length && strncmp(text, kind_names[k], length) == 0)
            fault_kind = k;
    fault_at = strtol(colon + 1, &rest, 10);
    for (size_t i = 0; *rest == ':' && i < sizeof reasons / sizeof *reasons; i++)
        if (strncmp(rest + 1, reasons[i].name, strlen(reasons[i].name)) == 0) {
            fault_reason = reasons[i].number;
            fault_signal = reasons[i].signal;
        }
    fault_on = strstr(rest, ":on") != NULL;
}

/* Writes the counts past the functions below. */
__attribute__((destructor)) static void report(void) {
    const char *path = getenv("GSW_FAULT_COUNTS");
    if (path == NULL || atomic_load(&counts[KINDS]) == 0) /* a shell around the program */
        return;
    const long file = syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    for (int k = 0; file >= 0 && k <= KINDS; k++) {
        char line[64];
        const int length = snprintf(line, sizeof line, "%s %ld\n",
                                    k < KINDS ? kind_names[k] : "file", atomic_load(&counts[k]));
        if (syscall(SYS_write, file, line, length) != length)
            break;
    }
    if (file >= 0)
        (void)syscall(SYS_close, file);
}

#define NEXT(name) ((__typeof__(&(name)))(uintptr_t)dlsym(RTLD_NEXT, #name))

typedef int main_function(int, char **, char **);
static main_function *real_main;

static int counted_main(int argc, char **argv, char **environment) {
    atomic_store(&main_has_begun, 1);
    return real_main(argc, argv, environment);
}

/* What calls main() in glibc. */
int __libc_start_main(main_function *start, int argc, char **argv, void (*init)(void),
                      void (*fini)(void), void (*rtld_fini)(void), void *stack_end);
EXPORTED int __libc_start_main(main_function *start, int argc, char **argv, void (*init)(void),
                               void (*fini)(void), void (*rtld_fini)(void), void *stack_end) {
    real_main = start;
    return NEXT(__libc_start_main)(counted_main, argc, argv, init, fini, rtld_fini, stack_end);
}

/* Whether the code at an address belongs to the program or its libraries for data. */
static int is_ours(const void *caller) {
    Dl_info info;
    if (dladdr(caller, &info) == 0 || info.dli_fname == NULL)
        return 0;
    const char *slash = strrchr(info.dli_fname, '/');
    const char *name = slash != NULL ? slash + 1 : info.dli_fname;
    return strncmp(name, "gridsweep", 9) == 0 || strncmp(name, "libgridsweep", 12) == 0 ||
           strncmp(name, "libz.", 5) == 0 || strncmp(name, "libcjson", 8) == 0;
}

static int is_hit(long number) {
    return fault_at > 0 && (fault_on ? number >= fault_at : number == fault_at);
}

/* Counts a call, and says whether it fails. Then errno is set, to 0 for half the bytes. */
static int fails(kind k, const void *caller) {
    if (!atomic_load(&main_has_begun) || !is_ours(caller))
        return 0;
    const long number = atomic_fetch_add(&counts[k], 1) + 1;
    const long of_all = k != MEMORY ? atomic_fetch_add(&counts[KINDS], 1) + 1 : 0;
    if (!(fault_kind == (int)k && is_hit(number)) &&
        !(fault_kind == KINDS && k != MEMORY && is_hit(of_all)))
        return 0;
    if (fault_signal != 0) {
        (void)raise(fault_signal);
        return 0;
    }
    errno = fault_reason;
    return 1;
}

#define CALLER __builtin_return_address(0)

/* ---- Files ----------------------------------------------------------------------------------- */

#define OPENS(name)                                                                                \
    EXPORTED int name(const char *path, int flags, ...) {                                          \
        va_list rest;                                                                              \
        va_start(rest, flags);                                                                     \
        const int mode = (flags & O_CREAT) != 0 ? va_arg(rest, int) : 0;                           \
        va_end(rest);                                                                              \
        if (fails(OPEN, CALLER) && errno != 0)                                                     \
            return -1;                                                                             \
        return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);                              \
    }
OPENS(open)
OPENS(open64)

EXPORTED ssize_t read(int descriptor, void *bytes, size_t size) {
    if (fails(READ, CALLER)) {
        if (errno != 0)
            return -1;
        size = (size + 1) / 2;
    }
    return syscall(SYS_read, descriptor, bytes, size);
}

EXPORTED ssize_t write(int descriptor, const void *bytes, size_t size) {
    if (fails(WRITE, CALLER)) {
        if (errno != 0)
            return -1;
        size = (size + 1) / 2;
    }
    return syscall(SYS_write, descriptor, bytes, size);
}

/* The descriptor is closed in any case, as in Linux. */
EXPORTED int close(int descriptor) {
    const int failed = fails(CLOSE, CALLER), reason = errno;
    const int result = (int)syscall(SYS_close, descriptor);
    if (!failed || reason == 0)
        return result;
    errno = reason;
    return -1;
}

EXPORTED int rename(const char *from, const char *to) {
    if (fails(RENAME, CALLER) && errno != 0)
        return -1;
    return (int)syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0);
}

EXPORTED int link(const char *from, const char *to) {
    if (fails(LINK, CALLER) && errno != 0)
        return -1;
    return (int)syscall(SYS_linkat, AT_FDCWD, from, AT_FDCWD, to, 0);
}

EXPORTED int dup(int descriptor) {
    if (fails(DUP, CALLER) && errno != 0)
        return -1;
    return (int)syscall(SYS_dup, descriptor);
}

EXPORTED int access(const char *path, int mode) {
    if (fails(ACCESS, CALLER) && errno != 0)
        return -1;
    return (int)syscall(SYS_faccessat, AT_FDCWD, path, mode);
}

/* What libc writes for a stream does not come through write() above. */
EXPORTED int fflush(FILE *stream) {
    if (fails(FLUSH, CALLER) && errno != 0)
        return EOF;
    return NEXT(fflush)(stream);
}

/* ---- Memory; not under AddressSanitizer, which has its own ------------------------------------
 */

#ifndef GSW_FAULTS_FILES_ONLY

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *memory, size_t size);
void *__libc_memalign(size_t alignment, size_t size);

EXPORTED void *malloc(size_t size) {
    return fails(MEMORY, CALLER) ? NULL : __libc_malloc(size);
}

EXPORTED void *calloc(size_t count, size_t size) {
    return fails(MEMORY, CALLER) ? NULL : __libc_calloc(count, size);
}

EXPORTED void *realloc(void *memory, size_t size) {
    return fails(MEMORY, CALLER) ? NULL : __libc_realloc(memory, size);
}

EXPORTED void *aligned_alloc(size_t alignment, size_t size) {
    return fails(MEMORY, CALLER) ? NULL : __libc_memalign(alignment, size);
}

EXPORTED char *strndup(const char *text, size_t most) {
    const size_t length = strnlen(text, most);
    char *copy = fails(MEMORY, CALLER) ? NULL : __libc_malloc(length + 1);
    if (copy != NULL) {
        memcpy(copy, text, length);
        copy[length] = '\0';
    }
    return copy;
}

EXPORTED char *strdup(const char *text) {
    const size_t length = strlen(text);
    char *copy = fails(MEMORY, CALLER) ? NULL : __libc_malloc(length + 1);
    return copy != NULL ? memcpy(copy, text, length + 1) : NULL;
}

#endif
