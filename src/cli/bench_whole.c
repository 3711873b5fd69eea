/* bench_whole.c: `gridsweep bench --whole-solve`: a preconditioned Krylov solve from coefficients
 * and right-hand side in the backend's memory to the solution there, by gridsweep and by the same
 * method around other libraries.
 *
 * gridsweep takes the problem as the arrays of its stencil and as a CSR, with each precision of the
 * factor that is asked for; the others take the CSR. Each solver: set up, a run to warm up, the
 * timed runs, and the residual of what the last one left, by a product of this file's own. A run
 * starts from x = 0, makes the preconditioner of the matrix's values (in a pattern that is known
 * and memory that is there) and solves. Times are by the host's clock around calls that wait for
 * the device: what their user waits for, launches and synchronisation included. What is done once
 * for a pattern is reported apart, as setup_ms: for gridsweep, which analyses nothing, what making
 * the first factor takes longer than giving it new values. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "bench.h"

#define REPEATS 5
#define LONG_MS 5000.0 /* solvers on the CPU that take longer are not repeated */
#define DRIFT   10.0   /* how far a residual may miss the tolerance, as in the library */

#define FORMATS 2
static const char *const format_names[] = {
    [GSW_FORMAT_CSR] = "csr", [GSW_FORMAT_STENCIL] = "stencil"};

typedef struct whole_row {
    cli_result result;
    const char *format;
    bool wrong;       /* the residual is not what it was to be */
    char reason[256]; /* why there are no times; else "" */
} whole_row;

typedef struct whole_run {
    cli_place place;
    bench_device device;
    cli_input input;
    gsw_csr csr; /* of the problem, on the host */
    gsw_matrix host_csr, device_csr;
    double *b, *x;
    cli_arrays arrays; /* the arrays of the stencil, b and x, in the backend's memory */
    int precond;
    bench_list precisions;
    int solvers;
    bench_solver solver[BENCH_LIST_MAX];
    whole_row reference; /* what the others are set against */
    int64_t repeats;     /* the most that were taken */
    cJSON *results, *skipped;
    int own_wrong, rival_wrong;
    int own_unfinished, rival_unfinished; /* not converged */
} whole_run;

static int no_memory(const cli_options *options) {
    cli_error(options, "out of memory; try a smaller --problem");
    return CLI_INPUT;
}

/* ---- Residual ------------------------------------------------------------------------------- */

static int64_t index_at(const gsw_csr *csr, const void *indices, int64_t i) {
    return csr->index_type == GSW_I64 ? ((const int64_t *)indices)[i]
                                      : ((const int32_t *)indices)[i];
}

/* ||b - A x|| / ||b||, from the CSR and without the library. */
static double true_residual(const gsw_csr *csr, const double *b, const double *x) {
    const double *values = csr->values;
    double rr = 0, bb = 0;
#ifdef _OPENMP
#pragma omp parallel for schedule(static) reduction(+ : rr, bb)
#endif
    for (int64_t row = 0; row < csr->rows; row++) {
        double r = b[row];
        int64_t end = index_at(csr, csr->row_ptr, row + 1);
        for (int64_t k = index_at(csr, csr->row_ptr, row); k < end; k++)
            r -= values[k] * x[index_at(csr, csr->columns, k)];
        rr += r * r;
        bb += b[row] * b[row];
    }
    return bb > 0 ? sqrt(rr / bb) : sqrt(rr);
}

/* ---- One solver ----------------------------------------------------------------------------- */

/* A solver at work: gridsweep where `rival` is NULL. */
typedef struct worker {
    const cli_options *options;
    const whole_run *run;
    const bench_solver *rival;
    gsw_context *context; /* whose clock is taken: the place's, or the host's */
    const gsw_matrix *matrix;
    gsw_factor_options wanted;
    gsw_factor *factor; /* of gridsweep; NULL: no preconditioner */
    void *state;        /* of a rival */
    const double *b;
    double *x;
    whole_row *row;
} worker;

