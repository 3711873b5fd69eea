/* test_cuda_waiting.c: what only a device has, for direct solves and for factors: streams and
 * graphs, kernels whose blocks wait for each other, and other kernels beside them.
 *
 * GSW_TEST_REPEATS=10000 repeats the checks for the same bits that often. */
#include "core/clock.h"
#include "device_stream.h"
#include "occupy.h"
#include "sweep_pair.h"

/* The cube and what is solved with it: an ILU(0), or directly with its lower or upper part. */
enum { WITH_FACTOR, DIRECTLY_LOWER, DIRECTLY_UPPER, WAYS };

static const gsw_factor_options ilu0 = {.size = sizeof ilu0, .kind = GSW_ILU0};

static void cube_open_way(cube *u, int i, int64_t size, int threads, void *stream) {
    if (i / CUBES == WITH_FACTOR)
        cube_open(u, i % CUBES, size, threads, stream, &ilu0);
    else
        cube_open_direct(u, i % CUBES, size, stream, i / CUBES - DIRECTLY_LOWER);
}

/* ---- streams and graphs ---- */

#define SYSTEMS 4

/* Several contexts on streams, one of them on the default stream where solves are direct, or two
 * with two factors each. All solves are queued before the first is waited for. */
TEST(contexts_on_streams_do_not_disturb_each_other) {
    static const gsw_grid grids[SYSTEMS] = {{48, 40, 20}, {30, 50, 20}, {40, 30, 30}, {200, 60, 1}};
    static const int stencils[SYSTEMS] = {2, 5, 4, 1};
    static const gsw_factor_kind kinds[SYSTEMS] = {GSW_ILU0, GSW_SSOR, GSW_DILU, GSW_FACTOR_LU};
    const int directly = _i != WITH_FACTOR, own = directly ? SYSTEMS : 2;
    cudaStream_t streams[SYSTEMS] = {NULL};
    contexts c[SYSTEMS];
    problem problems[SYSTEMS];
    pair pairs[SYSTEMS];
    block blocks[SYSTEMS];
    for (int k = 0; k < own; k++) {
        if (k > 0 || !directly)
            streams[k] = make_stream();
        c[k] = contexts_open(1, streams[k]);
    }
    for (int k = 0; k < SYSTEMS; k++) {
        recipe r = recipe_of(grids[k], oracle_stencil(stencils[k], NULL), ORACLE_ANY_SIGN, 3);
        r.by_cpu = 1;
        const gsw_factor_options options = {
            .size = sizeof options, .kind = kinds[k], .omega = OMEGA};
        problems[k] = problem_open_in(&c[k % own], &r);
        if (directly)
            pairs[k] = pair_direct(&problems[k], _i - DIRECTLY_LOWER, GSW_F64, GSW_ALGORITHM_LINE);
        else
            pairs[k] = pair_open(&problems[k], &options);
        blocks[k] = block_open(&pairs[k], directly ? 1 : 1 + k % 2, 5);
        block_check_all(&blocks[k]);
    }
    for (int round = 0; round < (directly ? 100 : 60); round++) {
        for (int k = 0; k < 3 * SYSTEMS; k++)
            block_solve(&blocks[(k + round) % SYSTEMS]);
        for (int k = 0; k < SYSTEMS; k++)
            block_check_bits(&blocks[k], "beside others", round);
    }
    for (int k = 0; k < SYSTEMS; k++) {
        block_close(&blocks[k]);
        pair_close(&pairs[k]);
        problem_close(&problems[k]);
    }
    for (int k = 0; k < own; k++) {
        contexts_close(&c[k]);
        if (streams[k] != NULL)
            close_stream(streams[k]);
    }
}

static void begin_capture(cudaStream_t stream) {
    ck_assert_int_eq(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), cudaSuccess);
}

