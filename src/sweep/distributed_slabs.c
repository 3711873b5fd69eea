/* distributed_slabs.c: exact sweeps of slabs on backends with memory of their own.
 *
 * The packed factor of a slab has its own rows only. Its grid includes ghost planes, so that it
 * keeps the couplings to other slabs. Each sweep begins as soon as the process before it has
 * published its first values (contract/slab_ops.h).
 *
 * FACTORISATION. Where the backend can make the factor in steps, all slabs make them at the same
 * time. Otherwise a slab is eliminated when the slab below is: they follow one another. A process
 * writes its border into the window of the one above, and a message tells that it is there. Where
 * there is no window, the message is the border. No process writes into a window before its
 * neighbour has used what was there: all agree at the end of each factorisation. Then each has also
 * waited for its stream, so the inboxes are empty that a sweep of a step has used.
 *
 * INBOXES. A process writes the faces of its next sweep upwards into the inbox of the slab above
 * after its last sweep downwards has ended. That sweep read what the slab above had published in
 * its own, so there the sweep upwards before it had ended and the inbox was empty again. The same
 * holds in the other direction. A factor with one sweep has no such order: there the processes meet
 * before each application, unless they exchange ghosts between two of them (gsw_ghosts), which
 * orders them as well.
 *
 * DEALING. distributed_deal.c has sweeps that share each slab among all processes. */
#include "contract/backend.h"
#include "contract/context.h"
#include "contract/error.h"
#include "distributed_internal.h"
#include "packed.h"

static const gsw_slab_ops *ops_of(const gsw_distributed_factor *f) {
    return f->partition->context->ops->slab;
}

/* The process that a sweep comes from, and the one that it goes to. */
static int side_before(int down) {
    return down ? GSW_ABOVE : GSW_BELOW;
}
static int side_after(int down) {
    return down ? GSW_BELOW : GSW_ABOVE;
}

/* ---- Opening ----------------------------------------------------------------------------------
 */

/* Refuses slabs that do not consist of whole tiles. */
static gsw_status check_cuts(const gsw_distributed_factor *f, int64_t unit) {
    const gsw_partition *p = f->partition;
    GSW_TRY(gsw_slabs_check(p));
    if (unit == 0)
        return gsw_fail(p->context, GSW_ERROR_UNSUPPORTED,
                        "a factor of the whole grid on %s needs extents larger than 1",
                        gsw_backend_name(p->context->backend));
    for (int32_t i = 1; i < p->shape[2]; i++) {
        if (p->cuts[2][i] % unit != 0)
            return gsw_fail(p->context, GSW_ERROR_UNSUPPORTED,
                            "a factor of the whole grid on %s needs slabs of a multiple of %lld "
                            "planes, but process %d begins at plane %lld",
                            gsw_backend_name(p->context->backend), (long long)unit, (int)i,
                            (long long)p->cuts[2][i]);
    }
    return GSW_SUCCESS;
}

static gsw_status open_staging(gsw_distributed_factor *f, int down, size_t inbox, size_t outbox) {
    gsw_partition *p = f->partition;
    gsw_slab_sweep *s = &f->slab[down];
    void *memory;
    s->in_bytes = f->link.direct[side_before(down)] ? 0 : inbox;
    s->out_bytes = f->link.attached[side_after(down)] ? 0 : outbox;
    if (s->in_bytes > 0) {
        GSW_TRY(gsw_partition_alloc(p, 1, s->in_bytes, "faces", &memory));
        s->in = memory;
    }
    if (s->out_bytes > 0) {
        GSW_TRY(gsw_partition_alloc(p, 1, s->out_bytes, "faces", &memory));
        s->out = memory;
        GSW_TRY(p->context->ops->memory->alloc(p->context, s->out_bytes, &s->outbox));
    }
    return GSW_SUCCESS;
}

static size_t aligned(size_t bytes) {
    return (bytes + 255) / 256 * 256;
}

/* The window holds what a factorisation takes from the slab below, and the inboxes of both sweeps.
 */
