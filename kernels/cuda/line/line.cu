/* line.cu: the direct triangular sweep: fills the plan, chooses kernel and launch shape, launches.
 *
 * Bytes moved: b and x, and the matrix. A CSR that holds the full box, or one part of it, is read
 * for the values of the part's rows (no row pointers, no columns). Any other CSR is read for row
 * pointers and columns as well. Of stencil arrays, the part's arrays are read. There is no
 * analysis. Between solves only the progress counters are kept: 8 bytes per line. */
#include "common/arrays.h"
#include "common/csr.h"
#include "cuda/rows/rows.cuh"
#include "line.cuh"
#include "line_plan.cuh"
#include "cuda/device/test_hooks.h"

const int line_terms[4] = {4, 8, 14, 18};
const int line_direct_terms[2] = {4, 18};

#define SMALL_MATRIX 4096 /* points */

/* Launch shapes: make_tiling() takes the first row that fits. tile_y * tile_z <= 16; rows is 8, 16
 * or 32; the block has tile_y * tile_z * workers + receivers warps. The comments give the
 * measurements behind a row: lower sweeps of cubes in fp64 on an H200, ms at 64^3 / 128^3 / 256^3.
 * The others are known, too (perf/DECISIONS.md, Tiles of the direct sweep). */
struct launch_shape {
    int capability; /* at least */
    int terms;      /* at most */
    int tile_y, tile_z, rows, workers, receivers;
};

static const launch_shape shapes[] = {
    /* D3N7 0.090 / 0.185 / 0.689; with 3 receivers 0.092 / 0.188 / 0.692; with counters between
     * tiles (as in place) 0.112 / 0.226 / 0.792. With counters everywhere: 16 rows 0.121 / 0.265 /
     * 1.296 against 0.115 / 0.227 / 0.791; 4 x 2 lines 0.126 / 0.291 / 1.305. */
    {90, 4, 4, 4, 32, 1, 4},
    /* D3N27 0.219 / 0.492 / 1.715. With counters: 0.242 / 0.542 / 1.741; 16 rows 0.272 / 0.567 /
     * 2.214; 4 x 2 lines with 2 workers 0.252 / 0.566 / 1.946. */
    {90, 18, 4, 4, 32, 1, 4},
    /* Not measured. */
    {70, 18, 4, 4, 32, 1, 4},
};

/* ---- The plan ----------------------------------------------------------------------------------
 */

static line_offset narrow(gsw_offset o) {
    line_offset narrowed = {(int16_t)o.dx, (int16_t)o.dy, (int16_t)o.dz};
    return narrowed;
}

/* Terms: the diagonal, those of the own line from the nearest, then those of other lines in
 * ascending order. The offsets of the shape ascend, so those of the own line are its last. */
static void plan_terms(const gsw_shape *shape, line_plan *plan) {
    plan->own = 0;
    plan->groups = 0;
    while (plan->own < shape->count && shape->offset[shape->count - 1 - plan->own].dy == 0 &&
           shape->offset[shape->count - 1 - plan->own].dz == 0)
        plan->own++;
    plan->terms = shape->count + 1;
    plan->term[0] = line_offset{0, 0, 0};
    plan->group_of[0] = 0;
    for (int32_t k = 0; k < plan->own; k++) {
        plan->term[1 + k] = narrow(shape->offset[shape->count - 1 - k]);
        plan->group_of[1 + k] = 0;
    }
    for (int32_t k = 0; k < shape->count - plan->own; k++) {
        const line_offset o = narrow(shape->offset[k]);
        line_offset *last = plan->groups > 0 ? &plan->group[plan->groups - 1] : NULL;
        if (last == NULL || last->y != o.y || last->z != o.z)
            plan->group[plan->groups++] = o;
        else if (last->x < o.x)
            last->x = o.x;
        plan->term[1 + plan->own + k] = o;
        plan->group_of[1 + plan->own + k] = (uint8_t)(plan->groups - 1);
    }
}

/* Place of term k among the offsets of the shape that the plan's terms come from. */
static int32_t shape_index(const gsw_shape *shape, int32_t own, int32_t term) {
    return term <= own ? shape->count - term : term - own - 1;
}

