/* choice.c: which preconditioner and which method suit a matrix. choice.h describes the order of
 * the criteria. The comments beside the limits give the figures that they rest on. */
#include <gridsweep/choice.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "candidate.h"
#include "choice.h"
#include "choice_probe.h"
#include "contract/backend.h"
#include "contract/context.h"
#include "contract/error.h"
#include "geometry/multigrid.h"
#include "core/options.h"
#include "core/reserve.h"
#include "matrix/distributed_mask.h"
#include "matrix/distributed_rows.h"
#include "geometry/stencil_facts.h"

GSW_ENDS_WITH(gsw_choice_options, factor);
GSW_ENDS_WITH(gsw_choice, text);

/* With fewer points, every method takes about a millisecond or less. */
enum { POINTS_LEAST = 1000 };

/* Set-up and cycles of multigrid cost as much as this many products with M^-1: with 5 to 13 offsets
 * the break-even was at 25 to 31 on one core for constant coefficients, of which cycles make the
 * most, and at more for others. So 36 instead of 27 lowered the median ratio to the fastest solve
 * from 2.6 to 1.35 on grids with blocks, and from 1.8 to 1.45 on rotated anisotropy. With 19 and
 * more offsets it was at 10 to 13, where a coarse level is no denser than a fine one. */
enum { OFFSETS_FEW = 15, WORTH_FEW = 36, WORTH_MANY = 12 };

/* Iterations of CG with Jacobi per iteration with IC(0): 2.0 on hpcg, 2.3 on poisson. */
#define JACOBI_ITERATIONS 2.3

/* Where this share of the couplings lies along one axis, the same for all rows or not, elimination
 * along it may be almost exact. */
#define ONE_AXIS 0.95

/* A cycle takes as long as this many iterations with the factor, with few and with many offsets. */
#define CYCLE_FEW  2.7
#define CYCLE_MANY 1.0

/* Of symmetric matrices whose couplings reach past neighbours. Steps with IC(0) may enlarge their
 * errors and say nothing. Fourth-order Laplacians took 10 cycles, the Laplacian squared 40 to 640.
 */
#define CYCLES_FAR 60.0

enum { STEPS = 2 };

/* One cycle is enough where it leaves at most this share of an error that is smooth and rough in
 * equal parts. The share may also be small because smoothing alone removes the rough part. Then a
 * second cycle decides. */
#define GOOD_CYCLE 0.25
enum { CYCLES = 2 };

/* Cycles enlarge the errors of an indefinite matrix whose eigenvalues are negative. Where they do
 * it so many times at most, these are few, and a Krylov method removes them: with Helmholtz terms
 * of 1.2 to 5 times the least eigenvalue (28 and less) multigrid took 0.15 to 0.6 of the time of
 * ILU(0), and with 10 times (791) more. */
#define FEW_NEGATIVE 100.0

/* The matrix of a time step: its diagonal is larger than the sum of its couplings by this part. */
#define DOMINANT 1e-3

/* No axis prevails where none has more than this share of the couplings: 1/3 in an even box. In
 * planes, where it is 0.5, Jacobi took 3 times the iterations, and 1.2 to 1.8 times as long. */
#define EVEN_AXES 0.45

/* Rows of a matrix that is not symmetric may have any scale. Coarse levels suffer where scales
 * differ, so trial cycles decide there. */
#define EVEN_ROWS 100.0

/* Where more of the couplings than this share have the sign of their diagonal, interpolation works
 * badly. Random signs give 0.5, fourth-order Laplacians 0.06. */
#define SAME_SIGN 0.4

/* ---- candidates ---- */

/* A choice in progress. */
typedef struct search {
    gsw_context *context;
    const gsw_matrix *matrix;
    gsw_multigrid_options hierarchy;
    gsw_factor_options factor;
    gsw_choice *choice;
    gsw_box_rows *known;
    int watched;    /* the solve will notice what is slow */
    int indefinite; /* x'Ax has the other sign than the diagonal for some x */
    gsw_candidate best;
    char no_factor[GSW_REFUSAL], no_multigrid[GSW_REFUSAL]; /* why there is none; else "" */
} search;

/* The factor of choice->kind. Where a symmetric matrix has no IC(0), SSOR takes its place: it
 * exists for every positive diagonal, and is as definite as the matrix. ILU(0) would not be. */
