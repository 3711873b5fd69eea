/* table.c: the results as a table, at most 100 columns wide. */
#include "table.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

#define TABLE_WIDTH  100
#define METHOD_WIDTH 14 /* at least so much of a method's name is shown */
#define TYPE_WIDTH   4  /* of a type: separates f32-factor from f32 */

/* ---- Cells ---------------------------------------------------------------------------------- */

/* What a number looks like: with as many digits as fit, at most three behind the point, unless its
 * column says otherwise; "-" where there is none. */
static void print_number(char *text, const bench_column *column, double value) {
    const int width = column->width;
    if (column->scale != 0)
        value *= column->scale;
    (void)snprintf(text, BENCH_CELL_SIZE, column->zero && value == 0 ? "0" : "-");
    if (!isfinite(value) || (column->zero && value == 0))
        return;
    if (column->ending != NULL) {
        (void)snprintf(text, BENCH_CELL_SIZE, "%.0f%s", value, column->ending);
        return;
    }
    for (int digits = width < 5 ? width - 2 : 3; digits >= 0; digits--)
        if (snprintf(text, BENCH_CELL_SIZE, "%.*f", digits, value) <= width)
            return;
    (void)snprintf(text, BENCH_CELL_SIZE, "%.0e", value);
}

static void copy_name(char *text, const char *name) {
    (void)snprintf(text, BENCH_CELL_SIZE, "%s", name);
}

/* Cells whose form does not depend on the width. */
#define CELL(name)                                                                                 \
    static void name(const bench_row *row, int width __attribute__((unused)), char *text)

CELL(cell_height) {
    (void)snprintf(text, BENCH_CELL_SIZE, "%d%s", (int)row->height, row->chosen ? "*" : "");
}

CELL(cell_tile) {
    (void)snprintf(text, BENCH_CELL_SIZE, "%lldx%lldx%lld", (long long)row->tile[0],
                   (long long)row->tile[1], (long long)row->tile[2]);
}

CELL(cell_error) {
    (void)snprintf(text, BENCH_CELL_SIZE, "%.0e", row->max_rel_error);
}

CELL(cell_judged_error) {
    if (row->wrong)
        copy_name(text, "wrong");
    else if (row->checked)
        cell_error(row, width, text);
    else
        copy_name(text, "-");
}

/* With a mark where it is not what it was to be. */
CELL(cell_residual) {
    (void)snprintf(text, BENCH_CELL_SIZE, "%.1e%s", row->residual,
                   row->wrong        ? "!"
                   : !row->converged ? "*"
                   : row->missed     ? "~"
                                     : " ");
}

CELL(cell_scaled_residual) {
    (void)snprintf(text, BENCH_CELL_SIZE, "%.1e", row->scaled_residual);
}

static void full_size(const gsw_grid *grid, char *text, size_t size) {
    (void)snprintf(text, size, "%lldx%lldx%lld", (long long)grid->nx, (long long)grid->ny,
                   (long long)grid->nz);
}

void bench_short_size(const gsw_grid *grid, char *text, size_t size) {
    long long nx = grid->nx, ny = grid->ny, nz = grid->nz;
    if (nx == ny && ny == nz)
        (void)snprintf(text, size, "%lld^3", nx);
    else if (nz == 1)
        (void)snprintf(text, size, "%lldx%lld", nx, ny);
    else
        full_size(grid, text, size);
}

CELL(cell_full_size) {
    full_size(&row->grid, text, BENCH_CELL_SIZE);
}

CELL(cell_short_size) {
    bench_short_size(&row->grid, text, BENCH_CELL_SIZE);
}

/* The name of the precision, as in bench_precision_names. */
CELL(cell_type) {
    bool mixed = strcmp(row->factor_dtype, row->dtype) != 0;
    copy_name(text, mixed ? cli_choice(OPT_PRECISION, PRECISION_F32_FACTOR) : row->dtype);
}

/* ---- Columns -------------------------------------------------------------------------------- */

enum { COLUMN_STENCIL, COLUMN_SIZE, COLUMN_PART, COLUMN_TYPE, COLUMN_METHOD, COLUMN_CACHE };

