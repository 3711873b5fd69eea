/* place.c: where a command runs: the host, beside it the backend that the options ask for, and the
 * copies between the two. */
#include <math.h>
#include <stdio.h>
#include <gridsweep/memory.h>
#include "place.h"
#include "input.h"
#include "measure.h"
#include "processes.h"

static gsw_status upload_vector(gsw_context *context, const void *host, size_t bytes, void **to) {
    if (host == NULL)
        return GSW_SUCCESS;
    gsw_status status = gsw_memory_alloc(context, bytes, to);
    return status == GSW_SUCCESS ? gsw_memory_upload(context, *to, host, bytes) : status;
}

/* ---- Opening -------------------------------------------------------------------------------- */

/* Does the work on a matrix of one row, to learn whether the backend knows how. */
static gsw_status try_work(gsw_context *context, const cli_work *work) {
    static const int32_t row_ptr[] = {0, 1}, columns[] = {0};
    static const double one = 1;
    const gsw_grid grid = {1, 1, 1};
    const gsw_csr csr = {.rows = 1,
                         .nonzeros = 1,
                         .row_ptr = row_ptr,
                         .columns = columns,
                         .values = &one,
                         .value_type = GSW_F64};
    gsw_stencil stencil;
    gsw_matrix host, matrix = {0};
    gsw_factor *factor = NULL;
    gsw_multigrid *multigrid = NULL;
    void *x = NULL;
    gsw_status status = gsw_stencil_named("D3N7", &stencil);
    if (status == GSW_SUCCESS)
        status = gsw_matrix_from_csr(context, &grid, &stencil, &csr, &host);
    if (status == GSW_SUCCESS)
        status = gsw_matrix_upload(context, &host, &matrix);
    if (status == GSW_SUCCESS)
        status = upload_vector(context, &one, sizeof one, &x);
    if (status == GSW_SUCCESS && work->sweep != NULL)
        status = gsw_sptrsv(context, &matrix, work->sweep, 1, x, 1, x, 1);
    if (status == GSW_SUCCESS && work->factor != NULL)
        status = gsw_factor_create(context, &matrix, work->factor, &factor);
    if (status == GSW_SUCCESS && work->multigrid != NULL)
        status = gsw_multigrid_create(context, &matrix, work->multigrid, &multigrid);
    if (status == GSW_SUCCESS)
        status = gsw_context_synchronize(context);
    gsw_multigrid_destroy(multigrid);
    gsw_factor_destroy(factor);
    gsw_memory_free(context, x);
    gsw_matrix_release(context, &matrix);
    return status;
}

/* What a context of the CUDA backend says to the work: only that it does not know how is of
 * interest here. */
static int check_work(const cli_options *options, const cli_work *work, cli_place *place) {
    if (work->factor == NULL && work->multigrid == NULL && work->sweep == NULL)
        return CLI_OK;
    gsw_status status = try_work(place->run, work);
    if (status != GSW_ERROR_UNSUPPORTED)
        return CLI_OK;
    if (options->backend == GSW_BACKEND_CUDA)
        return cli_status(options, place->run, status, CLI_FROM_OPTION);
    (void)snprintf(place->note, sizeof place->note, "%s", gsw_context_message(place->run));
    gsw_context_destroy(place->run);
    place->run = place->host;
    return CLI_OK;
}

int cli_open_place(const cli_options *options, const cli_work *work, cli_place *place) {
    gsw_backend backend = (gsw_backend)options->backend;
    if (backend == GSW_BACKEND_AUTO && cli_processes() > 1)
        backend = GSW_BACKEND_CPU; /* there may be fewer devices than processes */
    *place = (cli_place){0};
    const bool on_host = backend == GSW_BACKEND_CPU || backend == GSW_BACKEND_REFERENCE;
    int code = cli_open_context(options, on_host ? backend : GSW_BACKEND_CPU, NULL, &place->host);
    if (code != CLI_OK)
        return code;
    place->run = place->host;
    if (on_host || (backend == GSW_BACKEND_AUTO && gsw_device_count() == 0))
        return CLI_OK;
    gsw_context *context = NULL;
    if (backend == GSW_BACKEND_AUTO) {
        if (cli_create_context(options, backend, work->stream, &context) != GSW_SUCCESS)
            return CLI_OK;
        if (gsw_context_backend(context) == GSW_BACKEND_CPU) {
            gsw_context_destroy(context);
            return CLI_OK;
        }
    } else {
        code = cli_open_context(options, backend, work->stream, &context);
        if (code != CLI_OK)
            return code;
    }
    place->run = context;
    return check_work(options, work, place);
}

void cli_close_place(cli_place *place) {
    if (place->run != place->host)
        gsw_context_destroy(place->run);
    gsw_context_destroy(place->host);
    *place = (cli_place){0};
}

bool cli_on_device(const cli_place *place) {
    return place->run != place->host;
}

/* ---- Copies --------------------------------------------------------------------------------- */

int cli_upload(const cli_options *options, const cli_place *place, const gsw_matrix *matrix,
               void *b, void *x, size_t bytes, cli_arrays *arrays) {
    *arrays = (cli_arrays){.upload_ms = NAN, .download_ms = NAN};
    if (!cli_on_device(place)) {
        arrays->matrix = *matrix;
        arrays->b = b;
        arrays->x = x;
        return CLI_OK;
    }
    double start = cli_now_ms();
    gsw_status status = gsw_matrix_upload(place->run, matrix, &arrays->matrix);
    if (status == GSW_SUCCESS)
        status = upload_vector(place->run, b, bytes, &arrays->b);
    if (status == GSW_SUCCESS)
        status = upload_vector(place->run, x, bytes, &arrays->x);
    arrays->upload_ms = cli_now_ms() - start;
    return cli_status(options, place->run, status, CLI_FROM_OPTION);
}

int cli_download(const cli_options *options, const cli_place *place, cli_arrays *arrays, void *x,
                 size_t bytes) {
    if (!cli_on_device(place))
        return CLI_OK;
    double start = cli_now_ms();
    gsw_status status = gsw_memory_download(place->run, x, arrays->x, bytes);
    arrays->download_ms = cli_now_ms() - start;
    return cli_status(options, place->run, status, CLI_FROM_OPTION);
}

void cli_arrays_free(const cli_place *place, cli_arrays *arrays) {
    if (place->run != NULL && cli_on_device(place)) {
        gsw_memory_free(place->run, arrays->x);
        gsw_memory_free(place->run, arrays->b);
        gsw_matrix_release(place->run, &arrays->matrix);
    }
    *arrays = (cli_arrays){0};
}
