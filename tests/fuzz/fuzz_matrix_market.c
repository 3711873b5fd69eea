/* fuzz_matrix_market.c: libFuzzer harness for the code that reads a user's matrix first: the Matrix
 * Market reader, the detector, and validation. The detector also gets the bytes themselves as CSR
 * arrays, which the reader would never accept. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <gridsweep/gridsweep.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static gsw_context *context;

/* A matrix that the detector accepts must validate without its stray zeros. Anything else is a
 * finding. */
static void detect_and_validate(const gsw_csr *csr, const gsw_grid *extents) {
    gsw_matrix matrix;
    gsw_csr copy;
    char text[256];
    if (gsw_matrix_fit(context, csr, extents, NULL, &matrix, &copy) != GSW_SUCCESS)
        return;
    if (gsw_matrix_validate(context, &matrix) != GSW_SUCCESS ||
        gsw_matrix_remark(context, &matrix, text, sizeof text) != GSW_SUCCESS)
        abort();
    gsw_csr_free(&copy);
}

static void try_file(const uint8_t *data, size_t size) {
    gsw_csr csr;
    if (gsw_mm_parse_matrix(context, "fuzz", (const char *)data, size, &csr) != GSW_SUCCESS)
        return;
    detect_and_validate(&csr, NULL);
    const gsw_grid half = {2, csr.rows / 2, 1};
    detect_and_validate(&csr, &half);
    gsw_csr_free(&csr);
}

/* The first byte gives the base, the second the number of rows; row pointers and columns follow. */
static void try_arrays(const uint8_t *data, size_t size) {
    if (size < 2 + 2 * sizeof(int32_t))
        return;
    size_t words = (size - 2) / sizeof(int32_t);
    size_t rows = 1 + data[1] % (words - 1);
    size_t nonzeros = words - rows - 1;
    int32_t *copy = malloc(words * sizeof *copy);
    double *values = calloc(words, sizeof *values);
    if (copy && values) {
        memcpy(copy, data + 2, words * sizeof *copy);
        const gsw_csr csr = {.rows = (int64_t)rows,
                             .nonzeros = (int64_t)nonzeros,
                             .row_ptr = copy,
                             .columns = copy + rows + 1,
                             .values = values,
                             .index_type = GSW_I32,
                             .base = data[0] & 1};
        detect_and_validate(&csr, NULL);
    }
    free(values);
    free(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const gsw_context_options options = {
        .size = sizeof options, .backend = GSW_BACKEND_CPU, .threads = 1};
    if (!context && gsw_context_create(&options, &context) != GSW_SUCCESS)
        abort();
    try_file(data, size);
    try_arrays(data, size);
    return 0;
}
