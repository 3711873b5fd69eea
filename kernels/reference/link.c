/* link.c: the host's memory has no windows that other processes can write. */
#include "contract/link_ops.h"
#include <stdlib.h>
#include <string.h>
#include "contract/allocate.h"
#include "contract/error.h"

static gsw_status window_open(gsw_context *context, size_t bytes, int value, void **memory,
                              gsw_window_name *name) {
    GSW_TRY(gsw_alloc(context, bytes, 1, "ghosts", memory));
    memset(*memory, value, bytes);
    memset(name, 0, sizeof *name);
    return GSW_SUCCESS;
}

static void window_close(gsw_context *context, void *memory) {
    (void)context;
    free(memory);
}

static gsw_status window_attach(gsw_context *context, const gsw_window_name *name, void **memory) {
    (void)context, (void)name;
    *memory = NULL;
    return GSW_ERROR_UNSUPPORTED; /* not worth a line in the log */
}

static void window_detach(gsw_context *context, const gsw_window_name *name, void *memory) {
    (void)context, (void)name, (void)memory;
}

/* Without attached windows nobody posts or waits. */
static gsw_status post(gsw_context *context, uint64_t *counter, uint64_t value) {
    (void)context;
    *counter = value;
    return GSW_SUCCESS;
}

static gsw_status await(gsw_context *context, const uint64_t *counter, uint64_t least,
                        double limit) {
    (void)context, (void)limit;
    return *counter >= least ? GSW_SUCCESS : GSW_ERROR_TIMEOUT;
}

static int64_t timeouts(gsw_context *context) {
    (void)context;
    return 0;
}

static gsw_status copy_box(gsw_context *context, const gsw_box *box, const gsw_box_array *place,
                           void *array, void *dense, int to_dense) {
    const size_t length = (size_t)(box->end[0] - box->begin[0]) * place->value;
    char *from = dense;
    (void)context;
    for (int64_t z = box->begin[2]; z < box->end[2]; z++) {
        for (int64_t y = box->begin[1]; y < box->end[1]; y++, from += length) {
            const int64_t at = (box->begin[0] - place->origin[0]) +
                               place->extent[0] * (y - place->origin[1] +
                                                   place->extent[1] * (z - place->origin[2]));
            char *line = (char *)array + (size_t)at * place->value;
            if (line != from)
                memcpy(to_dense ? from : line, to_dense ? line : from, length);
        }
    }
    return GSW_SUCCESS;
}

const gsw_link_ops gsw_host_link = {.on_host = 1,
                                    .tile_planes = 1,
                                    .window_open = window_open,
                                    .window_close = window_close,
                                    .window_attach = window_attach,
                                    .window_detach = window_detach,
                                    .post = post,
                                    .await = await,
                                    .timeouts = timeouts,
                                    .copy_box = copy_box};
