/* quiet.h: trials whose failure is an answer, so that the log callback does not hear of it. */
#ifndef GSW_QUIET_H
#define GSW_QUIET_H

#include "contract/context.h"

/* The state of a context before a trial. */
typedef struct gsw_quiet {
    gsw_log_fn log;
    char message[sizeof((gsw_context *)0)->message]; /* NOLINT: the size of the member */
} gsw_quiet;

/* Mutes the log callback until gsw_quiet_end(). Trials may nest. */
gsw_quiet gsw_quiet_begin(gsw_context *context);

/* Restores the log callback. `forget` also restores the message from before the trial. */
void gsw_quiet_end(gsw_context *context, const gsw_quiet *quiet, int forget);

/* Ends a trial with its status. `spared`: the failure is an answer, so it is forgotten, and SUCCESS
 * is returned. Any other one reaches the log callback now. */
gsw_status gsw_quiet_settle(gsw_context *context, const gsw_quiet *quiet, gsw_status status,
                            int spared);

#endif
