/* test_periodic.c: grids with periodic axes. Every operation is compared with the sparse matrix
 * that a loop over the points makes, in which neighbours are found around the grid. */
#include <math.h>
#include <stdio.h>

#include "common/csr.h"
#include "context_fixture.h"
#include "krylov_solve.h"

/* ---- systems ---- */

typedef enum coefficients { POISSON, ANISOTROPIC, LOGNORMAL, CONVECTION } coefficients;

typedef struct torus {
    gsw_grid grid; /* says which axes are periodic */
    const gsw_stencil *stencil;
    int64_t n;
    gsw_csr csr;       /* made here; what the results are compared with */
    gsw_matrix arrays; /* of the library, on the host */
    gsw_matrix sparse; /* the same from the CSR */
} torus;

static double random_at(uint64_t seed, int64_t i) {
    uint64_t s = (uint64_t)i * 0x9E3779B97F4A7C15ULL + seed * 0xBF58476D1CE4E5B9ULL;
    s ^= s >> 31;
    s *= 0x94D049BB133111EBULL;
    s ^= s >> 29;
    return (double)(s >> 11) / 9007199254740992.0;
}

static double medium(coefficients kind, int64_t row) {
    if (kind != LOGNORMAL)
        return 1;
    const double u = random_at(3, 2 * row) + 1e-12, v = random_at(3, 2 * row + 1);
    return exp(1.5 * sqrt(-2 * log(u)) * cos(6.283185307179586 * v));
}

/* The neighbour at an offset; -1: outside. */
static int64_t neighbour(const gsw_grid *g, int64_t row, gsw_offset o) {
    const int64_t n[3] = {g->nx, g->ny, g->nz}, d[3] = {o.dx, o.dy, o.dz};
    int64_t at[3] = {row % g->nx, row / g->nx % g->ny, row / g->nx / g->ny};
    for (int a = 0; a < 3; a++) {
        at[a] += d[a];
        if (at[a] < 0 || at[a] >= n[a]) {
            if (!(g->periodic >> a & 1))
                return -1;
            at[a] = (at[a] + n[a]) % n[a];
        }
    }
    return at[0] + g->nx * (at[1] + g->ny * at[2]);
}

/* The size of a coupling. Two-point fluxes; walls hold the value 0. */
static double coupling(const torus *t, coefficients kind, int64_t row, int64_t other,
                       gsw_offset o) {
    static const double along[3] = {1, 1e-2, 1e-3};
    const int32_t d[3] = {o.dx, o.dy, o.dz};
    double size = 1;
    for (int a = 0; a < 3 && kind == ANISOTROPIC; a++)
        size = d[a] != 0 && along[a] < size ? along[a] : size;
    if (kind == CONVECTION && o.dx > 0)
        size *= 0.3;
    const double k = medium(kind, row), l = other < 0 ? k : medium(kind, other);
    (void)t;
    return size * 2 * k * l / (k + l);
}

static void put(gsw_csr *csr, int64_t row, int64_t column, double value) {
    int64_t *row_ptr = (int64_t *)(uintptr_t)csr->row_ptr, k = row_ptr[row + 1]++;
    int64_t *columns = (int64_t *)(uintptr_t)csr->columns;
    double *values = (double *)(uintptr_t)csr->values;
    for (; k > row_ptr[row] && columns[k - 1] > column; k--) {
        columns[k] = columns[k - 1];
        values[k] = values[k - 1];
    }
    columns[k] = column;
    values[k] = value;
}

