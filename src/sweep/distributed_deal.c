/* distributed_deal.c: exact sweeps whose rows of tiles are dealt out to the processes, so that all
 * of them work on each slab (contract/slab_ops.h).
 *
 * FACTORISATION. The slabs are eliminated as they are, and each process copies its pencils to those
 * that sweep them. Before that all have ended their own elimination, and so all their sweeps.
 *
 * MEETINGS. A process sets its counter in the window of each other one when its stream has come so
 * far, and waits in its stream until theirs have reached the same number. An application gives b,
 * meets, sweeps, meets, and takes x. So nobody reads b before it is there, and nobody takes x
 * before it is swept. The next b is given after the second meeting, when all have read the last
 * one. The next x comes after the first meeting of the next application, when all have taken the
 * last one. Faces that a process publishes for the second sweep may come while others are in the
 * first one: the inbox of the second sweep is empty since the second meeting before. */
#include <stdlib.h>
#include <string.h>
#include "contract/allocate.h"
#include "contract/backend.h"
#include "contract/context.h"
#include "contract/error.h"
#include "distributed_internal.h"
#include "core/quiet.h"

static const gsw_slab_ops *ops_of(const gsw_dealt *d) {
    return d->partition->context->ops->slab;
}

/* ---- Opening ----------------------------------------------------------------------------------
 */

/* Vectors of fp32 are not dealt. */
static int deals(const gsw_distributed_factor *f) {
    const gsw_partition *p = f->partition;
    return p->transport.processes <= GSW_DEAL_MAX && f->type == GSW_F64 &&
           p->context->ops->slab->deals(f->packed);
}

/* The factor of the whole grid, without its values. */
static gsw_status open_factor(gsw_distributed_factor *f, gsw_dealt *d) {
    gsw_partition *p = f->partition;
    void *memory;
    GSW_TRY(gsw_alloc(p->context, 1, sizeof *d->factor, "a factor", &memory));
    gsw_factor *made = memory;
    *made = *f->packed;
    made->packed = NULL;
    made->grid = p->grid;
    made->points = p->grid.nx * p->grid.ny * p->grid.nz;
    made->ghosts[GSW_BELOW] = made->ghosts[GSW_ABOVE] = 0;
    made->info.work_bytes = 0;
    made->deal = &d->deal;
    const gsw_status status = p->context->ops->factor->open(p->context, made);
    if (status != GSW_SUCCESS) {
        free(made);
        return status;
    }
    d->factor = made;
    return GSW_SUCCESS;
}

/* Vectors of a slab for which the window leaves room: those of a Krylov method. */
enum { SPARED = 12 };

/* Each process computes the places in the windows of others, and numbers their pencils. */
static gsw_status compare_tiles(const gsw_dealt *d) {
    gsw_partition *p = d->partition;
    uint64_t own = ops_of(d)->deal_order(d->factor), theirs;
    for (int i = 0; i < d->deal.processes; i++) {
        const int64_t bytes = (int64_t)ops_of(d)->deal_bytes(d->factor, i);
        own = gsw_mark(own, &bytes, 1);
    }
    GSW_TRY(gsw_partition_gather(p, &own, sizeof own));
    for (int i = 0; i < d->deal.processes; i++) {
        memcpy(&theirs, p->answers + (size_t)i * sizeof theirs, sizeof theirs);
        if (theirs != own)
            return gsw_fail(p->context, GSW_ERROR_UNSUPPORTED,
                            "process %d has other tiles, or another order of them, than process %d",
                            i, d->deal.rank);
    }
    return GSW_SUCCESS;
}

/* The windows of all. The counters of the own one are 0, and its inboxes empty. */
static gsw_status open_windows(gsw_dealt *d, int64_t points) {
    gsw_partition *p = d->partition;
    gsw_context *context = p->context;
    const int rank = d->deal.rank, processes = d->deal.processes;
    unsigned char wanted[GSW_DEAL_MAX];
    void *spared = NULL;
    memset(wanted, 1, sizeof wanted);
    wanted[rank] = 0;
    gsw_status status = gsw_partition_agree(
        p, context->ops->memory->alloc(context, SPARED * (size_t)points * sizeof(double), &spared));
    if (status == GSW_SUCCESS)
        status =
            gsw_windows_open(p, ops_of(d)->deal_bytes(d->factor, rank), 0xff, wanted, &d->windows);
    if (spared)
        context->ops->memory->release(context, spared);
    GSW_TRY(status);
    for (int i = 0; i < processes; i++) {
        d->deal.window[i] = i == rank ? d->windows.own : d->windows.theirs[i];
        if (!d->deal.window[i])
            return gsw_fail(context, GSW_ERROR_UNSUPPORTED,
                            "process %d does not reach the window of process %d", rank, i);
    }
    GSW_TRY(context->ops->memory->set(context, d->windows.own, 0,
                                      (size_t)processes * sizeof(uint64_t)));
    return context->ops->synchronize(context);
}

