/* krylov_solve.c: solves from the right-hand side to the verdict. Each system is entered, a method
 * runs rounds of it, and after each round the system is left and the user's x is judged.
 *
 * A method stops when its own norm, a recurrence, is small enough. The residual that is computed
 * from the x that is returned decides alone: ||b - A x|| + eps || |A| |x| || must meet the
 * tolerance. Drift of the recurrence (van der Vorst and Ye, SIAM J. Sci. Comput. 22, 2000) is cured
 * by a new round from x, with a new space, so that the iterations in between need nothing. Rounding
 * of b - A x itself (Greenbaum, SIAM J. Matrix Anal. Appl. 18, 1997) has no cure. Where x is huge,
 * as for a singular matrix, it exceeds the tolerance, and convergence cannot be decided.
 * gsw_krylov_terms() estimates || |A| |x| || without the entries of A, so that rows of very
 * different size are all judged by their own terms. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "contract/allocate.h"
#include "core/clock.h"
#include "core/options.h"
#include "core/quiet.h"
#include "core/reserve.h"
#include "krylov_driver.h"

/* A round that leaves more of the true residual than this is in vain. */
#define PROGRESS 0.5
/* This many such rounds in succession are stagnation. */
#define STALLS_MAX 2
/* x is mostly the rounding error of x0 where it is no longer than so many times eps ||x0||. */
#define FAR 1e4

/* The number of a member that is free. */
enum { ENDED = -1 };

/* A call in progress. */
typedef struct solver {
    const gsw_krylov_job *job;
    gsw_krylov_system user;  /* the user's own system */
    gsw_krylov_system *form; /* in which each system begins; NULL: it does not apply */
    gsw_krylov_system *now;  /* the one that the queue runs */
    gsw_krylov_run common;   /* what all runs of the user's systems begin with */
    double *memory;          /* of the work vectors, */
    double *of_mask; /* and of those of a mask, for each member: b, and x0 where it is kept */
    int64_t begun;   /* systems that have begun */
    gsw_krylov_member members[GSW_KRYLOV_SYSTEMS];
    int width; /* of them that are used; 1 where there is a form */
    gsw_krylov_queue queue;
    gsw_status status; /* of the first system that has not converged, */
    int64_t first;     /* its number, */
    char message[sizeof((gsw_context *)0)->message]; /* and why */
} solver;

/* ---- the verdict ---- */

static int meets_tolerance(const gsw_krylov_run *run, const gsw_krylov_truth *t) {
    return t->checked + t->rounding <= run->tolerance; /* false where one of them is not a number */
}

/* Adds the quality of x to the message, and the likely cause. */
static gsw_status add_evidence(gsw_krylov_run *run, gsw_status status, const gsw_krylov_truth *t) {
    char *cause = run->rescued.cause;
    if (cause[0] == '\0')
        GSW_TRY(gsw_krylov_find_cause(run, cause, sizeof run->rescued.cause));
    return gsw_fail(run->context, status, "%s; x has norm %.3g, b - A x %.3g times the reference%s",
                    run->context->message, t->x, t->checked / run->reference, cause);
}

static gsw_status stagnated(gsw_krylov_run *run, const gsw_krylov_truth *t,
                            const gsw_krylov_result *result) {
    const double known = t->rounding / run->reference;
    if (t->checked > run->tolerance && t->rounding <= run->tolerance)
        return gsw_fail(run->context, GSW_ERROR_NOT_CONVERGED,
                        "stagnated after %lld iteration%s: the recurrence gives %.3g times the "
                        "reference, but b - A x does not follow, after %lld replacements",
                        (long long)run->iterations, gsw_krylov_plural(run),
                        run->norm / run->reference, (long long)result->replacements);
    return gsw_fail(run->context, GSW_ERROR_NOT_CONVERGED,
                    "stagnated after %lld iteration%s: the recurrence gives %.3g times the "
                    "reference, but rounding leaves b - A x unknown to %.1g times: %s",
                    (long long)run->iterations, gsw_krylov_plural(run), run->norm / run->reference,
                    known,
                    known > GSW_SINGULAR_ROUNDING ? "the matrix is singular or nearly so"
                                                  : "the tolerance is less than fp64 attains here");
}

