/* many.c: a solver of many systems (solve.h). On a CPU each system has a solver and a context of
 * its own, and threads take systems. On a device systems are stacked (stack.h), and have solvers
 * where that does not serve.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/arrays.h"
#include "contract/allocate.h"
#include "contract/check.h"
#include "contract/context.h"
#include "contract/error.h"
#include "core/clock.h"
#include "core/options.h"
#include "core/quiet.h"
#include "geometry/stencil_facts.h"
#include "matrix/distributed_matrix.h"
#include "solver_state.h"
#include "stack.h"

GSW_ENDS_WITH(gsw_system_report, residual);

typedef struct system_state {
    gsw_context *context; /* its own, or that of all */
    gsw_matrix matrix;
    const void *arrays[GSW_STENCIL_MAX];
    gsw_solver *solver; /* NULL: it has needed none so far */
    gsw_system_report report;
} system_state;

struct gsw_many {
    gsw_context *context;
    int64_t count, points;
    int threads; /* that take systems; 1: each system has all threads */
    int usable;
    gsw_solver_options options; /* with what they point to: */
    gsw_multigrid_options multigrid;
    gsw_factor_options factor;
    gsw_krylov_options krylov;
    system_state *systems;
    gsw_stack stack; /* stack.context is NULL: there is none */
    gsw_solver_report report;
};

/* ---- each system alone ---- */

typedef struct call {
    gsw_many *many;
    const gsw_matrix *matrices;
    const double *b;
    double *x;
} call;

static gsw_status create_one(const call *c, int64_t k) {
    system_state *s = &c->many->systems[k];
    return gsw_solver_create(s->context, &s->matrix, &c->many->options, &s->solver);
}

static gsw_status update_one(const call *c, int64_t k) {
    system_state *s = &c->many->systems[k];
    return s->solver != NULL ? gsw_solver_update(s->context, s->solver, &s->matrix) : GSW_SUCCESS;
}

static gsw_status solve_one(const call *c, int64_t k) {
    system_state *s = &c->many->systems[k];
    gsw_solver_report report = {.size = sizeof report, .residual = NAN};
    gsw_status status = GSW_SUCCESS;
    if (s->report.converged) /* in a stack */
        return status;
    if (s->solver == NULL)
        status = create_one(c, k);
    if (status == GSW_SUCCESS)
        status = gsw_solver_solve(s->context, s->solver, c->b + k * c->many->points,
                                  c->x + k * c->many->points, &report);
    s->report.iterations += report.iterations;
    s->report.residual = report.residual;
    s->report.converged = report.converged;
    return status;
}

/* Does one() for each system, and fails as the first system that has failed. */
static gsw_status for_each(const call *c, gsw_status (*one)(const call *c, int64_t k)) {
    gsw_many *many = c->many;
    const gsw_quiet quiet = gsw_quiet_begin(many->context);
    char message[sizeof many->context->message] = "";
#pragma omp parallel for schedule(dynamic) num_threads(many->threads) if (many->threads > 1)
    for (int64_t k = 0; k < many->count; k++) {
        system_state *s = &many->systems[k];
        s->report.status = one(c, k);
        if (many->threads == 1 && s->report.status != GSW_SUCCESS && message[0] == '\0')
            (void)snprintf(message, sizeof message, "%s", s->context->message);
    }
    gsw_quiet_end(many->context, &quiet, 0);
    for (int64_t k = 0; k < many->count; k++) {
        const system_state *s = &many->systems[k];
        if (s->report.status != GSW_SUCCESS)
            return gsw_fail(many->context, (gsw_status)s->report.status, "system %lld: %.480s",
                            (long long)k, message[0] != '\0' ? message : s->context->message);
    }
    return GSW_SUCCESS;
}

/* ---- creation ---- */

static int is_alike(const gsw_matrix *a, const gsw_matrix *b) {
    return gsw_grid_is_same(&a->grid, &b->grid) && gsw_stencil_is_same(&a->stencil, &b->stencil) &&
           a->format == b->format;
}

static gsw_status check(gsw_context *context, int64_t count, const gsw_matrix *matrices) {
    GSW_REQUIRE(context, count >= 1, "count is %lld; it must be at least 1", (long long)count);
    GSW_REQUIRE(context, matrices != NULL, "matrices is NULL");
    for (int64_t k = 0; k < count; k++) {
        const gsw_matrix *m = &matrices[k];
        GSW_TRY(gsw_matrix_check_anywhere(context, m));
        GSW_REQUIRE(context, is_alike(m, &matrices[0]),
                    "matrices: number %lld has another grid, stencil or format than the first one",
                    (long long)k);
        GSW_REQUIRE(context, m->partition == NULL, "matrices: number %lld is on a partition",
                    (long long)k);
    }
    return GSW_SUCCESS;
}

