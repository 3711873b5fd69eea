/* test_core.c: statuses, contexts, grids and stencils. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <check.h>
#include <gridsweep/gridsweep.h>

#include "keep.h"
#include "suite.h"

/* ---- statuses ---- */

TEST(status_names_are_the_enumerators) {
    ck_assert_str_eq(gsw_status_name(GSW_SUCCESS), "GSW_SUCCESS");
    ck_assert_str_eq(gsw_status_name(GSW_ERROR_FORMAT), "GSW_ERROR_FORMAT");
    ck_assert_str_eq(gsw_status_name(GSW_ERROR_TIMEOUT), "GSW_ERROR_TIMEOUT");
    ck_assert_str_eq(gsw_status_name((gsw_status)4711), "GSW_UNKNOWN_STATUS");
    for (int value = 0; value <= GSW_ERROR_TIMEOUT; value++)
        ck_assert(strlen(gsw_status_text((gsw_status)value)) > 0);
    ck_assert_ptr_nonnull(gsw_status_text((gsw_status)-1));
    ck_assert_int_eq(GSW_SUCCESS, 0);
}

/* ---- contexts ---- */

typedef struct log_record {
    int calls;
    gsw_status status;
    char text[512];
} log_record;

static void keep_log(void *user, gsw_status status, const char *message) {
    log_record *record = user;
    record->calls++;
    record->status = status;
    snprintf(record->text, sizeof record->text, "%s", message);
}

TEST(context_defaults) {
    gsw_context *context = NULL;
    ck_assert_int_eq(gsw_context_create(NULL, &context), GSW_SUCCESS);
    ck_assert_ptr_nonnull(context);
    ck_assert_int_ne(gsw_context_backend(context), GSW_BACKEND_AUTO);
    ck_assert_int_ne(gsw_context_backend(context), GSW_BACKEND_REFERENCE);
    ck_assert_int_ge(gsw_context_threads(context), 1);
    ck_assert(strlen(gsw_context_device(context)) > 0);
    ck_assert_str_eq(gsw_context_message(context), "");
    gsw_context_destroy(context);
    gsw_context_destroy(NULL);
    ck_assert_str_eq(gsw_context_message(NULL), "");
}

TEST(backends_take_threads) {
    static const int threads[] = {[GSW_BACKEND_CPU] = 3, [GSW_BACKEND_REFERENCE] = 1};
    for (int backend = GSW_BACKEND_CPU; backend <= GSW_BACKEND_REFERENCE; backend += 2) {
        gsw_context *context = oracle_context_of((gsw_backend)backend, 3);
        ck_assert_int_eq(gsw_context_backend(context), backend);
        ck_assert_int_eq(gsw_context_threads(context), threads[backend]);
        if (backend == GSW_BACKEND_REFERENCE)
            ck_assert_str_eq(gsw_context_device(context), "serial reference");
        gsw_context_destroy(context);
    }
}

TEST(context_refuses_bad_options) {
    log_record record = {0};
    gsw_context_options options = {
        .size = sizeof options, .threads = -2, .log = keep_log, .log_user = &record};
    gsw_context *context = (gsw_context *)&record;
    must_reject(gsw_context_create(&options, &context));
    ck_assert_ptr_null(context);
    ck_assert_int_eq(record.calls, 1);
    ck_assert_int_eq(record.status, GSW_ERROR_INVALID_ARGUMENT);
    ck_assert_ptr_nonnull(strstr(record.text, "threads"));
    options.threads = 1025;
    must_reject(gsw_context_create(&options, &context));
    ck_assert_ptr_nonnull(strstr(record.text, "threads: 1025 is not in 0..1024"));

    options.threads = 0;
    options.backend = (gsw_backend)9;
    must_reject(gsw_context_create(&options, &context));
    ck_assert_ptr_null(context);
    ck_assert_ptr_nonnull(strstr(record.text, "backend"));
    must_reject(gsw_context_create(NULL, NULL));
}

