/* test_cuda_multigrid.c: multigrid on a CUDA device: its coarse matrices. */
#include "device_stream.h"
#include "multigrid_dense.h"

/* A problem on the host, its matrix on the device, and vectors. */
typedef struct problem_pair {
    gsw_context *cpu, *cuda;
    gsw_problem *problem;
    const gsw_matrix *host;
    gsw_matrix device;
    int64_t n;
    device_vector b, x;
} problem_pair;

static problem_pair pair_open(const char *text, cudaStream_t stream) {
    problem_pair p = {.cpu = oracle_context(1), .cuda = open_cuda(stream)};
    device_try(p.cpu, gsw_problem_parse(p.cpu, text, NULL, &p.problem));
    p.host = gsw_problem_matrix(p.problem);
    p.n = oracle_points(&p.host->grid);
    device_try(p.cuda, gsw_matrix_upload(p.cuda, p.host, &p.device));
    p.b = device_vector_make(p.cuda, GSW_F64, p.n);
    p.x = device_vector_make(p.cuda, GSW_F64, p.n);
    return p;
}

static void pair_close(problem_pair *p) {
    device_vector_free(p->cuda, &p->x);
    device_vector_free(p->cuda, &p->b);
    gsw_matrix_release(p->cuda, &p->device);
    gsw_problem_destroy(p->problem);
    gsw_context_destroy(p->cuda);
    gsw_context_destroy(p->cpu);
}

START_TEST(coarse_matrices_are_products) {
    problem_pair p = pair_open(dense_problems[_i], NULL);
    dense_check_levels(p.cuda, &p.device, p.host, dense_problems[_i]);
    pair_close(&p);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("cuda_multigrid");
    TCase *tc = tcase_create("multigrid");
    tcase_add_loop_test(tc, coarse_matrices_are_products, 0, DENSE_PROBLEMS);
    suite_add_tcase(suite, tc);
    return device_run_suite(suite);
}