/* `shift`: what is added to the diagonal. */
static torus make(gsw_grid grid, int periodic, const char *stencil, coefficients kind,
                  double shift) {
    grid.periodic = periodic;
    torus t = {.grid = grid, .stencil = oracle_stencil_named(stencil), .n = oracle_points(&grid)};
    const int32_t count = t.stencil->count;
    const void **arrays = keep_bytes(GSW_STENCIL_MAX * sizeof *arrays);
    double *values[GSW_STENCIL_MAX];
    t.csr = (gsw_csr){.rows = t.n,
                      .row_ptr = keep_bytes((size_t)(t.n + 1) * 8),
                      .columns = keep_bytes((size_t)(t.n * count) * 8),
                      .values = keep_bytes((size_t)(t.n * count) * 8),
                      .index_type = GSW_I64};
    for (int32_t e = 0; e < count; e++)
        arrays[e] = values[e] = keep_filled(t.n, NAN); /* outside the grid it stays */
    int64_t *row_ptr = (int64_t *)(uintptr_t)t.csr.row_ptr;
    row_ptr[0] = 0;
    for (int64_t row = 0; row < t.n; row++) {
        double diagonal = shift;
        row_ptr[row + 1] = row_ptr[row];
        for (int32_t e = 0; e < count; e++) {
            const gsw_offset o = t.stencil->offsets[e];
            const int64_t other = e == t.stencil->center ? row : neighbour(&grid, row, o);
            if (e == t.stencil->center)
                continue;
            const double size = coupling(&t, kind, row, other, o);
            diagonal += size;
            if (other < 0)
                continue;
            values[e][row] = -size;
            put(&t.csr, row, other, -size);
        }
        values[t.stencil->center][row] = diagonal;
        put(&t.csr, row, row, diagonal);
    }
    t.csr.nonzeros = row_ptr[t.n];
    const gsw_stencil_array array = {.values = arrays, .value_type = GSW_F64};
    must(cpu, gsw_matrix_from_stencil(cpu, &grid, t.stencil, &array, &t.arrays));
    must(cpu, gsw_matrix_from_csr(cpu, &grid, t.stencil, &t.csr, &t.sparse));
    return t;
}

static const gsw_matrix *there_of(const torus *t, int sparse) {
    return keep_there(context, sparse ? &t->sparse : &t->arrays);
}

/* y = A x, or b - A x. */
static void multiply(const gsw_csr *csr, const double *b, const double *x, double *y) {
    for (int64_t row = 0; row < csr->rows; row++) {
        double sum = 0;
        for (int64_t k = gsw_index_at(csr->row_ptr, csr->index_type, row);
             k < gsw_index_at(csr->row_ptr, csr->index_type, row + 1); k++)
            sum += gsw_value_at(csr->values, csr->value_type, k) *
                   x[gsw_index_at(csr->columns, csr->index_type, k)];
        y[row] = b != NULL ? b[row] - sum : sum;
    }
}

static double norm(const double *x, int64_t n) {
    double sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += x[i] * x[i];
    return sqrt(sum);
}

static device_vector put_there(const double *x, int64_t n) {
    device_vector v = keep_guarded(GSW_F64, n);
    device_put(context, &v, x);
    return v;
}

static void expect_near(const device_vector *y, const double *expected, double tolerance,
                        const char *what) {
    double *got = keep_zeros(y->count), size = norm(expected, y->count);
    device_get(context, y, got);
    for (int64_t i = 0; i < y->count; i++)
        got[i] -= expected[i];
    const double error = norm(got, y->count);
    ck_assert_msg(error <= tolerance * (size > 0 ? size : 1), "%s: %g of %g", what, error, size);
}

/* ---- products ---- */

static const gsw_grid grids[] = {{3, 1, 1}, {13, 11, 7}, {6, 5, 4}, {17, 8, 1}, {5, 1, 9}};
static const char *const stencils[] = {"D2N5", "D2N9", "D3N7", "D3N15", "D3N19", "D3N27"};

/* Whether the stencil stays short of half of each periodic axis. */
static int serves(const gsw_grid *g, int periodic, const char *stencil) {
    const int64_t n[3] = {g->nx, g->ny, g->nz};
    for (int a = 0; a < 3; a++)
        if ((periodic >> a & 1) && n[a] < 3 && !(a == 2 && stencil[1] == '2'))
            return 0;
    return 1;
}

