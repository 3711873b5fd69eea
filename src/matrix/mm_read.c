/* mm_read.c: reads Matrix Market files.
 *
 * Format: Boisvert, Pozo and Remington, The Matrix Market Exchange Formats, NISTIR 5935 (1996).
 * Comments stand between the banner and the size line, blank lines anywhere after the banner. Each
 * entry has its own line. Lines may end in CR LF. A byte order mark of UTF-8 may come first, and
 * Ctrl-Z, by which DOS ended files, last.
 *
 * The whole file is read into memory. Entries are parsed into triplets and put into their rows by a
 * counting sort. A row is then sorted where the file's order was neither by rows nor by columns.
 *
 * Numbers with up to 19 digits and a power of ten up to 10^19 are converted exactly with 128-bit
 * integers; strtod() in the "C" locale converts all others. */
#include <errno.h>
#include <locale.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <gridsweep/io.h>
#include "contract/allocate.h"
#include "common/csr.h"
#include "contract/error.h"
#include "core/file.h"

/* The shortest lines of an entry: "1 1 1" and "1", with the line's end. */
#define MATRIX_LINE_MIN 6
#define VECTOR_LINE_MIN 2

/* A matrix with more rows than this must have at least one byte of file for each. */
#define FREE_ROWS (1 << 20)

/* The longest number that is accepted, in characters. */
#define NUMBER_MAX 255

__extension__ typedef unsigned __int128 uint128;

typedef enum symmetry { GENERAL, SYMMETRIC, SKEW_SYMMETRIC } symmetry;

/* The contents of banner and size line. */
typedef struct header {
    int coordinate;
    int integer;
    symmetry symmetry;
    int64_t rows, columns, entries;
} header;

/* The state of the parser. */
typedef struct reader {
    gsw_context *context;
    const char *name;
    const char *begin, *at, *end;
    const char *word; /* the last one begins here */
    int64_t line;
} reader;

/* The entries in the file's order, without expanded entries. */
typedef struct triplets {
    void *rows, *columns; /* index_type, base 0 */
    double *values;
    gsw_itype index_type;
    int64_t count;
    int64_t mirrored; /* entries off the diagonal of a symmetric file */
} triplets;

