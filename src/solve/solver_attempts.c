/* solver_attempts.c: what a solver tries after an attempt that has not converged, and when it stops
 * an attempt because another one is likely to be faster. Both depend on norms and on counts of
 * iterations alone, so that a solve always takes the same way. */
#include <math.h>
#include <stdlib.h>

#include "choice.h"
#include "solver_state.h"

/* Looks are counted in products with M^-1, of which an iteration of BiCGSTAB has two. Cycles that
 * leave more than a tenth of the residual in 30 products take 240 to 1e-8. */
#define CYCLES_LOOK  30
#define CYCLES_SHARE 0.1
/* Where nothing else is expected to do better, a look without gain may be one of CG's plateaus. */
#define CYCLES_PATIENCE 2000
/* A factor gives way to multigrid where it needs so many more products: as long as a set-up and
 * some 25 cycles. Both numbers are twice as large where there is evidence against multigrid. If it
 * is no better, the factor goes on. It also gives way to what was slow but has less to do. */
#define FACTOR_LOOK 30
#define FACTOR_MOST 60.0
/* An iteration with Jacobi, in products with a factor. */
#define JACOBI_PRICE 0.4
/* GMRES without a preconditioner, where there is none: its projections are right by then. */
#define UNAIDED_LOOK 300
/* Iterations that no attempt has. */
#define HOPELESS 1e4
/* A residual is at most so many times its rounding errors where nothing else is wrong. */
#define LIMITED 16.0
/* Then the last attempt goes on until it ends. */
enum { ATTEMPTS_MOST = 8 };
/* GMRES between restarts, and any method with nothing better to come: less is stagnation. */
#define GMRES_LOOK  60
#define GMRES_SHARE 0.9
#define STALL_LOOK  500
#define STALL_SHARE 0.99
/* Jacobi in place of cycles that gain little: the residual of the Laplacian squared stays where it
 * is for hundreds of iterations of CG, and then falls. */
#define CHEAP_LOOK 5000
/* With a preconditioner of which trial steps have shown no good. */
#define DOUBT_LOOK  30
#define DOUBT_SHARE 0.9

/* ---- which attempts there are ---- */

static const gsw_precond order[] = {GSW_PRECOND_DILU, GSW_PRECOND_MULTIGRID, GSW_PRECOND_IC0,
                                    GSW_PRECOND_ILU0, GSW_PRECOND_SSOR,      GSW_PRECOND_JACOBI,
                                    GSW_PRECOND_NONE};
enum { ORDER = (int)(sizeof order / sizeof order[0]) };

static unsigned bit(gsw_method method) {
    return 1U << (unsigned)method;
}

static int is_definite(const gsw_solver *s) {
    return s->choice.method == GSW_CG && !s->tried.indefinite;
}

/* Constant vectors are in the null space, and the options do not say so: nothing converges. */
static int is_singular(const gsw_solver *s) {
    return s->choice.zero_sums == 1 && !s->constants && s->krylov.nullspace == GSW_NULLSPACE_NONE;
}

/* Whether a preconditioner may be tried after others. */
static int is_open(const gsw_solver *s, gsw_precond precond) {
    const gsw_choice *c = &s->choice;
    if (s->tried.closed[precond] || s->tried.methods[precond] != 0)
        return 0;
    switch (precond) {
    case GSW_PRECOND_DILU: /* where ILU(0) may be unstable, and multigrid is as bad: of two coupled
                              unknowns DILU took 58 iterations, and ILU(0) and multigrid failed */
        return c->reason == GSW_REASON_SIGNS && c->symmetric == 0;
    case GSW_PRECOND_MULTIGRID:
        return c->reason != GSW_REASON_REACH && c->reason != GSW_REASON_DIAGONAL &&
               c->reason != GSW_REASON_REFUSED;
    case GSW_PRECOND_IC0:
    case GSW_PRECOND_SSOR: /* of a matrix that is not symmetric ILU(0) is better */
        return is_definite(s) && c->diagonal == 1;
    case GSW_PRECOND_ILU0:
        return !is_definite(s) || c->diagonal != 1;
    default:
        return 1;
    }
}

