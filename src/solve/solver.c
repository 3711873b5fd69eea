/* solver.c: the interface of solvers: arguments, creation, solves and updates. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "choice.h"
#include "core/clock.h"
#include "common/arrays.h"
#include "contract/allocate.h"
#include "contract/backend.h"
#include "contract/context.h"
#include "contract/error.h"
#include "contract/row.h"
#include "core/options.h"
#include "core/quiet.h"
#include "core/reserve.h"
#include "core/sums.h"
#include "solver_state.h"
#include "krylov/krylov_method.h"
#include "matrix/distributed_matrix.h"
#include "geometry/stencil_facts.h"
#include "multigrid/hierarchy.h"

GSW_ENDS_WITH(gsw_solver_options, krylov);
GSW_ENDS_WITH(gsw_solver_report, message);

/* Makers of preconditioners; a failure that is an answer leaves its message in `refusal`. */
static gsw_status no_precond(gsw_solver *s, char refusal[GSW_REFUSAL]) {
    (void)s, (void)refusal;
    return GSW_SUCCESS;
}

static gsw_status make_factor(gsw_solver *s, char refusal[GSW_REFUSAL]);

static gsw_status make_multigrid(gsw_solver *s, char refusal[GSW_REFUSAL]) {
    gsw_multigrid_options options = s->multigrid;
    if (options.smoother == GSW_SMOOTHER_AUTO && s->choice.reason == GSW_REASON_CYCLE &&
        !s->tried.indefinite)
        options.smoother = GSW_SMOOTHER_ILU0; /* trial cycles with another one gained little */
    return gsw_candidate_multigrid(s->context, &s->matrix, &options, &s->rows, refusal,
                                   &s->candidate);
}

static const struct {
    const char *name;
    gsw_status (*make)(gsw_solver *s, char refusal[GSW_REFUSAL]); /* s->candidate, for s->precond */
    int kind; /* of make_factor: a gsw_factor_kind; else -1 */
} preconds[GSW_PRECONDS] = {[GSW_PRECOND_AUTO] = {"auto", no_precond, -1},
                            [GSW_PRECOND_NONE] = {"none", no_precond, -1},
                            [GSW_PRECOND_JACOBI] = {"jacobi", make_factor, GSW_JACOBI},
                            [GSW_PRECOND_SSOR] = {"ssor", make_factor, GSW_SSOR},
                            [GSW_PRECOND_DILU] = {"dilu", make_factor, GSW_DILU},
                            [GSW_PRECOND_ILU0] = {"ilu0", make_factor, GSW_ILU0},
                            [GSW_PRECOND_IC0] = {"ic0", make_factor, GSW_IC0},
                            [GSW_PRECOND_MULTIGRID] = {"mg", make_multigrid, -1}};

static gsw_status make_factor(gsw_solver *s, char refusal[GSW_REFUSAL]) {
    return gsw_candidate_factor(s->context, &s->matrix, &s->factor,
                                (gsw_factor_kind)preconds[s->precond].kind, refusal, &s->candidate);
}

const char *gsw_precond_name(gsw_precond precond) {
    return (unsigned)precond < GSW_PRECONDS ? preconds[precond].name : "unknown";
}

/* ---- arguments ---- */

static gsw_status resolve(gsw_solver *s, const gsw_solver_options *given) {
    gsw_context *context = s->context;
    gsw_solver_options *wanted = &s->wanted;
    GSW_TRY(gsw_options_take(context, "gsw_solver_options", given, sizeof *wanted, wanted));
    GSW_REQUIRE(context, (unsigned)wanted->precond < GSW_PRECONDS, "options->precond %d is unknown",
                (int)wanted->precond);
    GSW_REQUIRE(context, (unsigned)wanted->method <= GSW_SOLVER_RICHARDSON,
                "options->method %d is unknown", (int)wanted->method);
    const gsw_choice_options parts = {
        .size = sizeof parts, .multigrid = wanted->multigrid, .factor = wanted->factor};
    GSW_TRY(gsw_choice_resolve(context, &parts, &s->multigrid, &s->factor));
    GSW_TRY(gsw_options_take(context, "gsw_krylov_options", wanted->krylov, sizeof s->krylov,
                             &s->krylov));
    wanted->multigrid = NULL;
    wanted->factor = NULL;
    wanted->krylov = NULL;
    return GSW_SUCCESS;
}

/* Surveys a matrix. What fails here, such as for want of memory, fails later as well, or does not
 * matter. */
static void survey(gsw_solver *s, const gsw_matrix *matrix) {
    const gsw_quiet quiet = gsw_quiet_begin(s->context);
    gsw_box_rows_release(s->context, &s->rows);
    s->rows = (gsw_box_rows){.planes = s->rows.planes};
    (void)gsw_choice_survey(s->context, matrix, &s->rows);
    gsw_quiet_end(s->context, &quiet, 1);
}

