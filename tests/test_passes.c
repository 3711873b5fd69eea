/* test_passes.c: the vector operations of the Krylov methods against their definitions. */
#include "krylov_systems.h"

/* Lengths within a block of a sum, at its end, and of more blocks than partial sums. */
static const int64_t lengths[] = {1, 31, 512, 1024, 4097, 100003, 1200007};
#define LENGTHS ((int)(sizeof lengths / sizeof lengths[0]))

static int near(double value, double expected, double tolerance) {
    return value == expected || fabs(value - expected) <= tolerance;
}

/* ---- passes ---- */

/* The vectors of a pass, each with one more value after its end, and the state. Vectors that are
 * fp32 in the backend are kept as fp64 values here. */
typedef struct pass_case {
    gsw_pass pass;
    int64_t n;
    double *host[GSW_PASS_VECTORS];
    void *there[GSW_PASS_VECTORS];
    gsw_krylov_state state, *state_there;
} pass_case;

static int pass_is_narrow(gsw_pass pass, int vector) {
    return vector >= gsw_pass_shapes[pass].vectors - gsw_pass_shapes[pass].narrow;
}

static void *pass_upload(const pass_case *c, int vector) {
    const size_t count = (size_t)(c->n + 1);
    if (!pass_is_narrow(c->pass, vector))
        return keep_upload(context, c->host[vector], count * sizeof(double));
    float *narrow = keep_bytes(count * sizeof *narrow);
    for (size_t i = 0; i < count; i++)
        c->host[vector][i] = narrow[i] = (float)c->host[vector][i];
    return keep_upload(context, narrow, count * sizeof *narrow);
}

/* The values of vector v in the backend's memory. */
static void pass_download(const pass_case *c, int vector, double *found) {
    const size_t count = (size_t)(c->n + 1);
    if (!pass_is_narrow(c->pass, vector)) {
        download(context, found, c->there[vector], count * sizeof(double));
        return;
    }
    float *narrow = keep_bytes(count * sizeof *narrow);
    download(context, narrow, c->there[vector], count * sizeof *narrow);
    for (size_t i = 0; i < count; i++)
        found[i] = narrow[i];
}

static pass_case pass_case_of(gsw_pass pass, int64_t n, gsw_krylov_state state) {
    pass_case c = {.pass = pass, .n = n, .state = state};
    for (int v = 0; v < gsw_pass_shapes[pass].vectors; v++) {
        c.host[v] = keep_random((uint64_t)(20 + v), n + 1);
        c.there[v] = pass_upload(&c, v);
    }
    c.state_there = keep_upload(context, &c.state, sizeof c.state);
    return c;
}

/* The expected result of the pass, by its definition, one value after the other. */
static void pass_case_expect(pass_case *c) {
    const gsw_pass_shape *shape = &gsw_pass_shapes[c->pass];
    double sums[GSW_PASS_PRODUCTS] = {0};
    for (int u = 0; u < shape->updates; u++) {
        const double a = c->state.coefficient[shape->update[u].a];
        const double b = c->state.coefficient[shape->update[u].b];
        const double *from = c->host[shape->update[u].from];
        double *to = c->host[shape->update[u].to];
        for (int64_t i = 0; i < c->n; i++)
            to[i] = b == 0 ? a * from[i] : a * from[i] + b * to[i];
        for (int64_t i = 0; i < c->n && pass_is_narrow(c->pass, shape->update[u].to); i++)
            to[i] = (float)to[i];
    }
    for (int d = 0; d < shape->products; d++) {
        const double *x = c->host[shape->product[d].left], *y = c->host[shape->product[d].right];
        long double sum = 0;
        for (int64_t i = 0; i < c->n; i++)
            sum += (long double)x[i] * y[i];
        sums[d] = (double)sum;
    }
    gsw_krylov_step(&c->state, c->pass, sums);
}

