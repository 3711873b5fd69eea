/* petsc_distributed.c: see petsc_distributed.h.
 *
 * The plug-in keeps the own rows as one array per offset of the stencil, and the library reads
 * these arrays in place. New values are copied there; the preconditioner then takes them. */
#include "petsc_distributed.h"
#include <stdlib.h>
#include "petsc_layout.h"
#include "petsc_rows.h"
#ifdef GSW_PETSC_MPI
#include <gridsweep/mpi.h>
#endif

/* The longest component of an offset where the plug-in finds the grid itself, as in gsw_detect().
 */
#define FOUND_REACH 2

struct gsw_petsc_distributed {
    gsw_petsc_layout layout;
    gsw_transport *transport; /* NULL for a single process */
    gsw_partition *partition;
    double *values; /* one array per offset */
    void *moved;    /* the same in the memory of a GPU; NULL: the library reads `values` */
    size_t bytes;   /* of them */
    const void *array[GSW_STENCIL_MAX];
    gsw_matrix matrix;
};

/* What the options and the DM say. */
typedef struct request {
    MPI_Comm comm;
    Mat matrix;
    gsw_grid given; /* nx 0: none */
    gsw_grid of_dm; /* nx 0: none */
    DM dm;
    double wait_limit;
} request;

/* ---- Options -------------------------------------------------------------------------------- */

static PetscErrorCode read_options(PC pc, gsw_petsc_place *place, request *r) {
    const char *prefix;
    PetscReal limit = 60;
    PetscFunctionBegin;
    PetscCall(PCGetOptionsPrefix(pc, &prefix));
    PetscOptionsBegin(r->comm, prefix, "gridsweep on several processes", "PC");
    PetscCall(PetscOptionsReal("-pc_gridsweep_wait_limit", "Seconds to wait for another process",
                               NULL, limit, &limit, NULL));
    PetscOptionsEnd();
    PetscCheck(limit > 0 && limit < 1e9, r->comm, PETSC_ERR_ARG_OUTOFRANGE,
               "-pc_gridsweep_wait_limit %g is not in (0, 1e9)", (double)limit);
    PetscCall(gsw_petsc_open_context(place, r->comm, prefix, "pc_gridsweep", r->matrix, &r->given));
    r->wait_limit = limit;
    PetscFunctionReturn(0);
}

/* ---- Grid, boxes and stencil ---------------------------------------------------------------- */

static PetscErrorCode refuse_coupling(const gsw_petsc_distributed *d, const request *r,
                                      const int64_t bad[2]) {
    int64_t from[3], to[3];
    PetscFunctionBegin;
    PetscCheck(bad[0] != bad[1], r->comm, PETSC_ERR_ARG_WRONG,
               "gridsweep, finding the stencil of the matrix: the rows of all processes have more "
               "than %d distinct offsets",
               GSW_STENCIL_MAX);
    gsw_petsc_layout_point(&d->layout, bad[0], from);
    gsw_petsc_layout_point(&d->layout, bad[1], to);
    SETERRQ(r->comm, PETSC_ERR_ARG_WRONG,
            "gridsweep, finding the stencil of the matrix: row %lld, point (%lld, %lld, %lld) of "
            "the %lld x %lld x %lld grid, is coupled to row %lld, point (%lld, %lld, %lld). That "
            "is too far, or one offset more than %d: the matrix is no such grid",
            (long long)bad[0], (long long)from[0], (long long)from[1], (long long)from[2],
            (long long)d->layout.grid.nx, (long long)d->layout.grid.ny,
            (long long)d->layout.grid.nz, (long long)bad[1], (long long)to[0], (long long)to[1],
            (long long)to[2], GSW_STENCIL_MAX);
}