/* Without CUDA, built in or on a device, the request must fail with a message. */
TEST(cuda_answers_or_says_why_not) {
    log_record record = {0};
    gsw_context_options options = {
        .size = sizeof options, .backend = GSW_BACKEND_CUDA, .log = keep_log, .log_user = &record};
    gsw_context *context = NULL;
    gsw_status status = gsw_context_create(&options, &context);
    if (status == GSW_SUCCESS) {
        ck_assert_int_eq(gsw_context_backend(context), GSW_BACKEND_CUDA);
        gsw_context_destroy(context);
    } else {
        ck_assert_int_eq(status, GSW_ERROR_NO_BACKEND);
        ck_assert_ptr_null(context);
        ck_assert_ptr_nonnull(strstr(record.text, "CUDA"));
    }
}

TEST(messages_reach_context_and_log) {
    log_record record = {0};
    gsw_context_options options = {
        .size = sizeof options, .backend = GSW_BACKEND_CPU, .log = keep_log, .log_user = &record};
    gsw_context *context = NULL;
    ck_assert_int_eq(gsw_context_create(&options, &context), GSW_SUCCESS);
    gsw_grid grid;
    must_reject(gsw_grid_parse(context, "3by4", &grid));
    ck_assert_ptr_nonnull(strstr(gsw_context_message(context), "3by4"));
    ck_assert_str_eq(record.text, gsw_context_message(context));
    ck_assert_int_eq(record.calls, 1);
    gsw_context_destroy(context);
}

TEST(names_of_the_build) {
    ck_assert_str_eq(gsw_backend_name(GSW_BACKEND_AUTO), "auto");
    ck_assert_str_eq(gsw_backend_name(GSW_BACKEND_CPU), "cpu");
    ck_assert_str_eq(gsw_backend_name(GSW_BACKEND_CUDA), "cuda");
    ck_assert_str_eq(gsw_backend_name(GSW_BACKEND_REFERENCE), "reference");
    ck_assert_str_eq(gsw_version(), GSW_VERSION_STRING);
    ck_assert(strlen(gsw_commit()) > 0);
    ck_assert_ptr_nonnull(strstr(gsw_build_info(), "compiler: "));
    ck_assert_ptr_nonnull(strstr(gsw_build_info(), "CUDA: "));
}

/* ---- grids ---- */

TEST(grid_points_are_counted) {
    int64_t points = -1;
    ck_assert_int_eq(gsw_grid_points(&(gsw_grid){60, 220, 85}, &points), GSW_SUCCESS);
    ck_assert_int_eq(points, 1122000);
    ck_assert_int_eq(gsw_grid_points(&(gsw_grid){2048, 2048, 2048}, &points), GSW_SUCCESS);
    ck_assert_int_eq(points, INT64_C(8589934592));
    ck_assert_int_eq(gsw_grid_points(&(gsw_grid){INT64_C(1) << 31, INT64_C(1) << 17, 1}, &points),
                     GSW_SUCCESS);
    ck_assert_int_eq(points, INT64_C(1) << 48);
    ck_assert_int_eq(gsw_grid_row(&(gsw_grid){2048, 2048, 2048}, 2047, 2047, 2047),
                     INT64_C(8589934591));
}

TEST(grid_points_refuse) {
    int64_t points = 77;
    must_reject(gsw_grid_points(NULL, &points));
    must_reject(gsw_grid_points(&(gsw_grid){1, 1, 1}, NULL));
    must_reject(gsw_grid_points(&(gsw_grid){0, 1, 1}, &points));
    must_reject(gsw_grid_points(&(gsw_grid){1, -1, 1}, &points));
    must_reject(gsw_grid_points(&(gsw_grid){1, 1, INT64_MIN}, &points));
    ck_assert_int_eq(gsw_grid_points(&(gsw_grid){INT64_MAX, 2, 1}, &points), GSW_ERROR_OVERFLOW);
    ck_assert_int_eq(gsw_grid_points(&(gsw_grid){(INT64_C(1) << 48) + 1, 1, 1}, &points),
                     GSW_ERROR_OVERFLOW);
    ck_assert_int_eq(points, 77);
}