static gsw_status make_factor(worker *w) {
    if (w->rival != NULL)
        return bench_solver_factor(w->rival, w->state, w->row->reason, sizeof w->row->reason)
                   ? GSW_SUCCESS
                   : GSW_ERROR_DEVICE;
    gsw_status status = GSW_SUCCESS;
    if (w->factor != NULL)
        status = gsw_factor_refactor(w->context, w->factor, w->matrix, NULL);
    return status == GSW_SUCCESS ? gsw_context_synchronize(w->context) : status;
}

static gsw_status iterate(worker *w) {
    cli_result *result = &w->row->result;
    if (w->rival != NULL)
        return bench_solver_solve(w->rival, w->state, w->b, w->x, result, w->row->reason,
                                  sizeof w->row->reason)
                   ? GSW_SUCCESS
                   : GSW_ERROR_DEVICE;
    gsw_krylov_options wanted = {
        .size = sizeof wanted, .rtol = w->options->rtol, .max_iterations = w->options->max_iter};
    gsw_krylov_result ended = {.size = sizeof ended};
    gsw_status status = cli_krylov(w->context, (gsw_method)w->options->method, w->matrix, w->factor,
                                   &wanted, w->b, w->x, &ended);
    if (status == GSW_ERROR_NOT_CONVERGED)
        status = GSW_SUCCESS;
    if (status == GSW_SUCCESS) {
        result->iterations = ended.iterations;
        result->converged = ended.converged;
        status = gsw_context_synchronize(w->context);
    }
    return status;
}

/* From x = 0 to the solution; milliseconds of both steps. */
static gsw_status run_once(worker *w, double *factor_ms, double *solve_ms) {
    size_t bytes = (size_t)w->run->input.rows * sizeof *w->x;
    gsw_status status = gsw_memory_set(w->context, w->x, 0, bytes);
    if (status == GSW_SUCCESS)
        status = gsw_context_synchronize(w->context);
    double start = cli_now_ms();
    if (status == GSW_SUCCESS)
        status = make_factor(w);
    double middle = cli_now_ms();
    if (status == GSW_SUCCESS)
        status = iterate(w);
    *factor_ms = middle - start;
    *solve_ms = cli_now_ms() - middle;
    return status;
}

/* samples[] has room for three times `limit`: factor, solve, both. */
static gsw_status take_times(worker *w, double *samples, int64_t limit, int64_t *taken) {
    double *factor = samples, *solve = samples + limit, *both = samples + 2 * limit;
    gsw_status status = run_once(w, &factor[0], &solve[0]);
    both[0] = factor[0] + solve[0];
    *taken = 1;
    if (w->rival != NULL && !w->rival->on_device && both[0] > LONG_MS)
        return status;
    for (int64_t i = 0; i < limit && status == GSW_SUCCESS; i++) {
        status = run_once(w, &factor[i], &solve[i]);
        both[i] = factor[i] + solve[i];
        *taken = i + 1;
    }
    return status;
}

static gsw_status measure(worker *w) {
    int64_t limit = w->options->repeats > 0 ? w->options->repeats : REPEATS, taken = 0;
    cli_result *result = &w->row->result;
    double *samples = malloc((size_t)limit * 3 * sizeof *samples);
    if (samples == NULL)
        return GSW_ERROR_OUT_OF_MEMORY;
    gsw_status status = take_times(w, samples, limit, &taken);
    if (status == GSW_SUCCESS) {
        result->factor_ms = cli_summarise(samples, taken).median;
        result->solve_ms = cli_summarise(samples + limit, taken).median;
        result->time = cli_summarise(samples + 2 * limit, taken);
    }
    free(samples);
    return status;
}

/* The residual of what the last run left in x. */
static gsw_status judge(worker *w) {
    const whole_run *run = w->run;
    cli_result *result = &w->row->result;
    gsw_status status = GSW_SUCCESS;
    if (w->x != run->x)
        status =
            gsw_memory_download(w->context, run->x, w->x, (size_t)run->input.rows * sizeof *run->x);
    if (status != GSW_SUCCESS)
        return status;
    result->residual = true_residual(&run->csr, run->b, run->x);
    w->row->wrong = result->converged && !(result->residual <= DRIFT * w->options->rtol);
    return GSW_SUCCESS;
}

