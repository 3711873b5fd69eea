/* eisenstat.c: a preconditioned system in Eisenstat's form, in which two sweeps apply the matrix
 * and the preconditioner together (struct gsw_split).
 *
 * With B = L1^-1 S^-1 A T^-1 U1^-1, a method without a preconditioner solves B x^ = r^ for
 * r^ = L1^-1 S^-1 (b - A x0). Then x = x0 + T^-1 U1^-1 x^. CG takes S = T, which makes B symmetric:
 * its iterates are those of the preconditioned method, except for rounding. BiCGSTAB and GMRES take
 * S = I. Their iterates are those of preconditioning from both sides, with L1 from the left.
 *
 * The method knows the norm of r^ = L1^-1 S^-1 r only. The ratio of ||r|| to it is measured at the
 * start, when ||r|| should be CLOSE times the target, and when it should have reached the target.
 * A queued method then goes on where it was. GMRES begins each cycle from x, and measures there.
 *
 * The user's own system follows where the form cannot go on, by a breakdown or because the
 * recurrence has drifted. It begins from the x that the form leaves. */
#include <math.h>
#include <stdlib.h>

#include "contract/allocate.h"
#include "core/quiet.h"
#include "core/reserve.h"
#include "krylov_driver.h"
#include "geometry/stencil_facts.h"
#include "sweep/packed.h"

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

/* The vectors of the form, beside those of the method. */
enum {
    SCRATCH, /* r^ at the start, and then of the products with B */
    X_HAT,
    START, /* x0, where it is not 0 */
    OWN_VECTORS
};

typedef struct split_form {
    gsw_krylov_system system; /* first, so that a system is its form */
    const gsw_krylov_method *method;
    gsw_split split;
    gsw_operator op; /* B: a callback on this struct */
    double *vectors; /* K, S^-1 and T^-1 */

    /* The solve of `member`. */
    gsw_krylov_member *member;
    gsw_krylov_run inner;  /* of B x^ = r^ */
    double *start;         /* x0; NULL: 0 */
    double first;          /* ||b - A x0|| */
    double cycle;          /* ||b - A x|| at the beginning of GMRES's cycle */
    double residual, norm; /* ||b - A x|| and ||r^|| as last measured */
    int measured;          /* the former for the present x */
    int reached;           /* how often the inner method has reached its target */
} split_form;

static double *own_vector(const split_form *f, int which) {
    return f->member->own + which * f->member->user.spacing;
}

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

static const gsw_factor *factor_of(const gsw_krylov_run *run) {
    const gsw_preconditioner *M = run->system->preconditioner;
    return M != NULL ? M->ops.factor(M->self) : NULL;
}

static int applies(const gsw_krylov_run *run, const gsw_krylov_method *method,
                   const gsw_factor *factor) {
    const gsw_matrix *matrix = &run->system->op->matrix;
    const gsw_backend_ops *ops = run->context->ops;
    const int64_t wish = run->options.eisenstat;
    const int by_itself = /* not measured for GMRES */
        wish == GSW_EISENSTAT_AUTO && ops->split->saves_time && method != &gsw_gmres_method;
    return (by_itself || wish == GSW_EISENSTAT_ALWAYS) && run->options.norm == GSW_NORM_TRUE &&
           run->options.nullspace == GSW_NULLSPACE_NONE && run->context->sum == NULL &&
           method != &gsw_richardson_method &&
           (method != &gsw_gmres_method || run->options.restart >= SHORTEST_RESTART) &&
           factor != NULL && factor->options.factor_type == GSW_F64 && !factor->options.transpose &&
           keeps_couplings(factor) && run->system->op->apply == NULL &&
           gsw_matrix_has_f64_arrays(matrix) && gsw_grid_is_same(&matrix->grid, &factor->grid) &&
           gsw_stencil_is_same(&matrix->stencil, &factor->stencil);
}

/* ---- opening ---- */

/* y = B x. */
static gsw_status apply(void *user, gsw_context *context, const double *x, double *y) {
    const split_form *f = user;
    return context->ops->split->apply(context, &f->split, x, own_vector(f, SCRATCH), y);
}

