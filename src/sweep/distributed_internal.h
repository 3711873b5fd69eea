/* distributed_internal.h: a preconditioner on several processes, as the library keeps it. */
#ifndef GSW_DISTRIBUTED_INTERNAL_H
#define GSW_DISTRIBUTED_INTERNAL_H

#include "matrix/distributed_matrix.h"
#include "schedule.h"
#include "space/slabs.h"

/* A sweep of a slab whose neighbours have no windows: messages carry its faces. */
typedef struct gsw_slab_sweep {
    size_t in_bytes, out_bytes; /* 0: windows do */
    void *in, *out;
    void *outbox; /* in the backend's memory */
} gsw_slab_sweep;

/* What the packed sweep of a slab needs besides its factor. Arrays have one value per point of the
 * first `planes` planes of the sweep. */
typedef struct gsw_edge {
    int64_t planes; /* whose rows are coupled to another slab */
    double *block;
    double *value[GSW_STENCIL_MAX]; /* of the factor; NULL where planes is 0 */
    double *lead;                   /* what these rows begin with instead of b */
} gsw_edge;

/* The rows of tiles of a packed factor, dealt out to the processes (contract/slab_ops.h). */
typedef struct gsw_dealt {
    gsw_partition *partition;
    gsw_deal deal;
    gsw_factor *factor; /* of the whole grid; holds the pencils of this process */
    gsw_windows windows;
    uint64_t meetings; /* so far */
} gsw_dealt;

struct gsw_distributed_factor {
    gsw_partition *partition;
    gsw_distributed_matrix *matrix;
    gsw_distributed_factor_options options;
    int usable; /* holds values, in all processes */
    gsw_preconditioner *preconditioner;
    gsw_factor *local;  /* LOCAL, and JACOBI */
    int64_t planes;     /* LOCAL, LOWER and UPPER: of the slabs that `local` is asked for; or 0 */
    gsw_dtype type;     /* of factor and vectors; F32 on devices only, without `preconditioner` */
    gsw_ghosts overlap; /* LOCAL with an overlap: the frame that it factorises, */
    double *framed;     /* and a vector of it */

    /* GLOBAL. The arrays of the box: below the centre those of the sweep upwards, above it those of
     * the sweep downwards, at the centre the scale of one of them. */
    double *block;
    double *value[GSW_STENCIL_MAX];
    double *x; /* of the frame */
    gsw_schedule up, down;
    gsw_mailbox *mail_up, *mail_down;
    int64_t bytes;

    /* Slabs in z. NULL: sweeps use the arrays above. Else those are there only while bad pivots are
     * shifted. */
    gsw_factor *packed;
    int64_t bands, bands_per_block;
    gsw_edge edge[2]; /* of the sweeps upwards and downwards */

    /* Backends with memory of their own: only these, `packed` and `bytes`. */
    gsw_slab_link link;
    gsw_slab_sweep slab[2]; /* upwards, downwards */
    int64_t sent;           /* bytes of faces in an application */
    int64_t inbox[2];       /* where the inbox of each sweep begins in the window */
    gsw_dealt *dealt;       /* sweeps in place of `packed`; NULL: `packed` sweeps */
    int ordered; /* with one sweep: neighbours exchange ghosts between two applications */
};

/* gsw_distributed_factor_create() with `planes` and `type` as above. */
gsw_status gsw_distributed_factor_create_as(gsw_distributed_matrix *matrix,
                                            const gsw_distributed_factor_options *options,
                                            int64_t planes, gsw_dtype type,
                                            gsw_distributed_factor **factor);

/* x = M^-1 b for vectors of the factor's type; b is not x. */
gsw_status gsw_distributed_factor_solve(gsw_distributed_factor *f, const void *b, void *x);

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

/* Brings the lowest bad row of all processes, in the grid; `row` is of the own box, or INT64_MAX.
 * Collective. The second one reports a row of the grid; INT64_MAX: there is none. The third one
 * does both. */
gsw_status gsw_distributed_lowest_row(gsw_distributed_factor *f, int64_t row, int64_t *lowest);
gsw_status gsw_distributed_report_row(const gsw_distributed_factor *f, int64_t lowest);
gsw_status gsw_distributed_report_pivots(gsw_distributed_factor *f, int64_t row);

/* Refuses a factor without values, in all processes alike. */
gsw_status gsw_distributed_usable(const gsw_distributed_factor *f, gsw_context *context);

/* The terms of a sweep, farthest first, from arrays per offset; and its scale, if it scales b. */
void gsw_distributed_terms(const gsw_distributed_factor *f, int down, double *const *value,
                           gsw_box_sweep *job);

/* LOCAL and JACOBI: opens or fills the factor. Collective with an overlap. */
gsw_status gsw_local_fill(gsw_distributed_factor *f);
void gsw_local_close(gsw_distributed_factor *f);

/* Decides whether packed factors can sweep the boxes, and opens them if so. *band is the number of
 * lines of a block then, else 0. Collective. */
gsw_status gsw_bands_open(gsw_distributed_factor *f, int64_t *band);

/* Packs the arrays that a factorisation with shifted pivots has filled. */
void gsw_bands_pack(gsw_distributed_factor *f);

/* Moves the scales of the rows that begin with a lead from the packed factor to the edges. */
void gsw_bands_take_scales(gsw_distributed_factor *f);

/* Factorises into the packed factor. *bad_row is the lowest own row with a bad pivot, or INT64_MAX;
 * bad pivots are not shifted. Collective. */
gsw_status gsw_bands_fill(gsw_distributed_factor *f, int64_t *bad_row);

/* One sweep; b may be x. */
gsw_status gsw_bands_sweep(gsw_distributed_factor *f, int down, const double *b, double *x);

void gsw_bands_close(gsw_distributed_factor *f);

/* GLOBAL on a backend with memory of its own: opens the factor, fills it, and frees it. Collective.
 */
gsw_status gsw_slabs_open(gsw_distributed_factor *f);
gsw_status gsw_slabs_fill(gsw_distributed_factor *f);
gsw_status gsw_slabs_solve(gsw_distributed_factor *f, const void *b, void *x);
void gsw_slabs_close(gsw_distributed_factor *f);

/* Deals the factor of a slab out, where that pays. *dealt is NULL if it does not, and, with a
 * reason in the log, if memory does not suffice or a process does not reach the windows of all
 * others. Collective. The next two follow each factorisation of the slab, and each call of the
 * preconditioner. */
gsw_status gsw_dealt_open(gsw_distributed_factor *f, gsw_dealt **dealt);
gsw_status gsw_dealt_fill(gsw_dealt *dealt, const gsw_factor *slab);
gsw_status gsw_dealt_apply(gsw_dealt *dealt, int sweeps, const double *b, double *x);
void gsw_dealt_close(gsw_dealt *dealt);

#endif
