/* fuzz_api.c: libFuzzer harness for the library's functions. The input's bytes choose a sequence of
 * calls, legal ones and refused ones, on small grids. What a header forbids without a check, such
 * as memory that is too short or objects that are used after their end, is not tried.
 *
 * Every call returns GSW_SUCCESS or a status that its header names, and the context explains a
 * failure. A refused call writes nothing. The same solve gives the same bits again, and in the end
 * each context still gives the right bits. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "api_world.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MOST_CALLS = 20 };

/* ---- Slots ---------------------------------------------------------------------------------- */

/* A context: the first one that exists, most of the time; NULL rarely. */
static gsw_context *any_context(world *w) {
    const int choice = fuzz_byte(w);
    if (choice >= 250)
        return NULL;
    return w->contexts[choice >= 192 ? choice % CONTEXTS : w->contexts[0] == NULL];
}

/* The context of an object, most of the time. */
static gsw_context *context_for(world *w, gsw_context *own) {
    const int choice = fuzz_byte(w);
    if (choice >= 250)
        return NULL;
    return choice >= 240 || own == NULL ? w->contexts[choice % CONTEXTS] : own;
}

static world_matrix *any_matrix(world *w) {
    world_matrix *matrix = &w->matrices[fuzz_below(w, MATRICES)];
    for (int i = 0; i < MATRICES && !matrix->made; i++)
        matrix = &w->matrices[i];
    return matrix->made ? matrix : NULL;
}

static const gsw_matrix *view_of(const world_matrix *matrix) {
    return matrix != NULL ? &matrix->view : NULL;
}

/* A matrix whose arrays no function reads beyond their ends. */
static world_matrix *sound_matrix(world *w) {
    world_matrix *matrix = any_matrix(w);
    for (int i = 0; i < MATRICES && (matrix == NULL || !matrix->sound); i++)
        matrix = w->matrices[i].made ? &w->matrices[i] : NULL;
    return matrix != NULL && matrix->sound ? matrix : NULL;
}

static int64_t points_of(const gsw_matrix *matrix) {
    return matrix == NULL ? 1 : matrix->grid.nx * matrix->grid.ny * matrix->grid.nz;
}

/* ---- The ends of objects: what uses others goes first --------------------------------------- */

static void end_applier(world_applier *applier) {
    gsw_preconditioner_destroy(applier->preconditioner);
    *applier = (world_applier){.factor = -1, .hierarchy = -1, .matrix = -1};
}

static void end_factor(world *w, int k) {
    for (int i = 0; i < APPLIERS; i++)
        if (w->appliers[i].factor == k)
            end_applier(&w->appliers[i]);
    gsw_factor_destroy(w->factors[k].factor);
    w->factors[k] = (world_factor){0};
}

static void end_hierarchy(world *w, int k) {
    for (int i = 0; i < APPLIERS; i++)
        if (w->appliers[i].hierarchy == k)
            end_applier(&w->appliers[i]);
    gsw_multigrid_destroy(w->hierarchies[k].multigrid);
    w->hierarchies[k] = (world_hierarchy){0};
}

static void end_operator(world_operator *op) {
    gsw_operator_destroy(op->op);
    *op = (world_operator){.matrix = -1};
}

static void end_matrix(world *w, int k) {
    for (int i = 0; i < OPERATORS; i++)
        if (w->operators[i].matrix == k)
            end_operator(&w->operators[i]);
    for (int i = 0; i < APPLIERS; i++)
        if (w->appliers[i].matrix == k)
            end_applier(&w->appliers[i]);
    fuzz_free_matrix(&w->matrices[k]);
}

/* Ends the objects of one kind that belong to a context. */
static void end_kind(world *w, const gsw_context *context, int kind) {
    for (int i = 0; i < FACTORS && kind == 0; i++)
        if (w->factors[i].context == context)
            end_factor(w, i);
    for (int i = 0; i < HIERARCHIES && kind == 1; i++)
        if (w->hierarchies[i].context == context)
            end_hierarchy(w, i);
    for (int i = 0; i < OPERATORS && kind == 2; i++)
        if (w->operators[i].context == context)
            end_operator(&w->operators[i]);
    for (int i = 0; i < APPLIERS && kind == 3; i++)
        if (w->appliers[i].context == context)
            end_applier(&w->appliers[i]);
}

static void end_context(world *w, int k) {
    const int first = fuzz_below(w, 4);
    for (int i = 0; i < 4 && w->contexts[k] != NULL; i++)
        end_kind(w, w->contexts[k], (first + i) % 4);
    gsw_context_destroy(w->contexts[k]);
    w->contexts[k] = NULL;
}

/* ---- Contexts ------------------------------------------------------------------------------- */

static int log_mark;

/* A callback that fails may do so without a reason; the call that follows gives one. */
static void log_text(void *user, gsw_status status, const char *message) {
    fuzz_check((user == &log_mark || user == NULL) && status != GSW_SUCCESS && message != NULL);
}

static gsw_context *make_context(void) {
    const gsw_context_options options = {
        .size = sizeof options, .backend = GSW_BACKEND_CPU, .threads = 1};
    gsw_context *context = NULL;
    fuzz_check(gsw_context_create(&options, &context) == GSW_SUCCESS);
    return context;
}

static void call_context(world *w) {
    static const gsw_backend backends[] = {GSW_BACKEND_CPU, GSW_BACKEND_AUTO, GSW_BACKEND_CUDA,
                                           (gsw_backend)77};
    const int k = fuzz_below(w, CONTEXTS), backend = fuzz_byte(w);
    const gsw_context_options full = {.size = sizeof full,
                                      .backend = backends[backend < 192 ? 0 : backend % 4],
                                      .threads = fuzz_below(w, 8) - 1,
                                      .device = fuzz_below(w, 4) - 1,
                                      .log = log_text,
                                      .log_user = &log_mark};
    gsw_context *made = NULL;
    end_context(w, k);
    gsw_context_options *options = fuzz_struct(w, &full, sizeof full);
    const bool good =
        fuzz_status(NULL, gsw_context_create(options, fuzz_byte(w) >= 250 ? NULL : &made),
                    FUZZ_ARGUMENT | FUZZ_ALLOCATES | FUZZ_BIT(GSW_ERROR_NO_BACKEND));
    fuzz_check(good == (made != NULL));
    fuzz_check(good == (gsw_context_message(NULL)[0] == '\0'));
    w->contexts[k] = made;
    free(options);
}

