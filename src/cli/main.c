/* main.c: the program `gridsweep`: finds the subcommand and runs it. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "commands.h"
#include "common/processes.h"
#include "output/result.h"
#include "common/signals.h"
#include "help.h"

/* What runs on several processes: `solve` and `bench` in all of them, `info` and `help` in the
 * first one. The first process prints and writes. */
static int run_together(const cli_command *command, cli_options *options) {
    if (strcmp(command->name, "solve") == 0 || strcmp(command->name, "bench") == 0) {
        options->quiet = options->quiet || cli_rank() > 0;
        if (cli_rank() > 0)
            options->json = options->out = NULL;
        if (options->backend == GSW_BACKEND_AUTO)
            options->backend = GSW_BACKEND_CPU;
        return command->run(options);
    }
    if (strcmp(command->name, "info") == 0 || strcmp(command->name, "help") == 0)
        return cli_rank() == 0 ? command->run(options) : CLI_OK;
    return cli_usage(options, "the command does not run on several processes; 'gridsweep solve' "
                              "and 'gridsweep bench --whole-solve' do");
}

static int run_command(const cli_command *command, int argc, char **argv) {
    cli_options options;
    bool help = false;
    int code = cli_parse(command, argc, argv, &options, &help);
    if (code != CLI_OK)
        return code;
    if (help) {
        cli_help_command(stdout, command, options.help_all);
        return CLI_OK;
    }
    return cli_processes() > 1 ? run_together(command, &options) : command->run(&options);
}

static int dispatch(int argc, char **argv) {
    if (argc < 2) {
        cli_help_program(stderr, cli_commands);
        return CLI_USAGE;
    }
    const char *name = argv[1];
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0) {
        cli_help_program(stdout, cli_commands);
        return CLI_OK;
    }
    if (strcmp(name, "--version") == 0 || strcmp(name, "-V") == 0) {
        printf("gridsweep %s\n", gsw_version());
        return CLI_OK;
    }
    const cli_command *command = cli_find_command(name);
    return command != NULL ? run_command(command, argc - 1, argv + 1) : cli_reject_command(name);
}

/* Output that did not reach its reader (a full disk, say) must not look like success. */
static int flush(int code) {
    bool lost = ferror(stdout) != 0;
    if (fflush(stdout) == 0 && !lost)
        return code;
    fprintf(stderr, "gridsweep: cannot write to standard output: %s\n", cli_reason(errno));
    return code == CLI_OK ? CLI_INPUT : code;
}

int main(int argc, char **argv) {
    cli_signals_prepare();
    cli_json_prepare();
    int code = cli_processes_start();
    if (code == CLI_OK)
        code = dispatch(argc, argv);
    code = flush(code);
    cli_processes_end(code);
    return code;
}
