/* multigrid_product.cu: the triple product R A P. A thread makes one coarse row: it goes through
 * the fine rows that restrict to its point, and through the products of each of their slots. */
#include <stdlib.h>

#include "cuda/multigrid_tables.cuh"

namespace {

enum { THREADS = 128 };

__device__ double &own(double *values, int i) {
    return values[i * THREADS + threadIdx.x];
}

struct coarse_arrays {
    int32_t nx, ny, nz;
    double *values[GSW_SLOTS]; /* by slot; NULL: the coarse stencil lacks it */
};

/* sum[to] += scaled * weight for all products of a slot. */
template <typename Weight>
__device__ void add_products(const transfer_tables *tables, const weight_arrays<Weight> &p,
                             int first, int last, int64_t i, double scaled, double *sum) {
    for (int k = first; k < last; k++) {
        const product_term term = tables->term[k];
        const double weight =
            term.weight == GSW_WEIGHT_ONE ? 1 : (double)p.values[term.weight][i + term.step];
        own(sum, term.to) = fma(scaled, weight, own(sum, term.to));
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
__global__ void __launch_bounds__(THREADS)
    multiply(const transfer_tables *tables, const __grid_constant__ level_matrix m, row_view view,
             const __grid_constant__ weight_arrays<Weight> p,
             const __grid_constant__ weight_arrays<Weight> r,
             const __grid_constant__ coarse_arrays to, int64_t points) {
    extern __shared__ double shared[];
    double *sum = shared, *slots = shared + GSW_SLOTS * THREADS; /* slots: where not plain */
    const gsw_transfer *t = &tables->transfer;
    const int lowest = t->symmetric ? (int)GSW_SLOT_CENTER : 0;
    for (int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x; i < points;
         i += (int64_t)gridDim.x * THREADS) {
        const point at = point_of(to, i);
        for (int slot = lowest; slot < GSW_SLOTS; slot++)
            own(sum, slot) = 0;
        for (int j = 0; j < t->rows; j++) {
            const gsw_product_row &row = t->row[j];
            const point fine = {at.x * (1 + (t->axes & 1)) + row.at[0],
                                at.y * (1 + (t->axes >> 1 & 1)) + row.at[1],
                                at.z * (1 + (t->axes >> 2 & 1)) + row.at[2]};
            if (!is_inside(m, fine))
                continue;
            const point beside = {at.x + row.shift[0], at.y + row.shift[1], at.z + row.shift[2]};
            const double weight =
                row.weight == GSW_WEIGHT_ONE ? 1 : (double)r.values[row.weight][row_of(to, beside)];
            const int16_t *first = tables->first[j];
            if (view == ROW_PLAIN) {
                const int64_t fine_row = row_of(m, fine);
                for (int32_t e = 0; e < m.count; e++) {
                    const int slot = t->lump[e][0].slot;
                    if (t->lumps[e] == 0 || !m.values[e] || !is_inside(m, fine + offset_of(m, e)))
                        continue;
                    add_products(tables, p, first[slot], first[slot + 1], i,
                                 weight * value_of(m, e, fine_row), sum);
                }
                continue;
            }
            for (int slot = 0; slot < GSW_SLOTS; slot++)
                own(slots, slot) = 0;
            add_row(t, m, view, fine,
                    [&](int32_t slot, double value) { own(slots, slot) += value; });
            for (int slot = 0; slot < GSW_SLOTS; slot++) {
                const point o = {gsw_slot_offset(slot, 0), gsw_slot_offset(slot, 1),
                                 gsw_slot_offset(slot, 2)};
                if (is_inside(m, fine + o)) /* else the coupling is 0 */
                    add_products(tables, p, first[slot], first[slot + 1], i,
                                 weight * own(slots, slot), sum);
            }
        }
        for (int slot = lowest; slot < GSW_SLOTS; slot++)
            store_coupling(to, slot, at, i, t->symmetric, own(sum, slot));
    }
}

template <typename Weight>
gsw_status launch(gsw_context *context, const gsw_transfer *t, const gsw_matrix *matrix,
                  void *const *prolongation, void *const *restriction, double *const *coarse) {
    const gsw_grid *g = &t->coarse;
    const int64_t points = g->nx * g->ny * g->nz, blocks = (points + THREADS - 1) / THREADS;
    const row_view view = view_of_rows(t, false);
    coarse_arrays to = {(int32_t)g->nx, (int32_t)g->ny, (int32_t)g->nz, {}};
    for (int slot = 0; slot < GSW_SLOTS; slot++)
        to.values[slot] = t->coarse_entry[slot] < 0 ? NULL : coarse[t->coarse_entry[slot]];
    const size_t bytes = sizeof(double) * THREADS * GSW_SLOTS * (view == ROW_PLAIN ? 1 : 2);
    GSW_TRY(gsw_cuda_check(context,
                           cudaFuncSetAttribute(multiply<Weight>,
                                                cudaFuncAttributeMaxDynamicSharedMemorySize,
                                                (int)(sizeof(double) * THREADS * GSW_SLOTS * 2)),
                           "the triple product"));
    multiply<Weight><<<(unsigned)blocks, THREADS, bytes, gsw_cuda_of(context)->stream>>>(
        tables_of(t), level_matrix_of(matrix), view, weights_of<Weight>(t, prolongation),
        weights_of<Weight>(t, restriction), to, points);
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
