/* krylov_passes.h: what CG and BiCGSTAB do to vectors and scalars between products with the matrix
 * and solves with the preconditioner, once for host and device alike.
 *
 * The scalars of a method are in a gsw_krylov_state, in the same memory as its vectors. The method
 * can continue without the host reading them. The method queues passes. A pass
 *   1. updates vectors, y = a x + b y, one update after the other, with coefficients of the state,
 *   2. takes dot products of what it then finds, and
 *   3. does its step: computes the next coefficients from the sums, and checks them.
 * It reads each of its vectors from memory once and writes those that it updates once. A pass
 * without products has no step.
 *
 * The step that finds a method at its end writes the reason into `ended`. After that, passes do not
 * change vectors or state. So x is the iterate at which the method has ended, however many passes
 * the host has queued before it reads the state. */
#ifndef GSW_KRYLOV_PASSES_H
#define GSW_KRYLOV_PASSES_H

#include <math.h>
#include <stdint.h>
#include <string.h>
#include "common/host_device.h"
#include "common/threefold.h"

/* Factors of updates. Both signs have entries, because x and r take the same step in opposite
 * directions. */
typedef enum gsw_coefficient {
    GSW_ONE,
    GSW_ALPHA,
    GSW_MINUS_ALPHA,
    GSW_BETA,
    GSW_OMEGA,
    GSW_MINUS_OMEGA,
    GSW_NARROW, /* powers of two: the first turns an fp64 vector into an fp32 one, */
    GSW_WIDEN,  /* and the second turns the preconditioned fp32 vector back */
    GSW_ZERO,
    GSW_COEFFICIENTS
} gsw_coefficient;

/* Why a method has ended. */
typedef enum gsw_krylov_end {
    GSW_END_NOT = 0,
    GSW_END_CONVERGED,
    GSW_END_LIMIT,      /* of the iterations */
    GSW_END_KEEP,       /* for a moment: the host is to copy x before the norm grows further */
    GSW_END_LOOK,       /* the same, for a look at the size of x */
    GSW_END_SLOW,       /* on the host: the preconditioner is to change its smoother */
    GSW_END_GROWN,      /* the residual norm is beyond `limit` */
    GSW_END_NORM,       /* the residual norm is not finite */
    GSW_END_NON_FINITE, /* `scalar` is not finite */
    GSW_END_BREAKDOWN   /* `scalar` makes the next step impossible */
} gsw_krylov_end;

/* The scalars that can end a method. */
typedef enum gsw_krylov_scalar {
    GSW_SCALAR_RZ,
    GSW_SCALAR_PW,
    GSW_SCALAR_RZ_PW, /* CG's alpha */
    GSW_SCALAR_RHO,
    GSW_SCALAR_V_SHADOW,
    GSW_SCALAR_ALPHA,
    GSW_SCALAR_TT,
    GSW_SCALAR_OMEGA,
    GSW_KRYLOV_SCALARS
} gsw_krylov_scalar;

enum { GSW_PASS_PRODUCTS = 3 }; /* most products of a pass */

typedef struct gsw_krylov_state {
    double tolerance; /* the two that the driver sets */
    int64_t max_iterations;
    int64_t iterations; /* complete ones: those whose norm has been checked */
    double norm;        /* the last one that was checked */
    double limit;       /* of the norms, from the first one; 0 before it */
    double least;       /* the least norm; 0 before the first */
    int32_t kept;       /* x has been copied since */
    int32_t looked;     /* the host has looked at x after this iteration */
    double coefficient[GSW_COEFFICIENTS];
    double rz, pw; /* CG: r'M^-1 r and p'Ap; 0 before the first */
    double rho;    /* BiCGSTAB: the residual's product with the shadow */
    double shadow; /* the shadow's norm */
    gsw_krylov_end ended;
    gsw_krylov_scalar scalar; /* that has ended it, */
    double offender;          /* and its value */
    int32_t deferred; /* a pass leaves its products in `exact` and does no step: the host adds those
                         of other processes first, and then does the step */
    double sums[GSW_PASS_PRODUCTS];         /* the products of the last pass, rounded, */
    gsw_threefold exact[GSW_PASS_PRODUCTS]; /* and as the backend has added them: where it carries
                                               more than one word, rounding does not depend on how
                                               a vector is cut */
} gsw_krylov_state;