/* Makes the factor twice; the second time is what counts, as for the others. */
static gsw_status open_own(worker *w) {
    cli_result *result = &w->row->result;
    gsw_factor_info info = {.size = sizeof info};
    gsw_status status = GSW_SUCCESS;
    result->setup_ms = 0;
    result->buffer_bytes = 0;
    for (int i = 0; i < 2 && w->run->precond != CLI_PRECOND_NONE && status == GSW_SUCCESS; i++) {
        gsw_factor_destroy(w->factor);
        w->factor = NULL;
        double start = cli_now_ms();
        status = gsw_factor_create(w->context, w->matrix, &w->wanted, &w->factor);
        if (status == GSW_SUCCESS)
            status = gsw_context_synchronize(w->context);
        result->setup_ms = cli_now_ms() - start;
    }
    if (w->factor != NULL && gsw_factor_get_info(w->factor, &info) == GSW_SUCCESS)
        result->buffer_bytes = (double)(info.packed_bytes + info.work_bytes);
    return status;
}

/* ---- Rows ----------------------------------------------------------------------------------- */

static void start_row(worker *w, const char *name, gsw_format format, gsw_dtype type) {
    const whole_run *run = w->run;
    cli_result *result = &w->row->result;
    bool device = cli_on_device(&run->place) && (w->rival == NULL || w->rival->on_device);
    w->context = device ? run->place.run : run->place.host;
    w->b = device ? run->arrays.b : run->b;
    w->x = device ? run->arrays.x : run->x;
    *result = cli_result_init(w->options, w->context, &run->host_csr);
    result->kind = w->rival == NULL ? "gridsweep" : "rival";
    result->algorithm = name;
    result->dtype = "f64";
    result->factor_dtype = type == GSW_F32 ? "f32" : "f64";
    result->method = gsw_method_name((gsw_method)w->options->method);
    result->precond = cli_precond_name(run->precond);
    w->row->format = format_names[format];
    if (device && run->device.described) {
        result->driver = run->device.driver;
        result->toolkit = run->device.toolkit;
    }
    if (w->rival != NULL && !device)
        result->threads = 1;
}

static double total_with_setup(const whole_row *row) {
    return row->result.time.median + row->result.setup_ms;
}

static double iteration_ms(const whole_row *row) {
    const cli_result *result = &row->result;
    return result->iterations > 0 ? result->solve_ms / (double)result->iterations : NAN;
}

static double ratio(const whole_run *run, const whole_row *row) {
    return row->result.time.median / run->reference.result.time.median;
}

static double ratio_with_setup(const whole_run *run, const whole_row *row) {
    return total_with_setup(row) / total_with_setup(&run->reference);
}

static void add_number(cJSON *json, const char *name, double value) {
    cJSON_AddItemToObject(json, name,
                          isfinite(value) ? cJSON_CreateNumber(value) : cJSON_CreateNull());
}

static void store_row(whole_run *run, const whole_row *row) {
    cJSON *json = cli_result_json(&row->result);
    cJSON_AddItemToObject(json, "format", cJSON_CreateString(row->format));
    if (row->reason[0] != '\0') {
        cJSON_AddItemToObject(json, "reason", cJSON_CreateString(row->reason));
        cJSON_AddItemToArray(run->skipped, json);
        return;
    }
    add_number(json, "total_ms", row->result.time.median);
    add_number(json, "total_with_setup_ms", total_with_setup(row));
    add_number(json, "iteration_ms", iteration_ms(row));
    add_number(json, "ratio", ratio(run, row));
    add_number(json, "ratio_with_setup", ratio_with_setup(run, row));
    cJSON_AddItemToArray(run->results, json);
}