static gsw_status fail_at(const reader *r, gsw_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static int is_printable(char c) {
    return c > ' ' && c < 127;
}

/* Control characters belong to words, except those that end them. */
static int is_in_word(char c) {
    return (unsigned char)c > ' ' || (c != ' ' && c != '\t' && c != '\r' && c != '\n');
}

/* Writes where the last word has a byte that nobody sees, if it has one. */
static void print_strange(const reader *r, char *text, size_t size) {
    const char *byte = r->word;
    while (byte < r->at && is_printable(*byte))
        byte++;
    if (byte == r->at || !is_in_word(*byte))
        return;
    const char *begin = byte;
    while (begin > r->begin && begin[-1] != '\n')
        begin--;
    (void)snprintf(text, size, " (byte \\x%02X in column %lld)", (unsigned)(unsigned char)*byte,
                   (long long)(byte - begin + 1));
}

static gsw_status fail_at(const reader *r, gsw_status status, const char *format, ...) {
    char text[320];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    const size_t length = strlen(text);
    print_strange(r, text + length, sizeof text - length);
    return gsw_fail(r->context, status, "%.160s: line %lld: %s", r->name, (long long)r->line, text);
}

/* ---- characters and lines ---------------------------------------------------------------------*/

static void skip_blanks(reader *r) {
    while (r->at < r->end && (*r->at == ' ' || *r->at == '\t' || *r->at == '\r'))
        r->at++;
}

/* Moves to the first character of the next line that is not blank; 0 at the end of the file. */
static int skip_blank_lines(reader *r) {
    for (skip_blanks(r); r->at < r->end && *r->at == '\n'; skip_blanks(r)) {
        r->at++;
        r->line++;
    }
    return r->at < r->end;
}

static void skip_line(reader *r) {
    const char *newline = memchr(r->at, '\n', (size_t)(r->end - r->at));
    r->at = newline ? newline : r->end;
}

/* The next word of the line; its length is 0 at the line's end. */
static const char *next_word(reader *r, int *length) {
    skip_blanks(r);
    const char *word = r->at;
    while (r->at < r->end && is_in_word(*r->at))
        r->at++;
    r->word = word;
    *length = r->at - word > NUMBER_MAX ? NUMBER_MAX + 1 : (int)(r->at - word);
    return word;
}

/* A word as a message shows it: some 40 characters, and bytes that nobody sees by their codes. */
typedef struct shown {
    char text[48];
} shown;

static shown show(const char *word, int length) {
    shown s;
    int n = 0, i = 0;
    for (; i < length && n < 40; i++)
        n += snprintf(s.text + n, 5, is_printable(word[i]) ? "%c" : "\\x%02X",
                      (unsigned)(unsigned char)word[i]);
    memcpy(s.text + n, i < length ? "..." : "", i < length ? 4 : 1);
    return s;
}

static gsw_status end_line(reader *r) {
    int length;
    const char *word = next_word(r, &length);
    if (length > 0)
        return fail_at(r, GSW_ERROR_FORMAT, "surplus '%s'", show(word, length).text);
    return GSW_SUCCESS;
}

/* ---- numbers ----------------------------------------------------------------------------------*/

/* A whole number >= 0 that fits in 64 bits. */
static gsw_status read_whole(reader *r, const char *what, int64_t *value) {
    int length;
    const char *word = next_word(r, &length);
    if (length == 0)
        return fail_at(r, GSW_ERROR_FORMAT, "no %s", what);
    int64_t sum = 0;
    for (const char *c = word; c < r->at; c++) {
        if (*c < '0' || *c > '9')
            return fail_at(r, GSW_ERROR_FORMAT, "%s '%s' is not a whole number >= 0", what,
                           show(word, length).text);
        if (__builtin_mul_overflow(sum, (int64_t)10, &sum) ||
            __builtin_add_overflow(sum, (int64_t)(*c - '0'), &sum))
            return fail_at(r, GSW_ERROR_OVERFLOW, "%s '%s' does not fit in 64 bits", what,
                           show(word, length).text);
    }
    *value = sum;
    return GSW_SUCCESS;
}

/* A decimal number taken apart: digits * 10^exponent. */
typedef struct decimal {
    uint64_t digits;
    int exponent;
    int negative;
    int whole; /* neither point nor exponent */
    int exact; /* `digits` holds all digits, and the exponent did not overflow */
} decimal;

/* Reads "e+12" of a number; 0 where it is malformed. */
static int scan_exponent(const char **cursor, const char *end, decimal *d) {
    const char *c = *cursor + 1;
    int negative = c < end && *c == '-';
    if (c < end && (*c == '-' || *c == '+'))
        c++;
    if (c == end || *c < '0' || *c > '9')
        return 0;
    int exponent = 0;
    for (; c < end && *c >= '0' && *c <= '9'; c++) {
        if (exponent < 10000)
            exponent = 10 * exponent + (*c - '0');
    }
    d->exponent += negative ? -exponent : exponent;
    *cursor = c;
    return 1;
}

/* Takes [c, end) apart; 0 where it is not [+-]digits[.digits][e[+-]digits]. */
static int scan_decimal(const char *c, const char *end, decimal *d) {
    *d = (decimal){.whole = 1, .exact = 1};
    if (c < end && (*c == '-' || *c == '+'))
        d->negative = *c++ == '-';
    int any = 0;
    int significant = 0;
    for (; c < end && ((*c >= '0' && *c <= '9') || (*c == '.' && d->whole)); c++) {
        if (*c == '.') {
            d->whole = 0;
            continue;
        }
        any = 1;
        significant += significant > 0 || *c != '0';
        if (significant > 19) {
            d->exact = 0;
            continue;
        }
        d->digits = 10 * d->digits + (uint64_t)(*c - '0');
        d->exponent -= !d->whole;
    }
    if (any && c < end && (*c == 'e' || *c == 'E')) {
        d->whole = 0;
        if (!scan_exponent(&c, end, d))
            return 0;
    }
    return any && c == end;
}

/* digits * 10^exponent, correctly rounded, for |exponent| <= 19. The conversion of a 128-bit
 * integer rounds correctly. A quotient keeps at least 63 bits, and its last bit records whether
 * there was a remainder. */
static double convert_decimal(const decimal *d) {
    uint64_t power = 1;
    for (int e = abs(d->exponent); e > 0; e--)
        power *= 10;
    double value;
    if (d->digits == 0) {
        value = 0.0;
    } else if (d->exponent >= 0) {
        value = (double)((uint128)d->digits * power);
    } else {
        int shift = __builtin_clzll(d->digits) + 63;
        uint128 numerator = (uint128)d->digits << shift;
        uint128 quotient = numerator / power;
        quotient |= numerator != quotient * power;
        value = ldexp((double)quotient, -shift);
    }
    return d->negative ? -value : value;
}

static int is_non_finite_word(const char *word, int length) {
    static const char *const words[] = {"nan", "inf", "infinity"};
    if (length > 0 && (*word == '-' || *word == '+')) {
        word++;
        length--;
    }
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if ((size_t)length == strlen(words[i]) && strncasecmp(word, words[i], (size_t)length) == 0)
            return 1;
    return 0;
}

/* A value of the file's field. NaN and infinity are refused unless `any_value` is set. */
static gsw_status read_value(reader *r, int integer, int any_value, double *value) {
    int length;
    const char *word = next_word(r, &length);
    decimal d = {0};
    int non_finite = is_non_finite_word(word, length);
    if (length == 0)
        return fail_at(r, GSW_ERROR_FORMAT, "no value");
    if (length > NUMBER_MAX || (!non_finite && !scan_decimal(word, word + length, &d)))
        return fail_at(r, GSW_ERROR_FORMAT, "value '%s' is not a number", show(word, length).text);
    if (integer && (non_finite || !d.whole))
        return fail_at(r, GSW_ERROR_FORMAT, "value '%s' is not an integer",
                       show(word, length).text);
    if (!non_finite && d.exact && abs(d.exponent) <= 19) {
        *value = convert_decimal(&d);
        return GSW_SUCCESS;
    }
    char copy[NUMBER_MAX + 1];
    memcpy(copy, word, (size_t)length);
    copy[length] = '\0';
    *value = strtod(copy, NULL);
    if (!any_value && !isfinite(*value))
        return fail_at(r, GSW_ERROR_FORMAT, "value '%s' is not a finite number",
                       show(word, length).text);
    return GSW_SUCCESS;
}

/* ---- banner and size --------------------------------------------------------------------------*/

static int same_word(const char *word, int length, const char *name) {
    return (size_t)length == strlen(name) && strncasecmp(word, name, (size_t)length) == 0;
}

/* Reads a word of the banner and finds its index in `names` (ends with NULL). */
static gsw_status read_keyword(reader *r, const char *what, const char *const *names, int *index) {
    int length;
    const char *word = next_word(r, &length);
    for (*index = 0; names[*index]; ++*index)
        if (same_word(word, length, names[*index]))
            return GSW_SUCCESS;
    return fail_at(r, GSW_ERROR_FORMAT,
                   "the banner's %s is '%s', which Matrix Market does not know", what,
                   show(word, length).text);
}

static gsw_status read_banner(reader *r, header *h) {
    static const char *const formats[] = {"array", "coordinate", NULL};
    static const char *const fields[] = {"real", "integer", "pattern", "complex", NULL};
    static const char *const symmetries[] = {"general", "symmetric", "skew-symmetric", "hermitian",
                                             NULL};
    int length;
    int field;
    int kind;
    const char *word = next_word(r, &length);
    if (length >= 2 && (memcmp(word, "\xFF\xFE", 2) == 0 || memcmp(word, "\xFE\xFF", 2) == 0))
        return fail_at(r, GSW_ERROR_FORMAT, "the file is in UTF-16; save it as UTF-8");
    if (!same_word(word, length, "%%MatrixMarket"))
        return fail_at(r, GSW_ERROR_FORMAT,
                       "not a Matrix Market file: it does not begin with %%%%MatrixMarket");
    word = next_word(r, &length);
    if (!same_word(word, length, "matrix"))
        return fail_at(r, GSW_ERROR_FORMAT, "the banner's object is '%s', not 'matrix'",
                       show(word, length).text);
    GSW_TRY(read_keyword(r, "format", formats, &h->coordinate));
    GSW_TRY(read_keyword(r, "field", fields, &field));
    GSW_TRY(read_keyword(r, "symmetry", symmetries, &kind));
    GSW_TRY(end_line(r));
    if (field == 2)
        return fail_at(r, GSW_ERROR_UNSUPPORTED,
                       "pattern matrices are not supported: they have no values to solve with");
    if (field == 3 || kind == 3)
        return fail_at(r, GSW_ERROR_UNSUPPORTED,
                       "%s matrices are not supported: values must be real",
                       field == 3 ? "complex" : "Hermitian");
    h->integer = field == 1;
    h->symmetry = (symmetry)kind;
    return GSW_SUCCESS;
}

/* Reads the size line. Each entry needs a line of at least `line_min` bytes; the last one may lack
 * its line end. A header that promises more entries than fit is refused here. */
static gsw_status read_size(reader *r, header *h, int64_t line_min) {
    while (skip_blank_lines(r) && *r->at == '%')
        skip_line(r);
    if (r->at == r->end)
        return fail_at(r, GSW_ERROR_FORMAT, "the file ends before the size line");
    GSW_TRY(read_whole(r, "number of rows", &h->rows));
    GSW_TRY(read_whole(r, "number of columns", &h->columns));
    if (h->coordinate)
        GSW_TRY(read_whole(r, "number of entries", &h->entries));
    else if (__builtin_mul_overflow(h->rows, h->columns, &h->entries))
        h->entries = INT64_MAX;
    GSW_TRY(end_line(r));
    if (h->rows < 1 || h->columns < 1)
        return fail_at(r, GSW_ERROR_FORMAT, "%lld rows and %lld columns: at least one is needed",
                       (long long)h->rows, (long long)h->columns);
    int64_t most = (r->end - r->at) / line_min;
    if (h->entries > most)
        return fail_at(
            r, GSW_ERROR_FORMAT,
            "truncated: the header promises %lld entries, but the rest of the file holds "
            "at most %lld",
            (long long)h->entries, (long long)most);
    return GSW_SUCCESS;
}

/* Moves to the line of entry k. */
static gsw_status next_entry(reader *r, const header *h, int64_t k) {
    if (!skip_blank_lines(r))
        return fail_at(r, GSW_ERROR_FORMAT, "truncated: the file ends after %lld of %lld entries",
                       (long long)k, (long long)h->entries);
    return GSW_SUCCESS;
}

static gsw_status end_file(reader *r, const header *h) {
    if (!skip_blank_lines(r))
        return GSW_SUCCESS;
    int length;
    const char *word = next_word(r, &length);
    return fail_at(r, GSW_ERROR_FORMAT, "surplus '%s' after the %lld entries",
                   show(word, length).text, (long long)h->entries);
}

/* ---- matrices ---------------------------------------------------------------------------------*/

static gsw_status check_matrix_header(const reader *r, const header *h) {
    if (h->rows != h->columns)
        return fail_at(r, GSW_ERROR_INVALID_ARGUMENT,
                       "the matrix is not square: %lld rows, %lld columns", (long long)h->rows,
                       (long long)h->columns);
    if (h->rows > FREE_ROWS && h->rows > r->end - r->at)
        return fail_at(r, GSW_ERROR_FORMAT,
                       "the header promises %lld rows, but the file is too short to fill them",
                       (long long)h->rows);
    return GSW_SUCCESS;
}

/* Reads "row column" of an entry, base 0. */
static gsw_status read_position(reader *r, const header *h, int64_t *row, int64_t *column) {
    GSW_TRY(read_whole(r, "row", row));
    GSW_TRY(read_whole(r, "column", column));
    if (*row < 1 || *row > h->rows || *column < 1 || *column > h->columns)
        return fail_at(r, GSW_ERROR_FORMAT, "entry (%lld, %lld) is outside the %lld x %lld matrix",
                       (long long)*row, (long long)*column, (long long)h->rows,
                       (long long)h->columns);
    if (h->symmetry != GENERAL && *column > *row)
        return fail_at(r, GSW_ERROR_FORMAT,
                       "entry (%lld, %lld) is above the diagonal of a symmetric file",
                       (long long)*row, (long long)*column);
    if (h->symmetry == SKEW_SYMMETRIC && *column == *row)
        return fail_at(r, GSW_ERROR_FORMAT,
                       "entry (%lld, %lld) is on the diagonal of a skew-symmetric file",
                       (long long)*row, (long long)*column);
    --*row;
    --*column;
    return GSW_SUCCESS;
}

static gsw_status read_triplets(reader *r, const header *h, triplets *t) {
    for (int64_t k = 0; k < h->entries; k++) {
        int64_t row;
        int64_t column;
        GSW_TRY(next_entry(r, h, k));
        GSW_TRY(read_position(r, h, &row, &column));
        GSW_TRY(read_value(r, h->integer, 0, &t->values[k]));
        GSW_TRY(end_line(r));
        gsw_index_put(t->rows, t->index_type, k, row);
        gsw_index_put(t->columns, t->index_type, k, column);
        t->mirrored += h->symmetry != GENERAL && row != column;
    }
    t->count = h->entries;
    return end_file(r, h);
}

static gsw_status allocate_triplets(const reader *r, const header *h, triplets *t) {
    size_t count = (size_t)h->entries;
    void *values = NULL;
    t->index_type = h->rows <= INT32_MAX ? GSW_I32 : GSW_I64;
    size_t size = gsw_itype_size(t->index_type);
    GSW_TRY(gsw_alloc(r->context, count, size, "rows of the file", &t->rows));
    GSW_TRY(gsw_alloc(r->context, count, size, "columns of the file", &t->columns));
    GSW_TRY(gsw_alloc(r->context, count, sizeof(double), "values of the file", &values));
    t->values = values;
    return GSW_SUCCESS;
}

static void free_triplets(triplets *t) {
    free(t->values);
    free(t->columns);
    free(t->rows);
}

/* Allocates the arrays of the result and counts the entries of each row: row i's in row_ptr[i+1],
 * summed up to the start of row i in row_ptr[i]. */
static gsw_status begin_csr(const reader *r, const header *h, const triplets *t, gsw_csr *csr) {
    void *row_ptr = NULL;
    void *columns = NULL;
    void *values = NULL;
    int64_t nonzeros = t->count + t->mirrored;
    gsw_itype type = h->rows <= INT32_MAX && nonzeros <= INT32_MAX ? GSW_I32 : GSW_I64;
    *csr = (gsw_csr){.rows = h->rows, .nonzeros = nonzeros, .index_type = type};
    size_t size = gsw_itype_size(type);
    GSW_TRY(gsw_alloc(r->context, (size_t)h->rows + 1, size, "row pointers", &row_ptr));
    csr->row_ptr = row_ptr;
    GSW_TRY(gsw_alloc(r->context, (size_t)nonzeros, size, "columns", &columns));
    csr->columns = columns;
    GSW_TRY(gsw_alloc(r->context, (size_t)nonzeros, sizeof(double), "values", &values));
    csr->values = values;

    memset(row_ptr, 0, ((size_t)h->rows + 1) * size);
    for (int64_t k = 0; k < t->count; k++) {
        int64_t row = gsw_index_at(t->rows, t->index_type, k);
        int64_t column = gsw_index_at(t->columns, t->index_type, k);
        gsw_index_put(row_ptr, type, row + 1, gsw_index_at(row_ptr, type, row + 1) + 1);
        if (h->symmetry != GENERAL && row != column)
            gsw_index_put(row_ptr, type, column + 1, gsw_index_at(row_ptr, type, column + 1) + 1);
    }
    for (int64_t row = 0; row < h->rows; row++)
        gsw_index_put(row_ptr, type, row + 1,
                      gsw_index_at(row_ptr, type, row + 1) + gsw_index_at(row_ptr, type, row));
    return GSW_SUCCESS;
}

/* Appends an entry to its row; row_ptr[row] is the place of the row's next entry. */
static void put_entry(const gsw_csr *csr, int64_t row, int64_t column, double value) {
    int64_t place = gsw_index_at(csr->row_ptr, csr->index_type, row);
    gsw_index_put((void *)csr->columns, csr->index_type, place, column);
    ((double *)csr->values)[place] = value;
    gsw_index_put((void *)csr->row_ptr, csr->index_type, row, place + 1);
}

static void fill_csr(const header *h, const triplets *t, const gsw_csr *csr) {
    for (int64_t k = 0; k < t->count; k++) {
        int64_t row = gsw_index_at(t->rows, t->index_type, k);
        int64_t column = gsw_index_at(t->columns, t->index_type, k);
        put_entry(csr, row, column, t->values[k]);
        if (h->symmetry != GENERAL && row != column)
            put_entry(csr, column, row, h->symmetry == SYMMETRIC ? t->values[k] : -t->values[k]);
    }
    /* Every row_ptr[i] has moved to the start of row i + 1. */
    for (int64_t row = csr->rows; row > 0; row--)
        gsw_index_put((void *)csr->row_ptr, csr->index_type, row,
                      gsw_index_at(csr->row_ptr, csr->index_type, row - 1));
    gsw_index_put((void *)csr->row_ptr, csr->index_type, 0, 0);
}

typedef struct row_entry {
    int64_t column;
    double value;
} row_entry;

static int by_column(const void *a, const void *b) {
    const row_entry *p = a;
    const row_entry *q = b;
    return (p->column > q->column) - (p->column < q->column);
}

static gsw_status sort_row(const reader *r, const gsw_csr *csr, int64_t begin, int64_t end) {
    void *memory = NULL;
    double *values = (double *)csr->values;
    GSW_TRY(gsw_alloc(r->context, (size_t)(end - begin), sizeof(row_entry), "a row", &memory));
    row_entry *entries = memory;
    for (int64_t k = begin; k < end; k++)
        entries[k - begin] = (row_entry){gsw_index_at(csr->columns, csr->index_type, k), values[k]};
    qsort(entries, (size_t)(end - begin), sizeof *entries, by_column);
    for (int64_t k = begin; k < end; k++) {
        gsw_index_put((void *)csr->columns, csr->index_type, k, entries[k - begin].column);
        values[k] = entries[k - begin].value;
    }
    free(entries);
    return GSW_SUCCESS;
}

/* Parses the file's entries once more, to report the line of the second of two equal entries. */
static gsw_status refuse_duplicate(const reader *entries, const header *h, int64_t row,
                                   int64_t column) {
    reader r = *entries;
    int64_t first = 0;
    int64_t i = 0;
    int64_t j = 0;
    for (int64_t k = 0; k < h->entries; k++) {
        GSW_TRY(next_entry(&r, h, k));
        GSW_TRY(read_position(&r, h, &i, &j));
        if (i == row && j == column) {
            if (first > 0)
                break;
            first = r.line;
        }
        skip_line(&r);
    }
    return fail_at(&r, GSW_ERROR_FORMAT, "entry (%lld, %lld) is a duplicate of that in line %lld",
                   (long long)row + 1, (long long)column + 1, (long long)first);
}

/* Sorts the rows that need it and refuses duplicates. */
static gsw_status order_csr(const reader *entries, const header *h, const gsw_csr *csr) {
    int64_t begin = 0;
    for (int64_t row = 0; row < csr->rows; row++) {
        int64_t end = gsw_index_at(csr->row_ptr, csr->index_type, row + 1);
        int sorted = 0;
        for (int64_t k = begin + 1; k < end; k++) {
            int64_t before = gsw_index_at(csr->columns, csr->index_type, k - 1);
            int64_t column = gsw_index_at(csr->columns, csr->index_type, k);
            if (before < column)
                continue;
            if (before == column) {
                int swap = h->symmetry != GENERAL && column > row;
                return refuse_duplicate(entries, h, swap ? column : row, swap ? row : column);
            }
            if (!sorted) {
                GSW_TRY(sort_row(entries, csr, begin, end));
                sorted = 1;
                k = begin;
            }
        }
        begin = end;
    }
    return GSW_SUCCESS;
}

/* `result` receives a gsw_csr. */
static gsw_status parse_matrix(reader *r, void *result) {
    header h = {0};
    triplets t = {0};
    gsw_csr csr = {0};
    gsw_status status;
    GSW_TRY(read_banner(r, &h));
    if (!h.coordinate)
        return fail_at(r, GSW_ERROR_UNSUPPORTED,
                       "an array (a dense matrix or vector) where a coordinate matrix is needed");
    GSW_TRY(read_size(r, &h, MATRIX_LINE_MIN));
    GSW_TRY(check_matrix_header(r, &h));
    const reader entries = *r;
    GSW_TRY_GOTO(allocate_triplets(r, &h, &t), cleanup);
    GSW_TRY_GOTO(read_triplets(r, &h, &t), cleanup);
    GSW_TRY_GOTO(begin_csr(r, &h, &t, &csr), cleanup);
    fill_csr(&h, &t, &csr);
    GSW_TRY_GOTO(order_csr(&entries, &h, &csr), cleanup);
    *(gsw_csr *)result = csr;
    csr = (gsw_csr){0};
cleanup:
    gsw_csr_free(&csr);
    free_triplets(&t);
    return status;
}

typedef struct vector {
    double *values;
    int64_t count;
    int any_value; /* NaN and infinity are accepted; set before the call, */
    int any_width; /* and so are several columns */
    int64_t columns;
} vector;

/* `result` receives a vector's values and their count. */
static gsw_status parse_vector(reader *r, void *result) {
    header h = {0};
    vector *out = result;
    void *memory = NULL;
    gsw_status status;
    GSW_TRY(read_banner(r, &h));
    if (h.coordinate)
        return fail_at(r, GSW_ERROR_UNSUPPORTED,
                       "a coordinate matrix where a vector (a dense array) is needed");
    if (h.symmetry != GENERAL)
        return fail_at(r, GSW_ERROR_UNSUPPORTED, "a symmetric array where a vector is needed");
    GSW_TRY(read_size(r, &h, VECTOR_LINE_MIN));
    if (h.columns != 1 && !out->any_width)
        return fail_at(r, GSW_ERROR_UNSUPPORTED, "%lld columns; a vector has one",
                       (long long)h.columns);
    GSW_TRY(gsw_alloc(r->context, (size_t)h.entries, sizeof(double), "vector", &memory));
    double *v = memory;
    for (int64_t k = 0; k < h.entries; k++) {
        GSW_TRY_GOTO(next_entry(r, &h, k), cleanup);
        GSW_TRY_GOTO(read_value(r, h.integer, out->any_value, &v[k]), cleanup);
        GSW_TRY_GOTO(end_line(r), cleanup);
    }
    GSW_TRY_GOTO(end_file(r, &h), cleanup);
    out->values = v;
    out->count = h.rows;
    out->columns = h.columns;
    return GSW_SUCCESS;
cleanup:
    free(v);
    return status;
}

/* ---- files ------------------------------------------------------------------------------------*/

/* Reads the rest of a stream. Pipes have no known size, so the buffer grows. */
static gsw_status read_stream(gsw_context *context, const char *path, FILE *file, char **text,
                              size_t *size) {
    size_t capacity = 1 << 16;
    size_t length = 0;
    char *buffer = malloc(capacity);
    while (buffer) {
        length += fread(buffer + length, 1, capacity - length, file);
        if (length < capacity)
            break;
        capacity *= 2;
        char *grown = capacity > length ? realloc(buffer, capacity) : NULL;
        if (!grown)
            free(buffer);
        buffer = grown;
    }
    if (!buffer)
        return gsw_fail(context, GSW_ERROR_OUT_OF_MEMORY, "%.160s: no memory to read the file",
                        path);
    if (ferror(file)) {
        int reason = errno;
        free(buffer);
        return gsw_file_fail(context, "read", path, reason);
    }
    *text = buffer;
    *size = length;
    return GSW_SUCCESS;
}

static gsw_status read_file(gsw_context *context, const char *path, char **text, size_t *size) {
    FILE *file = fopen(path, "rb");
    if (!file)
        return gsw_file_fail(context, "open", path, errno);
    gsw_status status = read_stream(context, path, file, text, size);
    (void)fclose(file);
    return status;
}

/* Runs `parse` in the "C" locale, because these files use a decimal point whatever the thread's
 * locale. */
static gsw_status in_c_locale(reader *r, gsw_status (*parse)(reader *r, void *result),
                              void *result) {
    locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (c == (locale_t)0)
        return gsw_fail(r->context, GSW_ERROR_OUT_OF_MEMORY, "no memory for the C locale");
    locale_t before = uselocale(c);
    gsw_status status = parse(r, result);
    uselocale(before);
    freelocale(c);
    return status;
}

static reader open_text(gsw_context *context, const char *name, const char *text, size_t size) {
    if (!text)
        text = "";
    if (size >= 3 && memcmp(text, "\xEF\xBB\xBF", 3) == 0) {
        text += 3;
        size -= 3;
    }
    const char *end = text + size, *tail = end;
    while (tail > text && (tail[-1] == '\x1A' || !is_in_word(tail[-1])))
        tail--;
    const char *mark = memchr(tail, '\x1A', (size_t)(end - tail));
    return (reader){.context = context,
                    .name = name,
                    .begin = text,
                    .at = text,
                    .end = mark ? mark : end,
                    .word = text,
                    .line = 1};
}

gsw_status gsw_mm_parse_matrix(gsw_context *context, const char *name, const char *text,
                               size_t size, gsw_csr *csr) {
    GSW_REQUIRE(context, name, "name must not be NULL");
    GSW_REQUIRE(context, text || size == 0, "text must not be NULL");
    GSW_REQUIRE(context, csr, "csr must not be NULL");
    reader r = open_text(context, name, text, size);
    return in_c_locale(&r, parse_matrix, csr);
}

gsw_status gsw_mm_read_matrix(gsw_context *context, const char *path, gsw_csr *csr) {
    GSW_REQUIRE(context, path, "path must not be NULL");
    GSW_REQUIRE(context, csr, "csr must not be NULL");
    char *text = NULL;
    size_t size = 0;
    GSW_TRY(read_file(context, path, &text, &size));
    gsw_status status = gsw_mm_parse_matrix(context, path, text, size, csr);
    free(text);
    return status;
}

static gsw_status parse_values(gsw_context *context, const char *name, const char *text,
                               size_t size, int any_value, double **values, int64_t *count) {
    GSW_REQUIRE(context, name, "name must not be NULL");
    GSW_REQUIRE(context, text || size == 0, "text must not be NULL");
    GSW_REQUIRE(context, values, "values must not be NULL");
    GSW_REQUIRE(context, count, "count must not be NULL");
    reader r = open_text(context, name, text, size);
    vector v = {.any_value = any_value};
    GSW_TRY(in_c_locale(&r, parse_vector, &v));
    *values = v.values;
    *count = v.count;
    return GSW_SUCCESS;
}

static gsw_status read_vector(gsw_context *context, const char *path, int any_value,
                              double **values, int64_t *count) {
    GSW_REQUIRE(context, path, "path must not be NULL");
    GSW_REQUIRE(context, values, "values must not be NULL");
    GSW_REQUIRE(context, count, "count must not be NULL");
    char *text = NULL;
    size_t size = 0;
    GSW_TRY(read_file(context, path, &text, &size));
    gsw_status status = parse_values(context, path, text, size, any_value, values, count);
    free(text);
    return status;
}

gsw_status gsw_mm_parse_finite_vector(gsw_context *context, const char *name, const char *text,
                                      size_t size, double **values, int64_t *count) {
    return parse_values(context, name, text, size, 0, values, count);
}

gsw_status gsw_mm_parse_array(gsw_context *context, const char *name, const char *text, size_t size,
                              double **values, int64_t *rows, int64_t *columns) {
    GSW_REQUIRE(context, name, "name must not be NULL");
    GSW_REQUIRE(context, text || size == 0, "text must not be NULL");
    GSW_REQUIRE(context, values && rows && columns, "values, rows and columns must not be NULL");
    reader r = open_text(context, name, text, size);
    vector v = {.any_width = 1};
    GSW_TRY(in_c_locale(&r, parse_vector, &v));
    *values = v.values;
    *rows = v.count;
    *columns = v.columns;
    return GSW_SUCCESS;
}

gsw_status gsw_mm_read_vector(gsw_context *context, const char *path, double **values,
                              int64_t *count) {
    return read_vector(context, path, 1, values, count);
}

gsw_status gsw_mm_read_finite_vector(gsw_context *context, const char *path, double **values,
                                     int64_t *count) {
    return read_vector(context, path, 0, values, count);
}
