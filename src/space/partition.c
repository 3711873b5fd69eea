/* partition.c: cutting a grid into boxes, and the waits of messages between processes. */
#include "partition.h"
#include <math.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "contract/allocate.h"
#include "contract/backend.h"
#include "contract/context.h"
#include "contract/error.h"
#include "core/clock.h"
#include "core/options.h"

GSW_ENDS_WITH(gsw_partition_options, wait_limit);
GSW_ENDS_WITH(gsw_transport, abandon);

#define DEFAULT_LIMIT 60.0

/* ---- Boxes ------------------------------------------------------------------------------------
 */

int64_t gsw_box_points(const gsw_box *box) {
    int64_t points = 1;
    for (int axis = 0; axis < 3; axis++)
        points *= box->end[axis] > box->begin[axis] ? box->end[axis] - box->begin[axis] : 0;
    return points;
}

gsw_box gsw_box_intersection(const gsw_box *a, const gsw_box *b) {
    gsw_box both;
    for (int axis = 0; axis < 3; axis++) {
        both.begin[axis] = a->begin[axis] > b->begin[axis] ? a->begin[axis] : b->begin[axis];
        both.end[axis] = a->end[axis] < b->end[axis] ? a->end[axis] : b->end[axis];
    }
    return both;
}

gsw_box gsw_box_shifted(const gsw_box *box, gsw_offset by) {
    const int32_t d[3] = {by.dx, by.dy, by.dz};
    gsw_box shifted = *box;
    for (int axis = 0; axis < 3; axis++) {
        shifted.begin[axis] += d[axis];
        shifted.end[axis] += d[axis];
    }
    return shifted;
}

gsw_box gsw_partition_box(const gsw_partition *p, int process) {
    gsw_box box = {{0, 0, 0}, {0, 0, 0}};
    if (!p || process < 0 || process >= p->transport.processes)
        return box;
    for (int axis = 0, rest = process; axis < 3; axis++) {
        const int32_t i = rest % p->shape[axis];
        box.begin[axis] = p->cuts[axis][i];
        box.end[axis] = p->cuts[axis][i + 1];
        rest /= p->shape[axis];
    }
    return box;
}

int gsw_partition_rank(const gsw_partition *p) {
    return p ? p->transport.rank : 0;
}

int gsw_partition_processes(const gsw_partition *p) {
    return p ? p->transport.processes : 0;
}

void gsw_partition_shape(const gsw_partition *p, int32_t processes[3]) {
    for (int axis = 0; axis < 3; axis++)
        processes[axis] = p ? p->shape[axis] : 0;
}

int64_t gsw_partition_row(const gsw_partition *p, int64_t row, int64_t at[3]) {
    const int64_t nx = p->own.end[0] - p->own.begin[0], ny = p->own.end[1] - p->own.begin[1];
    at[0] = row % nx + p->own.begin[0];
    at[1] = row / nx % ny + p->own.begin[1];
    at[2] = row / nx / ny + p->own.begin[2];
    return gsw_grid_row(&p->grid, at[0], at[1], at[2]);
}

/* ---- Messages ---------------------------------------------------------------------------------
 */

gsw_status gsw_partition_alloc(gsw_partition *p, size_t count, size_t size, const char *what,
                               void **memory) {
    return gsw_alloc(p->context, count, size, what, memory);
}

/* Memory that a message given up may still be written to: it stays until the process ends, and can
 * be found from here. */
typedef struct kept_memory {
    void *memory;
    struct kept_memory *next;
} kept_memory;

static _Atomic(kept_memory *) all_kept;

static void keep(void *memory) {
    kept_memory *kept = malloc(sizeof *kept);
    if (!kept)
        return;
    *kept = (kept_memory){.memory = memory, .next = atomic_load(&all_kept)};
    while (!atomic_compare_exchange_weak(&all_kept, &kept->next, kept))
        ;
}

void gsw_partition_free(gsw_partition *p, void *memory) {
    if (!p->finest->broken)
        free(memory);
    else if (memory)
        keep(memory);
}