/* Runs the pass and compares. `tolerance` 0 requires the same bits. */
static void pass_case_check(const pass_case *c, double tolerance) {
    double *found = keep_zeros(c->n + 1);
    void *vectors[GSW_PASS_VECTORS];
    gsw_krylov_state state;
    int64_t wrong = 0;
    memcpy(vectors, c->there, sizeof vectors);
    must(context, context->ops->krylov->pass(context, c->pass, c->n, vectors, c->state_there));
    for (int v = 0; v < gsw_pass_shapes[c->pass].vectors; v++) {
        const double eps = pass_is_narrow(c->pass, v) && tolerance > 0 ? 1e-6 : tolerance;
        pass_download(c, v, found);
        for (int64_t i = 0; i <= c->n; i++)
            wrong += !near(found[i], c->host[v][i], i < c->n ? eps : 0);
        ck_assert_msg(wrong == 0, "pass %d, %lld values: %lld of vector %d are wrong", (int)c->pass,
                      (long long)c->n, (long long)wrong, v);
    }
    download(context, &state, c->state_there, sizeof state);
    const double scale = 1e3 * tolerance; /* coefficients are quotients of sums */
    for (int k = 0; k < GSW_COEFFICIENTS; k++)
        ck_assert_msg(near(state.coefficient[k], c->state.coefficient[k],
                           scale * (1 + fabs(c->state.coefficient[k]))),
                      "pass %d, %lld values: coefficient %d is %g, not %g", (int)c->pass,
                      (long long)c->n, k, state.coefficient[k], c->state.coefficient[k]);
    ck_assert(near(state.norm, c->state.norm, scale * (1 + c->state.norm)));
    ck_assert(near(state.rz, c->state.rz, scale * (double)c->n));
    ck_assert(near(state.pw, c->state.pw, scale * (double)c->n));
    ck_assert(near(state.rho, c->state.rho, scale * (double)c->n));
    ck_assert_int_eq(state.iterations, c->state.iterations);
    ck_assert_int_eq(state.ended, c->state.ended);
}

static void check_pass(gsw_pass pass, int64_t n) {
    pass_case c = pass_case_of(pass, n, krylov_midway());
    pass_case_expect(&c);
    pass_case_check(&c, 1e-14);

    /* After the end not a single bit changes. */
    gsw_krylov_state ended = krylov_midway();
    ended.ended = GSW_END_CONVERGED;
    c = pass_case_of(pass, n, ended);
    pass_case_check(&c, 0);
}

/* The vector s of the pass that ends an iteration of BiCGSTAB may be r, which the pass
 * overwrites. */
static void check_shared_vector(int64_t n) {
    pass_case c = pass_case_of(GSW_BICGSTAB_UPDATE, n, krylov_midway());
    c.host[2] = c.host[3];
    c.there[2] = c.there[3];
    pass_case_expect(&c);
    pass_case_check(&c, 1e-14);
}

/* The first direction of CG does not depend on the vector's earlier contents. */
static void check_first_direction(int64_t n) {
    gsw_krylov_state state = krylov_midway();
    state.coefficient[GSW_BETA] = 0;
    pass_case c = pass_case_of(GSW_CG_DIRECTION, n, state);
    oracle_fill(GSW_F64, c.host[0], n, NAN);
    must(context, gsw_memory_upload(context, c.there[0], c.host[0], (size_t)n * sizeof(double)));
    pass_case_expect(&c);
    pass_case_check(&c, 0);
}

/* ---- products ---- */

/* The backend's own residual, where it has one, equals the single operations. */
static void check_judge(const gsw_matrix *matrix, int64_t n, const double *x, const double *b) {
    const gsw_backend_ops *ops = context->ops;
    const size_t bytes = (size_t)n * sizeof(double);
    double *found = keep_zeros(n), *y = keep_zeros(n), sums[3] = {0}, expected[3] = {0};
    double *xt = keep_upload(context, x, bytes), *bt = keep_upload(context, b, bytes);
    double *yt = keep_upload(context, b, bytes), *rt = keep_upload(context, b, bytes);
    int done = 0;
    if (ops->krylov->judge != NULL)
        must(context, ops->krylov->judge(context, matrix, bt, xt, rt, sums, &done));
    if (!done)
        return;
    download(context, found, rt, bytes);
    must(context, ops->matrix->spmv(context, matrix, GSW_F64, NULL, xt, yt));
    download(context, y, yt, bytes);
    for (int64_t i = 0; i < n; i++) {
        ck_assert(found[i] == b[i] - y[i]);
        expected[0] += x[i] * x[i];
        expected[1] += found[i] * found[i];
    }
    must(context, ops->vector->change_signs(context, n, xt, rt));
    must(context, ops->matrix->spmv(context, matrix, GSW_F64, NULL, rt, yt));
    download(context, y, yt, bytes);
    for (int64_t i = 0; i < n; i++)
        expected[2] += y[i] * y[i];
    for (int k = 0; k < 3; k++)
        ck_assert_msg(fabs(sums[k] - expected[k]) <= 1e-13 * expected[k], "sum %d is %g, not %g", k,
                      sums[k], expected[k]);
}

/* A product that ends in a pass equals the single operations: the vectors to the bit, the sums to
 * rounding. */
