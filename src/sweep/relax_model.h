/* relax_model.h: how long sweeps with ghost zones take, and which tile is the fastest. */
#ifndef GSW_RELAX_MODEL_H
#define GSW_RELAX_MODEL_H

#include "contract/relax_ops.h"

/* What a pass over the whole grid costs. */
typedef struct gsw_relax_cost {
    double moved;      /* bytes that it must move at least: as if no ghost zone were read twice */
    double computed;   /* points, over all its sweeps */
    double memory;     /* seconds */
    double arithmetic; /* seconds: points, products and barriers */
    double seconds;    /* all of it */
} gsw_relax_cost;

/* `directed`: each point also has a p (contract/relax_ops.h). */
gsw_relax_cost gsw_relax_predict(const gsw_relax_machine *machine, const gsw_matrix *matrix,
                                 int directed, const gsw_relax_tile *tile);

/* The tile with the least predicted time per sweep, of that height or, for 0, of any up to `most`.
 * Errors: UNSUPPORTED (there is none). */
gsw_status gsw_relax_choose(gsw_context *context, const gsw_matrix *matrix, int directed,
                            int32_t height, int32_t most, gsw_relax_tile *tile,
                            gsw_relax_cost *cost);

#endif
