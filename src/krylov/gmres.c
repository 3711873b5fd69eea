/* gmres.c: restarted GMRES. Saad and Schultz (1986); Saad, Iterative Methods for Sparse Linear
 * Systems, 2nd ed., sections 6.5 and 9.3. Classical Gram-Schmidt without refinement orthogonalises
 * the basis. Givens rotations keep the projected matrix triangular, so the residual's norm is known
 * in every step. In each step the host waits once, for the coefficients and the length of the new
 * basis vector. All other work on vectors is queued. */
#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "contract/allocate.h"
#include "krylov_method.h"
#include "core/reserve.h"

/* Below this length relative to its coefficients, the next basis vector counts as zero. */
#define HAPPY_BREAKDOWN 1e-30

typedef struct gmres {
    int64_t restart;
    double *coefficients;  /* of the newest basis vector: restart + 1, in the backend's memory */
    double *columns;       /* column k of the triangular matrix starts at k * (restart + 1) */
    double *cosine, *sine; /* the rotation of each step */
    double *right_hand;    /* of the projected system, rotated as well */
    double *solution;      /* of the projected system */
    double terms;          /* of the first product; negative before it */
} gmres;

static double *basis(const gsw_krylov_run *run, int64_t k) {
    return gsw_krylov_vector(run, k);
}

/* The vector after the basis of restart + 1. */
static double *scratch(const gsw_krylov_run *run, const gmres *m) {
    return gsw_krylov_vector(run, m->restart + 1);
}

static gsw_status allocate(gsw_krylov_run *run, gmres *m) {
    size_t rows = (size_t)m->restart + 1;
    size_t size = SIZE_MAX; /* where the product overflows, it stays so and is refused below */
    (void)gsw_mul_size(rows, rows + 4, &size);
    void *memory;
    GSW_TRY(
        gsw_alloc(run->context, size, sizeof(double), "the projected matrix of GMRES", &memory));
    m->columns = memory;
    m->cosine = m->columns + rows * rows;
    m->sine = m->cosine + rows;
    m->right_hand = m->sine + rows;
    m->solution = m->right_hand + rows;
    GSW_TRY(run->context->ops->memory->reserve(run->context, rows * sizeof(double), &memory));
    m->coefficients = memory;
    return GSW_SUCCESS;
}

static void release(gsw_krylov_run *run, gmres *m) {
    gsw_unreserve(run->context, m->coefficients);
    free(m->columns);
}

/* Makes w = v_k+1 orthogonal to v_0 .. v_k; the coefficients and the length go into `column`. */
static gsw_status orthogonalise(gsw_krylov_run *run, const gmres *m, int64_t k, double *column) {
    const gsw_backend_ops *ops = run->context->ops;
    const int64_t count = k + 1;
    double *w = basis(run, k + 1), *c = m->coefficients;
    GSW_TRY(gsw_krylov_products(run, count, basis(run, 0), w, c));
    GSW_TRY(gsw_krylov_subtract(run, count, c, basis(run, 0), w, c + count));
    GSW_TRY(ops->memory->download(run->context, column, c, (size_t)(count + 1) * sizeof *c));
    for (int64_t j = 0; j <= k; j++)
        GSW_TRY(gsw_krylov_finite(run, "a coefficient of the basis", column[j]));
    column[k + 1] = sqrt(column[k + 1]);
    return gsw_krylov_finite(run, "the length of a basis vector", column[k + 1]);
}

/* Applies the earlier rotations to column k of the projected matrix. */
static void rotate_column(const gmres *m, int64_t k, double *column) {
    for (int64_t j = 0; j < k; j++) {
        double above = column[j], below = column[j + 1];
        column[j] = m->cosine[j] * above + m->sine[j] * below;
        column[j + 1] = m->cosine[j] * below - m->sine[j] * above;
    }
}

/* Computes the rotation that removes the entry below the diagonal of column k, and applies it. */
static void add_rotation(gmres *m, int64_t k, double *column) {
    double length = hypot(column[k], column[k + 1]);
    m->cosine[k] = column[k] / length;
    m->sine[k] = column[k + 1] / length;
    column[k] = length;
    m->right_hand[k + 1] = -m->sine[k] * m->right_hand[k];
    m->right_hand[k] *= m->cosine[k];
}

/* The size of the terms of the first product, computed from the vector that A is applied to. From
 * the right this vector is M^-1 v, whose size is unrelated to that of v. */
static gsw_status measure_terms(gsw_krylov_run *run, gmres *m) {
    double *terms = basis(run, 1), *hat = basis(run, 0);
    if (gsw_krylov_right(run)) {
        hat = terms;
        GSW_TRY(gsw_krylov_precondition(&run, 1, basis(run, 0), hat));
    }
    GSW_TRY(gsw_krylov_terms(run, hat, scratch(run, m), terms, &m->terms));
    if (run->options.norm == GSW_NORM_TRUE)
        return GSW_SUCCESS;
    GSW_TRY(gsw_krylov_precondition(&run, 1, terms, terms));
    return gsw_krylov_norm(run, terms, &m->terms);
}

/* Reports why the first product, of length `product`, is 0 except for rounding errors. From the
 * right the scratch vector still holds M^-1 r / |r|. */
