/* commands.c: the subcommands as a table: names, options, texts, functions. */
#include "commands.h"
#include <string.h>
#include "cmd.h"
#include "help.h"

const cli_command *cli_find_command(const char *name) {
    for (const cli_command *command = cli_commands; command->name != NULL; command++)
        if (strcmp(command->name, name) == 0)
            return command;
    return NULL;
}

/* `gridsweep help`: it shows the table. */
static int cmd_help(const cli_options *options) {
    if (options->man) {
        cli_help_man(stdout, cli_commands);
        return CLI_OK;
    }
    if (options->schema) {
        if (cli_help_schema(stdout))
            return CLI_OK;
        return cli_error(options, "out of memory");
    }
    if (options->file == NULL) {
        cli_help_program(stdout, cli_commands);
        return CLI_OK;
    }
    const cli_command *command = cli_find_command(options->file);
    if (command == NULL)
        return cli_reject_command(options->file);
    cli_help_command(stdout, command, false);
    return CLI_OK;
}

/* The options of a command: the common ones, which are so many, come first. */
#define OPTIONS(...) ((const cli_option_id[]){__VA_ARGS__, OPT_END})
enum { SOLVE_COMMON = 11, SPTRSV_COMMON = 10, FACTOR_COMMON = 8, BENCH_COMMON = 12 };