static gsw_status sum_callback(void *user, gsw_context *context, int count, double *values) {
    static int calls;
    fuzz_check(count >= 0 && (count == 0 || values != NULL));
    if (user != &log_mark || calls++ % 8 != 7)
        return GSW_SUCCESS;
    return gsw_context_fail(context, GSW_ERROR_COMMUNICATION, "the sum did not arrive");
}

static void call_settings(world *w) {
    gsw_context *context = any_context(w);
    const int what = fuzz_below(w, 8), value = fuzz_below(w, 5) - 2;
    char name[8];
    if (what < 3)
        (void)fuzz_status(context, gsw_context_set_row_base(context, value), FUZZ_ARGUMENT);
    else if (what < 5)
        (void)fuzz_status(context,
                          gsw_context_set_sum(context, value < 0 ? sum_callback : NULL,
                                              value == -2 ? &log_mark : NULL),
                          FUZZ_ARGUMENT);
    else if (what == 5)
        (void)fuzz_status(context, gsw_context_synchronize(context), FUZZ_ARGUMENT);
    else if (what == 6)
        (void)gsw_context_fail(context, GSW_ERROR_BREAKDOWN, value > 0 ? "a reason" : NULL);
    else
        (void)fuzz_status(NULL, gsw_device_name(value, name, sizeof name),
                          FUZZ_ARGUMENT | FUZZ_BIT(GSW_ERROR_NO_BACKEND));
    fuzz_check(gsw_context_threads(context) >= 1 && gsw_context_device(context) != NULL);
}

static void call_end_context(world *w) {
    if (fuzz_below(w, 4) == 3)
        end_context(w, fuzz_below(w, CONTEXTS));
}

/* ---- Matrices ------------------------------------------------------------------------------- */

static void call_matrix(world *w) {
    const int k = fuzz_below(w, MATRICES);
    gsw_context *context = w->contexts[0] != NULL ? w->contexts[0] : w->contexts[1];
    end_matrix(w, k);
    if (context != NULL)
        fuzz_make_matrix(w, context, &w->matrices[k]);
}

static void call_validate(world *w) {
    gsw_context *context = any_context(w);
    const world_matrix *matrix = any_matrix(w);
    const gsw_status status = gsw_matrix_validate(context, view_of(matrix));
    if (fuzz_status(context, status, FUZZ_ARGUMENT | FUZZ_GRID))
        fuzz_check(matrix->sound);
    else if (context != NULL && matrix != NULL && matrix->sound)
        fuzz_check(status == GSW_ERROR_NOT_A_GRID);
}

static void call_detect(world *w) {
    gsw_context *context = any_context(w);
    const world_matrix *matrix = any_matrix(w);
    const int extents = fuzz_byte(w);
    gsw_grid grid;
    gsw_stencil stencil;
    gsw_matrix found;
    gsw_csr copy;
    if (matrix == NULL || matrix->view.format != GSW_FORMAT_CSR)
        return;
    const gsw_csr *csr = extents >= 250 ? NULL : &matrix->view.csr;
    const gsw_grid half = {2, csr != NULL ? csr->rows / 2 : 0, 1};
    const gsw_grid *given = extents < 128 ? NULL : extents < 224 ? &matrix->view.grid : &half;
    if (!fuzz_status(context, gsw_detect(context, csr, given, &grid, &stencil),
                     FUZZ_ARGUMENT | FUZZ_GRID | FUZZ_BIT(GSW_ERROR_OUT_OF_MEMORY)))
        return;
    fuzz_check(matrix->sound);
    if (context == NULL)
        return;
    fuzz_check(gsw_matrix_fit(context, csr, &grid, &stencil, &found, &copy) == GSW_SUCCESS);
    fuzz_check(gsw_matrix_validate(context, &found) == GSW_SUCCESS);
    gsw_csr_free(&copy);
}

/* A view with one bad member. */
static void call_bad_view(world *w) {
    gsw_context *context = any_context(w);
    const world_matrix *matrix = any_matrix(w);
    const int what = fuzz_below(w, 12), value = fuzz_byte(w) - 128;
    gsw_matrix view, made;
    if (matrix == NULL)
        return;
    view = matrix->view;
    int32_t *const numbers[] = {&view.stencil.count, &view.stencil.center,
                                &view.stencil.offsets[0].dx, &view.stencil.offsets[0].dy};
    int64_t *const sizes[] = {&view.grid.nx, &view.grid.ny, &view.grid.nz, &view.csr.rows};
    if (what < 4)
        *numbers[what] = value == 0 ? INT32_MAX : value - 1;
    else if (what < 8)
        *sizes[what - 4] = value > 0 ? INT64_MAX / value : value;
    else if (what == 8)
        view.csr.base = value;
    else if (what == 9)
        view.csr.index_type = (gsw_itype)value;
    else if (what == 10)
        view.csr.value_type = view.array.value_type = (gsw_dtype)value;
    else
        view.csr.row_ptr = NULL;
    if (view.format == GSW_FORMAT_CSR)
        (void)fuzz_status(context,
                          gsw_matrix_from_csr(context, &view.grid, &view.stencil, &view.csr, &made),
                          FUZZ_ARGUMENT | FUZZ_BIT(GSW_ERROR_OVERFLOW));
    else
        (void)fuzz_status(
            context,
            gsw_matrix_from_stencil(context, &view.grid, &view.stencil, &view.array, &made),
            FUZZ_ARGUMENT | FUZZ_BIT(GSW_ERROR_OVERFLOW));
}

