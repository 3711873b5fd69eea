/* pack.cu: from the user's matrix to packed factors and back.
 *
 * UNIT OF WORK. A block fills a run of records of one pencil of one part. No block waits for
 * another. Each block writes every place of its records once.
 *
 * ORDER. A record holds the lines of a pencil at different x; the matrix holds the x of one line
 * side by side. So a block brings coefficients in the order of the matrix into a buffer in shared
 * memory, and writes whole records from it. In a run of records each line's points are an interval
 * of x, or two intervals where the line ends in the run. The block reads them in the order of x
 * modulo the run's length. So reads begin at the start of memory sectors. If the axes are turned,
 * so that the neighbours in memory are neighbouring lines, the block reads these together.
 *
 * SOURCES. Stencil arrays, also those whose values repeat, and CSR that is packed transposed, are
 * gathered coefficient by coefficient (pack_gathered). Other CSR is read by rows (pack_csr_rows).
 * Normally a row has the number of entries that its place in the grid implies. It is then read
 * entry by entry, as it lies in memory, and its columns are compared with those expected. One
 * thread merges any other row with the stencil. */
#include <stdlib.h>
#include <string.h>

#include "pack.cuh"
#include "pack_kernels.cuh"
#include "common/arrays.h"
#include "cuda/rows/rows.cuh"

