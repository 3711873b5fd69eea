/* json_keys.c: see json_keys.h. */
#include "json_keys.h"
#include <stddef.h>

#define SWEEPS      (CLI_SWEEP | CLI_SWEEP_SKIPPED)
#define WHOLES      (CLI_WHOLE | CLI_WHOLE_SKIPPED)
#define BANDWIDTHS  (CLI_SWEEP | CLI_HPCG | CLI_RELAX)
#define TIMED       (BANDWIDTHS | CLI_WHOLE)
#define ROWS        (SWEEPS | WHOLES | CLI_HPCG | CLI_RELAX | CLI_RELAX_SKIPPED)
#define RUNS        (CLI_FACTOR | CLI_SPTRSV | CLI_SOLVE | CLI_TUNE | ROWS) /* on a backend */
#define SYSTEMS     (CLI_DETECT | CLI_GENERATE | CLI_FACTOR | CLI_SPTRSV | CLI_SOLVE)
#define GRIDS       (SYSTEMS | CLI_LEVEL | ROWS)
#define COMMANDS    (CLI_INFO | SYSTEMS | CLI_TUNE)
#define BENCHES     (CLI_BENCH_SWEEP | CLI_BENCH_WHOLE | CLI_BENCH_HPCG | CLI_BENCH_RELAX)
#define HIERARCHIES (CLI_MULTIGRID | CLI_DISTRIBUTED_MULTIGRID)

#define MODE    "What was measured: 'sweep', 'whole-solve', 'hpcg' or 'relax'."
#define RESULTS "One object per line of the table that has times."
#define SKIPPED "One object per line that has a reason in place of times."

