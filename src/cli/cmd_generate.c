/* cmd_generate.c: `gridsweep generate`: a model problem as a Matrix Market file. */
#include "cmd.h"
#include "common/input.h"
#include "output/output.h"
#include "output/result.h"

static int write_matrix(const cli_options *options, gsw_context *context, const cli_input *input) {
    gsw_csr csr = {0};
    cli_outputs outputs = {0};
    char comment[200];
    const gsw_grid *grid = &input->matrix.grid;
    gsw_status status = gsw_matrix_to_csr(context, &input->matrix, GSW_FULL, GSW_I64, &csr);
    if (status != GSW_SUCCESS)
        return cli_status(options, context, status, CLI_FROM_OPTION);

    (void)snprintf(comment, sizeof comment,
                   "gridsweep %s problem %.60s, grid %lld x %lld x %lld, %s", gsw_version(),
                   options->problem, (long long)grid->nx, (long long)grid->ny, (long long)grid->nz,
                   gsw_stencil_name(&input->matrix.stencil));
    int code = cli_stage(options, &outputs, options->out,
                         &(cli_content){.csr = &csr, .comment = comment, .context = context});
    if (code == CLI_OK && options->out_mask != NULL)
        code =
            cli_stage(options, &outputs, options->out_mask, &(cli_content){.mask = &input->matrix});
    cJSON *json = cli_json(options, CLI_GENERATE);
    cli_set_matrix(json, &input->matrix);
    code = cli_finish(options, &outputs, code, json);
    gsw_csr_free(&csr);
    return code;
}

int cmd_generate(const cli_options *options) {
    gsw_context *context = NULL;
    cli_input input = {0};
    if (options->problem == NULL)
        return cli_usage(options, "--problem is needed");
    if (options->out == NULL)
        return cli_usage(options, "--out is needed");
    int code = cli_check_outputs(options);
    if (code == CLI_OK)
        code = cli_open_context(options, GSW_BACKEND_CPU, NULL, &context);
    if (code == CLI_OK)
        code = cli_load(options, context, &input);
    if (code == CLI_OK)
        code = write_matrix(options, context, &input);
    if (code == CLI_OK) {
        cli_print_matrix(options, &input);
        cli_field(options, "written to", "%s", options->out);
    }
    cli_input_free(&input);
    gsw_context_destroy(context);
    return code;
}