namespace {

/* ---- Plans ------------------------------------------------------------------------------------
 */

/* The matrix that a part is taken from. */
struct pack_origin {
    const gsw_matrix *matrix;
    bool transposed; /* entries (row + step, row) */
};

/* A slab of several does not have the mirror image of its last rows, so it reads both parts. */
pack_origin origin_of(const gsw_factor_options *options, bool of_slab, const gsw_matrix *matrix,
                      const gsw_matrix *upper, int part) {
    const bool transpose = options->transpose != 0;
    if (options->kind == GSW_IC0) /* symmetric: the upper part is the lower part's mirror image */
        return {matrix, part == 1 && !of_slab};
    if (options->kind == GSW_FACTOR_LU)
        return {(part == 1) != transpose ? upper : matrix, transpose};
    return {matrix, transpose};
}

/* Index in shape's couplings of the one with the next larger source than `last`. */
int32_t next_source(const gsw_shape *shape, int32_t last) {
    int32_t next = -1;
    for (int32_t j = 0; j < shape->count; j++) {
        if (shape->source[j] > last && (next < 0 || shape->source[j] < shape->source[next]))
            next = j;
    }
    return next;
}

/* Couplings of the parts, in the order of the columns of a row, and how far they reach. */
void plan_taps(pack_plan *plan, const gsw_tiles *tiles) {
    const gsw_shape *lower = &tiles->part[0], *upper = &tiles->part[1];
    plan->taps = lower->count + 1 + upper->count;
    plan->center = lower->count;
    int32_t last = -1;
    for (int32_t t = 0; t < plan->taps; t++) {
        const int part = t > plan->center;
        const gsw_shape *shape = part ? upper : lower;
        gsw_offset o = {0, 0, 0};
        plan->term_of[t] = (uint8_t)plan->terms;
        if (t == plan->center) {
            last = -1;
        } else {
            const int32_t j = next_source(shape, last);
            last = shape->source[j];
            o = shape->offset[j];
            if (part)
                o = {-o.dx, -o.dy, -o.dz};
            if (part == plan->upper) {
                plan->term_of[t] = (uint8_t)j;
                plan->tap_of[j] = (uint8_t)t;
            }
        }
        const int32_t size[3] = {abs(o.dx), abs(o.dy), abs(o.dz)};
        for (int axis = 0; axis < 3; axis++) {
            if (plan->margin[axis] < size[axis])
                plan->margin[axis] = size[axis];
        }
        plan->tap[t] = {o.dx * tiles->stride[0] + o.dy * tiles->stride[1] + o.dz * tiles->stride[2],
                        (int16_t)o.dx, (int16_t)o.dy, (int16_t)o.dz};
    }
}

/* Fills everything except run_bits, pass and jobs. */
void plan_part(pack_plan *plan, const gsw_factor *factor, int part) {
    const gsw_packed_view *view = &factor->packed->view[part];
    const gsw_tiles *t = &view->tiles;
    const gsw_factor_options *options = &factor->options;
    memset(plan, 0, sizeof *plan);
    plan->upper = part;
    plan->nx = (int32_t)t->nx;
    plan->ny = (int32_t)t->ny;
    plan->nz = (int32_t)t->nz;
    memcpy(plan->stride, t->stride, sizeof plan->stride);
    plan->lanes_y = t->tile.lanes_y;
    while (1 << plan->lanes_bits < plan->lanes_y)
        plan->lanes_bits++;
    plan->lines_y = t->tile.lines_y;
    plan->lines_z = t->tile.lines_z;
    plan->pad_y = part ? (int32_t)(t->tiles_y * t->tile_y - t->width) : 0;
    plan->pad_z = part ? (int32_t)(t->tiles_z * t->tile_z - t->nz) : 0;
    plan->tile_y = t->tile_y;
    plan->tile_z = t->tile_z;
    plan->shear = t->shear;
    plan->skew_y = t->skew_y;
    plan->skew_z = t->skew_z;
    plan->records = (int32_t)t->records;
    plan->pencils = view->stored;
    plan->table = view->writers;
    plan->values = view->values;
    plan->terms = view->terms;
    plan->members = view->members;
    plan->vector = view->vector;
    plan->diagonal = view->diagonal;
    plan->raw = gsw_eliminates(options->kind);
    plan->scale = view->scale && !plan->raw;
    plan->guard = options->kind == GSW_SSOR;
    plan->counts = part == 0;
    plan->pivot_shift = options->pivot_shift;
    plan->diagonal_factor = plan->scale_factor = 1;
    if (options->kind == GSW_SSOR) {
        plan->diagonal_factor = options->omega * (2 - options->omega);
        plan->scale_factor = options->omega;
    }
    plan->pivots = factor->packed->pivots;
    plan_taps(plan, t);
}

/* Index in the user's stencil arrays of the plan's coupling t. */
int32_t entry_of(const gsw_factor *factor, const pack_plan *plan, const pack_origin *origin,
                 int32_t t) {
    const gsw_tiles *tiles = &factor->packed->view[plan->upper].tiles;
    const int32_t count = origin->matrix->stencil.count;
    if (t == plan->center)
        return origin->matrix->stencil.center;
    const gsw_shape *shape = &tiles->part[t > plan->center];
    int32_t e = -1;
    for (int32_t i = t > plan->center ? plan->center + 1 : 0; i <= t; i++)
        e = shape->source[next_source(shape, e)];
    return origin->transposed ? count - 1 - e : e; /* offsets ascend: the mirrored one */
}

/* values + rows, which need not lie in the array. NULL stays NULL. */
template <typename Value> const Value *shifted(const void *values, int64_t rows) {
    return values ? reinterpret_cast<const Value *>(reinterpret_cast<uintptr_t>(values) +
                                                    (uintptr_t)rows * sizeof(Value))
                  : NULL;
}

/* The user's array for the plan's coupling t, so that its value in a row is the row's coefficient.
 * NULL: zeros. */
template <typename Value>
const Value *array_of(const gsw_factor *factor, const pack_plan *plan, const pack_origin *origin,
                      int32_t t) {
    const void *values = origin->matrix->array.values[entry_of(factor, plan, origin, t)];
    return shifted<Value>(values,
                          (origin->transposed ? plan->tap[t].step : 0) - gsw_points_below(factor));
}

/* Entries of a matrix that holds couplings first..last-1 wherever they stay in the grid. */
uint64_t entries_of_couplings(const pack_plan *plan, bool transposed, int32_t first, int32_t last) {
    uint64_t entries = 0;
    for (int32_t i = first; i < last; i++) {
        const pack_tap &tap = plan->tap[transposed ? plan->taps - 1 - i : i];
        entries += (uint64_t)(plan->nx - abs(tap.dx)) * (uint64_t)(plan->ny - abs(tap.dy)) *
                   (uint64_t)(plan->nz - abs(tap.dz));
    }
    return entries;
}

/* Guesses from the number of entries which couplings a CSR holds: all, or one part, with or without
 * the diagonal. It tries the part that is needed first. */
void guess_couplings(const pack_plan *plan, const gsw_csr *matrix, bool transposed, int32_t *first,
                     int32_t *last) {
    const int32_t all = plan->taps, center = transposed ? all - 1 - plan->center : plan->center;
    const int32_t lower[2][2] = {{0, center + 1}, {0, center}};
    const int32_t upper[2][2] = {{center, all}, {center + 1, all}};
    const bool wants_upper = (plan->upper != 0) != transposed;
    *first = 0;
    *last = all;
    if (entries_of_couplings(plan, transposed, 0, all) == (uint64_t)matrix->nonzeros)
        return;
    for (int i = 0; i < 4; i++) {
        const int32_t *range = (i < 2) == wants_upper ? upper[i % 2] : lower[i % 2];
        if (range[0] < range[1] && entries_of_couplings(plan, transposed, range[0], range[1]) ==
                                       (uint64_t)matrix->nonzeros) {
            *first = range[0];
            *last = range[1];
            return;
        }
    }
}

template <typename Index, typename Value>
void plan_csr(pack_csr<Index, Value> *csr, const gsw_factor *factor, const pack_plan *plan,
              const pack_origin *origin) {
    const gsw_csr *matrix = &origin->matrix->csr;
    csr->row_ptr = static_cast<const Index *>(matrix->row_ptr);
    csr->columns = static_cast<const Index *>(matrix->columns);
    csr->values = static_cast<const Value *>(matrix->values);
    csr->nonzeros = matrix->nonzeros;
    csr->base = matrix->base;
    csr->transposed = origin->transposed;
    guess_couplings(plan, matrix, origin->transposed, &csr->first, &csr->last);
    /* The lower part, which is packed first, has checked the columns of whole rows. */
    const gsw_factor_kind kind = factor->options.kind;
    const bool both_from_one = kind == GSW_ILU0 || kind == GSW_DILU || kind == GSW_SSOR;
    csr->check = !(both_from_one && plan->upper && csr->first == 0 && csr->last == plan->taps);
}

/* ---- Launching --------------------------------------------------------------------------------
 */

/* Shared memory that leaves room for five blocks on a multiprocessor, and the limit that needs no
 * attribute of the kernel. */
enum { COMFORTABLE_BYTES = 44 * 1024, ANY_BYTES = 48 * 1024 };

/* Records of a run: 1 << these. Gathering needs runs of whole cache lines, and four points for each
 * thread; the entries of a CSR's rows are contiguous in any case. */
enum { GATHER_RUN_BITS = 5, CSR_RUN_BITS = 5, LEAST_RUN_BITS = 3 };

/* Terms of a pass: pack_target.there has a bit for each. */
enum { PASS_TERMS_MAX = 32 };

/* Chooses the run's length and the number of coefficients per pass; returns the bytes of shared
 * memory. If not all coefficients fit, gathering brings fewer at a time. Rows of a CSR are checked
 * only once, so there the run is shorter instead. */
template <typename Value> size_t plan_runs(pack_plan *plan, bool csr_rows) {
    const int32_t total = (int32_t)coefficients_of(*plan), vector = plan->vector;
    plan->run_bits = csr_rows ? CSR_RUN_BITS : GATHER_RUN_BITS - (plan->members - 1);
    while (plan->run_bits > LEAST_RUN_BITS && 1 << (plan->run_bits - 1) >= plan->records)
        plan->run_bits--;
    plan->pass = total;
    while (csr_rows && plan->run_bits > LEAST_RUN_BITS &&
           block_bytes<Value>(*plan, csr_rows) > COMFORTABLE_BYTES)
        plan->run_bits--;
    for (int32_t passes = 2;
         plan->pass > vector && (block_bytes<Value>(*plan, csr_rows) > COMFORTABLE_BYTES ||
                                 plan->pass / plan->members > PASS_TERMS_MAX);
         passes++)
        plan->pass = ((total + passes - 1) / passes + vector - 1) / vector * vector;
    plan->runs = (uint32_t)gsw_ceil_div(plan->records, int64_t{1} << plan->run_bits);
    plan->jobs = plan->runs * (uint32_t)plan->pencils; /* memory for 2^32 would be 8 TB */
    return block_bytes<Value>(*plan, csr_rows);
}

template <typename Kernel, typename Source>
gsw_status launch(gsw_context *context, Kernel kernel, const pack_plan *plan, const Source *source,
                  size_t bytes) {
    static_assert(sizeof *plan + sizeof *source <= 4096, "what a kernel may be given");
    if (plan->jobs == 0)
        return GSW_SUCCESS;
    if (bytes > ANY_BYTES)
        GSW_TRY(gsw_cuda_allow_shared(context, (const void *)kernel, "packing a factor"));
    kernel<<<plan->jobs, THREADS, bytes, gsw_cuda_of(context)->stream>>>(*plan, *source);
    return gsw_cuda_check_launch(context, "packing a factor");
}

template <typename Stored, typename Value>
gsw_status launch_arrays(gsw_context *context, const gsw_factor *factor, pack_plan *plan,
                         const pack_origin *origin) {
    pack_arrays<Value> arrays = {};
    for (int32_t t = 0; t < plan->taps; t++)
        arrays.values[t] = array_of<Value>(factor, plan, origin, t);
    const size_t bytes = plan_runs<Value>(plan, false);
    return launch(context, pack_gathered<Stored, pack_arrays<Value>>, plan, &arrays, bytes);
}

/* Arrays whose values repeat have those of the first line of each plane, or of the grid. */
template <typename Stored>
gsw_status launch_repeated(gsw_context *context, const gsw_factor *factor, pack_plan *plan,
                           const pack_origin *origin) {
    const gsw_array_steps steps = gsw_array_steps_of(origin->matrix);
    const size_t size = gsw_dtype_size(origin->matrix->array.value_type);
    pack_repeated source = {};
    source.f32 = size == sizeof(float);
    for (int a = 0; a < 3; a++) {
        const int64_t rows = plan->stride[a];
        source.step[a] = rows <= 1 ? rows : rows == origin->matrix->grid.nx ? steps.y : steps.z;
    }
    for (int32_t t = 0; t < plan->taps; t++) {
        const pack_tap *tap = &plan->tap[t];
        const int64_t to_neighbour =
            tap->dx * source.step[0] + tap->dy * source.step[1] + tap->dz * source.step[2];
        const void *values = origin->matrix->array.values[entry_of(factor, plan, origin, t)];
        source.values[t] =
            shifted<char>(values, origin->transposed ? to_neighbour * (int64_t)size : 0);
    }
    const size_t bytes = plan_runs<double>(plan, false);
    return launch(context, pack_gathered<Stored, pack_repeated>, plan, &source, bytes);
}

/* The lower part of products a_ij a_ji, or with `reciprocal` of a_ij / p_j, p_j the pivots.
 * `ghosts`: see gsw_cuda_pack_products(). */
gsw_status launch_products(gsw_context *context, const gsw_factor *factor, const gsw_matrix *matrix,
                           const double *reciprocal, const double *ghosts) {
    const pack_origin origin = origin_of(&factor->options, false, matrix, NULL, 0);
    const int64_t first_own = gsw_points_below(factor);
    const int64_t first_ghost = first_own - gsw_cuda_ghost_points(factor);
    pack_products_of_slab products = {};
    pack_plan plan;
    plan_part(&plan, factor, 0);
    plan.diagonal = 0;
    for (int32_t t = 0; t < plan.taps; t++) {
        const int64_t step = plan.tap[t].step;
        const double *own = array_of<double>(factor, &plan, &origin, t);
        products.first[t] = own;
        if (reciprocal)
            products.second[t] = shifted<double>(reciprocal, step - first_own);
        else if (factor->options.kind == GSW_IC0)
            products.second[t] = own;
        else
            products.second[t] =
                shifted<double>(array_of<double>(factor, &plan, &origin, plan.taps - 1 - t), step);
    }
    /* The last coupling of the lower part has the first mirror image. */
    for (int32_t t = plan.center - 1; t >= 0 && ghosts && !reciprocal; t--) {
        if (plan.tap[t].dz == 0)
            continue;
        products.border[t] = first_own - plan.tap[t].step;
        products.ghost[t] = shifted<double>(ghosts, plan.tap[t].step - first_ghost);
        ghosts += gsw_cuda_ghost_points(factor);
    }
    const size_t bytes = plan_runs<double>(&plan, false);
    if (ghosts && !reciprocal)
        return launch(context, pack_gathered<double, pack_products_of_slab>, &plan, &products,
                      bytes);
    const pack_products *whole = &products;
    return launch(context, pack_gathered<double, pack_products>, &plan, whole, bytes);
}

/* A part of a_ij left_i right_j; left NULL: 1. */
gsw_status launch_scaled(gsw_context *context, const gsw_factor *factor, const gsw_matrix *matrix,
                         int part, const double *left, const double *right) {
    const pack_origin origin = {matrix, false};
    pack_scaled scaled = {};
    pack_plan plan;
    plan_part(&plan, factor, part);
    plan.scale = left != NULL;
    plan.bounded = 1;
    scaled.left = left;
    for (int32_t t = 0; t < plan.taps; t++) {
        scaled.first[t] = array_of<double>(factor, &plan, &origin, t);
        scaled.second[t] = right + plan.tap[t].step;
    }
    const size_t bytes = plan_runs<double>(&plan, false);
    return launch(context, pack_gathered<double, pack_scaled>, &plan, &scaled, bytes);
}

/* A part that is scaled by the reciprocal pivots of its own rows. */
gsw_status launch_pivoted(gsw_context *context, const gsw_factor *factor, const gsw_matrix *matrix,
                          int part, const double *reciprocal) {
    const pack_origin origin =
        origin_of(&factor->options, gsw_cuda_is_remote(factor), matrix, NULL, part);
    pack_pivoted pivoted = {};
    pack_plan plan;
    plan_part(&plan, factor, part);
    plan.scale = plan.bounded = 1;
    pivoted.reciprocal = shifted<double>(reciprocal, -gsw_points_below(factor));
    for (int32_t t = 0; t < plan.taps; t++)
        pivoted.values[t] = array_of<double>(factor, &plan, &origin, t);
    const size_t bytes = plan_runs<double>(&plan, false);
    return launch(context, pack_gathered<double, pack_pivoted>, &plan, &pivoted, bytes);
}

template <typename Stored, typename Index, typename Value>
gsw_status launch_csr(gsw_context *context, const gsw_factor *factor, pack_plan *plan,
                      const pack_origin *origin) {
    pack_csr<Index, Value> csr;
    plan_csr(&csr, factor, plan, origin);
    if (origin->transposed) {
        const size_t bytes = plan_runs<Value>(plan, false);
        return launch(context, pack_gathered<Stored, pack_csr<Index, Value>>, plan, &csr, bytes);
    }
    const size_t bytes = plan_runs<Value>(plan, true);
    return launch(context, pack_csr_rows<Stored, pack_csr<Index, Value>>, plan, &csr, bytes);
}

template <typename Stored>
gsw_status launch_part(gsw_context *context, const gsw_factor *factor, pack_plan *plan,
                       const pack_origin *origin) {
    if (gsw_matrix_kind_of(origin->matrix) == GSW_KIND_REPEAT)
        return launch_repeated<Stored>(context, factor, plan, origin);
    return with_rows(origin->matrix, [&](auto rows) {
        using Rows = decltype(rows);
        using Value = typename Rows::value;
        if constexpr (Rows::are_arrays)
            return launch_arrays<Stored, Value>(context, factor, plan, origin);
        else
            return launch_csr<Stored, typename Rows::index, Value>(context, factor, plan, origin);
    });
}

/* ---- Unpacking --------------------------------------------------------------------------------
 */

/* Writes coefficient `term` of all points (plan.terms: the diagonal) in natural order. A block has
 * 32 points of each line of a pencil, and each of its warps those of one line after the other. */
template <typename Stored>
__global__ void __launch_bounds__(THREADS)
    unpack_term(const __grid_constant__ pack_plan plan, const int32_t *shared, int32_t term,
                double *to) {
    const int32_t warp = (int32_t)threadIdx.x / GSW_TILE_LANES;
    const int32_t x =
        (int32_t)(blockIdx.x % plan.runs * GSW_TILE_LANES + threadIdx.x % GSW_TILE_LANES);
    const int64_t ticket = blockIdx.x / plan.runs;
    const gsw_pencil pencil = plan.table[ticket];
    const int64_t record_values = (plan.terms + plan.diagonal) * lines_of(plan);
    for (int32_t i = warp; i < lines_of(plan); i += WARPS) {
        const int32_t lane = i % GSW_TILE_LANES, member = i / GSW_TILE_LANES;
        const pack_line line = line_of(plan, pencil, lane, member);
        if (!line.inside || x >= plan.nx)
            continue;
        const int64_t record =
            (shared ? shared[ticket] : ticket) * plan.records + (x + line.shift) % plan.records;
        const Stored *values = static_cast<const Stored *>(plan.values) + record * record_values;
        const auto value = [&](int32_t t) {
            return (double)
                values[gsw_packed_value(plan.terms, plan.members, plan.vector, t, member, lane)];
        };
        const double diagonal = plan.diagonal ? 1 / value(plan.terms) : 1;
        to[line.row + (plan.upper ? plan.nx - 1 - x : x) * plan.stride[0]] =
            term == plan.terms ? diagonal : value(term) * diagonal;
    }
}

} // namespace