/* A status after which x still deserves a verdict. */
static int may_have_converged(gsw_status status) {
    return status == GSW_SUCCESS || status == GSW_ERROR_NOT_CONVERGED ||
           status == GSW_ERROR_BREAKDOWN;
}

/* Whether rounding hides the residual, so that more iterations do not help. They do where x0 was
 * far too large: the next round makes x small, and its rounding with it. */
static int is_hidden(const gsw_krylov_member *m) {
    return m->truth.rounding > m->user.tolerance && m->truth.x > FAR * DBL_EPSILON * m->guess_norm;
}

/* Judges x after a round that has ended with `status`. The system has ended when the true residual
 * meets the tolerance or cannot meet it. Else the recurrence has drifted, and the method begins
 * again from x. */
static gsw_status judge(gsw_krylov_member *m, gsw_status status, gsw_krylov_next *next) {
    gsw_krylov_run *run = &m->user;
    gsw_krylov_result *result = &m->result;
    gsw_krylov_truth *t = &m->truth;
    *next = GSW_NEXT_END;
    if (!m->known)
        GSW_TRY(gsw_krylov_measure(run, t));
    m->judged = 1;
    result->converged = may_have_converged(status) && meets_tolerance(run, t);
    if (result->converged)
        return GSW_SUCCESS;
    result->stagnated = run->hopeless;
    if (status != GSW_SUCCESS)
        return status == GSW_ERROR_STOPPED ? status : add_evidence(run, status, t);
    if (!isfinite(t->checked))
        return gsw_fail(run->context, GSW_ERROR_NON_FINITE,
                        "after %lld iteration%s the norm of b - A x is not finite",
                        (long long)run->iterations, gsw_krylov_plural(run));
    if (run->stopped)
        return gsw_fail(run->context, GSW_ERROR_STOPPED, "the monitor stopped iteration %lld",
                        (long long)run->iterations);
    m->stalls = t->checked > PROGRESS * m->before ? m->stalls + 1 : 0;
    m->before = t->checked;
    result->stagnated = m->stalls == STALLS_MAX || is_hidden(m);
    if (result->stagnated)
        return add_evidence(run, stagnated(run, t, result), t);
    /* The true residual is above this, so the method does not end at once. */
    const double room = run->tolerance - t->rounding;
    run->target = room > 0 ? fmax(room - t->rounding, room / 2) : run->tolerance;
    result->replacements++;
    *next = GSW_NEXT_USER;
    return GSW_SUCCESS;
}

/* ---- vectors ---- */

/* Vectors of a member for a mask. */
static int64_t mask_vectors(const solver *s) {
    return s->job->op->masked.active == NULL ? 0 : s->job->options.keep_inactive ? 2 : 1;
}

/* The run that a system's method begins with, for the count of its vectors. */
static int64_t vectors_of(const solver *s, const gsw_krylov_system *system) {
    gsw_krylov_run run = s->common;
    run.system = system;
    return s->job->method->vectors(&run);
}

/* One allocation for all vectors. The method's vectors come first, then those of the system for
 * each member, and then the scalars of projections. */
