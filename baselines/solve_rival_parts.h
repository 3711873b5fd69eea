/* solve_rival_parts.h: the functions of the rivals in whole solves, which solve_rivals.c collects
 * in one table, and what they share. */
#ifndef GSW_SOLVE_RIVAL_PARTS_H
#define GSW_SOLVE_RIVAL_PARTS_H

#include "rival_parts.h"
#include "solve_rival.h"

/* Refuses systems that solve_rival.h does not allow, and, with on_device nonzero, those without a
 * copy in device memory. Returns 0, or -1 with the reason. */
int gsw_solve_check(const gsw_solve_system *system, int on_device, char *message, size_t size);

/* ---- The rivals' functions, as in gsw_solve_rival ---- */

int gsw_cusparse_solve_open(const gsw_solve_system *system, void **state, gsw_solve_cost *cost,
                            char *message, size_t size);
int gsw_cusparse_solve_upper_open(const gsw_solve_system *system, void **state,
                                  gsw_solve_cost *cost, char *message, size_t size);
int gsw_cusparse_solve_factor(void *state, char *message, size_t size);
int gsw_cusparse_solve_solve(void *state, const double *b, double *x, gsw_solve_outcome *outcome,
                             char *message, size_t size);
void gsw_cusparse_solve_close(void *state);

int gsw_petsc_solve_open(const gsw_solve_system *system, void **state, gsw_solve_cost *cost,
                         char *message, size_t size);
int gsw_petsc_solve_factor(void *state, char *message, size_t size);
int gsw_petsc_solve_solve(void *state, const double *b, double *x, gsw_solve_outcome *outcome,
                          char *message, size_t size);
void gsw_petsc_solve_close(void *state);

#endif
