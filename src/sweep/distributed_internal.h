/* distributed_internal.h: a preconditioner on several processes, as the library keeps it. */
#ifndef GSW_DISTRIBUTED_INTERNAL_H
#define GSW_DISTRIBUTED_INTERNAL_H

#include "contract/slab_ops.h"
#include "matrix/distributed_matrix.h"
#include "schedule.h"
#include "space/slabs.h"

/* A sweep of a slab whose neighbours have no windows: messages carry its faces. */
typedef struct gsw_slab_sweep {
    size_t in_bytes, out_bytes; /* 0: windows do */
    void *in, *out;
    void *outbox; /* in the backend's memory */
} gsw_slab_sweep;

/* The rows of tiles of a packed factor, dealt out to the processes (contract/slab_ops.h). */
typedef struct gsw_dealt {
    gsw_partition *partition;
    gsw_deal deal;
    gsw_factor *factor; /* of the whole grid; holds the pencils of this process */
    gsw_windows windows;
    uint64_t meetings; /* so far */
} gsw_dealt;

/* The same grid in slabs, for exact sweeps of other boxes (distributed_relaid.c). */
typedef struct gsw_relaid {
    gsw_partition *partition;
    gsw_distributed_matrix *matrix;
    struct gsw_distributed_factor *factor; /* exact */
    gsw_ghosts there, back;                /* what goes from the boxes to the slabs, and back */
    gsw_box common;                        /* what stays in the process, */
    double *room;                          /* and its values */
    double *x;                             /* of the slab */
    double *values;                        /* of the box */
} gsw_relaid;

typedef struct gsw_distributed_factor gsw_distributed_factor;

/* How a factor works. All are collective; b may be x. open: before the first fill. */
typedef struct gsw_factor_way {
    gsw_status (*open)(gsw_distributed_factor *f);
    gsw_status (*fill)(gsw_distributed_factor *f);
    gsw_status (*apply)(gsw_distributed_factor *f, const void *b, void *x);
} gsw_factor_way;

/* LOCAL and JACOBI; GLOBAL in slabs with packed factors on CPUs, in boxes that are no slabs, and in
 * slabs on backends with memory of their own. */
extern const gsw_factor_way gsw_local_way, gsw_bands_way, gsw_relaid_way, gsw_slabs_way;

struct gsw_distributed_factor {
    gsw_partition *partition;
    gsw_distributed_matrix *matrix;
    gsw_factor_options options;
    const gsw_factor_way *way;
    int usable;         /* holds values, in all processes */
    gsw_factor *local;  /* LOCAL, and JACOBI */
    int64_t planes;     /* LOCAL, LOWER and UPPER: of the slabs that `local` is asked for; or 0 */
    gsw_dtype type;     /* of factor and vectors; F32 on devices only */
    gsw_ghosts overlap; /* LOCAL with an overlap: the frame that it factorises, */
    double *framed;     /* and a vector of it */

    gsw_relaid *relaid; /* GLOBAL: does all the rest; NULL: none is needed */

    /* GLOBAL. On CPUs `ghost` holds x of the ghosts that come before the slab upwards, downwards.
     */
    gsw_factor *packed;
    gsw_bands bands;
    int64_t bands_per_block; /* all in one block: their number */
    double *ghost[2];
    int64_t before, plane; /* points: of the ghosts below, and between planes of the last axis */
    gsw_schedule up, down;
    gsw_mailbox *mail[2];
    int64_t bytes;

    /* Backends with memory of their own: only these, `packed` and `bytes`. */
    gsw_slab_link link;
    gsw_slab_sweep slab[2]; /* upwards, downwards */
    int64_t sent;           /* bytes of faces in an application */
    int64_t inbox[2];       /* where the inbox of each sweep begins in the window */
    gsw_dealt *dealt;       /* sweeps in place of `packed`; NULL: `packed` sweeps */
    int ordered; /* with one sweep: neighbours exchange ghosts between two applications */
};

