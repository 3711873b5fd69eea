/* npy.c: see npy.h. The format is that of NEP 1 (NumPy): a magic number, a version, the length of
 * the header, the header, which is a dictionary in Python's syntax, and the values. */
#include "npy.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAGIC      "\x93NUMPY"
#define MAGIC_SIZE 6
#define HEADER_MAX 1024 /* of an array of numbers it has 118 bytes */

bool cli_is_npy(const char *bytes, size_t size) {
    return size >= MAGIC_SIZE && memcmp(bytes, MAGIC, MAGIC_SIZE) == 0;
}

/* What follows a key of the header; NULL where it has no such key. */
static const char *value_of(const char *header, const char *key) {
    const char *at = strstr(header, key);
    if (at == NULL)
        return NULL;
    at += strlen(key);
    return at + strspn(at, ": ");
}

/* The lengths of the axes at "(3, 4, 5)", which has to hold as many bytes as `size`. */
static const char *parse_shape(const char *text, size_t size, cli_npy *array) {
    array->axes = 0;
    array->count = 1;
    if (text == NULL || *text++ != '(')
        return "its header has no shape";
    while (*text != ')') {
        char *end;
        const int64_t length = strtoll(text, &end, 10);
        if (end == text || length < 0)
            return "its header has no shape";
        if (array->axes == CLI_NPY_AXES)
            return "it has more than three axes";
        if (length > 0 && array->count > (int64_t)size / length)
            return "it is truncated";
        array->shape[array->axes++] = length;
        array->count *= length;
        text = end + strspn(end, ", ");
    }
    if (array->axes == 0)
        return "it has no axes";
    return (size_t)array->count > size / array->size ? "it is truncated" : NULL;
}

/* Whether a value of the header begins with one of two words. */
static bool is_either(const char *value, const char *one, const char *other) {
    return value != NULL &&
           (strncmp(value, one, strlen(one)) == 0 || strncmp(value, other, strlen(other)) == 0);
}

const char *cli_parse_npy(const char *bytes, size_t size, bool real, cli_npy *array) {
    const unsigned char *at = (const unsigned char *)bytes + MAGIC_SIZE;
    char header[HEADER_MAX + 1];
    if (size < MAGIC_SIZE + 6)
        return "it is truncated";
    const size_t begin = MAGIC_SIZE + (at[0] == 1 ? 4 : 6);
    const size_t length =
        at[2] | (size_t)at[3] << 8 | (at[0] == 1 ? 0 : (size_t)at[4] << 16 | (size_t)at[5] << 24);
    if (length > size - begin)
        return "it is truncated";
    if (length > HEADER_MAX)
        return "its header is too long";
    memcpy(header, bytes + begin, length);
    header[length] = '\0';

    const char *type = value_of(header, "'descr'"), *order = value_of(header, "'fortran_order'");
    if (real && !is_either(type, "'<f8'", "'<f4'"))
        return "its values are not of type float64 or float32";
    if (!real && !is_either(type, "'|b1'", "'|u1'"))
        return "its values are not of type bool or uint8";
    array->size = (size_t)(type[3] - '0');
    array->fortran = order == NULL || strncmp(order, "False", 5) != 0;
    array->values = bytes + begin + length;
    return parse_shape(value_of(header, "'shape'"), size - begin - length, array);
}

void cli_npy_header(const gsw_grid *grid, char header[CLI_NPY_HEADER]) {
    char text[CLI_NPY_HEADER];
    const int length =
        snprintf(text, sizeof text,
                 "{'descr': '|b1', 'fortran_order': False, 'shape': (%lld, %lld, %lld), }",
                 (long long)grid->nz, (long long)grid->ny, (long long)grid->nx);
    memset(header, ' ', CLI_NPY_HEADER - 1);
    header[CLI_NPY_HEADER - 1] = '\n';
    memcpy(header, MAGIC "\x01\x00\x76\x00", MAGIC_SIZE + 4);
    memcpy(header + MAGIC_SIZE + 4, text, (size_t)length);
}
