/* npy.h: masks and coordinates in files of NumPy (numpy.save()), format versions 1 to 3. */
#ifndef GSW_CLI_NPY_H
#define GSW_CLI_NPY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <gridsweep/grid.h>

#define CLI_NPY_AXES 3

/* An array whose values lie in the file's bytes, perhaps not aligned. */
typedef struct cli_npy {
    int axes;                    /* 1 to 3, */
    int64_t shape[CLI_NPY_AXES]; /* and their lengths */
    int64_t count;               /* of all values */
    size_t size;                 /* bytes of a value */
    bool fortran;                /* the first axis is the fastest */
    const char *values;
} cli_npy;

/* Whether a file begins as those of NumPy do. */
bool cli_is_npy(const char *bytes, size_t size);

/* Fills *array from such a file: of float64 or float32 if `real`, else of bool or uint8. Returns
 * NULL, or why it cannot be read. */
const char *cli_parse_npy(const char *bytes, size_t size, bool real, cli_npy *array);

/* How a file begins with a mask of bool, of shape (nz, ny, nx), in version 1. */
#define CLI_NPY_HEADER 128
void cli_npy_header(const gsw_grid *grid, char header[CLI_NPY_HEADER]);

#endif
