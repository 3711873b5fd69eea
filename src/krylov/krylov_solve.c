/* krylov_solve.c: solves from the right-hand side to the verdict.
 *
 * A method stops when its own norm, a recurrence, is small enough. Then the residual is computed
 * from the x that is returned, and that residual alone decides. Two effects separate the recurrence
 * from the true residual.
 *
 *   Drift. Rounding errors of the updates add up in the recurrence but not in b - A x (van der
 *   Vorst and Ye, Residual replacement strategies for Krylov subspace iterative methods, SIAM J.
 *   Sci. Comput. 22, 2000). Their cure replaces the recurrence's residual by the true one. Here the
 *   method begins again from x, with a new space, so the iterations in between need nothing. A
 *   round is in vain if it does not halve the true residual. After two such rounds in succession
 *   the solve has stagnated.
 *
 *   Rounding. b - A x itself cannot be computed more accurately than eps |A| |x| (Greenbaum, SIAM
 *   J. Matrix Anal. Appl. 18, 1997; Higham, Accuracy and Stability of Numerical Algorithms, 2nd
 *   ed., section 3.5). Where x is huge, as for a singular matrix, this exceeds the tolerance, and
 *   convergence cannot be decided. gsw_krylov_terms() estimates |A| |x| row by row without the
 *   entries of A, so that rows of very different size are all judged by their own terms.
 *
 * So a solve has converged where ||b - A x|| + eps || |A| |x| || is at most the tolerance. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "contract/allocate.h"
#include "core/clock.h"
#include "eisenstat.h"
#include "krylov_evidence.h"
#include "krylov_queue.h"
#include "krylov_rescue.h"
#include "krylov_solve.h"
#include "core/options.h"
#include "core/quiet.h"
#include "core/reserve.h"

/* A round that leaves more of the true residual than this is in vain. */
#define PROGRESS 0.5
/* This many such rounds in succession are stagnation. */
#define STALLS_MAX 2
/* x is mostly the rounding error of x0 where it is no longer than so many times eps ||x0||. */
#define FAR 1e4

/* A vector counts as a null vector where its product is this small relative to the product's terms.
 * Matrices from files have been rounded to a few digits. */
#define NULL_PRODUCT 1e-6

/* ---- the systems ---- */

/* Room for a system that is being solved. */
typedef struct member {
    gsw_krylov_run run; /* first, so that a run is its member; its number is ENDED if it is free */
    double *null_vectors;      /* two vectors for the null vector and P b; NULL: there is none */
    double b_norm, guess_norm; /* ||b||, ||x0|| */
    gsw_krylov_truth truth;    /* at the end of the last round */
    int judged;                /* there was one */
    int stalls;                /* rounds in succession that were in vain */
    double before;             /* the norm at the end of the round before */
    gsw_krylov_result result;
} member;

enum { ENDED = -1 };

/* A call in progress. */
typedef struct solver {
    gsw_krylov_run common; /* what all runs begin with */
    const gsw_krylov_method *method;
    const gsw_krylov_job *job;
    double *memory; /* of the work vectors */
    int64_t begun;  /* systems that have begun */
    member members[GSW_KRYLOV_SYSTEMS];
    int width; /* of them that are used */
    gsw_krylov_queue queue;
    gsw_split_form *form; /* Eisenstat's, in which each system begins; NULL: it does not apply */
    gsw_status status;    /* of the first system that has not converged, */
    int64_t first;        /* its number, */
    char message[sizeof((gsw_context *)0)->message]; /* and why */
} solver;

/* ---- the null vector ---- */

/* Scales the null vector to length 1, into `v`. */
static gsw_status make_null_vector(gsw_krylov_run *run, double *v) {
    const double *given = run->options.null_vector;
    double length, points = (double)run->n;
    GSW_TRY(gsw_krylov_sum(run, 1, &points));
    if (run->options.nullspace == GSW_NULLSPACE_CONSTANT)
        return run->context->ops->fill(run->context, run->n, 1 / sqrt(points), v);
    GSW_TRY(gsw_krylov_norm(run, given, &length));
    GSW_REQUIRE(run->context, isfinite(length) && length > 0,
                "null_vector has the length %g; it must be finite and not zero, and its square "
                "must not underflow",
                length);
    return gsw_krylov_axpby(run, 1 / length, given, 0, v);
}

/* Sets the null vector and takes its part out of x and b. `vectors` are two work vectors for v and
 * P b. *removed is the part that b has lost. */
