/* choice_probe.h: the effect of preconditioners on a smooth error. */
#ifndef GSW_CHOICE_PROBE_H
#define GSW_CHOICE_PROBE_H

#include <gridsweep/preconditioner.h>
#include <gridsweep/operator.h>

/* An error e of the guess 0, in the backend's memory. */
typedef struct gsw_probe {
    gsw_context *context;
    const gsw_matrix *matrix;
    gsw_operator *op;
    int64_t n;    /* points of this process, */
    double total; /* and of the grid */
    double *error, *residual;
    double *ones; /* 1 in each active point where constants are in the null space, and e then has no
                     constant part; else NULL */
    double active; /* then their number */
    double size;   /* |e| */
} gsw_probe;

/* e = 1, or, without constants, a ramp over the rows. Collective, as all that follows, where the
 * matrix is on a partition. Errors: OUT_OF_MEMORY, OVERFLOW. */
gsw_status gsw_probe_open(gsw_context *context, const gsw_matrix *matrix, int zero_sums,
                          gsw_probe *probe);
void gsw_probe_close(gsw_probe *probe);

/* e -= M^-1 A e. *left is |e| after the step over |e| before it; *energy is e'Ae before it. */
gsw_status gsw_probe_step(gsw_probe *probe, gsw_preconditioner *preconditioner, double *left,
                          double *energy);

/* Adds 1 or -1 at random to each value of e, which is then smooth and rough in equal parts. */
gsw_status gsw_probe_roughen(gsw_probe *probe);

/* e'Ae. */
gsw_status gsw_probe_energy(gsw_probe *probe, double *energy);

/* Iterations of CG to 1e-8 if the eigenvalues of M^-1 A lie between 1 - left and 1. */
double gsw_probe_iterations(double left);

#endif
