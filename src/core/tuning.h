/* tuning.h: the shapes of kernels (gridsweep/tune.h): the table, and the file. */
#ifndef GSW_TUNING_H
#define GSW_TUNING_H

#include "contract/context.h"

/* What is built in. */
extern const gsw_tuning gsw_tuning_table;

/* Gives a context that has a device its shapes: those of the file where there is a good one, else
 * the table. `path`: as in gsw_context_options. Errors: OUT_OF_MEMORY. */
gsw_status gsw_tuning_open(gsw_context *context, const char *path);
void gsw_tuning_close(gsw_context *context);

/* Writes the context's shapes to its file; makes its folder where that is missing. Errors: IO,
 * OUT_OF_MEMORY. */
gsw_status gsw_tuning_save(gsw_context *context);

#endif