/* The next preconditioner; AUTO: there is none. */
static gsw_precond next_precond(const gsw_solver *s) {
    for (int i = 0; i < ORDER && s->wanted.precond == GSW_PRECOND_AUTO; i++)
        if (order[i] != s->precond && is_open(s, order[i]))
            return order[i];
    return GSW_PRECOND_AUTO;
}

/* The method with which a preconditioner is tried first. Cycles leave a symmetric matrix a few
 * negative eigenvalues: then GMRES took 20 to 113 cycles, and BiCGSTAB as many to 10 times more. */
static gsw_method base_method(const gsw_solver *s, gsw_precond precond) {
    if (s->wanted.method != GSW_SOLVER_AUTO)
        return (gsw_method)(s->wanted.method - 1);
    if (is_definite(s))
        return GSW_CG;
    return precond == GSW_PRECOND_MULTIGRID && s->choice.symmetric == 1 ? GSW_GMRES : GSW_BICGSTAB;
}

/* The next method with the present preconditioner; -1: there is none. */
static int next_method(const gsw_solver *s) {
    if (s->wanted.method != GSW_SOLVER_AUTO)
        return -1;
    const gsw_method base = base_method(s, s->precond);
    for (int m = (int)(base > s->method ? base : s->method + 1); m <= GSW_GMRES; m++)
        if (!(s->tried.methods[s->precond] & bit((gsw_method)m)))
            return m;
    return -1;
}

/* ---- the watch ---- */

static double relative_tolerance(const gsw_solver *s) {
    return s->krylov.rtol > 0 ? s->krylov.rtol : 1e-8;
}

/* Iterations that are left, as the last `count` of them have gone. */
static double projected(const gsw_watch *w, double count) {
    const double tolerance = relative_tolerance(w->solver);
    const double rate = log(w->best / w->before) / count;
    const double left = log(tolerance / w->best) / rate;
    return w->best <= tolerance ? 0 : rate < 0 && left < HOPELESS ? left : INFINITY;
}

/* What is left to do at the least with one that was stopped as slow; INFINITY: nothing was. */
static double least_left(const gsw_solver *s) {
    double least = INFINITY;
    for (int p = 0; p < GSW_PRECONDS; p++)
        if (p != (int)s->precond && s->tried.slow[p] != 0)
            least = fmin(least, s->tried.left[p]);
    return least;
}

/* Whether no preconditioner can be made. */
static int is_unaided(const gsw_solver *s) {
    return s->wanted.precond == GSW_PRECOND_AUTO && s->first_precond == GSW_PRECOND_NONE;
}

