/* solve_auto.c: see solve_auto.h. */
#include "solve_auto.h"
#include <math.h>
#include <string.h>
#include "common/measure.h"
#include "output/output.h"
#include "output/result.h"

int cli_solve_precond(const cli_options *options) {
    return options->precond < 0 ? CLI_PRECOND_AUTO : options->precond;
}

int cli_solve_method(const cli_options *options) {
    return cli_given(options, OPT_SOLVE_METHOD) ? options->method : CLI_METHOD_AUTO;
}

gsw_precond cli_solver_precond(int precond) {
    static const gsw_precond of_kind[] = {[GSW_ILU0] = GSW_PRECOND_ILU0,
                                          [GSW_IC0] = GSW_PRECOND_IC0,
                                          [GSW_DILU] = GSW_PRECOND_DILU,
                                          [GSW_SSOR] = GSW_PRECOND_SSOR,
                                          [GSW_JACOBI] = GSW_PRECOND_JACOBI};
    return precond == CLI_PRECOND_AUTO   ? GSW_PRECOND_AUTO
           : precond == CLI_PRECOND_NONE ? GSW_PRECOND_NONE
           : precond == CLI_PRECOND_MG   ? GSW_PRECOND_MULTIGRID
                                         : of_kind[precond];
}

gsw_method cli_method_named(const char *name) {
    int method = GSW_CG;
    while (method < GSW_RICHARDSON && strcmp(gsw_method_name((gsw_method)method), name) != 0)
        method++;
    return (gsw_method)method;
}

const char *cli_solve_method_name(const cli_options *options) {
    const int method = cli_solve_method(options);
    return method == CLI_METHOD_AUTO ? "auto" : gsw_method_name((gsw_method)method);
}

int cli_check_multigrid(const cli_options *options) {
    static const cli_option_id of_multigrid[] = {OPT_MG_CYCLE,     OPT_MG_SMOOTHER, OPT_MG_THETA,
                                                 OPT_MG_PRECISION, OPT_MG_INFO,     OPT_END};
    static const cli_option_id of_factors[] = {OPT_PIVOT_SHIFT, OPT_FACTOR_PRECISION, OPT_END};
    const bool multigrid = cli_solve_precond(options) == CLI_PRECOND_MG;
    if (cli_solve_precond(options) == CLI_PRECOND_AUTO)
        return CLI_OK; /* the options of what is chosen count */
    const cli_option_id id = cli_first_given(options, multigrid ? of_factors : of_multigrid);
    return id == OPT_END
               ? CLI_OK
               : cli_usage(options, "--%s is not for --precond %s", cli_option_get(id)->name,
                           cli_precond_name(cli_solve_precond(options)));
}

int cli_load_system(const cli_options *options, gsw_context *host, cli_input *input, double **b,
                    double **x, cli_attempts *attempts) {
    int code = cli_load(options, host, input);
    if (code == CLI_OK && options->json != NULL && !cli_history_open(&attempts->history)) {
        cli_error(options, "out of memory for the history of the residual");
        code = CLI_INPUT;
    }
    if (code == CLI_OK)
        code = cli_load_rhs(options, host, input, b);
    return code == CLI_OK ? cli_load_guess(options, host, input, x) : code;
}

/* Whether the matrix maps constant vectors to 0 and the options do not say so. */
static bool is_singular(const cli_options *options, const cli_auto *automatic) {
    return automatic->choice.zero_sums == 1 && options->nullspace == 0;
}

static double setup_ms_of(const gsw_solver *solver) {
    gsw_solver_report report = {.size = sizeof report};
    return gsw_solver_get_report(solver, &report) == GSW_SUCCESS ? report.setup_ms : 0;
}

/* Time of the iterations alone. */
static double solve_ms_of(const cli_watch *watch) {
    return cli_now_ms() - watch->begin_ms - (setup_ms_of(watch->solver) - watch->setup_ms);
}

/* A gsw_monitor_fn; `user` is the cli_attempts. */
static int watch_attempt(void *user, int64_t iteration, double residual) {
    cli_attempts *attempts = user;
    cli_watch *watch = &attempts->watch;
    (void)cli_progress_monitor(&watch->progress, iteration, residual);
    if (attempts->history.entries != NULL)
        cli_history_add(&attempts->history,
                        (cli_history_entry){attempts->result.iterations + iteration, residual,
                                            solve_ms_of(watch)});
    return 0;
}

gsw_krylov_options cli_krylov_options(const cli_options *options, cli_attempts *attempts) {
    return (gsw_krylov_options){.size = sizeof(gsw_krylov_options),
                                .rtol = options->rtol,
                                .max_iterations =
                                    cli_given(options, OPT_MAX_ITER) ? options->max_iter : 0,
                                .restart = (int)options->restart,
                                .norm = (gsw_norm)options->norm,
                                .eisenstat = options->eisenstat,
                                .nullspace = (gsw_nullspace)options->nullspace,
                                .monitor = watch_attempt,
                                .monitor_user = attempts};
}

void cli_watch_start(const cli_options *options, const gsw_solver *solver, cli_attempts *attempts) {
    attempts->watch = (cli_watch){.solver = solver, .setup_ms = setup_ms_of(solver)};
    cli_progress_start(&attempts->watch.progress, options);
    attempts->watch.begin_ms = cli_now_ms();
}

void cli_auto_start(const cli_options *options, cli_auto *automatic) {
    *automatic = (cli_auto){.precond = cli_solve_precond(options) == CLI_PRECOND_AUTO,
                            .method = cli_solve_method(options) == CLI_METHOD_AUTO,
                            .choice.size = sizeof automatic->choice};
}

void cli_auto_print(const cli_options *options, const cli_auto *automatic) {
    const char *precond = automatic->first_precond, *method = automatic->first_method;
    cli_field(options, "choice", "%s%s%s: %s", precond != NULL ? precond : "",
              precond != NULL && method != NULL ? " with " : "", method != NULL ? method : "",
              automatic->choice.text);
    if (is_singular(options, automatic))
        cli_error(options,
                  "warning: each row of the matrix sums to 0, as with pure Neumann "
                  "conditions, so it is singular: solve with --nullspace constant%s",
                  options->rhs == NULL || strcmp(options->rhs, "ones") == 0
                      ? " and a b that is not constant (--rhs)"
                      : "");
}

cJSON *cli_auto_json(const cli_auto *automatic) {
    if (!automatic->precond && !automatic->method)
        return cJSON_CreateNull();
    const gsw_choice *choice = &automatic->choice;
    cJSON *object = cli_json_new(CLI_AUTO);
    cli_set_text(object, "chosen_precond", automatic->first_precond);
    cli_set_text(object, "chosen_method", automatic->first_method);
    cli_set_text(object, "reason", choice->text);
    cli_set_bool(object, "symmetric", choice->symmetric == 1);
    cli_set_number(object, "estimate", automatic->precond ? choice->estimate : NAN);
    cli_set_number(object, "cycle_left", automatic->precond ? choice->cycle_left : NAN);
    cli_set_text(object, "fallback", automatic->fallback[0] != '\0' ? automatic->fallback : NULL);
    return object;
}
