/* cmd_sptrsv.c: `gridsweep sptrsv`: one exact triangular solve, timed and checked. */
#include <math.h>
#include <stdlib.h>
#include <gridsweep/memory.h>
#include "cmd.h"
#include "common/input.h"
#include "common/measure.h"
#include "output/output.h"
#include "common/place.h"
#include "output/result.h"

typedef struct sptrsv_job {
    cli_place place;
    cli_input input;
    cli_arrays arrays;
    gsw_sptrsv_options wanted;
    double *b, *x, *reference;
    cli_times times;
    double error;
} sptrsv_job;

/* Fills x with NaNs, so that a value that is not written shows. */
static gsw_status poison(void *user) {
    sptrsv_job *job = user;
    return gsw_memory_set(job->place.run, job->arrays.x, 0xff, job->input.vector_bytes);
}

static gsw_status solve(void *user) {
    sptrsv_job *job = user;
    int64_t rows = job->input.rows;
    return gsw_sptrsv(job->place.run, &job->arrays.matrix, &job->wanted, 1, job->arrays.b, rows,
                      job->arrays.x, rows);
}

static int solve_timed(const cli_options *options, sptrsv_job *job) {
    cli_task task = {.prepare = poison,
                     .run = solve,
                     .user = job,
                     .context = job->place.run,
                     .repeats = options->repeats > 0 ? options->repeats : 5};
    gsw_status status = cli_time(&task, &job->times);
    if (status != GSW_SUCCESS)
        return cli_status(options, job->place.run, status, CLI_FROM_OPTION);
    return cli_download(options, &job->place, &job->arrays, job->x, job->input.vector_bytes);
}

static int compare(const cli_options *options, sptrsv_job *job) {
    const int64_t rows = job->input.rows;
    gsw_sptrsv_options plain = job->wanted;
    gsw_context *host = job->place.host;
    plain.algorithm = GSW_ALGORITHM_REFERENCE;
    gsw_status status =
        gsw_sptrsv(host, &job->input.matrix, &plain, 1, job->b, rows, job->reference, rows);
    if (status == GSW_SUCCESS)
        job->error = cli_max_error(job->x, job->reference, rows);
    return cli_status(options, host, status, CLI_FROM_OPTION);
}

/* b is finite, so a solution that is not means a zero diagonal or an overflow. */
static int check_finite(const cli_options *options, const sptrsv_job *job) {
    const bool backward = (job->wanted.part == GSW_UPPER) != (job->wanted.transpose != 0);
    const int64_t count = job->input.rows;
    for (int64_t i = 0; i < count; i++) {
        const int64_t row = backward ? count - 1 - i : i;
        char text[128];
        if (isfinite(job->x[row]))
            continue;
        cli_row_text(options, &job->input.matrix.grid, row, text, sizeof text);
        cli_error(options,
                  "the solution is not finite from row %s on: a zero diagonal or an overflow",
                  text);
        return CLI_BREAKDOWN;
    }
    return CLI_OK;
}

static double effective_rate(const sptrsv_job *job) {
    int64_t entries = cli_count_entries(&job->input.matrix, job->wanted.part);
    return cli_effective_bytes(entries, job->input.rows, 8, 8) / (job->times.median * 1e6);
}

static void report(const cli_options *options, const sptrsv_job *job) {
    cli_field(options, "solve", "%s part%s%s, algorithm %s",
              job->wanted.part == GSW_LOWER ? "lower" : "upper",
              job->wanted.transpose ? " transposed" : "",
              job->wanted.unit_diagonal ? " with unit diagonal" : "",
              gsw_algorithm_name(job->wanted.algorithm));
    cli_field(options, "time", "%.4f ms (median of %lld, %.4f to %.4f)", job->times.median,
              (long long)job->times.repeats, job->times.minimum, job->times.maximum);
    cli_print_transfer(options, &job->arrays);
    cli_field(options, "effective", "%.2f GB/s", effective_rate(job));
    if (!options->no_check)
        cli_field(options, "max error", "%.2e (relative, against the reference sweep)", job->error);
}

static int write_outputs(const cli_options *options, const sptrsv_job *job) {
    cli_outputs outputs = {0};
    cJSON *json = cli_json(options, CLI_SPTRSV);
    int code = CLI_OK;
    if (options->out != NULL)
        code = cli_stage(options, &outputs, options->out,
                         &(cli_content){.values = job->x,
                                        .count = job->input.rows,
                                        .comment = "solution x of T x = b by gridsweep sptrsv",
                                        .context = job->place.host});
    cli_set_context(json, job->place.run);
    cli_set_matrix(json, &job->input.matrix);
    cli_set_number(json, "active_points", (double)job->input.active_points);
    cli_set_text(json, "part", job->wanted.part == GSW_LOWER ? "lower" : "upper");
    cli_set_text(json, "algorithm", gsw_algorithm_name(job->wanted.algorithm));
    cli_set_text(json, "dtype", "f64");
    cli_set_number(json, "upload_ms", job->arrays.upload_ms);
    cli_set_number(json, "download_ms", job->arrays.download_ms);
    cli_set_number(json, "solve_ms", job->times.median);
    cli_set_times(json, &job->times);
    cli_set_number(json, "effective_gb_s", effective_rate(job));
    cli_set_number(json, "max_rel_error", job->error);
    return cli_finish(options, &outputs, code, json);
}

static int run(const cli_options *options, sptrsv_job *job) {
    int code = cli_open_place(options, &(cli_work){.sweep = &job->wanted}, &job->place);
    if (code == CLI_OK)
        code = cli_load(options, job->place.host, &job->input);
    if (code == CLI_OK)
        code = cli_refuse_embedding(options, &job->input);
    if (code == CLI_OK)
        code = cli_load_rhs(options, job->place.host, &job->input, &job->b);
    if (code == CLI_OK)
        code = cli_load_guess(options, job->place.host, &job->input, &job->x);
    if (code == CLI_OK && !options->no_check) {
        job->reference = malloc(job->input.vector_bytes);
        if (job->reference == NULL)
            code = cli_error(options, "out of memory for the solution");
    }
    if (code != CLI_OK)
        return code;
    cli_print_matrix(options, &job->input);
    cli_print_backend(options, &job->place);
    code = cli_upload(options, &job->place, &job->input.matrix, job->b, job->x,
                      job->input.vector_bytes, &job->arrays);
    if (code == CLI_OK)
        code = solve_timed(options, job);
    job->error = NAN;
    if (code == CLI_OK && !options->no_check)
        code = compare(options, job);
    if (code == CLI_OK)
        code = check_finite(options, job);
    if (code == CLI_OK)
        report(options, job);
    return code == CLI_OK ? write_outputs(options, job) : code;
}

int cmd_sptrsv(const cli_options *options) {
    if (options->part < 0)
        return cli_usage(options, "--part lower or --part upper is needed");
    sptrsv_job job = {.wanted = {.size = sizeof job.wanted,
                                 .part = (gsw_part)options->part,
                                 .transpose = options->transpose,
                                 .unit_diagonal = options->unit_diagonal,
                                 .algorithm = (gsw_algorithm)options->algorithm}};
    int code = cli_check_outputs(options);
    if (code == CLI_OK)
        code = run(options, &job);
    free(job.reference);
    free(job.x);
    free(job.b);
    cli_arrays_free(&job.place, &job.arrays);
    cli_input_free(&job.input);
    cli_close_place(&job.place);
    return code;
}
