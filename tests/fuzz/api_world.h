/* api_world.h: what the calls of fuzz_api.c work on: the input's bytes, contexts, matrices, vectors
 * and objects, and the checks that every call passes. */
#ifndef GSW_FUZZ_API_WORLD_H
#define GSW_FUZZ_API_WORLD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <gridsweep/gridsweep.h>

enum { CONTEXTS = 2, MATRICES = 4, FACTORS = 4, HIERARCHIES = 2, OPERATORS = 3, APPLIERS = 4 };
enum { MOST_POINTS = 100, MOST_VECTORS = 3, MOST_COUNT = 3 };

typedef struct world world;

/* A matrix and the arrays that it points to, each of exactly its length. */
typedef struct world_matrix {
    gsw_matrix view;
    bool made;
    bool sound; /* a CSR: its row pointers and columns are those of a CSR, whatever the stencil */
    void *arrays[GSW_STENCIL_MAX];
    const void *values[GSW_STENCIL_MAX];
} world_matrix;

/* What a callback does. */
typedef struct world_callback {
    int mode;  /* see apply_callback() */
    int calls; /* how many until a failing one fails */
    int64_t points;
    const gsw_matrix *matrix; /* for a mode that multiplies */
} world_callback;

typedef struct world_operator {
    gsw_operator *op;
    gsw_context *context;
    int matrix; /* whose arrays it uses; -1: none */
    world_callback callback;
} world_operator;

typedef struct world_factor {
    gsw_factor *factor;
    gsw_context *context;
    gsw_dtype vector_type;
} world_factor;

typedef struct world_hierarchy {
    gsw_multigrid *multigrid;
    gsw_context *context;
} world_hierarchy;

/* A preconditioner, and which factor or hierarchy it uses (-1: none). */
typedef struct world_applier {
    gsw_preconditioner *preconditioner;
    gsw_context *context;
    int factor, hierarchy, matrix;
    world_callback callback;
} world_applier;

struct world {
    const uint8_t *at, *end; /* the bytes that are left */
    gsw_context *contexts[CONTEXTS];
    world_matrix matrices[MATRICES];
    world_factor factors[FACTORS];
    world_hierarchy hierarchies[HIERARCHIES];
    world_operator operators[OPERATORS];
    world_applier appliers[APPLIERS];
};

/* Ends the process where something that must hold does not. */
void fuzz_check(bool holds);

/* The next byte, 0 at the end; one below `limit`; a number that its seed, four bytes, begins. */
int fuzz_byte(world *w);
int fuzz_below(world *w, int limit);
uint64_t fuzz_seed(world *w);

/* The next pseudo-random number; one in [-1, 1). */
uint64_t fuzz_next(uint64_t *state);
double fuzz_uniform(uint64_t *state);

/* Memory of exactly `bytes` bytes. It never fails. */
void *fuzz_allocate(size_t bytes);

/* ---- Statuses ---- */

#define FUZZ_BIT(status) (1u << (status))
#define FUZZ_ARGUMENT    FUZZ_BIT(GSW_ERROR_INVALID_ARGUMENT)
#define FUZZ_ALLOCATES   (FUZZ_BIT(GSW_ERROR_OVERFLOW) | FUZZ_BIT(GSW_ERROR_OUT_OF_MEMORY))
#define FUZZ_UNSUPPORTED FUZZ_BIT(GSW_ERROR_UNSUPPORTED)
#define FUZZ_GRID        FUZZ_BIT(GSW_ERROR_NOT_A_GRID)
#define FUZZ_PIVOT       FUZZ_BIT(GSW_ERROR_ZERO_PIVOT)
#define FUZZ_ANY         (FUZZ_BIT(GSW_ERROR_COMMUNICATION + 1) - 1)

/* Checks that a status is GSW_SUCCESS or one of `allowed`, and that the context explains a
 * failure. Returns whether the call succeeded. */
bool fuzz_status(const gsw_context *context, gsw_status status, unsigned allowed);

/* ---- Structs with a size ---- */

/* A copy of a struct whose size is right, shorter, longer or wrong. *copy is NULL where the input
 * asks for none. Free it with free(). */
void *fuzz_struct(world *w, const void *full, size_t size);

/* ---- Matrices and vectors ---- */

/* Fills a slot, or leaves it empty. */
void fuzz_make_matrix(world *w, gsw_context *context, world_matrix *matrix);
/* The same from a matrix of stencil arrays in fp64, into an empty slot. */
void fuzz_copy_matrix(const gsw_matrix *from, world_matrix *matrix);
void fuzz_free_matrix(world_matrix *matrix);

/* Vectors in one piece of memory. They are good ones most of the time; others are NULL, misaligned,
 * or share values with the one before. */
typedef struct fuzz_vectors {
    char *memory, *before;
    size_t bytes;
    void *vector[MOST_VECTORS];
    int64_t count, ld[MOST_VECTORS];
} fuzz_vectors;

/* `columns`: several right-hand sides are possible. */
void fuzz_open_vectors(world *w, int number, int64_t points, gsw_dtype type, bool columns,
                       fuzz_vectors *vectors);
/* A refused call has written nothing. */
void fuzz_check_refused(const fuzz_vectors *vectors, gsw_status status);
/* Brings the contents back; `kept` receives those that were there. fuzz_check_same() compares with
 * them and frees them. */
char *fuzz_rewind_vectors(fuzz_vectors *vectors);
void fuzz_check_same(const fuzz_vectors *vectors, char *kept);
void fuzz_close_vectors(fuzz_vectors *vectors);

#endif