static cudaGraphExec_t end_capture(cudaStream_t stream) {
    cudaGraph_t graph = NULL;
    cudaGraphExec_t exec = NULL;
    ck_assert_int_eq(cudaStreamEndCapture(stream, &graph), cudaSuccess);
    ck_assert_int_eq(cudaGraphInstantiateWithFlags(&exec, graph, 0), cudaSuccess);
    ck_assert_int_eq(cudaGraphDestroy(graph), cudaSuccess);
    return exec;
}

/* Another right-hand side, and what has been captured with it: in some runs twice in a row. */
static void replay(block *v, cudaGraphExec_t exec, cudaStream_t stream, int run) {
    free(v->b);
    v->b = oracle_vector(v->type, 100 + (uint64_t)run, v->ldb * v->count);
    block_expect(v);
    device_poison(v->p->q->c.here[0], &v->here_x);
    for (int i = 0; i < (run % 3 == 0 ? 2 : 1); i++)
        ck_assert_int_eq(cudaGraphLaunch(exec, stream), cudaSuccess);
}

/* A lower solve and then, in place, an upper one, as in a preconditioner. */
static void queue_two_solves(block *lower, block *upper) {
    void *const x = lower->here_x.values;
    solve_in(lower, 0, lower->here_b.values, lower->ldb, x, lower->ldx);
    solve_in(upper, 0, x, lower->ldx, x, lower->ldx);
}

TEST(direct_solves_are_captured_in_a_graph) {
    cudaStream_t stream = make_stream();
    cube u;
    cube_open_direct(&u, _i, 40, stream, 0);
    gsw_context *cuda = u.c.here[0];
    const pair upper = pair_direct(&u.q, 1, GSW_F64, GSW_ALGORITHM_LINE);
    const gsw_sptrsv_options reference = solve_options(1, GSW_F64, GSW_ALGORITHM_REFERENCE);
    block v = u.v; /* the same vectors */
    v.p = &upper;
    queue_two_solves(&u.v, &v); /* the workspace grows outside the graph */
    device_try(cuda, gsw_context_synchronize(cuda));
    begin_capture(stream);
    queue_two_solves(&u.v, &v);
    cudaGraphExec_t exec = end_capture(stream);
    for (int run = 0; run < 20; run++) {
        replay(&u.v, exec, stream, run);
        v.b = u.v.b;
        device_try(u.c.cpu, gsw_sptrsv(u.c.cpu, plain_view(&u.q), &reference, 1, v.expected, 0,
                                       v.expected, 0));
        block_check(&v, "from a graph");
        if (run % 3 == 0)
            block_check_all(&v); /* outside the graph */
    }
    ck_assert_int_eq(cudaGraphExecDestroy(exec), cudaSuccess);
    cube_close(&u);
    close_stream(stream);
}

static const struct {
    int stencil;
    gsw_factor_kind kind;
    int64_t count;
    gsw_dtype factor_type;
} captured[] = {
    {2, GSW_ILU0, 1, GSW_F64},   {5, GSW_DILU, 3, GSW_F64},         {4, GSW_SSOR, 8, GSW_F32},
    {2, GSW_JACOBI, 1, GSW_F64}, {0, GSW_FACTOR_LOWER, 1, GSW_F64},
};

TEST(solves_with_factors_are_captured_in_a_graph) {
    cudaStream_t stream = make_stream();
    contexts c = contexts_open(1, stream);
    recipe r = recipe_of((gsw_grid){40, 37, 21}, oracle_stencil(captured[_i].stencil, NULL),
                         ORACLE_ANY_SIGN, 3);
    r.by_cpu = 1;
    const gsw_factor_options options = {.size = sizeof options,
                                        .kind = captured[_i].kind,
                                        .factor_type = captured[_i].factor_type,
                                        .omega = OMEGA};
    problem q = problem_open_in(&c, &r);
    r.seed = 4;
    problem other = problem_open_in(&c, &r);
    pair p = pair_open(&other, &options); /* kernels are loaded outside the graph */
    block v = block_open(&p, captured[_i].count, 5);
    block_check_all(&v);
    block_close(&v);
    pair_close(&p);
    p = pair_open(&q, &options);
    v = block_open(&p, captured[_i].count, 5);

    /* The first solve with the factor is the captured one. */
    begin_capture(stream);
    solve_in(&v, 0, v.here_b.values, v.ldb, v.here_x.values, v.ldx);
    cudaGraphExec_t exec = end_capture(stream);
    for (int run = 0; run < 20; run++) {
        if (run == 10) /* the graph reads the new values */
            pair_refactor(&p, &other);
        replay(&v, exec, stream, run);
        block_check(&v, "from a graph");
        if (run % 3 == 0)
            block_check_all(&v); /* outside the graph */
    }
    ck_assert_int_eq(cudaGraphExecDestroy(exec), cudaSuccess);
    block_close(&v);
    pair_close(&p);
    problem_close(&other);
    problem_close(&q);
    contexts_close(&c);
    close_stream(stream);
}

