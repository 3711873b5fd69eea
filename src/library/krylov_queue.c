/* krylov_queue.c: runs a queued method (krylov_methods.h). */
#include "krylov_queue.h"

/* The scalars that can end a method. */
static const char *const scalar_names[GSW_KRYLOV_SCALARS] = {
    [GSW_SCALAR_RZ] = "r'z",
    [GSW_SCALAR_PW] = "p'Ap",
    [GSW_SCALAR_RZ_PW] = "r'z / p'Ap",
    [GSW_SCALAR_RHO] = "rho",
    [GSW_SCALAR_V_SHADOW] = "the product of v and the first residual",
    [GSW_SCALAR_ALPHA] = "alpha",
    [GSW_SCALAR_TT] = "t't",
    [GSW_SCALAR_OMEGA] = "omega",
};

/* Copies the contents of a state. */
static gsw_status look(gsw_krylov_run *run, const gsw_krylov_method *method,
                       const gsw_krylov_state *state) {
    run->iterations = state->iterations;
    run->norm = state->norm;
    GSW_TRY(gsw_krylov_settle(run, state->ended));
    if (state->ended == GSW_END_NON_FINITE)
        return gsw_krylov_finite(run, scalar_names[state->scalar], state->offender);
    if (state->ended == GSW_END_BREAKDOWN)
        return method->explain(run, state->scalar, state->offender);
    return GSW_SUCCESS;
}

/* Queues iterations until one has ended the method. The host reads the state a few iterations late,
 * so that the device always has the next iteration. Iterations queued after the end change nothing.
 * There is no delay with a monitor, which may stop the method in any iteration, and none with a
 * preconditioner that is too costly for wasted applications. */
static gsw_status follow(gsw_krylov_run *run, const gsw_krylov_method *method) {
    const gsw_backend_ops *ops = run->context->ops;
    const int at_once = run->options.monitor != NULL || run->context->sum != NULL ||
                        gsw_preconditioner_is_costly(run->preconditioner);
    const int64_t distance = at_once ? 0 : ops->krylov_ahead;
    gsw_krylov_state states[GSW_KRYLOV_SLOTS];
    const int64_t limit = run->options.max_iterations - run->iterations;
    int64_t seen = 0;
    GSW_TRY(method->start(run));
    for (int64_t queued = 0;; queued++) {
        const int slot = (int)(queued % GSW_KRYLOV_SLOTS);
        GSW_TRY(ops->krylov_post(run->context, slot, run->state, &states[slot]));
        const int64_t ahead = queued < limit ? distance : 0;
        for (; seen <= queued - ahead; seen++) {
            const int oldest = (int)(seen % GSW_KRYLOV_SLOTS);
            GSW_TRY(ops->krylov_collect(run->context, oldest, &states[oldest]));
            GSW_TRY(look(run, method, &states[oldest]));
            if (run->reached)
                return GSW_SUCCESS;
        }
        GSW_TRY(method->iterate(run));
    }
}

gsw_status gsw_krylov_queue(gsw_krylov_run *run, const gsw_krylov_method *method) {
    const gsw_backend_ops *ops = run->context->ops;
    const gsw_krylov_state first = gsw_krylov_begin(
        run->target, run->iterations, run->options.max_iterations, run->context->sum != NULL);
    gsw_status status;
    void *memory;
    GSW_TRY(ops->reserve(run->context, sizeof first, &memory));
    run->state = memory;
    GSW_TRY_GOTO(ops->upload(run->context, memory, &first, sizeof first), cleanup);
    status = follow(run, method);

cleanup:
    ops->unreserve(run->context, memory);
    run->state = NULL;
    return status;
}