static void count_row(whole_run *run, const whole_row *row) {
    bool own = strcmp(row->result.kind, "gridsweep") == 0;
    if (row->reason[0] != '\0')
        return;
    if (row->wrong)
        *(own ? &run->own_wrong : &run->rival_wrong) += 1;
    if (!row->result.converged)
        *(own ? &run->own_unfinished : &run->rival_unfinished) += 1;
    if (row->result.time.repeats > run->repeats)
        run->repeats = row->result.time.repeats;
}

/* ---- Table ---------------------------------------------------------------------------------- */

static void print_header(const cli_options *options) {
    cli_print(options, "\n%-14s %-7s %-3s %5s %8s  %8s %8s %8s %8s %8s %5s %5s\n", "solver",
              "matrix", "pre", "iter.", "residual", "before", "factor", "solve", "total", "per it.",
              "total", "+bef.");
    cli_print(options, "%-14s %-7s %-3s %5s %8s  %8s %8s %8s %8s %8s %5s %5s\n", "", "", "", "", "",
              "ms", "ms", "ms", "ms", "ms", "x", "x");
}

/* A number in `width` columns, with at most three digits behind the point. */
static void print_number(const cli_options *options, int width, double value) {
    char text[32] = "-";
    for (int digits = 3; isfinite(value) && digits >= 0; digits--)
        if (snprintf(text, sizeof text, "%.*f", digits, value) <= width)
            break;
    cli_print(options, " %*s", width, text);
}

static void print_row(const cli_options *options, const whole_run *run, const whole_row *row) {
    const cli_result *result = &row->result;
    cli_print(options, "%-14s %-7s %-3s", result->algorithm, row->format, result->factor_dtype);
    if (row->reason[0] != '\0') {
        cli_print(options, " cannot run: %.60s\n", row->reason);
        return;
    }
    const char *mark = row->wrong ? "!" : !result->converged ? "*" : " ";
    cli_print(options, " %5lld %8.1e%s", (long long)result->iterations, result->residual, mark);
    print_number(options, 8, result->setup_ms);
    print_number(options, 8, result->factor_ms);
    print_number(options, 8, result->solve_ms);
    print_number(options, 8, result->time.median);
    print_number(options, 8, iteration_ms(row));
    print_number(options, 5, ratio(run, row));
    print_number(options, 5, ratio_with_setup(run, row));
    cli_print(options, "\n");
    FILE *stream = cli_human(options);
    if (stream != NULL)
        (void)fflush(stream);
}

/* ---- All solvers ---------------------------------------------------------------------------- */

static int add_row(const cli_options *options, whole_run *run, const whole_row *row) {
    bench_show(options, NULL);
    print_row(options, run, row);
    count_row(run, row);
    store_row(run, row);
    return cli_write_results(options, run->results, run->skipped, false);
}

static int run_own(const cli_options *options, whole_run *run, const gsw_matrix *matrix,
                   gsw_dtype type) {
    whole_row row = {0};
    worker w = {.options = options,
                .run = run,
                .matrix = matrix,
                .wanted = {.size = sizeof w.wanted,
                           .kind = (gsw_factor_kind)run->precond,
                           .factor_type = type},
                .row = &row};
    start_row(&w, "gridsweep", matrix->format, type);
    bench_show(options, "gridsweep %s %s", row.format, row.result.factor_dtype);
    gsw_status status = open_own(&w);
    if (status == GSW_SUCCESS)
        status = measure(&w);
    if (status == GSW_SUCCESS)
        status = judge(&w);
    /* What the first factor took longer than the next ones. */
    if (status == GSW_SUCCESS)
        row.result.setup_ms = fmax(0, row.result.setup_ms - row.result.factor_ms);
    gsw_factor_destroy(w.factor);
    bench_show(options, NULL);
    if (status == GSW_ERROR_OUT_OF_MEMORY)
        return no_memory(options);
    if (status != GSW_SUCCESS)
        return cli_status(options, w.context, status, CLI_FROM_OPTION);
    if (run->reference.format == NULL)
        run->reference = row;
    return add_row(options, run, &row);
}

