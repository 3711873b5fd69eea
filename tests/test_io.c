/* test_io.c: reading and writing Matrix Market files. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "context_fixture.h"
#include "grid_csr.h"

#define REAL      "%%MatrixMarket matrix coordinate real general\n"
#define SYMMETRIC "%%MatrixMarket matrix coordinate real symmetric\n"
#define SKEW      "%%MatrixMarket matrix coordinate real skew-symmetric\n"
#define INTEGER   "%%MatrixMarket matrix coordinate integer general\n"
#define ARRAY     "%%MatrixMarket matrix array real general\n"

static char folder[64];

static void setup(void) {
    open_context();
    strcpy(folder, "/tmp/gridsweep-io-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
}

static int count_files(void) {
    int count = 0;
    DIR *directory = opendir(folder);
    ck_assert_ptr_nonnull(directory);
    while (readdir(directory))
        count++;
    closedir(directory);
    return count - 2;
}

static const char *path_of(const char *name) {
    static char path[8][512];
    static int next;
    char *result = path[next++ % 8];
    snprintf(result, sizeof path[0], "%s/%s", folder, name);
    return result;
}

static void teardown(void) {
    DIR *directory = opendir(folder);
    ck_assert_ptr_nonnull(directory);
    for (struct dirent *entry; (entry = readdir(directory));)
        if (entry->d_name[0] != '.')
            unlink(path_of(entry->d_name));
    closedir(directory);
    ck_assert_int_eq(rmdir(folder), 0);
    close_context();
}

static void put_file(const char *path, const char *text, size_t size) {
    FILE *file = fopen(path, "wb");
    ck_assert_ptr_nonnull(file);
    ck_assert_uint_eq(fwrite(text, 1, size, file), size);
    ck_assert_int_eq(fclose(file), 0);
}

static void assert_file_is(const char *path, const char *text) {
    char found[4096];
    FILE *file = fopen(path, "rb");
    ck_assert_ptr_nonnull(file);
    size_t size = fread(found, 1, sizeof found - 1, file);
    found[size] = '\0';
    fclose(file);
    ck_assert_str_eq(found, text);
}

/* The text is copied to a block of its exact size, so that the address sanitizer finds reads beyond
 * it. */
static gsw_status parse(const char *text, gsw_csr *csr) {
    size_t size = strlen(text);
    char *copy = malloc(size + 1);
    ck_assert_ptr_nonnull(copy);
    copy[0] = '\0';
    char *exact = realloc(copy, size > 0 ? size : 1);
    ck_assert_ptr_nonnull(exact);
    memcpy(exact, text, size);
    gsw_status status = gsw_mm_parse_matrix(context, "test.mtx", exact, size, csr);
    free(exact);
    return status;
}

static void assert_refused(const char *text, gsw_status expected, const char *part) {
    gsw_csr csr = {.rows = 77};
    gsw_status status = parse(text, &csr);
    ck_assert_msg(status == expected, "%s ended in %s (%s)", text, gsw_status_name(status),
                  gsw_context_message(context));
    assert_message("test.mtx: line ");
    assert_message(part);
    ck_assert_int_eq(csr.rows, 77);
}

static void assert_matrix(const char *text, int64_t rows, const int32_t *row_ptr,
                          const int32_t *columns, const double *values) {
    gsw_csr csr;
    ck_assert_msg(parse(text, &csr) == GSW_SUCCESS, "%s: %s", text, gsw_context_message(context));
    ck_assert_int_eq(csr.rows, rows);
    ck_assert_int_eq(csr.nonzeros, row_ptr[rows]);
    ck_assert_int_eq(csr.index_type, GSW_I32);
    ck_assert_int_eq(csr.value_type, GSW_F64);
    ck_assert_int_eq(csr.base, 0);
    for (int64_t i = 0; i <= rows; i++)
        ck_assert_int_eq(((const int32_t *)csr.row_ptr)[i], row_ptr[i]);
    for (int64_t k = 0; k < csr.nonzeros; k++) {
        ck_assert_int_eq(((const int32_t *)csr.columns)[k], columns[k]);
        ck_assert_double_eq(((const double *)csr.values)[k], values[k]);
    }
    gsw_csr_free(&csr);
}

/* ---- what must be read ------------------------------------------------------------------------*/

static const int32_t row_ptr3[] = {0, 2, 5, 7};
static const int32_t columns3[] = {0, 1, 0, 1, 2, 1, 2};
static const double values3[] = {2, -1, -0.5, 2.5, 0, 1e-3, 4};

TEST(general_matrices) {
    assert_matrix(REAL "3 3 7\n1 1 2\n1 2 -1\n2 1 -.5\n2 2 2.5\n2 3 0\n3 2 1e-3\n3 3 4\n", 3,
                  row_ptr3, columns3, values3);
    /* by columns, and in no order; the last line without its end */
    assert_matrix(REAL "3 3 7\n1 1 2\n2 1 -.5\n1 2 -1\n2 2 2.5\n3 2 1e-3\n2 3 0\n3 3 4", 3,
                  row_ptr3, columns3, values3);
    assert_matrix(REAL "3 3 7\n3 3 4.\n2 3 0\n2 2 2.5\n1 2 -1\n3 2 0.1E-2\n2 1 -5e-1\n1 1 +2\n", 3,
                  row_ptr3, columns3, values3);
}

TEST(comments_blanks_and_line_ends) {
    assert_matrix("%%matrixmarket MATRIX Coordinate REAL General\r\n% a comment\r\n\r\n"
                  "%another\r\n  3\t3  7 \r\n1 1 2\r\n\r\n1 2 -1\r\n 2 1 -.5\r\n\t2 2 2.5\r\n"
                  "2 3 0\r\n3 2 1e-3 \r\n3 3 4\r\n\r\n  \r\n",
                  3, row_ptr3, columns3, values3);
}

