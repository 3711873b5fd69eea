/* backend.c: the CPU's table of operations. It picks the instruction set, keeps packed factors, and
 * calls the kernels. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "contract/allocate.h"
#include "contract/backend.h"
#include "contract/check.h"
#include "contract/context.h"
#include "contract/error.h"
#include "contract/system_threads.h"
#include "cpu/backend.h"
#include "cpu/core/cores.h"
#include "cpu/factor/eliminate.h"
#include "cpu/factor/factors.h"
#include "cpu/core/isa.h"
#include "cpu/core/kernels.h"
#include "cpu/rows/rows.h"
#include "cpu/multigrid/multigrid.h"
#include "cpu/factor/packed.h"
#include "cpu/relax/relax.h"
#include "geometry/squeeze.h"
#include "reference/host.h"
#include "reference/reference.h"

enum {
    SKEW_SLACK = 2,       /* see derive_chains */
    PRODUCT_GRAIN = 4096, /* rows: multiplying this many takes about as long as waking a thread, */
    VECTOR_GRAIN = 16384, /* values: and so does passing through this many */
    COUPLE_GRAIN = 8192   /* points that are worth a thread */
};

/* The first touch of memory goes in steps of one huge page. */
#define TOUCH_STEP ((int64_t)2 << 20)

static const gsw_cpu_kernels *kernels_of(const gsw_context *context) {
    return (const gsw_cpu_kernels *)context->backend_data;
}

/* ---- Context, memory, vectors -----------------------------------------------------------------
 */

static gsw_status cpu_open(gsw_context *context, const gsw_context_options *options) {
    const gsw_cpu_kernels *kernels = gsw_cpu_best_kernels();
    gsw_watch_forks();
    context->threads = options->threads > 0 ? options->threads : gsw_thread_limit();
    context->backend_data = (void *)(uintptr_t)kernels;
    char name[96];
    gsw_cpu_model(name, sizeof name);
    snprintf(context->device, sizeof context->device, "%s (%s)", name, kernels->isa);
    return GSW_SUCCESS;
}

/* The system clears a page at its first touch. For large blocks, all threads share this work. */
static gsw_status cpu_alloc(gsw_context *context, size_t bytes, void **pointer) {
    GSW_TRY(gsw_alloc(context, bytes, 1, "a vector", pointer));
    volatile char *memory = *pointer;
    const int64_t pages = (int64_t)bytes / TOUCH_STEP;
    const int threads = gsw_useful_threads(context, pages, 2);
#pragma omp parallel for schedule(static) num_threads(threads) if (threads > 1)
    for (int64_t page = 0; page < pages; page++)
        memory[page * TOUCH_STEP] = 0;
    return GSW_SUCCESS;
}

static gsw_status cpu_fill(gsw_context *context, int64_t n, double a, double *x) {
    kernels_of(context)->fill(gsw_useful_threads(context, n, VECTOR_GRAIN), n, a, x);
    return GSW_SUCCESS;
}

static gsw_status cpu_copy(gsw_context *context, int64_t n, const double *x, double *y) {
    kernels_of(context)->copy(gsw_useful_threads(context, n, VECTOR_GRAIN), n, x, y);
    return GSW_SUCCESS;
}

static gsw_status cpu_axpby(gsw_context *context, int64_t n, double a, const double *x, double b,
                            double *y) {
    kernels_of(context)->axpby(gsw_useful_threads(context, n, VECTOR_GRAIN), n, a, x, b, y);
    return GSW_SUCCESS;
}

static gsw_status cpu_add_scaled(gsw_context *context, int64_t n, const double *d, const double *x,
                                 const double *y, double *z) {
    kernels_of(context)->add_scaled(gsw_useful_threads(context, n, VECTOR_GRAIN), n, d, x, y, z);
    return GSW_SUCCESS;
}

static gsw_status cpu_change_signs(gsw_context *context, int64_t n, const double *x, double *y) {
    kernels_of(context)->change_signs(gsw_useful_threads(context, n, VECTOR_GRAIN), n, x, y);
    return GSW_SUCCESS;
}

static gsw_status cpu_dot(gsw_context *context, int64_t n, const double *x, const double *y,
                          double *result) {
    const gsw_vector_pass pass = {.products = 1, .product = {{.x = x, .y = y}}};
    kernels_of(context)->pass(gsw_useful_threads(context, n, VECTOR_GRAIN), n, &pass, result);
    return GSW_SUCCESS;
}

