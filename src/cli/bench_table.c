/* bench_table.c: the table of `gridsweep bench` with rivals, at most 100 columns wide. */
#include <math.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>
#include "bench.h"

#define TABLE_WIDTH   100
#define NUMBERS_WIDTH 56 /* the columns of numbers with the spaces before them */
#define METHOD_WIDTH  14 /* at least so much of a method's name is shown */
#define TYPE_WIDTH    4  /* of a type's: tells f32-factor from f32 */
#define SHOWN_WIDTH   78

enum { COLUMN_STENCIL, COLUMN_SIZE, COLUMN_PART, COLUMN_TYPE, COLUMN_METHOD, COLUMN_CACHE };

void bench_short_size(const gsw_grid *grid, char *text, size_t size) {
    long long nx = grid->nx, ny = grid->ny, nz = grid->nz;
    if (nx == ny && ny == nz)
        (void)snprintf(text, size, "%lld^3", nx);
    else if (nz == 1)
        (void)snprintf(text, size, "%lldx%lld", nx, ny);
    else
        (void)snprintf(text, size, "%lldx%lldx%lld", nx, ny, nz);
}

/* The name of a result's precision, as in bench_precision_names. */
static const char *precision_name(const cli_result *result) {
    bool mixed = strcmp(result->factor_dtype, result->dtype) != 0;
    return mixed ? bench_precision_names[PRECISION_F32_FACTOR] : result->dtype;
}

static void widen(int *width, const char *text) {
    int length = (int)strlen(text);
    if (length > *width)
        *width = length;
}

/* Prints the names; a width of 0 leaves a column out, one that is too narrow cuts its text. */
static void print_names(const cli_options *options, const bench_table *table,
                        const char *const texts[6]) {
    bool first = true;
    for (int i = 0; i < 6; i++) {
        if (table->width[i] == 0)
            continue;
        cli_print(options, "%s%-*.*s", first ? "" : " ", table->width[i], table->width[i],
                  texts[i]);
        first = false;
    }
}

static int names_width(const bench_table *table) {
    int total = -1;
    for (int i = 0; i < 6; i++)
        total += table->width[i] > 0 ? table->width[i] + 1 : 0;
    return total;
}

/* Where the table gets too wide, gives up the header "stencil", then the column of a cache that is
 * the same in all lines, then ends of long names, the type's last. */
static void fit(const bench_plan *plan, bench_table *table) {
    int stencil = 5;
    for (int i = 0; i < plan->stencils; i++)
        widen(&stencil, gsw_stencil_name(&plan->stencil[i]));
    if (names_width(table) + NUMBERS_WIDTH > TABLE_WIDTH)
        table->width[COLUMN_STENCIL] = stencil;
    if (names_width(table) + NUMBERS_WIDTH > TABLE_WIDTH && plan->caches.count == 1)
        table->width[COLUMN_CACHE] = 0;
    int over = names_width(table) + NUMBERS_WIDTH - TABLE_WIDTH;
    int spare = table->width[COLUMN_METHOD] - METHOD_WIDTH;
    if (over > 0 && spare > 0)
        table->width[COLUMN_METHOD] -= over < spare ? over : spare;
    over = names_width(table) + NUMBERS_WIDTH - TABLE_WIDTH;
    spare = table->width[COLUMN_TYPE] - TYPE_WIDTH;
    if (over > 0 && spare > 0)
        table->width[COLUMN_TYPE] -= over < spare ? over : spare;
}

void bench_table_start(const cli_options *options, const bench_plan *plan, const char *baseline,
                       bench_table *table) {
    static const char *const headers[] = {"stencil", "size", "part", "type", "algorithm", "L2"};
    static const char *const nothing[] = {"", "", "", "", "", ""};
    char text[80];
    gsw_grid grid;
    *table = (bench_table){.baseline = baseline};
    for (int i = 0; i < 6; i++)
        table->width[i] = (int)strlen(headers[i]);
    for (int i = 0; i < plan->stencils; i++) {
        widen(&table->width[COLUMN_STENCIL], gsw_stencil_name(&plan->stencil[i]));
        for (int j = 0; j < plan->sizes; j++) {
            if (bench_parse_size(plan->size[j], &plan->stencil[i], &grid) != GSW_SUCCESS)
                continue;
            bench_short_size(&grid, text, sizeof text);
            widen(&table->width[COLUMN_SIZE], text);
        }
    }
    for (int i = 0; i < plan->parts.count; i++)
        widen(&table->width[COLUMN_PART], bench_part_names[plan->parts.values[i]]);
    for (int i = 0; i < plan->precisions.count; i++)
        widen(&table->width[COLUMN_TYPE], bench_precision_names[plan->precisions.values[i]]);
    for (int i = 0; i < plan->algorithms.count; i++)
        widen(&table->width[COLUMN_METHOD],
              gsw_algorithm_name((gsw_algorithm)plan->algorithms.values[i]));
    for (int i = 0; i < plan->rivals; i++)
        widen(&table->width[COLUMN_METHOD], plan->rival[i].name);
    widen(&table->width[COLUMN_CACHE], bench_cache_names[CACHE_WARM]);
    fit(plan, table);
    print_names(options, table, headers);
    cli_print(options, " %5s %4s %5s %5s %5s %4s %5s %4s %4s %5s\n", "setup", "buf.", "time", "min",
              "max", "eff.", "moved", "of", baseline != NULL ? "x" : "", "max");
    print_names(options, table, nothing);
    cli_print(options, " %5s %4s %5s %5s %5s %4s %5s %4s %4.4s %5s\n", "ms", "MB", "ms", "ms", "ms",
              "GB/s", "GB/s", "copy", baseline != NULL ? baseline : "", "error");
}