/* As editors on Windows and programs for DOS leave them. */
TEST(byte_order_marks_and_ends_of_files) {
    static const int32_t row_ptr[] = {0, 1}, columns[] = {0};
    static const double values[] = {5};
    static const char *const files[] = {
        "\xEF\xBB\xBF" REAL "1 1 1\n1 1 5\n",
        REAL "1 1 1\n1 1 5\n\x1A",
        REAL "1 1 1\r\n1 1 5\r\n\x1A\r\n \t",
        "\xEF\xBB\xBF" REAL "1 1 1\n1 1 5\x1A\x1A\x1A",
    };
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        assert_matrix(files[i], 1, row_ptr, columns, values);
    static const char vector[] = "\xEF\xBB\xBF" ARRAY "1 1\n5\n\x1A";
    double *found;
    int64_t count;
    must(context,
         gsw_mm_parse_finite_vector(context, "b", vector, sizeof vector - 1, &found, &count));
    ck_assert_double_eq(found[0], 5);
    free(found);
}

/* An array of several columns, which are one after the other. */
TEST(arrays) {
    static const char text[] = ARRAY "2 3\n1\n2\n3\n4\n5\n6\n";
    static const double expected[] = {1, 2, 3, 4, 5, 6};
    static const char *const bad[] = {
        ARRAY "2 3\n1\n2\n3\n4\n5\n", ARRAY "2 3\n1\n2\n3\n4\n5\n6\n7\n",
        ARRAY "2 3\n1\n2\n3\n4\n5\nnan\n", ARRAY "4611686018427387904 4611686018427387904\n1\n"};
    double *found = NULL;
    int64_t rows = 0, columns = 0;
    must(context, gsw_mm_parse_array(context, "a", text, sizeof text - 1, &found, &rows, &columns));
    ck_assert_int_eq(rows, 2);
    ck_assert_int_eq(columns, 3);
    ck_assert_mem_eq(found, expected, sizeof expected);
    free(found);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        ck_assert_int_eq(
            gsw_mm_parse_array(context, "a", bad[i], strlen(bad[i]), &found, &rows, &columns),
            GSW_ERROR_FORMAT);
    ck_assert_int_eq(gsw_mm_parse_finite_vector(context, "a", text, sizeof text - 1, &found, &rows),
                     GSW_ERROR_UNSUPPORTED);
    must_say(context, "3 columns; a vector has one");
}

TEST(symmetric_matrices_are_expanded) {
    const double symmetric[] = {2, -1, -1, 3, 5, 5, 4};
    assert_matrix(SYMMETRIC "3 3 5\n1 1 2\n2 1 -1\n2 2 3\n3 2 5\n3 3 4\n", 3, row_ptr3, columns3,
                  symmetric);
    assert_matrix(SYMMETRIC "3 3 5\n3 3 4\n3 2 5\n2 2 3\n2 1 -1\n1 1 2\n", 3, row_ptr3, columns3,
                  symmetric);
    assert_matrix(SKEW "3 3 2\n3 2 5\n2 1 -1\n", 3, (const int32_t[]){0, 1, 3, 4},
                  (const int32_t[]){1, 0, 2, 1}, (const double[]){1, -1, -5, 5});
}

TEST(integer_and_sparse_matrices) {
    assert_matrix(INTEGER "2 2 2\n1 1 7\n2 2 -9007199254740993\n", 2, (const int32_t[]){0, 1, 2},
                  (const int32_t[]){0, 1}, (const double[]){7, -9007199254740992.0});
    assert_matrix(REAL "4 4 0\n", 4, (const int32_t[]){0, 0, 0, 0, 0}, columns3, values3);
    assert_matrix(REAL "4 4 1\n3 1 8\n", 4, (const int32_t[]){0, 0, 0, 1, 1}, columns3,
                  (const double[]){8});
}

/* Every double must come back bit by bit, in all the ways that printf writes it. */
TEST(numbers_are_rounded_correctly) {
    static const char *const formats[] = {"%.17g", "%.15g", "%.6e", "%.19f", "%.25e", "%.3f"};
    uint64_t seed = 5;
    for (int i = 0; i < 60000; i++) {
        char number[128];
        char text[256];
        double value =
            ldexp((double)(int64_t)next_random(&seed), -63 + (int)(next_random(&seed) % 60) - 30);
        if (i % 10 == 0)
            value = ldexp(value, (int)(next_random(&seed) % 2000) - 1000);
        if (i % 7 == 0)
            value = (double)(int64_t)(next_random(&seed) % 100000);
        snprintf(number, sizeof number, formats[i % 6], value);
        if (strlen(number) > 100)
            continue;
        gsw_csr csr;
        snprintf(text, sizeof text, "%s1 1 1\n1 1 %s\n", REAL, number);
        must(context, gsw_mm_parse_matrix(context, "x", text, strlen(text), &csr));
        double expected = strtod(number, NULL);
        ck_assert_msg(memcmp(csr.values, &expected, sizeof expected) == 0, "%s was read as %.17g",
                      number, *(const double *)csr.values);
        gsw_csr_free(&csr);
    }
}

TEST(a_locale_with_a_decimal_comma) {
    static const char *const names[] = {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "de_DE"};
    const char *chosen = NULL;
    for (int i = 0; i < 4 && !chosen; i++)
        chosen = setlocale(LC_ALL, names[i]);
    if (!chosen)
        printf("no locale with a decimal comma is installed: left out\n");
    const char *path = path_of("comma.mtx");
    const double values[] = {0.5, 1.2345678901234567e-100};
    double *found = NULL;
    int64_t count = 0;
    must(context, gsw_mm_write_vector(context, path, values, 2, NULL));
    must(context, gsw_mm_read_vector(context, path, &found, &count));
    setlocale(LC_ALL, "C");
    assert_file_is(path, ARRAY "2 1\n0.5\n1.2345678901234567e-100\n");
    ck_assert_int_eq(count, 2);
    ck_assert_double_eq(found[1], values[1]);
    free(found);
}