gsw_status gsw_cuda_pack(gsw_context *context, gsw_factor *factor, const gsw_matrix *matrix,
                         const gsw_matrix *upper) {
    for (int part = 0; part < 2; part++) {
        if (!factor->packed->layout.present[part])
            continue;
        pack_plan plan;
        plan_part(&plan, factor, part);
        plan.narrows = gsw_factor_narrows(factor, matrix, upper);
        const pack_origin origin =
            origin_of(&factor->options, gsw_cuda_is_remote(factor), matrix, upper, part);
        if (factor->options.factor_type == GSW_F64)
            GSW_TRY(launch_part<double>(context, factor, &plan, &origin));
        else
            GSW_TRY(launch_part<float>(context, factor, &plan, &origin));
    }
    return GSW_SUCCESS;
}

int64_t gsw_cuda_ghost_points(const gsw_factor *factor) {
    return factor->packed->view[0].tiles.halo_z * factor->grid.nx * factor->grid.ny;
}

int32_t gsw_cuda_couplings_across(const gsw_factor *factor) {
    const gsw_shape *lower = &factor->packed->view[0].tiles.part[0];
    int32_t count = 0;
    for (int32_t j = 0; j < lower->count && factor->options.kind != GSW_IC0; j++)
        count += lower->offset[j].dz != 0;
    return count;
}

