/* file.h: writes files of the user.
 *
 * A regular file is replaced as a whole. The data goes to a temporary file in the same folder,
 * which takes the target's name when it is complete. Symbolic links stay: the file that they point
 * to is replaced, or created where it is missing. Pipes, terminals and open descriptors
 * (/dev/stdout) are written to directly. */
#ifndef GSW_FILE_H
#define GSW_FILE_H

#include <stddef.h>
#include <gridsweep/context.h>

/* A file that is being written. */
typedef struct gsw_file {
    char *path;      /* the file to replace: the user's path with links resolved */
    char *temporary; /* NULL where the target is written to directly */
    int descriptor;
} gsw_file;

/* Opens the file that `path` leads to. A new one gets `mode`, less the process's umask; one that is
 * replaced keeps its mode. `verb` is for messages. */
gsw_status gsw_file_open(gsw_context *context, const char *verb, const char *path, int mode,
                         gsw_file *file);

/* A gsw_write_fn; `file` is a gsw_file. */
int gsw_file_write(void *file, const char *bytes, size_t size);

/* Closes the file. With `status` SUCCESS the temporary becomes the target. After any failure it is
 * removed, and the target is unchanged. Returns the first failure. */
gsw_status gsw_file_close(gsw_context *context, const char *path, gsw_file *file,
                          gsw_status status);

/* "cannot VERB PATH: the system's reason for errno value `reason`". Returns OUT_OF_MEMORY for
 * ENOMEM, else IO. */
gsw_status gsw_file_fail(gsw_context *context, const char *verb, const char *path, int reason);

#endif
