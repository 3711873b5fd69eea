/* hypre_base.h: parts that the rivals from hypre share: the library's beginning and end, its
 * errors, its memory, and a solver's state.
 *
 * The same sources work with hypre 2.26 and newer, with MPI (one process) or without, on the CPU,
 * or on a GPU where hypre was built with CUDA. */
#ifndef GSW_BASELINES_HYPRE_BASE_H
#define GSW_BASELINES_HYPRE_BASE_H

#include <HYPRE.h>
#include <HYPRE_krylov.h>
#include <HYPRE_utilities.h>

#include "solve_rival_parts.h"

/* One process, whatever MPI knows of others. */
#ifdef HYPRE_SEQUENTIAL
#define GSW_HYPRE_COMM 0
#else
#define GSW_HYPRE_COMM MPI_COMM_SELF
#endif

#ifdef GSW_RIVALS_HYPRE_CUDA
#define GSW_HYPRE_ON_DEVICE 1
#else
#define GSW_HYPRE_ON_DEVICE 0
#endif

/* A setting of a multigrid. hypre's documentation explains the numbers. */
typedef struct gsw_hypre_setting {
    const char *name;
    int relax;
    int rap;          /* PFMG: how the coarse matrices are computed */
    int method;       /* -1: for all, else for this gsw_method alone */
    int coarsen, agg; /* BoomerAMG: how points are chosen, levels of aggressive coarsening */
    double threshold; /* BoomerAMG: of strong couplings */
} gsw_hypre_setting;

/* A system in hypre's form, and a solver of it. */
typedef struct gsw_hypre {
    gsw_solve_system system;
    const struct gsw_hypre_kind *kind;
    const gsw_hypre_setting *setting;
    int trial; /* a setting is tried */
    int n;
    void *parts; /* of the form */
    /* The form's objects as hypre's Krylov methods take them. */
    HYPRE_Matrix matrix;
    HYPRE_Vector b, x;
    HYPRE_Solver krylov, precond; /* NULL: not created */
    char *message;                /* of the call under way */
    size_t size;
} gsw_hypre;

/* A form of the system: structured, or rows and columns. Functions return 0, or -1 with the reason
 * in the state's message. */
typedef struct gsw_hypre_form {
    int (*open)(gsw_hypre *s);
    void (*close)(gsw_hypre *s);                 /* frees everything that open() created */
    int (*set_b)(gsw_hypre *s, const double *b); /* NULL: all ones */
    int (*clear_x)(gsw_hypre *s);
    int (*get_x)(gsw_hypre *s, double *x);
    /* Create s->krylov. */
    int (*make_krylov)(gsw_hypre *s);
    void (*free_krylov)(gsw_hypre *s);
} gsw_hypre_form;

/* A multigrid in a form. */
typedef struct gsw_hypre_kind {
    const gsw_hypre_form *form;
    const gsw_hypre_setting *settings;
    int count;
    /* Whether a setting can serve the system. */
    int (*can)(const gsw_hypre *s, const gsw_hypre_setting *setting);
    /* Create s->precond with s->setting, one cycle from zero, and hand it to s->krylov. */
    int (*make_precond)(gsw_hypre *s);
    void (*free_precond)(gsw_hypre *s);
} gsw_hypre_kind;

/* Starts hypre, and MPI where it needs it, once in a process; both end with it. Returns 0, or -1
 * with the reason. */
int gsw_hypre_begin(char *message, size_t size);

/* Returns 0 where hypre has no error, or only that of not having converged, which it clears.
 * Otherwise returns -1 with the reason. */
int gsw_hypre_check(gsw_hypre *s, const char *what);

/* Waits for the device. Returns 0, or -1 with the reason. */
int gsw_hypre_wait(gsw_hypre *s);

/* A copy of host memory where hypre's matrices need it; on the CPU the memory itself. Return it
 * with gsw_hypre_give_back(). NULL: out of memory, with the reason. */
void *gsw_hypre_lend(gsw_hypre *s, const void *host, size_t bytes);
void gsw_hypre_give_back(void *lent);

/* Copies n doubles within hypre's memory. Returns 0, or -1 with the reason. */
int gsw_hypre_copy(gsw_hypre *s, double *to, const double *from);

/* Whether n doubles in hypre's memory are all 0. It stops at the first that is not. Returns 0, or
 * -1 with the reason. */
int gsw_hypre_is_zero(gsw_hypre *s, const double *vector, int *zero);

#define GSW_HYPRE_TRY(call)                                                                        \
    do {                                                                                           \
        if ((call) != 0)                                                                           \
            return -1;                                                                             \
    } while (0)

/* A call of hypre's, whose errors are counted in hypre. */
#define GSW_HYPRE_CALL(s, call)                                                                    \
    do {                                                                                           \
        (void)(call);                                                                              \
        if (gsw_hypre_check((s), #call) != 0)                                                      \
            return -1;                                                                             \
    } while (0)

#endif