gsw_status gsw_cuda_give_couplings(gsw_context *context, const gsw_factor *factor,
                                   const gsw_matrix *matrix, double *to) {
    const cudaStream_t stream = gsw_cuda_of(context)->stream;
    const pack_origin origin = {matrix, false};
    const int64_t points = gsw_cuda_ghost_points(factor);
    const size_t bytes = (size_t)points * sizeof(double);
    pack_plan plan;
    plan_part(&plan, factor, 0);
    for (int32_t t = plan.center + 1; t < plan.taps && factor->options.kind != GSW_IC0; t++) {
        if (plan.tap[t].dz == 0)
            continue;
        const void *values = matrix->array.values[entry_of(factor, &plan, &origin, t)];
        const double *from = shifted<double>(values, factor->points - points);
        GSW_TRY(
            gsw_cuda_check(context,
                           from ? cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, stream)
                                : cudaMemsetAsync(to, 0, bytes, stream),
                           "the couplings to another slab"));
        to += points;
    }
    return GSW_SUCCESS;
}

gsw_status gsw_cuda_pack_products(gsw_context *context, const gsw_factor *factor,
                                  const gsw_matrix *matrix, const double *ghosts) {
    return launch_products(context, factor, matrix, NULL, ghosts);
}

gsw_status gsw_cuda_pack_pivoted(gsw_context *context, const gsw_factor *factor,
                                 const gsw_matrix *matrix, const double *reciprocal) {
    if (factor->packed->view[0].scale)
        GSW_TRY(launch_pivoted(context, factor, matrix, 0, reciprocal));
    else
        GSW_TRY(launch_products(context, factor, matrix, reciprocal, NULL));
    return launch_pivoted(context, factor, matrix, 1, reciprocal);
}