TEST(products) {
    int number = 0;
    for (int g = 0; g < LENGTH(grids); g++)
        for (int periodic = 1; periodic < 8; periodic++) {
            if (!serves(&grids[g], periodic, stencils[_i]) || number++ % backend_stride() != 0)
                continue;
            const size_t mark = keep_mark();
            const torus t = make(grids[g], periodic, stencils[_i], CONVECTION, 0.1);
            double *x = keep_random(1, t.n), *b = keep_random(2, t.n), *expected = keep_zeros(t.n);
            device_vector tx = put_there(x, t.n), tb = put_there(b, t.n);
            device_vector y = keep_guarded(GSW_F64, t.n);
            for (int sparse = 0; sparse < 2; sparse++) {
                const gsw_matrix *a = there_of(&t, sparse);
                multiply(&t.csr, NULL, x, expected);
                must(context, gsw_spmv(context, a, GSW_F64, tx.values, y.values));
                expect_near(&y, expected, 1e-14, "product");
                device_poison(context, &y);
                must(context, gsw_operator_apply(context, keep_operator(context, a),
                                                 (const double *)tx.values, (double *)y.values));
                expect_near(&y, expected, 1e-14, "operator");
                multiply(&t.csr, b, x, expected);
                must(context, gsw_residual(context, a, GSW_F64, tb.values, tx.values, y.values));
                expect_near(&y, expected, 1e-14, "residual");
            }
            keep_release(mark);
        }
}

TEST(copies) {
    for (int periodic = 1; periodic < 8; periodic++) {
        const torus t = make(grids[1], periodic, "D3N27", CONVECTION, 0.1);
        for (int part = 0; part < 3; part++) {
            gsw_csr a, b;
            must(cpu, gsw_matrix_to_csr(cpu, &t.arrays, (gsw_part)part, GSW_I64, &a));
            must(cpu, gsw_matrix_to_csr(cpu, &t.sparse, (gsw_part)part, GSW_I64, &b));
            keep_csr(a);
            keep_csr(b);
            ck_assert_int_eq(a.nonzeros, b.nonzeros);
            ck_assert_mem_eq(a.row_ptr, b.row_ptr, (size_t)(t.n + 1) * 8);
            ck_assert_mem_eq(a.columns, b.columns, (size_t)a.nonzeros * 8);
            ck_assert_mem_eq(a.values, b.values, (size_t)a.nonzeros * 8);
        }
    }
}

/* One number for each offset: the same product as that of whole arrays. */
TEST(constants) {
    double values[7] = {-1, -2, -3, 14, -3, -2, -1};
    gsw_grid g = {.nx = 9, .ny = 8, .nz = 7, .periodic = 5};
    const gsw_stencil *s = oracle_stencil_named("D3N7");
    const int64_t n = oracle_points(&g);
    gsw_matrix made;
    const void *arrays[7];
    must(context, gsw_matrix_from_constants(context, &g, s, values, 1, GSW_F64, &made));
    for (int e = 0; e < 7; e++)
        arrays[e] = keep_filled(n, values[e]);
    const gsw_stencil_array array = {.values = arrays, .value_type = GSW_F64};
    gsw_matrix whole;
    gsw_csr csr;
    must(cpu, gsw_matrix_from_stencil(cpu, &g, s, &array, &whole));
    must(cpu, gsw_matrix_to_csr(cpu, &whole, GSW_FULL, GSW_I64, &csr));
    keep_csr(csr);
    double *x = keep_random(1, n), *expected = keep_zeros(n);
    device_vector tx = put_there(x, n), y = keep_guarded(GSW_F64, n);
    multiply(&csr, NULL, x, expected);
    must(context, gsw_spmv(context, &made, GSW_F64, tx.values, y.values));
    expect_near(&y, expected, 1e-14, "constants");
    gsw_matrix_release(context, &made);
}

/* ---- triangular solves and factors ---- */