void gsw_partition_break(gsw_partition *p) {
    p->finest->broken = 1;
}

static gsw_status fail_transfer(gsw_partition *p, int other) {
    gsw_partition_break(p);
    return gsw_fail(p->context, GSW_ERROR_COMMUNICATION,
                    "a message of process %d and process %d failed", p->transport.rank, other);
}

static gsw_status refuse_broken(const gsw_partition *p) {
    return gsw_fail(p->context, GSW_ERROR_COMMUNICATION,
                    "an earlier wait for another process has failed; begin again with a new "
                    "transport and partition");
}

gsw_status gsw_partition_usable(gsw_partition *p) {
    if (p->context->ops->link->timeouts(p->context) != p->timeouts)
        gsw_partition_break(p);
    return p->finest->broken ? refuse_broken(p) : GSW_SUCCESS;
}

gsw_status gsw_partition_send(gsw_partition *p, int to, int tag, const void *data, size_t bytes,
                              void **request) {
    *request = NULL;
    if (p->finest->broken)
        return refuse_broken(p);
    return p->transport.send(p->transport.user, to, tag, data, bytes, request) == 0
               ? GSW_SUCCESS
               : fail_transfer(p, to);
}

gsw_status gsw_partition_receive(gsw_partition *p, int from, int tag, void *data, size_t bytes,
                                 void **request) {
    *request = NULL;
    if (p->finest->broken)
        return refuse_broken(p);
    return p->transport.receive(p->transport.user, from, tag, data, bytes, request) == 0
               ? GSW_SUCCESS
               : fail_transfer(p, from);
}

gsw_status gsw_partition_poke(gsw_partition *p, void **request) {
    if (*request && p->transport.test(p->transport.user, request) < 0)
        return fail_transfer(p, p->transport.rank);
    return GSW_SUCCESS;
}

void gsw_partition_abandon(gsw_partition *p, void **request) {
    gsw_partition_break(p);
    if (*request)
        p->transport.abandon(p->transport.user, request);
    *request = NULL;
}

gsw_status gsw_partition_wait(gsw_partition *p, int other, void **request) {
    enum { SPINS = 256, TURNS = 64 };
    double began = 0;
    for (int64_t turn = 0; *request; turn++) {
        const int ended = p->transport.test(p->transport.user, request);
        if (ended < 0)
            return fail_transfer(p, other);
        if (ended)
            break;
        if (turn < SPINS)
            continue;
        sched_yield();
        if (turn % TURNS != 0)
            continue;
        if (began == 0)
            began = gsw_seconds_now();
        if (gsw_seconds_now() - began < p->wait_limit)
            continue;
        gsw_partition_abandon(p, request);
        if (other < 0)
            return gsw_fail(p->context, GSW_ERROR_TIMEOUT,
                            "process %d: not all processes have answered for %g s",
                            p->transport.rank, p->wait_limit);
        return gsw_fail(p->context, GSW_ERROR_TIMEOUT,
                        "process %d: process %d has not answered for %g s", p->transport.rank,
                        other, p->wait_limit);
    }
    *request = NULL;
    return GSW_SUCCESS;
}

gsw_status gsw_partition_transfer(gsw_partition *p, int to, int from, int tag, void *data,
                                  size_t bytes) {
    void *request;
    const int rank = p->transport.rank;
    if (rank == to)
        GSW_TRY(gsw_partition_receive(p, from, tag, data, bytes, &request));
    else
        GSW_TRY(gsw_partition_send(p, to, tag, data, bytes, &request));
    return gsw_partition_wait(p, rank == to ? from : to, &request);
}

/* What a gather brings of each process. After a failure processes may call different functions. All
 * messages have the same size, so that MPI does not end the program then. The kind and the number
 * of bytes usually show it. */
typedef struct wire {
    int32_t kind; /* as below */
    int32_t bytes;
    char payload[GSW_ANSWER];
} wire;

enum { GATHER, AGREE, AGREE_TO_SOLVE };

