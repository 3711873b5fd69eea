/* solve_rival_parts.h: the functions of the rivals in whole solves, which solve_rivals.c collects
 * in one table, and parts that they share. */
#ifndef GSW_SOLVE_RIVAL_PARTS_H
#define GSW_SOLVE_RIVAL_PARTS_H

#include "rival_parts.h"
#include "solve_rival.h"

/* Refuses systems that solve_rival.h does not allow, and, with on_device nonzero, those without a
 * copy in device memory. Returns 0, or -1 with the reason. */
int gsw_solve_check(const gsw_solve_system *system, int on_device, char *message, size_t size);

/* Refuses a matrix whose diagonal has a zero, a value that is not finite, or no entry, as no
 * smoother can take it. Returns 0, or -1 with the reason. */
int gsw_solve_check_diagonal(const gsw_solve_system *system, char *message, size_t size);

/* Trials to choose among settings. The quickest setting that converges is kept. */
#define GSW_SOLVE_TRIAL_ITERATIONS 500 /* a setting that takes more does not converge */
typedef struct gsw_solve_trials {
    void *state;
    int count;
    /* Factor and solve once with b = 1, x = 0; *milliseconds is the time of both. Returns -1 where
     * it fails. */
    int (*run)(void *state, int setting, double *milliseconds, int *converged, char *message,
               size_t size);
} gsw_solve_trials;

/* The setting, or -1 with the reason of the last failure where none serves. Where none converges it
 * is the first that does not fail. */
int gsw_solve_choose(const gsw_solve_trials *trials, char *message, size_t size);

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

int gsw_petsc_gamg_open(const gsw_solve_system *system, void **state, gsw_solve_cost *cost,
                        char *message, size_t size);
int gsw_petsc_gamg_factor(void *state, char *message, size_t size);
int gsw_petsc_gamg_solve(void *state, const double *b, double *x, gsw_solve_outcome *outcome,
                         char *message, size_t size);
void gsw_petsc_gamg_forget(void *state);
void gsw_petsc_gamg_close(void *state);

int gsw_hypre_pfmg_open(const gsw_solve_system *system, void **state, gsw_solve_cost *cost,
                        char *message, size_t size);
int gsw_hypre_smg_open(const gsw_solve_system *system, void **state, gsw_solve_cost *cost,
                       char *message, size_t size);
int gsw_hypre_boomeramg_open(const gsw_solve_system *system, void **state, gsw_solve_cost *cost,
                             char *message, size_t size);
int gsw_hypre_factor(void *state, char *message, size_t size);
int gsw_hypre_solve(void *state, const double *b, double *x, gsw_solve_outcome *outcome,
                    char *message, size_t size);
void gsw_hypre_forget(void *state);
void gsw_hypre_close(void *state);

#endif