/* Finds the fixed points. Where they cannot be lifted, as with a diagonal of 0, the matrix is taken
 * as it is. */
static gsw_status lift(gsw_solver *s, const gsw_matrix *matrix) {
    gsw_lifted_close(&s->lifted);
    const gsw_grid *g = &matrix->grid;
    survey(s, matrix);
    const int some = s->rows.survey.fixed > 0 && s->rows.survey.fixed < g->nx * g->ny * g->nz;
    if (!s->rows.is_surveyed || (!some && s->rows.survey.bad_row < 0))
        return GSW_SUCCESS;
    const gsw_quiet quiet = gsw_quiet_begin(s->context);
    const gsw_status status = gsw_lifted_open(s->context, matrix, &s->lifted);
    gsw_quiet_end(s->context, &quiet, gsw_is_answer(status));
    if (status != GSW_SUCCESS)
        gsw_lifted_close(&s->lifted);
    s->rows.is_surveyed = s->lifted.left == NULL;
    return gsw_is_answer(status) ? GSW_SUCCESS : status;
}

/* Looks whether the matrix is singular because nothing holds the mean of its basins. */
static gsw_status find_basins(gsw_solver *s) {
    gsw_basins_close(&s->basins);
    s->constants = 0;
    if (s->krylov.nullspace != GSW_NULLSPACE_NONE)
        return GSW_SUCCESS;
    s->constants = s->rows.is_surveyed && s->rows.survey.constants && s->rows.survey.symmetric &&
                   s->rows.survey.bad_row < 0;
    return s->constants ? gsw_basins_open(s->context, &s->matrix, &s->basins) : GSW_SUCCESS;
}

/* Surveys what is left. A stencil that is shortened may have lost what is not symmetric. */
static void survey_left(gsw_solver *s, const gsw_matrix *left) {
    int symmetric = 1;
    if (s->shortened.block != NULL) {
        survey(s, left);
        symmetric = s->rows.is_surveyed && s->rows.survey.symmetric;
    }
    survey(s, &s->matrix);
    s->rows.survey.symmetric = s->rows.survey.symmetric && symmetric;
}

/* Whether the survey has seen these arrays, and that the matrix equals its transpose. */
static int shows_mirrored(const gsw_solver *s, const gsw_matrix *matrix) {
    const gsw_box_rows *rows = &s->rows;
    return rows->is_surveyed && rows->survey.mirrored && rows->arrays.block == NULL &&
           rows->view.stencil.count == matrix->stencil.count && matrix->active == NULL &&
           matrix->partition == NULL && gsw_matrix_is_arrays(matrix);
}

/* Keeps the view of a matrix that has been checked. `look`: for fixed points and null spaces. */
static gsw_status take_matrix(gsw_solver *s, const gsw_matrix *given, int look) {
    const gsw_matrix *matrix = &s->taken.view;
    gsw_operator *op;
    GSW_TRY(gsw_taken_take(s->context, given, &s->taken));
    gsw_matrix left = *matrix;
    if (look)
        GSW_TRY(lift(s, matrix));
    if (s->lifted.left != NULL)
        left.active = s->lifted.left;
    GSW_TRY(gsw_operator_from_matrix(s->context, &left, &op));
    gsw_operator_destroy(s->op);
    s->op = op;
    if (shows_mirrored(s, &left))
        gsw_operator_read_half(op);
    s->stencil = given->stencil;
    s->format = given->format;
    s->is_periodic = given->grid.periodic != 0;
    GSW_TRY(gsw_shortened_take(s->context, &left, &s->shortened));
    gsw_matrix_keep(&s->shortened.view, &s->matrix, s->arrays);
    if (!look) {
        s->rows.is_surveyed = 0;
        return GSW_SUCCESS;
    }
    if (s->lifted.left != NULL || s->shortened.block != NULL)
        survey_left(s, &left);
    return find_basins(s);
}

/* ---- the preconditioner ---- */

static gsw_precond precond_of(const gsw_candidate *candidate) {
    gsw_factor_info info = {.size = sizeof info};
    if (candidate->multigrid != NULL)
        return GSW_PRECOND_MULTIGRID;
    if (gsw_factor_get_info(candidate->factor, &info) == GSW_SUCCESS)
        for (int p = 0; p < GSW_PRECONDS; p++)
            if (preconds[p].kind == (int)info.kind)
                return (gsw_precond)p;
    return GSW_PRECOND_NONE;
}

/* Makes a preconditioner, and drops the present one. */
static gsw_status make(gsw_solver *s, gsw_precond precond) {
    const double begin = gsw_seconds_now();
    char refusal[GSW_REFUSAL];
    gsw_candidate_drop(&s->candidate);
    s->precond = precond;
    const gsw_status status = preconds[precond].make(s, refusal);
    s->report.setup_ms += 1e3 * (gsw_seconds_now() - begin);
    return gsw_is_answer(status) ? gsw_fail(s->context, status, "%s", refusal) : status;
}