static gsw_status gather_as(gsw_partition *p, int32_t kind, const void *own, size_t bytes) {
    void *request = NULL;
    if (p->finest->broken)
        return refuse_broken(p);
    if (p->transport.processes == 1) {
        memcpy(p->answers, own, bytes);
        return GSW_SUCCESS;
    }
    /* The transfer must not outlive what it reads. */
    wire mine = {.kind = kind, .bytes = (int32_t)bytes};
    char *sent = p->answers + (size_t)p->transport.processes * sizeof mine;
    memcpy(mine.payload, own, bytes);
    memcpy(sent, &mine, sizeof mine);
    if (p->transport.gather(p->transport.user, sent, sizeof mine, p->answers, &request) != 0)
        return fail_transfer(p, p->transport.rank);
    GSW_TRY(gsw_partition_wait(p, -1, &request));
    for (int process = 0; process < p->transport.processes; process++) {
        memcpy(&mine, p->answers + (size_t)process * sizeof mine, sizeof mine);
        if (mine.kind != kind || mine.bytes != (int32_t)bytes) {
            gsw_partition_break(p);
            return gsw_fail(p->context, GSW_ERROR_COMMUNICATION,
                            "process %d calls another function than process %d, perhaps after an "
                            "error",
                            process, p->transport.rank);
        }
        memcpy(p->answers + (size_t)process * bytes, mine.payload, bytes);
    }
    return GSW_SUCCESS;
}

gsw_status gsw_partition_gather(gsw_partition *p, const void *own, size_t bytes) {
    return gather_as(p, GATHER, own, bytes);
}

gsw_status gsw_partition_all(gsw_partition *p, int own, int *all) {
    const unsigned char mine = own != 0;
    GSW_TRY(gsw_partition_gather(p, &mine, 1));
    *all = memchr(p->answers, 0, (size_t)p->transport.processes) == NULL;
    return GSW_SUCCESS;
}

typedef struct answer {
    uint64_t mark;
    int32_t status;
    char message[GSW_ANSWER - sizeof(uint64_t) - sizeof(int32_t)];
} answer;

static answer answer_of(const gsw_partition *p, int process) {
    answer a;
    memcpy(&a, p->answers + (size_t)process * sizeof a, sizeof a);
    return a;
}

gsw_status gsw_partition_check_result(const gsw_partition *p, const void *result,
                                      const char *name) {
    GSW_REQUIRE(p->context, result, "%s is NULL", name);
    return GSW_SUCCESS;
}

static gsw_status agree_as(gsw_partition *p, int32_t kind, gsw_status own, const char *what,
                           uint64_t mark) {
    answer mine = {.status = (int32_t)own, .mark = mark};
    if (p->finest->broken)
        return own;
    if (own != GSW_SUCCESS)
        snprintf(mine.message, sizeof mine.message, "%.*s", (int)sizeof mine.message - 1,
                 p->context->message);
    const gsw_status gathered = gather_as(p, kind, &mine, sizeof mine);
    if (gathered != GSW_SUCCESS)
        return own != GSW_SUCCESS ? own : gathered;
    for (int process = 0; process < p->transport.processes; process++) {
        mine = answer_of(p, process);
        if (mine.status == GSW_SUCCESS)
            continue;
        return process == p->transport.rank ? own
                                            : gsw_fail(p->context, (gsw_status)mine.status,
                                                       "process %d: %s", process, mine.message);
    }
    mark = answer_of(p, 0).mark;
    for (int process = 1; process < p->transport.processes; process++)
        GSW_REQUIRE(p->context, answer_of(p, process).mark == mark,
                    "%s: process %d passes another one than process 0", what, process);
    return GSW_SUCCESS;
}

gsw_status gsw_partition_agree_on(gsw_partition *p, gsw_status own, const char *what,
                                  uint64_t mark) {
    return agree_as(p, AGREE, own, what, mark);
}

gsw_status gsw_partition_agree(gsw_partition *p, gsw_status own) {
    return gsw_partition_agree_on(p, own, "", 0);
}