static gsw_status fill(const gsw_krylov_run *run, const gsw_factor *factor, split_form *f,
                       int *fits) {
    gsw_context *context = run->context;
    const gsw_matrix *matrix = &run->system->op->matrix;
    const gsw_factor_options options = {
        .size = sizeof options, .kind = GSW_FACTOR_LU, .unit_diagonal = 1};
    const int symmetric = f->method == &gsw_cg_method;
    gsw_split *split = &f->split;
    const int64_t spacing = gsw_krylov_spacing(run->n);
    GSW_TRY(gsw_reserve_vector(context, spacing + run->n, &f->vectors));
    split->k = f->vectors;
    split->right = f->vectors + spacing;
    split->left = symmetric ? split->right : NULL;
    GSW_TRY(gsw_packed_open(context, matrix, &options, gsw_uncut(), &split->parts));
    return context->ops->split->fill(context, factor, matrix, split, fits);
}

static gsw_status enter(gsw_krylov_system *system, gsw_krylov_member *m, gsw_krylov_next *next);
static gsw_status leave(gsw_krylov_system *system, gsw_krylov_member *m, gsw_status status,
                        gsw_krylov_next *next);

gsw_status gsw_eisenstat_open(const gsw_krylov_run *user, const gsw_krylov_method *method,
                              gsw_krylov_system **form) {
    gsw_context *context = user->context;
    const gsw_factor *factor = factor_of(user);
    split_form *made;
    int fits = 0;
    *form = NULL;
    if (!applies(user, method, factor))
        return GSW_SUCCESS;
    GSW_TRY(gsw_alloc(context, 1, sizeof *made, "Eisenstat's form", (void **)&made));
    *made =
        (split_form){.system = {.op = &made->op,
                                .vectors = OWN_VECTORS,
                                .is_trial = 1,
                                .enter = enter,
                                .leave = leave},
                     .method = method,
                     .op = {.context = context, .points = user->n, .apply = apply, .user = made}};
    const gsw_quiet quiet = gsw_quiet_begin(context);
    gsw_status status = fill(user, factor, made, &fits);
    status = gsw_quiet_settle(context, &quiet, status,
                              status == GSW_ERROR_OUT_OF_MEMORY &&
                                  user->options.eisenstat == GSW_EISENSTAT_AUTO);
    if (status == GSW_SUCCESS && fits)
        *form = &made->system;
    else
        gsw_eisenstat_close(&made->system);
    return status;
}

void gsw_eisenstat_close(gsw_krylov_system *form) {
    split_form *f = (split_form *)form;
    if (f == NULL)
        return;
    if (f->member != NULL)
        gsw_krylov_forget(&f->inner);
    gsw_factor_destroy(f->split.parts);
    gsw_unreserve(f->op.context, f->vectors);
    free(f);
}

/* ---- between both systems ---- */

/* r^ = L1^-1 S^-1 r in place of r. */
static gsw_status to_form(const split_form *f, double *r) {
    const gsw_krylov_run *run = &f->member->user;
    const gsw_backend_ops *ops = run->context->ops;
    const gsw_split *split = &f->split;
    if (split->left != NULL)
        GSW_TRY(ops->vector->add_scaled(run->context, run->n, split->left, r, NULL, r));
    return ops->factor->sweep(run->context, split->parts, 0, 1, r, run->n, r, run->n);
}

/* x = x0 + T^-1 U1^-1 x^, with t as scratch; x0 may be NULL: 0. x may be t, and t may be x^. */
static gsw_status from_form(const split_form *f, const double *x_hat, double *t, const double *x0,
                            double *x) {
    const gsw_krylov_run *run = &f->member->user;
    const gsw_backend_ops *ops = run->context->ops;
    const gsw_split *split = &f->split;
    GSW_TRY(ops->factor->sweep(run->context, split->parts, 1, 1, x_hat, run->n, t, run->n));
    return ops->vector->add_scaled(run->context, run->n, split->right, t, x0, x);
}

/* The user's x, from that of the form. */
static gsw_status take_x(split_form *f) {
    f->measured = 0;
    return from_form(f, f->inner.x, own_vector(f, SCRATCH), f->start, f->member->user.x);
}

/* Whether the form has the factor's M. It has not where the factor is of other values than the
 * matrix has now, or has shifted pivots, or is an IC0 of a matrix that is not symmetric. */