/* ---- What the Krylov methods do to vectors ----------------------------------------------------
 */

static gsw_status cpu_project(gsw_context *context, int64_t n, int64_t count, const double *x,
                              int64_t stride, const double *y, double *products) {
    const int threads = gsw_useful_threads(context, n, VECTOR_GRAIN);
    for (int64_t j = 0; j < count; j += GSW_VECTOR_PASS_MAX) {
        gsw_vector_pass pass = {0};
        for (; pass.products < GSW_VECTOR_PASS_MAX && j + pass.products < count; pass.products++) {
            pass.product[pass.products].x = x + (j + pass.products) * stride;
            pass.product[pass.products].y = y;
        }
        kernels_of(context)->pass(threads, n, &pass, products + j);
    }
    return GSW_SUCCESS;
}

static gsw_status cpu_subtract(gsw_context *context, int64_t n, int64_t count, const double *c,
                               const double *x, int64_t stride, double *y, double *square) {
    const int threads = gsw_useful_threads(context, n, VECTOR_GRAIN);
    for (int64_t j = 0; j < count; j += GSW_VECTOR_PASS_MAX) {
        gsw_vector_pass pass = {.product = {{.x = y, .y = y}}};
        for (; pass.updates < GSW_VECTOR_PASS_MAX && j + pass.updates < count; pass.updates++) {
            pass.update[pass.updates].y = y;
            pass.update[pass.updates].x = x + (j + pass.updates) * stride;
            pass.update[pass.updates].a = -c[j + pass.updates];
            pass.update[pass.updates].b = 1;
        }
        pass.products = j + pass.updates == count;
        kernels_of(context)->pass(threads, n, &pass, square);
    }
    return GSW_SUCCESS;
}

static gsw_status cpu_krylov_pass(gsw_context *context, gsw_pass which, int64_t n,
                                  void *const *vectors, gsw_krylov_state *state) {
    const gsw_pass_shape *shape = &gsw_pass_shapes[which];
    const int32_t narrow = shape->vectors - shape->narrow; /* the first one that is fp32 */
    gsw_vector_pass pass = {.updates = shape->updates, .products = shape->products};
    double sums[GSW_PASS_PRODUCTS] = {0};
    gsw_threefold exact[GSW_PASS_PRODUCTS] = {{0, 0, 0}};
    if (state->ended != GSW_END_NOT)
        return GSW_SUCCESS;
    for (int u = 0; u < shape->updates; u++) {
        const int32_t to = shape->update[u].to, from = shape->update[u].from;
        pass.update[u].y = to < narrow ? vectors[to] : NULL;
        pass.update[u].y_f32 = to < narrow ? NULL : vectors[to];
        pass.update[u].x = from < narrow ? vectors[from] : NULL;
        pass.update[u].x_f32 = from < narrow ? NULL : vectors[from];
        pass.update[u].a = state->coefficient[shape->update[u].a];
        pass.update[u].b = state->coefficient[shape->update[u].b];
    }
    for (int d = 0; d < shape->products; d++) {
        const int32_t right = shape->product[d].right;
        pass.product[d].x = vectors[shape->product[d].left];
        pass.product[d].y = right < narrow ? vectors[right] : NULL;
        pass.product[d].y_f32 = right < narrow ? NULL : vectors[right];
    }
    kernels_of(context)->pass(gsw_useful_threads(context, n, VECTOR_GRAIN), n, &pass, sums);
    for (int d = 0; d < shape->products; d++)
        exact[d].sum = sums[d];
    gsw_krylov_end_pass(state, which, exact, shape->products);
    return GSW_SUCCESS;
}

/* ---- Products and direct solves ---------------------------------------------------------------
 */

/* For `count` vectors, at most GSW_SPMV_VECTORS; see kernels.h. */
static void multiply(gsw_context *context, const gsw_matrix *matrix, gsw_dtype vector_type,
                     int count, int64_t stride, const void *b, const void *x, void *y) {
    const int threads = gsw_useful_threads(
        context, matrix->grid.nx * matrix->grid.ny * matrix->grid.nz, PRODUCT_GRAIN);
    gsw_squeezed squeezed;
    if (matrix->grid.nx == 1) {
        gsw_squeeze(matrix, &squeezed);
        matrix = &squeezed.matrix;
    }
    gsw_rows_of(kernels_of(context), matrix)
        ->spmv(threads, matrix, vector_type, count, stride, b, x, y);
}