/* ---- what is never published ---- */

static const int64_t withheld[] = {0, 1, 4}; /* pencils */

/* From now on a kernel waits for a line or a pencil that is never published, or for nothing. */
static void withhold(gsw_context *cuda, int64_t what) {
    if (what == NOTHING_WITHHELD)
        gsw_cuda_test_hooks(cuda, PATIENT_NS, NOTHING_WITHHELD, 0);
    else
        gsw_cuda_test_hooks(cuda, INT64_C(50000000), what, 0);
}

static void check_seconds(const block *v, double begin) {
    const double elapsed = gsw_seconds_now() - begin;
    ck_assert_msg(elapsed < 5, "%s: timed out after %g s only", v->p->text, elapsed);
}

/* A direct solve or one sweep that waits in vain: TIMEOUT, soon, and reported once. */
static void check_timeout(block *v, int which, int64_t what, int by_download) {
    gsw_context *cuda = v->p->q->c.here[0];
    const double begin = gsw_seconds_now();
    withhold(cuda, what);
    if (v->p->direct.size) {
        block_solve(v);
    } else {
        device_poison(cuda, &v->here_x);
        pair_must(v->p, cuda,
                  gsw_factor_sweep(cuda, v->p->here[0], which, v->count, v->here_b.values, v->ldb,
                                   v->here_x.values, v->ldx),
                  "queueing a sweep");
    }
    const gsw_status status =
        by_download ? gsw_memory_download(cuda, v->x, v->here_x.values, bytes_of(v, v->n))
                    : gsw_context_synchronize(cuda);
    withhold(cuda, NOTHING_WITHHELD);
    ck_assert_msg(status == GSW_ERROR_TIMEOUT, "%s: sweep %d, %d withheld: %s", v->p->text, which,
                  (int)what, gsw_status_name(status));
    check_seconds(v, begin);
    ck_assert_str_ne(gsw_context_message(cuda), "");
    ck_assert_int_eq(gsw_context_synchronize(cuda), GSW_SUCCESS);
}

/* A line whose progress is never published ends in TIMEOUT, and the next solve is right. */
TEST(a_withheld_line_times_out) {
    for (int s = 0; s < SOLVES; s++) {
        cube u;
        cube_open_direct(&u, _i, 24, NULL, s);
        for (int by_download = 0; by_download <= 1; by_download++) {
            check_timeout(&u.v, 0, 24 * 24 / 2 + 7 * s, by_download);
            block_check_all(&u.v);
        }
        cube_close(&u);
    }
}

/* The same for a pencil whose faces are never published. */
TEST(a_withheld_pencil_times_out) {
    static const int64_t counts[] = {1, 3};
    for (int k = 0; k < LENGTH(counts); k++) {
        cube u;
        cube_open(&u, _i, 24, 1, NULL, &ilu0);
        block_close(&u.v);
        u.v = block_open(&u.p, counts[k], 5);
        block_check_all(&u.v);
        for (int i = 0; i < 2 * LENGTH(withheld); i++) {
            check_timeout(&u.v, i % 2, withheld[i / 2], i / 2 % 2);
            block_check_repeat(&u.v, "after a timeout", i);
        }
        cube_close(&u);
    }
}