static PetscErrorCode refuse_slabs(const gsw_petsc_distributed *d, const request *r, int misfit) {
    const gsw_grid *grid = &d->layout.grid;
    PetscFunctionBegin;
    SETERRQ(r->comm, PETSC_ERR_ARG_SIZ,
            "process %d has rows %lld to %lld, which are not whole %s of the %lld x %lld x %lld "
            "grid: choose the rows of each process with MatSetSizes(), or take a DMDA",
            misfit, (long long)d->layout.first[misfit], (long long)d->layout.first[misfit + 1] - 1,
            grid->nz > 1 ? "planes" : "lines", (long long)grid->nx, (long long)grid->ny,
            (long long)grid->nz);
}

/* A grid in natural order. *fits is set where the caller wants to try others; otherwise what does
 * not fit is an error. */
static PetscErrorCode take_slabs(gsw_petsc_distributed *d, const request *r,
                                 const gsw_petsc_rows *rows, const gsw_grid *grid,
                                 gsw_stencil *stencil, PetscBool *fits) {
    int64_t bad[2] = {-1, -1};
    int misfit;
    PetscFunctionBegin;
    PetscCall(gsw_petsc_layout_from_rows(&d->layout, r->matrix, grid, &misfit));
    if (misfit < 0)
        PetscCall(gsw_petsc_rows_stencil(rows, &d->layout, r->comm,
                                         fits ? FOUND_REACH : GSW_OFFSET_MAX, stencil, bad));
    if (fits) {
        *fits = (PetscBool)(misfit < 0 && bad[0] < 0);
        if (!*fits)
            gsw_petsc_layout_close(&d->layout);
        PetscFunctionReturn(0);
    }
    if (misfit >= 0)
        PetscCall(refuse_slabs(d, r, misfit));
    if (bad[0] >= 0)
        PetscCall(refuse_coupling(d, r, bad));
    PetscFunctionReturn(0);
}

/* The grid of the couplings among the first process's rows; nx 0: there is none. */
static PetscErrorCode look_at_first(const gsw_petsc_place *place, const request *r,
                                    const gsw_petsc_rows *rows, gsw_grid *part) {
    gsw_stencil stencil;
    int64_t found[3] = {0, 0, 0};
    PetscMPIInt rank;
    PetscFunctionBegin;
    PetscCallMPI(MPI_Comm_rank(r->comm, &rank));
    const gsw_csr csr = {.rows = rows->count,
                         .nonzeros = rows->row_ptr[0][rows->count],
                         .row_ptr = rows->row_ptr[0],
                         .columns = rows->columns[0],
                         .values = rows->values[0],
                         .index_type = sizeof(PetscInt) == 4 ? GSW_I32 : GSW_I64,
                         .value_type = GSW_F64};
    if (rank == 0 && csr.rows > 0 &&
        gsw_detect(place->context, &csr, NULL, part, &stencil) == GSW_SUCCESS) {
        found[0] = part->nx;
        found[1] = part->ny;
        found[2] = part->nz;
    }
    PetscCallMPI(MPI_Bcast(found, 3, MPI_INT64_T, 0, r->comm));
    *part = (gsw_grid){found[0], found[1], found[2]};
    PetscFunctionReturn(0);
}

/* A slab of the grid has the grid's nx, and its ny where it holds several planes. With one plane or
 * one line it may be a slab of a grid with one dimension more, too. */
static PetscErrorCode find_grid(gsw_petsc_distributed *d, const gsw_petsc_place *place,
                                const request *r, const gsw_petsc_rows *rows,
                                gsw_stencil *stencil) {
    gsw_grid part, candidate[2];
    int candidates = 0;
    PetscBool fits = PETSC_FALSE;
    PetscInt n;
    PetscFunctionBegin;
    PetscCall(MatGetSize(r->matrix, &n, NULL));
    PetscCall(look_at_first(place, r, rows, &part));
    if (part.nx > 0 && part.ny == 1 && part.nz == 1)
        candidate[candidates++] = (gsw_grid){n, 1, 1};
    if (part.nx > 0 && part.nz == 1 && n % part.nx == 0)
        candidate[candidates++] = (gsw_grid){part.nx, n / part.nx, 1};
    if (part.nx > 0 && part.ny > 1 && n % (part.nx * part.ny) == 0)
        candidate[candidates++] = (gsw_grid){part.nx, part.ny, n / (part.nx * part.ny)};
    for (int k = 0; k < candidates && !fits; k++)
        PetscCall(take_slabs(d, r, rows, &candidate[k], stencil, &fits));
    PetscCheck(fits, r->comm, PETSC_ERR_ARG_WRONG,
               "gridsweep does not find the grid of the matrix: give it with -pc_gridsweep_grid "
               "NXxNYxNZ, or take a DMDA. Without a DMDA rows must be in natural order, and each "
               "process must have whole planes");
    PetscFunctionReturn(0);
}