static int64_t box_entries(const line_plan *plan, line_offset o) {
    const int64_t x = plan->nx - abs(o.x), y = plan->ny - abs(o.y), z = plan->nz - abs(o.z);
    return x * y * z;
}

/* Fills the pattern of a CSR that holds the whole box, in sweep order, and counts its `entries`.
 * `before` and `after`: the parts that are stored besides the diagonal. */
static void plan_pattern(const gsw_sheared *g, bool mirrored, bool before, bool after,
                         line_plan *plan, int64_t *entries) {
    const gsw_shape *low = &g->part[mirrored ? 1 : 0], *high = &g->part[mirrored ? 0 : 1];
    plan->patterns = 0;
    plan->reach = 0;
    *entries = 0;
    for (int32_t k = before ? 0 : low->count; k < low->count + 1 + (after ? high->count : 0); k++) {
        line_offset o = {0, 0, 0};
        if (k < low->count) {
            o = narrow(low->offset[k]);
        } else if (k > low->count) {
            const gsw_offset mirror = high->offset[high->count - (k - low->count)];
            o = narrow(gsw_offset{-mirror.dx, -mirror.dy, -mirror.dz});
        }
        *entries += box_entries(plan, o);
        if (plan->reach < abs(o.x))
            plan->reach = abs(o.x);
        plan->pattern.offset[plan->patterns++] = o;
    }
    plan->diagonal_ends = before && after ? 0 : before ? 1 : -1;
}

/* Finds where the pattern keeps the entry of each term; `patterns`: nowhere. A transposed solve
 * reads a coupling where the other row stores it: at the opposite offset. */
static void locate_terms(line_plan *plan) {
    plan->part = 0;
    for (int32_t j = 0; j < plan->terms; j++) {
        const line_offset t = plan->term[j];
        const int32_t s = plan->transpose ? -1 : 1;
        int32_t p = 0;
        while (p < plan->patterns &&
               (plan->pattern.offset[p].x != s * t.x || plan->pattern.offset[p].y != s * t.y ||
                plan->pattern.offset[p].z != s * t.z))
            p++;
        plan->pattern.of_term[j] = (uint8_t)p;
        if (p < plan->patterns && p >= plan->part && !(j == 0 && plan->unit))
            plan->part = p + 1;
    }
}

/* Decides by the number of entries whether the CSR holds the whole box, or the whole part that the
 * solve uses. If both parts are stored, no row holds more entries than the box has. So the number
 * proves it, line by line (box_test), if the matrix fits its stencil at all. If one part is
 * expected, a matrix can pass this test wrongly. Then it holds entries beyond the part but lacks as
 * many others, in all and per line, and its lines still end with a diagonal. In small matrices this
 * could happen by chance, so the solve reads their columns. */
static void plan_csr(const gsw_sheared *g, const gsw_matrix *matrix, gsw_part part, bool mirrored,
                     line_plan *plan) {
    const bool before = (part == GSW_UPPER) == mirrored; /* the part comes first in sweep order */
    int64_t entries;
    plan->source = LINE_LISTS;
    if (matrix->stencil.count > LINE_PATTERN_MAX)
        return;
    plan_pattern(g, mirrored, true, true, plan, &entries);
    if (entries != matrix->csr.nonzeros && plan->points >= SMALL_MATRIX)
        plan_pattern(g, mirrored, before, !before, plan, &entries);
    /* In a line too short for its stencil no row is whole. */
    if (entries != matrix->csr.nonzeros || plan->reach > LINE_REACH_MAX ||
        plan->nx < 2 * plan->reach)
        return;
    plan->source = LINE_BOX;
    locate_terms(plan);
}