/* The same for a factorisation: the factor cannot be used until the next factorisation succeeds. */
TEST(a_factorisation_that_waits_in_vain_times_out) {
    static const gsw_factor_kind kinds[] = {GSW_ILU0, GSW_DILU};
    for (int i = 0; i < 2 * LENGTH(withheld); i++) {
        const gsw_factor_options options = {.size = sizeof options, .kind = kinds[i % 2]};
        cube u;
        cube_open(&u, _i, 24, 1, NULL, &options);
        gsw_context *cuda = u.c.here[0];
        block_check_all(&u.v);
        withhold(cuda, withheld[i / 2]);
        const double begin = gsw_seconds_now();
        const gsw_status status = gsw_factor_refactor(cuda, u.p.here[0], &u.q.here_lower, NULL);
        withhold(cuda, NOTHING_WITHHELD);
        ck_assert_msg(status == GSW_ERROR_TIMEOUT, "%s: ticket %d withheld: %s", u.p.text,
                      (int)withheld[i / 2], gsw_status_name(status));
        check_seconds(&u.v, begin);
        must_reject(
            gsw_factor_solve(cuda, u.p.here[0], 1, u.v.here_b.values, 0, u.v.here_x.values, 0));
        pair_refactor(&u.p, &u.q);
        block_check_repeat(&u.v, "after a factorisation that timed out", i);
        cube_close(&u);
    }
}

/* The same through a whole solve, whose second sweep comes after a first that gave up. */
TEST(a_solve_that_times_out_is_given_up) {
    cube u;
    cube_open(&u, _i, 24, 1, NULL, &ilu0);
    gsw_context *cuda = u.c.here[0];
    block_check_all(&u.v);
    for (int run = 0; run < 3; run++) {
        const double begin = gsw_seconds_now();
        withhold(cuda, 0);
        device_poison(cuda, &u.v.here_x);
        const gsw_status queued =
            gsw_factor_solve(cuda, u.p.here[0], 1, u.v.here_b.values, 0, u.v.here_x.values, 0);
        const gsw_status waited = gsw_context_synchronize(cuda);
        withhold(cuda, NOTHING_WITHHELD);
        /* The second sweep may be queued after the first one's end, and report it. */
        ck_assert_msg(queued == GSW_ERROR_TIMEOUT || waited == GSW_ERROR_TIMEOUT, "%s, %s",
                      gsw_status_name(queued), gsw_status_name(waited));
        check_seconds(&u.v, begin);
        ck_assert_int_eq(gsw_context_synchronize(cuda), GSW_SUCCESS);
        block_check_repeat(&u.v, "after a timeout", run);
    }
    cube_close(&u);
}

/* A solve that is queued directly after a sweep that will be given up. Its first blocks start
 * before that sweep has ended, and they find clean faces, also where it has more pencils than
 * blocks at a time. */
TEST(a_solve_behind_one_that_times_out_is_right) {
    static const int64_t sizes[] = {24, 104};
    for (int i = 0; i < LENGTH(sizes) * LENGTH(withheld); i++) {
        cube u;
        cube_open(&u, _i, sizes[i % 2], 2, NULL, &ilu0);
        gsw_context *cuda = u.c.here[0];
        block *v = &u.v;
        block_check_all(v);
        device_poison(cuda, &v->here_x);
        gsw_cuda_test_hooks(cuda, INT64_C(200000000), withheld[i / 2], 0);
        pair_must(&u.p, cuda,
                  gsw_factor_sweep(cuda, u.p.here[0], 0, 1, v->here_b.values, v->ldb,
                                   v->here_x.values, v->ldx),
                  "queueing a sweep");
        withhold(cuda, NOTHING_WITHHELD);
        solve_in(v, 0, v->here_b.values, v->ldb, v->here_x.values, v->ldx);
        ck_assert_int_eq(gsw_context_synchronize(cuda), GSW_ERROR_TIMEOUT);
        block_check_bits(v, "behind a sweep that timed out", i);
        cube_close(&u);
    }
}

