/* test_extents.c: grids without memory for a vector. Every call that creates something from such a
 * grid is refused at once, with OVERFLOW or OUT_OF_MEMORY, before it counts or computes anything.
 * All arrays of the matrices are NULL, so that only the extents say how large they are. */
#include <stdlib.h>
#include <sys/resource.h>

#include <check.h>
#include <gridsweep/gridsweep.h>
#include "context_fixture.h"

#define P(n) (INT64_C(1) << (n))

/* More address space would only let the system promise memory that nobody has. */
enum { ADDRESS_SPACE_MIB = 2048 };

static const gsw_grid grids[] = {
    /* Sanitizers do without a limit of the address space: these are refused by their number. */
    {P(31), P(31), 1}, {P(30), P(30), 4},     {P(33), P(20), 1},
    {P(20), P(33), 1}, {P(62), 1, 1},         {P(62) - 7, 1, 1},
    {P(59), 8, 1},     {P(58), 8, 2},         {P(56), 16, 4},
    {P(57), 4, 8},     {P(55), 64, 2},        {P(59) - 16, 8, 1},
    {2, P(61), 1},     {8, P(59), 1},         {INT64_MAX, INT64_MAX, INT64_MAX},
#ifndef GSW_SLOW_BUILD
    {P(40), 1, 1},     {1, P(40), 1},         {1, 1, P(40)},
    {2, P(46), 1},     {P(16), P(16), P(16)}, {P(46), 2, 2},
    {2, P(46), 2},     {2, 2, P(46)},         {INT32_MAX, 2, 2},
#endif
};
static const char *const stencils[] = {"D2N5", "D3N7", "D3N27", "D3N33"};

enum {
    GRIDS = sizeof grids / sizeof *grids,
    STENCILS = sizeof stencils / sizeof *stencils,
};

static const void *const no_values[GSW_STENCIL_MAX];
static const gsw_stencil_array zeros = {.values = no_values, .value_type = GSW_F64};

static void limit_memory(void) {
#ifndef GSW_SLOW_BUILD
    const struct rlimit limit = {(rlim_t)ADDRESS_SPACE_MIB << 20, (rlim_t)ADDRESS_SPACE_MIB << 20};
    ck_assert_int_eq(setrlimit(RLIMIT_AS, &limit), 0);
#endif
    open_context();
}

static void refused(gsw_status status, const char *call, const gsw_grid *g) {
    ck_assert_msg(status == GSW_ERROR_OVERFLOW || status == GSW_ERROR_OUT_OF_MEMORY,
                  "%s on %lld x %lld x %lld: %s", call, (long long)g->nx, (long long)g->ny,
                  (long long)g->nz, gsw_status_name(status));
}

/* The matrix as its constructor would fill it. */
static gsw_matrix matrix_on(const gsw_grid *g, const char *stencil) {
    gsw_matrix matrix = {.grid = *g, .format = GSW_FORMAT_STENCIL, .array = zeros};
    must(context, gsw_stencil_named(stencil, &matrix.stencil));
    return matrix;
}

TEST(factors) {
    const gsw_grid *g = &grids[_i];
    for (int s = 0; s < STENCILS; s++) {
        const gsw_matrix matrix = matrix_on(g, stencils[s]);
        gsw_factor *factor = NULL;
        for (int kind = GSW_ILU0; kind <= GSW_FACTOR_LU; kind++)
            for (int unit = 0; unit < 2; unit++) {
                const gsw_factor_options options = {.size = sizeof options,
                                                    .kind = (gsw_factor_kind)kind,
                                                    .factor_type = unit ? GSW_F32 : GSW_F64,
                                                    .unit_diagonal = unit};
                refused(kind == GSW_FACTOR_LU
                            ? gsw_factor_create_lu(context, &matrix, &matrix, &options, &factor)
                            : gsw_factor_create(context, &matrix, &options, &factor),
                        gsw_factor_kind_name(options.kind), g);
                ck_assert_ptr_null(factor);
            }
    }
}

TEST(hierarchies_and_loops) {
    const gsw_grid *g = &grids[_i];
    for (int s = 0; s < STENCILS; s++) {
        const gsw_matrix matrix = matrix_on(g, stencils[s]);
        gsw_multigrid *multigrid = NULL;
        gsw_relax *relax = NULL;
        gsw_csr csr;
        refused(gsw_multigrid_create(context, &matrix, NULL, &multigrid), "multigrid", g);
        refused(gsw_relax_create(context, &matrix, NULL, &relax), "relax", g);
        refused(gsw_matrix_to_csr(context, &matrix, GSW_FULL, GSW_I64, &csr), "to_csr", g);
    }
}

TEST(solvers) {
    const gsw_grid *g = &grids[_i];
    for (int s = 0; s < STENCILS; s++) {
        const gsw_matrix matrix = matrix_on(g, stencils[s]);
        gsw_choice choice = {.size = sizeof choice};
        gsw_preconditioner *chosen = NULL;
        refused(gsw_choose(context, &matrix, NULL, &chosen, &choice), "choose", g);
        refused(gsw_choose_method(context, &matrix, &choice), "choose_method", g);
        for (int precond = GSW_PRECOND_AUTO; precond <= GSW_PRECOND_MULTIGRID; precond++) {
            const gsw_solver_options options = {.size = sizeof options,
                                                .precond = (gsw_precond)precond};
            gsw_solver *solver = NULL;
            refused(gsw_solver_create(context, &matrix, &options, &solver),
                    gsw_precond_name(options.precond), g);
        }
    }
}

TEST(problems) {
    const gsw_grid *g = &grids[_i];
    static const char *const names[] = {"poisson", "lognormal", "hpcg", "convection"};
    for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
        gsw_problem *problem = NULL;
        refused(gsw_problem_create(context, names[k], g, NULL, &problem), names[k], g);
    }
}

/* On one process: a partition and a matrix are views, and may exist. */
TEST(partitions) {
    const gsw_grid *g = &grids[_i];
    gsw_partition *partition = NULL;
    gsw_matrix matrix;
    gsw_factor *factor = NULL;
    gsw_multigrid *multigrid = NULL;
    const gsw_stencil *stencil = oracle_stencil_named("D3N7");
    gsw_status status = gsw_partition_create(context, NULL, g, NULL, &partition);
    if (status == GSW_SUCCESS)
        status = gsw_partition_matrix_from_stencil(partition, stencil, &zeros, &matrix);
    if (status != GSW_SUCCESS) {
        refused(status, "partition", g);
    } else {
        refused(gsw_factor_create(context, &matrix, NULL, &factor), "factor", g);
        refused(gsw_multigrid_create(context, &matrix, NULL, &multigrid), "multigrid", g);
    }
    gsw_partition_destroy(partition);
}

int main(void) {
    Suite *suite = suite_create("extents");
    TCase *group = suite_case(suite, "extents", 20, limit_memory, close_context);
    LOOPS(group, GRIDS, factors, hierarchies_and_loops, solvers, problems, partitions);
    return backend_run_suite(suite);
}
