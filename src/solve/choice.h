/* choice.h: the choice of a preconditioner, for other parts of the library. */
#ifndef GSW_LIBRARY_CHOICE_H
#define GSW_LIBRARY_CHOICE_H

#include <gridsweep/choice.h>
#include "candidate.h"
#include "contract/multigrid_ops.h"

/* Takes the caller's options, or the defaults. */
gsw_status gsw_choice_resolve(gsw_context *context, const gsw_choice_options *given,
                              gsw_multigrid_options *multigrid, gsw_factor_options *factor);

/* Surveys a matrix of any format; with a mask that is the survey of its weak extension (masked.h).
 * Rows of one process stay in *rows, {0} before. */
gsw_status gsw_choice_survey(gsw_context *context, const gsw_matrix *matrix, gsw_box_rows *rows);

/* As gsw_choose(), with `best` in place of its preconditioner. `watched`: the caller's solves
 * notice a preconditioner that is slow, so that some trials may be left out. `known`: what
 * gsw_choice_survey() has found, or {0}; a hierarchy may take the rows over. */
gsw_status gsw_choice_make(gsw_context *context, const gsw_matrix *matrix,
                           const gsw_multigrid_options *multigrid, const gsw_factor_options *factor,
                           int watched, gsw_box_rows *known, gsw_choice *choice,
                           gsw_candidate *best);

/* As the public function, with what is known. */
gsw_status gsw_choice_method(gsw_context *context, const gsw_matrix *matrix, gsw_box_rows *known,
                             gsw_choice *choice);

/* A multigrid cycle costs as much as so many products with a factor. */
double gsw_choice_cycle_price(const gsw_context *context, const gsw_matrix *matrix);

/* Set-up and cycles of multigrid cost so many times what they cost on a grid that is not thin along
 * x, in products with a factor. */
double gsw_choice_thinness(const gsw_context *context, const gsw_grid *grid);

#endif