static int run_rival(const cli_options *options, whole_run *run, const bench_solver *solver) {
    whole_row row = {0};
    worker w = {.options = options, .run = run, .rival = solver, .row = &row};
    bench_problem problem = {.host = &run->host_csr,
                             .stream = run->device.stream,
                             .method = (gsw_method)options->method,
                             .precond = run->precond,
                             .rtol = options->rtol,
                             .max_iterations = options->max_iter};
    start_row(&w, solver->name, GSW_FORMAT_CSR, GSW_F64);
    bench_show(options, "%s", solver->name);
    if (cli_on_device(&run->place))
        problem.device = &run->device_csr.csr;
    gsw_status status = GSW_SUCCESS;
    if (solver->on_device && !cli_on_device(&run->place)) {
        (void)snprintf(row.reason, sizeof row.reason, "--compare %s needs a GPU: --backend cuda",
                       solver->name);
    } else if (bench_solver_open(solver, &problem, &w.state, &row.result, row.reason,
                                 sizeof row.reason)) {
        status = measure(&w);
        if (status == GSW_SUCCESS)
            status = judge(&w);
        bench_solver_close(solver, w.state);
    }
    if (status != GSW_SUCCESS && row.reason[0] == '\0')
        (void)snprintf(row.reason, sizeof row.reason, "%s", gsw_status_text(status));
    return add_row(options, run, &row);
}

static int run_all(const cli_options *options, whole_run *run) {
    const gsw_matrix *matrices[FORMATS] = {
        &run->arrays.matrix, cli_on_device(&run->place) ? &run->device_csr : &run->host_csr};
    int code = CLI_OK;
    print_header(options);
    for (int i = 0; i < FORMATS; i++)
        for (int j = 0; j < run->precisions.count && code == CLI_OK; j++)
            code = run_own(options, run, matrices[i],
                           run->precisions.values[j] == PRECISION_F32_FACTOR ? GSW_F32 : GSW_F64);
    for (int i = 0; i < run->solvers && code == CLI_OK; i++)
        code = run_rival(options, run, &run->solver[i]);
    return code;
}

/* ---- Begin and end -------------------------------------------------------------------------- */

static int read_lists(const cli_options *options, whole_run *run) {
    const char *precisions = options->precisions != NULL ? options->precisions : "f64";
    int code = bench_parse_names(options, "precision", precisions, bench_precision_names,
                                 &run->precisions);
    for (int i = 0; i < run->precisions.count && code == CLI_OK; i++)
        if (run->precisions.values[i] == PRECISION_F32)
            code = cli_usage(options, "--precision f32 is for sweeps; --whole-solve takes f64 and "
                                      "f32-factor");
    return code == CLI_OK ? bench_find_solvers(options, run->solver, &run->solvers) : code;
}

static int open_place(const cli_options *options, whole_run *run) {
    cli_options one = *options;
    gsw_factor_options wanted = {.size = sizeof wanted, .kind = (gsw_factor_kind)run->precond};
    if (options->thread_list != NULL && strchr(options->thread_list, ',') != NULL)
        return cli_usage(options, "--threads takes one value with --whole-solve");
    int code = options->thread_list != NULL
                   ? cli_parse_threads(options, options->thread_list, &one.threads)
                   : CLI_OK;
    if (code != CLI_OK)
        return code;
    if (options->backend != GSW_BACKEND_CPU)
        bench_device_open((int)options->device, &run->device);
    cli_work work = {.factor = run->precond != CLI_PRECOND_NONE ? &wanted : NULL,
                     .stream = run->device.stream};
    return cli_open_place(&one, &work, &run->place);
}

/* The system on the host: as arrays of the stencil and as a CSR. */
static int load(const cli_options *options, whole_run *run) {
    gsw_context *host = run->place.host;
    int code = cli_load(options, host, &run->input);
    if (code == CLI_OK)
        code = cli_load_rhs(options, host, &run->input, &run->b);
    if (code != CLI_OK)
        return code;
    run->x = calloc((size_t)run->input.rows, sizeof *run->x);
    if (run->x == NULL)
        return no_memory(options);
    const gsw_matrix *matrix = &run->input.matrix;
    gsw_itype index = run->input.nonzeros <= INT32_MAX ? GSW_I32 : GSW_I64;
    gsw_status status = gsw_matrix_to_csr(host, matrix, GSW_FULL, index, &run->csr);
    if (status == GSW_SUCCESS)
        status =
            gsw_matrix_from_csr(host, &matrix->grid, &matrix->stencil, &run->csr, &run->host_csr);
    return status == GSW_SUCCESS ? CLI_OK : cli_status(options, host, status, CLI_FROM_OPTION);
}