static gsw_status take_factor(search *s) {
    gsw_status status;
    if (s->best.factor != NULL)
        return GSW_SUCCESS;
    gsw_candidate_drop(&s->best);
    status = gsw_candidate_factor(s->context, s->matrix, &s->factor, s->choice->kind, s->no_factor,
                                  &s->best);
    if (status == GSW_ERROR_ZERO_PIVOT && s->choice->kind == GSW_IC0) {
        s->choice->kind = GSW_SSOR;
        if (s->choice->zero_sums == 1) /* the last pivot is 0 because the matrix is singular */
            return status;
        status = gsw_candidate_factor(s->context, s->matrix, &s->factor, GSW_SSOR, s->no_factor,
                                      &s->best);
    }
    return status;
}

/* ---- properties of the coefficients ---- */

/* Sets the facts of a matrix, and the method and the factor that follow from them. */
static void take_facts(gsw_choice *choice, const gsw_matrix *matrix, int64_t points,
                       const gsw_survey *survey) {
    const int irregular = survey->bad_row >= 0; /* a diagonal is zero or not finite */
    choice->symmetric = survey->symmetric;
    choice->diagonal = irregular                    ? -1
                       : survey->negative == 0      ? 1
                       : survey->negative == points ? 0
                                                    : 2;
    choice->dominant = !irregular && survey->row_ratio <= 2 * (1 + 1e-12);
    choice->m_matrix = choice->dominant && choice->diagonal == 1 &&
                       survey->same_sign <= 1e-10 * survey->off_diagonal;
    choice->zero_sums = survey->zero_sums;
    const int definite = choice->symmetric == 1 && choice->diagonal != 2 && !irregular;
    choice->method = definite ? GSW_CG : GSW_BICGSTAB;
    choice->kind = definite && choice->diagonal != 0 && gsw_stencil_is_symmetric(&matrix->stencil)
                       ? GSW_IC0
                       : GSW_ILU0;
}

static gsw_status survey_shared(const gsw_matrix *matrix, gsw_survey *survey) {
    gsw_distributed_matrix *rows;
    GSW_TRY(gsw_distributed_matrix_open(matrix, &rows));
    gsw_status status = GSW_SUCCESS;
    if (matrix->active != NULL)
        status = gsw_distributed_matrix_extend(rows, matrix->active);
    if (status == GSW_SUCCESS)
        status = gsw_distributed_survey_matrix(rows, survey);
    gsw_distributed_matrix_destroy(rows);
    return status;
}

gsw_status gsw_choice_survey(gsw_context *context, const gsw_matrix *matrix, gsw_box_rows *rows) {
    if (gsw_partition_of(matrix) != NULL) {
        GSW_TRY(survey_shared(matrix, &rows->survey));
    } else {
        GSW_TRY(gsw_box_rows_take(context, matrix, rows));
        GSW_TRY(context->ops->multigrid->survey(context, &rows->view, NULL,
                                                gsw_wraps_of(&rows->around), 1, &rows->survey));
    }
    rows->is_surveyed = 1;
    return GSW_SUCCESS;
}

/* Surveys the coefficients. */
static gsw_status look(gsw_context *context, const gsw_matrix *matrix, int64_t points,
                       gsw_box_rows *known, gsw_choice *choice) {
    choice->diagonal = choice->m_matrix = choice->dominant = choice->zero_sums = -1;
    choice->estimate = choice->cycle_left = NAN;
    if (!known->is_surveyed)
        GSW_TRY(gsw_choice_survey(context, matrix, known));
    take_facts(choice, matrix, points, &known->survey);
    return GSW_SUCCESS;
}

/* Checks the arguments of both calls. */
static gsw_status check(gsw_context *context, const gsw_matrix *matrix, const gsw_choice *choice,
                        int64_t *points) {
    GSW_REQUIRE(context, matrix != NULL, "matrix is NULL");
    GSW_TRY(gsw_result_check(context, "gsw_choice", choice));
    GSW_TRY(gsw_matrix_check_anywhere(context, matrix));
    GSW_TRY(gsw_grid_points(&matrix->grid, points));
    return gsw_try_vector(context, gsw_matrix_own_points(matrix));
}

