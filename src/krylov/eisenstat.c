/* eisenstat.c: see eisenstat.h. */
#include <math.h>
#include <stdlib.h>

#include "contract/allocate.h"
#include "eisenstat.h"
#include "sweep/packed.h"
#include "krylov_queue.h"
#include "krylov_rescue.h"
#include "core/quiet.h"
#include "core/reserve.h"
#include "matrix/stencil_facts.h"

/* The first measurement comes where the residual should be so many times the target. */
#define CLOSE 10.0
/* The next ones aim at less than the target, because the ratio still moves a little. */
#define SURELY 0.9
/* The recurrence of r^ has drifted where r^ computed from x is so many times as long. */
#define DRIFT 2.0
/* A queued method leaves the form after so many reached targets. A sound solve needs 2 or 3. */
#define REACHED_MAX 20
/* A cycle of GMRES that reaches its target but leaves more of the residual than this is in vain. */
#define PROGRESS 0.5
/* Each cycle of GMRES costs a few sweeps and products more than without the form. */
#define SHORTEST_RESTART 10
/* The form has the factor's M where both M^-1 v agree so well, for v of random signs. */
#define SAME_M 1e-8

struct gsw_split_form {
    const gsw_krylov_method *method;
    gsw_split split;
    gsw_operator op; /* B: a callback on this struct */
    double *scratch; /* t of its products: a work vector of the run */
    double *vectors; /* K, S^-1 and T^-1 */
};

/* ---- where the form applies ---- */

/* Whether the parts of such a factor have the matrix's own couplings. */
static int keeps_couplings(const gsw_factor *factor) {
    switch (factor->options.kind) {
    case GSW_DILU:
    case GSW_SSOR:
        return 1;
    case GSW_ILU0:
    case GSW_IC0:
        return gsw_stencil_keeps_couplings(&factor->stencil);
    default:
        return 0;
    }
}

static int applies(const gsw_krylov_run *run, const gsw_krylov_method *method,
                   const gsw_factor *factor) {
    const gsw_matrix *matrix = &run->op->matrix;
    const gsw_backend_ops *ops = run->context->ops;
    const int64_t wish = run->options.eisenstat;
    const int by_itself = /* not measured for GMRES */
        wish == GSW_EISENSTAT_AUTO && ops->split_saves_time && method != &gsw_gmres_method;
    return ops->split_fill != NULL && (by_itself || wish == GSW_EISENSTAT_ALWAYS) &&
           run->options.norm == GSW_NORM_TRUE && run->options.nullspace == GSW_NULLSPACE_NONE &&
           run->context->sum == NULL && method != &gsw_richardson_method &&
           (method != &gsw_gmres_method || run->options.restart >= SHORTEST_RESTART) &&
           factor != NULL && factor->options.factor_type == GSW_F64 && !factor->options.transpose &&
           keeps_couplings(factor) && run->op->apply == NULL && gsw_matrix_has_f64_arrays(matrix) &&
           gsw_grid_is_same(&matrix->grid, &factor->grid) &&
           gsw_stencil_is_same(&matrix->stencil, &factor->stencil);
}

/* ---- opening ---- */

/* y = B x. */
static gsw_status apply(void *user, gsw_context *context, const double *x, double *y) {
    const gsw_split_form *form = user;
    return context->ops->split_apply(context, &form->split, x, form->scratch, y);
}

static gsw_status fill(const gsw_krylov_run *run, const gsw_factor *factor, gsw_split_form *form,
                       int *fits) {
    gsw_context *context = run->context;
    const gsw_matrix *matrix = &run->op->matrix;
    const gsw_factor_options options = {
        .size = sizeof options, .kind = GSW_FACTOR_LU, .unit_diagonal = 1};
    const int symmetric = form->method == &gsw_cg_method;
    gsw_split *split = &form->split;
    const int64_t spacing = gsw_krylov_spacing(run->n);
    GSW_TRY(gsw_reserve_vector(context, spacing + run->n, &form->vectors));
    split->k = form->vectors;
    split->right = form->vectors + spacing;
    split->left = symmetric ? split->right : NULL;
    GSW_TRY(gsw_packed_open(context, matrix, &options, 0, &split->parts));
    return context->ops->split_fill(context, factor, matrix, split, fits);
}