/* The state before the first norm is checked. That check completes iteration `iterations`: 0, or
 * the last one if a method begins again from its x. */
GSW_HD gsw_krylov_state gsw_krylov_begin(double tolerance, int64_t iterations,
                                         int64_t max_iterations, int32_t deferred) {
    gsw_krylov_state s;
    memset(&s, 0, sizeof s);
    s.tolerance = tolerance;
    s.max_iterations = max_iterations;
    s.iterations = iterations - 1;
    s.deferred = deferred;
    s.coefficient[GSW_ONE] = s.coefficient[GSW_NARROW] = s.coefficient[GSW_WIDEN] = 1;
    return s;
}

/* ---- The passes ---- */

typedef enum gsw_pass {
    GSW_CG_NORM,        /* r:            r'r */
    GSW_CG_RZ,          /* r, z:         r'z */
    GSW_CG_NORM_RZ,     /* r, z:         z'z, r'z */
    GSW_CG_DIRECTION,   /* p, z:         p = z + beta p */
    GSW_CG_PW,          /* p, w:         p'w */
    GSW_CG_UPDATE,      /* x, p, r, w:   x += alpha p, r -= alpha w */
    GSW_CG_UPDATE_NORM, /* the same, then r'r */

    /* Without a preconditioner r'r is r'z as well. */
    GSW_CG_NORM_PLAIN,   /* as GSW_CG_NORM */
    GSW_CG_UPDATE_PLAIN, /* as GSW_CG_UPDATE_NORM */

    /* With a preconditioner that works in fp32, on vectors r_ and z_ of its own. */
    GSW_CG_NARROW,          /* r, r_:          r_ = narrow r */
    GSW_CG_RZ_WIDEN,        /* r, z_:          r'(widen z_) */
    GSW_CG_DIRECTION_WIDEN, /* p, z_:          p = widen z_ + beta p */
    GSW_CG_UPDATE_NARROW,   /* x, p, r, w, r_: x += alpha p, r -= alpha w, r_ = narrow r, r'r */

    GSW_BICGSTAB_START,     /* r, shadow:             r'r, r'shadow, shadow'shadow */
    GSW_BICGSTAB_ALPHA,     /* v, shadow:             v'shadow */
    GSW_BICGSTAB_HALF,      /* r, v:                  r -= alpha v: from now on r holds s */
    GSW_BICGSTAB_OMEGA,     /* t, s:                  t's, t't, s's */
    GSW_BICGSTAB_UPDATE,    /* x, p, s, r, t, shadow: x += alpha p + omega s, r -= omega t;
                                                      r'r, r'shadow. s may be r */
    GSW_BICGSTAB_DIRECTION, /* p, v, r:               p = r + beta (p - omega v) */
    GSW_PASSES
} gsw_pass;

enum { GSW_PASS_VECTORS = 6, GSW_PASS_UPDATES = 3 };

/* What a pass consists of; `to`, `from`, `left` and `right` are places in its list of vectors.
 * Where b is 0, what `to` held before does not matter. Updates of the same vector are neighbours.
 * The last `narrow` vectors are fp32 ones: updates write them with b = GSW_ZERO or read them, and
 * products have them on the right. */
typedef struct gsw_pass_shape {
    int32_t vectors, narrow, updates, products;
    struct {
        int32_t to, from; /* to = a from + b to */
        int32_t a, b;     /* gsw_coefficient */
    } update[GSW_PASS_UPDATES];
    struct {
        int32_t left, right;
    } product[GSW_PASS_PRODUCTS];
} gsw_pass_shape;

