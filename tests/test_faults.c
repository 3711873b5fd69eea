/* test_faults.c: what the library does where memory, files or numbers fail.
 *
 * Memory and files: each scene runs once to count its calls, and then once for each call that
 * fails. Then the n-th call alone fails, or all from the n-th on. Each run must end with a
 * documented status and a message. It must free all that it allocated and leave no output. The next
 * run must give the same bits as without a fault.
 *
 * GSW_FAULTS=10000 in the environment injects at least so many faults of data. */
#define _GNU_SOURCE /* fopencookie */
#include <dirent.h>

#include <check.h>

#include "reference/reference.h"
#include "fault_campaign.h"
#include "fault_memory.h"
#include "fault_numbers.h"
#include "fault_scenes.h"

/* ---- The world ------------------------------------------------------------------------------- */

static oracle_matrix *random_csr(gsw_grid grid) {
    const oracle_layout layout = {.format = GSW_FORMAT_CSR};
    oracle_matrix *plain = oracle_random(&grid, oracle_stencil_named("D3N7"), 7, ORACLE_POSITIVE);
    oracle_matrix *csr = oracle_convert(plain, &layout);
    oracle_free(plain);
    return csr;
}

static gsw_problem *problem(const char *text) {
    gsw_problem *made = NULL;
    ck_assert_int_eq(gsw_problem_parse(world.context, text, NULL, &made), GSW_SUCCESS);
    return made;
}

/* The same matrix with diagonals that make all rows add up to 0. */
static oracle_matrix *closed_matrix(const gsw_matrix *from) {
    const gsw_grid *g = &from->grid;
    const int32_t center = from->stencil.center;
    oracle_matrix *m = oracle_random(g, &from->stencil, 1, ORACLE_POSITIVE);
    for (int64_t row = 0; row < oracle_points(g); row++) {
        double sum = 0;
        for (int32_t e = 0; e < from->stencil.count; e++) {
            if (e == center || gsw_reference_neighbour(g, row, from->stencil.offsets[e], 1) < 0)
                continue;
            ((double *)m->arrays[e])[row] = -1;
            sum += 1;
        }
        ((double *)m->arrays[center])[row] = sum;
    }
    return m;
}

static int take_text(void *user, const char *bytes, size_t size) {
    (void)user;
    ck_assert_uint_lt(world.text_size + size, sizeof world.text);
    memcpy(world.text + world.text_size, bytes, size);
    world.text_size += size;
    return 0;
}

static char folder[] = "/tmp/gridsweep-faults.XXXXXX";

static void open_world(void) {
    const gsw_grid small = {5, 4, 3};
    world.context = oracle_context(2);
    world.random = oracle_random(&small, oracle_stencil_named("D3N7"), 7, ORACLE_POSITIVE);
    world.csr = random_csr(small);
    /* Rows in another order, so that no grid explains the matrix. */
    world.turned = random_csr((gsw_grid){7, 5, 1});
    ((int32_t *)world.turned->columns)[1] = 30;
    ((int32_t *)world.turned->columns)[2] = 34;
    world.poisson = problem("poisson:10x11x10");
    world.closed = closed_matrix(gsw_problem_matrix(world.poisson));
    world.convection = problem("convection:10x11x10");
    world.small = problem("lognormal:5x4x3");
    gsw_random_vector(1, FAULT_POINTS, world.b);
    for (int i = 0; i < FAULT_POINTS; i++)
        world.b32[i] = (float)world.b[i];
    ck_assert_int_eq(
        gsw_mm_print_matrix(world.context, "text", take_text, NULL, &world.csr->view.csr, NULL),
        GSW_SUCCESS);
    ck_assert_ptr_nonnull(mkdtemp(folder));
    (void)snprintf(world.path, sizeof world.path, "%s/file", folder);
}

static void close_world(void) {
    (void)unlink(world.path);
    ck_assert_int_eq(rmdir(folder), 0); /* so no temporary file is left */
    gsw_problem_destroy(world.small);
    gsw_problem_destroy(world.convection);
    gsw_problem_destroy(world.poisson);
    oracle_free(world.closed);
    oracle_free(world.turned);
    oracle_free(world.csr);
    oracle_free(world.random);
    gsw_context_destroy(world.context);
}

/* ---- Faults of memory ------------------------------------------------------------------------ */