/* Copies the options, with what they point to. */
static gsw_status take_options(gsw_many *many, const gsw_solver_options *given) {
    gsw_context *context = many->context;
    gsw_solver_options *o = &many->options;
    GSW_TRY(gsw_options_take(context, "gsw_solver_options", given, sizeof *o, o));
    GSW_TRY(gsw_options_take(context, "gsw_krylov_options", o->krylov, sizeof many->krylov,
                             &many->krylov));
    GSW_REQUIRE(context, many->krylov.monitor == NULL, "krylov.monitor: many systems have none");
    o->krylov = &many->krylov;
    if (o->multigrid != NULL)
        GSW_TRY(gsw_options_take(context, "gsw_multigrid_options", o->multigrid,
                                 sizeof many->multigrid, &many->multigrid));
    if (o->factor != NULL)
        GSW_TRY(gsw_options_take(context, "gsw_factor_options", o->factor, sizeof many->factor,
                                 &many->factor));
    o->multigrid = o->multigrid != NULL ? &many->multigrid : NULL;
    o->factor = o->factor != NULL ? &many->factor : NULL;
    return GSW_SUCCESS;
}

static void take_matrices(gsw_many *many, const gsw_matrix *matrices) {
    for (int64_t k = 0; k < many->count; k++)
        gsw_matrix_keep(&matrices[k], &many->systems[k].matrix, many->systems[k].arrays);
}

/* A context with one thread for each system, where there are more systems than threads. */
static gsw_status open_contexts(gsw_many *many) {
    gsw_context *context = many->context;
    const int threads = gsw_context_threads(context);
    const int each = context->backend != GSW_BACKEND_CUDA && threads > 1 && many->count >= threads;
    const gsw_context_options options = {
        .size = sizeof options, .backend = context->backend, .threads = 1};
    many->threads = each ? threads : 1;
    for (int64_t k = 0; k < many->count; k++) {
        many->systems[k].context = context;
        if (!each)
            continue;
        const gsw_status status = gsw_context_create(&options, &many->systems[k].context);
        if (status != GSW_SUCCESS)
            return gsw_fail(context, status, "%s", gsw_context_message(NULL));
        many->systems[k].context->row_base = context->row_base;
    }
    return GSW_SUCCESS;
}

/* On a device. What cannot be stacked has solvers: there is one null vector, and one norm, for each
 * system. */
static gsw_status open_stack(gsw_many *many, const gsw_matrix *matrices) {
    gsw_context *context = many->context;
    if (context->backend != GSW_BACKEND_CUDA || many->count == 1 ||
        many->krylov.nullspace != GSW_NULLSPACE_NONE || many->krylov.norm != GSW_NORM_TRUE ||
        !gsw_stack_takes(matrices, many->count))
        return GSW_SUCCESS;
    const gsw_quiet quiet = gsw_quiet_begin(context);
    const gsw_status status =
        gsw_stack_open(context, matrices, many->count, &many->options, &many->stack);
    const int serves = status == GSW_SUCCESS;
    if (!serves)
        gsw_stack_close(&many->stack);
    return gsw_quiet_settle(context, &quiet, status, gsw_is_answer(status));
}

/* A solver whose choice stands for that of the others. */
static const gsw_solver *first_of(const gsw_many *many) {
    return many->stack.context != NULL ? many->stack.solver : many->systems[0].solver;
}

/* What is said of all systems before a solve, and of the choice. */
static void describe(gsw_many *many, double setup_ms) {
    gsw_solver_report *r = &many->report;
    *r = (gsw_solver_report){.size = sizeof *r};
    (void)gsw_solver_get_report(first_of(many), r);
    r->setup_ms = setup_ms;
    r->multigrid = NULL;
    r->factor = NULL;
}

/* *made may be set on failure, too. */
static gsw_status open_many(gsw_context *context, int64_t count, const gsw_matrix *matrices,
                            const gsw_solver_options *options, gsw_many **made) {
    const double begin = gsw_seconds_now();
    void *memory;
    GSW_TRY(check(context, count, matrices));
    GSW_TRY(gsw_alloc(context, 1, sizeof **made, "a solver of many systems", &memory));
    gsw_many *many = *made = memory;
    *many = (gsw_many){.context = context, .count = count};
    GSW_TRY(gsw_grid_points(&matrices[0].grid, &many->points));
    GSW_TRY(gsw_alloc(context, (size_t)count, sizeof *many->systems, "systems", &memory));
    many->systems = memory;
    memset(many->systems, 0, (size_t)count * sizeof *many->systems);
    GSW_TRY(take_options(many, options));
    take_matrices(many, matrices);
    GSW_TRY(open_contexts(many));
    GSW_TRY(open_stack(many, matrices));
    if (many->stack.context == NULL)
        GSW_TRY(for_each(&(call){.many = many}, create_one));
    many->usable = 1;
    describe(many, 1e3 * (gsw_seconds_now() - begin));
    return GSW_SUCCESS;
}

static void close_many(gsw_many *many) {
    if (many == NULL)
        return;
    for (int64_t k = 0; k < many->count && many->systems != NULL; k++) {
        gsw_solver_destroy(many->systems[k].solver);
        if (many->systems[k].context != many->context)
            gsw_context_destroy(many->systems[k].context);
    }
    gsw_stack_close(&many->stack);
    free(many->systems);
    free(many);
}

