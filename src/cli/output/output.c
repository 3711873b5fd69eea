/* output.c: text for people, and files that are replaced whole or left as they were. */
#define _POSIX_C_SOURCE 200809L
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "common/gzip.h"
#include "common/npy.h"
#include "output.h"
#include "result.h"

#define TEMPORARY_TRIES 100
#define STEM_MAX        100 /* bytes of a name that can be made longer: names have 143 or 255 */

/* ---- Text ----------------------------------------------------------------------------------- */

FILE *cli_human(const cli_options *options) {
    if (options->quiet)
        return NULL;
    return cli_is_stdout(options->out) || cli_is_stdout(options->json) ||
                   cli_is_stdout(options->out_mask) || cli_is_stdout(options->out_l) ||
                   cli_is_stdout(options->out_u)
               ? stderr
               : stdout;
}

void cli_print(const cli_options *options, const char *format, ...) {
    FILE *stream = cli_human(options);
    if (stream == NULL)
        return;
    va_list arguments;
    va_start(arguments, format);
    vfprintf(stream, format, arguments);
    va_end(arguments);
}

void cli_field(const cli_options *options, const char *name, const char *format, ...) {
    FILE *stream = cli_human(options);
    if (stream == NULL)
        return;
    va_list arguments;
    va_start(arguments, format);
    fprintf(stream, "%-11s ", name);
    vfprintf(stream, format, arguments);
    fputc('\n', stream);
    va_end(arguments);
}

void cli_print_wrapped(FILE *stream, const char *text, int width, int column, int indent) {
    bool first = true;
    if (stream == NULL)
        return;
    while (*text != '\0') {
        int length = (int)strcspn(text, " ");
        if (!first && column + 1 + length > width) {
            fprintf(stream, "\n%*s", indent, "");
            column = indent;
        } else if (!first) {
            fputc(' ', stream);
            column++;
        }
        fprintf(stream, "%.*s", length, text);
        column += length;
        text += length;
        text += strspn(text, " ");
        first = false;
    }
    fputc('\n', stream);
}

void cli_print_matrix(const cli_options *options, const cli_input *input) {
    const gsw_grid *grid = &input->matrix.grid;
    char axes[CLI_AXES_TEXT];
    gsw_stencil near;
    gsw_matrix_near_stencil(&input->matrix, &near);
    cli_field(options, "matrix", "%s", options->file != NULL ? options->file : options->problem);
    cli_field(options, "grid", "%lld x %lld x %lld", (long long)grid->nx, (long long)grid->ny,
              (long long)grid->nz);
    if (grid->periodic)
        cli_field(options, "periodic", "%s", cli_axes_text(grid, axes));
    const char *name = gsw_stencil_name(&near);
    if (strcmp(name, "custom") == 0)
        cli_field(options, "stencil", "custom, %d offsets", (int)near.count);
    else
        cli_field(options, "stencil", "%s", name);
    cli_field(options, "rows", "%lld", (long long)input->rows);
    cli_field(options, "nonzeros", "%lld", (long long)input->nonzeros);
    if (input->matrix.active != NULL)
        cli_field(options, "active", "%lld of %lld points", (long long)input->active_points,
                  (long long)(input->vector_bytes / sizeof(double)));
}

void cli_print_backend(const cli_options *options, const cli_place *place) {
    const gsw_context *context = place->run;
    const char *name = gsw_backend_name(gsw_context_backend(context));
    if (place->note[0] != '\0')
        cli_field(options, "backend", "%s (not cuda: %s)", name, place->note);
    else
        cli_field(options, "backend", "%s", name);
    cli_field(options, "device", "%s", gsw_context_device(context));
    if (!cli_on_device(place))
        cli_field(options, "threads", "%d", gsw_context_threads(context));
}

void cli_print_transfer(const cli_options *options, const cli_arrays *arrays) {
    if (isfinite(arrays->upload_ms) && isfinite(arrays->download_ms))
        cli_field(options, "transfer", "%.3f ms to the device, %.3f ms back", arrays->upload_ms,
                  arrays->download_ms);
}

void cli_print_pivots(const cli_options *options, const gsw_factor *factor) {
    gsw_factor_info info = {.size = sizeof info};
    if (gsw_factor_get_info(factor, &info) == GSW_SUCCESS && info.shifted_pivots > 0)
        cli_field(options, "pivots", "%lld shifted", (long long)info.shifted_pivots);
}

/* ---- Writing -------------------------------------------------------------------------------- */

/* Where bytes go, and the errno of the first write that failed, or 0. */
typedef struct sink {
    int descriptor;
    void *gzip; /* compresses into the descriptor; NULL: plain */
    int problem;
} sink;