gsw_status gsw_cuda_pack_scaled(gsw_context *context, const gsw_factor *factor,
                                const gsw_matrix *matrix, const double *left, const double *right) {
    GSW_TRY(launch_scaled(context, factor, matrix, 0, left, right));
    return launch_scaled(context, factor, matrix, 1, left, right);
}

gsw_status gsw_cuda_unpack(gsw_context *context, const gsw_factor *factor, int which,
                           double *const *arrays) {
    const cudaStream_t stream = gsw_cuda_of(context)->stream;
    const int part = factor->packed->layout.upper[which];
    const gsw_packed_view *view = &factor->packed->view[part];
    const gsw_shape *shape = &view->tiles.part[part];
    const int32_t center = factor->stencil.center;
    const int32_t first = part ? center : 0, end = part ? factor->stencil.count : center + 1;
    pack_plan plan;
    plan_part(&plan, factor, part);
    plan.table = view->table;
    plan.runs = (uint32_t)gsw_ceil_div(plan.nx, GSW_TILE_LANES);
    const unsigned blocks = plan.runs * (unsigned)view->pencils;
    const auto kernel =
        factor->options.factor_type == GSW_F64 ? unpack_term<double> : unpack_term<float>;
    for (int32_t e = first; e < end; e++) {
        const int32_t term = e == center ? plan.terms : gsw_shape_coupling(shape, e);
        if (term < 0)
            GSW_TRY(gsw_cuda_check(
                context,
                cudaMemsetAsync(arrays[e], 0, (size_t)factor->points * sizeof(double), stream),
                "a coefficient that no point has"));
        else
            kernel<<<blocks, THREADS, 0, stream>>>(plan, view->shared, term, arrays[e]);
    }
    return gsw_cuda_check_launch(context, "unpacking");
}
