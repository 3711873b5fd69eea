/* periods.c: a factor of coefficients that repeat stores what repeats once.
 *
 * A period is nx steps of a pencil. Its records depend on the kinds (repeats.h) of the lines that
 * its chains have in two planes. */
#include <stdlib.h>
#include "contract/allocate.h"
#include "contract/error.h"
#include "geometry/repeats.h"
#include "cpu/factor/packed.h"

/* Shorter lines are not worth an index. */
enum { LEAST_NX = 64 };

/* The kinds of two planes of each chain. */
static void find_kinds(const gsw_chains *g, gsw_repeat repeat, int64_t reach, int64_t chain,
                       int64_t plane, int64_t kinds[2 * GSW_VECTOR_LANES]) {
    for (int32_t l = 0; l < 2 * g->chains; l++) {
        const int64_t z = plane - l % 2, y = chain + l / 2 - g->shear * z;
        kinds[l] = gsw_line_kind(repeat, reach, g->ny, g->nz, y, z);
    }
}

int gsw_cpu_repeats(const gsw_factor *factor, const gsw_chains *g) {
    return gsw_lines_repeat(factor) && g->nx >= LEAST_NX && g->nx >= (int64_t)g->chains * g->skew;
}

gsw_status gsw_cpu_find_periods(gsw_context *context, const gsw_factor *factor, int upper,
                                gsw_records *records) {
    const gsw_chains *g = &factor->packed->chains;
    const int64_t reach = gsw_lines_reach(&factor->stencil);
    gsw_groups groups = {.lines = 2 * g->chains};
    int64_t periods = 0;
    gsw_status status;
    GSW_TRY(gsw_alloc(context, (size_t)g->pencils, sizeof *records->first, "the pencils' index",
                      (void **)&records->first));
    for (int64_t q = 0; q < g->pencils; q++) {
        records->first[q] = periods;
        periods += (gsw_pencil_steps(g, upper, q) + g->nx - 1) / g->nx;
    }
    GSW_TRY(gsw_alloc(context, (size_t)periods, sizeof *records->period, "the index of periods",
                      (void **)&records->period));
    GSW_TRY(gsw_alloc(context, (size_t)periods, sizeof *records->writer, "the index of periods",
                      (void **)&records->writer));
    for (int64_t q = 0, p = 0; q < g->pencils; q++) {
        const int64_t end = q + 1 < g->pencils ? records->first[q + 1] : periods;
        const int64_t chain = gsw_first_chain(g, upper, q), width = end - p;
        int64_t plane, last;
        gsw_pencil_planes(g, upper, q, &plane, &last);
        for (; p < end; p++, plane++) {
            int64_t kinds[2 * GSW_VECTOR_LANES];
            int64_t number = p >= width ? records->period[p - width] / g->nx : 0;
            const int64_t before = groups.count;
            find_kinds(g, factor->repeat, reach, chain, plane, kinds);
            GSW_TRY_GOTO(gsw_groups_find(context, &groups, kinds, &number), cleanup);
            records->period[p] = number * g->nx;
            if (groups.count > before)
                records->writer[number] = p;
        }
    }
    records->count = groups.count * g->nx;
    status = GSW_SUCCESS;
cleanup:
    free(groups.kinds);
    return status;
}