gsw_status gsw_split_form_open(const gsw_krylov_run *run, const gsw_krylov_method *method,
                               gsw_split_form **form) {
    gsw_context *context = run->context;
    const gsw_factor *factor = gsw_preconditioner_factor(run->preconditioner);
    gsw_split_form *made;
    int fits = 0;
    *form = NULL;
    if (!applies(run, method, factor))
        return GSW_SUCCESS;
    GSW_TRY(gsw_alloc(context, 1, sizeof *made, "Eisenstat's form", (void **)&made));
    *made = (gsw_split_form){
        .method = method,
        .op = {.context = context, .points = run->n, .apply = apply, .user = made}};
    const gsw_quiet quiet = gsw_quiet_begin(context);
    gsw_status status = fill(run, factor, made, &fits);
    status = gsw_quiet_settle(context, &quiet, status,
                              status == GSW_ERROR_OUT_OF_MEMORY &&
                                  run->options.eisenstat == GSW_EISENSTAT_AUTO);
    if (status == GSW_SUCCESS && fits)
        *form = made;
    else
        gsw_split_form_close(context, made);
    return status;
}

void gsw_split_form_close(gsw_context *context, gsw_split_form *form) {
    if (form == NULL)
        return;
    gsw_factor_destroy(form->split.parts);
    gsw_unreserve(context, form->vectors);
    free(form);
}

/* ---- iterating ---- */

/* The work vectors after those of the method. */
enum {
    SCRATCH, /* r^ at the start, and then of the products with B */
    X_HAT,
    START, /* x0, where it is not 0 */
    OWN_VECTORS
};

/* A solve in this form. */
typedef struct split_run {
    gsw_split_form *form;
    gsw_krylov_run *outer;
    gsw_krylov_run inner; /* of B x^ = r^ */
    gsw_krylov_queue queue;
    int64_t own;           /* number of the first work vector after those of the method */
    double *start;         /* x0; NULL: 0 */
    double residual, norm; /* ||b - A x|| and ||r^|| as last measured */
    int measured;          /* the former for the present x */
    int reached;           /* how often the inner method has reached its target */
    gsw_krylov_truth *truth;
    int *known; /* `truth` is that of the outer x */
} split_run;

int64_t gsw_split_form_vectors(const gsw_split_form *form, const gsw_krylov_run *run) {
    gsw_krylov_run inner = *run;
    inner.preconditioner = NULL;
    return form->method->vectors(&inner) + OWN_VECTORS;
}

static double *own_vector(const split_run *s, int which) {
    return gsw_krylov_vector(s->outer, s->own + which);
}

/* The inner method is to end where the residual is about `share` of the target. */
static void aim(split_run *s, double share) {
    const double ratio = s->residual / s->norm;
    s->inner.reference = s->outer->reference / ratio;
    s->inner.tolerance = s->outer->tolerance / ratio;
    s->inner.target = share * s->outer->target / ratio;
}

/* r^ = L1^-1 S^-1 r in place of r. */
static gsw_status enter(const split_run *s, double *r) {
    const gsw_krylov_run *run = s->outer;
    const gsw_backend_ops *ops = run->context->ops;
    const gsw_split *split = &s->form->split;
    if (split->left != NULL)
        GSW_TRY(ops->add_scaled(run->context, run->n, split->left, r, NULL, r));
    return ops->factor_sweep(run->context, split->parts, 0, 1, r, run->n, r, run->n);
}

/* x = x0 + T^-1 U1^-1 x^, with t as scratch; x0 may be NULL: 0. x may be t, and t may be x^. */
static gsw_status leave_with(const split_run *s, const double *x_hat, double *t, const double *x0,
                             double *x) {
    const gsw_krylov_run *run = s->outer;
    const gsw_backend_ops *ops = run->context->ops;
    const gsw_split *split = &s->form->split;
    GSW_TRY(ops->factor_sweep(run->context, split->parts, 1, 1, x_hat, run->n, t, run->n));
    return ops->add_scaled(run->context, run->n, split->right, t, x0, x);
}

static gsw_status leave(split_run *s) {
    *s->known = s->measured = 0;
    return leave_with(s, s->inner.x, own_vector(s, SCRATCH), s->start, s->outer->x);
}

/* Whether the form has the factor's M. It has not where the factor is of other values than the
 * matrix has now, or has shifted pivots, or is an IC0 of a matrix that is not symmetric. */