static gsw_status compare(const split_form *f, int *same) {
    gsw_krylov_run *run = &f->member->user;
    const gsw_backend_ops *ops = run->context->ops;
    const gsw_factor_options *kind = &factor_of(run)->options;
    const double scale = kind->kind == GSW_SSOR ? 2 - kind->omega : 1;
    double *v = gsw_krylov_vector(run, 0), *z = gsw_krylov_vector(run, 1);
    double *y = gsw_krylov_vector(run, 2), difference, size;
    GSW_TRY(ops->vector->fill(run->context, run->n, 1, z));
    GSW_TRY(ops->vector->change_signs(run->context, run->n, z, v));
    GSW_TRY(gsw_krylov_precondition(&run, 1, v, z));
    GSW_TRY(to_form(f, v));
    GSW_TRY(from_form(f, v, v, NULL, y));
    GSW_TRY(gsw_krylov_axpby(run, -1, z, scale, y));
    GSW_TRY(gsw_krylov_norm(run, y, &difference));
    GSW_TRY(gsw_krylov_norm(run, z, &size));
    *same = difference <= SAME_M * size; /* false for NaN */
    return GSW_SUCCESS;
}

/* ---- the user's residual ---- */

/* The residual of the user's x, into the scratch vector, and its norm. */
static gsw_status measure(split_form *f) {
    gsw_krylov_member *m = f->member;
    gsw_krylov_run *run = &m->user;
    double *r = own_vector(f, SCRATCH);
    if (!run->x_is_zero)
        GSW_TRY(gsw_krylov_measure_at_once(run, r, &m->truth, &m->known));
    if (m->known) {
        f->residual = m->truth.residual;
    } else {
        GSW_TRY(gsw_krylov_residual(run, r));
        GSW_TRY(gsw_krylov_norm(run, r, &f->residual));
    }
    f->measured = 1;
    run->norm = f->residual;
    run->reached = f->residual <= run->target;
    return GSW_SUCCESS;
}

/* x0 in place of an x that is not finite. */
static gsw_status go_back(split_form *f) {
    gsw_krylov_run *run = &f->member->user;
    f->member->known = 0;
    return f->start != NULL ? gsw_krylov_copy(run, f->start, run->x)
                            : run->context->ops->vector->fill(run->context, run->n, 0, run->x);
}

/* Leaves the form, with x0 in place of an x that is worse: where vectors have grown far beyond b,
 * rounding errors of x^ can come back as a large error of x, although r^ has become small. */
static gsw_status give_up(split_form *f) {
    if (!f->measured)
        GSW_TRY(measure(f));
    return f->residual <= f->first ? GSW_SUCCESS : go_back(f);
}

/* The same after a breakdown, with the last x. */
static gsw_status give_up_broken(split_form *f) {
    gsw_krylov_run *run = &f->member->user;
    double norm;
    GSW_TRY(take_x(f));
    GSW_TRY(gsw_krylov_norm(run, run->x, &norm));
    if (!isfinite(norm))
        GSW_TRY(go_back(f));
    return run->stopped ? GSW_SUCCESS : give_up(f);
}

/* ---- rounds ---- */

/* The inner method is to end where the residual is about `share` of the target. */
static void aim(split_form *f, double share) {
    const gsw_krylov_run *run = &f->member->user;
    const double ratio = f->residual / f->norm;
    f->inner.reference = run->reference / ratio;
    f->inner.tolerance = run->tolerance / ratio;
    f->inner.target = share * run->target / ratio;
}

