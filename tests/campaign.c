/* campaign.c: whether gsw_solver, with everything chosen, solves what any named choice solves, and
 * how much longer it takes than the fastest.
 *
 *   campaign small|large [--part I/N] [--family NAME] [--threads T] [--times] [--verbose]
 *
 * Each system is solved by the solver's own choice and by every named pair of preconditioner and
 * method, from x = 0 and within the default limits. A named solve ends once it has taken some times
 * as long as the best one so far, because it cannot become the fastest. A residual in long double
 * checks each x that a method calls converged.
 *
 * --part takes the I-th of N parts of each family, counted from 0. --times repeats short solves,
 * and checks the ratios as well; it needs a quiet machine. The exit code is 1 if the choice fails
 * where a named pair succeeds, if something converged is not, or if --times finds a ratio beyond
 * its bar; 2 after bad usage. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <gridsweep/gridsweep.h>
#include <gridsweep/solve.h>

#include "core/clock.h"
#include "campaign_systems.h"

#define TOLERANCE 1.0001e-8 /* of ||b||, for the default rtol and rounding errors */
#define PATIENCE  1.5       /* a named solve ends after this many times the best time, */
#define SHORTEST  1e-3      /* but not before these seconds */
#define FIRST     0.2  /* seconds that each gets while none has converged; then ten times as many */
#define REPEATED  0.1  /* solves of fewer seconds are repeated with --times */
#define MEASURED  5e-3 /* the largest ratio is that of systems that take these seconds */
#define MEDIAN    1.2  /* bars of the ratios */
#define LARGEST   3.0

enum { REPEATS = 3, MOST_SYSTEMS = 2000 };

static struct {
    int large, part, parts, threads, times, verbose;
    const char *family;
} wanted = {.parts = 1, .threads = 1};

/* ---- solves ---- */

/* One thread counts its own time, so that other programs disturb it little. */
static double seconds_now(void) {
    struct timespec now;
    if (wanted.threads != 1 || clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now) != 0)
        return gsw_seconds_now();
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

typedef struct candidate {
    const char *name;
    int factor; /* a gsw_factor_kind; NO_FACTOR or HIERARCHY */
    gsw_smoother smoother;
} candidate;

enum { NO_FACTOR = -1, HIERARCHY = -2 };

/* Those that are usually fast come first: the others then end early. */
static const candidate preconditioners[] = {{"mg-gs", HIERARCHY, GSW_SMOOTHER_GS},
                                            {"mg-ilu0", HIERARCHY, GSW_SMOOTHER_ILU0},
                                            {"ic0", GSW_IC0, 0},
                                            {"ilu0", GSW_ILU0, 0},
                                            {"mg-ilu0-finest", HIERARCHY, GSW_SMOOTHER_ILU0_FINEST},
                                            {"mg-symgs", HIERARCHY, GSW_SMOOTHER_SYMGS},
                                            {"ssor", GSW_SSOR, 0},
                                            {"dilu", GSW_DILU, 0},
                                            {"jacobi", GSW_JACOBI, 0},
                                            {"none", NO_FACTOR, 0}};
enum { PRECONDITIONERS = sizeof preconditioners / sizeof preconditioners[0] };
static const gsw_method methods[] = {GSW_CG, GSW_BICGSTAB, GSW_GMRES};
enum { METHODS = sizeof methods / sizeof methods[0] };

typedef struct outcome {
    gsw_status status;
    int64_t iterations;
    double setup, seconds; /* of the set-up, and with it */
    double residual;       /* NaN unless the method calls x converged */
} outcome;

static int is_good(const outcome *o) {
    return o->seconds > 0 && o->residual <= TOLERANCE;
}

static int is_wrong(const outcome *o) {
    return o->seconds > 0 && !isnan(o->residual) && !is_good(o);
}

typedef struct scene {
    gsw_context *context;
    const campaign_system *system;
    int symmetric; /* the matrix is, */
    int positive;  /* and all diagonals are */
    double *x;
    double best;     /* seconds of the fastest solve so far, or INFINITY */
    double allowed;  /* seconds of a named solve while that is so */
    double deadline; /* of the solve at work */
} scene;

