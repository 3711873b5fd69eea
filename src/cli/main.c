/* main.c: the program `gridsweep`: finds the subcommand and runs it. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "commands.h"
#include "common/signals.h"
#include "help.h"

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
    return command->run(&options);
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

int main(int argc, char **argv) {
    cli_signals_prepare();
    int code = dispatch(argc, argv);
    /* Output that did not reach its reader (a full disk, say) must not look like success. */
    bool lost = ferror(stdout) != 0;
    if (fflush(stdout) != 0 || lost) {
        fprintf(stderr, "gridsweep: cannot write to standard output: %s\n", cli_reason(errno));
        return code == CLI_OK ? CLI_INPUT : code;
    }
    return code;
}