static gsw_status use_null_vector(gsw_krylov_run *run, double *v, double *projected,
                                  double *removed) {
    double *scratch = gsw_krylov_vector(run, 0), *terms = gsw_krylov_vector(run, 1);
    double product, size, b_norm, along;
    GSW_TRY(make_null_vector(run, v));
    GSW_TRY(gsw_krylov_cancellation(run, v, scratch, terms, &product, &size));
    if (isfinite(size))
        GSW_REQUIRE(
            run->context, product <= NULL_PRODUCT * size,
            "nullspace: %s is not in the null space of the matrix: the product has %.3g times "
            "its length, the terms of the product %.3g times",
            run->options.nullspace == GSW_NULLSPACE_CONSTANT ? "the constant vector"
                                                             : "null_vector",
            product, size);
    GSW_TRY(gsw_krylov_norm(run, run->b, &b_norm));
    GSW_TRY(gsw_krylov_dot(run, v, run->b, &along));
    *removed = b_norm > 0 ? fabs(along) / b_norm : 0;
    run->null_vector = v;
    GSW_TRY(gsw_krylov_copy(run, run->b, projected));
    GSW_TRY(gsw_krylov_project(run, projected));
    run->b = projected;
    return gsw_krylov_project(run, run->x);
}

/* ---- the right-hand side ---- */

static gsw_status underflows(gsw_krylov_run *run, gsw_norm norm) {
    return gsw_fail(run->context, GSW_ERROR_BREAKDOWN,
                    "%s is so small that its norm underflows; scale the system",
                    norm == GSW_NORM_TRUE ? "b" : "the preconditioned b");
}

/* b has norm 0: it is zero, or its squares have underflowed. */
static gsw_status solve_zero(gsw_krylov_run *run) {
    int small;
    GSW_TRY(gsw_krylov_underflows(run, run->b, 0, gsw_krylov_vector(run, 0), &small));
    return small ? underflows(run, GSW_NORM_TRUE)
                 : run->context->ops->fill(run->context, run->n, 0.0, run->x);
}

/* Sets the norm that rtol refers to. */
static gsw_status set_reference(gsw_krylov_run *run, double b_norm) {
    run->reference = b_norm;
    if (run->options.norm == GSW_NORM_PRECONDITIONED) {
        double *z = gsw_krylov_vector(run, 0);
        GSW_TRY(gsw_krylov_precondition(run, run->b, z));
        GSW_TRY(gsw_krylov_norm(run, z, &run->reference));
    }
    if (!isfinite(run->reference))
        return gsw_fail(run->context, GSW_ERROR_NON_FINITE, "the norm of %s is not finite",
                        run->options.norm == GSW_NORM_TRUE ? "b" : "the preconditioned b");
    if (run->reference == 0)
        return gsw_fail(run->context, GSW_ERROR_BREAKDOWN,
                        "the preconditioner makes b vanish: it is singular");
    /* The squares of a residual that meets rtol must be normal numbers. */
    const double least = fmax(run->options.rtol, DBL_EPSILON) * run->reference;
    if (least * least < DBL_MIN)
        return underflows(run, run->options.norm);
    run->tolerance = fmax(run->options.rtol * run->reference, run->options.atol);
    run->target = run->tolerance;
    return GSW_SUCCESS;
}

static int meets_tolerance(const gsw_krylov_run *run, const gsw_krylov_truth *t) {
    return t->checked + t->rounding <= run->tolerance; /* false where one of them is not a number */
}

/* ---- ends without convergence ---- */

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

/* ---- a system's beginning and end ---- */

/* Norms, null vector and reference. *done: x is the solution already. */
static gsw_status begin(member *m, int *done) {
    gsw_krylov_run *run = &m->run;
    gsw_krylov_result *result = &m->result;
    double given_norm;
    *done = 0;
    GSW_TRY(gsw_krylov_norm(run, run->b, &given_norm));
    m->b_norm = given_norm;
    if (m->null_vectors != NULL && given_norm > 0 && isfinite(given_norm)) {
        GSW_TRY(use_null_vector(run, m->null_vectors, m->null_vectors + run->spacing,
                                &result->removed));
        GSW_TRY(gsw_krylov_norm(run, run->b, &m->b_norm));
    }
    GSW_TRY(gsw_krylov_norm(run, run->x, &m->guess_norm));
    run->x_is_zero = m->guess_norm == 0;
    /* b was a multiple of the null vector, and only rounding errors are left. */
    const int gone = run->null_vector != NULL && m->b_norm <= 16 * DBL_EPSILON * given_norm;
    if (m->b_norm == 0 || gone) {
        GSW_TRY(gone ? run->context->ops->fill(run->context, run->n, 0.0, run->x)
                     : solve_zero(run));
        result->residual = result->recurrence = 0;
        result->converged = *done = 1;
        return GSW_SUCCESS;
    }
    return set_reference(run, m->b_norm);
}