TEST(triangular_solves) {
    for (int periodic = 1; periodic < 8; periodic++) {
        const size_t mark = keep_mark();
        const torus t = make(grids[1], periodic, "D3N7", CONVECTION, 0.1);
        double *b = keep_random(1, t.n), *x = keep_zeros(t.n);
        device_vector tb = put_there(b, t.n), tx = keep_guarded(GSW_F64, t.n);
        for (int upper = 0; upper < 2; upper++) {
            const gsw_part part = upper ? GSW_UPPER : GSW_LOWER;
            gsw_csr csr;
            must(cpu, gsw_matrix_to_csr(cpu, &t.sparse, part, GSW_I64, &csr));
            keep_csr(csr);
            for (int64_t i = 0; i < t.n; i++) {
                const int64_t row = upper ? t.n - 1 - i : i;
                double sum = b[row], diagonal = 0;
                for (int64_t k = gsw_index_at(csr.row_ptr, GSW_I64, row);
                     k < gsw_index_at(csr.row_ptr, GSW_I64, row + 1); k++) {
                    const int64_t column = gsw_index_at(csr.columns, GSW_I64, k);
                    const double value = gsw_value_at(csr.values, GSW_F64, k);
                    if (column == row)
                        diagonal = value;
                    else
                        sum -= value * x[column];
                }
                x[row] = sum / diagonal;
            }
            const gsw_sptrsv_options options = {.size = sizeof options, .part = part};
            must(context,
                 gsw_sptrsv(context, there_of(&t, 1), &options, 1, tb.values, t.n, tx.values, t.n));
            expect_near(&tx, x, 1e-13, "sptrsv");
            const gsw_factor_options of = {.size = sizeof of,
                                           .kind = upper ? GSW_FACTOR_UPPER : GSW_FACTOR_LOWER};
            gsw_factor *factor;
            const gsw_status status = gsw_factor_create(context, there_of(&t, 1), &of, &factor);
            if (on_cuda() && status == GSW_ERROR_UNSUPPORTED) /* too far along y or z */
                continue;
            must(context, status);
            keep(KEPT_FACTOR, NULL, factor);
            must(context, gsw_factor_solve(context, factor, 1, tb.values, t.n, tx.values, t.n));
            expect_near(&tx, x, 1e-13, "factor");
        }
        keep_release(mark);
    }
}

/* Incomplete factors are those of the box, bit by bit. */
TEST(factors) {
    static const gsw_factor_kind kinds[] = {GSW_ILU0, GSW_IC0, GSW_DILU, GSW_SSOR, GSW_JACOBI};
    for (int k = 0; k < LENGTH(kinds); k++)
        for (int s = 2; s < LENGTH(stencils); s += 3) {
            const size_t mark = keep_mark();
            const torus t = make(grids[1], 7, stencils[s], ANISOTROPIC, 0.1);
            gsw_matrix box = t.arrays;
            box.grid.periodic = 0;
            device_vector b = put_there(keep_random(1, t.n), t.n), x = keep_guarded(GSW_F64, t.n);
            double *expected = keep_zeros(t.n), *got = keep_zeros(t.n);
            const gsw_factor_options options = {.kind = kinds[k]};
            gsw_factor *factor = keep_factor(context, keep_there(context, &box), options);
            must(context, gsw_factor_solve(context, factor, 1, b.values, t.n, x.values, t.n));
            device_get(context, &x, expected);
            for (int sparse = 0; sparse < 2; sparse++) {
                const gsw_matrix *there = there_of(&t, sparse);
                factor = keep_factor(context, there, options);
                device_poison(context, &x);
                must(context, gsw_factor_refactor(context, factor, there, NULL));
                must(context, gsw_factor_solve(context, factor, 1, b.values, t.n, x.values, t.n));
                device_get(context, &x, got);
                ck_assert_mem_eq(got, expected, (size_t)t.n * sizeof *got);
            }
            keep_release(mark);
        }
}

/* ---- stencil loops and smoothers ---- */

TEST(stencil_loops) {
    enum { SWEEPS = 3 };
    const double weight = 0.7;
    for (int g = 1; g < 4; g++) {
        const size_t mark = keep_mark();
        const torus t = make(grids[g], g == 3 ? 3 : 7, g == 3 ? "D2N9" : "D3N27", LOGNORMAL, 0.1);
        double *b = keep_random(1, t.n), *x = keep_random(2, t.n), *r = keep_zeros(t.n);
        device_vector tb = put_there(b, t.n), tx = put_there(x, t.n);
        for (int sweep = 0; sweep < SWEEPS; sweep++) {
            multiply(&t.csr, b, x, r);
            const double *diagonal = t.arrays.array.values[t.stencil->center];
            for (int64_t i = 0; i < t.n; i++)
                x[i] += weight * r[i] / diagonal[i];
        }
        for (int sparse = 0; sparse < 2; sparse++) {
            device_put(context, &tx, keep_random(2, t.n));
            gsw_relax *relax =
                keep_relax(context, there_of(&t, sparse),
                           (gsw_relax_options){.method = GSW_RELAX_JACOBI, .weight = weight});
            must(context, gsw_relax_run(context, relax, SWEEPS, 0, (double *)tb.values,
                                        (double *)tx.values));
            expect_near(&tx, x, 1e-13, "loop");
        }
        keep_release(mark);
    }
}

