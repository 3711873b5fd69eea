/* cuda_graph.c: a preconditioner on a GPU, on the program's own stream and in a CUDA graph.
 *
 * A program records its iteration once as a graph and then launches it many times. A solve with a
 * factor allocates nothing and does not wait, so the graph can contain it, together with other
 * work. After gsw_factor_refactor() the same graph uses the new values.
 *
 *   cc cuda_graph.c $(pkg-config --cflags --libs gridsweep) -I/usr/local/cuda/include \
 *       -L/usr/local/cuda/lib64 -lcudart -lm && ./a.out
 *
 * The exit code is 77 if no GPU answers. */
#include <stdio.h>
#include <cuda_runtime_api.h>
#include <gridsweep/gridsweep.h>

enum { N = 64, POINTS = N * N * N, RUNS = 10, NO_GPU = 77 };

/* The program's data. b, x and the arrays of the matrices are device memory. */
typedef struct solver {
    cudaStream_t stream;
    gsw_context *context;
    gsw_matrix A, other; /* the same grid and stencil, other values */
    gsw_factor *ilu;
    double *b, *x;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
} solver;

static double host_b[POINTS], host_x[POINTS], direct[POINTS];

/* Receives every error of gridsweep, also if the context cannot be created. */
static void print_reason(void *user, gsw_status status, const char *message) {
    (void)user;
    fprintf(stderr, "%s: %s\n", gsw_status_name(status), message);
}

static int failed(cudaError_t error) {
    if (error != cudaSuccess)
        fprintf(stderr, "CUDA: %s\n", cudaGetErrorString(error));
    return error != cudaSuccess;
}

/* Your own program has its matrices on the device. This one copies model problems there. */
static int bring(solver *s, const char *name, gsw_matrix *matrix) {
    gsw_problem *problem = NULL;
    gsw_status status = gsw_problem_parse(s->context, name, NULL, &problem);
    if (!status)
        status = gsw_matrix_upload(s->context, gsw_problem_matrix(problem), matrix);
    gsw_problem_destroy(problem);
    return status != GSW_SUCCESS;
}

static int open_solver(solver *s) {
    const gsw_context_options where = {.size = sizeof where,
                                       .backend = GSW_BACKEND_CUDA,
                                       .stream = s->stream,
                                       .log = print_reason};
    gsw_status status = gsw_context_create(&where, &s->context);
    if (status)
        return status == GSW_ERROR_NO_BACKEND ? NO_GPU : 1;
    if (bring(s, "convection:64x64x64", &s->A) || bring(s, "poisson:64x64x64", &s->other) ||
        gsw_factor_create(s->context, &s->A, NULL, &s->ilu))
        return 1;
    return failed(cudaMalloc((void **)&s->b, sizeof host_b)) ||
           failed(cudaMalloc((void **)&s->x, sizeof host_x));
}

static int record(solver *s) {
    /* The first solve is outside a graph: it loads the kernels. */
    if (gsw_factor_solve(s->context, s->ilu, 1, s->b, 0, s->x, 0) ||
        failed(cudaStreamBeginCapture(s->stream, cudaStreamCaptureModeThreadLocal)))
        return 1;
    /* The program's own copies and kernels may stand here as well. */
    const gsw_status status = gsw_factor_solve(s->context, s->ilu, 1, s->b, 0, s->x, 0);
    return failed(cudaStreamEndCapture(s->stream, &s->graph)) || status ||
           failed(cudaGraphInstantiateWithFlags(&s->exec, s->graph, 0));
}

/* Computes x = M^-1 b into `result`, by the graph or by a call. */
static int apply(solver *s, int by_graph, double *result) {
    if (failed(cudaMemcpyAsync(s->b, host_b, sizeof host_b, cudaMemcpyHostToDevice, s->stream)) ||
        failed(cudaMemsetAsync(s->x, 0xff, sizeof host_x, s->stream))) /* NaNs */
        return 1;
    if (by_graph ? failed(cudaGraphLaunch(s->exec, s->stream))
                 : gsw_factor_solve(s->context, s->ilu, 1, s->b, 0, s->x, 0) != GSW_SUCCESS)
        return 1;
    /* Waits, and reports errors of the solves. */
    return gsw_memory_download(s->context, result, s->x, sizeof host_x) != GSW_SUCCESS;
}

static int differ(const double *a, const double *b) {
    for (int i = 0; i < POINTS; i++)
        if (!(a[i] == b[i]))
            return 1;
    return 0;
}

static int run(solver *s) {
    if (failed(cudaMemsetAsync(s->b, 0, sizeof host_b, s->stream)) || record(s))
        return 1;
    for (int k = 0; k < RUNS; k++) {
        gsw_random_vector((uint64_t)k, POINTS, host_b);
        if (k == RUNS / 2 && gsw_factor_refactor(s->context, s->ilu, &s->other, NULL))
            return 1;
        if (apply(s, 0, direct) || apply(s, 1, host_x))
            return 1;
        if (differ(direct, host_x)) {
            fprintf(stderr, "run %d: the graph and the call differ\n", k);
            return 1;
        }
    }
    printf("%d solves in a graph on %s: the same bits as by calls\n", RUNS,
           gsw_context_device(s->context));
    return 0;
}

int main(void) {
    solver s = {0};
    int code = 1;
    if (cudaStreamCreateWithFlags(&s.stream, cudaStreamNonBlocking) != cudaSuccess) {
        printf("skipped: CUDA makes no stream: there is no GPU, or no driver\n");
        return NO_GPU;
    }
    code = open_solver(&s);
    if (code == 0)
        code = run(&s);
    if (code == NO_GPU)
        printf("skipped: gridsweep has no GPU to run on\n");

    if (s.exec)
        cudaGraphExecDestroy(s.exec);
    if (s.graph)
        cudaGraphDestroy(s.graph);
    cudaFree(s.x);
    cudaFree(s.b);
    gsw_factor_destroy(s.ilu);
    if (s.context) {
        gsw_matrix_release(s.context, &s.other);
        gsw_matrix_release(s.context, &s.A);
    }
    gsw_context_destroy(s.context);
    cudaStreamDestroy(s.stream);
    return code;
}
