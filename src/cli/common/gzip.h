/* gzip.h: whole files as text, compressed or not (gzip, RFC 1952), and compressed output. A program
 * that was built without zlib refuses compressed files. */
#ifndef GSW_CLI_GZIP_H
#define GSW_CLI_GZIP_H

#include <stdbool.h>
#include <stddef.h>

/* Why a file is refused by a program without zlib; NULL in a program with zlib. */
extern const char *const cli_no_gzip;

/* Whether a path ends in .gz: what is written there is compressed. */
bool cli_names_gzip(const char *path);

/* Reads a file ("-": standard input) into *text, to be freed by the caller. Decompresses it if it
 * begins as the files of gzip do. Refuses compressed files (not pipes) whose text has more than
 * 256 MiB and more than 200 times the size of the file. Returns NULL, or why it cannot be read. */
const char *cli_read_file(const char *path, char **text, size_t *size);

/* Compresses into a descriptor, which stays open. cli_gzip_open() returns NULL if errno says why;
 * the others return 0 or an errno. */
void *cli_gzip_open(int descriptor);
int cli_gzip_write(void *file, const char *bytes, size_t size);
int cli_gzip_close(void *file);

#endif