/* x += M^-1 (b - A x), with M of the box. */
TEST(smoothing) {
    const torus t = make(grids[1], 7, "D3N7", POISSON, 0.1);
    const gsw_matrix *there = there_of(&t, 0);
    double *b = keep_random(1, t.n), *x = keep_random(2, t.n), *r = keep_zeros(t.n);
    device_vector tb = put_there(b, t.n), tx = put_there(x, t.n), work = keep_guarded(GSW_F64, t.n);
    gsw_factor *factor = keep_factor(context, there, (gsw_factor_options){.kind = GSW_SSOR});
    multiply(&t.csr, b, x, r);
    device_vector tr = put_there(r, t.n);
    must(context, gsw_factor_solve(context, factor, 1, tr.values, t.n, tr.values, t.n));
    device_get(context, &tr, r);
    for (int64_t i = 0; i < t.n; i++)
        x[i] += r[i];
    must(context, gsw_smooth(context, there, factor, 1, 0, (double *)tb.values, (double *)tx.values,
                             (double *)work.values));
    expect_near(&tx, x, 1e-13, "smoothing");
}

/* ---- multigrid ---- */

static gsw_csr extract(const gsw_multigrid *mg, int level, gsw_multigrid_part part) {
    gsw_csr csr;
    must(context, gsw_multigrid_extract(context, mg, level, part, &csr));
    return keep_csr(csr);
}

/* R A P x for a coarse x. */
static void multiply_all(const gsw_csr *r, const gsw_csr *a, const gsw_csr *p, const double *x,
                         double *y) {
    double *fine = keep_zeros(a->rows), *other = keep_zeros(a->rows);
    multiply(p, NULL, x, fine);
    multiply(a, NULL, fine, other);
    multiply(r, NULL, other, y);
}

/* Coarse matrices are R A P, around the grid as well. P keeps constants where rows add up to 0. */
TEST(hierarchies) {
    static const gsw_grid of[] = {{16, 14, 12}, {17, 15, 13}, {9, 10, 33}, {40, 35, 1}};
    static const char *const names[] = {"D3N7", "D3N27", "D3N33", "D3N15"};
    for (int g = 0; g < 4; g++)
        for (int kind = 0; kind < 4; kind++) {
            const size_t mark = keep_mark();
            const int plane = of[g].nz == 1, periodic = 1 + (g + 2 * kind) % (plane ? 3 : 7);
            const char *name = plane ? (kind % 2 ? "D2N9" : "D2N5") : names[(g + kind) % 4];
            const torus t = make(of[g], periodic, name, (coefficients)kind, 0);
            gsw_multigrid *mg = keep_multigrid(context, there_of(&t, (g + kind) % 2),
                                               (gsw_multigrid_options){.coarsest_points = 30});
            gsw_csr a = t.csr;
            int level = 0;
            for (;; level++) {
                gsw_csr p;
                if (gsw_multigrid_extract(context, mg, level, GSW_MULTIGRID_PROLONGATION, &p) !=
                    GSW_SUCCESS)
                    break;
                keep_csr(p);
                const gsw_csr r = extract(mg, level, GSW_MULTIGRID_RESTRICTION);
                const gsw_csr coarse = extract(mg, level + 1, GSW_MULTIGRID_MATRIX);
                double *x = keep_random(5, coarse.rows), *y = keep_zeros(coarse.rows);
                double *expected = keep_zeros(coarse.rows);
                if (level > 0 || strcmp(name, "D3N33") != 0) { /* lumped rows have another A */
                    multiply_all(&r, &a, &p, x, expected);
                    multiply(&coarse, NULL, x, y);
                    for (int64_t i = 0; i < coarse.rows; i++)
                        y[i] -= expected[i];
                    ck_assert_double_le(norm(y, coarse.rows), 1e-12 * norm(expected, coarse.rows));
                }
                if (periodic == (plane ? 3 : 7)) { /* no walls */
                    double *ones = keep_filled(coarse.rows, 1), *fine = keep_zeros(a.rows);
                    multiply(&p, NULL, ones, fine);
                    for (int64_t i = 0; i < a.rows; i++)
                        ck_assert_double_eq_tol(fine[i], 1, 1e-12);
                }
                a = coarse;
            }
            ck_assert_int_ge(level, 2);
            keep_release(mark);
        }
}

