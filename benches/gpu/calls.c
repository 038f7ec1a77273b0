/* Measures the host's cost of one small call in seconds, and prints it as JSON: the median over batches of calls. The
 * device is synchronized after each batch, so that no call waits for room in the driver's queue. */
#define _POSIX_C_SOURCE 199309L
#include "diptych.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { BATCHES = 101, CALLS = 200, N = 1024, SIDE = 32 };

static dpt_exec cuda;
static float *x, *y, *out;

static dpt_status add(void)
{
    return dpt_add_f32(&cuda, N, x, y, out);
}
static dpt_status sum(void)
{
    return dpt_sum_f32(&cuda, N, x, 1, out);
}
static dpt_status gemm(void)
{
    return dpt_gemm_f32(&cuda, SIDE, SIDE, SIDE, 1, x, SIDE, 1, y, SIDE, 1, 0, out, SIDE, 1);
}

static void need(dpt_status status)
{
    if (status != DPT_OK) {
        fprintf(stderr, "%s\n", dpt_last_error());
        exit(1);
    }
}

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static int ascending(const void *a, const void *b)
{
    const double first = *(const double *)a, second = *(const double *)b;
    return (first > second) - (first < second);
}

static double cost(dpt_status (*call)(void))
{
    double times[BATCHES];
    for (int batch = 0; batch < BATCHES; batch++) {
        const double start = now();
        for (int i = 0; i < CALLS; i++) {
            need(call());
        }
        times[batch] = (now() - start) / CALLS;
        need(dpt_cuda_synchronize(&cuda));
    }
    qsort(times, BATCHES, sizeof *times, ascending);
    return times[BATCHES / 2];
}

int main(void)
{
    void *memory[3];
    memset(&cuda, 0, sizeof cuda);
    cuda.struct_size = sizeof cuda;
    cuda.device = DPT_DEVICE_CUDA;
    for (int i = 0; i < 3; i++) {
        need(dpt_cuda_alloc(N * sizeof(float), &memory[i]));
    }
    x = memory[0], y = memory[1], out = memory[2];
    need(dpt_cuda_preload(&cuda));
    const double adds = cost(add), sums = cost(sum), gemms = cost(gemm);
    printf("{\"add\": %.3e, \"sum\": %.3e, \"gemm\": %.3e}\n", adds, sums, gemms);
    return 0;
}