/* The same in the backend's memory. */
static int upload(const cli_options *options, whole_run *run) {
    int code = cli_upload(options, &run->place, &run->input.matrix, run->b, run->x,
                          (size_t)run->input.rows * sizeof *run->x, &run->arrays);
    if (code != CLI_OK || !cli_on_device(&run->place))
        return code;
    gsw_status status = gsw_matrix_upload(run->place.run, &run->host_csr, &run->device_csr);
    return status == GSW_SUCCESS ? CLI_OK
                                 : cli_status(options, run->place.run, status, CLI_FROM_OPTION);
}

static int prepare(const cli_options *options, whole_run *run) {
    int code = read_lists(options, run);
    if (code == CLI_OK)
        code = open_place(options, run);
    if (code == CLI_OK)
        code = load(options, run);
    if (code == CLI_OK)
        code = upload(options, run);
    if (code != CLI_OK)
        return code;
    cli_print_matrix(options, &run->input);
    cli_print_backend(options, &run->place);
    cli_field(options, "method", "%s, preconditioner %s, rtol %g",
              gsw_method_name((gsw_method)options->method), cli_precond_name(run->precond),
              options->rtol);
    cli_warn_if_not_symmetric(options, &run->input, run->precond);
    return CLI_OK;
}

static void print_footer(const cli_options *options, const whole_run *run) {
    cli_print(
        options,
        "\nmedians of at most %lld runs, by the host's clock; x: relative to gridsweep, %s %s",
        (long long)run->repeats, run->reference.format, run->reference.result.factor_dtype);
    cli_print(options, "\n%s", gsw_context_device(run->place.run));
    if (cli_on_device(&run->place) && run->device.described)
        cli_print(options, ", driver %s, toolkit %s", run->device.driver, run->device.toolkit);
    cli_print(options, "; gridsweep %s, commit %s\n", gsw_version(), gsw_commit());
    if (run->own_unfinished + run->rival_unfinished > 0)
        cli_print(options, "* not converged\n");
    if (run->own_wrong + run->rival_wrong > 0)
        cli_print(options,
                  "! converged by its recurrence, but the residual misses the tolerance\n");
}

static int finish(const cli_options *options, const whole_run *run) {
    print_footer(options, run);
    int code = cli_write_results(options, run->results, run->skipped, true);
    if (run->rival_wrong > 0)
        cli_error(options, "warning: another solver's residual misses --rtol");
    if (run->own_wrong > 0) {
        cli_error(options, "gridsweep's residual misses --rtol");
        return CLI_BREAKDOWN;
    }
    if (code == CLI_OK && run->own_unfinished > 0) {
        cli_error(options, "not converged: see --max-iter");
        return CLI_NOT_CONVERGED;
    }
    return code;
}

int bench_whole_solve(const cli_options *options) {
    whole_run run = {.device = {.copy_gb_s = NAN}, .precond = cli_precond(options)};
    run.results = cJSON_CreateArray();
    run.skipped = cJSON_CreateArray();
    int code = prepare(options, &run);
    if (code == CLI_OK)
        code = run_all(options, &run);
    if (code == CLI_OK)
        code = finish(options, &run);
    cJSON_Delete(run.skipped);
    cJSON_Delete(run.results);
    if (run.place.run != NULL)
        gsw_matrix_release(run.place.run, &run.device_csr);
    cli_arrays_free(&run.place, &run.arrays);
    free(run.x);
    free(run.b);
    gsw_csr_free(&run.csr);
    cli_input_free(&run.input);
    cli_close_place(&run.place);
    bench_device_close(&run.device);
    return code;
}
