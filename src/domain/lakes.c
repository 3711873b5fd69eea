/* lakes.c: see lakes.h. */
#include "lakes.h"

#include <math.h>
#include <stdlib.h>

#include "common/mask.h"
#include "contract/allocate.h"
#include "contract/backend.h"
#include "contract/error.h"
#include "core/reserve.h"
#include "core/sums.h"

enum {
    SAMPLES = 512, /* points that tell which basin is the largest */
    SHARE = 8      /* of all points that lakes have at most */
};

/* A mean is badly held where the row sums of a basin are below this share of its diagonals, and not
 * held at all below the second: the matrix is singular then. */
#define HELD_BADLY      GSW_WEAK_COAST
#define NOT_HELD_AT_ALL 1e-13

/* What is found on the way, on the host: of each point of a lake, in ascending order. */
typedef struct found {
    int64_t points;
    void *block;
    int64_t *point, *root; /* and the first point of its lake */
    double *sum, *diagonal;
} found;

/* A lake, on the host. */
typedef struct lake {
    int64_t first, points;
    double sum, diagonal;
    int leaves; /* has a point beside another process, or at the seam */
} lake;

static int64_t points_of(const gsw_matrix *box) {
    return box->grid.nx * box->grid.ny * box->grid.nz;
}

/* The root that most of some points have; -1: most are inactive. */
static gsw_status find_largest(gsw_context *context, const gsw_matrix *box, const int64_t *root,
                               int64_t *largest) {
    const int64_t n = points_of(box), samples = n < SAMPLES ? n : SAMPLES;
    int64_t at[SAMPLES], most = 0;
    double *room;
    for (int64_t i = 0; i < samples; i++)
        at[i] = i * n / samples;
    GSW_TRY(gsw_reserve_vector(context, 2 * samples, &room));
    double *roots = room + samples;
    const size_t bytes = (size_t)samples * sizeof *at;
    gsw_status status = context->ops->memory->upload(context, room, at, bytes);
    if (status == GSW_SUCCESS)
        status = context->ops->mask->collect(context, GSW_F64, samples, (const int64_t *)room, root,
                                             roots);
    if (status == GSW_SUCCESS)
        status = context->ops->memory->download(context, at, roots, bytes);
    gsw_unreserve(context, room);
    *largest = -1;
    for (int64_t i = 0; i < samples && status == GSW_SUCCESS; i++) {
        int64_t same = 0;
        for (int64_t k = 0; k < samples && at[i] >= 0; k++)
            same += at[k] == at[i];
        if (same > most) {
            most = same;
            *largest = at[i];
        }
    }
    return status;
}

static gsw_status open_found(gsw_context *context, int64_t n, found *f) {
    GSW_TRY(gsw_alloc(context, (size_t)n + 1, 4 * sizeof(double), "lakes", &f->block));
    f->point = f->block;
    f->root = f->point + n;
    f->sum = (double *)f->block + 2 * n;
    f->diagonal = f->sum + n;
    return GSW_SUCCESS;
}

/* Brings what is to be known of the listed points to the host. `room` has four values of each; the
 * points are there. */
static gsw_status bring(gsw_context *context, const gsw_matrix *box, const double *const *arrays,
                        const int64_t *root, double *room, found *f) {
    const int64_t n = f->points, *points = (const int64_t *)room;
    const size_t bytes = (size_t)(4 * n) * sizeof(double);
    GSW_TRY(context->ops->mask->collect(context, GSW_F64, n, points, root, room + n));
    GSW_TRY(
        context->ops->mask->sum_rows(context, box, arrays, n, points, room + 2 * n, room + 3 * n));
    GSW_TRY(open_found(context, n, f));
    return context->ops->memory->download(context, f->block, room, bytes);
}

/* Lists the points beside the largest basin. f->points is 0 where there are none, or too many. */
static gsw_status find(gsw_context *context, const gsw_matrix *box, const double *const *arrays,
                       int64_t *root, uint8_t *marked, found *f) {
    const gsw_mask_ops *ops = context->ops->mask;
    const int64_t n = points_of(box);
    int64_t largest;
    double *room;
    GSW_TRY(ops->find_basins(context, box, root));
    GSW_TRY(find_largest(context, box, root, &largest));
    GSW_TRY(ops->mark_basins(context, n, root, largest, marked));
    GSW_TRY(ops->list(context, n, marked, NULL, &f->points));
    if (f->points > n / SHARE)
        f->points = 0;
    if (f->points == 0)
        return GSW_SUCCESS;
    GSW_TRY(gsw_reserve_vector(context, 4 * f->points, &room));
    gsw_status status = ops->list(context, n, marked, (int64_t *)room, &f->points);
    if (status == GSW_SUCCESS)
        status = bring(context, box, arrays, root, room, f);
    gsw_unreserve(context, room);
    return status;
}