/* A number in `width` columns, with as many digits as fit and at most width - 2 behind the point;
 * "-" where there is none. */
static void print_number(const cli_options *options, int width, double value) {
    char text[32] = "-";
    if (value == 0) {
        cli_print(options, " %*d", width, 0);
        return;
    }
    for (int digits = width - 2; isfinite(value) && digits >= 0; digits--) {
        int length = snprintf(text, sizeof text, "%.*f", digits, value);
        if (length <= width)
            break;
        if (digits == 0)
            (void)snprintf(text, sizeof text, "%.0e", value);
    }
    cli_print(options, " %*s", width, text);
}

/* How much faster than the baseline under the same conditions; NaN where there is none. */
static double relative_speed(const bench_table *table, const bench_row *rows, int count,
                             const bench_row *row) {
    for (int i = 0; i < count && table->baseline != NULL; i++)
        if (rows[i].reason[0] == '\0' && strcmp(rows[i].result.algorithm, table->baseline) == 0 &&
            strcmp(rows[i].result.cache, row->result.cache) == 0)
            return rows[i].result.time.median / row->result.time.median;
    return NAN;
}

static void print_row(const cli_options *options, const bench_table *table, const bench_row *rows,
                      int count, const bench_row *row) {
    const cli_result *result = &row->result;
    char size[80];
    bench_short_size(&result->grid, size, sizeof size);
    const char *texts[] = {result->stencil,   size,         result->part, precision_name(result),
                           result->algorithm, result->cache};
    print_names(options, table, texts);
    if (row->reason[0] != '\0') {
        cli_print(options, " cannot run: %.*s\n", TABLE_WIDTH - 13 - names_width(table),
                  row->reason);
        return;
    }
    print_number(options, 5, result->setup_ms);
    print_number(options, 4, result->buffer_bytes * 1e-6);
    print_number(options, 5, result->time.median);
    print_number(options, 5, result->time.minimum);
    print_number(options, 5, result->time.maximum);
    print_number(options, 4, result->effective_gb_s);
    print_number(options, 5, result->moved_gb_s);
    if (isfinite(result->fraction_of_copy))
        cli_print(options, " %3.0f%%", 100 * result->fraction_of_copy);
    else
        cli_print(options, " %4s", "-");
    if (table->baseline != NULL)
        print_number(options, 4, relative_speed(table, rows, count, row));
    else
        cli_print(options, " %4s", "");
    if (row->wrong)
        cli_print(options, " %5s\n", "wrong");
    else if (row->checked)
        cli_print(options, " %5.0e\n", result->max_rel_error);
    else
        cli_print(options, " %5s\n", "-");
}

void bench_table_rows(const cli_options *options, bench_table *table, const bench_row *rows,
                      int count) {
    if (table->groups++ > 0 && count > 1)
        cli_print(options, "\n");
    for (int i = 0; i < count; i++)
        print_row(options, table, rows, count, &rows[i]);
    FILE *stream = cli_human(options);
    if (stream != NULL)
        (void)fflush(stream);
}

void bench_show(const cli_options *options, const char *format, ...) {
    FILE *stream = cli_human(options);
    if (stream == NULL || !isatty(fileno(stream)))
        return;
    char text[SHOWN_WIDTH + 1] = "";
    if (format != NULL) {
        va_list arguments;
        va_start(arguments, format);
        (void)vsnprintf(text, sizeof text, format, arguments);
        va_end(arguments);
    }
    fprintf(stream, "\r%-*s\r%s", SHOWN_WIDTH, "", text);
    (void)fflush(stream);
}