/* Whether A is symmetric, and its diagonal positive. */
static void look(scene *to) {
    const campaign_system *s = to->system;
    to->symmetric = to->positive = 1;
    for (int e = 0; e < s->stencil.count; e++) {
        const gsw_offset o = s->stencil.offsets[e];
        const int mirror = gsw_stencil_find(&s->stencil, (gsw_offset){-o.dx, -o.dy, -o.dz});
        for (int64_t i = 0; i < s->points; i++) {
            int64_t at[3];
            campaign_place(&s->grid, i, at);
            if (!campaign_inside(&s->grid, at, o))
                continue;
            const double a = s->values[e][i];
            const double other = mirror < 0 ? 0 : s->values[mirror][i + campaign_step(&s->grid, o)];
            to->symmetric &= fabs(a - other) <= 1e-13 * fabs(a);
            to->positive &= e != s->stencil.center || a > 0;
        }
    }
}

/* ||b - A x|| / ||b||, in long double. */
static double true_residual(const campaign_system *s, const double *x) {
    long double residual = 0, reference = 0;
    for (int64_t i = 0; i < s->points; i++) {
        long double sum = s->b[i];
        int64_t at[3];
        campaign_place(&s->grid, i, at);
        for (int e = 0; e < s->stencil.count; e++)
            if (campaign_inside(&s->grid, at, s->stencil.offsets[e]))
                sum -= (long double)s->values[e][i] *
                       x[i + campaign_step(&s->grid, s->stencil.offsets[e])];
        residual += sum * sum;
        reference += (long double)s->b[i] * s->b[i];
    }
    return (double)sqrtl(residual / reference);
}

static int is_late(void *user, int64_t iteration, double residual) {
    (void)iteration, (void)residual;
    return seconds_now() > ((const scene *)user)->deadline;
}

/* The preconditioner `named`; *M stays NULL for none. */
static gsw_status prepare(const scene *s, const candidate *named, gsw_factor **factor,
                          gsw_multigrid **multigrid, gsw_preconditioner **M) {
    gsw_multigrid_options hierarchy = {
        .size = sizeof hierarchy, .smoother = named->smoother, .cycle_type = GSW_F32};
    const gsw_factor_options kind = {.size = sizeof kind, .kind = (gsw_factor_kind)named->factor};
    const gsw_matrix *matrix = &s->system->matrix;
    if (named->factor == NO_FACTOR)
        return GSW_SUCCESS;
    if (named->factor != HIERARCHY) {
        const gsw_status status = gsw_factor_create(s->context, matrix, &kind, factor);
        return status != GSW_SUCCESS ? status
                                     : gsw_preconditioner_from_factor(s->context, *factor, M);
    }
    gsw_status status = gsw_multigrid_create(s->context, matrix, &hierarchy, multigrid);
    if (status == GSW_ERROR_UNSUPPORTED) { /* values beyond fp32 */
        hierarchy.cycle_type = GSW_F64;
        status = gsw_multigrid_create(s->context, matrix, &hierarchy, multigrid);
    }
    return status != GSW_SUCCESS ? status
                                 : gsw_preconditioner_from_multigrid(s->context, *multigrid, M);
}

static void solve_named(scene *s, gsw_method method, gsw_preconditioner *M, double setup,
                        outcome *o) {
    const double begun = seconds_now();
    gsw_operator *A = NULL;
    gsw_krylov_options options = {.size = sizeof options, .monitor = is_late, .monitor_user = s};
    gsw_krylov_result result = {.size = sizeof result};
    memset(s->x, 0, (size_t)s->system->points * sizeof(double));
    s->deadline = begun + fmax(isinf(s->best) ? s->allowed : PATIENCE * s->best, SHORTEST) - setup;
    o->setup = setup;
    o->status = gsw_operator_from_matrix(s->context, &s->system->matrix, &A);
    if (o->status == GSW_SUCCESS)
        o->status = gsw_krylov(s->context, method, A, M, &options, s->system->b, s->x, &result);
    o->seconds = setup + seconds_now() - begun;
    o->iterations = result.iterations;
    o->residual = o->status == GSW_SUCCESS ? true_residual(s->system, s->x) : NAN;
    if (is_good(o))
        s->best = fmin(s->best, o->seconds);
    gsw_operator_destroy(A);
}

