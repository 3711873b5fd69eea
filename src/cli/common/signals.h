/* signals.h: what is removed before a signal ends the program. */
#ifndef GSW_CLI_SIGNALS_H
#define GSW_CLI_SIGNALS_H

#define CLI_TEMPORARY_MAX 4

/* From now on a signal that ends the program (SIGINT, SIGTERM, SIGHUP and their like) removes the
 * temporary files first. Those that are ignored stay ignored. A file beyond the limit on sizes is
 * an error of write(). */
void cli_signals_prepare(void);

/* Between these two calls signals wait. A signal that came in between ends the program in
 * cli_signals_release(). They do not nest. */
void cli_signals_hold(void);
void cli_signals_release(void);

/* Adds a temporary file, and takes it back, while signals wait. The name must stay until then.
 * There are never more than CLI_TEMPORARY_MAX. */
void cli_signals_add(const char *path);
void cli_signals_drop(const char *path);

#endif