static gsw_status compare(const split_run *s, int *same) {
    gsw_krylov_run *run = s->outer;
    const gsw_backend_ops *ops = run->context->ops;
    const gsw_factor_options *kind = &gsw_preconditioner_factor(run->preconditioner)->options;
    const double scale = kind->kind == GSW_SSOR ? 2 - kind->omega : 1;
    double *v = gsw_krylov_vector(run, 0), *z = gsw_krylov_vector(run, 1);
    double *y = gsw_krylov_vector(run, 2), difference, size;
    GSW_TRY(ops->fill(run->context, run->n, 1, z));
    GSW_TRY(ops->change_signs(run->context, run->n, z, v));
    GSW_TRY(gsw_krylov_precondition(run, v, z));
    GSW_TRY(enter(s, v));
    GSW_TRY(leave_with(s, v, v, NULL, y));
    GSW_TRY(gsw_krylov_axpby(run, -1, z, scale, y));
    GSW_TRY(gsw_krylov_norm(run, y, &difference));
    GSW_TRY(gsw_krylov_norm(run, z, &size));
    *same = difference <= SAME_M * size; /* false for NaN */
    return GSW_SUCCESS;
}

/* The residual of run->x, into the scratch vector, and its norm. */
static gsw_status measure(split_run *s) {
    gsw_krylov_run *run = s->outer;
    double *r = own_vector(s, SCRATCH);
    if (!run->x_is_zero)
        GSW_TRY(gsw_krylov_measure_at_once(run, r, s->truth, s->known));
    if (*s->known) {
        s->residual = s->truth->residual;
    } else {
        GSW_TRY(gsw_krylov_residual(run, r));
        GSW_TRY(gsw_krylov_norm(run, r, &s->residual));
    }
    s->measured = 1;
    run->norm = s->residual;
    run->reached = s->residual <= run->target;
    return GSW_SUCCESS;
}

/* x0 in place of an x that is not finite. */
static gsw_status go_back(split_run *s) {
    gsw_krylov_run *run = s->outer;
    *s->known = 0;
    return s->start != NULL ? gsw_krylov_copy(run, s->start, run->x)
                            : run->context->ops->fill(run->context, run->n, 0, run->x);
}

/* x0 in place of an x that is worse: where vectors have grown far beyond b, rounding errors of x^
 * can come back as a large error of x, although r^ has become small. */
static gsw_status keep_better(split_run *s, double before) {
    if (!s->measured)
        GSW_TRY(measure(s));
    return s->residual <= before ? GSW_SUCCESS : go_back(s);
}

/* x after a breakdown. */
static gsw_status recover(split_run *s) {
    double norm;
    GSW_TRY(leave(s));
    GSW_TRY(gsw_krylov_norm(s->outer, s->outer->x, &norm));
    return isfinite(norm) ? GSW_SUCCESS : go_back(s);
}

/* Makes the residual in the scratch vector r^, and x^ = 0. *more = 0: r^ is of no use. */
static gsw_status begin(split_run *s, int *more) {
    gsw_krylov_run *run = s->outer, *inner = &s->inner;
    double *r_hat = own_vector(s, SCRATCH);
    s->start = run->x_is_zero ? NULL : own_vector(s, START);
    if (s->start != NULL)
        GSW_TRY(gsw_krylov_copy(run, run->x, s->start));
    GSW_TRY(enter(s, r_hat));
    GSW_TRY(gsw_krylov_norm(run, r_hat, &s->norm));
    *more = s->norm > 0 && isfinite(s->norm);
    inner->b = r_hat;
    inner->x = own_vector(s, X_HAT);
    inner->x_is_zero = 1;
    return run->context->ops->fill(run->context, run->n, 0, inner->x);
}

/* Runs the inner method until it ends, and computes x. *more = 0: it has broken down. Errors: those
 * of the inner method that the outer one has, too. */
static gsw_status advance(split_run *s, int *more) {
    const gsw_krylov_run *inner = &s->inner;
    gsw_krylov_run *run = s->outer;
    int place;
    const gsw_status status = gsw_krylov_queue_next(&s->queue, &place);
    run->x_is_zero = 0;
    run->iterations = inner->iterations;
    run->norm = inner->norm * (s->residual / s->norm);
    run->reported = inner->reported;
    run->stopped = inner->stopped;
    run->failed = inner->failed;
    if (inner->failed || (status != GSW_SUCCESS && !gsw_krylov_ended(status)))
        return status;
    run->rescued.grown = inner->rescued.grown > 0;
    *more = status != GSW_ERROR_BREAKDOWN && status != GSW_ERROR_NON_FINITE && !inner->hopeless;
    if (!*more)
        return recover(s);
    s->reached += status == GSW_SUCCESS;
    GSW_TRY(leave(s));
    return status;
}

