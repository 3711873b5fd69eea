/* rival_parts.h: the rivals' functions, which rivals.c collects in one table, and parts that they
 * share. Each file describes its method, its source, and its memory. */
#ifndef GSW_RIVAL_PARTS_H
#define GSW_RIVAL_PARTS_H

#include "rival.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Shared (rival_parts.c) ---- */

/* Writes the reason (printf format) into message[size] and returns -1. */
int gsw_rival_fail(char *message, size_t size, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Refuses systems that rival.h does not allow, and, with on_device nonzero, those without a copy in
 * device memory. Returns 0, or -1 with the reason. */
int gsw_rival_check(const gsw_rival_system *system, int on_device, char *message, size_t size);

/* The host's monotonic clock. */
double gsw_rival_milliseconds(void);

/* Starts PETSc if it has not been started. It can be started once in a process, and ends with it.
 * Returns 0, or -1 with the reason. (petsc_rival.c) */
int gsw_petsc_begin(char *message, size_t size);

/* Writes PETSc's text for its error number and returns -1. (petsc_rival.c) */
int gsw_petsc_fail(int error, char *message, size_t size);

/* ---- The rivals' functions, as in gsw_rival ---- */

int gsw_serial_open(const gsw_rival_system *system, void **state, gsw_rival_cost *cost,
                    char *message, size_t size);
int gsw_serial_solve(void *state, const void *b, void *x, char *message, size_t size);
void gsw_serial_close(void *state);

int gsw_petsc_open(const gsw_rival_system *system, void **state, gsw_rival_cost *cost,
                   char *message, size_t size);
int gsw_petsc_solve(void *state, const void *b, void *x, char *message, size_t size);
void gsw_petsc_close(void *state);

int gsw_cusparse_open(const gsw_rival_system *system, void **state, gsw_rival_cost *cost,
                      char *message, size_t size);
int gsw_cusparse_solve(void *state, const void *b, void *x, char *message, size_t size);
void gsw_cusparse_close(void *state);

int gsw_levels_open(const gsw_rival_system *system, void **state, gsw_rival_cost *cost,
                    char *message, size_t size);
int gsw_levels_solve(void *state, const void *b, void *x, char *message, size_t size);
void gsw_levels_close(void *state);

int gsw_syncfree_warp_open(const gsw_rival_system *system, void **state, gsw_rival_cost *cost,
                           char *message, size_t size);
int gsw_syncfree_warp_value_open(const gsw_rival_system *system, void **state, gsw_rival_cost *cost,
                                 char *message, size_t size);
int gsw_syncfree_thread_open(const gsw_rival_system *system, void **state, gsw_rival_cost *cost,
                             char *message, size_t size);
int gsw_syncfree_solve(void *state, const void *b, void *x, char *message, size_t size);
void gsw_syncfree_close(void *state);

#ifdef __cplusplus
}
#endif

#endif