static gsw_status allocate_vectors(solver *s) {
    const size_t scalars = 8 * sizeof(double);
    gsw_krylov_run *common = &s->common;
    int64_t count = s->width * (vectors_of(s, &s->user) + s->user.vectors);
    size_t bytes;
    void *memory;
    if (s->form != NULL && vectors_of(s, s->form) + s->form->vectors > count)
        count = vectors_of(s, s->form) + s->form->vectors;
    count += s->width * mask_vectors(s);
    common->spacing = gsw_krylov_spacing(common->n);
    common->stride = s->width * common->spacing;
    if (!gsw_mul_size((size_t)common->spacing, sizeof(double), &bytes) ||
        !gsw_mul_size(bytes, (size_t)count, &bytes) || bytes > SIZE_MAX - scalars)
        return gsw_fail(common->context, GSW_ERROR_OVERFLOW,
                        "%lld work vectors of %lld points exceed 64-bit sizes", (long long)count,
                        (long long)common->n);
    GSW_TRY(common->context->ops->memory->reserve(common->context, bytes + scalars, &memory));
    s->memory = memory;
    common->null_sums = s->memory + count * common->spacing;
    s->of_mask = common->null_sums - s->width * mask_vectors(s) * common->spacing;
    return GSW_SUCCESS;
}

/* The form and the vectors; without the form if there is no memory for both. */
static gsw_status open_vectors(solver *s) {
    gsw_context *context = s->common.context;
    GSW_TRY(gsw_eisenstat_open(&s->common, s->job->method, &s->form));
    if (s->form == NULL || s->common.options.eisenstat == GSW_EISENSTAT_ALWAYS)
        return allocate_vectors(s);
    const gsw_quiet quiet = gsw_quiet_begin(context);
    const gsw_status status = allocate_vectors(s);
    gsw_quiet_end(context, &quiet, 1);
    if (status == GSW_SUCCESS)
        return status;
    gsw_eisenstat_close(s->form);
    s->form = NULL;
    return allocate_vectors(s);
}

/* Makes the queue one for runs of this system. */
static gsw_status use_system(solver *s, gsw_krylov_system *system) {
    gsw_krylov_run run = s->common;
    const int64_t before = s->width * vectors_of(s, system);
    run.system = s->now = system;
    for (int64_t k = 0; k < s->width; k++) {
        s->members[k].user.work = s->memory + k * run.spacing;
        s->members[k].own = s->memory + (before + system->vectors * k) * run.spacing;
    }
    gsw_krylov_queue_close(&s->queue);
    return gsw_krylov_queue_open(&s->queue, s->job->method, &run, s->width);
}

/* ---- a system's beginning and end ---- */

/* Makes a member the next system that has not begun. */
static void take_next(solver *s, gsw_krylov_member *m) {
    const gsw_krylov_job *job = s->job;
    double *work = m->user.work;
    m->user = s->common;
    m->user.member = m;
    m->run = &m->user;
    m->user.number = s->begun++;
    m->user.work = work;
    m->user.b = job->b + m->user.number * job->ldb;
    m->user.x = job->x + m->user.number * job->ldx;
    m->user.reported = -1;
    m->known = m->judged = m->stalls = 0;
    m->before = INFINITY;
    m->result = (gsw_krylov_result){
        .size = sizeof m->result, .residual = NAN, .recurrence = NAN, .rounding = NAN};
}

static double *mask_vector(const solver *s, const gsw_krylov_member *m, int64_t which) {
    return s->of_mask + (m - s->members + which * s->width) * s->common.spacing;
}

/* With a mask: takes b and x0 without what they hold at inactive points. */
static gsw_status mask_system(const solver *s, gsw_krylov_member *m) {
    gsw_context *context = s->common.context;
    const gsw_masked *masked = &s->job->op->masked;
    gsw_krylov_run *run = &m->user;
    if (masked->active == NULL)
        return GSW_SUCCESS;
    if (s->job->options.keep_inactive)
        GSW_TRY(context->ops->vector->copy(context, run->n, run->x, mask_vector(s, m, 1)));
    GSW_TRY(gsw_masked_vector(context, masked, GSW_F64, run->n, run->b, mask_vector(s, m, 0)));
    run->b = mask_vector(s, m, 0);
    return gsw_masked_vector(context, masked, GSW_F64, run->n, run->x, run->x);
}