static gsw_status open_faces(gsw_distributed_factor *f) {
    size_t in[2] = {0, 0}, out[2] = {0, 0}, given, taken;
    const size_t of_steps = f->partition->transport.rank > 0 ? ops_of(f)->step_bytes(f->packed) : 0;
    for (int down = 0; down < 2; down++) {
        if (gsw_distributed_sweeps(f, down))
            ops_of(f)->face_bytes(f->packed, gsw_distributed_part(f, down), &in[down], &out[down]);
    }
    ops_of(f)->border_bytes(f->packed, &given, &taken);
    taken = of_steps > taken ? of_steps : taken;
    int64_t *place = f->inbox;
    place[0] = (int64_t)aligned(taken);
    place[1] = place[0] + (int64_t)aligned(in[0]);
    GSW_TRY(gsw_slab_link_open(f->partition, (size_t)place[1] + aligned(in[1]) + 256, 0xff, place,
                               &f->link));
    f->bytes += (int64_t)(taken + in[0] + in[1]);
    f->sent = (int64_t)(out[0] + out[1]);
    for (int down = 0; down < 2; down++) {
        if (!gsw_distributed_sweeps(f, down))
            continue;
        GSW_TRY(open_staging(f, down, in[down], out[down]));
        const int after = side_after(down);
        char *window = f->link.attached[after];
        ops_of(f)->connect(f->packed, gsw_distributed_part(f, down),
                           (char *)f->link.windows.own + place[down],
                           window ? window + f->link.place[after][down] : f->slab[down].outbox,
                           f->partition->wait_limit);
    }
    return GSW_SUCCESS;
}

static gsw_status open_all(gsw_distributed_factor *f) {
    gsw_partition *p = f->partition;
    const gsw_matrix *local = &f->matrix->local;
    const gsw_factor_options options = gsw_distributed_part_options(f);
    const int64_t unit = ops_of(f)->unit(p->context, &p->grid, &local->stencil);
    int64_t ghosts[2] = {0, 0};
    if (p->transport.processes > 1 && unit != 1) {
        GSW_TRY(check_cuts(f, unit));
        ghosts[GSW_BELOW] = p->transport.rank > 0 ? unit : 0;
        ghosts[GSW_ABOVE] = p->transport.rank + 1 < p->transport.processes ? unit : 0;
    }
    GSW_TRY(gsw_partition_agree(
        p, gsw_packed_open_ghosts(p->context, local, &options, ghosts, 2, &f->packed)));
    if (p->transport.processes > 1 && unit != 1) {
        GSW_TRY(gsw_partition_agree(p, open_faces(f)));
        GSW_TRY(gsw_dealt_open(f, &f->dealt));
    }
    return GSW_SUCCESS;
}

void gsw_slabs_close(gsw_distributed_factor *f) {
    gsw_partition *p = f->partition;
    for (int down = 0; down < 2; down++) {
        gsw_slab_sweep *s = &f->slab[down];
        gsw_partition_free(p, s->in);
        gsw_partition_free(p, s->out);
        if (s->outbox)
            p->context->ops->memory->release(p->context, s->outbox);
    }
    gsw_slab_link_close(&f->link);
    gsw_dealt_close(f->dealt);
}

/* ---- Faces ------------------------------------------------------------------------------------
 */

/* Where the neighbours have no windows: messages before and after a sweep. */
static gsw_status take_faces(gsw_distributed_factor *f, int down) {
    gsw_partition *p = f->partition;
    const gsw_slab_sweep *s = &f->slab[down];
    const int before = f->link.process[side_before(down)];
    if (s->in_bytes == 0)
        return GSW_SUCCESS;
    GSW_TRY(
        gsw_partition_transfer(p, p->transport.rank, before, GSW_TAG_SWEEP, s->in, s->in_bytes));
    return p->context->ops->memory->upload(p->context, (char *)f->link.windows.own + f->inbox[down],
                                           s->in, s->in_bytes);
}

static gsw_status give_faces(gsw_distributed_factor *f, int down) {
    gsw_partition *p = f->partition;
    const gsw_slab_sweep *s = &f->slab[down];
    const int after = f->link.process[side_after(down)];
    if (s->out_bytes == 0)
        return GSW_SUCCESS;
    GSW_TRY(p->context->ops->memory->download(p->context, s->out, s->outbox, s->out_bytes));
    return gsw_partition_transfer(p, after, p->transport.rank, GSW_TAG_SWEEP, s->out, s->out_bytes);
}

/* ---- Factorisation ----------------------------------------------------------------------------
 */