static void plan_arrays(const gsw_shape *shape, const gsw_matrix *matrix, bool mirrored,
                        line_plan *plan) {
    const size_t size = gsw_dtype_size(matrix->array.value_type);
    plan->source = LINE_ARRAYS;
    for (int32_t j = 0; j < plan->terms; j++) {
        const int32_t e =
            j == 0 ? matrix->stencil.center : shape->source[shape_index(shape, plan->own, j)];
        const char *array = (const char *)matrix->array.values[e];
        if (array != NULL && mirrored)
            array += (size_t)(gsw_array_values(matrix) - 1) * size;
        plan->array[j] = array;
    }
    plan->step_y = plan->nx;
    plan->step_z = (int64_t)plan->nx * plan->ny;
    if (!gsw_matrix_is_arrays(matrix)) {
        plan->step_y = gsw_array_steps_of(matrix).y;
        plan->step_z = gsw_array_steps_of(matrix).z;
    }
}

/* First element in sweep order. */
static const void *sweep_first(const void *array, int64_t count, size_t size, bool mirrored) {
    return mirrored ? (const char *)array + (count - 1) * (int64_t)size : array;
}

static gsw_status make_plan(gsw_context *context, const gsw_matrix *matrix,
                            const gsw_sptrsv_options *options, const void *b, void *x,
                            line_plan *plan) {
    gsw_sheared g;
    const gsw_cuda *cuda = gsw_cuda_of(context);
    const bool mirrored = (options->part == GSW_UPPER) != (options->transpose != 0);
    const gsw_shape *shape = &g.part[options->part == GSW_UPPER ? 1 : 0];
    const size_t vector_size = gsw_dtype_size(options->vector_type);
    gsw_shear(&g, &matrix->grid, &matrix->stencil);
    if (g.nx > LINE_EXTENT_MAX || g.width > LINE_EXTENT_MAX || g.nz > LINE_EXTENT_MAX ||
        g.ny * g.nz > UINT32_MAX / 2)
        return gsw_fail(context, GSW_ERROR_UNSUPPORTED,
                        "algorithm line on CUDA takes at most 2^30 points along an axis and 2^31 "
                        "lines, not %lld x %lld x %lld",
                        (long long)matrix->grid.nx, (long long)matrix->grid.ny,
                        (long long)matrix->grid.nz);
    plan->points = g.points;
    plan->lines = g.ny * g.nz;
    plan->nx = (int32_t)g.nx;
    plan->ny = (int32_t)g.ny;
    plan->nz = (int32_t)g.nz;
    plan->shear = g.shear;
    plan->width = (int32_t)g.width;
    plan->step = mirrored ? -1 : 1;
    plan->transpose = options->transpose != 0;
    plan->unit = options->unit_diagonal != 0;
    plan_terms(shape, plan);
    if (const gsw_csr *csr = csr_of(matrix)) {
        plan_csr(&g, matrix, options->part, mirrored, plan);
        plan->index_type = csr->index_type;
        plan->index_base = csr->base;
        plan->nonzeros = csr->nonzeros;
        plan->row_ptr = csr->row_ptr;
        plan->columns = csr->columns;
        plan->values = csr->values;
        plan->first =
            sweep_first(csr->values, csr->nonzeros, gsw_dtype_size(csr->value_type), mirrored);
    } else {
        plan_arrays(shape, matrix, mirrored, plan);
    }
    plan->b = sweep_first(b, g.points, vector_size, mirrored);
    plan->x = (void *)sweep_first(x, g.points, vector_size, mirrored);
    plan->marked = x != b;
    plan->report = cuda->report;
    plan->wait_limit_ns = cuda->wait_limit_ns;
    plan->withheld_line = cuda->withheld_line;
    return GSW_SUCCESS;
}

/* ---- The tiling --------------------------------------------------------------------------------
 */

static int32_t at_least(int64_t wanted) {
    int64_t power = 32;
    while (power < wanted && power < 1 << 30)
        power *= 2;
    return (int32_t)power;
}

static int64_t larger(int64_t a, int64_t b) {
    return a > b ? a : b;
}

/* Finds by how much subtasks must be shifted so that a line reads no farther than the same subtask
 * of another line. Then x + skew_y y' + skew_z z of a point that is read is not larger than the
 * reader's. */