/* Chooses what the options leave open. */
static gsw_status choose(gsw_solver *s) {
    const double begin = gsw_seconds_now();
    s->choice = (gsw_choice){.size = sizeof s->choice,
                             .reason = GSW_REASON_METHOD_ONLY,
                             .symmetric = -1,
                             .diagonal = -1,
                             .m_matrix = -1,
                             .dominant = -1,
                             .zero_sums = -1,
                             .estimate = NAN,
                             .cycle_left = NAN};
    s->report.setup_ms = 0;
    gsw_candidate_drop(&s->candidate);
    if (s->wanted.precond == GSW_PRECOND_AUTO) {
        const gsw_quiet quiet = gsw_quiet_begin(s->context);
        const gsw_status status = gsw_choice_make(s->context, &s->matrix, &s->multigrid, &s->factor,
                                                  1, &s->rows, &s->choice, &s->candidate);
        gsw_quiet_end(s->context, &quiet, 0);
        if (gsw_is_answer(status) && status != GSW_ERROR_OUT_OF_MEMORY) {
            /* neither a factor nor multigrid */
            s->choice.method = GSW_GMRES;
            (void)snprintf(s->choice.text, sizeof s->choice.text, "no preconditioner: %.160s",
                           s->context->message);
        } else if (status != GSW_SUCCESS) {
            return gsw_fail(s->context, status, "%s", s->context->message);
        }
        s->precond = precond_of(&s->candidate);
        s->report.setup_ms = 1e3 * (gsw_seconds_now() - begin);
    } else {
        if (s->wanted.method == GSW_SOLVER_AUTO)
            GSW_TRY(gsw_choice_method(s->context, &s->matrix, &s->rows, &s->choice));
        s->report.setup_ms = 1e3 * (gsw_seconds_now() - begin);
        GSW_TRY(make(s, s->wanted.precond));
    }
    s->method =
        s->wanted.method == GSW_SOLVER_AUTO ? s->choice.method : (gsw_method)(s->wanted.method - 1);
    s->choice.method = s->method;
    gsw_box_rows_release(s->context, &s->rows);
    s->first_precond = s->precond;
    s->first_method = s->method;
    return gsw_context_synchronize(s->context);
}

/* Goes back to the choice, after a solve in which nothing has converged. */
static gsw_status go_back(gsw_solver *s) {
    s->method = s->first_method;
    return s->precond == s->first_precond ? GSW_SUCCESS : make(s, s->first_precond);
}

/* ---- reports ---- */

static void describe(gsw_solver *s) {
    gsw_solver_report *report = &s->report;
    report->first_precond = gsw_precond_name(s->first_precond);
    report->first_method = gsw_method_name(s->first_method);
    report->precond = gsw_precond_name(s->precond);
    report->method = gsw_method_name(s->method);
    report->multigrid = s->candidate.multigrid;
    report->factor = s->candidate.factor;
}

static void forget_solve(gsw_solver *s) {
    gsw_solver_report *report = &s->report;
    const double setup_ms = report->setup_ms;
    *report = (gsw_solver_report){
        .size = sizeof *report, .setup_ms = setup_ms, .residual = NAN, .recurrence = NAN};
    char fixed[96] = "";
    if (s->lifted.alone > 0 && s->lifted.large == 0)
        (void)snprintf(fixed, sizeof fixed, "; %lld fixed points", (long long)s->lifted.alone);
    else if (s->lifted.large > 0)
        (void)snprintf(fixed, sizeof fixed,
                       "; %lld rows fixed by a large diagonal: the others converge by themselves",
                       (long long)(s->lifted.alone + s->lifted.large));
    const int leaves_out = s->is_periodic && s->candidate.factor != NULL;
    const char *around = leaves_out ? "; without couplings around the grid" : "";
    const size_t room = sizeof report->reason - 1 - strlen(around) - strlen(fixed);
    (void)snprintf(report->reason, sizeof report->reason, "%.*s%s%s", (int)room, s->choice.text,
                   around, fixed);
}

/* Adds an attempt's result. */
static void take_result(gsw_solver *s, gsw_status status, const gsw_krylov_result *result) {
    gsw_solver_report *report = &s->report;
    report->status = status;
    report->converged = result->converged;
    report->stagnated = result->stagnated;
    report->iterations += result->iterations;
    report->replacements += result->replacements;
    report->eisenstat += result->eisenstat;
    report->residual = result->residual;
    report->recurrence = result->recurrence;
    report->removed = result->removed;
    report->solve_ms += result->solve_ms;
    report->attempts++;
    (void)snprintf(report->message, sizeof report->message, "%s",
                   status == GSW_SUCCESS ? "" : s->context->message);
}