/* ---- what must be refused ---------------------------------------------------------------------*/

TEST(bad_banners) {
    assert_refused("", GSW_ERROR_FORMAT, "line 1: not a Matrix Market file");
    assert_refused("\n\n", GSW_ERROR_FORMAT, "line 1");
    assert_refused("1 1 1\n", GSW_ERROR_FORMAT, "line 1");
    assert_refused("%MatrixMarket matrix coordinate real general\n1 1 0\n", GSW_ERROR_FORMAT,
                   "line 1");
    assert_refused("%%MatrixMarket", GSW_ERROR_FORMAT, "object");
    assert_refused("%%MatrixMarket vector coordinate real general\n", GSW_ERROR_FORMAT, "vector");
    assert_refused("%%MatrixMarket matrix coordinates real general\n", GSW_ERROR_FORMAT,
                   "format is 'coordinates'");
    assert_refused("%%MatrixMarket matrix coordinate rational general\n", GSW_ERROR_FORMAT,
                   "field is 'rational'");
    assert_refused("%%MatrixMarket matrix coordinate real\n", GSW_ERROR_FORMAT, "symmetry");
    assert_refused("%%MatrixMarket matrix coordinate real general please\n", GSW_ERROR_FORMAT,
                   "surplus 'please'");
}

TEST(unsupported_kinds) {
    assert_refused("%%MatrixMarket matrix coordinate pattern general\n1 1 1\n1 1\n",
                   GSW_ERROR_UNSUPPORTED, "line 1: pattern");
    assert_refused("%%MatrixMarket matrix coordinate complex general\n1 1 1\n1 1 0 1\n",
                   GSW_ERROR_UNSUPPORTED, "complex");
    assert_refused("%%MatrixMarket matrix coordinate complex hermitian\n1 1 1\n1 1 0 1\n",
                   GSW_ERROR_UNSUPPORTED, "complex");
    assert_refused("%%MatrixMarket matrix coordinate real hermitian\n1 1 1\n1 1 0\n",
                   GSW_ERROR_UNSUPPORTED, "Hermitian");
    assert_refused(ARRAY "2 1\n1\n2\n", GSW_ERROR_UNSUPPORTED, "array");
}

TEST(bad_sizes) {
    assert_refused(REAL, GSW_ERROR_FORMAT, "before the size line");
    assert_refused(REAL "% nothing\n\n", GSW_ERROR_FORMAT, "line 4: the file ends");
    assert_refused(REAL "3 3\n", GSW_ERROR_FORMAT, "line 2: no number of entries");
    assert_refused(REAL "3 3 1 1\n", GSW_ERROR_FORMAT, "surplus '1'");
    assert_refused(REAL "3 x 1\n", GSW_ERROR_FORMAT, "'x' is not a whole number");
    assert_refused(REAL "3 -3 1\n", GSW_ERROR_FORMAT, "'-3' is not a whole number");
    assert_refused(REAL "0 0 0\n", GSW_ERROR_FORMAT, "at least one");
    assert_refused(REAL "2 3 1\n1 1 1\n", GSW_ERROR_INVALID_ARGUMENT, "not square");
    assert_refused(REAL "999999999 999999999 999999999999\n1 1 1\n", GSW_ERROR_FORMAT,
                   "line 2: truncated: the header promises 999999999999 entries");
    assert_refused(REAL "999999999 999999999 1\n1 1 1\n", GSW_ERROR_FORMAT, "999999999 rows");
    assert_refused(REAL "99999999999999999999 1 1\n1 1 1\n", GSW_ERROR_OVERFLOW, "64 bits");
    assert_refused(REAL "9223372036854775807 9223372036854775807 9223372036854775807\n1 1 1\n",
                   GSW_ERROR_FORMAT, "truncated");
}

TEST(bad_entries) {
    assert_refused(REAL "3 3 2\n1 1 1\n", GSW_ERROR_FORMAT, "truncated");
    assert_refused(REAL "3 3 2\n1 1 1.00000000\n", GSW_ERROR_FORMAT,
                   "truncated: the file ends after 1 of 2");
    assert_refused(REAL "3 3 2\n1 1 1.00000000\n2 2", GSW_ERROR_FORMAT, "line 4: no value");
    assert_refused(REAL "3 3 2\n1 1 1.00000000\n2\n", GSW_ERROR_FORMAT, "line 4: no column");
    assert_refused(REAL "3 3 1\n1 1 1\n2 2 1\n", GSW_ERROR_FORMAT, "line 4: surplus '2'");
    assert_refused(REAL "3 3 1\n1 1 1 1\n", GSW_ERROR_FORMAT, "line 3: surplus '1'");
    assert_refused(REAL "3 3 1\n% late comment\n1 1 1\n", GSW_ERROR_FORMAT, "line 3");
    assert_refused(REAL "3 3 1\n4 1 1\n", GSW_ERROR_FORMAT, "entry (4, 1) is outside");
    assert_refused(REAL "3 3 1\n1 0 1\n", GSW_ERROR_FORMAT, "entry (1, 0) is outside");
    assert_refused(REAL "3 3 1\n-1 1 1\n", GSW_ERROR_FORMAT, "'-1' is not a whole number");
    assert_refused(REAL "3 3 1\n1.0 1 1\n", GSW_ERROR_FORMAT, "'1.0' is not a whole number");
    assert_refused(REAL "3 3 1\n18446744073709551617 1 1\n", GSW_ERROR_OVERFLOW, "64 bits");
    assert_refused(SYMMETRIC "3 3 1\n1 2 1\n", GSW_ERROR_FORMAT, "line 3: entry (1, 2) is above");
    assert_refused(SKEW "3 3 1\n1 2 1\n", GSW_ERROR_FORMAT, "above the diagonal");
    assert_refused(SKEW "3 3 1\n2 2 1\n", GSW_ERROR_FORMAT, "on the diagonal");
}