/* ---- the reason in words ---- */

static const char *character(const gsw_choice *c) {
    if (c->symmetric == 0)
        return c->m_matrix == 1 ? "not symmetric, M-matrix" : "not symmetric";
    if (c->diagonal == 2)
        return "symmetric, diagonals of both signs";
    if (c->diagonal == 0)
        return "symmetric, negative diagonal";
    return c->m_matrix == 1 ? "symmetric M-matrix" : "symmetric";
}

static void explain(search *s, gsw_reason reason) {
    static const char *const plain[] = {
        [GSW_REASON_POINTS] = "; the grid is too small for multigrid to save time",
        [GSW_REASON_DIAGONAL] = "; a diagonal is zero or not finite",
        [GSW_REASON_SIGNS] = "; too many couplings have the sign of the diagonal",
        [GSW_REASON_INDEFINITE] = "; indefinite",
        [GSW_REASON_METHOD_ONLY] = ""};
    gsw_choice *c = s->choice;
    const char *kind = gsw_factor_kind_name(c->kind);
    const double iterations = c->method == GSW_CG ? c->estimate : ceil(c->estimate / 2);
    char why[144] = "";
    c->reason = reason;
    switch (reason) {
    case GSW_REASON_MULTIGRID:
        if (s->no_factor[0] != '\0')
            (void)snprintf(why, sizeof why, "; no factor: %.120s", s->no_factor);
        else if (s->indefinite)
            (void)snprintf(why, sizeof why, "; slightly indefinite");
        else /* without a number: media of high contrast need far fewer than the estimate */
            (void)snprintf(why, sizeof why, "; %s would take many iterations", kind);
        break;
    case GSW_REASON_REACH:
        (void)snprintf(why, sizeof why, "; the stencil reaches too far for multigrid%s",
                       c->kind == GSW_JACOBI ? ", and for fast sweeps" : "");
        break;
    case GSW_REASON_FEW:
        (void)snprintf(why, sizeof why, "; %s takes only some %.0f iterations", kind, iterations);
        break;
    case GSW_REASON_CYCLE:
        (void)snprintf(why, sizeof why, "; a multigrid cycle leaves %.2g of a smooth error",
                       c->cycle_left);
        break;
    case GSW_REASON_REFUSED:
        (void)snprintf(why, sizeof why, "; refused: %.120s", s->no_multigrid);
        break;
    default:
        (void)snprintf(why, sizeof why, "%s", plain[reason]);
    }
    (void)snprintf(c->text, sizeof c->text, "%s%s", character(c), why);
}

/* ---- the decision ---- */

/* The stencil that sweeps and cycles see. */
static gsw_stencil near_of(const gsw_matrix *matrix) {
    gsw_stencil near;
    gsw_stencil_near(matrix, &near, NULL);
    return near;
}

/* Whether sweeps cost more than they save. A sweep of couplings that reach 20 points along y took
 * twice the time a point, and of those that join both ends of a periodic axis of 200 points 50
 * times. Along x any reach is cheap. Jacobi takes 2.3 times the iterations, of half the cost. */
static int sweeps_are_dear(const gsw_matrix *matrix) {
    enum { CHEAP_REACH = 8 };
    const gsw_stencil near = near_of(matrix), *stencil = &near;
    for (int32_t e = 0; e < stencil->count; e++)
        if (abs(stencil->offsets[e].dy) > CHEAP_REACH || abs(stencil->offsets[e].dz) > CHEAP_REACH)
            return 1;
    return 0;
}

/* Whether the factors of several processes overlap. */
static int overlaps(const search *s) {
    return s->factor.overlap > 0 && gsw_partition_of(s->matrix) != NULL;
}

/* A reason for the factor that holds before anything is tried; else MULTIGRID. */
static gsw_reason first_sight(search *s, int64_t points, const gsw_survey *survey) {
    if (overlaps(s)) {
        (void)snprintf(s->no_multigrid, sizeof s->no_multigrid,
                       "overlaps are for factors, and make them unsymmetric");
        return GSW_REASON_REFUSED;
    }
    if (survey->bad_row >= 0)
        return GSW_REASON_DIAGONAL;
    const gsw_stencil near = near_of(s->matrix);
    if (gsw_stencil_beyond(&near, GSW_LUMPED_RADIUS) != NULL)
        return GSW_REASON_REACH;
    if (points < POINTS_LEAST)
        return GSW_REASON_POINTS;
    if (s->choice->symmetric == 1 && s->choice->diagonal == 2)
        return GSW_REASON_INDEFINITE;
    if (survey->same_sign > SAME_SIGN * survey->off_diagonal)
        return GSW_REASON_SIGNS;
    return GSW_REASON_MULTIGRID;
}

