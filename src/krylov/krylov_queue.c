/* krylov_queue.c: runs the rounds of a method for several systems side by side (krylov_driver.h),
 * and queues iterations ahead of the device. */
#include <math.h>

#include "core/reserve.h"
#include "krylov_driver.h"

/* Iterations before the end in which the host waits for each one. Norms do not fall evenly. */
#define SOON 3

/* Copies the contents of a state. */
static gsw_status look(gsw_krylov_run *run, const gsw_krylov_state *state) {
    run->iterations = state->iterations;
    run->norm = state->norm;
    run->rescued.scalar = state->scalar;
    run->rescued.offender = state->offender;
    run->rescued.least = state->least;
    run->rescued.kept = state->kept;
    GSW_TRY(gsw_krylov_settle(run, state->ended));
    return state->ended == GSW_END_NON_FINITE  ? GSW_ERROR_NON_FINITE
           : state->ended == GSW_END_BREAKDOWN ? GSW_ERROR_BREAKDOWN
                                               : GSW_SUCCESS;
}

/* Whether a round may end within so few iterations, as it has gone so far. */
static int ends_soon(const gsw_krylov_run *run) {
    if (run->iterations == 0 || !(run->norm < run->reference))
        return 0;
    const double rate = pow(run->norm / run->reference, 1.0 / (double)run->iterations);
    return run->norm * pow(rate, SOON) <= run->target;
}

/* Iterations that are queued beyond the one whose end the host waits for, so that the device always
 * has the next one. Those queued after a system's end do not change it, but take time. So there are
 * none when a single system is about to end, or when all systems have reached the limit of
 * iterations. There are none with a monitor, which may stop the method in any iteration, and none
 * with a preconditioner that is too costly for wasted applications. */
static int64_t ahead(const gsw_krylov_queue *queue) {
    const gsw_krylov_run *first = queue->place[0].run;
    const gsw_preconditioner *M = first->system->preconditioner;
    const int at_once = first->options.monitor != NULL || first->options.monitor_many != NULL ||
                        queue->context->sum != NULL || (M != NULL && M->ops.costly(M->self));
    int64_t limit = 0;
    if (at_once || (queue->count == 1 && ends_soon(first)))
        return 0;
    for (int p = 0; p < queue->count; p++)
        if (queue->place[p].limit > limit)
            limit = queue->place[p].limit;
    return queue->queued > limit ? 0 : queue->context->ops->krylov->ahead;
}

/* Whether a round has ended, by the copies that the host awaits. */
static gsw_status examine(gsw_krylov_queue *queue, int *place) {
    const gsw_backend_ops *ops = queue->context->ops;
    *place = -1;
    for (; queue->seen < queue->queued - ahead(queue); queue->seen++, queue->collected = 0) {
        const int slot = (int)(queue->seen % GSW_KRYLOV_SLOTS);
        if (!queue->collected)
            GSW_TRY(ops->krylov->collect(queue->context, slot, queue->width, queue->copy[slot]));
        queue->collected = 1;
        for (int p = 0; p < queue->count; p++) {
            const gsw_krylov_place *at = &queue->place[p];
            if (at->fresh || at->since > queue->seen)
                continue;
            const gsw_status status = look(at->run, &queue->copy[slot][at->state]);
            if (status != GSW_SUCCESS || at->run->reached) {
                *place = p;
                return status;
            }
            if (at->run->rescued.end == GSW_END_KEEP || at->run->rescued.end == GSW_END_LOOK)
                GSW_TRY(gsw_krylov_queue_resume(queue, p));
        }
    }
    return GSW_SUCCESS;
}

static gsw_status begin(gsw_krylov_queue *queue, gsw_krylov_place *at) {
    gsw_krylov_run *run = at->run;
    gsw_krylov_state first = gsw_krylov_begin(
        run->target, run->iterations, run->options.max_iterations, run->context->sum != NULL);
    first.least = run->rescued.least;
    first.kept = run->rescued.kept;
    at->fresh = 0;
    at->since = queue->queued;
    at->limit = queue->queued + run->options.max_iterations - run->iterations;
    run->state = queue->states + at->state;
    GSW_TRY(queue->context->ops->memory->upload(queue->context, run->state, &first, sizeof first));
    return queue->method->start(run);
}