static void check_product(const gsw_matrix *matrix, int64_t n, const double *x) {
    const gsw_backend_ops *ops = context->ops;
    const size_t bytes = (size_t)n * sizeof(double);
    double *found = keep_zeros(n), *y = keep_zeros(n), pw = 0, scale = 0;
    double *xt = keep_upload(context, x, bytes), *yt = keep_room(context, bytes);
    gsw_krylov_state state = krylov_midway();
    state.rz = 0.5;
    state.pw = 0;
    gsw_krylov_state *there = keep_upload(context, &state, sizeof state);
    must(context, ops->matrix->spmv(context, matrix, GSW_F64, NULL, xt, yt));
    download(context, y, yt, bytes);
    for (int64_t i = 0; i < n; i++) {
        pw += x[i] * y[i];
        scale += fabs(x[i] * y[i]);
    }
    must(context, gsw_memory_set(context, yt, 0xff, bytes));
    must(context, ops->krylov->multiply_pass(context, matrix, GSW_CG_PW, 1, xt, yt, 0, &there));
    download(context, found, yt, bytes);
    ck_assert_mem_eq(found, y, bytes);
    download(context, &state, there, sizeof state);
    ck_assert_msg(fabs(state.pw - pw) <= 1e-13 * scale, "p'Ap is %g, not %g", state.pw, pw);
}

TEST(products_end_in_passes) {
    for (int g = 0; g < oracle_grid_count(); g += 3)
        for (int s = 0; s < oracle_stencil_count(); s++) {
            const size_t mark = keep_mark();
            const gsw_grid grid = oracle_grid(g);
            const int64_t n = oracle_points(&grid);
            const oracle_matrix *m =
                keep_matrix_of(&grid, oracle_stencil(s, NULL), 3, ORACLE_POSITIVE);
            const gsw_matrix *matrix = keep_there(context, &m->view);
            const double *x = keep_random(4, n);
            check_product(matrix, n, x);
            check_judge(matrix, n, x, keep_random(5, n));
            keep_release(mark);
        }
}

/* ---- bases ---- */

/* project() and subtract() with this many vectors, which lie `stride` apart. */
static void check_basis(int64_t n, int64_t count) {
    const int64_t stride = n + 3;
    const size_t bytes = (size_t)(n + 1) * sizeof(double);
    const size_t coefficients = (size_t)(count + 2) * sizeof(double);
    double *x = keep_random(31, stride * count), *y = keep_random(32, n + 1);
    double *c = keep_zeros(count + 2), *found = keep_bytes(bytes + coefficients);
    double *xt = keep_upload(context, x, (size_t)(stride * count) * sizeof *x);
    double *yt = keep_upload(context, y, bytes), *ct = keep_upload(context, c, coefficients);

    must(context, context->ops->vector->project(context, n, count, xt, stride, yt, ct));
    download(context, found, ct, coefficients);
    for (int64_t j = 0; j < count; j++) {
        long double sum = 0, scale = 0;
        for (int64_t i = 0; i < n; i++) {
            sum += (long double)x[j * stride + i] * y[i];
            scale += fabsl((long double)x[j * stride + i] * y[i]);
        }
        ck_assert_msg(fabsl(found[j] - sum) <= 1e-14L * scale, "%lld values, product %lld of %lld",
                      (long long)n, (long long)j, (long long)count);
    }
    ck_assert(found[count] == 0 && found[count + 1] == 0);

    for (int64_t j = 0; j < count; j++) {
        c[j] = 0.5 - 0.125 * (double)(j % 7);
        for (int64_t i = 0; i < n; i++)
            y[i] -= c[j] * x[j * stride + i];
    }
    must(context, gsw_memory_upload(context, ct, c, coefficients));
    must(context,
         context->ops->vector->subtract(context, n, count, ct, xt, stride, yt, ct + count));
    download(context, found, yt, bytes);
    int64_t wrong = found[n] != y[n];
    long double square = 0;
    for (int64_t i = 0; i < n; i++) {
        square += (long double)y[i] * y[i];
        wrong += !near(found[i], y[i], 1e-14 * (double)(count + 1));
    }
    ck_assert_int_eq(wrong, 0);
    download(context, found, ct, coefficients);
    ck_assert(fabsl(found[count] - square) <= 1e-13L * square);
    ck_assert(memcmp(found, c, (size_t)count * sizeof *c) == 0 && found[count + 1] == 0);
}

/* Signs are those of the header, about half of them negative. Nothing else changes. */
static void check_signs(int64_t n) {
    const size_t bytes = (size_t)(n + 1) * sizeof(double);
    double *x = keep_random(41, n + 1), *y = keep_random(42, n + 1), *found = keep_zeros(n + 1);
    void *xt = keep_upload(context, x, bytes), *yt = keep_upload(context, y, bytes);
    must(context, context->ops->vector->change_signs(context, n, xt, yt));
    download(context, found, yt, bytes);
    int64_t wrong = found[n] != y[n], negative = 0;
    for (int64_t i = 0; i < n; i++) {
        negative += gsw_changes_sign(i);
        wrong += found[i] != (gsw_changes_sign(i) ? -x[i] : x[i]);
    }
    ck_assert_int_eq(wrong, 0);
    ck_assert_double_le(fabs((double)negative - 0.5 * (double)n), 4 * sqrt((double)n));
}