#ifdef __cplusplus
inline constexpr
#else
static const
#endif
    gsw_pass_shape gsw_pass_shapes[GSW_PASSES] = {
        /* GSW_CG_NORM */
        {1, 0, 0, 1, {{0, 0, 0, 0}}, {{0, 0}}},
        /* GSW_CG_RZ */
        {2, 0, 0, 1, {{0, 0, 0, 0}}, {{0, 1}}},
        /* GSW_CG_NORM_RZ */
        {2, 0, 0, 2, {{0, 0, 0, 0}}, {{1, 1}, {0, 1}}},
        /* GSW_CG_DIRECTION */
        {2, 0, 1, 0, {{0, 1, GSW_ONE, GSW_BETA}}, {{0, 0}}},
        /* GSW_CG_PW */
        {2, 0, 0, 1, {{0, 0, 0, 0}}, {{0, 1}}},
        /* GSW_CG_UPDATE */
        {4, 0, 2, 0, {{0, 1, GSW_ALPHA, GSW_ONE}, {2, 3, GSW_MINUS_ALPHA, GSW_ONE}}, {{0, 0}}},
        /* GSW_CG_UPDATE_NORM */
        {4, 0, 2, 1, {{0, 1, GSW_ALPHA, GSW_ONE}, {2, 3, GSW_MINUS_ALPHA, GSW_ONE}}, {{2, 2}}},
        /* GSW_CG_NORM_PLAIN */
        {1, 0, 0, 1, {{0, 0, 0, 0}}, {{0, 0}}},
        /* GSW_CG_UPDATE_PLAIN */
        {4, 0, 2, 1, {{0, 1, GSW_ALPHA, GSW_ONE}, {2, 3, GSW_MINUS_ALPHA, GSW_ONE}}, {{2, 2}}},
        /* GSW_CG_NARROW */
        {2, 1, 1, 0, {{1, 0, GSW_NARROW, GSW_ZERO}}, {{0, 0}}},
        /* GSW_CG_RZ_WIDEN */
        {2, 1, 0, 1, {{0, 0, 0, 0}}, {{0, 1}}},
        /* GSW_CG_DIRECTION_WIDEN */
        {2, 1, 1, 0, {{0, 1, GSW_WIDEN, GSW_BETA}}, {{0, 0}}},
        /* GSW_CG_UPDATE_NARROW */
        {5,
         1,
         3,
         1,
         {{0, 1, GSW_ALPHA, GSW_ONE},
          {2, 3, GSW_MINUS_ALPHA, GSW_ONE},
          {4, 2, GSW_NARROW, GSW_ZERO}},
         {{2, 2}}},
        /* GSW_BICGSTAB_START */
        {2, 0, 0, 3, {{0, 0, 0, 0}}, {{0, 0}, {0, 1}, {1, 1}}},
        /* GSW_BICGSTAB_ALPHA */
        {2, 0, 0, 1, {{0, 0, 0, 0}}, {{0, 1}}},
        /* GSW_BICGSTAB_HALF */
        {2, 0, 1, 0, {{0, 1, GSW_MINUS_ALPHA, GSW_ONE}}, {{0, 0}}},
        /* GSW_BICGSTAB_OMEGA */
        {2, 0, 0, 3, {{0, 0, 0, 0}}, {{0, 1}, {0, 0}, {1, 1}}},
        /* GSW_BICGSTAB_UPDATE */
        {6,
         0,
         3,
         2,
         {{0, 1, GSW_ALPHA, GSW_ONE}, {0, 2, GSW_OMEGA, GSW_ONE}, {3, 4, GSW_MINUS_OMEGA, GSW_ONE}},
         {{3, 3}, {3, 5}}},
        /* GSW_BICGSTAB_DIRECTION */
        {3, 0, 2, 0, {{0, 1, GSW_MINUS_OMEGA, GSW_ONE}, {0, 2, GSW_ONE, GSW_BETA}}, {{0, 0}}},
};

/* ---- The steps ---- */