/* Refuses a grid that the matrix cannot have. */
static PetscErrorCode check_given(const request *r, PetscBool has_dm) {
    const gsw_grid *given = &r->given, *of_dm = &r->of_dm;
    const int same = given->nx == of_dm->nx && given->ny == of_dm->ny && given->nz == of_dm->nz;
    PetscInt n;
    PetscFunctionBegin;
    if (given->nx == 0)
        PetscFunctionReturn(0);
    PetscCall(MatGetSize(r->matrix, &n, NULL));
    PetscCheck((PetscInt64)given->nx * given->ny * given->nz == n, r->comm, PETSC_ERR_ARG_SIZ,
               "-pc_gridsweep_grid %lldx%lldx%lld is not a grid of the matrix's %" PetscInt_FMT
               " rows",
               (long long)given->nx, (long long)given->ny, (long long)given->nz, n);
    PetscCheck(!has_dm || same, r->comm, PETSC_ERR_ARG_WRONG,
               "-pc_gridsweep_grid %lldx%lldx%lld is not the grid of the DMDA, %lldx%lldx%lld: "
               "leave it out",
               (long long)given->nx, (long long)given->ny, (long long)given->nz,
               (long long)of_dm->nx, (long long)of_dm->ny, (long long)of_dm->nz);
    PetscFunctionReturn(0);
}

static PetscErrorCode find_shape(gsw_petsc_distributed *d, const gsw_petsc_place *place,
                                 const request *r, const gsw_petsc_rows *rows,
                                 gsw_stencil *stencil) {
    const gsw_grid *known = r->given.nx > 0 ? &r->given : &r->of_dm;
    PetscBool fits = PETSC_FALSE;
    int64_t bad[2];
    PetscFunctionBegin;
    if (r->dm)
        PetscCall(gsw_petsc_layout_from_dmda(&d->layout, r->matrix, r->dm, &fits));
    if (gsw_petsc_on_device(place)) /* where couplings around the grid count as long offsets */
        d->layout.grid.periodic = 0;
    PetscCall(check_given(r, fits));
    if (fits) {
        PetscCall(gsw_petsc_rows_stencil(rows, &d->layout, r->comm, GSW_OFFSET_MAX, stencil, bad));
        if (bad[0] >= 0)
            PetscCall(refuse_coupling(d, r, bad));
        PetscFunctionReturn(0);
    }
    gsw_petsc_layout_close(&d->layout);
    if (known->nx > 0)
        PetscCall(take_slabs(d, r, rows, known, stencil, NULL));
    else
        PetscCall(find_grid(d, place, r, rows, stencil));
    PetscFunctionReturn(0);
}

/* ---- The library's objects ------------------------------------------------------------------ */

/* Without MPI check_processes() refuses several processes, and one needs no transport. */
static gsw_status open_transport(gsw_context *context, MPI_Comm comm, gsw_transport **transport) {
#ifdef GSW_PETSC_MPI
    return gsw_mpi_transport_create(context, comm, transport);
#else
    (void)context, (void)comm, (void)transport;
    return GSW_ERROR_UNSUPPORTED;
#endif
}

static void close_transport(gsw_transport *transport) {
#ifdef GSW_PETSC_MPI
    gsw_mpi_transport_destroy(transport);
#else
    (void)transport;
#endif
}

