/* krylov_truth.c: see krylov_truth.h. */
#include <float.h>
#include <math.h>

#include "krylov_truth.h"

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