GSW_HD int gsw_is_finite(double value) {
    return value - value == 0; /* NaN for NaN and both infinities */
}

/* The largest norm from which a round with this first norm can still meet the tolerance: rounding
 * errors of eps times the largest norm stay in the residual. BiCGSTAB and CG reach peaks far above
 * the first norm and converge, so a factor alone says nothing. */
GSW_HD double gsw_krylov_limit(double first, double tolerance) {
    const double eps = 2.220446049250313e-16, least = 1e-8 * first;
    return (tolerance > least ? tolerance : least) / eps;
}

/* Whether and how a norm after so many iterations ends a method. */
GSW_HD gsw_krylov_end gsw_krylov_judge(double norm, double tolerance, double limit,
                                       int64_t iterations, int64_t max_iterations) {
    if (!gsw_is_finite(norm))
        return GSW_END_NORM;
    if (norm <= tolerance)
        return GSW_END_CONVERGED;
    if (norm > limit)
        return GSW_END_GROWN;
    return iterations >= max_iterations ? GSW_END_LIMIT : GSW_END_NOT;
}

/* Whether x is to be copied, because the norm has grown to 100 times its least value: the method
 * may never come back to it. *least and *kept are brought up to date. */
GSW_HD int gsw_krylov_should_keep(double norm, double *least, int32_t *kept) {
    if (*least == 0 || norm < *least) {
        *least = norm;
        *kept = 0;
    }
    if (*kept || norm <= 100 * *least)
        return 0;
    *kept = 1;
    return 1;
}

/* Whether the host is to look at the size of x: after 512 iterations, and each time that the number
 * has doubled. In a singular system x may grow while the residual stays as it is. */
GSW_HD int gsw_krylov_should_look(int64_t iterations) {
    return iterations >= 512 && (iterations & (iterations - 1)) == 0;
}

/* Completes an iteration. Returns whether the method goes on; the next two functions do so, too. */
GSW_HD int gsw_krylov_complete(gsw_krylov_state *s, double square) {
    s->iterations++;
    const int first = s->limit == 0; /* of the round: its x need not be copied */
    s->norm = sqrt(square);
    if (first)
        s->limit = gsw_krylov_limit(s->norm, s->tolerance);
    s->ended = gsw_krylov_judge(s->norm, s->tolerance, s->limit, s->iterations, s->max_iterations);
    if (s->ended == GSW_END_NOT && !first && gsw_krylov_should_keep(s->norm, &s->least, &s->kept))
        s->ended = GSW_END_KEEP;
    if (s->ended == GSW_END_NOT && !first && !s->looked && gsw_krylov_should_look(s->iterations))
        s->ended = GSW_END_LOOK;
    s->looked = s->ended == GSW_END_LOOK;
    return s->ended == GSW_END_NOT;
}

GSW_HD int gsw_krylov_end_with(gsw_krylov_state *s, gsw_krylov_end end, gsw_krylov_scalar scalar,
                               double value) {
    s->ended = end;
    s->scalar = scalar;
    s->offender = value;
    return 0;
}

/* Accepts a scalar that is finite and with which no step has become impossible. */
GSW_HD int gsw_krylov_accept(gsw_krylov_state *s, gsw_krylov_scalar scalar, double value,
                             int impossible) {
    if (!gsw_is_finite(value))
        return gsw_krylov_end_with(s, GSW_END_NON_FINITE, scalar, value);
    return impossible ? gsw_krylov_end_with(s, GSW_END_BREAKDOWN, scalar, value) : 1;
}

GSW_HD void gsw_krylov_set_alpha(gsw_krylov_state *s, double alpha) {
    s->coefficient[GSW_ALPHA] = alpha;
    s->coefficient[GSW_MINUS_ALPHA] = -alpha;
}

/* Definite matrices and preconditioners keep the sign of what CG divides by. */
GSW_HD int gsw_vanished_or_turned(double now, double before) {
    return now == 0 || (before != 0 && (now > 0) != (before > 0));
}

