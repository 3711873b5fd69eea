/* krylov_evidence.c: see krylov_evidence.h. */
#include <float.h>
#include <math.h>
#include <stdio.h>

#include "krylov_evidence.h"
#include "matrix/unknowns.h"

/* ---- the true residual ---- */

gsw_status gsw_krylov_measure_at_once(gsw_krylov_run *run, double *r, gsw_krylov_truth *truth,
                                      int *done) {
    const gsw_backend_ops *ops = run->context->ops;
    double sums[3] = {0};
    *done = 0;
    if (ops->judge == NULL || run->op->apply != NULL || run->null_vector != NULL ||
        run->options.norm != GSW_NORM_TRUE)
        return GSW_SUCCESS;
    GSW_TRY(ops->judge(run->context, &run->op->matrix, run->b, run->x, r, sums, done));
    if (!*done)
        return GSW_SUCCESS;
    GSW_TRY(gsw_krylov_sum(run, 3, sums));
    truth->x = sqrt(sums[0]);
    truth->residual = truth->checked = sqrt(sums[1]);
    truth->rounding = DBL_EPSILON * (sqrt(sums[2]) + truth->checked);
    return GSW_SUCCESS;
}

/* The same by products and norms. */
static gsw_status measure_in_turn(gsw_krylov_run *run, gsw_krylov_truth *truth) {
    double *r = gsw_krylov_vector(run, 0), *scratch = gsw_krylov_vector(run, 1);
    double *terms = gsw_krylov_vector(run, 2);
    GSW_TRY(gsw_krylov_project(run, run->x));
    GSW_TRY(gsw_krylov_norm(run, run->x, &truth->x));
    GSW_TRY(gsw_krylov_residual(run, r));
    GSW_TRY(gsw_krylov_norm(run, r, &truth->residual));
    GSW_TRY(gsw_krylov_rounding(run, scratch, terms, &truth->rounding));
    truth->checked = truth->residual;
    if (run->options.norm == GSW_NORM_PRECONDITIONED) {
        GSW_TRY(gsw_krylov_precondition(run, r, r));
        GSW_TRY(gsw_krylov_norm(run, r, &truth->checked));
        GSW_TRY(gsw_krylov_precondition(run, terms, terms));
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

/* ---- the cause ---- */

/* A product that is this share of its terms counts as 0: x has grown along a null vector. */
#define ALMOST_ZERO 1e-6
/* x has grown where its terms are so many times as long as b. Less may be an ordinary solution. */
#define HUGE_TERMS 1e6

/* What is known of the matrix and of x. */
typedef struct evidence {
    int constants;  /* constant vectors are mapped to 0 */
    int unknowns;   /* per point, that the rows look like */
    double trace;   /* v'A v for a v of random signs: near the sum of the diagonal */
    double energy;  /* x'A x; 0 where it is rounding error */
    double length;  /* of x */
    double part;    /* of b that is along x */
    int along_null; /* x has grown, and A x has not */
} evidence;

static gsw_status look_at_constants(gsw_krylov_run *run, evidence *e) {
    double *ones = gsw_krylov_vector(run, 0), *scratch = gsw_krylov_vector(run, 1);
    double *terms = gsw_krylov_vector(run, 2), product, size;
    GSW_TRY(run->context->ops->fill(run->context, run->n, 1.0, ones));
    GSW_TRY(gsw_krylov_cancellation(run, ones, scratch, terms, &product, &size));
    e->constants = size > 0 && gsw_krylov_vanishes(product, size);
    return gsw_krylov_dot(run, scratch, terms, &e->trace);
}

static gsw_status look_at_rows(const gsw_krylov_run *run, evidence *e) {
    gsw_unknowns seen = {.count = 1};
    if (run->op->apply == NULL && run->context->sum == NULL)
        GSW_TRY(gsw_unknowns_look(run->context, &run->op->matrix, &seen));
    e->unknowns = seen.count;
    return GSW_SUCCESS;
}

static gsw_status look_at_x(gsw_krylov_run *run, evidence *e) {
    double *x = gsw_krylov_vector(run, 0), *terms = gsw_krylov_vector(run, 1);
    double product, size, b, along, points = (double)run->n;
    GSW_TRY(gsw_krylov_copy(run, run->x, x));
    GSW_TRY(gsw_krylov_multiply_all(&run, 1, 0, 1));
    GSW_TRY(gsw_krylov_dot(run, x, terms, &e->energy));
    GSW_TRY(gsw_krylov_norm(run, x, &e->length));
    GSW_TRY(gsw_krylov_cancellation(run, run->x, x, terms, &product, &size));
    GSW_TRY(gsw_krylov_norm(run, run->b, &b));
    GSW_TRY(gsw_krylov_dot(run, run->x, run->b, &along));
    GSW_TRY(gsw_krylov_sum(run, 1, &points));
    /* Signs at random may let the few terms cancel that have grown. */
    const double scale = fmax(size, fabs(e->trace) / points * e->length);
    e->along_null = isfinite(product) && scale > HUGE_TERMS * b && product <= ALMOST_ZERO * scale;
    if (!isfinite(e->length)) { /* x has overflowed. A bounded residual means that A x has not. */
        e->length = INFINITY;
        e->along_null = isfinite(run->norm);
    }
    e->part = isfinite(e->length) ? fabs(along) / (e->length * b) : NAN;
    if (!isfinite(e->energy) || gsw_krylov_vanishes(fabs(e->energy), e->length * scale))
        e->energy = 0;
    return GSW_SUCCESS;
}

gsw_status gsw_krylov_find_cause(gsw_krylov_run *run, char *cause, size_t size) {
    evidence e;
    cause[0] = '\0';
    GSW_TRY(look_at_constants(run, &e));
    GSW_TRY(look_at_rows(run, &e));
    GSW_TRY(look_at_x(run, &e));
    if (e.constants && run->null_vector == NULL)
        (void)snprintf(cause, size, "; the matrix maps constant vectors to 0: see nullspace");
    else if (e.unknowns > 1)
        (void)snprintf(
            cause, size,
            "; the rows look like %d unknowns per point, numbered as one axis of the grid",
            e.unknowns);
    else if (e.along_null)
        (void)snprintf(cause, size,
                       "; the matrix is singular or nearly so: it maps x, which had grown to %.1e, "
                       "almost to 0; b does not fit where it has a part along x (%.1g of it)",
                       e.length, e.part);
    else if (e.energy * e.trace < 0)
        (void)snprintf(cause, size,
                       "; the matrix is indefinite: x'Ax and the diagonal have different signs");
    return GSW_SUCCESS;
}