static gsw_status open_all(gsw_distributed_factor *f, gsw_dealt *d) {
    gsw_partition *p = f->partition;
    d->partition = p;
    d->deal.processes = p->transport.processes;
    d->deal.rank = p->transport.rank;
    memcpy(d->deal.begin, p->cuts[2], ((size_t)d->deal.processes + 1) * sizeof *d->deal.begin);
    GSW_TRY(gsw_partition_agree(p, open_factor(f, d)));
    GSW_TRY(gsw_partition_agree(p, compare_tiles(d)));
    GSW_TRY(gsw_partition_agree(p, open_windows(d, f->packed->points)));
    ops_of(d)->deal_connect(d->factor, p->wait_limit);
    f->sent = ops_of(d)->deal_sent(d->factor);
    f->bytes +=
        (int64_t)ops_of(d)->deal_bytes(d->factor, d->deal.rank) + d->factor->info.work_bytes;
    return GSW_SUCCESS;
}

gsw_status gsw_dealt_open(gsw_distributed_factor *f, gsw_dealt **dealt) {
    gsw_partition *p = f->partition;
    void *memory = NULL;
    int all_deal;
    *dealt = NULL;
    GSW_TRY(gsw_partition_all(p, deals(f), &all_deal));
    if (!all_deal)
        return GSW_SUCCESS;
    gsw_status status =
        gsw_partition_agree(p, gsw_alloc(p->context, 1, sizeof(gsw_dealt), "a factor", &memory));
    if (status != GSW_SUCCESS) {
        free(memory);
        return status;
    }
    gsw_dealt *d = memory;
    memset(d, 0, sizeof *d);
    const gsw_quiet quiet = gsw_quiet_begin(p->context);
    status = open_all(f, d);
    if (status == GSW_SUCCESS)
        *dealt = d;
    else
        gsw_dealt_close(d);
    /* Slabs need less memory, and they need no windows. */
    return gsw_quiet_settle(p->context, &quiet, status,
                            status == GSW_ERROR_OUT_OF_MEMORY || status == GSW_ERROR_UNSUPPORTED);
}

void gsw_dealt_close(gsw_dealt *d) {
    if (!d)
        return;
    gsw_partition *p = d->partition;
    gsw_windows_close(&d->windows);
    if (d->factor)
        p->context->ops->factor->close(p->context, d->factor);
    free(d->factor);
    free(d);
}

/* ---- Use --------------------------------------------------------------------------------------
 */

gsw_status gsw_dealt_fill(gsw_dealt *d, const gsw_factor *slab) {
    gsw_context *context = d->partition->context;
    gsw_status status = ops_of(d)->deal_fill(context, slab, d->factor);
    if (status == GSW_SUCCESS)
        status = context->ops->synchronize(context);
    return gsw_partition_agree(d->partition, status);
}

static gsw_status meet(gsw_dealt *d) {
    gsw_context *context = d->partition->context;
    const gsw_link_ops *link = context->ops->link;
    const gsw_deal *deal = &d->deal;
    const uint64_t number = ++d->meetings;
    for (int i = 0; i < deal->processes; i++) {
        if (i != deal->rank)
            GSW_TRY(link->post(context, (uint64_t *)deal->window[i] + deal->rank, number));
    }
    for (int i = 0; i < deal->processes; i++) {
        if (i != deal->rank)
            GSW_TRY(link->await(context, (uint64_t *)deal->window[deal->rank] + i, number,
                                d->partition->wait_limit));
    }
    return GSW_SUCCESS;
}

gsw_status gsw_dealt_apply(gsw_dealt *d, int sweeps, const double *b, double *x) {
    gsw_context *context = d->partition->context;
    GSW_TRY(ops_of(d)->deal_give(context, d->factor, b));
    GSW_TRY(meet(d));
    for (int i = 0; i < sweeps; i++)
        GSW_TRY(ops_of(d)->deal_sweep(context, d->factor, i, b, x));
    GSW_TRY(meet(d));
    return ops_of(d)->deal_take(context, d->factor, x);
}