/* Keeps the better one of two solves. */
static void keep(outcome *best, const outcome *o) {
    if (best->seconds == 0 || best->status == GSW_ERROR_STOPPED || is_wrong(o) ||
        (is_good(o) && o->seconds < best->seconds))
        *best = *o;
}

/* Whether a solve is to be done: it is new, or was stopped when it had too little time, or is
 * repeated because it may be the fastest. */
static int is_due(const scene *s, const outcome *o, int again) {
    if (again)
        return is_good(o) && o->seconds < fmin(REPEATED, PATIENCE * s->best);
    return o->seconds == 0 || o->status == GSW_ERROR_STOPPED;
}

/* Solves with one preconditioner and each method. */
static void try_named(scene *s, const candidate *named, int again, outcome results[METHODS]) {
    gsw_factor *factor = NULL;
    gsw_multigrid *multigrid = NULL;
    gsw_preconditioner *M = NULL;
    int due[METHODS], any = 0;
    for (int k = 0; k < METHODS; k++) {
        due[k] = is_due(s, &results[k], again) && (methods[k] != GSW_CG || s->symmetric);
        any |= due[k];
    }
    if (!any || (named->factor == GSW_IC0 && !(s->symmetric && s->positive)))
        return;
    const double begun = seconds_now();
    const gsw_status status = prepare(s, named, &factor, &multigrid, &M);
    const double setup = seconds_now() - begun;
    for (int k = 0; k < METHODS; k++) {
        outcome o = {.status = status, .setup = setup, .seconds = setup, .residual = NAN};
        if (due[k] && status == GSW_SUCCESS)
            solve_named(s, methods[k], M, setup, &o);
        if (due[k])
            keep(&results[k], &o);
    }
    gsw_preconditioner_destroy(M);
    gsw_multigrid_destroy(multigrid);
    gsw_factor_destroy(factor);
}

/* Every named solve once, with more and more time until one converges or all have ended. */
static void try_all(scene *s, outcome results[PRECONDITIONERS][METHODS]) {
    int stopped = 1;
    s->allowed = FIRST;
    while (stopped) {
        stopped = 0;
        for (int p = 0; p < PRECONDITIONERS; p++)
            try_named(s, &preconditioners[p], 0, results[p]);
        for (int p = 0; p < PRECONDITIONERS && isinf(s->best); p++)
            for (int m = 0; m < METHODS; m++)
                stopped |= results[p][m].status == GSW_ERROR_STOPPED;
        s->allowed *= 10;
    }
}

typedef struct chosen {
    outcome o;
    char text[600]; /* the choice and the fallbacks */
} chosen;

/* Solves with everything chosen. */
static void solve_auto(scene *s, chosen *best) {
    outcome o = {.residual = NAN};
    gsw_solver *solver = NULL;
    gsw_solver_report report = {.size = sizeof report, .first_precond = "", .first_method = ""};
    memset(s->x, 0, (size_t)s->system->points * sizeof(double));
    const double begun = seconds_now();
    o.status = gsw_solver_create(s->context, &s->system->matrix, NULL, &solver);
    o.setup = seconds_now() - begun;
    if (o.status == GSW_SUCCESS)
        o.status = gsw_solver_solve(s->context, solver, s->system->b, s->x, &report);
    o.seconds = seconds_now() - begun;
    o.iterations = report.iterations;
    if (o.status == GSW_SUCCESS)
        o.residual = true_residual(s->system, s->x);
    (void)snprintf(best->text, sizeof best->text, "%s %s%s%s", report.first_precond,
                   report.first_method, report.fallback[0] != '\0' ? "; " : "", report.fallback);
    gsw_solver_destroy(solver);
    if (is_good(&o))
        s->best = fmin(s->best, o.seconds);
    keep(&best->o, &o);
}

