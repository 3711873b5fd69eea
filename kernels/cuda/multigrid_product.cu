/* multigrid_product.cu: the triple product R A P. The threads of a coarse point share the fine rows
 * that restrict to it. Each goes through its rows, and through the products of each of their slots;
 * then their sums are added in a fixed order. */
#include <stdlib.h>

#include "cuda/multigrid_tables.cuh"

namespace {

/* A block serves so many coarse points, with one warp for each share of the fine rows: 3 x 3 x 3
 * rows are nine shares of three. Small levels get threads enough in this way. */
enum { POINTS = 32, SHARES = 9, BATCH = 9, PRODUCTS = 8 };

/* A thread's values in shared memory lie a block's width apart. */
__device__ double &own(double *values, int i) {
    return values[i * blockDim.x + threadIdx.x];
}

struct coarse_arrays {
    int32_t nx, ny, nz;
    double *values[GSW_SLOTS]; /* by slot; NULL: the coarse stencil lacks it */
};

/* Slots of a plain view's couplings; -1: none. A parameter of kernels. */
struct slot_list {
    int8_t of[GSW_STENCIL_MAX];
};

/* What all threads of a launch share. */
template <typename Weight> struct product {
    const transfer_tables *tables;
    row_view view;
    slot_list slots;
    weight_arrays<Weight> p, r;
};

/* sum[to] += scaled * weight for all products of a slot. All weights are asked for at once. */
template <typename Weight>
__device__ void add_products(const product<Weight> &s, int first, int last, int64_t i,
                             double scaled, double *sum) {
    for (int k = first; k < last; k += PRODUCTS) {
        product_term term[PRODUCTS];
        double weight[PRODUCTS];
#pragma unroll
        for (int j = 0; j < PRODUCTS; j++)
            term[j] = s.tables->term[k + j < last ? k + j : first];
#pragma unroll
        for (int j = 0; j < PRODUCTS; j++)
            weight[j] = term[j].weight == GSW_WEIGHT_ONE
                            ? 1
                            : (double)s.p.values[term[j].weight][i + term[j].step];
#pragma unroll
        for (int j = 0; j < PRODUCTS; j++)
            if (k + j < last)
                own(sum, term[j].to) = fma(scaled, weight[j], own(sum, term[j].to));
    }
}

/* The products of a fine row, times its weight, of a plain view: couplings are fetched in batches.
 */
template <typename Weight>
__device__ void add_plain_row(const product<Weight> &s, const level_matrix &m, point fine,
                              const int16_t *first, int64_t i, double weight, double *sum) {
    const int64_t row = row_of(m, fine);
    for (int32_t e = 0; e < m.count; e += BATCH) {
        double value[BATCH];
#pragma unroll
        for (int k = 0; k < BATCH; k++) {
            const bool there = e + k < m.count && s.slots.of[e + k] >= 0 && m.values[e + k] &&
                               is_inside(m, fine + offset_of(m, e + k));
            value[k] = there ? value_of(m, e + k, row) : 0;
        }
#pragma unroll
        for (int k = 0; k < BATCH; k++) {
            if (e + k < m.count && s.slots.of[e + k] >= 0 &&
                is_inside(m, fine + offset_of(m, e + k))) {
                const int slot = s.slots.of[e + k];
                add_products(s, first[slot], first[slot + 1], i, weight * value[k], sum);
            }
        }
    }
}

/* The same of other views, whose couplings are added up in slots first. */
template <typename Weight>
__device__ void add_lumped_row(const product<Weight> &s, const level_matrix &m, point fine,
                               const int16_t *first, int64_t i, double weight, double *sum,
                               double *slots) {
    for (int slot = 0; slot < GSW_SLOTS; slot++)
        own(slots, slot) = 0;
    add_row(&s.tables->transfer, m, s.view, fine,
            [&](int32_t slot, double value) { own(slots, slot) += value; });
    for (int slot = 0; slot < GSW_SLOTS; slot++) {
        const point o = {gsw_slot_offset(slot, 0), gsw_slot_offset(slot, 1),
                         gsw_slot_offset(slot, 2)};
        if (is_inside(m, fine + o)) /* else the coupling is 0 */
            add_products(s, first[slot], first[slot + 1], i, weight * own(slots, slot), sum);
    }
}

/* Stores a coarse row's coupling, zeros where it leaves the grid, and the mirror image of one from
 * the upper part of a symmetric product. */
__device__ void store_coupling(const coarse_arrays &to, int slot, point at, int64_t i, bool both,
                               double value) {
    if (!to.values[slot])
        return;
    const point o = {gsw_slot_offset(slot, 0), gsw_slot_offset(slot, 1), gsw_slot_offset(slot, 2)};
    const bool inside = is_inside(to, at + o);
    to.values[slot][i] = inside ? value : 0;
    if (!both || slot == GSW_SLOT_CENTER)
        return;
    double *mirror = to.values[gsw_slot_mirror(slot)];
    if (inside)
        mirror[row_of(to, at + o)] = value;
    if (!is_inside(to, point{at.x - o.x, at.y - o.y, at.z - o.z}))
        mirror[i] = 0;
}

template <typename Weight>
__global__ void __launch_bounds__(POINTS *SHARES)
    multiply(const __grid_constant__ product<Weight> s, const __grid_constant__ level_matrix m,
             const __grid_constant__ coarse_arrays to, int64_t points) {
    extern __shared__ double shared[];
    const gsw_transfer *t = &s.tables->transfer;
    const int lowest = t->symmetric ? (int)GSW_SLOT_CENTER : 0;
    double *sum = shared - (size_t)lowest * blockDim.x; /* slots before `lowest` have no place */
    double *slots = shared + (size_t)(GSW_SLOTS - lowest) * blockDim.x; /* where not plain */
    const int share = (int)threadIdx.x / POINTS, shares = (int)blockDim.x / POINTS;
    const int64_t i = (int64_t)blockIdx.x * POINTS + threadIdx.x % POINTS;
    const point at = point_of(to, i);
    for (int slot = lowest; slot < GSW_SLOTS; slot++)
        own(sum, slot) = 0;
    for (int j = share; i < points && j < t->rows; j += shares) {
        const gsw_product_row &row = t->row[j];
        const point fine = {at.x * (1 + (t->axes & 1)) + row.at[0],
                            at.y * (1 + (t->axes >> 1 & 1)) + row.at[1],
                            at.z * (1 + (t->axes >> 2 & 1)) + row.at[2]};
        if (!is_inside(m, fine))
            continue;
        const point beside = {at.x + row.shift[0], at.y + row.shift[1], at.z + row.shift[2]};
        const double weight =
            row.weight == GSW_WEIGHT_ONE ? 1 : (double)s.r.values[row.weight][row_of(to, beside)];
        if (s.view == ROW_PLAIN)
            add_plain_row(s, m, fine, s.tables->first[j], i, weight, sum);
        else
            add_lumped_row(s, m, fine, s.tables->first[j], i, weight, sum, slots);
    }
    __syncthreads();
    /* The shares' sums in their order, slot by slot; the warps take slots in turn. */
    for (int slot = lowest + share; i < points && slot < GSW_SLOTS; slot += shares) {
        double total = 0;
        for (int other = 0; other < shares; other++)
            total += sum[slot * (int)blockDim.x + other * POINTS + (int)threadIdx.x % POINTS];
        store_coupling(to, slot, at, i, t->symmetric, total);
    }
}

template <typename Weight>
gsw_status launch(gsw_context *context, const gsw_transfer *t, const gsw_matrix *matrix,
                  void *const *prolongation, void *const *restriction, double *const *coarse) {
    const gsw_grid *g = &t->coarse;
    const int64_t points = g->nx * g->ny * g->nz, blocks = (points + POINTS - 1) / POINTS;
    const int shares = t->rows < SHARES ? t->rows : (int)SHARES;
    product<Weight> s = {tables_of(t),
                         view_of_rows(t, false),
                         {},
                         weights_of<Weight>(t, prolongation),
                         weights_of<Weight>(t, restriction)};
    static_assert(sizeof s + sizeof(level_matrix) + sizeof(coarse_arrays) <= 4000,
                  "what a kernel may be given");
    for (int32_t e = 0; e < matrix->stencil.count; e++)
        s.slots.of[e] = (int8_t)(t->lumps[e] ? t->lump[e][0].slot : -1);
    coarse_arrays to = {(int32_t)g->nx, (int32_t)g->ny, (int32_t)g->nz, {}};
    for (int slot = 0; slot < GSW_SLOTS; slot++)
        to.values[slot] = t->coarse_entry[slot] < 0 ? NULL : coarse[t->coarse_entry[slot]];
    const size_t slot_bytes = sizeof(double) * POINTS * (size_t)shares;
    const size_t bytes =
        slot_bytes * (size_t)((t->symmetric ? GSW_SLOTS - GSW_SLOT_CENTER : (int)GSW_SLOTS) +
                              (s.view == ROW_PLAIN ? 0 : (int)GSW_SLOTS));
    GSW_TRY(gsw_cuda_check(
        context,
        cudaFuncSetAttribute(multiply<Weight>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                             (int)(sizeof(double) * POINTS * SHARES * 2 * GSW_SLOTS)),
        "the triple product"));
    multiply<Weight>
        <<<(unsigned)blocks, (unsigned)(POINTS * shares), bytes, gsw_cuda_of(context)->stream>>>(
            s, level_matrix_of(matrix), to, points);
    return gsw_cuda_check_launch(context, "the triple product");
}

/* What the device keeps of a transfer. */
void fill_tables(const gsw_transfer *t, transfer_tables *tables) {
    const gsw_grid *g = &t->coarse;
    tables->transfer = *t;
    tables->transfer.tables = NULL;
    for (int32_t i = 0; i < t->row[t->rows - 1].last; i++) {
        const gsw_product_term *term = &t->product_term[i];
        tables->term[i] = {(int32_t)gsw_grid_row(g, term->shift[0], term->shift[1], term->shift[2]),
                           term->weight, term->to};
    }
    for (int32_t j = 0; j < t->rows; j++) {
        int16_t next = t->row[j].first;
        for (int16_t slot = 0; slot < GSW_SLOTS; slot++) {
            tables->first[j][slot] = next;
            while (next < t->row[j].last && t->product_term[next].slot == slot)
                next++;
        }
        tables->first[j][GSW_SLOTS] = next;
    }
}

} // namespace

gsw_status gsw_cuda_transfer_open(gsw_context *context, gsw_transfer *transfer) {
    void *made;
    GSW_TRY(gsw_alloc(context, 1, sizeof(transfer_tables), "a transfer", &made));
    memset(made, 0, sizeof(transfer_tables));
    fill_tables(transfer, static_cast<transfer_tables *>(made));
    gsw_status status = context->ops->reserve(context, sizeof(transfer_tables), &transfer->tables);
    if (status == GSW_SUCCESS)
        status = context->ops->upload(context, transfer->tables, made, sizeof(transfer_tables));
    free(made);
    return status;
}

void gsw_cuda_transfer_close(gsw_context *context, gsw_transfer *transfer) {
    if (transfer->tables)
        context->ops->release(context, transfer->tables);
    transfer->tables = NULL;
}

gsw_status gsw_cuda_triple(gsw_context *context, const gsw_transfer *transfer,
                           const gsw_matrix *matrix, gsw_dtype type, void *const *prolongation,
                           void *const *restriction, double *const *coarse) {
    return type == GSW_F64
               ? launch<double>(context, transfer, matrix, prolongation, restriction, coarse)
               : launch<float>(context, transfer, matrix, prolongation, restriction, coarse);
}
