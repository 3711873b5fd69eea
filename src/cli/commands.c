/* commands.c: the subcommands as a table: what they are called, what they take, who does them. */
#include "commands.h"
#include <string.h>
#include "bench/bench.h"
#include "cmd_detect.h"
#include "cmd_factor.h"
#include "cmd_generate.h"
#include "cmd_info.h"
#include "cmd_solve.h"
#include "cmd_sptrsv.h"
#include "common/nearest.h"
#include "help.h"

const cli_command *cli_find_command(const char *name) {
    for (const cli_command *command = cli_commands; command->name != NULL; command++)
        if (strcmp(command->name, name) == 0)
            return command;
    return NULL;
}

/* `gridsweep help` stands beside the table, of which it tells. */
static int cmd_help(const cli_options *options) {
    if (options->man) {
        cli_help_man(stdout, cli_commands);
        return CLI_OK;
    }
    if (options->file == NULL) {
        cli_help_program(stdout, cli_commands);
        return CLI_OK;
    }
    const cli_command *command = cli_find_command(options->file);
    if (command == NULL) {
        cli_error(options, "there is no command '%s'", options->file);
        fputs("Try 'gridsweep --help'.\n", stderr);
        return CLI_USAGE;
    }
    cli_help_command(stdout, command);
    return CLI_OK;
}

#define BACKEND_OPTIONS OPT_BACKEND, OPT_THREADS, OPT_DEVICE

static const cli_option_id no_options[] = {OPT_END};
static const cli_option_id help_options[] = {OPT_MAN, OPT_END};
static const cli_option_id info_options[] = {OPT_JSON, OPT_QUIET, OPT_END};
static const cli_option_id detect_options[] = {OPT_GRID, OPT_DETECT_BACKEND, OPT_DEVICE,
                                               OPT_JSON, OPT_QUIET,          OPT_END};
static const cli_option_id solve_options[] = {
    OPT_PROBLEM,          OPT_STENCIL,  OPT_GRID,          OPT_RHS,      OPT_X0,
    OPT_SOLVE_METHOD,     OPT_RESTART,  OPT_SOLVE_PRECOND, OPT_OMEGA,    OPT_PIVOT_SHIFT,
    OPT_FACTOR_PRECISION, OPT_MG_CYCLE, OPT_MG_SMOOTHER,   OPT_MG_THETA, OPT_MG_PRECISION,
    OPT_MG_INFO,          OPT_RTOL,     OPT_MAX_ITER,      OPT_NORM,     OPT_NULLSPACE,
    BACKEND_OPTIONS,      OPT_OUT,      OPT_JSON,          OPT_QUIET,    OPT_END};
static const cli_option_id sptrsv_options[] = {
    OPT_PROBLEM,       OPT_STENCIL, OPT_GRID,      OPT_PART,    OPT_TRANSPOSE,
    OPT_UNIT_DIAGONAL, OPT_RHS,     OPT_ALGORITHM, OPT_REPEATS, OPT_NO_CHECK,
    BACKEND_OPTIONS,   OPT_OUT,     OPT_JSON,      OPT_QUIET,   OPT_END};
static const cli_option_id factor_options[] = {
    OPT_PROBLEM,     OPT_STENCIL,          OPT_GRID,        OPT_FACTOR_KIND, OPT_OUT_L, OPT_OUT_U,
    OPT_PIVOT_SHIFT, OPT_FACTOR_PRECISION, BACKEND_OPTIONS, OPT_JSON,        OPT_QUIET, OPT_END};
static const cli_option_id generate_options[] = {OPT_PROBLEM, OPT_STENCIL, OPT_OUT_MATRIX,
                                                 OPT_JSON,    OPT_QUIET,   OPT_END};
static const cli_option_id bench_options[] = {OPT_BENCH_STENCIL,
                                              OPT_BENCH_SIZE,
                                              OPT_BENCH_PART,
                                              OPT_BENCH_PRECISION,
                                              OPT_BENCH_ALGORITHM,
                                              OPT_BENCH_COMPARE,
                                              OPT_BENCH_ABLATION,
                                              OPT_BENCH_CACHE,
                                              OPT_BENCH_WHOLE_SOLVE,
                                              OPT_BENCH_HPCG,
                                              OPT_BENCH_PROBLEM,
                                              OPT_RHS,
                                              OPT_METHOD,
                                              OPT_BENCH_PRECOND,
                                              OPT_MG_CYCLE,
                                              OPT_MG_SMOOTHER,
                                              OPT_MG_THETA,
                                              OPT_MG_PRECISION,
                                              OPT_RTOL,
                                              OPT_MAX_ITER,
                                              OPT_BENCH_THREADS,
                                              OPT_BENCH_REPEATS,
                                              OPT_BENCH_BACKEND,
                                              OPT_DEVICE,
                                              OPT_JSON,
                                              OPT_QUIET,
                                              OPT_END};

