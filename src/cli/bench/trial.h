/* trial.h: the measurement itself. */
#ifndef GSW_CLI_BENCH_TRIAL_H
#define GSW_CLI_BENCH_TRIAL_H

#include "bench/case/case.h"

/* Times a worker that is open, and fills its row. Warms up and checks the result, takes the times,
 * checks the result again; before runs, outside their time, start() sets x. Returns the status of
 * the first call that failed. */
gsw_status bench_measure(bench_worker *worker);

#endif