static void choose_skew(const line_plan *plan, line_tiling *tiling) {
    tiling->skew_y = tiling->skew_z = 0;
    for (int32_t g = 0; g < plan->groups; g++) {
        const line_offset o = plan->group[g];
        if (o.z == 0 && o.y < 0)
            tiling->skew_y = (int32_t)larger(tiling->skew_y, (o.x - o.y - 1) / -o.y);
    }
    for (int32_t g = 0; g < plan->groups; g++) {
        const line_offset o = plan->group[g];
        const int64_t dl = o.y + (int64_t)plan->shear * o.z;
        const int64_t rest = o.x + tiling->skew_y * dl;
        if (o.z < 0 && rest > 0)
            tiling->skew_z = (int32_t)larger(tiling->skew_z, (rest - o.z - 1) / -o.z);
    }
}

/* Chooses the smallest ring with which a tile cannot deadlock, by the rule of line_kernel.cuh, and
 * with which lines that read each other seldom wait for room. */
static void choose_ring(const line_plan *plan, line_tiling *tiling) {
    int64_t ahead = 0, back = 0, own_back = 0, steps = 0;
    const int64_t rows = tiling->rows;
    for (int32_t j = 1; j < plan->terms; j++) {
        const line_offset o = plan->term[j];
        if (j <= plan->own) {
            own_back = larger(own_back, -o.x);
            continue;
        }
        ahead = larger(ahead, o.x);
        back = larger(back, -o.x);
        steps = larger(steps, -o.y - (int64_t)(plan->shear + 1) * o.z);
    }
    int64_t ring = (steps + 1) * rows + steps * ahead + back;
    ring = larger(ring, (tiling->workers + 1) * rows + own_back);
    ring = larger(ring, 4 * rows + back);
    if (ring > plan->nx + back)
        ring = plan->nx + back;
    tiling->ring = at_least(ring);
    tiling->back = (int32_t)back;
}

/* Slot of the line at (ly, lz) of the tile; a line without a slot becomes a new halo. -1: there is
 * no room. */
static int32_t slot_of(line_tiling *tiling, int32_t ly, int32_t lz) {
    const int32_t own = tiling->tile_y * tiling->tile_z;
    if (ly >= 0 && lz >= 0)
        return ly + tiling->tile_y * lz;
    int32_t h = 0;
    while (h < tiling->halos && (tiling->halo_y[h] != ly || tiling->halo_z[h] != lz))
        h++;
    if (h == LINE_HALO_MAX)
        return -1;
    if (h == tiling->halos) {
        tiling->halo_y[h] = ly;
        tiling->halo_z[h] = lz;
        tiling->halos++;
    }
    return own + h;
}

/* Finds which lines read which. False: the tile reads too many others. */
static bool connect_lines(const line_plan *plan, line_tiling *tiling) {
    const int32_t own = tiling->tile_y * tiling->tile_z;
    tiling->halos = 0;
    tiling->exported = 0;
    for (int32_t s = 0; s < LINE_SLOTS_MAX; s++)
        tiling->consumers[s] = 0;
    for (int32_t l = 0; l < own; l++) {
        const int32_t ly = l % tiling->tile_y, lz = l / tiling->tile_y;
        for (int32_t g = 0; g < plan->groups; g++) {
            const int32_t dz = plan->group[g].z, dl = plan->group[g].y + plan->shear * dz;
            const int32_t slot = slot_of(tiling, ly + dl, lz + dz);
            if (slot < 0)
                return false;
            tiling->slot[l][g] = (uint8_t)slot;
            tiling->consumers[slot] |= (uint16_t)(1u << l);
            if (ly - dl >= tiling->tile_y || lz - dz >= tiling->tile_z)
                tiling->exported |= (uint16_t)(1u << l);
        }
    }
    return true;
}

static void count_tiles(const line_plan *plan, line_tiling *tiling) {
    tiling->tiles_y = (plan->width + tiling->tile_y - 1) / tiling->tile_y;
    tiling->tiles_z = (plan->nz + tiling->tile_z - 1) / tiling->tile_z;
    tiling->tiles = 0;
    for (int64_t d = 0; d < (int64_t)tiling->tiles_y + tiling->tiles_z - 1; d++) {
        int32_t low, count;
        gsw_antidiagonal(*plan, tiling->tile_y, tiling->tile_z, tiling->tiles_y, tiling->tiles_z, d,
                         &low, &count);
        tiling->tiles += count;
    }
}