static int is_slow(gsw_watch *w, int64_t iteration) {
    gsw_solver *s = w->solver;
    const double other = least_left(s);
    const gsw_reason reason = s->choice.reason;
    /* Cycles were tried before Jacobi was taken. */
    const int cheap = s->precond == GSW_PRECOND_JACOBI && reason == GSW_REASON_CYCLE;
    const gsw_precond next = next_precond(s);
    const int to_multigrid = (next == GSW_PRECOND_MULTIGRID || next == GSW_PRECOND_DILU) && !cheap;
    const double thin = gsw_choice_thinness(s->context, &s->matrix.grid);
    const int doubt = reason == GSW_REASON_CYCLE || reason == GSW_REASON_SIGNS ||
                      reason == GSW_REASON_INDEFINITE || thin > 1;
    const int64_t products = s->method == GSW_BICGSTAB ? 2 : 1;
    const double price = s->precond == GSW_PRECOND_MULTIGRID
                             ? gsw_choice_cycle_price(s->context, &s->matrix)
                         : s->precond == GSW_PRECOND_JACOBI ? JACOBI_PRICE
                                                            : 1;
    int64_t look = (cheap ? CHEAP_LOOK : STALL_LOOK) * products;
    if (iteration == DOUBT_LOOK && !is_unaided(s) && isinf(s->choice.estimate) &&
        s->method != GSW_CG && s->precond == s->first_precond &&
        s->precond != GSW_PRECOND_MULTIGRID && w->best > DOUBT_SHARE * w->first) {
        s->tried.left[s->precond] = INFINITY;
        return 1;
    }
    if (s->precond == GSW_PRECOND_MULTIGRID)
        look = CYCLES_LOOK;
    else if (is_unaided(s))
        look = UNAIDED_LOOK * products;
    else if (s->method == GSW_GMRES)
        look = GMRES_LOOK;
    else if (to_multigrid || isfinite(other))
        look = (int64_t)(FACTOR_LOOK * (1 + doubt) / price);
    if (s->tried.patient)
        look = STALL_LOOK * products;
    look /= products;
    if (iteration == 0 || iteration % look != 0)
        return 0;
    const double left = price * (double)products * projected(w, (double)look);
    const double share = w->best / w->before;
    w->before = w->best;
    s->tried.left[s->precond] = left;
    if (is_unaided(s))
        return isinf(left);
    if (s->tried.patient)
        return !(share <= STALL_SHARE);
    if (s->precond == GSW_PRECOND_MULTIGRID)
        return !(share <= CYCLES_SHARE) &&
               (!(left <= (isfinite(other) ? other : s->choice.estimate)) ||
                (isinf(left) && iteration >= CYCLES_PATIENCE));
    if (s->method == GSW_GMRES)
        return !(share <= GMRES_SHARE);
    return to_multigrid      ? left > FACTOR_MOST * thin * (1 + 3 * doubt)
           : isfinite(other) ? left > other
                             : !(share <= STALL_SHARE);
}

/* Keeps a norm of the solve; where there is no memory for more, those so far. */
static void keep_norm(gsw_history *h, double residual) {
    enum { FIRST = 64 };
    if (h->count == h->room) {
        const int64_t room = h->room == 0 ? FIRST : 2 * h->room;
        double *norms = realloc(h->norms, (size_t)room * sizeof *norms);
        if (norms == NULL)
            return;
        h->norms = norms;
        h->room = room;
    }
    h->norms[h->count++] = residual;
}

/* A gsw_monitor_fn. */
static int watch(void *user, int64_t iteration, double residual) {
    gsw_watch *w = user;
    const gsw_krylov_options *given = &w->solver->krylov;
    const int is_next = w->offset + iteration == w->solver->history.count;
    int stop = 0;
    if (is_next)
        keep_norm(&w->solver->history, residual);
    if (given->monitor != NULL && (iteration > 0 || w->offset == 0))
        stop = given->monitor(given->monitor_user, w->offset + iteration, residual);
    if (iteration == 0)
        w->first = w->best = w->before = residual;
    w->best = residual < w->best ? residual : w->best;
    w->slow = !stop && w->watching && is_slow(w, iteration);
    return stop || w->slow;
}

void gsw_attempt_begin(gsw_solver *s, gsw_krylov_options *options) {
    const int64_t limit = s->krylov.max_iterations, done = s->report.iterations;
    *options = s->krylov;
    if (s->constants && s->basins.count == 1)
        options->nullspace = GSW_NULLSPACE_CONSTANT;
    if (limit > 0)
        options->max_iterations = limit - done;
    s->watch = (gsw_watch){.solver = s,
                           .offset = done,
                           .watching = !is_singular(s) && s->report.attempts < ATTEMPTS_MOST &&
                                       (is_unaided(s) || next_precond(s) != GSW_PRECOND_AUTO ||
                                        isfinite(least_left(s)))};
    s->tried.methods[s->precond] |= bit(s->method);
    options->monitor = watch;
    options->monitor_user = &s->watch;
}

/* ---- what follows ---- */

