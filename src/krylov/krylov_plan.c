/* krylov_plan.c: see krylov_plan.h. */
#include <string.h>

#include "krylov_plan.h"

/* ---- Making a plan ---- */

static void add(gsw_krylov_plan *plan, gsw_krylov_action action, gsw_pass pass, const int *vectors,
                int count) {
    gsw_plan_step *step = &plan->step[plan->count++];
    step->action = action;
    step->pass = pass;
    memcpy(step->vector, vectors, (size_t)count * sizeof *vectors);
}

void gsw_plan_pass(gsw_krylov_plan *plan, gsw_pass pass, const int *vectors) {
    add(plan, GSW_STEP_PASS, pass, vectors, gsw_pass_shapes[pass].vectors);
}

void gsw_plan_precondition(const gsw_krylov_run *run, gsw_krylov_plan *plan, int from, int to) {
    if (run->preconditioner != NULL)
        add(plan, GSW_STEP_PRECONDITION, GSW_PASSES, (int[]){from, to}, 2);
}

void gsw_plan_precondition_narrow(gsw_krylov_plan *plan) {
    plan->step[plan->count++].action = GSW_STEP_PRECONDITION_NARROW;
}

void gsw_plan_multiply_pass(gsw_krylov_plan *plan, gsw_pass pass, int from, int to) {
    add(plan, GSW_STEP_MULTIPLY_PASS, pass, (int[]){from, to}, 2);
}

void gsw_plan_apply(const gsw_krylov_run *run, gsw_krylov_plan *plan, int from, int hat, int to) {
    const int right = gsw_krylov_right(run);
    if (right)
        gsw_plan_precondition(run, plan, from, hat);
    add(plan, GSW_STEP_MULTIPLY, GSW_PASSES, (int[]){right ? hat : from, to}, 2);
    if (!right)
        gsw_plan_precondition(run, plan, to, to);
}

/* ---- Performing it ---- */

static void *vector_of(const gsw_krylov_run *run, int number) {
    float *in, *out;
    if (number >= 0)
        return gsw_krylov_vector(run, number);
    if (number == GSW_KRYLOV_X)
        return run->x;
    (void)gsw_krylov_narrow(run, &in, &out);
    return number == GSW_KRYLOV_NARROW_IN ? in : out;
}

static gsw_status pass(const gsw_plan_step *step, gsw_krylov_run *run) {
    void *vectors[GSW_PASS_VECTORS];
    for (int v = 0; v < gsw_pass_shapes[step->pass].vectors; v++)
        vectors[v] = vector_of(run, step->vector[v]);
    return gsw_krylov_pass(run, step->pass, vectors);
}

/* A step of all systems that is not a pass. */
static gsw_status shared(const gsw_plan_step *step, gsw_krylov_run *const *runs, int count) {
    const int from = step->vector[0], to = step->vector[1];
    switch (step->action) {
    case GSW_STEP_PRECONDITION:
        return gsw_krylov_precondition_all(runs, count, from, to);
    case GSW_STEP_PRECONDITION_NARROW:
        return gsw_krylov_precondition_narrow(runs[0]);
    case GSW_STEP_MULTIPLY:
        return gsw_krylov_multiply_all(runs, count, from, to);
    case GSW_STEP_MULTIPLY_PASS:
        return gsw_krylov_multiply_pass_all(runs, count, step->pass, from, to);
    case GSW_STEP_PASS:
        break;
    }
    return GSW_SUCCESS;
}

gsw_status gsw_krylov_perform(const gsw_krylov_plan *plan, int first, gsw_krylov_run *const *runs,
                              int count) {
    for (int s = first; s < plan->count;) {
        int end = s;
        while (end < plan->count && plan->step[end].action == GSW_STEP_PASS)
            end++;
        for (int i = 0; i < count; i++)
            for (int k = s; k < end; k++)
                GSW_TRY(pass(&plan->step[k], runs[i]));
        if (end < plan->count)
            GSW_TRY(shared(&plan->step[end], runs, count));
        s = end + 1;
    }
    return GSW_SUCCESS;
}