/* The line about what follows an attempt. */
static void say_next(gsw_solver *s, gsw_precond before, gsw_method method) {
    char why[sizeof s->report.message + 64];
    gsw_factor_info info = {.size = sizeof info};
    if (s->watch.slow)
        (void)snprintf(why, sizeof why, "%s with %s %s at %.1e after %lld iterations",
                       gsw_precond_name(before), gsw_method_name(method),
                       before == GSW_PRECOND_MULTIGRID ? "stagnates" : "is slow",
                       s->report.residual, (long long)s->report.iterations);
    else
        (void)snprintf(why, sizeof why, "%s: %s", gsw_method_name(method), s->report.message);
    if (gsw_factor_get_info(s->candidate.factor, &info) == GSW_SUCCESS && info.shifted_pivots > 0 &&
        !s->watch.slow)
        (void)snprintf(why, sizeof why, "%lld shifted pivots have left a factor that is of no use",
                       (long long)info.shifted_pivots);
    (void)snprintf(s->report.fallback, sizeof s->report.fallback, "%s with %s: %.400s",
                   gsw_precond_name(s->precond), gsw_method_name(s->method), why);
}

/* ---- solving ---- */

/* x = 0, also at inactive points, unless these keep what they hold. */
static gsw_status begin_at_zero(const gsw_solver *s, double *x) {
    gsw_context *context = s->context;
    const gsw_vector_ops *ops = context->ops->vector;
    const int64_t n = gsw_matrix_own_points(&s->matrix);
    const uint8_t *active = s->op->masked.active;
    double *zeros;
    if (active == NULL || !s->krylov.keep_inactive)
        return ops->fill(context, n, 0, x);
    GSW_TRY(gsw_reserve_vector(context, n, &zeros));
    gsw_status status = ops->fill(context, n, 0, zeros);
    if (status == GSW_SUCCESS)
        status = context->ops->mask->select(context, GSW_F64, n, active, zeros, x, x);
    gsw_unreserve(context, zeros);
    return status;
}

/* Takes what follows an attempt, until a preconditioner can be made. *more = 0: nothing does. */
static gsw_status go_on(gsw_solver *s, gsw_status status, const gsw_krylov_result *result, void *x,
                        int *more) {
    gsw_context *context = s->context;
    const gsw_precond before = s->precond;
    const gsw_method method = s->method;
    const int slow = s->watch.slow;
    gsw_precond precond;
    while ((*more = gsw_attempt_next(s, status, result, &precond))) {
        const gsw_precond last = s->precond;
        const gsw_quiet quiet = gsw_quiet_begin(context);
        const gsw_status made = precond == last ? GSW_SUCCESS : make(s, precond);
        gsw_quiet_end(context, &quiet, gsw_is_answer(made));
        if (made == GSW_SUCCESS)
            break;
        if (!gsw_is_answer(made))
            return made;
        s->tried.closed[precond] = 1;
        status = GSW_ERROR_NOT_CONVERGED;
        s->watch.slow = 0;
        s->method = GSW_GMRES; /* so that another preconditioner follows */
    }
    if (!*more)
        return GSW_SUCCESS;
    s->watch.slow = slow;
    say_next(s, before, method);
    if (result->residual < 1)
        return GSW_SUCCESS;
    return begin_at_zero(s, x);
}

/* Finds the first value that is not finite; *at is -1 where all are: squares may have overflowed.
 */
static gsw_status find_bad_value(const gsw_solver *s, const double *values, int64_t *at,
                                 double *bad) {
    enum { PART = 4096 };
    const int64_t n = gsw_matrix_own_points(&s->matrix);
    double part[PART];
    *at = -1;
    for (int64_t first = 0; first < n; first += PART) {
        const int64_t count = n - first < PART ? n - first : PART;
        GSW_TRY(s->context->ops->memory->download(s->context, part, values + first,
                                                  (size_t)count * sizeof *part));
        for (int64_t i = 0; i < count; i++)
            if (!isfinite(part[i])) {
                *at = first + i;
                *bad = part[i];
                return GSW_SUCCESS;
            }
    }
    return GSW_SUCCESS;
}

/* Adds to the message which row has a bad value. */
static void add_row(gsw_solver *s, int64_t at, const char *has, double bad) {
    char row[GSW_ROW_TEXT], *message = s->report.message;
    const size_t end = strlen(message);
    gsw_row_text(s->context, gsw_matrix_row_base(&s->matrix), &s->matrix.grid, at, row);
    (void)snprintf(message + end, sizeof s->report.message - end, ": row %s %s %g", row, has, bad);
}