TEST(duplicates) {
    assert_refused(REAL "3 3 3\n1 1 1\n2 2 1\n1 1 1\n", GSW_ERROR_FORMAT,
                   "line 5: entry (1, 1) is a duplicate of that in line 3");
    assert_refused(REAL "3 3 5\n2 3 1\n\n2 1 1\n2 3 1\n2 2 1\n2 1 1\n", GSW_ERROR_FORMAT,
                   "line 8: entry (2, 1) is a duplicate of that in line 5");
    assert_refused(SYMMETRIC "3 3 3\n3 1 1\n2 2 1\n3 1 1\n", GSW_ERROR_FORMAT,
                   "line 5: entry (3, 1) is a duplicate of that in line 3");
}

TEST(bad_values) {
    static const char *const bad[] = {"x",  "1d5",  "0x10",  "1e",  "1e+",   ".",
                                      "+",  "--1",  "1.2.3", "1,5", "1_000", "nanx",
                                      "e5", "1e5.", "1-2",   "\x01"};
    static const char *const infinite[] = {"nan", "NaN", "-nan", "inf", "-Infinity", "1e999"};
    char text[512];
    for (int i = 0; i < 16; i++) {
        snprintf(text, sizeof text, "%s3 3 2\n1 1 1\n2 2 %s\n", REAL, bad[i]);
        assert_refused(text, GSW_ERROR_FORMAT, "line 4: ");
    }
    for (int i = 0; i < 6; i++) {
        snprintf(text, sizeof text, "%s3 3 2\n1 1 1\n2 2 %s\n", REAL, infinite[i]);
        assert_refused(text, GSW_ERROR_FORMAT, "is not a finite number");
        assert_message("line 4: ");
    }
    snprintf(text, sizeof text, "%s1 1 1\n1 1 0.%0300d\n", REAL, 1);
    assert_refused(text, GSW_ERROR_FORMAT, "is not a number");
    assert_refused(INTEGER "1 1 1\n1 1 1.5\n", GSW_ERROR_FORMAT, "'1.5' is not an integer");
    gsw_csr csr;
    const char zero_byte[] = REAL "1 1 1\n1 1 \0 5\n";
    ck_assert_int_eq(gsw_mm_parse_matrix(context, "x", zero_byte, sizeof zero_byte - 1, &csr),
                     GSW_ERROR_FORMAT);
}