/* The points of an even grid may begin anywhere: P moves with them. */
TEST(turned_grids) {
    const gsw_grid g = {.nx = 12, .ny = 10, .nz = 8, .periodic = 7};
    for (int wide = 0; wide < 2; wide++) {
        const torus t = make(g, 7, wide ? "D3N27" : "D3N7", LOGNORMAL, 0.01);
        const void *arrays[GSW_STENCIL_MAX];
        gsw_matrix turned = t.arrays;
        for (int32_t e = 0; e < t.stencil->count; e++) {
            const double *from = t.arrays.array.values[e];
            double *to = keep_zeros(t.n);
            for (int64_t row = 0; row < t.n; row++)
                to[row] = from[neighbour(&t.grid, row, (gsw_offset){2, 4, 2})];
            arrays[e] = to;
        }
        turned.array.values = arrays;
        const gsw_csr p = extract(
            keep_multigrid(context, keep_there(context, &t.arrays), (gsw_multigrid_options){0}), 0,
            GSW_MULTIGRID_PROLONGATION);
        const gsw_csr q = extract(
            keep_multigrid(context, keep_there(context, &turned), (gsw_multigrid_options){0}), 0,
            GSW_MULTIGRID_PROLONGATION);
        const gsw_grid half = {.nx = 6, .ny = 5, .nz = 4, .periodic = 7};
        const int64_t m = oracle_points(&half);
        double *x = keep_random(4, m), *y = keep_zeros(m), *u = keep_zeros(t.n),
               *v = keep_zeros(t.n);
        for (int64_t row = 0; row < m; row++)
            y[row] = x[neighbour(&half, row, (gsw_offset){1, 2, 1})];
        multiply(&p, NULL, x, u);
        multiply(&q, NULL, y, v);
        for (int64_t row = 0; row < t.n; row++)
            ck_assert_double_eq_tol(v[row], u[neighbour(&t.grid, row, (gsw_offset){2, 4, 2})],
                                    1e-12);
    }
}

static int64_t solve_mg(const torus *t, int sparse, gsw_multigrid_options options) {
    const gsw_matrix *there = there_of(t, sparse);
    gsw_multigrid *mg = keep_multigrid(context, there, options);
    const gsw_krylov_options krylov = {.size = sizeof krylov, .rtol = 1e-8};
    gsw_krylov_result result = {.size = sizeof result};
    double *b = keep_random(1, t->n), *x = keep_zeros(t->n), *r = keep_zeros(t->n);
    device_vector tb = put_there(b, t->n), tx = put_there(x, t->n);
    must(context, gsw_multigrid_refactor(context, mg, there));
    must(context, gsw_cg(context, keep_operator(context, there), keep_multigrid_M(context, mg),
                         &krylov, (double *)tb.values, (double *)tx.values, &result));
    device_get(context, &tx, x);
    multiply(&t->csr, b, x, r);
    ck_assert_double_le(norm(r, t->n), 1e-8 * norm(b, t->n));
    return result.iterations;
}

/* The counts of the box, more or less. */
TEST(counts) {
    static const struct {
        gsw_grid grid;
        int periodic;
        coefficients kind;
        int64_t most;
    } cases[] = {{{64, 64, 1}, 1, POISSON, 8},      {{64, 64, 1}, 3, POISSON, 9},
                 {{63, 65, 1}, 3, POISSON, 9},      {{32, 32, 32}, 7, POISSON, 9},
                 {{33, 31, 30}, 7, POISSON, 9},     {{32, 32, 32}, 3, ANISOTROPIC, 9},
                 {{64, 63, 1}, 3, ANISOTROPIC, 10}, {{32, 32, 32}, 3, LOGNORMAL, 16},
                 {{31, 33, 32}, 7, LOGNORMAL, 17}};
    for (int i = 0; i < LENGTH(cases); i++) {
        const size_t mark = keep_mark();
        if (on_reference() && cases[i].grid.nz > 1)
            continue;
        const torus t = make(cases[i].grid, cases[i].periodic,
                             cases[i].grid.nz > 1 ? "D3N7" : "D2N5", cases[i].kind, 1e-3);
        const int64_t wide = solve_mg(&t, i % 2, (gsw_multigrid_options){0});
        const int64_t narrow = solve_mg(&t, i % 2, (gsw_multigrid_options){.cycle_type = GSW_F32});
        ck_assert_msg(wide <= cases[i].most, "case %d: %d iterations", i, (int)wide);
        ck_assert_msg(narrow <= wide + 1, "case %d: %d iterations in fp32", i, (int)narrow);
        keep_release(mark);
    }
}