static void call_to_csr(world *w) {
    gsw_context *context = any_context(w);
    const world_matrix *matrix = any_matrix(w);
    const gsw_part part = (gsw_part)(fuzz_byte(w) % 5 - 1);
    const gsw_itype type = (gsw_itype)(fuzz_byte(w) % 5 - 1);
    gsw_csr csr = {0};
    if (matrix != NULL && !matrix->sound)
        return;
    const gsw_status status = gsw_matrix_to_csr(context, view_of(matrix), part, type, &csr);
    if (fuzz_status(context, status, FUZZ_ARGUMENT | FUZZ_ALLOCATES | FUZZ_GRID)) {
        const gsw_matrix copy = {
            .grid = matrix->view.grid, .stencil = matrix->view.stencil, .csr = csr};
        fuzz_check(csr.rows == points_of(&copy) && csr.base == 0);
        if (gsw_matrix_validate(context, &matrix->view) == GSW_SUCCESS)
            fuzz_check(gsw_matrix_validate(context, &copy) == GSW_SUCCESS);
    }
    gsw_csr_free(&csr);
}

static void call_memory(world *w) {
    gsw_context *context = any_context(w);
    const size_t bytes = (size_t)fuzz_byte(w);
    const int value = fuzz_byte(w);
    char host[256] = {0};
    void *memory = NULL;
    gsw_matrix copy = {0};
    const world_matrix *matrix = sound_matrix(w);
    const gsw_status status = gsw_memory_alloc(context, bytes, &memory);
    fuzz_check(fuzz_status(context, status, FUZZ_ARGUMENT) == (memory != NULL || context != NULL));
    if (status == GSW_SUCCESS && memory != NULL) {
        fuzz_check(gsw_memory_set(context, memory, value, bytes) == GSW_SUCCESS);
        fuzz_check(gsw_memory_download(context, host, memory, bytes) == GSW_SUCCESS);
        fuzz_check(bytes == 0 || (unsigned char)host[bytes - 1] == value);
        fuzz_check(gsw_memory_upload(context, memory, host, bytes) == GSW_SUCCESS);
    }
    gsw_memory_free(context, memory);
    if (fuzz_status(context, gsw_matrix_upload(context, view_of(matrix), &copy),
                    FUZZ_ARGUMENT | FUZZ_ALLOCATES))
        (void)fuzz_status(context, gsw_matrix_validate(context, &copy), FUZZ_GRID);
    gsw_matrix_release(context, &copy);
}

/* ---- Products and triangular solves --------------------------------------------------------- */

static void call_product(world *w) {
    gsw_context *context = any_context(w);
    const world_matrix *matrix = sound_matrix(w);
    const int type = fuzz_byte(w), residual = fuzz_below(w, 2);
    const gsw_dtype vectors = type >= 250 ? (gsw_dtype)7 : (gsw_dtype)(type % 2);
    fuzz_vectors v;
    fuzz_open_vectors(w, residual ? 3 : 2, points_of(view_of(matrix)), vectors, false, &v);
    const gsw_status status =
        residual
            ? gsw_residual(context, view_of(matrix), vectors, v.vector[0], v.vector[1], v.vector[2])
            : gsw_spmv(context, view_of(matrix), vectors, v.vector[0], v.vector[1]);
    (void)fuzz_status(context, status, FUZZ_ARGUMENT | FUZZ_UNSUPPORTED | FUZZ_GRID);
    fuzz_check_refused(&v, status);
    fuzz_close_vectors(&v);
}

static void call_sptrsv(world *w) {
    gsw_context *context = any_context(w);
    const world_matrix *matrix = sound_matrix(w);
    const int bits = fuzz_byte(w), odd = fuzz_byte(w);
    const world_factor *workspace = &w->factors[fuzz_below(w, FACTORS)];
    gsw_sptrsv_options full = {.size = sizeof full,
                               .part = (gsw_part)(bits & 1),
                               .transpose = bits >> 1 & 1,
                               .unit_diagonal = bits >> 2 & 1,
                               .vector_type = (gsw_dtype)(bits >> 3 & 1),
                               .algorithm = (gsw_algorithm)(bits >> 4 & 3),
                               .workspace = bits >> 6 == 3 ? workspace->factor : NULL};
    if (odd >= 250)
        full.part = (gsw_part)(odd - 252);
    else if (odd >= 244)
        full.algorithm = (gsw_algorithm)(odd - 240);
    gsw_sptrsv_options *options = fuzz_struct(w, &full, sizeof full);
    fuzz_vectors v;
    fuzz_open_vectors(w, 2, points_of(view_of(matrix)),
                      options != NULL ? full.vector_type : GSW_F64, true, &v);
    const gsw_status status = gsw_sptrsv(context, view_of(matrix), options, v.count, v.vector[0],
                                         v.ld[0], v.vector[1], v.ld[1]);
    fuzz_check_refused(&v, status);
    if (fuzz_status(context, status,
                    FUZZ_ARGUMENT | FUZZ_ALLOCATES | FUZZ_UNSUPPORTED | FUZZ_GRID)) {
        char *first = fuzz_rewind_vectors(&v);
        fuzz_check(gsw_sptrsv(context, view_of(matrix), options, v.count, v.vector[0], v.ld[0],
                              v.vector[1], v.ld[1]) == GSW_SUCCESS);
        fuzz_check_same(&v, first);
    }
    fuzz_close_vectors(&v);
    free(options);
}

/* ---- Factors -------------------------------------------------------------------------------- */

#define FACTOR_ERRORS (FUZZ_ARGUMENT | FUZZ_UNSUPPORTED | FUZZ_ALLOCATES | FUZZ_GRID | FUZZ_PIVOT)

static gsw_factor_options factor_options(world *w) {
    const int kind = fuzz_byte(w), bits = fuzz_byte(w), odd = fuzz_byte(w);
    gsw_factor_options options = {.size = sizeof options,
                                  .kind = (gsw_factor_kind)(kind % 8),
                                  .factor_type = (gsw_dtype)(bits & 1),
                                  .vector_type = (gsw_dtype)(bits >> 1 & bits & 1),
                                  .transpose = bits >> 2 & 1,
                                  .unit_diagonal = bits >> 3 & 1,
                                  .omega = (bits >> 4 & 3) * 0.4,
                                  .pivot_shift = bits >> 6 == 1 ? 1e-3 : 0};
    if (odd >= 248)
        options.omega = odd % 2 ? NAN : odd - 250;
    else if (odd >= 244)
        options.pivot_shift = odd % 2 ? NAN : -1;
    else if (odd >= 240)
        options.vector_type = (gsw_dtype)(odd - 241);
    return options;
}

