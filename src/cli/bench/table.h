/* table.h: the results as a table: columns of names, then columns of numbers. */
#ifndef GSW_CLI_BENCH_TABLE_H
#define GSW_CLI_BENCH_TABLE_H

#include "bench/case/case.h"

#define BENCH_COLUMNS_MAX 20
#define BENCH_CELL_SIZE   128

/* A member of a row, by its key in the JSON if it has one. */
typedef struct bench_field {
    const char *key;
    enum { BENCH_TEXT, BENCH_COUNT, BENCH_NUMBER } kind;
    size_t offset;
} bench_field;

extern const bench_field bench_fields[];
extern const int bench_field_count;

/* A column. Names are on the left of theirs and cut where they do not fit, numbers on the right.
 * One without a head is empty. */
typedef struct bench_column {
    const char *head, *unit; /* the two lines above it */
    int width;
    const char *key; /* of the field that it shows, or: */
    void (*cell)(const bench_row *row, int width, char *text);
    bool apart;         /* a group of columns begins here */
    double scale;       /* of a number, unless it is 0 */
    bool zero;          /* a number that is zero is short, for narrow columns */
    const char *ending; /* of a whole number, such as "%" */
} bench_column;

typedef struct bench_table {
    int names, count; /* columns of names, all columns */
    bench_column column[BENCH_COLUMNS_MAX];
    const char *gap;      /* between groups of columns */
    bool parted;          /* groups of rows have an empty line between them */
    const char *baseline; /* the algorithm that speeds are relative to, or NULL */
    int groups;           /* of rows, printed so far */
} bench_table;

/* The columns for a plan. `baseline` may be NULL. */
void bench_table_make(const bench_plan *plan, const char *baseline, bench_table *table);

void bench_table_head(const cli_options *options, const bench_table *table);

/* Prints the rows of one group. */
void bench_table_rows(const cli_options *options, bench_table *table, const bench_row *rows,
                      int count);

/* "256^3", or "60x220x85". */
void bench_short_size(const gsw_grid *grid, char *text, size_t size);

#endif
