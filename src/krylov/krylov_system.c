/* krylov_system.c: the user's own system: A x = b, or P A x = P b with a null vector (struct
 * gsw_krylov_system). It is what every solve begins with and is judged by. */
#include <float.h>
#include <math.h>

#include "krylov_driver.h"

/* A vector counts as a null vector where its product is this small relative to the product's terms.
 * Matrices from files have been rounded to a few digits. */
#define NULL_PRODUCT 1e-6

/* The vectors of a system with a null vector. */
enum { NULL_VECTOR, PROJECTED_B, OWN_VECTORS };

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
                 : run->context->ops->vector->fill(run->context, run->n, 0.0, run->x);
}

/* Sets the norm that rtol refers to, and what is to be reached. */
static gsw_status set_reference(gsw_krylov_run *run, double b_norm) {
    run->reference = b_norm;
    if (run->options.norm == GSW_NORM_PRECONDITIONED) {
        double *z = gsw_krylov_vector(run, 0);
        GSW_TRY(gsw_krylov_precondition(&run, 1, run->b, z));
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

/* Begins with this b and x; `given` is the norm of the user's b. */
static gsw_status begin(gsw_krylov_member *m, double given, gsw_krylov_next *next) {
    gsw_krylov_run *run = &m->user;
    gsw_krylov_result *result = &m->result;
    GSW_TRY(gsw_krylov_norm(run, run->x, &m->guess_norm));
    run->x_is_zero = m->guess_norm == 0;
    /* b was a multiple of the null vector, and only rounding errors are left. */
    const int gone = run->null_vector != NULL && m->b_norm <= 16 * DBL_EPSILON * given;
    *next = GSW_NEXT_BEGIN;
    if (m->b_norm != 0 && !gone)
        return set_reference(run, m->b_norm);
    GSW_TRY(gone ? run->context->ops->vector->fill(run->context, run->n, 0.0, run->x)
                 : solve_zero(run));
    result->residual = result->recurrence = 0;
    result->converged = 1;
    *next = GSW_NEXT_END;
    return GSW_SUCCESS;
}

/* ---- without a null vector ---- */

gsw_status gsw_krylov_enter_user(gsw_krylov_system *system, gsw_krylov_member *m,
                                 gsw_krylov_next *next) {
    (void)system;
    GSW_TRY(gsw_krylov_norm(&m->user, m->user.b, &m->b_norm));
    return begin(m, m->b_norm, next);
}

static gsw_status leave(gsw_krylov_system *system, gsw_krylov_member *m, gsw_status status,
                        gsw_krylov_next *next) {
    (void)system, (void)m, (void)next;
    return status;
}

/* ---- with a null vector ---- */

/* v -= (its part along the null vector); nothing as long as that is not known. */
static gsw_status project(gsw_krylov_run *run, double *v) {
    const double *null = run->null_vector;
    double *sums = run->null_sums;
    if (null == NULL)
        return GSW_SUCCESS;
    GSW_TRY(gsw_krylov_products(run, 1, null, v, sums));
    return gsw_krylov_subtract(run, 1, sums, null, v, sums + 1);
}

/* Scales the null vector to length 1, into `v`. */
static gsw_status make_null_vector(gsw_krylov_run *run, double *v) {
    const gsw_masked *masked = &run->system->op->masked;
    const double *given = run->options.null_vector;
    double length, points = (double)run->n;
    GSW_TRY(gsw_krylov_sum(run, 1, &points));
    if (run->options.nullspace == GSW_NULLSPACE_CONSTANT && masked->active == NULL)
        return run->context->ops->vector->fill(run->context, run->n, 1 / sqrt(points), v);
    if (run->options.nullspace == GSW_NULLSPACE_CONSTANT) {
        GSW_TRY(run->context->ops->vector->fill(run->context, run->n, 1, v));
        given = v;
    }
    if (masked->active != NULL) {
        GSW_TRY(gsw_masked_vector(run->context, masked, GSW_F64, run->n, given, v));
        given = v;
    }
    GSW_TRY(gsw_krylov_norm(run, given, &length));
    GSW_REQUIRE(run->context, isfinite(length) && length > 0,
                "null_vector has the length %g; it must be finite and not zero, and its square "
                "must not underflow",
                length);
    return gsw_krylov_axpby(run, 1 / length, given, 0, v);
}

/* Refuses a v that the matrix does not map to 0. */
static gsw_status check_null_vector(gsw_krylov_run *run, const double *v) {
    double product, size;
    GSW_TRY(gsw_krylov_cancellation(run, v, gsw_krylov_vector(run, 0), gsw_krylov_vector(run, 1),
                                    &product, &size));
    if (isfinite(size))
        GSW_REQUIRE(
            run->context, product <= NULL_PRODUCT * size,
            "nullspace: %s is not in the null space of the matrix: the product has %.3g times "
            "its length, the terms of the product %.3g times",
            run->options.nullspace == GSW_NULLSPACE_CONSTANT ? "the constant vector"
                                                             : "null_vector",
            product, size);
    return GSW_SUCCESS;
}

static gsw_status enter_with_null_vector(gsw_krylov_system *system, gsw_krylov_member *m,
                                         gsw_krylov_next *next) {
    gsw_krylov_run *run = &m->user;
    double *v = m->own + NULL_VECTOR * run->spacing,
           *projected = m->own + PROJECTED_B * run->spacing;
    (void)system;
    GSW_TRY(gsw_krylov_norm(run, run->b, &m->given));
    m->b_norm = m->given;
    if (m->given > 0 && isfinite(m->given)) {
        GSW_TRY(make_null_vector(run, v));
        GSW_TRY(check_null_vector(run, v));
        GSW_TRY(gsw_krylov_dot(run, v, run->b, &m->along));
        m->result.removed = fabs(m->along) / m->given;
        run->null_vector = v;
        GSW_TRY(gsw_krylov_copy(run, run->b, projected));
        GSW_TRY(project(run, projected));
        run->b = projected;
        GSW_TRY(project(run, run->x));
        GSW_TRY(gsw_krylov_norm(run, run->b, &m->b_norm));
    }
    return begin(m, m->given, next);
}

static gsw_status leave_with_null_vector(gsw_krylov_system *system, gsw_krylov_member *m,
                                         gsw_status status, gsw_krylov_next *next) {
    (void)system, (void)next;
    GSW_TRY(project(&m->user, m->user.x));
    return status;
}

gsw_krylov_system gsw_krylov_user_system(const gsw_krylov_job *job) {
    gsw_krylov_system made = {.op = job->op,
                              .preconditioner = job->preconditioner,
                              .enter = gsw_krylov_enter_user,
                              .leave = leave};
    if (job->options.nullspace != GSW_NULLSPACE_NONE) {
        made.project = project;
        made.vectors = OWN_VECTORS;
        made.enter = enter_with_null_vector;
        made.leave = leave_with_null_vector;
    }
    return made;
}

/* ---- the true residual ---- */

gsw_status gsw_krylov_measure_at_once(gsw_krylov_run *run, double *r, gsw_krylov_truth *truth,
                                      int *done) {
    const gsw_backend_ops *ops = run->context->ops;
    const gsw_krylov_system *system = run->system;
    double sums[3] = {0};
    *done = 0;
    if (system->op->apply != NULL || system->project != NULL || run->options.norm != GSW_NORM_TRUE)
        return GSW_SUCCESS;
    GSW_TRY(ops->krylov->judge(run->context, &system->op->product, run->b, run->x, r, sums, done));
    if (!*done)
        return GSW_SUCCESS;
    GSW_TRY(gsw_krylov_sum(run, 3, sums));
    truth->x = sqrt(sums[0]);
    truth->residual = truth->checked = sqrt(sums[1]);
    truth->rounding = DBL_EPSILON * (sqrt(sums[2]) + truth->checked);
    return GSW_SUCCESS;
}

/* r = b - A x, and what P leaves out of it: v'A x = 0 for a symmetric A alone. */
static gsw_status measure_residual(gsw_krylov_run *run, double *r) {
    gsw_krylov_member *m = run->member;
    const double *null = run->null_vector;
    double along;
    run->null_vector = NULL; /* nothing is projected */
    const gsw_status status = gsw_krylov_residual(run, r);
    run->null_vector = null;
    if (status != GSW_SUCCESS || null == NULL)
        return status;
    GSW_TRY(gsw_krylov_dot(run, null, r, &along));
    if (isfinite(along))
        m->result.removed = fabs(m->along + along) / m->given;
    return project(run, r);
}

/* The same by products and norms. */
static gsw_status measure_in_turn(gsw_krylov_run *run, gsw_krylov_truth *truth) {
    double *r = gsw_krylov_vector(run, 0), *scratch = gsw_krylov_vector(run, 1);
    double *terms = gsw_krylov_vector(run, 2);
    GSW_TRY(gsw_krylov_norm(run, run->x, &truth->x));
    GSW_TRY(measure_residual(run, r));
    GSW_TRY(gsw_krylov_norm(run, r, &truth->residual));
    GSW_TRY(gsw_krylov_rounding(run, scratch, terms, &truth->rounding));
    truth->checked = truth->residual;
    if (run->options.norm == GSW_NORM_PRECONDITIONED) {
        GSW_TRY(gsw_krylov_precondition(&run, 1, r, r));
        GSW_TRY(gsw_krylov_norm(run, r, &truth->checked));
        GSW_TRY(gsw_krylov_precondition(&run, 1, terms, terms));
        GSW_TRY(gsw_krylov_norm(run, terms, &truth->rounding));
        truth->rounding *= DBL_EPSILON;
    }
    truth->rounding += DBL_EPSILON * truth->checked;
    return GSW_SUCCESS;
}

gsw_status gsw_krylov_measure(gsw_krylov_run *run, gsw_krylov_truth *truth) {
    int done;
    GSW_TRY(gsw_krylov_measure_at_once(run, gsw_krylov_vector(run, 0), truth, &done));
    return done ? GSW_SUCCESS : measure_in_turn(run, truth);
}