/* After an attempt without a finite residual: whether the matrix is finite, by the sums of its
 * rows. */
static gsw_status look_at_matrix(gsw_solver *s) {
    gsw_context *context = s->context;
    const int64_t n = gsw_matrix_own_points(&s->matrix);
    double *ones = NULL, *sums = NULL, bad;
    int64_t at;
    gsw_status status;
    GSW_TRY_GOTO(gsw_reserve_vector(context, n, &ones), cleanup);
    GSW_TRY_GOTO(gsw_reserve_vector(context, n, &sums), cleanup);
    GSW_TRY_GOTO(context->ops->vector->fill(context, n, 1, ones), cleanup);
    GSW_TRY_GOTO(gsw_operator_apply(context, s->op, ones, sums), cleanup);
    GSW_TRY_GOTO(find_bad_value(s, sums, &at, &bad), cleanup);
    status = GSW_SUCCESS;
    s->matrix_is_bad = at >= 0;
    if (s->matrix_is_bad) {
        (void)snprintf(s->report.message, sizeof s->report.message, "the matrix is not finite");
        add_row(s, at, "adds up to", bad);
    }
cleanup:
    gsw_unreserve(context, sums);
    gsw_unreserve(context, ones);
    return status;
}

/* After an attempt that has found b or x not finite: whether b is. */
static gsw_status look_at_b(gsw_solver *s, const double *b) {
    gsw_context *context = s->context;
    const gsw_masked *masked = &s->op->masked;
    const int64_t n = gsw_matrix_own_points(&s->matrix);
    double square = 0, bad, *active_b = NULL;
    int64_t at = -1;
    gsw_status status = GSW_SUCCESS;
    if (masked->active != NULL) {
        GSW_TRY(gsw_reserve_vector(context, n, &active_b));
        status = gsw_masked_vector(context, masked, GSW_F64, n, b, active_b);
    }
    if (status == GSW_SUCCESS)
        status = gsw_dot(context, n, active_b != NULL ? active_b : b,
                         active_b != NULL ? active_b : b, &square);
    s->b_is_bad = !isfinite(square);
    if (status == GSW_SUCCESS && s->b_is_bad && s->matrix.partition == NULL)
        status = find_bad_value(s, active_b != NULL ? active_b : b, &at, &bad);
    if (at >= 0)
        add_row(s, at, "has", bad);
    gsw_unreserve(context, active_b);
    return status;
}

/* An attempt was stopped as slow, and nothing follows. */
static gsw_status say_nothing_is_left(gsw_solver *s) {
    gsw_solver_report *report = &s->report;
    const char *why = s->precond == GSW_PRECOND_NONE ? s->choice.text : "nothing else is left";
    (void)snprintf(report->message, sizeof report->message,
                   "%s; %s gains too little: it leaves %.2g of b after %lld iterations", why,
                   gsw_method_name(s->method), report->residual, (long long)report->iterations);
    return GSW_ERROR_NOT_CONVERGED;
}

/* All attempts of a solve. Errors do not reach the log before the last one. */
static gsw_status attempt_all(gsw_solver *s, const void *b, void *x) {
    gsw_context *context = s->context;
    s->b_is_bad = s->matrix_is_bad = 0;
    for (;;) {
        gsw_krylov_options options;
        gsw_krylov_result result = {.size = sizeof result};
        int more = 0;
        gsw_attempt_begin(s, &options);
        const gsw_quiet quiet = gsw_quiet_begin(context);
        gsw_status status =
            gsw_krylov(context, s->method, s->op, s->candidate.inner, &options, b, x, &result);
        gsw_quiet_end(context, &quiet, 0);
        take_result(s, status, &result);
        if (status == GSW_SUCCESS)
            return GSW_SUCCESS;
        if (status == GSW_ERROR_NON_FINITE && result.iterations == 0)
            GSW_TRY(look_at_b(s, b));
        if (gsw_krylov_ended(status) && !isfinite(result.residual) && !s->b_is_bad &&
            s->matrix.partition == NULL)
            GSW_TRY(look_at_matrix(s));
        if (s->matrix_is_bad)
            s->report.status = status = GSW_ERROR_NON_FINITE;
        GSW_TRY(go_on(s, status, &result, x, &more));
        if (!more && s->watch.slow)
            s->report.status = status = say_nothing_is_left(s);
        if (!more)
            return gsw_fail(context, status, "%s", s->report.message);
    }
}

/* The tolerance relative to ||b||, beside krylov.atol. */
static double rtol_of(const gsw_solver *s) {
    return s->krylov.rtol == 0 && s->krylov.atol == 0 ? 1e-8 : s->krylov.rtol;
}

/* A solve has not converged after all, for the reason that has been said. */
static gsw_status deny(gsw_solver *s, gsw_status status) {
    s->report.converged = 0;
    s->report.status = status;
    (void)snprintf(s->report.message, sizeof s->report.message, "%s", s->context->message);
    return status;
}

