/* vector.c: see vector.h. Sums have three words, so they are nearly always the double next to the
 * true sum. */
#include "reference/vector.h"
#include "common/csr.h"
#include "reference/rows.h"

/* ---- Vectors ----------------------------------------------------------------------------------
 */

gsw_status gsw_reference_fill(gsw_context *context, int64_t n, double a, double *x) {
    (void)context;
    for (int64_t i = 0; i < n; i++)
        x[i] = a;
    return GSW_SUCCESS;
}

gsw_status gsw_reference_copy(gsw_context *context, int64_t n, const double *x, double *y) {
    (void)context;
    for (int64_t i = 0; i < n; i++)
        y[i] = x[i];
    return GSW_SUCCESS;
}

gsw_status gsw_reference_axpby(gsw_context *context, int64_t n, double a, const double *x, double b,
                               double *y) {
    (void)context;
    for (int64_t i = 0; i < n; i++)
        y[i] = b == 0 ? a * x[i] : fma(a, x[i], b * y[i]);
    return GSW_SUCCESS;
}

gsw_status gsw_reference_add_scaled(gsw_context *context, int64_t n, const double *d,
                                    const double *x, const double *y, double *z) {
    (void)context;
    for (int64_t i = 0; i < n; i++)
        z[i] = y == NULL ? d[i] * x[i] : fma(d[i], x[i], y[i]);
    return GSW_SUCCESS;
}

gsw_status gsw_reference_change_signs(gsw_context *context, int64_t n, const double *x, double *y) {
    (void)context;
    for (int64_t i = 0; i < n; i++)
        y[i] = gsw_changes_sign(i) ? -x[i] : x[i];
    return GSW_SUCCESS;
}

/* x'y, where y is of `type`. */
static gsw_threefold product_of(int64_t n, const double *x, gsw_dtype type, const void *y) {
    gsw_threefold sum = {0, 0, 0};
    for (int64_t i = 0; i < n; i++) {
        const double value = gsw_value_at(y, type, i), product = x[i] * value;
        const gsw_threefold term = {product, fma(x[i], value, -product), 0};
        gsw_threefold_add(&sum, &term);
    }
    return sum;
}

static double dot(int64_t n, const double *x, const double *y) {
    const gsw_threefold sum = product_of(n, x, GSW_F64, y);
    return gsw_threefold_round(&sum);
}

gsw_status gsw_reference_dot(gsw_context *context, int64_t n, const double *x, const double *y,
                             double *result) {
    (void)context;
    *result = dot(n, x, y);
    return GSW_SUCCESS;
}

/* ---- What the Krylov methods do to vectors ----------------------------------------------------
 */

gsw_status gsw_reference_project(gsw_context *context, int64_t n, int64_t count, const double *x,
                                 int64_t stride, const double *y, double *products) {
    (void)context;
    for (int64_t j = 0; j < count; j++)
        products[j] = dot(n, x + j * stride, y);
    return GSW_SUCCESS;
}

gsw_status gsw_reference_subtract(gsw_context *context, int64_t n, int64_t count, const double *c,
                                  const double *x, int64_t stride, double *y, double *square) {
    (void)context;
    for (int64_t j = 0; j < count; j++)
        for (int64_t i = 0; i < n; i++)
            y[i] = fma(-c[j], x[j * stride + i], y[i]);
    *square = dot(n, y, y);
    return GSW_SUCCESS;
}