/* Whether x'Ax has the other sign than the diagonal. */
static int is_indefinite(const gsw_choice *choice, double energy) {
    return choice->method == GSW_CG && (choice->diagonal == 0 ? energy > 0 : energy < 0);
}

/* Whether factors and cycles are dear beside CG with Jacobi: couplings reach past neighbours. */
static int favours_jacobi(const search *s) {
    const gsw_stencil near = near_of(s->matrix);
    return s->choice->method == GSW_CG && gsw_stencil_beyond(&near, 1) != NULL;
}

static int has_many_offsets(const gsw_matrix *matrix) {
    return near_of(matrix).count > OFFSETS_FEW;
}

/* Cycles work line by line. With nx = 2 to 316 points along x one took the time of 1.5 (1 + 32 /
 * nx) iterations with IC(0) on the CPU. On longer lines than 20 points the limits are as they
 * were measured there. */
double gsw_choice_thinness(const gsw_context *context, const gsw_grid *grid) {
    enum { LONG = 21 };
    const int64_t nx = grid->nx > 1 ? grid->nx : grid->ny > 1 ? grid->ny : grid->nz;
    return context->backend != GSW_BACKEND_CPU || nx >= LONG ? 1 : (1 + 32 / (double)nx) / 2;
}

double gsw_choice_cycle_price(const gsw_context *context, const gsw_matrix *matrix) {
    return (has_many_offsets(matrix) ? CYCLE_MANY : CYCLE_FEW) *
           gsw_choice_thinness(context, &matrix->grid);
}

static double worth(const search *s) {
    return (has_many_offsets(s->matrix) ? WORTH_MANY : WORTH_FEW) *
           gsw_choice_thinness(s->context, &s->matrix->grid);
}

/* A lower bound of the iterations with IC(0), from the mean of row sum over diagonal. For the
 * scaled matrix this mean is x'Ax / x'x of a constant x, which is no less than the least
 * eigenvalue. In an M-matrix the largest eigenvalue is at most 2. NaN where elimination may do far
 * better: then trial steps decide. */
static double iterations_at_least(const gsw_choice *choice, const gsw_survey *survey) {
    const double *axis = survey->coupling;
    const double sum = axis[0] + axis[1] + axis[2];
    const double least = 1 + 2 * survey->same_sign - survey->off_diagonal;
    if (choice->symmetric != 1 || !(survey->strongest <= ONE_AXIS * sum) || !(least >= -1e-10))
        return NAN;
    return gsw_probe_iterations(1 - fmax(least, 0) / 2) / JACOBI_ITERATIONS;
}

/* By how much the diagonal dominates in each row at the least, as a part of it. */
static double dominance(const gsw_survey *survey) {
    return fmax(2 - survey->row_ratio, 0);
}

/* Whether CG takes less time with Jacobi than with IC(0), as for time steps: on a CPU an iteration
 * costs 0.36 to 0.41 of one with IC(0). Where the diagonal dominates and no axis prevails, Jacobi
 * takes 1.2 to 2 times the iterations (perf/DECISIONS.md, Jacobi for time steps). */
static int prefers_jacobi(const search *s, const gsw_survey *survey) {
    const double *axis = survey->coupling, sum = axis[0] + axis[1] + axis[2];
    const double most = fmax(axis[0], fmax(axis[1], axis[2]));
    return s->context->backend == GSW_BACKEND_CPU && s->choice->method == GSW_CG &&
           s->choice->kind == GSW_IC0 && s->choice->m_matrix == 1 &&
           dominance(survey) >= DOMINANT && most <= EVEN_AXES * sum &&
           survey->largest <= EVEN_ROWS * survey->least;
}