TEST(grid_parse_reads_two_and_three_extents) {
    gsw_grid grid;
    ck_assert_int_eq(gsw_grid_parse(NULL, "60x220x85", &grid), GSW_SUCCESS);
    ck_assert(grid.nx == 60 && grid.ny == 220 && grid.nz == 85);
    ck_assert_int_eq(gsw_grid_parse(NULL, "7X9", &grid), GSW_SUCCESS);
    ck_assert(grid.nx == 7 && grid.ny == 9 && grid.nz == 1);
}

TEST(grid_parse_refuses) {
    static const char *const bad[] = {"",       "5",     "5x",   "x5",     "5x5x", "5x5x5x5",
                                      "5x5x5 ", " 5x5",  "-5x5", "5x+5",   "5x0",  "0x0x0",
                                      "5,5",    "5x5.5", "axb",  "5x5x5y", "5xx5", "5x5\n"};
    for (size_t k = 0; k < sizeof bad / sizeof bad[0]; k++) {
        gsw_grid grid = {-7, -7, -7};
        ck_assert_msg(gsw_grid_parse(NULL, bad[k], &grid) == GSW_ERROR_INVALID_ARGUMENT,
                      "'%s' was not refused", bad[k]);
        ck_assert_int_eq(grid.nx, -7);
    }
    gsw_grid grid;
    ck_assert_int_eq(gsw_grid_parse(NULL, "99999999999999999999x2", &grid), GSW_ERROR_OVERFLOW);
    ck_assert_int_eq(gsw_grid_parse(NULL, "4294967296x4294967296", &grid), GSW_ERROR_OVERFLOW);
    must_reject(gsw_grid_parse(NULL, NULL, &grid));
    must_reject(gsw_grid_parse(NULL, "2x2", NULL));
}

/* ---- stencils ---- */

static int stencils_known(void) {
    int count = 0;
    while (gsw_stencil_known(count) != NULL)
        count++;
    return count;
}

TEST(the_known_stencils_are_these) {
    static const char *const known[] = {"D2N5",   "D2N9",   "D3N7",  "D3N13", "D3N15", "D3N15X",
                                        "D3N15Y", "D3N15Z", "D3N19", "D3N27", "D3N33"};
    const int count = (int)(sizeof known / sizeof known[0]);
    ck_assert_int_eq(stencils_known(), count);
    for (int k = 0; k < count; k++)
        ck_assert_str_eq(gsw_stencil_known(k), known[k]);
    ck_assert_ptr_null(gsw_stencil_known(-1));
    ck_assert_ptr_null(gsw_stencil_known(INT32_MAX));
}

/* A name gives the dimensions and the points, and sometimes an axis. A stencil of the plane stays
 * in it. */
TEST(named_stencils_are_whole_and_sorted) {
    const char *name = gsw_stencil_known(_i);
    gsw_stencil stencil;
    ck_assert_int_eq(gsw_stencil_named(name, &stencil), GSW_SUCCESS);
    char derived[32];
    snprintf(derived, sizeof derived, "D%dN%d", stencil.offsets[0].dz < 0 ? 3 : 2, stencil.count);
    ck_assert_msg(strncmp(name, derived, strlen(derived)) == 0, "%s is a %s", name, derived);
    const char *axis = name + strlen(derived);
    ck_assert_msg(axis[0] == '\0' || (strchr("XYZ", axis[0]) != NULL && axis[1] == '\0'), "%s",
                  name);
    ck_assert_int_eq(stencil.center, stencil.count / 2);
    ck_assert_int_ge(gsw_stencil_find(&stencil, (gsw_offset){-1, 0, 0}), 0);
    for (int k = 0; k < stencil.count; k++) {
        gsw_offset o = stencil.offsets[k];
        ck_assert_int_eq(gsw_stencil_find(&stencil, o), k);
        /* Point symmetry: the mirrored offset sits at the mirrored place. */
        ck_assert_int_eq(gsw_stencil_find(&stencil, (gsw_offset){-o.dx, -o.dy, -o.dz}),
                         stencil.count - 1 - k);
        if (k == 0)
            continue;
        gsw_offset p = stencil.offsets[k - 1];
        ck_assert(p.dz < o.dz || (p.dz == o.dz && (p.dy < o.dy || (p.dy == o.dy && p.dx < o.dx))));
    }
    ck_assert_str_eq(gsw_stencil_name(&stencil), name);
}