static gsw_status cpu_spmv(gsw_context *context, const gsw_matrix *matrix, gsw_dtype vector_type,
                           const void *b, const void *x, void *y) {
    multiply(context, matrix, vector_type, 1, 0, b, x, y);
    return GSW_SUCCESS;
}

static gsw_status cpu_multiply(gsw_context *context, const gsw_matrix *matrix, int count,
                               const double *x, double *y, int64_t stride) {
    for (int j = 0; j < count; j += GSW_SPMV_VECTORS)
        multiply(context, matrix, GSW_F64,
                 count - j < GSW_SPMV_VECTORS ? count - j : GSW_SPMV_VECTORS, stride, NULL,
                 x + j * stride, y + j * stride);
    return GSW_SUCCESS;
}

static gsw_status cpu_sptrsv(gsw_context *context, const gsw_matrix *matrix,
                             const gsw_sptrsv_options *options, const void *b, void *x) {
    if (options->algorithm == GSW_ALGORITHM_REFERENCE)
        return gsw_reference_sptrsv(context, matrix, options, b, x);
    return gsw_rows_of(kernels_of(context), matrix)->line(context, matrix, options, b, x);
}

/* ---- Allocating a factor ---------------------------------------------------------------------
 */

/* Chooses the skew. Two steps more than the least keep neighbouring chains off the critical path.
 * Where nx is a multiple of a square's side, the skew becomes that side. Then every chain ends its
 * line between two squares. Short pencils keep the small skew, because the chains' staggered start
 * would cost them more. */
static void derive_chains(gsw_chains *g, const gsw_grid *grid, const gsw_stencil *stencil) {
    const int32_t square = GSW_VECTOR_LANES;
    gsw_chains_derive(g, grid, stencil, SKEW_SLACK);
    if (g->nx % square == 0 && g->skew < square && g->nx * g->nz >= 32 * square * square)
        gsw_chains_derive(g, grid, stencil, SKEW_SLACK + square - g->skew);
}

/* Cuts the widest pencils whose padding stays within a tenth of the coefficients. */
static void choose_chains(gsw_chains *g) {
    const double values = g->part[0].count + g->part[1].count + 1;
    const double limit = 1.1 * (values + 1) / values * (double)(g->nx * g->ny * g->nz);
    for (int32_t chains = GSW_VECTOR_LANES; chains >= 1; chains /= 2) {
        gsw_chains_cut(g, chains);
        if ((double)g->records * chains <= limit)
            return;
    }
}

static void cpu_factor_close(gsw_context *context, gsw_factor *factor) {
    (void)context;
    struct gsw_packed *packed = factor->packed;
    if (!packed)
        return;
    free(packed->reciprocal);
    free(packed->faces);
    free(packed->eliminate_work);
    free(packed->sweep_work);
    free(packed->progress.slot);
    free(packed->updates);
    for (int part = 1; part >= 0; part--) {
        free(packed->records[part].writer);
        free(packed->records[part].period);
        free(packed->records[part].first);
        free(packed->part[part].packed);
    }
    free(packed);
    factor->packed = NULL;
}

/* Finds the first record of each pencil. */
static gsw_status index_pencils(gsw_context *context, const gsw_chains *g, int upper,
                                gsw_records *records) {
    GSW_TRY(gsw_alloc(context, (size_t)g->pencils, sizeof *records->first, "the pencils' index",
                      (void **)&records->first));
    int64_t record = 0;
    for (int64_t q = 0; q < g->pencils; q++) {
        records->first[q] = record;
        record += gsw_pencil_steps(g, upper, q);
    }
    return GSW_SUCCESS;
}

static gsw_status alloc_counted(gsw_context *context, gsw_factor *factor, size_t count, size_t size,
                                const char *what, void **out) {
    GSW_TRY(gsw_alloc(context, count, size, what, out));
    factor->info.work_bytes += (int64_t)(count * size);
    return GSW_SUCCESS;
}