/* An upper bound of the iterations with Jacobi: the discs of the scaled matrix (Gershgorin). */
static double jacobi_at_most(const gsw_survey *survey) {
    const double least = dominance(survey);
    return gsw_probe_iterations(1 - least / (2 - least));
}

static void take_jacobi(search *s, double iterations, gsw_reason *reason) {
    gsw_candidate_drop(&s->best);
    s->choice->kind = GSW_JACOBI;
    s->choice->estimate = iterations;
    *reason = GSW_REASON_FEW;
}

/* Tries steps with the factor. */
static gsw_status try_steps(search *s, gsw_probe *probe, const gsw_survey *survey,
                            gsw_reason *reason) {
    gsw_choice *c = s->choice;
    double left = 1, energy;
    const gsw_status status = take_factor(s);
    if (gsw_is_answer(status))
        return GSW_SUCCESS; /* there is no factor: only multigrid is left */
    if (status != GSW_SUCCESS)
        return status;
    for (int step = 0; step < STEPS; step++) {
        GSW_TRY(gsw_probe_step(probe, s->best.inner, &left, &energy));
        s->indefinite |= is_indefinite(c, energy);
    }
    c->estimate = gsw_probe_iterations(left);
    if (s->indefinite || !(c->estimate <= worth(s)))
        return GSW_SUCCESS;
    *reason = GSW_REASON_FEW;
    if (prefers_jacobi(s, survey))
        take_jacobi(s, JACOBI_ITERATIONS * c->estimate, reason);
    return GSW_SUCCESS;
}

/* Where cycles gain little, a factor is better. Under CG two kinds are not. SSOR in place of IC(0)
 * took as many iterations as CG alone, of 4 times the time: multigrid saves many, although a cycle
 * enlarges some errors. And where couplings reach past neighbours, an iteration with a factor or a
 * cycle took the time of 4 to 6 with Jacobi. Of the Laplacian squared Jacobi took 0.3 of the time
 * of multigrid on smooth b, and at most 1.7 times on others. */
static gsw_status compare_with_factor(search *s, gsw_reason *reason) {
    if (favours_jacobi(s)) {
        gsw_candidate_drop(&s->best);
        s->choice->kind = GSW_JACOBI;
    } else if (s->no_factor[0] != '\0') {
        return GSW_SUCCESS; /* there is none to compare with */
    }
    const gsw_status status = take_factor(s);
    if (s->choice->kind != GSW_SSOR || s->choice->method != GSW_CG)
        *reason = GSW_REASON_CYCLE;
    else
        s->choice->estimate = INFINITY; /* 117 was that of 2213 iterations */
    return gsw_is_answer(status) ? GSW_SUCCESS : status;
}

/* Tries cycles on the error that the steps have left. */
static gsw_status try_cycles(search *s, gsw_probe *probe, const gsw_candidate *made, int levels,
                             gsw_reason *reason) {
    gsw_choice *c = s->choice;
    double energy;
    for (int cycle = 0; cycle < CYCLES && !(c->cycle_left <= GOOD_CYCLE); cycle++)
        GSW_TRY(gsw_probe_step(probe, made->inner, &c->cycle_left, &energy));
    GSW_TRY(gsw_probe_energy(probe, &energy));
    s->indefinite |= is_indefinite(c, energy);
    const double price = gsw_choice_cycle_price(s->context, s->matrix);
    const double cycles = gsw_probe_iterations(c->cycle_left);
    const double most = favours_jacobi(s) ? fmin(c->estimate, CYCLES_FAR) : c->estimate;
    if (levels < 2)
        *reason = GSW_REASON_POINTS;
    else if (s->indefinite)
        *reason = c->cycle_left <= FEW_NEGATIVE ? *reason : GSW_REASON_INDEFINITE;
    else if (!(price * cycles < most) && !isnan(most))
        return compare_with_factor(s, reason);
    return GSW_SUCCESS;
}