static void call_factor(world *w) {
    gsw_context *context = any_context(w);
    const int k = fuzz_below(w, FACTORS);
    const gsw_matrix *matrix = view_of(any_matrix(w)), *upper = view_of(any_matrix(w));
    const gsw_factor_options full = factor_options(w);
    const bool lu = full.kind == GSW_FACTOR_LU;
    gsw_factor_options *options = fuzz_struct(w, &full, sizeof full);
    gsw_factor *factor = NULL;
    end_factor(w, k);
    const gsw_status status = lu ? gsw_factor_create_lu(context, matrix, upper, options, &factor)
                                 : gsw_factor_create(context, matrix, options, &factor);
    fuzz_check(fuzz_status(context, status, FACTOR_ERRORS) == (factor != NULL));
    if (factor != NULL) {
        gsw_factor_info info = {.size = sizeof info};
        fuzz_check(gsw_factor_get_info(factor, &info) == GSW_SUCCESS);
        fuzz_check(info.packed_bytes >= 0 && info.first_bad_row == -1);
        w->factors[k] = (world_factor){factor, context, info.vector_type};
    }
    free(options);
}

static void call_refactor(world *w) {
    world_factor *f = &w->factors[fuzz_below(w, FACTORS)];
    gsw_context *context = context_for(w, f->context);
    const gsw_matrix *matrix = view_of(any_matrix(w)), *upper = view_of(any_matrix(w));
    gsw_factor_info info = {.size = sizeof info};
    if (gsw_factor_get_info(f->factor, &info) != GSW_SUCCESS || info.kind != GSW_FACTOR_LU)
        upper = fuzz_byte(w) >= 240 ? upper : NULL;
    (void)fuzz_status(context, gsw_factor_refactor(context, f->factor, matrix, upper),
                      FACTOR_ERRORS);
}

static void call_factor_solve(world *w) {
    const world_factor *f = &w->factors[fuzz_below(w, FACTORS)];
    gsw_context *context = context_for(w, f->context);
    const int which = fuzz_below(w, 8) - 2;
    gsw_factor_info info = {.size = sizeof info, .grid = {1, 1, 1}};
    (void)gsw_factor_get_info(f->factor, &info);
    fuzz_vectors v;
    fuzz_open_vectors(w, 2, info.grid.nx * info.grid.ny * info.grid.nz, f->vector_type, true, &v);
    gsw_status status = GSW_SUCCESS;
    char *first = NULL;
    for (int turn = 0; turn < 2 && status == GSW_SUCCESS; turn++) {
        first = turn == 1 ? fuzz_rewind_vectors(&v) : NULL;
        status = which < 2 ? gsw_factor_sweep(context, f->factor, which, v.count, v.vector[0],
                                              v.ld[0], v.vector[1], v.ld[1])
                           : gsw_factor_solve(context, f->factor, v.count, v.vector[0], v.ld[0],
                                              v.vector[1], v.ld[1]);
    }
    (void)fuzz_status(context, status, FUZZ_ARGUMENT | FUZZ_BIT(GSW_ERROR_OVERFLOW));
    fuzz_check(first == NULL || status == GSW_SUCCESS);
    if (first != NULL)
        fuzz_check_same(&v, first);
    fuzz_check_refused(&v, status);
    fuzz_close_vectors(&v);
}

static void call_extract(world *w) {
    const world_factor *f = &w->factors[fuzz_below(w, FACTORS)];
    gsw_context *context = context_for(w, f->context);
    const int bits = fuzz_byte(w);
    gsw_csr lower = {0}, upper = {0};
    (void)fuzz_status(context,
                      gsw_factor_extract(context, f->factor,
                                         bits >= 250 ? (gsw_itype)9 : (gsw_itype)(bits & 1),
                                         bits & 2 ? &lower : NULL, bits & 4 ? &upper : NULL),
                      FUZZ_ARGUMENT | FUZZ_UNSUPPORTED | FUZZ_ALLOCATES);
    gsw_csr_free(&lower);
    gsw_csr_free(&upper);
    const gsw_factor_info full = {.size = sizeof full};
    gsw_factor_info *info = fuzz_struct(w, &full, sizeof full);
    (void)fuzz_status(NULL, gsw_factor_get_info(f->factor, info), FUZZ_ARGUMENT);
    fuzz_check(gsw_factor_sweeps(f->factor) <= 2);
    free(info);
}

static void call_smooth(world *w) {
    const world_factor *f = &w->factors[fuzz_below(w, FACTORS)];
    gsw_context *context = context_for(w, f->context);
    const world_matrix *matrix = sound_matrix(w);
    const int sweeps = fuzz_below(w, 5) - 1, zero = fuzz_below(w, 2);
    fuzz_vectors v;
    fuzz_open_vectors(w, 3, points_of(view_of(matrix)), GSW_F64, false, &v);
    const gsw_status status = gsw_smooth(context, view_of(matrix), f->factor, sweeps, zero,
                                         v.vector[0], v.vector[1], v.vector[2]);
    (void)fuzz_status(context, status, FUZZ_ARGUMENT | FUZZ_UNSUPPORTED | FUZZ_GRID);
    fuzz_check_refused(&v, status);
    fuzz_close_vectors(&v);
}

/* ---- Multigrid ------------------------------------------------------------------------------ */

#define HIERARCHY_ERRORS FACTOR_ERRORS

