/* cmd_factor.c: `gridsweep factor`: writes L and U of an incomplete factorisation. */
#include "cmd.h"
#include "common/input.h"
#include "common/measure.h"
#include "output/output.h"
#include "common/place.h"
#include "output/result.h"

typedef struct factor_job {
    cli_place place;
    cli_input input;
    cli_arrays arrays;
    gsw_factor *factor;
    gsw_csr lower, upper;
    double setup_ms;
} factor_job;

static int factorise(const cli_options *options, const gsw_factor_options *wanted,
                     factor_job *job) {
    gsw_context *context = job->place.run;
    if (wanted->kind == GSW_IC0 && !options->quiet && !cli_is_symmetric(&job->input, false))
        cli_error(options, "warning: the matrix is not symmetric; ic0 reads its lower part only");
    double start = cli_now_ms();
    gsw_status status = gsw_factor_create(context, &job->arrays.matrix, wanted, &job->factor);
    if (status == GSW_SUCCESS)
        status = gsw_context_synchronize(context);
    job->setup_ms = cli_now_ms() - start;
    if (status == GSW_SUCCESS)
        status = gsw_factor_extract(context, job->factor, GSW_I64, &job->lower, &job->upper);
    return cli_status(options, context, status, cli_source_of(options));
}

static void report(const cli_options *options, const factor_job *job) {
    gsw_factor_info info = {.size = sizeof info};
    cli_field(options, "factor", "%s", gsw_factor_kind_name((gsw_factor_kind)options->precond));
    cli_print_pivots(options, job->factor);
    if (gsw_factor_get_info(job->factor, &info) == GSW_SUCCESS)
        cli_field(options, "packed", "%.1f MB", (double)info.packed_bytes * 1e-6);
    cli_field(options, "setup", "%.3f ms", job->setup_ms);
    cli_field(options, "written to", "%s (%lld nonzeros), %s (%lld nonzeros)", options->out_l,
              (long long)job->lower.nonzeros, options->out_u, (long long)job->upper.nonzeros);
}

static int write_outputs(const cli_options *options, const factor_job *job) {
    const char *kind = gsw_factor_kind_name((gsw_factor_kind)options->precond);
    cli_outputs outputs = {0};
    cJSON *json = cli_json(options, CLI_FACTOR);
    char comment[80];
    cli_content content = {.csr = &job->lower, .comment = comment, .context = job->place.host};
    (void)snprintf(comment, sizeof comment, "lower factor L of %s by gridsweep factor", kind);
    int code = cli_stage(options, &outputs, options->out_l, &content);
    if (code == CLI_OK) {
        content.csr = &job->upper;
        (void)snprintf(comment, sizeof comment, "upper factor U of %s by gridsweep factor", kind);
        code = cli_stage(options, &outputs, options->out_u, &content);
    }
    cli_set_context(json, job->place.run);
    cli_set_matrix(json, &job->input.matrix);
    cli_set_number(json, "active_points", (double)job->input.active_points);
    cli_set_text(json, "factor_dtype", cli_dtype_name(options->factor_precision));
    cli_set_text(json, "precond", kind);
    cli_set_number(json, "setup_ms", job->setup_ms);
    return cli_finish(options, &outputs, code, json);
}

static int run(const cli_options *options, factor_job *job) {
    gsw_factor_options wanted = {.size = sizeof wanted,
                                 .kind = (gsw_factor_kind)options->precond,
                                 .factor_type = (gsw_dtype)options->factor_precision,
                                 .vector_type = GSW_F64,
                                 .pivot_shift = options->pivot_shift};
    int code = cli_open_place(options, &(cli_work){.factor = &wanted}, &job->place);
    if (code == CLI_OK)
        code = cli_load(options, job->place.host, &job->input);
    if (code == CLI_OK)
        code = cli_refuse_embedding(options, &job->input);
    if (code != CLI_OK)
        return code;
    cli_print_matrix(options, &job->input);
    cli_print_backend(options, &job->place);
    code = cli_upload(options, &job->place, &job->input.matrix, NULL, NULL, 0, &job->arrays);
    if (code == CLI_OK)
        code = factorise(options, &wanted, job);
    if (code == CLI_OK)
        code = write_outputs(options, job);
    if (code == CLI_OK)
        report(options, job);
    return code;
}

int cmd_factor(const cli_options *options) {
    factor_job job = {0};
    if (options->precond < 0)
        return cli_usage(options, "--precond ilu0, ic0 or dilu is needed");
    if (options->out_l == NULL || options->out_u == NULL)
        return cli_usage(options, "--out-l and --out-u are both needed");
    int code = cli_check_outputs(options);
    if (code == CLI_OK)
        code = run(options, &job);
    gsw_csr_free(&job.upper);
    gsw_csr_free(&job.lower);
    gsw_factor_destroy(job.factor);
    cli_arrays_free(&job.place, &job.arrays);
    cli_input_free(&job.input);
    cli_close_place(&job.place);
    return code;
}
