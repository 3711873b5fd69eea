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

/* Opens a contestant once and times it with each state of the cache; adds its rows. Returns an exit
 * code; that a rival cannot run is no failure. */
int bench_run_contestant(const cli_options *options, const bench_list *caches,
                         const bench_site *site, bench_case *work, const bench_contestant *who,
                         bench_row *rows, int *used);

#endif
