/* Diptych on the threads of OpenMP: dpt_exec.parallel_for runs its tasks in an OpenMP loop.
 *
 *   cc -fopenmp openmp.c $(pkg-config --cflags --libs diptych) -o openmp && ./openmp
 */
#include <diptych.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Runs the tasks of one call. Diptych asks for at most max_threads of them. */
static void with_openmp(void *pool, int64_t count, dpt_task_fn run, void *task)
{
    (void)pool;
#pragma omp parallel for schedule(dynamic)
    for (int64_t i = 0; i < count; i++) {
        run(task, i);
    }
}

enum { SIDE = 768, REPEAT = 5 };

/* C = A B, and the sum of each row of C. */
static dpt_status work(const dpt_exec *exec, const float *a, const float *b, float *c, float *sums)
{
    const dpt_status status =
        dpt_gemm_f32(exec, SIDE, SIDE, SIDE, 1, a, SIDE, 1, b, SIDE, 1, 0, c, SIDE, 1);
    return status != DPT_OK ? status : dpt_sum_rows_f32(exec, SIDE, SIDE, c, SIDE, 1, sums, 1);
}

/* The shortest time of REPEAT runs, in seconds; negative after an error. */
static double best(const dpt_exec *exec, const float *a, const float *b, float *c, float *sums)
{
    double least = 1e9;
    for (int i = 0; i < REPEAT; i++) {
        const double start = omp_get_wtime();
        if (work(exec, a, b, c, sums) != DPT_OK) {
            fprintf(stderr, "%s\n", dpt_last_error());
            return -1;
        }
        const double time = omp_get_wtime() - start;
        least = time < least ? time : least;
    }
    return least;
}

int main(void)
{
    enum { AREA = SIDE * SIDE, RESULTS = AREA + SIDE };
    float *a = malloc(AREA * sizeof *a), *b = malloc(AREA * sizeof *b);
    float *alone = malloc(RESULTS * sizeof *alone), *together = malloc(RESULTS * sizeof *together);
    if (a == NULL || b == NULL || alone == NULL || together == NULL) {
        fprintf(stderr, "out of memory\n");
        return 1;
    }
    for (int i = 0; i < AREA; i++) {
        a[i] = (float)(i % 1013) / 1013 - 0.5f;
        b[i] = (float)(i % 997) / 997 - 0.5f;
    }

    dpt_exec exec = {0};
    exec.struct_size = sizeof exec;
    exec.parallel_for = with_openmp;
    exec.max_threads = omp_get_max_threads();

    const double one = best(NULL, a, b, alone, alone + AREA);
    const double many = best(&exec, a, b, together, together + AREA);
    const int same = memcmp(alone, together, RESULTS * sizeof *alone) == 0;
    printf("one thread: %.3f ms, OpenMP with %d: %.3f ms\n", one * 1e3, (int)exec.max_threads,
           many * 1e3);
    printf("the bits are %s\n", same ? "the same" : "NOT the same");
    free(a);
    free(b);
    free(alone);
    free(together);
    return !(same && one >= 0 && many >= 0);
}