/* A status after which x still deserves a verdict. */
static int may_have_converged(gsw_status status) {
    return status == GSW_SUCCESS || status == GSW_ERROR_NOT_CONVERGED ||
           status == GSW_ERROR_BREAKDOWN;
}

/* Whether a status ends the whole call: it does not come from a method. */
static int concerns_all(const member *m, gsw_status status) {
    return m->run.failed || (status != GSW_SUCCESS && !gsw_krylov_ended(status));
}

/* Whether rounding hides the residual, so that more iterations do not help. They do where x0 was
 * far too large: the next round makes x small, and its rounding with it. */
static int is_hidden(const member *m) {
    return m->truth.rounding > m->run.tolerance && m->truth.x > FAR * DBL_EPSILON * m->guess_norm;
}

/* Judges x after a round that has ended with `status`. `known`: its truth is. The system has ended
 * when the true residual meets the tolerance or cannot meet it. Else *again: the recurrence has
 * drifted, and the method begins again from x. */
static gsw_status judge_round(member *m, gsw_status status, int known, int *again) {
    gsw_krylov_run *run = &m->run;
    gsw_krylov_result *result = &m->result;
    gsw_krylov_truth *t = &m->truth;
    *again = 0;
    if (!known)
        GSW_TRY(gsw_krylov_measure(run, t));
    m->judged = 1;
    result->converged = may_have_converged(status) && meets_tolerance(run, t);
    if (result->converged)
        return GSW_SUCCESS;
    result->stagnated = run->hopeless;
    if (status != GSW_SUCCESS && status != GSW_ERROR_STOPPED)
        return add_evidence(run, status, t);
    if (status != GSW_SUCCESS)
        return status;
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
    *again = 1;
    return GSW_SUCCESS;
}

/* Gives the result of a system that has ended. */
static void finish(solver *s, member *m, gsw_status status) {
    const gsw_krylov_job *job = s->job;
    gsw_krylov_result *result = &m->result;
    if (m->judged && !concerns_all(m, status)) {
        result->residual = m->truth.residual / m->b_norm;
        result->recurrence = m->run.norm / m->run.reference;
        result->rounding = m->truth.rounding / m->run.reference;
    }
    result->iterations = m->run.iterations;
    /* An operator can fail while the reason for a stagnation is sought. */
    result->stagnated = result->stagnated && status == GSW_ERROR_NOT_CONVERGED;
    gsw_krylov_forget(&m->run);
    result->status = status;
    result->solve_ms = 1e3 * (gsw_seconds_now() - job->begin);
    gsw_result_give(gsw_krylov_result_of(job, m->run.number), result, sizeof *result);
    if (status != GSW_SUCCESS && (s->status == GSW_SUCCESS || m->run.number < s->first)) {
        s->status = status;
        s->first = m->run.number;
        memcpy(s->message, m->run.context->message, sizeof s->message);
    }
    m->run.number = ENDED;
}

/* ---- the solve ---- */

/* One allocation for all vectors. The method's vectors come first, then those
 * of each member for its null vector, and then the scalars of projections. */
static gsw_status allocate_vectors(solver *s) {
    gsw_krylov_run *common = &s->common;
    const size_t scalars = 8 * sizeof(double);
    const int64_t needed = s->method->vectors(common);
    const int64_t with_form = s->form != NULL ? gsw_split_form_vectors(s->form, common) : 0;
    const int64_t vectors = s->width * (needed > with_form ? needed : with_form);
    const int projects = common->options.nullspace != GSW_NULLSPACE_NONE;
    const int64_t count = vectors + (projects ? 2 * s->width : 0);
    size_t bytes;
    void *memory;
    common->spacing = gsw_krylov_spacing(common->n);
    common->stride = s->width * common->spacing;
    if (!gsw_mul_size((size_t)common->spacing, sizeof(double), &bytes) ||
        !gsw_mul_size(bytes, (size_t)count, &bytes) || bytes > SIZE_MAX - scalars)
        return gsw_fail(common->context, GSW_ERROR_OVERFLOW,
                        "%lld work vectors of %lld points exceed 64-bit sizes", (long long)count,
                        (long long)common->n);
    GSW_TRY(common->context->ops->reserve(common->context, bytes + scalars, &memory));
    s->memory = memory;
    common->null_sums = s->memory + count * common->spacing;
    for (int64_t k = 0; k < s->width; k++) {
        s->members[k].run.work = s->memory + k * common->spacing;
        if (projects)
            s->members[k].null_vectors = s->memory + (vectors + 2 * k) * common->spacing;
    }
    return GSW_SUCCESS;
}