/* Bytes of shared memory: as sweep_tiles() lays them out. */
static size_t shared_bytes(const line_tiling *tiling, size_t real) {
    const int32_t own = tiling->tile_y * tiling->tile_z;
    return sizeof(tile) + (size_t)(own + tiling->halos) * (size_t)tiling->ring * real +
           (size_t)(own * tiling->workers) * (size_t)tiling->worker_bytes;
}

static const launch_shape *choose_shape(const gsw_cuda *cuda, int32_t terms) {
    const launch_shape *shape = shapes;
    while (cuda->capability < shape->capability || terms > shape->terms)
        shape++;
    return shape;
}

/* Cuts the grid into tiles that fit in a block's shared memory. False: none does. */
static bool make_tiling(const gsw_cuda *cuda, const line_plan *plan, size_t value, size_t real,
                        line_tiling *tiling) {
    const launch_shape &shape = *choose_shape(cuda, plan->terms);
    tiling->rows = shape.rows;
    tiling->workers = plan->marked ? shape.workers : 1; /* counters need it: line_kernel.cuh */
    /* Padded entries of the subtask's rows; or what recur() needs. In units of 16 bytes. */
    const int64_t entries = shape.rows * plan->terms * 17 / 16 + 1;
    const int64_t bytes = larger(entries * (int64_t)value, 96 * (int64_t)real);
    tiling->stage_values = (int32_t)((bytes + 15) / 16 * 16 / (int64_t)value);
    tiling->worker_bytes = (int32_t)((plan->terms * sizeof(line_term) +
                                      2 * (size_t)tiling->stage_values * value + 15) /
                                     16 * 16);
    /* Where the grid is narrower than the tile along one axis, more lines go to the other axis. */
    int32_t y = shape.tile_y, z = shape.tile_z;
    while (y > 1 && y / 2 >= plan->width) {
        y /= 2;
        z *= 2;
    }
    while (z > 1 && z / 2 >= plan->nz) {
        z /= 2;
        if (2 * y <= plan->width || y < shape.tile_y)
            y *= 2;
    }
    for (;;) {
        tiling->tile_y = y;
        tiling->tile_z = z;
        choose_skew(plan, tiling);
        choose_ring(plan, tiling);
        if (connect_lines(plan, tiling) &&
            shared_bytes(tiling, real) <= (size_t)cuda->shared_per_block)
            break;
        if (y * z == 1)
            return false;
        if (z > 1)
            z /= 2;
        else
            y /= 2;
    }
    tiling->receivers = tiling->halos < shape.receivers ? tiling->halos : shape.receivers;
    count_tiles(plan, tiling);
    return true;
}

/* ---- Launching ---------------------------------------------------------------------------------
 */

static gsw_status reserve_state(gsw_context *context, int64_t lines) {
    gsw_cuda *cuda = gsw_cuda_of(context);
    const size_t bytes = offsetof(line_state, progress) + (size_t)lines * sizeof(int64_t);
    if (bytes <= cuda->line_workspace_bytes)
        return GSW_SUCCESS;
    void *workspace = NULL;
    GSW_TRY(gsw_cuda_check(context, cudaMalloc(&workspace, bytes), "progress counters"));
    gsw_status status = gsw_cuda_check(context, cudaMemsetAsync(workspace, 0, bytes, cuda->stream),
                                       "progress counters");
    if (status != GSW_SUCCESS) {
        (void)cudaFree(workspace);
        return status;
    }
    gsw_cuda_line_release(cuda);
    cuda->line_workspace = workspace;
    cuda->line_workspace_bytes = bytes;
    return GSW_SUCCESS;
}

void gsw_cuda_line_release(gsw_cuda *cuda) {
    (void)cudaFree(cuda->line_workspace); /* waits for solves that use it */
    cuda->line_workspace = NULL;
    cuda->line_workspace_bytes = 0;
}

/* Launches as many blocks as can run at once, or fewer if there is less work. The result does not
 * depend on the number. */