/* Allocates the coefficients of the parts that the kind has. */
static gsw_status alloc_parts(gsw_context *context, gsw_factor *factor, const int present[2]) {
    struct gsw_packed *packed = factor->packed;
    const gsw_chains *g = &packed->chains;
    const int64_t size = (int64_t)gsw_dtype_size(factor->options.factor_type);
    const int64_t vectors = 2 * g->points * (int64_t)gsw_dtype_size(factor->options.vector_type);
    for (int part = 0; part < 2; part++) {
        if (!present[part])
            continue;
        const int64_t values = g->part[part].count + packed->part[part].diagonal;
        const int64_t points = packed->records[part].count * g->chains;
        /* Kernels load eight values even from narrow pencils, so there is room after the last
         * record. Where a grid is without couplings, it must still be one of which vectors exist.
         */
        GSW_TRY(gsw_alloc(context, (size_t)(points * (values > 0 ? values : 1) + GSW_VECTOR_LANES),
                          (size_t)size, "the packed factor", &packed->part[part].packed));
        memset((char *)packed->part[part].packed + points * values * size, 0,
               (size_t)(GSW_VECTOR_LANES * size));
        factor->info.packed_bytes += points * values * size;
        factor->info.moved_bytes +=
            (points < g->points ? points : g->points) * values * size + vectors;
    }
    return GSW_SUCCESS;
}

static gsw_status open_triangular(gsw_context *context, gsw_factor *factor) {
    struct gsw_packed *packed = factor->packed;
    gsw_chains *g = &packed->chains;
    const size_t threads = (size_t)context->threads;
    gsw_stencil stencil = factor->stencil;
    if (factor->options.transpose)
        stencil = gsw_mirrored_stencil(&factor->stencil);
    derive_chains(g, &factor->grid, &stencil);
    if (factor->ghosts[GSW_BELOW] + factor->ghosts[GSW_ABOVE] > 0)
        gsw_chains_set_ghosts(g, factor->ghosts[GSW_BELOW], factor->ghosts[GSW_ABOVE], SKEW_SLACK);
    choose_chains(g);
    packed->mirrored = gsw_chains_mirrored(g);
    const gsw_layout layout = gsw_factor_layout(&factor->options);
    packed->sweeps = layout.sweeps;
    memcpy(packed->upper, layout.upper, sizeof packed->upper);
    memcpy(packed->part, layout.part, sizeof packed->part);
    const int repeats = gsw_cpu_repeats(factor, g);
    for (int part = 0; part < 2; part++) {
        packed->records[part].count = g->records;
        if (repeats)
            GSW_TRY(gsw_cpu_find_periods(context, factor, part, &packed->records[part]));
    }
    /* The large arrays first: a grid without memory for them has too many pencils to index. */
    GSW_TRY(alloc_parts(context, factor, layout.present));
    for (int part = 0; part < 2 && !repeats; part++)
        GSW_TRY(index_pencils(context, g, part, &packed->records[part]));

    packed->progress.slots = context->threads + 1 + g->part[0].halo / g->chains;
    packed->progress.span = g->nx * g->nz + (int64_t)(g->chains + 1) * g->skew + GSW_SWEEP_CHUNK;
    GSW_TRY(alloc_counted(context, factor, (size_t)packed->progress.slots,
                          sizeof *packed->progress.slot, "progress counters",
                          (void **)&packed->progress.slot));
    for (int part = 0; part < 2; part++) {
        const size_t bytes = gsw_sweep_work_bytes(g, part, factor->options.vector_type, RHS_BATCH);
        if (packed->sweep_work_bytes < bytes)
            packed->sweep_work_bytes = bytes;
    }
    GSW_TRY(alloc_counted(context, factor, threads, packed->sweep_work_bytes, "sweep scratch",
                          &packed->sweep_work));
    memset(packed->sweep_work, 0, threads * packed->sweep_work_bytes);

    const int dependent = gsw_eliminates(factor->options.kind);
    packed->eliminate_work_bytes = gsw_eliminate_work_bytes(g, dependent);
    GSW_TRY(alloc_counted(context, factor, threads, packed->eliminate_work_bytes,
                          "factorisation scratch", &packed->eliminate_work));
    if (dependent) {
        GSW_TRY(gsw_alloc(context, 1, sizeof *packed->updates, "the elimination's updates",
                          (void **)&packed->updates));
        gsw_find_updates(g->part, factor->options.kind, packed->updates);
        packed->face_values = gsw_face_size(g);
        const size_t face = (size_t)packed->face_values * sizeof(double);
        GSW_TRY(alloc_counted(context, factor, (size_t)packed->progress.slots, face, "faces",
                              (void **)&packed->faces));
        memset(packed->faces, 0, (size_t)packed->progress.slots * face);
        memset(packed->eliminate_work, 0, threads * packed->eliminate_work_bytes);
    }
    return GSW_SUCCESS;
}