uint64_t gsw_mark(uint64_t mark, const int64_t *numbers, int count) {
    for (int i = 0; i < count; i++) {
        mark = (mark ^ (uint64_t)numbers[i]) * UINT64_C(0x9E3779B97F4A7C15);
        mark ^= mark >> 32;
    }
    return mark;
}

uint64_t gsw_mark_real(uint64_t mark, double number) {
    int64_t bits;
    memcpy(&bits, &number, sizeof bits);
    return gsw_mark(mark, &bits, 1);
}

/* Adds in the order of the ranks, so that all processes get the same bits. */
static gsw_status sum_all(void *user, gsw_context *context, int count, double *values) {
    gsw_partition *p = user;
    (void)context;
    for (int some, done = 0; done < count; done += some) {
        const int most = (int)(GSW_ANSWER / sizeof(double));
        some = count - done < most ? count - done : most;
        GSW_TRY(gsw_partition_gather(p, values + done, (size_t)some * sizeof(double)));
        for (int i = 0; i < some; i++) {
            double sum = 0;
            for (int process = 0; process < p->transport.processes; process++) {
                double term;
                memcpy(&term, p->answers + (size_t)(process * some + i) * sizeof term, sizeof term);
                sum = process == 0 ? term : sum + term;
            }
            values[done + i] = sum;
        }
    }
    return GSW_SUCCESS;
}

/* The same for sums of three words. */
static gsw_status sum_all_threefold(void *user, gsw_context *context, int count,
                                    const gsw_threefold *sums, double *rounded) {
    gsw_partition *p = user;
    const size_t bytes = (size_t)count * sizeof *sums;
    (void)context;
    GSW_TRY(gsw_partition_gather(p, sums, bytes));
    for (int i = 0; i < count; i++) {
        gsw_threefold sum = {0, 0, 0}, term;
        for (int process = 0; process < p->transport.processes; process++) {
            memcpy(&term, p->answers + (size_t)process * bytes + (size_t)i * sizeof term,
                   sizeof term);
            gsw_threefold_add(&sum, &term);
        }
        rounded[i] = gsw_threefold_round(&sum);
    }
    return GSW_SUCCESS;
}

/* ---- The context's sums: those of its newest partition ----------------------------------------
 */

static gsw_partition *newest_of(const gsw_context *context) {
    return context->sum == sum_all ? context->sum_user : NULL;
}

int gsw_context_is_alone(const gsw_context *context) {
    const gsw_partition *p = newest_of(context);
    return context->sum == NULL || (p && p->transport.processes == 1);
}

static gsw_status agree_to_solve(void *user, gsw_status own, uint64_t mark) {
    return agree_as(user, AGREE_TO_SOLVE, own, "method, preconditioner, options or count", mark);
}

static void set_sums(gsw_context *context, gsw_partition *p) {
    (void)gsw_context_set_sum(context, p ? sum_all : NULL, p);
    context->sum_threefold = p ? sum_all_threefold : NULL;
    context->agree_to_solve = p ? agree_to_solve : NULL;
}

static void leave_sums(const gsw_partition *p) {
    gsw_partition *newer = newest_of(p->context);
    if (newer == p)
        set_sums(p->context, p->older);
    for (; newer; newer = newer->older)
        if (newer->older == p)
            newer->older = p->older;
}

/* Partitions of a context add over the same processes. */
static gsw_status check_sums(const gsw_partition *p) {
    const gsw_partition *other = newest_of(p->context);
    GSW_REQUIRE(p->context,
                !other || (other->transport.processes == p->transport.processes &&
                           other->transport.rank == p->transport.rank),
                "context: it has a partition of other processes; this one needs a context of its "
                "own");
    return GSW_SUCCESS;
}

/* ---- Creation ---------------------------------------------------------------------------------
 */

static int32_t largest_divisor(int32_t of, int64_t at_most) {
    int32_t divisor = of;
    while (divisor > at_most || of % divisor != 0)
        divisor--;
    return divisor;
}

