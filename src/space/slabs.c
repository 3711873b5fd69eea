/* slabs.c: see slabs.h. */
#include "slabs.h"
#include <stdlib.h>
#include <string.h>
#include "contract/allocate.h"
#include "contract/context.h"
#include "contract/error.h"

gsw_status gsw_slabs_check(const gsw_partition *p) {
    if (p->shape[0] == 1 && p->shape[1] == 1)
        return GSW_SUCCESS;
    return gsw_fail(p->context, GSW_ERROR_UNSUPPORTED,
                    "the backend %s takes slabs in z, not %d x %d x %d boxes",
                    gsw_backend_name(p->context->backend), (int)p->shape[0], (int)p->shape[1],
                    (int)p->shape[2]);
}

static gsw_status open_windows(gsw_partition *p, size_t bytes, int value, gsw_slab_link *link) {
    const size_t processes = (size_t)p->transport.processes;
    void *memory = NULL;
    gsw_status status =
        gsw_partition_agree(p, gsw_alloc(p->context, processes, 1, "windows", &memory));
    if (status == GSW_SUCCESS) {
        unsigned char *wanted = memory;
        memset(wanted, 0, processes);
        for (int side = 0; side < 2; side++)
            if (link->process[side] >= 0)
                wanted[link->process[side]] = 1;
        status = gsw_windows_open(p, bytes, value, wanted, &link->windows);
    }
    free(memory);
    return status;
}

gsw_status gsw_slab_link_open(gsw_partition *p, size_t bytes, int value, const int64_t place[2],
                              gsw_slab_link *link) {
    const int rank = p->transport.rank, processes = p->transport.processes;
    *link = (gsw_slab_link){
        .process = {rank > 0 ? rank - 1 : -1, rank + 1 < processes ? rank + 1 : -1}};
    GSW_TRY(open_windows(p, bytes, value, link));
    GSW_TRY(gsw_partition_gather(p, place, 2 * sizeof *place));
    for (int side = 0; side < 2; side++) {
        const int other = link->process[side];
        if (other < 0)
            continue;
        memcpy(link->place[side], p->answers + (size_t)other * sizeof link->place[side],
               sizeof link->place[side]);
        link->attached[side] = link->windows.theirs[other];
        link->direct[side] = link->windows.direct[other];
    }
    return GSW_SUCCESS;
}

void gsw_slab_link_close(gsw_slab_link *link) {
    gsw_windows_close(&link->windows);
}
