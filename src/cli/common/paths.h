/* paths.h: where the options that name outputs lead. */
#ifndef GSW_CLI_PATHS_H
#define GSW_CLI_PATHS_H

#include "options.h"

/* Whether a path is "-", and whether it is any name of standard output. The latter may be NULL. */
bool cli_is_dash(const char *path);
bool cli_is_stdout(const char *path);

/* Where symbolic links lead, also to a file that does not exist yet; "-" for standard output. Newly
 * allocated; NULL where errno says why. */
char *cli_follow_links(const char *path);

/* Whether that is written in place, because renaming over it would destroy it: standard output, a
 * descriptor, a device, a pipe. */
bool cli_is_special(const char *target);

/* Says that a file cannot be written, with the reason of an errno. Returns an exit code. */
int cli_write_error(const cli_options *options, const char *path, int problem);

/* Refuses outputs that cannot be written, before any work: a directory, a missing folder, two
 * outputs that are one file, a file that is also an input. Returns an exit code. */
int cli_check_outputs(const cli_options *options);

#endif