/* ---- blocks, and other kernels ---- */

/* One block alone takes all pencils or lines in the order of their dependences. */
static void check_blocks(const recipe *r, const gsw_factor_options *options, int solve,
                         int64_t count) {
    static const int blocks[] = {1, 2, 3, 7, 1000};
    pair p;
    problem q = problem_open(r);
    if (options != NULL)
        p = pair_open(&q, options);
    else
        p = pair_direct(&q, solve, GSW_F64, GSW_ALGORITHM_LINE);
    block v = block_open(&p, count, 5);
    block_check_all(&v);
    for (int i = 0; i < LENGTH(blocks); i++) {
        gsw_cuda_test_hooks(both.here[0], PATIENT_NS, NOTHING_WITHHELD, blocks[i]);
        if (options != NULL)
            pair_refactor(&p, &q);
        block_check_repeat(&v, "with another number of blocks", blocks[i]);
    }
    gsw_cuda_test_hooks(both.here[0], PATIENT_NS, NOTHING_WITHHELD, 0);
    block_close(&v);
    pair_close(&p);
    problem_close(&q);
}

static const gsw_grid block_grids[] = {
    {33, 21, 11}, {5, 61, 37}, {1, 90, 80}, {300, 40, 1}, {300, 80, 1}};

TEST(any_number_of_blocks_gives_the_same_bits) {
    for (int i = 0; i < LENGTH(block_grids) * SOLVES; i++) {
        const int g = i / SOLVES, s = i % SOLVES;
        recipe r = recipe_of(block_grids[g], oracle_stencil(_i, NULL), ORACLE_ANY_SIGN, 3);
        r.layout = (g + 1) % 3;
        r.alone = 1;
        r.by_cpu = 1;
        const gsw_factor_options options = {
            .size = sizeof options, .kind = s % 2 ? GSW_DILU : GSW_ILU0, .transpose = s / 2};
        check_blocks(&r, NULL, s, 1);
        r.layout = 0;
        if ((_i == 2 || _i == 3) && s < 4)
            check_blocks(&r, &options, 0, 1 + s % 2);
    }
}

/* With another kernel on nine multiprocessors of ten, a solve ends before that kernel does, and so
 * does a factorisation. */
TEST(completes_on_an_occupied_device) {
    cudaStream_t stream = make_stream(), other = make_stream();
    cube u;
    cube_open_way(&u, _i, 64, 4, stream);
    gsw_context *cuda = u.c.here[0];
    block_check_all(&u.v); /* everything is loaded now */
    for (int refactor = 0; refactor < (u.p.direct.size ? 1 : 2); refactor++) {
        if (refactor)
            pair_refactor(&u.p, &u.q);
        ck_assert_int_eq(occupy_start(other, 0.9, 1000), cudaSuccess);
        if (refactor)
            pair_must(&u.p, cuda, gsw_factor_refactor(cuda, u.p.here[0], &u.q.here_lower, NULL),
                      "refactoring");
        for (int run = 0; run < 20; run++)
            block_solve(&u.v);
        device_try(cuda, gsw_context_synchronize(cuda));
        ck_assert_msg(cudaStreamQuery(other) == cudaErrorNotReady,
                      "%s: waited for the other kernel", u.p.text);
        block_check_repeat(&u.v, "on an occupied device", refactor);
        ck_assert_int_eq(cudaStreamSynchronize(other), cudaSuccess);
    }
    cube_close(&u);
    close_stream(other);
    close_stream(stream);
}

/* GSW_TEST_REPEATS solves, or a few, while another kernel occupies nine of ten multiprocessors.
 * Which block takes which pencil, and when, changes all the time. */