/* Messages show bytes that nobody sees by their codes, and where the first one is. */
TEST(strange_bytes) {
    static const struct {
        const char *text, *says;
    } cases[] = {
        {"\xFF\xFE%", "line 1: the file is in UTF-16; save it as UTF-8 (byte \\xFF in column 1)"},
        {"\xFE\xFF%", "UTF-16"},
        {"\x1F\x8B", "line 1: not a Matrix Market file: it does not begin with %%MatrixMarket "
                     "(byte \\x1F in column 1)"},
        {REAL "1 1 1\n1 1 5\n\x1A\n1", "line 4: surplus '\\x1A' after the 1 entries (byte \\x1A in "
                                       "column 1)"},
        {REAL "1 1 1\n1 1 5 \x1A 1\n", "line 3: surplus '\\x1A' (byte \\x1A in column 7)"},
        {REAL "1 1 1\n1 1\xC2\xA0"
              "5\n",
         "column '1\\xC2\\xA05' is not a whole number >= 0 (byte "
         "\\xC2 in column 4)"},
        {REAL "1 1 1\n1 1 5\x7F\n", "value '5\\x7F' is not a number (byte \\x7F in column 6)"},
        {"%%MatrixMarket matrix coordinate r\xC3\xA9"
         "el general\n",
         "field is 'r\\xC3\\xA9"
         "el', which Matrix Market does not know (byte \\xC3 in column 35)"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_refused(cases[i].text, GSW_ERROR_FORMAT, cases[i].says);
    /* Comments may hold any bytes, and no message is about them. */
    assert_refused(REAL "% \xC3\xA9\x01\n", GSW_ERROR_FORMAT,
                   "line 3: the file ends before the size line");
    ck_assert_ptr_null(strstr(gsw_context_message(context), "byte"));
    gsw_csr csr;
    static const char zero_byte[] = REAL "1 1 1\n1 1 \0 5\n";
    ck_assert_int_eq(gsw_mm_parse_matrix(context, "x", zero_byte, sizeof zero_byte - 1, &csr),
                     GSW_ERROR_FORMAT);
    assert_message("value '\\x00' is not a number (byte \\x00 in column 5)");
    char longest[300];
    snprintf(longest, sizeof longest, "%s1 1 1\n1 1 %s\n", REAL,
             "\x01\x02\x03\x04\x05\x06\x07\x08"
             "\x0B\x0C\x0E\x0F\x10");
    assert_refused(longest, GSW_ERROR_FORMAT,
                   "\\x01\\x02\\x03\\x04\\x05\\x06\\x07\\x08\\x0B\\x0C...'");
}

/* No prefix and no single changed byte of a good file may do harm. */
TEST(every_prefix_and_every_changed_byte) {
    const char good[] = SYMMETRIC "% c\n3 3 4\n1 1 2.5e0\n2 1 -1\n2 2 3\n3 2 1e-400\n";
    size_t size = sizeof good - 1;
    char text[sizeof good];
    int accepted = 0;
    for (size_t length = 0; length <= size; length++)
        for (int byte = -1; byte < 128; byte++) {
            gsw_csr csr;
            memcpy(text, good, size);
            if (byte >= 0 && length < size)
                text[length] = (char)byte;
            else
                text[length] = '\0';
            size_t used = byte >= 0 ? size : length;
            if (gsw_mm_parse_matrix(context, "x", text, used, &csr) == GSW_SUCCESS) {
                accepted++;
                gsw_csr_free(&csr);
            }
        }
    ck_assert_int_gt(accepted, 0);
}

TEST(bad_arguments) {
    gsw_csr csr;
    double *values = NULL;
    int64_t count;
    const double one = 1;
    const gsw_csr chain = {
        .rows = 3, .nonzeros = 7, .row_ptr = row_ptr3, .columns = columns3, .values = values3};
    const char *path = path_of("none.mtx");
    must_reject(gsw_mm_parse_matrix(context, NULL, "", 0, &csr));
    must_reject(gsw_mm_parse_matrix(context, "x", NULL, 1, &csr));
    ck_assert_int_eq(gsw_mm_parse_matrix(context, "x", NULL, 0, &csr), GSW_ERROR_FORMAT);
    must_reject(gsw_mm_parse_matrix(context, "x", "", 0, NULL));
    must_reject(gsw_mm_read_matrix(context, NULL, &csr));
    must_reject(gsw_mm_read_matrix(context, path, NULL));
    must_reject(gsw_mm_read_vector(context, NULL, &values, &count));
    must_reject(gsw_mm_read_vector(context, path, NULL, &count));
    must_reject(gsw_mm_read_vector(context, path, &values, NULL));
    must_reject(gsw_mm_parse_finite_vector(context, NULL, "", 0, &values, &count));
    must_reject(gsw_mm_parse_finite_vector(context, "x", NULL, 1, &values, &count));
    must_reject(gsw_mm_parse_finite_vector(context, "x", "", 0, NULL, &count));
    must_reject(gsw_mm_parse_finite_vector(context, "x", "", 0, &values, NULL));
    must_reject(gsw_mm_parse_array(context, NULL, "", 0, &values, &count, &count));
    must_reject(gsw_mm_parse_array(context, "x", NULL, 1, &values, &count, &count));
    must_reject(gsw_mm_parse_array(context, "x", "", 0, NULL, &count, &count));
    must_reject(gsw_mm_parse_array(context, "x", "", 0, &values, &count, NULL));
    must_reject(gsw_mm_write_matrix(context, NULL, &chain, NULL));
    must_reject(gsw_mm_write_matrix(context, path, NULL, NULL));
    must_reject(gsw_mm_write_matrix(context, path, &chain, "two\nlines"));
    must_reject(gsw_mm_write_vector(context, NULL, &one, 1, NULL));
    must_reject(gsw_mm_write_vector(context, path, NULL, 1, NULL));
    must_reject(gsw_mm_write_vector(context, path, &one, 0, NULL));
    ck_assert_int_eq(count_files(), 0);
}

/* ---- vectors ----------------------------------------------------------------------------------*/

static void assert_vector_refused(const char *text, gsw_status expected, const char *part) {
    const char *path = path_of("v.mtx");
    double *values = NULL;
    int64_t count = 77;
    put_file(path, text, strlen(text));
    ck_assert_int_eq(gsw_mm_read_vector(context, path, &values, &count), expected);
    assert_message(part);
    ck_assert_ptr_null(values);
    ck_assert_int_eq(count, 77);
}

TEST(vectors) {
    const char *path = path_of("x.mtx");
    const double values[] = {1.0 / 3, -0.0, NAN, INFINITY, -INFINITY, 5e-324};
    double *found = NULL;
    int64_t count = 0;
    must(context, gsw_mm_write_vector(context, path, values, 6, "a comment"));
    assert_file_is(path, ARRAY "% a comment\n6 1\n0.33333333333333331\n-0\nnan\ninf\n-inf\n"
                               "4.9406564584124654e-324\n");
    must(context, gsw_mm_read_vector(context, path, &found, &count));
    ck_assert_int_eq(count, 6);
    for (int i = 0; i < 6; i++)
        ck_assert(i == 2 ? isnan(found[i]) : memcmp(&found[i], &values[i], sizeof(double)) == 0);
    free(found);
    found = NULL;
    count = 77;
    ck_assert_int_eq(gsw_mm_read_finite_vector(context, path, &found, &count), GSW_ERROR_FORMAT);
    assert_message("x.mtx: line 6: value 'nan' is not a finite number");
    ck_assert_ptr_null(found);
    ck_assert_int_eq(count, 77);
    must(context, gsw_mm_write_vector(context, path, values, 2, NULL));
    must(context, gsw_mm_read_finite_vector(context, path, &found, &count));
    ck_assert_int_eq(count, 2);
    ck_assert_int_eq(memcmp(found, values, 2 * sizeof *values), 0);
    free(found);
    const char text[] = ARRAY "2 1\n3\n4\nnot a part of it";
    const size_t size = strlen(text) - strlen("not a part of it");
    must(context, gsw_mm_parse_finite_vector(context, "b", text, size, &found, &count));
    ck_assert(count == 2 && found[0] == 3 && found[1] == 4);
    free(found);
    ck_assert_int_eq(gsw_mm_parse_finite_vector(context, "b", text, size + 1, &found, &count),
                     GSW_ERROR_FORMAT);
    assert_message("b: line 5: surplus 'n'");
    assert_vector_refused(ARRAY "3 1\n1\n2\n", GSW_ERROR_FORMAT, "truncated");
    assert_vector_refused(ARRAY "3 1\n1\n2\n\n\n\n", GSW_ERROR_FORMAT, "after 2 of 3");
    assert_vector_refused(ARRAY "2 1\n1\n2\n3\n", GSW_ERROR_FORMAT, "surplus '3'");
    assert_vector_refused(ARRAY "2 1\n1 1\n2\n", GSW_ERROR_FORMAT, "line 3: surplus '1'");
    assert_vector_refused(ARRAY "2 1\n1\nx\n", GSW_ERROR_FORMAT, "line 4: value 'x'");
    assert_vector_refused(ARRAY "0 1\n", GSW_ERROR_FORMAT, "at least one");
    assert_vector_refused(ARRAY "99999999999 1\n1\n", GSW_ERROR_FORMAT, "promises");
    assert_vector_refused(ARRAY "2 2\n1\n1\n1\n1\n", GSW_ERROR_UNSUPPORTED, "2 columns");
    assert_vector_refused(REAL "1 1 1\n1 1 1\n", GSW_ERROR_UNSUPPORTED, "coordinate");
    assert_vector_refused("%%MatrixMarket matrix array real symmetric\n1 1\n1\n",
                          GSW_ERROR_UNSUPPORTED, "symmetric");
    assert_vector_refused("%%MatrixMarket matrix array complex general\n1 1\n1 0\n",
                          GSW_ERROR_UNSUPPORTED, "complex");
}

/* ---- files ------------------------------------------------------------------------------------*/

TEST(matrices_come_back) {
    for (int variant = 0; variant < 8; variant++) {
        csr_recipe recipe = {.grid = {7, 5, 3},
                             .stencil = named_stencil("D3N19"),
                             .part = (gsw_part)(variant % 3),
                             .index_type = variant & 1 ? GSW_I64 : GSW_I32,
                             .value_type = variant & 2 ? GSW_F32 : GSW_F64,
                             .base = variant >> 2,
                             .missing = 20};
        const char *path = path_of("a.mtx");
        gsw_csr csr = make_csr(&recipe, 1);
        gsw_csr back;
        must(context, gsw_mm_write_matrix(context, path, &csr, NULL));
        must(context, gsw_mm_read_matrix(context, path, &back));
        ck_assert_int_eq(back.rows, csr.rows);
        ck_assert_int_eq(back.nonzeros, csr.nonzeros);
        for (int64_t i = 0; i <= csr.rows; i++)
            ck_assert_int_eq(gsw_index_at(back.row_ptr, GSW_I32, i),
                             gsw_index_at(csr.row_ptr, csr.index_type, i) - csr.base);
        for (int64_t k = 0; k < csr.nonzeros; k++) {
            ck_assert_int_eq(gsw_index_at(back.columns, GSW_I32, k),
                             gsw_index_at(csr.columns, csr.index_type, k) - csr.base);
            ck_assert_double_eq(value_of(&back, k), value_of(&csr, k));
        }
        gsw_csr_free(&back);
        ck_assert_int_eq(count_files(), 1);
    }
}

static gsw_csr chain3(void) {
    return (gsw_csr){
        .rows = 3, .nonzeros = 7, .row_ptr = row_ptr3, .columns = columns3, .values = values3};
}

TEST(a_written_matrix) {
    const char *path = path_of("a.mtx");
    gsw_csr csr = chain3();
    must(context, gsw_mm_write_matrix(context, path, &csr, "chain"));
    assert_file_is(path, REAL "% chain\n3 3 7\n1 1 2\n1 2 -1\n2 1 -0.5\n2 2 2.5\n2 3 0\n"
                              "3 2 0.001\n3 3 4\n");
}

/* A callback's state: a text that ends early where `reason` is not 0. */
typedef struct receiver {
    char *text;
    size_t size, limit;
    int reason, failures;
} receiver;

static int receive(void *user, const char *bytes, size_t size) {
    receiver *to = user;
    if (to->reason != 0 && to->size + size > to->limit) {
        to->failures++;
        return to->reason;
    }
    to->text = realloc(to->text, to->size + size + 1);
    ck_assert_ptr_nonnull(to->text);
    memcpy(to->text + to->size, bytes, size);
    to->size += size;
    to->text[to->size] = '\0';
    return 0;
}

TEST(text_for_a_callback) {
    enum { COUNT = 20000 };
    char comment[1000] = "";
    double values[COUNT];
    gsw_csr csr = chain3();
    receiver to = {0};
    must(context, gsw_mm_print_matrix(context, "the chain", receive, &to, &csr, "chain"));
    ck_assert_str_eq(to.text, REAL "% chain\n3 3 7\n1 1 2\n1 2 -1\n2 1 -0.5\n2 2 2.5\n2 3 0\n"
                                   "3 2 0.001\n3 3 4\n");
    free(to.text);

    /* More than any buffer holds, and a comment of any length, as in a file. */
    memset(comment, 'c', sizeof comment - 1);
    for (int i = 0; i < COUNT; i++)
        values[i] = i / 7.0;
    to = (receiver){0};
    must(context, gsw_mm_print_vector(context, "x", receive, &to, values, COUNT, comment));
    static const char after[] = "ccc\n20000 1\n0\n0.14285714285714285\n";
    const char *end = to.text + strlen(ARRAY "% ") + strlen(comment);
    ck_assert_int_eq(memcmp(to.text, ARRAY "% ccc", strlen(ARRAY "% ccc")), 0);
    ck_assert_int_eq(memcmp(end - 3, after, strlen(after)), 0);
    const char *path = path_of("x.mtx");
    put_file(path, to.text, to.size);
    double *found = NULL;
    int64_t count = 0;
    must(context, gsw_mm_read_vector(context, path, &found, &count));
    ck_assert_int_eq(count, COUNT);
    ck_assert_int_eq(memcmp(found, values, sizeof values), 0);
    free(found);
    free(to.text);
}

/* A callback that fails is not called again, and the message has its reason. */
TEST(a_callback_that_fails) {
    static const double values[20000];
    gsw_csr csr = chain3();
    receiver to = {.reason = ENOSPC};
    ck_assert_int_eq(gsw_mm_print_matrix(context, "the chain", receive, &to, &csr, NULL),
                     GSW_ERROR_IO);
    assert_message("cannot write the chain: No space left");
    ck_assert_int_eq(to.failures, 1);
    to = (receiver){.reason = EIO, .limit = 20000};
    ck_assert_int_eq(gsw_mm_print_vector(context, "x", receive, &to, values, 20000, NULL),
                     GSW_ERROR_IO);
    assert_message("cannot write x: Input/output error");
    ck_assert_int_eq(to.failures, 1);
    ck_assert_uint_gt(to.size, 0);
    free(to.text);

    to = (receiver){0};
    csr.columns = (const int32_t[]){0, 1, 0, 1, 9, 1, 2};
    expect_rejection(gsw_mm_print_matrix(context, "A", receive, &to, &csr, NULL),
                     "row 1 (0-based): column 9");
    must_reject(gsw_mm_print_matrix(context, NULL, receive, &to, &csr, NULL));
    must_reject(gsw_mm_print_matrix(context, "A", NULL, &to, &csr, NULL));
    must_reject(gsw_mm_print_vector(context, NULL, receive, &to, values, 1, NULL));
    must_reject(gsw_mm_print_vector(context, "x", NULL, &to, values, 1, NULL));
    ck_assert_ptr_null(to.text);
}

TEST(unreadable_files) {
    gsw_csr csr;
    double *values;
    int64_t count;
    ck_assert_int_eq(gsw_mm_read_matrix(context, path_of("none.mtx"), &csr), GSW_ERROR_IO);
    assert_message("none.mtx: No such file");
    ck_assert_int_eq(gsw_mm_read_matrix(context, folder, &csr), GSW_ERROR_IO);
    assert_message("irectory");
    ck_assert_int_eq(gsw_mm_read_vector(context, path_of("none.mtx"), &values, &count),
                     GSW_ERROR_IO);
}

/* A file longer than the first buffer, through a file and through a pipe. */
TEST(long_files_and_pipes) {
    enum { COUNT = 100000 };
    const char *path = path_of("long.mtx");
    double *values = malloc(COUNT * sizeof *values);
    double *found = NULL;
    int64_t count = 0;
    ck_assert_ptr_nonnull(values);
    for (int i = 0; i < COUNT; i++)
        values[i] = i / 3.0;
    must(context, gsw_mm_write_vector(context, path, values, COUNT, NULL));
    must(context, gsw_mm_read_vector(context, path, &found, &count));
    ck_assert_int_eq(count, COUNT);
    ck_assert_int_eq(memcmp(found, values, COUNT * sizeof *values), 0);
    free(found);
    /* A pipe is written to, not replaced. */
    int ends[2];
    char name[64];
    char text[64] = {0};
    ck_assert_int_eq(pipe(ends), 0);
    snprintf(name, sizeof name, "/dev/fd/%d", ends[1]);
    must(context, gsw_mm_write_vector(context, name, values, 1, NULL));
    ck_assert_int_gt(read(ends[0], text, sizeof text - 1), 0);
    ck_assert_str_eq(text, ARRAY "1 1\n0\n");
    close(ends[0]);
    close(ends[1]);
    free(values);
}

/* As a shell does for "--out /dev/stdout > log": the open file stays the same. */
TEST(open_descriptors_are_appended_to) {
    const char *path = path_of("log");
    const double value = 2;
    char name[64];
    put_file(path, "before\n", 7);
    int descriptor = open(path, O_WRONLY);
    ck_assert_int_ge(descriptor, 0);
    snprintf(name, sizeof name, "/dev/fd/%d", descriptor);
    must(context, gsw_mm_write_vector(context, name, &value, 1, NULL));
    close(descriptor);
    assert_file_is(path, "before\n" ARRAY "1 1\n2\n");
    ck_assert_int_eq(count_files(), 1);
}

TEST(unwritable_places) {
    gsw_csr csr = chain3();
    ck_assert_int_eq(gsw_mm_write_matrix(context, path_of("no/such/a.mtx"), &csr, NULL),
                     GSW_ERROR_IO);
    assert_message("No such file");
    ck_assert_int_eq(gsw_mm_write_matrix(context, folder, &csr, NULL), GSW_ERROR_IO);
    assert_message("directory");
    ck_assert_int_eq(gsw_mm_write_matrix(context, "", &csr, NULL), GSW_ERROR_IO);
    if (access("/dev/full", W_OK) == 0) {
        ck_assert_int_eq(gsw_mm_write_matrix(context, "/dev/full", &csr, NULL), GSW_ERROR_IO);
        assert_message("No space left");
    }
    if (geteuid() != 0) { /* the superuser may write everywhere */
        ck_assert_int_eq(chmod(folder, 0555), 0);
        ck_assert_int_eq(gsw_mm_write_matrix(context, path_of("a.mtx"), &csr, NULL), GSW_ERROR_IO);
        ck_assert_int_eq(chmod(folder, 0755), 0);
    }
    ck_assert_int_eq(count_files(), 0);
}

/* A limit on the size of files simulates a full disk. */
TEST(an_old_file_survives_failures) {
    const char *path = path_of("a.mtx");
    struct rlimit before;
    static double values[4096];
    put_file(path, "old", 3);
    ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &before), 0);
    struct rlimit small = {.rlim_cur = 1000, .rlim_max = before.rlim_max};
    signal(SIGXFSZ, SIG_IGN);
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &small), 0);
    gsw_status status = gsw_mm_write_vector(context, path, values, 4096, NULL);
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &before), 0);
    ck_assert_int_eq(status, GSW_ERROR_IO);
    assert_message("File too large");
    assert_file_is(path, "old");
    ck_assert_int_eq(count_files(), 1);

    gsw_csr broken = chain3();
    broken.columns = (const int32_t[]){0, 1, 0, 1, 9, 1, 2};
    expect_rejection(gsw_mm_write_matrix(context, path, &broken, NULL),
                     "row 1 (0-based): column 9");
    broken.columns = columns3;
    broken.row_ptr = (const int32_t[]){0, 2, 9, 7};
    must_reject(gsw_mm_write_matrix(context, path, &broken, NULL));
    assert_file_is(path, "old");
    ck_assert_int_eq(count_files(), 1);
}

