/* multigrid_product.cu: the triple product R A P of any level, by tables: where couplings are
 * lumped or in fp32; multigrid_slot_product.cu has the others. The threads of a coarse point share
 * the fine rows that restrict to it. Each thread adds the products of all slots of its rows; then
 * the threads' sums are added in a fixed order. */
#include <stdlib.h>

#include "multigrid_tables.cuh"

namespace {

/* A block serves POINTS coarse points, with POINTS threads per share of the fine rows: 3 x 3 x 3
 * rows are nine shares of three. In this way small levels have enough threads. Where a block has
 * too little shared memory for that, it serves half as many: at most 61 KiB. */
enum { POINTS = 32, SHARES = 9, PRODUCTS = 8 };

/* A thread's values in shared memory lie a block's width apart. */
__device__ double &own(double *values, int i) {
    return values[i * (int)blockDim.x + (int)threadIdx.x];
}

struct coarse_arrays {
    int32_t nx, ny, nz;
    double *values[GSW_SLOTS]; /* by slot; NULL: the coarse stencil lacks it */
};

/* What all threads of a launch share. */
template <typename Weight> struct product {
    const transfer_tables *tables;
    row_view view;
    int64_t points;   /* coarse ones */
    int32_t of_block; /* points of a block */
    weight_arrays<Weight> p, r;
};

/* The couplings of a fine row, times its weight. */
template <typename Value>
__device__ void fetch_row(const gsw_transfer *t, const level_matrix &m, row_view view, point fine,
                          double weight, double *couplings) {
    if (view != ROW_PLAIN) {
        for (int slot = 0; slot < GSW_SLOTS; slot++)
            own(couplings, slot) = 0;
        add_row<Value>(t, m, view, fine,
                       [&](int32_t slot, double value) { own(couplings, slot) += weight * value; });
        return;
    }
    const level_row r = level_row_at(m, fine);
    for (int32_t first = 0; first < m.count; first += ROW_BATCH) {
        double value[ROW_BATCH];
#pragma unroll
        for (int k = 0; k < ROW_BATCH; k++)
            value[k] = entry_of<Value>(m, first + k, r);
#pragma unroll
        for (int k = 0; k < ROW_BATCH; k++)
            if (first + k < m.count)
                own(couplings, first + k) = weight * value[k];
    }
}

/* The products of a fine row's couplings with the weights of P. Weights are loaded in batches.
 * Where a coupling leaves the grid it is 0, and any weight serves. Terms are in the order of their
 * targets. */
template <typename Weight>
__device__ void add_products(const product<Weight> &s, const gsw_product_row &row, int64_t i,
                             const double *couplings, double *sum) {
    double part = 0;
    for (int first = row.first; first < row.last; first += PRODUCTS) {
        product_term term[PRODUCTS];
        double weight[PRODUCTS];
#pragma unroll
        for (int k = 0; k < PRODUCTS; k++)
            term[k] = s.tables->term[first + k];
#pragma unroll
        for (int k = 0; k < PRODUCTS; k++) {
            const int64_t at = i + term[k].step;
            weight[k] = 1;
            if (term[k].weight != GSW_WEIGHT_ONE)
                weight[k] =
                    (double)s.p.values[term[k].weight][(uint64_t)at < (uint64_t)s.points ? at : i];
        }
#pragma unroll
        for (int k = 0; k < PRODUCTS; k++) {
            if (first + k >= row.last)
                break;
            part =
                fma(couplings[term[k].from * (int)blockDim.x + (int)threadIdx.x], weight[k], part);
            if (term[k].ends) {
                own(sum, term[k].to) += part;
                part = 0;
            }
        }
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
    if (!mirror)
        return;
    if (inside)
        mirror[row_of(to, at + o)] = value;
    if (!is_inside(to, point{at.x - o.x, at.y - o.y, at.z - o.z}))
        mirror[i] = 0;
}

template <typename Weight, typename Value>
__global__ void __launch_bounds__(POINTS *SHARES)
    multiply(const __grid_constant__ product<Weight> s, const __grid_constant__ level_matrix m,
             const __grid_constant__ coarse_arrays to) {
    extern __shared__ double shared[];
    const gsw_transfer *t = &s.tables->transfer;
    const int lowest = t->symmetric ? (int)GSW_SLOT_CENTER : 0;
    double *sum = shared - lowest * (int)blockDim.x; /* slots before `lowest` have no place */
    double *couplings = shared + (GSW_SLOTS - lowest) * (int)blockDim.x;
    const int share = (int)threadIdx.x / s.of_block, shares = (int)blockDim.x / s.of_block;
    const int place = (int)threadIdx.x % s.of_block; /* among the block's points */
    const int64_t i = (int64_t)blockIdx.x * s.of_block + place;
    const point at = point_of(to, i);
    for (int slot = lowest; slot < GSW_SLOTS; slot++)
        own(sum, slot) = 0;
    for (int j = share; i < s.points && j < t->rows; j += shares) {
        const gsw_product_row &row = t->row[j];
        const point fine = {at.x * (1 + (t->axes & 1)) + row.at[0],
                            at.y * (1 + (t->axes >> 1 & 1)) + row.at[1],
                            at.z * (1 + (t->axes >> 2 & 1)) + row.at[2]};
        if (!is_inside(m, fine))
            continue;
        const point beside = {at.x + row.shift[0], at.y + row.shift[1], at.z + row.shift[2]};
        const double weight =
            row.weight == GSW_WEIGHT_ONE ? 1 : (double)s.r.values[row.weight][row_of(to, beside)];
        fetch_row<Value>(t, m, s.view, fine, weight, couplings);
        add_products(s, row, i, couplings, sum);
    }
    __syncthreads();
    /* The shares' sums in their order, slot by slot; the shares take slots in turn. */
    for (int slot = lowest + share; i < s.points && slot < GSW_SLOTS; slot += shares) {
        double total = 0;
        for (int other = 0; other < shares; other++)
            total += sum[slot * (int)blockDim.x + other * s.of_block + place];
        store_coupling(to, slot, at, i, t->symmetric, total);
    }
}

template <typename Weight, typename Value>
gsw_status launch(gsw_context *context, const gsw_transfer *t, const gsw_matrix *matrix,
                  void *const *prolongation, void *const *restriction, double *const *coarse) {
    const gsw_grid *g = &t->coarse;
    const int64_t points = g->nx * g->ny * g->nz;
    const int shares = t->rows < SHARES ? t->rows : (int)SHARES;
    const row_view view = view_of_rows(t, GSW_ROWS_OF_MATRIX);
    const int sums = t->symmetric ? GSW_SLOTS - GSW_SLOT_CENTER : (int)GSW_SLOTS;
    const int couplings = view == ROW_PLAIN ? matrix->stencil.count : (int)GSW_SLOTS;
    const int of_point = (int)sizeof(double) * shares * (sums + couplings);
    const int of_block =
        POINTS * of_point <= gsw_cuda_of(context)->shared_per_block ? POINTS : POINTS / 2;
    const product<Weight> s = {tables_of(t),
                               view,
                               points,
                               of_block,
                               weights_of<Weight>(t, prolongation),
                               weights_of<Weight>(t, restriction)};
    static_assert(sizeof s + sizeof(level_matrix) + sizeof(coarse_arrays) <= 4096,
                  "what a kernel may be given");
    coarse_arrays to = {(int32_t)g->nx, (int32_t)g->ny, (int32_t)g->nz, {}};
    for (int slot = 0; slot < GSW_SLOTS; slot++)
        to.values[slot] = t->coarse_entry[slot] < 0 ? NULL : coarse[t->coarse_entry[slot]];
    GSW_TRY(gsw_cuda_allow_shared(context, (const void *)multiply<Weight, Value>,
                                  "the triple product"));
    multiply<Weight, Value>
        <<<(unsigned)((points + of_block - 1) / of_block), (unsigned)(of_block * shares),
           (size_t)(of_block * of_point), gsw_cuda_of(context)->stream>>>(
            s, level_matrix_of(matrix), to);
    return gsw_cuda_check_launch(context, "the triple product");
}

/* Fills the device's tables of a transfer. */
void fill_tables(const gsw_transfer *t, transfer_tables *tables) {
    const gsw_grid *g = &t->coarse;
    tables->transfer = *t;
    tables->transfer.tables = NULL;
    int8_t place[GSW_SLOTS];
    for (int8_t slot = 0; slot < GSW_SLOTS; slot++)
        place[slot] = slot;
    for (int32_t e = 0; t->plain && e < t->fine_stencil.count; e++)
        if (t->lumps[e])
            place[t->lump[e][0].slot] = (int8_t)e;
    for (int32_t j = 0; j < t->rows; j++) {
        const gsw_product_row *row = &t->row[j];
        int32_t next[GSW_SLOTS + 1] = {row->first}; /* place of the next term to each slot */
        for (int32_t i = row->first; i < row->last; i++)
            next[t->product_term[i].to + 1]++;
        for (int to = 0; to < GSW_SLOTS; to++)
            next[to + 1] += next[to];
        for (int32_t i = row->first; i < row->last; i++) {
            const gsw_product_term *term = &t->product_term[i];
            tables->term[next[term->to]++] = {
                (int32_t)gsw_grid_row(g, term->shift[0], term->shift[1], term->shift[2]),
                (int8_t)term->weight, (int8_t)term->to, place[term->slot], 0};
        }
        for (int to = 0; to < GSW_SLOTS; to++)
            if (next[to] > row->first)
                tables->term[next[to] - 1].ends = 1;
    }
}

} // namespace

gsw_status gsw_cuda_transfer_open(gsw_context *context, gsw_transfer *transfer) {
    void *made;
    GSW_TRY(gsw_alloc(context, 1, sizeof(transfer_tables), "a transfer", &made));
    memset(made, 0, sizeof(transfer_tables));
    fill_tables(transfer, static_cast<transfer_tables *>(made));
    gsw_status status =
        context->ops->memory->reserve(context, sizeof(transfer_tables), &transfer->tables);
    if (status == GSW_SUCCESS)
        status =
            context->ops->memory->upload(context, transfer->tables, made, sizeof(transfer_tables));
    free(made);
    return status;
}

void gsw_cuda_transfer_close(gsw_context *context, gsw_transfer *transfer) {
    if (transfer->tables)
        context->ops->memory->unreserve(context, transfer->tables);
    transfer->tables = NULL;
}

gsw_status gsw_cuda_triple(gsw_context *context, const gsw_transfer *transfer,
                           const gsw_matrix *matrix, gsw_dtype type, void *const *prolongation,
                           void *const *restriction, double *const *coarse) {
    const bool f32 = holds_f32(matrix);
    if (gsw_cuda_has_slots(transfer, matrix))
        return gsw_cuda_multiply_slots(context, transfer, matrix, type, prolongation, restriction,
                                       coarse);
    const auto make = type == GSW_F64 ? f32 ? launch<double, float> : launch<double, double>
                      : f32 ? launch<float, float>
                                      : launch<float, double>;
    return make(context, transfer, matrix, prolongation, restriction, coarse);
}