static gsw_multigrid_options multigrid_options(world *w) {
    const int a = fuzz_byte(w), b = fuzz_byte(w), odd = fuzz_byte(w);
    gsw_multigrid_options options = {.size = sizeof options,
                                     .smoother = (gsw_smoother)(a % 8),
                                     .cycle = (gsw_cycle)(a / 8 % 3),
                                     .pre_sweeps = a / 64 % 3,
                                     .post_sweeps = a / 128 + 1,
                                     .cycle_type = (gsw_dtype)(b & 1),
                                     .theta = (b >> 1 & 3) * 0.3,
                                     .coarsest_points = 1 + (b >> 3 & 7) * 4,
                                     .interpolation = (gsw_interpolation)(b >> 6 & 1),
                                     .max_levels = b >> 7 ? odd % 4 : 0};
    if (odd >= 252)
        options.theta = odd % 2 ? NAN : 2;
    else if (odd >= 248)
        options.smoother = (gsw_smoother)(odd - 249 + 8);
    else if (odd >= 244)
        options.coarsest_points = odd % 2 ? -1 : INT64_MAX;
    else if (odd >= 240)
        options.max_levels = odd % 2 ? -1 : 65;
    else if (odd >= 236)
        options.pre_sweeps = odd % 2 ? -1 : 1 << 30;
    return options;
}

static void call_multigrid(world *w) {
    gsw_context *context = any_context(w);
    const int k = fuzz_below(w, HIERARCHIES);
    const gsw_matrix *matrix = view_of(any_matrix(w));
    const gsw_multigrid_options full = multigrid_options(w);
    gsw_multigrid_options *options = fuzz_struct(w, &full, sizeof full);
    gsw_multigrid *multigrid = NULL;
    end_hierarchy(w, k);
    const gsw_status status = gsw_multigrid_create(context, matrix, options, &multigrid);
    fuzz_check(fuzz_status(context, status, HIERARCHY_ERRORS) == (multigrid != NULL));
    if (multigrid != NULL)
        w->hierarchies[k] = (world_hierarchy){multigrid, context};
    free(options);
}

static void call_multigrid_refactor(world *w) {
    const world_hierarchy *h = &w->hierarchies[fuzz_below(w, HIERARCHIES)];
    gsw_context *context = context_for(w, h->context);
    const gsw_matrix *matrix = view_of(any_matrix(w));
    (void)fuzz_status(context, gsw_multigrid_refactor(context, h->multigrid, matrix),
                      HIERARCHY_ERRORS);
}

static void call_multigrid_apply(world *w) {
    const world_hierarchy *h = &w->hierarchies[fuzz_below(w, HIERARCHIES)];
    gsw_context *context = context_for(w, h->context);
    gsw_multigrid_level finest = {.size = sizeof finest, .points = 1};
    (void)gsw_multigrid_get_level(h->multigrid, 0, &finest);
    fuzz_vectors v;
    fuzz_open_vectors(w, 2, finest.points, GSW_F64, false, &v);
    gsw_status status = gsw_multigrid_apply(context, h->multigrid, v.vector[0], v.vector[1]);
    fuzz_check_refused(&v, status);
    if (fuzz_status(context, status, FUZZ_ARGUMENT)) {
        char *first = fuzz_rewind_vectors(&v);
        fuzz_check(gsw_multigrid_apply(context, h->multigrid, v.vector[0], v.vector[1]) ==
                   GSW_SUCCESS);
        fuzz_check_same(&v, first);
    }
    fuzz_close_vectors(&v);
}

static void call_multigrid_look(world *w) {
    const world_hierarchy *h = &w->hierarchies[fuzz_below(w, HIERARCHIES)];
    gsw_context *context = context_for(w, h->context);
    const int level = fuzz_below(w, 8) - 1, part = fuzz_below(w, 4);
    const gsw_multigrid_info full = {.size = sizeof full};
    const gsw_multigrid_level described = {.size = sizeof described};
    gsw_multigrid_info *info = fuzz_struct(w, &full, sizeof full);
    gsw_multigrid_level *description = fuzz_struct(w, &described, sizeof described);
    gsw_csr csr = {0};
    (void)fuzz_status(NULL, gsw_multigrid_get_info(h->multigrid, info), FUZZ_ARGUMENT);
    (void)fuzz_status(NULL, gsw_multigrid_get_level(h->multigrid, level, description),
                      FUZZ_ARGUMENT);
    (void)fuzz_status(
        context,
        gsw_multigrid_extract(context, h->multigrid, level, (gsw_multigrid_part)part, &csr),
        FUZZ_ARGUMENT | FUZZ_ALLOCATES);
    gsw_csr_free(&csr);
    free(description);
    free(info);
}

/* ---- Callbacks ------------------------------------------------------------------------------ */

static gsw_status fail_with_reason(world_callback *callback, gsw_context *context) {
    return gsw_context_fail(context, (gsw_status)(1 + callback->mode % GSW_ERROR_COMMUNICATION),
                            callback->mode & 1 ? "the callback gave up" : NULL);
}

/* A gsw_apply_fn: a multiple of x, a product, NaN, or after some calls a failure. */
static gsw_status apply_callback(void *user, gsw_context *context, const double *x, double *y) {
    world_callback *callback = user;
    if (callback->mode % 8 >= 5 && callback->calls-- <= 0) {
        if (callback->mode % 8 == 5)
            return (gsw_status)(1 + callback->mode % GSW_ERROR_COMMUNICATION);
        if (callback->mode % 8 == 6)
            return fail_with_reason(callback, context);
        for (int64_t i = 0; i < callback->points; i++)
            y[i] = NAN;
        return GSW_SUCCESS;
    }
    if (callback->mode % 8 >= 3 && callback->matrix != NULL)
        return gsw_spmv(context, callback->matrix, GSW_F64, x, y);
    for (int64_t i = 0; i < callback->points; i++)
        y[i] = (1 + callback->mode % 3) * x[i];
    return GSW_SUCCESS;
}

/* Which matrix a callback or an operator uses; -1: none. */
static int index_of(const world *w, const world_matrix *matrix) {
    return matrix != NULL ? (int)(matrix - w->matrices) : -1;
}

static void make_callback(world *w, const world_matrix *matrix, world_callback *callback) {
    *callback = (world_callback){.mode = fuzz_byte(w),
                                 .calls = fuzz_below(w, 16),
                                 .points = points_of(view_of(matrix)),
                                 .matrix = view_of(matrix)};
}