static gsw_status launch(gsw_context *context, const void *kernel, int threads, size_t shared,
                         int64_t work, line_plan *plan, line_tiling *tiling) {
    const gsw_cuda *cuda = gsw_cuda_of(context);
    void *arguments[] = {plan, tiling};
    int resident = 0;
    if (shared > 48 * 1024)
        GSW_TRY(gsw_cuda_allow_shared(context, kernel, "algorithm line"));
    GSW_TRY(gsw_cuda_check(
        context, cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, kernel, threads, shared),
        "algorithm line"));
    int64_t blocks = (int64_t)cuda->multiprocessors * (resident > 0 ? resident : 1);
    if (blocks > work)
        blocks = work;
    if (cuda->blocks > 0)
        blocks = cuda->blocks;
    return gsw_cuda_check(context,
                          cudaLaunchKernel(kernel, dim3((unsigned)blocks), dim3((unsigned)threads),
                                           arguments, shared, cuda->stream),
                          "algorithm line");
}

static gsw_status launch_tiles(gsw_context *context, const line_kernels *kernels, line_plan *plan,
                               size_t value, size_t real, bool *launched) {
    const bool staged = plan->source == LINE_BOX && !plan->transpose && plan->part <= 32;
    const int *terms = staged ? line_terms : line_direct_terms;
    const int last = staged ? 3 : 1;
    line_tiling tiling;
    int k = 0;
    *launched = false;
    while (k < last && plan->terms > terms[k])
        k++;
    if (plan->terms > terms[k] || plan->groups > LINE_GROUPS_MAX ||
        !make_tiling(gsw_cuda_of(context), plan, value, real, &tiling))
        return GSW_SUCCESS;
    *launched = true;
    const int warps = tiling.tile_y * tiling.tile_z * tiling.workers + tiling.receivers;
    return launch(context, staged ? kernels->staged[k] : kernels->direct[k], 32 * warps,
                  shared_bytes(&tiling, real), tiling.tiles, plan, &tiling);
}

/* For stencils that no tile can hold: each line is a tile, and a block sweeps four at a time. */
static gsw_status launch_lines(gsw_context *context, const line_kernels *kernels, line_plan *plan) {
    line_tiling tiling = {};
    if (plan->source == LINE_BOX)
        plan->source = LINE_LISTS;
    tiling.tile_y = tiling.tile_z = 1;
    count_tiles(plan, &tiling);
    return launch(context, kernels->general, 128, 0, (tiling.tiles + 3) / 4, plan, &tiling);
}

gsw_status gsw_cuda_line(gsw_context *context, const gsw_matrix *matrix,
                         const gsw_sptrsv_options *options, const void *b, void *x) {
    const gsw_dtype values = gsw_matrix_value_type(matrix);
    const line_kernels *kernels = options->vector_type == GSW_F32 ? line_kernels_f32()
                                  : values == GSW_F32             ? line_kernels_mixed()
                                                                  : line_kernels_f64();
    line_plan plan;
    bool launched;
    GSW_TRY(make_plan(context, matrix, options, b, x, &plan));
    GSW_TRY(reserve_state(context, plan.lines));
    plan.state = (line_state *)gsw_cuda_of(context)->line_workspace;
    GSW_TRY(launch_tiles(context, kernels, &plan, gsw_dtype_size(values),
                         gsw_dtype_size(options->vector_type), &launched));
    return launched ? GSW_SUCCESS : launch_lines(context, kernels, &plan);
}

/* ---- For tests ---------------------------------------------------------------------------------
 */

void gsw_cuda_test_hooks(gsw_context *context, int64_t wait_limit_ns, int64_t withheld_line,
                         int blocks) {
    gsw_cuda *cuda = gsw_cuda_of(context);
    cuda->wait_limit_ns = wait_limit_ns;
    cuda->withheld_line = withheld_line;
    cuda->blocks = blocks;
}

void gsw_cuda_test_weight(gsw_context *context, int weight) {
    gsw_cuda_of(context)->slab_weight = weight;
}

size_t gsw_cuda_line_workspace(const gsw_context *context) {
    return static_cast<const gsw_cuda *>(context->backend_data)->line_workspace_bytes;
}

int64_t gsw_cuda_made_in_steps(const gsw_context *context) {
    return static_cast<const gsw_cuda *>(context->backend_data)->made_in_steps;
}