TEST(many_solves_on_an_occupied_device_give_the_same_bits) {
    const char *text = getenv("GSW_TEST_REPEATS");
    const int repeats = text == NULL ? 100 : atoi(text);
    cudaStream_t stream = make_stream(), other = make_stream();
    cube u;
    cube_open(&u, _i, 48, 4, stream, &ilu0);
    block_check_all(&u.v);
    for (int run = 0; run < repeats; run++) {
        if (cudaStreamQuery(other) == cudaSuccess)
            ck_assert_int_eq(occupy_start(other, 0.9, 100), cudaSuccess);
        block_check_repeat(&u.v, "on an occupied device", run);
    }
    printf("%s: %d solves on an occupied device, the same bits\n", u.p.text, repeats);
    ck_assert_int_eq(cudaStreamSynchronize(other), cudaSuccess);
    cube_close(&u);
    close_stream(other);
    close_stream(stream);
}

/* With no multiprocessor free, solves are queued without waiting, and run afterwards. */
TEST(solves_are_queued_without_waiting) {
    cudaStream_t stream = make_stream(), other = make_stream();
    cube u;
    cube_open_way(&u, _i, 32, 1, stream);
    block_check_all(&u.v);
    ck_assert_int_eq(occupy_start(other, 1.0, 500), cudaSuccess);
    for (int run = 0; run < 10; run++)
        block_solve(&u.v);
    ck_assert_msg(cudaStreamQuery(other) == cudaErrorNotReady, "%s: queueing a solve waited",
                  u.p.text);
    block_check_bits(&u.v, "after waiting", 0);
    ck_assert_int_eq(cudaStreamSynchronize(other), cudaSuccess);
    cube_close(&u);
    close_stream(other);
    close_stream(stream);
}

/* Scratch memory of direct solves is at most a hundredth of the matrix, of its shortest values and
 * indices. */
TEST(workspace_is_small) {
    static const int64_t sizes[] = {64, 96};
    for (int k = 0; k < LENGTH(sizes); k++) {
        contexts c = contexts_open(1, NULL);
        gsw_context *cuda = c.here[0];
        recipe r = cube_recipe(_i, sizes[k]);
        r.layout = 1;
        r.values = GSW_F32;
        problem q = problem_open_in(&c, &r);
        const gsw_csr *csr = &q.lower->view.csr;
        const int64_t bytes = 8 * csr->nonzeros + 4 * csr->rows;
        pair p = pair_direct(&q, 0, GSW_F64, GSW_ALGORITHM_LINE);
        block v = block_open(&p, 1, 5);
        for (int s = 0; s < SOLVES; s++) {
            p = pair_direct(&q, s, GSW_F64, GSW_ALGORITHM_LINE);
            block_solve(&v);
        }
        device_try(cuda, gsw_context_synchronize(cuda));
        const size_t workspace = gsw_cuda_line_workspace(cuda);
        ck_assert_uint_gt(workspace, 0);
        ck_assert_msg((int64_t)workspace <= bytes / 100,
                      "%s: %zu bytes of workspace, %lld of the matrix", p.text, workspace,
                      (long long)bytes);
        block_close(&v);
        problem_close(&q);
        contexts_close(&c);
    }
}

int main(void) {
    backend_chosen = GSW_BACKEND_CUDA;
    Suite *suite = suite_create("cuda_waiting");
    TCase *tc = sweep_case(suite, "streams");
    LOOPS(tc, WAYS, contexts_on_streams_do_not_disturb_each_other);
    LOOPS(tc, CUBES, direct_solves_are_captured_in_a_graph, workspace_is_small);
    LOOPS(tc, LENGTH(captured), solves_with_factors_are_captured_in_a_graph);
    tc = sweep_case(suite, "waiting");
    LOOPS(tc, CUBES, a_withheld_line_times_out, a_withheld_pencil_times_out,
          a_factorisation_that_waits_in_vain_times_out, a_solve_that_times_out_is_given_up,
          a_solve_behind_one_that_times_out_is_right,
          many_solves_on_an_occupied_device_give_the_same_bits);
    LOOPS(tc, oracle_stencil_count(), any_number_of_blocks_gives_the_same_bits);
    LOOPS(tc, WAYS * CUBES, completes_on_an_occupied_device, solves_are_queued_without_waiting);
    return device_run_suite(suite);
}