/* A gsw_write_fn. */
static int write_bytes(void *user, const char *bytes, size_t size) {
    sink *to = user;
    if (to->gzip != NULL)
        return to->problem = cli_gzip_write(to->gzip, bytes, size);
    while (size > 0) {
        ssize_t written = write(to->descriptor, bytes, size);
        if (written < 0 && errno == EAGAIN) {
            (void)poll(&(struct pollfd){.fd = to->descriptor, .events = POLLOUT}, 1, -1);
        } else if (written < 0 && errno != EINTR) {
            to->problem = errno;
            return to->problem;
        }
        if (written > 0) {
            bytes += written;
            size -= (size_t)written;
        }
    }
    return 0;
}

/* The bytes of the character that begins there, in UTF-8 (RFC 3629); 0: it is none. */
static int character_length(const unsigned char *bytes) {
    static const unsigned first[] = {0, 0x80, 0x800, 0x10000}; /* code of each length */
    const unsigned lead = bytes[0];
    const int length = lead < 0x80 ? 1 : lead < 0xc0 ? 0 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
    unsigned code = length > 1 ? lead & 0x7fU >> length : lead;
    for (int i = 1; i < length; i++) {
        if ((bytes[i] & 0xc0) != 0x80)
            return 0;
        code = code << 6 | (bytes[i] & 0x3fU);
    }
    const bool surrogate = code >= 0xd800 && code <= 0xdfff;
    return length == 0 || lead > 0xf4 || surrogate || code > 0x10ffff || code < first[length - 1]
               ? 0
               : length;
}

/* JSON is UTF-8, but names of files can hold any bytes. Those that are not UTF-8 become '?'. */
static void make_utf8(char *text) {
    while (*text != '\0') {
        const int length = character_length((const unsigned char *)text);
        if (length == 0)
            *text = '?';
        text += length > 0 ? length : 1;
    }
}

static void write_json(sink *to, const cJSON *json) {
    char *text = cJSON_Print(json);
    if (text != NULL)
        make_utf8(text);
    if (text == NULL)
        to->problem = ENOMEM;
    else if (write_bytes(to, text, strlen(text)) == 0)
        (void)write_bytes(to, "\n", 1);
    cJSON_free(text);
}

/* All points are active where there is no mask. */
static void write_mask(sink *to, const gsw_matrix *matrix) {
    const gsw_grid *g = &matrix->grid;
    const size_t plane = (size_t)(g->nx * g->ny);
    char header[CLI_NPY_HEADER], *ones = malloc(plane);
    cli_npy_header(g, header);
    if (ones == NULL)
        to->problem = ENOMEM;
    else if (write_bytes(to, header, CLI_NPY_HEADER) == 0)
        memset(ones, 1, plane);
    for (int64_t z = 0; z < g->nz && to->problem == 0; z++)
        (void)write_bytes(
            to, matrix->active != NULL ? (const char *)matrix->active + (size_t)z * plane : ones,
            plane);
    free(ones);
}

static int write_content(const cli_options *options, const char *path, int descriptor,
                         const cli_content *what) {
    const bool gzip = cli_names_gzip(path);
    sink to = {.descriptor = descriptor, .gzip = gzip ? cli_gzip_open(descriptor) : NULL};
    gsw_status status = GSW_SUCCESS;
    if (gzip && to.gzip == NULL)
        to.problem = errno;
    else if (what->json != NULL)
        write_json(&to, what->json);
    else if (what->mask != NULL)
        write_mask(&to, what->mask);
    else if (what->csr != NULL)
        status =
            gsw_mm_print_matrix(what->context, path, write_bytes, &to, what->csr, what->comment);
    else
        status = gsw_mm_print_vector(what->context, path, write_bytes, &to, what->values,
                                     what->count, what->comment);
    int closed = to.gzip != NULL ? cli_gzip_close(to.gzip) : 0;
    if (to.problem == 0)
        to.problem = closed;
    if (to.problem != 0)
        return cli_write_error(options, path, to.problem);
    return cli_status(options, what->context, status, CLI_FROM_FILE);
}

/* ---- Staging and committing ----------------------------------------------------------------- */

/* How much of a path begins other names in its folder: all, or the folder alone. */
static int stem_length(const char *path) {
    const char *slash = strrchr(path, '/');
    const char *name = slash != NULL ? slash + 1 : path;
    return (int)(strlen(name) <= STEM_MAX ? strlen(path) : (size_t)(name - path));
}

/* Makes a new file beside the target, with the target's permissions or the usual ones, and names
 * for it and for the old file. Until it has those permissions, only its owner can open it. Returns
 * its descriptor, or -1 where errno says why not. */