const cli_command cli_commands[] = {
    {"info", "show version, build options, processor, threads and GPUs", "[OPTION]...",
     "The command shows the version, the options of the build, and the processor, the threads "
     "and the GPUs that the library finds. It also shows where the shapes of kernels come from "
     "(see 'gridsweep tune'); for that it opens each GPU for a moment.",
     "gridsweep info\n", NULL, OPTIONS(OPT_JSON, OPT_QUIET), OPT_COUNT, cmd_info},
    {"detect", "find the grid and the stencil of a matrix", "FILE.mtx [OPTION]...",
     "FILE.mtx holds a matrix whose rows are the points of a grid in natural order. The command "
     "prints its grid as 'grid NX NY NZ' and its stencil as 'stencil NAME', and between them "
     "'periodic AXES' if the ends of axes are neighbours. If the stencil has no name, NAME is "
     "'custom', and one line 'offset DX DY DZ' follows for each offset. "
     "FILE.mtx may be compressed with gzip; - is standard input.\n"
     "The command refuses a grid whose rows are in another order, without --coordinates.",
     "gridsweep generate --problem star13:16x12x10 --out A.mtx\n"
     "gridsweep detect A.mtx\n"
     "gridsweep detect --grid 16x12x10 A.mtx\n"
     "gridsweep generate --problem poisson:9x8 --out - | gridsweep detect -\n",
     "FILE.mtx",
     OPTIONS(OPT_GRID, OPT_PERIODIC, OPT_MASK, OPT_COORDINATES, OPT_DETECT_BACKEND, OPT_DEVICE,
             OPT_JSON, OPT_QUIET),
     OPT_COUNT, cmd_detect},
    {"solve", "solve A x = b with a preconditioned Krylov method",
     "(FILE.mtx | --problem NAME:NXxNYxNZ) [OPTION]...",
     "The command solves A x = b, starting from x = 0 or from --x0. On a terminal a live line "
     "shows the convergence; otherwise the command prints a few plain lines. The line 'choice' "
     "names the chosen preconditioner and method, and the reason. At the end the command reports "
     "the true residual, ||b - A x|| / ||b||. FILE.mtx may be compressed with gzip; - is "
     "standard input.\n"
     "The line 'fallback' names what followed if the first choice did not converge. With "
     "--backend auto the CPU does what the GPU cannot do; the line 'backend' says so. The "
     "command reports the times of set-up (reading or generating the system), copies to and from "
     "a GPU, factorisation and solve separately. It also writes the JSON if the iteration does "
     "not converge or breaks down; 'status' and 'message' then give the reason.\n"
     "Under a launcher such as mpirun the processes solve the system together, on CPUs or on one "
     "GPU each. Each has one box of the grid. The first process reads or generates the system, "
     "distributes it, collects the solution, and prints. auto chooses there as on one process. "
     "With --overlap it chooses a factor, and bicgstab. If a process stops answering, the others "
     "end with exit code 5 after --wait-limit.",
     "gridsweep solve --problem lognormal:60x220x85\n"
     "gridsweep solve --problem lognormal:60x220x85 --method cg --precond ic0\n"
     "gridsweep solve --problem hpcg:64x64x64 --precond mg --method richardson\n"
     "gridsweep generate --problem convection:64x64x64 --out A.mtx\n"
     "gridsweep solve A.mtx\n"
     "gridsweep solve A.mtx --rhs random:1 --rtol 1e-10 --out x.mtx\n"
     "gridsweep solve A.mtx --mask ocean.npy\n"
     "gridsweep solve A.mtx --coordinates nodes.npy\n"
     "mpirun -n 4 gridsweep solve --problem lognormal:64x64x64\n",
     "FILE.mtx",
     OPTIONS(OPT_PROBLEM, OPT_RHS, OPT_SOLVE_METHOD, OPT_SOLVE_PRECOND, OPT_RTOL, OPT_MAX_ITER,
             OPT_BACKEND, OPT_THREADS, OPT_OUT, OPT_JSON, OPT_QUIET, OPT_FACTOR_PRECISION,
             OPT_STENCIL, OPT_CONSTANT, OPT_GRID, OPT_PERIODIC, OPT_X0, OPT_MASK, OPT_COORDINATES,
             OPT_NULLSPACE, OPT_RESTART, OPT_OMEGA, OPT_PIVOT_SHIFT, OPT_NORM, OPT_EISENSTAT,
             OPT_MG_CYCLE, OPT_MG_SMOOTHER, OPT_MG_THETA, OPT_MG_INFO, OPT_MG_PRECISION, OPT_SCOPE,
             OPT_OVERLAP, OPT_BOXES, OPT_WAIT_LIMIT, OPT_DEVICE),
     SOLVE_COMMON, cmd_solve},
    {"sptrsv", "solve one triangular system exactly",
     "(FILE.mtx | --problem NAME:NXxNYxNZ) --part lower|upper [OPTION]...",
     "The command solves T x = b. T is the lower or the upper part of the matrix, diagonal "
     "included, or the transpose of that part. The command compares the result with the "
     "reference sweep on the CPU. FILE.mtx may be compressed with gzip; - is standard input.\n"
     "On a GPU the command reads the clock after the device has finished. It times short solves "
     "in batches of at least 2 ms, so that their launches overlap. It reports copies to and from "
     "the device separately.",
     "gridsweep generate --problem hpcg:64x64x64 --out A.mtx\n"
     "gridsweep sptrsv A.mtx --part lower --out x.mtx\n"
     "gridsweep sptrsv --problem hpcg:64x64x64 --part upper --algorithm line\n",
     "FILE.mtx",
     OPTIONS(OPT_PROBLEM, OPT_PART, OPT_TRANSPOSE, OPT_RHS, OPT_ALGORITHM, OPT_BACKEND, OPT_THREADS,
             OPT_OUT, OPT_JSON, OPT_QUIET, OPT_STENCIL, OPT_CONSTANT, OPT_GRID, OPT_PERIODIC,
             OPT_MASK, OPT_UNIT_DIAGONAL, OPT_REPEATS, OPT_NO_CHECK, OPT_DEVICE),
     SPTRSV_COMMON, cmd_sptrsv},
    {"factor", "write the factors L and U of an incomplete factorisation",
     "(FILE.mtx | --problem NAME:NXxNYxNZ) --precond KIND --out-l L.mtx --out-u U.mtx [OPTION]...",
     "The command factorises the matrix without fill-in, M = L U, and writes both factors. With "
     "ilu0, L has a unit diagonal. With ic0, U is the transpose of L. With dilu, U has a unit "
     "diagonal. The command replaces both files or neither. FILE.mtx may be compressed with "
     "gzip; - is standard input.",
     "gridsweep generate --problem convection:20x20x20 --out A.mtx\n"
     "gridsweep factor A.mtx --precond ilu0 --out-l L.mtx --out-u U.mtx\n",
     "FILE.mtx",
     OPTIONS(OPT_PROBLEM, OPT_FACTOR_KIND, OPT_OUT_L, OPT_OUT_U, OPT_BACKEND, OPT_THREADS, OPT_JSON,
             OPT_QUIET, OPT_STENCIL, OPT_GRID, OPT_PERIODIC, OPT_MASK, OPT_PIVOT_SHIFT,
             OPT_FACTOR_PRECISION, OPT_DEVICE),
     FACTOR_COMMON, cmd_factor},
    {"generate", "write a model problem as a Matrix Market file",
     "--problem NAME:NXxNYxNZ --out FILE.mtx [OPTION]...",
     "The command writes the matrix of a model problem. Random values depend only on the seed, "
     "the row and the offset: they are the same on every machine. If the name of the file ends "
     "in .gz, the command compresses the file. If the problem has inactive points, their rows are "
     "those of the identity.\n"
     "poisson: -div grad with Dirichlet conditions, 7 points (5 in 2D).\n"
     "anisotropic: the same with coefficients 1, 0.1 and 0.001 along x, y and z.\n"
     "convection: diffusion and a constant wind, 7 points (5 in 2D); not symmetric.\n"
     "lognormal: pressure in a rock whose permeability varies by a factor of 1e6, 7 points (5).\n"
     "hpcg: the matrix of the benchmark HPCG, 27 points (9 in 2D).\n"
     "helmholtz19: a Laplacian with a positive shift, 19 points.\n"
     "star13: a fourth-order Laplacian, 13 points.\n"
     "box33: hpcg and the six neighbours at distance two, 33 points.\n"
     "ocean[:LAND]: diffusion in water between coasts without flux; LAND is the share of land, "
     "0.35 without it. In 3D plane 0 is the surface.\n"
     "reservoir: pressure in layers of rock, of which some pinch out, with faults and wells.\n"
     "channel: pressure between walls; periodic along x, in 3D also along y.\n"
     "obstacles: flow around cylinders and boxes, from one end of x to the other.\n"
     "globe: diffusion on a sphere, longitudes along x and latitudes along y; periodic along x.\n"
     "random:SEED: random values on the points of --stencil; not symmetric.",
     "gridsweep generate --problem poisson:64x64x64 --out poisson.mtx\n"
     "gridsweep generate --problem random:7:9x8x7 --stencil D3N27 -o A.mtx.gz\n"
     "gridsweep generate --problem ocean:96x64 --out A.mtx --out-mask A.npy\n",
     NULL, OPTIONS(OPT_PROBLEM, OPT_STENCIL, OPT_OUT_MATRIX, OPT_OUT_MASK, OPT_JSON, OPT_QUIET),
     OPT_COUNT, cmd_generate},
    {"bench", "time sweeps against the memory's copy bandwidth, or whole solves", "[OPTION]...",
     "The command times every combination of the values in its comma-separated lists. In the "
     "same run it compares each result with the reference sweep, after it has filled the output "
     "with NaN. Times are medians after a warm-up. 'eff.' is the effective bandwidth of the "
     "literature: the bytes of the CSR matrix (fp64 values: 12 nonzeros + 4 (rows + 1)) and of "
     "both vectors, divided by the time. 'moved' counts the bytes that the algorithm must move "
     "at least. The command measures the copy bandwidth first, bytes read + written.\n"
     "With CUDA, --compare, --ablation or --cache the matrix is a CSR of the part alone, or of "
     "both parts for an ILU(0) apply. It lies in the backend's memory, and x is filled with NaN "
     "before every run. 'setup' is the time in which 'pencil' packs its factor, 'buf.' the "
     "memory of that factor. Rivals run if a case is one triangular part in one precision. On a "
     "GPU two events on the stream give the times. In a build without GSW_BUILD_PERF the host's "
     "clock times batches of at least 2 ms (single runs with a cold cache or symgs), and there "
     "is no copy bandwidth.\n"
     "If a solver cannot run, its line gives the reason. The CPU's solvers (serial, petsc) take "
     "few repeats; on more than 128^3 points they run only if --compare names them. A wrong "
     "result of another solver is marked in the table, and a warning follows. A wrong result of "
     "gridsweep ends in exit code 4. The command rewrites the JSON file after each group, so an "
     "interrupted run leaves its results.\n"
     "--part symgs times gsw_smooth() with an SSOR factor, omega 1, on the arrays of the "
     "stencil. x becomes x + M^-1 (b - A x), which is Gauss-Seidel over all rows upwards, then "
     "downwards. Before every run x is set to the same guess, outside the time. The command "
     "compares the result with plain serial loops. Moved bytes are those of the residual, both "
     "sweeps and the addition to x; effective bytes are those of two sweeps over the whole CSR.\n"
     "With --whole-solve a preconditioned Krylov method solves the system of --problem, starting "
     "from x = 0. --compare adds the same method with other libraries: cusparse on the GPU, "
     "petsc on one core. These take the preconditioners of --precond. petsc-gamg, hypre-pfmg, "
     "hypre-smg and hypre-boomeramg bring their own multigrid and take cg and bicgstab. They run "
     "on the CPU, or on the GPU if hypre was built for it. Each keeps the fastest of several "
     "settings; the line below its result names them.\n"
     "'before' is the time of the work that a matrix's pattern needs once: allocations and "
     "analyses. 'factor' is the time to compute the preconditioner from the values, in memory "
     "that is already allocated. Every run sets up multigrid, gridsweep's and others', from "
     "nothing. 'solve' is the time of the iterations, and 'total' is 'factor' + 'solve'. Times "
     "are medians by the host's clock around calls that wait for the device.\n"
     "The residual is the true one, computed apart from all solvers. Marks behind it: * means "
     "not converged; ! means that the method reports convergence, but the residual misses "
     "--rtol; ~ means the same, by less than a factor of 10.\n"
     "'matrix' is the input of the solver: the arrays of the stencil or a CSR. 'pre' is the "
     "precision of the stored preconditioner. 'iter.' is the number of iterations, 'per it.' the "
     "time of one. 'total x' is the total relative to the first line, '+bef. "
     "x' the same with 'before'.\n"
     "Under mpirun --whole-solve times solves of all processes together. Barriers surround the "
     "times. All else needs one process.\n"
     "With --hpcg the command times sets of --max-iter (default: 50) CG iterations on HPCG's "
     "27-point matrix, on each grid, from x = 0 in f64. --rtol stops a set earlier. The "
     "preconditioner is HPCG's: a V cycle of four levels with injection. One step of symmetric "
     "Gauss-Seidel in natural order comes before and after each correction, and one on the last "
     "level. 'GFLOP/s' is HPCG's count of operations divided by the time of a set. 'rated' adds "
     "a tenth of the hierarchy's set-up to each set, which is HPCG's rule. 'error' is the "
     "largest relative difference of the first residual norms from those of plain serial loops. "
     "These are not official HPCG results.",
     "gridsweep bench\n"
     "gridsweep bench --stencil D3N7 --size 64,60x220x85 --precision f64,f32\n"
     "gridsweep bench --part lower --algorithm line,pencil --json b.json\n"
     "gridsweep bench --backend cuda --size 64,128 --compare --cache warm,cold\n"
     "gridsweep bench --backend cuda --part lower,both --algorithm pencil\n"
     "gridsweep bench --backend cuda --stencil D3N33 --ablation --json a.json\n"
     "gridsweep bench --part symgs --problem hpcg --size 64,128\n"
     "gridsweep bench --part relax --stencil D2N5,D3N7 --size 256 --heights 1-8\n"
     "gridsweep bench --whole-solve --problem hpcg:64x64x64 --method cg\n"
     "gridsweep bench --whole-solve --problem hpcg:64x64x64 --compare petsc\n"
     "gridsweep bench --whole-solve --problem hpcg:64x64x64 --precond mg,ilu0\n"
     "mpirun -n 2 gridsweep bench --whole-solve --problem hpcg:64x64x64\n"
     "gridsweep bench --hpcg --size 64,104\n",
     NULL,
     OPTIONS(OPT_BENCH_STENCIL, OPT_SIZE, OPT_BENCH_PART, OPT_PRECISION, OPT_BENCH_ALGORITHM,
             OPT_COMPARE, OPT_WHOLE_SOLVE, OPT_BENCH_PROBLEM, OPT_BENCH_PRECOND, OPT_BENCH_BACKEND,
             OPT_JSON, OPT_QUIET, OPT_RHS, OPT_METHOD, OPT_RTOL, OPT_MAX_ITER, OPT_MG_CYCLE,
             OPT_MG_SMOOTHER, OPT_MG_THETA, OPT_MG_PRECISION, OPT_BENCH_REPEATS, OPT_HPCG,
             OPT_ABLATION, OPT_CACHE, OPT_HEIGHTS, OPT_BENCH_THREADS, OPT_SCOPE, OPT_BOXES,
             OPT_WAIT_LIMIT, OPT_DEVICE),
     BENCH_COMMON, cmd_bench},
    {"tune", "measure the best shapes of kernels on this machine, for later runs", "[OPTION]...",
     "How fast a sweep is depends on a few shapes of its kernels. The library has a table of them, "
     "which comes from other machines. The command measures them here, for up to 20 s, and writes "
     "them to a file. From then on all programs of this user take them from the file, on the same "
     "model of device and with the same version of the library. Results of sweeps keep their "
     "bits.\n"
     "The file is in the folder gridsweep of $XDG_CACHE_HOME, or of $HOME/.cache. The processor "
     "and each model of GPU have their own. 'gridsweep info' shows the paths. To return to the "
     "table, delete the file.\n"
     "The command prints each shape, and the table's value where that differs. 'sweep chunk' is "
     "the number of steps between two hand-overs from thread to thread. 'sweep slack' is how many "
     "steps a thread stays behind the one before it, beyond those that it must. 'sweep grain' is "
     "how many points are worth a second thread. On a GPU, pencils of more chunks than 'polled "
     "chunks' ask for several rows of a face at a time. 'step' and 'hand-over' are times of a "
     "pencil of D3N7. 'copy' counts bytes read and written.\n"
     "The device should have nothing else to do. The command needs 0.3 GB of memory, on a GPU "
     "0.7 GB. With one thread on the CPU it measures the copy only, and keeps the shapes.",
     "gridsweep tune\n"
     "gridsweep tune --backend cpu --json tune.json\n",
     NULL, OPTIONS(OPT_BACKEND, OPT_THREADS, OPT_DEVICE, OPT_JSON, OPT_QUIET), OPT_COUNT, cmd_tune},
    {"help", "show the help of a command", "[COMMAND]",
     "The command shows the same text as 'gridsweep COMMAND --help'.", "gridsweep help solve\n",
     "COMMAND", OPTIONS(OPT_MAN, OPT_SCHEMA), OPT_COUNT, cmd_help},
    {NULL, NULL, NULL, NULL, NULL, NULL, OPTIONS(OPT_END), 0, NULL}};

int cli_reject_command(const char *name) {
    const char *names[sizeof cli_commands / sizeof *cli_commands];
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        names[i] = cli_commands[i].name; /* the last one is NULL */
    const char *meant = cli_nearest(name, names);
    fprintf(stderr, "gridsweep: unknown %s '%s'%s%s%s\nTry 'gridsweep --help'.\n",
            name[0] == '-' ? "option" : "command", name, meant != NULL ? "; did you mean '" : "",
            meant != NULL ? meant : "", meant != NULL ? "'?" : "");
    return CLI_USAGE;
}