static PetscErrorCode check_processes(MPI_Comm comm) {
    PetscMPIInt processes;
    PetscFunctionBegin;
    PetscCallMPI(MPI_Comm_size(comm, &processes));
#ifndef GSW_PETSC_MPI
    PetscCheck(processes == 1, comm, PETSC_ERR_SUP,
               "-pc_type gridsweep works on one process, because gridsweep was built without MPI "
               "(GSW_MPI), and there are %d: use it in the blocks, with -pc_type bjacobi "
               "-sub_pc_type gridsweep",
               (int)processes);
#endif
    PetscFunctionReturn(0);
}

static PetscErrorCode open_partition(gsw_petsc_distributed *d, const gsw_petsc_place *place,
                                     const request *r) {
    const gsw_petsc_layout *layout = &d->layout;
    gsw_partition_options options = {.size = sizeof options, .wait_limit = r->wait_limit};
    gsw_status status = GSW_SUCCESS;
    PetscFunctionBegin;
    for (int axis = 0; axis < 3; axis++) {
        options.processes[axis] = layout->boxes[axis];
        options.cuts[axis] = layout->cuts[axis];
    }
    if (layout->processes > 1)
        status = open_transport(place->context, r->comm, &d->transport);
    PetscCall(gsw_petsc_check(r->comm, place, status, PETSC_ERR_LIB, "connecting the processes"));
    status =
        gsw_partition_create(place->context, d->transport, &layout->grid, &options, &d->partition);
    PetscCall(gsw_petsc_check(r->comm, place, status, PETSC_ERR_LIB, "cutting the grid"));
    PetscFunctionReturn(0);
}

/* Brings the values to where the library reads them. */
static gsw_status move_values(gsw_petsc_distributed *d, const gsw_petsc_place *place) {
    return d->moved ? gsw_memory_upload(place->context, d->moved, d->values, d->bytes)
                    : GSW_SUCCESS;
}

/* The rows of the process, in new arrays. */
static PetscErrorCode open_matrix(gsw_petsc_distributed *d, const gsw_petsc_place *place,
                                  const request *r, const gsw_petsc_rows *rows) {
    const gsw_stencil *stencil = &place->stencil;
    const gsw_stencil_array array = {.values = d->array, .value_type = GSW_F64};
    gsw_status status = GSW_SUCCESS;
    PetscInt bad;
    PetscFunctionBegin;
    d->bytes = (size_t)stencil->count * (size_t)rows->count * sizeof *d->values;
    d->values = malloc(d->bytes);
    PetscCheck(d->values, PETSC_COMM_SELF, PETSC_ERR_MEM, "no memory for the rows of a process");
    if (gsw_petsc_on_device(place))
        status = gsw_memory_alloc(place->context, d->bytes, &d->moved);
    const double *first = d->moved ? d->moved : d->values;
    for (int32_t e = 0; e < stencil->count; e++)
        d->array[e] = first + (size_t)e * (size_t)rows->count;
    bad = gsw_petsc_rows_values(rows, &d->layout, stencil, d->values);
    PetscCheck(bad < 0, PETSC_COMM_SELF, PETSC_ERR_PLIB,
               "own row %" PetscInt_FMT " has a coupling outside the stencil", bad);
    if (status == GSW_SUCCESS)
        status = move_values(d, place);
    if (status == GSW_SUCCESS)
        status = gsw_partition_matrix_from_stencil(d->partition, stencil, &array, &d->matrix);
    PetscCall(gsw_petsc_check(r->comm, place, status, PETSC_ERR_LIB, "taking the matrix"));
    PetscFunctionReturn(0);
}