/* Measures the residual of the new x. *more = 0: it meets the target, or is not finite, or the
 * monitor has asked to stop in the iteration that reached the inner target. */
static gsw_status look(split_run *s, int *more) {
    const gsw_krylov_run *run = s->outer;
    GSW_TRY(measure(s));
    *more = !run->reached && isfinite(s->residual) && !run->stopped;
    return isfinite(s->residual) ? GSW_SUCCESS : go_back(s);
}

/* CG and BiCGSTAB: all iterations. */
static gsw_status iterate_queued(split_run *s) {
    double *r = own_vector(s, SCRATCH), norm;
    int more;
    GSW_TRY(begin(s, &more));
    if (!more)
        return GSW_SUCCESS;
    aim(s, s->residual > CLOSE * s->outer->target ? CLOSE : SURELY);
    gsw_krylov_queue_begin(&s->queue, 0, &s->inner);
    for (;;) {
        GSW_TRY(advance(s, &more));
        if (more)
            GSW_TRY(look(s, &more));
        if (!more || s->reached == REACHED_MAX)
            return GSW_SUCCESS;
        s->norm = s->inner.norm;
        GSW_TRY(enter(s, r));
        GSW_TRY(gsw_krylov_norm(s->outer, r, &norm));
        if (!(s->norm > 0 && norm <= DRIFT * s->norm)) /* also for NaN */
            return GSW_SUCCESS;
        aim(s, SURELY);
        GSW_TRY(gsw_krylov_queue_resume(&s->queue, 0));
    }
}

/* GMRES: cycle by cycle, each from x. */
static gsw_status iterate_cycles(split_run *s) {
    gsw_krylov_run *run = s->outer, *inner = &s->inner;
    const int64_t limit = run->options.max_iterations, restart = run->options.restart;
    int more;
    for (;;) {
        const double before = s->residual;
        const int reached = s->reached;
        GSW_TRY(begin(s, &more));
        if (!more)
            return GSW_SUCCESS;
        aim(s, SURELY);
        const int64_t end = run->iterations + restart;
        inner->options.max_iterations = end < limit ? end : limit;
        gsw_krylov_queue_begin(&s->queue, 0, inner);
        const gsw_status status = advance(s, &more);
        if (status != GSW_ERROR_NOT_CONVERGED || end >= limit) /* that is the cycle's end */
            GSW_TRY(status);
        if (more)
            GSW_TRY(look(s, &more));
        if (!more || (s->reached > reached && s->residual > PROGRESS * before))
            return GSW_SUCCESS;
    }
}

static gsw_status iterate(split_run *s) {
    const gsw_krylov_method *method = s->form->method;
    GSW_TRY(gsw_krylov_queue_open(&s->queue, method, &s->inner, 1));
    return method->plan != NULL ? iterate_queued(s) : iterate_cycles(s);
}

gsw_status gsw_split_form_iterate(gsw_split_form *form, gsw_krylov_run *run, int *begun,
                                  gsw_krylov_truth *truth, int *known) {
    split_run s = {.form = form, .outer = run, .inner = *run, .truth = truth, .known = known};
    gsw_context *context = run->context;
    const int zero = run->x_is_zero;
    int same;
    *begun = *known = 0;
    s.inner.preconditioner = NULL;
    s.inner.op = &form->op;
    s.own = form->method->vectors(&s.inner);
    form->scratch = own_vector(&s, SCRATCH);
    GSW_TRY(measure(&s));
    run->x_is_zero = zero; /* if the form does nothing, the method begins with x, too */
    if (run->reached || !isfinite(s.residual))
        return GSW_SUCCESS;
    GSW_TRY(compare(&s, &same));
    if (!same)
        return GSW_SUCCESS;
    *begun = 1;
    const double before = s.residual;
    const gsw_quiet quiet = gsw_quiet_begin(context);
    gsw_status status = iterate(&s);
    if (status == GSW_SUCCESS && !run->reached && !run->stopped)
        status = keep_better(&s, before);
    gsw_krylov_queue_close(&s.queue);
    gsw_krylov_forget(&s.inner);
    return gsw_quiet_settle(context, &quiet, status, 0);
}