/* An iteration of the systems whose round has begun, and the beginning of the others. */
static gsw_status advance(gsw_krylov_queue *queue) {
    gsw_krylov_run *runs[GSW_KRYLOV_SYSTEMS];
    for (int p = 0; p < queue->count;) {
        int count = 0;
        for (; p < queue->count && !queue->place[p].fresh; p++)
            runs[count++] = queue->place[p].run;
        if (count > 0)
            GSW_TRY(queue->method->iterate(runs, count));
        for (; p < queue->count && queue->place[p].fresh; p++)
            GSW_TRY(begin(queue, &queue->place[p]));
    }
    const int slot = (int)(queue->queued++ % GSW_KRYLOV_SLOTS);
    return queue->context->ops->krylov->post(queue->context, slot, queue->width, queue->states,
                                             queue->copy[slot]);
}

/* Iterates until a method ends by itself. */
static gsw_status iterate(gsw_krylov_queue *queue, int *place) {
    if (queue->method->run != NULL) {
        *place = 0;
        return queue->method->run(queue->place[0].run);
    }
    for (;;) {
        const gsw_status status = examine(queue, place);
        if (status != GSW_SUCCESS || *place >= 0)
            return status;
        GSW_TRY(advance(queue));
    }
}

gsw_status gsw_krylov_queue_next(gsw_krylov_queue *queue, int *place) {
    for (;;) {
        gsw_status status = iterate(queue, place);
        gsw_krylov_run *run = *place >= 0 ? queue->place[*place].run : NULL;
        int again = 0;
        if (status != GSW_SUCCESS && run != NULL)
            status = gsw_krylov_rescue(run, queue->method, status, &again);
        if (!again)
            return status;
        gsw_krylov_queue_begin(queue, *place, run);
    }
}

void gsw_krylov_queue_begin(gsw_krylov_queue *queue, int place, gsw_krylov_run *run) {
    run->reached = 0;
    run->limit = 0;
    run->rescued.begun = run->iterations;
    queue->place[place].run = run;
    queue->place[place].fresh = 1;
    if (place == queue->count)
        queue->count++;
}

gsw_status gsw_krylov_queue_resume(gsw_krylov_queue *queue, int place) {
    const gsw_backend_ops *ops = queue->context->ops;
    gsw_krylov_place *at = &queue->place[place];
    gsw_krylov_run *run = at->run;
    gsw_krylov_state state;
    run->reached = 0;
    at->since = queue->queued; /* earlier copies have the end that is taken back */
    at->limit = queue->queued + run->options.max_iterations - run->iterations;
    GSW_TRY(ops->memory->download(queue->context, &state, run->state, sizeof state));
    gsw_krylov_resume(&state, run->checked, run->target);
    GSW_TRY(ops->memory->upload(queue->context, run->state, &state, sizeof state));
    return queue->method->rest != NULL ? queue->method->rest(run) : GSW_SUCCESS;
}

gsw_status gsw_krylov_queue_remove(gsw_krylov_queue *queue, int place) {
    gsw_krylov_place *to = &queue->place[place], *last = &queue->place[--queue->count];
    gsw_krylov_run *moved = last->run;
    double *from = moved->work;
    if (to == last)
        return GSW_SUCCESS;
    moved->work = to->run->work;
    for (int64_t k = 0; k < queue->method->vectors(moved); k++)
        GSW_TRY(gsw_krylov_copy(moved, from + k * moved->stride, gsw_krylov_vector(moved, k)));
    *to = *last;
    return GSW_SUCCESS;
}

gsw_status gsw_krylov_queue_open(gsw_krylov_queue *queue, const gsw_krylov_method *method,
                                 const gsw_krylov_run *run, int width) {
    gsw_krylov_state *states;
    *queue = (gsw_krylov_queue){.context = run->context, .method = method, .width = width};
    for (int p = 0; p < width; p++)
        queue->place[p].state = p;
    if (method->iterate == NULL)
        return GSW_SUCCESS;
    GSW_TRY(run->context->ops->memory->reserve(run->context, (size_t)width * sizeof *states,
                                               (void **)&states));
    queue->states = states;
    return GSW_SUCCESS;
}

void gsw_krylov_queue_close(gsw_krylov_queue *queue) {
    gsw_unreserve(queue->context, queue->states);
    queue->states = NULL;
}