/* Squares and multiples of several systems' vectors, which need not follow each other closely. */
static void check_systems(int64_t n) {
    enum { SYSTEMS = 4 };
    static const double factor[SYSTEMS] = {3, 0, (double)NAN, -0.5};
    const int64_t ldx = n + 3, ldy = n + 5, all = SYSTEMS * ldy;
    const size_t bytes = (size_t)all * sizeof(double);
    double *x = keep_random(51, all), *y = keep_random(52, all), *found = keep_zeros(all);
    if (n > 0)
        x[ldx + n / 2] = (double)NAN; /* times 0 */
    void *xt = keep_upload(context, x, bytes), *yt = keep_upload(context, y, bytes),
         *at = keep_upload(context, factor, sizeof factor);
    const gsw_vector_ops *ops = context->ops->vector;
    must(context, ops->scale(context, n, SYSTEMS, at, xt, ldx, yt, ldy));
    download(context, found, yt, bytes);
    int64_t wrong = 0;
    for (int64_t i = 0; i < all; i++) {
        const int64_t k = i / ldy, place = i % ldy;
        const double expected = place >= n || isnan(factor[k]) ? y[i]
                                : factor[k] == 0               ? 0
                                                               : factor[k] * x[k * ldx + place];
        wrong += found[i] != expected;
    }
    ck_assert_int_eq(wrong, 0);
    must(context, ops->squares(context, n, SYSTEMS, yt, ldy, at));
    double squares[SYSTEMS];
    download(context, squares, at, sizeof squares);
    for (int64_t k = 0; k < SYSTEMS; k++) {
        long double square = 0;
        for (int64_t i = 0; i < n; i++)
            square += (long double)found[k * ldy + i] * found[k * ldy + i];
        ck_assert(fabsl(squares[k] - square) <= 1e-13L * square);
    }
}

TEST(passes_do_what_they_say) {
    const int64_t n = lengths[_i];
    check_signs(n);
    check_systems(n);
    for (int pass = 0; pass < GSW_PASSES; pass++) {
        check_pass((gsw_pass)pass, n);
        keep_release(0);
    }
    check_shared_vector(n);
    check_first_direction(n);
    for (int64_t count = 1; count <= (n > 200000 ? 2 : 17); count += count < 7 ? 6 : 1) {
        check_basis(n, count);
        keep_release(0);
    }
}

/* The product of a vector with itself in other order and with other signs is 0, up to one term. */
TEST(pieces_have_the_sum_of_the_whole) {
    enum { HALF = 50021, N = 2 * HALF + 1 };
    static const int64_t cuts[] = {0, 1, 4096, HALF, HALF + 777, N - 1};
    double *p = keep_random(3, N), *w = keep_random(4, N);
    for (int64_t i = 0; i < HALF; i++) {
        p[HALF + i * 4001 % HALF] = p[i];
        w[HALF + i * 4001 % HALF] = -w[i];
    }
    p[N - 1] = ldexp(1, -40);
    w[N - 1] = ldexp(3, -41);
    double *pt = keep_upload(context, p, N * sizeof *p),
           *wt = keep_upload(context, w, N * sizeof *w);
    for (size_t c = 0; c < sizeof cuts / sizeof cuts[0]; c++) {
        gsw_threefold sum = {0, 0, 0};
        for (int piece = 0; piece < 2; piece++) {
            gsw_krylov_state state = gsw_krylov_begin(1e-100, 0, 1000, 1);
            gsw_krylov_state *there = keep_upload(context, &state, sizeof state);
            const int64_t from = piece ? cuts[c] : 0, to = piece ? N : cuts[c];
            void *vectors[] = {pt + from, wt + from};
            must(context,
                 context->ops->krylov->pass(context, GSW_CG_PW, to - from, vectors, there));
            download(context, &state, there, sizeof state);
            gsw_threefold_add(&sum, state.exact);
        }
        ck_assert_double_eq(gsw_threefold_round(&sum), ldexp(3, -81));
    }
}

int main(int argc, char **argv) {
    backend_choose(argc, argv);
    Suite *suite = suite_create("passes");
    TCase *tc = context_case(suite, "passes", 120);
    TESTS(tc, products_end_in_passes);
    LOOPS(tc, LENGTHS, passes_do_what_they_say);
    if (on_cuda())
        TESTS(tc, pieces_have_the_sum_of_the_whole);
    return backend_run_suite(suite);
}