/* The processes along each axis. Slabs along the last axis are what exact sweeps need. */
static gsw_status choose_shape(gsw_partition *p, const int32_t wanted[3]) {
    const int64_t extent[3] = {p->grid.nx, p->grid.ny, p->grid.nz};
    int64_t fixed = 1;
    for (int axis = 0; axis < 3; axis++) {
        GSW_REQUIRE(p->context, wanted[axis] >= 0 && wanted[axis] <= extent[axis],
                    "options->processes: %d along an axis of %lld points", (int)wanted[axis],
                    (long long)extent[axis]);
        p->shape[axis] = wanted[axis];
        fixed *= wanted[axis] > 0 ? wanted[axis] : 1;
    }
    GSW_REQUIRE(p->context, fixed <= p->transport.processes && p->transport.processes % fixed == 0,
                "options->processes: their product %lld does not divide the number of processes, "
                "%d",
                (long long)fixed, p->transport.processes);
    int32_t rest = (int32_t)(p->transport.processes / fixed);
    for (int axis = 2; axis >= 0; axis--) {
        if (p->shape[axis] > 0)
            continue;
        p->shape[axis] = largest_divisor(rest, extent[axis]);
        rest /= p->shape[axis];
    }
    if (rest != 1)
        return gsw_fail(p->context, GSW_ERROR_UNSUPPORTED,
                        "a grid of %lld x %lld x %lld points cannot be cut into boxes for %d "
                        "processes",
                        (long long)extent[0], (long long)extent[1], (long long)extent[2],
                        p->transport.processes);
    return GSW_SUCCESS;
}

/* Where part i of equal parts begins: a whole number of the backend's tiles, if each slab has one.
 */
static int64_t even_cut(const gsw_partition *p, int axis, int64_t extent, int32_t i) {
    const int32_t parts = p->shape[axis];
    const int64_t cut = extent / parts * i + extent % parts * i / parts;
    const int64_t tile = axis == 2 ? p->context->ops->link->tile_planes : 1;
    return extent / parts >= tile && i < parts ? (cut + tile / 2) / tile * tile : cut;
}

static gsw_status cut_axis(gsw_partition *p, int axis, int64_t extent, const int64_t *given) {
    const int32_t parts = p->shape[axis];
    void *memory;
    GSW_TRY(gsw_alloc(p->context, (size_t)parts + 1, sizeof *p->cuts[axis], "a partition's cuts",
                      &memory));
    p->cuts[axis] = memory;
    for (int32_t i = 0; i <= parts; i++) {
        p->cuts[axis][i] = given ? given[i] : even_cut(p, axis, extent, i);
        GSW_REQUIRE(p->context,
                    i == 0 ? p->cuts[axis][0] == 0 : p->cuts[axis][i] > p->cuts[axis][i - 1],
                    "options->cuts[%d][%d] is %lld: cuts begin with 0 and ascend", axis, (int)i,
                    (long long)p->cuts[axis][i]);
    }
    GSW_REQUIRE(p->context, p->cuts[axis][parts] == extent,
                "options->cuts[%d] end with %lld, but the grid has %lld points there", axis,
                (long long)p->cuts[axis][parts], (long long)extent);
    return GSW_SUCCESS;
}

static gsw_status cut_grid(gsw_partition *p, const gsw_partition_options *given) {
    gsw_partition_options options;
    int64_t points;
    GSW_TRY(gsw_options_take(p->context, "gsw_partition_options", given, sizeof options, &options));
    GSW_REQUIRE(p->context, options.wait_limit >= 0 && isfinite(options.wait_limit),
                "options->wait_limit is %g", options.wait_limit);
    if (options.wait_limit > 0)
        p->wait_limit = options.wait_limit;
    const gsw_status status = gsw_grid_points(&p->grid, &points);
    if (status != GSW_SUCCESS)
        return gsw_fail(p->context, status,
                        "grid is NULL, an extent is below 1, or it has more than 2^48 points");
    for (int axis = 0; axis < 3; axis++)
        GSW_REQUIRE(p->context, !options.cuts[axis] || options.processes[axis] > 0,
                    "options->cuts[%d] is given, but options->processes[%d] is 0", axis, axis);
    GSW_TRY(choose_shape(p, options.processes));
    GSW_TRY(cut_axis(p, 0, p->grid.nx, options.cuts[0]));
    GSW_TRY(cut_axis(p, 1, p->grid.ny, options.cuts[1]));
    return cut_axis(p, 2, p->grid.nz, options.cuts[2]);
}