TEST(smoothers_of_hierarchies) {
    const torus t = make((gsw_grid){20, 18, 15}, 5, "D3N7", POISSON, 1e-2);
    for (int smoother = 0; smoother <= GSW_SMOOTHER_MULTICOLOR; smoother++)
        for (int cycle = 0; cycle < 3; cycle++) {
            const size_t mark = keep_mark();
            const int64_t iterations =
                solve_mg(&t, 0,
                         (gsw_multigrid_options){.smoother = (gsw_smoother)smoother,
                                                 .cycle = (gsw_cycle)cycle,
                                                 .pre_sweeps = 1 + cycle,
                                                 .post_sweeps = 1 + cycle});
            ck_assert_msg(iterations <= 16, "smoother %d, cycle %d: %d iterations", smoother, cycle,
                          (int)iterations);
            keep_release(mark);
        }
}

/* ---- solvers ---- */

static gsw_solver_report solve_all(const gsw_matrix *there, gsw_precond precond, const torus *t,
                                   const double *b, double *x) {
    const gsw_solver_options options = {.size = sizeof options, .precond = precond};
    gsw_solver_report report = {.size = sizeof report};
    gsw_solver *solver;
    device_vector tb = put_there(b, t->n), tx = put_there(keep_zeros(t->n), t->n);
    must(context, gsw_solver_create(context, there, &options, &solver));
    (void)gsw_solver_solve(context, solver, (double *)tb.values, (double *)tx.values, &report);
    gsw_solver_destroy(solver);
    device_get(context, &tx, x);
    return report;
}

/* Without walls and shift the mean is free. */
TEST(solvers) {
    for (int kind = 0; kind < 4; kind++)
        for (int singular = 0; singular < (kind == CONVECTION ? 1 : 2); singular++) {
            const size_t mark = keep_mark();
            const torus t =
                make((gsw_grid){24, 21, 18}, 7, "D3N7", (coefficients)kind, singular ? 0 : 1e-3);
            double *b = keep_random(1, t.n), *x = keep_zeros(t.n), *r = keep_zeros(t.n), mean = 0;
            for (int64_t i = 0; i < t.n; i++)
                mean += b[i] / (double)t.n;
            for (int64_t i = 0; i < t.n && singular; i++)
                b[i] -= mean;
            const gsw_solver_report report =
                solve_all(there_of(&t, (kind + singular) % 2), GSW_PRECOND_AUTO, &t, b, x);
            ck_assert_msg(report.converged, "kind %d: %s", kind, report.message);
            ck_assert_str_eq(report.precond, "mg");
            multiply(&t.csr, b, x, r);
            ck_assert_double_le(norm(r, t.n), 1e-8 * norm(b, t.n));
            keep_release(mark);
        }
}