static const scene scenes[] = {
    {"context", scene_context, 3, 0, 0},
    {"problem", scene_problem, sizeof problems / sizeof *problems, 0, 1},
    {"matrix to CSR", scene_to_csr, 12, 0, 0},
    {"detection", scene_detect, 4, 0, 1},
    {"fitting", scene_fit, 2, 0, 1},
    {"validation", scene_validate, 3, 0, 1},
    {"upload", scene_upload, 2, 0, 0},
    {"arrays", scene_memory, 2, 0, 0},
    {"triangular solve", scene_sptrsv, 32, 0, 0},
    {"factors", scene_factor, 2 * TYPES *OPTIONS, 5, 0},
    {"operators", scene_operator, 4, 0, 0},
    {"multigrid", scene_multigrid, 64, 7, 0},
    {"stencil loops", scene_relax, 4, 0, 0},
    {"choice", scene_choose, 5, 0, 0},
    {"Krylov methods", scene_krylov, 128, 5, 0},
    {"several systems", scene_krylov_many, 8, 0, 0},
    {"masks", scene_masked, 60, 0, 0},
    {"embeddings", scene_embedding, 4, 0, 0},
    {"one process of a partition", scene_distributed, 2 * GSW_FACTOR_LU + 4, 0, 0},
    {"Matrix Market text", scene_text, 4, 0, 0},
    {"Matrix Market files", scene_file, 3, 0, 0},
};
#define SCENES ((int)(sizeof scenes / sizeof scenes[0]))

/* The scenes of test_faults.c work with the same context. */
static campaign in_world(fault_kind kind) {
    return (campaign){.context = world.context,
                      .kind = kind,
                      .refusals = MAY(GSW_ERROR_OUT_OF_MEMORY),
                      .live = &fault.live};
}

TEST(memory_fails) {
    tally sum = {0};
    open_world();
    print_head("out of memory");
    for (int i = 0; i < SCENES; i++) {
        const campaign c = in_world(FAULT_MEMORY);
        tally t = {0};
        run_campaign(&c, &scenes[i],
                     scenes[i].stride > 0 && wanted_faults() == 0 ? scenes[i].stride : 1, &t);
        print_tally(scenes[i].name, &t);
        add_tally(&sum, &t);
    }
    print_tally("memory, all scenes", &sum);
    close_world();
    expect_no_fault(&sum, 1000);
}

/* ---- Faults of files ------------------------------------------------------------------------- */

/* Puts "old" in the file, or reads what is there. */
static void write_old(void) {
    FILE *file = __real_fopen(world.path, "w");
    ck_assert_ptr_nonnull(file);
    ck_assert_int_ge(fputs("old", file), 0);
    ck_assert_int_eq(fclose(file), 0);
}

static uint64_t file_hash(void) {
    static char text[1 << 20];
    outcome o = {.hash = 0};
    const int descriptor = __real_open(world.path, O_RDONLY | O_CLOEXEC);
    ck_assert_int_ge(descriptor, 0);
    const ssize_t size = read(descriptor, text, sizeof text);
    ck_assert_int_ge(size, 0);
    (void)__real_close(descriptor);
    note(&o, text, (size_t)size);
    return o.hash;
}

static int files_in_folder(void) {
    int count = 0;
    DIR *entries = opendir(folder);
    ck_assert_ptr_nonnull(entries);
    while (readdir(entries) != NULL)
        count++;
    (void)closedir(entries);
    return count - 2; /* . and .. */
}

/* One fault. Afterwards the old file or the whole new one is there, and no other file. */
static void file_fault(const scene *s, int variant, const outcome *base, uint64_t whole, tally *t) {
    write_old();
    const uint64_t old = file_hash();
    const long live = atomic_load(&fault.live), at = fault.at;
    fault.paused = 0;
    const campaign c = in_world(FAULT_FILE);
    const outcome o = play(&c, s, variant);
    fault.paused = 1;
    t->injected += atomic_load(&fault.hits) > 0;
    const int named = strstr(gsw_context_message(world.context), folder) != NULL;
    const uint64_t now = file_hash();
    const char *wrong = NULL;
    if (o.status == GSW_SUCCESS && fault.reason != 0)
        wrong = "a failed call is not reported";
    else if (o.status == GSW_SUCCESS && o.hash == base->hash && now == whole)
        t->served++;
    else if (o.status == GSW_ERROR_IO && named && o.left == 0 && (now == old || now == whole))
        t->refused++;
    else
        wrong = o.status != GSW_ERROR_IO     ? "another status or other bits"
                : !named                     ? "the message does not name the file"
                : now != old && now != whole ? "a part of a file"
                                             : "an output is left";
    if (files_in_folder() != 1)
        wrong = "a temporary file is left";
    if (wrong != NULL) {
        t->wrong++;
        complain(&c, s, variant, at, wrong, &o);
    }
    if (atomic_load(&fault.live) != live) {
        t->leaked++;
        complain(&c, s, variant, at, "a leak", &o);
        atomic_store(&fault.live, live);
    }
}

