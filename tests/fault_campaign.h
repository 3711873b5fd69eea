/* fault_campaign.h: each scene runs once to count its calls, and then once for each call that
 * fails: the n-th alone, or all from the n-th on. Each run ends with a documented status and a
 * message. It frees all that it allocated and leaves no output. The next run gives the bits of a
 * run without a fault. */
#ifndef GSW_TESTS_FAULT_CAMPAIGN_H
#define GSW_TESTS_FAULT_CAMPAIGN_H

#include <check.h>

#include "fault_outcome.h"
#include "fault_switch.h"
#include "suite.h"

typedef struct scene {
    const char *name;
    void (*run)(outcome *o, int variant);
    int variants;
    int stride;   /* of the variants in a short run; 0: all */
    int may_fail; /* some variants are refused without a fault, too */
} scene;

/* What the runs of a campaign share. */
typedef struct campaign {
    gsw_context *context;
    fault_kind kind;   /* of the calls that fail */
    unsigned refusals; /* the statuses in which a fault may end, as bits: MAY() */
    atomic_long *live; /* counts what is not freed */
    long most;         /* calls that fail in a variant, spread over all of them; 0: every one */
} campaign;

static inline outcome play(const campaign *c, const scene *s, int variant) {
    outcome o = {.hash = GSW_HASH_BEGIN, .had_message = -1};
    (void)gsw_context_fail(c->context, GSW_SUCCESS, "");
    s->run(&o, variant);
    if (o.had_message < 0)
        o.had_message = gsw_context_message(c->context)[0] != '\0';
    return o;
}

static inline void complain(const campaign *c, const scene *s, int variant, long at,
                            const char *what, const outcome *o) {
    static int complaints;
    if (complaints++ < 40)
        printf("  %s, variant %d, call %ld: %s (%s; %s)\n", s->name, variant, at, what,
               gsw_status_name(o->status), gsw_context_message(c->context));
}

/* One run with a fault, and one without. */
static inline void judge(const campaign *c, const scene *s, int variant, const outcome *base,
                         tally *t) {
    const long live = atomic_load(c->live), at = fault.at;
    const outcome o = play(c, s, variant);
    fault_disarm();
    const int refused = o.status != base->status && (c->refusals & MAY(o.status)) != 0;
    t->injected += atomic_load(&fault.hits) > 0;
    const char *wrong = NULL;
    if (o.left > 0)
        wrong = "an output is left";
    else if (refused && !o.had_message)
        wrong = "no message";
    else if (refused)
        t->refused++;
    else if (o.status == base->status && o.hash == base->hash)
        t->served++;
    else if (o.status == GSW_SUCCESS && o.substitute)
        t->substituted++;
    else
        wrong = o.status == GSW_SUCCESS ? "other bits" : "another status";
    if (wrong != NULL) {
        t->wrong++;
        complain(c, s, variant, at, wrong, &o);
    }
    if (atomic_load(c->live) != live) {
        t->leaked++;
        complain(c, s, variant, at, "a leak", &o);
        atomic_store(c->live, live);
    }
    const outcome again = play(c, s, variant);
    if (again.status != base->status || again.hash != base->hash) {
        t->wrong++;
        complain(c, s, variant, at, "the next run has other bits", &again);
    }
}

/* All faults of one scene. */
static inline void run_campaign(const campaign *c, const scene *s, int stride, tally *t) {
    for (int variant = 0; variant < s->variants; variant += stride) {
        const outcome first = play(c, s, variant);
        fault_arm(c->kind, 0, 0, 0);
        const outcome base = play(c, s, variant);
        const long calls = atomic_load(&fault.calls);
        fault_disarm();
        if (first.hash != base.hash || first.status != base.status || base.left > 0 ||
            (base.status != GSW_SUCCESS && !s->may_fail)) {
            t->wrong++;
            complain(c, s, variant, 0, "two runs differ, or are not what they should be", &base);
        }
        const long step = c->most > 0 ? calls / c->most + 1 : 1;
        for (long n = 1 + variant % step; n <= calls; n += step)
            for (int on = 0; on < 2; on++) {
                fault_arm(c->kind, n, on, 0);
                judge(c, s, variant, &base, t);
                fault_disarm();
            }
    }
}

/* Nothing was wrong, nothing leaked, and more than `least` faults were refused. */
static inline void expect_no_fault(const tally *t, long least) {
    ck_assert_int_eq(t->wrong, 0);
    ck_assert_int_eq(t->leaked, 0);
    ck_assert_int_gt(t->refused, least);
}

static inline void add_case(Suite *suite, const char *name, const TTest *test) {
    tcase_add_test(suite_case(suite, name, 1200, NULL, NULL), test);
}

/* A new context, or NULL where the fault of a scene has hit it. */
static inline gsw_context *try_context(outcome *o, const gsw_context_options *options) {
    gsw_context *made = (gsw_context *)(void *)o; /* what no failed call may leave */
    o->status = gsw_context_create(options, &made);
    if (o->status == GSW_SUCCESS)
        return made;
    o->left += made != NULL;
    o->had_message = gsw_context_message(NULL)[0] != '\0';
    return NULL;
}

#endif