/* Whether a point is at a face behind which the box is coupled to points it does not have. */
static int leaves(const gsw_matrix *box, const gsw_frame *others, int64_t point) {
    const gsw_grid *g = &box->grid;
    const int64_t n[3] = {g->nx, g->ny, g->nz};
    const int64_t at[3] = {point % n[0], point / n[0] % n[1], point / n[0] / n[1]};
    for (int axis = 0; axis < 3; axis++) {
        const int around = g->periodic >> axis & 1;
        const int before = around || (others && others->low[axis] > 0);
        const int after =
            around || (others && others->e[axis] > others->low[axis] + others->n[axis]);
        /* a stencil reaches two points at most */
        if ((before && at[axis] < 2) || (after && at[axis] >= n[axis] - 2))
            return 1;
    }
    return 0;
}

static int64_t lake_of(const lake *lakes, int64_t count, int64_t first) {
    int64_t low = 0;
    while (count > 1) {
        const int64_t half = count / 2;
        if (lakes[low + half].first <= first) {
            low += half;
            count -= half;
        } else {
            count = half;
        }
    }
    return low;
}

/* Gathers the lakes in the order of their first points, and replaces f->root by their numbers. */
static int64_t gather(const gsw_matrix *box, const gsw_frame *others, found *f, lake *lakes) {
    int64_t count = 0;
    for (int64_t i = 0; i < f->points; i++) {
        if (f->root[i] == f->point[i])
            lakes[count++] = (lake){.first = f->point[i]};
        f->root[i] = lake_of(lakes, count, f->root[i]);
        lake *of = &lakes[f->root[i]];
        of->points++;
        of->sum += f->sum[i];
        of->diagonal += f->diagonal[i];
        of->leaves = of->leaves || leaves(box, others, f->point[i]);
    }
    return count;
}

static int is_held_badly(const lake *l) {
    const double share = l->diagonal != 0 ? l->sum / l->diagonal : 0;
    return !l->leaves && share < HELD_BADLY && share > NOT_HELD_AT_ALL;
}

/* Keeps the lakes whose means are held badly. `lakes` becomes where each begins. */
static gsw_status keep(gsw_context *context, const found *f, lake *lakes, int64_t count, int shared,
                       gsw_lakes *kept) {
    const gsw_memory_ops *memory = context->ops->memory;
    int64_t points = 0, number = 0;
    void *room;
    for (int64_t k = 0; k < count; k++) {
        kept->count += is_held_badly(&lakes[k]);
        points += is_held_badly(&lakes[k]) ? lakes[k].points : 0;
    }
    if (kept->count == 0)
        return GSW_SUCCESS;
    const size_t values = (size_t)((2 + shared) * kept->count + 1 + points);
    GSW_TRY(memory->reserve(context, values * sizeof(double), &kept->block));
    kept->scale = kept->block;
    kept->begin = (int64_t *)(kept->scale + kept->count);
    kept->point = kept->begin + kept->count + 1;
    kept->sums = shared ? (double *)(kept->point + points) : NULL;
    GSW_TRY(gsw_alloc(context, values, sizeof(double), "lakes", &room));
    double *scale = room;
    int64_t *begin = (int64_t *)(scale + kept->count), *point = begin + kept->count + 1;
    begin[0] = 0;
    for (int64_t k = 0; k < count; k++) {
        if (!is_held_badly(&lakes[k])) {
            lakes[k].first = -1;
            continue;
        }
        scale[number] = 1 / lakes[k].sum;
        lakes[k].first = begin[number];
        begin[number + 1] = begin[number] + lakes[k].points;
        number++;
    }
    for (int64_t i = 0; i < f->points; i++)
        if (lakes[f->root[i]].first >= 0)
            point[lakes[f->root[i]].first++] = f->point[i];
    const gsw_status status =
        memory->upload(context, kept->block, room,
                       (values - (size_t)shared * (size_t)kept->count) * sizeof(double));
    free(room);
    return status;
}

gsw_status gsw_lakes_take(gsw_context *context, const gsw_matrix *box, const gsw_frame *others,
                          const double *const *arrays, gsw_lakes *lakes) {
    const int64_t n = points_of(box);
    found f = {.points = 0};
    double *root = NULL;
    void *marked = NULL, *all = NULL;
    gsw_lakes_close(context, lakes);
    gsw_status status = gsw_reserve_vector(context, n, &root);
    if (status == GSW_SUCCESS)
        status = context->ops->memory->reserve(context, (size_t)n, &marked);
    if (status == GSW_SUCCESS)
        status = find(context, box, arrays, (int64_t *)root, marked, &f);
    gsw_unreserve(context, marked);
    gsw_unreserve(context, root);
    if (status == GSW_SUCCESS && f.points > 0)
        status = gsw_alloc(context, (size_t)f.points, sizeof(lake), "lakes", &all);
    if (status == GSW_SUCCESS && f.points > 0)
        status = keep(context, &f, all, gather(box, others, &f, all), 0, lakes);
    free(all);
    free(f.block);
    if (status != GSW_SUCCESS)
        gsw_lakes_close(context, lakes);
    return status;
}

/* ---- On several processes ---- */

/* Numbers the lakes of all points. Returns how many lakes there are; 0 where they have too many
 * points. */