static void file_campaign(int reason, tally *t) {
    static const scene files = {"files", scene_file, 3, 0, 0};
    for (int variant = 0; variant < files.variants; variant++) {
        write_old();
        fault_arm(FAULT_FILE, 0, 0, reason);
        const campaign c = in_world(FAULT_FILE);
        const outcome base = play(&c, &files, variant);
        const long calls = atomic_load(&fault.calls);
        fault_disarm();
        ck_assert_int_eq(base.status, GSW_SUCCESS);
        const uint64_t whole = file_hash();
        for (long n = 1; n <= calls; n++)
            for (int on = 0; on < 2; on++) {
                fault_arm(FAULT_FILE, n, on, reason);
                fault.paused = 1;
                file_fault(&files, variant, &base, whole, t);
                fault_disarm();
            }
    }
}

TEST(files_fail) {
    static const struct {
        const char *name;
        int reason;
    } reasons[] = {{"files: no space", ENOSPC},
                   {"files: input/output error", EIO},
                   {"files: no permission", EACCES},
                   {"files: too many open files", EMFILE},
                   {"files: half is written or read", 0}};
    tally sum = {0};
    open_world();
    print_head("refused");
    for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++) {
        tally t = {0};
        file_campaign(reasons[i].reason, &t);
        print_tally(reasons[i].name, &t);
        add_tally(&sum, &t);
    }
    close_world();
    expect_no_fault(&sum, 100);
}

/* ---- Faults of numbers ----------------------------------------------------------------------- */

static outcome try_numbers(int call, trial *t) {
    outcome o = {.hash = GSW_HASH_BEGIN};
    (void)gsw_context_fail(world.context, GSW_SUCCESS, "");
    number_calls[call].run(&o, t);
    o.had_message = gsw_context_message(world.context)[0] != '\0';
    return o;
}

/* The same call with the good matrix: the bits of its first run. */
static int still_right(int call, int layout, int variant) {
    static outcome first[NUMBER_CALLS][NUMBER_LAYOUTS][NUMBER_VARIANTS];
    outcome *kept = &first[call][layout][variant];
    oracle_matrix *m = oracle_convert(world.random, &number_layouts[layout]);
    memset(world.x, 0, sizeof world.x);
    trial t = {.matrix = &m->view, .b = world.b, .x = world.x, .variant = variant};
    const outcome o = try_numbers(call, &t);
    oracle_free(m);
    if (kept->hash == 0)
        *kept = o;
    const unsigned good = number_calls[call].run == call_krylov ? IN_ITERATION : MAY(GSW_SUCCESS);
    return (good & MAY(o.status)) != 0 && o.hash == kept->hash && o.status == kept->status &&
           o.left == 0 && !t.false_claim;
}

static void number_trial(number_fault what, tally *sum) {
    static double b[FAULT_SMALL], x[FAULT_SMALL];
    int call;
    do
        call = (int)pick(NUMBER_CALLS);
    while ((number_calls[call].tried & ONLY(what)) == 0);
    const int layout = (int)pick(what > NUMBER_GUESS ? NUMBER_CSR_LAYOUTS : NUMBER_LAYOUTS);
    const int variant = (int)pick(NUMBER_VARIANTS);
    const uint64_t seed = fault_seed;
    const char *wrong = NULL;
    if (!still_right(call, layout, variant))
        wrong = "the good matrix, before";
    oracle_matrix *m = oracle_convert(world.random, &number_layouts[layout]);
    memcpy(b, world.b, sizeof b);
    memset(x, 0, sizeof x);
    spoil(what, m, b, x);
    trial t = {.matrix = &m->view, .b = b, .x = x, .variant = variant};
    const long live = atomic_load(&fault.live);
    const outcome o = try_numbers(call, &t);
    const scene s = {.name = number_calls[call].name};
    const campaign c = in_world(FAULT_NONE);
    unsigned allowed = number_calls[call].statuses;
    if (what > NUMBER_GUESS) { /* a diagonal that is gone is a zero one */
        allowed = IN_STRUCTURE | (allowed & MAY(GSW_ERROR_ZERO_PIVOT)) |
                  (number_calls[call].refused & ONLY(what) ? 0 : MAY(GSW_SUCCESS));
    }
    sum->injected++;
    if ((allowed & MAY(o.status)) == 0)
        wrong = "a status that is not documented for it";
    else if (t.false_claim)
        wrong = "it claims to have converged";
    else if (o.left > 0)
        wrong = "an output is left";
    else if (o.status != GSW_SUCCESS && !o.had_message)
        wrong = "no message";
    else if (o.status == GSW_SUCCESS)
        sum->served++;
    else
        sum->refused++;
    if (atomic_load(&fault.live) != live) {
        sum->leaked++;
        complain(&c, &s, variant, (long)seed, "a leak", &o);
    }
    oracle_free(m);
    if (wrong == NULL && !still_right(call, layout, variant))
        wrong = "the good matrix, after";
    if (wrong != NULL) {
        sum->wrong++;
        printf("  %s, layout %d\n", number_fault_names[what], layout);
        complain(&c, &s, variant, (long)seed, wrong, &o);
    }
}

