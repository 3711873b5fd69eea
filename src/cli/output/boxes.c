/* boxes.c: see boxes.h. */
#include "boxes.h"
#include <gridsweep/memory.h>
#include <math.h>
#include <sched.h>
#include <stdlib.h>
#include "common/measure.h"
#include "output.h"
#include "common/processes.h"

#define DEFAULT_LIMIT 60 /* seconds, as the library has it */

/* ---- Options -------------------------------------------------------------------------------- */

/* "PXxPYxPZ"; zeros where --boxes is not given. */
static bool parse_boxes(const char *text, int32_t boxes[3]) {
    boxes[0] = boxes[1] = boxes[2] = 0;
    for (int axis = 0; text != NULL && axis < 3; axis++) {
        char *end;
        if (*text < '0' || *text > '9')
            return false;
        const long count = strtol(text, &end, 10);
        if (count < 1 || count > INT32_MAX || *end != (axis < 2 ? 'x' : '\0'))
            return false;
        boxes[axis] = (int32_t)count;
        text = end + 1;
    }
    return true;
}

int cli_boxes_check(const cli_options *options) {
    int32_t boxes[3];
    if (!parse_boxes(options->boxes, boxes))
        return cli_usage(options, "--boxes takes PXxPYxPZ, such as 1x2x2, not '%s'",
                         options->boxes);
    if (options->overlap > 0 && options->scope != (int)GSW_SCOPE_LOCAL)
        return cli_usage(options, "--overlap is for --scope local");
    if (options->overlap > 0 && options->precond == CLI_PRECOND_MG)
        return cli_usage(options, "--overlap is not for --precond mg");
    const double count = (double)boxes[0] * boxes[1] * boxes[2];
    if (options->boxes != NULL && count != cli_processes())
        return cli_usage(options, "--boxes %s makes %.10g boxes, but the number of processes is %d",
                         options->boxes, count, cli_processes());
    return CLI_OK;
}

/* ---- Opening and closing -------------------------------------------------------------------- */

static int make_vectors(const cli_options *options, cli_boxes *boxes) {
    const gsw_box box = gsw_partition_box(boxes->partition, cli_rank());
    int code = CLI_OK;
    boxes->points = 1;
    for (int axis = 0; axis < 3; axis++)
        boxes->points *= (size_t)(box.end[axis] - box.begin[axis]);
    boxes->b = malloc(boxes->points * sizeof *boxes->b);
    boxes->x = malloc(boxes->points * sizeof *boxes->x);
    if (boxes->b == NULL || boxes->x == NULL)
        code = cli_error(options, "out of memory for the vectors");
    boxes->arrays.b = boxes->b;
    boxes->arrays.x = boxes->x;
    if (code == CLI_OK && gsw_context_backend(boxes->place->run) == GSW_BACKEND_CUDA) {
        const size_t bytes = boxes->points * sizeof *boxes->b;
        gsw_status status = gsw_memory_alloc(boxes->place->run, bytes, &boxes->arrays.b);
        if (status == GSW_SUCCESS)
            status = gsw_memory_alloc(boxes->place->run, bytes, &boxes->arrays.x);
        code = cli_status(options, boxes->place->run, status, CLI_FROM_OPTION);
    }
    return cli_processes_agree(options, code);
}

/* Brings each process its part of b and x, which the first one has whole, to where the solver
 * works. */
static gsw_status distribute(const cli_boxes *boxes, const double *all_b, const double *all_x) {
    const size_t bytes = boxes->points * sizeof *boxes->b;
    gsw_status status = gsw_partition_distribute(boxes->partition, 0, all_b, boxes->b);
    if (status == GSW_SUCCESS)
        status = gsw_partition_distribute(boxes->partition, 0, all_x, boxes->x);
    if (status == GSW_SUCCESS && boxes->arrays.b != boxes->b)
        status = gsw_memory_upload(boxes->place->run, boxes->arrays.b, boxes->b, bytes);
    if (status == GSW_SUCCESS && boxes->arrays.x != boxes->x)
        status = gsw_memory_upload(boxes->place->run, boxes->arrays.x, boxes->x, bytes);
    return status;
}

gsw_status cli_boxes_collect(const cli_boxes *boxes, double *all_x) {
    gsw_status status = GSW_SUCCESS;
    if (boxes->arrays.x != boxes->x)
        status = gsw_memory_download(boxes->place->run, boxes->x, boxes->arrays.x,
                                     boxes->points * sizeof *boxes->x);
    return status == GSW_SUCCESS ? gsw_partition_collect(boxes->partition, 0, boxes->x, all_x)
                                 : status;
}