/* Of a singular matrix: whether what b has along the null vectors may stay. */
static gsw_status check_fit(gsw_solver *s, const double *b, const gsw_unfit *unfit) {
    gsw_solver_report *report = &s->report;
    const int64_t points = gsw_matrix_own_points(&s->matrix);
    double square, size;
    char where[GSW_BASIN_TEXT];
    if (s->matrix.active != NULL) { /* b may be NaN elsewhere */
        GSW_TRY(s->context->ops->mask->select(s->context, GSW_F64, points, s->matrix.active, b,
                                              NULL, s->basins.b));
        b = s->basins.b;
    }
    GSW_TRY(gsw_dot(s->context, points, b, b, &square));
    size = sqrt(square);
    report->residual =
        hypot(report->residual * sqrt(fmax(1 - unfit->share * unfit->share, 0)), unfit->share);
    if (report->residual * size <= fmax(rtol_of(s) * size, s->krylov.atol) || size == 0)
        return GSW_SUCCESS;
    (void)gsw_basin_text(&s->basins, unfit->basin, where);
    return deny(s, gsw_fail(s->context, GSW_ERROR_NOT_CONVERGED,
                            "b does not fit the singular matrix: the sum of b must be 0%s, but its "
                            "part along constants is %.3g of its norm; x solves what is left of b: "
                            "see nullspace",
                            where, unfit->share));
}

/* All attempts, of a matrix that may be singular. */
static gsw_status solve_left(gsw_solver *s, const double *b, double *x) {
    gsw_unfit unfit = {.share = 0};
    const double *fits = b;
    if (!s->constants)
        return attempt_all(s, b, x);
    GSW_TRY(gsw_basins_measure(&s->basins, b, &unfit));
    if (s->basins.count > 1) {
        GSW_TRY(gsw_basins_project(&s->basins, b, s->basins.b));
        fits = s->basins.b;
    }
    GSW_TRY(attempt_all(s, fits, x));
    if (s->basins.count > 1)
        GSW_TRY(gsw_basins_project(&s->basins, x, x));
    else
        unfit.share = s->report.removed;
    s->report.removed = unfit.share;
    return check_fit(s, b, &unfit);
}

/* One round: solves what fixed points leave until `rtol` of it is left. */
static gsw_status solve_round(gsw_solver *s, double rtol, double *x) {
    gsw_lifted *l = &s->lifted;
    const gsw_vector_ops *ops = s->context->ops->vector;
    const gsw_krylov_options given = s->krylov;
    GSW_TRY(ops->fill(s->context, l->points, 0, l->e));
    s->krylov.rtol = rtol;
    s->krylov.atol = 0;
    s->krylov.keep_inactive = 0;
    const gsw_status status = solve_left(s, l->r, l->e);
    s->krylov = given;
    GSW_TRY(ops->axpby(s->context, l->points, 1, l->e, 1, x));
    return status;
}

/* Solves with fixed points (lifted.h). */
static gsw_status solve_lifted(gsw_solver *s, const double *b, double *x) {
    enum { ROUNDS = 8 };
    gsw_lifted *l = &s->lifted;
    const gsw_krylov_options *k = &s->krylov;
    gsw_lifted_goal goal = {.rtol = rtol_of(s), .atol = k->atol};
    gsw_status status = gsw_lifted_begin(l, b, x, &goal);
    const int began = status == GSW_SUCCESS;
    double rtol = 1;
    for (int round = 0; round < ROUNDS && status == GSW_SUCCESS && rtol > 0; round++) {
        status = gsw_lifted_next(l, b, x, &goal, &rtol);
        if (status == GSW_SUCCESS && rtol > 0 && rtol < 1)
            status = solve_round(s, rtol, x);
    }
    if (began && status != GSW_SUCCESS && gsw_krylov_ended(status)) /* the last x counts */
        (void)gsw_lifted_next(l, b, x, &goal, &rtol);
    if (k->keep_inactive)
        GSW_TRY(gsw_lifted_restore(l, x));
    s->report.converged = status == GSW_SUCCESS && rtol == 0;
    if (goal.reference > 0)
        s->report.residual = goal.residual / goal.reference;
    if (s->report.converged)
        return status;
    if (status != GSW_SUCCESS) /* of an attempt the report has the message */
        return s->report.message[0] == '\0' ? deny(s, status) : status;
    return deny(s, gsw_fail(s->context, GSW_ERROR_NOT_CONVERGED, "b - A x stays at %.3g of b%s",
                            s->report.residual,
                            l->zeros > 0 ? ": b is not 0 where the matrix has rows of zeros" : ""));
}