/* ---- reports ---- */

typedef struct ratios {
    int count;
    double value[MOST_SYSTEMS];
} ratios;

typedef struct total {
    int systems, failed, wrong;
    int unsolved;         /* by the choice and by every named pair */
    ratios all, measured; /* measured: of systems that take a while */
} total;

static int by_size(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The ratio that `part` of them do not exceed. */
static double quantile(ratios *r, double part) {
    qsort(r->value, (size_t)r->count, sizeof *r->value, by_size);
    return r->count > 0 ? r->value[(int)(part * (r->count - 1))] : NAN;
}

static void print_total(const char *name, total *t) {
    printf("%-10s %4d systems %3d failed %3d wrong %3d unsolved, ratios: median %5.2f; of %3d over "
           "%g ms: median %5.2f, largest %5.2f\n",
           name, t->systems, t->failed, t->wrong, t->unsolved, quantile(&t->all, 0.5),
           t->measured.count, 1e3 * MEASURED, quantile(&t->measured, 0.5),
           quantile(&t->measured, 1));
}

static void print_outcome(const char *name, const char *method, const outcome *o) {
    printf("    %-14s %-8s %6lld iterations  %10.3f ms (set-up %.3f)  %s  %.2e\n", name, method,
           (long long)o->iterations, 1e3 * o->seconds, 1e3 * o->setup,
           is_wrong(o) ? "WRONG" : gsw_status_name(o->status), o->residual);
}

/* ---- the campaign ---- */

static void add_ratio(ratios *r, double value) {
    if (r->count < MOST_SYSTEMS)
        r->value[r->count++] = value;
}

/* Counts and prints what a system showed. */
static void judge(const scene *s, const chosen *c, outcome results[PRECONDITIONERS][METHODS],
                  total *t) {
    const outcome *fastest = NULL;
    const int good = is_good(&c->o);
    int wrong = is_wrong(&c->o);
    for (int p = 0; p < PRECONDITIONERS; p++)
        for (int m = 0; m < METHODS; m++) {
            const outcome *o = &results[p][m];
            wrong += is_wrong(o);
            if (is_good(o) && (fastest == NULL || o->seconds < fastest->seconds))
                fastest = o;
        }
    const int measured = fastest != NULL && fastest->seconds > MEASURED;
    const double ratio = good && fastest != NULL ? c->o.seconds / fastest->seconds : NAN;
    t->systems++;
    t->wrong += wrong;
    t->failed += !good && fastest != NULL;
    t->unsolved += !good && fastest == NULL;
    if (!isnan(ratio))
        add_ratio(&t->all, ratio);
    if (!isnan(ratio) && measured)
        add_ratio(&t->measured, ratio);
    if (!wanted.verbose && good && !wrong && !(ratio > 2 && measured))
        return;
    printf("%s%s: %s, ratio %.2f\n",
           wrong             ? "WRONG "
           : good            ? ""
           : fastest != NULL ? "FAILED "
                             : "unsolved ",
           s->system->what, c->text, ratio);
    print_outcome("auto", "", &c->o);
    for (int p = 0; p < PRECONDITIONERS; p++)
        for (int m = 0; m < METHODS; m++) {
            const outcome *o = &results[p][m];
            if (o == fastest || is_wrong(o) || (wanted.verbose && o->seconds > 0))
                print_outcome(preconditioners[p].name, gsw_method_name(methods[m]), o);
        }
}

/* Solves one system in every way. */
static void visit(gsw_context *context, const campaign_system *system, total *t) {
    outcome results[PRECONDITIONERS][METHODS] = {0};
    chosen c = {.text = ""};
    scene s = {.context = context, .system = system, .best = INFINITY};
    s.x = malloc((size_t)system->points * sizeof(double));
    if (s.x == NULL)
        abort();
    look(&s);
    solve_auto(&s, &c);
    try_all(&s, results);
    for (int round = 1; round < REPEATS && wanted.times; round++) {
        if (c.o.seconds < REPEATED)
            solve_auto(&s, &c);
        for (int p = 0; p < PRECONDITIONERS; p++)
            try_named(&s, &preconditioners[p], 1, results[p]);
    }
    judge(&s, &c, results, t);
    free(s.x);
    (void)fflush(stdout);
}

static void add_ratios(ratios *to, const ratios *from) {
    for (int i = 0; i < from->count; i++)
        add_ratio(to, from->value[i]);
}

static void visit_family(gsw_context *context, int number, total *all) {
    static total family;
    memset(&family, 0, sizeof family);
    const int count = campaign_count(wanted.large);
    /* Steps of 5 spread the variants, grids and right-hand sides over the parts. */
    for (int i = count * wanted.part / wanted.parts; i < count * (wanted.part + 1) / wanted.parts;
         i++) {
        const int k = (5 * i + number) % count;
        campaign_system system;
        campaign_make(context, number, wanted.large, k, &system);
        visit(context, &system, &family);
        campaign_free(&system);
    }
    if (family.systems > 0)
        print_total(campaign_family(number), &family);
    all->systems += family.systems;
    all->failed += family.failed;
    all->wrong += family.wrong;
    all->unsolved += family.unsolved;
    add_ratios(&all->all, &family.all);
    add_ratios(&all->measured, &family.measured);
}

static int usage(void) {
    (void)fprintf(stderr, "usage: campaign small|large [--part I/N] [--family NAME] [--threads T] "
                          "[--times] [--verbose]\n");
    return 2;
}

static int parse(int count, char **arguments) {
    if (count < 2 || (strcmp(arguments[1], "small") != 0 && strcmp(arguments[1], "large") != 0))
        return usage();
    wanted.large = strcmp(arguments[1], "large") == 0;
    for (int i = 2; i < count; i++) {
        const char *name = arguments[i], *value = i + 1 < count ? arguments[i + 1] : "";
        char *end = NULL;
        if (strcmp(name, "--times") == 0) {
            wanted.times = 1;
        } else if (strcmp(name, "--verbose") == 0) {
            wanted.verbose = 1;
        } else if (strcmp(name, "--family") == 0) {
            wanted.family = value, i++;
        } else if (strcmp(name, "--threads") == 0) {
            wanted.threads = (int)strtol(value, &end, 10), i++;
        } else if (strcmp(name, "--part") == 0) {
            wanted.part = (int)strtol(value, &end, 10), i++;
            wanted.parts = *end == '/' ? (int)strtol(end + 1, &end, 10) : 0;
        } else {
            return usage();
        }
    }
    return wanted.parts < 1 || wanted.part < 0 || wanted.part >= wanted.parts ? usage() : 0;
}

int main(int count, char **arguments) {
    static total all;
    gsw_context *context;
    const int bad = parse(count, arguments);
    if (bad != 0)
        return bad;
    const gsw_context_options options = {.size = sizeof options,
                                         .backend = GSW_BACKEND_CPU,
                                         .threads = wanted.threads,
                                         .tuning = ""};
    if (gsw_context_create(&options, &context) != GSW_SUCCESS)
        return usage();
    for (int f = 0; campaign_family(f) != NULL; f++)
        if (wanted.family == NULL || strcmp(wanted.family, campaign_family(f)) == 0)
            visit_family(context, f, &all);
    gsw_context_destroy(context);
    print_total("all", &all);
    if (all.systems == 0)
        return usage();
    const int slow = wanted.times && (quantile(&all.measured, 0.5) > MEDIAN ||
                                      quantile(&all.measured, 1) > LARGEST);
    if (slow)
        printf("the ratios are beyond %.1f (median) or %.1f (largest)\n", MEDIAN, LARGEST);
    return all.failed > 0 || all.wrong > 0 || slow ? EXIT_FAILURE : EXIT_SUCCESS;
}