/* The power of two that brings a vector of that norm near length 1, if there is one. The largest of
 * its n entries is then between 1 / sqrt(n) and 2, far from the ends of fp32's range. */
GSW_HD double gsw_krylov_narrowing(double norm) {
    const int exponent = norm > 0 ? -ilogb(norm) : 0;
    return ldexp(1.0, exponent > 1000 ? 1000 : exponent);
}

GSW_HD void gsw_cg_find_beta(gsw_krylov_state *s, double rz) {
    const double before = s->rz;
    s->rz = rz;
    if (gsw_krylov_accept(s, GSW_SCALAR_RZ, rz, gsw_vanished_or_turned(rz, before)))
        s->coefficient[GSW_BETA] = before != 0 ? rz / before : 0; /* 0: the first direction */
}

GSW_HD void gsw_cg_find_alpha(gsw_krylov_state *s, double pw) {
    const double before = s->pw;
    s->pw = pw;
    if (gsw_krylov_accept(s, GSW_SCALAR_PW, pw, gsw_vanished_or_turned(pw, before)) &&
        gsw_krylov_accept(s, GSW_SCALAR_RZ_PW, s->rz / pw, 0))
        gsw_krylov_set_alpha(s, s->rz / pw);
}

GSW_HD void gsw_bicgstab_find_alpha(gsw_krylov_state *s, double v_shadow) {
    if (gsw_krylov_accept(s, GSW_SCALAR_V_SHADOW, v_shadow, v_shadow == 0) &&
        gsw_krylov_accept(s, GSW_SCALAR_ALPHA, s->rho / v_shadow, 0))
        gsw_krylov_set_alpha(s, s->rho / v_shadow);
}

/* A product of vectors of BiCGSTAB that is smaller than this share of their lengths makes the next
 * iterations rounding errors. */
#define GSW_BICGSTAB_SMALL 1e-12

/* omega = t's / t't, the factor that makes s - omega t shortest. t = 0 is allowed where s is 0. */
GSW_HD void gsw_bicgstab_find_omega(gsw_krylov_state *s, double ts, double tt, double ss) {
    const int small = fabs(ts) <= GSW_BICGSTAB_SMALL * sqrt(tt) * sqrt(ss);
    const double omega = tt > 0 && !small ? ts / tt : 0;
    if (gsw_krylov_accept(s, GSW_SCALAR_TT, tt, tt == 0 && ss != 0) &&
        gsw_krylov_accept(s, GSW_SCALAR_OMEGA, omega, 0)) {
        s->coefficient[GSW_OMEGA] = omega;
        s->coefficient[GSW_MINUS_OMEGA] = -omega;
    }
}

GSW_HD int gsw_bicgstab_accept_rho(gsw_krylov_state *s, double rho) {
    s->rho = rho;
    return gsw_krylov_accept(s, GSW_SCALAR_RHO, rho,
                             fabs(rho) <= GSW_BICGSTAB_SMALL * s->norm * s->shadow);
}

GSW_HD void gsw_bicgstab_find_beta(gsw_krylov_state *s, double rho) {
    const double alpha = s->coefficient[GSW_ALPHA], omega = s->coefficient[GSW_OMEGA];
    const double before = s->rho;
    if (gsw_krylov_accept(s, GSW_SCALAR_OMEGA, omega, omega == 0) &&
        gsw_bicgstab_accept_rho(s, rho))
        s->coefficient[GSW_BETA] = (rho / before) * (alpha / omega);
}