const cli_command cli_commands[] = {
    {"info", "show version, build options, processor, threads and GPUs", "[OPTION]...",
     "Shows the version, how the library was built, and what it finds to run on.",
     "gridsweep info\n", NULL, info_options, cmd_info},
    {"detect", "find the grid and the stencil of a matrix", "FILE.mtx [OPTION]...",
     "Reads a Matrix Market file whose rows are the points of a grid in natural order, and prints "
     "'grid NX NY NZ' and 'stencil NAME'. A stencil without a name is 'custom' and followed by its "
     "offsets, one 'offset DX DY DZ' per line. A periodic grid without --grid is refused, as is "
     "a grid whose rows are in another order; the message says which it is. FILE.mtx may be "
     "compressed with gzip; - is standard input.",
     "gridsweep generate --problem star13:16x12x10 --out A.mtx\n"
     "gridsweep detect A.mtx\n"
     "gridsweep detect --grid 16x12x10 A.mtx\n"
     "gridsweep generate --problem poisson:9x8 --out - | gridsweep detect -\n",
     "FILE.mtx", detect_options, cmd_detect},
    {"solve", "solve A x = b with a preconditioned Krylov method",
     "(FILE.mtx | --problem NAME:NXxNYxNZ) [OPTION]...",
     "Solves A x = b, starting from x = 0 or from --x0, and prints the convergence and the times: "
     "a live line "
     "on "
     "a terminal, a few plain lines otherwise. The residual reported at the end is the true one, "
     "||b - A x|| / ||b||. The line 'choice' says which preconditioner and which method were "
     "chosen, "
     "and why; 'fallback' says what followed where that did not converge. With --backend auto what "
     "the GPU cannot do runs on the CPU; the "
     "line 'backend' tells. Set-up (reading or making the system), copies to and from a GPU, "
     "factorisation and solve are reported apart. The JSON is also written where the iteration "
     "does not converge or breaks down: 'status' and 'message' tell. FILE.mtx may be -, standard "
     "input.",
     "gridsweep solve --problem lognormal:60x220x85\n"
     "gridsweep solve --problem lognormal:60x220x85 --method cg --precond ic0\n"
     "gridsweep solve --problem poisson:64x64x64 --precond mg --method richardson\n"
     "gridsweep generate --problem convection:64x64x64 --out A.mtx\n"
     "gridsweep solve A.mtx\n"
     "gridsweep solve A.mtx --rhs random:1 --rtol 1e-10 --out x.mtx --json r.json\n",
     "FILE.mtx", solve_options, cmd_solve},
    {"sptrsv", "solve one triangular system exactly",
     "(FILE.mtx | --problem NAME:NXxNYxNZ) --part lower|upper [OPTION]...",
     "Solves T x = b, where T is the lower or the upper part of the matrix, diagonal included, or "
     "its transpose. The result is compared with the reference sweep on the CPU. On a GPU the "
     "clock "
     "is read after the device is done; short solves are timed in batches of at least 2 ms, so "
     "that "
     "their launches overlap, and copies to and from the device are reported apart. FILE.mtx may "
     "be "
     "-, standard input.",
     "gridsweep generate --problem hpcg:64x64x64 --out A.mtx\n"
     "gridsweep sptrsv A.mtx --part lower --out x.mtx\n"
     "gridsweep sptrsv --problem random:1:64x64x64 --part upper --algorithm line\n",
     "FILE.mtx", sptrsv_options, cmd_sptrsv},
    {"factor", "write the factors L and U of an incomplete factorisation",
     "(FILE.mtx | --problem NAME:NXxNYxNZ) --precond KIND --out-l L.mtx --out-u U.mtx "
     "[OPTION]...",
     "Factorises the matrix without fill-in and writes both factors. M = L U; L has a unit "
     "diagonal "
     "with ilu0, U is the transpose of L with ic0 and has a unit diagonal with dilu. Either both "
     "files are replaced or none. FILE.mtx may be -, standard input.",
     "gridsweep generate --problem convection:20x20x20 --out A.mtx\n"
     "gridsweep factor A.mtx --precond ilu0 --out-l L.mtx --out-u U.mtx\n",
     "FILE.mtx", factor_options, cmd_factor},
    {"generate", "write a model problem as a Matrix Market file",
     "--problem NAME:NXxNYxNZ --out FILE.mtx [OPTION]...",
     "Writes the matrix of a model problem. Random values depend on the seed, the row and the "
     "offset alone: they are the same on every machine.",
     "gridsweep generate --problem poisson:64x64x64 --out poisson.mtx\n"
     "gridsweep generate --problem random:7:20x30x40 --stencil D3N27 --out A.mtx\n",
     NULL, generate_options, cmd_generate},
    {"bench", "time sweeps against the memory's copy bandwidth, or whole solves", "[OPTION]...",
     "Times every combination of the values in the lists, which are separated by commas. Each "
     "result is compared with the reference sweep in the same run, on a poisoned output. Times are "
     "medians after warm-up. Effective GB/s are the CSR bytes of the matrix (fp64 values: 12 "
     "nonzeros + 4 (rows + 1)) and both vectors over the time, as in the literature; moved GB/s "
     "are "
     "the bytes that the algorithm must move at least. The copy bandwidth, bytes read + written, "
     "is "
     "measured first. "
     "\n"
     "With CUDA, --compare, --ablation or --cache the matrix is a CSR of the part alone (of both "
     "parts for an ILU(0) apply), in the backend's memory, and x is poisoned before every run. "
     "'pencil' makes its packed factor before the timing: 'setup' is the time that takes, 'buf.' "
     "what the factor keeps. Rivals take part where one triangular part is solved in one "
     "precision. "
     "Times on a GPU are those between two "
     "events on the stream; in a build without GSW_BUILD_PERF the host's clock times batches of "
     "at least 2 ms (single runs with a cold cache or symgs), and there is no copy bandwidth.\n"
     "A solver that "
     "cannot run is shown with its reason. The CPU's solvers (serial, petsc) take few repeats, and "
     "without being named only up to 128^3 points. Wrong results of other solvers are shown as "
     "such "
     "and warned of; those of gridsweep end in exit code 4. The JSON file is written anew after "
     "each group, so that a run that is cut off leaves what it has.\n"
     "--part symgs times gsw_smooth() with an SSOR factor, omega 1, on the arrays of the "
     "stencil: x becomes x + M^-1 (b - A x), which is Gauss-Seidel over all rows upwards, then "
     "downwards. Before every run x is set to the same guess, outside the time; the result is "
     "compared with plain serial loops. Moved bytes are those of the residual, of both sweeps "
     "and of the addition to x; effective ones are those of two sweeps over the whole CSR.\n"
     "With --whole-solve a preconditioned Krylov method solves the system of --problem, starting "
     "from x = 0. The same method around other libraries does so too: cusparse on the GPU, petsc "
     "on one core; these take the preconditioners of --precond. petsc-gamg, hypre-pfmg, hypre-smg "
     "and hypre-boomeramg bring their own multigrid, on the CPU, or on the GPU with a hypre that "
     "was built for it; they take cg and bicgstab. Each tries several settings first, keeps the "
     "quickest and names it below its line.\n"
     "'before' is what is done once for a matrix's pattern, allocations and "
     "analyses; 'factor' makes the preconditioner of its values, in memory that is there; "
     "multigrid, "
     "gridsweep's and others', is made from nothing in every run. 'solve' iterates, and 'total' is "
     "both. Times are medians by the host's clock around calls that wait for the device, data "
     "being "
     "in its memory; --precision f32-factor stores gridsweep's factors in f32, and --mg-precision "
     "is that of its multigrid. The residual "
     "is the true one, computed apart from all solvers; * behind it: not converged, !: it misses "
     "--rtol although the method took itself to be done, ~: the same, by less than a factor of "
     "10.\n"
     "The other columns: 'precond' is the preconditioner, 'matrix' is what the solver is given, "
     "the arrays of the stencil or a CSR; "
     "'pre' the precision in which the preconditioner is stored; 'iter.' the iterations; 'per it.' "
     "the solve over these. The last two are relative to the first line: 'total x' the total, "
     "'+bef. x' the total with 'before'.\n"
     "With --hpcg a set of --max-iter (default: 50) iterations of CG on the 27-point matrix of "
     "HPCG, "
     "from x = 0 and in f64, is timed on each grid; --rtol stops it earlier. The preconditioner is "
     "HPCG's: a V cycle of four levels with injection, a step of symmetric Gauss-Seidel in natural "
     "order before and after each correction, and one step on the last level. 'GFLOP/s' are HPCG's "
     "count of operations "
     "over a set's time, 'rated' the same after HPCG's rule that a tenth of the set-up "
     "counts with each set; the set-up is that of the hierarchy. 'error' is the largest relative "
     "difference of the first residual norms from those of plain serial loops. These are no "
     "official "
     "HPCG results, because the structure of the grid is used.",
     "gridsweep bench\n"
     "gridsweep bench --stencil D3N7,D3N27 --size 64,60x220x85 --precision f64,f32\n"
     "gridsweep bench --part lower --algorithm reference,line,pencil --json b.json\n"
     "gridsweep bench --backend cuda --size 64,128,256 --compare --cache warm,cold\n"
     "gridsweep bench --backend cuda --part lower,both --algorithm pencil\n"
     "gridsweep bench --backend cuda --stencil D3N33 --ablation --json a.json\n"
     "gridsweep bench --part symgs --problem hpcg --size 64,128\n"
     "gridsweep bench --whole-solve --problem hpcg:64x64x64 --method cg\n"
     "gridsweep bench --whole-solve --problem convection:64x64x64 --compare petsc\n"
     "gridsweep bench --whole-solve --problem hpcg:64x64x64 --precond mg,ilu0\n"
     "gridsweep bench --hpcg --size 64,104\n",
     NULL, bench_options, cmd_bench},
    {"help", "show the help of a command", "[COMMAND]", "The same as 'gridsweep COMMAND --help'.",
     "gridsweep help solve\n", "COMMAND", help_options, cmd_help},
    {NULL, NULL, NULL, NULL, NULL, NULL, no_options, NULL}};

const char *cli_nearest_command(const char *name) {
    const char *names[sizeof cli_commands / sizeof *cli_commands];
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        names[i] = cli_commands[i].name; /* the last one is NULL */
    return cli_nearest(name, names);
}
