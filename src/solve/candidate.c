/* candidate.c: see candidate.h. */
#include <stdio.h>

#include "candidate.h"
#include "contract/error.h"
#include "core/quiet.h"
#include "krylov/preconditioner.h"
#include "multigrid/hierarchy.h"

int gsw_is_answer(gsw_status status) {
    return status == GSW_ERROR_ZERO_PIVOT || status == GSW_ERROR_UNSUPPORTED ||
           status == GSW_ERROR_OUT_OF_MEMORY;
}

void gsw_candidate_drop(gsw_candidate *candidate) {
    gsw_preconditioner_destroy(candidate->inner);
    *candidate = (gsw_candidate){NULL, NULL, NULL};
}

static void free_factor(void *factor) {
    gsw_factor_destroy(factor);
}

static void free_multigrid(void *multigrid) {
    gsw_multigrid_destroy(multigrid);
}

/* Ends the creation of a candidate. */
static gsw_status settle(gsw_context *context, const gsw_quiet *quiet, gsw_status status,
                         char refusal[GSW_REFUSAL], gsw_candidate *made) {
    refusal[0] = '\0';
    if (gsw_is_answer(status))
        (void)snprintf(refusal, GSW_REFUSAL, "%s", context->message);
    gsw_quiet_end(context, quiet, gsw_is_answer(status));
    if (status != GSW_SUCCESS)
        gsw_candidate_drop(made);
    return status;
}

gsw_status gsw_candidate_factor(gsw_context *context, const gsw_matrix *matrix,
                                const gsw_factor_options *options, gsw_factor_kind kind,
                                char refusal[GSW_REFUSAL], gsw_candidate *made) {
    gsw_factor_options wanted = *options;
    const gsw_quiet quiet = gsw_quiet_begin(context);
    wanted.kind = kind;
    *made = (gsw_candidate){NULL, NULL, NULL};
    gsw_status status = gsw_factor_create(context, matrix, &wanted, &made->factor);
    if (status == GSW_SUCCESS)
        status = gsw_preconditioner_from_factor(context, made->factor, &made->inner);
    if (status == GSW_SUCCESS)
        made->inner->ops.destroy = free_factor;
    else
        gsw_factor_destroy(made->factor);
    if (status == GSW_SUCCESS)
        status = gsw_context_synchronize(context); /* a bad pivot on a device is reported here */
    return settle(context, &quiet, status, refusal, made);
}

gsw_status gsw_candidate_multigrid(gsw_context *context, const gsw_matrix *matrix,
                                   const gsw_multigrid_options *options, gsw_box_rows *known,
                                   char refusal[GSW_REFUSAL], gsw_candidate *made) {
    const gsw_quiet quiet = gsw_quiet_begin(context);
    *made = (gsw_candidate){NULL, NULL, NULL};
    gsw_status status =
        gsw_multigrid_create_known(context, matrix, options, known, &made->multigrid);
    if (status == GSW_SUCCESS)
        status = gsw_preconditioner_from_multigrid(context, made->multigrid, &made->inner);
    if (status == GSW_SUCCESS)
        made->inner->ops.destroy = free_multigrid;
    else
        gsw_multigrid_destroy(made->multigrid);
    return settle(context, &quiet, status, refusal, made);
}

gsw_preconditioner *gsw_candidate_give(gsw_candidate *candidate) {
    gsw_preconditioner *given = candidate->inner;
    *candidate = (gsw_candidate){NULL, NULL, NULL};
    return given;
}