/* Land on a grid that is periodic along x: the ocean around it is one basin. */
TEST(masks) {
    for (int sparse = 0; sparse < 2; sparse++) {
        const torus t = make((gsw_grid){48, 40, 1}, 1, "D2N5", LOGNORMAL, 1e-4);
        uint8_t *active = keep_bytes((size_t)t.n);
        gsw_matrix masked = sparse ? t.sparse : t.arrays;
        for (int64_t row = 0; row < t.n; row++) {
            const int64_t x = row % 48, y = row / 48;
            active[row] = !((x - 20) * (x - 20) + (y - 18) * (y - 18) < 60) &&
                          !(x > 22 && x < 25 && y > 4) && random_at(9, row) > 0.05;
        }
        masked.active = active;
        double *b = keep_random(1, t.n), *x = keep_zeros(t.n), *r = keep_zeros(t.n);
        for (int64_t row = 0; row < t.n; row++)
            b[row] = active[row] ? b[row] : NAN;
        const gsw_solver_report report =
            solve_all(keep_there(context, &masked), GSW_PRECOND_MULTIGRID, &t, b, x);
        ck_assert_msg(report.converged, "%s", report.message);
        ck_assert_int_le(report.iterations, 20);
        for (int64_t row = 0; row < t.n; row++)
            ck_assert(active[row] || x[row] == 0);
        double size = 0, rest = 0;
        multiply(&t.csr, b, x, r); /* x is 0 where a coupling is left out */
        for (int64_t row = 0; row < t.n; row++)
            if (active[row]) {
                size += b[row] * b[row];
                rest += r[row] * r[row];
            }
        ck_assert_double_le(sqrt(rest), 1e-8 * sqrt(size));
        device_vector tx = put_there(x, t.n), y = keep_guarded(GSW_F64, t.n);
        must(context,
             gsw_spmv(context, keep_there(context, &masked), GSW_F64, tx.values, y.values));
        multiply(&t.csr, NULL, x, r);
        for (int64_t row = 0; row < t.n; row++)
            r[row] = active[row] ? r[row] : 0;
        expect_near(&y, r, 1e-14, "product with a mask");
    }
}

/* ---- refusals ---- */

TEST(refusals) {
    const torus t = make((gsw_grid){9, 8, 7}, 3, "D3N7", POISSON, 0.1);
    gsw_matrix matrix;
    gsw_grid g = {.nx = 9, .ny = 2, .nz = 7, .periodic = GSW_PERIODIC_Y};
    expect_rejection(gsw_matrix_from_stencil(context, &g, t.stencil, &t.arrays.array, &matrix),
                     "grid: it is periodic along y with 2 points, too few for a stencil that "
                     "reaches 1; it needs 3");
    g.periodic = 8;
    expect_rejection(gsw_matrix_from_stencil(context, &g, t.stencil, &t.arrays.array, &matrix),
                     "grid: 9 x 2 x 7 has an unknown periodic axis");
    const gsw_matrix *there = there_of(&t, 0);
    device_vector b = put_there(keep_random(1, t.n), t.n), x = keep_guarded(GSW_F64, t.n);
    expect_refusal(gsw_sptrsv(context, there, NULL, 1, b.values, t.n, x.values, t.n),
                   GSW_ERROR_UNSUPPORTED,
                   "matrix: exact triangular solves on a periodic grid take a CSR, not stencil "
                   "arrays");
    gsw_factor *factor;
    const gsw_factor_options lower = {.size = sizeof lower, .kind = GSW_FACTOR_LOWER};
    expect_refusal(gsw_factor_create(context, there, &lower, &factor), GSW_ERROR_UNSUPPORTED,
                   "matrix: exact triangular solves on a periodic grid take a CSR");
    gsw_multigrid *mg;
    const gsw_multigrid_options injection = {.size = sizeof injection,
                                             .interpolation = GSW_INTERPOLATION_INJECTION};
    expect_refusal(gsw_multigrid_create(context, there, &injection, &mg), GSW_ERROR_UNSUPPORTED,
                   "multigrid with injection does not take periodic grids");
    gsw_grid other = t.grid;
    gsw_matrix changed = *there;
    mg = keep_multigrid(context, there, (gsw_multigrid_options){0});
    changed.grid = other;
    changed.grid.periodic = 1;
    expect_rejection(gsw_multigrid_refactor(context, mg, &changed),
                     "matrix: its grid is not the hierarchy's");
}

int main(int argc, char **argv) {
    backend_choose(argc, argv);
    Suite *suite = suite_create("periodic");
    TCase *tc = context_case(suite, "periodic", 240);
    LOOPS(tc, LENGTH(stencils), products);
    TESTS(tc, copies, constants, triangular_solves, factors, stencil_loops, smoothing);
    TESTS(tc, hierarchies, turned_grids, counts, smoothers_of_hierarchies);
    TESTS(tc, solvers, masks, refusals);
    return backend_run_suite(suite);
}