static gsw_status update_many(gsw_many *many, const gsw_matrix *matrices) {
    const double begin = gsw_seconds_now();
    GSW_TRY(check(many->context, many->count, matrices));
    GSW_REQUIRE(many->context, is_alike(&matrices[0], &many->systems[0].matrix),
                "matrices: their grid, stencil or format is not the solver's");
    many->usable = 0;
    take_matrices(many, matrices);
    if (many->stack.context != NULL)
        GSW_TRY(gsw_stack_update(&many->stack, matrices));
    GSW_TRY(for_each(&(call){.many = many}, update_one));
    many->usable = 1;
    describe(many, 1e3 * (gsw_seconds_now() - begin));
    return GSW_SUCCESS;
}

/* ---- solving ---- */

/* Sums the systems' reports up. */
static void sum_up(gsw_many *many, gsw_status status) {
    gsw_solver_report *r = &many->report;
    r->status = status;
    r->converged = 1;
    r->iterations = 0;
    r->residual = 0;
    for (int64_t k = 0; k < many->count; k++) {
        const gsw_system_report *s = &many->systems[k].report;
        r->converged = r->converged && s->converged;
        r->iterations = s->iterations > r->iterations ? s->iterations : r->iterations;
        r->residual = s->residual <= r->residual ? r->residual : s->residual;
    }
    (void)snprintf(r->message, sizeof r->message, "%s",
                   status == GSW_SUCCESS ? "" : many->context->message);
}

static gsw_status solve_many(gsw_many *many, const double *b, double *x,
                             gsw_solver_report *report) {
    gsw_context *context = many->context;
    const double begin = gsw_seconds_now(), setup_ms = many->report.setup_ms;
    GSW_REQUIRE(context, many->usable, "solver holds no values: its last update failed");
    const gsw_vector vectors[] = {{.name = "b", .data = b}, {.name = "x", .data = x, .written = 1}};
    GSW_TRY(gsw_check_vectors(context, many->points * many->count, GSW_F64, 1, vectors, 2));
    for (int64_t k = 0; k < many->count; k++)
        many->systems[k].report = (gsw_system_report){.size = sizeof many->systems[k].report};
    describe(many, setup_ms);
    if (many->stack.context != NULL) {
        gsw_system_report *systems;
        void *memory;
        GSW_TRY(gsw_alloc(context, (size_t)many->count, sizeof *systems, "reports", &memory));
        systems = memory;
        const gsw_status status = gsw_stack_solve(&many->stack, b, x, &many->report, systems);
        for (int64_t k = 0; k < many->count && status == GSW_SUCCESS; k++)
            many->systems[k].report = systems[k];
        free(memory);
        GSW_TRY(status);
    }
    const gsw_status status = for_each(&(call){.many = many, .b = b, .x = x}, solve_one);
    sum_up(many, status);
    many->report.solve_ms = 1e3 * (gsw_seconds_now() - begin);
    gsw_result_give(report, &many->report, sizeof many->report);
    return status;
}

/* ---- the interface ---- */

static const gsw_solver_report *report_of(const gsw_many *many) {
    return &many->report;
}

static const gsw_choice *choice_of(const gsw_many *many) {
    return &first_of(many)->choice;
}

gsw_status gsw_solver_create_many(gsw_context *context, int64_t count, const gsw_matrix *matrices,
                                  const gsw_solver_options *options, gsw_solver **solver) {
    static const gsw_many_ops ops = {
        .solve = solve_many, .report = report_of, .choice = choice_of, .close = close_many};
    void *memory;
    GSW_REQUIRE(context, solver != NULL, "solver is NULL");
    *solver = NULL;
    GSW_REQUIRE(context, context != NULL, "context is NULL");
    GSW_TRY(gsw_alloc(context, 1, sizeof **solver, "a solver", &memory));
    gsw_solver *made = memory;
    memset(made, 0, sizeof *made);
    made->context = context;
    made->many_ops = &ops;
    const gsw_status status = open_many(context, count, matrices, options, &made->many);
    if (status == GSW_SUCCESS)
        *solver = made;
    else
        gsw_solver_destroy(made);
    return status;
}

gsw_status gsw_solver_update_many(gsw_context *context, gsw_solver *solver,
                                  const gsw_matrix *matrices) {
    GSW_REQUIRE(context, context != NULL, "context is NULL");
    GSW_REQUIRE(context, solver != NULL, "solver is NULL");
    GSW_REQUIRE(context, solver->context == context, "solver belongs to another context");
    GSW_REQUIRE(context, solver->many != NULL, "solver has one system: see gsw_solver_update()");
    return update_many(solver->many, matrices);
}

gsw_status gsw_solver_get_system(const gsw_solver *solver, int64_t system,
                                 gsw_system_report *report) {
    if (solver == NULL || report == NULL || solver->many == NULL || system < 0 ||
        system >= solver->many->count)
        return GSW_ERROR_INVALID_ARGUMENT;
    GSW_TRY(gsw_result_check(NULL, "gsw_system_report", report));
    gsw_result_give(report, &solver->many->systems[system].report, sizeof *report);
    return GSW_SUCCESS;
}
