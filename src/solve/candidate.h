/* candidate.h: a preconditioner that owns the factor or the hierarchy that it applies. */
#ifndef GSW_CANDIDATE_H
#define GSW_CANDIDATE_H

#include <gridsweep/multigrid.h>
#include <gridsweep/preconditioner.h>
#include "multigrid/box_rows.h"

typedef struct gsw_candidate {
    gsw_factor *factor; /* what it applies, if it is one, */
    gsw_multigrid *multigrid;
    gsw_preconditioner *inner; /* which is NULL where there is none */
} gsw_candidate;

enum { GSW_REFUSAL = 512 };

/* Whether a failure is an answer about the matrix, and not an error of the call. */
int gsw_is_answer(gsw_status status);

/* Create a factor of this kind, or a hierarchy, and its preconditioner. A failure that is an answer
 * is not logged; its message becomes `refusal`, which else is "". The candidate is then empty.
 * `known`: rows that a hierarchy may take over, or NULL. */
gsw_status gsw_candidate_factor(gsw_context *context, const gsw_matrix *matrix,
                                const gsw_factor_options *options, gsw_factor_kind kind,
                                char refusal[GSW_REFUSAL], gsw_candidate *made);
gsw_status gsw_candidate_multigrid(gsw_context *context, const gsw_matrix *matrix,
                                   const gsw_multigrid_options *options, gsw_box_rows *known,
                                   char refusal[GSW_REFUSAL], gsw_candidate *made);

/* Frees what it holds. */
void gsw_candidate_drop(gsw_candidate *candidate);

/* Gives the preconditioner away. */
gsw_preconditioner *gsw_candidate_give(gsw_candidate *candidate);

#endif
