/* periods.c: a factor of coefficients that repeat stores what repeats once.
 *
 * A period is nx steps of a pencil. Its records depend on where its chains are: outside the grid,
 * or inside and so many lines, up to the reach of the stencil, from each end of y and z. That is
 * its signature. Periods with equal signatures share their records. */
#include <stdlib.h>
#include <string.h>
#include "contract/allocate.h"
#include "contract/error.h"
#include "cpu/factor/packed.h"

/* Shorter lines are not worth an index. */
enum { LEAST_NX = 64 };

/* What two planes of each chain look like. */
typedef struct signature {
    int64_t lines[2 * GSW_VECTOR_LANES];
} signature;

static int64_t ends_near(int64_t at, int64_t extent, int64_t reach) {
    const int64_t low = at < reach ? at : reach;
    const int64_t high = extent - 1 - at < reach ? extent - 1 - at : reach;
    return low * (reach + 1) + high;
}

static signature signature_of(const gsw_chains *g, gsw_repeat repeat, int64_t reach, int64_t chain,
                              int64_t plane) {
    signature s = {{0}};
    for (int32_t l = 0; l < 2 * g->chains; l++) {
        const int64_t z = plane - l % 2, y = chain + l / 2 - g->shear * z;
        if (y < 0 || y >= g->ny || z < 0 || z >= g->nz)
            continue;
        s.lines[l] =
            1 + ends_near(y, g->ny, reach) + (reach + 1) * (reach + 1) * ends_near(z, g->nz, reach);
        if (repeat == GSW_REPEAT_Y)
            s.lines[l] += (z + 1) << 32;
    }
    return s;
}

/* The number of the stored period with this signature, which is added where there is none. */
static int64_t find(signature *all, int64_t *count, int64_t guess, const signature *s) {
    if (guess < *count && memcmp(&all[guess], s, sizeof *s) == 0)
        return guess;
    for (int64_t i = 0; i < *count; i++)
        if (memcmp(&all[i], s, sizeof *s) == 0)
            return i;
    all[*count] = *s;
    return (*count)++;
}

int gsw_cpu_repeats(const gsw_factor *factor, const gsw_chains *g) {
    const int lines =
        factor->repeat == GSW_REPEAT_YZ || (factor->repeat == GSW_REPEAT_Y && factor->grid.ny > 1);
    return lines && factor->options.pivot_shift == 0 && g->nx >= LEAST_NX &&
           g->nx >= (int64_t)g->chains * g->skew;
}

gsw_status gsw_cpu_find_periods(gsw_context *context, const gsw_factor *factor, int upper,
                                gsw_records *records) {
    const gsw_chains *g = &factor->packed->chains;
    int64_t periods = 0, stored = 0, reach = 0;
    void *signatures = NULL;
    gsw_status status;
    for (int32_t e = 0; e < factor->stencil.count; e++) {
        const gsw_offset o = factor->stencil.offsets[e];
        const int64_t dy = o.dy < 0 ? -o.dy : o.dy, dz = o.dz < 0 ? -o.dz : o.dz;
        reach = dy > reach ? dy : reach;
        reach = dz > reach ? dz : reach;
    }
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
    GSW_TRY_GOTO(
        gsw_alloc(context, (size_t)periods, sizeof(signature), "the kinds of periods", &signatures),
        cleanup);
    for (int64_t q = 0, p = 0; q < g->pencils; q++) {
        const int64_t end = q + 1 < g->pencils ? records->first[q + 1] : periods;
        const int64_t chain = gsw_first_chain(g, upper, q), width = end - p;
        int64_t plane, last;
        gsw_pencil_planes(g, upper, q, &plane, &last);
        for (; p < end; p++, plane++) {
            const signature s = signature_of(g, factor->repeat, reach, chain, plane);
            const int64_t before = stored;
            const int64_t near = p >= width ? records->period[p - width] / g->nx : 0;
            const int64_t number = find(signatures, &stored, near, &s);
            records->period[p] = number * g->nx;
            if (stored > before)
                records->writer[number] = p;
        }
    }
    records->count = stored * g->nx;
cleanup:
    free(signatures);
    return status;
}