gsw_status gsw_solver_solve(gsw_context *context, gsw_solver *solver, const void *b, void *x,
                            gsw_solver_report *report) {
    GSW_REQUIRE(context, context != NULL, "context is NULL");
    GSW_REQUIRE(context, solver != NULL, "solver is NULL");
    GSW_REQUIRE(context, solver->context == context, "solver belongs to another context");
    GSW_REQUIRE(context, solver->usable || solver->many != NULL,
                "solver holds no values: its last update failed");
    GSW_TRY(gsw_result_check(context, "gsw_solver_report", report));
    if (solver->many != NULL)
        return solver->many_ops->solve(solver->many, b, x, report);
    const double setup_ms = solver->report.setup_ms;
    forget_solve(solver);
    solver->history.count = 0;
    solver->tried = (gsw_tried){.patient = 0};
    const gsw_status status =
        solver->lifted.left != NULL ? solve_lifted(solver, b, x) : solve_left(solver, b, x);
    describe(solver);
    gsw_result_give(report, &solver->report, sizeof solver->report);
    if (status == GSW_SUCCESS)
        return status;
    const gsw_quiet quiet = gsw_quiet_begin(context);
    solver->usable = go_back(solver) == GSW_SUCCESS;
    gsw_quiet_end(context, &quiet, 1);
    solver->report.setup_ms = setup_ms;
    return status;
}

/* ---- creation, updates, the rest ---- */

/* A solver without a matrix. *made may be set on failure, too. */
static gsw_status begin(gsw_context *context, const gsw_matrix *matrix,
                        const gsw_solver_options *options, gsw_solver **made) {
    GSW_TRY(gsw_try_vector(context, gsw_matrix_own_points(matrix)));
    GSW_TRY(gsw_alloc(context, 1, sizeof **made, "a solver", (void **)made));
    memset(*made, 0, sizeof **made);
    (*made)->context = context;
    return resolve(*made, options);
}

gsw_status gsw_solver_create_stacked(gsw_context *context, const gsw_matrix *matrix, int64_t planes,
                                     const gsw_solver_options *options, gsw_solver **solver) {
    gsw_solver *made = NULL;
    gsw_status status = gsw_matrix_agree(matrix, begin(context, matrix, options, &made));
    if (status != GSW_SUCCESS || made == NULL)
        goto fail;
    made->rows.planes = planes;
    GSW_TRY_GOTO(take_matrix(made, matrix, planes == 0), fail);
    GSW_TRY_GOTO(choose(made), fail);
    made->usable = 1;
    forget_solve(made);
    describe(made);
    *solver = made;
    return GSW_SUCCESS;

fail:
    gsw_solver_destroy(made);
    return status;
}

gsw_status gsw_solver_create(gsw_context *context, const gsw_matrix *matrix,
                             const gsw_solver_options *options, gsw_solver **solver) {
    GSW_REQUIRE(context, solver != NULL, "solver is NULL");
    *solver = NULL;
    GSW_REQUIRE(context, context != NULL, "context is NULL");
    GSW_REQUIRE(context, matrix != NULL, "matrix is NULL");
    if (!gsw_context_is_alone(context) && gsw_partition_of(matrix) == NULL)
        return gsw_fail(context, GSW_ERROR_UNSUPPORTED,
                        "solver: the context belongs to several processes, but the matrix is on no "
                        "partition (partition.h)");
    GSW_TRY(gsw_matrix_check_anywhere(context, matrix));
    return gsw_solver_create_stacked(context, matrix, 0, options, solver);
}

/* Whether a matrix that was taken without a look has what a look finds: the survey of a hierarchy's
 * finest level tells. */
static int missed_something(const gsw_solver *s) {
    const gsw_multigrid *mg = s->candidate.multigrid;
    if (mg == NULL)
        return 0;
    const gsw_survey *found = gsw_multigrid_survey(mg);
    return found->fixed > 0 ||
           (found->constants && found->symmetric && s->krylov.nullspace == GSW_NULLSPACE_NONE);
}

/* Takes other values, and gives them to the preconditioner. *again: that needs a look. */
static gsw_status renew(gsw_solver *s, const gsw_matrix *matrix, int look, int *again) {
    const int named = s->wanted.precond != GSW_PRECOND_AUTO, had_mask = s->matrix.active != NULL;
    *again = 0;
    GSW_TRY(take_matrix(s, matrix, look));
    if ((s->matrix.active != NULL) != had_mask)
        return named ? make(s, s->wanted.precond) : choose(s);
    const gsw_quiet quiet = gsw_quiet_begin(s->context);
    gsw_preconditioner *M = s->candidate.inner;
    const gsw_status status = M ? M->ops.refill(M->self, s->context, &s->matrix) : GSW_SUCCESS;
    gsw_quiet_end(s->context, &quiet, !named || !look);
    *again = !look && s->rows.planes == 0 && (status != GSW_SUCCESS || missed_something(s));
    if (status == GSW_SUCCESS || *again)
        return GSW_SUCCESS;
    return named ? gsw_fail(s->context, status, "%s", s->context->message)
                 : choose(s); /* such as values that are no longer symmetric */
}