int cli_boxes_open(const cli_options *options, const cli_place *place, gsw_matrix *whole, double *b,
                   double *x, size_t bytes, cli_boxes *boxes) {
    gsw_context *context = place->run;
    gsw_partition_options wanted = {.size = sizeof wanted, .wait_limit = options->wait_limit};
    *boxes =
        (cli_boxes){.place = place,
                    .arrays = {.upload_ms = NAN, .download_ms = NAN},
                    .wait_limit = options->wait_limit > 0 ? options->wait_limit : DEFAULT_LIMIT};
    if (cli_processes() == 1)
        return cli_upload(options, place, whole, b, x, bytes, &boxes->arrays);
    cli_processes_share(&whole->grid, sizeof whole->grid);
    cli_processes_share(&whole->stencil, sizeof whole->stencil);
    (void)parse_boxes(options->boxes, wanted.processes);
    int code =
        cli_processes_agree(options, cli_transport_open(options, context, &boxes->transport));
    if (code != CLI_OK)
        return code;
    gsw_status status =
        gsw_partition_create(context, boxes->transport, &whole->grid, &wanted, &boxes->partition);
    if (status != GSW_SUCCESS)
        return cli_status(options, context, status, CLI_FROM_OPTION);
    status = gsw_partition_scatter(boxes->partition, 0, whole, &boxes->arrays.matrix);
    if (status != GSW_SUCCESS)
        return cli_status(options, context, status, cli_source_of(options));
    code = make_vectors(options, boxes);
    return code == CLI_OK
               ? cli_status(options, context, distribute(boxes, b, x), cli_source_of(options))
               : code;
}

void cli_boxes_print(const cli_options *options, const cli_boxes *boxes, const gsw_grid *grid,
                     const int *kinds, int count) {
    const bool smooths = options->mg_smoother != GSW_SMOOTHER_JACOBI &&
                         options->mg_smoother != GSW_SMOOTHER_CHEBYSHEV;
    const int last = grid->nz > 1 ? 2 : grid->ny > 1;
    int32_t n[3];
    bool sweeps = false;
    for (int i = 0; i < count; i++)
        sweeps |= kinds[i] == CLI_PRECOND_MG
                      ? smooths
                      : kinds[i] != CLI_PRECOND_NONE && kinds[i] != (int)GSW_JACOBI;
    gsw_partition_shape(boxes->partition, n);
    cli_field(options, "processes", "%d, boxes %d x %d x %d", cli_processes(), n[0], n[1], n[2]);
    if (cli_rank() == 0 && sweeps && options->scope == (int)GSW_SCOPE_GLOBAL &&
        n[last] != cli_processes())
        cli_field(options, "sweeps",
                  "on slabs in %c: the grid is laid out again (--scope local keeps the boxes)",
                  "xyz"[last]);
}

int cli_boxes_refuse(const cli_options *options) {
    if (cli_processes() == 1)
        return CLI_OK;
    int code = cli_refuse(options, "is for a single process", OPT_MG_INFO, OPT_FACTOR_PRECISION,
                          options->backend == GSW_BACKEND_CUDA ? OPT_EISENSTAT : OPT_MG_PRECISION,
                          OPT_EISENSTAT, OPT_END);
    if (code == CLI_OK && options->mg_smoother == GSW_SMOOTHER_MULTICOLOR)
        code = cli_usage(options, "--mg-smoother multicolor is for a single process");
    return code;
}

void cli_boxes_close(cli_boxes *boxes) {
    if (boxes->place == NULL)
        return;
    if (cli_processes() == 1) {
        cli_arrays_free(boxes->place, &boxes->arrays);
    } else {
        if (boxes->arrays.b != boxes->b) {
            gsw_memory_free(boxes->place->run, boxes->arrays.x);
            gsw_memory_free(boxes->place->run, boxes->arrays.b);
        }
        gsw_matrix_release(boxes->place->run, &boxes->arrays.matrix);
    }
    gsw_partition_destroy(boxes->partition);
    cli_transport_close(boxes->transport);
    free(boxes->x);
    free(boxes->b);
    *boxes = (cli_boxes){0};
}

gsw_status cli_boxes_meet(const cli_boxes *boxes) {
    const gsw_transport *transport = boxes->transport;
    static char here, all[1 << 16]; /* outlives a transfer that is abandoned */
    void *request = NULL;
    if (transport == NULL)
        return GSW_SUCCESS;
    if ((size_t)transport->processes > sizeof all)
        return GSW_ERROR_UNSUPPORTED;
    if (transport->gather(transport->user, &here, 1, all, &request) != 0)
        return GSW_ERROR_COMMUNICATION;
    const double start = cli_now_ms();
    while (request != NULL) {
        const int ended = transport->test(transport->user, &request);
        if (ended < 0)
            return GSW_ERROR_COMMUNICATION;
        if (ended)
            break;
        if (cli_now_ms() - start > 1e3 * boxes->wait_limit) {
            transport->abandon(transport->user, &request);
            return GSW_ERROR_TIMEOUT;
        }
        (void)sched_yield();
    }
    return GSW_SUCCESS;
}
