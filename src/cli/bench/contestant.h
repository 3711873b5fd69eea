/* contestant.h: who takes part in a case, gridsweep and rivals, and what is measured of each. */
#ifndef GSW_CLI_BENCH_CONTESTANT_H
#define GSW_CLI_BENCH_CONTESTANT_H

#include "bench/case/case.h"

/* At most so many take part: gridsweep with each algorithm, or with each preconditioner, format and
 * precision; rivals, also with each preconditioner. */
#define BENCH_CONTESTANTS_MAX (BENCH_PRECONDS * (2 * BENCH_LIST_MAX + BENCH_RIVALS_MAX))

/* Fills list[BENCH_CONTESTANTS_MAX] with those that take part in a case; returns how many. */
int bench_list_contestants(const cli_options *options, const bench_plan *plan,
                           const bench_case *work, bench_contestant *list);

/* Puts a contestant to work on a case; what is measured goes into *row, which is begun here. Always
 * close what has been started. Returns an exit code; that a rival cannot run is no failure: the row
 * then says why. */
int bench_start_worker(const cli_options *options, const bench_site *site, bench_case *work,
                       const bench_contestant *who, bench_row *row, bench_worker *worker);
void bench_close_worker(bench_worker *worker);

/* Times a worker that is open, and fills its row. Warms up and checks the result, takes the times,
 * checks the result again; before runs, outside their time, start() sets x. Returns the status of
 * the first call that failed. */
gsw_status bench_measure(bench_worker *worker);

/* Judges the status of a run: the library's own failure ends the run of the program. That of a
 * rival, or of a preconditioner that does not suit the matrix, is shown with its reason. Returns an
 * exit code. */
int bench_judge(bench_worker *worker, gsw_status status);

/* Rivals that run on the CPU: slow, and the cache of a device is nothing to them. */
bool bench_is_host_rival(const bench_contestant *who);

#endif