/* The border of the slab below. `room`: for messages. */
static gsw_status take_border(gsw_distributed_factor *f, void *room, size_t bytes) {
    gsw_partition *p = f->partition;
    const int direct = f->link.direct[GSW_BELOW], rank = p->transport.rank;
    GSW_TRY(gsw_partition_transfer(p, rank, rank - 1, GSW_TAG_ELIMINATE, room, direct ? 1 : bytes));
    return ops_of(f)->border_take(p->context, f->packed, direct ? f->link.windows.own : room);
}

/* The border of this slab, also where its factorisation has failed. */
static gsw_status give_border(gsw_distributed_factor *f, void *room, size_t bytes) {
    gsw_partition *p = f->partition;
    void *const window = f->link.attached[GSW_ABOVE];
    const int rank = p->transport.rank;
    *(char *)room = 0; /* the message, where the border itself needs none */
    GSW_TRY(ops_of(f)->border_give(p->context, f->packed, window ? window : room));
    return gsw_partition_transfer(p, rank + 1, rank, GSW_TAG_ELIMINATE, room, window ? 1 : bytes);
}

static gsw_status fill(gsw_distributed_factor *f, void *room, size_t given, size_t taken,
                       int64_t *bad_row) {
    gsw_context *context = f->partition->context;
    if (taken > 0)
        GSW_TRY(take_border(f, room, taken));
    gsw_status status = gsw_packed_queue(context, f->packed, &f->matrix->local);
    if (status == GSW_SUCCESS)
        status = gsw_packed_await(context, f->packed);
    if (status == GSW_ERROR_ZERO_PIVOT) {
        *bad_row = f->packed->info.first_bad_row;
        status = GSW_SUCCESS;
    }
    if (given > 0)
        GSW_TRY(give_border(f, room, given));
    return status;
}

/* One slab after the other. */
static gsw_status fill_in_turn(gsw_distributed_factor *f, int64_t *bad_row) {
    gsw_partition *p = f->partition;
    size_t given, taken, staged = 1;
    void *room = NULL;
    ops_of(f)->border_bytes(f->packed, &given, &taken);
    if (given > staged && !f->link.attached[GSW_ABOVE])
        staged = given;
    if (taken > staged && !f->link.direct[GSW_BELOW])
        staged = taken;
    GSW_TRY(gsw_partition_agree(p, gsw_partition_alloc(p, 1, staged, "a factor's border", &room)));
    const gsw_status status = gsw_partition_agree(p, fill(f, room, given, taken, bad_row));
    gsw_partition_free(p, room);
    return status;
}

/* All slabs at the same time. */
typedef struct stepper {
    gsw_distributed_factor *f;
    size_t bytes;      /* of the window */
    const void *taken; /* see gsw_slab_ops.step */
    void *given;       /* likewise */
    char *in, *out;    /* where messages serve; else NULL */
} stepper;

static gsw_status open_stepper(stepper *s) {
    gsw_distributed_factor *f = s->f;
    gsw_partition *p = f->partition;
    const int below = p->transport.rank > 0, above = p->transport.rank + 1 < p->transport.processes;
    void *memory;
    s->bytes = ops_of(f)->step_bytes(f->packed);
    s->taken = below ? f->link.windows.own : NULL;
    s->given = f->link.attached[GSW_ABOVE];
    if (s->bytes == 0)
        return GSW_SUCCESS;
    if (below && !f->link.direct[GSW_BELOW]) {
        GSW_TRY(gsw_partition_alloc(p, 1, s->bytes, "a factor's border", &memory));
        s->in = memory;
    }
    if (!above || s->given)
        return GSW_SUCCESS;
    GSW_TRY(gsw_partition_alloc(p, 1, s->bytes, "a factor's border", &memory));
    s->out = memory;
    return p->context->ops->memory->alloc(p->context, s->bytes, &s->given);
}

static void close_stepper(stepper *s) {
    gsw_partition *p = s->f->partition;
    if (s->out && s->given)
        p->context->ops->memory->release(p->context, s->given);
    gsw_partition_free(p, s->out);
    gsw_partition_free(p, s->in);
}

static gsw_status step(const stepper *s, gsw_slab_step number) {
    gsw_context *context = s->f->partition->context;
    return ops_of(s->f)->step(context, s->f->packed, &s->f->matrix->local, number, s->taken,
                              s->given);
}