TEST(replacing_keeps_links_and_modes) {
    const char *target = path_of("target.mtx");
    const char *link = path_of("link.mtx");
    const double value = 1;
    struct stat info;
    put_file(target, "old", 3);
    ck_assert_int_eq(chmod(target, 0640), 0);
    ck_assert_int_eq(symlink("target.mtx", link), 0);
    must(context, gsw_mm_write_vector(context, link, &value, 1, NULL));
    assert_file_is(target, ARRAY "1 1\n1\n");
    ck_assert_int_eq(lstat(link, &info), 0);
    ck_assert(S_ISLNK(info.st_mode));
    ck_assert_int_eq(stat(target, &info), 0);
    ck_assert_int_eq(info.st_mode & 07777, 0640);
    ck_assert_int_eq(count_files(), 2);
}

/* A temporary name must not be longer than the system allows. */
TEST(names_of_any_length_are_written) {
    const double value = 1;
    char name[256];
    for (int length = 90; length <= 255; length += 15) {
        memset(name, 'n', sizeof name);
        name[length] = '\0';
        for (int again = 0; again < 2; again++) {
            const gsw_status status = gsw_mm_write_vector(context, path_of(name), &value, 1, NULL);
            ck_assert_msg(status == GSW_SUCCESS, "%d bytes: %s", length,
                          gsw_context_message(context));
            assert_file_is(path_of(name), ARRAY "1 1\n1\n");
            ck_assert_int_eq(count_files(), 1);
        }
        ck_assert_int_eq(unlink(path_of(name)), 0);
    }
}