static gsw_status explain_zero(gsw_krylov_run *run, const gmres *m, double product) {
    const char *vector = "Ar", *meaning = "the matrix is singular: it maps the residual to 0";
    double hat = 1;
    if (gsw_krylov_right(run)) {
        vector = "AM^-1 r";
        meaning = "the matrix is singular or nearly so: it maps the preconditioned residual to 0";
        GSW_TRY(gsw_krylov_norm(run, scratch(run, m), &hat));
    } else if (run->system->preconditioner != NULL) {
        vector = "M^-1 Ar";
        meaning = "the matrix or the preconditioner is singular: together they map the residual "
                  "to 0";
    }
    if (hat == 0)
        meaning = "the preconditioner is singular: it maps the residual to 0";
    return gsw_fail(run->context, GSW_ERROR_BREAKDOWN,
                    "iteration %lld: |%s| / |r| is %.3g (terms of %s %.3g): %s",
                    (long long)run->iterations + 1, vector, product, vector, m->terms, meaning);
}

/* Step k: a new basis vector, a new column of the projected matrix, and the residual's norm after
 * it. */
static gsw_status step(gsw_krylov_run *run, gmres *m, int64_t k, double *norm) {
    double *column = m->columns + k * (m->restart + 1);
    const int first = m->terms < 0;
    if (first)
        GSW_TRY(measure_terms(run, m));
    GSW_TRY(gsw_krylov_apply(&run, 1, basis(run, k), scratch(run, m), basis(run, k + 1)));
    GSW_TRY(orthogonalise(run, m, k, column));
    double length = column[k + 1], largest = 0;
    /* Division by rounding errors would leave an x without meaning. */
    if (first && gsw_krylov_vanishes(hypot(column[0], length), m->terms))
        return explain_zero(run, m, hypot(column[0], length));
    for (int64_t j = 0; j <= k; j++)
        largest = fmax(largest, fabs(column[j]));
    rotate_column(m, k, column);

    if (length <= HAPPY_BREAKDOWN * largest) {
        /* The space is invariant. It holds the solution, unless the matrix is singular on it. */
        if (fabs(column[k]) <= DBL_EPSILON * largest)
            return gsw_krylov_breakdown(run, "the diagonal of the projected matrix", column[k],
                                        "the matrix or the preconditioner is singular");
        *norm = 0;
        return GSW_SUCCESS;
    }
    add_rotation(m, k, column);
    *norm = fabs(m->right_hand[k + 1]);
    return gsw_krylov_axpby(run, 1 / length, basis(run, k + 1), 0, basis(run, k + 1));
}

/* Adds the best combination of the first `steps` basis vectors to x. */
static gsw_status update_solution(gsw_krylov_run *run, gmres *m, int64_t steps) {
    const gsw_backend_ops *ops = run->context->ops;
    double *sum = scratch(run, m), *c = m->coefficients;
    for (int64_t k = steps - 1; k >= 0; k--) {
        double y = m->right_hand[k];
        for (int64_t j = k + 1; j < steps; j++)
            y += m->columns[j * (m->restart + 1) + k] * m->solution[j];
        /* With the opposite sign, because the vectors are subtracted. */
        m->solution[k] = -y / m->columns[k * (m->restart + 1) + k];
    }
    GSW_TRY(ops->memory->upload(run->context, c, m->solution, (size_t)steps * sizeof *c));
    GSW_TRY(ops->vector->fill(run->context, run->n, 0, sum));
    GSW_TRY(ops->vector->subtract(run->context, run->n, steps, c, basis(run, 0), run->stride, sum,
                                  c + steps));
    if (gsw_krylov_right(run))
        GSW_TRY(gsw_krylov_precondition(&run, 1, sum, sum));
    return gsw_krylov_axpby(run, 1, sum, 1, run->x);
}

/* Up to `restart` steps from the residual of length `norm` in the first basis vector. x receives
 * the result of the steps however they end. */
static gsw_status cycle(gsw_krylov_run *run, gmres *m, double norm) {
    gsw_status status = gsw_krylov_axpby(run, 1 / norm, basis(run, 0), 0, basis(run, 0));
    int64_t k = 0;
    m->right_hand[0] = norm;
    while (k < m->restart && status == GSW_SUCCESS && !run->reached) {
        status = step(run, m, k, &norm);
        if (status != GSW_SUCCESS)
            break;
        k++;
        run->iterations++;
        status = gsw_krylov_check(run, norm);
    }
    if (k > 0 && (status == GSW_SUCCESS || gsw_krylov_ended(status))) {
        gsw_status updated = update_solution(run, m, k);
        if (updated != GSW_SUCCESS)
            return updated;
    }
    return status;
}

/* Each cycle begins with the true residual. */
static gsw_status run_gmres(gsw_krylov_run *run) {
    gmres m = {.restart = run->options.restart, .terms = -1};
    gsw_status status;
    double norm;

    GSW_TRY_GOTO(allocate(run, &m), cleanup);
    while (!run->reached) {
        GSW_TRY_GOTO(gsw_krylov_side_residual(run, basis(run, 0)), cleanup);
        GSW_TRY_GOTO(gsw_krylov_norm(run, basis(run, 0), &norm), cleanup);
        GSW_TRY_GOTO(gsw_krylov_check(run, norm), cleanup);
        if (!run->reached)
            GSW_TRY_GOTO(cycle(run, &m, norm), cleanup);
    }

cleanup:
    release(run, &m);
    return status;
}

static int64_t vectors(const gsw_krylov_run *run) {
    return (int64_t)run->options.restart + 2;
}

const gsw_krylov_method gsw_gmres_method = {
    .name = "gmres", .vectors = vectors, .applications = 1, .run = run_gmres};