static int64_t number_all(int64_t *root, int64_t points, int64_t largest) {
    const int64_t count = gsw_mask_number_basins(root, points, largest);
    int64_t listed = 0;
    for (int64_t row = 0; row < points; row++)
        listed += root[row] >= 0;
    return listed <= points / SHARE ? count : 0;
}

/* The number of the lake of a row of the box; -1: it is in none. */
static int64_t number_of(const gsw_matrix *whole, const int64_t begin[3], const gsw_grid *box,
                         const int64_t *number, int64_t row) {
    const int64_t x = row % box->nx, y = row / box->nx % box->ny, z = row / box->nx / box->ny;
    return number[gsw_grid_row(&whole->grid, x + begin[0], y + begin[1], z + begin[2])];
}

/* Lists the own points of lakes, and adds up what their rows and diagonals do. */
static gsw_status find_own(gsw_context *context, const gsw_matrix *whole, const int64_t begin[3],
                           const gsw_matrix *box, const double *const *arrays,
                           const int64_t *number, lake *lakes, double *sums, found *f) {
    const int64_t own = points_of(box);
    int64_t n = 0;
    for (int64_t row = 0; row < own; row++)
        n += number_of(whole, begin, &box->grid, number, row) >= 0;
    GSW_TRY(open_found(context, n, f));
    for (int64_t row = 0; row < own; row++) {
        const int64_t k = number_of(whole, begin, &box->grid, number, row);
        if (k < 0)
            continue;
        f->point[f->points] = row;
        f->root[f->points++] = k;
        lakes[k].points++;
    }
    GSW_TRY(context->ops->mask->sum_rows(context, box, arrays, n, f->point, f->sum, f->diagonal));
    for (int64_t i = 0; i < n; i++) {
        sums[2 * f->root[i]] += f->sum[i];
        sums[2 * f->root[i] + 1] += f->diagonal[i];
    }
    return GSW_SUCCESS;
}

gsw_status gsw_lakes_take_shared(gsw_context *context, const gsw_matrix *whole,
                                 const int64_t begin[3], const gsw_matrix *box,
                                 const double *const *arrays, gsw_lakes *lakes) {
    const int64_t n = points_of(whole);
    found f = {.points = 0};
    double *root = NULL, *sums = NULL;
    void *all = NULL;
    int64_t largest, count = 0;
    gsw_lakes_close(context, lakes);
    gsw_status status = gsw_reserve_vector(context, n, &root);
    if (status == GSW_SUCCESS)
        status = context->ops->mask->find_basins(context, whole, (int64_t *)root);
    if (status == GSW_SUCCESS)
        status = find_largest(context, whole, (int64_t *)root, &largest);
    if (status == GSW_SUCCESS)
        count = number_all((int64_t *)root, n, largest);
    if (count > 0)
        status = gsw_alloc(context, (size_t)count, sizeof(lake) + 2 * sizeof *sums, "lakes", &all);
    if (count > 0 && status == GSW_SUCCESS) {
        lake *of = all;
        sums = (double *)(of + count);
        for (int64_t k = 0; k < count; k++) {
            of[k] = (lake){.points = 0};
            sums[2 * k] = sums[2 * k + 1] = 0;
        }
        status = find_own(context, whole, begin, box, arrays, (int64_t *)root, of, sums, &f);
        if (status == GSW_SUCCESS)
            status = gsw_context_sum(context, (int)(2 * count), sums);
        for (int64_t k = 0; k < count; k++) {
            of[k].sum = sums[2 * k];
            of[k].diagonal = sums[2 * k + 1];
        }
        if (status == GSW_SUCCESS)
            status = keep(context, &f, of, count, 1, lakes);
    }
    gsw_unreserve(context, root);
    free(all);
    free(f.block);
    if (status != GSW_SUCCESS)
        gsw_lakes_close(context, lakes);
    return status;
}

/* Each process adds up its part of a lake. */
static gsw_status add_shared(gsw_context *context, const gsw_lakes *l, const double *b, double *x) {
    for (int64_t k = 0; k < l->count; k++) {
        l->sums[k] = 0;
        for (int64_t i = l->begin[k]; i < l->begin[k + 1]; i++)
            l->sums[k] += b[l->point[i]];
    }
    GSW_TRY(gsw_context_sum(context, (int)l->count, l->sums));
    for (int64_t k = 0; k < l->count; k++)
        for (int64_t i = l->begin[k]; i < l->begin[k + 1]; i++)
            x[l->point[i]] += l->scale[k] * l->sums[k];
    return GSW_SUCCESS;
}

void gsw_lakes_close(gsw_context *context, gsw_lakes *lakes) {
    gsw_unreserve(context, lakes->block);
    *lakes = (gsw_lakes){.count = 0};
}

gsw_status gsw_lakes_add(gsw_context *context, const gsw_lakes *lakes, gsw_dtype type,
                         const void *b, void *x) {
    if (lakes->sums != NULL)
        return add_shared(context, lakes, b, x);
    return lakes->count == 0
               ? GSW_SUCCESS
               : context->ops->mask->add_means(context, type, lakes->count, lakes->begin,
                                               lakes->point, lakes->scale, b, x);
}