/* A link to a missing file: the target is created, also through links in other folders. */
TEST(dangling_links_are_followed) {
    const double value = 1;
    struct stat info;
    ck_assert_int_eq(mkdir(path_of("sub"), 0755), 0);
    ck_assert_int_eq(symlink("sub/second", path_of("first")), 0);
    ck_assert_int_eq(symlink("../target.mtx", path_of("sub/second")), 0);
    must(context, gsw_mm_write_vector(context, path_of("first"), &value, 1, NULL));
    assert_file_is(path_of("target.mtx"), ARRAY "1 1\n1\n");
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(lstat(path_of(i == 0 ? "first" : "sub/second"), &info), 0);
        ck_assert(S_ISLNK(info.st_mode));
    }
    ck_assert_int_eq(count_files(), 3);
    ck_assert_int_eq(unlink(path_of("sub/second")), 0);
    ck_assert_int_eq(rmdir(path_of("sub")), 0);

    ck_assert_int_eq(symlink("loop", path_of("loop")), 0);
    ck_assert_int_eq(gsw_mm_write_vector(context, path_of("loop"), &value, 1, NULL), GSW_ERROR_IO);
    assert_message("loop: Too many levels of symbolic links");
    /* A failure creates no target. */
    const double *none = NULL;
    ck_assert_int_eq(symlink("missing", path_of("dangling")), 0);
    must_reject(gsw_mm_write_vector(context, path_of("dangling"), none, 1, NULL));
    ck_assert_int_eq(access(path_of("missing"), F_OK), -1);
    ck_assert_int_eq(count_files(), 4);
}