/* Goes on with the one of those stopped as slow that has the least to do, if that is less than
 * `left`; NaN: in any case. The choice comes first among equals. */
static int take_slow(gsw_solver *s, double left, gsw_precond *precond) {
    int best = -1;
    for (int i = -1; i < ORDER; i++) {
        const gsw_precond p = i < 0 ? s->first_precond : order[i];
        if (s->tried.slow[p] != 0 && !(s->tried.left[p] >= left) &&
            (best < 0 || s->tried.left[p] < s->tried.left[best]))
            best = (int)p;
    }
    if (best < 0)
        return 0;
    int method = GSW_CG;
    while (!(s->tried.slow[best] & bit((gsw_method)method)))
        method++;
    s->tried.slow[best] &= ~bit((gsw_method)method);
    *precond = (gsw_precond)best;
    s->method = (gsw_method)method;
    return 1;
}

/* Whether another method may make more of the same preconditioner. Cycles of which BiCGSTAB makes
 * little may suit GMRES: a few eigenvalues far from the others delay it less. */
static int suits_another_method(const gsw_solver *s, gsw_status status,
                                const gsw_krylov_result *result) {
    if (s->tried.patient || (status == GSW_ERROR_NON_FINITE && result->iterations <= 2))
        return 0;
    if (status == GSW_ERROR_BREAKDOWN && s->method == GSW_CG)
        return next_precond(s) != GSW_PRECOND_MULTIGRID; /* it is better then, see choice.c */
    return status != GSW_ERROR_STOPPED ||
           (s->precond == GSW_PRECOND_MULTIGRID && s->method == GSW_BICGSTAB &&
            result->residual < s->watch.first);
}

/* Whether x is as good as fp64 allows, which other methods do not change: the residual is of the
 * size of its rounding errors, and these exceed the tolerance. */
static int is_limited(const gsw_solver *s, gsw_status status, const gsw_krylov_result *result) {
    return status == GSW_ERROR_NOT_CONVERGED && s->krylov.norm == GSW_NORM_TRUE &&
           result->rounding > relative_tolerance(s) &&
           result->residual <= LIMITED * result->rounding;
}

int gsw_attempt_next(gsw_solver *s, gsw_status status, const gsw_krylov_result *result,
                     gsw_precond *precond) {
    const int failed = status == GSW_ERROR_BREAKDOWN || status == GSW_ERROR_NON_FINITE ||
                       status == GSW_ERROR_NOT_CONVERGED;
    const int slow = status == GSW_ERROR_STOPPED && s->watch.slow;
    const int bad_b = status == GSW_ERROR_NON_FINITE && result->iterations == 0 && s->b_is_bad;
    const int64_t limit = s->krylov.max_iterations;
    if ((!failed && !slow) || bad_b || s->matrix_is_bad || (slow && is_unaided(s)) ||
        is_singular(s) || is_limited(s, status, result) ||
        (limit > 0 && s->report.iterations >= limit))
        return 0;
    if (slow && !s->tried.patient)
        s->tried.slow[s->precond] |= bit(s->method);
    if (status == GSW_ERROR_BREAKDOWN && s->method == GSW_CG)
        s->tried.indefinite = 1;

    const int method = suits_another_method(s, status, result) ? next_method(s) : -1;
    *precond = s->precond;
    if (method >= 0) {
        s->method = (gsw_method)method;
        return 1;
    }
    if (slow && take_slow(s, s->tried.left[s->precond], precond))
        return 1;
    /* What comes last is weaker than what was slow, of which the residual may only have peaked. */
    const gsw_precond next = next_precond(s);
    const int is_weak =
        next == GSW_PRECOND_AUTO || next == GSW_PRECOND_JACOBI || next == GSW_PRECOND_NONE;
    s->tried.patient = is_weak && take_slow(s, NAN, precond);
    if (s->tried.patient)
        return 1;
    *precond = next;
    s->method = base_method(s, next);
    return next != GSW_PRECOND_AUTO;
}