/* What each process has given comes to the one above, unless `status` of one says otherwise. */
static gsw_status pass_on(const stepper *s, gsw_status status) {
    gsw_partition *p = s->f->partition;
    const gsw_backend_ops *ops = p->context->ops;
    const int rank = p->transport.rank, above = rank + 1;
    void *sent = NULL;
    if (status == GSW_SUCCESS)
        status = ops->synchronize(p->context);
    GSW_TRY(gsw_partition_agree(p, status));
    if (s->out) {
        GSW_TRY(ops->memory->download(p->context, s->out, s->given, s->bytes));
        GSW_TRY(gsw_partition_send(p, above, GSW_TAG_ELIMINATE, s->out, s->bytes, &sent));
    }
    if (s->in) {
        status = gsw_partition_transfer(p, rank, rank - 1, GSW_TAG_ELIMINATE, s->in, s->bytes);
        if (status == GSW_SUCCESS)
            status = ops->memory->upload(p->context, s->f->link.windows.own, s->in, s->bytes);
    }
    const gsw_status waited = gsw_partition_wait(p, above, &sent);
    return status == GSW_SUCCESS ? waited : status;
}

static gsw_status make_sweep(const stepper *s) {
    GSW_TRY(step(s, GSW_STEP_BEFORE));
    GSW_TRY(take_faces(s->f, 0));
    GSW_TRY(step(s, GSW_STEP_SWEEP));
    return give_faces(s->f, 0);
}

/* Whatever fails, all processes agree as often. */
static gsw_status make_steps(const stepper *s, int *made) {
    gsw_partition *p = s->f->partition;
    gsw_status status = pass_on(s, GSW_SUCCESS);
    if (status == GSW_SUCCESS)
        status = make_sweep(s);
    status = pass_on(s, status);
    if (status == GSW_SUCCESS)
        status = step(s, GSW_STEP_AFTER);
    if (status == GSW_SUCCESS)
        status = ops_of(s->f)->steps_await(p->context, s->f->packed, made);
    return gsw_partition_agree(p, status);
}

static gsw_status fill_in_steps(gsw_distributed_factor *f, int *made) {
    stepper s = {.f = f};
    int own = 0;
    gsw_status status = open_stepper(&s);
    if (status == GSW_SUCCESS)
        status = step(&s, GSW_STEP_GIVE);
    status = gsw_partition_agree(f->partition, status);
    const int began = status == GSW_SUCCESS;
    if (began)
        status = make_steps(&s, &own);
    close_stepper(&s);
    if (began && status != GSW_SUCCESS)
        gsw_partition_break(f->partition); /* inboxes may hold faces that nobody has read */
    GSW_TRY(status);
    return gsw_partition_all(f->partition, own, made);
}

static gsw_status fill_all(gsw_distributed_factor *f) {
    int64_t bad_row = INT64_MAX;
    int in_steps, made = 0;
    GSW_TRY(gsw_partition_usable(f->partition));
    GSW_TRY(gsw_partition_all(f->partition, ops_of(f)->has_steps(f->packed, &f->matrix->local),
                              &in_steps));
    if (in_steps)
        GSW_TRY(fill_in_steps(f, &made));
    if (!made)
        GSW_TRY(fill_in_turn(f, &bad_row));
    if (f->dealt)
        GSW_TRY(gsw_dealt_fill(f->dealt, f->packed));
    return gsw_distributed_report_pivots(f, bad_row);
}

/* ---- Sweeps -----------------------------------------------------------------------------------
 */

static gsw_status sweep(gsw_distributed_factor *f, int down, const void *b, void *x) {
    gsw_context *context = f->partition->context;
    GSW_TRY(take_faces(f, down));
    GSW_TRY(context->ops->factor->sweep(context, f->packed, gsw_distributed_part(f, down), 1, b, 0,
                                        x, 0));
    return give_faces(f, down);
}

static gsw_status apply(gsw_distributed_factor *f, const void *b, void *x) {
    gsw_context *context = f->partition->context;
    const int up = gsw_distributed_sweeps(f, 0), down = gsw_distributed_sweeps(f, 1);
    GSW_TRY(gsw_partition_usable(f->partition));
    if (f->dealt)
        return gsw_dealt_apply(f->dealt, up + down, b, x);
    if (!(up && down) && !f->ordered && f->link.windows.partition)
        GSW_TRY(gsw_partition_agree(f->partition, context->ops->synchronize(context)));
    if (up)
        GSW_TRY(sweep(f, 0, b, x));
    return down ? sweep(f, 1, up ? x : b, x) : GSW_SUCCESS;
}

const gsw_factor_way gsw_slabs_way = {.open = open_all, .fill = fill_all, .apply = apply};