static void call_operator(world *w) {
    gsw_context *context = any_context(w);
    world_operator *op = &w->operators[fuzz_below(w, OPERATORS)];
    const world_matrix *matrix = sound_matrix(w);
    const int stored = fuzz_below(w, 2), odd = fuzz_byte(w);
    gsw_operator *made = NULL;
    end_operator(op);
    make_callback(w, matrix, &op->callback);
    const int64_t points = odd >= 250 ? odd - 252 : op->callback.points;
    op->callback.points = points;
    if (points != points_of(view_of(matrix)))
        op->callback.matrix = NULL;
    const gsw_status status =
        stored ? gsw_operator_from_matrix(context, view_of(matrix), &made)
               : gsw_operator_from_callback(context, points, odd == 249 ? NULL : apply_callback,
                                            &op->callback, &made);
    fuzz_check(fuzz_status(context, status, FUZZ_ARGUMENT | FUZZ_ALLOCATES) == (made != NULL));
    fuzz_check((gsw_operator_points(made) > 0) == (made != NULL));
    if (made != NULL) {
        op->op = made;
        op->context = context;
        op->matrix = index_of(w, matrix);
    }
}

static void call_operator_apply(world *w) {
    const world_operator *op = &w->operators[fuzz_below(w, OPERATORS)];
    gsw_context *context = context_for(w, op->context);
    const int64_t points = gsw_operator_points(op->op);
    fuzz_vectors v;
    fuzz_open_vectors(w, 2, points > 0 ? points : 1, GSW_F64, false, &v);
    (void)fuzz_status(context, gsw_operator_apply(context, op->op, v.vector[0], v.vector[1]),
                      FUZZ_ANY);
    fuzz_close_vectors(&v);
}

/* ---- Preconditioners ------------------------------------------------------------------------ */

static gsw_status make_applier(world *w, gsw_context *context, world_applier *applier) {
    const int source = fuzz_below(w, 3), odd = fuzz_byte(w);
    if (source == 0) {
        applier->factor = fuzz_below(w, FACTORS);
        return gsw_preconditioner_from_factor(context, w->factors[applier->factor].factor,
                                              &applier->preconditioner);
    }
    if (source == 1) {
        applier->hierarchy = fuzz_below(w, HIERARCHIES);
        return gsw_preconditioner_from_multigrid(
            context, w->hierarchies[applier->hierarchy].multigrid, &applier->preconditioner);
    }
    const world_matrix *matrix = sound_matrix(w);
    make_callback(w, matrix, &applier->callback);
    applier->matrix = index_of(w, matrix);
    return gsw_preconditioner_from_callback(context, odd >= 252 ? -1 : applier->callback.points,
                                            odd == 251 ? NULL : apply_callback, &applier->callback,
                                            &applier->preconditioner);
}

static void call_applier(world *w) {
    gsw_context *context = any_context(w);
    world_applier *applier = &w->appliers[fuzz_below(w, APPLIERS)];
    end_applier(applier);
    const gsw_status status = make_applier(w, context, applier);
    fuzz_check(fuzz_status(context, status, FUZZ_ARGUMENT | FUZZ_UNSUPPORTED | FUZZ_ALLOCATES) ==
               (applier->preconditioner != NULL));
    fuzz_check(gsw_preconditioner_name(applier->preconditioner)[0] != '\0');
    if (applier->preconditioner != NULL)
        applier->context = context;
    else
        end_applier(applier);
}

static void call_applier_apply(world *w) {
    const world_applier *applier = &w->appliers[fuzz_below(w, APPLIERS)];
    gsw_context *context = context_for(w, applier->context);
    const int64_t points = gsw_preconditioner_points(applier->preconditioner);
    fuzz_vectors v;
    fuzz_open_vectors(w, 2, points > 0 ? points : 1, GSW_F64, false, &v);
    (void)fuzz_status(
        context,
        gsw_preconditioner_apply(context, applier->preconditioner, v.vector[0], v.vector[1]),
        FUZZ_ANY);
    fuzz_close_vectors(&v);
}

static void call_choose(world *w) {
    gsw_context *context = any_context(w);
    world_applier *applier = &w->appliers[fuzz_below(w, APPLIERS)];
    const gsw_matrix *matrix = view_of(any_matrix(w));
    const gsw_multigrid_options multigrid = multigrid_options(w);
    const gsw_factor_options factor = factor_options(w);
    const int given = fuzz_byte(w);
    const gsw_choice_options full = {.size = sizeof full,
                                     .multigrid = given & 1 ? &multigrid : NULL,
                                     .factor = given & 2 ? &factor : NULL};
    const gsw_choice empty = {.size = sizeof empty};
    gsw_choice_options *options = fuzz_struct(w, &full, sizeof full);
    gsw_choice *choice = fuzz_struct(w, &empty, sizeof empty);
    const unsigned allowed = FACTOR_ERRORS;
    end_applier(applier);
    if (given >= 192) {
        (void)fuzz_status(context, gsw_choose_method(context, matrix, choice),
                          allowed & ~(FUZZ_PIVOT | FUZZ_UNSUPPORTED));
    } else {
        const gsw_status status =
            gsw_choose(context, matrix, options, &applier->preconditioner, choice);
        fuzz_check(fuzz_status(context, status, allowed) == (applier->preconditioner != NULL));
        applier->context = applier->preconditioner != NULL ? context : NULL;
    }
    free(choice);
    free(options);
}

/* ---- Krylov methods ------------------------------------------------------------------------- */

typedef struct monitor_state {
    int64_t next; /* the iteration that is due */
    int64_t stop;
} monitor_state;

static int monitor(void *user, int64_t iteration, double residual) {
    monitor_state *state = user;
    if (state == NULL) /* the options given end between `monitor` and `monitor_user` */
        return 0;
    fuzz_check(iteration == state->next++);
    fuzz_check(residual >= 0 || isnan(residual));
    return iteration >= state->stop;
}