/* The factor of a matrix, which must outlive it, with `planes` and `type` as above. Collective; on
 * failure *factor is NULL. Errors: those of gsw_factor_create(); UNSUPPORTED (also GLOBAL with more
 * processes than planes, in 2D lines); ZERO_PIVOT in all processes, with the lowest row of the
 * grid, with LOCAL and JACOBI a row of a box; COMMUNICATION, TIMEOUT. */
gsw_status gsw_distributed_factor_create_as(gsw_distributed_matrix *matrix,
                                            const gsw_factor_options *options, int64_t planes,
                                            gsw_dtype type, gsw_distributed_factor **factor);

/* Computes the factor anew from the present values of its matrix. Collective. */
gsw_status gsw_distributed_factor_refactor(gsw_distributed_factor *f);

/* x = M^-1 b for vectors of the factor's type; b may be x. Collective. */
gsw_status gsw_distributed_factor_solve(gsw_distributed_factor *f, const void *b, void *x);

/* Bytes and pivots in this process. */
void gsw_distributed_factor_describe(const gsw_distributed_factor *f, gsw_factor_info *info);

/* NULL is allowed. */
void gsw_distributed_factor_destroy(gsw_distributed_factor *f);

/* The options of the packed factor of a process. */
static inline gsw_factor_options gsw_distributed_part_options(const gsw_distributed_factor *f) {
    return (gsw_factor_options){.size = sizeof(gsw_factor_options),
                                .kind = f->options.kind,
                                .factor_type = f->type,
                                .vector_type = f->type,
                                .omega = f->options.omega,
                                .pivot_shift = f->options.pivot_shift};
}

/* Whether there is a sweep upwards, or downwards: LOWER and UPPER have one sweep. */
int gsw_distributed_sweeps(const gsw_distributed_factor *f, int down);

/* The number of a sweep among those of the packed factor. */
int gsw_distributed_part(const gsw_distributed_factor *f, int down);

/* Reports the lowest bad row of all processes; `row` is of the own box, or INT64_MAX: there is
 * none. Collective. */
gsw_status gsw_distributed_report_pivots(gsw_distributed_factor *f, int64_t row);

/* Refuses a factor without values, in all processes alike. */
gsw_status gsw_distributed_usable(const gsw_distributed_factor *f, gsw_context *context);

/* Free what each way has opened. */
void gsw_local_close(gsw_distributed_factor *f);
void gsw_bands_close(gsw_distributed_factor *f);
void gsw_relaid_close(gsw_relaid *relaid);
void gsw_slabs_close(gsw_distributed_factor *f);

/* GLOBAL on CPUs: fills slabs (distributed_fill.c). Collective. */
gsw_status gsw_bands_fill(gsw_distributed_factor *f);

/* The bands of a block, begin <= q < end, in the order of upward sweeps. */
static inline void gsw_bands_of_block(const gsw_distributed_factor *f, int64_t block,
                                      int64_t *begin, int64_t *end) {
    const int64_t n = f->bands_per_block;
    *begin = block * n < f->bands.count ? block * n : f->bands.count;
    *end = *begin + n < f->bands.count ? *begin + n : f->bands.count;
}

/* Deals the factor of a slab out, where that pays. *dealt is NULL if it does not, and, with a
 * reason in the log, if memory does not suffice or a process does not reach the windows of all
 * others. Collective. The next two follow each factorisation of the slab, and each call of the
 * preconditioner. */
gsw_status gsw_dealt_open(gsw_distributed_factor *f, gsw_dealt **dealt);
gsw_status gsw_dealt_fill(gsw_dealt *dealt, const gsw_factor *slab);
gsw_status gsw_dealt_apply(gsw_dealt *dealt, int sweeps, const double *b, double *x);
void gsw_dealt_close(gsw_dealt *dealt);

#endif
