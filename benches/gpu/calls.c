/* Measures the host's cost of one small call in seconds, and prints it as JSON: the median over batches of calls. The
 * device is synchronized after each batch, so that no call waits for room in the driver's queue. Beside the library's
 * calls, those of the driver that each of them makes. */
#define _POSIX_C_SOURCE 199309L
#include "diptych.h"
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { BATCHES = 101, CALLS = 200, N = 1024, SIDE = 32 };

static dpt_exec cuda, automatic;
static float *x, *y, *out, on_host[3][N];
/* A kernel that does nothing, with parameters of the sizes of an elementwise one. */
static const char EMPTY[] = ".version 6.3\n.target sm_75\n.address_size 64\n"
                            ".visible .entry empty(.param .align 8 .b8 a[64], .param .u64 x, .param .u64 y,"
                            " .param .u64 z) { ret; }\n";
static int (*get_current)(void **), (*get_attributes)(unsigned, int *, void **, uint64_t);
static int (*launch)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **,
                     void **);
static int (*load_module)(void **, const void *, unsigned, int *, void **);
static int (*get_function)(void **, void *, const char *);
static void *function;

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
static dpt_status add_automatic(void)
{
    return dpt_add_f32(&automatic, N, x, y, out);
}
static dpt_status add_automatic_on_host(void)
{
    return dpt_add_f32(&automatic, N, on_host[0], on_host[1], on_host[2]);
}
static dpt_status add_on_host(void)
{
    return dpt_add_f32(NULL, N, on_host[0], on_host[1], on_host[2]);
}

/* The driver's own functions; their codes pass for a status, 0 being success in both. */
static dpt_status current(void)
{
    void *context;
    return (dpt_status)get_current(&context);
}
static dpt_status attributes(void)
{
    /* The context, the kind of memory, whether it is managed, and the device. */
    int names[] = {1, 2, 8, 9}, type = 0, managed = 0, device = 0;
    void *context, *values[] = {&context, &type, &managed, &device};
    return (dpt_status)get_attributes(4, names, values, (uint64_t)(uintptr_t)x);
}
static dpt_status empty_kernel(void)
{
    static char shape[64];
    void *arguments[] = {shape, &x, &y, &out};
    return (dpt_status)launch(function, 1, 1, 1, 256, 1, 1, 0, NULL, arguments, NULL);
}

static void need(dpt_status status)
{
    if (status != DPT_OK) {
        fprintf(stderr, "status %d: %s\n", (int)status, dpt_last_error());
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

/* Finds a function of the driver. */
static void find(void *library, const char *name, void *to)
{
    void *found = dlsym(library, name);
    if (!found) {
        fprintf(stderr, "%s is missing\n", name);
        exit(1);
    }
    memcpy(to, &found, sizeof found);
}

static void driver(void)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW), *module;
    if (!library) {
        fprintf(stderr, "%s\n", dlerror());
        exit(1);
    }
    find(library, "cuCtxGetCurrent", &get_current);
    find(library, "cuPointerGetAttributes", &get_attributes);
    find(library, "cuLaunchKernel", &launch);
    find(library, "cuModuleLoadDataEx", &load_module);
    find(library, "cuModuleGetFunction", &get_function);
    need((dpt_status)load_module(&module, EMPTY, 0, NULL, NULL));
    need((dpt_status)get_function(&function, module, "empty"));
    printf("\"driver_seconds\": {\"cuCtxGetCurrent\": %.3e, ", cost(current));
    printf("\"cuPointerGetAttributes\": %.3e, ", cost(attributes));
    printf("\"cuLaunchKernel\": %.3e}", cost(empty_kernel));
}

int main(void)
{
    void *memory[3];
    memset(&cuda, 0, sizeof cuda);
    cuda.struct_size = sizeof cuda;
    cuda.device = DPT_DEVICE_CUDA;
    automatic = cuda;
    automatic.device = DPT_DEVICE_AUTO;
    for (int i = 0; i < 3; i++) {
        need(dpt_cuda_alloc(N * sizeof(float), &memory[i]));
    }
    x = memory[0], y = memory[1], out = memory[2];
    need(dpt_cuda_preload(&cuda));
    printf("{\"host_seconds\": {\"add\": %.3e, \"sum\": %.3e, ", cost(add), cost(sum));
    printf("\"gemm\": %.3e}, ", cost(gemm));
    printf("\"automatic_seconds\": {\"add\": %.3e, ", cost(add_automatic));
    printf("\"add, host arrays\": %.3e, ", cost(add_automatic_on_host));
    printf("\"add, host arrays on the CPU\": %.3e}, ", cost(add_on_host));
    driver();
    printf("}\n");
    return 0;
}