gsw_status gsw_reference_krylov_pass(gsw_context *context, gsw_pass which, int64_t n,
                                     void *const *vectors, gsw_krylov_state *state) {
    const gsw_pass_shape *shape = &gsw_pass_shapes[which];
    const int32_t narrow = shape->vectors - shape->narrow; /* the first one that is fp32 */
    gsw_threefold sums[GSW_PASS_PRODUCTS] = {{0, 0, 0}};
    (void)context;
    if (state->ended != GSW_END_NOT)
        return GSW_SUCCESS;
    for (int u = 0; u < shape->updates; u++) {
        const int32_t to = shape->update[u].to, from = shape->update[u].from;
        const gsw_dtype to_type = to < narrow ? GSW_F64 : GSW_F32;
        const gsw_dtype from_type = from < narrow ? GSW_F64 : GSW_F32;
        const double a = state->coefficient[shape->update[u].a];
        const double b = state->coefficient[shape->update[u].b];
        for (int64_t i = 0; i < n; i++) {
            const double x = gsw_value_at(vectors[from], from_type, i);
            gsw_value_put(vectors[to], to_type, i,
                          b == 0 ? a * x : fma(a, x, b * gsw_value_at(vectors[to], to_type, i)));
        }
    }
    for (int d = 0; d < shape->products; d++) {
        const int32_t right = shape->product[d].right;
        sums[d] = product_of(n, vectors[shape->product[d].left], right < narrow ? GSW_F64 : GSW_F32,
                             vectors[right]);
    }
    gsw_krylov_end_pass(state, which, sums, shape->products);
    return GSW_SUCCESS;
}

/* ---- Products ---------------------------------------------------------------------------------
 */

gsw_status gsw_reference_spmv(gsw_context *context, const gsw_matrix *matrix, gsw_dtype type,
                              const void *b, const void *x, void *y) {
    const int64_t n = gsw_reference_points(&matrix->grid);
    (void)context;
    for (int64_t row = 0; row < n; row++) {
        const double sum = b ? gsw_value_at(b, type, row) : 0;
        gsw_value_put(y, type, row,
                      gsw_reference_row_product(matrix, row, type, sum, b != NULL, x));
    }
    return GSW_SUCCESS;
}

gsw_status gsw_reference_multiply(gsw_context *context, const gsw_matrix *matrix, int count,
                                  const double *x, double *y, int64_t stride) {
    for (int j = 0; j < count; j++)
        (void)gsw_reference_spmv(context, matrix, GSW_F64, NULL, x + j * stride, y + j * stride);
    return GSW_SUCCESS;
}

/* x at a point, if it is in the patch. */
static int find_in_patch(const gsw_patch *patch, gsw_reference_point p, double *x) {
    const int64_t *begin = patch->begin, *end = patch->end;
    if (p.x < begin[0] || p.x >= end[0] || p.y < begin[1] || p.y >= end[1] || p.z < begin[2] ||
        p.z >= end[2])
        return 0;
    const int64_t nx = end[0] - begin[0], ny = end[1] - begin[1];
    *x = patch->x[p.x - begin[0] + nx * (p.y - begin[1] + ny * (p.z - begin[2]))];
    return 1;
}

static double couple_row(const gsw_couple *job, gsw_reference_point p, int64_t row) {
    const gsw_stencil *stencil = &job->matrix->stencil;
    double sum = 0, a, x;
    for (int32_t e = 0; e < stencil->count; e++) {
        const gsw_offset o = stencil->offsets[e];
        const gsw_reference_point to = {p.x + o.dx, p.y + o.dy, p.z + o.dz};
        if (!gsw_reference_stored(job->matrix, row, e, &a))
            continue;
        for (int k = 0; k < job->patches; k++)
            if (find_in_patch(&job->patch[k], to, &x))
                sum = fma(a, x, sum);
    }
    return sum;
}

gsw_status gsw_reference_couple(gsw_context *context, const gsw_couple *job) {
    (void)context;
    for (int64_t z = job->begin[2]; z < job->end[2]; z++)
        for (int64_t y = job->begin[1]; y < job->end[1]; y++)
            for (int64_t x = job->begin[0]; x < job->end[0]; x++) {
                const int64_t row = gsw_grid_row(&job->matrix->grid, x, y, z);
                job->y[row] = couple_row(job, (gsw_reference_point){x, y, z}, row);
            }
    return GSW_SUCCESS;
}