/* At the end: x at inactive points is 0, or what it was. */
static gsw_status unmask_system(const solver *s, const gsw_krylov_member *m) {
    const gsw_masked *masked = &s->job->op->masked;
    const gsw_krylov_run *run = &m->user;
    const double *others = s->job->options.keep_inactive ? mask_vector(s, m, 1) : NULL;
    return masked->active == NULL
               ? GSW_SUCCESS
               : run->context->ops->mask->select(run->context, GSW_F64, run->n, masked->active,
                                                 run->x, others, run->x);
}

/* Gives the result of a system that has ended. */
static void finish(solver *s, gsw_krylov_member *m, gsw_status status) {
    const gsw_krylov_job *job = s->job;
    gsw_krylov_run *run = &m->user;
    gsw_krylov_result *result = &m->result;
    if (m->judged && !gsw_krylov_concerns_all(run, status)) {
        result->residual = m->truth.residual / m->b_norm;
        result->recurrence = run->norm / run->reference;
        result->rounding = m->truth.rounding / run->reference;
    }
    result->iterations = run->iterations;
    /* An operator can fail while the reason for a stagnation is sought. */
    result->stagnated = result->stagnated && status == GSW_ERROR_NOT_CONVERGED;
    gsw_krylov_forget(run);
    const gsw_status unmasked = unmask_system(s, m);
    status = status == GSW_SUCCESS ? unmasked : status;
    result->status = status;
    result->solve_ms = 1e3 * (gsw_seconds_now() - job->begin);
    gsw_result_give(gsw_krylov_result_of(job, run->number), result, sizeof *result);
    if (status != GSW_SUCCESS && (s->status == GSW_SUCCESS || run->number < s->first)) {
        s->status = status;
        s->first = run->number;
        memcpy(s->message, run->context->message, sizeof s->message);
    }
    run->number = ENDED;
}

/* ---- the solve ---- */

/* Does what follows. *ended: the system has; else its next round is under way. Returns an error
 * that concerns all systems. */
static gsw_status go_on(solver *s, int place, gsw_krylov_member *m, gsw_status status,
                        gsw_krylov_next next, int *ended) {
    *ended = 0;
    if (gsw_krylov_concerns_all(&m->user, status))
        return status;
    if (next == GSW_NEXT_JUDGE)
        status = judge(m, status, &next);
    if (gsw_krylov_concerns_all(&m->user, status))
        return status;
    *ended = status != GSW_SUCCESS || next == GSW_NEXT_END;
    if (*ended) {
        finish(s, m, status);
        return GSW_SUCCESS;
    }
    if (next == GSW_NEXT_RESUME)
        return gsw_krylov_queue_resume(&s->queue, place);
    if (next == GSW_NEXT_USER && s->now != &s->user) {
        GSW_TRY(use_system(s, &s->user));
        m->run = &m->user;
    }
    gsw_krylov_queue_begin(&s->queue, place, m->run);
    return GSW_SUCCESS;
}

/* Fills a place with the next system that needs iterations, or takes the place out. */
static gsw_status refill(solver *s, int place, gsw_krylov_member *m) {
    int ended = 1;
    while (s->begun < s->job->count && ended) {
        gsw_krylov_next next = GSW_NEXT_END;
        take_next(s, m);
        gsw_status status = mask_system(s, m);
        if (status == GSW_SUCCESS)
            status = s->now->enter(s->now, m, &next);
        GSW_TRY(go_on(s, place, m, status, next, &ended));
    }
    return ended && place < s->queue.count ? gsw_krylov_queue_remove(&s->queue, place)
                                           : GSW_SUCCESS;
}

/* Leaves the system after a round. A form's run counts for the user's. */
static gsw_status leave(solver *s, gsw_krylov_member *m, gsw_status status, gsw_krylov_next *next) {
    gsw_krylov_run *user = &m->user;
    const gsw_krylov_run *run = m->run;
    if (run != user) {
        user->iterations = m->result.eisenstat = run->iterations;
        user->reported = run->reported;
        user->stopped = run->stopped;
        user->failed = run->failed;
    }
    m->known = 0;
    *next = GSW_NEXT_JUDGE;
    return gsw_krylov_concerns_all(run, status) ? status : s->now->leave(s->now, m, status, next);
}