/* Cuts the grid, as all processes do. */
static gsw_status cut_alike(gsw_partition *p, const gsw_partition_options *options,
                            const void *result) {
    uint64_t mark = 0;
    gsw_status status = gsw_partition_check_result(p, result, "partition");
    if (status == GSW_SUCCESS)
        status = check_sums(p);
    if (status == GSW_SUCCESS && p->grid.periodic && p->transport.processes > 1 &&
        !p->context->ops->link->on_host)
        status = gsw_fail(p->context, GSW_ERROR_UNSUPPORTED,
                          "grid: on several GPUs a partition takes no periodic axes");
    if (status == GSW_SUCCESS)
        status = cut_grid(p, options);
    for (int axis = 0; status == GSW_SUCCESS && axis < 3; axis++)
        mark = gsw_mark(mark, p->cuts[axis], p->shape[axis] + 1);
    return gsw_partition_agree_on(p, status, "grid or options", mark);
}

static gsw_status open_answers(gsw_partition *p) {
    void *memory;
    GSW_TRY(gsw_alloc(p->context, (size_t)p->transport.processes + 1, sizeof(wire), "answers",
                      &memory));
    p->answers = memory;
    memset(p->answers, 0, ((size_t)p->transport.processes + 1) * sizeof(wire));
    return GSW_SUCCESS;
}

static gsw_status open_partition(gsw_partition *p, const gsw_partition_options *options,
                                 const void *result) {
    GSW_TRY(open_answers(p));
    GSW_TRY(cut_alike(p, options, result));
    p->own = gsw_partition_box(p, p->transport.rank);
    if (p->transport.processes > 1) {
        p->older = newest_of(p->context);
        set_sums(p->context, p);
    }
    return GSW_SUCCESS;
}

gsw_status gsw_partition_create(gsw_context *context, const gsw_transport *transport,
                                const gsw_grid *grid, const gsw_partition_options *options,
                                gsw_partition **partition) {
    static const gsw_transport alone = {.size = sizeof alone, .processes = 1};
    gsw_partition *p;
    GSW_REQUIRE(context, context, "context is NULL");
    if (partition)
        *partition = NULL;
    if (!transport)
        transport = &alone;
    GSW_TRY(gsw_alloc(context, 1, sizeof *p, "a partition", (void **)&p));
    memset(p, 0, sizeof *p);
    p->context = context;
    p->finest = p;
    p->grid = grid ? *grid : (gsw_grid){0, 0, 0};
    p->wait_limit = DEFAULT_LIMIT;
    p->timeouts = p->context->ops->link->timeouts(p->context);
    gsw_status status =
        gsw_options_take(context, "gsw_transport", transport, sizeof p->transport, &p->transport);
    if (status == GSW_SUCCESS && (p->transport.processes < 1 || p->transport.rank < 0 ||
                                  p->transport.rank >= p->transport.processes))
        status = gsw_fail(context, GSW_ERROR_INVALID_ARGUMENT, "transport: rank %d of %d processes",
                          p->transport.rank, p->transport.processes);
    if (status == GSW_SUCCESS)
        status = open_partition(p, options, partition);
    if (status == GSW_SUCCESS && partition)
        *partition = p;
    else
        gsw_partition_destroy(p);
    return status;
}

/* A partition with other cuts that uses the messages of `from`. */
static gsw_status derive(const gsw_partition *from, gsw_partition **derived) {
    gsw_partition *p;
    GSW_TRY(gsw_alloc(from->context, 1, sizeof *p, "a partition", (void **)&p));
    *p = *from;
    memset(p->cuts, 0, sizeof p->cuts);
    p->answers = NULL;
    p->older = NULL;
    *derived = p;
    return open_answers(p);
}