static int open_temporary(cli_file *file) {
    struct stat info;
    bool exists = stat(file->target, &info) == 0;
    const size_t size = strlen(file->target) + 64;
    const int stem = stem_length(file->target);
    char *name = malloc(size);
    file->backup = malloc(size);
    if (name == NULL || file->backup == NULL) {
        free(name);
        return -1;
    }
    int descriptor = -1;
    cli_signals_hold();
    for (int i = 0; i < TEMPORARY_TRIES && descriptor < 0; i++) {
        (void)snprintf(name, size, "%.*s.gridsweep-%ld-%d.tmp", stem, file->target, (long)getpid(),
                       i);
        (void)snprintf(file->backup, size, "%.*s.gridsweep-%ld-%d.old", stem, file->target,
                       (long)getpid(), i);
        struct stat other;
        errno = EEXIST;
        if (lstat(file->backup, &other) != 0)
            descriptor = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, exists ? 0600 : 0666);
        if (descriptor < 0 && errno != EEXIST)
            break;
    }
    if (descriptor >= 0) {
        file->temporary = name;
        cli_signals_add(name);
    }
    cli_signals_release();
    if (descriptor < 0) {
        int problem = errno;
        free(name);
        errno = problem;
    } else if (exists) {
        (void)fchmod(descriptor, info.st_mode & 0777); /* the content matters more than the mode */
    }
    return descriptor;
}

int cli_stage(const cli_options *options, cli_outputs *outputs, const char *path,
              const cli_content *what) {
    cli_file file = {.path = path, .target = cli_follow_links(path)};
    if (file.target == NULL)
        return cli_write_error(options, path, errno);
    const bool dash = cli_is_dash(file.target);
    int descriptor;
    if (dash) /* what is in the stream's buffer goes first */
        descriptor = fflush(stdout) == 0 ? STDOUT_FILENO : -1;
    else if (cli_is_special(file.target))
        descriptor = open(file.target, O_WRONLY | O_APPEND | O_NOCTTY | O_CLOEXEC);
    else
        descriptor = open_temporary(&file);
    int code = descriptor >= 0 ? write_content(options, path, descriptor, what)
                               : cli_write_error(options, path, errno);
    if (descriptor >= 0 && !dash && close(descriptor) != 0 && code == CLI_OK)
        code = cli_write_error(options, path, errno);
    if (file.temporary != NULL) {
        outputs->files[outputs->count++] = file;
    } else {
        free(file.backup);
        free(file.target);
    }
    return code;
}

/* Puts back what commit has replaced so far. */
static void roll_back(cli_outputs *outputs) {
    for (int i = 0; i < outputs->count; i++) {
        cli_file *file = &outputs->files[i];
        if (!file->renamed)
            continue;
        if (!file->kept)
            unlink(file->target);
        else
            file->stuck = rename(file->backup, file->target) != 0;
        file->kept = file->stuck;
    }
}

/* Removes what was not renamed, and old files except those that are stuck. */
static void remove_rest(cli_outputs *outputs) {
    for (int i = 0; i < outputs->count; i++) {
        cli_file *file = &outputs->files[i];
        if (!file->renamed)
            unlink(file->temporary);
        if (file->kept && !file->stuck)
            unlink(file->backup);
        cli_signals_drop(file->temporary);
        free(file->backup);
        free(file->temporary);
        free(file->target);
    }
    outputs->count = 0;
}

static int commit(const cli_options *options, cli_outputs *outputs) {
    const char *path = NULL; /* of the one that failed */
    int problem = 0;
    cli_signals_hold();
    for (int i = 0; i < outputs->count && path == NULL; i++) {
        cli_file *file = &outputs->files[i];
        bool last = i == outputs->count - 1;
        /* A second name keeps the old file until all are in place. */
        file->kept = !last && link(file->target, file->backup) == 0;
        if ((!last && !file->kept && errno != ENOENT) ||
            rename(file->temporary, file->target) != 0) {
            problem = errno;
            path = file->path;
            roll_back(outputs);
        } else {
            file->renamed = true;
        }
    }
    if (path != NULL)
        cli_error(options, "cannot replace %s: %s", path, cli_reason(problem));
    for (int i = 0; i < outputs->count; i++)
        if (outputs->files[i].stuck)
            cli_error(options, "the old %s could not be put back; it is now %s",
                      outputs->files[i].path, outputs->files[i].backup);
    remove_rest(outputs);
    cli_signals_release();
    return path == NULL ? CLI_OK : CLI_INPUT;
}

/* cJSON may have had no memory for all of the JSON: then it may even be NULL. */
static int finish(const cli_options *options, cli_outputs *outputs, int code, const cJSON *json) {
    if (code == CLI_OK && options->json != NULL)
        code = cli_json_is_whole()
                   ? cli_stage(options, outputs, options->json, &(cli_content){.json = json})
                   : cli_write_error(options, options->json, ENOMEM);
    if (code == CLI_OK)
        return commit(options, outputs);
    cli_signals_hold();
    remove_rest(outputs);
    cli_signals_release();
    return code;
}

int cli_finish(const cli_options *options, cli_outputs *outputs, int code, cJSON *json) {
    code = finish(options, outputs, code, json);
    cJSON_Delete(json);
    return code;
}

int cli_write_growing(const cli_options *options, const cJSON *json, bool last) {
    char *target = options->json != NULL ? cli_follow_links(options->json) : NULL;
    const bool now = options->json != NULL && (last || (target != NULL && !cli_is_special(target)));
    free(target);
    return now ? finish(options, &(cli_outputs){0}, CLI_OK, json) : CLI_OK;
}
