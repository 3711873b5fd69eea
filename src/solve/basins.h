/* basins.h: the parts of a domain between which a stencil couples nothing: lakes beside an ocean.
 * With no flux at the coast, and nothing else that holds it, the mean of each is arbitrary: a
 * vector that is constant in one basin and 0 elsewhere is in the null space, and b must have the
 * sum 0 in each. */
#ifndef GSW_BASINS_H
#define GSW_BASINS_H

#include <gridsweep/matrix.h>

typedef struct gsw_basins {
    gsw_context *context;
    gsw_grid grid;
    int64_t points, count; /* of the own part; basins of the grid */
    /* Where there are several, else NULL. On the host: the basin of a point, or -1; and of a basin
     * its points and the first one, in the grid. */
    int32_t *basin;
    int64_t *size, *first;
    double *values,
        *sums; /* of a vector: those of the basins, and behind them that of its squares */
    double *b; /* where there is a mask: a vector in the backend's memory */
} gsw_basins;

/* What b has along the null vectors. */
typedef struct gsw_unfit {
    double share;  /* the norm of that part, relative to ||b|| */
    int64_t basin; /* where it is largest */
} gsw_unfit;

enum { GSW_BASIN_TEXT = 160 };

/* Finds the basins of a matrix by its mask and its stencil. Without a mask the grid is one basin.
 * With one each process reads the mask of the whole grid on the host, which takes 9 bytes per point
 * until the end. All functions are collective where the matrix is on a partition. Errors:
 * OUT_OF_MEMORY, DEVICE, COMMUNICATION, TIMEOUT. */
gsw_status gsw_basins_open(gsw_context *context, const gsw_matrix *matrix, gsw_basins *basins);
void gsw_basins_close(gsw_basins *basins);

/* Vectors are in the backend's memory; several basins are treated on the host. y may be x: y = x
 * without its mean in each basin. */
gsw_status gsw_basins_measure(gsw_basins *basins, const double *b, gsw_unfit *unfit);
gsw_status gsw_basins_project(gsw_basins *basins, const double *x, double *y);

/* Where a sum is taken, in a sentence: "" for the only basin. */
const char *gsw_basin_text(const gsw_basins *basins, int64_t basin, char text[GSW_BASIN_TEXT]);

#endif