/* Runs rounds until one ends, that of *m in *place, and leaves its system. */
static gsw_status iterate(solver *s, int *place, gsw_krylov_member **m, gsw_krylov_next *next) {
    gsw_context *context = s->common.context;
    const int is_trial = s->now->is_trial;
    const gsw_quiet quiet = is_trial ? gsw_quiet_begin(context) : (gsw_quiet){0};
    gsw_status status = gsw_krylov_queue_next(&s->queue, place);
    if (*place < 0 && !is_trial)
        return status;
    *m = s->queue.place[*place < 0 ? 0 : *place].run->member;
    status = leave(s, *m, status, next);
    return is_trial ? gsw_quiet_settle(context, &quiet, status, 0) : status;
}

/* Returns an error that concerns all systems. */
static gsw_status solve_all(solver *s) {
    for (int k = 0; k < s->width && s->begun < s->job->count; k++)
        GSW_TRY(refill(s, s->queue.count, &s->members[k]));
    while (s->queue.count > 0) {
        gsw_krylov_member *m = NULL;
        gsw_krylov_next next;
        int place, ended;
        const gsw_status status = iterate(s, &place, &m, &next);
        if (place < 0)
            return status;
        GSW_TRY(go_on(s, place, m, status, next, &ended));
        if (ended)
            GSW_TRY(refill(s, place, m));
    }
    return GSW_SUCCESS;
}

/* How many systems are side by side: several, on one process, if they share solves with the
 * preconditioner, or products with a matrix where there is none. Others would gain nothing. */
static int width_for(const gsw_krylov_job *job) {
    const gsw_preconditioner *M = job->preconditioner;
    const int shared = M != NULL ? M->ops.takes_several(M->self) : job->op->apply == NULL;
    if (!shared || job->method->iterate == NULL || job->context->sum != NULL)
        return 1;
    return job->count < GSW_KRYLOV_SYSTEMS ? (int)job->count : GSW_KRYLOV_SYSTEMS;
}

gsw_status gsw_krylov_solve(const gsw_krylov_job *job) {
    gsw_context *context = job->context;
    solver s = {.job = job, .user = gsw_krylov_user_system(job), .width = width_for(job)};
    gsw_status status;
    s.common = (gsw_krylov_run){.context = context,
                                .system = &s.user,
                                .options = job->options,
                                .applications = job->method->applications,
                                .n = job->n};
    s.queue.context = context;
    for (int k = 0; k < GSW_KRYLOV_SYSTEMS; k++)
        s.members[k].user.number = ENDED;
    GSW_TRY_GOTO(open_vectors(&s), cleanup);
    GSW_TRY_GOTO(use_system(&s, s.form != NULL ? s.form : &s.user), cleanup);
    status = solve_all(&s);

cleanup:
    gsw_krylov_queue_close(&s.queue);
    gsw_unreserve(context, s.memory);
    gsw_eisenstat_close(s.form);
    for (int k = 0; k < s.width; k++)
        if (s.members[k].user.number != ENDED)
            finish(&s, &s.members[k], status);
    while (s.begun < job->count) {
        take_next(&s, &s.members[0]);
        finish(&s, &s.members[0], status);
    }
    if (status != GSW_SUCCESS || s.status == GSW_SUCCESS)
        return status;
    if (!job->several)
        return s.status;
    return gsw_fail(context, s.status, "system %lld: %s", (long long)s.first, s.message);
}

gsw_krylov_result *gsw_krylov_result_of(const gsw_krylov_job *job, int64_t i) {
    if (job->results == NULL)
        return NULL;
    return (void *)((char *)job->results + (size_t)i * job->results->size);
}
