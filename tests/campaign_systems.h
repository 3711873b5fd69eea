/* campaign_systems.h: the systems of the campaign, by family and number. */
#ifndef GSW_TESTS_CAMPAIGN_SYSTEMS_H
#define GSW_TESTS_CAMPAIGN_SYSTEMS_H

#include <gridsweep/gridsweep.h>

/* Whether the neighbour at an offset is in the grid, and how many rows away it is. */
static inline int campaign_inside(const gsw_grid *g, const int64_t at[3], gsw_offset o) {
    const int64_t x = at[0] + o.dx, y = at[1] + o.dy, z = at[2] + o.dz;
    return x >= 0 && x < g->nx && y >= 0 && y < g->ny && z >= 0 && z < g->nz;
}

static inline int64_t campaign_step(const gsw_grid *g, gsw_offset o) {
    return o.dx + g->nx * (o.dy + g->ny * (int64_t)o.dz);
}

/* The coordinates of a row. */
static inline void campaign_place(const gsw_grid *g, int64_t row, int64_t at[3]) {
    at[0] = row % g->nx;
    at[1] = row / g->nx % g->ny;
    at[2] = row / g->nx / g->ny;
}

typedef struct campaign_system {
    char what[96]; /* family, parameters, grid and right-hand side */
    gsw_grid grid;
    gsw_stencil stencil;
    int64_t points;
    double *values[GSW_STENCIL_MAX]; /* one array per offset; 0 where the neighbour is outside */
    const void *pointers[GSW_STENCIL_MAX];
    double *b;
    gsw_csr csr;
    gsw_matrix matrix; /* a view of the arrays above, or of csr */
} campaign_system;

/* Families are counted from 0; NULL: there is no such family. */
const char *campaign_family(int family);

/* Number of systems of every family: small ones (at most 14,000 points), or large ones (50,000 to
 * 1,000,000 points). */
int campaign_count(int large);

/* Makes a system. It depends on the arguments alone. Stops the program if memory runs out. */
void campaign_make(gsw_context *context, int family, int large, int number,
                   campaign_system *system);

void campaign_free(campaign_system *system);

#endif