/* The step of a pass, from its dot products over all points. */
GSW_HD void gsw_krylov_step(gsw_krylov_state *s, gsw_pass pass, const double *sum) {
    if (s->ended != GSW_END_NOT)
        return;
    switch (pass) {
    case GSW_CG_UPDATE_NORM:
        (void)gsw_krylov_complete(s, sum[0]);
        break;
    case GSW_CG_NORM: /* the residual becomes fp32 after this, if at all */
        if (gsw_krylov_complete(s, sum[0])) {
            s->coefficient[GSW_NARROW] = gsw_krylov_narrowing(s->norm);
            s->coefficient[GSW_WIDEN] = 1 / s->coefficient[GSW_NARROW];
        }
        break;
    case GSW_CG_UPDATE_NARROW: /* it has, by the power of two that was known then */
        if (gsw_krylov_complete(s, sum[0])) {
            s->coefficient[GSW_WIDEN] = 1 / s->coefficient[GSW_NARROW];
            s->coefficient[GSW_NARROW] = gsw_krylov_narrowing(s->norm);
        }
        break;
    case GSW_CG_RZ:
        gsw_cg_find_beta(s, sum[0]);
        break;
    case GSW_CG_RZ_WIDEN:
        gsw_cg_find_beta(s, s->coefficient[GSW_WIDEN] * sum[0]);
        break;
    case GSW_CG_NORM_RZ:
        if (gsw_krylov_complete(s, sum[0]))
            gsw_cg_find_beta(s, sum[1]);
        break;
    case GSW_CG_NORM_PLAIN:
    case GSW_CG_UPDATE_PLAIN:
        if (gsw_krylov_complete(s, sum[0]))
            gsw_cg_find_beta(s, sum[0]);
        break;
    case GSW_CG_PW:
        gsw_cg_find_alpha(s, sum[0]);
        break;
    case GSW_BICGSTAB_START:
        s->shadow = sqrt(sum[2]);
        if (gsw_krylov_complete(s, sum[0]))
            (void)gsw_bicgstab_accept_rho(s, sum[1]);
        break;
    case GSW_BICGSTAB_ALPHA:
        gsw_bicgstab_find_alpha(s, sum[0]);
        break;
    case GSW_BICGSTAB_OMEGA:
        gsw_bicgstab_find_omega(s, sum[0], sum[1], sum[2]);
        break;
    case GSW_BICGSTAB_UPDATE:
        if (gsw_krylov_complete(s, sum[0]))
            gsw_bicgstab_find_beta(s, sum[1]);
        break;
    case GSW_CG_DIRECTION:
    case GSW_CG_DIRECTION_WIDEN:
    case GSW_CG_NARROW:
    case GSW_CG_UPDATE:
    case GSW_BICGSTAB_HALF:
    case GSW_BICGSTAB_DIRECTION:
    case GSW_PASSES:
        break;
    }
}

/* Takes back that `pass` has ended the method: its norm is not small enough by this tolerance, or x
 * has been copied. */
GSW_HD void gsw_krylov_resume(gsw_krylov_state *s, gsw_pass pass, double tolerance) {
    s->ended = GSW_END_NOT;
    s->tolerance = tolerance;
    s->iterations--; /* the step completes it again */
    gsw_krylov_step(s, pass, s->sums);
}

/* What ends a pass: its step, or `count` sums for a step that is deferred. */
GSW_HD void gsw_krylov_end_pass(gsw_krylov_state *s, gsw_pass pass, const gsw_threefold *sum,
                                int count) {
    for (int d = 0; d < count; d++) {
        s->exact[d] = sum[d];
        s->sums[d] = gsw_threefold_round(&sum[d]);
    }
    if (!s->deferred)
        gsw_krylov_step(s, pass, s->sums);
}

/* ---- Signs at random ---- */

/* Whether place i of a vector changes its sign: a bit of a hash (the finaliser of splitmix64), the
 * same on every backend. The signs of neighbours along any axis of a grid are nearly independent.
 */
GSW_HD int gsw_changes_sign(int64_t i) {
    uint64_t h = ((uint64_t)i + 1) * 0x9E3779B97F4A7C15U;
    h = (h ^ (h >> 30)) * 0xBF58476D1CE4E5B9U;
    h = (h ^ (h >> 27)) * 0x94D049BB133111EBU;
    return (int)((h ^ (h >> 31)) & 1);
}

#endif