TEST(named_stencils_hold_what_they_say) {
    gsw_stencil s;
    ck_assert_int_eq(gsw_stencil_named("d3n7", &s), GSW_SUCCESS);
    ck_assert_int_eq(gsw_stencil_find(&s, (gsw_offset){0, 0, -1}), 0);
    ck_assert_int_eq(gsw_stencil_find(&s, (gsw_offset){0, -1, 0}), 1);
    ck_assert_int_eq(gsw_stencil_find(&s, (gsw_offset){-1, 0, 0}), 2);
    ck_assert_int_eq(gsw_stencil_find(&s, (gsw_offset){1, 1, 0}), -1);
    ck_assert_int_eq(gsw_stencil_named("D3N13", &s), GSW_SUCCESS);
    ck_assert_int_ge(gsw_stencil_find(&s, (gsw_offset){0, 2, 0}), 0);
    ck_assert_int_eq(gsw_stencil_find(&s, (gsw_offset){1, 1, 0}), -1);
    ck_assert_int_eq(gsw_stencil_named("D3N15", &s), GSW_SUCCESS);
    ck_assert_int_eq(s.count, 15);
    for (int dz = -1; dz <= 1; dz++)
        for (int dy = -1; dy <= 1; dy++)
            for (int dx = -1; dx <= 1; dx++)
                ck_assert_int_eq(gsw_stencil_find(&s, (gsw_offset){dx, dy, dz}) >= 0,
                                 abs(dx) + abs(dy) + abs(dz) != 2);
    for (int axis = 0; axis < 3; axis++) {
        const char name[] = {'D', '3', 'N', '1', '5', (char)('X' + axis), '\0'};
        ck_assert_int_eq(gsw_stencil_named(name, &s), GSW_SUCCESS);
        ck_assert_int_eq(s.count, 15);
        for (int k = 0; k < s.count; k++) {
            const gsw_offset o = s.offsets[k];
            const int along = abs(axis == 0 ? o.dx : axis == 1 ? o.dy : o.dz);
            ck_assert_int_le(along, 1);
            ck_assert_int_le(abs(o.dx) + abs(o.dy) + abs(o.dz) - along, 1);
        }
    }
    ck_assert_int_eq(gsw_stencil_named("D3N19", &s), GSW_SUCCESS);
    ck_assert_int_ge(gsw_stencil_find(&s, (gsw_offset){-1, 0, 1}), 0);
    ck_assert_int_eq(gsw_stencil_find(&s, (gsw_offset){1, 1, 1}), -1);
    ck_assert_int_eq(gsw_stencil_named("D3N33", &s), GSW_SUCCESS);
    ck_assert_int_ge(gsw_stencil_find(&s, (gsw_offset){1, 1, 1}), 0);
    ck_assert_int_ge(gsw_stencil_find(&s, (gsw_offset){0, 0, -2}), 0);
    ck_assert_int_eq(gsw_stencil_named("D2N9", &s), GSW_SUCCESS);
    ck_assert_int_eq(gsw_stencil_find(&s, (gsw_offset){0, 0, 1}), -1);
}

