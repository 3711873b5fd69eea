/* line_recurrence.cuh: the recurrence along a line within one subtask, which a warp solves: lane i
 * has row i. */
#ifndef GSW_CUDA_LINE_RECURRENCE_CUH
#define GSW_CUDA_LINE_RECURRENCE_CUH

#include "line_solve.cuh"

namespace {

/* Solves x[i] = c[i] - near[i] x[i-1] - next[i] x[i-2] for `rows` rows. Lane i brings and takes row
 * i; `before` and `before2` are x[-1] and x[-2]. `scratch` holds 96 values. All lanes compute the
 * whole recurrence, so that only multiply-adds are between successive rows. */
template <typename Real> struct alignas(2 * sizeof(Real)) row_pair { Real c, near; };

template <typename Real, bool TWO>
__device__ __forceinline__ Real recur(Real *scratch, int32_t rows, Real c, Real near, Real next,
                                      Real before, Real before2) {
    const int32_t lane = threadIdx.x & 31;
    row_pair<Real> *pairs = (row_pair<Real> *)scratch;
    pairs[lane] = row_pair<Real>{c, near};
    if (TWO)
        scratch[64 + lane] = next;
    __syncwarp();
    Real mine = c;
#pragma unroll 8
    for (int32_t i = 0; i < rows; i++) {
        const row_pair<Real> row = pairs[i];
        Real x = row.c;
        if (TWO)
            x = multiply_add(-scratch[64 + i], before2, x);
        x = multiply_add(-row.near, before, x);
        before2 = before;
        before = x;
        if (i == lane)
            mine = x;
    }
    return mine;
}

/* The same for one term per row by recursive doubling, without a value before row 0: five steps
 * instead of 32. Factors that do not depend on c are computed beforehand. |near| <= 1, so products
 * of many factors stay in range. */
template <typename Real> struct doubling {
    Real step[5]; /* factors of the values 1, 2, 4, 8, 16 rows before; 0 before row 0 */
};

template <typename Real> __device__ __forceinline__ doubling<Real> prepare_doubling(Real near) {
    const int32_t lane = threadIdx.x & 31;
    doubling<Real> d;
    Real product = lane > 0 ? -near : (Real)0;
#pragma unroll
    for (int k = 0; k < 5; k++) {
        d.step[k] = product;
        product *= __shfl_up_sync(FULL_WARP, product, 1 << k);
        if (lane < 2 << k)
            product = 0;
    }
    return d;
}

template <typename Real>
__device__ __forceinline__ Real run_doubling(const doubling<Real> &d, Real c) {
#pragma unroll
    for (int k = 0; k < 5; k++)
        c = multiply_add(d.step[k], __shfl_up_sync(FULL_WARP, c, 1 << k), c);
    return c;
}

/* Solves rows one after the other, with divisions and with any terms in the own line. This serves
 * diagonals without a good reciprocal, and missing couplings. */
template <typename Real, int TERMS>
__device__ Real solve_one_by_one(const line_plan &plan, Real *ring, int32_t ring_mask, int32_t x0,
                                 int32_t rows, Real c, const Real (&a)[TERMS], uint32_t have) {
    const int32_t lane = threadIdx.x & 31;
    for (int32_t i = 0; i < rows; i++) {
        if (lane == i) {
#pragma unroll
            for (int j = TERMS - 1; j > 0; j--)
                if (j <= plan.own && (have >> j & 1))
                    c = multiply_add(-a[j], ring[(x0 + i + plan.term[j].x) & ring_mask], c);
            if (!plan.unit)
                c /= a[0];
            ring[(x0 + i) & ring_mask] = c;
        }
        __syncwarp();
    }
    return c;
}

/* Diagonals between these have a reciprocal in full precision. */
#define SAFE_SMALL 1e-18
#define SAFE_LARGE 1e18

/* Ways to solve the recurrence along a line. */
enum along {
    ALONG_NONE,      /* rows of the line do not depend on each other */
    ALONG_DOUBLING,  /* one term per row, not larger than the diagonal */
    ALONG_ONE,       /* one term per row */
    ALONG_TWO,       /* two terms per row */
    ALONG_ONE_BY_ONE /* diagonals without a good reciprocal, missing couplings, any other terms */
};

/* Chooses the same way for all lanes. */
template <typename Real, int TERMS>
__device__ __forceinline__ along choose_along(const line_plan &plan, int32_t x, bool valid,
                                              const Real (&a)[TERMS], uint32_t have) {
    const double diagonal = plan.unit ? 1 : fabs((double)a[0]);
    bool plain = plan.unit || ((have & 1) && diagonal > SAFE_SMALL && diagonal < SAFE_LARGE);
    bool small = true;
    if (plan.own > 0) {
        plain = plain && plan.own <= 2 && plan.term[1].x == -1 && ((have >> 1 & 1) || x < 1);
        small = fabs((double)a[1]) <= diagonal;
    }
    if (plan.own > 1)
        plain = plain && plan.term[2].x == -2 && ((have >> 2 & 1) || x < 2);
    if (!__all_sync(FULL_WARP, plain || !valid))
        return ALONG_ONE_BY_ONE;
    if (plan.own == 0)
        return ALONG_NONE;
    if (plan.own == 2)
        return ALONG_TWO;
    return __all_sync(FULL_WARP, small || !valid) ? ALONG_DOUBLING : ALONG_ONE;
}

/* Solves a subtask whose terms of other lines have been added to c. `doubled` is prepared where the
 * way is ALONG_DOUBLING; then the value before row 0 has been added too. */
template <typename Real, int TERMS>
__device__ __forceinline__ Real solve_along(const line_plan &plan, along way,
                                            const doubling<Real> &doubled, Real *ring,
                                            int32_t ring_mask, int32_t x0, int32_t rows,
                                            Real *scratch, Real c, Real near, Real next,
                                            const Real (&a)[TERMS], uint32_t have) {
    const int32_t lane = threadIdx.x & 31;
    bool solved = way == ALONG_NONE;
    if (way == ALONG_DOUBLING) {
        const Real x = run_doubling<Real>(doubled, c);
        /* Doubling may multiply zero by infinity: then the plain recurrence decides. */
        solved = __all_sync(FULL_WARP, isfinite(x));
        if (solved)
            c = x;
    }
    if (way == ALONG_ONE_BY_ONE) {
        c = solve_one_by_one<Real, TERMS>(plan, ring, ring_mask, x0, rows, c, a, have);
    } else if (!solved) {
        const bool folded = way == ALONG_DOUBLING;
        const Real before = x0 > 0 && !folded ? ring[(x0 - 1) & ring_mask] : (Real)0;
        if (way != ALONG_TWO)
            c = recur<Real, false>(scratch, rows, c, folded && lane == 0 ? (Real)0 : near, (Real)0,
                                   before, (Real)0);
        else
            c = recur<Real, true>(scratch, rows, c, near, next, before,
                                  x0 > 1 ? ring[(x0 - 2) & ring_mask] : (Real)0);
    }
    return c;
}

} // namespace

#endif