TEST(files_of_the_field) {
    static const struct {
        const char *file;
        int64_t rows, nonzeros;
    } known[] = {{"orsreg_1.mtx", 2205, 14133}, {"sherman1.mtx", 1000, 3750}};
    for (int i = 0; i < 2; i++) {
        char path[1024];
        snprintf(path, sizeof path, "%s/../shared/data/%s", GSW_SOURCE_DIR, known[i].file);
        if (access(path, R_OK) != 0) {
            printf("%s is not here: left out\n", known[i].file);
            continue;
        }
        gsw_csr csr;
        must(context, gsw_mm_read_matrix(context, path, &csr));
        ck_assert_int_eq(csr.rows, known[i].rows);
        ck_assert_int_eq(csr.nonzeros, known[i].nonzeros);
        gsw_csr_free(&csr);
    }
}

int main(void) {
    Suite *suite = suite_create("io");
    TCase *tests = suite_case(suite, "io", 120, setup, teardown);
    TESTS(tests, general_matrices, comments_blanks_and_line_ends,
          byte_order_marks_and_ends_of_files, symmetric_matrices_are_expanded,
          integer_and_sparse_matrices, numbers_are_rounded_correctly, a_locale_with_a_decimal_comma,
          bad_banners, unsupported_kinds, bad_sizes, bad_entries, duplicates, bad_values,
          strange_bytes, every_prefix_and_every_changed_byte, bad_arguments, vectors, arrays,
          matrices_come_back, a_written_matrix, text_for_a_callback, a_callback_that_fails,
          unreadable_files, long_files_and_pipes, open_descriptors_are_appended_to,
          unwritable_places, an_old_file_survives_failures, replacing_keeps_links_and_modes,
          names_of_any_length_are_written, dangling_links_are_followed, files_of_the_field);
    return backend_run_suite(suite);
}