static gsw_status cpu_factor_open(gsw_context *context, gsw_factor *factor) {
    struct gsw_packed *packed;
    GSW_TRY(gsw_alloc(context, 1, sizeof *packed, "a factor", (void **)&packed));
    memset(packed, 0, sizeof *packed);
    factor->packed = packed;
    factor->sections = gsw_uncut();
    gsw_status status;
    if (factor->options.kind == GSW_JACOBI) {
        const size_t size = gsw_dtype_size(factor->options.factor_type);
        status = gsw_alloc(context, (size_t)factor->points, size, "the reciprocal diagonal",
                           &packed->reciprocal);
        factor->info.packed_bytes = factor->points * (int64_t)size;
        factor->info.moved_bytes =
            factor->points * (int64_t)(size + 2 * gsw_dtype_size(factor->options.vector_type));
    } else {
        status = open_triangular(context, factor);
    }
    if (status != GSW_SUCCESS)
        cpu_factor_close(context, factor);
    return status;
}

/* ---- Several processes ------------------------------------------------------------------------
 */

static gsw_status cpu_couple(gsw_context *context, const gsw_couple *job) {
    int64_t points = 1;
    for (int axis = 0; axis < 3; axis++)
        points *= job->end[axis] - job->begin[axis];
    kernels_of(context)->couple(gsw_useful_threads(context, points, COUPLE_GRAIN), job);
    return GSW_SUCCESS;
}

static const gsw_box_ops box_ops = {
    .bands = gsw_cpu_bands, .eliminate = gsw_cpu_eliminate_bands, .sweep = gsw_cpu_sweep_bands};

/* ---- The table --------------------------------------------------------------------------------
 */

const gsw_backend_ops *gsw_backend_cpu(void) {
    static const gsw_memory_ops memory = {
        .alloc = cpu_alloc,
        .release = gsw_host_release,
        .reserve = cpu_alloc,
        .unreserve = gsw_host_release,
        .upload = gsw_host_transfer,
        .download = gsw_host_transfer,
        .set = gsw_host_set,
        .check_place = gsw_host_check_place,
    };
    static const gsw_vector_ops vector = {
        .fill = cpu_fill,
        .copy = cpu_copy,
        .axpby = cpu_axpby,
        .add_scaled = cpu_add_scaled,
        .dot = cpu_dot,
        .change_signs = cpu_change_signs,
        .project = cpu_project,
        .subtract = cpu_subtract,
        .squares = gsw_host_squares,
        .scale = gsw_host_scale,
    };
    static const gsw_matrix_ops matrix = {
        .kinds = 1 << GSW_KIND_CSR | 1 << GSW_KIND_ARRAYS | 1 << GSW_KIND_REPEAT,
        .validate = gsw_matrix_validate_host,
        .spmv = cpu_spmv,
        .multiply = cpu_multiply,
        .couple = cpu_couple,
        .sptrsv = cpu_sptrsv,
    };
    static const gsw_krylov_ops krylov = {
        .pass = cpu_krylov_pass,
        .multiply_pass = gsw_host_multiply_pass,
        .judge = gsw_host_judge,
        .ahead = 0,
        .post = gsw_host_krylov_post,
        .collect = gsw_host_krylov_collect,
    };
    static const gsw_factor_ops factor = {
        .open = cpu_factor_open,
        .fill = gsw_cpu_factor_fill,
        .await = gsw_host_factor_await,
        .sweep = gsw_cpu_factor_sweep,
        .unpack = gsw_cpu_factor_unpack,
        .close = cpu_factor_close,
    };
    static const gsw_split_ops split = {
        .fill = gsw_cpu_split_fill,
        .apply = gsw_host_split_apply,
    };
    static const gsw_backend_ops operations = {
        .open = cpu_open,
        .close = gsw_host_close,
        .synchronize = gsw_host_synchronize,
        .memory = &memory,
        .vector = &vector,
        .matrix = &matrix,
        .mask = &gsw_host_mask_ops,
        .wrap = &gsw_host_wrap_ops,
        .krylov = &krylov,
        .factor = &factor,
        .split = &split,
        .multigrid = &gsw_cpu_multigrid_ops,
        .relax = &gsw_cpu_relax_ops,
        .link = &gsw_host_link,
        .box = &box_ops,
    };
    return &operations;
}
