/* npy.h: masks in files of NumPy (numpy.save()), format versions 1 to 3. */
#ifndef GSW_CLI_NPY_H
#define GSW_CLI_NPY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CLI_NPY_AXES 3

/* An array of one byte per value, in C order. The values lie in the file's bytes. */
typedef struct cli_npy {
    int axes;                    /* 1 to 3, */
    int64_t shape[CLI_NPY_AXES]; /* and their lengths */
    int64_t count;               /* of all values */
    const uint8_t *values;
} cli_npy;

/* Whether a file begins as those of NumPy do. */
bool cli_is_npy(const char *bytes, size_t size);

/* Fills *array from such a file. Returns NULL, or why it cannot be read. */
const char *cli_parse_npy(const char *bytes, size_t size, cli_npy *array);

#endif