#define TEXT(field)                                                                                \
    { #field, BENCH_TEXT, offsetof(bench_row, field) }
#define COUNT(field)                                                                               \
    { #field, BENCH_COUNT, offsetof(bench_row, field) }
#define NUMBER(field)                                                                              \
    { #field, BENCH_NUMBER, offsetof(bench_row, field) }

const bench_field bench_fields[] = {
    TEXT(part),    TEXT(backend),    NUMBER(residual),     NUMBER(buffer_bytes),
    TEXT(kind),    TEXT(toolkit),    NUMBER(setup_ms),     NUMBER(rated_gflops),
    TEXT(cache),   NUMBER(speed),    NUMBER(factor_ms),    NUMBER(time.minimum),
    TEXT(dtype),   TEXT(stencil),    NUMBER(copy_gb_s),    NUMBER(time.maximum),
    TEXT(scope),   NUMBER(ratio),    COUNT(iterations),    NUMBER(max_rel_error),
    TEXT(format),  TEXT(precond),    NUMBER(moved_gb_s),   NUMBER(effective_gb_s),
    TEXT(device),  NUMBER(gflops),   TEXT(factor_dtype),   NUMBER(scaled_residual),
    TEXT(driver),  COUNT(threads),   NUMBER(time.median),  NUMBER(ratio_with_setup),
    TEXT(method),  TEXT(algorithm),  NUMBER(iteration_ms), NUMBER(fraction_of_copy),
    COUNT(height), NUMBER(solve_ms), NUMBER(predicted_ms), NUMBER(total_with_setup_ms),
};
const int bench_field_count = sizeof bench_fields / sizeof *bench_fields;

static const bench_table of_arrays = {
    .names = 5,
    .count = 14,
    .column = {{"stencil", "", 7, .key = "stencil"},
               {"size", "", 4, .cell = cell_full_size},
               {"part", "", 4, .key = "part"},
               {"type", "", 4, .cell = cell_type},
               {"algorithm", "", 9, .key = "algorithm"},
               {"thr", "", 3, .key = "threads", .apart = true},
               {"setup", "ms", 5, .key = "setup_ms"},
               {"time", "ms", 5, .key = "time.median"},
               {"min", "ms", 5, .key = "time.minimum"},
               {"max", "ms", 5, .key = "time.maximum"},
               {"eff.", "GB/s", 5, .key = "effective_gb_s", .apart = true},
               {"moved", "GB/s", 5, .key = "moved_gb_s"},
               {"of", "copy", 4, .key = "fraction_of_copy", .scale = 100, .ending = "%"},
               {"max", "error", 5, .cell = cell_error, .apart = true}}};

static const bench_table of_csr = {
    .names = 6,
    .count = 16,
    .parted = true,
    .column = {{"stencil", "", 7, .key = "stencil"},
               {"size", "", 4, .cell = cell_short_size},
               {"part", "", 4, .key = "part"},
               {"type", "", 4, .cell = cell_type},
               {"algorithm", "", 9, .key = "algorithm"},
               {"L2", "", 4, .key = "cache"},
               {"setup", "ms", 5, .key = "setup_ms", .zero = true},
               {"buf.", "MB", 4, .key = "buffer_bytes", .scale = 1e-6, .zero = true},
               {"time", "ms", 5, .key = "time.median"},
               {"min", "ms", 5, .key = "time.minimum"},
               {"max", "ms", 5, .key = "time.maximum"},
               {"eff.", "GB/s", 4, .key = "effective_gb_s"},
               {"moved", "GB/s", 5, .key = "moved_gb_s"},
               {"of", "copy", 4, .key = "fraction_of_copy", .scale = 100, .ending = "%"},
               {"", "", 4, .key = "speed", .zero = true},
               {"max", "error", 5, .cell = cell_judged_error}}};

static const bench_table of_whole = {.names = 4,
                                     .count = 13,
                                     .column = {{"solver", "", 15, .key = "algorithm"},
                                                {"precond", "", 7, .key = "precond"},
                                                {"matrix", "", 7, .key = "format"},
                                                {"pre", "", 3, .key = "factor_dtype"},
                                                {"iter.", "", 5, .key = "iterations"},
                                                {"residual", "", 8, .cell = cell_residual},
                                                {"before", "ms", 6, .key = "setup_ms"},
                                                {"factor", "ms", 6, .key = "factor_ms"},
                                                {"solve", "ms", 7, .key = "solve_ms"},
                                                {"total", "ms", 7, .key = "time.median"},
                                                {"per", "it.", 6, .key = "iteration_ms"},
                                                {"total", "x", 5, .key = "ratio"},
                                                {"+bef.", "x", 5, .key = "ratio_with_setup"}}};

static const bench_table of_hpcg = {
    .names = 1,
    .count = 13,
    .column = {{"size", "", 11, .cell = cell_short_size},
               {"iter.", "", 5, .key = "iterations"},
               {"scaled", "residual", 8, .cell = cell_scaled_residual},
               {"setup", "ms", 7, .key = "setup_ms"},
               {"set", "ms", 8, .key = "time.median"},
               {"min", "ms", 7, .key = "time.minimum"},
               {"max", "ms", 7, .key = "time.maximum"},
               {"per it.", "ms", 7, .key = "iteration_ms"},
               {"", "GFLOP/s", 7, .key = "gflops"},
               {"rated", "GFLOP/s", 7, .key = "rated_gflops"},
               {"moved", "GB/s", 5, .key = "moved_gb_s"},
               {"of", "copy", 4, .key = "fraction_of_copy", .scale = 100, .ending = "%"},
               {"", "error", 5, .cell = cell_judged_error}}};

static const bench_table of_relax = {
    .names = 4,
    .count = 13,
    .parted = true,
    .column = {{"stencil", "", 7, .key = "stencil"},
               {"size", "", 4, .cell = cell_short_size},
               {"h", "", 2, .cell = cell_height},
               {"tile", "", 12, .cell = cell_tile},
               {"time", "ms", 7, .key = "time.median"},
               {"min", "ms", 7, .key = "time.minimum"},
               {"max", "ms", 7, .key = "time.maximum"},
               {"predicted", "ms", 9, .key = "predicted_ms"},
               {"gain", "", 5, .key = "speed"},
               {"setup", "ms", 5, .key = "setup_ms"},
               {"moved", "GB/s", 5, .key = "moved_gb_s"},
               {"of", "copy", 4, .key = "fraction_of_copy", .scale = 100, .ending = "%"},
               {"max", "error", 5, .cell = cell_judged_error}}};

static void widen(bench_column *column, const char *text) {
    int length = (int)strlen(text);
    if (length > column->width)
        column->width = length;
}

/* Columns of names are as wide as their widest entry; all entries are known beforehand. */
static void fit_names(const bench_plan *plan, bench_table *table) {
    bench_column *column = table->column;
    bench_row row = {0};
    char text[BENCH_CELL_SIZE];
    for (int i = 0; i < plan->stencils; i++) {
        widen(&column[COLUMN_STENCIL], gsw_stencil_name(&plan->stencil[i]));
        for (int j = 0; j < plan->sizes; j++) {
            row.grid = plan->grid[i][j];
            column[COLUMN_SIZE].cell(&row, 0, text);
            widen(&column[COLUMN_SIZE], text);
        }
    }
    if (plan->mode == MODE_RELAX)
        return;
    for (int i = 0; i < plan->parts.count; i++)
        widen(&column[COLUMN_PART], cli_choice(OPT_BENCH_PART, plan->parts.values[i]));
    for (int i = 0; i < plan->precisions.count; i++)
        widen(&column[COLUMN_TYPE], cli_choice(OPT_PRECISION, plan->precisions.values[i]));
    for (int i = 0; i < plan->algorithms.count; i++)
        widen(&column[COLUMN_METHOD],
              gsw_algorithm_name((gsw_algorithm)plan->algorithms.values[i]));
    for (int i = 0; i < plan->rivals.count; i++)
        widen(&column[COLUMN_METHOD], plan->rivals.list[i].name);
}

/* With one space between two columns; those of width 0 are left out. */
static int total_width(const bench_table *table, int columns) {
    int total = -1;
    for (int i = 0; i < columns; i++)
        total += table->column[i].width > 0 ? table->column[i].width + 1 : 0;
    return total;
}

static int overhang(const bench_table *table) {
    return total_width(table, table->count) - TABLE_WIDTH;
}

static void narrow(const bench_table *table, bench_column *column, int least) {
    int over = overhang(table), spare = column->width - least;
    if (over > 0 && spare > 0)
        column->width -= over < spare ? over : spare;
}

/* Where the table gets too wide, gives up the header "stencil", then the column of a cache that is
 * the same in all lines, then ends of long names, the type's last. */
static void fit_line(const bench_plan *plan, bench_table *table) {
    bench_column stencil = {.width = 5};
    for (int i = 0; i < plan->stencils; i++)
        widen(&stencil, gsw_stencil_name(&plan->stencil[i]));
    if (overhang(table) > 0)
        table->column[COLUMN_STENCIL].width = stencil.width;
    if (overhang(table) > 0 && plan->caches.count == 1)
        table->column[COLUMN_CACHE].width = 0;
    narrow(table, &table->column[COLUMN_METHOD], METHOD_WIDTH);
    narrow(table, &table->column[COLUMN_TYPE], TYPE_WIDTH);
}

void bench_table_make(const bench_plan *plan, const char *baseline, bench_table *table) {
    static const bench_table *const tables[] = {&of_arrays, &of_csr, &of_whole, &of_hpcg,
                                                &of_relax}; /* of bench_mode */
    int groups = 0;
    *table = *tables[plan->mode];
    table->gap = " ";
    table->baseline = baseline;
    if (plan->mode == MODE_WHOLE || plan->mode == MODE_HPCG)
        return;
    fit_names(plan, table);
    for (int i = 0; i < table->count; i++) {
        groups += table->column[i].apart;
        if (baseline != NULL && table->column[i].key != NULL &&
            strcmp(table->column[i].key, "speed") == 0) {
            table->column[i].head = "x";
            table->column[i].unit = baseline;
        }
    }
    if (plan->mode == MODE_CSR)
        fit_line(plan, table);
    else if (overhang(table) + groups <= 0)
        table->gap = "  ";
}

/* ---- Printing ------------------------------------------------------------------------------- */

/* The text of a cell; a column without a function shows a field of the row. */
static void make_cell(const bench_row *row, const bench_column *column, char *text) {
    const bench_field *field = bench_fields;
    text[0] = '\0';
    if (column->head[0] == '\0' && column->unit[0] == '\0')
        return;
    if (column->cell != NULL) {
        column->cell(row, column->width, text);
        return;
    }
    while (strcmp(field->key, column->key) != 0)
        field++;
    const void *value = (const char *)row + field->offset;
    if (field->kind == BENCH_TEXT)
        copy_name(text, *(const char *const *)value);
    else if (field->kind == BENCH_COUNT)
        (void)snprintf(text, BENCH_CELL_SIZE, "%lld", (long long)*(const int64_t *)value);
    else
        print_number(text, column, *(const double *)value);
}

static void print_cell(const cli_options *options, const bench_table *table, int i,
                       const char *text) {
    const bench_column *column = &table->column[i];
    if (column->width == 0)
        return;
    const char *before = i == 0 ? "" : column->apart ? table->gap : " ";
    if (i < table->names)
        cli_print(options, "%s%-*.*s", before, column->width, column->width, text);
    else
        cli_print(options, "%s%*s", before, column->width, text);
}

void bench_table_head(const cli_options *options, const bench_table *table) {
    for (int i = 0; i < table->count; i++)
        print_cell(options, table, i, table->column[i].head);
    cli_print(options, "\n");
    for (int i = 0; i < table->count; i++) {
        char text[BENCH_CELL_SIZE];
        (void)snprintf(text, sizeof text, "%.*s", table->column[i].width, table->column[i].unit);
        print_cell(options, table, i, text);
    }
    cli_print(options, "\n");
}

static void print_row(const cli_options *options, const bench_table *table, const bench_row *row) {
    static const char before[] = " cannot run: ";
    const bool skipped = row->reason[0] != '\0';
    const int columns = skipped ? table->names : table->count;
    const int column = total_width(table, columns) + (int)strlen(before);
    for (int i = 0; i < columns; i++) {
        char text[BENCH_CELL_SIZE];
        make_cell(row, &table->column[i], text);
        print_cell(options, table, i, text);
    }
    cli_print(options, "%s", skipped ? before : "\n");
    if (skipped)
        cli_print_wrapped(cli_human(options), row->reason, TABLE_WIDTH, column, column);
    else if (row->settings[0] != '\0')
        cli_print(options, "  with %s\n", row->settings);
}

void bench_table_rows(const cli_options *options, bench_table *table, const bench_row *rows,
                      int count) {
    if (table->groups++ > 0 && count > 1 && table->parted)
        cli_print(options, "\n");
    for (int i = 0; i < count; i++)
        print_row(options, table, &rows[i]);
    FILE *stream = cli_human(options);
    if (stream != NULL)
        (void)fflush(stream);
}