/* The form and the vectors; without the form if there is no memory for both. */
static gsw_status open_vectors(solver *s) {
    gsw_context *context = s->common.context;
    GSW_TRY(gsw_split_form_open(&s->common, s->method, &s->form));
    if (s->form == NULL || s->common.options.eisenstat == GSW_EISENSTAT_ALWAYS)
        return allocate_vectors(s);
    const gsw_quiet quiet = gsw_quiet_begin(context);
    const gsw_status status = allocate_vectors(s);
    gsw_quiet_end(context, &quiet, 1);
    if (status == GSW_SUCCESS)
        return status;
    gsw_split_form_close(context, s->form);
    s->form = NULL;
    return allocate_vectors(s);
}

/* Makes a member the next system that has not begun. */
static void take_next(solver *s, member *m) {
    const gsw_krylov_job *job = s->job;
    double *work = m->run.work;
    m->run = s->common;
    m->run.number = s->begun++;
    m->run.work = work;
    m->run.b = job->b + m->run.number * job->ldb;
    m->run.x = job->x + m->run.number * job->ldx;
    m->run.reported = -1;
    m->judged = m->stalls = 0;
    m->before = INFINITY;
    m->result = (gsw_krylov_result){
        .size = sizeof m->result, .residual = NAN, .recurrence = NAN, .rounding = NAN};
}

/* Iterates in Eisenstat's form, and judges x. *again: the method goes on from x without it. */
static gsw_status iterate_in_form(solver *s, member *m, int *again) {
    int begun, known;
    const gsw_status status = gsw_split_form_iterate(s->form, &m->run, &begun, &m->truth, &known);
    m->result.eisenstat = m->run.iterations;
    *again = status == GSW_SUCCESS && !begun;
    return concerns_all(m, status) || *again ? status : judge_round(m, status, known, again);
}

/* Fills a place with the next system that needs iterations, or takes the place out. */
static gsw_status refill(solver *s, int place, member *m) {
    while (s->begun < s->job->count) {
        int done, again;
        take_next(s, m);
        gsw_status status = begin(m, &done);
        if (status == GSW_SUCCESS && !done && s->form != NULL) {
            status = iterate_in_form(s, m, &again);
            done = !again;
        }
        if (concerns_all(m, status))
            return status;
        if (status == GSW_SUCCESS && !done) {
            gsw_krylov_queue_begin(&s->queue, place, &m->run);
            return GSW_SUCCESS;
        }
        finish(s, m, status);
    }
    return place < s->queue.count ? gsw_krylov_queue_remove(&s->queue, place) : GSW_SUCCESS;
}

/* Returns an error that concerns all systems. */
static gsw_status solve_all(solver *s) {
    for (int k = 0; k < s->width && s->begun < s->job->count; k++)
        GSW_TRY(refill(s, s->queue.count, &s->members[k]));
    while (s->queue.count > 0) {
        int place, again;
        gsw_status status = gsw_krylov_queue_next(&s->queue, &place);
        if (place < 0)
            return status;
        member *m = (member *)s->queue.place[place].run;
        if (concerns_all(m, status))
            return status;
        status = judge_round(m, status, 0, &again);
        if (concerns_all(m, status))
            return status;
        if (again) {
            gsw_krylov_queue_begin(&s->queue, place, &m->run);
            continue;
        }
        finish(s, m, status);
        GSW_TRY(refill(s, place, m));
    }
    return GSW_SUCCESS;
}

/* How many systems are side by side: several, on one process, if they share solves with the
 * preconditioner, or products with a matrix where there is none. Others would gain nothing. */
static int width_for(const solver *s) {
    const gsw_krylov_run *common = &s->common;
    const int shared = common->preconditioner != NULL
                           ? gsw_preconditioner_takes_several(common->preconditioner)
                           : common->op->apply == NULL;
    if (!shared || s->method->plan == NULL || common->context->sum != NULL)
        return 1;
    return s->job->count < GSW_KRYLOV_SYSTEMS ? (int)s->job->count : GSW_KRYLOV_SYSTEMS;
}

gsw_status gsw_krylov_solve(const gsw_krylov_run *common, const gsw_krylov_method *method,
                            const gsw_krylov_job *job) {
    solver s = {.common = *common, .method = method, .job = job};
    gsw_context *context = common->context;
    gsw_status status;
    s.width = width_for(&s);
    for (int k = 0; k < GSW_KRYLOV_SYSTEMS; k++)
        s.members[k].run.number = ENDED;
    GSW_TRY_GOTO(open_vectors(&s), cleanup);
    GSW_TRY_GOTO(gsw_krylov_queue_open(&s.queue, method, &s.common, s.width), cleanup);
    status = solve_all(&s);

cleanup:
    gsw_krylov_queue_close(&s.queue);
    gsw_unreserve(context, s.memory);
    gsw_split_form_close(context, s.form);
    for (int k = 0; k < s.width; k++)
        if (s.members[k].run.number != ENDED)
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
