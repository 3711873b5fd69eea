/* input.h: the context, the matrix and the right-hand side that the options ask for. */
#ifndef GSW_CLI_INPUT_H
#define GSW_CLI_INPUT_H

#include <gridsweep/embed.h>
#include "options.h"

/* A matrix from a file or a model problem, and what is known about it. */
typedef struct cli_input {
    gsw_problem *problem; /* NULL where it came from a file */
    gsw_csr csr;          /* empty where it is a problem */
    gsw_matrix matrix;
    uint8_t *active;          /* the values of --mask, or NULL */
    gsw_embedding *embedding; /* where the rows of `csr` are; NULL: at all points, in order */
    gsw_border *border;       /* a row and a column for the mean, taken off `csr`, or NULL */
    double *border_b;         /* the right-hand side with a value for that row */
    double share;             /* its residuals per relative residual of `csr`; 1 without a border */
    gsw_context *context;     /* of the embedding and the border */
    int64_t rows, nonzeros;   /* of the matrix that was given */
    int64_t active_points;    /* all of them without a mask */
    size_t vector_bytes;      /* of a vector of all points in fp64 */
} cli_input;

/* Creates a context with the threads and the device that the options ask for. If it ignores its
 * tuning file, a warning follows, except with --quiet. Its messages count rows from 1 where there
 * is a Matrix Market file, else from 0. */
gsw_status cli_create_context(const cli_options *options, gsw_backend backend, void *stream,
                              gsw_context **context);

/* The same, with a message where it fails. Returns an exit code. */
int cli_open_context(const cli_options *options, gsw_backend backend, void *stream,
                     gsw_context **context);

/* What follows "row" in such messages, for a row counted from 0. */
void cli_row_text(const cli_options *options, const gsw_grid *grid, int64_t row, char *text,
                  size_t size);

/* Reads or makes the matrix, and reads its mask. Returns an exit code. */
int cli_load(const cli_options *options, gsw_context *context, cli_input *input);
void cli_input_free(cli_input *input);

/* Refuses a matrix whose rows are not all points, in order. Returns an exit code. */
int cli_refuse_embedding(const cli_options *options, const cli_input *input);

/* Makes x, a vector of all points with room for one value more, the solution of the rows. Returns
 * an exit code. */
int cli_collect(const cli_options *options, const cli_input *input, double *x);

/* Whether a value of --rhs (may be NULL) names a file. */
bool cli_rhs_is_file(const char *rhs);

/* Makes the right-hand side that --rhs asks for, on all points; free() it. Returns an exit code. */
int cli_load_rhs(const cli_options *options, gsw_context *context, cli_input *input, double **b);

/* Reads the first guess that --x0 names, or makes one of zeros; free() it. It has room for one
 * value more than points. Returns an exit code. */
int cli_load_guess(const cli_options *options, gsw_context *context, const cli_input *input,
                   double **x);

/* A stencil by its name or as offsets "DX,DY,DZ;DX,DY,DZ;...". */
bool cli_parse_stencil(const char *text, gsw_stencil *stencil);

/* Entries of a part, diagonal included: stored ones of a CSR, couplings inside the grid of stencil
 * arrays. */
int64_t cli_count_entries(const gsw_matrix *matrix, gsw_part part);

/* A row pointer or a column of a CSR, counted from 0. */
int64_t cli_csr_index(const gsw_csr *csr, const void *indices, int64_t i);

/* Whether a(i,j) equals a(j,i) up to rounding; `lifted`: leaving out rows without couplings, as a
 * solver does. */
bool cli_is_symmetric(const cli_input *input, bool lifted);

/* Warns where cg or ic0 is to be used on a matrix that is not symmetric. `precond` is a
 * gsw_factor_kind or CLI_PRECOND_NONE. */
void cli_warn_if_not_symmetric(const cli_options *options, const cli_input *input, int precond);

#endif