static PetscErrorCode open_context(gsw_petsc_place *place, PC pc, request *r) {
    PetscInt rows, columns;
    int squares[2];
    PetscFunctionBegin;
    PetscCall(check_processes(r->comm));
    PetscCall(MatGetLocalSize(r->matrix, &rows, &columns));
    squares[0] = rows == columns;
    PetscCallMPI(MPI_Allreduce(&squares[0], &squares[1], 1, MPI_INT, MPI_MIN, r->comm));
    PetscCheck(squares[1], r->comm, PETSC_ERR_ARG_SIZ,
               "a process has not as many columns of the matrix as rows");
    PetscCall(read_options(pc, place, r));
    place->points = rows;
    PetscCall(gsw_petsc_find_dmda(pc, r->matrix, &r->dm, &r->of_dm));
    PetscFunctionReturn(0);
}

PetscErrorCode gsw_petsc_distributed_open(gsw_petsc_place *place, PC pc, Mat matrix,
                                          gsw_petsc_distributed **made) {
    request r = {.comm = PetscObjectComm((PetscObject)pc), .matrix = matrix};
    gsw_petsc_distributed *d = calloc(1, sizeof *d);
    gsw_petsc_rows rows;
    PetscFunctionBegin;
    *made = d;
    PetscCheck(d, PETSC_COMM_SELF, PETSC_ERR_MEM, "no memory for a preconditioner");
    PetscCall(open_context(place, pc, &r));
    PetscCall(gsw_petsc_rows_open(&rows, matrix));
    PetscCall(find_shape(d, place, &r, &rows, &place->stencil));
    place->grid = d->layout.grid;
    PetscCall(open_partition(d, place, &r));
    PetscCall(open_matrix(d, place, &r, &rows));
    PetscCall(gsw_petsc_rows_close(&rows));
    PetscFunctionReturn(0);
}

PetscErrorCode gsw_petsc_distributed_refill(gsw_petsc_distributed *d, const gsw_petsc_place *place,
                                            Mat matrix, PetscBool *fits) {
    gsw_petsc_rows rows;
    PetscInt bad;
    int sound[2];
    PetscFunctionBegin;
    PetscCall(gsw_petsc_rows_open(&rows, matrix));
    bad = gsw_petsc_rows_values(&rows, &d->layout, &place->stencil, d->values);
    PetscCall(gsw_petsc_rows_close(&rows));
    if (bad < 0)
        PetscCall(gsw_petsc_check(PETSC_COMM_SELF, place, move_values(d, place), PETSC_ERR_LIB,
                                  "bringing the values to the GPU"));
    sound[0] = bad < 0;
    PetscCallMPI(MPI_Allreduce(&sound[0], &sound[1], 1, MPI_INT, MPI_MIN,
                               PetscObjectComm((PetscObject)matrix)));
    *fits = (PetscBool)sound[1];
    PetscFunctionReturn(0);
}

const gsw_matrix *gsw_petsc_distributed_matrix(const gsw_petsc_distributed *d) {
    return &d->matrix;
}

PetscErrorCode gsw_petsc_distributed_view(const gsw_petsc_distributed *d, gsw_scope scope,
                                          PetscViewer viewer) {
    const gsw_petsc_layout *layout = &d->layout;
    int64_t most[3] = {0, 0, 0};
    PetscFunctionBegin;
    for (int axis = 0; axis < 3; axis++)
        for (int32_t i = 0; i < layout->boxes[axis]; i++)
            most[axis] = PetscMax(most[axis], layout->cuts[axis][i + 1] - layout->cuts[axis][i]);
    PetscCall(PetscViewerASCIIPrintf(
        viewer, "scope %s, %d processes, %dx%dx%d boxes of at most %lldx%lldx%lld points\n",
        gsw_scope_name(scope), layout->processes, (int)layout->boxes[0], (int)layout->boxes[1],
        (int)layout->boxes[2], (long long)most[0], (long long)most[1], (long long)most[2]));
    PetscFunctionReturn(0);
}

void gsw_petsc_distributed_close(gsw_petsc_distributed *d, gsw_petsc_place *place) {
    if (!d)
        return;
    if (place->context)
        gsw_memory_free(place->context, d->moved);
    gsw_partition_destroy(d->partition);
    close_transport(d->transport);
    gsw_petsc_layout_close(&d->layout);
    free(d->values);
    free(d);
}