TEST(numbers_fail) {
    open_world();
    const tally sum = run_number_faults(500, number_trial);
    close_world();
    expect_no_fault(&sum, sum.injected / 4);
}

/* ---- Broken copies --------------------------------------------------------------------------- */

/* Each fails in one way; the campaign must see it. */
static void *leaked[16]; /* freed in the end, so that LeakSanitizer has nothing to say */
static int leaks;

static void broken_leak(outcome *o, int variant) {
    (void)variant;
    void *first = malloc(8), *second = malloc(8);
    if (first == NULL || second == NULL) { /* frees nothing */
        o->status = gsw_context_fail(world.context, GSW_ERROR_OUT_OF_MEMORY, "no memory");
        leaked[leaks++ % 16] = first != NULL ? first : second;
        return;
    }
    free(first);
    free(second);
}

static void broken_bits(outcome *o, int variant) {
    (void)variant;
    void *volatile memory = malloc(8); /* compilers leave out what nobody uses */
    note_number(o, memory != NULL);    /* goes on without memory */
    free(memory);
}

static void broken_message(outcome *o, int variant) {
    (void)variant;
    void *volatile memory = malloc(8);
    o->status = memory != NULL ? GSW_SUCCESS : GSW_ERROR_OUT_OF_MEMORY;
    free(memory);
}

static void broken_state(outcome *o, int variant) {
    static int spoilt;
    (void)variant;
    void *volatile memory = malloc(8);
    if (memory == NULL) {
        o->status = gsw_context_fail(world.context, GSW_ERROR_OUT_OF_MEMORY, "no memory");
        spoilt++; /* and the next call suffers */
    }
    note_number(o, spoilt);
    free(memory);
}

static void broken_output(outcome *o, int variant) {
    (void)variant;
    void *output = untouched;
    void *volatile memory = malloc(8);
    MAKE(o, output,
         memory != NULL ? GSW_SUCCESS
                        : gsw_context_fail(world.context, GSW_ERROR_OUT_OF_MEMORY, "no memory"));
end:
    free(memory);
}

TEST(broken_copies_are_found) {
    static const scene broken[] = {{"leak", broken_leak, 1, 0, 0},
                                   {"bits", broken_bits, 1, 0, 0},
                                   {"message", broken_message, 1, 0, 0},
                                   {"state", broken_state, 1, 0, 0},
                                   {"output", broken_output, 1, 0, 0}};
    open_world();
    print_head("out of memory");
    printf("These copies are broken on purpose:\n");
    for (size_t i = 0; i < sizeof broken / sizeof *broken; i++) {
        const campaign c = in_world(FAULT_MEMORY);
        tally t = {0};
        run_campaign(&c, &broken[i], 1, &t);
        print_tally(broken[i].name, &t);
        ck_assert_msg(t.wrong + t.leaked > 0, "%s: not found", broken[i].name);
    }
    for (int i = 0; i < 16; i++)
        __real_free(leaked[i]);
    close_world();
}

int main(void) {
    (void)setvbuf(stdout, NULL, _IOLBF, 0); /* what a failing test has printed, too */
    Suite *suite = suite_create("faults");
    add_case(suite, "memory", memory_fails);
    add_case(suite, "files", files_fail);
    add_case(suite, "numbers", numbers_fail);
    add_case(suite, "broken", broken_copies_are_found);
    return suite_run(suite, CK_FORK_GETENV);
}