/* Tries a hierarchy, with cycles if there is a probe. */
static gsw_status try_multigrid(search *s, gsw_probe *probe, gsw_reason *reason) {
    gsw_multigrid_info info = {.size = sizeof info};
    gsw_candidate made;
    gsw_status status = gsw_candidate_multigrid(s->context, s->matrix, &s->hierarchy, s->known,
                                                s->no_multigrid, &made);
    if (gsw_is_answer(status)) {
        *reason = GSW_REASON_REFUSED;
        return GSW_SUCCESS;
    }
    if (status != GSW_SUCCESS)
        return status;
    GSW_TRY_GOTO(gsw_multigrid_get_info(made.multigrid, &info), cleanup);
    if (probe != NULL)
        GSW_TRY_GOTO(try_cycles(s, probe, &made, info.levels, reason), cleanup);
    else if (info.levels < 2)
        *reason = GSW_REASON_POINTS;
    if (*reason == GSW_REASON_MULTIGRID) {
        gsw_candidate_drop(&s->best);
        s->best = made;
        made = (gsw_candidate){NULL, NULL, NULL};
    }

cleanup:
    gsw_candidate_drop(&made);
    return status;
}

/* Cycles of an M-matrix that is well scaled or symmetric, and slow with a factor, are trusted
 * without a trial. If they are slow all the same, the solve will show it. A probe costs vectors, so
 * there is none where nothing is tried. */
static gsw_status probe_both(search *s, const gsw_survey *survey, gsw_reason *reason) {
    gsw_probe probe;
    gsw_status status;
    if (prefers_jacobi(s, survey) && jacobi_at_most(survey) <= JACOBI_ITERATIONS * worth(s)) {
        take_jacobi(s, jacobi_at_most(survey), reason);
        return GSW_SUCCESS;
    }
    s->choice->estimate = iterations_at_least(s->choice, survey);
    const int even = survey->largest <= EVEN_ROWS * survey->least;
    const int trusted =
        s->watched && s->choice->m_matrix == 1 && (s->choice->symmetric == 1 || even);
    const int far = s->choice->estimate > worth(s);
    if (far && trusted)
        return try_multigrid(s, NULL, reason);
    GSW_TRY(gsw_probe_open(s->context, s->matrix, s->choice->zero_sums, &probe));
    if (far)
        GSW_TRY_GOTO(gsw_probe_roughen(&probe), cleanup);
    else
        GSW_TRY_GOTO(try_steps(s, &probe, survey, reason), cleanup);
    if (*reason == GSW_REASON_MULTIGRID)
        GSW_TRY_GOTO(try_multigrid(s, trusted ? NULL : &probe, reason), cleanup);

cleanup:
    gsw_probe_close(&probe);
    return status;
}

/* Multigrid because there is no factor. */
static gsw_status take_multigrid(search *s, gsw_reason *reason) {
    const gsw_status status = gsw_candidate_multigrid(s->context, s->matrix, &s->hierarchy,
                                                      s->known, s->no_multigrid, &s->best);
    if (status == GSW_SUCCESS)
        *reason = GSW_REASON_MULTIGRID;
    return gsw_is_answer(status) ? GSW_ERROR_ZERO_PIVOT : status;
}

/* Fills s->best, and the choice's description of it. */
static gsw_status decide(search *s, int64_t points, const gsw_survey *survey) {
    gsw_reason reason = first_sight(s, points, survey);
    if (overlaps(s))
        s->choice->method = GSW_BICGSTAB;
    if (sweeps_are_dear(s->matrix) && survey->bad_row < 0)
        s->choice->kind = GSW_JACOBI;
    if (reason == GSW_REASON_MULTIGRID)
        GSW_TRY(probe_both(s, survey, &reason));
    if (s->indefinite && reason != GSW_REASON_MULTIGRID)
        reason = GSW_REASON_INDEFINITE;
    if (s->indefinite || reason == GSW_REASON_INDEFINITE)
        s->choice->method = reason == GSW_REASON_MULTIGRID ? GSW_GMRES : GSW_BICGSTAB;
    if (reason == GSW_REASON_INDEFINITE) {
        if (s->choice->kind != GSW_ILU0 && s->choice->kind != GSW_JACOBI)
            gsw_candidate_drop(&s->best);
        if (s->choice->kind != GSW_JACOBI)
            s->choice->kind = GSW_ILU0;
    }
    gsw_status status = reason == GSW_REASON_MULTIGRID ? GSW_SUCCESS : take_factor(s);
    if (status == GSW_ERROR_ZERO_PIVOT)
        status = take_multigrid(s, &reason);
    if (status == GSW_ERROR_ZERO_PIVOT && s->choice->kind == GSW_SSOR)
        status = take_factor(s);
    if (gsw_is_answer(status))
        return gsw_fail(s->context, status, "%s", s->no_factor);
    explain(s, reason);
    return status;
}