/* The options; `null_vector` has room for a vector. */
static gsw_krylov_options krylov_options(world *w, monitor_state *state, double *null_vector) {
    const int bits = fuzz_byte(w), odd = fuzz_byte(w), stop = fuzz_byte(w);
    *state = (monitor_state){0, stop >= 192 ? stop - 192 : INT64_MAX};
    gsw_krylov_options options = {.size = sizeof options,
                                  .rtol = bits & 1 ? 1e-3 : 1e-12,
                                  .atol = bits & 2 ? 1e-5 : 0,
                                  .max_iterations = 1 + (bits >> 2 & 7) * 5,
                                  .restart = bits >> 5 & 3,
                                  .norm = (gsw_norm)(bits >> 7),
                                  .monitor = stop >= 64 ? monitor : NULL,
                                  .monitor_user = state,
                                  .nullspace = (gsw_nullspace)(odd % 8 > 2 ? 0 : odd % 8)};
    if (options.nullspace == GSW_NULLSPACE_VECTOR)
        options.null_vector = null_vector;
    if (odd >= 252)
        options.rtol = odd % 2 ? NAN : -1;
    else if (odd >= 248)
        options.max_iterations = odd - 250;
    else if (odd >= 244)
        options.restart = odd - 246;
    else if (odd >= 240)
        options.nullspace = (gsw_nullspace)(odd - 241);
    return options;
}

/* Whether a call refused its arguments, and wrote no result. */
static bool refused(gsw_status status) {
    return status == GSW_ERROR_INVALID_ARGUMENT || status == GSW_ERROR_OVERFLOW;
}

static void check_result(const gsw_krylov_result *result, gsw_status status) {
    if (result == NULL || result->size != sizeof *result || refused(status))
        return;
    fuzz_check((status == GSW_SUCCESS) == (result->converged == 1));
    fuzz_check(result->iterations >= 0 && result->replacements >= 0 && result->solve_ms >= 0);
    fuzz_check(result->stagnated == 0 || status == GSW_ERROR_NOT_CONVERGED);
}

static void call_krylov(world *w) {
    const world_operator *op = &w->operators[fuzz_below(w, OPERATORS)];
    const int with = fuzz_byte(w), method = fuzz_byte(w);
    const world_applier *applier = &w->appliers[with % APPLIERS];
    gsw_context *context = context_for(w, op->context);
    const int64_t points = op->op != NULL ? gsw_operator_points(op->op) : 1;
    const gsw_krylov_result empty = {.size = sizeof empty};
    monitor_state state;
    fuzz_vectors v;
    fuzz_open_vectors(w, 3, points, GSW_F64, false, &v);
    const gsw_krylov_options full = krylov_options(w, &state, v.vector[2]);
    gsw_krylov_options *options = fuzz_struct(w, &full, sizeof full);
    gsw_krylov_result *result = fuzz_struct(w, &empty, sizeof empty);
    const gsw_status status = gsw_krylov(
        context, method >= 250 ? (gsw_method)9 : (gsw_method)(method % 4), op->op,
        with >= 128 ? applier->preconditioner : NULL, options, v.vector[0], v.vector[1], result);
    (void)fuzz_status(context, status, FUZZ_ANY);
    check_result(result, status);
    free(result);
    free(options);
    fuzz_close_vectors(&v);
}

/* Several systems, each with its own end. */
static void call_krylov_many(world *w) {
    const world_operator *op = &w->operators[fuzz_below(w, OPERATORS)];
    const int with = fuzz_byte(w), method = fuzz_byte(w);
    const world_applier *applier = &w->appliers[with % APPLIERS];
    gsw_context *context = context_for(w, op->context);
    monitor_state state;
    fuzz_vectors v;
    fuzz_open_vectors(w, 3, op->op != NULL ? gsw_operator_points(op->op) : 1, GSW_F64, true, &v);
    gsw_krylov_options options = krylov_options(w, &state, v.vector[2]);
    if (method < 200)
        options.monitor = NULL;
    const int64_t made = v.count > 0 ? v.count : 1;
    gsw_krylov_result *results = calloc((size_t)made, sizeof *results);
    for (int64_t i = 0; results != NULL && i < made; i++)
        results[i].size = sizeof results[i];
    const gsw_status status = gsw_krylov_many(
        context, (gsw_method)(method % 4), op->op, with >= 128 ? applier->preconditioner : NULL,
        &options, v.count, v.vector[0], v.ld[0], v.vector[1], v.ld[1], results);
    (void)fuzz_status(context, status, FUZZ_ANY);
    for (int64_t i = 0; results != NULL && i < v.count; i++)
        check_result(&results[i], refused(status) ? status : (gsw_status)results[i].status);
    free(results);
    fuzz_close_vectors(&v);
}

/* ---- Problems and texts --------------------------------------------------------------------- */

static const char *const problems[] = {
    "poisson", "anisotropic", "convection", "lognormal", "hpcg",     "helmholtz19", "star13",
    "box33",   "random:7",    "random",     "poisson:1", "",         "random:-1",   NULL,
    "ocean",   "ocean:0.7",   "ocean:7",    "reservoir", "obstacles"};

static void call_problem(world *w) {
    gsw_context *context = any_context(w);
    const char *name = problems[fuzz_byte(w) % (int)(sizeof problems / sizeof *problems)];
    const gsw_grid grid = {fuzz_below(w, 7), 1 + fuzz_below(w, 6), 1 + fuzz_below(w, 5)};
    const int k = fuzz_below(w, MATRICES), known = fuzz_byte(w);
    gsw_stencil stencil;
    gsw_problem *problem = NULL;
    const bool given =
        known >= 192 && gsw_stencil_named(gsw_stencil_known(known % 8), &stencil) == GSW_SUCCESS;
    const gsw_status status =
        gsw_problem_create(context, name, &grid, given ? &stencil : NULL, &problem);
    fuzz_check(fuzz_status(context, status, FUZZ_ARGUMENT | FUZZ_ALLOCATES) == (problem != NULL));
    if (problem == NULL)
        return;
    const gsw_matrix *matrix = gsw_problem_matrix(problem);
    fuzz_check(matrix != NULL && points_of(matrix) == points_of(&(gsw_matrix){.grid = grid}));
    end_matrix(w, k);
    fuzz_copy_matrix(matrix, &w->matrices[k]);
    gsw_problem_destroy(problem);
}