/* Makes the residual in the scratch vector r^, and x^ = 0: a round begins. Or r^ is of no use. */
static gsw_status begin(split_form *f, double share, gsw_krylov_next *next) {
    gsw_krylov_run *run = &f->member->user, *inner = &f->inner;
    const int64_t end = run->iterations + run->options.restart;
    double *r_hat = own_vector(f, SCRATCH);
    f->cycle = f->residual;
    f->start = run->x_is_zero ? NULL : own_vector(f, START);
    if (f->start != NULL)
        GSW_TRY(gsw_krylov_copy(run, run->x, f->start));
    GSW_TRY(to_form(f, r_hat));
    GSW_TRY(gsw_krylov_norm(run, r_hat, &f->norm));
    inner->b = r_hat;
    inner->x = own_vector(f, X_HAT);
    inner->x_is_zero = 1;
    if (f->method->iterate == NULL && end < run->options.max_iterations)
        inner->options.max_iterations = end;
    else
        inner->options.max_iterations = run->options.max_iterations;
    GSW_TRY(run->context->ops->vector->fill(run->context, run->n, 0, inner->x));
    if (!(f->norm > 0 && isfinite(f->norm)))
        return give_up(f);
    aim(f, share);
    *next = GSW_NEXT_BEGIN;
    return GSW_SUCCESS;
}

/* A queued method goes on, unless its recurrence has drifted from r^. */
static gsw_status resume(split_form *f, gsw_krylov_next *next) {
    double *r = own_vector(f, SCRATCH), norm;
    if (f->reached == REACHED_MAX)
        return give_up(f);
    f->norm = f->inner.norm;
    GSW_TRY(to_form(f, r));
    GSW_TRY(gsw_krylov_norm(&f->member->user, r, &norm));
    if (!(f->norm > 0 && norm <= DRIFT * f->norm)) /* also for NaN */
        return give_up(f);
    aim(f, SURELY);
    *next = GSW_NEXT_RESUME;
    return GSW_SUCCESS;
}

/* The user's system is left as it is where its residual meets the target or is not finite, and
 * where the form has another M than the factor. */
static gsw_status enter(gsw_krylov_system *system, gsw_krylov_member *m, gsw_krylov_next *next) {
    split_form *f = (split_form *)system;
    gsw_krylov_run *run = &m->user;
    int same = 0;
    GSW_TRY(gsw_krylov_enter_user(system, m, next));
    if (*next == GSW_NEXT_END)
        return GSW_SUCCESS;
    const int zero = run->x_is_zero;
    *next = GSW_NEXT_USER;
    f->member = m;
    f->inner = *run;
    f->inner.system = system;
    m->run = &f->inner;
    GSW_TRY(measure(f));
    run->x_is_zero = zero; /* if the form does nothing, the method begins with x, too */
    if (!run->reached && isfinite(f->residual))
        GSW_TRY(compare(f, &same));
    if (!same)
        return GSW_SUCCESS;
    *next = GSW_NEXT_JUDGE;
    f->first = f->residual;
    const int is_far = f->method->iterate != NULL && f->residual > CLOSE * run->target;
    return begin(f, is_far ? CLOSE : SURELY, next);
}

/* Measures the residual of the new x. The user's system is judged if it meets the target, or if the
 * monitor has asked to stop in the iteration that reached the inner target. */
static gsw_status look(split_form *f, int reached, gsw_krylov_next *next) {
    const gsw_krylov_run *run = &f->member->user;
    GSW_TRY(measure(f));
    if (!isfinite(f->residual))
        return go_back(f);
    if (run->reached || run->stopped)
        return GSW_SUCCESS;
    if (f->method->iterate != NULL)
        return resume(f, next);
    return reached && f->residual > PROGRESS * f->cycle ? give_up(f) : begin(f, SURELY, next);
}

static gsw_status leave(gsw_krylov_system *system, gsw_krylov_member *m, gsw_status status,
                        gsw_krylov_next *next) {
    split_form *f = (split_form *)system;
    const gsw_krylov_run *inner = &f->inner;
    gsw_krylov_run *run = &m->user;
    run->x_is_zero = 0;
    run->norm = inner->norm * (f->residual / f->norm);
    run->rescued.grown = inner->rescued.grown > 0;
    if (status == GSW_ERROR_BREAKDOWN || status == GSW_ERROR_NON_FINITE || inner->hopeless)
        return give_up_broken(f);
    const int reached = status == GSW_SUCCESS;
    f->reached += reached;
    GSW_TRY(take_x(f));
    /* Below the user's limit of iterations it is the end of a cycle. */
    const int is_cycle = inner->options.max_iterations < run->options.max_iterations;
    if (!reached && !(status == GSW_ERROR_NOT_CONVERGED && is_cycle))
        return status;
    return look(f, reached, next);
}
