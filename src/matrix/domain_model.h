/* domain_model.h: the model problems with a domain of their own: a mask, periodic axes or a
 * stretched axis. All are cells with fluxes between two neighbours. */
#ifndef GSW_DOMAIN_MODEL_H
#define GSW_DOMAIN_MODEL_H

#include <gridsweep/matrix.h>

/* The share of land of an ocean, where none is given. */
#define GSW_MODEL_LAND 0.35

typedef struct gsw_model {
    gsw_grid *grid; /* its periodic axes are set */
    int threads;
    double land;     /* ocean: the share of land */
    int axis;        /* the one along which the metric varies; -1: none */
    int64_t planes;  /* at least those of that axis */
    double *metric;  /* `planes` values each: couplings along x, y and z (along `axis`: to the next
                        plane), and volumes */
    uint8_t *active; /* NULL: all cells */
    double *k;       /* permeability of each cell; NULL: 1 */
    /* What a row of an active cell sums to: a shift, a well, a value at a wall. */
    double (*held)(const struct gsw_model *model, const int64_t at[3], int64_t row);
} gsw_model;

/* Opens one of these problems: ocean, reservoir, channel, obstacles or globe. grid, threads and
 * land are set, the rest is 0. Release it with gsw_model_free(), also after a failure. Errors:
 * OUT_OF_MEMORY, OVERFLOW. */
gsw_status gsw_model_open(gsw_context *context, const char *name, gsw_model *model);
void gsw_model_free(gsw_model *model);

/* The matrix as stencil arrays. Rows of inactive cells are those of the identity, and couplings to
 * them are 0: the matrix is right without its mask, too. */
void gsw_model_fill(const gsw_model *model, const gsw_stencil *stencil, double *const *arrays);

#endif