const cli_json_key cli_json_keys[] = {
    /* Of the command, its place and its system. */
    {"schema", "1", COMMANDS | BENCHES,
     "Version of the keys. It changes when a key disappears or changes its meaning; new keys can "
     "appear without a new version."},
    {"command", "string", COMMANDS | BENCHES, "Name of the command."},
    {"version", "string", COMMANDS | ROWS, "Version of gridsweep."},
    {"commit", "string", COMMANDS | ROWS, "Commit that was built."},
    {"backend", "'cpu' 'cuda' 'reference'", RUNS, "Backend that did the work."},
    {"device", "string", RUNS, "Name of the processor or of the GPU."},
    {"driver", "string", ROWS, "CUDA version of the driver. Null: the work ran on the CPU."},
    {"toolkit", "string", ROWS, "CUDA version of the toolkit. Null: the work ran on the CPU."},
    {"threads", "integer >= 1", RUNS, "Threads. Unit: count. Null: the work ran on a GPU."},
    {"threads", "integer >= 1", CLI_INFO, "Threads that commands use on the CPU. Unit: count."},
    {"grid", "3 of integer >= 1", GRIDS, "Points along x, y and z. Unit: points."},
    {"periodic", "string", SYSTEMS,
     "Axes whose ends are neighbours, such as 'xy'; '' where there is none."},
    {"stencil", "string", GRIDS, "Name of the stencil; 'custom' for a stencil without a name."},
    {"active_points", "integer >= 0", CLI_FACTOR | CLI_SPTRSV | CLI_SOLVE,
     "Points that take part: those of --mask or of the problem, else all. Unit: points."},
    {"part", "'lower' 'upper' 'both' 'symgs'", SWEEPS | CLI_SPTRSV,
     "What is solved with: one triangular part, both parts one after the other (an ILU(0) apply), "
     "or a step of symmetric Gauss-Seidel."},
    {"kind", "'gridsweep' 'rival' 'ablation'", SWEEPS | WHOLES,
     "Who solves: gridsweep, another library, or a step of the ablation."},
    {"algorithm", "string", SWEEPS | WHOLES | CLI_SPTRSV,
     "Algorithm of the sweep, or the name of the other solver."},
    {"cache", "'warm' 'cold'", SWEEPS, "State of the last-level cache before each run."},
    {"dtype", "'f64' 'f32'", ROWS | CLI_SPTRSV | CLI_SOLVE, "Precision of the vectors."},
    {"factor_dtype", "'f64' 'f32'", ROWS | CLI_FACTOR,
     "Precision of the coefficients in the sweep or in the preconditioner."},
    {"factor_dtype", "'f64' 'f32'", CLI_SOLVE,
     "Precision in which the preconditioner is stored. Null: there is no preconditioner."},
    /* Of a solve. */
    {"method", "'cg' 'bicgstab' 'gmres' 'richardson'", WHOLES | CLI_SOLVE | CLI_HPCG,
     "Krylov method."},
    {"precond", "string", WHOLES | CLI_FACTOR | CLI_SOLVE | CLI_HPCG,
     "Preconditioner: 'none', a kind of --precond, or that of the other library."},
    {"precond", "string", CLI_SWEEP,
     "Factor that an ILU(0) apply or a smoothing step uses. Null: one triangular part is solved."},
    {"iterations", "integer >= 0", CLI_SOLVE | CLI_WHOLE | CLI_HPCG, "Iterations. Unit: count."},
    {"converged", "boolean", CLI_SOLVE | CLI_WHOLE,
     "Whether the true residual meets the tolerance."},
    {"residual", "number", CLI_SOLVE | CLI_WHOLE | CLI_HPCG,
     "True residual at the end: norm(b - A x) / norm(b). Unit: none. Null: it is not finite or was "
     "not computed."},
    /* Of times and rates. */
    {"setup_ms", "number", CLI_RELAX,
     "Time to create the loop, in which the model chooses its tile. Unit: ms."},
    {"setup_ms", "number", CLI_FACTOR, "Time of the factorisation. Unit: ms."},
    {"setup_ms", "number", CLI_SWEEP,
     "Time before the first solve: packing, or an analysis. Unit: ms. Null: there is nothing to "
     "set up."},
    {"setup_ms", "number", CLI_HPCG, "Time to make the hierarchy. Unit: ms."},
    {"setup_ms", "number", CLI_WHOLE,
     "Time of what is done once per pattern of the matrix: the column 'before'. Unit: ms."},
    {"setup_ms", "number", CLI_SOLVE,
     "Time to read or make the matrix and the right-hand side. Unit: ms."},
    {"factor_ms", "number", CLI_WHOLE, "Time to make the preconditioner, median. Unit: ms."},
    {"factor_ms", "number", CLI_SOLVE,
     "Time to choose and make the preconditioner. Unit: ms. Null: there is no preconditioner."},
    {"buffer_bytes", "number", TIMED,
     "Memory that the solver keeps for its solves. Unit: bytes. Null: it is not known."},
    {"upload_ms", "number", CLI_SPTRSV | CLI_SOLVE,
     "Time to copy the matrix and the vectors to the device. Unit: ms. Null: the work ran on the "
     "CPU."},
    {"download_ms", "number", CLI_SPTRSV | CLI_SOLVE,
     "Time to copy the solution back. Unit: ms. Null: the work ran on the CPU, or there is no "
     "solution."},
    {"solve_ms", "number", CLI_SPTRSV | CLI_SWEEP | CLI_HPCG,
     "Median time of one run, the same as in time_ms. Unit: ms."},
    {"solve_ms", "number", CLI_RELAX,
     "Median time of one sweep, the same as in time_ms. Unit: ms."},
    {"solve_ms", "number", CLI_WHOLE, "Time of the iteration, median. Unit: ms."},
    {"solve_ms", "number", CLI_SOLVE, "Time of the iteration, of all attempts together. Unit: ms."},
    {"time_ms", "@time_ms", TIMED | CLI_SPTRSV, "Times of the repeated runs. Unit: ms."},
    {"effective_gb_s", "number", CLI_SPTRSV | CLI_SWEEP,
     "Bytes of the CSR arrays and of both vectors over the time, as in the literature. Unit: "
     "GB/s."},
    {"moved_gb_s", "number", BANDWIDTHS,
     "Bytes that the algorithm must move at least over the time. Unit: GB/s."},
    {"copy_gb_s", "number", BANDWIDTHS,
     "Copy bandwidth that the same run measured, bytes read and written. Unit: GB/s. Null: it was "
     "not measured for this memory."},
    {"fraction_of_copy", "number", BANDWIDTHS,
     "moved_gb_s over copy_gb_s. Unit: none. Null: there is no copy_gb_s."},
    {"max_rel_error", "number", CLI_SPTRSV,
     "Largest difference from the reference, over the largest value of the reference: max abs(x - "
     "r) / max abs(r). The reference is the plain serial sweep. Unit: none. Null: --no-check was "
     "given."},
    {"max_rel_error", "number", CLI_SWEEP,
     "Largest difference from the reference, over the largest value of the reference: max abs(x - "
     "r) / max abs(r). The reference comes from plain serial sweeps. Unit: none. Null: a result is "
     "not finite, or is wrong by design."},
    {"max_rel_error", "number", CLI_HPCG,
     "Largest relative difference of the first residual norms from those of plain serial loops. "
     "Unit: none. Null: a norm is not finite."},
    {"max_rel_error", "number", CLI_RELAX,
     "Largest relative difference: with height 1 from a plain serial loop, otherwise from height "
     "1, and 0 is required. Unit: none. Null: a value is not finite."},
    /* Of info. */
    {"processor", "string", CLI_INFO, "Name of the processor."},
    {"build", "@build", CLI_INFO, "How the library was built."},
    {"tuning", "@tuning", CLI_INFO, "Where the processor's shapes of kernels come from."},
    {"gpus", "list of string", CLI_INFO,
     "Names of the GPUs that answer, in the order of --device."},
    {"gpu_tunings", "list of @tuning or null", CLI_INFO,
     "The same as 'tuning' for each GPU; null in place of one that cannot be used."},
    {"compiler", "string", CLI_BUILD, "Name and version of the compiler."},
    {"build_type", "string", CLI_BUILD, "Build type of CMake."},
    {"OpenMP", "string", CLI_BUILD, "Version of OpenMP, or 'not built in'."},
    {"CUDA", "string", CLI_BUILD, "'built in' or 'not built in'."},
    {"instruction_sets", "string", CLI_BUILD,
     "Instruction sets for which the CPU kernels are built."},
    {"source", "'table' 'file'", CLI_TUNING,
     "'table': they are built in. 'file': gridsweep tune has measured them."},
    {"file", "string", CLI_TUNING,
     "Path of the file, whether it exists or not. Null: there is no folder for it."},
    {"ignored", "string", CLI_TUNING,
     "Why the library ignores the file. Null: it does not, or there is none."},
    {"copy_gb_s", "number", CLI_TUNING,
     "Copy bandwidth in the file, bytes read and written. Unit: GB/s. Null: the shapes are built "
     "in."},
    /* Of detect and solve. */
    {"offsets", "list of 3 of integer", CLI_DETECT,
     "Offsets of the stencil along x, y and z, one triple per offset. Unit: points."},
    {"file", "string", CLI_SOLVE,
     "Matrix Market file. Bytes of its name that are not UTF-8 become '?'. Null: the matrix is a "
     "model problem."},
    {"problem", "string", CLI_SOLVE, "Model problem. Null: the matrix was read from a file."},
    {"rows", "integer >= 1", CLI_SOLVE, "Rows of the matrix. Unit: count."},
    {"nonzeros", "integer >= 0", CLI_SOLVE, "Nonzeros of the matrix. Unit: count."},
    {"rtol", "number", CLI_SOLVE, "Tolerance for the residual, relative. Unit: none."},
    {"multigrid", "@multigrid", CLI_SOLVE,
     "The hierarchy. Null: the preconditioner is not multigrid, or several processes share it."},
    {"distributed_multigrid", "@distributed_multigrid", CLI_SOLVE,
     "The hierarchy on several processes. Null: one process, or the preconditioner is not "
     "multigrid."},
    {"auto", "@auto", CLI_SOLVE,
     "What gridsweep chose. Null: --precond and --method were both given."},
    {"removed", "number", CLI_SOLVE,
     "Part of b - A x along the null vector, which the solve left out, divided by the norm of b. "
     "For "
     "a symmetric A it is that of b. Unit: none. Null: without --nullspace."},
    {"eisenstat", "integer", CLI_SOLVE,
     "Iterations in which two sweeps applied the matrix and the preconditioner together. Unit: "
     "count."},
    {"stagnated", "boolean", CLI_SOLVE,
     "Whether the method ended because more iterations would not help."},
    {"status",
     "'GSW_SUCCESS' 'GSW_ERROR_NOT_CONVERGED' 'GSW_ERROR_BREAKDOWN' 'GSW_ERROR_NON_FINITE'",
     CLI_SOLVE, "How the method ended, by the name in status.h."},
    {"history", "@history", CLI_SOLVE, "The residual over the iterations."},
    {"message", "string", CLI_SOLVE,
     "Why the status is not GSW_SUCCESS. Null: the status is GSW_SUCCESS."},
    /* Of the parts of solve. */
    {"levels", "integer >= 1", CLI_DISTRIBUTED_MULTIGRID, "Levels. Unit: count."},
    {"distributed_levels", "integer >= 0", CLI_DISTRIBUTED_MULTIGRID,
     "The finest levels, cut into boxes; each process has the others whole. Unit: count."},
    {"cycle", "'V' 'F' 'W'", CLI_MULTIGRID, "Cycle."},
    {"smoother", "string", HIERARCHIES, "Smoother."},
    {"symmetric", "boolean", HIERARCHIES, "Whether the preconditioner is symmetric."},
    {"singular", "boolean", CLI_MULTIGRID, "Whether the matrix maps constant vectors to 0."},
    {"operator_complexity", "number", HIERARCHIES,
     "Couplings of all levels over those of the finest level. Unit: none."},
    {"grid_complexity", "number", CLI_MULTIGRID,
     "Points of all levels over those of the finest level. Unit: none."},
    {"bytes", "number", CLI_MULTIGRID, "Memory of the hierarchy. Unit: bytes."},
    {"degenerate_points", "integer >= 0", CLI_MULTIGRID,
     "Fine points whose couplings gave no weights for the interpolation. Unit: points."},
    {"smoother_fallbacks", "integer >= 0", CLI_MULTIGRID,
     "Levels on which ILU(0) did not serve as a smoother. Unit: count."},
    {"levels", "1 or more of @level", CLI_MULTIGRID, "The levels, the finest first."},
    {"stencil_points", "integer >= 1", CLI_LEVEL, "Points of the stencil. Unit: points."},
    {"couplings", "integer >= 0", CLI_LEVEL, "Couplings inside the grid. Unit: count."},
    {"axes", "string", CLI_LEVEL,
     "Axes that the next level coarsens, such as 'xz'; '-' on the last level."},
    {"smoother", "string", CLI_LEVEL,
     "Smoother of the level; 'direct' where a direct solver takes its place."},
    {"bytes", "number", CLI_LEVEL, "Memory of the level. Unit: bytes."},
    {"iteration", "list of integer >= 0", CLI_HISTORY,
     "Number of the iteration, beginning with 0. A second attempt begins with the number at which "
     "the first one ended. Unit: count."},
    {"residual", "list of number >= 0", CLI_HISTORY,
     "Norm of the residual as the method computes it, relative: without --norm preconditioned that "
     "of norm(b - A x) / norm(b). Unit: none."},
    {"ms", "list of number >= 0", CLI_HISTORY,
     "Time since the first iteration began, by the host's clock after each iteration. The set-up "
     "between two attempts is left out. Unit: ms."},
    {"chosen_precond", "string", CLI_AUTO,
     "Preconditioner that was tried first. Null: --precond names one."},
    {"chosen_method", "string", CLI_AUTO,
     "Krylov method that was tried first. Null: --method names one."},
    {"reason", "string", CLI_AUTO, "Why, in words."},
    {"symmetric", "boolean", CLI_AUTO, "Whether the matrix is symmetric."},
    {"estimate", "number", CLI_AUTO,
     "Rough estimate of the iterations to 1e-8 with the factor; far too large in media of high "
     "contrast. Unit: iterations. Null: there is no estimate."},
    {"cycle_left", "number", CLI_AUTO,
     "Share of a smooth error that one multigrid cycle leaves. Unit: none. Null: no cycle was "
     "tried."},
    {"fallback", "string", CLI_AUTO,
     "What followed when the choice did not converge, and why. Null: nothing followed."},
    {"median", "number", CLI_TIME_MS, "Median. Unit: ms."},
    {"min", "number", CLI_TIME_MS, "Shortest time. Unit: ms."},
    {"max", "number", CLI_TIME_MS, "Longest time. Unit: ms."},
    {"repeats", "integer >= 1", CLI_TIME_MS, "Runs. Unit: count."},
    /* Of bench. */
    {"mode", "'sweep'", CLI_BENCH_SWEEP, MODE},
    {"results", "list of @sweep", CLI_BENCH_SWEEP, RESULTS},
    {"skipped", "list of @sweep_skipped", CLI_BENCH_SWEEP, SKIPPED},
    {"mode", "'whole-solve'", CLI_BENCH_WHOLE, MODE},
    {"results", "list of @whole", CLI_BENCH_WHOLE, RESULTS},
    {"skipped", "list of @whole_skipped", CLI_BENCH_WHOLE, SKIPPED},
    {"mode", "'hpcg'", CLI_BENCH_HPCG, MODE},
    {"results", "list of @hpcg", CLI_BENCH_HPCG, RESULTS},
    {"skipped", "none", CLI_BENCH_HPCG, SKIPPED},
    {"mode", "'relax'", CLI_BENCH_RELAX, MODE},
    {"results", "list of @relax", CLI_BENCH_RELAX, RESULTS},
    {"skipped", "list of @relax_skipped", CLI_BENCH_RELAX, SKIPPED},
    {"format", "'stencil' 'csr'", WHOLES, "Form of the matrix that the solver is given."},
    {"processes", "integer >= 1", CLI_SOLVE | CLI_WHOLE,
     "Processes that solved together. Unit: count."},
    {"boxes", "3 of integer >= 1", CLI_SOLVE | CLI_WHOLE,
     "Boxes of the grid along x, y and z, one for each process. Unit: count."},
    {"scope", "'local' 'global'", CLI_SOLVE,
     "Scope of the preconditioner. Null: one process without --scope, or no preconditioner."},
    {"devices", "list of string", CLI_SOLVE, "The device of each process."},
    {"scope", "'local' 'global'", CLI_WHOLE,
     "Scope of the preconditioner. Null: one process, or no preconditioner."},
    {"settings", "string", CLI_WHOLE,
     "Settings of multigrid. Null: the preconditioner is not multigrid."},
    {"total_ms", "number", CLI_WHOLE, "factor_ms and solve_ms together, median. Unit: ms."},
    {"total_with_setup_ms", "number", CLI_WHOLE, "total_ms and setup_ms together. Unit: ms."},
    {"iteration_ms", "number", CLI_WHOLE | CLI_HPCG,
     "solve_ms over iterations. Unit: ms. Null: there were no iterations."},
    {"ratio", "number", CLI_WHOLE, "total_ms over that of the first result. Unit: none."},
    {"ratio_with_setup", "number", CLI_WHOLE,
     "total_with_setup_ms over that of the first result. Unit: none."},
    {"reason", "string", CLI_SWEEP_SKIPPED | CLI_WHOLE_SKIPPED, "Why the solver could not run."},
    {"gflops", "number", CLI_HPCG,
     "HPCG's count of operations over the time of a set. Unit: GFLOP/s."},
    {"rated_gflops", "number", CLI_HPCG,
     "The same with a tenth of setup_ms added to the time. Unit: GFLOP/s."},
    {"scaled_residual", "number", CLI_HPCG,
     "Last residual norm of the recurrence, relative. Unit: none."},
    {"official", "false", CLI_HPCG, "False: these are no official HPCG results."},
    {"height", "integer >= 1", CLI_RELAX | CLI_RELAX_SKIPPED, "Sweeps in a pass. Unit: count."},
    {"tile", "3 of integer >= 1", CLI_RELAX,
     "Points along x, y and z that a tile writes in a pass. Unit: count."},
    {"chosen", "boolean", CLI_RELAX, "Whether the library's model takes this height."},
    {"predicted_ms", "number", CLI_RELAX, "Time of one sweep that the model expects. Unit: ms."},
    {"reason", "string", CLI_RELAX_SKIPPED, "Why this height cannot run."},
    /* Of tune. */
    {"copy_gb_s", "number >= 0", CLI_TUNE, "Copy bandwidth, bytes read and written. Unit: GB/s."},
    {"step_ns", "number >= 0", CLI_TUNE,
     "Time of a step of a pencil of D3N7. Unit: ns. Null: the work ran on the CPU."},
    {"hand_over_us", "number >= 0", CLI_TUNE,
     "Time from pencil to pencil of D3N7. Unit: us. Null: the work ran on the CPU."},
    {"shapes", "@shapes", CLI_TUNE, "The shapes that were found."},
    {"table", "@shapes", CLI_TUNE, "The shapes that are built in."},
    {"file", "string", CLI_TUNE, "Path of the file that was written."},
    {"sweep_chunk", "integer >= 8", CLI_SHAPES,
     "Steps between two hand-overs from thread to thread. Unit: steps. Null: the work ran on a "
     "GPU."},
    {"sweep_slack", "integer >= 0", CLI_SHAPES,
     "Steps that a thread stays behind the one before it, beyond those that it must. Unit: steps. "
     "Null: the work ran on a GPU."},
    {"sweep_grain", "integer >= 1", CLI_SHAPES,
     "Points in 3D that are worth a thread in a sweep. Unit: points. Null: the work ran on a GPU."},
    {"sweep_grain_flat", "integer >= 1", CLI_SHAPES,
     "The same in 2D. Unit: points. Null: as for sweep_grain."},
    {"polled_chunks", "integer >= 0", CLI_SHAPES,
     "Pencils of more chunks ask for several rows of a face at a time, where there are more of "
     "them than multiprocessors. Unit: count. Null: the work ran on the CPU, or no pencil should."},
    {NULL, NULL, 0, NULL},
};

const cli_json_object cli_json_objects[] = {
#define OBJECT(id, ...) {__VA_ARGS__},
#include "json_keys.inc"
#undef OBJECT
    {NULL, NULL, NULL},
};