gsw_status gsw_choice_resolve(gsw_context *context, const gsw_choice_options *given,
                              gsw_multigrid_options *multigrid, gsw_factor_options *factor) {
    gsw_choice_options options;
    GSW_TRY(gsw_options_take(context, "gsw_choice_options", given, sizeof options, &options));
    *multigrid = (gsw_multigrid_options){.size = sizeof *multigrid, .cycle_type = GSW_F32};
    *factor = (gsw_factor_options){.size = sizeof *factor};
    if (options.multigrid != NULL)
        GSW_TRY(gsw_options_take(context, "gsw_multigrid_options", options.multigrid,
                                 sizeof *multigrid, multigrid));
    return options.factor == NULL ? GSW_SUCCESS
                                  : gsw_options_take(context, "gsw_factor_options", options.factor,
                                                     sizeof *factor, factor);
}

gsw_status gsw_choice_make(gsw_context *context, const gsw_matrix *matrix,
                           const gsw_multigrid_options *multigrid, const gsw_factor_options *factor,
                           int watched, gsw_box_rows *known, gsw_choice *choice,
                           gsw_candidate *best) {
    search s = {.context = context,
                .matrix = matrix,
                .hierarchy = *multigrid,
                .factor = *factor,
                .choice = choice,
                .known = known,
                .watched = watched};
    gsw_status status;
    int64_t points = 0;
    *choice = (gsw_choice){.size = sizeof *choice};
    GSW_TRY(check(context, matrix, choice, &points));
    GSW_TRY(look(context, matrix, points, known, choice));
    status = decide(&s, points, &known->survey);
    if (status != GSW_SUCCESS)
        gsw_candidate_drop(&s.best);
    choice->multigrid = s.best.multigrid;
    choice->factor = s.best.factor;
    *best = s.best;
    return status;
}

gsw_status gsw_choose(gsw_context *context, const gsw_matrix *matrix,
                      const gsw_choice_options *options, gsw_preconditioner **preconditioner,
                      gsw_choice *choice) {
    gsw_multigrid_options multigrid;
    gsw_factor_options factor;
    gsw_choice made;
    gsw_candidate best;
    gsw_box_rows rows = {.is_surveyed = 0};
    GSW_REQUIRE(context, context != NULL, "context is NULL");
    GSW_REQUIRE(context, preconditioner != NULL, "preconditioner is NULL");
    *preconditioner = NULL;
    GSW_REQUIRE(context, matrix != NULL, "matrix is NULL");
    GSW_TRY(gsw_result_check(context, "gsw_choice", choice));
    GSW_TRY(gsw_choice_resolve(context, options, &multigrid, &factor));
    const gsw_status status =
        gsw_choice_make(context, matrix, &multigrid, &factor, 0, &rows, &made, &best);
    gsw_box_rows_release(context, &rows);
    GSW_TRY(status);
    *preconditioner = gsw_candidate_give(&best);
    gsw_result_give(choice, &made, sizeof made);
    return GSW_SUCCESS;
}

gsw_status gsw_choice_method(gsw_context *context, const gsw_matrix *matrix, gsw_box_rows *known,
                             gsw_choice *choice) {
    gsw_choice made = {.size = sizeof made};
    search s = {.context = context, .matrix = matrix, .choice = &made};
    int64_t points = 0;
    GSW_REQUIRE(context, context != NULL, "context is NULL");
    GSW_REQUIRE(context, choice != NULL, "choice is NULL");
    GSW_TRY(check(context, matrix, choice, &points));
    GSW_TRY(look(context, matrix, points, known, &made));
    explain(&s, GSW_REASON_METHOD_ONLY);
    gsw_result_give(choice, &made, sizeof made);
    return GSW_SUCCESS;
}

gsw_status gsw_choose_method(gsw_context *context, const gsw_matrix *matrix, gsw_choice *choice) {
    gsw_box_rows rows = {.is_surveyed = 0};
    const gsw_status status = gsw_choice_method(context, matrix, &rows, choice);
    if (context != NULL)
        gsw_box_rows_release(context, &rows);
    return status;
}