TEST(named_stencils_refuse) {
    gsw_stencil s;
    must_reject(gsw_stencil_named("D3N8", &s));
    must_reject(gsw_stencil_named("", &s));
    must_reject(gsw_stencil_named("D3N7 ", &s));
    must_reject(gsw_stencil_named("D3N", &s));
    must_reject(gsw_stencil_named(NULL, &s));
    must_reject(gsw_stencil_named("D3N7", NULL));
}

TEST(stencil_from_offsets_sorts_and_is_named) {
    static const gsw_offset shuffled[] = {{1, 0, 0},  {0, 0, 1},  {0, 0, 0}, {0, -1, 0},
                                          {-1, 0, 0}, {0, 0, -1}, {0, 1, 0}};
    gsw_stencil s;
    ck_assert_int_eq(gsw_stencil_from_offsets(shuffled, 7, &s), GSW_SUCCESS);
    ck_assert_int_eq(s.center, 3);
    ck_assert_str_eq(gsw_stencil_name(&s), "D3N7");
    static const gsw_offset lopsided[] = {{5, 0, 0}, {0, 0, 0}, {-3, 2, -1}};
    ck_assert_int_eq(gsw_stencil_from_offsets(lopsided, 3, &s), GSW_SUCCESS);
    ck_assert_int_eq(s.center, 1);
    ck_assert_int_eq(s.offsets[0].dx, -3);
    ck_assert_str_eq(gsw_stencil_name(&s), "custom");
    ck_assert_str_eq(gsw_stencil_name(NULL), "custom");
}

TEST(stencil_from_offsets_refuses) {
    static const gsw_offset twice[] = {{0, 0, 0}, {1, 0, 0}, {1, 0, 0}};
    static const gsw_offset no_center[] = {{1, 0, 0}, {-1, 0, 0}};
    static const gsw_offset far_away[] = {{0, 0, 0}, {0, GSW_OFFSET_MAX + 1, 0}};
    static const gsw_offset extreme[] = {{0, 0, 0}, {0, 0, INT32_MIN}};
    static gsw_offset many[GSW_STENCIL_MAX + 1];
    for (int k = 0; k <= GSW_STENCIL_MAX; k++)
        many[k].dx = k;
    gsw_stencil s = {.count = -5};
    must_reject(gsw_stencil_from_offsets(twice, 3, &s));
    must_reject(gsw_stencil_from_offsets(no_center, 2, &s));
    must_reject(gsw_stencil_from_offsets(far_away, 2, &s));
    must_reject(gsw_stencil_from_offsets(extreme, 2, &s));
    must_reject(gsw_stencil_from_offsets(many, GSW_STENCIL_MAX + 1, &s));
    must_reject(gsw_stencil_from_offsets(many, 0, &s));
    must_reject(gsw_stencil_from_offsets(NULL, 1, &s));
    must_reject(gsw_stencil_from_offsets(many, 1, NULL));
    ck_assert_int_eq(s.count, -5);
    ck_assert_int_eq(gsw_stencil_from_offsets(many, GSW_STENCIL_MAX, &s), GSW_SUCCESS);
    ck_assert_int_eq(s.count, GSW_STENCIL_MAX);
}

int main(void) {
    Suite *suite = suite_create("core");
    TCase *tc = suite_case(suite, "core", 120, NULL, NULL);
    TESTS(tc, status_names_are_the_enumerators, context_defaults, backends_take_threads,
          context_refuses_bad_options, cuda_answers_or_says_why_not, messages_reach_context_and_log,
          names_of_the_build, grid_points_are_counted, grid_points_refuse,
          grid_parse_reads_two_and_three_extents, grid_parse_refuses, the_known_stencils_are_these,
          named_stencils_hold_what_they_say, named_stencils_refuse,
          stencil_from_offsets_sorts_and_is_named, stencil_from_offsets_refuses);
    LOOPS(tc, stencils_known(), named_stencils_are_whole_and_sorted);
    return suite_run(suite, CK_FORK_GETENV);
}
