/* paths.c: see paths.h. */
#define _POSIX_C_SOURCE 200809L
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "gzip.h"
#include "input.h"
#include "paths.h"

#define LINKS_MAX 40   /* as Linux has it */
#define LINK_SIZE 4096 /* where a link leads, its end included */

bool cli_is_dash(const char *path) {
    return strcmp(path, "-") == 0;
}

bool cli_is_stdout(const char *path) {
    static const char *const names[] = {"-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"};
    for (size_t i = 0; path != NULL && i < sizeof names / sizeof *names; i++)
        if (strcmp(path, names[i]) == 0)
            return true;
    return false;
}

/* The name of a descriptor, such as /dev/stdout. */
static bool is_descriptor(const char *path) {
    return strncmp(path, "/dev/std", 8) == 0 || strncmp(path, "/dev/fd/", 8) == 0 ||
           strncmp(path, "/proc/", 6) == 0;
}

char *cli_follow_links(const char *path) {
    char link[LINK_SIZE];
    char *at = strdup(path);
    for (int links = 0; at != NULL && links < LINKS_MAX; links++) {
        if (cli_is_stdout(at))
            return memcpy(at, "-", sizeof "-");
        ssize_t length = is_descriptor(at) ? -1 : readlink(at, link, sizeof link - 1);
        if (length < 0)
            return at;
        link[length] = '\0';
        char *slash = link[0] == '/' ? NULL : strrchr(at, '/');
        if (slash != NULL)
            slash[1] = '\0';
        size_t size = strlen(at) + (size_t)length + 1;
        char *next = malloc(size);
        if (next != NULL)
            (void)snprintf(next, size, "%s%s", slash != NULL ? at : "", link);
        free(at);
        at = next;
    }
    errno = at != NULL ? ELOOP : ENOMEM;
    free(at);
    return NULL;
}

/* Asks for what a path names; "-" is the descriptor given for it. */
static bool look_at(const char *path, int descriptor, struct stat *info) {
    return (cli_is_dash(path) ? fstat(descriptor, info) : stat(path, info)) == 0;
}

static bool same_file(const struct stat *a, const struct stat *b) {
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

bool cli_is_special(const char *target) {
    struct stat info;
    return cli_is_dash(target) || is_descriptor(target) ||
           (stat(target, &info) == 0 && !S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode));
}

/* The last part of a path. */
static const char *base_of(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

/* The folder that holds what a path names, newly allocated; NULL without memory. */
static char *folder_of(const char *path) {
    size_t length = (size_t)(base_of(path) - path);
    return length > 0 ? strndup(path, length) : strdup(".");
}

int cli_write_error(const cli_options *options, const char *path, int problem) {
    return cli_error(options, "cannot write %s: %s",
                     cli_is_dash(path) ? "to standard output" : path, cli_reason(problem));
}

/* An option that names an output, and where that is. */
typedef struct destination {
    const char *option, *path;
    char *target, *folder; /* links followed; NULL where the option is not given */
} destination;

static int check_output(const cli_options *options, destination *output) {
    struct stat info;
    const char *path = output->path;
    if (cli_names_gzip(path) && cli_no_gzip != NULL)
        return cli_error(options, "cannot write %s: %s", path, cli_no_gzip);
    output->target = cli_follow_links(path);
    output->folder = output->target != NULL ? folder_of(output->target) : NULL;
    if (output->folder == NULL)
        return cli_write_error(options, path, errno);
    if (cli_is_special(output->target))
        return CLI_OK;
    if (stat(output->target, &info) == 0 && S_ISDIR(info.st_mode))
        return cli_error(options, "%s: is a directory", path);
    if (access(output->folder, W_OK | X_OK) != 0)
        return cli_write_error(options, path, errno);
    return CLI_OK;
}

/* Refuses to write over what is read. Devices and pipes may be both. */
static int check_inputs(const cli_options *options, const destination *output) {
    const char *inputs[] = {options->command->operand != NULL ? options->file : NULL,
                            cli_rhs_is_file(options->rhs) ? options->rhs : NULL, options->mask,
                            options->coordinates};
    struct stat from, to;
    if (!look_at(output->target, STDOUT_FILENO, &to) || !S_ISREG(to.st_mode))
        return CLI_OK;
    for (int i = 0; i < 4; i++)
        if (inputs[i] != NULL && look_at(inputs[i], STDIN_FILENO, &from) && same_file(&from, &to))
            return cli_usage(options,
                             "--%s is the same file as the input '%s', which would be lost",
                             output->option, inputs[i]);
    return CLI_OK;
}

/* Whether one output would replace the other, or both would be mixed. A device, such as /dev/null
 * or a terminal, takes both. */
static bool same_output(const destination *a, const destination *b) {
    struct stat at_a, at_b;
    if (cli_is_dash(a->target) && cli_is_dash(b->target))
        return true;
    if (cli_is_special(a->target) || cli_is_special(b->target))
        return look_at(a->target, STDOUT_FILENO, &at_a) &&
               look_at(b->target, STDOUT_FILENO, &at_b) && same_file(&at_a, &at_b) &&
               !S_ISCHR(at_a.st_mode);
    return strcmp(base_of(a->target), base_of(b->target)) == 0 && stat(a->folder, &at_a) == 0 &&
           stat(b->folder, &at_b) == 0 && same_file(&at_a, &at_b);
}

int cli_check_outputs(const cli_options *options) {
    destination outputs[] = {{.option = "out", .path = options->out},
                             {.option = "out-mask", .path = options->out_mask},
                             {.option = "json", .path = options->json},
                             {.option = "out-l", .path = options->out_l},
                             {.option = "out-u", .path = options->out_u}};
    const int count = sizeof outputs / sizeof *outputs;
    int code = CLI_OK;
    for (int i = 0; i < count && code == CLI_OK; i++) {
        if (outputs[i].path == NULL)
            continue;
        code = check_output(options, &outputs[i]);
        if (outputs[i].target == NULL)
            break; /* refused */
        if (code == CLI_OK)
            code = check_inputs(options, &outputs[i]);
        for (int j = 0; j < i && code == CLI_OK; j++)
            if (outputs[j].target != NULL && same_output(&outputs[j], &outputs[i]))
                code =
                    cli_usage(options, "--%s %s and --%s %s name the same file", outputs[j].option,
                              outputs[j].path, outputs[i].option, outputs[i].path);
    }
    for (int i = 0; i < count; i++) {
        free(outputs[i].folder);
        free(outputs[i].target);
    }
    return code;
}
