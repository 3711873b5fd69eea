/* multigrid.c: multigrid in the program: its options, what it says of the hierarchy, and the
 * hierarchy as JSON. */
#include "multigrid.h"
#include <string.h>
#include "output.h"
#include "common/processes.h"
#include "result.h"

int cli_mg_precision(const cli_options *options) {
    if (options->mg_precision >= 0)
        return options->mg_precision;
    const bool boxes_of_cpus = cli_processes() > 1 && options->backend != GSW_BACKEND_CUDA;
    return boxes_of_cpus || options->method == (int)GSW_GMRES ? GSW_F64 : GSW_F32;
}

gsw_multigrid_options cli_multigrid_options(const cli_options *options) {
    return (gsw_multigrid_options){.size = sizeof(gsw_multigrid_options),
                                   .smoother = (gsw_smoother)options->mg_smoother,
                                   .cycle = (gsw_cycle)options->mg_cycle,
                                   .cycle_type = (gsw_dtype)cli_mg_precision(options),
                                   .theta = options->mg_theta,
                                   .scope = (gsw_scope)options->scope};
}

/* "xz" and so on; "-" where no axis is coarsened. */
static const char *axes_name(int axes) {
    static const char *const names[] = {"-", "x", "y", "xy", "z", "xz", "yz", "xyz"};
    return names[axes & 7];
}

static const char *level_smoother(const gsw_multigrid_level *level) {
    return level->direct ? "direct" : gsw_smoother_name(level->smoother);
}

static void stencil_text(const gsw_multigrid_level *level, char text[32]) {
    const char *name = gsw_stencil_name(&level->stencil);
    if (strcmp(name, "custom") == 0)
        (void)snprintf(text, 32, "%d points", level->stencil.count);
    else
        (void)snprintf(text, 32, "%s", name);
}

static void print_levels(const cli_options *options, const gsw_multigrid *multigrid, int levels) {
    cli_print(options, "%5s %20s %10s %12s %5s %10s %10s\n", "level", "grid", "stencil",
              "couplings", "axes", "smoother", "MB");
    for (int i = 0; i < levels; i++) {
        gsw_multigrid_level level = {.size = sizeof level};
        char grid[64], stencil[32];
        if (gsw_multigrid_get_level(multigrid, i, &level) != GSW_SUCCESS)
            return;
        (void)snprintf(grid, sizeof grid, "%lldx%lldx%lld", (long long)level.grid.nx,
                       (long long)level.grid.ny, (long long)level.grid.nz);
        stencil_text(&level, stencil);
        cli_print(options, "%5d %20s %10s %12lld %5s %10s %10.1f\n", i, grid, stencil,
                  (long long)level.couplings, axes_name(level.axes), level_smoother(&level),
                  (double)level.bytes * 1e-6);
    }
}

void cli_print_multigrid(const cli_options *options, const gsw_multigrid *multigrid) {
    gsw_multigrid_info info = {.size = sizeof info};
    if (gsw_multigrid_get_info(multigrid, &info) != GSW_SUCCESS)
        return;
    char shared[48] = "";
    if (cli_processes() > 1)
        (void)snprintf(shared, sizeof shared, ", %d of them shared", info.shared_levels);
    cli_field(options, "multigrid", "%d level%s%s, %s cycle, smoother %s, operator complexity %.2f",
              info.levels, info.levels == 1 ? "" : "s", shared, gsw_cycle_name(info.cycle),
              gsw_smoother_name(info.smoother), info.operator_complexity);
    if (info.smoother_fallbacks > 0)
        cli_field(options, "fallbacks", "%d level%s where ilu0 met a bad pivot",
                  info.smoother_fallbacks, info.smoother_fallbacks == 1 ? "" : "s");
    if (options->mg_info)
        print_levels(options, multigrid, info.levels);
}

static cJSON *levels_array(const gsw_multigrid *multigrid, int count) {
    cJSON *levels = cJSON_CreateArray();
    for (int i = 0; i < count; i++) {
        gsw_multigrid_level level = {.size = sizeof level};
        if (gsw_multigrid_get_level(multigrid, i, &level) != GSW_SUCCESS)
            break;
        cJSON *entry = cli_json_new(CLI_LEVEL);
        cli_set_triple(entry, "grid", level.grid.nx, level.grid.ny, level.grid.nz);
        cli_set_text(entry, "stencil", gsw_stencil_name(&level.stencil));
        cli_set_number(entry, "stencil_points", level.stencil.count);
        cli_set_number(entry, "couplings", (double)level.couplings);
        cli_set_text(entry, "axes", axes_name(level.axes));
        cli_set_text(entry, "smoother", level_smoother(&level));
        cli_set_number(entry, "bytes", (double)level.bytes);
        cJSON_AddItemToArray(levels, entry);
    }
    return levels;
}

void cli_set_multigrid(cJSON *json, const gsw_multigrid *multigrid) {
    gsw_multigrid_info info = {.size = sizeof info};
    const bool shared = cli_processes() > 1;
    if (gsw_multigrid_get_info(multigrid, &info) != GSW_SUCCESS)
        return;
    cJSON *object = cli_json_new(shared ? CLI_DISTRIBUTED_MULTIGRID : CLI_MULTIGRID);
    cli_set_text(object, "smoother", gsw_smoother_name(info.smoother));
    cli_set_bool(object, "symmetric", info.symmetric);
    cli_set_number(object, "operator_complexity", info.operator_complexity);
    if (shared) {
        cli_set_number(object, "levels", info.levels);
        cli_set_number(object, "distributed_levels", info.shared_levels);
    } else {
        cli_set_text(object, "cycle", gsw_cycle_name(info.cycle));
        cli_set_bool(object, "singular", info.singular);
        cli_set_number(object, "grid_complexity", info.grid_complexity);
        cli_set_number(object, "bytes", (double)info.bytes);
        cli_set_number(object, "degenerate_points", (double)info.degenerate_points);
        cli_set_number(object, "smoother_fallbacks", info.smoother_fallbacks);
        cli_set(object, "levels", levels_array(multigrid, info.levels));
    }
    cli_set(json, shared ? "distributed_multigrid" : "multigrid", object);
}
