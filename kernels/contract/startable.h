/* startable.h: how many threads the system lets a caller start. */
#ifndef GSW_STARTABLE_H
#define GSW_STARTABLE_H

#include <gridsweep/context.h>

/* The threads of a context that OpenMP can have in the calling thread, which counts as one of them.
 * Where a limit of processes or of memory stops OpenMP's runtime, the runtime ends the whole
 * process. So this starts as many threads first, and ends them; where the system refuses one, it
 * warns and returns fewer. It does so once in each calling thread. */
int gsw_startable_threads(const gsw_context *context);

#endif
