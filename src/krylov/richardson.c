/* richardson.c: the stationary iteration x += M^-1 (b - A x). Saad, Iterative Methods for Sparse
 * Linear Systems, 2nd ed., section 4.2. Each iteration computes the residual anew, so the norms are
 * the true ones. The host waits for each norm. */
#include "krylov_method.h"

/* When the norm has grown by this factor, the iteration diverges. */
#define DIVERGED 1e5

/* The iteration has stagnated when this many iterations have not reduced the least norm to this
 * share of itself. */
#define STALL_ITERATIONS 100
#define STALL_SHARE      0.99

/* The norms so far. */
typedef struct history {
    double first;
    double least;   /* at the last iteration that reduced it */
    int64_t gained; /* that iteration */
} history;

static gsw_status hopeless(gsw_krylov_run *run, const char *how, const char *meaning) {
    run->hopeless = 1;
    return gsw_fail(run->context, GSW_ERROR_NOT_CONVERGED,
                    "%s after %lld iteration%s: the residual norm is %.3g times the reference%s",
                    how, (long long)run->iterations, gsw_krylov_plural(run),
                    run->norm / run->reference, meaning);
}

/* Ends an iteration that does not converge. */
static gsw_status judge(gsw_krylov_run *run, history *h) {
    if (run->norm > DIVERGED * h->first)
        return hopeless(run, "diverged", ": the preconditioner is too far from the matrix");
    if (run->norm <= STALL_SHARE * h->least) {
        h->least = run->norm;
        h->gained = run->iterations;
    }
    if (run->iterations - h->gained >= STALL_ITERATIONS)
        return hopeless(run, "stagnated",
                        ", and 100 iterations have not reduced it by a hundredth");
    return GSW_SUCCESS;
}

/* The residual of x, or M^-1 times it, and its norm. */
static gsw_status look(gsw_krylov_run *run, double *r) {
    double norm;
    GSW_TRY(gsw_krylov_side_residual(run, r));
    GSW_TRY(gsw_krylov_norm(run, r, &norm));
    return gsw_krylov_check(run, norm);
}

static gsw_status iterate(gsw_krylov_run *run, double *r) {
    if (run->options.norm == GSW_NORM_TRUE)
        GSW_TRY(gsw_krylov_precondition(&run, 1, r, r));
    GSW_TRY(gsw_krylov_axpby(run, 1, r, 1, run->x));
    run->iterations++;
    return look(run, r);
}

static gsw_status run_richardson(gsw_krylov_run *run) {
    double *r = gsw_krylov_vector(run, 0);
    GSW_TRY(look(run, r));
    history h = {.first = run->norm, .least = run->norm, .gained = run->iterations};
    while (!run->reached) {
        GSW_TRY(iterate(run, r));
        if (!run->reached)
            GSW_TRY(judge(run, &h));
    }
    return GSW_SUCCESS;
}

/* One for the residual; the driver needs three. */
static int64_t vectors(const gsw_krylov_run *run) {
    (void)run;
    return 3;
}

const gsw_krylov_method gsw_richardson_method = {
    .name = "richardson", .vectors = vectors, .applications = 1, .run = run_richardson};