typedef struct written {
    size_t length, room;
    char text[1 << 14];
} written;

static int write_text(void *user, const char *bytes, size_t size) {
    written *out = user;
    if (size > out->room - out->length)
        return 28; /* ENOSPC */
    memcpy(out->text + out->length, bytes, size);
    out->length += size;
    return 0;
}

/* What is written is read again, with the same pattern. */
static void call_print(world *w) {
    gsw_context *context = any_context(w);
    const world_matrix *matrix = sound_matrix(w);
    const int room = fuzz_byte(w);
    written out = {.room = room < 192 ? sizeof out.text : (size_t)(room - 192) * 64};
    gsw_csr read = {0};
    if (matrix == NULL || matrix->view.format != GSW_FORMAT_CSR)
        return;
    const gsw_csr *csr = &matrix->view.csr;
    const gsw_status status =
        gsw_mm_print_matrix(context, "out", write_text, &out, csr, room & 1 ? "a comment" : NULL);
    if (!fuzz_status(context, status,
                     FUZZ_ARGUMENT | FUZZ_BIT(GSW_ERROR_OUT_OF_MEMORY) | FUZZ_BIT(GSW_ERROR_IO)))
        return;
    if (fuzz_status(context, gsw_mm_parse_matrix(context, "out", out.text, out.length, &read),
                    FUZZ_BIT(GSW_ERROR_FORMAT))) {
        fuzz_check(read.rows == csr->rows && read.nonzeros == csr->nonzeros);
        gsw_csr_free(&read);
    }
}

/* ---- A sequence ----------------------------------------------------------------------------- */

typedef void (*call_fn)(world *w);

/* Those that others need stand there more than once. */
static const call_fn calls[] = {call_context,
                                call_settings,
                                call_end_context,
                                call_matrix,
                                call_matrix,
                                call_matrix,
                                call_validate,
                                call_detect,
                                call_bad_view,
                                call_to_csr,
                                call_memory,
                                call_product,
                                call_sptrsv,
                                call_sptrsv,
                                call_factor,
                                call_factor,
                                call_factor,
                                call_refactor,
                                call_factor_solve,
                                call_factor_solve,
                                call_extract,
                                call_smooth,
                                call_multigrid,
                                call_multigrid,
                                call_multigrid_refactor,
                                call_multigrid_apply,
                                call_multigrid_look,
                                call_operator,
                                call_operator,
                                call_operator_apply,
                                call_applier,
                                call_applier,
                                call_applier_apply,
                                call_choose,
                                call_krylov,
                                call_krylov,
                                call_krylov_many,
                                call_problem,
                                call_problem,
                                call_print};

enum { CALLS = sizeof calls / sizeof *calls, KNOWN_POINTS = 4 * 3 * 2 };

/* The solutions of a fixed system, by a factor, a sweep and a Krylov method. */
typedef struct known_bits {
    double factor[KNOWN_POINTS], sweep[KNOWN_POINTS], krylov[KNOWN_POINTS];
} known_bits;

static void solve_known(gsw_context *context, known_bits *bits) {
    const gsw_factor_options options = {.size = sizeof options};
    double b[KNOWN_POINTS];
    gsw_problem *problem = NULL;
    gsw_factor *factor = NULL;
    gsw_operator *op = NULL;
    gsw_preconditioner *preconditioner = NULL;
    *bits = (known_bits){0};
    gsw_random_vector(3, KNOWN_POINTS, b);
    (void)gsw_context_set_sum(context, NULL, NULL);
    fuzz_check(gsw_problem_parse(context, "random:5:4x3x2", NULL, &problem) == GSW_SUCCESS);
    const gsw_matrix *matrix = gsw_problem_matrix(problem);
    fuzz_check(gsw_factor_create(context, matrix, &options, &factor) == GSW_SUCCESS);
    fuzz_check(gsw_factor_solve(context, factor, 1, b, 0, bits->factor, 0) == GSW_SUCCESS);
    fuzz_check(gsw_sptrsv(context, matrix, NULL, 1, b, 0, bits->sweep, 0) == GSW_SUCCESS);
    fuzz_check(gsw_operator_from_matrix(context, matrix, &op) == GSW_SUCCESS);
    fuzz_check(gsw_preconditioner_from_factor(context, factor, &preconditioner) == GSW_SUCCESS);
    fuzz_check(gsw_bicgstab(context, op, preconditioner, NULL, b, bits->krylov, NULL) ==
               GSW_SUCCESS);
    gsw_preconditioner_destroy(preconditioner);
    gsw_operator_destroy(op);
    gsw_factor_destroy(factor);
    gsw_problem_destroy(problem);
}

static void check_known(gsw_context *context) {
    static known_bits right;
    static bool begun;
    known_bits bits;
    if (!begun) {
        gsw_context *fresh = make_context();
        solve_known(fresh, &right);
        gsw_context_destroy(fresh);
        begun = true;
    }
    solve_known(context, &bits);
    fuzz_check(memcmp(&bits, &right, sizeof bits) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    world w = {.at = data, .end = data + size};
    for (int i = 0; i < OPERATORS; i++)
        w.operators[i].matrix = -1;
    for (int i = 0; i < APPLIERS; i++)
        end_applier(&w.appliers[i]);
    w.contexts[0] = make_context();
    for (int call = 0; call < MOST_CALLS && w.at < w.end; call++)
        calls[fuzz_byte(&w) % CALLS](&w);
    for (int i = 0; i < CONTEXTS; i++)
        if (w.contexts[i] != NULL)
            check_known(w.contexts[i]);
    for (int i = 0; i < CONTEXTS; i++)
        end_context(&w, i);
    for (int i = 0; i < MATRICES; i++)
        end_matrix(&w, i);
    return 0;
}