gsw_status gsw_solver_update(gsw_context *context, gsw_solver *solver, const gsw_matrix *matrix) {
    const double begin = gsw_seconds_now();
    GSW_REQUIRE(context, context != NULL, "context is NULL");
    GSW_REQUIRE(context, solver != NULL, "solver is NULL");
    GSW_REQUIRE(context, solver->context == context, "solver belongs to another context");
    GSW_REQUIRE(context, matrix != NULL, "matrix is NULL");
    GSW_REQUIRE(context, solver->many == NULL,
                "solver has many systems: see gsw_solver_update_many()");
    GSW_TRY(gsw_matrix_check_anywhere(context, matrix));
    GSW_REQUIRE(context, matrix->partition == solver->matrix.partition,
                "matrix is not on the partition of the solver's first matrix");
    GSW_REQUIRE(context, gsw_grid_is_same(&matrix->grid, &solver->matrix.grid),
                "matrix: its grid is not the solver's");
    GSW_REQUIRE(context, gsw_stencil_is_same(&matrix->stencil, &solver->stencil),
                "matrix: its stencil is not the solver's");
    GSW_REQUIRE(context, matrix->format == solver->format,
                "matrix: its format is not that of the solver's first matrix");
    const int look = solver->lifted.left != NULL || solver->constants;
    solver->usable = 0;
    int again;
    gsw_status status = renew(solver, matrix, look, &again);
    if (status == GSW_SUCCESS && again)
        status = renew(solver, matrix, 1, &again);
    gsw_box_rows_release(context, &solver->rows);
    solver->usable = status == GSW_SUCCESS;
    solver->report.setup_ms = 1e3 * (gsw_seconds_now() - begin);
    forget_solve(solver);
    describe(solver);
    return status;
}

gsw_status gsw_solver_get_report(const gsw_solver *solver, gsw_solver_report *report) {
    if (solver == NULL || report == NULL)
        return GSW_ERROR_INVALID_ARGUMENT;
    GSW_TRY(gsw_result_check(NULL, "gsw_solver_report", report));
    const gsw_solver_report *last =
        solver->many != NULL ? solver->many_ops->report(solver->many) : &solver->report;
    gsw_result_give(report, last, sizeof *last);
    return GSW_SUCCESS;
}

gsw_status gsw_solver_get_history(const gsw_solver *solver, const double **norms, int64_t *count) {
    if (solver == NULL || norms == NULL || count == NULL)
        return GSW_ERROR_INVALID_ARGUMENT;
    *norms = solver->history.norms;
    *count = solver->history.count;
    return GSW_SUCCESS;
}

gsw_status gsw_solver_get_choice(const gsw_solver *solver, gsw_choice *choice) {
    if (solver == NULL || choice == NULL)
        return GSW_ERROR_INVALID_ARGUMENT;
    GSW_TRY(gsw_result_check(NULL, "gsw_choice", choice));
    const gsw_choice *made =
        solver->many != NULL ? solver->many_ops->choice(solver->many) : &solver->choice;
    gsw_result_give(choice, made, sizeof *made);
    return GSW_SUCCESS;
}

void gsw_solver_destroy(gsw_solver *solver) {
    if (solver == NULL)
        return;
    if (solver->many != NULL) {
        solver->many_ops->close(solver->many);
        free(solver);
        return;
    }
    gsw_candidate_drop(&solver->candidate);
    gsw_operator_destroy(solver->op);
    gsw_lifted_close(&solver->lifted);
    gsw_basins_close(&solver->basins);
    gsw_shortened_close(solver->context, &solver->shortened);
    free(solver->history.norms);
    gsw_box_rows_release(solver->context, &solver->rows);
    gsw_taken_close(solver->context, &solver->taken);
    free(solver);
}

gsw_status gsw_solve(gsw_context *context, const gsw_matrix *matrix,
                     const gsw_solver_options *options, const void *b, void *x,
                     gsw_solver_report *report) {
    gsw_solver *solver;
    gsw_solver_report made = {.size = sizeof made};
    GSW_REQUIRE(context, context != NULL, "context is NULL");
    GSW_TRY(gsw_result_check(context, "gsw_solver_report", report));
    GSW_TRY(gsw_solver_create(context, matrix, options, &solver));
    const gsw_status status = gsw_solver_solve(context, solver, b, x, &made);
    made.multigrid = NULL;
    made.factor = NULL;
    gsw_result_give(report, &made, sizeof made);
    gsw_solver_destroy(solver);
    return status;
}