/* Ends a creation: *derived is NULL if it failed, or if the partition does not serve. */
static gsw_status end_derived(gsw_status status, int serves, gsw_partition **derived) {
    gsw_partition *p = *derived;
    if (status == GSW_SUCCESS && serves) {
        p->own = gsw_partition_box(p, p->transport.rank);
        return GSW_SUCCESS;
    }
    gsw_partition_destroy(p);
    *derived = NULL;
    return status;
}

/* Cuts an axis at every other point. *serves: no part between two cuts is empty. */
static gsw_status halve_cuts(gsw_partition *p, const gsw_partition *fine, int axis, int halved,
                             int *serves) {
    void *memory;
    GSW_TRY(gsw_alloc(p->context, (size_t)p->shape[axis] + 1, sizeof *p->cuts[axis],
                      "a partition's cuts", &memory));
    int64_t *cuts = p->cuts[axis] = memory;
    for (int32_t i = 0; i <= p->shape[axis]; i++) {
        cuts[i] = halved ? (fine->cuts[axis][i] + 1) / 2 : fine->cuts[axis][i];
        *serves = *serves && (i == 0 || cuts[i] > cuts[i - 1]);
    }
    return GSW_SUCCESS;
}

gsw_status gsw_partition_coarsen(gsw_partition *fine, int axes, gsw_partition **coarse) {
    int serves = 1;
    *coarse = NULL;
    gsw_status status = derive(fine, coarse);
    for (int axis = 0; status == GSW_SUCCESS && axis < 3; axis++)
        status = halve_cuts(*coarse, fine, axis, axes >> axis & 1, &serves);
    if (status == GSW_SUCCESS)
        (*coarse)->grid = (gsw_grid){.nx = (*coarse)->cuts[0][fine->shape[0]],
                                     .ny = (*coarse)->cuts[1][fine->shape[1]],
                                     .nz = (*coarse)->cuts[2][fine->shape[2]],
                                     .periodic = fine->grid.periodic};
    return end_derived(status, serves, coarse);
}

int gsw_partition_last_axis(const gsw_partition *p) {
    return p->grid.nz > 1 ? 2 : p->grid.ny > 1;
}

int gsw_partition_has_slabs(const gsw_partition *p) {
    const int last = gsw_partition_last_axis(p);
    return p->shape[last] == p->transport.processes;
}

gsw_status gsw_partition_slabs(gsw_partition *boxes, gsw_partition **slabs) {
    const int64_t extent[3] = {boxes->grid.nx, boxes->grid.ny, boxes->grid.nz};
    const int32_t processes = boxes->transport.processes;
    const int last = gsw_partition_last_axis(boxes);
    *slabs = NULL;
    if (processes > extent[last])
        return gsw_fail(boxes->context, GSW_ERROR_UNSUPPORTED,
                        "exact sweeps need slabs in %c, but %d processes share %lld points there: "
                        "take fewer processes, or the scope local",
                        "xyz"[last], (int)processes, (long long)extent[last]);
    gsw_status status = derive(boxes, slabs);
    if (status == GSW_SUCCESS)
        (*slabs)->grid.periodic = 0; /* sweeps know the box alone */
    for (int axis = 0; status == GSW_SUCCESS && axis < 3; axis++) {
        (*slabs)->shape[axis] = axis == last ? processes : 1;
        status = cut_axis(*slabs, axis, extent[axis], NULL);
    }
    return end_derived(status, 1, slabs);
}

void gsw_partition_destroy(gsw_partition *p) {
    if (!p)
        return;
    if (p == p->finest && p->idle_windows) /* others have copies */
        p->drop_idle(p);
    leave_sums(p);
    gsw_partition_free(p, p->answers);
    for (int axis = 0; axis < 3; axis++)
        free(p->cuts[axis]);
    free(p);
}
